"""Node encodings against NetworkX, closed forms and the group of permutations."""

from __future__ import annotations

import os

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rsgg import encodings
from rsgg.data import ASD, TreeCycles
from rsgg.encodings import CENTRALITIES, STRUCTURAL, encode
from rsgg.errors import UsageError
from rsgg.graph import Graph, GraphBatch


def networkx_centralities(graph: nx.Graph) -> np.ndarray:
    """The eight columns as NetworkX gives them, for a connected graph."""
    columns = (
        dict(graph.degree),
        nx.betweenness_centrality(graph),
        nx.closeness_centrality(graph),
        nx.harmonic_centrality(graph),
        nx.clustering(graph),
        nx.katz_centrality_numpy(graph),
        nx.second_order_centrality(graph),
    )
    values = [[column[v] for v in graph] for column in columns]
    return np.array([*values, nx.laplacian_spectrum(graph)]).T


def networkx_structural(graph: nx.Graph) -> np.ndarray:
    a = nx.to_numpy_array(graph)
    degree = a.sum(1)
    walk = a / np.where(degree, degree, 1)[:, None]
    returns = [np.linalg.matrix_power(walk, k).diagonal() for k in range(2, 9)]
    return np.array([degree, *returns, list(nx.core_number(graph).values())]).T


def connected_graphs() -> list[nx.Graph]:
    """Random connected graphs of different sizes and densities."""
    shapes = [(5, 0.6), (12, 0.3), (20, 0.2), (31, 0.4)] * 5
    graphs = [nx.gnp_random_graph(n, p, seed=i) for i, (n, p) in enumerate(shapes)]
    return [graph for graph in graphs if nx.is_connected(graph)]


def assert_rows(encoding: torch.Tensor, graphs: list[nx.Graph], expected: list[np.ndarray], tolerance: float) -> None:
    for row, graph, values in zip(encoding, graphs, expected, strict=True):
        np.testing.assert_allclose(row[: len(graph)], values, rtol=tolerance, atol=tolerance)
        assert not row[len(graph) :].any(), "padding rows must be zero"


def test_the_random_graphs_are_many_and_of_different_sizes() -> None:
    sizes = [len(graph) for graph in connected_graphs()]
    assert len(sizes) >= 10 and len(set(sizes)) >= 3


def test_centralities_are_networkx_on_random_connected_graphs_padding_included() -> None:
    graphs = connected_graphs()
    encoding = encode(GraphBatch.of(graphs), "centralities")
    assert encoding.dtype == torch.float64 and encoding.shape[2] == len(CENTRALITIES)
    assert_rows(encoding, graphs, [networkx_centralities(graph) for graph in graphs], 1e-8)


def test_centralities_are_networkx_on_tree_cycles() -> None:
    batch = TreeCycles(n_graphs=12).load().graphs
    graphs = [graph.to_networkx() for graph in batch]
    assert_rows(encode(batch, "centralities"), graphs, [networkx_centralities(graph) for graph in graphs], 1e-8)


@pytest.mark.skipif("RSGG_DATA_DIR" not in os.environ, reason="ASD is not available: RSGG_DATA_DIR is not set")
def test_centralities_are_networkx_on_asd() -> None:
    batch = ASD().load().graphs[::25]
    graphs = [graph.to_networkx() for graph in batch]
    assert all(nx.is_connected(graph) for graph in graphs)
    assert_rows(encode(batch, "centralities"), graphs, [networkx_centralities(graph) for graph in graphs], 1e-8)


def test_katz_agrees_with_power_iteration_where_that_converges() -> None:
    batch = TreeCycles(n_graphs=5).load().graphs
    katz = encode(batch, "centralities")[:, :, CENTRALITIES.index("katz")]
    for row, graph in zip(katz, batch, strict=True):
        iterated = nx.katz_centrality(graph.to_networkx(), tol=1e-12, max_iter=10_000)
        np.testing.assert_allclose(row, list(iterated.values()), atol=1e-9)


def test_katz_is_finite_where_its_system_is_singular() -> None:
    complete = nx.complete_graph(11)  # largest eigenvalue 10 = 1 / alpha
    katz = encode(GraphBatch.of(complete), "centralities")[0, :, CENTRALITIES.index("katz")]
    np.testing.assert_allclose(katz, 11**-0.5, rtol=1e-6)


def test_disconnected_graphs_are_encoded_component_by_component() -> None:
    parts = [nx.path_graph(4), nx.star_graph(5), nx.empty_graph(1)]
    union = nx.disjoint_union_all(parts)
    encoding = encode(GraphBatch.of(union), "centralities")[0].numpy()
    second_order = [value for part in parts[:2] for value in nx.second_order_centrality(part).values()]
    np.testing.assert_allclose(encoding[:, CENTRALITIES.index("second_order")], [*second_order, 0.0], atol=1e-8)
    for name, function in (
        ("betweenness", nx.betweenness_centrality),
        ("closeness", nx.closeness_centrality),
        ("harmonic", nx.harmonic_centrality),
    ):
        np.testing.assert_allclose(encoding[:, CENTRALITIES.index(name)], list(function(union).values()), atol=1e-12)
    np.testing.assert_allclose(encoding[:, CENTRALITIES.index("laplacian")], nx.laplacian_spectrum(union), atol=1e-10)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("kind", ["structural", "centralities"])
def test_the_smallest_graphs_are_finite(n: int, kind: str) -> None:
    for graph in (nx.empty_graph(n), nx.path_graph(n), nx.complete_graph(n)):
        assert encode(GraphBatch.of(graph), kind).isfinite().all()


def test_structural_on_random_graphs() -> None:
    graphs = [*connected_graphs(), nx.gnp_random_graph(15, 0.08, seed=3), nx.empty_graph(4)]
    encoding = encode(GraphBatch.of(graphs), "structural")
    assert encoding.dtype == torch.float32 and encoding.shape[2] == len(STRUCTURAL)
    assert_rows(encoding, graphs, [networkx_structural(graph) for graph in graphs], 1e-6)


def test_return_probabilities_of_a_triangle_in_closed_form() -> None:
    triangle = encode(GraphBatch.of(nx.cycle_graph(3)), "structural")[0, 0, 1:-1]
    expected = [(1 + 2 * (-0.5) ** k) / 3 for k in range(2, 9)]
    np.testing.assert_allclose(triangle, expected, rtol=1e-6)


@st.composite
def graph_and_permutation(draw: st.DrawFn) -> tuple[np.ndarray, list[int]]:
    n = draw(st.integers(2, 9))
    upper = draw(st.lists(st.booleans(), min_size=n * (n - 1) // 2, max_size=n * (n - 1) // 2))
    adjacency = np.zeros((n, n), dtype=int)
    adjacency[np.triu_indices(n, 1)] = upper
    return adjacency + adjacency.T, draw(st.permutations(range(n)))


@given(graph_and_permutation())
@settings(max_examples=60, deadline=None)
def test_encodings_move_with_the_nodes(case: tuple[np.ndarray, list[int]]) -> None:
    adjacency, permutation = case
    batch = GraphBatch.of(Graph(adjacency))
    moved = batch.relabelled(torch.tensor([permutation]))
    structural = encode(batch, "structural")[:, permutation]
    torch.testing.assert_close(encode(moved, "structural"), structural)
    local = len(CENTRALITIES) - 1  # all but the spectrum, which stays where it is
    before, after = encode(batch, "centralities"), encode(moved, "centralities")
    torch.testing.assert_close(after[..., :local], before[:, permutation, :local], atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(after[..., local], before[..., local], atol=1e-9, rtol=0)


@pytest.mark.parametrize("kind", ["structural", "centralities"])
def test_a_graph_is_encoded_alike_alone_in_company_and_in_blocks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = GraphBatch.of(connected_graphs())
    together = encode(batch, kind)
    monkeypatch.setattr(encodings, "PAIRS_AT_ONCE", 3 * batch.n_nodes**2)
    torch.testing.assert_close(encode(batch, kind), together)
    alone = encode(GraphBatch.of(batch[2]), kind)[0]
    torch.testing.assert_close(together[2, : len(alone)], alone)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(UsageError, match="no node encoding 'degrees'"):
        encode(GraphBatch.of(nx.path_graph(3)), "degrees")
