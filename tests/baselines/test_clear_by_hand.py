"""CLEAR's parts in plain loops: what it reads, its encoder and decoder, the course of training, and its draws."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rsgg.baselines import clear
from rsgg.baselines.clear import CLEAR, CVAE, Given, symmetric
from rsgg.errors import GraphError
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, Oracle
from rsgg.rsgg_ce.adam import Adam
from rsgg.seeds import seed_for, streams, uniforms
from tests.graphs import tree, unicyclic


class ManyEdges(Oracle):
    """Class 1 from seven edges on; the relaxation is a sigmoid of the soft number of edges."""

    name = "many-edges"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.n_edges > 6).long()

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        many = torch.sigmoid(adjacency.sum((1, 2)) / 2 - 6.5)
        return torch.stack((1 - many, many), 1)


def graphs(count: int = 12) -> GraphBatch:
    return GraphBatch.of([tree(7, s) if s % 2 else unicyclic(7, 3, s) for s in range(count)])


def given(condition: int = 1) -> Given:
    rng = torch.Generator().manual_seed(1)
    upper = torch.triu((torch.rand(2, 4, 4, generator=rng) < 0.6).float(), 1)
    wanted = torch.tensor([condition, 0])
    return Given(
        upper + upper.transpose(1, 2), torch.randn(2, 4, 3, generator=rng), nn.functional.one_hot(wanted, 10).float(),
        wanted, nn.functional.one_hot(wanted, 2).float(),
    )  # fmt: skip


@torch.no_grad()
def test_the_encoder_is_one_graph_convolution_summed_over_the_nodes() -> None:
    """h_v = relu(Σ_w Â_vw W x_w) with Â = D^-½ (A + I) D^-½, then what is known of the graph beside the sum."""
    torch.manual_seed(0)
    network, shown = CVAE(4, 3, 2, 0.0).eval(), given()
    mean, log_variance = network.encode(shown)
    for i in range(2):
        a = shown.adjacency[i] + torch.eye(4)
        degree = [float(a[v].sum()) for v in range(4)]
        pooled = torch.zeros(clear.WIDTH)
        for v in range(4):
            around = torch.zeros(clear.WIDTH)
            for w in range(4):
                around += a[v, w] / math.sqrt(degree[v] * degree[w]) * network.convolution(shown.features[i, w])
            pooled += torch.relu(around)
        read = torch.cat((pooled, shown.auxiliary[i], shown.condition[i]))[None]
        assert torch.allclose(network.to_mean(read)[0], mean[i], atol=1e-5)
        assert torch.allclose(network.to_log_variance(read)[0], log_variance[i], atol=1e-5)


@torch.no_grad()
def test_the_decoder_reads_z_and_the_wanted_class() -> None:
    torch.manual_seed(0)
    network, shown = CVAE(4, 3, 2, 0.0).eval(), given()
    z = torch.randn(2, clear.LATENT)
    features, soft = network.decode(z, shown)
    read = torch.cat((z, shown.condition), 1)
    for i in range(2):
        for v in range(4):
            assert torch.allclose(features[i, v], network.to_features(read)[i][3 * v : 3 * v + 3])
            assert torch.allclose(soft[i, v], torch.sigmoid(network.to_edges(read)[i][4 * v : 4 * v + 4]))


def plain_losses(network: CVAE, shown: Given, noise: Tensor) -> list[Tensor]:
    """The terms and Â by torch's own layers, which automatic differentiation can follow."""
    mean, log_variance = network.encode(shown)
    prior = network.prior_mean(shown.auxiliary), network.prior_log_variance(shown.auxiliary)
    ratio, distance = (log_variance - prior[1]).exp(), (mean - prior[0]) ** 2 / prior[1].exp()
    divergence = 0.5 * (ratio + distance - 1 - (log_variance - prior[1])).sum(1).mean()
    features, soft = network.decode(mean + (log_variance / 2).exp() * noise, shown)
    error = (features - shown.features).flatten(1).norm(dim=1).mean()
    return [divergence, error, nn.functional.binary_cross_entropy(soft, shown.adjacency), soft]


def in_double(shown: Given) -> Given:
    return Given(
        shown.adjacency.double(), shown.features.double(), shown.auxiliary.double(), shown.wanted,
        shown.condition.double(),
    )  # fmt: skip


@pytest.mark.parametrize("trained", [True, False])
def test_the_gradient_by_hand_is_the_one_of_automatic_differentiation(trained: bool) -> None:
    """Of each term and of Â, with batch statistics and without; what batch normalisation remembers is the same too."""
    torch.manual_seed(0)
    noise, towards = torch.randn(2, clear.LATENT).double(), torch.randn(2, 4, 4).double()
    shown = in_double(given())
    start = CVAE(4, 3, 2, 0.0).state_dict()
    for weights in ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.3, 0.7, 2.0, 1.5)):
        networks, values = [CVAE(4, 3, 2, 0.0).double().train(trained) for _ in range(2)], []
        for network in networks:
            network.load_state_dict(start)
            if network is networks[0]:
                *terms, soft = plain_losses(network, shown, noise)
            else:
                of = clear.losses(network, shown, noise)
                terms, soft = [of.divergence, of.features, of.edges], of.soft
            loss = weights[3] * (soft * towards).sum() + sum(w * x for w, x in zip(weights, terms, strict=False))
            loss.backward()
            values.append(torch.stack([*terms, loss]).detach())
        assert torch.allclose(values[0], values[1], rtol=1e-10)
        for (name, a), b in zip(networks[0].named_parameters(), networks[1].parameters(), strict=True):
            by_torch = torch.zeros_like(a) if a.grad is None else a.grad
            assert b.grad is not None and torch.allclose(by_torch, b.grad, rtol=1e-8, atol=1e-12), name
        for (name, kept), other in zip(networks[0].named_buffers(), networks[1].buffers(), strict=True):
            assert torch.allclose(kept, other), name


def test_an_edge_of_probability_zero_costs_what_it_does_in_torch() -> None:
    """-log 0 is cut at 100."""
    network, noise = CVAE(4, 3, 2, 0.0).eval(), torch.zeros(2, clear.LATENT)
    with torch.no_grad():
        list(network.to_edges.parameters())[-1].fill_(-1e4)  # every probability is zero
        expected = plain_losses(network, given(), noise)
        assert (expected[-1] == 0).all() and given().adjacency.any()
        assert torch.allclose(clear.losses(network, given(), noise).edges, expected[2])


def test_only_the_graphs_shown_are_returned_and_pass_a_gradient_on() -> None:
    torch.manual_seed(0)
    network, noise, towards = CVAE(4, 3, 2, 0.0), torch.randn(2, clear.LATENT), torch.randn(4, 4)
    gradients = []
    for shown in (None, torch.tensor([1])):
        network.zero_grad()
        soft = clear.losses(network.eval(), given(), noise, shown).soft
        assert len(soft) == (2 if shown is None else 1)
        (soft[-1] * towards).sum().backward()
        gradients.append(torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None]))
    assert torch.allclose(gradients[0], gradients[1], atol=1e-7) and gradients[0].abs().sum() > 0


def test_dropout_scales_the_gradient_of_what_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """With masks that are known the objective is a function of the weights: its gradient is checked by differences."""

    def known(shape: torch.Size, p: float) -> Tensor:
        kept = torch.rand(shape, generator=torch.Generator().manual_seed(len(shape))) >= p
        return kept.double() / (1 - p)

    monkeypatch.setattr(clear, "mask", known)
    torch.manual_seed(0)
    network, noise, shown = CVAE(4, 3, 2, 0.4).double(), torch.randn(2, clear.LATENT).double(), in_double(given())

    def loss() -> Tensor:
        of = clear.losses(network, shown, noise)
        return of.divergence + of.features + of.edges

    loss().backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None
        direction = torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)).double()
        with torch.no_grad():
            sides = []
            for step in (1e-6, -2e-6):
                parameter.add_(direction, alpha=step)
                sides.append(float(loss()))
            parameter.add_(direction, alpha=1e-6)
        slope = (sides[0] - sides[1]) / 2e-6
        assert slope == pytest.approx(float((parameter.grad * direction).sum()), rel=1e-4, abs=1e-7), name


def test_the_layers_are_those_of_the_original() -> None:
    network = CVAE(5, 3, 2, 0.3)
    kinds = [type(layer).__name__ for layer in network.to_edges]
    assert kinds == ["Linear", "BatchNorm1d", "Dropout", "ReLU"] * 2 + ["Linear"]
    shapes = [(layer.in_features, layer.out_features) for layer in network.to_edges if isinstance(layer, nn.Linear)]
    assert shapes == [(16 + 2, 16), (16, 16), (16, 25)]
    last = network.to_features[-1]
    assert isinstance(last, nn.Linear) and last.out_features == 15
    for encoder, extra in ((network.to_mean, []), (network.to_log_variance, ["Sigmoid"])):
        assert [type(layer).__name__ for layer in encoder] == ["Linear", "BatchNorm1d", "ReLU", *extra]
        first = encoder[0]
        assert isinstance(first, nn.Linear) and (first.in_features, first.out_features) == (16 + 10 + 2, 16)
    assert {layer.p for layer in network.modules() if isinstance(layer, nn.Dropout)} == {0.3}


def test_the_wanted_class_is_another_one_and_the_auxiliary_goes_by_name() -> None:
    explainer = CLEAR()
    batch = GraphBatch.of([nx.path_graph(3)] * 1)
    many = GraphBatch(
        batch.adjacency.expand(60, -1, -1), batch.sizes.expand(60), names=tuple(f"graph {i}" for i in range(60))
    )
    classes = torch.arange(60) % 3
    explainer.n_classes_ = 3
    wanted = explainer._wanted(classes, many)
    assert (wanted != classes).all() and wanted.min() >= 0 and wanted.max() <= 2
    both = Counter((int(w) - int(c)) % 3 for w, c in zip(wanted, classes, strict=True))
    assert min(both[1], both[2]) > 15, "of several other classes, each is wanted of some"
    explainer.n_classes_ = 2
    assert torch.equal(explainer._wanted(classes % 2, many), 1 - classes % 2)
    read = Given.of(many, torch.zeros(60, 3, 1), wanted, 3)
    assert read.condition.argmax(1).tolist() == wanted.tolist() and read.condition.shape == (60, 3)
    u = read.auxiliary.argmax(1)
    assert u.tolist() == [seed_for("clear auxiliary", name) % 10 for name in many.names] and len(u.unique()) == 10


def test_symmetric_is_the_mean_of_both_directions() -> None:
    soft = torch.tensor([[[0.9, 0.2, 0.4], [0.6, 0.5, 1.0], [0.0, 0.5, 0.1]]])
    expected = torch.tensor([[[0, 0.4, 0.2], [0.4, 0, 0.75], [0.2, 0.75, 0]]])
    assert torch.allclose(symmetric(soft), expected)


def test_the_classifiers_term_is_the_cross_entropy_of_the_relaxation() -> None:
    soft = torch.rand(3, 5, 5, generator=torch.Generator().manual_seed(0))
    wanted = torch.tensor([1, 0, 1])
    losses = []
    for matrix, y in zip(soft, wanted.tolist(), strict=True):
        edges = sum(float(matrix[u, v] + matrix[v, u]) / 2 for u in range(5) for v in range(u + 1, 5))
        many = 1 / (1 + math.exp(6.5 - edges))
        losses.append(-math.log(many if y else 1 - many))
    counted, graphs = (
        CountingOracle(ManyEdges()),
        GraphBatch(torch.zeros(3, 5, 5, dtype=torch.uint8), torch.full((3,), 5)),
    )
    assert float(clear._classifier_loss(soft, graphs, wanted, counted)) == pytest.approx(np.mean(losses), rel=1e-5)
    assert counted.calls == 3


@pytest.mark.parametrize(("share", "from_epoch"), [(0.0, 0), (0.5, 5), (0.45, 5), (1.0, 10)])
def test_the_classifier_joins_from_its_share_of_the_epochs_on(share: float, from_epoch: int) -> None:
    oracle = CountingOracle(ManyEdges())
    fitted = CLEAR(epochs=10, classifier_from=share, classifier_batch=5).fit(graphs(), oracle)
    assert [row["epoch"] for row in fitted.history_] == list(range(10))
    assert [row["classifier"] > 0 for row in fitted.history_] == [epoch >= from_epoch for epoch in range(10)]
    assert oracle.calls == 12 + 5 * (10 - from_epoch), (
        "the classes of the training graphs, then the classifier's batches"
    )


def test_the_loss_is_the_weighted_sum_of_its_terms() -> None:
    fitted = CLEAR(epochs=6, similarity=3.0, divergence=0.7, counterfactual=2.0).fit(graphs(), ManyEdges())
    for row in fitted.history_:
        parts = 0.7 * row["divergence"] + 3 * (row["features"] / 4 + row["edges"]) + 2 * row["classifier"]
        assert row["loss"] == pytest.approx(parts, rel=1e-5)


def test_old_gradients_are_cleared_before_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a learning rate of (almost) nothing every step sees the same weights: its gradients do not grow."""
    norms: list[float] = []

    class Spy(Adam):
        def step(self) -> None:
            every = [p.grad.flatten() for p in self.parameters if p.grad is not None]
            norms.append(float(torch.cat(every).norm()))

    monkeypatch.setattr(clear, "Adam", Spy)
    CLEAR(epochs=30, counterfactual=0.0).fit(graphs(), ManyEdges())
    assert np.mean(norms[-5:]) < 2 * np.mean(norms[:5])


def test_features_are_standardised_with_the_training_graphs() -> None:
    fitted = CLEAR.tiny().fit(graphs(), ManyEdges())
    raw = graphs().encoding("structural").double().numpy().reshape(12 * 7, -1)
    assert fitted.mean_.tolist() == pytest.approx(raw.mean(0).tolist(), abs=1e-5)
    spread = raw.std(0, ddof=1)
    assert fitted.std_.tolist() == pytest.approx(np.maximum(spread, 1e-6).tolist(), abs=1e-5)
    ours = fitted._given(graphs(), torch.zeros(12, dtype=torch.long)).features[3, 2].double().numpy()
    expected = (raw[3 * 7 + 2] - raw.mean(0)) / np.maximum(spread, 1e-6)
    assert ours[spread > 1e-4].tolist() == pytest.approx(expected[spread > 1e-4].tolist(), abs=1e-4)


@pytest.mark.parametrize("draws", [1, 3])
def test_draws_are_uniform_numbers_below_the_edge_probabilities(draws: int) -> None:
    fitted = CLEAR(**{**vars(CLEAR.tiny()), "draws": draws}).fit(graphs(), ManyEdges())
    batch, k = graphs(), 2
    classes = ManyEdges().predict(batch)
    soft = fitted.edge_probabilities(batch, classes).double().numpy()
    assert np.array_equal(soft, soft.transpose(0, 2, 1))
    numbers = uniforms(streams(batch.names, k, 4, "clear"), 0, draws * 21).reshape(24, draws, 21)
    u, v = np.triu_indices(7, 1)
    oracle = CountingOracle(ManyEdges())
    found = fitted._explain(batch, classes, oracle, k, 4)
    for row, candidate in enumerate(found):
        i = row // k
        flips = []
        for numbers_of_draw in numbers[row]:
            drawn = np.zeros((7, 7), dtype=int)
            drawn[u, v] = numbers_of_draw < soft[i, u, v]
            flips.append(drawn + drawn.T)
        if draws == 1:
            assert candidate.adjacency is not None and np.array_equal(candidate.adjacency.numpy(), flips[0])
            continue
        changes = [int((drawn.sum() // 2 > 6) != bool(classes[i])) for drawn in flips]
        if any(changes):
            assert candidate.adjacency is not None
            assert np.array_equal(candidate.adjacency.numpy(), flips[changes.index(1)])
            assert oracle.calls_of(row) == changes.index(1) + 1
        else:
            assert candidate.adjacency is None and candidate.reason == "none of 3 draws changed the class"
    assert draws > 1 or oracle.calls == 0


def test_a_budget_that_ends_the_draws_is_the_reason() -> None:
    fitted = CLEAR(**{**vars(CLEAR.tiny()), "draws": 4}).fit(graphs(), ManyEdges())

    class Never(ManyEdges):
        def predict(self, graphs: GraphBatch) -> Tensor:
            return torch.zeros(len(graphs), dtype=torch.long)

    (poor,) = fitted._explain(graphs()[:1], torch.tensor([0]), CountingOracle(Never(), budget=2), 1, 0)
    (free,) = fitted._explain(graphs()[:1], torch.tensor([0]), CountingOracle(Never()), 1, 0)
    assert "budget" in poor.reason and free.reason == "none of 4 draws changed the class"


# -- Graphs of different sizes -----------------------------------------------------------------------------


def padded(shown: Given, sizes: list[int]) -> Given:
    """The same graphs without their last nodes, which are padding."""
    real = torch.arange(4) < torch.tensor(sizes)[:, None]
    return replace(
        shown,
        adjacency=shown.adjacency * (real[:, :, None] & real[:, None, :]),
        features=shown.features * real[:, :, None],
        real=real,
    )


@pytest.mark.parametrize("trained", [True, False])
def test_padding_is_part_of_no_term_and_has_no_gradient(trained: bool) -> None:
    """The terms from the graphs without their padding, one by one, by torch's own layers; and their gradients."""
    torch.manual_seed(0)
    sizes, noise, towards = [3, 4], torch.randn(2, clear.LATENT).double(), torch.randn(2, 4, 4).double()
    shown = padded(in_double(given()), sizes)
    networks = [CVAE(4, 3, 2, 0.0).double().train(trained) for _ in range(2)]
    networks[1].load_state_dict(networks[0].state_dict())
    mean, log_variance = networks[0].encode(shown)
    prior = networks[0].prior_mean(shown.auxiliary), networks[0].prior_log_variance(shown.auxiliary)
    gap = log_variance - prior[1]
    divergence = 0.5 * (gap.exp() + (mean - prior[0]) ** 2 / prior[1].exp() - 1 - gap).sum(1).mean()
    read = torch.cat((mean + (log_variance / 2).exp() * noise, shown.condition), 1)
    features, logits = networks[0].to_features(read).reshape(2, 4, 3), networks[0].to_edges(read).reshape(2, 4, 4)
    error, surprise, classifier = (torch.zeros((), dtype=torch.double) for _ in range(3))
    for i, n in enumerate(sizes):
        error = error + (features[i, :n] - shown.features[i, :n]).norm() / 2
        soft = logits[i, :n, :n].sigmoid()
        surprise = surprise + nn.functional.binary_cross_entropy(soft, shown.adjacency[i, :n, :n]) / 2
        classifier = classifier + (soft * towards[i, :n, :n]).sum()
    (divergence + error + 2 * surprise + classifier).backward()
    of = clear.losses(networks[1], shown, noise)
    (of.divergence + of.features + 2 * of.edges + (of.soft * towards).sum()).backward()
    for ours, by_torch in zip((of.divergence, of.features, of.edges), (divergence, error, surprise), strict=True):
        assert torch.allclose(ours, by_torch, rtol=1e-10)
    assert not of.soft[0, 3].any() and not of.soft[0, :, 3].any() and (of.soft[1] > 0).all()
    for (name, a), b in zip(networks[0].named_parameters(), networks[1].parameters(), strict=True):
        assert a.grad is not None and b.grad is not None, name
        assert torch.allclose(a.grad, b.grad, rtol=1e-8, atol=1e-12), name
        assert b.grad.abs().sum() > 0, name


@torch.no_grad()
def test_the_encoder_does_not_see_padding() -> None:
    """Encoded as by a network for graphs of their own size; what is decoded there is zero."""
    torch.manual_seed(0)
    network, small = CVAE(4, 3, 2, 0.0).eval(), CVAE(3, 3, 2, 0.0).eval()
    of_encoder = {name: w for name, w in network.state_dict().items() if not name.startswith(("to_features", "to_ed"))}
    small.load_state_dict(of_encoder, strict=False)
    shown = padded(given(), [3, 3])
    alone = replace(shown, adjacency=shown.adjacency[:, :3, :3], features=shown.features[:, :3], real=None)
    for in_batch, by_itself in zip(network.encode(shown), small.encode(alone), strict=True):
        assert torch.allclose(in_batch, by_itself, atol=1e-6)
    features, soft = network.decode(torch.randn(2, clear.LATENT), shown)
    assert not features[:, 3].any() and not soft[:, 3].any() and not soft[:, :, 3].any()
    assert (soft[:, :3, :3] > 0).all() and features[:, :3].all()


def test_graphs_larger_than_every_training_graph_are_refused_by_name() -> None:
    fitted = CLEAR.tiny().fit(graphs(), ManyEdges())
    with pytest.raises(GraphError, match="fitted on graphs of at most 7 nodes"):
        fitted.edge_probabilities(GraphBatch.of([tree(8), tree(6)]), torch.zeros(2, dtype=torch.long))
