"""The metrics against NetworkX, plain loops and counts by hand."""

from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import jaccard_score, precision_recall_fscore_support, recall_score, roc_auc_score

from rsgg import metrics
from rsgg.counterfactual import Counterfactual
from rsgg.data.motifs import Motifs
from rsgg.errors import UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import CORE_COLUMNS, consensus_edits, diversity, evaluate, ged
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle


class CountsEdges(Oracle):
    """Class 1 iff the entries above the diagonal sum to more than three: sees multiplicities."""

    name = "counts-edges"

    def __init__(self) -> None:
        self.batches: list[int] = []

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        self.batches.append(len(graphs))
        return (torch.triu(graphs.adjacency.long(), 1).sum((1, 2)) > 3).long()


def result(before: np.ndarray, after: np.ndarray | None, instance=0, candidate=0, calls=3, seconds=0.5):
    offered = None if after is None else Graph.unchecked(after.astype(np.uint8))
    return Counterfactual(Graph(before), offered, instance, candidate, "" if offered else "gave up", calls, seconds)


@st.composite
def adjacency(draw, n=None, loops=False):
    n = draw(st.integers(2, 7)) if n is None else n
    entries = draw(st.lists(st.integers(0, 1), min_size=n * n, max_size=n * n))
    upper = np.triu(np.array(entries).reshape(n, n), 0 if loops else 1)
    return upper | upper.T


@st.composite
def edited(draw):
    before = draw(adjacency())
    return before, draw(adjacency(n=len(before), loops=True))


# -- the paper's metrics -----------------------------------------------------------------------------------------


@given(edited())
def test_ged_counts_the_pairs_that_differ_and_half_for_loops(pair):
    before, after = pair
    expected = 0.0
    for u in range(len(before)):
        for v in range(u, len(before)):
            expected += (before[u, v] != after[u, v]) * (0.5 if u == v else 1)
    assert ged(before, after) == expected
    assert ged(np.stack([before, before]), np.stack([after, before])).tolist() == [expected, 0]


def test_ged_is_networkxs_under_fixed_nodes_and_ignores_multiplicities():
    before, after = nx.path_graph(5), nx.cycle_graph(5)
    after.remove_edge(1, 2)
    for graph in (before, after):
        nx.set_node_attributes(graph, {v: v for v in graph}, "name")
    theirs = nx.graph_edit_distance(before, after, node_match=lambda a, b: a == b)
    matrices = [nx.to_numpy_array(graph, nodelist=range(5)) for graph in (before, after)]
    assert ged(*matrices) == theirs == 2
    assert ged(matrices[0], 2 * matrices[1]) == 2


@pytest.mark.parametrize(("y", "phi", "phi_cf"), [(y, a, b) for y in (0, 1) for a in (0, 1) for b in (0, 1)])
def test_indicators_for_every_combination_of_classes(y, phi, phi_cf):
    assert metrics.correctness(phi, phi_cf) == int(phi != phi_cf)
    assert metrics.oracle_accuracy(y, phi) == int(phi == y)
    assert metrics.fidelity(y, phi, phi_cf) == int(phi == y) - int(phi_cf == y)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12), st.integers(0, 2))
def test_validity_of_a_class_is_the_recall_of_leaving_it(classes, c):
    """By scikit-learn: of the graphs of class c, how often "has left it" is said."""
    before, after = map(np.array, zip(*classes, strict=True))
    found = metrics.correctness_of_class(metrics.correctness(before, after), before, c)
    assert np.array_equal(np.isnan(found), before != c)
    if (before == c).any():
        assert np.nanmean(found) == pytest.approx(recall_score(before == c, (before == c) & (after != c)))


def test_sparsity_divides_by_nodes_and_edges_of_the_input():
    assert metrics.sparsity([27.566, 11.0], 28, [27.566, 27]) == pytest.approx([27.566 / 55.566, 0.2])


# -- several candidates --------------------------------------------------------------------------------------------


@given(edited(), st.data())
@settings(max_examples=40)
def test_distance_between_candidates_is_the_ged_between_their_graphs(pair, data):
    before, one = pair
    other = data.draw(adjacency(n=len(before), loops=True))
    n = len(before)
    edits = [[u * n + v for u, v in result(before, after).edits] for after in (one, other)]
    assert metrics.edits_distance(*edits, n) == ged(one, other)  # type: ignore[arg-type, call-arg]


def test_validity_diversity_and_consensus_by_hand():
    assert metrics.validity_at_k([[0, 0, 1], [0, 0, 0]], 2).tolist() == [0, 0]
    assert metrics.validity_at_k([[0, 0, 1], [0, 0, 0]], 3).tolist() == [1, 0]
    n = 10  # pairs 12, 13, 25 are edges; 11 is the self loop of node 1
    assert diversity([[12], [12, 13], [12, 11]], n) == pytest.approx((1 + 0.5 + 1.5) / 3)
    assert np.isnan(diversity([[12]], n)) and np.isnan(diversity([], n))
    assert consensus_edits([[12, 13], [12, 25], [13, 12]]) == [12, 13]
    assert consensus_edits([[12], [13]]) == []
    assert consensus_edits([]) == []


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.integers(0, 8), min_size=1), max_size=5), st.sampled_from([0.0, 0.5, 0.9]))
def test_how_far_candidates_agree_is_counted_pair_by_pair(sets: list[set[int]], share: float):
    """Again with plain loops over two candidates, and over the pairs that any of them edits."""
    apart, agreed, any_edits = [], 0, set().union(*sets)
    for i in range(len(sets)):
        for j in range(i):
            shared = sum(pair in sets[j] for pair in sets[i])
            apart.append(1 - shared / (len(sets[i]) + len(sets[j]) - shared))
    for pair in any_edits:
        agreed += sum(pair in one for one in sets) > share * len(sets)
    if len(sets) < 2:
        assert np.isnan(metrics.jaccard_distance(sets)) and np.isnan(metrics.consensus(sets, share))
    else:
        assert metrics.jaccard_distance(sets) == pytest.approx(sum(apart) / len(apart))
        assert metrics.consensus(sets, share) == pytest.approx(agreed / len(any_edits))
        assert (metrics.jaccard_distance(sets) == 0) == all(one == sets[0] for one in sets)


def test_several_candidates_of_a_ledger():
    rows = [
        {"fold": 0, "instance": 0, "candidate": 0, "predicted": 0, "predicted_cf": 0, "n_nodes": 10, "edits": []},
        {"fold": 0, "instance": 0, "candidate": 1, "predicted": 0, "predicted_cf": 1, "n_nodes": 10, "edits": [12, 13]},
        {
            "fold": 0,
            "instance": 0,
            "candidate": 2,
            "predicted": 0,
            "predicted_cf": 1,
            "n_nodes": 10,
            "edits": np.array([12]),
        },
        {"fold": 0, "instance": 1, "candidate": 0, "predicted": 1, "predicted_cf": 1, "n_nodes": 10, "edits": []},
    ]
    summary = metrics.several_candidates(pd.DataFrame(rows)).set_index("instance")
    assert summary.loc[0, ["k", "validity_at_k", "diversity", "distinct"]].tolist() == [3, 1.0, 1.0, 2]
    assert summary.loc[0, ["validity_at_1", "jaccard_distance", "consensus"]].tolist() == [0.0, 0.5, 0.5]
    assert summary.loc[0, "consensus_edits"] == [12]
    assert summary.loc[1, ["k", "validity_at_k", "distinct"]].tolist() == [1, 0.0, 0]


def test_candidates_are_summed_up_in_the_order_of_their_instances():
    row = {"fold": 0, "predicted": 0, "predicted_cf": 1, "n_nodes": 10, "candidate": 0}
    ledger = pd.DataFrame([{**row, "instance": i, "edits": [i]} for i in (5, 2, 9, 0)])
    assert metrics.several_candidates(ledger)["instance"].tolist() == [0, 2, 5, 9]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("decides", [True, False])
def test_where_all_edges_decide_or_none_there_is_no_auroc_and_no_warning(decides):
    graphs = GraphBatch.of([Graph(nx.to_numpy_array(nx.cycle_graph(4)))])
    important = graphs.edge_mask if decides else torch.zeros_like(graphs.edge_mask)
    assert np.isnan(metrics.removal_auroc(torch.rand(1, 4, 4), graphs, important)).all()


@given(edited(), st.data())
@settings(max_examples=40)
def test_removal_auroc_is_the_mann_whitney_statistic(pair, data):
    matrix, n = pair[0], len(pair[0])
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=n * n, max_size=n * n))
    kept = np.array(scores).reshape(n, n)
    graph = nx.from_numpy_array(matrix)
    on_cycle = {
        tuple(sorted(edge))
        for cycle in nx.simple_cycles(graph)
        for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    }
    removals = {edge: 1 - kept[edge] for edge in map(tuple, map(sorted, graph.edges))}
    groups = [[r for edge, r in removals.items() if (edge in on_cycle) is inside] for inside in (True, False)]
    important = torch.zeros(1, n, n, dtype=torch.bool)
    for u, v in on_cycle:
        important[0, u, v] = True
    ours = metrics.removal_auroc(torch.from_numpy(kept)[None], GraphBatch.of([Graph(matrix)]), important)[0]
    if all(groups):
        assert ours == pytest.approx(stats.mannwhitneyu(*groups).statistic / (len(groups[0]) * len(groups[1])))
    else:
        assert np.isnan(ours)


# -- curves, stability, motifs -----------------------------------------------------------------------------------


def area_of_steps(values: list[float], correct: list[bool], low: float, high: float) -> float:
    """The area under "share of instances that are correct at no more than x", summed step by step from low to high."""
    ends = sorted({low, high, *(v for v in values if low < v < high)})
    area = 0.0
    for start, end in pairwise(ends):
        area += (end - start) * float(np.mean([ok and v <= start for v, ok in zip(values, correct, strict=True)]))
    return area / (high - low)


outcomes = st.lists(st.tuples(st.integers(0, 40).map(lambda half: half / 2), st.booleans()), min_size=1, max_size=12)


@given(outcomes, st.integers(1, 30))
def test_the_area_over_ged_is_that_under_the_steps(drawn, limit):
    distance, correct = [d for d, _ in drawn], [ok for _, ok in drawn]
    ours = metrics.area_over_ged(distance, correct, limit)
    assert ((ours >= 0) & (ours <= 1)).all()
    assert ours.mean() == pytest.approx(area_of_steps(distance, correct, 0, limit))


@given(st.lists(st.tuples(st.integers(0, 3000), st.booleans()), min_size=1, max_size=12), st.integers(2, 2000))
def test_the_area_over_calls_has_a_logarithmic_axis(drawn, limit):
    calls, correct = [c for c, _ in drawn], [ok for _, ok in drawn]
    expected = area_of_steps([float(np.log(max(1, c))) for c in calls], correct, 0, float(np.log(limit)))
    assert metrics.area_over_calls(calls, correct, limit).mean() == pytest.approx(expected)


def test_areas_by_hand():
    assert metrics.area_over_ged([0, 5, 10, 20, 1], [1, 1, 1, 1, 0], 10).tolist() == [1, 0.5, 0, 0, 0]
    assert metrics.area_over_calls([1, 10, 100, 0], [1, 1, 1, 1], 100).tolist() == pytest.approx([1, 0.5, 0, 1])
    for area, limit in ((metrics.area_over_ged, 0), (metrics.area_over_calls, 1)):
        with pytest.raises(UsageError, match=f"limit above {limit}; it was given {limit}"):
            area([1], [1], limit)


codes = st.lists(st.integers(0, 8), max_size=6)


@given(codes, codes)
def test_jaccard_is_that_of_scikit_learn(edits, other):
    ours = metrics.jaccard(edits, other)
    marks = [[code in chosen for code in range(9)] for chosen in (edits, other)]
    assert ours == pytest.approx(jaccard_score(*marks, zero_division=1.0))
    assert ours == metrics.jaccard(other, edits) == pytest.approx(1 - metrics.jaccard_distance([edits, other]))


@given(edited(), st.data())
def test_motif_recovery_is_that_of_scikit_learn(pair, data):
    matrix, n = pair[0], len(pair[0])
    edges = [(u, v) for u in range(n) for v in range(u + 1, n) if matrix[u, v]]
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    deleted = data.draw(st.lists(st.sampled_from(pairs), unique=True))
    known = data.draw(st.lists(st.sampled_from(edges), unique=True)) if edges else []
    motif = np.zeros((n, n), dtype=bool)
    for u, v in known:
        motif[u, v] = True
    ours = metrics.motif_recovery([*(u * n + v for u, v in deleted), n * n, n * n + 5], matrix, motif)
    if not known:
        assert np.isnan(ours).all()
        return
    truth, chosen = [edge in known for edge in edges], [edge in deleted for edge in edges]
    expected = precision_recall_fscore_support(truth, chosen, average="binary", zero_division=np.nan)
    assert ours.recall == pytest.approx(expected[1])
    if any(chosen):
        assert ours == pytest.approx(expected[:3])
    else:
        assert np.isnan(ours.precision) and ours.f1 == 0


def test_motif_recovery_on_a_data_set():
    """Deleting two edges of the triangle and one other of the first graph."""
    data = Motifs("Triangle-House", n_graphs=1).load()
    assert data.motif is not None
    matrix, motif, n = data.graphs[0].adjacency, data.motif[0].numpy(), data.graphs[0].n_nodes
    inside = [int(code) for code in np.flatnonzero(motif)]
    outside = [int(code) for code in np.flatnonzero(np.triu(matrix) & ~motif)]
    recovered = metrics.motif_recovery([*inside[:2], outside[0]], matrix, motif)
    assert recovered == pytest.approx((2 / 3, 2 / 3, 2 / 3)) and len(inside) == 3
    scores = np.random.default_rng(0).random((n, n))
    ours = metrics.removal_auroc(torch.from_numpy(scores)[None], data.graphs, data.motif)[0]
    at = np.triu(matrix).astype(bool)
    assert ours == pytest.approx(roc_auc_score(motif[at], 1 - scores[at]))


# -- evaluate ------------------------------------------------------------------------------------------------------


def test_evaluate_against_networkx():
    rng = np.random.default_rng(0)
    pairs = []
    for i in range(40):
        n = int(rng.integers(3, 9))
        before, after = (nx.to_numpy_array(nx.gnp_random_graph(n, 0.3, seed=100 * i + j)).astype(int) for j in range(2))
        pairs.append((before, after))
    results = [result(before, after, instance=i, calls=i) for i, (before, after) in enumerate(pairs)]
    labels = torch.from_numpy(rng.integers(0, 2, size=len(pairs)))
    frame = evaluate(results, TreeCyclesOracle(), labels, optimum=torch.arange(len(pairs)))
    assert tuple(frame.columns) == CORE_COLUMNS
    for row, (before, after) in zip(frame.itertuples(), pairs, strict=True):
        cyclic, cyclic_cf = (int(not nx.is_forest(nx.from_numpy_array(matrix))) for matrix in (before, after))
        difference = nx.symmetric_difference(nx.from_numpy_array(before), nx.from_numpy_array(after))
        assert (row.predicted, row.predicted_cf) == (cyclic, cyclic_cf)
        assert (row.n_nodes, row.n_edges, row.ged) == (len(before), before.sum() // 2, difference.number_of_edges())
        assert sorted(row.edits) == sorted(min(e) * len(before) + max(e) for e in difference.edges)
        assert (row.label, row.calls, row.optimum) == (labels[row.instance], row.instance, row.instance)


def test_labels_that_are_too_few_are_a_sentence() -> None:
    triangle = np.ones((3, 3), int) - np.eye(3, dtype=int)
    with pytest.raises(UsageError, match=r"There are 2 labels, but a result is of graph 2 \(from 0\)"):
        evaluate([result(triangle, None, instance=2)], TreeCyclesOracle(), [0, 1])


def test_a_failure_is_judged_on_the_input():
    triangle = np.ones((3, 3), int) - np.eye(3, dtype=int)
    row = evaluate([result(triangle, None)], TreeCyclesOracle(), torch.tensor([1])).iloc[0]
    assert (row.ged, row.predicted, row.predicted_cf, row.found, row.reason) == (0, 1, 1, False, "gave up")
    assert np.isnan(row.optimum) and list(row.edits) == []


def test_what_was_returned_is_taken_as_it_is():
    path = np.diag(np.ones(3, int), 1)
    path |= path.T
    doubled = path.copy()
    doubled[0, 1] = doubled[1, 0] = 2  # an edge drawn twice weighs 2 for the oracle and nothing for GED
    doubled[2, 2] = 1
    row = evaluate([result(path, doubled)], CountsEdges(), torch.tensor([0])).iloc[0]
    assert (row.predicted, row.predicted_cf, row.ged) == (0, 1, 0.5)
    assert list(row.edits) == [2 * 4 + 2]


def test_evaluation_asks_in_batches_and_charges_nobody():
    path = nx.to_numpy_array(nx.path_graph(4)).astype(int)
    oracle = CountsEdges()
    counter = CountingOracle(oracle, budget=1)
    evaluate([result(path, path * 0, instance=i) for i in range(5)], counter, torch.zeros(5, dtype=torch.long))
    assert counter.calls == counter.evaluated == 0
    assert oracle.batches == [5, 5]


def test_labels_may_be_a_list():
    path = nx.to_numpy_array(nx.path_graph(4)).astype(int)
    results = [result(path, path * 0, instance=i) for i in range(3)]
    assert evaluate(results, CountsEdges(), [2, 0, 1])["label"].tolist() == [2, 0, 1]


def test_what_a_method_offered_is_stored_whatever_the_oracle_says_of_it():
    path = nx.to_numpy_array(nx.path_graph(4)).astype(int)
    rejected = replace(result(path, path * 0), flips=False, reason="is of class 0, which is not another one")
    row = evaluate([rejected], TreeCyclesOracle(), [0]).iloc[0]
    assert not rejected.found and (row.found, row.reason, row.predicted_cf) == (True, "", 0)


def test_nothing_to_evaluate_is_an_empty_ledger():
    frame = evaluate([], TreeCyclesOracle(), torch.tensor([]))
    assert len(frame) == 0 and tuple(frame.columns) == CORE_COLUMNS


# -- robustness ----------------------------------------------------------------------------------------------------

CLASSES = st.integers(0, 2)


@given(st.data(), st.integers(1, 4), st.integers(1, 6))
def test_robustness_and_agreement_are_counted_oracle_by_oracle(data: st.DataObject, others: int, count: int) -> None:
    valid = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    own = data.draw(st.lists(CLASSES, min_size=count, max_size=count))
    before, after = (
        [data.draw(st.lists(CLASSES, min_size=count, max_size=count)) for _ in range(others)] for _ in range(2)
    )
    stays = metrics.robustness(np.array(valid, dtype=float), before, after)
    same = metrics.agreement(own, before)
    for i in range(count):
        still = sum(before[j][i] != after[j][i] for j in range(others)) / others
        assert stays[i] == pytest.approx(still) if valid[i] else np.isnan(stays[i])
        assert same[i] == pytest.approx(sum(before[j][i] == own[i] for j in range(others)) / others)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sets(st.integers(0, 9)), st.sets(st.integers(0, 9)), st.booleans(), st.booleans())))
def test_stability_is_the_jaccard_index_of_scikit_learn_where_both_are_valid(drawn) -> None:
    one, other, valid, then_valid = ([row[i] for row in drawn] for i in range(4))
    found = metrics.stability(one, other, np.array(valid, dtype=float), np.array(then_valid, dtype=float))
    for value, (a, b, first, second) in zip(found, drawn, strict=True):
        marks = [[pair in edits for pair in range(10)] for edits in (a, b)]
        expected = jaccard_score(*marks, zero_division=1.0) if second else 0.0
        assert value == pytest.approx(expected) if first else np.isnan(value)


def test_what_touches_a_frozen_pair_or_is_not_valid_is_not_actionable() -> None:
    edits = [[1, 2], [1, 2], [], [3], [4, 5]]
    frozen = [[3], [2, 9], [1], [1], []]
    assert metrics.actionability(edits, frozen, [1.0, 1.0, 1.0, 0.0, 1.0]).tolist() == [1.0, 0.0, 1.0, 0.0, 1.0]
    assert metrics.actionability([], [], []).tolist() == []


# -- rankings of edges -------------------------------------------------------------------------------------------


def test_auc_is_scikit_learns() -> None:
    """With ties."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, positive = rng.integers(6, size=15), rng.permutation(15) < 6
        assert metrics.auc(scores, positive) == pytest.approx(roc_auc_score(positive, scores))
    assert np.isnan(metrics.auc([1, 2], [True, True])) and np.isnan(metrics.auc([], []))


def test_ranking_auc_asks_for_the_highest_edges_of_the_original() -> None:
    before = {1: 0.9, 2: 0.5, 3: 0.5, 5: 0.1}
    assert metrics.ranking_auc(before, before, 1) == 1.0
    assert metrics.ranking_auc(before, {1: 0.0, 2: 1.0, 3: 2.0}, 1) == 0.0
    assert metrics.ranking_auc(before, {1: 3.0, 2: 1.0, 3: 2.0, 7: 1.5}, 2) == 0.5, "of 2 and 3, which tie, 2 counts"
    assert np.isnan(metrics.ranking_auc(before, {3: 1.0, 7: 2.0}, 1)), "noise has removed the edge"
