"""The four ablations (Section 5.1): GED and Correctness when cycles, nodes or instances are varied on Tree-Cycles.

    python benchmarks/ablation.py --vary cycle_size

runs RSGG-CE by score function and CF², both also as released, and RSGG-CE taught and certified over the grid of
`benchmarks.registry.ablations` in ten folds, and beside them the rows that ask whether the generator matters: the same
samplers with an untrained generator and with none. Into `ablation_<vary>.csv` go means over folds with standard errors
and 95 % bootstrap intervals, and, as rows of the method `uniform-sampler`, what a sampler without a generator is
predicted to score (`benchmarks.judging.uniform`).
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from benchmarks.judging import uniform
from benchmarks.registry import ablations, methods, tasks
from benchmarks.registry.ablations import Grid
from benchmarks.registry.names import names, numbers, unknown
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell, canonical
from benchmarks.results.summary import accounted, fold_estimate
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.options import AblationOptions
from benchmarks.running.plan import chosen_folds, grid

METHODS = (
    "rsgg-ce:faithful", "rsgg-ce:released", "cf2:faithful", "cf2:released", "rsgg-ce-certified",
    "rsgg-ce-untrained", "rsgg-ce-uniform", "released-untrained", "released-uniform",
)  # fmt: skip
COLUMNS = ("value", "method", "variant", "metric", "mean", "se", "ci_low", "ci_high", "folds")
METRICS = (
    "ged", "correctness", "ged_per_node", "sparsity", "ged_on_success", "optimality_gap", "correctness_class_0",
    "correctness_class_1", "removal_auroc", "explain_calls", "explain_seconds", "fit_calls", "fit_seconds",
)  # fmt: skip
PREDICTION = "uniform-sampler"


def chosen(options: AblationOptions) -> list[Grid]:
    """The grids that are asked for."""
    if options.grid not in ablations.GRIDS:
        raise unknown("grid", options.grid, list(ablations.GRIDS))
    known = ablations.GRIDS[options.grid]
    for name in names(options.vary):
        if name not in known:
            raise unknown("ablation", name, list(known))
    asked = names(options.vary) or list(known)
    return [ablations.small(known[name]) if options.smoke else known[name] for name in asked]


def plan(options: AblationOptions) -> list[Cell]:
    """Point by point: RSGG-CE and CF² and their controls, or the methods that are asked for, in the chosen folds."""
    rows = methods.choose(options.methods or METHODS)
    folds = chosen_folds(options) if options.folds or options.grid == "paper" or options.smoke else (0,)
    seeds, base = numbers(options.seeds, "seed") or (0,), tasks.task(ablations.TASK)
    points = [base.varied(point) for ablation in chosen(options) for point in ablation.points.values()]
    cells = grid(points, rows, folds=folds, seeds=seeds, smoke=options.smoke, graph_seconds=options.graph_seconds)
    return list(dict.fromkeys(cells))


def curves(ablation: Grid, done: Finished) -> pd.DataFrame:
    """`COLUMNS`: a line per value, method, variant and metric, and the predictions of the uniform sampler."""
    value_of = {canonical(dict(point)): value for value, point in ablation.points.items()}
    options = {cell.key: canonical(dict(cell.task.replicate(0).options)) for cell in done.cells}
    at = {key: value_of[point] for key, point in options.items() if point in value_of}
    lines: list[dict[str, Any]] = []
    if not done.ledger.empty:
        own = accounted(done.ledger[done.ledger["cell"].isin(at)])
        own = own.assign(value=own["cell"].map(at), ged_per_node=own["ged"] / own["n_nodes"])
        for (value, method, variant), rows in own.groupby(["value", "method", "variant"], sort=False):
            lines += [
                {"value": value, "method": method, "variant": variant, "metric": metric, **fold_estimate(rows, metric)}
                for metric in METRICS
                if rows[metric].notna().any()
            ]
    order = {row: i for i, row in enumerate(methods.rows())}
    lines.sort(key=lambda line: (order[line["method"], line["variant"]], line["value"], METRICS.index(line["metric"])))
    return pd.DataFrame([*lines, *predictions(ablation)], columns=list(COLUMNS))


def predictions(ablation: Grid) -> list[dict[str, Any]]:
    """What the released sampler is expected to score with all probabilities equal, on classes of equal size."""
    lines: list[dict[str, Any]] = []
    for value, point in ablation.points.items():
        found = uniform.predicted(point)
        for variant, metric, mean, se in (
            ("closed form", "correctness", found.closed_form, 0.0),
            ("monte carlo", "correctness", found.correctness, found.correctness_se),
            ("monte carlo", "ged", found.ged, found.ged_se),
            ("monte carlo", "ged_per_node", found.ged / found.n_nodes, found.ged_se / found.n_nodes),
        ):
            lines.append(
                {
                    "value": value, "method": PREDICTION, "variant": variant, "metric": metric, "mean": mean, "se": se,
                    "ci_low": mean - 1.96 * se, "ci_high": mean + 1.96 * se, "folds": 0,
                }
            )  # fmt: skip
    return lines


class Ablation(Experiment):
    """Curves of GED and Correctness over one or all of the four grids."""

    name = "ablation"

    def plan(self, options: Any) -> list[Cell]:
        return plan(options)

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        for ablation in chosen(options):
            files.csv(f"{_table(ablation, options)}.csv", curves(ablation, done))

    def shown(self, options: Any) -> tuple[str, ...]:
        return tuple(_table(ablation, options) for ablation in chosen(options))


def _table(ablation: Grid, options: AblationOptions) -> str:
    return f"ablation_{ablation.vary}{'' if options.grid == 'paper' else '_released'}"


if __name__ == "__main__":
    from benchmarks.cli import script

    script("ablation")
