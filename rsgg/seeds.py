"""Seeds by name: every random draw comes from a seed derived from the names it may depend on.

Two draws that share no name are independent; the number of workers, the order of the work and what ran
before are not names, so they cannot change a result.
"""

from __future__ import annotations

import hashlib

import numpy as np
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
    return torch.Generator().manual_seed(seed_for(*names))
