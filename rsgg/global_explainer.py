"""What a global explainer is: a few graphs of the wanted class that are close to as many other graphs as possible.

An instance explainer (`rsgg.Explainer`) changes each graph by itself; a global one gives one small set C for all inputs
G of a class (Kosan, Huang et al. 2023), of which

    coverage(θ) = share of inputs G with min_{C} d(G, C) ≤ θ,      cost = median over inputs of min_{C} d(G, C),

d being the graph edit distance over the |V| + |E| of both graphs (`rsgg.edit_distance`). It is not computed exactly but
bounded, so that coverage and cost are intervals: from what edit paths in hand show to what lower bounds leave possible.

A method subclasses `GlobalExplainer`, declares hyper-parameters as every explainer does (`rsgg.hyper`), and writes
`_propose`: candidates of the wanted class. Users call `fit` and `summarise`. The summary is chosen greedily among the
candidates, the graph next that covers the most inputs that are not covered yet, by edit paths: at least 1 - 1/e of what
any k candidates cover.
"""

from __future__ import annotations

import heapq
import reprlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from rsgg.edit_distance import (
    Ints,
    LabelledGraphs,
    largest_within,
    lower_by_branches,
    lower_by_counts,
    normalised,
    upper_by_matching,
    within,
)
from rsgg.errors import FitError, NotFittedError, RSGGError, UsageError
from rsgg.explainer import one_thread_if_small, require_whole_number
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import Hyperparameters
from rsgg.oracles.counting import CountingOracle, counting
from rsgg.oracles.oracle import Oracle
from rsgg.statistics import NO_INTERVAL, Bounds

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
MATCHINGS_PER_PAIR = 5000  # partial ones that a search looks at, to decide whether two graphs are within θ
MATCHINGS_IN_ALL = 3_000_000  # the same for a whole summary: less than a minute


@dataclass(frozen=True, eq=False)
class GlobalResult:
    """A summary: `graphs` of the wanted class, in the order in which they were chosen.

    `inputs` int64 [I] are the positions of the graphs that it is for, among those that were given. `lower` and `upper`
    [I, graphs] bound the distance of each input from each graph of the summary; they are sharpened for `theta`.
    `candidates` is how many graphs it was chosen from, `calls` what the oracle was asked, `seconds` of CPU time.
    """

    graphs: tuple[Graph, ...]
    inputs: Ints
    lower: Floats
    upper: Floats
    theta: float
    candidates: int
    calls: int
    seconds: float

    def coverage(self, theta: float | None = None, k: int | None = None) -> Bounds:
        """The share of inputs that the first k graphs (all) cover within θ (the one that the summary was made for)."""
        limit = self.theta if theta is None else theta
        if not len(self.inputs):
            return NO_INTERVAL
        shares = [float((self.nearest(one, k) <= limit).mean()) for one in (self.upper, self.lower)]
        return Bounds(*shares)

    def cost(self, k: int | None = None) -> Bounds:
        """The median over inputs of the distance from the nearest of the first k graphs (all); 1 without any."""
        if not len(self.inputs):
            return NO_INTERVAL
        return Bounds(*(float(np.median(self.nearest(one, k))) for one in (self.lower, self.upper)))

    def nearest(self, distances: Floats, k: int | None = None) -> Floats:
        """The smallest distance of each input, [I], by `lower` or `upper`; 1, the largest there is, without graphs."""
        return np.asarray(distances[:, :k].min(1, initial=1.0), dtype=np.float64)

    def __repr__(self) -> str:
        low, high = self.coverage()
        return (
            f"GlobalResult({len(self.graphs)} graphs for {len(self.inputs)} inputs, coverage({self.theta:g}) between "
            f"{low:.3f} and {high:.3f})"
        )


@dataclass(kw_only=True)
class GlobalExplainer(Hyperparameters, ABC):
    """A method that explains a class by a few graphs."""

    chooses: ClassVar[bool] = True  # is the summary chosen among the candidates, or are these taken in their order?
    candidates_: ClassVar[tuple[Graph, ...] | None] = None  # set on the instance by `fit`, as are the next
    inputs_: ClassVar[Ints]
    calls_: ClassVar[int]
    seconds_: ClassVar[float]

    def __post_init__(self) -> None:
        self.check_values()

    # -- what a method writes --------------------------------------------------------------------------

    @abstractmethod
    def _propose(
        self, inputs: GraphBatch, examples: GraphBatch, target: int, oracle: CountingOracle, seed: int
    ) -> Sequence[Graph]:
        """Graphs of class `target` that the summary is chosen from, the better ones first.

        `inputs` are the graphs of other classes, `examples` those of the wanted one (there may be none). Questions are
        charged to owner 0: `oracle.left(0)` are left.
        """

    @classmethod
    def tiny(cls) -> Self:
        """A preset that makes the method testable in a second."""
        return cls()

    # -- what a user calls -----------------------------------------------------------------------------

    def fit(self, graphs: GraphBatch | Iterable[Any], oracle: Oracle, *, target: int, seed: int = 0) -> Self:
        """Find candidates for the graphs that are not of class `target`, and return the explainer itself.

        Args:
            graphs: `rsgg.Graph`, NetworkX graphs or PyG `Data`; those of class `target` serve as examples.
            oracle: the classifier to be explained; the budget of `CountingOracle(oracle, budget)` is for all questions.
            target: the wanted class.
            seed: decides all random draws.
        """
        self.check_values()
        require_whole_number("seed", seed)
        require_whole_number("target", target, at_least=0)
        batch, counted = GraphBatch.of(graphs), counting(oracle)
        counted.forget_owners()
        before, start = counted.calls, time.process_time()
        if counted.left(0) < len(batch):
            raise FitError(f"The budget of {counted.budget} calls is too small to ask for the classes of the graphs.")
        classes = counted.predict(batch, torch.zeros(len(batch), dtype=torch.long))
        if target >= counted.n_classes:
            raise UsageError(
                f"target = {target} makes no sense: the oracle {counted.name!r} has {counted.n_classes} classes, "
                "numbered from 0."
            )
        wanted = classes == target
        if wanted.all():
            raise FitError(f"Every graph is of class {target} already; give some of other classes.")
        inputs = batch.select(~wanted)
        with one_thread_if_small(batch):
            proposed = self._propose(inputs, batch.select(wanted), target, counted, seed)
        self.__dict__["candidates_"] = tuple(_of_class(target, proposed, counted))
        self.__dict__["inputs_"] = (~wanted).nonzero().flatten().numpy()
        self.__dict__["labelled_"] = LabelledGraphs.of(inputs)
        self.__dict__["calls_"] = counted.calls - before
        self.__dict__["seconds_"] = time.process_time() - start
        return self

    def summarise(self, k: int = 10, theta: float = 0.1) -> GlobalResult:
        """At most k of the candidates that cover as many inputs as possible within the distance θ.

        The oracle is not asked any more.
        """
        if self.candidates_ is None:
            raise NotFittedError(f"{type(self).__name__} has to be fitted before it can summarise: call fit first.")
        require_whole_number("k", k, at_least=1)
        if not isinstance(theta, Real) or isinstance(theta, bool) or not 0 <= theta <= 1:
            raise UsageError(f"theta = {reprlib.repr(theta)} makes no sense; give a distance from 0 to 1.")
        start, inputs = time.process_time(), self._labelled()
        chosen: list[int] = []
        lower = upper = np.ones((len(inputs), 0))
        if self.candidates_:
            candidates = LabelledGraphs.of(self.candidates_)
            chosen = greedy(candidates, inputs, k, theta) if self.chooses else list(range(len(candidates)))[:k]
            lower, upper = bounded(candidates.select(chosen), inputs, theta)
        seconds = self.seconds_ + time.process_time() - start
        graphs = tuple(self.candidates_[i] for i in chosen)
        return GlobalResult(graphs, self.inputs_, lower, upper, theta, len(self.candidates_), self.calls_, seconds)

    def _labelled(self) -> LabelledGraphs:
        inputs: LabelledGraphs = self.__dict__["labelled_"]
        return inputs


def _of_class(target: int, proposed: Sequence[Graph], oracle: CountingOracle) -> list[Graph]:
    """The proposed graphs of which the oracle says that they are of the wanted class; charged to nobody."""
    if not proposed:
        return []
    if not all(isinstance(graph, Graph) for graph in proposed):
        raise RSGGError("A global explainer proposed something that is no graph; return a list of rsgg.Graph.")
    kept = oracle.check(GraphBatch.of(list(proposed))) == target
    return [graph for graph, right in zip(proposed, kept.tolist(), strict=True) if right]


# -- The summary -------------------------------------------------------------------------------------------


def greedy(candidates: LabelledGraphs, inputs: LabelledGraphs, k: int, theta: float) -> list[int]:
    """The k candidates that greedy cover chooses; an input is covered if an edit path within θ is found."""
    limits = largest_within(theta, candidates.elements[:, None], inputs.elements)
    possible = lower_by_counts(candidates, inputs) <= limits

    def covers(candidate: int, asked: Ints) -> Bools:
        one = candidates.select([candidate] * len(asked))
        return np.asarray(upper_by_matching(one, inputs.select(asked)) <= limits[candidate, asked])

    return greedy_cover(possible, covers, k)


def greedy_cover(possible: Bools, covers: Callable[[int, Ints], Bools], k: int) -> list[int]:
    """Greedy maximum cover: at most k sets, next always the one that holds the most elements not covered yet.

    `possible` [sets, elements] holds every set; what of it a set really holds is asked of `covers` (set, elements) when
    the set may be the next one, as asking takes long. Of sets that are as good as each other the first is taken.
    """
    chosen: list[int] = []
    left = np.ones(possible.shape[1], dtype=bool)
    held: dict[int, Bools] = {}
    at_most = [(-int(one.sum()), i) for i, one in enumerate(possible)]
    heapq.heapify(at_most)
    while at_most and len(chosen) < k:
        _, i = heapq.heappop(at_most)
        if i not in held:
            asked = np.flatnonzero(possible[i] & left)
            held[i] = np.zeros_like(left)
            held[i][asked] = covers(i, asked) if len(asked) else False
        gain = int((held[i] & left).sum())
        if at_most and (-gain, i) > at_most[0]:
            heapq.heappush(at_most, (-gain, i))
        else:
            chosen.append(i)
            left &= ~held[i]
    return chosen


def bounded(summary: LabelledGraphs, inputs: LabelledGraphs, theta: float) -> tuple[Floats, Floats]:
    """Lower and upper bounds of the distance of each input from each graph of the summary, both [inputs, graphs].

    For inputs of which the bounds do not say whether the summary covers them, a search decides pair by pair, as far as
    `MATCHINGS_PER_PAIR` and `MATCHINGS_IN_ALL` allow; graphs are taken in the order of the summary.
    """
    count, k = len(inputs), len(summary)
    rows, graphs = np.divmod(np.arange(count * k), k)
    pairs = summary.select(graphs), inputs.select(rows)
    lower, upper = lower_by_branches(*pairs).reshape(count, k), upper_by_matching(*pairs).reshape(count, k)
    limits = largest_within(theta, inputs.elements[:, None], summary.elements)
    covered: Bools = np.any(upper <= limits, axis=1)
    left = MATCHINGS_IN_ALL
    for j in range(k):
        for i in np.flatnonzero(~covered & (lower[:, j] <= limits[:, j])).tolist():
            if left <= 0:
                break
            most = min(left, MATCHINGS_PER_PAIR)
            answer, looked_at = within(inputs.select([i]), summary.select([j]), int(limits[i, j]), most)
            left -= looked_at
            if answer:
                upper[i, j], covered[i] = limits[i, j], True
            elif answer is False:
                lower[i, j] = limits[i, j] + 1
    elements = inputs.elements[:, None], summary.elements
    return normalised(lower, *elements), normalised(upper, *elements)
