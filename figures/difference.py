"""RSGG-CE against CLEAR, edge by edge (appendix, the last of the qualitative figures).

    python figures/difference.py [--results results/reference]

Five folds (rows) by five test graphs (columns), chosen at random by a named seed, the same for both variants. Black
edges are in both counterfactuals, orange ones in CLEAR's only, blue ones in RSGG-CE's only. A block of one colour has
one valid counterfactual: all orange, RSGG-CE failed; all blue, CLEAR failed; blank, both did.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from benchmarks.registry import methods
from benchmarks.results.reader import Results, edited
from figures import figure, style
from figures.figure import CAPTIONS, VARIANTS, Drawn
from figures.pictograms import Inputs, Page, is_valid, mosaic
from rsgg.seeds import numpy_rng

NEITHER, COMMON, CLEAR_ONLY, RSGG_ONLY = range(4)
COLOURS = ("white", "black", style.ORANGE, style.BLUE, "#CCCCCC")  # the last one is the lines'
LEGEND = {
    COMMON: "edge of both",
    CLEAR_ONLY: "of CLEAR only; all over: RSGG-CE failed",
    RSGG_ONLY: "of RSGG-CE only; all over: CLEAR failed",
    NEITHER: "of neither; all over: both failed",
}
SIDE = 5  # folds and graphs


def block(adjacency: np.ndarray, clear: object | None, rsgg_ce: object | None) -> np.ndarray:
    """The codes of all node pairs, uint8 [n, n]; edits are None where there is no valid counterfactual."""
    if clear is None or rsgg_ce is None:
        alone = NEITHER if clear is rsgg_ce else RSGG_ONLY if clear is None else CLEAR_ONLY
        return np.full(adjacency.shape, alone, dtype=np.uint8)
    theirs, ours = edited(adjacency, clear) > 0, edited(adjacency, rsgg_ce) > 0
    codes = np.select([theirs & ours, theirs, ours], [COMMON, CLEAR_ONLY, RSGG_ONLY], NEITHER)
    return codes.astype(np.uint8)


def chosen(ledger: pd.DataFrame, dataset: str) -> dict[int, list[int]]:
    """Five folds and five test graphs of each, drawn by a named seed, in rising order."""
    rng = numpy_rng("figures", "difference", dataset)
    folds = sorted(ledger["fold"].unique())
    folds = sorted(rng.choice(folds, min(SIDE, len(folds)), replace=False).tolist())
    graphs = {fold: sorted(ledger.loc[ledger["fold"] == fold, "instance"]) for fold in folds}
    return {
        fold: sorted(rng.choice(own, min(SIDE, len(own)), replace=False).tolist()) for fold, own in graphs.items()
    }  # fmt: skip


def valid_edits(ledger: pd.DataFrame) -> dict[int, object]:
    """The edits of the valid counterfactuals by instance."""
    rows = ledger[is_valid(ledger)]
    return dict(zip(rows["instance"].astype(int), rows["edits"], strict=True))


def draw(results: Results) -> list[Drawn]:
    """Which edges only RSGG-CE's counterfactuals have, which only CLEAR's."""
    return [_drawn(results, variant) for variant in VARIANTS]


def _drawn(results: Results, variant: str) -> Drawn:
    dpi, across, tasks = 400, 1400, figure.tasks_stored(results)
    page = Page(max(round(style.PAGE * dpi), across * len(tasks)), 1570, dpi, COLOURS)
    page.text(70, 25, f"RSGG-CE and CLEAR, each {VARIANTS[variant]}", 8, gid=figure.FOR_THE_REPORT)
    missing, seen = figure.without_panel(tasks), []
    for i, task in enumerate(tasks):
        said = _panel(page, results, task.name, variant, 70 + i * across)
        page.text(70 + i * across, 90, f"{task.label}: {said or 'no stored results'}", 6.5, linespacing=1.3)
        if said:
            seen.append(f"on {task.label}, {said.replace(chr(10), ' ')}")
        else:
            labels = (methods.label(name, variant) for name in ("clear", "rsgg-ce"))
            missing.append(f"{' or '.join(labels)} on {task.label}")
    page.legend(LEGEND, 70, 1390, 2)
    source = f"Rows: folds. Drawn from {figure.read_from(results.used)}."
    page.text(70, 1505, source, 6, color=style.GREY, gid=figure.FOR_THE_REPORT)
    words = CAPTIONS["difference"].format(variant=VARIANTS[variant], seen="; ".join(seen) or "nothing")
    place = "Appendix, RSGG-CE against CLEAR" if variant == "released" else ""
    return Drawn(f"difference_{variant}", page.figure, words, place, tuple(missing))


def _panel(page: Page, results: Results, dataset: str, variant: str, left: int) -> str:
    """Draw one data set; returns what it shows, in words, or nothing if it is not stored."""
    inputs = results.inputs(dataset)
    clear, rsgg_ce = (results.ledger(dataset, method, variant) for method in ("clear", "rsgg-ce"))
    if clear.empty or rsgg_ce.empty or not inputs:
        return ""
    graphs = chosen(clear[clear["instance"].isin(list(inputs))], dataset)
    theirs, ours = valid_edits(clear), valid_edits(rsgg_ce)
    rows = [[block(inputs[i], theirs.get(i), ours.get(i)) for i in own] for own in graphs.values()]
    codes = mosaic(rows)
    page.image(codes, left, 190, max(1, 1180 // len(codes)), list(graphs))  # panels of nearly one size
    return _in_words(inputs, theirs, ours, [i for own in graphs.values() for i in own])


def _in_words(inputs: Inputs, theirs: Mapping[int, object], ours: Mapping[int, object], graphs: list[int]) -> str:
    both = [i for i in graphs if i in theirs and i in ours]
    only = f"CLEAR alone explains {sum(i in theirs and i not in ours for i in graphs)}, RSGG-CE alone "
    only += f"{sum(i in ours and i not in theirs for i in graphs)} of {len(graphs)} graphs"
    if not both:
        return only
    edges = [np.mean([np.triu(edited(inputs[i], found[i])).sum() for i in both]) for found in (theirs, ours)]
    return f"{only};\nwhere both do, CLEAR's have {edges[0]:.1f} edges, RSGG-CE's {edges[1]:.1f}"


if __name__ == "__main__":
    figure.script("difference", draw)
