"""Counterfactuals as an algorithm of `torch_geometric.explain`, checked by asking the model about the edited graph."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch import Tensor
from torch_geometric.explain import Explainer, Explanation
from torch_geometric.explain.metric import fidelity
from torch_geometric.nn import GCN, GIN, GINEConv, global_add_pool
from torch_geometric.utils import degree, from_networkx, k_hop_subgraph

from rsgg.constraints import OnlyRemovals
from rsgg.errors import GraphError, UsageError
from rsgg.pyg_explain import CounterfactualAlgorithm

GRAPH, NODE = (
    {"mode": "multiclass_classification", "task_level": level, "return_type": "raw"} for level in ("graph", "node")
)
BINARY = {"mode": "binary_classification", "task_level": "graph", "return_type": "raw"}


class CountsEdges(torch.nn.Module):
    """Class 1 are graphs with more than eight edges; with `one_logit` as one number per graph, or its probability."""

    def __init__(self, one_logit: bool = False, probability: bool = False) -> None:
        super().__init__()
        self.one_logit, self.probability = one_logit, probability

    def forward(self, x, edge_index, batch=None):
        more = global_add_pool(degree(edge_index[0], len(x))[:, None], batch) / 2 - 8.5
        more = more.sigmoid() if self.probability else more
        return more if self.one_logit else torch.cat((-more, more), 1)


class ReadsEdges(torch.nn.Module):
    """A GNN that reads edge attributes and remembers those that it was shown."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv, self.seen = GINEConv(torch.nn.Linear(1, 2), edge_dim=2), []  # type: ignore[var-annotated]

    def forward(self, x, edge_index, edge_attr):
        self.seen.append((edge_index, edge_attr))
        return global_add_pool(self.conv(x, edge_index, edge_attr), None) + torch.tensor([0.0, 4.2 * len(x)])


def explainer(model, config=GRAPH, **options) -> Explainer:
    return Explainer(model, CounterfactualAlgorithm(**options), "model", config, edge_mask_type="object")


def edges_of(graph: nx.Graph) -> Tensor:
    return from_networkx(graph).edge_index


def edited(explanation: Explanation) -> Tensor:
    """The counterfactual's edge_index, from the attributes of the explanation alone."""
    return torch.cat((explanation.edge_index[:, explanation.edge_mask == 0], explanation.added_edge_index), 1)


@pytest.mark.parametrize(
    ("model", "config"),
    [
        (CountsEdges(), GRAPH),
        (CountsEdges(one_logit=True), BINARY),
        (CountsEdges(one_logit=True, probability=True), BINARY | {"return_type": "probs"}),
    ],
)
@pytest.mark.parametrize("graph", [nx.complete_graph(6), nx.path_graph(7)])
def test_a_graph_is_explained_with_as_few_edits_as_possible(model, config, graph) -> None:
    x, n = torch.ones(len(graph), 1), graph.number_of_edges()
    explanation = explainer(model, config)(x, edges_of(graph))
    assert explanation.found and edited(explanation).shape[1] == 2 * (9 if n <= 8 else 8)
    assert int(explanation.edge_mask.sum()) == 2 * max(n - 8, 0)
    assert explanation.added_edge_index.shape == (2, 2 * max(9 - n, 0))
    pairs = {tuple(pair) for pair in edited(explanation).T.tolist()}
    assert pairs == {(v, u) for u, v in pairs} and len(pairs) == edited(explanation).shape[1]


@pytest.mark.usefixtures("no_matrices")
def test_a_large_graph_is_explained_without_a_matrix() -> None:
    class CountsTriangles(torch.nn.Module):
        """Class 1 if nodes 0, 1 and 2 are a triangle."""

        def forward(self, x, edge_index):
            pairs = {(u, v) for u, v in edge_index[:, (edge_index < 3).all(0)].T.tolist() if u != v}
            return torch.tensor([[0.5, len(pairs) == 6]])

    graph = nx.cycle_graph(1500)
    graph.add_edges_from([(0, 2), (2, 2)])
    edges = edges_of(graph)
    explanation = explainer(CountsTriangles())(torch.ones(1500, 1), edges)
    assert explanation.found and explanation.edge_mask.sum() == 2 and explanation.added_edge_index.shape == (2, 0)
    (pair,) = explanation.counterfactual.removed
    assert set(pair) < {0, 1, 2} and not explanation.edge_mask[(edges == 2).all(0)].any(), "self loops stay"


class PooledGIN(torch.nn.Module):
    """A GIN of random weights whose two classes lie on either side of `threshold`."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.gin, self.threshold = GIN(2, 8, num_layers=2, out_channels=1), 0.0

    def forward(self, x, edge_index):
        score = global_add_pool(self.gin(x, edge_index), None) - self.threshold
        return torch.cat((-score, score), 1)


def test_a_gnn_changes_its_class_and_pyg_agrees() -> None:
    model, x = PooledGIN(), torch.randn(12, 2)
    edge_index = edges_of(nx.gnp_random_graph(12, 0.4, seed=0))
    ends = [model(x, edges)[0, 1].item() for edges in (edge_index, edge_index[:, :0])]
    model.threshold = sum(ends) / 2  # the graph and the empty graph are of different classes
    run = explainer(model, constraints=(OnlyRemovals(),))
    explanation = run(x, edge_index)
    assert model(x, edited(explanation)).argmax() != model(x, edge_index).argmax()
    assert explanation.found and explanation.added_edge_index.numel() == 0
    necessary, _ = fidelity(run, explanation)  # 1: without the masked edges the model says something else
    assert necessary == 1


def test_edge_attributes_go_with_their_edges_and_new_ones_are_declared() -> None:
    model, graph = ReadsEdges(), nx.path_graph(6)
    edge_index = edges_of(graph)
    edge_attr = edge_index.T.float()  # of the edge u → v: (u, v)
    explanation = explainer(model, new_edge=-7.0)(torch.ones(6, 1), edge_index, edge_attr=edge_attr)
    assert len(model.seen) > 3
    new = 0
    for edges, attributes in model.seen:
        is_new = (attributes == -7).all(1)
        assert torch.equal(attributes[~is_new], edges.T[~is_new].float())
        existing = {tuple(pair) for pair in edge_index.T.tolist()}
        assert all((tuple(pair) in existing) != fresh for pair, fresh in zip(edges.T.tolist(), is_new, strict=True))
        new += int(is_new.sum())
    assert new and torch.equal(explanation.edge_attr, edge_attr)


def test_self_loops_stay_and_one_graph_of_a_batch_is_explained_alone() -> None:
    loops = torch.arange(14).repeat(2, 1)
    edge_index = torch.cat((edges_of(nx.disjoint_union(nx.path_graph(7), nx.complete_graph(7))), loops), 1)
    batch = torch.arange(14) // 7
    run = explainer(CountsEdges())
    explanation = run(torch.ones(14, 1), edge_index, batch=batch, index=1)  # 21 edges, 3.5 for seven loops
    removed = edge_index[:, explanation.edge_mask == 1]
    assert explanation.found and (removed >= 7).all() and (removed[0] != removed[1]).all()
    assert removed.shape[1] == 2 * (21 + 4 - 8 - 1)
    with pytest.raises(UsageError, match=r"2 outputs, one for each graph; .* give index="):
        run(torch.ones(14, 1), edge_index, batch=batch)


def test_a_node_is_explained_by_edits_near_it() -> None:
    torch.manual_seed(0)
    model = GCN(4, 16, num_layers=2, out_channels=3).eval()
    graph = nx.connected_watts_strogatz_graph(60, 4, 0.05, seed=0)
    x, edge_index = torch.randn(60, 4), edges_of(graph)
    before, found = model(x, edge_index).argmax(1), 0
    for node in range(0, 60, 6):
        explanation = explainer(model, NODE, budget=300)(x, edge_index, index=node)
        near = set(k_hop_subgraph(node, 2, edge_index)[0].tolist())
        touched = torch.cat((edge_index[:, explanation.edge_mask == 1], explanation.added_edge_index), 1)
        assert set(touched.flatten().tolist()) <= near
        assert explanation.found == bool(model(x, edited(explanation)).argmax(1)[node] != before[node])
        found += explanation.found
    assert found >= 5
    with pytest.raises(UsageError, match="60 outputs, one for each node"):
        explainer(model, NODE)(x, edge_index)


class CountsNeighbours(torch.nn.Module):
    """Class 1 are nodes with more than two neighbours."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = GIN(1, 1, num_layers=1)  # never called: the number of layers says how far a node sees

    def forward(self, x, edge_index):
        more = degree(edge_index[0], len(x))[:, None] - 2.5
        return torch.cat((-more, more), 1)


def test_nodes_are_named_as_in_the_whole_graph() -> None:
    graph = nx.disjoint_union(nx.path_graph(12), nx.star_graph(3))  # node 12 has the neighbours 13, 14 and 15
    explanation = explainer(CountsNeighbours(), NODE)(torch.ones(16, 1), edges_of(graph), index=12)
    assert explanation.found and explanation.counterfactual.in_words().startswith("Remove the edge 12–1")


def test_nothing_found_has_a_reason_and_an_empty_mask() -> None:
    class Constant(torch.nn.Module):
        def forward(self, x, edge_index):
            return torch.tensor([[1.0, 0.0]])

    explanation = explainer(Constant())(torch.ones(5, 1), edges_of(nx.path_graph(5)))
    assert not explanation.found and explanation.reason and not explanation.edge_mask.any()
    assert explanation.added_edge_index.shape == (2, 0)
    assert explainer(CountsEdges(), budget=1)(torch.ones(5, 1), edges_of(nx.path_graph(5))).found is False


def test_directed_graphs_are_refused() -> None:
    with pytest.raises(GraphError, match="directed; counterfactuals need both directions"):
        explainer(CountsEdges())(torch.ones(3, 1), torch.tensor([[0, 1], [1, 2]]))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"explanation_type": "phenomenon"}, "use explanation_type='model'"),
        ({"node_mask_type": "object"}, "edits edges only"),
        ({"node_mask_type": "object", "edge_mask_type": None}, "edits edges only"),
        ({"model_config": {"mode": "regression", "task_level": "graph"}}, "a regression has none"),
        ({"model_config": GRAPH | {"task_level": "edge"}}, "explains graphs and nodes"),
    ],
)
def test_other_settings_are_refused_with_the_reason(settings, said, caplog) -> None:
    usual = {"explanation_type": "model", "model_config": GRAPH, "edge_mask_type": "object"}
    with pytest.raises(ValueError, match="does not support the given explanation settings"):
        Explainer(CountsEdges(), CounterfactualAlgorithm(), **(usual | settings))
    assert said in caplog.text
