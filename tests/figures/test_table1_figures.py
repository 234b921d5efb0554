"""Figures of Table 1 draw what is stored: points, curves, fronts and marks are checked against numbers made by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D
from matplotlib.text import Text

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import rows as registered
from benchmarks.results.reader import Results
from figures import break_even, budget, figure, paired, pareto, per_class, style, tradeoff
from figures.figure import Draw


@pytest.fixture(autouse=True)
def _style() -> Iterator[None]:
    style.use()
    yield
    plt.close("all")


def ledger() -> pd.DataFrame:
    """Two folds of two and of one graph; one graph of the first is not explained."""
    return pd.DataFrame(
        {
            "candidate": 0,
            "fold": [0, 0, 1],
            "predicted": [0, 1, 1],
            "predicted_cf": [1, 1, 0],
            "calls": [3, 9, 5],
            "fit_calls": [20, 20, 7],
            "test_size": [2, 2, 1],
        }
    )


def rows(values: dict[tuple[str, str], dict[str, float]], dataset: str = "tree-cycles") -> pd.DataFrame:
    """A stored Table 1 with these means: 500 graphs in ten folds, 300 of them of class 0."""
    lines = [
        {"dataset": dataset, "method": method, "variant": variant, "metric": metric, "mean": mean}
        for (method, variant), means in values.items()
        for metric, mean in means.items()
    ]
    n = {"correctness_class_0": 300, "correctness_class_1": 200}
    table = pd.DataFrame(lines)
    return table.assign(
        ci_low=table["mean"], ci_high=table["mean"], folds=10, n=[n.get(m, 500) for m in table["metric"]]
    )


def stored(folder: Path, **tables: pd.DataFrame) -> Results:
    for name, table in tables.items():
        table.to_csv(folder / f"{name}.csv", index=False)
    return Results((folder,))


# -- Tradeoff ----------------------------------------------------------------------------------------------


def at(mark: Any) -> tuple[float, float]:
    """Where a mark of one point stands, of error bars the mark itself."""
    line: Any = mark if isinstance(mark, Line2D) else mark.lines[0]
    return float(line.get_xdata()[0]), float(line.get_ydata()[0])


def test_tradeoff_puts_rows_where_the_numbers_are(tmp_path: Path) -> None:
    """GED on success over GED* of the same graphs; what is printed over GED* of all graphs, where that is known."""
    best = {"ged_on_success": 1.25, "correctness": 1.0, "optimum_on_success": 1.25}
    ours = {"ged": 1.8, "ged_on_success": 2.5, "correctness": 0.9, "optimum_on_success": 1.25}
    table = rows({("rsgg-ce", "faithful"): ours, ("optimum", "control"): best})
    of_meg = {"ged": 80.0, "ged_on_success": 160.0, "correctness": 0.5, "optimum_on_success": 1.0}
    on_32 = rows({("meg", "released"): of_meg}, "tree-cycles-32")
    asd = rows({("cf2", "released"): {"ged": 240.0, "ged_on_success": 600.0, "correctness": 0.4}}, "asd")
    (drawn,) = tradeoff.draw(stored(tmp_path, table1=pd.concat((table, on_32, asd))))
    tree_cycles, of_asd = drawn.figure.axes
    assert [at(bars) for bars in tree_cycles.containers] == [(160.0, 0.5), (2.0, 0.9), (1.0, 1.0)]
    assert (11.0 / 1.25, 0.885) in {at(line) for line in tree_cycles.lines if line.get_markerfacecolor() == "none"}
    assert [at(bars) for bars in of_asd.containers] == [(600.0, 0.4)]
    assert "edits needed" in tree_cycles.get_xlabel() and "GED* is not known" in of_asd.get_xlabel()
    printed = {at(line) for line in of_asd.lines if line.get_markerfacecolor() == "none"}
    assert printed == {(655.661, 0.463), (1479.114, 0.554), (3183.729, 0.529), (234.853, 0.603)}  # MEG has no ASD row
    tree_cycles_misses, asd_misses = (sentence.partition(": ")[2].split(" / ") for sentence in drawn.missing)
    assert "CF²" in tree_cycles_misses and "RSGG-CE, by score function" not in tree_cycles_misses
    assert "RSGG-CE, by score function" in asd_misses and "MEG, as released" not in asd_misses, (
        "that row is not defined"
    )
    assert "MEG, as released is shown on Tree-Cycles, 32 nodes" in drawn.caption
    assert "nothing lies left of 1" in drawn.caption and "at the printed GED over the mean GED*" in drawn.caption


def test_nothing_lies_left_of_the_optimum_by_explaining_easy_graphs_only(tmp_path: Path) -> None:
    table = rows(
        {
            ("optimum", "control"): {"ged_on_success": 1.06, "correctness": 1.0, "optimum_on_success": 1.06},
            ("meg", "faithful"): {"ged_on_success": 1.01, "correctness": 0.94, "optimum_on_success": 1.01},
            ("cf2", "faithful"): {"ged_on_success": 5.0, "correctness": 0.1, "optimum_on_success": 1.0},
        }
    )
    (drawn,) = tradeoff.draw(stored(tmp_path, table1=table))
    assert min(at(bars)[0] for bars in drawn.figure.axes[0].containers) == 1.0
    assert [at(bars)[0] for bars in drawn.figure.axes[0].containers if at(bars)[1] < 0.5] == [5.0]


# -- A user's own rows and tasks ---------------------------------------------------------------------------

EVERYTHING = {
    "ged": 3.0, "correctness": 0.8, "correctness_class_0": 0.7, "correctness_class_1": 0.9, "ged_on_success": 3.0,
    "explain_calls": 5.0, "fit_calls": 0.0,
}  # fmt: skip


@pytest.mark.parametrize("draw", [tradeoff.draw, pareto.draw, per_class.draw])
def test_a_row_and_a_task_that_the_registry_does_not_know_are_shown(draw: Draw, tmp_path: Path) -> None:
    table = rows({("mine", "own"): EVERYTHING, ("rsgg-ce", "faithful"): EVERYTHING})
    *_, drawn = draw(stored(tmp_path, table1=pd.concat((table, table.assign(dataset="my-task")))))
    titles = [axis.get_title() for axis in drawn.figure.axes]
    assert titles[:2] == ["Tree-Cycles (28 nodes)", "my-task"]
    drawn.figure.canvas.draw()
    named = [text.get_text() for legend in drawn.figure.legends for text in legend.get_texts()]
    named += [text.get_text() for text in drawn.figure.axes[0].get_yticklabels()]
    assert "mine (own)" in named
    assert not any("mine" in sentence or "my-task" in sentence for sentence in drawn.missing)
    assert "ASD: nothing is stored" in drawn.missing


def test_budget_and_paired_show_a_user_s_own_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = rows({("mine", "own"): EVERYTHING}, "my-task")
    monkeypatch.setattr(
        Results, "ledger", lambda _, *row: ledger() if row == ("my-task", "mine", "own") else pd.DataFrame()
    )
    (drawn,) = budget.draw(stored(tmp_path, table1=table))
    assert drawn.figure.axes[0].get_title() == "my-task"
    assert drawn.figure.axes[0].get_legend_handles_labels()[1] == ["mine (own)"]
    comparison = compared("mine", 0.1, 0.2, 0.01) | {"against_variant": "own", "dataset": "my-task"}
    *_, drawn = paired.draw(stored(tmp_path, comparisons=pd.DataFrame([comparison])))
    assert drawn.figure.axes[0].get_title().startswith("my-task")
    assert [text.get_text() for text in drawn.figure.axes[0].get_yticklabels()][-1] == "mine (own)"


# -- Budget ------------------------------------------------------------------------------------------------


def test_budget_counts_a_graph_from_its_last_call_on() -> None:
    budgets, correctness = budget.curve(ledger())
    assert budgets.tolist() == [3, 5]
    assert correctness.tolist() == [0.25, 0.75]  # half of the first fold, then all of the second one


def test_budget_shares_fitting_out_over_the_test_graphs() -> None:
    budgets, correctness = budget.curve(ledger(), with_fit=True)
    assert budgets.tolist() == [5 + 7 / 1, 3 + 20 / 2]
    assert correctness.tolist() == [0.5, 0.75]


def test_budget_of_a_method_that_explains_nothing_is_flat() -> None:
    none = ledger().assign(predicted_cf=[0, 1, 1])
    assert [values.tolist() for values in budget.curve(none)] == [[1.0], [0.0]]


def test_budget_ends_in_the_stored_correctness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stands_in(_: Results, dataset: str, method: str, variant: str) -> pd.DataFrame:
        known = dataset == "tree-cycles" and (method, variant) in (("rsgg-ce", "faithful"), ("optimum", "control"))
        return ledger() if known else pd.DataFrame()

    monkeypatch.setattr(Results, "ledger", stands_in)
    (drawn,) = budget.draw(Results((tmp_path,)))
    marks = [line for line in drawn.figure.axes[0].lines if line.get_marker() == "o"]
    assert [at(mark) for mark in marks] == [(5, 0.75), (13, 0.75)]
    assert (
        "RSGG-CE, by score function reaches 0.750 with at most 5 calls per graph, 13 with its share of fitting."
        in drawn.caption
    )
    assert len(drawn.missing) == 2 and "CF²" in drawn.missing[0] and drawn.missing[1].endswith("nothing is stored")


# -- Pareto ------------------------------------------------------------------------------------------------


def test_undominated_agrees_with_the_definition() -> None:
    points = np.random.default_rng(0).integers(0, 4, size=(40, 3))
    by_definition = [not any(all(q <= p) and any(q < p) for q in points) for p in points]
    assert pareto.undominated(points).tolist() == by_definition
    assert 0 < sum(by_definition) < 40


def test_break_even_is_where_both_have_asked_equally_many(tmp_path: Path) -> None:
    at = break_even.break_even(fit=1700, explain=2.2, search=6.5)
    assert 1700 + 2.2 * at == pytest.approx(6.5 * at)
    assert break_even.break_even(fit=10, explain=7, search=6.5) == np.inf
    table = rows(
        {
            ("rsgg-ce-taught", "beyond"): {"fit_calls": 1700, "explain_calls": 2.2, "correctness": 1.0},
            ("rsgg-ce", "faithful"): {"fit_calls": 351_000, "explain_calls": 2.5, "correctness": 0.7},
            ("two-sided-min", "search"): {"fit_calls": 0, "explain_calls": 6.5, "correctness": 1.0},
        }
    )
    (drawn,) = break_even.draw(stored(tmp_path, table1=table))
    assert "RSGG-CE, taught breaks even at 396 graphs." in drawn.caption
    heights = [np.asarray(line.get_ydata()) for line in drawn.figure.axes[0].get_lines()]
    lines = [height for height in heights if len(height) > 1]
    assert len(lines) == 2, "few questions are no merit where little is explained"
    assert sorted(height[0] for height in lines) == pytest.approx([6.5, 1702.2])
    (legend,) = drawn.figure.legends
    marks = [handle.get_marker() for handle in legend.legend_handles if isinstance(handle, Line2D)]
    assert marks == [style.look(("rsgg-ce-taught", "beyond")).marker, ""], "a mark is where something is to be seen"


def test_pareto_rings_what_nothing_beats(tmp_path: Path) -> None:
    row = ("correctness", "ged_on_success", "explain_calls", "fit_calls")
    table = rows(
        {
            ("rsgg-ce", "faithful"): dict(zip(row, (0.9, 2, 3, 500), strict=True)),
            ("obs", "search"): dict(zip(row, (0.9, 2, 12, 0), strict=True)),
            ("optimum", "control"): dict(zip(row, (1.0, 1, 2, 0), strict=True)),
        }
    )
    table = table.assign(n=1500, replicates_shown=3)  # 50 graphs a fold
    *_, drawn = pareto.draw(stored(tmp_path, table1=table))
    tree_cycles, with_fit = drawn.figure.axes
    assert np.asarray(tree_cycles.collections[-1].get_offsets()).tolist() == [
        [3, 2]
    ]  # RSGG-CE needs fewer calls to explain …
    assert np.asarray(with_fit.collections[-1].get_offsets()).tolist() == [
        [12, 2]
    ]  # … but 3 + 500 / 50 = 13 with fitting
    assert "calls with fitting shared out: on the front are OBS." in drawn.caption


# -- Per class -----------------------------------------------------------------------------------------------


def test_per_class_shows_who_goes_one_way(tmp_path: Path) -> None:
    classes = ("correctness", "correctness_class_0", "correctness_class_1")
    table = rows(
        {
            ("cf2", "released"): dict(zip(classes, (0.4, 0.0, 1.0), strict=True)),
            ("rsgg-ce", "faithful"): dict(zip(classes, (0.9, 0.95, 0.85), strict=True)),
        }
    )
    assert per_class.shares(table) == [0.6, 0.4]
    *_, drawn = per_class.draw(stored(tmp_path, table1=table))
    assert "Tree-Cycles (28 nodes): one way go CF², as released." in drawn.caption
    strokes = [line for line in drawn.figure.axes[0].lines if line.get_marker() == "|"]
    assert [at(stroke)[0] for stroke in strokes] == [0.4, 0.9]
    assert "missing" in {text.get_text() for text in drawn.figure.axes[0].texts}
    assert not any("MEG, as released" in sentence for sentence in drawn.missing if sentence.startswith("ASD"))


def test_per_class_reads_the_printed_distribution() -> None:
    assert per_class.printed_distribution(Results().paper("datasets"), "asd") == [0.515, 0.485]


# -- Paired --------------------------------------------------------------------------------------------------


def compared(against: str, low: float, high: float, p_holm: float) -> dict[str, object]:
    return {
        "dataset": "asd", "question": paired.QUESTION, "metric": "correctness", "against_method": against,
        "against_variant": "search", "difference": (low + high) / 2, "ci_low": low, "ci_high": high, "p_holm": p_holm,
    }  # fmt: skip


def test_paired_is_clear_only_if_interval_and_test_agree(tmp_path: Path) -> None:
    table = pd.DataFrame(
        [
            compared("obs", 0.1, 0.2, 0.01),
            compared("ddbs", 0.1, 0.2, 0.2),
            compared("irand", -0.1, 0.2, 0.01),
            compared("dce", -0.4, -0.2, 0.01),
        ]
    )
    clear = paired.differences(table, "asd", "correctness", list(registered()))["clear"]
    assert {method: bool(is_clear) for (method, _), is_clear in clear.items()} == {
        "obs": True, "ddbs": False, "irand": False, "dce": True,
    }  # fmt: skip
    *_, drawn = paired.draw(stored(tmp_path, comparisons=table))
    assert "ASD, correctness: RSGG-CE is clearly higher than 1 of 4 rows and lower than 1." in drawn.caption


@pytest.mark.parametrize("draw", [pareto.draw, per_class.draw])
def test_a_paper_has_a_version_with_ten_rows(draw: Draw, tmp_path: Path) -> None:
    stored_rows = {row: EVERYTHING for row, one in methods.rows().items() if not one.unsupported("tree-cycles")}
    ten, everything = draw(stored(tmp_path, table1=rows({**stored_rows, ("mine", "own"): EVERYTHING})))
    assert everything.name == f"{ten.name}_all"
    labels = {style.look(row).label for row in (*methods.rows(), ("mine", "own"))}

    def named(drawn: figure.Drawn) -> set[str]:
        return labels & {text.get_text() for text in drawn.figure.findobj(Text) if isinstance(text, Text)}

    assert len(named(ten)) == 11 and named(ten) < named(everything) and "mine (own)" in named(ten)
    feasible = methods.label("rsgg-ce-feasible", "beyond")
    assert feasible in {label.split(" ∇")[0] for label in labels}
    assert feasible not in named(everything), "a row that no data set of this table has"


# -- What is missing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "absent"),
    [
        (budget.draw, "nothing is stored"),
        (pareto.draw, "table1.csv"),
        (per_class.draw, "table1.csv"),
        (paired.draw, "comparisons.csv"),
        (tradeoff.draw, "table1.csv"),
    ],
)
def test_figures_say_that_nothing_is_stored(draw: Draw, absent: str, tmp_path: Path) -> None:
    *_, drawn = draw(Results((tmp_path,)))
    drawn.figure.canvas.draw()
    assert drawn.missing and all(absent in sentence for sentence in drawn.missing)
    assert "from no file" in drawn.figure.get_suptitle()


def test_a_data_set_of_the_registry_that_is_not_the_papers_has_a_panel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions of the paper's data, such as renamed nodes, stand beside them in tables and have none."""
    more = replace(tasks.TREE_CYCLES, name="more-trees", label="More trees")
    monkeypatch.setattr(tasks, "TASKS", [*tasks.TASKS, more])
    names = ["asd", "more-trees", "tree-cycles-relabelled", "tree-cycles-32", "tree-cycles", "a-user-s"]
    shown = figure.tasks_in(pd.DataFrame({"dataset": names}))
    assert [task.name for task in shown] == ["tree-cycles", "asd", "more-trees", "a-user-s"]
