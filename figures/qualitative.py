"""Counterfactuals of two ASD graphs by every method (Section 5.3, the qualitative comparison).

    python figures/qualitative.py [--results results/reference]

One graph per class: the one that most methods explain in both variants taken together, the lowest number among equals.
Its nodes lie in the same places in every panel: where springs along the edges of the input pull them. Green edges are
additions, red ones removals, grey ones are kept; a self loop is a ring at its node.
"""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Circle, Patch

from figures import figure as drawing
from figures import style
from figures.figure import Drawn
from figures.pictograms import ADDED, KEPT, METHODS, NEITHER, REMOVED, UNDEFINED, VARIANTS, block, is_valid, source_of
from figures.results import Results
from rsgg.seeds import numpy_rng

DATASET = "asd"
CLASSES = ("typically developed", "autistic")  # 0 and 1, as the oracle has them
COLOURS = {KEPT: "#8C8C8C", REMOVED: "#E00000", ADDED: "#00A000"}
LOOP = 0.07  # radius of a self loop, half the width of a panel being 1.1

Ledgers = Mapping[tuple[str, str], pd.DataFrame]


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
    variants = tuple(VARIANTS)
    ledgers = {
        (method, variant): results.ledger(DATASET, method, variant) for method in METHODS for variant in variants
    }
    inputs = results.inputs(DATASET)
    graphs = {c: i for c, i in chosen(ledgers).items() if i in inputs}
    layout = {i: places(inputs[i]) for i in graphs.values()}
    return [_drawn(results, variant, ledgers, inputs, graphs, layout) for variant in variants]


def _drawn(
    results: Results,
    variant: str,
    ledgers: Ledgers,
    inputs: Mapping[int, np.ndarray],
    graphs: Mapping[int, int],
    layout: Mapping[int, np.ndarray],
) -> Drawn:
    methods = [method for method in METHODS if (DATASET, method, variant) not in UNDEFINED]
    missing = [f"{style.METHODS[m].label} ({variant}) on ASD" for m in methods if ledgers[m, variant].empty]
    methods = [method for method in methods if len(ledgers[method, variant])]
    columns = 1 + len(methods)
    figure, axes = plt.subplots(2, columns, figsize=(style.PAGE, 1.3 + 2 * style.PAGE / columns), squeeze=False)
    figure.set_layout_engine("constrained", w_pad=0.01, wspace=0, hspace=0.02)
    seen = []
    for row, (c, instance) in zip(axes, sorted(graphs.items()), strict=False):
        adjacency = inputs[instance]
        edges(row[0], block(adjacency, []), layout[instance])
        row[0].set_title(f"input\n{int(adjacency.sum()) // 2} edges", fontsize=6.5)
        row[0].set_ylabel(f"{CLASSES[c]},\ngraph {instance}", fontsize=6.5)
        for axis, method in zip(row[1:], methods, strict=True):
            said = _counterfactual(axis, ledgers[method, variant], instance, adjacency, layout[instance])
            axis.set_title(f"{style.METHODS[method].label}\n{said}", fontsize=6.5)
            seen.append(f"{style.METHODS[method].label} on graph {instance} {said.replace(chr(10), ', ')}")
    for axis in axes.flat:
        axis.set(xticks=[], yticks=[], aspect="equal", xlim=(-1.12, 1.12), ylim=(-1.12, 1.12))
        axis.grid(False)
        axis.spines[:].set_visible(False)
    names = {KEPT: "kept", REMOVED: "removed (−)", ADDED: "added (+)"}
    handles: list[Line2D | Patch] = [Line2D([], [], color=COLOURS[code], label=label) for code, label in names.items()]
    key(figure, handles)
    figure.suptitle(
        f"ASD, each method {VARIANTS[variant]}. {source_of(results, DATASET, f'*.{variant}')}", fontsize=6.5
    )
    return Drawn(f"qualitative_{variant}", figure, _caption(variant, seen), _place(variant), tuple(missing))


def _counterfactual(axis: Axes, ledger: pd.DataFrame, instance: int, adjacency: np.ndarray, where: np.ndarray) -> str:
    """Draw what a method made of a graph, valid or not; returns its numbers."""
    rows = ledger[ledger["instance"] == instance]
    if rows.empty or not rows["found"].iloc[0]:
        edges(axis, block(adjacency, []), where)
        return "found nothing\n " if len(rows) else "not stored\n "
    codes = block(adjacency, rows["edits"].iloc[0])
    edges(axis, codes, where)
    removed, added = (int(np.triu(codes == code).sum()) for code in (REMOVED, ADDED))
    validity = "valid" if is_valid(rows).iloc[0] else "class unchanged"
    loops = int((codes.diagonal() == ADDED).sum())
    looped = f", {loops} self loop{'s' if loops > 1 else ''}" if loops else ""
    return f"{validity}{looped}\nGED {removed + added}: −{removed} +{added}"


def edges(axis: Axes, codes: np.ndarray, where: np.ndarray) -> None:
    """Kept edges below, edits above in an order that hides neither colour, thinner the more there are."""
    axis.scatter(where[:, 0], where[:, 1], s=1.5, color="black", zorder=3, linewidths=0)
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


def key(figure: Figure, handles: list[Line2D | Patch]) -> None:
    """A legend below the panels that leaves the last line to what is missing."""
    figure.supxlabel(" \n ", fontsize=8)
    figure.legend(handles=handles, loc="lower center", bbox_to_anchor=(0.5, 0.03), ncols=len(handles), borderpad=0)


def _place(variant: str) -> str:
    return "Section 5.3, qualitative comparison on ASD" if variant == "released" else ""


def _caption(variant: str, seen: list[str]) -> str:
    return (
        f"Counterfactual candidates on ASD for one graph of each class, each method {VARIANTS[variant]}. The graphs "
        "are those that most methods explain (the lowest number among equals); nodes lie in the same places in every "
        "panel. Green edges are added, red ones removed, grey ones kept; rings "
        f"are self loops. Seen: {'; '.join(seen) or 'nothing is stored'}."
    )


if __name__ == "__main__":
    drawing.script("qualitative", draw)
