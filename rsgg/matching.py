"""From a graph to another one whose nodes are other nodes: which node becomes which, and the edits that it takes.

A matching sends every node of a graph either to a node of the other one, which no second node is sent to, or to
nothing: then it is dropped. Nodes of the other graph that nothing is sent to are added. What a matching costs is the
graph edit distance of `rsgg.metrics.ged_with_nodes`,

    edges that only one of the two graphs has  +  labels that differ  +  nodes that are dropped or added.

The cheapest matching is NP-hard to find. `match` finds a good one in two steps:

1. Each pair of nodes has a price that only looks at their labels and at those of their neighbours, and an assignment
   problem is solved (Riesen & Bunke 2009).
2. Two nodes exchange what they are sent to, always those that lower the cost the most, until no exchange does.

Only what `rsgg.edits` can say is a matching: a node can be added only as a leaf of a node that was there. So another
graph can be reached if it has at most as many nodes, or if enough of the nodes that it has too many are leaves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from rsgg.edits import ADD_LEAF, DROP, RELABEL, Codes, drops, node_codes
from rsgg.graph import GraphBatch
from rsgg.plausibility import node_labels

Matrix = NDArray[np.float64]
STARTS, RADIUS = 4, 8  # of `match_nearby`: from how many pairs it grows, and how far neighbourhoods are compared
IMPOSSIBLE = 1e6  # price of what cannot be said as edits: more than any two graphs are apart


@dataclass(frozen=True, eq=False)
class Labelled:
    """A graph as matching sees it: binary `adjacency` [n, n] and a whole number per node, `labels` int64 [n].

    `fixed`: nodes without labels, which edits can neither add nor drop. They are matched all the same.
    """

    adjacency: NDArray[np.uint8]
    labels: Codes
    fixed: bool = False

    @property
    def addable(self) -> NDArray[np.bool_]:
        """Which nodes can be added as leaves, bool [n]: leaves, but of two that are joined only the second."""
        if self.fixed:
            return np.zeros(len(self.labels), dtype=bool)
        leaf, only = self.adjacency.sum(1) == 1, self.adjacency.argmax(1)
        return leaf & (~leaf[only] | (only < np.arange(len(leaf))))


def labelled(graphs: GraphBatch) -> list[Labelled]:
    """The graphs of a batch as matching sees them; one in which a node has no label is fixed, its nodes all alike."""
    labels = node_labels(graphs)
    matrices = (graphs.adjacency.cpu().numpy() > 0).astype(np.uint8)
    seen = []
    for i, n in enumerate(graphs.sizes.tolist()):
        fixed = bool((labels[i, :n] == 0).any())
        seen.append(Labelled(matrices[i, :n, :n], 0 * labels[i, :n] if fixed else labels[i, :n] - 1, fixed))
    return seen


def reachable(graph: Labelled, other: Labelled) -> bool:
    """Can edits make the other graph of this one?"""
    too_many = len(other.labels) - len(graph.labels)
    if graph.fixed or other.fixed:
        return graph.fixed == other.fixed and too_many == 0
    return too_many <= int(other.addable.sum())


def match(graph: Labelled, other: Labelled) -> tuple[Codes, int]:
    """A cheap matching, int64 [n], the node of the other graph that each node becomes, -1 if dropped; and its cost.

    The other graph must be `reachable`.
    """
    return _matched(graph, other, _edge_prices(graph, other))


def match_nearby(graph: Labelled, other: Labelled) -> tuple[Codes, int]:
    """As `match`, and never more expensive, for graphs that differ in a few places, as a molecule and a changed one do.

    Far from these places nodes are alike: they have the same neighbourhoods (Weisfeiler-Lehman labels) up to a large
    radius. From a few pairs of nodes that are most alike, a matching grows along edges, from matched nodes to the most
    similar of their neighbours, and what is left is assigned as in `match`. The cheapest of these matchings is taken.
    """
    prices, alike = _edge_prices(graph, other), _alike(graph, other)
    best = _matched(graph, other, prices)
    n, m = alike.shape
    by_node = alike.max(1)
    for i in np.argsort(-by_node, kind="stable")[: max(1, STARTS)].tolist():
        grown = _grown(graph.adjacency, other.adjacency, alike, (i, int(alike[i].argmax())))
        wanted = prices.copy()
        for u, v in grown.items():
            wanted[u, v] -= n + m  # more than the neighbours of two nodes cost in a sparse graph
        found = _matched(graph, other, wanted)
        best = min(best, found, key=lambda one: one[1])
    return best


def _alike(graph: Labelled, other: Labelled) -> Matrix:
    """Up to which radius two nodes have the same neighbourhood, [n, m]; 0 if not even their labels agree."""
    n = len(graph.labels)
    adjacency = np.zeros((n + len(other.labels),) * 2, dtype=np.int64)
    adjacency[:n, :n], adjacency[n:, n:] = graph.adjacency, other.adjacency
    colours = np.unique(np.concatenate((graph.labels, other.labels)), return_inverse=True)[1]
    alike = np.zeros((n, len(other.labels)))
    for _ in range(RADIUS + 1):
        alike += colours[:n, None] == colours[n:]
        around = adjacency @ np.eye(colours.max() + 1, dtype=np.int64)[colours]
        colours = np.unique(np.column_stack((colours, around)), axis=0, return_inverse=True)[1].ravel()
    return alike


def _grown(a: NDArray[np.uint8], b: NDArray[np.uint8], alike: Matrix, start: tuple[int, int]) -> dict[int, int]:
    """A matching of some nodes: one pair to start with, then always the neighbours of matched nodes that fit best.

    They fit better the more edges to matched nodes they share, then the more alike they are.
    """
    sent, taken = {start[0]: start[1]}, {start[1]}
    near = np.zeros(alike.shape, dtype=np.int64)  # edges to matched nodes that two nodes share
    far = np.zeros(alike.shape, dtype=np.int64)  # those that only one of them has
    u, v = start
    while True:
        near += np.outer(a[u], b[v])
        far += a[u][:, None] != b[v]
        score = (near - far) * (RADIUS + 2) + alike
        score[near == 0] = -np.inf
        score[list(sent)] = -np.inf
        score[:, list(taken)] = -np.inf
        u, v = (int(i) for i in np.unravel_index(score.argmax(), score.shape))
        if score[u, v] < 0:
            return sent
        sent[u] = v
        taken.add(v)


def _matched(graph: Labelled, other: Labelled, prices: Matrix) -> tuple[Codes, int]:
    """The assignment by these prices of edges, improved by exchanges, and its cost."""
    nodes, (a, b) = _node_prices(graph, other), _same_size(graph.adjacency, other.adjacency)
    sent = _exchanged(nodes, a, b, linear_sum_assignment(nodes + prices)[1])
    cost = nodes[np.arange(len(sent)), sent].sum() + np.abs(a - b[np.ix_(sent, sent)]).sum() / 2
    sent = sent[: len(graph.labels)]
    return np.where(sent < len(other.labels), sent, -1), round(cost)


def _exchanged(nodes: Matrix, a: Matrix, b: Matrix, sent: Codes) -> Codes:
    """The matching after all exchanges of two nodes that lower its cost; `b` is the other graph, in its own order."""
    sent, b = sent.copy(), b[np.ix_(sent, sent)]
    while True:
        # If i and j exchange, their edges to each k but i and j change places: the sum over k, for all i and j at once.
        shared = a @ b
        now = shared.diagonal()
        more_shared = shared + shared.T - now[:, None] - now + 2 * a * b
        price = nodes[:, sent]
        paid = price.diagonal()
        saved = 2 * more_shared - (price + price.T - paid[:, None] - paid)
        i, j = np.unravel_index(saved.argmax(), saved.shape)
        if saved[i, j] <= 0:
            return sent
        sent[[i, j]] = sent[[j, i]]
        b[[i, j]] = b[[j, i]]
        b[:, [i, j]] = b[:, [j, i]]


def edits_to(graph: Labelled, other: Labelled, sent: Codes) -> Codes:
    """The edits that make the other graph of this one by a matching, coded for this graph's number of nodes.

    The new graph has the nodes that stay in their old order, then the added leaves (`rsgg.edits`).
    """
    n, kept = len(sent), sent >= 0
    staying, places = kept.nonzero()[0], sent[kept]
    after = graph.adjacency.copy()
    after[np.ix_(staying, staying)] = other.adjacency[np.ix_(places, places)]
    _cut_off(after, set(np.flatnonzero(~kept).tolist()))
    u, v = np.triu(after != graph.adjacency).nonzero()
    labels = other.labels[places]
    renamed = labels != graph.labels[staying]
    new = np.setdiff1d(np.arange(len(other.labels)), places)
    stem = np.searchsorted(places, other.adjacency[new].argmax(1), sorter=(order := np.argsort(places)))
    return np.concatenate(
        (
            u * n + v,
            node_codes(RELABEL, staying[renamed], labels[renamed], n),
            node_codes(ADD_LEAF, staying[order[stem]], other.labels[new], n),
            node_codes(DROP, np.flatnonzero(~kept), 0, n),
        )
    )


def _cut_off(adjacency: NDArray[np.uint8], dropped: set[int]) -> None:
    """Remove the edges that keep nodes from being dropped; those of leaves go with their nodes."""
    gone = set(drops(adjacency, dropped))
    others = np.array([v for v in range(len(adjacency)) if v not in gone], dtype=np.int64)
    for v in dropped - gone:
        adjacency[v, others] = adjacency[others, v] = 0


def _node_prices(graph: Labelled, other: Labelled) -> Matrix:
    """What it costs to send each node, or nothing, to each node, or to nothing, [n + m, m + n]; edges do not count."""
    n, m = len(graph.labels), len(other.labels)
    price = np.zeros((n + m, m + n))
    price[:n, :m] = graph.labels[:, None] != other.labels
    price[:n, m:] = IMPOSSIBLE if graph.fixed else 1
    price[n:, :m] = np.where(other.addable, 1, IMPOSSIBLE)
    return price


def _edge_prices(graph: Labelled, other: Labelled) -> Matrix:
    """Half of the edges that two nodes do not share at best, by the labels of their neighbours, [n + m, m + n]."""
    n, m = len(graph.labels), len(other.labels)
    width = 1 + int(max(graph.labels.max(), other.labels.max()))
    around = np.zeros((2, n + m, width))  # how many neighbours of each label; of nothing, none
    for side, one in zip(around, (graph, other), strict=True):
        side[: len(one.labels)] = one.adjacency @ np.eye(width)[one.labels]
    return cdist(*around, "cityblock") / 2


def _same_size(adjacency: NDArray[np.uint8], other: NDArray[np.uint8]) -> tuple[Matrix, Matrix]:
    """Both matrices with nodes that are nothing behind their own, [n + m, n + m]."""
    n, m = len(adjacency), len(other)
    return np.pad(adjacency.astype(float), (0, m)), np.pad(other.astype(float), (0, n))
