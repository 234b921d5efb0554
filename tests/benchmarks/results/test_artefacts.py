"""Files of results and the one manifest over all of them: whole, listed, and nothing lost between two writers."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from benchmarks.registry import methods
from benchmarks.results import artefacts
from benchmarks.results.artefacts import Artefacts, check, read_manifest
from benchmarks.results.files import StoreError


def write(folder: Path, made_by: str = "table1", **content: str) -> None:
    with Artefacts(folder, made_by) as files:
        for name, text in content.items():
            files.text(f"{name}.txt", text)


def entries(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "manifest.json").read_text())["files"]


def test_every_file_is_entered_with_its_checksum_and_who_made_it(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "there.png").write_bytes(b"image")
    with Artefacts(tmp_path, "table1") as files:
        files.csv("table1.csv", pd.DataFrame({"a": [1 / 3], "b": ["x"]}))
        files.text("table1.md", "x")
        files.add("sub/there.png")
        files.about(cells=7)
    manifest = read_manifest(tmp_path)
    assert (tmp_path / "table1.csv").read_text() == "a,b\n0.333333,x\n"
    assert list(manifest["files"]) == ["sub/there.png", "table1.csv", "table1.md"]
    for name, entry in manifest["files"].items():
        assert entry["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert entry["made_by"] == "table1" and entry["commit"]
    assert manifest["experiments"] == {"table1": {"cells": 7}} and manifest["format"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["manifest.json", "sub", "table1.csv", "table1.md"]


def test_what_has_not_changed_keeps_its_entry_and_what_others_entered_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "table1", same="same", other="old")
    before = entries(tmp_path)
    monkeypatch.setattr(artefacts, "provenance", lambda: {"commit": "later"})
    write(tmp_path, "publish", same="same", other="new", more="more")
    after = entries(tmp_path)
    assert after["same.txt"] == before["same.txt"]
    assert after["other.txt"]["made_by"] == after["more.txt"]["made_by"] == "publish"
    assert after["other.txt"]["commit"] == "later" and list(after) == sorted(after)


def test_a_run_that_fails_enters_nothing(tmp_path: Path) -> None:
    write(tmp_path, kept="kept")
    before = (tmp_path / "manifest.json").read_bytes()
    with pytest.raises(ZeroDivisionError), Artefacts(tmp_path, "table1") as files:
        files.text("new.txt", "new")
        raise ZeroDivisionError
    assert (tmp_path / "manifest.json").read_bytes() == before


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    write(tmp_path, kept="old")

    def fails(file: Any) -> None:
        file.write(b"half")
        raise OSError("no more")

    with pytest.raises(StoreError, match="Results cannot be written"), Artefacts(tmp_path, "table1") as files:
        files.whole("kept.txt", fails)
    assert (tmp_path / "kept.txt").read_text() == "old" and check(tmp_path, complete=True) == (1, [])


def _write_many(folder: Path, who: int, n: int) -> None:
    for i in range(n):
        write(folder, f"writer{who}", **{f"of{who}-{i}": f"{who}, {i}"})


def test_several_processes_at_a_time_lose_nothing(tmp_path: Path) -> None:
    processes, n = 4, 40
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_write_many, args=(tmp_path, who, n)) for who in range(processes)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    assert check(tmp_path, complete=True) == (processes * n, [])
    assert not list(tmp_path.glob(".rsgg-*"))


def test_checking_finds_what_is_missing_changed_and_not_listed(tmp_path: Path) -> None:
    write(tmp_path, good="good", changed="before", gone="gone")
    (tmp_path / "changed.txt").write_text("after")
    (tmp_path / "gone.txt").unlink()
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "new.png").write_bytes(b"")
    (tmp_path / ".rsgg-x.part").write_bytes(b"being written")
    matching, wrong = check(tmp_path, complete=True)
    assert matching == 1
    assert [sentence.removeprefix(f"{tmp_path}/") for sentence in wrong] == [
        "changed.txt is missing or differs from the manifest.",
        "gone.txt is missing or differs from the manifest.",
        "figures/new.png is not in the manifest.",
    ]
    assert check(tmp_path, complete=False) == (1, wrong[:2])


def test_a_manifest_that_is_none_is_a_sentence(tmp_path: Path) -> None:
    assert read_manifest(tmp_path) == {} and check(tmp_path, complete=False) == (0, [])
    for content in ("{", "[]", "\0"):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(StoreError, match=r"manifest.json .*; remove it or restore it.$"):
            read_manifest(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="Results cannot be written to"):
        write(tmp_path / "file", name="text")
    with (
        pytest.raises(StoreError, match=r"Results cannot be written to .* choose another folder"),
        Artefacts(tmp_path / "file", "table1") as files,
    ):
        files.about(cells=1)


def test_a_user_s_rows_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, name="text")
    assert "outside" not in read_manifest(tmp_path)
    own = methods.Method("mine", "own", "my_module:Mine", "My method", "#D55E00", "*")
    monkeypatch.setattr(methods, "METHODS", [*methods.METHODS, own])
    write(tmp_path, name="text")
    (remembered,) = read_manifest(tmp_path)["outside"]["methods"]
    assert methods.Method(**remembered) == own
