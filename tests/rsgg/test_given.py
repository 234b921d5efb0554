"""Counterfactuals as the user's graph with other edges: names, attributes and tensors of the input come back."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import rsgg
from rsgg import Graph, GraphBatch
from rsgg.edits import ADD_LEAF, DROP, made_of, node_codes
from rsgg.sparse import SparseGraph

KINDS = pytest.mark.parametrize("kind", [Graph, SparseGraph])


def molecule() -> nx.Graph:
    """Four named atoms in a path, with attributes of all kinds; the carbon has no charge."""
    graph = nx.Graph(source="by hand")
    graph.add_node("C", kind=[1, 0])
    graph.add_node("N", kind=[0, 1], charge=1)
    graph.add_node("O", kind=[0, 1], charge=0)
    graph.add_node("H", kind=[1, 0], charge=0)
    graph.add_edge("C", "N", bond=2.0, colour="red")
    graph.add_edge("N", "O", bond=1.0)
    graph.add_edge("O", "H", bond=1.0, colour="blue")
    return graph


PATH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])  # of four nodes


def edited(graph: Graph, *pairs: tuple[int, int]) -> Graph:
    """The graph with these pairs flipped, as explainers of small and of large graphs do it."""
    if isinstance(graph, SparseGraph):
        return graph.with_edits(np.array([u * graph.n_nodes + v for u, v in pairs]))
    adjacency = graph.adjacency.copy()
    for u, v in pairs:
        adjacency[u, v] = adjacency[v, u] = 1 - adjacency[u, v]
    return graph.with_adjacency(adjacency)


@pytest.mark.filterwarnings("ignore:The .* attributes")
@KINDS
def test_networkx_attributes_come_back_and_added_edges_have_the_declared_type(kind: type[Graph]) -> None:
    original = molecule()
    read = kind.from_networkx(original, features="kind", edge_features="bond", added_edge=3.0)
    back = edited(read, (0, 1), (0, 3)).to_networkx()
    assert list(back) == list(original) and back.graph == original.graph
    for node, about in original.nodes.items():
        assert {key: back.nodes[node][key] for key in about} == about
        assert back.nodes[node]["x"].tolist() == about["kind"]
    assert back.edges["N", "O"]["bond"] == 1.0 and back.edges["O", "H"] == {**original.edges["O", "H"], "edge_attr": 1}
    assert not back.has_edge("C", "N")
    assert back.edges["C", "H"] == {"bond": 3.0, "edge_attr": 3.0}
    original.nodes["C"]["kind"] = "changed later"
    assert back.nodes["C"]["kind"] == [1, 0] and read.to_networkx().nodes["C"]["kind"] == [1, 0]


@pytest.mark.filterwarnings("ignore:The .* attributes")
def test_a_networkx_graph_is_explained_and_given_back_with_its_attributes() -> None:
    """Also where no attribute is named: no oracle sees them, and results have them."""
    original = molecule()
    result = rsgg.explain(rsgg.CallableOracle(lambda data: int(data.num_edges > 4)), original)
    back = result.to_networkx()
    assert result.found and back.number_of_edges() == 2
    assert all(back.nodes[node] == original.nodes[node] for node in original)
    assert all(back.edges[edge] == original.edges[edge] for edge in back.edges)


@pytest.mark.filterwarnings("ignore:The .* attributes")
@KINDS
def test_pyg_tensors_come_back_in_the_order_of_the_edges(kind: type[Graph]) -> None:
    data = Data(
        x=torch.tensor([[1], [2], [3], [4]]),
        edge_index=PATH,
        edge_attr=torch.tensor([1, 1, 2, 2, 1, 1]),
        edge_weight=torch.tensor([0.5, 0.6, 0.7, 0.8, 0.5, 0.5], dtype=torch.float64),
        pos=torch.rand(4, 2),
        y=torch.tensor([1]),
        node_names=["a", "b", "c", "d"],
    )
    back = edited(kind.from_pyg(data, added_edge=7), (1, 2), (0, 3)).to_pyg()
    assert back.edge_index.tolist() == [[0, 0, 1, 2, 3, 3], [1, 3, 0, 3, 0, 2]]
    assert back.edge_attr.tolist() == [1, 7, 1, 1, 7, 1]
    assert back.edge_weight.tolist() == [0.5, 0.5, 0.6, 0.5, 0.5, 0.5]  # new edges have the most frequent weight
    assert back.x.dtype == torch.int64 and back.edge_weight.dtype == torch.float64
    assert torch.equal(back.x, data.x) and torch.equal(back.pos, data.pos)
    assert back.node_names == ["a", "b", "c", "d"] and "y" not in back
    assert kind.from_pyg(data).node_names == ("a", "b", "c", "d")
    no_edges = edited(kind.from_pyg(data), (0, 1), (1, 2), (2, 3)).to_pyg()
    assert no_edges.edge_weight.shape == (0,) and no_edges.num_nodes == 4


def test_weights_alone_stay_weights_and_are_attributes_in_networkx() -> None:
    data = Data(edge_index=PATH, edge_weight=torch.tensor([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]), num_nodes=4)
    result = rsgg.explain(rsgg.CallableOracle(lambda data: int(data.num_edges > 4)), data)
    assert result.found
    weights = dict(zip(map(tuple, result.to_pyg().edge_index.T.tolist()), result.to_pyg().edge_weight, strict=True))
    assert weights == {pair: 1.0 + min(pair) for pair in weights}
    assert all(about["edge_attr"] == 1.0 + min(u, v) for u, v, about in result.to_networkx().edges.data())


@pytest.mark.filterwarnings("ignore:The .* attributes")
def test_what_was_given_moves_with_the_nodes() -> None:
    """In selected, renumbered and cropped batches, and where nodes are dropped and added."""
    batch = GraphBatch.of(Graph.from_networkx(molecule(), features="kind"))
    turned = batch.relabelled(torch.tensor([[3, 2, 1, 0]])).select(torch.tensor([0]))[0].to_networkx()
    assert list(turned) == ["H", "O", "N", "C"]
    assert turned.nodes["N"]["charge"] == 1 and turned.edges["C", "N"]["colour"] == "red"
    graph = batch.resized(6).cropped(4)[0]
    codes = np.concatenate([node_codes(DROP, np.array([3]), 0, 4), node_codes(ADD_LEAF, np.array([0]), 1, 4)])
    back = made_of(graph, codes).graph.to_networkx()
    assert list(back) == ["C", "N", "O", "new 1"]
    assert back.nodes["O"]["charge"] == 0 and "charge" not in back.nodes["new 1"]
    assert back.nodes["new 1"]["kind"].tolist() == [0, 1]
    assert back.edges["C", "N"]["colour"] == "red" and back.edges["C", "new 1"] == {}


def test_a_graph_without_anything_else_is_as_it_was() -> None:
    graph = Graph.from_networkx(nx.path_graph(3))
    assert graph.given is None and graph.to_networkx().nodes[0] == {} and "node_names" not in graph.to_pyg()


@pytest.mark.filterwarnings("ignore:The .* attributes")
def test_a_function_sees_the_same_of_the_input_and_of_edited_graphs() -> None:
    seen = []

    def function(data: Data) -> int:
        seen.append((data.x.dtype, sorted(data.keys())))
        return int(data.num_edges > 4)

    data = Data(x=torch.tensor([[1], [2], [3], [4]]), edge_index=PATH, pos=torch.rand(4, 2), node_names=[*"abcd"])
    assert rsgg.explain(function, data).found
    assert len(seen) > 1 and set(map(str, seen)) == {str((torch.float32, ["edge_index", "num_nodes", "x"]))}
