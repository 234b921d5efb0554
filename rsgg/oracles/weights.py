"""Weights of networks that are trained here: trained once, and found again by everything that they depend on.

The same training on another kind of processor ends in another network: sums differ in their last bits, and a thousand
steps later so do answers. Results about a trained network can therefore be computed again only with its weights. They
are looked for in the folders that `RSGG_ORACLES` names (separated as in PATH) and in the cache; what is not there is
trained, and kept in the last of these folders and in the cache.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor

from rsgg.data.files import cache_dir
from rsgg.errors import DataError, UsageError
from rsgg.saving import read_archive, write_archive

Weights = dict[str, Tensor]
VARIABLE = "RSGG_ORACLES"
FOLDER = "oracles"  # in the cache, and in a folder of results


def address(about: object, *parts: Tensor | None) -> str:
    """A hash of everything that weights depend on: values that JSON can hold, and tensors."""
    digest = hashlib.sha256(json.dumps(about).encode())
    for part in parts:
        if part is not None:
            digest.update(part.contiguous().numpy().data)
    return digest.hexdigest()[:32]


def trained_once(name: str, train: Callable[[], Weights]) -> Weights:
    """The weights that are kept under this name; those that `train` gives, which are kept from now on, if none are.

    A damaged file counts as none. A folder that cannot be written costs time, not the result.
    """
    named = [Path(folder) for folder in os.environ.get(VARIABLE, "").split(os.pathsep) if folder]
    places = [folder / f"{name}.npz" for folder in (*named, cache_dir() / FOLDER)]
    found = {place: weights for place in places if (weights := _read(place)) is not None}
    weights = next(iter(found.values())) if found else train()
    if not any(place in found for place in places[:-1]):  # in no folder that is named
        for place in places[-2:]:
            if place not in found:
                _write(place, weights)
    return weights


@contextmanager
def looked_for_in(folders: Sequence[Path]) -> Iterator[None]:
    """Within the block, and in processes that are started there, look here; folders that the user names come first."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = os.pathsep.join([before] if before else map(str, folders))
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]


@contextmanager
def in_the_cache_alone() -> Iterator[None]:
    """Within the block, weights are looked for and kept in the cache and in no folder that is named."""
    before = os.environ.pop(VARIABLE, None)
    try:
        yield
    finally:
        if before is not None:
            os.environ[VARIABLE] = before


def _read(path: Path) -> Weights | None:
    try:
        return {name: torch.from_numpy(value) for name, value in read_archive(path)[1].items()}
    except (UsageError, DataError, TypeError):
        return None


def _write(path: Path, weights: Weights) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_archive(path, {}, {name: value.detach().numpy() for name, value in weights.items()})
    except (OSError, UsageError):
        pass
