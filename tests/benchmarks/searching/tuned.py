"""A method with hyper-parameters to search for, on small graphs, and its search as a program that tests can kill."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import torch

from benchmarks import hpo
from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.registry.tasks import TREE_CYCLES
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store
from benchmarks.running.experiment import run_cells
from benchmarks.running.options import HpoOptions
from benchmarks.running.run_cell import Report
from benchmarks.searching.space import Search
from rsgg.counterfactual import Candidate
from rsgg.errors import FitError
from rsgg.explainer import Capabilities, Explainer
from rsgg.hyperparameters import Choice, Interval, hyper
from rsgg.seeds import seed_for

DATA = TREE_CYCLES.varied({"n_nodes": 10, "n_graphs": 60, "max_cycle_nodes": 4})


@dataclass(kw_only=True)
class Tuned(Explainer):
    """Explains the better the nearer `share` is to .8 and `weight` to .3; with one of its modes it cannot be fitted."""

    share: float = hyper(0.9, "p", space=Choice(tuple(i / 10 for i in range(1, 11))), paper=0.4)
    weight: float = hyper(0.5, "w", space=Interval(0.0, 1.0), paper=2.0)
    mode: str = hyper("plain", "mode", space=Choice(("plain", "other", "broken")), paper="plain")
    secret: float = hyper(0.0, "s", space=Interval(0.0, 1.0), paper=0.0, beyond=True)
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, learns=True)

    def _fit(self, graphs, classes, oracle, seed):
        if self.mode == "broken":
            raise FitError("This mode cannot be fitted; use another.")

    def _explain(self, graphs, classes, oracle, k, seed):
        time.sleep(float(os.environ.get("RSGG_TEST_DELAY", 0)))
        chance = 1 - abs(self.share - 0.8) - 0.3 * abs(self.weight - 0.3)
        full = 1 - torch.eye(graphs.n_nodes, dtype=torch.uint8)
        answers = []
        for name, c in zip(graphs.names, classes.tolist(), strict=True):
            lucky = seed_for(seed, name) % 1000 < 1000 * chance
            answers.append(Candidate(full * (c == 0)) if lucky else Candidate(None, "no luck"))
        return answers


TUNED = Method("tuned", "faithful", "tests.benchmarks.searching.tuned:Tuned", "Tuned")
SEARCH = Search.of(TUNED, DATA, "nested", (0,))
PAPER = Search.of(TUNED, DATA, "paper", (0, 1, 2, 3))
ROWS = [*methods.METHODS, TUNED]
TASKS = [DATA if task.name == DATA.name else task for task in tasks.TASKS]


def options(out: Path, **values: Any) -> HpoOptions:
    return HpoOptions(**{"methods": ["tuned"], "out": out, "jobs": 1, "trials": 12, **values})


def search_for(out: Path, **values: Any) -> int:
    """Search in this process: nothing but the number of workers differs, and starting one takes seconds."""
    with mock.patch.object(hpo, "run_cells", _here):
        return hpo.Hpo().run(options(out, **values))


def _here(cells: Sequence[Cell], store: Store, work: Any, *, jobs: int, **more: Any) -> Report:
    return run_cells(cells, store, work, jobs=0, **more)


def main() -> None:
    """Arguments: folder, number of trials, storage (none by default)."""
    methods.METHODS, tasks.TASKS = ROWS, TASKS
    folder, trials, *storage = sys.argv[1:]
    sys.exit(search_for(Path(folder), trials=int(trials), storage="".join(storage)))
