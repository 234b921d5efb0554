"""What a claim is: a statement of the paper's prose with a check that can be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.judging.evidence import Evidence
from benchmarks.registry.tasks import of_paper

DATASETS = {task.name: task.label for task in of_paper()}
DRAWN = ("cf2", "clear", "g-countergan")  # the others in the paper's pictures, and in its search
COMPETITORS = (*DRAWN, "meg")
LEDGER = "ledger of Table 1"

TOLERANCE = 0.1  # of a value's level: a change by less leaves it unaffected
CORRECTNESS_TOLERANCE = 0.05
SURE = 1.96  # standard errors


class Outcome(NamedTuple):
    """Whether a claim holds in one variant, and the numbers that say so."""

    holds: bool
    evidence: str


class DoesNotApply(Exception):
    """A claim has no meaning in one of the variants; the message says why."""


Check = Callable[[Evidence, str], Outcome]


@dataclass(frozen=True)
class Claim:
    """A statement of the paper in our words, where it stands (section, part), and its check."""

    statement: str
    place: str
    check: Check
    of_data: bool  # about data that both variants share: checked once


class Claims(list[Claim]):
    """The claims of a part of the paper, in its order."""

    def add(self, statement: str, place: str, *, of_data: bool = False) -> Callable[[Check], Check]:
        """Enter a check; its docstring is the rule of its verdict."""

        def enter(check: Check) -> Check:
            self.append(Claim(statement, place, check, of_data))
            return check

        return enter


def listed(values: Mapping[str, float], shown: str = ".3f") -> str:
    return ", ".join(f"{name} {value:{shown}}" for name, value in values.items())


def all_of(outcomes: Sequence[Outcome], source: str) -> Outcome:
    """The outcome of several together, with the file that they come from."""
    return Outcome(all(o.holds for o in outcomes), f"{'; '.join(o.evidence for o in outcomes)} ({source}).")
