"""Plausibility against a dictionary Weisfeiler-Lehman, NetworkX, scikit-learn and plain loops."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics.pairwise import cosine_distances, manhattan_distances
from sklearn.neighbors import NearestNeighbors

from rsgg.data.tu import TU
from rsgg.errors import UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.plausibility import (
    RealGraphs,
    clustering_histograms,
    conformal_p_value,
    degree_histograms,
    mean_of_nearest,
    mmd,
    mmd_to_real,
    node_labels,
    spectrum_histograms,
    subtrees,
    total_variation,
    wl_distance,
    wl_kernel,
)
from tests.graphs import gnp_graphs, needs_public_data

Subtree = tuple[int, str]  # how many rounds, and the label after them


def labelled(graphs: list[nx.Graph], n_labels: int = 3, seed: int = 0) -> GraphBatch:
    """The same graphs with random one-hot labels."""
    rng = np.random.default_rng(seed)
    made = [Graph(nx.to_numpy_array(g), np.eye(n_labels)[rng.integers(n_labels, size=len(g))]) for g in graphs]
    return GraphBatch.of(made)


def plain_subtrees(graphs: GraphBatch, rounds: int) -> list[Counter[Subtree]]:
    """A label is a nested tuple: (label before, sorted labels of the neighbours before)."""
    counters = []
    for graph in graphs:
        labels = ["0"] * graph.n_nodes if graph.features is None else [str(row.argmax()) for row in graph.features]
        counter = Counter((0, label) for label in labels)
        for step in range(1, rounds + 1):
            labels = [
                str((labels[v], sorted(labels[u] for u in np.flatnonzero(graph.adjacency[v]))))
                for v in range(graph.n_nodes)
            ]
            counter.update((step, label) for label in labels)
        counters.append(counter)
    return counters


def plain_kernel(one: Sequence[Mapping[Subtree, float]], other: Sequence[Mapping[Subtree, float]]) -> np.ndarray:
    def k(a: Mapping[Subtree, float], b: Mapping[Subtree, float]) -> float:
        return sum(count * b.get(subtree, 0) for subtree, count in a.items())

    return np.array([[k(a, b) / np.sqrt(k(a, a) * k(b, b)) for b in other] for a in one])


# -- subtrees, kernel, distance ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("with_labels", [True, False])
def test_the_kernel_is_that_of_a_dictionary(rounds, with_labels):
    graphs = gnp_graphs(24, (1, 4, 9, 15))
    batch = labelled(graphs) if with_labels else GraphBatch.of(graphs)
    one, other = batch[:10], batch[10:]
    expected = plain_kernel(plain_subtrees(one, rounds), plain_subtrees(other, rounds))
    np.testing.assert_allclose(wl_kernel(subtrees(one, rounds), subtrees(other, rounds)), expected, atol=1e-12)


def test_subtrees_are_those_that_networkx_hashes():
    rng = np.random.default_rng(0)
    for graph in gnp_graphs(20, (5, 12)):
        labels = rng.integers(3, size=len(graph))
        nx.set_node_attributes(graph, {v: str(label) for v, label in enumerate(labels)}, "label")
        hashes = nx.weisfeiler_lehman_subgraph_hashes(
            graph, node_attr="label", iterations=3, include_initial_labels=True
        )
        expected = Counter((step, hashed) for own in hashes.values() for step, hashed in enumerate(own))
        made = subtrees(GraphBatch.of([Graph(nx.to_numpy_array(graph), np.eye(3)[labels])]), rounds=3)
        assert sorted(made.count) == sorted(expected.values())


def test_counts_by_hand():
    path = GraphBatch.of([nx.path_graph(3)])
    made = subtrees(path, rounds=1)
    assert sorted(made.count) == [1, 2, 3]  # a node; a middle, two ends
    assert made.n_graphs == 1 and made.with_itself().tolist() == [14]
    assert sorted(made.roots().count ** 2) == pytest.approx([1, 2, 3])


def test_codes_do_not_depend_on_the_batch():
    batch = labelled(gnp_graphs(12))
    alone = [subtrees(GraphBatch.of([graph])) for graph in batch]
    together = subtrees(batch)
    for i, one in enumerate(alone):
        assert np.array_equal(one.code, together.code[together.graph == i])
        assert np.array_equal(one.count, together.count[together.graph == i])


@given(st.integers(0, 2**31))
def test_renumbering_the_nodes_changes_nothing(seed):
    batch = labelled(gnp_graphs(6, (3, 8), seed % 1000), seed=seed)
    rng = np.random.default_rng(seed)
    orders = np.stack([np.r_[rng.permutation(n), np.arange(n, batch.n_nodes)] for n in batch.sizes.tolist()])
    renamed = batch.relabelled(torch.from_numpy(orders))
    one, other = subtrees(batch), subtrees(renamed)
    assert np.array_equal(one.code, other.code) and np.array_equal(one.count, other.count)
    assert not wl_distance(one.roots(), other.roots()).diagonal().any()
    for histograms in (clustering_histograms, spectrum_histograms):
        np.testing.assert_allclose(histograms(batch), histograms(renamed))


def test_the_distance_is_that_of_unit_vectors():
    batch = labelled(gnp_graphs(15, (4, 9)))
    made = subtrees(batch)
    codes = np.unique(made.code)
    counts = np.zeros((len(batch), len(codes)))
    counts[made.graph, np.searchsorted(codes, made.code)] = made.count
    # |x - y|² of unit vectors is twice the cosine distance
    np.testing.assert_allclose(wl_distance(made, made), np.sqrt(2 * cosine_distances(counts)), atol=1e-6)
    np.testing.assert_allclose(
        wl_distance(made.roots(), made.roots()), np.sqrt(2 * cosine_distances(np.sqrt(counts))), atol=1e-6
    )


def test_labels_are_one_hot_rows_only():
    x = np.array([[1, 0], [0, 1], [0.5, 0.5], [1, 1]])
    graph = Graph(nx.to_numpy_array(nx.path_graph(4)), x)
    assert node_labels(GraphBatch.of([graph])).tolist() == [[1, 2, 0, 0]]
    assert node_labels(GraphBatch.of([nx.path_graph(2)])).tolist() == [[0, 0]]


def test_multiplicities_and_loops_are_no_neighbours():
    a = nx.to_numpy_array(nx.path_graph(4)).astype(np.uint8)
    odd = a * 2 + np.eye(4, dtype=np.uint8)
    one, other = subtrees(GraphBatch.of([Graph(a)])), subtrees(GraphBatch.of([Graph.unchecked(odd)]))
    assert np.array_equal(one.code, other.code)


def test_four_hundred_graphs_of_up_to_120_nodes_take_less_than_a_second():
    graphs = labelled([nx.gnm_random_graph(n, 2 * n, seed=n) for n in range(20, 121)] * 4)
    start = time.process_time()
    subtrees(graphs)
    assert time.process_time() - start < 1


# -- score and p-value --------------------------------------------------------------------------------------------


def test_the_score_is_the_mean_of_the_nearest():
    rng = np.random.default_rng(0)
    points, known = rng.normal(size=(20, 3)), rng.normal(size=(30, 3))
    distances = np.linalg.norm(points[:, None] - known, axis=2)
    nearest, _ = NearestNeighbors(n_neighbors=5).fit(known).kneighbors(points)
    np.testing.assert_allclose(mean_of_nearest(distances), nearest.mean(1))
    np.testing.assert_allclose(mean_of_nearest(distances[:, :3]), distances[:, :3].mean(1))
    np.testing.assert_allclose(mean_of_nearest(distances, 1), distances.min(1))


@given(st.lists(st.lists(st.integers(0, 3), min_size=6, max_size=6), min_size=1, max_size=5), st.integers(1, 6))
def test_one_distance_of_zero_does_not_count_where_it_is_asked_for(rows, nearest):
    for row, score in zip(rows, mean_of_nearest(rows, nearest, but_for_one_at_zero=True), strict=True):
        left = sorted(row)[1:] if 0 in row else sorted(row)
        assert score == pytest.approx(np.mean(left[:nearest]))
    assert np.isnan(mean_of_nearest([[0.0]], but_for_one_at_zero=True)).all()


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8), st.lists(st.integers(0, 5), max_size=9), st.data())
def test_p_values_are_counts(scores, held_out, data):
    left_out = np.array([[data.draw(st.booleans()) for _ in held_out] for _ in scores], dtype=bool).reshape(
        len(scores), len(held_out)
    )
    p = conformal_p_value(scores, held_out, left_out)
    for i, s in enumerate(scores):
        kept = [h for h, out in zip(held_out, left_out[i], strict=True) if not out]
        assert p[i] == (1 + sum(h >= s for h in kept)) / (1 + len(kept))
    everything = conformal_p_value(scores, held_out)
    assert everything[0] == (1 + sum(h >= scores[0] for h in held_out)) / (1 + len(held_out))


def exchangeable(count: int, seed: int) -> GraphBatch:
    return labelled([nx.gnp_random_graph(12, 0.2, seed=seed * 10_000 + i) for i in range(count)], seed=seed)


def test_p_values_of_exchangeable_graphs_are_uniform():
    """Drawn with the held-out graphs, so each rank among 9 of them is as probable. One graph per draw of held-out
    graphs: p-values that share them are not independent."""
    ranks = np.zeros(10)
    for seed in range(300):
        graphs = exchangeable(20, seed)
        real = RealGraphs(graphs[:10], np.zeros(10), graphs[10:19], np.zeros(9))
        ranks[round(real.plausibility(graphs[19:], np.zeros(1))[0] * 10) - 1] += 1
    assert stats.chisquare(ranks).pvalue > 0.01


@settings(max_examples=10)
@given(st.integers(0, 2**31))
def test_held_out_graphs_themselves_have_all_ranks(seed):
    """Each is ranked among the others: 1/m, 2/m, … 1 in some order where there are no ties."""
    graphs = exchangeable(30, seed % 100_000)
    named = replace(graphs, names=tuple(map(str, range(30))))
    real = RealGraphs(named[:10], np.zeros(10), named[10:], np.zeros(20))
    p, scores = real.plausibility(named[10:], np.zeros(20)), real.score(named[10:], np.zeros(20))
    ranks = stats.rankdata(-scores.round(9), "max")
    np.testing.assert_allclose(p, ranks / 20)


def test_plausibility_is_a_rank_within_the_claimed_class():
    trees = [nx.random_labeled_tree(10, seed=i) for i in range(40)]
    dense = [nx.gnp_random_graph(10, 0.7, seed=i) for i in range(40)]
    real = RealGraphs(trees[:20] + dense[:20], [0] * 20 + [1] * 20, trees[20:] + dense[20:], [0] * 20 + [1] * 20)
    claims_tree = real.plausibility([*trees[20:25], *dense[20:25], nx.empty_graph(10)], [0] * 11)
    claims_dense = real.plausibility([*trees[20:25], *dense[20:25], nx.empty_graph(10)], [1] * 11)
    assert claims_tree[:5].mean() > 0.2 and claims_dense[5:10].mean() > 0.2
    assert (claims_tree[5:] == 1 / 21).all()
    assert (claims_dense[[0, 1, 2, 3, 4, 10]] == 1 / 21).all()


def test_scores_by_plain_loops():
    batch = labelled(gnp_graphs(30, (6, 9)))
    classes = np.arange(30) % 2
    real = RealGraphs(batch[:20], classes[:20], batch[20:25], classes[20:25])
    counters = plain_subtrees(batch, 3)
    rooted = [{subtree: count**0.5 for subtree, count in counter.items()} for counter in counters]
    kernel = plain_kernel(rooted, rooted)
    for i in range(25, 30):
        for claimed in (0, 1):
            distances = [np.sqrt(2 - 2 * kernel[i, j]) for j in range(20) if classes[j] == claimed]
            assert real.score(batch[i : i + 1], [claimed])[0] == pytest.approx(np.mean(sorted(distances)[:5]))


def test_the_input_itself_does_not_count():
    graphs = [Graph(nx.to_numpy_array(nx.random_labeled_tree(15, seed=i)), name=f"g{i}") for i in range(12)]
    real = RealGraphs(graphs[:6], [0] * 6, graphs[6:], [0] * 6)
    anonymous = [Graph(graph.adjacency, name="other") for graph in graphs[6:]]
    with_itself, without = real.plausibility(anonymous, [0] * 6), real.plausibility(graphs[6:], [0] * 6)
    np.testing.assert_allclose(with_itself * 7 - 1, without * 6)  # its own score is always as large as itself


def test_a_real_graph_that_is_returned_is_not_its_own_neighbour():
    """Retrieved graphs have the ranks of held-out ones, .5 on average; counted as their own neighbour they had more."""
    ranks = []
    for seed in range(10):
        graphs = exchangeable(80, seed)
        real = RealGraphs(graphs[:40], np.zeros(40), graphs[40:], np.zeros(40))
        ranks.append(real.plausibility(graphs[:40], np.zeros(40)).mean())
    assert 0.45 < np.mean(ranks) < 0.58
    twice = GraphBatch.of([*graphs[:3], graphs[0]])
    assert RealGraphs(twice, np.zeros(4), graphs[4:8], np.zeros(4)).score(graphs[:1], [0]) < RealGraphs(
        graphs[:3], np.zeros(3), graphs[4:8], np.zeros(4)
    ).score(graphs[:1], [0]), "a second copy is a neighbour"


def test_a_class_without_reference_graphs_has_no_plausibility():
    graphs = gnp_graphs(8)
    real = RealGraphs(graphs[:4], [0] * 4, graphs[4:6], [0, 1])
    assert np.isnan(real.plausibility(graphs[6:], [1, 1])).all()
    assert not np.isnan(real.plausibility(graphs[6:], [0, 0])).any()
    with pytest.raises(UsageError, match="give one each"):
        real.plausibility(graphs[6:], [0])


@needs_public_data
def test_what_is_rewired_more_is_less_plausible():
    data = TU("MUTAG").load()
    fold = data.folds(2)[0]
    held_out, classes = data.graphs.select(fold.test), data.labels[fold.test].numpy()
    real = RealGraphs(data.graphs.select(fold.train), data.labels[fold.train].numpy(), held_out, classes)
    means = [real.plausibility(without_edges(held_out, share), classes).mean() for share in (0, 0.1, 0.4, 1)]
    assert means[0] == pytest.approx(0.5, abs=0.05)
    assert means == sorted(means, reverse=True) and means[1] < 0.35 and means[-1] < 0.05


def without_edges(graphs: GraphBatch, share: float) -> GraphBatch:
    rng, made = np.random.default_rng(0), []
    for graph in graphs:
        edges, adjacency = graph.edges(), graph.adjacency.copy()
        for i in rng.permutation(len(edges))[: int(share * len(edges))]:
            u, v = edges[i]
            adjacency[u, v] = adjacency[v, u] = 0
        made.append(graph.with_adjacency(adjacency))
    return GraphBatch.of(made)


# -- maximum mean discrepancy --------------------------------------------------------------------------------------


def histogram(values: list[float], parts: int, high: float) -> np.ndarray:
    counts = np.zeros(parts)
    for value in values:
        counts[min(parts - 1, int(value / high * parts + 1e-6))] += 1
    return counts / len(values)


def test_histograms_are_those_of_networkx():
    graphs = [*gnp_graphs(30, (1, 5, 9, 20)), nx.complete_graph(6), nx.empty_graph(4), nx.star_graph(5)]
    batch = GraphBatch.of(graphs)
    for i, graph in enumerate(graphs):
        degree = [d for _, d in graph.degree()]
        expected = np.bincount(np.minimum(degree, 4), minlength=5) / len(graph)
        np.testing.assert_allclose(degree_histograms(batch, 4)[i], expected)
        coefficients = list(nx.clustering(graph).values())
        np.testing.assert_allclose(clustering_histograms(batch)[i], histogram(coefficients, 100, 1.0))
        values = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(graph).toarray()).clip(0)
        np.testing.assert_allclose(spectrum_histograms(batch)[i], histogram(values.tolist(), 200, 2.0))


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.1, 3), st.integers(0, 1000))
def test_mmd_by_loops(n, m, width, seed):
    rng = np.random.default_rng(seed)
    one, other = rng.dirichlet(np.ones(4), n), rng.dirichlet(np.ones(4), m)
    np.testing.assert_allclose(total_variation(one, other), manhattan_distances(one, other) / 2)

    def mean(p: np.ndarray, q: np.ndarray) -> float:
        kernels = [np.exp(-((0.5 * np.abs(a - b).sum()) ** 2) / (2 * width**2)) for a in p for b in q]
        return float(np.mean(kernels))

    assert mmd(one, other, width) == pytest.approx(mean(one, one) + mean(other, other) - 2 * mean(one, other))
    assert mmd(one, one) == 0


def test_mmd_tells_trees_from_dense_graphs():
    trees = [nx.random_labeled_tree(12, seed=i) for i in range(60)]
    dense = [nx.gnp_random_graph(12, 0.6, seed=i) for i in range(30)]
    same, apart = mmd_to_real(trees[:30], trees[30:]), mmd_to_real(dense, trees)
    assert set(same) == {"degree", "clustering", "spectrum"}
    assert all(0 <= 10 * same[name] < apart[name] for name in same)


def test_mmd_by_hand():
    """One empty and one complete graph: no node has the same degree, clustering or eigenvalue but one in four."""
    apart = mmd_to_real([nx.empty_graph(4)], [nx.complete_graph(4)])
    assert apart["degree"] == apart["clustering"] == pytest.approx(2 - 2 * np.exp(-0.5))
    assert apart["spectrum"] == pytest.approx(2 - 2 * np.exp(-(0.75**2) / 2))
