"""RSGG-CE with a ranked search (beyond the paper): the pairs in the order of their scores instead of sampled coins.

The scores of A_g are good; sampling a coin for every pair wastes them. `RankedSearch` visits the pairs of a graph in
the order of their scores, as two guarded groups of a partial order, existing edges and missing pairs, and returns the
shortest prefix that changes the class (`rsgg.rsgg_ce.search`). With `certify` every edit of a result was shown to be
needed. Where neither side alone changes the class both are interleaved; then random orders are tried, the first of
them the one that the search without learning (`TwoSided`) takes, so that whatever it finds is found here too.

`RankedRSGGCE` ranks by the scores of `RSGGCE`, whatever its generator: trained, untrained or none. A few training
graphs per class, `calibration`, are explained once, to see which side to try first and how far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rsgg.constraints import Constraint, Rules, constraints_advice, editable
from rsgg.explainer import BUDGET_USED_UP, Candidate, Capabilities, hyper
from rsgg.graph import GraphBatch
from rsgg.minimise import random_order
from rsgg.oracles.oracle import CountingOracle
from rsgg.rsgg_ce.explainer import RSGGCE, EdgeScorer, in_blocks
from rsgg.rsgg_ce.search import (
    ADD,
    NOTHING,
    REMOVE,
    UNKNOWN,
    Codes,
    Found,
    Lengths,
    Orders,
    edited,
    feasible,
    in_lock_step,
    ranked,
)
from rsgg.seeds import streams, uniforms

NO_FLIP = "no prefix of the learned order, nor of a random one, changed the class"


@dataclass(kw_only=True)
class RankedSearch(EdgeScorer):
    """Explains by a ranked search; how the scores are learnt is up to subclasses, which set `lengths_` in `_fit`."""

    certify: bool = hyper(False, "certify", doc="show of every edit that it is needed")
    restarts: int = hyper(1, "restarts", at_least=0, doc="random orders that are tried if the learned one fails")
    constraints: tuple[Constraint, ...] = hyper(
        (), "constraints", check=constraints_advice, doc="rules that every result keeps (rsgg.constraints)"
    )

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, learns=True, targets=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        def searched(rows: Tensor, first_owner: int) -> list[Candidate]:
            part, own = graphs.select(rows), classes[rows]
            lengths = [self.lengths_[c] for c in own.tolist()]
            found = search(
                part, own, oracle, self.edit_scores(part, own), lengths, seed=seed, k=k, first_owner=first_owner,
                certify=self.certify, restarts=self.restarts, constraints=self.constraints,
            )  # fmt: skip
            return candidates(found, part, k, oracle, first_owner)

        return in_blocks(graphs, k, searched)

    def _state(self) -> dict[str, Tensor]:
        kept = {
            f"lengths.{c}.{side}": torch.from_numpy(self.lengths_[c].side(side))
            for c in range(len(self.lengths_))
            for side in (REMOVE, ADD)
        }
        return super()._state() | kept

    def _restore(self, state: dict[str, Tensor]) -> None:
        super()._restore({name: tensor for name, tensor in state.items() if not name.startswith("lengths.")})
        of = {
            name.removeprefix("lengths."): tensor.numpy()
            for name, tensor in state.items()
            if name.startswith("lengths.")
        }
        self.lengths_ = [Lengths(of[f"{c}.{REMOVE}"], of[f"{c}.{ADD}"]) for c in range(len(of) // 2)]


@dataclass(kw_only=True)
class RankedRSGGCE(RankedSearch, RSGGCE):
    """`RSGGCE` with a ranked search instead of Algorithm 1's sampling."""

    calibration: int = hyper(20, "calibration", at_least=0, doc="training graphs per class that are explained once")

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        super()._fit(graphs, classes, oracle, seed)
        first = torch.cat([(classes == c).nonzero().flatten()[: self.calibration] for c in range(oracle.n_classes)])
        part, own = graphs.select(first), classes[first]
        scores = self.edit_scores(part, own)
        found = search(part, own, CountingOracle(oracle), scores, [UNKNOWN] * len(part), seed=seed, restarts=0)
        self.lengths_ = lengths_by_class(part, own, found, oracle.n_classes)


# -- Searching a batch -----------------------------------------------------------------------------------------------


def search(
    graphs: GraphBatch,
    classes: Tensor,
    oracle: CountingOracle,
    scores: Tensor | None,
    lengths: Sequence[Lengths],
    *,
    seed: int,
    k: int = 1,
    first_owner: int = 0,
    certify: bool = False,
    restarts: int = 1,
    constraints: tuple[Constraint, ...] = (),
) -> list[Found]:
    """`k` searches per graph, one after the other so that a further one edits other pairs; row i·k + j as elsewhere.

    `scores` [B, N, N] say how much a pair asks to be edited (None: nothing is learnt); pairs of equal score come in
    random order. Questions of row r are charged to owner `first_owner` + r. No graph that breaks a constraint is asked
    about.
    """
    allowed = editable(graphs, constraints)
    rules = [Rules(graph, graphs.n_nodes, constraints) for graph in graphs] if constraints else []
    found = [Found() for _ in range(len(graphs) * k)]
    used: list[Codes] = [NOTHING] * len(graphs)
    for j in range(k):
        learned = None if scores is None else orders(graphs, scores, allowed, lengths, used, (seed, "ranked", j))
        rows = [i * k + j for i in range(len(graphs))]
        searches = []
        for i, row in enumerate(rows):
            own = None if learned is None else learned[i]
            random = random_orders(graphs, i, allowed, used[i], (seed, "two-sided"), j, restarts)
            if rules:
                own, random = own and _followed(own, rules[i]), map(partial(_followed, rules=rules[i]), random)
            searching = ranked(own, random, lengths[i], found[row], certify=certify)
            searches.append(feasible(searching, rules[i].allow) if rules else searching)
        owners = [first_owner + row for row in rows]
        in_lock_step(searches, graphs, range(len(graphs)), owners, oracle, lambda answers, own: answers != classes[own])
        used = [np.append(before, _edits(found[row])) for before, row in zip(used, rows, strict=True)]
    return found


def _followed(order: Orders, rules: Rules) -> Orders:
    return Orders(rules.followed(order.removals), rules.followed(order.additions), rules.followed(order.mixed))


def _edits(found: Found) -> Codes:
    return NOTHING if found.edits is None else found.edits


def candidates(
    found: Sequence[Found], graphs: GraphBatch, k: int, oracle: CountingOracle, first_owner: int
) -> list[Candidate]:
    """What the searches found, as the facade wants it."""
    flipped = [row for row, one in enumerate(found) if one.edits is not None]
    instance = torch.tensor(flipped, dtype=torch.long) // k
    adjacency = edited(graphs, instance, [_edits(found[row]) for row in flipped])
    of_row = dict(zip(flipped, adjacency, strict=True))
    return [
        Candidate(of_row[row], irreducible=one.irreducible, certificate_calls=one.certificate_calls)
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
) -> list[Orders]:
    """Each graph's allowed pairs by falling score, equal ones in random order, without those that are used already."""
    n = graphs.n_nodes
    u, v = np.triu_indices(n, 1)
    is_edge, may_edit = graphs.adjacency.numpy()[:, u, v] > 0, allowed.numpy()[:, u, v]
    chance = uniforms(streams(graphs.names, 1, *names), 0, len(u))
    ranking = np.lexsort((chance, -scores.numpy()[:, u, v]), axis=1)
    codes = u * n + v
    made = []
    for row, order in enumerate(ranking):
        order = order[may_edit[row, order]]
        present = is_edge[row, order]
        removals, additions = (_without(codes[order[side]], used[row]) for side in (present, ~present))
        made.append(Orders(removals, additions, interleaved(removals, additions, lengths[row].sides[0])))
    return made


def _without(codes: Codes, used: Codes) -> Codes:
    return codes[~np.isin(codes, used)] if len(used) else codes


def interleaved(removals: Codes, additions: Codes, first: int) -> Codes:
    """One of each in turn, then the rest of the longer one; `first` is the side that begins."""
    one, other = (additions, removals) if first == ADD else (removals, additions)
    both = min(len(one), len(other))
    in_turn = np.stack((one[:both], other[:both]), 1).ravel()
    return np.concatenate((in_turn, one[both:], other[both:]))


def random_orders(
    graphs: GraphBatch, i: int, allowed: Tensor, used: Codes, names: tuple[object, ...], candidate: int, count: int
) -> Iterator[Orders]:
    """Random orders of a graph's pairs, drawn when they are needed; the first is the one that `TwoSided` takes."""
    own, n = graphs.select(torch.tensor([i])), graphs.n_nodes
    for restart in range(count):
        seed = (*names, own.names[0], candidate, restart) if restart else (*names, own.names[0], candidate)
        sides = []
        for pairs in (own.edge_mask & allowed[i], allowed[i] & ~own.edge_mask):
            rank = random_order(pairs, own.sizes, [seed])[0].numpy()
            u, v = pairs[0].numpy().nonzero()
            sides.append(_without((u * n + v)[np.argsort(rank[u, v])], used))
        yield Orders(sides[0], sides[1], interleaved(sides[0], sides[1], REMOVE))


def lengths_by_class(graphs: GraphBatch, classes: Tensor, found: Sequence[Found], n_classes: int) -> list[Lengths]:
    """How many edits the graphs of each class needed, by side; those that needed both say nothing."""
    flat = graphs.adjacency.flatten(1).numpy()
    needed: list[tuple[list[int], list[int]]] = [([], []) for _ in range(n_classes)]
    for row, (c, one) in enumerate(zip(classes.tolist(), found, strict=True)):
        if one.edits is not None:
            removed = int((flat[row, one.edits] > 0).sum())
            if removed in (0, len(one.edits)):
                needed[c][REMOVE if removed else ADD].append(len(one.edits))
    return [Lengths(*(np.sort(np.array(side, dtype=np.int64)) for side in sides)) for sides in needed]
