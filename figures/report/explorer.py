"""The data of the report's explorer: every graph of Table 1 with every method's answer, in little space.

`pack` turns the stored ledgers of a data set (replicate 0) into bytes that `parts/explorer.js` unpacks:

    uint32                 length of the JSON text (little endian)
    JSON                   what is said per graph, per row of Table 1 and per trace (see `_header`)
    uint8 x, y per node    the layout: one for all graphs where their nodes are the same things, else one per graph
    pairs                  the edges of each graph; for each row, the edits of each graph; for each trace A_g·255
                           (uint8, pairs u < v), the edges left out, and the pairs added one after the other

Pairs u ≤ v are numbered row by row, n of them in the first row, with n the number of nodes of the largest graph. A
list is a count, then numbers: differences of sorted numbers, seven bits per byte (a gap among 6786 pairs mostly takes
one byte, which gzip then makes smaller).
"""

from __future__ import annotations

import base64
import gzip
import json
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import shortest_path

from benchmarks.registry import methods, tasks
from benchmarks.results.reader import Results, edited
from figures.tables.numbers import stored
from rsgg.seeds import numpy_rng

LEFT_OUT = ("complete", "identity")  # they say nothing about a graph
SHOWN_FIRST = (
    "rsgg-ce:faithful", "rsgg-ce:released", "cf2:faithful", "cf2:released", "clear:faithful", "g-countergan:released",
    "two-sided-min:search",
)  # fmt: skip
SIDE = 255  # coordinates of a layout are 0 … SIDE
STEPS = 200  # of stress majorisation: more of them move no node by a visible distance

Row = tuple[str, str]  # method, variant


@dataclass(frozen=True)
class Ledgers:
    """What is stored of a data set: its graphs, what is known of each, and the rows' answers by instance."""

    dataset: str
    inputs: dict[int, np.ndarray]
    about: pd.DataFrame  # by instance: fold, label, predicted, n_edges, optimum
    rows: dict[Row, pd.DataFrame]  # by instance
    missing: tuple[str, ...]
    traces: list[dict[str, Any]]

    @property
    def n_nodes(self) -> int:
        """Of the largest graph."""
        return max(map(len, self.inputs.values()))


def datasets(results: Results) -> list[str]:
    """The data sets of the paper, and those of Table 1 that the project did not come with."""
    known = tasks.tasks()
    own = [name for name in stored(results, "table1")["dataset"] if name not in known or known[name].task]
    return list(dict.fromkeys([*tasks.PAPER, *own]))


def rows_of(results: Results, dataset: str) -> list[Row]:
    """The rows that the registry declares for a data set, and those that only its stored table has; none "+ min"."""
    declared = [row for row, method in methods.rows().items() if not method.unsupported(dataset)]
    table = stored(results, "table1")
    found = table[table["dataset"] == dataset][["method", "variant"]].itertuples(index=False, name=None)
    rows = [row for row in dict.fromkeys([*declared, *found]) if row[0] not in LEFT_OUT]
    return [row for row in rows if not methods.made_of(row)]


def shown_first(results: Results) -> list[str]:
    """The rows that are seen before a reader chooses: some of the paper's, and all of a user's own."""
    table = stored(results, "table1")
    own = dict.fromkeys(table[table["variant"] == methods.OWN]["method"])
    return [*SHOWN_FIRST, *(f"{name}:{methods.OWN}" for name in own)]


def read(results: Results, dataset: str) -> Ledgers | None:
    """The stored ledgers of a data set; None where its graphs are not stored."""
    inputs = results.inputs(dataset)
    if not inputs:
        return None
    about = results.ledger(dataset, "empty", "control").set_index("instance").sort_values(["fold", "instance"])
    found = {row: results.ledger(dataset, *row) for row in rows_of(results, dataset)}
    rows = {row: ledger[ledger["candidate"] == 0].set_index("instance") for row, ledger in found.items() if len(ledger)}
    missing = tuple(methods.label(*row) for row in found if row not in rows)
    traces, _ = results.parquet("traces", dataset)
    own = [trace for trace in traces.to_dict("records") if _agrees(trace, inputs, rows)]  # others are of another run
    own.sort(key=lambda trace: (trace["method"], trace["variant"], trace["instance"]))
    return Ledgers(dataset, inputs, about, rows, missing, own)


def _agrees(trace: dict[str, Any], inputs: dict[int, np.ndarray], rows: dict[Row, pd.DataFrame]) -> bool:
    instance, row = trace["instance"], rows.get((trace["method"], trace["variant"]))
    if row is None or instance not in row.index or instance not in inputs:
        return False
    found, graph = bool(row.at[instance, "found"]), inputs[instance]
    same = not found or np.array_equal(traced(graph, trace), edited(graph, row.at[instance, "edits"]))
    return found == bool(trace["found"]) and same


def traced(adjacency: np.ndarray, trace: dict[str, Any]) -> np.ndarray:
    """The graph at the end of a trace: without the edges left out, with the pairs then added."""
    after = adjacency.copy()
    for pairs, value in ((trace["removed"], 0), (trace["checked"], 1)):
        u, v = np.divmod(np.asarray(pairs, dtype=int), len(adjacency))
        after[u, v] = after[v, u] = value
    return after


# -- Layout ----------------------------------------------------------------------------------------------------


def layouts(ledgers: Ledgers) -> np.ndarray:
    """Where nodes are drawn, uint8 [graphs, nodes, 2], or [1, nodes, 2] where the nodes are the same things.

    Drawn distances are as near to path lengths as the plane allows. Where one layout serves all graphs, an edge is
    the longer the fewer graphs have it. Graphs of one size are laid out together.
    """
    graphs = [ledgers.inputs[i] for i in ledgers.about.index]
    if tasks.task(ledgers.dataset).shared_nodes:
        share = np.mean(graphs, axis=0, keepdims=True)
        return _laid_out(np.divide(1.0, share, out=np.zeros_like(share), where=share > 0))
    sizes = np.array([len(graph) for graph in graphs])
    points = np.zeros((len(graphs), ledgers.n_nodes, 2), dtype=np.uint8)
    for n in np.unique(sizes):
        alike = np.flatnonzero(sizes == n)
        points[alike, :n] = _laid_out(np.stack([graphs[i] for i in alike]).astype(float))
    return points


def _laid_out(lengths: np.ndarray) -> np.ndarray:
    """Points [B, N, 2] from the lengths of edges [B, N, N], 0 where there is none."""
    distance = np.stack([shortest_path(one, directed=False) for one in lengths])
    reached = np.where(np.isfinite(distance), distance, 0).max((1, 2), keepdims=True)
    return _fitted(stress_layout(np.where(np.isfinite(distance), distance, reached + 1)))


def stress_layout(distance: np.ndarray) -> np.ndarray:
    """Points [B, N, 2] that minimise Σ (‖x_u - x_v‖ - d_uv)² / d_uv² by majorisation, from classical scaling."""
    b, n, _ = distance.shape
    far = distance + np.eye(n)  # the diagonal is not used; it must not be zero
    weight = far**-2 * (1 - np.eye(n))
    inverse = np.linalg.pinv(np.eye(n) * weight.sum(2, keepdims=True) - weight)
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centred @ distance**2 @ centred)
    points = vectors[..., -2:] * np.sqrt(np.maximum(values[:, None, -2:], 0))
    points = points + numpy_rng(0, "layout").normal(scale=0.05, size=(b, n, 2))  # lest siblings coincide
    for _ in range(STEPS):
        between = np.linalg.norm(points[:, :, None] - points[:, None], axis=-1)
        ratio = weight * distance / np.maximum(between, 1e-6)
        points = inverse @ (np.eye(n) * ratio.sum(2, keepdims=True) - ratio) @ points
    return points


def _fitted(points: np.ndarray) -> np.ndarray:
    """Into the square [0, SIDE]², the longer side filling it."""
    low, high = points.min(1, keepdims=True), points.max(1, keepdims=True)
    scale = SIDE / (high - low).max((1, 2), keepdims=True)
    return np.rint((points - (low + high) / 2) * scale + SIDE / 2).clip(0, SIDE).astype(np.uint8)


# -- Bytes -----------------------------------------------------------------------------------------------------


def pack(ledgers: Ledgers) -> bytes:
    """All of it as bytes, see the top of this file."""
    n, graphs = ledgers.n_nodes, {i: ledgers.inputs[i] for i in ledgers.about.index}
    header = json.dumps(_header(ledgers), ensure_ascii=False, separators=(",", ":")).encode()
    body = [struct.pack("<I", len(header)), header, layouts(ledgers).tobytes()]
    body += [_sorted_list(_numbers(np.flatnonzero(np.triu(graph)), len(graph), n)) for graph in graphs.values()]
    for row in ledgers.rows.values():
        edits = {i: row.at[i, "edits"] if i in row.index else [] for i in graphs}
        body += [_sorted_list(_numbers(edits[i], len(graph), n)) for i, graph in graphs.items()]
    for trace in ledgers.traces:
        size = len(graphs[trace["instance"]])
        body += [_scores(trace["scores"], size, n), _sorted_list(_numbers(trace["removed"], size, n))]
        body += [_list(_numbers(trace["checked"], size, n))]
    return b"".join(body)


def _scores(scores: Any, size: int, n: int) -> bytes:
    """Of pairs u < v of a graph with `size` nodes, as those of a graph with n."""
    whole = np.zeros((n, n), dtype=np.uint8)
    whole[np.triu_indices(size, 1)] = scores
    return whole[np.triu_indices(n, 1)].tobytes()


def embedded(packed: bytes) -> str:
    """As it stands in the page: gzip, then base64. Without a date, so that the same results give the same page."""
    return base64.b64encode(gzip.compress(packed, 9, mtime=0)).decode()


def _header(ledgers: Ledgers) -> dict[str, Any]:
    """Per graph and per row, lists in the order of the graphs; -1 where a row has no answer stored."""
    task, about = tasks.task(ledgers.dataset), ledgers.about
    answers = [row["predicted_cf"] for row in ledgers.rows.values()]
    n_classes = 1 + int(max(column.max() for column in (about["label"], about["predicted"], *answers)))
    traced = ("method", "variant", "instance", "calls", "found")
    return {
        "name": ledgers.dataset, "label": task.label, "classes": [task.class_name(c) for c in range(n_classes)],
        "n": ledgers.n_nodes, "nodes": [len(ledgers.inputs[i]) for i in about.index], "one_layout": task.shared_nodes,
        "instances": about.index.tolist(), "fold": _filled(about["fold"]), "truth": _filled(about["label"]),
        "predicted": _filled(about["predicted"]), "optimum": _filled(about["optimum"], float),
        "rows": [_row(*key, row.reindex(about.index)) for key, row in ledgers.rows.items()],
        "missing": list(ledgers.missing),
        "traces": [{name: trace[name] for name in traced} for trace in ledgers.traces],
    }  # fmt: skip


def _row(method: str, variant: str, row: pd.DataFrame) -> dict[str, Any]:
    said = row["reason"].fillna("").astype(str)
    reasons = sorted({*said, ""})
    return {
        "method": method, "variant": variant, "label": methods.label(method, variant),
        "found": row["found"].eq(True).astype(int).tolist(), "predicted_cf": _filled(row["predicted_cf"]),
        "ged": _filled(row["ged"], float), "calls": _filled(row["calls"]), "fit_calls": _filled(row["fit_calls"]),
        "microseconds": _filled(row["seconds"] * 1e6), "reasons": reasons, "reason": [*map(reasons.index, said)],
    }  # fmt: skip


def _filled(column: pd.Series, kind: Callable[[Any], float] = round) -> list[float]:
    """The values of a column, as whole numbers or as they are; -1 where there is none."""
    return [-1 if pd.isna(value) else kind(value) for value in column]


def _numbers(codes: Iterable[int], size: int, n: int) -> list[int]:
    """The numbers of pairs that the ledger codes u·size + v, among the pairs of n nodes."""
    u, v = np.divmod(np.asarray(codes, dtype=int), size)
    return [int(x) for x in u * n - u * (u - 1) // 2 + (v - u)]


def _sorted_list(numbers: Iterable[int]) -> bytes:
    ordered = sorted(numbers)
    return _list([ordered[0], *np.diff(ordered).tolist()] if ordered else [])


def _list(numbers: Sequence[int]) -> bytes:
    body = bytearray()
    for number in (len(numbers), *numbers):
        while number > 127:
            body.append(number & 127 | 128)
            number >>= 7
        body.append(number)
    return bytes(body)
