"""The oracles of problems that no method here was built on; the graphs are in `rsgg.data.unseen`.

Each is made ready for a data set (`prepared`): a network is trained on its graphs, a rule is drawn for them. So another
seed of the data is another problem.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rsgg.data.dataset import Dataset
from rsgg.data.unseen import LOBES
from rsgg.graph import GraphBatch
from rsgg.oracles.asd import ASDOracle
from rsgg.oracles.oracle import Oracle
from rsgg.oracles.pyg import Disjoint, PyGOracle
from rsgg.oracles.weights import address, trained_once
from rsgg.seeds import numpy_rng, seed_for

VERSION = 1  # part of the name of weights that are kept: raise it when training changes


class TrainedGIN(Oracle):
    """A GIN of three layers, trained on all graphs of the data set. What is explained are its answers, right or wrong.

    Graphs without node features are shown a constant; `pool` is "mean" or "add".
    """

    name = "trained-gin"

    def __init__(self, n_classes: int = 2, pool: str = "mean", epochs: int = 150) -> None:
        self.n_classes, self.pool, self.epochs = n_classes, pool, epochs

    def parameters(self) -> dict[str, object]:
        return {"n_classes": self.n_classes, "pool": self.pool, "epochs": self.epochs}

    def predict(self, graphs: GraphBatch) -> Tensor:
        raise NotImplementedError("it has to be trained first: prepared(dataset)")

    def prepared(self, dataset: Dataset) -> Oracle:
        width = 1 if dataset.graphs.features is None else dataset.graphs.features.shape[2]
        model = GINClassifier(width, self.n_classes, self.pool)
        graphs, about = dataset.graphs, [VERSION, self.parameters(), list(dataset.graphs.adjacency.shape)]
        name = f"{self.name}-{address(about, graphs.sizes, graphs.adjacency, dataset.labels, graphs.features)}"
        model.load_state_dict(trained_once(name, lambda: trained(model, dataset, self.epochs).state_dict()))
        return PyGOracle(model.eval(), n_classes=self.n_classes)


class GINClassifier(nn.Module):
    """Logits of graphs, read as PyG models do."""

    def __init__(self, width: int, n_classes: int, pool: str) -> None:
        from torch_geometric.nn import GIN, global_add_pool, global_mean_pool

        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for("gin", width, n_classes, pool) % 2**63)
            self.gin = GIN(width, 32, 3, n_classes, norm="batch_norm")
        self.pool = global_mean_pool if pool == "mean" else global_add_pool

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        logits: Tensor = self.pool(self.gin(x, edge_index), batch)
        return logits


def trained(model: nn.Module, dataset: Dataset, epochs: int) -> nn.Module:
    """The model after so many steps of Adam on the labels of all graphs at once."""
    graphs = dataset.graphs
    read = Disjoint.of_matrices(graphs.adjacency, graphs.features, graphs.sizes, None, all_pairs=False)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimiser.zero_grad()
        nn.functional.cross_entropy(model(read.x, read.edge_index, read.batch), dataset.labels).backward()
        optimiser.step()
    return model.eval()


class LinearRule(ASDOracle):
    """A rule like that of ASD's oracle: class 1 iff b + w₁ · edges inside one set of nodes - w₂ · edges inside another
    is above zero.

    The sets are some lobes each; they and the weights are drawn for the data set, and b is such that half of its graphs
    are of each class.
    """

    name = "linear-rule"

    def __init__(self, lobes: int = 2) -> None:
        self.lobes = lobes

    def parameters(self) -> dict[str, object]:
        return {"lobes": self.lobes}

    def prepared(self, dataset: Dataset) -> LinearRule:
        n, rule = dataset.graphs.n_nodes, LinearRule(self.lobes)
        rng = numpy_rng(self.name, dataset.graphs.adjacency[0].numpy().tobytes().hex())
        rule.weight, rule.loop_weight = torch.zeros(n, n, dtype=torch.float64), torch.zeros(n, dtype=torch.float64)
        rule.intercept = 0.0
        lobes = torch.from_numpy(rng.permutation(LOBES)[: 2 * self.lobes]).split(self.lobes)
        for value, own in zip((rng.uniform(0.1, 0.2), -rng.uniform(0.05, 0.1)), lobes, strict=True):
            inside = torch.isin(torch.arange(n) % LOBES, own).double()
            rule.weight += value * torch.triu(torch.outer(inside, inside), 1)
        rule.intercept = -float(rule.score(dataset.graphs.adjacency).quantile(0.5))
        return rule


class TriangleAtGivenSize(Oracle):
    """Class 1 iff the graph has exactly so many edges and a triangle.

    A graph without a triangle has to gain an edge and lose another one: neither removals nor additions alone suffice.
    """

    name = "triangle-at-given-size"
    reads_only = True

    def __init__(self, n_edges: int = 24) -> None:
        self.n_edges = n_edges

    def parameters(self) -> dict[str, object]:
        return {"n_edges": self.n_edges}

    def predict(self, graphs: GraphBatch) -> Tensor:
        a = (graphs.adjacency > 0).float()
        triangle = ((a @ a) * a).flatten(1).amax(1) > 0
        return (triangle & (graphs.n_edges == self.n_edges)).long()

    def optimal_ged(self, graphs: GraphBatch) -> Tensor:
        """One edit leaves the size; to reach class 1 it takes two, where the size is right and a path of two edges has
        an edge beside it: all graphs of `Triangles`.
        """
        return 2.0 - self.predict(graphs).double()
