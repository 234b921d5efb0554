"""G-CounteRGAN: CounteRGAN (Nemirovsky et al. 2022) on adjacency matrices seen as images (Prado-Romero et al. 2023).

One GAN per class c. A convolutional generator turns the image A of a graph of class c into a residual r in [-1, 1], and
x' = A + r has to pass for a graph of the other classes, to change little and to leave class c. With p_c the relaxed
oracle's probability of class c and w its score of not being of class c, scaled to mean 1:

    D:  min  mean_A w(A) BCE(D(A), 1) + mean_x' BCE(D(x'), 0)       (A: graphs of other classes)
    G:  min  BCE(D(x'), 1) + λ Σ|r| - log(1 - p_c(x' cut to [0, 1]))

The counterfactual is [x' > threshold], shown to the oracle once. To an image a node is its number: what can be learnt
is an edit at certain places, so results depend on how nodes are numbered (compare `TreeCycles(order="random")`).

Deviations from the original paper:

1. 16 channels instead of 64, which is enough on a CPU.
2. The dense layer in the generator's bottleneck would grow as n⁴ (5.4·10⁹ weights for 116 nodes). It is factorised: a
   matrix of rank 64, so that every output still sees every position and the weights grow as n².
3. r is symmetrised and has a zero diagonal; images are padded with zeros to a multiple of four.
4. Training oscillates: every few iterations the training graphs' counterfactuals are shown to the oracle, and the
   generator with the most flips, then the fewest edits, is kept. These are calls like any other.
5. D's real graphs are those that the oracle puts into other classes, as in the adaptation to graphs; the original
   shows all graphs, those of class c with next to no weight.
6. What is found is shown to the oracle once; if the class has not changed, it is a failure and says so.
7. Graphs of different sizes are images padded with zeros to the size of the largest training graph. r is zero at pairs
   with a node that is not there: such pairs are in no Σ|r|, are never edited, and are zero in all that D sees, in A and
   in x' alike; the relaxed oracle is told the sizes. Of a graph's size D and G see what the zeros show. A graph that is
   larger than every training graph is a failure and says so.
8. Node features are not part of the image. A counterfactual keeps those of its input, and the oracle reads these.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.nn.functional import leaky_relu_, pad, softplus

from rsgg.baselines.controls import checked, only_candidate
from rsgg.baselines.dropout import dropout
from rsgg.baselines.known_sizes import up_to_size
from rsgg.counterfactual import Candidate
from rsgg.errors import GraphError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch, resized
from rsgg.hyperparameters import Choice, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.rsgg_ce.adam import Adam, RMSprop
from rsgg.seeds import seed_for

STEP_SPACE = Choice((2, 3, 10, 30))
IMAGES_PER_BLOCK = 64  # images that go through a network together where no gradient is needed: bounds the memory
PRODUCTS_AT_A_TIME = 1 << 18  # of pixels and weights of a convolution: a megabyte
SMALLEST_PROBABILITY = 1e-7  # keeps the logarithm of a probability finite
LEAKY_RELU_SLOPE = 0.2


@dataclass(kw_only=True)
class GCounteRGAN(Explainer):
    """G-CounteRGAN for a differentiable oracle."""

    iterations: int = hyper(250, "epochs", space=Choice(tuple(range(10, 251, 10))), paper=250, at_least=1)
    batch_ratio: float = hyper(
        0.1, "batch size ratio", space=Choice((0.1, 0.15, 0.2)), paper=0.1, above=0, at_most=1,
        doc="of a class's training graphs",
    )  # fmt: skip
    generator_steps: int = hyper(2, "# generator steps", space=STEP_SPACE, paper=2, at_least=1, doc="per iteration")
    discriminator_steps: int = hyper(
        3, "# discriminator steps", space=STEP_SPACE, paper=3, at_least=1, doc="per iteration"
    )
    threshold: float = hyper(
        0.5, "threshold", space=Choice((0.4, 0.5, 0.6, 0.7, 0.8)), paper=0.5, at_least=0, at_most=1
    )
    sparsity: float = hyper(0.002, "λ", at_least=0, doc="price of |r|, summed over the image")
    generator_lr: float = hyper(4e-4, "generator lr", above=0, doc="of RMSprop")
    discriminator_lr: float = hyper(2e-4, "discriminator lr", above=0, doc="of Adam with β = (.5, .999)")
    channels: int = hyper(16, "channels", at_least=1, doc="64 in the original")
    rank: int = hyper(64, "rank", at_least=1, doc="of the factorised dense layer")
    check_every: int = hyper(10, "checks", at_least=1, doc="iterations between two looks at the training flip rate")

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, generative=True, needs_relaxation=True,
        permutation_invariant=False, deterministic=True,
    )  # fmt: skip

    @classmethod
    def tiny(cls) -> GCounteRGAN:
        return cls(iterations=10, batch_ratio=0.2, channels=4, rank=8, check_every=5)

    # -- training --------------------------------------------------------------------------------------

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        self.n_nodes_ = int(graphs.sizes.max())
        graphs = graphs.resized(self.n_nodes_)
        with torch.no_grad():
            scores = torch.cat([_relaxed(oracle, part) for part in _blocks(graphs)])
        self.generators_: list[Generator] = []
        self.history_: list[dict[str, float]] = []
        for c in range(oracle.n_classes):
            own = classes == c
            data = ClassData(c, graphs.select(own), graphs.select(~own), 1 - scores[~own, c], oracle)
            # Weights, batches, dropout and noise of a class are one stream of numbers, apart from everyone else's.
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(seed_for(seed, "g-countergan", c))
                training = Training(data, self)
                training.run()
            self.generators_.append(training.best)
            self.history_ += training.history

    # -- inference -------------------------------------------------------------------------------------

    @torch.no_grad()
    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """x' = A + r cut to [0, 1], from the generator of each graph's class, [B, N, N]."""
        if (graphs.sizes > self.n_nodes_).any():
            raise GraphError(f"G-CounteRGAN was fitted on graphs of at most {self.n_nodes_} nodes; fit it anew.")
        images = graphs.resized(self.n_nodes_)
        soft = torch.empty(images.adjacency.shape)
        for c, generator in enumerate(self.generators_):
            for rows in (classes == c).nonzero().flatten().split(IMAGES_PER_BLOCK):
                adjacency = images.adjacency[rows].float()
                soft[rows] = (adjacency + generator(adjacency, images.node_mask[rows])).clamp(0, 1)
        return resized(soft, graphs.n_nodes)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        def explained(known: GraphBatch, own: Tensor) -> list[Candidate]:
            counterfactual = (self.edge_probabilities(known, own) > self.threshold).to(torch.uint8)
            same = (counterfactual == known.adjacency).flatten(1).all(1).tolist()
            unchanged = Candidate(None, "no residual is large enough to change an edge")
            found = [unchanged if kept else Candidate(a) for a, kept in zip(counterfactual, same, strict=True)]
            return checked(only_candidate(self, found, k), known, own, oracle, k)

        return up_to_size(self.n_nodes_, graphs, classes, oracle, k, explained)

    # -- saving ----------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        state = {"n_nodes": torch.tensor(self.n_nodes_)}
        for c, generator in enumerate(self.generators_):
            state |= {f"{c}.{name}": tensor for name, tensor in generator.state_dict().items()}
        return state

    def _restore(self, state: dict[str, Tensor]) -> None:
        self.n_nodes_, self.history_, self.generators_ = int(state["n_nodes"]), [], []
        for c in range(1 + max(int(name.split(".")[0]) for name in state if name[0].isdigit())):
            generator = Generator(self.n_nodes_, self.channels, self.rank).eval()
            generator.load_state_dict({n.split(".", 1)[1]: t for n, t in state.items() if n.startswith(f"{c}.")})
            self.generators_.append(generator)


# -- the two networks --------------------------------------------------------------------------------------


class Generator(nn.Module):
    """The residual r of a graph: two convolutions down, a dense layer over the whole image, two up, a 7×7 head, tanh.

    `rank` factorises the dense layer; with None it is the original's full matrix. `margin` is the zero padding of the
    first two convolutions: 1 shows them the image's last row and column, 0 is what the released code has.
    """

    def __init__(self, n_nodes: int, channels: int, rank: int | None, margin: int = 1) -> None:
        super().__init__()
        self.n_nodes, self.channels, self.quarter = n_nodes, channels, -(-n_nodes // 4)
        side = 4 * self.quarter
        for _ in range(2):
            side = (side + 2 * margin - 3) // 2 + 1
        self.down1 = nn.Conv2d(1, channels, 3, stride=2, padding=margin)
        self.down2 = nn.Conv2d(channels, channels, 3, stride=2, padding=margin)
        self.dense = _dense(channels * side**2, 2 * channels * self.quarter**2, rank)
        self.up1 = nn.ConvTranspose2d(2 * channels, channels, 4, stride=2, padding=1)
        self.up2 = nn.ConvTranspose2d(channels, channels, 4, stride=2, padding=1)
        self.head = nn.Conv2d(channels, 1, 7, padding=3)
        self.dropout = nn.Dropout(0.2)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # a quarter faster on a CPU

    def forward(self, adjacency: Tensor, real: Tensor) -> Tensor:
        """r, symmetric, zero on the diagonal and where a node is not `real` (bool [B, N]), [B, N, N]."""
        image = self.image(adjacency)
        off_diagonal = 1 - torch.eye(self.n_nodes, device=image.device)
        residual = (image + image.transpose(1, 2)) / 2 * off_diagonal
        return residual * (real[:, :, None] & real[:, None, :])

    def image(self, adjacency: Tensor) -> Tensor:
        """What comes out of tanh, [B, N, N]."""
        missing = 4 * self.quarter - self.n_nodes
        x = pad(adjacency, (0, missing, 0, missing))
        p = self.dropout.p if self.training else 0.0
        x = dropout(leaky_relu_(convolved(x, self.down1), LEAKY_RELU_SLOPE), p)
        x = dropout(leaky_relu_(self.down2(x), LEAKY_RELU_SLOPE), p)
        x = leaky_relu_(self.dense(x.flatten(1)), LEAKY_RELU_SLOPE)
        x = x.reshape(-1, 2 * self.channels, self.quarter, self.quarter).contiguous(memory_format=torch.channels_last)
        x = leaky_relu_(self.up2(leaky_relu_(self.up1(x), LEAKY_RELU_SLOPE)), LEAKY_RELU_SLOPE)
        return torch.tanh(to_one_channel(x, self.head))[:, : self.n_nodes, : self.n_nodes]


def _dense(inputs: int, outputs: int, rank: int | None) -> nn.Module:
    if rank is None:
        return nn.Linear(inputs, outputs)
    return nn.Sequential(nn.Linear(inputs, rank, bias=False), nn.Linear(rank, outputs))


class Discriminator(nn.Module):
    """The logit that an image is a graph of the other classes: three convolutions, noise after the first, dropout."""

    def __init__(self, n_nodes: int, channels: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(1 if i == 0 else channels, channels, 3, stride=2, padding=1) for i in range(3)
        )
        eighth = -(-n_nodes // 8)  # halved three times, rounded up
        self.linear = nn.Linear(channels * eighth**2, 1)
        self.dropout = nn.Dropout(0.4)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, image: Tensor) -> Tensor:
        first, *others = self.convolutions
        assert isinstance(first, nn.Conv2d)
        x = convolved(image, first)
        p = self.dropout.p if self.training else 0.0
        if self.training:
            batch, channels, height, width = x.shape
            # In the order of memory: drawing into a permuted tensor takes eight times as long.
            noise = torch.randn(batch, height, width, channels).permute(0, 3, 1, 2)
            x = torch.add(x, noise, alpha=0.2)
        x = dropout(leaky_relu_(x, LEAKY_RELU_SLOPE), p)
        for convolution in others:
            x = dropout(leaky_relu_(convolution(x), LEAKY_RELU_SLOPE), p)
        logit: Tensor = self.linear(x.flatten(1))[:, 0]
        return logit


# -- convolutions from and to one channel ------------------------------------------------------------------
#
# What a library for many channels does badly: torch takes ten times as long for these as for the others.


def convolved(image: Tensor, layer: nn.Conv2d) -> Tensor:
    """A convolution of images of one channel, [B, N, N] → [B, C, M, M], channels last: a product with their patches."""
    (size, _), (stride, _) = layer.kernel_size, layer.stride
    margin = layer.padding[0]
    assert isinstance(margin, int) and layer.bias is not None
    patches = pad(image, (margin,) * 4).unfold(1, size, stride).unfold(2, size, stride)
    batch, height, width = patches.shape[:3]
    out = torch.addmm(layer.bias, patches.reshape(-1, size**2), layer.weight.flatten(1).t())
    return out.reshape(batch, height, width, layer.out_channels).permute(0, 3, 1, 2)


def to_one_channel(x: Tensor, layer: nn.Conv2d) -> Tensor:
    """A convolution of stride 1 to one channel that keeps the size, [B, C, N, N] → [B, N, N]."""
    assert layer.bias is not None
    out: Tensor = _ToOneChannel.apply(x, layer.weight)
    return out + layer.bias


class _ToOneChannel(torch.autograd.Function):
    """Each pixel times all weights of the kernel at once, then the products that meet at a pixel are added up.

    A few images at a time: what fits into the processor's cache need not be fetched from new memory.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        pixels = x.permute(0, 2, 3, 1).contiguous()
        ctx.save_for_backward(pixels, weight)
        batch, n, _, channels = pixels.shape
        size = weight.shape[2]
        kernel = weight[0].flatten(1).t().contiguous()  # [size², C]
        out = x.new_empty(batch, n, n)
        for rows, room in _few(batch, n, size, x):
            products = torch.mm(kernel, pixels[rows].reshape(-1, channels).t(), out=room)
            out[rows] = _added(_added(products.reshape(size, size, -1, n, n).transpose(0, 1), 2), 1)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        pixels, weight = ctx.saved_tensors
        (batch, n, _, channels), size = pixels.shape, weight.shape[2]
        # Entry (i, j) of the kernel takes a pixel to the place i - reach above and j - reach left of it: seen from the
        # pixel, the gradient's surroundings are in the order of the kernel from its last entry to its first.
        around = pad(gradients[0], (size // 2,) * 4).unfold(1, n, 1).unfold(2, n, 1).permute(1, 2, 0, 3, 4)
        kernel = weight[0].flatten(1).flip(1)  # [C, size²]
        by_pixels, by_kernel = torch.empty_like(pixels), torch.zeros_like(kernel)
        for rows, room in _few(batch, n, size, pixels):
            room.view(size, size, -1, n, n).copy_(around[:, :, rows])
            by_pixels[rows] = (kernel @ room).t().reshape(-1, n, n, channels)
            by_kernel.addmm_(pixels[rows].reshape(-1, channels).t(), room.t())
        return by_pixels.permute(0, 3, 1, 2), by_kernel.flip(1).reshape(weight.shape)


def _few(batch: int, n: int, size: int, like: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """A few images at a time, with room for a number per entry of the kernel and pixel, [size², pixels]."""
    count = max(1, PRODUCTS_AT_A_TIME // (size * n) ** 2)
    memory = like.new_empty(size**2 * min(count, batch) * n**2)
    for start in range(0, batch, count):
        stop = min(start + count, batch)
        yield slice(start, stop), memory[: (stop - start) * (size * n) ** 2].view(size**2, -1)


def _added(parts: Tensor, dim: int) -> Tensor:
    """Σ_i of part i [..., N, N], its rows (dim 1) or columns (dim 2) moved up by i - reach; zeros come in."""
    size, n = len(parts), parts.shape[-1]
    reach = size // 2
    total = parts[reach].clone(memory_format=torch.contiguous_format)
    axis = dim - 3  # the last or the last but one
    for i in range(size):
        move, room = i - reach, n - abs(i - reach)
        if move and room > 0:
            total.narrow(axis, max(-move, 0), room).add_(parts[i].narrow(axis, max(move, 0), room))
    return total


# -- training one GAN --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassData:
    """What one GAN learns from: graphs of class c, graphs of other classes with their scores, and the oracle."""

    c: int
    graphs: GraphBatch
    real: GraphBatch
    score: Tensor
    oracle: CountingOracle


class Training:
    """The two players of one class, and the best generator so far. Draws from torch's current random state."""

    def __init__(self, data: ClassData, recipe: GCounteRGAN) -> None:
        self.data, self.recipe = data, recipe
        n = data.graphs.n_nodes
        self.generator = Generator(n, recipe.channels, recipe.rank)
        self.discriminator = Discriminator(n, recipe.channels)
        self.g_optimiser = RMSprop(self.generator, recipe.generator_lr)
        self.d_optimiser = Adam(self.discriminator, recipe.discriminator_lr, betas=(0.5, 0.999))
        self.adjacency, self.nodes = data.graphs.adjacency.float(), data.graphs.node_mask
        self.real = data.real.adjacency.float()
        self.best = Generator(n, recipe.channels, recipe.rank).eval()
        self.best_so_far = (-1.0, 0.0)
        self.history: list[dict[str, float]] = []

    def run(self) -> None:
        for iteration in range(1, self.recipe.iterations + 1):
            d_losses = [self._discriminator_step() for _ in range(self.recipe.discriminator_steps)]
            g_losses = [self._generator_step() for _ in range(self.recipe.generator_steps)]
            self.history.append(
                {
                    "class": self.data.c,
                    "epoch": iteration - 1,
                    "discriminator_loss": sum(d_losses) / len(d_losses),
                    "generator_loss": sum(g_losses) / len(g_losses),
                }
            )
            if iteration % self.recipe.check_every == 0 or iteration == self.recipe.iterations:
                self._check()

    def _batch(self, count: int) -> Tensor:
        """Positions of a batch of this class's training graphs, drawn without replacement."""
        return torch.randperm(count)[: max(2, int(self.recipe.batch_ratio * count))]

    def _discriminator_step(self) -> float:
        real, shown = self._batch(len(self.real)), self._batch(len(self.adjacency))
        with torch.no_grad():
            generated = self.adjacency[shown] + self.generator.eval()(self.adjacency[shown], self.nodes[shown])
        score = self.data.score[real].float().clamp(min=SMALLEST_PROBABILITY)
        weight = torch.cat((score / score.mean(), torch.ones(len(generated))))
        target = torch.cat((torch.ones(len(real)), torch.zeros(len(generated))))
        logit = self.discriminator.train().requires_grad_(True)(torch.cat((self.real[real], generated)))
        loss = cross_entropy(logit, target, weight)
        self.d_optimiser.zero_grad()
        loss.backward()
        self.d_optimiser.step()
        return loss.item()

    def _generator_step(self) -> float:
        loss = self.generator_loss(self._batch(len(self.adjacency)))
        self.g_optimiser.zero_grad()
        loss.backward()
        self.g_optimiser.step()
        return loss.item()

    def generator_loss(self, shown: Tensor) -> Tensor:
        """BCE(D(x'), 1) + λ Σ|r| - log(1 - p_c(x')), the mean over the graphs at these positions."""
        self.generator.train()
        self.discriminator.eval().requires_grad_(False)  # only the way through it counts
        residual = self.generator(self.adjacency[shown], self.nodes[shown])
        soft = self.adjacency[shown] + residual
        stay = _relaxed(self.data.oracle, self.data.graphs.select(shown), soft.clamp(0, 1))[:, self.data.c]
        leave = -torch.log(1 - stay + SMALLEST_PROBABILITY)
        fool = softplus(-self.discriminator(soft))
        return (fool + self.recipe.sparsity * residual.abs().sum((1, 2)) + leave).mean()

    @torch.no_grad()
    def _check(self) -> None:
        """Keep the generator if it flips more training graphs than any before, or as many with fewer edits."""
        self.generator.eval()
        parts = zip(self.adjacency.split(IMAGES_PER_BLOCK), self.nodes.split(IMAGES_PER_BLOCK), strict=True)
        soft = torch.cat([part + self.generator(part, real) for part, real in parts])
        sampled = (soft > self.recipe.threshold).to(torch.uint8)
        graphs = self.data.graphs
        flips = self.data.oracle.flips(graphs.candidates(sampled, torch.arange(len(graphs))), self.data.c)
        flip_rate = float(flips.double().mean())
        edits = float((sampled != graphs.adjacency).sum((1, 2)).double().mean() / 2)
        self.history[-1] |= {"flip_rate": flip_rate, "edits": edits}
        if (flip_rate, -edits) > self.best_so_far:
            self.best_so_far = (flip_rate, -edits)
            self.best.load_state_dict(self.generator.state_dict())


def _blocks(graphs: GraphBatch) -> list[GraphBatch]:
    return [graphs.select(rows) for rows in torch.arange(len(graphs)).split(IMAGES_PER_BLOCK)]


def _relaxed(oracle: CountingOracle, graphs: GraphBatch, soft: Tensor | None = None) -> Tensor:
    """Class probabilities of soft adjacency matrices with these graphs' features; of the graphs themselves if None."""
    return oracle.relaxed_graphs(graphs, graphs.adjacency.float() if soft is None else soft)
