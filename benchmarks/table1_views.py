"""Table 1, shown: on the terminal, as Markdown and as LaTeX. Text in, text out; all numbers come from `table1`.

Each data set gets two tables: the paper's seven metrics in the paper's accounting, with the printed row above ours, and
what lies beyond them, with fitting and explaining apart. Best and second best are marked among the rows that
explain anything: controls, the optimum among them, are left out unless asked for; ties share a mark.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from benchmarks.catalogue import RELABELLED, Method
from benchmarks.verdict import DIFFERS, ORDER_HOLDS, REPRODUCED, explanation, paper_table, printed
from rsgg.metrics import METRICS, TABLE1_METRICS, Metric

PAPER_METHODS = {"meg": "MEG", "cf2": "CF²", "clear": "CLEAR", "g-countergan": "G-CounteRGAN", "rsgg-ce": "RSGG-CE"}
DATASET_LABELS = {
    "tree-cycles": "Tree-Cycles",
    "tree-cycles-relabelled": "Tree-Cycles, nodes renamed at random",
    "tree-cycles-32": "Tree-Cycles, 32 nodes",
    "asd": "ASD",
}
BEYOND = tuple(
    METRICS[name]
    for name in (
        "ged_on_success", "optimality_gap", "correctness_class_0", "correctness_class_1",
        "removal_auroc", "explain_calls", "fit_calls", "explain_seconds", "fit_seconds",
    )
)  # fmt: skip
# What the methods that depend on node numbers score when nodes are renamed at random: columns beside the given order.
RENAMED = {"correctness": "correctness_renamed", "ged": "ged_renamed"}
RENAMED_COLUMNS = (
    Metric("correctness_renamed", "Correctness, renamed", True),
    Metric("ged_renamed", "GED, renamed", False),
)
UNMARKED = frozenset({"oracle_accuracy", "removal_auroc", "fit_calls", "fit_seconds"})  # the oracle's, or of few rows
SYMBOLS = {REPRODUCED: "✓", ORDER_HOLDS: "≈", DIFFERS: "≠", "": ""}
COLOURS = {REPRODUCED: "green", ORDER_HOLDS: "yellow", DIFFERS: "red", "": ""}
LETTERS = {REPRODUCED: "r", ORDER_HOLDS: "o", DIFFERS: "d", "": ""}
VARIANTS = {"paper": 0, "released": 1, "faithful": 2}  # of a printed method, in the order shown; others follow
ABSENT = "–"

RULE = (
    "Means of fold means; best in bold, second best underlined, among the rows that are not controls, ties sharing a "
    "mark."
)
ACCOUNTING = (
    "Runtime and Oracle Calls are in the paper's accounting (released calls per check; training shared out over the "
    "test fold where the printed row contains it)."
)
RENAMING = (
    "“Renamed”: the same graphs with their nodes renamed at random, for the methods whose result depends on how nodes "
    "are numbered."
)


@dataclass(frozen=True)
class Entry:
    """A number of the table: as text, with its interval, its verdict and its mark ("", "best", "second")."""

    text: str
    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    verdict: str = ""
    reason: str = ""
    mark: str = ""


@dataclass(frozen=True)
class RowView:
    """A row of the table; `variant` is "paper" for the printed one."""

    dataset: str
    method: str
    variant: str
    label: str
    entries: Mapping[str, Entry] = field(default_factory=dict)

    def entry(self, metric: str) -> Entry:
        return self.entries.get(metric, Entry(ABSENT))


# -- Layout --------------------------------------------------------------------------------------------------------


def layout(
    table: pd.DataFrame,
    expected: Sequence[tuple[str, str, str]],
    methods: Sequence[Method],
    *,
    mark_controls: bool = False,
) -> dict[str, list[RowView]]:
    """The rows of each data set in the order in which they are shown, the ones without numbers included."""
    numbers = dict(iter(table.groupby(["dataset", "method", "variant"], sort=False)))
    views: dict[str, list[RowView]] = {}
    ours = dict.fromkeys([*expected, *numbers])
    paper = [
        (dataset, method, "paper")
        for dataset in sorted({row[0] for row in ours} & set(DATASET_LABELS))
        for method in PAPER_METHODS
        if dataset in paper_table().index or printed(dataset, method, "ged") is not None
    ]
    for dataset, method, variant in sorted([*paper, *ours], key=_shown_order(methods)):
        rows = views.setdefault(dataset, [])
        if variant == "paper":
            rows.append(_paper_row(dataset, method))
            continue
        entries = _entries(numbers.get((dataset, method, variant)))
        if dataset == "tree-cycles":
            renamed = _entries(numbers.get((RELABELLED, method, variant)))
            entries |= {RENAMED[name]: entry for name, entry in renamed.items() if name in RENAMED}
        rows.append(RowView(dataset, method, variant, label_of(method, variant, methods), entries))
    beside = {name for name in views if name == RELABELLED and "tree-cycles" in views}  # it is shown in columns there
    return {dataset: _marked(rows, mark_controls) for dataset, rows in views.items() if dataset not in beside}


def _entries(lines: pd.DataFrame | None) -> dict[str, Entry]:
    return {} if lines is None else {line["metric"]: _entry(line) for line in lines.to_dict("records")}


def beyond(rows: Sequence[RowView]) -> tuple[Metric, ...]:
    """The further columns of a data set: those with renamed nodes where there are any."""
    renamed = any(column.name in row.entries for row in rows for column in RENAMED_COLUMNS)
    return BEYOND + (RENAMED_COLUMNS if renamed else ())


def label_of(method: str, variant: str, methods: Sequence[Method]) -> str:
    """The catalogue's label of a row, else the paper's name of the method, else its own."""
    declared = {(one.name, one.variant): one.label for one in methods}
    return declared.get((method, variant)) or PAPER_METHODS.get(method, method)


def _shown_order(methods: Sequence[Method]) -> Callable[[tuple[str, str, str]], tuple[int, ...]]:
    """The sort key of rows: printed methods first, released before faithful, controls and the optimum last."""
    catalogue = {(method.name, method.variant): i for i, method in enumerate(methods)}
    datasets, printed_order = list(DATASET_LABELS), list(PAPER_METHODS)

    def key(row: tuple[str, str, str]) -> tuple[int, ...]:
        dataset, method, variant = row
        known = datasets.index(dataset) if dataset in datasets else len(datasets)
        place = catalogue.get((method, variant), len(catalogue))
        if method in printed_order:
            return known, printed_order.index(method), VARIANTS.get(variant, len(VARIANTS)), place
        return known, len(printed_order) + (variant == "control") + (method == "optimum"), place

    return key


def _paper_row(dataset: str, method: str) -> RowView:
    cells = {metric.name: printed(dataset, method, metric.name) for metric in TABLE1_METRICS}
    entries = {name: Entry("×" if cell is None else cell.text) for name, cell in cells.items()}
    return RowView(dataset, method, "paper", PAPER_METHODS[method], entries)


def _entry(line: Mapping[str, object]) -> Entry:
    value, low, high = (float(line[name]) for name in ("mean", "ci_low", "ci_high"))  # type: ignore[arg-type]
    text = number(METRICS[str(line["metric"])], value)
    return Entry(text, value, low, high, str(line["verdict"]), str(line["reason"]))


def number(metric: Metric, value: float) -> str:
    """With the metric's decimals; what they would print as zero in scientific notation."""
    if math.isnan(value):
        return ABSENT
    if value and abs(value) < 0.5 * 10.0**-metric.decimals:
        return f"{value:.1e}"
    return f"{value:.{metric.decimals}f}"


def _marked(rows: list[RowView], mark_controls: bool) -> list[RowView]:
    """The same rows with the best and second best of each metric marked; no mark where all agree."""
    marks: dict[tuple[str, float], str] = {}
    comparable = [row for row in rows if row.variant != "paper" and (mark_controls or row.variant != "control")]
    for metric in (*TABLE1_METRICS, *BEYOND):
        shown = {_shown_value(row.entry(metric.name)) for row in comparable} - {None}
        ranked = sorted(shown, reverse=metric.higher_is_better)  # type: ignore[type-var]
        if len(ranked) > 1 and metric.name not in UNMARKED:
            marks |= {(metric.name, ranked[0]): "best", (metric.name, ranked[1]): "second"}  # type: ignore[dict-item]
    return [_with_marks(row, marks) if row in comparable else row for row in rows]


def _shown_value(entry: Entry) -> float | None:
    """Values are compared as they are shown, so that a tie on paper is a tie."""
    return None if math.isnan(entry.value) else float(entry.text)


def _with_marks(row: RowView, marks: Mapping[tuple[str, float], str]) -> RowView:
    entries = {}
    for name, entry in row.entries.items():
        value = _shown_value(entry)
        mark = "" if value is None else marks.get((name, value), "")
        entries[name] = Entry(entry.text, entry.value, entry.low, entry.high, entry.verdict, entry.reason, mark)
    return RowView(row.dataset, row.method, row.variant, row.label, entries)


# -- Terminal ------------------------------------------------------------------------------------------------------


def printed_tables(views: Mapping[str, Sequence[RowView]], gaps: Sequence[str]) -> Group:
    """What the command prints: two tables per data set, the legend, and what is missing."""
    parts: list[RenderableType] = []
    for dataset, rows in views.items():
        name = DATASET_LABELS.get(dataset, dataset)
        parts += [_rich(f"Table 1 on {name}, the paper's metrics and accounting", rows, TABLE1_METRICS)]
        parts += [_rich(f"{name}, beyond the paper: fitting and explaining apart", _ours(rows), beyond(rows))]
    legend = ", ".join(f"{symbol} {verdict}" for verdict, symbol in SYMBOLS.items() if verdict)
    parts.append(Text(f"{legend} (reasons: table1.csv, table1.md). {RULE} {ACCOUNTING} {RENAMING}", style="dim"))
    if gaps:
        parts.append(Text("\nMissing:\n" + "\n".join(f"  {gap}" for gap in gaps), style="yellow"))
    return Group(*parts)


def _ours(rows: Sequence[RowView]) -> list[RowView]:
    return [row for row in rows if row.variant != "paper"]


def _rich(title: str, rows: Sequence[RowView], metrics: Sequence[Metric]) -> Table:
    table = _empty_table(title, _labels(metrics))
    for i, row in enumerate(rows):
        last = i + 1 == len(rows) or _new_block(row, rows[i + 1])
        style = "dim" if row.variant == "paper" else ""
        cells = [_rich_cell(row.entry(metric.name)) for metric in metrics]
        table.add_row(row.label, row.variant, *cells, style=style, end_section=last)
    return table


def _labels(metrics: Sequence[Metric]) -> list[str]:
    return [metric.label for metric in metrics]


def _empty_table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("Method")
    table.add_column("Variant")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _new_block(row: RowView, following: RowView) -> bool:
    """Is there a line between these rows? Around each printed method, and before the controls."""
    apart = row.method != following.method and bool({row.method, following.method} & set(PAPER_METHODS))
    return apart or (row.variant == "control") != (following.variant == "control")


def _rich_cell(entry: Entry) -> Text:
    style = {"best": "bold", "second": "underline"}.get(entry.mark, "")
    text = Text(entry.text, style=style)
    if entry.verdict:
        text.append(f" {SYMBOLS[entry.verdict]}", style=f"not bold not underline {COLOURS[entry.verdict]}")
    return text


def live(means: pd.DataFrame, folds: pd.Series, methods: Sequence[Method]) -> Group:
    """The growing table: our means so far, the printed value in brackets."""
    tables: dict[str, Table] = {}
    for dataset, method, variant in sorted(means.index, key=_shown_order(methods)):
        if dataset not in tables:
            tables[dataset] = _empty_table(DATASET_LABELS.get(dataset, dataset), ["Folds", *_labels(TABLE1_METRICS)])
        row = (dataset, method, variant)
        cells = []
        for metric in TABLE1_METRICS:
            paper = printed(dataset, method, metric.name)
            ours = number(metric, float(means.loc[row, metric.name]))
            cells.append(Text(ours) if paper is None else Text.assemble(ours, (f" [{paper.text}]", "dim")))
        tables[dataset].add_row(label_of(method, variant, methods), variant, str(folds.loc[row]), *cells)
    return Group(*tables.values())


# -- Markdown ------------------------------------------------------------------------------------------------------


def markdown(views: Mapping[str, Sequence[RowView]], gaps: Sequence[str]) -> str:
    """The tables with intervals, every verdict with its reason, and what is missing."""
    legend = ", ".join(f"{symbol} {verdict}" for verdict, symbol in SYMBOLS.items() if verdict)
    parts = ["# Table 1", f"{RULE} In brackets: 95 % bootstrap intervals. {ACCOUNTING} {RENAMING} {legend}."]
    for dataset, rows in views.items():
        name = DATASET_LABELS.get(dataset, dataset)
        parts += [f"## {name}", _markdown_table(rows, TABLE1_METRICS)]
        parts += [f"### {name}: beyond the paper", _markdown_table(_ours(rows), beyond(rows))]
        parts += [f"### {name}: verdicts", _markdown_verdicts(rows)]
    if gaps:
        parts += ["## Missing", "\n".join(f"- {gap}" for gap in gaps)]
    return "\n\n".join(parts) + "\n"


def _markdown_table(rows: Sequence[RowView], metrics: Sequence[Metric]) -> str:
    lines = [
        "| " + " | ".join(["Method", "Variant", *(_md(metric.label) for metric in metrics)]) + " |",
        "|" + "|".join([":--", ":--", *["--:"] * len(metrics)]) + "|",
    ]
    for row in rows:
        cells = [_markdown_cell(row.entry(metric.name), metric) for metric in metrics]
        lines.append("| " + " | ".join([_md(row.label), row.variant, *cells]) + " |")
    return "\n".join(lines)


def _markdown_cell(entry: Entry, metric: Metric) -> str:
    text = {"best": f"**{entry.text}**", "second": f"<u>{entry.text}</u>"}.get(entry.mark, entry.text)
    if not math.isnan(entry.low):
        text += f" [{number(metric, entry.low)}, {number(metric, entry.high)}]"
    return text + (f" {SYMBOLS[entry.verdict]}" if entry.verdict else "")


def _markdown_verdicts(rows: Sequence[RowView]) -> str:
    lines = ["| Method | Variant | Metric | Verdict | Reason |", "|:--|:--|:--|:--|:--|"]
    for row in rows:
        for metric in TABLE1_METRICS:
            entry = row.entry(metric.name)
            if entry.verdict:
                why = explanation(row.dataset, row.method, metric.name) if row.variant == "released" else ""
                reason = f"{entry.reason}. {why[0].upper()}{why[1:]}." if why else entry.reason
                cells = (_md(row.label), row.variant, metric.label, entry.verdict, _md(reason))
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) if len(lines) > 2 else "Nothing to compare yet."


def markdown_verdicts(verdicts: pd.DataFrame) -> str:
    """A line for each printed number: ours, our prediction interval, the verdict, and why it is what it is."""
    legend = ", ".join(f"{symbol} {verdict}" for verdict, symbol in SYMBOLS.items() if verdict)
    head = "| Data | Method | Metric | Printed | Ours | 95 % prediction | | Why |"
    lines = [head, "|:--|:--|:--|--:|--:|--:|:-:|:--|"]
    for line in verdicts.itertuples():
        metric = METRICS[str(line.metric)]
        ours, low, high = (number(metric, float(x)) for x in (line.mean, line.pi_low, line.pi_high))
        name = PAPER_METHODS[str(line.method)] + (" (32 nodes)" if line.measured_on == "tree-cycles-32" else "")
        symbol = SYMBOLS[str(line.verdict)]
        cells = (DATASET_LABELS[str(line.dataset)], name, metric.label, line.printed, ours, f"{low} – {high}", symbol)
        lines.append(f"| {' | '.join(map(str, cells))} | {_md(str(line.explanation))} |")
    return f"# The {len(verdicts)} printed numbers\n\nReleased variants; {legend}.\n\n" + "\n".join(lines) + "\n"


def _md(text: str) -> str:
    return text.replace("|", r"\|").replace("*", r"\*")


# -- LaTeX ---------------------------------------------------------------------------------------------------------

_TEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "²": r"$^2$", "×": r"$\times$", "–": "--", "λ": r"$\lambda$", "κ": r"$\kappa$", "Φ": r"$\Phi$", "→": r"$\to$",
    "≥": r"$\geq$", "≤": r"$\leq$", "·": r"$\cdot$", "…": r"\dots{}", "“": "``", "”": "''", "’": "'",
}  # fmt: skip
_ARROWS = {True: r"\uparrow", False: r"\downarrow"}


def tex(text: str) -> str:
    """Text with everything escaped that TeX would take for a command; what it has no sign for loses its accents."""
    return "".join(_TEX.get(sign) or (sign if sign.isascii() else _plain(sign)) for sign in text)


def _plain(sign: str) -> str:
    return unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"


def latex(views: Mapping[str, Sequence[RowView]], gaps: Sequence[str]) -> str:
    """One `table` environment per data set; needs the package booktabs and nothing else."""
    head = "% Made by benchmarks/table1.py; needs \\usepackage{booktabs}.\n"
    return head + "\n".join(_latex_table(dataset, rows, gaps) for dataset, rows in views.items())


def _latex_table(dataset: str, rows: Sequence[RowView], gaps: Sequence[str]) -> str:
    letters = ", ".join(f"$^\\mathrm{{{letter}}}$ {verdict}" for verdict, letter in LETTERS.items() if verdict)
    mine = [gap.removeprefix(f"{dataset}, ") for gap in gaps if gap.startswith(f"{dataset}, ")]
    absent = f" Missing: {tex('; '.join(mine))}." if mine else ""
    name = tex(DATASET_LABELS.get(dataset, dataset))
    headings = [f"{tex(metric.label)} ${_ARROWS[metric.higher_is_better]}$" for metric in TABLE1_METRICS]
    caption = (
        f"Table 1 on {name}: as printed (paper) and computed again. {tex(RULE)} {tex(ACCOUNTING)} {letters}.{absent}"
    )
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\scriptsize",
        r"\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:table1-{dataset}}}",
        rf"\begin{{tabular}}{{@{{}}ll{'r' * len(TABLE1_METRICS)}@{{}}}}",
        r"\toprule",
        " & ".join(["Method", "Variant", *headings]) + r" \\",
    ]
    for i, row in enumerate(rows):
        if i == 0 or _new_block(rows[i - 1], row):
            lines.append(r"\midrule")
        cells = [_latex_cell(row.entry(metric.name)) for metric in TABLE1_METRICS]
        lines.append(" & ".join([tex(row.label), tex(row.variant), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _latex_cell(entry: Entry) -> str:
    text = tex(entry.text)
    text = {"best": rf"\textbf{{{text}}}", "second": rf"\underline{{{text}}}"}.get(entry.mark, text)
    return text + (f"$^\\mathrm{{{LETTERS[entry.verdict]}}}$" if entry.verdict else "")
