"""Beyond the paper: questions to the oracle in all, training included, for explaining m graphs.

    python figures/break_even.py [--results results/reference]

What is learnt in advance has to be paid for in advance: fit + m · explain questions. Against a search that learns
nothing (`SEARCH`) a method breaks even at m = fit / (what the search asks per graph - what the method asks per graph).
Only rows of a high Correctness are drawn: few questions are no merit where nothing is explained. From `table1.csv`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.registry.methods import Row
from benchmarks.registry.rules import CORRECTNESS_FLOOR
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

SEARCH: Row = ("two-sided-min", "search")
SHOWN: dict[Row, str] = {  # what can be told apart in one picture: the style of its line
    ("rsgg-ce-taught", "beyond"): "-", ("rsgg-ce-certified", "beyond"): "--", ("rsgg-ce", "faithful"): "-",
    ("rsgg-ce", "beyond"): "--", ("meg", "faithful"): "-", ("obs", "search"): ":", ("ddbs", "search"): "-.",
    SEARCH: "-",
}  # fmt: skip
TWINS: dict[Row, int] = {("rsgg-ce-certified", "beyond"): 1, ("rsgg-ce", "beyond"): 1}  # drawn apart from their like
APART = 1.5  # points
GRAPHS = np.logspace(0, 5, 60)
NEEDED = ("fit_calls", "explain_calls", "correctness")


def draw(results: Results) -> list[Drawn]:
    """Draw total questions against the number of explained graphs, from a stored Table 1."""
    table, missing = figure.table_of(results, "table1", figure.TABLE1)
    tasks = figure.tasks_in(table)
    drawing, axes = figure.panels(tasks, 1, 3.4, sharey=True)
    said, shown, marked = [], [], set()
    for axis, task in zip(axes[0], tasks, strict=True):
        costs = questions(table[table["dataset"] == task.name])
        shown += [row for row in costs.index if row not in shown]
        said += [f"{task.title}: {_panel(axis, costs)}."]
        marked |= {*meetings(costs)}
        axis.set(xscale="log", yscale="log", xlabel="graphs that are explained")
    axes[0, 0].set_ylabel("questions to the oracle, fitting included")
    handles = [
        style.handle(look.label, look.colour, SHOWN.get(row, "-"), look.marker if row in marked else "", ms=4)
        for row, look in ((row, style.look(row)) for row in figure.rows_in(table) if row in shown)
    ]
    style.legend_below(drawing, handles, 3, handlelength=4)  # dashes are told apart
    figure.heading(drawing, "What learning costs in advance, and when it has paid for itself", results)
    words = CAPTIONS["break_even"].format(search=style.look(SEARCH).label)
    return [Drawn("break_even", drawing, figure.caption(words, *said), missing=tuple(missing))]


def questions(table: pd.DataFrame) -> pd.DataFrame:
    """Questions to fit and to explain a graph (`fit`, `explain`) of the rows of a high Correctness on one data set."""
    means = table.pivot(index=["method", "variant"], columns="metric", values="mean").reindex(columns=list(NEEDED))
    good = means[means["correctness"] >= CORRECTNESS_FLOOR].dropna()
    wanted = [*SHOWN, *figure.own_rows(table)]
    good = good.loc[[row for row in wanted if row in good.index]]
    return good.rename(columns={"fit_calls": "fit", "explain_calls": "explain"})


def break_even(fit: float, explain: float, search: float) -> float:
    """How many graphs a method has to explain until it has asked no more than the search; infinite if never."""
    return fit / (search - explain) if explain < search else math.inf


def meetings(costs: pd.DataFrame) -> dict[Any, float]:
    """The rows that learn and meet the search in the picture, and at how many graphs."""
    search = costs["explain"].get(SEARCH, math.nan)
    points = {row: break_even(cost["fit"], cost["explain"], search) for row, cost in costs.iterrows() if cost["fit"]}
    return {row: at for row, at in points.items() if at <= GRAPHS[-1]}


def _panel(axis: Axes, costs: pd.DataFrame) -> str:
    """Draw a line per row, with a mark where it meets the search; returns these points in words."""
    met, said = meetings(costs), []
    for row, cost in costs.iterrows():
        look = style.look(row)
        line = axis.plot(GRAPHS, cost["fit"] + GRAPHS * cost["explain"], SHOWN.get(row, "-"), color=look.colour, lw=1.2)
        style.apart(line, axis, 0, APART * TWINS.get(row, 0))
        if row in met:
            asked = cost["fit"] + met[row] * cost["explain"]
            mark = axis.plot(met[row], asked, marker=look.marker, color=look.colour, ms=6, mec="white", mew=0.5)
            style.apart(mark, axis, 0, 3 * TWINS.get(row, 0))
            said.append(f"{look.label} breaks even at {math.ceil(met[row]):,} graphs")
    return "; ".join(said) or "none breaks even"


if __name__ == "__main__":
    figure.script("break_even", draw)
