"""`rsgg.explain`: any model, one graph or many, no training."""

from __future__ import annotations

import time
from itertools import combinations
from typing import Any

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch
from torch_geometric.nn import global_add_pool
from torch_geometric.utils import degree, from_networkx, to_networkx

import rsgg
from rsgg.constraints import OnlyRemovals
from rsgg.errors import UsageError
from rsgg.explainer import one_thread_if_small
from rsgg.oracles import CallableOracle
from rsgg.quick import UntaughtSearch
from tests.graphs import gnp_graphs, has_cycle

LIMIT = 12  # edges of the largest graph of class 0


class CountsEdges(torch.nn.Module):
    """Class 1 are graphs with more than twelve edges: every counterfactual without superfluous edits has thirteen or
    twelve edges, whichever edges they are."""

    def forward(self, x, edge_index, batch):
        edges = global_add_pool(degree(edge_index[0], len(x))[:, None], batch) / 2
        return torch.cat((LIMIT + 0.5 - edges, edges - LIMIT - 0.5), 1)


def edited(graph: nx.Graph, edits) -> nx.Graph:
    copy = graph.copy()
    for u, v in edits:
        copy.remove_edge(u, v) if copy.has_edge(u, v) else copy.add_edge(u, v)
    return copy


def test_a_pyg_model_is_explained_with_as_few_edits_as_possible() -> None:
    graphs = [nx.gnp_random_graph(10, 0.1 + 0.02 * i, seed=i) for i in range(12)]
    for graph, result in zip(graphs, rsgg.explain(CountsEdges(), graphs), strict=True):
        edges = graph.number_of_edges()
        fewest = edges - LIMIT if edges > LIMIT else LIMIT + 1 - edges
        assert len(result.added if edges <= LIMIT else result.removed) == len(result.edits) == fewest


def test_results_change_the_class_and_no_edit_can_be_left_out() -> None:
    graphs = gnp_graphs(12, sizes=(5, 7, 9), seed=4)
    for graph, result in zip(graphs, rsgg.explain(rsgg.TreeCyclesOracle(), graphs, seed=3), strict=True):
        assert has_cycle(edited(graph, result.edits)) != has_cycle(graph)
        for fewer in combinations(result.edits, len(result.edits) - 1):
            assert has_cycle(edited(graph, fewer)) == has_cycle(graph)


def has_one_triangle(graph: nx.Graph) -> bool:
    return sum(nx.triangles(graph).values()) == 3  # each triangle is counted at its three nodes


def test_small_graphs_are_explained_by_one_edit_where_one_is_enough() -> None:
    """Against all single edits, of a rule for which more edits can undo a change of class."""
    oracle = CallableOracle(lambda data: int(has_one_triangle(to_networkx(data, to_undirected=True))))
    graphs = [nx.gnp_random_graph(9, 0.1 + 0.03 * i, seed=i) for i in range(14)]
    edits = [len(result.edits) for result in rsgg.explain(oracle, graphs)]
    searched = [len(result.edits) for result in rsgg.UntaughtSearch(single_edits=0).explain(graphs, oracle)]
    for graph, found in zip(graphs, edits, strict=True):
        pairs = combinations(graph, 2)
        one_is_enough = any(has_one_triangle(edited(graph, [pair])) != has_one_triangle(graph) for pair in pairs)
        assert one_is_enough == (found == 1)
    assert edits.count(1) > searched.count(1) and max(edits) > 1


def test_removals_and_additions_are_combined_where_neither_alone_is_enough() -> None:
    """Class 1: an edge less than before, and a triangle."""

    def triangle(graph: Any) -> int:
        g = to_networkx(graph, to_undirected=True)
        return int(g.number_of_edges() == 5 and sum(nx.triangles(g).values()) > 0)

    result = rsgg.explain(triangle, nx.path_graph(7))
    assert result.found and result.irreducible and len(result.removed) == len(result.added) + 1
    alone = UntaughtSearch(mixtures=0).explain([nx.path_graph(7)], CallableOracle(triangle))[0]
    assert not alone.found and result.calls > alone.calls


def test_questions_about_single_edits_are_charged() -> None:
    never = CallableOracle(lambda data: 0)
    alone = rsgg.UntaughtSearch(single_edits=0).explain(nx.path_graph(6), never)[0]
    result = rsgg.explain(never, nx.path_graph(6))
    assert result.calls == alone.calls + 15 and not result.found
    limited = rsgg.explain(never, nx.path_graph(6), budget=alone.calls + 4)
    assert limited.calls == alone.calls + 4 and "budget" in limited.reason


@pytest.mark.parametrize("kind", [rsgg.Graph.from_networkx, from_networkx, nx.Graph])
def test_one_graph_gives_one_result_and_many_give_a_list(kind) -> None:
    one = kind(nx.cycle_graph(6))
    oracle = rsgg.TreeCyclesOracle()
    assert isinstance(rsgg.explain(oracle, one), rsgg.Counterfactual)
    assert [result.instance for result in rsgg.explain(oracle, [one])] == [0]
    assert [(r.instance, r.candidate) for r in rsgg.explain(oracle, [one, one], k=2)] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]


def test_a_batch_is_many_graphs_even_if_it_holds_one() -> None:
    data = from_networkx(nx.cycle_graph(6))
    assert len(rsgg.explain(rsgg.TreeCyclesOracle(), Batch.from_data_list([data, data, data]))) == 3
    assert isinstance(rsgg.explain(rsgg.TreeCyclesOracle(), Batch.from_data_list([data])), list)


def test_candidates_of_a_graph_edit_other_pairs() -> None:
    results = rsgg.explain(rsgg.TreeCyclesOracle(), nx.path_graph(8), k=4)
    edits = [edit for result in results for edit in result.edits]
    assert len(results) == 4 and len(edits) == len(set(edits)) and all(result.found for result in results)


def test_a_function_of_graphs_is_a_model() -> None:
    result = rsgg.explain(lambda data: int(data.num_edges // 2 > 7), nx.complete_graph(5))
    assert len(result.removed) == 10 - 7 and not result.added


def test_rules_are_kept() -> None:
    graphs = [nx.path_graph(6), nx.cycle_graph(6)]
    of_tree, of_cycle = rsgg.explain(rsgg.TreeCyclesOracle(), graphs, constraints=(OnlyRemovals(),))
    assert not of_tree.found and of_tree.reason == "none of the edits that were tried changed the class"
    assert len(of_cycle.removed) == 1 and not of_cycle.added


def test_limits_are_kept_and_a_seed_decides() -> None:
    graph = nx.gnp_random_graph(14, 0.6, seed=1)
    free = rsgg.explain(CountsEdges(), graph)
    assert free.calls > 12 and rsgg.explain(CountsEdges(), graph).edits == free.edits
    assert rsgg.explain(CountsEdges(), graph, seed=1).edits != free.edits
    for budget in (1, 4, 12):
        assert rsgg.explain(CountsEdges(), graph, budget=budget).calls <= budget
    assert "time" in rsgg.explain(CountsEdges(), graph, seconds=1e-9).reason


def test_a_wanted_class_is_reached() -> None:
    """Class = number of components, up to three: from one component to three takes two removals at least."""
    oracle = CallableOracle(
        lambda data: min(nx.number_connected_components(to_networkx(data, to_undirected=True)), 3), 4
    )
    result = rsgg.explain(oracle, nx.path_graph(7), target=3)
    assert (result.before, result.after) == (1, 3) and len(result.removed) == len(result.edits) == 2
    assert rsgg.explain(oracle, nx.path_graph(7)).after == 2
    there = rsgg.explain(oracle, nx.path_graph(7), target=1)
    assert not there.found and "of class 1 already" in there.reason


@pytest.mark.parametrize("model", [CountsEdges, 3, None])
def test_what_is_no_model_is_refused_in_a_sentence(model) -> None:
    with pytest.raises(UsageError, match=r"cannot be explained; give a trained PyG model"):
        rsgg.explain(model, nx.path_graph(3))


def test_the_search_keeps_the_contract() -> None:
    rsgg.check_explainer(rsgg.UntaughtSearch)


# -- Threads -----------------------------------------------------------------------------------------------------


class AsksForThreads(rsgg.TreeCyclesOracle):
    """Notes on how many threads torch computes while it is asked."""

    threads: list[int]

    def predict(self, graphs):
        self.threads.append(torch.get_num_threads())
        return super().predict(graphs)


def test_small_graphs_are_computed_on_one_thread_and_the_number_is_put_back() -> None:
    oracle, before = AsksForThreads(), torch.get_num_threads()
    oracle.threads = []
    torch.set_num_threads(2)
    try:
        rsgg.explain(oracle, nx.cycle_graph(6))
        assert set(oracle.threads) == {1} and torch.get_num_threads() == 2
        with pytest.raises(ZeroDivisionError), one_thread_if_small(rsgg.GraphBatch.of(nx.path_graph(3))):
            raise ZeroDivisionError
        assert torch.get_num_threads() == 2
        with one_thread_if_small(rsgg.GraphBatch.of(nx.empty_graph(300))):
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


class Sleepy(rsgg.TreeCyclesOracle):
    """Takes its time with every batch, and for ever from some batch on."""

    def __init__(self, batches: int) -> None:
        self.batches = batches

    def predict(self, graphs: rsgg.GraphBatch) -> torch.Tensor:
        self.batches -= 1
        time.sleep(0.05 if self.batches >= 0 else 30)
        return super().predict(graphs)


def test_a_slow_model_is_stopped_and_one_that_hangs_is_given_up() -> None:
    start = time.monotonic()
    slow = rsgg.explain(Sleepy(1000), nx.complete_graph(9), seconds=0.3)
    assert time.monotonic() - start < 5 and (slow.found or slow.reason == "the time limit was used up")
    assert slow.calls <= 40, "the clock was read"
    hung = rsgg.explain(Sleepy(2), nx.complete_graph(9), patience=0.3)
    assert time.monotonic() - start < 10 and not hung.found and "did not answer within 0.3 s" in hung.reason


def test_the_time_limit_is_that_of_each_graph() -> None:
    """A graph whose questions take long is given up alone: the others are explained in full."""

    def slow_on_eleven_nodes(data: Any) -> int:
        if data.num_nodes == 11:
            time.sleep(0.3)
        return int(data.num_edges % 4 != 0 and data.num_nodes != 11)

    graphs = [nx.cycle_graph(n) for n in (8, 11, 9, 7)]
    results = UntaughtSearch(mixtures=10).explain(
        graphs, rsgg.CountingOracle(CallableOracle(slow_on_eleven_nodes), seconds=2.0)
    )
    assert [result.found for result in results] == [True, False, True, True]
    assert results[1].reason == "the time limit was used up"
