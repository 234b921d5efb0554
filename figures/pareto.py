"""Beyond the paper: edits against oracle calls, and which methods no other one beats in everything.

    python figures/pareto.py [--results results/reference]

Three things are wanted at once: few edits, few calls, a high Correctness. Drawn from `table1.csv`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from figures import figure, style
from figures.figure import Drawn
from figures.results import Results

TITLES = {"tree-cycles": "Tree-Cycles (28 nodes)", "asd": "ASD (116 brain regions)"}
COSTS = {"explain": "calls to explain", "all": "calls with fitting shared out"}
LEFT_OUT = ("identity", "rsgg-ce-multinomial", "released-untrained", "released-uniform")
SHOWN = {row: look for row, look in style.ROWS.items() if row[0] not in LEFT_OUT}
NOT_DEFINED = {"asd": {("meg", "released")}}  # the paper's ×
NEEDED = {"ged_on_success", "explain_calls", "correctness", "fit_calls"}
OPTIMUM = ("optimum", "control")
SIZES = (0.1, 0.5, 1.0)
CAPTION = (
    "GED where a counterfactual was found, against oracle calls per graph; the area of a mark is the row's "
    "Correctness. Above, only the calls to explain count; below, those of fitting are shared out over the test graphs "
    "of a fold. Ringed in red: rows on the Pareto front, which no other row beats or equals in calls, GED and "
    "Correctness together while being better in one; the optimum knows the oracle's rule and takes no part. GED is "
    "averaged over the graphs that a row explains, which differ between rows: a small mark is on the front for few "
    "and often easy graphs."
)


def draw(results: Results) -> list[Drawn]:
    """Draw GED on success against oracle calls with the Pareto front, from a stored Table 1."""
    table = results.table("table1")
    drawing, axes = plt.subplots(2, 2, figsize=(style.PAGE, 6.4), sharex=True, sharey="col")
    missing, said = ([] if table is not None else ["table1.csv"]), []
    for column, (dataset, title) in zip(axes.T, TITLES.items(), strict=True):
        if table is not None:
            rows = positions(table[table["dataset"] == dataset])
            absent = [SHOWN[row].label for row in set(SHOWN) - set(rows.index) - NOT_DEFINED.get(dataset, set())]
            missing += [f"{title}: {', '.join(sorted(absent))}"] if absent else []
            said += [_panel(axis, rows, cost, title) for axis, cost in zip(column, COSTS, strict=True)]
        column[0].set(title=title, xscale="log", yscale="log")
        for axis, cost in zip(column, COSTS.values(), strict=True):
            axis.set_xlabel(f"{cost}, per graph (log scale)")
    for axis in axes[:, 0]:
        axis.set_ylabel("GED on success (log scale)")
    drawing.legend(handles=_handles(), loc="outside lower center", ncols=4, fontsize=6.5)
    source = ", ".join(results.sources) or "no file"
    drawing.suptitle(f"Few edits at the bottom, few calls to the left, valid if large (from {source})", fontsize=8)
    return [Drawn("pareto", drawing, " ".join((CAPTION, *said)), missing=tuple(missing))]


def positions(table: pd.DataFrame) -> pd.DataFrame:
    """The rows shown: GED on success, Correctness, calls to explain and calls with a graph's share of fitting."""
    means = table.pivot(index=["method", "variant"], columns="metric", values="mean")
    graphs = table[table["metric"] == "correctness"].set_index(["method", "variant"])
    if not set(means.columns) >= NEEDED:
        means = means.reindex(columns=sorted(NEEDED))
    rows = means.assign(explain=means["explain_calls"])
    rows["all"] = rows["explain"] + rows["fit_calls"] * graphs["folds"] / graphs["n"]
    rows = rows.dropna(subset=["ged_on_success", "correctness", "explain", "all"])
    return rows.loc[[row for row in SHOWN if row in rows.index]]


def undominated(costs: ArrayLike) -> np.ndarray:
    """Which points (rows; less is better in each column) no other dominates, being ≤ everywhere and < somewhere."""
    points = np.asarray(costs, dtype=float)
    no_worse = (points[:, None] <= points[None]).all(-1)
    better = (points[:, None] < points[None]).any(-1)
    return np.asarray(~(no_worse & better).any(0))


def _panel(axis: Axes, rows: pd.DataFrame, cost: str, title: str) -> str:
    """Draw the marks; say who is on the front."""
    for row, at in rows.iterrows():
        look = SHOWN[row]
        stroke = look.marker in "x+_12"  # marks that are lines and have no edge of their own
        axis.scatter(
            at[cost], at["ged_on_success"], s=_area(at["correctness"]), c=look.colour, marker=look.marker, alpha=0.85,
            edgecolors=None if stroke else "white", linewidths=1.5 if stroke else 0.3, zorder=3,
        )  # fmt: skip
    black_box = rows.drop(index=[OPTIMUM], errors="ignore")
    if black_box.empty:
        return ""
    costs = np.column_stack((black_box[[cost, "ged_on_success"]], 1 - black_box["correctness"]))
    front = black_box[undominated(costs)]
    axis.scatter(
        front[cost], front["ged_on_success"], s=130, facecolors="none", edgecolors=style.RED, linewidths=1, zorder=2
    )
    return f"{title}, {COSTS[cost]}: on the front are {'; '.join(SHOWN[row].label for row in front.index)}."


def _area(correctness: float) -> float:
    return 4 + 46 * correctness


def _handles() -> list[Line2D]:
    marks = [
        Line2D([], [], ls="", color=look.colour, marker=look.marker, ms=5, label=look.label) for look in SHOWN.values()
    ]
    ring = Line2D([], [], ls="", marker="o", mfc="none", mec=style.RED, ms=9, label="on the Pareto front")
    sizes = [
        Line2D([], [], ls="", color=style.GREY, marker="o", ms=_area(size) ** 0.5, label=f"Correctness {size:g}")
        for size in SIZES
    ]
    return [*marks, ring, *sizes]


if __name__ == "__main__":
    figure.script("pareto", draw)
