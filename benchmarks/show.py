"""Show a stored table as it is: Markdown as text, CSV as a table. Imports nothing heavy and computes nothing."""

from __future__ import annotations

import csv
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.options import RESULTS, ROOT, unknown
from rsgg.errors import UsageError


def show(what: str, folder: Path) -> None:
    """Print `<folder>/<what>.md`, else `<what>.csv`, and say where it came from."""
    stored = {path.stem: path for kind in ("csv", "md") for path in sorted(folder.glob(f"*.{kind}"))}
    name = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    if what not in stored:
        known = {path.stem for path in (RESULTS / "reference").glob("*.csv")} | {"table1"}
        if what in known:
            raise UsageError(f"{name} holds no {what} yet; ./reproduce.sh {what} computes it.")
        raise unknown("stored table", what, sorted({*stored, *known}))
    path = stored[what]
    if path.suffix == ".md":
        print(path.read_text(encoding="utf-8").rstrip())
    else:
        Console().print(_table(path))
    print(f"\nStored in {name}/{path.name}; nothing was computed.")


def _table(path: Path) -> Table:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    table = Table(*header)
    for row in rows:
        table.add_row(*row)
    return table
