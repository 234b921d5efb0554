"""Beyond the paper: edits against oracle calls, and which methods no other one beats in everything.

    python figures/pareto.py [--results results/reference]

Three things are wanted at once: few edits, few calls, a high Correctness. Drawn from `table1.csv`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from benchmarks.registry.methods import Row
from benchmarks.results.reader import Results, graphs_per_fold
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

COSTS = {"explain": "calls to explain", "all": "calls with fitting shared out"}
LEFT_OUT = ("identity", "rsgg-ce-multinomial", "released-untrained", "released-uniform")
NEEDED = ["ged_on_success", "explain_calls", "correctness", "fit_calls"]
OPTIMUM = ("optimum", "control")
SIZES = (0.1, 0.5, 1.0)


def draw(results: Results) -> list[Drawn]:
    """Draw GED on success against oracle calls with the Pareto front, from a stored Table 1."""
    table, missing = figure.table_of(results, "table1", figure.TABLE1)
    versions = figure.ten_and_all(figure.rows_in(table, LEFT_OUT))
    return [_drawn(f"pareto{end}", results, table, rows, missing) for end, rows in versions.items()]


def _drawn(name: str, results: Results, table: pd.DataFrame, rows: Sequence[Row], missing: Sequence[str]) -> Drawn:
    tasks = figure.tasks_in(table)
    drawing, axes = figure.panels(tasks, 2, 6.4, sharex=True, sharey="col")
    drawn, said = {}, []
    for column, task in zip(axes.T, tasks, strict=True):
        at = positions(table[table["dataset"] == task.name], rows)
        drawn[task.name] = list(at.index)
        column[0].set(xscale="log", yscale="log")
        for axis, (cost, label) in zip(column, COSTS.items(), strict=True):
            front = _panel(axis, at, cost)
            said += [f"{task.title}, {label}: on the front are {front}."] if front else []
            axis.set_xlabel(f"{label}, per graph (log scale)")
    for axis in axes[:, 0]:
        axis.set_ylabel("GED on success (log scale)")
    style.legend_below(drawing, _handles(rows), 4)
    figure.heading(drawing, "Few edits at the bottom, few calls to the left, valid if large", results)
    missing = missing or figure.absent(rows, drawn)
    return Drawn(name, drawing, figure.caption(CAPTIONS["pareto"], *said), missing=tuple(missing))


def positions(table: pd.DataFrame, rows: Sequence[Row]) -> pd.DataFrame:
    """GED on success, Correctness, calls to explain and calls with a graph's share of fitting, of the rows stored."""
    means = table.pivot(index=["method", "variant"], columns="metric", values="mean").reindex(columns=NEEDED)
    graphs = table[table["metric"] == "correctness"].set_index(["method", "variant"])
    at = means.assign(explain=means["explain_calls"])
    at["all"] = at["explain"] + at["fit_calls"] / graphs.apply(graphs_per_fold, axis=1)
    at = at.dropna(subset=["ged_on_success", "correctness", "explain", "all"])
    return at.loc[[row for row in rows if row in at.index]]


def undominated(costs: ArrayLike) -> np.ndarray:
    """Which points (rows; less is better in each column) no other dominates, being ≤ everywhere and < somewhere."""
    points = np.asarray(costs, dtype=float)
    no_worse = (points[:, None] <= points[None]).all(-1)
    better = (points[:, None] < points[None]).any(-1)
    return np.asarray(~(no_worse & better).any(0))


def _panel(axis: Axes, at: pd.DataFrame, cost: str) -> str:
    """Draw the marks and the front; return who is on it."""
    for row, values in at.iterrows():
        look = style.look(row)
        stroke = look.marker in "x+_12"  # marks that are lines and have no edge of their own
        axis.scatter(
            values[cost], values["ged_on_success"], s=_area(values["correctness"]), c=look.colour, marker=look.marker,
            alpha=0.85, edgecolors=None if stroke else "white", linewidths=1.5 if stroke else 0.3, zorder=3,
        )  # fmt: skip
    black_box = at.drop(index=[OPTIMUM], errors="ignore")
    if black_box.empty:
        return ""
    costs = np.column_stack((black_box[[cost, "ged_on_success"]], 1 - black_box["correctness"]))
    front = black_box[undominated(costs)]
    axis.scatter(
        front[cost], front["ged_on_success"], s=130, facecolors="none", edgecolors=style.RED, linewidths=1, zorder=2
    )
    return "; ".join(style.look(row).label for row in front.index)


def _area(correctness: float) -> float:
    return 4 + 46 * correctness


def _handles(rows: Sequence[Row]) -> list[Line2D]:
    marks = [style.handle(look.label, look.colour, marker=look.marker, ms=5) for look in map(style.look, rows)]
    ring = style.handle("on the Pareto front", style.RED, marker="o", mfc="none", ms=9)
    sizes = [style.handle(f"Correctness {size:g}", style.GREY, marker="o", ms=_area(size) ** 0.5) for size in SIZES]
    return [*marks, ring, *sizes]


if __name__ == "__main__":
    figure.script("pareto", draw)
