"""How checks are run and what they say: shared by the contracts of explainers, oracles and tasks.

A check is a function of the thing that is checked. It raises `ContractViolation` (by `require`) where the promise is
broken, returns None where it is kept, and returns a reason where it does not apply.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from rsgg.errors import RSGGError


class ContractViolation(RSGGError, AssertionError):
    """A promise of the contract is broken; the sentence says which and what to do."""


class Named(Protocol):
    """Anything that a sentence can call by a name."""

    @property
    def name(self) -> str: ...


Subject = TypeVar("Subject", bound=Named)


def require(kept: bool, sentence: str) -> None:
    if not kept:
        raise ContractViolation(sentence)


def run_check(check: Callable[[Subject], str | None], subject: Subject) -> str:
    """Run one check; the line that says what was kept, or why it was not checked.

    Whatever the subject raises where it should not becomes a violation.
    """
    try:
        not_checked = check(subject)
    except ContractViolation:
        raise
    except Exception as error:
        sentence = f"{subject.name} raised {type(error).__name__} in {check.__name__}: {error}"
        raise ContractViolation(sentence) from error
    promise = (check.__doc__ or "").strip().splitlines()[0].rstrip(".")
    title = check.__name__.replace("_", " ")
    return f"{title}: not checked, {not_checked}" if not_checked else f"{title}: {promise}"


def run_checks(checks: Sequence[Callable[[Subject], str | None]], subject: Subject) -> list[str]:
    """Run all checks in their order, up to the first violation; one line for each."""
    return [run_check(check, subject) for check in checks]


def require_plain_json(values: object, whose: str) -> None:
    """`parameters()` must be a dictionary that JSON gives back as it was."""
    sentence = (
        f"{whose} has parameters() {values!r}; return a dictionary of plain JSON values (numbers, texts, True, False, "
        "None, lists and dictionaries with texts as keys)."
    )
    try:
        same = isinstance(values, dict) and json.loads(json.dumps(values, allow_nan=False)) == values
    except (TypeError, ValueError):
        same = False
    require(same, sentence)
