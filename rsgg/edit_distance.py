"""Graph edit distance of graphs with node labels, bounded from both sides, and decided where bounds are not enough.

Adding, dropping or relabelling a node costs 1, and so does adding or dropping an edge; edges have no labels. A leaf
that comes or goes costs 2. The distance is NP-hard, but there is always a cheapest way in which every node of the
smaller graph becomes a node of the other one. So with N the larger number of nodes and the smaller graph filled up with
nodes that are nothing,

    GED(G, H) = min_π  #{i : label of i ≠ label of π(i)}  +  #{i < j : A_ij ≠ B_π(i)π(j)},

π over all N! ways to match nodes, "nothing" being a label of its own. From below and from above:

- `lower_by_counts`: labels and degrees as if they could be matched apart,
  ½ (‖h - h'‖₁ + |n - n'| + ‖d - d'‖₁) with h how often each label occurs and d_t how many nodes have degree t or more.
  It is the L1 distance of two short vectors: for all pairs of two lists of graphs at once.
- `lower_by_branches`: an assignment problem in which i and j cost [labels differ] + ½ |difference of their degrees|
  (every edge that differs has two ends). At least as large.
- `matched`: a matching that is an edit path in hand: an assignment problem whose prices look at the labels of
  neighbours too, then exchanges of two nodes, always the best one, until none lowers the cost. Many pairs at once.
- `within`: is the distance at most a limit? By search over partial matchings, those left out that no completion can
  bring below the limit; without an answer after a given number of them.

`normalised` divides by |V| + |E| of both graphs: from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from rsgg.graph import Graph, GraphBatch
from rsgg.plausibility import node_labels

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NOTHING = -1  # the label of a node that is not there
CELLS_PER_BLOCK = 1 << 16  # of matrices that are matched side by side: bounds the memory


@dataclass(frozen=True, eq=False)
class LabelledGraphs:
    """B graphs as distances see them: `adjacency` bool [B, N, N], `labels` int64 [B, N], `NOTHING` behind the last."""

    adjacency: NDArray[np.bool_]
    labels: Ints

    @classmethod
    def of(cls, graphs: GraphBatch | Sequence[Graph]) -> LabelledGraphs:
        """Of graphs whose features are one-hot labels; graphs without features have nodes that are all alike."""
        batch = GraphBatch.of(graphs)
        there = batch.node_mask.numpy()
        adjacency = batch.adjacency.numpy() > 0
        adjacency &= ~np.eye(batch.n_nodes, dtype=bool)  # a self loop is no edge of a simple graph
        return cls(adjacency, np.where(there, node_labels(batch), NOTHING))

    def __len__(self) -> int:
        return len(self.labels)

    @cached_property
    def n_nodes(self) -> Ints:
        """Int64 [B]."""
        return (self.labels != NOTHING).sum(1)

    @cached_property
    def degrees(self) -> Ints:
        """Int64 [B, N]."""
        return self.adjacency.sum(2)

    @cached_property
    def n_edges(self) -> Ints:
        """Int64 [B]."""
        return self.degrees.sum(1) // 2

    @cached_property
    def elements(self) -> Ints:
        """|V| + |E|, int64 [B]."""
        return self.n_nodes + self.n_edges

    def select(self, index: Ints | Sequence[int]) -> LabelledGraphs:
        chosen = np.asarray(index, dtype=np.int64)
        return LabelledGraphs(self.adjacency[chosen], self.labels[chosen])

    def padded(self, n: int) -> LabelledGraphs:
        """The same graphs in matrices of n nodes, none of them having more."""
        kept = min(n, self.labels.shape[1])
        adjacency = np.zeros((len(self), n, n), dtype=bool)
        adjacency[:, :kept, :kept] = self.adjacency[:, :kept, :kept]
        labels = np.full((len(self), n), NOTHING)
        labels[:, :kept] = self.labels[:, :kept]
        return LabelledGraphs(adjacency, labels)

    def joined(self, other: LabelledGraphs) -> LabelledGraphs:
        """These graphs, then the others."""
        n = max(self.labels.shape[1], other.labels.shape[1])
        parts = self.padded(n), other.padded(n)
        return LabelledGraphs(
            np.concatenate([part.adjacency for part in parts]), np.concatenate([part.labels for part in parts])
        )


def normalised(ged: Ints | Floats, elements: Ints, others: Ints) -> Floats:
    """GED / (|V₁| + |E₁| + |V₂| + |E₂|); the numbers of elements broadcast."""
    return np.asarray(ged / np.maximum(elements + others, 1), dtype=np.float64)


def largest_within(theta: float, elements: Ints, others: Ints) -> Ints:
    """The largest GED whose normalised distance is at most θ."""
    return np.floor(theta * (elements + others) + 1e-9).astype(np.int64)  # 0.1 · 30 is less than 3 in binary


# -- Lower bounds ----------------------------------------------------------------------------------------


def counts(graphs: LabelledGraphs, n_labels: int, most_degree: int) -> Floats:
    """The vector of each graph whose L1 distance `lower_by_counts` is, [B, n_labels + 1 + most_degree].

    How often each label occurs, the number of nodes, and how many nodes have degree 1, 2, … or more.
    """
    labels = (graphs.labels[:, :, None] == np.arange(n_labels)).sum(1)
    degrees = (graphs.degrees[:, :, None] > np.arange(most_degree)).sum(1)
    return np.concatenate((labels, graphs.n_nodes[:, None], degrees), axis=1).astype(np.float64)


def lower_by_counts(graphs: LabelledGraphs, others: LabelledGraphs) -> Ints:
    """A lower bound of the GED of every graph and every other one, int64 [B, C]."""
    n_labels = 1 + int(max(graphs.labels.max(initial=0), others.labels.max(initial=0)))
    most_degree = int(max(graphs.degrees.max(initial=0), others.degrees.max(initial=0)))
    vectors = (counts(graphs, n_labels, most_degree), counts(others, n_labels, most_degree))
    return _rounded_up(cdist(*vectors, "cityblock") / 2)


def lower_by_branches(graphs: LabelledGraphs, others: LabelledGraphs) -> Ints:
    """A lower bound of the GED of each graph and the other one at the same place, int64 [B]."""
    bounds = np.zeros(len(graphs), dtype=np.int64)
    for rows, a, b in _blocks(graphs, others):
        prices = _label_prices(a, b) + np.abs(a.degrees[:, :, None] - b.degrees[:, None, :]) / 2
        least = [price[linear_sum_assignment(price)].sum() for price in prices]
        bounds[rows] = _rounded_up(np.array(least))
    return bounds


def _rounded_up(bound: Floats) -> Ints:
    return np.ceil(bound - 1e-9).astype(np.int64)


# -- Matchings -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Matched:
    """Edit paths between pairs of graphs: what each costs, int64 [B], and the other graph, its nodes in the places of
    those that become them, so that edits can be read off place by place."""

    cost: Ints
    other: LabelledGraphs


def upper_by_matching(graphs: LabelledGraphs, others: LabelledGraphs) -> Ints:
    """An upper bound of the GED of each graph and the other one at the same place, int64 [B]."""
    cost = np.zeros(len(graphs), dtype=np.int64)
    for rows, a, b in _blocks(graphs, others):
        cost[rows] = matched(a, b).cost
    return cost


def matched(graphs: LabelledGraphs, others: LabelledGraphs) -> Matched:
    """A cheap matching of each graph and the other one at the same place; both are padded to the same size."""
    labels = _label_prices(graphs, others)
    price = labels + _neighbour_prices(graphs, others)
    sent = np.stack([linear_sum_assignment(one)[1] for one in price])
    sent = _exchanged(labels, graphs.adjacency, others.adjacency, sent)
    other = LabelledGraphs(_reordered(others.adjacency, sent), np.take_along_axis(others.labels, sent, 1))
    return Matched(cost_in_place(graphs, other), other)


def cost_in_place(graphs: LabelledGraphs, others: LabelledGraphs) -> Ints:
    """What it costs if node i of a graph becomes node i of the other one, int64 [B]."""
    edges = (graphs.adjacency != others.adjacency).sum((1, 2)) // 2
    return np.asarray((graphs.labels != others.labels).sum(1) + edges, dtype=np.int64)


def _label_prices(graphs: LabelledGraphs, others: LabelledGraphs) -> Floats:
    """[Labels differ], for each node of a graph and of the other one, [B, N, N]."""
    return (graphs.labels[:, :, None] != others.labels[:, None, :]).astype(np.float64)


def _neighbour_prices(graphs: LabelledGraphs, others: LabelledGraphs) -> Floats:
    """Half of the edges that two nodes do not share at best, by the labels of their neighbours, [B, N, N]."""
    n_labels = 1 + int(max(graphs.labels.max(initial=0), others.labels.max(initial=0)))
    around = [one.adjacency.astype(np.float32) @ _one_hot(one.labels, n_labels) for one in (graphs, others)]
    return np.stack([cdist(a, b, "cityblock") for a, b in zip(*around, strict=True)]) / 2


def _one_hot(labels: Ints, n_labels: int) -> NDArray[np.float32]:
    return (labels[:, :, None] == np.arange(n_labels)).astype(np.float32)


def _reordered(adjacency: NDArray[np.bool_], sent: Ints) -> NDArray[np.bool_]:
    """Matrices whose node i is the old node `sent[i]`."""
    rows = np.arange(len(sent))[:, None, None]
    return adjacency[rows, sent[:, :, None], sent[:, None, :]]


def _exchanged(labels: Floats, adjacency: NDArray[np.bool_], others: NDArray[np.bool_], sent: Ints) -> Ints:
    """The matchings after all exchanges of two nodes that lower their costs, always the best one of each pair.

    If i and j exchange what they are sent to, their edges to each k but i and j change places: the sum over k is a
    product of matrices, for all i and j at once.
    """
    sent, n = sent.copy(), sent.shape[1]
    going = np.arange(len(sent))  # pairs of graphs whose matching may still get cheaper
    a, b = adjacency.astype(np.float32), _reordered(others, sent).astype(np.float32)
    price = np.take_along_axis(labels, sent[:, None, :], 2).astype(np.float32)
    while True:
        shared = a @ b
        shared -= price / 2
        now = np.diagonal(shared, axis1=1, axis2=2)
        saved = shared + shared.transpose(0, 2, 1) - now[:, :, None] - now[:, None, :] + 2 * a * b
        best = saved.reshape(len(going), n * n).argmax(1)
        i, j = np.divmod(best, n)
        better = saved[np.arange(len(going)), i, j] > 0
        if not better.all():
            going, a, b, price, i, j = (part[better] for part in (going, a, b, price, i, j))
        if not len(going):
            return sent
        rows = np.arange(len(going))
        sent[going, i], sent[going, j] = sent[going, j], sent[going, i]
        b[rows, i], b[rows, j] = b[rows, j], b[rows, i]
        b[rows, :, i], b[rows, :, j] = b[rows, :, j], b[rows, :, i]
        price[rows, :, i], price[rows, :, j] = price[rows, :, j], price[rows, :, i]


def _blocks(graphs: LabelledGraphs, others: LabelledGraphs) -> list[tuple[Ints, LabelledGraphs, LabelledGraphs]]:
    """The pairs in blocks of similar sizes, with as little padding as they need: their places and both sides."""
    size = np.maximum(graphs.n_nodes, others.n_nodes)
    order = np.argsort(size, kind="stable")
    blocks, start = [], 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and (stop + 1 - start) * size[order[stop]] ** 2 <= CELLS_PER_BLOCK:
            stop += 1
        rows, n = order[start:stop], int(size[order[stop - 1]])
        blocks.append((rows, graphs.select(rows).padded(n), others.select(rows).padded(n)))
        start = stop
    return blocks


# -- Is it within a limit? ---------------------------------------------------------------------------------


def within(graph: LabelledGraphs, other: LabelledGraphs, limit: int, most: int) -> tuple[bool | None, int]:
    """Is the GED of two graphs (lists of one) at most `limit`? None if `most` partial matchings do not decide it.

    How many were looked at is said too.

    Nodes of the smaller graph are matched one after the other. A partial matching is given up if what it has cost, and
    what the rest costs at least, exceeds the limit: labels that are left over, edges from each matched node to the
    rest, edges within the rest.
    """
    if graph.n_nodes[0] > other.n_nodes[0]:
        graph, other = other, graph
    search = _Search(graph, other, limit, most)
    return search.decided(), most - max(search.left, 0)


class _Search:
    """The search of `within`. Sets of nodes are whole numbers whose bits are the nodes, in the order of matching."""

    def __init__(self, graph: LabelledGraphs, other: LabelledGraphs, limit: int, most: int) -> None:
        self.n, self.m = int(graph.n_nodes[0]), int(other.n_nodes[0])
        order = _connected_order(graph.adjacency[0][: self.n, : self.n])
        self.labels, self.other_labels = graph.labels[0][order].tolist(), other.labels[0][: self.m].tolist()
        self.around = _bits(graph.adjacency[0][np.ix_(order, order)])
        self.other_around = _bits(other.adjacency[0][: self.m, : self.m])
        self.neighbours = [np.flatnonzero(row).tolist() for row in other.adjacency[0][: self.m, : self.m]]
        self.before = [around & ((1 << i) - 1) for i, around in enumerate(self.around)]  # neighbours matched earlier
        later = [(around >> i).bit_count() for i, around in enumerate(self.around)]
        self.inside = [sum(later[i:]) for i in range(self.n + 1)]  # edges among the nodes from i on
        self.limit, self.left = limit, most
        self.sent: list[int] = []
        self.met = [0] * self.m  # by node of the other graph: which of its neighbours are matched, as nodes of this one

    def decided(self) -> bool | None:
        label_counts = [dict[int, int](), dict[int, int]()]
        for side, labels in zip(label_counts, (self.labels, self.other_labels), strict=True):
            for label in labels:
                side[label] = side.get(label, 0) + 1
        self.left_over, self.other_left_over = label_counts
        try:
            return self._reaches(0, (1 << self.m) - 1, sum(map(len, self.neighbours)) // 2)
        except _GivenUp:
            return None

    def _reaches(self, cost: int, free: int, other_inside: int) -> bool:
        """Can the matching so far (`sent`) be completed within the limit? `other_inside`: edges among `free` nodes."""
        self.left -= 1
        if self.left < 0:
            raise _GivenUp
        i = len(self.sent)
        if cost + self._rest(i, free, other_inside) > self.limit:
            return False
        if i == self.n:
            return True  # the bound of the rest is exact: all other nodes and their edges come
        own, earlier = self.labels[i], self.before[i]
        prices = [
            ((own != self.other_labels[v]) + (earlier ^ self.met[v]).bit_count(), v)
            for v in range(self.m)
            if free >> v & 1
        ]
        for price, v in sorted(prices):
            if cost + price > self.limit:
                return False
            self._match(i, v)
            kept = free & ~(1 << v)
            found = self._reaches(cost + price, kept, other_inside - (self.other_around[v] & kept).bit_count())
            self._take_back(i, v)
            if found:
                return True
        return False

    def _match(self, i: int, v: int) -> None:
        self.sent.append(v)
        self.left_over[self.labels[i]] -= 1
        self.other_left_over[self.other_labels[v]] -= 1
        for w in self.neighbours[v]:
            self.met[w] |= 1 << i

    def _take_back(self, i: int, v: int) -> None:
        self.sent.pop()
        self.left_over[self.labels[i]] += 1
        self.other_left_over[self.other_labels[v]] += 1
        for w in self.neighbours[v]:
            self.met[w] &= ~(1 << i)

    def _rest(self, i: int, free: int, other_inside: int) -> int:
        """What the nodes that are not matched yet cost at least."""
        common = sum(min(count, self.other_left_over.get(label, 0)) for label, count in self.left_over.items())
        crossing = 0
        for j, w in enumerate(self.sent):
            crossing += abs((self.around[j] >> i).bit_count() - (self.other_around[w] & free).bit_count())
        return self.m - i - common + crossing + abs(self.inside[i] - other_inside)


class _GivenUp(Exception):
    """The search has looked at as many partial matchings as it may."""


def _bits(adjacency: NDArray[np.bool_]) -> list[int]:
    """The neighbours of each node as the bits of a whole number."""
    return [sum(1 << int(j) for j in np.flatnonzero(row)) for row in adjacency]


def _connected_order(adjacency: NDArray[np.bool_]) -> Ints:
    """The nodes so that each has as many neighbours before it as possible, and then as many neighbours at all."""
    n = len(adjacency)
    degree, before = adjacency.sum(1), np.zeros(n, dtype=np.int64)
    order: list[int] = []
    left = np.ones(n, dtype=bool)
    for _ in range(n):
        best = int(np.where(left, before * (n + 1) + degree, -1).argmax())
        order.append(best)
        left[best] = False
        before += adjacency[best]
    return np.array(order, dtype=np.int64)
