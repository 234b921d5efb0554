"""The four ablations (Section 5.1): GED and Correctness when cycles, nodes or instances are varied on Tree-Cycles.

    python benchmarks/ablation.py --vary cycle_size

runs RSGG-CE and CF², each faithful and as released, over the grid of `benchmarks.grids` in ten folds, and beside them
the rows that ask whether the generator matters: the same samplers with an untrained generator and with none. Into
`ablation_<vary>.csv` go means over folds with standard errors and 95 % bootstrap intervals, and, as rows of the method
`uniform-sampler`, what a sampler without a generator is predicted to score (`benchmarks.uniform`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from benchmarks import grids, uniform
from benchmarks.catalogue import CATALOGUE, choose_methods
from benchmarks.cell import Cell, chosen_folds, grid
from benchmarks.grids import Grid
from benchmarks.options import AblationOptions, names, numbers, unknown
from benchmarks.store import Store, write_csv
from benchmarks.table1 import accounted, missing
from rsgg.statistics import bootstrap_interval, fold_means

METHODS = (
    "rsgg-ce:faithful", "rsgg-ce:released", "cf2:faithful", "cf2:released",
    "rsgg-ce-untrained", "rsgg-ce-uniform", "released-untrained", "released-uniform",
)  # fmt: skip
COLUMNS = ("value", "method", "variant", "metric", "mean", "se", "ci_low", "ci_high", "folds")
METRICS = (
    "ged", "correctness", "ged_per_node", "sparsity", "ged_on_success", "optimality_gap", "correctness_class_0",
    "correctness_class_1", "removal_auroc", "explain_calls", "explain_seconds", "fit_calls", "fit_seconds",
)  # fmt: skip
PREDICTION = "uniform-sampler"
DEFAULTS = AblationOptions()


def chosen(options: AblationOptions) -> list[Grid]:
    """The grids that are asked for."""
    if options.grid not in grids.GRIDS:
        raise unknown("grid", options.grid, list(grids.GRIDS))
    known = grids.GRIDS[options.grid]
    for name in names(options.vary):
        if name not in known:
            raise unknown("ablation", name, list(known))
    asked = names(options.vary) or list(known)
    return [grids.small(known[name]) if options.smoke else known[name] for name in asked]


def cells(options: AblationOptions) -> list[Cell]:
    """Point by point: RSGG-CE and CF² and their controls, or the methods that are asked for, in the chosen folds."""
    methods = choose_methods(options.methods or METHODS)
    folds = chosen_folds(options) if options.folds or options.grid == "paper" or options.smoke else (0,)
    seeds = numbers(options.seeds, "seed") or (0,)
    points = [spec for ablation in chosen(options) for spec in ablation.points.values()]
    return list(dict.fromkeys(grid(points, methods, folds=folds, seeds=seeds, smoke=options.smoke)))


# -- From the ledger to curves -------------------------------------------------------------------------------------


def curves(ablation: Grid, ledger: pd.DataFrame, expected: Sequence[Cell]) -> pd.DataFrame:
    """`COLUMNS`: a line per value, method, variant and metric, and the predictions of the uniform sampler."""
    value_of = {spec: value for value, spec in ablation.points.items()}
    at = {cell.key: value_of[cell.row[0]] for cell in expected if cell.row[0] in value_of}
    lines: list[dict[str, Any]] = []
    if not ledger.empty:
        own = accounted(ledger[ledger["cell"].isin(at)], CATALOGUE)
        own = own.assign(value=own["cell"].map(at), ged_per_node=own["ged"] / own["n_nodes"])
        for (value, method, variant), rows in own.groupby(["value", "method", "variant"], sort=False):
            lines += [
                {"value": value, "method": method, "variant": variant, "metric": metric, **_estimate(rows, metric)}
                for metric in METRICS
                if rows[metric].notna().any()
            ]
    order = {(method.name, method.variant): i for i, method in enumerate(CATALOGUE)}
    lines.sort(key=lambda line: (order[line["method"], line["variant"]], line["value"], METRICS.index(line["metric"])))
    return pd.DataFrame([*lines, *predictions(ablation)], columns=list(COLUMNS))


def _estimate(rows: pd.DataFrame, metric: str) -> dict[str, float]:
    """Mean, standard error and 95 % interval over fold means (of all replicates); neither for a single fold."""
    cluster = rows["seed"] * rows["fold"].max() + rows["seed"] + rows["fold"]
    means = fold_means(rows[metric], cluster)
    interval = bootstrap_interval(rows[metric], clusters=cluster)
    se = float(np.std(means, ddof=1) / np.sqrt(len(means))) if len(means) > 1 else float("nan")
    return {
        "mean": float(means.mean()), "se": se, "ci_low": interval.low, "ci_high": interval.high, "folds": len(means)
    }  # fmt: skip


def predictions(ablation: Grid) -> list[dict[str, Any]]:
    """What the released sampler is expected to score with all probabilities equal, on classes of equal size."""
    lines: list[dict[str, Any]] = []
    simulated: dict[object, uniform.Simulated] = {}
    for value, spec in ablation.points.items():
        like = replace(spec, n_graphs=1)  # the prediction does not depend on how many graphs there are
        if like not in simulated:
            simulated[like] = uniform.simulate(spec)
        found = simulated[like]
        for variant, metric, mean, se in (
            ("closed form", "correctness", uniform.correctness(spec), 0.0),
            ("monte carlo", "correctness", found.correctness, found.correctness_se),
            ("monte carlo", "ged", found.ged, found.ged_se),
            ("monte carlo", "ged_per_node", found.ged / spec.n_nodes, found.ged_se / spec.n_nodes),
        ):
            lines.append(
                {
                    "value": value, "method": PREDICTION, "variant": variant, "metric": metric, "mean": mean, "se": se,
                    "ci_low": mean - 1.96 * se, "ci_high": mean + 1.96 * se, "folds": 0,
                }
            )  # fmt: skip
    return lines


# -- Files and display ---------------------------------------------------------------------------------------------


def render(
    ledger: pd.DataFrame,
    expected: Sequence[Cell],
    out: Path,
    *,
    store: Store | None = None,
    reasons: Mapping[str, str] | None = None,
    options: AblationOptions = DEFAULTS,
) -> RenderableType:
    """Write `ablation_<vary>.csv` (`ablation_<vary>_released.csv`) for every grid; returns what to print."""
    shown: list[RenderableType] = []
    for ablation in chosen(options):
        table = curves(ablation, ledger, expected)
        name = f"ablation_{ablation.vary}{'' if options.grid == 'paper' else '_released'}.csv"
        write_csv(out / name, table)
        shown.append(_table(ablation, table))
    return Group(*shown, *(f"Missing: {gap}." for gap in missing(expected, ledger, reasons)))


SHOWN = {"ged": 2, "correctness": 3}


def _table(ablation: Grid, curves: pd.DataFrame) -> Table:
    table = Table(title=f"Varying the number of {ablation.label} ({ablation.title})", box=box.SIMPLE_HEAD)
    table.add_column("")
    for value in ablation.points:
        table.add_column(str(value), justify="right")
    for (method, variant), rows in curves.groupby(["method", "variant"], sort=False):
        for metric, decimals in SHOWN.items():
            of_metric = rows[rows["metric"] == metric].set_index("value")
            if len(of_metric):
                cells = [_shown(of_metric, value, decimals) for value in ablation.points]
                table.add_row(f"{method} ({variant}), {metric}", *cells)
    return table


def _shown(rows: pd.DataFrame, value: int, decimals: int) -> str:
    if value not in rows.index:
        return "–"
    mean, se = rows.loc[value, ["mean", "se"]]
    return f"{mean:.{decimals}f}" + ("" if pd.isna(se) or not se else f" ±{se:.{decimals}f}")


def live_table(ledger: pd.DataFrame) -> RenderableType:
    """Correctness and GED of each row as far as it has come, over all points."""
    if ledger.empty:
        return ""
    rows = accounted(ledger, CATALOGUE).groupby(["method", "variant", "n_nodes"], sort=False)
    table = Table(box=box.SIMPLE_HEAD)
    for title in ("", "nodes", "graphs", "Correctness", "GED"):
        table.add_column(title, justify="right")
    for (method, variant, n), instances in rows:
        correctness, ged = instances["correctness"].mean(), instances["ged"].mean()
        table.add_row(f"{method} ({variant})", str(n), str(len(instances)), f"{correctness:.3f}", f"{ged:.2f}")
    return table


if __name__ == "__main__":
    from benchmarks.cli import script

    script("ablation")
