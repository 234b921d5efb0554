"""Folders and files of results: where they are, and how a file is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rsgg.errors import RSGGError, UsageError

if TYPE_CHECKING:
    import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
LOCAL, REFERENCE, PAPER = RESULTS / "local", RESULTS / "reference", RESULTS / "paper"

TEMPORARY, ENDING = ".rsgg-", ".part"  # a temporary file is called .rsgg-<random>.part
ABANDONED_AFTER = 600.0  # seconds after which a temporary file has no writer any more; writing one takes milliseconds


class StoreError(RSGGError):
    """Results cannot be written or read where they were asked to be."""


def shown(path: Path) -> str:
    """A path as a reader wants to see it: relative to the project where it is inside."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def existing_folder(folder: Path, what: str = "results") -> Path:
    """The folder, which has to be there and readable."""
    if not folder.is_dir():
        raise UsageError(f"{shown(folder)} is no folder of {what}; check the path.")
    if not os.access(folder, os.R_OK | os.X_OK):
        raise UsageError(f"{shown(folder)} may not be read; check its permissions or name another folder.")
    return folder


def write_whole(path: Path, write: Callable[[Any], None]) -> None:
    """Let `write` fill a temporary file beside `path`, flush it to the disk and rename it to `path`.

    A kill or a power cut leaves the old file or the new one, never half of one; on any failure nothing is left.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=TEMPORARY, suffix=ENDING, dir=path.parent)
        temporary = Path(name)
        with os.fdopen(descriptor, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise StoreError(
            f"Results cannot be written to {path.parent} ({error.strerror or error}); "
            "nothing stored is damaged: make room or choose another folder with --out and give the same command again."
        ) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    write_whole(path, lambda file: file.write(content))


def write_text(path: Path, text: str) -> None:
    write_bytes(path, text.encode())


def csv_of(table: pd.DataFrame) -> str:
    """A table as CSV text; numbers have six digits, which is more than any measurement here is accurate to."""
    return str(table.to_csv(index=False, float_format="%.6g", lineterminator="\n"))


def read_csv(path: Path, **how: Any) -> pd.DataFrame:
    """A table that an experiment wrote; a file that is none is a sentence."""
    import pandas as pd  # late: the command line answers mistakes without it

    try:
        return pd.read_csv(path, **how)
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{shown(path)} cannot be read as a table ({error}); remove it or compute it again."
        ) from error


def make_writable(root: Path) -> None:
    """Make sure that results can be written, before hours are spent on them."""
    write_whole(root / f"{TEMPORARY}writable", lambda file: file.write(b"yes"))
    (root / f"{TEMPORARY}writable").unlink(missing_ok=True)


def sweep(folders: Iterator[Path]) -> None:
    """Remove temporary files of ours in these folders whose writer was killed; nothing else is touched."""
    for folder in folders:
        with suppress(OSError):
            for temporary in folder.glob(f"{TEMPORARY}*{ENDING}"):
                if time.time() - temporary.stat().st_mtime > ABANDONED_AFTER:
                    temporary.unlink()


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system allows to open folders."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    """Files are as readable as others that the user makes; a temporary file alone would be private."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
