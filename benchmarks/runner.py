"""The runner: computes the cells that the store lacks, on any number of workers, always with the same result.

A cell depends on its definition alone: data, folds and both seeds (one to fit, one to explain) are derived from
declared names, every worker computes with one thread, and the global random generators are seeded anew for each cell.
So one worker or ten, in one go or killed and resumed, give the same numbers.

Only the real work is timed, in CPU seconds of the process: loading data, node encodings and evaluation are not.
A method that is not defined for a data set is skipped with a reason; one that raises loses that cell and no other.
"""

from __future__ import annotations

import os
import random
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

import joblib
import numpy as np
import pyarrow as pa
import torch
from joblib.externals.loky.process_executor import TerminatedWorkerError

from benchmarks.cell import Cell
from benchmarks.store import Store, history_table, ledger_table, write_text
from rsgg.data.dataset import Dataset, DatasetSpec
from rsgg.errors import DataError, FitError, RSGGError
from rsgg.explainer import Explainer
from rsgg.graph import GraphBatch
from rsgg.metrics import ScoresEdges, evaluate, removal_auroc
from rsgg.oracles.oracle import CountingOracle, Oracle, TreeCyclesOracle

Status = Literal["stored", "computed", "skipped", "failed", "no data"]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: its ledger rows, or the reason why there are none."""

    cell: Cell
    status: Status
    table: pa.Table | None = None
    history: pa.Table | None = None
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


OnDone = Callable[[Outcome], None]


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    *,
    jobs: int = 1,
    fresh: bool = False,
    on_done: OnDone | None = None,
    data_dir: Path | None = None,
    device: str = "cpu",
    dask: str = "",
    report: Report | None = None,
) -> Report:
    """Compute the cells that are not stored (all of them if `fresh`) and store each as soon as it is done.

    They are computed by `jobs` processes, or by the workers of the Dask cluster whose scheduler's address is `dask`.

    `on_done` hears of every cell, the stored ones first. A `report` that is handed in is filled as the run goes, so
    that it tells what was reached even if the run is interrupted.
    """
    report = Report() if report is None else report

    def done(outcome: Outcome) -> None:
        report.outcomes.append(Outcome(outcome.cell, outcome.status, duration=outcome.duration, reason=outcome.reason))
        if on_done is not None:
            on_done(outcome)

    missing = []
    for cell in cells:
        known = known_outcome(cell, store, fresh=fresh)
        if known is None:
            missing.append(cell)
        else:
            done(known)
    if missing:
        store.prepare()
        if dask:
            from benchmarks.cluster import computed_on  # late: most runs need no cluster

            running = computed_on(dask, missing, data_dir, device)
        else:
            running = _computed(missing, jobs, data_dir, device)
        with closing(running) as outcomes:  # on any exception end the workers now
            for outcome in outcomes:
                _keep(outcome, store)
                done(outcome)
    return report


def known_outcome(cell: Cell, store: Store, *, fresh: bool = False) -> Outcome | None:
    """What can be said about a cell without computing it: not defined, or stored. None: it is to be computed."""
    reason = cell.method.unsupported(cell.dataset.name)
    if reason:
        return Outcome(cell, "skipped", reason=reason)
    stored = None if fresh else store.read(cell)
    if stored is None:
        return None
    if stored.skipped:
        return Outcome(cell, "skipped", duration=stored.duration, reason=stored.skipped)
    return Outcome(cell, "stored", stored.table, stored.history, stored.duration)


def _keep(outcome: Outcome, store: Store) -> None:
    """Store what was computed, a skip with its reason included; record a failure beside the results."""
    record = _record_path(store, outcome.cell)
    if outcome.status == "failed":
        write_text(record, outcome.details)
        return
    if outcome.status in ("computed", "skipped"):
        table = pa.table({}) if outcome.table is None else outcome.table
        store.write(outcome.cell, table, outcome.history, duration=outcome.duration, skipped=outcome.reason)
        record.unlink(missing_ok=True)


def _record_path(store: Store, cell: Cell) -> Path:
    return store.root / "errors" / f"{store.path(cell).parent.name}-{store.path(cell).stem}.txt"


# -- Workers ---------------------------------------------------------------------------------------------


def _computed(cells: Sequence[Cell], jobs: int, data_dir: Path | None, device: str) -> Generator[Outcome]:
    """Outcomes in the order in which they are ready. With one job everything happens in this process."""
    parallel = joblib.Parallel(
        n_jobs=min(jobs, len(cells)),
        return_as="generator_unordered",
        batch_size=1,  # a cell is stored when it is done, not when its batch is
        max_nbytes=None,
        initializer=start_worker,
        initargs=(os.getpid(),),
    )
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".* have been cancelled", UserWarning)  # a run that ends early knows it
            yield from parallel(joblib.delayed(compute)(cell, data_dir, device) for cell in cells)
    except TerminatedWorkerError as error:
        raise RSGGError(
            "A worker was ended by the system, perhaps for want of memory; use fewer --jobs and give the same command "
            "again: it goes on from here."
        ) from error


def start_worker(parent: int) -> None:
    """Ctrl-C is for the parent, which ends its workers; a worker whose parent was killed ends by itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# -- One cell --------------------------------------------------------------------------------------------


def compute(cell: Cell, data_dir: Path | None = None, device: str = "cpu") -> Outcome:
    """One cell from its definition. Never raises for anything a method does: that is an outcome too."""
    torch.set_num_threads(1)
    explainer = cell.method.build(device)
    dataset = _loaded(cell.dataset, data_dir, explainer.encoding)
    if isinstance(dataset, DataError):
        return Outcome(cell, "no data", reason=str(dataset))
    if explainer.capabilities.needs_relaxation and type(dataset.oracle).relaxed is Oracle.relaxed:
        return Outcome(cell, "skipped", reason=f"the oracle {dataset.oracle.name!r} has no differentiable relaxation")
    start = time.perf_counter()
    try:
        table, history = _measured(cell, explainer, dataset)
    except FitError as error:
        return Outcome(cell, "skipped", duration=time.perf_counter() - start, reason=str(error))
    except Exception as error:
        text = " ".join(str(error).split()) or "no message"
        return Outcome(cell, "failed", reason=f"{type(error).__name__}: {text}", details=traceback.format_exc())
    return Outcome(cell, "computed", table, history, time.perf_counter() - start)


@lru_cache(maxsize=4)
def _loaded(spec: DatasetSpec, data_dir: Path | None, encoding: str | None) -> Dataset | DataError:
    """The data set, loaded once per worker. So is its absence: a download that failed is not tried for every cell."""
    try:
        if encoding is None:
            return spec.load(data_dir)
        plain = _loaded(spec, data_dir, None)
        return plain if isinstance(plain, DataError) else plain.with_encoding(encoding)
    except DataError as error:
        return error


def _measured(cell: Cell, explainer: Explainer, dataset: Dataset) -> tuple[pa.Table, pa.Table | None]:
    """Fit on the training graphs, explain the test graphs, evaluate: the ledger rows and the training curves."""
    fold = dataset.folds(cell.folds, cell.seed)[cell.fold]
    train, test = dataset.graphs.select(fold.train), dataset.graphs.select(fold.test)

    fit_oracle = CountingOracle(dataset.oracle)
    seed_everything(cell.seed_for("fit"))
    start = time.process_time()
    explainer.fit(train, fit_oracle, seed=cell.seed_for("fit"))
    fit_seconds = time.process_time() - start

    seed_everything(cell.seed_for("explain"))
    results = explainer.explain(test, CountingOracle(dataset.oracle), k=cell.k, seed=cell.seed_for("explain"))

    optimum = None if dataset.optimum is None else dataset.optimum[fold.test]
    rows = evaluate(results, dataset.oracle, dataset.labels[fold.test], optimum)
    ledger = rows.assign(
        instance=fold.test.numpy()[rows["instance"]],  # from now on a graph's position in its data set
        removal_auroc=np.repeat(_removal_auroc(explainer, test, dataset.oracle), cell.k),
        simple=[bool(result.returned.adjacency.max() <= 1) for result in results],
        cell=cell.key,
        dataset=cell.dataset.name,
        method=cell.method.name,
        variant=cell.method.variant,
        seed=cell.seed,
        fold=cell.fold,
        fit_calls=fit_oracle.calls,
        fit_seconds=fit_seconds,
        test_size=len(test),
    )
    curves = getattr(explainer, "history_", None) if cell.seed == 0 else None  # one replicate shows how training went
    return ledger_table(ledger), history_table(curves) if curves else None


def _removal_auroc(explainer: Explainer, graphs: GraphBatch, oracle: Oracle) -> np.ndarray:
    """How well the edge scores of a method that has some find the edges on cycles; NaN where that means nothing."""
    if not isinstance(explainer, ScoresEdges) or not isinstance(oracle, TreeCyclesOracle):
        return np.full(len(graphs), np.nan)
    return removal_auroc(explainer.edge_probabilities(graphs, oracle.predict(graphs)), graphs)


def seed_everything(seed: int) -> None:
    """Seed the global generators too: layers such as dropout draw from them whatever seed a method was given."""
    torch.manual_seed(seed)
    np.random.seed(seed % 2**32)
    random.seed(seed)
