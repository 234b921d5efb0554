"""Models as practitioners have them: what they take, what they return, and what is said where it is not understood."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINEConv, global_add_pool, global_max_pool, global_mean_pool

from rsgg.baselines.cf2 import CF2
from rsgg.baselines.controls import TwoSided
from rsgg.baselines.meg import MEG
from rsgg.baselines.search import DCE, OBS, IRand
from rsgg.compose import Minimised
from rsgg.contract import check_oracle
from rsgg.data import TreeCycles
from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CallableOracle, CountingOracle, PyGOracle
from rsgg.rsgg_ce import RSGGCE
from rsgg.task import Task
from tests.graphs import gnp_graphs, tree


class GCN(nn.Module):
    """Two layers with dropout, pooled by the mean so that padding would matter."""

    def __init__(self, classes: int = 3, width: int = 2) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.last = GCNConv(width, 8), GCNConv(8, 8), nn.Linear(8, classes)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        h = self.first(x, edge_index, edge_weight).tanh()
        h = nn.functional.dropout(h, 0.5, self.training)
        h = self.second(h, edge_index, edge_weight).tanh()
        return 5 * self.last(global_mean_pool(h, batch))


class Changed(nn.Module):
    """A GCN whose output is changed in some way."""

    def __init__(self, change: Callable[[Tensor], Any], classes: int = 3) -> None:
        super().__init__()
        self.gcn, self.change = GCN(classes), change

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Any:
        return self.change(self.gcn(x, edge_index, batch, edge_weight))


def graphs(sizes: tuple[int, ...] = (4, 9), count: int = 24) -> GraphBatch:
    rng = np.random.default_rng(0)
    made = gnp_graphs(count, sizes=sizes)
    return GraphBatch.of([Graph(nx.to_numpy_array(g), rng.normal(size=(len(g), 2))) for g in made])


def logits(model: nn.Module, batch: GraphBatch, **options: Any) -> Tensor:
    """What the model says of each graph alone, as PyG users would ask it."""
    model.eval()
    rows = []
    for graph in batch:
        data = graph.to_pyg()
        rows.append(model(data.x, data.edge_index, torch.zeros(graph.n_nodes, dtype=torch.long), **options)[0])
    return torch.stack(rows).detach()


# -- what a model returns ----------------------------------------------------------------------------------


CHANGES: dict[str, Callable[[Tensor], Any]] = {
    "logits": lambda z: z,
    "probabilities": lambda z: z.softmax(1),
    "log-probabilities": lambda z: z.log_softmax(1),
    "tuple": lambda z: (z, torch.zeros(len(z), 8)),
    "another first": lambda z: (torch.zeros(7, 7, 7), z),
    "dictionary": lambda z: {"logits": z},
}


@pytest.mark.parametrize("kind", CHANGES)
def test_classes_and_probabilities_are_those_of_the_logits_whatever_is_returned(kind: str) -> None:
    batch = graphs()
    expected = logits(GCN(), batch)
    oracle = PyGOracle(Changed(CHANGES[kind]), edge_weights=True)
    assert len(expected.argmax(1).unique()) > 1
    assert oracle.predict(batch).tolist() == expected.argmax(1).tolist() and oracle.n_classes == 3
    relaxed = oracle.relaxed_graphs(batch, batch.adjacency.float())
    assert torch.allclose(relaxed, expected.softmax(1), atol=1e-5)


@pytest.mark.parametrize(
    ("change", "limit"),
    [
        (lambda z: z, 0.0),
        (lambda z: z[:, 0], 0.0),
        (lambda z: z.sigmoid(), 0.5),
        (lambda z: z.sigmoid().squeeze(-1), 0.5),
        (lambda z: z * 0 + 0.25 * z.tanh() + 0.4, 0.0),  # between 0 and 1 but no sigmoid: a logit
    ],
)
def test_one_number_per_graph_is_a_logit_or_comes_out_of_a_sigmoid(change: Any, limit: float) -> None:
    batch = graphs()
    oracle = PyGOracle(Changed(change, classes=1), edge_weights=True)
    value = change(logits(GCN(1), batch)).flatten()
    assert oracle.predict(batch).tolist() == (value > limit).long().tolist() and oracle.n_classes == 2
    p = value if limit else value.sigmoid()
    relaxed = oracle.relaxed_graphs(batch, batch.adjacency.float())
    assert torch.allclose(relaxed, torch.stack((1 - p, p), 1), atol=1e-5)


def test_both_classes_of_one_logit_are_seen() -> None:
    batch = graphs()
    z = logits(GCN(1), batch)
    oracle = PyGOracle(Changed(lambda z_: z_ - z.median(), classes=1))
    assert 0.3 < oracle.predict(batch).float().mean() < 0.7


def test_what_cannot_be_seen_is_asked_for() -> None:
    batch = graphs()

    def unknown(z: Tensor) -> Tensor:
        return z.detach().sigmoid()

    with pytest.raises(OracleError, match=r"one number between 0 and 1 per graph.*output='logits'"):
        PyGOracle(Changed(unknown, classes=1)).predict(batch)
    probability = logits(GCN(1), batch).flatten().sigmoid()
    for output, limit in (("logits", 0.0), ("probabilities", 0.5)):
        oracle = PyGOracle(Changed(unknown, classes=1), output=output)
        assert oracle.predict(batch).tolist() == (probability > limit).long().tolist()


class Forgetful(nn.Module):
    """Probabilities at first, logits later; or more classes; or not a number."""

    def __init__(self, first: Callable[[int], Tensor], later: Callable[[int], Tensor]) -> None:
        super().__init__()
        self.first, self.later, self.asked = first, later, 0

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        self.asked += 1
        count = int(batch.max()) + 1
        return self.first(count) if self.asked <= 2 else self.later(count)


@pytest.mark.parametrize(
    ("first", "later", "sentence"),
    [
        (lambda n: torch.full((n, 2), 0.5), lambda n: torch.ones(n, 2), "no probabilities, as those before"),
        (lambda n: torch.ones(n, 3), lambda n: torch.ones(n, 2), "must return a row of 3 numbers"),
        (lambda n: torch.ones(n, 3), lambda n: torch.full((n, 3), torch.nan), "NaN or infinity for graph 0"),
        (lambda n: torch.ones(n, 3), lambda n: torch.ones(1, 3), r"each of 24 graphs; it returned shape \(1, 3\)"),
    ],
)
def test_every_answer_is_checked(first: Any, later: Any, sentence: str) -> None:
    oracle = PyGOracle(Forgetful(first, later))
    oracle.predict(graphs())
    with pytest.raises(OracleError, match=sentence):
        oracle.predict(graphs())


@pytest.mark.parametrize("wrap", [lambda oracle: oracle, CountingOracle])
def test_the_number_of_classes_is_known_before_the_first_question_where_the_model_tells(wrap: Any) -> None:
    assert wrap(PyGOracle(GCN(4))).n_classes == 4 and wrap(PyGOracle(GCN(1))).n_classes == 2
    Task("mine", TreeCycles(), PyGOracle(GCN(3)), "Mine", ("a", "b", "c"))

    class Unknown(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return global_add_pool(x @ torch.ones(5, 3), batch)

    oracle = wrap(PyGOracle(Unknown()))
    with pytest.raises(OracleError, match="not known before its first answer; give n_classes"):
        _ = oracle.n_classes
    oracle.predict(GraphBatch.of(Graph(nx.to_numpy_array(tree(4)), np.ones((4, 5)))))
    assert oracle.n_classes == 3 and wrap(PyGOracle(Unknown(), 7)).n_classes == 7


# -- what a model takes ------------------------------------------------------------------------------------


class TakesData(GCN):
    def forward(self, data: Batch) -> Tensor:  # type: ignore[override]
        assert data.num_graphs == int(data.batch.max()) + 1
        return super().forward(data.x, data.edge_index, data.batch, data.get("edge_weight"))


class OtherOrder(GCN):
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Any = None, batch: Tensor | None = None) -> Tensor:  # type: ignore[override]
        assert batch is not None and edge_attr is None
        return super().forward(x, edge_index, batch)


class OtherNames(GCN):
    def forward(self, nodes: Tensor, links: Tensor, whose: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(nodes, links, whose)


class OneGraph(GCN):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(x, edge_index, torch.zeros(len(x), dtype=torch.long))[0]


class Anything(GCN):
    def forward(self, *arguments: Tensor, **named: Tensor) -> Tensor:  # type: ignore[override]
        return super().forward(*arguments, **named)


@pytest.mark.parametrize("kind", [TakesData, OtherOrder, OtherNames, OneGraph, Anything])
def test_models_are_called_as_they_want_to_be(kind: type[GCN]) -> None:
    batch = graphs()
    assert PyGOracle(kind()).predict(batch).tolist() == logits(GCN(), batch).argmax(1).tolist()


def test_a_model_that_wants_more_is_refused_with_a_sentence() -> None:
    class Wants(GCN):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, positions: Tensor) -> Tensor:  # type: ignore[override]
            return x

    with pytest.raises(OracleError, match=r"takes \(x, edge_index, batch, positions\), which is not understood"):
        PyGOracle(Wants())


class Embedding(nn.Module):
    """Reads whole numbers: kinds of nodes and of edges, as molecules have them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.nodes, self.edges, self.last = nn.Embedding(5, 6), nn.Embedding(4, 6), nn.Linear(6, 2)
        self.layer = GINEConv(nn.Linear(6, 6))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        h = self.layer(self.nodes(x[:, 0]), edge_index, self.edges(edge_attr)).tanh()
        return self.last(global_add_pool(h, batch))


def molecules(count: int = 16) -> list[Data]:
    rng = torch.Generator().manual_seed(3)
    made = []
    for graph in gnp_graphs(count, sizes=(4, 7)):
        pairs = torch.tensor(list(graph.edges), dtype=torch.long).reshape(-1, 2).T
        kinds = torch.randint(4, (pairs.shape[1],), generator=rng)
        both, twice = torch.cat((pairs, pairs.flip(0)), 1), torch.cat((kinds, kinds))
        x = torch.randint(5, (len(graph), 1), generator=rng)
        made.append(Data(x=x, edge_index=both, edge_attr=twice))
    return made


def test_kinds_of_nodes_and_edges_reach_the_model() -> None:
    model, data = Embedding(), molecules()
    expected = [
        int(model(d.x, d.edge_index, d.edge_attr, torch.zeros(len(d.x), dtype=torch.long)).argmax()) for d in data
    ]
    oracle, batch = PyGOracle(model), GraphBatch.of(data)
    assert oracle.predict(batch).tolist() == expected and len(set(expected)) == 2
    assert oracle.predict_edges(EdgeBatch.of(batch)).tolist() == expected
    full = batch.pair_mask[0].to(torch.uint8)[None]
    added = batch.candidates(full + full.transpose(1, 2), torch.tensor([0]))
    assert oracle.predict(added).shape == (1,), "added edges have a type"
    with pytest.raises(OracleError, match="needs edge_attr, which the graphs do not have"):
        PyGOracle(model).predict(GraphBatch.of([Graph(g.adjacency, g.features) for g in batch]))
    with pytest.warns(
        UserWarning, match=r"edge features, which the model, called as model\(x, edge_index, batch\), does not"
    ):
        PyGOracle(OtherNames(width=1)).predict(batch)


@pytest.mark.parametrize("explainer", [TwoSided(), IRand(), Minimised(base=OBS()), RSGGCE.tiny(), DCE(), MEG.tiny()])
def test_methods_explain_a_model_that_reads_kinds_of_nodes_and_edges(explainer: Explainer) -> None:
    data, model = molecules(40), Embedding()
    results = explainer.fit(data, PyGOracle(model)).explain(data[:8], PyGOracle(model))
    assert any(r.found for r in results)
    for result in (r for r in results if r.found):
        made, was = result.to_pyg(), data[result.instance]
        asked = model(made.x.long(), made.edge_index, made.edge_attr, torch.zeros(made.num_nodes, dtype=torch.long))
        assert int(asked.argmax()) == result.after != result.before
        kept = dict(zip(map(tuple, was.edge_index.T.tolist()), was.edge_attr.tolist(), strict=True))
        for pair, kind in zip(map(tuple, made.edge_index.T.tolist()), made.edge_attr.tolist(), strict=True):
            assert kind == kept.get(pair, kind), "an edge that stays keeps its kind"


def test_weights_of_edges_reach_the_model_and_soften_with_it() -> None:
    rng, weighted = np.random.default_rng(5), []
    for graph in graphs():
        table = rng.uniform(0.1, 5, size=graph.adjacency.shape)
        weighted.append(Graph(graph.adjacency, graph.features, edge_features=np.triu(table) + np.triu(table, 1).T))
    batch, model = GraphBatch.of(weighted), GCN().eval()
    rows = []
    for graph in batch:
        data = graph.to_pyg()
        rows.append(model(data.x, data.edge_index, torch.zeros(graph.n_nodes, dtype=torch.long), data.edge_weight)[0])
    expected = torch.stack(rows).detach()
    for oracle in (PyGOracle(model), PyGOracle(model, edge_weights=True), PyGOracle(TakesData())):
        assert oracle.predict(batch).tolist() == expected.argmax(1).tolist()
    assert not torch.allclose(expected, logits(model, graphs()), atol=0.01), "weights do matter"
    relaxed = PyGOracle(model, edge_weights=True).relaxed_graphs(batch, batch.adjacency.float())
    assert torch.allclose(relaxed, expected.softmax(1), atol=1e-5)


# -- how a model is asked ----------------------------------------------------------------------------------


def test_a_model_in_training_is_asked_without_dropout_and_goes_on_training() -> None:
    batch, model = graphs(), GCN()
    expected = logits(model, batch).argmax(1).tolist()
    oracle = PyGOracle(model)
    model.train()
    model.second.eval()  # a part that its owner has frozen
    for _ in range(5):
        assert oracle.predict(batch).tolist() == expected
    assert model.training and model.first.training and not model.second.training
    with pytest.raises(OracleError):
        oracle.predict(GraphBatch.of(tree(4)))
    assert model.training, "also after an error"


class Elsewhere(nn.Module):
    """Its weight is on another device; notes on which device it is asked."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1, device="meta"))
        self.asked_on: set[str] = set()

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        self.asked_on |= {t.device.type for t in (x, edge_index, batch)}
        return torch.eye(2)


def test_graphs_are_moved_to_the_device_of_the_model() -> None:
    model = Elsewhere()
    assert PyGOracle(model).predict(graphs(count=2)).tolist() == [0, 1]
    assert model.asked_on == {"meta"}


# -- relaxation --------------------------------------------------------------------------------------------


def test_padding_is_no_node_in_any_relaxation() -> None:
    batch, oracle = graphs(sizes=(3, 5, 11)), PyGOracle(GCN(), edge_weights=True)
    expected = logits(GCN(), batch).softmax(1)
    noise = torch.rand(batch.adjacency.shape) * ~(batch.pair_mask | batch.pair_mask.transpose(1, 2))
    edges = EdgeBatch.of(batch)
    for relaxed in (
        oracle.relaxed_graphs(batch, batch.adjacency.float()),
        oracle.relaxed_graphs(batch, (batch.adjacency + noise * ~torch.eye(11, dtype=torch.bool)).requires_grad_()),
        oracle.relaxed_edges(edges, torch.ones(len(edges.u))),
        CountingOracle(oracle).relaxed_graphs(batch, batch.adjacency.float()),
    ):
        assert torch.allclose(relaxed, expected, atol=1e-5)
    assert oracle.predict_edges(edges).tolist() == expected.argmax(1).tolist()


def test_the_gradient_at_every_pair_is_the_difference_that_a_little_of_the_edge_makes() -> None:
    batch, oracle = graphs(sizes=(6,), count=3), PyGOracle(GCN().double(), edge_weights=True)
    batch = GraphBatch(batch.adjacency, batch.sizes, batch.features.double())  # type: ignore[union-attr]
    soft = batch.adjacency.double().requires_grad_()
    (gradient,) = torch.autograd.grad(oracle.relaxed_graphs(batch, soft)[:, 0].sum(), soft)
    missing = batch.pair_mask & ~batch.edge_mask
    assert (gradient[missing] != 0).all()
    graph, u, v = (int(i) for i in missing.nonzero()[0])
    little = torch.zeros_like(soft)
    little[graph, u, v] = 1e-6
    with torch.no_grad():
        up = oracle.relaxed_graphs(batch, batch.adjacency + little)[graph, 0]
        here = oracle.relaxed_graphs(batch, batch.adjacency.double())[graph, 0]
    assert float(up - here) / 1e-6 == pytest.approx(float(gradient[graph, u, v]), rel=1e-3)
    graph, u, v = (int(i) for i in batch.edge_mask.nonzero()[0])
    weight = torch.ones(len(EdgeBatch.of(batch).u), dtype=torch.float64, requires_grad=True)
    (along,) = torch.autograd.grad(oracle.relaxed_edges(EdgeBatch.of(batch), weight)[:, 0].sum(), weight)
    assert float(along[0]) == pytest.approx(float(gradient[graph, u, v] + gradient[graph, v, u]), rel=1e-6)


class Attention(nn.Module):
    """For attention an edge of weight 0 is a neighbour too."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.layer, self.last = GATConv(2, 8, edge_dim=1), nn.Linear(8, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor) -> Tensor:
        return self.last(global_max_pool(self.layer(x, edge_index, edge_weight[:, None]), batch))


def test_a_model_for_which_weight_zero_is_an_edge_keeps_its_classes_and_says_so() -> None:
    batch, oracle = graphs(), PyGOracle(Attention(), edge_weights=True)
    with pytest.warns(UserWarning, match="edges of weight 0 are edges"):
        relaxed = oracle.relaxed_graphs(batch, batch.adjacency.float().requires_grad_())
    assert relaxed.argmax(1).tolist() == oracle.predict(batch).tolist() and relaxed.requires_grad


def test_cf2_in_a_batch_is_cf2_one_by_one() -> None:
    batch, oracle = graphs(sizes=(4, 6, 9), count=9), PyGOracle(GCN(2), edge_weights=True)
    together = CF2(epochs=20).explain(batch, oracle)
    for i, one in enumerate(together):
        alone = CF2(epochs=20).explain(GraphBatch.of(batch[i]), oracle)[0]
        assert (one.edits, one.calls) == (alone.edits, alone.calls)


def test_the_contract_of_oracles_holds() -> None:
    for oracle in (PyGOracle(GCN(), edge_weights=True), PyGOracle(TakesData()), PyGOracle(GCN(1), edge_weights=True)):
        check_oracle(oracle, graphs())
    check_oracle(CallableOracle(lambda data: int(data.num_edges > 12)))


# -- functions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "options"),
    [
        (lambda data: int(data.num_edges > 12), {}),
        (lambda data: data.num_edges > 12, {}),
        (lambda data: torch.tensor([12.0, data.num_edges - 0.5]), {}),
        (lambda data: [[0.9, 0.1], [0.2, 0.8]][data.num_edges > 12], {}),
        (lambda data: data.num_edges - 12.5, {}),
        (lambda data: 0.8 if data.num_edges > 12 else 0.3, {"output": "probabilities"}),
        (lambda many: [int(data.num_edges > 12) for data in many], {"lists": True}),
        (lambda many: np.array([data.num_edges > 12 for data in many]), {"lists": True}),
        (lambda many: torch.tensor([[12.0, data.num_edges - 0.5] for data in many]), {"lists": True}),
    ],
)
def test_functions_of_pyg_graphs_are_oracles(function: Any, options: Any) -> None:
    batch, oracle = graphs(), CallableOracle(function, **options)
    expected = (2 * batch.n_edges > 12).long().tolist()
    assert oracle.predict(batch).tolist() == expected and set(expected) == {0, 1}
    assert oracle.predict(batch[:1]).tolist() == expected[:1]
    assert oracle.n_classes == 2 and "differentiable" in oracle.why_not_differentiable()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CallableOracle(3), "given a int; give it a function"),  # type: ignore[arg-type]
        (lambda: CallableOracle(GCN), "given the class GCN"),
        (lambda: CallableOracle(lambda data: 2).predict(graphs()), "answered class 2, but has 2 classes.*n_classes=…"),
        (lambda: CallableOracle(lambda data: -1, 3).predict(graphs()), "answered class -1"),
        (
            lambda: CallableOracle(lambda data: "mutagen").predict(graphs()),
            r"it returned a list such as \['mutagen', …\]. Let it return logits .* or classes as whole numbers",
        ),
        (
            lambda: CallableOracle(lambda graph: graph.number_of_edges()).predict(graphs()),
            r"failed on a PyG graph \(Data\(",
        ),
        (lambda: CallableOracle(lambda many: [0], lists=True).predict(graphs()), "each of 24 graphs"),
        (lambda: CallableOracle(len, output="odds"), "output='odds'; give one of 'auto', 'logits'"),
        (lambda: PyGOracle(lambda data: 1), "or a function to CallableOracle"),  # type: ignore[arg-type]
    ],
)
def test_misuse_of_functions_is_a_sentence(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(OracleError, match=sentence):
        make()


def test_a_model_that_cannot_read_features_says_what_it_was_shown() -> None:
    bonds = GINEConv(nn.Linear(1, 8), edge_dim=4)

    class Bonds(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
            return global_add_pool(bonds(x, edge_index, edge_attr), batch)

    pair = torch.tensor([[0, 1], [1, 0]])
    shown = [Data(torch.full((2, 1), 3.0), pair, edge_attr=torch.ones(2, 3))]
    with pytest.raises(OracleError, match=r"node features of width 1 and edge features of shape \(2, 3\): mat1"):
        PyGOracle(Bonds()).predict(GraphBatch.of(shown))
    with pytest.raises(OracleError, match=r"node features of width 1 \(a 1 per node\): mat1"):
        PyGOracle(GCN(width=2)).predict(GraphBatch.of([Data(edge_index=pair, num_nodes=2)]))


def test_weights_in_a_column_are_not_read_and_it_is_said_how_they_would_be() -> None:
    pair = torch.tensor([[0, 1], [1, 0]])
    shown = GraphBatch.of([Data(torch.ones(2, 2), pair, edge_attr=torch.ones(2, 1))])
    with pytest.warns(UserWarning, match=r"does not read; edge weights are one real number per edge"):
        PyGOracle(GCN()).predict(shown)


def test_three_classes_of_a_function() -> None:
    oracle = CallableOracle(lambda data: data.num_edges % 3, 3)
    assert oracle.predict(graphs()).tolist() == (2 * graphs().n_edges % 3).tolist() and oracle.n_classes == 3
