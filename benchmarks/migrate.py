"""Bring older ledgers up to date: python -m benchmarks.migrate results/reference

In format 1 a cell's definition listed every hyper-parameter, so that a new option with a default changed every address,
and metadata were outside the checksum. Format 2 keeps what was declared and differs from the default. Results are not
touched: the tables stay what they are but for the column `cell`, which holds the address. The checksums of format 1 are
checked first: a file that is damaged ends the migration before anything is written.

Files of format 2 whose metadata are plain text are written anew with packed ones (`benchmarks.results.ledger.packed`):
the same cells in a file that is up to two thirds smaller.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.registry import methods, tasks
from benchmarks.registry import names as typed
from benchmarks.results.artefacts import Artefacts, read_manifest
from benchmarks.results.cell import FOLDS, declared, key_of
from benchmarks.results.files import StoreError, existing_folder, shown, write_whole
from benchmarks.results.ledger import (
    FORMAT,
    HISTORY,
    METADATA,
    Metadata,
    Stored,
    content_hash,
    history_path,
    is_plain,
    sealed,
    small,
    unpacked,
    write_compact,
    write_parquet,
)
from rsgg.errors import RSGGError

DROPPED = ("format", "sha256", "seed")  # of the metadata of format 1


def new_definition(old: Metadata) -> Metadata:
    """The definition of format 2 of the cell that format 1 defined like this."""
    data, method = old["dataset"], old["method"]
    entry = tasks.task(data["name"])
    row = methods.rows().get((method["name"], method["variant"]))
    if row is None or not entry.dataset:
        raise StoreError(
            f"{data['name']}, {method['name']}:{method['variant']} is not in the registry; nothing is changed."
        )
    options = _differing(data["parameters"], typed.imported(entry.dataset))
    own = {
        "name": method["name"], "variant": method["variant"],
        "revision": method["revision"], "same_start": method["same_start"],
        "options": _differing(method["hyperparameters"], row.load()),
    }  # fmt: skip
    usual = {"revision": 1, "same_start": False, "options": {}}
    new = {
        "task": {"name": data["name"], **({"options": options} if options else {})},
        "method": {name: value for name, value in own.items() if value != usual.get(name, MISSING)},
        "fold": old["fold"],
        "seed": old["seed"],
    }
    if old["folds"] != FOLDS:
        new["folds"] = old["folds"]
    if old["k"] != 1:
        new["k"] = old["k"]
    return new


def _differing(values: dict[str, Any], cls: type) -> dict[str, Any]:
    """Those of these values that differ from the defaults of the class."""
    defaults = {}
    for option in fields(cls):
        if option.default is not MISSING:
            defaults[option.name] = declared(option.default)
        elif option.default_factory is not MISSING:
            made = option.default_factory()
            defaults[option.name] = type(made).__name__
            if hasattr(made, "hyperparameters"):  # a method around another one listed the other's options too
                defaults |= {f"{type(made).__name__}.{n}": declared(v) for n, v in made.hyperparameters().items()}
    return {name: value for name, value in values.items() if value != defaults.get(name, MISSING)}


def migrate(folder: Path) -> dict[str, str]:
    """Rewrite the ledgers, cells, traces and candidates of a folder; returns the new key of every old one.

    All of them are read and checked before any is written. Traces and candidates are written first: they have nothing
    but keys, which only cells of format 1 explain, should this be stopped half-way.
    """
    renamed: dict[str, str] = {}
    ledgers = {path: list(_cells(path, renamed)) for path in _files(folder, "ledger/*.parquet")}
    cells = {path: _cell(path, renamed) for path in _files(folder, "**/cells/**/*.parquet")}
    written = [path for name in ("traces", "candidates") for path in _rename_keys(folder / f"{name}.parquet", renamed)]
    for path, many in ledgers.items():
        if many:
            write_compact(path, many)
            written += [path, history_path(path)]
    for path, cell in cells.items():
        if cell is not None:
            _replace(path, cell)
    _enter(folder, written)
    return renamed


def pack(folder: Path) -> list[Path]:
    """Write the compacted ledgers whose metadata are plain text anew; returns their paths."""
    written = []
    for path in sorted(folder.glob("ledger/*.parquet")):
        with _damage_noticed(path):
            table = pq.read_table(path, partitioning=None)
        if is_plain(table.schema.metadata[METADATA]):
            encoding = {} if path.name.endswith(HISTORY) else small(table)
            write_parquet(path, table, unpacked(table.schema.metadata[METADATA]), **encoding)
            written.append(path)
    _enter(folder, written)
    return written


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(path for path in folder.glob(pattern) if not path.name.endswith(HISTORY))


@contextmanager
def _damage_noticed(path: Path) -> Iterator[None]:
    """A damaged file can make its reader raise anything at all."""
    try:
        yield
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(
            f"{shown(path)} cannot be read ({error}), so that nothing is changed; restore it or remove it."
        ) from error


def _read(path: Path) -> tuple[pa.Table, Metadata]:
    table = pq.read_table(path, partitioning=None)
    return table.replace_schema_metadata(None), unpacked(table.schema.metadata[METADATA])


def _cells(path: Path, renamed: dict[str, str]) -> Iterator[Stored]:
    """The cells of a compacted file of format 1, in format 2; none if it is in format 2 already."""
    with _damage_noticed(path):
        table, meta = _read(path)
        if meta["format"] == FORMAT:
            return
        curves = _read(history_path(path))[0] if history_path(path).is_file() else None
        row = curve = 0
        for own in meta["cells"]:
            place = {**meta["layout"], **own}
            about = {**meta["shared"], **place["metadata"]}
            about["definition"] = {**meta["definition"], **place["metadata"]["definition"]}
            part = table.slice(row, place["rows"]).select(place["columns"])
            history = None
            if curves is not None and place["history_rows"]:
                history = curves.slice(curve, place["history_rows"]).select(place["history_columns"])
            row, curve = row + place["rows"], curve + place["history_rows"]
            yield _new_cell(path, part, history, about, renamed)


def _cell(path: Path, renamed: dict[str, str]) -> Stored | None:
    """The cell of a file of format 1, in format 2; None if it is in format 2 already."""
    with _damage_noticed(path):
        table, meta = _read(path)
        if meta["format"] == FORMAT:
            return None
        history = _read(history_path(path))[0] if meta["history"] else None
        return _new_cell(path, table, history, meta, renamed)


def _new_cell(path: Path, table: pa.Table, history: pa.Table | None, old: Metadata, renamed: dict[str, str]) -> Stored:
    curves = "" if history is None else content_hash(history)
    if content_hash(table) != old["sha256"] or curves != old["history"]:
        raise StoreError(
            f"{shown(path)} does not match its checksum, so that nothing is changed; restore it or remove it."
        )
    definition = new_definition(old["definition"])
    key = key_of(definition)
    renamed[key_of(old["definition"])] = key
    if "cell" in table.column_names:
        place = table.column_names.index("cell")
        table = table.set_column(place, "cell", pa.array([key] * len(table), pa.string()))
    kept = {name: value for name, value in old.items() if name not in DROPPED}
    meta = sealed({**kept, "format": FORMAT, "definition": definition, "content": content_hash(table)})
    return Stored(table, history, meta)


def _replace(path: Path, cell: Stored) -> None:
    """Write a cell under its new address and remove it under the old one."""
    definition = cell.metadata["definition"]
    new = path.with_name(f"seed{definition['seed']}-fold{definition['fold']}-{key_of(definition)[:16]}.parquet")
    if cell.history is not None:
        write_parquet(history_path(new), cell.history, cell.metadata)
    write_parquet(new, cell.table, cell.metadata)
    for old in (path, history_path(path)):
        if old not in (new, history_path(new)):
            old.unlink(missing_ok=True)


def _rename_keys(path: Path, renamed: dict[str, str]) -> list[Path]:
    """Rewrite a table with a column of keys; returns the path if it had to be."""
    if not path.is_file():
        return []
    with _damage_noticed(path):
        table = pq.read_table(path, partitioning=None)
        before = table.column("cell").to_pylist()
    keys = [renamed.get(key, key) for key in before]
    if keys == before:
        return []
    table = table.set_column(table.column_names.index("cell"), "cell", pa.array(keys, pa.string()))
    write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))
    return [path]


def _enter(folder: Path, written: list[Path]) -> None:
    """Files that the manifest names have another checksum now."""
    listed = read_manifest(folder).get("files", {})
    with Artefacts(folder, "migrate") as files:
        for path in written:
            if path.relative_to(folder).as_posix() in listed:
                files.add(path.relative_to(folder).as_posix())


def main(folders: list[str]) -> int:
    try:
        for name in folders:
            folder = existing_folder(Path(name))
            print(f"{name}: {len(migrate(folder))} cells were brought to format {FORMAT}.")
            print(f"{name}: the metadata of {len(pack(folder))} files were packed.")
    except RSGGError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
