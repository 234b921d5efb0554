"""Calls of the library that nobody should make, made from a seed: odd values for every argument, odd models, odd files.

`cases` yields functions without arguments. Each makes one call; where the call is accepted it checks that nothing wrong
was accepted, and raises `Accepted` if so. Whatever else it raises has to be an error of this project.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

import rsgg
from rsgg.baselines.controls import Empty, TwoSided
from rsgg.baselines.released.cf2 import ReleasedCF2
from rsgg.baselines.search import DCE, OBS, IRand
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CallableOracle, CountingOracle, PyGOracle, TreeCyclesOracle
from rsgg.rsgg_ce import RSGGCE, ReleasedRSGGCE, TaughtRSGGCE
from rsgg.saving import read_archive
from rsgg.sparse import SparseGraph

Case = Callable[[], object]
N = 5  # nodes of the graphs that are right
RING = nx.to_numpy_array(nx.cycle_graph(N), dtype=np.uint8)
GRAPHS = [nx.cycle_graph(N), nx.path_graph(N), nx.cycle_graph(N + 1), nx.star_graph(N)]


class Accepted(AssertionError):
    """Something wrong was accepted."""


def require(holds: object, what: str) -> None:
    if not holds:
        raise Accepted(what)


# -- odd values ------------------------------------------------------------------------------------------

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


# -- what was accepted -----------------------------------------------------------------------------------


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


# -- graphs ----------------------------------------------------------------------------------------------


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


# -- models ----------------------------------------------------------------------------------------------


class Answers(nn.Module):
    """A model that answers what it is told to, from its x and the number of edges of each graph."""

    def __init__(self, answer: Callable[[Tensor, int], Any]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, x: Any, edge_index: Any, batch: Any) -> Any:
        count = int(batch.max()) + 1
        edges = torch.bincount(batch[edge_index[0]], minlength=count).float() / 2
        return self.answer(edges, count)


class AloneAnswers(Answers):
    def forward(self, x: Any, edge_index: Any) -> Any:  # type: ignore[override]
        return self.answer(torch.tensor([edge_index.shape[1] / 2]), 1)


class DataAnswers(Answers):
    def forward(self, data: Any) -> Any:  # type: ignore[override]
        return super().forward(data.x, data.edge_index, data.batch)


class StarAnswers(Answers):
    def forward(self, *a: Any) -> Any:
        return super().forward(*a)


class FourAnswers(Answers):
    def forward(self, a: Any, b: Any, c: Any, d: Any) -> Any:  # type: ignore[override]
        return super().forward(a, b, c)


class NothingAnswers(Answers):
    def forward(self) -> Any:  # type: ignore[override]
        return torch.zeros(1, 2)


def _raises(error: BaseException) -> Any:
    raise error


ANSWERS: tuple[Callable[[Tensor, int], Any], ...] = (
    lambda e, n: torch.stack((e - N, N - e), 1),
    lambda e, n: torch.stack((e - N, N - e, e * 0), 1),
    lambda e, n: e - N + 0.5,
    lambda e, n: (e >= N).long(),
    lambda e, n: (e >= N).long() * 99,
    lambda e, n: -(e >= N).long(),
    lambda e, n: torch.sigmoid(e - N + 0.5),
    lambda e, n: torch.full((n, 2), float("nan")),
    lambda e, n: torch.where((e % 2 == 0)[:, None], torch.nan, torch.stack((e - N, N - e), 1)),
    lambda e, n: torch.full((n, 2), float("inf")),
    lambda e, n: torch.zeros(n, 2),
    lambda e, n: torch.zeros(n, 0),
    lambda e, n: torch.zeros(n + 1, 2),
    lambda e, n: torch.zeros(2),
    lambda e, n: torch.zeros(()),
    lambda e, n: torch.zeros(n, 2, 2),
    lambda e, n: torch.zeros(n, 2, dtype=torch.complex64),
    lambda e, n: torch.zeros(n, 2, device="meta"),
    lambda e, n: torch.zeros(n, 2).to_sparse(),
    lambda e, n: torch.stack((e - N, N - e), 1).to(torch.bfloat16),
    lambda e, n: torch.stack((e - N, N - e), 1).numpy(),
    lambda e, n: None,
    lambda e, n: "x",
    lambda e, n: [1] * n,
    lambda e, n: (),
    lambda e, n: {},
    lambda e, n: {"logits": torch.stack((e - N, N - e), 1)},
    lambda e, n: (None, torch.stack((e - N, N - e), 1)),
    lambda e, n: torch.rand(n, 2),
    lambda e, n: _raises(ValueError("no")),
    lambda e, n: _raises(KeyError("no")),
    lambda e, n: _raises(MemoryError()),
    lambda e, n: _raises(StopIteration()),
    lambda e, n: _raises(RecursionError()),
    lambda e, n: _raises(AssertionError()),
)
STEADY = 28  # the answer after these is random
KINDS = (Answers, Answers, AloneAnswers, DataAnswers, StarAnswers, FourAnswers, NothingAnswers)


def a_model(draw: random.Random) -> Case:
    number = draw.randrange(len(ANSWERS))
    model: Any = draw.choice(KINDS)(ANSWERS[number])
    if draw.random() < 0.1:
        model = draw.choice((*SCALARS, Answers, nn.Linear(2, 2), nn.Module(), nn.Identity()))
    options: dict[str, Any] = {}
    for option, values in (("n_classes", (2, 3, *SCALARS)), ("output", ("logits", "probabilities", "auto", *SCALARS))):
        if draw.random() < 0.3:
            options[option] = draw.choice(values)
    if draw.random() < 0.2:
        options["edge_weights"] = draw.choice((True, *SCALARS))
    explainer = draw.choice((OBS(), TwoSided(), Empty(), IRand()))

    def ask() -> None:
        oracle = PyGOracle(model, **options)
        results = explainer.explain(GRAPHS, oracle)
        sound_results(results, None if number == STEADY else oracle, len(GRAPHS), 1)

    return ask


def a_function(draw: random.Random) -> Case:
    returned = draw.choice((*SCALARS, [0.2, 0.8], torch.tensor([1.0, 0.0]), [float("nan")] * 2, np.zeros(3), "yes"))
    functions: tuple[Any, ...] = (
        lambda data: returned,
        lambda data: int(data.num_edges >= 2 * N),
        lambda data: returned if data.num_edges >= 2 * N else 0,
        lambda: 0,
        lambda data: _raises(ZeroDivisionError()),
        lambda data: [int(one.num_edges >= 2 * N) for one in data],
    )
    function = draw.choice(SCALARS) if draw.random() < 0.1 else draw.choice(functions)
    options: dict[str, Any] = {}
    if draw.random() < 0.4:
        options["lists"] = draw.choice((True, *SCALARS))
    if draw.random() < 0.3:
        options["n_classes"] = draw.choice((2, 3, *SCALARS))

    def ask() -> None:
        oracle = CallableOracle(function, **options)
        sound_results(OBS().explain(GRAPHS, oracle), oracle, len(GRAPHS), 1)

    return ask


# -- explaining ------------------------------------------------------------------------------------------


def an_explanation(draw: random.Random) -> Case:
    oracle: Any = TreeCyclesOracle()
    graphs: Any = GRAPHS
    options: dict[str, Any] = {}
    for option in draw.sample(("k", "seed", "target", "check", "graphs", "oracle"), draw.choice([1, 1, 2])):
        if option == "graphs":
            graphs = graphs_of_any_kind(draw)
        elif option == "oracle":
            oracle = draw.choice((TreeCyclesOracle, nn.Identity(), lambda data: 0, *SCALARS))
        else:
            values = SCALARS if option != "k" else (3, *(value for value in SCALARS if not _is_huge(value)))
            options[option] = draw.choice(values)
    explainer = draw.choice((OBS(), TwoSided(), Empty(), DCE(), TaughtRSGGCE(), ReleasedRSGGCE.tiny(), RSGGCE.tiny()))

    def explain() -> None:
        results = explainer.explain(graphs, oracle, **options)
        judge = oracle if isinstance(oracle, rsgg.Oracle) and "target" not in options else None
        k = options.get("k", 1)
        sound_results(results, judge, len(results) // k, k, checked=options.get("check", True))

    return explain


def _is_huge(value: Any) -> bool:
    """A number of candidates that would fill the memory, as it was asked to."""
    return isinstance(value, int) and value > 1000


def a_quick_explanation(draw: random.Random) -> Case:
    options: dict[str, Any] = {}
    keys = ("target", "k", "constraints", "seed", "budget", "seconds", "patience", "every_pair_up_to")
    for option in draw.sample(keys, draw.choice([1, 1, 2])):
        options[option] = draw.choice([value for value in SCALARS if option != "k" or not _is_huge(value)])
    model: Any = TreeCyclesOracle() if draw.random() < 0.7 else draw.choice((Answers(ANSWERS[0]), *SCALARS))
    data = GRAPHS if draw.random() < 0.7 else graphs_of_any_kind(draw)
    return lambda: rsgg.explain(model, data, **options)


def a_count(draw: random.Random) -> Case:
    oracle: Any = TreeCyclesOracle() if draw.random() < 0.8 else draw.choice(SCALARS)
    options = {
        name: draw.choice(SCALARS) for name in draw.sample(("budget", "seconds", "patience"), draw.choice([1, 2]))
    }

    def count() -> None:
        counted = CountingOracle(oracle, **options)
        results = OBS().explain(GRAPHS, counted)
        budget = options.get("budget")
        sound_results(results, None, len(GRAPHS), 1)
        require(budget is None or max(result.calls for result in results) <= budget, "more calls than the budget")

    return count


def a_setting(draw: random.Random) -> Case:
    cls = draw.choice((RSGGCE, TaughtRSGGCE, ReleasedRSGGCE, ReleasedCF2, OBS, IRand, DCE))
    name = draw.choice([*cls.tiny().hyperparameters(), "device", "constraints", "nothing"])
    value = draw.choice([value for value in SCALARS if not isinstance(value, int) or abs(value) < 1000])

    def make() -> None:
        try:
            made = cls(**{name: value})
        except TypeError as error:  # Python's own sentence about an argument that does not exist
            require("unexpected keyword argument" in str(error), str(error))
            return
        made.check_values()

    return make


# -- files -----------------------------------------------------------------------------------------------


def a_file(draw: random.Random, folder: Path, saved: bytes) -> Case:
    """A damaged file of a fitted explainer, or something that is no path."""
    damaged = bytearray(saved)
    how = draw.randrange(5)
    if how == 0:
        for _ in range(draw.randrange(1, 5)):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    elif how == 1:
        del damaged[draw.randrange(len(damaged)) :]
    elif how == 2:
        start = draw.randrange(len(damaged))
        del damaged[start : start + draw.randrange(1, 100)]
    elif how == 3:
        damaged = bytearray(draw.randbytes(draw.randrange(300)))
    path: Any = folder / "explainer.npz"
    if how == 4:
        path = draw.choice((folder, folder / "nowhere", folder / ("n" * 300), folder / "explainer.npz" / "x", *SCALARS))

    def load() -> None:
        (folder / "explainer.npz").write_bytes(damaged)
        if isinstance(path, int):
            return  # the number of an open file of this process
        loaded = ReleasedCF2.load(path)
        require(bytes(damaged) == saved, "a damaged file")
        loaded.explain(GRAPHS[:1], TreeCyclesOracle())

    return load if draw.random() < 0.7 or how == 4 else partial(_saved_elsewhere, draw.choice(SCALARS))


def _saved_elsewhere(path: Any) -> None:
    if isinstance(path, str | Path):
        return  # a file would be written into the current folder
    OBS().save(path)


# -- all of them -----------------------------------------------------------------------------------------

MAKERS: tuple[Callable[[random.Random], Case], ...] = (
    a_graph,
    a_graph,
    a_pyg_graph,
    a_pyg_graph,
    a_networkx_graph,
    a_list_of_edges,
    a_batch,
    any_graphs,
    a_model,
    a_model,
    a_function,
    an_explanation,
    a_quick_explanation,
    a_count,
    a_setting,
)


def cases(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Case]]:
    """So many cases, each with what it is about; the same for the same seed."""
    draw = random.Random(seed)
    fitted = ReleasedCF2.tiny().fit([nx.cycle_graph(N), nx.path_graph(N)], TreeCyclesOracle())
    saved = fitted.save(folder / "whole").read_bytes()
    assert read_archive(folder / "whole")
    for i in range(count):
        kind = i % (len(MAKERS) + 1)
        if kind == len(MAKERS):
            yield f"{i} a_file", a_file(draw, folder, saved)
        else:
            yield f"{i} {MAKERS[kind].__name__}", MAKERS[kind](draw)
