"""RSGG-CE with a ranked search (beyond the paper): the pairs in the order of their scores instead of sampled coins.

The scores of A_g are good; sampling a coin for every pair wastes them. `RankedSearch` visits the pairs of a graph in
the order of their scores, as two guarded groups of a partial order, existing edges and missing pairs, and returns the
shortest prefix that changes the class (`rsgg.rsgg_ce.search`). With `certify` every edit of a result was shown to be
needed. Where neither side alone changes the class both are merged, by how likely each edit is to be needed; then random
orders are tried, the first of them the one that the search without learning (`TwoSided`) takes, so that whatever it
finds is found here too; then prefixes of both sides are combined in many sizes, of the learned and of random orders.

With `node_edits` nodes are edited too, as a third guarded side (`rsgg.rsgg_ce.node_edits`): they get other labels, and
leaves are added and dropped. What training graphs needed says how far to go on each side, and the shortest sets are
asked about first, whatever their side. On training graphs of AIDS, with its published GCN, that finds smaller
counterfactuals with fewer questions than edits of nodes that are tried only where edits of pairs have failed; on those
of Mutagenicity it does so than edits of pairs alone, which never fail there.

`RankedRSGGCE` ranks by the scores of `RSGGCE`, whatever its generator: trained, untrained or none. A few training
graphs per class, `calibration`, are explained once, to see which side to try first and how far.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain, islice
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rsgg.constraints import Constraint, Rules, editable
from rsgg.counterfactual import BUDGET_USED_UP, Candidate, candidates_of
from rsgg.edits import NOTHING, Codes, of_pairs
from rsgg.errors import FitError, GraphError
from rsgg.explainer import Capabilities
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.minimise import random_order
from rsgg.oracles.counting import CountingOracle
from rsgg.rsgg_ce.explainer import RSGGCE, EdgeScorer, in_blocks
from rsgg.rsgg_ce.listed import EVERY_PAIR_UP_TO, ListedPairs, PairScores, Scorer
from rsgg.rsgg_ce.node_edits import NodeEdits, cost, learnt_rates, possible, seen_labels
from rsgg.rsgg_ce.search import (
    UNKNOWN,
    Found,
    Lengths,
    Orders,
    feasible,
    in_lock_step,
    interleaved,
    log_softmax,
    merged,
    ranked,
)
from rsgg.seeds import numpy_rng, streams, uniforms, uniforms_at
from rsgg.sparse import SparseBatch

SORTED_UP_TO = 100  # nodes: all pairs of smaller graphs are sorted at once, of larger ones those that are tried
SORTED_AT_FIRST = 1024  # pairs of a side of a larger graph
MOST_NODE_EDITS = 128  # of an order: more of them would leave little of a graph
NO_FLIP = "no prefix of the learned order, nor of a random one, changed the class"


@dataclass(kw_only=True)
class RankedSearch(EdgeScorer):
    """Explains by a ranked search; how the scores are learnt is up to subclasses, which set `lengths_` in `_fit`.

    Graphs of the classes `unlearnt_` are searched along random orders only.
    """

    certify: bool = hyper(False, "certify", doc="show of every edit that it is needed")
    restarts: int = hyper(1, "restarts", at_least=0, doc="random orders that are tried if the learned one fails")
    mixtures: int = hyper(
        200, "mixtures", at_least=0, doc="sets of removals and additions that are tried if no order flips"
    )
    swaps: int = hyper(
        0, "swaps", at_least=0, doc="most questions about sets with an edit fewer: another pair instead of two edits"
    )

    node_edits: bool = hyper(
        False, "node edits", doc="also relabel nodes, add and drop leaves; needs one-hot features (rsgg.edits)"
    )

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, targets=True, constraints=True
    )
    unlearnt_: ClassVar[tuple[int, ...]] = ()  # set on the instance by `fit`

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        def searched(rows: Tensor, first_owner: int) -> list[Candidate]:
            part, own = graphs.select(rows), classes[rows]
            lengths = [self.lengths_[c] for c in own.tolist()]
            found = search(
                part, own, oracle, self.search_scores(part, own), lengths, seed=seed, k=k, first_owner=first_owner,
                certify=self.certify, restarts=self.restarts, mixtures=self.mixtures, constraints=oracle.constraints,
                nodes=self._node_edits(part, own, oracle), every_pair_up_to=self._lists_above() or EVERY_PAIR_UP_TO,
                unlearnt=[i for i, c in enumerate(own.tolist()) if c in self.unlearnt_], swaps=self.swaps,
            )  # fmt: skip
            return candidates(found, part, k, oracle, first_owner)

        return in_blocks(graphs, k, searched)

    def search_scores(self, graphs: GraphBatch, classes: Tensor) -> Tensor | Scorer:
        """`edit_scores`; for graphs that are lists a function that gives those of single pairs."""
        if not isinstance(graphs, SparseBatch):
            return self.edit_scores(graphs, classes)
        self._require_known_nodes(graphs)
        return PairScores(graphs, self._features(graphs), [self.generators_[c] for c in classes.tolist()])

    def _start_nodes(self, graphs: GraphBatch, n_classes: int) -> None:
        """Remember which labels the training graphs have; nothing is known of edits of nodes yet."""
        try:
            self.seen_labels_ = seen_labels(graphs)
        except GraphError as error:  # a method that these graphs are not for has not failed
            raise FitError(str(error)) from error
        self.node_rates_ = np.zeros((n_classes, 3, len(self.seen_labels_), len(self.seen_labels_)))

    def _learn_nodes(
        self, graphs: GraphBatch, classes: Tensor, pairs: Sequence[Found], oracle: CountingOracle, seed: int,
        parts: Sequence[Tensor],
    ) -> None:  # fmt: skip
        """Search training graphs again, part by part, with edits of nodes only, and learn which are needed.

        `pairs` is what edits of pairs have found. What costs less says which side to try first and how far.
        """
        found: dict[int, Found] = {}
        for number, rows in enumerate(parts):
            own, of = graphs.select(rows), classes[rows]
            scores, lengths = None, [UNKNOWN] * len(self.node_rates_)
            if number:  # something is learnt already
                known = torch.tensor(list(found))
                scores = self.edit_scores(own, of)
                lengths = lengths_by_class(graphs.select(known), classes[known], list(found.values()), len(lengths))
            searched = search(
                own, of, CountingOracle(oracle), scores, [lengths[c] for c in of.tolist()], seed=seed,
                certify=number > 0, mixtures=self.mixtures, constraints=oracle.constraints,
                nodes=self._node_edits(own, of, oracle), nodes_only=True,
            )  # fmt: skip
            found |= dict(zip(rows.tolist(), searched, strict=True))
            self._learn_rates(graphs, classes, found)
        cheaper = [cheapest(one, found[row], graphs.n_nodes) for row, one in enumerate(pairs)]
        self.lengths_ = lengths_by_class(graphs, classes, cheaper, len(self.node_rates_))

    def _learn_rates(self, graphs: GraphBatch, classes: Tensor, found: dict[int, Found]) -> None:
        """How likely edits of nodes are, from what graphs (by row) needed."""
        for c in range(len(self.node_rates_)):
            edits = {row: one.edits for row, one in found.items() if one.edits is not None and classes[row] == c}
            if edits:
                part = graphs.select(torch.tensor(list(edits)))
                self.node_rates_[c] = learnt_rates(part, list(edits.values()), self.seen_labels_)

    def _node_edits(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle) -> list[NodeEdits] | None:
        """The edits of nodes that may be tried on each graph, None where nodes are not edited."""
        if not self.node_edits:
            return None
        rates = [self.node_rates_[c] for c in classes.tolist()]
        return possible(graphs, self.seen_labels_, rates, oracle.constraints)

    def _state(self) -> dict[str, Tensor]:
        kept = {
            f"lengths.{c}.{part.name}": torch.from_numpy(getattr(lengths, part.name))
            for c, lengths in enumerate(self.lengths_)
            for part in fields(Lengths)
            if self.node_edits or part.name != "nodes"
        }
        if self.node_edits:
            kept |= {
                "nodes.seen": torch.from_numpy(self.seen_labels_),
                "nodes.rates": torch.from_numpy(self.node_rates_),
            }
        return super()._state() | kept

    def _restore(self, state: dict[str, Tensor]) -> None:
        own = ("lengths.", "nodes.")
        super()._restore({name: tensor for name, tensor in state.items() if not name.startswith(own)})
        known = [part.name for part in fields(Lengths) if self.node_edits or part.name != "nodes"]
        self.lengths_ = [
            Lengths(**{name: state[f"lengths.{c}.{name}"].numpy() for name in known})
            for c in range(len(self.generators_))
        ]
        if self.node_edits:
            self.seen_labels_, self.node_rates_ = state["nodes.seen"].numpy(), state["nodes.rates"].numpy()


@dataclass(kw_only=True)
class RankedRSGGCE(RankedSearch, RSGGCE):
    """`RSGGCE` with a ranked search instead of Algorithm 1's sampling."""

    calibration: int = hyper(20, "calibration", at_least=0, doc="training graphs per class that are explained once")

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        if self.node_edits:
            self._start_nodes(graphs, oracle.n_classes)
        super()._fit(graphs, classes, oracle, seed)
        first = torch.cat([(classes == c).nonzero().flatten()[: self.calibration] for c in range(oracle.n_classes)])
        part, own = graphs.select(first), classes[first]
        scores = self.edit_scores(part, own)
        found = search(part, own, CountingOracle(oracle), scores, [UNKNOWN] * len(part), seed=seed, restarts=0)
        self.lengths_ = lengths_by_class(part, own, found, oracle.n_classes)
        if self.node_edits:
            self._learn_nodes(part, own, found, oracle, seed, [torch.arange(len(part))])


# -- Searching a batch -----------------------------------------------------------------------------------------------


def search(
    graphs: GraphBatch,
    classes: Tensor,
    oracle: CountingOracle,
    scores: Tensor | Scorer | None,
    lengths: Sequence[Lengths],
    *,
    seed: int,
    k: int = 1,
    first_owner: int = 0,
    certify: bool = False,
    restarts: int = 1,
    mixtures: int = 0,
    constraints: tuple[Constraint, ...] = (),
    nodes: Sequence[NodeEdits] | None = None,
    nodes_only: bool = False,
    every_pair_up_to: int = EVERY_PAIR_UP_TO,
    unlearnt: Collection[int] = (),
    swaps: int = 0,
) -> list[Found]:
    """`k` searches per graph, one after the other so that a further one edits other pairs; row i·k + j as elsewhere.

    `scores` say how much a pair asks to be edited, [B, N, N], or for graphs that are lists a function (None: nothing is
    learnt); pairs of equal score come in random order. `restarts` random orders follow, then `mixtures` sets of edits
    of both sides. Questions of row r are charged to owner `first_owner` + r. No graph that breaks a constraint is asked
    about. `nodes` are the edits of nodes that are tried too, and `mixtures` groups of them; with `nodes_only` no pairs
    are. To lists of more than `every_pair_up_to` nodes some of the missing pairs are added, drawn for each order
    (`rsgg.rsgg_ce.listed`). Of the graphs `unlearnt` the scores mean nothing: they have random orders only.
    `swaps` questions at most are about fewer edits than the learned order has found.
    """
    pairs: MatrixPairs | ListedPairs
    if isinstance(graphs, SparseBatch):
        pairs = ListedPairs(graphs, constraints, every_pair_up_to)
    else:
        pairs = MatrixPairs(graphs, constraints, nodes, nodes_only)
    rules = [Rules(graph, graphs.n_nodes, constraints) for graph in graphs] if constraints else []
    found = [Found() for _ in range(len(graphs) * k)]
    used: list[Codes] = [NOTHING] * len(graphs)
    for j in range(k):
        names = (seed, "ranked", j)
        learned = None if scores is None else pairs.learned(scores, lengths, used, names)
        rows = [i * k + j for i in range(len(graphs))]
        searches = []
        for i, row in enumerate(rows):
            own = None if learned is None or i in unlearnt else learned[i]
            draw = partial(pairs.random_orders, i, used[i], (seed, "two-sided"), j)
            random, further = draw(restarts), draw(mixtures)
            if rules:
                follow = partial(_Followed, rules=rules[i])
                own, random, further = own and follow(own), map(follow, random), map(follow, further)
            of_orders = further if own is None else chain((own,), further)
            sets = _mixtures(of_orders, mixtures, mixtures if pairs.mixable[i] else 0, graphs.n_nodes)
            searching = ranked(own, random, lengths[i], found[row], certify=certify, mixtures=sets, swaps=swaps)
            searches.append(feasible(searching, rules[i].allow) if rules else searching)
        owners = [first_owner + row for row in rows]
        in_lock_step(searches, graphs, range(len(graphs)), owners, oracle, lambda answers, own: answers != classes[own])
        used = [np.append(before, _edits(found[row])) for before, row in zip(used, rows, strict=True)]
    return found


class MatrixPairs:
    """The edits of graphs that are matrices, in the orders in which a search tries them; `ListedPairs` is for lists.

    `nodes` are the edits of nodes that are tried too, None for none; with `nodes_only` no pairs are. `mixable`: have
    both sides of a graph edits that may be made?
    """

    def __init__(
        self,
        graphs: GraphBatch,
        constraints: tuple[Constraint, ...],
        nodes: Sequence[NodeEdits] | None = None,
        nodes_only: bool = False,
    ) -> None:
        self.graphs, self.nodes, self.allowed = graphs, nodes, editable(graphs, constraints)
        if nodes_only:
            self.allowed = torch.zeros_like(self.allowed)
        sides = (self.allowed & graphs.edge_mask, self.allowed & ~graphs.edge_mask)
        self.mixable: list[bool] = torch.stack([side.flatten(1).any(1) for side in sides]).all(0).tolist()

    def learned(
        self, scores: Tensor | Scorer, lengths: Sequence[Lengths], used: Sequence[Codes], names: tuple[object, ...]
    ) -> list[Orders]:
        assert isinstance(scores, Tensor)
        return orders(self.graphs, scores, self.allowed, lengths, used, names, self.nodes)

    def random_orders(
        self, i: int, used: Codes, names: tuple[object, ...], candidate: int, count: int
    ) -> Iterator[Orders]:
        nodes = NOTHING if self.nodes is None else self.nodes[i].codes
        return random_orders(self.graphs, i, self.allowed, used, names, candidate, count, nodes)


def cheapest(pairs: Found, nodes: Found, n: int) -> Found:
    """Of what edits of pairs and edits of nodes have found, what costs less; pairs if both cost the same."""
    if nodes.edits is None:
        return pairs
    return nodes if pairs.edits is None or cost(nodes.edits, n) < cost(pairs.edits, n) else pairs


class _Followed(Orders):
    """Another one's orders without the edits that break a rule; each is looked through when it is first needed."""

    order: Orders
    rules: Rules

    def __init__(self, order: Orders, rules: Rules) -> None:
        self.__dict__.update(order=order, rules=rules)

    def __getattr__(self, part: str) -> Codes:
        if part not in ("removals", "additions", "mixed", "nodes"):
            raise AttributeError(part)
        followed: Codes = self.rules.followed(getattr(self.order, part)[:])
        self.__dict__[part] = followed
        return followed


def _mixtures(of_orders: Iterable[Orders], groups: int, corners: int, n: int) -> Iterator[Codes]:
    """Sets of edits: at most so many groups of edits of nodes, and so many of removals and additions together.

    Groups are of the first order; removals and additions of the first order, then of the next.
    """
    remaining = iter(of_orders)
    for first in islice(remaining, 1):
        yield from islice(first.groups(n), groups)
        yield from islice((edits for order in chain((first,), remaining) for edits in order.corners()), corners)


def _edits(found: Found) -> Codes:
    return NOTHING if found.edits is None else found.edits


def candidates(
    found: Sequence[Found], graphs: GraphBatch, k: int, oracle: CountingOracle, first_owner: int
) -> list[Candidate]:
    """What the searches found, as the facade wants it."""
    flipped = [row for row, one in enumerate(found) if one.edits is not None]
    made = candidates_of(graphs, [row // k for row in flipped], [_edits(found[row]) for row in flipped])
    of_row = dict(zip(flipped, made, strict=True))
    return [
        replace(of_row[row], irreducible=one.irreducible, certificate_calls=one.certificate_calls)
        if row in of_row
        else Candidate(None, BUDGET_USED_UP if oracle.exhausted(first_owner + row) else NO_FLIP)
        for row, one in enumerate(found)
    ]


def orders(
    graphs: GraphBatch,
    scores: Tensor,
    allowed: Tensor,
    lengths: Sequence[Lengths],
    used: Sequence[Codes],
    names: tuple[object, ...],
    nodes: Sequence[NodeEdits] | None = None,
) -> list[Orders]:
    """Each graph's allowed pairs by falling score, equal ones in random order, without those that are used already.

    Both sides are merged by how likely a pair is to be among the needed ones: its share of its side, softmax of the
    scores, times the number of edits of this side that training graphs needed.
    """
    n = graphs.n_nodes
    if n > SORTED_UP_TO:
        ranked_nodes = [
            None if nodes is None else _ranked_nodes(nodes[row], used[row], (*names, name))
            for row, name in enumerate(graphs.names)
        ]
        seeds = streams(graphs.names, 1, *names)
        return [
            _SortedWhenNeeded(graphs, row, scores[row], allowed[row], lengths[row], used[row], seeds[row], own)
            for row, own in enumerate(ranked_nodes)
        ]
    u, v = np.triu_indices(n, 1)
    is_edge, may_edit = graphs.adjacency.numpy()[:, u, v] > 0, allowed.numpy()[:, u, v]
    chance = uniforms(streams(graphs.names, 1, *names), 0, len(u))
    score = scores.numpy()[:, u, v]
    ranking = np.lexsort((chance, -score), axis=1)
    codes = u * n + v
    made = []
    for row, order in enumerate(ranking):
        order = order[may_edit[row, order] & ~np.isin(codes[order], used[row])]
        present = is_edge[row, order]
        sides, likely = [], []
        for side, mean in zip((present, ~present), lengths[row].mean, strict=True):
            sides.append(codes[order[side]])
            likely.append(np.log(mean) + log_softmax(score[row, order[side]]))
        if nodes is not None:
            own, score_of = _ranked_nodes(nodes[row], used[row], (*names, graphs.names[row]))
            sides.append(own)
            likely.append(score_of)
        made.append(Orders(sides[0], sides[1], merged(sides, likely), *sides[2:]))
    return made


class _SortedWhenNeeded(Orders):
    """`orders` of one large graph, the same: each side is sorted as far as it is tried, both are merged if that is."""

    def __init__(
        self, graphs: GraphBatch, row: int, scores: Tensor, allowed: Tensor, lengths: Lengths, used: Codes,
        seed: np.ndarray, nodes: tuple[Codes, np.ndarray] | None,
    ) -> None:  # fmt: skip
        n, score = graphs.n_nodes, scores.numpy().ravel()
        is_edge, may_edit = graphs.adjacency[row].numpy() > 0, np.triu(allowed.numpy(), 1)

        def chance(codes: Codes) -> np.ndarray:
            u, v = np.divmod(codes, n)
            return uniforms_at(seed, u * (2 * n - u - 1) // 2 + v - u - 1)  # the place among all pairs, row by row

        sides = []
        for mask in (may_edit & is_edge, may_edit & ~is_edge):
            codes = np.flatnonzero(mask)
            if len(used):
                codes = codes[~np.isin(codes, used)]
            sides.append(_Side(codes, score[codes], chance))
        own = NOTHING if nodes is None else nodes[0]
        self.__dict__.update(removals=sides[0], additions=sides[1], nodes=own, lengths=lengths, scored=nodes)

    def __getattr__(self, part: str) -> Codes:
        if part != "mixed":
            raise AttributeError(part)
        known = self.__dict__
        sides, likely = [], []
        for side, mean in zip((known["removals"], known["additions"]), known["lengths"].mean, strict=True):
            sides.append(side[:])
            likely.append(np.log(mean) + log_softmax(side.scores()))
        if known["scored"] is not None:
            sides.append(known["scored"][0])
            likely.append(known["scored"][1])
        return known.setdefault("mixed", merged(sides, likely))


class _Side:
    """Some pairs by falling score, equal ones by `chance`; as long as only the first are asked for, only these are."""

    def __init__(self, codes: Codes, score: np.ndarray, chance: Callable[[Codes], np.ndarray]) -> None:
        self.codes, self.score, self.chance = codes, score, chance
        self.places = NOTHING  # where in `codes` the first ones are

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, first: slice) -> Codes:
        """The first so many, `[:count]`, or all, `[:]`."""
        assert first.start is None and first.step is None
        count = len(self) if first.stop is None else min(first.stop, len(self))
        if count > len(self.places):
            self._sort(max(count, SORTED_AT_FIRST))
        return self.codes[self.places[:count]]

    def scores(self) -> np.ndarray:
        """The scores of all, in the same order."""
        assert len(self.places) == len(self)
        return self.score[self.places]

    def _sort(self, count: int) -> None:
        """Sort those that score as much as number `count` or more; they are the first ones, whatever follows."""
        falling = -self.score
        last = np.partition(falling, count)[count] if count < len(self) else np.inf
        places = np.flatnonzero(~(falling > last))
        self.places = places[np.lexsort((self.chance(self.codes[places]), falling[places]))]


def _ranked_nodes(nodes: NodeEdits, used: Codes, names: tuple[object, ...]) -> tuple[Codes, np.ndarray]:
    """Edits of nodes by falling score, equal ones in random order, without those that are used, and their scores.

    Edits of one score are alike (the same labels). The second of them counts 1/2, the third 1/3, …, so that other kinds
    are tried early: what one edit does not change, another like it often does not either.
    """
    chance = numpy_rng(*names, "nodes").permutation(len(nodes.codes))
    order = np.lexsort((chance, -nodes.score))
    order = order[~np.isin(nodes.codes[order], used)]
    _, first, count = np.unique(-nodes.score[order], return_index=True, return_counts=True)
    score = nodes.score[order] - np.log(1 + np.arange(len(order)) - np.repeat(first, count))
    best = np.argsort(-score, kind="stable")[:MOST_NODE_EDITS]
    return nodes.codes[order[best]], score[best]


def random_orders(
    graphs: GraphBatch,
    i: int,
    allowed: Tensor,
    used: Codes,
    names: tuple[object, ...],
    candidate: int,
    count: int,
    nodes: Codes = NOTHING,
) -> Iterator[Orders]:
    """Random orders of a graph's pairs, drawn when they are needed; the first is the one that `TwoSided` takes.

    With edits of nodes, in random order too, which are drawn apart.
    """
    own, n = graphs.select(torch.tensor([i])), graphs.n_nodes
    for restart in range(count):
        seed = (*names, own.names[0], candidate, restart) if restart else (*names, own.names[0], candidate)
        sides = []
        for pairs in (own.edge_mask & allowed[i], allowed[i] & ~own.edge_mask):
            rank = random_order(pairs, own.sizes, [seed])[0].numpy()
            u, v = pairs[0].numpy().nonzero()
            codes = (u * n + v)[np.argsort(rank[u, v])]
            sides.append(codes[~np.isin(codes, used)])
        mixed = interleaved(sides[0], sides[1])
        if not len(nodes):
            yield Orders(sides[0], sides[1], mixed)
            continue
        shuffled = numpy_rng(*seed, "nodes").permutation(nodes[~np.isin(nodes, used)])[:MOST_NODE_EDITS]
        yield Orders(sides[0], sides[1], interleaved(mixed, shuffled), shuffled)


def _are_edges(graphs: GraphBatch, row: int, codes: Codes) -> np.ndarray:
    """Which of these pairs are edges of a graph, bool [K]."""
    if isinstance(graphs, SparseBatch):
        return graphs.graphs[row].has(codes, graphs.n_nodes)
    is_edge: np.ndarray = graphs.adjacency[row].flatten().numpy()[codes] > 0
    return is_edge


def lengths_by_class(graphs: GraphBatch, classes: Tensor, found: Sequence[Found], n_classes: int) -> list[Lengths]:
    """How many edits the graphs of each class needed."""
    n, flips = graphs.n_nodes, [row for row, one in enumerate(found) if one.edits is not None]
    pairs = [of_pairs(_edits(found[row]), n) for row in flips]
    edges = [_are_edges(graphs, row, own) for row, own in zip(flips, pairs, strict=True)]
    removed = np.array([int(own.sum()) for own in edges], dtype=np.int64)
    added = np.array([len(own) for own in pairs], dtype=np.int64) - removed
    total = np.array([len(_edits(found[row])) for row in flips], dtype=np.int64)
    of_class, of_pairs_only = classes.numpy()[flips], total == removed + added
    return [
        Lengths(
            np.sort(removed[own & of_pairs_only & (added == 0)]),
            np.sort(added[own & of_pairs_only & (removed == 0)]),
            np.stack((removed, added), 1)[own & of_pairs_only & (removed > 0) & (added > 0)],
            np.sort(total[own & ~of_pairs_only]),
        )
        for own in (of_class == c for c in range(n_classes))
    ]
