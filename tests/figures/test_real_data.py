"""Figures of real data: what is drawn is what the table says, and a table that is not there is said."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from scipy.stats import rankdata

from benchmarks.registry import methods, tasks
from benchmarks.results.reader import Results
from figures import real_data
from figures.figure import Drawn

ROWS = [("rsgg-ce-certified", "beyond"), ("two-sided-min", "search"), ("obs", "search"), ("empty", "control")]
TASKS = [entry.name for entry in tasks.LEARNT[:5]]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    metrics = ("correctness", "plausibility", "plausibility_unedited", "area_over_ged")
    lines = [
        {"task": task, "method": method, "variant": variant, "metric": metric, "mean": (rng.random() + (i == 0)) / 2}
        for task in TASKS
        for i, (method, variant) in enumerate([*ROWS, ("obs-min", "search"), ("identity", "control")])
        for metric in metrics
    ]  # fmt: skip
    return pd.DataFrame(lines).assign(ci_low=0.0, ci_high=1.0, n=60)


@pytest.fixture(scope="module")
def drawn(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Drawn]:
    folder = tmp_path_factory.mktemp("results")
    table.to_csv(folder / "table2.csv", index=False)
    return {one.name: one for one in real_data.draw(Results((folder,)))}


def test_a_panel_per_task_has_every_row_at_its_place(drawn: dict[str, Drawn], table: pd.DataFrame) -> None:
    axes = [axis for axis in drawn["plausibility"].figure.axes if axis.get_visible()]
    assert [axis.get_title() for axis in axes] == [tasks.label(task) for task in TASKS]
    wide = table.pivot_table(index=["task", "method"], columns="metric", values="mean")
    for axis, task in zip(axes, TASKS, strict=True):
        drawn_at = [np.asarray(one.get_xydata()) for one in axis.lines]
        points = {(float(at[0, 0]), float(at[0, 1])) for at in drawn_at if len(at) == 1}
        expected = {tuple(wide.loc[(task, name), ["correctness", "plausibility"]]) for name, _ in ROWS}
        assert points == expected, "rows + min and the identity are left out"


def test_the_lowest_panel_of_every_column_has_numbers_below_it(tmp_path: Path, table: pd.DataFrame) -> None:
    names = ["aids-gcn", "mutag-gin", "mutag-gcn", "nci1-gcn", "enzymes-gin"]
    five = pd.concat(table[table["task"] == TASKS[0]].assign(task=name) for name in names)
    five.to_csv(tmp_path / "table2.csv", index=False)
    (planes, _) = real_data.draw(Results((tmp_path,)))
    shown = [axis for axis in planes.figure.axes if axis.get_visible()]
    planes.figure.draw_without_rendering()
    numbered = [any(label.get_visible() and label.get_text() for label in axis.get_xticklabels()) for axis in shown]
    assert numbered == [False, True, True, True, True]
    assert [bool(axis.get_xlabel()) for axis in shown] == numbered
    plt.close("all")


def test_no_mark_lies_outside_its_panel(tmp_path: Path, table: pd.DataFrame) -> None:
    """A real graph of the other class is as plausible as can be; an empty one may have no plausibility at all."""
    extreme = table.assign(mean=np.where(table["method"] == "obs", 1.0, 0.0))
    extreme.to_csv(tmp_path / "table2.csv", index=False)
    (planes, _) = real_data.draw(Results((tmp_path,)))
    for axis in (axis for axis in planes.figure.axes if axis.get_visible()):
        (low, high), inside = axis.get_ylim(), axis.get_window_extent()
        assert low < 0 and high > 1
        for mark in (line for line in axis.lines if len(np.asarray(line.get_xydata())) == 1):
            x, y = axis.transData.transform(np.asarray(mark.get_xydata()))[0]
            assert inside.contains(x, y)
    plt.close("all")


def test_ranks_are_those_of_scipy(table: pd.DataFrame, drawn: dict[str, Drawn]) -> None:
    values = real_data.means_of(table)["area_over_ged"].unstack("task")
    expected = np.mean([rankdata(-values[task]) for task in values], axis=0)
    assert real_data.mean_ranks(values).to_numpy() == pytest.approx(expected)
    words = " ".join(text.get_text() for text in drawn["critical_difference"].figure.findobj(Text))
    assert all(methods.label(*row) in words for row in ROWS) and f"({expected.min():.1f})" in words


def test_what_is_not_stored_is_said(tmp_path: Path) -> None:
    for one in real_data.draw(Results((tmp_path,))):
        assert one.missing == ("table2.csv, which ./reproduce.sh table2 computes",)
    plt.close("all")
