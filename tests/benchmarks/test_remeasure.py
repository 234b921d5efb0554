"""Stored edits are measured once more: the values of today, nothing else of a cell, and no other oracle's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.registry import methods, tasks
from benchmarks.remeasure import FOLLOWS, main, remeasure
from benchmarks.results.cell import Cell
from benchmarks.results.files import StoreError
from benchmarks.results.ledger import Store, Stored, fingerprint, history_table
from benchmarks.running.quality import Quality
from benchmarks.running.run_cell import run_cell

TASK = tasks.TREE_CYCLES.varied({"n_nodes": 10, "n_graphs": 60, "max_cycle_nodes": 4})
CELLS = [Cell(TASK, methods.rows()[name, "search"], fold, 5) for name in ("two-sided", "dce") for fold in (0, 1)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for cell in CELLS:
        outcome = run_cell(cell, observer=Quality())
        assert outcome.table is not None and outcome.history is not None
        Store(tmp_path).write(cell, outcome.table, outcome.history, duration=2.0)
    return tmp_path


def read(folder: Path, cell: Cell) -> Stored:
    stored = Store(folder).read(cell)
    assert stored is not None
    return stored


def changed(folder: Path, cell: Cell, **columns: object) -> Stored:
    """Store other measures of a cell than those it has; returns what was stored before."""
    before = read(folder, cell)
    assert before.history is not None
    lines = before.history.to_pandas().assign(**columns)
    Store(folder).write_as_it_is(cell, before.with_curves(history_table(lines.to_dict("records"))))
    return before


def test_what_is_out_of_date_is_measured_anew_and_nothing_else_changes(folder: Path) -> None:
    assert remeasure(folder, CELLS, jobs=1) == [], "all of it is of today"
    plausible = read(folder, CELLS[2]).history.to_pandas()["plausibility"]  # type: ignore[union-attr]
    before = changed(folder, CELLS[2], plausibility=plausible / 2, degrees=0.0, sanitised=1.0, mmd_degree=0.5)
    assert remeasure(folder, CELLS, jobs=1) == [CELLS[2]]
    after = read(folder, CELLS[2])
    assert after.history is not None and before.history is not None
    one, other = before.history.to_pandas(), after.history.to_pandas()
    known = [name for name in FOLLOWS if name != "sanitised"]
    pd.testing.assert_frame_equal(one[known], other[known])
    assert (other["mmd_degree"] == 0.5).all(), "not one of those columns"
    assert (other["sanitised"] == 1.0).all(), "edits alone do not say it here, so that it stays as it is stored"
    assert fingerprint(before.table) == fingerprint(after.table)
    own = {"history", "sha256"}
    assert {name: value for name, value in after.metadata.items() if name not in own} == {
        name: value for name, value in before.metadata.items() if name not in own
    }
    assert not Store(folder).noticed


def test_edits_do_not_say_which_molecule_a_method_made(folder: Path) -> None:
    """What is stored of the rules of such a row stays, plausibility is measured anew."""
    cell = replace(CELLS[2], method=replace(CELLS[2].method, molecules=True))
    before = changed(folder, cell, degrees=0.5, sanitised=1.0)
    assert remeasure(folder, [cell], jobs=1) == []
    changed(folder, cell, plausibility_unedited=0.5)
    assert remeasure(folder, [cell], jobs=1) == [cell]
    one, other = before.history.to_pandas(), read(folder, cell).history.to_pandas()  # type: ignore[union-attr]
    assert (other["degrees"] == 0.5).all() and (other["sanitised"] == 1.0).all()
    pd.testing.assert_series_equal(one["plausibility_unedited"], other["plausibility_unedited"])


def test_another_oracle_is_noticed(folder: Path) -> None:
    """It says of other graphs than before that their class has changed."""
    none = read(folder, CELLS[0]).history.to_pandas()["plausibility"].where(lambda value: value < 0)  # type: ignore[union-attr]
    changed(folder, CELLS[0], plausibility=none)
    with pytest.raises(StoreError, match="the oracle answers otherwise about"):
        remeasure(folder, CELLS, jobs=1)


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(str(tmp_path / "nowhere")) == 2 and "is no folder of results" in capsys.readouterr().err
