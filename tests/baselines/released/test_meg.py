"""MEG as released, against the published procedure carried out step by step on NetworkX graphs."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from rsgg.baselines.released.meg import ReleasedMEG, flipped_pairs, numbers_of, order_of_appearance
from rsgg.data import TreeCycles
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import TreeCyclesOracle
from rsgg.seeds import numpy_rng


def actions_of(matrix: np.ndarray) -> list[nx.Graph]:
    """One graph per pair of nodes; the matrix is changed in place, pair after pair, and stays changed."""
    actions = []
    for u in range(len(matrix)):
        for v in range(u + 1, len(matrix)):
            matrix[u, v] = matrix[v, u] = 1 - matrix[u, v]
            actions.append(nx.from_numpy_array(matrix))
    return actions


def edges(graph: nx.Graph) -> set[frozenset[int]]:
    return {frozenset(edge) for edge in graph.edges}


def nearest_by_the_letter(graph: nx.Graph, prefixes: np.ndarray) -> nx.Graph:
    """The end state of the smallest distance: graphs are compared by names, matrices have the order of the nodes."""
    own, ends = nx.to_numpy_array(graph, dtype=int), []
    for episode in prefixes:
        actions = actions_of(own)
        for prefix in episode:
            state = actions[prefix - 1]
            actions = actions_of(nx.to_numpy_array(state, dtype=int))
        ends.append(state)
    return min(ends, key=lambda end: len(edges(end) ^ edges(graph)))


@pytest.mark.parametrize("order", ["generation", "edge-list"])
def test_the_nearest_end_state_step_by_step(tmp_path: Path, order: str) -> None:
    """Whether graphs come in the order of their names, or of their list of edges with their names beside them."""
    generated = TreeCycles(n_nodes=10, n_graphs=12, max_cycle_nodes=4, order="generation").load().graphs
    graphs = TreeCycles(n_nodes=10, n_graphs=12, max_cycle_nodes=4, order=order).load().graphs  # type: ignore[arg-type]
    explainer = ReleasedMEG(episodes=3, steps=4)
    results = explainer.explain(graphs, TreeCyclesOracle(), seed=5)
    moved = 0
    for graph, result in zip(generated, results, strict=True):
        nx.write_edgelist(graph.to_networkx(), tmp_path / "edges", data=False)
        read = nx.read_edgelist(tmp_path / "edges", nodetype=int)
        prefixes = numpy_rng(5, "released meg", graph.name, 0).integers(1, 46, size=(3, 4))
        expected = nearest_by_the_letter(read, prefixes)
        assert edges(result.returned.to_networkx()) == edges(expected)
        assert len(result.edits) == len(edges(expected) ^ edges(read))
        moved += list(read) != list(range(10))
    assert moved > 6, "otherwise names and rows are the same, and nothing is shown"


def test_every_second_episode_starts_from_the_complement() -> None:
    prefixes = np.array([[1, 3], [1, 3], [2, 2]])
    expected = [[0, 1, 1, 0], [1, 0, 0, 1], [0, 0, 0, 0]]
    assert flipped_pairs(prefixes, 4).astype(int).tolist() == expected


def test_names_and_rows() -> None:
    listed = nx.empty_graph(6)
    listed.add_edges_from([(0, 4), (1, 3), (1, 4), (2, 3)])
    graph = nx.to_numpy_array(listed) > 0
    assert order_of_appearance(graph).tolist() == [0, 4, 1, 3, 2, 5]  # 04 13 14 23, and node 5 has no edge
    assert numbers_of((2, 0, 1), 3).tolist() == [2, 0, 1]
    for names in (None, ("a", "b", "c"), (5, 6, 7), (0, 0, 1)):
        assert numbers_of(names, 3).tolist() == [0, 1, 2]


def test_the_stored_runs_on_32_nodes() -> None:
    """Mean and spread of GED over the 5000 graphs of the published runs: 159.704 and 29.042; Sparsity 2.514."""
    data = TreeCycles(n_nodes=32).load()
    results = ReleasedMEG().explain(data.graphs, TreeCyclesOracle())
    ged = np.array([len(r.edits) for r in results])
    assert ged.mean() == pytest.approx(159.7, abs=3 * 29 / np.sqrt(500))
    assert ged.std() == pytest.approx(29.04, abs=3)
    assert np.mean([len(r.edits) / r.input.size for r in results]) == pytest.approx(2.51, abs=0.07)
    after = TreeCyclesOracle().predict(GraphBatch.of([r.returned for r in results]))
    assert (after == 1).all()  # so that its correctness is the share of trees
    assert {r.calls for r in results} == {1}


def test_it_does_not_fit_into_memory_on_116_nodes() -> None:
    large, small, single = ReleasedMEG().explain(
        [nx.empty_graph(116), nx.path_graph(8), Graph(np.zeros((1, 1)))], TreeCyclesOracle()
    )
    assert large.reason == "6670 actions of 13457 inputs per step do not fit into memory"
    assert small.found and single.reason == "the graph has no pair of nodes to edit"
