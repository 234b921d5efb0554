"""What the tests of runs share: what is stored, and experiments as processes that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.results.files import ROOT
from benchmarks.results.ledger import Damaged, Store, content_hash, fingerprint


def fingerprints(folder: Path) -> dict[str, str]:
    """Cell -> content without times, training curves included; fails on anything damaged."""
    found = {}
    for path, key, cell in Store(folder).everything():
        assert not isinstance(cell, Damaged), (path, cell)
        found[key] = fingerprint(cell.table) + (content_hash(cell.history) if cell.history is not None else "")
    return found


def stored_files(folder: Path) -> list[Path]:
    return list(folder.rglob("seed*[0-9a-f].parquet"))


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".rsgg-")]


def start(folder: Path, jobs: int, *methods: str, delay: float = 0.0) -> subprocess.Popen[str]:
    """The stand-in experiment (twelve cells of each method) as a process of its own, in a process group of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RSGG_TEST_DELAY": str(delay), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-c", "from tests.standins import main; main()", str(folder), str(jobs), *methods]
    return subprocess.Popen(
        program, env=environment, text=True, start_new_session=True, preexec_fn=hear_interrupts,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def hear_interrupts() -> None:
    """A shell's background jobs are born deaf to Ctrl-C, and so would be what these tests start and interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_cells(folder: Path, n: int, process: Any) -> None:
    end = time.monotonic() + 120
    while len(stored_files(folder)) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "the run did not get anywhere"
        time.sleep(0.02)
