"""Partial orders over node pairs: RSGG-CE's extension point (Algorithm 2).

A partial order is any object that, called with a batch of graphs, yields `Group`s in the order in which they are to be
sampled. Inside an unguarded group pairs are sampled together; inside a guarded one the oracle is asked after each.

Algorithm 1 builds the counterfactual up from nothing: A' starts without the pairs of any group, and a pair that is
sampled *enters* it. So a guarded group of existing edges starts without all of them and adds them one by one until the
class changes, which is not "remove as few as possible"; for that use `rsgg.constraints.OnlyRemovals` with
`TaughtRSGGCE`, whose ranked search starts from the input. Pairs that are in no group stay as they are, in training too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from rsgg.errors import GraphError, UsageError
from rsgg.graph import GraphBatch


@dataclass(frozen=True, eq=False)
class Group:
    """A group 𝕆 of a partial order: its node pairs 𝓔 (bool [B, N, N], upper triangle) and its guard o."""

    pairs: Tensor
    guarded: bool


class PartialOrder(Protocol):
    """What a user writes to specialise Algorithm 1 to a domain: an object or a function."""

    def __call__(self, graphs: GraphBatch, /) -> Iterator[Group]: ...


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

    `allowed` is bool [N, N], for data sets whose graphs share their nodes; its upper triangle is read.
    """

    allowed: Tensor
    order: PartialOrder = ExistingThenMissing()

    def __post_init__(self) -> None:
        mask = self.allowed
        if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
            what = f"a tensor of {mask.dtype}" if isinstance(mask, Tensor) else f"a {type(mask).__name__}"
            raise UsageError(f"Within was given {what} as allowed pairs; give a torch tensor of booleans, [N, N].")
        if mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
            raise UsageError(
                f"Within was given allowed pairs of shape {tuple(mask.shape)}; give a square mask, [N, N]."
            )
        advice = partial_order_advice(self.order)
        if advice:
            raise UsageError(f"Within cannot use order = {self.order!r}; {advice}.")

    def __call__(self, graphs: GraphBatch) -> Iterator[Group]:
        if len(self.allowed) != graphs.n_nodes:
            raise GraphError(
                f"Within was given allowed pairs of {len(self.allowed)} nodes and these graphs have {graphs.n_nodes}; "
                "give a mask for graphs of this size."
            )
        for group in self.order(graphs):
            yield Group(group.pairs & torch.triu(self.allowed, 1), group.guarded)


def partial_order_advice(order: Any) -> str:
    """What to give instead of something that is no partial order; an empty string where it is one."""
    if callable(order) and not isinstance(order, type):
        return ""
    return "give a partial order such as ExistingThenMissing(), or another object that yields groups of pairs"


def groups_of(order: PartialOrder, graphs: GraphBatch) -> list[Group]:
    """The groups of a partial order for these graphs; `UsageError` if they are not what it has to yield."""
    name = getattr(order, "__name__", type(order).__name__)
    try:
        groups = list(order(graphs))
    except TypeError as error:
        raise UsageError(
            f"The partial order {name} cannot be used ({error}); make it a function of a batch of graphs that yields "
            "rsgg.Group objects."
        ) from error
    for group in groups:
        if not isinstance(group, Group):
            raise UsageError(f"The partial order {name} yields a {type(group).__name__}; yield rsgg.Group objects.")
        shape = tuple(graphs.adjacency.shape)
        if group.pairs.dtype != torch.bool or tuple(group.pairs.shape) != shape:
            raise UsageError(
                f"The partial order {name} yields pairs of {group.pairs.dtype} and shape {tuple(group.pairs.shape)}; "
                f"yield booleans of shape {shape}."
            )
        if (group.pairs & ~graphs.pair_mask).any():
            raise UsageError(
                f"The partial order {name} yields pairs (u, v) with u ≥ v or with nodes that a graph does not have; "
                "restrict them with `& graphs.pair_mask`."
            )
    return groups
