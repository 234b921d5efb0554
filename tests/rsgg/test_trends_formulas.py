"""Tests of measured curves against SciPy's tests, sums over all cases and curves whose shape is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from rsgg import trends
from rsgg.trends import PValues


def test_p_values_are_joined_as_logic_says() -> None:
    assert trends.counted(True) == (0, 1) and trends.counted(False) == (1, 0)
    one, other = PValues(0.01, 0.9), PValues(0.2, 0.3)
    assert trends.both(one, other) == (0.2, 0.6) and trends.both(PValues(0.1, 0.8), other) == (0.2, 0.6)
    assert trends.both(PValues(0.1, 0.8), PValues(0.1, 0.7)) == (0.1, 1)
    assert trends.negated(one) == (0.9, 0.01)
    assert one.p == 0.02 and PValues(0.7, 0.6).p == 1


@pytest.mark.parametrize(("count", "n"), [(0, 5), (3, 5), (5, 5), (9, 10), (5, 10)])
def test_a_majority_is_a_binomial_test(count: int, n: int) -> None:
    expected = [stats.binomtest(count, n, alternative=side).pvalue for side in ("greater", "less")]
    assert trends.majority(count, n) == pytest.approx(expected)


def test_margins_are_tested_as_scipy_tests_samples() -> None:
    """Two samples: their means, standard errors and degrees of freedom give SciPy's one-sided p values."""
    rng = np.random.default_rng(0)
    samples = [rng.normal(0.1, 1, 12), rng.normal(-0.3, 1, 12)]
    mean, se = [s.mean() for s in samples], [stats.sem(s) for s in samples]

    def p(sample: np.ndarray, at: float, side: str) -> float:
        return float(stats.ttest_1samp(sample, at, alternative=side).pvalue)

    below = trends.below(mean, se, 0.5, degrees=11)
    assert below.holds == pytest.approx(max(p(s, 0.5, "less") for s in samples))
    assert below.fails == pytest.approx(min(1, 2 * min(p(s, 0.5, "greater") for s in samples)))
    within = trends.within(mean, se, 0.5, degrees=11)
    assert within.holds == pytest.approx(max(max(p(s, 0.5, "less"), p(s, -0.5, "greater")) for s in samples))
    outside = [p(s, 0.5, "greater") for s in samples] + [p(s, -0.5, "less") for s in samples]
    assert within.fails == pytest.approx(min(1, 4 * min(outside)))
    above = trends.above(mean[0], se[0], 0.05, degrees=11)
    assert above.holds == pytest.approx(p(samples[0], 0, "greater"))
    near = max(p(samples[0], 0.05, "less"), p(samples[0], -0.05, "greater"))
    assert above.fails == pytest.approx(min(1, 2 * min(p(samples[0], 0, "less"), near)))


@pytest.mark.parametrize(("estimate", "holds"), [(0.1, True), (-0.1, True), (0.5, False), (0.7, False)])
def test_without_any_error_a_margin_is_compared_with(estimate: float, holds: bool) -> None:
    assert trends.below(estimate, 0.0, 0.5) == ((0, 1) if holds else (1, 0) if estimate > 0.5 else (1, 1))
    assert trends.within(-estimate, 0.0, 0.5) == ((0, 1) if holds else (1, 0) if estimate > 0.5 else (1, 1))


def test_points_of_a_curve_are_compared_by_welchs_test() -> None:
    rng = np.random.default_rng(1)
    folds = [rng.normal(m, s, 10) for m, s in ((0.50, 0.02), (0.52, 0.05), (0.47, 0.03))]
    mean, se = [f.mean() for f in folds], [stats.sem(f) for f in folds]

    def p(later: np.ndarray, earlier: np.ndarray, margin: float, side: str) -> float:
        return float(stats.ttest_ind(later - margin, earlier, equal_var=False, alternative=side).pvalue)

    pairs = [(folds[j], folds[i]) for i in range(3) for j in range(i + 1, 3)]
    rises = trends.unaffected(mean, se, 0.06, rises_only=True)
    assert rises.holds == pytest.approx(max(p(*pair, 0.06, "less") for pair in pairs))
    assert rises.fails == pytest.approx(min(1, 3 * min(p(*pair, 0.06, "greater") for pair in pairs)))
    both = trends.unaffected(mean, se, 0.06)
    assert both.holds == pytest.approx(max(max(p(*pair, 0.06, "less"), p(*pair, -0.06, "greater")) for pair in pairs))
    beyond = [p(*pair, 0.06, "greater") for pair in pairs] + [p(*pair, -0.06, "less") for pair in pairs]
    assert both.fails == pytest.approx(min(1, 6 * min(beyond)))
    assert trends.unaffected([1, 1, 1], [0, 0, np.nan], 0.1) == (0, 1), "nothing moves and nothing is uncertain"


@pytest.mark.parametrize("n", [4, 7])
def test_the_trend_of_ranks_is_kendalls_exact_test(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = np.arange(n), rng.permutation(n).astype(float)
    trend = trends.rank_trend(x, y)
    assert trend.tau == pytest.approx(stats.kendalltau(x, y).statistic)
    assert trend.rises == pytest.approx(stats.kendalltau(x, y, method="exact", alternative="greater").pvalue)
    assert trend.falls == pytest.approx(stats.kendalltau(x, y, method="exact", alternative="less").pvalue)


def test_ties_count_for_neither_side_and_long_curves_are_sampled() -> None:
    flat = trends.rank_trend([1, 2, 3, 4], [5, 5, 5, 5])
    assert flat == (0, 1, 1)
    assert trends.rank_trend([1, 2, 3], [1, 1, 2]).tau == pytest.approx(2 / 3)
    y = np.array([0.0, 2, 1, 3, 5, 4, 6, 8, 7])
    long = trends.rank_trend(np.arange(9), y)
    exact = stats.kendalltau(np.arange(9), y, method="exact", alternative="greater").pvalue
    assert long.rises == pytest.approx(exact, abs=2e-3) and long.rises >= 1 / 10_000 and long.falls > 0.99


def test_the_trend_goes_by_x_not_by_the_order_of_the_points() -> None:
    x, y = np.array([3, 1, 4, 2]), np.array([30.0, 10, 40, 20])
    assert trends.rank_trend(x, y) == trends.rank_trend(np.sort(x), np.sort(y)) == (1, 1 / 24, 1)


def test_orders_of_eight_points_are_drawn() -> None:
    """All of them would give 1 / 40 320 for a curve that only rises; of 10 000 none but its own has to be as good."""
    assert trends.rank_trend(range(7), range(7)).rises == pytest.approx(1 / 5040)
    drawn = trends.rank_trend(range(8), range(8)).rises
    assert drawn >= 1 / 10_000 and drawn * 10_000 == pytest.approx(round(drawn * 10_000))


X = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])


@pytest.mark.parametrize(
    ("y", "rival"),
    [
        (0.02 * (X - 4) ** 2, "quadratic"),
        (np.exp(X), "exponential or saturating"),
        (1 - np.exp(-X), "exponential or saturating"),
        (np.sqrt(X), "power"),
    ],
)
def test_a_bend_is_found_and_named(y: np.ndarray, rival: str) -> None:
    bent = trends.straight(X, y, np.full(8, 0.002), margin=10.0)
    assert bent.tested.holds == 1 and bent.tested.fails < 0.01 and bent.rival == rival
    slope, intercept = np.polyfit(X, y, 1)
    assert bent.distance == pytest.approx(np.abs(y - intercept - slope * X).max(), rel=1e-6)


def test_a_line_holds_if_every_point_is_shown_to_be_near() -> None:
    noise = 0.01 * np.array([1, -1, -1, 1, 1, -1, -1, 1.0])
    near = trends.straight(X, 2 * X + noise, np.full(8, 0.01), margin=0.1)
    assert near.tested.holds < 0.001 and near.tested.fails > 0.05
    slope, intercept = np.polyfit(X, 2 * X + noise, 1)
    residual = 2 * X + noise - intercept - slope * X
    expected = trends.within(residual, np.full(8, 0.01), 0.1, degrees=9)
    assert near.tested.holds == pytest.approx(expected.holds)
    too_near = trends.straight(X, 2 * X + noise, np.full(8, 0.01), margin=0.001)
    assert too_near.tested.holds > 0.05


def test_the_better_family_is_judged_by_the_f_test_of_one_parameter() -> None:
    """A parabola with noise: the quadratic family by NumPy's weighted fit, three families in all."""
    rng = np.random.default_rng(2)
    se = np.array([0.1, 0.2, 0.1, 0.3, 0.1, 0.2, 0.1, 0.1])
    y = 0.02 * (X - 4.5) ** 2 + rng.normal(0, se)

    def misfit(degree: int) -> float:
        return float((((y - np.polyval(np.polyfit(X, y, degree, w=1 / se), X)) / se) ** 2).sum())

    f = (misfit(1) - misfit(2)) / max(1, misfit(2) / 5)
    ours = trends.straight(X, y, se, margin=1.0)
    assert ours.rival == "quadratic" and ours.tested.fails == pytest.approx(min(1, 3 * stats.f.sf(f, 1, 5)), rel=1e-4)


def test_a_line_is_given_up_when_a_family_is_better_at_five_percent() -> None:
    """The same bend, larger and larger: the line holds while p > .05, although all points are near."""
    bend = (X - 4.5) ** 2
    seen = []
    for size in np.linspace(0, 0.2, 60):
        tested = trends.straight(X, X + size * bend, np.full(8, 0.5), margin=1000.0).tested
        assert (tested.holds == 1) == (tested.fails <= 0.05)
        seen.append(tested.fails)
    assert any(0.05 < p < 0.1 for p in seen) and any(p <= 0.05 for p in seen)


def test_a_line_of_many_points_is_not_beaten_at_all() -> None:
    x = np.arange(30.0)
    assert trends.straight(x, 3 * x - 2, np.full(30, 0.1), margin=1.0).tested.fails == 1


@pytest.mark.parametrize("slope", [1e9, -1e9, 1e6, 1.0])
def test_rounding_bends_no_line_that_is_known_without_error(slope: float) -> None:
    """Residuals of an exact line are rounding errors, which grow with its values: no family may profit from them."""
    for seed in range(20):
        x = np.sort(np.random.default_rng(seed).uniform(1, 100, 8))
        line = trends.straight(x, slope * x, np.zeros(8), margin=abs(slope))
        assert line.tested.holds < 1e-9 and line.tested.fails == 1 and line.distance < 1e-6 * abs(slope)


def test_a_point_without_error_counts_as_the_surest_other() -> None:
    y = 2 * X + 0.05 * np.array([1, -1, 1, -1, 1, -1, 1, -1])
    given = trends.straight(X, y, [0.1, 0.0, 0.3, np.nan, 0.2, 0.1, 0.1, 0.2], margin=1.0)
    filled = trends.straight(X, y, [0.1, 0.1, 0.3, 0.1, 0.2, 0.1, 0.1, 0.2], margin=1.0)
    assert given == filled


@pytest.mark.parametrize(
    ("y", "turns"), [([], 0), ([1], 0), ([1, 2, 3], 0), ([1, 3, 2], 1), ([1, 2, 2, 1], 1), ([0, 1, 1, 2, 0, 1], 2)]
)
def test_turning_points_by_hand(y: list[float], turns: int) -> None:
    assert trends.turning_points(y) == turns
