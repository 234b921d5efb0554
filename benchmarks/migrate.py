"""Bring ledgers of format 1 up to date: python -m benchmarks.migrate results/reference

In format 1 a cell's definition listed every hyper-parameter, so that a new option with a default changed every address,
and metadata were outside the checksum. Format 2 keeps what was declared and differs from the default. Results are not
touched: the tables stay what they are but for the column `cell`, which holds the address. The checksums of format 1 are
checked first; a file that does not match is left alone and ends the migration.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.registry import methods, tasks
from benchmarks.registry import names as typed
from benchmarks.results.cell import FOLDS, declared, key_of
from benchmarks.results.files import StoreError, shown, write_whole
from benchmarks.results.ledger import (
    FORMAT,
    HISTORY,
    METADATA,
    Metadata,
    Stored,
    content_hash,
    history_path,
    sealed,
    write_compact,
    write_parquet,
)

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
    """Rewrite the ledgers, cells, traces and candidates of a folder; returns the new key of every old one."""
    renamed: dict[str, str] = {}
    for path in sorted(path for path in (folder / "ledger").glob("*.parquet") if not path.name.endswith(HISTORY)):
        cells = list(_cells(path, renamed))
        if cells:
            write_compact(path, cells)
    for path in sorted(folder.rglob("cells/**/*.parquet")):
        if not path.name.endswith(HISTORY):
            _migrate_cell(path, renamed)
    for name in ("traces.parquet", "candidates.parquet"):
        if (folder / name).is_file():
            _rename_keys(folder / name, renamed)
    return renamed


def _read(path: Path) -> tuple[pa.Table, Metadata]:
    table = pq.read_table(path, partitioning=None)
    return table.replace_schema_metadata(None), json.loads(table.schema.metadata[METADATA])


def _cells(path: Path, renamed: dict[str, str]) -> Iterator[Stored]:
    """The cells of a compacted file of format 1, in format 2; none if it is in format 2 already."""
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


def _new_cell(path: Path, table: pa.Table, history: pa.Table | None, old: Metadata, renamed: dict[str, str]) -> Stored:
    if content_hash(table) != old["sha256"] or (history is not None and content_hash(history) != old["history"]):
        raise StoreError(f"{shown(path)} does not match its checksum; nothing in it was changed.")
    definition = new_definition(old["definition"])
    key = key_of(definition)
    renamed[key_of(old["definition"])] = key
    if "cell" in table.column_names:
        place = table.column_names.index("cell")
        table = table.set_column(place, "cell", pa.array([key] * len(table), pa.string()))
    kept = {name: value for name, value in old.items() if name not in DROPPED}
    meta = sealed({**kept, "format": FORMAT, "definition": definition, "content": content_hash(table)})
    return Stored(table, history, meta)


def _migrate_cell(path: Path, renamed: dict[str, str]) -> None:
    table, meta = _read(path)
    if meta["format"] == FORMAT:
        return
    history = _read(history_path(path))[0] if meta["history"] else None
    cell = _new_cell(path, table, history, meta, renamed)
    definition = cell.metadata["definition"]
    new = path.with_name(f"seed{definition['seed']}-fold{definition['fold']}-{cell.key[:16]}.parquet")
    if history is not None:
        write_parquet(history_path(new), history, cell.metadata)
    write_parquet(new, cell.table, cell.metadata)
    for old in (path, history_path(path)):
        if old not in (new, history_path(new)):
            old.unlink(missing_ok=True)


def _rename_keys(path: Path, renamed: dict[str, str]) -> None:
    table = pq.read_table(path, partitioning=None)
    keys = [renamed.get(key, key) for key in table.column("cell").to_pylist()]
    table = table.set_column(table.column_names.index("cell"), "cell", pa.array(keys, pa.string()))
    write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(f"{argument}: {len(migrate(Path(argument)))} cells were brought to format {FORMAT}.")
