"""Molecules: bonds have the colours of what happened to them, atoms say what they are, and the words are right."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import same_color, to_rgba
from matplotlib.text import Text

from benchmarks.results.graphs import Change, InputGraph
from benchmarks.results.reader import Results
from figures import layout, style
from figures import molecules as figure
from figures.figure import Drawn
from rsgg.edits import NodeEdit
from tests import molecules

SHOWN = [("obs", "search"), ("rsgg-ce-nodes", "beyond")]  # rows of the figure that are stored


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("rdkit")
    return molecules.write(tmp_path_factory.mktemp("results"))


@pytest.fixture(scope="module")
def drawn(folder: Path) -> Drawn:
    (one,) = figure.draw(Results((folder,)))
    return one


def ends(axis: Axes, colour: str) -> set[tuple[tuple[float, float], ...]]:
    """First and last point of the lines of this colour."""
    lines = [
        np.asarray(points)
        for collection in axis.collections
        if isinstance(collection, LineCollection) and same_color(np.atleast_2d(collection.get_edgecolor())[0], colour)
        for points in collection.get_segments()
    ]
    return {tuple(sorted(tuple(np.round(line[i], 6).tolist()) for i in (0, -1))) for line in lines}


def pairs(where: np.ndarray, edges: tuple[tuple[int, int], ...]) -> set[tuple[tuple[float, float], ...]]:
    return {tuple(sorted(tuple(np.round(where[node], 6).tolist()) for node in pair)) for pair in edges}


def panel(drawn: Drawn, instance: int, column: int) -> Axes:
    axes = np.array(drawn.figure.axes).reshape(-1, 1 + len(SHOWN))
    (row,) = [line for line in axes if f"graph {instance}" in line[0].get_xlabel()]
    return row[column]


def test_graphs_are_chosen_by_the_rule(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of each class those that most rows explain, of these the first by fold and number."""
    graphs = Results((folder,)).graphs(molecules.TASK.name)
    answers = {row: Results((folder,)).answers(molecules.TASK.name, *row) for row in SHOWN}

    def picked(given: Sequence[InputGraph], found: figure.Answers) -> list[int]:
        return [graph.instance for graph in figure.chosen(given, found)]

    assert picked(graphs, answers) == [4, 30, 9, 17], "graphs of class 0, then of class 1"
    monkeypatch.setattr(figure, "PER_CLASS", 1)
    assert picked(graphs, answers) == [4, 9] == picked(graphs[::-1], answers)
    only_17 = {row: own.assign(predicted_cf=own["predicted"] ^ (own.index == 17)) for row, own in answers.items()}
    only_17 = {row: own.assign(found=True) for row, own in only_17.items()}
    assert picked(graphs, only_17) == [4, 17]
    later = [replace(graph, fold=2) if graph.instance == 4 else graph for graph in graphs]
    assert picked(later, answers) == [30, 9]
    large = [replace(graph, n_nodes=figure.MOST_ATOMS + 1) if graph.instance == 9 else graph for graph in graphs]
    assert picked(large, answers) == [4, 17]


def test_bonds_have_the_colour_of_what_happened_to_them(drawn: Drawn, folder: Path) -> None:
    results = Results((folder,))
    for instance in molecules.SMILES:
        graph = molecules.molecule(instance)
        for column, row in enumerate(SHOWN, 1):
            answer = results.answers(molecules.TASK.name, *row).loc[instance]
            change = Change.of(graph, answer["edits"], answer["node_edits"])
            where = layout.with_leaves(layout.places(graph), change.kept, [node for node, _ in change.nodes.leaves])
            axis = panel(drawn, instance, column)
            plain = [
                pair for pair, bond in zip(graph.edges, graph.bonds, strict=True) if bond in ("single", "aromatic")
            ]
            assert pairs(where, change.added) == ends(axis, style.ADDED)
            for kind in ("removed", "kept"):
                own = tuple(pair for pair in getattr(change, kind) if pair in plain)
                assert pairs(where, own) <= ends(axis, figure.COLOURS[kind])
            if not change.removed:
                assert not ends(axis, style.REMOVED)


def test_all_panels_of_a_molecule_have_the_same_places(drawn: Drawn) -> None:
    for instance in molecules.SMILES:
        limits = {panel(drawn, instance, column).viewLim.bounds for column in range(1 + len(SHOWN))}
        assert len(limits) == 1


def test_atoms_say_what_they_are(drawn: Drawn) -> None:
    """Phenol: its oxygen; with node edits it becomes a nitrogen, with a ring."""
    before, after = (panel(drawn, 4, column).texts for column in (0, 2))
    assert [text.get_text() for text in before] == ["O"] and [text.get_text() for text in after] == ["N"]
    assert ring(before[0])[3] == 0 and ring(after[0]) == to_rgba(figure.RELABELLED)
    edited = {text.get_text(): ring(text) for text in panel(drawn, 9, 2).texts}
    assert edited["Cl"] == to_rgba(style.ADDED) and edited["O"] == to_rgba(style.REMOVED)


def ring(text: Text) -> tuple[float, ...]:
    """The colour around a symbol."""
    around = text.get_bbox_patch()
    assert around is not None
    return to_rgba(around.get_edgecolor())


def test_below_each_panel_stands_what_the_ledger_says(drawn: Drawn) -> None:
    assert panel(drawn, 9, 0).get_xlabel() == "mutagenic\ngraph 9"
    assert panel(drawn, 9, 1).get_xlabel() == "valid, feasible\nGED 2: −1 +1 bonds\nplausibility 0.09"
    assert panel(drawn, 9, 2).get_xlabel() == "valid, feasible°\nGED 4: +Cl, −O\nplausibility 0.09"
    assert panel(drawn, 4, 2).get_xlabel() == "valid, feasible°\nGED 2: O→N\nplausibility 0.04"
    assert panel(drawn, 17, 2).get_xlabel() == "nothing found"


def test_words_of_a_panel_are_no_wider_than_it() -> None:
    drawing = plt.figure(figsize=(7, 2))
    said = ["valid, feasible", "GED 12: −3 +3 bonds, N→O, C→N, N→C, O→S, +N, 2 × −Cl", "plausibility 0.07"]
    for width in (1.0, 1.17, 1.4):
        for size in (figure.SMALL, figure.HEADING):
            words = drawing.text(0, 0, figure.within(said, width, size), fontsize=size)
            assert words.get_window_extent().width <= width * drawing.dpi
            assert words.get_text().replace("\n", " ") == " ".join(said)
    plt.close(drawing)


def test_the_legend_has_what_is_drawn_and_a_number_stays_with_its_atoms(drawn: Drawn) -> None:
    (legend,) = drawn.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "kept", "removed", "added", "atom of another element", "atom dropped", "atom added",
    ]  # fmt: skip
    graph = molecules.molecule(4)
    removed = Change.of(graph, [graph.edges[0][0] * graph.n_nodes + graph.edges[0][1]])
    assert [handle.get_label() for handle in figure.legend([Change.of(graph), removed])] == ["kept", "removed"]
    twice = Change.of(graph, [], [NodeEdit("drop", node, was=0, neighbour=0).code(graph.n_nodes) for node in (2, 6)])
    assert figure.in_words(twice, graph) == "2\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}−C"


def test_headings_do_not_run_into_each_other(drawn: Drawn) -> None:
    heads = [axis.title for axis in drawn.figure.axes if axis.get_title()]
    drawn.figure.draw_without_rendering()
    boxes = [head.get_window_extent() for head in heads]
    assert len(boxes) > 2 and all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_the_lines_of_bonds() -> None:
    where = np.array([[0.0, 0.0], [1.0, 0.0]])
    (single,) = figure.bond_lines((0, 1), "single", where, None)
    assert (single == where).all()
    double = figure.bond_lines((0, 1), "double", where, None)
    assert sorted(float(line[0, 1]) for line in double) == pytest.approx([-figure.APART / 2, figure.APART / 2])
    _, inner = figure.bond_lines((0, 1), "double", where, np.array([0.5, -1.0]))
    assert (inner[:, 1] == -figure.APART).all(), "on the side of the ring"
    assert len(figure.bond_lines((0, 1), "triple", where, None)) == 3


def test_what_is_missing_is_said(drawn: Drawn, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any("Random order" in gap for gap in drawn.missing), "rows of the figure that are not stored"
    assert not any("MACCS" in gap for gap in drawn.missing), "it is not defined on MUTAG: nothing is missing"
    (nothing,) = figure.draw(Results((tmp_path,)))
    assert nothing.missing == ("table2.csv, which ./reproduce.sh table2 computes",)
    table = pd.read_csv(folder / "table2.csv")
    table.to_csv(tmp_path / "table2.csv", index=False)
    (no_graphs,) = figure.draw(Results((tmp_path,)))
    assert no_graphs.missing == ("the graphs of MUTAG, GIN, which ./reproduce.sh table2 stores",)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    (without,) = figure.draw(Results((folder,)))
    assert layout.NO_RDKIT in without.missing and len(without.figure.axes) == len(drawn.figure.axes)
    plt.close("all")
