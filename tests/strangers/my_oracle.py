"""An oracle that lives outside the project: a graph is dense from so many edges on."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor

from rsgg import GraphBatch, Oracle


class DenseOracle(Oracle):
    """Class 1 iff the graph has `edges` edges or more."""

    name: ClassVar[str] = "dense"
    n_classes = 2

    def __init__(self, edges: int = 12) -> None:
        self.edges = edges

    def parameters(self) -> dict[str, object]:
        return {"edges": self.edges}

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.adjacency.sum((1, 2)) // 2 >= self.edges).long()
