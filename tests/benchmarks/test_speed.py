"""Speed: implementations take turns, each stage as often as it says, and what is reported is what it says."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean, median

import pytest

from benchmarks import speed
from benchmarks.speed import Stage, first_fold, seconds


def test_implementations_take_turns_and_seeds_are_numbered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock says the seed, so that averages can be told: 0, 1, 2, … of each implementation."""
    log: list[tuple[str, int]] = []
    monkeypatch.setattr(speed, "cpu_seconds", lambda work, seed: work(seed) or float(seed**2))

    def noted(name: str) -> Callable[[int], None]:
        return lambda seed: log.append((name, seed))

    found = seconds(
        {
            "often": {"fit": Stage(noted("often"), share=2, average=mean)},
            "once": {"fit": Stage(noted("once"), warm_up=True, average=median)},
            "seldom": {"fit": Stage(noted("seldom"), share=0.4)},
        },
        "fit", 5,
    )  # fmt: skip
    assert log[:4] == [("often", 0), ("often", 1), ("once", 0), ("once", 0)], "the warm-up does not count"
    assert [name for name, _ in log].count("often") == 10 and [name for name, _ in log].count("seldom") == 2
    assert found["often"] == mean(seed**2 for seed in range(10))
    assert found["once"] == median(seed**2 for seed in range(5)) and found["seldom"] == 0.5


def test_what_is_measured_is_fold_0_of_table_1() -> None:
    run = first_fold("cf2:faithful", epochs=20)
    assert (run.cell.task.name, run.cell.fold, len(run.test)) == ("tree-cycles", 0, 50)
    assert run.explainer.hyperparameters()["epochs"] == 20
    assert run.explainer.hyperparameters()["strength"] == 20, "with the options of the table"
