"""Any PyG graph classifier as an oracle."""

from __future__ import annotations

import hashlib

import torch
from torch import Tensor
from torch.nn import Module

from rsgg.errors import OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Oracle


class PyGOracle(Oracle):
    """Any PyG graph classifier as an oracle: `model(x, edge_index, batch)` returns one row of logits per graph.

    With `edge_weights=True` the model is also called with `edge_weight=`, and is then its own relaxation: the soft
    adjacency is handed over as weights. Graphs without features are shown a constant 1 per node.
    """

    name = "pyg"

    def __init__(self, model: Module, n_classes: int = 2, *, edge_weights: bool = False) -> None:
        if not isinstance(model, Module):
            given = f"the class {model.__name__}" if isinstance(model, type) else f"a {type(model).__name__}"
            raise OracleError(f"PyGOracle was given {given}; give it a torch.nn.Module, made and trained.")
        if isinstance(n_classes, bool) or not isinstance(n_classes, int) or n_classes < 2:
            raise OracleError(
                f"A PyG model with n_classes={n_classes!r} cannot be explained; a classifier has two classes or more "
                "(a model with one logit per graph has to return two, e.g. (0, logit))."
            )
        self.model, self.n_classes, self.edge_weights = model.eval(), n_classes, edge_weights

    def parameters(self) -> dict[str, object]:
        """The model by its class and a sha256 over its weights."""
        digest = hashlib.sha256()
        for name, value in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().numpy().tobytes())
        return {
            "model": type(self.model).__name__,
            "weights": digest.hexdigest(),
            "n_classes": self.n_classes,
            "edge_weights": self.edge_weights,
        }

    def why_not_differentiable(self) -> str:
        if self.edge_weights:
            return ""
        return f"{super().why_not_differentiable()}; make it with edge_weights=True if its model takes edge weights"

    def predict(self, graphs: GraphBatch) -> Tensor:
        with torch.no_grad():
            return self._logits(graphs.adjacency.float(), graphs.features, graphs.sizes).argmax(1)

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        if not self.edge_weights:
            return super().relaxed(adjacency, features)
        sizes = torch.full((len(adjacency),), adjacency.shape[1], device=adjacency.device)
        return self._logits(adjacency, features, sizes).softmax(1)

    def _logits(self, adjacency: Tensor, features: Tensor | None, sizes: Tensor) -> Tensor:
        """The model's output [B, n_classes] for graphs of the first `sizes` nodes of each matrix."""
        batch, n, _ = adjacency.shape
        real = torch.arange(n, device=sizes.device) < sizes[:, None]
        position = real.flatten().cumsum(0).reshape(batch, n) - 1  # padding nodes do not exist for the model
        b, u, v = adjacency.detach().nonzero(as_tuple=True)
        x = torch.ones(batch, n, 1, device=adjacency.device) if features is None else features
        weight = {"edge_weight": adjacency[b, u, v]} if self.edge_weights else {}
        edge_index = torch.stack((position[b, u], position[b, v]))
        owner = torch.arange(batch, device=sizes.device)[:, None].expand(batch, n)[real]
        try:
            logits = self.model(x[real], edge_index, owner, **weight)
        except Exception as error:
            call = "model(x, edge_index, batch" + (", edge_weight=…)" if self.edge_weights else ")")
            raise OracleError(
                f"The PyG model failed when called as {call} with node features of width {x.shape[2]}: {error}"
            ) from error
        if not isinstance(logits, Tensor) or logits.shape != (batch, self.n_classes):
            got = f"shape {tuple(logits.shape)}" if isinstance(logits, Tensor) else f"a {type(logits).__name__}"
            raise OracleError(
                f"The PyG model must return a row of {self.n_classes} logits for each of {batch} graphs; it returned "
                f"{got}. Pool over the nodes of each graph, and make the oracle with n_classes as the model has them."
            )
        return logits
