"""What a measured curve does: is it unaffected, does it rise, is it a straight line?

A curve is a mean with a standard error (over folds) for each of a few points. Every question is answered by two
one-sided tests, `PValues`: one whose rejection shows that the statement holds, and one whose rejection shows that it
fails. Where neither is rejected the data do not decide; that a difference is not significant never shows that there is
none. All functions are pure.
"""

from __future__ import annotations

from itertools import permutations
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are first used: scipy.stats takes half a second
from numpy.typing import ArrayLike, NDArray

from rsgg.seeds import numpy_rng

Floats = NDArray[np.float64]

_ALL_ORDERS = 7  # up to 7! orders are enumerated, of more points
_RANDOM_ORDERS = 9_999  # are drawn
_LEVEL = 0.05


class PValues(NamedTuple):
    """Two p values: a small `holds` shows that a statement holds, a small `fails` that it does not."""

    holds: float
    fails: float

    @property
    def p(self) -> float:
        """Two-sided: twice the smaller of the two."""
        return min(1.0, 2 * min(self))


def counted(holds: bool) -> PValues:
    """What is counted and not estimated: decided without a test."""
    return PValues(0.0, 1.0) if holds else PValues(1.0, 0.0)


def both(*parts: PValues) -> PValues:
    """All statements together: the weakest must be shown to hold, or one (Bonferroni) to fail."""
    return PValues(max(part.holds for part in parts), min(1.0, len(parts) * min(part.fails for part in parts)))


def negated(statement: PValues) -> PValues:
    """The opposite of a statement."""
    return PValues(statement.fails, statement.holds)


def majority(count: int, n: int) -> PValues:
    """Is the probability behind `count` of n above one half? Exact binomial tests."""
    return PValues(float(scipy.stats.binom.sf(count - 1, n, 0.5)), float(scipy.stats.binom.cdf(count, n, 0.5)))


def within(estimate: ArrayLike, se: ArrayLike, margin: float, *, degrees: ArrayLike = np.inf) -> PValues:
    """Do all |θ_i| lie below the margin? Two one-sided t tests of each estimate (Schuirmann 1987).

    It holds if all are shown to (an intersection-union test needs no correction), and fails if one is shown to lie
    beyond (Bonferroni over the estimates and both sides).
    """
    theta, errors = np.atleast_1d(np.asarray(estimate, dtype=float)), np.atleast_1d(np.asarray(se, dtype=float))
    sides = np.concatenate((theta, -theta))
    errors, freedom = np.tile(errors, 2), np.tile(np.broadcast_to(np.asarray(degrees, dtype=float), theta.shape), 2)
    return below(sides, errors, margin, degrees=freedom)


def above(estimate: float, se: float, margin: float, *, degrees: float = np.inf) -> PValues:
    """Is θ above 0? Holds if it is shown to be; fails if it is shown to be below 0, or within the margin of it."""
    up, down = (below(side * estimate, se, 0.0, degrees=degrees).fails for side in (1, -1))
    return PValues(up, min(1.0, 2 * min(down, within(estimate, se, margin, degrees=degrees).holds)))


def below(estimate: ArrayLike, se: ArrayLike, margin: float, *, degrees: ArrayLike = np.inf) -> PValues:
    """Do all θ_i lie below the margin? One-sided t tests, as in `within`."""
    theta, errors = np.atleast_1d(np.asarray(estimate, dtype=float)), np.atleast_1d(np.asarray(se, dtype=float))
    beyond = _tail(theta - margin, errors, degrees)
    return PValues(float(_tail(margin - theta, errors, degrees).max()), min(1.0, len(beyond) * float(beyond.min())))


def _tail(distance: Floats, se: Floats, degrees: ArrayLike) -> Floats:
    """P(T ≥ distance / se); without any error 0 for what is positive and 1 for the rest."""
    sure = np.where(distance > 0, 0.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(se > 0, scipy.stats.t.sf(distance / se, degrees), sure)


def unaffected(mean: ArrayLike, se: ArrayLike, margin: float, *, folds: int = 10, rises_only: bool = False) -> PValues:
    """Do no two points of a curve differ by more than the margin? With `rises_only`, is no later one higher by more?

    Of all pairs i < j the difference d = m_j - m_i has the standard error s = √(se_i² + se_j²) and Welch's
    s⁴ / ((se_i⁴ + se_j⁴) / (folds - 1)) degrees of freedom; what they say together is said in `within`.
    """
    m, variance = np.asarray(mean, dtype=float), np.nan_to_num(np.asarray(se, dtype=float)) ** 2
    i, j = np.triu_indices(len(m), 1)
    total = variance[i] + variance[j]
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.where(total > 0, total**2 * (folds - 1) / (variance[i] ** 2 + variance[j] ** 2), np.inf)
    if rises_only:
        return below(m[j] - m[i], np.sqrt(total), margin, degrees=degrees)
    return within(m[j] - m[i], np.sqrt(total), margin, degrees=degrees)


class RankTrend(NamedTuple):
    """Kendall's τ-a of a curve, and one-sided p values of a rise and of a fall."""

    tau: float
    rises: float
    falls: float


def rank_trend(x: ArrayLike, y: ArrayLike) -> RankTrend:
    """Kendall's S = Σ_{i<j} sign(x_j - x_i) sign(y_j - y_i) against its distribution over all orders of y.

    Exact up to seven points, ties included; of more points 9 999 random orders are drawn with a fixed seed. τ-a is S
    over the number of pairs.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n = len(up)
    if n <= _ALL_ORDERS:
        orders = np.array(list(permutations(range(n))))
    else:
        drawn = numpy_rng(0, "rank trend").permuted(np.tile(np.arange(n), (_RANDOM_ORDERS, 1)), axis=1)
        orders = np.vstack((np.arange(n), drawn))
    i, j = np.triu_indices(n, 1)
    shuffled = up[orders]
    scores = np.sign(shuffled[:, j] - shuffled[:, i]) @ np.sign(across[j] - across[i])  # the first is the curve's own
    return RankTrend(
        float(scores[0]) / len(i), float((scores >= scores[0]).mean()), float((scores <= scores[0]).mean())
    )


class Straight(NamedTuple):
    """Is a curve a straight line, which bent family comes nearest, and how far is a point from the line at most?"""

    tested: PValues
    rival: str
    distance: float


def straight(x: ArrayLike, y: ArrayLike, se: ArrayLike, margin: float, *, folds: int = 10) -> Straight:
    """A straight line against families that hold it as a special case, all by weighted least squares.

    The families are quadratic a + bx + cx², power a + bx^c, and exponential or saturating a + b·exp(x / s), s of either
    sign. Each has one parameter more, so F = (χ²_line - χ²) / max(1, χ² / (n - 3)) has 1 and n - 3 degrees of freedom.
    The line fails if a family fits better (Bonferroni over the three). It holds if none does at 5 % and every point is
    shown to be nearer to it than `margin` (`within`). A point without error counts as the surest other one.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    errors = np.nan_to_num(np.asarray(se, dtype=float))
    surest = min(errors[errors > 0], default=1e-9 * max(1.0, float(np.abs(up).max())))
    errors, n = np.maximum(errors, surest), len(up)
    scaled = (across - across.min()) / np.ptp(across)
    one = np.ones(n)
    misfit, line = _fitted(np.column_stack((one, scaled)), up, errors)
    grid = np.geomspace(0.02, 50, 60)
    misfits = {
        "quadratic": _fitted(np.column_stack((one, scaled, scaled**2)), up, errors)[0],
        "power": min(_fitted(np.column_stack((one, (across / across.max()) ** c)), up, errors)[0] for c in grid / 10),
        "exponential or saturating": min(
            _fitted(np.column_stack((one, np.exp((scaled - (s > 0)) / s))), up, errors)[0] for s in (*grid, *-grid)
        ),
    }
    p = {
        name: float(scipy.stats.f.sf(max(0.0, misfit - own) / max(1.0, own / (n - 3)), 1, n - 3))
        for name, own in misfits.items()
    }
    beaten = min(1.0, len(p) * min(p.values()))
    near = within(up - line, errors, margin, degrees=folds - 1)
    tested = PValues(1.0 if beaten <= _LEVEL else near.holds, beaten)
    return Straight(tested, min(p, key=p.__getitem__), float(np.abs(up - line).max()))


def _fitted(design: Floats, y: Floats, se: Floats) -> tuple[float, Floats]:
    """χ² and the fitted values of the weighted least-squares fit."""
    coefficients = np.linalg.lstsq(design / se[:, None], y / se, rcond=None)[0]
    fitted = design @ coefficients
    return float((((y - fitted) / se) ** 2).sum()), fitted


def turning_points(y: ArrayLike) -> int:
    """How often a curve turns from rising to falling or back; steps without a change are passed over."""
    steps = np.sign(np.diff(np.asarray(y, dtype=float)))
    steps = steps[steps != 0]
    return int((steps[1:] != steps[:-1]).sum())
