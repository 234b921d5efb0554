"""Graphs and batches: what is refused and how it is said, and the ways in from and out to other libraries."""

import warnings
from collections.abc import Callable
from dataclasses import replace

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

from rsgg.baselines.controls import RandomEdits, TwoSided
from rsgg.baselines.search import IRand
from rsgg.edges import EdgeBatch
from rsgg.errors import GraphError
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch, resized
from rsgg.oracles import TreeCyclesOracle
from tests.graphs import gnp_graphs, tree, unicyclic

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
        (np.ones(3) * 1j, "not rows of numbers of one length \\(they are complex\\)"),
        ([[1.0], [-1e30], [0.0]], "as large as 1e\\+30, whose squares overflow; scale them"),
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


def test_tensors_in_the_middle_of_a_computation_are_taken_as_numbers() -> None:
    ones = torch.ones(3, 2, requires_grad=True)
    read = Graph(torch.tensor(SQUARE, dtype=torch.float32), ones, edge_features=torch.ones(3, 3, requires_grad=True))  # type: ignore[arg-type]
    assert read.features is not None and read.features.tolist() == ones.tolist() and read.n_edges == 2


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
        (Data(num_nodes=3), "has no edge_index"),
        (Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2), "^The graph is not symmetric.*utils.to_undirected"),
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


# -- edge features and node names --------------------------------------------------------------------------


def bonds(rows: object = None) -> Data:
    """The path 0 - 1 - 2 - 3, whose edges are of the types 5, 5 and 7."""
    one_way, types = torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.tensor([5, 5, 7])
    both = torch.cat((one_way, one_way.flip(0)), 1)
    return Data(edge_index=both, edge_attr=torch.cat((types, types)) if rows is None else rows, num_nodes=4)


def test_edge_attributes_of_pyg_are_kept_and_added_edges_have_a_declared_type() -> None:
    table = Graph.from_pyg(bonds()).edge_features
    assert table is not None and table.shape == (4, 4) and table.dtype == np.int64
    assert [table[u, v] for u, v in ((0, 1), (2, 1), (3, 2))] == [5, 5, 7]
    assert table[0, 2] == table[3, 0] == 5, "the most frequent type"
    declared = Graph.from_pyg(bonds(), added_edge=9)
    assert declared.edge_features is not None and declared.edge_features[0, 2] == 9 == declared.edge_features[2, 0]
    edited = declared.with_adjacency(np.ones((4, 4), dtype=np.uint8) - np.eye(4, dtype=np.uint8)).to_pyg()
    types = dict(zip(map(tuple, edited.edge_index.T.tolist()), edited.edge_attr.tolist(), strict=True))
    assert types == {(u, v): int(declared.edge_features[u, v]) for u in range(4) for v in range(4) if u != v}
    back = Graph.from_pyg(Graph.from_pyg(bonds()).to_pyg())
    assert back.edge_features is not None and np.array_equal(back.edge_features, table)


def test_weights_and_rows_of_edges_are_kept_as_they_are() -> None:
    data = bonds()
    data.edge_weight, data.edge_attr = data.edge_attr / 10, None
    weighted = Graph.from_pyg(data)
    assert weighted.edge_features is not None and weighted.edge_features.dtype == np.float32
    assert torch.equal(weighted.to_pyg().edge_weight.unique(), torch.tensor([0.5, 0.7]))
    rows = Graph.from_pyg(bonds(torch.eye(3).repeat(2, 1)))
    assert rows.edge_features is not None and rows.edge_features.shape == (4, 4, 3)
    assert rows.edge_features[1, 2].tolist() == rows.edge_features[2, 1].tolist() == [0, 1, 0]
    assert rows.edge_features[0, 3].tolist() == [0, 1, 0], "the middle one of equally frequent rows"
    assert (
        Graph.from_pyg(bonds(torch.empty(0, 2)).update({"edge_index": torch.empty(2, 0, dtype=torch.long)})).n_edges
        == 0
    )


def test_batches_and_lists_of_edges_carry_edge_features() -> None:
    graphs = [
        Graph.from_pyg(bonds()),
        Graph.from_pyg(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), edge_attr=torch.tensor([3, 3]), num_nodes=2)),
    ]
    batch = GraphBatch.of(graphs)
    assert batch.edge_features is not None and batch.edge_features.shape == (2, 4, 4)
    for again, graph in zip(batch, graphs, strict=True):
        assert np.array_equal(again.edge_features, graph.edge_features)  # type: ignore[arg-type]
    owner = torch.tensor([1, 0, 0])
    asked = batch.candidates(batch.adjacency[owner], owner)
    assert torch.equal(asked.edge_features, batch.edge_features[owner])  # type: ignore[arg-type]
    edges = EdgeBatch.of(batch)
    assert edges.edge_features is not None and edges.edge_features.tolist() == [5, 5, 7, 3]
    chosen = edges.select(torch.tensor([1, 0])).joined(edges)
    assert chosen.edge_features is not None and chosen.edge_features.tolist() == [3, 5, 5, 7, 5, 5, 7, 3]
    dense = edges.to_dense()
    assert dense.edge_features is not None
    present = batch.adjacency > 0
    assert torch.equal(dense.edge_features[present], batch.edge_features[present])
    renamed = batch.select(torch.tensor([0])).relabelled(torch.tensor([[2, 0, 3, 1]]))
    assert renamed.edge_features is not None and renamed.edge_features[0, 0, 2] == 7, "old pair 2, 3"
    cropped = batch.select(torch.tensor([1])).cropped(2)
    assert cropped.adjacency.shape == (1, 2, 2) and EdgeBatch.of(cropped).edge_features.tolist() == [3]  # type: ignore[union-attr]


def test_resized_graphs_are_the_same_with_other_padding() -> None:
    """Each graph taken out of its padding is what it was, whatever the padding; encodings and origins move along."""
    table = np.add.outer(np.arange(5), np.arange(5))
    graphs = [
        Graph(np.ones((n, n)) - np.eye(n), np.eye(3)[np.arange(n) % 3], f"g{n}", table[:n, :n]) for n in (2, 5, 3)
    ]
    batch = GraphBatch.of(graphs)
    batch = replace(batch, origin=torch.arange(5).expand(3, 5).masked_fill(~batch.node_mask, -1))
    encoded = batch.encoding("structural")
    wider = batch.resized(8)
    assert wider.n_nodes == 8 and wider.names == batch.names and torch.equal(wider.sizes, batch.sizes)
    assert wider.node_names == batch.node_names and wider.given == batch.given
    assert torch.equal(wider.encodings["structural"][:, :5], encoded) and not wider.encodings["structural"][:, 5:].any()
    assert wider.origin is not None and (wider.origin[:, 5:] == -1).all()
    for one in (wider, wider.resized(5), wider.resized(6)):
        for was, now in zip(batch, one, strict=True):
            for part in ("adjacency", "features", "edge_features"):
                assert np.array_equal(getattr(was, part), getattr(now, part))
    assert torch.equal(wider.resized(5).adjacency, batch.adjacency)
    assert not wider.adjacency[~wider.node_mask].any()
    assert resized(torch.ones(2, 1, 3, 3), 4).sum() == 18 and resized(torch.ones(2, 3, 3), 2).shape == (2, 2, 2)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Graph.from_pyg(bonds(torch.arange(6))), "differ between the directions of the pair 0, 1"),
        (lambda: Graph.from_pyg(bonds(torch.ones(4))), r"6 directed edges but edge features of shape \(4,\)"),
        (lambda: Graph.from_pyg(bonds(), added_edge=[1, 2]), r"added_edge has \(2,\); give it the same shape"),
        (lambda: Graph.from_pyg(bonds(), added_edge="single"), "edge features that are not rows of numbers"),
        (lambda: Graph(SQUARE, edge_features=np.ones((2, 2))), r"edge features of shape \(2, 2\)"),
        (lambda: Graph(SQUARE, edge_features=np.full((3, 3), np.nan)), "NaN or infinite edge features"),
        (lambda: Graph(SQUARE, node_names=("a", "b")), "3 nodes and 2 node names"),
        (lambda: Graph(SQUARE, node_names=("a", "b", "a")), "2 of them different"),
        (lambda: Graph(SQUARE, node_names=[[1], [2], [3]]), "node names that cannot be used"),  # type: ignore[arg-type]
        (lambda: Graph(SQUARE, node_names=3), "node names that cannot be used"),  # type: ignore[arg-type]
        (lambda: Graph(SQUARE, name=3), "was given the name 3; give a text"),  # type: ignore[arg-type]
        (lambda: GraphBatch.of([Graph.from_pyg(bonds()), tree(3)]), "Some graphs have edge features and some"),
        (lambda: GraphBatch.of([bonds(), bonds(torch.ones(6, 2))]), "edge features of different shapes"),
        (
            lambda: Graph.from_networkx(nx.path_graph(3), edge_features="w"),
            r"edges without the attribute 'w', the first is \(0, 1\)",
        ),
        (lambda: GraphBatch.of([tree(3), bonds(torch.arange(6))]), "^Number 1 of the graphs"),
    ],
)
def test_bad_edge_features_and_node_names_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(GraphError, match=sentence):
        make()


def test_networkx_names_and_weights_come_back() -> None:
    graph = nx.Graph()
    graph.add_nodes_from(["c", "a", "b"])
    graph.add_edge("b", "a", weight=0.5)
    read = Graph.from_networkx(graph, edge_features="weight")
    assert read.node_names == ("c", "a", "b") and read.edges() == [(1, 2)]
    batch = GraphBatch.of(read)
    back = batch[0].to_networkx()
    assert list(back) == ["c", "a", "b"] and {frozenset(e) for e in back.edges} == {frozenset("ab")}
    assert float(back.edges["a", "b"]["edge_attr"]) == 0.5
    assert batch.relabelled(torch.tensor([[2, 0, 1]])).node_names == (("b", "c", "a"),)
    assert Graph.from_networkx(nx.path_graph(3)).node_names is None


def test_what_is_dropped_is_said() -> None:
    graph = nx.path_graph(3)
    nx.set_node_attributes(graph, 1, "atom")
    nx.set_edge_attributes(graph, 1, "bond")
    with pytest.warns(UserWarning, match=r"node attributes 'atom' are not shown to the oracle; .*features=…\)"):
        Graph.from_networkx(graph, edge_features="bond")
    with pytest.warns(UserWarning, match=r"edge attributes 'bond' are not shown to the oracle; .*edge_features=…\)"):
        Graph.from_networkx(graph, features="atom")
    data = bonds()
    data.pos, data.y, data.train_mask = torch.zeros(4, 3), torch.tensor([1]), torch.ones(4)
    with pytest.warns(UserWarning, match="^The node or edge attributes 'pos' are not shown to the oracle"):
        GraphBatch.of([data])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GraphBatch.of([bonds()])


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


def test_names_are_kept_or_made_of_the_content() -> None:
    graphs = [Graph(SQUARE, name="first"), Graph(SQUARE), tree(4), Graph(SQUARE, np.ones((3, 1)))]
    batch = GraphBatch.of(graphs[:3])
    assert batch.names[0] == batch[0].name == "first" and batch[1:].names == batch.names[1:]
    assert len(set(batch.names)) == 3 and GraphBatch.of(graphs[2:0:-1]).names == batch.names[2:0:-1]
    assert GraphBatch.of(Graph(SQUARE)).names == batch.names[1:2], "padding does not matter"
    assert GraphBatch(batch.adjacency, batch.sizes).names[1:] == batch.names[1:]
    assert GraphBatch.of(graphs[3]).names != batch.names[1:2], "features are part of the content"
    assert GraphBatch.of(graphs[:3], named_by_position=True).names == ("first", "1", "2")


@pytest.mark.parametrize("explainer", [RandomEdits(), TwoSided(), IRand()])
def test_a_graph_without_a_name_is_explained_the_same_wherever_it_stands(explainer: Explainer) -> None:
    graphs = [tree(7, seed) if seed % 2 else unicyclic(7, 3, seed) for seed in range(6)]
    for kind in (lambda graph: graph, from_networkx, Graph.from_networkx):
        forwards = explainer.explain([kind(graph) for graph in graphs], TreeCyclesOracle())
        backwards = explainer.explain([kind(graph) for graph in reversed(graphs)], TreeCyclesOracle())
        assert [r.edits for r in forwards] == [r.edits for r in reversed(backwards)]
    assert len({tuple(r.edits) for r in forwards}) > 2


def test_selection_by_position_mask_and_slice() -> None:
    batch = GraphBatch.of([Graph(nx.to_numpy_array(tree(n)), np.full((n, 1), n)) for n in (3, 4, 5, 6)])
    batch.encodings["degree"] = batch.adjacency.sum(2, keepdim=True).float()
    batch = replace(batch, labels=torch.tensor([0, 1, 0, 2]))
    for chosen in (
        batch.select(torch.tensor([1, 3])),
        batch.select(torch.tensor([False, True, False, True])),
        batch[1::2],
    ):
        assert chosen.sizes.tolist() == [4, 6] and chosen.names == (batch.names[1], batch.names[3])
        assert chosen.features is not None and chosen.features[:, 0, 0].tolist() == [4, 6]
        assert torch.equal(chosen.encoding("degree"), batch.encodings["degree"][[1, 3]])
        assert chosen.labels is not None and chosen.labels.tolist() == [1, 2] and chosen.cropped(6).labels is not None
    with pytest.raises(GraphError, match="4 graphs has labels of shape"):
        replace(batch, labels=torch.zeros(3, dtype=torch.long))


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


NONE, TWO = torch.zeros(2, 3, 3, dtype=torch.uint8), torch.ones(2, dtype=torch.long)  # two graphs without edges


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ((NONE[0], TWO), r"shape \(3, 3\); it must be \[graphs, nodes, nodes\]"),
        ((NONE[:, :2], TWO), r"shape \(2, 2, 3\)"),
        ((NONE, TWO.repeat(2)), r"2 graphs has sizes of shape \(4,\)"),
        ((NONE, TWO * 4), "sizes beyond 1 to 3"),
        ((NONE, TWO * 0), "sizes beyond 1 to 3"),
        ((NONE, TWO, torch.ones(2, 4, 1)), r"must be \[2, 3, width\]"),
        ((NONE, TWO, None, ("a",)), "2 graphs has 1 names"),
        ((NONE.float(), TWO), r"adjacency that are a dense tensor of uint8, not one of torch\.float32"),
        ((NONE.numpy(), TWO), "adjacency that are a dense tensor of uint8, not a ndarray"),
        ((NONE, TWO.float()), "sizes that are a dense tensor of int64"),
        ((NONE, TWO, torch.ones(2, 3, 1).long()), "features that are a dense tensor of real numbers"),
        ((NONE, TWO, None, ["a", "b"]), "names that are a tuple, not a list"),
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


def test_pyg_graphs_that_cannot_be_read_get_a_sentence() -> None:
    from torch_geometric.data import Data, HeteroData

    edges = torch.tensor([[0, 1], [1, 0]])
    with pytest.raises(GraphError, match="node features that are not rows of numbers"):
        GraphBatch.of(Data(x=["a", "b"], edge_index=edges, num_nodes=2))
    with pytest.raises(GraphError, match="several types of nodes or edges"):
        GraphBatch.of(HeteroData())
    assert GraphBatch.of(Data(x=[[1.0], [2.0]], edge_index=edges, num_nodes=2)).features is not None
