"""What a graph is (Section 3: G = (X, A)), and a batch of many graphs, which all methods work on.

A `Graph` is what a user hands in and gets back: validated once, immutable. A `GraphBatch` is many graphs as dense
tensors, padded to the largest; a fold is one batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from rsgg.encodings import encode
from rsgg.errors import GraphError

if TYPE_CHECKING:
    from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class Graph:
    """An undirected simple graph: binary adjacency matrix A, optional node features X, optional name.

    Arrays are copied and made read-only. `Graph.unchecked` skips the validation for what a method returned
    as it is: some of the released methods produce self loops or count an edge twice.
    """

    adjacency: np.ndarray
    features: np.ndarray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        adjacency = _checked_adjacency(self.adjacency, self.name)
        features = _checked_features(self.features, len(adjacency), self.name)
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "features", features)

    @classmethod
    def unchecked(cls, adjacency: np.ndarray, features: np.ndarray | None = None, name: str = "") -> Graph:
        """A graph taken as it is, multiplicities and self loops included."""
        graph = object.__new__(cls)
        adjacency.flags.writeable = False
        if features is not None:
            features.flags.writeable = False
        graph.__dict__.update(adjacency=adjacency, features=features, name=name)
        return graph

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

    # -- other libraries -------------------------------------------------------------------------------

    @classmethod
    def from_networkx(cls, graph: nx.Graph, *, features: str | None = None, name: str = "") -> Graph:
        """From NetworkX, in its node order; `features` names a node attribute to take as X."""
        if graph.is_directed() or graph.is_multigraph():
            raise GraphError("Only undirected simple graphs can be explained; convert the graph with nx.Graph first.")
        adjacency = nx.to_numpy_array(graph, weight=None)
        if features is None:
            return cls(adjacency, None, name)
        without = [v for v, about in graph.nodes.items() if features not in about]
        if without:
            raise GraphError(
                f"{_called(name)} has nodes without the attribute {features!r}, the first is {without[0]!r}; give it "
                "to every node."
            )
        x: Any = [np.atleast_1d(about[features]) for about in graph.nodes.values()]
        return cls(adjacency, x, name)

    def to_networkx(self) -> nx.Graph:
        graph = nx.from_numpy_array((self.adjacency > 0).astype(int), edge_attr=None)
        if self.features is not None:
            nx.set_node_attributes(graph, dict(enumerate(self.features)), "x")
        return graph

    @classmethod
    def from_pyg(cls, data: Data, *, name: str = "") -> Graph:
        """From PyG `Data`: `edge_index` must hold both directions of every edge; `x` becomes X."""
        n = data.num_nodes
        if not n or data.edge_index is None:
            raise GraphError("The PyG graph has no nodes or no edge_index; give it num_nodes and an edge_index.")
        adjacency = np.zeros((n, n), dtype=np.uint8)
        pairs = data.edge_index.cpu().numpy()
        if pairs.ndim != 2 or len(pairs) != 2 or not np.issubdtype(pairs.dtype, np.integer):
            raise GraphError(
                f"{_called(name)} has an edge_index of shape {pairs.shape}, {pairs.dtype}; give two rows of numbers."
            )
        if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
            raise GraphError(f"{_called(name)} has edges to nodes that do not exist; number its {n} nodes from 0.")
        adjacency[pairs[0], pairs[1]] = 1
        return cls(adjacency, None if data.x is None else data.x.cpu().numpy(), name)

    def to_pyg(self) -> Data:
        from torch_geometric.data import Data

        edge_index = torch.from_numpy(np.argwhere(self.adjacency > 0).T.copy())
        x = None if self.features is None else torch.tensor(self.features)
        return Data(x=x, edge_index=edge_index, num_nodes=self.n_nodes)


def _called(name: str) -> str:
    """How a sentence begins that is about a graph of this name."""
    return f"Graph {name!r}" if name else "The graph"


def _checked_adjacency(adjacency: Any, name: str) -> np.ndarray:
    who = _called(name)
    try:
        matrix = np.array(adjacency.todense() if hasattr(adjacency, "todense") else adjacency)
    except ValueError as error:
        raise GraphError(f"{who} cannot be read as a matrix ({error}); give a square array of 0 and 1.") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise GraphError(f"{who} has an adjacency matrix of shape {matrix.shape}; it must be square.")
    if matrix.size == 0:
        raise GraphError(f"{who} is empty; a graph needs at least one node.")
    if matrix.dtype == object or (not np.issubdtype(matrix.dtype, np.number) and matrix.dtype != bool):
        raise GraphError(f"{who} has entries that are not numbers; use 0 and 1.")
    if not np.isfinite(matrix).all():
        raise GraphError(f"{who} has NaN or infinite entries in its adjacency matrix; use 0 and 1.")
    if not np.isin(matrix, (0, 1)).all():
        raise GraphError(
            f"{who} is not binary: its adjacency matrix has entries other than 0 and 1; threshold it first."
        )
    if (matrix != matrix.T).any():
        u, v = np.argwhere(matrix != matrix.T)[0]
        raise GraphError(f"{who} is not symmetric at nodes {u} and {v}; undirected graphs need A[u,v] = A[v,u].")
    if matrix.diagonal().any():
        raise GraphError(f"{who} has a self loop at node {int(matrix.diagonal().argmax())}; remove self loops first.")
    matrix = matrix.astype(np.uint8)
    matrix.flags.writeable = False
    return matrix


def _checked_features(features: Any, n: int, name: str) -> np.ndarray | None:
    if features is None:
        return None
    who = _called(name)
    try:
        x = np.array(features, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise GraphError(f"{who} has node features that are not rows of numbers of one length ({error}).") from error
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2 or len(x) != n:
        raise GraphError(f"{who} has {n} nodes but features of shape {x.shape}; give one row per node.")
    if not np.isfinite(x).all():
        raise GraphError(f"{who} has NaN or infinite node features; fill or drop them first.")
    x.flags.writeable = False
    return x


@dataclass(frozen=True, eq=False)
class GraphBatch(Sequence[Graph]):
    """Many graphs as dense tensors.

    `adjacency` is uint8 [B, N, N], `sizes` int64 [B]; rows and columns beyond a graph's size are zero. `features` is X
    [B, N, d] as the oracle sees it. `encodings` are structural node encodings [B, N, d] computed from A alone (see
    `rsgg.encodings`), carried along so that they are computed once per data set. Made directly, only shapes are
    checked; `GraphBatch.of` checks each graph.
    """

    adjacency: Tensor
    sizes: Tensor
    features: Tensor | None = None
    names: tuple[str, ...] = ()
    encodings: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape, count = tuple(self.adjacency.shape), len(self.adjacency)
        if len(shape) != 3 or shape[1] != shape[2]:
            raise GraphError(f"A batch has adjacency matrices of shape {shape}; it must be [graphs, nodes, nodes].")
        if tuple(self.sizes.shape) != (count,):
            raise GraphError(f"A batch of {count} graphs has sizes of shape {tuple(self.sizes.shape)}; give one each.")
        if self.features is not None and (self.features.ndim != 3 or self.features.shape[:2] != shape[:2]):
            raise GraphError(
                f"A batch of shape {shape} has node features of shape {tuple(self.features.shape)}; they must be "
                f"[{count}, {shape[1]}, width]."
            )
        if self.names and len(self.names) != count:
            raise GraphError(f"A batch of {count} graphs has {len(self.names)} names; give one each, or none.")
        if not self.names:
            object.__setattr__(self, "names", tuple(str(i) for i in range(len(self.adjacency))))

    @classmethod
    def of(cls, graphs: GraphBatch | Graph | nx.Graph | Data | Iterable[Any]) -> GraphBatch:
        """A batch from anything this library understands.

        `rsgg.Graph`, NetworkX graphs, PyG `Data`, or a list of them; a PyG data set, `DataLoader` or `Batch`, or a
        list of `Batch`es, taken as the graphs that they hold.
        """
        if isinstance(graphs, GraphBatch):
            return graphs
        return cls._stack([_as_graph(graph, i) for i, graph in enumerate(_each_graph(graphs))])

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
        names = tuple(graph.name or str(i) for i, graph in enumerate(graphs))
        return cls(adjacency, sizes, features, names)

    def __len__(self) -> int:
        return len(self.adjacency)

    @overload
    def __getitem__(self, index: int) -> Graph: ...
    @overload
    def __getitem__(self, index: slice) -> GraphBatch: ...
    def __getitem__(self, index: int | slice) -> Graph | GraphBatch:
        if isinstance(index, slice):
            return self.select(torch.arange(len(self))[index])
        n = int(self.sizes[index])
        features = None if self.features is None else self.features[index, :n].numpy().copy()
        return Graph.unchecked(self.adjacency[index, :n, :n].numpy().copy(), features, self.names[index])

    def __iter__(self) -> Iterator[Graph]:
        adjacency, sizes = self.adjacency.cpu().numpy(), self.sizes.tolist()
        features = [None] * len(self) if self.features is None else self.features.cpu().numpy()
        for a, x, n, name in zip(adjacency, features, sizes, self.names, strict=True):
            yield Graph.unchecked(a[:n, :n].copy(), None if x is None else x[:n].copy(), name)

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
        )

    def candidates(self, adjacency: Tensor, owner: Tensor) -> GraphBatch:
        """New adjacency matrices for the graphs at `owner`, with their features: what an oracle is asked about."""
        features = None if self.features is None else self.features[owner]
        return GraphBatch(adjacency, self.sizes[owner], features, ("",) * len(adjacency))

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
        return replace(self, adjacency=adjacency, features=features, encodings={})


def _each_graph(graphs: Any) -> Iterator[Any]:
    """The single graphs that something holds; whether they are graphs is seen later, when they are converted."""
    if isinstance(graphs, torch.utils.data.Dataset):  # PyG's; before edge_index, which it has too: that of all graphs
        if not hasattr(graphs, "__len__"):
            raise GraphError("The data set does not say how many graphs it has; give a list of graphs.")
        graphs = [graphs[i] for i in range(len(graphs))]
    elif isinstance(graphs, Graph | nx.Graph) or hasattr(graphs, "edge_index"):
        graphs = [graphs]
    elif not isinstance(graphs, Iterable):
        raise GraphError(f"A {type(graphs).__name__} is no list of graphs; give a graph or a list of them.")
    for item in graphs:
        if hasattr(item, "to_data_list"):  # a PyG Batch
            yield from item.to_data_list()
        else:
            yield item


def _as_graph(graph: Graph | nx.Graph | Data, position: int) -> Graph:
    if isinstance(graph, Graph):
        return graph
    if isinstance(graph, nx.Graph):
        return Graph.from_networkx(graph, name=str(position))
    if hasattr(graph, "edge_index"):
        return Graph.from_pyg(graph, name=str(position))
    raise GraphError(f"A {type(graph).__name__} is not a graph; give rsgg.Graph, networkx.Graph or PyG Data.")
