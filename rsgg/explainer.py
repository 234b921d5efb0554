"""What an explainer is and what it returns: the contract that every method in the project keeps.

A method subclasses `Explainer`, declares its hyper-parameters as typed fields (`hyper`), its `Capabilities`, and
writes `_fit` and `_explain`. The public `fit` and `explain` are the facade: they validate once, ask for the class
of each input once, keep the count and the clock, and turn every outcome into a `Counterfactual` per instance and
candidate. A failure is a value with a reason, never the input in disguise and never an exception that ends a run.
"""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor

from rsgg.errors import FitError, GraphError, NotFittedError, RSGGError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles.oracle import CountingOracle, Oracle


@dataclass(frozen=True)
class Choice:
    """A finite search space."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Interval:
    """A continuous search space, sampled on a log scale where `log`."""

    low: float
    high: float
    log: bool = False


def hyper(
    default: Any,
    symbol: str,
    *,
    space: Choice | Interval | None = None,
    paper: Any = None,
    doc: str = "",
    beyond: bool = False,
) -> Any:
    """A hyper-parameter: its default, its symbol in the paper, the paper's search space and chosen value.

    With `beyond` it is not the paper's: a search of the paper's space leaves it alone.
    """
    about = {"symbol": symbol, "space": space, "paper": paper, "doc": doc, "beyond": beyond}
    return field(default=default, metadata=about)


@dataclass(frozen=True)
class Capabilities:
    """What a method can do and needs, declared so that tables and tests can rely on it."""

    adds: bool
    removes: bool
    learns: bool = False
    generative: bool = False
    needs_relaxation: bool = False
    permutation_invariant: bool = True
    deterministic: bool = False
    may_return_invalid: bool = False  # returns graphs that it did not ask the oracle about, or that are not simple
    calls_per_check: int = 1  # the released code asks twice per check: once for the input, once for the candidate
    reads_labels: bool = False  # the released code took training classes from the true labels: not oracle calls


BUDGET_USED_UP = "the oracle budget was used up"  # the reason of every method that runs out of questions


@dataclass(frozen=True)
class Candidate:
    """What `_explain` hands to the facade for one owner: an adjacency matrix, or the reason why there is none."""

    adjacency: Tensor | None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Counterfactual:
    """One result: a graph the method offers for an instance, or the reason why it has none.

    `calls` is what the oracle was asked for this result, the class of the input included (for the first candidate).
    `seconds` is this result's share of the time that the batch took.
    """

    input: Graph
    graph: Graph | None
    instance: int
    candidate: int
    reason: str
    calls: int
    seconds: float

    @property
    def found(self) -> bool:
        return self.graph is not None

    @property
    def returned(self) -> Graph:
        """The graph that metrics are computed on: the input where the method failed (Algorithm 1, line 13)."""
        return self.input if self.graph is None else self.graph

    @property
    def edits(self) -> list[tuple[int, int]]:
        """Node pairs u ≤ v that differ between the input and what was returned (u = v is a self loop)."""
        changed = np.triu((self.input.adjacency > 0) != (self.returned.adjacency > 0))
        return [(int(u), int(v)) for u, v in np.argwhere(changed)]

    @property
    def added(self) -> list[tuple[int, int]]:
        return [(u, v) for u, v in self.edits if not self.input.adjacency[u, v]]

    @property
    def removed(self) -> list[tuple[int, int]]:
        return [(u, v) for u, v in self.edits if self.input.adjacency[u, v]]


@dataclass(kw_only=True)
class Explainer(ABC):
    """A counterfactual explanation method. Constructors only store; learned state ends in an underscore."""

    capabilities: ClassVar[Capabilities]
    encoding: ClassVar[str | None] = None  # the node encodings it reads, which a runner attaches outside its clock
    fitted_: ClassVar[bool] = False  # set on the instance by `fit`

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

    # -- what a user calls -----------------------------------------------------------------------------

    def fit(self, graphs: GraphBatch | Iterable[Any], oracle: Oracle, *, seed: int = 0) -> Self:
        """Learn from training graphs. Classes are the oracle's, never the true labels."""
        batch, counted = GraphBatch.of(graphs), _counting(oracle)
        if self.capabilities.learns:
            asked = counted.oracle if self.capabilities.reads_labels else counted
            classes = asked.predict(batch)
            missing = sorted(set(range(counted.n_classes)) - set(classes.tolist()))
            if missing:
                raise FitError(
                    f"No training graph is of class {missing[0]} for the oracle {counted.name!r}; "
                    f"{type(self).__name__} needs graphs of every class: use more graphs or other folds."
                )
        else:
            classes = torch.zeros(len(batch), dtype=torch.long)
        self._fit(batch, classes, counted, seed)
        self._mark_fitted()
        return self

    def explain(
        self, graphs: GraphBatch | Iterable[Any], oracle: Oracle, *, k: int = 1, seed: int = 0
    ) -> list[Counterfactual]:
        """`k` counterfactuals for each graph, in the order of the graphs. Never raises for a single instance."""
        if k < 1:
            raise RSGGError(f"k = {k} candidates were asked for; ask for one or more.")
        if self.capabilities.learns and not self.fitted_:
            raise NotFittedError(f"{type(self).__name__} has to be fitted before it can explain: call fit first.")
        batch, counted = GraphBatch.of(graphs), _counting(oracle)
        counted.forget_owners()
        start = time.process_time()
        first_owner = torch.arange(len(batch)) * k
        if counted.budget == 0:
            candidates = [Candidate(None, "the budget does not allow a single oracle call")] * (len(batch) * k)
        else:
            classes = counted.predict(batch, first_owner)
            candidates = self._explain(batch, classes, counted, k, seed)
        seconds = (time.process_time() - start) / (len(batch) * k)
        if len(candidates) != len(batch) * k:
            raise RSGGError(
                f"{type(self).__name__} returned {len(candidates)} candidates for {len(batch)} graphs and k = {k}."
            )
        inputs = list(batch)
        return [
            self._result(inputs[owner // k], owner // k, owner % k, candidate, counted.calls_of(owner), seconds)
            for owner, candidate in enumerate(candidates)
        ]

    @staticmethod
    def _result(graph: Graph, i: int, j: int, candidate: Candidate, calls: int, seconds: float) -> Counterfactual:
        adjacency, reason = candidate.adjacency, candidate.reason
        offered = None
        if adjacency is not None:
            n = graph.n_nodes
            matrix = adjacency.cpu().numpy()[:n, :n].astype(np.uint8)  # a copy: what was returned is the user's
            offered = Graph.unchecked(matrix, graph.features, graph.name)
            if matrix.tobytes() == graph.adjacency.tobytes():
                offered, reason = None, reason or "the method returned the input"
        return Counterfactual(graph, offered, i, j, "" if offered is not None else reason, calls, seconds)

    def _mark_fitted(self) -> None:
        self.__dict__["fitted_"] = True

    # -- hyper-parameters ------------------------------------------------------------------------------

    def hyperparameters(self) -> dict[str, Any]:
        """Names and values of the hyper-parameters: what a result depends on besides data, oracle and seed."""
        return {f.name: getattr(self, f.name) for f in fields(self) if "symbol" in f.metadata}

    @classmethod
    def search_space(cls, *, beyond: bool = True) -> dict[str, Choice | Interval]:
        """The searched hyper-parameters; without `beyond`, those of the paper only."""
        searched = {f.name: f.metadata for f in fields(cls) if f.metadata.get("space") is not None}
        return {name: about["space"] for name, about in searched.items() if beyond or not about.get("beyond")}

    # -- saving ----------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        """Learned tensors by name. Methods that learn override this and `_restore`."""
        return {}

    def _restore(self, state: dict[str, Tensor]) -> None:
        """Take back what `_state` gave."""

    def save(self, path: str | Path) -> Path:
        """Write hyper-parameters (JSON) and learned tensors into one .npz file: no pickle, nothing executable."""
        path = Path(path).with_suffix(".npz")
        values = {
            name: value if _is_plain(value) else {"object": type(value).__name__}
            for name, value in self.hyperparameters().items()
        }
        header = json.dumps({"explainer": type(self).__name__, "hyperparameters": values})
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in self._state().items()}
        with path.open("wb") as file:
            np.savez_compressed(file, __header__=np.array(header), **arrays)  # type: ignore[arg-type]
        return path

    @classmethod
    def load(cls, path: str | Path, **objects: Any) -> Self:
        """Read what `save` wrote. The class has to be the one that saved it.

        Hyper-parameters that are objects, such as a partial order of one's own, cannot be saved as numbers: where
        they are not the default they have to be given again, as `order=MyOrder()`.
        """
        with np.load(Path(path), allow_pickle=False) as archive:
            header = json.loads(str(archive["__header__"]))
            state = {name: torch.from_numpy(archive[name]) for name in archive.files if name != "__header__"}
        if header["explainer"] != cls.__name__:
            raise RSGGError(
                f"{path} holds a fitted {header['explainer']}, not a {cls.__name__}; load it with that class."
            )
        explainer = cls(**{**_as_saved(cls, header["hyperparameters"], objects), **objects})
        explainer._restore(state)
        explainer._mark_fitted()
        return explainer


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, bool | int | float | str)


def _as_saved(cls: type[Explainer], values: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Saved hyper-parameters as constructor arguments: lists that were tuples become tuples, objects the defaults."""
    default = cls().hyperparameters()
    arguments = {}
    for name, value in values.items():
        if isinstance(value, dict):
            if name not in given and value["object"] != type(default[name]).__name__:
                raise RSGGError(
                    f"This {cls.__name__} was saved with {name} = {value['object']}; give it again with load({name}=…)."
                )
        else:
            arguments[name] = tuple(value) if isinstance(value, list) and isinstance(default[name], tuple) else value
    return arguments


def _counting(oracle: Oracle) -> CountingOracle:
    if not isinstance(oracle, Oracle):
        raise GraphError(
            f"A {type(oracle).__name__} is not an oracle; subclass rsgg.Oracle or wrap a PyG model in rsgg.PyGOracle."
        )
    return oracle if isinstance(oracle, CountingOracle) else CountingOracle(oracle)
