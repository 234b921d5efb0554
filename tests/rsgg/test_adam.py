"""Adam on one vector against `torch.optim.Adam`, tensor by tensor: the same to the last bit."""

from __future__ import annotations

import copy

import torch
from torch import nn

from rsgg.rsgg_ce.adam import Adam, RMSprop, as_one_vector


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 33), nn.Tanh(), nn.Linear(33, 1))


def test_steps_are_those_of_torch_to_the_last_bit() -> None:
    ours, theirs = network(), network()
    adam, reference = Adam(ours, 0.01), torch.optim.Adam(theirs.parameters(), lr=0.01)
    for step in range(40):
        x = torch.randn(8, 6) * 10.0 ** (step % 7 - 4)
        adam.lr = reference.param_groups[0]["lr"] = 0.01 / (1 + step)
        for optimiser, net in ((adam, ours), (reference, theirs)):
            optimiser.zero_grad()
            net(x).pow(2).mean().backward()
            optimiser.step()
        assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))


def test_a_parameter_without_gradient_stays_what_it_is() -> None:
    net = network()
    adam, fixed = Adam(net, 0.01), next(net.parameters())
    fixed.requires_grad_(False)
    before = copy.deepcopy(net)
    for _ in range(3):
        adam.zero_grad()
        net(torch.ones(1, 6)).sum().backward()
        adam.step()
    same = [torch.equal(a, b) for a, b in zip(net.parameters(), before.parameters(), strict=True)]
    assert same == [True] + [False] * 5


def test_parameters_are_parts_of_the_vector_and_begin_where_tensors_may() -> None:
    net = network()
    before = [parameter.clone() for parameter in net.parameters()]
    vector = as_one_vector(net)
    assert all(torch.equal(a, b) for a, b in zip(net.parameters(), before, strict=True))
    assert all(parameter.data_ptr() % 64 == vector.data_ptr() % 64 for parameter in net.parameters())
    vector.zero_()
    assert not any(parameter.any() for parameter in net.parameters())


def test_steps_with_decay_and_other_averages_are_those_of_torch() -> None:
    """Adam with weight decay and other β, and RMSprop."""
    for adam in (True, False):
        net, theirs = network(), network()
        optimiser: Adam | RMSprop = Adam(net, 0.01, (0.5, 0.999), 0.1) if adam else RMSprop(net, 0.01)
        reference: torch.optim.Optimizer = torch.optim.RMSprop(theirs.parameters(), lr=0.01)
        if adam:
            reference = torch.optim.Adam(theirs.parameters(), lr=0.01, betas=(0.5, 0.999), weight_decay=0.1)
        torch.manual_seed(1)
        for step in range(20):
            x = torch.randn(8, 6) * 10.0 ** (step % 7 - 4)
            for trained in (net, theirs):
                trained.zero_grad()
                trained(x).pow(2).mean().backward()
            optimiser.step()
            reference.step()
        for a, b in zip(net.parameters(), theirs.parameters(), strict=True):
            assert torch.allclose(a, b, rtol=1e-4, atol=1e-6)


def test_channels_that_come_last_in_memory_do_so_in_the_vector() -> None:
    net = nn.Conv2d(3, 4, 2).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    before, strides = net.weight.clone(), net.weight.stride()
    adam = Adam(net, 0.01)
    assert net.weight.stride() == adam.gradients[0].stride() == strides and torch.equal(net.weight, before)
    net(torch.ones(1, 3, 2, 2)).sum().backward()
    adam.step()
    assert torch.allclose(net.weight, before - 0.01)
