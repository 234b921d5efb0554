"""Generated graphs whose class is made by a small motif, so that the edges that matter are known.

- BA-2motifs (Luo et al. 2020): a Barabási–Albert tree of 20 nodes with a motif of five nodes hung to it by one edge: a
  cycle (class 0) or a house (class 1, a cycle of five with a chord that makes the roof).
- Triangle-House: a uniformly random labelled tree with a triangle (class 0) or a house (class 1) hung to it. Both have
  a cycle, so that counting edges or asking for a tree does not tell the classes apart by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from rsgg.data.dataset import Dataset
from rsgg.data.listed import ListedGraphs
from rsgg.data.tree_cycles import random_tree
from rsgg.errors import DataError
from rsgg.seeds import numpy_rng

Edges = list[tuple[int, int]]
Family = Literal["BA-2motifs", "Triangle-House"]

TRIANGLE: Edges = [(0, 1), (1, 2), (0, 2)]
CYCLE: Edges = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]
HOUSE: Edges = [*CYCLE, (1, 4)]


@dataclass(frozen=True)
class Motifs:
    """`n_graphs` graphs of n_base + 5 nodes (two less with a triangle), half of each class, nodes in random order.

    Graph i depends on everything here but `n_graphs`. There is a column of ones as X.
    """

    family: Family = "BA-2motifs"
    n_base: int = 20
    n_graphs: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.family not in get_args(Family):
            raise DataError(f"There is no family {self.family!r}; choose one of {', '.join(get_args(Family))}.")
        if self.n_base < 2 or self.n_graphs < 1:
            raise DataError("A base of two nodes or more and one graph or more are needed; ask for those.")

    @property
    def name(self) -> str:
        return self.family

    def parameters(self) -> dict[str, object]:
        return {"family": self.family, "n_base": self.n_base, "n_graphs": self.n_graphs, "seed": self.seed}

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Generate the graphs; there are no files, `data_dir` is not looked at."""
        base, motifs = FAMILIES[self.family]
        made = [self._graph(i, base, motifs[i % 2]) for i in range(self.n_graphs)]
        sizes = np.array([n for n, _, _ in made])
        start = np.cumsum(sizes) - sizes
        graphs = ListedGraphs(
            sizes=sizes,
            edges=np.concatenate([first + edges for first, (_, edges, _) in zip(start, made, strict=True)]),
            labels=np.arange(self.n_graphs) % 2,
            features=np.ones((int(sizes.sum()), 1), dtype=np.float32),
            motif=np.concatenate([motif for _, _, motif in made]),
            names=tuple(f"{self.family}/{i:04d}" for i in range(self.n_graphs)),
        )
        return graphs.dataset(self.family)

    def _graph(
        self, i: int, base: Callable[[int, np.random.Generator], np.ndarray], motif: Edges
    ) -> tuple[int, np.ndarray, np.ndarray]:
        """Nodes of graph i, its edges u < v in order, int64 [E, 2], and which of them are the motif's, bool [E]."""
        rng = numpy_rng(self.family, self.n_base, self.seed, i)
        inner = self.n_base + np.array(motif)
        n = int(inner.max()) + 1
        bridge = [[rng.integers(self.n_base), rng.integers(self.n_base, n)]]
        edges = np.concatenate((base(self.n_base, rng), bridge, inner))
        renamed = np.sort(rng.permutation(n)[edges], 1)
        order = np.lexsort((renamed[:, 1], renamed[:, 0]))
        return n, renamed[order], (np.arange(len(edges)) >= len(edges) - len(motif))[order]


def barabasi_albert_tree(n: int, rng: np.random.Generator) -> np.ndarray:
    """Edges [n - 1, 2]: each node is joined to an older one, drawn in proportion to its degree."""
    edges = [(0, 1)]
    ends = [0, 1]  # each node as often as it has edges
    for node in range(2, n):
        older = ends[rng.integers(len(ends))]
        edges.append((older, node))
        ends += [older, node]
    return np.array(edges, dtype=np.int64)


FAMILIES: dict[str, tuple[Callable[[int, np.random.Generator], np.ndarray], tuple[Edges, Edges]]] = {
    "BA-2motifs": (barabasi_albert_tree, (CYCLE, HOUSE)),
    "Triangle-House": (random_tree, (TRIANGLE, HOUSE)),
}
