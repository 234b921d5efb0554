"""Statistics at their smallest samples, against SciPy, sums over all cases and numbers from tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from rsgg import statistics


def test_memory_for_resampling_changes_no_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [0.1, 0.4, 0.2, 0.9, 0.3]
    usual = statistics.bootstrap_interval(values, resamples=200)
    monkeypatch.setattr(statistics, "_REMEMBERED", 0)
    for held in (1, 10, 12):  # fewer than one sample of five, two samples, two and a bit
        monkeypatch.setattr(statistics, "_BLOCK", held)
        assert statistics.bootstrap_interval(values, resamples=200) == usual


def test_percentiles_of_ten_values_are_widened_by_the_quantiles_of_the_tables() -> None:
    """Φ(-√(10/9) · t_{.975, 9}) = Φ(-1.0541 · 2.2622) = Φ(-2.3845) = .0086 instead of .025."""
    assert statistics._expanded_tail(0.95, 10) == pytest.approx(0.00855, abs=1e-5)


def test_two_values_give_an_interval_of_their_mean_with_the_quantile_of_the_table() -> None:
    """s / √2 of 1 and 3 is 1, so that half of the interval is t_{.975, 1} itself."""
    assert statistics.mean_interval([1, 3]) == pytest.approx((2 - 12.7062, 2 + 12.7062), rel=1e-5)


def test_two_values_give_a_prediction_interval_with_the_quantile_of_the_table() -> None:
    """t_{.975, 1} = 12.7062; of 1 and 3 the mean is 2 and s = √2."""
    half = 12.7062 * 2**0.5 * (1 + 1 / 2) ** 0.5
    assert statistics.prediction_interval([1, 3]) == pytest.approx((2 - half, 2 + half), rel=1e-5)
    assert np.isnan(statistics.prediction_interval([1])).all()
    half = 12.7062 * 2**0.5 * (1 / 2 + 1 / 10) ** 0.5
    assert statistics.prediction_interval_from_folds([1, 3], further_folds=10) == pytest.approx(
        (2 - half, 2 + half), rel=1e-5
    )
    assert np.isnan(statistics.prediction_interval_from_folds([1], further_folds=10)).all()


# -- Slopes ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [3, 4, 9])
def test_the_slope_and_its_interval_are_scipys(n: int) -> None:
    rng = np.random.default_rng(n)
    x, y = rng.normal(3, 2, n), rng.normal(size=n)
    theirs = stats.linregress(x, y)
    half = stats.t.ppf(0.95, n - 2) * theirs.stderr
    expected = (theirs.slope, theirs.slope - half, theirs.slope + half)
    assert statistics.linear_slope(x, y, level=0.9) == pytest.approx(expected)


def test_two_points_have_a_slope_only_and_points_above_one_another_have_none() -> None:
    assert statistics.linear_slope([1, 3], [0, 5])[0] == 2.5
    assert np.isnan(statistics.linear_slope([1, 3], [0, 5])[1:]).all()
    for x in ([], [4], [4, 4], [4, 4, 4]):
        assert np.isnan(statistics.linear_slope(x, range(len(x)))).all()


def test_a_power_law_is_found_without_the_points_that_have_no_logarithm() -> None:
    x = np.array([0.0, 1, 2, 4, 8, -1, 16])
    y = np.array([7.0, 3, 3 * 2**1.5, 3 * 4**1.5, 3 * 8**1.5, 5, 0])
    assert statistics.log_log_slope(x, y) == pytest.approx((1.5, 1.5, 1.5))


# -- Tests of pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 5, 13])
def test_few_pairs_with_ties_are_tested_by_all_assignments_of_signs(n: int) -> None:
    differences = np.random.default_rng(n).integers(1, 4, n) * np.where(np.arange(n) % 3, 1, -1)
    ranks = stats.rankdata(np.abs(differences))
    seen = abs(sum(np.sign(differences) * ranks))
    as_far = [abs(np.dot(signs, ranks)) >= seen - 1e-9 for signs in itertools.product((-1, 1), repeat=n)]
    assert statistics.paired_wilcoxon(differences, np.zeros(n)) == pytest.approx(np.mean(as_far))


def test_many_pairs_are_tested_by_scipy() -> None:
    differences = np.random.default_rng(0).normal(0.3, 1, 14)
    theirs = stats.wilcoxon(differences).pvalue
    assert statistics.paired_wilcoxon(differences, np.zeros(14)) == pytest.approx(theirs)


@pytest.mark.parametrize("n", [13, 14, 20])
def test_many_clusters_are_tested_by_the_normal_law_and_few_by_all_signs(n: int) -> None:
    """Two pairs to a cluster, whose signed ranks are added up: 2 P(Z > |ΣS| / √ΣS²) from fourteen clusters on."""
    differences = np.random.default_rng(n).normal(0.4, 1, 2 * n)
    ranks = stats.rankdata(np.abs(differences)) * np.sign(differences)
    sums = ranks[:n] + ranks[n:]
    if n > 13:
        expected = 2 * stats.norm.sf(abs(sums.sum()) / np.sqrt((sums**2).sum()))
    else:
        signs = np.array(list(itertools.product((-1, 1), repeat=n)))
        expected = np.mean(np.abs(signs @ sums) >= abs(sums.sum()) - 1e-9)
    ours = statistics.paired_wilcoxon(differences, np.zeros(2 * n), np.tile(np.arange(n), 2))
    assert ours == pytest.approx(expected)


def test_the_false_discovery_rate_is_scipys() -> None:
    p = np.random.default_rng(0).uniform(0, 0.5, 20)
    p[3] = p[7]
    assert statistics.benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    assert statistics.benjamini_hochberg([0.9, 0.99]) == pytest.approx([0.99, 0.99])
