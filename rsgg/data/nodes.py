"""Node classification (the paper's appendix): instances (v, X, A), where v is a node of one large graph.

An instance is the *ego network* of v: v and all nodes that are at most `hops` edges away, with the edges among them. It
is an ordinary graph, so that every method explains it as it explains others; edits are of pairs inside it. Its node
features are

    column TARGET     1 for v, 0 for the others
    column OUTSIDE    how many edges of the whole graph lead from this node out of the ego network
    columns between   the node's own features, where the whole graph has any
    column NUMBER     1 + the number of the node in the whole graph (0 is padding), the last column

NUMBER is for the oracle, which knows the whole graph; methods should not learn from it (`RSGGCE(unread=1)`).

Four data sets are known: base graphs with motifs attached, whose nodes are to be told apart (Ying et al., NeurIPS
2019). `NodesFromFiles` reads given draws of them, `GeneratedNodes` draws new ones by the same recipes; published
numbers compare with those in distribution only.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from rsgg.data.dataset import Dataset
from rsgg.data.files import content_of
from rsgg.errors import DataError
from rsgg.graph import Graph, GraphBatch
from rsgg.seeds import numpy_rng

TARGET, OUTSIDE, NUMBER = 0, 1, -1  # columns of an ego network's features
TRAIN, VALID, TEST = "train", "valid", "test"

FILES = {
    "ba-shapes": "BA-Shapes",
    "ba-community": "BA-Community",
    "tree-cycles-nodes": "Tree-Cycles",
    "tree-grid": "Tree-Grid",
    "ba-shapes-lucic": "CF-GNNExplainer_BA-Shapes",
}
"""What files of a data set begin with. The last is the draw that CF-GNNExplainer was published with."""


@dataclass(frozen=True, eq=False)
class NodeGraph:
    """One graph whose nodes are classified: `edges` u < v, int64 [E, 2]; `labels` and `split` of n nodes.

    Nodes with a label that is no multiple of 4 in the BA sets, or above 0 in the trees, are those of motifs;
    `motif_edges` [M, 2] are the edges inside motifs, where they are known. `features` [n, d], if there are any.
    """

    edges: np.ndarray
    labels: np.ndarray
    split: np.ndarray
    motif_edges: np.ndarray | None = None
    features: np.ndarray | None = None

    @property
    def n_nodes(self) -> int:
        return len(self.labels)

    @property
    def n_classes(self) -> int:
        return int(self.labels.max()) + 1

    @property
    def in_motif(self) -> np.ndarray:
        """Which nodes are part of a motif, bool [n]: class 0, and 4 where there are two communities, is the base."""
        motif: np.ndarray = self.labels % 4 > 0
        return motif

    @cached_property
    def neighbours(self) -> list[list[int]]:
        """The neighbours of each node."""
        lists: list[list[int]] = [[] for _ in range(self.n_nodes)]
        for u, v in self.edges.tolist():
            lists[u].append(v)
            lists[v].append(u)
        return lists

    def within(self, v: int, hops: int) -> list[int]:
        """v, then the nodes at most `hops` edges away: by distance, then by number."""
        seen, border = {v: None}, [v]
        for _ in range(hops):
            border = sorted({w for u in border for w in self.neighbours[u] if w not in seen})
            seen |= dict.fromkeys(border)
        return list(seen)

    def edited(self, pairs: np.ndarray) -> np.ndarray:
        """The edges, [E, 2], when these pairs u < v, [K, 2], are removed where they are edges and added where not."""
        code = self.n_nodes ** np.arange(1, -1, -1)
        left = np.setxor1d(self.edges @ code, pairs.reshape(-1, 2) @ code)
        return np.column_stack(np.divmod(left, self.n_nodes))

    def of_split(self, name: str) -> np.ndarray:
        """The nodes of this part of the split, ascending."""
        nodes: np.ndarray = np.flatnonzero(self.split == name)
        return nodes


@dataclass(frozen=True, eq=False)
class NodeDataset(Dataset):
    """Ego networks of nodes `nodes` [B] of the graph `whole`, of nodes at most `hops` edges away.

    `folder` is where files were read from, if any were.

    `Graph.node_names` are the numbers of the nodes in the whole graph; v comes first.
    """

    whole: NodeGraph = field(kw_only=True)
    nodes: np.ndarray = field(kw_only=True)
    hops: int = field(kw_only=True)
    folder: Path | None = field(default=None, kw_only=True)


def target_nodes(features: Tensor) -> Tensor:
    """The position of v in each ego network, int64 [B], by its features [B, N, d]."""
    return features[:, :, TARGET].argmax(1)


# -- Ego networks ------------------------------------------------------------------------------------------


def ego_networks(whole: NodeGraph, nodes: Iterable[int], hops: int, most_nodes: int | None = None) -> list[Graph]:
    """The ego networks of these nodes; of those that have more than `most_nodes` nodes there is none."""
    found = (whole.within(int(v), hops) for v in nodes)
    return [_ego(whole, near) for near in found if most_nodes is None or len(near) <= most_nodes]


def _ego(whole: NodeGraph, near: list[int]) -> Graph:
    position = {node: i for i, node in enumerate(near)}
    adjacency = np.zeros((len(near), len(near)), dtype=np.uint8)
    for node, i in position.items():
        adjacency[i, [position[w] for w in whole.neighbours[node] if w in position]] = 1
    mark = np.zeros(len(near))
    mark[0] = 1
    outside = np.array([len(whole.neighbours[node]) for node in near]) - adjacency.sum(1)
    own = [] if whole.features is None else [whole.features[near]]
    features = np.column_stack((mark, outside, *own, 1 + np.array(near)))
    return Graph(adjacency, features, f"node {near[0]}", node_names=tuple(near))


@dataclass(frozen=True)
class _EgoNetworks:
    """What both kinds of data sets declare.

    At most `n_train` nodes of the training split and `n_test` of the test split are instances, drawn by name; nodes
    whose ego network has more than `most_nodes` nodes are none. Folds cut the test nodes; training nodes are the same
    in all of them.
    """

    name: str = "ba-shapes"
    hops: int = 3
    most_nodes: int = 300
    n_train: int = 300
    n_test: int = 300

    def __post_init__(self) -> None:
        if self.name not in FILES:
            raise DataError(f"There is no node data set {self.name!r}; choose one of {', '.join(FILES)}.")
        for option in ("hops", "most_nodes", "n_train", "n_test"):
            _require_count(option, getattr(self, option))

    def parameters(self) -> dict[str, object]:
        limits = {"most_nodes": self.most_nodes, "n_train": self.n_train, "n_test": self.n_test}
        return {"hops": self.hops, **limits}

    def instances(self, whole: NodeGraph, folder: Path | None = None) -> NodeDataset:
        """The ego networks that are explained, training nodes first."""
        parts = []
        for split, count in ((TRAIN, self.n_train), (TEST, self.n_test)):
            egos = ego_networks(whole, whole.of_split(split), self.hops, self.most_nodes)
            kept = np.sort(numpy_rng("instances", self.name, split).permutation(len(egos))[:count])
            parts.append([egos[i] for i in kept])
        graphs = [graph for part in parts for graph in part]
        nodes = np.array([graph.node_names[0] for graph in graphs if graph.node_names], dtype=np.int64)
        return NodeDataset(
            self.name, GraphBatch.of(graphs), torch.from_numpy(whole.labels[nodes]),
            test=torch.arange(len(parts[0]), len(graphs)), whole=whole, nodes=nodes, hops=self.hops, folder=folder,
        )  # fmt: skip


def _require_count(option: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise DataError(f"A node data set was given {option} = {value!r}; give a whole number from 1 on.")


# -- Given draws -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodesFromFiles(_EgoNetworks):
    """A draw that is given by files: <NAME>_nodes.csv (node, label, split), _edges.txt and _motif_edges.txt.

    They are looked for in the folder `node` of `data_dir` or RSGG_DATA_DIR and have to match their sha256.
    """

    def load(self, data_dir: Path | None = None) -> NodeDataset:
        given = data_dir or os.environ.get("RSGG_DATA_DIR")
        if not given:
            raise DataError(f"The files of {self.name} are not published; {self._instead()}.")
        folder = Path(given).expanduser()
        return self.instances(self.read(folder / "node"), folder)

    def _instead(self) -> str:
        return (
            "name a folder that holds them in node/ by --data-dir or RSGG_DATA_DIR, or use graphs that are drawn by "
            f"the same recipe (--data {self.name}-generated)"
        )

    def read(self, folder: Path) -> NodeGraph:
        """The whole graph, from the files in this folder."""
        text = {kind: self._file(folder, kind) for kind in ("nodes.csv", "edges.txt", "motif_edges.txt")}
        rows = [line.split(",") for line in (text["nodes.csv"] or "").splitlines()[1:]]
        labels, split = np.array([int(label) for _, label, _ in rows]), np.array([part for _, _, part in rows])
        edges, motifs = _pairs(text["edges.txt"] or ""), text["motif_edges.txt"]
        features = community_features(labels, self.name, 0) if self.name == "ba-community" else None
        return NodeGraph(edges, labels, split, None if motifs is None else _pairs(motifs), features)

    def _file(self, folder: Path, kind: str) -> str | None:
        """The content of a file, None where there is none in the published data set either."""
        name = f"{FILES[self.name]}_{kind}"
        sha256 = checksums().get(name)
        if sha256 is None:
            return None
        try:
            content = content_of(folder / name).replace(b"\r\n", b"\n")
        except OSError as error:
            raise DataError(f"{folder / name} cannot be read ({error.strerror}); {self._instead()}.") from error
        if hashlib.sha256(content).hexdigest() != sha256:
            raise DataError(f"{folder / name} is not the known file (its sha256 differs); {self._instead()}.")
        return content.decode("ascii")


def checksums() -> dict[str, str]:
    """The sha256 of each file, by name."""
    lines = Path(__file__).with_name("nodes_sha256.txt").read_text(encoding="ascii").splitlines()
    return {file: sha256 for sha256, file in (line.split() for line in lines)}


def _pairs(text: str) -> np.ndarray:
    pairs = np.array(text.split(), dtype=np.int64).reshape(-1, 2)
    return np.sort(pairs, axis=1)


# -- New draws ---------------------------------------------------------------------------------------------
#
# The recipes of Ying et al. (2019): motif i hangs on node i · ⌊base/motifs⌋ of the base graph by an edge from its own
# first node; then random edges are added, one for every hundred that there are (`edges_per_random_edge`; of Tree-Grid
# there are draws with one for every ten, such as CF-GNNExplainer's). 80 % of the nodes are for training, the others, in
# halves, for validation and tests.


@dataclass(frozen=True)
class GeneratedNodes(_EgoNetworks):
    """A new draw by the published recipe, different for each seed."""

    seed: int = 0
    edges_per_random_edge: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_count("edges_per_random_edge", self.edges_per_random_edge)

    def parameters(self) -> dict[str, object]:
        return {**super().parameters(), "seed": self.seed, "edges_per_random_edge": self.edges_per_random_edge}

    def load(self, data_dir: Path | None = None) -> NodeDataset:
        if self.name not in RECIPES:
            raise DataError(f"There is no recipe for {self.name}; choose one of {', '.join(RECIPES)}.")
        return self.instances(self.draw())

    def draw(self) -> NodeGraph:
        """The whole graph."""
        rng = numpy_rng("node data", self.name, self.seed)
        edges, motifs, labels = RECIPES[self.name](rng, self.edges_per_random_edge)
        split = np.array([TRAIN] * len(labels), dtype="<U5")
        shuffled, tenth = rng.permutation(len(labels)), len(labels) // 10
        split[shuffled[:tenth]], split[shuffled[tenth : 2 * tenth]] = VALID, TEST
        features = community_features(labels, self.name, self.seed) if self.name == "ba-community" else None
        return NodeGraph(edges, labels, split, motifs, features)


Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]  # edges, those of motifs, labels
HOUSE = nx.Graph([(0, 1), (1, 2), (2, 3), (3, 0), (4, 0), (4, 1)])
GRID = nx.convert_node_labels_to_integers(nx.grid_2d_graph(3, 3), ordering="sorted")


def _with_motifs(
    rng: np.random.Generator,
    base: nx.Graph,
    motif: nx.Graph,
    count: int,
    roles: list[int],
    per_random_edge: int,
    *,
    second_edge: bool = False,
) -> Drawn:
    """The base with `count` motifs and random edges. `roles` are the labels of a motif's nodes, the base has 0.

    With `second_edge`, as cycles have it, every other motif on average has another edge, between nodes near the first.
    """
    graph, spacing, inside = nx.Graph(base.edges), len(base) // count, []
    for i in range(count):
        start, at = len(base) + i * len(motif), i * spacing
        inside += [(start + u, start + v) for u, v in motif.edges]
        graph.add_edge(at, start)
        if second_edge and rng.random() > 0.5:
            a, b = rng.integers(1, 4, 2).tolist()
            graph.add_edge(at + b, start + a)
    graph.add_edges_from(inside)
    for _ in range(graph.number_of_edges() // per_random_edge):
        _join(graph, lambda: rng.integers(len(graph), size=2).tolist())
    return _sorted(graph.edges), _sorted(inside), np.array([0] * len(base) + roles * count)


def _join(graph: nx.Graph, draw: Callable[[], list[int]]) -> None:
    """Add one edge that is not there yet."""
    while True:
        u, v = draw()
        if u != v and not graph.has_edge(u, v):
            graph.add_edge(u, v)
            return


def _sorted(pairs: Iterable[tuple[int, int]]) -> np.ndarray:
    return np.array(sorted(tuple(sorted(pair)) for pair in pairs), dtype=np.int64)


def _ba_shapes(rng: np.random.Generator, per_random_edge: int) -> Drawn:
    """A Barabási-Albert graph of 300 nodes, 5 edges each, with 80 houses: middle 1, bottom 2, roof 3."""
    base = nx.barabasi_albert_graph(300, 5, seed=int(rng.integers(2**31)))
    return _with_motifs(rng, base, HOUSE, 80, [1, 1, 2, 2, 3], per_random_edge)


def _ba_community(rng: np.random.Generator, per_random_edge: int) -> Drawn:
    """Two such graphs with 350 random edges between them; the classes of the second are 4 to 7."""
    one, other = _ba_shapes(rng, per_random_edge), _ba_shapes(rng, per_random_edge)
    n, graph = len(one[2]), nx.Graph()
    graph.add_edges_from(one[0].tolist() + (other[0] + n).tolist())
    for _ in range(350):
        _join(graph, lambda: [int(rng.integers(n)), n + int(rng.integers(n))])
    motifs = np.concatenate((one[1], other[1] + n))
    return _sorted(graph.edges), motifs, np.concatenate((one[2], other[2] + 4))


def _tree_cycles(rng: np.random.Generator, per_random_edge: int) -> Drawn:
    """A binary tree of depth 8 (511 nodes) with 60 cycles of six nodes."""
    return _with_motifs(rng, nx.balanced_tree(2, 8), nx.cycle_graph(6), 60, [1] * 6, per_random_edge, second_edge=True)


def _tree_grid(rng: np.random.Generator, per_random_edge: int) -> Drawn:
    """The same tree with 80 grids of 3 × 3 nodes."""
    return _with_motifs(rng, nx.balanced_tree(2, 8), GRID, 80, [1] * 9, per_random_edge)


RECIPES: dict[str, Callable[[np.random.Generator, int], Drawn]] = {
    "ba-shapes": _ba_shapes,
    "ba-community": _ba_community,
    "tree-cycles-nodes": _tree_cycles,
    "tree-grid": _tree_grid,
}


def community_features(labels: np.ndarray, name: str, seed: int) -> np.ndarray:
    """Two numbers per node, normal around -1 in the first community and +1 in the second, deviation 1/2: [n, 2].

    They are part of the recipe and not of the files, so they are drawn here for both.
    """
    noise = numpy_rng("node features", name, seed).normal(0, 0.5, (len(labels), 2))
    drawn: np.ndarray = np.where(labels >= 4, 1.0, -1.0)[:, None] + noise
    return drawn
