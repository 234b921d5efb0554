"""What an explainer is: the contract that every method in the project keeps.

A method subclasses `Explainer`, declares its hyper-parameters as typed fields (`hyper`) with the values they may have,
declares its `Capabilities`, and writes `_fit` and `_explain`. Users call `fit` and `explain`, which check the
arguments, ask the oracle for the class of each input, count calls, take the time, and return one `Counterfactual` per
instance and candidate. An instance that could not be explained is a result with a reason, never an exception.
"""

from __future__ import annotations

import reprlib
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from rsgg.constraints import Constraint, Feasible, constraints_advice
from rsgg.counterfactual import BUDGET_USED_UP, TIME_USED_UP, Candidate, Counterfactual
from rsgg.edits import origins
from rsgg.errors import (
    DataError,
    FitError,
    GraphError,
    NotFittedError,
    OracleError,
    OracleTimeout,
    RSGGError,
    UnknownClass,
    UsageError,
)
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import Hyperparameters, Limits, as_json, saved_values
from rsgg.oracles.counting import CountingOracle, counting
from rsgg.oracles.oracle import Oracle
from rsgg.progress import listening, printed
from rsgg.saving import read_archive, write_archive
from rsgg.sparse import SparseBatch, batch_of


@dataclass(frozen=True)
class Capabilities:
    """What a method can do and needs, declared so that tables and tests can rely on it."""

    adds: bool
    removes: bool
    learns: bool = False
    generative: bool = False
    needs_relaxation: bool = False
    needs_embeddings: bool = False  # reads what the oracle's network makes of nodes and graphs (`Oracle.embeddings`)
    permutation_invariant: bool = True
    deterministic: bool = False
    may_return_invalid: bool = False  # returns graphs that it did not ask the oracle about, or that are not simple
    asymmetric: bool = False  # returns matrices in which A_uv and A_vu may differ, as one released method does
    # Takes the classes of training graphs from the labels: they are no oracle calls. `GraphBatch.labels` has the true
    # ones where they are known; elsewhere, and for methods that do not look there, the oracle's classes stand for them.
    reads_labels: bool = False
    # In `explain` it learns about classes only from `CountingOracle.predict` and `first_flip`, with owners, and takes
    # any class but the input's: then `CountingOracle.explaining` leads it to a wanted class, without its knowing.
    targets: bool = False
    # Its results keep `constraints`: as for `targets`, a graph that is not allowed is answered as no change of class.
    constraints: bool = False


NOT_ASKED = -1  # the class of a training graph that the oracle was not asked about (`Explainer._asks_about`)


def constraints_field() -> Any:
    """Declare the rules that results keep. They are what is asked for, no hyper-parameter of a method."""
    doc = "rules that every result keeps (rsgg.constraints)"
    return field(default=(), metadata={"limits": Limits(check=constraints_advice), "doc": doc})


# -- Explainers ------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Explainer(Hyperparameters, ABC):
    """A counterfactual explanation method.

    Constructors store the hyper-parameters and check that they are allowed; attributes that `fit` learns end in an
    underscore.
    """

    constraints: tuple[Constraint, ...] = constraints_field()

    capabilities: ClassVar[Capabilities]
    encoding: ClassVar[str | None] = None  # node encodings it reads; a runner attaches them before it takes the time
    fitted_: ClassVar[bool] = False  # set on the instance by `fit`, as is the next
    fitted_on_: ClassVar[tuple[int, int] | None] = None  # classes of the oracle, width of the node features

    def __post_init__(self) -> None:
        if isinstance(self.constraints, list):
            self.constraints = tuple(self.constraints)
        self.check_values()
        if not isinstance(getattr(self, "capabilities", None), Capabilities):
            raise UsageError(
                f"{type(self).__name__} declares no capabilities; set the class variable `capabilities` to an "
                "rsgg.Capabilities, as rsgg/templates/explainer.py shows."
            )

    # -- what a method writes --------------------------------------------------------------------------

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        """Learn from training graphs whose oracle classes are known. Methods that learn nothing keep this."""

    @abstractmethod
    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        """`k` candidates per graph, instance by instance; owner i·k + j is candidate j of instance i."""

    @classmethod
    def tiny(cls) -> Self:
        """A preset that makes the method testable in a second."""
        return cls()

    def _needs_relaxation(self) -> bool:
        """Does it differentiate the oracle? Overridden by methods for which that depends on a hyper-parameter."""
        return self.capabilities.needs_relaxation

    def _needs_embeddings(self) -> bool:
        """Does it read the oracle's embeddings?"""
        return self.capabilities.needs_embeddings

    def _needs_every_class(self) -> bool:
        """Does it need training graphs of every class? Overridden by methods that do without."""
        return True

    def _asks_about(self, n_graphs: int) -> int:
        """Of how many training graphs, from the first on, it wants the oracle's class; that of others is `NOT_ASKED`.

        Overridden by methods for streams, which ask about their beginning only.
        """
        return n_graphs

    def _lists_above(self) -> int | None:
        """Above how many nodes graphs are lists of edges (`rsgg.sparse`); None for methods that need matrices."""
        return None

    # -- what a user calls -----------------------------------------------------------------------------

    def fit(self, graphs: GraphBatch | Iterable[Any], oracle: Oracle, *, seed: int = 0, verbose: bool = False) -> Self:
        """Learn from training graphs and return the explainer itself.

        Args:
            graphs: `rsgg.Graph`, NetworkX graphs or PyG `Data`.
            oracle: the classifier to be explained; the classes of the training graphs are its answers. Graphs that it
                cannot read are left out, with a warning; those that a method makes while it learns, and on which the
                oracle fails, count as not flipped, with a warning. Where the probabilities of such a graph are needed
                for a gradient the fit ends with `OracleError`.
            seed: decides all random draws.
            verbose: print how far a long fit is.
        """
        self.check_values()
        require_whole_number("seed", seed)
        batch, counted = batch_of(graphs, self._lists_above()), counting(oracle)
        self._require_insight(counted)
        if self.capabilities.learns:
            asked = CountingOracle(counted.oracle) if self.capabilities.reads_labels else counted  # labels cost nothing
            batch, classes = _readable(batch, asked, self._asks_about(len(batch)))
            missing = sorted(set(range(counted.n_classes)) - set(classes.tolist()))
            if missing and self._needs_every_class():
                raise FitError(
                    f"No training graph is of class {missing[0]} for the oracle {counted.name!r}; "
                    f"{type(self).__name__} needs graphs of every class: use more graphs or other folds."
                )
        else:
            classes = torch.zeros(len(batch), dtype=torch.long)
        counted.constraints = self.all_constraints()
        try:
            with one_thread_if_small(batch), listening(printed if verbose else None), self._learning_from(counted):
                self._fit(batch, classes, counted, seed)
        finally:
            counted.constraints = ()
        self._mark_fitted((counted.n_classes, _width(batch)) if self.capabilities.learns else None)
        return self

    @contextmanager
    def _learning_from(self, oracle: CountingOracle) -> Iterator[None]:
        """Says on which of the graphs that the method made the oracle failed, as a warning or as the error."""
        name = type(self).__name__
        try:
            yield
        except UnknownClass:  # it says itself what to do
            raise
        except OracleError as error:
            kind = OracleTimeout if isinstance(error, OracleTimeout) else OracleError
            raise kind(
                f"{name} could not be fitted: {str(error).rstrip('.;')}; while it learns it asks about graphs that it "
                "makes itself, so give an oracle that answers about any graph, or use a method that does not learn."
            ) from error
        unscored, oracle.unscored = oracle.unscored, []
        if unscored:
            warnings.warn(
                f"The oracle {oracle.name!r} failed on {len(unscored)} graphs that {name} made while it learnt, which "
                f"count as not flipped: {unscored[0]}",
                stacklevel=4,
            )

    def explain(
        self,
        graphs: GraphBatch | Iterable[Any],
        oracle: Oracle,
        *,
        k: int = 1,
        seed: int = 0,
        target: int | None = None,
        check: bool = True,
    ) -> list[Counterfactual]:
        """`k` counterfactuals for each graph, in the order of the graphs. Never raises for a single instance.

        Args:
            graphs: `rsgg.Graph`, NetworkX graphs or PyG `Data`.
            oracle: the classifier; `CountingOracle(oracle, budget, seconds)` limits calls and time for each graph.
            k: candidates per graph.
            seed: decides all random draws.
            target: the class that results must have; any class but the input's if not given.
            check: ask the oracle about results that the method has not shown to it, and about the classes of results
                where there are more than two, in one batch that is charged to nobody. Without it such results are
                offered but not found, as nobody has said that they change the class.
        """
        require_whole_number("k", k, at_least=1)
        require_whole_number("seed", seed)
        if not isinstance(check, bool | np.bool_):
            raise UsageError(f"check = {reprlib.repr(check)} makes no sense; give True or False.")
        self._require_constraints()
        if self.capabilities.learns and not self.fitted_:
            raise NotFittedError(f"{type(self).__name__} has to be fitted before it can explain: call fit first.")
        batch, counted = batch_of(graphs, self._lists_above()), counting(oracle)
        self._require_insight(counted)
        self._require_same_features(batch)
        self._require_target(target)
        again = partial(self.explain, oracle=counted, k=k, seed=seed, target=target, check=check)
        if isinstance(batch, SparseBatch) and not (large := batch.sizes > (self._lists_above() or 0)).all():
            return _small_ones_apart(batch, large, again)
        counted.forget_owners(k)
        start = time.process_time()
        try:
            with one_thread_if_small(batch):
                classes, candidates = self._candidates(batch, counted, k, seed, target)
        except UnknownClass:  # its number of classes is not what it says: that concerns all graphs
            raise
        except OracleError as error:
            unread = counted.unanswered(batch)
            if not unread or (len(unread) == len(batch) and not isinstance(error, OracleTimeout)):
                raise
            return _around_unread(batch, unread, k, again)
        except GraphError:  # of a method that cannot read some of the graphs, such as those of other sizes
            if len(batch) == 1:
                raise
            return _one_by_one(batch, k, again)
        seconds = (time.process_time() - start) / (len(batch) * k)
        if not isinstance(candidates, Sequence):
            raise RSGGError(
                f"{type(self).__name__} returned {reprlib.repr(candidates)} instead of a list of candidates; return "
                "an rsgg.Candidate per graph and candidate."
            )
        if len(candidates) != len(batch) * k:
            raise RSGGError(
                f"{type(self).__name__} returned {len(candidates)} candidates for {len(batch)} graphs and k = {k}; "
                "return one per graph and candidate."
            )
        inputs = list(batch)
        results = [
            _result(inputs[owner // k], owner, k, _with_true_reason(candidate, owner, counted), counted, seconds)
            for owner, candidate in enumerate(candidates)
        ]
        return self._with_classes(results, classes, counted, target, check)

    def _candidates(
        self, batch: GraphBatch, counted: CountingOracle, k: int, seed: int, target: int | None
    ) -> tuple[Tensor | None, list[Candidate]]:
        """The classes of the graphs, None where the budget is too small to ask for them, and what the method offers."""
        if counted.exhausted(0):
            nothing = Candidate(None, "the budget does not allow a single oracle call")
            return None, [nothing] * (len(batch) * k)
        classes = counted.predict(batch, torch.arange(len(batch)) * k)
        self._require_same_classes(counted)
        if target is not None and target >= counted.n_classes:
            raise UsageError(
                f"target = {target} makes no sense: the oracle {counted.name!r} has {counted.n_classes} classes, "
                "numbered from 0."
            )
        constraints = self.all_constraints()
        feasible = Feasible(batch, constraints) if constraints else None
        with counted.explaining(classes, k, target, feasible):
            candidates = self._explain(batch, classes, counted, k, seed)
        if feasible is not None:
            candidates = [self._kept(one, owner // k, feasible) for owner, one in enumerate(candidates)]
        if target is None:
            return classes, candidates
        there = (classes == target).repeat_interleave(k).tolist()
        already = Candidate(None, f"the graph is of class {target} already")
        return classes, [already if is_there else one for one, is_there in zip(candidates, there, strict=True)]

    def _kept(self, candidate: Candidate, instance: int, feasible: Feasible) -> Candidate:
        """The candidate, or a failure where it breaks a constraint: a method that declares more than it does."""
        broken = "" if candidate.adjacency is None else feasible.broken(candidate.adjacency, instance)
        if (made := candidate.edited) is not None:
            origin = origins(made.node_edits, feasible.originals[instance].n_nodes)
            broken = feasible.broken_by(made.graph, origin, instance)
        return Candidate(None, f"what {type(self).__name__} returned breaks {broken}") if broken else candidate

    def _with_classes(
        self,
        results: list[Counterfactual],
        classes: Tensor | None,
        counted: CountingOracle,
        target: int | None,
        check: bool,
    ) -> list[Counterfactual]:
        """The results with their classes before and after, and with whether the oracle has said that they flip."""
        if classes is None:
            return results
        before = classes.tolist()
        results = [replace(result, before=before[result.instance]) for result in results]
        shown, two = not self.capabilities.may_return_invalid, counted.n_classes == 2
        offered = [i for i, result in enumerate(results) if result.offered]
        for i in offered:
            known = (
                target if shown and target is not None else 1 - before[results[i].instance] if shown and two else None
            )
            results[i] = replace(results[i], after=known, flips=shown)
        unknown = [i for i in offered if results[i].after is None]
        if check and unknown:
            try:
                asked = batch_of([results[i].returned for i in unknown], self._lists_above())
                after = counted.check(asked).tolist()
            except OracleError as error:
                return [_unchecked(result, error) for result in results]
            for i, class_ in zip(unknown, after, strict=True):
                results[i] = _judged(results[i], class_, target, type(self).__name__)
        return results

    def _require_insight(self, oracle: Oracle) -> None:
        reason = oracle.why_not_differentiable() if self._needs_relaxation() else ""
        if reason:
            raise FitError(
                f"{type(self).__name__} needs a differentiable oracle, but {reason}; black-box methods need none."
            )
        reason = oracle.why_no_embeddings() if self._needs_embeddings() else ""
        if reason:
            raise FitError(
                f"{type(self).__name__} needs the embeddings of a network, but {reason}; black-box methods need none."
            )

    def _require_same_features(self, graphs: GraphBatch) -> None:
        if self.capabilities.learns and self.fitted_on_ is not None and _width(graphs) != self.fitted_on_[1]:
            had, has = (
                f"node features of width {width}" if width else "no node features"
                for width in (self.fitted_on_[1], _width(graphs))
            )
            raise GraphError(
                f"{type(self).__name__} was fitted on graphs with {had}, and these have {has}; give graphs of the same "
                "kind, or fit again."
            )

    def _require_same_classes(self, oracle: CountingOracle) -> None:
        if self.capabilities.learns and self.fitted_on_ is not None and oracle.n_classes != self.fitted_on_[0]:
            raise UsageError(
                f"{type(self).__name__} was fitted with an oracle of {self.fitted_on_[0]} classes, and "
                f"{oracle.name!r} has {oracle.n_classes}; fit it with this oracle."
            )

    def all_constraints(self) -> tuple[Constraint, ...]:
        """The rules that results keep, those of explainers inside this one included."""
        return self.constraints

    def _require_constraints(self) -> None:
        if self.all_constraints() and not self.capabilities.constraints:
            name = type(self).__name__
            raise UsageError(
                f"{name} cannot keep constraints; mend its results, as in Minimised(base={name}(), constraints=...), "
                "or use a method whose capabilities declare `constraints`."
            )

    def _require_target(self, target: int | None) -> None:
        if target is None:
            return
        require_whole_number("target", target, at_least=0)
        if not self.capabilities.targets:
            raise UsageError(
                f"{type(self).__name__} cannot be given a target; it looks for any class but the input's. Leave target "
                "out, or use a method whose capabilities declare `targets`."
            )

    def _mark_fitted(self, on: tuple[int, int] | None = None) -> None:
        self.__dict__["fitted_"] = True
        if on is not None:
            self.__dict__["fitted_on_"] = on

    def check_values(self) -> None:
        """Raise `UsageError` with a sentence where a field has a value that its declaration does not allow."""
        super().check_values()
        self._require_constraints()

    def hyperparameters(self) -> dict[str, Any]:
        """Names and values of the hyper-parameters: what a result depends on besides data, oracle and seed."""
        return super().hyperparameters() | ({"constraints": self.constraints} if self.constraints else {})

    # -- saving ----------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        """Learned tensors by name. Methods that learn override this and `_restore`."""
        return {}

    def _restore(self, state: dict[str, Tensor]) -> None:
        """Take back what `_state` gave."""

    def save(self, path: str | Path) -> Path:
        """Write hyper-parameters and learned tensors into one file and return its path.

        `.npz` is appended to the path unless it ends in it. The file has a checksum and holds no pickle.
        """
        return write_archive(path, *self._archive())

    def _archive(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What `save` writes: a header of JSON values, and arrays by name."""
        if self.capabilities.learns and not self.fitted_:
            raise NotFittedError(f"{type(self).__name__} has to be fitted before it can be saved: call fit first.")
        header: dict[str, Any] = {
            "explainer": type(self).__name__,
            "hyperparameters": as_json(self.hyperparameters()),
        }
        if self.fitted_on_ is not None:
            header["fitted_on"] = list(self.fitted_on_)
        return header, {name: tensor.detach().cpu().numpy() for name, tensor in self._state().items()}

    @classmethod
    def load(cls, path: str | Path, **objects: Any) -> Self:
        """Read what `save` wrote; `path` is what `save` was given or what it returned.

        Called on the class that was saved. Hyper-parameters that are objects, such as constraints or a partial order of
        one's own, are not in the file: where they are not the default they have to be given again, as
        `order=MyOrder()`.
        """
        return cls._from_archive(*read_archive(path), objects, path)

    @classmethod
    def _from_archive(
        cls, header: dict[str, Any], arrays: dict[str, np.ndarray], objects: dict[str, Any], path: str | Path
    ) -> Self:
        """The explainer that `_archive` described."""
        saved_as = header.get("explainer")
        if saved_as != cls.__name__:
            raise UsageError(f"{path} holds a fitted {saved_as}, not a {cls.__name__}; load it with that class.")
        explainer = cls(**{**saved_values(cls, header, objects, path), **objects})
        try:
            explainer._restore({name: torch.from_numpy(array) for name, array in arrays.items()})
        except Exception as error:  # whatever a network says about weights that it cannot take
            raise DataError(
                f"{path} holds a {saved_as} whose learned values do not fit this version of it; fit and save it again."
            ) from error
        fitted_on = header.get("fitted_on")
        pair = isinstance(fitted_on, list) and len(fitted_on) == 2 and all(type(part) is int for part in fitted_on)
        if fitted_on is not None and not pair:
            raise DataError(f"{path} does not say what its {saved_as} was fitted on; fit and save it again.")
        explainer._mark_fitted(None if fitted_on is None else (fitted_on[0], fitted_on[1]))
        return explainer


MOST_NODES_ON_ONE_THREAD = 256


@contextmanager
def one_thread_if_small(graphs: GraphBatch) -> Iterator[None]:
    """Let torch compute on one thread while graphs are small: sharing out their work costs more than it saves."""
    before = torch.get_num_threads()
    limited = before > 1 and graphs.n_nodes <= MOST_NODES_ON_ONE_THREAD
    if limited:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if limited:
            torch.set_num_threads(before)


def _result(
    graph: Graph, owner: int, k: int, candidate: Candidate, counted: CountingOracle, seconds: float
) -> Counterfactual:
    """The counterfactual that a candidate is, or the failure: a candidate equal to the input is one."""
    reason, offered = candidate.reason, None
    if candidate.adjacency is not None:
        n = graph.n_nodes
        matrix = candidate.adjacency.cpu().numpy()[:n, :n].astype(np.uint8)  # a copy: what was returned is the user's
        offered = graph.with_adjacency(matrix)
        if matrix.tobytes() == graph.adjacency.tobytes():
            offered, reason = None, reason or "the method returned the input"
    elif candidate.edited is not None:
        offered = candidate.edited.graph
    told = "" if offered is not None else reason
    return Counterfactual(
        graph, offered, owner // k, owner % k, told, counted.calls_of(owner), seconds,
        irreducible=candidate.irreducible, certificate_calls=candidate.certificate_calls,
        node_edits=() if candidate.edited is None else candidate.edited.node_edits,
    )  # fmt: skip


def _readable(batch: GraphBatch, oracle: CountingOracle, asked_about: int) -> tuple[GraphBatch, Tensor]:
    """The training graphs without those that the oracle cannot read, and their classes.

    It is asked about the first `asked_about` of them; the classes of the others are `NOT_ASKED`. Raises where it
    answers about none.
    """
    asked, others = batch[:asked_about], torch.full((len(batch) - asked_about,), NOT_ASKED)
    if not asked_about:
        return batch, others
    try:
        return batch, torch.cat((oracle.predict(asked), others))
    except UnknownClass:  # its number of classes is not what it says: that concerns all graphs
        raise
    except OracleError:
        unread = oracle.unanswered(asked)
        if not unread or len(unread) == len(asked):
            raise
    warnings.warn(
        f"The oracle {oracle.name!r} could not read {len(unread)} of {len(asked)} training graphs, which are left out: "
        f"{next(iter(unread.values()))}",
        stacklevel=3,
    )
    read = batch.select(torch.tensor([i for i in range(len(batch)) if i not in unread]))
    return read, torch.cat((oracle.predict(read[: asked_about - len(unread)]), others))


def _small_ones_apart(
    graphs: SparseBatch, large: Tensor, explain: Callable[[Any], list[Counterfactual]]
) -> list[Counterfactual]:
    """Results where some graphs are large and some are not: the small ones are explained as matrices, as always."""
    results = []
    for rows in (large.nonzero().flatten(), (~large).nonzero().flatten()):
        part = graphs.select(rows)
        explained = explain(part if large[rows[0]] else GraphBatch.of(list(part)))
        results += [replace(one, instance=int(rows[one.instance])) for one in explained]
    return sorted(results, key=lambda one: (one.instance, one.candidate))


def _around_unread(
    graphs: GraphBatch, unread: dict[int, str], k: int, explain: Callable[[GraphBatch], list[Counterfactual]]
) -> list[Counterfactual]:
    """Results where the oracle cannot read some inputs (`unread`, with its reasons): the others are explained."""
    rest = [i for i in range(len(graphs)) if i not in unread]
    explained = explain(graphs.select(torch.tensor(rest))) if rest else []
    results = {(rest[one.instance], one.candidate): replace(one, instance=rest[one.instance]) for one in explained}
    for i, reason in unread.items():
        for j in range(k):
            results[i, j] = Counterfactual(graphs[i], None, i, j, f"the oracle cannot read the input: {reason}", 0, 0.0)
    return [results[key] for key in sorted(results)]


def _one_by_one(
    graphs: GraphBatch, k: int, explain: Callable[[GraphBatch], list[Counterfactual]]
) -> list[Counterfactual]:
    """Results where the method refuses some inputs, each of which is a failure; raises where it refuses all of them."""
    results: list[Counterfactual] = []
    refused: dict[int, GraphError] = {}
    for i in range(len(graphs)):
        alone = graphs[i : i + 1]
        if not isinstance(graphs, SparseBatch):
            alone = alone.resized(int(graphs.sizes[i]))  # taken out of its padding
        try:
            results += [replace(one, instance=i) for one in explain(alone)]
        except GraphError as error:
            refused[i] = error
            results += [Counterfactual(graphs[i], None, i, j, str(error).rstrip("."), 0, 0.0) for j in range(k)]
    if len(refused) == len(graphs):
        raise refused[0]
    return results


def _judged(result: Counterfactual, after: int, target: int | None, method: str) -> Counterfactual:
    """The result, of whose graph the oracle has said the class."""
    flips = after != result.before if target is None else after == target
    reason = "" if flips else f"what {method} returned is of class {after}, which is not another one"
    if not flips and target is not None:
        reason = f"what {method} returned is of class {after}, not {target}"
    return replace(result, after=after, flips=flips, reason=reason)


def _unchecked(result: Counterfactual, error: Exception) -> Counterfactual:
    """The result after the oracle has failed when it was asked once more: what it had not seen is not found."""
    if result.found or not result.offered:
        return result
    return replace(result, reason=f"the oracle failed when it was asked about the result ({error})")


def _width(graphs: GraphBatch) -> int:
    """Of the node features; 0 if there are none."""
    return 0 if graphs.features is None else graphs.features.shape[2]


def _with_true_reason(candidate: Candidate, owner: int, counted: CountingOracle) -> Candidate:
    """Methods only know that an owner is exhausted; by what, and what was not answered, the counter can say."""
    out_of_time = counted.out_of_time(owner) and (counted.budget is None or counted.calls_of(owner) < counted.budget)
    if candidate.offered:
        return candidate
    reason = TIME_USED_UP if candidate.reason == BUDGET_USED_UP and out_of_time else candidate.reason
    trouble = counted.trouble_of(owner)
    return Candidate(None, f"{reason} ({trouble.rstrip('.')})" if trouble else reason)


def require_whole_number(name: str, value: Any, at_least: int | None = None) -> None:
    """Raise `UsageError` with a sentence unless an argument of this name is one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or (at_least is not None and value < at_least):
        limit = "" if at_least is None else f", {at_least} or more"
        raise UsageError(f"{name} = {reprlib.repr(value)} makes no sense; give a whole number{limit}.")
