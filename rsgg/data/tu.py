"""Graph classification data in the TU format (Morris et al. 2020), of which there are more than a hundred sets.

A folder NAME holds text files: `NAME_A.txt` with a line "u, v" per edge (nodes of all graphs are numbered from 1),
`NAME_graph_indicator.txt` with the graph of each node, `NAME_graph_labels.txt`, and where there are any
`NAME_node_labels.txt`, `NAME_edge_labels.txt`, `NAME_node_attributes.txt`. `NAME_edge_gt.txt` marks the edges that make
the label, 0 or 1 per line of `NAME_A.txt`.

    TU("AIDS").load()                              published sets are downloaded, or read from --data-dir/tu/AIDS
    TU("MyData", folder="path/to/MyData").load()   your own

The files are read as text: nothing is unpickled. An edge that is listed twice, in either direction, is one edge.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rsgg.data.dataset import Dataset
from rsgg.data.files import Published, checksums, content_of, named_dir
from rsgg.data.listed import ListedGraphs, one_hot
from rsgg.errors import DataError
from rsgg.reading import LARGEST_FEATURE

SOURCE = "https://www.chrsmrrs.com/graphkerneldatasets/{}.zip"
REQUIRED = ("A", "graph_indicator", "graph_labels")
OPTIONAL = ("node_labels", "edge_labels", "node_attributes", "edge_gt")
LARGEST_FILE = 1 << 30  # bytes of a file of one's own
MOST_LABELS = 10_000  # of nodes: each becomes a column
TRUTH = "edge_gt"  # not in the official archive; made for PGExplainer (Luo et al. 2020)

ATOMS = {
    "MUTAG": "C N O F I Cl Br",
    "AIDS": "C O N Cl F S Se P Na I Co Br Li Si Mg Cu As B Pt Ru K Pd Au Te W Rh Zn Bi Pb Ge Sb Sn Ga Hg Ho Tl Ni Tb",
    "Mutagenicity": "C O Cl H N F Br S P I Na K Li Ca",
}
"""What node labels 0, 1, … stand for, as the files beside the data say."""

SINGLE_BOND = {"MUTAG": 1, "AIDS": 0, "Mutagenicity": 0}
"""The edge label of a single bond, which an added edge has."""


def found_in(folder: Path) -> tuple[Path, str]:
    """The folder that holds the files of a data set, and its name; files may lie in `raw`, as PyG keeps them.

    Where the files are not called like the folder, the name is that of the only data set in it.
    """
    places = (folder, folder / "raw")
    for place in places:
        if (place / f"{folder.name}_A.txt").is_file():
            return place, folder.name
    for place in places:
        names = [file.name.removesuffix("_A.txt") for file in place.glob("*_A.txt")]
        if len(names) == 1:
            return place, names[0]
    return folder, folder.name


@dataclass(frozen=True)
class TU:
    """A data set in the TU format. Labels are numbered from 0 in ascending order of the labels in the file.

    Args:
        name: of the data set and of its files.
        folder: where your own files are; without it the published set is meant, which has to match its checksums.
        max_nodes: larger graphs are left out.
        rare: graphs with a node label that occurs at most this often in the data set are left out.
        attributes: X is the one-hot node labels and then the node attributes; without, the labels only.
        added_edge: the label of edges that an explainer adds; by default a single bond in sets of molecules that are
            known here, else the most frequent label.

    Node labels are X, in ascending order; edge labels are the graphs' edge features, as the file has them.
    """

    name: str = "MUTAG"
    folder: str = ""
    max_nodes: int | None = None
    rare: int = 0
    attributes: bool = False
    added_edge: int | None = None

    def parameters(self) -> dict[str, object]:
        """What differs from the defaults; files of one's own are part of it by their content."""
        about = {"name": self.name, "max_nodes": self.max_nodes, "rare": self.rare, "attributes": self.attributes}
        about["added_edge"] = self.added_edge
        if self.folder:
            content = hashlib.sha256(b"\0".join(self._contents(None).values())).hexdigest()
            about["sha256"] = content
        return {option: value for option, value in about.items() if value not in (None, 0)}

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Read the files and leave out what is to be left out."""
        graphs, rare = self.without_rare_labels(self.read(data_dir))
        left_out = {f"a node label that occurs {self.rare} times or less": rare} if self.rare else {}
        if self.max_nodes is not None:
            small = graphs.sizes <= self.max_nodes
            left_out[f"more than {self.max_nodes} nodes"] = int((~small).sum())
            graphs = graphs.select(small)
        if not len(graphs):
            raise DataError(f"No graph of {self.name} is left; allow more nodes or rarer labels.")
        return graphs.dataset(self.name, self._added_edge(graphs), left_out)

    def read(self, data_dir: Path | None = None) -> ListedGraphs:
        """All graphs of the files."""
        content = self._contents(data_dir)
        tables = {part: self._table(part, text) for part, text in content.items()}
        graph_of, labels = tables["graph_indicator"][:, 0] - 1, tables["graph_labels"][:, 0]
        named = graph_of.min() >= 0 and graph_of.max() < len(labels)
        self._require(bool(named), "graph_indicator", "names graphs without label")
        sizes = np.bincount(graph_of, minlength=len(labels))
        self._require(bool((np.diff(graph_of) >= 0).all()), "graph_indicator", "is not sorted by graph")
        self._require(bool((sizes > 0).all()), "graph_indicator", "has no nodes of some graph")
        edges, listed = self._edges(tables["A"] - 1, graph_of)
        for part in ("edge_labels", TRUTH):
            fits = part not in tables or len(tables[part]) == len(tables["A"])
            self._require(fits, part, f"has not one line for each of the {len(tables['A'])} lines of A")
        of_edges = {part: tables[part][listed, 0] for part in ("edge_labels", TRUTH) if part in tables}
        features, feature_names = self._features(tables, len(graph_of))
        truth = of_edges.get(TRUTH)
        return ListedGraphs(
            sizes=sizes,
            edges=edges,
            labels=np.unique(labels, return_inverse=True)[1].astype(np.int64),
            features=features,
            edge_labels=of_edges.get("edge_labels"),
            motif=None if truth is None else truth > 0,
            names=tuple(f"{self.name}/{i}" for i in range(len(sizes))),
            feature_names=feature_names,
        )

    # -- files -----------------------------------------------------------------------------------------

    def _file(self, part: str) -> str:
        return f"{self.name}_{part}.txt"

    def _contents(self, data_dir: Path | None) -> dict[str, bytes]:
        """The content of each file, of published ones checked."""
        known = {file: sha256 for file, sha256 in checksums("tu").items() if file.startswith(f"{self.name}_")}
        truth = known.pop(self._file(TRUTH), None)
        if self.folder or not known:
            return self._own(data_dir)
        files = published(self.name, known)
        folder = files.find(data_dir)
        if truth is not None and (folder / self._file(TRUTH)).is_file():
            files = replace(files, sha256={**known, self._file(TRUTH): truth})
        found = {}
        for file in files.sha256:
            content = files.read(folder, file)
            files.check(folder, file, content)
            found[file.removeprefix(f"{self.name}_").removesuffix(".txt")] = content
        return found

    def _own(self, data_dir: Path | None) -> dict[str, bytes]:
        """Files of a data set that is not known here."""
        given = Path(os.path.expanduser(self.folder)) if self.folder else named_dir(data_dir)
        places = [] if given is None else [given, given / self.name, given / "tu" / self.name]
        place = next((place for place in places if (place / self._file("A")).is_file()), None)
        if place is None:
            known = ", ".join(BUILT_IN)
            raise DataError(
                f"There are no files {self._file('A')}, … of the data set {self.name!r} in {given or 'any folder'}; "
                f"name the folder that holds them, or one of the sets that can be downloaded: {known}."
            )
        missing = [self._file(part) for part in REQUIRED if not (place / self._file(part)).is_file()]
        if missing:
            raise DataError(f"The data set {self.name!r} in {place} has no file {missing[0]}; add it.")
        parts = [part for part in (*REQUIRED, *OPTIONAL) if (place / self._file(part)).is_file()]
        try:
            return {part: content_of(place / self._file(part), LARGEST_FILE) for part in parts}
        except OSError as error:
            raise DataError(f"{error.filename} cannot be read ({error.strerror}); look at its permissions.") from error

    def _table(self, part: str, content: bytes) -> np.ndarray:
        """The numbers of a file, int64 or float64 [lines, columns]."""
        dtype: Any = np.float64 if part == "node_attributes" else np.int64
        try:
            with np.errstate(invalid="ignore"):  # of numbers that are then refused
                table = pd.read_csv(BytesIO(content), header=None, dtype=dtype, skipinitialspace=True)
        except (ValueError, OverflowError) as error:
            raise self._wrong(part, f"is not a table of numbers ({str(error)[:200]!r})") from error
        values: np.ndarray = table.to_numpy()
        return values

    def _require(self, holds: bool, part: str, what: str) -> None:
        if not holds:
            raise self._wrong(part, what)

    def _wrong(self, part: str, what: str) -> DataError:
        return DataError(f"{self._file(part)} of the data set {self.name!r} {what}; see what the TU format asks for.")

    # -- what is in them -------------------------------------------------------------------------------

    def _edges(self, pairs: np.ndarray, graph_of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each edge u < v once, int64 [K, 2], in the order of the nodes, and the line that it is first listed in."""
        inside = pairs.shape[1] == 2 and (not len(pairs) or (pairs.min() >= 0 and pairs.max() < len(graph_of)))
        self._require(inside, "A", f"has lines that are no pairs of nodes 1 to {len(graph_of)}")
        self._require(bool((graph_of[pairs[:, 0]] == graph_of[pairs[:, 1]]).all()), "A", "joins nodes of two graphs")
        ordered = np.sort(pairs, 1)
        code, listed = np.unique(ordered[:, 0] * len(graph_of) + ordered[:, 1], return_index=True)
        edges = np.stack(np.divmod(code, len(graph_of)), 1)
        proper = edges[:, 0] != edges[:, 1]  # a self loop is no edge of a simple graph
        return edges[proper], listed[proper]

    def _features(self, tables: dict[str, np.ndarray], n: int) -> tuple[np.ndarray | None, tuple[str, ...]]:
        """X, float32 [n, d], and what its columns are."""
        columns, names = [], []
        if "node_labels" in tables:
            for labels in tables["node_labels"].T:
                values = np.unique(labels)
                self._require(len(values) <= MOST_LABELS, "node_labels", f"has more than {MOST_LABELS} labels")
                atoms = ATOMS.get(self.name, "").split()
                names += [atoms[value] if 0 <= value < len(atoms) else str(value) for value in values]
                columns.append(one_hot(labels, values))
        if self.attributes:
            self._require("node_attributes" in tables, "node_attributes", "is not there")
            values = tables["node_attributes"]
            sound = bool((np.abs(values) <= LARGEST_FEATURE).all())  # false for NaN
            self._require(sound, "node_attributes", f"has NaN or numbers beyond {LARGEST_FEATURE:g}")
            columns.append(values.astype(np.float32))
            names += [f"attribute {i}" for i in range(columns[-1].shape[1])]
        if any(len(part) != n for part in columns):
            raise DataError(
                f"The data set {self.name!r} has {n} nodes, but not one label or attribute for each of them."
            )
        return (np.concatenate(columns, 1), tuple(names)) if columns else (None, ())

    def without_rare_labels(self, graphs: ListedGraphs) -> tuple[ListedGraphs, int]:
        """The graphs of frequent node labels, X without the columns of the others; how many graphs that leaves out."""
        if not self.rare or graphs.features is None:
            return graphs, 0
        is_label = [not name.startswith("attribute ") for name in graphs.feature_names]
        frequent = (graphs.features.sum(0) > self.rare) | ~np.array(is_label)
        without = np.bincount(graphs.graph_of_node, graphs.features[:, ~frequent].sum(1), len(graphs)) == 0
        kept = graphs.select(without)
        assert kept.features is not None
        names = tuple(name for name, keep in zip(graphs.feature_names, frequent, strict=True) if keep)
        return replace(kept, features=kept.features[:, frequent], feature_names=names), int((~without).sum())

    def _added_edge(self, graphs: ListedGraphs) -> int:
        if self.added_edge is not None or graphs.edge_labels is None:
            return self.added_edge or 0
        values, counts = np.unique(graphs.edge_labels, return_counts=True)
        return SINGLE_BOND.get(self.name, int(values[counts.argmax()]) if len(values) else 0)


BUILT_IN = tuple(dict.fromkeys(file.split("_")[0] for file in checksums("tu")))


def published(name: str, sha256: dict[str, str]) -> Published:
    """The files of a published set."""
    return Published(f"The data set {name}", f"tu/{name}", sha256, [SOURCE.format(name)], f"tu/{name}/{name}_A.txt, …")
