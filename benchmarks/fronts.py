"""Fronts of explanations: how good are the sets that MOO finds, beside the same search at random?

    ./reproduce.sh fronts

MOO does not look for one explanation but for a set of which none is better than another one in everything. As a
counterfactual method it is judged by one of them; here by all. Beside it stands the same search whose subgraphs grow on
by chance. What is measured is said at the top of `benchmarks.running.fronts`; it was written down before any of it was
run.

`fronts.csv`: task, method, variant, metric, mean, ci_low, ci_high, n: means of fold means over n graphs, intervals
bootstrapped over folds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from benchmarks.registry import tasks
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.summary import ROW, means_of
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.fronts import MEASURED, Fronts
from benchmarks.running.options import Table2Options
from benchmarks.running.plan import cells_for
from benchmarks.running.run_cell import Observer

ROWS = ("moo:faithful", "moo-random")
REVISION = 1  # to be raised when what is measured, or how, changes


class FrontQuality(Experiment):
    """The rows of `ROWS` on the tasks with learnt oracles, or on those that are named."""

    name = "fronts"

    def plan(self, options: Table2Options) -> list[Cell]:
        cells = cells_for(options, rows=ROWS, entries=[entry.name for entry in tasks.LEARNT])
        return [replace(cell, observed=f"fronts {REVISION}") for cell in cells]

    def observer(self, options: Any) -> Observer:
        return Fronts()

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        known = done.history.reindex(columns=[*ROW, "seed", "fold", *MEASURED])
        files.csv("fronts.csv", means_of(known, MEASURED))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("fronts")
