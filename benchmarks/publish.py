"""Publish: turn this machine's results into the committed reference.

Cells are compacted into one file per data set, method and variant, and every table is rendered anew *from those files*,
so that what is committed is a function of what is committed.
"""

from __future__ import annotations

from pathlib import Path

from rich.console import RenderableType

from benchmarks import table1
from benchmarks.options import RunOptions
from benchmarks.store import Store, compact
from rsgg.errors import UsageError


def publish(source: Path, out: Path) -> RenderableType:
    """Compact the cells of Table 1 that `source` holds into `out` and render the table there; returns the table."""
    cells = table1.cells(RunOptions())
    stored = Store(source)
    absent = sum(stored.read(cell) is None for cell in cells)
    if absent == len(cells):
        raise UsageError(f"{source} holds no result of Table 1; ./reproduce.sh table1 computes it.")
    compact(stored, out, {cell.key for cell in cells})
    reference = Store(out)
    return table1.render(reference.ledger(cells), cells, out, store=reference)
