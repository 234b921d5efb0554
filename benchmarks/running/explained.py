"""The graphs that a run explains, with their labels, for pictures (`benchmarks.results.graphs` says what is stored)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry.tasks import TaskEntry
from benchmarks.results import graphs as stored
from benchmarks.results.cell import Cell, declared, key_of
from rsgg.data.dataset import Dataset
from rsgg.data.molecules import BONDS, TABLES
from rsgg.errors import DataError
from rsgg.feasibility import BONDS_OF_LABELS
from rsgg.graph import Graph
from rsgg.plausibility import one_hot_nodes

COLUMNS = ["instance", "fold", "label", "predicted", "n_nodes", "n_edges"]


def explained(
    cells: Iterable[Cell], ledger: pd.DataFrame, known: pd.DataFrame, data_dir: Path | None
) -> tuple[pd.DataFrame, list[str]]:
    """A line for each graph of replicate 0 that the ledger has, and a sentence for each task whose data are not there.

    Lines that are `known` already are taken as they are, as long as they are of the same data; only data sets of which
    a graph is missing are loaded.
    """
    entries = {cell.task.name: cell.task for cell in cells if cell.seed == 0}
    lines, sentences = [], []
    for name, own in ledger[ledger["seed"] == 0].groupby("dataset", sort=False) if len(ledger) else ():
        entry, wanted = entries[str(name)], own.drop_duplicates("instance")[COLUMNS]
        there = known[(known["task"] == name) & (known["data"] == data_key(entry))]
        there = there[there["instance"].isin(wanted["instance"])]
        if len(there) < len(wanted):
            try:
                there = _described(entry, entry.build().dataset.load(data_dir), wanted)
            except DataError as error:
                sentences.append(f"The graphs of {entry.label} are not stored for pictures: {error}")
        lines.append(there)
    return stored.joined(lines), sentences


def data_key(entry: TaskEntry) -> str:
    """Which data a task has: a hash of what its definition says about them, 16 hexadecimal digits."""
    limits = ("max_train", "max_test", "budget", "oracle")
    about = {part: value for part, value in entry.definition().items() if part not in limits}
    return key_of(declared(about))[:16]


def _described(entry: TaskEntry, dataset: Dataset, wanted: pd.DataFrame) -> pd.DataFrame:
    """The lines of these graphs, all but the oracle's classes from the data set itself."""
    names = _label_names(dataset)
    lines = []
    for about in wanted.itertuples():
        graph = dataset.graphs[int(about.instance)]
        if (graph.n_nodes, graph.n_edges) != (about.n_nodes, about.n_edges):
            raise DataError(
                f"graph {about.instance} of the data has {graph.n_nodes} nodes and {graph.n_edges} edges, the stored "
                f"result is about one with {about.n_nodes} and {about.n_edges}; compute it again with --fresh."
            )
        edges = graph.edges()
        line: Mapping[str, Any] = {
            "task": entry.name, "data": data_key(entry), "instance": about.instance, "fold": about.fold,
            "label": about.label, "predicted": about.predicted, "n_nodes": graph.n_nodes,
            "edges": [u * graph.n_nodes + v for u, v in edges], "label_names": names,
            "labels": graph.features.argmax(1).tolist() if names and graph.features is not None else [],
            "bonds": _bonds(dataset.name, graph, edges),
        }  # fmt: skip
        lines.append(line)
    return pd.DataFrame(lines)


def _label_names(dataset: Dataset) -> list[str]:
    """What the columns of X stand for, where X is one-hot labels; none where nodes are all alike."""
    x = dataset.graphs.features
    if x is None or x.shape[2] < 2 or not one_hot_nodes(dataset.graphs)[dataset.graphs.node_mask.numpy()].all():
        return []
    return list(dataset.feature_names) or [str(label) for label in range(x.shape[2])]


def _bonds(data: str, graph: Graph, edges: list[tuple[int, int]]) -> list[str]:
    """What each edge is, in words where the data set's labels are known to be bonds."""
    if graph.edge_features is None or graph.edge_features.ndim != 2:
        return []
    bonds = BONDS if data in TABLES else [kind.lower() for kind in BONDS_OF_LABELS.get(data, ())]
    labels = [int(graph.edge_features[u, v]) for u, v in edges] if _whole(graph.edge_features) else []
    return [bonds[label] if 0 <= label < len(bonds) else str(label) for label in labels]


def _whole(labels: np.ndarray) -> bool:
    return bool(np.issubdtype(labels.dtype, np.integer))
