"""Beyond the paper: Correctness of each predicted class apart, and what a share of one class looks like as a result.

    python figures/per_class.py [--results results/reference]

A method that turns every graph into a graph of one class explains all graphs of the other one and none of this: its
Correctness is the share of that other class. Drawn from `table1.csv`, beside what the paper prints.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from figures import figure, style
from figures.figure import Drawn
from figures.results import Results

TITLES = {"tree-cycles": "Tree-Cycles (28 nodes)", "asd": "ASD (116 brain regions)"}
CLASSES = {"tree-cycles": ("trees", "cyclic graphs"), "asd": ("typically developed", "autistic")}
COLOURS = (style.BLUE, style.ORANGE)  # of class 0 and class 1
NOT_DEFINED = {"asd": {("meg", "released")}}  # the paper's ×
VARIANTS = ("released", "faithful", "beyond", "control", "search")
ORDER = [row for variant in VARIANTS for row in style.ROWS if row[1] == variant]
ONE_WAY = 0.9  # a difference between the classes that is called a collapse in the caption
CAPTION = (
    "Correctness per class that the oracle predicts for the input (dots with 95 % intervals, joined by a line), over "
    "all test graphs (black stroke), and as Table 1 prints it (red ring, at the rows as released). Dashed lines in "
    "the colours of the classes: the share of test graphs that the oracle puts there. Red, dotted: the class "
    "distribution that the paper's appendix prints. Rows that stretch from 0 to 1 move every graph one way, whatever "
    "it is, and their Correctness is the share of a class."
)


def draw(results: Results) -> list[Drawn]:
    """Draw Correctness per predicted class, from a stored Table 1."""
    table, paper = results.table("table1"), results.paper("table1")
    drawing, axes = plt.subplots(1, 2, figsize=(style.PAGE, 5.4), sharey=True)
    missing, said = ([] if table is not None else ["table1.csv"]), []
    for axis, (dataset, title) in zip(axes, TITLES.items(), strict=True):
        for prior in printed_distribution(results.paper("datasets"), dataset):
            axis.axvline(prior, color=style.RED, ls=":", lw=0.9, zorder=1)
        if table is not None:
            own = table[table["dataset"] == dataset]
            absent = [
                style.ROWS[row].label for row in ORDER if row not in _stored(own) | NOT_DEFINED.get(dataset, set())
            ]
            missing += [f"{title}: {', '.join(absent)}"] if absent else []
            said += [_panel(axis, own, dataset)]
        _printed(axis, paper[(paper["dataset"] == dataset) & (paper["metric"] == "correctness")])
        names = CLASSES[dataset]
        axis.set(xlim=(-0.04, 1.04), xlabel=f"Correctness\n(class 0: {names[0]}, class 1: {names[1]})", title=title)
        for y in range(1, len(ORDER)):
            if ORDER[y][1] != ORDER[y - 1][1]:
                axis.axhline(y - 0.5, color=style.GREY, lw=0.5, zorder=1)
    _rows(axes[0])
    drawing.legend(handles=_handles(), loc="outside lower center", ncols=3, fontsize=6.5)
    source = ", ".join(results.sources) or "no file"
    drawing.suptitle(f"One way or both ways? Correctness per predicted class (from {source})", fontsize=8)
    return [Drawn("per_class", drawing, " ".join((CAPTION, *said)), missing=tuple(missing))]


def printed_distribution(datasets: pd.DataFrame, dataset: str) -> list[float]:
    """The class distribution of the paper's data-set table, e.g. "0.504 : 0.496"."""
    value = datasets.set_index("statistic").loc["Class distribution", dataset]
    return [float(share) for share in str(value).split(":")]


def shares(table: pd.DataFrame) -> list[float]:
    """The share of test graphs that the oracle puts in each class: what the Correctness of a class averages over."""
    counts = table.groupby("metric")["n"].max()
    return [float(counts[f"correctness_class_{c}"] / counts["correctness"]) for c in (0, 1)]


def _stored(table: pd.DataFrame) -> set[tuple[str, str]]:
    rows = table[table["metric"] == "correctness_class_1"]
    return set(zip(rows["method"], rows["variant"], strict=True))


def _panel(axis: Axes, table: pd.DataFrame, dataset: str) -> str:
    """Draw the rows that are stored and the shares of the classes; say which rows go one way."""
    stored, one_way = _stored(table), []
    for share, colour in zip(shares(table), COLOURS, strict=True) if stored else ():
        axis.axvline(share, color=colour, ls="--", lw=0.9, zorder=1)
    for y, row in enumerate(ORDER):
        lines = table[(table["method"] == row[0]) & (table["variant"] == row[1])].set_index("metric")
        if row not in stored:
            word = "not defined here" if row in NOT_DEFINED.get(dataset, ()) else "missing"
            axis.text(0.02, y, word, va="center", fontsize=6, color=style.GREY)
            continue
        classes = [lines.loc[f"correctness_class_{c}"] for c in (0, 1)]
        axis.plot([at["mean"] for at in classes], [y, y], color=style.GREY, lw=1, zorder=2)
        for at, colour, shift in zip(classes, COLOURS, (-0.12, 0.12), strict=True):
            axis.hlines(y + shift, at["ci_low"], at["ci_high"], color=colour, lw=0.8, zorder=3)
            axis.plot(at["mean"], y + shift, "o", color=colour, ms=4, zorder=3)
        axis.plot(lines.loc["correctness", "mean"], y, "|", color="black", ms=9, mew=1.4, zorder=4)
        if abs(classes[0]["mean"] - classes[1]["mean"]) >= ONE_WAY:
            one_way.append(style.ROWS[row].label)
    return f"{TITLES[dataset]}: one way go {'; '.join(one_way)}." if one_way else ""


def _printed(axis: Axes, paper: pd.DataFrame) -> None:
    for method, value in zip(paper["method"], pd.to_numeric(paper["value"], errors="coerce"), strict=True):
        if pd.notna(value):
            axis.plot(value, ORDER.index((method, "released")), "o", mfc="none", mec=style.RED, ms=7, zorder=5)


def _rows(axis: Axes) -> None:
    axis.set_yticks(range(len(ORDER)), [style.ROWS[row].label for row in ORDER], fontsize=6.5)
    axis.set_ylim(len(ORDER) - 0.4, -0.6)


def _handles() -> list[Line2D]:
    of_class = [
        Line2D([], [], marker="o", ls="", color=colour, ms=4, label=f"graphs of class {c}")
        for c, colour in enumerate(COLOURS)
    ]
    share = [
        Line2D([], [], ls="--", lw=0.9, color=colour, label=f"share of class {c} (oracle)")
        for c, colour in enumerate(COLOURS)
    ]
    return [
        *of_class,
        Line2D([], [], marker="|", ls="", color="black", ms=9, mew=1.4, label="all graphs: Correctness"),
        Line2D([], [], marker="o", ls="", mfc="none", mec=style.RED, ms=7, label="printed in the paper's Table 1"),
        *share,
        Line2D([], [], ls=":", lw=0.9, color=style.RED, label="class distribution as printed"),
    ]


if __name__ == "__main__":
    figure.script("per_class", draw)
