"""How a cell of a global explainer is computed: one summary of all graphs of a task, a line per input.

The line of an input has, for each size k of the summary, bounds of its distance from the nearest graph; what is kept
beside it are the graphs of the summary.
"""

from __future__ import annotations

import pyarrow as pa

from benchmarks.registry.global_methods import WANTED
from benchmarks.registry.rules import GLOBAL_SIZES, GLOBAL_THETA
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import history_table
from rsgg.edit_distance import LabelledGraphs
from rsgg.errors import UsageError
from rsgg.global_explainer import GlobalExplainer, GlobalResult
from rsgg.task import Problem


def summarised(cell: Cell, explainer: GlobalExplainer, problem: Problem) -> tuple[pa.Table, pa.Table]:
    """The lines of the inputs, and the graphs of the summary."""
    if cell.task.name not in WANTED:
        raise UsageError(
            f"Which class of {cell.task.name} is wanted is not said in benchmarks.registry.global_methods."
        )
    explainer.fit(problem.graphs, problem.oracle, target=WANTED[cell.task.name], seed=cell.seed_for("fit"))
    result = explainer.summarise(max(GLOBAL_SIZES), GLOBAL_THETA)
    return _lines(cell, result), _graphs(result)


def _lines(cell: Cell, result: GlobalResult) -> pa.Table:
    whose = {"cell": cell.key, "dataset": cell.task.name, "method": cell.method.name, "variant": cell.method.variant}
    costs = {"calls": result.calls, "seconds": result.seconds, "candidates": result.candidates}
    bounds = {
        f"{side}_{k}": result.nearest(distances, k).tolist()
        for k in GLOBAL_SIZES
        for side, distances in (("lower", result.lower), ("upper", result.upper))
    }
    return history_table(
        {**whose, "seed": cell.seed, "fold": cell.fold, "instance": int(i), **costs, "graphs": len(result.graphs)}
        | {name: values[row] for name, values in bounds.items()}
        for row, i in enumerate(result.inputs)
    )


def _graphs(result: GlobalResult) -> pa.Table:
    """A line per graph of the summary: its labels, and its edges as u · n + v."""
    lines = []
    for rank, graph in enumerate(result.graphs):
        labels = LabelledGraphs.of([graph]).labels[0]
        edges = [u * graph.n_nodes + v for u, v in graph.edges()]
        lines.append({"rank": rank, "n_nodes": graph.n_nodes, "labels": labels.tolist(), "edges": edges})
    return history_table(lines)
