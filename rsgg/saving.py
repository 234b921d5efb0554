"""Files of fitted explainers: a JSON header and named arrays in one NumPy archive, with a checksum over all of it.

The archive is an ordinary `.npz` file, which `numpy.load(path, allow_pickle=False)` reads: no pickle, nothing in it is
executed. Its zip comment, the last bytes of the file, is the SHA-256 of everything before it. `read_archive` compares
the two before it looks at anything else, so a file that was damaged, cut short or written by something else ends in a
sentence and not in an error from the depths of a library.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import secrets
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from rsgg.errors import DataError, UsageError

SUFFIX = ".npz"
HEADER = "__header__"  # name of the array that holds the header as JSON text
CHECKSUM_PREFIX = b"sha256:"
CHECKSUM_LENGTH = len(CHECKSUM_PREFIX) + 64


def archive_path(path: str | Path) -> Path:
    """The path with `.npz` appended unless it ends in it: "l_0.1" and "l_0.2" become two different files."""
    try:
        text = os.fspath(path)
    except TypeError:
        text = ""
    if not isinstance(text, str) or not text or "\0" in text:
        raise UsageError(f"{path!r} is not the path of a file; give a string or a pathlib.Path.")
    return Path(text if text.endswith(SUFFIX) else text + SUFFIX)


def write_archive(path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    """Write header (plain JSON values) and arrays to `path`, `.npz` appended where missing; return the path written."""
    target = archive_path(path)
    if os.path.isdir(path):
        raise UsageError(f"{path} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise UsageError(f"{target} cannot be written because there is no folder {target.parent}; make it first.")
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **{HEADER: np.array(json.dumps(header))}, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = bytes(CHECKSUM_LENGTH)  # the room that the checksum takes up
    content = buffer.getvalue()[:-CHECKSUM_LENGTH]
    try:
        write_atomically(target, content + _checksum(content))
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{target} could not be written ({reason}); choose another place or make room.") from error
    return target


def read_archive(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and arrays that `write_archive` wrote; `path` is what it was given or what it returned."""
    source = archive_path(path)
    try:
        if not source.exists() and Path(path).is_file():
            source = Path(path)  # renamed by its owner
        data = _read_if_complete(source)
    except FileNotFoundError as error:
        raise UsageError(f"There is no file {source}; give the path that save returned.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise UsageError(f"{source} could not be read ({reason}); give the path that save returned.") from error
    content, checksum = data[:-CHECKSUM_LENGTH], data[-CHECKSUM_LENGTH:]
    if not checksum.startswith(CHECKSUM_PREFIX):
        raise DataError(f"{source} is not a saved explainer, or its end is missing; give a file that save wrote.")
    if checksum != _checksum(content):
        raise DataError(f"{source} is damaged: its checksum does not match; save the explainer again.")
    try:
        return _parsed(data)
    except Exception as error:  # a valid checksum over something else: whatever NumPy or JSON makes of that
        raise DataError(f"{source} does not hold a saved explainer; give a file that save wrote.") from error


def _read_if_complete(path: Path) -> bytes:
    """All of a file that ends in a checksum, only the end of another: it may be of any size."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - CHECKSUM_LENGTH))
        end = file.read(CHECKSUM_LENGTH)
        if not end.startswith(CHECKSUM_PREFIX):
            return end
        file.seek(0)
        return file.read()


def _parsed(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    with np.load(io.BytesIO(data), allow_pickle=False) as archive:
        header = json.loads(str(archive[HEADER]))
        arrays = {name: archive[name] for name in archive.files if name != HEADER}
    if not isinstance(header, dict):
        raise TypeError("the header is not a JSON object")
    return header, arrays


def _checksum(content: bytes) -> bytes:
    return CHECKSUM_PREFIX + hashlib.sha256(content).hexdigest().encode()


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash at any moment, finds either the old content or the new one.

    The temporary file beside it has an unpredictable name and is never one that exists already.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
