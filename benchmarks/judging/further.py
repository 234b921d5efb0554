"""Further published numbers on the paper's data, each with a verdict; the rule is in `benchmarks.registry.rules`."""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks.judging.verdicts import Measured, against_interval, class_prior, worth_of
from benchmarks.registry import methods
from benchmarks.registry.methods import Row
from benchmarks.registry.rules import DIFFERS, REPRODUCED
from benchmarks.results.paper import Printed, of_paper
from rsgg.statistics import Bounds

COLUMNS = (
    "source", "dataset", "method", "variant", "metric", "printed", "mean", "pi_low", "pi_high",
    "verdict", "reason", "kind", "can_fail", "why", "note", "place",
)  # fmt: skip


def per_further_cell(table: pd.DataFrame) -> pd.DataFrame:
    """The verdict on every number of results/paper/further.csv, by the lines of table1.csv.

    What was not measured has no verdict. Returns `COLUMNS`, a line per published number.
    """
    measured = table.set_index(["dataset", "method", "variant", "metric"]).sort_index()
    published = of_paper("further", dtype=str, keep_default_na=False).rename(columns={"against": "variant"})
    lines = []
    for (source, dataset, metric), cells in published.groupby(["source", "dataset", "metric"], sort=False):
        printed = {_row(cell): Printed(str(cell.value), str(cell.place)) for cell in cells.itertuples()}
        for cell in cells.itertuples():
            line = {"source": source, "dataset": dataset, "metric": metric, "printed": cell.value, "verdict": ""}
            line |= {name: getattr(cell, name) for name in ("method", "variant", "kind", "note", "place")}
            lines.append(line | _judged(measured, (dataset, *_row(cell)), str(metric), printed))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _row(cell: Any) -> Row:
    return str(cell.method), str(cell.variant)


def _judged(
    measured: pd.DataFrame, row: tuple[Any, ...], metric: str, printed: dict[Row, Printed]
) -> dict[str, object]:
    """What is said of one published number: our mean and interval, the verdict, and whether it could have failed.

    `row` is the data set and the row that it is held against; `printed` is what the source gives for all its rows.
    """
    if (*row, metric) not in measured.index:
        return {"reason": "not measured"}
    ours, own = measured.loc[(*row, metric)], row[1:]
    predicted = Bounds(ours["pi_low"], ours["pi_high"])
    shown = {"mean": ours["judged"], "pi_low": predicted.low, "pi_high": predicted.high}
    if pd.isna(predicted.low):
        return {**shown, "reason": "not judged: too few folds"}
    basis = f"{ours['replicates']:g} replicates"
    inside, reason = against_interval(printed[own], Measured(ours["judged"], predicted, basis))
    verdict = REPRODUCED if inside else DIFFERS
    rivals = {methods.label(*rival): paper for rival, paper in printed.items() if rival != own}
    prior = class_prior(measured.loc[row].to_dict("index")) if metric in ("correctness", "fidelity") else None
    return {**shown, "verdict": verdict, "reason": reason, **worth_of(predicted, rivals, prior, verdict)._asdict()}
