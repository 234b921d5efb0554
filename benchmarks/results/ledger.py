"""Ledgers on disk: the rows of a cell, one per test graph, each cell written whole or not at all.

A file's metadata hold the cell's definition, where it came from (versions, commit, machine, date, duration), the sha256
of the table's content and a sha256 over the metadata themselves. All of it is checked on reading. A file that is
damaged (cut short, wrong checksum) or stale (another definition) is noticed, reported in one line and treated as
absent, so it is computed again.

`compact` turns many cells into one file per task, method and variant, with every cell's metadata kept: that is what
`results/reference` holds. `Store` reads both forms alike, and finds rows by the definitions that are stored in them.

    <root>/cells/<task>/<method>.<variant>/seed0-fold3-<key>.parquet            one cell
    <root>/cells/<task>/<method>.<variant>/seed0-fold3-<key>.history.parquet    its training curves, if any
    <root>/ledger/<task>.<method>.<variant>.parquet (and .history.parquet)      many cells
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any

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
    "edits": pa.list_(pa.int64()),
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
    def key(self) -> str:
        return key_of(self.metadata["definition"])

    @property
    def duration(self) -> float:
        return float(self.metadata["duration"])

    @property
    def skipped(self) -> str:
        """Why the method could not run here; empty where it did."""
        return str(self.metadata["skipped"])

    @property
    def ledger(self) -> pd.DataFrame:
        return self.table.to_pandas()

    @property
    def content(self) -> tuple[str, str]:
        """Changes when the results do, not when the same results are computed again."""
        return fingerprint(self.table), str(self.metadata["history"])

    def without_curves(self) -> Stored:
        return Stored(self.table, None, sealed({**self.metadata, "history": ""}))


# -- Tables and their content ----------------------------------------------------------------------------


def ledger_table(ledger: pd.DataFrame) -> pa.Table:
    """Ledger rows as an Arrow table with the declared column types, so that empty columns have their type too."""
    return _as_table(ledger, SCHEMA)


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


def write_parquet(path: Path, table: pa.Table, meta: Metadata, **encoding: Any) -> None:
    described = table.replace_schema_metadata({METADATA: canonical(meta)})
    write_whole(path, lambda file: pq.write_table(described, file, compression="zstd", **encoding))


def read_parquet(path: Path) -> tuple[pa.Table, Metadata]:
    """Table and metadata of a file, unchecked."""
    table = pq.read_table(path, partitioning=None)
    meta = json.loads((table.schema.metadata or {})[METADATA])
    _check_format(meta)
    return table.replace_schema_metadata(None), meta


def _read_metadata(path: Path) -> Metadata:
    meta: Metadata = json.loads(pq.read_metadata(path).metadata[METADATA])
    _check_format(meta)
    return meta


def _check_format(meta: Metadata) -> None:
    if meta["format"] != FORMAT:
        raise Damaged("was written in another format, by an older version of this project")


@contextmanager
def _damage_noticed(path: Path) -> Iterator[None]:
    """A damaged file can make its reader raise anything at all; whatever it is, it means damage."""
    try:
        yield
    except (Damaged, FileNotFoundError, NotADirectoryError):
        raise
    except PermissionError as error:
        raise _forbidden(path) from error
    except Exception as error:
        raise Damaged("is cut short or damaged") from error


def _check_seal(meta: Metadata) -> None:
    if sealed(meta) != meta:
        raise Damaged("has metadata that do not match their checksum")


def _forbidden(path: Path) -> StoreError:
    return StoreError(f"{shown(path)} may not be read; check its permissions or choose another folder.")


def _checked(table: pa.Table, history: pa.Table | None, meta: Metadata) -> Stored:
    _check_seal(meta)
    if content_hash(table) != meta["content"]:
        raise Damaged("does not match its checksum")
    if meta["history"] and (history is None or content_hash(history) != meta["history"]):
        raise Damaged("has training curves that are missing or do not match their checksum")
    return Stored(table, history if meta["history"] else None, meta)


def _read_cell(path: Path, definition: Metadata | None = None) -> Stored:
    """A cell from its file, checked; with a definition, it has to be the cell so defined."""
    with _damage_noticed(path):
        table, meta = read_parquet(path)
        if definition is not None and meta["definition"] != definition:
            raise Damaged("holds another cell")
        history = None
        if meta["history"]:
            with suppress(FileNotFoundError):
                history, _ = read_parquet(history_path(path))
        return _checked(table, history, meta)


def history_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}{HISTORY}")


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_+-]", "_", name)


def _row_name(method: str, variant: str) -> str:
    return f"{_safe(method)}.{_safe(variant)}"


def compact_name(definition: Metadata) -> str:
    method = definition["method"]
    return f"{_safe(definition['task']['name'])}.{_row_name(method['name'], method['variant'])}.parquet"


# -- The store -------------------------------------------------------------------------------------------


@dataclass
class Store:
    """Results under one folder. `noticed` collects a line for each file that had to be disregarded."""

    root: Path
    noticed: list[str] = field(default_factory=list)
    _compacted: dict[Path, CompactFile] = field(default_factory=dict, repr=False)

    # -- where -----------------------------------------------------------------------------------------

    def path(self, cell: Cell) -> Path:
        folder = self.root / "cells" / _safe(cell.task.name) / _row_name(cell.method.name, cell.method.variant)
        return folder / f"seed{cell.seed}-fold{cell.fold}-{cell.key[:16]}.parquet"

    def prepare(self) -> None:
        """Make sure that results can be written; sweep up after writers that were killed."""
        make_writable(self.root)
        cells = self.root / "cells"
        rows = (row for task in _folders(cells) for row in _folders(task))
        sweep(iter([self.root, self.root / "ledger", self.root / "errors", *rows]))

    def stored(self, cells: Iterable[Cell]) -> set[str]:
        """The keys of those of these cells that are there, by the names of files alone: quick for thousands of them."""
        wanted = list(cells)
        ledgers = {compact_name(cell.definition) for cell in wanted}
        compacted = {key for name in ledgers for key in self._keys_of(self.root / "ledger" / name)}
        paths = {cell.key: self.path(cell) for cell in wanted}
        names = {folder: _names(folder) for folder in {path.parent for path in paths.values()}}
        return {key for key, path in paths.items() if path.name in names[path.parent]} | (compacted & paths.keys())

    # -- writing ---------------------------------------------------------------------------------------

    def write(
        self, cell: Cell, table: pa.Table, history: pa.Table | None = None, *, duration: float, skipped: str = ""
    ) -> Stored:
        """Store a cell. The training curves go first: the cell's own file is what makes it count as stored."""
        path = self.path(cell)
        meta = describe(cell, table, history, duration=duration, skipped=skipped)
        if history is not None:
            write_parquet(history_path(path), history, meta)
        write_parquet(path, table, meta)
        return Stored(table, history, meta)

    # -- reading ---------------------------------------------------------------------------------------

    def read(self, cell: Cell) -> Stored | None:
        """The cell if it is stored, whole and what was asked for; else None, and a line in `noticed` says why.

        A damaged file of a single cell is put aside (renamed to `….damaged`), so that the cell is computed again.
        """
        path = self.path(cell)
        try:
            return _read_cell(path, cell.definition)
        except (FileNotFoundError, NotADirectoryError):
            return self._read_compacted(cell)
        except Damaged as damage:
            self.noticed.append(f"{shown(path)} {damage}; it is computed again.")
            with suppress(OSError):
                path.replace(path.with_name(f"{path.name}.damaged"))
            return None

    def duration(self, cell: Cell) -> float | None:
        """How many seconds a stored cell took, from what its file says about it; the content is not looked at."""
        with suppress(Exception):
            return float(_read_metadata(self.path(cell))["duration"])
        path = self.root / "ledger" / compact_name(cell.definition)
        with suppress(Exception):
            return float(self._file(path).about[cell.key][0]["duration"])
        return None

    def ledger(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The ledger rows of these cells, of those that are stored, in their order."""
        return _joined(stored for stored in map(self.read, cells) if stored is not None)

    def history(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The training curves of these cells, with columns that say whose they are."""
        frames = []
        for cell in cells:
            stored = self.read(cell)
            if stored is not None and stored.history is not None:
                whose = {"dataset": cell.task.name, "method": cell.method.name, "variant": cell.method.variant}
                frames.append(stored.history.to_pandas().assign(**whose, seed=cell.seed, fold=cell.fold))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def rows(self, task: str, method: str, variant: str, seed: int = 0) -> pd.DataFrame:
        """The ledger of one row of a table in one replicate, found by the definitions that are stored.

        Where a row was computed under several definitions (other options, an older revision), the one that the
        registry declares today is taken, else the one with the most folds.
        """
        found: dict[str, list[Callable[[], Stored]]] = {}
        for definition, read in self._definitions(task, method, variant):
            if definition["seed"] == seed:
                found.setdefault(_without_fold(definition), []).append(read)
        if not found:
            return pd.DataFrame()
        today = _without_fold(_declared_today(task, method, variant, seed))
        chosen = found.get(today) or max(found.values(), key=len)
        whole = []
        for read in chosen:
            try:
                whole.append(read())
            except Damaged as damage:
                self.noticed.append(
                    f"A cell of {task}, {method}:{variant} in {shown(self.root)} {damage}; it is left out."
                )
        return _joined(sorted(whole, key=lambda stored: stored.metadata["definition"]["fold"]))

    def _definitions(self, task: str, method: str, variant: str) -> Iterator[tuple[Metadata, Callable[[], Stored]]]:
        """What is stored of a row: definitions, and how each cell is read. A cell counts before a compacted one."""
        row, seen = _row_name(method, variant), set()
        folder = self.root / "cells" / _safe(task) / row
        for path in sorted(folder / name for name in _names(folder)):
            definition = self._definition(path, partial(_read_metadata, path))
            if definition is not None:
                seen.add(key_of(definition))
                yield definition, partial(_read_cell, path)
        path = self.root / "ledger" / f"{_safe(task)}.{row}.parquet"
        try:
            file = self._file(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        except Damaged as damage:
            self.noticed.append(f"{shown(path)} {damage}; it is left out.")
            return
        for key, (about, _) in file.about.items():
            definition = None if key in seen else self._definition(path, partial(dict, about))
            if definition is not None:
                yield definition, partial(file.cell, key)

    def _definition(self, path: Path, metadata: Callable[[], Metadata]) -> Metadata | None:
        """What a file's metadata define; None, and a line in `noticed`, where they are damaged."""
        try:
            with _damage_noticed(path):
                meta = metadata()
                _check_seal(meta)
                definition: Metadata = meta["definition"]
                return definition
        except FileNotFoundError:  # removed meanwhile
            return None
        except Damaged as damage:
            self.noticed.append(f"A cell in {shown(path)} {damage}; it is left out.")
            return None

    def everything(self) -> Iterator[tuple[Path, str, Stored | Damaged]]:
        """All that is stored: (file, key, cell or what is wrong with it). For `verify` and `compact`."""
        for path in sorted((self.root / "cells").rglob("*.parquet")):
            if path.name.endswith(HISTORY) or path.name.startswith("."):
                continue
            try:
                stored = _read_cell(path)
                if stored.key[:16] not in path.name:
                    raise Damaged("holds another cell than its name says")
                yield path, stored.key, stored
            except Damaged as damage:
                yield path, path.stem, damage
        for path in sorted((self.root / "ledger").glob("*.parquet")):
            if not path.name.endswith(HISTORY):
                yield from self._cells_of(path)

    def _cells_of(self, path: Path) -> Iterator[tuple[Path, str, Stored | Damaged]]:
        try:
            file = self._file(path)
        except Damaged as damage:
            yield path, path.stem, damage
            return
        for key in file.about:
            try:
                yield path, key, file.cell(key)
            except Damaged as damage:
                yield path, key, damage

    # -- compacted files -------------------------------------------------------------------------------

    def _file(self, path: Path) -> CompactFile:
        if path not in self._compacted:
            self._compacted[path] = CompactFile.opened(path)
        return self._compacted[path]

    def _keys_of(self, path: Path) -> Collection[str]:
        try:
            return self._file(path).about
        except (FileNotFoundError, NotADirectoryError, Damaged):
            return ()

    def _read_compacted(self, cell: Cell) -> Stored | None:
        path = self.root / "ledger" / compact_name(cell.definition)
        try:
            file = self._file(path)
            return file.cell(cell.key) if cell.key in file.about else None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Damaged as damage:
            self.noticed.append(f"{shown(path)} {damage}; its cells are computed again.")
            return None


def _joined(cells: Iterable[Stored]) -> pd.DataFrame:
    tables = [stored.table for stored in cells if len(stored.table)]
    return pa.concat_tables(tables, promote_options="default").to_pandas() if tables else pd.DataFrame()


def _without_fold(definition: Metadata) -> str:
    return canonical({name: value for name, value in definition.items() if name != "fold"})


def _declared_today(task: str, method: str, variant: str, seed: int) -> Metadata:
    """The definition (without a fold) that the registry gives this row today."""
    entry = tasks.task(task).replicate(seed)
    known = methods.rows().get((method, variant))
    own = {"name": method, "variant": variant} if known is None else known.for_task(task).definition()
    plain: Metadata = declared({"task": entry.definition(), "method": own, "seed": seed})
    return plain


def _folders(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except PermissionError as error:
        raise _forbidden(folder) from error


def _names(folder: Path) -> set[str]:
    """The names of the cells' files in a folder."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except PermissionError as error:
        raise _forbidden(folder) from error
    return {name for name in names if name.endswith(".parquet") and not name.endswith(HISTORY) and name[0] != "."}


@dataclass
class CompactFile:
    """Many cells in one file: what it says about each, and its rows, which are read when a cell is asked for."""

    path: Path
    about: dict[str, tuple[Metadata, Metadata]]  # by key: the cell's metadata, and where in the file its rows are

    @classmethod
    def opened(cls, path: Path) -> CompactFile:
        with _damage_noticed(path):
            meta = _read_metadata(path)
            about, row, curve = {}, 0, 0
            for cell, place in _layout(meta):
                about[key_of(cell["definition"])] = cell, {**place, "row": row, "curve": curve}
                row, curve = row + place["rows"], curve + place["history_rows"]
            return cls(path, about)

    @cached_property
    def _tables(self) -> tuple[pa.Table, pa.Table | None]:
        with _damage_noticed(self.path):
            table, _ = read_parquet(self.path)
            curves = None
            with suppress(FileNotFoundError):
                curves, _ = read_parquet(history_path(self.path))
            return table, curves

    def cell(self, key: str) -> Stored:
        """One cell, checked on its own."""
        with _damage_noticed(self.path):
            (meta, place), (table, curves) = self.about[key], self._tables
            own = table.slice(place["row"], place["rows"]).select(place["columns"])
            history = None
            if curves is not None and place["history_rows"]:
                history = curves.slice(place["curve"], place["history_rows"]).select(place["history_columns"])
            return _checked(own, history, meta)


def _layout(meta: Metadata) -> Iterator[tuple[Metadata, Metadata]]:
    """What a compacted file says about each of its cells: the cell's metadata, and where in the file its rows are."""
    for own in meta["cells"]:
        part = {**meta["layout"], **own}
        about = {**meta["shared"], **part["metadata"]}
        yield {**about, "definition": {**meta["definition"], **part["metadata"]["definition"]}}, part


def write_compact(path: Path, cells: list[Stored]) -> None:
    """What all cells say alike (versions, machine, options, …) is written once, as `shared`."""
    definition, definitions = _factored([cell.metadata["definition"] for cell in cells])
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
    write_parquet(path, table, meta, **_small(table))


def _small(table: pa.Table) -> dict[str, Any]:
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
    source: Store, out: Path, keys: Collection[str] | None = None, with_curves: Collection[str] | None = None
) -> list[Path]:
    """Write the cells of `source` (those with these keys, else all) as one file per task, method and variant.

    Cells of these keys that only `out` holds stay there, and files whose results have not changed are left alone.
    Training curves are kept for the keys in `with_curves` (else for all): they are the larger part of a cell. A damaged
    cell ends it: a reference made of part of the results would look whole. Returns the files that were written.
    """
    before, groups = _groups(Store(out), keys, with_curves), _groups(source, keys, with_curves)
    written = []
    for name, cells in sorted(groups.items()):
        there = before.get(name, {})
        if {key: cell.content for key, cell in there.items()} != {
            key: cell.content for key, cell in {**there, **cells}.items()
        }:
            written.append(out / "ledger" / name)
            write_compact(written[-1], sorted({**there, **cells}.values(), key=_in_order))
    return written


def _groups(
    store: Store, keys: Collection[str] | None, with_curves: Collection[str] | None
) -> dict[str, dict[str, Stored]]:
    """The cells of a store by the file that they are compacted into, and by key."""
    groups: dict[str, dict[str, Stored]] = {}
    for path, key, stored in store.everything():
        if isinstance(stored, Damaged):
            raise StoreError(f"{shown(path)} {stored}; run the experiment again before compacting its results.")
        if keys is None or key in keys:
            kept = stored if with_curves is None or key in with_curves else stored.without_curves()
            groups.setdefault(compact_name(stored.metadata["definition"]), {})[key] = kept
    return groups


def _in_order(stored: Stored) -> tuple[str, int, int]:
    definition = stored.metadata["definition"]
    task = {name: value for name, value in definition["task"].items() if name != "options"}
    options = {name: value for name, value in definition["task"].get("options", {}).items() if name != "seed"}
    return canonical([task, options, definition["method"]]), definition["seed"], definition["fold"]
