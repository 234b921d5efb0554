"""What is read of what a user hands in: graphs of NetworkX and PyG, and the arrays that a graph is made of.

Each part comes back as graphs keep it: whether edges are a matrix or a list, the rest is the same. What cannot be read
is a `GraphError`, a sentence that says what to give instead.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from rsgg.errors import GraphError
from rsgg.given import Given

if TYPE_CHECKING:
    from torch_geometric.data import Data

MOST_NODES = 2**31  # numbers of pairs of nodes have to fit into 64 bits
LARGEST_FEATURE = 1e15  # squares of larger numbers, summed over a data set, are infinite in single precision


# -- Graphs of other libraries ---------------------------------------------------------------------------


def read_networkx(
    graph: nx.Graph, features: str | None, edge_features: str | None, name: str
) -> tuple[int, np.ndarray, Any, np.ndarray | None, tuple[Hashable, ...] | None]:
    """Of a NetworkX graph: its number of nodes, both directions of its edges, int64 [2, K], the attribute `features`
    of its nodes and `edge_features` of its edges, a row for each, and the names of its nodes if they have some.
    """
    if not isinstance(graph, nx.Graph):
        raise GraphError(f"A {type(graph).__name__} is no NetworkX graph; give a networkx.Graph.")
    for attribute in (features, edge_features):
        if not isinstance(attribute, Hashable):
            raise GraphError(f"{attribute!r} cannot be the name of an attribute; give the key of one, such as 'x'.")
    if graph.is_directed() or graph.is_multigraph():
        raise GraphError("Only undirected simple graphs can be explained; convert the graph with nx.Graph first.")
    _warn_of_dropped("node", {key for about in graph.nodes.values() for key in about} - {features}, "features")
    _warn_of_dropped("edge", {key for *_, about in graph.edges.data() for key in about} - {edge_features})
    x = None if features is None else _attributes(graph.nodes.items(), features, "nodes", name)
    x = None if x is None else [np.atleast_1d(detached(row)) for row in x]
    at = {node: i for i, node in enumerate(graph)}
    one_way = np.array([(at[u], at[v]) for u, v in graph.edges], dtype=int).reshape(-1, 2).T
    rows = None
    if edge_features is not None:
        read = _attributes([((u, v), about) for u, v, about in graph.edges.data()], edge_features, "edges", name)
        rows = numbers([detached(row) for row in (*read, *read)], name)
    names = None if list(graph) == list(range(len(at))) else tuple(graph)
    return len(at), np.concatenate((one_way, one_way[::-1]), 1), x, rows, names


def read_pyg(
    data: Data, name: str
) -> tuple[int, np.ndarray, np.ndarray | None, tuple[Hashable, ...] | None, Given | None]:
    """Of a PyG graph: its number of nodes, its edge_index, int64 [2, K], a row of edge features for each column, the
    list `node_names` if it has one, and what else came with it.
    """
    if not hasattr(data, "edge_index") and not hasattr(data, "edge_types"):
        raise GraphError(f"A {type(data).__name__} is no PyG graph; give a torch_geometric.data.Data.")
    if hasattr(data, "edge_types"):
        raise GraphError("Graphs with several types of nodes or edges cannot be explained; use to_homogeneous().")
    if data.edge_index is None:
        raise GraphError("The PyG graph has no edge_index; give it one, of shape [2, 0] if it has no edges.")
    pairs, n = np.asarray(detached(data.edge_index)), _number_of_nodes(data, name)
    if pairs.ndim != 2 or len(pairs) != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise GraphError(
            f"{called(name)} has an edge_index of shape {pairs.shape}, {pairs.dtype}; give two rows of numbers."
        )
    if pairs.size and (pairs.min() < 0 or pairs.max() >= n):
        raise GraphError(f"{called(name)} has edges to nodes that do not exist; number its {n} nodes from 0.")
    kind = next((key for key in ("edge_attr", "edge_weight") if data.get(key) is not None), None)
    rows = None if kind is None else numbers(detached(data[kind]), name)
    unread = _unread(data, kind)
    _warn_of_dropped("node or edge", unread)
    names = data.get("node_names")
    names = tuple(names) if isinstance(names, list | tuple) and len(names) == n else None
    return n, pairs, rows, names, Given.of_pyg(data, unread)


def _number_of_nodes(data: Data, name: str) -> int:
    try:
        n = data.num_nodes
    except Exception as error:  # PyG looks for it in whatever the graph has
        raise GraphError(f"{called(name)} does not say how many nodes it has ({error}); give num_nodes.") from error
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 0 < n < MOST_NODES:
        raise GraphError(f"{called(name)} has {n!r} nodes; give num_nodes, a whole number from 1 on.")
    return int(n)


def _attributes(of: Iterable[tuple[Any, dict[Any, Any]]], key: str, what: str, name: str) -> list[Any]:
    """The attribute `key` of every node or edge."""
    read, without = [], []
    for thing, about in of:
        if key in about:
            read.append(about[key])
        else:
            without.append(thing)
    if without:
        raise GraphError(
            f"{called(name)} has {what} without the attribute {key!r}, the first is {without[0]!r}; give it "
            f"to every {what[:-1]}."
        )
    return read


def _unread(data: Data, kind: str | None) -> set[str]:
    """The tensors of nodes and edges that a PyG graph has besides those that are kept; masks say nothing about it."""
    known = {"x", "edge_index", "y", "batch", "node_names", kind}
    keys = [key for key in data.keys() if key not in known and not key.endswith("mask")]  # noqa: SIM118
    return {key for key in keys if data.is_node_attr(key) or data.is_edge_attr(key)}


def _warn_of_dropped(what: str, keys: set[Any], option: str = "edge_features") -> None:
    if keys:
        named = ", ".join(sorted(map(repr, keys)))
        advice = "only x and edge_attr (or edge_weight) are kept: put them there"
        if what in ("node", "edge"):
            advice = f"to show one of them, convert with Graph.from_networkx(graph, {option}=…)"
        warnings.warn(f"The {what} attributes {named} are not shown to the oracle; {advice}.", stacklevel=4)


# -- Edge features ---------------------------------------------------------------------------------------


def edge_table(n: int, pairs: np.ndarray, values: np.ndarray, added_edge: Any, name: str) -> np.ndarray:
    """What every pair of nodes has or would have, [n, n] or [n, n, d]: `values` at the edges, else `added_edge`."""
    added = added_edge_of(pairs.shape[1], values, added_edge, name)
    table = np.empty((n, n, *values.shape[1:]), dtype=np.result_type(values, added))
    table[:] = added
    table[pairs[0], pairs[1]] = values
    return table


def added_edge_of(count: int, values: np.ndarray, added_edge: Any, name: str) -> np.ndarray:
    """What an added edge has: what was given, or what is most frequent among `values`, those of `count` edges."""
    if not values.ndim or len(values) != count:
        raise GraphError(
            f"{called(name)} has {count} directed edges but edge features of shape {values.shape}; give one "
            "row per column of edge_index."
        )
    if added_edge is None:
        return most_frequent(values)
    added: np.ndarray = np.asarray(numbers([detached(added_edge)], name)[0])
    if not np.isfinite(in_single_precision(added)).all():
        raise GraphError(f"{called(name)} was given added_edge = {added_edge!r}; give finite numbers.")
    if added.shape != values.shape[1:]:
        raise GraphError(
            f"{called(name)} has edge features of shape {values.shape[1:]} per edge, but added_edge has "
            f"{added.shape}; give it the same shape."
        )
    return added


def most_frequent(values: np.ndarray) -> np.ndarray:
    """The most frequent row; the middle one in sorted order of those that are equally frequent; zero if none."""
    if not len(values):
        return np.zeros(values.shape[1:], dtype=values.dtype)
    rows, counts = np.unique(values, axis=0, return_counts=True)
    most = rows[counts == counts.max()]
    middle: np.ndarray = np.asarray(most[len(most) // 2])
    return middle


def numbers(rows: Any, name: str) -> np.ndarray:
    """Edge features as an array; `GraphError` where they are none."""
    try:
        read = np.array(rows)
        if read.dtype.kind not in "buif":
            raise TypeError("not numbers")
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"{called(name)} has edge features that are not rows of numbers of one length.") from error
    return read


def in_single_precision(values: np.ndarray) -> np.ndarray:
    """Edge features as graphs keep them: whole numbers stay whole numbers."""
    with np.errstate(over="ignore"):  # what is too large becomes infinite, which is refused
        return values.astype(np.float32 if values.dtype.kind == "f" else np.int64)


def are_weights(edge_features: Tensor) -> bool:
    """Are these edge features (one row per edge) one real number each, as edge weights are?"""
    return edge_features.ndim == 1 and edge_features.is_floating_point()


def whole_numbers_as_int64(values: Tensor) -> Tensor:
    """Edge features as graphs and models have them: batches may keep whole numbers in fewer bytes."""
    return values if values.is_floating_point() else values.long()


# -- Parts of a graph ------------------------------------------------------------------------------------


def called(name: str) -> str:
    """How a sentence begins that is about a graph of this name."""
    return f"Graph {name!r}" if name else "The graph"


def checked_adjacency(adjacency: Any, name: str) -> np.ndarray:
    """A as graphs keep it, uint8 [n, n] and read-only: square, binary, symmetric, without self loops."""
    who = called(name)
    try:
        matrix = np.array(adjacency.todense() if hasattr(adjacency, "todense") else detached(adjacency))
    except (ValueError, TypeError, OverflowError) as error:
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
        raise not_symmetric(who, *np.argwhere(matrix != matrix.T)[0])
    if matrix.diagonal().any():
        raise GraphError(f"{who} has a self loop at node {int(matrix.diagonal().argmax())}; remove self loops first.")
    matrix = matrix.astype(np.uint8)
    matrix.flags.writeable = False
    return matrix


def not_symmetric(who: str, u: int, v: int) -> GraphError:
    return GraphError(
        f"{who} is not symmetric at nodes {u} and {v}; undirected graphs need A[u,v] = A[v,u]. Of a directed PyG graph "
        "torch_geometric.utils.to_undirected makes one."
    )


def detached(array: Any) -> Any:
    """A tensor as an array, without its gradient; anything else as it is."""
    if not isinstance(array, Tensor):
        return array
    try:
        dense = array.detach().to_dense() if array.layout != torch.strided else array.detach()
        return (dense.float() if dense.dtype == torch.bfloat16 else dense).cpu().numpy()
    except (RuntimeError, TypeError) as error:  # it has no values, or some that NumPy does not know
        raise GraphError(
            f"A graph was given a tensor ({array.dtype} on {array.device}) whose values cannot be read; give one of "
            "ordinary numbers in main memory."
        ) from error


def checked_features(features: Any, n: int, name: str) -> np.ndarray | None:
    """X as graphs keep it, float32 [n, d] and read-only: finite and not too large."""
    if features is None:
        return None
    who = called(name)
    try:
        x = np.array(detached(features))
        if np.iscomplexobj(x):
            raise TypeError("they are complex")
        if x.dtype.kind not in "buifO":
            raise TypeError(f"they are {x.dtype}")
        with np.errstate(over="ignore"):  # what is too large is refused below
            x = x.astype(np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise GraphError(f"{who} has node features that are not rows of numbers of one length ({error}).") from error
    if x.ndim == 1:
        x = x[:, None]
    if x.ndim != 2 or len(x) != n:
        raise GraphError(f"{who} has {n} nodes but features of shape {x.shape}; give one row per node.")
    if not np.isfinite(x).all():
        raise GraphError(f"{who} has NaN or infinite node features; fill or drop them first.")
    if (np.abs(x) > LARGEST_FEATURE).any():
        raise GraphError(
            f"{who} has node features as large as {np.abs(x).max():.0e}, whose squares overflow; scale them first."
        )
    x.flags.writeable = False
    return x


def checked_edge_features(features: Any, n: int, name: str) -> np.ndarray | None:
    """What every pair of nodes has, [n, n] or [n, n, d] and read-only: finite and symmetric."""
    if features is None:
        return None
    who = called(name)
    values = in_single_precision(numbers(detached(features), name))
    if values.ndim not in (2, 3) or values.shape[:2] != (n, n):
        raise GraphError(
            f"{who} has {n} nodes but edge features of shape {values.shape}; give a value, or a row of values, for "
            f"each pair of nodes: [{n}, {n}] or [{n}, {n}, width]."
        )
    if not np.isfinite(values).all():
        raise GraphError(f"{who} has NaN or infinite edge features; fill or drop them first.")
    if (values != values.swapaxes(0, 1)).any():
        u, v = np.argwhere(values != values.swapaxes(0, 1))[0][:2]
        raise GraphError(
            f"{who} has edge features that differ between the directions of the pair {u}, {v}; give both the same."
        )
    values.flags.writeable = False
    return values


def checked_node_names(names: Any, n: int, name: str) -> tuple[Hashable, ...] | None:
    """One name for each node, all different."""
    if names is None:
        return None
    try:
        given = tuple(names)
        different = len(set(given))
    except TypeError as error:
        raise GraphError(
            f"{called(name)} has node names that cannot be used ({error}); give a list of texts."
        ) from error
    if len(given) != n or different != n:
        raise GraphError(
            f"{called(name)} has {n} nodes and {len(given)} node names, {different} of them different; give each node "
            "a name of its own."
        )
    return given
