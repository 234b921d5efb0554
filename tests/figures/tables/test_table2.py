"""Real data as tables: marks follow the rules, no control is ranked without a word, and the leaderboard is in order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.registry import methods
from benchmarks.registry.rules import AS_CORRECT_AS_THE_BEST, CORRECTNESS_FLOOR, NOT_SANITISED
from benchmarks.results import leaderboard
from benchmarks.results.reader import Results
from benchmarks.results.summary import ALL_TASKS
from figures import tables
from figures.tables import table2 as module
from figures.tables.sheet import Sheet
from tests.figures.tables.reading import HtmlReader, assert_balanced, pipe_rows

ROWS = [("rsgg-ce-certified", "beyond"), ("obs", "search"), ("obs-min", "search"), ("dce", "search"),
        ("empty", "control"), ("identity", "control")]  # fmt: skip
TASKS = ("aids-gcn", "mutag-gin")
METRICS = [one.metric for one in module.OVERVIEWS]


def write(folder: Path, values: dict[tuple[str, str, str], float]) -> Results:
    """A table in which all values are .95 but for these, by task, method and metric."""
    lines = [
        {"task": task, "method": method, "variant": variant, "metric": metric, "ci_low": 0, "ci_high": 1, "n": 60,
         "mean": values.get((task, method, metric), 0.95)}
        for task in TASKS
        for method, variant in ROWS
        for metric in (*METRICS, "area_over_ged", "plausibility_unedited")
    ]  # fmt: skip
    table = pd.DataFrame(lines)
    table.to_csv(folder / "table2.csv", index=False)
    kinds = table[["task", "method", "variant"]].drop_duplicates()
    finds = ["finds explanations", "finds adversarial examples", "finds little"] * 4
    kinds.assign(finds=finds).to_csv(folder / "table2_kinds.csv", index=False)
    leaderboard.joined(table).to_csv(folder / "leaderboard.csv", index=False)
    return Results((folder,))


def sheet(results: Results, metric: str, *, everything: bool = False) -> Sheet:
    (found,) = [one for one in module.overview(results, everything=everything) if one.name == f"table2-{metric}"]
    return found


def cell(found: Sheet, row: tuple[str, str], task: int) -> tuple[str, str]:
    (line,) = [line for line in found.rows if line[0].text.split(" ∇")[0] == methods.label(*row)]
    return line[1 + task].text, line[1 + task].mark


def test_a_control_that_leads_has_no_mark_and_is_named(tmp_path: Path) -> None:
    better = {("mutag-gin", "empty", "correctness"): 1.0, ("mutag-gin", "obs", "correctness"): 0.99}
    found = sheet(write(tmp_path, better), "correctness")
    assert cell(found, ("empty", "control"), 1) == ("1.000", "") and cell(found, ("obs", "search"), 1)[1] == "best"
    assert found.notes[1] == "MUTAG, GIN: no row is better than the control Empty graph."
    assert found.notes[0] == "AIDS: no row is better than the control Empty graph, nor than Identity.", "all are equal"
    assert found.groups[-1].heading == module.CONTROLS
    assert [line[0].text for line in found.groups[-1].rows] == ["Empty graph", "Identity"]


def test_the_sheet_of_a_task_says_by_which_of_all_metrics_a_control_leads(tmp_path: Path) -> None:
    behind = {(task, "identity", "correctness"): 0.5 for task in TASKS}
    behind |= {("mutag-gin", "empty", name): 0.5 for name in METRICS} | {("mutag-gin", "empty", "correctness"): 0.95}
    results = write(tmp_path, behind | {("mutag-gin", "empty", "area_over_ged"): 0.97})
    said = {one.name: " ".join(one.notes) for one in module.per_task(results)}
    assert "No row is better than the control Empty graph by Validity, " in said["table2-mutag-gin"]
    assert "Area over GED" in said["table2-mutag-gin"] and "control Identity" not in said["table2-mutag-gin"]
    lower = pd.read_csv(tmp_path / "table2.csv").replace({"area_over_ged": "mmd_degree"})  # of which less is better
    lower.to_csv(tmp_path / "table2.csv", index=False)
    said = {one.name: " ".join(one.notes) for one in module.per_task(Results((tmp_path,)))}
    assert "MMD², degrees" not in said["table2-mutag-gin"]


def test_a_control_that_is_behind_is_not_named(tmp_path: Path) -> None:
    values = {(task, method, "correctness"): 0.5 for task in TASKS for method in ("empty", "identity")}
    found = sheet(write(tmp_path, values), "correctness")
    assert found.notes == [] and cell(found, ("obs", "search"), 0)[1] == "", "all that are ranked are equal"


def test_where_the_nearest_data_graph_is_best_the_table_says_that_it_is_a_real_graph(tmp_path: Path) -> None:
    values = {(task, method, "plausibility"): 0.2 for task in TASKS for method, _ in ROWS}
    results = write(tmp_path, values | {("mutag-gin", "dce", "plausibility"): 0.9})
    found = sheet(results, "plausibility")
    assert cell(found, module.REAL_GRAPHS, 1) == ("0.900", "best")
    (note,) = [note for note in found.notes if "real graph" in note]
    assert note.startswith("MUTAG, GIN: none is better than Nearest data graph (DCE), which returns a real graph")
    assert not any("real graph" in note for note in sheet(results, "correctness").notes)
    of_task = {one.name: [note for note in one.notes if "real graph" in note] for one in module.per_task(results)}
    assert of_task["table2-aids-gcn"] == [] and of_task["table2-mutag-gin"] == [
        f"By Plausibility none is better than Nearest data graph (DCE), {module.ABOUT_REAL_GRAPHS}"
    ]


def test_a_share_of_feasible_results_over_fewer_rules_is_marked_wherever_it_stands(tmp_path: Path) -> None:
    """On AIDS, of which one row has results that RDKit was shown; half of those of a second, none of a third."""
    results = write(tmp_path, {})
    table = pd.read_csv(tmp_path / "table2.csv")
    asked = {("aids-gcn", "rsgg-ce-certified"): 60, ("aids-gcn", "obs"): 30}
    shown = [
        {**one, "metric": "sanitised", "n": asked[one["task"], one["method"]]}
        for one in table[table["metric"] == "feasible"].to_dict("records")
        if (one["task"], one["method"]) in asked
    ]
    pd.concat([table, pd.DataFrame(shown)]).to_csv(tmp_path / "table2.csv", index=False)
    results = Results((tmp_path,))
    overview, sign = sheet(results, "feasible"), NOT_SANITISED
    assert cell(overview, ("rsgg-ce-certified", "beyond"), 0)[0] == "0.950"
    assert cell(overview, ("obs", "search"), 0)[0] == cell(overview, ("dce", "search"), 0)[0] == f"0.950{sign}"
    assert cell(overview, ("obs", "search"), 1)[0] == "0.950", "no molecules, no rule that is left out"
    assert module.FEWER_RULES in overview.notes and module.FEWER_RULES not in sheet(results, "plausibility").notes
    aids, mutag = module.per_task(results)
    at = list(aids.headings).index("Feasible ↑")
    assert {line[0].text: line[at].text for line in aids.rows}["OBS"] == f"0.950{sign}"
    assert module.FEWER_RULES in aids.notes and not any(sign in line[at].text for line in mutag.rows)
    (board,) = tables.sheets("leaderboard", results, everything=True)
    at = list(board.headings).index("Feasible ↑")
    marked = [[line[0].text for line in group.rows if sign in line[at].text] for group in board.groups]
    assert marked[1] == [] and set(marked[0]) == {methods.label(*row) for row in ROWS[1:]}
    assert r"0.950$^\circ$" in tables.latex("table2", results)


def test_few_edits_for_few_graphs_are_no_merit(tmp_path: Path) -> None:
    values = {
        ("aids-gcn", "obs", "ged_on_success"): 0.1,
        ("aids-gcn", "obs", "correctness"): 0.95 - 2 * AS_CORRECT_AS_THE_BEST,
        ("aids-gcn", "dce", "ged_on_success"): 0.4, ("aids-gcn", "dce", "explain_calls"): 0.2,
        ("mutag-gin", "dce", "correctness"): CORRECTNESS_FLOOR - 0.1, ("mutag-gin", "dce", "plausibility"): 1.0,
        ("mutag-gin", "obs", "plausibility"): 0.96,
    }  # fmt: skip
    results = write(tmp_path, values)
    edits, calls, plausible = (sheet(results, name) for name in ("ged_on_success", "explain_calls", "plausibility"))
    assert cell(edits, ("obs", "search"), 0) == ("0.10", "") and cell(edits, ("dce", "search"), 0) == ("0.40", "best")
    assert cell(edits, ("rsgg-ce-certified", "beyond"), 0)[1] == "second"
    assert cell(calls, ("dce", "search"), 0) == ("0.2", "best")
    assert cell(plausible, ("dce", "search"), 1) == ("1.000", "") and cell(plausible, ("obs", "search"), 1)[1] == "best"


@pytest.mark.parametrize("seed", range(20))
def test_marks_are_those_of_a_plain_search(seed: int) -> None:
    """Brute force over random tables: the best and second best shown value of those that may compete."""
    rng = np.random.default_rng(seed)
    lines = pd.DataFrame(
        [
            {"method": method, "variant": variant, "metric": metric, "mean": rng.integers(85, 101) / 100}
            for method, variant in ROWS
            for metric in METRICS
        ]
    )
    by = lines.set_index(["method", "variant", "metric"])["mean"]
    for one in module.OVERVIEWS:
        marks, sign = module.ranked(lines, one), 1 if one.more_is_better else -1
        best_validity = max(by[(*row, "correctness")] for row in ROWS if row[1] != "control")
        least = {"correctness": 0.0, "ged_on_success": best_validity - AS_CORRECT_AS_THE_BEST}.get(
            one.metric, CORRECTNESS_FLOOR
        )
        may = [row for row in ROWS if by[(*row, "correctness")] >= least - 1e-9]
        value = {row: sign * float(f"{by[(*row, one.metric)]:.{one.decimals}f}") for row in may}
        rows = {row: value[row] for row in may if row[1] != "control"}
        for row in ROWS:
            better = {other for other in rows.values() if row in value and other > value[row]}
            if row[1] == "control":
                assert (marks.get(row) == "best") == (row in value and not better)
            elif len(set(rows.values())) > 1 and row in rows:
                assert marks[row] == ("best", "second", "")[min(2, len(better))]
            else:
                assert marks.get(row, "") == ""


def test_what_each_row_finds_is_counted(tmp_path: Path) -> None:
    found = sheet(write(tmp_path, {}), "kinds", everything=True)
    assert cell(found, ("rsgg-ce-certified", "beyond"), 0)[0] == "2 / 0 / 0"
    assert cell(found, ("obs", "search"), 2)[0] == "adversarial" and len(found.rows) == len(ROWS)
    assert len(sheet(write(tmp_path, {}), "kinds").rows) == len(ROWS) - 1, "rows + min are shown with everything"
    assert not found.notes
    kinds = pd.read_csv(tmp_path / "table2_kinds.csv").replace("finds little", "not judged")
    kinds.to_csv(tmp_path / "table2_kinds.csv", index=False)
    assert sheet(Results((tmp_path,)), "kinds").notes == [module.NOT_JUDGED]


def test_of_comparisons_those_over_all_tasks_are_seen_first_with_the_floor_of_the_others(tmp_path: Path) -> None:
    whose = {"method": "rsgg-ce-certified", "variant": "beyond", "against_method": "obs", "against_variant": "search"}
    lines = [
        {"dataset": name, "question": "q", "metric": "ged", **whose, "clusters": clusters, "difference": -1, "p": 0.1,
         "ci_low": -2, "ci_high": 1, "p_holm": 1.0, "rank_biserial": -0.5}
        for name, clusters in (("aids-gcn", 5), (ALL_TASKS, 55))
    ]  # fmt: skip
    pd.DataFrame(lines).to_csv(tmp_path / "table2_comparisons.csv", index=False)
    (first,) = tables.sheets("table2_comparisons", Results((tmp_path,)))
    assert [group.heading for group in first.groups] == ["all tasks, q, GED"] and "no p below .0625" in first.caption
    assert [cell.text for cell in first.rows[0]][:3] == [methods.label(*ROWS[0]), "OBS", "55"]
    (every,) = tables.sheets("table2_comparisons", Results((tmp_path,)), everything=True)
    assert [group.heading for group in every.groups] == ["AIDS, q, GED", "all tasks, q, GED"]
    pd.DataFrame(lines[:1]).to_csv(tmp_path / "table2_comparisons.csv", index=False)
    (alone,) = tables.sheets("table2_comparisons", Results((tmp_path,)))
    assert len(alone.rows) == 1, "of one task there is nothing over all"


def test_all_formats_are_written_and_hold_every_task(tmp_path: Path) -> None:
    results = write(tmp_path, {})
    for name in ("table2", "leaderboard"):
        assert_balanced(tables.latex(name, results))
        HtmlReader(tables.html(name, results))
        text = tables.markdown(name, results)
        assert pipe_rows(text) and "AIDS" in text and "MUTAG, GIN" in text
    built = tables.sheets("table2", results, everything=True)
    assert len({one.name for one in built}) == len(built) == 1 + len(METRICS) + 1 + len(TASKS)


def test_the_leaderboard_gives_controls_no_rank(tmp_path: Path) -> None:
    values = {("aids-gcn", "empty", "correctness"): 1.0, ("aids-gcn", "dce", "ged_on_success"): 0.5}
    results = write(tmp_path, values)
    (found,) = tables.sheets("leaderboard", results, everything=True)
    first = [(line[0].text, line[1].text) for line in found.groups[0].rows]
    assert first[0] == ("Empty graph", "control") and first[1] == ("Nearest data graph (DCE)", "1")
    assert [rank for _, rank in first if rank != "control"] == ["1", "2", "3", "4"]


def test_without_results_a_sentence_says_how_to_get_them(tmp_path: Path) -> None:
    for name in ("table2", "leaderboard"):
        assert "./reproduce.sh table2 computes it" in tables.markdown(name, Results((tmp_path,)))
