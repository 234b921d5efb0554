"""Does a curve rise, fall or stay where it is? Trend tests for the ablations (Section 5.1), as pure functions.

A curve is a mean and a standard error per grid point. Correctness saturates and standard errors reach 0 where all folds
agree, so points are not weighted by these errors alone: how far the points lie off the line counts as error too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from rsgg.statistics import NOWHERE, Slope

Floats = NDArray[np.float64]

NOISE = 1e-9  # of the values' size: what floating point alone may leave of a difference


class Trend(NamedTuple):
    """A straight line through a curve: slope with its 95 % interval, the change along it, and where the curve ends."""

    slope: float
    low: float
    high: float
    change: float
    first: float
    last: float
    rank_correlation: float

    @property
    def rises(self) -> bool:
        return self.low > 0

    @property
    def falls(self) -> bool:
        return self.high < 0

    def flat(self, tolerance: float) -> bool:
        """No trend that is both sure (its interval leaves 0 out) and large (the change is above the tolerance)."""
        return not (self.rises or self.falls) or abs(self.change) <= tolerance


def trend(x: ArrayLike, y: ArrayLike, se: ArrayLike) -> Trend:
    """The line through a curve of at least three points, with Spearman's rank correlation beside it."""
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    line = weighted_slope(across, up, se)
    return Trend(*line, line.slope * float(np.ptp(across)), float(up[0]), float(up[-1]), rank_correlation(across, up))


def weighted_slope(x: ArrayLike, y: ArrayLike, se: ArrayLike, *, degree: int = 1, level: float = 0.95) -> Slope:
    """The coefficient of x^degree in a polynomial of this degree through n points, by weighted least squares.

    Weights are 1 / (se² + τ²) with τ² = max(0, RSS / (n - p) - mean se²), the spread around the unweighted fit that
    standard errors do not explain (the estimator of Hedges), p = degree + 1. With W of these weights,
    b = (XᵀWX)⁻¹XᵀWy, and the interval is b ± t_{1-α/2, n-p} √(max(1, Σ w r² / (n - p)) (XᵀWX)⁻¹). A missing standard
    error counts as 0. No interval for n = p, no slope for fewer points.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    errors, n, p = np.nan_to_num(np.asarray(se, dtype=float)), len(up), degree + 1
    if len(np.unique(across)) < p:
        return Slope(*NOWHERE, float("nan"))
    scale = float(np.ptp(across))
    design = np.vander((across - across.mean()) / scale, p, increasing=True)
    plain = up - design @ np.linalg.lstsq(design, up, rcond=None)[0]
    if n == p:
        top = float(np.linalg.solve(design, up)[-1]) / scale**degree
        return Slope(top, *NOWHERE)
    between = max(0.0, float((plain**2).sum()) / (n - p) - float((errors**2).mean()))
    weights = _weights(errors**2 + between, float(np.abs(up).max()))
    inverse = np.linalg.inv(design.T @ (weights[:, None] * design))
    fitted = inverse @ design.T @ (weights * up)
    spread = float((weights * (up - design @ fitted) ** 2).sum()) / (n - p)
    half = float(stats.t.ppf((1 + level) / 2, n - p)) * float(np.sqrt(max(1.0, spread) * inverse[-1, -1]))
    top, half = float(fitted[-1]) / scale**degree, half / scale**degree
    return Slope(top, top - half, top + half)


def _weights(variance: Floats, size: float) -> Floats:
    """1 / variance; a point without any error is as sure as the surest other, or as floating point is."""
    positive = variance[variance > 0]
    least = float(positive.min()) if len(positive) else 0.0
    return 1 / np.maximum(variance, max(least, (NOISE * size) ** 2, np.finfo(float).tiny))


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's ρ; 0 for a curve that is constant."""
    up = np.asarray(y, dtype=float)
    return 0.0 if np.ptp(up) == 0 else float(stats.spearmanr(x, up).statistic)


def turning_points(y: ArrayLike) -> int:
    """How often a curve turns from rising to falling or back; steps without a change are passed over."""
    steps = np.sign(np.diff(np.asarray(y, dtype=float)))
    steps = steps[steps != 0]
    return int((steps[1:] != steps[:-1]).sum())
