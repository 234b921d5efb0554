"""The one way to compute a cell: load the task, fit on the training graphs, explain the test graphs, evaluate.

A cell depends on its definition alone: data, folds and both seeds (one to fit, one to explain) are derived from
declared names, it is computed with one thread, and the global random generators are seeded anew for each cell. So one
worker or ten, in one go or killed and resumed, give the same numbers.

Only the real work is timed, in CPU seconds of the process: loading data, node encodings and evaluation are not. What
else is wanted of a run (training curves, traces of the sampler, repeated timings) is an `Observer` of it.
"""

from __future__ import annotations

import random
import time
import traceback
import warnings
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import torch

from benchmarks.registry.foreign_text import sentence
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.cell import Cell, canonical
from benchmarks.results.ledger import history_table, ledger_table
from benchmarks.running.domain import known_molecules, rules_of_domain
from benchmarks.running.global_cell import summarised
from benchmarks.running.memory import keep_freed_memory
from benchmarks.running.replay import Replayed, rows_about, with_costs_of_base
from rsgg.collapse import CollapseWarning
from rsgg.compose import Minimised
from rsgg.counterfactual import Counterfactual
from rsgg.errors import DataError, FitError
from rsgg.explainer import Explainer
from rsgg.global_explainer import GlobalExplainer
from rsgg.graph import GraphBatch
from rsgg.metrics import ScoresEdges, evaluate, removal_auroc
from rsgg.oracles import CountingOracle, Oracle
from rsgg.task import Problem

PATIENCE = 300.0  # seconds that an oracle from outside the project may take for a batch of questions

Status = Literal["stored", "computed", "skipped", "failed", "no data"]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: its ledger rows, or the reason why there are none."""

    cell: Cell
    status: Status
    table: pa.Table | None = None
    history: pa.Table | None = None  # what the observer saw
    duration: float = 0.0
    reason: str = ""
    details: str = ""  # the traceback of a failure, for the file that records it


@dataclass
class Report:
    """What a run did, as lists of outcomes without their tables."""

    outcomes: list[Outcome] = field(default_factory=list)

    def of(self, *status: Status) -> list[Outcome]:
        return [outcome for outcome in self.outcomes if outcome.status in status]

    @property
    def n_stored(self) -> int:
        return len(self.of("stored", "computed"))

    def reasons(self, status: Status) -> dict[str, list[Cell]]:
        """The cells by reason: the same reason for ten folds is said once, whichever worker was done first."""
        reasons: dict[str, list[Cell]] = {}
        for outcome in sorted(self.of(status), key=lambda outcome: outcome.cell.title):
            reasons.setdefault(outcome.reason, []).append(outcome.cell)
        return reasons


# -- A run and who watches it ----------------------------------------------------------------------------


@dataclass
class Run:
    """A cell that is being computed: its explainer, its graphs and its oracle, and what came of them."""

    cell: Cell
    explainer: Explainer
    problem: Problem
    fit_calls: int = 0
    fit_seconds: float = 0.0
    results: list[Counterfactual] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.fold = self.problem.folds(self.cell.folds, self.cell.seed)[self.cell.fold]
        self.problem = self.problem.in_fold(self.fold)
        graphs = self.problem.graphs
        if self.explainer.capabilities.reads_labels:
            graphs = replace(graphs, labels=self.problem.labels)
        self.train, self.test = (graphs.select(part) for part in (self.fold.train, self.fold.test))

    def fit(self) -> None:
        """Fit the explainer on the training graphs, as this cell's seed says."""
        seed = self.cell.seed_for("fit")
        oracle = CountingOracle(self.problem.oracle, patience=self._patience)
        seed_everything(seed)
        start = time.process_time()
        self.explainer.fit(self.train, oracle, seed=seed)
        self.fit_seconds, self.fit_calls = time.process_time() - start, oracle.calls

    @property
    def _patience(self) -> float | None:
        """The project's own oracles do not hang; a user's may, and must not hang the run."""
        return PATIENCE if self.cell.task.task else None

    def explain(
        self, purpose: str = "explain", graphs: GraphBatch | None = None, k: int | None = None
    ) -> list[Counterfactual]:
        """Explain the test graphs, or others; another purpose is another seed, for repetitions."""
        seed = self.cell.seed_for(purpose)
        seed_everything(seed)
        oracle = CountingOracle(
            self.problem.oracle, self.problem.budget, self.cell.graph_seconds, patience=self._patience
        )
        # Results are judged by `evaluate`, all in one batch: no need to check them here.
        wanted = self.test if graphs is None else graphs
        return self.explainer.explain(wanted, oracle, k=k or self.cell.k, seed=seed, check=False)

    def repeat(self, stored: pd.DataFrame) -> list[Counterfactual]:
        """The results that these rows of a ledger hold, a row per test graph; nothing is explained."""
        return Replayed.of(self.explainer, stored).explain(self.test, self.problem.oracle, check=False)


class Observer:
    """Looks at a run without changing its results; `table` is stored beside the cell. The base sees nothing."""

    def watching(self) -> AbstractContextManager[Any]:
        """Entered while the test graphs are explained."""
        return nullcontext()

    def started(self) -> None:
        """The task is about to be loaded."""

    def explained(self, run: Run) -> None:
        """The test graphs have been explained; the clock of the cell has stopped."""

    def table(self, run: Run) -> pa.Table | None:
        """What is to be stored."""
        return None


Made = TypeVar("Made")


class OfFold(Observer, Generic[Made]):
    """An observer that makes something for each fold which all methods need there, such as graphs to compare with.

    The process keeps what was made for the folds of a task until the next task, not the observer itself: a worker gets
    a new copy of its observer with each cell.
    """

    def made_for(self, run: Run) -> Made:
        """Make it; what comes out depends on the fold and on the attributes of the observer alone."""
        raise NotImplementedError

    def of_fold(self, run: Run) -> Made:
        """What was made for the fold of this run."""
        task = f"{type(self).__name__} {vars(self)} {canonical([run.cell.task.definition(), run.cell.folds])}"
        if task not in _made:
            _made.clear()
            _made[task] = {}
        folds, fold = _made[task], (run.cell.seed, run.cell.fold)
        if fold not in folds:
            folds[fold] = self.made_for(run)
        made: Made = folds[fold]
        return made


_made: dict[str, dict[tuple[int, int], Any]] = {}  # by observer and task, then by replicate and fold


class TrainingCurves(Observer):
    """The losses per step that a method keeps in `history_`; one replicate shows how training went."""

    def table(self, run: Run) -> pa.Table | None:
        curves: Iterable[Mapping[str, object]] | None = getattr(run.explainer, "history_", None)
        return history_table(curves) if curves and run.cell.seed == 0 else None


def _what_the_oracle_lacks(explainer: Explainer, oracle: Oracle) -> str:
    """Why a method that looks inside the oracle cannot be run on it; empty where it can."""
    can = explainer.capabilities
    no_gradient = oracle.why_not_differentiable() if can.needs_relaxation else ""
    return no_gradient or (oracle.why_no_embeddings() if can.needs_embeddings else "")


def run_cell(
    cell: Cell, data_dir: Path | None = None, device: str = "cpu", observer: Observer | None = None
) -> Outcome:
    """Compute one cell from its definition. Never raises for anything a method does: that is an outcome too."""
    torch.set_num_threads(1)
    keep_freed_memory()
    observer, start = observer or TrainingCurves(), time.perf_counter()
    try:
        observer.started()
        explainer: Any = cell.method.build(device)
        if cell.base:
            explainer = Minimised(base=Replayed.of(cell.base.method.build(), cell.base_ledger))
        for_all = isinstance(explainer, GlobalExplainer)
        problem = loaded(cell.task, data_dir, None if for_all else explainer.encoding)
        if isinstance(problem, DataError):
            return Outcome(cell, "no data", reason=str(problem))
        if not for_all and (missing := _what_the_oracle_lacks(explainer, problem.oracle)):
            return Outcome(cell, "skipped", reason=missing)
        start = time.perf_counter()
        if isinstance(explainer, GlobalExplainer):
            lines, graphs = summarised(cell, explainer, problem)
            return Outcome(cell, "computed", lines, graphs, time.perf_counter() - start)
        run = Run(cell, explainer, problem)
        if cell.method.molecules:
            known: dict[str, Any] = {"molecules": known_molecules(problem.dataset, data_dir)}
            run.explainer = replace(run.explainer, **known)
        if cell.method.feasible:
            run.explainer = replace(run.explainer, constraints=rules_of_domain(run.problem, run.fold, data_dir))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)  # which fits collapsed is a column of the tables
            run.fit()
        stored = None if cell.base or cell.k > 1 else rows_about(cell.base_ledger, run.fold.test)
        with observer.watching():
            run.results = run.explain() if stored is None else run.repeat(stored)
        observer.explained(run)
        table, seen = _ledger(run, stored), observer.table(run)
    except FitError as error:
        return Outcome(cell, "skipped", duration=time.perf_counter() - start, reason=sentence(str(error)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a method that calls sys.exit loses its cell and no other
        text = sentence(str(error)) or "no message"
        return Outcome(cell, "failed", reason=f"{type(error).__name__}: {text}", details=traceback.format_exc())
    return Outcome(cell, "computed", table, seen, time.perf_counter() - start)


def loaded(task: TaskEntry, data_dir: Path | None, encoding: str | None) -> Problem | DataError:
    """The task's graphs and oracle with these node encodings, loaded once per process.

    So is its absence: a download that failed is not tried for every cell.
    """
    return _Loaded.get(_Named(canonical(task.definition()), task), data_dir, encoding)


@dataclass(frozen=True)
class _Named:
    """A task under the name that caches know it by: options may be dictionaries, which have no hash."""

    name: str
    task: TaskEntry = field(compare=False)


class _Loaded:
    @staticmethod
    @lru_cache(maxsize=4)
    def get(named: _Named, data_dir: Path | None, encoding: str | None) -> Problem | DataError:
        try:
            if encoding is None:
                return named.task.load(data_dir)
            plain = _Loaded.get(named, data_dir, None)
            return plain if isinstance(plain, DataError) else plain.with_encoding(encoding)
        except DataError as error:
            return error


def _ledger(run: Run, known: pd.DataFrame | None) -> pa.Table:
    """The rows of the ledger: a line per result, evaluated, with what fitting cost and whose it is.

    Results that were known cost what they had cost before.
    """
    cell, problem, test = run.cell, run.problem, run.fold.test
    optimum = None if problem.optimum is None else problem.optimum[test]
    rows = evaluate(run.results, problem.oracle, problem.labels[test], optimum)
    rows = rows.assign(fit_calls=run.fit_calls, fit_seconds=run.fit_seconds)
    if known is not None:
        rows = rows.assign(**{cost: known[cost] for cost in ("calls", "seconds", "fit_calls", "fit_seconds")})
    return ledger_table(
        (with_costs_of_base(rows, cell.base_ledger) if cell.base else rows).assign(
            instance=test.numpy()[rows["instance"]],  # from now on a graph's position in its data set
            removal_auroc=np.repeat(_removal_auroc(run), cell.k),
            simple=[bool(result.returned.adjacency.max() <= 1) for result in run.results],
            cell=cell.key,
            dataset=cell.task.name,
            method=cell.method.name,
            variant=cell.method.variant,
            seed=cell.seed,
            fold=cell.fold,
            test_size=len(run.test),
        )
    )


def _removal_auroc(run: Run) -> np.ndarray:
    """How well the edge scores of a method that has some find the edges that decide; NaN where that means nothing."""
    important = run.problem.oracle.important_edges(run.test)
    if not isinstance(run.explainer, ScoresEdges) or important is None:
        return np.full(len(run.test), np.nan)
    classes = run.problem.oracle.predict(run.test)
    return removal_auroc(run.explainer.edge_probabilities(run.test, classes), run.test, important)


def seed_everything(seed: int) -> None:
    """Seed the global generators too: layers such as dropout draw from them whatever seed a method was given."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)
