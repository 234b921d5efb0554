"""The store: results on disk, one Parquet file per cell, each written whole or not at all.

A cell's table is written to a temporary file in the same folder, flushed to the disk and renamed, so that kill -9 or a
power cut leaves the old file or the new one, never half of one. The file's metadata hold the cell's definition, the
sha256 of the table's content, and where it came from: versions, seed, commit, machine, date, duration. Both are checked
on reading. A file that is damaged (cut short, wrong checksum) or stale (another definition) is noticed, reported in one
line and treated as absent, so it is computed again.

`compact` turns many cells into one file per data set, method and variant, with every cell's metadata kept: that is
what `results/reference` holds. `Store` reads both forms alike.

    <root>/cells/<dataset>/<method>.<variant>/seed0-fold3-<key>.parquet            one cell
    <root>/cells/<dataset>/<method>.<variant>/seed0-fold3-<key>.history.parquet    its training curves, if any
    <root>/ledger/<dataset>.<method>.<variant>.parquet (and .history.parquet)      many cells
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.cell import Cell, canonical, key_of
from benchmarks.options import ROOT
from rsgg.errors import RSGGError

FORMAT = 1
TIMES = ("seconds", "fit_seconds")  # what may differ between two runs of the same cell
PACKAGES = ("torch", "torch-geometric", "numpy", "scipy", "networkx", "pandas", "pyarrow", "joblib")
METADATA = b"rsgg"
_ABANDONED = 60.0  # seconds after which a temporary file has no writer any more; writing one takes milliseconds

SCHEMA = {
    **dict.fromkeys(("cell", "dataset", "method", "variant", "reason"), pa.string()),
    **dict.fromkeys(("seed", "fold", "instance", "candidate", "label", "predicted", "predicted_cf"), pa.int64()),
    **dict.fromkeys(("n_nodes", "n_edges", "calls", "fit_calls", "test_size"), pa.int64()),
    **dict.fromkeys(("ged", "seconds", "fit_seconds", "optimum", "removal_auroc"), pa.float64()),
    **dict.fromkeys(("found", "simple"), pa.bool_()),
    "edits": pa.list_(pa.int64()),
}


class StoreError(RSGGError):
    """Results cannot be written or read where they were asked to be."""


class Damaged(Exception):
    """A stored file is not what was written, or not what was asked for; the message says in which way."""


@dataclass(frozen=True)
class Stored:
    """A cell as it is stored: its ledger rows, its training curves, and what its metadata say."""

    table: pa.Table
    history: pa.Table | None
    metadata: dict[str, Any]

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
        return Stored(self.table, None, {**self.metadata, "history": ""})


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


# -- Where results come from -----------------------------------------------------------------------------


@cache
def provenance() -> dict[str, Any]:
    """Versions, commit and machine. No host name, no user, no path."""
    versions = {}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "python": platform.python_version(),
        "versions": versions,
        "commit": _commit(),
        "machine": {"system": platform.system(), "cpu": _cpu_model(), "cores": os.cpu_count()},
    }


def _commit() -> str:
    """The commit of the code, with "-dirty" where files differ from it."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=40", "--exclude", "*"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return answer.stdout.strip() or "unknown"


def _cpu_model() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


# -- Files -----------------------------------------------------------------------------------------------


def write_whole(path: Path, write: Callable[[Any], None]) -> None:
    """Let `write` fill a temporary file beside `path`, then rename it to `path`; on any failure nothing is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"Results cannot be written to {path.parent} ({error.strerror or error}); "
            "nothing stored is damaged: make room or choose another folder with --out and give the same command again."
        ) from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda file: file.write(text.encode()))


def write_csv(path: Path, table: pd.DataFrame) -> None:
    """Six digits are more than any of our numbers is sure of."""
    write_text(path, csv_of(table))


def csv_of(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system allows to open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_parquet(path: Path, table: pa.Table, meta: dict[str, Any], **encoding: Any) -> None:
    described = table.replace_schema_metadata({METADATA: canonical(meta)})
    write_whole(path, lambda file: pq.write_table(described, file, compression="zstd", **encoding))


def _read_parquet(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Table and metadata of a file, unchecked."""
    table = pq.read_table(path, partitioning=None)
    meta = json.loads((table.schema.metadata or {})[METADATA])
    if meta["format"] != FORMAT:
        raise Damaged("was written in another format")
    return table.replace_schema_metadata(None), meta


@contextmanager
def _damage_noticed() -> Iterator[None]:
    """A damaged file can make its reader raise anything at all; whatever it is, it means damage."""
    try:
        yield
    except (Damaged, FileNotFoundError, NotADirectoryError):
        raise
    except Exception as error:
        raise Damaged("is cut short or damaged") from error


def _checked(table: pa.Table, history: pa.Table | None, meta: dict[str, Any]) -> Stored:
    if content_hash(table) != meta["sha256"]:
        raise Damaged("does not match its checksum")
    if meta["history"] and (history is None or content_hash(history) != meta["history"]):
        raise Damaged("has training curves that are missing or do not match their checksum")
    return Stored(table, history if meta["history"] else None, meta)


# -- The store -------------------------------------------------------------------------------------------


@dataclass
class Store:
    """Results under one folder. `noticed` collects a line for each file that had to be disregarded."""

    root: Path
    noticed: list[str] = field(default_factory=list)
    _compacted: dict[Path, dict[str, Stored | Damaged]] = field(default_factory=dict, repr=False)
    _checked: dict[Path, tuple[tuple[int, int], Stored]] = field(default_factory=dict, repr=False)
    _durations: dict[Path, dict[str, float]] = field(default_factory=dict, repr=False)

    def path(self, cell: Cell) -> Path:
        name = f"seed{cell.seed}-fold{cell.fold}-{cell.key[:16]}.parquet"
        return self.root / "cells" / _safe(cell.dataset.name) / _row_name(cell.method.name, cell.method.variant) / name

    def prepare(self) -> None:
        """Make sure that results can be written, before hours are spent on them; sweep up after killed writers."""
        write_whole(self.root / ".writable", lambda file: file.write(b"yes"))
        (self.root / ".writable").unlink(missing_ok=True)
        self.sweep()

    def sweep(self) -> None:
        """Remove temporary files whose writer was killed."""
        for temporary in self.root.rglob(".*.tmp"):
            with suppress(OSError):
                if time.time() - temporary.stat().st_mtime > _ABANDONED:
                    temporary.unlink()

    # -- writing ---------------------------------------------------------------------------------------

    def write(
        self, cell: Cell, table: pa.Table, history: pa.Table | None = None, *, duration: float, skipped: str = ""
    ) -> Stored:
        """Store a cell. The training curves go first: the cell's own file is what makes it count as stored."""
        path = self.path(cell)
        meta = {
            "format": FORMAT,
            "definition": cell.definition,
            "sha256": content_hash(table),
            "history": content_hash(history) if history is not None else "",
            "seed": cell.seed,
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration": duration,
            "skipped": skipped,
            **provenance(),
        }
        if history is not None:
            _write_parquet(_history_path(path), history, meta)
        _write_parquet(path, table, meta)
        return Stored(table, history, meta)

    # -- reading ---------------------------------------------------------------------------------------

    def read(self, cell: Cell) -> Stored | None:
        """The cell if it is stored, whole and what was asked for; else None, and a line in `noticed` says why."""
        path = self.path(cell)
        try:
            version = _version(path)
            if path not in self._checked or self._checked[path][0] != version:
                self._checked[path] = version, _read_cell(path, cell.definition)
            return self._checked[path][1]
        except (FileNotFoundError, NotADirectoryError):
            return self._read_compacted(cell)
        except Damaged as damage:
            self.noticed.append(f"{self._shown(path)} {damage}; it is computed again.")
            return None

    def duration(self, cell: Cell) -> float | None:
        """How many seconds a stored cell took, from what its file says about it; the content is not looked at."""
        path = self.path(cell)
        with suppress(Exception):
            return float(_metadata(path)["duration"])
        path = self.root / "ledger" / _compact_name(cell.definition)
        if path not in self._durations:
            self._durations[path] = {}
            with suppress(Exception):
                self._durations[path] = {
                    key_of(about["definition"]): float(about["duration"]) for about, _ in _layout(_metadata(path))
                }
        return self._durations[path].get(cell.key)

    def _read_compacted(self, cell: Cell) -> Stored | None:
        path = self.root / "ledger" / _compact_name(cell.definition)
        try:
            stored = self._cells_of(path).get(cell.key)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except Damaged as damage:
            stored = damage
        if isinstance(stored, Damaged):
            self.noticed.append(f"{self._shown(path)} {stored}; its cells are computed again.")
            return None
        return stored

    def _cells_of(self, path: Path) -> dict[str, Stored | Damaged]:
        if path not in self._compacted:
            self._compacted[path] = _read_compact(path)
        return self._compacted[path]

    def everything(self) -> Iterator[tuple[Path, str, Stored | Damaged]]:
        """All that is stored: (file, key, cell or what is wrong with it). For `verify` and `compact`."""
        for path in sorted((self.root / "cells").rglob("*.parquet")):
            if path.name.endswith(".history.parquet") or path.name.startswith("."):
                continue
            try:
                stored = _read_cell(path)
                if stored.key[:16] not in path.name:
                    raise Damaged("holds another cell than its name says")
                yield path, stored.key, stored
            except Damaged as damage:
                yield path, path.stem, damage
        for path in sorted((self.root / "ledger").glob("*.parquet")):
            if path.name.endswith(".history.parquet"):
                continue
            try:
                for key, cell in self._cells_of(path).items():
                    yield path, key, cell
            except Damaged as damage:
                yield path, path.stem, damage

    def ledger(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The ledger rows of these cells, of those that are stored, in their order."""
        tables = [stored.table for stored in map(self.read, cells) if stored is not None and len(stored.table)]
        return pa.concat_tables(tables, promote_options="default").to_pandas() if tables else pd.DataFrame()

    def history(self, cells: Iterable[Cell]) -> pd.DataFrame:
        """The training curves of these cells, with columns that say whose they are."""
        frames = []
        for cell in cells:
            stored = self.read(cell)
            if stored is not None and stored.history is not None:
                whose = {"dataset": cell.dataset.name, "method": cell.method.name, "variant": cell.method.variant}
                frames.append(stored.history.to_pandas().assign(**whose, seed=cell.seed, fold=cell.fold))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    def _shown(self, path: Path) -> Path:
        return path.relative_to(ROOT) if path.is_relative_to(ROOT) else path


def _version(path: Path) -> tuple[int, int]:
    """Changes when the file does: a file that was read and checked need not be read again in the same run."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_+-]", "_", name)


def _row_name(method: str, variant: str) -> str:
    return f"{_safe(method)}.{_safe(variant)}"


def _compact_name(definition: dict[str, Any]) -> str:
    method = definition["method"]
    return f"{_safe(definition['dataset']['name'])}.{_row_name(method['name'], method['variant'])}.parquet"


def _history_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.history.parquet")


def _read_cell(path: Path, definition: dict[str, Any] | None = None) -> Stored:
    """A cell from its file, checked; with a definition, it has to be the cell so defined."""
    with _damage_noticed():
        table, meta = _read_parquet(path)
        if definition is not None and meta["definition"] != definition:
            raise Damaged("holds another cell")
        history = None
        if meta["history"]:
            with suppress(FileNotFoundError):
                history, _ = _read_parquet(_history_path(path))
        return _checked(table, history, meta)


# -- Compacted files -------------------------------------------------------------------------------------


def compact(
    source: Store, out: Path, keys: Collection[str] | None = None, with_curves: Collection[str] | None = None
) -> list[Path]:
    """Write the cells of `source` (those with these keys, else all) as one file per data set, method and variant.

    Cells of these keys that only `out` holds stay there, and files whose results have not changed are left alone.
    Training curves are kept for the keys in `with_curves` (else for all): they are the larger part of a cell. The files
    are entered into `manifest.json` with their sha256 and number of cells; what else it holds is kept. A damaged cell
    ends it: a reference made of part of the results would look whole.
    """
    before, groups = _groups(Store(out), keys, with_curves), _groups(source, keys, with_curves)
    written = []
    for name, cells in sorted(groups.items()):
        there = before.get(name, {})
        if {key: cell.content for key, cell in there.items()} != {
            key: cell.content for key, cell in {**there, **cells}.items()
        }:
            written.append(out / "ledger" / name)
            _write_compact(written[-1], sorted({**there, **cells}.values(), key=_in_order))
    _enter_into_manifest(out, {path: len({**before.get(path.name, {}), **groups[path.name]}) for path in written})
    return written


def _groups(
    store: Store, keys: Collection[str] | None, with_curves: Collection[str] | None
) -> dict[str, dict[str, Stored]]:
    """The cells of a store by the file that they are compacted into, and by key."""
    groups: dict[str, dict[str, Stored]] = {}
    for path, key, stored in store.everything():
        if isinstance(stored, Damaged):
            raise StoreError(f"{path} {stored}; run the experiment again before compacting its results.")
        if keys is None or key in keys:
            kept = stored if with_curves is None or key in with_curves else stored.without_curves()
            groups.setdefault(_compact_name(stored.metadata["definition"]), {})[key] = kept
    return groups


def _enter_into_manifest(out: Path, n_cells: dict[Path, int]) -> None:
    manifest: dict[str, Any] = {}
    with suppress(FileNotFoundError, ValueError):
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    files = manifest.setdefault("files", {})
    for path, n in n_cells.items():
        files[f"ledger/{path.name}"] = {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "cells": n}
    text = json.dumps({**manifest, "format": FORMAT, **provenance()}, indent=2) + "\n"
    write_text(out / "manifest.json", text)


def _in_order(stored: Stored) -> tuple[str, int, int]:
    definition = stored.metadata["definition"]
    return canonical([definition["dataset"], definition["method"]]), definition["seed"], definition["fold"]


def _write_compact(path: Path, cells: list[Stored]) -> None:
    """What all cells say alike (versions, machine, hyper-parameters, …) is written once, as `shared`."""
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
        _write_parquet(_history_path(path), pa.concat_tables(curves, promote_options="default"), {"format": FORMAT})
    table = pa.concat_tables([cell.table for cell in cells], promote_options="default")
    _write_parquet(path, table, meta, **_small(table))


def _small(table: pa.Table) -> dict[str, Any]:
    """How to write a ledger that is to be committed: edits are rising numbers, of which the steps are stored."""
    if "edits" not in table.column_names:
        return {"compression_level": 19}
    others = [name for name in table.column_names if name != "edits"]
    steps = {"edits.list.element": "DELTA_BINARY_PACKED"}
    return {"compression_level": 19, "use_dictionary": others, "column_encoding": steps}


def _factored(records: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What all records share, and what is left of each."""
    first = records[0]
    shared = {name: first[name] for name in first if all(record.get(name) == first[name] for record in records)}
    return shared, [{name: value for name, value in record.items() if name not in shared} for record in records]


def _read_compact(path: Path) -> dict[str, Stored | Damaged]:
    """The cells of a compacted file by key, each checked on its own."""
    cells: dict[str, Stored | Damaged] = {}
    row = curve = 0
    with _damage_noticed():
        table, meta = _read_parquet(path)
        curves = None
        with suppress(FileNotFoundError):
            curves, _ = _read_parquet(_history_path(path))
        for about, part in _layout(meta):
            one = table.slice(row, part["rows"]).select(part["columns"])
            history = None
            if curves is not None and part["history_rows"]:
                history = curves.slice(curve, part["history_rows"]).select(part["history_columns"])
            row, curve = row + part["rows"], curve + part["history_rows"]
            try:
                checked: Stored | Damaged = _checked(one, history, about)
            except Damaged as damage:
                checked = damage
            cells[key_of(about["definition"])] = checked
    return cells


def _layout(meta: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What a compacted file says about each of its cells: the cell's metadata, and where in the file its rows are."""
    for own in meta["cells"]:
        part = {**meta["layout"], **own}
        about = {**meta["shared"], **part["metadata"]}
        yield {**about, "definition": {**meta["definition"], **part["metadata"]["definition"]}}, part


def _metadata(path: Path) -> dict[str, Any]:
    return dict(json.loads(pq.read_metadata(path).metadata[METADATA]))
