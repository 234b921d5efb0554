"""From ledgers to numbers: estimates with intervals, and rows compared on the same graphs.

Estimates are means of fold means, as the paper's are, averaged over the complete replicates that rows share; their
intervals come from the spread between replicates, or from folds where replicates are too few
(`benchmarks.registry.rules`). The prediction interval, which says where a further ten-fold mean would fall, comes from
all complete replicates of a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method, Row
from benchmarks.registry.metrics import METRICS, per_instance
from benchmarks.registry.rules import COMPARED_VARIANTS, LEVEL, MIN_FOLDS, MIN_REPLICATES
from benchmarks.results.cell import FOLDS, Cell, canonical, declared
from benchmarks.results.paper import printed, training_share
from rsgg.statistics import (
    NO_INTERVAL,
    Bounds,
    bootstrap_interval,
    fold_means,
    holm,
    mean_interval,
    paired_dominance,
    paired_wilcoxon,
    prediction_interval,
    prediction_interval_from_folds,
    rank_biserial,
    wilson_interval,
)

ROW = ["dataset", "method", "variant"]
COLUMNS = (
    *ROW, "metric", "mean", "ci_low", "ci_high", "pi_low", "pi_high", "judged", "basis", "n", "folds", "replicates",
    "replicates_shown",
)  # fmt: skip


def accounted(ledger: pd.DataFrame) -> pd.DataFrame:
    """Per-instance metrics of the ledger, in the accounting that the paper used for each row."""
    known = methods.rows()
    bases = {name: method.base.name for (name, _), method in known.items() if method.base}  # of rows "+ min"
    calls, share = np.ones(len(ledger), dtype=int), np.zeros(len(ledger))
    for (dataset, name, variant), place in ledger.groupby(ROW, sort=False).indices.items():
        calls[place] = known[name, variant].calls_per_check if (name, variant) in known else 1
        share[place] = training_share(dataset, bases.get(name, name))
    return per_instance(ledger.assign(calls_per_check=calls, training_share=share))


def summarise(ledger: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS`: one line per row and metric; metrics that do not apply to a row are left out.

    `judged`, `pi_low` and `pi_high` are what a printed number is compared with: where the printed row averages fewer
    folds, so do they; `basis` says what the prediction interval comes from.
    """
    if ledger.empty:
        return pd.DataFrame(columns=list(COLUMNS))
    lines: list[dict[str, Any]] = []
    complete = {row: _complete(instances) for row, instances in accounted(ledger).groupby(ROW, sort=False)}
    shared = _shared({row: set(folds.index.unique("seed")) for row, (_, folds) in complete.items()})
    for row, (instances, folds) in complete.items():
        shown = instances["seed"].isin(shared[row[0]])
        of_row = _Row(row, instances[shown] if shown.any() else instances, _Folds(folds))
        for metric in METRICS:
            if instances[metric].notna().any():
                lines.append({**dict(zip(ROW, row, strict=True)), "metric": metric, **_estimates(of_row, metric)})
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _shared(replicates: Mapping[tuple[str, ...], set[int]]) -> dict[str, set[int]]:
    """By data set, the replicates that all rows have which have enough of them, if these are enough; by row given.

    Rows from outside are not asked: what a user runs beside the others does not change what is shown of these.
    """
    enough: dict[str, list[set[int]]] = {row[0]: [] for row in replicates}
    for row, seeds in replicates.items():
        if row[2] != methods.OWN and len(seeds) >= MIN_REPLICATES:
            enough[row[0]].append(seeds)
    shared = {dataset: set.intersection(*sets) if sets else set() for dataset, sets in enough.items()}
    return {dataset: seeds if len(seeds) >= MIN_REPLICATES else set() for dataset, seeds in shared.items()}


def _complete(instances: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The instances of all complete replicates, and their fold means, indexed by replicate and fold.

    A replicate is complete if it has as many folds as any has.
    """
    folds = instances.groupby(["seed", "fold"])[list(METRICS)].mean()
    n_folds = folds.groupby("seed").size()
    complete = n_folds.index[n_folds == n_folds.max()]
    return instances[instances["seed"].isin(complete)], folds.loc[complete]


class _Folds:
    """The fold means of a row, and what is made of them for all metrics at once: pandas takes as long for one.

    `folds` has a column per metric (NaN where it does not apply), by replicate and fold, of complete replicates.
    """

    def __init__(self, folds: pd.DataFrame) -> None:
        by_replicate = folds.groupby("seed")
        self.folds = folds
        self.means, self.sizes, self.counts = by_replicate.mean(), by_replicate.size(), by_replicate.count()
        self.of_first_replicate = by_replicate.get_group(folds.index[0][0])
        self._first: dict[int, _Folds] = {}

    def first(self, number: int) -> _Folds:
        """The first so many folds of each replicate."""
        if number not in self._first:
            self._first[number] = _Folds(self.folds.groupby("seed").head(number))
        return self._first[number]


@dataclass(frozen=True)
class _Row:
    """A row: its instances in the replicates that its shown values come from, and the folds of all replicates."""

    name: tuple[str, str, str]
    instances: pd.DataFrame
    folds: _Folds

    @cached_property
    def seeds(self) -> np.ndarray:
        return np.asarray(self.instances["seed"].unique())

    @cached_property
    def clusters(self) -> np.ndarray:
        """The number of each instance's fold, counted through all replicates."""
        return np.asarray(self.instances.groupby(["seed", "fold"]).ngroup())


def _estimates(row: _Row, metric: str) -> dict[str, Any]:
    """The columns of one line."""
    folds = row.folds
    replicates = folds.means[metric].dropna()
    shown = replicates[replicates.index.isin(row.seeds)]
    mean, interval = float(shown.mean()), _interval(row, metric, shown)
    judged, (predicted, basis) = float(replicates.mean()), _predicted(folds, metric, FOLDS)
    paper = printed(row.name[0], row.name[1], metric)
    if paper is not None and paper.folds < folds.sizes.max() and row.name[2] in COMPARED_VARIANTS:
        fewer = folds.first(paper.folds)
        judged, (predicted, basis) = float(fewer.means[metric].mean()), _predicted(fewer, metric, paper.folds)
    predicted = Bounds(*np.clip(predicted, *METRICS[metric].bounds))
    return {
        "mean": mean, "ci_low": interval.low, "ci_high": interval.high,
        "pi_low": predicted.low, "pi_high": predicted.high, "judged": judged, "basis": basis,
        "n": int(row.instances[metric].notna().sum()), "folds": int(folds.counts[metric].max()),
        "replicates": len(replicates), "replicates_shown": len(shown),
    }  # fmt: skip


def _interval(row: _Row, metric: str, replicates: pd.Series) -> Bounds:
    """95 % interval of the mean over replicates, or over the folds of too few; see `benchmarks.registry.rules`."""
    values = row.instances[metric]
    if metric.startswith("correctness") and values.nunique() == 1:
        n = int(values[row.instances["seed"] == row.instances["seed"].min()].notna().sum())
        return wilson_interval(float(values.dropna().iloc[0]) * n, n, level=LEVEL)
    if len(replicates) >= MIN_REPLICATES:
        return Bounds(*np.clip(mean_interval(replicates, level=LEVEL), *METRICS[metric].bounds))
    clusters = row.clusters if len(np.unique(row.clusters)) >= MIN_FOLDS else None
    return bootstrap_interval(values, clusters=clusters, level=LEVEL)


def _predicted(folds: _Folds, metric: str, expected: int) -> tuple[Bounds, str]:
    """Where a further mean over so many folds would fall, and what that is based on."""
    first = folds.of_first_replicate[metric].dropna()
    if len(first) < MIN_FOLDS:
        return NO_INTERVAL, f"{len(first)} folds were run"
    whole = folds.means[metric][folds.sizes == expected].dropna()
    of = "" if expected == FOLDS else f" of the first {expected} folds each"
    if len(whole) >= MIN_REPLICATES:
        return prediction_interval(whole, level=LEVEL), f"{len(whole)} replicates{of}"
    interval = prediction_interval_from_folds(first, further_folds=expected, level=LEVEL)
    return interval, f"one replicate, {len(first)} fold means"


def fold_estimate(rows: pd.DataFrame, metric: str) -> dict[str, float]:
    """Mean, standard error and 95 % interval over fold means (of all replicates); neither for a single fold."""
    return _over_folds(*(rows[name].to_numpy() for name in (metric, "seed", "fold")))


def _over_folds(values: np.ndarray, seed: np.ndarray, fold: np.ndarray) -> dict[str, float]:
    means = fold_means(values, seed * fold.max() + seed + fold)
    interval = bootstrap_interval(means)
    se = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else float("nan")
    return {
        "mean": float(means.mean()), "se": se, "ci_low": interval.low, "ci_high": interval.high, "folds": len(means)
    }  # fmt: skip


MEANS = ("task", "method", "variant", "metric", "mean", "ci_low", "ci_high", "n")


def means_of(rows: pd.DataFrame, metrics: Iterable[str]) -> pd.DataFrame:
    """`MEANS`: a line per task, row and metric that applies to some of its graphs, of which there are n.

    `rows` has a line per graph, with metrics as columns, NaN where one does not apply. Means are of fold means,
    intervals are bootstrapped over folds.
    """
    chosen, lines = tuple(metrics), []
    for (task, method, variant), own in rows.groupby(ROW, sort=False) if len(rows) else ():
        seed, fold = own["seed"].to_numpy(), own["fold"].to_numpy()
        for name in chosen:
            values = own[name].to_numpy(float)
            known = ~np.isnan(values)
            if known.any():
                estimate = _over_folds(values[known], seed[known], fold[known])
                line = {"task": task, "method": method, "variant": variant, "metric": name, "n": int(known.sum())}
                lines.append(line | {part: estimate[part] for part in ("mean", "ci_low", "ci_high")})
    return pd.DataFrame(lines, columns=list(MEANS))


def means_so_far(ledger: pd.DataFrame) -> pd.DataFrame:
    """Means of fold means of replicate 0 with the number of `folds`, by row: quick, without intervals."""
    instances = accounted(ledger[ledger["seed"] == ledger["seed"].min()])
    by_row = instances.groupby([*ROW, "fold"], sort=False)[list(METRICS)].mean().groupby(ROW, sort=False)
    return by_row.mean().assign(folds=by_row.size())


# -- Paired comparisons --------------------------------------------------------------------------------------------

REFERENCE, RELEASED = ("rsgg-ce", "faithful"), ("rsgg-ce", "released")
CERTIFIED = ("rsgg-ce-certified", "beyond")
OF_CERTIFIED = "taught and certified against the others"
ALL_TASKS = "all tasks"  # in the place of a data set
COMPARED_METRICS = ("correctness", "ged", "ged_on_success", "explain_calls")
COMPARISON_COLUMNS = (
    "dataset", "question", "metric", "method", "variant", "against_method", "against_variant", "n", "clusters", "mean",
    "against_mean", "difference", "ci_low", "ci_high", "p", "p_holm", "rank_biserial", "dominance",
    "white_box",
)  # fmt: skip


def compare(ledger: pd.DataFrame, rows: Sequence[Method]) -> pd.DataFrame:
    """`compare_rows` of a ledger, by `COMPARED_METRICS`."""
    return compare_rows(accounted(ledger) if len(ledger) else ledger, rows)


def compare_rows(
    instances: pd.DataFrame, rows: Sequence[Method], metrics: Sequence[str] = COMPARED_METRICS
) -> pd.DataFrame:
    """Pairs of rows on the same instances: Wilcoxon clustered by fold, Holm within a question, effect sizes.

    `instances` has a line per graph and row with metrics as columns (`accounted`). `ged_on_success` and `plausibility`
    compare the instances that both explain. Graphs of a fold are explained by one fit, so that folds, `clusters` in
    number, are what is independent: the signs of c of them can be assigned in 2^c ways, hence no p is below 2^(1 - c),
    which is .002 for ten folds and .0625 for five, before Holm's correction. With five folds no difference can be
    significant on a task (`compare_over_tasks` can show some over several). Where graphs are generated, all replicates
    that two rows share are compared; other replicates cut the same graphs anew, so only the first is.
    """
    lines: list[dict[str, Any]] = []
    for dataset, present in _by_dataset(instances, metrics):
        for question, one, other in _questions(list(present), rows):
            about = {"dataset": dataset, "question": question}
            lines += [about | line for line in _pair(one, other, present, metrics, ["seed", "fold"])]
    compared = pd.DataFrame(lines, columns=list(COMPARISON_COLUMNS))
    compared["p_holm"] = compared.groupby(["dataset", "question", "metric"])["p"].transform(holm)
    return compared


def compare_over_tasks(instances: pd.DataFrame, metrics: Sequence[str] = COMPARED_METRICS) -> pd.DataFrame:
    """RSGG-CE taught and certified with each other row on the graphs of all tasks that both have (`ALL_TASKS`).

    The same test, effect sizes and columns as in `compare_rows`, with a cluster for each fold of each task. All rows
    and metrics are one family, within which p is adjusted by Holm's procedure. Means are of fold means, as the interval
    is. The test is of ranks: where differences of a few graphs or tasks decide the mean, both may go different ways,
    and `rank_biserial` says which way the test goes. Nothing for fewer than two tasks.
    """
    by_task = [own for _, own in _by_dataset(instances, metrics)]
    rows = dict.fromkeys(row for own in by_task for row in own)
    lines: list[dict[str, Any]] = []
    if len(by_task) > 1 and CERTIFIED in rows:
        present = {row: pd.concat([own[row] for own in by_task if row in own]) for row in rows}
        for other in (row for row in rows if row != CERTIFIED):
            about = {"dataset": ALL_TASKS, "question": OF_CERTIFIED}
            of_folds = _pair(CERTIFIED, other, present, metrics, ["dataset", "seed", "fold"], of_folds=True)
            lines += [about | line for line in of_folds]
    compared = pd.DataFrame(lines, columns=list(COMPARISON_COLUMNS))
    return compared.assign(p_holm=holm(compared["p"]))


def _by_dataset(instances: pd.DataFrame, metrics: Sequence[str]) -> Iterator[tuple[str, dict[Row, pd.DataFrame]]]:
    """Of each data set the metrics of every row, by data set, replicate, fold and instance."""
    for dataset, own in instances.groupby("dataset", sort=False) if len(instances) else ():
        if not (dataset in tasks.tasks() and tasks.task(dataset).generated):
            own = own[own["seed"] == own["seed"].min()]
        own = own.set_index(["dataset", "seed", "fold", "instance"])
        yield dataset, {row: part[[*metrics]] for row, part in own.groupby(["method", "variant"], sort=False)}


def _pair(
    one: Row,
    other: Row,
    present: Mapping[Row, pd.DataFrame],
    metrics: Sequence[str],
    cluster: Sequence[str],
    of_folds: bool = False,
) -> Iterator[dict[str, Any]]:
    """A line per metric on the instances that both rows have; those that agree on the levels `cluster` are of one."""
    both = present[one].join(present[other].add_suffix("_other"), how="inner")
    pair = {"method": one[0], "variant": one[1], "against_method": other[0], "against_variant": other[1]}
    pair["white_box"] = _white_box(one, other)
    number = both.groupby(level=[*cluster]).ngroup().to_numpy()
    for metric in metrics:
        yield pair | _paired(both, number, metric, of_folds)


def _questions(present: Sequence[Row], rows: Sequence[Method]) -> Iterator[tuple[str, Row, Row]]:
    """Which rows are compared: RSGG-CE with all others; generators that differ in nothing but their training.

    Rows "+ min" are compared with the row beyond the paper only, which does what they do.
    """
    as_they_are = [row for row in present if not methods.made_of(row)]
    if REFERENCE in present:
        yield from (("rsgg-ce against the others", REFERENCE, other) for other in as_they_are if other != REFERENCE)
    if CERTIFIED in present:
        yield from ((OF_CERTIFIED, CERTIFIED, row) for row in present if row != CERTIFIED)
    if RELEASED in present:
        rest = [row for row in as_they_are if row[1] == "released" and row != RELEASED]
        yield from (("rsgg-ce against the others, as released", RELEASED, other) for other in rest)
    for one, other in combinations(rows, 2):
        if {one.row, other.row} <= set(present) and _differ_in(one, other) == {"generator"}:
            yield "does the generator matter", one.row, other.row


def _white_box(one: methods.Row, other: methods.Row) -> str:
    """Which of two rows use the oracle's gradient: "method", "against", "both", or none."""
    used = [name for name, row in (("method", one), ("against", other)) if methods.white_box(*row)]
    return "both" if len(used) == 2 else "".join(used)


def _differ_in(one: Method, other: Method) -> set[str]:
    """The names of the options in which two rows of one explainer differ; of two explainers, the explainer."""
    if one.explainer != other.explainer:
        return {"explainer"}
    names = {*one.options, *other.options}
    return {name for name in names if one.options.get(name) != other.options.get(name)}


def _paired(both: pd.DataFrame, fold: np.ndarray, metric: str, of_folds: bool) -> dict[str, Any]:
    """A metric of two rows on the instances of which both have it; `fold` numbers the fold of each instance.

    Means are over instances, or `of_folds` over the means of folds.
    """
    x, y = (both[name].to_numpy(float) for name in (metric, f"{metric}_other"))
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, fold = x[known], y[known], fold[known]
    if not len(x):
        return {"metric": metric, "n": 0, "clusters": 0}
    clusters = len(np.unique(fold))
    interval = bootstrap_interval(x - y, clusters=fold if clusters >= MIN_FOLDS else None)
    mean, against_mean = (fold_means(values, fold).mean() if of_folds else values.mean() for values in (x, y))
    return {
        "metric": metric, "n": len(x), "clusters": clusters,
        "mean": mean, "against_mean": against_mean, "difference": mean - against_mean,
        "ci_low": interval.low, "ci_high": interval.high, "p": paired_wilcoxon(x, y, fold),
        "rank_biserial": rank_biserial(x, y), "dominance": paired_dominance(x, y),
    }  # fmt: skip


# -- What is missing -----------------------------------------------------------------------------------------------


def missing(expected: Sequence[Cell], ledger: pd.DataFrame, reasons: Mapping[str, str] | None = None) -> list[str]:
    """A sentence for each row with cells that are not there, with which they are; `reasons` by cell key, where known.

    Cells of one label that were declared with other options, of the method or of the task, are told apart.
    """
    stored = set() if ledger.empty else set(ledger["cell"])
    gaps: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    asked: dict[str, dict[str, list[Cell]]] = {}
    variations: dict[tuple[int, int], str] = {}  # the cells of a row share their task and method
    for cell in expected:
        declared_by = (id(cell.task), id(cell.method))
        if declared_by not in variations:
            variations[declared_by] = _variation(cell)
        whose, variation = f"{cell.task.label}, {cell.method.label}", variations[declared_by]
        asked.setdefault(whose, {}).setdefault(variation, []).append(cell)
        if cell.key not in stored:
            reason = cell.method.unsupported(cell.task.name) or (reasons or {}).get(cell.key, "not computed")
            gap = gaps.setdefault((whose, reason.removesuffix(".")), {})  # whoever shows it ends the sentence
            gap.setdefault(variation, []).append(cell)
    return [f"{whose}: {reason}{_part(absent, asked[whose])}" for (whose, reason), absent in gaps.items()]


NAMED_SETTINGS = 6  # of those that lack the same cells; of more, how many there are


def _variation(cell: Cell) -> str:
    """What cells of all folds and replicates of one setting share, and no others."""
    return canonical(declared([cell.task.replicate(0).definition(), cell.method.definition()]))


def _part(absent: Mapping[str, Sequence[Cell]], asked: Mapping[str, Sequence[Cell]]) -> str:
    """Which of the cells of a label are absent, in brackets; nothing where all of them are."""
    if {name: len(cells) for name, cells in absent.items()} == {name: len(cells) for name, cells in asked.items()}:
        return ""
    options = {name: {**cells[0].task.replicate(0).options, **cells[0].method.options} for name, cells in asked.items()}
    first = next(iter(options.values()))
    shared = {name for name in first if all(own.get(name) == first[name] for own in options.values())}
    by_part: dict[str, list[str]] = {}
    for variation, cells in absent.items():
        differing = [f"{name} = {value}" for name, value in options[variation].items() if name not in shared]
        which = "" if len(cells) == len(asked[variation]) and len(asked) > 1 else _which(cells)
        by_part.setdefault(which, []).append(", ".join(differing) or ("as it is" if len(asked) > 1 else ""))
    parts = []
    for which, settings in by_part.items():
        named = " / ".join(settings) if len(settings) <= NAMED_SETTINGS else f"{len(settings)} settings"
        parts.append(": ".join(filter(None, (named, which))))
    return f" ({'; '.join(parts)})"


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
