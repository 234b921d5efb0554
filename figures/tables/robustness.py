"""Robustness as a table: a sheet per task, from `robustness.csv`."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Row
from benchmarks.results.reader import Results
from figures.tables.numbers import by_row, means, missing, number, over_tasks, stored
from figures.tables.sheet import ABSENT, Cell, Group, Sheet, text, with_all

BEFORE = {  # columns with their decimals; between these and the next stands who was told of the frozen pairs
    "correctness": ("Validity ↑", 3), "robust_seed": ("Re-trained: seed ↑", 3),
    "robust_subsample": ("Re-trained: 90 % ↑", 3), "robust_architecture": ("Other nets ↑", 3),
    "stable_input": ("Stable: edit ↑", 3), "stable_seed": ("Stable: seed ↑", 3), "actionable": ("Actionable ↑", 3),
}  # fmt: skip
AFTER = {"validity_at_k": ("Validity@3 ↑", 3), "diversity": ("Diversity, GED", 2)}
FURTHER = {
    "jaccard_distance": ("Diversity, Jaccard", 3), "agree_seed": ("Agree: seed", 3),
    "agree_subsample": ("Agree: 90 %", 3), "agree_architecture": ("Agree: other nets", 3),
}  # fmt: skip
TOLD, BY_CHANCE = "told", "by chance"
ABOUT = (
    "Means of fold means on held-out graphs. Re-trained, other nets: the share of valid counterfactuals that copies of "
    "the oracle (with other seeds; on nine tenths of its graphs; of other architectures) also put into another class "
    "than they put the input; agree: the share of inputs that they put where the oracle does. Stable: Jaccard index of "
    "the edits with those after one harmless edit of the input, and with those under another seed of explaining. "
    "Actionable: the share of graphs with a valid counterfactual that leaves a random fifth of the pairs as they are; "
    "methods that take constraints are told of these pairs, the others keep them by chance. Of three candidates per "
    "graph: is one valid, and how far apart are valid ones. Intervals are over the few folds that were run, and rough."
)
NOT_OURS = (
    "The oracle was not trained here and cannot be trained again as it was: its copies are GCNs that are trained here, "
    "and networks of the other architectures."
)


def robustness(results: Results, *, everything: bool) -> list[Sheet]:
    """A sheet per task; with everything, agreement on the inputs too."""
    table = stored(results, "robustness", as_text=False)
    after = {**AFTER, **FURTHER} if everything else AFTER
    headings = ["Method", *(name for name, _ in BEFORE.values()), "Frozen pairs", *(name for name, _ in after.values())]
    sheets = []
    for task, own in table.groupby("task", sort=False):
        rows = [
            [Cell(label), *means(lines, BEFORE), _told(lines), *means(lines, after)] for label, lines in by_row(own)
        ]
        about = "" if trained_here(str(task)) else NOT_OURS
        wide = own.pivot_table("mean", ["method", "variant"], "metric", sort=False)
        led = led_by_controls(wide, {**BEFORE, "validity_at_k": AFTER["validity_at_k"]})
        name, title = f"robustness-{task}", tasks.label(str(task))
        sheets.append(Sheet(name, title, headings, [Group("", rows)], about, notes=led))
    notes = [f"Missing: {gap}." for gap in over_tasks(missing(results, "robustness"))]
    notes += [] if everything else [with_all("how often copies agree on the inputs")]
    return [text("robustness", "What counterfactuals withstand", ABOUT, notes), *sheets]


def trained_here(task: str) -> bool:
    """Is the oracle of this task trained by this project, so that it can be trained again?"""
    return tasks.task(task).oracle.endswith(":TrainedGNN")


def by_chance(table: pd.DataFrame) -> set[Row]:
    """The rows that were not told of frozen pairs."""
    untold = table[(table["metric"] == "told_frozen") & (table["mean"] == 0)]
    return set(zip(untold["method"], untold["variant"], strict=True))


def led_by_controls(means: pd.DataFrame, shown: Mapping[str, tuple[str, int]]) -> list[str]:
    """Sentences for the columns in which, as shown, no row is better than a control.

    `means` has a line per row (method, variant) and a column per metric; `shown` are headings and decimals.
    """
    led: dict[Row, list[str]] = {}
    control = means.index.get_level_values("variant") == "control"
    for metric, (heading, decimals) in shown.items():
        if metric not in means:
            continue
        values = means[metric].dropna().map(lambda value, decimals=decimals: float(number(value, decimals)))
        best = values[~control[means[metric].notna()]].max()
        for row, value in values.items():
            if row[1] == "control" and value >= best:
                led.setdefault(row, []).append(heading.removesuffix(" ↑"))
    return [f"{methods.label(*row)}: no row is better than this control by {', '.join(of)}." for row, of in led.items()]


def _told(lines: pd.DataFrame) -> Cell:
    told = lines.loc[lines["metric"] == "told_frozen", "mean"].tolist()
    return Cell((TOLD if told[0] else BY_CHANCE) if told else ABSENT)
