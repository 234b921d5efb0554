"""Streams: graphs that come in snapshots, one after the other, while the oracle stays the same.

`TreeCyclesStream` is Tree-Cycles as a stream. Without drift every snapshot is drawn alike, as in the dynamic
Tree-Cycles of Prenkaj et al. (2023). With drift the cyclic graphs of snapshot t have one cycle of `cycle_size` + t ·
`drift` nodes: what a cyclic graph looks like changes from triangles to long rings, what the oracle says does not.

Half of each snapshot is seen before the other half is explained: methods that retrieve graphs need some of the
present, and no method sees a graph that it is measured on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch

from rsgg.data.dataset import Dataset
from rsgg.data.tree_cycles import TreeCycles
from rsgg.errors import DataError
from rsgg.graph import GraphBatch
from rsgg.seeds import seed_for

FAMILY = "tree-cycles-stream"
LEAST_GRAPHS = 8  # of a snapshot: fewer would often lack a class


@dataclass(frozen=True)
class TreeCyclesStream:
    """Tree-Cycles in snapshots.

    Args:
        n_snapshots: how many of them.
        n_graphs: graphs per snapshot; the second half of each is explained.
        n_nodes: nodes of every graph.
        drift: nodes by which cycles grow from snapshot to snapshot; 0: cycles are drawn as in Tree-Cycles, always.
        cycle_size: with drift, the nodes of the cycle in the first snapshot.
        seed: decides all draws.
    """

    n_snapshots: int = 4
    n_graphs: int = 100
    n_nodes: int = 28
    drift: int = 0
    cycle_size: int = 3
    seed: int = 0
    name: str = FAMILY

    def __post_init__(self) -> None:
        least = {"n_snapshots": 1, "n_graphs": LEAST_GRAPHS, "n_nodes": 1, "drift": 0, "cycle_size": 3}
        for option, at_least in least.items():
            value = getattr(self, option)
            if isinstance(value, bool) or not isinstance(value, int) or value < at_least:
                raise DataError(f"The stream was given {option} = {value!r}; give a whole number from {at_least} on.")
        self.snapshot(self.n_snapshots - 1)  # the last one has the longest cycles: do they fit?

    def parameters(self) -> dict[str, object]:
        """What the data depend on."""
        cycles = {"drift": self.drift, "cycle_size": self.cycle_size} if self.drift else {}
        sizes = {"n_snapshots": self.n_snapshots, "n_graphs": self.n_graphs, "n_nodes": self.n_nodes}
        return {**sizes, **cycles, "seed": self.seed}

    def snapshot(self, t: int) -> TreeCycles:
        """The data set that snapshot t is."""
        graphs = TreeCycles(n_nodes=self.n_nodes, n_graphs=self.n_graphs, seed=seed_for(FAMILY, self.seed, t))
        if not self.drift:
            return graphs
        return replace(graphs, n_cycles=1, cycle_size=self.cycle_size + t * self.drift)

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Generate the graphs, snapshot by snapshot; there are no files, `data_dir` is not looked at."""
        parts = [self.snapshot(t).load() for t in range(self.n_snapshots)]
        times = torch.arange(self.n_snapshots).repeat_interleave(self.n_graphs)
        position = torch.arange(len(times))
        graphs = GraphBatch(
            torch.cat([part.graphs.adjacency for part in parts]),
            torch.cat([part.graphs.sizes for part in parts]),
            names=tuple(f"{FAMILY}/{t}/{i:04d}" for t in range(self.n_snapshots) for i in range(self.n_graphs)),
            node_names=tuple(names for part in parts for names in part.graphs.node_names or ()),
        )
        labels = torch.cat([part.labels for part in parts])
        test = position[position % self.n_graphs >= self.n_graphs // 2]
        return Dataset(self.name, graphs, labels, test=test, times=times)
