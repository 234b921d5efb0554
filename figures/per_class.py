"""Beyond the paper: Correctness of each predicted class apart, and what a share of one class looks like as a result.

    python figures/per_class.py [--results results/reference]

A method that turns every graph into a graph of one class explains all graphs of the other one and none of this: its
Correctness is the share of that other class. Drawn from `table1.csv`, beside what the paper prints.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

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
    "Correctness per class that the oracle predicts for the input (dots with 95 % intervals, joined by a line), over all "
    "test graphs (black stroke), and as Table 1 prints it (red ring, at the rows as released). Dashed lines in the "
    "colours of the classes: the share of test graphs that the oracle puts there. Red, dotted: the class distribution "
    "that the paper's appendix prints. Rows that stretch from 0 to 1 move every graph one way, whatever it is, and "
    "their Correctness is the share of a class."
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
            absent = [style.ROWS[row].label for row in ORDER if row not in _stored(own) | NOT_DEFINED.get(dataset, set())]
            missing += [f"{title}: {', '.join(absent)}"] if absent else []
            said += [_panel(axis, own, title)]
        _printed(axis, paper[(paper["dataset"] == dataset) & (paper["metric"] == "correctness")])
        names = CLASSES[dataset]
        axis.set(xlim=(-0.04, 1.04), xlabel=f"Correctness; class 0: {names[0]}, class 1: {names[1]}", title=title)
    _rows(axes[0])
    drawing.legend(handles=_handles(), loc="outside lower center", ncols=3, fontsize=6.5)
    source = ", ".join(results.sources) or "no file"
    drawing.suptitle(f"One way or both ways? Correctness per predicted class (from {source})", fontsize=8)
    return [Drawn("per_class", drawing, " ".join((CAPTION, *said)), missing=tuple(missing))]
