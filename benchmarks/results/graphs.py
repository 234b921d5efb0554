"""The input graphs of real data, for pictures: `table2_graphs.parquet`, a line per test graph that a run explains.

Ledgers hold edits. To draw them, one needs the graphs that they edit, with the labels of their nodes and edges. The
columns, for replicate 0:

- task, instance, fold: whose graph it is, as in the ledgers; label, predicted: its true class and the oracle's
- n_nodes; edges: pairs u < v as rising numbers u · n_nodes + v
- labels: of each node, as a position in `label_names` (element symbols, or what the data set calls its labels); empty
  where nodes have no labels
- bonds: of each edge "single", "double", "triple", "aromatic" or "other", where that is known, else the number that the
  data set has there; empty where edges have no labels
- data: which data set it is from, a hash of what was declared: the same graph number of other data is another graph
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.results.files import StoreError, shown

FILE = "table2_graphs.parquet"
WHOSE = ["task", "instance"]
SCHEMA = pa.schema(
    {
        "task": pa.string(),
        "data": pa.string(),
        **dict.fromkeys(("instance", "fold", "label", "predicted", "n_nodes"), pa.int64()),
        **dict.fromkeys(("edges", "labels"), pa.list_(pa.int64())),
        **dict.fromkeys(("label_names", "bonds"), pa.list_(pa.string())),
    }
)
RELABEL, ADD_LEAF, DROP = range(3)  # kinds of edits of nodes, as `rsgg.edits` codes them
LABELS = 1024  # that its codes have room for

Pair = tuple[int, int]


# -- The file ------------------------------------------------------------------------------------------------


def write(file: Any, graphs: pd.DataFrame) -> None:
    """Into an open file: of edges, which are rising numbers, the steps are stored; all else by dictionaries."""
    table = pa.Table.from_pandas(graphs[SCHEMA.names], SCHEMA, preserve_index=False)
    steps = {"edges.list.element": "DELTA_BINARY_PACKED"}
    others = [name for name in SCHEMA.names if name != "edges"]
    pq.write_table(
        table.replace_schema_metadata(None), file, compression="zstd", compression_level=19, column_encoding=steps,
        use_dictionary=others,
    )  # fmt: skip


def read(folder: Path) -> pd.DataFrame:
    """The lines that a folder has, columns as above; empty where it has no such file."""
    path = folder / FILE
    if not path.is_file():
        return SCHEMA.empty_table().to_pandas()
    try:
        return pq.read_table(path, partitioning=None).select(SCHEMA.names).to_pandas()
    except (OSError, ValueError, KeyError, pa.ArrowException) as error:
        raise StoreError(
            f"{shown(path)} is cut short or damaged; remove it, and ./reproduce.sh table2 writes it again."
        ) from error


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Lines of several files; of two about the same graph the first one."""
    found = pd.concat([SCHEMA.empty_table().to_pandas(), *parts], ignore_index=True)
    return found.drop_duplicates(WHOSE).sort_values(WHOSE, kind="stable", ignore_index=True)


# -- One graph -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class InputGraph:
    """A line of the file. `edges` are pairs u < v; `bonds` has one entry for each of them, or none."""

    instance: int
    fold: int
    label: int
    predicted: int
    n_nodes: int
    edges: tuple[Pair, ...]
    labels: tuple[int, ...] = ()
    label_names: tuple[str, ...] = ()
    bonds: tuple[str, ...] = ()

    @cached_property
    def adjacency(self) -> np.ndarray:
        """Uint8 [n, n]."""
        made = np.zeros((self.n_nodes, self.n_nodes), dtype=np.uint8)
        for u, v in self.edges:
            made[u, v] = made[v, u] = 1
        return made

    def name(self, node: int) -> str:
        """The label of a node in words; empty where nodes have none."""
        return self.label_names[self.labels[node]] if self.labels else ""


def graphs_of(lines: pd.DataFrame) -> Iterator[InputGraph]:
    for line in lines.itertuples():
        yield InputGraph(
            instance=int(line.instance),
            fold=int(line.fold),
            label=int(line.label),
            predicted=int(line.predicted),
            n_nodes=int(line.n_nodes),
            edges=tuple(divmod(int(code), int(line.n_nodes)) for code in line.edges),
            labels=tuple(map(int, line.labels)),
            label_names=tuple(line.label_names),
            bonds=tuple(line.bonds),
        )


# -- What edits make of it -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeEdits:
    """Edits of nodes in the numbering of the input: node → its new label, (node, label) of each leaf that is added to a
    node, and the nodes that are dropped. Labels are positions in `label_names`."""

    relabelled: dict[int, int] = field(default_factory=dict)
    leaves: tuple[Pair, ...] = ()
    dropped: frozenset[int] = frozenset()

    @classmethod
    def of(cls, codes: Iterable[int], n: int) -> NodeEdits:
        """From the numbers of a ledger's column `node_edits`, which `rsgg.edits` explains."""
        found: list[list[Pair]] = [[], [], []]
        for code in codes:
            rest, label = divmod(int(code) - n * n, LABELS)
            kind, node = divmod(rest, n)
            found[kind].append((node, label))
        return cls(dict(found[RELABEL]), tuple(found[ADD_LEAF]), frozenset(node for node, _ in found[DROP]))


@dataclass(frozen=True)
class Change:
    """An input and what became of it: pairs u ≤ v by what happened to them.

    Nodes have the numbers that they have in the input, of n nodes; leaf i of `nodes.leaves` is node n + i. The edge of
    a node that is dropped counts as removed, that of a leaf as added.
    """

    kept: tuple[Pair, ...]
    removed: tuple[Pair, ...]
    added: tuple[Pair, ...]
    nodes: NodeEdits

    @classmethod
    def of(cls, graph: InputGraph, edits: Iterable[int] = (), node_edits: Iterable[int] = ()) -> Change:
        """From the numbers of a ledger's columns `edits` and `node_edits`."""
        n, nodes = graph.n_nodes, NodeEdits.of(node_edits, graph.n_nodes)
        edited = {divmod(int(code), n) for code in edits}
        goes = {pair for pair in graph.edges if pair in edited or nodes.dropped & {*pair}}
        leaves = tuple((node, n + i) for i, (node, _) in enumerate(nodes.leaves))
        return cls(
            kept=tuple(pair for pair in graph.edges if pair not in goes),
            removed=tuple(pair for pair in graph.edges if pair in goes),
            added=(*sorted(edited - set(graph.edges)), *leaves),
            nodes=nodes,
        )
