"""Table 1 from a made-up ledger: what is run, the numbers, the files, and what is said about what is missing."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from benchmarks import cli
from benchmarks.judging.verdicts import COLUMNS, judged
from benchmarks.publish import CONFIRMATION
from benchmarks.registry import methods
from benchmarks.registry.methods import Method
from benchmarks.registry.metrics import METRICS, TABLE1
from benchmarks.registry.rules import AGREES, DIFFERS, NOT_COMPARABLE, ORDER_HOLDS, REPRODUCED
from benchmarks.registry.tasks import ASD, TREE_CYCLES
from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE
from benchmarks.results.ledger import Store, Stored, compact_names, describe, ledger_table, row_of, write_compact
from benchmarks.results.reader import graphs_per_fold
from benchmarks.results.summary import accounted, compare, means_so_far, missing, summarise
from benchmarks.running.experiment import Finished
from benchmarks.running.options import Table1Options
from benchmarks.running.plan import grid
from benchmarks.table1 import Confirmation, Table1, plan, turn
from benchmarks.variations import studies
from rsgg.explainer import Capabilities, Explainer
from rsgg.hyperparameters import hyper
from rsgg.statistics import bootstrap_interval

DESIGN = ["dataset", "method", "variant", "metric", "paper", "mean", "ci_low", "ci_high", "verdict", "reason"]


@dataclass(kw_only=True)
class Fake(Explainer):
    generator: str = hyper("trained", "generator")
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True)

    def _explain(self, graphs, classes, oracle, k, seed):
        raise NotImplementedError


@dataclass(kw_only=True)
class Generates(Fake):
    """Stands for RSGG-CE: the only one here whose generator matters."""


def fake(name: str, variant: str, kind: type[Explainer] = Fake, **more: Any) -> Method:
    """A row of the registry with another class behind it; what it is called and how it counts calls is its own."""
    real = methods.rows()[name, variant]
    explainer = f"{__name__}:{kind.__name__}"
    changed: dict[str, Any] = {"options": {}, "tasks": None, "limit": "", **more}
    return replace(real, explainer=explainer, on={}, **changed)


METHODS = (
    fake("empty", "control"),
    fake("cf2", "released"),
    fake("rsgg-ce", "faithful", Generates),
    fake("rsgg-ce-uniform", "control", Generates, options={"generator": "uniform"}),
    fake("rsgg-ce", "beyond"),
    fake("rsgg-ce", "released"),
    fake("meg", "faithful", tasks=("tree-cycles",)),
    fake("optimum", "control"),
)
GED = {"cf2": 27.5, "empty": 27.5, "optimum": 1.0, "meg": 3.0}
CORRECT = {"cf2": 0.5, "empty": 0.5, "optimum": 1.0, "meg": 0.9}


def ledger_of(expected: Sequence[Cell]) -> pd.DataFrame:
    """Outcomes drawn with a declared mean per method; four test graphs of each class per fold."""
    frames = []
    for cell in expected:
        if cell.method.unsupported(cell.task.name):
            continue
        rng = np.random.default_rng([cell.fold, cell.seed, len(cell.method.variant), len(cell.method.name)])
        predicted = np.repeat([0, 1], 4)
        flips = rng.random(8) < CORRECT.get(cell.method.name, 0.85)
        frames.append(
            pd.DataFrame(
                {
                    "cell": cell.key, "dataset": cell.task.name, "method": cell.method.name,
                    "variant": cell.method.variant, "seed": cell.seed, "fold": cell.fold, "candidate": 0,
                    "instance": np.arange(8) + 8 * cell.fold, "label": predicted, "predicted": predicted,
                    "predicted_cf": np.where(flips, 1 - predicted, predicted), "n_nodes": 28, "n_edges": 27 + predicted,
                    "ged": np.where(flips, GED.get(cell.method.name, 11.0) + rng.integers(-1, 2, 8), 0),
                    "calls": 3, "seconds": 0.01, "optimum": 1.0, "removal_auroc": 0.5,
                    "fit_calls": 400, "fit_seconds": 8.0, "test_size": 8,
                }
            )
        )  # fmt: skip
    return pd.concat(frames, ignore_index=True)


@pytest.fixture(scope="module")
def expected() -> list[Cell]:
    return grid([TREE_CYCLES, ASD], METHODS, seeds=(0, 1, 2, 3))


@pytest.fixture(scope="module")
def ledger(expected: list[Cell]) -> pd.DataFrame:
    return ledger_of(expected)


@pytest.fixture(scope="module")
def table(ledger: pd.DataFrame) -> pd.DataFrame:
    return judged(summarise(ledger))


@pytest.fixture(scope="module")
def compared(ledger: pd.DataFrame) -> pd.DataFrame:
    return compare(ledger, METHODS)


def stored(folder: Path, cells: Sequence[Cell], ledger: pd.DataFrame) -> Finished:
    """The rows of this ledger, stored as a reference has them, as a run that is done."""
    by_cell, by_file = dict(iter(ledger.groupby("cell"))), dict[str, list[Stored]]()
    for cell in (cell for cell in cells if cell.key in by_cell):
        table = ledger_table(by_cell[cell.key])
        found = Stored(table, None, describe(cell, table, None, duration=1.0))
        by_file.setdefault(compact_names(*row_of(cell.definition))[-1], []).append(found)
    for name, group in by_file.items():
        write_compact(folder / "ledger" / name, group)
    return Finished(cells, Store(folder), folder, {})


@pytest.fixture(scope="module")
def written(expected: list[Cell], ledger: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("results")
    Table1().write(stored(out, expected, ledger), Table1Options())
    return out


def line(table: pd.DataFrame, dataset: str, method: str, variant: str, metric: str) -> pd.Series:
    found = table[(table[["dataset", "method", "variant", "metric"]] == [dataset, method, variant, metric]).all(axis=1)]
    assert len(found) == 1
    return found.iloc[0]


# -- what is run ---------------------------------------------------------------------------------------------------


def test_replicate_0_of_every_row_comes_first(monkeypatch):
    monkeypatch.setattr(methods, "METHODS", list(METHODS))
    grid_of = plan(Table1Options(datasets=["tree-cycles"], replicates=True))
    seeds = [cell.seed for cell in grid_of]
    assert seeds == sorted(seeds)
    count = pd.Series([(cell.method.name, cell.method.variant) for cell in grid_of]).value_counts()
    assert (count["rsgg-ce", "released"], count["rsgg-ce-uniform", "control"]) == (200, 100)
    assert (count["empty", "control"], count["rsgg-ce", "faithful"]) == (50, 30)
    assert all(cell.task.options.get("seed", 0) == cell.seed for cell in grid_of)  # a replicate has data of its own
    assert len(set(grid_of)) == len(grid_of)


def test_replicates_can_be_asked_for_and_one_is_computed_unless_they_are(monkeypatch):
    monkeypatch.setattr(methods, "METHODS", list(METHODS))
    assert {cell.seed for cell in plan(Table1Options())} == {0}
    assert {cell.seed for cell in plan(Table1Options(seeds=["2-3"]))} == {2, 3}
    assert {cell.seed for cell in plan(Table1Options(smoke=True))} == {0}


def test_the_printed_rows_are_computed_before_all_others():
    cells = sorted(plan(Table1Options()), key=turn)
    first = [(cell.task.name, cell.method.title) for cell in cells[:10]]
    assert set(first) == {("tree-cycles", "rsgg-ce:released")}
    turns = ["released", "literal", "faithful"]
    rows = [(cell.task.name, cell.method.name, cell.method.variant) for cell in cells]
    of_asd = [variant for task, name, variant in rows if (task, name) == ("asd", "rsgg-ce") and variant in turns]
    assert list(dict.fromkeys(of_asd)) == turns
    last_printed = len(rows) - 1 - rows[::-1].index(("asd", "cf2", "faithful"))
    extras = ("obs", "empty", "rsgg-ce-taught", "rsgg-ce-min")
    assert last_printed < min(i for i, cell in enumerate(cells) if cell.method.name in extras)
    renamed = [i for i, cell in enumerate(cells) if cell.task.name == "tree-cycles-relabelled"]
    assert last_printed < min(renamed)


def test_a_method_without_chance_is_measured_on_other_folds_too():
    """On given data its outcomes are the same, but ten-fold means are not: they say how far such means move."""
    empty = [cell for cell in plan(Table1Options(replicates=True)) if cell.method.name == "empty"]
    for task in ("tree-cycles", "asd"):
        assert sorted({cell.seed for cell in empty if cell.task.name == task}) == [0, 1, 2, 3, 4]


# -- the numbers -----------------------------------------------------------------------------------------------------


def test_estimates_are_means_of_fold_means_over_replicates(ledger, table):
    assert tuple(table.columns) == COLUMNS
    assert list(COLUMNS)[: len(DESIGN)] == DESIGN
    rows = ledger[(ledger["dataset"] == "asd") & (ledger["method"] == "cf2")]
    by_fold = [
        [rows[(rows["seed"] == seed) & (rows["fold"] == fold)]["ged"].mean() for fold in range(10)] for seed in range(4)
    ]
    means = np.mean(by_fold, 1)
    half = 3.182446 * np.std(means, ddof=1) / 2
    found = line(table, "asd", "cf2", "released", "ged")
    assert found["mean"] == pytest.approx(means.mean())
    assert [found["ci_low"], found["ci_high"]] == pytest.approx([means.mean() - half, means.mean() + half], rel=1e-5)
    assert (found["n"], found["folds"], found["replicates"], found["paper"]) == (320, 10, 4, "655.661")


def test_shown_values_are_of_the_replicates_that_rows_share(ledger):
    """Rows with other replicates would be compared on other graphs; prediction intervals use all that a row has."""
    asd = ledger[ledger["dataset"] == "asd"]
    fewer = asd[(asd["method"] == "cf2") | (asd["seed"] > 0)]
    table = judged(summarise(fewer))
    for method, variant in (("cf2", "released"), ("empty", "control")):
        rows = fewer[(fewer["method"] == method) & (fewer["seed"] > 0)]
        expected = rows.groupby(["seed", "fold"])["ged"].mean().groupby("seed").mean().mean()
        assert line(table, "asd", method, variant, "ged")["mean"] == pytest.approx(expected)
    found = line(table, "asd", "cf2", "released", "ged")
    sizes = fewer[fewer["seed"] > 0].groupby(["method", "seed", "fold"]).size()
    assert found["replicates_shown"] == 3 and graphs_per_fold(found) == sizes["cf2"].mean()
    means = asd[asd["method"] == "cf2"].groupby(["seed", "fold"])["ged"].mean().groupby("seed").mean()
    assert found["replicates"] == 4 and found["judged"] == pytest.approx(means.mean())


def test_a_row_from_outside_changes_nothing_that_is_shown_of_the_others(ledger, monkeypatch):
    """It is shown by the replicates that it has of theirs, whichever its user asked for."""
    monkeypatch.setattr(methods, "METHODS", [*methods.METHODS, Method("mine", methods.OWN, "my:Mine", "Mine", "red")])
    asd = ledger[(ledger["dataset"] == "asd") & (ledger["seed"] < 3)]
    own = ledger[(ledger["dataset"] == "asd") & (ledger["method"] == "cf2") & (ledger["seed"] > 0)]
    own = own.assign(method="mine", variant=methods.OWN, ged=own["ged"] + own["seed"])
    alone, beside = summarise(asd), summarise(pd.concat([asd, own]))
    pd.testing.assert_frame_equal(beside[beside["variant"] != methods.OWN].reset_index(drop=True), alone)
    shown = own[own["seed"] < 3].groupby(["seed", "fold"])["ged"].mean().groupby("seed").mean().mean()
    assert line(judged(beside), "asd", "mine", methods.OWN, "ged")["mean"] == pytest.approx(shown)


def test_with_few_replicates_intervals_are_over_their_folds(ledger):
    rows = ledger[(ledger["dataset"] == "asd") & (ledger["method"] == "cf2") & (ledger["seed"] < 2)]
    found = line(judged(summarise(rows)), "asd", "cf2", "released", "ged")
    expected = bootstrap_interval(rows["ged"], clusters=10 * rows["seed"] + rows["fold"])
    assert (found["ci_low"], found["ci_high"]) == pytest.approx(expected)
    assert found["mean"] == pytest.approx(rows.groupby(["seed", "fold"])["ged"].mean().groupby("seed").mean().mean())


def test_prediction_intervals_come_from_the_replicates(ledger, table):
    rows = ledger[(ledger["dataset"] == "tree-cycles") & (ledger["method"] == "cf2")]
    means = rows.groupby("seed")["ged"].mean()
    half = 3.182446 * means.std() * np.sqrt(1 + 1 / 4)
    found = line(table, "tree-cycles", "cf2", "released", "ged")
    assert [found["pi_low"], found["pi_high"]] == pytest.approx([means.mean() - half, means.mean() + half], rel=1e-5)
    alone = line(judged(summarise(rows[rows["seed"] == 0])), "tree-cycles", "cf2", "released", "ged")
    assert alone["pi_high"] - alone["pi_low"] > 0 and alone["replicates"] == 1
    assert "10 fold means" in alone["reason"]


def test_a_run_of_few_folds_reproduces_nothing(ledger):
    """Two fold means have an interval that holds almost anything; inside it, "reproduced" would mean nothing."""
    few = judged(summarise(ledger[ledger["fold"] < 2]))
    assert set(few["verdict"]) == {""} and few["pi_low"].isna().all()
    reasons = few.loc[(few["paper"] != "") & (few["method"] != "meg"), "reason"]  # MEG's printed row has other data
    assert (reasons == "not judged: 2 folds were run, and at least 5 folds are needed").all()
    some = line(judged(summarise(ledger[ledger["fold"] < 6])), "asd", "cf2", "released", "ged")
    assert "one replicate, 6 fold means" in some["reason"]  # replicates of six folds say little about ten-fold means


def test_an_unfinished_replicate_is_not_used_for_prediction(ledger):
    rows = ledger[ledger["method"] == "cf2"]
    cut = rows[(rows["seed"] < 3) | (rows["fold"] < 5)]
    assert line(judged(summarise(cut)), "asd", "cf2", "released", "ged")["replicates"] == 3


def test_costs_are_in_the_accounting_of_the_printed_row(table):
    def mean(dataset, variant, metric):
        return line(table, dataset, "rsgg-ce", variant, metric)["mean"]

    assert mean("tree-cycles", "released", "oracle_calls") == 4  # two per check, training not inside
    assert mean("asd", "released", "oracle_calls") == 4 + 400 / 8  # training inside
    assert mean("asd", "faithful", "oracle_calls") == 2 + 400 / 8
    assert mean("asd", "faithful", "explain_calls") == 3
    assert mean("asd", "faithful", "runtime") == pytest.approx(0.01 + 1)
    assert line(table, "asd", "empty", "control", "oracle_calls")["mean"] == 2  # not in the paper: no training share


def test_agreeing_outcomes_still_have_an_interval(table):
    found = line(table, "tree-cycles", "optimum", "control", "correctness")
    assert (found["mean"], found["ci_high"]) == (1, 1) and 0.9 < found["ci_low"] < 1


def test_only_what_the_paper_is_about_is_judged(table):
    found = table[table["verdict"] != ""]
    assert set(found["verdict"]) <= {REPRODUCED, AGREES, ORDER_HOLDS, DIFFERS, NOT_COMPARABLE}
    assert set(found.loc[found["verdict"] == REPRODUCED, "variant"]) == {"released"}
    assert set(found["variant"]) == {"released", "faithful"}
    assert set(found["metric"]) == {metric.name for metric in TABLE1}
    assert (found["reason"] != "").all() and (found["paper"] != "").all()
    assert set(table["metric"]) == set(METRICS)
    withdrawn = found["verdict"] == NOT_COMPARABLE
    assert withdrawn.equals(found["metric"] == "runtime")


# -- comparisons -----------------------------------------------------------------------------------------------------


def test_what_is_made_minimal_is_compared_with_the_certified_row_only():
    from benchmarks.results.summary import _questions

    rows = [("rsgg-ce", "faithful"), ("rsgg-ce-certified", "beyond"), ("cf2", "released"), ("cf2-min", "released")]
    rows.append(("rsgg-ce", "released"))
    against: dict[str, set[tuple[str, str]]] = {}
    for question, one, other in _questions(rows, []):
        assert one != other
        against.setdefault(question, set()).add(other)
    assert against["rsgg-ce against the others"] == {*rows[1:3], rows[4]}
    assert against["rsgg-ce against the others, as released"] == {("cf2", "released")}
    assert against["taught and certified against the others"] == {rows[0], *rows[2:]}


def test_comparisons_are_paired_and_corrected(compared):
    others = compared[(compared["question"] == "rsgg-ce against the others") & (compared["dataset"] == "tree-cycles")]
    assert set(zip(others["against_method"], others["against_variant"], strict=True)) == {
        (method.name, method.variant) for method in METHODS if (method.name, method.variant) != ("rsgg-ce", "faithful")
    }
    of_correctness = others[others["metric"] == "correctness"]
    assert (of_correctness["n"] == 4 * 80).all(), "generated graphs: all four replicates"
    assert (of_correctness["clusters"] == 4 * 10).all()
    assert (compared[(compared["dataset"] == "asd") & (compared["metric"] == "correctness")]["clusters"] == 10).all()
    worse = others[(others["against_method"] == "cf2") & (others["metric"] == "ged_on_success")].iloc[0]
    assert worse["difference"] < -10 and worse["rank_biserial"] == worse["dominance"] == -1
    assert (others["p_holm"] >= others["p"]).all()
    assert set(others["white_box"]) == {""}
    for _, family in others.groupby("metric"):
        assert family["p_holm"].min() == pytest.approx(min(1, len(family) * family["p"].min()))


def test_a_comparison_says_which_row_uses_the_oracles_gradient(ledger):
    asd = ledger[ledger["dataset"] == "asd"]
    faithful = asd.assign(variant=asd["variant"].where(asd["method"] != "cf2", "faithful"))
    found = compare(faithful, METHODS)
    assert set(found.loc[found["against_method"] == "cf2", "white_box"]) == {"against"}
    assert set(found.loc[found["against_method"] != "cf2", "white_box"]) == {""}


def test_generators_are_compared_when_nothing_else_differs(compared):
    generators = compared[compared["question"] == "does the generator matter"]
    pairs = set(zip(generators["method"], generators["variant"], generators["against_method"], strict=True))
    assert pairs == {("rsgg-ce", "faithful", "rsgg-ce-uniform")}  # the released one has no partner here


# -- what is missing -------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said(expected, ledger):
    keep = ~(
        (ledger["method"] == "empty") | ((ledger["method"] == "cf2") & (ledger["fold"] == 3) & (ledger["seed"] == 0))
    )
    keep &= ~((ledger["method"] == "optimum") & (ledger["seed"] == 2))
    key = next(cell.key for cell in expected if cell.method.name == "empty" and cell.task.name == "asd")
    gaps = missing(expected, ledger[keep], {key: "the disk was full"})
    assert "ASD, MEG: MEG is only defined for tree-cycles" in gaps
    assert "Tree-Cycles, Empty graph: not computed" in gaps
    assert "Tree-Cycles, CF², as released: not computed (fold 3 of replicate 0)" in gaps
    assert "Tree-Cycles, Optimum: not computed (replicate 2)" in gaps
    assert any(gap.startswith("ASD, Empty graph: the disk was full (fold 0 of replicate 0") for gap in gaps)
    assert missing(expected, ledger) == ["ASD, MEG: MEG is only defined for tree-cycles"]


def test_what_is_missing_is_told_apart_by_setting():
    """Two settings under one label: what was computed of one is not missing because the other is not there."""
    (row,) = methods.choose(["rsgg-ce:faithful"])
    whole = plan(Table1Options(methods=[row.title], datasets=["tree-cycles"], seeds=["0"]))
    varied = [replace(cell, method=cell.method.with_options({"epochs": 7})) for cell in whole]
    label = f"Tree-Cycles, {row.label}"

    def gaps(stored):
        return missing([*whole, *varied], pd.DataFrame({"cell": [cell.key for cell in stored]}))

    assert gaps(whole) == [f"{label}: not computed (epochs = 7)"]
    assert gaps([*whole, *varied[:8]]) == [f"{label}: not computed (epochs = 7: folds 8, 9 of replicate 0)"]
    assert gaps([*whole[:9], *varied[:8]]) == [
        f"{label}: not computed (as it is: fold 9 of replicate 0; epochs = 7: folds 8, 9 of replicate 0)"
    ]
    assert gaps([*whole[:9], *varied[:9]]) == [f"{label}: not computed (as it is / epochs = 7: fold 9 of replicate 0)"]
    assert gaps([]) == [f"{label}: not computed"] and gaps([*whole, *varied]) == []


def test_nothing_stored_renders_an_empty_table(expected, tmp_path):
    Table1().write(Finished(expected, Store(tmp_path), tmp_path, {}), Table1Options())
    assert (tmp_path / "table1.csv").read_text().strip() == ",".join(COLUMNS)
    text = (tmp_path / "table1.md").read_text()
    assert "0.885" in text and "Missing: Tree-Cycles, RSGG-CE, by score function: not computed." in text
    assert not (tmp_path / "training.csv").exists()
    assert (pd.read_csv(tmp_path / "verdicts.csv")["reason"] == "not measured").all()


# -- files -------------------------------------------------------------------------------------------------------------


def test_the_csv_has_the_designs_columns_and_vocabulary(written):
    with (written / "table1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[: len(DESIGN)] == DESIGN
    assert {row["dataset"] for row in rows} == {"tree-cycles", "asd"}
    assert {row["verdict"] for row in rows} <= {REPRODUCED, AGREES, ORDER_HOLDS, DIFFERS, NOT_COMPARABLE, ""}
    assert {row["metric"] for row in rows} == set(METRICS)
    printed = {row["paper"] for row in rows if row["method"] == "rsgg-ce" and row["metric"] == "ged"}
    assert printed == {"11.000", "234.853", ""}  # nothing is printed about what goes beyond the paper
    assert {row["paper"] for row in rows if row["method"] == "empty"} == {""}


FILES = {
    "table1.csv", "table1.md", "table1.tex", "table1_paper.tex", "verdicts.csv", "verdicts.md", "further.csv",
    "further.md", "findings.csv", "findings.md",
    "comparisons.csv", "training.csv",
}  # fmt: skip


def test_the_manifest_lists_the_files_and_keeps_what_others_wrote(written, expected, ledger, tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"files": {"ledger/a.parquet": {"sha256": "x", "cells": 3}}}))
    shutil.copytree(written / "ledger", tmp_path / "ledger")
    Table1().write(Finished(expected, Store(tmp_path), tmp_path, {}), Table1Options())
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert set(manifest["files"]) == {*FILES, "ledger/a.parquet"}
    assert manifest["files"]["ledger/a.parquet"] == {"sha256": "x", "cells": 3}
    for name in FILES:  # the same ledger, the same files
        content = (tmp_path / name).read_bytes()
        assert content == (written / name).read_bytes()
        assert manifest["files"][name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert manifest["files"][name]["made_by"] == "table1" and manifest["files"][name]["commit"]
    assert {"versions", "commit", "machine", "format"} <= set(manifest)
    about = manifest["experiments"]["table1"]
    assert about["seeds"] == [0, 1, 2, 3] and about["cells"] == len(ledger["cell"].unique())
    assert about["cells_expected"] == len(expected) and about["missing"] == [
        "ASD, MEG: MEG is only defined for tree-cycles"
    ]


def test_means_so_far_are_those_of_the_folds_that_are_in(ledger):
    few = ledger[(ledger["fold"] < 7) & (ledger["method"] == "cf2")]
    found = means_so_far(few).loc[("tree-cycles", "cf2", "released")]
    rows = few[(few["dataset"] == "tree-cycles") & (few["seed"] == 0)]
    assert found["folds"] == 7 and found["ged"] == pytest.approx(rows.groupby("fold")["ged"].mean().mean())


# -- which rows stand where -------------------------------------------------------------------------------------------


def test_columns_of_some_methods_only_have_only_those():
    asked = {(cell.task.name, *cell.method.row) for cell in plan(Table1Options(replicates=True))}
    of = lambda dataset: {(method, variant) for name, method, variant in asked if name == dataset}  # noqa: E731
    assert of("tree-cycles-32") == {("meg", "released")}
    renamed = of("tree-cycles-relabelled")
    assert {("clear", "faithful"), ("g-countergan", "faithful"), ("dce", "search")} <= renamed
    assert not {method for method, _ in renamed} & {"obs", "optimum", "empty"}
    assert ("rsgg-ce", "faithful") not in renamed and ("cf2", "faithful") not in renamed
    assert {method for method, variant in renamed if variant == "beyond"} == {"rsgg-ce-certified"}


def test_what_the_paper_averages_over_six_folds_is_compared_with_six():
    expected = grid([ASD], (fake("g-countergan", "released"),))
    ledger = ledger_of(expected)
    ledger["ged"] = np.where(ledger["fold"] < 6, 3183.7 + ledger["fold"], 9000.0)
    line = judged(summarise(ledger)).set_index("metric").loc["ged"]
    assert line["verdict"] == "reproduced" and "6 fold means" in line["reason"]
    assert line["mean"] > 5000 and line["pi_low"] < 3183.729 < line["judged"] < line["pi_high"] < 3200


def test_six_folds_of_each_replicate_where_there_are_enough_replicates():
    ledger = ledger_of(grid([ASD], (fake("g-countergan", "released"),), seeds=(0, 1, 2, 3)))
    ledger["ged"] = np.where(ledger["fold"] < 6, 3183.7 + 2 * ledger["seed"], 9000.0)
    line = judged(summarise(ledger)).set_index("metric").loc["ged"]
    half = 3.182446 * np.std([0, 2, 4, 6], ddof=1) * np.sqrt(1 + 1 / 4)
    assert line["judged"] == pytest.approx(3186.7) and "4 replicates of the first 6 folds each" in line["reason"]
    assert [line["pi_low"], line["pi_high"]] == pytest.approx([3186.7 - half, 3186.7 + half], rel=1e-6)


def test_a_row_that_the_registry_does_not_know_counts_as_it_would_anywhere():
    """A stranger's row of a folder that is read elsewhere: one call per check, no training inside."""
    ledger = ledger_of(grid([ASD], (fake("empty", "control"),))).assign(method="mine", variant="own")
    table = judged(summarise(ledger)).set_index("metric")
    assert table.loc["oracle_calls", "mean"] == 2 and set(table["verdict"]) == {""}


# -- a stranger's row beside the committed ones -----------------------------------------------------------------------

STRANGER = """
from dataclasses import dataclass
from typing import ClassVar
import torch
from rsgg import Candidate, Capabilities, Explainer

@dataclass(kw_only=True)
class Clears(Explainer):
    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, deterministic=True, may_return_invalid=True
    )
    label: ClassVar[str] = "Clears all edges"

    def _explain(self, graphs, classes, oracle, k, seed):
        return [Candidate(torch.zeros_like(graph)) for graph in graphs.adjacency for _ in range(k)]
"""


@pytest.mark.usefixtures("no_workers")
def test_a_strangers_row_stands_beside_the_committed_ones_and_they_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The same numbers as those of the committed control that does the same, in shared replicates."""
    (tmp_path / "clears_all.py").write_text(STRANGER)
    monkeypatch.setattr(methods, "METHODS", list(methods.METHODS))
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "out"
    line = ["table1", "--beside-reference", "--methods", "clears_all:Clears", "--datasets", "tree-cycles"]
    assert cli.main([*line, "--jobs", "1", "--out", str(out)]) == 0, capsys.readouterr()
    computed = {path.parent.name for path in (out / "cells").rglob("*.parquet")}
    assert computed == {"clears.own"}, "nothing else was computed"
    table = pd.read_csv(out / "table1.csv").set_index(["dataset", "method", "variant", "metric"]).sort_index()
    committed = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])
    committed = committed.loc[["tree-cycles"]].sort_index()
    own = table.loc[("tree-cycles", "clears", "own")]["mean"]
    empty = pd.read_parquet(REFERENCE / "ledger" / "tree-cycles.empty.control.parquet")
    empty = accounted(empty[empty["seed"].isin((0, 2, 3))]).groupby(["seed", "fold"])
    for metric in ("ged", "correctness", "sparsity", "fidelity"):
        assert own[metric] == pytest.approx(empty[metric].mean().mean(), rel=1e-5)
    pd.testing.assert_frame_equal(table.drop(index="clears", level="method"), committed)
    said = capsys.readouterr().out
    assert "Clears all edges" in (out / "table1.md").read_text() and "Clears all edges" in said
    assert len(said.splitlines()) < 60 and f"show table1 --all --out {out}" in said, "on a screen"
    against = pd.read_csv(out / "comparisons.csv")
    assert "clears" in set(against["against_method"]), "and is compared with RSGG-CE"


def test_every_row_has_the_replicates_that_are_declared() -> None:
    """Written out by hand, for rows of every kind: a row with fewer would have wider intervals than the table says."""
    seeds: dict[tuple[str, str], set[int]] = {}
    for cell in plan(Table1Options(replicates=True)):
        seeds.setdefault((cell.task.name, cell.method.title), set()).add(cell.seed)
    expected = {
        ("tree-cycles", "rsgg-ce:released"): 20,
        ("asd", "rsgg-ce:released"): 20,
        ("tree-cycles", "cf2:released"): 5,
        ("tree-cycles", "clear:released"): 5,
        ("asd", "clear:released"): 5,
        ("tree-cycles-32", "meg:released"): 5,
        ("tree-cycles", "released-uniform:control"): 10,
        ("asd", "two-sided-min:search"): 5,
        ("asd", "empty:control"): 5,
    }
    assert {row: len(seeds[row]) for row in expected} == expected
    gaps = {row: found for row, found in seeds.items() if found != set(range(len(found)))}
    faithful = [f"{name}:faithful" for name in methods.PAPER] + [f"{name}-min:faithful" for name in methods.PAPER]
    beyond = [
        *("rsgg-ce:beyond", "rsgg-ce-min:beyond", "rsgg-ce-taught:beyond", "rsgg-ce-certified:beyond"),
        *("rsgg-ce-ranked:beyond", "meg-classes:control"),
    ]
    searches = [f"{name}-min:search" for name in methods.SEARCHES_MADE_MINIMAL]
    released = [f"{name}-min:released" for name in methods.PAPER]
    literal = ["rsgg-ce:literal", "rsgg-ce-min:literal"]
    shared = (*faithful, *beyond, *searches, *released, *literal)
    assert gaps == {("tree-cycles", row): {0, 2, 3} for row in shared}, "settings were tried on 1"
    assert all(seeds["asd", row] == {0, 1, 2} for row in (*beyond, "clear:faithful"))


def test_where_settings_were_chosen_is_no_part_of_a_results_address() -> None:
    row = methods.rows()["cf2", "faithful"]
    assert row.chosen_on and row.definition() == replace(row, chosen_on=(), told_probabilities=True).definition()


def test_tuning_and_registry_agree_on_where_settings_were_chosen() -> None:
    """Who was tuned on replicate 1 of Tree-Cycles says so in the registry, and the words of tuning.csv are true."""
    table = pd.read_csv(Path(methods.__file__).with_name("tuning.csv"))
    own = table[table["dataset"] == "tree-cycles"].set_index(["method", "variant"])["data_seen"]
    for row, seen in own.items():
        if "1 (in no fold" in seen:
            assert methods.rows()[row].chosen_on == (1,), row
            assert "in no fold and no interval" in seen
    assert {row for row, seen in own.items() if "1 (in no fold" in seen} == {
        ("rsgg-ce", "faithful"), ("rsgg-ce", "beyond"), ("cf2", "faithful"), ("rsgg-ce-taught", "beyond"),
    }  # fmt: skip
    seeds = {cell.seed for cell in Confirmation().plan(CONFIRMATION)}
    looked_at = {0, 1, *map(int, studies()["training"].replicates)}
    assert seeds == {13} and not seeds & looked_at


def test_a_confirmation_has_no_findings(expected: list[Cell], ledger: pd.DataFrame, tmp_path: Path) -> None:
    Confirmation().write(stored(tmp_path, expected, ledger), Table1Options())
    assert {path.name for path in tmp_path.glob("*.*")} == {"manifest.json", "table1.csv", "table1.md", "training.csv"}


def test_a_row_made_minimal_has_the_training_of_its_base_in_its_accounting() -> None:
    """CLEAR on Tree-Cycles: nine of ten folds with training; 4824 calls per test graph."""
    line = ledger_of(grid([TREE_CYCLES], [methods.rows()["clear", "released"]])).iloc[[0]]
    line = line.assign(fit_calls=5000, test_size=50, calls=3)
    both = accounted(pd.concat([line, line.assign(method="clear-min")]))
    assert both["oracle_calls"].nunique() == 1 and both["oracle_calls"].iloc[0] == pytest.approx(2 + 0.9 * 100)


def test_prediction_intervals_end_where_values_do() -> None:
    assert METRICS["correctness"].bounds == (0, 1) and METRICS["fidelity"].bounds == (-1, 1)
    cells = grid([TREE_CYCLES], METHODS[:1], seeds=(0, 1, 2))
    rows = ledger_of(cells)
    found = summarise(rows.assign(predicted_cf=(rows["predicted"] + (rows["instance"] % 9 > 0)) % 2))
    line_ = found.set_index("metric")
    for metric in ("correctness", "correctness_class_0", "correctness_class_1"):
        assert 0 <= line_.loc[metric, "pi_low"] <= line_.loc[metric, "pi_high"] <= 1
