"""What is seen of a run: the time that is left, a bar and a table on a terminal, a few lines in a log."""

from __future__ import annotations

import io
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store
from benchmarks.running import progress as module
from benchmarks.running.experiment import run_cells
from benchmarks.running.options import Table1Options
from benchmarks.running.progress import Durations, Progress, in_words
from benchmarks.running.run_cell import Outcome
from benchmarks.table1 import plan
from tests.standins import DATA, DRAWS, UNFITTABLE, cells


def test_time_left_is_learnt_from_cells_of_the_same_row() -> None:
    guess = replace(DRAWS, seconds_per_fold=50.0)
    durations, wanted = Durations(), cells((guess, replace(guess, name="other")), folds=(0, 1))
    assert durations.left(wanted, jobs=2) == 100
    durations.learn(wanted[0], 4.0)
    durations.learn(wanted[1], 6.0)
    assert durations.left(wanted, jobs=2) == (5 + 5 + 50 + 50) / 2
    assert durations.left(wanted[2:3], jobs=8) == 50, "more workers do not make one cell faster"
    assert durations.left([], jobs=2) == 0


def test_time_left_is_what_cells_took_elsewhere(tmp_path: Path) -> None:
    (cell,) = cells(folds=(0,))
    run_cells([cell], Store(tmp_path))
    stored = Store(tmp_path).read(cell)
    assert stored is not None and Durations(Store(tmp_path)).expect(cell) == stored.duration
    assert Durations().expect(cell) == cell.method.seconds_per_fold


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.2, "1 s"), (59, "59 s"), (150, "2 min"), (3600, "1 h 0 min"), (4800, "1 h 20 min")]
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_a_terminal_gets_a_bar_and_the_table_so_far(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REDRAW_EVERY", 0.0)
    file = io.StringIO()
    screen, seen = Console(file=file, force_terminal=True, width=100, highlight=False), list[int]()

    def live_table(ledger: pd.DataFrame) -> str:
        seen.append(len(ledger))
        return f"table with {len(ledger)} rows"

    wanted = cells()
    run_cells(wanted[:1], Store(tmp_path))
    with Progress(wanted, 1, screen, Store(tmp_path), live_table) as progress:
        run_cells(wanted, Store(tmp_path), on_done=progress.done)
        screen.print(progress._renderable())
    assert seen == [6, 12, 18], "what was stored before is part of the table"
    assert "table with 18 rows" in file.getvalue() and "3/3" in file.getvalue()


def test_a_log_file_gets_one_line_per_row(tmp_path: Path) -> None:
    file = io.StringIO()
    wanted = cells((DRAWS, UNFITTABLE))
    with Progress(wanted, 1, Console(file=file, width=80)) as progress:
        run_cells(wanted, Store(tmp_path), on_done=progress.done)
    assert file.getvalue() == "tree-cycles, draws:control: done; 3 of 6 cells, about 3 s left.\n"


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_over_thousands_of_cells_costs_next_to_nothing(terminal: bool) -> None:
    """It is told of each cell; looking at all that are left each time would cost more than the cells themselves."""
    rows = [replace(DRAWS, name=f"draws-{i}") for i in range(10)]
    wanted = [
        Cell(DATA.replicate(seed), row, fold, seed=seed) for row in rows for seed in range(30) for fold in range(10)
    ]
    start = time.process_time()
    with Progress(wanted, 2, Console(file=io.StringIO(), force_terminal=terminal)) as progress:
        for i, cell in enumerate(wanted):
            progress.done(Outcome(cell, "computed", duration=1.0) if i % 2 else Outcome(cell, "stored"))
    assert time.process_time() - start < 5
    assert not progress.waiting


def test_what_the_reference_measured_is_expected_of_a_row_of_table_1(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = plan(Table1Options(methods=["clear:faithful"], datasets=["tree-cycles"], folds=["0"]))[0]
    monkeypatch.setattr(module, "_speed", lambda: {("clear", "faithful", "tree-cycles"): 7.5})
    assert Durations().expect(cell) == 7.5
    larger = replace(cell, task=cell.task.varied({"n_nodes": 64}))
    assert Durations().expect(larger) != 7.5, "another task takes another time"
    durations = Durations()
    durations.learn(cell, 3.0)
    assert durations.expect(cell) == 3.0, "what is seen now counts most"


def test_speed_of_the_reference_is_read() -> None:
    assert module._speed()["meg", "faithful", "tree-cycles"] > 1
