"""Graph neural networks as oracles: published ones with frozen weights, and ones that are trained in each fold.

Both read node labels (X) and the graph; edge labels are not read. Binary graphs are answered as lists of edges, soft
ones as matrices (see `rsgg.oracles.networks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rsgg.data.files import Published, checksums, named_dir
from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles.networks import LAYERS, GraphClassifier, ListedNeighbours, SoftMatrices, WeightedNeighbours
from rsgg.oracles.oracle import Embeddings, Oracle
from rsgg.oracles.scores import most_likely
from rsgg.oracles.weights import Weights, address, trained_once
from rsgg.seeds import numpy_rng, seed_for

VERSION = 1  # part of the name of cached weights: raise it when training changes


class GNNOracle(Oracle):
    """A graph classifier whose weights are there, or will be: `network` is None until they are."""

    name = "gnn"
    reads_only = True
    network: GraphClassifier | None = None

    def why_not_ready(self) -> str:
        """Why there are no weights yet, as a sentence."""
        return "The oracle has no network."

    def predict(self, graphs: GraphBatch) -> Tensor:
        return self._classes(_features(graphs), ListedNeighbours.of(graphs))

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        return self._classes(_features(graphs), ListedNeighbours.of_lists(graphs))

    @torch.no_grad()
    def _classes(self, x: Tensor, a: ListedNeighbours) -> Tensor:
        return most_likely(self._ready(x)(x, a), self.name)

    @torch.no_grad()
    def probabilities(self, graphs: GraphBatch) -> Tensor:
        x = _features(graphs)
        return self._ready(x)(x, ListedNeighbours.of(graphs)).softmax(1)

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """As for every oracle; all rows of the matrices are nodes (`relaxed_graphs` knows of padding)."""
        sizes = torch.full((len(adjacency),), adjacency.shape[1], device=adjacency.device)
        return self._probabilities(adjacency, features, sizes)

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        return self._probabilities(soft, graphs.features, graphs.sizes)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        soft = weight.new_zeros(len(graphs), graphs.n_nodes, graphs.n_nodes)
        soft = soft.index_put((graphs.graph, graphs.u, graphs.v), weight)
        return self._probabilities(soft + soft.transpose(1, 2), graphs.features, graphs.sizes)

    def _probabilities(self, soft: Tensor, features: Tensor | None, sizes: Tensor) -> Tensor:
        soft = soft.float()
        x = soft.new_ones(*soft.shape[:2], 1) if features is None else features
        return self._ready(x)(x, SoftMatrices(soft, sizes)).softmax(1)

    def why_no_embeddings(self) -> str:
        return ""

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        x = _features(graphs)
        weight = x.new_ones(len(graphs.u)) if weight is None else weight.to(x.dtype)
        return Embeddings(*self._ready(x).embedded(x, WeightedNeighbours(graphs, weight)))

    def head(self, pooled: Tensor) -> Tensor:
        if self.network is None:
            raise OracleError(self.why_not_ready())
        logits: Tensor = self.network.fc(pooled)
        return logits

    def _ready(self, x: Tensor) -> GraphClassifier:
        if self.network is None:
            raise OracleError(self.why_not_ready())
        if x.shape[-1] != self.network.n_features:
            raise OracleError(
                f"The oracle {self.name!r} reads {self.network.n_features} features per node and was given "
                f"{x.shape[-1]}; give it the graphs that it was made for."
            )
        return self.network


def _features(graphs: GraphBatch | EdgeBatch) -> Tensor:
    """X of the nodes of all graphs, one after the other, [n, d]; a column of ones where there is none."""
    if graphs.features is None:
        return torch.ones(int(graphs.sizes.sum()), 1)
    return graphs.features[graphs.node_mask]


# -- Published networks ----------------------------------------------------------------------------------

PUBLISHED_IN = "https://raw.githubusercontent.com/mertkosan/GCFExplainer/cc7ca30eb2026c57f20cd6afe2ee621f486fcf2e/data/"
FROZEN_FOR = ("AIDS", "Mutagenicity", "NCI1", "PROTEINS")
CLASSES_SWAPPED = ("AIDS", "NCI1", "PROTEINS")  # published with class 0 as the undesired one
HIDDEN = 20


class FrozenGCN(GNNOracle):
    """A published GCN of GCFExplainer (Kosan, Huang et al., WSDM 2023; MIT licence), with its weights as they are.

    Three GCN layers of 20 with batch normalisation and ReLU, max pooling, a linear layer. It was trained on the graphs
    without rare node labels, `TU(data, rare=50)` (PROTEINS has none), and reads their one-hot columns. Classes are
    those of the data set: where the publication swapped them they are swapped back.

    The weights are read from `oracles/<data>_gcn.npz` in the user's folder, or downloaded as the published checkpoint,
    of which only tensors are read (`weights_only`): nothing in it is executed.
    """

    name = "frozen-gcn"

    def __init__(self, data: str = "AIDS") -> None:
        if data not in FROZEN_FOR:
            raise OracleError(f"There is no published GCN for {data!r}; choose one of {', '.join(FROZEN_FOR)}.")
        self.data = data

    def parameters(self) -> dict[str, object]:
        return {"data": self.data}

    def why_not_ready(self) -> str:
        return f"The weights of the published GCN for {self.data} are not loaded yet; call `loaded` first."

    def loaded(self, data_dir: Path | None = None) -> FrozenGCN:
        weights = self._weights(data_dir)
        order = [1, 0] if self.data in CLASSES_SWAPPED else [0, 1]
        weights |= {part: weights[part][order] for part in ("fc.weight", "fc.bias")}
        network = GraphClassifier("gcn", len(weights["convs.0.weight"]), 2, width=HIDDEN, pooling="max")
        network.load_state_dict(weights)
        ready = FrozenGCN(self.data)
        ready.network = network.eval().requires_grad_(False)
        return ready

    def _weights(self, data_dir: Path | None) -> dict[str, Tensor]:
        suffix = "npz" if named_dir(data_dir) else "pth"
        file = f"{self.data}_gcn.{suffix}"
        files = Published(
            f"The published GCN for {self.data}", "oracles", {file: checksums("oracles")[file]},
            [f"{PUBLISHED_IN}{self.data.lower()}/gnn/model_best.pth"], f"oracles/{self.data}_gcn.npz",
        )  # fmt: skip
        folder = files.find(data_dir)
        files.check(folder, file, files.read(folder, file))
        if suffix == "pth":
            tensors: dict[str, Tensor] = torch.load(folder / file, map_location="cpu", weights_only=True)
            return tensors
        with np.load(folder / file, allow_pickle=False) as arrays:
            names = [name for name in arrays.files if name.split(".")[0] in ("convs", "bns", "fc")]
            return {name: torch.from_numpy(arrays[name]) for name in names}


# -- Networks trained here -------------------------------------------------------------------------------

POOLING = {"gcn": "mean", "gin": "sum", "gat": "mean", "sage": "mean"}
WIDTH = 32
STEPS, BATCH, CHECK_EVERY = 1500, 64, 150
LEARNING_RATE, WEIGHT_DECAY = 0.003, 1e-4
VALIDATION_SHARE = 0.1  # of the training graphs, on which the best moment of training is chosen
COPY_SHARE = 0.9  # of the training graphs, which a re-trained copy sees


class TrainedGNN(GNNOracle):
    """A network that is trained on the training graphs of each fold: three layers of 32, see `rsgg.oracles.networks`.

    Args:
        architecture: "gcn", "gin", "gat" or "sage".
        n_classes: of the data set.
        copy: 0 is the oracle itself. Copies 1, 2, … are what it could have been: other initial weights, trained on a
            random nine tenths of the same graphs. They measure how robust explanations are.

    Adam minimises the cross entropy, in which each class weighs the same, for 1500 steps of 64 graphs with a cosine
    schedule. A random tenth of the training graphs is set aside: the weights are those of the check (every 150 steps)
    with the highest accuracy on it, in which each class weighs the same, the last one of equals. Weights are kept
    (`rsgg.oracles.weights`).
    """

    name = "trained-gnn"
    fits = True

    def __init__(self, architecture: str = "gin", n_classes: int = 2, copy: int = 0) -> None:
        if architecture not in LAYERS:
            raise OracleError(f"There is no architecture {architecture!r}; choose one of {', '.join(LAYERS)}.")
        self.architecture, self.n_classes, self.copy = architecture, n_classes, copy

    def parameters(self) -> dict[str, object]:
        about: dict[str, object] = {"architecture": self.architecture, "n_classes": self.n_classes}
        return about | ({"copy": self.copy} if self.copy else {})

    def why_not_ready(self) -> str:
        return "The oracle is trained in each fold and has not been trained yet; ask Problem.in_fold(fold).oracle."

    def fitted(self, graphs: GraphBatch, labels: Tensor, seed: int = 0) -> TrainedGNN:
        if len(graphs) < 2 or int(labels.max()) >= self.n_classes:
            raise OracleError(
                f"An oracle of {self.n_classes} classes cannot be trained on {len(graphs)} graphs with labels up to "
                f"{int(labels.max())}; give two graphs or more, and n_classes as the data have them."
            )
        width = 1 if graphs.features is None else graphs.features.shape[2]
        names = ("oracle", self.architecture, self.copy, seed)
        with one_thread(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(*names))
            network = GraphClassifier(
                self.architecture, width, self.n_classes, width=WIDTH, pooling=POOLING[self.architecture]
            )

            def train() -> Weights:
                part = torch.arange(len(graphs))
                if self.copy:
                    kept = numpy_rng(*names, "copy").permutation(len(graphs))[: round(COPY_SHARE * len(graphs))]
                    part = torch.from_numpy(np.sort(kept))
                _train(network, graphs.select(part), labels[part], self.n_classes, names)
                return network.state_dict()

            name = f"{self.architecture}-{self._address(graphs, labels, seed)}"
            network.load_state_dict(trained_once(name, train))
        ready = TrainedGNN(self.architecture, self.n_classes, self.copy)
        ready.network = network.eval().requires_grad_(False)
        return ready

    def _address(self, graphs: GraphBatch, labels: Tensor, seed: int) -> str:
        """A hash of everything that the weights depend on."""
        recipe = [VERSION, WIDTH, STEPS, BATCH, CHECK_EVERY, LEARNING_RATE, WEIGHT_DECAY, VALIDATION_SHARE, COPY_SHARE]
        about = [recipe, self.parameters(), seed, list(graphs.adjacency.shape)]
        return address(about, graphs.sizes, graphs.adjacency, labels, graphs.features)


def _train(
    network: GraphClassifier, graphs: GraphBatch, labels: Tensor, n_classes: int, names: tuple[object, ...]
) -> None:
    """Train the network and leave it with the weights that were best on the part that is set aside."""
    listed = ListedNeighbours.of(graphs)
    x = _features(graphs)
    rng = numpy_rng(*names, "batches")
    shuffled = rng.permutation(len(graphs))
    aside = max(1, round(VALIDATION_SHARE * len(graphs)))
    validation, training = shuffled[:aside], shuffled[aside:]
    weight = len(labels) / (n_classes * torch.bincount(labels, minlength=n_classes).clamp(min=1))

    def answers(index: np.ndarray) -> tuple[Tensor, Tensor]:
        a, nodes = listed.select(index)
        return network(x[torch.from_numpy(nodes)], a), labels[torch.from_numpy(index)]

    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    best, weights = 0.0, network.state_dict()
    for step, index in enumerate(_batches(training, rng)):
        optimizer.zero_grad()
        cross_entropy(*answers(index), weight.float()).backward()
        optimizer.step()
        schedule.step()
        if (step + 1) % CHECK_EVERY == 0:
            network.eval()
            with torch.no_grad():
                logits, right = answers(validation)
            network.train()
            now = balanced_accuracy(logits.argmax(1), right)
            if now >= best:
                best, weights = now, {name: value.clone() for name, value in network.state_dict().items()}
    network.load_state_dict(weights)


def balanced_accuracy(predicted: Tensor, labels: Tensor) -> float:
    """The share of right answers in each class that there is, averaged over the classes."""
    right = (predicted == labels).double()
    return float(torch.stack([right[labels == c].mean() for c in labels.unique()]).mean())


def _batches(positions: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """`STEPS` batches, in each round of which every position comes once; a last one of a single graph is left out."""
    done = 0
    while True:
        shuffled = rng.permutation(positions)
        for i in range(0, len(shuffled), BATCH):
            if done == STEPS:
                return
            if len(shuffled[i : i + BATCH]) > 1 or len(shuffled) == 1:
                done += 1
                yield shuffled[i : i + BATCH]


@contextmanager
def one_thread() -> Iterator[None]:
    """Sums do not depend on the number of threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
