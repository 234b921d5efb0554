"""Beyond the paper: Correctness of each predicted class apart, and what a share of one class looks like as a result.

    python figures/per_class.py [--results results/reference]

A method that turns every graph into a graph of one class explains all graphs of the other one and none of this: its
Correctness is the share of that other class. Drawn from `table1.csv`, beside what the paper prints.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from benchmarks.registry.methods import Row
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import Drawn

COLOURS = (style.BLUE, style.ORANGE)  # of class 0 and class 1
VARIANTS = ("released", "literal", "faithful", "beyond", "control", "search")  # top to bottom; a user's own come last
TEN: tuple[Row, ...] = tuple(  # the paper's methods, as released and as their own papers define them
    (method, variant) for method in ("rsgg-ce", "cf2", "clear", "g-countergan", "meg") for variant in figure.VARIANTS
)
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
    table, missing = figure.table_of(results, "table1", figure.TABLE1)
    versions = figure.ten_and_all(sorted(figure.rows_in(table), key=_group), TEN)
    return [_drawn(f"per_class{end}", results, table, rows, missing) for end, rows in versions.items()]


def _drawn(name: str, results: Results, table: pd.DataFrame, rows: Sequence[Row], missing: Sequence[str]) -> Drawn:
    tasks = figure.tasks_in(table)
    drawing, (axes,) = figure.panels(tasks, 1, 1.7 + 0.12 * len(rows), sharey=True)
    drawn, said = {}, []
    for axis, task in zip(axes, tasks, strict=True):
        own = table[table["dataset"] == task.name]
        drawn[task.name] = _stored(own)
        one_way = _panel(axis, own, task, rows)
        said += [f"{task.title}: one way go {'; '.join(one_way)}."] if one_way else []
        _printed(axis, results, task, rows)
        names = f"class 0: {task.class_name(0)}, class 1: {task.class_name(1)}"
        axis.set(xlim=(-0.04, 1.04), xlabel=f"Correctness\n({names})")
        for y in range(1, len(rows)):
            if _group(rows[y]) != _group(rows[y - 1]):
                axis.axhline(y - 0.5, color=style.GREY, lw=0.5, zorder=1)
    style.row_names(axes[0], rows)
    style.legend_below(drawing, _handles(), 3)
    figure.heading(drawing, "One way or both ways? Correctness per predicted class", results)
    missing = missing or figure.absent(rows, drawn)
    return Drawn(name, drawing, figure.caption(CAPTION, *said), missing=tuple(missing))


def _group(row: Row) -> int:
    return VARIANTS.index(row[1]) if row[1] in VARIANTS else len(VARIANTS)


def printed_distribution(datasets: pd.DataFrame, dataset: str) -> list[float]:
    """The class distribution of the paper's data-set table, e.g. "0.504 : 0.496"; empty for others than the paper's."""
    printed = datasets.set_index("statistic").loc["Class distribution"]
    return [float(share) for share in str(printed[dataset]).split(":")] if dataset in printed else []


def shares(table: pd.DataFrame) -> list[float]:
    """The share of test graphs that the oracle puts in each class: what the Correctness of a class averages over."""
    counts = table.groupby("metric")["n"].max()
    return [float(counts[f"correctness_class_{c}"] / counts["correctness"]) for c in (0, 1)]


def _stored(table: pd.DataFrame) -> set[Row]:
    both = [figure.only(table, metric=f"correctness_class_{c}")[["method", "variant"]] for c in (0, 1)]
    return set(both[0].itertuples(index=False, name=None)) & set(both[1].itertuples(index=False, name=None))


def _panel(axis: Axes, table: pd.DataFrame, task: TaskEntry, rows: Sequence[Row]) -> list[str]:
    """Draw the rows that are stored and the shares of the classes; return the names of those that go one way."""
    stored, one_way = _stored(table), []
    for share, colour in zip(shares(table), COLOURS, strict=True) if stored else ():
        axis.axvline(share, color=colour, ls="--", lw=0.9, zorder=1)
    for y, row in enumerate(rows):
        if row not in stored:
            word = "not defined here" if style.look(row).unsupported(task.name) else "missing"
            axis.text(0.02, y, word, va="center", fontsize=6, color=style.GREY)
            continue
        metrics = figure.only(table, row).set_index("metric")
        classes = [metrics.loc[f"correctness_class_{c}"] for c in (0, 1)]
        axis.plot([at["mean"] for at in classes], [y, y], color=style.GREY, lw=1, zorder=2)
        for at, colour, shift in zip(classes, COLOURS, (-0.12, 0.12), strict=True):
            axis.hlines(y + shift, at["ci_low"], at["ci_high"], color=colour, lw=0.8, zorder=3)
            axis.plot(at["mean"], y + shift, "o", color=colour, ms=4, zorder=3)
        axis.plot(metrics.loc["correctness", "mean"], y, "|", color="black", ms=9, mew=1.4, zorder=4)
        if abs(classes[0]["mean"] - classes[1]["mean"]) >= ONE_WAY:
            one_way.append(style.look(row).label)
    return one_way


def _printed(axis: Axes, results: Results, task: TaskEntry, rows: Sequence[Row]) -> None:
    """What the paper prints: a ring per method, and the class distribution as dotted lines."""
    for share in printed_distribution(results.paper("datasets"), task.name):
        axis.axvline(share, color=style.RED, ls=":", lw=0.9, zorder=1)
    paper = figure.only(results.paper("table1"), dataset=task.name, metric="correctness")
    for method, value in zip(paper["method"], pd.to_numeric(paper["value"], errors="coerce"), strict=True):
        axis.plot(value, rows.index((method, "released")), "o", mfc="none", mec=style.RED, ms=7, zorder=5)


def _handles() -> list[Line2D]:
    return [
        *(style.handle(f"graphs of class {c}", COLOURS[c], marker="o", ms=4) for c in (0, 1)),
        style.handle("all graphs: Correctness", "black", marker="|", ms=9, mew=1.4),
        style.handle("printed in the paper's Table 1", style.RED, marker="o", mfc="none", ms=7),
        *(style.handle(f"share of class {c} (oracle)", COLOURS[c], "--", lw=0.9) for c in (0, 1)),
        style.handle("class distribution as printed", style.RED, ":", lw=0.9),
    ]


if __name__ == "__main__":
    figure.script("per_class", draw)
