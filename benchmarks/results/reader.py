"""Stored results as figures, tables and the report read them: this machine's where complete, else the reference.

`Results.table` reads a table that an experiment wrote, `Results.ledger` the per-instance rows of one row of Table 1. A
table of `results/local` counts as complete if it has every row that the reference has, and it gives way to a reference
that is newer, because a method may have changed since it was written. Nothing is computed here: even the input graphs
are read from the ledger (the control that deletes every edge lists them), those of real data from a file of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry import outside
from benchmarks.results import graphs as of_graphs
from benchmarks.results.artefacts import as_written, read_manifest
from benchmarks.results.files import LOCAL, REFERENCE, StoreError, existing_folder, read_csv, shown
from benchmarks.results.graphs import InputGraph
from benchmarks.results.ledger import Store
from benchmarks.results.paper import of_paper
from rsgg.errors import RSGGError

QUALITY = ("plausibility", "feasible", "sanitised")  # what is shown of a single counterfactual, besides being valid
KEYS = {  # the columns that tell rows of a table apart; of those not listed here every row has to be there
    "table1": ["dataset", "method", "variant", "metric"],
    "ablation": ["value", "method", "variant", "metric", "folds"],
    "runtime": ["vary", "value", "method", "variant", "quantity"],
    "runtime_growth": ["vary", "method", "variant", "quantity"],
    "convergence": ["dataset", "method", "variant", "class", "metric"],
    "robustness": ["task", "method", "variant", "metric"],
    "fronts": ["task", "method", "variant", "metric"],
    "noise": ["task", "method", "variant", "noise"],
    "table2": ["task", "method", "variant", "metric"],
    "table2_kinds": ["task", "method", "variant"],
    "leaderboard": ["task", "method", "variant"],
    "hpo_summary": ["method", "variant", "dataset", "protocol"],
    "hyperparameters": ["method", "variant", "dataset", "hyperparameter"],
}


@dataclass
class Results:
    """Stored results: folders in the order in which they are preferred. `used` says which files were read.

    With `beside`, a user's own results are shown beside the reference: rows of the first folder that the reference has
    not are added to its tables.
    """

    folders: tuple[Path, ...] = (LOCAL, REFERENCE)
    beside: Path | None = None
    used: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        for folder in (*self.folders, *([self.beside] if self.beside else [])):
            outside.rejoin(read_manifest(folder).get("outside", {}))

    @classmethod
    def of(cls, folder: Path | None, *, beside_reference: bool = False) -> Results:
        """Results of one folder, or of this machine where complete and else the reference; or the reference with the
        rows of a folder beside it."""
        if beside_reference:
            return cls((REFERENCE,), beside=existing_folder(folder or LOCAL))
        return cls() if folder is None else cls((existing_folder(folder),))

    def again(self) -> Results:
        """The same folders, with nothing read yet."""
        return Results(self.folders, self.beside)

    # -- tables ------------------------------------------------------------------------------------------

    def path(self, name: str) -> Path | None:
        """The file of this table, from the first folder where it is complete and up to date; None if there is none."""
        candidates = [folder / f"{name}.csv" for folder in self.folders if (folder / f"{name}.csv").is_file()]
        for path, fallback in zip_longest(candidates, candidates[1:]):
            if fallback is None or (_as_new(path, fallback) and _complete(path, fallback, name)):
                return path
        return None

    def table(self, name: str, *, as_text: bool = False) -> pd.DataFrame | None:
        """A table that an experiment wrote, e.g. "table1" or "ablation_cycle_size"; None where there is none.

        As text, 11.000 stays 11.000 and what is empty is an empty text.
        """
        path, own = self.path(name), None if self.beside is None else self.beside / f"{name}.csv"
        if path is None:
            path, own = own, None  # the reference has no such table: there is nothing to stand beside
        if path is None or not path.is_file():
            return None
        self._used(path)
        how = {"dtype": str, "keep_default_na": False} if as_text else {}
        table, keys = read_csv(path, **how), _keys(name)
        if own is None or not own.is_file() or keys is None or not set(keys) <= set(table.columns):
            return table if len(table.columns) else None
        self._used(own)
        added = read_csv(own, **how)
        known = set(map(tuple, table[keys].astype(str).to_numpy().tolist()))
        new = [tuple(row) not in known for row in added[keys].astype(str).to_numpy().tolist()]
        return pd.concat((table, added[new]), ignore_index=True)

    def paper(self, name: str) -> pd.DataFrame:
        """What the paper prints, e.g. "table1"."""
        return of_paper(name)

    def _used(self, path: Path) -> None:
        if path not in self.used:
            self.used.append(path)

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that were read, relative to the project."""
        return tuple(shown(path) for path in self.used)

    # -- ledgers -----------------------------------------------------------------------------------------

    @cached_property
    def _stores(self) -> list[Store]:
        return [Store(folder) for folder in (*self.folders, *([self.beside] if self.beside else []))]

    def ledger(self, dataset: str, method: str, variant: str) -> pd.DataFrame:
        """The rows of replicate 0 of one row of Table 1, all ten folds; empty where it is not stored.

        From the first folder that has as many folds as any.
        """
        return self._stored_row(dataset, method, variant)[1]

    def _stored_row(self, dataset: str, method: str, variant: str) -> tuple[Store, pd.DataFrame]:
        found = [(store, store.rows(dataset, method, variant)) for store in self._stores]
        store, rows = max(found, key=lambda pair: pair[1]["fold"].nunique() if len(pair[1]) else 0)
        if len(rows):
            for path in store.files_of(dataset, method, variant):
                self._used(path)
        return store, rows

    def training(self, dataset: str, method: str, variant: str) -> pd.DataFrame:
        """The training curves of the same cells, a line per fold, class and epoch; empty where none are stored."""
        return self._stored_row(dataset, method, variant)[0].seen(dataset, method, variant)

    def answers(self, dataset: str, method: str, variant: str) -> pd.DataFrame:
        """The first candidates of a ledger by instance, with what was measured of each beside being valid.

        The columns `QUALITY` are NaN where that was not measured; empty where nothing is stored.
        """
        store, rows = self._stored_row(dataset, method, variant)
        if rows.empty:
            return rows
        first = rows[rows["candidate"] == 0].set_index("instance")
        seen = store.seen(dataset, method, variant)
        if "instance" in seen:
            seen = seen.drop_duplicates("instance").set_index("instance")
        return first.assign(**{name: seen.get(name, np.nan) for name in QUALITY})

    def graphs(self, dataset: str) -> list[InputGraph]:
        """The test graphs of a task of real data with their labels, by fold; none where they are not stored."""
        for folder in self.folders if self.beside is None else (*self.folders, self.beside):
            lines = of_graphs.read(folder)
            lines = lines[lines["task"] == dataset].sort_values(["fold", "instance"])
            if len(lines):
                self._used(folder / of_graphs.FILE)
                return list(of_graphs.graphs_of(lines))
        return []

    def inputs(self, dataset: str) -> dict[int, np.ndarray]:
        """The adjacency matrices of a data set's graphs by instance, uint8: what the empty-graph control removed."""
        graphs = {}
        for row in self.ledger(dataset, "empty", "control").itertuples():
            adjacency = np.zeros((row.n_nodes, row.n_nodes), dtype=np.uint8)
            u, v = np.divmod(np.asarray(row.edits, dtype=int), row.n_nodes)
            adjacency[u, v] = adjacency[v, u] = 1
            graphs[int(row.instance)] = adjacency
        return graphs

    def parquet(self, name: str, dataset: str) -> tuple[pd.DataFrame, Path | None]:
        """The rows of traces.parquet or candidates.parquet on a data set, from the first folder that has some."""
        for folder in self.folders:
            path = folder / f"{name}.parquet"
            if path.is_file():
                table = pd.read_parquet(path)
                table = table[table["dataset"] == dataset]
                if len(table):
                    self._used(path)
                    return table, path
        return pd.DataFrame(), None


@contextmanager
def shown_as_written(results: Results) -> Iterator[None]:
    """Within it, what goes wrong because a table is not as an experiment wrote it is a sentence that names the table.

    A table that is as its manifest says is no excuse: then it is a fault of this project, which is raised as it is.
    """
    try:
        yield
    except RSGGError:
        raise
    except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        changed = [path for path in results.used if not as_written(path)]
        if not changed:
            raise
        raise StoreError(
            f"{shown(changed[0])} is not as it was written and cannot be shown ({type(error).__name__}: {error}); "
            "compute it again, or restore it."
        ) from error


def edited(adjacency: np.ndarray, edits: object) -> np.ndarray:
    """The graph that these edits (pairs u ≤ v coded u·n + v) make of an input: each pair becomes what it was not."""
    after = adjacency.copy()
    u, v = np.divmod(np.asarray(edits, dtype=int), len(adjacency))
    after[u, v] = after[v, u] = 1 - adjacency[u, v]
    return after


def graphs_per_fold(line: Mapping[str, Any]) -> float:
    """How many test graphs a fold has, by a line of table1.csv; its n counts those of all replicates that are shown.

    NaN where the table does not say how many these are, as older ones do not.
    """
    return float(line["n"]) / (float(line["folds"]) * float(line.get("replicates_shown") or "nan"))


def _as_new(path: Path, fallback: Path) -> bool:
    return path.stat().st_mtime >= fallback.stat().st_mtime


def _keys(name: str) -> list[str] | None:
    family = next((columns for table, columns in KEYS.items() if name.startswith(f"{table}_")), None)
    return KEYS.get(name, family)


def _complete(path: Path, fallback: Path, name: str) -> bool:
    """Has this table every row that the other one has?"""
    own, other, keys = read_csv(path), read_csv(fallback), _keys(name)
    if keys is None or not set(keys) <= set(own.columns):
        return len(own) >= len(other)
    rows = set(map(tuple, other[keys].to_numpy().tolist()))
    return rows <= set(map(tuple, own[keys].to_numpy().tolist()))
