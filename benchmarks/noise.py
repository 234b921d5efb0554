"""Noise in the graph: does a method that ranks edges rank the same ones high? The curve of RCExplainer's paper.

    ./reproduce.sh noise

Its paper says that decision boundaries which many graphs share make explanations robust to noise, and shows the AUC of
rankings against noise of up to 30 %. Here RCExplainer is beside its reduced version, which is told probabilities in
place of boundaries, and beside a gradient of the oracle with nothing learnt; by chance it is .5. What is measured, and
of which graphs, is said at the top of `benchmarks.running.noise`; it was written down before any of it was run.

`noise.csv`: task, method, variant, noise, auc, ci_low, ci_high, n: means of fold means over n graphs, intervals
bootstrapped over folds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.summary import ROW, means_of
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.noise import MEASURED, Noise
from benchmarks.running.options import Table2Options
from benchmarks.running.plan import cells_for
from benchmarks.running.run_cell import Observer

ROWS = ("rcexplainer:faithful", "rcexplainer-noldb", "edge-gradient")
TASKS = ("mutagenicity-gcn", "nci1-gcn", "ba-2motifs-gin")  # the data sets of its paper
REVISION = 1  # to be raised when what is measured, or how, changes
COLUMNS = ("task", "method", "variant", "noise", "auc", "ci_low", "ci_high", "n")


def table(history: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS`: a line per task, row and share of noise."""
    known = history.reindex(columns=[*ROW, "seed", "fold", *MEASURED])
    lines = means_of(known, MEASURED).rename(columns={"mean": "auc"})
    lines["noise"] = lines["metric"].str.removeprefix("auc_").astype(float) / 100
    return lines[list(COLUMNS)]


class NoiseCurves(Experiment):
    """The rows of `ROWS` on the tasks of `TASKS`, or on those that are named."""

    name = "noise"

    def plan(self, options: Table2Options) -> list[Cell]:
        cells = cells_for(options, rows=ROWS, entries=TASKS)
        return [replace(cell, observed=f"noise {REVISION}") for cell in cells]

    def observer(self, options: Any) -> Observer:
        return Noise()

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        files.csv("noise.csv", table(done.history))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("noise")
