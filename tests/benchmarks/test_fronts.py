"""Fronts: what is measured of one, which cells there are, and what is written."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import networkx as nx
import pandas as pd
import pytest

from benchmarks.fronts import ROWS, FrontQuality
from benchmarks.registry import methods, tasks
from benchmarks.running.fronts import MEASURED, measured
from benchmarks.running.options import Table2Options
from rsgg.baselines.controls import Empty
from rsgg.baselines.moo import MOO, dominated
from rsgg.errors import FitError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import TreeCyclesOracle


def test_a_line_per_graph_has_its_own_front() -> None:
    graphs = GraphBatch.of([Graph.from_networkx(nx.cycle_graph(n), name=str(n)) for n in (3, 5)])
    explainer = MOO(most_edges=2)
    run: Any = SimpleNamespace(explainer=explainer, test=graphs, results=explainer.explain(graphs, TreeCyclesOracle()))
    found = measured(run)
    fronts = [explainer.fronts_[name] for name in ("3", "5")]
    assert found["front"].tolist() == [len(front.subgraphs) for front in fronts]
    assert found["hypervolume"].tolist() == [dominated(front, 2) for front in fronts]
    assert found["asked"].tolist() == [result.calls for result in run.results] and (found["asked"] > 3).all()


def test_a_method_without_fronts_is_refused_with_a_sentence() -> None:
    with pytest.raises(FitError, match="Empty has no front"):
        measured(SimpleNamespace(explainer=Empty()))  # type: ignore[arg-type]


def test_the_plan_has_all_learnt_tasks_and_addresses_of_its_own(tmp_path: Any) -> None:
    cells = FrontQuality().plan(Table2Options())
    assert {cell.task.name for cell in cells} == {entry.name for entry in tasks.LEARNT}
    assert len(cells) == 5 * len(tasks.LEARNT) * len(ROWS) and {cell.observed for cell in cells} == {"fronts 1"}
    assert {cell.method.row for cell in cells} <= set(methods.rows())


def test_the_table_has_means_of_folds() -> None:
    known = {"dataset": "d", "method": "m", "variant": "v", "seed": 0}
    lines = [{**known, "fold": fold, **dict.fromkeys(MEASURED, 0.5 + 0.1 * fold)} for fold in (0, 0, 1)]
    written: dict[str, pd.DataFrame] = {}
    files: Any = SimpleNamespace(csv=lambda name, table: written.update({name: table}))
    FrontQuality().tables(SimpleNamespace(history=pd.DataFrame(lines)), files, None)  # type: ignore[arg-type]
    found = written["fronts.csv"]
    assert found["metric"].tolist() == list(MEASURED) and found["mean"].tolist() == pytest.approx([0.55] * 3)
    FrontQuality().tables(SimpleNamespace(history=pd.DataFrame()), files, None)  # type: ignore[arg-type]
    assert written["fronts.csv"].empty
