"""What is to be explained: the decisions of an oracle on the graphs of a data set.

A `Task` is declared by names and values and costs nothing until it is loaded. `Task.load` gives the `Problem`: the
graphs, their labels, and the oracle ready to answer. The same graphs with another oracle are another task.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from rsgg.data.dataset import Dataset, DatasetSpec, Fold
from rsgg.errors import UsageError
from rsgg.graph import GraphBatch
from rsgg.oracles.counting import CountingOracle
from rsgg.oracles.oracle import Oracle

PROTOCOL = ("max_train", "max_test", "budget")  # fields of a task that say how it is measured


@dataclass(frozen=True, eq=False)
class Task:
    """A data set × an oracle. Two tasks are equal if their names and their parameters are.

    `label` is how tables and figures call it (the name where none is given), `class_names` how they call the oracle's
    classes. With `shared_nodes` node i is the same thing in every graph, as the brain regions of ASD are.

    How it is measured is part of a task too: of each fold at most `max_train` graphs are given to explainers to learn
    from and at most `max_test` are explained, drawn at random; `budget` is how often an explainer may ask the oracle
    about a graph.
    """

    name: str
    dataset: DatasetSpec
    oracle: Oracle
    label: str = ""
    class_names: tuple[str, ...] = ()
    shared_nodes: bool = False
    max_train: int | None = None
    max_test: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise UsageError(f"A task has the name {self.name!r}; give it a name, a text that is not empty.")
        if isinstance(self.oracle, CountingOracle) or not isinstance(self.oracle, Oracle):
            raise UsageError(
                f"The oracle of the task {self.name!r} is {self.oracle!r}; give an oracle, as "
                "rsgg.TreeCyclesOracle() is, that counts nothing itself."
            )
        missing = [part for part in ("name", "parameters", "load") if not hasattr(self.dataset, part)]
        if missing or isinstance(self.dataset, type):
            raise UsageError(
                f"The data set of the task {self.name!r} is {self.dataset!r}; give an object with a name, parameters() "
                "and load(data_dir), as rsgg.TreeCycles() is."
            )
        if self.class_names and len(self.class_names) != self.oracle.n_classes:
            raise UsageError(
                f"The task {self.name!r} names {len(self.class_names)} classes and its oracle has "
                f"{self.oracle.n_classes}; name each of them, or none."
            )
        for limit in PROTOCOL:
            value = getattr(self, limit)
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise UsageError(f"The task {self.name!r} has {limit} = {value!r}; give a whole number, or nothing.")
        object.__setattr__(self, "label", self.label or self.name)

    def parameters(self) -> dict[str, object]:
        """Every declared value that results on this task depend on, as plain JSON values."""
        limits = {limit: getattr(self, limit) for limit in PROTOCOL}
        return {
            "dataset": {"name": self.dataset.name, "parameters": self.dataset.parameters()},
            "oracle": {"name": self.oracle.name, "parameters": self.oracle.parameters()},
            **{limit: value for limit, value in limits.items() if value is not None},
        }

    def load(self, data_dir: Path | None = None) -> Problem:
        """Load the data and prepare the oracle; `data_dir` is where those that have files look for them."""
        dataset = self.dataset.load(data_dir)
        if not isinstance(dataset, Dataset):
            raise UsageError(
                f"The data set of the task {self.name!r} loads a {type(dataset).__name__}; let its load() return an "
                "rsgg.Dataset, as rsgg/templates/task.py shows."
            )
        oracle = self.oracle.loaded(data_dir).prepared(dataset)
        return Problem(self.name, dataset, oracle, self.max_train, self.max_test, self.budget)

    def _address(self) -> tuple[str, str]:
        return self.name, json.dumps(self.parameters(), sort_keys=True, default=str)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Task) and self._address() == other._address()

    def __hash__(self) -> int:
        return hash(self._address())


@dataclass(frozen=True, eq=False)
class Problem:
    """A loaded task: graphs, their true labels, and the oracle Φ whose decisions are to be explained.

    An oracle that is trained in each fold cannot answer before `in_fold`.
    """

    name: str
    dataset: Dataset
    oracle: Oracle
    max_train: int | None = None
    max_test: int | None = None
    budget: int | None = None

    def __len__(self) -> int:
        return len(self.dataset)

    @property
    def graphs(self) -> GraphBatch:
        return self.dataset.graphs

    @property
    def labels(self) -> Tensor:
        return self.dataset.labels

    @cached_property
    def optimum(self) -> Tensor | None:
        """GED*, the smallest possible number of edits per graph, float64 [B], where the oracle knows it."""
        return self.oracle.optimal_ged(self.graphs)

    def folds(self, k: int = 10, seed: int = 0) -> list[Fold]:
        """The k folds of the data set: the same for every method and every oracle."""
        drawn_by = (self.dataset.name, k, seed)
        folds = self.dataset.folds(k, seed)
        return [fold.drawn(self.max_train, self.max_test, *drawn_by, fold.index) for fold in folds]

    def in_fold(self, fold: Fold) -> Problem:
        """The same problem with the oracle of this fold: trained on the graphs outside of it, where it is trained."""
        if not self.oracle.fits:
            return self
        outside = fold.outside
        return replace(self, oracle=self.oracle.fitted(self.graphs.select(outside), self.labels[outside]))

    def with_encoding(self, kind: str) -> Problem:
        """The same problem, its graphs carrying node encodings of this kind (see `Dataset.with_encoding`)."""
        return replace(self, dataset=self.dataset.with_encoding(kind))
