"""Pictograms of all counterfactuals (appendix, the figures on Tree-Cycles and ASD): every node pair is one pixel.

    python figures/pictograms.py [--results results/reference]

A row per fold, a block per test graph, a pixel per node pair: black kept, red removed, green added, white neither. A
block that is white all over is a graph without a valid counterfactual: the class did not change. Everything is read
from the ledger of Table 1's cells. Besides the paper's colours there is a twin in colours that all readers can tell
apart (`…_safe`). On ASD, (b) enlarges some blocks of RSGG-CE and (c) a single one.
"""

from __future__ import annotations

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

from figures import figure as drawing
from figures import style
from figures.figure import Drawn
from figures.results import Results, edited, shown

NEITHER, KEPT, REMOVED, ADDED, LINE = range(5)  # what a pixel says; LINE is between blocks and where no graph is
FOLDS = 10
METHODS = ("cf2", "clear", "g-countergan", "meg", "rsgg-ce")
VARIANTS = {"released": "as the published comparison ran it", "faithful": "as its own paper defines it"}
DATASETS = {"tree-cycles": "Tree-Cycles", "asd": "ASD"}
PLACE = {"tree-cycles": "Appendix, pictogram of Tree-Cycles", "asd": "Appendix, pictogram of ASD"}
PALETTES = {  # colours of NEITHER, KEPT, REMOVED, ADDED, LINE
    "": ("white", "black", "#E00000", "#00A000", "#CCCCCC"),
    "_safe": ("white", "black", style.RED, style.SKY, "#CCCCCC"),
}
IN_COLOURS = {"": "red are removed and green", "_safe": "vermilion are removed and light blue"}
UNDEFINED = {("asd", "meg", "released"): "As released, MEG is not defined on ASD\n(the paper prints ×)"}

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
    """Square blocks of one size in rows, with lines of one pixel between and around them; shorter rows end in LINE."""
    n, columns = len(rows[0][0]), max(map(len, rows))
    image = np.full((len(rows) * (n + 1) + 1, columns * (n + 1) + 1), LINE, dtype=np.uint8)
    for i, row in enumerate(rows):
        for j, codes in enumerate(row):
            image[i * (n + 1) + 1 : (i + 1) * (n + 1), j * (n + 1) + 1 : (j + 1) * (n + 1)] = codes
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

    @cached_property
    def counts(self) -> dict[int, float]:
        """Edges kept, removed and added per valid counterfactual."""
        found = [block(self.inputs[int(row.instance)], row.edits) for row in self.valid.itertuples()]
        totals = {code: sum(int(np.triu(one == code).sum()) for one in found) for code in (KEPT, REMOVED, ADDED)}
        return {code: total / max(1, len(found)) for code, total in totals.items()}

    @property
    def success(self) -> str:
        return f"{len(self.valid)} of {len(self.ledger)} valid"

    @property
    def means(self) -> str:
        means = (self.counts[code] for code in (REMOVED, ADDED, KEPT))
        removed, added, kept = (f"{mean:.0f}" if mean >= 100 else f"{mean:.1f}" for mean in means)
        return f"mean {removed} removed, {added} added, {kept} kept"


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
        self.figure.set_layout_engine("none")  # places are given; told at birth, saving would forget it

    def image(self, codes: np.ndarray, left: int, top: int, scale: int) -> Axes:
        """Codes with `scale` dots per pixel; embedded as they are, neither smoothed nor resampled."""
        height, width = codes.shape[0] * scale, codes.shape[1] * scale
        axes = self.figure.add_axes((0, 0, 1, 1))

        def place(_: object, renderer: object) -> Bbox:
            across, down = self.figure.get_size_inches() * self.dots_per_inch
            return Bbox.from_bounds(left / across, round(down - top - height) / down, width / across, height / down)

        axes.set_axes_locator(place)
        colours = ListedColormap(list(self.colours))
        axes.imshow(codes, cmap=colours, vmin=0, vmax=LINE, interpolation="none", aspect="auto")
        axes.set(xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)
        return axes

    def folds(self, axes: Axes, n: int, folds: Sequence[int]) -> None:
        """Number the rows of blocks."""
        axes.set_yticks([(i + 0.5) * (n + 1) for i in range(len(folds))], [str(fold) for fold in folds], fontsize=6)
        axes.tick_params(axis="y", length=0, pad=2)

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


LEGEND = {KEPT: "kept", REMOVED: "removed", ADDED: "added", NEITHER: "no edge, or (all white) no valid counterfactual"}
FOLD_AXIS = "Rows: folds 0 to 9. Columns: test graphs of the fold."


def tree_cycles_page(panels: Mapping[str, Panel | str], colours: Sequence[str], heading: str, source: str) -> Figure:
    """The methods below each other, two dots per pixel."""
    dpi, scale, left, step = 450, 2, 130, 690
    page = Page(round(style.PAGE * dpi), 130 + step * len(panels) + 150, dpi, colours)
    page.text(left, 30, heading, 8)
    for i, (label, panel) in enumerate(panels.items()):
        top = 120 + i * step
        if isinstance(panel, str):
            page.text(left, top, f"{label}: {panel}")
            continue
        page.text(left, top, f"{label}: {panel.success}; {panel.means}")
        axes = page.image(panel.image, left, top + 60, scale)
        page.folds(axes, _nodes(panel), sorted(panel.ledger["fold"].unique()))
    bottom = 120 + step * len(panels)
    page.legend(LEGEND, left, bottom, 4)
    page.text(left, bottom + 55, f"{FOLD_AXIS} {source}", 6, color=style.GREY)
    return page.figure


def asd_page(panels: Mapping[str, Panel | str], colours: Sequence[str], heading: str, source: str) -> Figure:
    """Three methods beside each other, one dot per pixel; in the last place some blocks of RSGG-CE, enlarged."""
    dpi, left, across, down = 600, 75, 1375, 1330
    page = Page(round(style.PAGE * dpi), 160 + 2 * down + 180, dpi, colours)
    page.text(left, 30, f"(a) {heading}", 8)
    for i, (label, panel) in enumerate(panels.items()):
        x, y = left + i % 3 * across, 130 + i // 3 * down
        page.text(x, y, label if isinstance(panel, str) else f"{label}: {panel.success};\n{panel.means}", 6.2)
        if isinstance(panel, str):
            page.text(x, y + 300, panel)
            continue
        axes = page.image(panel.image, x, y + 130, 1)
        page.folds(axes, _nodes(panel), sorted(panel.ledger["fold"].unique()))
    rsgg_ce = panels[style.METHODS["rsgg-ce"].label]
    if isinstance(rsgg_ce, Panel):
        _enlarged(page, rsgg_ce, left + 2 * across, 130 + down)
    bottom = 130 + 2 * down
    page.legend(LEGEND | {LINE: "no graph"}, left, bottom, 5)
    page.text(left, bottom + 75, f"{FOLD_AXIS} {source}", 6, color=style.GREY)
    return page.figure


def _enlarged(page: Page, panel: Panel, x: int, y: int) -> None:
    """(b) the first five graphs of the first two folds, (c) the counterfactual of median GED."""
    n, folds = _nodes(panel), sorted(panel.ledger["fold"].unique())[:2]
    page.text(x, y, f"(b) RSGG-CE: first graphs of folds {' and '.join(map(str, folds))}", 6.5)
    page.image(panel.image[: 2 * (n + 1) + 1, : 5 * (n + 1) + 1], x, y + 70, 2)
    if len(panel.valid):
        ranked = panel.valid.sort_values(["ged", "instance"], kind="stable")
        row = ranked.iloc[len(ranked) // 2]
        page.image(mosaic([[block(panel.inputs[int(row["instance"])], row["edits"])]]), x, y + 580, 6)
        words = (
            f"(c) RSGG-CE:\ngraph {row['instance']},\nfold {row['fold']},\n"
            f"GED {len(row['edits'])},\nthe median\nof the valid"
        )
        page.text(x + 118 * 6 + 40, y + 580, words, 6.5, linespacing=1.4)


def _nodes(panel: Panel) -> int:
    return len(next(iter(panel.inputs.values())))


# -- The figures ---------------------------------------------------------------------------------------------------


def draw(results: Results) -> list[Drawn]:
    """One pixel per node pair: what every method kept, removed and added on Tree-Cycles and on ASD."""
    return [
        drawn for dataset in DATASETS for variant in VARIANTS for drawn in _drawn(results, dataset, variant)
    ]  # fmt: skip


def _drawn(results: Results, dataset: str, variant: str) -> list[Drawn]:
    panels, missing = _panels(results, dataset, variant)
    present = [panel for panel in panels.values() if isinstance(panel, Panel)]
    heading = f"{DATASETS[dataset]}: each method {VARIANTS[variant]}"
    source = source_of(results, dataset, f"*.{variant}")
    page = asd_page if dataset == "asd" else tree_cycles_page
    name = f"pictograms_{dataset}_{variant}"
    return [
        Drawn(
            name + suffix,
            page(panels, colours, heading, source),
            _caption(present, dataset, variant, suffix),
            PLACE[dataset] if variant == "released" else "",
            tuple(missing),
        )
        for suffix, colours in PALETTES.items()
    ]


def _panels(results: Results, dataset: str, variant: str) -> tuple[dict[str, Panel | str], list[str]]:
    """What is to be shown of each method, or why there is nothing; and what is missing."""
    inputs, panels, missing = results.inputs(dataset), {}, []
    for method in METHODS:
        label = style.METHODS[method].label
        rows = results.ledger(dataset, method, variant)
        rows = rows[rows["instance"].isin(list(inputs))] if len(rows) else rows
        panel: Panel | str = Panel(label, inputs, rows)
        if (dataset, method, variant) in UNDEFINED:
            panel = UNDEFINED[dataset, method, variant]
        elif rows.empty:
            panel = "no stored results"
            missing.append(f"{label} ({variant}) on {DATASETS[dataset]}")
        elif rows["fold"].nunique() < FOLDS:
            missing.append(f"{FOLDS - rows['fold'].nunique()} folds of {label} ({variant}) on {DATASETS[dataset]}")
        panels[label] = panel
    return panels, missing


def source_of(results: Results, dataset: str, rows: str) -> str:
    """From which files a picture was drawn, in a few words."""
    folders = {shown(path.parent) for path in results.used if path.name.startswith(f"{dataset}.")}
    return f"Drawn from {' and '.join(sorted(folders))}/{dataset}.{rows}.parquet." if folders else "Nothing is stored."


def _caption(panels: Sequence[Panel], dataset: str, variant: str, suffix: str) -> str:
    seen = "; ".join(f"{panel.label} {panel.success}, {panel.means}" for panel in panels)
    enlarged = (
        " (b) enlarges the first graphs of two folds of RSGG-CE, (c) its valid counterfactual of median GED."
        if dataset == "asd"
        else ""
    )
    return (
        f"All counterfactuals on {DATASETS[dataset]}, each method {VARIANTS[variant]}, ten folds (rows) by test graphs "
        f"(columns), one pixel per entry of the adjacency matrix. Black edges are kept, {IN_COLOURS[suffix]} ones are "
        f"added; blocks that are white all over have no valid counterfactual.{enlarged} Seen: {seen or 'nothing'}."
    )


if __name__ == "__main__":
    drawing.script("pictograms", draw)
