"""Beyond the paper: real data with learnt oracles (`./reproduce.sh table2`).

    python figures/real_data.py [--results results/reference]

`plausibility`: a panel per task, each row at its validity and at the plausibility of its valid counterfactuals; the
dashed line is the plausibility of the inputs as they are, taken as graphs of the other class. `critical_difference`:
mean ranks over tasks, with bars between rows that a Nemenyi test after Friedman's cannot tell apart. From `table2.csv`.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import scikit_posthocs
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.registry import methods, tasks
from benchmarks.registry.rules import LOST_PLAUSIBILITY, VALID
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

COLUMNS = "task method variant metric mean ci_low ci_high n"
PANELS_PER_ROW = 4
LEFT_OUT = ("identity",)  # it is never valid
RANKED = {  # metrics whose ranks over tasks are compared, with what they say
    "area_over_ged": "few edits: area under validity over GED",
    "plausible": "like real graphs: validity × plausibility",
}
LEAST_TASKS = 3  # for ranks


def draw(results: Results) -> list[Drawn]:
    """Draw both figures from a stored table of real data."""
    table, missing = figure.table_of(results, "table2", COLUMNS)
    means = means_of(table)
    return [
        Drawn("plausibility", planes(means, results), CAPTIONS["plausibility"], missing=tuple(missing)),
        Drawn("critical_difference", ranks(means, results), CAPTIONS["critical_difference"], missing=tuple(missing)),
    ]


def means_of(table: pd.DataFrame) -> pd.DataFrame:
    """A line per task and row, a column per metric; rows "+ min" are left to the tables."""
    wide = table.pivot_table(index=["task", "method", "variant"], columns="metric", values="mean", sort=False)
    wide = wide.reindex(columns=["correctness", "plausibility", "plausibility_unedited", "area_over_ged"])
    keep = [row for row in wide.index if row[1] not in LEFT_OUT and not methods.made_of(row[1:])]
    wide = wide.loc[keep]
    return wide.assign(plausible=(wide["correctness"] * wide["plausibility"]).fillna(0.0))


# -- Validity and plausibility -----------------------------------------------------------------------------


def planes(means: pd.DataFrame, results: Results) -> Figure:
    """A panel per task."""
    if means.empty:
        return figure.not_computed()
    shown = [task for task in tasks.tasks() if task in means.index.get_level_values(0)]
    columns = min(PANELS_PER_ROW, len(shown))
    lines = -(-len(shown) // columns)
    drawing, axes = plt.subplots(
        lines, columns, figsize=(style.PAGE, 1.9 * lines + 0.8), squeeze=False, sharex=True, sharey=True
    )
    for axis in axes.flat[len(shown) :]:
        axis.set_visible(False)
    for axis, task in zip(axes.flat, shown, strict=False):
        _plane(axis, means.loc[task])
        axis.set_title(tasks.label(task))
    for axis in axes[:, 0]:
        axis.set_ylabel("plausibility")
    for axis in axes.flat[len(shown) - columns : len(shown)]:  # nothing is below these
        axis.tick_params(labelbottom=True)
        axis.set_xlabel("validity")
    axes[0, 0].set(xlim=(-0.06, 1.06), ylim=(-0.04, max(0.6, means["plausibility"].max()) + 0.06))
    rows = [row for row in methods.rows() if row in set(means.index.droplevel(0))]
    handles = [style.handle(look.label, look.colour, "", look.marker, ms=_size(look)) for look in map(style.look, rows)]
    style.legend_below(drawing, handles, 4)
    figure.heading(drawing, "Valid, and like real graphs of the claimed class?", results)
    return drawing


def _size(look: methods.Method) -> float:
    """A star has less ink than other marks of its size."""
    return 6.5 if look.marker == "*" else 4.5


def _plane(axis: Axes, means: pd.DataFrame) -> None:
    unedited = means.loc[means["correctness"] >= VALID, "plausibility_unedited"].mean()
    if np.isfinite(unedited):
        axis.axhline(unedited, color=style.GREY, ls="--", lw=0.8)
        axis.axhspan(unedited - LOST_PLAUSIBILITY, 1.06, xmin=0, color=style.GREY, alpha=0.08, lw=0)
    for row, own in means.iterrows():
        look = style.look(row)
        axis.plot(
            own["correctness"], own["plausibility"], look.marker, color=look.colour, ms=_size(look)
        )  # marks such as x are edges only


# -- Ranks over tasks --------------------------------------------------------------------------------------


def ranks(means: pd.DataFrame, results: Results) -> Figure:
    """A diagram per metric of `RANKED`, for the rows that all tasks have."""
    drawing, axes = plt.subplots(len(RANKED), 1, figsize=(style.PAGE, 5.2), squeeze=False)
    drawing.set_layout_engine("constrained", w_pad=0.2)  # names are as far from the axes as these are wide
    for axis, (metric, says) in zip(axes[:, 0], RANKED.items(), strict=True):
        values = means[metric].unstack("task").dropna()
        values.index = [style.look(row).label for row in values.index]
        axis.set_title(says)
        if values.shape[1] < LEAST_TASKS or len(values) < LEAST_TASKS:
            axis.text(0.5, 0.5, "fewer than three tasks or rows are stored", ha="center", va="center")
            axis.set_axis_off()
            continue
        scikit_posthocs.critical_difference_diagram(
            mean_ranks(values), scikit_posthocs.posthoc_nemenyi_friedman(values.T.to_numpy()).set_axis(
                values.index, axis=0).set_axis(values.index, axis=1),
            ax=axis, color_palette=["black"] * len(values),  # a name is beside each line: colours would add a riddle
            label_props={"fontsize": 7}, marker_props={"s": 14}, elbow_props={"linewidth": 0.6},
            label_fmt_left="{label} ({rank:.1f})", label_fmt_right="({rank:.1f}) {label}",
        )  # fmt: skip
        axis.grid(False)
    figure.heading(drawing, "Mean ranks over tasks, the best on the left", results)
    return drawing


def mean_ranks(values: pd.DataFrame) -> pd.Series:
    """The mean over tasks (columns) of each row's rank by falling value; ties share a rank."""
    return values.rank(ascending=False).mean(axis=1)


if __name__ == "__main__":
    figure.script("real_data", draw)
