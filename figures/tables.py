"""The paper's tables, from stored results: Table 1, the data sets, and the hyper-parameters of every method.

    python figures/tables.py [--results results/reference]

A function per table returns its texts by format ("html", "md", "tex", for Table 1 also "csv"); `write` puts them into
the folder `tables`. HTML is one plain table per text, with headings that screen readers can follow; intervals and
reasons are in the `title` of a cell. What is not stored is said in the table.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from benchmarks import table1_views as views
from benchmarks.catalogue import CATALOGUE
from benchmarks.store import write_text
from benchmarks.table1_views import DATASET_LABELS, SYMBOLS, Entry, RowView
from figures import style
from figures.results import LOCAL, PAPER, Results, shown
from rsgg.metrics import METRICS, TABLE1_METRICS, Metric


@dataclass(frozen=True)
class Cell:
    """What stands in a cell: text, its mark ("best", "second"), its verdict, and what is said on a closer look."""

    text: str
    mark: str = ""
    verdict: str = ""
    title: str = ""


@dataclass(frozen=True)
class Group:
    """Rows under a heading; the first cell of a row names it."""

    heading: str
    rows: Sequence[Sequence[Cell]]


@dataclass(frozen=True)
class Sheet:
    """A table as data: rendered by `as_html`, `as_markdown` and `as_latex`. The column `wide` may be broken in TeX."""

    name: str
    caption: str
    headings: Sequence[str]
    groups: Sequence[Group]
    wide: int | None = None


Texts = dict[str, str]  # by format


# -- Table 1 -------------------------------------------------------------------------------------------------------

BESIDE = tuple(
    METRICS[name] for name in ("ged_on_success", "correctness_class_0", "correctness_class_1", "explain_calls")
)
PRINTED, FAITHFUL = "printed", "as defined"
VARIANT_NAMES = {"paper": PRINTED, "faithful": FAITHFUL, "released": "as released", "beyond": "λ > 0"}


def table1(results: Results) -> Texts:
    """Table 1 with the printed rows, released and faithful methods, search and controls, and every verdict."""
    table = _stored(results, "table1")
    if table is None:
        return _texts(_nothing("table1", "Table 1", "table1"))
    numbers = {name: pd.to_numeric(table[name], errors="coerce") for name in ("mean", "ci_low", "ci_high")}
    rows, gaps = _expected(table)
    layout, path = views.layout(table.assign(**numbers), rows, CATALOGUE), _path(results, "table1")
    made = {"md": views.markdown(layout, gaps), "tex": views.latex(layout, gaps), "csv": ""}
    for kind in made:  # what the experiment wrote has all digits of its numbers, the CSV six
        beside = path.with_suffix(f".{kind}")
        made[kind] = beside.read_text(encoding="utf-8") if beside.is_file() else made[kind]
    return {"html": as_html(_table1_sheet(layout, gaps, shown(path))), **made}


def _expected(table: pd.DataFrame) -> tuple[list[tuple[str, str, str]], list[str]]:
    """The rows of Table 1, and a sentence for each that is not stored."""
    from benchmarks import table1 as experiment  # late: it knows every method, and so loads them
    from benchmarks.options import RunOptions

    stored = set(zip(table["dataset"], table["method"], table["variant"], strict=True))
    rows: dict[tuple[str, str, str], str] = {}
    for cell in experiment.cells(RunOptions(seeds=["0"])):
        row = (cell.dataset.name, cell.method.name, cell.method.variant)
        rows.setdefault(row, cell.method.unsupported(cell.dataset.name) or "not computed")
    gaps = [f"{d}, {m} ({v}): {reason}" for (d, m, v), reason in rows.items() if (d, m, v) not in stored]
    return list(rows), gaps


def _table1_sheet(layout: Mapping[str, Sequence[RowView]], gaps: Sequence[str], source: str) -> Sheet:
    metrics = (*TABLE1_METRICS, *BESIDE)
    groups = [
        Group(DATASET_LABELS.get(dataset, dataset), [_table1_row(row, metrics) for row in rows])
        for dataset, rows in layout.items()
    ]
    legend = ", ".join(f"{symbol} {verdict}" for verdict, symbol in SYMBOLS.items() if verdict)
    missing = f" Missing: {'; '.join(gaps)}." if gaps else ""
    caption = (
        f"Table 1: what the paper prints beside what the released code and the methods as defined give. {views.RULE} "
        f"{views.ACCOUNTING} Verdicts on printed numbers: {legend}. From {source}.{missing}"
    )
    arrows = {True: "↑", False: "↓"}
    headings = ["Method", "Variant", *(f"{metric.label} {arrows[metric.higher_is_better]}" for metric in metrics)]
    return Sheet("table1", caption, headings, groups)


def _table1_row(row: RowView, metrics: Sequence[Metric]) -> list[Cell]:
    cells = [_table1_cell(row.entry(metric.name), metric) for metric in metrics]
    return [Cell(row.label), Cell(VARIANT_NAMES.get(row.variant, row.variant)), *cells]


def _table1_cell(entry: Entry, metric: Metric) -> Cell:
    low, high = (_six_digits(views.number(metric, end)) for end in (entry.low, entry.high))
    title = "" if math.isnan(entry.low) else f"95 % interval {low} to {high}"
    if entry.verdict:
        title += f"{'. ' if title else ''}{entry.verdict.capitalize()}: {entry.reason}"
    text = entry.text if math.isnan(entry.value) else _six_digits(entry.text)
    return Cell(text, entry.mark, entry.verdict, title)


def _six_digits(number: str) -> str:
    """No more digits than are stored: 1092.180 is 1092.18."""
    whole, _, decimals = number.partition(".")
    kept = decimals if "e" in number else decimals[: max(0, 6 - len(whole.lstrip("-")))]
    return f"{whole}.{kept}" if kept else whole


# -- Data sets -----------------------------------------------------------------------------------------------------

DATASETS = {"tree-cycles": "Tree-Cycles", "asd": "ASD"}


def datasets(results: Results) -> Texts:
    """The appendix's statistical description of the data sets, measured beside printed."""
    table = _stored(results, "datasets")
    source = "From the paper only: ./reproduce.sh datasets measures the rest."
    if table is None:
        from benchmarks.datasets import printed

        table = printed().assign(measured="not measured yet", verdict="", note="").fillna("")
    else:
        source = f"From {shown(_path(results, 'datasets'))}."
    cells = {(line.dataset, line.quantity): line for line in table.itertuples()}
    rows = []
    for quantity in dict.fromkeys(table["quantity"]):
        row = [Cell(quantity)]
        for dataset in DATASETS:
            line = cells.get((dataset, quantity))
            row += [Cell(""), Cell("")] if line is None else [
                Cell(str(line.paper), title=str(line.place)),
                Cell(str(line.measured), verdict=str(line.verdict), title=str(line.note)),
            ]  # fmt: skip
        rows.append(row)
    headings = ["Quantity", *(f"{title}, {what}" for title in DATASETS.values() for what in ("printed", "measured"))]
    legend = ", ".join(f"{SYMBOLS[verdict]} {verdict}" for verdict in ("reproduced", "differs"))
    caption = f"Statistical description of the data sets, as printed and as measured; {legend}. {source}"
    return _texts([Sheet("datasets", caption, headings, [Group("", rows)])])


# -- Hyper-parameters ----------------------------------------------------------------------------------------------

NOT_SEARCHED = "not searched yet"
HYPER_COLUMNS = {
    "symbol": "Hyper-parameter", "search_space": "Search space", "paper": "Paper's best", "nested": "Ours, nested",
    "paper_protocol": "Ours, paper's protocol", "importance": "Importance", "note": "Note",
}  # fmt: skip


def hyperparameters(results: Results) -> Texts:
    """A table per method: search space, the paper's best value and ours; where no search is stored, the paper's."""
    ours, paper = _stored(results, "hyperparameters"), _text(PAPER / "hyperparameters.csv")
    methods = list(style.METHODS) + ([] if ours is None else sorted(set(ours["method"]) - set(style.METHODS)))
    sheets = []
    for method in methods:
        own = None if ours is None else ours[ours["method"] == method]
        searched = own is not None and len(own) > 0
        groups = _searched(own) if own is not None and searched else _as_printed(paper[paper["method"] == method])
        source = f"From {shown(_path(results, 'hyperparameters'))}." if searched else (
            f"As printed; ./reproduce.sh hpo --method {method} searches."
        )  # fmt: skip
        label = style.METHODS[method].label if method in style.METHODS else method
        caption = f"Hyper-parameters of {label}: search space, the paper's best value and ours. {source}"
        sheets.append(Sheet(f"hyperparameters-{method}", caption, list(HYPER_COLUMNS.values()), groups, wide=6))
    return _texts(sheets)


def _searched(own: pd.DataFrame) -> list[Group]:
    words = {"faithful": "as its paper defines it", "released": "as the published comparison ran it"}
    groups = []
    for (variant, dataset, space), rows in own.groupby(["variant", "dataset", "space"], sort=False):
        beyond = ", beyond the paper's space" if space == "beyond" else ""
        heading = f"{words.get(variant, variant)}, on {DATASET_LABELS.get(dataset, dataset)}{beyond}"
        lines = [[Cell(str(line[name])) for name in HYPER_COLUMNS] for line in rows.to_dict("records")]
        groups.append(Group(heading[0].upper() + heading[1:], lines))
    return groups


def _as_printed(paper: pd.DataFrame) -> list[Group]:
    if paper.empty:
        empty = [
            Cell("–"),
            Cell("the paper prints none"),
            Cell("–"),
            Cell(NOT_SEARCHED),
            Cell(NOT_SEARCHED),
            *[Cell("")] * 2,
        ]
        return [Group("", [empty])]
    lines = [
        [Cell(text) for text in (line.hyperparameter, line.search_space, line.best, *[NOT_SEARCHED] * 2, "", line.note)]
        for line in paper.itertuples()
    ]
    return [Group("", lines)]


# -- Formats -------------------------------------------------------------------------------------------------------


def _texts(sheets: Sequence[Sheet]) -> Texts:
    return {
        "html": "\n".join(map(as_html, sheets)),
        "md": "\n".join(map(as_markdown, sheets)),
        "tex": "% Made by figures/tables.py; needs \\usepackage{booktabs}.\n" + "\n".join(map(as_latex, sheets)),
    }


def as_html(sheet: Sheet) -> str:
    """One table: caption, column headings, a body per group with its heading, a heading per row."""
    lines = [
        f'<table class="results" id="{html.escape(sheet.name)}">',
        f"<caption>{html.escape(sheet.caption)}</caption>",
    ]
    kinds = _kinds(sheet)
    heads = (f'<th scope="col"{kind}>{html.escape(h)}</th>' for h, kind in zip(sheet.headings, kinds, strict=True))
    lines.append(f"<thead><tr>{''.join(heads)}</tr></thead>")
    for group in sheet.groups:
        lines.append("<tbody>")
        if group.heading:
            span = len(sheet.headings)
            lines.append(f'<tr><th scope="rowgroup" colspan="{span}">{html.escape(group.heading)}</th></tr>')
        lines += [_html_row(row, kinds) for row in group.rows]
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>"])


def _kinds(sheet: Sheet) -> list[str]:
    """The class of each column: words, which begin at the left, or numbers."""
    rows = [row for group in sheet.groups for row in group.rows]
    columns = [[row[i].text for row in rows if row[i].text] for i in range(len(sheet.headings))]
    return [' class="words"' if 2 * sum(map(_is_number, texts)) < len(texts) else "" for texts in columns]


def _is_number(text: str) -> bool:
    return text[0] in "0123456789+-−–×" and not re.search(r"[^\W\d_]{2}", text)


def _html_row(row: Sequence[Cell], kinds: Sequence[str]) -> str:
    printed = len(row) > 1 and row[1].text == PRINTED
    cells = [f'<th scope="row">{html.escape(row[0].text)}</th>', *map(_html_cell, row[1:], kinds[1:])]
    start = '<tr class="printed">' if printed else "<tr>"
    return f"{start}{''.join(cells)}</tr>"


def _html_cell(cell: Cell, kind: str) -> str:
    tag = {"best": "strong", "second": "u"}.get(cell.mark)
    text = html.escape(cell.text)
    text = f"<{tag}>{text}</{tag}>" if tag else text
    if cell.verdict:
        text += f' <abbr title="{html.escape(cell.verdict)}">{SYMBOLS[cell.verdict]}</abbr>'
    title = f' title="{html.escape(cell.title)}"' if cell.title else ""
    return f"<td{kind}{title}>{text}</td>"


def as_markdown(sheet: Sheet) -> str:
    """A pipe table under its caption; headings of groups are rows in bold."""
    lines = [sheet.headings, [":--", *["--:"] * (len(sheet.headings) - 1)]]
    for group in sheet.groups:
        lines += [[f"**{group.heading}**", *[""] * (len(sheet.headings) - 1)]] if group.heading else []
        lines += [[_marked(cell, "**{}**", "<u>{}</u>") for cell in row] for row in group.rows]
    pipes = "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)
    return f"{sheet.caption}\n\n{pipes}"


def _marked(cell: Cell, best: str, second: str) -> str:
    text = {"best": best, "second": second}.get(cell.mark, "{}").format(cell.text)
    return text + (f" {SYMBOLS[cell.verdict]}" if cell.verdict else "")


GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "η": "eta", "μ": "mu", "σ": "sigma", "τ": "tau",
    "ω": "omega",
}  # fmt: skip


def tex(text: str) -> str:
    """As `table1_views.tex`, with the letters that hyper-parameters are called by."""
    return "".join(f"$\\{GREEK[sign]}$" if sign in GREEK else views.tex(sign) for sign in text)


def as_latex(sheet: Sheet) -> str:
    """A `table` environment that needs the package booktabs and nothing else."""
    columns = ["l"] * len(sheet.headings)
    if sheet.wide is not None:
        columns[sheet.wide] = r"p{0.25\linewidth}"
    lines = [
        r"\begin{table}", r"\centering", r"\scriptsize", r"\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{tex(sheet.caption)}}}", rf"\label{{tab:{sheet.name}}}",
        rf"\begin{{tabular}}{{@{{}}{''.join(columns)}@{{}}}}", r"\toprule",
        " & ".join(map(tex, sheet.headings)) + r" \\", r"\midrule",
    ]  # fmt: skip
    for i, group in enumerate(sheet.groups):
        lines += [r"\midrule"] if i else []
        lines += (
            [rf"\multicolumn{{{len(columns)}}}{{@{{}}l}}{{\textit{{{tex(group.heading)}}}}} \\"]
            if group.heading
            else []
        )
        lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in group.rows]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_cell(cell: Cell) -> str:
    text = {"best": r"\textbf{%s}", "second": r"\underline{%s}"}.get(cell.mark, "%s") % tex(cell.text)
    return text + (rf"$^\mathrm{{{views.LETTERS[cell.verdict]}}}$" if cell.verdict else "")


# -- Files ---------------------------------------------------------------------------------------------------------

TABLES: dict[str, Callable[[Results], Texts]] = {
    "table1": table1, "datasets": datasets, "hyperparameters": hyperparameters
}  # fmt: skip
PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font: 15px/1.4 sans-serif; margin: 2rem; }}
table {{ border-collapse: collapse; margin-bottom: 2rem; font-variant-numeric: tabular-nums; }}
caption {{ text-align: left; max-width: 60rem; margin-bottom: .5rem; }}
th, td {{ padding: .15rem .5rem; text-align: right; border-bottom: 1px solid #ddd; }}
th[scope=row], th[scope=rowgroup], .words {{ text-align: left; }}
td:nth-child(2), td:not(.words) {{ white-space: nowrap; }}
th[scope=rowgroup] {{ padding-top: 1rem; border-bottom: 2px solid #777; }}
tr.printed {{ color: #555; font-style: italic; }}
</style></head>
<body>
{body}
</body>
</html>
"""


def write(results: Results, out: Path) -> Iterator[Path]:
    """Every table in every format, into `out`/tables."""
    for name, table in TABLES.items():
        for kind, text in table(results).items():
            path = out / "tables" / f"{name}.{kind}"
            write_text(path, PAGE.format(title=name, body=text) if kind == "html" else text)
            yield path


def _stored(results: Results, name: str) -> pd.DataFrame | None:
    """A stored table as text, so that 11.000 stays 11.000; None where there is none or it is empty."""
    try:
        if results.table(name) is None:
            return None
    except pd.errors.EmptyDataError:
        return None
    return _text(_path(results, name))


def _text(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _path(results: Results, name: str) -> Path:
    path = results.path(name)
    assert path is not None, f"{name}.csv was there a moment ago"
    return path


def _nothing(name: str, title: str, command: str) -> list[Sheet]:
    return [
        Sheet(name, f"{title} is missing: {name}.csv is not stored; ./reproduce.sh {command} computes it.", [title], [])
    ]


def main(
    results: Annotated[
        Path | None, typer.Option(help="Folder of results; else local ones, else the reference.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Folder that gets the folder tables.")] = None,
) -> None:
    """Write the tables of the paper as HTML, Markdown and LaTeX."""
    for path in write(Results.of(results), out or results or LOCAL):
        typer.echo(shown(path))


if __name__ == "__main__":
    typer.run(main)
