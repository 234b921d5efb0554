"""Whatever is typed, a command ends with an exit code of ours and at most a sentence: no foreign error, no password."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import cli
from tests.fuzz.command_lines import SECRET, lines, world

QUICK, ALL = 40, 600


def _survives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], count: int) -> None:
    places = world(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cli, "REFERENCE", tmp_path / "empty")  # checking the real one takes a minute
    for line in lines(1, count, places):
        code, said = cli.main(line), "".join(capsys.readouterr())
        assert code in (0, 1, 2), line
        assert SECRET not in said and "Traceback" not in said and "\x1b" not in said, line


def test_command_lines_that_nobody_should_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    _survives(tmp_path, monkeypatch, capsys, QUICK)


@pytest.mark.long
def test_all_command_lines_that_nobody_should_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    _survives(tmp_path, monkeypatch, capsys, ALL)
