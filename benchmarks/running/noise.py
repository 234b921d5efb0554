"""How a ranking of edges withstands noise in the graph: measured while a cell is computed, a line per test graph.

All methods of a fold face the same noisy graphs (`rsgg.robustness.noisy`). The edges that a method ranks highest in a
graph are what it should rank high in the noisy one: `auc_5`, …, `auc_30` are `rsgg.metrics.ranking_auc` at that many
per cent of noise, with the `TOP` edges of the input. NaN where the oracle puts the noisy graph into another class,
where a graph has no more edges than that, or where noise has removed all of them. `auc_0` is 1 by definition, but for
ties.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
from torch import Tensor

from benchmarks.results.ledger import history_table
from benchmarks.running.run_cell import OfFold, Run
from rsgg.baselines.controls import RemovesByScore
from rsgg.edges import EdgeBatch
from rsgg.errors import FitError
from rsgg.graph import GraphBatch
from rsgg.metrics import ranking_auc
from rsgg.oracles import CountingOracle
from rsgg.robustness import noisy

PER_CENT = (0, 5, 10, 15, 20, 25, 30)  # of noise, as in the authors' code
MEASURED = tuple(f"auc_{p}" for p in PER_CENT)
TOP = 4  # edges that count, as in the authors' code


class Noise(OfFold[dict[int, tuple[GraphBatch, Tensor]]]):
    """The columns above; made for each fold are the noisy graphs and which of them keep their class."""

    def made_for(self, run: Run) -> dict[int, tuple[GraphBatch, Tensor]]:
        classes, made = run.problem.oracle.predict(run.test), {}
        for per_cent in PER_CENT:
            graphs = noisy(run.test, per_cent / 100, run.problem.dataset.name)
            made[per_cent] = graphs, run.problem.oracle.predict(graphs) == classes
        return made

    def table(self, run: Run) -> pa.Table | None:
        lines = measured(run, self.of_fold(run)).assign(instance=run.fold.test.numpy())
        return history_table(lines.to_dict("records"))


def measured(run: Run, made: dict[int, tuple[GraphBatch, Tensor]]) -> pd.DataFrame:
    """A line per test graph, columns `MEASURED`."""
    before = scores(run, run.test)
    columns = {}
    for per_cent, (graphs, same_class) in made.items():
        after = scores(run, graphs)
        values = [ranking_auc(one, other, TOP) for one, other in zip(before, after, strict=True)]
        columns[f"auc_{per_cent}"] = np.where(same_class.numpy(), values, np.nan)
    return pd.DataFrame(columns)


def scores(run: Run, graphs: GraphBatch) -> list[dict[int, float]]:
    """The score of each edge, u · n + v, of each graph."""
    if not isinstance(run.explainer, RemovesByScore):
        raise FitError(f"{type(run.explainer).__name__} gives edges no scores whose ranking could be compared")
    edges = EdgeBatch.of(graphs)
    found = run.explainer.edge_scores(edges, CountingOracle(run.problem.oracle)).detach().tolist()
    several: list[dict[int, float]] = [{} for _ in range(len(graphs))]
    for graph, u, v, score in zip(edges.graph.tolist(), edges.u.tolist(), edges.v.tolist(), found, strict=True):
        several[graph][u * edges.n_nodes + v] = score
    return several
