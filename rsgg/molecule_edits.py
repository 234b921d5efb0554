"""A molecule that was made of another one, as a graph to ask an oracle about, and as edits of the other one's graph.

Methods such as MACCS change molecules, not graphs: an atom or a ring may come, go or move at once, and what comes out
numbers its atoms anew. Oracles and tables of this project know graphs whose nodes are atoms, labelled by element, and
edits of them. So

1. `MoleculeGraph.of` reads a molecule as `rsgg.data.Molecules` does, and `questions` makes a batch of many of them;
2. `as_edits` matches its atoms with the nodes of the input (`rsgg.matching`) and says the difference as edits of pairs
   and nodes. As the matching is a good one and not the best, the edits may be more than are needed. What edits cannot
   say, because more than leaves would have to be added, has no answer.

The returned graph is the molecule that was asked about, bonds included; its SMILES is kept beside it (`smiles_of`).
Needs RDKit: pip install "rsgg[molecules]".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rsgg.data.molecules import BONDS, SINGLE, load_rdkit
from rsgg.edits import Edited, made_of, origins
from rsgg.given import Given
from rsgg.graph import Graph, GraphBatch
from rsgg.matching import Labelled, edits_to, labelled, match_nearby, reachable
from rsgg.metrics import tanimoto

Molecule = Any  # RDKit's Mol, which has no types
ECFP4_RADIUS = 2
ORDERS = np.array([1.0, 1.5, 2.0, 3.0])
KIND_OF_ORDER = np.array([BONDS.index(kind) for kind in ("single", "aromatic", "double", "triple")])
SMILES = "smiles"  # what a returned graph calls its molecule


@dataclass(frozen=True, eq=False)
class KnownMolecules:
    """Which molecules the graphs of a data set are: SMILES by the name of the graph.

    `elements` are what the columns of X stand for, as symbols.
    """

    smiles: Mapping[str, str]
    elements: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class MoleculeGraph:
    """A molecule as a graph: binary adjacency [n, n], column of X of each atom [n], kind of each bond [n, n].

    Pairs of atoms without a bond have the kind of single ones, which an added bond would be.
    """

    smiles: str
    adjacency: NDArray[np.uint8]
    labels: NDArray[np.int64]
    bonds: NDArray[np.int64]

    @classmethod
    def of(cls, molecule: Molecule, smiles: str, columns: Mapping[str, int]) -> MoleculeGraph | None:
        """None if it has an element that X has no column for."""
        symbols = [atom.GetSymbol() for atom in molecule.GetAtoms()]
        if not all(symbol in columns for symbol in symbols):
            return None
        chem, _ = load_rdkit()
        order = chem.GetAdjacencyMatrix(molecule, useBO=True)  # a loop over bonds takes ten times as long
        kinds = np.searchsorted(ORDERS, order)
        bonds = np.where(order > 0, KIND_OF_ORDER[np.minimum(kinds, len(ORDERS) - 1)], SINGLE)
        labels = np.array([columns[symbol] for symbol in symbols], dtype=np.int64)
        return cls(smiles, (order > 0).astype(np.uint8), labels, bonds)


def questions(made: Sequence[MoleculeGraph], like: GraphBatch) -> GraphBatch:
    """A batch of these molecules, with X, and with edge features where the graphs of the task have them."""
    assert like.features is not None
    sizes = [len(one.labels) for one in made]
    n, width = max(sizes), like.features.shape[2]
    adjacency = np.zeros((len(made), n, n), dtype=np.uint8)
    x = np.zeros((len(made), n, width), dtype=np.float32)
    bonds = np.zeros(adjacency.shape, dtype=np.uint8) if _has_kinds(like.edge_features) else None
    for i, (one, size) in enumerate(zip(made, sizes, strict=True)):
        adjacency[i, :size, :size] = one.adjacency
        x[i, np.arange(size), one.labels] = 1
        if bonds is not None:
            bonds[i, :size, :size] = one.bonds
    table = None if bonds is None else torch.from_numpy(bonds)
    names = ("",) * len(made)
    return GraphBatch(torch.from_numpy(adjacency), torch.tensor(sizes), torch.from_numpy(x), names, {}, table)


def _has_kinds(edge_features: torch.Tensor | None) -> bool:
    """Has each pair of nodes one number, the kind of its bond?"""
    return edge_features is not None and edge_features.ndim == 3


def as_edits(graph: Graph, made: MoleculeGraph) -> Edited | None:
    """The molecule as edits of the graph; None if edits cannot say it, or if it is the same graph."""
    (own,) = labelled(GraphBatch.of([graph]))
    other = Labelled(made.adjacency, made.labels)
    if not reachable(own, other):
        return None
    sent, cost = match_nearby(own, other)
    if cost == 0:
        return None
    edited = made_of(graph, edits_to(own, other, sent))
    atoms = _atoms(edited, sent, made, graph.n_nodes)
    bonds = edited.graph.edge_features
    if bonds is not None and bonds.ndim == 2:
        bonds = np.where(edited.graph.adjacency > 0, made.bonds[np.ix_(atoms, atoms)], bonds)
    plain = edited.graph
    about = {**(graph.given.graph if graph.given else {}), SMILES: made.smiles}
    given = Given(graph=about)
    return Edited(
        Graph.unchecked(plain.adjacency, plain.features, plain.name, bonds, plain.node_names, given),
        edited.node_edits,
    )


def _atoms(edited: Edited, sent: NDArray[np.int64], made: MoleculeGraph, n: int) -> NDArray[np.int64]:
    """The atom of the molecule that each node of the edited graph is.

    Nodes that stayed were sent there. Added leaves come in the order of the node that they hang on and of their label;
    two that share both cannot be told apart.
    """
    origin = np.array(origins(edited.node_edits, n))
    stayed = sent[origin[origin >= 0]]
    new = np.setdiff1d(np.arange(len(made.labels)), stayed)
    node_of = np.full(len(made.labels), -1)
    node_of[stayed] = origin[origin >= 0]
    stem = node_of[made.adjacency[new].argmax(1)] if len(new) else new
    return np.concatenate((stayed, new[np.lexsort((made.labels[new], stem))]))


def smiles_of(graph: Graph) -> str | None:
    """The molecule that a returned graph is, as the method said that made it; None for other graphs."""
    return None if graph.given is None else graph.given.graph.get(SMILES)


# -- Similarity ----------------------------------------------------------------------------------------------------


def ecfp4(molecule: Molecule) -> dict[int, int]:
    """How often each circular neighbourhood of up to two bonds occurs in a molecule (Rogers & Hahn 2010)."""
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=ECFP4_RADIUS)
    counts: dict[int, int] = generator.GetSparseCountFingerprint(molecule).GetNonzeroElements()
    return counts


def molecular_similarity(before: Molecule, after: Molecule) -> float:
    """The Tanimoto index of the ECFP4 fingerprints of two molecules, which are sanitised on the way."""
    chem, _ = load_rdkit()
    prints = []
    for molecule in (before, after):
        copy = chem.RWMol(molecule)
        chem.SanitizeMol(copy)
        prints.append(ecfp4(copy))
    return tanimoto(*prints)
