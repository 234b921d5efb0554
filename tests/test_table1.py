"""Table 1 from a made-up ledger: the numbers, the files, the marks, and what is said about what is missing."""

import csv
import hashlib
import io
import json
import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from benchmarks import catalogue, table1_views
from benchmarks.catalogue import Method
from benchmarks.cell import grid
from benchmarks.options import RunOptions
from benchmarks.table1 import COLUMNS, cells, compare, live_table, missing, render, summarise
from benchmarks.verdict import VERDICTS
from rsgg.data import ASD, TreeCycles
from rsgg.explainer import Capabilities, Explainer, hyper
from rsgg.metrics import METRICS, TABLE1_METRICS

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


@dataclass(kw_only=True)
class AsksTwice(Fake):
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, calls_per_check=2)


METHODS = (
    Method("empty", "control", Fake),
    Method("cf2", "released", Fake, label="CF² & co_1"),
    Method("rsgg-ce", "faithful", Generates),
    Method("rsgg-ce-uniform", "control", Generates, {"generator": "uniform"}),
    Method("rsgg-ce", "beyond", Fake),
    Method("rsgg-ce", "released", AsksTwice),
    Method("meg", "faithful", Fake, datasets=("tree-cycles",)),
    Method("optimum", "control", Fake),
)
GED = {"cf2": 27.5, "empty": 27.5, "optimum": 1.0, "meg": 3.0}
CORRECT = {"cf2": 0.5, "empty": 0.5, "optimum": 1.0, "meg": 0.9}


def ledger_of(expected) -> pd.DataFrame:
    """Outcomes drawn with a declared mean per method; four test graphs of each class per fold."""
    frames = []
    for cell in expected:
        if cell.method.unsupported(cell.dataset.name):
            continue
        rng = np.random.default_rng([cell.fold, cell.seed, len(cell.method.variant), len(cell.method.name)])
        predicted = np.repeat([0, 1], 4)
        flips = rng.random(8) < CORRECT.get(cell.method.name, 0.85)
        frames.append(
            pd.DataFrame(
                {
                    "cell": cell.key, "dataset": cell.dataset.name, "method": cell.method.name,
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
def expected():
    return grid([TreeCycles(), ASD()], METHODS, seeds=(0, 1, 2, 3))


@pytest.fixture(scope="module")
def ledger(expected):
    return ledger_of(expected)


@pytest.fixture(scope="module")
def table(ledger):
    return summarise(ledger, METHODS)


@pytest.fixture(scope="module")
def compared(ledger):
    return compare(ledger, METHODS)


@pytest.fixture(scope="module")
def rendered(expected, ledger, tmp_path_factory):
    out = tmp_path_factory.mktemp("results")
    return out, shown(render(ledger, expected, out))


def shown(renderable) -> str:
    text = io.StringIO()
    Console(file=text, width=200).print(renderable)
    return text.getvalue()


def line(table: pd.DataFrame, dataset: str, method: str, variant: str, metric: str) -> pd.Series:
    found = table[(table[["dataset", "method", "variant", "metric"]] == [dataset, method, variant, metric]).all(axis=1)]
    assert len(found) == 1
    return found.iloc[0]


# -- what is run ---------------------------------------------------------------------------------------------------


def test_replicate_0_of_every_row_comes_first(monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUE", METHODS)
    grid_of = cells(RunOptions(datasets=["tree-cycles"]))
    seeds = [cell.seed for cell in grid_of]
    assert seeds == sorted(seeds)
    count = pd.Series([(cell.method.name, cell.method.variant) for cell in grid_of]).value_counts()
    assert (count["rsgg-ce", "released"], count["rsgg-ce-uniform", "control"]) == (200, 100)
    assert (count["empty", "control"], count["rsgg-ce", "faithful"]) == (50, 10)
    assert all(cell.dataset.seed == cell.seed for cell in grid_of)  # a replicate has data of its own
    assert len(set(grid_of)) == len(grid_of)


def test_replicates_can_be_asked_for_and_smoke_has_one(monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUE", METHODS)
    assert {cell.seed for cell in cells(RunOptions(seeds=["2-3"]))} == {2, 3}
    assert {cell.seed for cell in cells(RunOptions(smoke=True))} == {0}


def test_what_cannot_differ_between_replicates_has_one():
    empty = [cell for cell in cells(RunOptions()) if cell.method.name == "empty"]
    assert sorted({cell.seed for cell in empty if cell.dataset.name == "tree-cycles"}) == [0, 1, 2, 3, 4]
    assert {cell.seed for cell in empty if cell.dataset.name == "asd"} == {0}


# -- the numbers -----------------------------------------------------------------------------------------------------


def test_estimates_are_means_of_fold_means_of_replicate_0(ledger, table):
    assert tuple(table.columns) == COLUMNS
    assert list(COLUMNS)[: len(DESIGN)] == DESIGN
    rows = ledger[(ledger["dataset"] == "asd") & (ledger["method"] == "cf2") & (ledger["seed"] == 0)]
    by_fold = [rows[rows["fold"] == fold]["ged"].mean() for fold in range(10)]
    found = line(table, "asd", "cf2", "released", "ged")
    assert found["mean"] == pytest.approx(np.mean(by_fold))
    assert found["ci_low"] < found["mean"] < found["ci_high"]
    assert (found["n"], found["folds"], found["replicates"], found["paper"]) == (80, 10, 4, "655.661")


def test_prediction_intervals_come_from_the_replicates(ledger, table):
    rows = ledger[(ledger["dataset"] == "tree-cycles") & (ledger["method"] == "cf2")]
    means = rows.groupby("seed")["ged"].mean()
    half = 3.182446 * means.std() * np.sqrt(1 + 1 / 4)
    found = line(table, "tree-cycles", "cf2", "released", "ged")
    assert [found["pi_low"], found["pi_high"]] == pytest.approx([means.mean() - half, means.mean() + half], rel=1e-5)
    alone = line(summarise(rows[rows["seed"] == 0], METHODS), "tree-cycles", "cf2", "released", "ged")
    assert alone["pi_high"] - alone["pi_low"] > 0 and alone["replicates"] == 1
    assert "10 fold means" in alone["reason"]


def test_a_run_of_few_folds_reproduces_nothing(ledger):
    """Two fold means have an interval that holds almost anything; inside it, "reproduced" would mean nothing."""
    few = summarise(ledger[ledger["fold"] < 2], METHODS)
    assert set(few["verdict"]) == {""} and few["pi_low"].isna().all()
    assert (
        few.loc[few["paper"] != "", "reason"] == "not judged: 2 folds were run, and at least 5 folds are needed"
    ).all()
    some = line(summarise(ledger[ledger["fold"] < 6], METHODS), "asd", "cf2", "released", "ged")
    assert "one replicate, 6 fold means" in some["reason"]  # replicates of six folds say little about ten-fold means


def test_an_unfinished_replicate_is_not_used_for_prediction(ledger):
    rows = ledger[ledger["method"] == "cf2"]
    cut = rows[(rows["seed"] < 3) | (rows["fold"] < 5)]
    assert line(summarise(cut, METHODS), "asd", "cf2", "released", "ged")["replicates"] == 3


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
    judged = table[table["verdict"] != ""]
    assert set(judged["verdict"]) <= set(VERDICTS)
    assert set(judged["variant"]) == {"released", "faithful"}
    assert set(judged["metric"]) == {metric.name for metric in TABLE1_METRICS}
    assert (judged["reason"] != "").all() and (judged["paper"] != "").all()
    assert set(table["metric"]) == set(METRICS)
    assert "reproduced" not in set(judged[judged["metric"] == "runtime"]["verdict"])


# -- comparisons -----------------------------------------------------------------------------------------------------


def test_comparisons_are_paired_and_corrected(compared):
    others = compared[(compared["question"] == "rsgg-ce against the others") & (compared["dataset"] == "tree-cycles")]
    assert set(zip(others["against_method"], others["against_variant"], strict=True)) == {
        (method.name, method.variant) for method in METHODS if (method.name, method.variant) != ("rsgg-ce", "faithful")
    }
    assert (others["n"][others["metric"] == "correctness"] == 80).all()
    worse = others[(others["against_method"] == "cf2") & (others["metric"] == "ged_on_success")].iloc[0]
    assert worse["difference"] < -10 and worse["rank_biserial"] == worse["dominance"] == -1
    assert (others["p_holm"] >= others["p"]).all()
    for _, family in others.groupby("metric"):
        assert family["p_holm"].min() == pytest.approx(min(1, len(family) * family["p"].min()))


def test_generators_are_compared_when_nothing_else_differs(compared):
    generators = compared[compared["question"] == "does the generator matter"]
    pairs = set(zip(generators["method"], generators["variant"], generators["against_method"], strict=True))
    assert pairs == {("rsgg-ce", "faithful", "rsgg-ce-uniform")}  # the released one has no partner here


# -- what is missing -------------------------------------------------------------------------------------------------


def test_what_is_missing_is_said(expected, ledger, tmp_path):
    keep = ~(
        (ledger["method"] == "empty") | ((ledger["method"] == "cf2") & (ledger["fold"] == 3) & (ledger["seed"] == 0))
    )
    keep &= ~((ledger["method"] == "optimum") & (ledger["seed"] == 2))
    key = next(cell.key for cell in expected if cell.method.name == "empty" and cell.dataset.name == "asd")
    gaps = missing(expected, ledger[keep], {key: "the disk was full"})
    assert "asd, meg (faithful): meg (faithful) is only defined for tree-cycles" in gaps
    assert "tree-cycles, empty (control): not computed" in gaps
    assert "tree-cycles, cf2 (released): not computed (fold 3 of replicate 0)" in gaps
    assert "tree-cycles, optimum (control): not computed (replicate 2)" in gaps
    assert any(gap.startswith("asd, empty (control): the disk was full (fold 0 of replicate 0") for gap in gaps)
    text = shown(render(ledger[keep], expected, tmp_path))
    assert "Missing" in text and "tree-cycles, empty (control): not computed" in text
    assert "empty" in text.partition("Missing")[0]  # the row is there, without numbers
    assert "## Missing" in (tmp_path / "table1.md").read_text()
    assert "cf2 (released): not computed (fold 3 of replicate 0)" in (tmp_path / "table1.tex").read_text()
    assert missing(expected, ledger) == ["asd, meg (faithful): meg (faithful) is only defined for tree-cycles"]


def test_nothing_stored_renders_an_empty_table(expected, tmp_path):
    text = shown(render(pd.DataFrame(), expected, tmp_path))
    assert "not computed" in text and "0.885" in text  # the printed rows are there
    assert (tmp_path / "table1.csv").read_text().strip() == ",".join(COLUMNS)
    assert shown(live_table(pd.DataFrame())).strip() == ""


# -- files and display -------------------------------------------------------------------------------------------------


def test_the_csv_has_the_designs_columns_and_vocabulary(rendered):
    with (rendered[0] / "table1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[: len(DESIGN)] == DESIGN
    assert {row["dataset"] for row in rows} == {"tree-cycles", "asd"}
    assert {row["verdict"] for row in rows} <= {*VERDICTS, ""}
    assert {row["metric"] for row in rows} == set(METRICS)
    printed = {row["paper"] for row in rows if row["method"] == "rsgg-ce" and row["metric"] == "ged"}
    assert printed == {"11.000", "234.853", ""}  # nothing is printed about what goes beyond the paper
    assert {row["paper"] for row in rows if row["method"] == "empty"} == {""}


def test_the_latex_is_balanced_and_every_row_has_all_columns(rendered):
    tex = (rendered[0] / "table1.tex").read_text()
    assert tex.isascii()
    unescaped = re.sub(r"\\[{}$%&#_\\]", "", tex)
    depth = 0
    for sign in unescaped:
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0 and unescaped.count("$") % 2 == 0
    assert re.findall(r"\\begin\{(\w+)\}", tex) == ["table", "tabular"] * 2
    assert re.findall(r"\\end\{(\w+)\}", tex) == ["tabular", "table"] * 2
    body = [text for text in tex.splitlines() if text.endswith(r"\\")]
    assert len(body) > 14 and all(len(re.findall(r"(?<!\\)&", text)) == 8 for text in body)
    assert r"CF$^2$ \& co\_1" in tex
    assert tex.count(r"\toprule") == tex.count(r"\bottomrule") == 2


@pytest.mark.parametrize(
    ("text", "escaped"), [("a_b & 5%", r"a\_b \& 5\%"), ("λ≤é𝔻\\", r"$\lambda$$\leq$eD\textbackslash{}")]
)
def test_tex_escapes(text, escaped):
    assert table1_views.tex(text) == escaped


def test_best_and_second_best_are_marked_without_the_controls(table):
    rows = table1_views.layout(table, [], METHODS)["tree-cycles"]
    marks = {(row.method, row.variant): row.entry("ged").mark for row in rows}
    assert marks["meg", "faithful"] == "best" and marks["optimum", "control"] == ""
    assert list(marks.values()).count("best") == 1
    values = {
        (row.method, row.variant): row.entry("ged").value for row in rows if row.variant not in ("paper", "control")
    }
    assert marks[sorted(values, key=values.get)[1]] == "second"
    everything = table1_views.layout(table, [], METHODS, mark_controls=True)["tree-cycles"]
    assert {row.method for row in everything if row.entry("ged").mark == "best"} == {"optimum"}


def test_rows_stand_under_their_printed_row_and_controls_last(table):
    rows = table1_views.layout(table, [], METHODS)["tree-cycles"]
    assert [(row.method, row.variant) for row in rows] == [
        ("meg", "paper"), ("meg", "faithful"),
        ("cf2", "paper"), ("cf2", "released"),
        ("clear", "paper"),
        ("g-countergan", "paper"),
        ("rsgg-ce", "paper"), ("rsgg-ce", "released"), ("rsgg-ce", "faithful"), ("rsgg-ce", "beyond"),
        ("empty", "control"), ("rsgg-ce-uniform", "control"), ("optimum", "control"),
    ]  # fmt: skip


def test_markdown_has_a_cell_for_every_column(rendered):
    text = (rendered[0] / "table1.md").read_text()
    for block in text.split("\n\n"):
        if block.startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", row)) for row in block.splitlines()}) == 1
    assert "## Tree-Cycles" in text and "## ASD" in text and "95 %" in text


def test_the_terminal_shows_printed_and_measured_values(rendered):
    assert "121.660" in rendered[1] and "794.805" in rendered[1] and "×" not in rendered[1].partition("ASD")[0]
    assert "beyond the paper" in rendered[1] and "reproduced" in rendered[1]


def test_the_live_table_shows_how_many_folds_are_in(ledger, monkeypatch):
    monkeypatch.setattr(catalogue, "CATALOGUE", METHODS)
    text = shown(live_table(ledger[(ledger["fold"] < 7) & (ledger["method"] == "cf2")]))
    assert re.search(r"CF² & co_1\s+released\s+7\s", text) and "[27.564]" in text


def test_the_manifest_lists_the_files_and_keeps_what_others_wrote(rendered, expected, ledger, tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"files": {"ledger/a.parquet": {"sha256": "x", "cells": 3}}}))
    render(ledger, expected, tmp_path)
    for name in ("table1.csv", "table1.md", "table1.tex", "comparisons.csv"):  # the same ledger, the same files
        assert (tmp_path / name).read_bytes() == (rendered[0] / name).read_bytes()
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["files"]["ledger/a.parquet"]["cells"] == 3
    for name in ("table1.csv", "table1.md", "table1.tex", "comparisons.csv"):
        assert manifest["files"][name]["sha256"] == hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert {"versions", "commit", "machine"} <= set(manifest)
    assert manifest["experiments"]["table1"]["seeds"] == [0, 1, 2, 3]


def test_columns_of_some_methods_only_have_only_those():
    asked = {(cell.dataset.name, cell.method.name, cell.method.variant) for cell in cells(RunOptions())}
    of = lambda dataset: {(method, variant) for name, method, variant in asked if name == dataset}  # noqa: E731
    assert of("tree-cycles-32") == {("meg", "released")}
    renamed = of("tree-cycles-relabelled")
    assert {("clear", "faithful"), ("g-countergan", "faithful"), ("dce", "search")} <= renamed
    assert not {method for method, _ in renamed} & {"obs", "optimum", "empty"}
    assert ("rsgg-ce", "faithful") not in renamed and ("cf2", "faithful") not in renamed


def test_renamed_nodes_are_columns_beside_the_given_order():
    methods = (Method("meg", "faithful", Fake), Method("empty", "control", Fake))
    lines = [
        {"dataset": dataset, "method": "meg", "variant": "faithful", "metric": metric, "mean": mean}
        for dataset, metric, mean in (
            ("tree-cycles", "ged", 1.0), ("tree-cycles", "correctness", 0.9),
            ("tree-cycles-relabelled", "ged", 2.0), ("tree-cycles-relabelled", "correctness", 0.4),
        )
    ]  # fmt: skip
    table = pd.DataFrame(lines).assign(ci_low=np.nan, ci_high=np.nan, verdict="", reason="")
    layout = table1_views.layout(table, [("tree-cycles", "meg", "faithful")], methods)
    assert list(layout) == ["tree-cycles"]
    row = next(row for row in layout["tree-cycles"] if row.variant == "faithful")
    assert (row.entry("ged").value, row.entry("ged_renamed").value) == (1.0, 2.0)
    assert row.entry("correctness_renamed").text == "0.400"
    assert "GED, renamed" in table1_views.markdown(layout, [])


def test_what_the_paper_averages_over_six_folds_is_compared_with_six():
    methods = (Method("g-countergan", "released", Fake),)
    expected = grid([ASD()], methods)
    ledger = ledger_of(expected)
    ledger["ged"] = np.where(ledger["fold"] < 6, 3183.7 + ledger["fold"], 9000.0)
    line = summarise(ledger, methods).set_index("metric").loc["ged"]
    assert line["verdict"] == "reproduced" and "6 fold means" in line["reason"]
    assert line["mean"] > 5000 and line["pi_low"] < 3183.729 < line["judged"] < line["pi_high"] < 3200
