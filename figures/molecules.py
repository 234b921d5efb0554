"""Beyond the paper: counterfactuals of molecules (`./reproduce.sh table2`).

    python figures/molecules.py [--results results/reference]

A figure per task whose nodes are atoms: a row per test graph, the input beside what each method makes of it, drawn in
the input's layout (RDKit's, else by path lengths). The graphs are chosen by a rule, not by looks: of those with at most
`MOST_ATOMS` atoms, for each class of the oracle the first two, by fold and number, that most of the shown methods
explain. From the ledgers, their measures and `table2_graphs.parquet`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.registry import tasks
from benchmarks.registry.methods import Row
from benchmarks.registry.rules import NOT_SANITISED
from benchmarks.results.graphs import Change, InputGraph, Pair
from benchmarks.results.reader import Results
from figures import figure, layout, style
from figures.figure import CAPTIONS, Drawn
from figures.pictograms import is_valid

METHODS: tuple[Row, ...] = (
    ("obs", "search"), ("two-sided-min", "search"), ("rsgg-ce-certified", "beyond"), ("rsgg-ce-feasible", "beyond"),
    ("rsgg-ce-nodes", "beyond"), ("maccs", "faithful"), ("meg-molecules", "faithful"),
)  # fmt: skip
PER_CLASS = 2  # graphs that are shown
MOST_ATOMS = 40  # of a graph that is shown: with more of them, symbols cannot be read in a column of a page
REMOVED, ADDED, RELABELLED = style.REMOVED, style.ADDED, style.ORANGE
COLOURS = {"kept": "#4D4D4D", "removed": REMOVED, "added": ADDED}
WIDTHS = {"kept": 0.8, "removed": 1.2, "added": 1.4}
DASHES = {"removed": (0, (2.2, 1.6))}
APART = 0.17  # of the lines of a double bond, a bond being 1 long
BOW = 0.12  # of an added bond, as a share of its length: a straight one could run through atoms that it does not join
MARGIN = 0.6  # around a molecule, for symbols
WORDS, SMALL = 0.36, 5.5  # inches below a molecule, and the size of the letters there
HEADING = 6.5  # the size of the letters above a column

Answers = Mapping[Row, pd.DataFrame]


@dataclass(frozen=True)
class Panel:
    """What a row makes of a graph: the edits, the places of all atoms [n + leaves, 2], and what is said below."""

    change: Change
    where: np.ndarray
    said: Sequence[str]


@dataclass(frozen=True)
class Line:
    """A graph and its panels, the input first; all have the same corners."""

    graph: InputGraph
    panels: Sequence[Panel]

    @property
    def corners(self) -> tuple[np.ndarray, np.ndarray]:
        everywhere = np.concatenate([panel.where for panel in self.panels])
        return everywhere.min(0) - MARGIN, everywhere.max(0) + MARGIN

    @property
    def size(self) -> np.ndarray:
        """Width and height."""
        low, high = self.corners
        return high - low


def draw(results: Results) -> list[Drawn]:
    """A figure for each task of the stored table of real data whose nodes are atoms."""
    table, missing = figure.table_of(results, "table2", "task method variant")
    stored = [task for task in tasks.tasks() if task in set(table["task"])]
    drawn = []
    for task in stored:
        graphs = results.graphs(task)
        if not graphs:
            missing.append(f"the graphs of {tasks.label(task)}, which ./reproduce.sh table2 stores")
        elif layout.are_atoms(graphs[0].label_names):
            drawn.append(_of_task(results, task, graphs))
    return drawn or [_nothing(missing or ["tasks whose nodes are atoms, of which ./reproduce.sh table2 runs some"])]


def _nothing(missing: Sequence[str]) -> Drawn:
    drawing, axis = plt.subplots(figsize=(style.COLUMN, 1.2))
    style.say(axis, "no molecules are stored")
    return Drawn("molecules", drawing, CAPTIONS["no_molecules"], missing=tuple(missing))


# -- Which graphs ----------------------------------------------------------------------------------------------


def chosen(graphs: Sequence[InputGraph], answers: Answers) -> list[InputGraph]:
    """For each class of the oracle the first graphs, by fold and number, that most of these rows explain."""
    small = [graph for graph in graphs if graph.n_nodes <= MOST_ATOMS]
    explained = {graph.instance: sum(_valid(own, graph.instance) for own in answers.values()) for graph in small}
    picked = []
    for c in sorted({graph.predicted for graph in small}):
        own = sorted(
            (graph for graph in small if graph.predicted == c),
            key=lambda graph: (-explained[graph.instance], graph.fold, graph.instance),
        )
        picked += own[:PER_CLASS]
    return picked


def _valid(answers: pd.DataFrame, instance: int) -> bool:
    return instance in answers.index and bool(is_valid(answers.loc[[instance]]).iloc[0])


# -- One figure ------------------------------------------------------------------------------------------------


def _of_task(results: Results, task: str, graphs: Sequence[InputGraph]) -> Drawn:
    found = {row: results.answers(task, *row) for row in METHODS}
    answers = {row: own for row, own in found.items() if len(own)}
    looks = [style.look(row) for row in METHODS if row not in answers]
    missing = [f"{look.label} on {tasks.label(task)}" for look in looks if not look.unsupported(task)]
    missing += [] if layout.rdkit() else [layout.NO_RDKIT]
    rows = [_line(graph, task, answers) for graph in chosen(graphs, answers)]
    drawing = _panels(rows, answers)
    figure.heading(drawing, f"Counterfactuals of molecules, {tasks.label(task)}", results)
    words = CAPTIONS["molecules"].format(task=tasks.label(task), atoms=MOST_ATOMS, count=PER_CLASS)
    return Drawn(f"molecules_{task}", drawing, words, missing=tuple(missing))


def _line(graph: InputGraph, task: str, answers: Answers) -> Line:
    where, unchanged = layout.places(graph), Change.of(graph)
    said = [tasks.task(task).class_name(graph.predicted), f"graph {graph.instance}"]
    panels = [Panel(unchanged, where, said)]
    for own in answers.values():
        if graph.instance in own.index:
            answer = own.loc[graph.instance]
            change = Change.of(graph, answer["edits"], answer["node_edits"])
            anchors = [node for node, _ in change.nodes.leaves]
            panels.append(Panel(change, layout.with_leaves(where, change.kept, anchors), judged(answer, change, graph)))
        else:
            panels.append(Panel(unchanged, where, ["not stored"]))
    return Line(graph, panels)


def judged(answer: pd.Series, change: Change, graph: InputGraph) -> list[str]:
    """What is said of a counterfactual: valid or not, feasible or not, its edits and its plausibility."""
    if not answer["found"]:
        return ["nothing found"]
    valid = "valid" if answer["predicted"] != answer["predicted_cf"] else "class unchanged"
    rules = "" if pd.isna(answer["feasible"]) else ", feasible" if answer["feasible"] else ", not feasible"
    rules += NOT_SANITISED if rules and pd.isna(answer["sanitised"]) else ""
    said = [valid + rules, f"GED {answer['ged']:g}: {in_words(change, graph)}"]
    return said if pd.isna(answer["plausibility"]) else [*said, f"plausibility {answer['plausibility']:.2f}"]


def _panels(rows: Sequence[Line], answers: Answers) -> Figure:
    """A line of panels per graph, as high as its molecule is, below each panel what is said of it."""
    columns = 1 + len(answers)
    width = style.PAGE / columns
    heights = [width * float(np.clip(line.size[1] / line.size[0], 0.3, 1)) + WORDS for line in rows]
    drawing, axes = plt.subplots(
        max(1, len(rows)),
        columns,
        figsize=(style.PAGE, sum(heights) + 0.9),
        squeeze=False,
        height_ratios=heights or None,
    )
    drawing.set_layout_engine("constrained", w_pad=0.01, h_pad=0.04, wspace=0, hspace=0)
    titles = ["input", *(style.look(row).label.replace(", ", ",\n", 1) for row in answers)]
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(within(title.splitlines(), width, HEADING), fontsize=HEADING)
    for beside, line in zip(axes, rows, strict=False):
        for axis, panel in zip(beside, line.panels, strict=True):
            molecule(axis, line, panel, width)
            axis.set_xlabel(within(panel.said, width, SMALL), fontsize=SMALL, labelpad=1, linespacing=1.15)
    style.legend_below(drawing, legend([panel.change for line in rows for panel in line.panels]), 6)
    return drawing


def within(said: Sequence[str], width: float, size: float) -> str:
    """What is said of a panel, in lines of this font size that are no wider than the panel is, in inches."""
    signs = int(width * 72 / (0.63 * size))
    return "\n".join(part for line in said for part in textwrap.wrap(line, signs))


def legend(changes: Sequence[Change]) -> list[Line2D]:
    """What happened to bonds and atoms, as far as it happened in one of these."""
    bonds = [name for name in COLOURS if any(getattr(change, name) for change in changes)]
    rings = {
        "relabelled": ("atom of another element", RELABELLED), "dropped": ("atom dropped", REMOVED),
        "leaves": ("atom added", ADDED),
    }  # fmt: skip
    seen = [how for name, how in rings.items() if any(getattr(change.nodes, name) for change in changes)]
    return [style.handle(name, COLOURS[name], DASHES.get(name, "-"), lw=WIDTHS[name]) for name in bonds] + [
        style.handle(said, colour, "", "o", mfc="none", ms=7, mew=1) for said, colour in seen
    ]


def in_words(change: Change, graph: InputGraph) -> str:
    """The edits in short, such as "−1 +2 bonds, C→N, +Cl, −H": bonds between atoms that stay, then atoms."""
    ends = (*range(graph.n_nodes, graph.n_nodes + len(change.nodes.leaves)), *change.nodes.dropped)
    count = [sum(not {*pair} & {*ends} for pair in pairs) for pairs in (change.removed, change.added)]
    bonds = " ".join(f"{sign}{n}" for sign, n in zip("−+", count, strict=True) if n)
    names = graph.label_names
    atoms = [f"{graph.name(node)}→{names[label]}" for node, label in sorted(change.nodes.relabelled.items())]
    atoms += [f"+{names[label]}" for _, label in change.nodes.leaves]
    atoms += [f"−{graph.name(node)}" for node in sorted(change.nodes.dropped)]
    kind = "bond" if sum(count) == 1 else "bonds"
    return ", ".join([*([f"{bonds} {kind}"] if bonds else []), *_counted(atoms)]) or "no edits"


def _counted(names: Sequence[str]) -> list[str]:
    """["−H", "−H"] → ["2 × −H"], in the order in which they come first."""
    return [
        f"{names.count(name)}\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}{name}" if names.count(name) > 1 else name
        for name in dict.fromkeys(names)
    ]


# -- One molecule ----------------------------------------------------------------------------------------------


def molecule(axis: Axes, line: Line, panel: Panel, width: float) -> None:
    """Bonds by what happened to them, symbols at all atoms but carbon; `width` of the panel in inches."""
    graph, change, where = line.graph, panel.change, panel.where
    bonds = dict(zip(graph.edges, graph.bonds or [""] * len(graph.edges), strict=True))
    rings = _ring_centres(graph.edges, where)
    for kind, pairs in (("kept", change.kept), ("removed", change.removed), ("added", change.added)):
        inner = [_inner(pair, where, rings) for pair in pairs if bonds.get(pair) == "aromatic"]
        if kind == "added":
            lines = [_bowed(where[list(pair)]) if pair[1] < graph.n_nodes else where[list(pair)] for pair in pairs]
        else:
            lines = [one for pair in pairs for one in bond_lines(pair, bonds[pair], where, rings.get(pair))]
        look: dict[str, Any] = {"colors": COLOURS[kind], "linewidths": WIDTHS[kind], "zorder": 2 + (kind != "kept")}
        axis.add_collection(LineCollection(lines, linestyles=[DASHES.get(kind, "-")], capstyle="round", **look))
        axis.add_collection(LineCollection(inner, linestyles=[(0, (2, 2))], **look))
    size = float(np.clip(width * 72 / line.size.max() * 0.62, 3.2, 6.5))
    _atoms(axis, graph, panel, size)
    (left, low), (right, high) = line.corners
    axis.set(xticks=[], yticks=[], aspect="equal", xlim=(left, right), ylim=(low, high))
    axis.grid(False)
    axis.spines[:].set_visible(False)


def _atoms(axis: Axes, graph: InputGraph, panel: Panel, size: float) -> None:
    """Symbols of this size: of carbon only where it has no bond or is edited, which a ring says too."""
    n, nodes = graph.n_nodes, panel.change.nodes
    names = {node: graph.name(node) for node in range(n)}
    names |= {node: graph.label_names[label] for node, label in nodes.relabelled.items()}
    names |= {n + i: graph.label_names[label] for i, (_, label) in enumerate(nodes.leaves)}
    rings = {**dict.fromkeys(nodes.relabelled, RELABELLED), **dict.fromkeys(nodes.dropped, REMOVED)}
    rings |= dict.fromkeys(range(n, len(names)), ADDED)
    bonded = {node for pair in graph.edges for node in pair}
    for node, name in names.items():
        if name == "C" and node in bonded and node not in rings:
            continue
        ring = rings.get(node, "")
        shape = {"boxstyle": f"circle,pad={0.2 if ring else 0.08}", "fc": "white", "ec": ring or "none", "lw": 1}
        x, y = panel.where[node]
        axis.text(
            x, y, name, fontsize=size, ha="center", va="center_baseline", color=ring or "black",
            bbox=shape, zorder=6,
        )  # fmt: skip


def _bowed(ends: np.ndarray) -> np.ndarray:
    """A flat arc between two points, [k, 2]."""
    t = np.linspace(0, 1, 15)[:, None]
    height = BOW * float(np.linalg.norm(ends[1] - ends[0]))
    return ends[0] + t * (ends[1] - ends[0]) + 4 * t * (1 - t) * height * _across(ends)


def bond_lines(pair: Pair, bond: str, where: np.ndarray, ring: np.ndarray | None) -> list[np.ndarray]:
    """The lines of a bond, [2, 2] each: one; two side by side, the second inside the ring if there is one; or three."""
    ends = where[list(pair)]
    order = layout.ORDERS.get(bond, 1)
    if order == 1:
        return [ends]
    across = _across(ends)
    if order == 3:
        return [ends, ends + APART * across, ends - APART * across]
    if ring is None:
        return [ends + APART / 2 * across, ends - APART / 2 * across]
    return [ends, _inside(ends, ring)]


def _inner(pair: Pair, where: np.ndarray, rings: Mapping[Pair, np.ndarray]) -> np.ndarray:
    """The second line of an aromatic bond, [2, 2]."""
    ends = where[list(pair)]
    return _inside(ends, rings[pair]) if pair in rings else ends + APART * _across(ends)


def _across(ends: np.ndarray) -> np.ndarray:
    """The unit vector across a line."""
    along = ends[1] - ends[0]
    return np.array([-along[1], along[0]]) / max(float(np.linalg.norm(along)), 1e-9)


def _inside(ends: np.ndarray, ring: np.ndarray) -> np.ndarray:
    """A line beside this one, on the side of the ring's centre and a little shorter."""
    across = _across(ends)
    across = across if (ring - ends[0]) @ across > 0 else -across
    short = 0.14 * (ends[1] - ends[0])
    return ends + APART * across + np.stack((short, -short))


def _ring_centres(edges: Sequence[Pair], where: np.ndarray) -> dict[Pair, np.ndarray]:
    """For each edge on a cycle the centre of the shortest cycle through it."""
    plain, centres = nx.Graph(edges), {}
    for u, v in edges:
        plain.remove_edge(u, v)
        if nx.has_path(plain, u, v):
            centres[u, v] = where[nx.shortest_path(plain, u, v)].mean(0)
        plain.add_edge(u, v)
    return centres


if __name__ == "__main__":
    figure.script("molecules", draw)
