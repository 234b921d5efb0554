"""A cell: the smallest thing that is computed and stored — one method on one fold of one replicate of one data set.

A cell is addressed by a hash of declared names and values: of the data set (its oracle is part of its declaration), of
the method with *all* its hyper-parameters, of fold, number of folds, seed and number of candidates. Module paths and
source text are no part of it, so code can move and be cleaned up without losing results. An author whose change does
change results says so by raising `Method.revision`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch

from benchmarks.catalogue import Method, belongs, choose_datasets, choose_methods
from benchmarks.options import RunOptions, numbers
from rsgg.data.dataset import DatasetSpec
from rsgg.errors import UsageError
from rsgg.seeds import seed_for

FOLDS = 10
SMOKE_FOLDS = (0, 1)


@dataclass(frozen=True, eq=False)
class Cell:
    """What is computed whole or not at all. `seed` is the replicate: it shuffles the folds and seeds generated data."""

    dataset: DatasetSpec
    method: Method
    fold: int
    folds: int = FOLDS
    seed: int = 0
    k: int = 1

    @cached_property
    def definition(self) -> dict[str, Any]:
        """Everything the result depends on, as plain JSON."""
        method = self.method
        return {
            "dataset": {"name": self.dataset.name, "parameters": declared(self.dataset.parameters())},
            "method": {
                "name": method.name,
                "variant": method.variant,
                "revision": method.revision,
                "same_start": method.same_start,
                "hyperparameters": _without_device(declared(method.build().hyperparameters())),
            },
            "fold": self.fold,
            "folds": self.folds,
            "seed": self.seed,
            "k": self.k,
        }

    @cached_property
    def key(self) -> str:
        """The cell's address."""
        return key_of(self.definition)

    @property
    def row(self) -> tuple[DatasetSpec, str, str]:
        """What cells of different folds and replicates share: a row of a table."""
        return replicate(self.dataset, 0), self.method.name, self.method.variant

    @property
    def title(self) -> str:
        replicate_of = f", replicate {self.seed}" if self.seed else ""
        return f"{self.dataset.name}, {self.method.name} ({self.method.variant}), fold {self.fold}{replicate_of}"

    def seed_for(self, purpose: str) -> int:
        """The seed of one purpose ("fit" or "explain") in this cell."""
        fold = "any" if purpose == "fit" and self.method.same_start else self.fold
        return seed_for(purpose, self.dataset.name, self.method.name, self.method.variant, fold, self.seed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def canonical(value: Any) -> str:
    """The one way to write a JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def key_of(definition: Mapping[str, Any]) -> str:
    """The address of the cell with this definition: sha256 of its canonical JSON."""
    return hashlib.sha256(canonical(definition).encode()).hexdigest()


def declared(value: Any) -> Any:
    """A declared value as plain JSON: objects become their class's name and their fields, arrays a hash."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): declared(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [declared(item) for item in value]
    if isinstance(value, torch.Tensor | np.ndarray):
        array = np.ascontiguousarray(value)
        content = hashlib.sha256(array.tobytes()).hexdigest()
        return {"array": str(array.dtype), "shape": list(array.shape), "sha256": content}
    if is_dataclass(value) and not isinstance(value, type):
        own = {part.name: declared(getattr(value, part.name)) for part in fields(value)}
        return {"class": type(value).__name__, **_without_device(own)}
    raise UsageError(
        f"A {type(value).__name__} cannot be part of a cell's definition, which is made of declared names and values; "
        "use numbers, strings, lists, arrays or dataclasses."
    )


def _without_device(values: dict[str, Any]) -> dict[str, Any]:
    """Where a method computes, or the method it is wrapped around, does not change what it is."""
    return {name: value for name, value in values.items() if name.rpartition(".")[2] != "device"}


def replicate(spec: DatasetSpec, seed: int) -> DatasetSpec:
    """This data set in another replicate: generated data are generated anew, given data stay what they are."""
    if any(part.name == "seed" for part in fields(cast(Any, spec))):
        return cast(DatasetSpec, replace(cast(Any, spec), seed=seed))
    return spec


def grid(
    datasets: Iterable[DatasetSpec],
    methods: Sequence[Method],
    *,
    folds: Iterable[int] = range(FOLDS),
    of: int = FOLDS,
    seeds: Sequence[int] = (0,),
    k: int = 1,
    smoke: bool = False,
) -> list[Cell]:
    """All cells of these data sets and methods, row by row, so that tables fill from the top."""
    chosen = tuple(folds)
    rows = [
        (spec, method.for_dataset(spec.name)) for spec in datasets for method in methods if belongs(method, spec.name)
    ]
    return [
        Cell(replicate(spec, seed), method.tiny() if smoke else method, fold, of, seed, k)
        for spec, method in rows
        for seed in seeds
        for fold in chosen
    ]


def chosen_folds(options: RunOptions) -> tuple[int, ...]:
    """The folds that the options ask for: all ten, or two of them in a smoke run, unless they say otherwise."""
    folds = numbers(options.folds, "fold") or (SMOKE_FOLDS if options.smoke else tuple(range(FOLDS)))
    if folds[-1] >= FOLDS:
        raise UsageError(f"There is no fold {folds[-1]}; the folds are 0 to {FOLDS - 1}.")
    return folds


def cells_for(options: RunOptions, *, k: int = 1) -> list[Cell]:
    """The cells that the options ask for: all methods on all data sets in ten folds, unless they say otherwise."""
    folds, seeds = chosen_folds(options), numbers(options.seeds, "seed") or (0,)
    datasets = choose_datasets(options.datasets, smoke=options.smoke)
    methods = choose_methods(options.methods)
    return grid(datasets, methods, folds=folds, seeds=seeds, k=k, smoke=options.smoke)
