"""The method, shown on a real run (Figure 1, inference, and Algorithm 1): one Tree-Cycles graph per class.

    python figures/method.py [--results results/local]

From left to right: the input; A_g, the edge probabilities that the generator of its class gives; A' when the existing
edges have been sampled, before any of the missing ones; and the first graph that the oracle puts into the other class.
Read from `traces.parquet` (`./reproduce.sh traces`). Shown is, of each class, the test graph with the lowest number
whose class changed by what that class needs: in cyclic graphs by a removal alone, in trees by an addition alone.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D

from figures import figure as drawing
from figures import style
from figures.figure import Drawn
from figures.qualitative import key
from figures.results import Results, edited, shown

DATASET = "tree-cycles"
CLASSES = ("tree", "cyclic")
KEPT, CYCLE, REMOVED, ADDED = "#555555", style.BLUE, "#E00000", "#00A000"
COMMAND = "./reproduce.sh traces computes them"


def stored(results: Results, name: str, dataset: str) -> tuple[pd.DataFrame, Path | None]:
    """The rows of traces.parquet or candidates.parquet on a data set, from the first folder that has some."""
    for folder in results.folders:
        path = folder / f"{name}.parquet"
        if path.is_file():
            table = pd.read_parquet(path)
            table = table[table["dataset"] == dataset]
            if len(table):
                results.used += [path] if path not in results.used else []
                return table, path
    return pd.DataFrame(), None


def of(table: pd.DataFrame, method: str, variant: str) -> pd.DataFrame:
    """The rows of one method by instance."""
    if table.empty:
        return table
    return table[(table["method"] == method) & (table["variant"] == variant)].set_index("instance").sort_index()


def scores(row: pd.Series) -> np.ndarray:
    """A_g as a symmetric matrix in [0, 1], [n, n]."""
    n = int(row["n_nodes"])
    matrix = np.zeros((n, n))
    matrix[np.triu_indices(n, 1)] = np.asarray(row["scores"]) / 255
    return matrix + matrix.T


def cycle_edges(adjacency: np.ndarray) -> set[tuple[int, int]]:
    """The edges u < v that lie on a cycle: those that are no bridges."""
    graph = nx.from_numpy_array(adjacency)
    bridges = {(min(edge), max(edge)) for edge in nx.bridges(graph)}
    return {(min(edge), max(edge)) for edge in graph.edges} - bridges


def pairs(coded: object, n: int) -> list[tuple[int, int]]:
    return [(int(code) // n, int(code) % n) for code in np.asarray(coded, dtype=int)]


def chosen(traces: pd.DataFrame, inputs: dict[int, np.ndarray]) -> dict[int, int]:
    """By class, the lowest instance whose class was changed by a removal (cyclic) or an addition (tree) alone."""
    found: dict[int, int] = {}
    for instance, row in traces[traces["found"].astype(bool)].iterrows() if len(traces) else ():
        if instance in inputs:
            cyclic = int(bool(cycle_edges(inputs[instance])))
            wanted, other = ("removed", "checked") if cyclic else ("checked", "removed")
            if len(row[wanted]) and not len(row[other]):
                found.setdefault(cyclic, int(instance))
    return found


def layout(adjacency: np.ndarray) -> dict[int, np.ndarray]:
    return nx.kamada_kawai_layout(nx.from_numpy_array(adjacency))


def network(
    axis: Axes, where: dict[int, np.ndarray], edges: dict[str, list[tuple[int, int]]], style_of: str = "solid"
) -> None:
    """Edges by colour; removed ones are dashed."""
    graph = nx.empty_graph(len(where))
    nx.draw_networkx_nodes(graph, where, ax=axis, node_size=7, node_color="black", linewidths=0)
    for colour, listed in edges.items():
        dashes = "dashed" if colour == REMOVED else style_of
        nx.draw_networkx_edges(
            graph,
            where,
            edgelist=listed,
            edge_color=colour,
            ax=axis,
            style=dashes,
            width=0.8 if colour == KEPT else 1.6,
        )
    axis.set_axis_off()
    axis.set_aspect("equal")


def heat_map(axis: Axes, matrix: np.ndarray, marked: set[tuple[int, int]]) -> AxesImage:
    """A_g, dark is 0 and bright is 1; circles mark pairs, on both sides of the diagonal."""
    image = axis.imshow(matrix, cmap="cividis", vmin=0, vmax=1, interpolation="none")
    if marked:
        u, v = np.array(sorted(marked)).T
        axis.scatter(np.append(v, u), np.append(u, v), s=9, facecolors="none", edgecolors=style.RED, linewidths=0.7)
    axis.grid(False)
    axis.set_xticks([0, len(matrix) - 1], ["0", str(len(matrix) - 1)], fontsize=6)
    axis.set_yticks([0, len(matrix) - 1], ["0", str(len(matrix) - 1)], fontsize=6)
    axis.tick_params(length=1.5, pad=1)
    return image


def draw(results: Results) -> list[Drawn]:
    """How RSGG-CE explains one tree and one cyclic graph, step by step."""
    table, path = stored(results, "traces", DATASET)
    traces, inputs = of(table, "rsgg-ce", "faithful"), results.inputs(DATASET)
    graphs = chosen(traces, inputs)
    missing = [f"a traced {CLASSES[c]} graph of Tree-Cycles ({COMMAND})" for c in (1, 0) if c not in graphs]
    figure, axes = plt.subplots(2, 4, figsize=(style.PAGE, 4.4))
    seen = []
    for row, c in zip(axes, (1, 0), strict=True):
        if c in graphs:
            seen.append(_row(row, inputs[graphs[c]], traces.loc[graphs[c]], c))
        else:
            for axis in row:
                axis.set_axis_off()
    colours = {"on a cycle": CYCLE, "removed": REMOVED, "added": ADDED}
    handles = [Line2D([], [], color=colour, label=label) for label, colour in colours.items()]
    handles.append(Line2D([], [], ls="", marker="o", mfc="none", mec=style.RED, ms=4, label="edited pair in A_g"))
    key(figure, list(handles))
    figure.suptitle(f"RSGG-CE explains two graphs. Drawn from {shown(path) if path else 'nothing'}.", fontsize=7)
    caption = (
        "RSGG-CE at work on one cyclic graph (top) and one tree (bottom) of a test fold: the input, the edge "
        "probabilities A_g that the generator of its class learnt, what is left when the existing edges have been "
        "sampled, and the first graph of the other class. " + " ".join(seen)
    )
    return [Drawn("method", figure, caption.strip(), "Figure 1 (inference)", tuple(missing))]


def _row(axes: np.ndarray, adjacency: np.ndarray, trace: pd.Series, c: int) -> str:
    n, where = len(adjacency), layout(adjacency)
    existing = [(int(u), int(v)) for u, v in np.argwhere(np.triu(adjacency))]
    cycle, removed, checked = cycle_edges(adjacency), pairs(trace["removed"], n), pairs(trace["checked"], n)
    added = [pair for pair in checked if pair not in existing]
    probabilities = scores(trace)

    network(axes[0], where, {KEPT: sorted(set(existing) - cycle), CYCLE: sorted(cycle)})
    axes[0].set_title(f"input {trace.name}: {CLASSES[c]}", fontsize=7)
    image = heat_map(axes[1], probabilities, {*removed, *added})
    axes[1].set_title("A_g, learnt", fontsize=7)
    bar = axes[1].figure.colorbar(image, ax=axes[1], fraction=0.046, pad=0.03)
    bar.ax.tick_params(labelsize=6)
    kept = sorted(set(existing) - set(removed))
    network(axes[2], where, {KEPT: kept, REMOVED: removed})
    axes[2].set_title(
        f"A' of existing edges:\n{len(removed)} removed, {'class changed' if c else 'class unchanged'}", fontsize=7
    )
    after = edited(adjacency, [u * n + v for u, v in {*removed} ^ {*added}])
    network(axes[3], where, {KEPT: [e for e in kept if after[e]], ADDED: added})
    calls = int(trace["calls"])
    axes[3].set_title(
        f"accepted as {CLASSES[1 - c]}, GED {len(removed) + len(added)},\n{calls} oracle calls", fontsize=7
    )
    return _in_words(probabilities, existing, cycle, c)


def _in_words(probabilities: np.ndarray, existing: list[tuple[int, int]], cycle: set[tuple[int, int]], c: int) -> str:
    def mean(listed: list[tuple[int, int]]) -> float:
        return float(np.mean([probabilities[pair] for pair in listed])) if listed else float("nan")

    if c:
        rest = mean(sorted(set(existing) - cycle))
        return f"In the cyclic graph A_g is {mean(sorted(cycle)):.2f} on the edges of cycles and {rest:.2f} on others."
    missing = np.triu(1 - np.eye(len(probabilities)), 1).astype(bool)
    missing[tuple(np.array(existing).T)] = False
    return (
        f"In the tree A_g is {mean(existing):.2f} on edges; the missing pairs expect "
        f"{probabilities[missing].sum():.1f} additions in all."
    )


if __name__ == "__main__":
    drawing.script("method", draw)
