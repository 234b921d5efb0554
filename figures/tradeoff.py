"""The first picture of the README: Correctness against GED / GED*, what Table 1 prints beside what each method does.

    python figures/tradeoff.py [--results results/reference]

Drawn from `table1.csv` alone; rows that are missing there are missing in the picture, which says so.
"""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Row
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.paper import measured_on
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

OF_PAPER: list[Row] = [(name, variant) for variant in ("released", "faithful") for name in methods.PAPER]
OPTIMUM: Row = ("optimum", "control")
NEEDED = ("correctness", "ged_on_success", "optimum_on_success")
BESIDE: list[Row] = [
    ("two-sided-min", "search"), ("rsgg-ce-certified", "beyond"), OPTIMUM, ("rsgg-ce", "literal"),
]  # fmt: skip
HOLLOW = {("two-sided-min", "search"): 9.0, ("rsgg-ce-certified", "beyond"): 11.0}  # around the optimum, by size
PLACES = {  # where a printed row's name stands, unless above its circle: offset in points and alignment
    "cf2": ((-7, -3), "right", "center"),
    "g-countergan": ((0, -8), "center", "top"),
    "rsgg-ce": ((0, -8), "center", "top"),
}
PLACES_ON_ASD = {**PLACES, "rsgg-ce": ((-7, 0), "right", "center"), "cf2": ((0, -8), "center", "top")}
PLACES_OF_DOTS = {  # else at the right
    "rsgg-ce": ((3, 11), "left", "center"), "clear": ((-6, 0), "right", "center"), "meg": ((-6, -4), "right", "center"),
    "g-countergan": ((-3, -14), "right", "center"),
}  # fmt: skip
DOTS_ON_ASD = {**PLACES_OF_DOTS, "rsgg-ce": ((6, 0), "left", "center"), "meg": ((0, 9), "center", "center")}
Places = dict[str, tuple[tuple[int, int], str, str]]


def draw(results: Results) -> list[Drawn]:
    """Draw Correctness against edits made over edits needed, from a stored Table 1."""
    table, missing = figure.table_of(results, "table1", figure.TABLE1)
    rows, paper = [*OF_PAPER, *BESIDE, *figure.own_rows(table)], results.paper("table1")
    shown_tasks = figure.tasks_in(table)
    drawing, (axes,) = figure.panels(shown_tasks, 1, 3.3, sharey=True)
    drawn: dict[str, set[Row]] = {}
    said: list[str] = []
    for axis, task in zip(axes, shown_tasks, strict=True):
        optimum = _mean_optimum(table, task)
        places, of_dots = (PLACES_ON_ASD, DOTS_ON_ASD) if task.name == "asd" else (PLACES, PLACES_OF_DOTS)
        _printed_rows(axis, paper[paper["dataset"] == task.name], optimum or 1.0, places)
        drawn[task.name] = {
            row for row in rows if _measured_row(axis, table, task, row, said, of_dots, over_optimum=bool(optimum))
        }
        what = "edits made / edits needed on what is explained" if optimum else "GED on success; GED* is not known"
        axis.set(xscale="log", xlabel=f"{what} (log)", ylim=(-0.03, 1.12))
        axis.margins(x=0.16)
        axis.xaxis.set_minor_formatter("")
    axes[0].set_ylabel("Correctness")
    style.legend_below(drawing, style.drawn_in(axes), 4)
    figure.heading(drawing, "Few edits to the left, valid counterfactuals at the top", results)
    missing = missing or figure.absent(rows, drawn)
    words = CAPTIONS["tradeoff"].format(around=" and ".join(style.look(row).label for row in HOLLOW))
    return [Drawn("tradeoff", drawing, figure.caption(words, *said), missing=tuple(missing))]


def _mean_optimum(table: pd.DataFrame, task: TaskEntry) -> float:
    """Mean GED* of all graphs of a task; 0 where an oracle's optimum is not known."""
    found = figure.only(table, OPTIMUM, dataset=task.name, metric="optimum_on_success")["mean"]
    return float(found.iloc[0]) if len(found) else 0.0


def _printed_rows(axis: Axes, paper: pd.DataFrame, optimum: float, places: Places) -> None:
    """Draw what the paper prints, at the printed GED over `optimum`."""
    values = paper.pivot(index="method", columns="metric", values="value").apply(pd.to_numeric, errors="coerce")
    for method, row in values.dropna(subset=["ged", "correctness"]).iterrows() if len(values) else ():
        at = row["ged"] / optimum, row["correctness"]
        axis.plot(*at, "o", mfc="none", mec=style.RED, ms=8, label="printed in the paper's Table 1", zorder=2)
        _name(axis, method, at, places.get(method, ((0, 7), "center", "bottom")), style.RED)


def _name(axis: Axes, method: str, at: tuple[float, float], place: tuple[tuple[int, int], str, str], ink: str) -> None:
    """The name of a method beside its mark, for those to whom its colour says nothing."""
    offset, ha, va = place
    words = methods.label(method)
    axis.annotate(words, at, xytext=offset, textcoords="offset points", ha=ha, va=va, fontsize=6.5, color=ink)


def _measured_row(
    axis: Axes, table: pd.DataFrame, task: TaskEntry, row: Row, said: list[str], places: Places, *, over_optimum: bool
) -> bool:
    """Draw a row with its intervals, if it is stored; as released, on the data that its printed row comes from."""
    dataset, look = measured_on(task.name, row[0]) if row[1] == "released" else task.name, style.look(row)
    metrics = figure.only(table, row, dataset=dataset).set_index("metric")
    if not {*NEEDED[: 3 if over_optimum else 2]} <= set(metrics.index):
        return False
    y, made = (metrics.loc[name, ["mean", "ci_low", "ci_high"]].astype(float) for name in NEEDED[:2])
    x = made / float(metrics.loc[NEEDED[2], "mean"]) if over_optimum else made
    x["ci_low"] = max(x["ci_low"], min(1.0, x["mean"])) if over_optimum else x["ci_low"]  # none needs fewer
    axis.errorbar(
        x["mean"], y["mean"], fmt=look.marker, color=look.colour, label=look.label, elinewidth=1, zorder=3,
        mfc="none" if row in HOLLOW else look.colour, ms=HOLLOW.get(row, 5 if look.marker == "s" else 6),
        xerr=[[x["mean"] - x["ci_low"]], [x["ci_high"] - x["mean"]]],
        yerr=[[y["mean"] - y["ci_low"]], [y["ci_high"] - y["mean"]]],
    )  # fmt: skip
    if row[1] == "faithful":
        _name(axis, row[0], (x["mean"], y["mean"]), places.get(row[0], ((6, -3), "left", "center")), style.GREY)
    if dataset != task.name:
        said.append(f"{look.label} is shown on {tasks.label(dataset)}, from which its printed row comes.")
    return True


if __name__ == "__main__":
    figure.script("tradeoff", draw)
