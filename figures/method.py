"""The method, shown on a real run (Figure 1 and Algorithm 1): one Tree-Cycles graph per class.

    python figures/method.py [--results results/local]

(a) Training, on the cyclic graph: the generator 𝔾 of its class gives A_g, from which graphs G_g are sampled; the oracle
Φ says whether their class is another one, the discriminator 𝔻 whether they look like graphs of the other class, and 𝔾
learns from both. A_g is what the trained generator gives; G_g is drawn from it here, with a fixed seed. The numbers are
of the last epochs of `convergence.csv`, means over its fits.

(b) Inference, from left to right: the input; A_g, the edge probabilities that the generator of its class gives; A' when
the existing edges have been sampled, before any of the missing ones; and the first graph that the oracle puts into the
other class. Read from `traces.parquet` (`./reproduce.sh traces`). Shown is, of each class, the test graph with the
lowest number whose class changed by what that class needs: in cyclic graphs by a removal alone, in trees by an addition
alone.
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
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from benchmarks.registry import tasks
from benchmarks.results.reader import Results, edited
from figures import figure, style
from figures.figure import CAPTIONS, Drawn
from rsgg.seeds import numpy_rng

Pair = tuple[int, int]
Places = Mapping[int, np.ndarray]

TASK = tasks.TREE_CYCLES
COMMAND = "./reproduce.sh traces computes them"
KEPT = {"edge_color": "#555555", "width": 0.8}
ON_CYCLE: dict[str, Any] = {"edge_color": style.BLUE, "width": 1.6}
ADDED: dict[str, Any] = {  # bowed, lest it run through nodes that it does not join
    "edge_color": style.ADDED, "width": 1.6, "arrows": True, "arrowstyle": "-", "connectionstyle": "arc3,rad=0.25"
}  # fmt: skip
REMOVED = {"edge_color": style.REMOVED, "width": 1.6, "style": "dashed"}
LEARNT = 1  # the class of the training half: cyclic
CURVES = "dataset method variant class epoch metric mean"


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


def network(
    axis: Axes, where: Places, *layers: tuple[Collection[Pair], Mapping[str, Any]], node_size: float = 7
) -> None:
    """Nodes in their places, and layers of edges, each with how it is drawn."""
    graph = nx.empty_graph(len(where))
    nx.draw_networkx_nodes(graph, where, ax=axis, node_size=node_size, node_color="black", linewidths=0)
    for edges, how in layers:
        nx.draw_networkx_edges(graph, where, edgelist=list(edges), ax=axis, node_size=node_size, **how)
    axis.set_axis_off()
    axis.set_aspect("equal")


def heat_map(
    axis: Axes, matrix: np.ndarray, marked: Collection[Pair], title: str, *, bar: bool = False, pale: bool = False
) -> None:
    """A_g, light is 0 and dark is 1; circles mark pairs, on both sides of the diagonal.

    With a bar, or beside such a map (`pale`), 0 is nearly white; else the colours are those of drawn edges.
    """
    ends = len(matrix) - 1  # labels at the first and the last node
    sns.heatmap(
        matrix, ax=axis, cmap="rocket_r" if bar or pale else style.SCORES, vmin=0, vmax=1, square=True, rasterized=True,
        xticklabels=ends, yticklabels=ends, cbar=bar, cbar_kws={"fraction": 0.046, "pad": 0.03} if bar else None,
    )  # fmt: skip
    if marked:
        u, v = np.array(sorted(marked)).T + 0.5
        rings = axis.scatter(np.append(v, u), np.append(u, v), s=11, facecolors="none", ec=style.RED, linewidths=0.7)
        rings.set_path_effects([withStroke(linewidth=1.4, foreground="white")])  # seen on dark squares too
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
    drawing, training, axes = _panels()
    seen = []
    if len(graphs) == 2:
        curves, lacking = figure.table_of(results, "convergence", CURVES)
        missing += lacking
        graph, other = (inputs[graphs[c]] for c in (LEARNT, 1 - LEARNT))
        seen.append(_training(training, graph, other, traces.loc[graphs[LEARNT]], last_epoch(curves)))
    for row, c in zip(axes, (1, 0), strict=True):
        if c in graphs:
            seen.append(_row(row, inputs[graphs[c]], traces.loc[graphs[c]], c))
        else:
            style.switch_off(row)
    colours = {"on a cycle": (style.BLUE, "-"), "removed": (style.REMOVED, "--"), "added": (style.ADDED, "-")}
    handles = [style.handle(label, *how) for label, how in colours.items()]
    handles.append(style.handle("edited pair in $A_g$", style.RED, marker="o", mfc="none", ms=4))
    style.legend_below(drawing, handles, len(handles))
    figure.heading(drawing, "RSGG-CE explains two graphs", results)
    return [Drawn("method", drawing, figure.caption(CAPTIONS["method"], *seen), "Figure 1", tuple(missing))]


def _panels() -> tuple[Figure, Axes, np.ndarray]:
    """The figure, the wide panel of the training half, and four panels for each of the two graphs."""
    names = [[f"{row}{column}" for column in range(4)] for row in "ab"]
    mosaic: Any = [["training"] * 4, *names]
    drawing, axes = plt.subplot_mosaic(mosaic, figsize=(style.PAGE, 6.2), height_ratios=(1.2, 1, 1))
    axes["training"].set(xlim=(0, 10), ylim=(0, 3.2))
    axes["training"].set_axis_off()
    return drawing, axes["training"], np.array([[axes[name] for name in row] for row in names])


# -- Training ----------------------------------------------------------------------------------------------


def last_epoch(curves: pd.DataFrame) -> dict[str, float]:
    """What each curve of the class's training has come to, by metric; empty where none is stored."""
    own = figure.only(curves, ("rsgg-ce", "faithful"), dataset=TASK.name, **{"class": LEARNT})
    return dict(own.sort_values("epoch").groupby("metric")["mean"].last())


def sample(probabilities: np.ndarray, instance: int) -> np.ndarray:
    """G_g ~ A_g: each pair is an edge with its probability; seeded by the number of the graph."""
    coins = numpy_rng("figure of the method", instance).random(probabilities.shape)
    upper = np.triu(coins < probabilities, 1)
    return (upper | upper.T).astype(np.uint8)


def _training(axis: Axes, graph: np.ndarray, other: np.ndarray, trace: pd.Series, ends: Mapping[str, float]) -> str:
    """Draw how 𝔾 of a class learns from 𝔻 and Φ; returns the numbers of the run, in words."""
    probabilities = scores(trace)
    generated, cycle, where = sample(probabilities, int(str(trace.name))), cycle_edges(graph), layout(graph)
    flips = bool(cycle_edges(generated)) != bool(LEARNT)
    gone, new = ({*edges_of(one)} - {*edges_of(two)} for one, two in ((graph, generated), (generated, graph)))
    name, name_of_other = TASK.class_name(LEARNT), TASK.class_name(1 - LEARNT)

    def inset(x: float, y: float, side: float, title: str) -> Axes:
        panel = axis.inset_axes((x, y, side * 10 / style.PAGE * 0.62, side), transform=axis.transData)
        panel.set_title(title, fontsize=7, pad=2)
        return panel

    network(inset(0, 0.75, 1.8, f"G, {name}"), where, ({*edges_of(graph)} - cycle, KEPT), (cycle, ON_CYCLE))
    heat_map(inset(3.35, 0.8, 1.7, ""), probabilities, (), "$A_g$", pale=True)
    network(
        inset(5.75, 1.75, 1.2, f"sampled: $G_g$, now {name_of_other if flips else name}"), where,
        ({*edges_of(graph)} & {*edges_of(generated)}, KEPT), (gone, REMOVED), (new, ADDED), node_size=3,
    )  # fmt: skip
    network(inset(5.75, 0.15, 1.2, f"a real {name_of_other}"), layout(other), (edges_of(other), KEPT), node_size=3)
    share, loss = f"{ends.get('flip_rate', np.nan):.0%}", f"{ends.get('discriminator_loss', np.nan):.2f}"
    _box(axis, 2.45, 1.65, f"𝔾\ngenerator\nof class\n{name}")
    _box(axis, 8.9, 2.35, f"Φ  oracle: not {name}?\nyes for {share} of samples")
    _box(axis, 8.9, 0.75, f"𝔻  real or generated?\nloss {loss}")
    for start, end in (
        ((1.7, 1.65), (1.98, 1.65)), ((2.92, 1.65), (3.3, 1.65)), ((5.0, 1.85), (5.7, 2.35)),
        ((6.9, 2.35), (7.82, 2.35)), ((6.9, 2.1), (7.82, 1.0)), ((6.9, 0.75), (7.82, 0.75)),
    ):  # fmt: skip
        _arrow(axis, start, end)
    axis.plot([9.85, 9.97, 9.97, 2.45], [2.35, 2.35, 0.02, 0.02], color=style.ORANGE, lw=1)
    axis.plot([9.85, 9.97], [0.75, 0.75], color=style.ORANGE, lw=1)
    _arrow(axis, (2.45, 0.0), (2.45, 1.02), style.ORANGE)
    axis.text(2.6, 0.08, "𝔾 learns by the reward [Φ($G_g$) ≠ c] · 𝔻($G_g$)", fontsize=6.5, color="#8a5a00")
    axis.set_title(f"(a) training, class {name}", fontsize=8, loc="left")
    if not ends:
        return ""
    return (
        f"At the end of training (mean over fits), of class {name}: {ends['flip_rate']:.2f} of the samples flip Φ, "
        f"with {ends['edits']:.1f} edits each, and 𝔻's loss is {ends['discriminator_loss']:.2f} (of a coin: 0.69)."
    )


def _box(axis: Axes, x: float, y: float, words: str) -> None:
    how = {"boxstyle": "round,pad=0.45", "facecolor": "#EEF3F7", "edgecolor": style.BLUE, "linewidth": 0.8}
    axis.text(
        x, y, words, ha="center", va="center", fontsize=7, linespacing=1.3, bbox=how,
    )  # fmt: skip


def _arrow(axis: Axes, start: tuple[float, float], end: tuple[float, float], colour: str = "#333333") -> None:
    how = {"arrowstyle": "-|>", "color": colour, "linewidth": 1, "shrinkA": 0, "shrinkB": 0}
    axis.annotate("", xy=end, xytext=start, arrowprops=how)


# -- Inference ---------------------------------------------------------------------------------------------


def _row(axes: np.ndarray, adjacency: np.ndarray, trace: pd.Series, c: int) -> str:
    """Draw the four steps on one graph; returns what A_g shows, in words."""
    n, where, existing, cycle = len(adjacency), layout(adjacency), edges_of(adjacency), cycle_edges(adjacency)
    removed, checked = pairs(trace["removed"], n), pairs(trace["checked"], n)
    added = [pair for pair in checked if pair not in existing]
    kept = sorted(set(existing) - set(removed))
    after = edited(adjacency, [u * n + v for u, v in {*removed} ^ {*added}])
    probabilities = scores(trace)

    network(axes[0], where, (set(existing) - cycle, KEPT), (cycle, ON_CYCLE))
    heat_map(axes[1], probabilities, {*removed, *added}, "$A_g$, learnt", bar=True)
    network(axes[2], where, (kept, KEPT), (removed, REMOVED))
    network(axes[3], where, ([edge for edge in kept if after[edge]], KEPT), (added, ADDED))
    titles = {
        0: ("(b) inference,\n" if c else "") + f"input {trace.name}: {TASK.class_name(c)}",
        2: f"A' of existing edges:\n{len(removed)} removed, {'class changed' if c else 'class unchanged'}",
        3: f"accepted as {TASK.class_name(1 - c)}:\nGED {len(removed) + len(added)}, {trace['calls']} oracle calls",
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
