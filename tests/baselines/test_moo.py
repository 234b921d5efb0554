"""MOO: fronts and volumes against brute force, subgraphs that are connected, answers that change the class."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines.moo import MOO, Front, RandomSubgraphs, divergence, dominated, pareto_front
from rsgg.baselines.released.moo import ReleasedMOO, ranked_pairs
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import hypervolume
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.seeds import numpy_rng


def triangles_and_tails() -> GraphBatch:
    """A triangle with a tail, twice, and a square with one: trees have none of them."""
    made = []
    for cycle, tail in ((3, 4), (3, 2), (4, 3)):
        graph = nx.cycle_graph(cycle)
        nx.add_path(graph, [0, *range(cycle, cycle + tail)])
        made.append(Graph.from_networkx(graph, name=f"{cycle}-{tail}"))
    return GraphBatch.of(made)


class HasTriangle(Oracle):
    """Class 1 iff there is a triangle; a black box."""

    name = "has-triangle"

    def predict(self, graphs: GraphBatch) -> Tensor:
        a = graphs.adjacency.float()
        return ((a @ a * a).sum((1, 2)) > 0).long()


class SoftEdges(Oracle):
    """Class 1 the more likely the more edges there are; differentiable."""

    name = "soft-edges"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (self.relaxed(graphs.adjacency.float())[:, 1] > 0.5).long()

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        p = (adjacency.sum((1, 2)) / 2 - 4.5).sigmoid()
        return torch.stack((1 - p, p), 1)


# -- answers -----------------------------------------------------------------------------------------------


def test_one_edge_of_a_triangle_is_the_answer() -> None:
    graphs = triangles_and_tails()
    first, second, square = MOO().explain(graphs, HasTriangle())
    for result in (first, second):
        assert result.found and len(result.removed) == 1 and not result.added
        assert set(result.removed[0]) < {0, 1, 2}
    assert not square.found and "Pareto front" in square.reason


def test_the_oracle_decides_and_results_do_not_depend_on_the_seed() -> None:
    graphs = triangles_and_tails()
    a, b = MOO().explain(graphs, HasTriangle()), MOO().explain(graphs, TreeCyclesOracle())
    assert [one.found for one in a] == [True, True, False] and all(one.found for one in b)
    again = MOO().explain(graphs, HasTriangle(), seed=7)
    assert [one.edits for one in a] == [one.edits for one in again]


def test_objectives_and_fronts_are_those_of_the_definition() -> None:
    """All subgraphs of a small graph, with a beam that is wide enough for all of them."""
    graphs, oracle = triangles_and_tails()[:1], SoftEdges()
    explainer = MOO(width=1000, most_edges=7)
    explainer.explain(graphs, oracle)
    graph = graphs[0]
    edges = graph.edges()
    whole = oracle.relaxed(graphs.adjacency.float()).numpy()
    rows, subgraphs = [], []
    for size in range(1, len(edges) + 1):
        for own in combinations(edges, size):
            if not nx.is_connected(nx.Graph(own)):
                continue
            alone = np.zeros_like(graph.adjacency)
            for u, v in own:
                alone[u, v] = alone[v, u] = 1
            y = oracle.relaxed(torch.tensor(np.stack((alone, graph.adjacency - alone))).float()).numpy()
            kl = [sum(p * np.log(p / q) + q * np.log(q / p) for p, q in zip(whole[0], row, strict=True)) for row in y]
            rows.append((-kl[0], kl[1], size))
            subgraphs.append(own)
    front = explainer.fronts_[graph.name]
    best = [
        a for a in rows
        if not any(b[0] >= a[0] - 1e-9 and b[1] >= a[1] - 1e-9 and b[2] <= a[2] and
                   (b[0] > a[0] + 1e-7 or b[1] > a[1] + 1e-7 or b[2] < a[2]) for b in rows)
    ]  # fmt: skip
    assert {tuple(np.round(row, 4)) for row in front.objectives} == {tuple(np.round(row, 4)) for row in best}
    assert all(own in subgraphs for own in front.subgraphs)


def test_the_cheapest_of_the_front_is_taken_out_or_kept_alone() -> None:
    graphs = triangles_and_tails()[:1]  # seven edges: three have to go, whichever; or three of them are kept
    results = MOO(width=50, most_edges=7).explain(graphs, SoftEdges(), k=4)
    costs = [len(one.edits) for one in results if one.found]
    assert costs == sorted(costs) and costs[0] == 3
    for one in results:
        assert not one.found or one.graph is not None and one.graph.n_edges <= 4  # noqa: RUF021
    few = MOO(width=50, most_edges=1).explain(graphs, SoftEdges())
    assert len(few[0].edits) == 6, "one edge alone is of the other class, one edge less is not"


@pytest.mark.parametrize("budget", [1, 2, 3, 9, 40])
def test_the_budget_is_kept(budget: int) -> None:
    for oracle in (HasTriangle(), SoftEdges()):
        results = MOO().explain(triangles_and_tails(), CountingOracle(oracle, budget))
        assert all(one.calls <= budget for one in results)
        assert all(one.found or one.reason for one in results)


def test_padding_and_company_do_not_matter() -> None:
    graphs = triangles_and_tails()
    together = MOO().explain(graphs, HasTriangle())
    alone = [MOO().explain([graph], HasTriangle())[0] for graph in graphs]
    assert [one.edits for one in together] == [one.edits for one in alone]


# -- fronts and volumes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_no_row_of_a_front_is_beaten_and_all_others_are(seed: int) -> None:
    rows = numpy_rng("front", seed).integers(0, 5, (30, 3)).astype(float)
    front = set(pareto_front(rows).tolist())
    for i, row in enumerate(rows):
        better = [j for j in range(30) if (rows[j] >= row).all() and (rows[j] > row).any()]
        equal_before = any((rows[j] == row).all() for j in range(i))
        assert (i in front) == (not better and not equal_before)


def by_inclusion_and_exclusion(points: np.ndarray, reference: np.ndarray) -> float:
    """Σ over all sets of points of (-1)^(size + 1) · volume of the box below all of them."""
    total = 0.0
    for size in range(1, len(points) + 1):
        for own in combinations(points, size):
            total += (-1) ** (size + 1) * float(np.prod(np.maximum(np.min(own, axis=0) - reference, 0)))
    return total


@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_volumes_are_those_of_inclusion_and_exclusion(columns: int, seed: int) -> None:
    points, reference = numpy_rng("volume", seed, columns).normal(size=(7, columns)), np.full(columns, -0.3)
    assert hypervolume(points, reference) == pytest.approx(by_inclusion_and_exclusion(points, reference))
    front = points[pareto_front(points)]
    assert hypervolume(front, reference) == pytest.approx(hypervolume(points, reference))


def test_a_volume_is_what_darts_hit() -> None:
    points = numpy_rng("darts").random((12, 3))
    darts = numpy_rng("thrown").random((20_000, 3))
    hit = np.mean([(points >= dart).all(1).any() for dart in darts])
    assert hypervolume(points, np.zeros(3)) == pytest.approx(hit, abs=0.02)
    assert hypervolume([], np.zeros(3)) == 0.0 == hypervolume([[1.0, -1.0]], [0.0, 0.0])


def test_what_a_front_dominates_is_a_share_of_everything() -> None:
    """One edge that says all dominates everything; of answers halfway between opposite ones, by hand."""
    d = float(divergence(np.eye(2)[:1], np.eye(2)[1:])[0])
    whole, none = Front((((0, 1),),), np.array([[0.0, d, 1.0]])), Front((), np.zeros((0, 3)))
    assert dominated(whole, 8) == pytest.approx(1.0) and dominated(none, 8) == 0.0
    half = Front((((0, 1), (1, 2)),), np.array([[-d / 2, d / 4, 2.0]]))
    assert dominated(half, 8) == pytest.approx(1 / 2 * 1 / 4 * 7 / 8)


class WeightedEdges(SoftEdges):
    """Edges weigh the more the higher their nodes are numbered."""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        numbers = torch.arange(adjacency.shape[1]).float()
        p = (torch.einsum("bij,i,j->b", adjacency, numbers, numbers) / 20 - 2).sigmoid()
        return torch.stack((1 - p, p), 1)


def test_subgraphs_at_random_depend_on_the_seed_and_dominate_no_more() -> None:
    """A beam that is wider than there are subgraphs looks at all of them, whatever is drawn."""
    graphs, oracle = triangles_and_tails(), WeightedEdges()

    def shares(explainer: MOO, seed: int) -> list[float]:
        explainer.explain(graphs, oracle, seed=seed)
        return [dominated(explainer.fronts_[name], explainer.most_edges) for name in graphs.names]

    best = shares(MOO(width=2), 0)
    drawn = [shares(RandomSubgraphs(width=2), seed) for seed in range(4)]
    assert all(one <= most + 1e-12 for each in drawn for one, most in zip(each, best, strict=True))
    assert len({tuple(each) for each in drawn}) > 1
    assert shares(RandomSubgraphs(width=500), 1) == shares(MOO(width=1000), 0)


def test_divergence_is_symmetric_and_closed_form() -> None:
    p, q = np.array([[0.9, 0.1]]), np.array([[0.5, 0.5]])
    by_hand = 0.9 * np.log(0.9 / 0.5) + 0.1 * np.log(0.1 / 0.5) + 0.5 * np.log(0.5 / 0.9) + 0.5 * np.log(0.5 / 0.1)
    assert divergence(p, q) == pytest.approx(by_hand) and divergence(q, p) == pytest.approx(by_hand)
    assert divergence(p, p) == pytest.approx(0)


# -- as released -------------------------------------------------------------------------------------------


def by_the_letter(values: list[float]) -> tuple[int, int]:
    """The published ranking: positions in sorted lists are added, the first of the smallest sums wins."""
    pairs = [(i, j) for i in range(1, len(values)) for j in range(i)]
    gains = {pair: (values[pair[0]] - values[pair[1]]) / (pair[0] - pair[1]) for pair in pairs}
    of_values, of_gains = sorted(values, reverse=True), sorted(gains.values(), reverse=True)
    return min(pairs, key=lambda pair: of_values.index(values[pair[0]]) + of_gains.index(gains[pair]))


@pytest.mark.parametrize("seed", range(6))
def test_ranks_are_added_as_published(seed: int) -> None:
    values = np.round(-numpy_rng("ranks", seed).random(9), 1)  # with ties
    assert ranked_pairs(values)[0] == by_the_letter(values.tolist())


def test_the_released_answer_is_a_part_of_the_walk_from_the_node_of_highest_degree() -> None:
    graph = nx.star_graph(4)
    nx.add_path(graph, [4, 5, 6, 7])
    labelled = Graph(nx.to_numpy_array(graph, dtype=np.uint8), np.eye(2)[[0, 1, 0, 1, 0, 1, 0, 1]], "star")
    (result,) = ReleasedMOO(depth=2).explain([labelled], SoftEdges())
    assert result.graph is not None
    walk = list(nx.dfs_edges(graph, source=0, depth_limit=2))
    assert result.calls == 2 + 1 + len(walk), "the class, the probabilities, S_0 and one subgraph per edge"
    size = result.graph.n_edges
    nodes = {0, *(node for edge in walk[:size] for node in edge)}
    assert result.graph.n_nodes == len(nodes)
    assert {one.node for one in result.node_edits if one.kind == "drop"} == set(range(8)) - nodes


def test_the_released_answer_need_not_change_the_class() -> None:
    class Constant(SoftEdges):
        def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
            return torch.tensor([[0.2, 0.8]]).expand(len(adjacency), 2)

    results = ReleasedMOO().explain(triangles_and_tails(), Constant())
    assert all(one.offered and not one.found for one in results)
