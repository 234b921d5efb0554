"""Graphs, and batches of them, that nobody should make."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch_geometric.data import Data

from rsgg.graph import Graph, GraphBatch
from rsgg.sparse import SparseGraph
from tests.fuzz.accepted import Case, sound, sound_batch
from tests.fuzz.odd_values import GRAPHS, RING, SCALARS, N, edge_tables, features, matrices, names_of_nodes


def a_graph(draw: random.Random) -> Case:
    given: dict[str, Any] = {"adjacency": RING}
    odd = {
        "adjacency": matrices,
        "features": features,
        "edge_features": edge_tables,
        "node_names": names_of_nodes,
        "name": lambda d: d.choice(SCALARS),
    }
    for argument in draw.sample(sorted(odd), draw.choice([1, 1, 2])):
        given[argument] = odd[argument](draw)
    return lambda: sound(Graph(**given))


def a_pyg_graph(draw: random.Random) -> Case:
    ring = torch.tensor(np.argwhere(RING).T)
    wrong = ring.clone()
    wrong[draw.randrange(2), draw.randrange(2 * N)] = draw.choice([-1, N, 2**40, -(2**40), 0, 1])
    indices = (
        ring,
        wrong,
        ring[:, :1],
        ring[:1],
        ring.float(),
        ring.bool(),
        ring.T,
        ring[None],
        ring.tolist(),
        ring.numpy(),
        None,
        torch.zeros(2, 0),
        torch.zeros(2, 0, dtype=torch.long),
        ring.int(),
        "x",
        ring.to(torch.uint8),
        ring.to("meta"),
        torch.stack((ring, ring)),
        torch.tensor([[0], [-1]]),
        torch.tensor([[0, -1], [-1, 0]]),
        ring.double() + 0.5,
    )
    data = Data(edge_index=draw.choice(indices) if draw.random() < 0.7 else ring)
    for key in draw.sample(("x", "num_nodes", "edge_attr", "edge_weight", "node_names", "y", "pos"), draw.randrange(3)):
        sizes = {
            "num_nodes": (N, 0, -1, 2, None, 1.5, "5", 10**12),
            "node_names": ([*"abcde"], [1, 1, 2, 3, 4], "abcde", 3),
        }
        rows = 2 * N if key.startswith("edge") else N
        data[key] = draw.choice(sizes[key]) if key in sizes else features(draw, rows)
    options: dict[str, Any] = {}
    if draw.random() < 0.2:
        options["added_edge"] = draw.choice((*SCALARS, [1, 2], np.ones(2)))
    if draw.random() < 0.1:
        options["name"] = draw.choice(SCALARS)
    given = draw.choice(SCALARS) if draw.random() < 0.05 else data
    kind = SparseGraph if draw.random() < 0.3 else Graph
    return lambda: sound(kind.from_pyg(given, **options))


def a_networkx_graph(draw: random.Random) -> Case:
    graph = draw.choice(
        (
            nx.cycle_graph(N),
            nx.DiGraph([(0, 1)]),
            nx.MultiGraph([(0, 1), (0, 1)]),
            nx.Graph(),
            nx.Graph([(0, 0)]),
            nx.Graph([("a", 1), (1, (2,))]),
            nx.path_graph(1),
            nx.freeze(nx.cycle_graph(4)),
        )
    ).copy()
    options: dict[str, Any] = {}
    if draw.random() < 0.6:
        value = draw.choice((*SCALARS, [1.0, 2.0], np.ones(3)))
        for node in list(graph)[draw.randrange(2) :]:
            graph.nodes[node]["f"] = value
        options["features"] = draw.choice(("f", "f", "g", 3, None, ("f",), []))
    if draw.random() < 0.6:
        value = draw.choice((*SCALARS, [1.0, 2.0], np.ones(3)))
        for edge in list(graph.edges)[draw.randrange(2) :]:
            graph.edges[edge]["w"] = value
        options["edge_features"] = draw.choice(("w", "w", "g", 3, None, []))
        options["added_edge"] = draw.choice((None, 1.0, *SCALARS))
    if draw.random() < 0.1:
        options["name"] = draw.choice(SCALARS)
    given = draw.choice(SCALARS) if draw.random() < 0.05 else graph
    kind = SparseGraph if draw.random() < 0.3 else Graph
    return lambda: sound(kind.from_networkx(given, **options))


def a_list_of_edges(draw: random.Random) -> Case:
    edges = draw.choice(
        (
            [(0, 1), (1, 2)],
            [(0, -1)],
            [(0, N)],
            [(1, 1)],
            [(0, 1), (1, 0)],
            [(0.5, 1)],
            [("0", "1")],
            [(0, 1, 2)],
            [0, 1],
            np.zeros((0, 2)),
            [],
            [(0, 2**70)],
            {(0, 1)},
            iter([(0, 1)]),
            torch.tensor([[0, 1]]),
            *SCALARS,
        )
    )
    options: dict[str, Any] = {}
    if draw.random() < 0.4:
        options["features"] = features(draw)
    if draw.random() < 0.4:
        options["edge_features"] = draw.choice((np.ones(2), np.ones((2, 3)), [np.nan, 1], ["x", "y"], *SCALARS))
        options["added_edge"] = draw.choice((None, *SCALARS))
    n = draw.choice((N, N, N, *SCALARS))
    return lambda: sound(SparseGraph.from_edges(n, edges, **options))


# -- batches ---------------------------------------------------------------------------------------------


def a_batch(draw: random.Random) -> Case:
    right = GraphBatch.of(GRAPHS)
    parts: dict[str, Any] = {"adjacency": right.adjacency, "sizes": right.sizes, "names": right.names}
    odd: dict[str, Callable[[], Any]] = {
        "adjacency": lambda: draw.choice(
            (
                right.adjacency.float(),
                right.adjacency[0],
                right.adjacency[:, :3],
                right.adjacency.numpy(),
                right.adjacency[:0],
                right.adjacency.to("meta"),
                right.adjacency.to_sparse(),
                right.adjacency.bool(),
                matrices(draw),
            )
        ),
        "sizes": lambda: draw.choice(
            (
                right.sizes.float(),
                right.sizes[:2],
                right.sizes + 9,
                right.sizes * 0,
                -right.sizes,
                right.sizes.tolist(),
                right.sizes[:, None],
                *SCALARS,
            )
        ),
        "features": lambda: draw.choice(
            (
                torch.ones(4, N + 1, 2),
                torch.ones(4, N, 2),
                torch.ones(4, N + 1),
                torch.ones(4, N + 1, 2).long(),
                np.ones((4, N + 1, 2)),
                features(draw),
            )
        ),
        "names": lambda: draw.choice((("a",), ("a",) * 4, (1, 2, 3, 4), "abcd", ["a", "b", "c", "d"], *SCALARS)),
        "edge_features": lambda: draw.choice((torch.ones(4, N + 1, N + 1), torch.ones(4, N), edge_tables(draw))),
        "labels": lambda: draw.choice((torch.zeros(4), torch.zeros(3), torch.zeros(4, 1), *SCALARS)),
        "encodings": lambda: draw.choice(({"x": torch.ones(4, N + 1, 1)}, {}, *SCALARS)),
        "node_names": lambda: draw.choice(((None,) * 4, (None,), (("a",),) * 4, *SCALARS)),
        "given": lambda: draw.choice(((None,) * 4, (None,), *SCALARS)),
        "origin": lambda: draw.choice((torch.zeros(4, N + 1).long(), torch.zeros(3), *SCALARS)),
    }
    for part in draw.sample(sorted(odd), draw.choice([1, 1, 2])):
        parts[part] = odd[part]()
    return lambda: sound_batch(GraphBatch(**parts))


def graphs_of_any_kind(draw: random.Random) -> Any:
    loop = Data(edge_index=torch.tensor([[0, 0], [0, 1]]), num_nodes=2)
    mixed = [Graph(RING, features=np.ones((N, 2))), Graph(RING)]
    some: tuple[Any, ...] = (
        GRAPHS,
        GRAPHS[0],
        [],
        [None],
        [[GRAPHS[0]]],
        {"a": GRAPHS[0]},
        iter(GRAPHS),
        [GRAPHS[0], 5],
        mixed,
        [loop],
        loop,
        [Graph(RING, features=np.ones((N, d))) for d in (1, 2)],
        np.array(GRAPHS, dtype=object),
        RING,
        torch.tensor(RING),
        "ab",
        (graph for graph in [GRAPHS[0]]),
        Data(),
        [Data(x=torch.ones(3, 1))],
        nx.DiGraph,
        Graph,
        GraphBatch.of(GRAPHS),
    )
    return draw.choice((*some, *SCALARS))


def any_graphs(draw: random.Random) -> Case:
    given = graphs_of_any_kind(draw)
    return lambda: sound_batch(GraphBatch.of(given))
