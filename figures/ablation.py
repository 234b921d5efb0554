"""The four ablations (Section 5.1): GED and Correctness as cycles, nodes or instances are varied on Tree-Cycles.

    python figures/ablation.py [--results results/reference]

Drawn from `ablation_<vary>.csv`. `ablation_<vary>` is the paper's figure: (a) GED, over n nodes where n is varied, (b)
Correctness, for RSGG-CE and CF² with standard errors over folds, and RSGG-CE taught and certified.
`ablation_<vary>_generator` asks whether the generator matters: the same samplers with an untrained generator and with
none, and what a sampler without a generator is predicted to score. Curves that coincide are drawn a few points apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

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
APART = 0.9  # points to the right by which a curve is drawn apart from the one before it


def draw(results: Results) -> list[Drawn]:
    """Draw GED and Correctness of the four ablations, from ablation_<vary>.csv."""
    return [drawn for grid in PAPER.values() for drawn in _ablation(results, grid)]


def _ablation(results: Results, grid: Grid) -> list[Drawn]:
    """The paper's figure of a grid, and the one that asks whether the generator matters."""
    name = f"ablation_{grid.vary}"
    table, missing = figure.table_of(results, name, COLUMNS, f"ablation --vary {grid.vary}")
    ged, label = ("ged_per_node", "GED / n") if grid.vary == "n_nodes" else ("ged", "GED")
    path, values = results.path(name), list(grid.points)
    per_node = " over the number n of nodes" if grid.vary == "n_nodes" else ""
    own = [row for row in figure.own_rows(table) if row[0] != PREDICTION]
    of_methods, of_generator = seen(table, ged, label), whether_it_matters(table)
    drawn = []
    for end, rows, said, place in (
        ("", (*METHODS, *own), of_methods, f"Figure: {grid.label} varied"),
        ("_generator", (*OF_PAPER, *OF_RELEASED), of_generator, ""),
    ):
        about = CAPTIONS[f"ablation{end}"].format(per_node=per_node, title=grid.title, label=grid.label)
        drawing = _drawing(table, grid, {ged: label, "correctness": "Correctness"}, rows)
        question = "Does the generator matter? " if end else ""
        figure.small_print(drawing, f"{question}Tree-Cycles, {grid.title}; bars: standard errors.", path)
        gap = tuple(missing or gaps(table, values, [row for row in rows if row in ROWS]))
        drawn.append(
            Drawn(f"{name}{end}", drawing, figure.caption(about, *said), place, gap, (shown(path),) if path else ())
        )
    return drawn


# -- Panels --------------------------------------------------------------------------------------------------------


def _drawing(table: pd.DataFrame, grid: Grid, metrics: Mapping[str, str], rows: Sequence[Row]) -> Figure:
    """Two panels in a row, (a) GED and (b) Correctness, and the legend below them."""
    drawing, axes = style.column(["ab"], 2.5, 0.45)
    for panel, (metric, label) in zip("ab", metrics.items(), strict=True):
        _panel(axes[panel], table, grid, metric, rows)
        scale = axes[panel].get_yscale()
        how = {"log": ", log scale", "symlog": ", symlog scale"}.get(scale, "")
        style.panel_title(axes[panel], f"({panel}) {label} {'↑' if metric == 'correctness' else '↓'}{how}")
        axes[panel].set_xlabel(grid.label)
    handles = style.drawn_in((axes["a"], axes["b"]))
    style.legend_panel(axes["legend"], handles, ncols=2, columnspacing=1.5, handlelength=2.2)
    return drawing


def of(table: pd.DataFrame, row: Row, metric: str) -> pd.DataFrame:
    """The curve of a row: the lines of one metric by value."""
    return figure.only(table, row, metric=metric).sort_values("value").set_index("value")


def _panel(axis: Axes, table: pd.DataFrame, grid: Grid, metric: str, rows: Sequence[Row]) -> None:
    if table.empty:
        return style.say(axis, "not computed yet")
    if any(row[1] == "control" for row in rows):
        _prediction(axis, table, metric)
    for number, row in enumerate(rows):
        line = of(table, row, metric)
        if len(line):
            look = style.curve(row) | ({"linewidth": 0.6} if row[1] == "control" else {})
            bars = axis.errorbar(line.index, line["mean"], yerr=line["se"], elinewidth=0.6, capsize=1.2, **look)
            style.apart(bars.get_children(), axis, APART * (number - (len(rows) - 1) / 2))
            for artist in bars.get_children():
                artist.set_clip_on(False)  # a mark at 0 or 1 is seen whole
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
    return said


def whether_it_matters(table: pd.DataFrame) -> list[str]:
    """How far the released row is from what its sampler scores without a generator, and what training changes."""
    said = []
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


def gaps(table: pd.DataFrame, values: Sequence[int], rows: Sequence[Row] = ROWS) -> list[str]:
    """What the curves lack: points of the grid, rows that lack the same ones together, and folds."""
    lacking: dict[str, list[str]] = {}
    for row in rows:
        absent = [str(value) for value in values if value not in of(table, row, "correctness").index]
        lacking.setdefault(", ".join(absent), []).append(style.look(row).label)
    said = [
        f"{'all curves' if len(labels) == len(rows) else ' / '.join(labels)} at {absent}"
        for absent, labels in lacking.items()
        if absent
    ]
    few = sum(int((of(table, row, "correctness")["folds"] < FOLDS).sum()) for row in rows)
    return said + ([f"folds: fewer than ten at {few} of {len(rows) * len(values)} points"] if few else [])


if __name__ == "__main__":
    figure.script("ablation", draw)
