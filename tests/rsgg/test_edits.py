"""Edits of pairs and nodes: the graphs that they make, against NetworkX and against each other."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rsgg.counterfactual import Counterfactual
from rsgg.edits import (
    ADD_LEAF,
    DROP,
    NOTHING,
    RELABEL,
    Codes,
    NodeEdit,
    applied,
    beside,
    changed,
    codes_between,
    decoded,
    labels_of,
    made_of,
    most_nodes,
    node_codes,
    origins,
    pairs_between,
    plain_labels,
    recoded,
)
from rsgg.errors import GraphError
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import evaluate, ged, ged_with_nodes
from rsgg.oracles import TreeCyclesOracle

LABELS = 3


def labelled(seed: int, n: int, *, typed: bool = False, density: float = 0.4) -> Graph:
    """A random graph whose nodes have one of three labels, and whose pairs have a type if asked for."""
    rng = np.random.default_rng(seed)
    adjacency = np.triu(rng.random((n, n)) < density, 1).astype(np.uint8)
    types = np.triu(rng.integers(0, 4, (n, n)), 1)
    return Graph(
        adjacency + adjacency.T,
        np.eye(LABELS)[rng.integers(0, LABELS, n)],
        edge_features=types + types.T if typed else None,
    )


def some_edits(seed: int, n: int, count: int) -> Codes:
    """Different random edits of all kinds, coded for n nodes."""
    rng = np.random.default_rng(seed)
    pairs = [u * n + v for u in range(n) for v in range(u + 1, n)]
    nodes = [int(node_codes(kind, v, label, n)) for kind in (RELABEL, ADD_LEAF) for v in range(n) for label in range(3)]
    drops = [int(node_codes(DROP, v, 0, n)) for v in range(n)] * 2
    pool = [*pairs, *nodes, *drops]
    return np.array(list(dict.fromkeys(rng.choice(pool, count).tolist())), dtype=np.int64)


def by_hand(graph: Graph, codes: Codes) -> nx.Graph:
    """The edited graph by NetworkX, step by step; nodes that were added are called ("new", node, label)."""
    n = graph.n_nodes
    made = nx.from_numpy_array(graph.adjacency)
    nx.set_node_attributes(made, dict(enumerate(plain_labels(graph).tolist())), "label")
    nodes = [tuple(int(part[0]) for part in decoded(np.array([code]), n)) for code in codes if code >= n * n]
    for u, v in (divmod(int(code), n) for code in codes if code < n * n):
        made.remove_edge(u, v) if made.has_edge(u, v) else made.add_edge(u, v)
    for kind, v, label in nodes:
        if kind == RELABEL:
            made.nodes[v]["label"] = label
        if kind == ADD_LEAF:
            made.add_node(("new", v, label), label=label)
            made.add_edge(v, ("new", v, label))
    with_leaf, whole = {v for kind, v, _ in nodes if kind == ADD_LEAF}, made.copy()
    goes = {v for kind, v, _ in nodes if kind == DROP} - with_leaf
    while free := [v for v in goes if v in made and made.degree[v] <= 1]:
        made.remove_node(free[-1])
    return made if len(made) else whole


def same(graph: Graph, origin: list[int], expected: nx.Graph) -> bool:
    """Is this the expected graph, node by node? Added nodes are matched by neighbour and label."""
    labels, called = plain_labels(graph).tolist(), list[object]()
    for node, source in enumerate(origin):
        if source >= 0:
            called.append(source)
        else:
            (neighbour,) = graph.adjacency[node].nonzero()[0].tolist()
            called.append(("new", origin[neighbour], labels[node]))
    edges = {frozenset((called[u], called[v])) for u, v in graph.edges()}
    return (
        dict(zip(called, labels, strict=True)) == dict(expected.nodes(data="label"))
        and len(called) == len(expected)
        and edges == {frozenset(edge) for edge in expected.edges}
    )


def same_arrays(one: Graph, other: Graph) -> bool:
    """Are edges, labels and edge features equal?"""
    pairs: list[Any] = [
        (getattr(one, name), getattr(other, name)) for name in ("adjacency", "features", "edge_features")
    ]
    return all(a is b is None or np.array_equal(a, b) for a, b in pairs)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 12), st.booleans())
def test_the_edits_make_the_graph_that_networkx_makes(seed: int, n: int, count: int, typed: bool) -> None:
    graph, codes = labelled(seed, n, typed=typed), some_edits(seed, n, count)
    made, expected = made_of(graph, codes), by_hand(graph, codes)
    origin = origins(made.node_edits, n)
    assert same(made.graph, origin, expected)
    batch = applied(GraphBatch.of([graph]), torch.tensor([0]), [codes])
    if batch.origin is not None:
        assert batch.origin[0, : int(batch.sizes[0])].tolist() == origin
    beside_it = changed(graph, codes)
    assert np.array_equal(beside_it.matrix, made.graph.adjacency)
    again = beside(graph, made.graph, origin)
    assert np.array_equal(again.adjacency, beside_it.adjacency) and np.array_equal(again.stays, beside_it.stays)
    assert again.kinds == beside_it.kinds == {one.kind for one in made.node_edits}


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.integers(1, 7), min_size=2, max_size=5), st.integers(0, 9))
def test_a_batch_makes_what_single_graphs_make(seed: int, sizes: list[int], count: int) -> None:
    graphs = [labelled(seed + i, n, typed=True) for i, n in enumerate(sizes)]
    batch, edits = GraphBatch.of(graphs), [some_edits(seed + i, n, count) for i, n in enumerate(sizes)]
    order = torch.tensor([i for i in range(len(sizes)) for _ in range(2)])
    padded = [recoded(edits[i], sizes[i], batch.n_nodes) for i in order.tolist()]
    together = applied(batch, order, padded)
    assert together.n_nodes <= most_nodes(batch.n_nodes, padded)
    for row, i in enumerate(order.tolist()):
        alone, one = together[row], made_of(graphs[i], edits[i]).graph
        assert same_arrays(alone, one)
        size = int(together.sizes[row])
        assert together.features is not None and not together.features[row, size:].any()
        assert not together.adjacency[row, size:].any()


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 12))
@example(382, 3, 6)  # two neighbours are dropped, to one of which an edge is added
def test_a_graph_and_its_node_edits_say_all_edits(seed: int, n: int, count: int) -> None:
    """What had no effect is left out; what is left makes the same graph, and costs what the formula says."""
    graph, codes = labelled(seed, n), some_edits(seed, n, count)
    made = made_of(graph, codes)
    left = codes_between(graph, made.graph, made.node_edits)
    again = made_of(graph, left)
    assert len(left) <= len(codes) and again.node_edits == made.node_edits
    assert same_arrays(again.graph, made.graph)
    told = len(pairs_between(graph, made.graph, made.node_edits)) + sum(one.cost for one in made.node_edits)
    assert told == formula(graph, made.graph, origins(made.node_edits, n))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 7), st.integers(0, 10))
def test_renaming_nodes_renames_the_result(seed: int, n: int, count: int) -> None:
    graph, codes = labelled(seed, n), some_edits(seed, n, count)
    new = np.random.default_rng(seed).permutation(n)  # old node v is called new[v]
    old = np.argsort(new)
    renamed = Graph(graph.adjacency[np.ix_(old, old)], graph.features[old])  # type: ignore[index]
    pairs = [sorted((new[u], new[v])) for u, v in (divmod(int(code), n) for code in codes if code < n * n)]
    kind, node, label = decoded(codes[codes >= n * n], n)
    moved = np.array([*(u * n + v for u, v in pairs), *node_codes(kind, new[node], label, n)], dtype=np.int64)
    before, after = made_of(graph, codes), made_of(renamed, moved)
    expected = nx.relabel_nodes(
        by_hand(graph, codes),
        lambda v: ("new", int(new[v[1]]), v[2]) if isinstance(v, tuple) else int(new[v]),
    )
    assert same(after.graph, origins(after.node_edits, n), expected)
    assert sum(one.cost for one in before.node_edits) + len(pairs_between(graph, before.graph, before.node_edits)) == (
        sum(one.cost for one in after.node_edits) + len(pairs_between(renamed, after.graph, after.node_edits))
    )


# -- By hand -----------------------------------------------------------------------------------------------------


def path(*labels: int, **more: object) -> Graph:
    return Graph(nx.to_numpy_array(nx.path_graph(len(labels))), np.eye(LABELS)[list(labels)], **more)  # type: ignore[arg-type]


def test_a_branch_is_dropped_from_its_end_and_an_inner_node_stays() -> None:
    graph = path(0, 1, 2, 0)
    end, inner = node_codes(DROP, 3, 0, 4), node_codes(DROP, 2, 0, 4)
    assert made_of(graph, np.array([inner])).node_edits == ()
    made = made_of(graph, np.array([inner, end]))
    assert made.graph.n_nodes == 2 and made.graph.node_names == (0, 1)
    assert made.node_edits == (NodeEdit("drop", 2, was=2, neighbour=1), NodeEdit("drop", 3, was=0, neighbour=2))
    freed = made_of(graph, np.array([2 * 4 + 3, inner]))
    assert freed.node_edits == (NodeEdit("drop", 2, was=2, neighbour=1),) and freed.graph.n_edges == 1
    assert pairs_between(graph, freed.graph, freed.node_edits) == [(2, 3)]


def test_one_node_stays_and_a_node_with_a_new_leaf_is_not_dropped() -> None:
    graph = path(0, 1)
    drops = node_codes(DROP, np.arange(2), 0, 2)
    assert made_of(graph, drops).node_edits == () and made_of(graph, drops).graph.n_nodes == 2
    leaf = node_codes(ADD_LEAF, 0, 2, 2)
    made = made_of(graph, np.array([*drops, leaf]))
    assert [one.kind for one in made.node_edits] == ["add", "drop"] and made.graph.n_nodes == 2
    assert made.graph.node_names == (0, 2) and plain_labels(made.graph).tolist() == [0, 2]


def test_the_last_label_counts_and_the_old_one_is_no_edit() -> None:
    graph = path(0, 1, 2)
    twice = np.array([node_codes(RELABEL, 1, 0, 3), node_codes(RELABEL, 1, 2, 3)])
    assert made_of(graph, twice).node_edits == (NodeEdit("relabel", 1, 2, 1),)
    assert made_of(graph, np.array([node_codes(RELABEL, 1, 1, 3)])).node_edits == ()


def test_an_added_edge_has_the_type_that_missing_pairs_have() -> None:
    table = np.array([[0, 1, 7, 7], [1, 0, 1, 5], [7, 1, 0, 1], [7, 5, 1, 0]])
    graph = path(0, 1, 2, 0, edge_features=table, node_names=("a", "b", "c", "new 1"))
    made = made_of(graph, np.array([node_codes(ADD_LEAF, 1, 2, 4), node_codes(DROP, 0, 0, 4)])).graph
    assert made.node_names == ("b", "c", "new 1", "new 2")
    assert made.edge_features is not None and made.edge_features[0, 3] == 7
    assert np.array_equal(made.edge_features[:3, :3], table[1:, 1:])
    assert made.to_pyg().edge_attr.tolist().count(7) == 2


def test_labels_have_to_be_one_hot() -> None:
    graphs = GraphBatch.of([path(0, 2), path(1)])
    assert labels_of(graphs).tolist() == [[0, 2], [1, -1]]
    for features in (None, [[1, 1], [0, 1]], [[0, 0], [1, 0]], [[0.5, 0.5], [1, 0]]):
        with pytest.raises(GraphError, match="one-hot"):
            labels_of(GraphBatch.of([Graph(np.array([[0, 1], [1, 0]]), features)]))  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="at most 1024 labels"):
        labels_of(GraphBatch.of([Graph(np.zeros((1, 1)), np.eye(1025)[:1])]))


def test_without_edits_of_nodes_nothing_but_pairs_changes() -> None:
    graph = labelled(3, 5, typed=True)
    batch = applied(GraphBatch.of([graph]), torch.tensor([0]), [np.array([1, 7])])
    assert batch.origin is None and batch.n_nodes == 5
    assert same_arrays(batch[0], graph.with_adjacency(batch[0].adjacency))
    assert float(ged(graph.adjacency, batch[0].adjacency)) == 2 and len(made_of(graph, NOTHING).node_edits) == 0


# -- Graph edit distance -------------------------------------------------------------------------------------------


def formula(graph: Graph, made: Graph, origin: list[int]) -> float:
    return ged_with_nodes(graph.adjacency, made.adjacency, plain_labels(graph), plain_labels(made), origin)


def exact(graph: Graph, made: Graph) -> float:
    """By NetworkX, over all ways to match nodes."""
    labelled_graphs = []
    for one in (graph, made):
        plain = nx.from_numpy_array(one.adjacency)
        nx.set_node_attributes(plain, dict(enumerate(plain_labels(one).tolist())), "label")
        labelled_graphs.append(plain)
    distance = nx.graph_edit_distance(*labelled_graphs, node_match=lambda a, b: a["label"] == b["label"])
    return float(distance)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(0, 4))
def test_the_distance_is_at_least_the_one_over_all_matchings(seed: int, n: int, count: int) -> None:
    graph, codes = labelled(seed, n), some_edits(seed, n, count)
    made = made_of(graph, codes)
    assert exact(graph, made.graph) <= formula(graph, made.graph, origins(made.node_edits, n))


@pytest.mark.parametrize(
    ("kind", "node", "label", "costs"),
    [(RELABEL, 1, 2, 1), (ADD_LEAF, 1, 2, 2), (DROP, 3, 0, 2), (DROP, 4, 0, 1)],
)
def test_the_distance_of_single_edits_is_the_exact_one(kind: int, node: int, label: int, costs: int) -> None:
    adjacency = np.pad(nx.to_numpy_array(nx.path_graph(4)), (0, 1))  # node 4 has no neighbour
    graph = Graph(adjacency, np.eye(LABELS)[[0, 1, 0, 0, 1]])
    made = made_of(graph, np.array([node_codes(kind, node, label, 5)]))
    assert formula(graph, made.graph, origins(made.node_edits, 5)) == exact(graph, made.graph) == costs
    assert [one.cost for one in made.node_edits] == [costs]


def test_results_with_and_without_edits_of_nodes_stand_in_one_table() -> None:
    """The distances are the exact ones: an edge fewer; a node with another label; a leaf more, which is two edits."""
    graph, edits = path(0, 1, 0, 2), ([1], [node_codes(RELABEL, 2, 1, 4)], [node_codes(ADD_LEAF, 0, 1, 4)])
    made = [made_of(graph, np.array(codes)) for codes in edits]
    results = [
        Counterfactual(graph, one.graph, i, 0, "", 1, 0.0, node_edits=one.node_edits) for i, one in enumerate(made)
    ]
    table = evaluate(results, TreeCyclesOracle(), [0, 0, 0])
    assert table["ged"].tolist() == [exact(graph, one.graph) for one in made] == [1, 1, 2]
