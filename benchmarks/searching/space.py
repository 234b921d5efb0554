"""What is searched for hyper-parameters (appendix): a method's declared space on a data set, by one of two protocols.

`Search` says which cells a trial with given values is made of, and which cells the winner is measured on. `nested`
selects inside the training folds; `paper` on the test folds, as the released search did.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, cast

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from benchmarks.registry.methods import Method
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.cell import FOLDS, Cell, canonical, declared
from rsgg.hyperparameters import Choice, Interval
from rsgg.seeds import seed_for

Protocol = Literal["nested", "paper"]
Values = dict[str, Any]

UNSEEN = 1  # the replicate whose graphs no search looks at


@dataclass(frozen=True)
class Search:
    """One study: a method on a data set, by one protocol.

    `nested`: trials are measured on inner folds of the training graphs of the outer fold `folds[0]`, whose test graphs
    they never see. `paper`: trials are measured on the test folds `folds` themselves, as the paper's search was.
    """

    method: Method  # with the hyper-parameters that it has on this data set
    task: TaskEntry
    protocol: Protocol
    folds: tuple[int, ...]
    inner: int = 5
    inner_used: int = 3
    beyond: bool = False
    smoke: bool = False

    @classmethod
    def of(cls, method: Method, task: TaskEntry, protocol: str, folds: tuple[int, ...], **more: Any) -> Search:
        """The search with the method as it is on this task, which also is what it is on part of its graphs."""
        on_task = replace(method.for_task(task.name), tasks=None)
        return cls(on_task, task, cast(Protocol, protocol), folds, **more)

    @property
    def space(self) -> dict[str, Choice | Interval]:
        return self.method.load().search_space(beyond=self.beyond)

    @property
    def space_name(self) -> str:
        return "beyond" if self.beyond else "paper"

    @property
    def fold_name(self) -> str:
        return ",".join(map(str, self.folds)) if self.folds != tuple(range(FOLDS)) else f"0-{FOLDS - 1}"

    @property
    def title(self) -> str:
        beyond = ", beyond the paper" if self.beyond else ""
        fold = "outer fold" if self.protocol == "nested" else "test folds"
        method = f"{self.method.name} ({self.method.variant}{beyond})"
        return f"{self.task.name}, {method}, {self.protocol}, {fold} {self.fold_name}"

    @cached_property
    def name(self) -> str:
        """The study's name. Its last part is a hash of all that values depend on: other settings are another study."""
        space = {name: declared(part) for name, part in self.space.items()}
        depends_on = [[cell.definition for cell in self.cells({})], space, self.smoke]
        short = hashlib.sha256(canonical(depends_on).encode()).hexdigest()[:8]
        row = f"{self.method.name}.{self.method.variant}.{self.task.name}"
        return f"{row}.{self.protocol}.fold{self.fold_name}.{self.space_name}-{short}"

    def cells(self, values: Values) -> list[Cell]:
        """The cells of a trial with these values, in the order in which they are judged."""
        method = self.with_values(values)
        if self.protocol == "paper":
            return [Cell(self.task, method, fold) for fold in self.folds]
        training = self.task.training_graphs(self.folds[0], FOLDS)
        return [Cell(training, method, fold, self.inner) for fold in range(self.inner_used)]

    def test_cells(self, values: Values) -> list[Cell]:
        """Where the winner is measured: on graphs that chose nothing, if there are any.

        Nested, they are the test graphs of the outer fold. The paper's protocol has used them up; what is left are
        graphs that are generated anew, where graphs can be.
        """
        method = self.with_values(values)
        if self.protocol == "nested":
            return [Cell(self.task, method, self.folds[0])]
        unseen = self.task.replicate(UNSEEN)
        return [] if unseen == self.task else [Cell(unseen, method, fold, seed=UNSEEN) for fold in self.folds]

    def with_values(self, values: Values) -> Method:
        method = self.method.with_options(values)
        return method.tiny() if self.smoke else method

    def given(self) -> list[Values]:
        """The first questions: the paper's best values, then the catalogue's, where the space holds them.

        So what is found is no worse than the paper's choice for want of luck. Values of the paper that the space lacks
        are filled in from the catalogue, or else drawn.
        """
        explainer = self.method.build()
        best = {option.name: option.metadata["paper"] for option in fields(explainer) if option.name in self.space}
        ours = {name: getattr(explainer, name) for name in self.space}
        inside = {name for name, part in self.space.items() if holds(part, ours[name])}
        paper = {name: best[name] for name, part in self.space.items() if holds(part, best[name])}
        first = {**{name: ours[name] for name in inside}, **paper}
        return [first, ours] if inside == set(self.space) and ours != first else [first]

    def seed(self, number: int) -> int:
        """The seed of the sampler of this trial (32 bits, which is what samplers take)."""
        method = self.method
        names = ("hpo", method.name, method.variant, self.task.name, self.protocol, self.fold_name, number)
        return seed_for(*names) % 2**32


def holds(space: Choice | Interval, value: Any) -> bool:
    """Does the space hold this value?"""
    if isinstance(space, Choice):
        return value in space.values
    return isinstance(value, int | float) and space.low <= value <= space.high


def distribution(space: Choice | Interval) -> BaseDistribution:
    """The space as Optuna knows it. Equally spaced numbers are a range with a step, so that TPE knows their order."""
    if isinstance(space, Interval):
        return FloatDistribution(space.low, space.high, log=space.log)
    values = space.values
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if numeric and len(values) > 2:
        step = (values[-1] - values[0]) / (len(values) - 1)
        if step > 0 and all(abs(values[0] + i * step - value) < 1e-9 for i, value in enumerate(values)):
            whole = all(isinstance(value, int) for value in values)
            return (
                IntDistribution(values[0], values[-1], step=round(step))
                if whole
                else FloatDistribution(values[0], values[-1], step=round(step, 9))
            )
    return CategoricalDistribution(values)


def exactly(space: Choice | Interval, drawn: Any) -> Any:
    """The declared value that was drawn: sums of steps are not exact, and cells are addressed by exact values."""
    if isinstance(space, Interval) or drawn in space.values:
        return drawn
    return min(space.values, key=lambda value: abs(value - drawn))
