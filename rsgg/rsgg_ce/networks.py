"""The two networks of RSGG-CE (Section 4): the residual generator 𝔾 and the discriminator 𝔻, on whole batches.

The graphs they read are matrices [B, N, N] or, where those are too large, lists of edges (`EdgeBatch`): `a @ h` means
the same for both. Both networks are permutation equivariant or invariant unless node identities are switched on, which
is fair only where the nodes of all graphs are the same things (ASD's brain regions).
"""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor, nn

from rsgg.edges import EdgeBatch

Adjacency = Tensor | EdgeBatch


class MessagePassing(nn.Module):
    """h_v ← ReLU(W h_v + U Σ_w A_vw h_w / scale): `scale` is the degree (mean) or a constant (sum)."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__()
        self.own = nn.Linear(width_in, width_out)
        self.neighbours = nn.Linear(width_in, width_out, bias=False)

    def forward(self, h: Tensor, adjacency: Adjacency, scale: Tensor) -> Tensor:
        return torch.relu(self.own(h) + self.neighbours(adjacency @ h / scale))


def _degree(adjacency: Adjacency) -> Tensor:
    return adjacency.degree() if isinstance(adjacency, EdgeBatch) else adjacency.sum(2, keepdim=True)


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

    def forward(self, x: Tensor, adjacency: Adjacency) -> Tensor:
        if self.identity is not None:
            x = torch.cat((x, self.identity.weight.expand(len(x), -1, -1)), 2)
        degree = _degree(adjacency).clamp(min=1)
        seen = [x]
        for layer in self.layers:
            seen.append(layer(seen[-1], adjacency, degree))
        z: Tensor = self.out(torch.cat(seen, 2))
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
        z = self.encoder(x, adjacency)
        missing, existing = (
            (z * sign) @ z.transpose(1, 2) / z.shape[2] ** 0.5 + bias
            for sign, bias in zip(self.signs, self.bias, strict=True)
        )
        return self._squashed(adjacency, torch.where(adjacency > 0, existing, missing))

    def of_pairs(self, x: Tensor, graphs: EdgeBatch, u: Tensor, v: Tensor, existing: Tensor) -> Tensor:
        """The same logits for some pairs of each graph only, [B, P]; `existing` says which of them are edges."""
        z = self.encoder(x, graphs)
        first = torch.arange(len(z), device=z.device)[:, None] * z.shape[1]
        flat = z.flatten(0, 1)
        product = flat.index_select(0, (first + u).flatten()) * flat.index_select(0, (first + v).flatten())
        both = (product @ self.signs.T / z.shape[2] ** 0.5 + self.bias).reshape(*u.shape, 2)
        missing, present = both.unbind(2)
        return self._squashed(existing, torch.where(existing > 0, present, missing))

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
    layers, sum pooling of every layer. Shown features of the *original* graph it would have the answer already.
    """

    degree: Tensor
    n_nodes: Tensor

    def __init__(self, hidden: int, layers: int, degree: float, n_nodes: int, identities: int, identity_width: int = 8):
        super().__init__()
        self.register_buffer("degree", torch.tensor(degree))
        self.register_buffer("n_nodes", torch.tensor(float(n_nodes)))
        self.identity = nn.Embedding(identities, identity_width) if identities else None
        widths = [6 + (identity_width if identities else 0)] + [hidden] * layers
        self.layers = nn.ModuleList(MessagePassing(a, b) for a, b in itertools.pairwise(widths))
        self.head = nn.Sequential(nn.Linear(sum(widths), hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, adjacency: Adjacency, node_mask: Tensor) -> Tensor:
        degree = _degree(adjacency)
        near = [torch.exp(-((degree - i) ** 2)) for i in range(4)]
        h = torch.cat((torch.ones_like(degree), degree / self.degree, *near), 2)
        if self.identity is not None:
            h = torch.cat((h, self.identity.weight.expand(len(h), -1, -1)), 2)
        seen = [h]
        for layer in self.layers:
            seen.append(layer(seen[-1], adjacency, self.degree))
        pooled = (torch.cat(seen, 2) * node_mask[..., None]).sum(1) / self.n_nodes.sqrt()
        logit: Tensor = self.head(pooled).squeeze(1)
        return logit
