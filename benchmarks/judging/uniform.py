"""Predictions for the released sampler if all its probabilities are equal, i.e. if the generator has no influence.

As many draws *with replacement* as a graph has edges keep each edge with probability 1 - (1 - 1/E)^E ≈ 1 - 1/e; then
single draws from all pairs are added, with a check after each (`rsgg.rsgg_ce.released`). Two predictions that share no
code with it:

- closed form (Correctness): a cyclic graph is explained iff every cycle loses an edge. All of j given edges are drawn
  with probability Σ_i (-1)^i C(j, i) (1 - i/E)^E, so k separate cycles of s edges are all cut with probability
  Σ_i (-1)^i C(k, i) P(i·s edges are all drawn). Additions never cut a cycle. Trees are always explained: five hundred
  added edges close a cycle.
- Monte Carlo (Correctness and GED): the same two phases on graphs of the same kind, with a union-find.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import comb
from typing import Any, NamedTuple

import numpy as np

from rsgg.data import TreeCycles
from rsgg.seeds import numpy_rng

ITERATIONS = 500  # T, draws of the second phase
SIMULATED = 600  # graphs per prediction
SEED = 1_000_003  # of the simulated graphs: none of them is in any replicate


@cache
def all_drawn(j: int, edges: int) -> Fraction:
    """P(E uniform draws with replacement from E edges contain all of j given ones), exactly.

    The alternating sum has terms far larger than itself; with whole numbers over E^E nothing cancels.
    """
    whole = sum((-1) ** i * comb(j, i) * (edges - i) ** edges for i in range(j + 1))
    return Fraction(whole, edges**edges)


def all_cut(n_cycles: int, cycle_size: int, edges: int) -> float:
    """P(each of k separate cycles of s edges loses at least one edge)."""
    return float(sum((-1) ** i * comb(n_cycles, i) * all_drawn(i * cycle_size, edges) for i in range(n_cycles + 1)))


def correctness(spec: TreeCycles, cyclic: float = 0.5) -> float:
    """Correctness of the uniform sampler on such graphs, `cyclic` of them with cycles: the closed form."""
    choices = spec.cycle_choices()
    cut = [all_cut(number, size, spec.n_nodes - 1 + number) for number, size in choices]
    return 1 - cyclic + cyclic * sum(cut) / len(cut)


@dataclass(frozen=True)
class Simulated:
    """Means and standard errors over simulated graphs, both classes weighing alike."""

    correctness: float
    correctness_se: float
    ged: float
    ged_se: float


class Predicted(NamedTuple):
    """What the uniform sampler is predicted to score on data of one kind."""

    n_nodes: int
    closed_form: float
    correctness: float
    correctness_se: float
    ged: float
    ged_se: float


def predicted(options: Mapping[str, Any]) -> Predicted:
    """Both predictions for Tree-Cycles with these options; they do not depend on how many graphs there are."""
    return _predicted(tuple(sorted((name, value) for name, value in options.items() if name != "n_graphs")))


@cache
def _predicted(options: tuple[tuple[str, Any], ...]) -> Predicted:
    spec = TreeCycles(**dict(options))
    found = simulate(spec)
    return Predicted(spec.n_nodes, correctness(spec), found.correctness, found.correctness_se, found.ged, found.ged_se)


def simulate(spec: TreeCycles, graphs: int = SIMULATED) -> Simulated:
    """The two phases on `graphs` graphs of this kind."""
    data = replace(spec, n_graphs=graphs, seed=SEED).load()
    rng = numpy_rng("uniform sampler", spec.n_nodes, spec.cycle_choices())
    outcomes = np.array(
        [
            _explained(graph.edges(), bool(label), spec.n_nodes, rng)
            for graph, label in zip(data.graphs, data.labels, strict=True)
        ]
    )
    classes = [outcomes[data.labels.numpy() == c] for c in (0, 1)]
    mean = sum(of_class.mean(0) for of_class in classes) / 2
    se = np.sqrt(sum(of_class.var(0, ddof=1) / len(of_class) for of_class in classes)) / 2
    return Simulated(*(float(value) for value in (mean[0], se[0], mean[1], se[1])))


def _explained(edges: list[tuple[int, int]], cyclic: bool, n: int, rng: np.random.Generator) -> tuple[float, float]:
    """Is the class changed, and with how many edits (0 where it is not)?"""
    kept = {edges[i] for i in rng.integers(len(edges), size=len(edges))}
    forest = _Forest(n)
    closed = [forest.join(u, v) for u, v in kept]
    if cyclic != any(closed):
        return 1.0, float(len(edges) - len(kept))
    if cyclic:
        return 0.0, 0.0  # no addition opens a cycle
    for _ in range(ITERATIONS):
        u, v = sorted(rng.choice(n, size=2, replace=False).tolist())
        if (u, v) not in kept:
            kept.add((u, v))
            if forest.join(u, v):
                return 1.0, float(len(kept ^ set(edges)))
    return 0.0, 0.0


class _Forest:
    """Union-find."""

    def __init__(self, n: int) -> None:
        self.parent = list(range(n))

    def root(self, v: int) -> int:
        while self.parent[v] != v:
            self.parent[v] = v = self.parent[self.parent[v]]
        return v

    def join(self, u: int, v: int) -> bool:
        """Join two nodes; True if they were joined already: the edge closes a cycle."""
        a, b = self.root(u), self.root(v)
        self.parent[a] = b
        return a == b
