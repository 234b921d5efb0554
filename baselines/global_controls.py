"""What a summary by a global explainer has to be held against: graphs that are there anyway.

- `RealGraphs`: the graphs of the data that are of the wanted class; the summary is chosen among them greedily. It is
  the row "Ground-Truth" of GCFExplainer's tables.
- `RandomRealGraphs`: some of them at random, not chosen.
- `InstanceCounterfactuals`: what an instance explainer makes of inputs, one by one; chosen greedily.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import torch

from rsgg.errors import UsageError
from rsgg.explainer import Explainer
from rsgg.global_explainer import GlobalExplainer
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.rsgg_ce.taught import TaughtRSGGCE
from rsgg.seeds import numpy_rng, seed_for


@dataclass(kw_only=True)
class RealGraphs(GlobalExplainer):
    """Graphs of the data, chosen greedily. Nothing is random in it."""

    def _propose(
        self, inputs: GraphBatch, examples: GraphBatch, target: int, oracle: CountingOracle, seed: int
    ) -> Sequence[Graph]:
        return list(examples)


@dataclass(kw_only=True)
class RandomRealGraphs(GlobalExplainer):
    """Graphs of the data, drawn at random: what a summary is worth that nobody has chosen."""

    chooses: ClassVar[bool] = False

    def _propose(
        self, inputs: GraphBatch, examples: GraphBatch, target: int, oracle: CountingOracle, seed: int
    ) -> Sequence[Graph]:
        order = numpy_rng(seed, "random real graphs").permutation(len(examples))
        return [examples[int(i)] for i in order]


def _taught() -> Explainer:
    return TaughtRSGGCE(certify=True, searches=3, rounds=1)


@dataclass(kw_only=True)
class InstanceCounterfactuals(GlobalExplainer):
    """The counterfactuals that an instance explainer finds for inputs drawn at random."""

    base: Explainer = field(default_factory=_taught)
    explained: int = hyper(200, "n", at_least=1, doc="inputs that are explained")
    training: int = hyper(400, "m", at_least=2, doc="graphs that the base is fitted on, of all classes")
    questions: int = hyper(2000, "b", at_least=1, doc="questions that may be asked for an explained input")

    @classmethod
    def tiny(cls) -> InstanceCounterfactuals:
        return cls(base=TaughtRSGGCE.tiny(), explained=8, training=24)

    def _propose(
        self, inputs: GraphBatch, examples: GraphBatch, target: int, oracle: CountingOracle, seed: int
    ) -> Sequence[Graph]:
        if oracle.left(0) < math.inf:
            raise UsageError(
                "InstanceCounterfactuals cannot share out a budget among graphs; set `questions`, and give no budget."
            )
        rng = numpy_rng(seed, "instance counterfactuals")
        own = CountingOracle(oracle.oracle, self.questions)
        chosen = inputs.select(torch.from_numpy(rng.permutation(len(inputs))[: self.explained]))
        if self.base.capabilities.learns:
            both = [*inputs, *examples]
            drawn = rng.permutation(len(both))[: self.training]
            self.base.fit([both[int(i)] for i in drawn], own, seed=seed_for(seed, "base", "fit"))
        results = self.base.explain(chosen, own, seed=seed_for(seed, "base", "explain"))
        oracle.charge(0, own.calls)
        return [result.returned for result in results if result.found and result.after == target]
