"""Who asks, who pays, who is refused and who waits: `CountingOracle` on three graphs whose answers are written down."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError, OracleTimeout, UnknownClass
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, Oracle
from rsgg.oracles.counting import MOST_TIMEOUTS, Request

PATHS = GraphBatch.of([nx.path_graph(n) for n in (2, 3, 4)])


class BySize(Oracle):
    """The class that is written down for the number of nodes; an error is raised."""

    name = "by size"

    def __init__(self, answers: dict[int, int | Exception] | None = None) -> None:
        self.answers = {2: 0, 3: 1, 4: 1, **(answers or {})}
        self.asked: list[list[int]] = []

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.asked.append(graphs.sizes.tolist())
        given = [self.answers[size] for size in self.asked[-1]]
        for answer in given:
            if isinstance(answer, Exception):
                raise answer
        return torch.tensor(given)


def late() -> OracleTimeout:
    return OracleTimeout("too late")


class Allows:
    """Stands for constraints: graphs of these sizes only. Notes for which inputs it was asked."""

    constraints = ()

    def __init__(self, *allowed: bool) -> None:
        self.allowed, self.inputs = torch.tensor(allowed), torch.tensor(())

    def allow_graphs(self, graphs: GraphBatch, inputs: Tensor) -> Tensor:
        self.inputs = inputs
        return self.allowed

    def allow_lists(self, lists: list[Any], inputs: Tensor) -> Tensor:
        assert [len(codes) for codes in lists] == [1, 2, 3], "the edges of the paths"
        self.inputs = inputs
        return ~self.allowed


def owners(*numbers: int) -> Tensor:
    return torch.tensor(numbers)


# -- what is looked for ------------------------------------------------------------------------------------


def test_an_owner_is_a_candidate_of_its_input() -> None:
    request = Request(owners(0, 1, 0), k=2, target=1)
    assert [request.is_there(owner) for owner in range(6)] == [False, False, True, True, False, False]
    oracle = CountingOracle(BySize())
    with oracle.explaining(owners(0, 1, 0), 2, target=1):
        assert [oracle.left(owner) == 0 for owner in range(6)] == [False, False, True, True, False, False]
    assert request.unchanged(owners(0, 1, 2, 3, 4, 5)).tolist() == [0, 0, 1, 1, 0, 0]


def test_constraints_are_asked_about_the_inputs_of_the_owners() -> None:
    some: Any = Allows(True, False, True)
    request = Request(owners(0, 1, 0), k=2, feasible=some)
    allowed = request.allows(PATHS, owners(1, 3, 5))
    assert allowed is not None and allowed.tolist() == [True, False, True] and some.inputs.tolist() == [0, 1, 2]
    allowed = request.allows(EdgeBatch.of(PATHS), owners(0, 2, 5))
    assert allowed is not None and allowed.tolist() == [False, True, False] and some.inputs.tolist() == [0, 1, 2]
    every: Any = Allows(True, True, True)
    assert Request(owners(0, 1, 0), k=1, feasible=every).allows(PATHS, owners(0, 1, 2)) is None
    assert Request(owners(0, 1, 0), k=1).allows(PATHS, owners(0, 1, 2)) is None


def test_what_is_refused_is_not_asked_and_costs_nothing() -> None:
    some: Any = Allows(False, True, True)
    oracle = CountingOracle(BySize())
    with oracle.explaining(owners(0, 0, 0), 1, feasible=some):
        assert oracle.predict(PATHS, owners(0, 1, 2)).tolist() == [0, 1, 1]
    assert [oracle.calls_of(i) for i in range(3)] == [0, 1, 1] and oracle.oracle.asked == [[3, 4]]  # type: ignore[attr-defined]
    said = "not all graphs that were tried are allowed by the constraints"
    assert [oracle.trouble_of(i) for i in range(3)] == [said, "", ""]
    oracle.forget_owners()
    assert oracle.trouble_of(0) == ""


def test_the_first_flip_is_one_that_is_allowed() -> None:
    """Owner 1 asks about three graphs: its second flips, but only the third is allowed."""
    for allowed, flips in (((True, False, True), [False, False, True]), ((False, False, False), [False] * 3)):
        some: Any = Allows(*allowed)
        oracle = CountingOracle(BySize())
        with oracle.explaining(owners(0, 0), 1, feasible=some):
            assert oracle.first_flip(PATHS, owners(1, 1, 1), owners(0, 0, 0)).tolist() == flips
        assert oracle.calls_of(1) == sum(allowed)
        assert oracle.trouble_of(1) and not oracle.trouble_of(0)


def test_the_first_flip_of_each_owner_whatever_its_number() -> None:
    oracle = CountingOracle(BySize({2: 1}))
    assert oracle.first_flip(PATHS, owners(1, 1, 2), owners(0, 0, 0)).tolist() == [True, False, True]
    assert (oracle.calls_of(1), oracle.calls_of(2)) == (1, 1)


# -- paying ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("calls", [True, -1, 1.0, "2"])
def test_only_whole_numbers_of_calls_are_charged(calls: Any) -> None:
    oracle = CountingOracle(BySize())
    with pytest.raises(OracleError, match="cannot be charged; give a whole number, zero or more"):
        oracle.charge(0, calls)
    oracle.charge(0, 0)
    oracle.charge(1, 3)
    assert (oracle.calls_of(0), oracle.calls_of(1), oracle.calls) == (0, 3, 3)


# -- answers that are none ---------------------------------------------------------------------------------


@pytest.mark.parametrize("wrong", [-1, 2, 3])
def test_a_class_that_there_is_not_is_an_error_beside_classes_that_there_are(wrong: int) -> None:
    with pytest.raises(UnknownClass, match=f"answered class {wrong}, but has 2 classes"):
        CountingOracle(BySize({3: wrong})).predict(PATHS)


def test_a_graph_on_which_the_oracle_fails_is_unchanged_and_costs_its_own_instance_only() -> None:
    oracle = CountingOracle(BySize({3: ValueError("cannot read it")}))
    with oracle.explaining(owners(0, 0, 0), 1):
        assert oracle.predict(PATHS, owners(0, 1, 2)).tolist() == [0, 0, 1]
    assert "cannot read it" in oracle.trouble_of(1) and oracle.n_troubled == 1
    assert oracle.trouble_of(0) == oracle.trouble_of(2) == "" and oracle.left(1) > 0
    oracle.forget_owners()
    assert oracle.trouble_of(1) == "" and oracle.n_troubled == 0


def test_after_some_timeouts_in_a_row_the_oracle_is_given_up() -> None:
    oracle = CountingOracle(BySize({4: late()}))
    slow = PATHS.select(torch.tensor([2]))
    with oracle.explaining(torch.zeros(5, dtype=torch.long), 1):
        for owner in range(MOST_TIMEOUTS - 1):
            oracle.predict(slow, owners(owner))
        assert oracle.left(0) == 0 and oracle.left(4) > 0 and not oracle.out_of_time(4)
        oracle.predict(slow, owners(3))
        assert oracle.left(4) == 0 and oracle.out_of_time(4) and oracle.trouble_of(4) == "too late"
        asked = len(oracle.oracle.asked)  # type: ignore[attr-defined]
        assert oracle.first_flip(PATHS, owners(4, 4, 4), owners(0, 0, 0)).tolist() == [False] * 3
        assert len(oracle.oracle.asked) == asked, "nobody asks any more"  # type: ignore[attr-defined]


def test_graphs_are_asked_about_alone_until_too_many_in_a_row_take_too_long() -> None:
    sizes = [4, 4, 2, 4, 4, 2, 4, 4, 4, 2]
    oracle = CountingOracle(BySize({4: late()}))
    unanswered = oracle.unanswered(GraphBatch.of([nx.path_graph(n) for n in sizes]))
    assert sorted(unanswered) == [0, 1, 3, 4, 6, 7, 8, 9]
    assert oracle.oracle.asked == [[n] for n in sizes[:9]], "the last is not asked about"  # type: ignore[attr-defined]


# -- time --------------------------------------------------------------------------------------------------


def test_time_is_that_of_the_graph_for_which_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(CountingOracle, "_now", lambda self: clock.now)
    oracle = CountingOracle(BySize(), seconds=10)
    one = PATHS.select(torch.tensor([1]))
    clock.now = 9.0
    oracle.predict(one, owners(1))
    assert oracle.left(1) > 0
    clock.now = 10.0
    oracle.predict(one, owners(1))
    assert oracle.left(1) == 0 and oracle.out_of_time(1) and oracle.left(0) > 0
    oracle.forget_owners(k=2)
    clock.now = 30.0
    oracle.predict(one, owners(2))
    assert [oracle.out_of_time(i) for i in range(6)] == [False, False, True, True, False, False]


def test_patience_passes_answers_and_errors_on_and_holds_up_no_exit() -> None:
    class Threads(BySize):
        def predict(self, graphs: GraphBatch) -> Tensor:
            assert threading.current_thread().daemon, "Python would wait for this thread before it ends"
            return super().predict(graphs)

    assert CountingOracle(Threads(), patience=30).predict(PATHS).tolist() == [0, 1, 1]
    with pytest.raises(OracleError, match="cannot read it"):
        CountingOracle(Threads({3: ValueError("cannot read it")}), patience=30).predict(PATHS)
