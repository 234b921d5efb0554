"""Pictograms of all counterfactuals (appendix, the figures on Tree-Cycles and ASD): every node pair is one pixel.

    python figures/pictograms.py [--results results/reference]

A row per fold, a block per test graph, a pixel per node pair: black kept, red removed, green added, white neither. A
block that is white all over is a graph without a valid counterfactual: the class did not change. Everything is read
from the ledger of Table 1's cells. Besides the paper's colours there is a twin in colours that all readers can tell
apart (`…_safe`). On ASD, (b) enlarges some blocks of RSGG-CE and (c) a single one.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.transforms import Bbox, ScaledTranslation, Transform

from benchmarks.registry import methods
from benchmarks.registry.tasks import TaskEntry
from benchmarks.registry.tasks import of_paper as of_the_paper
from benchmarks.results.cell import FOLDS
from benchmarks.results.reader import Results, edited
from figures import figure, style
from figures.figure import CAPTIONS, VARIANTS, Drawn

NEITHER, KEPT, REMOVED, ADDED, LINE = range(5)  # what a pixel says; LINE is between blocks and where no graph is
METHODS = sorted(methods.PAPER)
PALETTES = {  # colours of NEITHER, KEPT, REMOVED, ADDED, LINE, and what the caption calls them
    "": (("white", "black", style.REMOVED, style.ADDED, "#DDDDDD"), "Black edges are kept, red are removed and green"),
    "_safe": (  # for the colour-blind, and with pale kept edges, among which few edits are seen
        ("white", "#B8B8B8", style.RED, style.BLUE, "#DDDDDD"), "Grey edges are kept, vermilion are removed and blue"
    ),
}  # fmt: skip
LEGEND = {KEPT: "kept", REMOVED: "removed", ADDED: "added", NEITHER: "no edge, or (all white) no valid counterfactual"}

Inputs = Mapping[int, np.ndarray]


# -- Pixels --------------------------------------------------------------------------------------------------------


def is_valid(ledger: pd.DataFrame) -> pd.Series:
    """Did the class change?"""
    return ledger["found"] & (ledger["predicted"] != ledger["predicted_cf"])


def block(adjacency: np.ndarray, edits: object) -> np.ndarray:
    """The codes of all node pairs of one counterfactual, uint8 [n, n]."""
    before, after = adjacency > 0, edited(adjacency, edits) > 0
    codes = np.select([before & after, before, after], [KEPT, REMOVED, ADDED], NEITHER)
    return codes.astype(np.uint8)


def mosaic(rows: Sequence[Sequence[np.ndarray]]) -> np.ndarray:
    """Square blocks in rows, with lines of one pixel between and around them; LINE too where there is no graph."""
    n, columns = max(len(codes) for row in rows for codes in row), max(map(len, rows))
    image = np.full((len(rows) * (n + 1) + 1, columns * (n + 1) + 1), LINE, dtype=np.uint8)
    for i, row in enumerate(rows):
        for j, codes in enumerate(row):
            top, left = i * (n + 1) + 1, j * (n + 1) + 1
            image[top : top + len(codes), left : left + len(codes)] = codes
    return image


def pixels(inputs: Inputs, ledger: pd.DataFrame) -> np.ndarray:
    """A row of blocks per fold, in each the test graphs by number; white where the class did not change, uint8."""
    valid = is_valid(ledger)
    rows: list[list[np.ndarray]] = []
    for _, fold in ledger.sort_values(["fold", "instance"]).groupby("fold"):
        graphs = ((inputs[int(row.instance)], row.edits, valid[row.Index]) for row in fold.itertuples())
        rows.append([block(graph, edits) if ok else np.zeros_like(graph) for graph, edits, ok in graphs])
    return mosaic(rows)


@dataclass(frozen=True)
class Panel:
    """The counterfactuals of one method."""

    label: str
    inputs: Inputs
    ledger: pd.DataFrame

    @cached_property
    def image(self) -> np.ndarray:
        return pixels(self.inputs, self.ledger)

    @cached_property
    def valid(self) -> pd.DataFrame:
        return self.ledger[is_valid(self.ledger)]

    @property
    def folds(self) -> list[int]:
        return sorted(self.ledger["fold"].unique())

    @property
    def n_nodes(self) -> int:
        """How many nodes the largest graph has."""
        return (len(self.image) - 1) // len(self.folds) - 1

    @cached_property
    def means(self) -> str:
        """Of edges removed, added and kept per valid counterfactual."""
        found = [block(self.inputs[int(row.instance)], row.edits) for row in self.valid.itertuples()]
        totals = [sum(int(np.triu(one == code).sum()) for one in found) for code in (REMOVED, ADDED, KEPT)]
        means = [total / max(1, len(found)) for total in totals]
        removed, added, kept = (f"{mean:.0f}" if mean >= 100 else f"{mean:.1f}" for mean in means)
        return f"mean {removed} removed, {added} added, {kept} kept"

    @property
    def words(self) -> str:
        return f"{len(self.valid)} of {len(self.ledger)} valid; {self.means}"


# -- Pages ---------------------------------------------------------------------------------------------------------


@dataclass
class Page:
    """A figure measured in its own dots from its upper left corner: every pixel of an image is a whole number of dots.

    It may grow at its lower end afterwards (`note_missing`); nothing moves then.
    """

    width: int
    height: int
    dots_per_inch: int
    colours: Sequence[str]

    def __post_init__(self) -> None:
        size = (self.width / self.dots_per_inch, self.height / self.dots_per_inch)
        self.figure: Figure = plt.figure(figsize=size, dpi=self.dots_per_inch)
        self.figure.set_layout_engine("none")  # places are given; as an argument of plt.figure, saving would forget it

    def image(self, codes: np.ndarray, left: int, top: int, scale: int, folds: Sequence[int] = ()) -> None:
        """Codes with `scale` dots per pixel, not smoothed or resampled; rows of blocks are numbered by `folds`."""
        height, width = codes.shape[0] * scale, codes.shape[1] * scale
        axes: Axes = self.figure.add_axes((0, 0, 1, 1))

        def place(_: object, renderer: object) -> Bbox:
            across, down = self.figure.get_size_inches() * self.dots_per_inch
            return Bbox.from_bounds(left / across, round(down - top - height) / down, width / across, height / down)

        axes.set_axes_locator(place)
        colours = ListedColormap(list(self.colours))
        axes.imshow(codes, cmap=colours, vmin=0, vmax=LINE, interpolation="none", aspect="auto")
        step = codes.shape[0] // max(1, len(folds))
        axes.set_xticks([])
        axes.set_yticks([(i + 0.5) * step for i in range(len(folds))], [str(fold) for fold in folds], fontsize=6)
        axes.tick_params(axis="y", length=0, pad=2)
        axes.grid(False)
        axes.spines[:].set_visible(False)

    def text(self, left: float, top: float, text: str, size: float = 7, **how: Any) -> None:
        """Text whose upper left corner is here."""
        where: dict[str, Any] = {"ha": "left", "va": "top", "fontsize": size, **how}
        self.figure.text(0, 1, text, transform=self._from_corner(left, top), **where)

    def _from_corner(self, left: float, top: float) -> Transform:
        """What takes the upper left corner of the figure to this place."""
        inches = left / self.dots_per_inch, -top / self.dots_per_inch
        return self.figure.transFigure + ScaledTranslation(*inches, self.figure.dpi_scale_trans)

    def legend(self, labels: Mapping[int, str], left: float, top: float, columns: int) -> None:
        patches = [
            Patch(facecolor=self.colours[code], edgecolor="#999999", linewidth=0.5, label=label)
            for code, label in labels.items()
        ]
        self.figure.legend(
            handles=patches, ncols=columns, loc="upper left", borderpad=0, borderaxespad=0, fontsize=6.5,
            bbox_to_anchor=(0, 1), bbox_transform=self._from_corner(left, top), handlelength=1.2, columnspacing=1.2,
        )  # fmt: skip


Panels = Mapping[str, Panel | str]  # by the method's label; a text says why there is nothing to show
ACROSS = 1375  # dots from one panel to the next where three stand beside each other


def page(panels: Panels, colours: Sequence[str], heading: str, source: str) -> tuple[Figure, bool]:
    """All methods on one page, and whether they stand beside each other.

    Below each other (Tree-Cycles: two dots per pixel), unless there are so few graphs in a fold that three fit beside
    each other (ASD: one dot per pixel); then RSGG-CE's blocks are enlarged in the last place.
    """
    shapes = [panel.image.shape for panel in panels.values() if isinstance(panel, Panel)] or [(291, 1451)]
    height, width = max(shape[0] for shape in shapes), max(shape[1] for shape in shapes)
    beside = width < ACROSS
    dpi, left, head = (600, 75, 130) if beside else (450, 130, 60)
    room = ACROSS - left if beside else round(style.PAGE * dpi) - left - 20
    scale = max(1, room // width)
    down = height * scale + head + (29 if beside else 48)
    down = max(down, 1330) if beside else down  # what is enlarged needs that
    bottom = 125 + down * (2 if beside else len(panels))
    sheet = Page(max(round(style.PAGE * dpi), left + width * scale), bottom + dpi // 3, dpi, colours)
    if beside:
        sheet.text(left, 30, "(a)", 8)  # (b) and (c) are the enlarged blocks
    sheet.text(left + (130 if beside else 0), 30, heading, 8, gid=figure.FOR_THE_REPORT)
    for i, (label, panel) in enumerate(panels.items()):
        x, y = (left + i % 3 * ACROSS, 125 + i // 3 * down) if beside else (left, 125 + i * down)
        said = f"{label}: {panel if isinstance(panel, str) else panel.words}"
        if beside:
            said = textwrap.fill(said, 44) if isinstance(panel, str) else said.replace("; ", ";\n")
        sheet.text(x, y, said, 6.2 if beside else 7)
        if isinstance(panel, Panel):
            sheet.image(panel.image, x, y + head, scale, panel.folds)
    rsgg_ce = list(panels.values())[METHODS.index("rsgg-ce")]
    if beside and isinstance(rsgg_ce, Panel):
        _enlarged(sheet, rsgg_ce, left + 2 * ACROSS, 125 + down)
    sheet.legend(LEGEND | ({LINE: "no graph"} if beside else {}), left, bottom, 5)
    words = f"Rows: folds 0 to 9. Columns: test graphs of the fold. Drawn from {source}."
    sheet.text(left, bottom + 0.12 * dpi, words, 6, color=style.GREY, gid=figure.FOR_THE_REPORT)
    return sheet.figure, beside


def _enlarged(sheet: Page, panel: Panel, x: int, y: int) -> None:
    """(b) the first five graphs of the first two folds, (c) the counterfactual of median GED."""
    side, folds = panel.n_nodes + 1, panel.folds[:2]
    sheet.text(x, y, f"(b) {methods.label('rsgg-ce')}: first graphs of folds {' and '.join(map(str, folds))}", 6.5)
    few = panel.image[: 2 * side + 1, : 5 * side + 1]
    scale = max(1, 1180 // (5 * side + 1))
    sheet.image(few, x, y + 70, scale)
    if len(panel.valid):
        ranked = panel.valid.sort_values(["ged", "instance"], kind="stable")
        row, top = ranked.iloc[len(ranked) // 2], y + 110 + few.shape[0] * scale
        one = mosaic([[block(panel.inputs[int(row["instance"])], row["edits"])]])
        scale = max(1, 710 // len(one))
        sheet.image(one, x, top, scale)
        about = f"graph {row['instance']},\nfold {row['fold']},\nGED {len(row['edits'])},\nthe median\nof the valid"
        sheet.text(x + len(one) * scale + 40, top, f"(c) {methods.label('rsgg-ce')}:\n{about}", 6.5, linespacing=1.4)


# -- The figures ---------------------------------------------------------------------------------------------------


def draw(results: Results) -> list[Drawn]:
    """One pixel per node pair: what every method kept, removed and added on each data set."""
    tasks = figure.tasks_stored(results)
    return [drawn for task in tasks for variant in VARIANTS for drawn in _drawn(results, task, variant)]


def _drawn(results: Results, task: TaskEntry, variant: str) -> list[Drawn]:
    panels, missing = _panels(results, task, variant)
    heading = f"{task.label}: each method {VARIANTS[variant]}"
    of_paper = variant == "released" and task in of_the_paper()
    place, drawn = f"Appendix, pictogram of {task.label}" if of_paper else "", []
    for suffix, (colours, in_colours) in PALETTES.items():
        sheet, beside = page(panels, colours, heading, figure.read_from(results.used))
        words = _caption(panels, task, variant, in_colours, beside)
        drawn.append(Drawn(f"pictograms_{task.name}_{variant}{suffix}", sheet, words, place, tuple(missing)))
    return drawn


def _panels(results: Results, task: TaskEntry, variant: str) -> tuple[dict[str, Panel | str], list[str]]:
    """What is to be shown of each method, or why there is nothing; and what is missing."""
    inputs, panels, missing = results.inputs(task.name), {}, []
    for look in (style.look((method, variant)) for method in METHODS):
        rows = results.ledger(task.name, *look.row)
        rows = rows[rows["instance"].isin(list(inputs))] if len(rows) else rows
        panel: Panel | str = Panel(look.label, inputs, rows)
        if rows.empty and look.unsupported(task.name):
            panel = f"not defined here; {look.limit}"
        elif rows.empty:
            panel = "no stored results"
            missing.append(f"{look.label} on {task.label}")
        elif rows["fold"].nunique() < FOLDS:
            missing.append(f"{FOLDS - rows['fold'].nunique()} folds of {look.label} on {task.label}")
        panels[look.label] = panel
    return panels, missing


def _caption(panels: Panels, task: TaskEntry, variant: str, in_colours: str, beside: bool) -> str:
    seen = [f"{panel.label} {panel.words.replace('; ', ', ')}" for panel in panels.values() if isinstance(panel, Panel)]
    enlarged = " (b) enlarges the first graphs of two folds of RSGG-CE, (c) its valid counterfactual of median GED."
    return CAPTIONS["pictograms"].format(
        task=task.label, variant=VARIANTS[variant], colours=in_colours, enlarged=enlarged if beside else "",
        seen="; ".join(seen) or "nothing",
    )  # fmt: skip


if __name__ == "__main__":
    figure.script("pictograms", draw)
