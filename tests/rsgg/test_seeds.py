"""Seeds by name, and the random numbers that are drawn for many rows at once."""

from __future__ import annotations

import numpy as np
from scipy import stats

from rsgg.seeds import seed_for, uniforms


def test_uniforms_are_those_of_the_published_generator() -> None:
    """The first outputs of SplitMix64 for the seed 1234567, as published with it; ours keep the upper 53 bits."""
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    ours = uniforms(np.array([1234567], dtype=np.uint64), 0, 4)[0]
    assert [int(x * 2**53) for x in ours] == [output >> 11 for output in published]


def test_any_part_of_any_stream_is_the_same_alone_and_together() -> None:
    seeds = np.array([seed_for("row", i) for i in range(7)], dtype=np.uint64)
    together = uniforms(seeds, 0, 100)
    assert np.array_equal(together[3:5, 40:], uniforms(seeds[3:5], 40, 60))
    assert np.array_equal(uniforms(seeds[6:], 0, 1), together[6:, :1])


def test_uniforms_of_named_seeds_are_uniform_and_independent() -> None:
    drawn = uniforms(np.array([seed_for("sample", i) for i in range(200)], dtype=np.uint64), 1 << 40, 500)
    assert drawn.min() >= 0 and drawn.max() < 1
    assert stats.kstest(drawn.flatten(), "uniform").pvalue > 1e-4
    assert stats.kstest(drawn[:, 0], "uniform").pvalue > 1e-4
    neighbours = (
        np.corrcoef(drawn[:-1].flatten(), drawn[1:].flatten())[0, 1],
        np.corrcoef(drawn[:, :-1].flatten(), drawn[:, 1:].flatten())[0, 1],
    )
    assert max(map(abs, neighbours)) < 4.5 / np.sqrt(drawn.size)
