"""Every method keeps the contract, and the contract check catches each way of breaking it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import import_module
from inspect import isabstract
from pkgutil import walk_packages
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

import rsgg.baselines
import rsgg.contract.explainer as contract
from rsgg.baselines import controls, search
from rsgg.baselines.controls import RandomEdits, TwoSided
from rsgg.compose import BestOf, FirstOf, Minimised
from rsgg.contract.checking import ContractViolation, run_check
from rsgg.contract.explainer import CHECKS, Subject, check_explainer
from rsgg.counterfactual import Candidate, Counterfactual
from rsgg.data import ASD, Dataset
from rsgg.errors import NotFittedError, RSGGError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import Choice, hyper
from rsgg.minimise import with_edits
from rsgg.oracles import ASDOracle, CountingOracle, Oracle
from rsgg.rsgg_ce import RSGGCE, LiteralRSGGCE, ReleasedRSGGCE
from rsgg.seeds import torch_rng
from rsgg.task import Problem, Task
from tests.graphs import needs_asd

# -- every method ----------------------------------------------------------------------------------------


def explainer_classes() -> list[type[Explainer]]:
    """Every explainer that is defined in a module of the baselines: a new file is tested without being listed."""
    modules = [import_module(found.name) for found in walk_packages(rsgg.baselines.__path__, "rsgg.baselines.")]
    classes = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    own = [cls for cls in dict.fromkeys(classes) if cls.__module__.startswith("rsgg.baselines.")]
    return [cls for cls in own if issubclass(cls, Explainer) and not isabstract(cls)]


EXPLAINERS: dict[str, Callable[[], type[Explainer] | Explainer]] = {
    f"{cls.__module__.removeprefix('rsgg.baselines.')}.{cls.__name__}": (lambda cls=cls: cls)  # type: ignore[misc]
    for cls in explainer_classes()
}
EXPLAINERS |= {
    "RSGGCE": lambda: RSGGCE,
    "RSGGCE with minimality": lambda: replace(RSGGCE.tiny(), minimality=0.005),
    "RSGGCE untrained": lambda: replace(RSGGCE.tiny(), generator="untrained"),
    "RSGGCE uniform": lambda: replace(RSGGCE.tiny(), generator="uniform"),
    "RSGGCE multinomial": lambda: replace(RSGGCE.tiny(), generator="untrained", sampler="multinomial"),
    "LiteralRSGGCE": lambda: LiteralRSGGCE,
    "ReleasedRSGGCE": lambda: ReleasedRSGGCE,
    "ReleasedRSGGCE untrained": lambda: replace(ReleasedRSGGCE.tiny(), generator="untrained"),
    "ReleasedRSGGCE uniform": lambda: replace(ReleasedRSGGCE.tiny(), generator="uniform"),
    "Minimised(Empty)": lambda: Minimised(base=controls.Empty()),
    "BestOf(OBS)": lambda: BestOf(base=search.OBS(), k=3),
    "BestOf(RSGGCE)": lambda: BestOf(base=RSGGCE.tiny(), k=2),
    "FirstOf(Empty, DCE)": lambda: FirstOf(first=controls.Empty(), second=search.DCE()),
    "FirstOf(DDBS, BestOf(IRand))": lambda: FirstOf(first=search.DDBS(), second=BestOf(base=search.IRand())),
    "FirstOf(IRand with few tries, Complete)": lambda: FirstOf(
        first=search.IRand(share=0.01, tries=1), second=controls.Complete()
    ),
}


def fits_tree_cycles(name: str) -> bool:
    """Is the oracle of Tree-Cycles, which is a rule and has no embeddings, one that this method can explain?"""
    made = EXPLAINERS[name]()
    return not (made.tiny() if isinstance(made, type) else made).capabilities.needs_embeddings


OF_RULES = {name: make for name, make in EXPLAINERS.items() if fits_tree_cycles(name)}


def test_the_methods_of_the_paper_are_among_them() -> None:
    assert {"cf2.CF2", "clear.CLEAR", "gcountergan.GCounteRGAN", "meg.MEG", "released.meg.ReleasedMEG"} <= set(
        EXPLAINERS
    )
    assert {"controls.Optimum", "controls.TwoSidedMinimised", "search.OBS", "RSGGCE"} <= set(EXPLAINERS)


@lru_cache
def subject(name: str) -> Subject:
    """Fitted once for all checks."""
    return Subject(EXPLAINERS[name]())


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", EXPLAINERS)
def test_contract(name: str, check: Callable[[Subject], None]) -> None:
    run_check(check, subject(name))


# -- a newcomer's first method ---------------------------------------------------------------------------


@dataclass(kw_only=True)
class Newcomer(Explainer):
    """Flip single pairs, at most `tries`, in an order that the instance's name gives."""

    tries: int = hyper(20, "T", space=Choice((10, 20)))
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True)

    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        pairs = int(graphs.pair_mask[i].sum())
        return torch.randperm(pairs, generator=torch_rng(seed, graphs.names[i], j)).tolist()

    def ask(self, oracle: CountingOracle, graph: GraphBatch, owner: int) -> Tensor:
        return oracle.predict(graph, torch.tensor([owner]))

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return [self.search(graphs, classes, oracle, i, j, k, seed) for i in range(len(graphs)) for j in range(k)]

    def search(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, i: int, j: int, k: int, seed: int
    ) -> Candidate:
        pairs = graphs.pair_mask[i].nonzero()
        for number in self.order(graphs, i, k, j, seed)[: self.tries]:
            if oracle.exhausted(i * k + j):
                return Candidate(None, "the budget was used up")
            u, v = pairs[number].tolist()
            asked = graphs.adjacency[i].clone()
            asked[u, v] = asked[v, u] = 1 - asked[u, v]
            if self.ask(oracle, graphs.candidates(asked[None], torch.tensor([i])), i * k + j) != classes[i]:
                return Candidate(asked)
        return Candidate(None, "no single edit that was tried is enough")


def test_a_simple_method_passes_as_a_class_and_as_an_instance() -> None:
    passed = check_explainer(Newcomer)
    assert len(passed) == len(CHECKS) == len(set(passed)) and not any("not checked" in line for line in passed)
    assert "budget is kept: With a budget nobody asks more" in "\n".join(passed)
    assert all("\n" not in line for line in passed)
    check_explainer(Newcomer(tries=5))


# -- methods that need a particular oracle ---------------------------------------------------------------


class FirstFeatures(Oracle):
    """Class 1 iff the first feature, summed over all edges' ends, is positive: there is no answer without features."""

    name = "first-features"

    def predict(self, graphs: GraphBatch) -> Tensor:
        assert graphs.features is not None, "no features"
        return ((graphs.adjacency.sum(2) * graphs.features[:, :, 0]).sum(1) > 0).long()


@dataclass(kw_only=True)
class ReadsFeatures(Newcomer):
    def _explain(self, graphs: GraphBatch, *arguments) -> list[Candidate]:
        if graphs.features is None:
            raise RSGGError("This method reads node features; give graphs that have some.")
        return super()._explain(graphs, *arguments)


def featured_problem() -> Problem:
    rng = np.random.default_rng(0)
    plain = contract.graphs_of_any_kind()
    graphs = GraphBatch.of([Graph(graph.adjacency, rng.normal(size=(8, 2)), graph.name) for graph in plain])
    return Problem("featured", Dataset("featured", graphs, FirstFeatures().predict(graphs)), FirstFeatures())


def test_a_method_that_needs_features_is_checked_on_graphs_that_have_some() -> None:
    with pytest.raises(ContractViolation, match="This method reads node features"):
        check_explainer(ReadsFeatures)
    passed = check_explainer(ReadsFeatures, featured_problem())
    assert len(passed) == len(CHECKS)
    assert any(line.startswith("other oracles work: not checked") for line in passed)
    with pytest.raises(ContractViolation, match="keeps class"):
        check_explainer(ReturnsAnything, featured_problem())


def test_an_oracle_that_can_answer_about_small_graphs_is_enough() -> None:
    assert len(check_explainer(TwoSided, contract.TriangleOracle())) == len(CHECKS)
    with pytest.raises(ContractViolation, match="only cycles can be explained"):
        check_explainer(KnowsOneOracle, contract.TriangleOracle())


@needs_asd
def test_a_task_can_be_given_and_graphs_whose_nodes_mean_something_are_not_renumbered() -> None:
    passed = check_explainer(TwoSided, Task("asd", ASD(), ASDOracle()))
    assert any("not checked, for this oracle the class of a graph depends on how" in line for line in passed)


@pytest.mark.parametrize(
    ("oracle", "sentence"),
    [
        (ASDOracle(), r"small graphs of the check \(The oracle 'asd' knows 116 .*check_explainer\(explainer, task\)"),
        (FirstFeatures(), "no features"),
        (
            Problem(
                "two", Dataset.of("two", list(contract.graphs_of_any_kind()[:2]), [0, 1]), contract.TriangleOracle()
            ),
            "too few",
        ),
    ],
)
def test_an_oracle_without_suitable_graphs_is_refused(oracle: Oracle | Problem, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        check_explainer(TwoSided, oracle)


def test_what_is_no_explainer_is_refused() -> None:
    with pytest.raises(ContractViolation, match="int is no explainer"):
        check_explainer(3)  # type: ignore[arg-type]
    with pytest.raises(ContractViolation, match="Graph is no explainer"):
        check_explainer(Graph)  # type: ignore[arg-type]


# -- one broken method per promise -----------------------------------------------------------------------


@dataclass(kw_only=True)
class WorksInItsConstructor(Newcomer):
    def __post_init__(self) -> None:
        self.cache = {}  # type: ignore[var-annotated]


@dataclass(kw_only=True)
class ChangesWhatItIsGiven(Newcomer):
    def __post_init__(self) -> None:
        self.tries = self.tries + 1000


@dataclass(kw_only=True)
class HidesAHyperparameter(Newcomer):
    depth: int = 3


@dataclass(kw_only=True)
class HasAnObjectForAHyperparameter(Newcomer):
    device_index: object = hyper(torch.device("cpu"), "D")


@dataclass(kw_only=True)
class HasNothingToSearch(Newcomer):
    width: int = hyper(3, "w", space=Choice(()))


@dataclass(kw_only=True)
class ExplainsUnfitted(Newcomer):
    fitted_: ClassVar[bool] = True
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, learns=True)


@dataclass(kw_only=True)
class WantsToBeFitted(Newcomer):
    def _explain(self, *arguments) -> list[Candidate]:
        raise NotFittedError("call fit first")


@dataclass(kw_only=True)
class NamesItsStateWrongly(Newcomer):
    def _fit(self, *arguments) -> None:
        self.weights = 1


@dataclass(kw_only=True)
class FitsNothing(Newcomer):
    def fit(self, *arguments, **options) -> "FitsNothing":
        return super().fit(*arguments, **options) and None  # type: ignore[return-value]


@dataclass(kw_only=True)
class AnswersBackwards(Newcomer):
    def explain(self, *arguments, **options) -> list[Counterfactual]:
        return super().explain(*arguments, **options)[::-1]


@dataclass(kw_only=True)
class MakesLoops(Newcomer):
    def search(self, *arguments) -> Candidate:
        found = super().search(*arguments)
        if found.adjacency is not None:
            found.adjacency[0, 0] = 1
        return found


@dataclass(kw_only=True)
class ForgetsADirection(Newcomer):
    def search(self, *arguments) -> Candidate:
        found = super().search(*arguments)
        return found if found.adjacency is None else Candidate(torch.triu(found.adjacency))


@dataclass(kw_only=True)
class ClaimsOnlyToRemove(Newcomer):
    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=True)


@dataclass(kw_only=True)
class ClaimsOnlyToAdd(Newcomer):
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=False)


@dataclass(kw_only=True)
class ReturnsAnything(Newcomer):
    def search(self, graphs: GraphBatch, *arguments) -> Candidate:
        return Candidate(torch.zeros_like(graphs.adjacency[0]))


@dataclass(kw_only=True)
class FailsSilently(Newcomer):
    def search(self, *arguments) -> Candidate:
        return Candidate(None)


@dataclass(kw_only=True)
class WritesIntoItsInput(Newcomer):
    def search(self, graphs: GraphBatch, *arguments) -> Candidate:
        graphs.adjacency[0] = 0
        return super().search(graphs, *arguments)


@dataclass(kw_only=True)
class AsksPastTheCounter(Newcomer):
    def ask(self, oracle: CountingOracle, graph: GraphBatch, owner: int) -> Tensor:
        return oracle.oracle.predict(graph)


@dataclass(kw_only=True)
class AsksForNobody(Newcomer):
    def ask(self, oracle: CountingOracle, graph: GraphBatch, owner: int) -> Tensor:
        return oracle.predict(graph)


@dataclass(kw_only=True)
class UsesTheGlobalState(Newcomer):
    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        return torch.randperm(int(graphs.pair_mask[i].sum())).tolist()


@dataclass(kw_only=True)
class FitsWithTheGlobalState(Newcomer):
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, learns=True)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        self.learned_ = int(np.random.randint(10**9))

    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        return super().order(graphs, i, k, j, self.learned_)


@dataclass(kw_only=True)
class ClaimsToBeDeterministic(Newcomer):
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, deterministic=True)


@dataclass(kw_only=True)
class SeedsByPosition(Newcomer):
    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        return torch.randperm(int(graphs.pair_mask[i].sum()), generator=torch_rng(seed, i, j)).tolist()


@dataclass(kw_only=True)
class SeedsByNumberOfCandidates(Newcomer):
    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        return super().order(graphs, i, k, j, seed + k)


@dataclass(kw_only=True)
class IgnoresTheBudget(Newcomer):
    def ask(self, oracle: CountingOracle, graph: GraphBatch, owner: int) -> Tensor:
        oracle._charge(owner, 5)
        return oracle.oracle.predict(graph)


@dataclass(kw_only=True)
class StumblesOverTheBudget(Newcomer):
    def search(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, *arguments) -> Candidate:
        oracle.exhausted = lambda owner: False  # type: ignore[method-assign]
        return super().search(graphs, classes, oracle, *arguments)


@dataclass(kw_only=True)
class ForgetsTheTime(Newcomer):
    """Counts its calls by itself and asks about nothing else."""

    def search(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, *arguments) -> Candidate:
        budget = oracle.budget
        oracle.exhausted = lambda owner: budget is not None and oracle.calls_of(owner) >= budget  # type: ignore
        return super().search(graphs, classes, oracle, *arguments)


@dataclass(kw_only=True)
class SeesPadding(Newcomer):
    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        return super().order(graphs, i, k, j, seed + graphs.n_nodes)


@dataclass(kw_only=True)
class EditsPadding(Newcomer):
    """Right in what it returns, since padding is cut off; but the oracle is asked about nodes that do not exist."""

    def ask(self, oracle: CountingOracle, graph: GraphBatch, owner: int) -> Tensor:
        adjacency = graph.adjacency.clone()
        n = int(graph.sizes[0])
        adjacency[0, 0, n : n + 1] = adjacency[0, n : n + 1, 0] = 1  # a leaf: no cycle comes or goes
        return super().ask(oracle, graph.candidates(adjacency, torch.tensor([0])), owner)


@dataclass(kw_only=True)
class StumblesOverSizes(Newcomer):
    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        return list(range(27, -1, -1))  # the pairs of eight nodes


@dataclass(kw_only=True)
class ReadsNodeNumbers(RandomEdits):
    """Deterministic, and far from the same for another numbering: edges go and come in the order of their nodes."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, deterministic=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        candidates = []
        for i, adjacency in enumerate(graphs.adjacency):
            pairs = graphs.pair_mask[i] & (adjacency == classes[i])
            rank = torch.full(adjacency.shape, 99, dtype=torch.int32)
            rank[pairs] = torch.arange(int(pairs.sum()), dtype=torch.int32)
            rank = torch.minimum(rank, rank.T)
            asked = torch.cat([with_edits(adjacency[None], rank[None], torch.tensor([p])) for p in range(1, 29)])
            owner = torch.full((28,), i * k)
            first = oracle.first_flip(graphs.candidates(asked, owner // k), owner, classes[owner // k])
            found = Candidate(asked[first][0]) if first.any() else Candidate(None, "no flip")
            candidates += [found] + [Candidate(None, "only one")] * (k - 1)
        return candidates


@dataclass(kw_only=True)
class WorksOnlyInOneNumbering(Newcomer):
    def search(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, i: int, *arguments) -> Candidate:
        if torch.equal(graphs.adjacency[i, :8, :8], contract.graphs_to_explain().adjacency[i % 8]):
            return super().search(graphs, classes, oracle, i, *arguments)
        return Candidate(None, "unknown numbering")


@dataclass(kw_only=True)
class ForgetsItsState(Newcomer):
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, learns=True)

    def _fit(self, *arguments) -> None:
        self.learned_ = 7

    def order(self, graphs: GraphBatch, i: int, k: int, j: int, seed: int) -> list[int]:
        return super().order(graphs, i, k, j, getattr(self, "learned_", 0))


@dataclass(kw_only=True)
class HidesABrokenOracle(Newcomer):
    def explain(self, graphs: GraphBatch, oracle: Oracle, **options) -> list[Counterfactual]:  # type: ignore[override]
        try:
            return super().explain(graphs, oracle, **options)
        except RSGGError:
            return []


@dataclass(kw_only=True)
class TurnsABrokenOracleIntoSomethingElse(Newcomer):
    def ask(self, oracle: CountingOracle, graph: GraphBatch, owner: int) -> Tensor:
        try:
            oracle.relaxed_graphs(graph, graph.adjacency.float(), torch.tensor([owner]))
        except RSGGError as error:
            raise KeyError("answer") from error
        return super().ask(oracle, graph, owner)


@dataclass(kw_only=True)
class KnowsOneOracle(Newcomer):
    def _explain(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, *arguments) -> list[Candidate]:
        if oracle.name != "tree-cycles":
            raise RSGGError("only cycles can be explained")
        return super()._explain(graphs, classes, oracle, *arguments)


@dataclass(kw_only=True)
class ThinksInCycles(Newcomer):
    """Believes that a graph of another oracle's class 1 can be changed by cutting anything."""

    def search(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, i: int, *arguments) -> Candidate:
        if oracle.name == "tree-cycles":
            return super().search(graphs, classes, oracle, i, *arguments)
        return Candidate(torch.zeros_like(graphs.adjacency[i]))


@pytest.mark.parametrize(
    ("broken", "check", "sentence"),
    [
        (WorksInItsConstructor, contract.constructor_only_stores, r"makes \['cache'\]"),
        (ChangesWhatItIsGiven, contract.constructor_only_stores, r"changes \['tries'\]"),
        (HidesAHyperparameter, contract.hyperparameters_are_declared, "depth is not declared with hyper"),
        (HasAnObjectForAHyperparameter, contract.hyperparameters_are_declared, "not plain values"),
        (HasNothingToSearch, contract.hyperparameters_are_declared, "width is empty"),
        (ExplainsUnfitted, contract.explain_needs_fit, "explains before it was fitted"),
        (WantsToBeFitted, contract.explain_needs_fit, "does not declare that it learns"),
        (NamesItsStateWrongly, contract.tiny_is_quick, r"keeps \['weights'\] after fit"),
        (FitsNothing, contract.tiny_is_quick, "raised AttributeError"),
        (AnswersBackwards, contract.results_are_in_order, "numbers its results"),
        (MakesLoops, contract.returned_graphs_are_valid, "not a simple graph"),
        (ForgetsADirection, contract.returned_graphs_are_valid, "not symmetric"),
        (ClaimsOnlyToRemove, contract.edits_are_as_declared, "declares adds=False"),
        (ClaimsOnlyToAdd, contract.edits_are_as_declared, "declares removes=False"),
        (ReturnsAnything, contract.results_change_the_class, "keeps class 0"),
        (FailsSilently, contract.results_change_the_class, "a failure without a reason"),
        (WritesIntoItsInput, contract.inputs_are_left_alone, "changes the graphs that it is given"),
        (AsksPastTheCounter, contract.calls_are_counted, "of which the counter knows"),
        (AsksForNobody, contract.calls_are_counted, "name the owner"),
        (UsesTheGlobalState, contract.same_seed_same_result, "explains differently with the same seed"),
        (FitsWithTheGlobalState, contract.same_seed_same_result, "after it was fitted again"),
        (ClaimsToBeDeterministic, contract.deterministic_if_declared, "depends on the seed"),
        (SeedsByPosition, contract.batch_does_not_matter, "seed by"),
        (SeedsByNumberOfCandidates, contract.first_of_several_is_the_one, "depends on k"),
        (IgnoresTheBudget, contract.budget_is_kept, "with a budget of"),
        (StumblesOverTheBudget, contract.budget_is_kept, "raised BudgetExhausted"),
        (ForgetsTheTime, contract.time_limit_is_kept, "raised BudgetExhausted .*time limit"),
        (SeesPadding, contract.sizes_may_differ, "padding"),
        (EditsPadding, contract.sizes_may_differ, "edges at nodes that are padding"),
        (StumblesOverSizes, contract.sizes_may_differ, "raised IndexError"),
        (ReadsNodeNumbers, contract.permutation_invariant_if_declared, "changes its GED"),
        (WorksOnlyInOneNumbering, contract.permutation_invariant_if_declared, "success rate"),
        (ForgetsItsState, contract.saved_is_loaded, "after it was saved and loaded"),
        (HidesABrokenOracle, contract.oracle_errors_are_told, "hides that the oracle is broken"),
        (TurnsABrokenOracleIntoSomethingElse, contract.oracle_errors_are_told, "into KeyError"),
        (KnowsOneOracle, contract.other_oracles_work, "refuses a black box of two classes"),
        (ThinksInCycles, contract.other_oracles_work, "keeps class"),
    ],
)
def test_broken_methods_are_caught(broken: type[Explainer], check: Callable[[Subject], None], sentence: str) -> None:
    with pytest.raises(ContractViolation, match=sentence):
        run_check(check, Subject(broken))


def test_check_explainer_runs_all_checks() -> None:
    for broken in (WorksInItsConstructor, ThinksInCycles):  # caught by the first and by the last
        with pytest.raises(ContractViolation, match=broken.__name__):
            check_explainer(broken)


def test_every_check_has_caught_somebody() -> None:
    caught = {case[1] for case in test_broken_methods_are_caught.pytestmark[0].args[1]}  # type: ignore[attr-defined]
    assert caught == set(CHECKS)


def test_a_slow_preset_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "MAX_SECONDS", 0.0)
    with pytest.raises(ContractViolation, match=r"make its tiny\(\) smaller"):
        run_check(contract.tiny_is_quick, Subject(TwoSided))
