"""Graphs that several tests share, built with NetworkX and plain loops: nothing of the library is used to make them."""

import os
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

needs_asd = pytest.mark.skipif("RSGG_DATA_DIR" not in os.environ, reason="ASD is not at hand: RSGG_DATA_DIR is not set")

DATA_DIR = Path(os.environ.get("RSGG_DATA_DIR", "nowhere"))
needs_public_data = pytest.mark.skipif(
    not all((DATA_DIR / part).is_dir() for part in ("tu", "molecules", "oracles")),
    reason="public data sets and published oracles are not at hand: RSGG_DATA_DIR holds no tu, molecules, oracles",
)


def has_cycle(graph: nx.Graph) -> bool:
    """By searching for one."""
    try:
        nx.find_cycle(graph)
    except nx.NetworkXNoCycle:
        return False
    return True


def gnp_graphs(count: int, sizes: Sequence[int] = (4, 7, 10), seed: int = 0) -> list[nx.Graph]:
    """Random graphs of mixed sizes whose density lies around the point where cycles appear."""
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(count):
        n = sizes[i % len(sizes)]
        graphs.append(nx.gnp_random_graph(n, min(1.0, rng.uniform(0.2, 2.0) / n), seed=int(rng.integers(2**31))))
    return graphs


def tree(n: int, seed: int = 0) -> nx.Graph:
    return nx.random_labeled_tree(n, seed=seed)


def unicyclic(n: int, cycle: int, seed: int = 0) -> nx.Graph:
    """A random tree with one cycle of that many nodes attached by an edge: n nodes, n edges."""
    graph = nx.random_labeled_tree(n - cycle, seed=seed)
    nx.add_cycle(graph, range(n - cycle, n))
    graph.add_edge(0, n - cycle)
    return graph


def all_graphs(n: int) -> np.ndarray:
    """Every graph on n nodes, uint8 [2^(n(n-1)/2), n, n]; bit i of the position is the i-th pair."""
    pairs = list(combinations(range(n), 2))
    adjacency = np.zeros((2 ** len(pairs), n, n), dtype=np.uint8)
    for i, (u, v) in enumerate(pairs):
        adjacency[:, u, v] = adjacency[:, v, u] = np.arange(2 ** len(pairs)) >> i & 1
    return adjacency
