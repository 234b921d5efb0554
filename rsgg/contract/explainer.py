"""What every explainer promises: `check_explainer(MyExplainer)`.

The checks use a handful of graphs of eight nodes, trees and trees with cycles, with the oracle of Tree-Cycles (for
methods that read embeddings, with one that has some), and two further oracles that know nothing of cycles. A method
that needs a particular oracle or particular graphs is checked on those instead. An explainer class is tested in its
`tiny()` preset, an instance as it is configured.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from types import NoneType

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from rsgg.contract.checking import ContractViolation, require, run_checks
from rsgg.counterfactual import Counterfactual
from rsgg.edges import EdgeBatch
from rsgg.edits import origins
from rsgg.errors import NotFittedError, OracleError, RSGGError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import Choice
from rsgg.oracles.counting import CountingOracle
from rsgg.oracles.oracle import Embeddings, Oracle, WrappedOracle
from rsgg.oracles.tree_cycles import TreeCyclesOracle
from rsgg.seeds import numpy_rng, torch_rng
from rsgg.task import Problem, Task

N_NODES = 8
N_TEST, N_TRAIN = 8, 24  # graphs to explain and to fit on
MAX_SECONDS = 30.0  # of CPU time, for `tiny()` to fit and explain: generous, machines differ


def check_explainer(explainer: type[Explainer] | Explainer, oracle: Oracle | Problem | Task | None = None) -> list[str]:
    """One line for each promise that the explainer keeps; `ContractViolation` with a sentence at the first it breaks.

    A method that needs a particular oracle is given it by `oracle`. If that oracle cannot answer about trees and cycles
    of eight nodes without features, give the task or problem instead: a few of its graphs are then used.
    """
    return run_checks(CHECKS, Subject(explainer, oracle))


# -- What is tested, and on what -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ground:
    """What an explainer is tested on; `many_sizes` is None where there are only graphs of one size for the oracle."""

    oracle: Oracle
    train: GraphBatch
    test: GraphBatch
    many_sizes: GraphBatch | None


def ground_of(oracle: Oracle | Problem | Task | None, *, embeddings: bool = False) -> Ground:
    """Graphs of every class for this oracle: those of the problem, or else small ones that are made here.

    Without an oracle, that of Tree-Cycles, or one that shows `embeddings`.
    """
    if isinstance(oracle, Task):
        oracle = oracle.load()
    if isinstance(oracle, Problem):
        return _ground_of_problem(oracle)
    if oracle is None:
        made = EdgesAgainstNodes() if embeddings else TreeCyclesOracle()
        return Ground(made, training_graphs(), graphs_to_explain(), graphs_of_many_sizes())
    reason = "not all classes are among them"
    some = graphs_of_any_kind()
    for train, test in ((training_graphs(), graphs_to_explain()), (some[N_TEST:], some[:N_TEST])):
        try:
            if set(CountingOracle(oracle).predict(train).tolist()) == set(range(oracle.n_classes)):
                return Ground(oracle, train, test, graphs_of_many_sizes() if _answers(oracle) else None)
        except OracleError as error:
            reason = str(error).rstrip(".")
    raise UsageError(
        f"The oracle {oracle.name!r} cannot be used with the small graphs of the check ({reason}); give a task with "
        "graphs for it: check_explainer(explainer, task)."
    )


def _answers(oracle: Oracle) -> bool:
    """Does the oracle answer about graphs of different sizes in one batch?"""
    try:
        CountingOracle(oracle).predict(graphs_of_many_sizes())
    except OracleError:
        return False
    return True


def _ground_of_problem(problem: Problem) -> Ground:
    """Some graphs of the problem, taken from its classes in turn: first those to explain, then those to fit on."""
    classes = CountingOracle(problem.oracle).predict(problem.graphs)
    by_class = [(classes == c).nonzero().flatten().tolist() for c in range(problem.oracle.n_classes)]
    in_turn = [i for _, i in sorted((rank, i) for members in by_class for rank, i in enumerate(members))]
    n_test = min(N_TEST, len(in_turn) // 2)
    test, train = in_turn[:n_test], in_turn[n_test : n_test + N_TRAIN]
    if set(classes[train].tolist()) != set(range(problem.oracle.n_classes)) or not test:
        raise UsageError(
            f"The problem {problem.name!r} has too few graphs of some class to check an explainer on it; it needs some "
            "graphs of every class besides those that are explained."
        )
    to_fit_on, to_explain = (problem.graphs.select(torch.tensor(part)) for part in (train, test))
    return Ground(problem.oracle, to_fit_on, to_explain, None if to_explain.of_one_size else to_explain)


class Subject:
    """The explainer under test, with what several checks share, so that it is fitted once and not in every check."""

    def __init__(self, explainer: type[Explainer] | Explainer, oracle: Oracle | Problem | Task | None = None) -> None:
        known = explainer if isinstance(explainer, type) else type(explainer)
        if not issubclass(known, Explainer):
            raise ContractViolation(f"{known.__name__} is no explainer; it has to be a subclass of rsgg.Explainer.")
        self.explainer = explainer
        self.chosen_oracle = oracle is not None
        self.ground = ground_of(oracle, embeddings=self.new()._needs_embeddings())
        self.oracle = SpyOracle(self.ground.oracle)

    @property
    def name(self) -> str:
        return (self.explainer if isinstance(self.explainer, type) else type(self.explainer)).__name__

    def new(self) -> Explainer:
        """A fresh explainer that has seen no data."""
        if isinstance(self.explainer, type):
            return self.explainer.tiny()
        return replace(copy.deepcopy(self.explainer))

    @cached_property
    def capabilities(self) -> Capabilities:
        return self.new().capabilities

    @cached_property
    def fitted(self) -> Explainer:
        return self.new().fit(self.ground.train, self.oracle, seed=0)

    @cached_property
    def results(self) -> list[Counterfactual]:
        """One candidate for each test graph."""
        return self.explain()

    @cached_property
    def two_each(self) -> list[Counterfactual]:
        return self.explain(k=2)

    def explain(self, graphs: GraphBatch | None = None, *, k: int = 1, seed: int = 0) -> list[Counterfactual]:
        return self.fitted.explain(self.ground.test if graphs is None else graphs, self.oracle, k=k, seed=seed)


class SpyOracle(WrappedOracle):
    """Any oracle, with a note of how many graphs it really saw, and whether one had edges at nodes that are padding.

    Questions past the counter show here.
    """

    def __init__(self, oracle: Oracle) -> None:
        super().__init__(oracle)
        self.seen = 0
        self.edges_on_padding = False

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.seen += len(graphs)
        self.edges_on_padding |= bool(graphs.adjacency[~graphs.node_mask].any())
        return super().predict(graphs)

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        self.seen += len(adjacency)
        return super().relaxed(adjacency, features)

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        self.seen += len(graphs)
        return super().relaxed_graphs(graphs, soft)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        self.seen += len(graphs)
        return super().predict_edges(graphs)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        self.seen += len(graphs)
        return super().relaxed_edges(graphs, weight)

    def relaxed_messages(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        self.seen += len(graphs)
        return super().relaxed_messages(graphs, weight)

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        self.seen += len(graphs)
        return super().embeddings(graphs, weight)


class FailingOracle(WrappedOracle):
    """Any oracle, which answers a number of batches and then breaks, as a remote model might."""

    def __init__(self, oracle: Oracle, batches: int) -> None:
        super().__init__(oracle)
        self.batches = batches

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.batches -= 1
        if self.batches < 0:
            raise ValueError("the model is gone")
        return super().predict(graphs)

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        raise ValueError("the model is gone")

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        raise ValueError("the model is gone")

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        raise ValueError("the model is gone")

    def relaxed_messages(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        raise ValueError("the model is gone")

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        raise ValueError("the model is gone")


class TickingOracle(CountingOracle):
    """A counting oracle whose clock moves on by one second with each batch: tests time limits without waiting."""

    def __init__(self, oracle: Oracle, seconds: float) -> None:
        self.ticks = 0.0
        super().__init__(oracle, seconds=seconds)

    def _now(self) -> float:
        return self.ticks

    def _read_clock(self, payer: Tensor | None) -> None:
        self.ticks += 1.0
        super()._read_clock(payer)


class TriangleOracle(Oracle):
    """Class 1 iff there is a triangle. A black box: it has no relaxation, and other cycles mean nothing to it."""

    name = "triangles"

    def predict(self, graphs: GraphBatch) -> Tensor:
        adjacency = (graphs.adjacency > 0).float()
        return ((adjacency @ adjacency * adjacency).sum((1, 2)) > 0).long()


class EdgesAgainstNodes(Oracle):
    """Class 1 iff there are at least as many edges as nodes, as a network says it: so there are if a tree has a cycle.

    A node's embedding is its degree and a one, a graph's their sums, (2 |E|, |V|); the logits are 0 and |E| - |V| + ½.
    """

    name = "edges-against-nodes"
    reads_only = True

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.n_edges >= graphs.sizes).long()

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return self._probabilities(adjacency, torch.full((len(adjacency),), adjacency.shape[1]))

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        return self._probabilities(soft, graphs.sizes)

    def _probabilities(self, soft: Tensor, sizes: Tensor) -> Tensor:
        return self.head(torch.stack((soft.sum((1, 2)), sizes.to(soft.dtype)), 1)).softmax(1)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        return self.head(self.embeddings(graphs, weight).pooled).softmax(1)

    def why_no_embeddings(self) -> str:
        return ""

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        weight = torch.ones(len(graphs.u)) if weight is None else weight
        first, owner = graphs.sizes.cumsum(0) - graphs.sizes, graphs.graph
        degree = weight.new_zeros(int(graphs.sizes.sum()))
        for end in (graphs.u, graphs.v):
            degree = degree.index_add(0, first[owner] + end, weight)
        nodes = torch.stack((degree, torch.ones_like(degree)), 1)
        return Embeddings(nodes, torch.segment_reduce(nodes, "sum", lengths=graphs.sizes))

    def head(self, pooled: Tensor) -> Tensor:
        above = pooled[:, 0] / 2 - pooled[:, 1] + 0.5
        return torch.stack((torch.zeros_like(above), above), 1)


class EdgesModuloThree(Oracle):
    """Three classes: the number of edges modulo three. A black box too."""

    name = "edges-modulo-three"
    n_classes = 3

    def predict(self, graphs: GraphBatch) -> Tensor:
        return graphs.n_edges % 3


def _tree(n: int, cycle: int, rng: np.random.Generator) -> nx.Graph:
    """A random tree, with a cycle of that many nodes attached to it if it is not zero, n nodes in all."""
    graph = nx.random_labeled_tree(n - cycle, seed=int(rng.integers(2**31)))
    if cycle:
        nx.add_cycle(graph, range(n - cycle, n))
        graph.add_edge(int(rng.integers(n - cycle)), n - cycle)
    return graph


def _named(graphs: list[nx.Graph], name: str) -> GraphBatch:
    return GraphBatch.of([Graph.from_networkx(graph, name=f"{name}-{i}") for i, graph in enumerate(graphs)])


@lru_cache
def training_graphs() -> GraphBatch:
    rng = numpy_rng("contract", "train")
    return _named([_tree(N_NODES, (0, 3, 0, 4)[i % 4], rng) for i in range(24)], "train")


@lru_cache
def graphs_to_explain() -> GraphBatch:
    rng = numpy_rng("contract", "test")
    return _named([_tree(N_NODES, (0, 3, 0, 5)[i % 4], rng) for i in range(8)], "test")


@lru_cache
def graphs_of_many_sizes() -> GraphBatch:
    rng = numpy_rng("contract", "sizes")
    return _named([_tree(n, cycle, rng) for n in (N_NODES, 5, 11) for cycle in (0, 3)], "size")


@lru_cache
def graphs_of_any_kind() -> GraphBatch:
    """Random graphs, about half of them with a triangle, with all kinds of edge counts, some not connected."""
    return _named([nx.gnp_random_graph(N_NODES, 0.26, seed=i) for i in range(30)], "any")


def _same(a: list[Counterfactual], b: list[Counterfactual]) -> bool:
    return len(a) == len(b) and all(
        x.found == y.found and x.calls == y.calls and np.array_equal(x.returned.adjacency, y.returned.adjacency)
        for x, y in zip(a, b, strict=True)
    )


def _require_sound(subject: Subject, results: list[Counterfactual], oracle: Oracle | None = None) -> None:
    """Every result is a graph of another class, or a failure with a reason."""
    judge = oracle or subject.ground.oracle
    for r in results:
        where = f"{subject.name} on instance {r.instance}, candidate {r.candidate}"
        require(r.found or bool(r.reason.strip()), f"{where}: a failure without a reason; say why there is no result.")
        if r.graph is not None and not subject.capabilities.may_return_invalid:
            before, after = judge.predict(GraphBatch.of([r.input, r.graph])).tolist()
            require(
                before != after,
                f"{where}: the result keeps class {before}; ask the oracle before returning a graph, or declare "
                "may_return_invalid.",
            )


# -- The checks ------------------------------------------------------------------------------------------


def constructor_only_stores(subject: Subject) -> None:
    """A constructor stores its fields and does nothing else."""
    explainer = subject.new()
    require(is_dataclass(explainer), f"{subject.name} is no dataclass; decorate it with @dataclass(kw_only=True).")
    extra = sorted(set(vars(explainer)) - {f.name for f in fields(explainer)})
    require(not extra, f"The constructor of {subject.name} makes {extra}; compute it in fit or explain.")
    values = {f.name: getattr(explainer, f.name) for f in fields(explainer) if f.init}
    again = type(explainer)(**values)
    changed = [name for name, value in values.items() if getattr(again, name) is not value]
    require(not changed, f"The constructor of {subject.name} changes {changed}; store what was given.")


def hyperparameters_are_declared(subject: Subject) -> None:
    """Plain values are declared with `hyper`: results are addressed by them."""
    explainer = subject.new()
    for f in fields(explainer):
        plain = isinstance(getattr(explainer, f.name), bool | int | float | str | tuple)
        require(
            "symbol" in f.metadata or f.name in ("device", "constraints") or not plain,
            f"{subject.name}.{f.name} is not declared with hyper(...); results depend on it, so it needs a symbol.",
        )
    for name, value in explainer.hyperparameters().items():
        plain = isinstance(value, bool | int | float | str | tuple | list | NoneType) or is_dataclass(value)
        require(
            plain, f"The hyper-parameters of {subject.name} are not plain values or dataclasses: {name} = {value!r}."
        )
    for name, space in explainer.search_space().items():
        empty = not space.values if isinstance(space, Choice) else space.low >= space.high
        require(not empty, f"The search space of {subject.name}.{name} is empty; give values or an interval.")


def explain_needs_fit(subject: Subject) -> None:
    """A method that learns says so when it has not; one that does not learn can explain at once."""
    try:
        subject.new().explain(subject.ground.test, subject.oracle)
    except NotFittedError:
        require(subject.capabilities.learns, f"{subject.name} wants to be fitted but does not declare that it learns.")
    else:
        require(
            not subject.capabilities.learns,
            f"{subject.name} declares that it learns but explains before it was fitted; raise NotFittedError.",
        )


def tiny_is_quick(subject: Subject) -> None:
    """The preset fits and explains in a few seconds; `fit` returns the explainer; what was learnt ends in `_`."""
    start = time.process_time()
    fitted, _ = subject.fitted, subject.results
    seconds = time.process_time() - start
    require(seconds < MAX_SECONDS, f"{subject.name} took {seconds:.0f} s to fit and explain; make its tiny() smaller.")
    require(isinstance(fitted, Explainer), f"{subject.name}.fit returns a {type(fitted).__name__}; return self.")
    learned = set(vars(fitted)) - {f.name for f in fields(fitted)}
    wrong = sorted(name for name in learned if not name.endswith("_"))
    require(not wrong, f"{subject.name} keeps {wrong} after fit; names of what was learnt end in an underscore.")


def results_are_in_order(subject: Subject) -> None:
    """One result per graph and candidate, in the order of the graphs."""
    graphs = subject.ground.test
    for k, results in ((1, subject.results), (2, subject.two_each)):
        numbers = [(r.instance, r.candidate) for r in results]
        expected = [(i, j) for i in range(len(graphs)) for j in range(k)]
        require(numbers == expected, f"{subject.name} numbers its results {numbers}; expected {expected} for k = {k}.")
        for r in results:
            same = np.array_equal(r.input.adjacency, graphs[r.instance].adjacency)
            require(same, f"{subject.name}: result {r.instance} is about another graph; keep the order of the input.")


def returned_graphs_are_valid(subject: Subject) -> None:
    """What is returned has the input's nodes, but for `node_edits`; it is symmetric and simple unless declared."""
    for r in subject.results + subject.two_each:
        a, n = r.returned.adjacency, len(origins(r.node_edits, r.input.n_nodes))
        where = f"{subject.name} on instance {r.instance}"
        require(a.shape == (n, n), f"{where}: an adjacency matrix of shape {a.shape} for {n} nodes.")
        symmetric = bool((a == a.T).all())
        require(symmetric or subject.capabilities.asymmetric, f"{where}: the adjacency matrix is not symmetric.")
        simple = bool(np.isin(a, (0, 1)).all()) and not a.diagonal().any()
        require(
            simple or subject.capabilities.may_return_invalid,
            f"{where}: not a simple graph (self loops or multiplicities); mend it or declare may_return_invalid.",
        )


def edits_are_as_declared(subject: Subject) -> None:
    """A method that does not add or does not remove edges says so, and then does not."""
    for r in subject.results + subject.two_each:
        can, name = subject.capabilities, subject.name
        require(can.adds or not r.added, f"{name} adds the edges {r.added} but declares adds=False.")
        require(can.removes or not r.removed, f"{name} removes the edges {r.removed} but declares removes=False.")


def results_change_the_class(subject: Subject) -> None:
    """Every result changes the oracle's class, or is a failure with a reason."""
    _require_sound(subject, subject.results + subject.two_each)


def inputs_are_left_alone(subject: Subject) -> None:
    """Neither `fit` nor `explain` writes into the graphs that it is given."""
    train, test = copy.deepcopy(subject.ground.train), copy.deepcopy(subject.ground.test)
    subject.new().fit(train, subject.oracle).explain(test, subject.oracle)
    for batch, original in ((train, subject.ground.train), (test, subject.ground.test)):
        same = torch.equal(batch.adjacency, original.adjacency)
        require(same, f"{subject.name} changes the graphs that it is given; clone before writing.")


def calls_are_counted(subject: Subject) -> None:
    """Every question goes through the counter and has an owner."""
    for k in (1, 2):
        counted = CountingOracle(subject.oracle)
        _ = subject.fitted
        seen = subject.oracle.seen
        results = subject.fitted.explain(subject.ground.test, counted, k=k)
        seen = subject.oracle.seen - seen
        require(
            seen == counted.evaluated,
            f"{subject.name} showed the oracle {seen} graphs, of which the counter knows {counted.evaluated}; "
            "ask only the CountingOracle that _explain is given.",
        )
        charged = sum(r.calls for r in results)
        require(
            charged == counted.calls,
            f"{subject.name} asked {counted.calls} questions, of which {charged} belong to a result; name the owner.",
        )


def same_seed_same_result(subject: Subject) -> None:
    """Results follow from the seed alone: global random states do not matter, neither in fit nor in explain."""
    before = torch.random.get_rng_state(), np.random.get_state()
    try:
        torch.manual_seed(12345)
        np.random.seed(12345)  # the global state is what is being tested
        require(_same(subject.explain(), subject.results), f"{subject.name} explains differently with the same seed.")
        again = subject.new().fit(subject.ground.train, subject.oracle, seed=0)
        same = _same(again.explain(subject.ground.test, subject.oracle, seed=0), subject.results)
        require(same, f"{subject.name} differs after it was fitted again with the same seed.")
    finally:
        torch.random.set_rng_state(before[0])
        np.random.set_state(before[1])


def deterministic_if_declared(subject: Subject) -> None:
    """A method that declares itself deterministic explains the same whatever the seed."""
    if subject.capabilities.deterministic:
        same = _same(subject.explain(seed=1), subject.results)
        require(same, f"{subject.name} declares itself deterministic but depends on the seed of explain.")


def batch_does_not_matter(subject: Subject) -> None:
    """A graph alone, or in another order, is explained as in the batch: workers and order change nothing."""
    graphs = subject.ground.test
    for i in (0, len(graphs) - 1):
        alone = subject.explain(graphs.select(torch.tensor([i])), k=2)
        same = _same(alone, subject.two_each[2 * i : 2 * i + 2])
        require(same, f"{subject.name} explains graph {i} alone differently than in its batch; seed by its name.")
    backwards = subject.explain(graphs.select(torch.arange(len(graphs)).flip(0)))
    same = _same(backwards[::-1], subject.results)
    require(same, f"{subject.name} depends on the order of the graphs in a batch; seed by their names.")


def first_of_several_is_the_one(subject: Subject) -> None:
    """Asking for a second candidate does not change the first."""
    same = _same(subject.two_each[::2], subject.results)
    require(same, f"{subject.name}: candidate 0 depends on k; seed by instance and candidate.")


def budget_is_kept(subject: Subject) -> None:
    """With a budget nobody asks more, nothing is raised, and what is returned still changes the class."""
    for budget in (0, 1, 3):
        results = subject.fitted.explain(subject.ground.test, CountingOracle(subject.oracle, budget), k=2)
        most = max(r.calls for r in results)
        require(most <= budget, f"{subject.name} asked {most} questions for one result with a budget of {budget}.")
        _require_sound(subject, results)


def time_limit_is_kept(subject: Subject) -> None:
    """With a time limit nothing is raised when it is used up, and what is returned still changes the class."""
    graphs = subject.ground.test
    for batches in (1, 2, 5):
        limited = TickingOracle(subject.oracle, seconds=batches / len(graphs))
        _require_sound(subject, subject.fitted.explain(graphs, limited, k=2))


def sizes_may_differ(subject: Subject) -> str | None:
    """Graphs of different sizes are explained, each as it is alone, or refused with a sentence."""
    graphs = subject.ground.many_sizes
    if graphs is None:
        return "there are no graphs of different sizes for this oracle"
    try:
        results = subject.explain(graphs)
    except RSGGError:
        pass
    else:
        _require_sound(subject, results)
        alone = subject.explain(GraphBatch.of(graphs[0]))  # taken out of its padding
        require(_same(alone, results[:1]), f"{subject.name} is changed by the padding of a batch; mask it.")
    try:
        fitted = subject.new().fit(graphs, subject.oracle)
    except RSGGError:
        return None
    _require_sound(subject, fitted.explain(graphs, subject.oracle))
    touched = subject.oracle.edges_on_padding
    require(not touched, f"{subject.name} asks about graphs with edges at nodes that are padding; mask them.")
    return None


def permutation_invariant_if_declared(subject: Subject) -> str | None:
    """Renaming nodes does not change how large the edits are (deterministic methods) or how often one is found."""
    if not subject.capabilities.permutation_invariant:
        return "the method does not declare it"
    graphs = subject.ground.test
    renamed, k = graphs.relabelled(_permutations(graphs)), 1 if subject.capabilities.deterministic else 6
    judge = subject.ground.oracle
    if not torch.equal(judge.predict(graphs), judge.predict(renamed)):
        return "for this oracle the class of a graph depends on how its nodes are numbered"
    before, after = subject.explain(graphs, k=k), subject.explain(renamed, k=k)
    declared = f"{subject.name} declares itself permutation invariant, but renaming nodes"
    if subject.capabilities.deterministic:
        same = [len(r.edits) for r in before] == [len(r.edits) for r in after]
        require(same, f"{declared} changes its GED.")
    else:
        gap = abs(sum(r.found for r in before) - sum(r.found for r in after)) / len(before)
        require(gap < 0.4, f"{declared} moves its success rate by {gap:.2f}.")
    return None


def _permutations(graphs: GraphBatch) -> Tensor:
    """A random renumbering of the nodes of each graph, int64 [B, N]; padding stays where it is."""
    rng = torch_rng("contract", "relabel")
    own = [torch.randperm(n, generator=rng) for n in graphs.sizes.tolist()]
    return torch.stack([torch.cat((order, torch.arange(len(order), graphs.n_nodes))) for order in own])


def saved_is_loaded(subject: Subject) -> None:
    """What was saved explains as before."""
    with tempfile.TemporaryDirectory() as folder:
        path = subject.fitted.save(Path(folder) / "explainer")
        loaded = type(subject.fitted).load(path)
    same = loaded.hyperparameters() == subject.fitted.hyperparameters()
    require(same, f"{subject.name} is loaded with other hyper-parameters than it was saved with.")
    same = _same(loaded.explain(subject.ground.test, subject.oracle, seed=0), subject.results)
    require(same, f"{subject.name} explains differently after it was saved and loaded; see _state and _restore.")


def oracle_errors_are_told(subject: Subject) -> None:
    """An oracle that breaks ends in an OracleError, at once or half-way."""
    few = subject.ground.test.select(torch.arange(min(3, len(subject.ground.test))))  # each is asked about on its own
    for batches in (0, 1, 2):
        try:
            subject.fitted.explain(few, FailingOracle(subject.ground.oracle, batches))
        except OracleError:
            continue
        except Exception as error:
            sentence = f"{subject.name} turns a broken oracle into {type(error).__name__}; let the OracleError through."
            raise ContractViolation(sentence) from error
        require(batches > 0, f"{subject.name} hides that the oracle is broken; let the OracleError through.")


def other_oracles_work(subject: Subject) -> str | None:
    """Nothing is made for cycles or for two classes: other oracles are explained, or refused with a sentence."""
    if subject.chosen_oracle:
        return "the oracle was chosen for this method"
    graphs = graphs_of_any_kind()
    for oracle in (TriangleOracle(), EdgesModuloThree()):
        try:
            results = subject.new().fit(graphs, oracle).explain(graphs, oracle)
        except RSGGError as error:
            excused = subject.capabilities.needs_relaxation or oracle.n_classes > 2
            require(excused, f"{subject.name} refuses a black box of two classes: {error}")
        else:
            _require_sound(subject, results, oracle)
    return None


CHECKS: tuple[Callable[[Subject], str | None], ...] = (
    constructor_only_stores,
    hyperparameters_are_declared,
    explain_needs_fit,
    tiny_is_quick,
    results_are_in_order,
    returned_graphs_are_valid,
    edits_are_as_declared,
    results_change_the_class,
    inputs_are_left_alone,
    calls_are_counted,
    same_seed_same_result,
    deterministic_if_declared,
    batch_does_not_matter,
    first_of_several_is_the_one,
    budget_is_kept,
    time_limit_is_kept,
    sizes_may_differ,
    permutation_invariant_if_declared,
    saved_is_loaded,
    oracle_errors_are_told,
    other_oracles_work,
)
