"""One table model for everything that is shown: a `Sheet`, written for a terminal, as Markdown, LaTeX, HTML or CSV.

    sheet = Sheet("sizes", "Sizes", ["Graph", "Nodes"], [Group("", [[Cell("a tree"), Cell("28")]])])
    print(markdown([sheet]))

A page is a list of sheets. A sheet without headings is a section of text: its title, caption and notes alone. Whatever
stands in a sheet, errors of methods included, is shown as text: each writer escapes what its format would act upon.
"""

from __future__ import annotations

import csv
import io
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from jinja2 import Environment, FileSystemLoader
from rich import box
from rich.cells import cell_len
from rich.console import Console, JustifyMethod, RenderableType
from rich.console import Group as Printed
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from benchmarks.registry.foreign_text import one_line
from benchmarks.registry.rules import (
    AGREES,
    DIFFERS,
    NOT_COMPARABLE,
    ORDER_HOLDS,
    REPRODUCED,
    ROW_MARKS,
)

TERMINAL, MARKDOWN, LATEX, HTML, CSV = FORMATS = ("terminal", "md", "tex", "html", "csv")
SYMBOLS = {  # of the verdicts on printed numbers
    REPRODUCED: "✓", AGREES: "=", ORDER_HOLDS: "≈", DIFFERS: "≠", NOT_COMPARABLE: "○"
}  # fmt: skip
COLOURS = {
    REPRODUCED: "green", AGREES: "bright_black", ORDER_HOLDS: "yellow", DIFFERS: "red", NOT_COMPARABLE: "bright_black"
}  # fmt: skip
MEANING = {  # where the word does not say it
    AGREES: f"{AGREES} with print, but is not its source", NOT_COMPARABLE: f"{NOT_COMPARABLE} (runtimes)"
}  # fmt: skip
ABSENT = "–"
WITH_ALL = "With --all: "


@dataclass(frozen=True)
class Cell:
    """What stands in a cell.

    Args:
        text: the number or the words.
        mark: "best" or "second" among the rows that are compared, "printed" for what the paper prints, "main" for a
            name that stands out.
        verdict: whether a printed number was reproduced; shown as a symbol.
        title: text of the tooltip in HTML; of a verdict, its reason.
        interval: the 95 % interval "[0.4, 0.6]", shown in Markdown and in the tooltip.
    """

    text: str
    mark: str = ""
    verdict: str = ""
    title: str = ""
    interval: str = ""

    def __post_init__(self) -> None:
        for part in ("text", "title"):
            object.__setattr__(self, part, one_line(getattr(self, part)))

    @property
    def tooltip(self) -> str:
        """What is seen when a cell is pointed at: its interval, then its verdict and why."""
        interval = f"95 % interval {self.interval[1:-1].replace(', ', ' to ')}." if self.interval else ""
        title = f"{self.verdict.capitalize()}: {self.title}." if self.verdict else self.title
        return f"{interval} {title}".strip()


Row = Sequence[Cell]


@dataclass(frozen=True)
class Group:
    """Rows under a heading, which may be empty; a line is drawn between groups."""

    heading: str
    rows: Sequence[Row]

    def __post_init__(self) -> None:
        object.__setattr__(self, "heading", one_line(self.heading))


@dataclass(frozen=True)
class Sheet:
    """A table as data.

    Args:
        name: of its file and its label.
        title: stands above it.
        headings: one per column.
        groups: the rows.
        caption: a paragraph above the table.
        notes: a list of sentences below it.
        names: how many columns at the left name a row; repeated where a table is split by columns.
        listed: each row is a paragraph, not a line of a table, in a terminal and in Markdown.
        formats: in which it is written.
    """

    name: str
    title: str
    headings: Sequence[str] = ()
    groups: Sequence[Group] = ()
    caption: str = ""
    notes: Sequence[str] = ()
    names: int = 1
    listed: bool = False
    formats: Sequence[str] = FORMATS

    def __post_init__(self) -> None:
        for part in ("headings", "notes"):
            object.__setattr__(self, part, [one_line(text) for text in getattr(self, part)])
        for part in ("title", "caption"):
            object.__setattr__(self, part, one_line(getattr(self, part)))

    @cached_property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group.rows]

    @cached_property
    def judged(self) -> list[bool]:
        """Which columns have verdicts."""
        return [any(row[i].verdict in SYMBOLS for row in self.rows) for i in range(len(self.headings))]

    def paragraphs(self) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """Each row as its name and its other cells, each with its heading; what is empty is left out."""
        for row in self.rows:
            pairs = zip(self.headings[1:], row[1:], strict=True)
            yield row[0].text, [(heading, cell.text) for heading, cell in pairs if cell.text]

    @cached_property
    def words(self) -> list[bool]:
        """Which columns hold words, and begin at the left; the others hold numbers. What names a row is words."""
        columns = [[row[i].text for row in self.rows if row[i].text] for i in range(len(self.headings))]
        few_numbers = [2 * sum(map(is_number, texts)) < len(texts) for texts in columns]
        return [i < self.names or few for i, few in enumerate(few_numbers)]


def is_number(text: str) -> bool:
    """Begins like a number and has no word in it: 0.5, −3 ±1, ×, 3/20, 1.0e-04, [0.1, 0.2]."""
    return text[0] in "0123456789+-−–×[" and not re.search(r"[^\W\d_]{2}", text)


def with_all(words: str) -> str:
    """The note that says what is left out; `show` says below all tables what to type for it."""
    return f"{WITH_ALL}{words}."


def text(name: str, title: str, caption: str = "", notes: Sequence[str] = ()) -> Sheet:
    """A section without a table."""
    return Sheet(name, title, caption=caption, notes=notes)


def _legend(sheets: Sequence[Sheet], symbol: dict[str, str], written: Callable[[str], str] = str) -> str:
    """What the symbols of verdicts (`symbol`: how they are written) and the marks of rows mean, of those there are."""
    used = {cell.verdict for sheet in sheets for row in sheet.rows for cell in row}
    said = ", ".join(f"{sign} {MEANING.get(verdict, verdict)}" for verdict, sign in symbol.items() if verdict in used)
    marks = row_marks(cell.text for sheet in sheets for row in sheet.rows for cell in row[: sheet.names])
    return " ".join(filter(None, (f"{said}." if said else "", written(marks))))


def row_marks(names: Iterable[str]) -> str:
    """What the marks in these names of rows mean."""
    seen = "".join(names)
    return " ".join(f"{sign} {meaning}." for sign, meaning in ROW_MARKS.items() if sign in seen)


# -- Terminal --------------------------------------------------------------------------------------------

FILE_WIDTH = 160  # of lines where the output is no terminal
GAP = 2  # spaces between columns, or one where that saves a split
WORDS_WIDTH = 26  # a column of words is not made narrower than this for the sake of others
STYLES = {"best": "bold", "main": "bold", "second": "underline", "printed": "dim"}


def terminal() -> Console:
    """Standard output: a terminal as it is; a file gets lines wide enough for a table."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(width=None if known else FILE_WIDTH, highlight=False, markup=False, emoji=False)


def on_terminal(sheets: Sequence[Sheet], width: int) -> Printed:
    """What is printed at this width. No number is cut or wrapped: a table that is too wide is split by columns."""
    parts: list[RenderableType] = []
    for sheet in sheets:
        parts += filter(None, (Text(sheet.title, style="bold"), Text(sheet.caption)))
        if sheet.listed:
            for names, said in sheet.paragraphs():
                parts += [Text(names, style="bold"), *(Padding(Text(": ".join(pair)), (0, 0, 0, 2)) for pair in said)]
        elif sheet.groups:
            parts += _tables(sheet, width)
        parts += [*(Text(f"• {note}", style="dim") for note in sheet.notes), Text("")]
    legend = Text(_legend(sheets, SYMBOLS), style="dim")
    return Printed(*parts, *filter(None, [legend]))


def _tables(sheet: Sheet, width: int) -> Iterator[RenderableType]:
    """As many tables as are needed at this width, each with the names of the rows.

    Words are wrapped before a table is split, and columns are moved closer before that.
    """
    whole, least = _widths(sheet)
    gap = next((gap for gap in (GAP, 1) if sum(least) + gap * (len(least) - 1) <= width), GAP)
    names = list(range(sheet.names))
    chosen = [*names]
    for i in range(sheet.names, len(least)):
        if len(chosen) > len(names) and sum(least[j] + gap for j in (*chosen, i)) - gap > width:
            yield from (_table(sheet, chosen, whole, least, width, gap), Text(""))
            chosen = [*names]
        chosen.append(i)
    yield _table(sheet, chosen, whole, least, width, gap)


def _widths(sheet: Sheet) -> tuple[list[int], list[int]]:
    """Of each column: the width at which nothing is wrapped, and the least width. Headings may be wrapped."""
    whole, least = [], []
    for i, words in enumerate(sheet.words):
        texts, heading = [_shown(sheet, row, i).plain for row in sheet.rows], sheet.headings[i].split()
        heading += [word for group in sheet.groups for word in group.heading.split()] if i == 0 else []  # stand there
        natural = max(map(cell_len, ["-", *texts, *heading]))
        of_words = map(cell_len, [*" ".join(texts).split(), *heading])
        whole.append(natural)
        least.append(max([min(natural, WORDS_WIDTH), *of_words]) if words else natural)
    return whole, least


def _table(sheet: Sheet, columns: list[int], whole: list[int], least: list[int], width: int, gap: int) -> Table:
    """These columns, as wide as they need to be; room that is left goes to those that would be wrapped."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), show_edge=False, pad_edge=False)
    left = max(0, width + gap - sum(least[i] + gap for i in columns))
    for i in columns:
        more = min(left, whole[i] - least[i])
        left -= more
        side: JustifyMethod = "left" if sheet.words[i] else "right"
        table.add_column(Text(sheet.headings[i]), width=least[i] + more, justify=side, overflow="fold")
    for group in sheet.groups:
        if group.heading:
            table.add_row(Text(group.heading, style="italic"))
        for row in group.rows:
            table.add_row(*(_shown(sheet, row, i) for i in columns), end_section=row is group.rows[-1])
    return table


def _shown(sheet: Sheet, row: Row, column: int) -> Text:
    """A cell; in a column with verdicts, one without leaves room for the symbol, so that numbers are aligned."""
    cell = row[column]
    shown = Text(cell.text, style=STYLES.get(cell.mark, ""))
    if cell.verdict in SYMBOLS:
        shown.append(f" {SYMBOLS[cell.verdict]}", style=f"not bold not underline {COLOURS[cell.verdict]}")
    elif cell.text and sheet.judged[column]:
        shown.append("\u00a0\u00a0", style="not underline")  # rich would strip plain spaces at the end
    return shown


# -- Markdown --------------------------------------------------------------------------------------------

MARKED = {"best": "**{}**", "main": "**{}**", "second": "<u>{}</u>", "printed": "*{}*"}


def markdown(sheets: Sequence[Sheet]) -> str:
    """A page: the first title is its heading."""
    parts = []
    for i, sheet in enumerate(sheets):
        heading = f"{'##' if i else '#'} {_inert(sheet.title)}" if sheet.title else ""
        parts += [heading, _inert(sheet.caption), "" if i else _legend(sheets, SYMBOLS)]
        if sheet.listed:
            for names, said in sheet.paragraphs():
                parts.append(
                    "\n".join([f"**{_escaped(names)}**\n", *(f"- *{what}:* {_inert(text)}" for what, text in said)])
                )
        elif sheet.groups:
            parts.append(pipes(sheet))
        parts.append("\n".join(f"- {_inert(note)}" for note in sheet.notes))
    return "\n\n".join(filter(None, parts)) + "\n"


def pipes(sheet: Sheet, *, markup: bool = False) -> str:
    """A sheet's table alone; headings of groups are rows in bold. With `markup` its text is Markdown already."""
    escaped = _in_table if markup else _escaped
    lines = [[escaped(heading) for heading in sheet.headings]]
    lines.append([":--" if words else "--:" for words in sheet.words])
    for group in sheet.groups:
        if group.heading:
            lines.append([f"**{escaped(group.heading)}**", *[""] * (len(sheet.headings) - 1)])
        lines += [[_markdown_cell(cell, escaped) for cell in row] for row in group.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(cell: Cell, escaped: Callable[[str], str]) -> str:
    shown = MARKED.get(cell.mark, "{}").format(escaped(cell.text)) if cell.text else ""
    return " ".join(filter(None, (shown, cell.interval, SYMBOLS.get(cell.verdict))))


# Code, formulas, tags, links, struck text and emphasis; an underscore inside a word is none, as in a name of a file.
ACTIVE = re.compile(r"[\\`$]|(?<=\])\(|~(?=~)|(?<!\w)_|_(?!\w)")
TAG = re.compile(r"<(?=[A-Za-z/!?])")


def _inert(words: str) -> str:
    """Text with everything escaped that Markdown would act upon."""
    return TAG.sub("&lt;", ACTIVE.sub(r"\\\g<0>", words))


def _escaped(words: str) -> str:
    """The same inside a table, or where asterisks stand around it."""
    return _in_table(_inert(words))


def _in_table(words: str) -> str:
    return words.replace("|", r"\|").replace("*", r"\*")


# -- LaTeX -----------------------------------------------------------------------------------------------

TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "²": "$^2$", "×": r"$\times$", "–": "--", "→": r"$\to$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "±": r"$\pm$",
    "≥": r"$\geq$", "≤": r"$\leq$", "·": r"$\cdot$", "…": r"\dots{}", "“": "``", "”": "''", "’": "'", "−": "$-$",
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].lower()}$" for sign in "αβγδηκμστω"},
    "✓": r"$\checkmark$", "≠": r"$\neq$", "≈": r"$\approx$", "∞": r"$\infty$",
    "λ": r"$\lambda$", "Φ": r"$\Phi$", "∇": r"$\nabla$", "ᵖ": "$^p$", "†": r"$\dagger$", "¹": "$^1$",
    "°": r"$^\circ$",
}  # fmt: skip
LETTERS = {verdict: rf"$^\mathrm{{{verdict[0]}}}$" for verdict in SYMBOLS}
TEX_MARKED = {"best": r"\textbf{%s}", "main": r"\textbf{%s}", "second": r"\underline{%s}", "printed": r"\textit{%s}"}
TEX_WIDE = 40  # signs: columns with longer texts are broken into lines
TEX_LINES = 56  # that a page has room for beside a caption; longer tables go on in a further one
TEX_SIGNS = 70  # of a line of the columns that are broken, all of them together
TEX_PACKAGES = "adjustbox, amssymb, array, booktabs"


def tex(words: str) -> str:
    """Text with everything escaped that TeX would take for a command; what it has no sign for loses its accents, and
    what cannot be printed is a space."""
    return "".join(TEX.get(sign) or (_plain(sign) if sign.isprintable() else " ") for sign in words)


def _plain(sign: str) -> str:
    return sign if sign.isascii() else unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"


def latex(sheets: Sequence[Sheet]) -> str:
    """A `table*` environment per sheet, or several of a long one; `TEX_PACKAGES` are needed, and nothing else.

    A caption is the sheet's title, the first sentence about it and what its symbols mean. Whatever else there is to say
    (rules, notes on rows) precedes the table as comments: it is for who reads the source, and too long for a paper.
    """
    about = sheets[0].caption if sheets else ""
    written = [_latex_list(sheet) if sheet.listed else _latex_tables(sheet, sheet.caption or about) for sheet in sheets]
    parts = [part for sheet, made in zip(sheets, written, strict=True) if sheet.groups for part in made]
    return "\n".join([f"% Made by figures/tables; needs \\usepackage{{{TEX_PACKAGES}}}.", *parts])


def _latex_list(sheet: Sheet) -> Iterator[str]:
    """Rows of long texts: a paragraph each, with what its columns say below their names."""
    yield r"{\sloppy\raggedright"
    yield rf"\paragraph{{{tex(sheet.title)}.}} {tex(sheet.caption)}"
    for names, said in sheet.paragraphs():
        words = " ".join(rf"\textit{{{tex(name)}:}} {tex(words)}" for name, words in said)
        yield rf"\par\medskip\noindent\textbf{{{tex(names)}}} {words}"
    yield "\\par}"


def _latex_tables(sheet: Sheet, about: str) -> Iterator[str]:
    first, _, rest = about.partition(". ")
    yield from (f"% {tex(said)}" for said in (rest, *sheet.notes) if said)
    said = (f"{tex(sheet.title)}.", tex(first and f"{first.rstrip('.')}."), _legend([sheet], LETTERS, tex))
    for i, groups in enumerate(_pages(sheet)):
        caption = " ".join(filter(None, said)) if i == 0 else f"{tex(sheet.title)}, continued."
        yield _latex_table(sheet, groups, caption, rf"\label{{tab:{sheet.name}}}" if i == 0 else "")


def _pages(sheet: Sheet) -> Iterator[list[Group]]:
    """The groups of a table, as many rows together as a page has room for."""
    long = _long_columns(sheet)
    page, height = list[Group](), 0
    for group in sheet.groups:
        heading: str | None = group.heading
        for row in group.rows:
            lines = max([1, *(-(-len(row[i].text) * sum(long) // TEX_SIGNS) for i, wide in enumerate(long) if wide)])
            if page and height + lines > TEX_LINES:
                yield page
                page, height = [], 0
            new = not page or heading is not None
            page += [Group(heading or "", [])] if new else []
            page[-1] = Group(page[-1].heading, [*page[-1].rows, row])
            heading, height = None, height + lines + new
    yield page


def _latex_table(sheet: Sheet, groups: Sequence[Group], caption: str, label: str) -> str:
    lines = [
        r"\begin{table*}", r"\centering", r"\scriptsize", r"\setlength{\tabcolsep}{3pt}", rf"\caption{{{caption}}}",
        *filter(None, [label]), r"\begin{adjustbox}{max width=\textwidth}",
        rf"\begin{{tabular}}{{@{{}}{_latex_columns(sheet)}@{{}}}}", r"\toprule",
        " & ".join(map(tex, sheet.headings)) + r" \\",
    ]  # fmt: skip
    for group in groups:
        lines.append(r"\midrule")
        if group.heading:
            lines.append(rf"\multicolumn{{{len(sheet.headings)}}}{{@{{}}l}}{{\textit{{{tex(group.heading)}}}}} \\")
        lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in group.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{adjustbox}", r"\end{table*}", ""])


def _long_columns(sheet: Sheet) -> list[bool]:
    """Which columns have texts that are broken into lines."""
    return [any(len(row[i].text) > TEX_WIDE for row in sheet.rows) for i in range(len(sheet.headings))]


def _latex_columns(sheet: Sheet) -> str:
    long = _long_columns(sheet)
    broken = rf">{{\raggedright\arraybackslash}}p{{{0.55 / max(1, sum(long)):.2f}\textwidth}}"
    columns = zip(long, sheet.words, strict=True)
    return "".join(broken if wide else "l" if words else "r" for wide, words in columns)


def _latex_cell(cell: Cell) -> str:
    shown = TEX_MARKED.get(cell.mark, "%s") % tex(cell.text) if cell.text else ""
    return shown + LETTERS.get(cell.verdict, "")


# -- HTML ------------------------------------------------------------------------------------------------

TAGS = {"best": "strong", "main": "strong", "second": "u", "printed": "em"}


def _rendered(template: str, **what: object) -> str:
    """One of the templates beside this file, filled in; everything is escaped there."""
    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(loader=folder, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    return environment.get_template(template).render(**what, tags=TAGS, symbols=SYMBOLS)


def html(sheets: Sequence[Sheet]) -> str:
    """A whole page with a heading per sheet."""
    return _rendered("page.html", sheets=sheets, legend=_legend(sheets, SYMBOLS))


def html_table(sheet: Sheet) -> str:
    """A sheet's table alone: column headings, a body per group with its heading, a heading per row."""
    return _rendered("table.html", sheet=sheet)


# -- CSV -------------------------------------------------------------------------------------------------


def as_csv(sheet: Sheet) -> str:
    """Headings and rows as they are shown, without marks; the heading of a group is a column where there are any."""
    file = io.StringIO()
    first = 0 if any(group.heading for group in sheet.groups) else 1
    rows = [[group.heading, *(cell.text for cell in row)] for group in sheet.groups for row in group.rows]
    csv.writer(file, lineterminator="\n").writerows(row[first:] for row in (["group", *sheet.headings], *rows))
    return file.getvalue()
