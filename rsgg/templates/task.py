"""A task of your own, i.e. a data set and an oracle to explain on it: copy this file and replace both.

Run the file to check it: `python my_task.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import networkx as nx

from rsgg import Dataset, Task, TreeCyclesOracle, check_task


@dataclass(frozen=True)
class MyDataset:
    """Random graphs; label 1 iff there is a cycle. Every value that the graphs depend on is a field."""

    n_graphs: int = 60
    n_nodes: int = 12
    seed: int = 0
    name: str = "my-data"

    def parameters(self) -> dict[str, object]:
        """Every declared value that the graphs depend on, as plain JSON values: results are stored under it."""
        return {"n_graphs": self.n_graphs, "n_nodes": self.n_nodes, "seed": self.seed}

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Make the graphs, or read them from `data_dir`. The same declaration has to give the same graphs."""
        graphs = [
            nx.gnp_random_graph(self.n_nodes, 1.1 / self.n_nodes, seed=self.seed + i) for i in range(self.n_graphs)
        ]
        labels = [int(not nx.is_forest(graph)) for graph in graphs]
        return Dataset.of(self.name, graphs, labels)


MY_TASK = Task(
    name="my-task",
    dataset=MyDataset(),
    oracle=TreeCyclesOracle(),  # or one of your own, or rsgg.PyGOracle(model)
    label="My task",  # how tables and figures call it
    class_names=("forest", "cyclic"),  # of the oracle's classes
    shared_nodes=False,  # True if node i is the same thing in every graph, as the brain regions of ASD are
)

if __name__ == "__main__":
    print("\n".join(check_task(MY_TASK)))
