"""What a user gives is checked where it enters: each wrong value is one sentence that says what to give instead."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines import cf2, clear, controls, gcountergan, meg, search
from rsgg.baselines.released import cf2 as released_cf2
from rsgg.baselines.released import clear as released_clear
from rsgg.baselines.released import gcountergan as released_gcountergan
from rsgg.baselines.released import meg as released_meg
from rsgg.compose import Minimised
from rsgg.counterfactual import BUDGET_USED_UP, TIME_USED_UP, Candidate
from rsgg.errors import FitError, GraphError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import Choice, hyper
from rsgg.oracles import CountingOracle, PyGOracle, TreeCyclesOracle
from rsgg.rsgg_ce import RSGGCE, LiteralRSGGCE, ReleasedRSGGCE
from rsgg.rsgg_ce.partial_order import ExistingThenMissing, Group, Within
from tests.graphs import tree, unicyclic

BUILT_IN = [
    RSGGCE, LiteralRSGGCE, ReleasedRSGGCE, cf2.CF2, clear.CLEAR, gcountergan.GCounteRGAN, meg.MEG, search.OBS,
    search.DDBS, search.DCE, search.IRand, controls.Empty, controls.RandomEdits, controls.TwoSidedMinimised,
    released_cf2.ReleasedCF2, released_clear.ReleasedCLEAR, released_gcountergan.ReleasedGCounteRGAN,
    released_meg.ReleasedMEG,
]  # fmt: skip


def graphs() -> list[nx.Graph]:
    return [tree(8, seed) if seed % 2 else unicyclic(8, 3, seed) for seed in range(12)]


WRONG: list[tuple[type[Explainer], dict[str, Any], str]] = [
    (RSGGCE, {"reading": "lettre"}, "RSGGCE cannot use reading = 'lettre'; give one of 'text', 'letter'."),
    (RSGGCE, {"generator": None}, "RSGGCE cannot use generator = None; give one of 'trained', 'untrained', 'uniform'."),
    (RSGGCE, {"sampler": ["bernoulli"]}, "give one of 'bernoulli', 'multinomial', 'released'."),
    (RSGGCE, {"samples": 1}, "RSGGCE cannot use samples = 1; give a whole number of at least 2."),
    (RSGGCE, {"epochs": 0}, "RSGGCE cannot use epochs = 0; give a whole number of at least 1."),
    (RSGGCE, {"epochs": -5}, "epochs = -5; give a whole number of at least 1."),
    (RSGGCE, {"epochs": "5"}, "epochs = '5'; give a whole number of at least 1."),
    (RSGGCE, {"epochs": 5.0}, "epochs = 5.0; give a whole number of at least 1."),
    (RSGGCE, {"epochs": True}, "epochs = True; give a whole number of at least 1."),
    (RSGGCE, {"generator_lr": -1e-3}, "generator_lr = -0.001; give a number above 0."),
    (RSGGCE, {"generator_lr": float("nan")}, "generator_lr = nan; give a number above 0."),
    (RSGGCE, {"generator_lr": 1e-3 + 0j}, "give a number above 0."),
    (RSGGCE, {"minimality": float("inf")}, "minimality = inf; give a number of at least 0."),
    (RSGGCE, {"identities": 1}, "identities = 1; give True or False."),
    (RSGGCE, {"order": "existing"}, "RSGGCE cannot use order = 'existing'; give a partial order such as Existing"),
    (RSGGCE, {"order": ExistingThenMissing}, "give a partial order such as ExistingThenMissing(), or"),
    (RSGGCE, {"device": "cdua"}, "RSGGCE cannot use device = 'cdua'; give 'cpu', or 'cuda' where torch finds a GPU."),
    (RSGGCE, {"device": "cuda:99"}, "RSGGCE cannot use device = 'cuda:99'; give 'cpu', or 'cuda' where"),
    (RSGGCE, {"device": 0}, "RSGGCE cannot use device = 0; give 'cpu', or"),
    (ReleasedRSGGCE, {"generator": "train"}, "ReleasedRSGGCE cannot use generator = 'train'; give one of"),
    (cf2.CF2, {"factual": 1.5}, "CF2 cannot use factual = 1.5; give a number of at least 0 and at most 1."),
    (clear.CLEAR, {"dropout": 1.0}, "CLEAR cannot use dropout = 1.0; give a number of at least 0 and below 1."),
    (clear.CLEAR, {"draws": 0}, "CLEAR cannot use draws = 0; give a whole number of at least 1."),
    (gcountergan.GCounteRGAN, {"batch_ratio": 0}, "batch_ratio = 0; give a number above 0 and at most 1."),
    (meg.MEG, {"reward": "soft"}, "MEG cannot use reward = 'soft'; give one of 'class', 'relaxed'."),
    (meg.MEG, {"interval": 0}, "MEG cannot use interval = 0; give a whole number of at least 1."),
    (search.OBS, {"forward_edits": 0}, "OBS cannot use forward_edits = 0; give a whole number of at least 1."),
    (search.IRand, {"tries": -1}, "IRand cannot use tries = -1; give a whole number of at least 1."),
]


@pytest.mark.parametrize(("explainer", "values", "sentence"), WRONG)
def test_a_wrong_value_is_one_sentence(explainer: type[Explainer], values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        explainer(**values)
    assert sentence in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("explainer", BUILT_IN)
def test_all_values_that_are_searched_or_printed_are_allowed(explainer: type[Explainer]) -> None:
    """A limit must not forbid what a search tries or what a paper used."""
    explainer.tiny()
    for name, space in explainer.search_space().items():
        for value in space.values if isinstance(space, Choice) else (space.low, space.high):
            explainer(**{name: value})
    for declared in fields(explainer):
        paper = declared.metadata.get("paper")
        if paper is not None:
            explainer(**{declared.name: paper})


@pytest.mark.parametrize("explainer", BUILT_IN)
def test_every_number_of_a_built_in_method_has_a_limit(explainer: type[Explainer]) -> None:
    """No built-in hyper-parameter makes sense for every number there is: -10⁹ is refused, and so is a string."""
    for declared in fields(explainer):
        if declared.type in ("int", "float"):
            for value in (-1_000_000_000, "1"):
                with pytest.raises(UsageError, match=f"cannot use {declared.name} = "):
                    explainer(**{declared.name: value})  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    made = RSGGCE(epochs=np.int64(3), generator_lr=np.float32(0.01), identities=np.bool_(True), minimality=0)  # type: ignore[arg-type]
    assert made.epochs == 3 and made.identities


def test_fit_checks_again_what_was_assigned_later() -> None:
    explainer = RSGGCE.tiny()
    explainer.samples = 1
    with pytest.raises(UsageError, match="cannot use samples = 1"):
        explainer.fit(graphs(), TreeCyclesOracle())
    inside = Minimised(base=RSGGCE.tiny())
    inside.base.epochs = 0  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="RSGGCE cannot use epochs = 0"):
        inside.fit(graphs(), TreeCyclesOracle())


@dataclass(kw_only=True)
class Stranger(Explainer):
    """A method that somebody else wrote: its limits are declared, its checks are not written."""

    steps: int = hyper(3, "s", at_least=1)
    share: float | None = hyper(None, "p", above=0, below=1)
    even: int = hyper(2, "e", check=lambda value: "" if value % 2 == 0 else "give an even number")
    plain: int = 7  # not declared with `hyper`: the annotation still holds

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return [Candidate(None, BUDGET_USED_UP)] * (len(graphs) * k)


def test_a_strangers_method_is_checked_too() -> None:
    Stranger(share=0.5, even=4)
    for values, sentence in (
        ({"steps": 0}, "Stranger cannot use steps = 0; give a whole number of at least 1."),
        ({"share": 1}, "Stranger cannot use share = 1; give a number above 0 and below 1."),
        ({"even": 3}, "Stranger cannot use even = 3; give an even number."),
        ({"plain": "7"}, "Stranger cannot use plain = '7'; give a whole number."),
        ({"steps": "x" * 10_000}, "Stranger cannot use steps = 'xxxxxxxxxxxx...xxxxxxxxxxxxx'; give"),
    ):
        with pytest.raises(UsageError, match=re.escape(sentence)):
            Stranger(**values)


def test_annotations_may_be_types() -> None:
    namespace: dict[str, Any] = {"Base": Stranger, "dataclass": dataclass, "hyper": hyper}
    exec(  # a module that does not postpone its annotations
        compile(
            "@dataclass(kw_only=True)\nclass Late(Base):\n    more: int = hyper(1, 'm', at_least=0)\n",
            "late",
            "exec",
            dont_inherit=True,
        ),
        namespace,
    )
    with pytest.raises(UsageError, match="Late cannot use more = -1; give a whole number of at least 0"):
        namespace["Late"](more=-1)


# -- fit and explain -------------------------------------------------------------------------------------


def test_k_and_seed_are_whole_numbers() -> None:
    for k in (2.0, 0, -1, "2", True, None):
        with pytest.raises(UsageError, match=r"^k = .* makes no sense; give a whole number, 1 or more\.$"):
            controls.Empty().explain(graphs(), TreeCyclesOracle(), k=k)  # type: ignore[arg-type]
    for seed in (1.5, "seven", None):
        with pytest.raises(UsageError, match=r"^seed = .* makes no sense; give a whole number\.$"):
            controls.Empty().explain(graphs(), TreeCyclesOracle(), seed=seed)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match=r"^seed = .* makes no sense; give a whole number\.$"):
            controls.Empty().fit(graphs(), TreeCyclesOracle(), seed=seed)  # type: ignore[arg-type]
    assert len(controls.Empty().explain(graphs(), TreeCyclesOracle(), k=np.int64(2))) == 24  # type: ignore[arg-type]


def test_what_is_no_oracle_is_said() -> None:
    for wrong, sentence in (
        (TreeCyclesOracle, "A class TreeCyclesOracle is not an oracle"),
        (len, "A builtin_func"),
    ):
        with pytest.raises(UsageError, match=sentence):
            controls.Empty().explain(graphs(), wrong)  # type: ignore[arg-type]


class NeverCalled(torch.nn.Module):
    """A network that fails the test when it is asked: the refusal has to come before the first question."""

    def forward(self, *arguments: Tensor) -> Tensor:
        raise AssertionError("asked")


@pytest.mark.parametrize("explainer", [cf2.CF2(), clear.CLEAR(), gcountergan.GCounteRGAN()])
def test_a_method_that_needs_a_relaxation_says_so_at_once(explainer: Explainer) -> None:
    oracle = PyGOracle(NeverCalled())
    expected = f"{type(explainer).__name__} needs a differentiable oracle, but {oracle.why_not_differentiable()}"
    for wrapped in (oracle, CountingOracle(oracle)):
        for tried in (explainer, Minimised(base=explainer)):
            name = type(tried).__name__
            with pytest.raises(FitError, match=re.escape(expected.replace(type(explainer).__name__, name, 1))):
                tried.fit(graphs(), wrapped)
    if not explainer.capabilities.learns:
        with pytest.raises(FitError, match=re.escape(expected)):
            explainer.explain(graphs(), oracle)


def test_methods_that_need_no_relaxation_take_a_black_box() -> None:
    assert meg.MEG()._needs_relaxation() is False and RSGGCE()._needs_relaxation() is False


def test_the_reason_tells_time_from_budget() -> None:
    slow = CountingOracle(TreeCyclesOracle(), seconds=1e-9)
    assert {r.reason for r in Stranger().explain(graphs(), slow)} == {TIME_USED_UP}
    few = CountingOracle(TreeCyclesOracle(), budget=1)
    assert {r.reason for r in Stranger().explain(graphs(), few)} == {BUDGET_USED_UP}
    none = CountingOracle(TreeCyclesOracle(), budget=0)
    assert {r.reason for r in Stranger().explain(graphs(), none)} == {"the budget does not allow a single oracle call"}


@pytest.mark.parametrize("explainer", BUILT_IN)
def test_a_time_limit_ends_every_method_without_an_error(explainer: type[Explainer]) -> None:
    """With next to no time a method asks about its inputs and then stops; without a limit it would ask on."""
    fitted = explainer.tiny().fit(graphs(), TreeCyclesOracle())
    counted = CountingOracle(TreeCyclesOracle(), seconds=1e-9)
    results = fitted.explain(graphs(), counted, k=2)
    assert len(results) == 24 and counted.calls == 12
    assert all(r.found or r.reason for r in results)


# -- partial orders --------------------------------------------------------------------------------------


def test_a_mask_of_allowed_pairs_is_square_and_boolean() -> None:
    square = torch.ones(8, 8, dtype=torch.bool)
    for mask, sentence in (
        (torch.ones(8, 8), "Within was given a tensor of torch.float32 as allowed pairs; give a torch tensor of boo"),
        (np.ones((8, 8), dtype=bool), "Within was given a ndarray as allowed pairs; give a torch tensor of booleans"),
        (square[:5], r"Within was given allowed pairs of shape \(5, 8\); give a square mask, \[N, N\]"),
        (square[None], r"Within was given allowed pairs of shape \(1, 8, 8\); give a square mask"),
    ):
        with pytest.raises(UsageError, match=sentence):
            Within(mask)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="Within cannot use order = 'existing'; give a partial order"):
        Within(square, "existing")  # type: ignore[arg-type]
    with pytest.raises(GraphError, match="allowed pairs of 5 nodes and these graphs have 8; give a mask for graphs of"):
        RSGGCE(generator="untrained", order=Within(square[:5, :5])).fit(graphs(), TreeCyclesOracle())


def test_what_a_partial_order_yields_is_checked() -> None:
    def both_triangles(batch: GraphBatch) -> Any:
        yield Group(batch.adjacency > 0, guarded=False)

    def floats(batch: GraphBatch) -> Any:
        yield Group(batch.adjacency.float(), guarded=False)

    def tensors(batch: GraphBatch) -> Any:
        yield batch.edge_mask

    fitted = RSGGCE(generator="untrained").fit(graphs(), TreeCyclesOracle())
    for order, sentence in (
        (both_triangles, "pairs \\(u, v\\) with u ≥ v or with nodes that a graph does not have; restrict them"),
        (floats, "yields pairs of torch.float32 and shape .* yield booleans of shape"),
        (tensors, "yields a Tensor; yield rsgg.Group objects"),
    ):
        explainer = copy.copy(fitted)
        explainer.order = order
        with pytest.raises(UsageError, match=sentence):
            explainer.explain(graphs(), TreeCyclesOracle())
