"""What a graph is (Section 3: G = (X, A)), and a batch of many graphs, which all methods work on.

A `Graph` is what a user hands in and gets back: validated once, immutable. A `GraphBatch` is many graphs as dense
tensors, padded to the largest; a fold is one batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import networkx as nx
import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from rsgg.encodings import encode
from rsgg.errors import GraphError
from rsgg.given import Given
from rsgg.reading import (
    are_weights,
    called,
    checked_adjacency,
    checked_edge_features,
    checked_features,
    checked_node_names,
    edge_table,
    read_networkx,
    read_pyg,
    whole_numbers_as_int64,
)

if TYPE_CHECKING:
    from torch_geometric.data import Data


MOST_NODES_OF_A_MATRIX = 1 << 16  # such a matrix has 4 GB


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected simple graph: binary adjacency matrix A, optional node features X, optional name.

    `edge_features` says of every pair of nodes what an edge between them has, or would have if it were added: a
    symmetric array [n, n] for one number per edge (a weight, a type), or [n, n, d]. An oracle reads it at the edges of
    the graph that it is asked about; whole numbers stay whole numbers. `node_names` are the user's names of the nodes
    0, …, n - 1; without them nodes are called by their positions. `given` is what else came with a graph of another
    library: no oracle is shown it, but `to_networkx` and `to_pyg` give it back.

    Arrays are copied and made read-only. `Graph.unchecked` skips the validation for what a method returned
    as it is: some of the released methods produce self loops or count an edge twice.
    """

    adjacency: np.ndarray
    features: np.ndarray | None = None
    name: str = ""
    edge_features: np.ndarray | None = None
    node_names: tuple[Hashable, ...] | None = None
    given: Given | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise GraphError(f"A graph was given the name {self.name!r}; give a text, or no name.")
        adjacency = checked_adjacency(self.adjacency, self.name)
        n = len(adjacency)
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "features", checked_features(self.features, n, self.name))
        object.__setattr__(self, "edge_features", checked_edge_features(self.edge_features, n, self.name))
        object.__setattr__(self, "node_names", checked_node_names(self.node_names, n, self.name))

    @classmethod
    def unchecked(
        cls,
        adjacency: np.ndarray,
        features: np.ndarray | None = None,
        name: str = "",
        edge_features: np.ndarray | None = None,
        node_names: tuple[Hashable, ...] | None = None,
        given: Given | None = None,
    ) -> Graph:
        """A graph taken as it is, multiplicities and self loops included."""
        graph = object.__new__(cls)
        for array in (adjacency, features, edge_features):
            if array is not None:
                array.flags.writeable = False
        graph.__dict__.update(
            adjacency=adjacency, features=features, name=name, edge_features=edge_features, node_names=node_names,
            given=given,
        )  # fmt: skip
        return graph

    def with_adjacency(self, adjacency: np.ndarray) -> Graph:
        """The same nodes with other edges, unchecked: what an explainer makes of this graph."""
        return Graph.unchecked(adjacency, self.features, self.name, self.edge_features, self.node_names, self.given)

    @property
    def n_nodes(self) -> int:
        return len(self.adjacency)

    @property
    def n_edges(self) -> int:
        """Edges of the simple graph: multiplicities count once, self loops not at all."""
        return int(np.triu(self.adjacency > 0, 1).sum())

    @property
    def size(self) -> int:
        """|G| = |V| + |E|, the denominator of Sparsity."""
        return self.n_nodes + self.n_edges

    def edges(self) -> list[tuple[int, int]]:
        return [(int(u), int(v)) for u, v in np.argwhere(np.triu(self.adjacency > 0))]

    def has_edge(self, u: int, v: int) -> bool:
        """Is there an edge between these nodes?"""
        return bool(self.adjacency[u, v])

    # -- other libraries -------------------------------------------------------------------------------

    @classmethod
    def from_networkx(
        cls,
        graph: nx.Graph,
        *,
        features: str | None = None,
        edge_features: str | None = None,
        added_edge: Any = None,
        name: str = "",
    ) -> Graph:
        """From NetworkX, in its node order; nodes that are not called 0, 1, … keep their names.

        Args:
            features: the node attribute to take as X.
            edge_features: the edge attribute to take, a number or a row of numbers, e.g. "weight".
            added_edge: what an edge that an explainer adds has; by default what is most frequent in the graph.
            name: of the graph.

        Attributes that are not named here are not seen by the oracle, which a warning says.
        """
        n, pairs, x, rows, names = read_networkx(graph, features, edge_features, name)
        adjacency = _empty_matrix(n, name)
        adjacency[pairs[0], pairs[1]] = 1
        table = None if rows is None else edge_table(n, pairs, rows, added_edge, name)
        return cls(adjacency, x, name, table, names, Given.of_networkx(graph, features, edge_features))

    def to_networkx(self) -> nx.Graph:
        """As a NetworkX graph with this graph's node names; X and edge features are attributes x and edge_attr.

        A graph that came from NetworkX has the attributes that it had. On an edge that was added, the attribute that
        was read as edge features has what an added edge has; others are missing there.
        """
        graph = nx.from_numpy_array((self.adjacency > 0).astype(int), edge_attr=None)
        if self.features is not None:
            nx.set_node_attributes(graph, dict(enumerate(self.features)), "x")
        if self.edge_features is not None:
            nx.set_edge_attributes(graph, {(u, v): self.edge_features[u, v] for u, v in graph.edges}, "edge_attr")
        if self.given is not None:
            self.given.into_networkx(graph)
        return graph if self.node_names is None else nx.relabel_nodes(graph, dict(enumerate(self.node_names)))

    @classmethod
    def from_pyg(cls, data: Data, *, added_edge: Any = None, name: str = "") -> Graph:
        """From PyG `Data`: `edge_index` must hold both directions of every edge; `x` becomes X.

        `edge_attr`, or else `edge_weight`, becomes the edge features. `added_edge` is what an edge that an explainer
        adds has; by default what is most frequent in the graph. Other tensors of nodes and edges are not seen by the
        oracle, which a warning says.
        """
        n, pairs, rows, names, given = read_pyg(data, name)
        adjacency = _empty_matrix(n, name)
        adjacency[pairs[0], pairs[1]] = 1
        table = None if rows is None else edge_table(n, pairs, rows, added_edge, name)
        return cls(adjacency, data.x, name, table, names, given)

    def to_pyg(self) -> Data:
        """As PyG `Data`; edge features become `edge_attr`, and `edge_weight` too if they are one real number each.

        Names of nodes become the list `node_names`. A graph that came from PyG has the other tensors of nodes and edges
        that it had, labels `y` excepted, and numbers of the same precision; on an edge that was added they are what is
        most frequent in the graph.
        """
        from torch_geometric.data import Data

        pairs = np.argwhere(self.adjacency > 0).T.copy()
        x = None if self.features is None else torch.tensor(self.features)
        data = Data(x=x, edge_index=torch.from_numpy(pairs), num_nodes=self.n_nodes)
        if self.edge_features is not None:
            data.edge_attr = torch.tensor(self.edge_features[pairs[0], pairs[1]])
            if are_weights(data.edge_attr):
                data.edge_weight = data.edge_attr
        return self._with_what_was_given(data)

    def _with_what_was_given(self, data: Data) -> Data:
        if self.given is not None:
            self.given.into_pyg(data)
        if self.node_names is not None:
            data.node_names = list(self.node_names)
        return data


def _empty_matrix(n: int, name: str) -> np.ndarray:
    """A matrix without edges, uint8 [n, n]."""
    if n > MOST_NODES_OF_A_MATRIX:
        raise GraphError(f"{called(name)} has {n} nodes, too many for a matrix; use rsgg.SparseGraph.")
    return np.zeros((n, n), dtype=np.uint8)


_KINDS: dict[str, tuple[str, Callable[[torch.dtype], bool]]] = {  # of the tensors of a batch
    "adjacency": ("uint8", lambda dtype: dtype == torch.uint8),
    "sizes": ("int64", lambda dtype: dtype == torch.int64),
    "features": ("real numbers", lambda dtype: dtype.is_floating_point),
    "edge_features": ("numbers", lambda dtype: not dtype.is_complex),
    "labels": ("int64", lambda dtype: dtype == torch.int64),
    "origin": ("int64", lambda dtype: dtype == torch.int64),
}


@dataclass(frozen=True, eq=False)
class GraphBatch(Sequence[Graph]):
    """Many graphs as dense tensors.

    `adjacency` is uint8 [B, N, N], `sizes` int64 [B]; rows and columns beyond a graph's size are zero. `features` is X
    [B, N, d] as the oracle sees it. `encodings` are structural node encodings [B, N, d] computed from A alone (see
    `rsgg.encodings`), carried along so that they are computed once per data set. `edge_features` [B, N, N] or
    [B, N, N, d], `node_names` and `given` are those of the graphs (see `Graph`); whole numbers may be kept as uint8,
    which saves memory. Made directly, only shapes are checked; `GraphBatch.of` checks each graph.

    `origin` is for graphs that edits of nodes have made of others (`rsgg.edits`): which node of the original each node
    was, int64 [B, N], -1 for added nodes and on padding; None where nodes are those of the originals.

    `labels` are the true labels, int64 [B]. A benchmark attaches them for methods that say that they read them
    (`Capabilities.reads_labels`); elsewhere they are None.
    """

    adjacency: Tensor
    sizes: Tensor
    features: Tensor | None = None
    names: tuple[str, ...] = ()
    encodings: dict[str, Tensor] = field(default_factory=dict)
    edge_features: Tensor | None = None
    node_names: tuple[tuple[Hashable, ...] | None, ...] = ()
    origin: Tensor | None = None
    given: tuple[Given | None, ...] = ()
    labels: Tensor | None = None

    def __post_init__(self) -> None:
        self._check_kinds()
        shape, count = tuple(self.adjacency.shape), len(self.adjacency)
        if len(shape) != 3 or shape[1] != shape[2]:
            raise GraphError(f"A batch has adjacency matrices of shape {shape}; it must be [graphs, nodes, nodes].")
        if tuple(self.sizes.shape) != (count,):
            raise GraphError(f"A batch of {count} graphs has sizes of shape {tuple(self.sizes.shape)}; give one each.")
        if count and not (self.sizes.min() > 0 and self.sizes.max() <= shape[1]):
            raise GraphError(f"A batch of matrices of {shape[1]} nodes has sizes beyond 1 to {shape[1]}; give others.")
        if self.features is not None and (self.features.ndim != 3 or self.features.shape[:2] != shape[:2]):
            raise GraphError(
                f"A batch of shape {shape} has node features of shape {tuple(self.features.shape)}; they must be "
                f"[{count}, {shape[1]}, width]."
            )
        if self.edge_features is not None and tuple(self.edge_features.shape[:3]) != shape:
            raise GraphError(
                f"A batch of shape {shape} has edge features of shape {tuple(self.edge_features.shape)}; they must be "
                f"{list(shape)}, or that with a width."
            )
        if self.labels is not None and tuple(self.labels.shape) != (count,):
            raise GraphError(
                f"A batch of {count} graphs has labels of shape {tuple(self.labels.shape)}; give one each."
            )
        for name in ("names", "node_names", "given"):
            listed = getattr(self, name)
            if listed and len(listed) != count:
                raise GraphError(f"A batch of {count} graphs has {len(listed)} {name}; give one each, or none.")
        if self.origin is not None and tuple(self.origin.shape) != shape[:2]:
            raise GraphError(f"A batch of shape {shape} has an origin of shape {tuple(self.origin.shape)}.")
        if not self.names:
            names = tuple(content_name(*self._arrays(i)) for i in range(count))
            object.__setattr__(self, "names", names)

    def _check_kinds(self) -> None:
        """Tensors of the right kinds of numbers, tuples, and a dictionary; their shapes are checked afterwards."""
        for name, (numbers, fits) in _KINDS.items():
            value = getattr(self, name)
            if value is None and name not in ("adjacency", "sizes"):
                continue
            if not isinstance(value, Tensor) or value.layout != torch.strided or value.is_meta or not fits(value.dtype):
                got = f"one of {value.dtype}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
                raise GraphError(f"A batch needs {name} that are a dense tensor of {numbers}, not {got}.")
        for name in ("names", "node_names", "given"):
            if not isinstance(getattr(self, name), tuple):
                raise GraphError(f"A batch needs {name} that are a tuple, not a {type(getattr(self, name)).__name__}.")
        if not isinstance(self.encodings, dict):
            raise GraphError(f"A batch needs encodings that are a dictionary, not a {type(self.encodings).__name__}.")

    @classmethod
    def of(
        cls, graphs: GraphBatch | Graph | nx.Graph | Data | Iterable[Any], *, named_by_position: bool = False
    ) -> GraphBatch:
        """A batch from anything this library understands.

        `rsgg.Graph`, NetworkX graphs, PyG `Data`, or a list of them; a PyG data set, `DataLoader` or `Batch`, or a
        list of `Batch`es, taken as the graphs that they hold. Random draws depend on the names of graphs; one without
        a name is named by its content, so that it is explained the same wherever it stands in a list, or by its
        position, as data sets do whose graphs never change places.
        """
        if isinstance(graphs, GraphBatch):
            return graphs
        each = list(each_graph(graphs))
        converted = [as_graph(graph, i, len(each)) for i, graph in enumerate(each)]
        batch = cls._stack(converted)
        if named_by_position:
            return replace(batch, names=tuple(graph.name or str(i) for i, graph in enumerate(converted)))
        return batch

    @classmethod
    def _stack(cls, graphs: list[Graph]) -> GraphBatch:
        if not graphs:
            raise GraphError("There are no graphs to work on; give at least one.")
        with_features = [graph.features is not None for graph in graphs]
        if any(with_features) and not all(with_features):
            raise GraphError("Some graphs have node features and some have none; give features to all or to none.")
        n = max(graph.n_nodes for graph in graphs)
        sizes = torch.tensor([graph.n_nodes for graph in graphs])
        adjacency = torch.zeros(len(graphs), n, n, dtype=torch.uint8)
        for i, graph in enumerate(graphs):
            adjacency[i, : graph.n_nodes, : graph.n_nodes] = torch.tensor(graph.adjacency)
        features = None
        if all(with_features):
            widths = {graph.features.shape[1] for graph in graphs if graph.features is not None}
            if len(widths) > 1:
                raise GraphError(
                    f"The graphs have node features of different widths ({sorted(widths)}); use one width."
                )
            features = torch.zeros(len(graphs), n, widths.pop())
            for i, graph in enumerate(graphs):
                features[i, : graph.n_nodes] = torch.tensor(graph.features)
        names = tuple(g.name or content_name(g.adjacency, g.features, g.edge_features) for g in graphs)
        node_names = tuple(graph.node_names for graph in graphs)
        given = tuple(graph.given for graph in graphs)
        table = _stacked_edge_features(graphs, n)
        return cls(adjacency, sizes, features, names, {}, table, node_names, given=given)

    def _arrays(self, index: int) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Adjacency, features and edge features of one graph without padding, copied."""
        n = int(self.sizes[index])
        features = None if self.features is None else self.features[index, :n].cpu().numpy().copy()
        edge_features = None
        if self.edge_features is not None:
            edge_features = whole_numbers_as_int64(self.edge_features[index, :n, :n]).cpu().numpy().copy()
        return self.adjacency[index, :n, :n].cpu().numpy().copy(), features, edge_features

    def __len__(self) -> int:
        return len(self.adjacency)

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice) -> GraphBatch: ...
    def __getitem__(self, index: int | slice) -> Graph | GraphBatch:
        if isinstance(index, slice):
            return self.select(torch.arange(len(self))[index])
        adjacency, features, edge_features = self._arrays(index)
        node_names = self.node_names[index] if self.node_names else None
        given = self.given[index] if self.given else None
        return Graph.unchecked(adjacency, features, self.names[index], edge_features, node_names, given)

    def __iter__(self) -> Iterator[Graph]:
        return (self[i] for i in range(len(self)))

    @property
    def n_nodes(self) -> int:
        """Nodes of the largest graph, N."""
        return self.adjacency.shape[1]

    @property
    def of_one_size(self) -> bool:
        """Have all graphs equally many nodes?"""
        return self.sizes.unique().numel() == 1

    @property
    def n_edges(self) -> Tensor:
        """Edges of each graph, int64 [B]; multiplicities count once, self loops not at all."""
        # In NumPy and 32 bits: the fastest of many ways, and oracles count edges more often than anything else.
        present = (self.adjacency.cpu().numpy() > 0).view(np.uint8).reshape(len(self), self.n_nodes**2)
        both = present.sum(1, dtype=np.uint32) - present[:, :: self.n_nodes + 1].sum(1, dtype=np.uint32)
        return torch.from_numpy((both // 2).astype(np.int64)).to(self.adjacency.device)

    @property
    def node_mask(self) -> Tensor:
        """Which nodes are real and which are padding, bool [B, N]."""
        return torch.arange(self.n_nodes, device=self.sizes.device) < self.sizes[:, None]

    @property
    def pair_mask(self) -> Tensor:
        """The node pairs u < v that exist in each graph, bool [B, N, N] (upper triangle)."""
        mask = self.node_mask
        return mask[:, :, None] & mask[:, None, :] & self._upper

    @property
    def edge_mask(self) -> Tensor:
        """The edges u < v of each graph, bool [B, N, N] (upper triangle)."""
        return (self.adjacency > 0) & self._upper

    @property
    def _upper(self) -> Tensor:
        """u < v, bool [N, N]. Applying this mask is many times faster than `triu` on a batch of bytes."""
        return torch.ones(self.n_nodes, self.n_nodes, dtype=torch.bool, device=self.adjacency.device).triu(1)

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the matrices are not zero: graph, row and column of each entry, int64 [K]."""
        graph, u, v = np.nonzero(self.adjacency.numpy())
        return graph, u, v

    def select(self, index: Tensor) -> GraphBatch:
        """The graphs at these positions (int64) or under this mask (bool), encodings included."""
        if index.dtype == torch.bool:
            index = index.nonzero().flatten()
        return GraphBatch(
            self.adjacency[index],
            self.sizes[index],
            None if self.features is None else self.features[index],
            tuple(self.names[i] for i in index.tolist()),
            {kind: encoding[index] for kind, encoding in self.encodings.items()},
            None if self.edge_features is None else self.edge_features[index],
            tuple(self.node_names[i] for i in index.tolist()) if self.node_names else (),
            None if self.origin is None else self.origin[index],
            tuple(self.given[i] for i in index.tolist()) if self.given else (),
            None if self.labels is None else self.labels[index],
        )

    def cropped(self, n: int) -> GraphBatch:
        """The same graphs, none of which has more than n nodes, padded to n nodes only."""
        return GraphBatch(
            self.adjacency[:, :n, :n],
            self.sizes,
            None if self.features is None else self.features[:, :n],
            self.names,
            {kind: encoding[:, :n] for kind, encoding in self.encodings.items()},
            None if self.edge_features is None else self.edge_features[:, :n, :n],
            self.node_names,
            None if self.origin is None else self.origin[:, :n],
            self.given,
            self.labels,
        )

    def resized(self, n: int) -> GraphBatch:
        """The same graphs, none of which has more than n nodes, padded to n nodes: with less padding or with more."""
        more = n - self.n_nodes
        if more <= 0:
            return self.cropped(n) if more else self

        def rows(values: Tensor) -> Tensor:
            return pad(values, (0, 0, 0, more))

        table, known = None, self.edge_features
        if known is not None:
            table = known.new_zeros(len(self), n, n, *known.shape[3:])
            table[:, : self.n_nodes, : self.n_nodes] = known
        return replace(
            self,
            adjacency=resized(self.adjacency, n),
            features=None if self.features is None else rows(self.features),
            encodings={kind: rows(encoding) for kind, encoding in self.encodings.items()},
            edge_features=table,
            origin=None if self.origin is None else pad(self.origin, (0, more), value=-1),
        )

    def candidates(self, adjacency: Tensor, owner: Tensor) -> GraphBatch:
        """New adjacency matrices for the graphs at `owner`, with their features: what an oracle is asked about."""
        features = None if self.features is None else self.features[owner]
        edge_features = None if self.edge_features is None else self.edge_features[owner]
        return GraphBatch(adjacency, self.sizes[owner], features, ("",) * len(adjacency), {}, edge_features)

    def encoding(self, kind: str) -> Tensor:
        """Structural node encodings [B, N, d] of this kind, computed unless they came with the data set."""
        if kind not in self.encodings:
            self.encodings[kind] = encode(self, kind)
        return self.encodings[kind]

    def relabelled(self, permutations: Tensor) -> GraphBatch:
        """The same graphs with node i of graph b renamed so that new node j is old node `permutations[b, j]`."""
        rows = permutations[:, :, None]
        adjacency = self.adjacency.gather(1, rows.expand_as(self.adjacency))
        adjacency = adjacency.gather(2, rows.transpose(1, 2).expand_as(self.adjacency))
        features = None if self.features is None else self.features.gather(1, rows.expand_as(self.features))
        own, columns = torch.arange(len(self))[:, None, None], permutations[:, None, :]
        edge_features = None if self.edge_features is None else self.edge_features[own, rows, columns]
        node_names = tuple(
            None if nodes is None else tuple(nodes[i] for i in order[: len(nodes)])
            for nodes, order in zip(self.node_names, permutations.tolist(), strict=False)
        )
        given = tuple(
            None if one is None else one.moved(order[:size])
            for one, order, size in zip(self.given, permutations.tolist(), self.sizes.tolist(), strict=False)
        )
        return replace(
            self,
            adjacency=adjacency,
            features=features,
            encodings={},
            edge_features=edge_features,
            node_names=node_names,
            given=given,
        )


def resized(matrices: Tensor, n: int) -> Tensor:
    """Matrices [..., N, N] cut or padded with zeros to n nodes; what is cut off belongs to nodes that are not there."""
    more = n - matrices.shape[-1]
    return pad(matrices, (0, more, 0, more)) if more else matrices


def _stacked_edge_features(graphs: list[Graph], n: int) -> Tensor | None:
    """The edge features of all graphs, padded, [B, n, n] or [B, n, n, d]; None if none of them has any."""
    tables = [graph.edge_features for graph in graphs if graph.edge_features is not None]
    if not tables:
        return None
    if len(tables) < len(graphs):
        raise GraphError("Some graphs have edge features and some have none; give them to all or to none.")
    shapes = {table.shape[2:] for table in tables}
    if len(shapes) > 1:
        raise GraphError(f"The graphs have edge features of different shapes ({sorted(shapes)}); use one.")
    stacked = torch.zeros(len(graphs), n, n, *shapes.pop(), dtype=torch.tensor(np.result_type(*tables).type()).dtype)
    for i, table in enumerate(tables):
        stacked[i, : len(table), : len(table)] = torch.tensor(table)
    return stacked


def each_graph(graphs: Any) -> Iterator[Any]:
    """The single graphs that something holds; whether they are graphs is seen later, when they are converted."""
    if isinstance(graphs, torch.utils.data.Dataset):  # PyG's; before edge_index, which it has too: that of all graphs
        if not hasattr(graphs, "__len__"):
            raise GraphError("The data set does not say how many graphs it has; give a list of graphs.")
        graphs = [graphs[i] for i in range(len(graphs))]
    elif isinstance(graphs, Graph | nx.Graph) or hasattr(graphs, "edge_index") or hasattr(graphs, "edge_types"):
        graphs = [graphs]
    elif not isinstance(graphs, Iterable):
        raise GraphError(f"A {type(graphs).__name__} is no list of graphs; give a graph or a list of them.")
    try:
        items = iter(graphs)
    except TypeError as error:  # such as an array without dimensions
        raise GraphError(f"A {type(graphs).__name__} is no list of graphs; give a graph or a list of them.") from error
    for item in items:
        if hasattr(item, "to_data_list"):  # a PyG Batch
            yield from item.to_data_list()
        else:
            yield item


def as_graph(graph: Graph | nx.Graph | Data, position: int, count: int) -> Graph:
    """Graph number `position` of `count`, whatever library it is of."""
    try:
        if isinstance(graph, Graph):
            return graph
        if isinstance(graph, nx.Graph):
            return Graph.from_networkx(graph)
        if hasattr(graph, "edge_index") or hasattr(graph, "edge_types"):
            return Graph.from_pyg(graph)
    except GraphError as error:
        raise about(error, position, count) from error
    raise GraphError(f"A {type(graph).__name__} is not a graph; give rsgg.Graph, networkx.Graph or PyG Data.")


def about(error: GraphError, position: int, count: int) -> GraphError:
    """The error, saying which of several graphs it is about."""
    return GraphError(f"Number {position} of the graphs (from 0): {error}" if count > 1 else str(error))


def content_name(adjacency: np.ndarray, features: np.ndarray | None, edge_features: np.ndarray | None = None) -> str:
    """A name made of what is in a graph, for graphs that have none: random draws depend on names, not on positions."""
    digest = hashlib.blake2b(f"{len(adjacency)}".encode(), digest_size=8)
    for array in (adjacency, features, edge_features):
        if array is not None:
            digest.update(f"{array.shape} {array.dtype}".encode())
            digest.update(np.ascontiguousarray(array).tobytes())
    return f"graph-{digest.hexdigest()}"
