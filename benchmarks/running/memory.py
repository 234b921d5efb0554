"""Memory that a process has freed stays with it, ready for the next step of a training."""

from __future__ import annotations

import ctypes
from functools import cache

MOST_KEPT = 1 << 28  # bytes: larger pieces go back to the system when they are freed
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h


@cache
def keep_freed_memory() -> bool:
    """Tell the C library to keep memory that is freed; returns whether it does (glibc only, once per process).

    A step of a training frees some ten arrays of megabytes, which come back in the next step. By default glibc returns
    them to the system, which fills them with zeros again: up to a fifth of the time of a training. Results do not
    depend on it.
    """
    try:
        set_option = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False
    return all(set_option(option, MOST_KEPT) for option in (TRIM_THRESHOLD, MMAP_THRESHOLD))
