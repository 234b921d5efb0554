"""Feasible counterfactuals: what may be edited, and what an edited graph has to keep.

    TaughtRSGGCE(constraints=(KeepConnected(), MostNeighbours(4)))
    Minimised(base=CLEAR(), constraints=(OnlyRemovals(),))          # around a method that knows no constraints

A constraint says two things: which node pairs may be edited at all (`editable`), and whether an edited graph is
allowed (`allows`). For methods that edit nodes too it says which kinds of such edits may be made (`node_edits`: give a
node another label, add a leaf, drop a leaf; see `rsgg.edits`), and whether a graph with other nodes is allowed
(`allows_nodes`). The edge of a dropped leaf is a pair that is edited; that of an added leaf is no pair of the graph's
own nodes, so that only `node_edits` is about it.

Every explainer has the field `constraints`; one that cannot keep them (`Capabilities.constraints`) says so. While a
graph is explained, `CountingOracle` answers about graphs that are not allowed as if they kept the class, without
asking: so no method returns one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from rsgg.edits import KINDS, Changed, Codes, Kind, beside, changed, recoded
from rsgg.errors import UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.seeds import numpy_rng
from rsgg.sparse import SparseBatch, SparseGraph

Mask = NDArray[np.bool_]
Pairs = tuple[tuple[int, int], ...]
MOST_EDITS = 256  # of an order that is looked through edit by edit


class Constraint:
    """A rule of the domain. Subclasses override `editable` or `allows`, or both."""

    looks_at_graphs: ClassVar[bool] = False  # has it an `allows` of its own?
    skips_edits: ClassVar[bool] = (
        False  # is an edit that breaks it left out of an order, so that later ones may follow?
    )
    node_edits: ClassVar[tuple[Kind, ...]] = KINDS  # kinds of edits of nodes that may be made

    def editable(self, graphs: GraphBatch) -> Tensor:
        """The node pairs u < v that may be edited, bool [B, N, N]."""
        return graphs.pair_mask

    def editable_pairs(self, graph: SparseGraph, u: Codes, v: Codes) -> Mask:
        """`editable` of some pairs u < v of a large graph, bool [K]; by default read from the matrix."""
        if type(self).editable is Constraint.editable:
            return np.ones(len(u), dtype=bool)
        mask: Mask = self.editable(GraphBatch.of([graph]))[0].numpy()
        return mask[u, v]

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        """May this graph, uint8 [n, n], be made of the original?"""
        return True

    def allows_flip(self, original: Graph, adjacency: np.ndarray, u: int, v: int) -> bool:
        """`allows` for a graph in which the pair u < v is edited last, if without this edit it is allowed.

        By default what `allows` says; rules that need not look at the whole graph for that are quicker.
        """
        return self.allows(original, adjacency.copy())  # a user's rule may write into it

    def allows_list(self, original: SparseGraph, edited: SparseGraph) -> bool:
        """`allows` for a large graph; by default read from its matrix."""
        return self.allows(original, edited.adjacency)

    def allows_nodes(self, edited: Changed) -> bool:
        """`allows` for a graph whose nodes were edited too.

        By default what `allows` says of the original's nodes, dropped ones without edges, and behind them the leaves.
        """
        return self.allows(edited.original, edited.adjacency)


@dataclass(frozen=True)
class OnlyRemovals(Constraint):
    """No edge is added, and no leaf; leaves may be dropped, and labels may change."""

    node_edits = ("relabel", "drop")

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.edge_mask

    def editable_pairs(self, graph: SparseGraph, u: Codes, v: Codes) -> Mask:
        return graph.has(u * graph.n_nodes + v)


@dataclass(frozen=True)
class OnlyAdditions(Constraint):
    """No edge is removed, and no leaf is dropped; leaves may be added, and labels may change."""

    node_edits = ("relabel", "add")

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & ~graphs.edge_mask

    def editable_pairs(self, graph: SparseGraph, u: Codes, v: Codes) -> Mask:
        return ~graph.has(u * graph.n_nodes + v)


@dataclass(frozen=True)
class KeepLabels(Constraint):
    """No node gets another label; leaves may be added and dropped."""

    node_edits = ("add", "drop")


@dataclass(frozen=True)
class _NamedPairs(Constraint):
    """About given node pairs; for data sets whose graphs share their nodes, or for a single graph.

    They say nothing about labels.
    """

    pairs: Pairs

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", _checked_pairs(self.pairs, type(self).__name__))

    def _named(self, graph: SparseGraph, u: Codes, v: Codes) -> Mask:
        """Which of these pairs are among the given ones."""
        n = graph.n_nodes
        return np.isin(u * n + v, [a * n + b for a, b in self.pairs if b < n])


@dataclass(frozen=True)
class Keep(_NamedPairs):
    """These node pairs stay as they are: a leaf whose edge is one of them is not dropped."""

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & ~_mask(self.pairs, graphs.n_nodes)

    def editable_pairs(self, graph: SparseGraph, u: Codes, v: Codes) -> Mask:
        return ~self._named(graph, u, v)


@dataclass(frozen=True)
class Forbid(_NamedPairs):
    """These node pairs do not become edges; those that are edges may stay or go. Leaves may be added."""

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & (graphs.edge_mask | ~_mask(self.pairs, graphs.n_nodes))

    def editable_pairs(self, graph: SparseGraph, u: Codes, v: Codes) -> Mask:
        return graph.has(u * graph.n_nodes + v) | ~self._named(graph, u, v)


@dataclass(frozen=True)
class Among(_NamedPairs):
    """Only these node pairs may be edited: no leaf is added, and dropped only with an edge that is one of them."""

    node_edits = ("relabel", "drop")

    def editable(self, graphs: GraphBatch) -> Tensor:
        return graphs.pair_mask & _mask(self.pairs, graphs.n_nodes)

    def editable_pairs(self, graph: SparseGraph, u: Codes, v: Codes) -> Mask:
        return self._named(graph, u, v)


@dataclass(frozen=True)
class KeepShare(Constraint):
    """A share of each graph's node pairs stays as it is, drawn at random: round(share · n (n - 1) / 2) of them.

    For measuring what is found where not everything may be edited. The pairs depend on the seed, on the name of the
    graph and on its number of nodes. As for `Keep`, a leaf whose edge is one of them is not dropped.
    """

    share: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise UsageError(f"KeepShare was given the share {self.share!r}; give a number from 0 to 1.")

    def kept(self, name: str, n: int) -> Codes:
        """The pairs of a graph of this name and n nodes that stay, coded u · n + v, ascending."""
        return _drawn_pairs(self.share, self.seed, name, n)

    def editable(self, graphs: GraphBatch) -> Tensor:
        mask = graphs.pair_mask
        for row, (name, n) in enumerate(zip(graphs.names, graphs.sizes.tolist(), strict=True)):
            u, v = np.divmod(self.kept(name, n), n)
            mask[row, u, v] = False
        return mask


@lru_cache(maxsize=4096)
def _drawn_pairs(share: float, seed: int, name: str, n: int) -> Codes:
    u, v = np.triu_indices(n, 1)
    drawn = numpy_rng("keep share", seed, name).permutation(u * n + v)[: round(share * len(u))]
    pairs = np.sort(drawn).astype(np.int64)
    pairs.flags.writeable = False  # the cache hands out the same array again
    return pairs


def _checked_pairs(pairs: Iterable[Sequence[int]], who: str) -> Pairs:
    try:
        read = tuple((min(u, v), max(u, v)) for u, v in pairs)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"{who} needs pairs of node numbers, such as [(0, 3), (2, 5)]; it was given {pairs!r}."
        ) from error
    if any(u == v or u < 0 or not isinstance(u, Integral) or not isinstance(v, Integral) for u, v in read):
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
        return _components(adjacency) <= _components_of(original)

    def allows_flip(self, original: Graph, adjacency: np.ndarray, u: int, v: int) -> bool:
        return bool(adjacency[u, v]) or self.allows(original, adjacency)  # an added edge parts nothing

    def allows_list(self, original: SparseGraph, edited: SparseGraph) -> bool:
        return _components_of_list(edited) <= _components_of(original)

    def allows_nodes(self, edited: Changed) -> bool:
        return self.allows(edited.original, edited.matrix)


def _components(adjacency: np.ndarray) -> int:
    """Connected components. The neighbours of a node are the bits of a whole number: on graphs of some hundred nodes
    twenty times as fast as SciPy, which first makes a sparse matrix; searches ask for them edit by edit.
    """
    packed = np.packbits(adjacency > 0, axis=1, bitorder="little")
    neighbours = [int.from_bytes(row.tobytes(), "little") for row in packed]
    left, count = (1 << len(neighbours)) - 1, 0
    while left:
        seen = waiting = left & -left  # the lowest node that is left
        while waiting:
            node = waiting & -waiting
            new = neighbours[node.bit_length() - 1] & ~seen
            seen |= new
            waiting = (waiting ^ node) | new
        left &= ~seen
        count += 1
    return count


def _components_of_list(graph: SparseGraph) -> int:
    n, ones = graph.n_nodes, np.ones(graph.n_edges, dtype=np.int8)
    count: int = connected_components(coo_array((ones, (graph.u, graph.v)), shape=(n, n)), directed=False)[0]
    return count


@lru_cache(maxsize=4096)
def _components_of(original: Graph) -> int:
    if isinstance(original, SparseGraph):
        return _components_of_list(original)
    return _components(original.adjacency)


@dataclass(frozen=True)
class MostNeighbours(Constraint):
    """No node gets more neighbours than `most`, or more than it has already.

    With `by_label` the limit depends on the node's label, the position of the largest entry of its features: valences
    of atoms, for example `MostNeighbours(4, by_label=(4, 3, 2, 1))`. A node that gets another label keeps the limit of
    its new one, however many neighbours it had.
    """

    most: int
    by_label: tuple[int, ...] = ()
    looks_at_graphs = True
    skips_edits = True

    def __post_init__(self) -> None:
        if not all(isinstance(limit, int) and limit >= 0 for limit in (self.most, *self.by_label)):
            raise UsageError("MostNeighbours needs whole numbers of neighbours, zero or more.")

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        return bool((adjacency.sum(1) <= _most_neighbours(self, original)).all())

    def allows_flip(self, original: Graph, adjacency: np.ndarray, u: int, v: int) -> bool:
        if not adjacency[u, v]:
            return True
        most = _most_neighbours(self, original)
        return bool(adjacency[u].sum() <= most[u] and adjacency[v].sum() <= most[v])

    def allows_list(self, original: SparseGraph, edited: SparseGraph) -> bool:
        limit = self._limits(original, None)
        return bool((edited.degrees() <= np.maximum(limit, original.degrees())).all())

    def allows_nodes(self, edited: Changed) -> bool:
        n, limit = edited.original.n_nodes, self._limits(edited.original, edited.labels)
        had = edited.original.adjacency.sum(1) * ~edited.relabelled
        limit[:n] = np.maximum(limit[:n], had)
        return bool((edited.adjacency.sum(1) <= limit).all())

    def _limits(self, original: Graph, labels: np.ndarray | None) -> np.ndarray:
        """The limit of each node, by its label in the original or by `labels`."""
        if not self.by_label:
            return np.full(original.n_nodes if labels is None else len(labels), self.most)
        if original.features is None or original.features.shape[1] < len(self.by_label):
            raise UsageError(
                f"MostNeighbours has limits for {len(self.by_label)} labels; give every node a feature for each."
            )
        if labels is None:
            labels = original.features[:, : len(self.by_label)].argmax(1)
        return np.array(self.by_label)[np.where(labels < len(self.by_label), labels, 0)]


@lru_cache(maxsize=4096)
def _most_neighbours(rule: MostNeighbours, original: Graph) -> NDArray[np.int64]:
    """How many neighbours each node may have: the rule's limit, or as many as it has already."""
    most: NDArray[np.int64] = np.maximum(rule._limits(original, None), original.adjacency.sum(1))
    return most


@dataclass(frozen=True)
class EdgeCount(Constraint):
    """The edited graph has at least `least` and at most `most` edges; `EdgeCount.of(graphs)` is the data's own range.

    A single edit may leave a narrow range that the next one comes back to, so no edit is left out of an order for it.
    """

    least: int
    most: int
    looks_at_graphs = True

    def __post_init__(self) -> None:
        whole = isinstance(self.least, Integral) and isinstance(self.most, Integral)
        if not whole or not 0 <= self.least <= self.most:
            raise UsageError(f"EdgeCount was given {self.least!r} to {self.most!r} edges; give a range from 0 on.")

    @classmethod
    def of(cls, graphs: Any) -> EdgeCount:
        edges = GraphBatch.of(graphs).n_edges
        return cls(int(edges.min()), int(edges.max()))

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        return bool(self.least <= int(adjacency.sum()) // 2 <= self.most)

    def allows_list(self, original: SparseGraph, edited: SparseGraph) -> bool:
        return self.least <= edited.n_edges <= self.most


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
        return self._allows(original, len(adjacency), int(adjacency.sum()) // 2)

    def allows_list(self, original: SparseGraph, edited: SparseGraph) -> bool:
        return self._allows(original, edited.n_nodes, edited.n_edges)

    def _allows(self, original: Graph, n_nodes: int, n_edges: int) -> bool:
        least, most = self.range_of(n_nodes)
        had, has = original.n_edges - original.n_nodes, n_edges - n_nodes
        return min(least, had) <= has <= max(most, had)

    def allows_nodes(self, edited: Changed) -> bool:
        return self.allows(edited.original, edited.matrix)


@dataclass(frozen=True)
class Satisfies(Constraint):
    """A rule of one's own: `rule(original, adjacency)` is asked about every edited graph.

    Where nodes are edited, the matrix has the original's nodes, dropped ones without edges, then the added leaves.
    """

    rule: Callable[[Graph, np.ndarray], bool]
    looks_at_graphs = True
    skips_edits = True

    def __post_init__(self) -> None:
        if not callable(self.rule):
            raise UsageError("Satisfies needs a function of the original graph and an adjacency matrix.")

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        try:
            kept = self.rule(original, adjacency)
            if kept is None:
                raise TypeError("it returned nothing")
            return bool(kept)
        except Exception as error:
            raise UsageError(
                f"The rule {getattr(self.rule, '__name__', self.rule)!r} of Satisfies failed ({error}); make it a "
                "function of the original graph and an adjacency matrix that returns True or False."
            ) from error


@dataclass(frozen=True)
class Rules:
    """The constraints of one graph of a batch, for searches that speak of edits as codes u · N + v."""

    original: Graph
    n_padded: int
    constraints: tuple[Constraint, ...]

    def allow(self, edits: np.ndarray, constraints: tuple[Constraint, ...] | None = None) -> bool:
        """Is the graph with these edits allowed?"""
        asked = [one for one in (self.constraints if constraints is None else constraints) if one.looks_at_graphs]
        if (edits >= self.n_padded**2).any():
            made = changed(self.original, recoded(edits, self.n_padded, self.original.n_nodes))
            closed = zip(self.constraints, self._closed, strict=True)
            if any(_edits_what_is_closed(one, made, pairs) for one, pairs in closed):
                return False
            return all(one.allows_nodes(made) for one in asked)
        if isinstance(self.original, SparseGraph):
            edited = self.original.with_edits(edits, self.n_padded)
            return all(one.allows_list(self.original, edited) for one in asked)
        adjacency = self.original.adjacency.copy()
        u, v = np.divmod(edits, self.n_padded)
        adjacency[u, v] ^= 1
        adjacency[v, u] ^= 1
        return all(one.allows(self.original, adjacency) for one in asked)

    @cached_property
    def _closed(self) -> list[Tensor]:
        """Of each constraint, the pairs that may not be edited, bool [n, n]."""
        return [_closed(one, GraphBatch.of([self.original]))[0] for one in self.constraints]

    def followed(self, order: np.ndarray) -> np.ndarray:
        """The edits of an order without those that would break a rule where the ones before them are made."""
        skipping = tuple(one for one in self.constraints if one.skips_edits)
        if not skipping:
            return order
        if not isinstance(self.original, SparseGraph) and (order < self.n_padded**2).all():
            return self._pairs_followed(order, skipping)
        kept: list[int] = []
        for edit in order.tolist():
            if len(kept) < MOST_EDITS and self.allow(np.array([*kept, edit], dtype=np.int64), skipping):
                kept.append(edit)
        return np.array(kept, dtype=np.int64)

    def _pairs_followed(self, order: np.ndarray, skipping: tuple[Constraint, ...]) -> np.ndarray:
        """`followed` for edits of pairs, made in one matrix, so that a rule need not look at all of it each time."""
        adjacency, kept = self.original.adjacency.copy(), np.zeros(len(order), dtype=bool)
        for place, (u, v) in enumerate(zip(*(ends.tolist() for ends in np.divmod(order, self.n_padded)), strict=True)):
            adjacency[u, v] = adjacency[v, u] = adjacency[u, v] ^ 1
            if all(one.allows_flip(self.original, adjacency, u, v) for one in skipping):
                kept[place] = True
                if kept.sum() == MOST_EDITS:
                    break
            else:
                adjacency[u, v] = adjacency[v, u] = adjacency[u, v] ^ 1
        return order[kept]


class Feasible:
    """Which graphs may be made of the graphs of a batch."""

    def __init__(self, graphs: GraphBatch, constraints: tuple[Constraint, ...]) -> None:
        self.graphs, self.originals, self.constraints = graphs, list(graphs), constraints
        self.closed = []  # of each constraint, the pairs that may not be edited, diagonal included, bool [B, N, N]
        if not isinstance(graphs, SparseBatch):  # lists are looked at pair by pair
            self.closed = [_closed(one, graphs) for one in constraints]

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

    def allow_graphs(self, graphs: GraphBatch, instance: Tensor) -> Tensor:
        """`allow` for graphs whose nodes may have been edited too."""
        if graphs.origin is None:
            return self.allow(graphs.adjacency, instance)
        broken = [
            self.broken_by(graph, origin[: graph.n_nodes], place)
            for graph, origin, place in zip(graphs, graphs.origin.tolist(), instance.tolist(), strict=True)
        ]
        return torch.tensor([not name for name in broken], dtype=torch.bool)

    def allow_lists(self, codes: Sequence[Codes], instance: Tensor) -> Tensor:
        """`allow` for large graphs: `codes` are the edges of each graph, for the padded size."""
        broken = [self.broken_list(own, place) for own, place in zip(codes, instance.tolist(), strict=True)]
        return torch.tensor([not name for name in broken], dtype=torch.bool)

    def broken_list(self, codes: Codes, instance: int) -> str:
        """`broken` for a large graph that has these edges."""
        original, n = self.originals[instance], self.graphs.n_nodes
        assert isinstance(original, SparseGraph)
        edits = np.setxor1d(original.codes(n), codes)
        edited, (u, v) = original.with_edits(edits, n), np.divmod(edits, n)
        for one in self.constraints:
            is_closed = not one.editable_pairs(original, u, v).all()
            if is_closed or (one.looks_at_graphs and not one.allows_list(original, edited)):
                return type(one).__name__
        return ""

    def broken(self, adjacency: Tensor, instance: int) -> str:
        """The name of a constraint that this graph breaks, or an empty string."""
        original, n = self.originals[instance], len(adjacency)
        changed = (adjacency > 0) != (self.graphs.adjacency[instance, :n, :n] > 0)
        matrix = adjacency.cpu().numpy()[: original.n_nodes, : original.n_nodes].astype(np.uint8)
        for one, closed in zip(self.constraints, self.closed, strict=True):
            if (changed & closed[instance, :n, :n]).any() or (one.looks_at_graphs and not one.allows(original, matrix)):
                return type(one).__name__
        return ""

    def broken_by(self, graph: Graph, origin: Sequence[int], instance: int) -> str:
        """`broken` for a graph whose nodes were edited too; `origin` says which node each was (`rsgg.edits`)."""
        original = self.originals[instance]
        if isinstance(graph, SparseGraph):  # of which nodes are not edited
            return self.broken_list(graph.codes(self.graphs.n_nodes), instance)
        made, n = beside(original, graph, origin), original.n_nodes
        for one, closed in zip(self.constraints, self.closed, strict=True):
            is_closed = _edits_what_is_closed(one, made, closed[instance, :n, :n])
            if is_closed or (one.looks_at_graphs and not one.allows_nodes(made)):
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


def _closed(constraint: Constraint, graphs: GraphBatch) -> Tensor:
    """The pairs that a constraint lets nobody edit, diagonal included, bool [B, N, N]."""
    open_ = graphs.pair_mask & constraint.editable(graphs)
    return ~(open_ | open_.transpose(1, 2))


def _edits_what_is_closed(constraint: Constraint, made: Changed, closed: Tensor) -> bool:
    """Are pairs of the original's nodes edited that may not be, or nodes in a way that they may not be?"""
    n = made.original.n_nodes
    edited = (made.adjacency[:n, :n] > 0) != (made.original.adjacency > 0)
    return bool((edited & closed.numpy()).any()) or not made.kinds <= set(constraint.node_edits)


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
