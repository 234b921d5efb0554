"""What a counterfactual may have to withstand: an oracle that is trained again, and a harmless edit of its input.

Measures of it are in `rsgg.metrics` (`robustness`, `agreement`, `stability`, `actionability`), and the constraint that
freezes a share of the pairs is `rsgg.constraints.KeepShare`.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from rsgg.graph import GraphBatch
from rsgg.minimise import random_order
from rsgg.oracles.gnn import TrainedGNN
from rsgg.oracles.networks import LAYERS
from rsgg.oracles.oracle import Oracle
from rsgg.oracles.weights import in_the_cache_alone
from rsgg.seeds import numpy_rng

COPIES = 3  # of each kind; there are as many other architectures
TRIES = 50  # pairs of a graph that are tried for a harmless edit
NOT_OURS = "gcn"  # the architecture of copies of an oracle that is not trained here


def copies_of(oracle: Oracle, graphs: GraphBatch, labels: Tensor, count: int = COPIES) -> dict[str, list[TrainedGNN]]:
    """Networks that were trained like the oracle, on these graphs and labels, and could have been in its place.

    At most `count` of each kind:

    - "seed": the oracle's architecture, all graphs, other initial weights and batches
    - "subsample": the same, and only a random nine tenths of the graphs
    - "architecture": the other architectures, all graphs

    An oracle that is not trained by this project (`TrainedGNN`) has no such copies: a published network, or a user's.
    Its place is taken by GCNs that are trained here, which need not have its layers, pooling or training; then "seed"
    and "subsample" say how a counterfactual fares with GCNs for the same data.

    Weights of copies are kept in the cache alone, not beside results: any others would do, that is what is measured.
    On another kind of processor they come out a little different, and so do the measures.
    """
    own, n_classes = oracle.architecture if isinstance(oracle, TrainedGNN) else NOT_OURS, oracle.n_classes
    numbers = range(1, count + 1)
    others = [one for one in LAYERS if one != own][:count]
    with in_the_cache_alone():
        return {
            "seed": [TrainedGNN(own, n_classes).fitted(graphs, labels, seed=i) for i in numbers],
            "subsample": [TrainedGNN(own, n_classes, copy=i).fitted(graphs, labels) for i in numbers],
            "architecture": [TrainedGNN(one, n_classes).fitted(graphs, labels) for one in others],
        }


def noisy(graphs: GraphBatch, share: float, *names: object) -> GraphBatch:
    """The graphs with noise as RCExplainer's authors make it, drawn by these names and by each graph's own.

    Of each graph a share of |E|, rounded down, of random node pairs is made an edge or none, at evens; so most of what
    changes is added. Each node with one-hot features gets a random label with probability `share`; others keep theirs.
    """
    adjacency = graphs.adjacency.clone()
    features = None if graphs.features is None else graphs.features.clone()
    sizes, n_edges = graphs.sizes.tolist(), graphs.n_edges.tolist()
    for i, (name, n) in enumerate(zip(graphs.names, sizes, strict=True)):
        rng = numpy_rng("noise", *names, share, name)
        u, v = torch.triu_indices(n, n, 1)
        pair = torch.from_numpy(rng.permutation(len(u))[: int(share * n_edges[i])])
        joined = torch.from_numpy(rng.integers(2, size=len(pair))).to(adjacency.dtype)
        adjacency[i, u[pair], v[pair]] = adjacency[i, v[pair], u[pair]] = joined
        if features is not None and _one_hot(features[i, :n]):
            nodes = torch.from_numpy((rng.random(n) < share).nonzero()[0])
            labels = torch.from_numpy(rng.integers(features.shape[2], size=len(nodes)))
            features[i, nodes] = torch.nn.functional.one_hot(labels, features.shape[2]).to(features.dtype)
    return replace(graphs, adjacency=adjacency, features=features, encodings={})


def _one_hot(rows: Tensor) -> bool:
    """Does every row say one of several labels?"""
    return rows.shape[1] > 1 and bool(((rows == 0) | (rows == 1)).all() and (rows.sum(1) == 1).all())


def harmless_edits(graphs: GraphBatch, oracle: Oracle, *names: object) -> tuple[GraphBatch, Tensor]:
    """The graphs, each with one node pair flipped that does not change its class; and which of them have one, bool [B].

    Of each graph at most `TRIES` pairs are tried, in an order that is drawn by these names and by the graph's own: the
    first whose flip the oracle does not notice is taken. A graph of which it notices all stays as it is.
    """
    drawn = [("harmless edit", *names, name) for name in graphs.names]
    rank = random_order(graphs.pair_mask, graphs.sizes, drawn)
    classes, adjacency = oracle.predict(graphs).cpu(), graphs.adjacency.clone()
    n_pairs, found = graphs.pair_mask.sum((1, 2)), torch.zeros(len(graphs), dtype=torch.bool)
    for number in range(TRIES):
        rows = (~found & (n_pairs > number)).nonzero().flatten()
        if not len(rows):
            break
        flipped = graphs.adjacency[rows] ^ (rank[rows] == number).to(torch.uint8)
        unnoticed = oracle.predict(graphs.candidates(flipped, rows)).cpu() == classes[rows]
        adjacency[rows[unnoticed]] = flipped[unnoticed]
        found[rows[unnoticed]] = True
    return replace(graphs, adjacency=adjacency, encodings={}), found
