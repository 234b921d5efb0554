"""G-CounteRGAN as the comparison behind Table 1 ran it: a network that is never trained.

The released generator ends in a hard Bernoulli sample, [coin < sigmoid(A + r)], inside its forward pass. Comparing a
coin with a probability has no gradient, so no loss ever reaches a weight of the generator: what is tabulated is its
random initial state, where r is close to 0 and each ordered pair is drawn with

    p = sigmoid(A + r) ≈ sigmoid(A):   σ(1) = .731 for an edge, σ(0) = ½ for a missing one.

Hence GED ≈ (1 - σ(1)) E + ½ (n(n-1)/2 - E): 182.6 on Tree-Cycles and 3183.5 on ASD (printed: 182.414 and 3183.729).
Half of all pairs are edges of the result, so on Tree-Cycles it always has a cycle, and correctness is the share of
trees.

Lines are those of github.com/MarioTheOne/GRETEL at commit fa60bd27b382, in `src/explainer/explainer_countergan.py`; all
of them, with what is only inferred, are in `docs/evidence.md`. Deviations of the released code from CounteRGAN and
from the text of the RSGG-CE paper:

1. The hard sample (`:420-433`): the generator cannot learn (`tests/baselines/test_gcountergan.py` shows it by automatic
   differentiation). Only its discriminator is trained, by both optimisers (`:152-160`), and that plays no part in an
   explanation. The training is left out here.
2. The threshold that the paper's search chose (.5) is stored (`:342`) and never used.
3. The loss has neither a price of the residual nor the classifier's term (`:245-247`).
4. The candidate is never checked: it is returned whether or not it changes the class (`:87-91`).
5. Every *ordered* pair has its own coin (`:433`); the matrix that comes out is not symmetric and stored as it is
   (`:89`). So it is returned here. GED counts entries and halves their number; the ASD rule halves the sum of all
   entries; the cycle rule reads a graph with an edge where either coin fell, three quarters of all pairs, which has a
   cycle however it is read. `Counterfactual.edits`, which are pairs, are those of the upper triangle.

How oracle calls are counted: the released loop scores every batch of each discriminator step with the oracle
(`:179-211`), 250 iterations × 3 steps × 2 classes × b graphs. A batch has int(.1 · n_c) graphs of either class, by
*true label* (`:265-279`). That b was int(.1 N) - 1 of N training graphs in the folds behind the printed numbers is
inferred from these: 44 of 450 (66000 calls, 1320 per test graph) and 8 of 90 or 91 on ASD (12000 calls). `_fit` asks
about as many training graphs, in turn, and does not use the answers; in the released loop half of the graphs asked
about are generated, and their scores are not used either (`:221-222`). One question per explanation comes on top: there
it is about the class of the input (`:79`), which chooses the network (`:84`). Here that is known already, and the
question is about the candidate; whatever the answer, the candidate is returned.

Not kept: the dense layer of the generator (`:366-368`) has 14 million weights for 28 nodes but 5.4·10⁹ for 116 (20 GB).
Above `MOST_DENSE_WEIGHTS` it is factorised as in `rsgg.baselines.gcountergan`; the network is random in either case.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rsgg.baselines.gcountergan import STEP_SPACE, Generator
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.errors import FitError, GraphError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import Choice, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import seed_for, streams, uniforms

MOST_DENSE_WEIGHTS = 50_000_000
RANK_OF_DENSE_LAYER = 64
FEWEST_NODES = 5  # of smaller images nothing is left after two convolutions
BLOCK_CELLS = 1 << 24  # adjacency cells in one block of questions or images: bounds the memory


@dataclass(kw_only=True)
class ReleasedGCounteRGAN(Explainer):
    """G-CounteRGAN as released: a sample of sigmoid(A + r) from an untrained network."""

    iterations: int = hyper(250, "epochs", space=Choice(tuple(range(10, 251, 10))), paper=250, at_least=1)
    batch_ratio: float = hyper(0.1, "batch size ratio", space=Choice((0.1, 0.15, 0.2)), paper=0.1, above=0, at_most=1)
    generator_steps: int = hyper(2, "# generator steps", space=STEP_SPACE, paper=2, at_least=1, doc="without effect")
    discriminator_steps: int = hyper(
        3, "# discriminator steps", space=STEP_SPACE, paper=3, at_least=1, doc="only their calls count"
    )
    threshold: float = hyper(
        0.5, "threshold", space=Choice((0.4, 0.5, 0.6, 0.7, 0.8)), paper=0.5, at_least=0, at_most=1, doc="never used"
    )
    channels: int = hyper(64, "channels", at_least=1)

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, generative=True, permutation_invariant=False,
        may_return_invalid=True, asymmetric=True, reads_labels=True,
    )  # fmt: skip

    @classmethod
    def tiny(cls) -> ReleasedGCounteRGAN:
        return cls(iterations=10, channels=8)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        if not graphs.of_one_size:
            raise FitError("The released G-CounteRGAN sees graphs as images of one size; use GCounteRGAN.")
        if graphs.n_nodes < FEWEST_NODES:
            raise FitError(
                f"The released G-CounteRGAN halves its images twice and needs {FEWEST_NODES} nodes or more, not "
                f"{graphs.n_nodes}; use GCounteRGAN."
            )
        self.n_nodes_, self.seed_ = graphs.n_nodes, seed
        self.generators_ = self._untrained(oracle.n_classes)
        asked = torch.arange(self.scheduled_calls(len(graphs), oracle.n_classes)) % len(graphs)
        for rows in asked.split(max(1, BLOCK_CELLS // graphs.n_nodes**2)):
            oracle.predict(graphs.select(rows))

    def scheduled_calls(self, n_training: int, n_classes: int) -> int:
        """Graphs that the released training loop asks about: at least one of either class in a batch."""
        batch = max(2, int(self.batch_ratio * n_training) - 1)
        return self.iterations * self.discriminator_steps * n_classes * batch

    def _untrained(self, n_classes: int) -> list[Generator]:
        """One random network per class, of the original's size where that fits."""
        generators = []
        for c in range(n_classes):
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed_for(self.seed_, "released g-countergan", c))
                fits = dense_weights(self.n_nodes_, self.channels) <= MOST_DENSE_WEIGHTS
                rank = None if fits else RANK_OF_DENSE_LAYER
                generators.append(Generator(self.n_nodes_, self.channels, rank, margin=0).eval())
        return generators

    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """How likely each pair is an edge of the result, the mean of both directions, [B, N, N]."""
        ordered = self.ordered_probabilities(graphs, classes)
        return (ordered + ordered.transpose(1, 2)) / 2

    @torch.no_grad()
    def ordered_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """p = sigmoid(A + r) of each ordered pair, from the network of the graph's class, [B, N, N]."""
        if (graphs.sizes != self.n_nodes_).any():
            raise GraphError(f"It was fitted on graphs of {self.n_nodes_} nodes; explain such graphs or fit it anew.")
        probabilities = torch.empty(graphs.adjacency.shape)
        block = max(1, BLOCK_CELLS // (self.channels * self.n_nodes_**2))
        for c, generator in enumerate(self.generators_):
            for rows in (classes == c).nonzero().flatten().split(block):
                probabilities[rows] = ordered_probabilities(generator, graphs.adjacency[rows].float())
        return probabilities

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        instance = torch.arange(len(graphs)).repeat_interleave(k)
        seeds = streams(graphs.names, k, seed, "released g-countergan")
        probabilities = self.ordered_probabilities(graphs, classes)
        coins = torch.from_numpy(uniforms(seeds, 0, graphs.n_nodes**2)).reshape(-1, graphs.n_nodes, graphs.n_nodes)
        drawn = sample(probabilities[instance], coins).to(torch.uint8)
        affordable = torch.tensor([not oracle.exhausted(owner) for owner in range(len(drawn))])
        owner = affordable.nonzero().flatten()
        if len(owner):
            oracle.predict(graphs.candidates(drawn[owner], instance[owner]), owner)  # the answer changes nothing
        used_up = Candidate(None, BUDGET_USED_UP)
        return [Candidate(drawn[i]) if asked else used_up for i, asked in enumerate(affordable.tolist())]

    def _state(self) -> dict[str, Tensor]:
        """Nothing is learnt: the seed, the size and the number of classes are the whole network."""
        return {"network": torch.tensor([self.seed_, self.n_nodes_, len(self.generators_)])}

    def _restore(self, state: dict[str, Tensor]) -> None:
        self.seed_, self.n_nodes_, n_classes = state["network"].tolist()
        self.generators_ = self._untrained(n_classes)


def dense_weights(n_nodes: int, channels: int) -> int:
    """Weights of the original's dense layer: all positions after two convolutions × all before the two back up."""
    quarter = -(-n_nodes // 4)
    side = ((4 * quarter - 3) // 2 + 1 - 3) // 2 + 1
    return channels * side**2 * 2 * channels * quarter**2


# -- the released forward pass -----------------------------------------------------------------------------


def ordered_probabilities(generator: Generator, adjacency: Tensor) -> Tensor:
    """sigmoid(A + r) of each ordered pair; nothing on the diagonal. Differentiable as it stands."""
    off_diagonal = 1 - torch.eye(adjacency.shape[1], device=adjacency.device)
    return torch.sigmoid(adjacency + generator.image(adjacency)) * off_diagonal


def sample(probabilities: Tensor, coins: Tensor) -> Tensor:
    """[coin < p] for each ordered pair: the comparison that no gradient passes."""
    return (coins < probabilities).to(probabilities.dtype)


def forward(generator: Generator, adjacency: Tensor, coins: Tensor) -> Tensor:
    """The generator as it is trained in the released code: its output is the sample itself."""
    return sample(ordered_probabilities(generator, adjacency), coins)
