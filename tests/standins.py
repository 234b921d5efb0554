"""Stand-ins for methods and an experiment made of them: what the tests of store, runner and command line run.

Run as a program (`python -c "from tests.standins import main; main()"`), it is the experiment as the command line
would run it, for tests that kill and interrupt it.
"""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import torch

from benchmarks.catalogue import Method
from benchmarks.cell import Cell, grid
from benchmarks.options import RunOptions
from rsgg.data import TreeCycles
from rsgg.errors import FitError
from rsgg.explainer import Candidate, Capabilities, Explainer, hyper

DATA = TreeCycles(n_nodes=10, n_graphs=24, max_cycle_nodes=4)


@dataclass(kw_only=True)
class Draws(Explainer):
    """Flips random node pairs; draws from the *global* generator, as dropout does, and from its seed."""

    flips: int = hyper(2, "f")
    device: str = "cpu"
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, learns=True, may_return_invalid=True)
    encoding: ClassVar[str] = "structural"

    def _fit(self, graphs, classes, oracle, seed):
        assert "structural" in graphs.encodings, "the runner attaches encodings before the clock starts"
        self.shift_ = torch.rand(())
        self.history_ = [{"epoch": epoch, "loss": float(torch.rand(()))} for epoch in range(3)]

    def _explain(self, graphs, classes, oracle, k, seed):
        time.sleep(float(os.environ.get("RSGG_TEST_DELAY", 0)))  # no hyper-parameter: it does not change results
        generator = torch.Generator().manual_seed(seed)
        n, answers = graphs.n_nodes, []
        for graph in graphs.adjacency.repeat_interleave(k, 0):
            edited = graph.clone()
            for _ in range(self.flips):
                u, v = torch.randperm(n, generator=generator)[:2]
                w = int(self.shift_ * n + torch.rand(()) * n) % n
                for a, b in ((u, v), (u, w)):
                    if a != b:
                        edited[a, b] = edited[b, a] = 1 - edited[a, b]
            answers.append(Candidate(edited))
        return answers

    @classmethod
    def tiny(cls):
        return cls(flips=1)


@dataclass(kw_only=True)
class Raises(Draws):
    """Fails in one fold of the run, as a bug would."""

    def _explain(self, graphs, classes, oracle, k, seed):
        raise ZeroDivisionError("a bug\nin two lines")


@dataclass(kw_only=True)
class Unfittable(Draws):
    def _fit(self, graphs, classes, oracle, seed):
        raise FitError("These graphs cannot be learnt from; use others.")


DRAWS = Method("draws", "control", Draws)
RAISES = Method("raises", "control", Raises)
UNFITTABLE = Method("unfittable", "control", Unfittable)
ELSEWHERE = Method("elsewhere", "control", Draws, datasets=("asd",))
METHODS = {method.name: method for method in (DRAWS, RAISES, UNFITTABLE, ELSEWHERE)}


def cells(methods=(DRAWS,), folds=(0, 1, 2), of=4, seeds=(0,), k=1) -> list[Cell]:
    return grid([DATA], methods, folds=folds, of=of, seeds=seeds, k=k)


def experiment(wanted: list[Cell]) -> SimpleNamespace:
    """A module of an experiment that prints how many rows its ledger has."""
    return SimpleNamespace(
        cells=lambda options: wanted,
        render=lambda ledger, cells, out, *, store, reasons, options: (
            f"{len(ledger)} rows; {sorted(set(reasons.values()))}"
        ),
        live_table=lambda ledger: f"{len(ledger)} rows so far",
    )


def main() -> None:
    """Arguments: folder, number of workers, names of methods (draws by default)."""
    from benchmarks.experiment import run

    folder, jobs, *names = sys.argv[1:]
    methods = tuple(METHODS[name] for name in names or ["draws"])
    wanted = cells(methods, folds=range(6), of=6, seeds=(0, 1))
    sys.exit(run(experiment(wanted), RunOptions(out=Path(folder), jobs=int(jobs))))
