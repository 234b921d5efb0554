"""Table 1, shown: which rows stand where, what is marked, what is missing, and that the stored numbers are shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import TABLE1
from benchmarks.results.files import REFERENCE
from benchmarks.results.reader import Results
from figures import tables
from figures.tables.numbers import number
from figures.tables.table1 import BEYOND, RowView, layout
from figures.tables.training import how_it_ended
from tests.figures.tables.reading import HtmlReader, assert_balanced

COLUMNS = ["dataset", "method", "variant", "metric", "paper", "mean", "ci_low", "ci_high", "verdict", "reason"]


def folder_with(
    folder: Path, lines: list[tuple[str, str, str, str, float]], missing: list[str] | None = None
) -> Results:
    """A folder with a Table 1 of these lines: data set, method, variant, metric, mean."""
    table = pd.DataFrame(lines, columns=["dataset", "method", "variant", "metric", "mean"])
    table = table.assign(paper="", ci_low=table["mean"] - 0.1, ci_high=table["mean"] + 0.1, verdict="", reason="")
    table[COLUMNS].to_csv(folder / "table1.csv", index=False)
    (folder / "manifest.json").write_text(json.dumps({"experiments": {"table1": {"missing": missing or []}}}))
    return Results((folder,))


def row_of(rows: list[RowView], method: str, variant: str) -> RowView:
    (found,) = [row for row in rows if (row.method, row.variant) == (method, variant)]
    return found


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        ("0.5", 3, "0.500"), ("1092.18", 3, "1092.18"), ("241200", 1, "241200"), ("0.000128667", 3, "1.3e-04"),
        (0.0, 3, "0.000"), ("", 3, "–"), (float("nan"), 3, "–"), (-0.25, 2, "-0.25"), (None, 3, "–"),
    ],
)  # fmt: skip
def test_numbers_have_no_more_digits_than_are_stored(value: object, decimals: int, text: str) -> None:
    assert number(value, decimals) == text


def test_rows_stand_under_their_printed_row_and_controls_last(tmp_path: Path) -> None:
    rows = [("rsgg-ce-uniform", "control"), ("rsgg-ce", "beyond"), ("optimum", "control"), ("obs", "search"),
            ("rsgg-ce", "faithful"), ("meg", "faithful"), ("mine", "own"), ("rsgg-ce", "released")]  # fmt: skip
    results = folder_with(tmp_path, [("tree-cycles", *row, "ged", 1.0) for row in rows])
    shown = [(row.method, row.variant) for row in layout(results)["tree-cycles"]]
    assert shown == [
        ("meg", "paper"), ("meg", "faithful"), ("cf2", "paper"), ("clear", "paper"), ("g-countergan", "paper"),
        ("rsgg-ce", "paper"), ("rsgg-ce", "released"), ("rsgg-ce", "faithful"), ("rsgg-ce", "beyond"),
        ("obs", "search"), ("mine", "own"), ("rsgg-ce-uniform", "control"), ("optimum", "control"),
    ]  # fmt: skip


def test_best_and_second_best_are_marked_without_the_controls(tmp_path: Path) -> None:
    means = {("meg", "faithful"): 1.0, ("obs", "search"): 2.0, ("ddbs", "search"): 2.0004, ("cf2", "faithful"): 3.0,
             ("optimum", "control"): 0.5}  # fmt: skip
    lines = [("tree-cycles", *row, "ged", mean) for row, mean in means.items()]
    results = folder_with(tmp_path, lines + [("tree-cycles", *row, "correctness", 1.0) for row in means])
    marks = {(row.method, row.variant): row.cell("ged").mark for row in layout(results)["tree-cycles"]}
    assert {row: mark for row, mark in marks.items() if row in means} == {
        ("meg", "faithful"): "best", ("obs", "search"): "second", ("ddbs", "search"): "second",  # alike as shown
        ("cf2", "faithful"): "", ("optimum", "control"): "",
    }  # fmt: skip


def marks_of(
    tmp_path: Path, correctness: dict[tuple[str, str], float], metrics: tuple[str, ...]
) -> dict[str, list[str]]:
    """The marks of these rows by metric, the first row having the lowest value of each, the second the next, …"""
    lines = [("tree-cycles", *row, metric, 1.0 + i) for i, row in enumerate(correctness) for metric in metrics]
    lines += [("tree-cycles", *row, "correctness", mean) for row, mean in correctness.items()]
    found = layout(folder_with(tmp_path, lines))["tree-cycles"]
    return {m: [row_of(found, *row).cell(m).mark for row in correctness] for m in (*metrics, "correctness")}


def test_a_row_below_the_floor_is_marked_for_nothing_but_its_success(tmp_path: Path) -> None:
    """OBS asks least, but is right on .899 of the graphs, below the floor of 0.9; CF² reaches the floor."""
    rows = {("ddbs", "search"): 0.5, ("obs", "search"): 0.899, ("cf2", "faithful"): 0.9, ("meg", "faithful"): 1.0}
    marks = marks_of(tmp_path, rows, ("explain_calls",))
    assert marks == {"explain_calls": ["", "", "best", "second"], "correctness": ["", "", "second", "best"]}
    assert "only among rows whose Correctness is at least 0.9" in tables.markdown("table1", Results((tmp_path,)))


def test_distances_are_marked_among_rows_as_correct_as_the_best(tmp_path: Path) -> None:
    """MEG needs fewest edits, because it fails on the harder graphs; OBS is within .005 of the best."""
    rows = {("meg", "faithful"): 0.99, ("obs", "search"): 0.995, ("cf2", "faithful"): 1.0, ("ddbs", "search"): 1.0}
    distances = ("ged", "sparsity", "ged_on_success", "optimality_gap")
    marks = marks_of(tmp_path, rows, distances)
    assert all(marks[metric] == ["", "best", "second", ""] for metric in distances)


def test_costs_that_are_not_accounted_alike_are_not_marked(tmp_path: Path) -> None:
    rows = {("meg", "faithful"): 1.0, ("obs", "search"): 1.0}
    columns = ("runtime", "oracle_calls", "explain_seconds")
    marks = marks_of(tmp_path, rows, columns)
    assert all(marks[metric] == ["", ""] for metric in columns)


def test_a_row_without_correctness_is_not_marked(tmp_path: Path) -> None:
    rows = [("obs", "search", 1.0), ("cf2", "faithful", 2.0)]
    results = folder_with(tmp_path, [("tree-cycles", *row[:2], "ged", row[2]) for row in rows])
    assert {row.cell("ged").mark for row in layout(results)["tree-cycles"] if row.variant != "paper"} == {""}


def test_what_the_registry_does_not_know_is_shown_with_its_own_name(tmp_path: Path) -> None:
    results = folder_with(
        tmp_path, [("my-data", "mine", "own", "ged", 1.25), ("my-data", "mine", "own", "correctness", 0.75)]
    )
    for everything in (False, True):
        text = str(tables.sheets("table1", results, everything=everything))
        assert "my-data" in text and "mine (own)" in text and "'1.250'" in text and "'0.750'" in text


def test_renamed_nodes_are_columns_beside_the_given_order(tmp_path: Path) -> None:
    lines = [("tree-cycles", "meg", "faithful", "ged", 1.0), ("tree-cycles-relabelled", "meg", "faithful", "ged", 2.0),
             ("tree-cycles-relabelled", "meg", "faithful", "correctness", 0.4)]  # fmt: skip
    results = folder_with(tmp_path, lines)
    rows = layout(results)
    assert list(rows) == ["tree-cycles"]
    row = row_of(rows["tree-cycles"], "meg", "faithful")
    assert [row.cell(name).text for name in ("ged", "ged_renamed", "correctness_renamed")] == [
        "1.000",
        "2.000",
        "0.400",
    ]
    assert "GED, renamed" in tables.markdown("table1", results)


def test_a_row_on_the_printed_rows_own_data_stands_below_it_in_short(tmp_path: Path) -> None:
    lines = [("tree-cycles", "meg", "released", "ged", 123.9), ("tree-cycles-32", "meg", "released", "ged", 160.1)]
    results = folder_with(tmp_path, lines)
    (short,) = tables.sheets("table1", results)
    names = [row[0].text for row in short.rows]
    assert names[:3] == ["MEG, printed", "MEG, as released", "MEG, as released, 32 nodes"]
    assert "## Table 1 on Tree-Cycles, 32 nodes" in tables.markdown("table1", results)


def test_no_row_on_the_printed_rows_own_data_is_dropped(tmp_path: Path) -> None:
    lines = [("tree-cycles", "cf2", "released", "ged", 27.5), ("tree-cycles-32", "meg", "released", "ged", 160.1),
             ("tree-cycles-32", "mine", "own", "ged", 1.5)]  # fmt: skip
    (short,) = tables.sheets("table1", folder_with(tmp_path, lines))
    names = [row[0].text for row in short.rows]
    assert names[:3] == ["MEG, printed", "MEG, as released, 32 nodes", "CF², printed"]
    assert names[-1] == "mine (own), 32 nodes"


def test_what_is_missing_is_a_row_without_numbers_and_a_sentence_below_its_table(tmp_path: Path) -> None:
    gaps = [
        "ASD, MEG, as released: it does not fit into memory",
        "Tree-Cycles, 32 nodes, MEG, as released: not computed",
        "Tree-Cycles, CF²: not computed (fold 3 of replicate 0)",
    ]
    results = folder_with(tmp_path, [("asd", "cf2", "faithful", "ged", 3.0)], gaps)
    rows = layout(results)
    assert set(rows) == {"asd", "tree-cycles", "tree-cycles-32"}
    assert row_of(rows["asd"], "meg", "released").cell("ged").text == "–"
    by_title = {sheet.title: sheet.notes for sheet in tables.sheets("table1", results, everything=True)}
    assert by_title["Table 1 on ASD"] == [f"Missing: {gaps[0]}."]
    assert by_title["Table 1 on Tree-Cycles, 32 nodes"] == [f"Missing: {gaps[1]}."]
    assert by_title["Table 1 on Tree-Cycles"] == [f"Missing: {gaps[2]}."]
    assert "fold 3 of replicate 0" in tables.latex("table1", results)


def test_an_empty_table_shows_what_the_paper_prints(tmp_path: Path) -> None:
    gap = f"Tree-Cycles, {methods.label('rsgg-ce', 'faithful')}: not computed"
    text = tables.markdown("table1", folder_with(tmp_path, [], [gap]))
    assert "0.885" in text and f"Missing: {gap}." in text
    assert "./reproduce.sh table1 computes it" in tables.markdown("table1", Results((tmp_path / "nowhere",)))


# -- Marks of rows and what is said below ------------------------------------------------------------------


OTHER_GRAPH, NO_FLIP = "proposes another graph", "proposes nothing that flips"


def training(folder: Path, fits: list[tuple[int, float, str]]) -> Results:
    """Fits of RSGG-CE by score function on ASD: class, mean edits, how it ended."""
    row = {"dataset": "asd", "method": "rsgg-ce", "variant": "faithful"}
    lines = [{**row, "class": c, "edits": edits, "collapsed": how} for c, edits, how in fits]
    pd.DataFrame(lines).to_csv(folder / "training.csv", index=False)
    return Results((folder,))


def test_how_fits_collapse_is_said_by_class_and_the_reason_covers_only_what_it_explains(tmp_path: Path) -> None:
    """Deleting everything flips class 0: neither class 1 nor a generator that flips nothing is explained by it."""
    key = ("asd", "rsgg-ce", "faithful")
    fits = [(0, 620, OTHER_GRAPH), (0, 624, OTHER_GRAPH), (0, 9, "no"), (0, 1027, NO_FLIP), (1, 371, OTHER_GRAPH)]
    said = how_it_ended(training(tmp_path, [*fits, (1, 5866, OTHER_GRAPH), (1, 622, NO_FLIP)]), key)
    assert said.startswith(
        "6 of 7 fits of replicate 0 collapse (class 0, 3 of 4: proposes another graph 2 (620 to 624 edits), "
        "proposes nothing that flips 1 (1,027 edits); class 1, 3 of 3: proposes another graph 2 (371 to 5,866 edits), "
    )
    assert "A reason for the 2 of class 0 where it proposes another graph: the empty graph is of class 1" in said
    assert said.endswith("It does not explain the others (1 of class 0 and 3 of class 1).")
    alone = how_it_ended(training(tmp_path, [(1, 371, OTHER_GRAPH), (0, 9, "no")]), key)
    one = "1 of 2 fits of replicate 0 collapse (class 1, 1 of 1: proposes another graph 1 (371 edits))."
    assert alone == one, "without a reason"


def test_rows_are_marked_as_white_box_collapsed_measured_once_or_with_folds_missing(tmp_path: Path) -> None:
    rows = {("cf2", "faithful"): (1, 10), ("rsgg-ce", "faithful"): (5, 10), ("meg", "faithful"): (5, 9)}
    folder_with(tmp_path, [("asd", *row, "correctness", 1.0) for row in rows])
    table = pd.read_csv(tmp_path / "table1.csv").assign(n=101)
    table["replicates"], table["folds"] = zip(*rows.values(), strict=True)
    table.to_csv(tmp_path / "table1.csv", index=False)
    training(tmp_path, [(0, 100, "no"), (0, 620, OTHER_GRAPH), (0, 630, OTHER_GRAPH)])
    names = [row.name for row in layout(Results((tmp_path,)))["asd"] if row.variant != "paper"]
    assert names == ["MEG ᵖ (9 of 10 folds)", "CF² ∇¹", "RSGG-CE, by score function †"]
    for text in (tables.markdown("table1", Results((tmp_path,))), tables.html("table1", Results((tmp_path,)))):
        assert (
            "2 of 3 fits of replicate 0 collapse (class 0, 2 of 3: proposes another graph 2 (620 to 630 edits))" in text
        )
        assert "exact gradient (white box). ᵖ is told probabilities" in text
        assert "without ∇ or ᵖ, classes only" in text and "¹ fewer than 3 replicates" in text
    assert r"CF$^2$ $\nabla$$^1$" in tables.latex("table1", Results((tmp_path,)))


@pytest.mark.parametrize(("replicates", "name"), [(1, "MEG ᵖ¹"), (2, "MEG ᵖ¹"), (3, "MEG ᵖ")])
def test_fewer_replicates_than_an_interval_needs_are_marked(tmp_path: Path, replicates: int, name: str) -> None:
    folder_with(tmp_path, [("asd", "meg", "faithful", "correctness", 1.0)])
    pd.read_csv(tmp_path / "table1.csv").assign(replicates=replicates).to_csv(tmp_path / "table1.csv", index=False)
    assert row_of(layout(Results((tmp_path,)))["asd"], "meg", "faithful").name == name


def test_a_row_made_minimal_is_marked_like_its_base(tmp_path: Path) -> None:
    folder_with(
        tmp_path, [("asd", name, "faithful", "correctness", 1.0) for name in ("g-countergan", "g-countergan-min")]
    )
    fit = {"dataset": "asd", "method": "g-countergan", "variant": "faithful", "class": 0, "edits": 9}
    pd.DataFrame([{**fit, "collapsed": OTHER_GRAPH}]).to_csv(tmp_path / "training.csv", index=False)
    rows = layout(Results((tmp_path,)))["asd"]
    assert [row_of(rows, f"g-countergan{end}", "faithful").marks for end in ("", "-min")] == ["∇†", "∇†"]


def test_what_a_minimised_row_cannot_start_from_is_said() -> None:
    (note,) = [
        note
        for sheet in tables.sheets("table1", Results((REFERENCE,)), everything=True)
        for note in sheet.notes
        if "counts twice" in note
    ]
    rows = {name: Results((REFERENCE,)).ledger("asd", name, "released") for name in ("rsgg-ce", "rsgg-ce-min")}
    flips = {name: int((own["predicted"] != own["predicted_cf"]).sum()) for name, own in rows.items()}
    share = flips["rsgg-ce-min"] / flips["rsgg-ce"]
    assert note.startswith("RSGG-CE, as released + min starts from simple graphs")
    assert (
        f"of the {flips['rsgg-ce']} graphs of ASD" in note and f"{share:.1%} flip when every edge counts once" in note
    )


def test_variants_are_shown_in_words(tmp_path: Path) -> None:
    rows = [("rsgg-ce", "faithful"), ("cf2", "faithful"), ("rsgg-ce", "literal"), ("rsgg-ce-min", "faithful")]
    text = tables.markdown("table1", folder_with(tmp_path, [("asd", *row, "ged", 1.0) for row in rows]))
    assert "| CF² ∇ | as its paper defines it |" in text and "| RSGG-CE, to the letter | to the letter |" in text
    assert "| RSGG-CE, by score function | by score function |" in text
    assert "| RSGG-CE, by score function + min | by score function + min |" in text
    assert "faithful" not in text and "literal" not in text


def test_calls_are_those_to_explain_and_to_fit_and_what_a_test_graph_costs_is_said(tmp_path: Path) -> None:
    calls = {("clear", "faithful"): (1.0, 1234.0), ("cf2", "faithful"): (1001.46, 0.0)}
    lines = [
        ("asd", *row, f"{what}_calls", n)
        for row, ns in calls.items()
        for what, n in zip(("explain", "fit"), ns, strict=True)
    ]
    folder_with(tmp_path, lines)
    table = pd.read_csv(tmp_path / "table1.csv").assign(n=300, folds=10, replicates=5)
    table.to_csv(tmp_path / "table1.csv", index=False)
    assert "asks so often" not in tables.markdown("table1", Results((tmp_path,))), "an older table: not known"
    table.assign(replicates_shown=3).to_csv(tmp_path / "table1.csv", index=False)
    rows = layout(Results((tmp_path,)))["asd"]
    assert {row: row_of(rows, *row).cell("calls").text for row in calls} == {
        ("clear", "faithful"): "1.0 / 1,234", ("cf2", "faithful"): "1,001.5 / –",
    }  # fmt: skip
    assert row_of(rows, "clear", "paper").cell("calls").text == "5339.455"
    assert "asks so often for each: CLEAR 123." in tables.markdown("table1", Results((tmp_path,)))


@pytest.mark.parametrize(("further", "said"), [(0, ""), (1, "1 more row, "), (2, "2 more rows, ")])
def test_rows_that_are_left_out_are_counted(tmp_path: Path, further: int, said: str) -> None:
    lines = [("asd", *row, "ged", 1.0) for row in (("cf2", "released"), ("obs", "search"), ("ddbs", "search"))]
    (sheet,) = tables.sheets("table1", folder_with(tmp_path, lines[: 1 + further]))
    assert re.fullmatch(rf"With --all: {said}\d+ more metrics and the reasons\.", sheet.notes[-1])


# -- The reference ---------------------------------------------------------------------------------------


def stored_means() -> pd.Series:
    return pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])["mean"]


def test_questions_of_fitting_are_shared_by_the_test_graphs_of_one_fold() -> None:
    """As the ledger has them; how many replicates are shown makes no difference."""
    ledger = Results((REFERENCE,)).ledger("tree-cycles", "rsgg-ce", "faithful")
    per_graph = (ledger["fit_calls"] / ledger["test_size"]).mean()
    (row,) = (
        row
        for row in layout(Results((REFERENCE,)))["tree-cycles"]
        if (row.method, row.variant) == ("rsgg-ce", "faithful")
    )
    assert row.fit_calls == pytest.approx(per_graph, rel=0.01) and per_graph > 1000


def test_markdown_has_the_stored_number_in_every_cell() -> None:
    means, found = stored_means(), layout(Results((REFERENCE,)))
    compared = 0
    for dataset, rows in found.items():
        for row in rows:
            if row.variant != "paper" and (dataset, row.method, row.variant) in means.index.droplevel("metric"):
                for metric in ("ged", "correctness", "runtime", "fit_calls"):
                    shown = float(row.cell(metric).text)
                    assert np.isclose(shown, means[dataset, row.method, row.variant, metric], rtol=0.04, atol=5e-4)
                    compared += 1
    assert compared > 200
    text = tables.markdown("table1", Results((REFERENCE,)))
    columns = {metric.name for metric in (*TABLE1, *BEYOND)}
    cells = [row.cells[name] for rows in found.values() for row in rows for name in row.cells if name in columns]
    assert len(cells) > 800 and all(cell.text in text for cell in cells)


def test_no_mark_of_the_reference_is_on_a_row_below_the_floor() -> None:
    """And none on a distance of a row that is less correct than the best."""
    means, marked = stored_means(), 0
    for dataset, rows in layout(Results((REFERENCE,))).items():
        for row in rows:
            for metric, cell in row.cells.items():
                if cell.mark in ("best", "second") and metric not in ("correctness", "fidelity"):
                    marked += 1
                    least = 0.995 if metric in ("ged", "sparsity", "ged_on_success", "optimality_gap") else 0.9
                    assert means[dataset, row.method, row.variant, "correctness"] >= least - 5e-4, (row.label, metric)
    assert marked > 20


def test_html_has_the_stored_numbers_and_their_intervals() -> None:
    page = HtmlReader(tables.html("table1", Results((REFERENCE,))))
    assert {"col", "row"} <= page.scopes
    ours = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])
    ours = ours.loc[("asd", "rsgg-ce", "released", "ged")]
    rows = [row for row in page.rows if row[0][2] == "RSGG-CE, as released" and len(row) == 10]
    ged = [row[3] for row in rows if row[3][2].startswith(f"{ours['mean']:.3f}")]
    assert len(ged) == 1 and ged[0][2].endswith("✓")
    assert ged[0][1].startswith(f"95 % interval {ours['ci_low']:.3f} to {ours['ci_high']:.3f}. Reproduced: ")


def test_latex_is_balanced_and_has_a_table_per_data_set() -> None:
    tex = tables.latex("table1", Results((REFERENCE,)))
    assert_balanced(tex)
    assert tex.count(r"\begin{table*}") == tex.count(r"\toprule")
    assert tex.count(r"\label{tab:table1-") == len(layout(Results((REFERENCE,))))
    assert r"CF$^2$, as released" in tex and r"\textbf{" in tex and r"\underline{" in tex


def test_every_verdict_has_its_reason_and_explanation() -> None:
    text = tables.markdown("table1", Results((REFERENCE,)))
    table = pd.read_csv(REFERENCE / "table1.csv").dropna(subset=["verdict"])
    assert len(table) > 100 and all(reason in text for reason in table["reason"])
    assert "The oracle's accuracy on the data, the same whatever the method." in text


def test_rows_and_data_sets_have_the_names_of_the_registry() -> None:
    for rows in layout(Results((REFERENCE,))).values():
        for row in rows:
            of_paper = f"{methods.label(row.method)}, printed"
            assert row.label == (of_paper if row.variant == "paper" else methods.label(row.method, row.variant))
    titles = {sheet.title for sheet in tables.sheets("table1", Results((REFERENCE,)))}
    assert titles == {f"Table 1 on {task.title}" for task in tasks.of_paper()}


# -- While it fills --------------------------------------------------------------------------------------


def test_the_live_table_shows_how_many_folds_are_in_and_the_printed_value() -> None:
    index = pd.MultiIndex.from_tuples([("tree-cycles", "cf2", "released"), ("tree-cycles", "obs", "search")])
    means = pd.DataFrame(
        {"ged": [27.5, 1.0], "correctness": [0.5, 1.0], "runtime": [0.1, 0.2], "folds": [7, 3]}, index=index
    )
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(tables.live(means))
    text = console.export_text()
    assert re.search(r"CF², as released\s+7\s", text) and "27.500 [27.564]" in text
    assert "OBS" not in text, "the paper's rows only, while it fills"
    console.print(tables.live(means.iloc[:0]))
