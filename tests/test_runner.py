"""The runner: the same result for any number of workers and after any interruption; failures stay where they are."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import pandas as pd
import psutil
import pytest
import torch
from rich.console import Console

from benchmarks.catalogue import CATALOGUE, Method
from benchmarks.cell import Cell, grid, replicate
from benchmarks.experiment import dry_run, run
from benchmarks.options import RunOptions
from benchmarks.progress import Durations, Progress, in_words
from benchmarks.runner import Outcome, compute, run_cells
from benchmarks.store import Damaged, Store, StoreError, content_hash, fingerprint
from rsgg.data import ASD, TreeCycles
from rsgg.minimise import Minimised
from rsgg.oracles.optimum import optimal_ged
from rsgg.oracles.oracle import Oracle
from tests import standins
from tests.standins import DATA, DRAWS, ELSEWHERE, RAISES, UNFITTABLE, Draws, cells

ROOT = Path(__file__).parent.parent


def fingerprints(folder: Path) -> dict[str, str]:
    """Cell -> content without times, training curves included; fails on anything damaged."""
    found = {}
    for path, key, cell in Store(folder).everything():
        assert not isinstance(cell, Damaged), (path, cell)
        found[key] = fingerprint(cell.table) + (content_hash(cell.history) if cell.history is not None else "")
    return found


def start(folder: Path, jobs: int, *methods: str, delay: float = 0.0) -> subprocess.Popen[str]:
    """The stand-in experiment (twelve cells of each method) as a process of its own, in a process group of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "RSGG_TEST_DELAY": str(delay), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-c", "from tests.standins import main; main()", str(folder), str(jobs), *methods]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        program, env=environment, text=True, start_new_session=True, preexec_fn=_hear_interrupts, **pipes
    )


def _hear_interrupts() -> None:
    """A shell's background jobs are born deaf to Ctrl-C, and so would be what these tests start and interrupt."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def wait_for_cells(folder: Path, n: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 120
    while len(list(folder.rglob("seed*[0-9a-f].parquet"))) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "the run did not get anywhere"
        time.sleep(0.02)


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.endswith(".tmp")]


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One worker, in this process, in one go."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    report = run_cells(cells(folds=range(6), of=6, seeds=(0, 1)), Store(folder))
    assert report.n_stored == 12 and not report.of("failed", "skipped", "no data")
    return fingerprints(folder)


# -- The same result, whatever happens -----------------------------------------------------------------------


def test_killed_and_resumed_on_two_workers_as_in_one_go_on_one(tmp_path: Path, uninterrupted: dict[str, str]):
    first = start(tmp_path, 2, delay=0.4)
    wait_for_cells(tmp_path, 3, first)
    workers = psutil.Process(first.pid).children(recursive=True)
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    survived = fingerprints(tmp_path)
    assert 3 <= len(survived) < 12
    _, alive = psutil.wait_procs(workers, timeout=20)
    assert not alive, "workers whose parent was killed end by themselves"

    report = run_cells(cells(folds=range(6), of=6, seeds=(0, 1)), Store(tmp_path))
    assert len(report.of("stored")) == len(survived) and report.n_stored == 12
    assert fingerprints(tmp_path) == uninterrupted


def test_ctrl_c_ends_with_one_sentence_and_leaves_nothing_behind(tmp_path: Path):
    process = start(tmp_path, 2, delay=0.4)
    wait_for_cells(tmp_path, 2, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # a terminal interrupts the whole group, workers included
    out, err = process.communicate(timeout=60)
    n = len(fingerprints(tmp_path))
    assert process.returncode == 130
    assert err.splitlines()[-1] == f"Stopped; {n} of 12 cells are stored; the same command goes on from here."
    assert len(err.splitlines()) == 1, err
    assert 2 <= n < 12 and not leftovers(tmp_path) and out == ""
    assert not psutil.wait_procs(workers, timeout=20)[1]


@pytest.mark.parametrize("fresh", [False, True])
def test_a_polite_kill_is_like_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], fresh: bool
):
    explain, calls = Draws._explain, []

    def kills_in_the_second_cell(self, *arguments):
        calls.append(self)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return explain(self, *arguments)

    monkeypatch.setattr(Draws, "_explain", kills_in_the_second_cell)
    before = signal.getsignal(signal.SIGTERM)
    assert run(standins.experiment(cells()), RunOptions(out=tmp_path, jobs=1, fresh=fresh)) == 130
    command = "without --fresh the same command" if fresh else "the same command"
    assert capsys.readouterr().err == f"Stopped; 1 of 3 cells are stored; {command} goes on from here.\n"
    assert signal.getsignal(signal.SIGTERM) == before, "afterwards the signal means what it meant before"


def test_results_do_not_depend_on_what_ran_before(uninterrupted: dict[str, str]):
    last = cells(folds=range(6), of=6, seeds=(0,))[-1]
    torch.manual_seed(12345)
    outcome = compute(last)
    assert outcome.table is not None and outcome.history is not None
    assert fingerprint(outcome.table) + content_hash(outcome.history) == uninterrupted[last.key]


def test_a_stored_cell_is_not_computed_again_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
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


def test_a_damaged_cell_is_computed_again_and_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    wanted = cells()
    run_cells(wanted, Store(tmp_path))
    good = fingerprints(tmp_path)
    Store(tmp_path).path(wanted[1]).write_bytes(b"PAR1 half a fi")
    assert run(standins.experiment(wanted), RunOptions(out=tmp_path, jobs=1)) == 0
    assert capsys.readouterr().err.count("is cut short or damaged; it is computed again.") == 1
    assert fingerprints(tmp_path) == good


def test_a_disk_that_fills_up_ends_the_run_and_its_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Whatever was stored before stays; nothing is said but the sentence."""
    write, written = Store.write, []

    def fails_at_the_third(self: Store, cell: Cell, *arguments: object, **options: object) -> object:
        written.append(cell)
        if len(written) == 3:
            raise StoreError("Results cannot be written.")
        return write(self, cell, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Store, "write", fails_at_the_third)
    with warnings.catch_warnings(record=True) as said, pytest.raises(StoreError):
        run_cells(cells(folds=range(6), of=6, seeds=(0, 1)), Store(tmp_path), jobs=2)
    assert not said and len(fingerprints(tmp_path)) == 2
    assert not [child for child in psutil.Process().children() if "LokyProcess" in " ".join(child.cmdline())]


# -- What is measured -------------------------------------------------------------------------------------------


def test_the_ledger_says_whose_rows_they_are_and_what_they_cost(tmp_path: Path):
    cell = cells(seeds=(1,), k=2)[2]
    outcome = compute(cell)
    assert outcome.table is not None
    ledger = outcome.table.to_pandas()
    data = replicate(DATA, 1).load()
    fold = data.folds(4, 1)[2]
    assert sorted(set(ledger["instance"])) == fold.test.tolist(), "instances are positions in the data set"
    assert len(ledger) == 2 * len(fold.test) == 2 * ledger["test_size"].iloc[0]
    assert ledger["label"].tolist() == data.labels[ledger["instance"].tolist()].tolist()
    expected = optimal_ged(data.oracle, data.graphs)
    assert expected is not None and ledger["optimum"].tolist() == expected[ledger["instance"].tolist()].tolist()
    assert set(ledger["fit_calls"]) == {len(fold.train)}, "classes of the training graphs, asked once"
    assert (ledger["fit_seconds"] >= 0).all() and ledger["simple"].all()
    names = ledger[["cell", "dataset", "method", "variant", "seed", "fold"]].drop_duplicates().values.tolist()
    assert names == [[cell.key, "tree-cycles", "draws", "control", 1, 2]]


def test_only_the_real_work_is_timed(monkeypatch: pytest.MonkeyPatch):
    def slow_load(self: TreeCycles, data_dir: Path | None = None) -> object:
        end = time.process_time() + 0.5
        while time.process_time() < end:
            pass
        return load(self, data_dir)

    load = TreeCycles.load
    monkeypatch.setattr(TreeCycles, "load", slow_load)
    outcome = compute(Cell(replace(DATA, n_graphs=23), DRAWS, 0, 4))  # a spec that nothing has loaded yet
    assert outcome.table is not None
    assert outcome.table.to_pandas()["fit_seconds"].max() < 0.4


def test_replicates_draw_other_data_and_other_folds():
    zero, one = cells(folds=(0,), seeds=(0, 1))
    assert zero.dataset != one.dataset and zero.seed_for("fit") != one.seed_for("fit")
    assert replicate(ASD(), 3) == ASD(), "given data stay what they are"
    assert not torch.equal(DATA.load().folds(4, 0)[0].test, DATA.load().folds(4, 1)[0].test)
    assert zero.seed_for("fit") != zero.seed_for("explain")


# -- What cannot run ----------------------------------------------------------------------------------------------


def test_failures_and_skips_stay_where_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    wanted = cells((DRAWS, RAISES, UNFITTABLE, ELSEWHERE), folds=(0, 1))
    code = run(standins.experiment(wanted), RunOptions(out=tmp_path, jobs=2))
    out, err = capsys.readouterr()
    assert code == 1
    last = err.splitlines()[-1]
    assert last.startswith(
        "tree-cycles, raises (control), fold 0 and 1 more cells failed with ZeroDivisionError: a bug in two lines"
    )
    assert "Traceback" not in err
    assert "These graphs cannot be learnt from; use others." in out
    assert "elsewhere (control) is only defined for asd" in out
    assert len(list((tmp_path / "errors").iterdir())) == 2
    assert "Traceback" in next((tmp_path / "errors").iterdir()).read_text()
    stored = Store(tmp_path).read(cells((UNFITTABLE,))[0])
    assert stored is not None and stored.skipped.startswith("These graphs") and len(stored.table) == 0
    assert Store(tmp_path).read(wanted[2]) is None, "a failure is not a result"
    assert Store(tmp_path).ledger(wanted)["method"].unique().tolist() == ["draws"]


def test_a_failure_that_was_put_right_is_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    wanted = cells((RAISES,), folds=(0,))
    assert len(run_cells(wanted, Store(tmp_path)).of("failed")) == 1
    monkeypatch.setattr(standins.Raises, "_explain", Draws._explain)
    assert run_cells(wanted, Store(tmp_path)).n_stored == 1
    assert not list((tmp_path / "errors").iterdir())


def test_missing_data_are_said_once_and_the_rest_is_computed(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    wanted = [*cells(folds=(0,)), *grid([ASD()], [DRAWS], folds=(0, 1))]
    (tmp_path / "empty").mkdir()
    code = run(standins.experiment(wanted), RunOptions(out=tmp_path / "out", jobs=1, data_dir=tmp_path / "empty"))
    err = capsys.readouterr().err
    assert code == 2 and err.count("The ASD data set is not complete") == 1
    assert err.splitlines()[-1].startswith("2 cells of asd were not computed")
    assert len(fingerprints(tmp_path / "out")) == 1


class WithoutRelaxation(Oracle):
    name = "opaque"

    def predict(self, graphs):
        return torch.zeros(len(graphs), dtype=torch.long)


def test_methods_that_need_a_relaxation_are_skipped_where_there_is_none(monkeypatch: pytest.MonkeyPatch):
    needs = replace(Draws.capabilities, needs_relaxation=True)
    monkeypatch.setattr(Draws, "capabilities", needs)
    spec = replace(DATA, n_graphs=22)
    load = TreeCycles.load
    monkeypatch.setattr(TreeCycles, "load", lambda self, data_dir=None: replace(load(self), oracle=WithoutRelaxation()))
    outcome = compute(Cell(spec, DRAWS, 0, 4))
    assert outcome.status == "skipped" and "no differentiable relaxation" in outcome.reason


# -- The catalogue ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", CATALOGUE, ids=lambda method: f"{method.name}-{method.variant}")
def test_every_method_of_the_catalogue_can_be_built_and_has_a_key(method: Method):
    cell = Cell(DATA, method, 0)
    assert len(cell.key) == 64 and method.label
    assert Cell(DATA, method.tiny(), 0).definition["method"]["name"] == method.name
    built = method.build("meta")
    assert getattr(built, "device", "meta") == "meta"


def test_names_in_the_catalogue_are_unique():
    names = [(method.name, method.variant) for method in CATALOGUE]
    assert len(set(names)) == len(names)


def test_tiny_keeps_what_a_row_is_about_and_shrinks_the_rest():
    assert Method("m", "v", Draws, {"flips": 7, "device": "cuda"}).tiny().hyperparameters["flips"] == 1
    wrapped = Method("m", "v", Minimised, {"base": Draws(flips=7)}).tiny()
    assert wrapped.hyperparameters["base"].flips == 1


def test_a_method_is_built_anew_for_every_cell():
    method = Method("m", "v", Minimised, {"base": Draws()})
    assert method.build().base is not method.build().base, "what one fold learns is not there in the next"  # type: ignore[attr-defined]


# -- What is seen -------------------------------------------------------------------------------------------------


def test_time_left_is_learnt_from_cells_of_the_same_row():
    guess = replace(DRAWS, seconds_per_fold=50.0)
    durations, wanted = Durations(), cells((guess, replace(guess, name="other")), folds=(0, 1))
    assert durations.left(wanted, jobs=2) == 100
    durations.learn(wanted[0], 4.0)
    durations.learn(wanted[1], 6.0)
    assert durations.left(wanted, jobs=2) == (5 + 5 + 50 + 50) / 2
    assert durations.left(wanted[2:3], jobs=8) == 50, "more workers do not make one cell faster"
    assert [in_words(seconds) for seconds in (0.2, 59, 150, 4800)] == ["1 s", "59 s", "2 min", "1 h 20 min"]


def test_a_terminal_gets_a_bar_and_the_table_so_far(tmp_path: Path):
    screen = Console(file=io.StringIO(), force_terminal=True, width=100)
    seen: list[int] = []

    def live_table(ledger: pd.DataFrame) -> str:
        seen.append(len(ledger))
        return f"table with {len(ledger)} rows"

    wanted = cells()
    with Progress(wanted, 1, screen, live_table) as progress:
        run_cells(wanted, Store(tmp_path), on_done=progress.done)
        screen.print(progress._renderable())
    text = screen.file.getvalue()  # type: ignore[attr-defined]
    assert seen and "table with" in text and "3/3" in text


def test_a_log_file_gets_one_line_per_row(tmp_path: Path):
    log = Console(file=io.StringIO(), width=80)
    wanted = cells((DRAWS, UNFITTABLE))
    with Progress(wanted, 1, log) as progress:
        run_cells(wanted, Store(tmp_path), on_done=progress.done)
    text = log.file.getvalue()  # type: ignore[attr-defined]
    assert text == "tree-cycles, draws (control): done; 3 of 6 cells, about 3 s left.\n"


def test_a_dry_run_lists_everything_and_computes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    run_cells(cells(folds=(0, 1)), Store(tmp_path))
    before = fingerprints(tmp_path)
    wanted = cells((DRAWS, ELSEWHERE), folds=range(4))
    dry_run(wanted, Store(tmp_path), RunOptions(out=tmp_path, jobs=2))
    first, second, total = capsys.readouterr().out.splitlines()
    assert "stored: folds 0-1; to compute: folds 2-3, 1 s" in first
    assert "not defined: folds 0-3" in second
    assert total.startswith("8 cells: 2 stored, 2 to compute, about 1 s on 2 workers")
    dry_run(wanted, Store(tmp_path), RunOptions(out=tmp_path, jobs=2, fresh=True))
    assert "to compute: folds 0-3" in capsys.readouterr().out
    assert fingerprints(tmp_path) == before
