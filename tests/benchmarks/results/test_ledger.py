"""The store: whole or not at all, damage and staleness noticed, the same answer from cells and compacted files."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from benchmarks.registry import methods, tasks
from benchmarks.registry.tasks import TREE_CYCLES
from benchmarks.results.cell import Cell, canonical
from benchmarks.results.files import StoreError
from benchmarks.results.ledger import (
    Damaged,
    Store,
    compact,
    content_hash,
    curves,
    fingerprint,
    history_path,
    history_table,
    ledger_table,
    packed,
    unpacked,
    write_compact,
)
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


# -- Reading back ----------------------------------------------------------------------------------------


def test_what_is_written_is_read(tmp_path: Path) -> None:
    store, _ = stored(tmp_path)
    found = store.read(CELL)
    assert found is not None and store.noticed == []
    pd.testing.assert_frame_equal(found.ledger[["instance", "found", "ged"]], ledger()[["instance", "found", "ged"]])
    assert [list(edits) for edits in found.ledger["edits"]] == [[], [0], [0, 1]]
    assert found.history is not None and found.history.column("epoch").to_pylist() == [0, 1]
    assert found.duration == 1.25


def test_metadata_say_where_a_result_comes_from(tmp_path: Path) -> None:
    _, path = stored(tmp_path)
    meta = unpacked(pq.read_schema(path).metadata[b"rsgg"])
    assert meta["definition"] == CELL.definition and meta["format"] == 2
    assert meta["versions"]["torch"].split("+")[0] == torch.__version__.split("+")[0]
    assert set(meta["machine"]) == {"system", "cpu", "cores"}
    assert meta["commit"] and meta["created"].startswith("20") and meta["python"].count(".") == 2
    assert os.uname().nodename not in json.dumps(meta["machine"])
    assert pq.ParquetFile(path).metadata.row_group(0).column(0).compression == "ZSTD"


def test_content_hash_depends_on_content_and_not_on_encoding(tmp_path: Path) -> None:
    table = ledger_table(ledger(40))
    pieces = pa.concat_tables([table.slice(0, 7), table.slice(7)]).select(table.column_names[::-1])
    pq.write_table(table, tmp_path / "again.parquet", compression="snappy", use_dictionary=False)
    assert content_hash(table) == content_hash(pieces) == content_hash(pq.read_table(tmp_path / "again.parquet"))
    for column, value in (("ged", 0.25), ("found", True), ("reason", "x"), ("edits", [1])):
        frame = ledger(40)
        frame.at[1, column] = value
        assert content_hash(ledger_table(frame)) != content_hash(table), column


def test_fingerprint_ignores_times_only() -> None:
    slow = ledger().assign(seconds=9.0)
    assert fingerprint(ledger_table(slow)) == fingerprint(ledger_table(ledger()))
    assert content_hash(ledger_table(slow)) != content_hash(ledger_table(ledger()))
    assert fingerprint(ledger_table(ledger().assign(ged=1.0))) != fingerprint(ledger_table(ledger()))


# -- Damage ----------------------------------------------------------------------------------------------


def rewritten(path: Path, table: pa.Table) -> None:
    """The same file with another table under the old metadata."""
    pq.write_table(table.replace_schema_metadata(pq.read_schema(path).metadata), path)


@pytest.mark.parametrize("keep", [0, 10, 0.5, -1])
def test_a_file_cut_short_is_noticed(tmp_path: Path, keep: float) -> None:
    store, path = stored(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep) if 0 < keep < 1 else int(keep)])
    assert store.read(CELL) is None
    assert len(store.noticed) == 1 and store.noticed[0].endswith("it is computed again.")


def flipped(content: bytes, rng: random.Random) -> bytes:
    """With one bit, one byte or a run of bytes changed."""
    changed, at = bytearray(content), rng.randrange(len(content))
    for position in range(at, min(at + rng.choice((1, 1, 1, 8)), len(content))):
        changed[position] ^= rng.choice((0xFF, 1 << rng.randrange(8)))
    return bytes(changed)


@pytest.mark.parametrize("seed", range(4))
def test_no_flipped_byte_changes_a_result_or_raises(tmp_path: Path, seed: int) -> None:
    """Wherever the damage is, the cell is noticed as damaged or comes out as it was written."""
    _, path = stored(tmp_path)
    content, rng, noticed = path.read_bytes(), random.Random(seed), 0
    for _ in range(100):
        path.write_bytes(flipped(content, rng))
        in_rows = Store(tmp_path).rows("tree-cycles", "draws", "control")
        everything = list(Store(tmp_path).everything())
        store = Store(tmp_path)
        found = store.read(CELL)
        if found is None:
            assert store.noticed and isinstance(everything[0][2], Damaged) and in_rows.empty
            noticed += 1
        else:  # the byte was in what does not matter, e.g. in statistics of a column
            assert content_hash(found.table) == content_hash(ledger_table(ledger()))
            assert found.metadata["definition"] == CELL.definition
        if len(in_rows):
            assert content_hash(ledger_table(in_rows)) == content_hash(ledger_table(ledger()))
    assert noticed > 50


def with_metadata(path: Path, change: Callable[[str], str]) -> None:
    """The same file with its metadata changed as text."""
    table = pq.read_table(path)
    text = canonical(unpacked(table.schema.metadata[b"rsgg"]))
    assert change(text) != text
    pq.write_table(table.replace_schema_metadata({b"rsgg": packed(json.loads(change(text)))}), path)


RENAMED = [
    "content",
    "definition",
    "duration",
    "fold",
    "format",
    "history",
    "name",
    "seed",
    "sha256",
    "skipped",
    "task",
]


@pytest.mark.parametrize("name", RENAMED)
@pytest.mark.parametrize("compacted", [False, True])
def test_a_renamed_key_in_the_metadata_is_damage_and_no_error(tmp_path: Path, name: str, compacted: bool) -> None:
    folder = tmp_path / "local"
    store, path = stored(folder)
    if compacted:
        folder = tmp_path / "reference"
        (path,) = compact(store, folder)
    with_metadata(path, lambda text: text.replace(f'"{name}":', f'"{name[:-1]}_":'))
    store = Store(folder)
    assert store.rows("tree-cycles", "draws", "control").empty and store.noticed
    assert all(isinstance(cell, Damaged) for _, _, cell in Store(folder).everything())
    assert Store(folder).duration(CELL) in (1.25, None)
    store = Store(folder)
    store.stored([CELL])
    assert store.read(CELL) is None


def test_metadata_cannot_be_changed_unnoticed(tmp_path: Path) -> None:
    store, path = stored(tmp_path)
    with_metadata(path, lambda text: text.replace('"duration":1.25', '"duration":9.25'))
    assert store.read(CELL) is None
    assert "has metadata that do not match their checksum" in store.noticed[0]


def test_a_file_of_another_format_is_left_out(tmp_path: Path) -> None:
    store, path = stored(tmp_path)
    with_metadata(path, lambda text: text.replace('"format":2', '"format":1'))
    assert store.rows("tree-cycles", "draws", "control").empty
    assert "was written in another format (python -m benchmarks.migrate brings it up to date)" in store.noticed[0]


def test_a_damaged_cell_is_put_aside(tmp_path: Path) -> None:
    store, path = stored(tmp_path)
    path.write_bytes(b"damaged")
    assert store.stored([CELL]) == {CELL.key}, "by its name alone"
    assert store.read(CELL) is None and store.stored([CELL]) == set()
    assert path.with_name(f"{path.name}.damaged").read_bytes() == b"damaged"


def test_files_where_folders_should_be_are_no_results(tmp_path: Path) -> None:
    for name in ("cells", "ledger"):
        (tmp_path / name).write_text("in the way")
    store = Store(tmp_path)
    assert store.stored([CELL]) == set() and store.read(CELL) is None and store.duration(CELL) is None
    assert store.rows("tree-cycles", "draws", "control").empty and list(store.everything()) == []


def test_a_changed_value_is_noticed(tmp_path: Path) -> None:
    store, path = stored(tmp_path)
    frame = ledger()
    frame.loc[0, "ged"] = 7.0
    rewritten(path, ledger_table(frame))
    assert store.read(CELL) is None
    assert "does not match its checksum" in store.noticed[0]


def test_a_stale_file_is_noticed(tmp_path: Path) -> None:
    store, path = stored(tmp_path)
    other = replace(CELL, fold=3)
    path.rename(store.path(other))
    assert store.read(other) is None
    assert "holds another cell" in store.noticed[0]


@pytest.mark.parametrize("harm", ["missing", "changed", "cut"])
def test_harm_to_the_training_curves_is_harm_to_the_cell(tmp_path: Path, harm: str) -> None:
    store, path = stored(tmp_path)
    beside = history_path(path)
    if harm == "missing":
        beside.unlink()
    elif harm == "changed":
        rewritten(beside, history_table([{"epoch": 0, "loss": 1.0, "note": None}]))
    else:
        beside.write_bytes(beside.read_bytes()[:100])
    assert store.read(CELL) is None and len(store.noticed) == 1


def test_a_file_changed_after_it_was_read_is_read_again(tmp_path: Path) -> None:
    store, path = stored(tmp_path)
    assert store.read(CELL) is not None
    path.write_bytes(b"damaged")
    assert store.read(CELL) is None


# -- Writing ---------------------------------------------------------------------------------------------


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


def test_a_disk_without_room_is_said_in_a_sentence_and_harms_nothing(tmp_path: Path) -> None:
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


# -- Compacting ------------------------------------------------------------------------------------------


@pytest.fixture
def many(tmp_path: Path) -> tuple[list[Cell], Path]:
    cells = standins.cells((DRAWS, standins.RAISES), folds=range(3), seeds=(0, 1))
    store = Store(tmp_path / "local")
    for i, cell in enumerate(cells):
        history = history_table(CURVES[: 1 + i % 2]) if i % 3 else None
        store.write(cell, ledger_table(ledger(i).assign(cell=cell.key)), history, duration=float(i))
    store.write(replace(cells[0], fold=3), pa.table({}), duration=0.0, skipped="not possible here")
    return [*cells, replace(cells[0], fold=3)], tmp_path


def test_compacted_cells_are_the_same_cells(many: tuple[list[Cell], Path]) -> None:
    cells, folder = many
    written = compact(Store(folder / "local"), folder / "reference")
    assert [path.stem for path in written] == ["draws.control", "raises.control"]
    one, other = Store(folder / "local"), Store(folder / "reference")
    for cell in cells:
        a, b = one.read(cell), other.read(cell)
        assert a is not None and b is not None
        assert a.metadata == b.metadata and content_hash(a.table) == content_hash(b.table)
        assert (a.history is None) == (b.history is None) and a.skipped == b.skipped
        assert a.history is None or content_hash(a.history) == content_hash(b.history)
    pd.testing.assert_frame_equal(one.ledger(cells), other.ledger(cells))
    both = [curves(found for cell in cells if (found := store.read(cell)) is not None) for store in (one, other)]
    pd.testing.assert_frame_equal(*both)
    assert set(both[0]["fold"]) == {1, 2} and set(both[0]["seed"]) == {0, 1}
    assert len(one.ledger(cells)) == sum(range(12)) and one.noticed == other.noticed == []


def test_of_some_cells_a_reference_keeps_the_numbers_without_the_edits(many: tuple[list[Cell], Path]) -> None:
    cells, folder = many
    local, reference, some = Store(folder / "local"), folder / "reference", {cells[0].key, cells[-1].key}
    assert len(compact(local, reference)) == 2
    (written,) = compact(local, reference, numbers=some)
    assert written.stem.startswith(cells[0].method.name) and not compact(local, reference, numbers=some)
    for cell in cells:
        whole, kept = local.read(cell), Store(reference).read(cell)
        assert whole is not None and kept is not None
        left_out = {"edits", "node_edits"} if cell.key in some else set()
        pd.testing.assert_frame_equal(whole.ledger.drop(columns=left_out, errors="ignore"), kept.ledger)


def test_a_compacted_cell_is_checked_once_and_not_again_in_a_copy(
    many: tuple[list[Cell], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    cells, folder = many
    compact(Store(folder / "local"), folder / "reference")
    hashed: list[pa.Table] = []

    def counted(table: pa.Table) -> str:
        hashed.append(table)
        return content_hash(table)

    monkeypatch.setattr("benchmarks.results.ledger.content_hash", counted)
    store = Store(folder / "reference")
    first = [store.read(cell) for cell in cells]
    n, copy = len(hashed), Path(shutil.copytree(folder / "reference", folder / "copy"))
    assert n >= len(cells)
    for again in (store, store.of_copy(copy)):
        assert all(again.read(cell) is stored for cell, stored in zip(cells, first, strict=True))
    assert len(hashed) == n and store.of_copy(copy).root == copy
    assert Store(copy).read(cells[0]) is not None and len(hashed) > n, "another store checks for itself"


def test_compacting_twice_or_from_a_compacted_store_changes_nothing(many: tuple[list[Cell], Path]) -> None:
    cells, folder = many
    compact(Store(folder / "local"), folder / "once")
    compact(Store(folder / "once"), folder / "twice")
    assert Store(folder / "once").ledger(cells).equals(Store(folder / "twice").ledger(cells))
    compact(Store(folder / "local"), folder / "part", keys={cells[0].key})
    assert [key for _, key, _ in Store(folder / "part").everything()] == [cells[0].key]


def test_a_cell_with_a_file_of_its_own_counts_before_the_same_cell_among_many(
    many: tuple[list[Cell], Path],
) -> None:
    cells, folder = many
    compact(Store(folder / "local"), folder / "both")
    before = Store(folder / "both").read(cells[1])
    assert before is not None and before.history is not None
    name = before.history.schema.field(0)
    other = before.history.set_column(0, name, pa.array([7] * len(before.history), type=name.type))
    Store(folder / "both").write_as_it_is(cells[1], before.with_curves(other))
    compact(Store(folder / "both"), folder / "reference")
    after = Store(folder / "reference").read(cells[1])
    assert after is not None and after.history is not None and after.history.equals(other)
    assert sum(key == cells[1].key for _, key, _ in Store(folder / "reference").everything()) == 1


def test_damage_to_one_cell_of_a_compacted_file_harms_no_other(many: tuple[list[Cell], Path]) -> None:
    cells, folder = many
    compact(Store(folder / "local"), folder / "reference")
    path = folder / "reference" / "ledger" / "draws.control.parquet"
    table = pq.read_table(path)
    changed = table.to_pandas()
    row = int(changed.index[changed["cell"] == cells[2].key][0])
    changed.loc[row, "ged"] += 1
    rewritten(path, ledger_table(changed))
    store = Store(folder / "reference")
    assert store.read(cells[2]) is None and "does not match its checksum" in store.noticed[0]
    assert store.read(cells[1]) is not None


def test_damaged_results_are_not_compacted(many: tuple[list[Cell], Path]) -> None:
    cells, folder = many
    Store(folder / "local").path(cells[0]).write_bytes(b"")
    with pytest.raises(StoreError, match="run the experiment again"):
        compact(Store(folder / "local"), folder / "reference")
    assert any(isinstance(cell, Damaged) for _, _, cell in Store(folder / "local").everything())


def test_curves_are_kept_for_the_cells_that_are_named(many: tuple[list[Cell], Path]) -> None:
    cells, folder = many
    compact(Store(folder / "local"), folder / "reference", with_curves={cells[1].key})
    store = Store(folder / "reference")
    kept = [cell for cell in cells if (found := store.read(cell)) is not None and found.history is not None]
    assert kept == [cells[1]] and not store.noticed


def test_compacting_adds_and_leaves_files_alone_that_do_not_change(
    many: tuple[list[Cell], Path],
) -> None:
    cells, folder = many
    compact(Store(folder / "local"), folder / "reference", keys={cell.key for cell in cells[:3]})
    compact(Store(folder / "local"), folder / "reference", keys={cell.key for cell in cells[2:7]})
    assert Store(folder / "reference").stored(cells) == {cell.key for cell in cells[2:7]}, "others are not asked for"
    compact(Store(folder / "local"), folder / "reference")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert compact(Store(folder / "local"), folder / "reference") == []
    assert before == {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert Store(folder / "reference").stored(cells) == {cell.key for cell in cells}


def test_cells_of_an_older_file_of_one_task_stay_there_and_new_ones_share_the_file_of_their_row(
    many: tuple[list[Cell], Path],
) -> None:
    """Both are found: by their cells, by their row, and whose they are; a row of another task is not mixed in."""
    cells, folder = many
    local, out = Store(folder / "local"), folder / "reference"
    old = [found for cell in cells[:2] if (found := local.read(cell)) is not None]
    older = out / "ledger" / "tree-cycles.draws.control.parquet"
    write_compact(older, old)
    before = older.read_bytes()
    elsewhere = replace(cells[0], task=tasks.task("asd"))
    local.write(elsewhere, ledger_table(ledger(2).assign(cell=elsewhere.key)), duration=1.0)
    new = [out / "ledger" / f"{name}.control.parquet" for name in ("draws", "raises")]
    assert compact(local, out) == new and older.read_bytes() == before
    store = Store(out)
    assert store.stored([*cells, elsewhere]) == {cell.key for cell in [*cells, elsewhere]}
    pd.testing.assert_frame_equal(local.ledger([*cells, elsewhere]), store.ledger([*cells, elsewhere]))
    for task in ("tree-cycles", "asd"):
        for seed in (0, 1):
            one, other = (which.rows(task, "draws", "control", seed) for which in (local, store))
            assert one.equals(other)
    assert store.files_of("tree-cycles", "draws", "control") == [older, new[0]]
    assert store.files_of("asd", "draws", "control") == [new[0]] and store.duration(elsewhere) == 1.0
    assert compact(store, folder / "again") == [folder / "again" / path.relative_to(out) for path in (*new, older)]


@pytest.mark.parametrize("seed", range(3))
def test_no_flipped_byte_of_a_compacted_file_changes_a_result(many: tuple[list[Cell], Path], seed: int) -> None:
    cells, folder = many
    local = Store(folder / "local")
    contents = {cell.key: found.content for cell in cells if (found := local.read(cell)) is not None}
    compact(local, folder / "reference")
    path = folder / "reference" / "ledger" / "draws.control.parquet"
    original, rng, noticed = path.read_bytes(), random.Random(seed), 0
    for _ in range(40):
        path.write_bytes(flipped(original, rng))
        for _, key, cell in Store(folder / "reference").everything():
            if isinstance(cell, Damaged):
                noticed += 1
            else:
                assert cell.content == contents[key]
        store = Store(folder / "reference")
        rows = store.rows("tree-cycles", "draws", "control", seed=1)
        assert set(rows["cell"] if len(rows) else ()) <= set(contents)
        store.stored(cells)
    assert noticed > 10


# -- Rows found by the definitions that are stored -----------------------------------------------------------


def row_of(store: Store, method: Any, folds: range, ged: float, task: Any = TREE_CYCLES, seed: int = 0) -> None:
    """Store a row of Table 1 whose GED says which definition it has."""
    for fold in folds:
        cell = Cell(task.replicate(seed), method, fold, seed=seed)
        rows = ledger(2).assign(cell=cell.key, fold=fold, ged=ged)
        store.write(cell, ledger_table(rows), duration=1.0)


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The stand-in as a row of the registry."""
    row = replace(DRAWS, options={"flips": 5}, on={"tree-cycles": {"flips": 6}})
    monkeypatch.setattr(methods, "METHODS", [*methods.METHODS, row])
    return row.for_task("tree-cycles")


def test_the_row_that_the_registry_declares_today_is_preferred(tmp_path: Path, known: Any) -> None:
    store = Store(tmp_path)
    row_of(store, replace(known, options={"flips": 9}), range(10), ged=1.0)
    row_of(store, replace(known, revision=0), range(10), ged=2.0)
    row_of(store, known, range(3), ged=3.0)
    found = store.rows("tree-cycles", "draws", "control")
    assert set(found["ged"]) == {3.0} and found["fold"].tolist() == [0, 0, 1, 1, 2, 2]


def test_a_row_is_found_whatever_the_registry_says_today(tmp_path: Path, known: Any) -> None:
    """Options have changed, or the revision was raised: what is stored is still the row."""
    store = Store(tmp_path)
    row_of(store, replace(known, options={"flips": 9}), range(2), ged=1.0)
    row_of(store, replace(known, revision=7), range(4), ged=2.0)
    assert set(store.rows("tree-cycles", "draws", "control")["ged"]) == {2.0}, "the one with the most folds"
    row_of(store, DRAWS, range(5), ged=5.0, task=replace(TREE_CYCLES, name="gone"))
    assert len(store.rows("gone", "draws", "control")) == 10, "a task that this version does not know"
    row_of(store, replace(DRAWS, name="gone"), range(5), ged=5.0)
    assert len(store.rows("tree-cycles", "gone", "control")) == 10, "a method that this version does not know"


def test_rows_are_of_one_replicate_and_a_cell_counts_before_a_compacted_one(tmp_path: Path, known: Any) -> None:
    store, folder = Store(tmp_path / "local"), tmp_path / "both"
    row_of(store, known, range(2), ged=1.0)
    row_of(store, known, range(3), ged=2.0, seed=4)
    compact(store, folder)
    row_of(Store(folder), known, range(1), ged=7.0)
    found = Store(folder)
    assert found.rows("tree-cycles", "draws", "control")["ged"].tolist() == [7.0, 7.0, 1.0, 1.0]
    assert found.rows("tree-cycles", "draws", "control", seed=4)["fold"].tolist() == [0, 0, 1, 1, 2, 2]
    assert found.rows("tree-cycles", "draws", "control", seed=5).empty and not found.noticed


def test_the_reference_holds_the_rows_of_the_paper_as_the_registry_declares_them_today() -> None:
    """Their addresses are those of a run with no options at all: nothing would be computed again."""
    from benchmarks.results.files import REFERENCE

    for task in tasks.of_paper():
        for method in methods.METHODS:
            if method.name in methods.PAPER and not method.unsupported(task.name):
                wanted = [Cell(task, method.for_task(task.name), fold) for fold in range(10)]
                assert len(Store(REFERENCE).stored(wanted)) == 10, (task.name, method.title)
