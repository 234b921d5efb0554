"""Training of `RSGGCE`: its generator 𝔾 and discriminator 𝔻, and how a pair of them learns from Eq. 4's idea.

There is one pair of networks per class c. 𝔻 maximises Eq. 4 of the paper,

    log 𝔻(real) + [Φ(G_g) ≠ c] log 𝔻(G_g) + log(1 - 𝔻(G_g)),

so its targets are 1 for real graphs of the other classes, 1/2 for generated graphs that flip the oracle, and 0 for
those that do not.

𝔾 does not minimise Eq. 4's third term, log(1 - 𝔻), as the paper has it (`rsgg.rsgg_ce.literal` does). Its graphs are
hard samples G_g ~ A_g, because the oracle is a black box and 𝔻 has to see real structure, and its gradient is that of
the score function: S samples per graph, each with the reward

    R(G_g) = [Φ(G_g) ≠ c] · 𝔻(G_g) - λ · edits(G, G_g),

less the mean reward of the other samples of the same graph. The indicator stands in 𝔾's reward because the paper says
that it keeps the generator from null residuals. 𝔻 scores highest what looks like a real graph of another class, which
keeps the edits few even with λ = 0. λ > 0 is the minimality that the paper's Conclusion wishes for.

Networks, optimiser, warm-up, widened fakes, averaging and the choice of the epoch are not the paper's either: the whole
list is at the top of `rsgg.rsgg_ce.explainer`.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import softplus

from rsgg.edges import EdgeBatch
from rsgg.graph import GraphBatch
from rsgg.oracles.counting import CountingOracle
from rsgg.progress import tell
from rsgg.rsgg_ce.adam import Adam, as_one_vector
from rsgg.rsgg_ce.training_pairs import Adjacency, Linked, PairBatch, edited_pairs, linked, training_pairs
from rsgg.seeds import seed_for, torch_rng

EPOCHS_BETWEEN_CHECKS = 25  # of how well the generator does on the training graphs
WARMUP_WINDOW = 10  # steps of the warm-up over which flips are counted
LEAST_FLIP_RATE = 0.01  # of an untrained generator's samples: with fewer flips there is nothing to learn from
NEGLIGIBLE = 1e-37  # smaller numbers, and products with them, take processors a hundred times as long

# -- The two networks ------------------------------------------------------------------------------------
#
# They read graphs as matrices [B, N, N] or, where those are too large, as lists of edges (`EdgeBatch`): `a @ h` means
# the same for both. Both are permutation equivariant or invariant unless node identities are switched on, which is
# fair only where the nodes of all graphs are the same things (ASD's brain regions).


class MessagePassing(nn.Module):
    """The weights of a layer h_v ← ReLU(W h_v + b + U Σ_w A_vw h_w / scale); `passed` computes it."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.own = nn.Linear(width_in, width_out)
        self.neighbours = nn.Linear(width_in, width_out, bias=False)

    def weights(self) -> tuple[Tensor, Tensor, Tensor]:
        """W, b and U."""
        return self.own.weight, self.own.bias, self.neighbours.weight


def passed(h: Tensor, adjacency: Linked, scale: Tensor, layers: nn.ModuleList) -> tuple[Tensor, ...]:
    """h [B, N, d] and the output of every layer; `scale` is the degree of each node (mean) or a constant (sum)."""
    weights = [weight for layer in layers if isinstance(layer, MessagePassing) for weight in layer.weights()]
    seen: tuple[Tensor, ...] = _Passed.apply(h, adjacency, scale, *weights)
    return seen


class _Passed(torch.autograd.Function):
    """All layers of a network, with the gradient written out by hand: a third of the time of automatic differentiation.

    Most of the rest would go into new memory, so work is done in place. The sums of a gradient are added up in the
    order that automatic differentiation takes, since the order decides about their last bits.
    """

    @staticmethod
    def forward(ctx: Any, h: Tensor, adjacency: Linked, scale: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        seen, messages = [h], []
        for own, bias, neighbours in _in_threes(weights):
            message = (adjacency @ h).div_(scale).flatten(0, 1)
            below, h = h, torch.addmm(bias, h.flatten(0, 1), own.T).addmm_(message, neighbours.T).relu_()
            h = h.view(*below.shape[:2], -1)
            seen.append(h)
            messages.append(message)
        ctx.adjacency = adjacency
        ctx.save_for_backward(scale, *weights, *seen, *messages)
        return tuple(seen)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        scale, *saved = ctx.saved_tensors
        n_layers = len(gradients) - 1
        layers = _in_threes(saved[: 3 * n_layers])
        seen, messages = saved[3 * n_layers : 4 * n_layers + 1], saved[4 * n_layers + 1 :]
        by_weights: list[Tensor] = []
        by_seen = gradients[-1]
        for i in reversed(range(n_layers)):
            own, _, neighbours = layers[i]
            by_sum = torch.ops.aten.threshold_backward(by_seen, seen[i + 1], 0).flatten(0, 1)
            by_weights = [by_sum.T @ seen[i].flatten(0, 1), by_sum.sum(0), by_sum.T @ messages[i], *by_weights]
            if i > 0 or ctx.needs_input_grad[0]:
                by_message = (by_sum @ neighbours).view_as(seen[i]).div_(scale)
                by_seen = (ctx.adjacency @ by_message).add_(gradients[i])
                by_seen.flatten(0, 1).addmm_(by_sum, own)
        return by_seen, None, None, *by_weights


def _in_threes(weights: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
    return [tuple(weights[i : i + 3]) for i in range(0, len(weights), 3)]


def _degree(adjacency: Linked) -> Tensor:
    return adjacency.sum(2, keepdim=True) if isinstance(adjacency, Tensor) else adjacency.degree()


class Encoder(nn.Module):
    """ENC(X, A) → Z, [B, N, latent]: mean aggregation, every layer feeds the output."""

    def __init__(
        self, n_features: int, hidden: int, latent: int, layers: int, identities: int, identity_width: int = 16
    ):
        super().__init__()
        self.identity = nn.Embedding(identities, identity_width) if identities else None
        widths = [n_features + (identity_width if identities else 0)] + [hidden] * layers
        self.layers = nn.ModuleList(MessagePassing(a, b) for a, b in itertools.pairwise(widths))
        self.out = nn.Linear(sum(widths), latent)

    def forward(self, x: Tensor, adjacency: Linked) -> Tensor:
        if self.identity is not None:
            x = torch.cat((x, self.identity.weight.expand(len(x), -1, -1)), 2)
        degree = _degree(adjacency).clamp(min=1)
        z: Tensor = self.out(torch.cat(passed(x, adjacency, degree, self.layers), 2))
        return z


class Generator(nn.Module):
    """𝔾: a graph auto-encoder whose output is a residual, A_g = squash(A + tanh(Â)).

    DEC is an inner product with learned signs, Â_uv = Σ_k s_k z_uk z_vk + b: without signs and bias the neighbours'
    Z agree, the residual of every edge is positive and nothing is ever removed. Existing edges and missing pairs
    have signs and a bias of their own, since removing and adding are different decisions. A + tanh(Â) lies in
    (-1, 2); squash(x) = sigmoid(κ (x - 1/2)) turns it into a probability without the dead zones of a hard cut.

    κ and the first biases come from the size of the graphs, for existing edges and for missing pairs apart. κ is such
    that the residual that changes least still makes a tenth of a spurious edit per graph: steeper saturates early,
    flatter cannot leave large graphs alone. The biases are such that the untrained generator removes and adds a
    given number of edges per graph.
    """

    sharpness: Tensor

    def __init__(self, encoder: Encoder, latent: int, edges: float, missing: float, removals: float, additions: float):
        super().__init__()
        self.encoder = encoder
        self.pairs = (max(missing, 2.0), max(edges, 2.0))  # index 0: missing pairs, index 1: existing edges
        self.register_buffer("sharpness", torch.tensor([math.log(10 * count) / 1.5 for count in self.pairs]))
        sign = torch.ones(latent)
        sign[1::2] = -1
        self.signs = nn.Parameter(0.1 * torch.stack((sign, sign)))
        self.bias = nn.Parameter(torch.zeros(2))
        self.start(removals, additions)

    @torch.no_grad()
    def start(self, removals: float, additions: float) -> None:
        """Set the biases so that the untrained generator makes that many removals and additions per graph."""
        added, removed = min(additions / self.pairs[0], 0.5), min(removals / self.pairs[1], 0.5)
        sharpness = [math.log(10 * count) / 1.5 for count in self.pairs]
        residuals = (_logit(added) / sharpness[0] + 0.5, -_logit(removed) / sharpness[1] - 0.5)
        self.bias.copy_(torch.tensor([math.atanh(max(min(r, 0.95), -0.95)) for r in residuals]))

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """Logits of A_g, [B, N, N]."""
        return self._squashed(adjacency, self.residual(x, adjacency))

    def residual(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """Â, [B, N, N]: with the signs and the bias of existing edges or of missing pairs."""
        missing, existing = self._residuals(x, adjacency)
        return torch.where(adjacency > 0, existing, missing)

    def _residuals(self, x: Tensor, adjacency: Linked) -> list[Tensor]:
        z = self.encoder(x, adjacency)
        return [self.residual_of_kind(z, kind) for kind in (0, 1)]

    def residual_of_kind(self, z: Tensor, kind: int) -> Tensor:
        """Â of all pairs from Z, [B, N, N], as if all of them were missing (kind 0) or edges (kind 1)."""
        return (z * self.signs[kind]) @ z.transpose(1, 2) / z.shape[2] ** 0.5 + self.bias[kind]

    def of_entries(self, x: Tensor, adjacency: Linked, is_edge: Tensor, entries: Callable[[Tensor], Tensor]) -> Tensor:
        """The same logits for P entries of the matrices only, which `entries` reads from [B, N, N] as [B, P]."""
        missing, existing = (entries(residual) for residual in self._residuals(x, adjacency))
        return self._squashed(is_edge, torch.where(is_edge > 0, existing, missing))

    def of_pairs(self, x: Tensor, graphs: EdgeBatch, u: Tensor, v: Tensor, is_edge: Tensor) -> Tensor:
        """The same logits for the pairs u, v [B, P] of each graph only; `is_edge` says which of them are edges."""
        z = self.encoder(x, graphs)
        first = torch.arange(len(z), device=z.device)[:, None] * z.shape[1]
        residual = self.of_nodes(z.flatten(0, 1), (first + u).flatten(), (first + v).flatten(), is_edge.flatten())
        return self._squashed(is_edge, residual.reshape(u.shape))

    def of_nodes(self, z: Tensor, u: Tensor, v: Tensor, is_edge: Tensor) -> Tensor:
        """Â of the pairs u, v [P] of nodes with the embeddings z [N, latent]."""
        product = z.index_select(0, u) * z.index_select(0, v)
        missing, present = (product @ self.signs.T / z.shape[1] ** 0.5 + self.bias).unbind(1)
        return torch.where(is_edge > 0, present, missing)

    def uniform(self, adjacency: Tensor) -> Tensor:
        """The same logits without an encoder: one probability for existing edges, one for missing pairs."""
        return self._squashed(adjacency, torch.where(adjacency > 0, self.bias[1], self.bias[0]))

    def _squashed(self, adjacency: Tensor, residual: Tensor) -> Tensor:
        sharpness = torch.where(adjacency > 0, self.sharpness[1], self.sharpness[0])
        return sharpness * (adjacency + torch.tanh(residual) - 0.5)


def _logit(p: float) -> float:
    return math.log(p / (1 - p))


class Discriminator(nn.Module):
    """𝔻: is this a real graph of the other class? A logit per graph, from the structure alone.

    It sees the sampled graph itself: degrees (and soft counts of the nodes of degree 0 to 3), sum-aggregating
    layers, sum pooling of every layer. It is not shown the features of the original graph: they would tell it whether
    the graph was changed.
    """

    degree: Tensor
    n_nodes: Tensor
    of_degree: Tensor  # what a node of degree 0, 1, … brings along, [N, 6]

    def __init__(self, hidden: int, layers: int, degree: float, n_nodes: int, identities: int, identity_width: int = 8):
        super().__init__()
        self.register_buffer("degree", torch.tensor(degree))
        self.register_buffer("n_nodes", torch.tensor(float(n_nodes)))
        self.register_buffer("of_degree", self._described(torch.arange(float(n_nodes))), persistent=False)
        self.identity = nn.Embedding(identities, identity_width) if identities else None
        widths = [6 + (identity_width if identities else 0)] + [hidden] * layers
        self.layers = nn.ModuleList(MessagePassing(a, b) for a, b in itertools.pairwise(widths))
        self.head = nn.Sequential(nn.Linear(sum(widths), hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def _described(self, degree: Tensor) -> Tensor:
        """1, the degree, and whether it is 0, 1, 2 or 3, softly."""
        near = [torch.exp(-((degree - i) ** 2)) for i in range(4)]
        described = torch.stack((torch.ones_like(degree), degree / self.degree, *near), 1)
        return described.masked_fill(described < NEGLIGIBLE, 0)

    def forward(self, adjacency: Adjacency, node_mask: Tensor) -> Tensor:
        links = linked(adjacency)
        degree = _degree(links).squeeze(2)
        if degree.shape[1] > len(self.of_degree):  # graphs that are larger than those it has seen
            self.of_degree = self._described(torch.arange(float(degree.shape[1]), device=degree.device))
        h = self.of_degree.index_select(0, degree.flatten().long()).unflatten(0, degree.shape)
        if self.identity is not None:
            h = torch.cat((h, self.identity.weight.expand(len(h), -1, -1)), 2)
        nodes = torch.cat(passed(h, links, self.degree, self.layers), 2)
        if not node_mask.all():
            nodes = nodes * node_mask[..., None]
        logit: Tensor = self.head(nodes.sum(1) / self.n_nodes.sqrt()).squeeze(1)
        return logit


# -- What a class learns from and what comes of it -------------------------------------------------------


@dataclass(frozen=True)
class TrainingSettings:
    """The hyper-parameters of `RSGGCE` that concern training."""

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
class ClassData:
    """What the networks of class c learn from.

    `graphs` are its training graphs with the encoder's `features` [B, N, F]; `real` are graphs of the other classes.
    `fixed` are the pairs of `graphs` that may not be edited, bool [B, N, N] (upper triangle); None: all may.
    """

    c: int
    graphs: GraphBatch
    features: Tensor
    real: GraphBatch
    oracle: CountingOracle
    fixed: Tensor | None = None


@dataclass
class TrainedClass:
    """The generator of a class and the curves of its training, one row per epoch.

    The generator's weights are averaged over steps; `quality` is how well it did on the training graphs.
    """

    generator: Generator
    history: list[dict[str, float]] = field(default_factory=list)
    quality: float = float("-inf")


class Architecture(Protocol):
    """The hyper-parameters that concern the networks."""

    @property
    def hidden(self) -> int: ...
    @property
    def latent(self) -> int: ...
    @property
    def layers(self) -> int: ...
    @property
    def removals(self) -> float: ...
    @property
    def additions(self) -> float: ...
    @property
    def identities(self) -> bool: ...


def build_generator(graphs: GraphBatch, n_features: int, settings: Architecture, seed: int) -> Generator:
    """An untrained generator for graphs like these."""
    edges = graphs.n_edges.double()
    missing = graphs.sizes * (graphs.sizes - 1) / 2 - edges
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "generator"))
        return empty_generator(n_features, graphs.n_nodes, float(edges.mean()), float(missing.mean()), settings)


def empty_generator(n_features: int, n_nodes: int, edges: float, missing: float, settings: Architecture) -> Generator:
    """A generator for graphs of n_nodes with so many edges and missing pairs on average; its weights are torch's."""
    identities = n_nodes if settings.identities else 0
    encoder = Encoder(n_features, settings.hidden, settings.latent, settings.layers, identities)
    return Generator(encoder, settings.latent, edges, missing, settings.removals, settings.additions)


def build_discriminator(graphs: GraphBatch, settings: Architecture, seed: int) -> Discriminator:
    """An untrained discriminator for graphs like these."""
    degree = float(2 * graphs.n_edges.double().mean() / graphs.sizes.double().mean())
    identities = graphs.n_nodes if settings.identities else 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "discriminator"))
        return Discriminator(settings.hidden, settings.layers, max(degree, 1.0), graphs.n_nodes, identities)


# -- Training by Eq. 4 -----------------------------------------------------------------------------------


class ClassTraining:
    """The two networks of a class, their optimisers, and the steps that train them.

    `rsgg.rsgg_ce.left_out` overrides one step at a time, to see which of them matter.
    """

    averaging_decay: ClassVar[float] = 0.98  # the generator that is kept is a moving average of the trained one
    gradient_norm: ClassVar[float] = 1.0  # to which gradients of the generator are clipped

    def __init__(self, data: ClassData, settings: TrainingSettings, seed: int, device: str) -> None:
        self.data, self.settings, self.device = data, settings, device
        self.rng = torch_rng(seed, "training", data.c)
        class_seed = seed_for(seed, data.c)
        self.generator = build_generator(data.graphs, data.features.shape[2], settings, class_seed).to(device)
        self.discriminator = build_discriminator(data.graphs, settings, class_seed).to(device)
        self.averaged = copy.deepcopy(self.generator)
        self.averaged_vector = as_one_vector(self.averaged)
        self.g_optimiser = Adam(self.generator, settings.generator_lr)
        self.d_optimiser = Adam(self.discriminator, settings.discriminator_lr)
        # Graphs as matrices or as lists of edges.
        self.own = training_pairs(data.graphs, data.features, device, data.fixed)
        self.real = training_pairs(data.real, data.features[:0], device)
        self.node_mask, self.real_mask = data.graphs.node_mask.to(device), data.real.node_mask.to(device)

    def run(self) -> TrainedClass:
        """Train both networks; the generator returned is the one that did best on the training graphs."""
        self.warm_up()
        trained, epochs = TrainedClass(copy.deepcopy(self.averaged)), self.settings.epochs
        for epoch in range(epochs):
            self._set_rate(epoch)
            trained.history.append({"class": self.data.c, "epoch": epoch, **self.step(epoch)})
            done = epoch + 1
            if done % EPOCHS_BETWEEN_CHECKS == 0 or done == epochs:
                last = trained.history[-1]
                said = f"{last['flip_rate']:.2f} of the samples flip, with {last['edits']:.1f} edits"
                tell(f"class {self.data.c}: epoch {done} of {epochs}, {said}")
            if done * 2 >= epochs and (done % EPOCHS_BETWEEN_CHECKS == 0 or done == epochs):
                quality = self._quality()
                if quality > trained.quality:
                    trained.generator, trained.quality = copy.deepcopy(self.averaged), quality
        trained.generator.cpu()
        return trained

    def warm_up(self) -> None:
        """Steps in which only 𝔻 learns, and in which the untrained generator finds out how many edits flip a graph.

        A generator whose samples never flip the oracle has a reward of nothing but zeros. So as long as hardly any of
        them does, it starts again with twice the removals: graphs with many cycles need many cuts at once.
        """
        removals, flips = self.settings.removals, []
        for epoch in range(-self.settings.warmup, 0):
            self._set_rate(epoch)
            flips.append(self.step(epoch)["flip_rate"])
            if len(flips) == WARMUP_WINDOW:
                if sum(flips) < WARMUP_WINDOW * LEAST_FLIP_RATE and 2 * removals <= self.generator.pairs[1]:
                    removals *= 2
                    for generator in (self.generator, self.averaged):
                        generator.start(removals, self.settings.additions)
                flips = []

    def _set_rate(self, epoch: int) -> None:
        """Rising over the first fifth of the training, so that 𝔾 does not outrun 𝔻; falling over the second half."""
        share = max(epoch, 0) / self.settings.epochs
        self.g_optimiser.lr = self.settings.generator_lr * max(0.05, min(1.0, 5 * share, 2 * (1 - share)))

    def step(self, epoch: int) -> dict[str, float]:
        """Sample graphs, show them to the oracle, train 𝔻 and, after the warm-up (epoch ≥ 0), 𝔾; a row of curves.

        Of a step of the warm-up only the flip rate is returned: nothing else of it is used.
        """
        rows, learns = torch.randint(len(self.data.graphs), (self.settings.batch,), generator=self.rng), epoch >= 0
        with torch.set_grad_enabled(learns):
            pairs = self.own.pairs(self.generator, rows, self.rng)
        logits, samples = pairs.logits.detach(), self.settings.samples
        p = torch.sigmoid(logits)
        sampled = self._sample(p, pairs, samples)  # G_g ~ A_g, bool [S, B, P]
        generated, owner = self.own.assemble(sampled, pairs, rows), rows.repeat(samples)
        flipped = self._flips(generated, owner)
        d_loss = self._discriminator_step(generated, owner, flipped, self._exaggerated(logits, pairs, rows), rows)
        flip_rate = float(flipped.mean())
        if not learns:
            return {"flip_rate": flip_rate}
        edits = edited_pairs(sampled, pairs)
        with torch.no_grad():
            d_logit = self.discriminator(generated, self.node_mask[owner])
        price = self.settings.minimality * min(1.0, 2 * epoch / self.settings.epochs)  # λ rises over the first half
        reward = self._reward(flipped, d_logit).reshape(edits.shape) - price * edits
        as_numbers = sampled.float()
        self._generator_step(pairs, as_numbers, reward)
        return {
            "discriminator_loss": d_loss,
            "generator_loss": float(softplus(-d_logit).mean()),  # -log 𝔻(G_g)
            "flip_rate": flip_rate,
            "edits": float(edits.mean()),
            **_collapse_curves(as_numbers, p, pairs),
        }

    def _reward(self, flipped: Tensor, d_logit: Tensor) -> Tensor:
        """[Φ(G_g) ≠ c] · 𝔻(G_g) of each generated graph."""
        return flipped * torch.sigmoid(d_logit)

    def _sample(self, p: Tensor, pairs: PairBatch, samples: int = 1) -> Tensor:
        """Which pairs are edges of the sampled graphs, bool [S, B, P]: each with its probability, p [B, P]."""
        uniform = torch.rand(samples, *p.shape, generator=self.rng).to(self.device)
        return (uniform < p).logical_and_(pairs.is_pair)

    def _exaggerated(self, logits: Tensor, pairs: PairBatch, rows: Tensor) -> Adjacency:
        """One sample per graph with all logits scaled down by a random factor: graphs with many more edits.

        Without them 𝔻 would never have seen such graphs and might score them high; 𝔾 would then move there and
        saturate before 𝔻 has learnt otherwise.
        """
        scale = torch.rand(len(logits), 1, generator=self.rng).to(self.device)
        return self.own.assemble(self._sample(torch.sigmoid(logits * scale), pairs), pairs, rows)

    def _flips(self, generated: Adjacency, owner: Tensor) -> Tensor:
        """[Φ(G_g) ≠ c] of each generated graph: one oracle call each."""
        return self.own.flips(generated, owner, self.data.c, self.data.oracle).float().to(self.device)

    def _discriminator_step(
        self, generated: Adjacency, owner: Tensor, flipped: Tensor, exaggerated: Adjacency, exaggerated_owner: Tensor
    ) -> float:
        """As many generated graphs as real ones; targets 1 (real), 1/2 (flipped), 0 (not flipped)."""
        shown = torch.randperm(len(generated), generator=self.rng)[: self.settings.batch]
        flips = torch.cat((flipped[shown], self._flips(exaggerated, exaggerated_owner)))
        owners = torch.cat((owner[shown], exaggerated_owner))
        real = torch.randint(len(self.data.real), (len(flips),), generator=self.rng)
        graphs = self.own.joined(self.real.originals(real), self.own.select(generated, shown), exaggerated)
        mask = torch.cat((self.real_mask[real], self.node_mask[owners]))
        target = torch.cat((torch.ones(len(real), device=self.device), flips / 2))
        loss = cross_entropy(self.discriminator(graphs, mask), target)
        self.d_optimiser.zero_grad()
        loss.backward()
        self.d_optimiser.step()
        return float(loss.detach())

    def _generator_step(self, pairs: PairBatch, sampled: Tensor, reward: Tensor) -> None:
        """∇ E[R] = E[(R - baseline) ∇ log A_g(G_g)], the other samples of the same graph being the baseline."""
        samples = len(sampled)
        advantage = self._scaled((reward - reward.mean(0)) * samples / (samples - 1))
        # log A_g(G_g) is the sum of G_uv l_uv - softplus(l_uv) over pairs with logits l. Its value is not needed, and
        # its gradient takes a third of the time by hand.
        weight = (advantage * (-1 / advantage.numel()))[..., None] * pairs.is_pair
        logits = pairs.logits.detach()
        by_softplus = torch.ops.aten.softplus_backward(-weight.sum(0), logits, 1.0, 20.0)
        self.g_optimiser.zero_grad()
        pairs.logits.backward(by_softplus + (weight * sampled).sum(0))
        torch.nn.utils.clip_grad_norm_(self.generator.parameters(), self.gradient_norm)
        self.g_optimiser.step()
        self.averaged_vector.lerp_(self.g_optimiser.vector, 1 - self.averaging_decay)

    def _scaled(self, advantage: Tensor) -> Tensor:
        """Advantages of a batch, [S, B], brought to deviation 1."""
        return advantage / advantage.std().clamp(min=1e-3)

    @torch.no_grad()
    def _quality(self) -> float:
        """Correctness minus sparsity of one sample of every training graph: what the kept generator is chosen by."""
        graphs, flips, edits = self.data.graphs, [], []
        for rows, generated, edited in self.own.one_sample_each(self.averaged, self.rng):
            flips.append(self._flips(generated, rows))
            edits.append(edited)
        sparsity = torch.cat(edits).cpu() / (graphs.sizes + graphs.n_edges)
        return float(torch.cat(flips).double().mean() - sparsity.double().mean())


def _collapse_curves(sampled: Tensor, p: Tensor, pairs: PairBatch) -> dict[str, float]:
    """Signs of mode collapse. `sampled` is [S, B, P], `p` [B, P] are the probabilities that it was drawn from.

    `diversity` is the expected number of pairs on which two samples of a graph differ, `score_spread` the standard
    deviation of the removal probabilities inside a graph.
    """
    share, is_edge = sampled.mean(0), pairs.is_edge * pairs.is_pair
    removals, edges = torch.where(is_edge > 0, 1 - p, 0), is_edge.sum(1)
    variance = removals.pow(2).sum(1) / edges.clamp(min=1) - (removals.sum(1) / edges) ** 2
    return {
        "diversity": float((2 * share * (1 - share)).sum(1).mean()),
        "score_spread": float(variance.clamp(min=0).sqrt().mean()),
    }
