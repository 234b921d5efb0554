"""The released RSGG-CE written plainly: one graph at a time, PyG layers, NetworkX features and oracle.

Independent of `rsgg.rsgg_ce.released` (it shares no code with it, only the initial weights and noise that a test hands
to both), so it checks the batched implementation and is what `benchmarks/speed.py` measures its speed against.
"""

from __future__ import annotations

from collections.abc import Callable

import networkx as nx
import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

Weights = dict[str, Tensor]


def has_cycle(graph: nx.Graph) -> int:
    """The Tree-Cycles oracle as the released code asks it: search for a cycle."""
    try:
        nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return 0
    return 1


def sorted_by_degree(adjacency: np.ndarray) -> tuple[nx.Graph, list[int]]:
    """The graph with its nodes in the order of falling degree, and that order."""
    graph = nx.from_numpy_array(adjacency)
    degree = dict(graph.degree())
    order = sorted(degree, key=degree.__getitem__, reverse=True)
    return nx.from_numpy_array(adjacency[np.ix_(order, order)]), order


def node_features(graph: nx.Graph) -> np.ndarray:
    """Eight raw columns; the last is a spectrum, written down the rows."""
    columns = [
        dict(graph.degree()), nx.betweenness_centrality(graph), nx.closeness_centrality(graph),
        nx.harmonic_centrality(graph), nx.clustering(graph), nx.katz_centrality(graph),
        nx.second_order_centrality(graph),
    ]  # fmt: skip
    rows = [[column[node] for node in graph] for column in columns]
    return np.array([*rows, nx.laplacian_spectrum(graph)]).T


def to_data(adjacency: np.ndarray) -> Data:
    graph, order = sorted_by_degree(adjacency)
    upper = np.argwhere(np.triu(nx.to_numpy_array(graph))).T
    return Data(x=torch.tensor(node_features(graph)), edge_index=torch.tensor(upper), order=order)


class Generator(nn.Module):
    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.conv1, self.conv2 = GCNConv(n_features, 4), GCNConv(4, 2)
        self.double()

    def forward(self, data: Data, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        hidden = self.conv1(data.x, data.edge_index).relu()
        latent = torch.tanh(self.conv2(hidden if keep is None else hidden * keep, data.edge_index))
        residual = data.x + latent.repeat(1, data.x.shape[1] // latent.shape[1])
        adjacency = torch.zeros(len(latent), len(latent), dtype=torch.float64)
        adjacency[data.edge_index[0], data.edge_index[1]] = 1
        return residual, torch.sigmoid(adjacency + latent @ latent.T)


class Discriminator(nn.Module):
    def __init__(self, n_nodes: int, n_features: int) -> None:
        super().__init__()
        self.conv, self.fc = GCNConv(n_features, 2), nn.Linear(n_nodes * 2, 1)
        self.double()

    def forward(self, x: Tensor, edge_index: Tensor, noise: Tensor | None = None, keep: Tensor | None = None) -> Tensor:
        hidden = self.conv(x, edge_index)
        hidden = (hidden if noise is None else hidden + noise).relu()
        hidden = hidden if keep is None else hidden * keep
        return torch.sigmoid(self.fc(hidden.flatten())).squeeze()


class PlainReleased:
    """Fit and explain, one graph at a time. `noise(name, step, class)` supplies what training draws."""

    def __init__(
        self, weights: list[Weights], noise: Callable[[str, int, int], Tensor], epochs: int = 500, rate: float = 1e-3
    ) -> None:
        self.initial, self.noise, self.epochs, self.rate = weights, noise, epochs, rate

    def fit(self, graphs: list[Data], classes: list[int], oracle: Callable[[nx.Graph], int]) -> None:
        self.calls = 0
        self.networks = [self._networks(graphs[0], weights) for weights in self.initial]
        for label in range(len(self.networks)):
            self._fit_class(graphs, classes, oracle, label)

    def _networks(self, example: Data, weights: Weights) -> tuple[Generator, Discriminator]:
        n, d = example.x.shape
        generator, discriminator = Generator(d), Discriminator(n, d)
        pairs = (
            (generator.conv1.lin.weight, weights["encoder1"].T), (generator.conv1.bias, weights["encoder1_bias"]),
            (generator.conv2.lin.weight, weights["encoder2"].T), (generator.conv2.bias, weights["encoder2_bias"]),
            (discriminator.conv.lin.weight, weights["convolution"].T),
            (discriminator.conv.bias, weights["convolution_bias"]),
            (discriminator.fc.weight, weights["linear"][None]), (discriminator.fc.bias, weights["linear_bias"][None]),
        )  # fmt: skip
        with torch.no_grad():
            for parameter, value in pairs:
                assert parameter is not None
                parameter.copy_(value)
        return generator, discriminator

    def _fit_class(self, graphs: list[Data], classes: list[int], oracle: Callable[[nx.Graph], int], label: int) -> None:
        generator, discriminator = self.networks[label]
        own = [graph for graph, c in zip(graphs, classes, strict=True) if c == label]
        other = [graph for graph, c in zip(graphs, classes, strict=True) if c != label]
        d_optimiser = torch.optim.SGD(discriminator.parameters(), lr=self.rate)
        g_optimiser = torch.optim.SGD(generator.parameters(), lr=self.rate)
        bce = nn.BCELoss()
        for step in range(self.epochs):
            assert not generator(other[(step - 1) % len(other)])[0].isnan().all()  # as released: did it diverge?
            real, fake = other[step % len(other)], own[2 * step % len(own)]
            weight = 1.0 if oracle(_graph(real)) != label else 0.0
            oracle(_graph(fake))
            self.calls += 2
            scores = torch.stack([
                discriminator(
                    shown.x, shown.edge_index, self.noise("gaussian", step, label)[i],
                    self.noise("discriminator", step, label)[i],
                )
                for i, shown in enumerate((real, fake))
            ])  # fmt: skip
            loss = bce(scores, torch.tensor([1.0, 0.0], dtype=torch.float64))
            loss = (loss * torch.tensor([weight, 1.0], dtype=torch.float64)).mean()
            d_optimiser.zero_grad()
            loss.backward()
            d_optimiser.step()
            generated = own[(2 * step + 1) % len(own)]
            generator(fake)  # as released: for edge probabilities that nothing uses
            residual, _ = generator(generated, self.noise("encoder", step, label))
            loss = bce(discriminator(residual, generated.edge_index), torch.tensor(1.0, dtype=torch.float64))
            g_optimiser.zero_grad()
            loss.backward()
            g_optimiser.step()

    def probabilities(self, data: Data) -> Tensor:
        """A_g of the class-0 generator, nodes in the order of falling degree."""
        with torch.no_grad():
            of_every_class = [generator(data)[1] for generator, _ in self.networks]  # as released; one of them is used
        return of_every_class[0]

    def explain(
        self, adjacency: np.ndarray, oracle: Callable[[nx.Graph], int], rng: torch.Generator, iterations: int = 500
    ) -> tuple[np.ndarray | None, int]:
        """The counterfactual (or None) and the number of oracle calls, two per check."""
        data = to_data(adjacency)
        probabilities, n = self.probabilities(data), data.num_nodes
        graph, _ = sorted_by_degree(adjacency)
        source, target = data.edge_index
        drawn = torch.multinomial(probabilities[source, target], len(source), replacement=True, generator=rng)
        candidate = np.zeros((n, n))
        for i in drawn.tolist():
            candidate[source[i], target[i]] = candidate[target[i], source[i]] = 1
        calls = 2
        if oracle(nx.from_numpy_array(candidate)) != oracle(graph):
            return candidate, calls
        u, v = np.triu_indices(n, 1)
        weights = probabilities[torch.tensor(u), torch.tensor(v)]
        for _ in range(iterations):
            i = int(torch.multinomial(weights, 1, generator=rng))
            candidate[u[i], v[i]] += 1
            candidate[v[i], u[i]] += 1
            calls += 2
            if oracle(nx.from_numpy_array(candidate)) != oracle(graph):
                return candidate, calls
        return None, calls


def _graph(data: Data) -> nx.Graph:
    graph = nx.empty_graph(data.num_nodes)
    graph.add_edges_from(data.edge_index.T.tolist())
    return graph
