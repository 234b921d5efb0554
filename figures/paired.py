"""Beyond the paper: RSGG-CE against every other row of Table 1 on the same graphs: differences, not two means.

    python figures/paired.py [--results results/reference]

Why no critical-difference diagram: it ranks methods over independent units. Graphs of a fold share a fitted model and
are none. Ten folds are nearer to it, but the smallest p of a two-sided Wilcoxon test with ten pairs is 2/1024, and
Holm's correction for all pairs of so many methods brings that above .05 whatever the data. So the figure shows paired
differences with an interval over folds. Drawn from `comparisons.csv` (`benchmarks.results.summary.compare`).
"""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.registry.methods import Row
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

COLUMNS = "dataset question metric against_method against_variant difference ci_low ci_high p_holm"
QUESTION = "rsgg-ce against the others"
METRICS = {
    "correctness": "difference in Correctness",
    "ged_on_success": "difference in GED where both succeed\n(log scale beyond ±1)",
}
BETTER = {"correctness": "RSGG-CE better →", "ged_on_success": "← RSGG-CE better"}
OURS = ("rsgg-ce", "faithful")
LEFT_OUT = (OURS, ("identity", "control"))
TEN = (*figure.TEN_ROWS, ("rsgg-ce-untrained", "control"))  # RSGG-CE itself is what they are compared with
LEVEL = 0.05
TICKS = (-1000, -10, 0, 10, 1000)


def draw(results: Results) -> list[Drawn]:
    """Draw RSGG-CE's paired differences to the other rows, from stored comparisons."""
    table, missing = figure.table_of(results, "comparisons", COLUMNS, "table1")
    table = table.assign(method=table["against_method"], variant=table["against_variant"])
    versions = figure.ten_and_all([row for row in figure.rows_in(table) if row not in LEFT_OUT], TEN)
    return [_drawn(f"paired{end}", results, table, rows, missing) for end, rows in versions.items()]


def _drawn(name: str, results: Results, table: pd.DataFrame, rows: Sequence[Row], missing: Sequence[str]) -> Drawn:
    tasks = figure.tasks_in(table)
    size = (style.PAGE, 0.9 + (0.5 + 0.1 * len(rows)) * len(tasks))
    drawing, axes = plt.subplots(len(tasks), 2, figsize=size, sharey=True, sharex="col", squeeze=False)
    axes[0, 1].set_xscale("symlog", linthresh=1)  # before drawing: margins are those of the scale
    drawn, said = {}, []
    for pair, task in zip(axes, tasks, strict=True):
        for axis, metric in zip(pair, METRICS, strict=True):
            found = differences(table, task.name, metric, rows)
            _panel(axis, found, rows)
            axis.set_title(f"{task.label}: {BETTER[metric]}", fontsize=8)
            said.append(_in_words(found, f"{task.label}, {metric.replace('_', ' ')}".replace("ged", "GED")))
        drawn[task.name] = set(differences(table, task.name, "correctness", rows).index)
        for y, row in enumerate(rows):
            if style.look(row).unsupported(task.name):
                pair[0].text(0.02, y, "not defined here", va="center", fontsize=6, color=style.GREY)
        style.row_names(pair[0], rows)
    axes[-1, 0].set_xlabel(METRICS["correctness"])
    axes[-1, 1].set(
        xlabel=METRICS["ged_on_success"], xticks=TICKS, xticklabels=[f"{tick:g}".replace("-", "−") for tick in TICKS]
    )
    filled = {"interval without 0 and Holm's p < .05": style.GREY, "not both": "white"}
    handles = [style.handle(label, style.GREY, "-", "o", mfc=fill, ms=4.5) for label, fill in filled.items()]
    style.legend_below(drawing, handles, 2)
    figure.heading(drawing, f"{style.look(OURS).label}, less the other row, on the same graphs", results)
    missing = missing or figure.absent(rows, drawn)
    return Drawn(name, drawing, figure.caption(CAPTIONS["paired"], *said), missing=tuple(missing))


def differences(table: pd.DataFrame, dataset: str, metric: str, rows: Sequence[Row]) -> pd.DataFrame:
    """RSGG-CE's differences to these rows; `clear` are those that both the interval and the corrected test find."""
    found = figure.only(table, dataset=dataset, question=QUESTION, metric=metric).dropna(subset="difference")
    found = found.set_index(["against_method", "against_variant"])
    outside = (found["ci_low"] > 0) | (found["ci_high"] < 0)
    found = found.assign(clear=outside & (found["p_holm"] < LEVEL))
    return found.loc[[row for row in rows if row in found.index]]


def _panel(axis: Axes, found: pd.DataFrame, rows: Sequence[Row]) -> None:
    axis.axvline(0, color="black", lw=0.8, zorder=1)
    for row, at in found.iterrows():
        y, colour = rows.index(row), style.look(row).colour
        axis.hlines(y, at["ci_low"], at["ci_high"], color=colour, lw=1, zorder=2)
        axis.plot(at["difference"], y, "o", color=colour, mfc=colour if at["clear"] else "white", ms=4.5, zorder=3)


def _in_words(found: pd.DataFrame, where: str) -> str:
    """How many differences are clear, by sign."""
    if found.empty:
        return ""
    clear = found.loc[found["clear"], "difference"]
    higher, lower = (clear > 0).sum(), (clear < 0).sum()
    return f"{where}: RSGG-CE is clearly higher than {higher} of {len(found)} rows and lower than {lower}."


if __name__ == "__main__":
    figure.script("paired", draw)
