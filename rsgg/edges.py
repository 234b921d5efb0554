"""Many graphs as one list of edges, for large sparse graphs.

A `GraphBatch` is dense and takes n² bytes per graph, which is fastest for small graphs. Training on graphs of some
hundred nodes samples hundreds of graphs in every step; as lists they take time and memory in proportion to their edges.
Oracles answer about both (`Oracle.predict`, `Oracle.predict_edges`), networks pass messages over both (`a @ h`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor
from torch.nn.functional import embedding_bag

from rsgg.errors import GraphError
from rsgg.graph import GraphBatch
from rsgg.sparse import SparseBatch, SparseGraph

ADDED_OTHERWISE = (5, 6, 7, 9, 10, 11)  # widths of products in which MKL does not add up row by row
LONGEST_SUM = 160  # rows of products that MKL adds up in one go; more of them in parts


def positions(table: Tensor) -> tuple[Tensor, ...]:
    """Where a table is not zero, one index per dimension; in main memory NumPy is many times faster than `nonzero`."""
    if not table.is_cpu:
        return table.nonzero(as_tuple=True)
    flat = np.flatnonzero(table.numpy() != 0)
    return tuple(map(torch.from_numpy, np.unravel_index(flat, tuple(table.shape))))


@dataclass(frozen=True, eq=False)
class EdgeBatch:
    """B simple graphs of at most N nodes: edge i joins nodes u[i] and v[i] of graph[i], each edge listed once.

    `features` are the nodes', [B, N, d]; `edge_features` has a value or a row for each edge, [K] or [K, d].
    """

    n_nodes: int
    sizes: Tensor
    graph: Tensor
    u: Tensor
    v: Tensor
    features: Tensor | None = None
    edge_features: Tensor | None = None

    def __post_init__(self) -> None:
        if not self.graph.shape == self.u.shape == self.v.shape == (len(self.u),):
            shapes = [tuple(part.shape) for part in (self.graph, self.u, self.v)]
            raise GraphError(
                f"A list of edges has graph, u and v of shapes {shapes}; give one number of each per edge."
            )
        if self.edge_features is not None and len(self.edge_features) != len(self.u):
            raise GraphError(
                f"A list of {len(self.u)} edges has edge features of shape {tuple(self.edge_features.shape)}; give one "
                "row per edge."
            )

    def __len__(self) -> int:
        return len(self.sizes)

    @classmethod
    def of(cls, graphs: GraphBatch) -> EdgeBatch:
        if isinstance(graphs, SparseBatch):
            return cls.of_graphs(graphs.graphs, graphs.n_nodes, graphs.features)
        graph, u, v = positions(graphs.adjacency)
        above = u < v
        graph, u, v = graph[above], u[above], v[above]
        edge_features = None if graphs.edge_features is None else graphs.edge_features[graph, u, v]
        return cls(graphs.n_nodes, graphs.sizes, graph, u, v, graphs.features, edge_features)

    @classmethod
    def of_graphs(cls, graphs: Sequence[SparseGraph], n_nodes: int, features: Tensor | None) -> EdgeBatch:
        """Of single graphs; `features` are theirs, padded to n_nodes."""
        sizes = torch.tensor([graph.n_nodes for graph in graphs], dtype=torch.long)
        owner = torch.arange(len(graphs)).repeat_interleave(torch.tensor([graph.n_edges for graph in graphs]))
        u, v = (torch.from_numpy(np.concatenate(ends)) for ends in zip(*((g.u, g.v) for g in graphs), strict=True))
        values = [graph.edge_values for graph in graphs if graph.edge_values is not None]
        rows = torch.from_numpy(np.concatenate(values)) if values else None
        return cls(n_nodes, sizes, owner, u, v, features, rows)

    @classmethod
    def edited(cls, graphs: SparseBatch, instance: Tensor, edits: Sequence[NDArray[np.int64]]) -> EdgeBatch:
        """The graphs at `instance`, each with its own pairs flipped (codes of `rsgg.edits`, for the padded size)."""
        n, features = graphs.n_nodes, None if graphs.features is None else graphs.features[instance]
        made = [graphs.graphs[i].with_edits(codes, n) for i, codes in zip(instance.tolist(), edits, strict=True)]
        return cls.of_graphs(made, n, features)

    def codes(self, i: int) -> NDArray[np.int64]:
        """The edges of one of the graphs as numbers u · N + v, N being the padded size."""
        own = slice(int(self.starts[i]), int(self.starts[i + 1]))
        codes: NDArray[np.int64] = (self.u[own] * self.n_nodes + self.v[own]).cpu().numpy()
        return codes

    def single(self, i: int) -> SparseGraph:
        """One of the graphs, without a name."""
        own, n = slice(int(self.starts[i]), int(self.starts[i + 1])), int(self.sizes[i])
        ends = torch.stack((self.u[own], self.v[own]), 1).cpu().numpy()
        x = None if self.features is None else self.features[i, :n].cpu().numpy()
        rows = None if self.edge_features is None else self.edge_features[own].cpu().numpy()
        return SparseGraph.from_edges(n, ends, features=x, edge_features=rows)

    def to_dense(self) -> GraphBatch:
        adjacency = torch.zeros(len(self), self.n_nodes, self.n_nodes, dtype=torch.uint8)
        adjacency[self.graph, self.u, self.v] = adjacency[self.graph, self.v, self.u] = 1
        table = None
        if (rows := self.edge_features) is not None:
            table = rows.new_zeros(len(self), self.n_nodes, self.n_nodes, *rows.shape[1:])
            table[self.graph, self.u, self.v] = table[self.graph, self.v, self.u] = rows
        return GraphBatch(adjacency, self.sizes, self.features, ("",) * len(self), {}, table)

    @property
    def n_edges(self) -> Tensor:
        """Edges of each graph, int64 [B]."""
        return torch.bincount(self.graph, minlength=len(self))

    @property
    def node_mask(self) -> Tensor:
        """Which nodes are real and which are padding, bool [B, N]."""
        return torch.arange(self.n_nodes, device=self.sizes.device) < self.sizes[:, None]

    @cached_property
    def starts(self) -> Tensor:
        """Where each graph's edges begin in the list, and its end, int64 [B + 1]; the list is sorted by graph."""
        return torch.cat((torch.zeros(1, dtype=torch.long, device=self.sizes.device), self.n_edges.cumsum(0)))

    def select(self, index: Tensor) -> EdgeBatch:
        """The graphs at these positions, int64, in this order, or under this mask; a position may come repeatedly."""
        if index.dtype == torch.bool:
            index = index.nonzero().flatten()
        counts = self.n_edges[index]
        owner = torch.arange(len(index), device=index.device).repeat_interleave(counts)
        within = torch.arange(len(owner), device=index.device) - (counts.cumsum(0) - counts)[owner]
        edge = self.starts[index][owner] + within
        features = None if self.features is None else self.features[index]
        edge_features = None if self.edge_features is None else self.edge_features[edge]
        return EdgeBatch(self.n_nodes, self.sizes[index], owner, self.u[edge], self.v[edge], features, edge_features)

    def joined(self, *others: EdgeBatch) -> EdgeBatch:
        """These graphs, then those of the others."""
        parts = (self, *others)
        before = torch.tensor([0, *(len(part) for part in parts)]).cumsum(0).tolist()
        features = [part.features for part in parts if part.features is not None]
        edge_features = [part.edge_features for part in parts if part.edge_features is not None]
        return EdgeBatch(
            self.n_nodes,
            torch.cat([part.sizes for part in parts]),
            torch.cat([part.graph + start for part, start in zip(parts, before, strict=False)]),
            torch.cat([part.u for part in parts]),
            torch.cat([part.v for part in parts]),
            torch.cat(features) if features else None,
            torch.cat(edge_features) if edge_features else None,
        )

    @cached_property
    def core(self) -> Tensor:
        """Which edges are left when leaves are taken away until there are none, bool [K]: all cycles are among them."""
        left, total = torch.ones(len(self.u), dtype=torch.bool, device=self.u.device), len(self) * self.n_nodes
        u, v = self.graph * self.n_nodes + self.u, self.graph * self.n_nodes + self.v
        while True:
            degree = torch.bincount(torch.cat((u[left], v[left])), minlength=total)
            leaf = left & ((degree[u] == 1) | (degree[v] == 1))
            if not leaf.any():
                return left
            left = left & ~leaf

    @cached_property
    def chains(self) -> Chains:
        """The edges of the core, joined to chains where no other core edge branches off."""
        at = self.core.nonzero().flatten().numpy()
        u, v = ((self.graph * self.n_nodes + end).numpy()[at] for end in (self.u, self.v))
        total = len(self) * self.n_nodes
        knot = np.bincount(np.concatenate((u, v)), minlength=total) > 2
        string = _strings(u, v, knot)
        loose = np.setdiff1d(string, string[knot[u] | knot[v]])  # cycles by themselves: any of their nodes is a knot
        if len(loose):
            of_string = string[np.isin(string, loose)]
            _, first = np.unique(of_string, return_index=True)
            knot[u[np.isin(string, loose)][first]] = True
            string = _strings(u, v, knot)
        _, chain = np.unique(string, return_inverse=True)
        ends, of_chain = np.concatenate((u, v)), np.concatenate((chain, chain))
        order = np.argsort(of_chain[knot[ends]], kind="stable")
        pairs = ends[knot[ends]][order].reshape(-1, 2)
        return Chains(torch.from_numpy(at), torch.from_numpy(chain), pairs[:, 0], pairs[:, 1])

    @cached_property
    def _neighbours(self) -> tuple[Tensor, Tensor]:
        """The neighbours of every node, one node after the other, and where each node's begin."""
        offset, total = self.graph * self.n_nodes, len(self) * self.n_nodes
        u, v = (offset + self.u).cpu().numpy(), (offset + self.v).cpu().numpy()
        ends = np.concatenate((u, v)), np.concatenate((v, u))
        rows = coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(total, total)).tocsr()
        device = self.u.device
        return torch.from_numpy(rows.indices).to(device), torch.from_numpy(rows.indptr).to(device)

    def __matmul__(self, h: Tensor) -> Tensor:
        """A h for every graph, [B, N, d]: the sum over each node's neighbours."""
        neighbours, starts = self._neighbours
        summed: Tensor = NeighbourSum.apply(h, neighbours, starts[:-1])
        return summed

    def degree(self) -> Tensor:
        """[B, N, 1]."""
        return self._neighbours[1].diff().float().reshape(len(self), self.n_nodes, 1)


@dataclass(frozen=True, eq=False)
class Chains:
    """Paths of core edges between knots, the nodes where three or more of them meet (or one node of a lone cycle).

    Edge `edges[i]` of the list is part of chain `chain[i]`; chain c joins the knots `u[c]` and `v[c]`, which can be one
    and the same, as rows of the nodes of all graphs.
    """

    edges: Tensor
    chain: Tensor
    u: np.ndarray
    v: np.ndarray


def _strings(u: np.ndarray, v: np.ndarray, knot: np.ndarray) -> np.ndarray:
    """A number for each edge, the same for edges that meet in nodes that are no knots."""
    total, n = len(knot), len(u)
    # Edges and nodes as one graph: an edge hangs together with those of its ends that are no knots.
    edge, end = np.tile(np.arange(n), 2), np.concatenate((u, v))
    free = ~knot[end]
    size = n + total
    joined = coo_array((np.ones(free.sum(), dtype=np.int8), (edge[free], n + end[free])), shape=(size, size))
    return connected_components(joined.tocsr(), directed=False)[1][:n]


class NeighbourSum(torch.autograd.Function):
    """Σ_w A_vw h_w. A is symmetric, so the gradient takes the same way back.

    An embedding bag is a sum of rows that a list names: several times faster than gathering and adding them up.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, neighbours: Tensor, starts: Tensor) -> Tensor:
        ctx.save_for_backward(neighbours, starts)
        return _summed(h, neighbours, starts)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _summed(gradients[0], *ctx.saved_tensors), None, None


class NeighbourLists:
    """Graphs that are matrices, uint8 [B, N, N] of 0 and 1 and symmetric, read as lists of neighbours by networks.

    In graphs of up to `LONGEST_SUM` nodes `lists @ h` is the matrix product to the last bit, as both add up neighbours
    in the order of their numbers. Narrow products are an exception: MKL adds some columns in another order, and so they
    are left to it.
    """

    def __init__(self, matrices: Tensor) -> None:
        self.matrices = matrices

    @cached_property
    def _neighbours(self) -> tuple[Tensor, Tensor]:
        """The neighbours of every node, one node after the other, and where each node's begin."""
        matrices = self.matrices.numpy()
        batch, n, _ = matrices.shape
        degree = np.einsum("bij->bi", matrices).ravel()  # adds up bytes twice as fast as `sum`
        node = np.arange(batch * n)
        first = node // n * n  # node of the same graph
        neighbours = np.flatnonzero(matrices.view(bool)) + np.repeat(first - node * n, degree)
        starts = np.cumsum(degree, dtype=np.int64) - degree
        return torch.from_numpy(neighbours), torch.from_numpy(starts)

    @cached_property
    def _numbers(self) -> Tensor:
        return self.matrices.float()

    def __matmul__(self, h: Tensor) -> Tensor:
        """A h for every graph, [B, N, d]: the sum over each node's neighbours."""
        if h.shape[2] in ADDED_OTHERWISE:
            return self._numbers @ h
        summed: Tensor = NeighbourSum.apply(h, *self._neighbours)
        return summed

    def degree(self) -> Tensor:
        """[B, N, 1]."""
        return self.matrices.sum(2, keepdim=True, dtype=torch.float)


def _summed(h: Tensor, neighbours: Tensor, starts: Tensor) -> Tensor:
    rows = embedding_bag(neighbours, h.flatten(0, 1).contiguous(), starts, mode="sum")
    whole: Tensor = torch.ops.aten._unsafe_view(rows, h.shape)  # may be changed in place, unlike a view
    return whole
