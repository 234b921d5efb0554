"""The collapse rule on made-up curves, one for each way to collapse."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.judging.collapse import judge
from rsgg.collapse import signs

GOOD = {"flip_rate": 0.9, "edits": 2.0, "diversity": 1.0, "score_spread": 0.2}
EDGES = pd.Series({"d": 28.0})


def curves(late: dict[str, float], epochs: int = 100) -> pd.DataFrame:
    """Good until the last tenth, then as given: what came before must not count."""
    whose = {"dataset": "d", "method": "m", "variant": "v", "seed": 0, "fold": 0, "class": 0}
    losses = {"discriminator_loss": 0.5, "generator_loss": 0.7}
    rows = [
        {**whose, **losses, **GOOD, **(late if epoch >= 0.9 * epochs else {}), "epoch": epoch}
        for epoch in range(epochs)
    ]
    return pd.DataFrame(rows)


@pytest.mark.parametrize(
    ("late", "verdict"),
    [
        ({}, "no"),
        ({"flip_rate": 0.1}, "proposes nothing that flips"),
        ({"diversity": 0.01}, "always proposes the same"),
        ({"edits": 20.0}, "proposes another graph"),
    ],
)
def test_each_way_to_collapse_is_noticed(late: dict[str, float], verdict: str) -> None:
    (line,) = judge(curves(late), EDGES).to_dict("records")
    assert line["collapsed"] == verdict and line["epochs"] == 100
    assert line["flip_rate"] == pytest.approx(late.get("flip_rate", 0.9))


def test_curves_without_samples_are_not_judged_and_none_is_no_line() -> None:
    bare = curves({}).drop(columns=list(GOOD))
    assert judge(bare, EDGES)["collapsed"].tolist() == [""]
    assert judge(pd.DataFrame(), EDGES).empty


def test_curves_without_edits_are_judged_by_the_rest() -> None:
    assert [sign.check for sign in signs({"flip_rate": 0.1}, 20.0) if not sign.passed] == ["flips"]


def test_of_a_short_training_the_last_epoch_is_judged() -> None:
    short = curves({}, epochs=3)
    short.loc[2, "flip_rate"] = 0.1
    both = pd.concat((short, curves({}).assign(fold=1)))
    assert judge(both, EDGES)[["epochs", "collapsed"]].values.tolist() == [
        [3, "proposes nothing that flips"],
        [100, "no"],
    ]
