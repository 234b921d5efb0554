"""Progress of long fits: methods `tell` how far they are, and `fit(verbose=True)` prints it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def tell(text: str) -> None:
    """Say how far something is; heard by whoever listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(text)


@contextmanager
def listening(listener: Callable[[str], None] | None) -> Iterator[None]:
    """Within it `listener` is called with what methods tell; None hears nothing."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def printed(text: str) -> None:
    """To the error stream, so that what a program prints stays what it is."""
    print(text, file=sys.stderr, flush=True)
