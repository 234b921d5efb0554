"""Table 1: the printed rows beside ours, and what lies beyond the paper's metrics.

The layout per data set: the paper's five methods in its order, each as printed, as released, to the letter (RSGG-CE)
and as its paper defines it (RSGG-CE: by score function); then search and users' own methods; then controls. Best and
second best are marked as `RULE` says, rows as `benchmarks.registry.rules.ROW_MARKS` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, product

import numpy as np
import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import FURTHER, METRICS, TABLE1, Metric
from benchmarks.registry.rules import (
    AS_CORRECT_AS_THE_BEST,
    COLLAPSES,
    CORRECTNESS_FLOOR,
    FEW_REPLICATES,
    MEASURES_OF_DISTANCE,
    MEASURES_OF_SUCCESS,
    MIN_REPLICATES,
    NEVER_MARKED,
)
from benchmarks.results.paper import measured_on, paper_table, printed
from benchmarks.results.reader import Results, graphs_per_fold
from figures.tables import training
from figures.tables.numbers import missing, number, sentence, stored
from figures.tables.sheet import ABSENT, CSV, HTML, MARKDOWN, TERMINAL, Cell, Group, Sheet, text, with_all

PAPER = "paper"  # the variant of printed rows
SHOWN_FIRST = (PAPER, "released", "literal", "faithful")  # variants of a printed method, in the order shown
BEYOND = tuple(metric for metric in FURTHER if not metric.name.endswith("_training"))
MAIN = ("rsgg-ce", "faithful")  # the row that is spoken of where there is room for one
CALLS = "calls"  # the column of calls to explain and to fit
IN_SHORT = tuple(METRICS[name] for name in ("correctness", "ged", "runtime"))
RENAMED = {name: f"{name}_renamed" for name in ("correctness", "ged")}  # of the same graphs with nodes renamed

RULE = (
    "Means of fold means over the replicates that the rows of a data set share; a verdict is on the mean over all "
    "replicates of its row, in verdicts.csv. Best in bold, second best underlined, among the rows that are not "
    "controls, ties sharing a mark; of distances (GED, Sparsity), only among rows whose Correctness is at most "
    f"{AS_CORRECT_AS_THE_BEST} below the best (fewer edits for fewer graphs are no merit), of Calls to explain, only "
    f"among rows whose Correctness is at least {CORRECTNESS_FLOOR}. Runtime and Oracle Calls have no marks: their "
    "accountings differ from row to row."
)
ACCOUNTING = (
    "Runtime and Oracle Calls are in the paper's accounting (released calls per check; training shared out over the "
    "test fold where the printed row contains it)."
)
CALLS_RULE = (
    "Calls, explain / fit: questions to explain a graph, and to fit the method to a fold (– where nothing is fitted); "
    "of printed rows the paper's Oracle Calls."
)
RENAMING = (
    "“Renamed”: the same graphs with their nodes renamed at random (one replicate), for the methods whose result "
    "depends on how nodes are numbered."
)

NOTHING = Cell(ABSENT)
Key = tuple[str, str, str]  # data set, method, variant


@dataclass(frozen=True)
class RowView:
    """A row of the table with its cells by metric; `variant` is "paper" for the printed one.

    `marks` stand behind its name; `fit_calls` are those of fitting, shared out over the test graphs.
    """

    dataset: str
    method: str
    variant: str
    label: str
    cells: dict[str, Cell]
    marks: str = ""
    fit_calls: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.label} {self.marks.strip()}".strip()

    def cell(self, metric: str) -> Cell:
        return self.cells.get(metric, NOTHING)


# -- Layout ----------------------------------------------------------------------------------------------


def layout(results: Results) -> dict[str, list[RowView]]:
    """The rows of each data set in the order in which they are shown, those that are missing included."""
    lines: dict[Key, dict[str, dict[str, str]]] = {}
    for line in stored(results, "table1").to_dict("records"):
        found = lines.setdefault((line["dataset"], line["method"], line["variant"]), {})
        found |= {line["metric"]: line} if line["metric"] in METRICS else {}
    collapsing = {key for key, (n, _, _) in training.collapsed(results).items() if n}
    asked = dict.fromkeys([*lines, *_rows_missing(missing(results, "table1")).values()])
    rows: dict[str, list[RowView]] = {}
    for key in sorted([*asked, *_printed_rows({dataset for dataset, _, _ in asked})], key=_place):
        rows.setdefault(key[0], []).append(_row(key, lines, collapses=_fitted(key) in collapsing))
    for block in rows.values():
        _mark(block)
    return {dataset: block for dataset, block in rows.items() if tasks.task(dataset).renames not in rows}


def _fitted(key: Key) -> Key:
    """The row whose fits a row rests on: its base if it is a "+ min" row, else itself."""
    base = methods.made_of(key[1:])
    return (key[0], *base.row) if base else key


def _rows_missing(gaps: Sequence[str]) -> dict[str, Key]:
    """The row that a sentence on what is missing begins with, by sentence; those on no row are left out."""
    pairs = product(tasks.tasks().values(), methods.rows().items())
    known = [(f"{task.label}, {row.label}: ", (task.name, *key)) for task, (key, row) in pairs]
    found = ((gap, next((key for words, key in known if gap.startswith(words)), None)) for gap in gaps)
    return {gap: key for gap, key in found if key is not None}


def _printed_rows(datasets: set[str]) -> list[Key]:
    pairs = product(sorted(datasets), methods.PAPER)
    return [(*pair, PAPER) for pair in pairs if pair[0] in paper_table().index or printed(*pair, "ged") is not None]


def _place(key: Key) -> tuple[int, ...]:
    """Where a row is shown: printed methods first, variants as in `SHOWN_FIRST`; controls last."""
    dataset, method, variant = key
    known, rows = list(tasks.tasks()), list(methods.rows())
    task = known.index(dataset) if dataset in known else len(known)
    place = rows.index((method, variant)) if (method, variant) in rows else len(rows)
    if method in methods.PAPER:
        first = SHOWN_FIRST.index(variant) if variant in SHOWN_FIRST else len(SHOWN_FIRST)
        return task, methods.PAPER.index(method), first, place
    return task, len(methods.PAPER) + (variant == "control"), place


def _row(key: Key, lines: Mapping[Key, dict[str, dict[str, str]]], *, collapses: bool) -> RowView:
    dataset, method, variant = key
    if variant == PAPER:
        found = {metric.name: printed(dataset, method, metric.name) for metric in TABLE1}
        texts = {name: Cell("×" if cell is None else cell.text, "printed") for name, cell in found.items()}
        return RowView(*key, f"{methods.label(method)}, printed", {**texts, CALLS: texts["oracle_calls"]})
    own = lines.get(key, {})
    cells = {name: _cell(METRICS[name], line) for name, line in own.items()}
    for other in (task.name for task in tasks.tasks().values() if task.renames == dataset):
        renamed = lines.get((other, method, variant), {})
        cells |= {RENAMED[name]: _cell(METRICS[name], renamed[name]) for name in RENAMED if name in renamed}
    about = own.get("correctness", {})
    few = 0 < int(about.get("replicates") or 0) < MIN_REPLICATES
    signs = methods.access(method, variant) + COLLAPSES * collapses + FEW_REPLICATES * few
    of = tasks.task(dataset).folds
    some = "" if about.get("folds", "") in ("", str(of)) else f" ({about['folds']} of {of} folds)"
    marks = signs + some
    explain, fit = own.get("explain_calls"), own.get("fit_calls")
    if explain is None or fit is None:
        return RowView(*key, methods.label(method, variant), cells, marks)
    asked, fitted = float(explain["mean"]), float(fit["mean"])
    cells[CALLS] = Cell(f"{asked:,.1f} / {fitted:,.0f}" if fitted else f"{asked:,.1f} / {ABSENT}")
    return RowView(
        *key, methods.label(method, variant), cells, marks, float(np.nan_to_num(fitted / graphs_per_fold(fit)))
    )


def _cell(metric: Metric, line: Mapping[str, str]) -> Cell:
    mean, low, high = (number(line.get(name, ""), metric.decimals) for name in ("mean", "ci_low", "ci_high"))
    verdict = line.get("verdict", "")
    interval = "" if low == ABSENT else f"[{low}, {high}]"
    return Cell(mean, "", verdict, line.get("reason", "") if verdict else "", interval)


def _mark(rows: Sequence[RowView]) -> None:
    """Mark the best and second best value of each metric, among the rows that the rules let compete for it.

    No value is marked where all are equal. Values are compared as shown, so that numbers that look equal share a mark.
    """
    compared = [row.cells for row in rows if row.variant not in (PAPER, "control")]
    best = max(map(_correctness, compared), default=0.0)
    for metric in (metric for metric in (*TABLE1, *BEYOND) if metric.name not in NEVER_MARKED):
        least = 0.0 if metric.name in MEASURES_OF_SUCCESS else CORRECTNESS_FLOOR
        if metric.name in MEASURES_OF_DISTANCE:
            least = max(0.0, round(best - AS_CORRECT_AS_THE_BEST, 6))
        among = [cells for cells in compared if _correctness(cells) >= least]
        shown = [cells for cells in among if cells.get(metric.name, NOTHING).text != ABSENT]
        ranked = sorted({float(cells[metric.name].text) for cells in shown}, reverse=metric.higher_is_better)
        marks = dict(zip(ranked, ("best", "second"), strict=False)) if len(ranked) > 1 else {}
        for cells in shown:
            mark = marks.get(float(cells[metric.name].text), "")
            cells[metric.name] = replace(cells[metric.name], mark=mark)


def _correctness(cells: Mapping[str, Cell]) -> float:
    """As shown; below all others where it is not known."""
    shown = cells.get("correctness", NOTHING).text
    return -1.0 if shown == ABSENT else float(shown)


def further(rows: Sequence[RowView]) -> list[tuple[str, str]]:
    """The columns beyond the paper's, name and heading: those with renamed nodes where there are any."""
    renamed = [(name, f"{METRICS[of].label}, renamed {METRICS[of].arrow}") for of, name in RENAMED.items()]
    return [*headed(BEYOND), *(one for one in renamed if any(one[0] in row.cells for row in rows))]


def headed(metrics: Sequence[Metric]) -> list[tuple[str, str]]:
    """Columns, name and heading, with an arrow to what is better; after the paper's, calls to explain and to fit."""
    found = [(metric.name, f"{metric.label} {metric.arrow}") for metric in metrics]
    return [*found, (CALLS, "Calls, explain / fit ↓")] if metrics is TABLE1 else found


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
    """Below the same row on the other data, else below the last row of the same method, else at the end.

    "Tree-Cycles, 32 nodes" beside Tree-Cycles is "32 nodes".
    """
    same = [i for i, one in enumerate(rows) if one.method == row.method] or [len(rows) - 1]
    place = next((i for i in same if rows[i].variant == row.variant), same[-1])
    data = tasks.label(row.dataset).removeprefix(f"{tasks.label(rows[0].dataset)}, ")
    rows.insert(place + 1, replace(row, label=f"{row.label}, {data}"))


# -- Sheets ----------------------------------------------------------------------------------------------


def table1(results: Results, *, everything: bool) -> list[Sheet]:
    """In short, the paper's methods on a screen; or every row and metric, with every verdict's reason."""
    rows = layout(results)
    return _in_full(rows, results) if everything else _in_short(rows, results)


def _in_short(rows: Mapping[str, list[RowView]], results: Results) -> list[Sheet]:
    sheets, left_out = [], 0
    columns = [*((metric.name, metric.label) for metric in IN_SHORT), (CALLS, "Calls, explain / fit")]
    for dataset, every in with_printed_data(rows).items():
        filled = [row for row in every if _has_numbers(row)]
        kept = [row for row in filled if _is_first(row)]
        left_out += len(filled) - len(kept)
        one = _sheet(f"table1-{dataset}", f"Table 1 on {tasks.task(dataset).title}", kept, columns, names=1)
        sheets.append(
            replace(one, notes=in_a_line([row for row in kept if (row.method, row.variant) == MAIN], results))
        )
    further_rows = f"{left_out} more {'row' if left_out == 1 else 'rows'}, " if left_out else ""
    more = with_all(f"{further_rows}{len(METRICS) - len(IN_SHORT)} more metrics and the reasons")
    notes = ["Calls to explain a graph / to fit to a fold; runtimes as the paper accounts.", more]
    return [*sheets[:-1], *(replace(last, notes=[*last.notes, *notes]) for last in sheets[-1:])]


def in_a_line(rows: Sequence[RowView], results: Results) -> list[str]:
    """Of each row, what fitting costs a test graph and how many fits collapse."""
    said, ended = [], training.collapsed(results)
    for row in rows:
        n, fits, _ = ended.get((row.dataset, row.method, row.variant), (0, 0, ""))
        parts = [f"fitting asks {row.fit_calls:,.0f} times per test graph"] if row.fit_calls else []
        parts += [f"{n} of {fits} fits of replicate 0 collapse"] if n else []
        said += [f"{row.label}: {', '.join(parts)}."] if parts else []
    return said


def notes_on(rows: Sequence[RowView], results: Results) -> list[str]:
    """What is said below the rows of a data set: what fitting costs a test graph, which fits collapse, and which rows
    "+ min" do not start from all that their base found."""
    own = [row for row in rows if not methods.made_of((row.method, row.variant))]
    said = [f"{row.label} {row.fit_calls:,.0f}" for row in own if row.variant != "control" and row.fit_calls]
    shared = f"Fitting, shared out over the test graphs of a fold, asks so often for each: {', '.join(said)}."
    ended = [
        f"{COLLAPSES} {row.label} on {tasks.label(row.dataset)}: "
        + training.how_it_ended(results, (row.dataset, row.method, row.variant))
        for row in own
        if COLLAPSES in row.marks
    ]
    return [
        *([shared] if said else []),
        *ended,
        *filter(None, (_edges_counted_once(row, rows, results) for row in rows)),
    ]


def _edges_counted_once(row: RowView, rows: Sequence[RowView], results: Results) -> str:
    """Of a "+ min" row that explains less than its base: how many of the base's successes are flips of a simple graph.

    A ledger holds which pairs differ and not how often an edge was drawn, so that these rows start from simple graphs.
    """
    base = methods.made_of((row.method, row.variant))
    before = [other for other in rows if base and (other.method, other.variant) == base.row]
    if base is None or not before or _correctness(row.cells) >= _correctness(before[0].cells):
        return ""
    share, n = kept_with_edges_once(results, row.dataset, base.row, (row.method, row.variant))
    if not n:
        return ""
    return (
        f"{row.label} starts from simple graphs: of the {n} graphs of {tasks.label(row.dataset)} that {base.label} "
        f"flips, {share:.1%} flip when every edge counts once, the others only while an edge counts twice or a loop "
        "counts."
    )


def kept_with_edges_once(results: Results, dataset: str, base: methods.Row, minimal: methods.Row) -> tuple[float, int]:
    """The share of a row's successes that its "+ min" row could start from, and how many successes both know."""
    ledgers = [results.ledger(dataset, *one) for one in (base, minimal)]
    if any(ledger.empty for ledger in ledgers):
        return 0.0, 0
    before, after = (ledger.set_index(["fold", "instance", "candidate"]) for ledger in ledgers)
    both = before[before["predicted"] != before["predicted_cf"]].join(after.add_suffix("_min"), how="inner")
    return float((both["predicted_min"] != both["predicted_cf_min"]).mean()), len(both)


def _is_first(row: RowView) -> bool:
    """The paper's methods as printed, released, to the letter and defined; and what the registry did not come with."""
    of_paper = row.method in methods.PAPER and row.variant in SHOWN_FIRST
    return of_paper or row.variant == methods.OWN or (row.method, row.variant) not in methods.rows()


def _has_numbers(row: RowView) -> bool:
    return any(cell.text not in (ABSENT, "×") for cell in row.cells.values())


def _in_full(rows: Mapping[str, list[RowView]], results: Results) -> list[Sheet]:
    about = f"{RULE} {ACCOUNTING} {CALLS_RULE} {RENAMING} In brackets, where shown: 95 % intervals."
    sheets = [text("table1", "Table 1", about)]
    gaps, why = missing(results, "table1"), _explanations(results)
    of = _rows_missing(gaps)
    below = {gap: _table_of(of[gap][0] if gap in of else "", rows) for gap in gaps}
    for dataset, every in rows.items():
        label, name, ours = tasks.label(dataset), f"table1-{dataset}", [row for row in every if row.variant != PAPER]
        notes = [*notes_on(ours, results), *(f"Missing: {gap}." for gap in gaps if below[gap] == dataset)]
        apart = f"{label}, beyond the paper: fitting and explaining apart"
        sheets += [
            replace(_sheet(name, f"Table 1 on {label}", every, headed(TABLE1)), notes=notes),
            replace(_sheet(f"{name}-beyond", apart, ours, further(every)), formats=(TERMINAL, MARKDOWN, HTML, CSV)),
            *_reasons(dataset, ours, why),
        ]
    return sheets


def _table_of(dataset: str, rows: Mapping[str, object]) -> str:
    """The data set below whose table stands what a data set lacks; the first one for sentences on none."""
    return next((name for name in (dataset, tasks.task(dataset).renames, *rows) if name in rows), "")


def _sheet(
    name: str, title: str, rows: Sequence[RowView], columns: Sequence[tuple[str, str]], *, names: int = 2
) -> Sheet:
    """Rows with these columns (metric, heading) after the method and, with two names, the variant."""
    groups = []
    for _, block in groupby(rows, _block):
        lines = []
        for row in block:
            variant = "printed" if row.variant == PAPER else methods.variant_label(row.method, row.variant)
            whose = [Cell(row.name, "printed" if row.variant == PAPER else ""), Cell(variant)]
            lines.append([*whose[:names], *(row.cell(metric) for metric, _ in columns)])
        groups.append(Group("", lines))
    headings = [*["Method", "Variant"][:names], *(heading for _, heading in columns)]
    return Sheet(name, title, headings, groups, names=names)


def _block(row: RowView) -> str:
    """Lines are drawn around each printed method and before the controls."""
    return row.method if row.method in methods.PAPER else "control" if row.variant == "control" else ""


def _explanations(results: Results) -> dict[Key, str]:
    """Why printed numbers are what they are, by data set, method and metric."""
    table = results.table("verdicts", as_text=True)
    found = {}
    for line in [] if table is None else table.to_dict("records"):
        for dataset in (line["dataset"], line["measured_on"]):
            found[dataset, line["method"], line["metric"]] = line["explanation"]
    return found


def _reasons(dataset: str, rows: Sequence[RowView], why: Mapping[Key, str]) -> list[Sheet]:
    """The verdicts on each row in words, as a list."""
    lines = []
    for row in rows:
        said = []
        for metric in TABLE1:
            cell = row.cell(metric.name)
            because = why.get((dataset, row.method, metric.name), "") if row.variant == "released" else ""
            said.append(f"{cell.verdict}: {cell.title}. {sentence(because)}".strip() if cell.verdict else "")
        lines += [[Cell(row.label), *map(Cell, said)]] if any(said) else []
    headings = ["Method", *(metric.label for metric in TABLE1)]
    name, title = f"table1-{dataset}-verdicts", f"{tasks.label(dataset)}: verdicts"
    found = Sheet(name, title, headings, [Group("", lines)], listed=True, formats=(TERMINAL, MARKDOWN))
    return [found] if lines else []


# -- While it fills --------------------------------------------------------------------------------------

LIVE = tuple(METRICS[name] for name in ("correctness", "ged", "runtime"))


def so_far(means: pd.DataFrame) -> list[Sheet]:
    """The growing table, from `benchmarks.results.summary.means_so_far`: the printed value in brackets."""
    rows: dict[str, list[RowView]] = {}
    for dataset, method, variant in sorted(means.index, key=_place):
        own = means.loc[(dataset, method, variant)]
        cells = {"folds": Cell(str(int(own["folds"])))}
        for metric in LIVE:
            ours, paper = number(own[metric.name], metric.decimals), printed(dataset, method, metric.name)
            cells[metric.name] = Cell(ours if paper is None else f"{ours} [{paper.text}]")
        row = RowView(dataset, method, variant, methods.label(method, variant), cells)
        if _is_first(row):
            rows.setdefault(dataset, []).append(row)
    columns = [("folds", "Folds"), *headed(LIVE)]
    return [_sheet(f"table1-{name}", tasks.task(name).title, found, columns, names=1) for name, found in rows.items()]
