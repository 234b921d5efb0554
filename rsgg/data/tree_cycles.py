"""Tree-Cycles: random trees, half of them with cycles attached (Section 5 and appendix).

With probability 1/2 a graph is a uniformly random labelled tree (label 0), otherwise a smaller random tree to which
cycles are attached one after the other, each by exactly one edge from a uniform node of what exists already (label 1).
All graphs have the same number of nodes and are connected.

The paper speaks of "up to 3 cycles of up to 7 nodes"; its data follow from at most 7 nodes in cycles, all cycles of a
graph being of one size: one cycle of 3 to 7 nodes or two triangles, six equally likely cases.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch

from rsgg.data.dataset import Dataset
from rsgg.errors import DataError
from rsgg.graph import GraphBatch
from rsgg.seeds import numpy_rng

FAMILY = "tree-cycles"
Order = Literal["generation", "edge-list", "random"]
"""How nodes are numbered: tree first and cycles last; by first appearance in the list of edges u < v, as the released
code reads its files (the default: methods that compare nodes by their number depend on it); or at random. Nodes in the
order of the list keep the numbers of their generation as names (`Graph.node_names`), as they do there."""


@dataclass(frozen=True)
class TreeCycles:
    """The Tree-Cycles data set; the defaults are those of Table 1.

    Cycles are drawn at random (at most `max_cycle_nodes` nodes in cycles) unless both `n_cycles` and `cycle_size` are
    given. Graph i depends on everything here but `n_graphs`, and its shape not on `order` either.
    """

    n_nodes: int = 28
    n_graphs: int = 500
    max_cycle_nodes: int = 7
    n_cycles: int | None = None
    cycle_size: int | None = None
    order: Order = "edge-list"
    seed: int = 0
    name: str = FAMILY  # what tables call it, where several of these stand side by side; no graph depends on it

    def __post_init__(self) -> None:
        for option in ("n_nodes", "n_graphs", "max_cycle_nodes", "n_cycles", "cycle_size", "seed"):
            value = getattr(self, option)
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not whole and not (value is None and option in ("n_cycles", "cycle_size")):
                raise DataError(f"Tree-Cycles was given {option} = {value!r}; give a whole number.")
        if self.n_graphs < 1:
            raise DataError(f"{self.n_graphs} graphs were asked for; ask for one or more.")
        if self.order not in get_args(Order):
            known = ", ".join(get_args(Order))
            raise DataError(f"There is no node order {self.order!r}; choose one of {known}.")
        if (self.n_cycles is None) != (self.cycle_size is None):
            raise DataError(
                "Only one of n_cycles and cycle_size was given; give both for fixed cycles, or none for random."
            )
        if self.n_cycles is not None and self.cycle_size is not None:
            self._check_fixed(self.n_cycles, self.cycle_size)
        else:
            self._check_random()

    def _check_fixed(self, n_cycles: int, cycle_size: int) -> None:
        if n_cycles < 1:
            raise DataError(f"{n_cycles} cycles per cyclic graph were asked for; ask for one or more.")
        if cycle_size < 3:
            raise DataError(f"A cycle of {cycle_size} nodes does not exist; cycles have three nodes or more.")
        if n_cycles * cycle_size >= self.n_nodes:
            raise DataError(
                f"{n_cycles} cycles of {cycle_size} nodes and a tree of at least one do not fit into {self.n_nodes} "
                f"nodes; use at least {n_cycles * cycle_size + 1} nodes or fewer or smaller cycles."
            )

    def _check_random(self) -> None:
        if self.max_cycle_nodes < 3:
            raise DataError(f"No cycle has at most {self.max_cycle_nodes} nodes; use max_cycle_nodes of three or more.")
        if self.max_cycle_nodes >= self.n_nodes:
            raise DataError(
                f"Up to {self.max_cycle_nodes} nodes in cycles and a tree of at least one do not fit into "
                f"{self.n_nodes} nodes; use at least {self.max_cycle_nodes + 1} nodes or a smaller max_cycle_nodes."
            )

    def parameters(self) -> dict[str, object]:
        """What the data depend on; of the two ways to choose cycles only the one in use."""
        cycles = {"max_cycle_nodes": self.max_cycle_nodes}
        if self.n_cycles is not None and self.cycle_size is not None:
            cycles = {"n_cycles": self.n_cycles, "cycle_size": self.cycle_size}
        return {"n_nodes": self.n_nodes, "n_graphs": self.n_graphs, **cycles, "order": self.order, "seed": self.seed}

    def cycle_choices(self) -> list[tuple[int, int]]:
        """The equally likely (number of cycles, cycle size) of a cyclic graph.

        Drawing both uniformly from a range that covers all that fit, and again until number x size <= m, is a
        uniform choice among the pairs that fit; so they are listed and one is drawn.
        """
        if self.n_cycles is not None and self.cycle_size is not None:
            return [(self.n_cycles, self.cycle_size)]
        m = self.max_cycle_nodes
        return [(number, size) for number in range(1, m // 3 + 1) for size in range(3, m // number + 1)]

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Generate the graphs; there are no files, `data_dir` is not looked at."""
        adjacency = torch.zeros(self.n_graphs, self.n_nodes, self.n_nodes, dtype=torch.uint8)
        labels = torch.zeros(self.n_graphs, dtype=torch.long)
        choices, node_names = self.cycle_choices(), list[tuple[int, ...]]()
        for i in range(self.n_graphs):
            edges, cyclic = self._graph(i, choices)
            if self.order == "edge-list":
                listed = _by_first_appearance(edges)
                edges = listed.argsort()[edges]
                node_names.append(tuple(listed.tolist()))
            u, v = torch.from_numpy(edges).unbind(1)
            adjacency[i, u, v] = adjacency[i, v, u] = 1
            labels[i] = int(cyclic)
        names = tuple(f"{FAMILY}/{i:04d}" for i in range(self.n_graphs))
        sizes = torch.full((self.n_graphs,), self.n_nodes)
        return Dataset(FAMILY, GraphBatch(adjacency, sizes, names=names, node_names=tuple(node_names)), labels)

    def _graph(self, i: int, choices: list[tuple[int, int]]) -> tuple[np.ndarray, bool]:
        """Edges [E, 2] of graph i, numbered as generated or at random, and whether it has cycles."""
        names = (FAMILY, self.n_nodes, choices, self.seed, i)
        rng = numpy_rng(*names)
        cyclic = bool(rng.integers(2))
        number, size = choices[rng.integers(len(choices))] if cyclic else (0, 0)
        n_tree = self.n_nodes - number * size
        cycles = [_attached_cycle(n_tree + c * size, size, rng) for c in range(number)]
        edges = np.concatenate((random_tree(n_tree, rng), *cycles))
        if self.order == "random":
            edges = numpy_rng(*names, "order").permutation(self.n_nodes)[edges]
        return edges, cyclic


def random_tree(n: int, rng: np.random.Generator) -> np.ndarray:
    """Edges [n - 1, 2] of a uniformly random labelled tree: Prüfer sequences and labelled trees are one to one."""
    if n == 1:
        return np.empty((0, 2), dtype=np.int64)
    return np.array(_tree_of(rng.integers(n, size=n - 2).tolist()))


def _tree_of(sequence: list[int]) -> list[tuple[int, int]]:
    """The edges of the tree with this Prüfer sequence, in time linear in the number of nodes.

    The smallest leaf is joined to the next number of the sequence and taken away, again and again; the node that this
    turns into a leaf is the next one if it is smaller than all leaves before it.
    """
    n = len(sequence) + 2
    degree = [1] * n
    for node in sequence:
        degree[node] += 1
    leaf = smallest = degree.index(1)
    edges = []
    for node in sequence:
        edges.append((leaf, node))
        degree[node] -= 1
        if degree[node] == 1 and node < smallest:
            leaf = node
        else:
            leaf = smallest = degree.index(1, smallest + 1)
    return [*edges, (leaf, n - 1)]


def _attached_cycle(start: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Edges [size + 1, 2] of a cycle over nodes start, start + 1, … and of the one edge from an older node to it."""
    nodes = start + np.arange(size)
    cycle = np.stack((nodes, np.roll(nodes, -1)), 1)
    bridge = [[rng.integers(start), start + rng.integers(size)]]
    return np.concatenate((cycle, bridge))


def _by_first_appearance(edges: np.ndarray) -> np.ndarray:
    """The nodes of a connected graph as they first appear in the sorted list of its edges u < v."""
    listed = np.sort(edges, axis=1)
    listed = listed[np.lexsort((listed[:, 1], listed[:, 0]))]
    _, first = np.unique(listed, return_index=True)  # every node is there: the graph is connected
    order: np.ndarray = np.argsort(first)
    return order
