"""Graph neural networks that read binary graphs as lists of edges and soft ones as matrices, with the same weights.

Four kinds of layers, as PyG defines them (tests compare): GCN (Kipf & Welling 2017), GIN (Xu et al. 2019), GAT
(Veličković et al. 2018) and GraphSAGE (Hamilton et al. 2017), here for weights a_uv in [0, 1]. An edge of weight 0 is
no edge, so that missing pairs have gradients too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from rsgg.edges import EdgeBatch, NeighbourSum
from rsgg.graph import GraphBatch

HEADS = 4  # of GAT
SLOPE = 0.2  # of its leaky ReLU


# -- Who is whose neighbour ------------------------------------------------------------------------------


class Neighbourhood(ABC):
    """The edges of many graphs. Values of nodes are tensors whose last dimension is their width."""

    @abstractmethod
    def sum(self, h: Tensor) -> Tensor:
        """Σ_u a_vu h_u for every node v."""

    @abstractmethod
    def degree(self) -> Tensor:
        """Σ_u a_vu, with a last dimension of 1."""

    @abstractmethod
    def attend(self, h: Tensor, source: Tensor, target: Tensor) -> Tensor:
        """Σ_u α_vu h_u over v and its neighbours, α_vu ∝ a_vu exp(leaky(source_u + target_v)), a_vv = 1.

        `source` and `target` have a value per head as last dimension, h is cut into that many parts.
        """

    @abstractmethod
    def pool(self, h: Tensor, how: str) -> Tensor:
        """The sum, mean or max over the nodes of each graph, [B, width]."""


class ListedNeighbours(Neighbourhood):
    """Binary graphs, the nodes of all graphs one after the other: values are [n, width].

    `neighbours` int64 [2K] are the neighbours of node 0, of node 1, …; those of node v begin at `starts[v]`.
    """

    def __init__(self, neighbours: np.ndarray, degrees: np.ndarray, sizes: np.ndarray) -> None:
        self.neighbours = torch.from_numpy(neighbours)
        self.degrees, self.sizes = torch.from_numpy(degrees), torch.from_numpy(sizes)
        self.starts = self.degrees.cumsum(0) - self.degrees

    @classmethod
    def of(cls, graphs: GraphBatch) -> ListedNeighbours:
        """From padded matrices."""
        present = graphs.adjacency.cpu().numpy() > 0
        count, n, _ = present.shape
        present.reshape(count, -1)[:, :: n + 1] = False  # self loops
        row, v = np.divmod(np.flatnonzero(present), n)  # many times faster than nonzero
        sizes = graphs.sizes.cpu().numpy()
        start = np.cumsum(sizes) - sizes
        real = (np.arange(n) < sizes[:, None]).ravel()
        return cls(start[row // n] + v, np.bincount(row, minlength=count * n)[real], sizes)

    @classmethod
    def of_lists(cls, graphs: EdgeBatch) -> ListedNeighbours:
        """From lists that have each edge once."""
        sizes = graphs.sizes.cpu().numpy()
        start = (np.cumsum(sizes) - sizes)[graphs.graph.cpu().numpy()]
        u, v = start + graphs.u.cpu().numpy(), start + graphs.v.cpu().numpy()
        source, target = np.concatenate((u, v)), np.concatenate((v, u))
        order = np.lexsort((source, target))
        return cls(source[order], np.bincount(target, minlength=int(sizes.sum())), sizes)

    def select(self, index: np.ndarray) -> tuple[ListedNeighbours, np.ndarray]:
        """The graphs at these positions, and where their nodes are here, int64 [nodes]."""
        sizes, degrees, starts = self.sizes.numpy(), self.degrees.numpy(), self.starts.numpy()
        first = np.cumsum(sizes) - sizes
        nodes = _ranges(first[index], sizes[index])
        edges = _ranges(starts[nodes], degrees[nodes])
        moved = np.repeat(np.cumsum(sizes[index]) - sizes[index] - first[index], sizes[index])
        neighbours = self.neighbours.numpy()[edges] + np.repeat(moved, degrees[nodes])
        return ListedNeighbours(neighbours, degrees[nodes], sizes[index]), nodes

    def sum(self, h: Tensor) -> Tensor:
        summed: Tensor = NeighbourSum.apply(h[None], self.neighbours, self.starts)[0]
        return summed

    def degree(self) -> Tensor:
        return self.degrees.float()[:, None]

    def attend(self, h: Tensor, source: Tensor, target: Tensor) -> Tensor:
        node = torch.arange(len(h))
        u, v = torch.cat((self.neighbours, node)), torch.cat((node.repeat_interleave(self.degrees), node))
        logit = leaky_relu(source[u] + target[v], SLOPE)
        of_neighbours, own = logit.detach().split((len(self.neighbours), len(h)))
        highest = torch.segment_reduce(of_neighbours, "max", lengths=self.degrees, initial=-torch.inf).maximum(own)
        weight = (logit - highest[v]).exp()
        total = torch.zeros_like(target).index_add(0, v, weight)
        parts = h.unflatten(1, (source.shape[1], -1))
        summed = torch.zeros_like(parts).index_add(0, v, weight[:, :, None] * parts[u])
        return (summed / total[:, :, None]).flatten(1)

    def pool(self, h: Tensor, how: str) -> Tensor:
        return torch.segment_reduce(h, how, lengths=self.sizes)


class WeightedNeighbours(Neighbourhood):
    """Graphs as lists of edges with a weight each; the nodes of all graphs one after the other: values are [n, width].

    Time and memory grow with the edges that there are. Pairs that are not listed have no gradient.
    """

    def __init__(self, graphs: EdgeBatch, weight: Tensor) -> None:
        first = (graphs.sizes.cumsum(0) - graphs.sizes)[graphs.graph]
        u, v = first + graphs.u, first + graphs.v
        self.source, self.target, self.sizes = torch.cat((u, v)), torch.cat((v, u)), graphs.sizes
        self.weight = weight.repeat(2)[:, None]

    def sum(self, h: Tensor) -> Tensor:
        return torch.zeros_like(h).index_add(0, self.target, self.weight * h[self.source])

    def degree(self) -> Tensor:
        return self.weight.new_zeros(int(self.sizes.sum()), 1).index_add(0, self.target, self.weight)

    def attend(self, h: Tensor, source: Tensor, target: Tensor) -> Tensor:
        node = torch.arange(len(h), device=h.device)
        u, v = torch.cat((self.source, node)), torch.cat((self.target, node))
        weight = torch.cat((self.weight, h.new_ones(len(h), 1)))
        logit = leaky_relu(source[u] + target[v], SLOPE)
        seen = logit.detach().masked_fill(weight.detach() == 0, -torch.inf)
        highest = torch.full_like(target, -torch.inf).scatter_reduce(0, v[:, None].expand_as(seen), seen, "amax")
        share = weight * (logit - highest[v]).clamp(max=30).exp()  # of weight 0, logits may be higher
        total = torch.zeros_like(target).index_add(0, v, share)
        parts = h.unflatten(1, (source.shape[1], -1))
        summed = torch.zeros_like(parts).index_add(0, v, share[:, :, None] * parts[u])
        return (summed / total[:, :, None]).flatten(1)

    def pool(self, h: Tensor, how: str) -> Tensor:
        return torch.segment_reduce(h, how, lengths=self.sizes)


class SoftMatrices(Neighbourhood):
    """Graphs as matrices of weights [B, N, N]; rows and columns beyond a graph's size do not exist.

    Weights are made symmetric and those of self loops are left out. Values are [B, N, width].
    """

    def __init__(self, weight: Tensor, sizes: Tensor) -> None:
        n = weight.shape[1]
        self.real = torch.arange(n, device=sizes.device) < sizes[:, None]
        both = self.real[:, :, None] & self.real[:, None, :] & ~torch.eye(n, dtype=torch.bool, device=sizes.device)
        self.weight = (weight + weight.transpose(1, 2)) / 2 * both

    def sum(self, h: Tensor) -> Tensor:
        return self.weight @ h

    def degree(self) -> Tensor:
        return self.weight.sum(2, keepdim=True)

    def attend(self, h: Tensor, source: Tensor, target: Tensor) -> Tensor:
        own = torch.eye(h.shape[1], dtype=h.dtype, device=h.device)
        weight = (self.weight + own)[:, :, :, None]
        logit = leaky_relu(target[:, :, None] + source[:, None], SLOPE)  # [B, v, u, heads]
        highest = logit.detach().masked_fill(weight == 0, -torch.inf).amax(2, keepdim=True)
        weight = weight * (logit - highest).clamp(max=30).exp()  # of missing pairs logits may be higher
        parts = h.unflatten(2, (source.shape[2], -1))
        summed = torch.einsum("bvuk,bukd->bvkd", weight / weight.sum(2, keepdim=True), parts)
        return summed.flatten(2)

    def pool(self, h: Tensor, how: str) -> Tensor:
        if how == "max":
            return h.masked_fill(~self.real[:, :, None], -torch.inf).amax(1)
        total = (h * self.real[:, :, None]).sum(1)
        return total / self.real.sum(1, keepdim=True) if how == "mean" else total


def _ranges(first: np.ndarray, count: np.ndarray) -> np.ndarray:
    """first[0], …, first[0] + count[0] - 1, first[1], … one after the other."""
    before = np.cumsum(count) - count
    return np.arange(int(count.sum())) + np.repeat(first - before, count)


# -- Layers ----------------------------------------------------------------------------------------------


class GCN(nn.Module):
    """D^(-1/2) (A + I) D^(-1/2) H W + b, D being the degrees of A + I."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(width_in, width)), nn.Parameter(torch.zeros(width))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, h: Tensor, a: Neighbourhood) -> Tensor:
        scale = (1 + a.degree()).rsqrt()
        h = scale * (h @ self.weight)
        return scale * (a.sum(h) + h) + self.bias


class GIN(nn.Module):
    """MLP(h_v + Σ_u a_vu h_u), the network having one hidden layer."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width_in, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, h: Tensor, a: Neighbourhood) -> Tensor:
        updated: Tensor = self.mlp(h + a.sum(h))
        return updated


class SAGE(nn.Module):
    """W_1 mean_u h_u + W_2 h_v + b; a node whose weights sum to less than one divides by one."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.of_neighbours, self.own = nn.Linear(width_in, width), nn.Linear(width_in, width, bias=False)

    def forward(self, h: Tensor, a: Neighbourhood) -> Tensor:
        updated: Tensor = self.of_neighbours(a.sum(h) / a.degree().clamp(min=1)) + self.own(h)
        return updated


class GAT(nn.Module):
    """Attention over a node and its neighbours by several heads, side by side; a weight multiplies exp of the logit."""

    def __init__(self, width_in: int, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width_in, width, bias=False)
        self.source, self.target = (nn.Parameter(torch.empty(HEADS, width // HEADS)) for _ in range(2))
        self.bias = nn.Parameter(torch.zeros(width))
        for parameter in (self.linear.weight, self.source, self.target):
            nn.init.xavier_uniform_(parameter)

    def forward(self, h: Tensor, a: Neighbourhood) -> Tensor:
        h = self.linear(h)
        parts = h.unflatten(-1, (HEADS, -1))
        return a.attend(h, (parts * self.source).sum(-1), (parts * self.target).sum(-1)) + self.bias


LAYERS: dict[str, type[nn.Module]] = {"gcn": GCN, "gin": GIN, "gat": GAT, "sage": SAGE}


class GraphClassifier(nn.Module):
    """Layers, each followed by batch normalisation and ReLU; pooling over the nodes; a linear layer: logits [B, C]."""

    def __init__(
        self, architecture: str, n_features: int, n_classes: int, *, width: int, depth: int = 3, pooling: str
    ) -> None:
        super().__init__()
        widths = [n_features, *[width] * depth]
        self.n_features, self.pooling = n_features, pooling
        self.convs = nn.ModuleList(LAYERS[architecture](*widths[i : i + 2]) for i in range(depth))
        self.bns = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(depth))
        self.fc = nn.Linear(width, n_classes)

    def embedded(self, x: Tensor, a: Neighbourhood) -> tuple[Tensor, Tensor]:
        """What the last layer makes of the nodes, and of that the pooled values of each graph, [B, width]."""
        for layer, norm in zip(self.convs, self.bns, strict=True):
            x = layer(x, a)
            x = norm(x.flatten(0, -2)).reshape(x.shape).relu()
        return x, a.pool(x, self.pooling)

    def forward(self, x: Tensor, a: Neighbourhood) -> Tensor:
        logits: Tensor = self.fc(self.embedded(x, a)[1])
        return logits
