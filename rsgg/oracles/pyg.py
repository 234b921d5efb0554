"""Any PyG graph classifier as an oracle, or any function of PyG graphs."""

from __future__ import annotations

import hashlib
import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module

from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Oracle
from rsgg.oracles.scores import Scores
from rsgg.reading import are_weights, whole_numbers_as_int64

INSPECTED_GRAPHS = 8  # of the first question: from these it is found out what the model returns

# How the parameters of `forward` are called by those who write models.
ROLES = {
    "x": ("x", "h", "features", "node_features", "feat"),
    "edge_index": ("edge_index", "edges"),
    "batch": ("batch", "batch_index", "batch_idx"),
    "edge_attr": ("edge_attr", "edge_attrs", "edge_features"),
    "edge_weight": ("edge_weight", "edge_weights"),
}


@dataclass(frozen=True, eq=False)
class Disjoint:
    """Many graphs as one whose parts are not connected, as PyG models read them.

    `x` [n, d] are the nodes of all graphs, `batch` [n] says whose they are, `edge_index` [2, 2K] has both directions of
    each edge, `edge_features` [2K, …] and `weight` [2K] belong to them.
    """

    count: int
    x: Tensor
    edge_index: Tensor
    batch: Tensor
    edge_features: Tensor | None
    weight: Tensor | None

    @classmethod
    def of_edges(
        cls, features: Tensor | None, sizes: Tensor, n: int, edges: tuple[Tensor, Tensor, Tensor],
        edge_features: Tensor | None, weight: Tensor | None,
    ) -> Disjoint:  # fmt: skip
        """From directed edges (graph, u, v) of graphs padded to n nodes; padding does not exist for the model.

        Graphs without features are shown a constant 1 per node.
        """
        count = len(sizes)
        real = torch.arange(n, device=sizes.device) < sizes[:, None]
        start = sizes.cumsum(0) - sizes
        graph, u, v = edges
        x = torch.ones(count, n, 1, device=sizes.device) if features is None else features
        owner = torch.arange(count, device=sizes.device).repeat_interleave(sizes)
        return cls(count, x[real], torch.stack((start[graph] + u, start[graph] + v)), owner, edge_features, weight)

    @classmethod
    def of_matrices(
        cls, adjacency: Tensor, features: Tensor | None, sizes: Tensor, edge_features: Tensor | None, *, all_pairs: bool
    ) -> Disjoint:
        """From soft or binary adjacency matrices [B, N, N], which become weights.

        With `all_pairs` missing edges are listed too, with weight 0: so they have a gradient.
        """
        n = adjacency.shape[1]
        listed = adjacency.detach() != 0
        if all_pairs:
            listed = ~torch.eye(n, dtype=torch.bool, device=sizes.device).expand_as(adjacency)
        if bool((sizes < n).any()):
            real = torch.arange(n, device=sizes.device) < sizes[:, None]
            listed = listed & real[:, :, None] & real[:, None, :]
        graph, u, v = listed.nonzero(as_tuple=True)
        own = None if edge_features is None else whole_numbers_as_int64(edge_features[graph, u, v])
        return cls.of_edges(features, sizes, n, (graph, u, v), own, adjacency[graph, u, v])

    @classmethod
    def of_lists(cls, graphs: EdgeBatch, weight: Tensor | None = None) -> Disjoint:
        """From lists that have each edge once; edges come in the order in which `of_matrices` has them."""
        graph = torch.cat((graphs.graph, graphs.graph))
        u, v = torch.cat((graphs.u, graphs.v)), torch.cat((graphs.v, graphs.u))
        order = ((graph * graphs.n_nodes + u) * graphs.n_nodes + v).argsort()
        both = order % max(len(graphs.u), 1)  # which entry of the list an edge comes from
        edges = graph[order], u[order], v[order]
        own = None if graphs.edge_features is None else whole_numbers_as_int64(graphs.edge_features[both])
        weights = torch.ones(len(order), device=order.device) if weight is None else weight[both]
        return cls.of_edges(graphs.features, graphs.sizes, graphs.n_nodes, edges, own, weights)

    def part(self, first: int, last: int) -> Disjoint:
        """The graphs first, …, last - 1."""
        nodes = (self.batch >= first) & (self.batch < last)
        edges = nodes[self.edge_index[0]]
        before = int((self.batch < first).sum())
        return Disjoint(
            min(last, self.count) - first,
            self.x[nodes],
            self.edge_index[:, edges] - before,
            self.batch[nodes] - first,
            None if self.edge_features is None else self.edge_features[edges],
            None if self.weight is None else self.weight[edges],
        )

    def to(self, device: torch.device) -> Disjoint:
        return Disjoint(
            self.count,
            self.x.to(device),
            self.edge_index.to(device),
            self.batch.to(device),
            None if self.edge_features is None else self.edge_features.to(device),
            None if self.weight is None else self.weight.to(device),
        )


class Calling:
    """How a model is called: by the names of the parameters of its `forward`.

    - `forward(x, edge_index, batch)`, also with `edge_attr` and `edge_weight`, in any order;
    - without `batch`: one graph at a time;
    - `forward(data)`: with a PyG `Batch`;
    - `forward(*arguments)` or three parameters of other names: as `model(x, edge_index, batch)`.
    """

    def __init__(self, model: Module, *, edge_weights: bool) -> None:
        self.model, self.edge_weights = model, edge_weights
        parameters = inspect.signature(model.forward).parameters.values()
        named = [p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY, p.POSITIONAL_ONLY)]
        self.required = [p.name for p in named if p.default is p.empty]
        self.names = {
            role: p.name
            for p in named
            if p.kind != p.POSITIONAL_ONLY
            for role, known in ROLES.items()
            if p.name in known
        }
        anything = any(p.kind == p.VAR_POSITIONAL for p in parameters)
        if {"x", "edge_index"} <= set(self.names) and set(self.required) <= set(self.names.values()):
            self.style = "names"
        elif len(self.required) == 1 and not anything:
            self.style = "data"
        elif anything or len(self.required) == 3:
            self.style = "positions"
        else:
            raise OracleError(
                f"The PyG model's forward takes ({', '.join(self.required)}), which is not understood; let it take "
                "(x, edge_index, batch), with edge_attr or edge_weight where it needs them, or one PyG Batch."
            )
        takes_any_name = any(p.kind == p.VAR_KEYWORD for p in parameters)
        if edge_weights and self.style == "names" and "edge_weight" not in self.names:
            if not takes_any_name:
                raise OracleError(
                    f"PyGOracle was given edge_weights=True, but the model's forward takes "
                    f"({', '.join(self.names.values())}) and no edge_weight; leave edge_weights out."
                )
            self.names["edge_weight"] = "edge_weight"

    @property
    def one_by_one(self) -> bool:
        return self.style == "names" and "batch" not in self.names

    def reads_edge_features(self, features: Tensor) -> bool:
        """Is there a way to hand these over?"""
        if self.style == "names":
            return "edge_attr" in self.names or ("edge_weight" in self.names and are_weights(features))
        return self.style == "data" or (self.edge_weights and are_weights(features))

    def how_weights_are_given(self) -> str:
        """What to do about edge features that are not read by a model that takes edge weights."""
        takes_weights = self.style == "names" and "edge_weight" in self.names
        return "; edge weights are one real number per edge, of shape [edges]" if takes_weights else ""

    def __call__(self, graphs: Disjoint) -> Any:
        if self.style == "data":
            return self.model(self._as_batch(graphs))
        weight, features = self._weights_and_features(graphs)
        if self.style == "positions":
            named = {} if weight is None else {"edge_weight": weight}
            return self.model(graphs.x, graphs.edge_index, graphs.batch, **named)
        given = {"x": graphs.x, "edge_index": graphs.edge_index, "batch": graphs.batch}
        given |= {"edge_attr": features, "edge_weight": weight}  # type: ignore[dict-item]
        arguments = {
            self.names[role]: value for role, value in given.items() if role in self.names and value is not None
        }
        missing = sorted(set(self.required) - set(arguments))
        if missing:
            raise OracleError(
                f"The PyG model needs {missing[0]}, which the graphs do not have; give them edge features."
            )
        return self.model(**arguments)

    def _weights_and_features(self, graphs: Disjoint) -> tuple[Tensor | None, Tensor | None]:
        """What is handed over as `edge_weight` and as `edge_attr`: real numbers are weights if the model has them."""
        features = graphs.edge_features
        own = None
        if features is not None and are_weights(features) and (self.style != "names" or "edge_weight" in self.names):
            own, features = features, None
        if not self.edge_weights:
            return (own if self.style == "names" else None), features
        assert graphs.weight is not None
        return (graphs.weight if own is None else graphs.weight * own), features

    def _as_batch(self, graphs: Disjoint) -> Any:
        from torch_geometric.data import Batch

        weight, _ = self._weights_and_features(graphs)
        sizes = torch.bincount(graphs.batch, minlength=graphs.count)
        data = Batch(
            x=graphs.x,
            edge_index=graphs.edge_index,
            batch=graphs.batch,
            ptr=torch.cat((sizes[:1] * 0, sizes.cumsum(0))),
        )
        if graphs.edge_features is not None:
            data.edge_attr = graphs.edge_features
            if are_weights(graphs.edge_features):
                data.edge_weight = graphs.edge_features
        if weight is not None:
            data.edge_weight = weight
        return data

    def described(self) -> str:
        if self.style == "data":
            return "model(data)"
        roles = (
            [role for role in ROLES if role in self.names] if self.style == "names" else ["x", "edge_index", "batch"]
        )
        if self.edge_weights and "edge_weight" not in roles:
            roles.append("edge_weight")
        return f"model({', '.join(roles)})"


class PyGOracle(Oracle):
    """Any PyG graph classifier as an oracle.

    The model is called by the names of what its `forward` takes (see `Calling`) and may return logits,
    log-probabilities, probabilities, one logit or one probability per graph (above 0, or 1/2, is class 1), or a tuple
    of which the first fitting part counts. What it returns and how many classes it has is found out at the first
    question and checked at every one; `n_classes` and `output` ("logits" or "probabilities") say it beforehand.

    It is asked in evaluation mode, whatever mode it is in, and on its own device. With `edge_weights=True` the model is
    also given `edge_weight`, and is then its own relaxation: the soft adjacency is handed over as weights, missing
    pairs with weight 0. Graphs without features are shown a constant 1 per node.
    """

    name = "pyg"
    reads_only = True  # a model is shown tensors that are made for it

    def __init__(
        self, model: Module, n_classes: int | None = None, *, edge_weights: bool = False, output: str = "auto"
    ) -> None:
        if not isinstance(model, Module):
            given = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
            raise OracleError(
                f"PyGOracle was given {given}; give it a torch.nn.Module, made and trained, or a function to "
                "CallableOracle."
            )
        self.model, self.edge_weights = model, edge_weights
        self.declared = n_classes
        self._scores = Scores("The PyG model", n_classes, output)
        self._output = output
        self._call = Calling(model, edge_weights=edge_weights)
        self._known = False  # has the model been looked at?
        self._whole_numbers = False  # does it want node features as whole numbers, to look them up?
        self._ignores_zero_weights: bool | None = None

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # found out, where it was not given
        if self._scores.n_classes is None:
            self._probe_number_of_classes()
        if self._scores.n_classes is None:
            raise OracleError(
                "The number of classes of the PyG model is not known before its first answer; give n_classes to "
                "PyGOracle."
            )
        return self._scores.n_classes

    def parameters(self) -> dict[str, object]:
        """The model by its class and a sha256 over its weights."""
        digest = hashlib.sha256()
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        about: dict[str, object] = {
            "model": type(self.model).__name__,
            "weights": digest.hexdigest(),
            "n_classes": self.declared,
            "edge_weights": self.edge_weights,
        }
        return about if self._output == "auto" else about | {"output": self._output}

    def why_not_differentiable(self) -> str:
        if self.edge_weights:
            return ""
        return f"{super().why_not_differentiable()}; make it with edge_weights=True if its model takes edge weights"

    # -- questions -------------------------------------------------------------------------------------

    def predict(self, graphs: GraphBatch) -> Tensor:
        adjacency = graphs.adjacency.float()
        with torch.no_grad():
            asked = Disjoint.of_matrices(
                adjacency, graphs.features, graphs.sizes, graphs.edge_features, all_pairs=False
            )
            return self._scores.classes(self._output_for(asked), asked.count).to(graphs.adjacency.device)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        with torch.no_grad():
            asked = Disjoint.of_lists(graphs)
            return self._scores.classes(self._output_for(asked), asked.count).to(graphs.sizes.device)

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """As for every oracle; all rows of the matrices are nodes (`relaxed_graphs` knows of padding)."""
        sizes = torch.full((len(adjacency),), adjacency.shape[1], device=adjacency.device)
        return self._relaxed(adjacency, features, sizes, None)

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        return self._relaxed(soft, graphs.features, graphs.sizes, graphs.edge_features)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        if not self.edge_weights:
            return super().relaxed_edges(graphs, weight)
        asked = Disjoint.of_lists(graphs, weight)
        return self._scores.probabilities(self._output_for(asked), asked.count).to(weight.device)

    def _relaxed(
        self, adjacency: Tensor, features: Tensor | None, sizes: Tensor, edge_features: Tensor | None
    ) -> Tensor:
        if not self.edge_weights:
            return super().relaxed(adjacency, features)
        # Without gradients missing pairs need not be listed, which is faster.
        all_pairs = adjacency.requires_grad and self._has_gradients_at_missing_pairs(
            (adjacency.detach()[:INSPECTED_GRAPHS] >= 0.5).to(adjacency.dtype),
            None if features is None else features[:INSPECTED_GRAPHS].detach(),
            sizes[:INSPECTED_GRAPHS],
            None if edge_features is None else edge_features[:INSPECTED_GRAPHS],
        )
        asked = Disjoint.of_matrices(adjacency, features, sizes, edge_features, all_pairs=all_pairs)
        return self._scores.probabilities(self._output_for(asked), asked.count).to(adjacency.device)

    @torch.no_grad()
    def _has_gradients_at_missing_pairs(self, *few: Any) -> bool:
        """Is an edge of weight 0 no edge for the model? Then all pairs can be listed. Found out once."""
        if self._ignores_zero_weights is None:
            listed, left_out = (Disjoint.of_matrices(*few, all_pairs=all_pairs) for all_pairs in (True, False))
            one, other = (
                self._scores.probabilities(self._output_for(asked), asked.count) for asked in (listed, left_out)
            )
            self._ignores_zero_weights = torch.allclose(one, other, atol=1e-4)
            if not self._ignores_zero_weights:
                warnings.warn(
                    "For the PyG model edges of weight 0 are edges (attention, or a mean or maximum over neighbours): "
                    "missing pairs have no gradient, and methods cannot learn from it which edges to add.",
                    stacklevel=4,
                )
        return self._ignores_zero_weights

    # -- asking the model ------------------------------------------------------------------------------

    def _output_for(self, asked: Disjoint) -> Any:
        with evaluating(self.model):
            if not self._known:
                self._inspect_output(asked.part(0, INSPECTED_GRAPHS))
            return self._ask(asked)

    def _ask(self, asked: Disjoint) -> Any:
        if self._whole_numbers:
            asked = replace(asked, x=asked.x.long())
        device = next((t.device for t in chain(self.model.parameters(), self.model.buffers())), asked.x.device)
        asked = asked.to(device)
        try:
            if self._call.one_by_one:
                rows = [self._scores.rows(self._call(asked.part(i, i + 1)), 1) for i in range(asked.count)]
                return torch.cat(rows)
            return self._call(asked)
        except OracleError:
            raise
        except Exception as error:
            raise OracleError(
                f"The PyG model failed when called as {self._call.described()} with {_widths(asked)}: {error}"
            ) from error

    @torch.enable_grad()
    def _inspect_output(self, few: Disjoint) -> None:
        """Find out from the first graphs what the model returns, and whether it wants node features as numbers."""
        if few.edge_features is not None and not self._call.reads_edge_features(few.edge_features):
            warnings.warn(
                f"The graphs have edge features, which the model, called as {self._call.described()}, does not read"
                f"{self._call.how_weights_are_given()}.",
                stacklevel=5,
            )
        differentiable = replace(few, x=few.x.detach().clone().requires_grad_())
        try:
            output = self._ask(differentiable)
        except OracleError:
            if not bool((few.x == few.x.round()).all()):
                raise
            self._whole_numbers = True  # such as an embedding of the kinds of atoms
            try:
                output = self._ask(few)
            except OracleError:
                self._whole_numbers = False
                output = self._ask(few)  # fails again, with the sentence about numbers as they were given
        self._scores.look(output, few.count)
        self._known = True

    def _probe_number_of_classes(self) -> None:
        """Try to find the number of classes by asking about a made-up graph of two nodes, before any real graph."""
        layers = self.model.modules()
        widths = (getattr(layer, key, None) for layer in layers for key in ("in_channels", "in_features"))
        width = next((width for width in widths if isinstance(width, int) and width > 0), 1)
        pair = torch.tensor([[0, 1], [1, 0]])
        nothing = Disjoint(1, torch.ones(2, width), pair, torch.zeros(2, dtype=torch.long), None, torch.ones(2))
        try:
            with evaluating(self.model), torch.no_grad():
                rows = self._scores.rows(self._ask(nothing), 1)
        except Exception:  # whatever a model says about graphs that it was not made for
            return
        self._scores.n_classes = max(rows.shape[1], 2)


def _widths(asked: Disjoint) -> str:
    """How wide the features are that a model was shown."""
    constant = asked.x.shape[1] == 1 and bool((asked.x == 1).all())
    said = f"node features of width {asked.x.shape[1]}{' (a 1 per node)' if constant else ''}"
    if asked.edge_features is None:
        return said
    return f"{said} and edge features of shape {tuple(asked.edge_features.shape)}"


@contextmanager
def evaluating(model: Module) -> Iterator[None]:
    """The model in evaluation mode (no dropout), and afterwards as it was."""
    training = [module for module in model.modules() if module.training]
    if training:
        model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True


class CallableOracle(Oracle):
    """Any function of PyG graphs as an oracle.

    `function(data)` gets one PyG `Data`, or with `lists=True` a list of them, and returns for each graph its class, a
    row of logits or probabilities, or one logit or probability. `output` says what numbers mean ("logits" or
    "probabilities") where that cannot be seen. Classes are 0 and 1 unless `n_classes` says that there are more; of
    rows they are counted.
    """

    name = "function"
    reads_only = True  # a function is shown graphs that are made for it

    def __init__(
        self,
        function: Callable[[Any], Any],
        n_classes: int | None = None,
        *,
        lists: bool = False,
        output: str = "auto",
    ) -> None:
        if not callable(function) or isinstance(function, type):
            given = f"the class {function.__name__}" if isinstance(function, type) else f"a {type(function).__name__}"
            raise OracleError(f"CallableOracle was given {given}; give it a function of a PyG graph.")
        self.function, self.lists, self.declared = function, lists, n_classes
        self._scores = Scores("The function", n_classes, output)

    @property
    def n_classes(self) -> int:  # type: ignore[override]  # two until the first answer shows more
        return self._scores.n_classes or 2

    def parameters(self) -> dict[str, object]:
        named = f"{getattr(self.function, '__module__', '')}.{getattr(self.function, '__qualname__', '')}"
        return {"function": named, "n_classes": self.declared}

    def predict(self, graphs: GraphBatch) -> Tensor:
        plain = replace(graphs, given=(), node_names=())  # a function sees the same of an input and of edited ones
        return self._classes([graph.to_pyg() for graph in plain]).to(graphs.sizes.device)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        return self._classes([graphs.single(i).to_pyg() for i in range(len(graphs))]).to(graphs.sizes.device)

    def _classes(self, asked: list[Any]) -> Tensor:
        if self.lists:
            output = self.function(asked)
        else:
            try:
                output = [self.function(data) for data in asked]
            except Exception as error:
                hint = "if it takes a list of graphs, wrap it: rsgg.CallableOracle(function, lists=True)"
                raise OracleError(f"The function failed on a PyG graph ({asked[0]}): {error} ({hint})") from error
        return self._scores.classes(_as_tensor(output), len(asked))


def _as_tensor(output: Any) -> Any:
    """A list of what a function returned for each graph as one tensor, where that is possible."""
    if isinstance(output, np.ndarray):
        return torch.from_numpy(output)
    if isinstance(output, Sequence) and not isinstance(output, str):
        try:
            return torch.stack([torch.as_tensor(row).detach().cpu().squeeze() for row in output])
        except (TypeError, ValueError, RuntimeError):
            return output
    return output
