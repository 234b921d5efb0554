"""CF² as the comparison behind Table 1 ran it: the empty graph, always.

What was computed: one n × n matrix of logits for the whole data set, trained on ‖A⊙S‖₁ alone, after which the
*masked* part A⊙S of the input is returned with its weights cut to integers. Weights in (0, 1) become 0, so no edge is
ever left, however long the mask is trained: GED is the number of edges (27.564 and 655.661 printed), and a graph is
explained iff the empty graph is of another class (the cyclic ones; on ASD those of class 0).

Lines are those of github.com/MarioTheOne/GRETEL at commit fa60bd27b382, in `src/explainer/explainer_cf2.py` unless
another file below `src/` is named; all of them, with what is only inferred, are in `docs/evidence.md`. Deviations of
what was run from the original paper and from the text:

1. The mask is shared by all graphs (`:55`, `:166`, `:201`); the original optimises one per instance.
2. The oracle's answers are plain numbers, made into new tensors (`:177`, `:193-196`), so the factual and the
   counterfactual term have no gradient. α, λ and γ cannot matter; λ and the batch ratio were not read from the
   configuration in the first place (`explainer/explainer_factory.py:221`, `:227` look for other names than it uses),
   and nothing uses a batch: there is a step of Adam, with weight decay 1e-5, after every single graph (`:56-58`,
   `:128-140`, `explainer/explainer_factory.py:223`).
3. Gradients are never cleared (`:128-140`), so that entries which belong to an edge of some training graph go on
   falling long after their own gradient is gone: they underflow within a hundred epochs of 500. Once it is certain
   that the mask of all of them stays zero, the epochs that are left are not computed here; their loss is 0.
4. The factual part is returned (`:82-86`). The counterfactual of CF² is its complement.
5. Weights are cut to integers (`dataset/data_instance_base.py:122`, reached through
   `dataset/converters/tree_cycles_converter.py:35-37`; `tests/baselines/test_cf2.py` shows that the training does not
   matter then).
6. A fold whose model is found on disk is not trained (`:113-114`) and asks no question; eight centralities of the
   whole data set are computed anew for every explanation (`:61`). That the printed 0.000 calls and the printed runtime
   come from these two is inferred. Neither is repeated here: nothing is asked in training.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from rsgg.baselines.controls import only_candidate
from rsgg.counterfactual import Candidate
from rsgg.errors import FitError, GraphError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import Choice, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.rsgg_ce.adam import BETAS, SMALLEST_DEVIATION
from rsgg.seeds import torch_rng

FIRST, SECOND = BETAS
# Of Adam, in units of its rate. By Cauchy and Schwarz m ≤ √v (1 - β₁) √(Σ β₁²ᵏ / β₂ᵏ) / √(1 - β₂); corrected for their
# start at zero, m and √v have a smaller ratio still.
LONGEST_STEP = (1 - FIRST) / ((1 - SECOND) * (1 - FIRST**2 / SECOND)) ** 0.5


@dataclass(kw_only=True)
class ReleasedCF2(Explainer):
    """CF² as released: a shared mask trained on its size alone, and integers made of it."""

    lr: float = hyper(1e-2, "learning rate", space=Choice((1e-4, 1e-3, 1e-2)), paper=1e-2, above=0)
    epochs: int = hyper(500, "epochs", space=Choice((50, 100, 200, 250, 500)), paper=500, at_least=0)
    weight_decay: float = hyper(1e-5, "weight decay", at_least=0)
    batch_ratio: float = hyper(
        0.2, "batch ratio", space=Choice((0.1, 0.15, 0.2)), paper=0.2, above=0, at_most=1, doc="has no effect"
    )

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, learns=True, permutation_invariant=False, deterministic=True, reads_labels=True,
        may_return_invalid=True,
    )  # fmt: skip

    @classmethod
    def tiny(cls) -> ReleasedCF2:
        return cls(epochs=20)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        n = graphs.n_nodes
        if not graphs.of_one_size:
            raise FitError("The released CF² has one mask for all graphs and needs graphs of one size; use CF2.")
        self.logits_ = 1 + (2 / n) ** 0.5 * torch.randn(n, n, generator=torch_rng(seed, "released cf2"))
        rule = AdamWithoutClearing(self.logits_.view(-1).numpy(), self.lr, self.weight_decay)
        edges_of = [adjacency.flatten().nonzero().flatten().numpy() for adjacency in graphs.adjacency]
        trained = (graphs.adjacency > 0).any(0).flatten().numpy()  # entries that are an edge of some graph
        self.history_, done = [], False
        for epoch in range(self.epochs):
            loss = 0.0 if done else sum(rule.step(edges) for edges in edges_of)
            self.history_.append({"epoch": epoch, "loss": loss / len(graphs)})
            done = done or rule.stays_zero(trained, (self.epochs - epoch - 1) * len(graphs))

    def masked(self, graphs: GraphBatch) -> Tensor:
        """A⊙S, the factual part, with its weights in [0, 1)."""
        if (graphs.sizes != len(self.logits_)).any():
            raise GraphError(f"The mask was learnt for graphs of {len(self.logits_)} nodes; fit it anew for these.")
        soft = torch.sigmoid(self.logits_)
        return graphs.adjacency * (soft + soft.T) / 2

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return only_candidate(self, map(Candidate, self.masked(graphs).to(torch.uint8)), k)  # cut to integers

    def _state(self) -> dict[str, Tensor]:
        return {"logits": self.logits_}

    def _restore(self, state: dict[str, Tensor]) -> None:
        self.logits_ = state["logits"]
        self.history_ = []


class AdamWithoutClearing:
    """Adam on logits, a float32 vector that is changed in place, one graph per step; gradients add up for ever.

    In NumPy, because the steps are many and small.
    """

    def __init__(self, logits: np.ndarray, lr: float, weight_decay: float) -> None:
        self.logits, self.lr, self.weight_decay, self.steps = logits, lr, weight_decay, 0
        self.slope, self.mean, self.square, self.decayed, self.room = (np.zeros_like(logits) for _ in range(5))

    def step(self, edges: np.ndarray) -> float:
        """‖A⊙S‖₁ of the graph with these entries, all of the loss that has a gradient, before a step to lower it."""
        mask = expit(self.logits[edges])
        self.slope[edges] += mask * (1 - mask)
        self.steps += 1
        np.multiply(self.logits, self.weight_decay, out=self.decayed)
        self.decayed += self.slope
        np.subtract(self.decayed, self.mean, out=self.room)
        self.room *= 1 - FIRST
        self.mean += self.room
        np.multiply(self.decayed, self.decayed, out=self.room)
        self.room *= 1 - SECOND
        self.square *= SECOND
        self.square += self.room
        np.sqrt(self.square, out=self.room)
        self.room /= (1 - SECOND**self.steps) ** 0.5
        self.room += SMALLEST_DEVIATION
        np.divide(self.mean, self.room, out=self.room)
        self.room *= self.lr / (1 - FIRST**self.steps)
        self.logits -= self.room
        return float(mask.sum())

    def stays_zero(self, entries: np.ndarray, steps: int) -> bool:
        """Is the mask of these entries zero, and sure to be zero in all of that many steps to come?

        Where the mask is zero the slope no longer changes. How far a logit can fall is bounded (`LONGEST_STEP`), and
        with it the pull of weight decay. As long as slope and decay add up to more than zero, Adam's mean does not
        turn, the logit falls, and the mask stays zero.
        """
        if expit(self.logits[entries]).any():
            return False
        lowest = self.logits[entries] - steps * self.lr * LONGEST_STEP
        falling = (self.mean[entries] > 0) & (self.slope[entries] + self.weight_decay * lowest > 0)
        return bool(falling.all())
