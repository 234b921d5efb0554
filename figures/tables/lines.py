"""Tables that are shown line by line as they are stored, under public names: any table without a builder of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pandas as pd

from benchmarks.registry import global_methods, methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.reader import Results
from benchmarks.results.searches import SEARCHED_AS, STUDY
from benchmarks.results.summary import ALL_TASKS
from figures.tables.numbers import number, row_label, rows_of, stored
from figures.tables.sheet import Group, Sheet, with_all

FIRST_ROWS = 40  # of a table, where not everything is shown
BEST_TRIALS = 10  # of each search, where not everything is shown


def first_rows(table: pd.DataFrame) -> pd.DataFrame:
    return table.head(FIRST_ROWS)


def best_trials(table: pd.DataFrame) -> pd.DataFrame:
    """Of each search: what the winner and our settings did on unseen graphs, then the best trials."""
    kept = [table[:0]]
    for _, rows in table.groupby(STUDY, sort=False):
        complete = rows[rows["state"] == "complete"]
        keys = complete[["value", "ged", "number"]].apply(pd.to_numeric)
        order = keys.sort_values(["value", "ged", "number"], ascending=[False, True, True]).index[:BEST_TRIALS]
        kept += [rows[~rows["state"].isin(["complete", "pruned", "failed"])], rows.loc[order]]
    return pd.concat(kept)


def over_all_tasks(table: pd.DataFrame) -> pd.DataFrame:
    """What is compared over all tasks; the first rows where only one task is stored."""
    over_all = table[table["dataset"] == ALL_TASKS]
    return first_rows(table) if over_all.empty else over_all


def _of(column: str, *values: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Chooses the lines that have one of these values in a column."""
    return lambda table: table[table[column].isin(values)]


@dataclass(frozen=True)
class Layout:
    """How a stored table is shown.

    Args:
        title: stands above it; else its name.
        caption: a paragraph above the table.
        by: columns that do not stand in the rows: their values head groups of rows.
        names: how many columns at the left name a row.
        headings: of columns that are not called like in the file.
        first: the columns that are seen first; all of them where this is empty.
        select: the rows that are seen first.
        rounded: the columns of numbers that are shown with three decimals, not with the digits that are stored.
    """

    title: str = ""
    caption: str = ""
    by: Sequence[str] = ()
    names: int = 1
    headings: Mapping[str, str] = field(default_factory=dict)
    first: Sequence[str] = ()
    select: Callable[[pd.DataFrame], pd.DataFrame] = first_rows
    rounded: Sequence[str] = ()


LAYOUTS = {  # by how the name of a table begins
    "comparisons": Layout(
        "Paired comparisons",
        "Wilcoxon's signed-rank test on the same graphs, clustered by fold, with Holm's correction within a question. "
        "Ten folds can show no p below .002, so that no difference of a question with many rows is sure after it: "
        "there read the interval. Rows were not tuned alike: show tuning.",
        by=("dataset", "question", "metric"), names=2, headings={"n": "n", "p": "p", "p_holm": "p (Holm)"},
        first=("method", "against_method", "difference", "p_holm"),
        rounded=("mean", "against_mean", "difference", "ci_low", "ci_high", "p_holm", "rank_biserial", "dominance"),
        select=_of("metric", "correctness"),
    ),
    "table2_comparisons": Layout(
        "Paired comparisons on real data",
        "Wilcoxon's signed-rank test on the same graphs, clustered by fold. Five folds of a task can show no p below "
        ".0625, so that on a single task nothing is significant: there read the interval. Over all tasks together a "
        "cluster is a fold of a task, and Holm's correction is within all rows and metrics; the test is of ranks, and "
        "where the sign of the rank biserial is not that of the difference, neither row is better. GED on success and "
        "plausibility are of graphs that both rows explain. Rows were not tuned alike: show tuning.",
        by=("dataset", "question", "metric"), names=2, headings={"n": "n", "p": "p", "p_holm": "p (Holm)"},
        first=("method", "against_method", "clusters", "difference", "ci_low", "ci_high", "rank_biserial", "p_holm"),
        rounded=("mean", "against_mean", "difference", "ci_low", "ci_high", "p_holm", "rank_biserial", "dominance"),
        select=over_all_tasks,
    ),
    "hpo_summary": Layout(
        "What the searches promised and what came of it",
        "Correctness. Best and default value: of the best trial and of our settings, where trials were measured. "
        "Promised: their difference; kept: the same on graphs that chose nothing; optimism: promised less kept.",
        by=("dataset",), names=2, headings={"method": "Search"},
        first=("method", "protocol", "trials", "best_value", "default_value", "promised", "kept"),
        rounded=("best_value", "default_value", "winner_correctness", "winner_ged", "default_correctness",
                 "default_ged", "promised", "kept", "optimism"),
    ),
    "hpo_": Layout(
        "Trials, by Correctness, then GED", by=("dataset",), names=2, rounded=("value", "ged"), select=best_trials,
        headings={"number": "Trial", "value": "Correctness", "ged": "GED"},
    ),
    "training": Layout(
        "How training ended", by=("dataset",),
        first=("method", "fold", "class", "discriminator_loss", "generator_loss", "flip_rate", "edits", "collapsed"),
    ),
    "nodes_printed": Layout(
        "CF-GNNExplainer's printed table",
        "BA-Shapes: the authors' own graph and weights. Tree-Cycles, Tree-Grid: graphs drawn anew by the same recipe, "
        "with the authors' weights; 95 % prediction interval over draws.",
        by=("dataset", "metric"), headings={"pi_low": "From", "pi_high": "To"}, rounded=("mean", "pi_low", "pi_high"),
        first=("method", "printed", "mean", "pi_low", "pi_high", "verdict", "kind", "can_fail"),
    ),
    "nodes": Layout(
        "Node classification", "Test nodes; found within 2: with at most two edits. Intervals over nodes.",
        by=("task", "metric"), headings={"n": "Nodes"}, rounded=("mean", "ci_low", "ci_high"),
        first=("method", "mean", "ci_low", "ci_high", "n"),
        select=_of("metric", "correctness", "found_within_2", "ged_on_success", "explain_calls"),
    ),
    "unseen": Layout(
        "Problems that nothing was worked out on", "Intervals over folds.", by=("task", "metric"),
        first=("method", "mean", "ci_low", "ci_high"), rounded=("mean", "ci_low", "ci_high"),
        select=_of("metric", "correctness", "ged_on_success", "explain_calls"),
    ),
    "streams": Layout(
        "Graphs that come in snapshots", "All snapshots together; intervals over replicates.", by=("task", "metric"),
        first=("method", "mean", "ci_low", "ci_high"), rounded=("mean", "ci_low", "ci_high"),
        select=lambda table: _of("metric", "correctness", "ged_on_success", "explain_calls")(
            table[table["snapshot"] == ""]
        ),
    ),
    "global_printed": Layout(
        "GCFExplainer's printed tables",
        "Coverage, by table of its paper and data set: which row is ahead, as printed and as measured.",
        by=("table", "task"), names=2, rounded=("mean_ahead", "mean_behind"),
        first=("ahead", "behind", "printed_ahead", "printed_behind", "mean_ahead", "mean_behind", "verdict"),
    ),
    "global": Layout(
        "A few graphs that explain a class",
        "Summaries of ten graphs. Coverage: share of inputs within the distance θ = .1 of one of them; cost: median "
        "distance from the nearest. Low and high bound the exact value, the mean is what edit paths in hand show.",
        by=("task", "metric"), first=("method", "mean", "low", "high"), rounded=("mean", "low", "high"),
        select=lambda table: _of("metric", "coverage", "cost", "calls")(table[table["k"] == "10"]),
    ),
    "speed": Layout(
        "CPU seconds of fold 0",
        "Ratio: how many times longer explaining takes one graph at a time; of RSGG-CE as released, how many times "
        "longer a plain implementation of the same stage takes (the lines called plain).",
        by=("dataset",), rounded=("cpu_seconds", "ratio"), headings={"cpu_seconds": "CPU seconds"},
    ),
    "table2_kinds": Layout(
        "What each row finds on real data",
        "By the rule of table2: explanations, adversarial examples, or too little to say.", by=("task",),
    ),
    "boundaries": Layout("RCExplainer's decision boundaries, per fold", by=("study",)),
    "drug_target": Layout(
        "Drug-target pairs",
        "Evaluations: different pairs that the network was asked about. Share: of the optimum's reward. Rank: among "
        "all joint actions. Change: of the predicted affinity.",
        by=("residues", "pair"), first=("method", "evaluations", "tried", "reward", "share", "rank", "change", "qed"),
        rounded=("reward", "share", "change", "qed"), select=_of("replicate", "0"),
    ),
    "": Layout(),
}  # fmt: skip


def as_stored(results: Results, *, name: str, everything: bool) -> list[Sheet]:
    """A stored table line by line; rows and data sets are called by their public names, empty columns left out."""
    layout = next(layout for start, layout in LAYOUTS.items() if name.startswith(start))
    table = stored(results, name)
    kept = _with_labels(table if everything else layout.select(table))
    first = layout.first if layout.first and not everything else kept.columns
    filled = [column for column in kept.columns if kept.empty or (kept[column] != "").any()]
    columns = [column for column in first if column in filled and column not in layout.by]
    for column in {*columns} & {*layout.rounded}:
        kept[column] = kept[column].map(number)
    groups = []
    for key, rows in kept.groupby([*layout.by], sort=False) if layout.by else [((), kept)]:
        groups.append(Group(", ".join(key), rows_of(rows[columns])))
    more = len(table) - len(kept)
    notes = [with_all(f"{more} more {'row' if more == 1 else 'rows'}")] if more else []
    notes += [with_all("all columns")] if len(first) < len(kept.columns) else []
    notes += ["No line is stored: nothing of it has been computed."] if table.empty else []
    headings = [layout.headings.get(column, column.replace("_", " ").capitalize()) for column in columns]
    return [Sheet(name, layout.title or name, headings, groups, layout.caption, notes, min(layout.names, len(columns)))]


def _with_labels(table: pd.DataFrame) -> pd.DataFrame:
    """A copy in which data sets and rows have their public names; searches, those of the rows that were searched."""
    table, renamed = table.copy(), SEARCHED_AS if "protocol" in table else {}
    for column in {"dataset", "task"} & {*table.columns}:
        table[column] = [tasks.label(name) for name in table[column]]
    if "metric" in table:
        table["metric"] = [METRICS[name].label if name in METRICS else name for name in table["metric"]]
    summaries = {method.name: method.label for method in global_methods.METHODS}
    for column in {"ahead", "behind"} & {*table.columns}:
        table[column] = [summaries.get(name, name) for name in table[column]]
    if "question" in table:
        table["question"] = table["question"].str.replace("rsgg-ce", row_label("rsgg-ce", "faithful"))
    for method, variant in (("method", "variant"), ("against_method", "against_variant")):
        if {method, variant} <= {*table.columns}:
            rows = zip(table[method], table.pop(variant), strict=True)
            table[method] = [_label(renamed.get(row, row)) for row in rows]
    return table


def _label(row: tuple[str, str]) -> str:
    """The public name of a row, be it of single graphs or of a whole class."""
    summary = global_methods.rows().get(row)
    return summary.label if summary and row not in methods.rows() else row_label(*row)
