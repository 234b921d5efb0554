"""Intervals, tests and effect sizes against SciPy, closed forms, brute force and simulated coverage."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rsgg.statistics import (
    benjamini_hochberg,
    bootstrap_interval,
    fold_means,
    holm,
    mean_interval,
    paired_dominance,
    paired_wilcoxon,
    prediction_interval,
    prediction_interval_from_folds,
    rank_biserial,
    wilson_interval,
)

RNG = np.random.default_rng(12345)


def coverage(draw, interval, truth, runs=800):
    inside = 0
    for _ in range(runs):
        low, high = interval(draw())
        inside += low <= truth <= high
    return inside / runs


# -- bootstrap -----------------------------------------------------------------------------------------------


def test_large_samples_agree_with_scipys_percentile_bootstrap():
    x = RNG.exponential(size=400)
    ours = bootstrap_interval(x, resamples=20_000)
    theirs = stats.bootstrap((x,), np.mean, method="percentile", n_resamples=20_000, rng=1).confidence_interval
    assert ours == pytest.approx((theirs.low, theirs.high), abs=0.02)


def test_ten_fold_means_are_covered_95_percent_of_the_time_which_plain_percentiles_do_not():
    rng = np.random.default_rng(1)
    ours = coverage(lambda: rng.normal(size=10), lambda x: bootstrap_interval(x, resamples=1000), 0.0)
    assert 0.93 <= ours <= 0.975

    def plain(x):
        means = x[rng.integers(10, size=(1000, 10))].mean(1)
        return np.quantile(means, (0.025, 0.975))

    assert coverage(lambda: rng.normal(size=10), plain, 0.0) < 0.925


def test_clusters_cover_where_independent_instances_do_not():
    rng = np.random.default_rng(2)
    fold = np.repeat(np.arange(10), 50)

    def draw():  # every fold has a model of its own, good or bad for all of its instances
        return rng.normal(size=10)[fold] + rng.normal(size=500)

    clustered = coverage(draw, lambda x: bootstrap_interval(x, clusters=fold, resamples=500), 0.0, runs=300)
    independent = coverage(draw, lambda x: bootstrap_interval(x, resamples=200), 0.0, runs=50)
    assert clustered > 0.91 > 0.6 > independent


def test_the_bootstrap_is_a_function_of_its_seed_and_of_nothing_else():
    x = RNG.normal(size=30)
    first = bootstrap_interval(x, seed=3)
    np.random.seed(99)
    assert bootstrap_interval(x, seed=3) == first != bootstrap_interval(x, seed=4)


def test_blocks_do_not_change_the_result(monkeypatch):
    import rsgg.statistics

    x = RNG.normal(size=50)
    remembered = bootstrap_interval(x, resamples=999)
    monkeypatch.setattr(rsgg.statistics, "_REMEMBERED", 0)
    assert bootstrap_interval(x, resamples=999) == pytest.approx(remembered)
    monkeypatch.setattr(rsgg.statistics, "_BLOCK", 1000)
    assert bootstrap_interval(x, resamples=999) == pytest.approx(remembered)


def test_missing_values_are_left_out_and_too_few_values_have_no_interval():
    x = RNG.normal(size=20)
    assert bootstrap_interval(np.append(x, [np.nan, np.nan])) == bootstrap_interval(x)
    assert np.isnan(bootstrap_interval([1.0])).all()
    assert np.isnan(bootstrap_interval([])).all()
    assert bootstrap_interval([2.0, 2.0, 2.0]) == (2.0, 2.0)


@given(st.lists(st.tuples(st.floats(-5, 5) | st.just(float("nan")), st.integers(0, 3)), min_size=1, max_size=30))
def test_fold_means_are_the_means_of_the_folds(pairs):
    expected = []
    for fold in range(4):
        values = [value for value, f in pairs if f == fold and value == value]
        if values:
            expected.append(sum(values) / len(values))
    assert fold_means([v for v, _ in pairs], [f for _, f in pairs]) == pytest.approx(expected, abs=1e-9)


# -- prediction intervals --------------------------------------------------------------------------------------


def test_the_interval_of_a_mean_is_scipys():
    x = np.random.default_rng(5).normal(3, 2, 6)
    expected = stats.t.interval(0.9, 5, loc=x.mean(), scale=stats.sem(x))
    assert mean_interval(x, level=0.9) == pytest.approx(expected)
    assert np.isnan(mean_interval([1.0])).all()


def test_a_further_mean_falls_into_the_prediction_interval_95_percent_of_the_time():
    rng = np.random.default_rng(3)
    x, further = rng.normal(size=(3000, 6)), rng.normal(size=3000)
    inside = [low <= y <= high for (low, high), y in zip(map(prediction_interval, x), further, strict=True)]
    assert 0.937 <= np.mean(inside) <= 0.963


def test_ten_further_folds_fall_into_the_interval_from_folds_95_percent_of_the_time():
    rng, ten_further_folds = np.random.default_rng(4), partial(prediction_interval_from_folds, further_folds=10)
    x, further = rng.normal(size=(3000, 5)), rng.normal(size=(3000, 10)).mean(1)
    inside = [low <= y <= high for (low, high), y in zip(map(ten_further_folds, x), further, strict=True)]
    assert 0.937 <= np.mean(inside) <= 0.963


def test_ten_folds_give_the_declared_half_width():
    x = RNG.normal(size=10)
    low, high = prediction_interval_from_folds(x, further_folds=10)
    assert (high - low) / 2 == pytest.approx(2.262157 * x.std(ddof=1) * np.sqrt(2 / 10), rel=1e-6)


def test_replicates_give_the_declared_half_width():
    low, high = prediction_interval([1.0, 2.0, 3.0])  # mean 2, sd 1
    assert (low, high) == pytest.approx((2 - 4.302653 * np.sqrt(4 / 3), 2 + 4.302653 * np.sqrt(4 / 3)), rel=1e-6)


def test_one_mean_predicts_nothing():
    assert np.isnan(prediction_interval([1.0])).all()
    assert np.isnan(prediction_interval_from_folds([1.0], further_folds=10)).all()


# -- proportions -----------------------------------------------------------------------------------------------


@given(st.integers(1, 600).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy(outcome):
    successes, n = outcome
    theirs = stats.binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson_interval(successes, n) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


# -- paired comparisons ----------------------------------------------------------------------------------------


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=10, unique=True), st.data())
@settings(max_examples=30)
def test_wilcoxon_and_rank_biserial_by_enumerating_signs(sizes, data):
    signs = data.draw(st.lists(st.sampled_from([-1, 1]), min_size=len(sizes), max_size=len(sizes)))
    order = sorted(sizes)
    ranks = [order.index(size) + 1 for size in sizes]
    differences = [sign * size for sign, size in zip(signs, sizes, strict=True)]

    def balance(s):
        return abs(sum(sign * rank for sign, rank in zip(s, ranks, strict=True)))

    everything = list(itertools.product([-1, 1], repeat=len(sizes)))
    assert paired_wilcoxon(differences, [0.0] * len(sizes)) == pytest.approx(stats.wilcoxon(differences).pvalue)
    exact_p = sum(balance(s) >= balance(signs) for s in everything) / len(everything)
    zeros = [0.0] * len(sizes)
    assert paired_wilcoxon(differences, zeros) == pytest.approx(exact_p, abs=1e-9)
    expected = sum(s * r for s, r in zip(signs, ranks, strict=True)) / sum(ranks)
    assert rank_biserial(differences, zeros) == pytest.approx(expected, abs=1e-9)


def test_many_pairs_are_scipys_and_few_with_ties_are_exact():
    x = RNG.normal(size=60)
    assert paired_wilcoxon(x, np.zeros(60)) == pytest.approx(stats.wilcoxon(x).pvalue)
    assert paired_wilcoxon([1] * 5, [0] * 5) == pytest.approx(2 / 2**5)  # the sign test
    assert paired_wilcoxon([1, 1, 1, -1], [0] * 4) == pytest.approx(2 * 5 / 2**4)


@given(st.lists(st.tuples(st.integers(-6, 6), st.integers(0, 4)), min_size=1, max_size=20))
def test_signs_of_a_cluster_flip_together(pairs):
    """By enumeration: every cluster keeps or changes all its signs."""
    differences = [float(value) for value, _ in pairs if value]
    clusters = [cluster for value, cluster in pairs if value]
    ranks = stats.rankdata(np.abs(differences)) if differences else []

    def balance(flips):
        signed = zip(differences, clusters, ranks, strict=True)
        return abs(sum(flips[cluster] * math.copysign(rank, value) for value, cluster, rank in signed))

    assignments = [dict(enumerate(flips)) for flips in itertools.product([1, -1], repeat=5)]
    seen = balance(dict.fromkeys(range(5), 1))
    expected = sum(balance(flips) >= seen - 1e-9 for flips in assignments) / len(assignments)
    values, labels = [value for value, _ in pairs], [cluster for _, cluster in pairs]
    assert paired_wilcoxon(values, [0] * len(pairs), labels) == pytest.approx(expected)


def test_clusters_of_one_pair_are_no_clusters_and_large_ones_count_once():
    x = RNG.normal(0.3, size=12)
    assert paired_wilcoxon(x, np.zeros(12), range(12)) == paired_wilcoxon(x, np.zeros(12))
    assert paired_wilcoxon([1.0] * 100, [0.0] * 100, [0] * 50 + [1] * 50) == 0.5  # two folds can show no more
    many = RNG.normal(size=400)
    expected = stats.wilcoxon(many, correction=False, method="approx").pvalue
    assert paired_wilcoxon(many, np.zeros(400), range(400)) == pytest.approx(expected, rel=1e-6)


def test_pairs_that_agree_decide_nothing():
    x, y = [1.0, 5, 5, 5, 9, 3], [0.5, 5, 5, 5, 7, 0]
    assert paired_wilcoxon(x, y) == paired_wilcoxon([1.0, 9, 3], [0.5, 7, 0])
    assert rank_biserial(x, y) == 1.0
    assert paired_dominance(x, y) == 0.5
    assert (paired_wilcoxon(x, x), rank_biserial(x, x), paired_dominance(x, x)) == (1.0, 0.0, 0.0)


def test_effects_change_sign_with_the_order():
    x, y = RNG.normal(size=40), RNG.normal(size=40) + 0.5
    assert rank_biserial(x, y) == pytest.approx(-rank_biserial(y, x))
    assert paired_dominance(x, y) == pytest.approx(-paired_dominance(y, x))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_holm_is_the_closure_of_bonferroni(p):
    """A hypothesis falls at level α iff every intersection containing it falls by Bonferroni."""
    adjusted = holm(p)
    for i in range(len(p)):
        worst = 0.0
        for size in range(1, len(p) + 1):
            for subset in itertools.combinations(range(len(p)), size):
                if i in subset:
                    worst = max(worst, min(1.0, size * min(p[j] for j in subset)))
        assert adjusted[i] == pytest.approx(worst)


def test_holm_leaves_out_what_was_not_tested():
    assert holm([0.01, float("nan"), 0.04]) == pytest.approx([0.02, np.nan, 0.04], nan_ok=True)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_benjamini_and_hochbergs_adjustment_is_scipys(p):
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
