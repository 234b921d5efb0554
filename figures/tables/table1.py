"""Table 1: the printed rows beside ours, and what lies beyond the paper's metrics.

The layout per data set: the paper's five methods in its order, each as printed, as released and as its paper defines
it; then search and users' own methods; then controls. Best and second best are marked among the rows that are not
controls; ties share a mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, product

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import FURTHER, METRICS, TABLE1, Metric
from benchmarks.results.paper import measured_on, paper_table, printed
from benchmarks.results.reader import Results
from figures.tables.numbers import missing, number, sentence, stored
from figures.tables.sheet import ABSENT, CSV, HTML, MARKDOWN, TERMINAL, Cell, Group, Sheet, text

PAPER = "paper"  # the variant of printed rows
SHOWN_FIRST = (PAPER, "released", "faithful")  # variants of a printed method, in the order shown
BEYOND = tuple(metric for metric in FURTHER if not metric.name.endswith("_training"))
IN_SHORT = tuple(METRICS[name] for name in ("correctness", "ged", "explain_calls", "fit_calls", "runtime"))
RENAMED = {name: f"{name}_renamed" for name in ("correctness", "ged")}  # of the same graphs with nodes renamed
UNMARKED = frozenset({"oracle_accuracy", "removal_auroc", "fit_calls", "fit_seconds"})  # the oracle's, or of few rows

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

Key = tuple[str, str, str]  # data set, method, variant


@dataclass(frozen=True)
class RowView:
    """A row of the table with its cells by metric; `variant` is "paper" for the printed one."""

    dataset: str
    method: str
    variant: str
    label: str
    cells: Mapping[str, Cell] = field(default_factory=dict)

    def cell(self, metric: str) -> Cell:
        return self.cells.get(metric, Cell(ABSENT))


# -- Layout ----------------------------------------------------------------------------------------------


def layout(results: Results) -> dict[str, list[RowView]]:
    """The rows of each data set in the order in which they are shown, those that are missing included."""
    lines: dict[Key, list[dict[str, str]]] = {}
    for line in stored(results, "table1").to_dict("records"):
        lines.setdefault((line["dataset"], line["method"], line["variant"]), []).append(line)
    asked = dict.fromkeys([*lines, *_missing_rows(missing(results, "table1"))])
    rows: dict[str, list[RowView]] = {}
    for key in sorted([*asked, *_printed_rows({dataset for dataset, _, _ in asked})], key=_place):
        rows.setdefault(key[0], []).append(_row(key, lines))
    beside = {name for name in rows if tasks.task(name).renames in rows}  # shown in columns there
    return {dataset: _marked(found) for dataset, found in rows.items() if dataset not in beside}


def _missing_rows(gaps: Sequence[str]) -> Iterator[Key]:
    for task in tasks.tasks().values():
        for (method, variant), row in methods.rows().items():
            if any(gap.startswith(f"{task.label}, {row.label}: ") for gap in gaps):
                yield task.name, method, variant


def _printed_rows(datasets: set[str]) -> Iterator[Key]:
    for dataset in sorted(datasets):
        for method in methods.PAPER:
            if dataset in paper_table().index or printed(dataset, method, "ged") is not None:
                yield dataset, method, PAPER


def _place(key: Key) -> tuple[int, ...]:
    """Where a row is shown: printed methods first, as printed, released, faithful; controls last."""
    dataset, method, variant = key
    known, rows = list(tasks.tasks()), list(methods.rows())
    task = known.index(dataset) if dataset in known else len(known)
    place = rows.index((method, variant)) if (method, variant) in rows else len(rows)
    if method in methods.PAPER:
        first = SHOWN_FIRST.index(variant) if variant in SHOWN_FIRST else len(SHOWN_FIRST)
        return task, methods.PAPER.index(method), first, place
    return task, len(methods.PAPER) + (variant == "control"), place


def _row(key: Key, lines: Mapping[Key, list[dict[str, str]]]) -> RowView:
    dataset, method, variant = key
    if variant == PAPER:
        found = {metric.name: printed(dataset, method, metric.name) for metric in TABLE1}
        texts = {name: Cell("×" if cell is None else cell.text, "printed") for name, cell in found.items()}
        return RowView(*key, f"{methods.label(method)}, printed", texts)
    cells = _cells(lines.get(key, []))
    for other in (task.name for task in tasks.tasks().values() if task.renames == dataset):
        renamed = _cells(lines.get((other, method, variant), []))
        cells |= {RENAMED[name]: cell for name, cell in renamed.items() if name in RENAMED}
    return RowView(*key, methods.label(method, variant), cells)


def _cells(lines: Sequence[Mapping[str, str]]) -> dict[str, Cell]:
    return {line["metric"]: _cell(METRICS[line["metric"]], line) for line in lines if line["metric"] in METRICS}


def _cell(metric: Metric, line: Mapping[str, str]) -> Cell:
    low, high = (number(line.get(name, ""), metric.decimals) for name in ("ci_low", "ci_high"))
    interval = "" if low == ABSENT else f"[{low}, {high}]"
    mean, verdict = number(line["mean"], metric.decimals), line.get("verdict", "")
    return Cell(mean, "", verdict, line.get("reason", "") if verdict else "", interval)


def _marked(rows: Sequence[RowView]) -> list[RowView]:
    """The same rows with the best and second best of each metric marked; no mark where all agree.

    Values are compared as they are shown, so that a tie on paper is a tie.
    """
    compared = [row for row in rows if row.variant not in (PAPER, "control")]
    marks: dict[tuple[str, float], str] = {}
    for metric in (*TABLE1, *BEYOND):
        shown = {float(row.cell(metric.name).text) for row in compared if row.cell(metric.name).text != ABSENT}
        ranked = sorted(shown, reverse=metric.higher_is_better)
        if len(ranked) > 1 and metric.name not in UNMARKED:
            marks |= {(metric.name, ranked[0]): "best", (metric.name, ranked[1]): "second"}
    return [replace(row, cells=_with_marks(row, marks)) if row in compared else row for row in rows]


def _with_marks(row: RowView, marks: Mapping[tuple[str, float], str]) -> dict[str, Cell]:
    return {
        name: cell if cell.text == ABSENT else replace(cell, mark=marks.get((name, float(cell.text)), ""))
        for name, cell in row.cells.items()
    }


def further(rows: Sequence[RowView]) -> list[tuple[str, str]]:
    """The columns beyond the paper's, name and heading: those with renamed nodes where there are any."""
    renamed = [(name, f"{METRICS[of].label}, renamed {METRICS[of].arrow}") for of, name in RENAMED.items()]
    return [*_columns(BEYOND), *(one for one in renamed if any(one[0] in row.cells for row in rows))]


def _columns(metrics: Sequence[Metric]) -> list[tuple[str, str]]:
    return [(metric.name, f"{metric.label} {metric.arrow}") for metric in metrics]


def with_printed_data(rows: Mapping[str, list[RowView]]) -> dict[str, list[RowView]]:
    """Rows that were measured on the data behind a printed row stand below that row, not in a table of their own."""
    shown = {dataset: list(found) for dataset, found in rows.items()}
    for dataset, method in product(rows, methods.PAPER):
        other = measured_on(dataset, method)
        if other != dataset and other in shown:
            for row in shown.pop(other):
                if row.variant != PAPER:
                    _insert(shown[dataset], row)
    return shown


def _insert(rows: list[RowView], row: RowView) -> None:
    """Below the same row on the other data, else below the last row of the same method, else at the end."""
    same = [i for i, one in enumerate(rows) if one.method == row.method] or [len(rows) - 1]
    place = next((i for i in same if rows[i].variant == row.variant), same[-1])
    label = f"{row.label}, {_short_name(row.dataset, rows[0].dataset)}"
    rows.insert(place + 1, replace(row, label=label))


def _short_name(dataset: str, beside: str) -> str:
    """ "Tree-Cycles, 32 nodes" beside Tree-Cycles is "32 nodes"."""
    return tasks.label(dataset).removeprefix(f"{tasks.label(beside)}, ")


# -- Sheets ----------------------------------------------------------------------------------------------


def table1(results: Results, *, everything: bool) -> list[Sheet]:
    """In short, the paper's methods on a screen; or every row and metric, with every verdict's reason."""
    rows = layout(results)
    return _in_full(rows, results) if everything else _in_short(rows)


def _in_short(rows: Mapping[str, list[RowView]]) -> list[Sheet]:
    sheets, left_out = [], 0
    for dataset, every in with_printed_data(rows).items():
        kept = [row for row in every if _is_first(row)]
        left_out += len(every) - len(kept)
        columns = [(metric.name, metric.label) for metric in IN_SHORT]
        name, title = f"table1-{dataset}", f"Table 1 on {tasks.task(dataset).title}"
        sheets.append(_sheet(name, title, [_calls_in_short(row) for row in kept], columns, variant=False))
    if sheets:
        more = f"{left_out} more rows, {len(METRICS) - len(IN_SHORT)} more metrics and the reasons: show table1 --all."
        notes = ["Calls of printed rows are the paper's Oracle Calls; runtimes are in its accounting.", more]
        sheets[-1] = replace(sheets[-1], notes=notes)
    return sheets


def _is_first(row: RowView) -> bool:
    """The paper's methods as printed, released and defined; and what the registry did not come with."""
    of_paper = row.method in methods.PAPER and row.variant in SHOWN_FIRST
    return of_paper or row.variant == methods.OWN or (row.method, row.variant) not in methods.rows()


def _calls_in_short(row: RowView) -> RowView:
    """Printed calls stand where ours to explain do; calls to fit, which are many, have no decimals."""
    if row.variant == PAPER:
        return replace(row, cells={**row.cells, "explain_calls": row.cell("oracle_calls"), "fit_calls": Cell("")})
    to_fit = row.cell("fit_calls")
    whole = to_fit if to_fit.text == ABSENT else replace(to_fit, text=f"{float(to_fit.text):.0f}")
    return replace(row, cells={**row.cells, "fit_calls": whole})


def _in_full(rows: Mapping[str, list[RowView]], results: Results) -> list[Sheet]:
    sheets = [text("table1", "Table 1", f"{RULE} {ACCOUNTING} {RENAMING} In brackets, where shown: 95 % intervals.")]
    gaps, why = missing(results, "table1"), _explanations(results)
    for dataset, every in rows.items():
        title, name, ours = tasks.label(dataset), f"table1-{dataset}", [row for row in every if row.variant != PAPER]
        notes = [f"Missing: {gap}." for gap in gaps if _dataset_of(gap, rows) == dataset]
        sheets.append(replace(_sheet(name, f"Table 1 on {title}", every, _columns(TABLE1)), notes=notes))
        apart = f"{title}, beyond the paper: fitting and explaining apart"
        beyond = _sheet(f"{name}-beyond", apart, ours, further(every))
        sheets += [replace(beyond, formats=(TERMINAL, MARKDOWN, HTML, CSV)), *_reasons(dataset, ours, why)]
    return sheets


def _dataset_of(gap: str, rows: Mapping[str, object]) -> str:
    """The data set below whose table a sentence on what is missing stands; the first one for sentences on none."""
    named = [task for task in tasks.tasks().values() if gap.startswith(f"{task.label}, ")]
    task = max(named, key=lambda one: len(one.label), default=None)
    found = "" if task is None else task.name if task.name in rows else task.renames
    return found if found in rows else next(iter(rows), "")


def _sheet(
    name: str, title: str, rows: Sequence[RowView], columns: Sequence[tuple[str, str]], *, variant: bool = True
) -> Sheet:
    groups = []
    for _, block in groupby(rows, _block):
        lines = []
        for row in block:
            names = [Cell(row.label, "printed" if row.variant == PAPER else ""), Cell(row.variant)]
            lines.append([*names[: 1 + variant], *(row.cell(metric) for metric, _ in columns)])
        groups.append(Group("", lines))
    headings = [*["Method", "Variant"][: 1 + variant], *(heading for _, heading in columns)]
    return Sheet(name, title, headings, groups, names=1 + variant)


def _block(row: RowView) -> str:
    """Lines are drawn around each printed method and before the controls."""
    return row.method if row.method in methods.PAPER else "control" if row.variant == "control" else ""


def _explanations(results: Results) -> dict[tuple[str, str, str], str]:
    """Why printed numbers are what they are, by data set, method and metric."""
    verdicts = results.table("verdicts", as_text=True)
    lines = [] if verdicts is None else verdicts.to_dict("records")
    return {
        (line[where], line["method"], line["metric"]): line["explanation"]
        for line in lines
        for where in ("dataset", "measured_on")
    }


def _reasons(dataset: str, rows: Sequence[RowView], why: Mapping[tuple[str, str, str], str]) -> list[Sheet]:
    """The verdicts on each row in words, as a list."""
    lines = []
    for row in rows:
        said = [_reason(row, metric.name, why) for metric in TABLE1]
        if any(said):
            lines.append([Cell(row.label), *map(Cell, said)])
    if not lines:
        return []
    headings = ["Method", *(metric.label for metric in TABLE1)]
    title = f"{tasks.label(dataset)}: verdicts"
    shown_in = (TERMINAL, MARKDOWN)
    return [Sheet(f"table1-{dataset}-verdicts", title, headings, [Group("", lines)], listed=True, formats=shown_in)]


def _reason(row: RowView, metric: str, why: Mapping[tuple[str, str, str], str]) -> str:
    cell = row.cell(metric)
    because = why.get((row.dataset, row.method, metric), "") if row.variant == "released" else ""
    return f"{cell.verdict}: {cell.title}. {sentence(because)}".strip() if cell.verdict else ""


# -- While it fills --------------------------------------------------------------------------------------

LIVE = tuple(METRICS[name] for name in ("correctness", "ged", "runtime"))


def so_far(means: pd.DataFrame) -> list[Sheet]:
    """The growing table, from `benchmarks.results.summary.means_so_far`: the printed value in brackets."""
    sheets = []
    for dataset, keys in groupby(sorted(means.index, key=_place), key=lambda key: key[0]):
        lines = []
        for key in keys:
            row = RowView(key[0], key[1], key[2], methods.label(*key[1:]))
            if _is_first(row):
                values = [_with_printed(key, metric, means.loc[key, metric.name]) for metric in LIVE]
                lines.append([Cell(row.label), Cell(str(int(means.loc[key, "folds"]))), *values])
        if lines:
            headings = ["Method", "Folds", *(heading for _, heading in _columns(LIVE))]
            sheets.append(Sheet(f"table1-{dataset}", tasks.task(dataset).title, headings, [Group("", lines)]))
    return sheets


def _with_printed(key: Key, metric: Metric, mean: float) -> Cell:
    ours, paper = number(mean, metric.decimals), printed(*key[:2], metric.name)
    return Cell(ours if paper is None else f"{ours} [{paper.text}]")
