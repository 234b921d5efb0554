"""What a figure is: a pure function of stored results, and how figures are drawn, one by one or all together.

A module of this package that draws has a `draw(results) -> list[Drawn]`. What it needs and does not find, it says in
`missing`: the rest is drawn, and the picture itself says what is not there (`note_missing`). Saved are vector PDF and
PNG, and beside them `figures.json`: caption, command, files read and what is missing, for the report.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import matplotlib.pyplot as plt
import typer
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from benchmarks.store import write_text
from figures import style
from figures.results import LOCAL, Results, shown


@dataclass(frozen=True)
class Drawn:
    """A figure with what is to be said about it. `name` is its file's name, `paper` its place in the paper if any.

    `sources` are the files it was drawn from, where these are not all that its module reads.
    """

    name: str
    figure: Figure
    caption: str
    paper: str = ""
    missing: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


Draw = Callable[[Results], list[Drawn]]


@dataclass(frozen=True)
class Entry:
    """A line of figures.json."""

    name: str
    caption: str
    paper: str
    command: str
    sources: tuple[str, ...]
    missing: tuple[str, ...]


def note_missing(figure: Figure, missing: Sequence[str]) -> None:
    """Write into the picture what it does not show, below all else."""
    if missing:
        width, height = figure.get_size_inches()
        lines = textwrap.wrap("Missing: " + "; ".join(missing), int(width * 72 / 3.2))  # signs of 6 points
        room = (8 * len(lines) + 3) / 72
        figure.set_size_inches(width, height + room)
        engine, share = figure.get_layout_engine(), room / (height + room)
        if isinstance(engine, ConstrainedLayoutEngine):
            engine.set(rect=(0, share, 1, 1 - share))
        figure.text(0.5, 0.005, "\n".join(lines), ha="center", va="bottom", fontsize=6, color=style.RED)


def saved(module: str, draw: Draw, results: Results, out: Path) -> list[Entry]:
    """Draw and save the figures of one module."""
    style.use()
    own, entries = Results(results.folders), []
    for drawn in draw(own):
        note_missing(drawn.figure, drawn.missing)
        style.save(drawn.figure, out, drawn.name)
        plt.close(drawn.figure)
        sources = drawn.sources or own.sources
        command = f"python figures/{module}.py"
        entries.append(Entry(drawn.name, drawn.caption, drawn.paper, command, sources, drawn.missing))
    return entries


def record(entries: Sequence[Entry], out: Path) -> None:
    """Enter figures into figures.json, which keeps what it says of others."""
    known = {str(entry["name"]): entry for entry in read_entries(out)}
    known |= {entry.name: asdict(entry) for entry in entries}
    write_text(out / "figures.json", json.dumps(list(known.values()), indent=1, ensure_ascii=False) + "\n")


def read_entries(out: Path) -> list[dict[str, object]]:
    """What is known of the figures in this folder."""
    path = out / "figures.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []


def script(module: str, draw: Draw) -> None:
    """What `python figures/<module>.py` does."""

    def main(
        results: Annotated[
            Path | None, typer.Option(help="Folder of results; else local ones, else the reference.")
        ] = None,
        out: Annotated[Path | None, typer.Option(help="Folder for the figures.")] = None,
    ) -> None:
        folder = out or (results or LOCAL) / "figures"
        entries = saved(module, draw, Results.of(results), folder)
        record(entries, folder)
        for entry in entries:
            typer.echo(f"{shown(folder / entry.name)}.pdf, .png")
            for sentence in entry.missing:
                typer.echo(f"  missing: {sentence}", err=True)

    main.__doc__ = (draw.__doc__ or "").strip()
    typer.run(main)
