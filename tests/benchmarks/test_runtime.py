"""Runtimes: exponents against power laws, points in processes of their own, nothing twice, failures as lines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from scipy import stats

from benchmarks import cli, runtime
from benchmarks.registry import ablations, methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store, Stored
from benchmarks.running.experiment import Finished
from benchmarks.running.options import RuntimeOptions
from benchmarks.running.run_cell import Outcome
from benchmarks.runtime import BEYOND_THE_PLOT, INSTANCES, Runtime, growth, points, tabulate
from rsgg.statistics import linear_slope, log_log_slope
from tests.benchmarks.running.processes import forked_workers
from tests.standins import DATA, DRAWS, KILLED, RAISES, Draws

FAITHFUL = methods.rows()["rsgg-ce", "faithful"]


def seen(explain: float, **changed: float) -> dict[str, list[float]]:
    """What the clock saw of a point if 20 explanations took `explain` seconds each."""
    values: dict[str, Any] = {
        "instances": 20, "fit_cpu": 10.0, "encode_cpu": [20 * explain] * 3,
        "explain_cpu": [20 * explain * f for f in (0.5, 1, 4)], "explain_wall": [20 * explain] * 3,
        "explain_calls": 2.5, "found": 1.0, "baseline_mb": 100.0, "peak_mb": 150.0, "load_before": 0.0,
        "others_busy": 0.0, **changed,
    }  # fmt: skip
    return {name: value if isinstance(value, list) else [value] for name, value in values.items()}


def history(measured: Mapping[str, list[float]]) -> pa.Table:
    lines = [(name, i, value) for name, values in measured.items() for i, value in enumerate(values)]
    return pa.table(dict(zip(("name", "repeat", "value"), map(list, zip(*lines, strict=True)), strict=True)))


def table_of(*found: tuple[int, int, dict[str, list[float]]]) -> pd.DataFrame:
    """runtime.csv of points with so many nodes and graphs, of which the clock saw this."""
    base = tasks.task(ablations.TASK)
    cells = {
        Cell(base.varied({"n_nodes": n, "n_graphs": graphs}), FAITHFUL, 0): (n, measured)
        for n, graphs, measured in found
    }
    done = Finished(list(cells), Store(Path("nowhere")), Path("nowhere"), {})
    done.stored = {cell.key: Stored(pa.table({}), history(seen), {}) for cell, (_, seen) in cells.items()}
    return tabulate(done, {cell: [("n_nodes", n)] for cell, (n, _) in cells.items()})


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
    sizes = ((28, 500), (64, 500), (128, 500), (256, 500), (512, 60), (1024, 60), (2048, 60))
    found = [(n, graphs, seen(1e-3 * max(n, 200) ** 2, peak_mb=100 + 1e-6 * graphs * n**3)) for n, graphs in sizes]
    grown = growth(table_of(*found))
    explain = grown[grown["quantity"] == "explain_seconds"].iloc[0]
    assert explain["points"] == "256 512 1024 2048" and explain["paper"] == 1
    assert [explain["exponent"], explain["ci_low"]] == pytest.approx([2, 2])
    memory = grown[grown["quantity"] == "memory_mb"].set_index("graphs")
    assert memory.loc[500, "points"] == "28 64 128 256" and memory.loc[60, "points"] == "512 1024 2048"
    assert memory["exponent"].tolist() == pytest.approx([3, 3])


def test_what_cannot_grow_has_no_exponent():
    """Memory that was not above the baseline has no logarithm."""
    grown = growth(table_of((28, 500, seen(0.1, peak_mb=100.0)), (64, 500, seen(0.2, peak_mb=100.0))))
    assert "memory_mb" not in set(grown["quantity"]) and grown["exponent"].notna().all() and len(grown) == 5


def test_a_line_has_the_median_and_the_quartiles_per_explained_graph():
    lines = table_of((28, 500, seen(0.002, others_busy=1.2))).set_index("quantity")
    explain = lines.loc["explain_seconds"]
    assert explain[["median", "low", "high"]].tolist() == pytest.approx([0.002, 0.0015, 0.005])
    assert lines.loc["inference_seconds", "median"] == pytest.approx(0.004)
    assert lines.loc["test_set_seconds", "median"] == pytest.approx(0.04)
    assert lines.loc["memory_mb", "median"] == 50 and lines.loc["fit_seconds", "repeats"] == 1
    assert "something else kept 1.2 cores busy" in explain["note"]
    assert "60 graphs instead of 500" in table_of((512, 60, seen(1.0)))["note"].iloc[0]


def test_a_method_without_encodings_infers_as_long_as_it_explains():
    measured = seen(0.002)
    del measured["encode_cpu"]
    lines = table_of((28, 500, measured)).set_index("quantity")["median"]
    assert lines["inference_seconds"] == lines["explain_seconds"] and "encode_seconds" not in lines


# -- What is measured ----------------------------------------------------------------------------------------------


def test_the_points_are_the_ablations_and_larger_graphs_for_rsgg_ce():
    measured = points(RuntimeOptions())
    assert sum(map(len, measured.values())) == 4 * 7 + len(BEYOND_THE_PLOT) + 4 * 7
    for cell, at in measured.items():
        for vary, value in at:
            if vary == "n_nodes" and value > 512:
                assert cell.method.row == ("rsgg-ce", "faithful")
            explained = runtime.n_graphs(cell.task) / cell.folds
            assert explained == (INSTANCES if vary == "n_nodes" else value / 10)
    faithful = next(cell for cell in measured if cell.method.variant == "faithful").method.build()
    assert faithful.hyperparameters()["epochs"] == 200, "the hyper-parameters of the ablations"


@dataclass(kw_only=True)
class OneThread(Draws):
    def _fit(self, graphs, classes, oracle, seed):
        assert torch.get_num_threads() == 1 and os.environ["OMP_NUM_THREADS"] == "1"
        self.held_ = torch.ones(50 * 2**20, dtype=torch.uint8)  # 50 MB that the method adds
        print("a method that talks")
        super()._fit(graphs, classes, oracle, seed)


@pytest.fixture
def registered(monkeypatch: pytest.MonkeyPatch) -> Method:
    """Stand-ins in the registry; a good one beside those that fail."""
    good = Method("good", "control", f"{__name__}:OneThread", "Good")
    monkeypatch.setattr(methods, "METHODS", [*methods.METHODS, DRAWS, KILLED, RAISES, good])
    return good


def points_of(monkeypatch: pytest.MonkeyPatch, **by: Cell) -> None:
    """These cells are what is measured; their names are the values that are varied: n10, n20, …"""
    measured = {cell: [("n_nodes", int(name.removeprefix("n")))] for name, cell in by.items()}
    monkeypatch.setattr(runtime, "points", lambda options: measured)


@forked_workers()
def test_points_are_measured_in_processes_of_their_own_and_failures_become_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, registered: Method, capsys: pytest.CaptureFixture[str]
):
    by = {"n10": Cell(DATA, KILLED, 0, 4), "n20": Cell(DATA, RAISES, 0, 4), "n30": Cell(DATA, registered, 0, 4)}
    points_of(monkeypatch, **by)
    assert Runtime().run(RuntimeOptions(out=tmp_path, repeats=3)) == 1
    assert "Traceback" not in capsys.readouterr().err
    table = pd.read_csv(tmp_path / "runtime.csv")
    failed = table[table["quantity"] == "failed"].set_index("method")["note"]
    assert failed["killed"].startswith("its worker died 2 times: the process was ended by SIGKILL")
    assert failed["raises"] == "ZeroDivisionError: a bug in two lines"
    lines = table[table["method"] == "good"].set_index("quantity")
    assert set(lines["instances"]) == {6} and lines.loc["explain_seconds", "repeats"] == 3
    times = ["explain_seconds", "encode_seconds", "inference_seconds", "test_set_wall_seconds"]
    assert (lines.loc[times, "median"] > 0).all() and (lines["low"] <= lines["high"]).all()
    assert 50 < lines.loc["memory_mb", "median"] < 300 and lines.loc["explain_calls", "median"] == 1
    assert (tmp_path / "runtime_growth.csv").exists()


class Asked:
    """Stands for the workers: keeps a list of what was asked for, computes cells in this process."""

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.stop_before = 0

    def computed(self, cells: list[Cell], jobs: int, work: Any) -> Any:
        from benchmarks.running.run_cell import run_cell

        assert work.new_process_each and jobs == 1
        for cell in cells:
            n = int(cell.task.options["n_nodes"])
            if n == self.stop_before:
                raise KeyboardInterrupt
            self.nodes.append(n)
            outcome: Outcome = run_cell(cell, work.data_dir, work.device, work.observer)
            yield outcome


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, registered: Method) -> Asked:
    """Two points, of 10 and 12 nodes."""
    counted = Asked()
    monkeypatch.setattr("benchmarks.running.experiment.computed", counted.computed)
    points_of(monkeypatch, **{f"n{n}": Cell(DATA.varied({"n_nodes": n}), DRAWS, 0, 4) for n in (10, 12)})
    return counted


def test_nothing_is_measured_twice_unless_asked(tmp_path: Path, asked: Asked):
    options = RuntimeOptions(out=tmp_path, repeats=2)
    assert Runtime().run(options) == 0 and Runtime().run(options) == 0
    assert asked.nodes == [10, 12]
    damaged = next(path for path in (tmp_path / "runtime").rglob("*.parquet") if "history" not in path.name)
    damaged.write_bytes(damaged.read_bytes()[:-100])
    assert Runtime().run(options) == 0 and len(asked.nodes) == 3
    assert Runtime().run(RuntimeOptions(out=tmp_path, repeats=3)) == 0
    assert len(asked.nodes) == 5, "another number of repeats is another measurement"
    table = pd.read_csv(tmp_path / "runtime.csv")
    assert set(table["value"]) == {10, 12} and set(table["repeats"]) == {1, 3}
    assert Runtime().run(RuntimeOptions(out=tmp_path, repeats=3, fresh=True)) == 0 and len(asked.nodes) == 7


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, asked: Asked, capsys: pytest.CaptureFixture[str]):
    asked.stop_before = 12
    assert Runtime().run(RuntimeOptions(out=tmp_path, repeats=2)) == 130
    said = "Stopped; 1 of 2 cells are stored; the same command goes on from here."
    assert capsys.readouterr().err.splitlines()[-1] == said
    asked.stop_before = 0
    assert Runtime().run(RuntimeOptions(out=tmp_path, repeats=2)) == 0 and asked.nodes == [10, 12]


def test_a_dry_run_lists_points_and_does_nothing(tmp_path: Path, asked: Asked, capsys: pytest.CaptureFixture[str]):
    assert Runtime().run(RuntimeOptions(out=tmp_path / "new", dry_run=True)) == 0
    assert capsys.readouterr().out.startswith("2 cells: 0 stored, 2 to compute, about ")
    assert not asked.nodes and not (tmp_path / "new").exists()


def test_runtimes_leave_table_1_alone(tmp_path: Path, asked: Asked):
    """The same cells without repetitions are other results, in another folder."""
    assert Runtime().run(RuntimeOptions(out=tmp_path, repeats=2)) == 0
    assert not (tmp_path / "cells").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--vary", "n_node"], "There is no quantity to vary 'n_node'; did you mean 'n_nodes'?"),
        (["--device", "cuda"], "No such option: --device; see ./reproduce.sh runtime --help."),
        (["--methods", "cf3"], "There is no method 'cf3'; did you mean 'cf2'?"),
    ],
)
def test_mistakes_are_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(["runtime", *arguments]) == 2
    assert capsys.readouterr().err == f"{sentence}\n"
