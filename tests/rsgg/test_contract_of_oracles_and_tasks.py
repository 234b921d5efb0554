"""Every oracle and task keeps its contract, the templates too, and each way of breaking it is caught."""

from __future__ import annotations

import runpy
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, global_add_pool

import rsgg.templates
from rsgg.baselines.controls import TwoSided
from rsgg.contract import ContractViolation, check_explainer, check_oracle, check_task
from rsgg.contract import oracle as oracle_contract
from rsgg.contract import task as task_contract
from rsgg.contract.checking import run_check
from rsgg.contract.explainer import EdgesModuloThree, TriangleOracle
from rsgg.data import ASD, Dataset, TrainingGraphs, TreeCycles
from rsgg.edges import EdgeBatch
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import ASDOracle, CountingOracle, Oracle, PyGOracle, TreeCyclesOracle
from rsgg.oracles.oracle import Embeddings
from rsgg.task import Task
from tests.graphs import all_graphs, gnp_graphs, needs_asd

# -- those that keep it ----------------------------------------------------------------------------------


class GCN(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.convolution, self.head = GCNConv(width, 8), nn.Linear(8, 3)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None) -> Tensor:
        return self.head(global_add_pool(self.convolution(x, edge_index, edge_weight).tanh(), batch))


def gcn(width: int = 1, **options: Any) -> PyGOracle:
    torch.manual_seed(0)
    return PyGOracle(GCN(width), 3, **options)


@pytest.mark.parametrize(
    ("oracle", "not_checked"),
    [
        (TreeCyclesOracle(), 1),
        (CountingOracle(TreeCyclesOracle()), 1),
        (TriangleOracle(), 6),
        (EdgesModuloThree(), 6),
        (gcn(), 6),
        (gcn(edge_weights=True), 4),
    ],
)
def test_oracles_of_the_library_keep_the_contract(oracle: Oracle, not_checked: int) -> None:
    passed = check_oracle(oracle)
    assert len(passed) == len(oracle_contract.CHECKS)
    assert sum("not checked" in line for line in passed) == not_checked


def test_an_oracle_is_checked_on_graphs_that_suit_it() -> None:
    with pytest.raises(ContractViolation, match=r"116 brain regions.*check_oracle\(oracle, graphs\)"):
        check_oracle(ASDOracle())
    check_oracle(ASDOracle(), [nx.gnp_random_graph(116, p, seed=1) for p in (0.02, 0.1, 0.3, 0.6)])
    rng = np.random.default_rng(0)
    featured = [Graph(nx.to_numpy_array(graph), rng.normal(size=(len(graph), 2))) for graph in gnp_graphs(12)]
    check_oracle(gcn(2, edge_weights=True), featured)
    with pytest.raises(ContractViolation, match="node features of width 1"):
        check_oracle(gcn(2))


TREES = Task("trees", TreeCycles(n_graphs=40), TreeCyclesOracle(), class_names=("tree", "cyclic"))


@pytest.mark.parametrize(
    "task",
    [
        TREES,
        Task("renumbered", TreeCycles(n_graphs=30, order="random", name="renumbered"), TreeCyclesOracle()),
        Task("triangles", TreeCycles(n_graphs=60), TriangleOracle()),
        Task("training", TrainingGraphs(TreeCycles(n_graphs=40), fold=1, folds=4), TreeCyclesOracle()),
        pytest.param(Task("asd", ASD(), ASDOracle(), class_names=("TD", "ASD"), shared_nodes=True), marks=needs_asd),
    ],
    ids=lambda task: task.name,
)
def test_tasks_of_the_library_keep_the_contract(task: Task) -> None:
    passed = check_task(task)
    assert len(passed) == len(task_contract.CHECKS) + len(oracle_contract.CHECKS)
    assert sum(line.startswith("oracle, ") for line in passed) == len(oracle_contract.CHECKS)


# -- templates -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "promise"), [("explainer", "budget is kept"), ("oracle", "batch"), ("task", "folds")])
def test_a_copied_template_runs_and_says_what_it_keeps(
    tmp_path: Path, name: str, promise: str, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copy(Path(rsgg.templates.__path__[0]) / f"{name}.py", tmp_path / f"my_{name}.py")
    runpy.run_path(str(copy), run_name="__main__")
    said = capsys.readouterr().out
    assert promise in said and len(said.splitlines()) >= 10


def test_templates_are_right_and_go_together() -> None:
    from rsgg.templates.explainer import MyExplainer
    from rsgg.templates.oracle import MyOracle
    from rsgg.templates.task import MY_TASK, MyDataset

    graphs = gnp_graphs(30, sizes=(6, 9))
    triangles = [sum(nx.triangles(graph).values()) // 3 for graph in graphs]
    assert MyOracle(1).predict(GraphBatch.of(graphs)).tolist() == [int(count > 1) for count in triangles]
    check_oracle(MyOracle(1))
    check_explainer(MyExplainer, MY_TASK)
    check_explainer(TwoSided, MY_TASK)
    problem = MY_TASK.load()
    assert torch.equal(problem.oracle.predict(problem.graphs), problem.labels)
    check_task(replace(MY_TASK, dataset=MyDataset(seed=100), oracle=MyOracle()))


# -- broken oracles --------------------------------------------------------------------------------------


class Edges(Oracle):
    """Class 1 iff the number of edges is at least five; relaxed, with its optimum, and all of it right."""

    name = "edges"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.n_edges >= 5).long()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        positive = torch.sigmoid(adjacency.sum((1, 2)) / 2 - 4.5)
        return torch.stack((1 - positive, positive), 1)

    def why_not_differentiable(self) -> str:
        return ""

    def why_no_embeddings(self) -> str:
        return ""

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        """The number of edges of each node, and of the graph."""
        weight = torch.ones(len(graphs.u)) if weight is None else weight
        first = (graphs.sizes.cumsum(0) - graphs.sizes)[graphs.graph]
        nodes = torch.zeros(int(graphs.sizes.sum()))
        nodes = nodes.index_add(0, first + graphs.u, weight).index_add(0, first + graphs.v, weight)
        return Embeddings(nodes[:, None], torch.zeros(len(graphs)).index_add(0, graphs.graph, weight)[:, None])

    def head(self, pooled: Tensor) -> Tensor:
        return torch.cat((4.5 - pooled, pooled - 4.5), 1)

    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        edges = graphs.n_edges.double()
        return torch.where(edges >= 5, edges - 4, 5 - edges)

    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
        closest = graphs.adjacency.clone()
        for i, count in enumerate(self.optimal_ged(graphs).long().tolist()):  # type: ignore[union-attr]
            pairs = (graphs.pair_mask[i] & (graphs.adjacency[i] == classes[i])).nonzero()[:count]
            for u, v in pairs.tolist():
                closest[i, u, v] = closest[i, v, u] = 1 - closest[i, u, v]
        return closest

    def important_edges(self, graphs: GraphBatch) -> Tensor | None:
        return graphs.edge_mask


class Constant(Oracle):
    def predict(self, graphs: GraphBatch) -> Tensor:
        return torch.zeros(len(graphs), dtype=torch.long)


class Nameless(Edges):
    name = ""


class OneClass(Edges):
    n_classes = 1


class DeclaresATensor(Edges):
    def parameters(self) -> dict[str, object]:
        return {"weights": torch.zeros(2)}


class DeclaresATuple(Edges):
    def parameters(self) -> dict[str, object]:
        return {"sizes": (1, 2)}


class DeclaresNaN(Edges):
    def parameters(self) -> dict[str, object]:
        return {"threshold": float("nan")}


class AnswersWithNumbers(Edges):
    def predict(self, graphs: GraphBatch) -> Tensor:
        return super().predict(graphs).double()


class ThreeClasses(Edges):
    def predict(self, graphs: GraphBatch) -> Tensor:
        return graphs.n_edges % 3


class ChangesItsMind(Edges):
    asked = 0

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.asked += 1
        return (super().predict(graphs) + self.asked) % 2


class ComparesWithTheBatch(Edges):
    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.n_edges >= graphs.n_edges.double().mean()).long()


class CountsPositions(Edges):
    def predict(self, graphs: GraphBatch) -> Tensor:
        return (super().predict(graphs) + torch.arange(len(graphs))) % 2


class SeesPadding(Edges):
    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.n_edges >= graphs.n_nodes).long()


class ReadsListsWrongly(Edges):
    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        return (graphs.n_edges > 5).long()


class WritesIntoItsInput(Edges):
    def predict(self, graphs: GraphBatch) -> Tensor:
        graphs.adjacency[-1, -1, -1] = 1  # a self loop, which is not counted as an edge
        return super().predict(graphs)


class RelaxesTheOppositeClass(Edges):
    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return super().relaxed(adjacency).flip(1)


class RelaxesToLogits(Edges):
    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return super().relaxed(adjacency).log()


class RelaxesToOneColumn(Edges):
    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return super().relaxed(adjacency)[:, :1]


class HasNoGradient(Edges):
    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return super().relaxed(adjacency.detach())


class HasAnInfiniteGradient(Edges):
    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return super().relaxed(adjacency + 0 * (adjacency - adjacency).sqrt())


class HasASilentGradient(Edges):
    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return super().relaxed(adjacency.detach()) + 0 * adjacency.sum()


class HidesItsRelaxation(Edges):
    def why_not_differentiable(self) -> str:
        return "nobody knows"


class SaysNothing(Edges):
    def why_not_differentiable(self) -> str:
        return None  # type: ignore[return-value]


class TooGoodToBeTrue(Edges):
    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        return torch.ones(len(graphs), dtype=torch.float64)


class Pessimist(Edges):
    """Consistent with itself, but a longer way than needed: removes or adds one edge too many."""

    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        return super().optimal_ged(graphs) + 1  # type: ignore[operator, return-value]


class NothingIsPossible(Edges):
    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        return torch.full((len(graphs),), torch.inf, dtype=torch.float64)

    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
        return graphs.adjacency


class GoesTheOtherWay(Edges):
    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
        return super().optimal_counterfactual(graphs, 1 - classes)


class ForgetsADirection(Edges):
    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
        return torch.triu(super().optimal_counterfactual(graphs, classes))  # type: ignore[arg-type]


class HidesItsOptimum(Edges):
    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        return None

    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
        return graphs.adjacency


class NeedsNoEdit(Edges):
    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        return torch.zeros(len(graphs), dtype=torch.float64)


class MarksBothTriangles(Edges):
    def important_edges(self, graphs: GraphBatch) -> Tensor | None:
        return graphs.adjacency > 0


class MarksNumbers(Edges):
    def important_edges(self, graphs: GraphBatch) -> Tensor | None:
        return graphs.adjacency


class EmbedsPadding(Edges):
    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        nodes, pooled = super().embeddings(graphs, weight)
        return Embeddings(torch.cat((nodes, nodes[:1])), pooled)


class HeadOfAnother(Edges):
    def head(self, pooled: Tensor) -> Tensor:
        return super().head(pooled).flip(1)


class EmbedsWithoutGradient(Edges):
    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        return super().embeddings(graphs)


BROKEN_ORACLES = [
    (EmbedsPadding, oracle_contract.embeddings_agree_with_the_class, "none for padding"),
    (HeadOfAnother, oracle_contract.embeddings_agree_with_the_class, "the head decides otherwise"),
    (EmbedsWithoutGradient, oracle_contract.embeddings_agree_with_the_class, "no gradient in the weights"),
    (Nameless, oracle_contract.describes_itself, "has the name ''"),
    (OneClass, oracle_contract.describes_itself, "n_classes = 1; set it"),
    (DeclaresATensor, oracle_contract.describes_itself, "plain JSON values"),
    (DeclaresATuple, oracle_contract.describes_itself, "plain JSON values"),
    (DeclaresNaN, oracle_contract.describes_itself, "plain JSON values"),
    (AnswersWithNumbers, oracle_contract.answers_with_one_class_per_graph, "float64"),
    (ThreeClasses, oracle_contract.answers_with_one_class_per_graph, "answered class 2, but it has 2 classes"),
    (ChangesItsMind, oracle_contract.answers_are_the_same_twice, "changes its answers"),
    (ComparesWithTheBatch, oracle_contract.batch_does_not_matter, "alone differently"),
    (CountsPositions, oracle_contract.batch_does_not_matter, "order of the graphs"),
    (SeesPadding, oracle_contract.batch_does_not_matter, "leave out padding"),
    (ReadsListsWrongly, oracle_contract.lists_of_edges_agree, "mend predict_edges"),
    (WritesIntoItsInput, oracle_contract.inputs_are_left_alone, "clone before writing"),
    (RelaxesTheOppositeClass, oracle_contract.relaxation_agrees_on_binary_graphs, "not the class of predict"),
    (RelaxesToLogits, oracle_contract.relaxation_agrees_on_binary_graphs, "no probabilities"),
    (RelaxesToOneColumn, oracle_contract.relaxation_agrees_on_binary_graphs, "returned shape"),
    (HidesItsRelaxation, oracle_contract.relaxation_agrees_on_binary_graphs, "says that it has none"),
    (SaysNothing, oracle_contract.relaxation_agrees_on_binary_graphs, "returned None; return a text"),
    (HasNoGradient, oracle_contract.relaxation_has_gradients, "has no gradient"),
    (HasAnInfiniteGradient, oracle_contract.relaxation_has_gradients, "not finite"),
    (HasASilentGradient, oracle_contract.relaxation_has_gradients, "zero on every graph"),
    (TooGoodToBeTrue, oracle_contract.optimum_is_reached, "keeps the class"),
    (GoesTheOtherWay, oracle_contract.optimum_is_reached, "do not have optimal_ged edits"),
    (ForgetsADirection, oracle_contract.optimum_is_reached, "not simple graphs"),
    (HidesItsOptimum, oracle_contract.optimum_is_reached, "no optimal_ged; give both"),
    (NeedsNoEdit, oracle_contract.optimum_is_reached, "at least 1"),
    (Pessimist, oracle_contract.optimum_is_not_beaten, "edits change the class of graph"),
    (NothingIsPossible, oracle_contract.optimum_is_not_beaten, "optimal_ged says inf"),
    (MarksBothTriangles, oracle_contract.important_edges_are_edges, "no edges, or edges u > v"),
    (MarksNumbers, oracle_contract.important_edges_are_edges, "must be a bool"),
]


@pytest.mark.parametrize(("broken", "check", "sentence"), BROKEN_ORACLES)
def test_broken_oracles_are_caught(broken: type[Oracle], check: Callable[..., None], sentence: str) -> None:
    subject = oracle_contract.Subject(broken())
    with pytest.raises(ContractViolation, match=sentence):
        _ = subject.classes
        run_check(check, subject)
    with pytest.raises(ContractViolation):
        check_oracle(broken())


def test_the_unbroken_one_passes_and_every_check_has_caught_somebody() -> None:
    passed = check_oracle(Edges())
    assert len(passed) == len(oracle_contract.CHECKS) and not any("not checked" in line for line in passed)
    assert {check for _, check, _ in BROKEN_ORACLES} == set(oracle_contract.CHECKS)
    with pytest.raises(ContractViolation, match="The class Edges is no oracle"):
        check_oracle(Edges)  # type: ignore[arg-type]
    with pytest.raises(ContractViolation, match="A Module is no oracle"):
        check_oracle(nn.Module())  # type: ignore[arg-type]


def test_brute_force_tries_every_set_of_edits() -> None:
    adjacency = torch.from_numpy(all_graphs(4)[13])
    pairs = torch.triu(torch.ones(4, 4), 1).nonzero()
    everything = torch.cat([oracle_contract._all_edits(adjacency, pairs, count) for count in range(1, 7)])
    assert len({row.numpy().tobytes() for row in everything} | {adjacency.numpy().tobytes()}) == 2**6
    assert torch.equal(everything, everything.transpose(1, 2))


# -- broken tasks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """A data set that a function makes."""

    make: Callable[[], Dataset]
    name: str = "given"
    declared: tuple[object, ...] = ()

    def parameters(self) -> dict[str, object]:
        return {"declared": self.declared} if self.declared else {}

    def load(self, data_dir: Path | None = None) -> Dataset:
        return self.make()


def trees(**changes: object) -> Dataset:
    return replace(TreeCycles(n_graphs=20).load(), **changes)  # type: ignore[arg-type]


def with_graphs(**changes: object) -> Dataset:
    data = trees()
    return replace(data, graphs=replace(data.graphs, **changes))  # type: ignore[arg-type]


def with_loop() -> Dataset:
    adjacency = trees().graphs.adjacency.clone()
    adjacency[3, 2, 2] = 1
    return with_graphs(adjacency=adjacency)


def one_way() -> Dataset:
    return with_graphs(adjacency=torch.triu(trees().graphs.adjacency))


def beyond_its_size() -> Dataset:
    return with_graphs(sizes=torch.full((20,), 20))


class Drifting:
    """Another data set at every loading."""

    seed = 0

    def __call__(self) -> Dataset:
        self.seed += 1
        return TreeCycles(n_graphs=20, seed=self.seed).load()


class Folded(Dataset):
    """A data set with folds of its own."""

    def folds(self, k: int = 10, seed: int = 0) -> list:  # type: ignore[type-arg]
        folds = super().folds(k, seed)
        return [replace(fold, test=folds[0].test) for fold in folds]


def folded() -> Dataset:
    data = trees()
    return Folded(data.name, data.graphs, data.labels)


class Learns(Oracle):
    """Draws a threshold when it is prepared, without a seed."""

    name = "learns"

    def __init__(self, threshold: int = 0) -> None:
        self.threshold = threshold

    def prepared(self, dataset: Dataset) -> Oracle:
        return Learns(int(torch.randint(28, (1,))))

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.adjacency[:, 0].sum(1) + self.threshold) % 2


def unnamed_class() -> Task:
    return replace(TREES, class_names=("same", "same"))


def task_of(make: Callable[[], Dataset], oracle: Oracle | None = None, **about: object) -> Callable[[], Task]:
    return lambda: Task("broken", Given(make, **about), oracle or TreeCyclesOracle())  # type: ignore[arg-type]


BROKEN_TASKS = [
    (task_of(trees, name=""), task_contract.declares_plain_parameters, "its data set has the name ''"),
    (task_of(trees, declared=(1, 2)), task_contract.declares_plain_parameters, "its data set has parameters"),
    (task_of(trees, DeclaresATensor()), task_contract.declares_plain_parameters, "its oracle has parameters"),
    (unnamed_class, task_contract.names_its_classes, "2 different texts"),
    (task_of(with_loop), task_contract.graphs_are_simple, "self loop"),
    (task_of(one_way), task_contract.graphs_are_simple, "not symmetric"),
    (task_of(beyond_its_size), task_contract.graphs_are_simple, "edges beyond the graph's size"),
    (task_of(lambda: with_graphs(names=("same",) * 20)), task_contract.graphs_are_simple, "the same name"),
    (task_of(lambda: TreeCycles(n_graphs=1).load()), task_contract.graphs_are_simple, "has 1 graphs"),
    (task_of(lambda: trees().graphs), task_contract.graphs_are_simple, "let its load\\(\\) return an rsgg.Dataset"),  # type: ignore
    (task_of(lambda: trees(labels=torch.full((20,), 2))), task_contract.labels_are_classes, "the label 2"),
    (task_of(lambda: trees(labels=torch.full((20,), -1))), task_contract.labels_are_classes, "the label -1"),
    (task_of(trees, Constant()), task_contract.every_class_is_there, "no graph is of class 1"),
    (task_of(folded), task_contract.folds_are_disjoint_and_cover, "not all graphs"),
    (task_of(Drifting()), task_contract.loading_again_gives_the_same, "other graphs the second time"),
    (task_of(trees, Learns()), task_contract.loading_again_gives_the_same, "answers differently"),
]


@pytest.mark.parametrize(("make", "check", "sentence"), BROKEN_TASKS)
def test_broken_tasks_are_caught(make: Callable[[], Task], check: Callable[..., None], sentence: str) -> None:
    torch.manual_seed(0)
    with pytest.raises(ContractViolation, match=sentence):
        run_check(check, task_contract.Subject(make()))
    with pytest.raises(ContractViolation):
        check_task(make())


def test_every_check_of_tasks_has_caught_somebody_and_broken_oracles_are_found_in_tasks() -> None:
    assert {check for _, check, _ in BROKEN_TASKS} == set(task_contract.CHECKS)
    with pytest.raises(ContractViolation, match="mend predict_edges"):
        check_task(Task("lists", Given(lambda: Dataset.of("g", gnp_graphs(40), [0] * 40)), ReadsListsWrongly()))
    with pytest.raises(ContractViolation, match="A TreeCycles is no task"):
        check_task(TreeCycles())  # type: ignore[arg-type]
    with pytest.raises(ContractViolation, match="The class Task is no task"):
        check_task(Task)  # type: ignore[arg-type]
