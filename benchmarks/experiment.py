"""How any experiment is run: list its cells, compute what is missing, show progress, render, say what went wrong.

An experiment is a module of `benchmarks` with three functions:

    cells(options) -> list[Cell]                                     what is to be computed
    render(ledger, cells, out, *, store, reasons, options) -> renderable     writes its files, returns what to print
    live_table(ledger) -> renderable                                 the table so far, drawn while it fills

Exit codes: 0 all is well, 1 a method failed, 2 something is missing or wrong that the user can put right, 130 stopped.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Protocol, cast

import pandas as pd
import torch
from rich.console import Console, RenderableType

from benchmarks.cell import Cell
from benchmarks.options import RunOptions
from benchmarks.progress import Durations, Progress, in_words
from benchmarks.runner import Report, known_outcome, run_cells
from benchmarks.show import terminal
from benchmarks.store import Store
from rsgg.errors import UsageError


class Experiment(Protocol):
    """What a module of an experiment offers."""

    def cells(self, options: RunOptions) -> list[Cell]: ...

    def render(
        self,
        ledger: pd.DataFrame,
        cells: Sequence[Cell],
        out: Path,
        *,
        store: Store,
        reasons: Mapping[str, str],
        options: RunOptions,
    ) -> RenderableType: ...

    def live_table(self, ledger: pd.DataFrame) -> RenderableType: ...


def run(experiment: object, options: RunOptions) -> int:
    """Run an experiment as the options say; returns the exit code."""
    module = cast(Experiment, experiment)
    cells, store = module.cells(options), Store(options.results)
    options = replace(options, jobs=workers_for(options))
    if options.dry_run:
        dry_run(cells, store, options)
        return 0
    out, err = terminal(), Console(stderr=True)
    report = Report()
    live_table = module.live_table if out.is_terminal else None
    try:
        with (
            terminate_like_interrupt(),
            Progress(cells, options.jobs, out if out.is_terminal else err, live_table) as progress,
        ):
            run_cells(
                cells,
                store,
                jobs=options.jobs,
                fresh=options.fresh,
                on_done=progress.done,
                data_dir=options.data_dir,
                device=options.device,
                dask=options.dask,
                report=report,
            )
    except KeyboardInterrupt:
        _say_stopped(cells, store, fresh=options.fresh)
        return 130
    _say_noticed(store)
    reasons = {outcome.cell.key: outcome.reason for outcome in report.outcomes if outcome.reason}
    rendered = module.render(store.ledger(cells), cells, options.results, store=store, reasons=reasons, options=options)
    out.print(rendered)
    return _say_failures(report, store)


def workers_for(options: RunOptions) -> int:
    """How many cells are computed at a time, here or on a cluster, both of which have to be fit for it."""
    if options.dask:
        from benchmarks.cluster import n_workers  # late: most runs need no cluster

        return n_workers(options.dask, options.device)
    check_device(options.device)
    return options.jobs


def check_device(device: str) -> None:
    """A device that is not there is said at once, not by every cell."""
    try:
        kind = torch.device(device)
        if kind.type == "cuda" and (kind.index or 0) >= torch.cuda.device_count():
            raise UsageError(f"There is no {device} on this machine; leave --device out to compute on the CPU.")
        torch.empty(0, device=kind)
    except (RuntimeError, NotImplementedError, AssertionError) as error:
        raise UsageError(f"The device {device!r} cannot be used here; leave --device out to use the CPU.") from error


@contextmanager
def terminate_like_interrupt() -> Iterator[None]:
    """A polite kill (SIGTERM, as cluster schedulers send it) ends a run as Ctrl-C does."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _say_stopped(cells: Sequence[Cell], store: Store, *, fresh: bool) -> None:
    """Asks the store, not the report: a cell may have been stored and the run stopped before anyone heard of it."""
    possible = [cell for cell in cells if not cell.method.unsupported(cell.dataset.name)]
    stored = sum(store.read(cell) is not None for cell in possible)
    command = "without --fresh the same command" if fresh else "the same command"
    print(f"Stopped; {stored} of {len(possible)} cells are stored; {command} goes on from here.", file=sys.stderr)


def _say_noticed(store: Store) -> None:
    """Damaged and stale files, once each."""
    for line in dict.fromkeys(store.noticed):
        print(line, file=sys.stderr)


def _say_failures(report: Report, store: Store) -> int:
    """One sentence for each thing that went wrong; the exit code that goes with them."""
    for reason, cells in report.reasons("no data").items():
        print(f"{len(cells)} cells of {cells[0].dataset.name} were not computed: {reason}", file=sys.stderr)
    for reason, cells in report.reasons("failed").items():
        others = f" and {len(cells) - 1} more cells" if len(cells) > 1 else ""
        where = store.root / "errors"
        print(f"{cells[0].title}{others} failed with {reason} (details in {where}).", file=sys.stderr)
    return 2 if report.of("no data") else 1 if report.of("failed") else 0


# -- Dry run ---------------------------------------------------------------------------------------------


def dry_run(cells: Sequence[Cell], store: Store, options: RunOptions) -> None:
    """List the cells, a line per row and replicate: which folds are stored, which are to be computed, how long."""
    durations = Durations()
    state = {cell: _state(cell, store, durations, fresh=options.fresh) for cell in cells}
    groups: dict[object, list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.row, cell.seed), []).append(cell)
    for group in groups.values():
        print(_listed(group, state, durations))
    to_compute = [cell for cell in cells if state[cell] == "to compute"]
    stored = sum(value == "stored" for value in state.values())
    time = f"about {in_words(durations.left(to_compute, options.jobs))} on {options.jobs} workers" if to_compute else ""
    print(f"{len(cells)} cells: {stored} stored, {len(to_compute)} to compute{', ' if time else ''}{time}.")
    _say_noticed(store)


def _state(cell: Cell, store: Store, durations: Durations, *, fresh: bool) -> str:
    known = known_outcome(cell, store)
    if known is None:
        return "to compute"
    if known.duration:
        durations.learn(cell, known.duration)
    if cell.method.unsupported(cell.dataset.name):
        return "not defined"
    return "to compute" if fresh else known.status


def _listed(group: Sequence[Cell], state: Mapping[Cell, str], durations: Durations) -> str:
    cell = group[0]
    parts = []
    for word in dict.fromkeys(state[cell] for cell in group):
        those = [cell for cell in group if state[cell] == word]
        time = f", {in_words(sum(map(durations.expect, those)))}" if word == "to compute" else ""
        parts.append(f"{word}: folds {_ranges(those)}{time}")
    row = f"{cell.dataset.name:<12} {cell.method.name:<22} {cell.method.variant:<9} replicate {cell.seed:<3}"
    return f"{row} {'; '.join(parts)}"


def _ranges(cells: Sequence[Cell]) -> str:
    """0-3,7"""
    folds = sorted(cell.fold for cell in cells)
    runs: list[list[int]] = []
    for fold in folds:
        if runs and fold == runs[-1][-1] + 1:
            runs[-1].append(fold)
        else:
            runs.append([fold])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)
