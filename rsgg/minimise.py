"""Minimal counterfactuals: shrink a valid set of edits until none of them can be left out (beyond the paper).

The edits are put in an order. A binary search finds a prefix that changes the oracle's class while the prefix one
edit shorter does not: that last edit is needed. It moves to the front for good, what came after it is dropped, and the
search goes on over what came before it, until the needed edits change the class on their own. Every set that is
accepted has been shown to the oracle, so the result is a counterfactual for any oracle; where more edits never undo a
change of class, no edit of the result can be left out. A set of d edits of which r are needed costs about
r (1 + log2 d) questions.

All instances are searched together: each question is one batch with a graph of every instance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from rsgg.errors import UsageError
from rsgg.explainer import Candidate, Capabilities, Explainer, Limits
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle
from rsgg.saving import read_archive
from rsgg.seeds import torch_rng

FOUND_NEEDED = -1  # rank of the edits that were found to be needed: they are part of every prefix


def minimise(
    graphs: GraphBatch,
    classes: Tensor,
    candidate_adjacency: Tensor,
    oracle: CountingOracle,
    owner: Tensor,
    seed: int,
    *,
    k: int = 1,
) -> Tensor:
    """Shrink the edits from each graph to its candidate, uint8 [R, N, N]; the candidates must be valid.

    Row r of `graphs`, `classes` (the class to leave), `candidate_adjacency` and `owner` belong together; questions are
    charged to `owner[r]`, which is candidate `owner[r] % k` of its instance. The order of the edits is random, drawn by
    name. A row whose budget is used up keeps the smallest set that was verified so far.
    """
    if not len(graphs) == len(classes) == len(candidate_adjacency) == len(owner):
        raise UsageError(
            f"minimise was given {len(graphs)} graphs, {len(classes)} classes, {len(candidate_adjacency)} candidates "
            f"and {len(owner)} owners; it needs one of each per row: select the graphs that have a candidate first."
        )
    names = [(seed, "minimise", name, i % k) for name, i in zip(graphs.names, owner.tolist(), strict=True)]
    edits = torch.triu((candidate_adjacency > 0) != (graphs.adjacency > 0), 1)
    rank = random_order(edits, graphs.sizes, names)
    # Prefix `high` is known to change the class, prefix `low` not to; low = -1 when even prefix 0 has not been asked.
    low, high = torch.zeros(len(graphs), dtype=torch.long), edits.sum((1, 2))
    while True:
        _keep_needed(rank, low, high)
        open_ = high > 0
        if oracle.limited:
            open_ &= ~torch.tensor([oracle.exhausted(i) for i in owner.tolist()], dtype=torch.bool)
        rows = open_.nonzero().flatten()
        if not len(rows):
            return with_edits(graphs.adjacency, rank, high)
        # First whether the needed edits are enough: most searches end there. Then the middle.
        prefix = torch.where(low[rows] < 0, 0, (low[rows] + high[rows]) // 2)
        asked = with_edits(graphs.adjacency[rows], rank[rows], prefix)
        flips = oracle.predict(graphs.candidates(asked, rows), owner[rows]) != classes[rows]
        high[rows] = torch.where(flips, prefix, high[rows])
        low[rows] = torch.where(flips, low[rows], prefix)


def _keep_needed(rank: Tensor, low: Tensor, high: Tensor) -> None:
    """Where prefix high flips and prefix high - 1 does not, the edit between them is needed: move it to the front."""
    rows = ((high > 0) & (high - low == 1)).nonzero().flatten()
    if len(rows):
        last = rank[rows] == (high[rows] - 1)[:, None, None]
        rank[rows] = rank[rows].masked_fill(last, FOUND_NEEDED)
        high[rows] -= 1
        low[rows] = -1


def random_order(pairs: Tensor, sizes: Tensor, names: Sequence[tuple[object, ...]]) -> Tensor:
    """A random order of each row's node pairs: their ranks 0, 1, …, int32 [R, N, N], symmetric.

    `pairs` (bool, upper triangle) says which pairs are ordered; the others rank behind all of them. Row r is drawn from
    the seed that `names[r]` makes and depends on nothing else, padding and the rest of the batch included.
    """
    batch, n, _ = pairs.shape
    behind = n * n
    draw = torch.full((batch, n, n), behind, dtype=torch.int32)
    for row, (size, name) in enumerate(zip(sizes.tolist(), names, strict=True)):
        u, v = torch.triu_indices(size, size, 1)
        draw[row, u, v] = torch.randperm(len(u), generator=torch_rng(*name)).int()
    draw = draw.masked_fill(~pairs, behind).flatten(1)
    order = draw.argsort(1)
    rank = torch.empty_like(draw).scatter_(1, order, torch.arange(behind, dtype=torch.int32).expand(batch, -1).clone())
    rank = rank.masked_fill(draw == behind, behind).view(batch, n, n)
    return torch.minimum(rank, rank.transpose(1, 2))


def with_edits(adjacency: Tensor, rank: Tensor, prefix: Tensor) -> Tensor:
    """The graphs after the first `prefix` edits of their order, uint8 [R, N, N]."""
    return adjacency ^ (rank < prefix.int()[:, None, None]).view(torch.uint8)


# -- For any explainer -----------------------------------------------------------------------------------


def _base_advice(base: Any) -> str:
    """What to give instead of something that is no explainer."""
    if isinstance(base, Explainer):
        return ""
    example = f"{base.__name__}()" if isinstance(base, type) and issubclass(base, Explainer) else "RSGGCE()"
    return f"give an explainer, not a class or anything else, as in base={example}"


def base_field(default_factory: Callable[[], Explainer] | None = None, doc: str = "") -> Any:
    """Declare the method whose results are made minimal, with a default for subclasses that have one."""
    about = {"symbol": "base", "doc": doc, "limits": Limits(check=_base_advice)}
    # None is no explainer: an explainer made without a base says so in a sentence.
    return (
        field(default=None, metadata=about)
        if default_factory is None
        else field(default_factory=default_factory, metadata=about)
    )


@dataclass(kw_only=True)
class Minimised(Explainer):
    """Any explainer, its results made minimal: the "+ min" row of a method.

    A failure stays a failure. Calls of the base and of the minimiser add up. The base is asked with the same seed as
    on its own, so the two rows can be compared instance by instance. What a base returns without having asked the
    oracle is asked about first, and is a failure if it does not change the class: all results are valid.
    """

    base: Explainer = base_field(doc="the method whose results are made minimal")

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]  # the base's, so not the class's
        return replace(self.base.capabilities, deterministic=False, may_return_invalid=False)

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self.base.encoding

    @property
    def fitted_(self) -> bool:  # type: ignore[override]
        return self.base.fitted_

    @property
    def fitted_on_(self) -> tuple[int, int] | None:  # type: ignore[override]
        return self.base.fitted_on_

    def _mark_fitted(self, on: tuple[int, int] | None = None) -> None:
        self.base._mark_fitted(on)

    def _needs_relaxation(self) -> bool:
        return self.base._needs_relaxation()

    def check_values(self) -> None:
        super().check_values()
        self.base.check_values()

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        self.base._fit(graphs, classes, oracle, seed)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        candidates = list(self.base._explain(graphs, classes, oracle, k, seed))
        self._check_untrusted(candidates, graphs, classes, oracle, k)
        owner, offered = _simple_graphs(candidates, graphs, k)
        if len(owner):
            instance = owner // k
            minimal = minimise(graphs.select(instance), classes[instance], offered, oracle, owner, seed, k=k)
            for i, adjacency in zip(owner.tolist(), minimal, strict=True):
                candidates[i] = Candidate(adjacency)
        return candidates

    def _check_untrusted(
        self, candidates: list[Candidate], graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int
    ) -> None:
        """Ask about results that the oracle has not seen as the simple graph that is to be shrunk: one call each."""
        trusted = not self.base.capabilities.may_return_invalid
        untrusted = [Candidate(None)] * len(candidates)
        for i, candidate in enumerate(candidates):
            if candidate.adjacency is None or (trusted and _is_simple(candidate.adjacency)):
                continue
            if oracle.exhausted(i):
                candidates[i] = Candidate(None, "the oracle budget was used up before the result could be checked")
            else:
                untrusted[i] = candidate
        owner, offered = _simple_graphs(untrusted, graphs, k)
        if len(owner):
            answers = oracle.predict(graphs.candidates(offered, owner // k), owner)
            for i in owner[answers == classes[owner // k]].tolist():
                candidates[i] = Candidate(None, f"what {type(self.base).__name__} returned does not change the class")

    @classmethod
    def tiny(cls) -> Self:
        return cls(base=cls._base_class().tiny())

    @classmethod
    def _base_class(cls) -> type[Explainer]:
        """The class of the default base, for subclasses that have one."""
        make = next(f for f in fields(cls) if f.name == "base").default_factory
        if make is MISSING:
            raise UsageError(f"{cls.__name__} has no base of its own; give it one: {cls.__name__}(base=...).")
        return type(make())

    # -- the base's hyper-parameters and learned state are all there is --------------------------------

    def hyperparameters(self) -> dict[str, Any]:
        name = type(self.base).__name__
        return {"base": name} | {f"{name}.{key}": value for key, value in self.base.hyperparameters().items()}

    def save(self, path: str | Path) -> Path:
        """Write the base: minimising learns nothing."""
        return self.base.save(path)

    @classmethod
    def load(cls, path: str | Path, **objects: Any) -> Self:
        """Read the base that `save` wrote; its class has to be imported."""
        name = read_archive(path)[0].get("explainer")
        for known in _subclasses(Explainer):  # type: ignore[type-abstract]
            if known.__name__ == name:
                return cls(base=known.load(path, **objects))
        raise UsageError(f"{path} holds a fitted {name}, which is not known here; import its class first.")


def _subclasses(parent: type[Explainer]) -> Iterator[type[Explainer]]:
    for child in parent.__subclasses__():
        yield child
        yield from _subclasses(child)


def _is_simple(adjacency: Tensor) -> bool:
    return not bool((adjacency > 1).any()) and not bool(adjacency.diagonal().any())


def _simple_graphs(candidates: list[Candidate], graphs: GraphBatch, k: int) -> tuple[Tensor, Tensor]:
    """The owners that have a graph, int64 [R], and these graphs without self loops and multiplicities, [R, N, N]."""
    found = [(i, c.adjacency) for i, c in enumerate(candidates) if c.adjacency is not None]
    simple = torch.zeros(len(found), *graphs.adjacency.shape[1:], dtype=torch.uint8)
    for row, (i, adjacency) in enumerate(found):
        n = int(graphs.sizes[i // k])
        simple[row, :n, :n] = (adjacency[:n, :n] > 0).to(torch.uint8).fill_diagonal_(0)
    return torch.tensor([i for i, _ in found], dtype=torch.long), simple
