"""What users type: lists of names and numbers, "module:object" references, and the sentence for a wrong one."""

from __future__ import annotations

import os
import re
import reprlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from rsgg.errors import RSGGError, UsageError


def names(asked: Sequence[str] | None) -> list[str]:
    """["a,b", "c"] -> ["a", "b", "c"], without repetitions."""
    parts = [part.strip() for text in asked or () for part in text.split(",")]
    found = list(dict.fromkeys(part for part in parts if part))
    if asked and not found:
        raise UsageError(f"{','.join(asked)!r} names nothing; give names separated by commas, or leave the option out.")
    return found


LARGEST_NUMBER, MOST_NUMBERS = 10**6, 10**4  # of folds and seeds: more than any experiment has


def numbers(asked: Sequence[str] | None, what: str) -> tuple[int, ...]:
    """["0-2,5"] -> (0, 1, 2, 5), without repetitions, in rising order."""
    found: set[int] = set()
    for part in names(asked):
        first, dash, last = part.partition("-")
        if not first.isascii() or not first.isdigit() or (dash and not (last.isascii() and last.isdigit())):
            raise UsageError(f"{part!r} is not a {what}; give numbers such as 0-3,7.")
        if len(first) > 12 or len(last) > 12 or int(last or first) > LARGEST_NUMBER or int(first) > LARGEST_NUMBER:
            raise UsageError(f"{reprlib.repr(part)} is too large for a {what}; give numbers up to {LARGEST_NUMBER}.")
        if dash and int(last) < int(first):
            raise UsageError(f"The range {part!r} of {what}s is empty; give the smaller number first.")
        found.update(range(int(first), int(last if dash else first) + 1))
        if len(found) > MOST_NUMBERS:
            raise UsageError(f"{reprlib.repr(part)} asks for more than {MOST_NUMBERS} {what}s; give fewer of them.")
    return tuple(sorted(found))


def unknown(what: str, asked: str, known: Sequence[str]) -> UsageError:
    """The error for a name that does not exist, with the nearest one that does."""
    near = get_close_matches(asked, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
    return UsageError(f"There is no {what} {asked!r}; {hint}")


def imported(reference: str) -> Any:
    """The object that "module:name" refers to, from the Python path or the current folder."""
    module, _, name = reference.partition(":")
    if not name:
        raise UsageError(f"{reference!r} names nothing in a module; write module:name, such as my_module:MyExplainer.")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found: Any = import_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"{module!r} (asked for as {reference!r}) cannot be imported: {error}; "
            "give a module on the Python path or in this folder."
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise UsageError(f"The module {module!r} has no {name!r}; check the name after the colon in {reference!r}.")
        found = getattr(found, part)
    return found


def made(found: Any, reference: str) -> Any:
    """What a class or a function without arguments makes; one sentence where it cannot."""
    try:
        return found()
    except RSGGError:
        raise
    except Exception as error:
        raise UsageError(
            f"{reference} cannot be called without arguments ({type(error).__name__}: {error}); name something that "
            "can, or an object that is made already."
        ) from error


def reference(asked: str, group: str) -> str | None:
    """ "module:name" as it is; the name of an entry point of this group as what it stands for; None for anything else.

    An entry point is how an installed package offers its explainers (group `rsgg.explainers`) and tasks (`rsgg.tasks`).
    """
    if ":" in asked:
        return asked
    found = [point.value for point in entry_points(group=group) if point.name == asked]
    return found[0] if found else None


def check_new(what: str, name: str, known: Sequence[str]) -> None:
    """A name from outside the project must not be one that is known already, and fit into a name of a file."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}", name):
        raise UsageError(
            f"A {what} cannot be called {reprlib.repr(name)}; give it a name of at most 100 letters, digits and any of "
            "-_.+ that begins with a letter or a digit."
        )
    if name in known:
        raise UsageError(f"There is a {what} called {name!r} already; give yours another name.")
