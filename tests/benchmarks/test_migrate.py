"""Ledgers of format 1 are brought up to date: the same numbers under today's addresses, all of them or none."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks import migrate as module
from benchmarks.migrate import _enter, migrate, pack
from benchmarks.registry import methods, tasks
from benchmarks.results.artefacts import check
from benchmarks.results.cell import Cell, canonical, declared, key_of
from benchmarks.results.files import StoreError
from benchmarks.results.ledger import Store, Stored, content_hash, history_table, ledger_table, unpacked

VERSIONS = {"python": "3.11.0", "versions": {"torch": "2.5"}, "commit": "abc", "machine": {"system": "Linux"}}
CURVES = [{"epoch": 0, "loss": 1.5}, {"epoch": 1, "loss": 0.5}]


def old_definition(name: str, variant: str, fold: int, seed: int = 0, dataset: str = "tree-cycles") -> dict[str, Any]:
    """As format 1 defined a cell: every parameter of the data set and every hyper-parameter of the method."""
    row = methods.rows()[name, variant].for_task(dataset)
    data = tasks.task(dataset).replicate(seed).build().dataset
    hyperparameters = {n: v for n, v in row.build().hyperparameters().items() if n.rpartition(".")[2] != "device"}
    about = {
        "name": name, "variant": variant, "revision": row.revision, "same_start": row.same_start,
        "hyperparameters": declared(hyperparameters),
    }  # fmt: skip
    return {
        "dataset": {"name": dataset, "parameters": data.parameters()},
        "method": about, "fold": fold, "folds": 10, "seed": seed, "k": 1,
    }  # fmt: skip


def table_of(key: str, rows: int) -> pa.Table:
    return ledger_table(
        pd.DataFrame({"cell": key, "instance": range(rows), "ged": [i / 3 for i in range(rows)], "reason": ""})
    )


def old_metadata(definition: Mapping[str, Any], table: pa.Table, history: pa.Table | None) -> dict[str, Any]:
    return {
        "format": 1, "definition": definition, "sha256": content_hash(table),
        "history": "" if history is None else content_hash(history),
        "seed": definition["seed"], "created": "2025-01-01T00:00:00+00:00", "duration": 2.5, "skipped": "", **VERSIONS,
    }  # fmt: skip


def write(path: Path, table: pa.Table, meta: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.replace_schema_metadata({b"rsgg": canonical(meta)}), path)


def write_cell(folder: Path, definition: Mapping[str, Any], rows: int = 3, *, curves: bool = False) -> Path:
    """One cell of format 1 in its own file."""
    key = key_of(definition)
    table, history = table_of(key, rows), history_table(CURVES) if curves else None
    row = f"{definition['method']['name']}.{definition['method']['variant']}"
    name = f"seed{definition['seed']}-fold{definition['fold']}-{key[:16]}"
    path = folder / "cells" / definition["dataset"]["name"] / row / f"{name}.parquet"
    meta = old_metadata(definition, table, history)
    write(path, table, meta)
    if history is not None:
        write(path.with_name(f"{name}.history.parquet"), history, meta)
    return path


def write_ledger(folder: Path, name: str, definitions: list[dict[str, Any]]) -> Path:
    """Many cells of format 1 in one file, the first with training curves; what they share is written once."""
    tables = [table_of(key_of(definition), i + 2) for i, definition in enumerate(definitions)]
    curves = [history_table(CURVES) if i == 0 else None for i in range(len(definitions))]
    shared = {"format": 1, "created": "2025-01-01T00:00:00+00:00", "skipped": "", **VERSIONS}
    cells = []
    for definition, table, history in zip(definitions, tables, curves, strict=True):
        own = {n: v for n, v in old_metadata(definition, table, history).items() if n not in shared}
        own["definition"] = {n: v for n, v in definition.items() if n in ("fold", "seed", "dataset")}
        cells.append(
            {
                "metadata": own, "rows": len(table), "history_rows": 0 if history is None else len(history),
                "history_columns": [] if history is None else history.column_names,
            }
        )  # fmt: skip
    meta = {
        "format": 1, "shared": shared, "layout": {"columns": tables[0].column_names}, "cells": cells,
        "definition": {n: v for n, v in definitions[0].items() if n not in ("fold", "seed", "dataset")},
    }  # fmt: skip
    path = folder / "ledger" / f"{name}.parquet"
    write(path, pa.concat_tables(tables), meta)
    write(path.with_name(f"{name}.history.parquet"), history_table(CURVES), {"format": 1})
    return path


WANTED = [("cf2", "faithful", 0, 0), ("cf2", "faithful", 1, 0), ("cf2", "faithful", 0, 3)]
SINGLE = [("rsgg-ce", "released", 2, 0), ("two-sided-min", "search", 4, 1), ("rsgg-ce", "beyond", 0, 0)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of results in format 1: a ledger, single cells, traces and a manifest."""
    definitions = [old_definition(*row) for row in WANTED]
    ledger = write_ledger(tmp_path, "tree-cycles.cf2.faithful", definitions)
    single = [old_definition(*row) for row in SINGLE]
    for i, definition in enumerate(single):
        write_cell(tmp_path, definition, rows=i + 1, curves=i == 0)
    keys = [key_of(definition) for definition in (*definitions, *single)]
    pq.write_table(pa.table({"cell": [*keys, "unknown"], "step": range(7)}), tmp_path / "traces.parquet")
    listed = {
        name: {"sha256": hashlib.sha256((tmp_path / name).read_bytes()).hexdigest(), "cells": 3}
        for name in ("traces.parquet", f"ledger/{ledger.name}")
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"format": 1, "files": listed, "experiments": {"table1": {}}}))
    return tmp_path


def today(name: str, variant: str, fold: int, seed: int) -> Cell:
    """The cell as a run of today would ask for it."""
    entry = tasks.task("tree-cycles").replicate(seed)
    return Cell(entry, methods.rows()[name, variant].for_task("tree-cycles"), fold, seed=seed)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_definitions_of_format_1_in_this_test_are_those_that_it_had() -> None:
    definition = old_definition("cf2", "released", 0)
    assert set(definition["dataset"]["parameters"]) == {"max_cycle_nodes", "n_graphs", "n_nodes", "order", "seed"}
    assert set(definition["method"]) == {"name", "variant", "revision", "same_start", "hyperparameters"}
    assert len(definition["method"]["hyperparameters"]) > 1, "all of them, those at their defaults too"


def test_numbers_stay_and_addresses_are_those_of_today(folder: Path) -> None:
    renamed = migrate(folder)
    assert len(renamed) == len(set(renamed.values())) == 6
    store = Store(folder)
    cells = [today(*row) for row in (*WANTED, *SINGLE)]
    assert store.stored(cells) == {cell.key for cell in cells} == set(renamed.values())
    for cell, rows in zip(cells, (2, 3, 4, 1, 2, 3), strict=True):
        stored = store.read(cell)
        assert stored is not None and stored.duration == 2.5 and stored.metadata["commit"] == "abc"
        assert stored.ledger["ged"].tolist() == [i / 3 for i in range(rows)]
        assert stored.ledger["instance"].tolist() == list(range(rows)) and set(stored.ledger["cell"]) == {cell.key}
    curves = [stored.history is not None for cell in cells if (stored := store.read(cell)) is not None]
    assert curves == [True, False, False, True, False, False] and not store.noticed
    assert len(list((folder / "cells").rglob("*.parquet"))) == 4, "nothing is left under an old address"


def test_traces_and_the_manifest_follow(folder: Path) -> None:
    migrate(folder)
    traces = pq.read_table(folder / "traces.parquet")
    assert traces.column("cell").to_pylist() == [*(today(*row).key for row in (*WANTED, *SINGLE)), "unknown"]
    assert traces.column("step").to_pylist() == list(range(7))
    assert check(folder, complete=False) == (2, [])
    assert "table1" in json.loads((folder / "manifest.json").read_text())["experiments"]


def test_a_second_time_changes_nothing(folder: Path) -> None:
    migrate(folder)
    before, times = contents(folder), {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert migrate(folder) == {}
    assert contents(folder) == before
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == times


@pytest.mark.parametrize("harm", ["cut", "empty", "value", "no curves", "unknown method", "no metadata"])
@pytest.mark.parametrize("which", ["ledger", "cell"])
def test_a_damaged_file_ends_it_with_a_sentence_and_nothing_is_changed(folder: Path, harm: str, which: str) -> None:
    """The damaged file is read last: everything else could have been rewritten by then."""
    if which == "ledger":
        definitions = [old_definition("meg", "released", fold) for fold in (0, 1)]
        path = write_ledger(folder, "tree-cycles.meg.released", definitions)
    else:
        path = write_cell(folder, old_definition("two-sided-min", "search", 9), curves=True)
    table = pq.read_table(path)
    meta = json.loads(table.schema.metadata[b"rsgg"])
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "value":
        write(path, table.set_column(2, "ged", pa.array([9.0] * len(table))), meta)
    elif harm == "no curves":
        path.with_name(f"{path.stem}.history.parquet").unlink()
    elif harm == "no metadata":
        pq.write_table(table.replace_schema_metadata(None), path)
    else:
        text = canonical(meta)
        name = "meg" if which == "ledger" else "two-sided-min"
        write(path, table, json.loads(text.replace(f'"name":"{name}"', '"name":"nobody"')))
    before = contents(folder)
    with pytest.raises(StoreError, match=r"nothing is changed"):
        migrate(folder)
    assert contents(folder) == before


def test_the_command_says_what_it_did_or_why_it_could_not(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert module.main([str(folder)]) == 0
    said = ("6 cells were brought to format 2.", "the metadata of 0 files were packed.")
    assert capsys.readouterr().out.splitlines() == [f"{folder}: {sentence}" for sentence in said]
    (folder / "ledger" / "tree-cycles.cf2.faithful.parquet").write_bytes(b"")
    assert module.main([str(folder)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and "cannot be read" in err
    assert module.main([str(folder / "none")]) == 2


def test_folds_and_candidates_that_differ_are_kept(tmp_path: Path) -> None:
    definition = {**old_definition("cf2", "released", 1), "folds": 4, "k": 2}
    assert module.new_definition(definition) == {
        "task": {"name": "tree-cycles"}, "method": {"name": "cf2", "variant": "released"},
        "fold": 1, "seed": 0, "folds": 4, "k": 2,
    }  # fmt: skip
    assert replace(today("cf2", "released", 1, 0), folds=4, k=2).definition == module.new_definition(definition)


def test_plain_metadata_are_packed_and_the_cells_stay_what_they_are(folder: Path) -> None:
    migrate(folder)
    for path in (folder / "ledger").glob("*.parquet"):  # as they were written before
        table = pq.read_table(path, partitioning=None)
        plain = canonical(unpacked(table.schema.metadata[b"rsgg"]))
        pq.write_table(table.replace_schema_metadata({b"rsgg": plain}), path, compression="zstd")
    _enter(folder, [folder / "ledger" / "tree-cycles.cf2.faithful.parquet"])
    before = {key: stored for _, key, stored in Store(folder).everything()}
    assert len(pack(folder)) == 2 and not pack(folder)
    after = {key: stored for _, key, stored in Store(folder).everything()}
    assert list(after) == list(before)
    for key, stored in after.items():
        known = before[key]
        assert isinstance(stored, Stored) and isinstance(known, Stored)
        assert stored.table.equals(known.table) and stored.metadata == known.metadata
        assert (stored.history is None) == (known.history is None)
    assert check(folder, complete=False) == (2, [])
