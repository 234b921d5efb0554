"""Problems that no method here was built on: does what works on the paper's data work elsewhere?

    ./reproduce.sh unseen
    ./reproduce.sh unseen --data my_module:my_task --methods my_module:MyExplainer    # a problem or a method of yours

Graphs and oracles are in `rsgg.data.unseen` and `rsgg.oracles.unseen`: two trained GNNs, one of them with three classes
and node features that it reads; a linear rule on 190 nodes; a rule that only removals and additions together can leave.

Rule, stated before any of it was run: methods and their settings were worked out on replicates below `LOOKED_AT`, and
nothing was changed after the `REPLICATES` had been run. A replicate is another problem: new graphs, another network or
another rule. Replicates 7001 to 7003 were measured first. When their results were known, the row `rsgg-ce-swaps` came
(20 questions, after 10, 20 and 30 had been tried on replicates 1 and 2), and later another teaching on the three small
problems (`taught_swaps`, five searches instead of three, tried on replicates 1 to 3). So 7001 to 7003 were not unseen
any more, and everything is measured on others, which nobody had looked at.

How good can it get? On the small problems `exhaustive` asks about every set of one or two edits. So the fewest edits of
a graph are known if it finds some, or if another row needs `PROVEN` + 1: `least_edits`. `optimality_gap` is over the
graphs of which they are known, and `at_optimum` the share of these where a row needs no more.
`unseen.csv` has means of fold means over all replicates, with intervals bootstrapped over folds.
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
REPLICATES = ("7004-7006",)
FOLDS = (0,)
PROVEN = 2  # edits of the largest sets that `exhaustive` asks about
ROWS = (
    "rsgg-ce-certified", "rsgg-ce-swaps", "rsgg-ce-taught", "rsgg-ce:faithful", "obs", "two-sided-min", "exhaustive",
)  # fmt: skip


def table(ledger: pd.DataFrame) -> pd.DataFrame:
    """A line per task, row and metric (`benchmarks.results.summary.MEANS`)."""
    if ledger.empty:
        return means_of(ledger, METRICS)
    rows = accounted(ledger.assign(optimum=least_edits(ledger)))
    gap = rows["optimality_gap"]
    return means_of(rows.assign(at_optimum=(gap <= 1).astype(float).where(gap.notna())), (*METRICS, "at_optimum"))


def least_edits(ledger: pd.DataFrame) -> pd.Series:
    """The fewest edits that change the class of each row's graph, where they are known; else NaN.

    They are known where `exhaustive` has found some, or where it has not and another row needs one edit more than it
    asks about.
    """
    changed = ledger["found"] & (ledger["predicted"] != ledger["predicted_cf"])
    looked = ledger["method"] == "exhaustive"
    graph = ["dataset", "seed", "fold", "instance"]
    asked_about = ledger.assign(looked=looked).groupby(graph)["looked"].transform("any")
    fewest = ledger["ged"].where(changed).groupby([ledger[name] for name in graph]).transform("min")
    return fewest.where(asked_about & (fewest <= PROVEN + 1), ledger["optimum"])


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
