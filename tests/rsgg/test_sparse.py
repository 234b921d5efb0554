"""Large graphs as lists of edges: the same graphs as their matrices, and searches that never make a matrix."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data
from torch_geometric.nn import global_add_pool

import rsgg
from rsgg import CallableOracle, CountingOracle, Graph, GraphBatch, PyGOracle, TaughtRSGGCE, TreeCyclesOracle
from rsgg.constraints import (
    Among,
    Constraint,
    EdgeCount,
    EdgesForSize,
    Forbid,
    Keep,
    KeepConnected,
    MostNeighbours,
    OnlyAdditions,
    OnlyRemovals,
    Rules,
    Satisfies,
    editable,
)
from rsgg.edges import EdgeBatch
from rsgg.edits import NOTHING
from rsgg.errors import GraphError, UsageError
from rsgg.quick import UntaughtSearch
from rsgg.rsgg_ce.listed import DRAWS_PER_NODE, ListedPairs, missing_pairs
from rsgg.rsgg_ce.ranked import random_orders
from rsgg.rsgg_ce.taught import _loss, _loss_of_lists
from rsgg.seeds import numpy_rng
from rsgg.sparse import SparseBatch, SparseGraph, batch_of, pairs_that_differ
from tests.graphs import gnp_graphs, has_cycle

LISTS = 4  # nodes above which graphs of these tests are lists


def listed(graphs: list[nx.Graph]) -> SparseBatch:
    batch = batch_of(graphs, 0)
    assert isinstance(batch, SparseBatch)
    return batch


def weighted(seed: int, n: int = 8, width: int = 0) -> Data:
    """A random graph with features, and a number or a row of numbers per edge."""
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(n, 0.4, seed=seed)
    pairs = np.array([(u, v) for u, v in graph.edges] + [(v, u) for u, v in graph.edges]).reshape(-1, 2).T
    values = rng.integers(3, size=(pairs.shape[1] // 2, *([width] if width else [])))
    order = rng.permutation(pairs.shape[1])
    return Data(
        x=torch.rand(n, 3, generator=torch.Generator().manual_seed(seed)),
        edge_index=torch.from_numpy(pairs[:, order].astype(np.int64)),
        edge_attr=torch.from_numpy(np.concatenate((values, values))[order]),
        num_nodes=n,
    )


# -- Graphs ----------------------------------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([0, 1, 3]))
def test_a_list_is_the_same_graph_as_its_matrix(seed: int, n: int, width: int) -> None:
    data = weighted(seed, n, width)
    one, other = SparseGraph.from_pyg(data, name="a"), Graph.from_pyg(data, name="a")
    for same in (one, SparseGraph.of(other), pickle.loads(pickle.dumps(one))):
        assert np.array_equal(same.adjacency, other.adjacency) and same.adjacency.dtype == np.uint8
        for a, b in ((same.features, other.features), (same.edge_features, other.edge_features)):
            assert a is not None and b is not None and np.array_equal(a, b) and a.dtype == b.dtype
        assert same.n_edges == other.n_edges
        assert same.edges() == other.edges() and same.size == other.size and same.name == "a"
        assert all(same.has_edge(u, v) == other.has_edge(u, v) for u in range(n) for v in range(n))
        for key, value in other.to_pyg():
            assert torch.equal(value, same.to_pyg()[key]) if isinstance(value, torch.Tensor) else value == n
        one_way, other_way = same.to_networkx(), other.to_networkx()
        assert sorted(one_way.edges) == sorted(other_way.edges)
        assert all(np.array_equal(one_way.nodes[v]["x"], other_way.nodes[v]["x"]) for v in one_way)
    assert np.array_equal(one.degrees(), other.adjacency.sum(1))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.data())
def test_edits_of_a_list_are_those_of_the_matrix(seed: int, n: int, draw: st.DataObject) -> None:
    graph = SparseGraph.from_pyg(weighted(seed, n), added_edge=9)
    pairs = draw.draw(st.sets(st.sampled_from(list(combinations(range(n), 2)))))
    made = graph.with_edits(np.array([u * (n + 3) + v for u, v in pairs], dtype=np.int64), n + 3)
    expected = graph.adjacency.copy()
    for u, v in pairs:
        expected[u, v] = expected[v, u] = 1 - expected[u, v]
    assert np.array_equal(made.adjacency, expected)
    assert np.array_equal(made.edge_features * expected, graph.edge_features * expected)
    assert pairs_that_differ(graph, made) == pairs_that_differ(Graph(graph.adjacency), Graph(expected)) == sorted(pairs)
    assert made.features is graph.features and not made.u.flags.writeable


def test_lists_are_made_of_edges_in_one_or_both_directions_and_are_immutable() -> None:
    one = SparseGraph.from_edges(3, [(2, 0), (1, 2)], edge_features=[[1.0], [2.0]], node_names=("a", "b", "c"))
    both = SparseGraph.from_edges(3, [(0, 2), (2, 0), (2, 1), (1, 2)], edge_features=[[1.0], [1.0], [2.0], [2.0]])
    assert one.edges() == both.edges() == [(0, 2), (1, 2)]
    assert one.edge_values is not None and both.edge_values is not None
    assert np.array_equal(one.edge_values, both.edge_values) and one.node_names == ("a", "b", "c")
    for array in (one.u, one.v, one.edge_values, one.added_edge, one.adjacency, one.edge_features):
        assert array is not None
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    assert SparseGraph.from_edges(2, []).n_edges == 0
    with pytest.raises(AttributeError):
        one.u = both.u
    with pytest.raises(UsageError, match="from_edges"):
        SparseGraph(np.zeros((2, 2)))


def wrong(**change: Any) -> Data:
    data = Data(
        edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), edge_attr=torch.tensor([1.0, 1.0, 2.0, 2.0]), num_nodes=3
    )
    for key, value in change.items():
        data[key] = value
    return data


@pytest.mark.parametrize(
    "data",
    [
        wrong(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]])),
        wrong(edge_index=torch.tensor([[0, 1, 1, 0], [1, 0, 2, 2]])),
        wrong(edge_index=torch.tensor([[0, 1, 1, 3], [1, 0, 3, 1]])),
        wrong(edge_index=torch.tensor([0, 1])),
        wrong(edge_attr=torch.tensor([1.0, 1.0])),
        wrong(edge_attr=torch.tensor([1.0, 5.0, 2.0, 2.0])),
        wrong(edge_attr=torch.tensor([1.0, float("nan"), 2.0, 2.0])),
        wrong(x=torch.rand(2, 1)),
        wrong(x=torch.full((3, 1), torch.inf)),
        wrong(num_nodes=0, edge_attr=None),
    ],
)
def test_what_is_no_graph_is_refused_with_the_same_sentence(data: Data) -> None:
    sentences = []
    for kind in (Graph, SparseGraph):
        with pytest.raises(GraphError) as error:
            kind.from_pyg(data, name="g")
        sentences.append(str(error.value))
    assert sentences[0] == sentences[1]


def test_mistakes_in_lists_of_edges_are_said() -> None:
    with pytest.raises(GraphError, match="do not exist"):
        SparseGraph.from_edges(2, [(0, 2)])
    with pytest.raises(GraphError, match="pairs of node numbers"):
        SparseGraph.from_edges(2, [(0.0, 1.0)])
    with pytest.raises(GraphError, match="self loop at node 1"):
        SparseGraph.from_edges(2, [(1, 1)])
    with pytest.raises(GraphError, match="give it the same shape"):
        SparseGraph.from_edges(2, [(0, 1)], edge_features=[1.0], added_edge=[1.0, 2.0])
    with pytest.raises(GraphError, match="name"):
        SparseGraph.from_edges(2, [(0, 1)], name=3)  # type: ignore[arg-type]


# -- Batches ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:The .* attributes")
def test_a_batch_of_lists_is_the_same_as_one_of_matrices() -> None:
    data = [weighted(seed, n, 2) for seed, n in enumerate((5, 8, 3))]
    sparse, dense = batch_of(data, 0), GraphBatch.of(data)
    assert isinstance(sparse, SparseBatch) and len(sparse) == 3 and sparse.n_nodes == 8
    assert torch.equal(sparse.adjacency, dense.adjacency) and torch.equal(sparse.sizes, dense.sizes)
    assert torch.equal(sparse.n_edges, dense.n_edges)
    assert sparse.features is not None and dense.features is not None and torch.equal(sparse.features, dense.features)
    assert torch.allclose(sparse.encoding("structural"), dense.encoding("structural"))
    for part in (sparse.select(torch.tensor([2, 0])), sparse[1:], sparse.select(torch.tensor([True, False, True]))):
        assert isinstance(part, SparseBatch) and part.n_nodes == 8 and len(part) == 2 == len(list(part))
    lists, matrices = EdgeBatch.of(sparse), EdgeBatch.of(dense)
    assert torch.equal(lists.to_dense().adjacency, matrices.to_dense().adjacency)
    assert lists.edge_features is not None and matrices.edge_features is not None
    assert torch.equal(lists.edge_features, matrices.edge_features)
    assert lists.single(1).edges() == dense[1].edges()
    masked = lists.select(torch.tensor([False, True, False]))
    assert masked.codes(0).tolist() == [u * 8 + v for u, v in dense[1].edges()]


def test_only_large_graphs_become_lists_and_their_names_do_not_depend_on_how_they_were_given() -> None:
    graphs = [nx.path_graph(3), nx.path_graph(9)]
    assert type(batch_of(graphs, None)) is GraphBatch is type(batch_of(graphs, 9))
    matrices = GraphBatch.of(graphs)
    assert batch_of(matrices, 4) is matrices
    names = [batch_of(given_, 4).names for given_ in (graphs, list(matrices), [Graph.from_networkx(g) for g in graphs])]
    assert names[0][0] == names[2][0] == matrices.names[0] and names[0] == names[2]
    assert names[0][1] != matrices.names[1]  # made of the list
    with pytest.raises(GraphError, match="Number 1 of the graphs"):
        batch_of([nx.path_graph(3), nx.DiGraph([(i, i + 1) for i in range(9)])], 4)
    with pytest.raises(GraphError, match="is not a graph"):
        batch_of([nx.path_graph(9), 3], 4)
    for bad in ([weighted(0), nx.path_graph(9)], [weighted(0, width=1), weighted(0, width=2)]):
        with pytest.raises(GraphError, match="features"):
            batch_of(bad, 4)


# -- Which pairs are tried -------------------------------------------------------------------------------------------


def test_missing_pairs_of_a_large_graph_are_near_or_random_and_never_edges() -> None:
    graph = nx.gnp_random_graph(400, 0.01, seed=1)
    sparse = SparseGraph.from_networkx(graph)
    codes = missing_pairs(sparse, 500, 300, numpy_rng("some"))
    u, v = np.divmod(codes, 500)
    assert (u < v).all() and (v < 400).all() and (np.diff(codes) > 0).all()
    assert not any(graph.has_edge(a, b) for a, b in zip(u.tolist(), v.tolist(), strict=True))
    assert 0.8 * 2 * DRAWS_PER_NODE * 400 * 0.9 < len(codes) <= 2 * DRAWS_PER_NODE * 400
    two_steps = nx.power(graph, 2)
    near = sum(two_steps.has_edge(a, b) for a, b in zip(u.tolist(), v.tolist(), strict=True))
    by_chance = len(codes) * (two_steps.number_of_edges() - graph.number_of_edges()) / (400 * 399 / 2)
    assert near > len(codes) * 0.35 > 2 * by_chance
    assert set(codes) != set(missing_pairs(sparse, 500, 300, numpy_rng("others")))
    everything = missing_pairs(sparse, 500, 400, numpy_rng("some"))
    assert len(everything) == 400 * 399 // 2 - graph.number_of_edges()
    assert len(missing_pairs(SparseGraph.from_edges(50, []), 50, 3, numpy_rng("no edges"))) > 50


@pytest.mark.parametrize("constraints", [(), (OnlyRemovals(),), (Keep(((0, 1), (2, 3))), Forbid(((1, 4),)))])
def test_orders_of_small_graphs_are_those_of_matrices(constraints: tuple[Constraint, ...]) -> None:
    graphs = gnp_graphs(6, sizes=(6, 9), seed=2)
    dense = GraphBatch.of(graphs)
    sparse = SparseBatch.of_graphs(dense)
    pairs = ListedPairs(sparse, constraints, 9)
    allowed, used = editable(dense, constraints), np.array([1, 12, 21])
    for i in range(len(graphs)):
        expected = random_orders(dense, i, allowed, used, (5, "two-sided"), 1, 3)
        for one, other in zip(pairs.random_orders(i, used, (5, "two-sided"), 1, 3), expected, strict=True):
            assert np.array_equal(one.removals, other.removals) and np.array_equal(one.additions, other.additions)
            assert np.array_equal(one.mixed, other.mixed)


# -- Explaining ------------------------------------------------------------------------------------------------------


class CountsEdges(torch.nn.Module):
    """Class 1 are graphs with more edges than a limit."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, x, edge_index, batch):
        edges = global_add_pool(torch.bincount(edge_index[0], minlength=len(x))[:, None].float(), batch) / 2
        return torch.cat((self.limit + 0.5 - edges, edges - self.limit - 0.5), 1)


def large(n: int, seed: int = 0) -> Data:
    """A tree with as many random edges: about 2 n edges."""
    rng = np.random.default_rng(seed)
    parents = (rng.random(n - 1) * np.arange(1, n)).astype(np.int64)
    pairs = np.concatenate((np.stack((np.arange(1, n), parents)), rng.integers(n, size=(2, n))), 1)
    pairs = np.unique(np.sort(pairs[:, pairs[0] != pairs[1]], 0), axis=1)
    return Data(x=torch.ones(n, 1), edge_index=torch.from_numpy(np.concatenate((pairs, pairs[::-1]), 1)), num_nodes=n)


@pytest.mark.usefixtures("no_matrices")
@pytest.mark.parametrize("constraints", [(), (KeepConnected(), MostNeighbours(9), EdgeCount(0, 10**6))])
def test_a_large_graph_is_explained_without_a_matrix(constraints: tuple[Constraint, ...]) -> None:
    data = large(3000)
    edges = data.num_edges // 2
    for model in (CountsEdges(edges - 3), CallableOracle(lambda graph: int(graph.num_edges // 2 > edges + 1))):
        result = rsgg.explain(model, data, constraints=constraints)
        assert result.found and result.irreducible and len(result.edits) == (3 if isinstance(model, CountsEdges) else 2)
        assert len(result.added if result.before == 0 else result.removed) == len(result.edits)
        made = result.to_pyg()
        assert abs(made.num_edges - data.num_edges) == 2 * len(result.edits) and "3000" not in result.in_words()
        assert result.input.n_nodes == 3000 and result.to_networkx().number_of_edges() == made.num_edges // 2


@pytest.mark.usefixtures("no_matrices")
def test_large_graphs_teach_without_a_matrix() -> None:
    graphs = [large(1100 + 50 * i, i) for i in range(6)]
    oracle = CountingOracle(PyGOracle(CountsEdges(float(np.median([data.num_edges // 2 for data in graphs])))))
    explainer = TaughtRSGGCE(steps=3, certify=True, hidden=8, latent=4).fit(graphs, oracle)
    assert explainer.summary()["flip_rate"].tolist() == [1.0, 1.0]
    results = explainer.explain(graphs, oracle, k=2)
    assert all(result.found for result in results)
    assert not set(results[0].edits) & set(results[1].edits)


@pytest.mark.slow
def test_memory_of_a_graph_of_5000_nodes() -> None:
    """A matrix of bytes would take 25 MB; the dense search took 1.2 GB."""
    program = """
import resource, rsgg
from tests.rsgg.test_sparse import CountsEdges, large
data = large(5000)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert rsgg.explain(CountsEdges(data.num_edges // 2 - 3), data).found
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150_000  # KB


def test_small_graphs_beside_large_ones_are_explained_as_alone() -> None:
    small, big = gnp_graphs(4, sizes=(5, 8), seed=6), large(40)
    search, oracle = UntaughtSearch(every_pair_up_to=20), TreeCyclesOracle()
    plain = nx.Graph(list(zip(*big.edge_index.tolist(), strict=True)))
    mixed = search.explain([small[0], plain, *small[1:]], oracle, k=2)
    assert [(one.instance, one.candidate) for one in mixed] == [(i, j) for i in range(5) for j in (0, 1)]
    alone = search.explain(small, oracle, k=2)
    for one, other in zip((one for one in mixed if one.instance != 1), alone, strict=True):
        assert (one.edits, one.calls, one.found) == (other.edits, other.calls, other.found)
        assert not isinstance(one.input, SparseGraph)
    assert isinstance(mixed[2].input, SparseGraph) and mixed[2].found


def test_an_explanation_of_a_list_depends_on_nothing_but_the_graph_and_the_seed() -> None:
    graphs = [large(60, seed) for seed in range(3)]
    search, oracle = UntaughtSearch(every_pair_up_to=LISTS), PyGOracle(CountsEdges(100))
    together = search.explain(graphs, oracle, seed=4)
    for i, data in enumerate(graphs):
        (alone,) = search.explain(data, oracle, seed=4)
        assert (alone.edits, alone.calls) == (together[i].edits, together[i].calls)
    assert [one.edits for one in search.explain(graphs, oracle, seed=5)] != [one.edits for one in together]


# -- Constraints -----------------------------------------------------------------------------------------------------


class NotAtNodeZero(Constraint):
    """A rule of a user's own that knows matrices only."""

    def editable(self, graphs: GraphBatch) -> torch.Tensor:
        mask = graphs.pair_mask.clone()
        mask[:, 0] = False
        return mask


RULES: list[Callable[[Graph], Constraint]] = [
    lambda graph: OnlyRemovals(),
    lambda graph: OnlyAdditions(),
    lambda graph: Keep((*graph.edges()[:5], (0, 1))),
    lambda graph: Forbid(((0, 3), (1, 2))),
    lambda graph: Among(tuple((0, v) for v in range(1, 7))),
    lambda graph: KeepConnected(),
    lambda graph: MostNeighbours(3),
    lambda graph: EdgeCount(max(graph.n_edges - 2, 0), graph.n_edges + 1),
    lambda graph: EdgesForSize(((100, -3, 0),)),
    lambda graph: Satisfies(lambda original, adjacency: bool(adjacency[0].any())),
    lambda graph: NotAtNodeZero(),
]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, len(RULES) - 1), st.data())
def test_rules_say_the_same_of_lists_as_of_matrices(seed: int, which: int, draw: st.DataObject) -> None:
    dense = Graph.from_networkx(nx.gnp_random_graph(9, 0.25, seed=seed))
    sparse, rule = SparseGraph.of(dense), RULES[which](dense)
    u, v = np.triu_indices(9, 1)
    mask = (rule.editable(GraphBatch.of(dense)) & GraphBatch.of(dense).pair_mask)[0].numpy()
    assert np.array_equal(rule.editable_pairs(sparse, u, v), mask[u, v])
    pairs = draw.draw(st.sets(st.sampled_from(list(combinations(range(9), 2))), max_size=6))
    codes = np.array([a * 12 + b for a, b in pairs], dtype=np.int64)
    assert Rules(sparse, 12, (rule,)).allow(codes) == Rules(dense, 12, (rule,)).allow(codes)


@pytest.mark.parametrize("which", range(len(RULES)))
def test_every_result_of_a_list_keeps_the_constraints(which: int) -> None:
    graphs = [Graph.from_networkx(g) for g in gnp_graphs(6, sizes=(7, 9), seed=8)]
    for graph in graphs:
        rule = RULES[which](graph)
        search = UntaughtSearch(every_pair_up_to=LISTS, constraints=(rule,), mixtures=20)
        (result,) = search.explain([graph], CallableOracle(lambda data: int(_has_cycle(data))))
        if result.found:
            mask = (rule.editable(GraphBatch.of(graph)) & GraphBatch.of(graph).pair_mask)[0]
            assert isinstance(result.input, SparseGraph) and all(mask[u, v] for u, v in result.edits)
            assert rule.allows(graph, result.returned.adjacency)
            assert has_cycle(result.to_networkx()) != has_cycle(graph.to_networkx())


def _has_cycle(data: Data) -> bool:
    graph = nx.empty_graph(data.num_nodes)
    graph.add_edges_from(zip(*data.edge_index.tolist(), strict=True))
    return has_cycle(graph)


def test_a_named_pair_is_never_missed_by_chance() -> None:
    """`Among` names the only pair that changes the class; a draw of missing pairs would hardly have it."""
    data = large(300)
    far = (7, 211)
    assert not any(set(pair) == set(far) for pair in data.edge_index.T.tolist())
    has_it = CallableOracle(lambda graph: int(any(pair == list(far) for pair in graph.edge_index.T.tolist())))
    search = UntaughtSearch(every_pair_up_to=50, constraints=(Among((far,)),))
    (result,) = search.explain(data, has_it)
    assert result.found and result.added == [far]


# -- Teaching --------------------------------------------------------------------------------------------------------


def test_the_loss_and_the_scores_of_lists_are_those_of_matrices() -> None:
    graphs = gnp_graphs(10, sizes=(7, 9), seed=3)
    dense, oracle = GraphBatch.of(graphs), TreeCyclesOracle()
    explainer = TaughtRSGGCE(steps=3, hidden=8, latent=4, rounds=1).fit(dense, oracle)
    sparse, classes = SparseBatch.of_graphs(dense), oracle.predict(dense)
    generator = explainer.generators_[0]
    edits = [[np.array([1, 12]), np.array([12])], [np.array([2])], *[[NOTHING]] * 8]
    losses, gradients = [], []
    for kind in (dense, sparse):
        features = explainer._features(kind)
        generator.zero_grad()
        if isinstance(kind, SparseBatch):
            loss = _loss_of_lists(generator, kind, features, edits, explainer, numpy_rng("any"))
        else:
            loss = _loss(generator, kind, features, edits, "cpu")
        loss.backward()
        losses.append(float(loss.detach()))
        gradients.append(torch.cat([p.grad.flatten() for p in generator.parameters() if p.grad is not None]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-5) and torch.allclose(gradients[0], gradients[1], atol=1e-5)
    matrix, of_pair = explainer.edit_scores(dense, classes), explainer.search_scores(sparse, classes)
    assert not isinstance(of_pair, torch.Tensor)
    for i, graph in enumerate(sparse.graphs):
        codes = graph.codes(sparse.n_nodes)
        expected = matrix[i].flatten()[codes].numpy()
        assert np.allclose(of_pair(i, codes, True), expected, atol=1e-5)


def test_a_taught_explainer_of_lists_is_saved_and_loaded(tmp_path: Any) -> None:
    graphs = [large(60, seed) for seed in range(6)]
    oracle = PyGOracle(CountsEdges(float(np.median([data.num_edges // 2 for data in graphs]))))
    explainer = TaughtRSGGCE(steps=3, hidden=8, latent=4, every_pair_up_to=30).fit(graphs, oracle)
    again = TaughtRSGGCE.load(explainer.save(tmp_path / "lists"))
    assert again.every_pair_up_to == 30
    one, other = (kind.explain(graphs, oracle, seed=2) for kind in (explainer, again))
    assert [result.edits for result in one] == [result.edits for result in other]


def test_edits_of_nodes_and_the_discriminator_need_matrices() -> None:
    assert TaughtRSGGCE(node_edits=True)._lists_above() is None
    assert TaughtRSGGCE(plausibility=1.0)._lists_above() is None
    assert TaughtRSGGCE()._lists_above() == UntaughtSearch()._lists_above() == 1024


def test_identities_are_those_of_the_nodes_that_were_learnt() -> None:
    graphs = [large(60, seed) for seed in range(4)]
    oracle = PyGOracle(CountsEdges(float(np.median([data.num_edges // 2 for data in graphs]))))
    explainer = TaughtRSGGCE(steps=2, hidden=4, latent=4, every_pair_up_to=30, identities=True).fit(graphs, oracle)
    assert all(result.found for result in explainer.explain(graphs, oracle))
    with pytest.raises(GraphError, match="Node identities"):
        explainer.explain(large(61), oracle)
