"""Beyond the paper: RSGG-CE against every other row of Table 1 on the same graphs: differences, not two means.

    python figures/paired.py [--results results/reference]

Why no critical-difference diagram: it ranks methods over independent units. Graphs of a fold share a fitted model and
are none. Ten folds are nearer to it, but the smallest p of a two-sided Wilcoxon test with ten pairs is 2/1024, and
Holm's correction for all pairs of so many methods brings that above .05 whatever the data. So the figure shows paired
differences with an interval over folds. Drawn from `comparisons.csv` (`benchmarks.table1.compare`).
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from figures import figure, style
from figures.figure import Drawn
from figures.results import Results

TITLES = {"tree-cycles": "Tree-Cycles", "asd": "ASD"}
QUESTION = "rsgg-ce against the others"
METRICS = {
    "correctness": "difference in Correctness",
    "ged_on_success": "difference in GED where both succeed\n(log scale beyond ±1)",
}
BETTER = {"correctness": "RSGG-CE better →", "ged_on_success": "← RSGG-CE better"}
NOT_DEFINED = {"asd": {("meg", "released")}}  # the paper's ×
ROWS = [row for row in style.ROWS if row not in (("rsgg-ce", "faithful"), ("identity", "control"))]
LEVEL = 0.05
TICKS = (-1000, -10, 0, 10, 1000)
CAPTION = (
    "RSGG-CE (faithful) less each other row, on the same test graphs: mean difference in Correctness, and in GED over "
    "the graphs that both explain. Bars are 95 % intervals over folds: the unit is the fold, since the graphs of a "
    "fold share a fitted model. Filled: the interval leaves out 0 and Holm's p of the Wilcoxon test over graphs, "
    "corrected for all rows of the data set, is below .05; that test takes the fitted models as given. Hollow: not "
    "both. No average ranks with a critical difference are shown: ten folds cannot separate so many methods after "
    "correction (the smallest p of ten pairs is 2/1024), and ranks over graphs would count the graphs of a fold as "
    "independent."
)


def draw(results: Results) -> list[Drawn]:
    """Draw RSGG-CE's paired differences to the other rows, from stored comparisons."""
    table = results.table("comparisons")
    drawing, axes = plt.subplots(2, 2, figsize=(style.PAGE, 7.6), sharey=True, sharex="col")
    axes[0, 1].set_xscale("symlog", linthresh=1)  # before drawing: margins are those of the scale
    missing, said = ([] if table is not None else ["comparisons.csv"]), []
    for pair, (dataset, title) in zip(axes, TITLES.items(), strict=True):
        for axis, metric in zip(pair, METRICS, strict=True):
            axis.axvline(0, color="black", lw=0.8, zorder=1)
            axis.set_title(f"{title}: {BETTER[metric]}", fontsize=8)
            if table is not None:
                rows = differences(table, dataset, metric)
                _panel(axis, rows)
                said.append(_in_words(rows, f"{title}, {metric.replace('_', ' ')}".replace("ged", "GED")))
        if table is not None:
            there = set(differences(table, dataset, "correctness").index) | NOT_DEFINED.get(dataset, set())
            absent = [style.ROWS[row].label for row in ROWS if row not in there]
            for row in NOT_DEFINED.get(dataset, set()):
                pair[0].text(0.02, ROWS.index(row), "not defined here", va="center", fontsize=6, color=style.GREY)
            missing += [f"{title}: {', '.join(absent)}"] if absent else []
    axes[0, 0].set_yticks(range(len(ROWS)), [style.ROWS[row].label for row in ROWS])
    axes[0, 0].set_ylim(len(ROWS) - 0.4, -0.6)
    for axis in axes[:, 0]:
        axis.tick_params(axis="y", labelsize=6.5)
    axes[1, 0].set_xlabel(METRICS["correctness"])
    axes[1, 1].set(xlabel=METRICS["ged_on_success"], xticks=TICKS, xticklabels=[f"{tick:g}" for tick in TICKS])
    drawing.legend(handles=_handles(), loc="outside lower center", ncols=2, fontsize=6.5)
    source = ", ".join(results.sources) or "no file"
    drawing.suptitle(f"RSGG-CE less the other row, on the same graphs (from {source})", fontsize=8)
    return [Drawn("paired", drawing, " ".join((CAPTION, *filter(None, said))), missing=tuple(missing))]


def differences(table: pd.DataFrame, dataset: str, metric: str) -> pd.DataFrame:
    """RSGG-CE's differences to the rows shown; `clear` are those that both the interval and the corrected test find."""
    asked = (table["dataset"] == dataset) & (table["question"] == QUESTION) & (table["metric"] == metric)
    rows = table[asked & table["difference"].notna()].set_index(["against_method", "against_variant"])
    outside = (rows["ci_low"] > 0) | (rows["ci_high"] < 0)
    rows = rows.assign(clear=outside & (rows["p_holm"] < LEVEL))
    return rows.loc[[row for row in ROWS if row in rows.index]]


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    for row, at in rows.iterrows():
        look = style.ROWS[row]
        fill = look.colour if at["clear"] else "white"
        axis.hlines(ROWS.index(row), at["ci_low"], at["ci_high"], color=look.colour, lw=1, zorder=2)
        axis.plot(at["difference"], ROWS.index(row), "o", color=look.colour, mfc=fill, ms=4.5, zorder=3)


def _in_words(rows: pd.DataFrame, where: str) -> str:
    """How many differences are clear, by sign."""
    clear = rows.loc[rows["clear"], "difference"]
    if rows.empty:
        return ""
    higher, lower = (clear > 0).sum(), (clear < 0).sum()
    return f"{where}: RSGG-CE is clearly higher than {higher} of {len(rows)} rows and lower than {lower}."


def _handles() -> list[Line2D]:
    return [
        Line2D([], [], marker="o", ls="-", color=style.GREY, ms=4.5, label="interval without 0 and Holm's p < .05"),
        Line2D([], [], marker="o", ls="-", color=style.GREY, mfc="white", ms=4.5, label="not both"),
    ]


if __name__ == "__main__":
    figure.script("paired", draw)
