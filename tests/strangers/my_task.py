"""A data set that lives outside the project, and two tasks on it: one with an oracle of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import networkx as nx
from my_oracle import DenseOracle

from rsgg import Dataset, Task, TreeCyclesOracle


@dataclass(frozen=True)
class RandomGraphs:
    """Graphs of 8 nodes with nine numbers of edges in turn; label 1 from the fifth on."""

    n_graphs: int = 24
    fewest: int = 8
    seed: int = 0
    name: str = "random-graphs"

    def parameters(self) -> dict[str, object]:
        return {"n_graphs": self.n_graphs, "fewest": self.fewest, "seed": self.seed}

    def load(self, data_dir: Path | None = None) -> Dataset:
        edges = [self.fewest + i % 9 for i in range(self.n_graphs)]
        graphs = [nx.gnm_random_graph(8, m, seed=self.seed + i) for i, m in enumerate(edges)]
        return Dataset.of(self.name, graphs, [int(m >= self.fewest + 4) for m in edges])


task = Task("dense-graphs", RandomGraphs(), DenseOracle(), "Dense graphs", ("sparse", "dense"))


def trees() -> Task:
    """Tasks may be functions, which are called when they are needed."""
    return Task("cyclic-graphs", RandomGraphs(fewest=3), TreeCyclesOracle(), class_names=("forest", "cyclic"))
