"""What a finding is, and how one is entered."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from benchmarks.judging.evidence import Evidence
from benchmarks.registry.rules import CONFIRMED, IN_PART, NOT_CONFIRMED

TABLE1 = "./reproduce.sh table1"
BOTH = ("tree-cycles", "asd")  # the paper's data sets


@dataclass(frozen=True)
class Finding:
    """A line of findings.csv, but for its number and title: what the paper says, what its data or released artefacts
    say, what was measured, the conditions with whether each holds, and the command to see it again."""

    paper: str
    artefacts: str
    measured: str
    conditions: Mapping[str, bool]
    command: str = TABLE1

    @property
    def verdict(self) -> str:
        """Confirmed if all conditions hold, in part if some do."""
        holds = self.conditions.values()
        return CONFIRMED if all(holds) else IN_PART if any(holds) else NOT_CONFIRMED

    def which(self, holds: bool) -> str:
        """The conditions that hold, or those that do not."""
        return "; ".join(words for words, held in self.conditions.items() if held == holds)


FINDINGS: dict[int, tuple[str, Callable[[Evidence], Finding]]] = {}


def finding(number: int, title: str) -> Callable[[Callable[[Evidence], Finding]], Callable[[Evidence], Finding]]:
    """Enter a function into the findings."""

    def enter(function: Callable[[Evidence], Finding]) -> Callable[[Evidence], Finding]:
        FINDINGS[number] = title, function
        return function

    return enter


def numbers(values: list[float], decimals: int = 3) -> str:
    return ", ".join(f"{value:.{decimals}f}" for value in values)
