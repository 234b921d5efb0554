"""Every table that is shown, from the stored files of a folder: on a terminal, as Markdown, LaTeX, HTML and CSV.

    from benchmarks.results.reader import Results
    from figures import tables

    tables.show("table1", Path("results/reference"))           # on the terminal
    tables.markdown("table1", Results.of(Path("my/results")))  # as text

`sheets` builds a table as data (`figures.tables.sheet.Sheet`); the rest writes it. Nothing is computed but counts and
marks, and no model is loaded.
"""

from __future__ import annotations

import os
import pydoc
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from rich.console import Console, ConsoleOptions, RenderResult

from benchmarks.results.files import REFERENCE, existing_folder, shown, write_text
from benchmarks.results.reader import Results, shown_as_written
from figures.tables import as_printed, measurements, searches, sheet, statements
from figures.tables import robustness as of_robustness
from figures.tables import table1 as of_table1
from figures.tables import table2 as of_table2
from figures.tables.lines import as_stored
from figures.tables.numbers import in_short
from figures.tables.sheet import CSV, HTML, LATEX, MARKDOWN, TERMINAL, Sheet, terminal
from rsgg.errors import UsageError

__all__ = ["Sheet", "html", "latex", "live", "markdown", "names", "sheets", "show", "terminal", "write"]

BUILDERS: dict[str, Callable[..., list[Sheet]]] = {  # the other tables are shown line by line
    "table1": of_table1.table1,
    "table2": of_table2.table2,
    "robustness": of_robustness.robustness,
    "leaderboard": of_table2.leaderboard,
    "verdicts": statements.verdicts,
    "further": statements.further,
    "findings": statements.findings,
    "claims": statements.claims,
    "datasets": measurements.datasets,
    "hyperparameters": searches.hyperparameters,
    "hpo_summary": searches.hpo_summary,
    "tuning": searches.tuning,
    "runtime": measurements.runtime,
    "variations": measurements.variations,
    "candidates": measurements.candidates,
    "runtime_growth": measurements.runtime_growth,
    "convergence": measurements.convergence,
    "convergence_checks": measurements.convergence,
}
WRITERS = {MARKDOWN: sheet.markdown, LATEX: sheet.latex, HTML: sheet.html}
AS_PAPER = "table1_paper"  # Table 1 in the paper's own layout, for LaTeX only
AS_PRINTED = ("datasets", "hyperparameters")  # shown as the paper prints them where nothing is stored
PART_OF_OTHERS = frozenset({"convergence_checks", "runtime_growth"})  # have no page of their own
FILES = {"convergence": "convergence_checks"}  # what a table is made from, where it is not called like it
COMMANDS = {  # that compute a table, by how its name begins, where they are not called like it
    "verdicts": "table1", "further": "table1", "findings": "table1", "comparisons": "table1", "training": "table1",
    "nodes_": "nodes", "global_": "global", "boundaries": "variations",
    "convergence_checks": "convergence", "runtime_growth": "runtime", "hyperparameters": "hpo", "hpo_": "hpo",
    "tuning": "hpo", "ablation_": "ablation", "table2_": "table2", "leaderboard": "table2", "submitted": "submit",
    "candidates": "traces",
}  # fmt: skip


def names(folder: Path) -> list[str]:
    """The tables that are stored in a folder."""
    return sorted(path.stem for path in folder.glob("*.csv"))


def sheets(name: str, results: Results, *, everything: bool = False) -> list[Sheet]:
    """A table as data: what is seen first, or everything."""
    if name not in AS_PRINTED and results.table(FILES.get(name, name)) is None:
        return [sheet.text(name, name, f"No {name} is stored; {_command(name)} computes it.")]
    with shown_as_written(results):
        if name in BUILDERS:
            return BUILDERS[name](results, everything=everything)
        build = measurements.ablation if name.startswith("ablation_") else as_stored
        return build(results, name=name, everything=everything)


def _command(name: str) -> str:
    """What to type to have a table computed."""
    return f"./reproduce.sh {next((command for start, command in COMMANDS.items() if name.startswith(start)), name)}"


def _in(kind: str, built: Sequence[Sheet]) -> list[Sheet]:
    return [one for one in built if kind in one.formats]


def markdown(name: str, results: Results) -> str:
    return sheet.markdown(_in(MARKDOWN, sheets(name, results, everything=True)))


def latex(name: str, results: Results) -> str:
    """What it needs is said in its first line."""
    if name == AS_PAPER:
        return as_printed.latex(results)
    return sheet.latex(_in(LATEX, sheets(name, results, everything=True)))


def html(name: str, results: Results) -> str:
    """A page of its own."""
    return sheet.html(_in(HTML, sheets(name, results, everything=True)))


def write(results: Results, out: Path) -> Iterator[Path]:
    """Every stored table as a page of HTML, Markdown and LaTeX, and its sheets as CSV, into `out`/tables."""
    stored = {name for folder in results.folders for name in names(folder)}
    for name in sorted({*stored, *AS_PRINTED, "table1"} - PART_OF_OTHERS):
        built = sheets(name, results, everything=True)
        files = {f"{one.name}.{CSV}": sheet.as_csv(one) for one in _in(CSV, built) if one.groups}
        files |= {f"{name}.{kind}": writer(_in(kind, built)) for kind, writer in WRITERS.items()}
        for file, content in files.items():
            write_text(out / "tables" / file, content)
            yield out / "tables" / file


# -- On the terminal -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OnScreen:
    """Sheets as something that rich prints, at whatever width there is."""

    sheets: Sequence[Sheet]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield sheet.on_terminal(self.sheets, options.max_width)


def live(means: pd.DataFrame) -> OnScreen:
    """Table 1 while it fills, from `benchmarks.results.summary.means_so_far`: printed values in brackets."""
    return OnScreen(of_table1.so_far(means))


def show(name: str, folder: Path, *, everything: bool = False) -> None:
    """Print a stored table and say where it came from; through a pager where a terminal is too low for it."""
    results = Results((existing_folder(folder),))
    if name not in names(folder):
        raise UsageError(_not_there(name, folder))
    console, built = terminal(), sheets(name, results, everything=everything)
    with console.capture() as captured:
        console.print(OnScreen(_in(TERMINAL, built)))
        source = f"From {in_short(results.sources)}."
        source = textwrap.fill(source, console.width, break_long_words=False, break_on_hyphens=False)  # whole paths
        console.print(source, style="dim", soft_wrap=True)
        if any(note.startswith(sheet.WITH_ALL) for one in built for note in one.notes):
            where = "" if folder == REFERENCE else f" --out {shown(folder)}"
            console.print(f"All of it: ./reproduce.sh show {name} --all{where}.", style="dim", soft_wrap=True)
    text = captured.get()
    if console.is_terminal and text.count("\n") >= console.height:
        os.environ.setdefault("LESS", "RFX")  # with colours; what was read stays on the screen
        pydoc.pager(text)
    else:
        sys.stdout.write(text)


def _not_there(name: str, folder: Path) -> str:
    there = ", ".join(names(folder)) or "none yet"
    if name in {*names(REFERENCE), *BUILDERS} or name.startswith(tuple(COMMANDS)):
        return f"{shown(folder)} holds no {name} yet; {_command(name)} computes it (stored: {there})."
    return f"There is no stored table {name!r}; in {shown(folder)} there are: {there}."
