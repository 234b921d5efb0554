"""What a data set is: graphs, their true labels and the oracle that is to be explained (Section 5).

A `DatasetSpec` says which data set is meant by declared names and values only; `load` makes it. The folds of a
data set are the same for every method.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from rsgg import encodings
from rsgg.errors import DataError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Oracle
from rsgg.seeds import torch_rng


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a cross-validation: positions (int64, ascending) of its training and its test graphs."""

    index: int
    train: Tensor
    test: Tensor


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs, true labels (int64 [B]) and the oracle Φ whose decisions are to be explained."""

    name: str
    graphs: GraphBatch
    labels: Tensor
    oracle: Oracle

    def __len__(self) -> int:
        return len(self.graphs)

    def folds(self, k: int = 10, seed: int = 0) -> list[Fold]:
        """k disjoint shuffled folds that cover everything, their sizes as equal as possible."""
        count = len(self)
        if not 2 <= k <= count:
            raise DataError(f"{self.name} has {count} graphs and cannot be cut into {k} folds; use 2 to {count} folds.")
        shuffled = torch.randperm(count, generator=torch_rng("folds", self.name, seed))
        everything = torch.arange(count)
        tests = [part.sort().values for part in shuffled.tensor_split(k)]
        return [Fold(i, everything[~torch.isin(everything, test)], test) for i, test in enumerate(tests)]

    @cached_property
    def optimum(self) -> Tensor | None:
        """GED*, the smallest possible number of edits per graph, where it is known."""
        from rsgg.oracles.optimum import optimal_ged

        return optimal_ged(self.oracle, self.graphs)

    def with_encoding(self, kind: str) -> Dataset:
        """The same data set carrying node encodings of this kind, computed once and then read from the cache."""
        if kind in self.graphs.encodings:
            return self
        path = cache_dir() / "encodings" / f"{kind}-{_fingerprint(self.graphs)}.npz"
        encoding = _read_encoding(path, self.graphs)
        if encoding is None:
            encoding = encodings.encode(self.graphs, kind)
            _write_encoding(path, encoding)
        return replace(self, graphs=replace(self.graphs, encodings={**self.graphs.encodings, kind: encoding}))


class DatasetSpec(Protocol):
    """Which data set is meant: a frozen, hashable object of declared names and values."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    def parameters(self) -> dict[str, object]:
        """Every declared value that the data depend on, for the address of a result."""
        ...

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Make the data set; `data_dir` is where files are looked for, by data sets that have any."""
        ...


# -- The cache of encodings ------------------------------------------------------------------------------


def cache_dir() -> Path:
    """Where downloads and encodings are kept: `RSGG_CACHE_DIR`, else the user's cache folder."""
    import pooch

    return Path(os.environ.get("RSGG_CACHE_DIR") or pooch.os_cache("rsgg"))


def _fingerprint(graphs: GraphBatch) -> str:
    """What encodings depend on: the adjacency matrices, the sizes, and the version of the code that computes them."""
    digest = hashlib.sha256(f"{encodings.VERSION} {tuple(graphs.adjacency.shape)}".encode())
    digest.update(graphs.sizes.numpy().tobytes())
    digest.update(graphs.adjacency.contiguous().numpy().data)
    return digest.hexdigest()[:32]


def _read_encoding(path: Path, graphs: GraphBatch) -> Tensor | None:
    """The cached encoding, or None where there is none or it is damaged: then it is simply computed again."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            encoding = torch.from_numpy(archive["encoding"])
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        return None
    fits = encoding.ndim == 3 and encoding.shape[:2] == graphs.adjacency.shape[:2]
    return encoding if fits else None


def _write_encoding(path: Path, encoding: Tensor) -> None:
    """Write to a temporary file, then rename: other processes see the whole file or none.

    A cache that cannot be written (read-only or full disk) costs time, not the result.
    """
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            np.savez_compressed(file, encoding=encoding.numpy())
        temporary.replace(path)
    except OSError:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
