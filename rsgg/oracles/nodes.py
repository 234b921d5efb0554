"""Node oracles: graph convolutional networks that classify the node v of an ego network (`rsgg.data.nodes`).

Three layers H ← D̂^-½ (A + I) D̂^-½ H W + b, the first two followed by ReLU; the outputs of all three are concatenated
and read by a linear layer (Lucic et al., CF-GNNExplainer, AISTATS 2022).

The answer is exact: the class of v in the *whole* graph, with the edges inside the ego network as they are asked about.
An added edge may bring nodes near v that are not in the ego network, so the oracle looks further than it. Edits are
among nodes at most `hops` edges away from v, so that whatever they are, no more than LAYERS - 1 further edges lead to
what matters for v: its *context* is the ego network of hops + LAYERS - 1 edges, with the degrees of the whole graph.
"""

from __future__ import annotations

import copy
import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from rsgg.data.dataset import Dataset
from rsgg.data.files import content_of, named_dir
from rsgg.data.nodes import (
    NUMBER,
    TARGET,
    TEST,
    TRAIN,
    VALID,
    NodeDataset,
    NodeGraph,
    checksums,
    target_nodes,
)
from rsgg.edges import EdgeBatch
from rsgg.errors import DataError, OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Oracle
from rsgg.oracles.scores import most_likely
from rsgg.oracles.weights import Weights, address, trained_once
from rsgg.seeds import torch_rng

VERSION = 1  # part of the name of weights that are kept: raise it when training changes
LAYERS = 3
CONSTANT_FEATURES = 10  # all of them 1: what nodes are given that have no features
GRAPHS_AT_ONCE = 256  # that are looked at together, which bounds the memory
LEARNING_RATE, WEIGHT_DECAY, LARGEST_GRADIENT = 0.005, 1e-4, 2.0


@dataclass(frozen=True)
class Context:
    """What an oracle has to look at to classify v, whatever is edited in the ego network of v.

    `nodes` [c] are numbers in the whole graph and `place` [n] where each stands among them (0 for others); `edges`
    [2, K], both directions, are those that are not inside the ego network, by place; `beyond` [c] counts the edges of
    each node that lead out of the context.
    """

    nodes: Tensor
    place: Tensor
    edges: Tensor
    beyond: Tensor

    @classmethod
    def of(cls, whole: NodeGraph, v: int, hops: int) -> Context:
        near = whole.within(v, hops + LAYERS - 1)
        nodes = torch.tensor(near)
        place = torch.full((whole.n_nodes,), -1)
        place[nodes] = torch.arange(len(near))
        inside = torch.zeros(whole.n_nodes, dtype=torch.bool)
        inside[whole.within(v, hops)] = True
        edges = torch.from_numpy(np.concatenate((whole.edges, whole.edges[:, ::-1]))).T
        here = (place[edges] >= 0).all(0)
        beyond = torch.bincount(edges[0, ~here], minlength=whole.n_nodes)[nodes]
        return cls(nodes, place.clamp(min=0), place[edges[:, here & ~inside[edges].all(0)]], beyond.double())


class NodeGCN(Oracle):
    """A node classifier that is trained on the training nodes of the whole graph when the data are loaded.

    Training (Adam, the learning rate falling to 0, weight decay, clipped gradients) often gets stuck where nodes have
    constant features. So there are several `starts`, and the one that is best on the validation nodes is taken.
    `accuracy` is that on the test nodes.
    """

    name: ClassVar[str] = "node-gcn"
    reads_only = True
    reads_lists: ClassVar[bool] = True

    def __init__(
        self, n_classes: int = 2, hidden: int = 20, epochs: int = 1000, starts: int = 3, seed: int = 0
    ) -> None:
        self.n_classes, self.hidden, self.epochs, self.starts, self.seed = n_classes, hidden, epochs, starts, seed
        self.weights: dict[str, Tensor] = {}
        self.whole: NodeGraph | None = None
        self.hops, self.contexts = 0, dict[int, Context]()
        self.accuracy = float("nan")

    def parameters(self) -> dict[str, object]:
        training = {"epochs": self.epochs, "starts": self.starts, "seed": self.seed}
        return {"n_classes": self.n_classes, "hidden": self.hidden, **training}

    def prepared(self, dataset: Dataset) -> Self:
        """The oracle with weights, float64: one and the same for the same data and seed."""
        if not isinstance(dataset, NodeDataset):
            raise OracleError(f"A node oracle classifies nodes, and {dataset.name} is no node data set; see rsgg.data.")
        ready = copy.copy(self)
        ready.whole, ready.hops, ready.contexts = dataset.whole, dataset.hops, {}
        ready.weights = self._weights(dataset)
        ready.accuracy = _share_right(ready.predict_whole(dataset.whole), dataset.whole, TEST)
        return ready

    # -- answering -------------------------------------------------------------------------------------

    def predict(self, graphs: GraphBatch) -> Tensor:
        features, answers = _checked(graphs.features), []
        for part in torch.arange(len(graphs)).split(GRAPHS_AT_ONCE):
            own = graphs.adjacency[part] > 0
            answers.append(self._classes(features[part], own.nonzero(as_tuple=True)))
        return torch.cat(answers)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        parts = [graphs.select(part) for part in torch.arange(len(graphs)).split(GRAPHS_AT_ONCE)]
        return torch.cat([self._classes(_checked(part.features), _both_directions(part)) for part in parts])

    @torch.no_grad()
    def _classes(self, features: Tensor, pairs: tuple[Tensor, ...]) -> Tensor:
        return most_likely(self._logits(features, pairs, torch.ones(len(pairs[0]), dtype=torch.float64)), self.name)

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """softmax of the logits of v; a soft edge passes on as much as it weighs, and counts so in degrees."""
        real = _checked(features)[:, :, NUMBER] > 0
        pairs = (real[:, :, None] & real[:, None, :] & ~torch.eye(adjacency.shape[1], dtype=torch.bool)).nonzero(
            as_tuple=True
        )
        return self._logits(_checked(features), pairs, adjacency[pairs].double()).softmax(1)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        """The same, in time and memory that grow with the edges and not with the pairs."""
        soft = weight.double().repeat(2)
        return self._logits(_checked(graphs.features), _both_directions(graphs), soft).softmax(1)

    def relaxed_messages(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        soft = weight.double().repeat(2)
        return self._logits(_checked(graphs.features), _both_directions(graphs), soft, soft.detach()).softmax(1)

    def why_not_differentiable(self) -> str:
        return ""

    def _logits(
        self, features: Tensor, pairs: tuple[Tensor, ...], weight: Tensor, in_degrees: Tensor | None = None
    ) -> Tensor:
        """Of v alone, [B, n_classes]. `pairs` are graph, u and v of every edge, both directions, [K] each.

        `weight` [K] is what an edge passes on, `in_degrees` what it counts in degrees, where that is not the same.
        All contexts are one large graph, in which the nodes of each context follow those of the one before.
        """
        v = target_nodes(features)
        number = features[:, :, NUMBER].long() - 1  # in the whole graph
        of_graph = [self._context(node) for node in number[torch.arange(len(v)), v].tolist()]
        sizes = torch.tensor([len(context.nodes) for context in of_graph])
        first = sizes.cumsum(0) - sizes
        place = torch.stack([context.place for context in of_graph]).gather(1, number.clamp(min=0)) + first[:, None]
        graph, i, j = pairs
        fixed = torch.cat([context.edges + start for context, start in zip(of_graph, first.tolist(), strict=True)], 1)
        source, to = torch.cat((place[graph, i], fixed[0])), torch.cat((place[graph, j], fixed[1]))
        ones = torch.ones(fixed.shape[1], dtype=torch.float64)
        beyond = torch.cat([context.beyond for context in of_graph])
        counted = torch.cat((weight if in_degrees is None else in_degrees, ones))
        scale = (beyond + 1).index_add(0, to, counted).rsqrt()[:, None]
        flow = torch.cat((weight, ones))[:, None] * scale[source] * scale[to]
        nodes = torch.cat([context.nodes for context in of_graph])
        asked = place[torch.arange(len(v)), v]
        read = _edges_that_are_read(source, to, asked, len(nodes))

        def propagate(h: Tensor, layer: int) -> Tensor:
            own = read[layer]
            return (scale**2 * h).index_add(0, to[own], flow[own] * h[source[own]])

        return self._network(_inputs(self._known())[nodes], propagate)[asked]

    def _context(self, v: int) -> Context:
        if v not in self.contexts:
            self.contexts[v] = Context.of(self._known(), v, self.hops)
        return self.contexts[v]

    def _known(self) -> NodeGraph:
        if self.whole is None:
            raise OracleError("A node oracle was asked before it knew the graph; use oracle.prepared(data set).")
        return self.whole

    def predict_whole(self, whole: NodeGraph, edges: np.ndarray | None = None) -> Tensor:
        """The class of every node of the whole graph, int64 [n], with its own edges or with others, [E, 2]."""
        edges = whole.edges if edges is None else edges
        with torch.no_grad():
            return self._of_all(whole, _normalised(whole.n_nodes, edges)).argmax(1)

    def _of_all(self, whole: NodeGraph, normalised: Tensor) -> Tensor:
        """Logits of every node of the whole graph, [n, n_classes]."""
        return self._network(_inputs(whole), lambda h, layer: normalised @ h)

    def _network(self, x: Tensor, propagate: Callable[[Tensor, int], Tensor]) -> Tensor:
        """Logits of every node; `propagate` multiplies by the normalised adjacency matrix, in layer 1, 2, …"""
        outputs = []
        for layer in range(1, LAYERS + 1):
            x = propagate(x @ self.weights[f"gc{layer}.weight"], layer) + self.weights[f"gc{layer}.bias"]
            x = torch.relu(x) if layer < LAYERS else x
            outputs.append(x)
        return torch.cat(outputs, -1) @ self.weights["lin.weight"].T + self.weights["lin.bias"]

    # -- training --------------------------------------------------------------------------------------

    def _weights(self, dataset: NodeDataset) -> Weights:
        whole = dataset.whole

        def train() -> Weights:
            candidates = []
            for start in range(self.starts):
                trained = self._trained(whole, start)
                candidates.append((_share_right(trained.predict_whole(whole), whole, VALID), trained.weights))
            return max(candidates, key=lambda candidate: candidate[0])[1]  # the first of equals

        recipe = [VERSION, LAYERS, CONSTANT_FEATURES, LEARNING_RATE, WEIGHT_DECAY, LARGEST_GRADIENT]
        splits = [whole.of_split(split).tolist() for split in (TRAIN, VALID)]
        known = (whole.edges, whole.labels, whole.features)
        parts = (None if part is None else torch.from_numpy(np.ascontiguousarray(part)) for part in known)
        return trained_once(f"{self.name}-{address([recipe, self.parameters(), whole.n_nodes, splits], *parts)}", train)

    def _trained(self, whole: NodeGraph, start: int) -> Self:
        learner, width = copy.copy(self), CONSTANT_FEATURES if whole.features is None else whole.features.shape[1]
        learner.weights = self._initial(width, start)
        train, labels = torch.from_numpy(whole.of_split(TRAIN)), torch.from_numpy(whole.labels)
        normalised = _normalised(whole.n_nodes, whole.edges)
        optimiser = torch.optim.Adam(learner.weights.values(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
        falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda epoch: 1 - epoch / self.epochs)
        for _ in range(self.epochs):
            loss = cross_entropy(learner._of_all(whole, normalised)[train], labels[train])
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learner.weights.values(), LARGEST_GRADIENT)
            optimiser.step()
            falling.step()
        learner.weights = {name: weight.detach() for name, weight in learner.weights.items()}
        return learner

    def _initial(self, width: int, start: int) -> dict[str, Tensor]:
        """Uniform in ± 1/√(width of the output), as CF-GNNExplainer draws them; of the linear layer, of its input."""
        rng, hidden = torch_rng("node gcn", self.seed, start), self.hidden
        shapes = {"gc1": (width, hidden), "gc2": (hidden, hidden), "gc3": (hidden, hidden)}
        shapes["lin"] = (self.n_classes, LAYERS * hidden)
        weights = {}
        for name, shape in shapes.items():
            bound = shape[1] ** -0.5
            for kind, size in (("weight", shape), ("bias", (shape[0] if name == "lin" else hidden,))):
                drawn = (2 * torch.rand(size, generator=rng, dtype=torch.float64) - 1) * bound
                weights[f"{name}.{kind}"] = drawn.requires_grad_()
        return weights


class FrozenNodeGCN(NodeGCN):
    """A node classifier with published weights: CF-GNNExplainer's models syn1, syn4 and syn5.

    Their file is looked for in the folder `oracles` beside the data set's files, of generated data in that of
    RSGG_DATA_DIR, and has to match its sha256.
    """

    name: ClassVar[str] = "node-gcn-frozen"

    def __init__(self, n_classes: int = 2, model: str = "syn1") -> None:
        super().__init__(n_classes)
        self.model = model
        self.folder: Path | None = None

    def parameters(self) -> dict[str, object]:
        return {"n_classes": self.n_classes, "model": self.model}

    def loaded(self, data_dir: Path | None = None) -> Self:
        ready = copy.copy(self)
        ready.folder = named_dir(data_dir)
        return ready

    def _weights(self, dataset: NodeDataset) -> Weights:
        name = f"CF-GNNExplainer_{self.model}_gcn.npz"
        folder = dataset.folder or self.folder
        if folder is None or name not in checksums():
            raise DataError(
                f"There are no weights {name}; name a folder that holds them in oracles/ by --data-dir or "
                "RSGG_DATA_DIR, and use a known model."
            )
        path = folder / "oracles" / name
        try:
            content = content_of(path)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror}); put the published weights there.") from error
        if hashlib.sha256(content).hexdigest() != checksums()[name]:
            raise DataError(f"{path} is not the published file (its sha256 differs); get it again.")
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            return {name: torch.from_numpy(stored[name]).double() for name in stored}


def _both_directions(graphs: EdgeBatch) -> tuple[Tensor, ...]:
    """graph, u and v of every listed edge, then of its reverse."""
    return graphs.graph.repeat(2), torch.cat((graphs.u, graphs.v)), torch.cat((graphs.v, graphs.u))


def _edges_that_are_read(source: Tensor, to: Tensor, asked: Tensor, n: int) -> dict[int, Tensor]:
    """By layer, the edges over which something reaches the logits of the asked nodes: most edges are read once.

    The last layer is needed at these nodes only, the one before also at their neighbours, and so on.
    """
    needed, read = torch.zeros(n, dtype=torch.bool), {}
    needed[asked] = True
    for layer in range(LAYERS, 0, -1):
        read[layer] = needed[to].nonzero().flatten()
        needed[source[read[layer]]] = True
    return read


def _normalised(n: int, edges: np.ndarray) -> Tensor:
    """D̂^-½ (A + I) D̂^-½ of a graph of n nodes with these edges, sparse [n, n]."""
    u, v = torch.from_numpy(np.concatenate((edges, edges[:, ::-1], np.arange(n)[:, None].repeat(2, 1)))).T
    scale = torch.bincount(u, minlength=n).double().rsqrt()
    return torch.sparse_coo_tensor(torch.stack((u, v)), scale[u] * scale[v], (n, n), check_invariants=False).coalesce()


def _share_right(predicted: Tensor, whole: NodeGraph, split: str) -> float:
    right = predicted == torch.from_numpy(whole.labels)
    return float(right[whole.of_split(split)].double().mean())


def _inputs(whole: NodeGraph) -> Tensor:
    """What the first layer reads, float64 [n, d]."""
    if whole.features is None:
        return torch.ones(whole.n_nodes, CONSTANT_FEATURES, dtype=torch.float64)
    return torch.from_numpy(whole.features)


def _checked(features: Tensor | None) -> Tensor:
    if features is None or not bool(((features[:, :, TARGET] == 1).sum(1) == 1).all()):
        raise OracleError("A node oracle was asked about graphs that do not mark one node each; see rsgg.data.nodes.")
    return features
