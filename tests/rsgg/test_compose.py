"""Explainers made of explainers: the best of several candidates, and a second method where the first found nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines.clear import CLEAR
from rsgg.baselines.controls import Complete, Empty, TwoSided
from rsgg.baselines.search import DCE, DDBS, OBS, IRand
from rsgg.compose import BestOf, Composed, FirstOf, Minimised
from rsgg.contract.explainer import EdgesModuloThree, training_graphs
from rsgg.counterfactual import Candidate
from rsgg.errors import DataError, NotFittedError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce import RSGGCE
from rsgg.saving import read_archive, write_archive
from tests.graphs import gnp_graphs, tree, unicyclic

GRAPHS = [tree(9, seed) if seed % 2 else unicyclic(9, 4, seed) for seed in range(10)]


# -- BestOf ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("base", [OBS(), IRand(), TwoSided()])
def test_the_best_is_the_smallest_of_the_minimal_candidates(base: Explainer) -> None:
    oracle, k = EdgesModuloThree(), 4
    graphs = gnp_graphs(12, seed=3)
    every = Minimised(base=base).explain(graphs, oracle, k=k)
    best = BestOf(base=base, k=k).explain(graphs, oracle)
    for i, result in enumerate(best):
        several = every[i * k : (i + 1) * k]
        sizes = [len(one.edits) for one in several if one.found]
        assert result.found == bool(sizes) and (not sizes or len(result.edits) == min(sizes))
        assert result.calls == sum(one.calls for one in several)


def test_further_results_are_of_further_candidates() -> None:
    one, two = (BestOf(base=OBS(), k=3).explain(GRAPHS, TreeCyclesOracle(), k=k) for k in (1, 2))
    assert [r.edits for r in one] == [r.edits for r in two[::2]] and [r.calls for r in one] == [
        r.calls for r in two[::2]
    ]


@pytest.mark.parametrize("budget", [1, 2, 5, 9, 30])
def test_candidates_share_the_budget_of_a_result(budget: int) -> None:
    counted = CountingOracle(TreeCyclesOracle(), budget)
    results = BestOf(base=OBS(), k=3).explain(GRAPHS, counted)
    assert max(one.calls for one in results) <= budget and counted.calls == sum(one.calls for one in results)
    assert all(one.found or "budget" in one.reason for one in results)
    if budget == 30:
        assert all(one.found for one in results)


def test_a_class_can_be_wanted_of_the_best() -> None:
    graphs, oracle = gnp_graphs(9, seed=5), EdgesModuloThree()
    results = BestOf(base=OBS(), k=2).explain(graphs, oracle, target=2)
    after = oracle.predict(GraphBatch.of([one.returned for one in results if one.found]))
    assert len(after) > 4 and set(after.tolist()) == {2}


# -- FirstOf ---------------------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class OnlyCycles(Explainer):
    """Explains cyclic graphs, by TwoSided, and gives up on trees after one more question."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        found = TwoSided()._explain(graphs, classes, oracle, k, seed)
        return [one if classes[i // k] else Candidate(None, "a tree") for i, one in enumerate(found)]


def test_the_second_is_asked_where_the_first_found_nothing() -> None:
    oracle = TreeCyclesOracle()
    first, second = OnlyCycles().explain(GRAPHS, oracle), OBS().explain(GRAPHS, oracle)
    both = FirstOf(first=OnlyCycles(), second=OBS()).explain(GRAPHS, oracle)
    for a, b, result in zip(first, second, both, strict=True):
        expected = a if a.found else b
        assert np.array_equal(result.returned.adjacency, expected.returned.adjacency)
        assert result.calls == (a.calls if a.found else a.calls + b.calls - 1), (
            "the class of the input is asked for once"
        )


def test_the_reason_is_that_of_the_second_and_the_budget_is_one() -> None:
    failing = FirstOf(first=OnlyCycles(), second=Empty())
    results = failing.explain(GRAPHS, TreeCyclesOracle())
    assert all("the method returned does not" in one.reason for one in results[1::2]) and all(
        one.found for one in results[::2]
    )
    for budget in (1, 2, 4, 8):
        counted = CountingOracle(TreeCyclesOracle(), budget)
        limited = FirstOf(first=OnlyCycles(), second=OBS()).explain(GRAPHS, counted, k=2)
        assert max(one.calls for one in limited) <= budget and counted.calls == sum(one.calls for one in limited)


def test_what_the_first_returns_unasked_is_asked_about() -> None:
    """The complete graph is a counterfactual of trees only."""
    results = FirstOf(first=Complete(), second=Empty()).explain(GRAPHS, TreeCyclesOracle())
    assert all(one.found for one in results)
    assert all(one.added for one in results[1::2]) and all(one.removed for one in results[::2])
    assert [one.calls for one in results] == [3, 2] * 5


def test_capabilities_are_those_of_both() -> None:
    both = FirstOf(first=DCE(), second=CLEAR.tiny()).capabilities
    assert both.learns and both.needs_relaxation and both.constraints and not both.may_return_invalid
    assert not both.targets and not both.permutation_invariant and not both.reads_labels
    assert FirstOf(first=TwoSided(), second=OBS()).capabilities.targets


# -- what composed explainers share ----------------------------------------------------------------------------------


MADE: list[Callable[[], Composed]] = [
    lambda: Minimised(base=DDBS()),
    lambda: BestOf(base=DCE(), k=2),
    lambda: FirstOf(first=DCE(), second=DDBS(questions=7)),
    lambda: FirstOf(first=TwoSided(), second=BestOf(base=RSGGCE.tiny(), k=2)),
]


@pytest.mark.parametrize("make", MADE)
def test_parts_are_fitted_saved_and_loaded_together(make: Callable[[], Composed], tmp_path: Path) -> None:
    explainer, oracle = make(), TreeCyclesOracle()
    for impossible in (lambda: explainer.explain(GRAPHS, oracle), lambda: explainer.save(tmp_path / "unfitted")):
        with pytest.raises(NotFittedError):
            impossible()
    before = explainer.fit(training_graphs(), oracle).explain(training_graphs()[:6], oracle)
    loaded = type(explainer).load(explainer.save(tmp_path / "m"))
    assert loaded.hyperparameters() == explainer.hyperparameters()
    assert [one.edits for one in loaded.explain(training_graphs()[:6], oracle)] == [one.edits for one in before]


def test_what_a_file_holds_is_said(tmp_path: Path) -> None:
    path = BestOf(base=OBS(), k=5).save(tmp_path / "m")
    loaded = BestOf.load(path)
    assert loaded.k == 5 and isinstance(loaded.base, OBS)
    for wrong in (FirstOf, Minimised):
        with pytest.raises(UsageError, match=f"holds a fitted BestOf, not a {wrong.__name__}"):
            wrong.load(path)
    header, arrays = read_archive(path)
    header["parts"]["base"] = "OBS"
    with pytest.raises(DataError, match="does not hold a saved explainer"):
        BestOf.load(write_archive(tmp_path / "damaged", header, arrays))
    assert isinstance(BestOf.load(OBS().save(tmp_path / "base")).base, OBS), "a base alone can be read"
    assert FirstOf(first=OBS(questions=4), second=OBS()).hyperparameters()["first.questions"] == 4


def test_parts_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(UsageError, match="FirstOf cannot use second = None; give an explainer"):
        FirstOf(first=OBS())
    with pytest.raises(UsageError, match="BestOf cannot use k = 0"):
        BestOf(base=OBS(), k=0)

    @dataclass(kw_only=True)
    class Reads(Empty):
        encoding: ClassVar[str | None] = "positions"

    with pytest.raises(UsageError, match="different node encodings"):
        FirstOf(first=Reads(), second=RSGGCE())
    assert FirstOf(first=Empty(), second=RSGGCE()).encoding == "structural"


# -- paying for others -----------------------------------------------------------------------------------------------


def test_owners_pay_for_those_who_ask_on_their_behalf() -> None:
    graphs = GraphBatch.of([nx.path_graph(3)] * 2)
    counted = CountingOracle(TreeCyclesOracle(), 7)
    counted.predict(graphs, torch.tensor([4, 4]))
    with counted.on_behalf_of([4, 4, 9]):
        assert [counted.left(i) for i in range(3)] == [2, 2, 7]
        counted.predict(graphs, torch.tensor([0, 0]))
        assert counted.exhausted(0) and not counted.exhausted(1)
        with counted.on_behalf_of([2, 1, 2]):
            assert [counted.left(i) for i in range(3)] == [3, 2, 3]
            counted.predict(graphs, torch.tensor([0, 2]))
        assert counted.calls_of(2) == 2
    assert (counted.calls_of(4), counted.calls_of(9), counted.calls) == (4, 2, 6)
    unlimited = CountingOracle(TreeCyclesOracle())
    with unlimited.on_behalf_of([0, 0]):
        assert not unlimited.limited and unlimited.left(1) == float("inf")
