"""Each graph scored is a call that somebody pays, within limits: `CountingOracle` against runs one by one."""

import time
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from rsgg.data import TreeCycles
from rsgg.errors import BudgetExhausted, OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, Oracle


class Scripted(Oracle):
    """Answers 1 where the first pair is an edge: the script of a test is written into the graphs."""

    name = "scripted"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return graphs.adjacency[:, 0, 1].long()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return torch.zeros(len(adjacency), 2)


def script(flips: list[bool]) -> GraphBatch:
    adjacency = torch.zeros(len(flips), 2, 2, dtype=torch.uint8)
    adjacency[:, 0, 1] = adjacency[:, 1, 0] = torch.tensor(flips, dtype=torch.uint8)
    return GraphBatch(adjacency, torch.full((len(flips),), 2))


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.booleans(), min_size=1, max_size=6), min_size=1, max_size=5),
    st.one_of(st.none(), st.integers(0, 7)),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
)
def test_first_flip_charges_what_a_sequential_run_would_ask(
    flips: list[list[bool]], budget: int | None, spent: list[int]
) -> None:
    counted = CountingOracle(Scripted(), budget)
    expected_calls, expected_first = [], []
    for i, mine in enumerate(flips):  # the sequential run: ask, stop at the first flip or at the end of the money
        calls = spent[i] if budget is None else min(spent[i], budget)
        counted.predict(script([False] * calls), torch.full((calls,), i))
        first = [False] * len(mine)
        for position, flip in enumerate(mine):
            if budget is not None and calls >= budget:
                break
            calls += 1
            if flip:
                first[position] = True
                break
        expected_calls.append(calls)
        expected_first += first
    owner = torch.repeat_interleave(torch.arange(len(flips)), torch.tensor([len(mine) for mine in flips]))
    everything = [flip for mine in flips for flip in mine]
    found = counted.first_flip(script(everything), owner, torch.zeros(len(everything), dtype=torch.long))
    assert found.tolist() == expected_first
    assert [counted.calls_of(i) for i in range(len(flips))] == expected_calls
    assert counted.calls == sum(expected_calls) <= counted.evaluated
    for i, calls in enumerate(expected_calls):
        assert counted.exhausted(i) == (budget is not None and calls >= budget)


def test_every_graph_scored_is_a_call_of_its_owner() -> None:
    counted = CountingOracle(Scripted())
    assert counted.predict(script([True, False, True])).tolist() == [1, 0, 1]
    counted.predict(script([True] * 4), torch.tensor([2, 0, 2, 2]))
    counted.relaxed(torch.zeros(5, 2, 2), None, torch.tensor([0, 0, 0, 1, 1]))
    counted.relaxed(torch.zeros(7, 2, 2))
    assert (counted.calls, counted.evaluated) == (19, 19)
    assert [counted.calls_of(i) for i in range(4)] == [4, 2, 3, 0]
    counted.forget_owners()
    assert counted.calls == 19 and counted.calls_of(0) == 0


@pytest.mark.parametrize("ask", ["predict", "relaxed"])
def test_beyond_the_budget_nothing_is_answered_and_nothing_charged(ask: str) -> None:
    counted = CountingOracle(Scripted(), 2)

    def question(owner: list[int]) -> None:
        graphs = script([False] * len(owner))
        if ask == "predict":
            counted.predict(graphs, torch.tensor(owner))
        else:
            counted.relaxed(graphs.adjacency.float(), None, torch.tensor(owner))

    question([0, 1, 1])
    with pytest.raises(BudgetExhausted, match="budget of 2 oracle calls"):
        question([0, 1])
    assert [counted.calls_of(i) for i in (0, 1)] == [1, 2] and counted.evaluated == 3
    question([0, 2])
    assert counted.exhausted(0) and not counted.exhausted(2)


class HandClock(CountingOracle):
    """A counting oracle whose clock the test moves by hand."""

    time = 100.0

    def _now(self) -> float:
        return self.time


@pytest.mark.parametrize("ask", ["predict", "relaxed", "first_flip"])
def test_the_time_of_a_batch_of_questions_is_shared_by_them(ask: str) -> None:
    counted = HandClock(Scripted(), seconds=2.0)
    graphs, owner, classes = script([False, True]), torch.tensor([0, 1]), torch.zeros(2, dtype=torch.long)
    questions = {
        "predict": lambda: counted.predict(graphs, owner),
        "relaxed": lambda: counted.relaxed(graphs.adjacency.float(), None, owner),
        "first_flip": lambda: counted.first_flip(graphs, owner, classes),
    }
    assert counted.limited and not CountingOracle(Scripted()).limited
    counted.forget_owners()
    counted.time += 3.9  # 1.95 seconds each
    questions[ask]()
    assert not counted.exhausted(0)
    counted.time += 0.2
    assert not counted.exhausted(0), "the clock is read after an answer: who just asked `exhausted` may ask"
    questions[ask]()
    assert counted.exhausted(0) and counted.exhausted(1) and not counted.exhausted(7), (
        "who did not ask has all its time"
    )
    calls, evaluated = counted.calls, counted.evaluated
    with pytest.raises(BudgetExhausted, match=r"time limit of 2\.0 s per graph is used up"):
        counted.predict(graphs, owner)
    assert not counted.first_flip(graphs, owner, classes).any()
    assert (counted.calls, counted.evaluated) == (calls, evaluated), "nothing is asked and nothing charged any more"
    counted.forget_owners()
    assert not counted.exhausted(0) and counted.first_flip(graphs, owner, classes).tolist() == [False, True]


def test_a_slow_graph_does_not_use_up_the_time_of_another() -> None:
    """Owners 0 and 1 are the candidates of graph 0, owners 2 and 3 those of graph 1."""
    counted = HandClock(Scripted(), seconds=2.0)
    counted.forget_owners(2)
    for _ in range(3):
        counted.time += 0.5
        counted.predict(script([False]), torch.tensor([0]))
    assert not counted.exhausted(0) and not counted.exhausted(1)
    counted.time += 1.0  # 0.5 seconds for each question
    counted.predict(script([False] * 2), torch.tensor([1, 2]))
    assert [counted.exhausted(i) for i in range(4)] == [True, True, False, False]
    assert [counted.out_of_time(i) for i in range(4)] == [True, True, False, False]
    flips = counted.first_flip(script([True] * 3), torch.tensor([0, 2, 3]), torch.zeros(3, dtype=torch.long))
    assert flips.tolist() == [False, True, True] and counted.calls_of(0) == 3
    with pytest.raises(BudgetExhausted, match="time limit"):
        counted.predict(script([True] * 2), torch.tensor([1, 2]))
    with counted.on_behalf_of([2, 0]):
        assert not counted.exhausted(0) and counted.exhausted(1)


def test_time_that_nobody_asked_in_is_nobodys() -> None:
    counted = HandClock(Scripted(), seconds=2.0)
    counted.forget_owners()
    counted.time += 9
    counted.predict(script([False]))
    for passed, used_up in ((1.9, False), (0.1, True)):
        counted.time += passed
        counted.predict(script([False]), torch.tensor([0]))
        assert counted.exhausted(0) == used_up


def test_real_time_passes() -> None:
    counted = CountingOracle(Scripted(), seconds=0.02)
    counted.forget_owners(1)
    time.sleep(0.03)
    counted.predict(script([True]), torch.tensor([0]))
    assert counted.exhausted(0)
    assert counted.prepared(TreeCycles(n_graphs=2).load()).seconds == 0.02


class Misbehaving(Oracle):
    name = "misbehaving"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def predict(self, graphs: GraphBatch) -> Tensor:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[return-value]

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return adjacency @ torch.zeros(99)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (ValueError("no GPU"), "'misbehaving' failed on a batch of 2 graphs: no GPU"),
        (OracleError("as it was said"), "^as it was said$"),
        (torch.zeros(3, dtype=torch.long), r"per graph \(2\); it returned shape \(3,\)"),
        (torch.zeros(2, 2, dtype=torch.long), r"it returned shape \(2, 2\)"),
        (torch.zeros(2), "it returned shape .*float32"),
        (torch.zeros(2, dtype=torch.bool), "it returned shape .*bool"),
        ([0, 1], "it returned list"),
        (None, "it returned NoneType"),
    ],
)
def test_oracles_that_misbehave_are_told_apart(answer: object, sentence: str) -> None:
    counted = CountingOracle(Misbehaving(answer))
    with pytest.raises(OracleError, match=sentence):
        counted.predict(script([True, False]))
    with pytest.raises(OracleError, match=sentence):
        counted.first_flip(script([True, False]), torch.tensor([0, 0]), torch.zeros(2))


def test_a_relaxation_that_fails_is_an_oracle_error() -> None:
    with pytest.raises(OracleError, match="relaxation of the oracle 'misbehaving' failed"):
        CountingOracle(Misbehaving(None)).relaxed(torch.zeros(2, 3, 3))


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: CountingOracle(Scripted(), -1), "budget is -1"),
        (lambda: CountingOracle(Scripted(), 1.5), "budget is 1.5"),  # type: ignore[arg-type]
        (lambda: CountingOracle(Scripted(), seconds=0), "time limit is 0; it must be more than zero"),
        (lambda: CountingOracle(Scripted(), seconds=float("nan")), "time limit is nan"),
        (lambda: CountingOracle(Scripted(), seconds=True), "time limit is True"),
        (lambda: CountingOracle(Scripted(), seconds="1"), "time limit is '1'"),  # type: ignore[arg-type]
        (lambda: CountingOracle(Scripted(), patience=-1), "patience is -1; it must be more than zero"),
    ],
)
def test_limits_that_make_no_sense_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(OracleError, match=sentence):
        make()
