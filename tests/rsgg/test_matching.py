"""Matchings of nodes against brute force over all of them, and the edits that they make, rebuilt and compared."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rsgg import matching
from rsgg.edits import applied, effective, made_of, origins, plain_labels, recoded
from rsgg.graph import Graph, GraphBatch
from rsgg.matching import Labelled, edits_to, labelled, match, match_nearby, reachable
from rsgg.metrics import ged_with_nodes
from tests.graphs import gnp_graphs, tree, unicyclic

N_LABELS = 3


def of(graph: nx.Graph, labels: list[int] | None = None) -> Labelled:
    return Labelled(nx.to_numpy_array(graph, dtype=np.uint8), np.array(labels or [0] * len(graph)))


def as_graph(graph: Labelled) -> Graph:
    return Graph(graph.adjacency, np.eye(N_LABELS)[graph.labels])


def as_networkx(adjacency: np.ndarray, labels: np.ndarray) -> nx.Graph:
    graph = nx.from_numpy_array(adjacency)
    nx.set_node_attributes(graph, dict(enumerate(labels.tolist())), "label")
    return graph


@st.composite
def graphs(draw: st.DrawFn, most: int = 6) -> Labelled:
    n = draw(st.integers(1, most))
    bits = draw(st.lists(st.booleans(), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    adjacency = np.zeros((n, n), dtype=np.uint8)
    adjacency[np.triu_indices(n, 1)] = bits
    labels = draw(st.lists(st.integers(0, N_LABELS - 1), min_size=n, max_size=n))
    return Labelled(adjacency + adjacency.T, np.array(labels))


def cost_of(graph: Labelled, other: Labelled, sent: list[int]) -> int:
    """By its definition, pair by pair; -1 is dropped."""
    n, m = len(graph.labels), len(other.labels)
    back = {place: node for node, place in enumerate(sent) if place >= 0}
    cost = sum(graph.labels[u] != other.labels[sent[u]] for u in range(n) if sent[u] >= 0)
    cost += sent.count(-1) + m - len(back)
    for u in range(n):
        for v in range(u):
            there = sent[u] >= 0 and sent[v] >= 0 and other.adjacency[sent[u], sent[v]]
            cost += bool(graph.adjacency[u, v]) != bool(there)
    cost += sum(other.adjacency[i, j] for i in range(m) for j in range(i) if i not in back or j not in back)
    return int(cost)


def is_said_by_edits(other: Labelled, sent: list[int]) -> bool:
    """Every node that is added is a leaf, and its neighbour was there."""
    new = set(range(len(other.labels))) - set(sent)
    return all(
        other.adjacency[j].sum() == 1 and int(other.adjacency[j].argmax()) not in new for j in new
    ) and any(place >= 0 for place in sent)  # fmt: skip


def all_matchings(n: int, m: int) -> list[list[int]]:
    """Every way to send n nodes to m others or to nothing."""
    return [list(way) for way in set(permutations([*range(m), *[-1] * n], n))]


@settings(max_examples=60, deadline=None)
@given(graphs(4), graphs(4))
def test_a_matching_is_possible_and_costs_what_it_says(graph: Labelled, other: Labelled) -> None:
    ways = [way for way in all_matchings(len(graph.labels), len(other.labels)) if is_said_by_edits(other, way)]
    assert reachable(graph, other) == bool(ways)
    if ways:
        sent, cost = match(graph, other)
        assert sent.tolist() in ways and cost == cost_of(graph, other, sent.tolist())
        best = min(cost_of(graph, other, way) for way in ways)
        assert best <= cost <= best + 6


def test_most_matchings_of_small_graphs_are_the_cheapest() -> None:
    rng = np.random.default_rng(0)
    excess = []
    for _ in range(40):
        graph, other = (of(nx.gnp_random_graph(4, 0.5, seed=int(rng.integers(99))), [0, 1, 1, 2]) for _ in range(2))
        best = min(cost_of(graph, other, way) for way in all_matchings(4, 4) if is_said_by_edits(other, way))
        excess.append(match(graph, other)[1] - best)
    assert np.mean(np.array(excess) == 0) > 0.8


@settings(max_examples=80, deadline=None)
@given(graphs(), graphs())
def test_the_edits_make_the_other_graph(graph: Labelled, other: Labelled) -> None:
    """As NetworkX compares labelled graphs; and the distance of the project is what the matching costs."""
    if not reachable(graph, other):
        return
    sent, cost = match(graph, other)
    codes = edits_to(graph, other, sent)
    original, made = as_graph(graph), made_of(as_graph(graph), codes)
    labels = plain_labels(made.graph)
    there = as_networkx(other.adjacency, other.labels)
    assert nx.is_isomorphic(
        as_networkx(made.graph.adjacency, labels), there, node_match=lambda a, b: a["label"] == b["label"]
    )
    origin = origins(made.node_edits, original.n_nodes)
    assert ged_with_nodes(graph.adjacency, made.graph.adjacency, graph.labels, labels, origin) == cost
    if len(codes):  # in a batch with more padding too
        batch = GraphBatch.of([original, as_graph(of(nx.empty_graph(9)))])
        padded = applied(batch, torch.tensor([0]), [recoded(codes, original.n_nodes, 9)])
        assert np.array_equal(padded[0].adjacency, made.graph.adjacency)


def test_leaves_that_are_dropped_take_their_edges_along() -> None:
    """A branch goes by two edits; a node in the middle needs its edges removed first."""
    path, short = of(nx.path_graph(5), [0, 1, 2, 1, 2]), of(nx.path_graph(3), [0, 1, 2])
    sent, cost = match(path, short)
    assert sent.tolist() == [0, 1, 2, -1, -1] and cost == 4
    assert len(edits_to(path, short, sent)) == 2
    star = of(nx.star_graph(3), [2, 0, 0, 0])
    codes = edits_to(star, of(nx.empty_graph(3), [0, 0, 0]), np.array([-1, 0, 1, 2]))
    (drop,) = effective(as_graph(star), codes)
    assert (drop.kind, drop.node) == ("drop", 0) and len(codes) == 1 + 3
    assert made_of(as_graph(star), codes).graph.n_edges == 0


def test_several_equal_leaves_can_be_added_to_a_node() -> None:
    alone, star = of(nx.path_graph(2), [1, 0]), of(nx.star_graph(4), [1, 0, 0, 0, 0])
    sent, cost = match(alone, star)
    assert cost == 6 and made_of(as_graph(alone), edits_to(alone, star, sent)).graph.n_nodes == 5


def test_a_leaf_is_added_to_the_node_that_became_its_neighbour() -> None:
    """Nodes change places: node 0 becomes the middle of the path, and gets the leaf."""
    pair, path = of(nx.path_graph(2), [1, 0]), of(nx.path_graph(3), [0, 1, 2])
    sent, cost = match(pair, path)
    assert sent.tolist() == [1, 0] and cost == 2
    (leaf,) = effective(as_graph(pair), edits_to(pair, path, sent))
    assert (leaf.kind, leaf.node, leaf.label) == ("add", 0, 2)


def test_what_edits_cannot_say_is_not_reachable() -> None:
    """Leaves can be added, rings and nodes without neighbours cannot; of an edge, one node."""
    pair = of(nx.path_graph(2))
    assert reachable(pair, of(nx.star_graph(5))) and not reachable(pair, of(nx.cycle_graph(3)))
    assert not reachable(pair, of(nx.empty_graph(3))) and not reachable(pair, of(nx.path_graph(5)))
    assert reachable(of(nx.empty_graph(1)), pair) and reachable(of(nx.cycle_graph(9)), pair)


def test_renamed_nodes_are_found_again() -> None:
    """Nodes whose labels tell them apart: matched exactly, whatever their numbers."""
    for seed in range(5):
        graph = of(unicyclic(9, 4, seed), list(range(9)))
        order = np.random.default_rng(seed).permutation(9)
        renamed = Labelled(graph.adjacency[np.ix_(order, order)], graph.labels[order])
        sent, cost = match(graph, renamed)
        assert cost == 0 and order[sent].tolist() == list(range(9)) and not len(edits_to(graph, renamed, sent))


def test_no_exchange_of_two_nodes_is_cheaper() -> None:
    """Each one tried, dropped nodes included; without exchanges matchings of trees cost twice as much."""
    costs = []
    for i in range(40):
        graph, other = of(tree(8, i)), of(tree(7, i + 50))
        sent, cost = match(graph, other)
        for u in range(8):
            for v in range(u):
                changed = sent.tolist()
                changed[u], changed[v] = changed[v], changed[u]
                assert cost_of(graph, other, changed) >= cost
        costs.append(cost)
    assert np.mean(costs) < 7
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_exchanged", lambda nodes, a, b, sent: sent)
        assert np.mean([match(of(tree(8, i)), of(tree(7, i + 50)))[1] for i in range(40)]) > 1.5 * np.mean(costs)


def test_graphs_without_labels_are_matched_if_they_have_equally_many_nodes() -> None:
    for with_features in (False, True):
        half = [np.full((len(graph), 2), 0.5) if with_features else None for graph in gnp_graphs(9)]
        batch = GraphBatch.of([Graph(nx.to_numpy_array(g), x) for g, x in zip(gnp_graphs(9), half, strict=True)])
        seen = labelled(batch)
        for i, one in enumerate(seen):
            assert one.fixed and not one.labels.any() and len(one.labels) == int(batch.sizes[i])
            for other in seen:
                same = len(one.labels) == len(other.labels)
                assert reachable(one, other) is same
                if same:
                    sent, _ = match(one, other)
                    assert sorted(sent.tolist()) == list(range(len(sent)))
    with_labels = labelled(GraphBatch.of([as_graph(of(tree(4), [2, 0, 1, 1]))]))[0]
    assert with_labels.labels.tolist() == [2, 0, 1, 1] and not with_labels.fixed
    assert not reachable(with_labels, seen[0]) and not reachable(seen[0], with_labels)


# -- graphs that differ in a few places ----------------------------------------------------------------------------


@given(graphs(most=5), graphs(most=5))
@settings(max_examples=60, deadline=None)
def test_a_matching_nearby_costs_what_it_says_and_at_most_what_the_other_does(graph: Labelled, other: Labelled) -> None:
    if not reachable(graph, other):
        return
    sent, cost = match_nearby(graph, other)
    assert cost == cost_of(graph, other, sent.tolist()) <= match(graph, other)[1]


@pytest.mark.parametrize("seed", range(6))
def test_a_few_edits_of_a_large_graph_are_found(seed: int) -> None:
    """A ladder of labelled nodes, renumbered after two edits: at most two edits are needed."""
    rng = np.random.default_rng(seed)
    before = of(nx.ladder_graph(12), rng.integers(N_LABELS, size=24).tolist())
    adjacency, labels = before.adjacency.copy(), before.labels.copy()
    u, v = (int(node) for node in np.argwhere(adjacency)[rng.integers(adjacency.sum())])
    adjacency[u, v] = adjacency[v, u] = 0
    w = int(rng.integers(24))
    labels[w] = (labels[w] + 1) % N_LABELS
    order = rng.permutation(24)
    after = Labelled(adjacency[np.ix_(order, order)], labels[order])
    assert match_nearby(before, after)[1] == 2
