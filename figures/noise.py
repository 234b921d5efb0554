"""Beyond the paper: rankings of edges under noise, as in RCExplainer's paper (`./reproduce.sh noise`).

    python figures/noise.py [--results results/reference]

A panel per task, a curve per row: AUC over the share of noise, with its interval. From `noise.csv`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.registry import tasks
from benchmarks.registry.methods import Row
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

COLUMNS = "task method variant noise auc ci_low ci_high n"
BY_CHANCE = 0.5


def draw(results: Results) -> list[Drawn]:
    """Draw the figure from a stored table of noise."""
    table, missing = figure.table_of(results, "noise", COLUMNS)
    return [Drawn("noise", curves(table, results), CAPTIONS["noise"], missing=tuple(missing))]


def curves(table: pd.DataFrame, results: Results) -> Figure:
    """A panel per task."""
    if table.empty:
        return figure.not_computed()
    names = [task for task in tasks.tasks() if task in set(table["task"])]
    size = (style.PAGE * max(1.0, len(names) / 4), 2.6)
    drawing, (axes,) = plt.subplots(1, len(names), figsize=size, sharey=True, squeeze=False)
    stored = set(zip(table["method"], table["variant"], strict=True))
    rows = [row for row in figure.rows_in(table) if row in stored]
    for axis, task in zip(axes, names, strict=True):
        for row in rows:
            own = figure.only(table, row, task=task).sort_values("noise")
            look = style.look(row)
            axis.fill_between(100 * own["noise"], own["ci_low"], own["ci_high"], color=look.colour, alpha=0.15, lw=0)
            axis.plot(100 * own["noise"], own["auc"], line(row), color=look.colour, marker=look.marker, ms=4)
        axis.axhline(BY_CHANCE, color=style.GREY, ls="--", lw=0.9)
        axis.set(title=tasks.label(task), xlabel="noise / %")
    axes[0].set_ylabel("AUC of the ranking")
    looks = {row: style.look(row) for row in rows}
    handles = [style.handle(look.label, look.colour, line(row), look.marker, ms=4) for row, look in looks.items()]
    style.legend_below(drawing, [*handles, style.handle("by chance", style.GREY, "--", lw=0.9)], 4)
    figure.heading(drawing, "Are the same edges ranked high in a noisy graph?", results)
    return drawing


def line(row: Row) -> str:
    """Controls are dotted: some have the colour of the method that they are made of."""
    return ":" if row[1] == "control" else "-"


if __name__ == "__main__":
    figure.script("noise", draw)
