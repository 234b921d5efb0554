"""Where figures get their numbers: stored results only, this machine's where they are complete, else the reference.

`Results.table` reads a table that an experiment wrote, `Results.ledger` the per-instance rows of Table 1's cells. A
table of `results/local` counts as complete if it has every row that the reference has, and it gives way to a reference
that is newer, because a method may have changed since it was written. Nothing is computed here and no model is loaded:
even the input graphs are read from the ledger (the control that deletes every edge lists them).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.cell import Cell
from benchmarks.options import RESULTS, ROOT, RunOptions
from benchmarks.store import Store

LOCAL, REFERENCE, PAPER = RESULTS / "local", RESULTS / "reference", RESULTS / "paper"

KEYS = {  # the columns that tell rows of a table apart; of those not listed here every row has to be there
    "table1": ["dataset", "method", "variant", "metric"],
    "ablation": ["value", "method", "variant", "metric", "folds"],
    "runtime": ["vary", "value", "method", "variant", "quantity"],
    "runtime_growth": ["vary", "method", "variant", "quantity"],
    "convergence": ["dataset", "method", "variant", "class", "metric"],
    "hpo_summary": ["method", "variant", "dataset", "protocol"],
    "hyperparameters": ["method", "variant", "dataset", "hyperparameter"],
}


@dataclass
class Results:
    """Stored results: folders in the order in which they are preferred. `used` says which files were read."""

    folders: tuple[Path, ...] = (LOCAL, REFERENCE)
    used: list[Path] = field(default_factory=list)

    @classmethod
    def of(cls, folder: Path | None) -> Results:
        """Results of one folder, or of this machine where complete and else the reference."""
        return cls() if folder is None else cls((folder,))

    # -- tables ------------------------------------------------------------------------------------------

    def path(self, name: str) -> Path | None:
        """The file of this table, from the first folder where it is complete and up to date; None if there is none."""
        candidates = [folder / f"{name}.csv" for folder in self.folders if (folder / f"{name}.csv").is_file()]
        for path, fallback in zip_longest(candidates, candidates[1:]):
            if fallback is None or (_as_new(path, fallback) and _complete(path, fallback, name)):
                return path
        return None

    def table(self, name: str) -> pd.DataFrame | None:
        """A table that an experiment wrote, e.g. "table1" or "ablation_cycle_size"; None where there is none."""
        path = self.path(name)
        if path is None:
            return None
        self._used(path)
        return pd.read_csv(path)

    def paper(self, name: str) -> pd.DataFrame:
        """What the paper prints, e.g. "table1"."""
        return pd.read_csv(PAPER / f"{name}.csv")

    def _used(self, path: Path) -> None:
        if path not in self.used:
            self.used.append(path)

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that were read, relative to the project."""
        return tuple(shown(path) for path in self.used)

    # -- ledger ------------------------------------------------------------------------------------------

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str], list[Cell]]:
        """Table 1's cells of replicate 0 by row."""
        from benchmarks import table1  # late: it knows every method, and so loads them

        rows: dict[tuple[str, str, str], list[Cell]] = {}
        for cell in table1.cells(RunOptions(seeds=["0"])):
            rows.setdefault((cell.dataset.name, cell.method.name, cell.method.variant), []).append(cell)
        return rows

    @cached_property
    def _stores(self) -> list[Store]:
        return [Store(folder) for folder in self.folders]

    def ledger(self, dataset: str, method: str, variant: str) -> pd.DataFrame:
        """The rows of replicate 0 of one row of Table 1, all ten folds; empty where it is not stored.

        From the first folder that has as many folds as any.
        """
        cells = self._rows.get((dataset, method, variant), [])
        found = [(store, store.ledger(cells)) for store in self._stores]
        store, rows = max(found, key=lambda pair: pair[1]["fold"].nunique() if len(pair[1]) else 0)
        if len(rows):
            self._used(store.root / "ledger" / f"{dataset}.{method}.{variant}.parquet")
        return rows

    def inputs(self, dataset: str) -> dict[int, np.ndarray]:
        """The adjacency matrices of a data set's graphs by instance, uint8: what the empty-graph control removed."""
        graphs = {}
        for row in self.ledger(dataset, "empty", "control").itertuples():
            adjacency = np.zeros((row.n_nodes, row.n_nodes), dtype=np.uint8)
            u, v = np.divmod(np.asarray(row.edits, dtype=int), row.n_nodes)
            adjacency[u, v] = adjacency[v, u] = 1
            graphs[int(row.instance)] = adjacency
        return graphs


def edited(adjacency: np.ndarray, edits: object) -> np.ndarray:
    """The graph that these edits (pairs u ≤ v coded u·n + v) make of an input: each pair becomes what it was not."""
    after = adjacency.copy()
    u, v = np.divmod(np.asarray(edits, dtype=int), len(adjacency))
    after[u, v] = after[v, u] = 1 - adjacency[u, v]
    return after


def shown(path: Path) -> str:
    """A path as a reader wants to see it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _as_new(path: Path, fallback: Path) -> bool:
    return path.stat().st_mtime >= fallback.stat().st_mtime


def _complete(path: Path, fallback: Path, name: str) -> bool:
    """Has this table every row that the other one has?"""
    own, other = pd.read_csv(path), pd.read_csv(fallback)
    keys = next((columns for table, columns in KEYS.items() if name == table or name.startswith(f"{table}_")), None)
    if keys is None or not set(keys) <= set(own.columns):
        return len(own) >= len(other)
    rows = set(map(tuple, other[keys].to_numpy().tolist()))
    return rows <= set(map(tuple, own[keys].to_numpy().tolist()))
