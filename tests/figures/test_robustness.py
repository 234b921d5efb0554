"""The figure of robustness: marks at the means of the table, hollow where nobody was told; what is missing is said."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.lines import Line2D
from matplotlib.text import Text

from benchmarks.registry import methods, tasks
from benchmarks.results.reader import Results
from figures import robustness
from figures.figure import Drawn

ROWS = [("rsgg-ce-certified", "beyond"), ("obs", "search"), ("empty", "control")]
TASKS = [entry.name for entry in tasks.LEARNT[:3]]
METRICS = [*robustness.PANELS, *robustness.AGREEMENT.values(), "told_frozen"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    lines = [
        {"task": task, "method": row[0], "variant": row[1], "metric": metric, "mean": rng.random()}
        for task in TASKS
        for row in ROWS
        for metric in METRICS
        if (task, row[0]) != (TASKS[1], "obs") and not (row[0] == "empty" and metric.startswith("robust"))
    ]
    made = pd.DataFrame(lines).assign(ci_low=0.0, ci_high=1.0, n=30)
    told = made["metric"] == "told_frozen"
    made.loc[told, "mean"] = (made.loc[told, "method"] != "empty").astype(float)
    return made


@pytest.fixture(scope="module")
def drawn(table: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Drawn:
    folder = tmp_path_factory.mktemp("results")
    table.to_csv(folder / "robustness.csv", index=False)
    (one,) = robustness.draw(Results((folder,)))
    return one


def lines_at(drawn: Drawn, panel: int, y: int, marker: str) -> list[Line2D]:
    axis = drawn.figure.axes[panel]
    return [line for line in axis.lines if line.get_marker() == marker and np.all(np.asarray(line.get_ydata()) == y)]


def test_marks_stand_at_the_means_over_tasks_and_strokes_at_the_tasks(drawn: Drawn, table: pd.DataFrame) -> None:
    assert [label.get_text() for label in drawn.figure.axes[0].get_yticklabels()] == [methods.label(*r) for r in ROWS]
    for panel, metric in enumerate(robustness.PANELS):
        for y, row in enumerate(ROWS):
            values = table[(table["method"] == row[0]) & (table["metric"] == metric)]["mean"].to_numpy()
            marks, strokes = lines_at(drawn, panel, y, "o"), lines_at(drawn, panel, y, "|")
            if not len(values):
                assert not marks and not strokes
                continue
            assert np.asarray(marks[0].get_xdata()).tolist() == pytest.approx([values.sum() / len(values)])
            assert sorted(np.asarray(strokes[0].get_xdata()).tolist()) == pytest.approx(sorted(values))
            hollow = metric == "actionable" and row[0] == "empty"
            assert (marks[0].get_markerfacecolor() == "white") == hollow


def test_the_dashed_line_is_the_agreement_of_copies_with_the_oracle(drawn: Drawn, table: pd.DataFrame) -> None:
    for panel, metric in enumerate(robustness.PANELS):
        dashed = [line for line in drawn.figure.axes[panel].lines if line.get_linestyle() == "--"]
        assert len(dashed) == (metric in robustness.AGREEMENT)
        if dashed:
            own = table[table["metric"] == robustness.AGREEMENT[metric]]
            expected = np.mean([own[own["task"] == task]["mean"].mean() for task in TASKS])
            assert np.asarray(dashed[0].get_xdata()).tolist() == pytest.approx([expected] * 2)


def test_the_picture_says_what_it_lacks(drawn: Drawn) -> None:
    absent = " / ".join(tasks.label(entry.name) for entry in tasks.LEARNT[3:])
    assert drawn.missing == (
        f"nothing is stored of {absent}",
        f"{tasks.label(TASKS[1])}: {methods.label('obs', 'search')}",
    )
    words = [text.get_text() for text in drawn.figure.findobj(Text)]
    assert words.count("none") == 3, "of the empty graph nothing was valid"


def test_without_a_table_nothing_fails(tmp_path: Path) -> None:
    (one,) = robustness.draw(Results((tmp_path,)))
    assert one.missing == ("robustness.csv, which ./reproduce.sh robustness computes",)
    plt.close("all")
