"""What a training step looks at: the node pairs whose coins are tossed, and the graphs that come of them.

Small graphs are looked at whole: every pair has a coin, graphs are matrices (`WholeView`). A graph of 512 nodes has
131 000 pairs and 520 edges; there (`SampledView`) a step tosses the coins of the edges and of K missing pairs drawn
anew, uniformly, and everything else is lists of edges. A drawn pair stands for M / K of the M missing ones, so its odds
are raised by that factor: the expected number of additions stays what A_g says. The coins that are not tossed would not
have moved the generator either: in Σ_s advantage_s · log A_g(G_s) whatever all samples s of a graph have in common is
multiplied by Σ_s advantage_s = 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.graph import GraphBatch
from rsgg.rsgg_ce.networks import Generator
from rsgg.oracles.oracle import Oracle

WHOLE_UP_TO = 120  # nodes: up to here matrices are the faster of the two
AT_ONCE = 128  # graphs of which one sample each is drawn at a time
MISSING_PER_NODE = 4  # K / n, missing pairs that are drawn from a graph in a step

Graphs = TypeVar("Graphs", Tensor, EdgeBatch)  # matrices [R, N, N], or lists of edges


@dataclass(frozen=True, eq=False)
class Coins:
    """The pairs of a step, [B, P]: A_g's logit, whether it is an edge, and whether it is a pair at all or padding."""

    logits: Tensor
    existing: Tensor
    real: Tensor
    u: Tensor
    v: Tensor


class View(Protocol[Graphs]):
    """The graphs of a class, and how a step looks at some of them. `Graphs` is what sampled graphs are held as."""

    graphs: GraphBatch

    def coins(self, generator: Generator, pick: Tensor, rng: torch.Generator) -> Coins:
        """The coins of the graphs at `pick`."""

    def assemble(self, bits: Tensor, coins: Coins, pick: Tensor) -> Graphs:
        """The graphs whose coins fell like this: bits [S, B, P] give S·B graphs."""

    def take(self, pick: Tensor) -> Graphs:
        """The graphs at `pick` as they are."""

    def classes(self, sampled: Graphs, owner: Tensor, oracle: Oracle) -> Tensor:
        """The oracle's answers for graphs that were sampled from those at `owner`."""

    def samples(self, generator: Generator, rng: torch.Generator) -> Iterator[tuple[Tensor, Graphs, Tensor]]:
        """One sample of every graph, in blocks: which graphs, what was sampled, how many edits that is."""

    def some(self, sampled: Graphs, index: Tensor) -> Graphs: ...

    def joined(self, *sampled: Graphs) -> Graphs: ...


def view_of(graphs: GraphBatch, features: Tensor, device: str) -> View[Any]:
    return (WholeView if graphs.n_nodes <= WHOLE_UP_TO else SampledView)(graphs, features, device)


class WholeView:
    """Every pair of every graph."""

    def __init__(self, graphs: GraphBatch, features: Tensor, device: str) -> None:
        self.graphs, self.features, self.device = graphs, features, device
        self.u, self.v = torch.triu_indices(graphs.n_nodes, graphs.n_nodes, 1)

    def coins(self, generator: Generator, pick: Tensor, rng: torch.Generator) -> Coins:
        adjacency = self.take(pick)
        logits = generator(self.features[pick].to(self.device), adjacency)[:, self.u, self.v]
        real = self.graphs.select(pick).pair_mask[:, self.u, self.v].to(self.device)
        return Coins(logits, adjacency[:, self.u, self.v], real, self.u, self.v)

    def assemble(self, bits: Tensor, coins: Coins, pick: Tensor) -> Tensor:
        n = self.graphs.n_nodes
        sampled = torch.zeros(bits.shape[0] * bits.shape[1], n, n, device=self.device)
        sampled[:, self.u, self.v] = bits.flatten(0, 1)
        return sampled + sampled.transpose(1, 2)

    def take(self, pick: Tensor) -> Tensor:
        return self.graphs.adjacency[pick].float().to(self.device)

    def classes(self, sampled: Tensor, owner: Tensor, oracle: Oracle) -> Tensor:
        return oracle.predict(self.graphs.candidates(sampled.to(torch.uint8).cpu(), owner))

    def samples(self, generator: Generator, rng: torch.Generator) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        everything = torch.arange(len(self.graphs))
        adjacency = self.take(everything)
        p = torch.sigmoid(generator(self.features.to(self.device), adjacency)).cpu()
        bits = ((torch.rand(p.shape, generator=rng) < p) & self.graphs.pair_mask).to(torch.uint8)
        sampled = bits + bits.transpose(1, 2)
        yield everything, sampled, (sampled != self.graphs.adjacency).sum((1, 2)) / 2

    def some(self, sampled: Tensor, index: Tensor) -> Tensor:
        return sampled[index]

    def joined(self, *sampled: Tensor) -> Tensor:
        return torch.cat(sampled)


class SampledView:
    """The edges of every graph and some of its missing pairs, drawn anew for each look."""

    def __init__(self, graphs: GraphBatch, features: Tensor, device: str) -> None:
        self.graphs, self.features, self.device = graphs, features, device
        self.edges = EdgeBatch.of(graphs)
        n = graphs.n_nodes
        self.codes = (self.edges.graph * n + self.edges.u) * n + self.edges.v  # of all edges, in rising order
        self.missing = graphs.sizes * (graphs.sizes - 1) // 2 - self.edges.n_edges

    def coins(self, generator: Generator, pick: Tensor, rng: torch.Generator) -> Coins:
        edges = self.take(pick)
        u, v, real = _side_by_side(edges)
        width = u.shape[1]
        more_u, more_v, more_real = self._missing_pairs(pick, rng)
        u, v, real = torch.cat((u, more_u), 1), torch.cat((v, more_v), 1), torch.cat((real, more_real), 1)
        existing = torch.zeros(u.shape)
        existing[:, :width] = 1
        u, v, real, existing = (x.to(self.device) for x in (u, v, real, existing))
        logits = generator.of_pairs(self.features[pick].to(self.device), edges, u, v, existing)
        odds = (self.missing[pick] / more_real.sum(1).clamp(min=1)).log().to(self.device)
        return Coins(logits + odds[:, None] * (1 - existing), existing, real, u, v)

    def _missing_pairs(self, pick: Tensor, rng: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
        """K different pairs of each graph that are no edges, uniformly: drawn, sorted, and what is not so masked."""
        n, sizes = self.graphs.n_nodes, self.graphs.sizes[pick][:, None]
        drawn = torch.rand(2, len(pick), MISSING_PER_NODE * n, generator=rng, dtype=torch.float64)
        one, other = (drawn[0] * sizes).long(), (drawn[1] * (sizes - 1)).long()
        other += other >= one
        code = (torch.minimum(one, other) * n + torch.maximum(one, other)).sort(1).values
        known = pick[:, None] * n * n + code
        at = torch.searchsorted(self.codes, known).clamp(max=len(self.codes) - 1)
        new = self.codes[at] != known
        new[:, 1:] &= code[:, 1:] != code[:, :-1]
        return code // n, code % n, new

    def assemble(self, bits: Tensor, coins: Coins, pick: Tensor) -> EdgeBatch:
        batch = bits.shape[1]
        graph, pair = bits.flatten(0, 1).nonzero(as_tuple=True)
        owner = pick.repeat(len(bits)).to(self.device)
        u, v = coins.u[graph % batch, pair], coins.v[graph % batch, pair]
        features = None if self.graphs.features is None else self.graphs.features[owner]
        return EdgeBatch(self.graphs.n_nodes, self.graphs.sizes[owner], graph, u, v, features)

    def take(self, pick: Tensor) -> EdgeBatch:
        return self.edges.select(pick)

    def classes(self, sampled: EdgeBatch, owner: Tensor, oracle: Oracle) -> Tensor:
        return oracle.predict_edges(sampled)

    def samples(self, generator: Generator, rng: torch.Generator) -> Iterator[tuple[Tensor, EdgeBatch, Tensor]]:
        for pick in torch.arange(len(self.graphs)).split(AT_ONCE):
            coins = self.coins(generator, pick, rng)
            tossed = torch.rand(coins.logits.shape, generator=rng).to(self.device)
            bits = ((tossed < torch.sigmoid(coins.logits)) & coins.real).float()
            yield pick, self.assemble(bits[None], coins, pick), ((bits != coins.existing) & coins.real).sum(1).float()

    def some(self, sampled: EdgeBatch, index: Tensor) -> EdgeBatch:
        return sampled.select(index)

    def joined(self, *sampled: EdgeBatch) -> EdgeBatch:
        return sampled[0].joined(*sampled[1:])


def _side_by_side(edges: EdgeBatch) -> tuple[Tensor, Tensor, Tensor]:
    """u, v [B, most edges] and which of them are edges: padding joins nodes 0 and 0."""
    counts = edges.n_edges
    real = torch.arange(int(counts.max()))[None] < counts[:, None]
    u, v = torch.zeros(real.shape, dtype=torch.long), torch.zeros(real.shape, dtype=torch.long)
    u[real], v[real] = edges.u, edges.v
    return u, v, real
