"""Real data as a table: a sheet per task, from `table2.csv` and `table2_kinds.csv`."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.rules import LOST_PLAUSIBILITY, MOST_EDITS, VALID
from benchmarks.results.reader import Results
from figures.tables.numbers import by_row, means, missing, stored
from figures.tables.sheet import Cell, Group, Sheet, text

FIRST = {  # the columns that are seen first, with their decimals
    "correctness": ("Validity ↑", 3), "ged_on_success": ("GED ↓", 2), "explain_calls": ("Calls ↓", 1),
    "fit_calls": ("Calls to fit ↓", 0), "plausibility": ("Plausibility ↑", 3), "feasible": ("Feasible ↑", 3),
}  # fmt: skip
FURTHER = {
    "sparsity_on_success": ("GED / (|V| + |E|) ↓", 3), "area_over_ged": ("Area over GED ↑", 3),
    "area_over_calls": ("Area over calls ↑", 3), "plausibility_unedited": ("Plausibility, unedited", 3),
    "connected": ("Connected ↑", 3), "degrees": ("Degrees ↑", 3), "edge_count": ("Edge count ↑", 3),
    "sanitised": ("Sanitised ↑", 3), "mmd_degree": ("MMD², degrees ↓", 3), "mmd_clustering": ("clustering ↓", 3),
    "mmd_spectrum": ("spectrum ↓", 3), "same_structure": ("Same structure ↓", 3),
    "motif_precision": ("Motif, precision ↑", 3), "motif_recall": ("Motif, recall ↑", 3),
    "oracle_accuracy": ("Oracle Acc.", 3),
}  # fmt: skip
ABOUT = (
    "Means of fold means on held-out graphs. GED, plausibility and rules are of valid counterfactuals. Plausibility is "
    "the rank among held-out real graphs of the claimed class (real graphs: .5). A row finds explanations if its "
    f"validity is at least {VALID} and it loses at most {LOST_PLAUSIBILITY} of the plausibility that the unedited "
    "inputs have as graphs of that class; if it loses more, it finds adversarial examples. Areas under validity end at "
    f"{MOST_EDITS} edits, and at the budget of the task."
)


def table2(results: Results, *, everything: bool) -> list[Sheet]:
    """A sheet per task; with everything, "+ min" rows and all columns."""
    table, kinds = stored(results, "table2", as_text=False), results.table("table2_kinds")
    shown = {**FIRST, **FURTHER} if everything else FIRST
    if not everything:
        table = table[[not methods.made_of(row) for row in zip(table["method"], table["variant"], strict=True)]]
    finds = {} if kinds is None else kinds.set_index(["task", "method", "variant"])["finds"].to_dict()
    sheets = []
    for task, own in table.groupby("task", sort=False):
        rows = [[Cell(label), *means(lines, shown), _found(lines, finds)] for label, lines in by_row(own)]
        headings = ["Method", *(heading for heading, _ in shown.values()), "Finds"]
        sheets.append(Sheet(f"table2-{task}", tasks.label(str(task)), headings, [Group("", rows)]))
    notes = [f"Missing: {gap}." for gap in missing(results, "table2")]
    return [text("table2", "Real data and learnt oracles", ABOUT, notes), *sheets]


def _found(lines: pd.DataFrame, finds: Mapping[tuple[str, ...], str]) -> Cell:
    whose = tuple(lines.iloc[0][["task", "method", "variant"]])
    return Cell(finds.get(whose, "").removeprefix("finds "))
