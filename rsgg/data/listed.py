"""Graphs of mixed sizes as lists of nodes and edges, as files have them, before they become padded matrices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from rsgg.data.dataset import Dataset
from rsgg.errors import DataError
from rsgg.graph import GraphBatch

MOST_BYTES = 1 << 34  # of the adjacency matrices of all graphs of a data set
LARGEST_BYTE = 255  # edge labels up to this number take one byte per pair of nodes in a batch


@dataclass(frozen=True, eq=False)
class ListedGraphs:
    """B graphs with n nodes and K edges in all.

    `sizes` int64 [B] are their numbers of nodes, which follow one another; `edges` int64 [K, 2] names each edge once,
    u < v, graph after graph, by the numbers of its nodes in the whole list. `features` float32 [n, d] is X, one-hot
    node labels first. `edge_labels` [K] are whole numbers, `motif` bool [K] marks edges that make the label of a graph.
    """

    sizes: np.ndarray
    edges: np.ndarray
    labels: np.ndarray
    features: np.ndarray | None = None
    edge_labels: np.ndarray | None = None
    motif: np.ndarray | None = None
    names: tuple[str, ...] = ()
    feature_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def graph_of_node(self) -> np.ndarray:
        """Int64 [n]."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def graph_of_edge(self) -> np.ndarray:
        """Int64 [K]."""
        return self.graph_of_node[self.edges[:, 0]]

    @property
    def n_edges(self) -> np.ndarray:
        """Edges of each graph, int64 [B]."""
        return np.bincount(self.graph_of_edge, minlength=len(self))

    def select(self, kept: np.ndarray) -> ListedGraphs:
        """The graphs under this mask, bool [B]."""
        nodes, edges = kept[self.graph_of_node], kept[self.graph_of_edge]
        number = np.cumsum(nodes) - 1
        return replace(
            self,
            sizes=self.sizes[kept],
            edges=number[self.edges[edges]],
            labels=self.labels[kept],
            features=None if self.features is None else self.features[nodes],
            edge_labels=None if self.edge_labels is None else self.edge_labels[edges],
            motif=None if self.motif is None else self.motif[edges],
            names=tuple(name for name, keep in zip(self.names, kept, strict=True) if keep),
        )

    def batch(self, added_edge: int = 0) -> GraphBatch:
        """Padded matrices; an edge that is added to a graph has the label `added_edge`."""
        count, n = len(self), int(self.sizes.max())
        if (needed := count * n * n) > MOST_BYTES:
            raise DataError(
                f"{count} graphs of up to {n} nodes take {needed / 1e9:,.0f} GB as matrices; leave out the large ones, "
                "in the TU format with max_nodes."
            )
        graph, u, v = self._pairs
        adjacency = torch.zeros(count, n, n, dtype=torch.uint8)
        adjacency[graph, u, v] = adjacency[graph, v, u] = 1
        sizes = torch.from_numpy(self.sizes)
        features = None
        if self.features is not None:
            features = torch.zeros(count, n, self.features.shape[1])
            features[torch.arange(n) < sizes[:, None]] = torch.from_numpy(self.features)
        table = None
        if self.edge_labels is not None:
            small = min(added_edge, self.edge_labels.min()) >= 0 and self.edge_labels.max() <= LARGEST_BYTE
            labels = torch.from_numpy(self.edge_labels).to(torch.uint8 if small else torch.int64)
            table = torch.full((count, n, n), added_edge, dtype=labels.dtype)
            table[graph, u, v] = table[graph, v, u] = labels
        return GraphBatch(adjacency, sizes, features, self.names, {}, table)

    def dataset(self, name: str, added_edge: int = 0, left_out: dict[str, int] | None = None) -> Dataset:
        """These graphs as a data set."""
        graphs = self.batch(added_edge)
        motif = None
        if self.motif is not None:
            motif = torch.zeros(graphs.adjacency.shape, dtype=torch.bool)
            motif[tuple(part[torch.from_numpy(self.motif)] for part in self._pairs)] = True
        return Dataset(name, graphs, torch.from_numpy(self.labels), self.feature_names, motif, left_out or {})

    @property
    def _pairs(self) -> tuple[Tensor, Tensor, Tensor]:
        """Graph and nodes u < v, numbered within their graph, of each edge."""
        start = (np.cumsum(self.sizes) - self.sizes)[self.graph_of_edge]
        u, v = (self.edges - start[:, None]).T
        return torch.from_numpy(self.graph_of_edge), torch.from_numpy(u), torch.from_numpy(v)


def one_hot(labels: np.ndarray, values: Sequence[int] | np.ndarray) -> np.ndarray:
    """A column for each of these values, float32 [n, values]."""
    hot: np.ndarray = (labels[:, None] == np.asarray(values)).astype(np.float32)
    return hot
