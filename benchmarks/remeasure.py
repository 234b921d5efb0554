"""Measure what is stored once more: python -m benchmarks.remeasure results/local

When a measure of `benchmarks.running.quality` changes, its values in Table 2 are out of date, and no method has to run
again: the edits are stored. They are made to the test graphs once more and measured. The columns `FOLLOWS` are taken
from there as far as edits determine them; others stay. A method that changes molecules says more of a result than its
edits, namely which molecule it is, orders of bonds included: of its rows only the columns `OF_GRAPHS` are taken.

Cells whose values change are written into the folder with all the rest as it was: rows, costs, where they came from.
`./reproduce.sh publish` then takes them over.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE, StoreError, existing_folder, shown
from benchmarks.results.ledger import Store, Stored, history_table
from benchmarks.running.options import Table2Options, available_cores
from benchmarks.running.quality import RULES, Quality
from benchmarks.running.replay import Replayed, rows_about
from benchmarks.running.run_cell import Run, loaded
from benchmarks.table2 import Table2
from rsgg.errors import DataError, RSGGError
from rsgg.explainer import Capabilities
from rsgg.oracles.weights import FOLDER, looked_for_in

OF_GRAPHS = ("plausibility", "plausibility_unedited")
FOLLOWS = (*OF_GRAPHS, *RULES)
PLAIN = Capabilities(adds=True, removes=True)  # of what only repeats stored edits


def remeasured(cell: Cell, stored: Stored) -> Stored | None:
    """The cell with the columns `FOLLOWS` measured anew; None if no value of them changes.

    Raises `StoreError` where the oracle answers otherwise than it did: then it is another one, and so is the problem.
    """
    problem = loaded(cell.task, None, None)
    if isinstance(problem, DataError):
        raise problem
    run = Run(cell, Replayed(can=PLAIN), problem)
    rows = rows_about(stored.table, run.fold.test)
    if rows is None or stored.history is None:
        return None
    run.explainer = Replayed(ledger=rows, can=PLAIN)
    run.results = run.explainer.explain(run.test, run.problem.oracle, check=False)
    seen = Quality().table(run)
    before, after = stored.history.to_pandas(), pd.DataFrame() if seen is None else seen.to_pandas()
    _require_same_answers(cell, before, after)
    follow = list(OF_GRAPHS if cell.method.molecules else FOLLOWS)
    old = before.set_index("instance").reindex(columns=follow)
    new = after.set_index("instance").reindex(old.index)[follow].combine_first(old)[follow]
    if np.allclose(new, old, rtol=0, atol=1e-12, equal_nan=True):
        return None
    lines = before.assign(**{name: new[name].to_numpy() for name in follow})
    return stored.with_curves(history_table(lines.to_dict("records")))


def _require_same_answers(cell: Cell, before: pd.DataFrame, after: pd.DataFrame) -> None:
    """What does not change the class has no plausibility: the graphs that have one have to be the same."""
    had, have = (set(seen["instance"][seen["plausibility"].notna()]) for seen in (before, after))
    if had != have:
        raise StoreError(
            f"{cell.title}: the oracle answers otherwise about {len(had ^ have)} graphs than when they were explained, "
            f"so that nothing was measured anew; use the weights that are stored with the results."
        )


def remeasure(folder: Path, cells: Iterable[Cell], jobs: int) -> list[Cell]:
    """Measure the stored ones of these cells anew; returns those that were written, because values changed."""
    store, by_fold = Store(folder), dict[tuple[str, int], list[tuple[Cell, Stored]]]()
    for cell in cells:
        if (stored := store.read(cell)) is not None and stored.history is not None:
            by_fold.setdefault((cell.task.name, cell.fold), []).append((cell, stored))
    groups = Parallel(n_jobs=jobs)(delayed(_changed)(folder, group) for group in by_fold.values())
    changed = [pair for group in groups for pair in group]
    for cell, stored in changed:
        store.write_as_it_is(cell, stored)
    return [cell for cell, _ in changed]


def _changed(folder: Path, group: list[tuple[Cell, Stored]]) -> list[tuple[Cell, Stored]]:
    """The cells of one fold of a task, which are compared with the same real graphs."""
    with looked_for_in([folder / FOLDER, REFERENCE / FOLDER]):
        found = ((cell, remeasured(cell, stored)) for cell, stored in group)
        return [(cell, again) for cell, again in found if again is not None]


def main(folder: str) -> int:
    try:
        path = existing_folder(Path(folder))
        changed = remeasure(path, Table2().plan(Table2Options()), available_cores())
    except RSGGError as error:
        print(error, file=sys.stderr)
        return 2
    rows = sorted({cell.method.title for cell in changed})
    print(f"{shown(path)}: values of {len(changed)} cells changed{': ' * bool(rows)}{', '.join(rows)}.")
    print("Next: ./reproduce.sh publish, or the experiment's own command, writes their tables anew.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]) if len(sys.argv) == 2 else __doc__)
