"""Stored results as tables and figures read them: which folder counts, and a user's rows beside the reference."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.results import reader
from benchmarks.results.reader import Results
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
