"""Training one class's generator and discriminator: Eq. 4, with gradients that reach the edge probabilities.

Eq. 4 as written. 𝔻 maximises log 𝔻(real) + [Φ(G_g) ≠ c] log 𝔻(G_g) + log(1 - 𝔻(G_g)): its targets are 1 for real
graphs of the other class, 1/2 for generated graphs that flip the oracle, 0 for those that do not. 𝔾 fools 𝔻.

A generated graph is a hard sample G_g ~ A_g, because the oracle is a black box and 𝔻 has to see real structure. So
the generator's gradient is the score function's: S samples per graph, each rewarded with

    R(G_g) = [Φ(G_g) ≠ c] · 𝔻(G_g) - λ · edits(G, G_g),

the mean over the samples of the same graph as baseline. The indicator is Eq. 4's second term, which the paper
says keeps the generator from null residuals. 𝔻 scores highest what looks like a real graph of the other class: that
is what keeps the edits few when λ = 0, the paper's method. λ > 0 is the minimality that its Conclusion wishes for.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import softplus

from rsgg.graph import GraphBatch
from rsgg.rsgg_ce.networks import Adjacency, Discriminator, Encoder, Generator
from rsgg.oracles.oracle import Oracle
from rsgg.seeds import seed_for, torch_rng
from rsgg.rsgg_ce.views import Coins, view_of


@dataclass(frozen=True)
class Recipe:
    """How long, how fast and how wide: the hyper-parameters of `RSGGCE` that concern training."""

    epochs: int
    generator_lr: float
    discriminator_lr: float
    minimality: float
    warmup: int
    batch: int
    samples: int
    hidden: int
    latent: int
    layers: int
    removals: float
    additions: float
    identities: bool


@dataclass(frozen=True)
class Task:
    """Class c: its training graphs with the encoder's features, and the real graphs of the other classes."""

    c: int
    graphs: GraphBatch
    features: Tensor
    real: GraphBatch
    oracle: Oracle


@dataclass
class Outcome:
    """The generator, averaged over the last steps and chosen on training graphs, and the curves of its training."""

    generator: Generator
    history: list[dict[str, float]] = field(default_factory=list)
    quality: float = float("-inf")


AVERAGING = 0.98  # weights of the generator that is kept are a moving average of those that are trained
ENOUGH = 0.01  # flips among an untrained generator's samples: with fewer there is nothing to learn from
LOOK = 10  # steps of the warm-up after which its flips are counted
CHECK_EVERY = 25  # epochs between two looks at how Algorithm 1 would do on the training graphs


def build_generator(graphs: GraphBatch, n_features: int, recipe: Recipe, seed: int) -> Generator:
    """An untrained generator for graphs like these."""
    edges = graphs.n_edges.double()
    missing = graphs.sizes * (graphs.sizes - 1) / 2 - edges
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "generator"))
        return empty_generator(n_features, graphs.n_nodes, float(edges.mean()), float(missing.mean()), recipe)


def empty_generator(n_features: int, n_nodes: int, edges: float, missing: float, recipe: Recipe) -> Generator:
    encoder = Encoder(n_features, recipe.hidden, recipe.latent, recipe.layers, n_nodes if recipe.identities else 0)
    return Generator(encoder, recipe.latent, edges, missing, recipe.removals, recipe.additions)


def build_discriminator(graphs: GraphBatch, recipe: Recipe, seed: int) -> Discriminator:
    degree = float(2 * graphs.n_edges.double().mean() / graphs.sizes.double().mean())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "discriminator"))
        return Discriminator(
            recipe.hidden, recipe.layers, max(degree, 1.0), graphs.n_nodes, graphs.n_nodes if recipe.identities else 0
        )


def fit_class(task: Task, recipe: Recipe, seed: int, device: str = "cpu") -> Outcome:
    """Train one class's pair of networks by Eq. 4; the generator returned did best on the training graphs."""
    return _Training(task, recipe, seed, device).run()


class _Training:
    """The loop of `fit_class` and what it carries from step to step."""

    def __init__(self, task: Task, recipe: Recipe, seed: int, device: str) -> None:
        self.task, self.recipe, self.device = task, recipe, device
        self.rng = torch_rng(seed, "training", task.c)
        self.generator = build_generator(task.graphs, task.features.shape[2], recipe, seed_for(seed, task.c)).to(device)
        self.discriminator = build_discriminator(task.graphs, recipe, seed_for(seed, task.c)).to(device)
        self.averaged = copy.deepcopy(self.generator)
        self.g_optimiser = torch.optim.Adam(self.generator.parameters(), lr=recipe.generator_lr)
        self.d_optimiser = torch.optim.Adam(self.discriminator.parameters(), lr=recipe.discriminator_lr)
        self.view = view_of(task.graphs, task.features, device)  # its graphs are matrices or lists of edges
        self.real = view_of(task.real, task.features[:0], device)

    def run(self) -> Outcome:
        self._warm_up()
        outcome = Outcome(copy.deepcopy(self.averaged))
        for epoch in range(self.recipe.epochs):
            self._set_rate(epoch)
            outcome.history.append({"class": self.task.c, "epoch": epoch, **self._step(epoch)})
            done = epoch + 1
            if done * 2 >= self.recipe.epochs and (done % CHECK_EVERY == 0 or done == self.recipe.epochs):
                quality = self._quality()
                if quality > outcome.quality:
                    outcome.generator, outcome.quality = copy.deepcopy(self.averaged), quality
        outcome.generator.cpu()
        return outcome

    def _warm_up(self) -> None:
        """Steps in which only 𝔻 learns, and in which the untrained generator finds out how many edits flip a graph.

        A generator whose samples never flip the oracle has a reward of nothing but zeros. So as long as hardly any of
        them does, it starts again with twice the removals: graphs with many cycles need many cuts at once.
        """
        removals, flips = self.recipe.removals, []
        for epoch in range(-self.recipe.warmup, 0):
            self._set_rate(epoch)
            flips.append(self._step(epoch)["flip_rate"])
            if len(flips) == LOOK:
                if sum(flips) < LOOK * ENOUGH and 2 * removals <= self.generator.pairs[1]:
                    removals *= 2
                    for generator in (self.generator, self.averaged):
                        generator.start(removals, self.recipe.additions)
                flips = []

    def _set_rate(self, epoch: int) -> None:
        """Rising over the first fifth of the training, so that 𝔾 cannot outrun 𝔻; falling over the second half."""
        share = max(epoch, 0) / self.recipe.epochs
        for group in self.g_optimiser.param_groups:
            group["lr"] = self.recipe.generator_lr * max(0.05, min(1.0, 5 * share, 2 * (1 - share)))

    def _step(self, epoch: int) -> dict[str, float]:
        pick = torch.randint(len(self.task.graphs), (self.recipe.batch,), generator=self.rng)
        coins = self.view.coins(self.generator, pick, self.rng)
        logits = coins.logits.detach()
        bits = self._sample(logits.expand(self.recipe.samples, -1, -1), coins.real)  # G_g ~ A_g, [S, B, pairs]
        sampled, owner = self.view.assemble(bits, coins, pick), pick.repeat(self.recipe.samples)
        flipped = self._flips(sampled, owner)
        d_loss = self._discriminator_step(sampled, owner, flipped, self._widened(logits, coins, pick), pick)
        edits = ((bits != coins.existing) & coins.real).sum(2).float()
        with torch.no_grad():
            d_logit = self.discriminator(sampled, self.task.graphs.node_mask[owner].to(self.device))
        if epoch >= 0:
            price = self.recipe.minimality * min(1.0, 2 * epoch / self.recipe.epochs)  # λ rises over the first half
            reward = (flipped * torch.sigmoid(d_logit)).reshape(edits.shape) - price * edits
            self._generator_step(coins, bits, reward)
        return self._curves(d_loss, d_logit, flipped, edits, bits, torch.sigmoid(logits), coins)

    def _sample(self, logits: Tensor, real: Tensor) -> Tensor:
        tossed = torch.rand(logits.shape, generator=self.rng).to(self.device)
        return ((tossed < torch.sigmoid(logits)) & real).float()

    def _widened(self, logits: Tensor, coins: Coins, pick: Tensor) -> Adjacency:
        """One sample per graph of the generator at a random temperature: graphs with many more edits than it makes now.

        Without them 𝔻 has never seen such graphs, may like them, and 𝔾 runs there and saturates before 𝔻 can object.
        """
        coolness = torch.rand(len(logits), 1, generator=self.rng).to(self.device)
        return self.view.assemble(self._sample(logits * coolness, coins.real)[None], coins, pick)

    def _flips(self, sampled: Adjacency, owner: Tensor) -> Tensor:
        """[Φ(G_g) ≠ c] of each sampled graph: one oracle call each."""
        return (self.view.classes(sampled, owner, self.task.oracle) != self.task.c).float().to(self.device)

    def _discriminator_step(
        self, sampled: Adjacency, owner: Tensor, flipped: Tensor, widened: Adjacency, widened_owner: Tensor
    ) -> float:
        """As many generated graphs as real ones; targets 1 (real), 1/2 (flipped), 0 (not flipped)."""
        shown = torch.randperm(len(sampled), generator=self.rng)[: self.recipe.batch]
        flips = torch.cat((flipped[shown], self._flips(widened, widened_owner)))
        owners = torch.cat((owner[shown], widened_owner))
        real = torch.randint(len(self.task.real), (len(flips),), generator=self.rng)
        graphs = self.view.joined(self.real.take(real), self.view.some(sampled, shown), widened)
        mask = torch.cat((self.task.real.node_mask[real], self.task.graphs.node_mask[owners])).to(self.device)
        target = torch.cat((torch.ones(len(real), device=self.device), flips / 2))
        loss = cross_entropy(self.discriminator(graphs, mask), target)
        self.d_optimiser.zero_grad()
        loss.backward()
        self.d_optimiser.step()
        return float(loss.detach())

    def _generator_step(self, coins: Coins, bits: Tensor, reward: Tensor) -> None:
        """∇ E[R] = E[(R - baseline) ∇ log A_g(G_g)], the other samples of the same graph being the baseline."""
        samples = len(bits)
        advantage = (reward - reward.mean(0)) * samples / (samples - 1)
        advantage = advantage / advantage.std().clamp(min=1e-3)
        log_likelihood = -(softplus(coins.logits) - bits * coins.logits)  # of each coin
        loss = -(advantage * (log_likelihood * coins.real).sum(2)).mean()
        self.g_optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.generator.parameters(), 1.0)
        self.g_optimiser.step()
        with torch.no_grad():
            for kept, trained in zip(self.averaged.parameters(), self.generator.parameters(), strict=True):
                kept.lerp_(trained, 1 - AVERAGING)

    @staticmethod
    def _curves(
        d_loss: float, d_logit: Tensor, flipped: Tensor, edits: Tensor, bits: Tensor, p: Tensor, coins: Coins
    ) -> dict[str, float]:
        """The losses of both networks and the signs of mode collapse: no flips, no spread, no diversity."""
        existing = coins.existing * coins.real
        removals = torch.where(existing > 0, 1 - p, torch.nan)
        spread = removals.nan_to_num(0).pow(2).sum(1) / existing.sum(1).clamp(min=1) - torch.nanmean(removals, 1) ** 2
        return {
            "discriminator_loss": d_loss,
            "generator_loss": float(softplus(-d_logit).mean()),  # -log 𝔻(G_g)
            "flip_rate": float(flipped.mean()),
            "edits": float(edits.mean()),
            "diversity": float(
                (2 * bits.mean(0) * (1 - bits.mean(0))).sum(1).mean()
            ),  # pairs on which two samples differ
            "score_spread": float(spread.clamp(min=0).sqrt().mean()),  # of the removal scores inside a graph
        }

    @torch.no_grad()
    def _quality(self) -> float:
        """Correctness minus sparsity of one sample of every training graph: what the kept generator is chosen by."""
        graphs, flips, edits = self.task.graphs, [], []
        for pick, sampled, edited in self.view.samples(self.averaged, self.rng):
            flips.append(self._flips(sampled, pick))
            edits.append(edited)
        sparsity = torch.cat(edits).cpu() / (graphs.sizes + graphs.n_edges)
        return float(torch.cat(flips).double().mean() - sparsity.double().mean())
