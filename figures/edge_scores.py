"""What generators say about edges (Section 4: A_g): trained, untrained and as released, on the same cyclic graph.

    python figures/edge_scores.py [--results results/local]

Above, A_g of all node pairs with the edges on cycles marked; below, the same scores on the graph's own edges. Shown is
the traced test graph of Tree-Cycles with the most edges on cycles, the lowest number among equals. A generator that has
learnt what a cycle is gives the edges on cycles lower scores than others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn
from figures.method import COMMAND, TASK, Pair, Places, cycle_edges, edges_of, heat_map, layout, mean_score, network, of
from figures.method import scores as edge_scores

GENERATORS = {
    ("rsgg-ce", "faithful"): "trained",
    ("rsgg-ce-untrained", "control"): "untrained",
    ("rsgg-ce", "released"): "as released (trained)",
}


def most_cyclic(instances: Collection[int], inputs: Mapping[int, np.ndarray]) -> int | None:
    """The graph with the most edges on cycles, the lowest number among equals; None if there is none with any."""
    counts = {i: len(cycle_edges(inputs[i])) for i in sorted(instances) if i in inputs}
    best = max(counts, key=lambda i: counts[i], default=None)
    return best if best is not None and counts[best] else None


def draw(results: Results) -> list[Drawn]:
    """Edge scores of a trained, an untrained and the released generator on one graph."""
    table, _ = results.parquet("traces", TASK.name)
    inputs = results.inputs(TASK.name)
    traces = {row: of(table, *row) for row in GENERATORS}
    missing = [f"traces of {style.look(row).label}, {COMMAND}" for row, own in traces.items() if own.empty]
    traced = [set(own.index) for own in traces.values() if len(own)]
    instance = most_cyclic(set.intersection(*traced) if traced else (), inputs)
    drawing, axes = plt.subplots(2, 3, figsize=(style.PAGE, 4.7))
    style.switch_off(axes)
    seen = []
    if instance is not None:
        where = layout(inputs[instance])
        for column, (row, label) in zip(axes.T, GENERATORS.items(), strict=True):
            if len(traces[row]):
                seen.append(_column(column, inputs[instance], traces[row].loc[instance], where, label))
        colours = next(axis.collections[0] for axis in axes[0] if axis.collections)
        drawing.colorbar(colours, ax=axes, fraction=0.02, pad=0.02, label="$A_g$")
    figure.heading(drawing, f"Edge scores of three generators on graph {instance}", results)
    caption = "A_g of three generators on one graph; no traces are stored."
    if seen:
        caption = CAPTIONS["edge_scores"].format(instance=instance, task=TASK.label, seen="; ".join(seen))
    return [Drawn("edge_scores", drawing, caption, "", tuple(missing))]


def _column(axes: np.ndarray, adjacency: np.ndarray, trace: pd.Series, where: Places, label: str) -> str:
    """A map and a graph; returns the means in words."""
    probabilities, cycle = edge_scores(trace), cycle_edges(adjacency)
    others = set(edges_of(adjacency)) - cycle
    on_cycles, off = mean_score(probabilities, cycle), mean_score(probabilities, others)
    absent = probabilities[(adjacency == 0) & ~np.eye(len(adjacency), dtype=bool)].mean()
    axes[0].set_axis_on()
    heat_map(axes[0], probabilities, cycle, f"{label}\nedges on cycles {on_cycles:.2f}, others {off:.2f}")

    def layer(edges: Collection[Pair], width: float) -> tuple[list[Pair], dict[str, object]]:
        listed = sorted(edges)
        colours = [float(probabilities[pair]) for pair in listed]
        how = {"edge_cmap": plt.get_cmap(style.SCORES), "edge_vmin": 0, "edge_vmax": 1}
        return listed, {"edge_color": colours, "width": width, **how}

    network(axes[1], where, layer(others, 1.5), layer(cycle, 3.5))
    return f"{label}, on cycles {on_cycles:.2f}, other edges {off:.2f}, missing pairs {absent:.3f}"


if __name__ == "__main__":
    figure.script("edge_scores", draw)
