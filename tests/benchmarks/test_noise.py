"""Noise: what is measured of scores that are known, which cells there are, and what is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.noise import COLUMNS, ROWS, TASKS, NoiseCurves, table
from benchmarks.registry import methods
from benchmarks.running.noise import MEASURED, measured, scores
from benchmarks.running.options import Table2Options
from rsgg.baselines.controls import EdgeGradient, Empty
from rsgg.contract.explainer import EdgesAgainstNodes
from rsgg.errors import FitError
from rsgg.graph import GraphBatch


class ByNumber(EdgeGradient):
    """Edges score the sum of their nodes' numbers."""

    def edge_scores(self, edges: Any, oracle: Any, owner: Any = None) -> torch.Tensor:
        return (edges.u + edges.v).float()


def run_of(explainer: Any, graphs: GraphBatch) -> Any:
    return SimpleNamespace(explainer=explainer, test=graphs, problem=SimpleNamespace(oracle=EdgesAgainstNodes()))


def test_scores_that_do_not_know_the_edges_of_a_graph_stay_what_they_are() -> None:
    """Edges of a path score 1, 3, 5, …: with an edge at the top left out and one added below all, by hand."""
    path = nx.path_graph(8)
    other = path.copy()
    other.remove_edge(6, 7)
    other.add_edges_from([(0, 7), (5, 7)])  # scores 7 and 12
    before, after = GraphBatch.of([path, path]), GraphBatch.of([other, path])
    made = {0: (before, torch.tensor([True, True])), 5: (after, torch.tensor([True, False]))}
    found = measured(run_of(ByNumber(), before), made)
    assert found["auc_0"].tolist() == [1, 1]
    # The four highest were 13 (gone), 11, 9, 7; the others now are 5, 3, 1, 7 (0, 7) and 12 (5, 7).
    wins = sum((high > low) + 0.5 * (high == low) for high in (11, 9, 7) for low in (5, 3, 1, 7, 12)) / 15
    assert found["auc_5"].tolist()[0] == pytest.approx(wins) and np.isnan(found["auc_5"].tolist()[1])


def test_a_method_without_scores_is_refused_with_a_sentence() -> None:
    with pytest.raises(FitError, match="Empty gives edges no scores"):
        scores(run_of(Empty(), GraphBatch.of([nx.path_graph(3)])), GraphBatch.of([nx.path_graph(3)]))


def test_the_plan_has_the_data_sets_of_the_paper_and_addresses_of_its_own() -> None:
    cells = NoiseCurves().plan(Table2Options())
    assert {cell.task.name for cell in cells} == set(TASKS) and len(cells) == 5 * len(TASKS) * len(ROWS)
    assert {cell.observed for cell in cells} == {"noise 1"}
    assert {cell.method.row for cell in cells} <= set(methods.rows())


def test_the_table_has_means_of_folds() -> None:
    known = {"dataset": "d", "method": "m", "variant": "v", "seed": 0}
    lines = [{**known, "fold": fold, **dict.fromkeys(MEASURED, 0.5 + 0.1 * fold)} for fold in (0, 0, 1)]
    lines[0]["auc_30"] = np.nan
    found = table(pd.DataFrame(lines))
    assert list(found.columns) == list(COLUMNS) and found["noise"].tolist() == [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]
    assert found["auc"].tolist() == pytest.approx([0.55] * 7) and found["n"].tolist() == [3] * 6 + [2]
    assert table(pd.DataFrame()).empty
