"""The data of the report's explorer: every graph of Table 1, and some of each task of real data, with every method's
answer, in little space.

`pack` turns the stored ledgers of a data set (replicate 0) into bytes that `parts/explorer.js` unpacks:

    uint32                 length of the JSON text (little endian)
    JSON                   what is said per graph, per row of the table and per trace (see `_header`); where nodes have
                           labels, these, and the edits of nodes, are in there too (`_labels`)
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
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.results.graphs import InputGraph, NodeEdits
from benchmarks.results.reader import QUALITY, Results, edited
from figures import layout, style

LEFT_OUT = ("complete", "identity")  # they say nothing about a graph
SHOWN_FIRST = (
    "rsgg-ce:faithful", "rsgg-ce:released", "cf2:faithful", "cf2:released", "clear:faithful", "g-countergan:released",
    "two-sided-min:search",
)  # fmt: skip
REAL_FIRST = (
    "rsgg-ce-certified:beyond", "rsgg-ce-feasible:beyond", "rsgg-ce-nodes:beyond", "obs:search", "two-sided-min:search",
)  # fmt: skip
MOST_GRAPHS = 60  # of a task of real data: all of them would make the page too large
SIDE = 255  # coordinates of a layout are 0 … SIDE
BONDS = {"double": "2", "triple": "3", "aromatic": "4"}  # how the page knows them; all others are single lines

Row = tuple[str, str]  # method, variant


@dataclass(frozen=True)
class Ledgers:
    """What is stored of a data set: its graphs, what is known of each, and the rows' answers by instance.

    `labelled` are the graphs of real data, with their labels; `note` says which graphs these are, if not all.
    """

    dataset: str
    inputs: dict[int, np.ndarray]
    about: pd.DataFrame  # by instance: fold, label, predicted, n_edges, optimum
    rows: dict[Row, pd.DataFrame]  # by instance
    missing: tuple[str, ...]
    traces: list[dict[str, Any]]
    labelled: dict[int, InputGraph] = field(default_factory=dict)
    first: tuple[str, ...] = ()
    note: str = ""

    @property
    def n_nodes(self) -> int:
        """How many nodes the largest graph has."""
        return max(map(len, self.inputs.values()))

    @property
    def label_names(self) -> tuple[str, ...]:
        return next((graph.label_names for graph in self.labelled.values()), ())


def _table(results: Results, name: str) -> pd.DataFrame:
    """The rows of a stored table, columns dataset, method and variant; none where it is not stored."""
    table = results.table(name)
    columns = ["dataset", "method", "variant"]
    if table is None:
        return pd.DataFrame(columns=columns)
    return table.rename(columns={"task": "dataset"})[columns].drop_duplicates()


def real_data(results: Results) -> list[str]:
    """The tasks of the stored table of real data."""
    found = set(_table(results, "table2")["dataset"])
    return [name for name in dict.fromkeys([*tasks.tasks(), *sorted(found)]) if name in found]


def datasets(results: Results) -> list[str]:
    """The data sets of the paper, those of Table 1 that the project did not come with, and those of real data."""
    known = tasks.tasks()
    own = [name for name in _table(results, "table1")["dataset"] if name not in known or known[name].task]
    return list(dict.fromkeys([*tasks.PAPER, *own, *real_data(results)]))


def rows_of(results: Results, dataset: str) -> list[Row]:
    """The rows that the registry declares for a data set, and those that only its stored table has; none "+ min".

    Of real data, those that its table has: which rows are run there is no matter of the registry.
    """
    declared = [row for row, method in methods.rows().items() if not method.unsupported(dataset)]
    real = dataset in real_data(results)
    table = _table(results, "table2" if real else "table1")
    found = list(table[table["dataset"] == dataset][["method", "variant"]].itertuples(index=False, name=None))
    declared = [row for row in declared if row in found] if real else declared
    rows = [row for row in dict.fromkeys([*declared, *found]) if row[0] not in LEFT_OUT]
    return [row for row in rows if not methods.made_of(row)]


def shown_first(results: Results, dataset: str) -> tuple[str, ...]:
    """The rows that are seen before a reader chooses: some of the table's, and all of a user's own."""
    rows = rows_of(results, dataset)
    first = REAL_FIRST if dataset in real_data(results) else SHOWN_FIRST
    return (*first, *(f"{name}:{variant}" for name, variant in rows if variant == methods.OWN))


def read(results: Results, dataset: str) -> Ledgers | None:
    """The stored ledgers of a data set; None where its graphs are not stored."""
    graphs = results.graphs(dataset) if dataset in real_data(results) else []
    if graphs:
        return _of_real_data(results, dataset, graphs)
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
    return Ledgers(dataset, inputs, about, rows, missing, own, first=shown_first(results, dataset))


def _of_real_data(results: Results, dataset: str, graphs: Sequence[InputGraph]) -> Ledgers:
    """The first graphs of each fold, as many of each as make at most `MOST_GRAPHS`."""
    by_fold: dict[int, list[InputGraph]] = {}
    for graph in graphs:
        by_fold.setdefault(graph.fold, []).append(graph)
    each = max(1, MOST_GRAPHS // len(by_fold))
    shown = [graph for own in by_fold.values() for graph in own[:each]]
    columns = {name: [getattr(graph, name) for graph in shown] for name in ("fold", "label", "predicted")}
    about = pd.DataFrame(columns, index=[graph.instance for graph in shown]).assign(optimum=np.nan)
    found = {row: results.answers(dataset, *row) for row in rows_of(results, dataset)}
    rows = {row: answers for row, answers in found.items() if len(answers)}
    missing = tuple(methods.label(*row) for row in found if row not in rows)
    note = (
        f"{len(shown)} of {len(graphs)} test graphs: the first {each} of each fold." if len(shown) < len(graphs) else ""
    )
    if layout.are_atoms(shown[0].label_names) and layout.rdkit() is None:
        note = f"{note} Missing: {layout.NO_RDKIT}.".strip()
    labelled = {graph.instance: graph for graph in shown}
    inputs = {instance: graph.adjacency for instance, graph in labelled.items()}
    return Ledgers(
        dataset, inputs, about, rows, missing, [], labelled, shown_first(results, dataset), note
    )  # fmt: skip


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

    Molecules lie as RDKit lays them out. Elsewhere drawn distances are as near to path lengths as the plane allows.
    Where one layout serves all graphs, an edge is the longer the fewer graphs have it. Graphs of one size are laid out
    together.
    """
    graphs = [ledgers.inputs[i] for i in ledgers.about.index]
    if tasks.task(ledgers.dataset).shared_nodes:
        share = np.mean(graphs, axis=0, keepdims=True)
        return _fitted(layout.by_path_lengths(np.divide(1.0, share, out=np.zeros_like(share), where=share > 0)))
    points = np.zeros((len(graphs), ledgers.n_nodes, 2), dtype=np.uint8)
    if layout.are_atoms(ledgers.label_names) and layout.rdkit():
        for i, instance in enumerate(ledgers.about.index):
            upright = layout.places(ledgers.labelled[instance]) * (1, -1)  # on a screen y grows downwards
            points[i, : len(upright)] = _fitted(upright[None])[0]
        return points
    sizes = np.array([len(graph) for graph in graphs])
    for n in np.unique(sizes):
        alike = np.flatnonzero(sizes == n)
        lengths = np.stack([graphs[i] for i in alike]).astype(float)
        points[alike, :n] = _fitted(layout.by_path_lengths(lengths))
    return points


def _fitted(points: np.ndarray) -> np.ndarray:
    """Into the square [0, SIDE]², the longer side filling it."""
    low, high = points.min(1, keepdims=True), points.max(1, keepdims=True)
    scale = SIDE / np.maximum((high - low).max((1, 2), keepdims=True), 1e-9)
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
    sizes = [len(ledgers.inputs[i]) for i in about.index]
    return {
        "name": ledgers.dataset, "label": task.label, "classes": [task.class_name(c) for c in range(n_classes)],
        "n": ledgers.n_nodes, "nodes": sizes, "one_layout": task.shared_nodes,
        "instances": about.index.tolist(), "fold": _filled(about["fold"]), "truth": _filled(about["label"]),
        "predicted": _filled(about["predicted"]), "optimum": _filled(about["optimum"], float),
        "rows": [_row(*key, row.reindex(about.index), sizes) for key, row in ledgers.rows.items()],
        "missing": list(ledgers.missing), "first": list(ledgers.first), "note": ledgers.note,
        "real": bool(ledgers.labelled), "atoms": layout.are_atoms(ledgers.label_names), **_labels(ledgers),
        "traces": [{name: trace[name] for name in traced} for trace in ledgers.traces],
    }  # fmt: skip


def _labels(ledgers: Ledgers) -> dict[str, Any]:
    """The names and colours of labels, of each graph the labels of its nodes, and its bonds as a sign per edge."""
    graphs, names = [ledgers.labelled[i] for i in ledgers.about.index if i in ledgers.labelled], ledgers.label_names
    if not names:
        return {"labels": [], "colours": [], "node_labels": [], "bonds": []}
    bonds = ["".join(BONDS.get(bond, "1") for bond in graph.bonds) for graph in graphs]
    colours = [style.tint(name, i) for i, name in enumerate(names)]
    return {
        "labels": list(names),
        "colours": colours,
        "node_labels": [graph.labels for graph in graphs],
        "bonds": bonds,
    }


def _row(method: str, variant: str, row: pd.DataFrame, sizes: Sequence[int]) -> dict[str, Any]:
    """What a row says of each graph; edits of nodes and measures of quality where there are any."""
    said = row["reason"].fillna("").astype(str)
    reasons = sorted({*said, ""})
    measured = [name for name in QUALITY if name in row and row[name].notna().any()]
    quality = {name: _filled(row[name], lambda value: round(float(value), 3)) for name in measured}
    return {
        "method": method, "variant": variant, "label": methods.label(method, variant),
        "found": row["found"].eq(True).astype(int).tolist(), "predicted_cf": _filled(row["predicted_cf"]),
        "ged": _filled(row["ged"], float), "calls": _filled(row["calls"]), "fit_calls": _filled(row["fit_calls"]),
        "microseconds": _filled(row["seconds"] * 1e6), "reasons": reasons, "reason": [*map(reasons.index, said)],
        **quality, **_node_edits(row, sizes),
    }  # fmt: skip


def _node_edits(row: pd.DataFrame, sizes: Sequence[int]) -> dict[str, Any]:
    """Of each graph of these sizes three lists: [node, new label], [node, label of its new leaf], dropped nodes."""
    if "node_edits" not in row:
        return {}
    codes = [list(one) if isinstance(one, Sequence | np.ndarray) else [] for one in row["node_edits"]]
    made = [NodeEdits.of(own, n) for own, n in zip(codes, sizes, strict=True)]
    lists = [[sorted(one.relabelled.items()), list(one.leaves), sorted(one.dropped)] for one in made]
    return {"node_edits": lists} if any(codes) else {}


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
