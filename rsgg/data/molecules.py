"""BBBP and ClinTox: molecules of MoleculeNet (Wu et al. 2018), read from SMILES by RDKit.

Nodes are atoms other than implicit hydrogen, labelled by element; edges are bonds, labelled by their kind (`BONDS`).
What RDKit cannot read is left out and counted. RDKit is an optional extra: pip install "rsgg[molecules]".
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rsgg.data.dataset import Dataset
from rsgg.data.files import Published
from rsgg.data.listed import ListedGraphs, one_hot
from rsgg.errors import DataError

BONDS = ("", "single", "double", "triple", "aromatic", "other")  # their positions are the edge labels
SINGLE = BONDS.index("single")
SOURCE = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets/"


@dataclass(frozen=True)
class _Table:
    """A published table: its file and address, the columns that may hold the label, and a checksum of what is read.

    The sha256 is of the lines "SMILES label", not of the file: tables with other columns besides are the same data.
    """

    file: str
    source: str
    columns: tuple[str, ...]
    sha256: str


TABLES = {
    "BBBP": _Table(
        "BBBP.csv",
        f"{SOURCE}BBBP.csv",
        ("p_np", "BBBP"),
        "7e60750d50ea98d374a047ffef9c1e08b532f86332230e696f9a62cd0e788933",
    ),
    "ClinTox": _Table(
        "clintox.csv",
        f"{SOURCE}clintox.csv.gz",
        ("CT_TOX",),
        "a23761e8968aea882b50713ce4393a80ef5a3c0a4ed856230e259ffd7218cc4b",
    ),
}


@dataclass(frozen=True)
class Molecules:
    """BBBP (does a molecule pass the blood-brain barrier?) or ClinTox (did it fail a trial because it is toxic?).

    Molecules of more than `max_nodes` atoms are left out. X is the one-hot elements, by rising atomic number.
    """

    name: str = "BBBP"
    max_nodes: int | None = None

    def __post_init__(self) -> None:
        if self.name not in TABLES:
            raise DataError(f"There is no set of molecules {self.name!r}; choose one of {', '.join(TABLES)}.")

    def parameters(self) -> dict[str, object]:
        about = {"name": self.name, "max_nodes": self.max_nodes}
        return {option: value for option, value in about.items() if value is not None}

    def load(self, data_dir: Path | None = None) -> Dataset:
        """Read the table and make a graph of each molecule."""
        listed, graphs = len(self.table(data_dir)[0]), self.read(data_dir)
        left_out = {"cannot be read by RDKit": listed - len(graphs)}
        if self.max_nodes is not None:
            small = graphs.sizes <= self.max_nodes
            left_out[f"more than {self.max_nodes} nodes"] = int((~small).sum())
            graphs = graphs.select(small)
        return graphs.dataset(self.name, SINGLE, left_out)

    def read(self, data_dir: Path | None = None) -> ListedGraphs:
        """All molecules that RDKit can read."""
        return read_smiles(self.name, *self.table(data_dir))

    def table(self, data_dir: Path | None = None) -> tuple[list[str], np.ndarray]:
        """The SMILES of all molecules, and their labels, int64."""
        known = TABLES[self.name]
        files = Published(
            f"The data set {self.name}", "molecules", {known.file: ""}, [known.source], f"molecules/{known.file}"
        )
        folder = files.find(data_dir)
        try:
            table = pd.read_csv(BytesIO(files.read(folder, known.file)))
            column = next(name for name in known.columns if name in table)
            smiles, labels = [str(text) for text in table["smiles"]], table[column].to_numpy(dtype=np.int64)
        except (ValueError, KeyError, TypeError, OverflowError, StopIteration) as error:
            raise files.damaged(folder, known.file, f"is no table of smiles and {known.columns[0]}") from error
        lines = "".join(f"{text} {label}\n" for text, label in zip(smiles, labels, strict=True))
        if hashlib.sha256(lines.encode()).hexdigest() != known.sha256:
            raise files.damaged(folder, known.file, "has other molecules or labels than were published")
        return smiles, labels


def read_smiles(name: str, smiles: list[str], labels: np.ndarray) -> ListedGraphs:
    """A graph for each molecule that RDKit can read, named by its position."""
    chem, quietly = load_rdkit()
    with quietly():
        molecules = [chem.MolFromSmiles(text) for text in smiles]
    readable = np.array([molecule is not None and molecule.GetNumAtoms() > 0 for molecule in molecules])
    elements: list[int] = []
    bonds: list[tuple[int, int, int]] = []
    sizes = []
    for molecule, can_be_read in zip(molecules, readable, strict=True):
        if can_be_read:
            start = len(elements)
            sizes.append(molecule.GetNumAtoms())
            elements += [atom.GetAtomicNum() for atom in molecule.GetAtoms()]
            bonds += sorted((start + u, start + v, kind) for u, v, kind in map(_bond, molecule.GetBonds()))
    values, edges = np.unique(elements), np.array(bonds, dtype=np.int64).reshape(-1, 3)
    symbol = chem.GetPeriodicTable().GetElementSymbol
    return ListedGraphs(
        sizes=np.array(sizes, dtype=np.int64),
        edges=edges[:, :2],
        labels=labels[readable],
        features=one_hot(np.array(elements), values),
        edge_labels=edges[:, 2],
        names=tuple(f"{name}/{i}" for i in readable.nonzero()[0]),
        feature_names=tuple(symbol(int(value)) for value in values),
    )


def _bond(bond: Any) -> tuple[int, int, int]:
    """Atoms u < v and the kind of a bond."""
    kind = str(bond.GetBondType()).lower()
    u, v = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
    return u, v, BONDS.index(kind if kind in BONDS else "other")


def smiles_by_name(dataset: Dataset, data_dir: Path | None = None) -> dict[str, str]:
    """The published SMILES of each graph of BBBP or ClinTox, by the name of the graph."""
    if dataset.name not in TABLES:
        raise DataError(f"The graphs of {dataset.name!r} have no published SMILES; only {', '.join(TABLES)} have some.")
    smiles = Molecules(dataset.name).table(data_dir)[0]
    return {name: smiles[int(name.split("/")[1])] for name in dataset.graphs.names}


def load_rdkit() -> tuple[Any, Any]:
    """RDKit's `Chem` and a context in which it does not print what it cannot read; a sentence if it is missing."""
    try:
        from rdkit import Chem
        from rdkit.rdBase import BlockLogs
    except ImportError as error:
        sentence = 'Molecules need RDKit, which is not installed; install it with: pip install "rsgg[molecules]".'
        raise DataError(sentence) from error
    return Chem, BlockLogs
