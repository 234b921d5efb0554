"""Graphs of problems that no method here was built on (`./reproduce.sh unseen`). Another seed draws another problem.

    BA2Motifs        a random tree with a cycle or a house of five nodes; 25 nodes
    Colours          sparse graphs of 10 to 40 nodes in three colours; the class is the colour with most edges inside
    BrainNetworks    dense networks of 190 shared nodes in ten lobes, each lobe as active as it happens to be
    Triangles        graphs of equally many edges, with and without a triangle

The oracles that go with them are in `rsgg.oracles.unseen`. A problem of one's own is a file like this one, named on the
command line: `./reproduce.sh unseen --data my_module:my_task`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import numpy as np

from rsgg.data.dataset import Dataset
from rsgg.graph import Graph
from rsgg.seeds import numpy_rng, seed_for


@dataclass(frozen=True)
class _Drawn:
    """Graphs that are drawn by seed."""

    n_graphs: int = 300
    seed: int = 0
    name: str = ""

    def parameters(self) -> dict[str, object]:
        return {"n_graphs": self.n_graphs, "seed": self.seed}

    def load(self, data_dir: Path | None = None) -> Dataset:
        drawn = [self.draw(i, numpy_rng(self.name, self.seed, i)) for i in range(self.n_graphs)]
        return Dataset.of(self.name, [graph for graph, _ in drawn], [label for _, label in drawn])

    def draw(self, i: int, rng: np.random.Generator) -> tuple[Graph | nx.Graph, int]:
        """Graph number i and its label."""
        raise NotImplementedError


@dataclass(frozen=True)
class BA2Motifs(_Drawn):
    """A Barabási–Albert tree of 20 nodes joined to a cycle of five (class 0) or, with one edge more, a house."""

    name: str = "unseen-ba-2motifs"

    def draw(self, i: int, rng: np.random.Generator) -> tuple[nx.Graph, int]:
        tree = nx.barabasi_albert_graph(20, 1, seed=seed_for(self.name, self.seed, i, "tree") % 2**32)
        graph = nx.disjoint_union(tree, nx.cycle_graph(range(5)))
        graph.add_edge(int(rng.integers(20)), 20)
        if i % 2:
            graph.add_edge(21, 24)
        return graph, i % 2


@dataclass(frozen=True)
class Colours(_Drawn):
    """A random tree and a few edges more, on nodes of three colours (features, one-hot)."""

    n_graphs: int = 450
    name: str = "unseen-colours"

    def draw(self, i: int, rng: np.random.Generator) -> tuple[Graph, int]:
        n = int(rng.integers(10, 41))
        while True:
            colour = rng.integers(3, size=n)
            adjacency = np.zeros((n, n), dtype=np.uint8)
            for v in range(1, n):  # the class's colour prefers its own kind, so that classes are equally frequent
                liked = np.where((colour[:v] == colour[v]) & (colour[v] == i % 3), 3.0, 1.0)
                u = rng.choice(v, p=liked / liked.sum())
                adjacency[u, v] = adjacency[v, u] = 1
            for u, v in rng.integers(n, size=(n // 4, 2)):
                adjacency[u, v] = adjacency[v, u] = u != v
            inside = [int(adjacency[np.ix_(colour == c, colour == c)].sum()) for c in range(3)]
            if np.argmax(inside) == i % 3 and sorted(inside)[1] < max(inside):
                return Graph(adjacency, np.eye(3, dtype=np.float32)[colour]), i % 3


LOBES = 10


@dataclass(frozen=True)
class BrainNetworks(_Drawn):
    """190 nodes and 1796 edges: nearby nodes, and those of a lobe, are joined more often; lobes are unequally active.

    The label says whether the first lobe is among the five most active; the oracle has a rule of its own.
    """

    n_graphs: int = 150
    n_nodes: int = 190
    n_edges: int = 1796
    name: str = "unseen-brain"

    def parameters(self) -> dict[str, object]:
        return super().parameters() | {"n_nodes": self.n_nodes, "n_edges": self.n_edges}

    def draw(self, i: int, rng: np.random.Generator) -> tuple[Graph, int]:
        place = numpy_rng(self.name, self.seed, "places").normal(size=(self.n_nodes, 3))
        lobe = np.arange(self.n_nodes) % LOBES
        activity = np.exp(rng.normal(0, 0.3, size=LOBES))
        u, v = np.triu_indices(self.n_nodes, 1)
        near = np.exp(-np.linalg.norm(place[u] - place[v], axis=1))
        weight = near * np.where(lobe[u] == lobe[v], 4 * activity[lobe[u]], 1.0)
        chosen = rng.choice(len(u), self.n_edges, replace=False, p=weight / weight.sum())
        adjacency = np.zeros((self.n_nodes, self.n_nodes), dtype=np.uint8)
        adjacency[u[chosen], v[chosen]] = adjacency[v[chosen], u[chosen]] = 1
        return Graph(adjacency), int((activity > activity[0]).sum() < LOBES // 2)


@dataclass(frozen=True)
class Triangles(_Drawn):
    """20 nodes and 24 edges between two halves, so that there is no triangle (class 0); or one edge of them moved so
    that there is one.
    """

    name: str = "unseen-triangles"

    def draw(self, i: int, rng: np.random.Generator) -> tuple[nx.Graph, int]:
        halves, names = nx.complete_bipartite_graph(10, 10), rng.permutation(20).tolist()
        while True:
            kept = [list(halves.edges)[e] for e in rng.choice(100, 24, replace=False)]
            if i % 2:
                kept[0] = tuple(rng.choice(10, 2, replace=False).tolist())
            graph = nx.empty_graph(20)
            graph.add_edges_from((names[u], names[v]) for u, v in kept)
            if bool(sum(nx.triangles(graph).values())) == bool(i % 2) and graph.number_of_edges() == 24:
                return graph, i % 2
