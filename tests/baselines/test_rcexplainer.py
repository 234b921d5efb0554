"""RCExplainer where the answer is plain: boundaries against the head's weights, losses by hand, one edge decides."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rsgg.baselines.controls import EdgeGradient, RemovesByScore
from rsgg.baselines.rcexplainer import (
    Inputs,
    RCExplainer,
    Regions,
    boundaries_between,
    cover,
    distinct,
    edge_network,
    lead,
    mined_regions,
)
from rsgg.baselines.released.rcexplainer import ReleasedRCExplainer, all_entries
from rsgg.contract import check_explainer
from rsgg.contract.explainer import EdgesAgainstNodes
from rsgg.edges import EdgeBatch
from rsgg.errors import FitError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.oracles.oracle import Embeddings

BOTH = (RCExplainer, ReleasedRCExplainer)
QUICK = RCExplainer(epochs=60, lr=0.02, batch=10, pool=5)


class ColouredEdges(Oracle):
    """Class 1 iff two nodes of this colour (0 or 1) are joined: a network of one layer with a linear head.

    A node's embedding is its colours and, of a node of that colour, the weight of its edges to such nodes.
    """

    name = "coloured-edges"

    def __init__(self, colour: int) -> None:
        self.colour = colour

    def predict(self, graphs: GraphBatch) -> Tensor:
        return self.head(self.embeddings(EdgeBatch.of(graphs)).pooled).argmax(1)

    def why_not_differentiable(self) -> str:
        return ""

    def why_no_embeddings(self) -> str:
        return ""

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        assert graphs.features is not None
        x = graphs.features[graphs.node_mask]
        weight = torch.ones(len(graphs.u)) if weight is None else weight
        first = (graphs.sizes.cumsum(0) - graphs.sizes)[graphs.graph]
        u, v = first + graphs.u, first + graphs.v
        own = x[:, self.colour]
        joined = (
            torch.zeros(len(x)).index_add(0, torch.cat((u, v)), torch.cat((weight * own[v], weight * own[u]))) * own
        )
        nodes = torch.cat((x, joined[:, None]), 1)
        return Embeddings(nodes, torch.segment_reduce(nodes, "sum", lengths=graphs.sizes))

    def head(self, pooled: Tensor) -> Tensor:
        above = 2 * pooled[:, 2] - 1
        return torch.stack((-above, above), 1)


def coloured(count: int, joined: bool, seed: int) -> list[Graph]:
    """Paths of nodes that alternate in colour; where `joined`, one red (0) and one blue (1) pair are joined too."""
    rng, graphs = np.random.default_rng(seed), []
    for i in range(count):
        n = int(rng.integers(6, 12))
        graph, colours = nx.path_graph(n), [v % 2 for v in range(n)]
        if joined:  # two further nodes of each colour, hung on nodes of the other colour
            graph.add_edges_from([(1, n), (n, n + 1), (0, n + 2), (n + 2, n + 3)])
            colours += [0, 0, 1, 1]
        features = np.eye(2, dtype=np.float32)[colours]
        graphs.append(Graph(nx.to_numpy_array(graph, dtype=np.uint8), features, name=f"{joined}-{seed}-{i}"))
    return graphs


def pairs_of_colour(graph: Graph, colour: int) -> list[tuple[int, int]]:
    """The edges that join two nodes of this colour, by looking at each."""
    assert graph.features is not None
    return [(u, v) for u, v in graph.edges() if graph.features[u, colour] and graph.features[v, colour]]


@pytest.fixture(scope="module")
def training() -> GraphBatch:
    return GraphBatch.of(coloured(20, True, 0) + coloured(20, False, 1))


@pytest.fixture(scope="module")
def to_explain() -> GraphBatch:
    return GraphBatch.of(coloured(10, True, 2))


# -- linear decision boundaries --------------------------------------------------------------------------


def count_distinct(weight: Tensor, bias: Tensor) -> int:
    """How many of these hyperplanes differ, up to scale and sign: by comparing each with each."""
    rows = torch.cat((weight, bias[:, None]), 1)
    rows = rows / rows.norm(dim=1, keepdim=True)
    kept: list[Tensor] = []
    for row in rows:
        if all(min((row - one).norm(), (row + one).norm()) > 1e-3 for one in kept):
            kept.append(row)
    return len(kept)


def mined(head: nn.Module, n_classes: int, count: int = 40) -> tuple[Tensor, Tensor]:
    """The LDBs from one point of each class to all points of others."""
    points = 3 * torch.randn(count, 6, generator=torch.Generator().manual_seed(1))
    classes = head(points).argmax(1)
    parts = []
    for c in range(n_classes):
        own = (classes == c).nonzero().flatten()
        parts.append(boundaries_between(points[own[0]], points[classes != c], c, head))
    weights, biases = zip(*parts, strict=True)
    return torch.cat(weights), torch.cat(biases)


def with_seed(seed: int, *layers: nn.Module) -> nn.Sequential:
    generator = torch.Generator().manual_seed(seed)
    for layer in layers:
        for parameter in layer.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator)
    return nn.Sequential(*layers)


def test_a_linear_head_with_two_classes_has_one_boundary() -> None:
    """Whatever is mined is ±(w₁ - w₀, b₁ - b₀)."""
    head = with_seed(0, nn.Linear(6, 2))
    weight, bias = mined(head, 2)
    assert (
        len(weight) > 20 and count_distinct(weight, bias) == len(distinct(torch.cat((weight, bias[:, None]), 1))) == 1
    )
    (linear,) = (layer for layer in head.modules() if isinstance(layer, nn.Linear))
    difference, offset = linear.weight[1] - linear.weight[0], linear.bias[1] - linear.bias[0]
    assert torch.allclose(weight.abs(), difference.abs().expand_as(weight), atol=1e-5)
    assert torch.allclose(bias.abs(), offset.abs().expand_as(bias), atol=1e-4)


def test_a_third_class_or_a_hidden_layer_has_more() -> None:
    """With three classes they are the three differences of weights; a ReLU bends the boundary into several pieces."""
    head = with_seed(0, nn.Linear(6, 3))
    weight, bias = mined(head, 3)
    (linear,) = (layer for layer in head.modules() if isinstance(layer, nn.Linear))
    known = [linear.weight[a] - linear.weight[b] for a, b in combinations(range(3), 2)]
    assert count_distinct(weight, bias) == len(distinct(torch.cat((weight, bias[:, None]), 1))) == 3
    for row in weight:
        assert min(min((row - one).norm(), (row + one).norm()) for one in known) < 1e-5
    assert count_distinct(*mined(with_seed(0, nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2)), 2)) > 3


def test_boundaries_pass_between_the_two_points_where_the_logits_are_equal() -> None:
    """Inside is above, the other end below, if nothing bends between them."""
    head = with_seed(3, nn.Linear(6, 2))
    points = torch.randn(30, 6, generator=torch.Generator().manual_seed(2))
    classes = head(points).argmax(1)
    inside, outside = points[classes == 0][0], points[classes == 1]
    weight, bias = boundaries_between(inside, outside, 0, head)
    assert ((weight @ inside + bias) > 0).all() and (((weight * outside).sum(1) + bias) < 0).all()
    assert torch.allclose(
        weight @ inside + bias, lead(head(inside[None]), torch.tensor([0])).expand(len(bias)), atol=1e-4
    )


def test_the_choice_shuts_out_all_others_with_few_boundaries() -> None:
    """The first shuts out two others and loses nobody, the second one and nobody, the third all but loses half."""
    own = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 0, 1], [1, 1, 1, 1]], dtype=torch.bool)
    others = torch.tensor([[0, 1, 0, 1], [0, 1, 0, 1], [1, 0, 0, 1]], dtype=torch.bool)
    assert cover(own, others) == [0, 1]
    assert cover(own[:, 2:], others[:, 2:]) == [0], "the last shuts nobody out"
    assert cover(own[:, 3:], others[:, 3:]) == [0], "never none"


def test_a_boundary_that_a_later_one_makes_superfluous_is_left_out() -> None:
    own = torch.tensor([[1, 1, 1]] * 2, dtype=torch.bool)
    others = torch.tensor([[0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 1], [1, 1, 0]], dtype=torch.bool)
    assert cover(own, others) == [1, 2], "0 was the best at first: 3 of 5, of which 1 and 2 shut out all"


def test_regions_cover_every_graph_and_no_graph_of_another_class() -> None:
    """With a bent head: counted point by point."""
    head = with_seed(5, nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 2))
    pooled = 2 * torch.randn(80, 6, generator=torch.Generator().manual_seed(3))
    classes = head(pooled).detach().argmax(1)
    regions, found = mined_regions(pooled, classes, head, 30, np.random.default_rng(0))
    assert len(distinct(found)) == count_distinct(found[:, :-1], found[:, -1]) > 2
    assert (regions.region >= 0).all() and len(regions.class_) > 2
    assert torch.equal(regions.class_[regions.region], classes)
    own = regions.of(torch.arange(80))
    sides = own.sides(pooled)
    for r in range(len(regions.class_)):
        inside = regions.region == r
        for j in range(int(regions.there[r].sum())):
            assert len(set((sides[inside, j] > 0).tolist())) == 1, "those that share a region are on one side"


# -- the loss --------------------------------------------------------------------------------------------


def sigma(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_the_terms_are_the_papers() -> None:
    """A triangle with weights, and two boundaries (one of them padding for another region), by hand."""
    oracle, graphs = CountingOracle(EdgesAgainstNodes()), GraphBatch.of([nx.cycle_graph(3), nx.path_graph(3)])
    edges = EdgeBatch.of(graphs)
    embedded = oracle.embeddings(edges)
    assert embedded.pooled.tolist() == [[6, 3], [4, 3]], "twice the edges, and the nodes"
    inputs = Inputs(edges, embedded.nodes, embedded.pooled, torch.tensor([1, 0]))
    regions = Regions.of_several(
        [
            (torch.tensor([[0.5, -1.0], [1.0, 0.0]]), torch.tensor([0.5, -5.0]), 1),
            (torch.tensor([[-0.5, 1.0]]), torch.tensor([-0.5]), 0),
        ],
        torch.tensor([0, 1]),
    )
    m = torch.tensor([[0.8, 0.6, 0.2, 0.7, 0.5], [0.6, 0.6, 0.4, 0.9, 0.3]])
    explainer = RCExplainer(same=0.3, size=0.01, entropy=0.5)
    terms = explainer._terms(lambda ends: m, inputs, regions.of(torch.arange(2)), oracle)
    kept = [[0.7, 0.6, 0.3], [0.8, 0.4]]
    for i, (sides, n) in enumerate([([(0.5, -1.0, 0.5), (1.0, 0.0, -5.0)], 3), ([(-0.5, 1.0, -0.5)], 2)]):
        whole, soft, rest = 2 * n, 2 * sum(kept[i]), 2 * sum(1 - w for w in kept[i])
        at = [[a * x + b * 3 + c for x in (whole, soft, rest)] for a, b, c in sides]
        same = np.mean([sigma(-g * s) for g, s, _ in at])
        opposite = min(sigma(g * r) for g, _, r in at)
        entries = m[:, edges.graph == i].flatten().tolist()
        unsure = np.mean([-e * math.log(e) - (1 - e) * math.log(1 - e) for e in entries])
        assert terms[i].tolist() == pytest.approx(
            [0.3 * same, 0.7 * opposite, 0.01 * sum(entries), 0.5 * unsure], rel=1e-5
        )
    assert oracle.calls == 2 + 4, "both parts of both graphs"
    for share, calls in ((0.0, 8), (1.0, 10)):
        RCExplainer(same=share)._terms(lambda ends: m, inputs, regions.of(torch.arange(2)), oracle)
        assert oracle.calls == calls, "what weighs nothing is not asked about"


def test_as_released_padding_and_missing_edges_are_priced() -> None:
    """Against whole padded matrices, entry by entry, without noise."""
    graphs = GraphBatch.of([nx.cycle_graph(3), nx.path_graph(5)])
    edges = EdgeBatch.of(graphs)
    embedded = EdgesAgainstNodes().embeddings(edges)
    inputs = Inputs(edges, embedded.nodes, embedded.pooled, torch.zeros(2, dtype=torch.long))
    network = edge_network(2, 0)
    explainer = ReleasedRCExplainer(size=0.1, entropy=2.0)
    with torch.no_grad():
        draw = lambda ends: torch.sigmoid(network(ends)[..., 0])  # noqa: E731
        size, unsure = explainer._regularisers(torch.empty(0), inputs, draw)
    start = 0
    for i, n in enumerate((3, 5)):
        z = torch.zeros(5, 2)
        z[:n] = embedded.nodes[start : start + n]
        start += n
        m = torch.stack([torch.sigmoid(network(torch.cat((z[u], z[v])))) for u in range(5) for v in range(5)]).detach()
        assert float(size[i]) == pytest.approx(0.1 * float(m.sum()), rel=1e-5)
        assert float(unsure[i]) == pytest.approx(2 * float((-m * m.log() - (1 - m) * (1 - m).log()).mean()), rel=1e-5)
    assert all_entries(inputs).times.sum() == 2 * 25


@pytest.mark.parametrize("method", BOTH)
def test_the_loss_falls_and_every_parameter_has_a_gradient(method: type[RCExplainer], training: GraphBatch) -> None:
    explainer = method(epochs=30, lr=0.01, batch=10, pool=5, temperature_from=1.0, temperature_to=1.0)
    explainer.fit(training, ColouredEdges(0))
    losses = [step["loss"] for step in explainer.history_]
    assert len(losses) == 30 and np.mean(losses[-5:]) < 0.8 * np.mean(losses[:5])
    start = edge_network(3, 0).state_dict()
    for name, value in explainer.network_.state_dict().items():
        assert not torch.equal(value, start[name]), f"{name} was not trained"


def test_the_temperature_goes_from_one_end_to_the_other(training: GraphBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    drawn = RCExplainer._drawn

    def noted(self: RCExplainer, ends: Tensor, temperature: float, noise: torch.Generator) -> Tensor:
        seen.append(temperature)
        return drawn(self, ends, temperature, noise)

    monkeypatch.setattr(RCExplainer, "_drawn", noted)
    RCExplainer(epochs=4, batch=100).fit(training, ColouredEdges(0))
    assert seen == pytest.approx([0.5 * (4.99 / 0.5) ** (epoch / 4) for epoch in range(4)])


# -- explanations ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("colour", [0, 1])
def test_the_edge_that_decides_is_removed_first(colour: int, training: GraphBatch, to_explain: GraphBatch) -> None:
    """And another one where the oracle looks for another colour: it is its answers that decide."""
    oracle = ColouredEdges(colour)
    results = RCExplainer(epochs=60, lr=0.02, batch=10, pool=5).fit(training, oracle).explain(to_explain, oracle)
    for graph, result in zip(to_explain, results, strict=True):
        assert result.removed == pairs_of_colour(graph, colour) and len(result.removed) == 1
        assert result.calls == 3, "its class, its embeddings, the first removal"


def test_renamed_nodes_have_the_same_edges_removed(training: GraphBatch, to_explain: GraphBatch) -> None:
    oracle = ColouredEdges(0)
    fitted = RCExplainer(epochs=5, batch=10, pool=5).fit(training, oracle)
    own = [torch.randperm(n, generator=torch.Generator().manual_seed(n)) for n in to_explain.sizes.tolist()]
    order = torch.stack([torch.cat((o, torch.arange(len(o), to_explain.n_nodes))) for o in own])
    for before, after, new in zip(
        fitted.explain(to_explain, oracle), fitted.explain(to_explain.relabelled(order), oracle), order, strict=True
    ):
        renamed = sorted(tuple(sorted((int(new[u]), int(new[v])))) for u, v in after.removed)
        assert renamed == sorted(before.removed) and before.found


def test_nothing_is_removed_where_nothing_helps(training: GraphBatch) -> None:
    oracle = ColouredEdges(0)
    graphs = GraphBatch.of(coloured(3, False, 4))
    for result in QUICK.fit(training, oracle).explain(graphs, oracle):
        assert not result.found and "keeps the class" in result.reason
        assert result.calls == 2 + result.input.n_edges


def test_mined_regions_and_differences_of_logits_are_the_same_thing(
    training: GraphBatch, to_explain: GraphBatch
) -> None:
    """With a linear head and two classes: the same losses, the same scores, the same removals."""
    oracle = ColouredEdges(0)
    options: dict[str, Any] = {"epochs": 20, "lr": 0.01, "batch": 10}
    by_regions, by_logits, by_confidence = (
        RCExplainer(**options, logic=logic).fit(training, oracle) for logic in ("regions", "logits", "confidence")
    )
    mined_, none = by_regions.history_[0], by_logits.history_[0]
    assert (mined_["regions"], mined_["mined"], mined_["distinct"]) == (2, 2 * 20, 1)
    assert (none["regions"], none["mined"], none["distinct"]) == (0, 0, 0)
    losses = [[step["loss"] for step in one.history_] for one in (by_regions, by_logits, by_confidence)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4) and losses[0] != pytest.approx(losses[2], abs=1e-2)
    scores = [one.edge_scores(EdgeBatch.of(to_explain), CountingOracle(oracle)) for one in (by_regions, by_logits)]
    assert torch.allclose(scores[0], scores[1], atol=1e-3)
    removed = [[result.removed for result in one.explain(to_explain, oracle)] for one in (by_regions, by_logits)]
    assert removed[0] == removed[1]


def test_confidence_is_the_reduced_version_of_the_authors() -> None:
    """-log p of what is kept, -1 / log p of what is left out."""
    oracle = EdgesAgainstNodes()
    edges = EdgeBatch.of(GraphBatch.of([nx.cycle_graph(4)]))
    embedded = oracle.embeddings(edges)
    inputs = Inputs(edges, embedded.nodes, embedded.pooled, torch.tensor([1]))
    explainer, half = RCExplainer(logic="confidence"), torch.tensor([[4.0, 4.0]])
    p = sigma(2 - 4 + 0.5)
    regions = Regions.none(torch.tensor([1]))
    assert float(explainer._stays(half, inputs, regions, oracle.head)) == pytest.approx(-math.log(p), rel=1e-5)
    assert float(explainer._leaves(half, inputs, regions, oracle.head)) == pytest.approx(-1 / math.log(p), rel=1e-4)


def test_an_oracle_without_embeddings_is_refused_with_a_sentence(training: GraphBatch) -> None:
    with pytest.raises(FitError, match="needs the embeddings of a network, but the oracle 'tree-cycles' does not show"):
        RCExplainer().fit(training, TreeCyclesOracle())


@pytest.mark.parametrize("method", [*BOTH, EdgeGradient])
def test_the_contract_is_kept(method: type[RemovesByScore]) -> None:
    check_explainer(method)


def test_a_gradient_finds_the_edge_that_decides(to_explain: GraphBatch) -> None:
    """Of all others the class does not depend on the weight."""
    oracle = ColouredEdges(1)
    for graph, result in zip(to_explain, EdgeGradient().explain(to_explain, oracle), strict=True):
        assert result.removed == pairs_of_colour(graph, 1) and result.calls == 3
