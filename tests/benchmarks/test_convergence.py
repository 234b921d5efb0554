"""Convergence: windows and checks on made-up curves with planted faults, and on the committed reference."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import cli
from benchmarks.convergence import COLUMNS, Convergence, checks, curves, drift_at_the_end, trend
from benchmarks.results.files import REFERENCE
from benchmarks.results.ledger import Store
from benchmarks.running.experiment import Finished
from benchmarks.running.options import RunOptions

EDGES = pd.Series({"tree-cycles": 28.0, "asd": 655.0})
SAMPLES = {"flip_rate": 0.9, "edits": 2.0, "diversity": 1.0, "score_spread": 0.2}


def fit(fold: int = 0, c: int = 0, epochs: int = 200, variant: str = "faithful", **curve: Any) -> pd.DataFrame:
    """A fit whose losses fall and settle around .5 and .6, with whatever is changed."""
    epoch = np.arange(epochs)
    noise = np.random.default_rng(fold).normal(0, 0.01, epochs)
    whose = {"dataset": "tree-cycles", "method": "rsgg-ce", "variant": variant, "seed": 0, "fold": fold, "class": c}
    falling = np.exp(-epoch / (epochs / 8))
    losses = {"discriminator_loss": 0.5 + falling + noise, "generator_loss": 0.6 + falling - noise}
    samples = SAMPLES if variant == "faithful" else {}
    return pd.DataFrame({**whose, "epoch": epoch, **losses, **samples, **curve})


def failed(history: pd.DataFrame) -> set[str]:
    found = checks(history, EDGES)
    return set(found.loc[found["passed"] == "no", "check"])


# -- Checks --------------------------------------------------------------------------------------------------------


def late(value: float, usual: float, epochs: int = 200) -> np.ndarray:
    """As usual until the last tenth, then as given."""
    return np.where(np.arange(epochs) >= 0.9 * epochs, value, usual)


RISING = np.linspace(0.2, 0.65, 200)


@pytest.mark.parametrize(
    ("planted", "noticed"),
    [
        ({}, set()),
        ({"diversity": late(0.0, 1.0)}, {"diversity"}),
        ({"flip_rate": late(0.0, 0.9)}, {"flips"}),
        ({"edits": late(28.0, 2.0)}, {"edits"}),
        ({"discriminator_loss": RISING}, {"discriminator_decreases", "discriminator_settles", "papers_rule"}),
        ({"discriminator_loss": 50.0}, {"discriminator_decreases", "same_region", "discriminator_not_saturated"}),
        ({"generator_loss": -0.0}, {"generator_decreases", "same_region"}),
        ({"generator_loss": late(math.nan, 0.6)}, {"finite"}),
    ],
)
def test_a_planted_fault_is_noticed_and_nothing_else_is(planted: dict[str, Any], noticed: set[str]):
    assert failed(fit(**planted)) == noticed


def test_a_collapse_is_found_in_its_fold_and_class():
    found = checks(pd.concat([fit(0, 0), fit(0, 1, diversity=0.0), fit(1, 0), fit(1, 1)]), EDGES)
    (line,) = found[found["passed"] == "no"].to_dict("records")
    assert (line["fold"], line["class"], line["class_name"], line["check"]) == (0, 1, "cyclic", "diversity")
    assert line["value"] == 0 and line["limit"] == 0.05
    assert found.groupby(["fold", "class"]).size().tolist() == [12] * 4


def test_what_is_not_stored_is_not_invented():
    found = checks(fit(variant="released"), EDGES).set_index("check")
    absent = found[found["passed"] == "not stored"]
    assert absent.index.tolist() == ["flips", "diversity", "edits", "score_spread"] and absent["value"].isna().all()
    assert set(found["passed"]) == {"yes", "not stored"}


def test_drift_is_measured_in_deviations():
    line = np.arange(400.0)
    assert drift_at_the_end(line)[0] == pytest.approx(math.sqrt(12), rel=0.01)
    assert drift_at_the_end(-line)[2] < 0
    assert drift_at_the_end(np.full(400, 0.7)) == (0, 0, 0)
    creeping = 0.693 + 1e-5 * line / 400  # falls steadily, by nothing
    assert abs(drift_at_the_end(creeping)[0]) < 0.01
    covered = [drift_at_the_end(np.random.default_rng(i).normal(1, 0.1, 400)) for i in range(200)]
    assert 0.9 < np.mean([low <= 0 <= high for _, low, high in covered]) <= 0.99


def test_trend_is_one_for_what_always_rises():
    assert trend(np.arange(50.0)) == pytest.approx(1) and trend(-np.arange(50.0)) == pytest.approx(-1)
    assert trend(np.ones(50)) == 0 and trend(np.array([2.0, 1.0])) == pytest.approx(-1)


# -- Curves --------------------------------------------------------------------------------------------------------


def test_a_curve_is_thinned_to_means_over_windows():
    rows = [fit(fold, epochs=250, edits=np.arange(250.0) + 10 * fold) for fold in range(3)]
    edits = curves(pd.concat(rows))
    edits = edits[edits["metric"] == "edits"]
    assert len(edits) == 84 and set(edits["seeds"]) == {3}, "250 epochs, three to a window"
    first, last = edits.iloc[0], edits.iloc[-1]
    assert first["epoch"] == 1 and first["mean"] == pytest.approx(1 + 10)
    assert last["epoch"] == 249 and last["mean"] == pytest.approx(249 + 10)
    assert first["se"] == pytest.approx(10 / math.sqrt(3))
    assert first["high"] - first["mean"] == pytest.approx(4.302653 * 10 / math.sqrt(3)), "t of two degrees of freedom"


def test_without_curves_the_tables_are_empty():
    other = pd.DataFrame({"epoch": [0], "loss": [1.0]})
    assert curves(other).empty and checks(other, EDGES).empty
    assert list(curves(pd.DataFrame()).columns) == list(COLUMNS)


def test_curves_are_of_replicate_0_only(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["convergence", "--seeds", "1"]) == 2
    assert "No such option: --seeds" in capsys.readouterr().err


# -- The reference -------------------------------------------------------------------------------------------------


def test_the_reference_has_ten_seeds_of_every_curve_and_its_collapses_are_those_of_table_1(tmp_path: Path):
    options = RunOptions()
    Convergence().write(Finished(Convergence().plan(options), Store(REFERENCE), tmp_path, {}), options)
    table = pd.read_csv(tmp_path / "convergence.csv")
    assert set(table["seeds"]) == {10}
    per_curve = table.groupby(["dataset", "variant", "class", "metric"]).size()
    assert len(per_curve) == 2 * 2 * (2 * 6 + 5 + 2) and per_curve.max() == 100, "literal: no spread; released: losses"
    found = pd.read_csv(tmp_path / "convergence_checks.csv")
    assert len(found) == 2 * 4 * 2 * 10 * 12
    signs = found[found["check"].isin(["flips", "diversity", "edits"])]
    whole = signs.groupby(["dataset", "variant", "fold", "class"])["passed"].agg(lambda passed: (passed == "yes").all())
    stored = pd.read_csv(REFERENCE / "training.csv")
    stored = stored[(stored["method"] == "rsgg-ce") & stored["dataset"].isin(["tree-cycles", "asd"])]
    stored = stored.set_index(["dataset", "variant", "fold", "class"])["collapsed"]
    pd.testing.assert_series_equal(
        whole.sort_index(), (stored == "no").sort_index(), check_names=False, check_dtype=False
    )
