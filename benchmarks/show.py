"""Show a stored table at once: Markdown laid out for the terminal, or CSV. Computes nothing, imports nothing heavy."""

from __future__ import annotations

import csv
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.options import RESULTS, ROOT, unknown, usage_error

FILE_WIDTH = 160
MARKED = re.compile(r"\*\*(?P<bold>.+?)\*\*|<u>(?P<underline>.+?)</u>|(?P<plain>[^*<]+|.)")
INTERVAL = re.compile(r" \[[^\]]*\]")


def show(what: str, folder: Path) -> None:
    """Print `<folder>/<what>.md`, else `<what>.csv`, and say where it came from."""
    stored = {path.stem: path for kind in ("csv", "md") for path in sorted(folder.glob(f"*.{kind}"))}
    name = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    if what not in stored:
        known = {path.stem for path in (RESULTS / "reference").glob("*.csv")} | {"table1"}
        if what in known:
            raise usage_error(f"{name} holds no {what} yet; ./reproduce.sh {what} computes it.")
        raise unknown("stored table", what, sorted({*stored, *known}))
    path, console = stored[what], terminal()
    if path.suffix == ".md":
        console.print(*_markdown(path.read_text(encoding="utf-8")), sep="\n")
        console.print(f"Stored in {name}/{path.name}, there with intervals; nothing was computed.", highlight=False)
    else:
        console.print(_csv(path), f"Stored in {name}/{path.name}; nothing was computed.", sep="\n", highlight=False)


def terminal() -> Console:
    """Standard output: a terminal as it is; a file gets lines wide enough for a table."""
    return Console() if sys.stdout.isatty() or "COLUMNS" in os.environ else Console(width=FILE_WIDTH)


def _csv(path: Path) -> Table:
    with path.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    return _table(header, rows)


def _markdown(text: str) -> Iterator[RenderableType]:
    """Headings, paragraphs and tables, the latter without their intervals, which few terminals are wide enough for."""
    for is_table, group in groupby(text.splitlines(), lambda line: line.startswith("|")):
        lines = list(group)
        if is_table:
            header, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
            yield _table(header, rows)
        else:
            yield from (Text(line.lstrip("# "), "bold" if line.startswith("#") else "") for line in lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for i, title in enumerate(header):
        table.add_column(_marked(title), justify="left" if i < 2 else "right")
    for row in rows:
        table.add_row(*(_marked(INTERVAL.sub("", cell)) for cell in row))
    return table


def _marked(cell: str) -> Text:
    """**best** and <u>second best</u> as bold and underlined."""
    text = Text()
    for part in MARKED.finditer(cell.replace("\\", "")):
        style = part.lastgroup or "plain"
        text.append(part[style], None if style == "plain" else style)
    return text
