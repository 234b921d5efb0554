"""RSGG-CE to the letter: Eq. 4 and Algorithms 1 and 2 as they are printed, with nothing added to make them work.

For each class c there is a generator 𝔾 (a graph auto-encoder) and a discriminator 𝔻 (a GCN):

    Z = ENC(X, A),   Â = tanh(Z Zᵀ),   𝔾(X, A) = (X̂, A + Â),   𝔻(X, A) = probability of being a real graph of ¬c

    L = Σ_{r ∈ 𝒢_¬c} log 𝔻(X_r, A_r) + Σ_{j ∈ 𝒢_c} [Φ(X_g, A_g) ≠ c] log 𝔻(X_g, A_g)
        + Σ_{j ∈ 𝒢_c} log(1 - 𝔻(X̂_j, A_j + Â_j))                                                     (Eq. 4)

Nothing was chosen by looking at results. What the paper leaves open, with its words, and what is done here:

1. "node features X ∈ ℝ^(n×d)": its data sets have none, and what stands for them is not said. Data with features are
   used as they are; else X is a single feature, 1 for every node, which adds no information.
2. "a Graph Autoencoder (GAE) [Kipf & Welling 2016]", "a GCN discriminator": no layers, widths or initial weights. Kipf
   and Welling's: two GCN layers of width 32 and 16, ReLU between them, Glorot weights. 𝔻 has two layers of the same
   widths, each with a ReLU, then the mean over the nodes and a linear layer.
3. "𝔾 returns the reconstructed adjacency tensor Â and the reconstructed node features X̂": an inner product makes no
   features. X̂ is a linear map of Z.
4. "we set the activation function of the generator to the hyperbolic tangent and sum it to the input adjacency matrix":
   Â = tanh(Z Zᵀ), without bias or scale. Its diagonal is left out: the graphs have no self loops.
5. "the input to the Residual GAN's discriminator is A_j + Â_j": 𝔻 is shown just that, neither cut nor sampled, so that
   its gradient reaches 𝔾. Entries lie in (-1, 2); the degrees in 𝔻's GCN are therefore sums of absolute values.
6. "we sample each edge according to their estimated probabilities": A_g = A + Â is cut to [0, 1] where it is sampled.
7. "[Φ(X_g, A_g) ≠ c]": an oracle reads graphs, A_g is none. It is asked about one sample of A_g, a coin per pair as in
   Algorithm 1, for every graph in every epoch.
8. The braces of Eq. 4 say "discriminator optimisation on real data", "… on generated data", "generator optimisation";
   there is no min or max. 𝔾 minimises the third sum, log(1 - 𝔻) as printed and not -log 𝔻. 𝔻 maximises all three: of
   the first two alone 𝔻 = 1 everywhere is best, and the text has generated graphs "labelled as fake data".
9. Eq. 5 is introduced by "making it produce realistic counterfactuals, i.e.": a consequence, not a term of the loss.
10. "epochs: 500": one step of 𝔻 and then one of 𝔾 each, on the sums of Eq. 4 over all training graphs.
11. "generator lr 10⁻³, discriminator lr 10⁻³": no optimiser is named. Adam, as in Kipf & Welling; with it a sum and a
    mean over the graphs are the same.
12. "for e = (u,v) ∈ 𝕆.ℰ": a set has no order. Missing pairs are visited in random order. The first check comes after
    the first missing pair (lines 6-8), whatever the text says of the existing edges. A graph that the last coin left
    unchanged is not asked about again: the answer is known.
13. "sampling iterations: 500" stands in the source of the paper's table, commented out; Algorithm 1 has no such limit.
    At most 500 checks (graphs of Tree-Cycles have 378 pairs, those of ASD 6670).

One departure: "return (X_g, A')". Counterfactuals keep X and the oracle is asked with X, because results are compared
by their edges; the oracles of the paper read A only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from rsgg.counterfactual import Candidate
from rsgg.errors import GraphError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import Choice, device_field, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.rsgg_ce.adam import Adam
from rsgg.rsgg_ce.explainer import LEARNING_RATES, sampled, sampler_named
from rsgg.rsgg_ce.partial_order import ExistingThenMissing
from rsgg.seeds import seed_for, torch_rng

# -- The two networks ------------------------------------------------------------------------------------


def propagation(adjacency: Tensor) -> Tensor:
    """D^-½ (A + I) D^-½ of matrices [B, N, N], with degrees D_vv = 1 + Σ_w |A_vw|."""
    scale = (1 + adjacency.abs().sum(2)).rsqrt()
    loops = torch.eye(adjacency.shape[1], device=adjacency.device)
    return scale[:, :, None] * (adjacency + loops) * scale[:, None, :]


class GraphConvolution(nn.Module):
    """H ← P H W + b, the layer of Kipf & Welling; P is `propagation(A)`."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width_in, width_out)))
        self.bias = nn.Parameter(torch.zeros(width_out))

    def forward(self, h: Tensor, p: Tensor) -> Tensor:
        return p @ (h @ self.weight) + self.bias


class LiteralGenerator(nn.Module):
    """𝔾(X, A) = (X̂, A + tanh(Z Zᵀ)): a graph auto-encoder whose inner-product decoder makes a residual."""

    def __init__(self, n_features: int, hidden: int, latent: int) -> None:
        super().__init__()
        self.first = GraphConvolution(n_features, hidden)
        self.second = GraphConvolution(hidden, latent)
        self.features = nn.Linear(latent, n_features)

    def forward(self, x: Tensor, adjacency: Tensor, pairs: Tensor, p: Tensor) -> tuple[Tensor, Tensor]:
        """X̂ [B, N, d] and A + Â [B, N, N].

        `pairs` [B, N, N] is 1 for u ≠ v, both of them nodes of the graph, and else 0; `p` is the propagation of A.
        """
        z = self.second(torch.relu(self.first(x, p)), p)
        return self.features(z), adjacency + torch.tanh(z @ z.transpose(1, 2)) * pairs


class LiteralDiscriminator(nn.Module):
    """𝔻(Y | X, A): the logit that (X, A) is a real graph of another class than c, [B]."""

    def __init__(self, n_features: int, hidden: int, latent: int) -> None:
        super().__init__()
        self.first = GraphConvolution(n_features, hidden)
        self.second = GraphConvolution(hidden, latent)
        self.out = nn.Linear(latent, 1)

    def forward(self, x: Tensor, p: Tensor, nodes: Tensor) -> Tensor:
        """`p` is the propagation of A; `nodes` [B, N] is 1 for nodes and 0 for padding."""
        h = torch.relu(self.second(torch.relu(self.first(x, p)), p)) * nodes[..., None]
        logit: Tensor = self.out(h.sum(1) / nodes.sum(1, keepdim=True)).squeeze(1)
        return logit


# -- Training by Eq. 4 -----------------------------------------------------------------------------------


def equation_4(real: Tensor, generated: Tensor, flipped: Tensor) -> Tensor:
    """L of Eq. 4 from 𝔻's logits: log 𝔻 is logsigmoid(logit) and log(1 - 𝔻) is logsigmoid(-logit)."""
    return logsigmoid(real).sum() + (flipped * logsigmoid(generated)).sum() + logsigmoid(-generated).sum()


def node_features(graphs: GraphBatch) -> Tensor:
    """X [B, N, d] of the data, or else 1 for every node (0 on padding), [B, N, 1]."""
    return graphs.node_mask[..., None].float() if graphs.features is None else graphs.features.float()


def both_ways(graphs: GraphBatch) -> Tensor:
    """1 for node pairs (u, v) and (v, u), u ≠ v, that exist in each graph, else 0, [B, N, N]."""
    return (graphs.pair_mask | graphs.pair_mask.transpose(1, 2)).float()


class LiteralTraining:
    """The two networks of class c, and the epochs that train them on its graphs and on `real` ones of other classes."""

    def __init__(
        self, c: int, graphs: GraphBatch, real: GraphBatch, oracle: CountingOracle, settings: LiteralRSGGCE, seed: int
    ) -> None:
        self.c, self.graphs, self.oracle, device = c, graphs, oracle, settings.device
        self.rng = torch_rng(seed, "literal", c)
        adjacency = graphs.adjacency.float().to(device)
        self.input = node_features(graphs).to(device), adjacency, both_ways(graphs).to(device), propagation(adjacency)
        real_adjacency = real.adjacency.float().to(device)
        self.real = node_features(real).to(device), propagation(real_adjacency), real.node_mask.float().to(device)
        self.nodes, self.pair_mask = graphs.node_mask.float().to(device), graphs.pair_mask
        widths = self.input[0].shape[2], settings.hidden, settings.latent
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(seed, "literal weights", c))
            self.generator = LiteralGenerator(*widths).to(device)
            self.discriminator = LiteralDiscriminator(*widths).to(device)
        self.g_optimiser = Adam(self.generator, settings.generator_lr)
        self.d_optimiser = Adam(self.discriminator, settings.discriminator_lr)

    def epoch(self) -> dict[str, float]:
        """One step of 𝔻 up Eq. 4, then one step of 𝔾 down its third sum; a row of curves, per graph of class c."""
        x, a = self.generator(*self.input)
        p = propagation(a)
        sampled, probability = self._sample(a.detach()), a.detach().clamp(0, 1)
        flipped = self.oracle.flips(sampled, self.c).float().to(a.device)
        generated = self.discriminator(x.detach(), p.detach(), self.nodes)
        d_loss = -equation_4(self.discriminator(*self.real), generated, flipped)
        self.d_optimiser.zero_grad()
        d_loss.backward()
        self.d_optimiser.step()
        g_loss = logsigmoid(-self.discriminator(x, p, self.nodes)).sum()
        self.g_optimiser.zero_grad()
        g_loss.backward()
        self.g_optimiser.step()
        return {
            "discriminator_loss": float(d_loss.detach()) / len(x),
            "generator_loss": float(g_loss.detach()) / len(x),
            "flip_rate": float(flipped.mean()),
            "edits": float((sampled.adjacency != self.graphs.adjacency).sum()) / 2 / len(x),
            # Pairs on which two samples differ: Σ_{u<v} 2p(1 - p).
            "diversity": float((probability * (1 - probability)).sum()) / len(x),
        }

    def _sample(self, a: Tensor) -> GraphBatch:
        """One sample of each A_g, about which the oracle is asked."""
        coins = torch.rand(a.shape, generator=self.rng)  # of the pairs u < v
        upper = ((coins < a.cpu()) & self.pair_mask).to(torch.uint8)
        return self.graphs.candidates(upper + upper.transpose(1, 2), torch.arange(len(a)))


# -- The method ------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class LiteralRSGGCE(Explainer):
    """RSGG-CE to the letter of its paper; what the paper leaves open is listed at the top of this file."""

    epochs: int = hyper(500, "epochs", space=Choice(tuple(range(50, 501, 50))), paper=500, at_least=1)
    generator_lr: float = hyper(1e-3, "generator lr", space=LEARNING_RATES, paper=1e-3, above=0)
    discriminator_lr: float = hyper(1e-3, "discriminator lr", space=LEARNING_RATES, paper=1e-3, above=0)
    iterations: int = hyper(500, "T", paper=500, at_least=0, doc="checks among the missing pairs")
    hidden: int = hyper(32, "width", at_least=1, doc="of the first layer of both networks")
    latent: int = hyper(16, "dim Z", at_least=1)
    device: str = device_field()

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, generative=True, constraints=True
    )

    @classmethod
    def tiny(cls) -> LiteralRSGGCE:
        return cls(epochs=20)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        self.generators_: list[LiteralGenerator] = []
        self.history_: list[dict[str, float]] = []
        for c in range(oracle.n_classes):
            own = classes == c
            training = LiteralTraining(c, graphs.select(own), graphs.select(~own), oracle, self, seed)
            self.history_ += [{"class": c, "epoch": epoch, **training.epoch()} for epoch in range(self.epochs)]
            self.generators_.append(training.generator.cpu().eval())

    @torch.no_grad()
    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """A_g = A + Â cut to [0, 1], [B, N, N], from the generator of each graph's class."""
        x, adjacency, pairs = node_features(graphs), graphs.adjacency.float(), both_ways(graphs)
        width = len(self.generators_[0].first.weight)
        if x.shape[2] != width:
            raise GraphError(
                f"The generators were fitted on graphs with {width} features per node and these have {x.shape[2]}; "
                "give graphs like those, or fit again."
            )
        probabilities = torch.empty_like(adjacency)
        for c, generator in enumerate(self.generators_):
            own = classes == c
            if own.any():
                _, probabilities[own] = generator(x[own], adjacency[own], pairs[own], propagation(adjacency[own]))
        return probabilities.clamp(0, 1)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return sampled(
            graphs, classes, oracle, k, seed, self.edge_probabilities, order=ExistingThenMissing(),
            sampler=sampler_named("bernoulli"), iterations=self.iterations, reading="letter",
        )  # fmt: skip

    def _state(self) -> dict[str, Tensor]:
        return {f"{c}.{name}": t for c, g in enumerate(self.generators_) for name, t in g.state_dict().items()}

    def _restore(self, state: dict[str, Tensor]) -> None:
        self.generators_, self.history_ = [], []
        for c in range(1 + max(int(name.split(".")[0]) for name in state)):
            weights = {name.split(".", 1)[1]: t for name, t in state.items() if name.startswith(f"{c}.")}
            generator = LiteralGenerator(len(weights["first.weight"]), self.hidden, self.latent).eval()
            generator.load_state_dict(weights)
            self.generators_.append(generator)
