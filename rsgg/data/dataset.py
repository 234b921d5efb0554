"""What a data set is: graphs and their true labels (Section 5).

A `DatasetSpec` says which data set is meant by declared names and values only; `load` makes it. The folds of a data
set are the same for every method. Which oracle is explained on it is not part of the data: see `rsgg.task`.
"""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rsgg import encodings
from rsgg.errors import DataError
from rsgg.graph import GraphBatch
from rsgg.seeds import torch_rng


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a cross-validation: positions (int64, ascending) of its training and its test graphs."""

    index: int
    train: Tensor
    test: Tensor


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs and their true labels, int64 [B], numbered from 0."""

    name: str
    graphs: GraphBatch
    labels: Tensor

    def __post_init__(self) -> None:
        if not isinstance(self.graphs, GraphBatch):
            raise DataError(
                f"The graphs of the data set {self.name!r} are a {type(self.graphs).__name__}; make them a GraphBatch "
                "with GraphBatch.of(graphs), or the data set with Dataset.of(name, graphs, labels)."
            )
        if not isinstance(self.labels, Tensor) or self.labels.dtype != torch.int64:
            got = self.labels.dtype if isinstance(self.labels, Tensor) else type(self.labels).__name__
            raise DataError(
                f"The labels of the data set {self.name!r} are {got}; give a tensor of whole numbers, int64."
            )
        if self.labels.shape != (len(self.graphs),):
            raise DataError(
                f"The data set {self.name!r} has {len(self.graphs)} graphs and labels of shape "
                f"{tuple(self.labels.shape)}; give one label per graph."
            )

    @classmethod
    def of(cls, name: str, graphs: Iterable[Any], labels: Sequence[int]) -> Dataset:
        """A data set from NetworkX graphs, PyG `Data` or `rsgg.Graph`, and a list of labels."""
        try:
            numbers = torch.tensor(labels)
        except (TypeError, ValueError) as error:
            raise DataError(f"The labels of the data set {name!r} are not numbers ({error}); use 0, 1, …") from error
        return cls(name, GraphBatch.of(graphs, named_by_position=True), numbers)

    def __len__(self) -> int:
        return len(self.graphs)

    def folds(self, k: int = 10, seed: int = 0) -> list[Fold]:
        """k disjoint shuffled folds that cover everything, their sizes as equal as possible."""
        count = len(self)
        if isinstance(k, bool) or not isinstance(k, int) or not 2 <= k <= count:
            raise DataError(f"{self.name} has {count} graphs and cannot be cut into {k} folds; use 2 to {count} folds.")
        shuffled = torch.randperm(count, generator=torch_rng("folds", self.name, seed))
        everything = torch.arange(count)
        tests = [part.sort().values for part in shuffled.tensor_split(k)]
        return [Fold(i, everything[~torch.isin(everything, test)], test) for i, test in enumerate(tests)]

    def with_encoding(self, kind: str) -> Dataset:
        """The same data set carrying node encodings of this kind, computed once and then read from the cache."""
        if kind in self.graphs.encodings:
            return self
        path = cache_dir() / "encodings" / f"{kind}-{_fingerprint(self.graphs)}.encoding"
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
        """Every declared value that the data depend on, as plain JSON values: part of the address of a result."""
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


def _checksum(path: Path, content: bytes) -> bytes:
    """sha256 of the content and of the file's name, which says whose encoding it is: 32 bytes."""
    return hashlib.sha256(path.name.encode() + b"\0" + content).digest()


def _read_encoding(path: Path, graphs: GraphBatch) -> Tensor | None:
    """The cached encoding, or None where there is none or it is damaged in any way: then it is computed again."""
    try:
        stored = path.read_bytes()
    except OSError:
        return None
    checksum, content = stored[:32], stored[32:]
    if checksum != _checksum(path, content):
        return None
    try:
        encoding = torch.from_numpy(np.load(io.BytesIO(content), allow_pickle=False))
    except (OSError, EOFError, ValueError, TypeError):  # whole, but not an array: nothing that this project wrote
        return None
    fits = encoding.ndim == 3 and encoding.shape[:2] == graphs.adjacency.shape[:2]
    return encoding if fits else None


def _write_encoding(path: Path, encoding: Tensor) -> None:
    """The checksum, then the array in NumPy's format, written to a temporary file that is then renamed.

    Other processes see the whole file or none. A cache that cannot be written (read-only or full disk) costs time, not
    the result.
    """
    array = io.BytesIO()
    np.save(array, encoding.numpy(), allow_pickle=False)
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
            temporary = Path(file.name)
            file.write(_checksum(path, array.getvalue()) + array.getvalue())
        temporary.replace(path)
        temporary = None
    except OSError:
        pass
    finally:
        if temporary is not None:  # not renamed, whatever the reason
            temporary.unlink(missing_ok=True)
