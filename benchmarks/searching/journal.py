"""The journal of a study: a file of lines, each with a checksum, that belongs to one process at a time.

A line is `<sha256> <JSON>`; the checksum covers the line before it too, so that no line can be changed, lost or moved
without being noticed. A last line that was cut short by a kill is dropped; anything else that does not fit is said in a
sentence, and `--fresh` begins a new study.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from optuna.storages import JournalStorage
from optuna.storages.journal import BaseJournalBackend

from benchmarks.results.files import StoreError, shown
from rsgg.errors import UsageError


class Journal(BaseJournalBackend):
    """The lines of an open file, read once, and written through."""

    def __init__(self, path: Path, file: IO[bytes] | None) -> None:
        self.path, self.file = path, file
        self.logs, self.last, self.whole = _read(path)

    def read_logs(self, log_number_from: int) -> Iterable[dict[str, Any]]:
        return self.logs[log_number_from:]

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        assert self.file is not None, "a journal that is only looked at is not written"
        lines = []
        for log in logs:
            text = json.dumps(log, separators=(",", ":"))
            self.last = _checksum(self.last, text)
            lines.append(f"{self.last} {text}\n")
        self.file.write("".join(lines).encode())
        self.file.flush()
        os.fsync(self.file.fileno())
        self.logs += json.loads(json.dumps(logs))


def _checksum(before: str, text: str) -> str:
    return hashlib.sha256(f"{before} {text}".encode()).hexdigest()


def _read(path: Path) -> tuple[list[dict[str, Any]], str, int]:
    """The logs of a journal, its last checksum, and how many bytes of the file are whole lines."""
    logs: list[dict[str, Any]] = []
    last, whole = "", 0
    content = path.read_bytes() if path.is_file() else b""
    *lines, rest = content.split(b"\n")  # what follows the last line break was cut short by a kill
    damaged = False
    for line in lines:
        checksum, text = _parts(line)
        damaged = checksum != _checksum(last, text)
        if damaged:
            break
        logs.append(json.loads(text))
        last, whole = checksum, whole + len(line) + 1
    checksum, text = _parts(rest[:-1])
    if damaged or checksum == _checksum(last, text):  # a whole line with another byte in place of its line break
        raise StoreError(
            f"{shown(path)} is damaged in line {len(logs) + 1}; restore it, or begin a new study with --fresh."
        )
    return logs, last, whole


def _parts(line: bytes) -> tuple[str, str]:
    """Checksum and text of a line."""
    checksum, _, text = line.decode(errors="replace").partition(" ")
    return checksum, text


@contextmanager
def journal(path: Path, *, fresh: bool) -> Iterator[JournalStorage]:
    """A journal that belongs to this process as long as it is open."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise StoreError(
            f"The search cannot be written to {path.parent} ({error.strerror}); choose another folder with --out."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise UsageError(
                f"Another process is at work on {path.name}; let it finish, or share the study between processes with "
                "--storage."
            ) from error
        if fresh:
            file.truncate(0)
        opened = Journal(path, file)
        file.truncate(opened.whole)
        yield JournalStorage(opened)


def looked_at(path: Path) -> JournalStorage:
    """The journal as it is, for a look that changes nothing."""
    return JournalStorage(Journal(path, None))
