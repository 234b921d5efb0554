"""Search methods: counterfactuals found by asking the oracle about edited or known graphs, with no network trained.

    OBS    Oblivious Bidirectional Search (Abrate & Bonchi 2021): random edits until the class changes, then undo them
    DDBS   Data-Driven Bidirectional Search (same paper): the same, edits drawn by edge frequencies in the training set
    DCE    the closest training graph of another class (Distribution Compliant Explanation); where nodes are not the
           same in all graphs, they are matched
    IRand  random flips of a growing number of node pairs, each time from the input (iRand of the GRETEL framework)
    Exhaustive   every set of one edit, then of two, …: what it finds has the fewest edits that change the class

Bidirectional search. *Forward:* put the edges of G in a random order, then its missing edges in a random order, and
close the list of all P pairs to a circle. The edges of the current graph are an arc of it. An edit removes the first
pair of the arc (probability p₀) or adds the one behind its end; where there is nothing to remove or to add it does the
other. The oracle is asked after every k edits until the class changes, at most L times. *Backward:* the edits D, in
random order, wait in a queue. Undo the first min(k, |queue|) of them and ask: if the class still differs from that of
G, the undo is kept and k grows by one; if not, the edits go to the back of the queue and k shrinks by one; where k was
1, that edit is kept for good. It ends with an empty queue, |D| = 1 or L questions. So |D| never grows, and what is
returned has been shown to the oracle. In DDBS the random orders are draws without replacement with the weights

    w(add e) = b + s(e),   w(remove e) = b + 1 - s(e),   s = (δ - min δ) / (max δ - min δ),
    δ(e) = P(e | another class) - P(e | class of G),

P being the share of training graphs of these (oracle's) classes that have the edge e.

Both are read from the published code as the GRETEL framework carries it (`heuristic/obs.py`, `heuristic/ddbs.py`, "as
implemented by Abrate and Bonchi"), k, L, p₀ and b included. Deviations from it:

1. Both: any other class is a counterfactual (there: two classes); a search that finds none is a failure with a reason
   (there: OBS returns the input).
2. OBS: none besides. The circle above is its two queues, in which a pair that was flipped goes behind all others of
   its new side. So a pair is touched again only when its side is used up. That matters: with no second touch at all,
   OBS finds 28 % of the cyclic graphs of Tree-Cycles instead of 93 %, because there are few edges to remove and every
   addition may close a cycle. A question whose answer is known, such as the input after all edits were undone, is
   asked and charged, as there.
3. DDBS: P(e | class) instead of counts of graphs, so that unequal classes do not weigh; all other classes are pooled.
4. DDBS, forward: the circle of OBS, in weighted order. There no pair is touched in two questions; but pairs are drawn
   with replacement for one question, in both directions, the diagonal included, so that self loops can appear.
5. DDBS, backward: the queue of OBS, in weighted order. There each question draws afresh with replacement, with a coin
   between restoring and removing; a failure at k = 1 gives up the first edit of the list instead of the one that was
   tried; and edits that were given up are tried again after each success.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, islice
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rsgg.counterfactual import BUDGET_USED_UP, Candidate, candidates_of
from rsgg.edits import Codes, applied, recoded
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch, resized
from rsgg.hyperparameters import hyper
from rsgg.matching import edits_to, labelled, match, reachable
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import streams, uniforms

BACKWARD_OFFSET = 1 << 40  # where, in a row's stream of random numbers, those of the backward phase begin
COIN_OFFSET = 1 << 41  # and those that decide whether a forward edit removes or adds
BLOCK_CELLS = 1 << 23  # adjacency cells in one block of speculative questions: bounds the memory
QUESTIONS_IN_FIRST_BLOCK = 4  # of the forward phase
SMALLEST_WEIGHT = 1e-12  # of a pair whose weight is 0: it comes last


# -- Bidirectional search --------------------------------------------------------------------------------


@dataclass(kw_only=True)
class OBS(Explainer):
    """Oblivious Bidirectional Search: nothing is known about the data."""

    forward_edits: int = hyper(5, "k forward", at_least=1, doc="edits between two questions of the forward phase")
    backward_edits: int = hyper(
        5, "k backward", at_least=1, doc="edits undone at a time when the backward phase begins"
    )
    questions: int = hyper(2000, "L", at_least=1, doc="the most questions that each phase may ask")
    removals: float = hyper(0.5, "p₀", at_least=0, at_most=1, doc="the probability that a forward edit removes an edge")

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True, constraints=True)

    def _weights(self, adjacency: np.ndarray, classes: Tensor) -> np.ndarray:
        """How readily each pair is flipped, float [R, N, N], in graphs that are to leave (or have left) `classes`."""
        return np.ones(adjacency.shape)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        instance = torch.arange(len(graphs)).repeat_interleave(k)
        rows, classes = graphs.select(instance), classes[instance]
        seeds = streams(graphs.names, k, seed, "bidirectional search")
        first = self._forward(rows, classes, oracle, seeds)
        closest = self._backward(rows, classes, oracle, seeds, first)
        return _results(closest, len(rows), oracle, "no random edits changed the class")

    def _forward(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seeds: np.ndarray
    ) -> dict[int, np.ndarray]:
        """The first counterfactual of each row that has one. Asked in blocks, charged up to the first flip."""
        adjacency, pairs = graphs.adjacency.numpy(), graphs.pair_mask.numpy()
        keys = _race(pairs, self._weights(adjacency, classes), seeds, 0)
        place, circle, edges = _places(pairs, adjacency, keys), pairs.sum((1, 2)), graphs.n_edges.numpy()
        found: dict[int, np.ndarray] = {}
        arc, open_ = edges.copy(), circle > 0
        asked, block = 0, QUESTIONS_IN_FIRST_BLOCK
        while asked < self.questions and open_.any():
            rows = open_.nonzero()[0]
            block = max(1, min(block, self.questions - asked, BLOCK_CELLS // (len(rows) * place[0].size)))
            length = self._walk(arc[rows], circle[rows], seeds[rows], asked, block)
            arc[rows] = length[:, -1]
            edits = self.forward_edits * np.arange(asked + 1, asked + block + 1)
            removed = (edits - length + edges[rows, None]) // 2  # removed + added = edits, added - removed = growth
            owner = np.repeat(rows, block)
            graph = _arcs(place[owner], circle[owner], removed.ravel(), length.ravel())
            for i in _first_flips(graphs, classes, oracle, graph, owner):
                found[int(owner[i])] = graph[i].copy()
            open_[list(found)] = False
            open_ &= ~_exhausted(oracle, len(open_))
            asked, block = asked + block, 2 * block
        return found

    def _walk(self, arc: np.ndarray, circle: np.ndarray, seeds: np.ndarray, asked: int, block: int) -> np.ndarray:
        """Edges after each of the next `block` questions, int [R, block]: a coin per edit says remove or add."""
        k, length = self.forward_edits, np.empty((len(arc), block), dtype=np.int64)
        remove = uniforms(seeds, COIN_OFFSET + asked * k, block * k) < self.removals
        for edit in range(block * k):
            arc = arc + np.where((remove[:, edit] & (arc > 0)) | (arc == circle), -1, 1)
            length[:, edit // k] = arc
        return length

    def _backward(
        self,
        graphs: GraphBatch,
        classes: Tensor,
        oracle: CountingOracle,
        seeds: np.ndarray,
        first: dict[int, np.ndarray],
    ) -> dict[int, np.ndarray]:
        """Undo edits while the class stays changed; all rows in lock step, one batch per question."""
        if not first:
            return {}
        rows = np.array(sorted(first))
        adjacency, pairs = graphs.adjacency.numpy()[rows], graphs.pair_mask.numpy()[rows]
        current = np.stack([first[row] for row in rows.tolist()])
        keys = _race(pairs, self._weights(current, classes[rows]), seeds[rows], BACKWARD_OFFSET)
        queues = [deque(_in_order(keys[i], pairs[i] & (current[i] != adjacency[i]))) for i in range(len(rows))]
        distance, step = [len(queue) for queue in queues], [self.backward_edits] * len(rows)
        for _ in range(self.questions):
            open_ = [
                i for i, row in enumerate(rows.tolist()) if queues[i] and distance[i] > 1 and not oracle.exhausted(row)
            ]
            if not open_:
                break
            undone = [[queues[i].popleft() for _ in range(min(step[i], len(queues[i])))] for i in open_]
            graph = _with_flips(current[open_], undone)
            owner = torch.from_numpy(rows[open_])
            answers = oracle.predict(graphs.candidates(torch.from_numpy(graph), owner), owner)
            for position, (i, kept) in enumerate(zip(open_, (answers != classes[owner]).tolist(), strict=True)):
                if kept:
                    current[i] = graph[position]
                    distance[i] -= len(undone[position])
                    step[i] += 1
                elif step[i] > 1:
                    queues[i].extend(undone[position])
                    step[i] -= 1
        return dict(zip(rows.tolist(), current, strict=True))


@dataclass(kw_only=True)
class DDBS(OBS):
    """Data-Driven Bidirectional Search: edges that other classes have more often are added sooner and removed later.

    Nodes are compared by their number. Where the data say nothing, it is OBS, random numbers included.
    """

    forward_edits: int = hyper(10, "k forward", at_least=1, doc="edits between two questions of the forward phase")
    ignorance: float = hyper(
        1.0, "b", at_least=0, doc="weight of every pair whatever the data say; 1 in the published code"
    )

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, permutation_invariant=False, targets=True, constraints=True
    )

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        own = [_frequency(graphs.select(classes == c)) for c in range(oracle.n_classes)]
        others = [_frequency(graphs.select(classes != c)) for c in range(oracle.n_classes)]
        # A pair that one side has no graph large enough for is not compared.
        self.difference_ = (torch.stack(others) - torch.stack(own)).nan_to_num(0.0)

    def _weights(self, adjacency: np.ndarray, classes: Tensor) -> np.ndarray:
        low, high = (end(self.difference_, (1, 2), keepdim=True) for end in (torch.amin, torch.amax))
        difference = resized(self.difference_, adjacency.shape[1])
        scaled = torch.where(high > low, (difference - low) / (high - low), 0.5)[classes].numpy()
        return self.ignorance + np.where(adjacency > 0, 1 - scaled, scaled)

    def _state(self) -> dict[str, Tensor]:
        return {"difference": self.difference_}

    def _restore(self, state: dict[str, Tensor]) -> None:
        self.difference_ = state["difference"]


def _frequency(graphs: GraphBatch) -> Tensor:
    """P(edge), float64 [N, N], among the graphs that have both nodes; NaN where none has."""
    both = graphs.node_mask[:, :, None] & graphs.node_mask[:, None, :]
    return (graphs.adjacency > 0).sum(0).double() / both.sum(0).double()


def _race(pairs: np.ndarray, weight: np.ndarray, seeds: np.ndarray, start: int) -> np.ndarray:
    """A key per pair, float64 [R, N, N]: in ascending order, they are draws without replacement with these weights.

    An exponential race: of waiting times with rates w, each next to end is the one of pair e with probability
    w(e) / Σ w. A graph's pairs read its numbers in their own order, whatever the padding; other cells are infinite.
    """
    counts = pairs.sum((1, 2))
    drawn = uniforms(seeds, start, int(counts.max()))[np.arange(counts.max()) < counts[:, None]]
    keys = np.full(pairs.shape, np.inf)
    keys[pairs] = -np.log1p(-drawn) / np.maximum(weight[pairs], SMALLEST_WEIGHT)
    return keys


def _places(pairs: np.ndarray, adjacency: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Places 0, 1, … of the pairs on the circle, edges before missing edges, int32 [R, N, N]; others are far off it."""
    rows, n, _ = pairs.shape
    side = np.where(pairs, adjacency == 0, 2).reshape(rows, -1)
    order = np.lexsort((keys.reshape(rows, -1), side), axis=1)
    place = np.empty((rows, n * n), dtype=np.int32)
    np.put_along_axis(place, order, np.arange(n * n, dtype=np.int32)[None], axis=1)
    place = np.where(pairs, place.reshape(pairs.shape), np.int32(4 * n * n))
    return np.minimum(place, place.transpose(0, 2, 1))


def _arcs(place: np.ndarray, circle: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray:
    """The graphs whose edges are the `length` pairs from `start` on around the circle, uint8 [Q, N, N]."""
    start, size, end = (x.astype(np.int32)[:, None, None] for x in (start % circle, circle, length))
    offset = place - start
    np.add(offset, size, out=offset, where=offset < 0)
    return (offset < end).view(np.uint8)


def _in_order(keys: np.ndarray, pairs: np.ndarray) -> list[tuple[int, int]]:
    """These pairs by ascending key."""
    u, v = pairs.nonzero()
    order = keys[u, v].argsort(kind="stable")
    return list(zip(u[order].tolist(), v[order].tolist(), strict=True))


def _with_flips(adjacency: np.ndarray, flips: list[list[tuple[int, int]]]) -> np.ndarray:
    """Graphs with the pairs flipped that are listed for each, no pair twice; the input is left alone."""
    row = np.repeat(np.arange(len(flips)), [len(pairs) for pairs in flips])
    u, v = np.array([pair for pairs in flips for pair in pairs]).T
    flipped = adjacency.copy()
    flipped[row, u, v] ^= 1
    flipped[row, v, u] ^= 1
    return flipped


# -- iRand -----------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class IRand(Explainer):
    """iRand: random flips of more and more pairs. For i = 1, 2, …, max(1, ⌊p·P⌋), with P the number of node pairs, up
    to t times: draw i pairs uniformly *with replacement*, flip each of them once in the input, ask; the first flip of
    the class wins. The number of edits at level i is that of occupied cells when i balls fall into P cells:
    P (1 - (1 - 1/P)^i) on average.

    Deviation from the GRETEL framework: there the list of pairs holds both (u, v) and (v, u), so that i runs up to
    ⌊2pP⌋ - 1, twice as far, and a pair drawn in both directions stays as it is.
    """

    share: float = hyper(0.1, "p", at_least=0, doc="the largest number of draws, as a share of all pairs")
    tries: int = hyper(3, "t", at_least=1, doc="tries with each number of draws")

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True, constraints=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        instance = torch.arange(len(graphs)).repeat_interleave(k)
        rows, classes = graphs.select(instance), classes[instance]
        seeds, pairs = streams(graphs.names, k, seed, "irand"), rows.pair_mask.numpy().sum((1, 2))
        levels = np.where(pairs > 0, np.maximum(1, (self.share * pairs).astype(np.int64)), 0)
        found: dict[int, np.ndarray] = {}
        for level in range(1, int(levels.max()) + 1):
            open_ = (levels >= level) & ~_exhausted(oracle, len(rows))
            open_[list(found)] = False
            if not open_.any():
                break
            owner = np.repeat(open_.nonzero()[0], self.tries)
            graph = _flipped_at_random(rows, owner, self._draws(seeds[open_], pairs[open_], level))
            for i in _first_flips(rows, classes, oracle, graph, owner):
                found[int(owner[i])] = graph[i].copy()
        return _results(found, len(rows), oracle, "no random flips changed the class")

    def _draws(self, seeds: np.ndarray, pairs: np.ndarray, level: int) -> np.ndarray:
        """The numbers of the pairs that are drawn in each try of a level, int [R·tries, level]."""
        before = self.tries * (level - 1) * level // 2  # numbers that the levels before this one have read
        drawn = uniforms(seeds, before, self.tries * level) * pairs[:, None]
        return drawn.astype(np.int64).reshape(-1, level)


def _flipped_at_random(graphs: GraphBatch, owner: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """The owners' graphs with the pairs of these numbers flipped, each once however often it was drawn."""
    graph = graphs.adjacency.numpy()[owner]
    u, v = _pair(drawn)
    row = np.arange(len(graph))[:, None]
    flipped = 1 - graph[row, u, v]  # read before anything is written: a second draw writes the same again
    graph[row, u, v] = graph[row, v, u] = flipped
    return graph


def _pair(number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pair u < v of this number in the order (0,1), (0,2), (1,2), (0,3), …: the first n(n-1)/2 are those of n nodes."""
    v = ((1 + np.sqrt(1 + 8 * number)) / 2).astype(np.int64)  # exact: whole squares have exact roots in float64
    return number - v * (v - 1) // 2, v


# -- DCE -------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class DCE(Explainer):
    """The closest training graph of another class; further candidates are the next closest.

    With `nodes="numbered"`, node i of one graph is node i of the other. Only training graphs with as many nodes are
    compared, by the pairs that differ, and the answer depends on how nodes are numbered.

    With `nodes="matched"`, nodes of different graphs are not the same things. Every training graph of another class is
    matched with the input (`rsgg.matching`: by labels, neighbours and shared edges), and the one whose matching takes
    the fewest edits is returned, as edits of the input: pairs, and where nodes have labels (X is one-hot) labels that
    change, leaves that are added and nodes that are dropped. All of them count in the GED, as in
    `rsgg.metrics.ged_with_nodes`; as the matching is a good one and not the best, that GED is an upper bound of the
    true distance. What is returned is the training graph itself, up to how nodes are numbered and edge features, which
    are those of the input: by construction it is as plausible as a real graph. Training graphs that edits cannot say
    are passed over: those with too many nodes that are no leaves, and, where nodes have no labels, all with another
    number of nodes; features are then those of the input. An input for which no training graph is left is a failure.

    "auto" is "numbered" where all training graphs have equally many nodes, else "matched". The classes of the training
    graphs are known from fitting; the answer is still checked with one call, since features may be the input's.
    """

    nodes: str = hyper(
        "auto", "nodes", choices=("auto", "numbered", "matched"), doc="how nodes of two graphs are compared"
    )

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, permutation_invariant=False, deterministic=True
    )

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        self.known_ = GraphBatch(graphs.adjacency, graphs.sizes, graphs.features, ("",) * len(graphs))
        self.classes_ = classes
        self.numbered_ = graphs.of_one_size if self.nodes == "auto" else self.nodes == "numbered"

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        nearest = self._by_number if self.numbered_ else self._by_matching
        offered: dict[int, Codes] = {}
        results: list[Candidate] = []
        for i, (edits, no_more) in enumerate(nearest(graphs, classes, k)):
            for j in range(k):
                results.append(Candidate(None, BUDGET_USED_UP if j < len(edits) else no_more))
                if j < len(edits) and not oracle.exhausted(i * k + j):
                    offered[i * k + j] = edits[j]
        if offered:
            owner = torch.tensor(list(offered))
            asked = applied(graphs, owner // k, list(offered.values()))
            flips = oracle.predict(asked, owner) != classes[owner // k]
            made = candidates_of(graphs, (owner // k).tolist(), list(offered.values()))
            for i, candidate, flip in zip(offered, made, flips.tolist(), strict=True):
                results[i] = candidate if flip else Candidate(None, "the candidate does not change the class")
        return results

    def _by_number(self, graphs: GraphBatch, classes: Tensor, k: int) -> Iterator[tuple[list[Codes], str]]:
        """For each graph the edits to the k nearest, coded for the padded size, and why there are no more of them."""
        known = self.known_.adjacency
        fits = (graphs.sizes[:, None] == self.known_.sizes) & (classes[:, None] != self.classes_)
        nearest = numbered_distances(graphs.adjacency, known).masked_fill(~fits, torch.inf).argsort(dim=1, stable=True)
        for i, (n, count) in enumerate(zip(graphs.sizes.tolist(), fits.sum(1).tolist(), strict=True)):
            others = resized(known[nearest[i, : min(k, count)]], graphs.n_nodes)
            edits = [torch.triu(other != graphs.adjacency[i]).flatten().nonzero()[:, 0].numpy() for other in others]
            yield edits, f"only {count} training graphs of another class have {n} nodes"

    def _by_matching(self, graphs: GraphBatch, classes: Tensor, k: int) -> Iterator[tuple[list[Codes], str]]:
        """As `_by_number`, with nodes that are matched."""
        known = labelled(self.known_)
        for graph, c in zip(labelled(graphs), classes.tolist(), strict=True):
            others = [known[j] for j in (self.classes_ != c).nonzero().flatten().tolist() if reachable(graph, known[j])]
            found = [match(graph, other) for other in others]
            nearest = np.argsort([cost for _, cost in found], kind="stable")[:k].tolist()
            edits = [edits_to(graph, others[j], found[j][0]) for j in nearest]
            reason = f"only {len(others)} training graphs of another class can be made of it by edits"
            yield [recoded(codes, len(graph.labels), graphs.n_nodes) for codes in edits], reason

    def _state(self) -> dict[str, Tensor]:
        features = {} if self.known_.features is None else {"features": self.known_.features}
        known = {"adjacency": self.known_.adjacency, "sizes": self.known_.sizes, "classes": self.classes_, **features}
        return {**known, "numbered": torch.tensor(self.numbered_)}

    def _restore(self, state: dict[str, Tensor]) -> None:
        nameless = ("",) * len(state["sizes"])
        self.known_ = GraphBatch(state["adjacency"], state["sizes"], state.get("features"), nameless)
        self.classes_, self.numbered_ = state["classes"], bool(state["numbered"])


def numbered_distances(graphs: Tensor, others: Tensor) -> Tensor:
    """GED between all graphs and all others, node i of one being node i of the other, from adjacency matrices.

    float32 [B, T] (exact: whole numbers), as |a| + |b| - 2 a·b.
    """
    n = max(graphs.shape[1], others.shape[1])
    a, b = (resized(adjacency, n).flatten(1).float() for adjacency in (graphs, others))
    return (a.sum(1)[:, None] + b.sum(1) - 2 * a @ b.T) / 2


# -- Exhaustive search -----------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Exhaustive(Explainer):
    """Asks about every set of one edit, then of two, … up to `most`; each set is a set of node pairs that are flipped.

    What it finds has the fewest edits there are, and where it finds nothing there are none of so few: a measure of
    other methods, for small graphs. A graph of n nodes has P = n (n - 1) / 2 sets of one edit and P (P - 1) / 2 of two.
    Which of the smallest sets is found is drawn by the seed: pairs come in random order.
    """

    most: int = hyper(2, "|S|", at_least=1, doc="the most edits of a set")

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True, constraints=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        instance = torch.arange(len(graphs)).repeat_interleave(k)
        rows, classes = graphs.select(instance), classes[instance]
        keys = _race(rows.pair_mask.numpy(), np.ones(rows.adjacency.shape), streams(graphs.names, k, seed, "sets"), 0)
        pairs = [_in_order(keys[row], rows.pair_mask[row].numpy()) for row in range(len(rows))]
        found: dict[int, np.ndarray] = {}
        for size in range(1, self.most + 1):
            sets = {row: combinations(own, size) for row, own in enumerate(pairs) if row not in found}
            while sets:
                block = max(1, BLOCK_CELLS // (len(sets) * rows.n_nodes**2))
                flips = {row: list(islice(own, block)) for row, own in sets.items()}
                sets = {row: own for row, own in sets.items() if flips[row] and not oracle.exhausted(row)}
                if not sets:
                    break
                owner = np.repeat(list(sets), [len(flips[row]) for row in sets])
                graph = _with_flips(rows.adjacency.numpy()[owner], [list(one) for row in sets for one in flips[row]])
                for i in _first_flips(rows, classes, oracle, graph, owner):
                    found[int(owner[i])] = graph[i].copy()
                sets = {row: own for row, own in sets.items() if row not in found}
        return _results(found, len(rows), oracle, f"no set of at most {self.most} edits changes the class")


# -- What the searches share -----------------------------------------------------------------------------


def _first_flips(
    graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, graph: np.ndarray, owner: np.ndarray
) -> list[int]:
    """Positions of the graphs that are their owner's first counterfactual; owners are rows, in ascending order."""
    rows = torch.from_numpy(owner)
    first = oracle.first_flip(graphs.candidates(torch.from_numpy(graph), rows), rows, classes[rows])
    positions: list[int] = first.nonzero().flatten().tolist()
    return positions


def _exhausted(oracle: CountingOracle, rows: int) -> np.ndarray:
    return np.array([oracle.exhausted(row) for row in range(rows)], dtype=bool)


def _results(found: dict[int, np.ndarray], rows: int, oracle: CountingOracle, nothing: str) -> list[Candidate]:
    """What was found for each row, or why nothing was."""
    return [
        Candidate(torch.from_numpy(found[row]))
        if row in found
        else Candidate(None, BUDGET_USED_UP if oracle.exhausted(row) else nothing)
        for row in range(rows)
    ]
