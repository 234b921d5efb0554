"""Ledgers on disk: the rows of a cell, one per test graph, each cell written whole or not at all.

A file's metadata hold the cell's definition, where it came from (versions, commit, machine, date, duration), the sha256
of the table's content and a sha256 over the metadata themselves. All of it is checked on reading. A file that is
damaged (cut short, wrong checksum) or stale (another definition) is noticed, reported in one line and treated as
absent, so it is computed again.

`compact` turns many cells into one file per method and variant, with every cell's metadata kept: that is what
`results/reference` holds. Its older files are of one task each; cells that stand there stay there, since a file that is
written anew takes its place in the history of the repository a second time. `Store` reads all forms alike, and finds
rows by the definitions that are stored in them.

    <root>/cells/<task>/<method>.<variant>/seed0-fold3-<key>.parquet            one cell
    <root>/cells/<task>/<method>.<variant>/seed0-fold3-<key>.history.parquet    its training curves, if any
    <root>/ledger/<method>.<variant>.parquet (and .history.parquet)             many cells
    <root>/ledger/<task>.<method>.<variant>.parquet (and .history.parquet)      many cells of one task: older files
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from base64 import b85decode, b85encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.registry import methods, tasks
from benchmarks.results.cell import Cell, canonical, declared, key_of
from benchmarks.results.files import StoreError, make_writable, shown, sweep, write_whole
from benchmarks.results.provenance import provenance

FORMAT = 2
TIMES = ("seconds", "fit_seconds")  # what may differ between two runs of the same cell
METADATA = b"rsgg"
HISTORY = ".history.parquet"

SCHEMA = {
    **dict.fromkeys(("cell", "dataset", "method", "variant", "reason"), pa.string()),
    **dict.fromkeys(("seed", "fold", "instance", "candidate", "label", "predicted", "predicted_cf"), pa.int64()),
    **dict.fromkeys(("n_nodes", "n_edges", "calls", "fit_calls", "test_size"), pa.int64()),
    **dict.fromkeys(("ged", "seconds", "fit_seconds", "optimum", "removal_auroc"), pa.float64()),
    **dict.fromkeys(("found", "simple"), pa.bool_()),
    **dict.fromkeys(("edits", "node_edits"), pa.list_(pa.int64())),
}

Metadata = dict[str, Any]


class Damaged(Exception):
    """A stored file is not what was written, or not what was asked for; the message says in which way."""


@dataclass(frozen=True)
class Stored:
    """A cell as it is stored: its ledger rows, its training curves, and what its metadata say."""

    table: pa.Table
    history: pa.Table | None
    metadata: Metadata

    @property
    def definition(self) -> Metadata:
        plain: Metadata = self.metadata["definition"]
        return plain

    @property
    def whose(self) -> Metadata:
        """The columns that say which cell rows are of."""
        of, method = self.definition, self.definition["method"]
        whose = {"dataset": of["task"]["name"], "method": method["name"], "variant": method["variant"]}
        return {**whose, "seed": of["seed"], "fold": of["fold"]}

    @property
    def duration(self) -> float:
        return float(self.metadata["duration"])

    @property
    def skipped(self) -> str:
        """Why the method could not run here; empty where it did."""
        return str(self.metadata["skipped"])

    @property
    def ledger(self) -> pd.DataFrame:
        return with_node_edits(self.table.to_pandas())

    @property
    def content(self) -> tuple[str, str]:
        """Changes when the results do, not when the same results are computed again."""
        return fingerprint(self.table), str(self.metadata["history"])

    def without_curves(self) -> Stored:
        return Stored(self.table, None, sealed({**self.metadata, "history": ""}))

    def without_edits(self) -> Stored:
        """The same numbers without the edits that they are counted from."""
        table = numbers_only(self.table)
        return Stored(table, self.history, sealed({**self.metadata, "content": content_hash(table)}))

    def with_curves(self, history: pa.Table) -> Stored:
        """The same results with other curves or measures."""
        return Stored(self.table, history, sealed({**self.metadata, "history": content_hash(history)}))


# -- Tables and their content ----------------------------------------------------------------------------


def ledger_table(ledger: pd.DataFrame) -> pa.Table:
    """Ledger rows as an Arrow table with the declared column types, so that empty columns have their type too.

    The column `node_edits` is written where a row has some: results of methods that edit pairs only stay what they
    were before there was such a column. `with_node_edits` puts it back.
    """
    if "node_edits" in ledger and not any(len(edits) for edits in ledger["node_edits"]):
        ledger = ledger.drop(columns="node_edits")
    return _as_table(ledger, SCHEMA)


def with_node_edits(ledger: pd.DataFrame) -> pd.DataFrame:
    """The rows with the column `node_edits`, empty where a file has none."""
    if "edits" not in ledger:
        return ledger
    known = ledger["node_edits"] if "node_edits" in ledger else [None] * len(ledger)
    return ledger.assign(node_edits=pd.Series([[] if one is None else list(one) for one in known], index=ledger.index))


def numbers_only(table: pa.Table) -> pa.Table:
    """Ledger rows without their edits."""
    return table.drop_columns([name for name in ("edits", "node_edits") if name in table.column_names])


def history_table(curves: Iterable[Mapping[str, object]]) -> pa.Table:
    """Training curves, a dict per step, as an Arrow table."""
    return _as_table(pd.DataFrame(list(curves)), {})


def _as_table(frame: pd.DataFrame, types: Mapping[str, pa.DataType]) -> pa.Table:
    columns = {}
    for name in frame.columns:
        column = pa.array(frame[name].tolist(), type=types.get(name), from_pandas=True)
        columns[name] = column.cast(pa.float64()) if pa.types.is_null(column.type) else column
    return pa.table(columns)


def content_hash(table: pa.Table, without: Collection[str] = ()) -> str:
    """sha256 over names, types and values of the columns: the same for the same content however it is encoded."""
    digest = hashlib.sha256()
    for name in sorted(set(table.column_names) - set(without)):
        column = table.column(name)
        digest.update(json.dumps([name, _type_name(column.type), column.to_pylist()]).encode())
    return digest.hexdigest()


def _type_name(kind: pa.DataType) -> str:
    """Parquet renames what is inside a list; that is encoding, not content."""
    return f"list of {kind.value_type}" if pa.types.is_list(kind) else str(kind)


def fingerprint(table: pa.Table) -> str:
    """The content without the times: equal for two runs of the same cell, whatever machine load or worker count."""
    return content_hash(table, without=TIMES)


def sealed(meta: Metadata) -> Metadata:
    """The metadata with a checksum over themselves, so that not even they can change unnoticed."""
    open_ = {name: value for name, value in meta.items() if name != "sha256"}
    return {**open_, "sha256": hashlib.sha256(canonical(open_).encode()).hexdigest()}


def describe(cell: Cell, table: pa.Table, history: pa.Table | None, *, duration: float, skipped: str = "") -> Metadata:
    """What a file says about the cell that it holds."""
    return sealed(
        {
            "format": FORMAT,
            "definition": cell.definition,
            "content": content_hash(table),
            "history": content_hash(history) if history is not None else "",
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration": duration,
            "skipped": skipped,
            **provenance(),
        }
    )


# -- Files -----------------------------------------------------------------------------------------------

ABSENT = (FileNotFoundError, NotADirectoryError)


def write_parquet(path: Path, table: pa.Table, meta: Metadata, **encoding: Any) -> None:
    """A table with its metadata, without what nothing here reads: Arrow's own schema, which would hold the metadata a
    second time, and the ranges of columns. For a cell of some ten rows these would be half of the file.
    """
    table = table.replace_schema_metadata(None)

    def write(file: IO[bytes]) -> None:
        lean: dict[str, Any] = {"compression": "zstd", "write_statistics": False, "store_schema": False}
        with pq.ParquetWriter(file, table.schema, **lean, **encoding) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata({METADATA: packed(meta)})

    write_whole(path, write)


def packed(meta: Metadata) -> bytes:
    """Metadata as they are written: JSON, compressed, in characters that Parquet takes for a text."""
    return b85encode(zlib.compress(canonical(meta).encode(), 9))


def unpacked(written: bytes) -> Metadata:
    """Metadata as they were written: packed, or plain JSON in files that are older."""
    meta: Metadata = json.loads(written if is_plain(written) else zlib.decompress(b85decode(written)))
    return meta


def is_plain(written: bytes) -> bool:
    return written[:1] == b"{"  # what zlib makes begins with another character


def _read_table(path: Path) -> pa.Table:
    return pq.read_table(path, partitioning=None).replace_schema_metadata(None)


@contextmanager
def _damage_noticed(path: Path) -> Iterator[None]:
    """A damaged file can make its reader raise anything at all; whatever it is, it means damage."""
    try:
        yield
    except (Damaged, *ABSENT):
        raise
    except PermissionError as error:
        raise _forbidden(path) from error
    except Exception as error:
        raise Damaged("is cut short or damaged") from error


def _forbidden(path: Path) -> StoreError:
    return StoreError(f"{shown(path)} may not be read; check its permissions or choose another folder.")


@dataclass
class LedgerFile:
    """A file of one cell or many: what it says about each, and their rows, which are read when a cell is asked for."""

    path: Path
    about: dict[str, tuple[Metadata, Metadata]]  # by key: the cell's metadata, and where in the file its rows are
    _whole: dict[str, Stored] = field(default_factory=dict, repr=False)  # the cells that were read and found whole
    _sealed: set[str] = field(default_factory=set, repr=False)  # those whose metadata were found to be what was written

    @classmethod
    def opened(cls, path: Path) -> LedgerFile | Damaged | None:
        """The file, or what is wrong with it; None where there is none."""
        try:
            with _damage_noticed(path):
                path.stat()  # most cells that are asked for are absent, which pyarrow takes far longer to say
                meta = unpacked(pq.read_metadata(path).metadata[METADATA])
                if meta["format"] != FORMAT:
                    raise Damaged("was written in another format (python -m benchmarks.migrate brings it up to date)")
                about = {key_of(cell["definition"]): (cell, place) for cell, place in _layout(meta)}
                if "cells" not in meta and next(iter(about))[:16] not in path.name:
                    raise Damaged("holds another cell than its name says")
                return cls(path, about)
        except Damaged as damage:
            return damage
        except ABSENT:
            return None

    def definition(self, key: str) -> Metadata | Damaged:
        """What defines a cell, as long as its metadata are what was written."""
        meta = self.about[key][0]
        if key not in self._sealed and sealed(meta) != meta:
            return Damaged("has metadata that do not match their checksum")
        self._sealed.add(key)
        return meta["definition"]

    def is_of(self, key: str, task: str) -> bool:
        definition = self.definition(key)
        return not isinstance(definition, Damaged) and definition["task"]["name"] == task

    def read(self, key: str) -> Stored | Damaged:
        """One cell, checked on its own when it is first read."""
        if key in self._whole:
            return self._whole[key]
        (meta, place), definition = self.about[key], self.definition(key)
        if isinstance(definition, Damaged):
            return definition
        try:
            with _damage_noticed(self.path):
                table, history = self._table, self._curves if meta["history"] else None
                if place:
                    table = table.slice(place["row"], place["rows"]).select(place["columns"])
                if place and history is not None:
                    history = history.slice(place["curve"], place["history_rows"]).select(place["history_columns"])
                if content_hash(table) != meta["content"]:
                    raise Damaged("does not match its checksum")
                if meta["history"] and (history is None or content_hash(history) != meta["history"]):
                    raise Damaged("has training curves that are missing or do not match their checksum")
                self._whole[key] = Stored(table, history, meta)
                return self._whole[key]
        except Damaged as damage:
            return damage
        except ABSENT:
            return Damaged("is gone")

    @cached_property
    def _table(self) -> pa.Table:
        return _read_table(self.path)

    @cached_property
    def _curves(self) -> pa.Table | None:
        with suppress(FileNotFoundError):
            return _read_table(history_path(self.path))
        return None


def _layout(meta: Metadata) -> Iterator[tuple[Metadata, Metadata]]:
    """What a file says about each of its cells: the cell's metadata, and where its rows are; all, if there is one."""
    if "cells" not in meta:
        yield meta, {}
    row = curve = 0
    for own in meta.get("cells", ()):
        place = {**meta["layout"], **own, "row": row, "curve": curve}
        row, curve = row + place["rows"], curve + place["history_rows"]
        about = {**meta["shared"], **place["metadata"]}
        yield {**about, "definition": {**meta["definition"], **place["metadata"]["definition"]}}, place


def history_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}{HISTORY}")


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_+-]", "_", name)


def _row_name(method: str, variant: str) -> str:
    return f"{_safe(method)}.{_safe(variant)}"


def compact_names(task: str, method: str, variant: str) -> tuple[str, str]:
    """The files in which many cells of a row on a task may stand: the older one of the task alone, and the row's."""
    row = _row_name(method, variant)
    return f"{_safe(task)}.{row}.parquet", f"{row}.parquet"


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    try:
        return list(os.scandir(folder))
    except ABSENT:
        return []
    except PermissionError as error:
        raise _forbidden(folder) from error


def _folders(folder: Path) -> list[Path]:
    return [Path(entry.path) for entry in _listed(folder) if entry.is_dir()]


def _ledgers(folder: Path) -> list[Path]:
    """The files of cells in a folder, without those of their training curves."""
    names = sorted(entry.name for entry in _listed(folder))
    return [folder / name for name in names if re.fullmatch(r"[^.].*\.parquet", name) and not name.endswith(HISTORY)]


# -- The store -------------------------------------------------------------------------------------------


@dataclass
class Store:
    """Results under one folder. `noticed` collects a line for each file that had to be disregarded."""

    root: Path
    noticed: list[str] = field(default_factory=list)
    _compacted: dict[Path, LedgerFile] = field(default_factory=dict, repr=False)

    def of_copy(self, root: Path) -> Store:
        """The store of a copy of this folder: compacted files that were read here are not read there again."""
        known = {root / path.relative_to(self.root): file for path, file in self._compacted.items()}
        return Store(root, _compacted=known)

    def path(self, cell: Cell) -> Path:
        return self._row_folder(cell) / f"seed{cell.seed}-fold{cell.fold}-{cell.key[:16]}.parquet"

    def _row_folder(self, cell: Cell) -> Path:
        return self.root / "cells" / _safe(cell.task.name) / _row_name(cell.method.name, cell.method.variant)

    def prepare(self) -> None:
        """Make sure that results can be written; sweep up after writers that were killed."""
        make_writable(self.root)
        sweep(iter([self.root, self.root / "ledger", self.root / "errors", *self._row_folders()]))

    def _row_folders(self) -> list[Path]:
        return [row for task in _folders(self.root / "cells") for row in _folders(task)]

    def _compact_paths(self, task: str, method: str, variant: str) -> list[Path]:
        return [self.root / "ledger" / name for name in compact_names(task, method, variant)]

    def _paths(self, cell: Cell) -> list[Path]:
        """Where a cell may stand; its own file counts before those of many cells."""
        return [self.path(cell), *self._compact_paths(cell.task.name, cell.method.name, cell.method.variant)]

    def _file(self, path: Path) -> LedgerFile | Damaged | None:
        """A file; compacted ones, which many cells are asked of, are opened once."""
        file = self._compacted.get(path) or LedgerFile.opened(path)
        if isinstance(file, LedgerFile) and path.parent.name == "ledger":
            self._compacted[path] = file
        return file

    def stored(self, cells: Iterable[Cell]) -> set[str]:
        """The keys of those of these cells that are there, by the names of files alone: quick for thousands of them.

        Row by row: the keys of a row's cells are computed only if a file of that row is there.
        """
        rows: dict[tuple[str, str, str], list[Cell]] = {}
        for cell in cells:
            rows.setdefault((cell.task.name, cell.method.name, cell.method.variant), []).append(cell)
        found: set[str] = set()
        for wanted in rows.values():
            single = set(_ledgers(self._row_folder(wanted[0])))
            files = [self._file(path) for path in self._paths(wanted[0])[1:]]
            compacted = set().union(*(file.about for file in files if isinstance(file, LedgerFile)))
            if single or compacted:
                found |= {cell.key for cell in wanted if cell.key in compacted or self.path(cell) in single}
        return found

    def write(
        self, cell: Cell, table: pa.Table, history: pa.Table | None = None, *, duration: float, skipped: str = ""
    ) -> Stored:
        """Store a cell. The training curves go first: the cell's own file is what makes it count as stored."""
        stored = Stored(table, history, describe(cell, table, history, duration=duration, skipped=skipped))
        self.write_as_it_is(cell, stored)
        return stored

    def write_as_it_is(self, cell: Cell, stored: Stored) -> None:
        """Store a cell with the metadata that it has."""
        path = self.path(cell)
        if stored.history is not None:
            write_parquet(history_path(path), stored.history, stored.metadata)
        write_parquet(path, stored.table, stored.metadata)

    def read(self, cell: Cell) -> Stored | None:
        """The cell if it is stored, whole and what was asked for; else None, and a line in `noticed` says why.

        A damaged file of a single cell is put aside (renamed to `….damaged`), so that the cell is computed again.
        """
        own, *compacted = self._paths(cell)
        for path in (own, *compacted):
            file = self._file(path)
            found = file.read(cell.key) if isinstance(file, LedgerFile) and cell.key in file.about else file
            if isinstance(found, Stored):
                return found
            if isinstance(found, Damaged):
                self.noticed.append(f"{shown(path)} {found}; it is computed again.")
                if path == own:
                    with suppress(OSError):
                        path.replace(path.with_name(f"{path.name}.damaged"))
                return None
        return None

    def read_all(self, cells: Iterable[Cell]) -> dict[str, Stored]:
        """Those of these cells that are stored, by key, in their order: as `read` reads each.

        Most cells of a plan may be of rows of which nothing is there: whether there is something is looked up once.
        """
        there: dict[tuple[str, str, str], bool] = {}
        found: dict[str, Stored] = {}
        for cell in cells:
            row = (cell.task.name, cell.method.name, cell.method.variant)
            if row not in there:
                there[row] = bool(_listed(self._row_folder(cell)) or any(map(self._file, self._paths(cell)[1:])))
            if there[row] and (stored := self.read(cell)) is not None:
                found[cell.key] = stored
        return found

    def duration(self, cell: Cell) -> float | None:
        """How many seconds a stored cell took, from what its file says about it; the content is not looked at."""
        for file in map(self._file, self._paths(cell)):
            if isinstance(file, LedgerFile) and cell.key in file.about:
                return file.about[cell.key][0].get("duration")
        return None

    def ledger(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The ledger rows of these cells, of those that are stored, in their order."""
        return joined(self.read_all(cells).values())

    def rows(self, task: str, method: str, variant: str, seed: int = 0) -> pd.DataFrame:
        """The ledger of one row of a table in one replicate, found by the definitions that are stored.

        Where a row was computed under several definitions (other options, an older revision), the one that the
        registry declares today is taken, else the one with the most folds. A cell counts before a compacted one.
        """
        return joined(self._of_row(task, method, variant, seed))

    def seen(self, task: str, method: str, variant: str, seed: int = 0) -> pd.DataFrame:
        """What observers saw in the cells of `rows`: training curves, or measures of each test graph."""
        return curves(self._of_row(task, method, variant, seed))

    def _of_row(self, task: str, method: str, variant: str, seed: int) -> list[Stored]:
        found: dict[str, dict[str, LedgerFile]] = {}
        paths = _ledgers(self.root / "cells" / _safe(task) / _row_name(method, variant))
        for path, key, file in self._cells([*paths, *self._compact_paths(task, method, variant)]):
            definition = file if isinstance(file, Damaged) else file.definition(key)
            if isinstance(definition, Damaged) or isinstance(file, Damaged):
                self.noticed.append(f"{shown(path)} {definition}; it is left out.")
            elif definition["task"]["name"] == task and definition["seed"] == seed:
                found.setdefault(_without_fold(definition), {}).setdefault(key, file)
        today = _without_fold(_declared_today(task, method, variant, seed))
        chosen = found.get(today) or max(found.values(), key=len, default={})
        whole = []
        for key, file in chosen.items():
            stored = file.read(key)
            if isinstance(stored, Stored):
                whole.append(stored)
            else:
                self.noticed.append(f"A cell of {shown(file.path)} {stored}; it is left out.")
        return sorted(whole, key=lambda stored: stored.definition["fold"])

    def files_of(self, task: str, method: str, variant: str) -> list[Path]:
        """The files of many cells in which there are some of a row on a task; the row's, where they are apart yet."""
        paths = self._compact_paths(task, method, variant)
        there = {
            path for path, key, file in self._cells(paths) if isinstance(file, LedgerFile) and file.is_of(key, task)
        }
        return [path for path in paths if path in there] or paths[-1:]

    def _cells(self, paths: Iterable[Path]) -> Iterator[tuple[Path, str, LedgerFile | Damaged]]:
        """The cells of these files, unread: (path, key, file or what is wrong with it)."""
        for path in paths:
            file = self._file(path)
            if isinstance(file, Damaged):
                yield path, path.stem, file
            elif file is not None:
                yield from ((path, key, file) for key in file.about)

    def everything(self) -> Iterator[tuple[Path, str, Stored | Damaged]]:
        """All that is stored: (file, key, cell or what is wrong with it). For `verify` and `compact`."""
        paths = sorted(path for folder in self._row_folders() for path in _ledgers(folder))
        for path, key, file in self._cells([*paths, *_ledgers(self.root / "ledger")]):
            yield path, key, file if isinstance(file, Damaged) else file.read(key)


def joined(cells: Iterable[Stored]) -> pd.DataFrame:
    """The ledger rows of these cells."""
    tables = [stored.table for stored in cells if len(stored.table)]
    if not tables:
        return pd.DataFrame()
    return with_node_edits(pa.concat_tables(tables, promote_options="default").to_pandas())


def curves(cells: Iterable[Stored]) -> pd.DataFrame:
    """The training curves of these cells, with columns that say whose they are."""
    found = [(stored.history, stored.whose) for stored in cells if stored.history is not None]
    frames = [_same_curves(list(alike)) for _, alike in groupby(found, lambda one: one[0].schema)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def _same_curves(cells: Sequence[tuple[pa.Table, Metadata]]) -> pd.DataFrame:
    """Training curves that have the same columns: one table is made a frame far sooner than hundreds."""
    tables, whose = [curve for curve, _ in cells], pd.DataFrame([of for _, of in cells])
    of_cell = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    return pa.concat_tables(tables).to_pandas().assign(**{name: whose[name].to_numpy()[of_cell] for name in whose})


def _without_fold(definition: Metadata) -> str:
    return canonical({name: value for name, value in definition.items() if name != "fold"})


def _declared_today(task: str, method: str, variant: str, seed: int) -> Metadata:
    """The definition (without a fold) that the registry gives this row today."""
    entry = tasks.task(task).replicate(seed)
    known = methods.rows().get((method, variant))
    own = {"name": method, "variant": variant} if known is None else known.for_task(task).definition()
    plain: Metadata = declared({"task": entry.definition(), "method": own, "seed": seed})
    return plain


# -- Many cells in one file --------------------------------------------------------------------------------


def write_compact(path: Path, cells: list[Stored]) -> None:
    """What all cells say alike (versions, machine, options, …) is written once, as `shared`."""
    definition, definitions = _factored([cell.definition for cell in cells])
    shared, rest = _factored([{**cell.metadata, "definition": None} for cell in cells])
    layout = [
        {
            "metadata": {**own, "definition": own_definition},
            "rows": len(cell.table),
            "columns": cell.table.column_names,
            "history_rows": len(cell.history) if cell.history is not None else 0,
            "history_columns": cell.history.column_names if cell.history is not None else [],
        }
        for cell, own, own_definition in zip(cells, rest, definitions, strict=True)
    ]
    layout_shared, layout = _factored(layout)
    meta = {"format": FORMAT, "shared": shared, "definition": definition, "layout": layout_shared, "cells": layout}
    curves = [cell.history for cell in cells if cell.history is not None]
    if curves:
        write_parquet(history_path(path), pa.concat_tables(curves, promote_options="default"), {"format": FORMAT})
    table = pa.concat_tables([cell.table for cell in cells], promote_options="default")
    write_parquet(path, table, meta, **small(table))


def small(table: pa.Table) -> dict[str, Any]:
    """How to write a ledger that is to be committed: edits are rising numbers, of which the steps are stored."""
    if "edits" not in table.column_names:
        return {"compression_level": 19}
    others = [name for name in table.column_names if name != "edits"]
    steps = {"edits.list.element": "DELTA_BINARY_PACKED"}
    return {"compression_level": 19, "use_dictionary": others, "column_encoding": steps}


def _factored(records: list[Metadata]) -> tuple[Metadata, list[Metadata]]:
    """What all records share, and what is left of each."""
    first = records[0]
    shared = {name: first[name] for name in first if all(record.get(name) == first[name] for record in records)}
    return shared, [{name: value for name, value in record.items() if name not in shared} for record in records]


def compact(
    source: Store,
    out: Path,
    keys: Collection[str] | None = None,
    with_curves: Collection[str] | None = None,
    numbers: Collection[str] = (),
) -> list[Path]:
    """Write the cells of `source` (those with these keys, else all) as one file per method and variant.

    Cells of these keys that `out` holds stay in the file where they are, and files whose results have not changed are
    left alone.
    Training curves are kept for the keys in `with_curves` (else for all): they are the larger part of a cell. Of the
    keys in `numbers` the edits are left out, which are most of what remains. A damaged cell ends it: a reference made
    of part of the results would look whole. Returns the files that were written.
    """

    def kept(key: str, stored: Stored) -> Stored:
        if with_curves is not None and key not in with_curves:
            stored = stored.without_curves()
        return stored.without_edits() if key in numbers else stored

    before = _groups(Store(out), keys, {})
    groups = _groups(source, keys, {key: name for name, cells in before.items() for key in cells})
    written = []
    for name, cells in sorted(groups.items()):
        there = before.get(name, {})
        result = {key: kept(key, cell) for key, cell in {**there, **cells}.items()}
        if any(key not in there or there[key].content != cell.content for key, cell in result.items()):
            written.append(out / "ledger" / name)
            write_compact(written[-1], sorted(result.values(), key=_in_order))
    return written


def _groups(store: Store, keys: Collection[str] | None, place: Mapping[str, str]) -> dict[str, dict[str, Stored]]:
    """The cells of a store by the file of many cells that they stand in, and by key.

    That is the file `place` says, else the one they are read from, else their row's. Where a cell stands in a file of
    its own and among many, its own counts, as for all readers (`Store.rows`).
    """
    groups: dict[str, dict[str, Stored]] = {}
    seen: set[str] = set()
    for path, key, stored in store.everything():
        if isinstance(stored, Damaged):
            raise StoreError(f"{shown(path)} {stored}; run the experiment again before compacting its results.")
        if key not in seen and (keys is None or key in keys):
            seen.add(key)
            own = path.name if path.parent.name == "ledger" else compact_names(*row_of(stored.definition))[-1]
            groups.setdefault(place.get(key, own), {})[key] = stored
    return groups


def row_of(definition: Metadata) -> tuple[str, str, str]:
    """Task, method and variant."""
    return definition["task"]["name"], definition["method"]["name"], definition["method"]["variant"]


def _in_order(stored: Stored) -> tuple[str, int, int]:
    definition = stored.definition
    task = {name: value for name, value in definition["task"].items() if name != "options"}
    options = {name: value for name, value in definition["task"].get("options", {}).items() if name != "seed"}
    return canonical([task, options, definition["method"]]), definition["seed"], definition["fold"]
