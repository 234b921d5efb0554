"""The closed forms against exhaustive search, and against the published means."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch

from rsgg.contract.explainer import TriangleOracle
from rsgg.data import ASD, TreeCycles
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import ASDOracle, CountingOracle, TreeCyclesOracle
from rsgg.oracles.asd import INTERCEPT, S1, S2, WEIGHT_S1, WEIGHT_S2
from tests.graphs import all_graphs, gnp_graphs, needs_asd


def cyclic(adjacency: np.ndarray) -> np.ndarray:
    """Peel leaves until nothing changes: what is left has a cycle, and nothing is left of a forest. int [B]"""
    core = adjacency.astype(int)
    for _ in range(adjacency.shape[1]):
        inner = core.sum(2) > 1
        core = core * inner[:, :, None] * inner[:, None, :]
    return core.any((1, 2)).astype(int)


def nearest_of_other_class(classes: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Hamming distance from each position to the nearest position of another class, by looking at all of them."""
    everything = np.arange(len(classes))
    nearest = np.full(len(positions), np.inf)
    for row, position in enumerate(positions):
        others = everything[classes != classes[position]]
        if len(others):
            nearest[row] = np.bitwise_count(others ^ position).min()
    return nearest


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_tree_cycles_optimum_is_what_exhaustive_search_finds(n: int) -> None:
    adjacency = all_graphs(n)
    classes = cyclic(adjacency)
    positions = np.arange(len(adjacency)) if n < 6 else np.random.default_rng(0).choice(len(adjacency), 150, False)
    graphs = GraphBatch.of([Graph(adjacency[i]) for i in positions])
    expected = nearest_of_other_class(classes, positions)
    best = TreeCyclesOracle().optimal_ged(graphs)
    assert best is not None and best.numpy().tolist() == expected.tolist()
    closest = TreeCyclesOracle().optimal_counterfactual(graphs, torch.from_numpy(classes[positions]))
    assert closest is not None
    edits = (closest != graphs.adjacency).sum((1, 2)).numpy() / 2
    assert edits.tolist() == np.where(np.isinf(expected), 0, expected).tolist()
    assert (cyclic(closest.numpy()) != classes[positions]).tolist() == np.isfinite(expected).tolist()


def test_one_graph_is_solved_as_in_any_batch() -> None:
    graphs = GraphBatch.of(gnp_graphs(60))
    classes = TreeCyclesOracle().predict(graphs)
    together = TreeCyclesOracle().optimal_counterfactual(graphs, classes)
    assert together is not None
    for i, graph in enumerate(graphs):
        alone = TreeCyclesOracle().optimal_counterfactual(GraphBatch.of(graph), classes[i : i + 1])
        n = graph.n_nodes
        assert alone is not None and torch.equal(alone[0], together[i, :n, :n])
        assert not together[i, n:].any()


def fewest_flips(adjacency: np.ndarray) -> float:
    """The optimum under the ASD rule from counts alone: over all numbers of flips of each of the three kinds."""
    present, absent = np.zeros(3, dtype=int), np.zeros(3, dtype=int)
    for u, v in combinations(range(116), 2):
        in_s1, in_s2 = {u, v} <= set(S1), {u, v} <= set(S2)
        if in_s1 or in_s2:
            kind = 2 if in_s1 and in_s2 else int(in_s2)
            present[kind] += adjacency[u, v]
            absent[kind] += 1 - adjacency[u, v]
    change = np.meshgrid(*(np.arange(-p, a + 1) for p, a in zip(present, absent, strict=True)), indexing="ij")
    a, b = present[0] + change[0] + present[2] + change[2], present[1] + change[1] + present[2] + change[2]
    one = INTERCEPT + WEIGHT_S1 * a + WEIGHT_S2 * b > 0
    unchanged = one[present[0], present[1], present[2]]
    return float(sum(np.abs(c) for c in change)[one != unchanged].min())


def test_asd_optimum_is_the_fewest_flips_over_all_counts() -> None:
    rng = np.random.default_rng(0)
    graphs = GraphBatch.of([nx.gnp_random_graph(116, p, seed=int(rng.integers(99))) for p in rng.uniform(0, 1, 12)])
    oracle = ASDOracle()
    best, classes = oracle.optimal_ged(graphs), oracle.predict(graphs)
    assert len(set(classes.tolist())) == 2
    assert best is not None and best.tolist() == [fewest_flips(graph.adjacency.astype(int)) for graph in graphs]
    closest = oracle.optimal_counterfactual(graphs, classes)
    assert closest is not None and torch.equal(closest, closest.transpose(1, 2))
    assert ((closest != graphs.adjacency).sum((1, 2)) / 2).tolist() == best.tolist()
    assert (oracle.predict(graphs.candidates(closest, torch.arange(len(graphs)))) != classes).all()


@needs_asd
def test_mean_on_asd_is_the_published_lower_bound() -> None:
    best = ASDOracle().optimal_ged(ASD().load().graphs)
    assert best is not None and best.mean().item() == pytest.approx(8.198, abs=5e-4)


def test_mean_on_tree_cycles() -> None:
    """Half trees at 1, half cyclic: five of six cases have one cycle, the sixth two. 1/2 + (5/6 + 2/6) / 2 = 1.083."""
    best = TreeCyclesOracle().optimal_ged(TreeCycles(n_graphs=1500).load().graphs)
    assert best is not None and best.mean().item() == pytest.approx(13 / 12, abs=0.025)


def test_other_oracles_have_no_known_optimum_and_nothing_is_asked() -> None:
    graphs = GraphBatch.of(gnp_graphs(5))
    assert TriangleOracle().optimal_ged(graphs) is None
    assert TriangleOracle().optimal_counterfactual(graphs, torch.zeros(5, dtype=torch.long)) is None
    counted = CountingOracle(TreeCyclesOracle())
    assert counted.optimal_ged(graphs) is not None and counted.evaluated == 0
