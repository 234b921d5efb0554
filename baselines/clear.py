"""CLEAR (Ma et al. 2022): a conditional variational auto-encoder that is asked for a graph of the other class.

An encoder reads the graph, an auxiliary variable u and the wanted class y' into a latent z; a decoder writes node
features X̂ and edge probabilities Â from z and y'. With p_y' the (relaxed) oracle's probability of the wanted class:

    min  KL(q(z | G, u, y') ‖ p(z | u)) + 10 · ‖X - X̂‖ / 4 + 10 · BCE(Â, A) + 5 · CE(p_y'(X̂, Â)),

the last term from half-way on. A counterfactual is one draw from Â. One model serves all graphs; nothing is optimised
at explanation. Nodes are known by their number (the decoder writes n² entries), so the method depends on how they are
numbered.

Deviations from the original paper:

1. The classifier is the oracle's relaxation, where the original explains a GNN that is differentiable itself. Its term
   is estimated on `classifier_batch` graphs per step, because the relaxation of the cycle oracle costs more than all
   the rest; everything else is full batch, as in the original.
2. X are structural encodings (degree, return probabilities, core number), standardised on the nodes of the training
   graphs, beside the features that the graphs have, if any, as they are. X̂ is learnt and not used: a counterfactual
   keeps the features of its input, and the classifier's term reads these, p_y'(X, Â). The original returns X̂ too.
3. The auxiliary variable u ∈ {0, …, 9}, which the data sets do not have, is drawn by the graph's name.
4. At explanation z is the mean of q, so that one draw per candidate is all the chance there is.
5. With `draws` > 1 the oracle is asked about each draw and the first that changes the class is returned.
6. Graphs of different sizes are padded to the largest training graph, under a mask: nodes that are not there have no
   features and are not summed by the encoder; pairs with such a node have Â = 0, so that they are neither shown to the
   classifier nor drawn, and are part of no reconstruction. The BCE is averaged over the n² pairs of each graph, then
   over the graphs. Node i of every graph is decoded by the same outputs, whatever it is there. A graph that is larger
   than every training graph is a failure and says so: no outputs were trained for its last nodes.
7. With more than two classes the wanted one, y', is one of the others by the graph's name; in training and at
   explanation any of them may be asked for, and a result of any other class counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import one_hot

from rsgg.baselines.dropout import mask
from rsgg.baselines.known_sizes import up_to_size
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.errors import GraphError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch, resized
from rsgg.hyperparameters import Choice, Interval, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.rsgg_ce.adam import Adam
from rsgg.seeds import seed_for, streams, torch_rng, uniforms

N_AUXILIARY = 10  # values of u
WIDTH, LATENT = 16, 16
NONE = torch.empty(0, dtype=torch.long)  # no positions
LARGEST_SURPRISE = 100.0  # -log of a probability that may be zero
SMALLEST_PROBABILITY = 1e-30  # whose logarithm still has a gradient


@dataclass(kw_only=True)
class CLEAR(Explainer):
    """CLEAR for a differentiable oracle."""

    epochs: int = hyper(900, "epochs", space=Choice((100, 300, 600)), paper=600, at_least=1)
    lr: float = hyper(1e-3, "learning rate", space=Choice((1e-4, 1e-3, 1e-2)), paper=1e-2, above=0, doc="of Adam")
    weight_decay: float = hyper(1e-5, "weight decay", at_least=0)
    similarity: float = hyper(
        10.0, "λ_sim", space=Interval(0.1, 1.0), paper=1.0, at_least=0, doc="weight of both reconstructions"
    )
    divergence: float = hyper(1.0, "λ_kl", space=Interval(0.1, 1.0), paper=1.0, at_least=0)
    counterfactual: float = hyper(
        5.0, "λ_cfe", space=Interval(0.1, 1.0), paper=0.1, at_least=0, doc="weight of the classifier"
    )
    dropout: float = hyper(0.0, "dropout", space=Choice((0.1, 0.25, 0.5)), paper=0.1, at_least=0, below=1)
    classifier_from: float = hyper(
        0.5, "warm-up", at_least=0, at_most=1, doc="share of the epochs without the classifier's term"
    )
    classifier_batch: int = hyper(64, "classifier batch", at_least=1, doc="graphs per step in the classifier's term")
    draws: int = hyper(1, "K", at_least=1, doc="draws per candidate; more than one are checked with the oracle")

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, generative=True, needs_relaxation=True, permutation_invariant=False,
        may_return_invalid=True,  # a single draw is not checked
    )  # fmt: skip
    encoding: ClassVar[str] = "structural"

    @classmethod
    def tiny(cls) -> CLEAR:
        return cls(epochs=60, lr=1e-2, classifier_batch=16)

    # -- training --------------------------------------------------------------------------------------

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        self.n_classes_, graphs = oracle.n_classes, graphs.resized(int(graphs.sizes.max()))
        raw = graphs.encoding("structural").float()[graphs.node_mask]
        self.mean_, self.std_ = raw.mean(0), raw.std(0).clamp(min=1e-6)
        given = self._given(graphs, classes)
        rng = torch_rng(seed, "clear")
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(seed, "clear"))
            self.network_ = CVAE(graphs.n_nodes, given.features.shape[2], self.n_classes_, self.dropout)
            self._train(given, graphs, oracle, rng)
        self.network_.eval()

    def _train(self, given: Given, graphs: GraphBatch, oracle: CountingOracle, rng: torch.Generator) -> None:
        optimiser = Adam(self.network_, self.lr, weight_decay=self.weight_decay)
        self.history_: list[dict[str, float]] = []
        for epoch in range(self.epochs):
            noise = torch.randn(len(given.adjacency), LATENT, generator=rng)
            joins = epoch >= self.classifier_from * self.epochs
            shown = torch.randperm(len(noise), generator=rng)[: self.classifier_batch] if joins else NONE
            terms = losses(self.network_, given, noise, shown)
            loss = self.divergence * terms.divergence + self.similarity * (terms.features / 4 + terms.edges)
            classifier = torch.zeros(())
            if joins:
                classifier = _classifier_loss(terms.soft, graphs.select(shown), given.wanted[shown], oracle)
                loss = loss + self.counterfactual * classifier
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            parts = {"divergence": terms.divergence, "features": terms.features, "edges": terms.edges}
            curves = {name: float(value.detach()) for name, value in parts.items()}
            self.history_.append(
                {"epoch": epoch, "loss": float(loss.detach()), "classifier": float(classifier.detach()), **curves}
            )

    def _given(self, graphs: GraphBatch, classes: Tensor) -> Given:
        """What the auto-encoder reads of graphs that are to leave these classes."""
        structural = (graphs.encoding("structural").float() - self.mean_) / self.std_
        features = structural if graphs.features is None else torch.cat((structural, graphs.features.float()), 2)
        return Given.of(graphs, features, self._wanted(classes, graphs), self.n_classes_)

    def _wanted(self, classes: Tensor, graphs: GraphBatch) -> Tensor:
        """y': the other class; of several others, one by the graph's name."""
        shift = torch.tensor([1 + seed_for("clear wanted", name) % (self.n_classes_ - 1) for name in graphs.names])
        return (classes + shift) % self.n_classes_

    # -- inference -------------------------------------------------------------------------------------

    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """Â of each graph for the class it is to get, symmetric, [B, N, N], 0 on padding."""
        return resized(self._decoded(graphs, classes), graphs.n_nodes)

    @torch.no_grad()
    def _decoded(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """As `edge_probabilities`, padded to the size that the network writes."""
        n = self.network_.n_nodes
        if (graphs.sizes > n).any():
            raise GraphError(f"CLEAR was fitted on graphs of at most {n} nodes; fit it anew for larger ones.")
        given = self._given(graphs.resized(n), classes)
        mean, _ = self.network_.encode(given)
        return symmetric(self.network_.decode(mean, given)[1])

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        def explained(known: GraphBatch, own: Tensor) -> list[Candidate]:
            return self._drawn(known, own, oracle, k, seed)

        return up_to_size(self.network_.n_nodes, graphs, classes, oracle, k, explained)

    def _drawn(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int) -> list[Candidate]:
        """Draws from Â; a pair reads the number at its place in the network's matrix, whatever the padding."""
        instance = torch.arange(len(graphs)).repeat_interleave(k)
        soft, n = self._decoded(graphs, classes)[instance], self.network_.n_nodes
        u, v = torch.triu_indices(n, n, 1)
        seeds = streams(graphs.names, k, seed, "clear")
        numbers = torch.from_numpy(uniforms(seeds, 0, self.draws * len(u))).reshape(-1, self.draws, len(u))
        drawn = torch.zeros(len(instance), self.draws, n, n, dtype=torch.uint8)
        drawn[:, :, u, v] = (numbers < soft[:, None, u, v]).to(torch.uint8)
        drawn = resized(drawn + drawn.transpose(2, 3), graphs.n_nodes)
        if self.draws == 1:
            return [Candidate(adjacency) for adjacency in drawn[:, 0]]
        owner = torch.arange(len(instance)).repeat_interleave(self.draws)
        asked = graphs.candidates(drawn.flatten(0, 1), instance[owner])
        first = oracle.first_flip(asked, owner, classes[instance[owner]]).reshape(-1, self.draws)
        reason = f"none of {self.draws} draws changed the class"
        return [
            Candidate(row[flips][0])
            if flips.any()
            else Candidate(None, BUDGET_USED_UP if oracle.exhausted(i) else reason)
            for i, (row, flips) in enumerate(zip(drawn, first, strict=True))
        ]

    # -- saving ----------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        shape = torch.tensor([self.network_.n_nodes, self.network_.n_features, self.n_classes_])
        network = {f"network.{name}": tensor for name, tensor in self.network_.state_dict().items()}
        return {"mean": self.mean_, "std": self.std_, "shape": shape, **network}

    def _restore(self, state: dict[str, Tensor]) -> None:
        self.mean_, self.std_ = state["mean"], state["std"]
        n, d, self.n_classes_ = state["shape"].tolist()
        self.network_ = CVAE(n, d, self.n_classes_, self.dropout).eval()
        weights = {name.removeprefix("network."): tensor for name, tensor in state.items() if "network." in name}
        self.network_.load_state_dict(weights)
        self.history_ = []


# -- the auto-encoder ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Given:
    """What the auto-encoder reads: A, X, u and the class y' that it is conditioned on.

    `real`, bool [B, N], says which nodes are there; None where all are, as in graphs of one size.
    """

    adjacency: Tensor
    features: Tensor
    auxiliary: Tensor
    wanted: Tensor
    condition: Tensor
    normalised: Tensor | None = None  # D^-½ (A + I) D^-½, where it is known already
    real: Tensor | None = None

    @cached_property
    def smoothed(self) -> Tensor:
        """D^-½ (A + I) D^-½ [X, 1]: all that the graph convolution has to know, before its weights, [B, N, D + 1].

        Rows of padding are zero, and so is all that the encoder makes of them.
        """
        between = normalised(self.adjacency) if self.normalised is None else self.normalised
        return between @ self.on_nodes(torch.cat((self.features, torch.ones_like(self.features[:, :, :1])), 2))

    def on_nodes(self, values: Tensor) -> Tensor:
        """Values of nodes [B, N, d], zero on padding."""
        return values if self.real is None else values * self.real[:, :, None]

    def on_pairs(self, values: Tensor) -> Tensor:
        """Values of pairs [B, N, N], zero where a node is padding."""
        return values if self.real is None else values * (self.real[:, :, None] & self.real[:, None, :])

    @cached_property
    def pairs(self) -> Tensor | int:
        """B n², [B, 1]: a mean over the n² pairs of each graph, then over the B graphs, divides a value by it."""
        if self.real is None:
            return self.adjacency.numel()
        return (len(self.real) * self.real.sum(1) ** 2)[:, None]

    @classmethod
    def of(cls, graphs: GraphBatch, features: Tensor, wanted: Tensor, n_classes: int) -> Given:
        u = torch.tensor([seed_for("clear auxiliary", name) % N_AUXILIARY for name in graphs.names])
        padded = bool((graphs.sizes < graphs.n_nodes).any())
        return cls(
            graphs.adjacency.float(), features * graphs.node_mask[:, :, None], one_hot(u, N_AUXILIARY).float(), wanted,
            one_hot(wanted, n_classes).float(), real=graphs.node_mask if padded else None,
        )  # fmt: skip


def normalised(adjacency: Tensor) -> Tensor:
    """D^-½ (A + I) D^-½ of each graph."""
    looped = adjacency + torch.eye(adjacency.shape[1])
    scale = looped.sum(2).rsqrt()
    return scale[:, :, None] * looped * scale[:, None, :]


class CVAE(nn.Module):
    """Encoder q(z | G, u, y'), prior p(z | u) and decoder (X̂, Â)(z, y'), one hidden width throughout."""

    def __init__(self, n_nodes: int, n_features: int, n_classes: int, dropout: float) -> None:
        super().__init__()
        self.n_nodes, self.n_features = n_nodes, n_features
        self.convolution = nn.Linear(n_features, WIDTH)
        read = WIDTH + N_AUXILIARY + n_classes
        self.to_mean = nn.Sequential(nn.Linear(read, LATENT), nn.BatchNorm1d(LATENT), nn.ReLU())
        self.to_log_variance = nn.Sequential(nn.Linear(read, LATENT), nn.BatchNorm1d(LATENT), nn.ReLU(), nn.Sigmoid())
        self.prior_mean, self.prior_log_variance = nn.Linear(N_AUXILIARY, LATENT), nn.Linear(N_AUXILIARY, LATENT)
        self.dropout = nn.Dropout(dropout)

        def decoder(outputs: int) -> nn.Sequential:
            layers: list[nn.Module] = []
            for width in (LATENT + n_classes, WIDTH):
                layers += [nn.Linear(width, WIDTH), nn.BatchNorm1d(WIDTH), nn.Dropout(dropout), nn.ReLU()]
            return nn.Sequential(*layers, nn.Linear(WIDTH, outputs))

        self.to_features, self.to_edges = decoder(n_nodes * n_features), decoder(n_nodes**2)

    def encode(self, given: Given) -> tuple[Tensor, Tensor]:
        """Mean and log-variance of q."""
        weight = torch.cat((self.convolution.weight, self.convolution.bias[:, None]), 1)
        hidden = torch.relu(given.smoothed @ weight.t())
        pooled = torch.cat((self.dropout(hidden).sum(1), given.auxiliary, given.condition), 1)
        return self.to_mean(pooled), self.to_log_variance(pooled)

    def decode(self, z: Tensor, given: Given) -> tuple[Tensor, Tensor]:
        """X̂ and Â, zero on padding."""
        read = torch.cat((z, given.condition), 1)
        features = self.to_features(read).reshape(-1, self.n_nodes, self.n_features)
        soft = torch.sigmoid(self.to_edges(read)).reshape(-1, self.n_nodes, self.n_nodes)
        return given.on_nodes(features), given.on_pairs(soft)


@dataclass(frozen=True)
class Losses:
    """The terms of the objective, and soft adjacency matrices Â that they were computed from."""

    divergence: Tensor
    features: Tensor
    edges: Tensor
    soft: Tensor


def losses(network: CVAE, given: Given, noise: Tensor, shown: Tensor | None = None) -> Losses:
    """KL, ‖X - X̂‖ and BCE(Â, A) for z = μ + σ · noise, averaged over the graphs; Â of those at positions `shown`."""
    return Losses(*_Objective.apply(network, given, noise, shown, *network.parameters()))


class _Objective(torch.autograd.Function):
    """The terms of the objective and Â, with their gradient by hand.

    The layers are tiny: automatic differentiation through them, one by one, costs several times the arithmetic.
    """

    @staticmethod
    def forward(
        ctx: Any, network: CVAE, given: Given, noise: Tensor, shown: Tensor | None, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        ctx.parameters, ctx.run = parameters, (run := _Pass(network, given, noise))
        ctx.shown = slice(None) if shown is None else shown
        # Not the tensors themselves: what is returned refers to `ctx`, and would keep all of this alive.
        return run.divergence.detach(), run.features.detach(), run.edges.detach(), run.soft[ctx.shown].detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        of = ctx.run.gradients(*gradients, ctx.shown)
        return None, None, None, None, *(of[parameter] for parameter in ctx.parameters)


class _Pass:
    """One pass of graphs through the auto-encoder, and what is needed to go back."""

    def __init__(self, network: CVAE, given: Given, noise: Tensor) -> None:
        self.network, self.given, self.noise = network, given, noise
        batch, p = len(noise), network.dropout.p if network.training else 0.0
        # Encoder
        convolution = network.convolution
        weight = torch.cat((convolution.weight, convolution.bias[:, None]), 1)
        self.hidden = (given.smoothed.flatten(0, 1) @ weight.t()).relu_().reshape(batch, -1, WIDTH)
        if p:
            self.hidden *= mask(self.hidden.shape, p)
        read = torch.cat((self.hidden.sum(1), given.auxiliary, given.condition), 1)
        self.to_mean, self.to_log_variance = _Layer(network.to_mean), _Layer(network.to_log_variance)
        mean, self.log_variance = self.to_mean.forward(read), self.to_log_variance.forward(read).sigmoid()
        # KL(q ‖ p)
        prior_log_variance = _linear(given.auxiliary, network.prior_log_variance)
        self.precision = (-prior_log_variance).exp()
        self.shift = mean - _linear(given.auxiliary, network.prior_mean)
        gap = self.log_variance - prior_log_variance
        self.ratio, self.distance = gap.exp(), self.shift**2 * self.precision
        self.divergence = 0.5 * (self.ratio + self.distance - 1 - gap).sum() / batch
        # Decoders
        self.deviation = (self.log_variance / 2).exp()
        code = torch.cat((mean + self.deviation * noise, given.condition), 1)
        self.to_features, self.to_edges = _Decoder(network.to_features, p), _Decoder(network.to_edges, p)
        written = self.to_features.forward(code).reshape(given.features.shape)
        self.error = given.on_nodes(written - given.features).flatten(1)
        self.norm = self.error.norm(dim=1, keepdim=True)
        self.features = self.norm.mean()
        self.adjacency = given.adjacency.flatten(1)
        self.soft = given.on_pairs(self.to_edges.forward(code).sigmoid_().reshape(given.adjacency.shape))
        # A is 0 or 1: the probability of what it is takes one logarithm, which is 0 on padding, where Â = A = 0. As
        # torch's BCE it is worth 100 at most.
        likelihood = (self.soft.flatten(1) + self.adjacency).sub_(1).abs_().log_().clamp_(min=-LARGEST_SURPRISE)
        self.edges = -(likelihood.mean() if given.real is None else (likelihood / given.pairs).sum())

    def gradients(
        self, by_divergence: Tensor | None, by_features: Tensor | None, by_edges: Tensor | None,
        by_soft: Tensor | None, shown: Tensor | slice,
    ) -> dict[Tensor, Tensor]:  # fmt: skip
        """The gradient of each parameter, given those of the terms and of the Â shown (None: does not count)."""
        network, batch, of = self.network, len(self.noise), dict[Tensor, Tensor]()
        zero = self.norm.new_zeros(())
        by_divergence, by_features, by_edges = (
            zero if by is None else by for by in (by_divergence, by_features, by_edges)
        )
        # Decoders
        soft = self.soft.flatten(1)
        by_logits = (soft - self.adjacency).mul_(by_edges / self.given.pairs)
        if by_soft is not None:
            of_shown = soft[shown]
            by_logits[shown] += (by_soft.flatten(1) * of_shown).mul_(1 - of_shown)
        by_error = self.error * (by_features / batch / self.norm.clamp(min=torch.finfo().tiny))
        by_code = self.to_edges.backward(by_logits, of) + self.to_features.backward(by_error, of)
        by_z = by_code[:, :LATENT]
        # KL(q ‖ p)
        share = by_divergence / batch
        by_shift = share * self.shift * self.precision
        half = share * 0.5
        by_log_variance = by_z * self.noise * self.deviation / 2 + half * (self.ratio - 1)
        _backward(-by_shift, self.given.auxiliary, network.prior_mean, of)
        _backward(half * (1 - self.ratio - self.distance), self.given.auxiliary, network.prior_log_variance, of)
        # Encoder
        by_log_variance = by_log_variance * self.log_variance * (1 - self.log_variance)
        by_read = self.to_mean.backward(by_z + by_shift, of) + self.to_log_variance.backward(by_log_variance, of)
        scale = 1 / (1 - network.dropout.p) if network.training else 1.0
        by_hidden = self.hidden.sign() * (scale * by_read[:, None, :WIDTH])  # what is left of ReLU is positive
        by_weight = by_hidden.flatten(0, 1).t() @ self.given.smoothed.flatten(0, 1)
        of[network.convolution.weight], of[network.convolution.bias] = by_weight[:, :-1], by_weight[:, -1]
        return of


class _Layer:
    """ReLU(dropout(batch normalisation(linear(x)))), there and back; the linear layer is at position `first`."""

    def __init__(self, layers: nn.Sequential, p: float = 0.0, first: int = 0) -> None:
        linear, norm = layers[first], layers[first + 1]
        assert isinstance(linear, nn.Linear) and isinstance(norm, nn.BatchNorm1d)
        self.linear, self.norm, self.p = linear, norm, p

    def forward(self, x: Tensor) -> Tensor:
        norm = self.norm
        if norm.training and norm.num_batches_tracked is not None:
            norm.num_batches_tracked += 1
        self.x, self.y = x, _linear(x, self.linear)
        out, self.mean, self.inverse = torch.native_batch_norm(
            self.y, norm.weight, norm.bias, norm.running_mean, norm.running_var, norm.training,
            norm.momentum or 0.0, norm.eps,
        )  # fmt: skip
        self.out = out.relu_()
        if self.p:
            self.out *= mask(out.shape, self.p)
        return self.out

    def backward(self, by_out: Tensor, of: dict[Tensor, Tensor]) -> Tensor:
        """The gradient of x; those of the parameters are entered into `of`."""
        norm = self.norm
        by_norm = by_out * self.out.sign()
        if self.p:
            by_norm /= 1 - self.p
        by_y, of[norm.weight], of[norm.bias] = torch.ops.aten.native_batch_norm_backward(
            by_norm, self.y, norm.weight, norm.running_mean, norm.running_var, self.mean, self.inverse,
            norm.training, norm.eps, (True, True, True),
        )  # fmt: skip
        return _backward(by_y, self.x, self.linear, of)


class _Decoder:
    """Two layers and a linear one, there and back."""

    def __init__(self, decoder: nn.Sequential, p: float) -> None:
        last = decoder[8]
        assert isinstance(last, nn.Linear)
        self.first, self.second, self.last = _Layer(decoder, p), _Layer(decoder, p, 4), last

    def forward(self, code: Tensor) -> Tensor:
        self.x = self.second.forward(self.first.forward(code))
        return _linear(self.x, self.last)

    def backward(self, by_out: Tensor, of: dict[Tensor, Tensor]) -> Tensor:
        return self.first.backward(self.second.backward(_backward(by_out, self.x, self.last, of), of), of)


def _linear(x: Tensor, layer: nn.Linear) -> Tensor:
    return torch.addmm(layer.bias, x, layer.weight.t())


def _backward(by_out: Tensor, x: Tensor, layer: nn.Linear, of: dict[Tensor, Tensor]) -> Tensor:
    """The gradient of what a linear layer read; those of its weights are entered into `of`."""
    of[layer.weight], of[layer.bias] = by_out.t() @ x, by_out.sum(0)
    return by_out @ layer.weight


def _classifier_loss(soft: Tensor, graphs: GraphBatch, wanted: Tensor, oracle: CountingOracle) -> Tensor:
    """CE of the oracle's relaxation on Â against the wanted class: one call per graph."""
    p = oracle.relaxed_graphs(graphs, symmetric(soft)).gather(1, wanted[:, None])
    return -p.clamp(min=SMALLEST_PROBABILITY).log().mean()


def symmetric(soft: Tensor) -> Tensor:
    """(P + Pᵀ) / 2 without self loops."""
    return (soft + soft.transpose(1, 2)).div_(2).mul_(1 - torch.eye(soft.shape[1]))
