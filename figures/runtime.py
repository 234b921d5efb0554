"""Efficiency (appendix): runtime at inference as graphs and data sets grow, and what else grows with them.

    python figures/runtime.py [--results results/reference]

Drawn from `runtime.csv` and `runtime_growth.csv`: medians with quartiles over repeated measurements, on log-log axes,
so that an exponent of growth is a slope. The first figure is the paper's; the second shows training time and memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from benchmarks.registry.methods import Row
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

COLUMNS = "vary value method variant graphs quantity median low high note"
GROWTH = "vary method variant quantity exponent ci_low ci_high"
ROWS: tuple[Row, ...] = tuple((m, v) for m in ("rsgg-ce", "cf2") for v in ("faithful", "released"))
VARIED = {"n_nodes": "nodes n", "n_instances": "instances m"}
SYMBOL = {"n_nodes": "n", "n_instances": "m"}
CLAIMED = {"n_nodes": (1, "linear"), "n_instances": (0, "flat")}  # of RSGG-CE, by the paper
DOTTED: dict[str, Any] = {"linestyle": ":", "color": "black", "linewidth": 1, "zorder": 1}
SECONDS = "CPU seconds per explained graph"
GROWING = {"fit_seconds": "CPU seconds to fit", "memory_mb": "peak memory, MB"}
DISTURBED = "something else"


def draw(results: Results) -> list[Drawn]:
    """Draw runtime, training time and memory against n and the number of instances, from runtime.csv."""
    (table, absent), (growth, _) = (
        figure.table_of(results, name, columns, "runtime")
        for name, columns in (("runtime", COLUMNS), ("runtime_growth", GROWTH))
    )
    absent, drawn = absent or gaps(table), []
    for name, paper, picture in (
        ("runtime", "Figure: Runtime at inference", _inference(table, growth)),
        ("runtime_fit_memory", "", _fit_and_memory(table)),
    ):
        figure.small_print(picture, f"Tree-Cycles, one thread.{_disturbed(table)}", results.path("runtime"))
        words = figure.caption(CAPTIONS[name], *(seen(growth) if name == "runtime" else ())) + _disturbed(table)
        drawn.append(Drawn(name, picture, words, paper, tuple(absent)))
    return drawn


# -- Panels --------------------------------------------------------------------------------------------------------


def of(table: pd.DataFrame, vary: str, row: Row, quantity: str) -> pd.DataFrame:
    """The measured points of a row, by the value that is varied."""
    return figure.only(table, row, vary=vary, quantity=quantity).sort_values("value")


def _inference(table: pd.DataFrame, growth: pd.DataFrame) -> Figure:
    drawing, axes = style.column([tuple(VARIED)], 3.3, 0.55)
    for vary, letter in zip(VARIED, "ab", strict=True):
        axis = axes[vary]
        _panel(axis, table, vary, "inference_seconds")
        _claim(axis, of(table, vary, ("rsgg-ce", "faithful"), "inference_seconds"), vary)
        style.panel_title(axis, f"({letter}) against {VARIED[vary]}")
    axes["n_nodes"].set_ylabel(SECONDS)
    _same_height([axes[vary] for vary in VARIED])
    _legend(axes["legend"], table, _exponents(growth, "inference_seconds"), claims=True)
    return drawing


def _fit_and_memory(table: pd.DataFrame) -> Figure:
    drawing, axes = style.column([("fn", "fm"), ("mn", "mm")], 4.4, 0.32)
    for row, (quantity, label) in zip("fm", GROWING.items(), strict=True):
        pair = [axes[f"{row}n"], axes[f"{row}m"]]
        for axis, vary in zip(pair, VARIED, strict=True):
            _panel(axis, table, vary, quantity)
        pair[0].set_ylabel(label)
        _same_height(pair)
    _legend(axes["legend"], table, {})
    return drawing


def _panel(axis: Axes, table: pd.DataFrame, vary: str, quantity: str) -> None:
    axis.set_xlabel(VARIED[vary])
    values: set[int] = set()
    for row in ROWS:
        points = of(table, vary, row, quantity)
        points = points[points["median"] > 0]  # a log scale has no place for what was too quick to measure
        values |= {int(value) for value in points["value"]}
        sizes = points.groupby("graphs") if quantity in GROWING and vary == "n_nodes" else [("", points)]
        for _, own in sizes:
            spread = [own["median"] - own["low"], own["high"] - own["median"]] if len(own) else None
            axis.errorbar(own["value"], own["median"], yerr=spread, elinewidth=0.6, capsize=1.2, **style.curve(row))
    if values:
        axis.set(xscale="log", yscale="log")
        axis.yaxis.set_minor_locator(NullLocator())  # decades are enough where there are many
        style.value_ticks(axis, sorted(values))
    else:
        style.say(axis, "not measured yet")


def _claim(axis: Axes, points: pd.DataFrame, vary: str) -> None:
    """The slope that the paper claims, through the middle of RSGG-CE's own points."""
    if points.empty:
        return
    slope, _ = CLAIMED[vary]
    x = np.array([points["value"].min(), points["value"].max()], float)
    middle = np.exp(np.log(points[["value", "median"]].to_numpy(float)).mean(0))
    axis.plot(x, middle[1] * (x / middle[0]) ** slope, **DOTTED, label=f"slope {slope}")


def _same_height(axes: Sequence[Axes]) -> None:
    """One y range for panels that stand side by side."""
    limits = np.array([axis.get_ylim() for axis in axes if axis.lines])
    for axis in axes:
        if len(limits) and axis.lines:
            axis.set_ylim(limits[:, 0].min(), limits[:, 1].max())


def _legend(axis: Axes, table: pd.DataFrame, exponents: Mapping[Row, str], *, claims: bool = False) -> None:
    present = set(zip(table["method"], table["variant"], strict=True))
    looks = {row: style.curve(row) for row in ROWS if row in present}
    handles = [
        Line2D([], [], **{**look, "label": f"{look['label']}{exponents.get(row, '')}"}) for row, look in looks.items()
    ]
    if handles and claims:
        handles.append(Line2D([], [], **DOTTED, label="the paper on RSGG-CE: $n^1$ and $m^0$, linear and flat"))
    title = "growth exponents over the largest decade, 95 % intervals" if exponents else None
    style.legend_panel(axis, handles, title=title, title_fontsize=6, ncols=1 if exponents or claims else 2)


# -- Words ---------------------------------------------------------------------------------------------------------


def _exponents(growth: pd.DataFrame, quantity: str) -> dict[Row, str]:
    """What the legend says behind the name of each row: its growth exponents with intervals, in nodes and instances,
    as in ": n^1.02 [0.95, 1.10], m^0.01 [-0.03, 0.05]"."""
    said: dict[Row, list[str]] = {}
    for line in figure.only(growth, quantity=quantity).to_dict("records"):
        interval = (
            "" if pd.isna(line["ci_low"]) else f" [{line['ci_low']:.2f}, {line['ci_high']:.2f}]".replace("-", "−")
        )
        power = f"${SYMBOL[line['vary']]}^{{{line['exponent']:.2f}}}${interval}"
        said.setdefault((line["method"], line["variant"]), []).append(power)
    return {row: ": " + ", ".join(parts) for row, parts in said.items()}


def seen(growth: pd.DataFrame) -> list[str]:
    """The fitted exponents of RSGG-CE beside the paper's, in words."""
    said = []
    for vary, (claimed, name) in CLAIMED.items():
        fitted = figure.only(growth, vary=vary, method="rsgg-ce", quantity="inference_seconds")
        for line in fitted.to_dict("records"):
            label = style.look((line["method"], line["variant"])).label
            if pd.isna(line["ci_low"]):
                fits = "; too few points for an interval"
            else:
                outside = "more than" if line["ci_low"] > claimed else "less than" if line["ci_high"] < claimed else ""
                fits = f" (95 % interval {line['ci_low']:.2f} to {line['ci_high']:.2f}), "
                fits += f"{outside} “{name}”" if outside else f"which agrees with “{name}”"
            said.append(f"{label} has exponent {line['exponent']:.2f} in {SYMBOL[vary]}{fits}.")
    return said


def _disturbed(table: pd.DataFrame) -> str:
    """A warning where other work was running: such times are not to be trusted."""
    notes = table[table["note"].astype(str).str.contains(DISTURBED)]
    points = notes.groupby(["vary", "value", "method", "variant"]).ngroups
    return f" At {points} points other work kept the machine busy." if points else ""


def gaps(table: pd.DataFrame) -> list[str]:
    """Rows that were not measured, points that failed, and points that only other rows have."""
    said = []
    for vary in VARIED:
        values = {row: set(of(table, vary, row, "inference_seconds")["value"]) for row in ROWS}
        common = {v for v in set().union(*values.values()) if sum(v in own for own in values.values()) > 1}
        if not common:
            said.append(f"all against {VARIED[vary]}")
            continue
        for row, own in values.items():
            lacking = sorted(common - own)
            what = f" at {', '.join(map(str, lacking))}" if own else ""
            said += [f"{style.look(row).label} against {VARIED[vary]}{what}"] * bool(lacking)
    failed = figure.only(table, quantity="failed").itertuples()
    return said + [f"{style.look((f.method, f.variant)).label} failed at {f.vary} = {f.value}" for f in failed]


if __name__ == "__main__":
    figure.script("runtime", draw)
