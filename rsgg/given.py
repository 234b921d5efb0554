"""What came with a graph from another library and no oracle is shown, so that results can have it again.

A NetworkX graph has attributes of nodes, of edges and of itself; a PyG graph may have more tensors than `x` and
`edge_attr`. An oracle sees X, A and the edge features only, but a counterfactual that is handed back with `to_networkx`
or `to_pyg` is the user's graph with other edges, not a bare one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch_geometric.data import Data

Attributes = Mapping[Any, Any]
READ = ("x", "edge_attr", "edge_weight")  # tensors of a PyG graph that become part of the graph


@dataclass(frozen=True, eq=False)
class Given:
    """The attributes of a graph's nodes, by position, and of its edges, by pairs of positions.

    Those of a NetworkX graph stand once per edge, those of a PyG graph for both directions. `features` and
    `edge_features` are what X and the edge features were called, and `dtypes` are those of a PyG graph's tensors, as
    graphs keep numbers in single precision.
    """

    nodes: tuple[Attributes, ...] = ()
    edges: Mapping[tuple[int, int], Attributes] = field(default_factory=dict)
    graph: Attributes = field(default_factory=dict)
    features: str | None = None
    edge_features: str | None = None
    dtypes: Mapping[str, torch.dtype] = field(default_factory=dict)

    @classmethod
    def of_networkx(cls, graph: nx.Graph, features: str | None, edge_features: str | None) -> Given | None:
        """The attributes of a NetworkX graph, of its nodes and of its edges; None if it has none at all."""
        at = {node: i for i, node in enumerate(graph)}
        nodes = tuple(dict(about) for about in graph.nodes.values())
        edges = {(at[u], at[v]): dict(about) for u, v, about in graph.edges.data()}
        if not any(nodes) and not any(edges.values()) and not graph.graph:
            return None
        return cls(nodes, edges, dict(graph.graph), features, edge_features)

    @classmethod
    def of_pyg(cls, data: Data, unread: Iterable[str]) -> Given:
        """`unread` are the tensors of nodes and edges that are no part of the graph."""
        dense = [key for key in sorted(unread) if isinstance(data[key], Tensor) and data[key].layout == torch.strided]
        tensors = {key: data[key].detach().cpu() for key in dense if not data[key].is_meta}
        of_nodes = {key: rows for key, rows in tensors.items() if data.is_node_attr(key)}
        of_edges = {key: rows for key, rows in tensors.items() if key not in of_nodes}
        nodes = range(data.num_nodes if of_nodes else 0)
        pairs = zip(*data.edge_index.tolist(), strict=True) if of_edges else ()
        return cls(
            tuple({key: rows[i] for key, rows in of_nodes.items()} for i in nodes),
            {pair: {key: rows[i] for key, rows in of_edges.items()} for i, pair in enumerate(pairs)},
            dtypes={key: data[key].dtype for key in READ if isinstance(data.get(key), Tensor)},
        )

    def moved(self, origin: Sequence[int]) -> Given:
        """For a graph whose node i was node `origin[i]` of this one, or is new (-1)."""
        now = {was: i for i, was in enumerate(origin) if was >= 0}
        nodes = tuple(self.nodes[was] if was >= 0 else {} for was in origin) if self.nodes else ()
        edges = {(now[u], now[v]): about for (u, v), about in self.edges.items() if u in now and v in now}
        return Given(nodes, edges, self.graph, self.features, self.edge_features, self.dtypes)

    def into_networkx(self, graph: nx.Graph) -> None:
        """Give a graph whose nodes are called by their positions these attributes; it has x and edge_attr already."""
        graph.graph.update(self.graph)
        for i, about in enumerate(self.nodes):
            own = graph.nodes[i]
            x = own.get("x")
            own.update({key: _plain(value) for key, value in about.items()})
            changed = x is not None and not np.array_equal(np.atleast_1d(about.get(self.features, x)), x)
            if self.features is not None and (changed or self.features not in about):
                own[self.features] = x
        for u, v, own in graph.edges.data():
            about = self.edges.get((u, v)) or self.edges.get((v, u)) or {}
            own.update({key: _plain(value) for key, value in about.items()})
            if (u, v) not in self.edges and (v, u) not in self.edges and self.edge_features is not None:
                own[self.edge_features] = own["edge_attr"]

    def into_pyg(self, data: Data) -> None:
        """Give a PyG graph these tensors; a new edge or node has what is most frequent."""
        for key, dtype in self.dtypes.items():
            if data.get(key) is not None:
                data[key] = data[key].to(dtype)
        pairs = zip(*data.edge_index.tolist(), strict=True) if self.edges else ()
        _stack_into(data, [self.edges.get(pair, {}) for pair in pairs], list(self.edges.values()))
        _stack_into(data, self.nodes, self.nodes)


def _stack_into(data: Data, rows: Sequence[Attributes], known: Sequence[Attributes]) -> None:
    """Every tensor that is known of nodes or edges, a row for each of these; where it is not known, the usual one."""
    for key in {key: None for one in known for key, value in one.items() if isinstance(value, Tensor)}:
        usual = _most_frequent([one[key] for one in known if key in one])
        data[key] = torch.stack([one.get(key, usual) for one in rows]) if rows else usual.new_empty((0, *usual.shape))


def _plain(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()


def _most_frequent(rows: Sequence[Tensor]) -> Tensor:
    counted = Counter(_plain(row).tobytes() for row in rows)
    usual = counted.most_common(1)[0][0]
    return next(row for row in rows if _plain(row).tobytes() == usual)
