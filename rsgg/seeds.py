"""Seeds by name: every random draw comes from a seed that is a hash of the names it may depend on.

Draws with different names are independent. The number of workers, the order of the work and what ran before are not
among the names, so they cannot change a result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch


def seed_for(*names: object) -> int:
    """A 63-bit seed for the thing that these names identify, e.g. ``seed_for(0, "fold", 3, "rsgg-ce")``."""
    text = "\x1f".join(str(name) for name in names)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def numpy_rng(*names: object) -> np.random.Generator:
    """A NumPy generator seeded by name."""
    return np.random.Generator(np.random.PCG64(seed_for(*names)))


def torch_rng(*names: object) -> torch.Generator:
    """A torch generator (CPU, so that results do not depend on the device) seeded by name."""
    import torch  # here, so that numbers alone (tables, figures) need no torch

    return torch.Generator().manual_seed(seed_for(*names))


# The constants of SplitMix64 (see `uniforms_at`), as 64-bit words so that arithmetic wraps around.
_GAMMA, _MIX1, _MIX2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_27, _30, _31, _11 = (np.uint64(bits) for bits in (27, 30, 31, 11))


def streams(graphs: Sequence[str], k: int, *names: object) -> np.ndarray:
    """A seed for each candidate of each graph, uint64 [graphs · k]: number i·k + j is candidate j of graph i."""
    return np.array([seed_for(*names, graph, j) for graph in graphs for j in range(k)], dtype=np.uint64)


def uniforms(seeds: np.ndarray, start: int, count: int) -> np.ndarray:
    """Numbers start, start + 1, … of the stream of each seed (uint64 [R]), uniform on [0, 1), float64 [R, count]."""
    return uniforms_at(seeds[:, None], np.arange(start, start + count))


def uniforms_at(seeds: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Number `index` of the stream of a seed, uniform on [0, 1); seeds (uint64) and indices broadcast.

    SplitMix64 (Steele, Lea & Flood 2014): number i of stream s is a hash of s + (i + 1)γ, so that any part of many
    streams is one array expression, and a row's numbers do not depend on which other rows are drawn with it.
    """
    x = seeds.astype(np.uint64) + (index.astype(np.uint64) + np.uint64(1)) * _GAMMA
    x ^= x >> _30  # in place: arrays are large
    x *= _MIX1
    x ^= x >> _27
    x *= _MIX2
    x ^= x >> _31
    x >>= _11
    return x * 2.0**-53
