"""Problems that no method here was built on: does what works on the paper's data work elsewhere?

    ./reproduce.sh unseen
    ./reproduce.sh unseen --data my_module:my_task --methods my_module:MyExplainer    # a problem or a method of yours

Graphs and oracles are in `rsgg.data.unseen` and `rsgg.oracles.unseen`: two trained GNNs, one of them with three classes
and node features that it reads; a linear rule on 190 nodes; a rule that only removals and additions together can leave.

Rule, stated before any of it was run: methods and their settings were worked out on replicates below `LOOKED_AT`, and
nothing was changed after the `REPLICATES` had been run. A replicate is another problem: new graphs, another network or
another rule. One row came later, when the others' results were known: `rsgg-ce-swaps`. Its 20
questions were taken after 10, 20 and 30 had been tried on replicates 1 and 2, and after one look at 30 graphs of
replicate 7001 in another division, so that it is not unseen in the strict sense.
`unseen.csv` has means of fold means over all replicates, with intervals bootstrapped
over folds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from benchmarks.registry import tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.summary import accounted, means_of
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.plan import cells_for

LOOKED_AT = 100
REPLICATES = ("7001-7003",)
FOLDS = (0,)
ROWS = ("rsgg-ce-certified", "rsgg-ce-swaps", "rsgg-ce-taught", "rsgg-ce:faithful", "obs", "two-sided-min")


def table(ledger: pd.DataFrame) -> pd.DataFrame:
    """A line per task, row and metric (`benchmarks.results.summary.MEANS`)."""
    return means_of(ledger if ledger.empty else accounted(ledger), METRICS)


class Unseen(Experiment):
    """The rows on the unseen problems."""

    name = "unseen"
    shows = ("unseen",)

    def plan(self, options: Any) -> list[Cell]:
        asked = replace(options, seeds=options.seeds or list(REPLICATES))
        return cells_for(asked, rows=ROWS, entries=tasks.UNSEEN, folds=None if options.smoke else FOLDS)

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        files.csv("unseen.csv", table(done.ledger))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("unseen")
