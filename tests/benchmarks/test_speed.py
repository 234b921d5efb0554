"""Speed: every row is measured, the total is ten folds of all of them, and ratios are of the same work."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks import speed
from benchmarks.results.ledger import Store
from benchmarks.running.options import SpeedOptions
from benchmarks.speed import COLUMNS, Speed, first_fold, table

PLAIN = {"features": 2.0, "fit": 6.0, "explain": 3.0}
OURS = {"features": 1.0, "fit": 0.5, "explain": 0.01}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "plain", lambda: dict(PLAIN))
    monkeypatch.setattr(speed, "released", lambda: dict(OURS))


def row(method: str, stage: str, seconds: float, variant: str = "search") -> dict[str, object]:
    return {"method": method, "variant": variant, "dataset": "tree-cycles", "stage": stage, "cpu_seconds": seconds}


@pytest.mark.usefixtures("quick")
def test_the_total_is_ten_folds_of_every_row_and_the_plain_implementation_is_not_in_it() -> None:
    rows = [
        row("obs", "explain", 1.5),
        row("rsgg-ce", "fit", 0.25, "released"),
        row("rsgg-ce", "explain", 0.25, "released"),
    ]
    lines = table(rows, speed.beside_plain())
    assert tuple(lines.columns) == COLUMNS
    total = lines.iloc[-1]
    assert (total["method"], total["stage"], total["cpu_seconds"]) == ("table1", "total", 20.0)
    released = lines[lines["variant"] == "released"].set_index("stage")
    assert released["ratio"].to_dict() == pytest.approx({stage: PLAIN[stage] / OURS[stage] for stage in PLAIN})
    assert released["cpu_seconds"].to_dict() == OURS, "measured beside the plain one, not in the run of all rows"


@pytest.mark.usefixtures("quick")
def test_fold_0_of_every_row_is_measured_and_graphs_alone_take_longer(tmp_path: Path) -> None:
    options = SpeedOptions(
        methods=["two-sided,obs-min,clear:faithful"], datasets=["tree-cycles"], smoke=True, out=tmp_path
    )
    assert {cell.fold for cell in Speed().plan(options)} == {0}
    assert Speed().run(options) == 0
    lines = pd.read_csv(tmp_path / "speed.csv", keep_default_na=False)
    measured = lines[lines["method"] != "table1"]
    assert set(measured["method"]) == {"two-sided", "obs", "obs-min", "clear"} and set(measured["stage"]) == {
        "fit",
        "explain",
    }
    assert float(lines.iloc[-1]["cpu_seconds"]) == pytest.approx(
        10 * measured["cpu_seconds"].astype(float).sum(), rel=1e-4
    )
    explain = measured[measured["stage"] == "explain"].set_index("method")["cpu_seconds"].astype(float)
    ledger = Store(tmp_path / "speed").ledger([cell for cell in Speed().plan(options) if cell.base])
    assert explain["obs-min"] == pytest.approx(ledger["seconds"].sum() - explain["obs"], rel=1e-3), "its own work only"
    clear = measured.set_index(["method", "stage"]).loc[("clear", "explain")]
    assert float(clear["ratio"]) > 1, "a batch is what makes it fast"


def test_what_is_measured_is_fold_0_of_table_1() -> None:
    run = first_fold("cf2:faithful")
    assert (run.cell.task.name, run.cell.fold, len(run.test)) == ("tree-cycles", 0, 50)
    assert run.explainer.hyperparameters()["strength"] == 20, "with the options of the table"
