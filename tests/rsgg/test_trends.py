"""What curves do, against SciPy, brute force, and simulated curves in which the truth was planted."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from rsgg.trends import (
    PValues,
    above,
    below,
    both,
    counted,
    majority,
    negated,
    rank_trend,
    straight,
    turning_points,
    unaffected,
    within,
)

X = np.array([3, 5, 8, 10, 12, 15, 18, 20, 23, 25, 28], dtype=float)


# -- two p values --------------------------------------------------------------------------------------------------


def test_statements_together_hold_by_the_weakest_and_fail_by_one_with_bonferroni() -> None:
    assert both(PValues(0.01, 0.9), PValues(0.04, 0.02)) == PValues(0.04, 0.04)
    assert (
        both(counted(True), counted(False)) == PValues(1.0, 0.0) and both(PValues(0.3, 0.8), counted(True)).fails == 1
    )
    assert negated(PValues(0.1, 0.7)) == PValues(0.7, 0.1)
    assert PValues(0.9, 0.02).p == pytest.approx(0.04) and PValues(0.8, 0.7).p == 1


def test_a_majority_is_a_binomial_test() -> None:
    found = majority(14, 20)
    assert found.holds == pytest.approx(sum(math.comb(20, k) for k in range(14, 21)) / 2**20)
    assert found.fails == pytest.approx(sum(math.comb(20, k) for k in range(15)) / 2**20)


def test_one_estimate_within_a_margin_is_schuirmanns_test() -> None:
    """SciPy's one-sample t tests against both ends of the margin."""
    values = np.array([0.01, 0.03, -0.02, 0.02, 0.04, -0.01])
    found = within(values.mean(), stats.sem(values), 0.05, degrees=len(values) - 1)
    ends = stats.ttest_1samp(values, -0.05, alternative="greater"), stats.ttest_1samp(values, 0.05, alternative="less")
    assert found.holds == pytest.approx(max(end.pvalue for end in ends))
    far = within(0.2, stats.sem(values), 0.05, degrees=5)
    assert far.fails == pytest.approx(2 * stats.t.sf(0.15 / stats.sem(values), 5))


def test_without_any_error_estimates_decide_themselves() -> None:
    assert within([0.01, -0.04], [0, 0], 0.05) == PValues(0, 1) and within([0.01, -0.06], [0, 0], 0.05) == PValues(1, 0)
    assert below(-1.0, 0.0, 0.0) == PValues(0, 1) and below(0.0, 0.0, 0.0) == PValues(1, 1), (
        "nothing shows at the margin"
    )


def test_above_fails_below_zero_and_within_the_margin_of_it() -> None:
    assert above(0.2, 0.01, 0.05).holds < 1e-6 and above(-0.2, 0.01, 0.05).fails < 1e-6
    assert above(0.0, 0.01, 0.05).fails < 1e-3, "shown to be next to nothing"
    undecided = above(0.05, 0.05, 0.05)
    assert min(undecided) > 0.05


# -- unaffected ----------------------------------------------------------------------------------------------------


def test_two_points_are_compared_by_welchs_test() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.normal(0, 1, 10), rng.normal(2, 3, 10)
    found = unaffected([one.mean(), other.mean()], [stats.sem(one), stats.sem(other)], 0.0)
    assert found.fails == pytest.approx(stats.ttest_ind(one, other, equal_var=False).pvalue)


def test_not_significant_is_not_unaffected() -> None:
    """The former rule: .920 to .826 without a significant slope. Large errors decide nothing."""
    means = [0.92, 0.92, 0.92, 0.90, 0.91, 0.86, 0.826]
    assert min(unaffected(means, [0.04] * 7, 0.05)) > 0.05
    assert unaffected(means, [0.004] * 7, 0.05).fails < 0.01
    assert unaffected([0.9, 0.91, 0.9, 0.905], [0.004] * 4, 0.05).holds < 0.01


def test_a_dip_between_equal_ends_counts() -> None:
    assert unaffected([0.9, 0.6, 0.9], [0.01] * 3, 0.1).fails < 1e-3


def test_only_rises_count_where_only_rises_are_asked_for() -> None:
    falling, rising = [3.0, 2.0, 1.0], [1.0, 2.0, 3.0]
    assert unaffected(falling, [0.05] * 3, 0.1, rises_only=True).holds < 0.01
    assert unaffected(falling, [0.05] * 3, 0.1).fails < 0.01
    assert unaffected(rising, [0.05] * 3, 0.1, rises_only=True).fails < 0.01


def test_wrong_answers_are_rarer_than_the_level() -> None:
    """Two points exactly at the margin: neither answer may be given in more than one case in twenty."""
    rng = np.random.default_rng(1)
    folds = rng.normal(0, 0.05, (2000, 5, 10)) + np.array([0, 0, 0, 0, 0.05])[:, None]
    curves = zip(folds.mean(2), stats.sem(folds, axis=2), strict=True)
    found = [unaffected(mean, se, 0.05) for mean, se in curves]
    assert np.mean([one.holds <= 0.05 for one in found]) <= 0.06
    assert np.mean([one.fails <= 0.05 for one in found]) <= 0.06


# -- ranks ---------------------------------------------------------------------------------------------------------


def test_ranks_of_few_points_are_enumerated_ties_included() -> None:
    x, y = [1, 2, 3, 4, 5], [1.0, 2.0, 2.0, 5.0, 4.0]

    def score(order: tuple[float, ...]) -> int:
        return sum(int(np.sign(order[j] - order[i])) for i in range(5) for j in range(i + 1, 5))

    scores = [score(order) for order in permutations(y)]
    found = rank_trend(x, y)
    assert found.tau == pytest.approx(score(tuple(y)) / 10)
    assert found.rises == pytest.approx(np.mean([s >= score(tuple(y)) for s in scores]))
    assert found.falls == pytest.approx(np.mean([s <= score(tuple(y)) for s in scores]))


def test_ranks_of_many_points_are_nearly_scipys() -> None:
    y = np.random.default_rng(3).permutation(11) + 0.4 * np.arange(11)
    expected = stats.kendalltau(X, y, alternative="greater", method="exact")
    found = rank_trend(X, y)
    assert found.tau == pytest.approx(expected.statistic) and found.rises == pytest.approx(expected.pvalue, abs=0.02)


def test_a_saturating_curve_rises_as_surely_as_a_straight_one() -> None:
    saturating, line = rank_trend(X, 1 - np.exp(-X / 3)), rank_trend(X, X)
    assert saturating == line and line.rises < 0.001 and line.falls == 1
    assert rank_trend(X, np.ones(11)) == (0, 1, 1)


def test_a_curve_turns_where_its_steps_change_sign() -> None:
    assert [turning_points(y) for y in ([1, 2, 3], [1, 2, 1, 2], [1, 1, 1], [1, 2, 2, 1])] == [0, 2, 0, 1]


# -- straight lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("course", "rivals"),
    [
        (lambda x: 0.1 * x**2, ("quadratic", "power")),
        (lambda x: 10 * np.sqrt(x), ("power",)),
        (lambda x: 30 * (1 - np.exp(-x / 5)), ("exponential or saturating",)),
        (lambda x: np.exp(x / 6), ("exponential or saturating",)),
    ],
)
def test_a_bent_curve_beats_the_line_and_its_family_is_named(course: object, rivals: tuple[str, ...]) -> None:
    y = course(X) + np.random.default_rng(4).normal(0, 0.1, len(X))  # type: ignore[operator]
    found = straight(X, y, np.full(len(X), 0.1), 0.1 * np.ptp(y))
    assert found.tested.fails < 0.01 and found.tested.holds == 1 and found.rival in rivals


def test_a_line_is_one_where_points_are_sure_and_undecided_where_they_are_not() -> None:
    y = 2 * X + np.random.default_rng(5).normal(0, 0.3, len(X))
    sure = straight(X, y, np.full(len(X), 0.3), 0.1 * np.ptp(y))
    assert sure.tested.holds < 0.01 and sure.tested.fails > 0.05 and 0 < sure.distance < 1
    assert min(straight(X, y, np.full(len(X), 8.0), 0.1 * np.ptp(y)).tested) > 0.05


def test_lines_are_rarely_called_bent() -> None:
    rng = np.random.default_rng(6)
    found = [straight(X, X + rng.normal(0, 1, len(X)), np.ones(len(X)), 5.0).tested.fails for _ in range(300)]
    assert np.mean([p <= 0.05 for p in found]) < 0.08


def test_a_point_without_error_has_that_of_the_surest_other() -> None:
    y, se = 2 * X, np.full(len(X), 0.3)
    assert straight(X, y, np.where(X == 3, 0.0, se), 5.0) == straight(X, y, se, 5.0)
