"""The experiment on nodes: which cells it plans, and what its table says, counted again by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.nodes import CF_GNN, REPLICATES, ROWS, Nodes, measured
from benchmarks.registry import tasks
from benchmarks.results.ledger import Store
from benchmarks.results.summary import MEANS
from benchmarks.running.options import NodeOptions, RunOptions
from benchmarks.running.plan import cells_for
from rsgg.counterfactual import Counterfactual
from rsgg.data.nodes import GeneratedNodes, NodeGraph
from rsgg.graph import Graph

ARGUMENTS = {"datasets": ["tree-cycles-nodes-generated"], "smoke": True, "jobs": 0}


def test_every_row_has_one_fold_of_the_given_split_and_three_replicates() -> None:
    cells = Nodes().plan(NodeOptions())
    given = [cell for cell in cells if not cell.task.name.partition("-lucic")[1]]
    others = len(set(ROWS) - set(CF_GNN))
    per_task = others * len(REPLICATES) + 2  # CF-GNNExplainer, two rows, has nothing random in it
    assert len(given) == len(tasks.GIVEN_NODES) * per_task == len({cell.key for cell in given})
    assert {(cell.fold, cell.folds) for cell in cells} == {(0, 1)}
    assert {cell.task.name for cell in given} == {"ba-shapes", "ba-community", "tree-cycles-nodes", "tree-grid"}


def test_printed_rows_are_run_on_what_they_are_judged_by() -> None:
    """Once on given graphs, and on ten draws where the authors' own graph is not at hand."""
    seeds: dict[tuple[str, str], list[int]] = {}
    for cell in Nodes().plan(NodeOptions()):
        seeds.setdefault((cell.task.name, cell.method.title), []).append(cell.seed)
    for row in ("cf-gnn-explainer:released", "cf-gnn-explainer:faithful", "remove-ego:control", "keep-ego:control"):
        for name in ("ba-shapes-lucic", "tree-cycles-lucic", "tree-grid-lucic"):
            assert seeds[name, row] == [0]
        for name in ("tree-cycles-lucic-generated", "tree-grid-lucic-generated"):
            assert seeds[name, row] == list(range(10))
    by_chance = {name: own for (name, row), own in seeds.items() if row == "random-masks:control"}
    drawn = {name: list(range(10)) for name in ("tree-cycles-lucic-generated", "tree-grid-lucic-generated")}
    assert by_chance == {"ba-shapes-lucic": [0, 1, 2], **drawn}
    slow = "cf-gnn-explainer-slow:control"
    assert [name for name, row in seeds if row == slow] == ["ba-shapes-lucic"]
    assert ("tree-cycles-lucic-generated", "empty:control") not in seeds


def test_draws_have_as_many_edges_as_the_authors_print() -> None:
    """Mean degrees of their notebooks 06: 2.227325 of 871 nodes, 2.7701056 of 1231."""
    for name, nodes, degree, spread in (("tree-cycles", 871, 2.227325, 16), ("tree-grid", 1231, 2.7701056, 0)):
        data = tasks.task(f"{name}-lucic-generated").build().dataset
        assert isinstance(data, GeneratedNodes)
        drawn = data.draw()
        assert drawn.n_nodes == nodes and abs(len(drawn.edges) - round(degree * nodes / 2)) <= spread


def test_tables_of_graphs_have_no_row_of_nodes() -> None:
    assert not {"remove-ego", "keep-ego"} & {cell.method.name for cell in cells_for(RunOptions())}


def test_edits_are_counted_where_they_lie() -> None:
    """A path 10-11-12-13, of which 11-12-13 is a motif; v is node 12."""
    labels = np.zeros(14, dtype=np.int64)
    labels[[11, 12, 13]] = 1
    edges, motif = np.array([[10, 11], [11, 12], [12, 13]]), np.array([[11, 12], [12, 13]])
    whole = NodeGraph(edges, labels, np.array(["test"] * 14), motif)
    adjacency = np.zeros((4, 4), dtype=np.uint8)
    names = (12, 13, 11, 10)
    for u, v in ((0, 1), (0, 2), (2, 3)):
        adjacency[u, v] = adjacency[v, u] = 1
    graph = Graph(adjacency, node_names=names)
    other = adjacency.copy()
    for u, v in ((0, 1), (0, 3)):  # 12-13 is removed, 12-10 added
        other[u, v] = other[v, u] = 1 - other[u, v]
    result = Counterfactual(graph, graph.with_adjacency(other), 0, 0, "", 2, 0.0)
    line = measured(result, whole, labels)
    untouched = {"edges_untouched": 1 - 2 / 3, "ends_predicted_in_motifs": 1 / 2}  # two edits, three edges; 13, not 10
    assert line == {"motif_node": 1.0, "ends_in_motifs": 3 / 4, "edits_on_motif_edges": 1 / 2, **untouched}
    elsewhere = measured(result, whole, np.zeros(14, dtype=np.int64))
    assert elsewhere["motif_node"] == 0.0 and np.isnan(elsewhere["ends_predicted_in_motifs"])


@pytest.mark.slow
def test_a_run_writes_the_table_that_its_ledger_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [replace(entry, oracle_options={"epochs": 250, "starts": 1}) for entry in tasks.NODE_TASKS]
    monkeypatch.setattr(tasks, "TASKS", quick)
    options = NodeOptions(out=tmp_path, methods=["rsgg-ce-taught", "random", "remove-ego"], **ARGUMENTS)  # type: ignore[arg-type]
    assert Nodes().run(options) == 0
    table = pd.read_csv(tmp_path / "nodes.csv")
    assert tuple(table.columns) == MEANS
    means = table.set_index(["method", "metric"])["mean"]
    for cell in Nodes().plan(options):
        stored = Store(tmp_path).read(cell)
        assert stored is not None
        rows = stored.ledger
        found = rows["predicted"] != rows["predicted_cf"]
        name = cell.method.name
        assert means[name, "correctness"] == pytest.approx(found.mean())
        assert means[name, "found_within_2"] == pytest.approx((found & (rows["ged"] <= 2)).mean())
        assert means[name, "explain_calls"] == pytest.approx(rows["calls"].mean())
