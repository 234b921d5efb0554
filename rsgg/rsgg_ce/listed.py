"""Orders of edits for large graphs, which are lists of edges (`rsgg.sparse`).

A graph of 5 000 nodes has 12 million missing pairs. Above `every_pair_up_to` nodes a search does not try them all. Each
order has the edges of the graph and missing pairs that are drawn for it, anew and by name:

- 4 n *near* ones: a random edge and a random further neighbour of one of its ends, which are two steps apart;
- 4 n *random* ones: two nodes, uniformly.

Draws that are edges, or that come twice, are left out. Whether a search tries near or random additions first is chance
or, with learned scores, up to the scores. Smaller graphs have all their missing pairs here too, in the orders that
`rsgg.rsgg_ce.ranked` has for matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rsgg.constraints import Among, Constraint
from rsgg.edges import EdgeBatch
from rsgg.edits import NOTHING, Codes
from rsgg.hyperparameters import hyper
from rsgg.rsgg_ce.search import Lengths, Orders, interleaved, log_softmax, merged
from rsgg.rsgg_ce.training import Generator
from rsgg.seeds import numpy_rng, torch_rng
from rsgg.sparse import SparseBatch, SparseGraph, are_among

EVERY_PAIR_UP_TO = 1024  # nodes
DRAWS_PER_NODE = 4  # of near and of random pairs each


def every_pair_field() -> Any:
    """Declare up to how many nodes all missing pairs may be added, and above which graphs are lists of edges."""
    return hyper(
        EVERY_PAIR_UP_TO, "every pair up to", at_least=1,
        doc="nodes up to which every missing pair may be added; to larger graphs near and random pairs are",
    )  # fmt: skip


Scorer = Callable[[int, Codes, bool], np.ndarray]
"""Of graph i, some pairs, and whether these are edges: how much each asks to be edited, float [K]."""


# -- Which pairs may be added ----------------------------------------------------------------------------------------


def missing_pairs(graph: SparseGraph, n: int, every_pair_up_to: int, rng: np.random.Generator) -> Codes:
    """Missing pairs of a graph, coded for the padded size n, rising: all of a small one, else near and random ones."""
    size = graph.n_nodes
    if size <= every_pair_up_to:
        u, v = np.triu_indices(size, 1)
        codes = u * n + v
        return codes[~graph.has(codes, n)]
    count = DRAWS_PER_NODE * size
    random = rng.integers(size, size=(2, count))
    drawn = np.concatenate((_two_steps_apart(graph, count, rng), random), 1)
    low, high = drawn.min(0), drawn.max(0)
    codes = np.sort((low * n + high)[low < high])
    new = np.append(True, codes[1:] != codes[:-1])[: len(codes)]
    return codes[new & ~graph.has(codes, n)]


def _two_steps_apart(graph: SparseGraph, count: int, rng: np.random.Generator) -> Codes:
    """Pairs of neighbours of one node, int64 [2, count]: random edges w–a, and a random neighbour b of w for each."""
    if not graph.n_edges:
        return np.empty((2, 0), dtype=np.int64)
    middle, end = np.concatenate((graph.u, graph.v)), np.concatenate((graph.v, graph.u))
    neighbours, degree = end[np.argsort(middle, kind="stable")], graph.degrees()
    first = np.cumsum(degree) - degree
    edge = rng.integers(len(middle), size=count)
    of = middle[edge]
    other = neighbours[first[of] + (rng.random(count) * degree[of]).astype(np.int64)]
    return np.stack((end[edge], other))


# -- Orders ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ListedPairs:
    """The pairs of large graphs that may be edited, in the orders in which a search tries them."""

    graphs: SparseBatch
    constraints: tuple[Constraint, ...]
    every_pair_up_to: int

    @cached_property
    def mixable(self) -> list[bool]:
        """May edges of a graph be removed and others be added?"""
        sides = (self.sides(i, numpy_rng("mixable", name)) for i, name in enumerate(self.graphs.names))
        return [all(map(len, both)) for both in sides]

    def sides(self, i: int, rng: np.random.Generator, used: Codes = NOTHING) -> tuple[Codes, Codes]:
        """The edges that may be removed and the missing pairs that may be added, without those that are used."""
        graph, n = self.graphs.graphs[i], self.graphs.n_nodes
        missing = missing_pairs(graph, n, self.every_pair_up_to, rng)
        for one in self.constraints:  # pairs that are named are few: none of them may be missed by chance
            if isinstance(one, Among):
                named = np.array([u * n + v for u, v in one.pairs if v < graph.n_nodes], dtype=np.int64)
                missing = np.union1d(missing, np.setdiff1d(named, graph.codes(n)))
        removals, additions = (self._open(graph, side) for side in (graph.codes(n), missing))
        taken = np.sort(used)
        return removals[~are_among(removals, taken)], additions[~are_among(additions, taken)]

    def _open(self, graph: SparseGraph, codes: Codes) -> Codes:
        u, v = np.divmod(codes, self.graphs.n_nodes)
        for one in self.constraints:
            codes, u, v = (part[mask] for mask in [one.editable_pairs(graph, u, v)] for part in (codes, u, v))
        return codes

    def random_orders(
        self, i: int, used: Codes, names: tuple[object, ...], candidate: int, count: int
    ) -> Iterator[Orders]:
        """Random orders of a graph's edits, drawn when they are needed."""
        size, n = self.graphs.graphs[i].n_nodes, self.graphs.n_nodes
        for restart in range(count):
            seed = (*names, self.graphs.names[i], candidate, *([restart] if restart else []))
            rng = numpy_rng(*seed)
            sides = self.sides(i, rng, used)
            if size > self.every_pair_up_to:
                removals, additions = (rng.permutation(side) for side in sides)
            else:
                drawn = torch.randperm(size * (size - 1) // 2, generator=torch_rng(*seed)).numpy()
                removals, additions = (side[np.argsort(drawn[_place(side, size, n)])] for side in sides)
            yield Orders(removals, additions, interleaved(removals, additions))

    def learned(
        self, scores: Tensor | Scorer, lengths: Sequence[Lengths], used: Sequence[Codes], names: tuple[object, ...]
    ) -> list[Orders]:
        """Each side by falling score, equal ones in random order; both merged by how likely they are to be needed."""
        assert not isinstance(scores, Tensor)
        return [self._learned(i, scores, lengths[i], used[i], names) for i in range(len(self.graphs))]

    def _learned(self, i: int, scorer: Scorer, lengths: Lengths, used: Codes, names: tuple[object, ...]) -> Orders:
        rng = numpy_rng(*names, self.graphs.names[i])
        codes, likely = [], []
        for side, mean, is_edge in zip(self.sides(i, rng, used), lengths.mean, (True, False), strict=True):
            score = scorer(i, side, is_edge)
            order = np.lexsort((rng.random(len(side)), -score))
            codes.append(side[order])
            likely.append(np.log(mean) + log_softmax(score[order]))
        return Orders(codes[0], codes[1], merged(codes, likely))


def _place(codes: Codes, size: int, n: int) -> Codes:
    """Which of the pairs u < v of a graph of so many nodes, row by row, each of these is; codes are for size n."""
    u, v = np.divmod(codes, n)
    place: Codes = u * size - u * (u + 1) // 2 + v - u - 1
    return place


# -- Scores ----------------------------------------------------------------------------------------------------------


class PairScores:
    """Â of single pairs of large graphs, from the embeddings Z of their nodes: A_g is never a matrix.

    `generators[i]` is that of the class of graph i, `features` [B, N, F] is what it reads.
    """

    @torch.no_grad()
    def __init__(self, graphs: SparseBatch, features: Tensor, generators: list[Generator]) -> None:
        self.n, self.generators, self.z = graphs.n_nodes, generators, []
        for i, generator in enumerate(generators):
            own = EdgeBatch.of(graphs.select(torch.tensor([i])))
            self.z.append(generator.encoder(features[i : i + 1], own)[0])

    @torch.no_grad()
    def __call__(self, i: int, codes: Codes, is_edge: bool) -> np.ndarray:
        u, v = (torch.from_numpy(part) for part in np.divmod(codes, self.n))
        residual = self.generators[i].of_nodes(self.z[i], u, v, torch.full(u.shape, float(is_edge)))
        scores: np.ndarray = (-residual if is_edge else residual).numpy()
        return scores
