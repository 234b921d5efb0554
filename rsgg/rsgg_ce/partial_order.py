"""Partial orders over node pairs: RSGG-CE's extension point (Algorithm 2).

A partial order is any object that, given a batch of graphs, yields `Group`s in the order in which they are to be
sampled. Inside an unguarded group pairs are sampled together; inside a guarded one the oracle is asked after each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from rsgg.graph import GraphBatch


@dataclass(frozen=True, eq=False)
class Group:
    """A group 𝕆 of a partial order: its node pairs 𝓔 (bool [B, N, N], upper triangle) and its guard o."""

    pairs: Tensor
    guarded: bool


class PartialOrder(Protocol):
    """What a user writes to specialise Algorithm 1 to a domain."""

    def __call__(self, graphs: GraphBatch) -> Iterator[Group]: ...


@dataclass(frozen=True)
class ExistingThenMissing:
    """Algorithm 2: first the edges of the graph, unguarded, then the missing ones, guarded."""

    def __call__(self, graphs: GraphBatch) -> Iterator[Group]:
        edges = graphs.edge_mask
        yield Group(edges, guarded=False)
        yield Group(graphs.pair_mask & ~edges, guarded=True)


@dataclass(frozen=True)
class ExistingThenAll:
    """What the released sampler does: its second phase draws from *all* pairs, existing edges included."""

    def __call__(self, graphs: GraphBatch) -> Iterator[Group]:
        yield Group(graphs.edge_mask, guarded=False)
        yield Group(graphs.pair_mask, guarded=True)


@dataclass(frozen=True)
class Within:
    """Restrict another order to allowed pairs, e.g. bonds that chemistry permits; other edges stay as they are.

    `allowed` is bool [N, N], for data sets whose graphs share their nodes.
    """

    allowed: Tensor
    order: PartialOrder = ExistingThenMissing()

    def __call__(self, graphs: GraphBatch) -> Iterator[Group]:
        for group in self.order(graphs):
            yield Group(group.pairs & torch.triu(self.allowed, 1), group.guarded)
