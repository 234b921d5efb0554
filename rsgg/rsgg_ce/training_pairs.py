"""The node pairs that a training step samples, and the graphs that the samples make.

Small graphs (`AllPairs`) are matrices, and every node pair is sampled. A graph of 512 nodes has 131 000 pairs and
520 edges; such graphs (`EdgesAndSomeMissing`) are lists of edges, and a step samples the edges and K missing pairs,
drawn anew and uniformly in each step. A drawn pair stands for M / K of the M missing ones, so its odds are raised by
that factor: the expected number of additions stays what A_g says. Leaving out the other pairs does not change what the
generator learns: in Σ_s advantage_s · log A_g(G_s) whatever all samples s of a graph have in common is multiplied by
Σ_s advantage_s = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from rsgg.edges import LONGEST_SUM, EdgeBatch, NeighbourLists, positions
from rsgg.graph import GraphBatch
from rsgg.oracles.counting import CountingOracle

LARGEST_MATRIX = 120  # nodes: up to here matrices are faster than lists of edges
LARGEST_PRODUCT = 64  # nodes: up to here networks multiply by matrices faster than they add up neighbours
GRAPHS_PER_BLOCK = 128  # large graphs of which a sample is drawn at the same time
MISSING_PAIRS_PER_NODE = 4  # K / n, missing pairs that are drawn from a graph in a step
SURE = 1e6  # logit of a pair that stays as it is

Adjacency = Tensor | EdgeBatch
Linked = Tensor | EdgeBatch | NeighbourLists  # graphs as networks read them, `linked @ h`
Graphs = TypeVar("Graphs", Tensor, EdgeBatch)  # matrices [R, N, N], or lists of edges


def linked(graphs: Adjacency) -> Linked:
    """Graphs as networks read them: as lists of neighbours where that is faster and the same to the last bit."""
    if isinstance(graphs, EdgeBatch):
        return graphs
    listed = graphs.is_cpu and graphs.dtype == torch.uint8 and LARGEST_PRODUCT < graphs.shape[1] <= LONGEST_SUM
    return NeighbourLists(graphs) if listed else graphs.float()


class EdgeLogits(Protocol):
    """The generator, as far as this module needs it: logits of A_g for all pairs or for some."""

    def __call__(self, x: Tensor, adjacency: Tensor) -> Tensor: ...

    def of_entries(
        self, x: Tensor, adjacency: Linked, is_edge: Tensor, entries: Callable[[Tensor], Tensor]
    ) -> Tensor: ...

    def of_pairs(self, x: Tensor, graphs: EdgeBatch, u: Tensor, v: Tensor, is_edge: Tensor) -> Tensor: ...


@dataclass(frozen=True, eq=False)
class PairBatch:
    """Node pairs of B graphs, P for each.

    `logits` [B, P] are those of A_g. `is_edge` [B, P] is 1 for edges of the graph and 0 for missing ones. `is_pair`
    [B, P] is false where an entry only fills up the row. `u`, `v` are the nodes, [P] if all graphs have the same pairs,
    else [B, P].
    """

    logits: Tensor
    is_edge: Tensor
    is_pair: Tensor
    u: Tensor
    v: Tensor


class TrainingPairs(Protocol[Graphs]):
    """The training graphs of a class, and which of their node pairs a step samples.

    `Graphs` is what sampled graphs are held as. `rows` are positions among the training graphs, int64 [B].
    """

    graphs: GraphBatch

    def pairs(self, generator: EdgeLogits, rows: Tensor, rng: torch.Generator) -> PairBatch:
        """The pairs of these graphs that are to be sampled."""

    def assemble(self, sampled: Tensor, pairs: PairBatch, rows: Tensor) -> Graphs:
        """The graphs that have the sampled edges: 0 or 1 for each pair, [S, B, P], gives S·B graphs."""

    def originals(self, rows: Tensor) -> Graphs:
        """The graphs as they are."""

    def flips(self, graphs: Graphs, rows: Tensor, c: int, oracle: CountingOracle) -> Tensor:
        """Which graphs that were sampled from those at `rows`, of class c, are of another class: bool [B]."""

    def one_sample_each(self, generator: EdgeLogits, rng: torch.Generator) -> Iterator[tuple[Tensor, Graphs, Tensor]]:
        """One sample of every graph, in blocks: which graphs, what was sampled, how many edits that is."""

    def select(self, graphs: Graphs, index: Tensor) -> Graphs: ...

    def joined(self, *graphs: Graphs) -> Graphs: ...


def training_pairs(
    graphs: GraphBatch, features: Tensor, device: str, fixed: Tensor | None = None
) -> TrainingPairs[Any]:
    """Matrices for small graphs, lists of edges for large ones. `features` [B, N, F] are what the generator reads.

    `fixed` are the pairs that stay as they are, bool [B, N, N] (upper triangle); None: every pair may be edited.
    """
    kind = AllPairs if graphs.n_nodes <= LARGEST_MATRIX else EdgesAndSomeMissing
    return kind(graphs, features, device, fixed)


def _held(logits: Tensor, is_edge: Tensor, fixed: Tensor) -> Tensor:
    """The logits, in which fixed pairs are sure to stay what they are and teach nothing."""
    return torch.where(fixed.to(logits.device), SURE * (2 * is_edge - 1), logits)


class AllPairs:
    """Every pair of every graph; graphs are matrices of bytes."""

    def __init__(self, graphs: GraphBatch, features: Tensor, device: str, fixed: Tensor | None = None) -> None:
        self.graphs, self.features, self.device = graphs, features.to(device), device
        n = graphs.n_nodes
        self.u, self.v = torch.triu_indices(n, n, 1)
        self.upper, count = self.u * n + self.v, len(self.u)
        # Which pair each entry of a matrix is; entries that are none read a column behind the last pair.
        self.pair_above = torch.full((n * n,), count).index_put_((self.upper,), torch.arange(count))
        self.pair_at = torch.minimum(self.pair_above.view(n, n), self.pair_above.view(n, n).T).flatten()
        self.adjacency = graphs.adjacency.to(device)
        self.is_edge = columns(self.adjacency.flatten(1), self.upper)
        self.is_pair = columns(graphs.pair_mask.flatten(1).to(device), self.upper)
        self.fixed = None if fixed is None else columns(fixed.flatten(1), self.upper)

    def pairs(self, generator: EdgeLogits, rows: Tensor, rng: torch.Generator) -> PairBatch:
        is_edge = self.is_edge[rows].float()
        logits = generator.of_entries(self.features[rows], linked(self.originals(rows)), is_edge, self._above)
        if self.fixed is not None:
            logits = _held(logits, is_edge, self.fixed[rows])
        return PairBatch(logits, is_edge, self.is_pair[rows], self.u, self.v)

    def _above(self, matrices: Tensor) -> Tensor:
        """What stands above the diagonals, [B, P]."""
        above: Tensor = _Above.apply(matrices.flatten(1), self.upper, self.pair_above)
        return above

    def assemble(self, sampled: Tensor, pairs: PairBatch, rows: Tensor) -> Tensor:
        n = self.graphs.n_nodes
        return _with_zeros(sampled.flatten(0, 1).to(torch.uint8), self.pair_at).unflatten(1, (n, n))

    def originals(self, rows: Tensor) -> Tensor:
        return self.adjacency[rows]

    def flips(self, graphs: Tensor, rows: Tensor, c: int, oracle: CountingOracle) -> Tensor:
        return oracle.flips(self.graphs.candidates(graphs.cpu(), rows), c)

    def one_sample_each(self, generator: EdgeLogits, rng: torch.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        p = torch.sigmoid(generator(self.features, self.adjacency.float())).cpu()
        if self.fixed is not None:
            as_it_is = self.adjacency.float().cpu()
            p[:, self.u, self.v] = torch.where(self.fixed, as_it_is[:, self.u, self.v], p[:, self.u, self.v])
        upper = ((torch.rand(p.shape, generator=rng) < p) & self.graphs.pair_mask).to(torch.uint8)
        sampled = upper + upper.transpose(1, 2)
        yield torch.arange(len(self.graphs)), sampled, (sampled != self.graphs.adjacency).sum((1, 2)) / 2

    def select(self, graphs: Tensor, index: Tensor) -> Tensor:
        return graphs[index]

    def joined(self, *graphs: Tensor) -> Tensor:
        return torch.cat(graphs)


class _Above(torch.autograd.Function):
    """The entries above the diagonals of matrices [B, N²], and zeros elsewhere for the gradient."""

    @staticmethod
    def forward(ctx: Any, matrices: Tensor, upper: Tensor, pair_above: Tensor) -> Tensor:
        ctx.save_for_backward(pair_above)
        return columns(matrices, upper)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return _with_zeros(gradients[0], *ctx.saved_tensors), None, None


def columns(table: Tensor, index: Tensor) -> Tensor:
    """table[:, index]; for tables in main memory NumPy is several times faster."""
    if table.is_cpu:
        return torch.from_numpy(table.detach().numpy().take(index.numpy(), axis=1, mode="clip"))
    return table[:, index.to(table.device)]


def _with_zeros(table: Tensor, index: Tensor) -> Tensor:
    """The same, where `index` may name the column behind the last one, which is zero."""
    return columns(torch.nn.functional.pad(table, (0, 1)), index)


def edited_pairs(sampled: Tensor, pairs: PairBatch) -> Tensor:
    """On how many pairs each sampled graph, bool [S, B, P], differs from its original, [S, B]."""
    differs = (sampled ^ (pairs.is_edge > 0)) & pairs.is_pair
    if differs.is_cpu:  # NumPy counts many times faster
        return torch.from_numpy(differs.numpy().view(np.uint8).sum(2, dtype=np.uint32).astype(np.float32))
    return differs.sum(2).float()


class EdgesAndSomeMissing:
    """The edges of every graph and some of its missing pairs, drawn anew each time; graphs are lists of edges."""

    def __init__(self, graphs: GraphBatch, features: Tensor, device: str, fixed: Tensor | None = None) -> None:
        self.graphs, self.features, self.device, self.fixed = graphs, features, device, fixed
        self.edges = EdgeBatch.of(graphs)
        n = graphs.n_nodes
        self.codes = (self.edges.graph * n + self.edges.u) * n + self.edges.v  # of all edges, in rising order
        self.missing = graphs.sizes * (graphs.sizes - 1) // 2 - self.edges.n_edges

    def pairs(self, generator: EdgeLogits, rows: Tensor, rng: torch.Generator) -> PairBatch:
        edges = self.originals(rows)
        u, v, is_pair = _as_rows(edges)
        width = u.shape[1]
        more_u, more_v, drawn = self._missing_pairs(rows, rng)
        u, v, is_pair = torch.cat((u, more_u), 1), torch.cat((v, more_v), 1), torch.cat((is_pair, drawn), 1)
        is_edge = torch.zeros(u.shape)
        is_edge[:, :width] = 1
        u, v, is_pair, is_edge = (x.to(self.device) for x in (u, v, is_pair, is_edge))
        logits = generator.of_pairs(self.features[rows].to(self.device), edges, u, v, is_edge)
        odds = (self.missing[rows] / drawn.sum(1).clamp(min=1)).log().to(self.device)
        logits = logits + odds[:, None] * (1 - is_edge)
        if self.fixed is not None:
            logits = _held(logits, is_edge, self.fixed[rows[:, None], u.cpu(), v.cpu()])
        return PairBatch(logits, is_edge, is_pair, u, v)

    def _missing_pairs(self, rows: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """u, v and a mask, [B, K] each: uniform draws of node pairs, masked where an edge or a pair drawn twice."""
        n, sizes = self.graphs.n_nodes, self.graphs.sizes[rows][:, None]
        drawn = torch.rand(2, len(rows), MISSING_PAIRS_PER_NODE * n, generator=rng, dtype=torch.float64)
        one, other = (drawn[0] * sizes).long(), (drawn[1] * (sizes - 1)).long()
        other += other >= one
        code = (torch.minimum(one, other) * n + torch.maximum(one, other)).sort(1).values
        code_of_edge = rows[:, None] * n * n + code
        at = torch.searchsorted(self.codes, code_of_edge).clamp(max=len(self.codes) - 1)
        valid = self.codes[at] != code_of_edge
        valid[:, 1:] &= code[:, 1:] != code[:, :-1]
        return code // n, code % n, valid

    def assemble(self, sampled: Tensor, pairs: PairBatch, rows: Tensor) -> EdgeBatch:
        batch = sampled.shape[1]
        graph, pair = positions(sampled.flatten(0, 1))
        owner = rows.repeat(len(sampled)).to(self.device)
        u, v = pairs.u[graph % batch, pair], pairs.v[graph % batch, pair]
        features = None if self.graphs.features is None else self.graphs.features[owner]
        return EdgeBatch(self.graphs.n_nodes, self.graphs.sizes[owner], graph, u, v, features)

    def originals(self, rows: Tensor) -> EdgeBatch:
        return self.edges.select(rows)

    def flips(self, graphs: EdgeBatch, rows: Tensor, c: int, oracle: CountingOracle) -> Tensor:
        return oracle.flips(graphs, c)

    def one_sample_each(
        self, generator: EdgeLogits, rng: torch.Generator
    ) -> Iterator[tuple[Tensor, EdgeBatch, Tensor]]:
        for rows in torch.arange(len(self.graphs)).split(GRAPHS_PER_BLOCK):
            pairs = self.pairs(generator, rows, rng)
            uniform = torch.rand(pairs.logits.shape, generator=rng).to(self.device)
            sampled = ((uniform < torch.sigmoid(pairs.logits)) & pairs.is_pair)[None]
            yield rows, self.assemble(sampled, pairs, rows), edited_pairs(sampled, pairs)[0]

    def select(self, graphs: EdgeBatch, index: Tensor) -> EdgeBatch:
        return graphs.select(index)

    def joined(self, *graphs: EdgeBatch) -> EdgeBatch:
        return graphs[0].joined(*graphs[1:])


def _as_rows(edges: EdgeBatch) -> tuple[Tensor, Tensor, Tensor]:
    """u, v [B, most edges] and which of them are edges; the rest of a row is filled up with nodes 0 and 0."""
    counts = edges.n_edges
    is_edge = torch.arange(int(counts.max()))[None] < counts[:, None]
    u, v = torch.zeros(is_edge.shape, dtype=torch.long), torch.zeros(is_edge.shape, dtype=torch.long)
    u[is_edge], v[is_edge] = edges.u, edges.v
    return u, v, is_edge
