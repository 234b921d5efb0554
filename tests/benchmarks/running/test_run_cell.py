"""One cell and a run of cells in this process: what is measured, who may watch, and what becomes of failures."""

from __future__ import annotations

import os
import signal
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks.registry.tasks import ASD
from benchmarks.results.cell import Cell
from benchmarks.results.files import StoreError
from benchmarks.results.ledger import Store, content_hash, fingerprint, history_table
from benchmarks.running.experiment import dry_run, run_cells
from benchmarks.running.options import RunOptions
from benchmarks.running.plan import grid
from benchmarks.running.run_cell import Observer, Outcome, Report, Run, run_cell
from benchmarks.running.workers import Work
from rsgg.baselines.released.clear import ReleasedCLEAR
from rsgg.data import TreeCycles
from rsgg.oracles import Oracle
from tests import standins
from tests.benchmarks.running.processes import fingerprints, stored_files
from tests.standins import DATA, DRAWS, ELSEWHERE, EXITS, RAISES, UNFITTABLE, Draws, Standin, cells


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One worker, in this process, in one go."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    report = run_cells(cells(folds=range(6), of=6, seeds=(0, 1)), Store(folder))
    assert report.n_stored == 12 and not report.of("failed", "skipped", "no data")
    return fingerprints(folder)


# -- The same result, whatever happens -----------------------------------------------------------------------


@pytest.mark.parametrize("fresh", [False, True])
def test_a_polite_kill_is_like_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fresh: bool
) -> None:
    explain, calls = Draws._explain, list[Draws]()

    def kills_in_the_second_cell(self: Draws, *arguments: Any) -> Any:
        calls.append(self)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return explain(self, *arguments)

    monkeypatch.setattr(Draws, "_explain", kills_in_the_second_cell)
    before = signal.getsignal(signal.SIGTERM)
    assert Standin(cells()).run(RunOptions(out=tmp_path, jobs=0, fresh=fresh)) == 130
    stored, command = "are stored", "the same command"
    if fresh:
        stored, command = "were computed again and stored", "without --fresh the same command"
    assert capsys.readouterr().err == f"Stopped; 1 of 3 cells {stored}; {command} goes on from here.\n"
    assert signal.getsignal(signal.SIGTERM) == before, "afterwards the signal means what it meant before"


def test_results_do_not_depend_on_what_ran_before(uninterrupted: dict[str, str]) -> None:
    last = cells(folds=range(6), of=6, seeds=(0,))[-1]
    torch.manual_seed(12345)
    outcome = run_cell(last)
    assert outcome.table is not None and outcome.history is not None
    assert fingerprint(outcome.table) + content_hash(outcome.history) == uninterrupted[last.key]


def test_a_stored_cell_is_not_computed_again_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    run_cells(cells(), store)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    heard: list[Outcome] = []
    run_cells(cells(), Store(tmp_path), on_done=heard.append)
    assert [outcome.status for outcome in heard] == ["stored"] * 3
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    report = run_cells(cells(), Store(tmp_path), fresh=True)
    assert len(report.of("computed")) == 3
    assert all(path.stat().st_mtime_ns > time_ for path, time_ in before.items())


def test_a_damaged_cell_is_computed_again_in_the_same_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = cells()
    run_cells(wanted, Store(tmp_path))
    good = fingerprints(tmp_path)
    Store(tmp_path).path(wanted[1]).write_bytes(b"PAR1 half a fi")
    assert Standin(wanted).run(RunOptions(out=tmp_path, jobs=0)) == 0
    assert capsys.readouterr().err.count("is cut short or damaged; it is computed again.") == 1
    assert fingerprints(tmp_path) == good


# -- What is measured -------------------------------------------------------------------------------------------


def test_the_ledger_says_whose_rows_they_are_and_what_they_cost(tmp_path: Path) -> None:
    cell = cells(seeds=(1,), k=2)[2]
    outcome = run_cell(cell)
    assert outcome.table is not None
    ledger = outcome.table.to_pandas()
    data = DATA.replicate(1).load()
    fold = data.folds(4, 1)[2]
    assert sorted(set(ledger["instance"])) == fold.test.tolist(), "instances are positions in the data set"
    assert len(ledger) == 2 * len(fold.test) == 2 * ledger["test_size"].iloc[0]
    assert ledger["label"].tolist() == data.labels[ledger["instance"].tolist()].tolist()
    expected = data.oracle.optimal_ged(data.graphs)
    assert expected is not None and ledger["optimum"].tolist() == expected[ledger["instance"].tolist()].tolist()
    assert set(ledger["fit_calls"]) == {len(fold.train)}, "classes of the training graphs, asked once"
    assert (ledger["fit_seconds"] >= 0).all() and ledger["simple"].all()
    names = ledger[["cell", "dataset", "method", "variant", "seed", "fold"]].drop_duplicates().values.tolist()
    assert names == [[cell.key, "tree-cycles", "draws", "control", 1, 2]]


def test_only_the_real_work_is_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_load(self: TreeCycles, data_dir: Path | None = None) -> object:
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        return load(self, data_dir)

    load = TreeCycles.load
    monkeypatch.setattr(TreeCycles, "load", slow_load)
    outcome = run_cell(Cell(DATA.varied({"n_graphs": 23}), DRAWS, 0, 4))  # a task that nothing has loaded yet
    assert outcome.table is not None
    assert outcome.table.to_pandas()["fit_seconds"].max() < 0.4


def test_replicates_draw_other_data_and_other_folds() -> None:
    zero, one = cells(folds=(0,), seeds=(0, 1))
    assert zero.task != one.task and zero.seed_for("fit") != one.seed_for("fit")
    assert not torch.equal(DATA.load().folds(4, 0)[0].test, DATA.load().folds(4, 1)[0].test)
    assert zero.seed_for("fit") != zero.seed_for("explain")


# -- What cannot run ----------------------------------------------------------------------------------------------


def test_failures_and_skips_stay_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = cells((DRAWS, RAISES, UNFITTABLE, ELSEWHERE), folds=(0, 1))
    code = Standin(wanted).run(RunOptions(out=tmp_path, jobs=0))
    out, err = capsys.readouterr()
    assert code == 1
    last = err.splitlines()[-1]
    assert last.startswith(
        "tree-cycles, raises:control, fold 0 and 1 more cells failed with ZeroDivisionError: a bug in two lines"
    )
    assert "Traceback" not in err
    assert "These graphs cannot be learnt from; use others." in out
    assert "Draws is only defined for asd" in out
    assert len(list((tmp_path / "errors").iterdir())) == 2
    assert "Traceback" in next((tmp_path / "errors").iterdir()).read_text()
    stored = Store(tmp_path).read(cells((UNFITTABLE,))[0])
    assert stored is not None and stored.skipped.startswith("These graphs") and len(stored.table) == 0
    assert Store(tmp_path).read(wanted[2]) is None, "a failure is not a result"
    assert Store(tmp_path).ledger(wanted)["method"].unique().tolist() == ["draws"]


def test_a_failure_that_was_put_right_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = cells((RAISES,), folds=(0,))
    assert len(run_cells(wanted, Store(tmp_path)).of("failed")) == 1
    monkeypatch.setattr(standins.Raises, "_explain", Draws._explain)
    assert run_cells(wanted, Store(tmp_path)).n_stored == 1
    assert not list((tmp_path / "errors").iterdir())


def test_missing_data_are_said_once_and_the_rest_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [*cells(folds=(0,)), *grid([ASD], [DRAWS], folds=(0, 1))]
    (tmp_path / "empty").mkdir()
    code = Standin(wanted).run(RunOptions(out=tmp_path / "out", jobs=0, data_dir=tmp_path / "empty"))
    err = capsys.readouterr().err
    assert code == 2 and err.count("The ASD data set is not complete") == 1
    assert err.splitlines()[-1].startswith("2 cells of ASD were not computed")
    assert len(fingerprints(tmp_path / "out")) == 1


class Opaque(Oracle):
    """An oracle that can be asked and nothing else."""

    name = "opaque"

    def predict(self, graphs: Any) -> torch.Tensor:
        return torch.arange(len(graphs)) % 2


def test_methods_that_need_a_relaxation_are_skipped_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Draws, "capabilities", replace(Draws.capabilities, needs_relaxation=True))
    opaque = replace(DATA, name="opaque", oracle=f"{__name__}:Opaque")
    outcome = run_cell(Cell(opaque, DRAWS, 0, 4))
    assert outcome.status == "skipped" and "no differentiable relaxation" in outcome.reason


def test_a_method_that_leaves_loses_its_cell_and_no_other(tmp_path: Path) -> None:
    report = run_cells(cells((EXITS, DRAWS), folds=(0,)), Store(tmp_path))
    assert [outcome.status for outcome in report.outcomes] == ["failed", "computed"]
    assert report.outcomes[0].reason == "SystemExit: enough"


def test_a_reason_that_many_cells_share_is_one(tmp_path: Path) -> None:
    report = run_cells(cells((RAISES,)), Store(tmp_path))
    assert {reason: len(whose) for reason, whose in report.reasons("failed").items()} == {
        "ZeroDivisionError: a bug in two lines": 3
    }


def test_a_disk_that_fills_up_ends_the_run_and_keeps_what_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, written = Store.write, list[Cell]()

    def fails_at_the_third(self: Store, cell: Cell, *arguments: Any, **options: Any) -> Any:
        written.append(cell)
        if len(written) == 3:
            raise StoreError("Results cannot be written.")
        return write(self, cell, *arguments, **options)

    monkeypatch.setattr(Store, "write", fails_at_the_third)
    report = Report()
    with pytest.raises(StoreError):
        run_cells(cells(folds=range(4)), Store(tmp_path), report=report)
    assert len(stored_files(tmp_path)) == report.n_stored == 2


# -- Time limits -------------------------------------------------------------------------------------------


def test_a_time_limit_per_graph_ends_searches_and_is_part_of_the_address() -> None:
    """A thousandth of a microsecond is over as soon as the class of the inputs has been asked for."""
    method = replace(DRAWS, explainer="rsgg.baselines.search:OBS", name="obs")
    (free,), (limited,) = (grid([DATA], [method], folds=(0,), of=4, graph_seconds=s) for s in (None, 1e-9))
    assert free.key != limited.key
    searched, stopped = run_cell(free), run_cell(limited)
    assert searched.table is not None and stopped.table is not None
    assert searched.table.to_pandas()["found"].all()
    ledger = stopped.table.to_pandas()
    assert not ledger["found"].any() and set(ledger["reason"]) == {"the time limit was used up"}
    assert (ledger["calls"] == 1).all()


# -- Observers ---------------------------------------------------------------------------------------------


class Watches(Observer):
    """Notes what it sees, and draws random numbers, which must not disturb those of the method."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def _note(self, what: str) -> None:
        self.seen.append(what)
        torch.rand(7)

    def started(self) -> None:
        self._note("started")

    def watching(self) -> Any:
        self._note("watching")
        return nullcontext()

    def explained(self, run: Run) -> None:
        assert len(run.results) == len(run.test) and run.fit_calls == len(run.train)
        self._note("explained")

    def table(self, run: Run) -> Any:
        return history_table([{"graphs": len(run.test)}])


def test_an_observer_sees_a_run_and_changes_no_result(uninterrupted: dict[str, str]) -> None:
    observer = Watches()
    (cell,) = cells(folds=(3,), of=6)
    watched, usual = run_cell(cell, observer=observer), run_cell(cell)
    assert observer.seen == ["started", "watching", "explained"]
    assert watched.table is not None and usual.table is not None and usual.history is not None
    assert fingerprint(watched.table) == fingerprint(usual.table)
    assert watched.history is not None and watched.history.to_pylist() == [{"graphs": 4}]
    assert usual.history.column_names == ["epoch", "loss"], "training curves, unless something else is asked for"
    assert fingerprint(usual.table) + content_hash(usual.history) == uninterrupted[cell.key]


def test_training_curves_are_kept_for_one_replicate() -> None:
    zero, one = (run_cell(cell) for cell in cells(folds=(0,), seeds=(0, 1)))
    assert zero.history is not None and len(zero.history) == 3 and one.history is None


def test_what_an_observer_brings_is_stored_beside_the_cell(tmp_path: Path) -> None:
    (cell,) = cells(folds=(0,))
    run_cells([cell], Store(tmp_path), Work(observer=Watches()))
    stored = Store(tmp_path).read(cell)
    assert stored is not None and stored.history is not None and stored.history.to_pylist() == [{"graphs": 6}]


def test_an_observer_that_fails_is_a_failure_of_the_cell() -> None:
    class Stumbles(Watches):
        def explained(self, run: Run) -> None:
            raise ValueError("nothing to see")

    outcome = run_cell(cells()[0], observer=Stumbles())
    assert outcome.status == "failed" and outcome.reason == "ValueError: nothing to see"


# -- Dry runs ----------------------------------------------------------------------------------------------


def test_a_dry_run_lists_everything_and_computes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_cells(cells(folds=(0, 1)), Store(tmp_path))
    before = fingerprints(tmp_path)
    wanted = cells((DRAWS, ELSEWHERE), folds=range(4))
    dry_run(wanted, Store(tmp_path), RunOptions(out=tmp_path, jobs=2))
    total, first, second = capsys.readouterr().out.splitlines()
    assert total.startswith("4 cells: 2 stored, 2 to compute, about 1 s on 2 workers")
    assert first.endswith("4 cells, 2 stored, 1 s on one worker") and second.endswith("Draws is only defined for asd")
    dry_run(wanted, Store(tmp_path), RunOptions(out=tmp_path, jobs=2, fresh=True))
    assert "4 cells: 0 stored, 4 to compute" in capsys.readouterr().out
    assert fingerprints(tmp_path) == before


def test_true_labels_are_for_methods_that_say_that_they_read_them() -> None:
    """And of each graph its own, in training and in test."""
    cell, problem = cells()[0], DATA.load(None)
    plain = Run(cell, DRAWS.build(), problem)
    assert plain.train.labels is None and plain.test.labels is None
    reads = Run(cell, ReleasedCLEAR(), problem)
    for part, graphs in ((reads.fold.train, reads.train), (reads.fold.test, reads.test)):
        assert graphs.labels is not None and torch.equal(graphs.labels, problem.labels[part])
