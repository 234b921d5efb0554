"""MOO (GNN-MOExp): Pareto-optimal subgraphs by zeroth-order search (Liu et al. 2021), for graph classifiers.

An explanation is a connected set S of edges of the graph G. Three things are wanted of it at once, y(·) being the class
probabilities that the oracle gives and D(p, q) = KL(p‖q) + KL(q‖p):

    simulatability            -D(y(G), y(S))        the subgraph alone is judged as the whole graph is
    counterfactual relevance   D(y(G), y(G ∖ S))    without it, the graph is judged differently
    size                      |S|                   it is small

Subgraphs grow from every edge: those of the last step, the `width` / 2 most simulatable and as many of the most
relevant ones, each get one more edge that touches them, in every possible way, until they have `most_edges` edges. The
explanations are the Pareto front of all subgraphs that were looked at: those of which no other one is at least as good
in all three and better in one.

As a counterfactual method it answers with the element of the front that changes the class with the fewest edits: by
taking its edges out of G (|S| edits), or by keeping nothing else (|E| - |S| edits). The class is that of the asked
probabilities. An element of the front need not change the class; if none does, that is a failure. Further candidates
are the next elements. `fronts_` has the front of every graph that was explained last, by name. `dominated` is its
quality: the share of all possible values of the three objectives that it dominates (`rsgg.metrics.hypervolume`).
`RandomSubgraphs` is the control: the same search with subgraphs drawn at random in place of the best ones.

The original explains the prediction of a node in its computation graph; its text was not at hand when this was written.
The objectives are those of its abstract and of the port in GRETEL (`rsgg.baselines.released.moo`), the search is ours:

- Relevance is that of taking the whole subgraph out. The port has the gain in simulatability per edge along its path.
- Subgraphs grow from all places at once (a beam), not along one walk from one node.
- Nodes outside of S stay, without edges, since the edits of this method are of pairs.
- Probabilities are those of the oracle's relaxation at binary graphs, each one call, as for MEG. An oracle without one,
  or `answers="classes"`, says 0 and 1. Probabilities below 1e-6 count as that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.metrics import hypervolume
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import numpy_rng

Floats = NDArray[np.float64]
Edges = tuple[int, ...]  # numbers of edges, sorted
LEAST_PROBABILITY = 1e-6
DIGITS = 6  # decimals of objectives: an oracle that rounds differently in a larger batch decides nothing


@dataclass(frozen=True, eq=False)
class Front:
    """Subgraphs of one graph that no other one is better than: their edges, and their objectives [n, 3].

    Columns are simulatability, counterfactual relevance and size; the first two are to be large, the last one small.
    """

    subgraphs: tuple[tuple[tuple[int, int], ...], ...]
    objectives: Floats


@dataclass(eq=False)
class Search:
    """The subgraphs of one graph that were asked about: objectives, and does it flip if they are out, or alone?"""

    edges: NDArray[np.int64]  # [m, 2]
    subgraphs: list[Edges]
    objectives: list[tuple[float, float, float]]
    out_flips: list[bool]
    alone_flips: list[bool]
    unfinished: bool = False

    def front(self) -> NDArray[np.int64]:
        """Positions of the Pareto front."""
        return pareto_front(np.array(self.objectives).reshape(-1, 3) * (1, 1, -1))


@dataclass(kw_only=True)
class MOO(Explainer):
    """The cheapest counterfactual on the Pareto front of connected subgraphs; see the top of the file."""

    width: int = hyper(8, "w", doc="subgraphs of one size that grow on", at_least=2)
    most_edges: int = hyper(8, "|S|", doc="edges of a subgraph at most", at_least=1)
    answers: str = hyper(
        "probabilities", "y", choices=("probabilities", "classes"), doc="what it is told about a graph"
    )

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, permutation_invariant=False, deterministic=True
    )

    @classmethod
    def tiny(cls) -> Self:
        return cls(width=4, most_edges=4)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        relaxed = self.answers == "probabilities" and not oracle.why_not_differentiable()
        self.fronts_: dict[str, Front] = {}
        results = []
        for i, c in enumerate(classes.tolist()):
            n = int(graphs.sizes[i])
            alone = graphs.select(torch.tensor([i])).cropped(n)
            rng = numpy_rng(seed, "moo", graphs.names[i])
            search = self._searched(Asker(alone, c, oracle, i * k, relaxed), rng)
            front = search.front()
            named = tuple(tuple((int(u), int(v)) for u, v in search.edges[list(search.subgraphs[j])]) for j in front)
            self.fronts_[graphs.names[i]] = Front(named, np.array(search.objectives).reshape(-1, 3)[front])
            found = [_as_matrix(search, edit, graphs.n_nodes) for edit in _cheapest(search, front)[:k]]
            reason = BUDGET_USED_UP if search.unfinished else "no further element of the Pareto front changes the class"
            results += [Candidate(matrix) for matrix in found] + [Candidate(None, reason)] * (k - len(found))
        return results

    def _searched(self, asker: Asker, rng: np.random.Generator) -> Search:
        """All subgraphs that a beam search looks at, size by size."""
        search = Search(asker.edges, [], [], [], [])
        touching = _touching(asker.edges)
        level: list[Edges] = [(edge,) for edge in range(len(asker.edges))]
        while level and len(level[0]) <= self.most_edges and not search.unfinished:
            start = len(search.subgraphs)
            asker.look_at(level, search)
            best = self._growing(np.array(search.objectives[start:]).reshape(-1, 3), rng)
            level = _grown([search.subgraphs[start + row] for row in best], touching)
        return search

    def _growing(self, objectives: Floats, rng: np.random.Generator) -> set[int]:
        """Which subgraphs of the last size grow on: the best in the first and those in the second objective."""
        half = max(1, self.width // 2)
        return {int(row) for column in (0, 1) for row in np.argsort(-objectives[:, column], kind="stable")[:half]}


@dataclass(kw_only=True)
class RandomSubgraphs(MOO):
    """MOO whose subgraphs grow on by chance: what the search is worth that looks for the best ones."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=True, permutation_invariant=False)

    def _growing(self, objectives: Floats, rng: np.random.Generator) -> set[int]:
        count = min(self.width, len(objectives))
        return {int(row) for row in rng.choice(len(objectives), count, replace=False)}


@dataclass(eq=False)
class Asker:
    """Questions about subgraphs of one graph, of class c, charged to one owner."""

    graph: GraphBatch  # of one
    c: int
    oracle: CountingOracle
    owner: int
    relaxed: bool

    def __post_init__(self) -> None:
        self.edges = self.graph.edge_mask[0].nonzero().numpy()
        self.whole: Floats | None = None

    def look_at(self, subgraphs: Sequence[Edges], search: Search) -> None:
        """Ask about these subgraphs, alone and taken out, and note what they are worth; as many as can be afforded."""
        left = self.oracle.left(self.owner)
        if self.whole is None and left > 0:
            self.whole = self._probabilities(self.graph.adjacency) if self.relaxed else one_hot(self.c, self.oracle)
            left = self.oracle.left(self.owner)
        affordable = list(subgraphs[: int(min(left, 2 * len(subgraphs))) // 2])
        search.unfinished = len(affordable) < len(subgraphs)
        if not affordable or self.whole is None:
            return
        alone = self._alone(affordable)
        y = self._probabilities(torch.cat((alone, self.graph.adjacency - alone)))
        apart, flips = divergence(self.whole, y), y.argmax(1) != self.c
        count = len(affordable)
        search.subgraphs += affordable
        search.objectives += [
            (-round(float(s), DIGITS), round(float(r), DIGITS), float(len(one)))
            for one, s, r in zip(affordable, apart[:count], apart[count:], strict=True)
        ]
        search.alone_flips += flips[:count].tolist()
        search.out_flips += flips[count:].tolist()

    def _alone(self, subgraphs: Sequence[Edges]) -> Tensor:
        """The graph with the edges of each subgraph only, uint8 [B, n, n]."""
        n = self.graph.n_nodes
        adjacency = np.zeros((len(subgraphs), n, n), dtype=np.uint8)
        row = np.repeat(np.arange(len(subgraphs)), [len(one) for one in subgraphs])
        u, v = self.edges[[edge for one in subgraphs for edge in one]].T
        adjacency[row, u, v] = adjacency[row, v, u] = 1
        return torch.from_numpy(adjacency)

    @torch.no_grad()
    def _probabilities(self, adjacency: Tensor) -> Floats:
        """Class probabilities of the graph with these matrices, float64 [B, classes]."""
        asked = self.graph.candidates(adjacency, torch.zeros(len(adjacency), dtype=torch.long))
        owner = torch.full((len(adjacency),), self.owner)
        if self.relaxed:
            return self.oracle.relaxed_graphs(asked, adjacency.float(), owner).double().numpy()
        return np.eye(self.oracle.n_classes)[self.oracle.predict(asked, owner).numpy()]


def one_hot(c: int, oracle: CountingOracle) -> Floats:
    """The probabilities that a class stands for, [1, classes]."""
    return np.eye(oracle.n_classes)[[c]]


def divergence(p: Floats, q: Floats) -> Floats:
    """D(p, q) = KL(p‖q) + KL(q‖p) = Σ_c (p_c - q_c) log(p_c / q_c), row by row."""
    p, q = np.maximum(p, LEAST_PROBABILITY), np.maximum(q, LEAST_PROBABILITY)
    return np.asarray(((p - q) * np.log(p / q)).sum(1))


def pareto_front(objectives: Floats) -> NDArray[np.int64]:
    """Positions of the rows [n, d], all columns to be large, that no row is better than; the first of equal ones."""
    front: list[int] = []
    order = np.lexsort((np.arange(len(objectives)), *(-column for column in objectives.T[::-1])))
    for i in order.tolist():  # a better row comes earlier
        if not any((objectives[j] >= objectives[i]).all() for j in front):
            front.append(i)
    return np.array(sorted(front), dtype=np.int64)


def _grown(subgraphs: Sequence[Edges], touching: NDArray[np.bool_]) -> list[Edges]:
    """These subgraphs, each with one more edge in every way, sorted."""
    grown = set()
    for own in subgraphs:
        for edge in np.flatnonzero(touching[list(own)].any(0)).tolist():
            if edge not in own:
                grown.add(tuple(sorted((*own, edge))))
    return sorted(grown)


def dominated(front: Front, most_edges: int) -> float:
    """The share of all values of the three objectives that a front dominates, from 0 to 1.

    All values: simulatability from -d to 0, relevance from 0 to d, d being the divergence of two opposite answers, and
    sizes from 1 to `most_edges`. 1 is one edge that is judged as the whole graph is, and without which it is judged the
    opposite.
    """
    answers = np.eye(2)
    d = float(divergence(answers[:1], answers[1:])[0])
    volume = hypervolume(front.objectives * (1, 1, -1), (-d, 0.0, -(most_edges + 1.0)))
    return volume / (d * d * most_edges)


def _touching(edges: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which edges share a node, bool [m, m]."""
    return (edges[:, None, :, None] == edges[None, :, None, :]).any((2, 3))


def _cheapest(search: Search, front: NDArray[np.int64]) -> list[tuple[int, bool]]:
    """Elements of the front that change the class, with whether they are kept (or taken out), fewest edits first."""
    m = len(search.edges)
    ways = []
    for position in front.tolist():
        size, relevance = len(search.subgraphs[position]), search.objectives[position][1]
        if search.out_flips[position]:
            ways.append((size, -relevance, position, False))
        if search.alone_flips[position] and size < m:
            ways.append((m - size, -relevance, position, True))
    return [(position, kept) for _, _, position, kept in sorted(ways)]


def _as_matrix(search: Search, way: tuple[int, bool], padded: int) -> Tensor:
    """The graph that a way makes, uint8 [padded, padded]."""
    position, kept = way
    own = np.isin(np.arange(len(search.edges)), search.subgraphs[position])
    adjacency = np.zeros((padded, padded), dtype=np.uint8)
    u, v = search.edges[own if kept else ~own].T
    adjacency[u, v] = adjacency[v, u] = 1
    return torch.from_numpy(adjacency)
