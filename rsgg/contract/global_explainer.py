"""What every global explainer promises: `check_global_explainer(MyGlobalExplainer)`.

The checks use the small graphs of `check_explainer`: trees, and trees with cycles, with the oracle of Tree-Cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from itertools import pairwise

import numpy as np

from rsgg.contract.checking import ContractViolation, require, run_checks
from rsgg.contract.explainer import training_graphs
from rsgg.errors import NotFittedError, RSGGError
from rsgg.global_explainer import GlobalExplainer, GlobalResult
from rsgg.oracles.counting import CountingOracle
from rsgg.oracles.tree_cycles import TreeCyclesOracle

TARGET, K = 0, 3


def check_global_explainer(explainer: type[GlobalExplainer] | GlobalExplainer) -> list[str]:
    """One line for each promise that it keeps; `ContractViolation` with a sentence at the first it breaks.

    A class is tested in its `tiny()` preset, an instance as it is configured.
    """
    return run_checks(CHECKS, Subject(explainer))


class Subject:
    """The explainer under test, fitted once for all checks."""

    def __init__(self, explainer: type[GlobalExplainer] | GlobalExplainer) -> None:
        cls = explainer if isinstance(explainer, type) else type(explainer)
        if not issubclass(cls, GlobalExplainer):
            raise ContractViolation(f"{cls.__name__} is no global explainer; subclass rsgg.GlobalExplainer.")
        self.explainer = explainer.tiny() if isinstance(explainer, type) else explainer
        self.graphs, self.oracle = training_graphs(), CountingOracle(TreeCyclesOracle())

    @property
    def name(self) -> str:
        return type(self.explainer).__name__

    @cached_property
    def result(self) -> GlobalResult:
        return self.explainer.fit(self.graphs, self.oracle, target=TARGET, seed=1).summarise(K)


def cannot_summarise_before_it_is_fitted(subject: Subject) -> None:
    """Asked for a summary before it is fitted, it raises NotFittedError."""
    fresh = type(subject.explainer)(
        **{part.name: getattr(subject.explainer, part.name) for part in fields(subject.explainer)}
    )
    try:
        fresh.summarise()
    except NotFittedError:
        return
    require(False, f"{subject.name} gave a summary before it was fitted; leave `summarise` to the base class.")


def gives_few_graphs_of_the_wanted_class(subject: Subject) -> None:
    """A summary has at most k graphs, all of the wanted class by the oracle."""
    graphs = subject.result.graphs
    require(len(graphs) <= K, f"{subject.name} gave {len(graphs)} graphs where {K} were asked for.")
    if graphs:
        classes = subject.oracle.check(subject.graphs.of(list(graphs)))
        require(bool((classes == TARGET).all()), f"{subject.name} gave a graph that is not of the wanted class.")


def covers_what_its_bounds_say(subject: Subject) -> None:
    """Bounds are ordered, and a longer summary covers at least as much, at no higher cost."""
    result = subject.result
    require(bool((result.lower <= result.upper).all()), f"{subject.name}: a lower bound is above its upper bound.")
    shares = [result.coverage(k=k) for k in range(K + 1)]
    costs = [result.cost(k=k) for k in range(K + 1)]
    rising = all(a.low <= b.low and a.high <= b.high for a, b in pairwise(shares))
    falling = all(a.low >= b.low and a.high >= b.high for a, b in pairwise(costs))
    require(rising and falling, f"{subject.name}: another graph in the summary made it worse.")


def depends_on_its_seed_alone(subject: Subject) -> None:
    """The same seed gives the same graphs."""
    again = subject.explainer.fit(subject.graphs, TreeCyclesOracle(), target=TARGET, seed=1).summarise(K)
    same = len(again.graphs) == len(subject.result.graphs) and all(
        np.array_equal(a.adjacency, b.adjacency) for a, b in zip(again.graphs, subject.result.graphs, strict=True)
    )
    require(same, f"{subject.name} gave other graphs with the same seed; draw from rsgg.seeds only.")


def counts_and_keeps_to_a_budget(subject: Subject) -> str | None:
    """It counts its questions, and never asks more often than a budget allows."""
    require(subject.result.calls >= len(subject.graphs), f"{subject.name} does not count its questions.")
    budget = len(subject.graphs) + 30
    counted = CountingOracle(TreeCyclesOracle(), budget)
    try:
        subject.explainer.fit(subject.graphs, counted, target=TARGET)
    except RSGGError as error:
        return f"it takes no budget ({error})"
    require(counted.calls <= budget, f"{subject.name} asked {counted.calls} times with a budget of {budget}.")
    return None


CHECKS: tuple[Callable[[Subject], str | None], ...] = (
    cannot_summarise_before_it_is_fitted,
    gives_few_graphs_of_the_wanted_class,
    covers_what_its_bounds_say,
    depends_on_its_seed_alone,
    counts_and_keeps_to_a_budget,
)
