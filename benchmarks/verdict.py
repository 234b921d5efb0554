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
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from benchmarks.options import RESULTS, ROOT
from rsgg.metrics import METRICS
from rsgg.statistics import Bounds

REPRODUCED, ORDER_HOLDS, DIFFERS = "reproduced", "order holds", "differs"
VERDICTS = (REPRODUCED, ORDER_HOLDS, DIFFERS)

LEVEL = 0.95  # of the prediction interval
ROUNDING = 0.5  # units of the last printed digit
MIN_FOLDS = 5  # with fewer, nothing is judged
MIN_REPLICATES = (
    3  # of ten folds each; with fewer, t quantiles are so large that the interval would hold almost anything
)
MACHINE_DEPENDENT = frozenset({"runtime"})
COMPARED_VARIANTS = frozenset({"released", "faithful"})  # what the paper's rows are about; other variants are not in it

_SLACK = 1e-9  # floating point only


# A printed row that comes from other data than its table says, and under which name those data are measured here.
PRINTED_ON = {"tree-cycles-32": ("tree-cycles", ("meg",))}

ANY = "*"


@cache
def explanations(path: Path = ROOT / "benchmarks" / "explanations.csv") -> tuple[tuple[tuple[str, str, str], str], ...]:
    """Why printed cells are what they are, in words."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return tuple(((line.dataset, line.method, line.metric), line.explanation) for line in table.itertuples())


def explanation(dataset: str, method: str, metric: str) -> str:
    """Why this printed cell is what it is: the first entry that fits."""
    for pattern, words in explanations():
        if all(part in (ANY, name) for part, name in zip(pattern, (dataset, method, metric), strict=True)):
            return words
    return ""


@dataclass(frozen=True)
class Printed:
    """A number as the paper prints it, where, and over how many folds it was averaged."""

    text: str
    place: str
    folds: int = 10

    @property
    def value(self) -> float:
        return float(self.text)

    @property
    def decimals(self) -> int:
        return len(self.text.partition(".")[2])

    @property
    def range(self) -> Bounds:
        """Everything that would be printed like this."""
        half = ROUNDING * 10.0**-self.decimals
        return Bounds(self.value - half, self.value + half)


@dataclass(frozen=True)
class Measured:
    """Our estimate, where a further 10-fold mean of ours would fall (NaN: not known), and what that is based on."""

    mean: float
    predicted: Bounds
    basis: str


@dataclass(frozen=True)
class Verdict:
    """One of `VERDICTS`, or empty where there is nothing to compare, and why."""

    verdict: str
    reason: str


@cache
def paper_table(path: Path = RESULTS / "paper" / "table1.csv") -> pd.DataFrame:
    """Table 1 as printed: values as text, `value` empty where the paper prints ×."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    return table.astype({"bold": int, "underlined": int, "folds": int}).set_index(["dataset", "method", "metric"])


@cache
def printed(dataset: str, method: str, metric: str) -> Printed | None:
    """What the paper prints for this cell, if anything."""
    table = paper_table()
    key = (_table_of(dataset, method), method, metric)
    if key not in table.index:
        return None
    row = table.loc[key]
    return Printed(row["value"], row["place"], int(row["folds"])) if row["value"] else None


def _table_of(dataset: str, method: str) -> str:
    """The data set in whose table the paper prints what is measured here on `dataset`."""
    table, methods = PRINTED_ON.get(dataset, (dataset, ()))
    return table if not methods or method in methods else dataset


def printed_methods(dataset: str, metric: str) -> dict[str, float]:
    """The printed values of all methods for this data set and metric."""
    table = PRINTED_ON[dataset][0] if dataset in PRINTED_ON else dataset
    rows = paper_table().xs((table, metric), level=("dataset", "metric"))["value"]
    return {str(method): float(value) for method, value in rows.items() if value}


@cache
def training_share(dataset: str, method: str) -> float:
    """The share of folds whose training is inside the printed row; 0 for methods and data sets the paper has not."""
    table = paper_table()
    key = (_table_of(dataset, method), method, "oracle_calls")
    return float(table.loc[key, "training"] or 0) if key in table.index else 0.0


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


# -- One verdict per printed cell ----------------------------------------------------------------------------------

VERDICT_COLUMNS = (
    "dataset", "method", "metric", "printed", "place", "measured_on", "mean", "pi_low", "pi_high",
    "verdict", "reason", "explanation",
)  # fmt: skip


def per_printed_cell(table: pd.DataFrame) -> pd.DataFrame:
    """The verdict on every number that Table 1 prints, from the released variants: `VERDICT_COLUMNS`.

    A row that comes from other data than its table says is judged on those. What was not measured has no verdict.
    """
    released = table[table["variant"] == "released"].set_index(["dataset", "method", "metric"])
    lines = []
    for (dataset, method, metric), cell in paper_table().iterrows():
        if not cell["value"]:
            continue
        where = next((data for data, (of, whose) in PRINTED_ON.items() if of == dataset and method in whose), dataset)
        line: dict[str, object] = {"dataset": dataset, "method": method, "metric": metric, "printed": cell["value"]}
        line |= {"place": cell["place"], "measured_on": where, "verdict": "", "reason": "not measured"}
        if (where, method, metric) in released.index:
            ours = released.loc[(where, method, metric)]
            line |= {name: ours[name] for name in ("pi_low", "pi_high", "verdict", "reason")} | {"mean": ours["judged"]}
        lines.append({**line, "explanation": explanation(where, str(method), str(metric))})
    return pd.DataFrame(lines, columns=list(VERDICT_COLUMNS))
