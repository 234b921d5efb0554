"""What a data set is: graphs and their true labels (Section 5).

A `DatasetSpec` says which data set is meant by declared names and values only; `load` makes it. The folds of a data
set are the same for every method. Which oracle is explained on it is not part of the data: see `rsgg.task`.
"""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from rsgg import encodings
from rsgg.data.files import cache_dir
from rsgg.errors import DataError
from rsgg.graph import GraphBatch
from rsgg.seeds import torch_rng


@dataclass(frozen=True, eq=False)
class Fold:
    """One fold of a cross-validation: positions (int64, ascending) of its training and its test graphs.

    Where a task draws only some of them for the explainers, `rest` are the other graphs outside the fold: an oracle is
    trained on them too.
    """

    index: int
    train: Tensor
    test: Tensor
    rest: Tensor = field(default_factory=lambda: torch.arange(0))

    @property
    def outside(self) -> Tensor:
        """All graphs outside the fold, ascending: what an oracle may be trained on."""
        return torch.cat((self.train, self.rest)).sort().values

    def drawn(self, max_train: int | None, max_test: int | None, *names: object) -> Fold:
        """At most so many training and test graphs, drawn at random by these names."""
        train, rest = _draw(self.train, max_train, "train", *names)
        test, _ = _draw(self.test, max_test, "test", *names)
        return Fold(self.index, train, test, torch.cat((self.rest, rest)).sort().values)


def _draw(positions: Tensor, count: int | None, *names: object) -> tuple[Tensor, Tensor]:
    """`count` of these positions drawn by name, and the others; both ascending."""
    if count is None or count >= len(positions):
        return positions, positions[:0]
    shuffled = positions[torch.randperm(len(positions), generator=torch_rng("drawn", *names))]
    return shuffled[:count].sort().values, shuffled[count:].sort().values


@dataclass(frozen=True, eq=False)
class Dataset:
    """Graphs and their true labels, int64 [B], numbered from 0.

    `feature_names` say what the columns of X are, e.g. atoms. `motif` marks the edges that are known to make the label,
    bool [B, N, N] (upper triangle). `left_out` says how many published graphs are not here, and why.
    Where the split is given, `test` are the positions (int64, ascending) of the test graphs and all others are training
    graphs in every fold; otherwise each graph is a test graph of one fold. Where graphs come in a stream, `times` says
    in which snapshot of it each is (int64 [B], 0, 0, …, 1, 1, …), and a fold is a snapshot (see `folds`).
    """

    name: str
    graphs: GraphBatch
    labels: Tensor
    feature_names: tuple[str, ...] = ()
    motif: Tensor | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    test: Tensor | None = None
    times: Tensor | None = None

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
        if self.motif is not None and self.motif.shape != self.graphs.adjacency.shape:
            raise DataError(
                f"The motif edges of the data set {self.name!r} have shape {tuple(self.motif.shape)}; give one bool "
                "for each entry of the adjacency matrices."
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

    def select(self, index: Tensor) -> Dataset:
        """The graphs at these positions, int64."""
        motif = None if self.motif is None else self.motif[index]
        test = None if self.test is None else torch.isin(index, self.test).nonzero().flatten()
        times = None if self.times is None else self.times[index]
        graphs, labels = self.graphs.select(index), self.labels[index]
        return replace(self, graphs=graphs, labels=labels, motif=motif, test=test, times=times)

    def folds(self, k: int = 10, seed: int = 0) -> list[Fold]:
        """k disjoint shuffled folds that cover everything, or all test graphs, their sizes as equal as possible.

        Those of a stream are its k snapshots: what is tested of each are its test graphs, and training graphs are, in
        the order of the stream, all graphs before it and the others of this snapshot.
        """
        everything = torch.arange(len(self))
        if self.times is not None and self.test is not None:
            return self._snapshots(self.times, self.test, k)
        tested, least = (everything, 2) if self.test is None else (self.test, 1)
        count = len(tested)
        if isinstance(k, bool) or not isinstance(k, int) or not least <= k <= count:
            raise DataError(
                f"{self.name} has {count} graphs and cannot be cut into {k} folds; use {least} to {count} folds."
            )
        shuffled = tested[torch.randperm(count, generator=torch_rng("folds", self.name, seed))]
        tests = [part.sort().values for part in shuffled.tensor_split(k)]
        others = [test if self.test is None else self.test for test in tests]
        return [
            Fold(i, everything[~torch.isin(everything, other)], test)
            for i, (test, other) in enumerate(zip(tests, others, strict=True))
        ]

    def _snapshots(self, times: Tensor, test: Tensor, k: int) -> list[Fold]:
        count = len(times.unique())
        if k != count:
            raise DataError(f"{self.name} has {count} snapshots and cannot be cut into {k} folds; use {count} folds.")
        tests = [test[times[test] == t] for t in range(count)]
        seen = [(times <= t).nonzero().flatten() for t in range(count)]
        return [Fold(t, seen[t][~torch.isin(seen[t], tests[t])], tests[t]) for t in range(count)]

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
