"""Graphs as lists of edges: the graphs, answers and networks that matrices give; checked against those and NetworkX."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rsgg.data import TreeCycles
from rsgg.edges import ADDED_OTHERWISE, LONGEST_SUM, EdgeBatch, NeighbourLists
from rsgg.errors import GraphError
from rsgg.graph import GraphBatch
from rsgg.oracles import ASDOracle, CountingOracle, Oracle, TreeCyclesOracle
from rsgg.rsgg_ce.training import Discriminator, Encoder, Generator
from tests.graphs import has_cycle, unicyclic


def some_graphs(seed: int, count: int = 12) -> list[nx.Graph]:
    """Of different sizes, trees and cyclic ones, connected or not."""
    return [nx.gnm_random_graph(3 + i % 9, i % 13, seed=seed + i) for i in range(count)]


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_there_and_back_selected_and_joined(seed: int) -> None:
    batch = GraphBatch.of(some_graphs(seed))
    edges = EdgeBatch.of(batch)
    assert torch.equal(edges.to_dense().adjacency, batch.adjacency)
    assert torch.equal(edges.n_edges, batch.n_edges) and torch.equal(edges.node_mask, batch.node_mask)
    index = torch.tensor([3, 0, 3, 11, 7])
    assert torch.equal(edges.select(index).to_dense().adjacency, batch.adjacency[index])
    twice = edges.select(index).joined(edges)
    assert torch.equal(twice.to_dense().adjacency, torch.cat((batch.adjacency[index], batch.adjacency)))


@pytest.mark.parametrize("nodes", [28, 116, LONGEST_SUM])
@pytest.mark.parametrize("width", [1, 6, 8, 14, 16, 25, 32])
def test_lists_of_neighbours_multiply_like_matrices_to_the_last_bit(nodes: int, width: int) -> None:
    graphs = [nx.gnp_random_graph(nodes, 0.12, seed=seed) for seed in range(8)]
    graphs.append(nx.empty_graph(nodes))
    matrices = GraphBatch.of(graphs).adjacency
    h = torch.randn(len(graphs), nodes, width, generator=torch.Generator().manual_seed(width))
    lists = NeighbourLists(matrices)
    assert torch.equal(lists @ h, matrices.float() @ h)
    assert torch.equal(lists.degree(), matrices.float().sum(2, keepdim=True))
    assert ("_neighbours" in vars(lists)) == (width not in ADDED_OTHERWISE)


def test_a_list_whose_columns_differ_in_length_does_not_fit() -> None:
    with pytest.raises(GraphError, match=r"shapes \[\(2,\), \(2,\), \(1,\)\]; give one number of each per edge"):
        EdgeBatch(3, torch.tensor([3]), torch.zeros(2), torch.zeros(2), torch.ones(1))


def test_neighbours_are_summed_as_a_matrix_product_does_and_so_are_gradients() -> None:
    batch = GraphBatch.of(some_graphs(1))
    edges, dense = EdgeBatch.of(batch), batch.adjacency.double()
    h = torch.randn(len(batch), batch.n_nodes, 5, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(h.shape, dtype=torch.float64)
    assert torch.allclose(edges @ h, dense @ h) and torch.equal(edges.degree(), dense.sum(2, keepdim=True).float())
    (sparse_gradient,) = torch.autograd.grad(((edges @ h) * weight).sum(), h)
    (dense_gradient,) = torch.autograd.grad(((dense @ h) * weight).sum(), h)
    assert torch.allclose(sparse_gradient, dense_gradient)


def test_the_core_is_networkxs() -> None:
    graphs = some_graphs(5, 30) + [unicyclic(14, size) for size in range(3, 8)]
    edges = EdgeBatch.of(GraphBatch.of(graphs))
    for i, graph in enumerate(graphs):
        own = edges.graph == i
        found = {(int(u), int(v)) for u, v in zip(edges.u[own & edges.core], edges.v[own & edges.core], strict=True)}
        assert found == {tuple(sorted(edge)) for edge in nx.k_core(graph, 2).edges}


@pytest.mark.parametrize("n", [9, 70])
def test_oracles_say_the_same_of_lists_and_matrices(n: int) -> None:
    graphs = [nx.gnm_random_graph(n, n - 3 + i % 5, seed=i) for i in range(40)]
    batch = GraphBatch.of(graphs)
    counted = CountingOracle(TreeCyclesOracle())
    answers = counted.predict_edges(EdgeBatch.of(batch))
    assert answers.tolist() == [int(has_cycle(graph)) for graph in graphs] and counted.calls == 40


def test_an_oracle_that_knows_matrices_only_is_shown_matrices() -> None:
    """In blocks: 300 graphs of 600 nodes would be 108 MB at once."""
    seen: list[int] = []

    class Counts(Oracle):
        def predict(self, graphs: GraphBatch) -> torch.Tensor:
            seen.append(len(graphs))
            return graphs.n_edges % 2

    edges = EdgeBatch.of(GraphBatch.of([nx.path_graph(2 + i % 3) for i in range(300)]))
    wide = EdgeBatch(600, torch.full((300,), 600), edges.graph, edges.u, edges.v)
    assert torch.equal(Counts().predict_edges(wide), edges.n_edges % 2)
    assert sum(seen) == 300 and max(seen) < 300


def test_the_relaxation_along_edges_is_exact_on_binary_weights() -> None:
    """Any subgraph of the listed edges, as weights 0 and 1: the indicator of a cycle, by NetworkX."""
    generator = torch.Generator().manual_seed(1)
    graphs = [nx.gnm_random_graph(12, 11 + i % 6, seed=i) for i in range(60)]
    edges = EdgeBatch.of(GraphBatch.of(graphs))
    weight = (torch.rand(len(edges.u), generator=generator) < 0.8).double()
    p = TreeCyclesOracle().relaxed_edges(edges, weight)
    for i in range(len(graphs)):
        kept = (edges.graph == i) & (weight > 0)
        subgraph = nx.Graph(zip(edges.u[kept].tolist(), edges.v[kept].tolist(), strict=True))
        assert p[i].tolist() == pytest.approx([float(not has_cycle(subgraph)), float(has_cycle(subgraph))], abs=1e-9)


def test_the_relaxation_along_edges_is_differentiable_and_does_not_depend_on_other_graphs() -> None:
    alone = EdgeBatch.of(GraphBatch.of([unicyclic(10, 4)]))
    with_others = EdgeBatch.of(GraphBatch.of([unicyclic(10, 4), nx.cycle_graph(10), nx.path_graph(10)]))
    weight = torch.linspace(0.3, 0.9, len(with_others.u), dtype=torch.float64)
    own = weight[: len(alone.u)].clone().requires_grad_()
    p = TreeCyclesOracle().relaxed_edges(alone, own)
    together = TreeCyclesOracle().relaxed_edges(with_others, weight)
    assert torch.allclose(p[0], together[0], atol=1e-6) and float(together[2, 0]) == 1
    assert torch.autograd.gradcheck(lambda w: TreeCyclesOracle().relaxed_edges(alone, w), (own,))


def test_other_oracles_relax_edges_through_their_matrices() -> None:
    generator = torch.Generator().manual_seed(2)
    upper = torch.triu((torch.rand(3, 116, 116, generator=generator) < 0.1).to(torch.uint8), 1)
    batch = GraphBatch(upper + upper.transpose(1, 2), torch.full((3,), 116))
    edges = EdgeBatch.of(batch)
    weight = torch.rand(len(edges.u), generator=generator, dtype=torch.float64)
    soft = torch.zeros(3, 116, 116, dtype=torch.float64)
    soft[edges.graph, edges.u, edges.v] = soft[edges.graph, edges.v, edges.u] = weight
    assert torch.allclose(ASDOracle().relaxed_edges(edges, weight), ASDOracle().relaxed(soft))


def test_an_oracle_is_shown_both_directions_of_a_soft_edge() -> None:
    class LowerTriangle(TreeCyclesOracle):
        def relaxed(self, adjacency: torch.Tensor, features: torch.Tensor | None = None) -> torch.Tensor:
            return adjacency.tril().sum((1, 2))[:, None].expand(-1, 2)

        relaxed_edges = Oracle.relaxed_edges

    edges = EdgeBatch.of(GraphBatch.of([nx.path_graph(3), nx.cycle_graph(4)]))
    weight = torch.arange(1.0, 7.0)
    assert LowerTriangle().relaxed_edges(edges, weight)[:, 0].tolist() == [1 + 2, 3 + 4 + 5 + 6]


def test_networks_see_the_same_graph_in_both_forms() -> None:
    data = TreeCycles(n_graphs=12).load()
    dense, edges = data.graphs.adjacency.float(), EdgeBatch.of(data.graphs)
    features = data.graphs.encoding("structural")
    torch.manual_seed(0)
    discriminator = Discriminator(8, 2, 2.0, 28, 0)
    assert torch.allclose(discriminator(dense, data.graphs.node_mask), discriminator(edges, edges.node_mask), atol=1e-5)
    generator = Generator(Encoder(9, 8, 6, 2, 0), 6, 28.0, 350.0, 1.0, 2.0)
    u, v = torch.triu_indices(28, 28, 1)
    some = generator.of_pairs(features, edges, u.expand(12, -1), v.expand(12, -1), dense[:, u, v])
    assert torch.allclose(some, generator(features, dense)[:, u, v], atol=1e-5)
