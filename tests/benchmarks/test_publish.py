"""Publish: a reference is made from a local run, follows from its own ledgers, and lists all its files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import ablation, cli
from benchmarks import publish as publishing
from benchmarks.publish import publish
from benchmarks.results import artefacts, graphs, leaderboard
from benchmarks.results.ledger import Damaged, Store
from benchmarks.running.experiment import run_cells
from benchmarks.running.options import AblationOptions, Table1Options
from benchmarks.table1 import plan
from figures import figure
from tests import molecules
from tests.benchmarks.conftest import ROWS, local_run


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is drawn, which takes half of the time; two tests look at what `published` has drawn."""
    monkeypatch.setattr(publishing, "FIGURES", {})


def test_the_cells_are_compacted_and_none_is_lost(local: Path, published: Path) -> None:
    assert not (published / "cells").exists()
    assert {path.name for path in (published / "ledger").iterdir()} == {
        "empty.control.parquet", "optimum.control.parquet"
    }  # fmt: skip
    cells = plan(ROWS)
    columns = ["fold", "instance", "edits", "ged", "calls"]
    one, other = (Store(folder).ledger(cells)[columns] for folder in (local, published))
    pd.testing.assert_frame_equal(one, other)
    assert not [found for _, _, found in Store(published).everything() if isinstance(found, Damaged)]


def test_the_tables_are_those_of_the_run(local: Path, published: Path) -> None:
    columns = ["dataset", "method", "variant", "metric", "mean", "ci_low", "ci_high"]
    one, other = (pd.read_csv(folder / "table1.csv")[columns] for folder in (local, published))
    pd.testing.assert_frame_equal(one, other)


def test_every_file_is_in_the_manifest_and_what_is_no_result_stays_behind(published: Path) -> None:
    matching, wrong = artefacts.check(published, complete=True)
    there = {path.relative_to(published).as_posix() for path in published.rglob("*") if path.is_file()}
    assert not wrong and matching == len(there) - 1, "all but the manifest itself"
    assert {"table1.csv", "table1.md", "table1.tex", "claims.csv", "claims.md", "findings.md", "runtime.csv"} <= there
    assert "notes.txt" not in there
    files = artefacts.read_manifest(published)["files"]
    assert files["table1.csv"]["made_by"] == "table1" and files["claims.csv"]["made_by"] == "claims"


def test_publishing_again_changes_no_file(local: Path, tmp_path: Path) -> None:
    out, before = tmp_path / "reference", tmp_path / "before"
    publish(local, out)
    shutil.copytree(out, before)
    publish(local, out)
    for path in out.rglob("*"):
        if path.is_file() and path.name != "manifest.json":
            assert path.read_bytes() == (before / path.relative_to(out)).read_bytes(), path.name


def test_the_figures_are_drawn_from_the_published_tables(published: Path) -> None:
    (entry,) = figure.read_entries(published / "figures")
    assert entry["name"] == "tradeoff" and (published / "figures" / "tradeoff.png").is_file()
    assert entry["inputs"] == {"table1.csv": artefacts.sha256_of(published / "table1.csv")}
    assert figure.drawn_from_others(published) == []


@pytest.mark.usefixtures("no_figures")
def test_what_the_reference_holds_stays_there(published: Path, tmp_path: Path) -> None:
    """A machine that has computed one more row adds it."""
    more, out = tmp_path / "more", tmp_path / "reference"
    shutil.copytree(published, out)
    local_run(more, Table1Options(methods=["complete"], datasets=["tree-cycles"], seeds=["0"]))
    publish(more, out)
    assert set(pd.read_csv(out / "table1.csv")["method"]) == {"empty", "optimum", "complete"}
    assert not artefacts.check(out, complete=True)[1]


@pytest.mark.usefixtures("no_figures")
def test_what_candidates_are_worth_is_published_from_the_candidates(published: Path, tmp_path: Path) -> None:
    """Graph 0 has two valid candidates of two that share one edit of three, graph 1 one of two."""
    local, out = tmp_path / "local", tmp_path / "reference"
    shutil.copytree(published, out)
    local_run(local, Table1Options(methods=["empty"], datasets=["tree-cycles"], seeds=["0"], folds=["0"]))
    whose = {"cell": "k", "dataset": "tree-cycles", "method": "empty", "variant": "control", "fold": 0, "n_nodes": 28}
    drawn = [(0, 0, True, [1, 2]), (0, 1, True, [2, 3]), (1, 0, False, []), (1, 1, True, [5])]
    rows = [
        {**whose, **dict(zip(("instance", "candidate", "found", "edits"), one, strict=True))} for one in drawn
    ]  # fmt: skip
    pd.DataFrame(rows).to_parquet(local / "candidates.parquet")
    publish(local, out)
    means = pd.read_csv(out / "candidates.csv").set_index("metric")["mean"]
    assert (means["validity_at_1"], means["validity_at_k"], means["distinct"]) == (0.5, 1.0, 1.5)
    assert means["jaccard_distance"] == pytest.approx(2 / 3, abs=1e-5) and means["diversity"] == 2
    assert not artefacts.check(out, complete=True)[1]


@pytest.mark.usefixtures("no_figures")
def test_a_ledger_that_grows_is_listed_anew(published: Path, tmp_path: Path) -> None:
    """A second replicate joins the ledger of a row that is there."""
    more, out = tmp_path / "more", tmp_path / "reference"
    shutil.copytree(published, out)
    local_run(more, Table1Options(methods=["empty"], datasets=["tree-cycles"], seeds=["1"], folds=["0"]))
    publish(more, out)
    assert len(list(Store(out).everything())) == 21 and not artefacts.check(out, complete=True)[1]


@pytest.mark.usefixtures("no_figures")
def test_results_without_table_1_can_be_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One cell of an ablation and no search: what is there is published."""
    monkeypatch.setattr(ablation, "predictions", lambda grid: [])  # of the sampler without a generator: slow
    local, out = tmp_path / "local", tmp_path / "out"
    options = AblationOptions(vary=["n_instances"], methods=["cf2:released"], folds=["0"])
    run_cells(ablation.plan(options)[:1], Store(local))
    publish(local, out)
    table = pd.read_csv(out / "ablation_n_instances.csv")
    assert set(table["method"]) == {"cf2"}
    assert not (out / "table1.csv").exists() and not artefacts.check(out, complete=True)[1]


@pytest.mark.usefixtures("no_figures")
def test_real_data_are_published_with_their_graphs_and_the_leaderboard(tmp_path: Path) -> None:
    """From stored files alone, without loading any data; what a submission entered there stays."""
    local, out = molecules.write(tmp_path / "local"), tmp_path / "out"
    publish(local, out)
    pd.testing.assert_frame_equal(graphs.read(out), graphs.read(local))
    for name in ("table2.csv", "table2_kinds.csv", leaderboard.FILE):
        assert (out / name).read_bytes() == (local / name).read_bytes(), name
    assert not artefacts.check(out, complete=True)[1]
    line = pd.read_csv(out / leaderboard.FILE).iloc[[0]].assign(method="Mine", variant=leaderboard.SUBMITTED)
    board = leaderboard.joined(pd.read_csv(out / "table2.csv"), line)
    board.to_csv(out / leaderboard.FILE, index=False)
    publish(local, out)
    assert "Mine" in set(pd.read_csv(out / leaderboard.FILE)["method"]) and not artefacts.check(out, complete=True)[1]


def test_a_damaged_cell_ends_it_and_nothing_is_published(
    local: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(local, tmp_path / "local")
    path = Store(tmp_path / "local").path(plan(ROWS)[3])
    path.write_bytes(path.read_bytes()[:-50])
    assert cli.main(["publish", "--from", str(tmp_path / "local"), "--out", str(tmp_path / "out")]) == 2
    err = capsys.readouterr().err
    assert "is cut short or damaged; run the experiment again before compacting its results." in err
    assert err.count("\n") == 1 and not (tmp_path / "out").exists()


@pytest.mark.asd
@pytest.mark.parametrize("kept_in", ["from", "out"])
def test_without_the_graphs_that_findings_look_at_nothing_is_published(
    kept_in: str, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether this machine or the reference holds results on ASD: its findings need ASD's files."""
    folders = {"from": tmp_path / "local", "out": tmp_path / "reference"}
    run_cells(
        plan(Table1Options(methods=["empty"], datasets=["asd"], seeds=["0"], folds=["0"])), Store(folders[kept_in])
    )
    if kept_in == "out":
        shutil.copytree(local, folders["from"])
    before = sorted(tmp_path.rglob("*"))
    (nowhere := tmp_path / "no data").mkdir()
    command = ["publish", *(part for name, folder in folders.items() for part in (f"--{name}", str(folder)))]
    monkeypatch.setenv("RSGG_DATA_DIR", str(nowhere))
    assert cli.main(command) == 2
    err = capsys.readouterr().err
    assert err.startswith("Findings on ASD look at its graphs. The ASD data set is not complete in ")
    assert "name a folder that holds" in err and "--data-dir" in err and err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == sorted([*before, nowhere])


def test_real_data_without_stored_graphs_need_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    local = molecules.write(tmp_path / "local")
    (local / graphs.FILE).unlink()
    monkeypatch.setenv("RSGG_DATA_DIR", str(tmp_path))
    assert cli.main(["publish", "--from", str(local), "--out", str(tmp_path / "out")]) == 2
    assert "--data-dir" in capsys.readouterr().err and not (tmp_path / "out").exists()
