"""The method, shown on a real run (Figure 1, inference, and Algorithm 1): one Tree-Cycles graph per class.

    python figures/method.py [--results results/local]

From left to right: the input; A_g, the edge probabilities that the generator of its class gives; A' when the existing
edges have been sampled, before any of the missing ones; and the first graph that the oracle puts into the other class.
Read from `traces.parquet` (`./reproduce.sh traces`). Shown is, of each class, the test graph with the lowest number
whose class changed by what that class needs: in cyclic graphs by a removal alone, in trees by an addition alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from benchmarks.registry import tasks
from benchmarks.results.reader import Results, edited
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

Pair = tuple[int, int]
Places = Mapping[int, np.ndarray]

TASK = tasks.TREE_CYCLES
COMMAND = "./reproduce.sh traces computes them"
KEPT = {"edge_color": "#555555", "width": 0.8}
ON_CYCLE, ADDED = ({"edge_color": colour, "width": 1.6} for colour in (style.BLUE, style.ADDED))
REMOVED = {"edge_color": style.REMOVED, "width": 1.6, "style": "dashed"}


# -- What is read from traces ------------------------------------------------------------------------------


def of(table: pd.DataFrame, method: str, variant: str) -> pd.DataFrame:
    """The rows of one method by instance."""
    return figure.only(table, (method, variant)).set_index("instance").sort_index() if len(table) else table


def scores(row: pd.Series) -> np.ndarray:
    """A_g as a symmetric matrix in [0, 1], [n, n]."""
    n = int(row["n_nodes"])
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = np.asarray(row["scores"]) / 255
    return matrix + matrix.T


def mean_score(probabilities: np.ndarray, pairs: Collection[Pair]) -> float:
    return float(np.mean([probabilities[pair] for pair in sorted(pairs)])) if pairs else float("nan")


def edges_of(adjacency: np.ndarray) -> list[Pair]:
    """The edges u ≤ v."""
    return [(int(u), int(v)) for u, v in np.argwhere(np.triu(adjacency))]


def cycle_edges(adjacency: np.ndarray) -> set[Pair]:
    """The edges u < v that lie on a cycle: those that are no bridges."""
    graph = nx.from_numpy_array(adjacency)
    bridges = {(min(edge), max(edge)) for edge in nx.bridges(graph)}
    return {(min(edge), max(edge)) for edge in graph.edges} - bridges


def pairs(coded: object, n: int) -> list[Pair]:
    """Node pairs that are coded as u·n + v."""
    return [(int(code) // n, int(code) % n) for code in np.asarray(coded, dtype=int)]


def chosen(traces: pd.DataFrame, inputs: Mapping[int, np.ndarray]) -> dict[int, int]:
    """By class, the lowest instance whose class was changed by a removal (cyclic) or an addition (tree) alone."""
    found: dict[int, int] = {}
    for instance, row in traces[traces["found"].astype(bool)].iterrows() if len(traces) else ():
        if instance in inputs:
            cyclic = int(bool(cycle_edges(inputs[instance])))
            wanted, other = ("removed", "checked") if cyclic else ("checked", "removed")
            if len(row[wanted]) and not len(row[other]):
                found.setdefault(cyclic, int(instance))
    return found


# -- Pictures of graphs and scores -------------------------------------------------------------------------


def layout(adjacency: np.ndarray) -> Places:
    return nx.kamada_kawai_layout(nx.from_numpy_array(adjacency))


def network(axis: Axes, where: Places, *layers: tuple[Collection[Pair], Mapping[str, Any]]) -> None:
    """Nodes in their places, and layers of edges, each with how it is drawn."""
    graph = nx.empty_graph(len(where))
    nx.draw_networkx_nodes(graph, where, ax=axis, node_size=7, node_color="black", linewidths=0)
    for edges, how in layers:
        nx.draw_networkx_edges(graph, where, edgelist=list(edges), ax=axis, **how)
    axis.set_axis_off()
    axis.set_aspect("equal")


def heat_map(axis: Axes, matrix: np.ndarray, marked: Collection[Pair], title: str, *, bar: bool = False) -> None:
    """A_g, pale is 0 and dark is 1; circles mark pairs, on both sides of the diagonal."""
    ends = len(matrix) - 1  # labels at the first and the last node
    sns.heatmap(
        matrix, ax=axis, cmap="rocket_r" if bar else style.SCORES, vmin=0, vmax=1, square=True, rasterized=True,
        xticklabels=ends, yticklabels=ends, cbar=bar, cbar_kws={"fraction": 0.046, "pad": 0.03} if bar else None,
    )  # fmt: skip
    if marked:
        u, v = np.array(sorted(marked)).T + 0.5
        axis.scatter(np.append(v, u), np.append(u, v), s=9, facecolors="none", edgecolors=style.RED, linewidths=0.7)
    axis.grid(False)
    axis.tick_params(length=1.5, pad=1, labelsize=6, rotation=0)
    axis.set_title(title, fontsize=7)


# -- The figure --------------------------------------------------------------------------------------------


def draw(results: Results) -> list[Drawn]:
    """How RSGG-CE explains one tree and one cyclic graph, step by step."""
    table, _ = results.parquet("traces", TASK.name)
    traces, inputs = of(table, "rsgg-ce", "faithful"), results.inputs(TASK.name)
    graphs = chosen(traces, inputs)
    missing = [f"a traced {TASK.class_name(c)} graph of {TASK.label} ({COMMAND})" for c in (1, 0) if c not in graphs]
    drawing, axes = plt.subplots(2, 4, figsize=(style.PAGE, 4.4))
    seen = []
    for row, c in zip(axes, (1, 0), strict=True):
        if c in graphs:
            seen.append(_row(row, inputs[graphs[c]], traces.loc[graphs[c]], c))
        else:
            style.switch_off(row)
    colours = {"on a cycle": style.BLUE, "removed": style.REMOVED, "added": style.ADDED}
    handles = [style.handle(label, colour, "-") for label, colour in colours.items()]
    handles.append(style.handle("edited pair in A_g", style.RED, marker="o", mfc="none", ms=4))
    style.legend_below(drawing, handles, len(handles))
    figure.heading(drawing, "RSGG-CE explains two graphs", results)
    return [Drawn("method", drawing, figure.caption(CAPTIONS["method"], *seen), "Figure 1 (inference)", tuple(missing))]


def _row(axes: np.ndarray, adjacency: np.ndarray, trace: pd.Series, c: int) -> str:
    """Draw the four steps on one graph; returns what A_g shows, in words."""
    n, where, existing, cycle = len(adjacency), layout(adjacency), edges_of(adjacency), cycle_edges(adjacency)
    removed, checked = pairs(trace["removed"], n), pairs(trace["checked"], n)
    added = [pair for pair in checked if pair not in existing]
    kept = sorted(set(existing) - set(removed))
    after = edited(adjacency, [u * n + v for u, v in {*removed} ^ {*added}])
    probabilities = scores(trace)

    network(axes[0], where, (set(existing) - cycle, KEPT), (cycle, ON_CYCLE))
    heat_map(axes[1], probabilities, {*removed, *added}, "A_g, learnt", bar=True)
    network(axes[2], where, (kept, KEPT), (removed, REMOVED))
    network(axes[3], where, ([edge for edge in kept if after[edge]], KEPT), (added, ADDED))
    titles = {
        0: f"input {trace.name}: {TASK.class_name(c)}",
        2: f"A' of existing edges:\n{len(removed)} removed, {'class changed' if c else 'class unchanged'}",
        3: f"accepted as {TASK.class_name(1 - c)}, GED {len(removed) + len(added)},\n{trace['calls']} oracle calls",
    }
    for i, title in titles.items():
        axes[i].set_title(title, fontsize=7)
    return _in_words(probabilities, existing, cycle, c)


def _in_words(probabilities: np.ndarray, existing: list[Pair], cycle: set[Pair], c: int) -> str:
    on_cycles, others = mean_score(probabilities, cycle), mean_score(probabilities, set(existing) - cycle)
    if c:
        return f"In the cyclic graph A_g is {on_cycles:.2f} on the edges of cycles and {others:.2f} on others."
    missing = np.triu(np.ones_like(probabilities, dtype=bool), 1)
    missing[tuple(np.array(existing).T)] = False
    expected = probabilities[missing].sum()
    return f"In the tree A_g is {others:.2f} on edges; the missing pairs expect {expected:.1f} additions in all."


if __name__ == "__main__":
    figure.script("method", draw)
