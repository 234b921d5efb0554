"""MACCS: counterfactual molecules by random changes of their SELFIES (Wellawatte, Seshadri & White 2022, exmol).

For a molecule M of class y = Φ(M), with `samples` S and at most `mutations` m:

1. M is written as S / m random SMILES strings, and these as SELFIES, a language in which every text is a molecule.
2. For j = 1, …, m each of them is changed j times: a random token is inserted, replaced or deleted, each with
   probability 1/3, with tokens from an alphabet, until RDKit accepts the molecule. What has other elements than the
   alphabet is dropped; of the others, each molecule counts once.
3. The oracle is asked about all of them, in one batch.
4. A molecule M' with Φ(M') ≠ y and s(M, M') < 1 is a counterfactual; s is the Tanimoto index of ECFP4 fingerprints,
   Σ_f min(a_f, b_f) / Σ_f max(a_f, b_f) over the numbers of circular neighbourhoods of up to two bonds.
5. The matrix of distances 1 - s of all molecules is projected to the plane (PCA) and clustered (DBSCAN with ε = .15
   and five neighbours). Of each cluster the most similar counterfactual is taken, the most similar of these first; if
   they are too few, the next most similar counterfactuals follow. `explain(k=3)` gives the three of the original.

The first of them is the most similar counterfactual of all, whatever the clusters are: it is the best of its own. So
clusters are only computed for k > 1, and with k = 1 the method is: sample, ask, take the nearest.

    MACCS(molecules=KnownMolecules(smiles, elements)).explain(graphs, oracle)

A graph alone does not say which molecule it is (charges and hydrogens are missing), so that the method is told its
SMILES, by the name of the graph, and what the columns of X stand for. How a molecule becomes edits of the graph:
`rsgg.molecule_edits`.

Presets of the original: *medium* is 3000 samples with at most two changes and the basic alphabet, which are the
defaults here; *narrow* has one change, *wide* up to five and the full alphabet. The basic alphabet is SELFIES' own of
robust tokens without ions, but for O⁻, and without phosphorus and boron.

Deviations from the original:

- A molecule of several parts, such as a salt: the original explains the largest part and forgets the others. Here the
  largest part is changed and the others stay as they are, since the class to be changed is that of the whole graph.
- Molecules with an element that X has no column for cannot be shown to the oracle and are dropped; those that edits
  cannot say, and those that only differ in bonds' orders or charges, which the graph does not have, are no answers.
  `dropped_` counts them.
- With a budget that is smaller than the number of molecules, the most similar ones are asked about.
- Every random draw is seeded by the name of the graph. The original draws from a set in an order that depends on the
  process.
- Further candidates differ from each other. The original fills up with the nearest counterfactuals again from the
  start, so that it may return one twice (exmol/exmol.py:885). It can also leave out molecules that are not like
  drugs (REOS); that came after the paper and is not part of it.

RDKit and SELFIES are an optional extra: pip install "rsgg[molecules]".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse.linalg import eigsh
from scipy.spatial import cKDTree
from torch import Tensor

from rsgg.baselines.known_molecules import Instance, MoleculeExplainer
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.data.molecules import load_rdkit
from rsgg.edits import Edited
from rsgg.errors import UsageError
from rsgg.explainer import Capabilities
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.molecule_edits import ECFP4_RADIUS, Molecule, MoleculeGraph, as_edits, questions
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import numpy_rng, seed_for

Floats = NDArray[np.float64]
MOST_TRIES = 100  # changes of a text that are tried until one is a molecule
NOISE = -1  # the cluster of molecules in no cluster

OTHER_ELEMENT = "have an element that the graphs do not have"
NOT_EDITS = "are the same graph or cannot be made of it by edits"


@dataclass(frozen=True, eq=False)
class Sample:
    """A molecule that was made of the input, as RDKit has it and as a graph; `similarity` is to the part changed."""

    molecule: Molecule
    graph: MoleculeGraph
    similarity: float


@dataclass(kw_only=True)
class MACCS(MoleculeExplainer):
    """The most similar of many randomly changed molecules that has another class; see the top of the file."""

    samples: int = hyper(3000, "num_samples", paper=3000, doc="texts that are changed, for each graph", at_least=1)
    mutations: int = hyper(2, "max_mutations", paper=2, doc="changes of a text at most", at_least=1)
    alphabet: str = hyper(
        "basic", "alphabet", paper="basic", choices=("basic", "full"), doc="tokens that a change may bring in"
    )
    eps: float = hyper(0.15, "ε", paper=0.15, doc="distance of neighbours in the plane", above=0)
    min_samples: int = hyper(5, "min_samples", paper=5, doc="neighbours of the core of a cluster", at_least=1)

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, permutation_invariant=False, targets=True
    )

    @classmethod
    def tiny(cls) -> Self:
        return cls(samples=40)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        self.dropped_: Counter[str] = Counter()
        return super()._explain(graphs, classes, oracle, k, seed)

    def _of_molecule(self, instance: Instance, oracle: CountingOracle, k: int, seed: int) -> list[Candidate]:
        graph, owner = instance.graph, instance.owner
        try:
            base = Base.of(instance.smiles, alphabet(self.alphabet))
        except UsageError as error:
            return [Candidate(None, str(error).rstrip("."))] * k
        made, dropped = self._made(base, instance.columns, (seed, "maccs", graph.name))
        made.sort(key=lambda one: -one.similarity)
        asked = made[: int(min(oracle.left(owner), len(made)))]
        if not asked:
            return [Candidate(None, BUDGET_USED_UP if made else "no change of its SELFIES is a molecule")] * k
        answers = oracle.predict(
            questions([one.graph for one in asked], instance.like), torch.full((len(asked),), owner)
        )
        flips = (answers != instance.class_).numpy() & np.array([one.similarity < 1 for one in asked])
        found: list[Edited] = []
        for position in self._order(base, asked, flips, k):
            edited = as_edits(graph, asked[position].graph)
            dropped[NOT_EDITS] += edited is None
            found += [] if edited is None else [edited]
            if len(found) == k:
                break
        self.dropped_ += dropped
        reason = BUDGET_USED_UP if len(asked) < len(made) else self._nothing(len(asked), dropped)
        return [Candidate(None, edited=one) for one in found] + [Candidate(None, reason)] * (k - len(found))

    def _nothing(self, count: int, dropped: Counter[str]) -> str:
        """Why there is no (further) candidate."""
        also = "".join(f", {number} {why}" for why, number in sorted(dropped.items()) if number)
        return f"none, or no further one, of {count} changed molecules changes the class{also}"

    def _made(
        self, base: Base, columns: dict[str, int], names: tuple[object, ...]
    ) -> tuple[list[Sample], Counter[str]]:
        """Steps 1 and 2: the molecules to ask about, in the order in which they were made, and what was dropped."""
        chem, _ = load_rdkit()
        known, dropped, seen = alphabet(self.alphabet), Counter[str](), set[str]()
        molecules = []
        for molecule in self._changed(base, known, names):
            if not {atom.GetSymbol() for atom in molecule.GetAtoms()} <= known.elements:
                continue
            canonical = chem.MolToSmiles(molecule)
            if canonical in seen:
                continue
            seen.add(canonical)
            whole, smiles = molecule, canonical
            if base.others is not None:
                whole, smiles = chem.CombineMols(molecule, base.others), f"{canonical}.{chem.MolToSmiles(base.others)}"
            graph = MoleculeGraph.of(whole, smiles, columns)
            dropped[OTHER_ELEMENT] += graph is None
            if graph is not None:
                molecules.append((molecule, graph))
        similar = similarities(base.molecule, [molecule for molecule, _ in molecules])
        return [Sample(*pair, s) for pair, s in zip(molecules, similar, strict=True)], dropped

    def _changed(self, base: Base, known: Alphabet, names: tuple[object, ...]) -> Iterator[Molecule]:
        """Molecules of texts that were changed once, then those that were changed twice, …"""
        rng = numpy_rng(*names, "changes")
        texts = base.texts(max(1, self.samples // self.mutations), seed_for(*names, "texts"))
        for changes in range(1, self.mutations + 1):
            for text in texts:
                molecule = None
                for _ in range(changes):
                    text, molecule = changed(text, known.tokens, rng)
                if molecule is not None:
                    yield molecule

    def _order(self, base: Base, asked: Sequence[Sample], flips: NDArray[np.bool_], k: int) -> list[int]:
        """Step 5: positions of the counterfactuals, the first candidate first; `asked` has the most similar first."""
        by_similarity: list[int] = np.flatnonzero(flips).tolist()
        if k == 1 or len(by_similarity) < 2:
            return by_similarity
        other = [position for position, one in enumerate(asked) if one.similarity < 1]
        everything = [base.molecule, *(asked[position].molecule for position in other)]
        clusters = dbscan(plane(distances(everything)), self.eps, self.min_samples)[1:].tolist()
        cluster_of = dict(zip(other, clusters, strict=True))
        best_of = {cluster_of[position]: position for position in reversed(by_similarity)}
        first = sorted(best_of.values())
        return first + [position for position in by_similarity if position not in set(first)]


# -- Texts ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Alphabet:
    """Tokens of SELFIES, sorted, and the elements that they name."""

    tokens: tuple[str, ...]
    elements: frozenset[str]


@lru_cache
def alphabet(name: str = "basic") -> Alphabet:
    """The tokens that a change may bring in; "full" are all of SELFIES' robust ones."""
    tokens = set(load_selfies().get_semantic_robust_alphabet())
    if name == "basic":
        ions = {token for token in tokens if "+1" in token or "-1" in token}
        tokens -= ions | {f"[{bond}{element}]" for bond in ("", "=", "#") for element in ("P", "B")}
        tokens.add("[O-1]")
    return Alphabet(tuple(sorted(tokens)), frozenset(t[1:-1] for t in tokens if t[1:-1].isalpha()))


def load_selfies() -> Any:
    """The package selfies, or a sentence that says how to get it."""
    try:
        import selfies
    except ImportError as error:
        sentence = 'MACCS needs selfies, which is not installed; install it with: pip install "rsgg[molecules]".'
        raise UsageError(sentence) from error
    return selfies


@dataclass(frozen=True, eq=False)
class Base:
    """The part of a molecule that is changed, and its other parts, if it has some."""

    molecule: Molecule
    others: Molecule | None

    @classmethod
    def of(cls, smiles: str, known: Alphabet) -> Base:
        """The largest part, the first of equals; a sentence if the alphabet cannot say it."""
        chem, _ = load_rdkit()
        selfies = load_selfies()
        whole = chem.MolFromSmiles(smiles)
        if whole is None:
            raise UsageError(f"RDKit cannot read the molecule {smiles!r}.")
        parts = list(chem.GetMolFrags(whole, asMols=True))
        largest = max(range(len(parts)), key=lambda i: parts[i].GetNumAtoms())
        others = None
        for i, part in enumerate(parts):
            if i != largest:
                others = part if others is None else chem.CombineMols(others, part)
        unknown = sorted({atom.GetSymbol() for atom in parts[largest].GetAtoms()} - known.elements)
        if unknown:
            raise UsageError(f"The alphabet of SELFIES has no {unknown[0]}, which the molecule has.")
        try:
            selfies.encoder(chem.MolToSmiles(parts[largest], kekuleSmiles=True))
        except selfies.EncoderError as error:
            raise UsageError("SELFIES cannot say the molecule.") from error
        return cls(parts[largest], others)

    def texts(self, count: int, seed: int) -> list[list[str]]:
        """Step 1: random SMILES strings of the molecule as lists of SELFIES tokens."""
        chem, _ = load_rdkit()
        selfies = load_selfies()
        strings = chem.MolToRandomSmilesVect(
            self.molecule, count, randomSeed=seed % (2**31 - 1) + 1, isomericSmiles=True, kekuleSmiles=True
        )
        encoded = {
            smiles: list(selfies.split_selfies(selfies.encoder(smiles, strict=False))) for smiles in set(strings)
        }
        return [encoded[smiles] for smiles in strings]


def changed(text: list[str], tokens: Sequence[str], rng: np.random.Generator) -> tuple[list[str], Molecule | None]:
    """A text with one random token inserted, replaced or deleted, and its molecule; None if all tries failed."""
    chem, _ = load_rdkit()
    selfies = load_selfies()
    for _ in range(MOST_TRIES):
        kind = int(rng.integers(3))
        new = [] if kind == 2 else [tokens[int(rng.integers(len(tokens)))]]
        at = int(rng.integers(len(text) + (kind == 0)))
        made = [*text[:at], *new, *text[at + (kind > 0) :]]
        smiles = selfies.decoder("".join(made))
        molecule = chem.MolFromSmiles(smiles) if smiles else None
        if molecule is not None and molecule.GetNumAtoms():
            return made, molecule
    return text, None


# -- Similarities and clusters -------------------------------------------------------------------------------------


def _fingerprints(molecules: Sequence[Molecule]) -> list[Any]:
    """ECFP4 of many molecules, as RDKit's counts of circular neighbourhoods."""
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=ECFP4_RADIUS)
    return [generator.GetSparseCountFingerprint(molecule) for molecule in molecules]


def similarities(base: Molecule, molecules: Sequence[Molecule]) -> list[float]:
    """Tanimoto indices of ECFP4 fingerprints between a molecule and many."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    values: list[float] = BulkTanimotoSimilarity(_fingerprints([base])[0], _fingerprints(molecules))
    return list(values)


def distances(molecules: Sequence[Molecule]) -> Floats:
    """1 - s between all of these molecules, [n, n]."""
    from rdkit.DataStructs import BulkTanimotoSimilarity

    prints = _fingerprints(molecules)
    return 1 - np.array([BulkTanimotoSimilarity(one, prints) for one in prints])


def plane(points: Floats) -> Floats:
    """The first two principal components of points, float64 [n, 2]; signs are arbitrary, as for every PCA."""
    centred = points - points.mean(0)
    n = len(points)
    if n < 4:
        left, size, _ = np.linalg.svd(centred, full_matrices=False)
        made = left[:, :2] * size[:2]
        return np.pad(made, ((0, 0), (0, 2 - made.shape[1])))
    gram = centred @ centred.T
    values, vectors = eigsh(gram, k=2, v0=np.linspace(1, 2, n))
    order = np.argsort(-values)
    return vectors[:, order] * np.sqrt(np.maximum(values[order], 0))


def dbscan(points: Floats, eps: float, min_samples: int) -> NDArray[np.int64]:
    """Clusters of points (Ester et al. 1996), int64 [n], numbered by their first core point; `NOISE` is in none.

    A core point has `min_samples` points within eps, itself included. Core points within eps of each other share a
    cluster, and so do points within eps of a core point: of the first such cluster.
    """
    neighbours = cKDTree(points).query_ball_point(points, eps)
    core = np.array([len(own) >= min_samples for own in neighbours])
    cluster = np.full(len(points), NOISE, dtype=np.int64)
    number = 0
    for start in np.flatnonzero(core):
        if cluster[start] != NOISE:
            continue
        waiting = [start]
        cluster[start] = number
        while waiting:
            for other in neighbours[waiting.pop()]:
                if cluster[other] == NOISE:
                    cluster[other] = number
                    if core[other]:
                        waiting.append(other)
        number += 1
    return cluster
