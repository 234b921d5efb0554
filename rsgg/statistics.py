"""Intervals of means, prediction intervals, paired tests and effect sizes.

All functions are pure: numbers in, numbers out, formulas in the docstrings, randomness seeded. Published tables often
print means without intervals; `prediction_interval` answers whether such a mean could have been one of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are first used: scipy.stats takes half a second
from numpy.typing import ArrayLike, NDArray

from rsgg.seeds import numpy_rng

Floats = NDArray[np.float64]

_EXACT_PAIRS = 13  # up to 2^13 assignments of signs
_BLOCK = 4_000_000  # resampled values held in memory at once
_REMEMBERED = 1_000_000  # draws, at most, that are kept for the next interval of as many values


class Bounds(NamedTuple):
    """A closed interval."""

    low: float
    high: float


NO_INTERVAL = Bounds(float("nan"), float("nan"))


def fold_means(values: ArrayLike, folds: ArrayLike) -> Floats:
    """The mean of each fold's values, NaN left out; folds without any value are dropped."""
    x, fold = np.asarray(values, dtype=float), np.asarray(folds)
    present = ~np.isnan(x)
    _, position = np.unique(fold[present], return_inverse=True)
    return np.bincount(position, x[present]) / np.bincount(position)


def bootstrap_interval(
    values: ArrayLike, *, clusters: ArrayLike | None = None, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Bounds:
    """Percentile bootstrap interval of a mean, widened for small samples.

    Of n values, n are drawn with replacement `resamples` times; the interval runs between the α'/2 and 1 - α'/2
    quantiles of their means, with α'/2 = Φ(-√(n/(n-1)) · t_{1-α/2, n-1}) (Hesterberg 2015, the expanded percentile
    interval): plain percentiles of ten values cover 90 %, not 95; for large n the two agree. With `clusters` (folds)
    each cluster's mean is one value, since instances of a fold share a fitted model: the mean of fold means.
    """
    x = np.asarray(values, dtype=float)
    x = x[~np.isnan(x)] if clusters is None else fold_means(x, clusters)
    n = len(x)
    if n < 2:
        return NO_INTERVAL
    means = np.concatenate([x[drawn].mean(0) for drawn in _drawn(n, resamples, seed)])
    tail = _expanded_tail(level, n)
    low, high = np.quantile(means, (tail, 1 - tail))
    return Bounds(float(low), float(high))


def _drawn(n: int, resamples: int, seed: int) -> Iterable[NDArray[np.int64]]:
    """Which of n values each resample holds, [n, resamples], in blocks; of few values it is remembered.

    Tables are full of intervals over ten folds, and drawing takes longer than averaging. In memory a remembered
    resample is a column: many columns are added at once, a row of ten values is not.
    """
    return (_remembered(n, resamples, seed),) if n * resamples <= _REMEMBERED else _blocks(n, resamples, seed)


@lru_cache(maxsize=16)
def _remembered(n: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return np.ascontiguousarray(np.concatenate(list(_blocks(n, resamples, seed)), axis=1))


def _blocks(n: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    rng, block = numpy_rng(seed, "bootstrap"), max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        yield rng.integers(n, size=(min(block, resamples - start), n)).T


@cache
def _expanded_tail(level: float, n: int) -> float:
    return float(scipy.stats.norm.cdf(-np.sqrt(n / (n - 1)) * _t_quantile(level, n - 1)))


def mean_interval(values: ArrayLike, *, level: float = 0.95) -> Bounds:
    """Student's interval of a mean, from S independent values: m ± t_{1-α/2, S-1} · s / √S."""
    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        return NO_INTERVAL
    half = _t_quantile(level, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))
    return Bounds(float(x.mean() - half), float(x.mean() + half))


def prediction_interval(means: ArrayLike, *, level: float = 0.95) -> Bounds:
    """Where one further mean of the same kind falls, from S replicate means: m ± t_{1-α/2, S-1} · s · √(1 + 1/S)."""
    x = np.asarray(means, dtype=float)
    if len(x) < 2:
        return NO_INTERVAL
    half = _t_quantile(level, len(x) - 1) * x.std(ddof=1) * np.sqrt(1 + 1 / len(x))
    return Bounds(float(x.mean() - half), float(x.mean() + half))


def prediction_interval_from_folds(values: ArrayLike, *, further_folds: int, level: float = 0.95) -> Bounds:
    """The same from the k fold means of one replicate: m ± t_{1-α/2, k-1} · s_fold · √(1/k + 1/K), K further folds.

    Cruder than replicates: it treats fold means as independent and knows nothing of other data sets or seeds.
    """
    x = np.asarray(values, dtype=float)
    if len(x) < 2:
        return NO_INTERVAL
    half = _t_quantile(level, len(x) - 1) * x.std(ddof=1) * np.sqrt(1 / len(x) + 1 / further_folds)
    return Bounds(float(x.mean() - half), float(x.mean() + half))


def wilson_interval(successes: float, n: int, *, level: float = 0.95) -> Bounds:
    """Wilson's score interval of a proportion: (p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n).

    Unlike a bootstrap it is not empty when all outcomes agree.
    """
    if n < 1:
        return NO_INTERVAL
    z = scipy.stats.norm.ppf((1 + level) / 2)
    p, z2n = successes / n, z**2 / n
    centre, half = p + z2n / 2, z * np.sqrt(p * (1 - p) / n + z2n / (4 * n))
    low, high = (centre - half) / (1 + z2n), (centre + half) / (1 + z2n)
    return Bounds(0.0 if successes == 0 else float(low), 1.0 if successes == n else float(high))


@cache
def _t_quantile(level: float, degrees: int) -> float:
    return float(scipy.stats.t.ppf((1 + level) / 2, degrees))


# -- Trends --------------------------------------------------------------------------------------------------


class Slope(NamedTuple):
    """The slope of a straight line, and its interval."""

    slope: float
    low: float
    high: float


def linear_slope(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Slope:
    """Slope b of the least-squares line through n points: b ± t_{1-α/2, n-2} · s_b, s_b² = Σ residual² / (n-2) Sxx.

    Two points have a slope and no interval; fewer, or points above one another, have neither.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n, dx = len(across), across - across.mean() if len(across) else across
    sxx = float((dx**2).sum())
    if n < 2 or not sxx:
        return Slope(*NO_INTERVAL, float("nan"))
    slope = float((dx * (up - up.mean())).sum()) / sxx
    if n < 3:
        return Slope(slope, *NO_INTERVAL)
    residuals = up - up.mean() - slope * dx
    half = _t_quantile(level, n - 2) * float(np.sqrt((residuals**2).sum() / (n - 2) / sxx))
    return Slope(slope, slope - half, slope + half)


def log_log_slope(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Slope:
    """The exponent b of a power law y = a · x^b, with its interval: `linear_slope` of log y on log x.

    Points that are not positive have no logarithm and are left out.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    there = (across > 0) & (up > 0)
    return linear_slope(np.log(across[there]), np.log(up[there]), level=level)


# -- Paired comparisons --------------------------------------------------------------------------------------


def paired_wilcoxon(x: ArrayLike, y: ArrayLike, clusters: ArrayLike | None = None) -> float:
    """Two-sided p of the Wilcoxon signed-rank test of x - y; pairs that agree are left out, 1 if all of them do.

    With few pairs exact, ties included: the share of all assignments of signs to the ranks that are as unbalanced.
    Pairs of one cluster (a fold, whose pairs come from one fit) are not independent: with `clusters`, one label per
    pair, all signs of a cluster flip together (Rosner, Glynn & Lee 2006). Then S_c is the sum of the signed ranks of
    cluster c, and with many clusters Σ S_c / √(Σ S_c²) is taken as normal.
    """
    differences = _differences(x, y)
    differs = differences != 0
    differences = differences[differs]
    if clusters is None and len(differences) > _EXACT_PAIRS:
        return float(scipy.stats.wilcoxon(differences).pvalue)
    sums = np.sign(differences) * scipy.stats.rankdata(np.abs(differences))
    if clusters is not None:
        _, cluster = np.unique(np.asarray(clusters)[differs], return_inverse=True)
        sums = np.bincount(cluster, weights=sums)
    if len(sums) > _EXACT_PAIRS:
        return float(2 * scipy.stats.norm.sf(abs(sums.sum()) / np.sqrt((sums**2).sum())))
    signs = 1 - 2 * (np.arange(2 ** len(sums))[:, None] >> np.arange(len(sums)) & 1)
    return float((np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9).mean())


def rank_biserial(x: ArrayLike, y: ArrayLike) -> float:
    """Matched-pairs rank-biserial correlation (R⁺ - R⁻) / (R⁺ + R⁻), R± the rank sums of the positive and negative
    differences: 1 where x is always larger, -1 where always smaller, 0 where neither or all pairs agree."""
    differences = _differences(x, y)
    differences = differences[differences != 0]
    if not len(differences):
        return 0.0
    ranks = scipy.stats.rankdata(np.abs(differences))
    return float((ranks * np.sign(differences)).sum() / ranks.sum())


def paired_dominance(x: ArrayLike, y: ArrayLike) -> float:
    """Cliff's δ within pairs: the share of pairs with x > y less the share with x < y."""
    return float(np.sign(_differences(x, y)).mean())


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down adjustment: with p sorted, p̃_(i) = max_{j≤i} min(1, (m - j + 1) p_(j)). NaN stays NaN."""
    p = np.asarray(p_values, dtype=float)
    adjusted = np.full(p.shape, np.nan)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * p[order]), 1)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's step-up adjustment: with p sorted, q_(i) = min_{j≥i} min(1, m p_(j) / j).

    Of the hypotheses with q ≤ α at most the share α is expected to be true.
    """
    p = np.asarray(p_values, dtype=float)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * len(p) / np.arange(1, len(p) + 1)
    adjusted = np.empty(p.shape)
    adjusted[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1)
    return adjusted


def _differences(x: ArrayLike, y: ArrayLike) -> Floats:
    differences = np.asarray(x, dtype=np.float64) - np.asarray(y, dtype=np.float64)
    return differences[~np.isnan(differences)]
