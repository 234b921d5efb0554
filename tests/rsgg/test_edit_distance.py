"""Graph edit distance: bounds and decisions against NetworkX's exact distance on small random labelled graphs."""

from __future__ import annotations

from functools import cache

import networkx as nx
import numpy as np
import pytest

from rsgg.edit_distance import (
    NOTHING,
    LabelledGraphs,
    cost_in_place,
    largest_within,
    lower_by_branches,
    lower_by_counts,
    matched,
    normalised,
    upper_by_matching,
    within,
)
from rsgg.graph import Graph

N_PAIRS, MOST_NODES, N_LABELS = 40, 5, 3


def random_graph(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    n = int(rng.integers(1, MOST_NODES + 1))
    above = np.triu(rng.random((n, n)) < rng.uniform(0.2, 0.8), 1)
    return above | above.T, rng.integers(0, N_LABELS, n)


def listed(graphs: list[tuple[np.ndarray, np.ndarray]]) -> LabelledGraphs:
    """All graphs padded to the same size."""
    parts = [LabelledGraphs(adjacency[None], labels[None]).padded(MOST_NODES) for adjacency, labels in graphs]
    return LabelledGraphs(np.concatenate([p.adjacency for p in parts]), np.concatenate([p.labels for p in parts]))


def in_networkx(adjacency: np.ndarray, labels: np.ndarray) -> nx.Graph:
    graph = nx.from_numpy_array(adjacency.astype(int))
    nx.set_node_attributes(graph, dict(enumerate(labels.tolist())), "label")
    return graph


@cache
def pairs() -> tuple[LabelledGraphs, LabelledGraphs, np.ndarray]:
    """Random pairs of graphs and their exact distances; NetworkX's costs are 1 for everything too."""
    rng = np.random.default_rng(0)
    ones, others = ([random_graph(rng) for _ in range(N_PAIRS)] for _ in range(2))
    exact = [
        nx.graph_edit_distance(in_networkx(*a), in_networkx(*b), node_match=lambda u, v: u["label"] == v["label"])
        for a, b in zip(ones, others, strict=True)
    ]
    return listed(ones), listed(others), np.array(exact, dtype=int)


def test_bounds_hold_the_exact_distance_between_them() -> None:
    graphs, others, exact = pairs()
    counts, branches = np.diagonal(lower_by_counts(graphs, others)), lower_by_branches(graphs, others)
    upper = upper_by_matching(graphs, others)
    assert (counts <= branches).all() and (branches <= exact).all() and (exact <= upper).all()
    assert (branches == exact).mean() > 0.7 and (upper == exact).mean() > 0.8  # and they are of use


def test_bounds_do_not_depend_on_the_side() -> None:
    graphs, others, _ = pairs()
    assert np.array_equal(lower_by_counts(graphs, others).T, lower_by_counts(others, graphs))
    assert (lower_by_branches(graphs, others) == lower_by_branches(others, graphs)).all()


def test_the_search_decides_at_the_exact_distance() -> None:
    graphs, others, exact = pairs()
    for i, distance in enumerate(exact.tolist()):
        pair = graphs.select([i]), others.select([i])
        assert within(*pair, distance, 10**6)[0] is True
        assert within(*pair, distance - 1, 10**6)[0] is False


def test_the_search_gives_up() -> None:
    graphs, others, exact = pairs()
    far = int(exact.argmax())
    assert within(graphs.select([far]), others.select([far]), int(exact[far]), 1) == (None, 1)


def test_a_matching_is_an_edit_path_whose_cost_can_be_counted() -> None:
    graphs, others, _ = pairs()
    found = matched(graphs, others)
    assert (found.cost == cost_in_place(graphs, found.other)).all()
    for i in range(len(graphs)):  # what it says is the other graph is the other graph
        there = found.other.labels[i] != NOTHING
        again = in_networkx(found.other.adjacency[i][np.ix_(there, there)], found.other.labels[i][there])
        n = others.n_nodes[i]
        own = in_networkx(others.adjacency[i][:n, :n], others.labels[i][:n])
        assert nx.is_isomorphic(again, own, node_match=lambda u, v: u["label"] == v["label"])


def test_renaming_the_nodes_is_no_distance() -> None:
    rng = np.random.default_rng(1)
    adjacency, labels = random_graph(rng)
    order = rng.permutation(len(labels))
    same, renamed = listed([(adjacency, labels)]), listed([(adjacency[np.ix_(order, order)], labels[order])])
    assert within(same, renamed, 0, 1000)[0] is True
    assert lower_by_branches(same, renamed).tolist() == [0]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, others, _ = pairs()
    whole = upper_by_matching(graphs, others), lower_by_branches(graphs, others)
    monkeypatch.setattr("rsgg.edit_distance.CELLS_PER_BLOCK", 1)
    assert (upper_by_matching(graphs, others) == whole[0]).all()
    assert (lower_by_branches(graphs, others) == whole[1]).all()


def test_normalisation_and_limits() -> None:
    """A path of 3 nodes and a single node: GED 4 of 5 + 1 elements; limits are not off by one in binary numbers."""
    path = Graph(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    graphs = LabelledGraphs.of([path, Graph(np.zeros((1, 1), dtype=int))])
    assert graphs.elements.tolist() == [5, 1]
    ged = upper_by_matching(graphs.select([0]), graphs.select([1]))
    assert ged.tolist() == [4] and normalised(ged, graphs.elements[:1], graphs.elements[1:]).tolist() == [4 / 6]
    assert largest_within(0.1, np.array([15]), np.array([15])).tolist() == [3]
    assert largest_within(0.1, np.array([15]), np.array([14])).tolist() == [2]


def test_labels_are_read_from_one_hot_features() -> None:
    features = np.eye(3)[[0, 2]]
    graphs = LabelledGraphs.of([Graph(np.array([[0, 1], [1, 0]]), features), Graph(np.zeros((1, 1)), features[1:])])
    assert (graphs.labels[0, 0] != graphs.labels[0, 1]) and graphs.labels[0, 1] == graphs.labels[1, 0]
    assert graphs.labels[1, 1] == NOTHING
    assert lower_by_counts(graphs.select([0]), graphs.select([1])).tolist() == [[2]]  # a leaf goes: node and edge
