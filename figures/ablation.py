"""The four ablations (Section 5.1): GED and Correctness as cycles, nodes or instances are varied on Tree-Cycles.

    python figures/ablation.py [--results results/reference]

Drawn from `ablation_<vary>.csv`. Above, as in the paper: (a) GED, over n nodes where n is varied, (b) Correctness, for
RSGG-CE and CF² with standard errors over folds, and RSGG-CE taught and certified. Below, the question whether the
generator matters: the same samplers with an untrained generator and with none, and what a sampler without a generator
is predicted to score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from benchmarks.registry.ablations import PAPER, Grid
from benchmarks.registry.methods import Row
from benchmarks.results.cell import FOLDS
from benchmarks.results.files import shown
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

METHODS: tuple[Row, ...] = (
    *((method, variant) for method in ("rsgg-ce", "cf2") for variant in ("faithful", "released")),
    ("rsgg-ce-certified", "beyond"),
)
OF_PAPER: tuple[Row, ...] = (
    ("rsgg-ce", "faithful"), ("rsgg-ce-untrained", "control"), ("rsgg-ce-uniform", "control")
)  # fmt: skip
OF_RELEASED: tuple[Row, ...] = (
    ("rsgg-ce", "released"), ("released-untrained", "control"), ("released-uniform", "control")
)  # fmt: skip
ROWS = tuple(dict.fromkeys((*METHODS, *OF_PAPER, *OF_RELEASED)))
COLUMNS = "value method variant metric mean se ci_low ci_high folds"
PREDICTION = "uniform-sampler"
PREDICTED = "prediction: no generator"


def draw(results: Results) -> list[Drawn]:
    """Draw GED and Correctness of the four ablations, from ablation_<vary>.csv."""
    return [_ablation(results, grid) for grid in PAPER.values()]


def _ablation(results: Results, grid: Grid) -> Drawn:
    name = f"ablation_{grid.vary}"
    table, missing = figure.table_of(results, name, COLUMNS, f"ablation --vary {grid.vary}")
    ged, label = ("ged_per_node", "GED / n") if grid.vary == "n_nodes" else ("ged", "GED")
    drawing, axes = style.column(["ab", "cd"], 4.6, 0.5)
    own = [row for row in figure.own_rows(table) if row[0] != PREDICTION]
    for panels, rows in (("ab", [*METHODS, *own]), ("cd", [*OF_PAPER, *OF_RELEASED])):
        for panel, metric in zip(panels, (ged, "correctness"), strict=True):
            _panel(axes[panel], table, grid, metric, rows)
    above = {"a": "", "b": "", "c": "Does the generator matter?\n", "d": ""}  # stands above both lower panels
    for panel, words in above.items():
        what = f"{label} ↓, log scale" if panel in "ac" else "Correctness ↑"
        style.panel_title(axes[panel], f"{words}({panel}) {what}")
    axes["c"].set_xlabel(grid.label)
    axes["d"].set_xlabel(grid.label)
    handles = style.drawn_in((axes["a"], axes["d"]))
    style.legend_panel(axes["legend"], handles, ncols=2, columnspacing=0.5, handlelength=1.8)
    path = results.path(name)
    figure.small_print(drawing, f"Tree-Cycles, {grid.title}; bars: standard errors.", path)
    per_node = " over the number n of nodes" if grid.vary == "n_nodes" else ""
    about = CAPTIONS["ablation"].format(per_node=per_node, title=grid.title, label=grid.label)
    words = figure.caption(about, *seen(table, ged, label))
    sources = (shown(path),) if path else ()
    missing = missing or gaps(table, list(grid.points))
    return Drawn(name, drawing, words, f"Figure: {grid.label} varied", tuple(missing), sources)


# -- Panels --------------------------------------------------------------------------------------------------------


def of(table: pd.DataFrame, row: Row, metric: str) -> pd.DataFrame:
    """The curve of a row: the lines of one metric by value."""
    return figure.only(table, row, metric=metric).sort_values("value").set_index("value")


def _panel(axis: Axes, table: pd.DataFrame, grid: Grid, metric: str, rows: Sequence[Row]) -> None:
    if table.empty:
        return style.say(axis, "not computed yet")
    _prediction(axis, table, metric)
    for row in rows:
        line = of(table, row, metric)
        if len(line):
            look = style.curve(row) | ({"linewidth": 0.6, "markersize": 4} if row[1] == "control" else {})
            axis.errorbar(line.index, line["mean"], yerr=line["se"], elinewidth=0.6, capsize=1.2, **look)
    style.value_ticks(axis, sorted({*grid.points, *table["value"]}))
    if metric == "correctness":
        axis.set_ylim(-0.03, 1.05)
    else:
        drawn = table[(table["metric"] == metric) & table["method"].isin({method for method, _ in rows})]["mean"]
        _height(axis, drawn[drawn > 0], bool((drawn <= 0).any()))


def _height(axis: Axes, positive: pd.Series, zeros: bool) -> None:
    """A log scale, since GED spans two decades; linear near zero where a method changed nothing at all."""
    if len(positive) and zeros:
        first, last = math.floor(math.log10(positive.min())), math.ceil(math.log10(positive.max()))
        decades = [10.0**decade for decade in range(first, last)] or [10.0**first]
        axis.set_yscale("symlog", linthresh=decades[0])
        axis.set_ylim(0, 1.7 * positive.max())  # no method makes fewer edits than none; no marker is cut above
        axis.set_yticks([0, *decades], ["0", *(f"{decade:g}" for decade in decades)])
        axis.minorticks_off()
    elif len(positive):
        axis.set_yscale("log")
        style.plain_numbers(axis)


def _prediction(axis: Axes, table: pd.DataFrame, metric: str) -> None:
    """The band of the Monte Carlo prediction; the line is the closed form where there is one."""
    simulated, closed = (of(table, (PREDICTION, how), metric) for how in ("monte carlo", "closed form"))
    if len(simulated):
        axis.fill_between(
            simulated.index, simulated["ci_low"], simulated["ci_high"], color=style.GREY, alpha=0.3, lw=0, zorder=1
        )
    line = closed if len(closed) else simulated
    if len(line):
        axis.plot(line.index, line["mean"], color=style.GREY, lw=2, alpha=0.6, label=PREDICTED, zorder=1)


# -- Words ---------------------------------------------------------------------------------------------------------


def seen(table: pd.DataFrame, ged: str, label: str) -> list[str]:
    """What the curves show, in sentences made from their numbers."""
    said = []
    for row in METHODS:
        correct, cost = (of(table, row, metric)["mean"] for metric in ("correctness", ged))
        if len(correct) > 1 and len(cost) > 1:
            said.append(
                f"{style.look(row).label}: from {correct.index[0]} to {correct.index[-1]}, Correctness goes from "
                f"{correct.iloc[0]:.2f} to {correct.iloc[-1]:.2f} and {label} from {cost.iloc[0]:.3g} to "
                f"{cost.iloc[-1]:.3g}."
            )
    predicted, released, trained, untrained = (
        of(table, row, "correctness")["mean"] for row in ((PREDICTION, "closed form"), OF_RELEASED[0], *OF_PAPER[:2])
    )
    off, gain = (released - predicted).abs().dropna(), (trained - untrained).dropna()
    if len(off):
        follows = off.max() <= 0.1 and len(off) >= 3  # fewer points are no trend
        how, trend = ("at most", ": the trend is the sampler's") if follows else ("up to", "")
        said.append(
            f"As released, RSGG-CE's Correctness is {how} {off.max():.2f} away from what its sampler scores without "
            f"any generator{trend}."
        )
    if len(gain):
        least, most = f"{gain.min():+.2f}", f"{gain.max():+.2f}"
        span = least if least == most else f"between {least} and {most}"
        said.append(f"Training by score function changes Correctness by {span} over an untrained generator.")
    return said


def gaps(table: pd.DataFrame, values: Sequence[int]) -> list[str]:
    """What the curves lack: points of the grid, rows that lack the same ones together, and folds."""
    lacking: dict[str, list[str]] = {}
    for row in ROWS:
        absent = [str(value) for value in values if value not in of(table, row, "correctness").index]
        lacking.setdefault(", ".join(absent), []).append(style.look(row).label)
    said = [
        f"{'all curves' if len(labels) == len(ROWS) else ' / '.join(labels)} at {absent}"
        for absent, labels in lacking.items()
        if absent
    ]
    few = table[(table["folds"] < FOLDS) & (table["method"] != PREDICTION) & (table["metric"] == "correctness")]
    return said + ([f"folds: fewer than ten at {len(few)} of {len(ROWS) * len(values)} points"] if len(few) else [])


if __name__ == "__main__":
    figure.script("ablation", draw)
