"""The store: whole or not at all, damage and staleness noticed, the same answer from cells and compacted files."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmarks.catalogue import Method
from benchmarks.cell import Cell, declared
from benchmarks.store import (
    Damaged,
    Store,
    StoreError,
    compact,
    content_hash,
    fingerprint,
    history_table,
    ledger_table,
    write_whole,
)
from rsgg.errors import UsageError
from rsgg.minimise import Minimised
from rsgg.rsgg_ce.partial_order import ExistingThenAll, ExistingThenMissing, Within
from tests import standins
from tests.standins import DATA, DRAWS

CELL = Cell(DATA, DRAWS, fold=1, folds=4)


def ledger(rows: int = 3) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "cell": CELL.key,
            "instance": range(rows),
            "found": [i % 2 == 0 for i in range(rows)],
            "reason": [""] * rows,
            "ged": np.arange(rows) / 2,
            "edits": [list(range(i)) for i in range(rows)],
            "optimum": [np.nan] * rows,
            "seconds": np.linspace(0.1, 0.2, rows),
        }
    )


CURVES = [{"epoch": 0, "loss": 1.5, "note": None}, {"epoch": 1, "loss": float("nan"), "note": None}]


def stored(tmp_path: Path, cell: Cell = CELL) -> tuple[Store, Path]:
    store = Store(tmp_path)
    store.write(cell, ledger_table(ledger()), history_table(CURVES), duration=1.25)
    return Store(tmp_path), store.path(cell)  # a new store: nothing remembered


# -- Identity --------------------------------------------------------------------------------------------


def test_key_is_the_sha256_of_the_documented_json():
    text = (
        '{"dataset":{"name":"tree-cycles","parameters":{"max_cycle_nodes":4,"n_graphs":24,"n_nodes":10,'
        '"order":"edge-list","seed":0}},"fold":1,"folds":4,"k":1,"method":{"hyperparameters":{"flips":2},'
        '"name":"draws","revision":1,"same_start":false,"variant":"control"},"seed":0}'
    )
    assert CELL.key == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, fold=2),
        replace(CELL, folds=5),
        replace(CELL, seed=1),
        replace(CELL, k=2),
        replace(CELL, dataset=replace(DATA, n_graphs=25)),
        replace(CELL, method=replace(DRAWS, revision=2)),
        replace(CELL, method=replace(DRAWS, variant="search")),
        replace(CELL, method=replace(DRAWS, hyperparameters={"flips": 3})),
    ],
)
def test_whatever_changes_a_result_changes_the_key(other: Cell):
    assert other.key != CELL.key and other != CELL


def test_what_does_not_change_a_result_keeps_the_key():
    @dataclass(kw_only=True)
    class Moved(standins.Draws):  # the same method from another module and under another class name
        pass

    same = [
        replace(CELL, method=replace(DRAWS, label="another label", seconds_per_fold=9.0)),
        replace(CELL, method=replace(DRAWS, hyperparameters={"device": "cuda"})),
        replace(CELL, method=replace(DRAWS, hyperparameters={"flips": 2})),  # the default, said aloud
        replace(CELL, method=replace(DRAWS, explainer=Moved)),
    ]
    assert {cell.key for cell in same} == {CELL.key}
    assert set(same) == {CELL}


def test_wrapped_methods_are_told_apart_by_their_base_and_not_by_its_device():
    def key(**options: object) -> str:
        return Cell(DATA, Method("m", "v", Minimised, {"base": standins.Draws(**options)}), 0).key

    assert key() != key(flips=5)
    assert key() == key(device="cuda")


def test_declared_values_are_plain_json():
    allowed = torch.ones(3, 3, dtype=torch.bool)
    value = {"order": Within(allowed, ExistingThenAll()), "sizes": (1, 2.5), "none": None}
    plain = declared(value)
    assert json.loads(json.dumps(plain)) == plain
    assert plain["order"]["class"] == "Within" and plain["order"]["order"] == {"class": "ExistingThenAll"}
    assert declared(ExistingThenMissing()) != declared(ExistingThenAll())
    assert plain != declared({**value, "order": Within(~allowed, ExistingThenAll())})
    with pytest.raises(UsageError, match="declared names and values"):
        declared(lambda: None)


# -- Reading back ----------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path):
    store, _ = stored(tmp_path)
    found = store.read(CELL)
    assert found is not None and store.noticed == []
    pd.testing.assert_frame_equal(found.ledger[["instance", "found", "ged"]], ledger()[["instance", "found", "ged"]])
    assert [list(edits) for edits in found.ledger["edits"]] == [[], [0], [0, 1]]
    assert found.history is not None and found.history.column("epoch").to_pylist() == [0, 1]
    assert found.duration == 1.25


def test_metadata_say_where_a_result_comes_from(tmp_path: Path):
    _, path = stored(tmp_path)
    meta = json.loads(pq.read_schema(path).metadata[b"rsgg"])
    assert meta["definition"] == CELL.definition and meta["seed"] == 0
    assert meta["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert set(meta["machine"]) == {"system", "cpu", "cores"}
    assert meta["commit"] and meta["created"].startswith("20") and meta["python"].count(".") == 2
    assert os.uname().nodename not in json.dumps(meta["machine"])
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_content_hash_depends_on_content_and_not_on_encoding(tmp_path: Path):
    table = ledger_table(ledger(40))
    pieces = pa.concat_tables([table.slice(0, 7), table.slice(7)]).select(table.column_names[::-1])
    pq.write_table(table, tmp_path / "again.parquet", compression="snappy", use_dictionary=False)
    assert content_hash(table) == content_hash(pieces) == content_hash(pq.read_table(tmp_path / "again.parquet"))
    for column, value in (("ged", 0.25), ("found", True), ("reason", "x"), ("edits", [1])):
        frame = ledger(40)
        frame.at[1, column] = value
        assert content_hash(ledger_table(frame)) != content_hash(table), column


def test_fingerprint_ignores_times_only():
    slow = ledger().assign(seconds=9.0)
    assert fingerprint(ledger_table(slow)) == fingerprint(ledger_table(ledger()))
    assert content_hash(ledger_table(slow)) != content_hash(ledger_table(ledger()))
    assert fingerprint(ledger_table(ledger().assign(ged=1.0))) != fingerprint(ledger_table(ledger()))


# -- Damage ----------------------------------------------------------------------------------------------


def rewritten(path: Path, table: pa.Table) -> None:
    """The same file with another table under the old metadata."""
    pq.write_table(table.replace_schema_metadata(pq.read_schema(path).metadata), path)


@pytest.mark.parametrize("keep", [0, 10, 0.5, -1])
def test_a_file_cut_short_is_noticed(tmp_path: Path, keep: float):
    store, path = stored(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if 0 < keep < 1 else int(keep)])
    assert store.read(CELL) is None
    assert len(store.noticed) == 1 and store.noticed[0].endswith("it is computed again.")


def test_no_flipped_byte_changes_a_result_or_raises(tmp_path: Path):
    _, path = stored(tmp_path)
    content = path.read_bytes()
    noticed = 0
    for position in range(0, len(content), 11):
        path.write_bytes(content[:position] + bytes([content[position] ^ 0xFF]) + content[position + 1 :])
        found = Store(tmp_path).read(CELL)
        noticed += found is None
        if found is not None:  # the byte was in what does not matter, e.g. in statistics or in the date
            assert content_hash(found.table) == content_hash(ledger_table(ledger()))
            assert found.metadata["definition"] == CELL.definition
    assert noticed > 50


def test_a_changed_value_is_noticed(tmp_path: Path):
    store, path = stored(tmp_path)
    frame = ledger()
    frame.loc[0, "ged"] = 7.0
    rewritten(path, ledger_table(frame))
    assert store.read(CELL) is None
    assert "does not match its checksum" in store.noticed[0]


def test_a_stale_file_is_noticed(tmp_path: Path):
    store, path = stored(tmp_path)
    other = replace(CELL, fold=3)
    path.rename(store.path(other))
    assert store.read(other) is None
    assert "holds another cell" in store.noticed[0]


@pytest.mark.parametrize("harm", ["missing", "changed", "cut"])
def test_harm_to_the_training_curves_is_harm_to_the_cell(tmp_path: Path, harm: str):
    store, path = stored(tmp_path)
    curves = path.with_name(f"{path.stem}.history.parquet")
    if harm == "missing":
        curves.unlink()
    elif harm == "changed":
        rewritten(curves, history_table([{"epoch": 0, "loss": 1.0, "note": None}]))
    else:
        curves.write_bytes(curves.read_bytes()[:100])
    assert store.read(CELL) is None and len(store.noticed) == 1


def test_a_file_changed_after_it_was_read_is_read_again(tmp_path: Path):
    store, path = stored(tmp_path)
    assert store.read(CELL) is not None
    path.write_bytes(b"damaged")
    assert store.read(CELL) is None


# -- Writing ---------------------------------------------------------------------------------------------


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path):
    path = tmp_path / "kept"
    write_whole(path, lambda file: file.write(b"old"))

    def fails(file: object) -> None:
        file.write(b"half of the new")  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fails)
    assert path.read_bytes() == b"old" and files(tmp_path) == ["kept"]


def test_a_disk_without_room_is_said_in_a_sentence_and_harms_nothing(tmp_path: Path):
    """A limit on the size of files makes the system refuse in the middle of a write, as a full disk does."""
    store, _ = stored(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(StoreError, match=r"^Results cannot be written to .*choose another folder with --out"):
            store.write(CELL, ledger_table(ledger(50)), duration=1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(files(tmp_path)) == 2
    found = store.read(CELL)
    assert found is not None and len(found.table) == 3


def test_a_folder_that_cannot_be_made_is_said_before_anything_is_computed(tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="Results cannot be written to"):
        Store(tmp_path / "file" / "results").prepare()


def test_sweeping_removes_what_killed_writers_left_and_nothing_else(tmp_path: Path):
    store, path = stored(tmp_path)
    abandoned, current = path.with_name(".x.parquet.1.tmp"), path.with_name(".y.parquet.2.tmp")
    abandoned.write_bytes(b"half")
    current.write_bytes(b"half")
    os.utime(abandoned, (time.time() - 3600,) * 2)
    store.prepare()
    assert not abandoned.exists() and current.exists() and store.read(CELL) is not None


# -- Compacting ------------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> tuple[list[Cell], Path]:
    cells = standins.cells((DRAWS, standins.RAISES), folds=range(3), seeds=(0, 1))
    store = Store(tmp_path / "local")
    for i, cell in enumerate(cells):
        curves = history_table(CURVES[: 1 + i % 2]) if i % 3 else None
        store.write(cell, ledger_table(ledger(i).assign(cell=cell.key)), curves, duration=float(i))
    store.write(replace(cells[0], fold=3), pa.table({}), duration=0.0, skipped="not possible here")
    return [*cells, replace(cells[0], fold=3)], tmp_path


def test_compacted_cells_are_the_same_cells(many: tuple[list[Cell], Path]):
    cells, folder = many
    written = compact(Store(folder / "local"), folder / "reference")
    assert [path.stem for path in written] == ["tree-cycles.draws.control", "tree-cycles.raises.control"]
    one, other = Store(folder / "local"), Store(folder / "reference")
    for cell in cells:
        a, b = one.read(cell), other.read(cell)
        assert a is not None and b is not None
        assert a.metadata == b.metadata and content_hash(a.table) == content_hash(b.table)
        assert (a.history is None) == (b.history is None) and a.skipped == b.skipped
        assert a.history is None or content_hash(a.history) == content_hash(b.history)
    pd.testing.assert_frame_equal(one.ledger(cells), other.ledger(cells))
    pd.testing.assert_frame_equal(one.history(cells), other.history(cells))
    assert len(one.ledger(cells)) == sum(range(12)) and one.noticed == other.noticed == []


def test_compacting_twice_or_from_a_compacted_store_changes_nothing(many: tuple[list[Cell], Path]):
    cells, folder = many
    compact(Store(folder / "local"), folder / "once")
    compact(Store(folder / "once"), folder / "twice")
    assert Store(folder / "once").ledger(cells).equals(Store(folder / "twice").ledger(cells))
    compact(Store(folder / "local"), folder / "part", keys={cells[0].key})
    assert [key for _, key, _ in Store(folder / "part").everything()] == [cells[0].key]


def test_damage_to_one_cell_of_a_compacted_file_harms_no_other(many: tuple[list[Cell], Path]):
    cells, folder = many
    compact(Store(folder / "local"), folder / "reference")
    path = folder / "reference" / "ledger" / "tree-cycles.draws.control.parquet"
    table = pq.read_table(path)
    changed = table.to_pandas()
    row = int(changed.index[changed["cell"] == cells[2].key][0])
    changed.loc[row, "ged"] += 1
    rewritten(path, ledger_table(changed))
    store = Store(folder / "reference")
    assert store.read(cells[2]) is None and "does not match its checksum" in store.noticed[0]
    assert store.read(cells[1]) is not None


def test_the_manifest_names_every_file_and_keeps_what_others_entered(many: tuple[list[Cell], Path]):
    _, folder = many
    (folder / "reference").mkdir()
    (folder / "reference" / "manifest.json").write_text('{"experiments": {"table1": {"cells": 7}}}')
    compact(Store(folder / "local"), folder / "reference")
    manifest = json.loads((folder / "reference" / "manifest.json").read_text())
    assert manifest["experiments"]["table1"]["cells"] == 7
    for name, entry in manifest["files"].items():
        assert entry["sha256"] == hashlib.sha256((folder / "reference" / name).read_bytes()).hexdigest()
    assert sum(entry["cells"] for entry in manifest["files"].values()) == 13


def test_damaged_results_are_not_compacted(many: tuple[list[Cell], Path]):
    cells, folder = many
    Store(folder / "local").path(cells[0]).write_bytes(b"")
    with pytest.raises(StoreError, match="run the experiment again"):
        compact(Store(folder / "local"), folder / "reference")
    assert any(isinstance(cell, Damaged) for _, _, cell in Store(folder / "local").everything())
