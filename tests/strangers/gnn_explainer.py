"""PyG's GNNExplainer as a counterfactual method, and a task with a trained GCN to explain.

GNNExplainer learns a mask over the edges that matter for the model's answer. Here the most important edges are removed,
one after the other, until the class changes: the shortest prefix of that order that flips is the counterfactual. So it
can only delete, and for graphs whose class no deletion changes it finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import torch
from my_task import RandomGraphs
from torch import Tensor
from torch_geometric.explain import Explainer as PyGExplainer
from torch_geometric.explain import GNNExplainer as PyGGNNExplainer
from torch_geometric.nn import GCNConv, global_add_pool

from rsgg import Candidate, Capabilities, Choice, CountingOracle, Explainer, GraphBatch, Oracle, PyGOracle, Task, hyper
from rsgg.errors import BudgetExhausted, FitError
from rsgg.seeds import seed_for

# -- The method --------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class GNNExplainer(Explainer):
    """Removes the edges that GNNExplainer finds most important until the class changes."""

    epochs: int = hyper(50, "T", space=Choice((20, 50)), at_least=1, doc="steps of learning the mask")
    lr: float = hyper(0.05, "η", above=0, doc="step size")

    label: ClassVar[str] = "GNNExplainer, deletions"
    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=True, permutation_invariant=False)

    @classmethod
    def tiny(cls) -> Self:
        return cls(epochs=3)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        model_of(oracle)  # nothing to learn, but another kind of oracle is noticed here

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        owners = [(i, i * k + j, seed_for(seed, graphs.names[i], j)) for i in range(len(graphs)) for j in range(k)]
        return [self._candidate(graphs, classes, oracle, i, owner, own_seed) for i, owner, own_seed in owners]

    def _candidate(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, i: int, owner: int, seed: int
    ) -> Candidate:
        edges = (graphs.adjacency[i].triu(1) > 0).nonzero()
        if not len(edges):
            return Candidate(None, "the graph has no edge to remove")
        at, whose = torch.tensor([i]), torch.tensor([owner])
        model = Asked(deepcopy(model_of(oracle)), lambda: oracle.predict(graphs.select(at), whose))
        try:
            importance = self._importance(model, graphs, i, edges, seed)
        except BudgetExhausted:
            return Candidate(None, "the oracle budget was used up")
        offered, current = [], graphs.adjacency[i].clone()
        for u, v in edges[importance.argsort(descending=True, stable=True)].tolist():
            current[u, v] = current[v, u] = 0
            offered.append(current.clone())
        at, whose = at.expand(len(offered)), whose.expand(len(offered))
        flips = oracle.first_flip(graphs.candidates(torch.stack(offered), at), whose, classes[at])
        return Candidate(offered[int(flips.nonzero()[0])]) if flips.any() else Candidate(None, "no deletion flips it")

    def _importance(self, model: Asked, graphs: GraphBatch, i: int, edges: Tensor, seed: int) -> Tensor:
        """The learnt mask, both directions of an edge added up, [E]."""
        n = int(graphs.sizes[i])
        x = torch.ones(n, 1) if graphs.features is None else graphs.features[i, :n]
        explainer = PyGExplainer(
            model,
            PyGGNNExplainer(epochs=self.epochs, lr=self.lr),
            explanation_type="model",
            edge_mask_type="object",
            model_config={"mode": "multiclass_classification", "task_level": "graph", "return_type": "raw"},
        )
        both_ways = torch.cat((edges, edges.flip(1))).T.contiguous()
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            torch.manual_seed(seed % 2**63)
            mask = explainer(x, both_ways, batch=torch.zeros(n, dtype=torch.long)).edge_mask
        return mask[: len(edges)] + mask[len(edges) :]


class Asked(torch.nn.Module):
    """A copy of the model, with every question about it counted: GNNExplainer asks it directly, past the oracle.

    A copy, because GNNExplainer hangs its masks into the model, where the oracle would answer with them.
    """

    def __init__(self, model: torch.nn.Module, count: Callable[[], Any]) -> None:
        super().__init__()
        self.model, self.count = model, count

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        self.count()
        answer: Tensor = self.model(x, edge_index, batch)
        return answer


def model_of(oracle: Oracle) -> torch.nn.Module:
    """The PyG model below whatever counts or watches it."""
    while hasattr(oracle, "oracle"):
        oracle = oracle.oracle
    if not isinstance(oracle, PyGOracle):
        raise FitError(f"GNNExplainer explains PyG models, and the oracle {oracle.name!r} is none; use a PyGOracle.")
    return oracle.model


# -- The task ----------------------------------------------------------------------------------------------


class GCN(torch.nn.Module):
    """Two layers that add up neighbours, summed over the graph."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = GCNConv(1, 8, normalize=False), GCNConv(8, 8, normalize=False)
        self.last = torch.nn.Linear(8, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        hidden = self.first(x, edge_index).relu()
        hidden = self.second(hidden, edge_index).relu()
        logits: Tensor = self.last(global_add_pool(hidden, batch) / 50)
        return logits


@cache
def task() -> Task:
    """Random graphs, and a GCN that has learnt which of them are dense."""
    data = RandomGraphs(n_graphs=40).load()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GCN()
        optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
        blocks = data.graphs.adjacency.nonzero().T
        edge_index = blocks[0] * data.graphs.n_nodes + blocks[1:]
        owner = torch.arange(len(data)).repeat_interleave(data.graphs.n_nodes)
        for _ in range(150):
            optimiser.zero_grad()
            logits = model(torch.ones(len(owner), 1), edge_index, owner)
            torch.nn.functional.cross_entropy(logits, data.labels).backward()
            optimiser.step()
    return Task("dense-gcn", RandomGraphs(n_graphs=40), PyGOracle(model), "Dense graphs, GCN", ("sparse", "dense"))
