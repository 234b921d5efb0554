"""Ranked search for counterfactuals: edits in a given order, and the fewest of them that change the oracle's class.

A search is a generator: it yields a set of edits and is sent whether they change the class. So it reads like a program
for one graph, and `in_lock_step` runs the searches of many graphs together, one batch of questions at a time. Whatever
a search has found was shown to the oracle; the oracle need not be monotone (more edits may undo a change of class).
Where neither removals nor additions alone change the class, both are tried together, in many sizes.

    found = Found()
    in_lock_step([ranked(orders, [], UNKNOWN, found, certify=True)], graphs, ...)

How the orders come about (random, or by learned scores) is none of this file's business: see `rsgg.rsgg_ce.ranked`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice, product

import numpy as np
import torch
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.edits import NOTHING, Codes, applied, decoded, most_nodes
from rsgg.graph import GraphBatch
from rsgg.oracles.counting import CountingOracle
from rsgg.sparse import SparseBatch

Search = Generator[Codes, bool, None]

REMOVE, ADD, NODES = SIDES = (0, 1, 2)  # NODES is empty unless nodes may be edited
MERGED, CORNER = (3, 4)  # edits of several sides: a prefix of the merged order, or a prefix of each side of pairs
MOST_CORNERS = 8  # of those that training graphs needed
BYTES_AT_ONCE = 1 << 26  # memory for the graphs of one batch of questions
BYTES_PER_EDGE = 256  # and node of a graph that is a list, from the list to what a model makes of it


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
    """The edits of a graph in the order in which they are tried: removals and additions; and both, merged into one.

    `nodes` are edits of nodes, which are then merged into `mixed` too.
    """

    removals: Codes
    additions: Codes
    mixed: Codes
    nodes: Codes = field(default_factory=lambda: NOTHING)

    def side(self, side: int) -> Codes:
        return (self.removals, self.additions, self.nodes)[side]

    def corner(self, removals: int, additions: int) -> Codes:
        """The first so many removals and the first so many additions, in the order of `mixed`."""
        both = np.concatenate((self.removals[:removals], self.additions[:additions]))
        return self.mixed[np.isin(self.mixed, both)]

    def corners(self) -> Iterator[Codes]:
        """1, 2, 4, … removals together with 1, 2, 4, … additions, the smallest sets first."""
        sizes = product(_doubling(0, len(self.removals)), _doubling(0, len(self.additions)))
        return (self.corner(*size) for size in sorted(sizes, key=sum))

    def groups(self, n: int) -> Iterator[Codes]:
        """Edits of nodes apart from others, which may undo what they do, in graphs padded to n nodes.

        All edits of a kind with the same new label; then each one alone, two that follow each other, four, …
        """
        kind, _, label = decoded(self.nodes, n)
        alike = np.unique(np.stack((kind, label)), axis=1).T
        yield from (self.nodes[(kind == one) & (label == new)] for one, new in alike)
        for size in _doubling(0, len(self.nodes)):
            yield from (self.nodes[i : i + size] for i in range(0, len(self.nodes), size))


def interleaved(removals: Codes, additions: Codes) -> Codes:
    """One of each in turn, beginning with a removal, then the rest of the longer one."""
    both = min(len(removals), len(additions))
    in_turn = np.stack((removals[:both], additions[:both]), 1).ravel()
    return np.concatenate((in_turn, removals[both:], additions[both:]))


def merged(sides: Sequence[Codes], likely: Sequence[np.ndarray]) -> Codes:
    """The edits of several sides as one order, by how likely each of them is to be needed."""
    return np.concatenate(sides)[np.argsort(-np.concatenate(likely), kind="stable")]


def log_softmax(score: np.ndarray) -> np.ndarray:
    if not len(score):
        return score
    shifted: np.ndarray = score - score.max()
    return shifted - np.log(np.exp(shifted).sum())


@dataclass(frozen=True)
class Lengths:
    """How many edits the training graphs of a class needed, int64; empty if nothing is known.

    For each side the numbers of those that needed this side only, sorted; for those that needed both, how many removals
    and how many additions, [graphs, 2]. `nodes` counts those that needed edits of nodes, edits of pairs included.
    """

    removals: Codes = field(default_factory=lambda: NOTHING)
    additions: Codes = field(default_factory=lambda: NOTHING)
    both: Codes = field(default_factory=lambda: NOTHING.reshape(0, 2))
    nodes: Codes = field(default_factory=lambda: NOTHING)

    def side(self, side: int) -> Codes:
        return (self.removals, self.additions, self.nodes)[side]

    @property
    def sides(self) -> list[int]:
        """The side that explained more training graphs comes first."""
        return sorted(SIDES, key=lambda side: -len(self.side(side)))

    @property
    def fewest(self) -> int:
        """The fewest edits that a training graph needed; 1 if nothing is known."""
        sizes = np.concatenate((*(self.side(side) for side in SIDES), self.both.sum(1)))
        return int(sizes.min()) if len(sizes) else 1

    @property
    def corners(self) -> list[tuple[int, int]]:
        """Numbers of removals and of additions that were needed together, the most frequent first."""
        sizes, counts = np.unique(self.both, axis=0, return_counts=True)
        return [(int(r), int(a)) for r, a in sizes[np.argsort(-counts, kind="stable")][:MOST_CORNERS]]

    @property
    def mean(self) -> tuple[float, float]:
        """Removals and additions that a graph needs on average; counted from one of each, as if nothing was known."""
        graphs, both = 1 + sum(len(self.side(side)) for side in SIDES) + len(self.both), self.both.sum(0)
        return (
            float(1 + self.removals.sum() + both[REMOVE]) / graphs,
            float(1 + self.additions.sum() + both[ADD]) / graphs,
        )


UNKNOWN = Lengths()

# -- One graph -----------------------------------------------------------------------------------------------------


def ranked(
    learned: Orders | None,
    random: Iterable[Orders],
    lengths: Lengths,
    found: Found,
    *,
    certify: bool,
    mixtures: Iterable[Codes] = (),
    swaps: int = 0,
) -> Search:
    """The shortest flipping prefix of the learned order; where it has none, of the first random order that has one.

    Where those have none either, the sets of edits `mixtures` are tried. What is found without the learned order has
    edits that are not needed, so that it is shrunk by `halving`. `swaps`: at most so many questions about what the
    learned order has found, each with one edit fewer.
    """
    if learned is not None:
        flip = yield from _first_flip(learned, lengths, found)
        if flip is not None:
            edits, failed, expected = flip
            shortest = yield from _shortest_prefix(edits, failed, expected, found)
            if certify:  # the shortest prefix but one has failed, so the last edit is needed
                yield from _certificate(found, {int(edits[shortest - 1])})
            yield from _fewer(learned, lengths.fewest, found, swaps, certify=certify)
            return
    for order in random:
        flip = yield from _first_flip(order, UNKNOWN, found)
        if flip is not None:
            edits, failed, _ = flip
            yield from _shrunk(edits, failed, found, certify=certify)
            return
    for edits in mixtures:
        if (yield edits):
            found.edits = edits
            yield from _shrunk(edits, 0, found, certify=certify)
            return


def _shrunk(edits: Codes, failed: int, found: Found, *, certify: bool) -> Search:
    yield from halving(edits, failed, found)
    if certify:
        yield from _certificate(found, set())


def _first_flip(
    order: Orders, lengths: Lengths, found: Found
) -> Generator[Codes, bool, tuple[Codes, int, Codes] | None]:
    """A prefix that flips, a shorter one (its length) that does not, and what lengths are expected on its side."""
    # Merged, one edit alone is of one side, so it has been asked about; corners are not nested.
    failed = {REMOVE: 0, ADD: 0, NODES: 0, MERGED: 1, CORNER: 0}
    for kind, edits in _prefixes(order, lengths):
        if (yield edits):
            found.edits = edits
            return edits, failed[kind], lengths.side(kind) if kind in SIDES else NOTHING
        if kind != CORNER:
            failed[kind] = len(edits)
    return None


def _prefixes(order: Orders, lengths: Lengths) -> Iterator[tuple[int, Codes]]:
    """What to ask about as long as nothing flips: edits, and whether they are of a side, of both merged, or a corner.

    First each side as far as training graphs went, always to the median of the lengths that are still possible, and the
    corners that training graphs needed; then both sides in turn, doubling; then both merged, doubling.
    """
    one_sided = sum(len(lengths.side(side)) for side in SIDES)
    corners = ((CORNER, order.corner(*size)) for size in lengths.corners)
    if len(lengths.both) > one_sided:
        yield from corners
    doubling = {}
    known = [(side, _expected(lengths.side(side), len(order.side(side)))) for side in lengths.sides]
    if len(order.nodes):  # the shortest first, whatever the side
        steps = sorted(((size, side) for side, sizes in known for size in sizes), key=lambda step: step[0])
    else:
        steps = [(size, side) for side, sizes in known for size in sizes]
    for size, side in steps:
        yield side, order.side(side)[:size]
    for side, sizes in known:
        doubling[side] = _doubling(sizes[-1] if sizes else 0, len(order.side(side)))
    yield from corners
    while doubling:
        for side in list(doubling):
            prefix = next(doubling[side], None)
            if prefix is None:
                del doubling[side]
            else:
                yield side, order.side(side)[:prefix]
    for prefix in _doubling(1, len(order.mixed)):
        yield MERGED, order.mixed[:prefix]


def _expected(lengths: Codes, longest: int) -> list[int]:
    """Where to ask on a side as far as training graphs went: always at the median of the lengths still possible."""
    reached = [0]
    while (left := lengths[lengths > reached[-1]]).size and reached[-1] < longest:
        reached.append(min(int(left[(len(left) - 1) // 2]), longest))
    return reached[1:]


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

    Blocks double while they can be left out. `needed` are edits of which that was shown already. When edits are
    dropped, what was needed before has to be shown again, at the end: for a monotone oracle it is still needed, but
    nothing is known of the oracle.
    """
    assert found.edits is not None
    edits, block = found.edits, 1
    needed_before: set[int] = set()
    while True:
        unsure = [i for i in range(len(edits) - 1, -1, -1) if int(edits[i]) not in needed]
        if not unsure:
            found.irreducible = True
            return
        new = [i for i in unsure if int(edits[i]) not in needed_before]
        left_out = new[:block] if new else unsure[:1]
        rest = np.delete(edits, left_out)
        found.certificate_calls += len(rest) > 0
        if len(rest) and (yield rest):  # the input itself is known not to flip
            edits = found.edits = rest
            needed_before, needed, block = needed_before | needed, set(), 2 * block
        elif len(left_out) == 1:
            needed.add(int(edits[left_out[0]]))
        else:
            block = 1


def _fewer(order: Orders, fewest: int, found: Found, questions: int, *, certify: bool) -> Search:
    """Swap two edits for another one, as long as that changes the class too; so many questions at most.

    Irreducible edits need not be the fewest: two of them may be needed where another one alone is enough. Not tried
    below `fewest` edits, as no training graph got by with less, nor where there are more pairs of edits than questions.
    """
    assert found.edits is not None
    while fewest < (size := len(found.edits)) and size * (size - 1) // 2 <= questions:
        for edits in islice(_swaps(order, found.edits), questions):
            questions -= 1
            if (yield edits):
                found.edits, found.irreducible = edits, False
                if certify:
                    yield from _certificate(found, set())
                break
        else:
            return


def _swaps(order: Orders, edits: Codes) -> Iterator[Codes]:
    """The edits with another pair instead of two of them: the likeliest other pair first, the last two edits first."""
    others = order.mixed[~np.isin(order.mixed, np.concatenate((edits, order.nodes)))]
    for other in others:
        for two in combinations(range(len(edits) - 1, -1, -1), 2):
            yield np.append(np.delete(edits, two), other)


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
    while open_:
        at_once = _graphs_at_once(graphs, open_.values())
        for block in _in_blocks(list(open_), at_once):
            rows = [row for row in block if not oracle.limited or not oracle.exhausted(owner[row])]
            for row in set(block) - set(rows):
                del open_[row]
            if not rows:
                continue
            own, owners = (torch.tensor([of[row] for row in rows]) for of in (instance, owner))
            answers = oracle.predict(_edited(graphs, own, [open_[row] for row in rows]), owners)
            for row, flip in zip(rows, flips(answers, own).tolist(), strict=True):
                try:
                    open_[row] = searches[row].send(flip)
                except StopIteration:
                    del open_[row]


def _edited(graphs: GraphBatch, instance: Tensor, edits: Sequence[Codes]) -> GraphBatch | EdgeBatch:
    """The graphs at `instance`, each with its own edits made: what the oracle is asked about."""
    if isinstance(graphs, SparseBatch):
        return EdgeBatch.edited(graphs, instance, edits)
    return applied(graphs, instance, edits)


def _graphs_at_once(graphs: GraphBatch, edits: Collection[Codes]) -> int:
    """How many edited graphs the memory for one batch of questions is enough for."""
    if isinstance(graphs, SparseBatch):
        longest = int(graphs.n_edges.max()) + max(len(codes) for codes in edits)
        return max(1, BYTES_AT_ONCE // (BYTES_PER_EDGE * (longest + graphs.n_nodes)))
    return max(1, BYTES_AT_ONCE // most_nodes(graphs.n_nodes, edits) ** 2)


def _in_blocks(rows: list[int], at_once: int) -> Iterator[list[int]]:
    return (rows[start : start + at_once] for start in range(0, len(rows), at_once))
