"""Table 1, computed: which rows are run, their numbers with intervals and verdicts, and the files that hold them.

    cells(options)        the grid: rows of the catalogue × data sets × folds, with the replicates of each row
    summarise(ledger, …)  a line per data set, method, variant and metric: our estimate beside the printed one
    compare(ledger, …)    RSGG-CE against every other row, and its generators against each other, paired per instance
    render(ledger, …)     table1.csv, .md and .tex, verdicts.csv, findings.csv and .md, comparisons.csv, manifest.json

Estimates are means of fold means of replicate 0, as the paper's are; their intervals are bootstrapped over folds. The
prediction interval behind a verdict comes from all complete replicates, or from fold means where they are too few.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Group

from benchmarks import catalogue, collapse, findings
from benchmarks import table1_views as views
from benchmarks.catalogue import Method
from benchmarks.cell import Cell, canonical, cells_for, replicate
from benchmarks.options import RunOptions
from benchmarks.store import FORMAT, Store, csv_of, provenance, write_text
from benchmarks.verdict import (
    COMPARED_VARIANTS,
    LEVEL,
    MIN_FOLDS,
    MIN_REPLICATES,
    Measured,
    judge,
    per_printed_cell,
    printed,
    training_share,
)
from rsgg.data.dataset import DatasetSpec
from rsgg.metrics import METRICS, per_instance
from rsgg.statistics import (
    NOWHERE,
    PAPER_FOLDS,
    Bounds,
    bootstrap_interval,
    holm,
    paired_dominance,
    paired_wilcoxon,
    prediction_interval,
    prediction_interval_from_folds,
    rank_biserial,
    wilson_interval,
)

Row = tuple[str, str, str]  # data set, method, variant

ROW = ["dataset", "method", "variant"]
COLUMNS = (
    *ROW, "metric", "paper", "mean", "ci_low", "ci_high", "verdict", "reason",
    "pi_low", "pi_high", "judged", "n", "folds", "replicates",
)  # fmt: skip
DEFAULTS = RunOptions()
MIN_CLUSTERS = 5  # with fewer folds the interval is bootstrapped over instances


# -- What is run -------------------------------------------------------------------------------------------------

REPLICATES = {
    ("rsgg-ce", "released"): 20,
    ("cf2", "released"): 5,
    ("g-countergan", "released"): 5,
    ("meg", "released"): 5,
}
REPLICATES_ON = {("tree-cycles", "clear", "released"): 3}  # on ASD its ten folds take as long as all else released
REPLICATES_OF_VARIANT = {"control": 5, "search": 5}
REPLICATES_WITHOUT_TRAINING = 10  # RSGG-CE with an untrained or uniform generator costs next to nothing


def replicates(dataset: DatasetSpec, method: Method) -> int:
    """How many replicates a row has: each draws generated data and folds anew, for the spread between them.

    A method without chance that learns nothing has one result on given data, however the folds are cut.
    """
    ability = method.build().capabilities
    if ability.deterministic and not ability.learns and replicate(dataset, 1) == dataset:
        return 1
    if method.hyperparameters.get("generator") in ("untrained", "uniform"):
        return REPLICATES_WITHOUT_TRAINING
    if dataset.name == catalogue.RELABELLED:
        return 1
    usual = REPLICATES.get((method.name, method.variant), REPLICATES_OF_VARIANT.get(method.variant, 1))
    return REPLICATES_ON.get((dataset.name, method.name, method.variant), usual)


def cells(options: RunOptions) -> list[Cell]:
    """Replicate 0 of every row first, so that the whole table is there early, then the further replicates."""
    first = cells_for(options)
    if options.seeds or options.smoke:
        return first
    further = range(1, max((replicates(cell.dataset, cell.method) for cell in first), default=1))
    return first + [
        replace(cell, dataset=replicate(cell.dataset, seed), seed=seed)
        for seed in further
        for cell in first
        if seed < replicates(cell.dataset, cell.method)
    ]


# -- From the ledger to numbers ------------------------------------------------------------------------------------


def accounted(ledger: pd.DataFrame, methods: Sequence[Method]) -> pd.DataFrame:
    """Per-instance metrics of the ledger, in the accounting that the paper used for each row."""
    asks = {(method.name, method.variant): method.build().capabilities.calls_per_check for method in methods}
    calls_per_check = [asks.get(row, 1) for row in zip(ledger["method"], ledger["variant"], strict=True)]
    share = [training_share(*row) for row in zip(ledger["dataset"], ledger["method"], strict=True)]
    return per_instance(ledger, calls_per_check=calls_per_check, training_share=share)


def summarise(ledger: pd.DataFrame, methods: Sequence[Method]) -> pd.DataFrame:
    """The table as data: `COLUMNS`, one line per row and metric; metrics that do not apply to a row are left out."""
    if ledger.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    lines: list[dict[str, Any]] = []
    for row, instances in accounted(ledger, methods).groupby(ROW, sort=False):
        first = instances[instances["seed"] == instances["seed"].min()]
        folds, replicate_means = _means(instances)
        for metric in METRICS:
            if first[metric].notna().any():
                lines.append(_line(row, metric, first, folds[metric].dropna(), replicate_means[metric]))
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _means(instances: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fold means of replicate 0 (the first one), and the means of fold means of all complete replicates.

    A replicate is complete if it has as many folds as any has.
    """
    folds = instances.groupby(["seed", "fold"])[list(METRICS)].mean()
    by_seed = folds.groupby("seed")
    n_folds = by_seed.size()
    return folds.loc[folds.index[0][0]], by_seed.mean()[n_folds == n_folds.max()]


def _line(row: Row, metric: str, first: pd.DataFrame, folds: pd.Series, replicates: pd.Series) -> dict[str, Any]:
    dataset, method, variant = row
    mean = float(folds.mean())
    predicted, basis = _predicted(folds.to_numpy(), replicates.dropna().to_numpy())
    interval = _interval(metric, first)
    line: dict[str, Any] = {
        **dict(zip(ROW, row, strict=True)), "metric": metric, "paper": "", "verdict": "", "reason": "",
        "mean": mean, "ci_low": interval.low, "ci_high": interval.high,
        "pi_low": predicted.low, "pi_high": predicted.high, "judged": mean,
        "n": int(first[metric].notna().sum()), "folds": len(folds), "replicates": len(replicates),
    }  # fmt: skip
    paper = printed(dataset, method, metric) if variant in COMPARED_VARIANTS else None
    if paper is not None:
        judged, judged_in, basis = mean, predicted, basis
        if paper.folds < len(folds):  # the printed row averages fewer folds: so does what it is compared with
            first_folds = folds.iloc[: paper.folds].to_numpy()
            judged, basis = float(first_folds.mean()), f"the first {paper.folds} fold means"
            judged_in = prediction_interval_from_folds(first_folds, further_folds=paper.folds, level=LEVEL)
        verdict = judge(dataset, method, metric, Measured(judged, judged_in, basis))
        line |= {"paper": paper.text, "verdict": verdict.verdict, "reason": verdict.reason}
        line |= {"judged": judged, "pi_low": judged_in.low, "pi_high": judged_in.high}
    return line


def _interval(metric: str, first: pd.DataFrame) -> Bounds:
    """95 % bootstrap interval over folds; where all outcomes of a correctness agree, Wilson's over instances."""
    values = first[metric].dropna()
    if metric.startswith("correctness") and values.nunique() == 1:
        return wilson_interval(float(values.sum()), len(values), level=LEVEL)
    clusters = first["fold"] if first["fold"].nunique() >= MIN_CLUSTERS else None
    return bootstrap_interval(first[metric], clusters=clusters, level=LEVEL)


def _predicted(means: np.ndarray, replicate_means: np.ndarray) -> tuple[Bounds, str]:
    """Where a further 10-fold mean would fall, and what that is based on."""
    if len(means) < MIN_FOLDS:
        return NOWHERE, f"{len(means)} folds were run"
    if len(means) == PAPER_FOLDS and len(replicate_means) >= MIN_REPLICATES:
        return prediction_interval(replicate_means, level=LEVEL), f"{len(replicate_means)} replicates"
    return prediction_interval_from_folds(means, level=LEVEL), f"one replicate, {len(means)} fold means"


# -- Paired comparisons --------------------------------------------------------------------------------------------

REFERENCE, RELEASED = ("rsgg-ce", "faithful"), ("rsgg-ce", "released")
COMPARED_METRICS = ("correctness", "ged", "ged_on_success")
COMPARISON_COLUMNS = (
    "dataset", "question", "metric", "method", "variant", "against_method", "against_variant", "n", "mean",
    "against_mean", "difference", "ci_low", "ci_high", "p", "p_holm", "rank_biserial", "dominance",
)  # fmt: skip


def compare(ledger: pd.DataFrame, methods: Sequence[Method]) -> pd.DataFrame:
    """Pairs of rows on the same instances of replicate 0: Wilcoxon, Holm within a question, effect sizes.

    `ged_on_success` compares the instances that both explain. The tests take the fitted models as given: they say
    whether two rows differ on these graphs, the prediction intervals of `summarise` what another fit would bring.
    """
    if ledger.empty:
        return pd.DataFrame(columns=list(COMPARISON_COLUMNS))
    instances = accounted(ledger, methods)
    lines = []
    for dataset, rows in instances[instances["seed"] == instances["seed"].min()].groupby("dataset", sort=False):
        by_method = rows.set_index(["fold", "instance"]).groupby(["method", "variant"], sort=False)
        present = dict(iter(by_method))
        for question, one, other in _questions(list(present), methods):
            both = present[one].join(present[other].add_suffix("_other"), how="inner")
            lines += [
                {"dataset": dataset, "question": question, **_names(one, other), **_paired(both, metric)}
                for metric in COMPARED_METRICS
            ]
    compared = pd.DataFrame(lines, columns=list(COMPARISON_COLUMNS))
    compared["p_holm"] = compared.groupby(["dataset", "question", "metric"])["p"].transform(holm)
    return compared


def _questions(
    present: Sequence[tuple[str, str]], methods: Sequence[Method]
) -> Iterator[tuple[str, tuple[str, str], tuple[str, str]]]:
    """Which rows are compared: RSGG-CE with all others; generators that differ in nothing but their training."""
    if REFERENCE in present:
        yield from (("rsgg-ce against the others", REFERENCE, other) for other in present if other != REFERENCE)
    if RELEASED in present:
        rest = [row for row in present if row[1] == "released" and row != RELEASED]
        yield from (("rsgg-ce against the others, as released", RELEASED, other) for other in rest)
    for one, other in combinations(methods, 2):
        rows = (one.name, one.variant), (other.name, other.variant)
        if set(rows) <= set(present) and _differ_in(one, other) == {"generator"}:
            yield "does the generator matter", *rows


def _differ_in(one: Method, other: Method) -> set[str]:
    """The names of the hyper-parameters in which two rows of one explainer differ; of two explainers, all."""
    if one.explainer is not other.explainer:
        return {"explainer"}
    options, others = one.build().hyperparameters(), other.build().hyperparameters()
    return {name for name in options if options[name] != others[name]}


def _names(one: tuple[str, str], other: tuple[str, str]) -> dict[str, str]:
    return {"method": one[0], "variant": one[1], "against_method": other[0], "against_variant": other[1]}


def _paired(both: pd.DataFrame, metric: str) -> dict[str, Any]:
    pairs = both[[metric, f"{metric}_other"]].dropna()
    x, y = pairs[metric].to_numpy(), pairs[f"{metric}_other"].to_numpy()
    if not len(pairs):
        return {"metric": metric, "n": 0}
    fold = pairs.index.get_level_values("fold")
    interval = bootstrap_interval(x - y, clusters=fold if fold.nunique() >= MIN_CLUSTERS else None)
    return {
        "metric": metric, "n": len(pairs), "mean": x.mean(), "against_mean": y.mean(), "difference": (x - y).mean(),
        "ci_low": interval.low, "ci_high": interval.high, "p": paired_wilcoxon(x, y),
        "rank_biserial": rank_biserial(x, y), "dominance": paired_dominance(x, y),
    }  # fmt: skip


# -- What is missing -----------------------------------------------------------------------------------------------


def missing(expected: Sequence[Cell], ledger: pd.DataFrame, reasons: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for each row and replicate with cells that are not there; `reasons` by cell key, where known."""
    stored = set() if ledger.empty else set(ledger["cell"])
    gaps: dict[tuple[str, str], list[Cell]] = {}
    for cell in expected:
        if cell.key not in stored:
            reason = cell.method.unsupported(cell.dataset.name) or (reasons or {}).get(cell.key, "not computed")
            whose = f"{cell.dataset.name}, {cell.method.name} ({cell.method.variant})"
            gaps.setdefault((whose, reason), []).append(cell)
    asked = pd.Series([f"{c.dataset.name}, {c.method.name} ({c.method.variant})" for c in expected]).value_counts()
    return [
        f"{whose}: {reason}" + ("" if len(absent) == asked[whose] else f" ({_which(absent)})")
        for (whose, reason), absent in gaps.items()
    ]


def _which(absent: Sequence[Cell]) -> str:
    by_seed: dict[int, list[int]] = {}
    for cell in absent:
        by_seed.setdefault(cell.seed, []).append(cell.fold)
    partial = {seed: folds for seed, folds in by_seed.items() if len(folds) < absent[0].folds}
    whole = [seed for seed in by_seed if seed not in partial]
    parts = [_listed("replicate", whole)] if whole else []
    parts += [f"{_listed('fold', sorted(folds))} of replicate {seed}" for seed, folds in partial.items()]
    return "; ".join(parts)


def _listed(what: str, members: Sequence[int]) -> str:
    return f"{what}{'s' if len(members) > 1 else ''} {', '.join(map(str, members))}"


# -- Files and display ---------------------------------------------------------------------------------------------


def live_table(ledger: pd.DataFrame) -> Group:
    """The table as far as it has come, without intervals: quick enough to be drawn after every cell."""
    if ledger.empty:
        return Group()
    methods = catalogue.CATALOGUE
    instances = accounted(ledger[ledger["seed"] == ledger["seed"].min()], methods)
    fold = instances.groupby([*ROW, "fold"], sort=False)[list(METRICS)].mean()
    by_row = fold.groupby(ROW, sort=False)
    return views.live(by_row.mean(), by_row.size(), methods)


def render(
    ledger: pd.DataFrame,
    expected: Sequence[Cell],
    out: Path,
    *,
    store: Store | None = None,
    reasons: Mapping[str, str] | None = None,
    options: RunOptions = DEFAULTS,
) -> Group:
    """Write the table's files into `out` and return what to print. What is missing is said; the rest is rendered."""
    methods = list({(cell.method.name, cell.method.variant): cell.method for cell in expected}.values())
    table, compared = summarise(ledger, methods), compare(ledger, methods)
    gaps = missing(expected, ledger, reasons)
    found, verdicts = findings.compute(findings.Results(table, ledger, options.data_dir, out)), per_printed_cell(table)
    layout = views.layout(table, [(c.dataset.name, c.method.name, c.method.variant) for c in expected], methods)
    written = {
        "table1.csv": csv_of(table),
        "verdicts.csv": csv_of(verdicts),
        "verdicts.md": views.markdown_verdicts(verdicts),
        "comparisons.csv": csv_of(compared),
        "findings.csv": csv_of(found),
        "findings.md": findings.markdown(found),
        "table1.md": views.markdown(layout, gaps),
        "table1.tex": views.latex(layout, gaps),
    }
    if store is not None and not ledger.empty:
        written["training.csv"] = csv_of(
            collapse.judge(store.history(expected), ledger.groupby("dataset")["n_edges"].mean())
        )
    for name, text in written.items():
        write_text(out / name, text)
    write_text(out / "manifest.json", json.dumps(_manifest(out, written, expected, gaps, store), indent=2) + "\n")
    return views.printed_tables(layout, gaps)


def _manifest(
    out: Path, written: Mapping[str, str], expected: Sequence[Cell], gaps: Sequence[str], store: Store | None
) -> dict[str, Any]:
    """Where the table comes from. What other experiments entered into the folder's manifest is kept."""
    try:
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        manifest = {}
    found = [] if store is None else [stored for stored in map(store.read, expected) if stored is not None]
    entry = {
        "cells": len(found),
        "cells_expected": len(expected),
        "missing": list(gaps),
        "seeds": sorted({cell.seed for cell in expected}),
        "duration": round(sum(stored.duration for stored in found), 1),
        "commits": sorted({str(stored.metadata["commit"]) for stored in found}),
        "machines": [json.loads(text) for text in sorted({canonical(stored.metadata["machine"]) for stored in found})],
    }
    files = {name: {"sha256": hashlib.sha256(text.encode()).hexdigest()} for name, text in written.items()}
    return {
        **manifest, "format": FORMAT, **provenance(),
        "experiments": {**manifest.get("experiments", {}), "table1": entry},
        "files": {**manifest.get("files", {}), **files},
    }  # fmt: skip


if __name__ == "__main__":
    from benchmarks.cli import script

    script("table1")
