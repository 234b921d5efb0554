"""Stand-ins for methods and an experiment made of them: what the tests of store, runner and command line run.

Run as a program (`python -c "from tests.standins import main; main()"`), it is the experiment as the command line
would run it, for tests that kill and interrupt it.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import torch

from benchmarks.registry.methods import Method
from benchmarks.registry.tasks import TREE_CYCLES
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.options import RunOptions
from benchmarks.running.plan import grid
from rsgg.counterfactual import Candidate
from rsgg.errors import FitError
from rsgg.explainer import Capabilities, Explainer
from rsgg.hyperparameters import hyper

DATA = TREE_CYCLES.varied({"n_nodes": 10, "n_graphs": 24, "max_cycle_nodes": 4})


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
        raise ZeroDivisionError("a \x07bug\nin \u202etwo lines")  # what steers a terminal is not shown


@dataclass(kw_only=True)
class Unfittable(Draws):
    def _fit(self, graphs, classes, oracle, seed):
        raise FitError("These graphs cannot be learnt from; use others.")


@dataclass(kw_only=True)
class Exits(Draws):
    """Ends its process, as a crash in compiled code would: with a signal, or politely by sys.exit."""

    how: str = hyper("kill", "how")

    def _explain(self, graphs, classes, oracle, k, seed):
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        sys.exit("enough")


@dataclass(kw_only=True)
class Hangs(Draws):
    def _explain(self, graphs, classes, oracle, k, seed):
        time.sleep(600)


def _method(name: str, cls: type[Explainer], **more: Any) -> Method:
    return Method(name, "control", f"tests.standins:{cls.__name__}", cls.__name__, **more)


DRAWS = _method("draws", Draws)
RAISES = _method("raises", Raises)
UNFITTABLE = _method("unfittable", Unfittable)
ELSEWHERE = replace(_method("elsewhere", Draws, tasks=("asd",)), variant="search")  # a control would be left out
KILLED = _method("killed", Exits)
EXITS = _method("exits", Exits, options={"how": "exit"})
HANGS = _method("hangs", Hangs)
METHODS = {method.name: method for method in (DRAWS, RAISES, UNFITTABLE, ELSEWHERE, KILLED, EXITS, HANGS)}


def cells(methods=(DRAWS,), folds=(0, 1, 2), of=4, seeds=(0,), k=1) -> list[Cell]:
    return grid([DATA], methods, folds=folds, of=of, seeds=seeds, k=k)


class Standin(Experiment):
    """An experiment that writes how many rows its ledger has, and prints it."""

    name = "standin"

    def __init__(self, wanted: list[Cell]) -> None:
        self.wanted = wanted

    def plan(self, options: Any) -> list[Cell]:
        return self.wanted

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        files.text("rows.txt", f"{len(done.ledger)} rows; {sorted(set(done.reasons.values()))}")

    def _print(self, options: Any) -> None:
        print((options.results / "rows.txt").read_text())


def main() -> None:
    """Arguments: folder, number of workers, names of methods (draws by default)."""
    folder, jobs, *names = sys.argv[1:]
    methods = tuple(METHODS[name] for name in names or ["draws"])
    wanted = cells(methods, folds=range(6), of=6, seeds=(0, 1))
    sys.exit(Standin(wanted).run(RunOptions(out=Path(folder), jobs=int(jobs))))
