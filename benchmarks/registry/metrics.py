"""Every column of the tables: a metric's name in files, its label, and its formula on the rows of a ledger.

A formula takes ledger rows (a line per test graph, see `benchmarks.results.ledger`) and gives a value per row, NaN
where the metric does not apply. Two accountings of cost are kept apart. *Paper*: oracle calls and runtime as behind
Table 1, i.e. the released code's calls per check (column `calls_per_check`), with training spread over the test fold
where the printed row contains it (column `training_share`). *Honest*: fitting and explaining apart, the input asked
about once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rsgg import metrics as formulas
from rsgg.statistics import Bounds

Formula = Callable[[pd.DataFrame], Any]
POSITIVE, SHARE = Bounds(0.0, math.inf), Bounds(0.0, 1.0)


@dataclass(frozen=True)
class Metric:
    """A column: its name in files, its label, whether more is better, its formula, how many decimals to print, and
    between which bounds its values lie."""

    name: str
    label: str
    higher_is_better: bool
    formula: Formula
    decimals: int = 3
    bounds: Bounds = POSITIVE

    @property
    def arrow(self) -> str:
        return "↑" if self.higher_is_better else "↓"


def _correctness(rows: pd.DataFrame) -> Any:
    return formulas.correctness(rows["predicted"], rows["predicted_cf"])


def _of_class(c: int) -> Formula:
    return lambda rows: formulas.correctness_of_class(_correctness(rows), rows["predicted"], c)


def _checks(rows: pd.DataFrame) -> Any:
    """Calls beyond the question about the input, as often as the released code asks per check."""
    return rows["calls_per_check"] * (rows["calls"] - 1)


def _shared(rows: pd.DataFrame, what: str) -> Any:
    """What fitting cost, spread over the test graphs of the fold."""
    return rows[f"fit_{what}"] / rows["test_size"]


TABLE1 = (
    Metric("runtime", "Runtime (s)", False, lambda r: r["seconds"] + r["training_share"] * _shared(r, "seconds")),
    Metric("ged", "GED", False, lambda r: r["ged"]),
    Metric("oracle_calls", "Oracle Calls", False, lambda r: _checks(r) + r["training_share"] * _shared(r, "calls")),
    Metric("correctness", "Correctness", True, _correctness, bounds=SHARE),
    Metric("sparsity", "Sparsity", False, lambda r: formulas.sparsity(r["ged"], r["n_nodes"], r["n_edges"])),
    Metric(
        "fidelity", "Fidelity", True, lambda r: formulas.fidelity(r["label"], r["predicted"], r["predicted_cf"]),
        bounds=Bounds(-1.0, 1.0),
    ),
    Metric(
        "oracle_accuracy", "Oracle Acc.", True, lambda r: formulas.oracle_accuracy(r["label"], r["predicted"]),
        bounds=SHARE,
    ),
)  # fmt: skip
FURTHER = (
    Metric("ged_on_success", "GED on success", False, lambda r: formulas.ged_on_success(r["ged"], _correctness(r))),
    Metric("correctness_class_0", "Correctness, class 0", True, _of_class(0), bounds=SHARE),
    Metric("correctness_class_1", "Correctness, class 1", True, _of_class(1), bounds=SHARE),
    Metric(
        "optimality_gap", "GED / GED*", False,
        lambda r: formulas.optimality_gap(r["ged"], _correctness(r), r["optimum"]),
    ),
    Metric(
        "optimum_on_success", "GED* of what is explained", False,
        lambda r: formulas.ged_on_success(r["optimum"], _correctness(r)),
    ),
    Metric("removal_auroc", "AUROC of removals", True, lambda r: r.get("removal_auroc", np.nan), bounds=SHARE),
    Metric("explain_calls", "Calls to explain", False, lambda r: r["calls"]),
    Metric("explain_seconds", "Seconds to explain", False, lambda r: r["seconds"]),
    Metric("fit_calls", "Calls to fit (per fold)", False, lambda r: r["fit_calls"], 1),
    Metric("fit_seconds", "Seconds to fit (per fold)", False, lambda r: r["fit_seconds"]),
    Metric(
        "oracle_calls_with_training", "Oracle Calls, training shared out", False,
        lambda r: _checks(r) + _shared(r, "calls"),
    ),
    Metric("oracle_calls_without_training", "Oracle Calls, training left out", False, _checks),
    Metric(
        "runtime_with_training", "Runtime, training shared out (s)", False,
        lambda r: r["seconds"] + _shared(r, "seconds"),
    ),
    Metric("runtime_without_training", "Runtime, training left out (s)", False, lambda r: r["seconds"]),
)  # fmt: skip
METRICS = {metric.name: metric for metric in TABLE1 + FURTHER}


def per_instance(ledger: pd.DataFrame) -> pd.DataFrame:
    """The ledger's first candidates with every metric as a column; it has `calls_per_check` and `training_share`."""
    rows = ledger[ledger["candidate"] == 0].reset_index(drop=True)
    return rows.assign(**{metric.name: metric.formula(rows) for metric in METRICS.values()})
