"""Runtimes: exponents against power laws, points in processes of their own, nothing twice, failures as lines."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats

from benchmarks import cli, runtime
from benchmarks.catalogue import Method
from benchmarks.cell import Cell
from benchmarks.options import RuntimeOptions
from benchmarks.runtime import BEYOND_THE_PLOT, INSTANCES, Point, growth, points_for, tabulate
from rsgg.statistics import linear_slope, log_log_slope
from tests.standins import DATA, DRAWS, RAISES, Draws


def point(method: Method = DRAWS, value: int = 10, repeats: int = 3, vary: str = "n_nodes") -> Point:
    return Point(vary, value, Cell(DATA, method, 0, 4), repeats)


def record(value: int, explain: float, graphs: int = 500, **changed: Any) -> dict[str, Any]:
    """A stored point as it would be if 20 explanations took `explain` seconds each."""
    measured = {
        "vary": "n_nodes", "value": value, "method": "rsgg-ce", "variant": "faithful", "graphs": graphs,
        "definition": {}, "instances": 20, "fit_cpu": 10.0, "fit_wall": 10.0, "encode_cpu": [20 * explain] * 3,
        "explain_cpu": [20 * explain * f for f in (0.5, 1, 4)], "explain_wall": [20 * explain] * 3,
        "explain_calls": 2.5, "found": 1.0, "baseline_mb": 100.0, "peak_mb": 150.0,
        "load_before": 0.0, "others_busy": 0.0, "duration": 1.0,
    }  # fmt: skip
    return {**measured, **changed}


# -- Exponents -----------------------------------------------------------------------------------------------------


def test_the_exponent_of_a_power_law_is_found_exactly():
    x = np.array([28, 64, 256, 2048])
    slope, low, high = log_log_slope(x, 3e-4 * x**1.7)
    assert slope == pytest.approx(1.7) and low == pytest.approx(1.7) and high == pytest.approx(1.7)
    assert log_log_slope([1, 2, 4, 8], [0.0, 5, 5, 5]).slope == pytest.approx(0), "what is not positive is left out"


def test_slope_and_interval_are_those_of_scipy():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=9), rng.normal(size=9)
    fitted = stats.linregress(x, y)
    half = stats.t.ppf(0.975, 7) * fitted.stderr
    assert linear_slope(x, y) == pytest.approx((fitted.slope, fitted.slope - half, fitted.slope + half))


def test_too_few_points_have_no_interval_or_no_slope():
    assert linear_slope([1, 2], [1, 3])[0] == 2 and np.isnan(linear_slope([1, 2], [1, 3])[1:]).all()
    assert np.isnan(linear_slope([1], [1])).all() and np.isnan(linear_slope([2, 2, 2], [1, 2, 3])).all()
    assert np.isnan(linear_slope([], [])).all()


def test_growth_is_that_of_the_largest_decade_and_of_data_sets_of_one_size():
    """Flat below 200 nodes, then n²; memory falls where the data set shrinks, and grows with n³ otherwise."""
    found = [
        record(n, 1e-3 * max(n, 200) ** 2, graphs, peak_mb=100 + 1e-6 * graphs * n**3)
        for n, graphs in ((28, 500), (64, 500), (128, 500), (256, 500), (512, 60), (1024, 60), (2048, 60))
    ]
    grown = growth(tabulate(found))
    explain = grown[grown["quantity"] == "explain_seconds"].iloc[0]
    assert explain["points"] == "256 512 1024 2048" and explain["paper"] == 1
    assert [explain["exponent"], explain["ci_low"]] == pytest.approx([2, 2])
    memory = grown[grown["quantity"] == "memory_mb"].set_index("graphs")
    assert memory.loc[500, "points"] == "28 64 128 256" and memory.loc[60, "points"] == "512 1024 2048"
    assert memory["exponent"].tolist() == pytest.approx([3, 3])
    (sentence,) = [line for line in runtime.verdicts(grown) if "exponent" in line]
    assert sentence.endswith("the paper's 1 is outside.")


def test_a_line_has_the_median_and_the_quartiles_per_explained_graph():
    lines = tabulate([record(28, 0.002, others_busy=1.2)]).set_index("quantity")
    explain = lines.loc["explain_seconds"]
    assert explain[["median", "low", "high"]].tolist() == pytest.approx([0.002, 0.0015, 0.005])
    assert lines.loc["inference_seconds", "median"] == pytest.approx(0.004)
    assert lines.loc["test_set_seconds", "median"] == pytest.approx(0.04)
    assert lines.loc["memory_mb", "median"] == 50 and lines.loc["fit_seconds", "repeats"] == 1
    assert "something else kept 1.2 cores busy" in explain["note"]
    assert "60 graphs instead of 500" in tabulate([record(512, 1.0, 60)])["note"].iloc[0]


# -- What is measured ----------------------------------------------------------------------------------------------


def test_the_points_are_the_ablations_and_larger_graphs_for_rsgg_ce():
    points = points_for(RuntimeOptions())
    assert len(points) == 4 * 7 + len(BEYOND_THE_PLOT) + 4 * 7
    larger = [p for p in points if p.vary == "n_nodes" and p.value > 512]
    assert {(p.cell.method.name, p.cell.method.variant) for p in larger} == {("rsgg-ce", "faithful")}
    for p in points:
        data = p.cell.dataset.parameters()
        explained = data["n_graphs"] / p.cell.folds  # type: ignore[operator]
        assert explained == (INSTANCES if p.vary == "n_nodes" else p.value / 10)
    faithful = next(p for p in points if p.cell.method.variant == "faithful").cell.method.build()
    assert faithful.hyperparameters()["epochs"] == 200, "the hyper-parameters of the ablations"
    assert len({p.path(Path()) for p in points}) == len(points)


@dataclass(kw_only=True)
class OneThread(Draws):
    def _fit(self, graphs, classes, oracle, seed):
        assert torch.get_num_threads() == 1 and os.environ["OMP_NUM_THREADS"] == "1"
        self.held_ = torch.ones(50 * 2**20, dtype=torch.uint8)  # 50 MB that the method adds
        print("a method that talks")
        super()._fit(graphs, classes, oracle, seed)


@dataclass(kw_only=True)
class OutOfMemory(Draws):
    def _fit(self, graphs, classes, oracle, seed):
        os.kill(os.getpid(), signal.SIGKILL)


def test_points_are_measured_in_processes_of_their_own_and_failures_become_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    killed, good = Method("killed", "control", OutOfMemory), Method("good", "control", OneThread)
    points = [point(killed), point(RAISES), point(good)]
    monkeypatch.setattr(runtime, "points_for", lambda options: points)
    assert runtime.run(RuntimeOptions(out=tmp_path)) == 1
    table = pd.read_csv(tmp_path / "runtime.csv")
    failed = table[table["quantity"] == "failed"].set_index("method")["note"]
    assert failed["killed"] == "the process was ended by SIGKILL, perhaps for want of memory"
    assert failed["raises"] == "ZeroDivisionError: a bug in two lines"
    lines = table[table["method"] == "good"].set_index("quantity")
    assert set(lines["instances"]) == {6} and lines.loc["explain_seconds", "repeats"] == 3
    times = ["explain_seconds", "encode_seconds", "inference_seconds", "test_set_wall_seconds"]
    assert (lines.loc[times, "median"] > 0).all() and (lines["low"] <= lines["high"]).all()
    assert 50 < lines.loc["memory_mb", "median"] < 300 and lines.loc["explain_calls", "median"] == 1
    assert (tmp_path / "runtime_growth.csv").exists() and "Traceback" not in capsys.readouterr().err

    monkeypatch.setattr(runtime, "measured", lambda p: {**p.about(), "failed": "again", "duration": 1.0})
    assert runtime.run(RuntimeOptions(out=tmp_path)) == 1
    again = pd.read_csv(tmp_path / "runtime.csv").set_index(["method", "quantity"])
    assert again.loc[("killed", "failed"), "note"] == "again", "a failure is tried again"
    assert ("good", "failed") not in again.index, "a measurement is not"


@pytest.fixture
def measurements(monkeypatch: pytest.MonkeyPatch) -> list[Point]:
    """Points 10 and 20, and a stand-in for measuring that keeps a list of what it was asked for."""
    asked: list[Point] = []

    def measured(p: Point) -> dict[str, Any]:
        asked.append(p)
        return {**record(p.value, 0.001), **p.about()}

    monkeypatch.setattr(runtime, "measured", measured)
    monkeypatch.setattr(
        runtime, "points_for", lambda options: [point(value=value, repeats=options.repeats) for value in (10, 20)]
    )
    return asked


def test_nothing_is_measured_twice_unless_asked(tmp_path: Path, measurements: list[Point]):
    options = RuntimeOptions(out=tmp_path)
    assert runtime.run(options) == 0 and runtime.run(options) == 0
    assert [p.value for p in measurements] == [10, 20]
    damaged = measurements[0].path(tmp_path / "runtime")
    damaged.write_text(damaged.read_text()[:-100])
    runtime.run(options)
    assert [p.value for p in measurements[2:]] == [10]
    runtime.run(RuntimeOptions(out=tmp_path, repeats=7))
    assert len(measurements) == 5, "another number of repeats is another measurement"
    runtime.run(RuntimeOptions(out=tmp_path, repeats=7, fresh=True))
    assert len(measurements) == 7
    assert set(pd.read_csv(tmp_path / "runtime.csv")["value"]) == {10, 20}


def test_an_interrupted_run_goes_on_where_it_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measurements: list[Point], capsys: pytest.CaptureFixture[str]
):
    whole = runtime.measured

    def interrupted(p: Point) -> dict[str, Any]:
        if p.value == 20:
            raise KeyboardInterrupt
        return whole(p)

    monkeypatch.setattr(runtime, "measured", interrupted)
    assert runtime.run(RuntimeOptions(out=tmp_path)) == 130
    said = "Stopped; 1 of 2 points are stored; the same command goes on from here."
    assert capsys.readouterr().err.splitlines()[-1] == said
    monkeypatch.setattr(runtime, "measured", whole)
    assert runtime.run(RuntimeOptions(out=tmp_path)) == 0
    assert [p.value for p in measurements] == [10, 20]


def test_a_dry_run_lists_points_and_does_nothing(
    tmp_path: Path, measurements: list[Point], capsys: pytest.CaptureFixture[str]
):
    runtime.run(RuntimeOptions(out=tmp_path / "new", dry_run=True))
    assert capsys.readouterr().out.splitlines()[-1].startswith("2 points: 0 stored, 2 to measure, about ")
    assert not measurements and not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--vary", "n_node"], "There is no quantity to vary 'n_node'; did you mean 'n_nodes'?"),
        (["--seeds", "1"], "Runtimes are measured one at a time on data of their own; leave --seeds out."),
        (["--device", "cuda"], "Runtimes are measured in CPU seconds; leave --device out."),
        (["--methods", "cf3"], "There is no method 'cf3'; did you mean 'cf2'?"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["runtime", *arguments]) == 2
    assert capsys.readouterr().err == f"{sentence}\n"


def test_a_stored_point_says_where_it_comes_from(tmp_path: Path, measurements: list[Point]):
    runtime.run(RuntimeOptions(out=tmp_path))
    stored = json.loads(measurements[0].path(tmp_path / "runtime").read_text())
    assert stored["definition"]["cell"] == measurements[0].cell.definition and stored["graphs"] == DATA.n_graphs
