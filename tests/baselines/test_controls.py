"""The controls against closed forms, sequential arithmetic and brute force."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines.controls import (
    Complete,
    Empty,
    Identity,
    KeepEgo,
    OneRemoval,
    Optimum,
    RandomEdits,
    RandomEditsMinimised,
    RemoveEgo,
    TwoSided,
    TwoSidedMinimised,
    _doubling,
)
from rsgg.contract.explainer import TriangleOracle
from rsgg.counterfactual import Counterfactual
from rsgg.data import ASD, Dataset, GeneratedNodes, TreeCycles
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import ASDOracle, CountingOracle, NodeGCN, TreeCyclesOracle
from tests.graphs import has_cycle, needs_asd, tree, unicyclic


@pytest.fixture(scope="module")
def trees() -> Dataset:
    return TreeCycles(n_graphs=200).load()


@pytest.fixture(scope="module")
def asd() -> Dataset:
    return ASD().load()


def mean_ged(results: list[Counterfactual]) -> float:
    return float(np.mean([len(r.edits) for r in results]))


def mean_calls(results: list[Counterfactual]) -> float:
    return float(np.mean([r.calls for r in results]))


def flips(results: list[Counterfactual]) -> list[bool]:
    return [has_cycle(r.input.to_networkx()) != has_cycle(r.returned.to_networkx()) for r in results]


# -- constant answers ------------------------------------------------------------------------------------


@needs_asd
def test_the_empty_graph_on_asd_scores_the_printed_row_of_cf2(asd: Dataset) -> None:
    results = Empty().explain(asd.graphs, ASDOracle())
    before = ASDOracle().predict(asd.graphs)
    after = ASDOracle().predict(GraphBatch.of([r.returned for r in results]))
    assert (after == 1).all()
    assert mean_ged(results) == pytest.approx(655.62, abs=5e-3)
    assert (before != after).double().mean().item() == pytest.approx(0.465, abs=5e-4)
    fidelity = (before == asd.labels).double() - (after == asd.labels).double()
    assert fidelity.mean().item() == pytest.approx(0.287, abs=5e-4)
    assert np.mean([len(r.edits) / r.input.size for r in results]) == pytest.approx(0.850, abs=5e-4)


def test_empty_flips_exactly_the_cyclic_graphs_and_complete_the_trees(trees: Dataset) -> None:
    cyclic = [has_cycle(graph.to_networkx()) for graph in trees.graphs]
    empty, complete = (explainer.explain(trees.graphs, TreeCyclesOracle()) for explainer in (Empty(), Complete()))
    assert flips(empty) == cyclic
    assert flips(complete) == [not c for c in cyclic]
    assert [len(r.edits) for r in empty] == trees.graphs.n_edges.tolist()
    assert [len(r.edits) for r in complete] == [28 * 27 // 2 - m for m in trees.graphs.n_edges.tolist()]
    assert {r.calls for r in empty + complete} == {1}


def test_complete_stays_inside_a_small_graph_of_a_padded_batch() -> None:
    small, large = Complete().explain([tree(4), tree(9)], TreeCyclesOracle())
    assert small.returned.n_edges == 6 and large.returned.n_edges == 36


def test_identity_always_fails_for_the_same_reason(trees: Dataset) -> None:
    results = Identity().explain(trees.graphs, TreeCyclesOracle())
    assert {r.reason for r in results} == {"the method returned the input"}
    assert not any(r.found for r in results) and mean_ged(results) == 0


@pytest.mark.parametrize("explainer", [Empty(), Complete(), Identity(), Optimum()])
def test_a_constant_answer_has_no_second_candidate(explainer: Explainer) -> None:
    results = explainer.explain([tree(6), unicyclic(6, 3)], TreeCyclesOracle(), k=3)
    assert [r.candidate for r in results] == [0, 1, 2] * 2
    name = type(explainer).__name__
    assert {r.reason for r in results if r.candidate} == {f"{name} has only one candidate"}
    assert all(r.calls == 0 for r in results if r.candidate)


def test_ego_controls_cut_or_keep_what_networkx_calls_the_ego_graph() -> None:
    data = GeneratedNodes("tree-grid", n_train=1, n_test=12).load()
    oracle = NodeGCN(epochs=1, starts=1).prepared(data)
    rng = torch.Generator().manual_seed(0)
    n, sizes = data.graphs.n_nodes, data.graphs.sizes.tolist()
    orders = torch.stack([torch.cat((torch.randperm(s, generator=rng), torch.arange(s, n))) for s in sizes])
    graphs = data.graphs.relabelled(orders)  # v stands anywhere
    removed, kept = (explainer.explain(graphs, oracle) for explainer in (RemoveEgo(), KeepEgo()))
    for graph, node, without, only in zip(graphs, data.nodes.tolist(), removed, kept, strict=True):
        whole = graph.to_networkx()
        ego = nx.ego_graph(whole, node, radius=1)
        assert {frozenset(edge) for edge in ego.edges} == {frozenset(e) for e in only.returned.to_networkx().edges}
        rest = {frozenset(edge) for edge in whole.edges} - {frozenset(edge) for edge in ego.edges}
        assert rest == {frozenset(edge) for edge in without.returned.to_networkx().edges}
    assert {result.calls for result in removed + kept} == {1}


def test_ego_controls_say_when_no_node_is_marked() -> None:
    (result,) = RemoveEgo().explain([tree(5)], TreeCyclesOracle())
    assert result.reason == "the graphs mark no node that is to be explained"


# -- random edits ----------------------------------------------------------------------------------------


def test_random_edits_remove_until_a_cycle_is_cut() -> None:
    """The first of s cycle edges comes at position (E + 1) / (s + 1) of E in random order, on average."""
    graph = nx.to_numpy_array(unicyclic(12, 3))
    copies = GraphBatch.of([Graph(graph, name=f"copy {i}") for i in range(600)])
    results = RandomEdits().explain(copies, TreeCyclesOracle())
    assert all(flips(results[:50])) and not any(r.added for r in results)
    assert all(r.calls == 1 + len(r.edits) for r in results)
    assert mean_ged(results) == pytest.approx(13 / 4, abs=0.4)
    assert max(len(r.edits) for r in results) == 10  # E - s + 1


def test_random_edits_turn_to_additions_when_removing_everything_does_not_help() -> None:
    results = RandomEdits().explain([tree(n, n) for n in (3, 7, 12)], TreeCyclesOracle())
    assert [(len(r.added), len(r.removed)) for r in results] == [(1, 0)] * 3
    assert [r.calls for r in results] == [1 + (n - 1) + 1 for n in (3, 7, 12)]


def test_random_edits_on_tree_cycles(trees: Dataset) -> None:
    """Trees: 28 + 1 calls at GED 1. Cyclic graphs: (E + 1) / (s + 1) removals for one cycle, 10.7 for two triangles."""
    results = RandomEdits().explain(trees.graphs, TreeCyclesOracle())
    cyclic = [r for r in results if r.removed]
    assert all(flips(results))
    assert mean_ged(cyclic) == pytest.approx(np.mean([29 / 4, 29 / 5, 29 / 6, 29 / 7, 29 / 8, 15 - 30 / 7]), abs=1.5)
    assert {(len(r.edits), r.calls) for r in results if r.added} == {(1, 29)}


def test_two_sided_search_doubles_and_takes_turns(trees: Dataset) -> None:
    results = TwoSided().explain(trees.graphs, TreeCyclesOracle())
    assert all(flips(results))
    for r in results:
        assert not (r.added and r.removed)
        if r.added:
            assert (len(r.added), r.calls) == (1, 3)  # the input, one removal, one addition
        else:
            turn = int(np.ceil(np.log2(len(r.removed))))
            assert len(r.removed) in (2**turn, r.input.n_edges) and r.calls == 2 + 2 * turn
    assert mean_ged(results) == pytest.approx(4.2, abs=1)
    assert mean_calls(results) == pytest.approx(4.8, abs=0.4)


def test_doubling_prefixes() -> None:
    prefixes = _doubling(torch.tensor([[5, 0], [1, 8]]))
    assert [row[row > 0].tolist() for row in prefixes[0].T] == [[1, 2, 4, 5], []]
    assert [row[row > 0].tolist() for row in prefixes[1].T] == [[1], [1, 2, 4, 8]]


@needs_asd
def test_random_search_on_asd(asd: Dataset) -> None:
    results = TwoSided().explain(asd.graphs, ASDOracle())
    assert all(r.found for r in results)
    assert mean_ged(results) == pytest.approx(325.8, abs=40)
    assert mean_calls(results) == pytest.approx(18.1, abs=0.6)
    few = asd.graphs.select(torch.tensor([0, 1, 60, 61]))
    for r in RandomEdits().explain(few, ASDOracle()):
        before, after = ASDOracle().predict(GraphBatch.of([r.input, r.returned])).tolist()
        assert before != after
        assert r.calls == 1 + len(r.edits) + (r.input.n_edges if r.added else 0)


@pytest.mark.parametrize("search", [RandomEdits, TwoSided])
def test_blocks_of_questions_are_charged_as_if_asked_one_by_one(
    search: type[Explainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = TreeCycles(n_graphs=20).load().graphs
    blocks = search().explain(graphs, TreeCyclesOracle())
    monkeypatch.setattr("rsgg.baselines.controls.BLOCK_CELLS", 0)  # then every block holds one question
    counted = CountingOracle(TreeCyclesOracle())
    one_by_one = search().explain(graphs, counted)
    assert [(r.edits, r.calls) for r in one_by_one] == [(r.edits, r.calls) for r in blocks]
    assert counted.calls == counted.evaluated


@pytest.mark.parametrize("search", [RandomEdits, TwoSided, RandomEditsMinimised, TwoSidedMinimised])
def test_candidates_are_independent_and_do_not_depend_on_how_many(search: type[Explainer]) -> None:
    graphs = [unicyclic(20, 6, seed) for seed in range(10)]
    three = search().explain(graphs, TreeCyclesOracle(), k=3)
    assert all(flips(three))
    assert len({(r.instance, *r.edits) for r in three}) > 20
    assert [r.edits for r in three[::3]] == [r.edits for r in search().explain(graphs, TreeCyclesOracle())]


def test_an_oracle_that_never_changes_its_mind_is_a_failure() -> None:
    class Always(TreeCyclesOracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            return torch.ones(len(graphs), dtype=torch.long)

    for search in (RandomEdits(), TwoSided()):
        (result,) = search.explain([tree(6)], Always())
        assert "no number of random removals or additions" in result.reason
        assert result.calls == (1 + 15 if isinstance(search, RandomEdits) else 1 + 4 + 5)  # 5 edges, 10 missing
        (poor,) = search.explain([tree(6)], CountingOracle(Always(), 4))
        assert poor.reason == "the oracle budget was used up" and poor.calls == 4


def test_a_graph_of_one_node_has_nothing_to_edit() -> None:
    for search in (RandomEdits(), TwoSided(), Optimum(), Empty(), Complete()):
        alone, other = search.explain([nx.empty_graph(1), tree(5)], TreeCyclesOracle())
        assert not alone.found and alone.reason
        assert other.offered


# -- knowing the oracle ----------------------------------------------------------------------------------


def test_optimum_reaches_the_bound_with_one_question(trees: Dataset) -> None:
    results = Optimum().explain(trees.graphs, TreeCyclesOracle())
    optimum = TreeCyclesOracle().optimal_ged(trees.graphs)
    assert optimum is not None and [len(r.edits) for r in results] == optimum.tolist()
    assert all(flips(results)) and {r.calls for r in results} == {2}


def test_optimum_says_where_it_is_not_known_or_does_not_exist() -> None:
    (unknown,) = Optimum().explain([tree(6)], TriangleOracle())
    assert unknown.reason == "the optimum is not known for the oracle 'triangles'"
    (impossible,) = Optimum().explain([nx.path_graph(2)], TreeCyclesOracle())
    assert impossible.reason == "no counterfactual exists"
    (poor,) = Optimum().explain([tree(6)], CountingOracle(TreeCyclesOracle(), 1))
    assert poor.reason == "the oracle budget was used up"


def test_one_removal_takes_away_one_random_edge_and_asks_nothing() -> None:
    cyclic = [unicyclic(8, 3, seed) for seed in range(6)]
    graphs = [*cyclic, nx.empty_graph(4)]
    results = OneRemoval().explain(graphs, CountingOracle(TreeCyclesOracle()), k=3, seed=1)
    *edited, first, second, third = results
    assert all(len(r.edits) == len(r.removed) == 1 and r.calls == (r.candidate == 0) for r in edited)
    assert all("no edge that could be removed" in r.reason for r in (first, second, third))
    assert len({r.edits[0] for r in edited}) > len(cyclic), "candidates and graphs lose different edges"
    again = OneRemoval().explain(graphs, TreeCyclesOracle(), k=3, seed=1)
    assert [r.edits for r in results] == [r.edits for r in again]
