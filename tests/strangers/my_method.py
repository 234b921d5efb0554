"""A method that lives outside the project: toggle node pairs in random order until the class changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import torch

from rsgg import Candidate, Capabilities, Choice, Explainer, hyper
from rsgg.seeds import torch_rng


@dataclass(kw_only=True)
class MyExplainer(Explainer):
    """All edges go or all missing ones come, one after the other; the first graph of another class is offered."""

    steps: int = hyper(60, "s", space=Choice((20, 40, 60)), at_least=1, doc="edits that are tried per graph")

    label: ClassVar[str] = "My method"
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True)

    @classmethod
    def tiny(cls) -> Self:
        return cls(steps=40)

    def _explain(self, graphs: Any, classes: Any, oracle: Any, k: int, seed: int) -> list[Candidate]:
        owners = [(i, j, i * k + j) for i in range(len(graphs)) for j in range(k)]
        return [self._candidate(graphs, classes, oracle, i, j, owner, seed) for i, j, owner in owners]

    def _candidate(self, graphs: Any, classes: Any, oracle: Any, i: int, j: int, owner: int, seed: int) -> Candidate:
        rng = torch_rng(seed, "my method", graphs.names[i], j)
        pairs = graphs.pair_mask[i].nonzero()
        edges = graphs.adjacency[i][pairs[:, 0], pairs[:, 1]] > 0
        for chosen in (pairs[edges], pairs[~edges]):
            current, offered = graphs.adjacency[i].clone(), []
            for u, v in chosen[torch.randperm(len(chosen), generator=rng)][: self.steps].tolist():
                current[u, v] = current[v, u] = 1 - current[u, v]
                offered.append(current.clone())
            if offered:
                at, whose = torch.full((len(offered),), i), torch.full((len(offered),), owner)
                flips = oracle.first_flip(graphs.candidates(torch.stack(offered), at), whose, classes[at])
                if flips.any():
                    return Candidate(offered[int(flips.nonzero()[0])])
        return Candidate(None, "the class never changed")


NOT_AN_EXPLAINER = 3


class Duck:
    """Explains, but is no `rsgg.Explainer`."""

    def explain(self) -> None: ...


class Unfinished(Explainer):
    """Has capabilities, but no `_explain`."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True)


@dataclass(kw_only=True)
class Undeclared(Explainer):
    """Does not say what it can do."""

    def _explain(self, graphs: Any, classes: Any, oracle: Any, k: int, seed: int) -> list[Candidate]:
        return []


@dataclass(kw_only=True)
class Cheats(MyExplainer):
    """Says that it adds no edges, and adds some."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=True)


@dataclass(kw_only=True)
class CF2(MyExplainer):
    """Has the name of a method that the project has already."""
