"""The one place that counts how often an oracle is asked: one graph scored is one call.

`CountingOracle` wraps an oracle, limits calls and time, and knows for whom a question is asked (`Accounts`) and what is
looked for (`Request`). It also keeps what goes wrong at its place: an oracle that fails on a graph, takes too long or
writes into what it is shown costs the instance that it concerns, and no other.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from rsgg.constraints import Constraint, Feasible
from rsgg.edges import EdgeBatch
from rsgg.errors import BudgetExhausted, OracleError, OracleTimeout, UnknownClass, UsageError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Embeddings, Oracle, WrappedOracle, wrong_answers, wrong_probabilities
from rsgg.sparse import SparseBatch

if TYPE_CHECKING:
    from rsgg.data.dataset import Dataset

MOST_TIMEOUTS = 3  # questions about single graphs in a row that may go unanswered before the oracle is given up

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Request:
    """What is looked for while graphs are explained.

    `classes` are those of the inputs, int64 [B], with `k` owners each. `target` is the class that results must have,
    None for any other; `feasible` says which graphs are allowed, None for all.
    """

    classes: Tensor
    k: int
    target: int | None = None
    feasible: Feasible | None = None

    def is_there(self, owner: int) -> bool:
        """Is the input of this owner of the wanted class already?"""
        return self.target is not None and int(self.classes[owner // self.k]) == self.target

    def unchanged(self, owner: Tensor) -> Tensor:
        """The classes of the owners' inputs: the answer that stands for "no counterfactual"."""
        return self.classes[owner // self.k]

    def as_flips(self, answers: Tensor, owner: Tensor) -> Tensor:
        """The answers, in which every class but the wanted one is that of the owner's input: no change."""
        if self.target is None:
            return answers
        return torch.where(answers == self.target, answers, self.unchanged(owner).to(answers.device))

    def allows(self, graphs: GraphBatch | EdgeBatch, owner: Tensor) -> Tensor | None:
        """Which graphs the constraints allow, bool [R]; None where all are."""
        if self.feasible is None:
            return None
        if isinstance(graphs, EdgeBatch):
            allowed = self.feasible.allow_lists([graphs.codes(i) for i in range(len(graphs))], owner // self.k)
        else:
            allowed = self.feasible.allow_graphs(graphs, owner // self.k)
        return None if allowed.all() else allowed


@dataclass(eq=False)
class Accounts:
    """How often each owner has asked, and, inside a method that asks others, for whom and how often it may."""

    calls: dict[int, int] = field(default_factory=dict)
    payers: Sequence[int] | None = None  # for each owner the one that the user knows
    allowance: Sequence[float] = ()

    def payer(self, owner: int) -> int:
        return owner if self.payers is None else self.payers[owner]


class CountingOracle(WrappedOracle):
    """Counts the calls of an oracle: one graph scored is one call. Can limit calls and time.

    An *owner* is the row of the result that a question is asked for: owner i·k + j is candidate j of instance i. Calls
    are counted per owner where the asker names the owners.

    - `budget`: each owner gets that many answers.
    - `seconds`: a time limit for each explained graph, by wall clock. The time that passes until a batch of questions
      is answered, what the method did before included, is shared equally by these questions. A graph whose share
      reaches the limit is exhausted, with all its candidates, and the others go on. The clock is read after each
      answer, so a method that asks `exhausted` before each question is stopped without an error. A question that is
      under way is not interrupted by it.
    - `patience`: seconds to wait for one batch of questions. While graphs are explained, a batch that is not answered
      in time is asked about graph by graph: a graph that takes too long costs its own instance only. After three such
      graphs in a row the oracle hangs (a server that is gone): nobody may ask any more, and what was found before is
      kept. Elsewhere `OracleTimeout` is raised. Questions are asked in a thread of their own, which is left behind.

    A method that computes with the oracle's model in its own way, past this class, charges that with `charge`.

    While graphs are explained (`explaining`) it also knows what is looked for. About a graph that the constraints do
    not allow it does not ask, and answers that the class is unchanged; so it does about a graph on which the oracle
    fails. `constraints` are for methods that would rather not try such graphs at all. While a method learns it asks
    with `flips`, for which a graph on which the oracle fails is no flip either; `unscored` says why it failed, once for
    each such graph.

    An oracle is shown copies of the graphs unless it is known to leave them alone (`Oracle.reads_only`): what one
    writes into them reaches neither the data set nor a result.

    `evaluated` counts the graphs that were really computed. It can exceed `calls`: methods that stop at the first flip
    are evaluated in blocks, but charged only for what a run one by one would have asked (`first_flip`).
    """

    def __init__(
        self,
        oracle: Oracle,
        budget: int | None = None,
        seconds: float | None = None,
        *,
        patience: float | None = None,
    ) -> None:
        super().__init__(oracle)
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, int) or budget < 0):
            raise OracleError(f"The oracle budget is {budget!r}; it must be zero or more calls per instance.")
        if seconds is not None and not _is_positive(seconds):
            raise OracleError(f"The time limit is {seconds!r}; it must be more than zero seconds per graph.")
        if patience is not None and not _is_positive(patience):
            raise OracleError(
                f"The patience is {patience!r}; it must be more than zero seconds per batch of questions."
            )
        self.budget, self.seconds, self.patience = budget, seconds, patience
        self.calls = 0
        self.evaluated = 0
        self.constraints: tuple[Constraint, ...] = ()
        self.unscored: list[str] = []
        self._copies = not _reads_only(oracle)
        self._request: Request | None = None
        self._accounts = Accounts()
        self._failures: dict[int, str] = {}
        self._refused: set[int] = set()
        self._unanswered: set[int] = set()  # owners for whom a question took too long: they may ask no more
        self._timeouts = 0  # in a row
        self._hanging = ""  # what there is to say about an oracle that was given up
        self._k = 1  # owners of each graph
        self._spent: dict[int, float] = {}  # seconds of each graph
        self._last_read = self._now()

    @property
    def limited(self) -> bool:
        """Can an owner be exhausted at all? Without limits methods need not ask."""
        wanted = self._request is not None and self._request.target is not None
        return any(limit is not None for limit in (self.budget, self.seconds, self.patience)) or wanted

    def prepared(self, dataset: Dataset) -> CountingOracle:
        return CountingOracle(self.oracle.prepared(dataset), self.budget, self.seconds, patience=self.patience)

    def calls_of(self, owner: int) -> int:
        return self._accounts.calls.get(owner, 0)

    def forget_owners(self, k: int = 1) -> None:
        """Start a batch of graphs with `k` owners each: they are numbered anew, with all their time; totals go on."""
        self._accounts = Accounts()
        self._failures.clear()
        self._refused.clear()
        self._unanswered.clear()
        self._timeouts, self._hanging = 0, ""
        self._spent.clear()
        self._k, self._last_read = k, self._now()

    def exhausted(self, owner: int) -> bool:
        """Whether this owner has no question left: its budget or the time of its graph is used up, or its input has the
        wanted class already."""
        return self.left(owner) == 0

    def out_of_time(self, owner: int) -> bool:
        """Is the time of this owner's graph used up, or has the oracle been given up?"""
        return bool(self._hanging) or self._is_late(self._accounts.payer(owner))

    def _out_of_time_among(self, owner: Tensor) -> set[int]:
        if self.seconds is None and not self._hanging:
            return set()
        return {i for i in set(owner.tolist()) if self.out_of_time(i)}

    def _is_late(self, payer: int) -> bool:
        return self.seconds is not None and self._spent.get(payer // self._k, 0.0) >= self.seconds

    def left(self, owner: int) -> float:
        """How many questions this owner may still ask; infinite without a budget."""
        payer = self._accounts.payer(owner)
        if self._hanging or self._is_late(payer) or payer in self._unanswered:
            return 0
        if self._request is not None and self._request.is_there(payer):
            return 0
        if self._accounts.payers is not None:
            return self._accounts.allowance[owner] - self.calls_of(owner)
        return math.inf if self.budget is None else max(self.budget - self.calls_of(owner), 0)

    @property
    def n_troubled(self) -> int:
        """How many owners the oracle has not answered."""
        return len(self._failures)

    def trouble_of(self, owner: int) -> str:
        """What kept an owner from an answer, for the reason of a failure; empty where nothing did."""
        if owner in self._failures or self._hanging:
            return self._failures.get(owner, self._hanging)
        return "not all graphs that were tried are allowed by the constraints" if owner in self._refused else ""

    @contextmanager
    def explaining(
        self, classes: Tensor, k: int, target: int | None = None, feasible: Feasible | None = None
    ) -> Iterator[None]:
        """Within it only graphs that `feasible` allows, and of them only those of class `target`, are of another class.

        To questions that name their owner, every other answer is given as the class of the owner's input (`classes`,
        int64 [B], with k owners each). So a method that looks for another class finds the wanted one and need not know
        of it. Owners whose input is of that class already are exhausted.
        """
        before = self._request, self.constraints
        self._request = Request(classes, k, target, feasible)
        self.constraints = () if feasible is None else feasible.constraints
        try:
            yield
        finally:
            self._request, self.constraints = before

    @property
    def feasible(self) -> Feasible | None:
        """Which graphs the constraints allow while graphs are explained; None where all are allowed."""
        return None if self._request is None else self._request.feasible

    @contextmanager
    def without_constraints(self) -> Iterator[None]:
        """Within it every graph is asked about: for a method that knows no constraints, whose results are mended."""
        before = self._request, self.constraints
        self._request, self.constraints = self._request and replace(self._request, feasible=None), ()
        try:
            yield
        finally:
            self._request, self.constraints = before

    @contextmanager
    def on_behalf_of(self, payers: Sequence[int]) -> Iterator[None]:
        """Inside this block, questions of owner i are counted for owner `payers[i]` of the numbering outside.

        Owners with the same payer share equally what it may still ask. Methods that ask other methods use it, since
        these number their owners themselves.
        """
        outer, sharing = self._accounts, Counter(payers)
        allowance = [self.left(one) // sharing[one] if self.budget is not None else math.inf for one in payers]
        self._accounts = Accounts({}, [outer.payer(one) for one in payers], allowance)
        try:
            yield
        finally:
            for owner, calls in self._accounts.calls.items():
                outer.calls[payers[owner]] = outer.calls.get(payers[owner], 0) + calls
            self._accounts = outer

    def _payers(self, owner: Tensor) -> Tensor:
        if self._accounts.payers is None:
            return owner
        return torch.tensor([self._accounts.payers[i] for i in owner.tolist()], dtype=torch.long)

    # -- questions -------------------------------------------------------------------------------------

    def predict(self, graphs: GraphBatch | EdgeBatch, owner: Tensor | None = None) -> Tensor:
        """Classes of these graphs, int64 [B]; each is a call, charged to its owner. Beyond a limit: BudgetExhausted."""
        if owner is None or self._request is None:
            self._charge_all(len(graphs), owner)
            return self._answers(graphs, None if owner is None else self._payers(owner))
        payer = self._payers(owner)
        allowed = self._request.allows(graphs, payer)
        if allowed is None:
            self._charge_all(len(graphs), owner)
            return self._request.as_flips(self._answers_or_unchanged(graphs, payer), payer)
        answers = self._request.unchanged(payer).clone()
        self._refused.update(payer[~allowed].tolist())
        if allowed.any():
            self._charge_all(int(allowed.sum()), owner[allowed])
            asked = self._answers_or_unchanged(graphs.select(allowed), payer[allowed])
            answers[allowed] = self._request.as_flips(asked, payer[allowed]).to(answers)
        return answers

    def flips(self, graphs: GraphBatch | EdgeBatch, classes: Tensor | int) -> Tensor:
        """Has each of these graphs, made from graphs of `classes` while a method learns, another class? Bool [B].

        Each is a call. Where the oracle fails on a graph, nobody has said that its class is another one: no flip.
        """
        self.calls += len(graphs)
        unchanged = torch.as_tensor(classes).expand(len(graphs))
        answers = self._answers_or_unscored(graphs, unchanged)
        return answers != unchanged.to(answers.device)

    def _answers_or_unscored(self, graphs: GraphBatch | EdgeBatch, unchanged: Tensor) -> Tensor:
        """The answers; of graphs on which the oracle fails, found by halving the batch, what is `unchanged`."""
        try:
            return self._answers(graphs)
        except (UnknownClass, OracleTimeout):  # that concerns all graphs
            raise
        except OracleError as error:
            if len(graphs) == 1:
                self.unscored.append(str(error))
                return unchanged
        halves = torch.arange(len(graphs)).tensor_split(2)
        return torch.cat([self._answers_or_unscored(graphs.select(half), unchanged[half]).cpu() for half in halves])

    def check(self, graphs: GraphBatch) -> Tensor:
        """Classes of results, int64 [B], as they are, charged to nobody: judging costs no method a call."""
        return self._answers(graphs)

    def unanswered(self, graphs: GraphBatch) -> dict[int, str]:
        """The graphs that the oracle does not answer about, each asked about alone, and why; charged to nobody.

        After `MOST_TIMEOUTS` in a row that took too long the oracle hangs: none of the others is asked about.
        """
        unanswered: dict[int, str] = {}
        in_a_row = 0
        for i in range(len(graphs)):
            try:
                self._answers(graphs.select(torch.tensor([i])))
                in_a_row = 0
            except OracleError as error:
                unanswered[i] = str(error)
                in_a_row += isinstance(error, OracleTimeout)
                if in_a_row == MOST_TIMEOUTS:
                    return unanswered | dict.fromkeys(range(i + 1, len(graphs)), str(error))
        return unanswered

    def charge(self, owner: int, calls: int = 1) -> None:
        """Charge questions that an owner has asked past this class, e.g. gradient steps through the model itself.

        Ask `exhausted` first: beyond the budget `BudgetExhausted` is raised and nothing is charged.
        """
        if isinstance(calls, bool) or not isinstance(calls, int) or calls < 0:
            raise OracleError(f"{calls!r} calls cannot be charged; give a whole number, zero or more.")
        self._charge_all(calls, torch.full((calls,), owner, dtype=torch.long))

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        """As `predict`, for lists of edges; they are asked about in training, which has no owners."""
        self.calls += len(graphs)
        return self._answers(graphs)

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None, owner: Tensor | None = None) -> Tensor:
        """The oracle's relaxation; each soft graph scored is a call too, charged as in `predict`."""
        shown = self._shown(adjacency, features)
        return self._relaxed(len(adjacency), owner, lambda: self.oracle.relaxed(*shown))

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor, owner: Tensor | None = None) -> Tensor:
        """As `relaxed`, for soft versions of these graphs."""
        shown = self._shown(graphs, soft)
        return self._relaxed(len(graphs), owner, lambda: self.oracle.relaxed_graphs(*shown))

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor, owner: Tensor | None = None) -> Tensor:
        """As `relaxed`, for lists of edges."""
        shown = self._shown(graphs, weight)
        return self._relaxed(len(graphs), owner, lambda: self.oracle.relaxed_edges(*shown))

    def relaxed_messages(self, graphs: EdgeBatch, weight: Tensor, owner: Tensor | None = None) -> Tensor:
        """As `relaxed_edges`, with the other gradient."""
        shown = self._shown(graphs, weight)
        return self._relaxed(len(graphs), owner, lambda: self.oracle.relaxed_messages(*shown))

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None, owner: Tensor | None = None) -> Embeddings:
        """The oracle's embeddings; each graph that goes through the network is a call, charged as in `predict`."""
        shown = self._shown(graphs, weight)
        nodes, pooled = self._computed(len(graphs), owner, lambda: self.oracle.embeddings(*shown), "embedding")
        n_nodes = int(graphs.sizes.sum())
        if (
            len(nodes) != n_nodes
            or len(pooled) != len(graphs)
            or not (nodes.isfinite().all() and pooled.isfinite().all())
        ):
            raise OracleError(
                f"The oracle {self.name!r} must embed {n_nodes} nodes and {len(graphs)} graphs with finite numbers; it "
                f"returned shapes {tuple(nodes.shape)} and {tuple(pooled.shape)}."
            )
        return Embeddings(nodes, pooled)

    def _shown(self, *parts: Any) -> tuple[Any, ...]:
        """What the oracle gets to see of a question: copies, unless it is known to read only."""
        return tuple(map(_copy, parts)) if self._copies else parts

    def probabilities(self, graphs: GraphBatch, owner: Tensor | None = None) -> Tensor:
        """The oracle's probabilities of graphs as they are; each graph scored is a call, charged as in `predict`."""
        (shown,) = self._shown(graphs)
        return self._relaxed(len(graphs), owner, lambda: self.oracle.probabilities(shown))

    def first_flip(self, graphs: GraphBatch, owner: Tensor, classes: Tensor) -> Tensor:
        """For candidates in the order in which each owner would ask: which one is the owner's first flip?

        `owner` is sorted; `classes` is the class each candidate has to leave. Returns a bool per candidate, true
        for at most one per owner. Each owner is charged up to and including its first flip, never beyond its
        budget: a flip that it could not afford to ask about is not found. Out of time, nothing is asked or found.
        """
        if late := self._out_of_time_among(owner):
            first = torch.zeros(len(owner), dtype=torch.bool, device=owner.device)
            in_time = torch.tensor([i not in late for i in owner.tolist()], device=owner.device)
            if in_time.any():
                first[in_time] = self.first_flip(graphs.select(in_time), owner[in_time], classes[in_time])
            return first
        if self._request is not None:
            payer = self._payers(owner)
            allowed = self._request.allows(graphs, payer)
            if allowed is not None:
                first = torch.zeros(len(owner), dtype=torch.bool, device=owner.device)
                self._refused.update(payer[~allowed].tolist())
                if allowed.any():
                    first[allowed] = self._first_flip(graphs.select(allowed), owner[allowed], classes[allowed])
                return first
        return self._first_flip(graphs, owner, classes)

    def _first_flip(self, graphs: GraphBatch, owner: Tensor, classes: Tensor) -> Tensor:
        """`first_flip` of graphs that are allowed."""
        payer = self._payers(owner)
        if self._request is None:
            answers = self._answers(graphs, payer)
        else:
            answers = self._request.as_flips(self._answers_or_unchanged(graphs, payer), payer)
        flips = (answers != classes).cpu().numpy()
        first = np.zeros(len(flips), dtype=bool)
        sorted_ = owner.cpu().numpy()
        starts = np.flatnonzero(np.diff(sorted_, prepend=-1))
        owners, counts = sorted_[starts], np.diff(starts, append=len(sorted_))
        where = np.append(flips.nonzero()[0], len(flips))
        flip = where[np.searchsorted(where, starts)]  # the first flip at or after each owner's first candidate
        for i, start, count, position in zip(
            owners.tolist(), starts.tolist(), counts.tolist(), (flip - starts).tolist(), strict=True
        ):
            affordable = int(min(count, self.left(i)))
            if position < affordable:
                first[start + position] = True
            self._charge(i, min(position + 1, affordable))
        return torch.from_numpy(first).to(owner.device)

    # -- charging and asking ---------------------------------------------------------------------------

    def _charge_all(self, count: int, owner: Tensor | None) -> None:
        """Charge each question to its owner, or none of them if one owner cannot afford its share."""
        if owner is None:
            self.calls += count
            return
        charges = [(i, share) for i, share in enumerate(torch.bincount(owner).tolist()) if share]
        if self._out_of_time_among(owner):
            raise BudgetExhausted(f"The time limit of {self.seconds} s per graph is used up; ask `exhausted` first.")
        if self.limited and any(share > self.left(i) for i, share in charges):
            raise BudgetExhausted(f"The budget of {self.budget} oracle calls per instance is used up.")
        for i, share in charges:
            self._charge(i, share)

    def _charge(self, owner: int, calls: int) -> None:
        self._accounts.calls[owner] = self.calls_of(owner) + calls
        self.calls += calls

    def _computed(self, count: int, owner: Tensor | None, ask: Callable[[], Answer], what: str) -> Answer:
        """What is asked for about `count` graphs, charged to their owners; `what` is how a failure calls it."""
        self._charge_all(count, owner)
        self.evaluated += count
        try:
            return self._waited_for(ask)
        except OracleError:
            raise
        except Exception as error:
            raise OracleError(f"The {what} of the oracle {self.name!r} failed: {error}") from error
        finally:
            self._read_clock(None if owner is None else self._payers(owner))

    def _relaxed(self, count: int, owner: Tensor | None, ask: Callable[[], Tensor]) -> Tensor:
        p = self._computed(count, owner, ask, "relaxation")
        if got := wrong_probabilities(p, (count, self.n_classes)):
            raise OracleError(
                f"The relaxation of the oracle {self.name!r} must return the probability of each class, a row of "
                f"{self.n_classes} for each of {count} graphs; it returned {got}."
            )
        return p

    def _answers(self, graphs: GraphBatch | EdgeBatch, payer: Tensor | None = None) -> Tensor:
        self.evaluated += len(graphs)
        listed = EdgeBatch.of(graphs) if isinstance(graphs, SparseBatch) else graphs
        (shown,) = self._shown(listed)
        try:
            if isinstance(shown, EdgeBatch):
                answers = self._waited_for(lambda: self.oracle.predict_edges(shown))
            else:
                answers = self._waited_for(lambda: self.oracle.predict(shown))
        except OracleError:
            raise
        except Exception as error:
            raise OracleError(f"The oracle {self.name!r} failed on a batch of {len(graphs)} graphs: {error}") from error
        finally:
            self._read_clock(payer)
        if got := wrong_answers(answers, len(graphs)):
            raise OracleError(
                f"The oracle {self.name!r} must return one integer class per graph ({len(graphs)}); it returned {got}."
            )
        self._timeouts = 0
        return self._known(answers)

    def _known(self, answers: Tensor) -> Tensor:
        """The answers, which have to be classes that the oracle says it has."""
        if len(answers) and (int(answers.min()) < 0 or int(answers.max()) >= self.n_classes):
            outside = answers[(answers < 0) | (answers >= self.n_classes)]
            raise UnknownClass(
                f"The oracle {self.name!r} answered class {int(outside[0])}, but has {self.n_classes} classes, "
                "numbered from 0; set its n_classes."
            )
        return answers

    def _answers_or_unchanged(self, graphs: GraphBatch | EdgeBatch, payer: Tensor) -> Tensor:
        """The answers; where the oracle fails on a graph, the class of the input: what it cannot score is no result."""
        assert self._request is not None
        if self._hanging or all(self._is_late(i) for i in payer.tolist()):
            return self._request.unchanged(payer)
        try:
            return self._answers(graphs, payer)
        except OracleError as error:
            if len(graphs) == 1:
                self._fail(int(payer[0]), error)
                return self._request.unchanged(payer)
        one_by_one = torch.arange(len(graphs)).split(1)
        return torch.cat([self._answers_or_unchanged(graphs.select(row), payer[row]).cpu() for row in one_by_one])

    def _fail(self, owner: int, error: OracleError) -> None:
        """Note why an owner got no answer; where the oracle took too long, it may not ask again."""
        self._failures.setdefault(owner, str(error))
        if isinstance(error, OracleTimeout):
            self._unanswered.add(owner)
            self._timeouts += 1
            if self._timeouts >= MOST_TIMEOUTS:
                self._hanging = str(error)

    def _waited_for(self, ask: Callable[[], Answer]) -> Answer:
        """The answer, or `OracleTimeout` if it takes longer than the patience lasts."""
        if self.patience is None:
            return ask()
        answers: list[Answer] = []
        errors: list[Exception] = []
        with_gradients = torch.is_grad_enabled()  # of this thread, others have their own

        def answer() -> None:
            try:
                with torch.set_grad_enabled(with_gradients):
                    answers.append(ask())
            except Exception as error:
                errors.append(error)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        thread.join(self.patience)
        if errors:
            raise errors[0]
        if not answers:
            raise OracleTimeout(f"The oracle {self.name!r} did not answer within {self.patience:g} s")
        return answers[0]

    def _read_clock(self, payer: Tensor | None) -> None:
        """The time since the last reading is shared equally by the questions that were asked, of these owners."""
        now = self._now()
        if self.seconds is not None and payer is not None and len(payer):
            share = (now - self._last_read) / len(payer)
            for i in payer.tolist():
                self._spent[i // self._k] = self._spent.get(i // self._k, 0.0) + share
        self._last_read = now

    def _now(self) -> float:
        return time.monotonic()


QUESTIONS = (
    "predict", "predict_edges", "relaxed", "relaxed_graphs", "relaxed_edges", "relaxed_messages", "probabilities",
    "embeddings", "head",
)  # fmt: skip


def _reads_only(oracle: Oracle) -> bool:
    """Have all classes that define a question of this oracle, or of the one that it wraps, said that they only read?"""
    for question in QUESTIONS:
        defined_in = next(cls for cls in type(oracle).__mro__ if question in vars(cls))
        if defined_in not in (Oracle, WrappedOracle) and not vars(defined_in).get("reads_only", False):
            return False
    return not isinstance(oracle, WrappedOracle) or _reads_only(oracle.oracle)


def _copy(shown: Any) -> Any:
    """A copy of a tensor, or of all tensors of a batch; anything else as it is."""
    if isinstance(shown, Tensor):
        return shown.clone()
    if not isinstance(shown, GraphBatch | EdgeBatch):
        return shown
    parts = {part.name: getattr(shown, part.name) for part in fields(shown)}
    copies: dict[str, Any] = {name: value.clone() for name, value in parts.items() if isinstance(value, Tensor)}
    return replace(shown, **copies)


def _is_positive(number: object) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and number > 0


def counting(oracle: Oracle) -> CountingOracle:
    """The oracle with a counter around it, unless it has one."""
    if not isinstance(oracle, Oracle):
        what = f"class {oracle.__name__}" if isinstance(oracle, type) else type(oracle).__name__
        raise UsageError(
            f"A {what} is not an oracle; give an instance of a subclass of rsgg.Oracle, or wrap a PyG model in "
            "rsgg.PyGOracle."
        )
    return oracle if isinstance(oracle, CountingOracle) else CountingOracle(oracle)
