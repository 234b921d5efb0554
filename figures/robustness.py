"""Beyond the paper: what counterfactuals withstand (`./reproduce.sh robustness`).

    python figures/robustness.py [--results results/reference]

A panel per measure, a line per row: a stroke for each task and a mark at their mean. From `robustness.csv`.
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Row
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn
from figures.tables.robustness import by_chance

COLUMNS = "task method variant metric mean ci_low ci_high n"
PANELS = {
    "robust_seed": "valid after the\noracle was\ntrained again",
    "robust_subsample": "… on 90 % of\nits graphs",
    "robust_architecture": "… as another\narchitecture",
    "stable_input": "same edits after\na harmless edit",
    "stable_seed": "same edits with\nanother seed",
    "actionable": "found with a\nfifth of the\npairs frozen",
    "validity_at_k": "one of three\ncandidates\nis valid",
}
AGREEMENT = {f"robust_{kind}": f"agree_{kind}" for kind in ("seed", "subsample", "architecture")}


def draw(results: Results) -> list[Drawn]:
    """Draw the figure from a stored table of robustness."""
    table, missing = figure.table_of(results, "robustness", COLUMNS)
    missing = missing or gaps(table)
    return [Drawn("robustness", dots(table, results), CAPTIONS["robustness"], missing=tuple(missing))]


def gaps(table: pd.DataFrame) -> list[str]:
    """The tasks of which nothing is stored, and the rows that some of the others lack."""
    learnt = [entry.name for entry in tasks.LEARNT]
    shown = set(table["task"])
    absent = [tasks.label(name) for name in learnt if name not in shown]
    said = [f"nothing is stored of {' / '.join(absent)}"] if absent else []
    rows = rows_of(table)
    for task in dict.fromkeys(table["task"]):
        there = rows_of(table[table["task"] == task])
        lacking = [methods.label(*row) for row in rows if row not in there and not style.look(row).unsupported(task)]
        said += [f"{tasks.label(task)}: {' / '.join(lacking)}"] if lacking else []
    return said


def rows_of(table: pd.DataFrame) -> list[Row]:
    """The rows of the table, in the order of the registry, then a user's own."""
    stored = set(zip(table["method"], table["variant"], strict=True))
    return [row for row in figure.rows_in(table) if row in stored]


def dots(table: pd.DataFrame, results: Results) -> Figure:
    """A panel per measure of `PANELS`."""
    if table.empty:
        return figure.not_computed()
    rows = rows_of(table)
    size = (style.PAGE, 1.6 + 0.19 * max(4, len(rows)))
    drawing, (axes,) = plt.subplots(1, len(PANELS), figsize=size, sharey=True, squeeze=False)
    chance = by_chance(table)
    for axis, (metric, title) in zip(axes, PANELS.items(), strict=True):
        _panel(axis, table, metric, rows, chance if metric == "actionable" else set())
        axis.set_title(title, fontsize=6)
        axis.set(xlim=(-0.08, 1.08), xticks=(0, 0.5, 1), xticklabels=("0", ".5", "1"))
    style.row_names(axes[0], rows)
    handles = [
        style.handle("a task", style.GREY, "", "|", ms=6),
        style.handle("mean over tasks", "black", "", "o", ms=4.5),
        style.handle("not told of the frozen pairs", "black", "", "o", ms=4.5, mfc="white"),
        style.handle(
            "share of inputs on which copies agree with the oracle, mean over tasks", style.GREY, "--", lw=0.9
        ),
    ]
    style.legend_below(drawing, handles, 2)
    figure.heading(drawing, "What counterfactuals withstand", results)
    return drawing


def _panel(axis: Axes, table: pd.DataFrame, metric: str, rows: Sequence[Row], hollow: set[Row]) -> None:
    agreement = figure.only(table, metric=AGREEMENT.get(metric, ""))
    if len(agreement):
        axis.axvline(agreement.groupby("task")["mean"].mean().mean(), color=style.GREY, ls="--", lw=0.9, zorder=1)
    for y, row in enumerate(rows):
        values = figure.only(table, row, metric=metric)["mean"]
        if values.empty:
            axis.text(0.5, y, "none", ha="center", va="center", fontsize=5.5, color=style.GREY)
            continue
        colour = style.look(row).colour
        axis.plot(values, [y] * len(values), "|", color=colour, alpha=0.55, ms=6, zorder=2)
        axis.plot(values.mean(), y, "o", color=colour, mfc="white" if row in hollow else colour, ms=4.5, zorder=3)


if __name__ == "__main__":
    figure.script("robustness", draw)
