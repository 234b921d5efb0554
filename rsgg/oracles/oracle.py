"""What an oracle is (Section 3: the black box Φ), and what it may and may not answer.

`Oracle.predict` is all that a black-box explainer may use. `Oracle.relaxed`, where there is one, gives class
probabilities of a *soft* adjacency matrix, differentiable in it, for methods whose papers assume a differentiable
classifier. How often it is asked is counted elsewhere (`rsgg.oracles.counting`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import torch
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.graph import GraphBatch

if TYPE_CHECKING:
    from rsgg.data.dataset import Dataset

MAX_DENSE_BYTES = 1 << 26  # memory for graphs that an oracle wants to see as matrices


class Embeddings(NamedTuple):
    """What a network makes of graphs before its head: `nodes` [n, d], those of all graphs one after the other without
    padding, and `pooled` [B, d'], one row per graph."""

    nodes: Tensor
    pooled: Tensor


class Oracle(ABC):
    """A black-box graph classifier Φ.

    Subclasses write `predict` and set `name` and `n_classes`. Everything else has a default that says "not known" or
    "not possible", and is overridden by oracles that know more about themselves.
    """

    name: ClassVar[str] = "oracle"
    n_classes: int = 2
    fits: ClassVar[bool] = False  # is it trained in each fold (`fitted`), and cannot answer before?
    # Do its questions never write into the graphs that they are shown? Others are shown copies, which takes longer. It
    # holds for the questions that a class defines itself: a subclass with questions of its own has to say it again.
    reads_only: ClassVar[bool] = False
    reads_lists: ClassVar[bool] = False  # does it answer about lists of edges as such, so that padding cannot matter?

    @abstractmethod
    def predict(self, graphs: GraphBatch) -> Tensor:
        """The class of each graph, int64 [B], from 0 to n_classes - 1."""

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        """`predict` for graphs that are lists of edges. Oracles that can read lists override it, for large graphs."""
        at_once = max(1, MAX_DENSE_BYTES // graphs.n_nodes**2)
        parts = torch.arange(len(graphs)).split(at_once)
        return torch.cat([self.predict(graphs.select(part).to_dense()) for part in parts])

    # -- what an oracle says about itself --------------------------------------------------------------

    def parameters(self) -> dict[str, object]:
        """What the answers depend on besides the oracle's name, as plain JSON values: part of a result's address."""
        return {}

    def loaded(self, data_dir: Path | None = None) -> Oracle:
        """The oracle with its files read. Oracles that have files override it; `data_dir` is where they look first."""
        return self

    def prepared(self, dataset: Dataset) -> Oracle:
        """The oracle ready to answer about this data set. Oracles that are trained on all of its graphs override it."""
        return self

    def fitted(self, graphs: GraphBatch, labels: Tensor, seed: int = 0) -> Oracle:
        """The oracle trained on these graphs and their labels, int64 [B]: the same for the same graphs and seed.

        Oracles that are trained in each fold, on its training graphs only, override it and set `fits`.
        """
        return self

    # -- the relaxation --------------------------------------------------------------------------------

    def why_not_differentiable(self) -> str:
        """Why `relaxed` cannot be used, as part of a sentence; empty where it can.

        An oracle that overrides `relaxed` overrides this too and returns "".
        """
        return f"the oracle {self.name!r} has no differentiable relaxation"

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """Class probabilities [B, n_classes] of soft adjacency matrices in [0, 1], differentiable in them.

        The most probable class agrees with `predict` on binary matrices.
        """
        raise OracleError(
            f"A relaxation was asked for, but {self.why_not_differentiable()}; black-box explainers do without one."
        )

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        """`relaxed` for soft versions, [B, N, N], of these graphs, whose sizes, features and edge features hold.

        Oracles for which padding is not the same as isolated nodes, or that read edge features, override it.
        """
        return self.relaxed(soft, graphs.features)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        """`relaxed` for graphs of which only the listed edges are soft: `weight` [K] in [0, 1], one per edge."""
        soft = weight.new_zeros(len(graphs), graphs.n_nodes, graphs.n_nodes)
        soft = soft.index_put((graphs.graph, graphs.u, graphs.v), weight)
        return self.relaxed(soft + soft.transpose(1, 2), graphs.features)

    def probabilities(self, graphs: GraphBatch) -> Tensor:
        """Class probabilities [B, n_classes] of graphs as they are, by the relaxation, for methods that are told them.

        Oracles that can say them without soft matrices override it.
        """
        return self.relaxed_graphs(graphs, graphs.adjacency.float())

    def relaxed_messages(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        """`relaxed_edges`, differentiated along messages only: degrees that an oracle divides by count as constants.

        The values are the same, the gradient is another one. Oracles that divide by degrees may override it; of the
        others it is `relaxed_edges`.
        """
        return self.relaxed_edges(graphs, weight)

    # -- what lies inside a network --------------------------------------------------------------------

    def why_no_embeddings(self) -> str:
        """Why `embeddings` and `head` cannot be used, as part of a sentence; empty where they can.

        An oracle that overrides them overrides this too and returns "".
        """
        return f"the oracle {self.name!r} does not show embeddings"

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        """What the network makes of these graphs, whose edges have these weights, [K] in [0, 1], or 1.

        Differentiable in the weights. `head` of the pooled values decides as `predict` does on binary graphs.
        """
        raise OracleError(
            f"Embeddings were asked for, but {self.why_no_embeddings()}; most explainers do without them."
        )

    def head(self, pooled: Tensor) -> Tensor:
        """The logits [R, n_classes] of points [R, d'] in the space of pooled embeddings, differentiable in them.

        No graph is scored by it, and it is no call: it is what the classifier has learnt to do with embeddings.
        """
        raise OracleError(f"A head was asked for, but {self.why_no_embeddings()}; most explainers do without one.")

    # -- what is known about the rule inside -----------------------------------------------------------

    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        """GED*, the fewest edits that change the class of each graph, float64 [B]; None where it is not known.

        Infinite where no edit changes the class. No explainer but the control `Optimum` may use it.
        """
        return None

    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
        """A closest graph of another class for each graph, uint8 [B, N, N]; None where it is not known.

        `classes` are the oracle's answers for `graphs`. Where no counterfactual exists the graph comes back unchanged.
        """
        return None

    def important_edges(self, graphs: GraphBatch) -> Tensor | None:
        """The edges that decide the class of each graph, bool [B, N, N] (upper triangle); None where not known."""
        return None


class WrappedOracle(Oracle):
    """Another oracle behind the same interface: every question is passed on. Base of wrappers that watch or count."""

    def __init__(self, oracle: Oracle) -> None:
        if not isinstance(oracle, Oracle):
            raise OracleError(f"A {_called(oracle)} is not an oracle; give an instance of a subclass of rsgg.Oracle.")
        self.oracle = oracle
        self.name, self.reads_lists = oracle.name, oracle.reads_lists  # type: ignore[misc]
        try:
            count = oracle.n_classes
        except OracleError:  # a model that has not been asked yet does not know
            return
        if isinstance(count, bool) or not isinstance(count, int) or count < 2:
            raise OracleError(f"The oracle {oracle.name!r} has n_classes = {count!r}; a classifier has at least two.")

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        return self.oracle.n_classes

    def predict(self, graphs: GraphBatch) -> Tensor:
        return self.oracle.predict(graphs)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        return self.oracle.predict_edges(graphs)

    def parameters(self) -> dict[str, object]:
        return self.oracle.parameters()

    def why_not_differentiable(self) -> str:
        return self.oracle.why_not_differentiable()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        return self.oracle.relaxed(adjacency, features)

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        return self.oracle.relaxed_graphs(graphs, soft)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        return self.oracle.relaxed_edges(graphs, weight)

    def relaxed_messages(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        return self.oracle.relaxed_messages(graphs, weight)

    def why_no_embeddings(self) -> str:
        return self.oracle.why_no_embeddings()

    def embeddings(self, graphs: EdgeBatch, weight: Tensor | None = None) -> Embeddings:
        return self.oracle.embeddings(graphs, weight)

    def head(self, pooled: Tensor) -> Tensor:
        return self.oracle.head(pooled)

    def probabilities(self, graphs: GraphBatch) -> Tensor:
        return self.oracle.probabilities(graphs)

    def optimal_ged(self, graphs: GraphBatch) -> Tensor | None:
        return self.oracle.optimal_ged(graphs)

    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
        return self.oracle.optimal_counterfactual(graphs, classes)

    def important_edges(self, graphs: GraphBatch) -> Tensor | None:
        return self.oracle.important_edges(graphs)


def _called(thing: object) -> str:
    """How a sentence calls something that is not what it should be."""
    return f"class ({thing.__name__})" if isinstance(thing, type) else type(thing).__name__


def wrong_answers(answers: object, count: int) -> str:
    """What an oracle returned instead of one integer class for each of `count` graphs; empty if it did return that."""
    if not isinstance(answers, Tensor):
        return type(answers).__name__
    integers = not (answers.is_floating_point() or answers.is_complex() or answers.dtype == torch.bool)
    return "" if integers and answers.shape == (count,) else f"shape {tuple(answers.shape)}, {answers.dtype}"


def wrong_probabilities(p: object, shape: tuple[int, int]) -> str:
    """What a relaxation returned instead of finite numbers of this shape; empty if it did return them."""
    if not isinstance(p, Tensor):
        return f"a {type(p).__name__}"
    if tuple(p.shape) != shape:
        return f"shape {tuple(p.shape)}"
    return "" if p.detach().isfinite().all() else "NaN or infinity"
