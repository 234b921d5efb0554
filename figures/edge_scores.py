"""What generators say about edges (Section 4: A_g): trained, untrained and as released, on the same cyclic graph.

    python figures/edge_scores.py [--results results/local]

Above, A_g of all node pairs with the edges on cycles marked; below, the same scores on the graph's own edges. Shown is
the traced test graph of Tree-Cycles with the most edges on cycles, the lowest number among equals. A generator that has
learnt what a cycle is gives the edges on cycles lower scores than others.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.image import AxesImage

from figures import figure as drawing
from figures import style
from figures.figure import Drawn
from figures.method import COMMAND, DATASET, cycle_edges, heat_map, layout, of, scores, stored
from figures.results import Results, shown

GENERATORS = {
    ("rsgg-ce", "faithful"): "trained",
    ("rsgg-ce-untrained", "control"): "untrained",
    ("rsgg-ce", "released"): "as released (trained)",
}


def most_cyclic(instances: list[int], inputs: dict[int, np.ndarray]) -> int | None:
    """The graph with the most edges on cycles, the lowest number among equals; None if there is none with any."""
    counts = {i: len(cycle_edges(inputs[i])) for i in sorted(instances) if i in inputs}
    best = max(counts, key=lambda i: counts[i], default=None)
    return best if best is not None and counts[best] else None


def draw(results: Results) -> list[Drawn]:
    """Edge scores of a trained, an untrained and the released generator on one graph."""
    table, path = stored(results, "traces", DATASET)
    inputs = results.inputs(DATASET)
    traces = {row: of(table, *row) for row in GENERATORS}
    missing = [f"traces of {method} ({variant}), {COMMAND}" for (method, variant), t in traces.items() if t.empty]
    shared = set.intersection(*(set(t.index) for t in traces.values() if len(t))) if path else set()
    instance = most_cyclic(list(shared), inputs)
    figure, axes = plt.subplots(2, 3, figsize=(style.PAGE, 4.7))
    for axis in axes.flat:
        axis.set_axis_off()
    seen = []
    if instance is not None:
        where = layout(inputs[instance])
        for column, (row, label) in zip(axes.T, GENERATORS.items(), strict=True):
            if len(traces[row]):
                image, said = _column(column, inputs[instance], traces[row].loc[instance], where, label)
                seen.append(f"{label}, {said}")
        figure.colorbar(image, ax=axes, fraction=0.02, pad=0.02, label="A_g")
    figure.supxlabel(" ", fontsize=7)
    source = shown(path) if path else "nothing"
    figure.suptitle(f"Edge scores of three generators on graph {instance}. Drawn from {source}.", fontsize=7)
    caption = (
        f"A_g of three generators on graph {instance} of Tree-Cycles: above on all node pairs, edges on cycles "
        "circled; below on the edges of the graph, those on cycles drawn thick. To break a cycle it is enough that "
        f"some of its edges have low scores. Mean A_g: {'; '.join(seen)}."
        if seen
        else "A_g of three generators on one graph; no traces are stored."
    )
    return [Drawn("edge_scores", figure, caption, "", tuple(missing))]


def _column(
    axes: np.ndarray, adjacency: np.ndarray, trace: pd.Series, where: dict[int, np.ndarray], label: str
) -> tuple[AxesImage, str]:
    """A map and a graph; returns the picture for the colour bar and the means in words."""
    probabilities, cycle = scores(trace), cycle_edges(adjacency)
    existing = [(int(u), int(v)) for u, v in np.argwhere(np.triu(adjacency))]
    others = [pair for pair in existing if pair not in cycle]
    on_cycles, off = (float(np.mean([probabilities[pair] for pair in listed])) for listed in (sorted(cycle), others))
    axes[0].set_axis_on()
    image = heat_map(axes[0], probabilities, cycle)
    absent = probabilities[(adjacency == 0) & ~np.eye(len(adjacency), dtype=bool)].mean()
    said = f"on cycles {on_cycles:.2f}, other edges {off:.2f}, missing pairs {absent:.3f}"
    axes[0].set_title(f"{label}\nedges on cycles {on_cycles:.2f}, others {off:.2f}", fontsize=7)
    graph = nx.from_numpy_array(adjacency)
    nx.draw_networkx_nodes(graph, where, ax=axes[1], node_size=7, node_color="black", linewidths=0)
    for listed, width in ((others, 1.5), (sorted(cycle), 3.5)):
        colours = [float(probabilities[pair]) for pair in listed]
        nx.draw_networkx_edges(
            graph, where, edgelist=listed, edge_color=colours, edge_cmap=plt.get_cmap("cividis"), edge_vmin=0,
            edge_vmax=1, width=width, ax=axes[1],
        )  # fmt: skip
    axes[1].set_aspect("equal")
    return image, said


if __name__ == "__main__":
    drawing.script("edge_scores", draw)
