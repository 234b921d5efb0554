"""Counterfactuals inside `torch_geometric.explain`.

    from torch_geometric.explain import Explainer
    from rsgg.pyg_explain import CounterfactualAlgorithm

    config = {"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"}
    explainer = Explainer(model, CounterfactualAlgorithm(), "model", config, edge_mask_type="object")
    explanation = explainer(data.x, data.edge_index, batch=batch)
    explanation.edge_mask               # 1 where an existing edge has to be removed, else 0
    explanation.added_edge_index        # edges that have to be added, in both directions

The model is called as the user calls it, with all further arguments; edge attributes of removed edges are removed with
them, and added edges get the declared value `new_edge`. Of a node-level model the node at `index` is explained by edits
among the nodes that its class can depend on: those within as many steps as the model has layers of message passing.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.config import ExplanationType, ModelConfig, ModelMode, ModelReturnType, ModelTaskLevel

from rsgg.constraints import Constraint
from rsgg.counterfactual import Counterfactual
from rsgg.edges import EdgeBatch
from rsgg.edits import Codes
from rsgg.errors import GraphError, OracleError, UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles.oracle import Oracle
from rsgg.quick import explain
from rsgg.sparse import SparseGraph


class CounterfactualAlgorithm(ExplainerAlgorithm):  # type: ignore[misc]  # PyG has no types
    """The search without training of `rsgg.explain` as an algorithm of PyG's `Explainer`.

    Args:
        seed: decides the random order in which edits are tried.
        budget: the most calls of the model per explanation; no limit if not given.
        seconds: time limit per explanation; none if not given.
        constraints: rules that every result keeps, e.g. `(OnlyRemovals(),)` of `rsgg.constraints`.
        new_edge: what an added edge has in every column of `edge_attr`, `edge_weight` and the like.

    The explanation has, beside PyG's own attributes:
        edge_mask: float [E], 1 for edges that are to be removed.
        added_edge_index: int64 [2, A], edges that are to be added, both directions of each.
        found: whether the model was seen to change its class; `reason` says why not.
        counterfactual: the `rsgg.Counterfactual`, to be drawn or read in words.
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        budget: int | None = None,
        seconds: float | None = None,
        constraints: tuple[Constraint, ...] = (),
        new_edge: float = 1.0,
    ) -> None:
        super().__init__()
        self.search = partial(explain, seed=seed, budget=budget, seconds=seconds, constraints=constraints)
        self.new_edge = new_edge

    def forward(
        self,
        model: Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        **kwargs: Any,
    ) -> Explanation:
        if not isinstance(x, Tensor) or not isinstance(edge_index, Tensor):
            raise UsageError("Counterfactuals are searched in graphs of one node and edge type; this one is mixed.")
        output = _which_output(self.model_config, len(target), index)
        nodes = self._editable_nodes(model, edge_index, len(x), output, kwargs.get("batch"))
        edges = _EditableEdges(edge_index, nodes, len(x))
        oracle = _ModelAsCalled(model, x, edges, kwargs, output, self.model_config, self.new_edge)
        result: Counterfactual = self.search(oracle, edges.graph())
        kept, added = edges.edited(SparseGraph.of(result.returned).codes())
        return Explanation(
            edge_mask=(~kept).float(), added_edge_index=added, found=result.found, reason=result.reason,
            counterfactual=result,
        )  # fmt: skip

    def _editable_nodes(
        self, model: Module, edge_index: Tensor, n_nodes: int, output: int, batch: Tensor | None
    ) -> Tensor:
        """The nodes between which edges are edited, int64 [n], sorted."""
        if self.model_config.task_level == ModelTaskLevel.node:
            return self._get_hard_masks(model, output, edge_index, n_nodes)[0].nonzero().flatten()
        if batch is None:
            return torch.arange(n_nodes, device=edge_index.device)
        return (batch == output).nonzero().flatten()

    def supports(self) -> bool:
        unsupported = _unsupported(self.explainer_config, self.model_config)
        if unsupported:
            logging.error(f"{type(self).__name__} {unsupported}")
        return not unsupported


def _unsupported(explainer: Any, model: ModelConfig) -> str:
    """What these settings ask for that a counterfactual cannot be, as the end of a sentence; empty if it can."""
    if explainer.explanation_type != ExplanationType.model:
        return "explains what the model says; use explanation_type='model'."
    if explainer.node_mask_type is not None or explainer.edge_mask_type is None:
        return "edits edges only; use edge_mask_type='object' and no node_mask_type."
    if model.mode == ModelMode.regression:
        return "changes a class; a regression has none."
    if model.task_level == ModelTaskLevel.edge:
        return "explains graphs and nodes; use task_level='graph' or 'node'."
    return ""


def _which_output(config: ModelConfig, n_outputs: int, index: int | Tensor | None) -> int:
    """The row of the model's output that is explained."""
    if index is None and n_outputs == 1:
        return 0
    if index is None or torch.as_tensor(index).numel() != 1:
        raise UsageError(
            f"The model has {n_outputs} outputs, one for each {config.task_level.value}; a counterfactual explains one "
            "of them: give index=."
        )
    return int(torch.as_tensor(index))


class _EditableEdges:
    """The edges between some nodes of a larger graph. Self loops are among the edges that are never edited.

    Args:
        edge_index: all edges, int64 [2, E].
        nodes: between which of the nodes edges may be added and removed, int64 [n].
        n_nodes: how many nodes there are in all.
    """

    def __init__(self, edge_index: Tensor, nodes: Tensor, n_nodes: int) -> None:
        self.edge_index, self.nodes = edge_index, nodes
        position = torch.full((n_nodes,), -1, device=edge_index.device)
        position[nodes] = torch.arange(len(nodes), device=edge_index.device)
        u, v = position[edge_index]
        self.inside = (u >= 0) & (v >= 0) & (u != v)  # bool [E]
        self.pairs = torch.stack((u, v))[:, self.inside]  # of these nodes, by position
        self.codes = self.pairs[0] * len(nodes) + self.pairs[1]

    def graph(self) -> Graph:
        """The graph on these nodes, in their order, named as they are numbered in the whole."""
        back = self.pairs[1] * len(self.nodes) + self.pairs[0]
        if not torch.equal(self.codes.unique(), back.unique()):
            raise GraphError("The graph is directed; counterfactuals need both directions of every edge in edge_index.")
        return SparseGraph.from_edges(len(self.nodes), self.pairs.T.cpu().numpy(), node_names=self.nodes.tolist())

    def edited(self, codes: Codes) -> tuple[Tensor, Tensor]:
        """Which of all edges are left, bool [E], and those that come new, int64 [2, A], if these become the edges.

        `codes` are u · n + v of the pairs of positions u < v among the n nodes.
        """
        n, one_way = len(self.nodes), torch.from_numpy(codes).to(self.edge_index.device)
        wanted = torch.cat((one_way, one_way % n * n + one_way // n)).sort().values
        kept = torch.ones_like(self.inside)
        kept[self.inside] = torch.isin(self.codes, wanted)
        added = wanted[~torch.isin(wanted, self.codes)]
        return kept, self.nodes[torch.stack((added // n, added % n))]


class _ModelAsCalled(Oracle):
    """The user's model and arguments as an oracle: what one of its outputs becomes when edges change."""

    name = "pyg"

    def __init__(
        self,
        model: Module,
        x: Tensor,
        edges: _EditableEdges,
        arguments: dict[str, Any],
        output: int,
        config: ModelConfig,
        new_edge: float,
    ) -> None:
        self.model, self.x, self.edges, self.arguments = model, x, edges, arguments
        self.output, self.config, self.new_edge = output, config, new_edge
        if config.mode == ModelMode.multiclass_classification:
            self.n_classes = self._output(edges.edge_index, arguments).numel()

    def predict(self, graphs: GraphBatch) -> Tensor:
        return self.predict_edges(EdgeBatch.of(graphs))

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        return torch.tensor([self._class_of(graphs.codes(i)) for i in range(len(graphs))])

    def _class_of(self, codes: Codes) -> int:
        kept, added = self.edges.edited(codes)
        arguments = {
            name: self._edited(value, kept, added.shape[1]) if "edge" in name else value
            for name, value in self.arguments.items()
        }
        out = self._output(torch.cat((self.edges.edge_index[:, kept], added), 1), arguments)
        if self.config.mode == ModelMode.multiclass_classification:
            return int(out.argmax())
        return int(out > (0 if self.config.return_type == ModelReturnType.raw else 0.5))

    def _edited(self, value: Any, kept: Tensor, n_added: int) -> Any:
        """A row per edge becomes a row per edge that is left or new; anything else stays."""
        if not isinstance(value, Tensor) or value.ndim == 0 or len(value) != len(kept):
            return value
        return torch.cat((value[kept], value.new_full((n_added, *value.shape[1:]), self.new_edge)))

    def _output(self, edge_index: Tensor, arguments: dict[str, Any]) -> Tensor:
        """What the model says about the graph or node that is explained."""
        with torch.no_grad():
            out = self.model(self.x, edge_index, **arguments)
        if not isinstance(out, Tensor):
            raise OracleError(f"The model returned a {type(out).__name__}; it has to return a tensor of outputs.")
        return out.reshape(-1)[self.output] if self.config.mode == ModelMode.binary_classification else out[self.output]
