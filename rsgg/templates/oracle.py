"""An oracle of your own: copy this file, rename the class, and replace the rule in `predict`.

A PyG model needs no class of its own: wrap it in `rsgg.PyGOracle(model)`.
Run the file to check it: `python my_oracle.py`.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from rsgg import GraphBatch, Oracle, check_oracle


class MyOracle(Oracle):
    """Class 1 iff the graph has more than `threshold` triangles."""

    name: ClassVar[str] = "my-oracle"
    n_classes = 2

    def __init__(self, threshold: int = 0) -> None:
        self.threshold = threshold

    def parameters(self) -> dict[str, object]:
        """Everything the answers depend on, as plain JSON values: results are stored under it."""
        return {"threshold": self.threshold}

    def predict(self, graphs: GraphBatch) -> Tensor:
        """The class of each graph, int64 [B]. `graphs.adjacency` is uint8 [B, N, N], zero beyond a graph's size."""
        a = (graphs.adjacency > 0).long()
        triangles = (a @ a * a).sum((1, 2)) // 6
        return (triangles > self.threshold).long()

    # Optional, for methods that need gradients: class probabilities [B, n_classes] of soft adjacency matrices.
    # The most probable class has to be the one of `predict` where the matrix is binary. Without these two methods the
    # oracle is a black box, which is all that most methods need.

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        triangles = (adjacency @ adjacency * adjacency).sum((1, 2)) / 6
        positive = torch.sigmoid(triangles - self.threshold - 0.5)
        return torch.stack((1 - positive, positive), 1)

    def why_not_differentiable(self) -> str:
        return ""  # empty: `relaxed` works

    # Optional too, see rsgg.Oracle: `prepared` (to train on the data), `optimal_ged`, `optimal_counterfactual` and
    # `important_edges` (where the right answer is known), `predict_edges` (for large graphs).


if __name__ == "__main__":
    print("\n".join(check_oracle(MyOracle())))
