"""Evidence: the stored results that findings and claims are computed from; what is not there was not measured."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.registry import ablations, methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.registry.rules import MIN_POINTS
from benchmarks.results.paper import printed
from benchmarks.results.summary import accounted


class NotMeasured(Exception):
    """A finding or a claim needs a row that is not there."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The table in numbers, the ledger behind it, the folder of the data, and the folder that other experiments have
    written their tables to."""

    table: pd.DataFrame
    ledger: pd.DataFrame
    data_dir: Path | None = None
    folder: Path | None = None

    @cached_property
    def _indexed(self) -> pd.DataFrame:
        return self.table.set_index(["dataset", "method", "variant", "metric"])

    @cached_property
    def _places(self) -> dict[tuple[str, str, str], np.ndarray]:
        """Where in the ledger the rows of a row of the table are: hundreds of findings and claims ask for some."""
        if self.ledger.empty:
            return {}
        return dict(self.ledger.groupby(["dataset", "method", "variant"], sort=False).indices)

    def line(self, dataset: str, method: str, variant: str, metric: str) -> pd.Series:
        try:
            return self._indexed.loc[(dataset, method, variant, metric)]
        except KeyError as error:
            raise NotMeasured(f"{tasks.label(dataset)}, {methods.label(method, variant)} was not measured") from error

    def mean(self, dataset: str, method: str, variant: str, metric: str) -> float:
        return float(self.line(dataset, method, variant, metric)["mean"])

    def rows(self, dataset: str, method: str, variant: str, *, all_replicates: bool = False) -> pd.DataFrame:
        """Ledger rows of replicate 0, or of all replicates."""
        if (dataset, method, variant) not in self._places:
            raise NotMeasured(f"{tasks.label(dataset)}, {methods.label(method, variant)} was not measured")
        found = self.ledger.iloc[self._places[dataset, method, variant]]
        return found if all_replicates else found[found["seed"] == found["seed"].min()]

    def fold_means(self, dataset: str, method: str, variant: str) -> pd.DataFrame:
        """The mean of every metric in each fold of all replicates, by seed and fold; made once, as many claims ask."""
        row = (dataset, method, variant)
        if row not in self._fold_means:
            of_graphs = accounted(self.rows(*row, all_replicates=True))
            self._fold_means[row] = of_graphs.groupby(["seed", "fold"])[list(METRICS)].mean()
        return self._fold_means[row]

    @cached_property
    def _fold_means(self) -> dict[tuple[str, str, str], pd.DataFrame]:
        return {}

    def reproduced(self, dataset: str, method: str, *metrics: str) -> bool:
        """Are these printed cells inside our intervals? Where too few folds were run to say, that was not measured."""
        verdicts = [str(self.line(dataset, method, "released", metric)["verdict"]) for metric in metrics]
        if not all(verdicts):
            raise NotMeasured(
                f"too few folds of {tasks.label(dataset)}, {methods.label(method, 'released')} were run for a verdict"
            )
        return verdicts == ["reproduced"] * len(metrics)

    def side_by_side(self, dataset: str, one: tuple[str, str], other: tuple[str, str]) -> pd.DataFrame:
        """Two rows' outcomes on the same instances of all replicates that both have, the second's with the suffix
        _other."""
        rows = [self.rows(dataset, *row, all_replicates=True) for row in (one, other)]
        shared = set(rows[0]["seed"]) & set(rows[1]["seed"])
        both = [own[own["seed"].isin(shared)].set_index(["seed", "fold", "instance"]) for own in rows]
        if not shared or set(both[0].index) != set(both[1].index):
            names = " and ".join(methods.label(*row) for row in (one, other))
            raise NotMeasured(f"{names} were not measured on the same graphs of {tasks.label(dataset)}")
        return both[0].join(both[1].add_suffix("_other"))

    def stored(self, name: str, command: str, columns: Sequence[str] = ()) -> pd.DataFrame:
        """A table that another experiment has written, with these columns at least."""
        table = pd.DataFrame()
        if self.folder is not None:
            with suppress(FileNotFoundError, pd.errors.EmptyDataError):
                table = pd.read_csv(self.folder / name, keep_default_na=False, na_values=[""])
        if table.empty:
            raise NotMeasured(f"{name} is not there or empty; {command} computes it")
        if lacking := [column for column in columns if column not in table]:
            raise NotMeasured(f"{name} has no column {lacking[0]!r}, so that it is no whole table; {command} writes it")
        return table

    def curve(self, vary: str, method: str, variant: str, metric: str) -> pd.DataFrame:
        """Columns mean, se and folds over the values of an ablation; both ends and four values in all must be there."""
        command = f"./reproduce.sh ablation --vary {vary}"
        columns = ("value", "method", "variant", "metric", "mean", "se", "folds")
        table = self.stored(f"ablation_{vary}.csv", command, columns)
        of_row = (table["method"] == method) & (table["variant"] == variant) & (table["metric"] == metric)
        found = table[of_row].set_index("value").sort_index()
        values = list(ablations.PAPER[vary].points)
        if len(found) < MIN_POINTS or not {values[0], values[-1]} <= set(found.index):
            gaps = ", ".join(str(value) for value in values if value not in found.index)
            raise NotMeasured(
                f"{metric} of {methods.label(method, variant)} is not in ablation_{vary}.csv at {gaps}; {command} "
                "computes it"
            )
        return found[["mean", "se", "folds"]]


def paper_value(dataset: str, method: str, metric: str) -> float:
    cell = printed(dataset, method, metric)
    if cell is None:
        raise NotMeasured(f"the paper prints no {metric} of {methods.label(method)} on {tasks.label(dataset)}")
    return cell.value
