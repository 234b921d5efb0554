"""Robustness: does a counterfactual still hold if the oracle is trained again, and is it still found if little changes?

    ./reproduce.sh robustness
    ./reproduce.sh robustness --data mutag-gin --methods obs,my_module:MyExplainer

The tasks are those with learnt oracles (`table2`), one replicate of them. Rules, stated before any of it was run:

- Folds 0 and 1 of five, of which at most `TEST_GRAPHS` graphs are measured, drawn by seed; they are among those that
  `table2` explains. Methods are fitted, with settings and seeds, as for `table2`. Counterfactuals that `table2` has
  stored, in the same folder or in the reference, are taken from there and not computed again.
- Copies of the oracle are trained on the graphs outside the fold: `COPIES` with other seeds on all of them, as many
  with other seeds on a random nine tenths, and one of each other architecture (GCN, GIN, GAT, SAGE) on all. The GCNs
  that were published for AIDS, Mutagenicity, NCI1 and PROTEINS cannot be trained again as they were: their copies are
  GCNs that are trained here, of other width and pooling. So are those of a model of your own.
- A valid counterfactual *stays valid* for a copy if the copy puts it into another class than the copy puts the input.
  How often copies put the input where the oracle does is reported beside it (`agree_…`), over all graphs.
- Stability: one node pair, drawn at random, is flipped such that the oracle's class stays (of a graph at most 50 pairs
  are tried; one without such a pair is left out), or the explainer explains with another seed, fitted as it is. The
  measure is the Jaccard index of both sets of edits: 0 if nothing valid is found any more.
- Actionability: a random fifth of each graph's node pairs is frozen. A method that takes constraints is given them when
  it explains, not when it is fitted; of others it is counted how many of their results happen to keep them
  (`told_frozen` says which). The share is over all graphs.
- Three candidates per graph: is one of them valid, and how different are those that are?
- Rows "+ min" are left out: they start from stored results and cannot explain a graph anew.

Into `robustness.csv` goes a line per task, row and metric (`benchmarks.running.robust` defines them): means of fold
means with intervals bootstrapped over folds; n are graphs. With two folds these intervals are rough. Nothing here is
judged: there is no rule that says what is robust.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.registry.names import numbers
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE
from benchmarks.results.ledger import Store
from benchmarks.results.summary import ROW, accounted, means_of
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.options import Table2Options
from benchmarks.running.plan import chosen_folds, grid
from benchmarks.running.replay import with_rows_of
from benchmarks.running.robust import MEASURED, Robust
from benchmarks.running.run_cell import Observer, Report
from benchmarks.table2 import chosen_tasks
from rsgg.errors import UsageError
from rsgg.robustness import COPIES

ROWS = (
    "rsgg-ce-taught", "rsgg-ce-certified", "rsgg-ce-feasible", "rsgg-ce-nodes", "cf2:faithful", "obs", "ddbs", "dce",
    "two-sided-min", "two-sided-min-feasible", "random", "one-removal", "empty",
)  # fmt: skip
FOLDS, SMOKE_FOLDS = (0, 1), (0,)
TEST_GRAPHS, SMOKE_TEST_GRAPHS = 30, 6
SMOKE_TASKS = ("ba-2motifs-gin",)
SMOKE_COPIES = 1
REVISION = 1  # to be raised when what is measured, or how, changes
WHOSE = [*ROW, "seed", "fold", "instance"]


def table(done: Finished) -> pd.DataFrame:
    """A line per task, row and metric that applies (`benchmarks.results.summary.MEANS`)."""
    if done.ledger.empty:
        return means_of(done.ledger, ())
    rows = accounted(done.ledger).merge(done.history.reindex(columns=[*WHOSE, *MEASURED]), on=WHOSE, how="left")
    return means_of(rows, ("correctness", *MEASURED))


class Robustness(Experiment):
    """The rows of `ROWS` on the tasks with learnt oracles, or on those that are named."""

    name = "robustness"
    shows = ("robustness",)
    pages = ("robustness.md",)

    def plan(self, options: Any) -> list[Cell]:
        few = {"max_test": SMOKE_TEST_GRAPHS if options.smoke else TEST_GRAPHS}
        entries = [entry.measured_by(few) for entry in _entries(options)]
        folds = chosen_folds(options, entries) if options.folds else SMOKE_FOLDS if options.smoke else FOLDS
        cells = grid(
            entries, _rows(options), folds=folds,
            seeds=numbers(options.seeds, "seed") or (0,), smoke=options.smoke, graph_seconds=options.graph_seconds,
        )  # fmt: skip
        observed = f"robustness {REVISION}, {_copies(options)} copies"
        return [replace(cell, observed=observed) for cell in cells]

    def compute(self, options: Any, store: Store, report: Report) -> None:
        """As for all experiments, with counterfactuals that table2 has stored."""
        entries = {entry.name: entry for entry in _entries(options)}
        stores = (store, Store(REFERENCE))
        cells = [
            with_rows_of(cell, replace(cell, task=entries[cell.task.name].replicate(cell.seed), observed=""), stores)
            for cell in self.plan(options)
        ]
        self._compute(cells, options, store, report, fresh=options.fresh)

    def observer(self, options: Any) -> Observer:
        return Robust(_copies(options))

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        files.csv("robustness.csv", table(done))


def _copies(options: Table2Options) -> int:
    return SMOKE_COPIES if options.smoke else COPIES


def _entries(options: Table2Options) -> tuple[TaskEntry, ...]:
    """The tasks as table2 has them."""
    unnamed = SMOKE_TASKS if options.smoke and not options.tu else chosen_tasks(options)
    return tasks.choose(options.datasets or unnamed, smoke=options.smoke)


def _rows(options: Table2Options) -> list[Method]:
    chosen = methods.choose(options.methods or ROWS)
    for method in chosen:
        if method.base:
            raise UsageError(
                f"{method.label} starts from stored results and cannot explain a graph anew; leave {method.title} out "
                f"of --methods."
            )
    return list(chosen)


if __name__ == "__main__":
    from benchmarks.cli import script

    script("robustness")
