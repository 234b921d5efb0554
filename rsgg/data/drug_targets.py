"""Drugs and targets: pairs of a molecule and a protein sequence, and how strongly each pair binds.

Drugs are molecules of BBBP (`rsgg.data.molecules`), targets are sequences drawn by name, and affinities follow a rule:

    affinity(d, t) = 5 + 5 σ(12 (Σ_k g_k(d) h_k(t) − .6)) + noise,      k = polar, aromatic, aliphatic

g_k(d) is the share of the drug's atoms of a kind: N, O and S; aromatic carbon; other carbon and halogens. h_k(t) is the
share of residues of the matching class in the richest window of eight residues: D E K R N Q S T; F W Y H; I L V M. So a
target binds the drugs whose kind of atoms its best patch matches, and one residue can decide about the patch. The
sigmoid σ makes two small changes, one on each side, do together more (or less) than the sum of both. Values lie between
5 and 10, as those of the Davis data do. RDKit is needed: pip install "rsgg[molecules]".
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rsgg.data.molecules import Molecules, load_rdkit
from rsgg.errors import DataError
from rsgg.seeds import numpy_rng

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
PATCHES = ("DEKRNQST", "FWYH", "ILVM")  # polar, aromatic, aliphatic
WINDOW = 8
ELEMENTS = ("C", "N", "O", "S", "F", "Cl", "Br")  # other drugs are left out
ATOMS = range(10, 26)  # a drug has as many atoms other than hydrogen
BASE, STRENGTH, SLOPE, MIDDLE, NOISE = 5.0, 5.0, 12.0, 0.6, 0.1


@dataclass(frozen=True, eq=False)
class Pairs:
    """Every drug with every target: canonical SMILES, sequences, and affinities, float64 [drugs, targets]."""

    drugs: tuple[str, ...]
    targets: tuple[str, ...]
    affinity: np.ndarray


@dataclass(frozen=True)
class DrugTargets:
    """Drugs and targets with generated affinities.

    Args:
        n_drugs: drawn from the molecules of BBBP with 10 to 25 atoms of usual elements, in one piece, uncharged.
        lengths: of the targets, in residues.
        per_length: targets of each length. A target has shares of the twenty residues of its own, drawn from a
            Dirichlet distribution.
        seed: decides all draws.
    """

    n_drugs: int = 240
    lengths: tuple[int, ...] = (60, 250, 1000)
    per_length: int = 6
    seed: int = 0

    def __post_init__(self) -> None:
        shortest = min(self.lengths, default=0)
        if self.n_drugs < 1 or self.per_length < 1 or shortest < WINDOW:
            raise DataError(
                f"There are no pairs of {self.n_drugs} drugs with {self.per_length} targets of each of the lengths "
                f"{self.lengths}; give at least one of each, and targets of at least {WINDOW} residues."
            )

    def load(self, data_dir: Path | None = None) -> Pairs:
        """Draw the drugs, the targets and the noise."""
        known = usable(Molecules("BBBP").table(data_dir)[0])
        if len(known) < self.n_drugs:
            raise DataError(f"{self.n_drugs} drugs were asked for, and BBBP has {len(known)} that can be used.")
        chosen = numpy_rng("drug targets", self.seed, "drugs").permutation(len(known))[: self.n_drugs]
        drugs = tuple(known[i] for i in sorted(chosen.tolist()))
        targets = tuple(
            drawn_target(length, numpy_rng("drug targets", self.seed, "target", length, i))
            for length in self.lengths
            for i in range(self.per_length)
        )
        noise = numpy_rng("drug targets", self.seed, "noise").normal(0, NOISE, (len(drugs), len(targets)))
        return Pairs(drugs, targets, true_affinity(drugs, targets) + noise)


def usable(smiles: list[str]) -> list[str]:
    """The molecules that can be drugs here, as canonical SMILES without stereochemistry, each once, sorted."""
    chem, quietly = load_rdkit()
    found = set()
    with quietly():
        for text in smiles:
            molecule = chem.MolFromSmiles(text)
            if molecule is not None and molecule.GetNumAtoms() in ATOMS and _is_plain(molecule, chem):
                chem.RemoveStereochemistry(molecule)
                found.add(str(chem.MolToSmiles(molecule)))
    return sorted(found)


def _is_plain(molecule: Any, chem: Any) -> bool:
    """In one piece, without charges, of the usual elements?"""
    atoms = list(molecule.GetAtoms())
    usual = all(atom.GetSymbol() in ELEMENTS and not atom.GetFormalCharge() for atom in atoms)
    return usual and len(chem.GetMolFrags(molecule)) == 1


def drawn_target(length: int, rng: np.random.Generator) -> str:
    """A sequence of residues that are independent of each other."""
    shares = rng.dirichlet(np.ones(len(AMINO_ACIDS)))
    return "".join(rng.choice(list(AMINO_ACIDS), size=length, p=shares))


def true_affinity(drugs: tuple[str, ...], targets: tuple[str, ...]) -> np.ndarray:
    """The rule without noise, [drugs, targets]."""
    g, h = np.array([_kinds(drug) for drug in drugs]), np.array([_patches(target) for target in targets])
    affinity: np.ndarray = BASE + STRENGTH / (1 + np.exp(-SLOPE * (g @ h.T - MIDDLE)))
    return affinity


def _kinds(drug: str) -> list[float]:
    """g: shares of the atoms that are polar, aromatic carbon, and aliphatic."""
    chem, _ = load_rdkit()
    atoms = list(chem.MolFromSmiles(drug).GetAtoms())
    polar = sum(atom.GetSymbol() in ("N", "O", "S") for atom in atoms)
    aromatic = sum(atom.GetSymbol() == "C" and atom.GetIsAromatic() for atom in atoms)
    return [count / len(atoms) for count in (polar, aromatic, len(atoms) - polar - aromatic)]


def _patches(target: str) -> list[float]:
    """h: the highest share of each class of residues in a window."""
    members = np.array([[residue in patch for residue in target] for patch in PATCHES], dtype=float)
    windows = np.lib.stride_tricks.sliding_window_view(members, WINDOW, axis=1)
    shares: list[float] = windows.mean(2).max(1).tolist()
    return shares
