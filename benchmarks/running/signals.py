"""Polite kills (SIGTERM, as cluster schedulers send it; SIGHUP, as a closed terminal does) end a command as Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

POLITE = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


@contextmanager
def terminate_like_interrupt() -> Iterator[None]:
    """Within it such a signal raises KeyboardInterrupt, so that worker processes are ended and a sentence is said.

    A signal that was ignored before stays ignored: `nohup` asks for that.
    """
    if threading.current_thread() is not threading.main_thread():  # others may not set handlers
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in POLITE}
    for number, handler in before.items():
        if handler != signal.SIG_IGN:
            signal.signal(number, interrupt)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
