"""One look for every figure: sizes, fonts, colours (colour-blind safe), legends and headings, and how it is saved."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator
from matplotlib.transforms import Bbox, ScaledTranslation

from benchmarks.registry import methods
from benchmarks.registry.methods import BLUE, GREY, ORANGE, RED, SKY, Method, Row
from benchmarks.results.files import write_whole

__all__ = ["ADDED", "BLUE", "COLUMN", "GREY", "ORANGE", "PAGE", "RED", "REMOVED", "SKY"]

COLUMN, PAGE = 3.4, 7.0  # widths of a column and of a page, in inches
BLANK = 0.03  # inches that are left above and below a trimmed figure
REMOVED, ADDED = "#E00000", "#00A000"  # the paper's colours of edits
SCORES = "flare"  # seaborn's colours of scores from 0 to 1, all of which can be seen on white
TINTS = {  # of atoms, as molecules are often coloured, light enough for black symbols
    "C": "#CFD4D8", "H": "#FFFFFF", "N": "#A9C7FF", "O": "#FFB5AB", "S": "#FFE682", "P": "#FFC999", "F": "#CFF3C4",
    "Cl": "#A6E3A0", "Br": "#DDB99F", "I": "#D6B6E8",
}  # fmt: skip
FURTHER_TINTS = ("#B9DDF0", "#F6D9A8", "#B3E2CD", "#F3C6DA", "#D9D2EE", "#E8E3B5", "#CFE8E6", "#F0CDB8")
STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.linewidth": 0.8,
    "xtick.major.width": 0.8,
    "ytick.major.width": 0.8,
    "xtick.minor.width": 0.6,
    "ytick.minor.width": 0.6,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "xtick.minor.size": 2,
    "ytick.minor.size": 2,
    "grid.linewidth": 0.4,
    "grid.alpha": 0.5,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "rsgg",
    "pdf.fonttype": 42,  # TrueType: publishers, AAAI among them, refuse the Type 3 fonts that are matplotlib's default
    "ps.fonttype": 42,
}
SERIF: dict[Any, Any] = {  # what LaTeX articles are set in, as far as it is installed
    "font.family": ["serif", "DejaVu Sans"],  # the second has the signs that the first lacks, such as ᵖ
    "font.serif": ["Times New Roman", "Nimbus Roman", "Liberation Serif", "STIXGeneral"],
    "mathtext.fontset": "stix",
}


def use(*, serif: bool = False) -> None:
    """Draw without a screen, in this style: seaborn's for papers, with sizes and lines of our own."""
    import seaborn as sns  # here: looking up a colour does not need it, and importing it takes half a second

    mpl.use("Agg")
    sns.set_theme(context="paper", style="ticks", palette="colorblind", rc=STYLE | (SERIF if serif else {}))


# -- Rows of the tables ------------------------------------------------------------------------------------


def look(row: Row) -> Method:
    """How a row is called and drawn: as the registry declares it, marked if it is told more about the oracle than
    classes; in grey where it is not in there."""
    known = methods.rows().get(row) or Method(*row, "", methods.label(*row))
    return replace(known, label=f"{known.label} {methods.access(*row)}".strip())


def curve(row: Row) -> dict[str, Any]:
    """How the curve of a row is drawn: solid and filled, or dashed and hollow where it is as released; thicker where it
    is RSGG-CE, to be told from others without colours too."""
    own = look(row)
    return {
        "label": own.label, "color": own.colour, "marker": own.marker, "markersize": 3.6 if own.as_released else 3,
        "linestyle": "--" if own.as_released else "-", "markerfacecolor": "white" if own.as_released else own.colour,
        "linewidth": 1.4 if row[0].startswith("rsgg-ce") else 0.8, "markeredgewidth": 0.7,
        "zorder": 2.0 if own.as_released else 2.1,  # where both coincide, a filled mark is seen in the hollow one
    }  # fmt: skip


def apart(artists: Iterable[Artist], axis: Axes, right: float, up: float = 0.0) -> None:
    """Draw them so many points to the right of and above where they belong, so that curves that coincide are seen."""
    drawing = axis.get_figure(root=True)
    assert drawing is not None
    offset = ScaledTranslation(right / 72, up / 72, drawing.dpi_scale_trans)
    for artist in artists:
        artist.set_transform(axis.transData + offset)


def row_names(axis: Axes, rows: Sequence[Row]) -> None:
    """Rows from top to bottom on the y axis."""
    axis.set_yticks(range(len(rows)), [look(row).label for row in rows])
    axis.tick_params(axis="y", labelsize=6.5)
    axis.set_ylim(len(rows) - 0.4, -0.6)


def tint(label: str, position: int) -> str:
    """The colour behind the symbol of a node with this label: an element's, else one by position."""
    return TINTS.get(label) or FURTHER_TINTS[position % len(FURTHER_TINTS)]


# -- Legends -----------------------------------------------------------------------------------------------


def handle(label: str, colour: str, line: Any = "", marker: str = "", **how: Any) -> Line2D:
    """An entry of a legend."""
    return Line2D([], [], color=colour, ls=line, marker=marker, label=label, **how)


def drawn_in(axes: Iterable[Axes]) -> list[Artist]:
    """What these axes have drawn under a label, each label once."""
    handles: dict[str, Artist] = {}
    for axis in axes:
        handles |= {label: artist for artist, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    return [_without_bars(artist, label) for label, artist in handles.items()]


def _without_bars(artist: Any, label: str) -> Artist:
    """The mark alone of what is drawn with error bars: in a legend these look like another mark."""
    if isinstance(artist, ErrorbarContainer):
        (mark, *_) = artist.lines
        mark.set_label(label)
        return mark
    return artist


def legend_below(figure: Figure, handles: Sequence[Artist], columns: int, **how: Any) -> None:
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, fontsize=6.5, **how)


def legend_panel(axis: Axes, handles: Sequence[Artist], **how: Any) -> None:
    """A legend in a panel of its own. It may be wider than its panel without making the others narrow."""
    axis.axis("off")
    if handles:
        axis.legend(handles=handles, loc="center", **{"fontsize": 6, **how}).set_in_layout(False)


def fit_legends(figure: Figure) -> None:
    """Make the letters of legends that are wider than the figure smaller, until nothing of them is cut."""
    for _ in range(8):
        figure.draw_without_rendering()
        legends = [legend for axis in figure.axes if (legend := axis.get_legend())]
        cut = [one for one in legends if _outside(one.get_window_extent(), figure)]
        if not cut:
            return
        for text in (text for legend in cut for text in (*legend.get_texts(), legend.get_title())):
            text.set_fontsize(0.95 * float(text.get_fontsize()))


def _outside(box: Bbox, figure: Figure) -> bool:
    return bool(box.x0 < 0 or box.x1 > figure.bbox.width)


# -- Panels ------------------------------------------------------------------------------------------------


def column(
    panels: Sequence[Sequence[str]], height: float, legend: float, width: float = COLUMN
) -> tuple[Figure, dict[str, Axes]]:
    """A figure as wide as a column of text: named panels, and below them one called "legend", so many panels high."""
    mosaic: Any = [*map(list, panels), ["legend"] * len(panels[0])]
    ratios = [*(1.0 for _ in panels), legend]
    with mpl.rc_context({"axes.labelsize": 6.5}):
        figure, axes = plt.subplot_mosaic(mosaic, figsize=(width, height), height_ratios=ratios)
    for axis in axes.values():
        axis.tick_params(labelsize=6, which="both")
    axes["legend"].axis("off")
    return figure, axes


def panel_title(axis: Axes, text: str, size: float = 7) -> None:
    """A small title at the left, for the panels of a narrow figure."""
    axis.set_title(text, fontsize=size, loc="left")


# -- Words -------------------------------------------------------------------------------------------------


def heading(figure: Figure, text: str, size: float = 8, colour: str = "black") -> None:
    """Lines above all panels, no wider than the figure."""
    figure.suptitle("\n".join(wrapped(figure, text, size)), fontsize=size, color=colour)


def wrapped(figure: Figure, text: str, size: float) -> list[str]:
    """The text in lines that fit the figure at this font size: a sign is about half as wide as it is high."""
    signs = int(figure.get_size_inches()[0] * 72 / (0.53 * size))
    return [part for line in text.splitlines() for part in _balanced(line, signs)]


def _balanced(line: str, signs: int) -> list[str]:
    """In as few lines of at most so many signs as it takes, none of which is much shorter than the others."""
    fewest = len(textwrap.wrap(line, signs))
    while signs > 1 and len(textwrap.wrap(line, signs - 1)) == fewest:
        signs -= 1
    return textwrap.wrap(line, signs)


def say(axis: Axes, text: str) -> None:
    """Words in the middle of a panel that has nothing to show."""
    axis.set(xticks=[], yticks=[])
    axis.text(0.5, 0.5, text, ha="center", va="center", color=GREY, transform=axis.transAxes)


def switch_off(axes: np.ndarray) -> None:
    """Panels without axes."""
    for axis in axes.flat:
        axis.set_axis_off()


# -- Ticks -------------------------------------------------------------------------------------------------


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


# -- Files -------------------------------------------------------------------------------------------------


def _drawn(figure: Figure) -> Bbox:
    """The box around all that is drawn, in inches; a panel that has nothing but a legend counts as that legend."""
    legends = {axis: legend for axis in figure.axes if not axis.axison and (legend := axis.get_legend())}
    boxes = [legend.get_window_extent().transformed(figure.dpi_scale_trans.inverted()) for legend in legends.values()]
    for axis in legends:
        axis.set_visible(False)
    boxes.append(figure.get_tightbbox())
    for axis in legends:
        axis.set_visible(True)
    return Bbox.union(boxes)


def save(
    figure: Figure, folder: Path, name: str, about: Mapping[str, str] | None = None, *, trimmed: bool = False
) -> None:
    """As vector PDF and as PNG, without dates inside, so that the same results give the same files.

    A PNG has 200 dots per inch, or more where the figure was made with more. Words below the lower edge are in both.
    `about` (Title, Subject, Keywords) goes into the PDF's metadata. If `trimmed`, what is blank above and below all
    that is drawn is cut off; the width stays a column's or a page's.
    """
    fit_legends(figure)
    width, height = figure.get_size_inches()
    lowest = min((text.get_window_extent().y0 / figure.dpi - 0.03 for text in figure.texts), default=0.0)
    whole = Bbox.from_extents(0, min(lowest, 0.0), width, height)
    if trimmed:
        drawn = _drawn(figure)
        low, high = drawn.y0 - BLANK, min(height, drawn.y1 + BLANK)
        low, high = (round(edge * figure.dpi) / figure.dpi for edge in (low, high))  # whole dots: images stay sharp
        whole = Bbox.from_extents(0, low, width, high)
    figure.set_layout_engine("none")  # all has its place; legends of the figure stay where they are in the larger one
    for legend in figure.legends:
        if legend.get_bbox_to_anchor() is not figure.bbox:  # it was given a place of its own
            continue
        legend.set_bbox_to_anchor((0, 0, 1, 1), figure.transFigure)
    formats: dict[str, dict[str, Any]] = {
        "pdf": {"metadata": {"CreationDate": None, **(about or {})}},
        "png": {"metadata": {"Software": None}, "dpi": max(200, figure.get_dpi())},
    }
    for kind, how in formats.items():
        write_whole(folder / f"{name}.{kind}", partial(figure.savefig, format=kind, bbox_inches=whole, **how))
