"""Constraints hold in every returned graph, whatever the method; what cannot keep them says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rsgg.baselines.cf2 import CF2
from rsgg.baselines.clear import CLEAR
from rsgg.baselines.controls import Complete, Empty, TwoSided, TwoSidedMinimised
from rsgg.baselines.search import DCE, OBS
from rsgg.compose import BestOf, FirstOf, Minimised
from rsgg.constraints import (
    Constraint,
    EdgeCount,
    Feasible,
    Forbid,
    Keep,
    KeepConnected,
    KeepShare,
    MostNeighbours,
    OnlyRemovals,
    Rules,
    Satisfies,
)
from rsgg.contract.explainer import EdgesModuloThree, TriangleOracle, graphs_of_any_kind, training_graphs
from rsgg.errors import UsageError
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.quick import UntaughtSearch
from rsgg.rsgg_ce import RankedRSGGCE, TaughtRSGGCE
from tests.graphs import tree, unicyclic
from tests.rsgg.test_contract import OF_RULES
from tests.rsgg.test_ranked import Denser, constraints, kept, pairs

ORACLES: dict[str, Oracle] = {
    one.name: one for one in (Denser(), TriangleOracle(), EdgesModuloThree(), TreeCyclesOracle())
}


def explainers() -> dict[str, Explainer]:
    """All methods that declare that they keep constraints."""
    made = {name: make() for name, make in OF_RULES.items()}
    ready = {name: one.tiny() if isinstance(one, type) else one for name, one in made.items()}
    ready |= {"RankedRSGGCE": RankedRSGGCE.tiny(), "TaughtRSGGCE": TaughtRSGGCE.tiny(), "Untaught": UntaughtSearch()}
    ready |= {
        "Minimised(CLEAR)": Minimised(base=CLEAR.tiny()),
        "Minimised(DCE)": Minimised(base=DCE()),
        "Minimised(Complete)": Minimised(base=Complete()),
        "BestOf(TaughtRSGGCE)": BestOf(base=TaughtRSGGCE.tiny(), k=2),
        "FirstOf(CF2, Untaught)": FirstOf(first=CF2.tiny(), second=UntaughtSearch()),
    }
    for name in ("search.OBS", "search.DDBS"):
        ready[name] = replace(ready[name], questions=20)  # type: ignore[call-arg]
    ready["BestOf(OBS)"] = BestOf(base=OBS(questions=20), k=2)
    return {name: one for name, one in ready.items() if one.capabilities.constraints}


KEEPING = explainers()


@lru_cache
def fitted(name: str, oracle: str) -> Explainer:
    """Fitted once for all examples."""
    explainer, asked = explainers()[name], ORACLES[oracle]
    graphs = training_graphs() if oracle == "tree-cycles" else graphs_of_any_kind()
    return explainer.fit(graphs, asked)


def keeps(rule: Constraint, before: nx.Graph, after: nx.Graph) -> bool:
    if isinstance(rule, Forbid):
        return not any(after.has_edge(*pair) and not before.has_edge(*pair) for pair in rule.pairs)
    return kept(rule, before, after)


@settings(max_examples=60, deadline=None)
@given(st.lists(constraints, min_size=1, max_size=3), st.integers(0, 10_000))
def test_an_order_is_followed_as_if_each_graph_was_looked_at_as_a_whole(rules: list[Constraint], seed: int) -> None:
    rng = np.random.default_rng(seed)
    features = np.eye(3, dtype=np.float32)[rng.integers(3, size=8)]
    graph = Graph(nx.to_numpy_array(nx.gnp_random_graph(8, 0.3, seed=seed)).astype(np.uint8), features=features)
    rules = [*rules, MostNeighbours(3, by_label=(1, 2, 3)), Satisfies(lambda _, matrix: matrix.sum() % 6 != 4)]
    u, v = np.triu_indices(8, 1)
    order = rng.permutation(u * 10 + v)  # as in a batch where graphs are padded to ten nodes
    followed, skipping = Rules(graph, 10, tuple(rules)), [rule for rule in rules if rule.skips_edits]
    kept: list[int] = []
    for edit in order:
        matrix = graph.adjacency.copy()
        for a, b in (divmod(code, 10) for code in [*kept, edit]):
            matrix[a, b] = matrix[b, a] = 1 - matrix[a, b]
        if all(rule.allows(graph, matrix) for rule in skipping):
            kept.append(edit)
    assert followed.followed(order).tolist() == kept


def test_the_methods_with_a_search_or_the_minimiser_are_among_them() -> None:
    assert {"controls.TwoSidedMinimised", "controls.RandomEditsMinimised", "search.OBS", "RSGGCE"} <= set(KEEPING)
    assert not any(OF_RULES[name]().capabilities.constraints for name in ("cf2.CF2", "search.DCE", "meg.MEG"))


@pytest.mark.parametrize("name", KEEPING)
@settings(max_examples=5, deadline=None)
@given(
    st.lists(st.one_of(constraints, pairs.map(Forbid)), min_size=1, max_size=3),
    st.sampled_from(sorted(ORACLES)),
    st.integers(0, 10_000),
)
def test_every_returned_graph_keeps_every_constraint(
    name: str, rules: list[Constraint], oracle: str, seed: int
) -> None:
    if KEEPING[name]._needs_relaxation() and ORACLES[oracle].why_not_differentiable():
        return
    rng = np.random.default_rng(seed)
    graphs = [nx.gnp_random_graph(8, float(rng.uniform(0.1, 0.6)), seed=int(rng.integers(1_000_000))) for _ in range(4)]
    explainer = fitted(name, oracle)
    explainer.constraints = tuple(rules)
    for result in explainer.explain(graphs, ORACLES[oracle], k=2, seed=seed):
        if result.offered:
            after = nx.from_numpy_array(result.returned.adjacency)
            assert all(keeps(rule, graphs[result.instance], after) for rule in rules)
        assert result.found or result.reason


@pytest.mark.parametrize("name", [name for name in KEEPING if name != "FirstOf(IRand with few tries, Complete)"])
def test_constraints_leave_what_they_allow(name: str) -> None:
    """Only removals: enough to open every cycle, but no tree is explained."""
    explainer, oracle = fitted(name, "tree-cycles"), TreeCyclesOracle()
    graphs = GraphBatch.of([tree(8, seed) if seed % 2 else unicyclic(8, 3, seed) for seed in range(12)])
    explainer.constraints = (OnlyRemovals(),)
    results = explainer.explain(graphs, oracle)
    assert not any(result.found for result in results[1::2])
    assert all(not result.added for result in results)
    if not any(weak in name for weak in ("Complete", "DCE", "CLEAR", "Literal")):
        assert any(result.found for result in results[::2])


# -- how they are enforced -------------------------------------------------------------------------------------------


class Seen(TreeCyclesOracle):
    """Remembers what it was asked about."""

    def __init__(self) -> None:
        self.shown: list[nx.Graph] = []

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.shown += [graph.to_networkx() for graph in graphs]
        return super().predict(graphs)


def test_no_graph_that_is_not_allowed_is_asked_about_or_charged() -> None:
    graph, oracle = unicyclic(10, 5, 1), Seen()
    rule = Satisfies(lambda original, adjacency: bool((adjacency <= original.adjacency).all()))
    (result,) = TwoSidedMinimised(constraints=(rule,)).explain(graph, oracle)
    assert result.found and result.calls == len(oracle.shown)
    assert all(set(map(frozenset, one.edges)) <= set(map(frozenset, graph.edges)) for one in oracle.shown)


def test_first_flips_among_allowed_graphs_are_charged_as_one_by_one() -> None:
    oracle = Seen()
    results = TwoSided(constraints=(KeepConnected(),)).explain([unicyclic(10, 5, seed) for seed in range(12)], oracle)
    assert any(one.found for one in results) and sum(one.calls for one in results) <= len(oracle.shown)
    assert all(nx.is_connected(one) for one in oracle.shown)


def test_a_candidate_of_a_base_that_knows_no_constraints_is_mended() -> None:
    """The empty graph of a cycle with a tail, made connected: one edge of the cycle is removed."""
    graph = unicyclic(9, 4, 2)
    (result,) = Minimised(base=Empty(), constraints=(KeepConnected(),)).explain(graph, TreeCyclesOracle())
    assert result.found and len(result.removed) == 1 and nx.is_connected(result.to_networkx())
    assert Empty().explain(graph, TreeCyclesOracle())[0].found


@pytest.mark.parametrize(
    ("rules", "reason"),
    [
        ((EdgeCount(3, 5),), "what the method returned breaks EdgeCount"),
        ((Keep(tuple(unicyclic(9, 4, 2).edges)),), "has no edit that the constraints allow"),
        ((Keep(tuple((u, v) for u, v in unicyclic(9, 4, 2).edges if min(u, v) >= 5)),), "does not change the class"),
    ],
)
def test_what_cannot_be_mended_is_refused_with_a_reason(rules: tuple[Constraint, ...], reason: str) -> None:
    (result,) = Minimised(base=Empty(), constraints=rules).explain(unicyclic(9, 4, 2), TreeCyclesOracle())
    assert not result.offered and reason in result.reason


def test_a_failure_within_constraints_says_that_they_had_a_part() -> None:
    (result,) = TwoSided(constraints=(OnlyRemovals(),)).explain(tree(8), TreeCyclesOracle())
    assert result.reason.endswith("(not all graphs that were tried are allowed by the constraints)")


@pytest.mark.parametrize("make", [CF2, DCE, CLEAR, Empty])
def test_a_method_that_cannot_keep_constraints_says_so(make: type[Explainer]) -> None:
    name = make.__name__
    with pytest.raises(UsageError, match=rf"^{name} cannot keep constraints; mend .* Minimised\(base={name}\(\)"):
        make(constraints=(KeepConnected(),))
    late = make.tiny()
    late.constraints = (KeepConnected(),)
    with pytest.raises(UsageError, match=f"^{name} cannot keep constraints"):
        late.explain(tree(8), TreeCyclesOracle())


def test_constraints_of_a_part_hold_for_the_whole() -> None:
    parts = FirstOf(first=OBS(constraints=(OnlyRemovals(),)), second=TwoSided(), constraints=(MostNeighbours(4),))
    assert parts.all_constraints() == (MostNeighbours(4), OnlyRemovals())
    assert not parts.explain(tree(9, 3), TreeCyclesOracle())[0].offered


def test_a_search_is_taught_within_the_constraints() -> None:
    """Trees of eight nodes can be explained by additions only: forbidden, they teach nothing."""
    graphs = [tree(8, seed) if seed % 2 else unicyclic(8, 3, seed) for seed in range(20)]
    free, bound = (TaughtRSGGCE(steps=2, constraints=rules) for rules in ((), (OnlyRemovals(),)))
    assert free.fit(graphs, TreeCyclesOracle()).summary_["taught"] == 20
    assert bound.fit(graphs, TreeCyclesOracle()).summary_["taught"] == 10
    assert CountingOracle(TreeCyclesOracle()).constraints == ()


def test_constraints_are_given_again_when_an_explainer_is_loaded(tmp_path: Path) -> None:
    rules = (KeepConnected(), MostNeighbours(3))
    path = OBS(constraints=rules).save(tmp_path / "obs")
    with pytest.raises(UsageError, match=r"constraints = KeepConnected, MostNeighbours; give it again"):
        OBS.load(path)
    assert OBS.load(path, constraints=rules).constraints == rules
    outer = Minimised(base=DCE(), constraints=rules).fit(training_graphs(), TreeCyclesOracle())
    loaded = Minimised.load(outer.save(tmp_path / "outer"), constraints=rules)
    assert loaded.constraints == rules and isinstance(loaded.base, DCE) and loaded.base.constraints == ()


def test_self_loops_and_other_sizes_are_understood() -> None:
    """A rule sees the graph itself, not the padding of its batch; a self loop is an edit that nobody allowed."""
    sizes: list[int] = []
    rule = Satisfies(lambda original, adjacency: sizes.append(len(adjacency)) or True)  # type: ignore[func-returns-value]
    TwoSided(constraints=(rule,)).explain([unicyclic(6, 3), unicyclic(9, 3)], TreeCyclesOracle())
    assert set(sizes) == {6, 9}
    batch = GraphBatch.of([Graph(nx.to_numpy_array(tree(4)))])
    looped = batch.adjacency[0].clone()
    looped[1, 1] = 1
    feasible = Feasible(batch, (Satisfies(lambda *_: True),))
    assert feasible.broken(looped, 0) == "Satisfies" and not feasible.broken(batch.adjacency[0], 0)
    assert feasible.allow(torch.stack((looped, batch.adjacency[0])), torch.tensor([0, 0])).tolist() == [False, True]


@pytest.mark.parametrize("wrong", [lambda: EdgeCount("1", 2), lambda: EdgeCount(1, 2.5), lambda: Keep([(0, 1.5)])])  # type: ignore[arg-type]
def test_limits_and_pairs_are_whole_numbers(wrong: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"give a range from 0 on|number nodes from 0"):
        wrong()


@pytest.mark.parametrize("rule", [lambda original: True, lambda original, adjacency: 1 / 0, lambda *_: None])
def test_a_rule_that_fails_is_said(rule: Callable[..., bool]) -> None:
    with pytest.raises(UsageError, match=r"of Satisfies failed .*make it a function of the original graph"):
        TwoSidedMinimised(constraints=(Satisfies(rule),)).explain([unicyclic(8, 3, 0)], TreeCyclesOracle())


# -- a share of the pairs ------------------------------------------------------------------------------------------


def test_a_share_of_the_pairs_is_drawn_for_each_graph_by_its_name() -> None:
    graphs = GraphBatch.of([Graph(nx.to_numpy_array(tree(n, n)), name=f"g{n}") for n in (2, 5, 12, 30)])
    rule = KeepShare(share=0.2)
    closed = graphs.pair_mask & ~rule.editable(graphs)
    for i, graph in enumerate(graphs):
        n = graph.n_nodes
        kept = rule.kept(graph.name, n).tolist()
        assert len(kept) == len(set(kept)) == round(0.2 * n * (n - 1) / 2)
        assert sorted(map(tuple, closed[i].nonzero().tolist())) == [divmod(code, n) for code in kept]
        assert all(u < v for u, v in (divmod(code, n) for code in kept))
    assert torch.equal(rule.editable(graphs.select(torch.tensor([2])))[0, :12, :12], rule.editable(graphs)[2, :12, :12])
    draws = {KeepShare(0.2, seed).kept(name, 12).tobytes() for seed in (0, 1) for name in ("a", "b")}
    assert len(draws) == 4


def test_over_many_graphs_every_pair_is_kept_as_often() -> None:
    counts = np.zeros(36)
    pairs = {u * 9 + v: i for i, (u, v) in enumerate(nx.complete_graph(9).edges)}
    for i in range(2000):
        counts[[pairs[code] for code in KeepShare(0.25).kept(f"graph {i}", 9).tolist()]] += 1
    expected = 2000 * 0.25
    assert counts.sum() == 36 * expected and np.abs(counts - expected).max() < 5 * np.sqrt(2000 * 0.25 * 0.75)


@pytest.mark.parametrize("name", ["controls.TwoSidedMinimised", "controls.RandomEdits", "TaughtRSGGCE"])
def test_no_result_touches_the_pairs_that_stay(name: str) -> None:
    explainer, rule = fitted(name, "tree-cycles"), KeepShare(0.5)
    graphs = GraphBatch.of([unicyclic(9, 4, seed) for seed in range(8)])
    explainer.constraints = (rule,)
    try:
        results = explainer.explain(graphs, TreeCyclesOracle())
    finally:
        explainer.constraints = ()
    touched = [{u * 9 + v for u, v in one.edits} for one in results if one.found]
    kept_pairs = [set(rule.kept(graphs.names[one.instance], 9).tolist()) for one in results if one.found]
    assert len(touched) > 2 and not any(one & other for one, other in zip(touched, kept_pairs, strict=True))


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_that_is_none_is_a_sentence(share: float) -> None:
    with pytest.raises(UsageError, match="give a number from 0 to 1"):
        KeepShare(share)
