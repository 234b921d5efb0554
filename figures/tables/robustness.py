"""Robustness as a table: a sheet per task, from `robustness.csv`."""

from __future__ import annotations

import pandas as pd

from benchmarks.registry import tasks
from benchmarks.results.reader import Results
from figures.tables.numbers import by_row, means, missing, stored
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
        sheets.append(Sheet(f"robustness-{task}", tasks.label(str(task)), headings, [Group("", rows)], about))
    notes = [f"Missing: {gap}." for gap in missing(results, "robustness")]
    notes += [] if everything else [with_all("how often copies agree on the inputs")]
    return [text("robustness", "What counterfactuals withstand", ABOUT, notes), *sheets]


def trained_here(task: str) -> bool:
    """Is the oracle of this task trained by this project, so that it can be trained again?"""
    return tasks.task(task).oracle.endswith(":TrainedGNN")


def _told(lines: pd.DataFrame) -> Cell:
    told = lines.loc[lines["metric"] == "told_frozen", "mean"].tolist()
    return Cell((TOLD if told[0] else BY_CHANCE) if told else ABSENT)
