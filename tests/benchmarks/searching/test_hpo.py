"""Searches for hyper-parameters: the same questions and answers whatever happens, and no look at the test graphs."""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from glob import glob
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

from benchmarks import cli, hpo
from benchmarks.registry import methods, tasks
from benchmarks.results.artefacts import Artefacts, read_manifest
from benchmarks.results.cell import Cell
from benchmarks.results.files import PAPER as OF_PAPER
from benchmarks.results.files import StoreError
from benchmarks.results.ledger import Store
from benchmarks.results.searches import NOT_SEARCHED, STUDY
from benchmarks.running import run_cell, workers
from benchmarks.running.experiment import run_cells
from benchmarks.running.options import HpoOptions
from benchmarks.running.run_cell import Outcome, Report
from benchmarks.searching import study
from benchmarks.searching import tables as hpo_tables
from benchmarks.searching.space import Search, distribution, exactly
from benchmarks.verify import task_of, verify
from rsgg.baselines.cf2 import CF2
from rsgg.baselines.clear import CLEAR
from rsgg.baselines.gcountergan import GCounteRGAN
from rsgg.baselines.meg import MEG
from rsgg.baselines.released.cf2 import ReleasedCF2
from rsgg.baselines.released.clear import ReleasedCLEAR
from rsgg.baselines.released.gcountergan import ReleasedGCounteRGAN
from rsgg.data import TreeCycles
from rsgg.errors import DataError, FitError, UsageError
from rsgg.explainer import Explainer
from rsgg.hyperparameters import Choice, Interval
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.literal import LiteralRSGGCE
from rsgg.rsgg_ce.released import ReleasedRSGGCE
from rsgg.seeds import seed_for
from tests.benchmarks.running.processes import Started, forked_workers
from tests.benchmarks.searching import tuned
from tests.benchmarks.searching.tuned import DATA, PAPER, ROWS, SEARCH, TASKS, TUNED, Tuned, options, search_for


@pytest.fixture(autouse=True)
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "METHODS", list(ROWS))
    monkeypatch.setattr(tasks, "TASKS", list(TASKS))


def found(out: Path) -> pd.DataFrame:
    return hpo_tables.read(out / "hpo_tuned.csv").drop(columns=["seconds", "started"])


def store_of(out: Path) -> Store:
    return Store(out / "hpo")


def start(folder: Path, *arguments: object, delay: float = 0.0) -> Started:
    """A search as a process of its own, in a process group of its own."""
    return Started.of(tuned.main, str(folder), *map(str, arguments), RSGG_TEST_DELAY=str(delay))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve nested trials in one go."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(methods, "METHODS", list(ROWS))
        patch.setattr(tasks, "TASKS", list(TASKS))
        assert search_for(folder) == 0
    return folder


# -- The space -----------------------------------------------------------------------------------------------------

RATES = (1e-4, 1e-3, 1e-2)
RATIOS = (0.1, 0.15, 0.2)
UNIT = (0.1, 1.0)
APPENDIX: dict[type[Explainer], dict[str, tuple[Any, Any]]] = {  # as the tables of the appendix print it: space, best
    CF2: {
        "factual": ((0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 0.7),
        "strength": ((20, 100, 500, 1000), 20),
        "margin": ((0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0), 0.9),
        "lr": (RATES, 1e-2),
        "epochs": ((50, 100, 200, 250, 500), 500),
    },
    CLEAR: {
        "similarity": (UNIT, 1.0),
        "divergence": (UNIT, 1.0),
        "counterfactual": (UNIT, 0.1),
        "lr": (RATES, 1e-2),
        "epochs": ((100, 300, 600), 600),
        "dropout": ((0.1, 0.25, 0.5), 0.1),
    },
    GCounteRGAN: {
        "iterations": (tuple(range(10, 260, 10)), 250),
        "batch_ratio": (RATIOS, 0.1),
        "generator_steps": ((2, 3, 10, 30), 2),
        "discriminator_steps": ((2, 3, 10, 30), 3),
        "threshold": ((0.4, 0.5, 0.6, 0.7, 0.8), 0.5),
    },
    RSGGCE: {
        "epochs": ((50, 100, 150, 200, 250, 300, 350, 400, 450, 500), 500),
        "generator_lr": (RATES, 1e-3),
        "discriminator_lr": (RATES, 1e-3),
    },
}
APPENDIX[ReleasedGCounteRGAN] = APPENDIX[GCounteRGAN]
APPENDIX[ReleasedRSGGCE] = APPENDIX[LiteralRSGGCE] = APPENDIX[RSGGCE]
APPENDIX[ReleasedCLEAR] = {**APPENDIX[CLEAR], "batch_ratio": (RATIOS, 0.15)}
APPENDIX[ReleasedCF2] = {"lr": (RATES, 1e-2), "epochs": ((50, 100, 200, 250, 500), 500), "batch_ratio": (RATIOS, 0.2)}


@pytest.mark.parametrize("method", APPENDIX, ids=lambda method: method.__name__)
def test_the_space_and_the_best_values_are_the_appendixs(method: type[Explainer]):
    space = method.search_space(beyond=False)
    declared = {
        name: part.values if isinstance(part, Choice) else (part.low, part.high) for name, part in space.items()
    }
    assert declared == {name: values for name, (values, _) in APPENDIX[method].items()}
    best = {name: method.__dataclass_fields__[name].metadata["paper"] for name in space}
    assert best == {name: value for name, (_, value) in APPENDIX[method].items()}


@pytest.mark.parametrize("method", ["cf2", "clear", "g-countergan", "rsgg-ce"])
def test_what_the_paper_searched_is_searched_or_said_why_not(method: str):
    printed = pd.read_csv(OF_PAPER / "hyperparameters.csv")
    for variant in ("faithful", "released"):
        space = methods.choose([f"{method}:{variant}"])[0].load().search_space(beyond=False)
        assert len(space) + len(NOT_SEARCHED.get((method, variant), {})) == (printed["method"] == method).sum()


def test_what_goes_beyond_the_paper_is_searched_only_when_asked_for():
    assert "minimality" in RSGGCE.search_space() and "minimality" not in RSGGCE.search_space(beyond=False)
    assert "secret" not in SEARCH.space and "secret" in replace(SEARCH, beyond=True).space
    assert SEARCH.name != replace(SEARCH, beyond=True).name


def test_megs_space_is_declared_and_holds_what_table_1_uses():
    assert set(MEG.search_space()) == {"episodes", "decay", "horizon", "lr"}
    search = Search.of(methods.choose(["meg:faithful"])[0], DATA, "nested", (0,))
    assert search.given()[1] == {"episodes": 800, "decay": 0.997, "horizon": 2, "lr": 1e-4}


def test_a_drawn_value_is_a_declared_value():
    tenths = CF2.search_space()["margin"]
    kind = distribution(tenths)
    assert isinstance(kind, optuna.distributions.FloatDistribution) and kind.step == 0.1
    assert exactly(tenths, 0.1 + 0.1 + 0.1) == 0.3 and 0.1 + 0.1 + 0.1 != 0.3
    assert isinstance(distribution(RSGGCE.search_space()["epochs"]), optuna.distributions.IntDistribution)
    assert isinstance(distribution(Choice(RATES)), optuna.distributions.CategoricalDistribution)


def test_first_the_papers_values_then_the_registrys():
    """Of Tuned, the paper's weight is outside the space, so the registry's is tried with the rest of the paper's."""
    ours = {"share": 0.9, "weight": 0.5, "mode": "plain"}
    assert SEARCH.given() == [{"share": 0.4, "weight": 0.5, "mode": "plain"}, ours]
    outside = replace(SEARCH, method=replace(TUNED, options={"share": 0.95}))
    assert outside.given() == [{"share": 0.4, "weight": 0.5, "mode": "plain"}]


# -- The same search, whatever happens -----------------------------------------------------------------------------


def test_as_many_trials_as_asked_for_and_what_was_given_first(undisturbed: Path):
    trials = found(undisturbed).query("state not in ('winner', 'default', 'default, seen')")
    assert trials["number"].tolist() == [str(i) for i in range(12)]
    assert trials["share"].tolist()[:2] == ["0.4", "0.9"] and len(set(trials["weight"])) == 11
    assert {"complete", "pruned", "failed"} == set(trials["state"]), "the stand-in is made so that each comes about"


@forked_workers()
def test_two_workers_find_what_one_finds_and_are_kept_between_trials(
    tmp_path: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
):
    """Starting a worker takes longer than a fold of this method."""
    started: list[workers._Worker] = []
    start_one = workers._Worker.started

    def counted() -> workers._Worker:
        started.append(start_one())
        return started[-1]

    monkeypatch.setattr(workers._Worker, "started", counted)
    assert hpo.Hpo().run(options(tmp_path, jobs=2)) == 0
    assert len(started) == 2 and all(worker.process.poll() is not None for worker in started), "and none is left over"
    pd.testing.assert_frame_equal(found(tmp_path), found(undisturbed))


def test_a_search_in_parts_is_the_search_in_one_go(tmp_path: Path, undisturbed: Path):
    for trials in (1, 5, 12):
        assert search_for(tmp_path, trials=trials) == 0
    pd.testing.assert_frame_equal(found(tmp_path), found(undisturbed))


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_killed_and_resumed_as_in_one_go(tmp_path: Path, undisturbed: Path, signal_number: int):
    process = start(tmp_path, 12, delay=0.15)
    end = time.monotonic() + 100
    while len(list(tmp_path.rglob("seed*[0-9a-f].parquet"))) < 5:
        assert process.poll() is None and time.monotonic() < end, process.communicate()
        time.sleep(0.02)
    os.killpg(process.pid, signal_number)
    _, err = process.communicate(timeout=60)
    if signal_number == signal.SIGINT:
        assert process.returncode == 130, err
        said = re.fullmatch(
            r"Stopped; (\d+) of 12 trials are finished and stored; the same command goes on from here\.",
            err.splitlines()[-1],
        )
        assert said and 0 < int(said[1]) < 12
    assert not (tmp_path / "hpo_tuned.csv").exists()
    assert search_for(tmp_path) == 0
    pd.testing.assert_frame_equal(found(tmp_path), found(undisturbed))


def test_an_interrupt_is_one_even_if_a_lock_makes_something_else_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted_while_unlocking(*_: object) -> bool:
        try:
            raise KeyboardInterrupt
        except BaseException:
            (tmp_path / "lock").unlink()  # gone already
        return True

    monkeypatch.setattr(hpo, "_conduct", interrupted_while_unlocking)
    assert search_for(tmp_path) == 130
    assert capsys.readouterr().err == (
        "Stopped; 0 of 12 trials are finished and stored; the same command goes on from here.\n"
    )
    monkeypatch.setattr(hpo, "_conduct", lambda *_: (tmp_path / "lock").unlink())
    with pytest.raises(FileNotFoundError):
        search_for(tmp_path)


def test_a_trial_killed_while_its_values_were_written_gets_the_same_values(tmp_path: Path, undisturbed: Path):
    """Trial 2 is the first whose values are drawn; the first of them is stored and no more."""
    with study.opened(SEARCH, 12, url="", folder=tmp_path / "hpo") as begun:
        for _ in range(3):
            trial = begun.next()
            assert trial is not None
            if trial.number < 2:
                study.run_trial(SEARCH, trial, store_of(tmp_path), partial(run_cells, store=store_of(tmp_path)), 1)
        wanted = float(found(undisturbed)["share"][2])
        kind = distribution(SEARCH.space["share"])
        begun.storage.set_trial_param(begun._id_of(2), "share", kind.to_internal_repr(wanted), kind)
    journal = next((tmp_path / "hpo").glob("*.log"))
    journal.write_bytes(journal.read_bytes() + b'{"op_code": 5, "tor')  # and the last line is torn
    assert search_for(tmp_path) == 0
    pd.testing.assert_frame_equal(found(tmp_path), found(undisturbed))


def test_a_study_in_a_database_is_the_study_in_a_journal(tmp_path: Path, undisturbed: Path):
    url = f"sqlite:///{tmp_path / 'hpo.db'}"
    assert search_for(tmp_path, storage=url, trials=7) == 0
    assert search_for(tmp_path, storage=url) == 0
    pd.testing.assert_frame_equal(found(tmp_path), found(undisturbed))
    assert not list((tmp_path / "hpo").glob("*.log"))


def test_a_dead_process_is_noticed_in_a_database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, undisturbed: Path):
    url = f"sqlite:///{tmp_path / 'hpo.db'}"
    with study.opened(SEARCH, 12, url=url, folder=tmp_path) as begun:
        dead = begun.next()  # taken, and never heard of again
        assert dead is not None and dead.number == 0
    monkeypatch.setattr(study, "PATIENCE", 1.0)
    monkeypatch.setattr(study, "POLL", 0.1)
    assert search_for(tmp_path, storage=url) == 0
    trials = found(tmp_path).query("state not in ('winner', 'default', 'default, seen')")
    assert trials["number"].tolist() == [str(i) for i in range(12)], (
        "and its trial is done by another, under its number"
    )


def test_fresh_begins_anew_and_computes_again(tmp_path: Path):
    assert search_for(tmp_path, trials=2) == 0
    before, old = found(tmp_path), {path: path.stat().st_mtime_ns for path in tmp_path.rglob("seed*.parquet")}
    assert search_for(tmp_path, trials=2, fresh=True) == 0
    pd.testing.assert_frame_equal(found(tmp_path), before)
    assert all(path.stat().st_mtime_ns > then for path, then in old.items())


# -- What is looked at ---------------------------------------------------------------------------------------------


def test_nested_selection_never_sees_a_test_graph():
    whole = DATA.load()
    for fold in range(3):
        search = Search.of(TUNED, DATA, "nested", (fold,))
        held_out = {whole.graphs.names[i] for i in whole.folds(10)[fold].test.tolist()}
        assert len(held_out) == 6
        for cell in search.cells({}):
            seen = cell.task.load().graphs.names
            assert len(seen) == 54 and not held_out & set(seen)
        (test,) = search.test_cells({})
        assert test.task == DATA and test.fold == fold and test.folds == 10


def test_inner_folds_are_disjoint_parts_of_the_training_graphs():
    inner = SEARCH.cells({})
    folds = inner[0].task.load().folds(5, 0)
    assert [cell.fold for cell in inner] == [0, 1, 2] and {cell.folds for cell in inner} == {5}
    assert sorted(np.concatenate([fold.test for fold in folds])) == list(range(54))


def test_the_papers_protocol_selects_on_the_test_folds_and_is_judged_by_new_graphs(tmp_path: Path):
    assert search_for(tmp_path, protocol="paper", folds=["0-3"], trials=3) == 0
    assert [cell.fold for cell in PAPER.cells({})] == [0, 1, 2, 3]
    assert all(cell.task == DATA and cell.seed == 0 for cell in PAPER.cells({}))
    assert all(cell.task == DATA.varied({"seed": 1}) and cell.seed == 1 for cell in PAPER.test_cells({}))
    rows = found(tmp_path)
    first = PAPER.cells({"share": 0.4, "weight": 0.5, "mode": "plain"})
    ledgers = [store_of(tmp_path).ledger([cell]) for cell in first]
    mean = np.mean([np.mean(ledger["predicted"] != ledger["predicted_cf"]) for ledger in ledgers])
    assert float(rows["value"][0]) == pytest.approx(mean) and rows["outer_fold"][0] == "0,1,2,3"


def test_inner_cells_have_the_base_data_sets_hyperparameters_and_support():
    """Released MEG is only defined for some data sets: so it is for their training graphs."""
    elsewhere = replace(TUNED, on={"tree-cycles": {"secret": 0.5}}, tasks=("tree-cycles",))
    cell = Search.of(elsewhere, DATA, "nested", (0,)).cells({"share": 0.2})[0]
    assert cell.method.build().hyperparameters() == {"share": 0.2, "weight": 0.5, "mode": "plain", "secret": 0.5}
    assert not cell.method.unsupported(cell.task.name) and cell.task.name == "tree-cycles-training"


def test_cells_of_a_search_verify(undisturbed: Path):
    """Those on training graphs too."""
    findings = verify([undisturbed / "hpo"], derive=100)
    assert not findings.wrong and len(findings.sentences) == 3, findings.sentences
    assert "all agree" in findings.sentences[-1]
    assert task_of(SEARCH.cells({})[0].definition["task"]) == SEARCH.cells({})[0].task
    with pytest.raises(DataError, match="moons is no task of this version"):
        task_of({"name": "moons", "options": {"noise": 1}})


# -- One trial -----------------------------------------------------------------------------------------------------


def outcomes(tmp_path: Path, at_once: int, scores: list[list[float]]) -> list[optuna.trial.FrozenTrial]:
    """Trials whose folds have these scores: nothing is computed, and the order of computing is backwards."""
    store = Store(tmp_path)
    trials, given = [], iter(scores)
    values: dict[str, float] = {}

    def compute(cells: Sequence[Cell]) -> Report:
        return Report([Outcome(cell, "computed") for cell in reversed(cells)])

    def score(cells: list[Cell], store: Store) -> study.Score | None:
        known = [values[cell.key] for cell in cells]
        return study.Score(float(np.mean(known)), 1.0, 1.0, len(known)) if known else None

    with pytest.MonkeyPatch.context() as patch, study.opened(PAPER, len(scores), url="", folder=tmp_path) as begun:
        patch.setattr(study, "score", score)
        while (trial := begun.next()) is not None:
            asked = study.ask(PAPER, trial)
            values.update(zip([cell.key for cell in PAPER.cells(asked)], next(given), strict=True))
            trials.append(study.run_trial(PAPER, trial, store, compute, at_once))
    return trials


@pytest.mark.parametrize("at_once", [1, 2, 4])
def test_pruning_is_decided_by_folds_in_their_order(tmp_path: Path, at_once: int):
    """Five good trials, then one that starts badly and ends well, one that is bad from its third fold on."""
    good, late, sudden = [0.8] * 4, [0.1, 1.0, 1.0, 1.0], [0.8, 0.8, 0.1, 1.0]
    trials = outcomes(tmp_path, at_once, [good] * 5 + [late, sudden, good])
    states = [trial.state.name for trial in trials]
    assert states == ["COMPLETE"] * 5 + ["PRUNED", "COMPLETE", "COMPLETE"]
    assert trials[5].value == 0.1 and trials[5].user_attrs["folds"] == 1
    assert trials[6].value == pytest.approx(0.675), "Optuna compares the best mean so far, which .8 was"


def test_a_failing_fold_fails_the_trial_and_not_the_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert search_for(tmp_path, trials=12) == 0
    broken = found(tmp_path).query("mode == 'broken'")
    assert len(broken) and set(broken["state"]) == {"failed"} and set(broken["value"]) == {""}
    assert set(broken["reason"]) == {"This mode cannot be fitted; use another."}
    assert "failed: This mode cannot be fitted; use another." in capsys.readouterr().err


def test_where_every_trial_fails_it_is_said(tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Tuned, "_fit", lambda *_: (_ for _ in ()).throw(FitError("Never.")))
    assert search_for(tmp_path, trials=2) == 1
    assert "no trial was completed; hpo_tuned.csv says why." in capsys.readouterr().err


def test_missing_data_end_the_search_and_fail_no_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def missing(*_: object, **__: object) -> None:
        raise DataError("There are no data here; bring some.")

    with monkeypatch.context() as patch:
        patch.setattr(TreeCycles, "load", missing)
        run_cell._Loaded.get.cache_clear()
        with pytest.raises(DataError, match="There are no data here"):
            search_for(tmp_path, trials=3)
    run_cell._Loaded.get.cache_clear()
    assert search_for(tmp_path, trials=3) == 0
    assert "failed" not in found(tmp_path)["state"].to_numpy()[:2]


# -- What is written -----------------------------------------------------------------------------------------------


def test_the_tables_follow_from_the_trials_alone(tmp_path: Path, undisturbed: Path):
    shutil.copy(undisturbed / "hpo_tuned.csv", tmp_path)
    with Artefacts(tmp_path, "hpo") as files:
        hpo_tables.render(files)
    hpo.Hpo().write_pages(tmp_path)
    names = {"hpo_summary.csv", "hyperparameters.csv", "hyperparameters.md", "tuning.csv", "tuning.md"}
    for name in names:
        assert (tmp_path / name).read_bytes() == (undisturbed / name).read_bytes()
    assert set(read_manifest(undisturbed)["files"]) == {*names, "hpo_tuned.csv"}


def test_the_summary_says_what_the_search_promised_and_what_came_of_it(undisturbed: Path):
    (row,) = pd.read_csv(undisturbed / "hpo_summary.csv").to_dict("records")
    trials = pd.read_csv(undisturbed / "hpo_tuned.csv")
    complete = trials[trials["state"] == "complete"]
    assert row["best_value"] == complete["value"].max()
    won = complete[complete["value"] == row["best_value"]].sort_values(["ged", "number"]).iloc[0]
    values = {name: won[name] for name in ("share", "weight", "mode")}
    for kind, cell_values in (("winner", values), ("default", {})):
        (cell,) = SEARCH.test_cells(cell_values)
        ledger = store_of(undisturbed).ledger([cell])
        assert row[f"{kind}_correctness"] == np.mean(ledger["predicted"] != ledger["predicted_cf"])
        assert row[f"{kind}_ged"] == ledger["ged"].mean()
    seen = store_of(undisturbed).ledger(SEARCH.cells({}))
    assert row["default_value"] == pytest.approx(np.mean(seen["predicted"] != seen["predicted_cf"]))
    assert row["promised"] == pytest.approx(row["best_value"] - row["default_value"])
    assert row["kept"] == pytest.approx(row["winner_correctness"] - row["default_correctness"])
    assert row["optimism"] == pytest.approx(row["promised"] - row["kept"])
    assert row["trials"] == 12 == row["complete"] + row["pruned"] + row["failed"]


def test_a_search_says_which_revision_of_the_method_it_was_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert search_for(tmp_path, trials=2, folds=["0"]) == 0
    monkeypatch.setattr(methods, "METHODS", [replace(row, revision=3) if row is TUNED else row for row in ROWS])
    assert search_for(tmp_path, trials=2, folds=["1"]) == 0
    for name in ("hpo_tuned.csv", "hpo_summary.csv"):
        rows = pd.read_csv(tmp_path / name)
        assert rows.groupby("outer_fold")["revision"].unique().map(list).to_dict() == {0: [1], 1: [3]}


def test_searches_that_stored_no_revision_are_of_the_one_of_their_days(tmp_path: Path):
    """1, but for those that the registry gave another one at the time; the file gets the column."""
    row = dict.fromkeys([*STUDY, "number", "value", "ged", "folds", "seconds", "started", "reason"], "0")
    rows = [{**row, "method": "rsgg-ce", "variant": v, "state": "pruned"} for v in ("faithful", "released", "literal")]
    pd.DataFrame(rows).to_csv(tmp_path / "hpo_rsgg-ce.csv", index=False)
    made = hpo_tables.read(tmp_path / "hpo_rsgg-ce.csv").set_index("variant")["revision"]
    assert made.to_dict() == {"faithful": "2", "released": "2", "literal": "1"}
    whole = hpo_tables.merged(tmp_path / "hpo_rsgg-ce.csv", [])
    assert len(whole) == 3 and list(whole.columns[: len(STUDY) + 1]) == [*STUDY, "revision"]


def test_studies_stand_side_by_side_and_replace_themselves_only(tmp_path: Path):
    assert search_for(tmp_path, trials=3, folds=["0,1"]) == 0
    assert search_for(tmp_path, trials=2, protocol="paper", folds=["0"]) == 0
    assert search_for(tmp_path, trials=4, folds=["1"]) == 0
    counts = pd.read_csv(tmp_path / "hpo_summary.csv").set_index(["protocol", "outer_fold"])["trials"]
    assert counts.to_dict() == {("nested", 0): 3, ("nested", 1): 4, ("paper", 0): 2}
    table = (tmp_path / "hyperparameters.md").read_text()
    assert (
        "| p | {0.1, 0.2, ..., 1} |" in table and "the paper gives no space; this one is ours; 0.9 in Table 1" in table
    )


def test_importance_finds_what_matters():
    rng = np.random.default_rng(0)
    spaces = {"share": Tuned.search_space()["share"], "weight": Interval(0.0, 1.0)}
    share, weight = rng.integers(1, 11, 60) / 10, rng.random(60)
    whole = pd.DataFrame({"share": share, "weight": weight, "state": "complete", "value": -abs(share - 0.8)})
    table = whole.astype(str)
    shares = hpo_tables.importance(table, spaces)
    assert shares["share"] > 0.8 and sum(shares.values()) == pytest.approx(1)
    assert hpo_tables.importance(table.head(7), spaces) == {} == hpo_tables.importance(table.assign(value="1"), spaces)


# -- The command line ----------------------------------------------------------------------------------------------

BAD = {
    "hpo": "No method was named; say which to search for, e.g. --method cf2.",
    "hpo --method cf": "There is no method 'cf'; did you mean 'cf2'?",
    "hpo --method obs": "OBS declares no search space",
    "hpo --method cf2 --protocol nestd": "There is no protocol 'nestd'; choose nested or paper.",
    "hpo --method cf2 --inner 2": "Of 2 inner folds 3 cannot be used",
    "hpo --method cf2 --folds 10": "There is no fold 10; the folds are 0 to 9.",
    "hpo --method cf2 --seeds 1": "No such option: --seeds",
    "hpo --method cf2 --trials 0": "greater than or equal to 1",
    "hpo --method cf2 --storage nonsense": "The storage 'nonsense' cannot be opened",
    "hpo --method cf2 --storage sqlite:////dev/null/x.db": "The storage sqlite:////dev/null/x.db cannot be opened",
    "hpo --method cf2 --out /dev/null/x": "The search cannot be written to /dev/null/x/hpo",
    "hpo --method meg:released --datasets asd": "There is nothing to search: MEG, as released is only defined for",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(line: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(line.split()) == 2
    err = capsys.readouterr().err
    assert BAD[line] in err and err.count("\n") == 1, err


def test_a_dry_run_says_what_is_left_and_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    line = ["hpo", "--method", "tuned", "--out", str(tmp_path / "new"), "--jobs", "1", "--dry-run"]
    assert cli.main(line) == 0
    assert "0 of 30 trials are done, 30 left, 3 folds each, about 90 s on 1 workers" in capsys.readouterr().out
    assert cli.main([*line, "--storage", f"sqlite:///{tmp_path / 'hpo.db'}"]) == 0
    assert "30 left" in capsys.readouterr().out
    assert not (tmp_path / "new").exists() and not (tmp_path / "hpo.db").exists()
    assert search_for(tmp_path / "new", trials=2) == 0
    assert cli.main(line) == 0
    assert "2 of 30 trials are done, 28 left" in capsys.readouterr().out


def test_a_journal_belongs_to_one_process_at_a_time(tmp_path: Path):
    with (
        study.opened(SEARCH, 2, url="", folder=tmp_path / "hpo"),
        pytest.raises(UsageError, match="Another process is at work"),
    ):
        search_for(tmp_path, trials=2)


def test_a_damaged_journal_is_a_sentence_and_fresh_begins_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert search_for(tmp_path, trials=1) == 0
    (path,) = (tmp_path / "hpo").glob("*.log")
    path.write_text(path.read_text().replace("0.4", "0.5", 1))
    line = ["hpo", "--method", "tuned", "--trials", "1", "--jobs", "1", "--out", str(tmp_path)]
    capsys.readouterr()
    for dry in ([], ["--dry-run"]):
        assert cli.main([*line, *dry]) == 2
        err = capsys.readouterr().err
        assert "is damaged in line" in err and "begin a new study with --fresh." in err and err.count("\n") == 1
    assert search_for(tmp_path, trials=1, fresh=True) == 0
    assert "1 of 1 done" in capsys.readouterr().err


def test_flipped_bits_of_a_journal_change_no_table(tmp_path: Path, undisturbed: Path):
    """Forty of them, one at a time: a sentence each, and the table stays as it was."""
    out = shutil.copytree(undisturbed, tmp_path / "out")
    (log,) = out.rglob("*.log")
    whole, table, rng = log.read_bytes(), (out / "hpo_tuned.csv").read_bytes(), random.Random("flips")
    for bit in (8 * len(whole) - 1, *(rng.randrange(8 * len(whole)) for _ in range(39))):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        log.write_bytes(flipped)
        with pytest.raises(StoreError, match=r"is damaged in line \d+; restore it, or begin a new study"):
            search_for(out)
        assert (out / "hpo_tuned.csv").read_bytes() == table and log.read_bytes() == flipped


def test_a_method_without_a_variant_is_the_faithful_one():
    assert [s.method.variant for s in hpo.searches_for(HpoOptions(methods=["cf2"]))] == ["faithful"]
    assert [s.method.variant for s in hpo.searches_for(HpoOptions(methods=["cf2:released"]))] == ["released"]


def test_passwords_are_not_shown():
    with pytest.raises(UsageError) as error:
        study.database("postgresql+psycopg://me:hunter2@127.0.0.1:1/none")
    assert "hunter2" not in str(error.value) and "me:***@127.0.0.1" in str(error.value)


# -- Several processes, one study ----------------------------------------------------------------------------------

BINARIES = sorted(
    {Path(path).parent for path in (*glob("/usr/lib/postgresql/*/bin/initdb"), shutil.which("initdb")) if path}
)


@contextmanager
def postgres() -> Iterator[str]:
    """A PostgreSQL server of its own on a free port; it refuses to run as root, so then it runs as nobody."""
    other: dict[str, Any] = {"user": "nobody"} if os.getuid() == 0 else {}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with TemporaryDirectory() as folder, (Path(folder) / "log").open("w+") as log:
        if other:
            shutil.chown(folder, "nobody")
        data = ["-D", f"{folder}/data"]
        make = [str(BINARIES[-1] / "initdb"), *data, "-A", "trust", "-U", "rsgg", "--no-sync"]
        subprocess.run(make, check=True, capture_output=True, cwd=folder, **other)
        serve = [str(BINARIES[-1] / "postgres"), *data, "-k", folder, "-h", "127.0.0.1", "-p", str(port), "-F"]
        server: subprocess.Popen[bytes] = subprocess.Popen(serve, stdout=log, stderr=log, cwd=folder, **other)
        try:
            _wait_for(server, port)
            yield f"postgresql+psycopg://rsgg@127.0.0.1:{port}/postgres"
        finally:
            server.send_signal(signal.SIGINT)  # what PostgreSQL calls a fast shutdown
            server.wait(20)


def _wait_for(server: subprocess.Popen[bytes], port: int) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert server.poll() is None and time.monotonic() < end, "the server did not start"
            time.sleep(0.1)


@pytest.mark.skipif(not BINARIES, reason="no PostgreSQL server is installed here")
def test_two_processes_share_a_study_and_do_its_trials_once(tmp_path: Path):
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed here")
    with postgres() as url:
        processes = [start(tmp_path / name, 8, url, delay=0.2) for name in ("one", "two")]
        errors = [process.communicate(timeout=90)[1] for process in processes]
        assert [process.returncode for process in processes] == [0, 0], errors
        stored = study.stored_trials(SEARCH, 1000, url=url, folder=tmp_path)
    said = [[int(line.split(": trial ")[1].split(",")[0]) for line in err.splitlines()] for err in errors]
    assert sorted(said[0] + said[1]) == list(range(8)) and all(said), "each trial once, and both had some"
    assert [trial.number for trial in stored] == list(range(8))
    tables = [found(tmp_path / name) for name in ("one", "two")]
    pd.testing.assert_frame_equal(*tables)


def test_samplers_are_seeded_by_name():
    assert SEARCH.seed(3) == seed_for("hpo", "tuned", "faithful", "tree-cycles", "nested", "0", 3) % 2**32
    assert len({search.seed(3) for search in (SEARCH, PAPER, replace(SEARCH, folds=(1,)))}) == 3
