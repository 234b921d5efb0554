"""The pictures of counterfactuals, as arrays: every pixel says what the ledger says, and what is missing is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.text import Text

from benchmarks.registry import tasks
from benchmarks.results.files import REFERENCE
from benchmarks.results.reader import Results
from figures import consensus, difference, edge_scores, method, pictograms, qualitative, style
from figures.figure import REPORT, Drawn, Edition, note_missing, saved

N = 4
PATH = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]], dtype=np.uint8)  # 0-1-2-3


def ledger(*rows: tuple[int, int, list[int], bool]) -> pd.DataFrame:
    """Rows of (fold, instance, edits, does the class change?)."""
    frame = pd.DataFrame(rows, columns=["fold", "instance", "edits", "changes"])
    return frame.assign(found=True, predicted=0, predicted_cf=frame.pop("changes").astype(int), n_nodes=N)


def test_a_pixel_is_kept_removed_added_or_neither() -> None:
    codes = pictograms.block(PATH, [0 * N + 1, 0 * N + 3, 2 * N + 2])  # removes 0-1, adds 0-3 and a loop at 2
    assert codes.tolist() == [[0, 2, 0, 3], [2, 0, 1, 0], [0, 1, 3, 1], [3, 0, 1, 0]]


def test_folds_are_rows_and_graphs_columns_in_the_order_of_their_numbers() -> None:
    rows = ledger((1, 7, [3], True), (0, 5, [1], True), (0, 2, [3], False))
    image = pictograms.pixels({2: PATH, 5: PATH, 7: PATH}, rows)
    assert image.shape == (2 * (N + 1) + 1, 2 * (N + 1) + 1)
    lines = [0, N + 1, 2 * (N + 1)]
    assert (image[lines] == pictograms.LINE).all() and (image[:, lines] == pictograms.LINE).all()
    inner = [slice(1, 1 + N), slice(2 + N, 2 + 2 * N)]
    assert (image[inner[0], inner[0]] == 0).all(), "graph 2: the class did not change"
    assert (image[inner[0], inner[1]] == pictograms.block(PATH, [1])).all(), "graph 5"
    assert (image[inner[1], inner[0]] == pictograms.block(PATH, [3])).all(), "graph 7, of fold 1"
    assert (image[inner[1], inner[1]] == pictograms.LINE).all(), "fold 1 has one graph"


def test_graphs_of_several_sizes_stand_in_one_grid() -> None:
    image = pictograms.mosaic([[np.ones((2, 2), np.uint8), np.zeros((3, 3), np.uint8)]])
    assert image.tolist() == [
        [4, 4, 4, 4, 4, 4, 4, 4, 4],
        [4, 1, 1, 4, 4, 0, 0, 0, 4],
        [4, 1, 1, 4, 4, 0, 0, 0, 4],
        [4, 4, 4, 4, 4, 0, 0, 0, 4],
        [4, 4, 4, 4, 4, 4, 4, 4, 4],
    ]


@pytest.mark.parametrize(("graphs", "beside"), [(3, True), (300, False)])
def test_methods_stand_beside_each_other_where_they_fit(graphs: int, beside: bool) -> None:
    rows = ledger(*((i % 2, i, [1], True) for i in range(2 * graphs))).assign(ged=1)
    panel = pictograms.Panel("RSGG-CE", dict.fromkeys(range(2 * graphs), PATH), rows)
    panels = {name: panel if name == "rsgg-ce" else "no stored results" for name in pictograms.METHODS}
    sheet, are_beside = pictograms.page(panels, pictograms.PALETTES[""][0], "heading", "file")
    assert are_beside == beside
    sheet.canvas.draw()
    boxes = [axes.get_window_extent() for axes in sheet.axes]
    assert len(boxes) == (3 if beside else 1), "with two that are enlarged"
    assert all(box.x0 >= 0 and box.x1 <= sheet.bbox.width and box.y0 >= 0 for box in boxes)
    plt.close(sheet)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([u * N + v for u in range(N) for v in range(u, N)]), unique=True))
def test_pixels_count_what_the_ledger_counts(edits: list[int]) -> None:
    image = pictograms.pixels({0: PATH}, ledger((0, 0, edits, True)))
    edges = {(0, 1), (1, 2), (2, 3)}
    edited = {divmod(edit, N) for edit in edits}
    expected = {
        pictograms.KEPT: 2 * len(edges - edited),
        pictograms.REMOVED: 2 * len(edges & edited),
        pictograms.ADDED: sum(1 if u == v else 2 for u, v in edited - edges),  # a loop is one pixel
    }
    assert {code: int((image == code).sum()) for code in expected} == expected


@pytest.mark.parametrize("missing", [[], ["something"]])
def test_every_pixel_has_a_whole_number_of_dots(missing: list[str]) -> None:
    """And stays where it is when a line about what is missing is added below."""
    page = pictograms.Page(300, 200, 100, pictograms.PALETTES[""][0])
    page.image(np.eye(10, dtype=np.uint8), 20, 30, 7)
    (axes,) = page.figure.axes
    note_missing(page.figure, missing)
    canvas = FigureCanvasAgg(page.figure)
    canvas.draw()
    box = axes.get_window_extent()
    assert (box.width, box.height) == pytest.approx((70, 70)) and box.x0 == pytest.approx(20)
    drawn = np.asarray(canvas.buffer_rgba())[30:100, 20:90, 0]
    assert (drawn == np.kron(255 * (1 - np.eye(10)), np.ones((7, 7)))).all()


def test_difference_of_two_counterfactuals() -> None:
    both = difference.block(PATH, [3], [1])  # CLEAR adds 0-3, RSGG-CE removes 0-1
    assert both.tolist() == [[0, 2, 0, 2], [2, 0, 1, 0], [0, 1, 0, 1], [2, 0, 1, 0]]
    assert (difference.block(PATH, [3], None) == difference.CLEAR_ONLY).all()
    assert (difference.block(PATH, None, [3]) == difference.RSGG_ONLY).all()
    assert (difference.block(PATH, None, None) == difference.NEITHER).all()


def test_difference_chooses_five_graphs_of_five_folds_and_always_the_same() -> None:
    rows = ledger(*((i % 10, i, [], True) for i in range(100)))
    graphs = difference.chosen(rows, "asd")
    assert graphs == difference.chosen(rows, "asd") != difference.chosen(rows, "tree-cycles")
    assert len(graphs) == 5 and all(len(set(own)) == 5 for own in graphs.values())
    assert all(i % 10 == fold for fold, own in graphs.items() for i in own)


def test_the_graph_that_most_methods_explain_is_shown() -> None:
    one = ledger((0, 1, [1], True), (0, 2, [1], True), (0, 3, [1], True))
    two = ledger((0, 1, [1], False), (0, 2, [1], True), (0, 3, [1], True))
    assert qualitative.chosen({("a", "faithful"): one, ("b", "faithful"): two}) == {0: 2}
    assert qualitative.chosen({}) == {}


def test_edges_on_cycles_and_scores() -> None:
    triangle = PATH.copy()
    triangle[1, 3] = triangle[3, 1] = 1
    assert method.cycle_edges(triangle) == {(1, 2), (1, 3), (2, 3)} and not method.cycle_edges(PATH)
    matrix = method.scores(pd.Series({"n_nodes": 3, "scores": [0, 51, 255]}))
    assert matrix.tolist() == [[0, 0, 0.2], [0, 0, 1], [0.2, 1, 0]]
    assert edge_scores.most_cyclic([5, 4, 9], {4: PATH, 5: triangle, 9: triangle}) == 5
    assert edge_scores.most_cyclic([4], {4: PATH}) is None


def test_a_sample_of_the_training_half_follows_its_probabilities() -> None:
    """Sure edges are there, impossible ones are not, and one in four samples has the pair that has .25."""
    probabilities = np.zeros((4, 4))
    probabilities[0, 1] = probabilities[1, 0] = 1
    probabilities[2, 3] = probabilities[3, 2] = 0.25
    drawn = np.stack([method.sample(probabilities, instance) for instance in range(2000)])
    assert (drawn == drawn.transpose(0, 2, 1)).all() and drawn[:, 0, 1].all() and not drawn[:, 0, 2:].any()
    assert drawn[:, 2, 3].mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 2000))
    assert (method.sample(probabilities, 7) == drawn[7]).all()


def test_the_training_half_says_what_the_last_epoch_came_to() -> None:
    """From the curves of the class that is shown, of no other class, variant or epoch."""
    line: dict[str, Any] = {
        "dataset": "tree-cycles",
        "method": "rsgg-ce",
        "variant": "faithful",
        "class": 1,
        "epoch": 9,
    }
    line |= {"metric": "flip_rate", "mean": 0.75}
    others: list[dict[str, Any]] = [{"epoch": 8}, {"class": 0}, {"variant": "released"}, {"dataset": "asd"}]
    loss = line | {"metric": "discriminator_loss", "mean": 0.5}
    curves = pd.DataFrame([line, loss, *(line | other | {"mean": 0.1} for other in others)])
    assert method.last_epoch(curves) == {"flip_rate": 0.75, "discriminator_loss": 0.5}


@pytest.mark.parametrize("stored", [True, False])
def test_figure_1_has_generator_oracle_and_discriminator(stored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawn from the reference: a graph that the sampled edges make a tree, and the numbers of its training."""
    results = Results((REFERENCE,))
    if not stored:
        monkeypatch.setattr(Results, "table", lambda *_, **how: None)
    style.use()
    (drawn,) = method.draw(results)
    words = " ".join(text.get_text() for text in drawn.figure.findobj(Text))
    for part in ("𝔾", "Φ  oracle", "𝔻  real or generated", "G_g", "reward"):
        assert part in words, part
    if stored:
        ends = method.last_epoch(pd.read_csv(REFERENCE / "convergence.csv"))
        assert f"yes for {ends['flip_rate']:.0%} of samples" in words and not drawn.missing
    else:
        assert "convergence.csv" in drawn.missing[0]
    assert drawn.paper == "Figure 1"
    plt.close(drawn.figure)


def test_shares_and_agreement() -> None:
    edits = [[1, 6], [1], [1, 11]]
    share = consensus.shares(edits, N)
    assert (
        share[0, 1] == 1 and share[1, 2] == share[2, 3] == pytest.approx(1 / 3) and share.sum() == pytest.approx(5 / 3)
    )
    assert consensus.agreement(edits) == pytest.approx((1 / 2 + 1 / 3 + 1 / 2) / 3)
    methods = {"a": ledger((0, 0, [1], True), (0, 1, [6], True)), "b": ledger((0, 0, [1], True), (0, 1, [6], False))}
    assert consensus.over_methods(methods, 0)[0, 1] == pytest.approx((0.5 + 1) / 2), "a method is a vote"


MODULES = (pictograms, difference, qualitative, method, edge_scores, consensus)


def test_with_nothing_stored_figures_are_drawn_and_say_what_is_missing(tmp_path: Path) -> None:
    """And with one traced graph, whose input is not known, too."""
    row = {"cell": "", "dataset": "tree-cycles", "method": "rsgg-ce", "variant": "faithful", "fold": 0, "instance": 3}
    trace = row | {"n_nodes": N, "scores": [9] * 6, "removed": [1], "checked": [], "calls": 2, "found": True}
    pd.DataFrame([trace]).to_parquet(tmp_path / "traces.parquet")
    results = Results.of(tmp_path)
    style.use()
    drawn = [one for module in MODULES for one in module.draw(results)]
    assert len({one.name for one in drawn}) == len(drawn) == 8 + 2 + 2 + 1 + 1 + 2
    for one in drawn:
        assert one.missing and one.caption.endswith("."), one.name
        plt.close(one.figure)
    (entry,) = saved("method", lambda _: method.draw(results), results, tmp_path / "out")
    assert "./reproduce.sh traces" in entry.missing[0] and (tmp_path / "out" / "method.pdf").is_file()


def test_the_legend_is_saved_below_the_panels_and_a_paper_gets_no_path(tmp_path: Path) -> None:
    sheets: list[Figure] = []

    def drawn(results: Results) -> list[Drawn]:
        one = pictograms.draw(results)[0]
        sheets.append(one.figure)
        return [one]

    for edition in (REPORT, Edition(paper=True)):
        saved("pictograms", drawn, Results.of(tmp_path), tmp_path / "out", edition)
    report, paper = sheets
    (legend,) = report.legends
    lowest_panel = min(text.get_window_extent().y0 for text in report.texts if "no stored results" in text.get_text())
    assert legend.get_window_extent().y1 < lowest_panel
    assert any("Drawn from" in text.get_text() for text in report.texts)
    assert not any("Drawn from" in text.get_text() or "each method" in text.get_text() for text in paper.texts)


def test_the_edits_alone_stand_below_the_counterfactual_and_cover_nothing_of_it() -> None:
    drawing, axis = plt.subplots()
    axis.set(aspect="equal", xlim=(-qualitative.EDGE, qualitative.EDGE))
    axis.set_ylim(-qualitative.EDGE - qualitative.ALONE, qualitative.EDGE)
    where = np.array([[-1.0, -1.0], [1.0, -1.0], [0.0, 1.0]])
    codes = np.zeros((3, 3), dtype=np.uint8)
    codes[0, 1] = codes[1, 0] = pictograms.REMOVED
    codes[0, 2] = codes[2, 0] = pictograms.KEPT
    qualitative.edges(axis, codes, where)
    qualitative._inset(axis, codes, where)
    drawing.draw_without_rendering()
    (inset,) = axis.child_axes
    highest = inset.get_window_extent().y1
    assert (axis.transData.transform(where)[:, 1] > highest).all()
    drawn = [len(lines.get_segments()) for lines in inset.collections if isinstance(lines, LineCollection)]
    assert sorted(drawn) == [0, 1], "the removed edge alone"
    plt.close(drawing)


def test_brain_regions_are_those_of_the_atlas_in_pairs() -> None:
    names = tasks.ASD.node_names
    assert len(names) == len(set(names)) == 116
    assert names[78:82] == ("Heschl_L", "Heschl_R", "Temporal_Sup_L", "Temporal_Sup_R"), "numbers 79 to 82 of AAL"
    assert names[108:] == tuple(f"Vermis_{part}" for part in ("1_2", "3", "4_5", "6", "7", "8", "9", "10"))
