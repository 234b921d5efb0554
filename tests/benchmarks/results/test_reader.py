"""Stored results as tables and figures read them: which folder counts, and a user's rows beside the reference."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.registry import methods
from benchmarks.registry.tasks import TREE_CYCLES
from benchmarks.results import reader
from benchmarks.results.cell import Cell
from benchmarks.results.files import ROOT
from benchmarks.results.ledger import Store, ledger_table
from benchmarks.results.reader import Results, edited
from rsgg.errors import UsageError


def written(folder: Path, methods: tuple[str, ...], minute: int = 0) -> Path:
    """A Table 1 with one metric of these methods, written at this time."""
    folder.mkdir(exist_ok=True)
    rows = [("tree-cycles", name, "faithful", "ged", float(i)) for i, name in enumerate(methods)]
    path = folder / "table1.csv"
    pd.DataFrame(rows, columns=["dataset", "method", "variant", "metric", "mean"]).to_csv(path, index=False)
    os.utime(path, (60 * minute, 60 * minute))
    return path


def test_a_local_table_counts_where_it_is_complete_and_no_older_than_the_reference(tmp_path: Path) -> None:
    local = written(tmp_path / "local", ("cf2", "meg"), minute=1)
    reference = written(tmp_path / "reference", ("cf2", "meg"))
    results = Results((local.parent, reference.parent))
    assert results.path("table1") == local
    os.utime(reference, (120, 120))  # a newer reference: the method may have changed since
    assert results.path("table1") == reference
    written(local.parent, ("cf2",), minute=3)  # a row is missing
    assert results.path("table1") == reference
    reference.unlink()
    assert results.path("table1") == local, "better than nothing"


def test_a_user_s_rows_stand_beside_the_reference_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "REFERENCE", tmp_path / "reference")
    written(tmp_path / "reference", ("cf2", "meg"))
    written(tmp_path / "own", ("mine", "cf2"))
    results = Results.of(tmp_path / "own", beside_reference=True)
    table = results.table("table1")
    assert table is not None and list(table["method"]) == ["cf2", "meg", "mine"]
    assert list(table["mean"]) == [0, 1, 0], "a row that both have is the reference's"
    assert len(results.used) == 2 and not results.again().used


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no folder of results; check the path"):
        Results.of(tmp_path / "none")


def test_a_folder_that_is_not_there_beside_the_reference_is_a_sentence_too(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no folder of results; check the path"):
        Results.of(tmp_path / "none", beside_reference=True)


def test_a_table_that_no_folder_has_is_none(tmp_path: Path) -> None:
    written(tmp_path / "local", ("cf2",))
    assert Results.of(tmp_path / "local").table("ablation_n_nodes") is None


def test_text_stays_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "claims.csv").write_text("value,note\n11.000,\n")
    table = Results.of(tmp_path).table("claims", as_text=True)
    assert table is not None and table.to_numpy().tolist() == [["11.000", ""]]


def test_tables_of_a_family_are_complete_by_their_own_columns(tmp_path: Path) -> None:
    """An ablation of other values is not complete, however many rows it has."""
    columns = ["value", "method", "variant", "metric", "folds", "mean"]
    for name, values, minute in (("local", (3, 5, 8), 1), ("reference", (3, 10), 0)):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "ablation_cycle_size.csv"
        pd.DataFrame([(v, "cf2", "faithful", "ged", 10, 1.0) for v in values], columns=columns).to_csv(path)
        os.utime(path, (60 * minute, 60 * minute))
    results = Results((tmp_path / "local", tmp_path / "reference"))
    assert results.path("ablation_cycle_size") == tmp_path / "reference" / "ablation_cycle_size.csv"


def stored_row(folder: Path, folds: range, ged: float, name: str = "empty") -> None:
    """A control's row of Table 1: one graph of three nodes per fold, of which all edges are removed."""
    method = methods.rows()[name, "control"]
    for fold in folds:
        cell = Cell(TREE_CYCLES, method, fold)
        rows = pd.DataFrame({"cell": cell.key, "fold": [fold], "instance": fold, "n_nodes": 3, "ged": ged})
        Store(folder).write(cell, ledger_table(rows.assign(edits=[[1, 5]])), duration=1.0)


def test_a_ledger_comes_from_the_first_folder_with_the_most_folds(tmp_path: Path) -> None:
    stored_row(tmp_path / "local", range(2), ged=1.0)
    stored_row(tmp_path / "reference", range(3), ged=2.0)
    results = Results((tmp_path / "local", tmp_path / "reference"))
    assert set(results.ledger("tree-cycles", "empty", "control")["ged"]) == {2.0}
    stored_row(tmp_path / "local", range(3), ged=1.0)
    assert set(results.again().ledger("tree-cycles", "empty", "control")["ged"]) == {1.0}
    assert results.ledger("tree-cycles", "cf2", "faithful").empty


def test_inputs_are_what_the_empty_graph_removed_and_edits_turn_them_into_answers(tmp_path: Path) -> None:
    stored_row(tmp_path, range(2), ged=2.0)
    inputs = Results.of(tmp_path).inputs("tree-cycles")
    path = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # edits 1 and 5 of three nodes are the pairs 0-1 and 1-2
    assert list(inputs) == [0, 1] and np.array_equal(inputs[0], path)
    assert not edited(path, [1, 5]).any()
    triangle = edited(path, [2])
    assert np.array_equal(triangle, 1 - np.eye(3)) and np.array_equal(path, path.T), "the input stays what it is"


def test_results_are_read_without_torch_or_any_model() -> None:
    code = """
import sys
from benchmarks.results import artefacts, cell, files, ledger, paper, provenance, reader, searches, summary
from benchmarks.registry import ablations, methods, metrics, names, outside, tasks
from benchmarks.results.files import REFERENCE
results = reader.Results((REFERENCE,))
assert len(results.table("table1")) and len(results.ledger("tree-cycles", "empty", "control"))
assert len(summary.summarise(results.ledger("tree-cycles", "optimum", "control")))
loaded = [name for name in sys.modules if name.split(".")[0] in ("torch", "torch_geometric", "baselines")]
loaded += [name for name in sys.modules if name.startswith(("rsgg.rsgg_ce", "rsgg.baselines", "rsgg.explainer"))]
assert not loaded, loaded
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
