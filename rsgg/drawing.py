"""A counterfactual for people: in words, as a picture, and in a notebook.

These are the functions behind `Counterfactual.in_words`, `.plot` and `._repr_html_`. All pictures of a graph have one
layout, that of the input, so that what changes is the edges and nothing else: kept edges are grey, added ones green,
removed ones red and dashed. Nodes that are added, dropped or get another label have outlines in green, red and orange;
an added one is called by its label. matplotlib is imported when `plot` is called; words and notebooks do without it.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np

from rsgg.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from rsgg.counterfactual import Counterfactual
    from rsgg.graph import Graph

Pair = tuple[int, int]

KEPT, ADDED, REMOVED, RELABELLED = "#909090", "#00A000", "#E00000", "#E08000"
OUTLINES = {"kept": "black", "added": ADDED, "removed": REMOVED, "relabelled": RELABELLED}  # of nodes
EDGES_IN_WORDS = 10  # a longer list of edges is cut in the sentence
NODES_WITH_NAMES = 60  # in larger graphs the names would cover the picture
NODES_FOR_EXACT_LAYOUT = 150  # larger graphs are laid out by springs, which is faster
NODES_IN_HTML = 300  # of a larger graph a notebook shows the sentence only
HTML_SIZE = 260  # pixels


# -- Words -------------------------------------------------------------------------------------------------------


def in_words(result: Counterfactual) -> str:
    """The result as a sentence: "Remove the edge 3–7 and the class changes from 1 to 0." """
    if result.graph is None:
        return f"No counterfactual was found: {result.reason}."
    parts = [
        f"{verb} {_edges_in_words(result.input, pairs)}"
        for verb, pairs in (("remove", result.removed), ("add", result.added))
        if pairs
    ]
    parts += _nodes_in_words(result)
    to_do = " and ".join(parts if len(parts) < 3 else [", ".join(parts[:-1]), parts[-1]])
    return f"{to_do[0].upper()}{to_do[1:]}{',' if len(parts) > 1 else ''} and {_class_in_words(result)}."


def _nodes_in_words(result: Counterfactual) -> list[str]:
    """What is done to nodes, such as "give node 3 the label 2 instead of 0"."""
    graph, told = result.input, []
    for one in result.node_edits[:EDGES_IN_WORDS]:
        name = node_name(graph, one.node)
        if one.kind == "relabel":
            told.append(f"give node {name} the label {one.label} instead of {one.was}")
        elif one.kind == "add":
            told.append(f"add a leaf of label {one.label} to node {name}")
        else:
            edge = "" if one.neighbour is None else f" with its edge to {node_name(graph, one.neighbour)}"
            told.append(f"drop node {name}{edge}")
    left = len(result.node_edits) - len(told)
    return told + ([f"make {left} more edits of nodes"] if left else [])


def _class_in_words(result: Counterfactual) -> str:
    before, after = result.before, result.after
    if before is not None and after is not None:
        return f"the class changes from {before} to {after}" if before != after else f"the class stays {before}"
    if not result.flips:
        return "nobody has asked which class that is"
    return "the class changes" if before is None else f"the class is no longer {before}"


def _edges_in_words(graph: Graph, pairs: Sequence[Pair]) -> str:
    names = [f"{node_name(graph, u)}–{node_name(graph, v)}" for u, v in pairs]
    if len(names) == 1:
        return f"the edge {names[0]}"
    if len(names) > EDGES_IN_WORDS:
        return f"{len(names)} edges ({', '.join(names[:EDGES_IN_WORDS])}, …)"
    return f"the edges {', '.join(names[:-1])} and {names[-1]}"


def node_name(graph: Graph, node: int) -> str:
    """What the user calls this node; its number where nodes have no names."""
    return str(node if graph.node_names is None else graph.node_names[node])


# -- Layout ------------------------------------------------------------------------------------------------------


def layout(graph: Graph) -> np.ndarray:
    """Where the nodes of a graph are drawn, float [n, 2] between 0 and 1; always the same for the same edges."""
    plain = nx.empty_graph(graph.n_nodes)
    plain.add_edges_from(graph.edges())
    if graph.n_nodes == 1:
        return np.full((1, 2), 0.5)
    if graph.n_nodes > NODES_FOR_EXACT_LAYOUT:
        places = nx.spring_layout(plain, seed=0)
    else:
        places = nx.kamada_kawai_layout(plain, dist=_distances(plain))
    where = np.array([places[node] for node in range(graph.n_nodes)])
    low, high = where.min(0), where.max(0)
    return (where - low) / np.maximum(high - low, 1e-9)


def _distances(graph: nx.Graph) -> dict[int, dict[int, int]]:
    """Shortest paths between all nodes; unconnected ones get one step more than the longest path.

    NetworkX would put them a million steps apart, and every component would shrink to a point.
    """
    known = dict(nx.all_pairs_shortest_path_length(graph))
    far = 1 + max(max(of_node.values()) for of_node in known.values())
    return {u: {v: known[u].get(v, far) for v in graph} for u in graph}


# -- Pictures ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Picture:
    """What is drawn: the input's nodes and the added leaves, where they are, and the edges and nodes by kind."""

    where: np.ndarray
    names: list[str]
    edges: dict[str, list[Pair]]
    nodes: dict[str, list[int]]

    def kind(self, node: int) -> str:
        return next((kind for kind, nodes in self.nodes.items() if node in nodes), "kept")


def _picture(result: Counterfactual) -> _Picture:
    graph, edits = result.input, result.node_edits
    leaves = [one for one in edits if one.kind == "add"]
    leaf_edges = [(one.node, graph.n_nodes + i) for i, one in enumerate(leaves)]
    dropped = [one for one in edits if one.kind == "drop"]
    gone = [(min(one.node, to), max(one.node, to)) for one in dropped if (to := one.neighbour) is not None]
    removed = result.removed + gone
    nodes = {
        "added": [new for _, new in leaf_edges],
        "removed": [one.node for one in dropped],
        "relabelled": [one.node for one in edits if one.kind == "relabel"],
    }
    with_leaves = graph
    if leaves:
        everything = np.pad(graph.adjacency, (0, len(leaves)))
        for u, v in leaf_edges:
            everything[u, v] = everything[v, u] = 1
        with_leaves = graph.with_adjacency(everything)
    names = [node_name(graph, node) for node in range(graph.n_nodes)] + [f"+{one.label}" for one in leaves]
    gone_edges = set(removed)
    kept = [pair for pair in graph.edges() if pair not in gone_edges]
    return _Picture(
        layout(with_leaves), names, {"kept": kept, "added": result.added + leaf_edges, "removed": removed}, nodes
    )


def plot(result: Counterfactual, ax: Axes | None = None) -> Axes:
    """Draw a result with matplotlib and return the axes.

    Args:
        result: where nothing was found the input is drawn, and the title says why.
        ax: where to draw; a new figure if it is not given.
    """
    if ax is None:
        ax = _pyplot().subplots(figsize=(4.5, 4.5), layout="constrained")[1]
    picture = _picture(result)
    where = picture.where
    looks: dict[str, dict[str, Any]] = {
        "kept": {"color": KEPT, "linewidth": 1},
        "added": {"color": ADDED, "linewidth": 2.5},
        "removed": {"color": REMOVED, "linewidth": 2.5, "linestyle": (0, (3, 2))},
    }
    for label, look in looks.items():
        for i, (u, v) in enumerate(picture.edges[label]):
            ax.plot(
                where[[u, v], 0],
                where[[u, v], 1],
                label=label if i == 0 and label != "kept" else None,
                zorder=1,
                **look,
            )
    named = len(where) <= NODES_WITH_NAMES
    outlines = [OUTLINES[picture.kind(node)] for node in range(len(where))]
    fill, size = ("white", 130) if named else (KEPT, 12)
    ax.scatter(where[:, 0], where[:, 1], s=size, color=fill, edgecolors=outlines, zorder=2)
    if named:
        for name, (x, y) in zip(picture.names, where, strict=True):
            ax.text(x, y, name, ha="center", va="center", fontsize=7, zorder=3)
    if picture.edges["added"] or picture.edges["removed"]:
        ax.legend(loc="best", frameon=False, fontsize=8)
    ax.set_title(textwrap.fill(in_words(result), 62), fontsize=8)
    ax.margins(0.06)
    ax.set_aspect("equal")
    ax.set_axis_off()
    return ax


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot
    except ImportError as error:
        raise UsageError(
            'Pictures need matplotlib, which is not installed; install it with pip install "rsgg[plot]".'
        ) from error
    return matplotlib.pyplot


# -- Notebooks ---------------------------------------------------------------------------------------------------


def html(result: Counterfactual) -> str:
    """The sentence, and above it a small picture as SVG unless the graph is too large for one."""
    picture = _svg(result) if result.input.n_nodes <= NODES_IN_HTML else ""
    return f"<figure>{picture}<figcaption>{escape(in_words(result))}</figcaption></figure>"


def _svg(result: Counterfactual) -> str:
    named, picture = result.input.n_nodes <= NODES_WITH_NAMES, _picture(result)
    radius = 8 if named else 2
    places = (radius + 2 + picture.where * (HTML_SIZE - 2 * radius - 4)).round(1).tolist()
    styles = {
        "kept": f'stroke="{KEPT}"',
        "added": f'stroke="{ADDED}" stroke-width="3"',
        "removed": f'stroke="{REMOVED}" stroke-width="3" stroke-dasharray="5 3"',
    }
    drawn = []
    for kind, style in styles.items():
        for (x1, y1), (x2, y2) in ((places[u], places[v]) for u, v in picture.edges[kind]):
            drawn.append(f'<line class="{kind}" x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" {style}/>')
    for node, (x, y) in enumerate(places):
        outline = OUTLINES[picture.kind(node)]
        drawn.append(f'<circle cx="{x}" cy="{y}" r="{radius}" fill="white" stroke="{outline}"/>')
        if named:
            name = escape(picture.names[node])
            drawn.append(f'<text x="{x}" y="{y + 3}" font-size="8" text-anchor="middle">{name}</text>')
    size = f'width="{HTML_SIZE}" height="{HTML_SIZE}" viewBox="0 0 {HTML_SIZE} {HTML_SIZE}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{"".join(drawn)}</svg>'
