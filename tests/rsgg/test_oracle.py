"""Oracles against NetworkX and plain loops, and relaxations on binary and soft graphs."""

import json
from collections.abc import Callable
from copy import deepcopy
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, global_add_pool

from rsgg.data import ASD
from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import ASDOracle, CountingOracle, Oracle, PyGOracle, TreeCyclesOracle
from rsgg.oracles.asd import S1, S2
from rsgg.oracles.oracle import wrong_probabilities
from rsgg.oracles.tree_cycles import n_components
from tests.graphs import all_graphs, gnp_graphs, has_cycle, needs_asd, tree, unicyclic

# -- Tree-Cycles -----------------------------------------------------------------------------------------


def test_cycles_are_those_that_networkx_finds() -> None:
    graphs = gnp_graphs(3000, sizes=(1, 2, 3, 5, 8, 13, 20))
    batch = GraphBatch.of(graphs)
    found = [has_cycle(graph) for graph in graphs]
    assert 300 < sum(found) < 2700
    assert TreeCyclesOracle().predict(batch).tolist() == found
    components = n_components(torch.triu(batch.adjacency > 0, 1)) - (batch.n_nodes - batch.sizes)
    assert components.tolist() == [nx.number_connected_components(graph) for graph in graphs]


def test_multiplicities_and_self_loops_make_no_cycle() -> None:
    path = nx.to_numpy_array(nx.path_graph(4)).astype(np.uint8)
    odd = Graph.unchecked(2 * path + np.eye(4, dtype=np.uint8))
    assert TreeCyclesOracle().predict(GraphBatch.of(odd)).tolist() == [0]


def test_cycle_relaxation_is_exact_on_every_small_graph() -> None:
    for n in (3, 4, 5):
        adjacency = torch.from_numpy(all_graphs(n))
        classes = TreeCyclesOracle().predict(GraphBatch(adjacency, torch.full((len(adjacency),), n)))
        relaxed = TreeCyclesOracle().relaxed(adjacency.double())
        assert torch.equal(relaxed[:, 1], classes.double())
        assert torch.equal(relaxed[:, 0], 1 - classes.double())


def test_cycle_relaxation_is_exact_on_large_graphs_and_under_padding() -> None:
    graphs = [unicyclic(40, 5, 1), tree(60, 2), unicyclic(60, 30, 3), nx.path_graph(60), nx.cycle_graph(60), tree(3)]
    batch = GraphBatch.of(graphs + gnp_graphs(60, sizes=(12, 25)))
    relaxed = TreeCyclesOracle().relaxed(batch.adjacency.double())[:, 1]
    assert torch.equal(relaxed, TreeCyclesOracle().predict(batch).double())


def soft(batch: GraphBatch, seed: int = 0) -> Tensor:
    """Every pair somewhere inside (0, 1), symmetric."""
    noise = torch.rand(batch.adjacency.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    upper = torch.triu(0.8 * batch.adjacency + 0.2 * noise, 1)
    return (upper + upper.transpose(1, 2)).requires_grad_()


def test_cycle_relaxation_has_finite_gradients_that_are_derivatives() -> None:
    batch = GraphBatch.of(gnp_graphs(20, sizes=(9,)))
    adjacency = soft(batch)
    TreeCyclesOracle().relaxed(adjacency)[:, 1].log().sum().backward()
    assert adjacency.grad is not None and torch.isfinite(adjacency.grad).all() and (adjacency.grad != 0).any()
    small = soft(GraphBatch.of(gnp_graphs(3, sizes=(5,))), 1)
    assert torch.autograd.gradcheck(lambda a: TreeCyclesOracle().relaxed(a), (small,))
    binary = batch.adjacency.double().requires_grad_()
    TreeCyclesOracle().relaxed(binary)[:, 1].sum().backward()
    assert binary.grad is not None and torch.isfinite(binary.grad).all()


def test_a_heavier_cycle_is_more_probable_and_a_tree_never() -> None:
    cycle = torch.from_numpy(nx.to_numpy_array(nx.cycle_graph(5)))
    weights = torch.linspace(0, 1, 11)[:, None, None].double()
    probability = TreeCyclesOracle().relaxed(weights * cycle)[:, 1]
    assert (probability.diff() > 0).all() and probability[0] == 0 and probability[-1] == 1


def test_important_edges_are_those_on_cycles() -> None:
    graphs = [*gnp_graphs(40, sizes=(5, 8)), unicyclic(9, 4), tree(6)]
    important = TreeCyclesOracle().important_edges(GraphBatch.of(graphs))
    for i, graph in enumerate(graphs):
        on_cycle = {
            tuple(sorted(edge))
            for cycle in nx.simple_cycles(graph)
            for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
        }
        assert {tuple(pair) for pair in important[i].nonzero().tolist()} == on_cycle
    assert ASDOracle().important_edges(GraphBatch.of(graphs)) is None


# -- ASD -------------------------------------------------------------------------------------------------


def asd_rule(adjacency: np.ndarray) -> int:
    a = sum(int(adjacency[u, v]) for u, v in combinations(S1, 2))
    b = sum(int(adjacency[u, v]) for u, v in combinations(S2, 2))
    return int(3.2844839747590915 - 0.181742414867891 * a + 0.04327200353999672 * b > 0)


def test_asd_rule_counts_edges_inside_two_sets() -> None:
    rng = np.random.default_rng(0)
    graphs = [nx.gnp_random_graph(116, p, seed=i) for i, p in enumerate(rng.uniform(0, 0.3, 60))]
    batch, oracle = GraphBatch.of(graphs), ASDOracle()
    expected = [asd_rule(graph.adjacency) for graph in batch]
    assert 5 < sum(expected) < 55 and oracle.predict(batch).tolist() == expected
    doubled = GraphBatch(batch.adjacency * 2, batch.sizes)
    assert oracle.predict(doubled).tolist() == [asd_rule(2 * graph.adjacency) for graph in batch]
    relaxed = oracle.relaxed(batch.adjacency.double())
    assert (relaxed[:, 1] > 0.5).long().tolist() == expected and torch.allclose(relaxed.sum(1), torch.ones(60).double())


def test_asd_rule_reads_half_the_sum_of_any_matrix() -> None:
    """As the released rule does with matrices of released methods: self loops, and entries without their opposite."""
    matrices = np.random.default_rng(1).binomial(2, 0.05, (40, 116, 116)).astype(np.uint8)
    half = [[matrix[np.ix_(part, part)].sum() / 2 for part in (S1, S2)] for matrix in matrices]
    expected = [3.2844839747590915 - 0.181742414867891 * a + 0.04327200353999672 * b for a, b in half]
    batch, oracle = GraphBatch(torch.from_numpy(matrices), torch.full((40,), 116)), ASDOracle()
    np.testing.assert_allclose(oracle.score(batch.adjacency), expected, rtol=1e-12)
    assert oracle.predict(batch).tolist() == [int(x > 0) for x in expected] and 0 < sum(x > 0 for x in expected) < 40


def test_asd_relaxation_is_differentiable_and_the_empty_graph_is_class_1() -> None:
    adjacency = torch.full((2, 116, 116), 0.01, dtype=torch.float64, requires_grad=True)
    ASDOracle().relaxed(adjacency)[:, 1].sum().backward()
    assert adjacency.grad is not None and torch.isfinite(adjacency.grad).all()
    assert int((adjacency.grad[0] != 0).sum()) == 2 * 380  # pairs inside S1 or S2, both directions
    assert ASDOracle().predict(GraphBatch.of(nx.empty_graph(116))).tolist() == [1]


def test_asd_rule_is_only_defined_for_its_regions() -> None:
    with pytest.raises(OracleError, match="116 brain regions; it was given graphs of 5 nodes"):
        ASDOracle().predict(GraphBatch.of(tree(5)))
    with pytest.raises(OracleError, match="knows 116 brain regions; it was given graphs of 120 nodes"):
        ASDOracle().relaxed(torch.zeros(1, 120, 120))


@needs_asd
def test_asd_confusion_is_the_published_one() -> None:
    dataset = ASD().load()
    pairs = list(zip(dataset.labels.tolist(), ASDOracle().predict(dataset.graphs).tolist(), strict=True))
    assert [[pairs.count((y, p)) for p in (0, 1)] for y in (0, 1)] == [[38, 14], [9, 40]]


# -- PyG models ------------------------------------------------------------------------------------------


class SmallGCN(nn.Module):
    def __init__(self, width: int = 2, classes: int = 3) -> None:
        super().__init__()
        self.first, self.second, self.head = GCNConv(width, 8), GCNConv(8, 8), nn.Linear(8, classes)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        x = self.first(x, edge_index, edge_weight).tanh()
        x = self.second(self.dropout(x), edge_index, edge_weight).tanh()
        return self.head(global_add_pool(x, batch))


def featured(sizes: tuple[int, ...] = (5, 9), width: int = 2) -> GraphBatch:
    rng = np.random.default_rng(0)
    graphs = gnp_graphs(12, sizes=sizes)
    return GraphBatch.of([Graph(nx.to_numpy_array(g), rng.normal(size=(len(g), width))) for g in graphs])


def test_a_pyg_model_sees_each_graph_without_padding() -> None:
    torch.manual_seed(0)
    model = SmallGCN()
    batch, oracle = featured(), PyGOracle(model, 3)
    model.eval()  # here; the oracle asks in evaluation mode anyway, as dropout would make answers random
    alone = []
    for graph in batch:
        data = graph.to_pyg()
        alone.append(int(model(data.x, data.edge_index, torch.zeros(graph.n_nodes, dtype=torch.long)).argmax()))
    assert oracle.predict(batch).tolist() == alone and len(set(alone)) > 1
    assert oracle.predict(batch).dtype == torch.int64 and oracle.n_classes == 3


def test_a_pyg_model_with_edge_weights_is_its_own_relaxation() -> None:
    torch.manual_seed(1)
    batch, oracle = featured(sizes=(7,)), PyGOracle(SmallGCN(), 3, edge_weights=True)
    relaxed = oracle.relaxed(batch.adjacency.float(), batch.features)
    assert relaxed.argmax(1).tolist() == oracle.predict(batch).tolist()
    assert torch.allclose(relaxed.sum(1), torch.ones(len(batch)))
    adjacency = soft(batch).detach().float().requires_grad_()
    oracle.relaxed(adjacency, batch.features)[:, 0].sum().backward()
    assert adjacency.grad is not None and torch.isfinite(adjacency.grad).all() and (adjacency.grad != 0).any()


def test_a_pyg_model_without_features_sees_ones() -> None:
    torch.manual_seed(2)
    oracle = PyGOracle(SmallGCN(width=1), 3)
    graphs = gnp_graphs(6)
    ones = [Graph(nx.to_numpy_array(g), np.ones((len(g), 1))) for g in graphs]
    assert torch.equal(oracle.predict(GraphBatch.of(graphs)), oracle.predict(GraphBatch.of(ones)))


def test_an_oracle_without_relaxation_says_so_before_and_when_it_is_asked() -> None:
    without = PyGOracle(SmallGCN(), 3)
    for oracle in (without, CountingOracle(without)):
        assert oracle.why_not_differentiable().startswith("the oracle 'pyg' has no differentiable relaxation; make it")
        with pytest.raises(
            OracleError, match=r"'pyg' has no differentiable relaxation; make it with edge_weights=True"
        ):
            oracle.relaxed(torch.zeros(1, 3, 3))
    for oracle in (TreeCyclesOracle(), ASDOracle(), PyGOracle(SmallGCN(), 3, edge_weights=True)):  # type: ignore[assignment]
        assert oracle.why_not_differentiable() == CountingOracle(oracle).why_not_differentiable() == ""


class OneClass(Oracle):
    name = "one class"
    n_classes = 1

    def predict(self, graphs: GraphBatch) -> Tensor:
        return torch.zeros(len(graphs), dtype=torch.long)


class OneLogit(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return global_add_pool(x, batch)[:, :1]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: PyGOracle(SmallGCN), "given the class SmallGCN; give it a torch.nn.Module"),  # type: ignore[arg-type]
        (lambda: PyGOracle("model.pt"), "given a str"),  # type: ignore[arg-type]
        (lambda: PyGOracle(SmallGCN(), 1), "n_classes=1 cannot be explained"),
        (lambda: PyGOracle(SmallGCN(), "3"), "n_classes='3'"),  # type: ignore[arg-type]
        (lambda: PyGOracle(SmallGCN(), True), "n_classes=True"),
        (lambda: PyGOracle(SmallGCN(), 2).predict(featured()), r"row of 2 numbers .* it returned shape \(8, 3\)"),
        (lambda: PyGOracle(OneLogit(), 3).predict(featured()), r"it returned shape \(8, 1\)"),
        (lambda: PyGOracle(SmallGCN(), 3).predict(GraphBatch.of(tree(5))), "with node features of width 1"),
        (
            lambda: PyGOracle(OneLogit(), edge_weights=True),
            r"forward takes \(x, edge_index, batch\) and no edge_weight",
        ),
        (lambda: CountingOracle(TreeCyclesOracle), r"class \(TreeCyclesOracle\) is not an oracle"),  # type: ignore[arg-type]
        (lambda: CountingOracle(OneClass()), "'one class' has n_classes = 1"),
    ],
)
def test_misuse_is_a_sentence(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(OracleError, match=sentence):
        make()


def test_a_pyg_oracle_is_described_by_its_weights() -> None:
    torch.manual_seed(3)
    one, other = SmallGCN(), SmallGCN()
    described = PyGOracle(one, 3).parameters()
    assert described == PyGOracle(deepcopy(one), 3).parameters() == json.loads(json.dumps(described))
    assert described["weights"] != PyGOracle(other, 3).parameters()["weights"]
    assert TreeCyclesOracle().parameters() == CountingOracle(ASDOracle()).parameters() == {}


# -- what every oracle has -------------------------------------------------------------------------------


class Plain(Oracle):
    """It says nothing of itself, and notes how many graphs it is shown at a time."""

    name = "plain"

    def __init__(self) -> None:
        self.shown: list[int] = []

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.shown.append(len(graphs))
        return graphs.n_edges % 2


def test_an_oracle_that_says_nothing_of_itself_promises_nothing() -> None:
    plain, graphs = Plain(), GraphBatch.of(tree(4))
    assert plain.n_classes == 2 and plain.parameters() == {}
    assert not plain.fits and not plain.reads_only and not plain.reads_lists
    assert plain.loaded() is plain.fitted(graphs, torch.tensor([0])) is plain
    assert plain.optimal_ged(graphs) is plain.important_edges(graphs) is None
    assert plain.optimal_counterfactual(graphs, torch.tensor([0])) is None


@pytest.mark.parametrize(("cells", "shown"), [(None, [5]), (2 * 16, [2, 2, 1]), (15, [1] * 5)])
def test_lists_are_shown_as_many_matrices_as_fit_into_memory(
    cells: int | None, shown: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Graphs of 4 nodes have matrices of 16 cells; one that does not fit is shown alone."""
    if cells is not None:
        monkeypatch.setattr("rsgg.oracles.oracle.MAX_DENSE_BYTES", cells)
    graphs = GraphBatch.of([tree(4, seed) for seed in range(5)])
    plain = Plain()
    assert plain.predict_edges(EdgeBatch.of(graphs)).tolist() == [1] * 5
    assert plain.shown == shown


def test_probabilities_are_finite_numbers_one_for_each_class() -> None:
    assert wrong_probabilities(torch.tensor([[0.5, 0.5]]), (1, 2)) == ""
    assert wrong_probabilities(torch.tensor([[0.5, torch.nan]]), (1, 2)) == "NaN or infinity"
    assert wrong_probabilities(torch.tensor([0.5, 0.5]), (1, 2)) == "shape (2,)"
    assert wrong_probabilities([0.5, 0.5], (1, 2)) == "a list"
