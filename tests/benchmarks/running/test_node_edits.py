"""Cells of a method that edits nodes: stored, read, verified and made minimal; other cells stay what they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import made_minimal
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store, compact, ledger_table, with_node_edits
from benchmarks.running.experiment import run_cells
from benchmarks.running.plan import belongs
from benchmarks.running.run_cell import loaded
from benchmarks.verify import disagreements
from rsgg.task import Problem
from tests.graphs import needs_public_data

ROW = methods.rows()["rsgg-ce-nodes", "beyond"]
TASK = tasks.task("aids-gcn").small()  # no edge changes the class of some of its graphs
CERTIFIED = methods.rows()["rsgg-ce-certified", "beyond"]


def test_the_row_is_for_tasks_with_labels_and_left_out_of_table_1_without_a_word() -> None:
    for task in tasks.tasks().values():
        assert belongs(ROW, task) is (task.name in methods.LABELLED_TASKS) or not task.in_table1
        assert not (task.in_table1 and belongs(ROW, task))
    assert belongs(ROW, tasks.task("aids-gcn")) and not ROW.unsupported("aids-gcn")
    assert belongs(methods.rows()["meg", "released"], tasks.task("asd")), "whose × the table explains"
    assert ("rsgg-ce-nodes-min", "beyond") not in methods.rows(), "its results are minimal already"


def test_a_ledger_without_edits_of_nodes_is_written_as_before_and_read_with_an_empty_column() -> None:
    rows = pd.DataFrame({"instance": [0, 1], "edits": [[1], []], "node_edits": [[], []]})
    assert ledger_table(rows).equals(ledger_table(rows.drop(columns="node_edits")))
    assert with_node_edits(ledger_table(rows).to_pandas())["node_edits"].tolist() == [[], []]
    some = rows.assign(node_edits=[[7, 9], []])
    assert [list(edits) for edits in with_node_edits(ledger_table(some).to_pandas())["node_edits"]] == [[7, 9], []]
    assert with_node_edits(pd.DataFrame({"instance": [0]})).columns.tolist() == ["instance"]


@needs_public_data
def test_cells_are_stored_verified_and_made_minimal(tmp_path: Path) -> None:
    row = ROW.for_task(TASK.name).tiny()
    cells = [Cell(TASK, one, 0, TASK.folds) for one in (row, made_minimal(row), CERTIFIED.for_task(TASK.name).tiny())]
    store = Store(tmp_path)
    run_cells(cells, store)
    own, minimal, pairs = (store.read(cell) for cell in cells)
    assert own is not None and minimal is not None and pairs is not None
    assert "node_edits" in own.table.column_names and "node_edits" not in pairs.table.column_names
    assert any(len(edits) for edits in own.ledger["node_edits"]) and not any(map(len, pairs.ledger["node_edits"]))
    assert minimal.ledger["found"].equals(own.ledger["found"])
    assert (minimal.ledger["ged"] <= own.ledger["ged"]).all()
    problem = loaded(TASK, None, None)
    assert isinstance(problem, Problem)
    for stored in (own, minimal, pairs):
        assert disagreements(stored.ledger, problem, stored.definition) == {}
    wrong = own.ledger.assign(node_edits=[edits[1:] for edits in own.ledger["node_edits"]])
    assert "ged" in disagreements(wrong, problem, own.definition)
    compact(store, tmp_path / "ledger")
    together = store.ledger(cells)
    assert len(together) == 36 and all(isinstance(edits, list | np.ndarray) for edits in together["node_edits"])
