"""The benchmark of unseen problems: which cells it has, and that each problem is what it says."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.registry import tasks
from benchmarks.results.summary import MEANS
from benchmarks.running.options import RunOptions
from benchmarks.unseen import LOOKED_AT, PROVEN, Unseen, least_edits, table
from rsgg.baselines.search import Exhaustive
from rsgg.data.unseen import BA2Motifs, BrainNetworks, Colours, Triangles
from rsgg.graph import GraphBatch
from rsgg.oracles.unseen import LinearRule, TriangleAtGivenSize
from rsgg.task import Task


def test_replicates_are_problems_that_were_not_looked_at() -> None:
    cells = Unseen().plan(RunOptions())
    assert {cell.task.name for cell in cells} == set(tasks.UNSEEN) and len(tasks.UNSEEN) == 4
    assert min(cell.seed for cell in cells) > LOOKED_AT
    assert all(cell.task.options["seed"] == cell.seed for cell in cells), "a replicate draws the graphs anew"
    assert len({cell.key for cell in cells}) == len(cells)
    assert not {cell.task.name for cell in cells} & {entry.name for entry in tasks.choose()}, "none is in Table 1"


def test_an_empty_ledger_is_an_empty_table() -> None:
    assert list(table(pd.DataFrame()).columns) == list(MEANS)


def test_the_fewest_edits_are_known_where_every_smaller_set_was_asked_about() -> None:
    assert Exhaustive().most == PROVEN
    lines = [  # graph, row, found, edits
        (0, "exhaustive", True, 2), (0, "obs", True, 2),
        (1, "exhaustive", False, 0), (1, "obs", True, 3), (1, "dce", True, 9),
        (2, "exhaustive", False, 0), (2, "obs", True, 4),
        (3, "exhaustive", True, 1), (3, "obs", False, 0),
        (4, "obs", True, 1),
    ]  # fmt: skip
    ledger = pd.DataFrame(lines, columns=["instance", "method", "found", "ged"])
    ledger = ledger.assign(dataset="d", seed=1, fold=0, predicted=0, predicted_cf=ledger["found"], optimum=np.nan)
    known = least_edits(ledger).groupby(ledger["instance"]).agg(lambda own: own.drop_duplicates().tolist())
    assert str(known.tolist()) == "[[2.0], [3.0], [nan], [1.0], [nan]]"


def test_the_graphs_are_what_their_names_say() -> None:
    motifs = BA2Motifs(n_graphs=8).load()
    sizes = [nx.number_of_edges(graph.to_networkx()) for graph in motifs.graphs]
    assert sizes == [25 + label for label in motifs.labels.tolist()]
    colours = Colours(n_graphs=30).load()
    assert {int(size) for size in colours.graphs.sizes} <= set(range(10, 41)) and not colours.graphs.of_one_size
    for graph, label in zip(colours.graphs, colours.labels.tolist(), strict=True):
        assert graph.features is not None
        own = graph.features.argmax(1)
        inside = [sum(own[u] == own[v] == c for u, v in graph.to_networkx().edges) for c in range(3)]
        assert inside[label] == max(inside) and inside.count(max(inside)) == 1
    assert set(BrainNetworks(n_graphs=3).load().graphs.n_edges.tolist()) == {1796}


def test_another_seed_is_another_problem() -> None:
    data = [BrainNetworks(n_graphs=12, n_nodes=40, n_edges=120, seed=seed) for seed in (1, 1, 2)]
    rules = [Task("brain", one, LinearRule()).load().oracle for one in data]
    assert all(isinstance(rule, LinearRule) for rule in rules)
    one, same, other = (rule.weight for rule in rules if isinstance(rule, LinearRule))
    assert torch.equal(one, same) and not torch.equal(one, other)
    problem = Task("brain", data[0], LinearRule()).load()
    assert problem.oracle.predict(problem.graphs).double().mean() == 0.5


def test_only_mixed_edits_lead_to_a_triangle_at_the_given_size() -> None:
    data, oracle = Triangles(n_graphs=6).load(), TriangleAtGivenSize()
    assert oracle.predict(data.graphs).tolist() == data.labels.tolist()
    expected = oracle.optimal_ged(data.graphs).tolist()
    for graph, label, optimum in zip(data.graphs, data.labels.tolist(), expected, strict=True):
        g = graph.to_networkx()
        assert bool(sum(nx.triangles(g).values())) == bool(label)
        swapped = g.copy()
        u, v = next((u, v) for u, v in nx.non_edges(g) if set(g[u]) & set(g[v]))
        swapped.add_edge(u, v)
        shared = {u, v} | (set(g[u]) & set(g[v]))
        swapped.remove_edge(*next(edge for edge in g.edges if not set(edge) <= shared))
        after = oracle.predict(GraphBatch.of([swapped])).item()
        assert optimum == (2 if label == 0 else 1) and (label or after == 1)


@pytest.mark.slow
def test_a_trained_network_knows_its_data() -> None:
    problem = tasks.task("unseen-ba-2motifs").load()
    right = problem.oracle.predict(problem.graphs) == problem.labels
    assert np.mean(right.tolist()) > 0.9
