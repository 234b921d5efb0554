"""`fit` and `explain` as a user meets them: classes of results, wanted classes, other graphs, oracles that fail."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn

import rsgg
from rsgg.baselines.clear import CLEAR
from rsgg.baselines.controls import Complete, Empty, RandomEdits, TwoSided
from rsgg.baselines.search import DDBS, OBS, IRand
from rsgg.compose import Minimised
from rsgg.contract.explainer import EdgesModuloThree
from rsgg.counterfactual import Candidate, Counterfactual
from rsgg.errors import BudgetExhausted, FitError, GraphError, OracleError, OracleTimeout, RSGGError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import evaluate
from rsgg.oracles import CallableOracle, CountingOracle, Oracle, PyGOracle, TreeCyclesOracle
from rsgg.rsgg_ce import RSGGCE, TaughtRSGGCE
from tests.graphs import gnp_graphs, tree, unicyclic

GRAPHS = [tree(8, seed) if seed % 2 else unicyclic(8, 3, seed) for seed in range(12)]


def judged(results: list[Counterfactual], oracle: Oracle) -> tuple[list[int], list[int]]:
    """The classes of the inputs and of what was returned, asked for once more."""
    before = oracle.predict(GraphBatch.of([r.input for r in results]))
    return before.tolist(), oracle.predict(GraphBatch.of([r.returned for r in results])).tolist()


# -- classes of results --------------------------------------------------------------------------------------


@pytest.mark.parametrize("explainer", [Empty(), Complete(), TwoSided(), Minimised(base=Empty()), CLEAR.tiny()])
@pytest.mark.parametrize("oracle", [TreeCyclesOracle(), EdgesModuloThree()])
def test_found_means_that_the_oracle_said_so(explainer: Explainer, oracle: Oracle) -> None:
    if explainer.capabilities.learns:
        if oracle.why_not_differentiable():
            return
        explainer.fit(GRAPHS, oracle)
    results = explainer.explain(GRAPHS, oracle, k=2)
    before, after = judged(results, oracle)
    assert [r.before for r in results] == before
    for result, was, is_ in zip(results, before, after, strict=True):
        assert result.found == (was != is_)
        assert result.after == (is_ if result.offered else None)
        assert bool(result.reason) == (not result.found)


def test_what_clear_returned_without_asking_is_checked_and_charged_to_nobody() -> None:
    oracle, explainer = CountingOracle(TreeCyclesOracle()), CLEAR.tiny().fit(GRAPHS, TreeCyclesOracle())
    checked = explainer.explain(GRAPHS, oracle)
    asked = oracle.calls
    unchecked = explainer.explain(GRAPHS, oracle, check=False)
    assert oracle.calls == 2 * asked and sum(r.calls for r in checked) == asked
    assert [r.calls for r in checked] == [r.calls for r in unchecked]
    assert [r.offered for r in checked] == [r.offered for r in unchecked]
    assert any(r.offered and not r.found for r in checked), "else nothing was tested"
    assert not any(r.found for r in unchecked if r.offered), "nobody has said that these change the class"
    labels = torch.zeros(len(GRAPHS), dtype=torch.long)
    one, other = (evaluate(r, oracle, labels).drop(columns="seconds") for r in (checked, unchecked))
    assert one.equals(other) and one["found"].tolist() == [r.offered for r in checked], "what is stored stays the same"


@dataclass(kw_only=True)
class Guess(Explainer):
    """Returns the complete graph without asking."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=False, may_return_invalid=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        complete = 1 - torch.eye(graphs.n_nodes, dtype=torch.uint8)
        return [Candidate(complete, irreducible=True, certificate_calls=3)] * (len(graphs) * k)


class Moody(Oracle):
    """Changes its mind about everything with each batch, or breaks at the second one."""

    name = "moody"

    def __init__(self, breaks: bool = False) -> None:
        self.batches, self.breaks = 0, breaks

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.batches += 1
        if self.breaks and self.batches > 1:
            raise RuntimeError("the server is gone")
        return torch.full((len(graphs),), self.batches % 2)


def test_a_result_that_the_oracle_could_not_be_asked_about_has_a_reason() -> None:
    first, _ = Guess().explain(GRAPHS[:2], Moody(breaks=True))
    assert not first.found and first.offered and "the server is gone" in first.reason and first.after is None
    first, _ = Guess().explain(GRAPHS[:2], Moody())
    assert first.found and (first.before, first.after) == (1, 0)
    assert first.irreducible and first.certificate_calls == 3


def test_without_a_single_question_classes_are_not_known() -> None:
    (result,) = TwoSided().explain(GRAPHS[0], CountingOracle(TreeCyclesOracle(), 0))
    assert (result.before, result.after, result.found) == (None, None, False)


def test_results_speak_in_the_names_of_the_nodes() -> None:
    graph = nx.relabel_nodes(nx.cycle_graph(4), dict(enumerate("wxyz")))
    (result,) = Minimised(base=TwoSided()).explain(graph, TreeCyclesOracle())
    ((u, v),), ((a, b),) = result.removed, result.removed_by_name
    assert (a, b) == ("wxyz"[u], "wxyz"[v]) and result.added_by_name == []
    assert set(result.to_networkx()) == set("wxyz")
    (plain,) = Minimised(base=TwoSided()).explain(nx.cycle_graph(4), TreeCyclesOracle())
    assert plain.removed_by_name == plain.removed


# -- wanted classes --------------------------------------------------------------------------------------------


METHODS = [RandomEdits(), TwoSided(), OBS(), IRand(), Minimised(base=TwoSided()), Minimised(base=OBS())]


@pytest.mark.parametrize("explainer", METHODS, ids=lambda method: type(method).__name__)
@pytest.mark.parametrize("target", [0, 1, 2])
def test_a_wanted_class_is_reached(explainer: Explainer, target: int) -> None:
    graphs, oracle = gnp_graphs(18, sizes=(7, 9)), EdgesModuloThree()
    counted = CountingOracle(oracle)
    results = explainer.explain(graphs, counted, target=target, k=2)
    before, after = judged(results, oracle)
    for result, was, is_ in zip(results, before, after, strict=True):
        assert result.found == (was != target and is_ == target) and result.before == was
        if was == target:
            assert result.reason == f"the graph is of class {target} already"
            assert result.calls == (result.candidate == 0), "only the class of the input"
    assert np.mean([r.found for r, was in zip(results, before, strict=True) if was != target]) > 0.7
    assert sum(r.calls for r in results) == counted.calls
    anything = explainer.explain(graphs, oracle, k=2)
    assert any(r.after not in (None, target) for r in anything), "without a target other classes are found too"


def test_the_fewest_edits_towards_a_class_are_found() -> None:
    graphs = gnp_graphs(30, sizes=(6,))
    for target in (0, 1, 2):
        for result in Minimised(base=RandomEdits()).explain(graphs, EdgesModuloThree(), target=target):
            if result.found:
                assert result.before is not None and len(result.edits) <= 2
                assert (len(result.added) - len(result.removed)) % 3 == (target - result.before) % 3


def test_a_wanted_class_within_a_budget_and_after_an_error() -> None:
    counted = CountingOracle(EdgesModuloThree(), budget=2)
    results = TwoSided().explain(gnp_graphs(18, sizes=(7,)), counted, target=1)
    assert max(r.calls for r in results) == 2 and {r.after for r in results if r.found} == {1}
    assert not counted.exhausted(99) and counted.predict(GraphBatch.of(GRAPHS[:1])).shape == (1,)
    wanted = [r for r in results if not r.found and r.before != 1]
    assert wanted and all("budget" in r.reason for r in wanted)


@pytest.mark.parametrize(
    ("explainer", "target", "sentence"),
    [
        (TwoSided(), 2, "target = 2 makes no sense: the oracle 'tree-cycles' has 2 classes"),
        (TwoSided(), -1, "target = -1 makes no sense"),
        (TwoSided(), "1", "target = '1' makes no sense"),
        (TwoSided(), True, "target = True makes no sense"),
        (Empty(), 1, "Empty cannot be given a target"),
        (Minimised(base=Empty()), 1, "Minimised cannot be given a target"),
    ],
)
def test_a_target_that_makes_no_sense(explainer: Explainer, target: Any, sentence: str) -> None:
    with pytest.raises(UsageError, match=re.escape(sentence)):
        explainer.explain(GRAPHS, TreeCyclesOracle(), target=target)


# -- other graphs and oracles than it was fitted with --------------------------------------------------------


def with_features(width: int) -> list[Graph]:
    return [Graph(nx.to_numpy_array(graph), np.ones((8, width))) for graph in GRAPHS]


@pytest.mark.parametrize("wrap", [lambda base: base, lambda base: Minimised(base=base)])
def test_an_explainer_knows_what_it_was_fitted_on(wrap: Callable[[Explainer], Explainer], tmp_path: Path) -> None:
    fitted = wrap(RSGGCE.tiny()).fit(with_features(2), TreeCyclesOracle())
    loaded = type(fitted).load(fitted.save(tmp_path / "fitted"))
    three = CallableOracle(lambda data: data.num_edges % 3, 3)
    for explainer in (fitted, loaded):
        explainer.explain(with_features(2), TreeCyclesOracle())
        with pytest.raises(UsageError, match="fitted with an oracle of 2 classes, and 'function' has 3; fit it"):
            explainer.explain(with_features(2), three)
        with pytest.raises(GraphError, match="node features of width 2, and these have node features of width 3"):
            explainer.explain(with_features(3), TreeCyclesOracle())
        with pytest.raises(GraphError, match="node features of width 2, and these have no node features"):
            explainer.explain(GRAPHS, TreeCyclesOracle())


def test_a_class_that_the_oracle_does_not_have_is_said() -> None:
    class Lies(TreeCyclesOracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            return super().predict(graphs) + 1

    for ask in (DDBS.tiny().fit, TwoSided().explain):
        with pytest.raises(
            OracleError, match="answered class 2, but has 2 classes, numbered from 0; set its n_classes"
        ):
            ask(GRAPHS, Lies())


def test_the_way_to_a_relaxation_is_said_before_anything_is_computed() -> None:
    with pytest.raises(FitError, match=r"CLEAR needs a differentiable oracle.*edge_weights=True"):
        CLEAR(epochs=10**9).fit(GRAPHS, PyGOracle(nn.Identity(), 2))


# -- counting, charging, waiting -------------------------------------------------------------------------------


def test_a_method_charges_for_passes_of_its_own() -> None:
    counted = CountingOracle(TreeCyclesOracle(), budget=5)
    counted.charge(2, 4)
    counted.charge(2)
    counted.charge(0, 0)
    assert counted.calls == counted.calls_of(2) == 5 and counted.exhausted(2) and not counted.exhausted(0)
    assert counted.evaluated == 0
    with pytest.raises(BudgetExhausted, match="budget of 5"):
        counted.charge(2)
    assert counted.calls == 5
    for wrong in (-1, 1.5, True):
        with pytest.raises(OracleError, match="cannot be charged"):
            counted.charge(0, wrong)  # type: ignore[arg-type]


class Hangs(TreeCyclesOracle):
    """Answers some batches and then no more."""

    def __init__(self, batches: int) -> None:
        self.batches = batches

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.batches -= 1
        if self.batches < 0:
            time.sleep(30)
        return super().predict(graphs)


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_an_oracle_that_hangs_does_not_hang_the_run(batches: int) -> None:
    start = time.monotonic()
    results = RandomEdits().explain(GRAPHS, CountingOracle(Hangs(batches), patience=0.3))
    assert time.monotonic() - start < 10
    assert len(results) == len(GRAPHS)
    assert all("'tree-cycles' did not answer within 0.3 s" in r.reason or r.found for r in results)
    assert any(r.found for r in results) == (batches == 2), "what was found before is kept"
    with pytest.raises(OracleTimeout, match="did not answer within"):
        DDBS.tiny().fit(GRAPHS, CountingOracle(Hangs(0), patience=0.3))


class SlowAboutSome(TreeCyclesOracle):
    """Does not answer about graphs of four nodes, alone or in a batch."""

    def predict(self, graphs: GraphBatch) -> Tensor:
        if (graphs.sizes == 4).any():
            time.sleep(30)
        return super().predict(graphs)


def test_one_slow_graph_costs_the_others_nothing() -> None:
    slow = nx.path_graph(4)
    results = TwoSided().explain([slow, *GRAPHS], CountingOracle(SlowAboutSome(), patience=0.3))
    assert not results[0].found and "cannot read the input" in results[0].reason
    plain = TwoSided().explain(GRAPHS, TreeCyclesOracle())
    assert [r.instance for r in results] == list(range(len(GRAPHS) + 1))
    assert [r.edits for r in results[1:]] == [r.edits for r in plain] and all(r.found for r in results[1:])


class CannotRead(TreeCyclesOracle):
    """Fails on some inputs: those with an even number of edges."""

    def predict(self, graphs: GraphBatch) -> Tensor:
        if (graphs.n_edges % 2 == 0).any():
            raise ValueError("even")
        return super().predict(graphs)


def test_an_input_that_the_oracle_cannot_read_is_a_failure_of_its_own() -> None:
    """The others are explained as if it were not there."""
    odd = [graph for graph in GRAPHS if graph.number_of_edges() % 2]
    even = [graph for graph in GRAPHS if graph.number_of_edges() % 2 == 0]
    assert odd and even
    results = TwoSided().explain([even[0], *odd], CannotRead(), k=2)
    assert [(r.instance, r.candidate) for r in results] == [(i, j) for i in range(len(odd) + 1) for j in range(2)]
    assert all("cannot read the input" in r.reason and "even" in r.reason for r in results[:2])
    alone = TwoSided().explain(odd, CannotRead(), k=2)
    assert [(r.edits, r.calls, r.found) for r in results[2:]] == [(r.edits, r.calls, r.found) for r in alone]
    with pytest.raises(OracleError, match="even"):
        TwoSided().explain(even, CannotRead())


class ClassOutside(TreeCyclesOracle):
    """Answers a class that it does not have about every graph that is not among the inputs."""

    def __init__(self, inputs: GraphBatch, answer: int) -> None:
        self.known, self.answer = {bytes(a.numpy().tobytes()) for a in inputs.adjacency}, answer

    def predict(self, graphs: GraphBatch) -> Tensor:
        known = torch.tensor([bytes(a.numpy().tobytes()) in self.known for a in graphs.adjacency])
        return torch.where(known, super().predict(graphs), self.answer)


@pytest.mark.parametrize("answer", [-1, 99])
def test_a_class_outside_is_no_counterfactual(answer: int) -> None:
    batch = GraphBatch.of(GRAPHS)
    results = TwoSided().explain(batch, ClassOutside(batch, answer))
    assert not any(r.found for r in results)
    assert all(f"answered class {answer}" in r.reason for r in results)


def test_patience_changes_nothing_for_an_oracle_that_answers() -> None:
    patient, plain = CountingOracle(TreeCyclesOracle(), patience=60), CountingOracle(TreeCyclesOracle())
    for one, other in zip(OBS().explain(GRAPHS, patient), OBS().explain(GRAPHS, plain), strict=True):
        assert (one.edits, one.calls) == (other.edits, other.calls)
    soft = torch.rand(2, 5, 5, dtype=torch.float64).requires_grad_()
    assert patient.relaxed(soft).requires_grad
    with torch.no_grad():
        assert not patient.relaxed(soft).requires_grad
    broken = CountingOracle(Moody(breaks=True), patience=60)
    broken.check(GraphBatch.of(GRAPHS))
    with pytest.raises(OracleError, match="the server is gone"):
        broken.check(GraphBatch.of(GRAPHS))
    with pytest.raises(OracleError, match="patience is 0"):
        CountingOracle(TreeCyclesOracle(), patience=0)


# -- small things that users meet ------------------------------------------------------------------------------


def test_a_result_is_printed_in_short_and_constraints_may_be_a_list() -> None:
    from rsgg.constraints import OnlyRemovals

    assert TwoSided(constraints=[OnlyRemovals()]).constraints == (OnlyRemovals(),)  # type: ignore[arg-type]
    results = TwoSided(constraints=[OnlyRemovals()]).explain(GRAPHS[:2], TreeCyclesOracle())  # type: ignore[arg-type]
    found, failed = sorted(results, key=lambda result: not result.found)
    assert repr(found).startswith("Counterfactual(instance=") and "found=True, GED" in repr(found)
    assert "reason=" in repr(failed) and all(len(repr(result)) < 250 for result in results)


def test_a_model_stays_in_the_mode_that_it_was_given_in() -> None:
    class Model(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            assert not self.training, "it is asked in evaluation mode"
            return torch.nn.functional.one_hot(torch.bincount(batch) % 2, 2).float()

    model = Model().train()
    oracle = PyGOracle(model)
    oracle.predict(GraphBatch.of([Graph(np.zeros((3, 3)), np.ones((3, 1)))]))
    assert model.training


def test_training_graphs_that_the_oracle_cannot_read_are_left_out_with_a_warning() -> None:
    def function(data: Any) -> int:
        if data.num_nodes == 7:
            raise ValueError("seven")
        return int(data.num_edges // 2 > 6)

    graphs = [nx.gnp_random_graph(6 + i % 2, 0.2 + 0.02 * i, seed=i) for i in range(20)]
    with pytest.warns(UserWarning, match=r"could not read 10 of 20 training graphs.*seven"):
        fitted = TaughtRSGGCE.tiny().fit(graphs, CallableOracle(function))
    assert fitted.summary_["graphs"] == 10
    with pytest.raises(OracleError, match="seven"):
        TaughtRSGGCE.tiny().fit(graphs[1::2], CallableOracle(function))


def test_a_function_of_lists_that_is_given_one_graph_is_told_how_to_wrap() -> None:
    def function(many: list[Any]) -> list[int]:
        return [int(data.num_edges // 2 > 6) for data in many]

    graphs = [nx.gnp_random_graph(6, 0.3, seed=i) for i in range(3)]
    with pytest.raises(OracleError, match="lists=True"):
        rsgg.explain(function, graphs)
    assert all(one.found for one in rsgg.explain(CallableOracle(function, lists=True), graphs))


def test_a_method_that_returns_nothing_is_a_sentence() -> None:
    class Silent(Explainer):
        capabilities = Capabilities(adds=True, removes=True)

        def _explain(self, graphs: Any, classes: Any, oracle: Any, k: int, seed: int) -> Any:
            return None

    with pytest.raises(RSGGError, match="Silent returned None instead of a list of candidates"):
        Silent().explain([nx.path_graph(4)], TreeCyclesOracle())
