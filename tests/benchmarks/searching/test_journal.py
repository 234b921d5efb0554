"""The journal of a study: what was written is read back, damage is a sentence, and one process writes at a time."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import optuna
import pytest

from benchmarks.results.files import StoreError
from benchmarks.searching.journal import Journal, journal, looked_at
from rsgg.errors import UsageError

HOLD = """
import fcntl, sys
file = open(sys.argv[1], "ab")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A journal of a study with three finished trials."""
    path = tmp_path / "study.log"
    with journal(path, fresh=False) as storage:
        study = optuna.create_study(storage=storage, study_name="s", direction="maximize")
        for value in (0.25, 0.5, 1.0):
            trial = study.ask()
            trial.suggest_float("x", 0, 1)
            study.tell(trial, value)
    return path


def values(path: Path) -> list[float | None]:
    storage = looked_at(path)
    return [trial.value for trial in storage.get_all_trials(storage.get_study_id_from_name("s"))]


def test_every_line_carries_a_checksum_that_covers_the_line_before(path: Path) -> None:
    last = ""
    lines = path.read_text().splitlines()
    assert len(lines) > 9 and path.read_bytes().endswith(b"\n")
    for line in lines:
        checksum, _, text = line.partition(" ")
        assert checksum == hashlib.sha256(f"{last} {text}".encode()).hexdigest()
        assert isinstance(json.loads(text), dict)
        last = checksum


def test_what_was_written_is_read_back_and_a_look_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    assert values(path) == [0.25, 0.5, 1.0] and path.read_bytes() == before
    with journal(path, fresh=False) as storage:
        study = optuna.load_study(storage=storage, study_name="s")
        study.tell(study.ask(), 2.0)
    assert values(path) == [0.25, 0.5, 1.0, 2.0] and path.read_bytes().startswith(before)
    with journal(path, fresh=True) as storage:
        assert storage.get_all_studies() == []


def test_a_last_line_that_was_cut_short_is_dropped_and_written_over(path: Path) -> None:
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rindex(b"\n") + 1
    for cut in (start + 1, start + 70, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert len(Journal(path, None).logs) == whole.count(b"\n") - 1
        with journal(path, fresh=False):
            pass
        assert path.read_bytes() == whole[:start], "the torn line is gone, so that the next one is whole"


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [*lines[:2], *lines[3:]],
        lambda lines: [lines[1], lines[0], *lines[2:]],
        lambda lines: [*lines[:3], lines[3].replace("0", "1"), *lines[4:]],
        lambda lines: [line.partition(" ")[2] for line in lines],
        lambda lines: [*lines[:4], "", *lines[4:]],
    ],
    ids=["a line is lost", "two lines are swapped", "a value is changed", "no checksums", "an empty line"],
)
def test_lines_that_do_not_fit_are_a_sentence(path: Path, damage) -> None:
    path.write_text("\n".join(damage(path.read_text().splitlines())) + "\n")
    with pytest.raises(StoreError, match=r"study.log is damaged in line \d; restore it, or begin a new study"):
        looked_at(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="damaged"), journal(path, fresh=False):
        pass
    assert path.read_bytes() == before, "nothing is thrown away"
    with journal(path, fresh=True) as storage:
        assert storage.get_all_studies() == []


def test_no_flipped_byte_goes_unnoticed(path: Path) -> None:
    """Any change of any byte is damage, the line break at the very end included."""
    whole, rng = path.read_bytes(), random.Random(0)
    places = [len(whole) - 1, *(rng.randrange(len(whole) - 1) for _ in range(150))]
    for place in places:
        for byte in (whole[place] ^ 1 << rng.randrange(8), ord("\r"), ord("\n")):
            if byte == whole[place]:
                continue
            path.write_bytes(whole[:place] + bytes([byte]) + whole[place + 1 :])
            with pytest.raises(StoreError, match="damaged in line"):
                looked_at(path)


def test_it_belongs_to_one_process_at_a_time(path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    before = path.read_bytes()
    for fresh in (False, True):
        with (
            pytest.raises(UsageError, match=r"Another process is at work on study\.log; let it finish, or share"),
            journal(path, fresh=fresh),
        ):
            pass
    assert path.read_bytes() == before and values(path) == [0.25, 0.5, 1.0], "looking is allowed"
    holder.kill()
    holder.wait()
    with journal(path, fresh=False):
        pass


def test_a_folder_that_cannot_be_made_is_a_sentence() -> None:
    with (
        pytest.raises(StoreError, match="The search cannot be written to /dev/null/x"),
        journal(Path("/dev/null/x/study.log"), fresh=False),
    ):
        pass
