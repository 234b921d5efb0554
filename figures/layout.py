"""Where the nodes of a graph are drawn: as RDKit lays out molecules, else so that distances are path lengths.

All pictures of a graph have the layout of the input, so that what differs between them is the edits and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse.csgraph import shortest_path

from benchmarks.results.graphs import InputGraph, Pair
from rsgg.seeds import numpy_rng

STEPS = 200  # of stress majorisation: more of them move no node by a visible distance
SYMBOLS = """
* H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc
Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po
At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr
"""  # of the elements; * is an atom that a SMILES leaves open
ELEMENTS = frozenset(SYMBOLS.split())
ORDERS = {"double": 2, "triple": 3}  # lines of a bond; an aromatic one has a second, broken line
NO_RDKIT = (
    'RDKit, which lays out molecules as chemists do (pip install "rsgg[molecules]"): distances are path lengths instead'
)


def are_atoms(label_names: Sequence[str]) -> bool:
    """Are these labels of nodes the symbols of elements?"""
    return bool(label_names) and set(label_names) <= ELEMENTS


def rdkit() -> tuple[Any, Any] | None:
    """RDKit's `Chem` and `rdDepictor`; None where it is not installed."""
    try:
        from rdkit import Chem
        from rdkit.Chem import rdDepictor
    except ImportError:
        return None
    return Chem, rdDepictor


def places(graph: InputGraph) -> np.ndarray:
    """Where the nodes of a graph are drawn, [n, 2]; an edge is about 1 long."""
    molecule = of_molecule(graph) if are_atoms(graph.label_names) else None
    return by_path_lengths(graph.adjacency[None].astype(float))[0] if molecule is None else molecule


def of_molecule(graph: InputGraph) -> np.ndarray | None:
    """RDKit's places of the atoms, [n, 2], bonds 1 long, the long side lying; None without RDKit.

    Nothing has to be chemically possible: no valence is checked and no hydrogen added.
    """
    found = rdkit()
    if found is None:
        return None
    chem, depictor = found
    molecule = chem.RWMol()
    for node in range(graph.n_nodes):
        atom = chem.Atom(graph.name(node))
        atom.SetNoImplicit(True)
        molecule.AddAtom(atom)
    kinds = {"double": chem.BondType.DOUBLE, "triple": chem.BondType.TRIPLE}  # they decide on angles
    for (u, v), bond in zip(graph.edges, graph.bonds or [""] * len(graph.edges), strict=True):
        molecule.AddBond(u, v, kinds.get(bond, chem.BondType.SINGLE))
    molecule.UpdatePropertyCache(strict=False)
    chem.FastFindRings(molecule)
    chem.SetHybridization(molecule)  # else triple bonds are drawn with a bend
    depictor.Compute2DCoords(molecule, canonOrient=True)
    points = np.asarray(molecule.GetConformer().GetPositions())[:, :2]
    long = np.linalg.norm([points[u] - points[v] for u, v in graph.edges], axis=1) if graph.edges else np.ones(1)
    return points / max(float(np.median(long)), 1e-9)


# -- Distances are path lengths --------------------------------------------------------------------------------


def by_path_lengths(lengths: np.ndarray) -> np.ndarray:
    """Points [B, N, 2] from the lengths of edges [B, N, N], 0 where there is none.

    Drawn distances are as near to path lengths as the plane allows; unconnected nodes are one step further apart than
    the longest path.
    """
    distance = np.stack([shortest_path(one, directed=False) for one in lengths])
    reached = np.where(np.isfinite(distance), distance, 0).max((1, 2), keepdims=True)
    return stress_layout(np.where(np.isfinite(distance), distance, reached + 1))


def stress_layout(distance: np.ndarray) -> np.ndarray:
    """Points [B, N, 2] that minimise Σ (‖x_u - x_v‖ - d_uv)² / d_uv² by majorisation, from classical scaling."""
    b, n, _ = distance.shape
    far = distance + np.eye(n)  # the diagonal is not used; it must not be zero
    weight = far**-2 * (1 - np.eye(n))
    inverse = np.linalg.pinv(np.eye(n) * weight.sum(2, keepdims=True) - weight)
    centred = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-0.5 * centred @ distance**2 @ centred)
    points = np.zeros((b, n, 2))
    points[..., : min(n, 2)] = vectors[..., -2:] * np.sqrt(np.maximum(values[:, None, -2:], 0))
    points = points + numpy_rng(0, "layout").normal(scale=0.05, size=(b, n, 2))  # lest siblings coincide
    for _ in range(STEPS):
        across, up = points[:, :, None, 0] - points[:, None, :, 0], points[:, :, None, 1] - points[:, None, :, 1]
        ratio = weight * distance / np.maximum(np.sqrt(across**2 + up**2), 1e-6)
        points = inverse @ (ratio.sum(2, keepdims=True) * points - ratio @ points)
    return points


# -- What is not in the input ----------------------------------------------------------------------------------


def with_leaves(where: np.ndarray, edges: Sequence[Pair], anchors: Sequence[int]) -> np.ndarray:
    """The places of the nodes and of the leaves that are added to `anchors`, [n + leaves, 2].

    A leaf lies where its anchor has the most room: in the middle of the widest gap between its neighbours, those added
    before it included.
    """
    points, beside = list(where), {node: [where[v] for e in edges for v in _other(e, node)] for node in {*anchors}}
    for node in anchors:
        angles = sorted(float(np.arctan2(*(other - where[node])[::-1])) for other in beside[node])
        if angles:
            gaps = np.diff([*angles, angles[0] + 2 * np.pi])
            angle = angles[int(gaps.argmax())] + gaps.max() / 2
        else:
            angle = 0.0
        points.append(where[node] + np.array([np.cos(angle), np.sin(angle)]))
        beside[node].append(points[-1])
    return np.array(points)


def _other(edge: Pair, node: int) -> tuple[int, ...]:
    """The other end of an edge of this node; nothing for other edges."""
    u, v = edge
    return (v,) if u == node else (u,) if v == node else ()
