"""Feasible counterfactuals: what may be edited, and what an edited graph has to keep.

    TaughtRSGGCE(constraints=(KeepConnected(), MostNeighbours(4)))

A constraint says two things: which node pairs may be edited at all (`editable`), and whether an edited graph is
allowed (`allows`). Methods that search along an order of edits (`RankedSearch`) never show the oracle a graph that is
not allowed, so that all their results are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from rsgg.errors import UsageError
from rsgg.graph import Graph, GraphBatch

Pairs = tuple[tuple[int, int], ...]
MOST_EDITS = 256  # of an order that is looked through edit by edit


class Constraint:
    """A rule of the domain. Subclasses override one of the two methods, or both."""

    looks_at_graphs: ClassVar[bool] = False  # has it an `allows` of its own?
    skips_edits: ClassVar[bool] = (
        False  # is an edit that breaks it left out of an order, so that later ones may follow?
    )

    def editable(self, graphs: GraphBatch) -> Tensor:
        """The node pairs u < v that may be edited, bool [B, N, N]."""
        return graphs.pair_mask

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        """May this graph, uint8 [n, n], be made of the original?"""
        return True


@dataclass(frozen=True)
class OnlyRemovals(Constraint):
    """No edge is added."""

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.edge_mask


@dataclass(frozen=True)
class OnlyAdditions(Constraint):
    """No edge is removed."""

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & ~graphs.edge_mask


@dataclass(frozen=True)
class _NamedPairs(Constraint):
    """About given node pairs; for data sets whose graphs share their nodes, or for a single graph."""

    pairs: Pairs

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", _checked_pairs(self.pairs, type(self).__name__))


@dataclass(frozen=True)
class Keep(_NamedPairs):
    """These node pairs stay as they are."""

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & ~_mask(self.pairs, graphs.n_nodes)


@dataclass(frozen=True)
class Among(_NamedPairs):
    """Only these node pairs may be edited."""

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & _mask(self.pairs, graphs.n_nodes)


def _checked_pairs(pairs: Iterable[Sequence[int]], who: str) -> Pairs:
    try:
        read = tuple((min(u, v), max(u, v)) for u, v in pairs)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{who} needs pairs of node numbers, such as [(0, 3), (2, 5)]; it was given {pairs!r}."
        ) from error
    if any(u == v or u < 0 for u, v in read):
        raise UsageError(f"{who} was given a pair that is no pair of two nodes; number nodes from 0.")
    return read


def _mask(pairs: Pairs, n: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for u, v in pairs:
        if v < n:
            mask[u, v] = True
    return mask


# -- Rules on the edited graph -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeepConnected(Constraint):
    """The edited graph has no more connected components than the original: what holds together stays together."""

    looks_at_graphs = True
    skips_edits = True

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        return bool(_components(adjacency) <= _components(original.adjacency))


def _components(adjacency: np.ndarray) -> int:
    return int(connected_components(adjacency, directed=False, return_labels=False))


@dataclass(frozen=True)
class MostNeighbours(Constraint):
    """No node gets more neighbours than `most`, or more than it has already.

    With `by_label` the limit depends on the node's label, the position of the largest entry of its features: valences
    of atoms, for example `MostNeighbours(4, by_label=(4, 3, 2, 1))`.
    """

    most: int
    by_label: tuple[int, ...] = ()
    looks_at_graphs = True
    skips_edits = True

    def __post_init__(self) -> None:
        if not all(isinstance(limit, int) and limit >= 0 for limit in (self.most, *self.by_label)):
            raise UsageError("MostNeighbours needs whole numbers of neighbours, zero or more.")

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        limit = np.full(len(adjacency), self.most)
        if self.by_label:
            if original.features is None or original.features.shape[1] < len(self.by_label):
                raise UsageError(
                    f"MostNeighbours has limits for {len(self.by_label)} labels; give every node a feature for each."
                )
            limit = np.array(self.by_label)[original.features[:, : len(self.by_label)].argmax(1)]
        had = original.adjacency.sum(1)
        return bool((adjacency.sum(1) <= np.maximum(limit, had)).all())


@dataclass(frozen=True)
class EdgeCount(Constraint):
    """The edited graph has at least `least` and at most `most` edges; `EdgeCount.of(graphs)` is the data's own range.

    A single edit may leave a narrow range that the next one comes back to, so no edit is left out of an order for it.
    """

    least: int
    most: int
    looks_at_graphs = True

    def __post_init__(self) -> None:
        if not 0 <= self.least <= self.most:
            raise UsageError(f"EdgeCount was given {self.least} to {self.most} edges; give a range from 0 on.")

    @classmethod
    def of(cls, graphs: Any) -> EdgeCount:
        edges = GraphBatch.of(graphs).n_edges
        return cls(int(edges.min()), int(edges.max()))

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        return bool(self.least <= int(adjacency.sum()) // 2 <= self.most)


@dataclass(frozen=True)
class Satisfies(Constraint):
    """A rule of one's own: `rule(original, adjacency)` is asked about every edited graph."""

    rule: Callable[[Graph, np.ndarray], bool]
    looks_at_graphs = True
    skips_edits = True

    def __post_init__(self) -> None:
        if not callable(self.rule):
            raise UsageError("Satisfies needs a function of the original graph and an adjacency matrix.")

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        return bool(self.rule(original, adjacency))


@dataclass(frozen=True)
class Rules:
    """The constraints of one graph of a batch, for searches that speak of edits as codes u · N + v."""

    original: Graph
    n_padded: int
    constraints: tuple[Constraint, ...]

    def allow(self, edits: np.ndarray, constraints: tuple[Constraint, ...] | None = None) -> bool:
        """Is the graph with these edits allowed?"""
        adjacency = self.original.adjacency.copy()
        u, v = np.divmod(edits, self.n_padded)
        adjacency[u, v] ^= 1
        adjacency[v, u] ^= 1
        asked = self.constraints if constraints is None else constraints
        return all(one.allows(self.original, adjacency) for one in asked if one.looks_at_graphs)

    def followed(self, order: np.ndarray) -> np.ndarray:
        """The edits of an order without those that would break a rule where the ones before them are made."""
        skipping = tuple(one for one in self.constraints if one.skips_edits)
        kept: list[int] = []
        if not skipping:
            return order
        for edit in order.tolist():
            if len(kept) < MOST_EDITS and self.allow(np.array([*kept, edit], dtype=np.int64), skipping):
                kept.append(edit)
        return np.array(kept, dtype=np.int64)


def editable(graphs: GraphBatch, constraints: Iterable[Constraint]) -> Tensor:
    """The pairs that all constraints let be edited, bool [B, N, N]."""
    mask = graphs.pair_mask
    for constraint in constraints:
        mask = mask & constraint.editable(graphs)
    return mask


def constraints_advice(constraints: Any) -> str:
    """What to give instead of something that is no tuple of constraints; an empty string where it is one."""
    if isinstance(constraints, tuple) and all(isinstance(one, Constraint) for one in constraints):
        return ""
    return "give a tuple of constraints, such as (KeepConnected(), OnlyRemovals())"
