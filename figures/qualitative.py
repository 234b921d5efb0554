"""Counterfactuals of two ASD graphs by every method (Section 5.3, the qualitative comparison).

    python figures/qualitative.py [--results results/reference]

One graph per class: the one that most methods explain in both variants taken together, the lowest number among equals.
Its nodes lie in the same places in every panel: where springs along the edges of the input pull them. Green edges are
additions, red ones removals, grey ones are kept; a self loop is a ring at its node.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.patches import Circle

from benchmarks.registry.methods import Row
from benchmarks.registry.tasks import ASD
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, VARIANTS, Drawn
from figures.pictograms import ADDED, KEPT, METHODS, NEITHER, REMOVED, block, is_valid
from rsgg.seeds import numpy_rng

COLOURS = {KEPT: "#8C8C8C", REMOVED: style.REMOVED, ADDED: style.ADDED}
NAMES = {KEPT: "kept", REMOVED: "removed (−)", ADDED: "added (+)"}
LOOP = 0.07  # radius of a self loop, half the width of a panel being EDGE
EDGE, ALONE = 1.12, 1.5  # half the width of a panel, and the side of the one below it with the edits alone

Ledgers = Mapping[Row, pd.DataFrame]


@dataclass(frozen=True)
class Shown:
    """A graph to show: its class, its number, its adjacency matrix [n, n] and the places of its nodes [n, 2]."""

    predicted: int
    instance: int
    adjacency: np.ndarray
    where: np.ndarray


def chosen(ledgers: Ledgers) -> dict[int, int]:
    """By class, the graph that most rows of Table 1 explain; the lowest number among equals."""
    rows = [table.assign(valid=is_valid(table)) for table in ledgers.values() if len(table)]
    if not rows:
        return {}
    counted = pd.concat(rows).groupby(["predicted", "instance"])["valid"].sum()
    return {int(c): int(own.droplevel(0).idxmax()) for c, own in counted.groupby("predicted")}


def places(adjacency: np.ndarray) -> np.ndarray:
    """Where the nodes lie, [n, 2], inside [-1, 1]²: a spring layout of the input with a fixed seed."""
    layout = nx.spring_layout(nx.from_numpy_array(adjacency), seed=0, iterations=200)
    where = np.array([layout[node] for node in range(len(adjacency))])
    low, high = where.min(0), where.max(0)
    return 2 * (where - low) / (high - low) - 1


def draw(results: Results) -> list[Drawn]:
    """What each method makes of one ASD graph per class."""
    rows = [(method, variant) for method in METHODS for variant in VARIANTS]
    ledgers, inputs = {row: results.ledger(ASD.name, *row) for row in rows}, results.inputs(ASD.name)
    graphs = [Shown(c, i, inputs[i], places(inputs[i])) for c, i in sorted(chosen(ledgers).items()) if i in inputs]
    return [_drawn(results, variant, ledgers, graphs) for variant in VARIANTS]


def _drawn(results: Results, variant: str, ledgers: Ledgers, graphs: list[Shown]) -> Drawn:
    looks = [look for look in (style.look((method, variant)) for method in METHODS) if not look.unsupported(ASD.name)]
    missing = [f"{look.label} on {ASD.label}" for look in looks if ledgers[look.row].empty]
    looks = [look for look in looks if len(ledgers[look.row])]
    columns = 1 + len(looks)
    drawing, axes = plt.subplots(
        2, columns, figsize=(style.PAGE, 1.3 + style.PAGE / columns * (2 + ALONE / EDGE)), squeeze=False
    )
    drawing.set_layout_engine("constrained", w_pad=0.01, wspace=0, hspace=0.02)
    seen = []
    for row, graph in zip(axes, graphs, strict=False):
        edges(row[0], block(graph.adjacency, []), graph.where)
        row[0].text(0, -EDGE - ALONE / 2, "the edits\nalone →", ha="center", va="center", fontsize=6.5)
        row[0].set_title(f"input\n{int(graph.adjacency.sum()) // 2} edges", fontsize=6.5)
        row[0].set_ylabel(f"{ASD.class_name(graph.predicted)},\ngraph {graph.instance}", fontsize=6.5)
        for axis, look in zip(row[1:], looks, strict=True):
            said = _counterfactual(axis, ledgers[look.row], graph)
            axis.set_title(look.label.replace(", ", ",\n") + f"\n{said}", fontsize=6.5)
            seen.append(f"{look.label} on graph {graph.instance} {said.replace(chr(10), ', ')}")
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[], aspect="equal", xlim=(-EDGE, EDGE), ylim=(-EDGE - ALONE, EDGE))
        axis.grid(False)
        axis.spines[:].set_visible(False)
    style.legend_below(drawing, [style.handle(label, COLOURS[code], "-") for code, label in NAMES.items()], 3)
    figure.heading(drawing, f"{ASD.label}, each method {VARIANTS[variant]}", results)
    place = "Section 5.3, qualitative comparison on ASD" if variant == "released" else ""
    words = CAPTIONS["qualitative"].format(variant=VARIANTS[variant], seen="; ".join(seen) or "nothing is stored")
    return Drawn(f"qualitative_{variant}", drawing, words, place, tuple(missing))


def _counterfactual(axis: Axes, ledger: pd.DataFrame, graph: Shown) -> str:
    """Draw what a method made of a graph, valid or not; returns its numbers."""
    rows = ledger[ledger["instance"] == graph.instance]
    if rows.empty or not rows["found"].iloc[0]:
        edges(axis, block(graph.adjacency, []), graph.where)
        return "found nothing\n " if len(rows) else "not stored\n "
    codes = block(graph.adjacency, rows["edits"].iloc[0])
    edges(axis, codes, graph.where)
    _inset(axis, codes, graph.where)
    removed, added = (int(np.triu(codes == code).sum()) for code in (REMOVED, ADDED))
    validity = "valid" if is_valid(rows).iloc[0] else "class unchanged"
    loops = int((codes.diagonal() == ADDED).sum())
    looped = f", {loops} self loop{'s' if loops > 1 else ''}" if loops else ""
    return f"{validity}{looped}\nGED {removed + added}: −{removed} +{added}"


def _inset(axis: Axes, codes: np.ndarray, where: np.ndarray) -> None:
    """The edits alone, smaller, below the counterfactual, of which they cover nothing."""
    inset = axis.inset_axes((-ALONE / 2, -EDGE - ALONE, ALONE, ALONE), transform=axis.transData)
    edges(inset, np.where(codes == KEPT, NEITHER, codes), where, node_size=0.1)
    inset.set(xticks=[], yticks=[], aspect="equal", xlim=(-EDGE, EDGE), ylim=(-EDGE, EDGE))
    inset.grid(False)
    inset.spines[:].set(visible=True, color="#BBBBBB", linewidth=0.4)


def edges(axis: Axes, codes: np.ndarray, where: np.ndarray, node_size: float = 1.5) -> None:
    """Kept edges below, edits above in an order that hides neither colour, thinner the more there are."""
    axis.scatter(where[:, 0], where[:, 1], s=node_size, color="black", zorder=3, linewidths=0)
    u, v = np.triu((codes == REMOVED) | (codes == ADDED), 1).nonzero()
    shuffled = numpy_rng("figures", "qualitative").permutation(len(u))
    _lines(axis, codes, where, u[shuffled], v[shuffled], float(np.clip(7 / np.sqrt(len(u) + 1), 0.13, 1.0)), 2)
    u, v = np.triu(codes == KEPT, 1).nonzero()
    _lines(axis, codes, where, u, v, 0.15, 1)
    for node in (codes.diagonal() != NEITHER).nonzero()[0]:
        colour = COLOURS[int(codes[node, node])]
        axis.add_patch(Circle(tuple(where[node]), LOOP, fill=False, ec=colour, lw=0.8, zorder=4))


def _lines(
    axis: Axes, codes: np.ndarray, where: np.ndarray, u: np.ndarray, v: np.ndarray, width: float, level: int
) -> None:
    colours = [COLOURS[int(code)] for code in codes[u, v]]
    lines = list(np.stack((where[u], where[v]), 1))
    axis.add_collection(LineCollection(lines, colors=colours, linewidths=width, zorder=level))


if __name__ == "__main__":
    figure.script("qualitative", draw)
