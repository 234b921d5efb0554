"""Is a printed number reproduced, and what is that worth? The rules, and the words for it: `benchmarks.registry.rules`.

A run of fewer than `MIN_FOLDS` folds (a smoke run, say) is not judged at all: its interval would be so wide that it
holds almost anything, and "reproduced" would mean nothing. Each verdict comes with its reason in words, made from the
numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.registry.rules import (
    AGREES,
    CAN_FAIL,
    CANNOT_FAIL,
    COMPARED_VARIANTS,
    DERIVED,
    DIFFERS,
    MACHINE_DEPENDENT,
    MIN_FOLDS,
    NOT_COMPARABLE,
    ONE_WAY,
    ORDER_HOLDS,
    REPRODUCED,
    WHY_NOT_COMPARABLE,
)
from benchmarks.results.files import PAPER
from benchmarks.results.paper import Printed, measured_on, paper_table, printed, printed_methods
from benchmarks.results.summary import ROW
from rsgg.statistics import Bounds

COLUMNS = (
    *ROW, "metric", "paper", "mean", "ci_low", "ci_high", "verdict", "reason",
    "pi_low", "pi_high", "judged", "n", "folds", "replicates", "replicates_shown",
)  # fmt: skip
VERDICT_COLUMNS = (
    "dataset", "method", "metric", "printed", "place", "measured_on", "mean", "pi_low", "pi_high",
    "verdict", "reason", "explanation", "kind", "can_fail", "why",
)  # fmt: skip

_SLACK = 1e-9  # floating point only
ANY = "*"


# -- What is said about cells by hand ----------------------------------------------------------------------


@cache
def _patterns(path: Path, column: str) -> tuple[tuple[tuple[str, ...], str], ...]:
    """The lines of a file as (data set, method, metric) and what a column says about such cells."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return tuple(((line["dataset"], line["method"], line["metric"]), line[column]) for line in table.to_dict("records"))


def _first_that_fits(path: Path, column: str, cell: tuple[str, str, str]) -> str:
    for pattern, words in _patterns(path, column):
        if all(part in (ANY, name) for part, name in zip(pattern, cell, strict=True)):
            return words
    return ""


def explanation(dataset: str, method: str, metric: str) -> str:
    """Why this printed cell is what it is."""
    return _first_that_fits(Path(__file__).with_name("explanations.csv"), "explanation", (dataset, method, metric))


def kind(dataset: str, method: str, metric: str) -> str:
    """Where this printed cell comes from, one of `benchmarks.registry.rules.KINDS`; by the data set of its table."""
    return _first_that_fits(PAPER / "kinds.csv", "kind", (dataset, method, metric))


# -- One printed cell --------------------------------------------------------------------------------------


class Measured(NamedTuple):
    """Our estimate, where a further 10-fold mean of ours would fall (NaN: not known), and what that is based on."""

    mean: float
    predicted: Bounds
    basis: str


class Verdict(NamedTuple):
    """One of the verdicts that `benchmarks.registry.rules` lists, or empty where nothing is compared; and why."""

    verdict: str
    reason: str


class Worth(NamedTuple):
    """Could agreement with a printed cell have failed: "yes", "no", or empty where nothing was measured; and why."""

    can_fail: str
    why: str


def rank(values: dict[str, float], method: str, *, higher_is_better: bool) -> int:
    """1 + the number of methods that are strictly better."""
    sign = 1 if higher_is_better else -1
    return 1 + sum(sign * other > sign * values[method] for other in values.values())


def judge(dataset: str, method: str, metric: str, measured: Measured) -> Verdict:
    """The verdict on one printed cell; empty where the paper prints nothing or too little was measured."""
    paper = printed(dataset, method, metric)
    if paper is None or math.isnan(measured.mean):
        return Verdict("", "")
    if math.isnan(measured.predicted.low):
        return Verdict("", f"not judged: {measured.basis}, and at least {MIN_FOLDS} folds are needed")
    if metric in MACHINE_DEPENDENT:
        seconds = f"{measured.mean:.3g} s here, {paper.text} s printed"
        return Verdict(NOT_COMPARABLE, f"{WHY_NOT_COMPARABLE} ({seconds})")
    inside, finding = against_interval(paper, measured)
    if inside:
        return Verdict(REPRODUCED, finding)
    holds, order = _against_order(dataset, method, metric, paper, measured.mean)
    return Verdict(ORDER_HOLDS if holds else DIFFERS, f"{finding}; {order}")


def holds(interval: Bounds, paper: Printed) -> bool:
    """Does the interval hold anything that would be printed like this?"""
    slack = _SLACK * max(1.0, abs(paper.value))
    return paper.range.high >= interval.low - slack and paper.range.low <= interval.high + slack


def against_interval(paper: Printed, measured: Measured) -> tuple[bool, str]:
    """Does our prediction interval hold the printed number? And both in words."""
    low, high = measured.predicted
    d = paper.decimals
    interval = f"our 95 % prediction interval [{low:.{d}f}, {high:.{d}f}] ({measured.basis})"
    if holds(measured.predicted, paper):
        return True, f"the printed {paper.text} lies inside {interval}"
    distance, side = (low - paper.value, "below") if paper.value < low else (paper.value - high, "above")
    relative = f" ({100 * distance / abs(paper.value):.1f} %)" if paper.value else ""
    return False, f"the printed {paper.text} lies {distance:.{d}f}{relative} {side} {interval}"


def _against_order(dataset: str, method: str, metric: str, paper: Printed, mean: float) -> tuple[bool, str]:
    values, higher = printed_methods(dataset, metric), METRICS[metric].higher_is_better
    ours = round(mean, paper.decimals)
    before = rank(values, method, higher_is_better=higher)
    after = rank({**values, method: ours}, method, higher_is_better=higher)
    place = f"with our {ours:.{paper.decimals}f} in its place the method"
    if before == after:
        return True, f"{place} keeps rank {before} of {len(values)}"
    return False, f"{place} moves from rank {before} to rank {after} of {len(values)}"


def worth(
    dataset: str, method: str, metric: str, predicted: Bounds, prior: float | None = None, *, verdict: str = REPRODUCED
) -> Worth:
    """Could agreement with this printed cell have failed?

    `dataset` is the one of the printed table, `predicted` our prediction interval. `prior` is given for the Correctness
    of a method that moves every graph one way, and for a Fidelity that follows from it: the share of the class that it
    leaves.
    """
    if metric in MACHINE_DEPENDENT:
        return Worth(CANNOT_FAIL, f"not judged: {WHY_NOT_COMPARABLE}")
    rivals = {name: printed(dataset, name, metric) for name in printed_methods(dataset, metric) if name != method}
    return worth_of(predicted, {methods.label(name): paper for name, paper in rivals.items() if paper}, prior, verdict)


def worth_of(predicted: Bounds, rivals: Mapping[str, Printed], prior: float | None, verdict: str) -> Worth:
    """The same of any printed table: `rivals` is what it prints for its other methods, by their public names."""
    if math.isnan(predicted.low):
        return Worth("", "")
    if verdict != REPRODUCED:
        return Worth(CAN_FAIL, "it did")
    held = [(name, paper.text) for name, paper in rivals.items() if holds(predicted, paper)]
    reasons = []
    if held:
        listed = ", ".join(f"{text} ({name})" for name, text in held)
        reasons.append(f"our interval also holds what is printed for {len(held)} of {len(rivals)} rivals: {listed}")
    if prior is not None and predicted.low - _SLACK <= prior <= predicted.high + _SLACK:
        reasons.append(f"every graph is moved one way, and our interval holds the share of a class, {prior:.3f}")
    if reasons:
        return Worth(CANNOT_FAIL, "; ".join(reasons))
    return Worth(CAN_FAIL, f"our interval excludes what is printed for all {len(rivals)} rivals")


# -- Whole tables ----------------------------------------------------------------------------------------


def judged(summary: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS`, the lines of table1.csv: the summary with what the paper prints, the verdict and its reason."""
    lines = []
    for line in summary.to_dict("records"):
        compared = line["variant"] in COMPARED_VARIANTS
        paper = printed(line["dataset"], line["method"], line["metric"]) if compared else None
        verdict = Verdict("", "") if paper is None else _of_row(line)
        lines.append({**line, **verdict._asdict(), "paper": "" if paper is None else paper.text})
    return _withdrawn(pd.DataFrame(lines, columns=list(COLUMNS)))


def _of_row(line: Mapping[str, Any]) -> Verdict:
    """The verdict on a cell of a row: one as released, on the data of the printed row, reproduces it; others agree."""
    where = measured_on(line["dataset"], line["method"])
    if where != line["dataset"]:
        return Verdict("", f"not judged: the printed row comes from other data ({tasks.label(where)})")
    measured = Measured(line["judged"], Bounds(line["pi_low"], line["pi_high"]), line["basis"])
    verdict, reason = judge(line["dataset"], line["method"], line["metric"], measured)
    agrees = verdict == REPRODUCED and line["variant"] != "released"
    return Verdict(AGREES if agrees else verdict, reason)


def _withdrawn(table: pd.DataFrame) -> pd.DataFrame:
    """The same without the agreements of rows that are not as released and could not have failed."""
    for (dataset, method, _), rows in table[table["variant"] != "released"].groupby(ROW, sort=False):
        by_metric = rows.set_index("metric").to_dict("index")
        for i, line in rows[rows["verdict"] == AGREES].iterrows():
            predicted, metric = Bounds(line["pi_low"], line["pi_high"]), line["metric"]
            found = worth(dataset, method, metric, predicted, _prior(dataset, method, metric, by_metric))
            if found.can_fail == CANNOT_FAIL:
                table.loc[i, ["verdict", "reason"]] = "", f"not judged: {found.why}"
    return table


def per_printed_cell(table: pd.DataFrame) -> pd.DataFrame:
    """The verdict on every number that Table 1 prints, and what it is worth, from the released variants.

    A row that comes from other data than its table says is judged on those. What was not measured has no verdict.
    Returns `VERDICT_COLUMNS`.
    """
    released = table[table["variant"] == "released"].set_index(["dataset", "method", "metric"]).sort_index()
    lines = []
    for (dataset, method, metric), cell in paper_table().iterrows():
        if not cell["value"]:
            continue
        where = measured_on(dataset, method)
        line: dict[str, object] = {"dataset": dataset, "method": method, "metric": metric, "printed": cell["value"]}
        line |= {"place": cell["place"], "measured_on": where, "verdict": "", "reason": "not measured"}
        if (where, method, metric) in released.index:
            ours = released.loc[(where, method, metric)]
            line |= {name: ours[name] for name in ("pi_low", "pi_high", "verdict", "reason")} | {"mean": ours["judged"]}
            prior = _prior(dataset, method, metric, released.loc[(where, method)].to_dict("index"))
            predicted = Bounds(ours["pi_low"], ours["pi_high"])
            line |= worth(dataset, method, metric, predicted, prior, verdict=ours["verdict"])._asdict()
        line |= {"kind": kind(dataset, method, metric), "explanation": explanation(where, method, metric)}
        lines.append(line)
    return pd.DataFrame(lines, columns=list(VERDICT_COLUMNS))


def _prior(dataset: str, method: str, metric: str, row: Mapping[str, Mapping[str, float]]) -> float | None:
    """The class prior that a cell may be, for Correctness and for a Fidelity that follows from it; else None."""
    follows = metric == "fidelity" and kind(dataset, method, metric) == DERIVED
    return class_prior(row) if metric == "correctness" or follows else None


def class_prior(row: Mapping[str, Mapping[str, float]]) -> float | None:
    """The share of the class whose graphs alone are changed, if a method moves every graph one way, else None.

    `row` holds the lines of table1.csv of a method on a data set, by metric.
    """
    if not {"correctness_class_0", "correctness_class_1"} <= row.keys():
        return None
    failing, working = sorted((row[f"correctness_class_{c}"] for c in (0, 1)), key=lambda line: line["mean"])
    if failing["mean"] > ONE_WAY or working["mean"] < 1 - ONE_WAY:
        return None
    return working["n"] / (working["n"] + failing["n"])
