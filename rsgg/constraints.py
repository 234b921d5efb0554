"""Feasible counterfactuals: what may be edited, and what an edited graph has to keep.

    TaughtRSGGCE(constraints=(KeepConnected(), MostNeighbours(4)))
    Minimised(base=CLEAR(), constraints=(OnlyRemovals(),))          # around a method that knows no constraints

A constraint says two things: which node pairs may be edited at all (`editable`), and whether an edited graph is
allowed (`allows`). Every explainer has the field `constraints`; one that cannot keep them (`Capabilities.constraints`)
says so. While a graph is explained, `CountingOracle` answers about graphs that are not allowed as if they kept the
class, without asking: so no method returns one.
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
class Forbid(_NamedPairs):
    """These node pairs do not become edges; those that are edges may stay or go."""

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & (graphs.edge_mask | ~_mask(self.pairs, graphs.n_nodes))


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
class EdgesForSize(Constraint):
    """Edges less nodes, |E| - |V|, stay in the range of real graphs of similar size: `EdgesForSize.of(graphs)`.

    `groups` are (nodes, least, most), ascending by nodes: a graph belongs to the first group with at least as many
    nodes, or else to the last one. An original outside the range may stay as far outside as it is. Like `EdgeCount`,
    the rule leaves no edit out of an order.
    """

    groups: tuple[tuple[int, int, int], ...]
    looks_at_graphs = True

    def __post_init__(self) -> None:
        nodes = [group[0] for group in self.groups]
        if not nodes or sorted(set(nodes)) != nodes or any(least > most for _, least, most in self.groups):
            raise UsageError("EdgesForSize needs groups (nodes, least, most), ascending by nodes, with least <= most.")

    @classmethod
    def of(cls, graphs: Any, n_groups: int = 10) -> EdgesForSize:
        """Of real graphs, in at most `n_groups` groups of about equally many, 30 or more each if there are so many."""
        real = GraphBatch.of(graphs)
        n_groups = max(1, min(n_groups, len(real) // 30))
        sizes = real.sizes.cpu().numpy()
        beyond = real.n_edges.cpu().numpy() - sizes
        ends = np.unique(np.quantile(sizes, np.arange(1, n_groups + 1) / n_groups, method="inverted_cdf"))
        group = np.searchsorted(ends, sizes)
        ranges = [(beyond[group == i].min(), beyond[group == i].max()) for i in range(len(ends))]
        return cls(tuple((int(end), int(low), int(high)) for end, (low, high) in zip(ends, ranges, strict=True)))

    def range_of(self, n_nodes: int) -> tuple[int, int]:
        """The least and the most of |E| - |V| among real graphs of about so many nodes."""
        _, least, most = next((group for group in self.groups if n_nodes <= group[0]), self.groups[-1])
        return least, most

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        least, most = self.range_of(len(adjacency))
        had, has = original.n_edges - original.n_nodes, int(adjacency.sum()) // 2 - len(adjacency)
        return bool(min(least, had) <= has <= max(most, had))


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


class Feasible:
    """Which graphs may be made of the graphs of a batch."""

    def __init__(self, graphs: GraphBatch, constraints: tuple[Constraint, ...]) -> None:
        self.graphs, self.originals, self.constraints = graphs, list(graphs), constraints
        self.closed = []  # of each constraint, the pairs that may not be edited, diagonal included, bool [B, N, N]
        for one in constraints:
            open_ = graphs.pair_mask & one.editable(graphs)
            self.closed.append(~(open_ | open_.transpose(1, 2)))

    def allow(self, adjacency: Tensor, instance: Tensor) -> Tensor:
        """Of each matrix, [R, N, N], made of the graph at `instance`: is it allowed? Bool [R]."""
        n, allowed = adjacency.shape[1], torch.ones(len(adjacency), dtype=torch.bool)
        changed = (adjacency > 0) != (self.graphs.adjacency[instance, :n, :n] > 0)
        for closed in self.closed:
            allowed &= ~(changed & closed[instance, :n, :n]).flatten(1).any(1)
        if any(one.looks_at_graphs for one in self.constraints):
            for row in allowed.nonzero().flatten().tolist():
                allowed[row] = not self.broken(adjacency[row], int(instance[row]))
        return allowed

    def broken(self, adjacency: Tensor, instance: int) -> str:
        """The name of a constraint that this graph breaks, or an empty string."""
        original, n = self.originals[instance], len(adjacency)
        changed = (adjacency > 0) != (self.graphs.adjacency[instance, :n, :n] > 0)
        matrix = adjacency.cpu().numpy()[: original.n_nodes, : original.n_nodes].astype(np.uint8)
        for one, closed in zip(self.constraints, self.closed, strict=True):
            if (changed & closed[instance, :n, :n]).any() or (one.looks_at_graphs and not one.allows(original, matrix)):
                return type(one).__name__
        return ""

    def mended(self, adjacency: Tensor, instance: int, order: Callable[[np.ndarray], np.ndarray]) -> Tensor:
        """The graph without edits that may not be made, [N, N]; `order` says in which order the others are tried.

        Where a rule looks at the graph as a whole (`EdgeCount`), what comes out can still break it.
        """
        n = len(adjacency)
        original = self.graphs.adjacency[instance, :n, :n]
        changed = torch.triu((adjacency > 0) != (original > 0), 1)
        for closed in self.closed:
            changed &= ~closed[instance, :n, :n]
        rules = Rules(self.originals[instance], n, self.constraints)
        edits = rules.followed(order(changed.flatten().nonzero()[:, 0].numpy()))
        u, v = torch.from_numpy(edits // n), torch.from_numpy(edits % n)
        mended = original.clone()
        mended[u, v] = mended[v, u] = 1 - mended[u, v]
        return mended


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
