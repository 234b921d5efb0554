"""Streams: graphs that come one snapshot after the other. What does retrieval find that asks the oracle only at first?

    ./reproduce.sh streams
    ./reproduce.sh streams --methods dygrace,my_module:MyExplainer

Tree-Cycles in four snapshots, drawn alike or with cycles that grow (`rsgg.data.streams`). A fold is a snapshot: methods
have seen all graphs before it and half of its own, and explain the other half. DyGRACE asks the oracle about the first
snapshot only and never when it explains. Beside it stand a graph of the snapshot that is drawn at random, which finds
a counterfactual as often as the other class appears; the nearest graph of another class (DCE), which asks about every
graph; a search that learns nothing; and RSGG-CE, taught.

`streams.csv` has a line per task, row, snapshot and metric: means over the replicates with intervals bootstrapped over
them, and lines for all snapshots together (`snapshot` is empty there). Settings of DyGRACE are those of the authors'
repository for Tree-Cycles; nothing was tuned.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pandas as pd

from benchmarks.registry import tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.summary import MEANS, accounted, means_of
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.plan import cells_for

REPLICATES = ("0-4",)
ROWS = ("dygrace", "random-known", "dce", "two-sided-min", "rsgg-ce-taught")
COLUMNS = (*MEANS[:3], "snapshot", *MEANS[3:])


def table(ledger: pd.DataFrame) -> pd.DataFrame:
    """A line per task, row, snapshot and metric."""
    if ledger.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    ledger = accounted(ledger)
    together = means_of(ledger, METRICS).assign(snapshot=pd.NA)
    each = [means_of(part, METRICS).assign(snapshot=fold) for fold, part in ledger.groupby("fold")]
    return pd.concat([together, *each], ignore_index=True)[list(COLUMNS)]


class Streams(Experiment):
    """The rows of `ROWS` on the streams."""

    name = "streams"
    shows = ("streams",)

    def plan(self, options: Any) -> list[Cell]:
        asked = options if options.smoke else replace(options, seeds=options.seeds or list(REPLICATES))
        return cells_for(asked, rows=ROWS, entries=[entry.name for entry in tasks.STREAMS])

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        files.csv("streams.csv", table(done.ledger))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("streams")
