"""GCFExplainer (Kosan, Huang et al., WSDM 2023): a few graphs of the wanted class that are close to many inputs.

Graphs that differ by one edit are neighbours in an *edit map*. A walk that starts at the inputs goes through this map,
and the graphs of the wanted class that it visits most often are the candidates, of which a summary is then chosen
greedily (`rsgg.global_explainer`). From G it goes on to the neighbour v with a probability

    p(G, v) ∝ I(v) N(v),     I(v) = p_φ(v) (α · coverage({v}) + (1 - α) · gain(v; S)),

N(v) being 1 and how often it has visited v before, if v is of the wanted class (*vertex reinforcement*), p_φ(v) the
oracle's probability of that class, and S the n most visited graphs of that class so far, n being the number of inputs.
coverage is the share of inputs within θ of v, gain the share of those that no graph of S covers. At each step the walk
returns with probability τ to an input: to G in proportion to exp(-how many graphs of S cover G) (*dynamic teleport*).

Edits: an edge comes or goes, a node gets another label, a leaf with a label comes, a leaf goes. A leaf is one edit of
the map and costs 2 in the distance. As in the paper all graphs of the map are connected: an edge goes only if its end
points stay connected (`connected`). All neighbours of a graph are asked about at once, and what was answered is kept.

The distance during the walk: the paper predicts it by a network (NeuroSED). Here an input counts as covered only if an
edit path within θ is in hand, so that coverage is never overstated. The current graph is matched with the inputs that a
lower bound leaves possible (`rsgg.edit_distance.matched`); by the same matchings every neighbour, one edit away, has an
edit path too, whose cost is known without matching it (`changes`). One path per pair shows less than there is: in
random graphs of five nodes about half of the pairs of a neighbour and a graph that are within θ.

Deviations from the paper, and what it leaves open:

1. Distances are bounds of the exact one instead of predictions, in the walk and in the summary.
2. `steps` is 1000 by default and not 50 000, and at most `neighbours` (500) of the neighbours of a graph are looked at,
   drawn at random, where the paper's faster variant has 10 000: what two cores do in minutes.
3. If no neighbour covers any input, p_φ alone decides, as in the published code: Eq. 3 would be 0 everywhere.
4. Graphs are the same if colour refinement (Weisfeiler-Lehman, four rounds) cannot tell them apart.
5. N(v) is 1 for a graph that has not been visited, as in the published code; Algorithm 1 does not say.
6. α was chosen by the authors from {0, ½, 1} for each data set, on the graphs that are reported: so are the rows here.
7. Edge labels are not read: an oracle that reads them cannot be explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from torch import Tensor

from rsgg.edit_distance import NOTHING, Ints, LabelledGraphs, counts, largest_within, matched
from rsgg.errors import FitError
from rsgg.global_explainer import Floats, GlobalExplainer
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import Choice, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.plausibility import one_hot_nodes
from rsgg.seeds import numpy_rng

FLIP, RELABEL, ADD_LEAF, DROP_LEAF = range(4)  # kinds of edits
GROWTH = np.array([0, 0, 2, -2])  # of nodes and edges by an edit of a kind; FLIP adds or removes one
MOST_CHANGE = 2  # by which an edit changes the distance
ROUNDS = 4  # of colour refinement
AT_ONCE = 256  # neighbours that the oracle is shown in a batch: bounds the memory


@dataclass(kw_only=True)
class GCFExplainer(GlobalExplainer):
    """GCFExplainer for graphs whose nodes have labels (one-hot features) or none."""

    steps: int = hyper(1000, "M", paper=50_000, at_least=1, doc="steps of the walk")
    alpha: float = hyper(
        0.5, "α", space=Choice((0.0, 0.5, 1.0)), at_least=0, at_most=1, doc="weight of coverage against its gain"
    )
    theta: float = hyper(0.05, "θ", paper=0.05, at_least=0, at_most=1, doc="distance within which inputs are covered")
    teleport: float = hyper(0.1, "τ", paper=0.1, at_least=0, at_most=1, doc="probability to return to an input")
    neighbours: int = hyper(500, "S", paper=10_000, at_least=1, doc="neighbours that are looked at in a step")
    connected: bool = hyper(True, "G", paper=True, doc="edges go only if the graph stays connected")
    reinforced: bool = hyper(True, "N(v)", paper=True, doc="graphs that were visited are visited more often")
    weighted: bool = hyper(True, "I(v)", paper=True, doc="neighbours are chosen by their importance")
    dynamic: bool = hyper(True, "p_τ", paper=True, doc="the walk returns to inputs that are not covered")
    told: str = hyper(
        "probabilities", "p_φ", paper="probabilities", choices=("probabilities", "classes"),
        doc="what the oracle says of a graph",
    )  # fmt: skip

    @classmethod
    def tiny(cls) -> GCFExplainer:
        return cls(steps=20, neighbours=100)

    def _propose(
        self, inputs: GraphBatch, examples: GraphBatch, target: int, oracle: CountingOracle, seed: int
    ) -> Sequence[Graph]:
        if inputs.features is not None and not one_hot_nodes(inputs)[inputs.node_mask.numpy()].all():
            raise FitError("GCFExplainer edits node labels; give graphs whose features are one-hot labels, or none.")
        reason = oracle.why_not_differentiable() if self.told == "probabilities" else ""
        if reason:
            raise FitError(f"GCFExplainer is told probabilities, but {reason}; use GCFExplainer(told='classes').")
        return _Walk(self, inputs, target, oracle, numpy_rng(seed, "gcfexplainer", "walk")).candidates()


# -- Graphs and their neighbours -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Node:
    """A graph of the edit map: `adjacency` bool [n, n], `labels` int64 [n] from 1 on (0 where there are none)."""

    adjacency: NDArray[np.bool_]
    labels: Ints

    @property
    def listed(self) -> LabelledGraphs:
        return LabelledGraphs(self.adjacency[None], self.labels[None])


@dataclass(frozen=True, eq=False)
class Edits:
    """K edits of one graph: of each its `kind`, the node `u`, and the other node, the new label, or its neighbour."""

    kind: Ints
    u: Ints
    other: Ints

    def __len__(self) -> int:
        return len(self.kind)

    def select(self, index: Ints) -> Edits:
        return Edits(self.kind[index], self.u[index], self.other[index])


def all_edits(node: Node, n_labels: int, *, connected: bool = True) -> Edits:
    """Every edit of a graph, by kind; without labels (`n_labels` 0) leaves have none either."""
    n, nodes = len(node.labels), np.arange(len(node.labels))
    u, v = np.triu_indices(n, 1)
    if connected:
        bridges = nx.bridges(nx.from_numpy_array(node.adjacency)) if n > 1 else ()
        kept = np.ones((n, n), dtype=bool)
        for end, other in bridges:
            kept[end, other] = kept[other, end] = False
        u, v = u[kept[u, v]], v[kept[u, v]]
    labels = np.arange(1, n_labels + 1) if n_labels else np.zeros(1, dtype=np.int64)
    at, label = (grid.ravel() for grid in np.meshgrid(nodes, labels, indexing="ij"))
    renamed = label != node.labels[at]
    leaves = np.flatnonzero(node.adjacency.sum(1) == 1)
    parts = [
        (FLIP, u, v),
        (RELABEL, at[renamed], label[renamed]),
        (ADD_LEAF, at, label),
        (DROP_LEAF, leaves, node.adjacency[leaves].argmax(1)),
    ]
    kind = np.concatenate([np.full(len(one), number) for number, one, _ in parts])
    return Edits(kind, np.concatenate([one for _, one, _ in parts]), np.concatenate([one for *_, one in parts]))


def made(node: Node, edits: Edits) -> LabelledGraphs:
    """The neighbours that the edits make. Where a leaf goes, the last node takes its place."""
    n, count, rows = len(node.labels), len(edits), np.arange(len(edits))
    adjacency = np.zeros((count, n + 1, n + 1), dtype=bool)
    adjacency[:, :n, :n] = node.adjacency
    labels = np.full((count, n + 1), NOTHING)
    labels[:, :n] = node.labels
    for kind, changed in ((FLIP, edits.other), (ADD_LEAF, np.full(count, n))):
        own = edits.kind == kind
        row, u, v = rows[own], edits.u[own], changed[own]
        adjacency[row, u, v] = adjacency[row, v, u] = ~adjacency[row, u, v]
    own = edits.kind == RELABEL
    labels[rows[own], edits.u[own]] = edits.other[own]
    own = edits.kind == ADD_LEAF
    labels[own, n] = edits.other[own]
    for row in rows[edits.kind == DROP_LEAF]:
        order = np.arange(n + 1)
        order[[edits.u[row], n - 1]] = n - 1, n  # the leaf is gone, and the last node stands where it was
        order[n] = n
        adjacency[row], labels[row] = adjacency[row][np.ix_(order, order)], labels[row][order]
        adjacency[row, n - 1 :], adjacency[row, :, n - 1 :], labels[row, n - 1 :] = False, False, NOTHING
    return LabelledGraphs(adjacency, labels)


def identities(graphs: LabelledGraphs) -> NDArray[np.uint64]:
    """A number for each graph that colour refinement gives, uint64 [B]: the same however its nodes are numbered."""
    count, n = graphs.labels.shape
    graph, u, v = np.nonzero(graphs.adjacency)
    there = graphs.labels != NOTHING
    colour = _mixed(graphs.labels.astype(np.uint64) + np.uint64(7))
    ends, starts = np.unique(graph * n + u, return_index=True)
    for _ in range(ROUNDS):
        around = np.zeros(count * n, dtype=np.uint64)
        if len(starts):
            around[ends] = np.add.reduceat(_mixed(colour + np.uint64(1))[graph, v], starts)
        colour = _mixed(colour * np.uint64(3) + around.reshape(count, n))
    return _mixed(np.where(there, colour, np.uint64(0)).sum(1, dtype=np.uint64))


def _mixed(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SplitMix64's bijection of 64-bit numbers, so that sums of colours tell different multisets apart."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


# -- Which inputs a neighbour covers --------------------------------------------------------------------------


class Covering:
    """Which inputs lie within θ of the neighbours of a graph, as far as edit paths show it."""

    def __init__(self, inputs: LabelledGraphs, n_labels: int, theta: float) -> None:
        self.inputs, self.theta, self.n_labels = inputs, theta, n_labels + 1
        self.most_degree = int(inputs.degrees.max(initial=0))
        self.vectors = counts(inputs, self.n_labels, self.most_degree)

    def near(self, node: Node) -> Ints:
        """The inputs that a neighbour of this graph may cover, by `lower_by_counts` and what an edit can change."""
        graph = node.listed
        bound = cdist(counts(graph, self.n_labels, self.most_degree), self.vectors, "cityblock")[0] / 2
        within = largest_within(self.theta, graph.elements + MOST_CHANGE, self.inputs.elements)
        return np.flatnonzero(bound <= within + MOST_CHANGE)

    def covered(self, node: Node, edits: Edits) -> csr_array:
        """Which inputs each neighbour covers, [edits, inputs]."""
        near = self.near(node)
        if not len(near):
            return csr_array((len(edits), len(self.inputs)), dtype=np.float64)
        size = max(len(node.labels) + 1, int(self.inputs.n_nodes[near].max()))
        graph = node.listed.padded(size)
        found = matched(graph.select([0] * len(near)), self.inputs.select(near).padded(size))
        cost = found.cost + changes(node, edits, found.other)
        elements = node.listed.elements + np.where(edits.kind == FLIP, _flipped(node, edits), GROWTH[edits.kind])
        limits = largest_within(self.theta, elements[:, None], self.inputs.elements[near])
        row, column = np.nonzero(cost <= limits)
        return csr_array((np.ones(len(row)), (row, near[column])), shape=(len(edits), len(self.inputs)))


def _flipped(node: Node, edits: Edits) -> Ints:
    """1 where the edit adds an edge, -1 where it removes one; without meaning for other kinds."""
    n = len(node.labels)
    return np.where(node.adjacency[edits.u % n, edits.other % n], -1, 1)


def changes(node: Node, edits: Edits, others: LabelledGraphs) -> Ints:
    """By how much each edit of a graph changes the cost of its edit path to each other graph, int64 [edits, others].

    `others` stand in the places of the nodes that become theirs, with at least one place more than the graph has nodes.
    Where a leaf comes, it becomes the node of the other graph for which that is cheapest.
    """
    change = np.zeros((len(edits), len(others)), dtype=np.int64)
    labels, edges, n = others.labels.T, others.adjacency.transpose(1, 2, 0).astype(np.int64), len(node.labels)
    own = edits.kind == FLIP
    u, v = edits.u[own], edits.other[own]
    change[own] = np.where(node.adjacency[u, v][:, None] == edges[u, v], 1, -1)
    own = edits.kind == RELABEL
    u, label = edits.u[own], edits.other[own]
    before = (node.labels[:, None] != labels[:n]).astype(np.int64)
    change[own] = (label[:, None] != labels[u]) - before[u]
    own = edits.kind == DROP_LEAF
    u, stem = edits.u[own], edits.other[own]
    change[own] = (labels[u] != NOTHING) - before[u] + 2 * edges[u, stem] - 1
    own = edits.kind == ADD_LEAF
    u, label = edits.u[own], edits.other[own]
    cheapest = np.full((len(u), len(others)), 2)  # the leaf is dropped again: a node and an edge
    for place in range(n, len(labels)):
        becomes = (label[:, None] != labels[place]) - 2 * edges[u, place]
        cheapest = np.where(labels[place] == NOTHING, cheapest, np.minimum(cheapest, becomes))
    change[own] = cheapest
    return change


# -- The walk --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Transitions:
    """What is known of the neighbours of a graph: the edits that make them, who they are, p_φ, what they cover."""

    edits: Edits
    identity: NDArray[np.uint64]
    probability: Floats
    wanted: NDArray[np.bool_]
    covered: csr_array


@dataclass(eq=False)
class _Walk:
    """A vertex-reinforced random walk, and the graphs of the wanted class that it has visited."""

    of: GCFExplainer
    inputs: GraphBatch
    target: int
    oracle: CountingOracle
    rng: np.random.Generator
    visited: list[Node] = field(default_factory=list)
    visits: list[int] = field(default_factory=list)
    covers: list[NDArray[np.bool_]] = field(default_factory=list)  # by graph that was visited, the inputs

    def __post_init__(self) -> None:
        self.n_labels = 0 if self.inputs.features is None else self.inputs.features.shape[2]
        self.labelled = LabelledGraphs.of(self.inputs)
        self.covering = Covering(self.labelled, self.n_labels, self.of.theta)
        self.number: dict[int, int] = {}  # of the graphs that were visited, by identity
        self.known: dict[int, Transitions] = {}
        self.times_covered = np.zeros(len(self.inputs), dtype=np.int64)  # by the graphs of S

    def candidates(self) -> list[Graph]:
        """Walk, and return the most visited graphs of the wanted class, at most as many as there are inputs."""
        current = self._an_input()
        for _ in range(self.of.steps):
            transitions = None if self.rng.random() < self.of.teleport else self._transitions(current)
            if transitions is None:
                if self.oracle.left(0) < 1:
                    break
                current = self._an_input()
            else:
                current = self._next(current, transitions)
        return [_graph(self.visited[i], self.n_labels) for i in self._most_visited()]

    def _most_visited(self) -> list[int]:
        """The graphs S, the most visited first; of equals, those that were visited first."""
        order = np.argsort(-np.array(self.visits, dtype=np.int64), kind="stable")
        chosen: list[int] = order[: len(self.inputs)].tolist()
        return chosen

    def _an_input(self) -> Node:
        rarely = np.exp(-(self.times_covered - self.times_covered.min()).astype(np.float64))
        weights = rarely if self.of.dynamic else np.ones(len(self.inputs))
        i = int(self.rng.choice(len(self.inputs), p=weights / weights.sum()))
        n = int(self.labelled.n_nodes[i])
        return Node(self.labelled.adjacency[i, :n, :n], self.labelled.labels[i, :n])

    def _transitions(self, node: Node) -> Transitions | None:
        """What there is to know of the neighbours of a graph; None if the budget is too small to ask."""
        identity = int(identities(node.listed)[0])
        if identity not in self.known:
            edits = all_edits(node, self.n_labels, connected=self.of.connected)
            if len(edits) > self.of.neighbours:
                drawn = self.rng.choice(len(edits), self.of.neighbours, replace=False)
                edits = edits.select(np.sort(drawn))
            if not len(edits) or self.oracle.left(0) < len(edits):
                return None
            graphs = made(node, edits)
            probability, wanted = self._asked(graphs)
            covered = self.covering.covered(node, edits)
            self.known[identity] = Transitions(edits, identities(graphs), probability, wanted, covered)
        return self.known[identity]

    def _asked(self, graphs: LabelledGraphs) -> tuple[Floats, NDArray[np.bool_]]:
        """The oracle's probability of the wanted class, and whether it is the class, of each graph."""
        answers = [self._asked_block(graphs.select(rows)) for rows in _split(len(graphs))]
        probability, wanted = (torch.cat(part).numpy() for part in zip(*answers, strict=True))
        return probability, wanted

    def _asked_block(self, graphs: LabelledGraphs) -> tuple[Tensor, Tensor]:
        batch, owner = _batch(graphs, self.n_labels), torch.zeros(len(graphs), dtype=torch.long)
        if self.of.told == "classes":
            wanted = self.oracle.predict(batch, owner) == self.target
            return wanted.double(), wanted
        p = self.oracle.probabilities(batch, owner).detach().double()
        return p[:, self.target], p.argmax(1) == self.target

    def _next(self, node: Node, transitions: Transitions) -> Node:
        """The neighbour that the walk goes on to; one of the wanted class is entered into the list."""
        weights = self._importance(transitions) * self._reinforcement(transitions)
        total = weights.sum()
        chances = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
        i = int(self.rng.choice(len(chances), p=chances))
        graph = made(node, transitions.edits.select(np.array([i])))
        n = int(graph.n_nodes[0])
        reached = Node(graph.adjacency[0, :n, :n], graph.labels[0, :n])
        if transitions.wanted[i]:
            self._visit(reached, int(transitions.identity[i]), transitions.covered[[i]].toarray()[0] > 0)
        return reached

    def _importance(self, transitions: Transitions) -> Floats:
        """I(v) of each neighbour."""
        if not self.of.weighted:
            return np.ones(len(transitions.edits))
        n, alpha = len(self.inputs), self.of.alpha
        alone = transitions.covered.sum(1) / n
        gain = transitions.covered @ (self.times_covered == 0).astype(np.float64) / n
        quality = alpha * alone + (1 - alpha) * gain
        return np.asarray(transitions.probability * (quality if quality.any() else 1.0))

    def _reinforcement(self, transitions: Transitions) -> Floats:
        """N(v) of each neighbour."""
        if not self.of.reinforced:
            return np.ones(len(transitions.edits))
        numbers = [self.number.get(identity) for identity in transitions.identity.tolist()]
        return np.array([1.0 if i is None else 1.0 + self.visits[i] for i in numbers])

    def _visit(self, node: Node, identity: int, covered: NDArray[np.bool_]) -> None:
        if identity not in self.number:
            self.number[identity] = len(self.visited)
            self.visited.append(node)
            self.visits.append(0)
            self.covers.append(covered)
        self.visits[self.number[identity]] += 1
        self.times_covered = np.sum([self.covers[i] for i in self._most_visited()], axis=0, dtype=np.int64)


def _split(count: int) -> list[Ints]:
    """Places of graphs, in batches that the oracle is shown."""
    return [np.arange(start, min(start + AT_ONCE, count)) for start in range(0, count, AT_ONCE)]


def _batch(graphs: LabelledGraphs, n_labels: int) -> GraphBatch:
    """The graphs as an oracle reads them."""
    size = int(graphs.n_nodes.max())
    fitted = graphs.padded(size)
    features = None
    if n_labels:
        features = torch.from_numpy((fitted.labels[:, :, None] == np.arange(1, n_labels + 1)).astype(np.float32))
    adjacency, sizes = torch.from_numpy(fitted.adjacency.astype(np.uint8)), torch.from_numpy(fitted.n_nodes)
    return GraphBatch(adjacency, sizes, features, ("",) * len(graphs))


def _graph(node: Node, n_labels: int) -> Graph:
    features = None if not n_labels else np.eye(n_labels, dtype=np.float32)[node.labels - 1]
    return Graph(node.adjacency.astype(np.uint8), features)
