"""Graphs and batches: what is refused and how it is said, and the ways in from and out to other libraries."""

from collections.abc import Callable

import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader
from torch_geometric.utils import from_networkx

from rsgg.errors import GraphError
from rsgg.graph import Graph, GraphBatch
from tests.graphs import gnp_graphs, tree

SQUARE = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


def changed(u: int, v: int, value: float, kind: type = float) -> np.ndarray:
    matrix = SQUARE.astype(kind)  # type: ignore[var-annotated]
    matrix[u, v] = value
    return matrix


@pytest.mark.parametrize(
    ("adjacency", "sentence"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\); it must be square"),
        (np.ones(4), r"shape \(4,\); it must be square"),
        (np.zeros((0, 0)), "at least one node"),
        (changed(0, 2, 1), "not symmetric at nodes 0 and 2"),
        (changed(1, 1, 1), "self loop at node 1"),
        (changed(0, 1, 0.5), "not binary"),
        (changed(0, 1, -1), "not binary"),
        (changed(0, 1, np.nan), "NaN or infinite entries"),
        (changed(0, 1, np.inf), "NaN or infinite entries"),
        (np.array([["a", "b"], ["b", "a"]]), "not numbers"),
        (np.array([[None, 1], [1, None]]), "not numbers"),
        ([[0, 1], [1]], "cannot be read as a matrix"),
    ],
)
def test_bad_adjacency_is_refused_with_a_sentence(adjacency: np.ndarray, sentence: str) -> None:
    with pytest.raises(GraphError, match=f"^Graph 'mine' .*{sentence}"):
        Graph(adjacency, name="mine")
    with pytest.raises(GraphError, match=f"^The graph .*{sentence}"):
        Graph(adjacency)


@pytest.mark.parametrize(
    ("features", "sentence"),
    [
        (np.ones((2, 1)), r"has 3 nodes but features of shape \(2, 1\)"),
        (np.ones((3, 1, 1)), r"features of shape \(3, 1, 1\)"),
        ([[1.0], [np.nan], [0.0]], "NaN or infinite node features"),
        ([[1.0], [1.0, 2.0], [0.0]], "not rows of numbers of one length"),
        (["a", "b", "c"], "not rows of numbers"),
    ],
)
def test_bad_features_are_refused_with_a_sentence(features: object, sentence: str) -> None:
    with pytest.raises(GraphError, match=sentence):
        Graph(SQUARE, features)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [bool, int, np.uint8, np.float32, scipy.sparse.csr_array])
def test_any_kind_of_binary_matrix_is_taken(kind: type) -> None:
    matrix = scipy.sparse.csr_array(SQUARE) if kind is scipy.sparse.csr_array else SQUARE.astype(kind)
    assert np.array_equal(Graph(matrix).adjacency, SQUARE)


def test_a_graph_is_a_copy_that_nobody_can_write_to() -> None:
    matrix, features = SQUARE.copy(), np.ones((3, 2), dtype=np.float32)
    graph = Graph(matrix, features)
    matrix[0, 1], features[0, 0] = 0, 7
    assert graph.adjacency[0, 1] == 1 and graph.features is not None and graph.features[0, 0] == 1
    for array in (graph.adjacency, graph.features):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 1


def test_sizes_and_edges() -> None:
    graph = Graph(SQUARE)
    assert (graph.n_nodes, graph.n_edges, graph.size, graph.edges()) == (3, 2, 5, [(0, 1), (1, 2)])
    released = Graph.unchecked(np.array([[1, 2], [2, 0]], dtype=np.uint8))
    assert (released.n_edges, released.edges()) == (1, [(0, 0), (0, 1)])
    assert Graph(SQUARE, [1, 2, 3]).features.shape == (3, 1)  # type: ignore[arg-type, union-attr]


# -- other libraries -------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.floats(0, 1), st.integers(0, 10**6))
def test_there_and_back_again(n: int, p: float, seed: int) -> None:
    original = nx.gnp_random_graph(n, p, seed=seed)
    x = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    graph = Graph(nx.to_numpy_array(original), x)
    assert nx.utils.graphs_equal(nx.Graph(graph.to_networkx().edges), nx.Graph(original.edges))
    for back in (Graph.from_networkx(graph.to_networkx(), features="x"), Graph.from_pyg(graph.to_pyg())):
        assert np.array_equal(back.adjacency, graph.adjacency)
        assert back.features is not None and np.array_equal(back.features, x)


def test_pyg_graphs_made_by_pyg_are_understood() -> None:
    original = nx.gnp_random_graph(9, 0.3, seed=1)
    assert np.array_equal(Graph.from_pyg(from_networkx(original)).adjacency, nx.to_numpy_array(original))
    data = Graph(SQUARE).to_pyg()
    assert data.is_undirected() and data.num_nodes == 3 and data.x is None and not data.has_self_loops()


def test_networkx_node_order_is_kept() -> None:
    graph = nx.Graph()
    graph.add_nodes_from(["c", "a", "b"])
    graph.add_edge("a", "b", weight=7.0)
    assert Graph.from_networkx(graph).edges() == [(1, 2)]


@pytest.mark.parametrize(
    ("graph", "sentence"),
    [
        (nx.DiGraph([(0, 1)]), "Only undirected simple graphs"),
        (nx.MultiGraph([(0, 1), (0, 1)]), "Only undirected simple graphs"),
        (nx.Graph([(0, 0)]), "self loop at node 0"),
        (nx.Graph(), "at least one node"),
        (Data(num_nodes=3), "no nodes or no edge_index"),
        (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), "not symmetric"),
        (Data(edge_index=torch.tensor([[0, 7], [7, 0]]), num_nodes=2), "number its 2 nodes from 0"),
        (Data(edge_index=torch.tensor([[0, -1], [-1, 0]]), num_nodes=2), "number its 2 nodes from 0"),
        (Data(edge_index=torch.tensor([0, 1]), num_nodes=2), r"edge_index of shape \(2,\)"),
        ("graph", "A str is not a graph"),
        (3, "A int is not a graph"),
    ],
)
def test_foreign_graphs_that_cannot_be_explained(graph: object, sentence: str) -> None:
    with pytest.raises(GraphError, match=sentence):
        GraphBatch.of([graph])


def test_networkx_features_are_read_from_every_node() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, {0: 1.0, 2: 3.0}, "weight")
    with pytest.raises(GraphError, match="without the attribute 'weight', the first is 1; give it to every node"):
        Graph.from_networkx(graph, features="weight")
    graph.nodes[1]["weight"] = 2.0
    read = Graph.from_networkx(graph, features="weight").features
    assert read is not None and read.tolist() == [[1], [2], [3]]


# -- batches ---------------------------------------------------------------------------------------------


def test_a_batch_holds_graphs_of_all_sizes_and_kinds() -> None:
    graphs = gnp_graphs(30, sizes=(1, 4, 9))
    kinds = (lambda graph: graph, Graph.from_networkx, from_networkx)
    mixed = [kinds[i % 3](graph) for i, graph in enumerate(graphs)]
    batch = GraphBatch.of(mixed)
    assert batch.adjacency.shape == (30, 9, 9) and batch.adjacency.dtype == torch.uint8 and len(batch) == 30
    assert batch.n_edges.tolist() == [g.number_of_edges() for g in graphs]
    assert batch.node_mask.sum(1).tolist() == [len(g) for g in graphs]
    assert batch.pair_mask.sum((1, 2)).tolist() == [len(g) * (len(g) - 1) // 2 for g in graphs]
    assert not (batch.adjacency.bool() & ~(batch.pair_mask | batch.pair_mask.transpose(1, 2))).any()
    for graph, original in zip(batch, graphs, strict=True):
        assert np.array_equal(graph.adjacency, nx.to_numpy_array(original))


def test_a_single_graph_is_a_batch_of_one_and_a_batch_is_itself() -> None:
    for single in (tree(5), Graph.from_networkx(tree(5)), from_networkx(tree(5))):
        assert len(GraphBatch.of(single)) == 1
    batch = GraphBatch.of([tree(5)])
    assert GraphBatch.of(batch) is batch


class Memory(InMemoryDataset):  # type: ignore[misc]
    """A PyG data set in memory, as its TUDataset and others are."""

    def __init__(self, graphs: list[Data]) -> None:
        super().__init__()
        self.data, self.slices = self.collate(graphs)


@pytest.mark.parametrize(
    "held",
    [
        Batch.from_data_list,
        Memory,
        lambda graphs: DataLoader(graphs, batch_size=7),
        lambda graphs: [Batch.from_data_list(graphs[:5]), Batch.from_data_list(graphs[5:])],
        lambda graphs: [graphs[0], Batch.from_data_list(graphs[1:])],
        lambda graphs: torch.utils.data.Subset(Memory(graphs), range(len(graphs))),
        lambda graphs: iter(graphs),
    ],
)
def test_whatever_holds_pyg_graphs_is_taken_as_the_graphs_it_holds(held: Callable[[list[Data]], object]) -> None:
    graphs = [nx.gnp_random_graph(n, 0.4, seed=n) for n in range(2, 14)]
    batch = GraphBatch.of(held([Graph.from_networkx(graph).to_pyg() for graph in graphs]))
    assert batch.sizes.tolist() == [len(graph) for graph in graphs]
    for read, graph in zip(batch, graphs, strict=True):
        assert np.array_equal(read.adjacency, nx.to_numpy_array(graph))


def test_names_are_kept_or_numbered() -> None:
    batch = GraphBatch.of([Graph(SQUARE, name="first"), Graph(SQUARE), tree(4)])
    assert batch.names == ("first", "1", "2")
    assert batch[1:].names == ("1", "2") and batch[0].name == "first"


def test_selection_by_position_mask_and_slice() -> None:
    batch = GraphBatch.of([Graph(nx.to_numpy_array(tree(n)), np.full((n, 1), n)) for n in (3, 4, 5, 6)])
    batch.encodings["degree"] = batch.adjacency.sum(2, keepdim=True).float()
    for chosen in (
        batch.select(torch.tensor([1, 3])),
        batch.select(torch.tensor([False, True, False, True])),
        batch[1::2],
    ):
        assert chosen.sizes.tolist() == [4, 6] and chosen.names == ("1", "3")
        assert chosen.features is not None and chosen.features[:, 0, 0].tolist() == [4, 6]
        assert torch.equal(chosen.encoding("degree"), batch.encodings["degree"][[1, 3]])


def test_candidates_take_size_and_features_from_their_owner() -> None:
    batch = GraphBatch.of([Graph(nx.to_numpy_array(tree(n)), np.full((n, 1), n)) for n in (3, 5)])
    owner = torch.tensor([1, 0, 1])
    asked = batch.candidates(torch.zeros(3, 5, 5, dtype=torch.uint8), owner)
    assert asked.sizes.tolist() == [5, 3, 5]
    assert asked.features is not None and asked.features[:, 0, 0].tolist() == [5, 3, 5]


@pytest.mark.parametrize(
    ("graphs", "sentence"),
    [
        ([], "no graphs to work on"),
        ([Graph(SQUARE), Graph(SQUARE, np.ones((3, 1)))], "some have none"),
        ([Graph(SQUARE, np.ones((3, 1))), Graph(SQUARE, np.ones((3, 2)))], r"different widths \(\[1, 2\]\)"),
    ],
)
def test_graphs_that_do_not_go_together(graphs: list[Graph], sentence: str) -> None:
    with pytest.raises(GraphError, match=sentence):
        GraphBatch.of(graphs)


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ((torch.zeros(2, 3), torch.ones(2)), r"shape \(2, 3\); it must be \[graphs, nodes, nodes\]"),
        ((torch.zeros(2, 3, 4), torch.ones(2)), r"shape \(2, 3, 4\)"),
        ((torch.zeros(2, 3, 3), torch.ones(3)), r"2 graphs has sizes of shape \(3,\)"),
        ((torch.zeros(2, 3, 3), torch.ones(2), torch.ones(2, 4, 1)), r"must be \[2, 3, width\]"),
        ((torch.zeros(2, 3, 3), torch.ones(2), None, ("a",)), "2 graphs has 1 names"),
    ],
)
def test_batches_whose_parts_do_not_fit_are_refused(parts: tuple, sentence: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(GraphError, match=sentence):
        GraphBatch(*parts)
    with pytest.raises(GraphError, match="A int is no list of graphs"):
        GraphBatch.of(3)


def test_relabelling_is_networkx_relabelling() -> None:
    graph, order = nx.gnp_random_graph(8, 0.4, seed=2), [3, 1, 7, 0, 2, 6, 5, 4]
    batch = GraphBatch.of([Graph(nx.to_numpy_array(graph), np.arange(8))])
    renamed = batch.relabelled(torch.tensor([order]))
    expected = nx.relabel_nodes(graph, {old: new for new, old in enumerate(order)})
    assert set(renamed[0].edges()) == {(min(e), max(e)) for e in expected.edges}
    assert renamed.features is not None and renamed.features[0, :, 0].tolist() == order
