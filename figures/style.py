"""One look for every figure: sizes, fonts and colours (colour-blind safe, Okabe-Ito), and how a figure is saved."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

COLUMN, PAGE = 3.4, 7.0  # widths of a column and of a page, in inches
BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#777777"


class Look(NamedTuple):
    """How a method, or a row of Table 1, is named and drawn."""

    label: str
    colour: str
    marker: str = "o"


METHODS = {  # the paper's five
    "rsgg-ce": Look("RSGG-CE", BLUE),
    "cf2": Look("CF²", GREEN),
    "clear": Look("CLEAR", SKY),
    "g-countergan": Look("G-CounteRGAN", ORANGE),
    "meg": Look("MEG", PINK),
}
ROWS = {  # rows of Table 1: circles are faithful, squares released; search is black, what controls is grey
    **{(name, "faithful"): look for name, look in METHODS.items()},
    ("rsgg-ce", "beyond"): Look("RSGG-CE, λ > 0", BLUE, "D"),
    **{(name, "released"): Look(f"{look.label}, as released", look.colour, "s") for name, look in METHODS.items()},
    ("rsgg-ce-untrained", "control"): Look("RSGG-CE, untrained", GREY, "h"),
    ("rsgg-ce-uniform", "control"): Look("RSGG-CE, no generator", GREY, "d"),
    ("rsgg-ce-multinomial", "control"): Look("RSGG-CE, untrained, multinomial", GREY, "p"),
    ("released-untrained", "control"): Look("RSGG-CE released, untrained", GREY, "1"),
    ("released-uniform", "control"): Look("RSGG-CE released, no generator", GREY, "2"),
    ("obs", "search"): Look("OBS", "black", "^"),
    ("ddbs", "search"): Look("DDBS", "black", "v"),
    ("irand", "search"): Look("iRand", "black", "<"),
    ("dce", "search"): Look("nearest data graph (DCE)", "black", ">"),
    ("random-min", "search"): Look("random edits + minimiser", "black", "P"),
    ("two-sided", "search"): Look("random order", "black", "X"),
    ("two-sided-min", "search"): Look("random order + minimiser", "black", "8"),
    ("random", "control"): Look("random edits until a flip", GREY, "P"),
    ("empty", "control"): Look("empty graph", GREY, "x"),
    ("complete", "control"): Look("complete graph", GREY, "+"),
    ("identity", "control"): Look("identity", GREY, "_"),
    ("optimum", "control"): Look("optimum", "black", "*"),
}

STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.5,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "rsgg",
}


def use() -> None:
    """Draw without a screen, in this style."""
    mpl.use("Agg")
    mpl.rcParams.update(STYLE)


def curve(method: str, variant: str) -> dict[str, Any]:
    """How the curve of a row is drawn: solid and filled, or dashed and hollow where it is as released."""
    look = ROWS[method, variant]
    released = variant == "released" or method.startswith("released")
    return {
        "label": look.label, "color": look.colour, "marker": look.marker, "markersize": 3,
        "linestyle": "--" if released else "-", "markerfacecolor": "white" if released else look.colour,
        "linewidth": 1, "markeredgewidth": 0.7,
    }  # fmt: skip


def small_print(figure: Figure, text: str) -> None:
    """Lines above all panels: under which conditions, and from which file; no wider than the figure."""
    signs = int(figure.get_size_inches()[0] * 72 / 3.2)  # of 6 points
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, signs)]
    figure.suptitle("\n".join(lines), fontsize=6, color=GREY)


def value_ticks(axis: Axes, values: Sequence[int]) -> None:
    """Ticks at the values of a grid, on a log scale if they span a decade; a label only where there is room for it."""
    logarithmic = axis.get_xscale() == "log" or max(values) >= 10 * min(values)
    place: np.ndarray = np.log(values) if logarithmic else np.array(values, float)
    share = (place - place.min()) / max(float(np.ptp(place)), 1e-9)
    width = [0.02 + 0.055 * len(str(value)) for value in values]  # of a label, as a share of half a column
    labelled, last = [0], len(values) - 1
    for i in range(1, len(values)):
        clear = [abs(share[i] - share[j]) >= (width[i] + width[j]) / 2 for j in {labelled[-1], last} - {i}]
        if all(clear):
            labelled.append(i)
    if logarithmic:
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xticks(list(values), [str(value) if i in labelled else "" for i, value in enumerate(values)])


def plain_numbers(axis: Axes) -> None:
    """1, 2, 5, 10 instead of powers on a log scale; the decades alone where there are many."""
    low, high = axis.get_ylim()
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """As vector PDF and as PNG, without dates inside, so that the same results give the same files.

    A PNG has 200 dots per inch, or more where the figure was made with more.
    """
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.pdf", folder / f"{name}.png"]
    figure.savefig(paths[0], metadata={"CreationDate": None})
    figure.savefig(paths[1], dpi=max(200, figure.get_dpi()), metadata={"Software": None})
    return paths
