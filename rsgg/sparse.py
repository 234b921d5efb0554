"""Large sparse graphs, kept as the lists of their edges instead of as matrices.

A matrix of 20 000 nodes takes 400 MB and each step of a search would make another one; the list of its 40 000 edges
takes less than one MB. `SparseGraph` is a `Graph` of which the list is kept, `SparseBatch` a `GraphBatch` of such
graphs. Their matrices are made when something asks for them, so that whatever works with graphs works with these too;
searches that can do without (`rsgg.rsgg_ce.listed`) and oracles that read lists (`Oracle.predict_edges`) never ask.

`batch_of` makes them of what a user hands in, above a number of nodes that the explainer declares
(`every_pair_up_to`); smaller graphs are matrices, which are faster.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import FrozenInstanceError
from functools import cached_property
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rsgg.errors import GraphError, UsageError
from rsgg.given import Given
from rsgg.graph import Graph, GraphBatch, about, as_graph, content_name, each_graph
from rsgg.reading import (
    MOST_NODES,
    added_edge_of,
    are_weights,
    called,
    checked_features,
    checked_node_names,
    detached,
    in_single_precision,
    most_frequent,
    not_symmetric,
    numbers,
    read_networkx,
    read_pyg,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data

Integers = NDArray[np.int64]


class SparseGraph(Graph):
    """An undirected simple graph as the list of its edges; made by `from_edges`, `from_pyg`, `from_networkx` or `of`.

    Edge i joins the nodes u[i] < v[i], int64 [K], in rising order. `edge_values`, [K] or [K, d], are what the edges
    have, and `added_edge` is what an edge that an explainer adds has; both None without edge features. All arrays are
    read-only. `adjacency` and `edge_features` are those of `Graph`; they take n² bytes and more.
    """

    u: Integers
    v: Integers
    edge_values: np.ndarray | None
    added_edge: np.ndarray | None

    def __init__(self, *_: Any, **__: Any) -> None:
        raise UsageError("A SparseGraph is made by SparseGraph.from_edges, from_pyg, from_networkx or of.")

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to {name!r} of a graph")

    @classmethod
    def _made(
        cls, n: int, u: Integers, v: Integers, features: np.ndarray | None, name: str,
        values: np.ndarray | None, added: np.ndarray | None, node_names: tuple[Hashable, ...] | None,
        given: Given | None,
    ) -> SparseGraph:  # fmt: skip
        """A graph of what was checked already."""
        graph = object.__new__(cls)
        for array in (u, v, features, values, added):
            if array is not None:
                array.flags.writeable = False
        graph.__dict__.update(
            _n=n, u=u, v=v, features=features, name=name, edge_values=values, added_edge=added, node_names=node_names,
            given=given,
        )  # fmt: skip
        return graph

    @classmethod
    def _checked(
        cls, n: int, pairs: np.ndarray, features: Any, name: str, values: np.ndarray | None, added_edge: Any,
        node_names: Any, given: Given | None = None,
    ) -> SparseGraph:  # fmt: skip
        """From both directions of every edge, [2, K], in any order, and what each of them has."""
        if not isinstance(name, str):
            raise GraphError(f"A graph was given the name {name!r}; give a text, or no name.")
        who, (u, v) = called(name), pairs.astype(np.int64)
        if n < 1:
            raise GraphError(f"{who} is empty; a graph needs at least one node.")
        # Of what is listed twice the last one counts, as in a matrix: so the list is read from its end.
        codes, last = np.unique((u * n + v)[::-1], return_index=True)
        one_way = np.setdiff1d(codes, v * n + u)
        if len(one_way):
            raise not_symmetric(who, *divmod(int(one_way[0]), n))
        if (u == v).any():
            raise GraphError(f"{who} has a self loop at node {u[u == v].min()}; remove self loops first.")
        above = codes // n < codes % n
        rows = added = None
        if values is not None:
            added = np.array(added_edge_of(len(u), values, added_edge, name))
            rows, added = (in_single_precision(part.astype(np.result_type(values, added))) for part in (values, added))
            rows = rows[::-1][last]
            _check_values(rows, codes, n, who)
            rows = rows[above]
        return cls._made(
            n, codes[above] // n, codes[above] % n, checked_features(features, n, name), name, rows, added,
            checked_node_names(node_names, n, name), given,
        )  # fmt: skip

    # -- other representations -------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        n_nodes: int,
        edges: Any,
        *,
        features: Any = None,
        edge_features: Any = None,
        added_edge: Any = None,
        name: str = "",
        node_names: Any = None,
    ) -> SparseGraph:
        """From a list of edges (u, v), each in one direction or in both; nodes are numbered from 0.

        Args:
            n_nodes: how many nodes there are.
            edges: [K, 2].
            features: X, a row per node.
            edge_features: what each edge of the list has, [K] or [K, d].
            added_edge: what an edge that an explainer adds has; by default what is most frequent in the graph.
            name: of the graph.
            node_names: the user's names of the nodes 0, …, n - 1.
        """
        pairs = _pairs(edges, name)
        whole = isinstance(n_nodes, int | np.integer) and not isinstance(n_nodes, bool)
        if not whole or not 0 < n_nodes < MOST_NODES:
            raise GraphError(f"{called(name)} has {n_nodes!r} nodes; give a whole number from 1 on.")
        if pairs.size and (pairs.min() < 0 or pairs.max() >= n_nodes):
            raise GraphError(f"{called(name)} has edges to nodes that do not exist; number its {n_nodes} nodes from 0.")
        rows = None if edge_features is None else np.atleast_1d(numbers(detached(edge_features), name))
        rows = None if rows is None else np.concatenate((rows, rows))
        both = np.concatenate((pairs, pairs[:, ::-1])).T
        return cls._checked(int(n_nodes), both, features, name, rows, added_edge, node_names)

    @classmethod
    def of(cls, graph: Graph) -> SparseGraph:
        """Of a graph that is a matrix; an added edge has what most missing pairs of the matrix would have."""
        if isinstance(graph, SparseGraph):
            return graph
        u, v = np.nonzero(np.triu(graph.adjacency > 0, 1))
        values = added = None
        if graph.edge_features is not None:
            values = graph.edge_features[u, v]
            missing = np.triu(graph.adjacency == 0, 1)
            added = np.array(most_frequent(graph.edge_features[missing] if missing.any() else values))
        return cls._made(graph.n_nodes, u, v, graph.features, graph.name, values, added, graph.node_names, graph.given)

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        *,
        features: str | None = None,
        edge_features: str | None = None,
        added_edge: Any = None,
        name: str = "",
    ) -> SparseGraph:
        """As `Graph.from_networkx`."""
        n, pairs, x, rows, names = read_networkx(graph, features, edge_features, name)
        given = Given.of_networkx(graph, features, edge_features)
        return cls._checked(n, pairs, x, name, rows, added_edge, names, given)

    @classmethod
    def from_pyg(cls, data: Data, *, added_edge: Any = None, name: str = "") -> SparseGraph:
        """As `Graph.from_pyg`."""
        n, pairs, rows, names, given = read_pyg(data, name)
        return cls._checked(n, pairs, data.x, name, rows, added_edge, names, given)

    def to_networkx(self) -> nx.Graph:
        graph = nx.empty_graph(self.n_nodes)
        graph.add_edges_from(self.edges())
        if self.features is not None:
            nx.set_node_attributes(graph, dict(enumerate(self.features)), "x")
        if self.edge_values is not None:
            nx.set_edge_attributes(graph, dict(zip(self.edges(), self.edge_values, strict=True)), "edge_attr")
        if self.given is not None:
            self.given.into_networkx(graph)
        return graph if self.node_names is None else nx.relabel_nodes(graph, dict(enumerate(self.node_names)))

    def to_pyg(self) -> Data:
        from torch_geometric.data import Data

        u, v = np.concatenate((self.u, self.v)), np.concatenate((self.v, self.u))
        order = np.argsort(u * self.n_nodes + v)
        x = None if self.features is None else torch.tensor(self.features)
        data = Data(x=x, edge_index=torch.from_numpy(np.stack((u, v))[:, order]), num_nodes=self.n_nodes)
        if self.edge_values is not None:
            data.edge_attr = torch.from_numpy(np.concatenate((self.edge_values, self.edge_values))[order])
            if are_weights(data.edge_attr):
                data.edge_weight = data.edge_attr
        return self._with_what_was_given(data)

    @cached_property
    def adjacency(self) -> np.ndarray:  # made when it is asked for
        matrix = np.zeros((self.n_nodes, self.n_nodes), dtype=np.uint8)
        matrix[self.u, self.v] = matrix[self.v, self.u] = 1
        matrix.flags.writeable = False
        return matrix

    @cached_property
    def edge_features(self) -> np.ndarray | None:  # the same
        if self.edge_values is None or self.added_edge is None:
            return None
        table = np.empty((self.n_nodes, self.n_nodes, *self.added_edge.shape), dtype=self.edge_values.dtype)
        table[:] = self.added_edge
        table[self.u, self.v] = table[self.v, self.u] = self.edge_values
        table.flags.writeable = False
        return table

    # -- what searches need ----------------------------------------------------------------------------

    @property
    def n_nodes(self) -> int:
        n: int = self.__dict__["_n"]
        return n

    @property
    def n_edges(self) -> int:
        return len(self.u)

    def edges(self) -> list[tuple[int, int]]:
        return list(zip(self.u.tolist(), self.v.tolist(), strict=True))

    def has_edge(self, u: int, v: int) -> bool:
        return bool(self.has(np.array([min(u, v) * self.n_nodes + max(u, v)]))[0])

    def codes(self, n: int | None = None) -> Integers:
        """The edges as numbers u · n + v, rising, for its own number of nodes or for a padded size (`rsgg.edits`)."""
        codes: Integers = self.u * (self.n_nodes if n is None else n) + self.v
        return codes

    def has(self, codes: Integers, n: int | None = None) -> NDArray[np.bool_]:
        """Which of these pairs are edges."""
        return are_among(codes, self.codes(n))

    def degrees(self) -> Integers:
        """The number of neighbours of each node, int64 [n]."""
        return np.bincount(np.concatenate((self.u, self.v)), minlength=self.n_nodes)

    def with_edits(self, codes: Integers, n: int | None = None) -> SparseGraph:
        """The graph in which these pairs, none of them twice, are edges if they were none, and none if they were."""
        n, own = self.n_nodes if n is None else n, self.codes(n)
        added = codes[~are_among(codes, own)]
        kept = ~are_among(own, np.sort(codes))
        whole = np.concatenate((own[kept], added))
        order = np.argsort(whole)
        values = None
        if self.edge_values is not None and self.added_edge is not None:
            new = np.broadcast_to(self.added_edge, (len(added), *self.added_edge.shape))
            values = np.concatenate((self.edge_values[kept], new))[order]
        u, v = np.divmod(whole[order], n)
        return self._like(u, v, values, self.name)

    def named(self, name: str) -> SparseGraph:
        """The same graph by another name."""
        return self._like(self.u, self.v, self.edge_values, name)

    def _like(self, u: Integers, v: Integers, values: np.ndarray | None, name: str) -> SparseGraph:
        """A graph of the same nodes."""
        return SparseGraph._made(
            self.n_nodes, u, v, self.features, name, values, self.added_edge, self.node_names, self.given
        )


def are_among(codes: Integers, rising: Integers) -> NDArray[np.bool_]:
    """Which of these numbers are among others, which are in rising order; faster than `np.isin`."""
    if not len(rising):
        return np.zeros(len(codes), dtype=bool)
    found: NDArray[np.bool_] = rising[np.searchsorted(rising, codes).clip(max=len(rising) - 1)] == codes
    return found


def _check_values(rows: np.ndarray, codes: Integers, n: int, who: str) -> None:
    """Edge features have to be finite and the same in both directions; `codes` are those of all directed edges."""
    if not np.isfinite(rows).all():
        raise GraphError(f"{who} has NaN or infinite edge features; fill or drop them first.")
    back = rows[np.searchsorted(codes, codes % n * n + codes // n)]
    differs = (rows != back).any(axis=tuple(range(1, rows.ndim)))
    if differs.any():
        u, v = divmod(int(codes[differs][0]), n)
        raise GraphError(
            f"{who} has edge features that differ between the directions of the pair {u}, {v}; give both the same."
        )


def pairs_that_differ(one: Graph, other: Graph) -> list[tuple[int, int]]:
    """The node pairs u ≤ v that are an edge in one of two graphs of the same nodes only (u = v is a self loop)."""
    if isinstance(one, SparseGraph) and isinstance(other, SparseGraph):
        u, v = np.divmod(np.setxor1d(one.codes(), other.codes(), assume_unique=True), one.n_nodes)
        return list(zip(u.tolist(), v.tolist(), strict=True))
    changed = np.triu((one.adjacency > 0) != (other.adjacency > 0))
    return [(int(u), int(v)) for u, v in np.argwhere(changed)]


# -- Batches -------------------------------------------------------------------------------------------------------


class SparseBatch(GraphBatch):
    """Many graphs as lists of edges; `graphs` are the single ones. Features are padded to the largest graph."""

    graphs: tuple[SparseGraph, ...]

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to {name!r} of a batch")

    def __init__(
        self,
        graphs: Sequence[SparseGraph],
        n_nodes: int,
        features: Tensor | None,
        encodings: dict[str, Tensor],
    ) -> None:
        self.__dict__.update(
            graphs=tuple(graphs),
            _n=n_nodes,
            sizes=torch.tensor([graph.n_nodes for graph in graphs], dtype=torch.long),
            features=features,
            names=tuple(graph.name for graph in graphs),
            encodings=encodings,
            node_names=tuple(graph.node_names for graph in graphs),
            origin=None,
            given=tuple(graph.given for graph in graphs),
        )

    @classmethod
    def of_graphs(cls, graphs: Iterable[Graph], lists_above: int = 0) -> SparseBatch:
        """Of single graphs. One without a name is named by its content: by the list of its edges if it has more nodes
        than `lists_above`, else as in a `GraphBatch`, so that it is explained the same beside larger ones.
        """
        given = [SparseGraph.of(graph) for graph in graphs]
        widths = {0 if graph.features is None else graph.features.shape[1] for graph in given}
        if len(widths) > 1 and 0 in widths:
            raise GraphError("Some graphs have node features and some have none; give features to all or to none.")
        if len(widths) > 1:
            raise GraphError(f"The graphs have node features of different widths ({sorted(widths)}); use one width.")
        _check_shapes([graph.edge_values for graph in given])
        n, features = max(graph.n_nodes for graph in given), None
        if 0 not in widths:
            features = torch.zeros(len(given), n, widths.pop())
            for i, graph in enumerate(given):
                features[i, : graph.n_nodes] = torch.tensor(graph.features)
        named = [graph if graph.name else graph.named(_content_name(graph, lists_above)) for graph in given]
        return cls(named, n, features, {})

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, index: Any) -> Any:
        return self.select(torch.arange(len(self))[index]) if isinstance(index, slice) else self.graphs[index]

    def __iter__(self) -> Iterator[Graph]:
        return iter(self.graphs)

    @property
    def n_nodes(self) -> int:
        n: int = self.__dict__["_n"]
        return n

    @property
    def n_edges(self) -> Tensor:
        return torch.tensor([graph.n_edges for graph in self.graphs], dtype=torch.long)

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        graph = np.repeat(np.arange(len(self)), [2 * one.n_edges for one in self.graphs])
        nothing = np.empty(0, dtype=np.int64)
        ends = [(one.u, one.v) for one in self.graphs]
        u = np.concatenate([nothing, *(part for u, v in ends for part in (u, v))])
        v = np.concatenate([nothing, *(part for u, v in ends for part in (v, u))])
        return graph, u, v

    def select(self, index: Tensor) -> SparseBatch:
        if index.dtype == torch.bool:
            index = index.nonzero().flatten()
        return SparseBatch(
            [self.graphs[i] for i in index.tolist()],
            self.n_nodes,
            None if self.features is None else self.features[index],
            {kind: encoding[index] for kind, encoding in self.encodings.items()},
        )

    @cached_property
    def adjacency(self) -> Tensor:  # made when it is asked for
        return self._stacked.adjacency

    @cached_property
    def edge_features(self) -> Tensor | None:  # the same
        return self._stacked.edge_features

    @cached_property
    def _stacked(self) -> GraphBatch:
        return GraphBatch.of(list(self.graphs))


def _check_shapes(values: list[np.ndarray | None]) -> None:
    known = [rows.shape[1:] for rows in values if rows is not None]
    if known and len(known) < len(values):
        raise GraphError("Some graphs have edge features and some have none; give them to all or to none.")
    if len(set(known)) > 1:
        raise GraphError(f"The graphs have edge features of different shapes ({sorted(set(known))}); use one.")


def _content_name(graph: SparseGraph, lists_above: int) -> str:
    """A name made of what is in a graph, for a graph that has none."""
    if graph.n_nodes <= lists_above:
        return content_name(graph.adjacency, graph.features, graph.edge_features)
    digest = hashlib.blake2b(f"list of {graph.n_nodes}".encode(), digest_size=8)
    for array in (graph.u, graph.v, graph.features, graph.edge_values, graph.added_edge):
        if array is not None:
            digest.update(f"{array.shape} {array.dtype}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return f"graph-{digest.hexdigest()}"


def batch_of(graphs: Any, lists_above: int | None) -> GraphBatch:
    """`GraphBatch.of`, but as lists of edges where a graph has more than `lists_above` nodes (None: never).

    A `GraphBatch` is taken as it is.
    """
    if lists_above is None or isinstance(graphs, GraphBatch):
        return GraphBatch.of(graphs)
    each = list(each_graph(graphs))
    large = [_number_of_nodes(graph) > lists_above for graph in each]
    if not any(large):
        return GraphBatch.of(each)
    count = len(each)
    converted = (_listed(graph, i, count) if large[i] else as_graph(graph, i, count) for i, graph in enumerate(each))
    return SparseBatch.of_graphs(converted, lists_above)


def _number_of_nodes(graph: Any) -> int:
    """Of a graph of any kind; 0 where it cannot be said, which is seen when the graph is converted."""
    if isinstance(graph, Graph):
        return graph.n_nodes
    if isinstance(graph, nx.Graph):
        return len(graph)
    count = getattr(graph, "num_nodes", None)
    return count if isinstance(count, int) else 0


def _listed(graph: Any, position: int, count: int) -> Graph:
    """A large graph of any kind, number `position` of `count`, as a list of edges."""
    if isinstance(graph, Graph):
        return graph
    try:
        return SparseGraph.from_networkx(graph) if isinstance(graph, nx.Graph) else SparseGraph.from_pyg(graph)
    except GraphError as error:
        raise about(error, position, count) from error


def _pairs(edges: Any, name: str) -> np.ndarray:
    """A list of edges as int64 [K, 2]; `GraphError` where it is none."""
    try:
        pairs = np.array(list(edges) if isinstance(edges, set | frozenset) else detached(edges))
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"{called(name)} has edges that cannot be read ({error}); give pairs of numbers.") from error
    if not pairs.size and pairs.ndim:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise GraphError(f"{called(name)} has edges of shape {pairs.shape}, {pairs.dtype}; give pairs of node numbers.")
    return pairs
