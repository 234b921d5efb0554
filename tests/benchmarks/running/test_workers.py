"""Worker processes: any number gives the same numbers, and one that dies or hangs costs its cell only."""

from __future__ import annotations

import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

from benchmarks.results.cell import Cell
from benchmarks.results.files import StoreError
from benchmarks.results.ledger import Store
from benchmarks.running import workers
from benchmarks.running.experiment import run_cells
from benchmarks.running.options import RunOptions
from benchmarks.running.workers import Work
from tests.benchmarks.running.processes import (
    fingerprints,
    forked_workers,
    forks,
    leftovers,
    start,
    wait_for_cells,
)
from tests.standins import DRAWS, EXITS, HANGS, KILLED, RAISES, Standin, cells

MANY = cells(folds=range(6), of=6, seeds=(0, 1))


def children() -> list[object]:
    """Workers of this process that are alive, forked ones too."""
    own = psutil.Process().children()
    return [
        *(child for child in own if "benchmarks.running.workers" in " ".join(child.cmdline())),
        *forks.active_children(),
    ]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """In this process, in one go."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert run_cells(MANY, Store(folder)).n_stored == 12
    return fingerprints(folder)


# -- The same result, whatever happens -----------------------------------------------------------------------


@pytest.mark.slow
def test_two_workers_give_the_numbers_of_none(tmp_path: Path, uninterrupted: dict[str, str]) -> None:
    report = run_cells(MANY, Store(tmp_path), jobs=2)
    assert report.n_stored == 12 and fingerprints(tmp_path) == uninterrupted
    assert not children() and not leftovers(tmp_path)


@pytest.mark.slow
def test_killed_and_resumed_on_two_workers_as_in_one_go_on_none(tmp_path: Path, uninterrupted: dict[str, str]) -> None:
    first = start(tmp_path, 2, delay=0.4)
    wait_for_cells(tmp_path, 3, first)
    own = psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    survived = fingerprints(tmp_path)
    assert 3 <= len(survived) < 12
    assert own and not psutil.wait_procs(own, timeout=20)[1], "workers whose parent was killed end by themselves"

    report = run_cells(MANY, Store(tmp_path))
    assert len(report.of("stored")) == len(survived) and report.n_stored == 12
    assert fingerprints(tmp_path) == uninterrupted


@pytest.mark.slow
@pytest.mark.parametrize(("how", "jobs"), [("ctrl-c", 2), ("sigterm", 1)])
def test_an_interruption_ends_with_one_sentence_and_leaves_nothing_behind(tmp_path: Path, how: str, jobs: int) -> None:
    process = start(tmp_path, jobs, delay=0.4)
    wait_for_cells(tmp_path, 2, process)
    own = psutil.Process(process.pid).children(recursive=True)
    if how == "ctrl-c":
        os.killpg(process.pid, signal.SIGINT)  # a terminal interrupts the whole group, workers included
    else:
        process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    n = len(fingerprints(tmp_path))
    assert process.returncode == 130
    assert err == f"Stopped; {n} of 12 cells are stored; the same command goes on from here.\n"
    assert 2 <= n < 12 and not leftovers(tmp_path) and out == ""
    assert not psutil.wait_procs(own, timeout=20)[1]


@forked_workers()
def test_a_disk_that_fills_up_ends_the_run_and_its_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was stored before stays; nothing is said but the sentence."""
    write, written = Store.write, list[Cell]()

    def fails_at_the_third(self: Store, cell: Cell, *arguments: Any, **options: Any) -> Any:
        written.append(cell)
        if len(written) == 3:
            raise StoreError("Results cannot be written.")
        return write(self, cell, *arguments, **options)

    monkeypatch.setattr(Store, "write", fails_at_the_third)
    with warnings.catch_warnings(record=True) as said, pytest.raises(StoreError):
        run_cells(MANY, Store(tmp_path), jobs=2)
    assert not said and len(fingerprints(tmp_path)) == 2 and not children()


# -- Workers that die --------------------------------------------------------------------------------------


@forked_workers()
def test_a_cell_that_kills_its_worker_is_tried_twice_and_harms_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    started, begin = list[int](), workers._Worker.started

    def counted() -> Any:
        worker = begin()
        started.append(worker.process.pid)
        return worker

    monkeypatch.setattr(workers._Worker, "started", counted)
    wanted = [*cells((KILLED,), folds=(0,)), *cells((DRAWS, EXITS), folds=(0, 1))]
    assert Standin(wanted).run(RunOptions(out=tmp_path, jobs=1)) == 1
    err = capsys.readouterr().err
    memory = "the process was ended by SIGKILL, perhaps for want of memory (use fewer --jobs)"
    assert f"tree-cycles, killed:control, fold 0 failed with its worker died 2 times: {memory}" in err
    assert "exits:control, fold 0 and 1 more cells failed with SystemExit: enough" in err
    assert len(fingerprints(tmp_path)) == 2, "the others are stored"
    assert len(started) == 3, "two that were killed, and one that computed all the rest"
    (record,) = (path for path in (tmp_path / "errors").iterdir() if path.name.startswith("killed"))
    assert record.read_text() == memory


def test_a_worker_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "benchmarks"
    broken.mkdir()
    (broken / "__init__.py").write_text("raise RuntimeError('this is another project')")
    monkeypatch.setattr(workers, "ROOT", tmp_path)
    (outcome,) = run_cells(cells(folds=(0,)), Store(tmp_path / "out"), jobs=1).outcomes
    assert outcome.status == "failed"
    assert outcome.reason == "its worker died 2 times: RuntimeError: this is another project"


# -- Time limits -------------------------------------------------------------------------------------------


@forked_workers()
def test_a_cell_that_takes_too_long_is_ended_and_the_others_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Starting a worker takes longer than the limit here: that is not the time of the cell that it computes first."""
    monkeypatch.setenv("RSGG_TEST_SLOW_START", "1.2")
    wanted = [*cells((HANGS,), folds=(0,)), *cells(folds=(0, 1))]
    begun = time.monotonic()
    report = run_cells(wanted, Store(tmp_path), Work(cell_seconds=1.0), jobs=1)
    assert [(outcome.cell.method.name, outcome.status) for outcome in report.outcomes] == [
        ("hangs", "failed"), ("draws", "computed"), ("draws", "computed"),
    ]  # fmt: skip
    assert report.outcomes[0].reason == "it took longer than the time limit of 1 s (--cell-seconds)"
    assert time.monotonic() - begun < 60 and not children()


# -- A process for each cell -------------------------------------------------------------------------------


@forked_workers()
def test_measurements_can_have_a_process_for_each_cell(
    tmp_path: Path, uninterrupted: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    started, begin = list[int](), workers._Worker.started

    def counted() -> Any:
        worker = begin()
        started.append(worker.process.pid)
        return worker

    monkeypatch.setattr(workers._Worker, "started", counted)
    report = run_cells(MANY[:2], Store(tmp_path), Work(new_process_each=True), jobs=1)
    assert report.n_stored == 2 and len(started) == 2
    assert fingerprints(tmp_path).items() <= uninterrupted.items(), "one worker gives the numbers of none"


def test_a_worker_keeps_what_a_method_prints_and_raises_and_the_libraries_that_a_folder_shadows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "random.py").write_text("raise RuntimeError('not the library')")
    monkeypatch.chdir(tmp_path)
    report = run_cells([*cells((RAISES,), folds=(0,)), *cells(folds=(0,))], Store(tmp_path / "out"), jobs=1)
    failed, computed = report.outcomes
    assert failed.reason == "ZeroDivisionError: a bug in two lines"
    assert computed.status == "computed", "by the library random, not by the user's"
    assert capfd.readouterr() == ("", "")
