"""The figure of noise: a curve per row through the means of the table, an interval around it, and what is missing."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from benchmarks.registry import tasks
from benchmarks.results.reader import Results
from figures import noise, style

ROWS = [("rcexplainer", "faithful"), ("edge-gradient", "control")]
TASKS = ["mutagenicity-gcn", "ba-2motifs-gin"]


def test_curves_pass_through_the_means(tmp_path: Path) -> None:
    lines = [
        {
            "task": task,
            "method": m,
            "variant": v,
            "noise": share,
            "auc": 0.9 - share - 0.1 * i,
            "ci_low": 0.2,
            "ci_high": 1,
        }
        for task in TASKS
        for i, (m, v) in enumerate(ROWS)
        for share in (0.3, 0.0, 0.1)
    ]
    pd.DataFrame(lines).assign(n=60).to_csv(tmp_path / "noise.csv", index=False)
    (drawn,) = noise.draw(Results((tmp_path,)))
    assert [axis.get_title() for axis in drawn.figure.axes] == [tasks.label(task) for task in TASKS]
    for axis in drawn.figure.axes:
        *curves, chance = axis.lines
        assert np.array(chance.get_ydata()).tolist() == [0.5, 0.5] and len(axis.collections) == 2
        for i, curve in enumerate(curves):
            assert np.array(curve.get_xdata()).tolist() == [0, 10, 30]
            assert np.array(curve.get_ydata()).tolist() == pytest.approx([0.9 - 0.1 * i, 0.8 - 0.1 * i, 0.6 - 0.1 * i])
        assert [curve.get_linestyle() for curve in curves] == ["-", ":"], "a control may have the colour of its method"
    assert not drawn.missing
    plt.close(drawn.figure)


def test_as_many_tasks_as_the_paper_has_fit_a_page(tmp_path: Path) -> None:
    three = [*TASKS, "nci1-gcn"]
    table = pd.DataFrame({"task": three, "method": "rcexplainer", "variant": "faithful", "noise": 0.1, "auc": 0.9})
    table.assign(ci_low=0.8, ci_high=1, n=60).to_csv(tmp_path / "noise.csv", index=False)
    (drawn,) = noise.draw(Results((tmp_path,)))
    assert drawn.figure.get_figwidth() == style.PAGE
    plt.close(drawn.figure)


def test_without_a_table_it_says_what_computes_it(tmp_path: Path) -> None:
    (drawn,) = noise.draw(Results((tmp_path,)))
    assert drawn.missing == ("noise.csv, which ./reproduce.sh noise computes",)
    plt.close(drawn.figure)
