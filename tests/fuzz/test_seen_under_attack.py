"""Faults that were seen under attack, one test each."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from benchmarks import cli
from benchmarks.registry.names import numbers
from benchmarks.results.artefacts import Artefacts, read_manifest
from benchmarks.results.files import REFERENCE, StoreError
from benchmarks.results.reader import Results, shown_as_written
from benchmarks.running.device import check_device
from benchmarks.running.signals import terminate_like_interrupt
from benchmarks.searching.study import _unusable
from figures.figure import read_entries
from figures.report.page import _embedded
from rsgg.compose import Minimised
from rsgg.data import ASD
from rsgg.errors import DataError, UsageError
from rsgg.saving import write_archive
from tests.fuzz.command_lines import DIGITS, SECRET, STORAGES


@pytest.mark.parametrize("asked", ["99999999999", "0-99999999999", DIGITS, f"0-{DIGITS}", "0-999999"])
def test_endless_folds_and_seeds_are_a_sentence(asked: str):
    with pytest.raises(UsageError, match=r"too large|more than"):
        numbers([asked], "seed")


@pytest.mark.parametrize("device", ["hpu", "xla", f"cpu:{DIGITS}"])
def test_a_device_that_torch_has_no_words_for_is_a_sentence(device: str):
    with pytest.raises(UsageError, match="cannot be used here"):
        check_device(device)


@pytest.mark.parametrize("url", [url for url in STORAGES if SECRET in url])
def test_no_password_is_printed(url: str):
    assert SECRET not in str(_unusable(url, ValueError(f"invalid literal in {url!r}, {SECRET}")))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_polite_kill_is_like_ctrl_c(number: signal.Signals):
    before = signal.signal(number, signal.SIG_DFL)  # it may be ignored here, as under nohup
    try:
        with pytest.raises(KeyboardInterrupt), terminate_like_interrupt():
            os.kill(os.getpid(), number)
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("content", ["[" * 100_000, "[1]", '[{"name": "../../private", "caption": "", "command": ""}]'])
def test_a_list_of_figures_that_is_none_is_a_sentence(content: str, tmp_path: Path):
    (tmp_path / "figures.json").write_text(content, encoding="utf-8")
    with pytest.raises(StoreError):
        read_entries(tmp_path)


def test_a_picture_that_was_cut_short_is_named(tmp_path: Path):
    (tmp_path / "cut.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    with pytest.raises(StoreError, match=r"cut\.png is damaged"):
        _embedded(tmp_path / "cut.png")


@pytest.mark.parametrize("manifest", [{"files": 3}, {"files": {"a": 1}}, {"outside": 7}, {"experiments": [1]}])
def test_a_manifest_with_other_parts_is_a_sentence(manifest: object, tmp_path: Path):
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(StoreError, match="is no manifest"):
        read_manifest(tmp_path)


def test_a_saved_composition_without_its_parts_ends(tmp_path: Path):
    path = write_archive(tmp_path / "x", {"explainer": "Minimised", "hyperparameters": {}}, {})
    with pytest.raises(DataError, match="without its parts"):
        Minimised.load(path)


def test_a_table_that_lost_its_columns_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    lines = (REFERENCE / "table1.csv").read_text(encoding="utf-8").splitlines()[:20]
    (tmp_path / "table1.csv").write_text("\n".join(line.partition(",")[2] for line in lines), encoding="utf-8")
    for command in (["show", "table1", "--out"], ["report", "--out", str(tmp_path / "page"), "--results"]):
        assert cli.main([*command, str(tmp_path)]) == 2
        assert "table1.csv is not as it was written and cannot be shown" in capsys.readouterr().err


def test_what_goes_wrong_over_tables_that_are_whole_is_no_fault_of_theirs(tmp_path: Path):
    (tmp_path / "table1.csv").write_text("a\n1\n", encoding="utf-8")
    results = Results((tmp_path,))
    assert results.table("table1") is not None
    with pytest.raises(StoreError, match=r"KeyError: 'b'"), shown_as_written(results):
        raise KeyError("b")
    with Artefacts(tmp_path, "test") as files:
        files.text("table1.csv", "a\n1\n")
    with pytest.raises(KeyError), shown_as_written(results):
        raise KeyError("b")


@pytest.mark.parametrize("limit", ["--cell-seconds", "--graph-seconds"])
def test_a_limit_that_is_none_is_a_sentence(limit: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["table1", "--dry-run", limit, "inf"]) == 2
    assert f"{limit} inf is no time limit" in capsys.readouterr().err


@pytest.mark.parametrize("folder", ["loop/below", "~nobody-is-called-so/x"])
def test_folders_that_lead_nowhere_are_a_sentence(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    assert cli.main(["table2", "--tu", folder, "--methods", "empty", "--out", str(tmp_path / "out")]) == 2
    assert f"There are no files {Path(folder).name}_A.txt" in capsys.readouterr().err
    with pytest.raises(DataError, match="is not complete in"):
        ASD().load(Path(folder))
