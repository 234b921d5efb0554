"""Algorithm 1: sampling a counterfactual from edge probabilities A_g along a partial order.

What `sample(e, A_g[u,v])` means is a `Sampler`:

- `bernoulli` (default): a coin per pair, as Algorithm 1 is written.
- `multinomial`: as many draws *with replacement* as the group has pairs, proportional to A_g.
- `released`: the same, and what is drawn in the guarded group adds up, so that a pair drawn twice weighs 2.

All rows of a batch are sampled together. A guarded group asks the oracle after each pair, so its prefixes are
evaluated in growing blocks and charged only up to the first flip (`CountingOracle.first_flip`).

Inside `with traced() as traces` every run also says what it did to each row; the results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np
import torch
from torch import Tensor

from rsgg.errors import UsageError
from rsgg.explainer import BUDGET_USED_UP, Candidate
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle
from rsgg.rsgg_ce.partial_order import Group, PartialOrder
from rsgg.seeds import streams, uniforms

Reading = Literal["text", "letter"]
STREAM = 1 << 40  # random numbers set aside for each group of a partial order
ORDER = 1 << 39  # where, among them, the numbers begin that decide in which order pairs are visited
BLANK = -1  # in a sequence of draws: a pair was visited and its coin said no
BLOCK_BYTES = 1 << 23  # memory for one block of prefixes
BLOCK_PAIRS = 1 << 20  # entries of A_g that are sampled at a time
EAGER = 40  # draws of a guarded group that are drawn before it is known whether they are needed
FIRST_BLOCK = 8  # prefixes in the first block: a tree of Table 1 needs 4.6 additions on average


@dataclass(frozen=True, eq=False)
class Chances:
    """The pairs of a group, row after row: A_g of each [M]; row r has those from `stops[r]` to `stops[r + 1]`."""

    probability: np.ndarray
    stops: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return np.diff(self.stops)

    def row_of(self, pairs: np.ndarray) -> np.ndarray:
        return self.stops.searchsorted(pairs, side="right") - 1


class Numbers(Protocol):
    """Random numbers of every row, float64 [R, count]: number `start` of its stream and those that follow."""

    def __call__(self, count: int, start: int = 0) -> np.ndarray: ...


@dataclass(frozen=True)
class Sampler:
    """How the pairs of a group are drawn, for all rows at once.

    `draw(chances, guarded?, T, numbers)` gives positions among the group's pairs in the order in which they enter A',
    and where each row's begin and end. `numbers(count)` supplies `count` random numbers per row, uniform on [0, 1).
    """

    name: str
    draw: Callable[[Chances, bool, int, Numbers], tuple[np.ndarray, np.ndarray]]
    memoryless: bool = False  # a draw does not depend on those before it, so that they can be drawn when needed
    accumulates: bool = False

    def blocks(self, iterations: int) -> Iterator[tuple[int, int]]:
        """The iterations of a guarded group, from and to, that are drawn at a time."""
        yield from pairwise([0, EAGER, iterations] if self.memoryless and iterations > EAGER else [0, iterations])


def _coins(chances: Chances, guarded: bool, iterations: int, numbers: Numbers) -> tuple[np.ndarray, np.ndarray]:
    """A coin per pair. Guarded pairs are visited in random order; a leading BLANK keeps a first pair that lost."""
    widest = max(chances.counts, default=0)
    own = np.arange(widest) < chances.counts[:, None]
    heads = (numbers(widest)[own] < chances.probability).nonzero()[0]
    if not guarded:
        return heads, np.searchsorted(heads, chances.stops)
    visit = numbers(widest, ORDER)[own]
    heads = heads[np.lexsort((visit[heads], chances.row_of(heads)))]
    first = np.array([a + visit[a:b].argmin() for a, b in pairwise(chances.stops.tolist()) if a < b], dtype=int)
    lost, row = first[~np.isin(first, heads)], chances.row_of(heads)  # pairs that a row visits first, and skips
    before = np.searchsorted(row, chances.row_of(lost))
    heads, row = np.insert(heads, before, BLANK), np.insert(row, before, chances.row_of(lost))
    return heads, np.searchsorted(row, np.arange(len(chances.stops)))


RESOLUTION = 2.0**32  # weights are whole numbers, so that sums over many rows are exact and rows stay independent


def _with_replacement(
    chances: Chances, guarded: bool, iterations: int, numbers: Numbers
) -> tuple[np.ndarray, np.ndarray]:
    """As many draws as there are pairs (unguarded) or iterations (guarded), proportional to the probabilities."""
    mass = np.concatenate(([0], (np.maximum(chances.probability, 0) * RESOLUTION).astype(np.int64).cumsum()))
    before, total = mass[chances.stops[:-1]], np.diff(mass[chances.stops])
    counts = np.where(total > 0, iterations if guarded else chances.counts, 0)
    drawn = numbers(max(counts, default=0))
    wanted = np.arange(drawn.shape[1]) < counts[:, None]
    marks = (before[:, None] + (drawn * total[:, None]).astype(np.int64))[wanted]
    return mass.searchsorted(marks, side="right") - 1, np.concatenate(([0], counts.cumsum()))


SAMPLERS = {
    sampler.name: sampler
    for sampler in (
        Sampler("bernoulli", _coins),
        Sampler("multinomial", _with_replacement, memoryless=True),
        Sampler("released", _with_replacement, memoryless=True, accumulates=True),
    )
}


def sampler_named(name: str) -> Sampler:
    if name not in SAMPLERS:
        raise UsageError(f"There is no sampler {name!r}; choose one of {', '.join(SAMPLERS)}.")
    return SAMPLERS[name]


def in_blocks(graphs: GraphBatch, k: int, explain: Callable[[Tensor, int], list[Candidate]]) -> list[Candidate]:
    """Large graphs a few at a time, so that memory does not grow with their number: `explain(which, first owner)`.

    A row's random numbers are its own, so blocks change nothing but the memory.
    """
    at_once = max(1, BLOCK_PAIRS // (k * graphs.n_nodes**2))
    parts = torch.arange(len(graphs)).split(at_once)
    return [candidate for part in parts for candidate in explain(part, int(part[0]) * k)]


def partial_order_sampling(
    graphs: GraphBatch,
    probabilities: Tensor,
    classes: Tensor,
    oracle: CountingOracle,
    *,
    order: PartialOrder,
    sampler: Sampler,
    iterations: int,
    reading: Reading = "text",
    k: int = 1,
    seed: int = 0,
    first_owner: int = 0,
) -> list[Candidate]:
    """Algorithm 1 for every graph of a batch, `k` times each; the oracle's owners are counted from `first_owner`.

    `iterations` caps the checks of a guarded group (T). With `reading="text"` the oracle is asked once when an
    unguarded group is done, as Section 4 says; with `"letter"` only inside guarded groups, as the pseudo-code
    says, so that the first check comes after the first missing pair and that pair can hide a flip for good.
    """
    owners = torch.arange(len(graphs)).repeat_interleave(k)
    traces = _TRACES.get()
    kind = _Run if traces is None else _TracedRun
    run = kind(graphs.select(owners), classes[owners], oracle, sampler.accumulates, first_owner)
    seeds = streams(graphs.names, k, seed, "sample")
    scores = probabilities[owners].double().cpu().numpy()
    groups = list(order(run.graphs))
    run.start_from(groups)
    for position, group in enumerate(groups):
        start = position * STREAM
        if group.guarded:
            for begin, end in sampler.blocks(iterations):
                draws = run.draw(group, scores, sampler, end - begin, seeds, start + begin)
                run.check_each(draws, end - begin, skip_blank=reading == "text")
        else:
            run.take_all(run.draw(group, scores, sampler, iterations, seeds, start))
            if reading == "text":
                run.check_once()
    if traces is not None and isinstance(run, _TracedRun):
        traces += run.traces(scores)
    return run.candidates()


@dataclass(frozen=True, eq=False)
class Draws:
    """The pairs that enter A', row after row, int [K, 2]; (-1, -1) is a BLANK. `rows[i]`'s begin at `stops[i]`."""

    rows: np.ndarray
    pairs: np.ndarray
    stops: np.ndarray

    def by_row(self) -> dict[int, np.ndarray]:
        stops = pairwise(self.stops.tolist())
        return {row: self.pairs[a:b] for row, (a, b) in zip(self.rows.tolist(), stops, strict=True)}


class _Run:
    """The state of Algorithm 1 on all rows: A', which rows are still open, and what was found."""

    def __init__(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, accumulates: bool, first_owner: int
    ) -> None:
        self.graphs, self.classes, self.oracle, self.accumulates = graphs, classes, oracle, accumulates
        self.first_owner = first_owner
        self.current = np.zeros_like(graphs.adjacency.numpy())  # A' (line 4)
        self.open = np.ones(len(graphs), dtype=bool)

    def start_from(self, groups: list[Group]) -> None:
        """Pairs that no group covers are not the method's to change: they stay as they are."""
        kept = self.graphs.adjacency.triu()
        for group in groups:
            kept.masked_fill_(group.pairs, 0)
        row, u, v = np.unravel_index(np.flatnonzero(kept.numpy()), kept.shape)  # many times faster than nonzero
        self.current[row, u, v] = self.current[row, v, u] = kept.numpy()[row, u, v]

    def draw(
        self, group: Group, scores: np.ndarray, sampler: Sampler, iterations: int, seeds: np.ndarray, start: int
    ) -> Draws:
        """What is drawn for the open rows. Row r reads its own random numbers, `seeds[r]`, from number `start` on."""
        open_, n = self.open.nonzero()[0], self.current.shape[1]
        place = np.flatnonzero(group.pairs.numpy()[open_])
        chances = Chances(scores[open_].reshape(-1)[place], place.searchsorted(np.arange(len(open_) + 1) * n * n))
        drawn, stops = sampler.draw(
            chances, group.guarded, iterations, lambda count, offset=0: uniforms(seeds[open_], start + offset, count)
        )
        pairs = np.stack(np.divmod(place[drawn] % (n * n), n), 1)
        pairs[drawn == BLANK] = BLANK
        return Draws(open_, pairs, stops)

    def take_all(self, draws: Draws) -> None:
        """Line 7 for an unguarded group: a pair drawn is an edge, however often it was drawn."""
        row, (u, v) = np.repeat(draws.rows, np.diff(draws.stops)), draws.pairs.T
        self.current[row, u, v] = self.current[row, v, u] = 1

    def check_once(self) -> None:
        rows = self.open.nonzero()[0]
        if len(rows):
            self._ask(rows, self.current[rows])

    def check_each(self, draws: Draws, iterations: int, *, skip_blank: bool) -> None:
        """Lines 6-9 for a guarded group, at most `iterations` checks, in blocks of prefixes that grow fourfold."""
        left = draws.by_row()
        if skip_blank:
            left = {row: pairs[1:] if len(pairs) and pairs[0, 0] == BLANK else pairs for row, pairs in left.items()}
        left = {row: pairs[:iterations] for row, pairs in left.items()}
        length = FIRST_BLOCK
        while left := {row: pairs for row, pairs in left.items() if len(pairs) and self.open[row]}:
            fits = max(1, BLOCK_BYTES // (len(left) * self.current[0].size))
            length = min(length, fits)
            rows, prefixes = self._prefixes({row: pairs[:length] for row, pairs in left.items()})
            self._ask(rows, prefixes)
            left = {row: pairs[length:] for row, pairs in left.items()}
            length *= 4

    def _prefixes(self, draws: dict[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """A' after each of the next draws of each row; `current` moves on to the last of them.

        Byte by byte in Python: a graph of Table 1 is a kilobyte, and copying it is cheaper than any array arithmetic.
        """
        n = self.current.shape[1]
        prefixes = bytearray()
        for row, pairs in draws.items():
            state = bytearray(self.current[row].tobytes())
            if len(pairs) and pairs[0, 0] == BLANK:
                prefixes += state
                pairs = pairs[1:]
            u, v = pairs.T
            for i, j in zip((u * n + v).tolist(), (v * n + u).tolist(), strict=True):
                state[i] = state[j] = state[i] + (state[i] < 255) if self.accumulates else 1
                prefixes += state
            self.current[row] = np.frombuffer(state, dtype=np.uint8).reshape(n, n)
        rows = np.repeat(list(draws), [len(pairs) for pairs in draws.values()])
        return rows, np.frombuffer(prefixes, dtype=np.uint8).reshape(-1, n, n)

    def _ask(self, rows: np.ndarray, adjacency: np.ndarray) -> None:
        """Line 8: close the rows that flip, each with its first flip that its budget covers."""
        row = torch.from_numpy(rows)
        first = self.oracle.first_flip(
            self.graphs.candidates(torch.from_numpy(adjacency), row), self.first_owner + row, self.classes[row]
        ).numpy()
        self.current[rows[first]] = adjacency[first]
        self.open[rows[first]] = False

    def candidates(self) -> list[Candidate]:
        """Lines 9 and 13: the flips, and for the rest a failure with its reason."""
        results = []
        for row in range(len(self.graphs)):
            if not self.open[row]:
                results.append(Candidate(torch.from_numpy(self.current[row])))
            elif self.oracle.exhausted(self.first_owner + row):
                results.append(Candidate(None, BUDGET_USED_UP))
            else:
                results.append(Candidate(None, "no sampled graph changed the oracle's class"))
        return results


# -- What a run did ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trace:
    """What Algorithm 1 did to one row; pairs are int [K, 2].

    `removed` are the edges of the input that A' lacks when the unguarded groups are done, `checked` the pairs that
    guarded groups added after that, a check after each, in their order and up to the flip.
    """

    scores: np.ndarray  # A_g [N, N]
    removed: np.ndarray
    checked: np.ndarray


_TRACES: ContextVar[list[Trace] | None] = ContextVar("traces", default=None)


@contextmanager
def traced() -> Iterator[list[Trace]]:
    """Inside, every run of Algorithm 1 appends a trace for each of its rows, graph by graph, candidate by candidate."""
    traces: list[Trace] = []
    token = _TRACES.set(traces)
    try:
        yield traces
    finally:
        _TRACES.reset(token)


class _TracedRun(_Run):
    """Algorithm 1 with a record. How far a guarded group got is what its rows were charged for."""

    def __init__(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, accumulates: bool, first_owner: int
    ) -> None:
        super().__init__(graphs, classes, oracle, accumulates, first_owner)
        nothing = np.empty((0, 2), dtype=int)
        self.removed, self.checked = [nothing] * len(graphs), [nothing] * len(graphs)

    def take_all(self, draws: Draws) -> None:
        super().take_all(draws)
        for row in draws.rows.tolist():
            self.removed[row] = np.argwhere(np.triu(self.graphs.adjacency[row].numpy() > self.current[row]))

    def check_each(self, draws: Draws, iterations: int, *, skip_blank: bool) -> None:
        before = {row: self.oracle.calls_of(self.first_owner + row) for row in draws.rows.tolist()}
        super().check_each(draws, iterations, skip_blank=skip_blank)
        for row, pairs in draws.by_row().items():
            asked = self.oracle.calls_of(self.first_owner + row) - before[row]
            visited = pairs[pairs[:, 0] != BLANK] if skip_blank else pairs
            self.checked[row] = np.concatenate((self.checked[row], visited[:asked]))

    def traces(self, scores: np.ndarray) -> list[Trace]:
        checked = [pairs[pairs[:, 0] != BLANK] for pairs in self.checked]
        return [Trace(*parts) for parts in zip(scores, self.removed, checked, strict=True)]
