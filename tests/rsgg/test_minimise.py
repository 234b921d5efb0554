"""Minimal counterfactuals: valid, within the given edits, minimal where that is defined, and charged correctly."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rsgg.baselines.controls import Empty, TwoSided, TwoSidedMinimised
from rsgg.baselines.search import DCE
from rsgg.compose import Minimised, _is_simple
from rsgg.contract.explainer import EdgesModuloThree
from rsgg.counterfactual import Candidate
from rsgg.data import ASD, TreeCycles
from rsgg.errors import NotFittedError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.minimise import minimise, random_order
from rsgg.oracles import ASDOracle, CountingOracle, Oracle, TreeCyclesOracle
from rsgg.saving import write_archive
from tests.graphs import gnp_graphs, has_cycle, needs_asd, tree, unicyclic


def edit_sets(graphs: GraphBatch, adjacency: Tensor) -> list[set[tuple[int, int]]]:
    changed = torch.triu(graphs.adjacency != adjacency, 1).numpy()
    return [{(int(u), int(v)) for u, v in np.argwhere(c)} for c in changed]


def cyclic_graphs(count: int = 40) -> GraphBatch:
    """Graphs with cycles, of several sizes, and with several cycles each."""
    dense = [nx.gnm_random_graph(n, int(1.6 * n), seed=i) for i, n in enumerate([6, 9, 12] * count)]
    return GraphBatch.of([graph for graph in dense if has_cycle(graph)][:count])


def run(
    graphs: GraphBatch, candidates: Tensor, oracle: Oracle, budget: int | None = None, seed: int = 0
) -> tuple[Tensor, CountingOracle]:
    counted = CountingOracle(oracle, budget)
    rows = torch.arange(len(graphs))
    return minimise(graphs, oracle.predict(graphs), candidates, counted, rows, seed), counted


# -- the search ------------------------------------------------------------------------------------------


def test_removals_shrink_to_the_optimum_and_no_edit_can_be_left_out() -> None:
    graphs = cyclic_graphs()
    minimal, _ = run(graphs, torch.zeros_like(graphs.adjacency), TreeCyclesOracle())
    best = TreeCyclesOracle().optimal_ged(graphs)
    edits = edit_sets(graphs, minimal)
    assert best is not None and [len(e) for e in edits] == best.tolist()
    for graph, removed in zip(graphs, edits, strict=True):
        assert not has_cycle(nx.from_edgelist(set(graph.edges()) - removed))
        for edge in removed:
            assert has_cycle(nx.from_edgelist(set(graph.edges()) - removed | {edge}))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6))
def test_results_are_valid_subsets_even_where_more_edits_undo_a_flip(seed: int) -> None:
    oracle = EdgesModuloThree()
    graphs = GraphBatch.of(gnp_graphs(12, seed=seed))
    others = GraphBatch.of(gnp_graphs(12, seed=seed + 1))
    valid = (oracle.predict(graphs) != oracle.predict(others)).nonzero().flatten()
    if not len(valid):
        return
    graphs, candidates = graphs.select(valid), others.adjacency[valid]
    minimal, _ = run(graphs, candidates, oracle, seed=seed)
    assert (oracle.predict(graphs.candidates(minimal, torch.arange(len(graphs)))) != oracle.predict(graphs)).all()
    assert torch.equal(minimal, minimal.transpose(1, 2))
    for few, many in zip(edit_sets(graphs, minimal), edit_sets(graphs, candidates), strict=True):
        assert few and few <= many


def test_each_row_is_searched_as_if_alone() -> None:
    graphs = cyclic_graphs(15)
    empty = torch.zeros_like(graphs.adjacency)
    together, counted = run(graphs, empty, TreeCyclesOracle())
    for i in range(len(graphs)):
        one = graphs.select(torch.tensor([i]))
        alone, counted_alone = run(one, empty[i : i + 1], TreeCyclesOracle())
        assert torch.equal(alone[0], together[i])
        assert counted_alone.calls == counted.calls_of(i)


def test_one_needed_edit_among_d_costs_a_binary_search_and_one_question() -> None:
    graphs = GraphBatch.of([unicyclic(n, 3, seed=n) for n in range(6, 40)])
    minimal, counted = run(graphs, torch.zeros_like(graphs.adjacency), TreeCyclesOracle())
    assert [len(e) for e in edit_sets(graphs, minimal)] == [1] * len(graphs)
    for i, edges in enumerate(graphs.n_edges.tolist()):
        assert counted.calls_of(i) <= np.ceil(np.log2(edges)) + 1
    assert counted.calls == counted.evaluated


def test_a_single_edit_is_not_asked_about() -> None:
    graphs = GraphBatch.of([tree(9, seed) for seed in range(5)])
    candidates = graphs.adjacency.clone()
    for i, graph in enumerate(graphs):
        u, v = next(nx.non_edges(graph.to_networkx()))
        candidates[i, u, v] = candidates[i, v, u] = 1
    minimal, counted = run(graphs, candidates, TreeCyclesOracle())
    assert torch.equal(minimal, candidates) and counted.calls == 0


def test_a_budget_is_kept_and_what_was_verified_so_far_is_returned() -> None:
    graphs = cyclic_graphs()
    empty = torch.zeros_like(graphs.adjacency)
    sizes = []
    for budget in (0, 1, 2, 4, 8, 100):
        result, counted = run(graphs, empty, TreeCyclesOracle(), budget)
        assert all(counted.calls_of(i) <= budget for i in range(len(graphs)))
        assert not any(has_cycle(nx.from_numpy_array(a)) for a in result.numpy())
        sizes.append([len(e) for e in edit_sets(graphs, result)])
    assert sizes[0] == graphs.n_edges.tolist()
    assert (np.diff(sizes, axis=0) <= 0).all() and sum(sizes[-1]) < sum(sizes[2]) < sum(sizes[0])


def test_rows_that_do_not_belong_together_are_refused() -> None:
    graphs = cyclic_graphs(3)
    with pytest.raises(UsageError, match="3 graphs, 3 classes, 3 candidates and 2 owners"):
        minimise(graphs, torch.ones(3), graphs.adjacency, CountingOracle(TreeCyclesOracle()), torch.arange(2), 0)


# -- random orders ---------------------------------------------------------------------------------------


def test_random_order_ranks_the_marked_pairs_and_does_not_see_padding() -> None:
    graphs = GraphBatch.of(gnp_graphs(9, sizes=(5, 8, 11)))
    pairs = torch.triu(graphs.adjacency > 0, 1)
    names = [("order", i) for i in range(len(graphs))]
    rank = random_order(pairs, graphs.sizes, names)
    assert torch.equal(rank, rank.transpose(1, 2))
    for i, n in enumerate(graphs.sizes.tolist()):
        assert sorted(rank[i][pairs[i]].tolist()) == list(range(int(pairs[i].sum())))
        assert (torch.triu(rank[i], 1)[torch.triu(~pairs[i], 1)] >= int(pairs[i].sum())).all()
        alone = random_order(pairs[i : i + 1, :n, :n], graphs.sizes[i : i + 1], [names[i]])[0]
        assert torch.equal(alone[pairs[i, :n, :n]], rank[i][pairs[i]])


def test_every_pair_is_first_equally_often() -> None:
    draws = 6000
    pairs = torch.triu(torch.ones(draws, 4, 4, dtype=torch.bool), 1)
    rank = random_order(pairs, torch.full((draws,), 4), [("uniform", i) for i in range(draws)])
    first = (rank == 0).sum(0)[pairs[0]].double()
    assert first.sum() == draws
    assert (first / draws - 1 / 6).abs().max() < 5 * np.sqrt(1 / 6 * 5 / 6 / draws)


# -- Minimised -------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Fixed(Explainer):
    """Returns what it is told to, and asks nothing."""

    weight: int = hyper(1, "w", doc="multiplicity of every edge of the complete graph")
    asked: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        whole = torch.full_like(graphs.adjacency[0], self.weight)
        return [Candidate(whole), Candidate(None, "no idea")] * (len(graphs) * k // 2)


@dataclass(kw_only=True)
class Unasked(Fixed):
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, may_return_invalid=True)


def trees_and_cycles() -> GraphBatch:
    return GraphBatch.of([tree(9, 1), tree(9, 2), unicyclic(9, 4, 3), unicyclic(9, 3, 4)])


def test_a_failure_stays_a_failure_with_its_reason() -> None:
    results = Minimised(base=Fixed()).explain(trees_and_cycles(), TreeCyclesOracle())
    assert [r.reason for r in results[1::2]] == ["no idea"] * 2
    assert results[0].found and len(results[0].edits) == 1


def test_what_was_never_asked_about_is_asked_about_first() -> None:
    graphs = trees_and_cycles()
    results = Minimised(base=Unasked()).explain(graphs, TreeCyclesOracle(), k=2)
    assert [r.found for r in results[::2]] == [True, True, False, False]
    assert "the method returned does not change the class" in results[4].reason and results[4].calls == 2
    poor = Minimised(base=Unasked()).explain(graphs, CountingOracle(TreeCyclesOracle(), 1), k=2)
    assert not any(r.found for r in poor) and "budget" in poor[0].reason


@pytest.mark.parametrize(("entry", "value", "simple"), [((0, 1), 1, True), ((0, 1), 2, False), ((2, 2), 1, False)])
def test_one_loop_or_one_double_edge_makes_a_graph_that_is_not_simple(
    entry: tuple[int, int], value: int, simple: bool
) -> None:
    adjacency = torch.tensor([[0, 0, 1], [0, 0, 0], [1, 0, 0]], dtype=torch.uint8)
    adjacency[entry] = adjacency[entry[::-1]] = value
    assert _is_simple(adjacency) == simple


def test_multiplicities_are_only_trusted_as_the_simple_graph() -> None:
    """A base whose multigraph flips an oracle that sees weights, while the simple graph does not."""

    class Heavy(Oracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            return (graphs.adjacency > 1).flatten(1).any(1).long()

    results = Minimised(base=Fixed(weight=2)).explain(trees_and_cycles(), Heavy())
    assert not results[0].found and "does not change the class" in results[0].reason


def test_calls_add_up_and_the_base_is_the_same_as_on_its_own() -> None:
    graphs = TreeCycles(n_graphs=30).load().graphs
    base = TwoSided().explain(graphs, TreeCyclesOracle(), seed=3)
    minimal = TwoSidedMinimised().explain(graphs, TreeCyclesOracle(), seed=3)
    for before, after in zip(base, minimal, strict=True):
        assert set(after.edits) <= set(before.edits)
        assert after.calls == before.calls if len(before.edits) == 1 else after.calls > before.calls


def test_identity_of_a_result_contains_the_base() -> None:
    assert Minimised(base=Fixed(weight=3)).hyperparameters() == {"base": "Fixed", "Fixed.weight": 3}
    assert Minimised(base=Empty()).hyperparameters() == {"base": "Empty"}
    assert Minimised(base=Empty()).capabilities.may_return_invalid is False
    assert Minimised(base=DCE()).capabilities.learns is True


def test_a_base_that_learns_is_fitted_saved_and_loaded_with_it(tmp_path: Path) -> None:
    graphs = TreeCycles(n_nodes=12, n_graphs=20).load().graphs
    explainer = Minimised(base=DCE())
    with pytest.raises(NotFittedError):
        explainer.explain(graphs, TreeCyclesOracle())
    before = explainer.fit(graphs, TreeCyclesOracle()).explain(graphs, TreeCyclesOracle())
    for ready in (Minimised(base=explainer.base), Minimised.load(explainer.save(tmp_path / "nearest"))):
        after = ready.explain(graphs, TreeCyclesOracle())
        assert [r.edits for r in after] == [r.edits for r in before]
    assert all(r.found for r in before)


def test_what_cannot_be_built_or_loaded_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Minimised has no base of its own"):
        Minimised.tiny()
    path = write_archive(tmp_path / "stranger", {"explainer": "MethodOfNobody", "hyperparameters": {}}, {})
    with pytest.raises(UsageError, match="a fitted MethodOfNobody, which is not known here"):
        Minimised.load(path)
    with pytest.raises(UsageError, match=r"Minimised cannot use base = None; give an explainer.*base=RSGGCE\(\)"):
        Minimised()
    with pytest.raises(UsageError, match=r"give an explainer, not a class.*base=DCE\(\)"):
        Minimised(base=DCE)  # type: ignore[arg-type]
    with pytest.raises(NotFittedError, match=r"^DCE has to be fitted before it can be saved"):
        Minimised(base=DCE()).save(tmp_path / "unfitted")


def test_graph_features_travel_with_the_candidates() -> None:
    """The oracle only answers when it is shown node features."""

    class NeedsFeatures(TreeCyclesOracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            assert graphs.features is not None and graphs.features.shape[:2] == graphs.adjacency.shape[:2]
            return super().predict(graphs)

    graphs = [Graph(nx.to_numpy_array(unicyclic(8, 4, seed)), np.ones((8, 2))) for seed in range(3)]
    assert all(r.found for r in TwoSidedMinimised().explain(graphs, NeedsFeatures()))


# -- what it reaches on the paper's data -----------------------------------------------------------------


def test_two_sided_search_made_minimal_is_optimal_on_tree_cycles() -> None:
    dataset = TreeCycles(n_graphs=500).load()
    results = TwoSidedMinimised().explain(dataset.graphs, TreeCyclesOracle())
    optimum = TreeCyclesOracle().optimal_ged(dataset.graphs)
    assert optimum is not None and [len(r.edits) for r in results] == optimum.tolist()
    assert np.mean([r.calls for r in results]) == pytest.approx(6.6, abs=0.5)


@needs_asd
def test_two_sided_search_made_minimal_is_nearly_optimal_on_asd() -> None:
    dataset = ASD().load()
    results = TwoSidedMinimised().explain(dataset.graphs, ASDOracle())
    assert all(r.found for r in results)
    assert 8.197 < np.mean([len(r.edits) for r in results]) < 8.25
    assert np.mean([r.calls for r in results]) == pytest.approx(85.8, abs=3)
