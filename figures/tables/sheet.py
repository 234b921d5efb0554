"""One table model for everything that is shown: a `Sheet`, written for a terminal, as Markdown, LaTeX, HTML or CSV.

    sheet = Sheet("sizes", "Sizes", ["Graph", "Nodes"], [Group("", [[Cell("a tree"), Cell("28")]])])
    print(markdown([sheet]))

A page is a list of sheets. A sheet without headings is a section of text: its title, caption and notes alone.
"""

from __future__ import annotations

import csv
import html as html_text
import io
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.console import Group as Printed
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

TERMINAL, MARKDOWN, LATEX, HTML, CSV = FORMATS = ("terminal", "markdown", "latex", "html", "csv")
SYMBOLS = {"reproduced": "✓", "order holds": "≈", "differs": "≠"}  # of the verdicts on printed numbers
COLOURS = {"reproduced": "green", "order holds": "yellow", "differs": "red"}
ABSENT = "–"


@dataclass(frozen=True)
class Cell:
    """What stands in a cell.

    Args:
        text: the number or the words.
        mark: "best" or "second" among the rows that are compared, "printed" for what the paper prints, "main" for a
            name that stands out.
        verdict: whether a printed number was reproduced; shown as a symbol.
        title: what is said on a closer look, in HTML; of a verdict, its reason.
        interval: the 95 % interval "[0.4, 0.6]", shown in Markdown and on a closer look.
    """

    text: str
    mark: str = ""
    verdict: str = ""
    title: str = ""
    interval: str = ""

    @property
    def closer_look(self) -> str:
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

    @cached_property
    def rows(self) -> list[Row]:
        return [row for group in self.groups for row in group.rows]

    @cached_property
    def words(self) -> list[bool]:
        """Which columns hold words, and begin at the left; the others hold numbers. What names a row is words."""
        columns = [[row[i].text for row in self.rows if row[i].text] for i in range(len(self.headings))]
        few_numbers = [2 * sum(map(is_number, texts)) < len(texts) for texts in columns]
        return [i < self.names or few for i, few in enumerate(few_numbers)]


def is_number(text: str) -> bool:
    """Begins like a number and has no word in it: 0.5, −3 ±1, ×, 3/20, 1.0e-04, [0.1, 0.2]."""
    return text[0] in "0123456789+-−–×[" and not re.search(r"[^\W\d_]{2}", text)


def text(name: str, title: str, caption: str = "", notes: Sequence[str] = ()) -> Sheet:
    """A section without a table."""
    return Sheet(name, title, caption=caption, notes=notes)


def _legend(sheets: Sequence[Sheet], symbol: dict[str, str]) -> str:
    """What the symbols of verdicts mean, if there are any; `symbol` is how they are written."""
    used = {cell.verdict for sheet in sheets for row in sheet.rows for cell in row}
    return ", ".join(f"{sign} {verdict}" for verdict, sign in symbol.items()) + "." if used & {*SYMBOLS} else ""


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
        parts += [Text(sheet.title, style="bold")] if sheet.title else []
        parts += [Text(sheet.caption)] if sheet.caption else []
        if sheet.listed:
            parts += [line for row in sheet.rows for line in _paragraph(sheet, row)]
        elif sheet.groups:
            for i, (columns, gap) in enumerate(_parts(sheet, width)):
                parts += [*([Text("")] if i else []), _table(sheet, columns, gap)]
        parts += [Text(f"• {note}", style="dim") for note in sheet.notes]
        parts.append(Text(""))
    legend = _legend(sheets, SYMBOLS)
    return Printed(*parts, *([Text(legend, style="dim")] if legend else []))


def _paragraph(sheet: Sheet, row: Row) -> Iterator[RenderableType]:
    """The names of a row in bold, then its other cells with their headings, indented."""
    yield Text(", ".join(cell.text for cell in row[: sheet.names] if cell.text), style="bold")
    pairs = zip(sheet.headings[sheet.names :], row[sheet.names :], strict=True)
    yield from (Padding(Text(f"{heading}: {cell.text}"), (0, 0, 0, 2)) for heading, cell in pairs if cell.text)


def _parts(sheet: Sheet, width: int) -> Iterator[tuple[dict[int, int], int]]:
    """The columns of each table that a sheet is split into, with their widths, and the gap between them.

    Names and words are wrapped before a table is split, and columns are moved closer before that.
    """
    whole, least = _widths(sheet)
    every = dict(enumerate(whole if _total(dict(enumerate(whole)), GAP) <= width else least))
    gap = next((gap for gap in (GAP, 1) if _total(every, gap) <= width), GAP)
    names = {i: every[i] for i in range(sheet.names)}
    chosen: dict[int, int] = {}
    for i in range(sheet.names, len(whole)):
        if chosen and _total({**names, **chosen, i: every[i]}, gap) > width:
            yield _widened({**names, **chosen}, whole, width, gap), gap
            chosen = {}
        chosen[i] = every[i]
    yield _widened({**names, **chosen}, whole, width, gap), gap


def _widths(sheet: Sheet) -> tuple[list[int], list[int]]:
    """Of each column: the width at which nothing is wrapped, and the least width. Headings may be wrapped."""
    whole, least = [], []
    for i, words in enumerate(sheet.words):
        texts = [_shown(row[i], judged=_judged(sheet, i)).plain for row in sheet.rows]
        natural = max([cell_len(shown) for shown in texts] + _word_lengths([sheet.headings[i]]))
        narrow = max([min(natural, WORDS_WIDTH), *_word_lengths([*texts, sheet.headings[i]])])
        whole.append(natural)
        least.append(narrow if words else natural)
    return whole, least


def _word_lengths(texts: Sequence[str]) -> list[int]:
    return [cell_len(word) for shown in texts for word in shown.split()] or [1]


def _total(columns: dict[int, int], gap: int) -> int:
    return sum(columns.values()) + gap * (len(columns) - 1)


def _widened(columns: dict[int, int], whole: Sequence[int], width: int, gap: int) -> dict[int, int]:
    """Room that is left goes to the columns that would be wrapped."""
    left = width - _total(columns, gap)
    for i in columns:
        more = max(0, min(left, whole[i] - columns[i]))
        columns[i] += more
        left -= more
    return columns


def _table(sheet: Sheet, columns: dict[int, int], gap: int) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, gap - 1, 0, 0), show_edge=False, pad_edge=False)
    for i, width in columns.items():
        heading, side = Text(sheet.headings[i]), "left" if sheet.words[i] else "right"
        table.add_column(heading, width=width, justify=side, overflow="fold")  # type: ignore[arg-type]
    for group in sheet.groups:
        if group.heading:
            table.add_row(Text(group.heading, style="italic"), *[""] * (len(columns) - 1))
        for row in group.rows:
            shown = (_shown(row[i], judged=_judged(sheet, i)) for i in columns)
            table.add_row(*shown, end_section=row is group.rows[-1])
    return table


def _judged(sheet: Sheet, column: int) -> bool:
    return any(row[column].verdict in SYMBOLS for row in sheet.rows)


def _shown(cell: Cell, *, judged: bool) -> Text:
    """A cell; in a column with verdicts, one without leaves room for the symbol, so that numbers are aligned."""
    shown = Text(cell.text, style=STYLES.get(cell.mark, ""))
    if cell.verdict in SYMBOLS:
        shown.append(f" {SYMBOLS[cell.verdict]}", style=f"not bold not underline {COLOURS[cell.verdict]}")
    elif judged and cell.text:
        shown.append("\u00a0\u00a0", style="not underline")  # rich would strip plain spaces at the end
    return shown


# -- Markdown --------------------------------------------------------------------------------------------

MARKED = {"best": "**{}**", "main": "**{}**", "second": "<u>{}</u>", "printed": "*{}*"}


def markdown(sheets: Sequence[Sheet]) -> str:
    """A page: the first title is its heading."""
    parts = []
    for i, sheet in enumerate(sheets):
        parts += [f"{'##' if i else '#'} {sheet.title}"] if sheet.title else []
        parts += [sheet.caption] if sheet.caption else []
        parts += [_legend(sheets, SYMBOLS)] if i == 0 else []
        if sheet.listed:
            parts += [_markdown_paragraph(sheet, row) for row in sheet.rows]
        elif sheet.groups:
            parts.append(pipes(sheet))
        parts += ["\n".join(f"- {note}" for note in sheet.notes)] if sheet.notes else []
    return "\n\n".join(part for part in parts if part) + "\n"


def pipes(sheet: Sheet) -> str:
    """A sheet's table alone; headings of groups are rows in bold."""
    lines = [[_escaped(heading) for heading in sheet.headings]]
    lines.append([":--" if words else "--:" for words in sheet.words])
    for group in sheet.groups:
        if group.heading:
            lines.append([f"**{_escaped(group.heading)}**", *[""] * (len(sheet.headings) - 1)])
        lines += [[_markdown_cell(cell) for cell in row] for row in group.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cell(cell: Cell) -> str:
    shown = MARKED.get(cell.mark, "{}").format(_escaped(cell.text)) if cell.text else ""
    return " ".join(part for part in (shown, cell.interval, SYMBOLS.get(cell.verdict, "")) if part)


def _markdown_paragraph(sheet: Sheet, row: Row) -> str:
    names = ", ".join(cell.text for cell in row[: sheet.names] if cell.text)
    pairs = zip(sheet.headings[sheet.names :], row[sheet.names :], strict=True)
    lines = (f"- *{heading}:* {cell.text}" for heading, cell in pairs if cell.text)
    return "\n".join([f"**{_escaped(names)}**\n", *lines])


def _escaped(words: str) -> str:
    return words.replace("|", r"\|").replace("*", r"\*")


# -- LaTeX -----------------------------------------------------------------------------------------------

TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "²": "$^2$", "×": r"$\times$", "–": "--", "→": r"$\to$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "±": r"$\pm$",
    "≥": r"$\geq$", "≤": r"$\leq$", "·": r"$\cdot$", "…": r"\dots{}", "“": "``", "”": "''", "’": "'", "−": "$-$",
    **{sign: rf"$\{unicodedata.name(sign).split()[-1].lower()}$" for sign in "αβγδηκμστω"},
    "λ": r"$\lambda$", "Φ": r"$\Phi$",
}  # fmt: skip
LETTERS = {verdict: rf"$^\mathrm{{{verdict[0]}}}$" for verdict in SYMBOLS}
TEX_MARKED = {"best": r"\textbf{%s}", "main": r"\textbf{%s}", "second": r"\underline{%s}", "printed": r"\textit{%s}"}
TEX_WIDE = 40  # signs: columns with longer texts are broken into lines


def tex(words: str) -> str:
    """Text with everything escaped that TeX would take for a command; what it has no sign for loses its accents."""
    return "".join(TEX.get(sign) or (sign if sign.isascii() else _plain(sign)) for sign in words)


def _plain(sign: str) -> str:
    return unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"


def latex(sheets: Sequence[Sheet]) -> str:
    """A `table` environment per sheet; needs the package booktabs and nothing else.

    A table without a caption of its own gets that of the page, the first one.
    """
    about = sheets[0].caption if sheets else ""
    tables = [_latex_table(sheet, sheet.caption or about) for sheet in sheets if sheet.groups]
    return "% Made by figures/tables; needs \\usepackage{booktabs}.\n" + "\n".join(tables)


def _latex_table(sheet: Sheet, about: str) -> str:
    legend = _legend([sheet], LETTERS)
    notes = tex(" ".join(sheet.notes))
    caption = " ".join(part for part in (f"{tex(sheet.title)}.", tex(about), legend, notes) if part)
    lines = [
        r"\begin{table}", r"\centering", r"\scriptsize", r"\setlength{\tabcolsep}{3pt}", rf"\caption{{{caption}}}",
        rf"\label{{tab:{sheet.name}}}", rf"\begin{{tabular}}{{@{{}}{_latex_columns(sheet)}@{{}}}}", r"\toprule",
        " & ".join(map(tex, sheet.headings)) + r" \\",
    ]  # fmt: skip
    for group in sheet.groups:
        lines.append(r"\midrule")
        if group.heading:
            lines.append(rf"\multicolumn{{{len(sheet.headings)}}}{{@{{}}l}}{{\textit{{{tex(group.heading)}}}}} \\")
        lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in group.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_columns(sheet: Sheet) -> str:
    longest = [max((len(row[i].text) for row in sheet.rows), default=0) for i in range(len(sheet.headings))]
    wide = sum(length > TEX_WIDE for length in longest)
    kinds = ["l" if words else "r" for words in sheet.words]
    broken = rf"p{{{0.5 / max(1, wide):.2f}\linewidth}}"
    return "".join(broken if length > TEX_WIDE else kind for length, kind in zip(longest, kinds, strict=True))


def _latex_cell(cell: Cell) -> str:
    shown = TEX_MARKED.get(cell.mark, "%s") % tex(cell.text) if cell.text else ""
    return shown + LETTERS.get(cell.verdict, "")


# -- HTML ------------------------------------------------------------------------------------------------

TAGS = {"best": "strong", "main": "strong", "second": "u", "printed": "em"}
PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2rem; }}
table {{ border-collapse: collapse; margin-bottom: 2rem; font-variant-numeric: tabular-nums; }}
p, caption {{ text-align: left; max-width: 60rem; margin-bottom: .5rem; }}
th, td {{ padding: .15rem .5rem; text-align: right; border-bottom: 1px solid #ddd; }}
th[scope=row], th[scope=rowgroup], .words {{ text-align: left; }}
td:not(.words) {{ white-space: nowrap; }}
th[scope=rowgroup] {{ padding-top: 1rem; }}
tbody:not(:last-child) tr:last-child > * {{ border-bottom: 1px solid #777; }}
</style></head>
<body>
{body}
</body>
</html>
"""


def html(sheets: Sequence[Sheet]) -> str:
    """A whole page with a heading per sheet."""
    parts = []
    for i, sheet in enumerate(sheets):
        level = "h2" if i else "h1"
        parts += [f"<{level}>{html_text.escape(sheet.title)}</{level}>"] if sheet.title else []
        parts += [f"<p>{html_text.escape(sheet.caption)}</p>"] if sheet.caption else []
        parts += [f"<p>{_legend(sheets, SYMBOLS)}</p>"] if i == 0 else []
        parts += [html_table(sheet)] if sheet.groups else []
        parts += [f"<p>{html_text.escape(note)}</p>" for note in sheet.notes]
    title = html_text.escape(sheets[0].title) if sheets else ""
    return PAGE.format(title=title, body="\n".join(parts))


def html_table(sheet: Sheet) -> str:
    """A sheet's table alone: column headings, a body per group with its heading, a heading per row."""
    kinds = [' class="words"' if words else "" for words in sheet.words]
    lines = [f'<table class="plain" id="sheet-{html_text.escape(sheet.name)}">']
    heads = zip(sheet.headings, kinds, strict=True)
    if any(sheet.headings):
        cells = (f'<th scope="col"{kind}>{html_text.escape(heading)}</th>' for heading, kind in heads)
        lines.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    for group in sheet.groups:
        lines.append("<tbody>")
        if group.heading:
            heading = html_text.escape(group.heading)
            lines.append(f'<tr><th scope="rowgroup" colspan="{len(sheet.headings)}">{heading}</th></tr>')
        for row in group.rows:
            cells = (_html_cell(cell, kind) for cell, kind in zip(row[1:], kinds[1:], strict=True))
            lines.append(f'<tr><th scope="row">{_html_text(row[0])}</th>{"".join(cells)}</tr>')
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>"])


def _html_cell(cell: Cell, kind: str) -> str:
    title = f' title="{html_text.escape(cell.closer_look)}"' if cell.closer_look else ""
    return f"<td{kind}{title}>{_html_text(cell)}</td>"


def _html_text(cell: Cell) -> str:
    shown, tag = html_text.escape(cell.text), TAGS.get(cell.mark)
    shown = f"<{tag}>{shown}</{tag}>" if tag and shown else shown
    verdict = f' <abbr title="{cell.verdict}">{SYMBOLS[cell.verdict]}</abbr>' if cell.verdict in SYMBOLS else ""
    return shown + verdict


# -- CSV -------------------------------------------------------------------------------------------------


def as_csv(sheet: Sheet) -> str:
    """Headings and rows as they are shown, without marks; the heading of a group is a column where there are any."""
    file = io.StringIO()
    grouped = any(group.heading for group in sheet.groups)
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["group", *sheet.headings] if grouped else sheet.headings)
    for group in sheet.groups:
        for row in group.rows:
            writer.writerow([*([group.heading] if grouped else []), *(cell.text for cell in row)])
    return file.getvalue()
