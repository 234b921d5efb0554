"""Files are written whole or not at all, swept only where they are ours, and refused in sentences."""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.results import files
from benchmarks.results.artefacts import read_manifest
from benchmarks.results.files import (
    StoreError,
    existing_folder,
    make_writable,
    read_csv,
    sweep,
    write_text,
    write_whole,
)
from benchmarks.results.ledger import Store
from benchmarks.results.reader import Results
from rsgg.errors import RSGGError, UsageError
from tests.standins import cells

NOBODY = 65534


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if path.is_file())


@pytest.fixture
def unprivileged() -> Iterator[Path]:
    """A folder of a user who may not read everything, as root may; the test runs as that user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = os.geteuid() == 0
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            if root:
                os.seteuid(0)
            for path in [folder, *folder.rglob("*")]:
                path.chmod(0o700)


# -- Writing ---------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    write_text(path, "old")

    def fails(file: Any) -> None:
        file.write(b"half of the new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, fails)
    assert path.read_bytes() == b"old" and names(tmp_path) == ["kept"]


def test_a_disk_that_refuses_late_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "kept"
    write_text(path, "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"^Results cannot be written to .* \(No space left on device\); nothing"):
        write_text(path, "new")
    assert path.read_bytes() == b"old" and names(tmp_path) == ["kept"]


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def synced(descriptor: int) -> None:
        events.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(self: Path, target: Path) -> Path:
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    write_text(tmp_path / "new", "content")
    assert events == ["file", "rename", "folder"]


def test_temporary_names_cannot_be_guessed_and_stand_beside_the_file(tmp_path: Path) -> None:
    """A name that can be guessed could be a link that someone else has put there."""
    seen: list[Path] = []

    def look(file: Any) -> None:
        seen.extend(tmp_path.iterdir())

    for _ in range(20):
        write_whole(tmp_path / "x.csv", look)
        (tmp_path / "x.csv").unlink()
    assert len({path.name for path in seen}) == 20
    for path in seen:
        assert re.fullmatch(r"\.rsgg-\w{8,}\.part", path.name) and str(os.getpid()) not in path.name.split("-")


def test_files_are_as_readable_as_others_of_the_user(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "ours", "x")
        (tmp_path / "usual").write_text("x")
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"^Results cannot be written to .* \(Not a directory\)"):
        make_writable(tmp_path / "file" / "results")
    make_writable(tmp_path / "new" / "results")
    assert names(tmp_path) == ["file"]


# -- Sweeping --------------------------------------------------------------------------------------------


def test_sweeping_removes_what_killed_writers_left_and_nothing_else(tmp_path: Path) -> None:
    old = time.time() - 2 * files.ABANDONED_AFTER
    ours, fresh = tmp_path / ".rsgg-abandoned.part", tmp_path / ".rsgg-being-written.part"
    foreign = [tmp_path / name for name in (".x.parquet.1.tmp", "notes.part", ".rsgg-notes", "x.tmp", "table1.csv")]
    below = tmp_path / "of someone else" / ".rsgg-x.part"
    below.parent.mkdir()
    for path in (ours, fresh, *foreign, below):
        path.write_bytes(b"half")
        if path != fresh:
            os.utime(path, (old, old))
    sweep(iter([tmp_path, tmp_path / "not there"]))
    assert not ours.exists()
    assert all(path.exists() for path in (fresh, *foreign, below))


def test_a_store_sweeps_its_own_folders_only(tmp_path: Path) -> None:
    store, old = Store(tmp_path), time.time() - 2 * files.ABANDONED_AFTER
    ours = [store.path(cells()[0]).parent, tmp_path, tmp_path / "ledger", tmp_path / "errors"]
    others = [tmp_path / "report", tmp_path / "cells", tmp_path / "cells" / "a" / "b" / "c"]
    for folder in (*ours, *others):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".rsgg-x.part").write_bytes(b"half")
        os.utime(folder / ".rsgg-x.part", (old, old))
    store.prepare()
    assert [folder for folder in (*ours, *others) if (folder / ".rsgg-x.part").exists()] == others


# -- Reading ---------------------------------------------------------------------------------------------


def test_a_table_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "table1.csv"
    for content in (b"\xff\xfe\x00\x01", b'a,b\n"1,2\n3'):
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"table1.csv cannot be read as a table .*; remove it or compute it again"):
            read_csv(path)
    path.write_bytes(b"")
    pd.testing.assert_frame_equal(read_csv(path), pd.DataFrame())


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert existing_folder(tmp_path) == tmp_path
    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(UsageError, match=f"^{path} is no folder of results; check the path.$"):
            existing_folder(path)


def test_what_may_not_be_read_is_a_sentence(unprivileged: Path) -> None:
    folder = unprivileged / "results"
    cell, store = cells()[0], Store(folder)
    path = store.path(cell)
    for file in (path, folder / "ledger" / "tree-cycles.draws.control.parquet", folder / "manifest.json"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"secret")
        file.chmod(0)
    with pytest.raises(StoreError, match=f"^{path} may not be read; check its permissions"):
        store.read(cell)
    with pytest.raises(StoreError, match=r"tree-cycles.draws.control.parquet may not be read"):
        store.stored([cell])
    with pytest.raises(StoreError, match=r"manifest.json cannot be read .*Permission denied"):
        read_manifest(folder)
    (folder / "ledger" / "tree-cycles.draws.control.parquet").unlink()
    path.parent.chmod(0)
    with pytest.raises(StoreError, match=f"^{path.parent} may not be read"):
        store.stored([cell])
    with pytest.raises(StoreError, match=f"^{path.parent} may not be read"):
        store.rows("tree-cycles", "draws", "control")
    path.parent.parent.chmod(0)
    with pytest.raises(StoreError, match=f"^{path} may not be read"):
        store.read(cell)
    folder.chmod(0)
    with pytest.raises(RSGGError, match=r"(may not|cannot) be read"):
        Results.of(folder)


def test_what_may_not_be_written_is_a_sentence(unprivileged: Path) -> None:
    unprivileged.chmod(0o500)
    with pytest.raises(StoreError, match=r"^Results cannot be written to .* \(Permission denied\)"):
        Store(unprivileged / "results").prepare()
