"""What a claim is: a statement of the paper's prose, the sentence it stands for, and a check that can be run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.judging.evidence import Evidence
from benchmarks.registry import methods
from benchmarks.registry.rules import NOT_COMPARABLE
from benchmarks.registry.tasks import of_paper
from rsgg.trends import PValues, both, counted

DATASETS = {task.name: task.label for task in of_paper()}
PICTURED_RIVALS = ("cf2", "clear", "g-countergan")  # the others in the paper's pictures, and in its search
COMPETITORS = (*PICTURED_RIVALS, "meg")
LEDGER = "ledger of Table 1"

HOLDS, FAILS, UNDECIDED, NOT_MEASURED, DOES_NOT_APPLY = "holds", "fails", "undecided", "not measured", "does not apply"


class Outcome(NamedTuple):
    """Whether a claim is shown to hold or to fail in one variant, and the numbers that say so."""

    tested: PValues
    evidence: str


class NotJudged(Exception):
    """A claim has no verdict in one of the variants; the message says why."""

    verdict = DOES_NOT_APPLY


class NotComparable(NotJudged):
    """What was measured here is another thing than what the claim is about."""

    verdict = NOT_COMPARABLE


Check = Callable[[Evidence, str], Outcome]


@dataclass(frozen=True)
class Claim:
    """A line of results/paper/claims.csv with its check.

    Args:
        statement, place, quotation: what is claimed, in our words; section and part; the paper's own words.
        of_data: about data that both variants share, hence checked once.
        against: the methods that RSGG-CE is compared with.
    """

    statement: str
    place: str
    quotation: str
    of_data: bool
    against: tuple[str, ...]
    check: Check


class Checks(dict[str, Check]):
    """The checks of a part of the paper, by the id of their claim; the docstring of each is the rule of its verdict."""

    def of(self, name: str) -> Callable[[Check], Check]:
        def enter(check: Check) -> Check:
            self[name] = check
            return check

        return enter


def listed(values: Mapping[str, float], shown: str = ".3f") -> str:
    """Names with their values; methods by their public names."""
    return ", ".join(f"{methods.label(name)} {value:{shown}}" for name, value in values.items())


def count(holds: bool, evidence: str) -> Outcome:
    """The outcome of what is counted, not estimated."""
    return Outcome(counted(holds), evidence)


def all_of(outcomes: Sequence[Outcome], source: str) -> Outcome:
    """The outcome of several together, with the file that they come from."""
    evidence = "; ".join(outcome.evidence for outcome in outcomes)
    return Outcome(both(*(outcome.tested for outcome in outcomes)), f"{evidence} ({source}).")
