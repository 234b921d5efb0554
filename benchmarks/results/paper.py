"""The paper's numbers, as data: what Table 1 and the appendix print (`results/paper`), asked for cell by cell."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.registry.rules import ROUNDING
from benchmarks.results.files import PAPER
from rsgg.statistics import Bounds

PRINTED_ON = {"tree-cycles-32": ("tree-cycles", ("meg",))}
"""A printed row that comes from other data than its table says, and under which name those data are measured here."""


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


def of_paper(name: str, **how: Any) -> pd.DataFrame:
    """A file of `results/paper`, e.g. "table1", "datasets" or "hyperparameters"."""
    return pd.read_csv(PAPER / f"{name}.csv", **how)


@cache
def paper_table(path: Path = PAPER / "table1.csv") -> pd.DataFrame:
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


def measured_on(dataset: str, method: str) -> str:
    """The task on which what the paper prints for this data set and method is measured here."""
    return next((name for name, (of, whose) in PRINTED_ON.items() if of == dataset and method in whose), dataset)


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
