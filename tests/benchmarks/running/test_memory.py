"""Memory that is freed stays with the process: how many pages the system has to hand out says whether it does."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

COUNTED = """
import resource
import sys
import numpy as np
from benchmarks.running.memory import keep_freed_memory

if sys.argv[1] == "kept":
    assert keep_freed_memory()
for step in range(20):
    if step == 10:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    some = [np.ones(1 << 20) for _ in range(8)]
    del some
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages(kept: str) -> int:
    """That the system hands out while arrays of 64 MB are made and freed ten times."""
    done = subprocess.run([sys.executable, "-c", COUNTED, kept], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such option")
def test_freed_memory_is_used_again() -> None:
    assert pages("kept") < 100 < pages("not kept") / 10
