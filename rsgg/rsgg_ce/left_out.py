"""RSGG-CE trained by score function with one part of its training left out: which of them matter?

Each part is something that `RSGGCE` has and the paper has not (the list is at the top of `rsgg.rsgg_ce.explainer`), and
one is the discriminator itself. `PARTS` says what stands in its place. Not among them: 𝔻 without X and the missing X̂,
which make no difference on graphs without node features; the score function, in whose place is the whole of
`rsgg.rsgg_ce.literal`; and batches, which only save time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from rsgg.graph import GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.training import ClassData, ClassTraining, Generator, TrainingSettings
from rsgg.rsgg_ce.training_pairs import Adjacency, PairBatch


class Eq4Reward(ClassTraining):
    """𝔾 minimises log(1 - 𝔻(G_g)), as in Eq. 4: the reward is -log(1 - 𝔻(G_g)), whatever the oracle says."""

    def _reward(self, flipped: Tensor, d_logit: Tensor) -> Tensor:
        return softplus(d_logit)


class FlipsOnly(ClassTraining):
    """The reward is [Φ(G_g) ≠ c] alone: 𝔻 is trained, but its output is not used."""

    def _reward(self, flipped: Tensor, d_logit: Tensor) -> Tensor:
        return flipped


class LastEpoch(ClassTraining):
    """The generator of the last epoch is kept."""

    checks = 0

    def _quality(self) -> float:
        """Rises from check to check, so that the last generator is the best."""
        super()._quality()  # draws the same random numbers
        self.checks += 1
        return float(self.checks)


class NoAverage(ClassTraining):
    """The generator that is kept is the trained one itself."""

    averaging_decay = 0.0


class NoWidenedFakes(ClassTraining):
    """In place of widened fakes 𝔻 is shown as many samples of A_g itself."""

    def _exaggerated(self, logits: Tensor, pairs: PairBatch, rows: Tensor) -> Adjacency:
        torch.rand(len(logits), 1, generator=self.rng)  # the factors that are not used
        return self.own.assemble(self._sample(torch.sigmoid(logits), pairs), pairs, rows)


class ConstantRate(ClassTraining):
    """The learning rate stays what it is."""

    def _set_rate(self, epoch: int) -> None:
        pass


class PlainAdvantage(ClassTraining):
    """Advantages are not brought to deviation 1."""

    def _scaled(self, advantage: Tensor) -> Tensor:
        return advantage


class NoClipping(ClassTraining):
    """Gradients of any size."""

    gradient_norm = float("inf")


class _OtherStart(ClassTraining):
    """The generator is changed before it is trained."""

    def __init__(self, data: ClassData, settings: TrainingSettings, seed: int, device: str) -> None:
        super().__init__(data, settings, seed, device)
        for generator in (self.generator, self.averaged):
            self.change(generator)

    @staticmethod
    def change(generator: Generator) -> None:
        raise NotImplementedError


class NoInitialEdits(_OtherStart):
    """Biases start at 0, so that an untrained generator edits as often as the squashing function has it."""

    @staticmethod
    def change(generator: Generator) -> None:
        torch.nn.init.zeros_(generator.bias)


class PlainInnerProduct(_OtherStart):
    """Â = Z Zᵀ / √d + b: no signs, the same product for edges and missing pairs, whose biases alone are apart."""

    @staticmethod
    def change(generator: Generator) -> None:
        torch.nn.init.ones_(generator.signs)
        generator.signs.requires_grad_(False)


@dataclass(frozen=True)
class Part:
    """A part of the training: what stands in its place when it is left out, in words and in code."""

    instead: str
    training: type[ClassTraining] = ClassTraining
    settings: Mapping[str, Any] = field(default_factory=dict)


PAPERS_RATE = 1e-3
PARTS: dict[str, Part] = {
    "reward": Part("Eq. 4's -log(1 - 𝔻), without the oracle's indicator", Eq4Reward),
    "discriminator": Part("the oracle's indicator alone is the reward", FlipsOnly),
    "checkpoint": Part("the last generator is kept, not the best", LastEpoch),
    "moving average": Part("the trained generator itself is kept", NoAverage),
    "widened fakes": Part("𝔻 is shown as many plain samples instead", NoWidenedFakes),
    "warm-up": Part("both networks learn from the first step, removals are not doubled", settings={"warmup": 0}),
    "rate schedule": Part("a constant rate", ConstantRate),
    "normalised advantage": Part("advantages as they are", PlainAdvantage),
    "clipping": Part("gradients as they are", NoClipping),
    "initial edits": Part("biases start at 0", NoInitialEdits),
    "signed decoder": Part("a plain inner product", PlainInnerProduct),
    "rate": Part(
        "the paper's 1e-3 for both networks",
        settings={"generator_lr": PAPERS_RATE, "discriminator_lr": PAPERS_RATE},
    ),
    "encodings": Part("the degree alone"),
}


@dataclass(kw_only=True)
class RSGGCEWithout(RSGGCE):
    """`RSGGCE` without one of `PARTS`; with an empty name, `RSGGCE` itself."""

    without: str = hyper("", "left out", choices=("", *PARTS), doc="the part of the training that is left out")

    @property
    def _part(self) -> Part:
        return PARTS[self.without] if self.without else Part("")

    def _training(self) -> type[ClassTraining]:
        return self._part.training

    def _settings(self) -> TrainingSettings:
        return replace(super()._settings(), **self._part.settings)

    def _raw_features(self, graphs: GraphBatch) -> Tensor:
        if self.without == "encodings":
            return graphs.adjacency.sum(2, keepdim=True).float()
        return super()._raw_features(graphs)
