"""Dropout by random bits: how much is dropped, what is left, whose random numbers."""

from __future__ import annotations

import pytest
import torch

from rsgg.baselines.dropout import dropout, mask


@pytest.mark.parametrize("p", [0.1, 0.2, 0.4, 0.5])
def test_a_share_is_dropped_and_the_mean_stays(p: float) -> None:
    torch.manual_seed(0)
    drawn = mask((999, 1001), p)
    assert drawn.shape == (999, 1001) and drawn.dtype == torch.float32
    kept = drawn[drawn > 0]
    assert torch.allclose(kept, torch.tensor(1 / (1 - p)), rtol=1e-4)
    deviation = (p * (1 - p) / drawn.numel()) ** 0.5
    assert float((drawn == 0).double().mean()) == pytest.approx(p, abs=4 * deviation + 1 / 65536)
    neighbours = ((drawn[:, 1:] == 0) & (drawn[:, :-1] == 0)).double().mean()
    assert float(neighbours) == pytest.approx(p * p, abs=0.002), "numbers from one word are independent"


def test_the_seed_decides_and_nothing_is_dropped_with_probability_zero() -> None:
    x = torch.ones(5, 7)
    torch.manual_seed(1)
    one = dropout(x, 0.5)
    torch.manual_seed(1)
    assert torch.equal(dropout(x, 0.5), one) and not torch.equal(dropout(x, 0.5), one)
    assert dropout(x, 0.0) is x
