"""What a finding is, and how one is entered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.judging.evidence import Evidence

CONFIRMED, PARTLY, OPEN, NOT_CONFIRMED = "confirmed", "partly confirmed", "open", "not confirmed"
TABLE1 = "./reproduce.sh table1"


@dataclass(frozen=True)
class Finding:
    """A line of findings.csv, but for its number and title."""

    paper: str
    artefacts: str
    measured: str
    verdict: str
    command: str = TABLE1


FINDINGS: dict[int, tuple[str, Callable[[Evidence], Finding]]] = {}


def finding(number: int, title: str) -> Callable[[Callable[[Evidence], Finding]], Callable[[Evidence], Finding]]:
    """Enter a function into the findings; its docstring is the rule of its verdict."""

    def enter(function: Callable[[Evidence], Finding]) -> Callable[[Evidence], Finding]:
        FINDINGS[number] = title, function
        return function

    return enter


def numbers(values: list[float], decimals: int = 3) -> str:
    return ", ".join(f"{value:.{decimals}f}" for value in values)


def verdict_of(*parts: bool) -> str:
    """Confirmed if all parts hold, partly if some do."""
    return CONFIRMED if all(parts) else PARTLY if any(parts) else NOT_CONFIRMED
