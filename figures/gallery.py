"""All figures at once: `./reproduce.sh figures`.

Modules are drawn side by side, each in a process of its own: a figure depends on stored results alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from pathlib import Path

import joblib

from benchmarks.results.files import StoreError
from benchmarks.results.reader import Results
from figures.figure import REPORT, Edition, Entry, record, saved

MODULES = (  # in the order of the paper, then what lies beyond it
    "tradeoff", "ablation", "qualitative", "runtime", "convergence", "pictograms", "difference", "method",
    "budget", "break_even", "pareto", "per_class", "paired", "edge_scores", "consensus", "real_data",
    "robustness", "noise",
    "molecules",
)  # fmt: skip
LONGEST_FIRST = ("pictograms", "qualitative", "difference", "consensus", "budget")


def draw_all(results: Results, out: Path, jobs: int, edition: Edition = REPORT) -> Iterator[Entry]:
    """Draw every figure, in the order of the gallery."""
    order = sorted(MODULES, key=lambda module: module not in LONGEST_FIRST)
    parallel = joblib.Parallel(n_jobs=min(jobs, len(order)), batch_size=1)
    try:
        drawn = parallel(joblib.delayed(_drawn)(module, results.again(), out, edition) for module in order)
    except BrokenProcessPool as error:  # joblib's own error for a worker that was killed is one of these
        raise StoreError(
            "A process that drew figures was killed, perhaps for want of memory; give the same command again with "
            "--jobs 1."
        ) from error
    by_module = dict(zip(order, drawn, strict=True))
    entries = [entry for module in MODULES for entry in by_module[module]]
    record(entries, out)
    yield from entries


def _drawn(module: str, results: Results, out: Path, edition: Edition) -> list[Entry]:
    return saved(module, import_module(f"figures.{module}").draw, results, out, edition)
