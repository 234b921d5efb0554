"""Is a counterfactual possible in its domain? Hard rules, learnt from real graphs or known to chemistry.

    rules = rules_of(training_graphs)                          # a tuple of constraints
    TaughtRSGGCE(constraints=rules)                            # a search that keeps them …
    feasibility(inputs, counterfactuals, rules)["feasible"]    # … has only feasible results

| rule | a graph keeps it if |
|---|---|
| `simple` | it has neither self loops nor multiple edges |
| `connected` | it has no more connected components than its original |
| `degrees` | no node has more neighbours than any real node of its label, or than it had |
| `edge_count` | its edges less its nodes are in the range of real graphs of similar size, or where they were |
| `sanitised` | RDKit accepts it as a molecule: no atom has more bonds than its valence allows |

Each rule is a function of whole batches that gives one bool per graph, and a constraint of `rsgg.constraints` that says
the same of one graph.

Molecules are known for BBBP and ClinTox, whose SMILES have charges and hydrogens, and for MUTAG, Mutagenicity and AIDS,
whose files have elements and bonds only: there a nitrogen with four bonds is taken as charged, and then RDKit accepts
98.9 %, 99.9 % and 99.9 % of the published graphs (0 %, 81.9 % and 90.4 % without that charge). NCI1 has no bond labels,
so that no molecule can be made of its graphs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from rsgg.constraints import Constraint, EdgesForSize, KeepConnected, MostNeighbours
from rsgg.data.dataset import Dataset
from rsgg.data.molecules import TABLES, load_rdkit, smiles_by_name
from rsgg.encodings import block_diagonal
from rsgg.errors import DataError, UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.plausibility import one_hot_nodes

Bools = NDArray[np.bool_]
Molecule = Any  # RDKit's Mol, which has no types

BONDS_OF_LABELS = {
    "MUTAG": ("AROMATIC", "SINGLE", "DOUBLE", "TRIPLE"),
    "Mutagenicity": ("SINGLE", "DOUBLE", "TRIPLE"),
    "AIDS": ("SINGLE", "DOUBLE", "TRIPLE"),
}
"""What edge labels 0, 1, … of sets in the TU format stand for, as the files beside the data say."""


def feasibility(
    originals: Any, returned: Any, rules: Sequence[Constraint] = (KeepConnected(),), origin: ArrayLike | None = None
) -> dict[str, Bools]:
    """Which rules each returned graph keeps, bool [R] per rule; `feasible` are those that keep all.

    Args:
        originals: the inputs, one for each returned graph.
        returned: the counterfactuals, taken as they are.
        rules: constraints, such as those of `rules_of`; others than those stand under the names of their classes.
        origin: where nodes were added or dropped, which node of its original each node was, int64 [R, N], -1 for
            added ones and padding. `Sanitises` and constraints of other kinds are for graphs whose nodes are unchanged.
    """
    before, after = GraphBatch.of(originals), GraphBatch.of(returned)
    if len(before) != len(after):
        raise UsageError(f"There are {len(before)} originals and {len(after)} returned graphs; give one for each.")
    if origin is None and not bool((before.sizes == after.sizes).all()):
        raise UsageError("Nodes were added or dropped; say with `origin` which node of its original each node was.")
    kept = {"simple": simple(after)}
    for rule in rules:
        name, holds = _judged(before, after, rule, origin)
        kept[name] = kept.get(name, True) & holds
    return {**kept, "feasible": np.logical_and.reduce(list(kept.values()))}


def _judged(before: GraphBatch, after: GraphBatch, rule: Constraint, origin: ArrayLike | None) -> tuple[str, Bools]:
    """The name of a rule, and which graphs keep it."""
    if isinstance(rule, KeepConnected):
        return "connected", connected(before, after)
    if isinstance(rule, MostNeighbours):
        return "degrees", degrees(before, after, rule, origin)
    if isinstance(rule, EdgesForSize):
        return "edge_count", edge_count(before, after, rule)
    _check_same_nodes(before, after, rule)
    if isinstance(rule, Sanitises):
        return "sanitised", sanitised(after, rule.molecules)
    allowed = [rule.allows(old, new.adjacency) for old, new in zip(before, after, strict=True)]
    changed = (before.adjacency > 0) != (after.adjacency > 0)
    elsewhere = (changed & before.pair_mask & ~rule.editable(before)).flatten(1).any(1).numpy()
    return type(rule).__name__, np.array(allowed) & ~elsewhere


def _check_same_nodes(before: GraphBatch, after: GraphBatch, rule: Constraint) -> None:
    same = bool((before.sizes == after.sizes).all())
    if same and before.features is not None and after.features is not None:
        same = bool((before.features == after.features).all())
    if not same:
        raise UsageError(f"{type(rule).__name__} judges edits of edges only; leave out graphs whose nodes were edited.")


def rules_of(graphs: Any, molecules: Mapping[str, Molecule] | None = None) -> tuple[Constraint, ...]:
    """The rules of a domain as constraints, learnt from real graphs: connected, degrees by label, edges for size.

    Labels are one-hot node features; without them one limit holds for all nodes. With `molecules` (`molecules_of`), a
    counterfactual also has to be a molecule.
    """
    real = GraphBatch.of(graphs)
    degree, there = _degrees(real), real.node_mask.numpy()
    by_label: tuple[int, ...] = ()
    if real.features is not None and real.features.shape[2] > 1 and one_hot_nodes(real)[there].all():
        label = real.features.numpy().argmax(2)
        limits = np.zeros(real.features.shape[2], dtype=np.int64)
        np.maximum.at(limits, label[there], degree[there])
        by_label = tuple(limits.tolist())
    learnt = (KeepConnected(), MostNeighbours(int(degree.max()), by_label), EdgesForSize.of(real))
    return learnt if molecules is None else (*learnt, Sanitises(molecules))


# -- One function per rule -----------------------------------------------------------------------------------------


def simple(returned: GraphBatch) -> Bools:
    """No self loops and no multiple edges: some methods return them."""
    adjacency = returned.adjacency.cpu().numpy()
    once, loops = (adjacency <= 1).all((1, 2)), adjacency.diagonal(axis1=1, axis2=2).any(1)
    return np.asarray(once & ~loops, dtype=bool)


def connected(originals: GraphBatch, returned: GraphBatch) -> Bools:
    """No more connected components than the original (`KeepConnected`)."""
    return n_components(returned) <= n_components(originals)


def n_components(graphs: GraphBatch) -> NDArray[np.int64]:
    """Connected components of each graph, int64 [B]."""
    component = connected_components(block_diagonal(graphs), directed=False)[1]
    there = graphs.node_mask.numpy().ravel()
    graph = np.repeat(np.arange(len(graphs)), graphs.n_nodes)
    first = np.unique(component[there], return_index=True)[1]
    return np.bincount(graph[there][first], minlength=len(graphs))


def degrees(
    originals: GraphBatch, returned: GraphBatch, rule: MostNeighbours, origin: ArrayLike | None = None
) -> Bools:
    """No node has more neighbours than the rule lets a node of its label have, or than it had (`MostNeighbours`)."""
    has, had = _degrees(returned), _degrees(originals)
    if origin is not None:
        was = np.asarray(origin, dtype=np.int64)
        had = np.where(was >= 0, np.take_along_axis(had, np.maximum(was, 0), 1), 0)
    limit = np.full(has.shape, rule.most)
    if rule.by_label:
        if returned.features is None or returned.features.shape[2] < len(rule.by_label):
            raise UsageError(f"There are limits for {len(rule.by_label)} labels; give every node a feature for each.")
        limit = np.array(rule.by_label)[returned.features.numpy()[:, :, : len(rule.by_label)].argmax(2)]
    return (has <= np.maximum(limit, had)).all(1)


def edge_count(originals: GraphBatch, returned: GraphBatch, rule: EdgesForSize) -> Bools:
    """|E| - |V| is in the range of real graphs of similar size, or no further outside than it was (`EdgesForSize`)."""
    had, has = (batch.n_edges.numpy() - batch.sizes.numpy() for batch in (originals, returned))
    least, most = np.array([rule.range_of(n) for n in returned.sizes.tolist()]).T
    return (np.minimum(least, had) <= has) & (has <= np.maximum(most, had))


def sanitised(returned: GraphBatch, molecules: Mapping[str, Molecule]) -> Bools:
    """RDKit accepts the molecule with the bonds of the returned graph; `molecules` by the names of the graphs."""
    return np.array([_is_molecule(graph.name, graph.adjacency, molecules) for graph in returned], dtype=bool)


def _degrees(graphs: GraphBatch) -> NDArray[np.int64]:
    """Neighbours of each node, int64 [B, N]."""
    return np.diff(block_diagonal(graphs).indptr).astype(np.int64).reshape(len(graphs), graphs.n_nodes)


# -- Molecules ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sanitises(Constraint):
    """The edited graph is a molecule that RDKit accepts; `molecules` are those of the originals, by name."""

    molecules: Mapping[str, Molecule]
    looks_at_graphs = True
    skips_edits = True

    def allows(self, original: Graph, adjacency: np.ndarray) -> bool:
        return _is_molecule(original.name, adjacency, self.molecules)


def molecules_of(dataset: Dataset, data_dir: Path | None = None) -> dict[str, Molecule]:
    """The molecule of each graph of a data set, by the name of the graph; atoms in the order of the nodes.

    Aromatic rings are written as alternating single and double bonds, so that one bond of a ring can be taken out. What
    RDKit does not accept as published is None: then no rule can be broken. Needs RDKit.
    """
    chem, quietly = load_rdkit()
    with quietly():
        if dataset.name in TABLES:
            made = [chem.MolFromSmiles(smiles) for smiles in smiles_by_name(dataset, data_dir).values()]
        elif dataset.name in BONDS_OF_LABELS:
            made = [
                _from_labels(graph, dataset.feature_names, BONDS_OF_LABELS[dataset.name]) for graph in dataset.graphs
            ]
        else:
            known = ", ".join((*TABLES, *BONDS_OF_LABELS))
            raise DataError(f"It is not known which molecules the graphs of {dataset.name!r} are; it is for {known}.")
        return dict(zip(dataset.graphs.names, map(_ready, made), strict=True))


def _from_labels(graph: Graph, elements: Sequence[str], bonds: Sequence[str]) -> Molecule:
    """A molecule of element and bond labels. Charges are not known: a nitrogen with four bonds gets one."""
    chem, _ = load_rdkit()
    assert graph.features is not None and graph.edge_features is not None
    molecule = chem.RWMol()
    for label in graph.features.argmax(1):
        molecule.AddAtom(chem.Atom(elements[label]))
    for u, v in graph.edges():
        kind = bonds[int(graph.edge_features[u, v])]
        molecule.AddBond(u, v, getattr(chem.BondType, kind))
        if kind == "AROMATIC":
            molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(True)
            for atom in (u, v):
                molecule.GetAtomWithIdx(atom).SetIsAromatic(True)
    for atom in molecule.GetAtoms():  # not in aromatic rings, where two half bonds may stand for none
        bonds_of_atom = sum(bond.GetBondTypeAsDouble() for bond in atom.GetBonds())
        if atom.GetSymbol() == "N" and bonds_of_atom == 4 and not atom.GetIsAromatic():
            atom.SetFormalCharge(1)
    return molecule


def _ready(molecule: Molecule) -> Molecule | None:
    """Accepted by RDKit and without aromatic bonds, ready to be edited; None if it is not accepted."""
    chem, _ = load_rdkit()
    editable = chem.RWMol(molecule)
    try:
        chem.SanitizeMol(editable)
        chem.Kekulize(editable, clearAromaticFlags=True)
    except chem.MolSanitizeException:
        return None
    return editable


def _is_molecule(name: str, adjacency: np.ndarray, molecules: Mapping[str, Molecule]) -> bool:
    """Is the molecule of this name still one if it has the bonds of this graph? True where it was none before."""
    if name not in molecules:
        raise UsageError(f"It is not known which molecule the graph {name!r} is; give the molecules of its data set.")
    return molecules[name] is None or edited_molecule(name, adjacency, molecules) is not None


def edited_molecule(name: str, adjacency: np.ndarray, molecules: Mapping[str, Molecule]) -> Molecule | None:
    """The molecule of this name, which RDKit accepts, with the bonds of this graph; None if it is none any more.

    Bonds that it had not are single. Hydrogens that are no nodes make room: an edited atom has as many as its valence
    leaves.
    """
    chem, quietly = load_rdkit()
    molecule, had = chem.RWMol(molecules[name]), _bonds(molecules[name])
    edited = [(int(u), int(v)) for u, v in np.argwhere(np.triu((adjacency > 0) != had, 1))]
    for u, v in edited:
        if had[u, v]:
            molecule.RemoveBond(u, v)
        else:
            molecule.AddBond(u, v, chem.BondType.SINGLE)
    for node in {node for pair in edited for node in pair}:
        atom = molecule.GetAtomWithIdx(node)
        atom.SetNoImplicit(False)
        atom.SetNumExplicitHs(0)
    with quietly():
        accepted = chem.SanitizeMol(molecule, catchErrors=True) == chem.SanitizeFlags.SANITIZE_NONE
    return molecule if accepted else None


@lru_cache(maxsize=8192)  # a search asks about many edited versions of a molecule
def _bonds(molecule: Molecule) -> Bools:
    """Which atoms are bonded, bool [n, n]."""
    chem, _ = load_rdkit()
    return np.asarray(chem.GetAdjacencyMatrix(molecule) > 0)
