"""The released RSGG-CE: the batched implementation against the plain one, and the facts its docstring states."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rsgg.data.tree_cycles import TreeCycles
from rsgg.errors import FitError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce.released import Noise, ReleasedRSGGCE, initial_weights
from tests.rsgg import plain_released as plain

EPOCHS = 60


@pytest.fixture(scope="module")
def graphs() -> GraphBatch:
    return TreeCycles(n_graphs=60, order="random").load().graphs


@pytest.fixture(scope="module")
def both(graphs: GraphBatch) -> tuple[ReleasedRSGGCE, plain.PlainReleased]:
    """The fast and the plain implementation, fitted from the same initial weights and the same noise.

    Weights are scaled down so that the networks are not saturated from the start: every gradient takes part.
    """
    seed, n = 3, graphs.n_nodes
    fast = ReleasedRSGGCE(epochs=EPOCHS, generator_lr=1e-2, discriminator_lr=1e-2)
    start = {name: weight * 0.01 for name, weight in initial_weights(n, 8, 2, seed).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "rsgg.rsgg_ce.released.initial_weights", lambda *_: {name: weight.clone() for name, weight in start.items()}
        )
        fast.fit(graphs, TreeCyclesOracle(), seed=seed)
    noise = Noise.drawn(EPOCHS, 2, n, seed)
    slow = plain.PlainReleased(
        [{name: weight[c] for name, weight in start.items()} for c in range(2)],
        lambda name, step, c: getattr(noise, name)[step, c], EPOCHS, rate=1e-2,
    )  # fmt: skip
    data = [plain.to_data(graph.adjacency.astype(float)) for graph in graphs]
    slow.fit(data, TreeCyclesOracle().predict(graphs).tolist(), plain.has_cycle)
    return fast, slow


def test_features_are_those_that_networkx_computes(graphs: GraphBatch) -> None:
    from rsgg.rsgg_ce.released import _inputs

    _, features, order = _inputs(graphs)
    for i in range(10):
        data = plain.to_data(graphs[i].adjacency.astype(float))
        assert order[i].tolist() == data.order
        assert torch.allclose(features[i], data.x, rtol=1e-6, atol=1e-6)


def test_training_agrees_with_the_plain_implementation(both: tuple[ReleasedRSGGCE, plain.PlainReleased]) -> None:
    fast, slow = both
    for c, (generator, discriminator) in enumerate(slow.networks):
        pairs = {
            "encoder1": generator.conv1.lin.weight.T, "encoder1_bias": generator.conv1.bias,
            "encoder2": generator.conv2.lin.weight.T, "encoder2_bias": generator.conv2.bias,
            "convolution": discriminator.conv.lin.weight.T, "convolution_bias": discriminator.conv.bias,
            "linear": discriminator.fc.weight[0], "linear_bias": discriminator.fc.bias[0],
        }  # fmt: skip
        start = {name: weight[c] * 0.01 for name, weight in initial_weights(28, 8, 2, 3).items()}
        for name, weight in pairs.items():
            assert weight is not None
            assert torch.allclose(fast.weights_[name][c], weight, rtol=1e-5, atol=1e-8), (c, name)
            assert not torch.equal(weight, start[name]), f"{name} of class {c} was never trained"


def test_edge_probabilities_agree_with_the_plain_implementation(
    graphs: GraphBatch, both: tuple[ReleasedRSGGCE, plain.PlainReleased]
) -> None:
    fast, slow = both
    probabilities = fast.edge_probabilities(graphs)
    for i in range(10):
        data = plain.to_data(graphs[i].adjacency.astype(float))
        back = np.argsort(data.order)
        expected = slow.probabilities(data).numpy()
        upper = np.triu(np.maximum(expected, expected.T)[np.ix_(back, back)], 1)  # messages ran upwards only
        assert np.allclose(np.triu(probabilities[i].numpy(), 1), upper, atol=1e-8)


def test_two_calls_per_step_and_none_for_the_labels(graphs: GraphBatch) -> None:
    oracle = CountingOracle(TreeCyclesOracle())
    ReleasedRSGGCE(epochs=10).fit(graphs, oracle)
    assert oracle.calls == 2 * 10 * 2


def test_edge_probabilities_get_no_gradient() -> None:
    """The generator's loss does not depend on A_g: the same graph with other A_g but the same X̂ has the same loss.

    Equivalently: the gradient of the loss with respect to Z passes through X̂ = X + Z alone, so adding a constant
    rotation to ZZᵀ changes nothing. Checked on the plain network: autograd finds no path from the loss to A_g.
    """
    data = plain.to_data(TreeCycles(n_graphs=1).load().graphs[0].adjacency.astype(float))
    generator, discriminator = plain.Generator(8), plain.Discriminator(28, 8)
    residual, probabilities = generator(data)
    loss = discriminator(residual, data.edge_index)
    (gradient,) = torch.autograd.grad(loss, probabilities, allow_unused=True)
    assert gradient is None


def test_stored_artefacts_come_out_again() -> None:
    """Raw features in the hundreds saturate tanh: .9526 on existing edges and .8808 on missing ones, in most seeds."""
    graphs = TreeCycles(n_graphs=40).load().graphs
    seen = []
    for seed in range(12):
        explainer = ReleasedRSGGCE(generator="untrained").fit(graphs, TreeCyclesOracle(), seed=seed)
        p = explainer.edge_probabilities(graphs)
        pairs, edges = graphs.pair_mask, torch.triu(graphs.adjacency > 0, 1)
        seen.append((round(float(p[edges].median()), 4), round(float(p[pairs & ~edges].median()), 4)))
    assert seen.count((0.9526, 0.8808)) >= 6


def test_graphs_of_different_sizes_are_refused() -> None:
    graphs = [Graph(np.ones((n, n)) - np.eye(n)) for n in (3, 4)] + [Graph(np.zeros((4, 4)))]
    with pytest.raises(FitError, match="graphs of one size"):
        ReleasedRSGGCE.tiny().fit(graphs, TreeCyclesOracle())
