"""What an experiment is: a plan of cells, the one way to run them, and the tables that are made of them.

A subclass says its `plan` and its `tables`; everything else (resuming, workers, cluster, progress, Ctrl-C, failures,
dry runs) is the same for all. Exit codes: 0 all is well, 1 a method failed, 2 something is missing or wrong that the
user can put right, 130 stopped.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa
from rich.console import Console

from benchmarks.registry.foreign_text import one_line, sentence
from benchmarks.results.artefacts import Artefacts, read_manifest
from benchmarks.results.cell import Cell, canonical
from benchmarks.results.files import REFERENCE, shown, write_text
from benchmarks.results.ledger import Store, Stored, curves, joined
from benchmarks.results.reader import Results
from benchmarks.results.summary import missing
from benchmarks.running.device import check_device
from benchmarks.running.options import RunOptions
from benchmarks.running.progress import Durations, Progress, in_words
from benchmarks.running.replay import with_base_ledger
from benchmarks.running.run_cell import Observer, Outcome, Report
from benchmarks.running.signals import terminate_like_interrupt
from benchmarks.running.workers import Work, computed
from rsgg.errors import UsageError
from rsgg.oracles.weights import FOLDER, looked_for_in

# -- Cells that are missing --------------------------------------------------------------------------------


def run_cells(
    cells: Sequence[Cell],
    store: Store,
    work: Work | None = None,
    *,
    jobs: int = 0,
    fresh: bool = False,
    dask: str = "",
    on_done: Callable[[Outcome], None] | None = None,
    report: Report | None = None,
) -> Report:
    """Compute the cells that the store lacks (with `fresh` all), store each as soon as it is done, and report.

    `jobs` worker processes, or none: then in this process; or the workers of the Dask scheduler at `dask`. A report
    that is handed in is filled as cells are done, so that it is right even if the run is interrupted. Networks that
    are explained have the weights of the reference where it holds some; what is trained is kept beside the cells.
    """
    report, work = report or Report(), work or Work()
    store.prepare()

    def settle(outcome: Outcome) -> None:
        report.outcomes.append(replace(outcome, table=None, history=None))
        if on_done is not None:
            on_done(outcome)

    def compute(cells: Sequence[Cell]) -> None:
        weights = looked_for_in([REFERENCE / FOLDER, store.root / FOLDER])
        with weights, closing(_outcomes(cells, jobs, work, dask)) if cells else nullcontext(()) as outcomes:
            for outcome in outcomes:
                _keep(outcome, store)
                settle(outcome)

    wanted = list(dict.fromkeys(cells))
    there = set() if fresh else store.stored(wanted)
    to_compute = []
    for cell in wanted:
        reason = cell.method.unsupported(cell.task.name)
        if reason:
            settle(Outcome(cell, "skipped", reason=reason))
        elif cell.key in there:
            settle(Outcome(cell, "stored"))
        else:
            to_compute.append(cell)
    compute([cell for cell in to_compute if not cell.base])
    with_base = [with_base_ledger(cell, store) for cell in to_compute if cell.base]
    for cell in with_base:
        if cell.base_ledger is None:
            settle(Outcome(cell, "skipped", reason=f"{cell.method.label}: there is no result to make minimal"))
    compute([cell for cell in with_base if cell.base_ledger is not None])
    return report


def _outcomes(cells: Sequence[Cell], jobs: int, work: Work, dask: str) -> Any:
    if not dask:
        return computed(cells, jobs, work)
    from benchmarks.running.cluster import computed_on  # late: most runs need no cluster

    return computed_on(dask, cells, work)


def _keep(outcome: Outcome, store: Store) -> None:
    """Store what was computed, a skip with its reason included; record a failure beside the results."""
    path = store.path(outcome.cell)
    record = store.root / "errors" / f"{path.parent.name}-{path.stem}.txt"
    if outcome.status == "failed":
        write_text(record, outcome.details)
    elif outcome.status in ("computed", "skipped"):
        table = pa.table({}) if outcome.table is None else outcome.table
        store.write(outcome.cell, table, outcome.history, duration=outcome.duration, skipped=outcome.reason)
        record.unlink(missing_ok=True)


# -- What tables are made of -------------------------------------------------------------------------------


@dataclass
class Finished:
    """A run that is done: its cells, what is stored of them, and why the others are missing."""

    cells: Sequence[Cell]
    store: Store
    folder: Path
    reasons: Mapping[str, str]
    further: Sequence[Store] = ()  # where cells are looked for that the store has not

    @cached_property
    def stored(self) -> dict[str, Stored]:
        """What is stored, by key, each cell checked once."""
        found: dict[str, Stored] = {}
        for store in (self.store, *self.further):
            found |= store.read_all(cell for cell in self.cells if not found or cell.key not in found)
        return {cell.key: found[cell.key] for cell in self.cells if cell.key in found} if found else {}

    @cached_property
    def ledger(self) -> pd.DataFrame:
        return joined(self.stored.values())

    @cached_property
    def history(self) -> pd.DataFrame:
        """The training curves, with columns that say whose they are."""
        return curves(self.stored.values())

    @cached_property
    def missing(self) -> list[str]:
        skipped = {key: stored.skipped for key, stored in self.stored.items() if stored.skipped}
        return missing(self.cells, self.ledger, {**skipped, **self.reasons})

    def about(self) -> dict[str, Any]:
        """What the manifest says of this run."""
        found = list(self.stored.values())
        machines = sorted({canonical(stored.metadata["machine"]) for stored in found})
        return {
            "cells": len(found),
            "cells_expected": len(self.cells),
            "missing": self.missing,
            "seeds": sorted({cell.seed for cell in self.cells}),
            "duration": round(sum(stored.duration for stored in found), 1),
            "commits": sorted({str(stored.metadata["commit"]) for stored in found}),
            "machines": [json.loads(text) for text in machines],
        }


# -- Experiments -------------------------------------------------------------------------------------------


class Experiment(ABC):
    """One experiment; `name` is its command, `shows` the stored tables that are printed when it is done."""

    name: ClassVar[str]
    shows: ClassVar[tuple[str, ...]] = ()
    pages: ClassVar[tuple[str, ...]] = ()  # stored tables that are written for readers too: "table1.md", "table1.tex"

    # -- what an experiment says of itself -------------------------------------------------------------

    @abstractmethod
    def plan(self, options: Any) -> list[Cell]:
        """The cells that the options ask for, in the order in which they are computed."""

    @abstractmethod
    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        """Write the tables that these cells come to."""

    def observer(self, options: Any) -> Observer | None:
        """What else is looked at while cells are computed; training curves unless an experiment says otherwise."""
        return None

    def store(self, options: Any) -> Store:
        return Store(options.results)

    def finished(self, cells: Sequence[Cell], store: Store, reasons: Mapping[str, str], options: Any) -> Finished:
        return Finished(cells, store, options.results, reasons)

    def shown(self, options: Any) -> tuple[str, ...]:
        return self.shows

    def live(self, ledger: pd.DataFrame) -> Any:
        """The table so far, drawn while it fills."""
        from benchmarks.results.summary import means_so_far
        from figures import tables

        return tables.live(means_so_far(ledger))

    # -- the one way to run ----------------------------------------------------------------------------

    def run(self, options: Any) -> int:
        """Compute what is missing, write the tables, print them; returns the exit code."""
        options = replace(options, jobs=workers_for(options))
        store = self.store(options)
        if options.dry_run:
            self.dry_run(options, store)
            return 0
        report = Report()
        try:
            with terminate_like_interrupt():
                self.compute(options, store, report)
                code = self.conclude(options, store, report)
        except BaseException as error:
            if not _interrupted(error):
                raise
            _say_stopped(self.so_far(options, store, report), fresh=options.fresh)
            return 130
        self._print(options)
        self._say_where(options)
        say_noticed(store)
        return max(code, _say_failures(report, store))

    def compute(self, options: Any, store: Store, report: Report) -> None:
        """Compute the cells that are missing."""
        self._compute(self.plan(options), options, store, report, fresh=options.fresh)

    def _compute(self, cells: Sequence[Cell], options: Any, store: Store, report: Report, *, fresh: bool) -> None:
        console = Console(stderr=not sys.stdout.isatty(), markup=False, emoji=False)
        live = self.live if console.is_terminal else None
        with Progress(cells, options.jobs, console, store, live) as progress:
            run_cells(
                cells, store, self.work(options), jobs=options.jobs, fresh=fresh, dask=options.dask,
                on_done=progress.done, report=report,
            )  # fmt: skip

    def work(self, options: Any) -> Work:
        return Work(options.data_dir, options.device, self.observer(options), options.cell_seconds)

    def conclude(self, options: Any, store: Store, report: Report) -> int:
        """Read what is stored and write the tables; returns the exit code as far as they decide it.

        A cell whose file turns out to be damaged is computed again first.
        """
        cells = self.plan(options)
        there, done = store.stored(cells), self._finished(cells, store, report, options)
        damaged = [cell for cell in cells if cell.key in there and cell.key not in done.stored]
        if damaged:
            self._compute(damaged, options, store, report, fresh=True)
            done = self._finished(cells, store, report, options)
        self.write(done, options)
        return 0

    def write(self, done: Finished, options: Any) -> None:
        """The tables of a run that is done, with what the manifest says of it, and their pages."""
        with Artefacts(done.folder, self.name) as files:
            self.tables(done, files, options)
            files.about(**done.about())
        self.write_pages(done.folder)

    def write_pages(self, folder: Path) -> None:
        """The stored tables as Markdown and LaTeX."""
        from figures import tables

        with Artefacts(folder, self.name) as files:
            for page in self.pages:
                name, _, kind = page.partition(".")
                write = tables.markdown if kind == "md" else tables.latex
                files.text(page, write(name, Results((folder,))))

    def _finished(self, cells: Sequence[Cell], store: Store, report: Report, options: Any) -> Finished:
        reasons = {outcome.cell.key: outcome.reason for outcome in report.outcomes if outcome.reason}
        return self.finished(cells, store, reasons, options)

    def everything(self, options: Any) -> bool:
        """Are all rows and columns printed, and not those that are seen first? Who names rows wants to see them."""
        return bool(options.methods)

    def _print(self, options: Any) -> None:
        from figures import tables

        for name in self.shown(options):
            tables.show(name, options.results, everything=self.everything(options))

    def _say_where(self, options: Any) -> None:
        """What was written, where, and what to do with it."""
        listed, folder = read_manifest(options.results).get("files", {}), shown(options.results)
        files = sorted(name for name, about in listed.items() if about.get("made_by") == self.name)
        if files:
            print(f"Written into {folder}: {', '.join(files)}.")
            print(f"Next: ./reproduce.sh figures --results {folder}, ./reproduce.sh report --results {folder}.")

    def so_far(self, options: Any, store: Store, report: Report) -> str:
        """What is stored, for the sentence that is said when a run is stopped; with --fresh, what this run stored."""
        possible = [cell for cell in self.plan(options) if not cell.method.unsupported(cell.task.name)]
        if options.fresh:
            return f"{len(report.of('computed'))} of {len(possible)} cells were computed again and stored"
        return f"{len(store.stored(possible))} of {len(possible)} cells are stored"

    def dry_run(self, options: Any, store: Store) -> None:
        dry_run(self.plan(options), store, options)


# -- Around a run ------------------------------------------------------------------------------------------


def workers_for(options: RunOptions) -> int:
    """How many cells are computed at a time, here or on a cluster, both of which have to be fit for it."""
    if options.dask:
        from benchmarks.running.cluster import n_workers, use_certificates  # late: most runs need no cluster

        if options.cell_seconds is not None:
            raise UsageError(
                "Only workers of this machine can be ended after --cell-seconds; leave it out with --dask, or limit "
                "the time per graph with --graph-seconds."
            )
        use_certificates(options.dask, options.tls_ca, options.tls_cert, options.tls_key)
        return n_workers(options.dask, options.device)
    if options.tls_ca or options.tls_cert or options.tls_key:
        raise UsageError(
            "--tls-ca, --tls-cert and --tls-key are for a cluster; name its scheduler with --dask tls://…."
        )
    check_device(options.device)
    return options.jobs


def _interrupted(error: BaseException | None) -> bool:
    """Was it Ctrl-C? A library that is interrupted while it cleans up may raise an error of its own instead."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _say_stopped(so_far: str, *, fresh: bool) -> None:
    command = "without --fresh the same command" if fresh else "the same command"
    print(f"Stopped; {so_far}; {command} goes on from here.", file=sys.stderr)


def say_noticed(store: Store) -> None:
    """Damaged and stale files, once each."""
    for line in dict.fromkeys(store.noticed):
        print(one_line(line), file=sys.stderr)


def _say_failures(report: Report, store: Store) -> int:
    """One sentence for each thing that went wrong; the exit code that goes with them."""
    for reason, cells in report.reasons("no data").items():
        count, were = ("1 cell", "was") if len(cells) == 1 else (f"{len(cells)} cells", "were")
        said = f"{count} of {cells[0].task.label} {were} not computed: {reason}"
        print(sentence(said), file=sys.stderr)
    for reason, cells in report.reasons("failed").items():
        others = f" and {len(cells) - 1} more cells" if len(cells) > 1 else ""
        where = shown(store.root / "errors")
        said = sentence(f"{cells[0].title}{others} failed with {reason}")
        print(f"{said} (details in {where}).", file=sys.stderr)
    return 2 if report.of("no data") else 1 if report.of("failed") else 0


# -- Dry run -----------------------------------------------------------------------------------------------


def dry_run(cells: Sequence[Cell], store: Store, options: RunOptions) -> None:
    """Say how much there is to do, then a line per method: what is stored, what is to compute, how long."""
    durations, there = Durations(), set() if options.fresh else store.stored(cells)
    for cell in cells:
        seconds = store.duration(cell) if cell.key in there else None
        if seconds:
            durations.learn(cell, seconds)
    defined = [cell for cell in cells if not cell.method.unsupported(cell.task.name)]
    missing = [cell for cell in defined if cell.key not in there]
    time = f", about {in_words(durations.left(missing, options.jobs))} on {options.jobs} workers" if missing else ""
    print(f"{len(defined)} cells: {len(defined) - len(missing)} stored, {len(missing)} to compute{time}.")
    rows: dict[str, list[Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.method.title, []).append(cell)
    widest = max(map(len, rows), default=0)
    for method, own in rows.items():
        possible = [cell for cell in own if not cell.method.unsupported(cell.task.name)]
        left = [cell for cell in possible if cell.key not in there]
        said = f"{len(possible)} cells, {len(possible) - len(left)} stored"
        said += f", {in_words(sum(map(durations.expect, left)))} on one worker" if left else ""
        print(f"{method:<{widest}} {said if possible else own[0].method.unsupported(own[0].task.name)}")
