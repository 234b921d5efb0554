"""Artefacts: every file that an experiment leaves in a folder of results, and the one manifest over all of them.

    with Artefacts(folder, "table1") as files:
        files.csv("table1.csv", table)

Each file is written whole or not at all and entered into `manifest.json` with its sha256, who made it and from which
commit; a file whose content has not changed keeps its entry. `check` says what is missing, changed or not listed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import pandas as pd

from benchmarks.registry import outside
from benchmarks.results.files import TEMPORARY, StoreError, csv_of, shown, write_text, write_whole
from benchmarks.results.ledger import FORMAT
from benchmarks.results.provenance import provenance

MANIFEST = "manifest.json"


class Artefacts:
    """Writes files into `folder` and enters them into its manifest when the block ends."""

    def __init__(self, folder: Path, made_by: str) -> None:
        self.folder, self.made_by = folder, made_by
        self.written: dict[str, str] = {}  # name: sha256
        self.experiment: dict[str, Any] = {}
        self.keep_gone = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None and (self.written or self.experiment):
            with _locked(self.folder):
                self._enter()

    def text(self, name: str, text: str) -> Path:
        return self.whole(name, lambda file: file.write(text.encode()))

    def csv(self, name: str, table: pd.DataFrame) -> Path:
        return self.text(name, csv_of(table))

    def whole(self, name: str, write: Callable[[Any], None]) -> Path:
        """Write a file whole, by a function that is given the open binary file, and enter it into the manifest."""
        path = self.folder / name
        write_whole(path, write)
        return self.add(name)

    def add(self, name: str) -> Path:
        """Enter a file that is there already."""
        path = self.folder / name
        self.written[name] = sha256_of(path)
        return path

    def forget_what_is_gone(self) -> None:
        """Drop the entries of files that are not there any more."""
        self.keep_gone = False

    def about(self, **entry: Any) -> None:
        """What the manifest says of the experiment: its cells, seeds, duration, commits, what is missing."""
        self.experiment |= entry

    def _enter(self) -> None:
        manifest = read_manifest(self.folder)
        files, origin = manifest.get("files", {}), {"made_by": self.made_by, "commit": provenance()["commit"]}
        for name, sha256 in self.written.items():
            if files.get(name, {}).get("sha256") != sha256:
                files[name] = {"sha256": sha256, **origin}
        if not self.keep_gone:
            files = {name: entry for name, entry in files.items() if (self.folder / name).is_file()}
        experiments = manifest.get("experiments", {})
        if self.experiment:
            experiments[self.made_by] = self.experiment
        whole = {"format": FORMAT, **provenance(), "experiments": experiments, "files": dict(sorted(files.items()))}
        joined = outside.merged(manifest.get("outside", {}), outside.entries())
        if any(joined.values()):
            whole["outside"] = joined
        write_text(self.folder / MANIFEST, json.dumps(whole, indent=1) + "\n")


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a folder; empty where there is none."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{shown(folder / MANIFEST)} cannot be read ({error}); remove it or restore it.") from error
    if not isinstance(manifest, dict) or not _has_its_parts(manifest):
        raise StoreError(f"{shown(folder / MANIFEST)} is no manifest; remove it or restore it.")
    return manifest


def _has_its_parts(manifest: dict[str, Any]) -> bool:
    """Are the parts that are there of the kind that they should be?"""
    files = manifest.get("files", {})
    tables = (files, manifest.get("experiments", {}), manifest.get("outside", {}))
    entries = all(isinstance(part, dict) for part in tables) and all(
        isinstance(entry, dict) and isinstance(entry.get("sha256"), str) for entry in files.values()
    )
    return entries and all(isinstance(part, list | dict) for part in manifest.get("outside", {}).values())


def sha256_of(path: Path) -> str:
    """Of a file's bytes; empty where there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def as_written(path: Path) -> bool:
    """Does the manifest beside a file name it with the checksum that it has?"""
    entry = read_manifest(path.parent).get("files", {}).get(path.name, {})
    return bool(entry) and entry["sha256"] == sha256_of(path)


def check(folder: Path, *, complete: bool) -> tuple[int, list[str]]:
    """How many files match the manifest, and a sentence for each that does not; with `complete`, also for each file
    that the manifest does not name."""
    files: Mapping[str, Any] = read_manifest(folder).get("files", {})
    wrong = [
        f"{shown(folder / name)} is missing or differs from the manifest."
        for name, entry in files.items()
        if sha256_of(folder / name) != entry["sha256"]
    ]
    matching = len(files) - len(wrong)
    if complete:
        wrong += [f"{shown(folder / name)} is not in the manifest." for name in unlisted(folder, files)]
    return matching, wrong


def unlisted(folder: Path, files: Mapping[str, Any]) -> list[str]:
    """The files below a folder that its manifest does not name."""
    there = (path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*")) if path.is_file())
    return [
        name for name in there if name not in files and name != MANIFEST and not Path(name).name.startswith(TEMPORARY)
    ]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time reads and writes a manifest: the folder itself is locked, and no file is left behind."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise StoreError(f"Results cannot be written to {folder} ({error.strerror}); choose another folder.") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)  # which gives the lock back
