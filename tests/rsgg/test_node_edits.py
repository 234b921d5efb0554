"""The ranked search with edits of nodes: labels, leaves that come and go, beside edges."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rsgg.compose import BestOf, FirstOf, Minimised
from rsgg.constraints import (
    Among,
    Constraint,
    EdgeCount,
    Forbid,
    Keep,
    KeepConnected,
    KeepLabels,
    KeepShare,
    MostNeighbours,
    OnlyAdditions,
    OnlyRemovals,
    Satisfies,
)
from rsgg.counterfactual import Candidate, Counterfactual, candidates_of
from rsgg.edits import (
    ADD_LEAF,
    RELABEL,
    Codes,
    NodeEdit,
    applied,
    codes_between,
    made_of,
    node_codes,
    of_nodes,
    origins,
    plain_labels,
)
from rsgg.errors import FitError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import evaluate
from rsgg.minimise import minimise_edits
from rsgg.oracles import CountingOracle
from rsgg.oracles.oracle import Oracle
from rsgg.rsgg_ce import RankedRSGGCE, TaughtRSGGCE
from rsgg.rsgg_ce.node_edits import cost, learnt_rates, possible, seen_labels
from rsgg.rsgg_ce.ranked import cheapest, lengths_by_class, search
from rsgg.rsgg_ce.search import NODES, Found, Lengths
from rsgg.seeds import seed_for
from tests.rsgg.test_edits import labelled, some_edits
from tests.rsgg.test_ranked import Hashed

mpl.use("Agg")


class Labels(Oracle):
    """Class 1 where two nodes or more have the label 2: no edit of an edge changes that."""

    name = "labels"

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        assert graphs.features is not None
        return (graphs.features[..., 2].sum(1) >= 2).long()


class AnyRule(Oracle):
    """Any function of the labelled graph: class 1 for a random share of all graphs."""

    name = "any rule"

    def __init__(self, key: int, rare: int) -> None:
        self.key, self.rare = key, rare

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        said = [seed_for(self.key, g.adjacency.tobytes(), plain_labels(g).tobytes()) % self.rare == 0 for g in graphs]
        return torch.tensor(said, dtype=torch.long)


def graphs_with_labels(count: int, first: int = 0) -> GraphBatch:
    return GraphBatch.of([labelled(first + i, 3 + i % 5) for i in range(count)])


TRAIN, TEST = graphs_with_labels(30), graphs_with_labels(20, first=100)
ORACLE = Labels()
SMALL: dict[str, Any] = {"steps": 10, "hidden": 8, "latent": 4, "layers": 1}


@lru_cache
def taught(*constraints: Constraint) -> TaughtRSGGCE:
    explainer = TaughtRSGGCE(node_edits=True, certify=True, constraints=constraints, **SMALL)
    return explainer.fit(TRAIN, ORACLE, seed=1)


def all_edits(result: Counterfactual, n: int | None = None) -> Codes:
    return codes_between(result.input, result.returned, result.node_edits, n)


def flips(graph: Graph, codes: Codes, oracle: Oracle = ORACLE) -> bool:
    batch = GraphBatch.of([graph])
    made = applied(batch, torch.tensor([0]), [codes])
    return bool(oracle.predict(made) != oracle.predict(batch))


# -- What is found -------------------------------------------------------------------------------------------------


def test_what_no_edge_changes_is_found_by_edits_of_nodes() -> None:
    pairs_only = TaughtRSGGCE(certify=True, **SMALL)
    with pytest.warns(Warning, match="taught by no graph"):
        pairs_only.fit(TRAIN, ORACLE, seed=1)
    assert not any(one.found for one in pairs_only.explain(TEST, ORACLE))
    results = taught().explain(TEST, ORACLE, seed=3)
    assert all(one.found and one.irreducible and one.node_edits and not one.edits for one in results)
    twos, goal = [int((plain_labels(graph) == 2).sum()) for graph in TEST], 2 - ORACLE.predict(TEST)
    fewest = [abs(have - want) for have, want in zip(twos, goal.tolist(), strict=True)]
    assert [len(one.node_edits) for one in results] == fewest, "leaves and labels count alike for the oracle"
    assert np.mean([one.calls for one in results]) < 8


def test_every_edit_of_a_certified_result_is_needed() -> None:
    for key in range(6):
        oracle = AnyRule(key, 4)
        nodes = possible(TEST, seen_labels(TEST))
        classes = oracle.predict(TEST)
        scores = torch.zeros(len(TEST), TEST.n_nodes, TEST.n_nodes)
        found = search(
            TEST, classes, CountingOracle(oracle), scores, [Lengths()] * 20, seed=key, certify=True, nodes=nodes
        )
        for i, one in enumerate(found):
            if one.edits is None:
                continue
            (candidate,) = candidates_of(TEST, [i], [one.edits])
            made = Graph(TEST[i].adjacency, TEST[i].features) if candidate.edited is None else candidate.edited.graph
            if candidate.edited is not None:
                assert int(oracle.predict(GraphBatch.of([made]))) != int(classes[i])
            assert one.irreducible
            row = torch.zeros(len(one.edits), dtype=torch.long) + i
            without = [np.delete(one.edits, j) for j in range(len(one.edits))]
            assert (oracle.predict(applied(TEST, row, without)) == classes[i]).all()


def test_further_candidates_make_other_edits() -> None:
    results = taught().explain(TEST, ORACLE, k=3, seed=3)
    for i in range(0, len(results), 3):
        edits = [set(all_edits(one).tolist()) for one in results[i : i + 3] if one.found]
        assert len(edits) >= 2 and not any(a & b for j, a in enumerate(edits) for b in edits[:j])


def test_what_was_learnt_is_saved(tmp_path: Path) -> None:
    loaded = TaughtRSGGCE.load(taught().save(tmp_path / "nodes"))
    before, after = (one.explain(TEST, ORACLE, seed=3) for one in (taught(), loaded))
    assert loaded.node_edits and [(a.node_edits, a.calls) for a in before] == [(b.node_edits, b.calls) for b in after]


def test_results_do_not_depend_on_the_rest_of_the_batch() -> None:
    together = taught().explain(TEST, ORACLE, seed=3)
    for i in (3, 12):
        (alone,) = taught().explain([TEST[i]], ORACLE, seed=3)
        assert (alone.node_edits, alone.edits, alone.calls) == (
            together[i].node_edits,
            together[i].edits,
            together[i].calls,
        )


def test_the_scores_of_the_score_function_take_edits_of_nodes_too() -> None:
    small: dict[str, Any] = {"epochs": 5, "warmup": 2, "batch": 8, "samples": 2, "hidden": 8, "latent": 4, "layers": 1}
    explainer = RankedRSGGCE(node_edits=True, certify=True, generator="untrained", **small).fit(TRAIN, ORACLE)
    assert all(one.found for one in explainer.explain(TEST, ORACLE))


def test_without_one_hot_labels_a_sentence_says_what_is_missing() -> None:
    plain = [nx.path_graph(4), nx.cycle_graph(4)] * 4

    class Edges(Oracle):
        name = "edges"

        def predict(self, graphs: GraphBatch) -> torch.Tensor:
            return (graphs.n_edges > 3).long()

    with pytest.raises(FitError, match="one-hot"):  # in a table a gap with this reason, not a failure
        TaughtRSGGCE(node_edits=True, **SMALL).fit(plain, Edges())
    assert all(one.found for one in TaughtRSGGCE(**SMALL).fit(plain, Edges()).explain(plain, Edges()))


def test_the_generators_learn_the_same_with_and_without_edits_of_nodes() -> None:
    oracle = AnyRule(5, 3)
    pairs, nodes = (TaughtRSGGCE(node_edits=on, **SMALL).fit(TRAIN, oracle, seed=1) for on in (False, True))
    classes = oracle.predict(TEST)
    assert torch.equal(pairs.edit_scores(TEST, classes), nodes.edit_scores(TEST, classes))
    assert not any(name.startswith("nodes.") or name.endswith(".nodes") for name in pairs._state())


def test_without_edits_of_nodes_the_search_asks_and_finds_what_it_always_did() -> None:
    """The hash was taken before there were edits of nodes."""
    said = []
    for key in range(12):
        graphs = GraphBatch.of([nx.gnp_random_graph(5 + i % 3, 0.4, seed=key + i) for i in range(8)])
        oracle = CountingOracle(Hashed(key, (5, 20, 80)[key % 3]))
        scores = torch.from_numpy(np.random.default_rng(key).random((8, 7, 7)))
        additions = np.array([1, 1, 2, 3][: key % 5], dtype=np.int64)
        both = np.array([[1, 1]] * (key % 4), dtype=np.int64).reshape(-1, 2)
        found = search(
            graphs, oracle.oracle.predict(graphs), oracle, scores, [Lengths(np.array([1, 2, 2]), additions, both)] * 8,
            seed=key, k=2, certify=key % 2 == 0, mixtures=30,
        )  # fmt: skip
        said.append(([None if one.edits is None else one.edits.tolist() for one in found], oracle.calls))
    assert hashlib.sha256(repr(said).encode()).hexdigest()[:16] == "658b32bbaaa1e279"


# -- Orders --------------------------------------------------------------------------------------------------------


def test_rates_are_shares_of_the_edits_that_there_were() -> None:
    graphs = GraphBatch.of([Graph(nx.to_numpy_array(nx.path_graph(3)), np.eye(3)[[0, 0, 1]])] * 2)
    seen = seen_labels(graphs)
    assert seen.tolist() == [True, True, False]
    (nodes, _) = possible(graphs, seen)
    assert len(nodes.codes) == 3 * 1 + 3 * 2 + 2, "another label, a leaf of a label, an end that is dropped"
    needed = [np.array([node_codes(RELABEL, 0, 1, 3)]), np.array([node_codes(RELABEL, 1, 1, 3)])]
    rates = np.exp(learnt_rates(graphs, needed, seen))
    overall = 2 / 22
    assert rates[RELABEL, 0, 1] == pytest.approx((2 + 100 * overall) / (4 + 100))
    assert rates[ADD_LEAF, 0, 0] == pytest.approx(100 * overall / (4 + 100))
    (ranked, _) = possible(graphs, seen, [learnt_rates(graphs, needed, seen)] * 2)
    assert set(ranked.codes[np.argsort(-ranked.score)][:2]) == {int(node_codes(RELABEL, v, 1, 3)) for v in (0, 1)}


def test_constraints_close_kinds_of_edits() -> None:
    def kinds(*constraints: Constraint) -> set[int]:
        codes = possible(TEST[:1], seen_labels(TEST), None, constraints)[0].codes
        n = TEST[:1].n_nodes
        return {int((code - n * n) // (n * 1024)) for code in codes}

    assert kinds() == {0, 1, 2} and kinds(KeepLabels()) == {1, 2} and kinds(KeepLabels(), OnlyRemovals()) == {2}


def test_the_cheaper_of_pairs_and_nodes_teaches() -> None:
    pair, leaf = Found(np.array([1])), Found(np.array([int(node_codes(ADD_LEAF, 0, 1, 4))]))
    label, pairs, nothing = Found(np.array([int(node_codes(RELABEL, 0, 1, 4))])), Found(np.array([1, 2])), Found()
    assert cheapest(pair, label, 4) is pair and cheapest(pairs, label, 4) is label and cheapest(pairs, leaf, 4) is pairs
    assert cheapest(nothing, leaf, 4) is leaf and cheapest(pair, nothing, 4) is pair


def test_lengths_count_graphs_that_needed_edits_of_nodes() -> None:
    graphs = GraphBatch.of([Graph(nx.to_numpy_array(nx.path_graph(4)), np.eye(3)[[0, 1, 2, 0]])] * 3)
    node = int(node_codes(RELABEL, 0, 1, 4))
    found = [Found(np.array([node, node + 1])), Found(np.array([0 * 4 + 1])), Found(np.array([0 * 4 + 2, node]))]
    (lengths,) = lengths_by_class(graphs, torch.zeros(3, dtype=torch.long), found, 1)
    assert lengths.nodes.tolist() == [2, 2] and lengths.removals.tolist() == [1] and lengths.sides[0] == NODES
    assert cost(np.array([1, node, int(node_codes(ADD_LEAF, 0, 1, 4))]), 4) == 4


# -- Made minimal, composed ----------------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([2, 5]))
def test_a_minimised_set_still_flips_and_is_part_of_what_it_was(seed: int, rare: int) -> None:
    oracle, sizes = AnyRule(seed, rare), [3, 5, 6, 4]
    graphs = GraphBatch.of([labelled(seed + i, n) for i, n in enumerate(sizes)])
    edits = [
        np.array([code for code in some_edits(seed + i, 6, 8).tolist() if _real(code, 6, n)], dtype=np.int64)
        for i, n in enumerate(sizes)
    ]
    classes = oracle.predict(graphs)
    valid = (oracle.predict(applied(graphs, torch.arange(4), edits)) != classes).nonzero().flatten()
    if not len(valid):
        return
    part, before = graphs.select(valid), [edits[i] for i in valid.tolist()]
    after = minimise_edits(part, classes[valid], before, CountingOracle(oracle), torch.arange(len(valid)), seed)
    assert (oracle.predict(applied(part, torch.arange(len(valid)), after)) != classes[valid]).all()
    assert all(set(small.tolist()) <= set(large.tolist()) for small, large in zip(after, before, strict=True))


def test_no_edit_of_a_minimised_set_can_be_left_out() -> None:
    graphs = GraphBatch.of(
        [Graph(nx.to_numpy_array(nx.path_graph(6)), np.eye(3)[[0] * 6])] * 20, named_by_position=True
    )
    codes = np.array([*node_codes(RELABEL, np.arange(3), 2, 6), 1, 2, 3, 8, 9, node_codes(ADD_LEAF, 5, 1, 6)])
    classes, owners = torch.zeros(20, dtype=torch.long), torch.arange(20)
    minimal = minimise_edits(graphs, classes, [codes] * 20, CountingOracle(ORACLE), owners, 0)
    labels = set(codes[:3].tolist())
    assert all(len(one) == 2 and set(one.tolist()) < labels for one in minimal), "two nodes of label 2 are enough"


def _real(code: int, padded: int, n: int) -> bool:
    """Is this edit about nodes that a graph of n nodes has?"""
    return max(divmod(code, padded)) < n if code < padded**2 else (code - padded**2) // 1024 % padded < n


class Wasteful(Explainer):
    """Gives nodes 0, 1 and 2 the label 2, adds a leaf and drops whatever it can, whether the class changes or not."""

    capabilities = Capabilities(adds=True, removes=True, may_return_invalid=True)

    def _explain(self, graphs, classes, oracle, k, seed):
        n = graphs.n_nodes
        codes = np.array([*node_codes(RELABEL, np.arange(3), 2, n), node_codes(ADD_LEAF, 0, 2, n), 0 * n + 1])
        return [one for i in range(len(graphs)) for one in candidates_of(graphs, [i] * k, [codes] * k)]


def test_any_explainer_with_edits_of_nodes_is_made_minimal() -> None:
    few = GraphBatch.of([g for g in TEST if (plain_labels(g) == 2).sum() < 2])
    results = Minimised(base=Wasteful()).explain(few, ORACLE)
    assert len(results) > 3 and all(one.found for one in results)
    for one in results:
        codes = all_edits(one)
        assert not one.edits and all(not flips(one.input, np.delete(codes, j)) for j in range(len(codes)))
    many = GraphBatch.of([g for g in TEST if (plain_labels(g) == 2).sum() >= 2])
    assert all("does not change" in one.reason for one in Minimised(base=Wasteful()).explain(many, ORACLE))
    kept = Minimised(base=Wasteful(), constraints=(KeepLabels(),)).explain(few, ORACLE)
    assert all("breaks KeepLabels" in one.reason for one in kept)


def test_composed_explainers_pass_edits_of_nodes_on() -> None:
    second = FirstOf(first=TaughtRSGGCE(**SMALL), second=TaughtRSGGCE(node_edits=True, **SMALL))
    with pytest.warns(Warning, match="taught by no graph"):
        second.fit(TRAIN, ORACLE)
    assert all(one.found and one.node_edits for one in second.explain(TEST, ORACLE))
    best = BestOf(base=taught(), k=3).explain(TEST, ORACLE, seed=3)
    assert all(one.found for one in best)
    single = taught().explain(TEST, ORACLE, seed=3)
    assert _costs(best) <= _costs(single)


def _costs(results: list[Counterfactual]) -> int:
    return sum(len(one.edits) + sum(edit.cost for edit in one.node_edits) for one in results)


# -- Constraints -----------------------------------------------------------------------------------------------------

RULES: list[Constraint] = [
    OnlyRemovals(),
    OnlyAdditions(),
    KeepLabels(),
    Keep(((0, 1), (1, 2))),
    Forbid(((0, 2),)),
    KeepShare(0.4),
    Among(((0, 1), (0, 2))),
    KeepConnected(),
    MostNeighbours(2),
    MostNeighbours(9, by_label=(3, 2, 1)),
    EdgeCount(2, 5),
    Satisfies(lambda original, adjacency: bool(adjacency[0].sum() <= original.adjacency[0].sum())),
]


def keeps(rule: Constraint, result: Counterfactual) -> bool:
    """Is the rule kept? By NetworkX and the records of edits alone."""
    before, made = result.input, result.returned
    origin = origins(result.node_edits, before.n_nodes)
    after = nx.from_numpy_array(made.adjacency)
    kinds = {one.kind for one in result.node_edits}
    ends = [(one.node, one.neighbour) for one in result.node_edits if one.kind == "drop" and one.neighbour is not None]
    removed = {frozenset(pair) for pair in [*result.removed, *ends]}
    added = {frozenset(pair) for pair in result.added}
    match rule:
        case OnlyRemovals():
            return not added and "add" not in kinds
        case OnlyAdditions():
            return not removed and "drop" not in kinds
        case KeepLabels():
            return "relabel" not in kinds
        case Keep(pairs):
            return not (removed | added) & {frozenset(pair) for pair in pairs}
        case KeepShare():
            closed = rule.kept(before.name, before.n_nodes).tolist()
            return not (removed | added) & {frozenset(divmod(code, before.n_nodes)) for code in closed}
        case Forbid(pairs):
            return not added & {frozenset(pair) for pair in pairs}
        case Among(pairs):
            return removed | added <= {frozenset(pair) for pair in pairs} and "add" not in kinds
        case KeepConnected():
            whole = nx.number_connected_components(nx.from_numpy_array(before.adjacency))
            return nx.number_connected_components(after) <= whole
        case MostNeighbours(most, by_label):
            return all(_few(node, after, made, before, origin, most, by_label) for node in after)
        case EdgeCount(least, most):
            return least <= after.number_of_edges() <= most
        case _:
            own = made.adjacency[origin.index(0)].sum() if 0 in origin else 0
            return bool(own <= before.adjacency[0].sum())


def _few(
    node: int, after: nx.Graph, made: Graph, before: Graph, origin: list[int], most: int, by_label: tuple[int, ...]
) -> bool:
    label, source = int(plain_labels(made)[node]), origin[node]
    limit = by_label[label] if by_label else most
    if source >= 0 and plain_labels(before)[source] == label:
        limit = max(limit, int(before.adjacency[source].sum()))
    return bool(after.degree[node] <= limit)


@lru_cache
def of_any_rule() -> TaughtRSGGCE:
    return TaughtRSGGCE(node_edits=True, certify=True, **SMALL).fit(TRAIN, AnyRule(1, 4), seed=1)


@settings(max_examples=300 if "RSGG_LONG" in os.environ else 12, deadline=None)
@given(st.integers(0, 10**6), st.lists(st.sampled_from(RULES), min_size=1, max_size=2, unique_by=repr))
def test_constraints_hold_in_every_returned_graph(seed: int, rules: list[Constraint]) -> None:
    explainer = of_any_rule()
    explainer.constraints = tuple(rules)
    oracle, graphs = AnyRule(seed, 6), graphs_with_labels(6, first=seed)
    try:
        results = explainer.explain(graphs, oracle, seed=seed, k=2)
    finally:
        explainer.constraints = ()
    for one in results:
        assert "returned breaks" not in one.reason
        assert not one.found or all(keeps(rule, one) for rule in rules), (rules, one.edits, one.node_edits)


def test_constraints_leave_edits_of_nodes_that_they_allow() -> None:
    for rules in ((OnlyRemovals(), KeepConnected()), (KeepLabels(),), (Among(((0, 1),)),)):
        results = taught(*rules).explain(TEST, ORACLE, seed=3)
        assert sum(one.found for one in results) >= 8
        assert all(keeps(rule, one) for rule in rules for one in results if one.found)


# -- For people and tables -------------------------------------------------------------------------------------------


def all_kinds() -> Counterfactual:
    graph = Graph(nx.to_numpy_array(nx.path_graph(4)), np.eye(3)[[0, 1, 2, 0]], node_names=("C", "N", "O", "H"))
    codes = [node_codes(RELABEL, 1, 2, 4), node_codes(ADD_LEAF, 0, 1, 4), node_codes(2, 3, 0, 4), 0 * 4 + 2]
    made = made_of(graph, np.array(codes))
    return Counterfactual(graph, made.graph, 0, 0, "", 1, 0.0, before=0, after=1, node_edits=made.node_edits)


def test_a_result_in_words_and_pictures() -> None:
    result = all_kinds()
    assert result.in_words() == (
        "Add the edge C–O, give node N the label 2 instead of 1, add a leaf of label 1 to node C and drop node H with "
        "its edge to O, and the class changes from 0 to 1."
    )
    axes = result.plot()
    assert [text.get_text() for text in axes.texts] == ["C", "N", "O", "H", "+1"]
    page = result._repr_html_()
    assert page.count("<circle") == 5 and page.count('class="added"') == 2 and page.count('class="removed"') == 1
    assert list(result.to_networkx()) == ["C", "N", "O", "new 1"] and result.to_pyg().num_nodes == 4
    assert result.edits == result.added == [(0, 2)] and result.removed == []


def test_tables_hold_edits_of_nodes() -> None:
    results = taught().explain(TEST, ORACLE, seed=3)
    rows = evaluate(results, ORACLE, torch.zeros(20, dtype=torch.long))
    assert (rows["predicted"] != rows["predicted_cf"]).all()
    assert rows["ged"].tolist() == [sum(edit.cost for edit in one.node_edits) for one in results]
    for one, pairs, nodes in zip(results, rows["edits"], rows["node_edits"], strict=True):
        assert made_of(one.input, np.array([*pairs, *nodes], dtype=np.int64)).node_edits == one.node_edits


def test_an_edit_that_has_no_effect_is_no_result() -> None:
    graphs = GraphBatch.of([Graph(nx.to_numpy_array(nx.cycle_graph(4)), np.eye(3)[[0, 1, 2, 0]])])
    (candidate,) = candidates_of(graphs, [0], [np.array([node_codes(2, 1, 0, 4)])])
    assert candidate.edited is None and torch.equal(candidate.adjacency, graphs.adjacency[0])  # type: ignore[arg-type]
    assert candidate.offered and not Candidate(None).offered
    assert NodeEdit("drop", 1).cost == 1 and len(of_nodes(np.array([1, 99]), 4)) == 1
