"""Ranked search for counterfactuals: edits in a given order, and the fewest of them that change the oracle's class.

A search is a generator: it yields a set of edits and is sent whether they change the class. So it reads like a program
for one graph, and `in_lock_step` runs the searches of many graphs together, one batch of questions at a time. Whatever
a search has found was shown to the oracle; the oracle need not be monotone (more edits may undo a change of class).

    found = Found()
    in_lock_step([ranked(orders, [], UNKNOWN, found, certify=True)], graphs, ...)

How the orders come about (random, or by learned scores) is none of this file's business: see `rsgg.rsgg_ce.ranked`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle

Codes = NDArray[np.int64]  # edits of a graph in a batch of N (padded) nodes: the pair u < v is u · N + v
Search = Generator[Codes, bool, None]

REMOVE, ADD = SIDES = (0, 1)
NOTHING: Codes = np.empty(0, dtype=np.int64)
BYTES_AT_ONCE = 1 << 26  # memory for the graphs of one batch of questions


@dataclass
class Found:
    """What a search has found so far: `edits` is None until a set of edits has changed the class.

    `irreducible`: each edit was shown to be needed. `certificate_calls`: how many questions that took.
    """

    edits: Codes | None = None
    irreducible: bool = False
    certificate_calls: int = 0


@dataclass(frozen=True)
class Orders:
    """The edits of a graph in the order in which they are tried: removals and additions; and both, interleaved."""

    removals: Codes
    additions: Codes
    mixed: Codes

    def side(self, side: int) -> Codes:
        return self.additions if side == ADD else self.removals


@dataclass(frozen=True)
class Lengths:
    """How many edits the training graphs of a class needed, for each side sorted, int64; empty if nothing is known."""

    removals: Codes = field(default_factory=lambda: NOTHING)
    additions: Codes = field(default_factory=lambda: NOTHING)

    def side(self, side: int) -> Codes:
        return self.additions if side == ADD else self.removals

    @property
    def sides(self) -> tuple[int, int]:
        """The side that explained more training graphs comes first."""
        return (ADD, REMOVE) if len(self.additions) > len(self.removals) else (REMOVE, ADD)


UNKNOWN = Lengths()

# -- One graph -----------------------------------------------------------------------------------------------------


def ranked(
    learned: Orders | None, random: Iterable[Orders], lengths: Lengths, found: Found, *, certify: bool
) -> Search:
    """The shortest flipping prefix of the learned order; where it has none, of the first random order that has one.

    Random orders have long prefixes, so that what they find is shrunk by `halving`.
    """
    if learned is not None:
        flip = yield from _first_flip(learned, lengths, found)
        if flip is not None:
            edits, failed, expected = flip
            shortest = yield from _shortest_prefix(edits, failed, expected, found)
            if certify:  # the shortest prefix but one has failed, so the last edit is needed
                yield from _certificate(found, {int(edits[shortest - 1])})
            return
    for order in random:
        flip = yield from _first_flip(order, UNKNOWN, found)
        if flip is not None:
            edits, failed, _ = flip
            yield from halving(edits, failed, found)
            if certify:
                yield from _certificate(found, set())
            return


def _first_flip(
    order: Orders, lengths: Lengths, found: Found
) -> Generator[Codes, bool, tuple[Codes, int, Codes] | None]:
    """A prefix that flips, a shorter one (its length) that does not, and what lengths are expected on its side."""
    failed = [0, 0]
    for side, prefix in _prefixes(order, lengths):
        edits = order.side(side)[:prefix]
        if (yield edits):
            found.edits = edits
            return edits, failed[side], lengths.side(side)
        failed[side] = prefix
    longest = 1  # one edit alone is of one side, so it has been asked about
    for prefix in _doubling(1, len(order.mixed)):
        edits = order.mixed[:prefix]
        if (yield edits):
            found.edits = edits
            return edits, longest, NOTHING
        longest = prefix
    return None


def _prefixes(order: Orders, lengths: Lengths) -> Iterator[tuple[int, int]]:
    """Side and length of the prefixes to ask about as long as none flips.

    First each side as far as training graphs went, always to the median of the lengths that are still possible; then
    both in turn, doubling.
    """
    doubling = {}
    for side in lengths.sides:
        reached, longest = 0, len(order.side(side))
        while (left := lengths.side(side)[lengths.side(side) > reached]).size and reached < longest:
            reached = min(int(left[(len(left) - 1) // 2]), longest)
            yield side, reached
        doubling[side] = _doubling(reached, longest)
    while doubling:
        for side in list(doubling):
            prefix = next(doubling[side], None)
            if prefix is None:
                del doubling[side]
            else:
                yield side, prefix


def _doubling(reached: int, longest: int) -> Iterator[int]:
    """1, 2, 4, …, longest, as far as they are beyond `reached`."""
    prefix = 1
    while reached < longest:
        while prefix <= reached:
            prefix *= 2
        reached = min(prefix, longest)
        yield reached


def _shortest_prefix(edits: Codes, low: int, lengths: Codes, found: Found) -> Generator[Codes, bool, int]:
    """Between a prefix of length `low` that fails and the whole, which flips: the length of the shortest that flips.

    Asks where half of the expected lengths lie on either side, or in the middle where none is expected.
    """
    high = len(edits)
    while high - low > 1:
        possible = lengths[(lengths > low) & (lengths <= high)]
        median = int(possible[(len(possible) - 1) // 2]) if len(possible) else (low + high) // 2
        prefix = min(max(median, low + 1), high - 1)
        if (yield edits[:prefix]):
            high, found.edits = prefix, edits[:prefix]
        else:
            low = prefix
    return high


def halving(edits: Codes, low: int, found: Found) -> Search:
    """Shrink edits that flip, of which the first `low` alone do not: the minimiser of `rsgg.minimise`, for one graph.

    The last edit of the shortest flipping prefix is needed. It moves to the front for good, what came after it is
    dropped, and the search goes on over what came before. Costs about 1 + log2 d questions for each needed edit.
    """
    needed = NOTHING
    while len(edits):
        high = len(edits)
        while high - low > 1:
            middle = (low + high) // 2
            asked = np.concatenate((needed, edits[:middle]))
            if (yield asked):
                high, found.edits = middle, asked
            else:
                low = middle
        needed, edits, low = np.append(needed, edits[high - 1]), edits[: high - 1], 0
        if len(edits) and (yield needed):
            break
    found.edits = needed


def _certificate(found: Found, needed: set[int]) -> Search:
    """Leave out one edit after the other, from the last to the first; what cannot be left out is needed.

    Blocks double while they can be left out. When edits are dropped, what was needed before has to be shown again:
    for a monotone oracle it would be, but nothing is known of the oracle. `needed` are edits that were shown already.
    """
    assert found.edits is not None
    edits, block = found.edits, 1
    while True:
        unsure = [i for i in range(len(edits) - 1, -1, -1) if int(edits[i]) not in needed][:block]
        if not unsure:
            found.irreducible = True
            return
        rest = np.delete(edits, unsure)
        found.certificate_calls += len(rest) > 0
        if len(rest) and (yield rest):  # the input itself is known not to flip
            edits = found.edits = rest
            needed, block = set(), 2 * block
        elif len(unsure) == 1:
            needed.add(int(edits[unsure[0]]))
        else:
            block = 1


def feasible(search: Search, allowed: Callable[[Codes], bool]) -> Search:
    """The same search, in which sets of edits that are not allowed are never asked about: they count as no flip."""
    try:
        question = next(search)
        while True:
            question = search.send((yield question) if allowed(question) else False)
    except StopIteration:
        return


# -- Many graphs ---------------------------------------------------------------------------------------------------


def in_lock_step(
    searches: Sequence[Search],
    graphs: GraphBatch,
    instance: Sequence[int],
    owner: Sequence[int],
    oracle: CountingOracle,
    flips: Callable[[Tensor, Tensor], Tensor],
) -> None:
    """Run searches together until all have ended or used up their budget.

    Search i is about graph `instance[i]` and charged to `owner[i]`. `flips(answers, instances)`, both int64 [R], says
    which answers of the oracle are what is looked for, bool [R].
    """
    open_ = {row: question for row, search in enumerate(searches) if (question := next(search, None)) is not None}
    at_once = max(1, BYTES_AT_ONCE // graphs.n_nodes**2)
    while open_:
        for block in _in_blocks(list(open_), at_once):
            rows = [row for row in block if not oracle.limited or not oracle.exhausted(owner[row])]
            for row in set(block) - set(rows):
                del open_[row]
            if not rows:
                continue
            own, owners = (torch.tensor([of[row] for row in rows]) for of in (instance, owner))
            asked = edited(graphs, own, [open_[row] for row in rows])
            answers = oracle.predict(graphs.candidates(asked, own), owners)
            for row, flip in zip(rows, flips(answers, own).tolist(), strict=True):
                try:
                    open_[row] = searches[row].send(flip)
                except StopIteration:
                    del open_[row]


def _in_blocks(rows: list[int], at_once: int) -> Iterator[list[int]]:
    return (rows[start : start + at_once] for start in range(0, len(rows), at_once))


def edited(graphs: GraphBatch, instance: Tensor, edits: Sequence[Codes]) -> Tensor:
    """The graphs at `instance`, each with its own pairs flipped, uint8 [R, N, N]."""
    n = graphs.n_nodes
    adjacency = graphs.adjacency[instance].cpu().numpy().reshape(len(edits), n * n)
    rows = np.repeat(np.arange(len(edits)), [len(codes) for codes in edits])
    u, v = np.divmod(np.concatenate([*edits, NOTHING]), n)
    adjacency[rows, u * n + v] ^= 1
    adjacency[rows, v * n + u] ^= 1
    return torch.from_numpy(adjacency.reshape(-1, n, n))
