"""Is a printed number reproduced? The tolerances, declared here before anything is compared, and the words for it.

For each cell of Table 1 that the paper prints and we measured:

- `reproduced`: the printed value, give or take half a unit of its last digit, lies inside our 95 % prediction interval
  for a 10-fold mean (`rsgg.statistics.prediction_interval`): it could have been one more of our replicates.
- `order holds`: it lies outside, but with our value in its place the method keeps its rank among the printed methods.
- `differs`: neither.

Runtimes are never judged by an interval, since the hardware is another one; for them only the order can hold. A run of
fewer than `MIN_FOLDS` folds (a smoke run, say) is not judged at all: its interval would be so wide that it holds almost
anything, and "reproduced" would mean nothing. Each verdict comes with its reason in words, made from the numbers.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmarks.registry.metrics import METRICS
from benchmarks.results.paper import Printed, measured_on, paper_table, printed, printed_methods
from benchmarks.results.summary import MIN_FOLDS, ROW
from rsgg.statistics import Bounds

REPRODUCED, ORDER_HOLDS, DIFFERS = "reproduced", "order holds", "differs"

MACHINE_DEPENDENT = frozenset({"runtime"})
COMPARED_VARIANTS = frozenset({"released", "faithful"})  # what the paper's rows are about; other variants are not in it

COLUMNS = (
    *ROW, "metric", "paper", "mean", "ci_low", "ci_high", "verdict", "reason",
    "pi_low", "pi_high", "judged", "n", "folds", "replicates",
)  # fmt: skip
VERDICT_COLUMNS = (
    "dataset", "method", "metric", "printed", "place", "measured_on", "mean", "pi_low", "pi_high",
    "verdict", "reason", "explanation",
)  # fmt: skip

_SLACK = 1e-9  # floating point only
ANY = "*"


@cache
def explanations() -> tuple[tuple[tuple[str, ...], str], ...]:
    """Why printed cells are what they are, in words."""
    table = pd.read_csv(Path(__file__).with_name("explanations.csv"), dtype=str, keep_default_na=False)
    return tuple(((line.dataset, line.method, line.metric), line.explanation) for line in table.itertuples())


def explanation(dataset: str, method: str, metric: str) -> str:
    """Why this printed cell is what it is: the first entry that fits."""
    for pattern, words in explanations():
        if all(part in (ANY, name) for part, name in zip(pattern, (dataset, method, metric), strict=True)):
            return words
    return ""


class Measured(NamedTuple):
    """Our estimate, where a further 10-fold mean of ours would fall (NaN: not known), and what that is based on."""

    mean: float
    predicted: Bounds
    basis: str


class Verdict(NamedTuple):
    """Reproduced, order holds or differs, or empty where there is nothing to compare; and why."""

    verdict: str
    reason: str


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
        finding = f"another machine ({measured.mean:.3g} s here, {paper.text} s printed), so no interval is applied"
    else:
        inside, finding = _against_interval(paper, measured)
        if inside:
            return Verdict(REPRODUCED, finding)
    holds, order = _against_order(dataset, method, metric, paper, measured.mean)
    return Verdict(ORDER_HOLDS if holds else DIFFERS, f"{finding}; {order}")


def _against_interval(paper: Printed, measured: Measured) -> tuple[bool, str]:
    low, high = measured.predicted
    d = paper.decimals
    interval = f"our 95 % prediction interval [{low:.{d}f}, {high:.{d}f}] ({measured.basis})"
    slack = _SLACK * max(1.0, abs(paper.value))
    if paper.range.high >= low - slack and paper.range.low <= high + slack:
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


# -- Whole tables ----------------------------------------------------------------------------------------


def judged(summary: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS`, the lines of table1.csv: the summary with what the paper prints, the verdict and its reason."""
    lines = []
    for line in summary.to_dict("records"):
        paper = (
            printed(line["dataset"], line["method"], line["metric"]) if line["variant"] in COMPARED_VARIANTS else None
        )
        verdict = Verdict("", "")
        if paper is not None:
            measured = Measured(line["judged"], Bounds(line["pi_low"], line["pi_high"]), line["basis"])
            verdict = judge(line["dataset"], line["method"], line["metric"], measured)
        lines.append({**line, **verdict._asdict(), "paper": "" if paper is None else paper.text})
    return pd.DataFrame(lines, columns=list(COLUMNS))


def per_printed_cell(table: pd.DataFrame) -> pd.DataFrame:
    """The verdict on every number that Table 1 prints, from the released variants: `VERDICT_COLUMNS`.

    A row that comes from other data than its table says is judged on those. What was not measured has no verdict.
    """
    released = table[table["variant"] == "released"].set_index(["dataset", "method", "metric"])
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
        lines.append({**line, "explanation": explanation(where, str(method), str(metric))})
    return pd.DataFrame(lines, columns=list(VERDICT_COLUMNS))
