"""Input graphs on disk: they come back as they were, and edits make of them what the library makes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.results import graphs
from benchmarks.results.files import StoreError, write_whole
from benchmarks.results.graphs import Change, InputGraph, NodeEdits
from benchmarks.results.reader import Results
from rsgg import edits as library
from rsgg.graph import Graph
from tests import molecules


def test_graphs_come_back_as_they_were(tmp_path: Path) -> None:
    given_lines = molecules.lines()
    write_whole(tmp_path / graphs.FILE, lambda file: graphs.write(file, given_lines))
    assert Results((tmp_path,)).graphs("no-such-task") == []
    for graph in Results((tmp_path,)).graphs(molecules.TASK.name):
        expected = molecules.molecule(graph.instance)
        assert vars(graph) == vars(expected)
        assert graph.adjacency.sum() == 2 * len(expected.edges) and (graph.adjacency == graph.adjacency.T).all()
    assert [graph.instance for graph in Results((tmp_path,)).graphs(molecules.TASK.name)] == [4, 9, 17, 30]


def test_graphs_without_labels_have_none(tmp_path: Path) -> None:
    bare = molecules.lines().assign(labels=[[]] * 4, label_names=[[]] * 4, bonds=[[]] * 4)
    write_whole(tmp_path / graphs.FILE, lambda file: graphs.write(file, bare))
    (first, *_) = Results((tmp_path,)).graphs(molecules.TASK.name)
    assert not first.labels and not first.label_names and not first.bonds and first.name(0) == ""


def test_of_two_lines_about_a_graph_the_first_counts_and_no_file_is_no_lines(tmp_path: Path) -> None:
    old = molecules.lines().assign(label=7)
    both = graphs.joined([molecules.lines().iloc[:2], old])
    assert both["instance"].tolist() == [4, 9, 17, 30] and both["label"].tolist() == [0, 1, 7, 7]
    assert graphs.read(tmp_path).empty and list(graphs.read(tmp_path).columns) == graphs.SCHEMA.names


def test_a_damaged_file_is_a_sentence(tmp_path: Path) -> None:
    write_whole(tmp_path / graphs.FILE, lambda file: graphs.write(file, molecules.lines()))
    whole = (tmp_path / graphs.FILE).read_bytes()
    (tmp_path / graphs.FILE).write_bytes(whole[:-30])
    with pytest.raises(StoreError, match="is cut short or damaged; remove it"):
        graphs.read(tmp_path)


# -- What edits make of a graph, against the library -------------------------------------------------------------


@st.composite
def edited_graphs(draw: st.DrawFn) -> tuple[Graph, np.ndarray]:
    """A labelled graph and some edits of pairs and nodes, coded for it."""
    n, labels = draw(st.integers(2, 7)), 3
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) < 0.4, 1).astype(np.uint8)
    graph = Graph(upper + upper.T, np.eye(labels, dtype=np.float32)[rng.integers(labels, size=n)])
    pairs = [u * n + v for u in range(n) for v in range(u + 1, n)]
    nodes = [
        int(library.node_codes(kind, v, label if kind < 2 else 0, n))
        for kind in range(3)
        for v in range(n)
        for label in range(labels)
    ]
    codes = rng.choice(pairs, min(len(pairs), int(rng.integers(3))), replace=False).tolist()
    codes += rng.choice(nodes, int(rng.integers(5)), replace=False).tolist()
    return graph, np.unique(np.array(codes, dtype=np.int64))


@settings(max_examples=150, deadline=None)
@given(edited_graphs())
def test_a_change_makes_the_graph_that_the_library_makes(made: tuple[Graph, np.ndarray]) -> None:
    graph, codes = made
    n, expected = graph.n_nodes, library.made_of(graph, codes)
    assert graph.features is not None
    given_graph = InputGraph(
        0, 0, 0, 0, n, tuple(graph.edges()), tuple(graph.features.argmax(1).tolist()), ("a", "b", "c")
    )
    pairs = [u * n + v for u, v in library.pairs_between(graph, expected.graph, expected.node_edits)]
    change = Change.of(given_graph, pairs, [one.code(n) for one in expected.node_edits])
    stays = [node for node in range(n + len(change.nodes.leaves)) if node not in change.nodes.dropped]
    at = {node: i for i, node in enumerate(stays)}
    adjacency = np.zeros((len(stays), len(stays)), dtype=int)
    for u, v in (*change.kept, *change.added):
        adjacency[at[u], at[v]] = adjacency[at[v], at[u]] = 1
    assert (adjacency == (expected.graph.adjacency > 0)).all()
    leaves = {n + i: label for i, (_, label) in enumerate(change.nodes.leaves)}
    labels = dict(enumerate(given_graph.labels)) | change.nodes.relabelled | leaves
    assert expected.graph.features is not None
    assert [labels[node] for node in stays] == expected.graph.features.argmax(1).tolist()
    assert {*change.kept, *change.removed} == {*given_graph.edges} and not {*change.kept} & {*change.removed}


def test_kinds_of_edits_have_the_library_s_codes() -> None:
    assert (graphs.RELABEL, graphs.ADD_LEAF, graphs.DROP) == (library.RELABEL, library.ADD_LEAF, library.DROP)
    assert graphs.LABELS == library.MOST_LABELS
    made = [library.NodeEdit("relabel", 3, 2), library.NodeEdit("add", 4, 1), library.NodeEdit("drop", 0)]
    assert NodeEdits.of([one.code(9) for one in made], 9) == NodeEdits({3: 2}, ((4, 1),), frozenset({0}))


# -- What was measured of each --------------------------------------------------------------------------------------


def test_answers_have_the_measures_of_their_own_graph(tmp_path: Path) -> None:
    results = Results((molecules.write(tmp_path),))
    found = results.answers(molecules.TASK.name, "rsgg-ce-nodes", "beyond")
    assert found["plausibility"].dropna().to_dict() == {4: 0.04, 9: 0.09, 30: 0.30}
    assert found["sanitised"].isna().all() and found.loc[4, "feasible"] == 1
    assert results.answers(molecules.TASK.name, "cf2", "faithful").empty
    assert pd.isna(results.answers(molecules.TASK.name, "identity", "control")["plausibility"]).all()
