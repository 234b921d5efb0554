"""Publish: turn this machine's results into the committed reference.

Cells are compacted into one file per data set, method and variant, and every table is rendered anew *from those files*,
so that what is committed is a function of what is committed. What has no cells, the trials of searches and the
measurements of runtimes, is copied as the tables that they are. What the reference holds already stays there unless
this machine has computed it too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import Group, RenderableType

from benchmarks import ablation, claims, convergence, hpo_table, table1
from benchmarks.options import AblationOptions, RunOptions
from benchmarks.store import Store, compact
from rsgg.errors import UsageError

COPIED = ("hpo_*.csv", "runtime*.csv", "datasets.csv", "traces.parquet", "candidates.parquet")  # beside the cells


def publish(source: Path, out: Path) -> RenderableType:
    """Compact the cells that `source` holds into `out` and render every table there; returns what to print."""
    options = RunOptions()
    of_table, of_ablations = table1.cells(options), ablation.cells(AblationOptions())
    stored = Store(source)
    present = [cell for cell in (*of_table, *of_ablations) if stored.read(cell) is not None]
    if not present:
        raise UsageError(f"{source} holds no result of an experiment; ./reproduce.sh table1 computes some.")
    curves = {cell.key for cell in of_table}
    compact(stored, out, curves | {cell.key for cell in of_ablations}, curves)
    for pattern in COPIED:
        for path in sorted(source.glob(pattern)):
            shutil.copyfile(path, out / path.name)
    reference = Store(out)
    shown: list[RenderableType] = []
    ablated = reference.ledger(of_ablations)
    if not ablated.empty:
        shown.append(ablation.render(ablated, of_ablations, out, store=reference))
    hpo_table.render(out)
    of_training = convergence.cells(options)
    convergence.render(reference.ledger(of_training), of_training, out, store=reference)
    ledger = reference.ledger(of_table)
    shown.append(table1.render(ledger, of_table, out, store=reference))
    claims.render(out, ledger)
    return Group(*shown)
