"""CF-GNNExplainer's printed table, number by number: what is measured here, and whether that is the same.

The table is results/paper/cf-gnn-explainer/table.csv: `value` is what the README prints, or what a notebook of the
authors prints, at two digits; `notebook` has all digits. The rules are in `benchmarks.registry.rules`. Its metrics:

    fidelity = 1 - share of nodes with a counterfactual   (so the lower the better)
    size     = deleted edges                              of nodes with a counterfactual
    sparsity = 1 - deleted edges / edges of the ego network         of the same
    accuracy = share of the other ends of deleted edges that are predicted to be in a motif, where v is predicted to be

`judged` has a line for each printed number and each row here that it is held against.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.judging.verdicts import Measured, Verdict, Worth, against_interval, worth_of
from benchmarks.registry import methods, tasks
from benchmarks.registry.rules import (
    AGREES,
    CANNOT_FAIL,
    DIFFERS,
    MIN_REPLICATES,
    OTHER_DRAWS,
    REPRODUCED,
    SAME_DRAW,
)
from benchmarks.results.paper import Printed, of_paper
from rsgg.statistics import NO_INTERVAL, Bounds, prediction_interval

COLUMNS = (
    "dataset", "method", "variant", "metric", "printed", "notebook", "place", "measured_on", "mean", "pi_low",
    "pi_high", "nodes", "replicates", "verdict", "reason", "kind", "can_fail", "why",
)  # fmt: skip
PER_NODE: dict[str, Callable[[pd.DataFrame], pd.Series]] = {  # of the lines of `benchmarks.nodes.per_node`
    "fidelity": lambda rows: 1 - rows["correctness"],
    "size": lambda rows: rows["ged_on_success"],
    "sparsity": lambda rows: rows["edges_untouched"],
    "accuracy": lambda rows: rows["ends_predicted_in_motifs"],
}
MEASURED_ON = {
    "ba-shapes-lucic": "ba-shapes-lucic",
    "tree-cycles-lucic": "tree-cycles-lucic-generated",
    "tree-grid-lucic": "tree-grid-lucic-generated",
}
HELD_AGAINST = {  # by printed row: the rows here, of which the first is what was printed
    "cf-gnn-explainer": (
        ("cf-gnn-explainer", "released"), ("cf-gnn-explainer", "faithful"), ("cf-gnn-explainer-slow", "control"),
    ),
    "remove-ego": (("remove-ego", "control"),),
    "keep-ego": (("keep-ego", "control"),),
    "random": (("random-masks", "control"),),
}  # fmt: skip
BY_CHANCE = ("random-masks",)  # rows that differ from run to run on the same draw


class Value(NamedTuple):
    """What a row measures: its mean, where a further mean would fall (NaN: not known), over how much."""

    mean: float
    predicted: Bounds
    nodes: int
    replicates: int


def judged(rows: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS`: the verdicts on all printed numbers, from the lines of `benchmarks.nodes.per_node`."""
    table = of_paper("cf-gnn-explainer/table", dtype=str, keep_default_na=False)
    by_row = dict(iter(rows.groupby(["dataset", "method", "variant"], sort=False)))
    lines: list[dict[str, Any]] = []
    for cell in table[table["value"] != ""].to_dict("records"):
        where, known = MEASURED_ON[cell["dataset"]], {name: cell[name] for name in ("dataset", "metric", "kind")}
        known |= {name: cell[name] for name in ("notebook", "place")} | {"printed": cell["value"], "measured_on": where}
        for method, variant in HELD_AGAINST[cell["method"]]:
            if methods.rows()[method, variant].unsupported(where):
                continue
            line = {**known, "method": method, "variant": variant}
            own = by_row.get((where, method, variant))
            lines.append(line | ({"reason": "not measured"} if own is None else _line(cell, (method, variant), own)))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _line(cell: dict[str, str], row: methods.Row, own: pd.DataFrame) -> dict[str, Any]:
    """What is said about a printed cell by a row that was measured."""
    value = measured(cell["metric"], own, same_draw=_same_draw(cell, row[0]))
    verdict, worth = judge(cell, value, printed_itself=HELD_AGAINST[cell["method"]][0] == row)
    bounds = {"pi_low": value.predicted.low, "pi_high": value.predicted.high}
    counts = {"mean": value.mean, "nodes": value.nodes, "replicates": value.replicates}
    return counts | bounds | verdict._asdict() | worth._asdict()


def _same_draw(cell: dict[str, str], method: str) -> bool:
    """Is there nothing to estimate: a row without chance on the authors' own draw?"""
    return not tasks.task(MEASURED_ON[cell["dataset"]]).generated and method not in BY_CHANCE


def measured(metric: str, own: pd.DataFrame, *, same_draw: bool) -> Value:
    """The value of a row; its interval is the value alone on the authors' own draw, else from the means of draws."""
    values = PER_NODE[metric](own).astype(float)
    means = values.groupby(own["seed"]).mean().dropna()
    mean, counts = float(means.mean()), (int(values.notna().sum()), len(means))
    if same_draw:
        return Value(mean, Bounds(mean, mean), *counts)
    if len(means) < MIN_REPLICATES:
        return Value(mean, NO_INTERVAL, *counts)
    low, high = prediction_interval(means)
    most = math.inf if metric == "size" else 1.0
    return Value(mean, Bounds(max(low, 0.0), min(high, most)), *counts)


def judge(cell: dict[str, str], value: Value, *, printed_itself: bool) -> tuple[Verdict, Worth]:
    """The verdict on a printed cell, and what it is worth; `printed_itself`: this row is the one that was printed."""
    paper = Printed(cell["value"], cell["place"])
    if math.isnan(value.predicted.low):
        why = f"not judged: {value.replicates} draws, and at least {MIN_REPLICATES} are needed"
        return Verdict("", why), Worth("", "")
    generated = tasks.task(MEASURED_ON[cell["dataset"]]).generated
    basis = f"{value.replicates} draws: {OTHER_DRAWS}" if generated else f"{value.replicates} runs on {SAME_DRAW}"
    inside, reason = against_interval(paper, Measured(value.mean, value.predicted, basis))
    if not generated and value.predicted.low == value.predicted.high:
        reason = f"{paper.text} is printed, {value.mean:.4f} measured on {SAME_DRAW}"
    worth = worth_of(value.predicted, _rivals(cell), None, REPRODUCED if inside else DIFFERS)
    if not inside:
        return Verdict(DIFFERS, reason), worth
    if printed_itself:
        return Verdict(REPRODUCED, reason), worth
    if worth.can_fail == CANNOT_FAIL:
        return Verdict("", f"not judged: {worth.why}"), worth
    return Verdict(AGREES, reason), worth


def _rivals(cell: dict[str, str]) -> dict[str, Printed]:
    """What is printed for the other rows of the data set, by their names here."""
    table = of_paper("cf-gnn-explainer/table", dtype=str, keep_default_na=False)
    same = (table["dataset"] == cell["dataset"]) & (table["metric"] == cell["metric"]) & (table["value"] != "")
    others = table[same & (table["method"] != cell["method"])]
    named = (HELD_AGAINST[method] for method in others["method"])
    labels = (methods.label(*rows[0]) for rows in named)
    return {label: Printed(value, "") for label, value in zip(labels, others["value"], strict=True)}
