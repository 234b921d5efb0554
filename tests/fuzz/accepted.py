"""What was accepted has to be sound: a graph, a batch and results in which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rsgg
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import TreeCyclesOracle

Case = Callable[[], object]


class Accepted(AssertionError):
    """Something wrong was accepted."""


def require(holds: object, what: str) -> None:
    if not holds:
        raise Accepted(what)


def sound(graph: Graph) -> Graph:
    """The graph, which is simple, undirected, finite, and has what belongs to its nodes for each of them."""
    a, n = graph.adjacency, graph.n_nodes
    require(a.dtype == np.uint8 and a.shape == (n, n) and n > 0, f"a matrix {a.dtype} {a.shape}")
    require((a == a.T).all() and not a.diagonal().any() and a.max(initial=0) <= 1, "no simple graph")
    require(isinstance(graph.name, str), "a name that is no text")
    x, e = graph.features, graph.edge_features
    require(x is None or (x.shape[0] == n and x.ndim == 2 and np.isfinite(x).all()), "features")
    require(e is None or (e.shape[:2] == (n, n) and np.isfinite(e).all() and (e == e.swapaxes(0, 1)).all()), "edges'")
    require(graph.node_names is None or len(set(graph.node_names)) == n, "names of nodes")
    sound_batch(GraphBatch.of([graph]))
    require(graph.to_networkx().number_of_edges() == graph.n_edges, "its NetworkX graph")
    require(graph.to_pyg().num_edges == 2 * graph.n_edges, "its PyG graph")
    return graph


def sound_batch(batch: GraphBatch) -> GraphBatch:
    """The batch, whose parts are tensors of sizes that fit."""
    a, (count, n) = batch.adjacency, batch.adjacency.shape[:2]
    require(a.shape == (count, n, n) and batch.sizes.shape == (count,), "shapes")
    require(count > 0 and int(batch.sizes.min()) >= 1 and int(batch.sizes.max()) <= n, "sizes")
    require(not a.is_floating_point() and not a.is_complex(), "a matrix of fractions")
    require(len(batch.names) == count and all(isinstance(name, str) for name in batch.names), "names")
    x = batch.features
    require(x is None or (x.is_floating_point() and x.shape[:2] == (count, n)), "features")
    require(len(TreeCyclesOracle().predict(batch)) == count, "no answers")
    require(len(list(batch)) == count, "no graphs")
    return batch


def sound_results(results: Any, oracle: rsgg.Oracle | None, count: int, k: int, *, checked: bool = True) -> None:
    """As many results as asked for, each with a graph of another class or a reason."""
    require(len(results) == count * k, "the number of results")
    for result in results:
        require(result.found or result.reason or (result.offered and not checked), "neither a graph nor a reason")
        if result.found and oracle is not None:
            before, after = (int(oracle.predict(GraphBatch.of([g]))) for g in (result.input, result.graph))
            require(before != after and before == result.before, "a class that did not change")
