"""Algorithm 1: sampling a counterfactual from edge probabilities A_g along a partial order.

What `sample(e, A_g[u,v])` means is a `Sampler`:

- `bernoulli` (default): a coin per pair, as Algorithm 1 is written.
- `multinomial`: as many draws *with replacement* as the group has pairs, proportional to A_g.
- `released`: the same, and what is drawn in the guarded group adds up, so that a pair drawn twice weighs 2.

All rows of a batch are sampled together. A guarded group asks the oracle after each pair, so its prefixes are
evaluated in growing blocks and charged only up to the first flip (`CountingOracle.first_flip`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from rsgg.errors import UsageError
from rsgg.explainer import BUDGET_USED_UP, Candidate
from rsgg.graph import GraphBatch
from rsgg.oracle import CountingOracle
from rsgg.partial_order import Group, PartialOrder
from rsgg.seeds import numpy_rng

Reading = Literal["text", "letter"]
BLANK = -1  # in a sequence of draws: a pair was visited and its coin said no
BLOCK_BYTES = 1 << 26  # memory for one block of prefixes
FIRST_BLOCK = 8  # prefixes in the first block: a tree of Table 1 needs 4.6 additions on average


@dataclass(frozen=True)
class Sampler:
    """How the pairs of a group are drawn: positions in the group, in the order in which they enter A'."""

    name: str
    draw: Callable[[np.ndarray, bool, int, np.random.Generator], np.ndarray]
    accumulates: bool = False


def _coins(probabilities: np.ndarray, guarded: bool, iterations: int, rng: np.random.Generator) -> np.ndarray:
    """A coin per pair. Guarded pairs are visited in random order; a leading BLANK keeps a first pair that lost."""
    heads = rng.random(len(probabilities)) < probabilities
    if not guarded:
        return heads.nonzero()[0]
    visit = rng.permutation(len(heads))
    drawn = visit[heads[visit]][:iterations]
    first_lost = len(visit) > 0 and not heads[visit[0]]
    return np.concatenate(([BLANK], drawn)) if first_lost else drawn


def _with_replacement(
    probabilities: np.ndarray, guarded: bool, iterations: int, rng: np.random.Generator
) -> np.ndarray:
    """As many draws as there are pairs (unguarded) or iterations (guarded), proportional to the probabilities."""
    mass = np.cumsum(np.maximum(probabilities, 0))
    if not len(mass) or mass[-1] <= 0:
        return np.empty(0, dtype=np.int64)
    draws = rng.random(iterations if guarded else len(mass)) * mass[-1]
    return np.minimum(np.searchsorted(mass, draws, side="right"), len(mass) - 1)


SAMPLERS = {
    sampler.name: sampler
    for sampler in (
        Sampler("bernoulli", _coins),
        Sampler("multinomial", _with_replacement),
        Sampler("released", _with_replacement, accumulates=True),
    )
}


def sampler_named(name: str) -> Sampler:
    if name not in SAMPLERS:
        raise UsageError(f"There is no sampler {name!r}; choose one of {', '.join(SAMPLERS)}.")
    return SAMPLERS[name]


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
) -> list[Candidate]:
    """Algorithm 1 for every graph of a batch, `k` times each.

    `iterations` caps the checks of a guarded group (T). With `reading="text"` the oracle is asked once when an
    unguarded group is done, as Section 4 says; with `"letter"` only inside guarded groups, as the pseudo-code
    says, so that the first check comes after the first missing pair and that pair can hide a flip for good.
    """
    owners = torch.arange(len(graphs)).repeat_interleave(k)
    run = _Run(graphs.select(owners), classes[owners], oracle, sampler.accumulates)
    rngs = [numpy_rng(seed, "sample", name, i % k) for i, name in enumerate(run.graphs.names)]
    scores = probabilities[owners].double().cpu().numpy()
    groups = list(order(run.graphs))
    run.start_from(groups)
    for group in groups:
        draws = run.draw(group, scores, sampler, iterations, rngs)
        if group.guarded:
            run.check_each(draws, skip_blank=reading == "text")
        else:
            run.take_all(draws)
            if reading == "text":
                run.check_once()
    return run.candidates()


class _Run:
    """The state of Algorithm 1 on all rows: A', which rows are still open, and what was found."""

    def __init__(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, accumulates: bool) -> None:
        self.graphs, self.classes, self.oracle, self.accumulates = graphs, classes, oracle, accumulates
        self.current = np.zeros_like(graphs.adjacency.numpy())  # A' (line 4)
        self.open = np.ones(len(graphs), dtype=bool)

    def start_from(self, groups: list[Group]) -> None:
        """Pairs that no group covers are not the method's to change: they stay as they are."""
        covered = torch.zeros_like(self.graphs.adjacency, dtype=torch.bool)
        for group in groups:
            covered |= group.pairs | group.pairs.transpose(1, 2)
        self.current = torch.where(covered, torch.zeros_like(self.graphs.adjacency), self.graphs.adjacency).numpy()

    def draw(
        self, group: Group, scores: np.ndarray, sampler: Sampler, iterations: int, rngs: list[np.random.Generator]
    ) -> dict[int, np.ndarray]:
        """For each open row, the pairs that enter A' in their order, int [m, 2]; BLANK rows are (-1, -1)."""
        open_ = self.open.nonzero()[0]
        which, u, v = group.pairs.numpy()[open_].nonzero()
        p, of_group = scores[open_[which], u, v], np.stack((u, v), 1)
        stops = np.searchsorted(which, np.arange(len(open_) + 1)).tolist()
        draws = {}
        for i, row in enumerate(open_.tolist()):
            mine = slice(stops[i], stops[i + 1])
            drawn = sampler.draw(p[mine], group.guarded, iterations, rngs[row])
            pairs = of_group[mine][drawn]
            if len(drawn) and drawn[0] == BLANK:
                pairs[0] = BLANK
            draws[row] = pairs
        return draws

    def take_all(self, draws: dict[int, np.ndarray]) -> None:
        """Line 7 for an unguarded group: a pair drawn is an edge, however often it was drawn."""
        for row, pairs in draws.items():
            self.current[row, pairs[:, 0], pairs[:, 1]] = self.current[row, pairs[:, 1], pairs[:, 0]] = 1

    def check_once(self) -> None:
        rows = self.open.nonzero()[0]
        if len(rows):
            self._ask(rows, self.current[rows])

    def check_each(self, draws: dict[int, np.ndarray], *, skip_blank: bool) -> None:
        """Lines 6-9 for a guarded group, in blocks of prefixes that grow fourfold."""
        left = {
            row: pairs[1:] if skip_blank and len(pairs) and pairs[0, 0] == BLANK else pairs
            for row, pairs in draws.items()
        }
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
            for u, v in pairs.tolist():
                if u != BLANK:
                    state[u * n + v] = state[v * n + u] = state[u * n + v] + 1 if self.accumulates else 1
                prefixes += state
            self.current[row] = np.frombuffer(state, dtype=np.uint8).reshape(n, n)
        rows = np.repeat(list(draws), [len(pairs) for pairs in draws.values()])
        return rows, np.frombuffer(prefixes, dtype=np.uint8).reshape(-1, n, n)

    def _ask(self, rows: np.ndarray, adjacency: np.ndarray) -> None:
        """Line 8: close the rows that flip, each with its first flip; and those whose budget is used up."""
        owner = torch.from_numpy(rows)
        first = self.oracle.first_flip(
            self.graphs.candidates(torch.from_numpy(adjacency), owner), owner, self.classes[owner]
        ).numpy()
        self.current[rows[first]] = adjacency[first]
        self.open[rows[first]] = False

    def candidates(self) -> list[Candidate]:
        """Lines 9 and 13: the flips, and for the rest a failure with its reason."""
        results = []
        for row in range(len(self.graphs)):
            if not self.open[row]:
                results.append(Candidate(torch.from_numpy(self.current[row])))
            elif self.oracle.exhausted(row):
                results.append(Candidate(None, BUDGET_USED_UP))
            else:
                results.append(Candidate(None, "no sampled graph changed the oracle's class"))
        return results
