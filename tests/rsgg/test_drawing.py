"""A result in words, as a picture and in a notebook, and converted for other libraries."""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from collections import Counter
from io import BytesIO

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image
from torch_geometric.utils import to_networkx

from rsgg import Counterfactual, Graph
from rsgg.drawing import ADDED, KEPT, REMOVED, layout
from rsgg.errors import UsageError

mpl.use("Agg")

SVG = "{http://www.w3.org/2000/svg}"


def result(graph: nx.Graph, *, added=(), removed=(), **known) -> Counterfactual:
    """The counterfactual with these edits."""
    edited = graph.copy()
    edited.add_edges_from(added)
    edited.remove_edges_from(removed)
    return Counterfactual(Graph.from_networkx(graph), Graph.from_networkx(edited), 0, 0, "", 1, 0.0, **known)


def nothing(graph: nx.Graph) -> Counterfactual:
    return Counterfactual(Graph.from_networkx(graph), None, 0, 0, "the time limit was used up", 1, 0.0)


# -- Words -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("added", "removed", "words"),
    [
        ([], [(3, 7)], "Remove the edge 3–7 and "),
        ([(0, 2)], [], "Add the edge 0–2 and "),
        ([], [(0, 1), (1, 2), (4, 5)], "Remove the edges 0–1, 1–2 and 4–5 and "),
        ([(0, 2)], [(0, 1), (1, 2)], "Remove the edges 0–1 and 1–2 and add the edge 0–2, and "),
    ],
)
def test_edits_are_said_in_a_sentence(added, removed, words) -> None:
    graph = nx.path_graph(9)
    graph.add_edge(3, 7)
    assert result(graph, added=added, removed=removed).in_words().startswith(words + "the class ")


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"before": 1, "after": 0}, "the class changes from 1 to 0."),
        ({"before": 1, "after": 1, "flips": False}, "the class stays 1."),
        ({"before": 2}, "the class is no longer 2."),
        ({}, "the class changes."),
        ({"before": 1, "flips": False}, "nobody has asked which class that is."),
    ],
)
def test_classes_are_said_as_far_as_they_are_known(known, words) -> None:
    assert result(nx.path_graph(4), removed=[(1, 2)], **known).in_words() == f"Remove the edge 1–2 and {words}"


def test_many_edits_are_counted() -> None:
    words = result(nx.complete_graph(8), removed=nx.complete_graph(8).edges).in_words()
    assert words.startswith("Remove 28 edges (0–1, 0–2, ") and "1–4, …) and" in words and "1–5" not in words


def test_a_failure_says_why() -> None:
    assert nothing(nx.path_graph(3)).in_words() == "No counterfactual was found: the time limit was used up."


def test_nodes_are_called_as_the_user_calls_them() -> None:
    graph = nx.Graph([("Oslo", "Bergen"), ("Bergen", "Narvik")])
    assert result(graph, removed=[("Bergen", "Narvik")]).in_words().startswith("Remove the edge Bergen–Narvik and ")


# -- Layout ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "graph",
    [nx.path_graph(2), nx.cycle_graph(12), nx.disjoint_union(nx.cycle_graph(5), nx.path_graph(7)), nx.empty_graph(6)],
)
def test_all_nodes_can_be_told_apart(graph) -> None:
    places = layout(Graph.from_networkx(graph))
    apart = np.linalg.norm(places[:, None] - places[None], axis=2)[np.triu_indices(len(places), 1)]
    assert places.min() >= 0 and places.max() <= 1 and apart.min() > 0.05


def test_a_cycle_is_drawn_round_and_always_alike() -> None:
    graph = Graph.from_networkx(nx.cycle_graph(12))
    places = layout(graph)
    radius = np.linalg.norm(places - places.mean(0), axis=1)
    assert radius.max() < 1.1 * radius.min() and np.array_equal(places, layout(graph))


def test_single_and_many_nodes_have_places() -> None:
    assert layout(Graph.from_networkx(nx.empty_graph(1))).tolist() == [[0.5, 0.5]]
    assert layout(Graph.from_networkx(nx.path_graph(160))).shape == (160, 2)


# -- Pictures ----------------------------------------------------------------------------------------------------


def colours(axes) -> Counter[str]:
    return Counter(to_hex(line.get_color()).upper() for line in axes.lines)


def test_every_edge_is_drawn_once_in_the_colour_of_what_happens_to_it() -> None:
    drawn = result(nx.cycle_graph(7), added=[(0, 2), (0, 3)], removed=[(0, 1)])
    axes = drawn.plot()
    assert colours(axes) == {KEPT: 6, ADDED: 2, REMOVED: 1}
    dashed = [line for line in axes.lines if line.get_linestyle() != "-"]
    places = layout(drawn.input)
    assert len(dashed) == 1 and np.allclose(dashed[0].get_xydata(), places[[0, 1]])
    assert axes.get_title().replace("\n", " ") == drawn.in_words()
    assert {text.get_text() for text in axes.texts} == set("0123456")
    legend = axes.get_legend()
    assert legend is not None and [text.get_text() for text in legend.texts] == ["added", "removed"]


def test_it_is_drawn_where_the_user_says_and_failures_show_the_input() -> None:
    axes = Figure().subplots()
    assert nothing(nx.cycle_graph(7)).plot(axes) is axes
    assert colours(axes) == {KEPT: 7} and axes.get_legend() is None


def test_the_picture_has_red_and_green_in_it() -> None:
    stored = BytesIO()
    figure = Figure()
    result(nx.cycle_graph(7), added=[(0, 2)], removed=[(4, 5)]).plot(figure.subplots())
    figure.savefig(stored, format="png", dpi=60)
    red, green, blue = np.asarray(Image.open(stored).convert("RGB")).astype(int).transpose(2, 0, 1)
    assert ((red > 180) & (green < 60) & (blue < 60)).sum() > 20
    assert ((green > 130) & (red < 60) & (blue < 60)).sum() > 20


def test_without_matplotlib_a_sentence_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    drawn = result(nx.cycle_graph(7), removed=[(4, 5)])
    with pytest.raises(UsageError, match=r'pip install "rsgg\[plot\]"'):
        drawn.plot()
    assert "<svg" in drawn._repr_html_()


# -- Notebooks ---------------------------------------------------------------------------------------------------


def test_a_notebook_shows_the_picture_and_the_sentence() -> None:
    drawn = result(nx.cycle_graph(7), added=[(0, 2), (0, 3)], removed=[(0, 1)])
    page = ET.fromstring(drawn._repr_html_())
    assert Counter(line.get("class") for line in page.iter(f"{SVG}line")) == {"kept": 6, "added": 2, "removed": 1}
    assert [text.text for text in page.iter(f"{SVG}text")] == list("0123456")
    caption = page.find("figcaption")
    assert caption is not None and caption.text == drawn.in_words()


def test_names_cannot_break_the_page_and_large_graphs_are_said_only() -> None:
    graph = nx.Graph([("<script>", "a & b"), ("a & b", "c")])
    page = ET.fromstring(result(graph, removed=[("a & b", "c")])._repr_html_())
    assert [text.text for text in page.iter(f"{SVG}text")] == ["<script>", "a & b", "c"]
    large = ET.fromstring(result(nx.path_graph(400), removed=[(0, 1)])._repr_html_())
    assert large.find(f"{SVG}svg") is None and "0–1" in (large.findtext("figcaption") or "")


# -- Other libraries ---------------------------------------------------------------------------------------------


def test_it_becomes_a_graph_of_pyg_and_networkx() -> None:
    made = result(nx.cycle_graph(7), added=[(0, 2)], removed=[(0, 1)])
    expected = nx.cycle_graph(7)
    expected.add_edge(0, 2)
    expected.remove_edge(0, 1)
    assert nx.utils.graphs_equal(made.to_networkx(), expected)
    assert nx.utils.graphs_equal(to_networkx(made.to_pyg(), to_undirected=True), expected)
    for convert in (nothing(expected).to_pyg, nothing(expected).to_networkx):
        with pytest.raises(UsageError, match="the time limit was used up; look at `found` first"):
            convert()
