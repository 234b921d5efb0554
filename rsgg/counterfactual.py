"""What a method offers for a graph, and what a user gets.

A method hands over k candidates for each graph: a `Candidate` is a graph, or the reason why there is none.
`Explainer.explain` makes a `Counterfactual` of it, which knows the input, the classes before and after, how often the
oracle was asked, and how long that took.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import networkx as nx
import torch
from torch import Tensor

from rsgg import drawing
from rsgg.edits import Codes, Edited, NodeEdit, edited, made_of_batch, of_pairs, pairs_between
from rsgg.errors import UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.sparse import SparseBatch, pairs_that_differ

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from torch_geometric.data import Data

BUDGET_USED_UP = "the oracle budget was used up"  # the reason that methods give for an owner that is exhausted
TIME_USED_UP = "the time limit was used up"  # what it becomes where the clock, not the budget, ended the search


@dataclass(frozen=True)
class Candidate:
    """What `_explain` hands to the facade for one owner: an adjacency matrix, or the reason why there is none.

    Where nodes were edited too, or a graph is large, `edited` is the whole graph and `adjacency` is None.
    `irreducible`: the method has shown of every edit that it is needed, which took `certificate_calls` questions.
    """

    adjacency: Tensor | None
    reason: str = ""
    irreducible: bool = False
    certificate_calls: int = 0
    edited: Edited | None = None

    @property
    def offered(self) -> bool:
        """Is there a graph?"""
        return self.adjacency is not None or self.edited is not None


def candidates_of(graphs: GraphBatch, instance: Sequence[int], edits: Sequence[Codes]) -> list[Candidate]:
    """Candidates that are the graphs at `instance`, each with its own edits made, coded for the batch's padded size."""
    n = graphs.n_nodes
    if isinstance(graphs, SparseBatch):
        made_of = (graphs.graphs[i].with_edits(codes, n) for i, codes in zip(instance, edits, strict=True))
        return [Candidate(None, edited=Edited(graph, ())) for graph in made_of]
    matrices = edited(graphs, torch.tensor(instance, dtype=torch.long), [of_pairs(codes, n) for codes in edits])
    with_nodes = [row for row, codes in enumerate(edits) if (codes >= n * n).any()]
    whole = made_of_batch(graphs, [instance[row] for row in with_nodes], [edits[row] for row in with_nodes])
    made = [Candidate(matrix) for matrix in matrices]
    for row, one in zip(with_nodes, whole, strict=True):
        if one.node_edits:  # none may be left, as of a node that could not be dropped
            made[row] = Candidate(None, edited=one)
    return made


@dataclass(frozen=True, eq=False, repr=False)
class Counterfactual:
    """One result: a graph the method offers for an instance, or the reason why it has none.

    `calls` is what the oracle was asked for this result, the class of the input included (for the first candidate).
    `seconds` is this result's share of the time that the batch took. `before` and `after` are the classes of the input
    and of the graph, None where they are not known. `flips`: the oracle was asked about the graph and gave it another
    class, or the wanted one. `irreducible`: every edit was shown to be needed, with `certificate_calls` questions.
    `node_edits`: which nodes got another label, a new leaf, or were dropped, for methods that edit nodes; the graph has
    the input's nodes that stay, in their order, then the added ones.
    """

    input: Graph
    graph: Graph | None
    instance: int
    candidate: int
    reason: str
    calls: int
    seconds: float
    before: int | None = None
    after: int | None = None
    flips: bool = True
    irreducible: bool = False
    certificate_calls: int = 0
    node_edits: tuple[NodeEdit, ...] = ()

    def __repr__(self) -> str:
        """In short: graphs are matrices, which nobody wants to read."""
        what = f"GED {len(self.edits) + len(self.node_edits)}" if self.found else f"reason={self.reason!r}"
        whose = f"instance={self.instance}, candidate={self.candidate}"
        return f"Counterfactual({whose}, found={self.found}, {what}, before={self.before}, after={self.after})"

    @property
    def offered(self) -> bool:
        """Did the method return a graph, whatever its class is?"""
        return self.graph is not None

    @property
    def found(self) -> bool:
        """Is there a graph of which the oracle has said that its class is another (or the wanted one)?"""
        return self.offered and self.flips

    @property
    def returned(self) -> Graph:
        """The graph that metrics are computed on: the input where the method failed (Algorithm 1, line 13)."""
        return self.input if self.graph is None else self.graph

    @property
    def edits(self) -> list[tuple[int, int]]:
        """Node pairs u ≤ v that differ between the input and what was returned (u = v is a self loop).

        The edges of leaves that were added or dropped are part of `node_edits`.
        """
        if self.node_edits:
            return pairs_between(self.input, self.returned, self.node_edits)
        return pairs_that_differ(self.input, self.returned)

    @property
    def added(self) -> list[tuple[int, int]]:
        return [(u, v) for u, v in self.edits if not self.input.has_edge(u, v)]

    @property
    def removed(self) -> list[tuple[int, int]]:
        return [(u, v) for u, v in self.edits if self.input.has_edge(u, v)]

    @property
    def added_by_name(self) -> list[tuple[Hashable, Hashable]]:
        """The added edges in the user's names of the nodes."""
        return self._named(self.added)

    @property
    def removed_by_name(self) -> list[tuple[Hashable, Hashable]]:
        """The removed edges in the user's names of the nodes."""
        return self._named(self.removed)

    def _named(self, pairs: list[tuple[int, int]]) -> list[tuple[Hashable, Hashable]]:
        names = self.input.node_names or tuple(range(self.input.n_nodes))
        return [(names[u], names[v]) for u, v in pairs]

    # -- for people and other libraries ----------------------------------------------------------------

    def in_words(self) -> str:
        """The result as a sentence, such as "Remove the edge 3–7 and the class changes from 1 to 0"."""
        return drawing.in_words(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw it with matplotlib: kept edges and nodes grey, added ones green, removed ones red and dashed."""
        return drawing.plot(self, ax)

    def _repr_html_(self) -> str:
        return drawing.html(self)

    def to_pyg(self) -> Data:
        """The counterfactual as PyG `Data`."""
        return self._required().to_pyg()

    def to_networkx(self) -> nx.Graph:
        """The counterfactual as a NetworkX graph."""
        return self._required().to_networkx()

    def _required(self) -> Graph:
        if self.graph is None:
            raise UsageError(f"There is no counterfactual to convert: {self.reason}; look at `found` first.")
        return self.graph
