"""Odd values for arguments: scalars, matrices, features, tables of edges and names, drawn from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch

from rsgg.graph import Graph

N = 5  # nodes of the graphs that are right
RING = nx.to_numpy_array(nx.cycle_graph(N), dtype=np.uint8)
GRAPHS = [nx.cycle_graph(N), nx.path_graph(N), nx.cycle_graph(N + 1), nx.star_graph(N)]

SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2**31,
    2**63,
    2**64,
    -(2**63) - 1,
    10**400,
    0.5,
    -0.0,
    float("nan"),
    float("inf"),
    1e300,
    1e-300,
    3 + 4j,
    "",
    "x",
    "1",
    "\x00",
    "ü" * 50,
    b"bytes",
    [],
    (),
    {},
    set(),
    [1],
    [[1]],
    {"a": 1},
    object(),
    int,
    Ellipsis,
    range(3),
    np.nan,
    np.int8(-1),
    np.float16(1),
    np.datetime64("NaT"),
    np.str_("x"),
    np.array(1),
    torch.tensor(1),
    torch.tensor(float("nan")),
    lambda: None,
    print,
    Path("x"),
    np.ma.masked,
    slice(None),
    NotImplemented,
)


def changed(array: np.ndarray, place: tuple[int, ...], value: object) -> np.ndarray:
    other = array.astype(type(value) if isinstance(value, float | complex) else object if value is None else np.int64)
    other[place] = value
    return other


def matrices(draw: random.Random) -> Any:
    """Something in place of an adjacency matrix, now and then a right one."""
    made: list[Callable[[], Any]] = [
        lambda: draw.choice(SCALARS),
        lambda: RING,
        lambda: RING.tolist(),
        lambda: torch.tensor(RING),
        lambda: torch.tensor(RING, dtype=torch.float64, requires_grad=True),
        lambda: torch.tensor(RING).to_sparse(),
        lambda: torch.tensor(RING, device="meta"),
        lambda: torch.tensor(RING, dtype=torch.float16).to(torch.bfloat16),
        lambda: nx.to_scipy_sparse_array(GRAPHS[0]),
        lambda: np.matrix(RING),
        lambda: np.ma.masked_array(RING, RING == 0),
        lambda: RING.astype(draw.choice(["U1", "S1", "O", "M8[s]", "c16", "f2", "i1", "?"])),
        lambda: changed(RING, (0, 1), draw.choice([2, -1, 0, 0.5, np.nan, np.inf, 1j])),
        lambda: changed(RING, (1, 1), 1),
        lambda: RING[:3],
        lambda: RING[None],
        lambda: np.zeros((0, 0)),
        lambda: np.zeros(draw.choice([(1, 1), (3,), (2, 2, 2), (0, 3), (1, 0), ()])),
        lambda: [[0, 1], [1]],
        lambda: [["0", "1"], ["1", "0"]],
        lambda: [[None, 1], [1, None]],
        lambda: [[0, 10**30], [10**30, 0]],
        lambda: GRAPHS[0],
        lambda: Graph(RING),
        lambda: iter(RING),
        lambda: {0: {1: 1}},
        lambda: "0110",
    ]
    return draw.choice(made)()


def features(draw: random.Random, n: int = N) -> Any:
    made: list[Callable[[], Any]] = [
        lambda: draw.choice(SCALARS),
        lambda: np.ones((n, 2)),
        lambda: np.ones(n),
        lambda: np.ones((n, 0)),
        lambda: np.ones((n + 1, 2)),
        lambda: np.ones((n, 2, 2)),
        lambda: np.full((n, 2), draw.choice([np.nan, np.inf, -np.inf, 1e16, 1e300, 1e39])),
        lambda: np.full((n, 2), draw.choice(["x", "1", None, 1j, b"1"])),
        lambda: [[1.0, 2.0]] * (n - 1) + [[1.0]],
        lambda: [{"a": 1}] * n,
        lambda: torch.ones(n, 2, requires_grad=True),
        lambda: torch.ones(n, 2, dtype=draw.choice([torch.bfloat16, torch.bool, torch.complex64, torch.int64])),
        lambda: torch.ones(n, 2).to_sparse(),
        lambda: torch.ones(n, 2, device="meta"),
        lambda: np.ones((n, 2)).astype("M8[s]"),
        lambda: [10**400] * n,
    ]
    return draw.choice(made)()


def edge_tables(draw: random.Random) -> Any:
    made: list[Callable[[], Any]] = [
        lambda: features(draw),
        lambda: np.ones((N, N)),
        lambda: np.ones((N, N, 2), dtype=int),
        lambda: np.arange(N * N).reshape(N, N),
        lambda: np.full((N, N), draw.choice([np.nan, np.inf, 1e300, "x", None, 1j, 2**63])),
        lambda: np.ones((N, N, 2, 2)),
        lambda: torch.ones(N, N, device="meta"),
        lambda: torch.ones(N, N, dtype=torch.bfloat16),
    ]
    return draw.choice(made)()


def names_of_nodes(draw: random.Random) -> Any:
    some: tuple[Any, ...] = (
        [*"abcde"],
        "abcde",
        range(N),
        [[]] * N,
        [1] * N,
        [float("nan")] * N,
        {1, 2, 3, 4, 5},
        iter("abcde"),
        5,
        {},
    )
    return draw.choice((*some, *SCALARS))
