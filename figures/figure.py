"""What a figure is: a pure function of stored results; and what figures share: which rows and tasks, words, files.

A module of this package that draws has a `draw(results) -> list[Drawn]`. What it needs and does not find, it says in
`missing`: the rest is drawn, and the picture itself says what is not there (`note_missing`). Saved are vector PDF and
PNG, and beside them `figures.json`: caption, command, files read and what is missing, for the report.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import typer
from matplotlib.figure import Figure
from matplotlib.text import Text

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import OWN, Row
from benchmarks.registry.rules import PROBABILITIES, ROW_MARKS, WHITE_BOX
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.artefacts import sha256_of
from benchmarks.results.files import LOCAL, StoreError, shown, write_text
from benchmarks.results.reader import Results, shown_as_written
from figures import style
from rsgg.errors import RSGGError


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
class Edition:
    """For whom figures are drawn: as they are for the report, or for a paper, which has captions of its own.

    In a paper's edition there are no words above the panels, no path and no list of what is missing; these are in the
    PDF's metadata and in `figures.json`. `serif` sets them in the letters of a LaTeX article.
    """

    paper: bool = False
    serif: bool = False


REPORT = Edition()
FOR_THE_REPORT = "for the report"  # the id of words in a picture that a paper's edition leaves out


@dataclass(frozen=True)
class Entry:
    """A line of figures.json; `inputs` are the sha256 of the files that the figure was drawn from, by file name."""

    name: str
    caption: str
    paper: str
    command: str
    sources: tuple[str, ...]
    missing: tuple[str, ...]
    inputs: Mapping[str, str] = field(default_factory=dict)


# -- Which tables, tasks and rows ----------------------------------------------------------------------------

TABLE1 = "dataset method variant metric mean ci_low ci_high n folds"
CAPTIONS: dict[str, str] = tomllib.loads((Path(__file__).parent / "captions.toml").read_text(encoding="utf-8"))
VARIANTS = {  # that are drawn for all of the paper's methods; RSGG-CE to the letter has no counterpart to stand beside
    "released": "as the published comparison ran it",
    "faithful": "as its own paper defines it, RSGG-CE by score function",
}


def table_of(results: Results, name: str, columns: str, command: str = "") -> tuple[pd.DataFrame, list[str]]:
    """A stored table and what is missing: nothing, or, with an empty table of these columns, the table itself."""
    table = results.table(name)
    if table is None:
        return pd.DataFrame(columns=columns.split()), [f"{name}.csv, which ./reproduce.sh {command or name} computes"]
    return table, []


def only(table: pd.DataFrame, row: Row | None = None, /, **values: object) -> pd.DataFrame:
    """The lines of a table that have these values in these columns, of one row (method and variant) if it is given."""
    whose = {"method": row[0], "variant": row[1]} if row else {}
    for column, value in {**whose, **values}.items():
        table = table[table[column] == value]
    return table


def tasks_in(table: pd.DataFrame) -> list[TaskEntry]:
    """The tasks to show: the paper's that the table has, then all others but for versions of these, which stand beside
    them in tables. With an empty table, the paper's.
    """
    stored = [tasks.task(name) for name in dict.fromkeys(table["dataset"])]
    others = [task for task in stored if task not in tasks.of_paper() and not task.renames and task.rows is None]
    return [task for task in tasks.of_paper() if task in stored] + others or list(tasks.of_paper())


def tasks_stored(results: Results) -> list[TaskEntry]:
    """The tasks of the stored Table 1, for figures that are drawn from its ledgers."""
    return tasks_in(table_of(results, "table1", TABLE1)[0])


TEN_ROWS: tuple[Row, ...] = (  # of the versions for a paper: what readers compare first
    ("rsgg-ce", "released"), ("rsgg-ce", "faithful"), ("rsgg-ce-certified", "beyond"),
    *((method, "faithful") for method in ("cf2", "clear", "g-countergan", "meg")),
    ("obs", "search"), ("dce", "search"), ("two-sided-min", "search"),
)  # fmt: skip


def rows_in(table: pd.DataFrame, leave_out: Collection[str] = ()) -> list[Row]:
    """The rows to draw: the registry's in its order, then a user's own, but for methods of these names.

    Rows "+ min" are in the tables only: drawn, they would be a second set of marks on the optimum. Rows that are
    defined on none of the tasks that are shown belong to other tables.
    """
    stored = list(zip(table["method"], table["variant"], strict=True))
    own = [task.name for task in (tasks_in(table) if "dataset" in table else tasks.of_paper())]
    known = [row for row, one in methods.rows().items() if not all(one.unsupported(task) for task in own)]
    rows = [row for row in methods.rows() if row in {*known, *stored}]
    rows = [row for row in dict.fromkeys((*rows, *stored)) if not methods.made_of(row)]
    return [row for row in rows if row[0] not in leave_out]


def ten_and_all(rows: Sequence[Row], ten: Sequence[Row] = TEN_ROWS) -> dict[str, list[Row]]:
    """By the end of the figure's name: the rows of these that a paper has room for and a user's own, and all rows."""
    own = [row for row in rows if row not in methods.rows() or row[1] == OWN]
    return {"": [row for row in rows if row in {*ten, *own}], "_all": list(rows)}


def own_rows(table: pd.DataFrame) -> list[Row]:
    """A user's own rows: those that the registry does not have, or has from outside the project."""
    return [row for row in rows_in(table) if row not in methods.rows() or row[1] == OWN]


def absent(rows: Sequence[Row], stored: Mapping[str, Collection[Row]]) -> list[str]:
    """A sentence for each data set of the paper, naming the rows that are defined there and are not stored.

    A user's own rows and tasks are shown where they are; nothing says where else they should be.
    """
    said = []
    for task in tasks.of_paper():
        own = [look for look in map(style.look, rows) if look.explainer and look.variant != OWN]
        wanted = [look for look in own if not look.unsupported(task.name)]
        lacking = [methods.label(*look.row) for look in wanted if look.row not in stored.get(task.name, ())]
        words = "nothing is stored" if len(lacking) == len(wanted) else " / ".join(lacking)
        said += [f"{task.label}: {words}"] if lacking else []
    return said


def without_panel(shown_tasks: Collection[TaskEntry]) -> list[str]:
    """A sentence for each data set of the paper that a figure has no panel for."""
    return [f"{task.label}: nothing is stored" for task in tasks.of_paper() if task not in shown_tasks]


# -- Panels and words ----------------------------------------------------------------------------------------


def panels(shown_tasks: Sequence[TaskEntry], rows: int, height: float, **how: Any) -> tuple[Figure, np.ndarray]:
    """A column of panels per task with its title above; two columns are as wide as a page, more are wider."""
    size = (style.PAGE * max(1.0, len(shown_tasks) / 2), height)
    drawing, axes = plt.subplots(rows, len(shown_tasks), figsize=size, squeeze=False, **how)
    for axis, task in zip(axes[0], shown_tasks, strict=True):
        axis.set_title(task.title)
    return drawing, axes


def read_from(paths: Sequence[Path]) -> str:
    """The file that was read, or the folders where there are several."""
    names = [shown(path) for path in paths]
    folders = sorted({str(Path(name).parent) for name in names})
    return ", ".join(names if len(names) == 1 else folders) or "no file"


def heading(drawing: Figure, words: str, results: Results) -> None:
    """What is to be seen, and from which files, above all panels."""
    style.heading(drawing, f"{words} (from {read_from(results.used)})")


def small_print(drawing: Figure, words: str, path: Path | None) -> None:
    """Under which conditions, and from which file: small and grey, above the panels of a narrow figure."""
    style.heading(drawing, f"{words}\nFrom {shown(path) if path else 'no file'}.", 6, style.GREY)


def caption(*sentences: str) -> str:
    """The sentences that have something to say."""
    return " ".join(filter(None, sentences))


def note_missing(figure: Figure, missing: Sequence[str]) -> None:
    """Write into the picture what it does not show, below all else."""
    if missing:
        lines = style.wrapped(figure, "Missing: " + "; ".join(missing), 6)
        below = -2 / 72 / figure.get_figheight()  # of the picture's lower edge; what stands there is saved too
        figure.text(0.5, below, "\n".join(lines), ha="center", va="top", fontsize=6, color=style.RED)


def not_computed() -> Figure:
    """A small figure in the place of one of whose results nothing is stored."""
    drawing, axis = plt.subplots(figsize=(style.COLUMN, 1.2))
    style.say(axis, "not computed yet")
    axis.axis("off")
    return drawing


# -- Drawing and saving --------------------------------------------------------------------------------------


def saved(module: str, draw: Draw, results: Results, out: Path, edition: Edition = REPORT) -> list[Entry]:
    """Draw and save the figures of one module."""
    style.use(serif=edition.serif)
    own, entries = results.again(), []
    with shown_as_written(own):
        made = draw(own)
    for drawn in made:
        words = "".join(text.get_text() for text in drawn.figure.findobj(Text))
        marked = [f"{sign} {ROW_MARKS[sign]}." for sign in (WHITE_BOX, PROBABILITIES) if sign in words]
        about = caption(drawn.caption, *marked), drawn.paper, f"python figures/{module}.py"
        inputs = {path.name: sha256_of(path) for path in own.used if path.suffix == ".csv"}
        entry = Entry(drawn.name, *about, drawn.sources or own.sources, drawn.missing, inputs)
        provenance = _provenance(entry, drawn.figure.get_suptitle())
        if edition.paper:
            drawn.figure.suptitle("", in_layout=False)
            for text in [text for text in drawn.figure.texts if text.get_gid() == FOR_THE_REPORT]:
                text.remove()
        else:
            note_missing(drawn.figure, drawn.missing)
        style.save(drawn.figure, out, drawn.name, provenance, trimmed=edition.paper)
        plt.close(drawn.figure)
        entries.append(entry)
    return entries


def _provenance(entry: Entry, words: str) -> dict[str, str]:
    """What a PDF says of itself: the words above its panels, its caption, and what it was drawn from."""
    checksums = [f"{name} sha256 {sha256}" for name, sha256 in entry.inputs.items()]
    missing = [f"missing: {sentence}" for sentence in entry.missing]
    title = " ".join(words.split()) or entry.name
    return {"Title": title, "Subject": entry.caption, "Keywords": "; ".join((entry.command, *checksums, *missing))}


def drawn_from_others(folder: Path) -> list[str]:
    """The figures of a folder of results that were drawn from other tables than lie there now, or who knows which."""
    inputs: dict[str, Any] = {str(entry["name"]): entry.get("inputs") for entry in read_entries(folder / "figures")}
    stale = []
    for name in sorted(path.stem for path in (folder / "figures").glob("*.png")):
        tables = inputs.get(name) or {"": "which is not said"}
        stale += [name] if any(sha256_of(folder / table) != sha256 for table, sha256 in tables.items()) else []
    return stale


def record(entries: Sequence[Entry], out: Path) -> None:
    """Enter figures into figures.json, which keeps what it says of others."""
    known = {str(entry["name"]): entry for entry in read_entries(out)}
    known |= {entry.name: asdict(entry) for entry in entries}
    write_text(out / "figures.json", json.dumps(list(known.values()), indent=1, ensure_ascii=False) + "\n")


def read_entries(out: Path) -> list[dict[str, object]]:
    """What is known of the figures in this folder."""
    path = out / "figures.json"
    if not path.is_file():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise StoreError(f"{shown(path)} cannot be read ({error}); remove it and draw the figures again.") from error
    if not isinstance(entries, list) or not all(map(_is_entry, entries)):
        raise StoreError(f"{shown(path)} is no list of figures; remove it and draw the figures again.")
    return entries


def _is_entry(entry: Any) -> bool:
    """Is this what `record` writes? A name is one of a file in the same folder, not a path to elsewhere."""
    named = isinstance(entry, dict) and isinstance(entry.get("name"), str)
    return named and Path(entry["name"]).name == entry["name"] and isinstance(entry.get("inputs", {}), dict)


PaperOption = Annotated[
    bool,
    typer.Option("--paper", help="For a paper: no titles, no paths; where it comes from is in the PDF's metadata."),
]
SerifOption = Annotated[bool, typer.Option("--serif", help="In the letters of a LaTeX article.")]


def figures_folder(results: Path | None, *, paper: bool) -> Path:
    """Where figures go if nobody says: beside the results, those for a paper in a folder of their own."""
    return (results or LOCAL) / ("figures-paper" if paper else "figures")


def script(module: str, draw: Draw) -> None:
    """What `python figures/<module>.py` does."""

    def main(
        results: Annotated[
            Path | None, typer.Option(help="Folder of results; else local ones, else the reference.")
        ] = None,
        out: Annotated[Path | None, typer.Option(help="Folder for the figures.")] = None,
        beside_reference: Annotated[
            bool, typer.Option("--beside-reference", help="Show the rows of the folder beside those of the reference.")
        ] = False,
        paper: PaperOption = False,
        serif: SerifOption = False,
    ) -> None:
        folder = out or figures_folder(results, paper=paper)
        try:
            stored = Results.of(results, beside_reference=beside_reference)
            entries = saved(module, draw, stored, folder, Edition(paper, serif))
            record(entries, folder)
        except RSGGError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(2) from None
        for entry in entries:
            typer.echo(f"{shown(folder / entry.name)}.pdf, .png")
            for sentence in entry.missing:
                typer.echo(f"  missing: {sentence}", err=True)

    main.__doc__ = (draw.__doc__ or "").strip()
    typer.run(main)
