"""RSGG-CE to the letter: Eq. 4 and its gradient against loops over single nodes, Algorithm 1 on a hand-made A_g."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rsgg.contract import check_explainer
from rsgg.errors import GraphError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.rsgg_ce import LiteralRSGGCE
from rsgg.rsgg_ce.literal import LiteralTraining
from tests.graphs import tree, unicyclic

Weights = dict[str, np.ndarray]
Plain = tuple[np.ndarray, np.ndarray]  # X and A of one graph


def graph(n: int, edges: list[tuple[int, int]], features: list[list[float]] | None = None) -> Graph:
    adjacency = np.zeros((n, n))
    for u, v in edges:
        adjacency[u, v] = adjacency[v, u] = 1
    return Graph(adjacency, None if features is None else np.array(features))


OWN = GraphBatch.of(
    [
        graph(3, [(0, 1), (1, 2)], [[0.5, 1], [-1, 0], [2, 1]]),
        graph(4, [(0, 1), (0, 2), (0, 3)], [[1, 1], [0, -2], [0.3, 0], [1, 0.5]]),
    ]
)
REAL = GraphBatch.of([graph(3, [(0, 1), (1, 2), (0, 2)], [[1, 0], [0, 1], [1, 1]])])


class EveryOther(Oracle):
    """Answers 0, 1, 0, 1, … within a batch, and keeps what it was asked about."""

    name = "every-other"

    def __init__(self) -> None:
        self.asked: list[GraphBatch] = []

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.asked.append(graphs)
        return torch.arange(len(graphs)) % 2


@pytest.fixture
def training() -> LiteralTraining:
    """Of class 0 on the tiny graphs, with weights that make A + Â leave [0, 1] on both sides."""
    settings = LiteralRSGGCE(hidden=4, latent=2, generator_lr=1e-4, discriminator_lr=1e-2)
    made = LiteralTraining(0, OWN, REAL, CountingOracle(EveryOther()), settings, seed=3)
    rng = torch.Generator().manual_seed(338)
    with torch.no_grad():
        for parameter in (*made.generator.parameters(), *made.discriminator.parameters()):
            parameter.copy_(torch.randn(parameter.shape, generator=rng) * 0.8)
        a_g = made.generator(*made.input)[1]
    assert a_g.min() < -0.3 and a_g.max() > 1.3
    return made


# -- Eq. 4 once more, in float64, one graph and one node at a time ---------------------------------------


def weights_of(network: nn.Module) -> Weights:
    return {name: value.detach().double().numpy().copy() for name, value in network.state_dict().items()}


def plain(graphs: GraphBatch) -> list[Plain]:
    return [(np.array(g.features, dtype=float), np.array(g.adjacency, dtype=float)) for g in graphs]


def convolved(h: np.ndarray, a: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Σ_w (A + I)_vw / √(d_v d_w) · h_w W + b, written out."""
    n = len(a)
    degree = [1 + sum(abs(a[v, w]) for w in range(n)) for v in range(n)]
    rows = []
    for v in range(n):
        total = h[v] @ weight / degree[v]
        for w in range(n):
            if w != v:
                total = total + a[v, w] / math.sqrt(degree[v] * degree[w]) * (h[w] @ weight)
        rows.append(total + bias)
    return np.array(rows)


def generated(weights: Weights, x: np.ndarray, a: np.ndarray) -> Plain:
    hidden = np.maximum(convolved(x, a, weights["first.weight"], weights["first.bias"]), 0)
    z = convolved(hidden, a, weights["second.weight"], weights["second.bias"])
    a_g = a.copy()
    for u in range(len(a)):
        for v in range(len(a)):
            if u != v:
                a_g[u, v] += math.tanh(sum(z[u, k] * z[v, k] for k in range(z.shape[1])))
    return np.array([weights["features.weight"] @ row + weights["features.bias"] for row in z]), a_g


def probability_of_real(weights: Weights, x: np.ndarray, a: np.ndarray) -> float:
    hidden = np.maximum(convolved(x, a, weights["first.weight"], weights["first.bias"]), 0)
    hidden = np.maximum(convolved(hidden, a, weights["second.weight"], weights["second.bias"]), 0)
    logit = float((weights["out.weight"] @ np.mean(hidden, 0) + weights["out.bias"])[0])
    return 1 / (1 + math.exp(-logit))


def generator_sum(generator: Weights, discriminator: Weights) -> float:
    """The third sum of Eq. 4 over the tiny graphs of class 0."""
    fakes = [generated(generator, x, a) for x, a in plain(OWN)]
    return sum(math.log(1 - probability_of_real(discriminator, x, a)) for x, a in fakes)


def test_both_losses_are_those_of_equation_4(training: LiteralTraining) -> None:
    generator, discriminator = weights_of(training.generator), weights_of(training.discriminator)
    row = training.epoch()
    loss = sum(math.log(probability_of_real(discriminator, x, a)) for x, a in plain(REAL))
    for flipped, (x, a) in zip((0, 1), plain(OWN), strict=True):  # the oracle answers 0 and 1, and c is 0
        score = probability_of_real(discriminator, *generated(generator, x, a))
        loss += flipped * math.log(score) + math.log(1 - score)
    assert row["discriminator_loss"] == pytest.approx(-loss / 2, rel=1e-5)
    after = weights_of(training.discriminator)  # 𝔾's step comes second and meets the 𝔻 that has moved
    assert row["generator_loss"] == pytest.approx(generator_sum(generator, after) / 2, rel=1e-5)
    assert abs(generator_sum(generator, after) - generator_sum(generator, discriminator)) > 1e-3
    assert row["flip_rate"] == 0.5


def test_every_weight_of_the_generator_goes_down_the_third_sum(training: LiteralTraining) -> None:
    """Finite differences of the plain loops, through X̂ and A + Â; Adam's first step is -lr · sign of the gradient."""
    before = weights_of(training.generator)
    training.epoch()
    discriminator, moved = weights_of(training.discriminator), weights_of(training.generator)
    seen = 0
    for name, parameter in training.generator.named_parameters():
        assert parameter.grad is not None
        for index in np.ndindex(before[name].shape):
            slopes = []
            for step in (1e-5, -1e-5):
                shifted = {key: value.copy() for key, value in before.items()}
                shifted[name][index] += step
                slopes.append(generator_sum(shifted, discriminator))
            slope = (slopes[0] - slopes[1]) / 2e-5
            assert float(parameter.grad[index]) == pytest.approx(slope, rel=1e-3, abs=1e-5)
            if abs(slope) > 1e-4:
                seen += 1
                assert moved[name][index] - before[name][index] == pytest.approx(-1e-4 * np.sign(slope), rel=1e-2)
    assert seen > 10


def test_the_discriminator_goes_up_all_three_sums(training: LiteralTraining) -> None:
    generator, before = weights_of(training.generator), weights_of(training.discriminator)
    training.epoch()
    moved = weights_of(training.discriminator)

    def equation_4(weights: Weights) -> float:
        total = sum(math.log(probability_of_real(weights, x, a)) for x, a in plain(REAL))
        scores = [probability_of_real(weights, *generated(generator, x, a)) for x, a in plain(OWN)]
        return total + math.log(scores[1]) + sum(math.log(1 - score) for score in scores)

    for step in (1e-5, -1e-5):
        shifted = {**before, "out.bias": before["out.bias"] + step}
        higher = equation_4(shifted) > equation_4(before)
        assert higher == (np.sign(step) == np.sign(moved["out.bias"] - before["out.bias"])[0])
    assert equation_4(moved) > equation_4(before)


def test_samples_are_drawn_from_the_cut_probabilities(training: LiteralTraining) -> None:
    trials = 2000
    a_g = torch.tensor([[0.0, 1.3, 0.25], [1.3, 0.0, -0.4], [0.25, -0.4, 0.0]])
    padded = torch.zeros(2, 4, 4)
    padded[0, :3, :3] = padded[1, :3, :3] = a_g
    seen = torch.stack([training._sample(padded).adjacency[0] for _ in range(trials)]).double()
    assert torch.equal(seen, seen.transpose(1, 2)) and not seen.diagonal(dim1=1, dim2=2).any()
    assert (seen[:, 0, 1] == 1).all() and not seen[:, 1, 2].any() and not seen[:, 3].any()
    assert float(seen[:, 0, 2].mean()) == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / trials))


def test_curves_of_an_epoch_describe_what_the_oracle_was_asked_about(training: LiteralTraining) -> None:
    oracle = training.oracle.oracle
    assert isinstance(oracle, EveryOther)
    made = [generated(weights_of(training.generator), x, a)[1] for x, a in plain(OWN)]
    row = training.epoch()
    (asked,) = oracle.asked
    edits = [set(nx.Graph(np.array(one.adjacency)).edges) ^ set(nx.Graph(np.array(other.adjacency)).edges)
             for one, other in zip(asked, OWN, strict=True)]  # fmt: skip
    assert row["edits"] == sum(map(len, edits)) / 2 > 0
    chances = [min(max(a[u, v], 0), 1) for a in made for u, v in combinations(range(len(a)), 2)]
    assert row["diversity"] == pytest.approx(sum(2 * p * (1 - p) for p in chances) / 2, rel=1e-5)


# -- Training and inference as a whole -------------------------------------------------------------------

GRAPHS = GraphBatch.of([tree(7, seed) if seed % 2 else unicyclic(7, 3, seed) for seed in range(12)])


def test_training_asks_about_every_graph_once_per_epoch() -> None:
    oracle = CountingOracle(TreeCyclesOracle())
    explainer = LiteralRSGGCE(epochs=3).fit(GRAPHS, oracle)
    assert oracle.calls == 12 + 3 * 12  # their classes, then one sample of each in each epoch
    assert [(row["class"], row["epoch"]) for row in explainer.history_] == [(c, e) for c in (0, 1) for e in range(3)]


def test_the_defaults_are_the_values_of_the_paper() -> None:
    explainer = LiteralRSGGCE()
    assert (explainer.epochs, explainer.generator_lr, explainer.discriminator_lr) == (500, 1e-3, 1e-3)
    assert explainer.iterations == 500


class HandMade(LiteralRSGGCE):
    """Algorithm 1 on a given A_g instead of a generator's."""

    table: Tensor

    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        return self.table.expand(len(graphs), -1, -1)


def explained(example: Graph, probabilities: dict[tuple[int, int], float]) -> tuple[np.ndarray | None, int]:
    """What Algorithm 1 makes of a graph, and the calls that it asked beside the one for the graph's class."""
    explainer = HandMade(epochs=1).fit(GRAPHS, TreeCyclesOracle())
    explainer.table = torch.zeros(example.n_nodes, example.n_nodes)
    for (u, v), p in probabilities.items():
        explainer.table[u, v] = explainer.table[v, u] = p
    (result,) = explainer.explain([example], TreeCyclesOracle())
    return None if result.graph is None else result.graph.adjacency, result.calls - 1


PAN = graph(4, [(0, 1), (1, 2), (0, 2), (2, 3)])  # a triangle with a tail; (0, 3) and (1, 3) are missing
PATH = {(0, 2): 1.0, (1, 2): 1.0, (2, 3): 1.0}  # its edges without (0, 1), which cuts the cycle


def test_a_cut_is_found_at_the_first_missing_pair() -> None:
    """Neither missing pair is sampled: one check, after the first of them, and A' is the path."""
    found, calls = explained(PAN, PATH)
    assert calls == 1 and found is not None
    assert np.array_equal(found, graph(4, [(0, 2), (1, 2), (2, 3)]).adjacency)


def test_a_cut_that_the_first_missing_pair_closes_again_is_never_seen() -> None:
    """The text would check after the existing edges and find it; the letter asks after (0, 3) and after (1, 3)."""
    assert explained(PAN, {**PATH, (0, 3): 1.0, (1, 3): 1.0}) == (None, 2)


def test_without_a_missing_pair_there_is_no_check_at_all() -> None:
    assert explained(graph(3, [(0, 1), (1, 2), (0, 2)]), {(0, 1): 1.0}) == (None, 0)


def test_a_tree_stops_at_the_pair_that_closes_a_cycle() -> None:
    found, calls = explained(graph(4, [(0, 1), (1, 2), (2, 3)]), {(0, 1): 1.0, (1, 2): 1.0, (2, 3): 1.0, (0, 3): 1.0})
    assert found is not None and found.sum() == 8 and found[0, 3] == 1
    assert calls in (1, 2)  # a second one if the first pair visited was not sampled


# -- What a user relies on -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted() -> LiteralRSGGCE:
    return LiteralRSGGCE(epochs=5).fit(GRAPHS, TreeCyclesOracle(), seed=2)


def test_contract() -> None:
    assert check_explainer(LiteralRSGGCE)


def test_relabelling_the_nodes_relabels_the_probabilities(fitted: LiteralRSGGCE) -> None:
    classes = TreeCyclesOracle().predict(GRAPHS)
    order = torch.stack([torch.randperm(7, generator=torch.Generator().manual_seed(i)) for i in range(len(GRAPHS))])
    rows, before = torch.arange(len(GRAPHS))[:, None, None], fitted.edge_probabilities(GRAPHS, classes)
    expected = before[rows, order[:, :, None], order[:, None, :]]
    assert torch.allclose(fitted.edge_probabilities(GRAPHS.relabelled(order), classes), expected, atol=1e-6)
    assert not torch.allclose(before, expected, atol=1e-3)


def test_each_class_has_its_own_generator() -> None:
    """A generator whose weights are all zero has no residual: A_g = A for the graphs of its class, and only there."""
    explainer = LiteralRSGGCE(epochs=1).fit(GRAPHS, TreeCyclesOracle())
    with torch.no_grad():
        for parameter in explainer.generators_[1].parameters():
            parameter.zero_()
    p = explainer.edge_probabilities(GRAPHS, torch.tensor([0, 1] * 6))
    unchanged = (p == GRAPHS.adjacency).flatten(1).all(1)
    assert unchanged.tolist() == [False, True] * 6


def test_probabilities_are_probabilities_of_pairs(fitted: LiteralRSGGCE) -> None:
    """Also with padding: a graph in a batch with a larger one gets what it gets alone."""
    small = GraphBatch.of([tree(5, 1)])
    both = GraphBatch.of([tree(5, 1), tree(9, 2)])
    p = fitted.edge_probabilities(both, torch.zeros(2, dtype=torch.long))
    assert float(p.min()) >= 0 and float(p.max()) <= 1
    assert torch.allclose(p, p.transpose(1, 2)) and not p.diagonal(dim1=1, dim2=2).any()
    assert not p[0, 5:].any()
    assert torch.allclose(p[:1, :5, :5], fitted.edge_probabilities(small, torch.zeros(1, dtype=torch.long)), atol=1e-6)


def test_node_features_are_read() -> None:
    rng = np.random.default_rng(0)
    featured = [Graph(g.adjacency, rng.normal(size=(7, 3))) for g in GRAPHS]
    explainer = LiteralRSGGCE(epochs=2).fit(featured, TreeCyclesOracle())
    one, other = (Graph(featured[0].adjacency, rng.normal(size=(7, 3))) for _ in range(2))
    p = explainer.edge_probabilities(GraphBatch.of([one, other]), torch.ones(2, dtype=torch.long))
    assert not torch.allclose(p[0], p[1], atol=1e-3)
    with pytest.raises(GraphError, match="width 3, and these have no node features"):
        explainer.explain(GRAPHS, TreeCyclesOracle())


def test_a_saved_explainer_is_the_same(fitted: LiteralRSGGCE, tmp_path: Path) -> None:
    loaded = LiteralRSGGCE.load(fitted.save(tmp_path / "literal"))
    classes = TreeCyclesOracle().predict(GRAPHS)
    assert torch.equal(loaded.edge_probabilities(GRAPHS, classes), fitted.edge_probabilities(GRAPHS, classes))
    assert loaded.hyperparameters() == fitted.hyperparameters()


def test_the_seed_decides_the_weights_of_both_classes(fitted: LiteralRSGGCE) -> None:
    again, other = (LiteralRSGGCE(epochs=5).fit(GRAPHS, TreeCyclesOracle(), seed=seed) for seed in (2, 3))
    for c in (0, 1):
        weight = fitted.generators_[c].second.weight
        assert torch.equal(again.generators_[c].second.weight, weight)
        assert not torch.equal(other.generators_[c].second.weight, weight)
    assert not torch.equal(fitted.generators_[0].second.weight, fitted.generators_[1].second.weight)
