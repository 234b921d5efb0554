"""The first picture of the README: Correctness against GED, what Table 1 prints beside what each method really does.

    python figures/tradeoff.py [--results results/reference]

Drawn from `table1.csv` alone; rows that are missing there are missing in the picture, which says so.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes

from figures import figure, style
from figures.figure import Drawn
from figures.results import Results

TITLES = {"tree-cycles": "Tree-Cycles (28 nodes)", "asd": "ASD (116 brain regions)"}
PRINTED = ("meg", "cf2", "clear", "g-countergan", "rsgg-ce")
LABELS = {  # where a printed row's name stands: offset in points, horizontal and vertical alignment
    "meg": ((0, 7), "center", "bottom"),
    "cf2": ((-7, -3), "right", "center"),
    "clear": ((0, 7), "center", "bottom"),
    "g-countergan": ((0, -8), "center", "top"),
    "rsgg-ce": ((0, -8), "center", "top"),
}
ON_32 = {"meg": " (32 nodes)"}
REFERENCES = (  # method, variant, label, colour, marker
    ("two-sided-min", "search", "random order + minimiser", style.GREY, "^"),
    ("optimum", "control", "optimum", "black", "*"),
)
LABELS_ON_ASD = {**LABELS, "g-countergan": ((0, -19), "center", "top")}  # below CF², which is near it there
SHOWN = (
    *(
        (m, "released", f"{style.METHODS[m].label}, as released{ON_32.get(m, '')}", style.METHODS[m].colour, "s")
        for m in PRINTED
    ),
    *((m, "faithful", f"{style.METHODS[m].label}, faithful", style.METHODS[m].colour, "o") for m in PRINTED),
    *REFERENCES,
)
NOT_DEFINED = {"asd": {("meg", "released")}}  # the paper's ×
CAPTION = (
    "Correctness against GED. Red circles: what the paper's Table 1 prints. Squares: what the released code computes, "
    "re-implemented; they fall into or next to the circles. Dots: the same methods as their own papers define them, "
    "with 95 % intervals over folds. Triangle and star: a random order of edits made minimal, which learns nothing, "
    "and the optimum. GED counts 0 where a method finds nothing, so that a point to the left has to be at the top as "
    "well."
)


def draw(results: Results) -> list[Drawn]:
    """Draw Correctness against GED from a stored Table 1."""
    table, paper = results.table("table1"), results.paper("table1")
    missing = [] if table is not None else ["table1.csv"]
    drawing, axes = plt.subplots(1, 2, figsize=(style.PAGE, 3.3), sharey=True)
    for axis, (dataset, title) in zip(axes, TITLES.items(), strict=True):
        _printed_rows(axis, paper[paper["dataset"] == dataset], LABELS_ON_ASD if dataset == "asd" else LABELS)
        if table is not None:
            absent = _measured_rows(axis, _of(table, dataset), NOT_DEFINED.get(dataset, set()))
            missing += [f"{title}: {', '.join(absent)}"] if absent else []
        axis.set(xscale="log", xlabel="GED, mean over all test graphs (log scale)", title=title, ylim=(-0.03, 1.05))
        axis.margins(x=0.16)
        axis.xaxis.set_minor_formatter("")
    axes[0].set_ylabel("Correctness")
    drawing.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=6.5)
    source = ", ".join(results.sources) or "no file"
    drawing.suptitle(f"Few edits to the left, valid counterfactuals at the top (from {source})", fontsize=8)
    return [Drawn("tradeoff", drawing, CAPTION, missing=tuple(missing))]


def _of(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The rows of a data set; the released MEG on Tree-Cycles as it ran for the printed row, on 32 nodes."""
    released = (table["method"] == "meg") & (table["variant"] == "released")
    on_32 = released & (table["dataset"] == "tree-cycles-32") & (dataset == "tree-cycles")
    return table[on_32 | (~released & (table["dataset"] == dataset))]


def _printed_rows(axis: Axes, paper: pd.DataFrame, labels: dict[str, tuple[tuple[int, int], str, str]]) -> None:
    values = paper.pivot(index="method", columns="metric", values="value").apply(pd.to_numeric, errors="coerce")
    for method in PRINTED:
        if method not in values.index or values.loc[method, ["ged", "correctness"]].isna().any():
            continue
        x, y = values.loc[method, "ged"], values.loc[method, "correctness"]
        label = "printed in the paper's Table 1" if method == "rsgg-ce" else None
        axis.plot(x, y, "o", mfc="none", mec=style.RED, ms=8, label=label, zorder=2)
        offset, ha, va = labels[method]
        axis.annotate(
            style.METHODS[method].label, (x, y), xytext=offset, textcoords="offset points", ha=ha, va=va,
            fontsize=6.5, color=style.RED,
        )  # fmt: skip


def _measured_rows(axis: Axes, table: pd.DataFrame, not_defined: set[tuple[str, str]]) -> list[str]:
    """Draw the rows with their intervals; return the labels of those that are not stored."""
    absent = []
    for method, variant, label, colour, marker in SHOWN:
        rows = table[(table["method"] == method) & (table["variant"] == variant)].set_index("metric")
        if {"ged", "correctness"} <= set(rows.index):
            x, y = rows.loc["ged"], rows.loc["correctness"]
            axis.errorbar(
                x["mean"], y["mean"], fmt=marker, color=colour, ms=5 if marker == "s" else 6, elinewidth=1,
                label=label, zorder=3, xerr=[[x["mean"] - x["ci_low"]], [x["ci_high"] - x["mean"]]],
                yerr=[[y["mean"] - y["ci_low"]], [y["ci_high"] - y["mean"]]],
            )  # fmt: skip
        elif (method, variant) not in not_defined:
            absent.append(label)
    return absent


if __name__ == "__main__":
    figure.script("tradeoff", draw)
