"""A cell: the smallest thing that is computed and stored — one method on one fold of one replicate of one task.

A cell is addressed by a hash of what was declared and differs from the default: of the task, of the method with its
options, of fold, number of folds, seed, number of candidates, and what is observed besides. A new option with a default
changes no address, and module paths and source text are no part of it, so code can move and be cleaned up without
losing results. An author whose change does change results says so by raising `Method.revision`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.registry.methods import Method
from benchmarks.registry.tasks import FOLDS as FOLDS
from benchmarks.registry.tasks import TaskEntry
from rsgg.errors import UsageError
from rsgg.seeds import seed_for


@dataclass(frozen=True, eq=False)
class Cell:
    """What is computed whole or not at all. `seed` is the replicate: it shuffles the folds and seeds generated data."""

    task: TaskEntry
    method: Method
    fold: int
    folds: int = FOLDS
    seed: int = 0
    k: int = 1
    graph_seconds: float | None = None  # time limit per explained graph: what it cuts off depends on the machine
    observed: str = ""  # what an observer measures beside it, where that makes it another cell
    # Of a cell that is being computed, stored rows that it starts from, an Arrow table: of a "+ min" cell those of its
    # base, of any other one its own results, as far as another cell has explained these graphs in the same way.
    base_ledger: Any = None

    @cached_property
    def definition(self) -> dict[str, Any]:
        """Everything the result depends on, as plain JSON."""
        whole = {
            "task": _definition(self.task),
            "method": _definition(self.method),
            "fold": self.fold,
            "seed": self.seed,
        }
        if self.folds != FOLDS:
            whole["folds"] = self.folds
        if self.k != 1:
            whole["k"] = self.k
        if self.graph_seconds is not None:
            whole["graph_seconds"] = self.graph_seconds
        if self.observed:
            whole["observed"] = self.observed
        return whole

    @cached_property
    def key(self) -> str:
        """The cell's address."""
        return key_of(self.definition)

    @property
    def base(self) -> Cell | None:
        """The cell whose results this one makes minimal."""
        return replace(self, method=self.method.base) if self.method.base else None

    @property
    def row(self) -> tuple[TaskEntry, str, str]:
        """What cells of different folds and replicates share: a row of a table."""
        return self.task.replicate(0), self.method.name, self.method.variant

    @property
    def title(self) -> str:
        replicate_of = f", replicate {self.seed}" if self.seed else ""
        return f"{self.task.name}, {self.method.title}, fold {self.fold}{replicate_of}"

    def seed_for(self, purpose: str) -> int:
        """The seed of one purpose ("fit" or "explain") in this cell."""
        fold = "any" if purpose == "fit" and self.method.same_start else self.fold
        return seed_for(purpose, self.task.name, self.method.name, self.method.variant, fold, self.seed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cell) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def _definition(entry: TaskEntry | Method) -> dict[str, Any]:
    """What a task or method declares, as plain JSON; kept with it, as all cells of a row share it."""
    kept = vars(entry)
    if "_plain" not in kept:
        kept["_plain"] = declared(entry.definition())
    plain: dict[str, Any] = kept["_plain"]
    return plain


def canonical(value: Any) -> str:
    """The one way to write a JSON value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def key_of(definition: Mapping[str, Any]) -> str:
    """The address of the cell with this definition: sha256 of its canonical JSON."""
    return hashlib.sha256(canonical(definition).encode()).hexdigest()


PLAIN = (str, int, float, bool)  # a tuple: asked of each value of thousands of cells, a union of types takes far longer


def declared(value: Any) -> Any:
    """A declared value as plain JSON: objects become their class's name and their fields, arrays a hash."""
    if value is None or isinstance(value, PLAIN):
        return value
    if isinstance(value, Mapping):
        return {str(name): declared(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [declared(item) for item in value]
    if hasattr(value, "__array__"):
        array = np.ascontiguousarray(value)
        content = hashlib.sha256(array.tobytes()).hexdigest()
        return {"array": str(array.dtype), "shape": list(array.shape), "sha256": content}
    if is_dataclass(value) and not isinstance(value, type):
        own = {part.name: declared(getattr(value, part.name)) for part in fields(value) if part.name != "device"}
        return {"class": type(value).__name__, **own}
    raise UsageError(
        f"A {type(value).__name__} cannot be part of a cell's definition, which is made of declared names and values; "
        "use numbers, strings, lists, arrays or dataclasses."
    )
