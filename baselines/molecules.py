"""MEG on molecules (Numeroso & Bacciu 2021): the Q-learning of `rsgg.baselines.meg` with RDKit's rules.

A state is a molecule (canonical SMILES). An action adds an atom of an allowed element, raises or lowers a bond, closes
a ring of five or six atoms, or does nothing; aromatic bonds are not touched, and whatever RDKit's sanitisation refuses
is no action. The network reads a Morgan fingerprint (1024 bits, radius 2) of the successor and the steps left:

    r(M') = .9 (.8 p_target(M') + .2 Tanimoto(M, M')).

    explain_molecule("CCO", oracle)  ->  the best counterfactuals, best first

An oracle is any function from SMILES to class probabilities: `FingerprintOracle` is a small trainable one, and
`graph_oracle` makes one of any `rsgg.Oracle` (a PyG network, say) that reads atoms as features and bonds as edges.

A simple graph has no bond orders and no charges, so molecules are not explained through `Explainer`: `Molecule` keeps
both beside the `Graph`, which is what SMILES are converted to and from.

Deviations from the original: those of `rsgg.baselines.meg` that concern learning; rings are closed wherever two atoms
with free valence are four or five bonds apart; stereochemistry and isotopes are dropped.

RDKit is an optional extra (`pip install "rsgg[molecules]"`); everything else of the project works without it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rsgg.baselines.meg import Judgement, QNetwork, Recipe, q_learning, reward
from rsgg.errors import GraphError, UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles.oracle import Oracle
from rsgg.seeds import seed_for

FINGERPRINT_BITS, FINGERPRINT_RADIUS = 1024, 2
RING_SIZES = (5, 6)
HIGHEST_ORDER = 3

MoleculeOracle = Callable[[Sequence[str]], Tensor]
"""Class probabilities of molecules given as SMILES, [molecules, classes]."""

CPU_RECIPE = Recipe(
    episodes=200, horizon=2, decay=0.985, lr=1e-4, discount=0.95, polyak=0.995,
    replay=10_000, batch=8, interval=2, keep=10,
)  # fmt: skip
"""For a CPU: a molecule has some fifty actions, not hundreds. The original plays 5000 episodes of one step."""


def _chem() -> Any:
    """RDKit's `Chem`, or a sentence that says how to get it."""
    try:
        from rdkit import Chem
    except ImportError as error:
        sentence = 'Molecules need RDKit, which is not installed; install it with: pip install "rsgg[molecules]".'
        raise UsageError(sentence) from error
    return Chem


def read(smiles: str) -> Any:
    """A sanitised RDKit molecule without stereochemistry."""
    chem = _chem()
    molecule = chem.MolFromSmiles(smiles)
    if molecule is None or not molecule.GetNumAtoms():
        raise GraphError(f"{smiles!r} is not a molecule that RDKit can read; give a valid SMILES string.")
    chem.RemoveStereochemistry(molecule)
    return molecule


def canonical(smiles: str) -> str:
    return str(_chem().MolToSmiles(read(smiles)))


def fingerprint(smiles: str) -> np.ndarray:
    """Morgan fingerprint, float32 [1024]."""
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=FINGERPRINT_RADIUS, fpSize=FINGERPRINT_BITS)
    return np.asarray(generator.GetFingerprintAsNumPy(read(smiles)), dtype=np.float32)


def tanimoto(a: np.ndarray, b: np.ndarray) -> float:
    """|a ∩ b| / |a ∪ b| of two fingerprints."""
    union = float(np.maximum(a, b).sum())
    return float(np.minimum(a, b).sum()) / union if union else 1.0


# -- Molecules as graphs -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Molecule:
    """What a simple graph lacks: elements, formal charges and (Kekulé) bond orders beside the adjacency matrix."""

    elements: tuple[str, ...]
    charges: tuple[int, ...]
    orders: np.ndarray  # int64 [n, n], symmetric: 0 no bond, 1, 2, 3

    @classmethod
    def from_smiles(cls, smiles: str) -> Molecule:
        molecule = read(smiles)
        _chem().Kekulize(molecule, clearAromaticFlags=True)
        orders = np.zeros((molecule.GetNumAtoms(),) * 2, dtype=np.int64)
        for bond in molecule.GetBonds():
            u, v = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            orders[u, v] = orders[v, u] = int(bond.GetBondTypeAsDouble())
        atoms = list(molecule.GetAtoms())
        return cls(tuple(a.GetSymbol() for a in atoms), tuple(a.GetFormalCharge() for a in atoms), orders)

    def to_smiles(self) -> str:
        """Canonical SMILES; hydrogens follow from the valences."""
        chem = _chem()
        molecule = chem.RWMol()
        for element, charge in zip(self.elements, self.charges, strict=True):
            atom = chem.Atom(element)
            atom.SetFormalCharge(charge)
            molecule.AddAtom(atom)
        for u, v in np.argwhere(np.triu(self.orders)).tolist():
            molecule.AddBond(u, v, _bond_type(int(self.orders[u, v])))
        chem.SanitizeMol(molecule)
        return str(chem.MolToSmiles(molecule))

    def graph(self, elements: Sequence[str]) -> Graph:
        """Bonds as edges; X is one column per element, one for the charge and one for the sum of bond orders."""
        unknown = sorted(set(self.elements) - set(elements))
        if unknown:
            raise GraphError(
                f"The molecule has atoms of {unknown[0]}, which is not among the elements {list(elements)}."
            )
        one_hot = np.array([[element == other for other in elements] for element in self.elements])
        features = np.column_stack((one_hot, self.charges, self.orders.sum(1)))
        return Graph(self.orders > 0, features, self.to_smiles())


def _bond_type(order: int) -> Any:
    types = _chem().BondType
    return {1: types.SINGLE, 2: types.DOUBLE, 3: types.TRIPLE}[order]


# -- Oracles -----------------------------------------------------------------------------------------------


def graph_oracle(oracle: Oracle, elements: Sequence[str]) -> MoleculeOracle:
    """Any oracle on graphs as one on molecules: class probabilities 0 and 1, since a black box has no others."""

    def probabilities(smiles: Sequence[str]) -> Tensor:
        graphs = GraphBatch.of([Molecule.from_smiles(one).graph(elements) for one in smiles])
        return torch.nn.functional.one_hot(oracle.predict(graphs), oracle.n_classes).float()

    return probabilities


class FingerprintOracle:
    """A network on Morgan fingerprints, 1024 → `hidden` → classes."""

    def __init__(self, n_classes: int = 2, hidden: int = 32, seed: int = 0) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(seed, "fingerprint oracle"))
            self.model = torch.nn.Sequential(
                torch.nn.Linear(FINGERPRINT_BITS, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, n_classes)
            )

    def fit(
        self, smiles: Sequence[str], labels: Sequence[int], *, steps: int = 200, lr: float = 1e-2
    ) -> FingerprintOracle:
        inputs, targets = _fingerprints(smiles), torch.tensor(labels)
        adam = torch.optim.Adam(self.model.parameters(), lr=lr, weight_decay=1e-4)
        for _ in range(steps):
            adam.zero_grad()
            torch.nn.functional.cross_entropy(self.model(inputs), targets).backward()
            adam.step()
        return self

    @torch.no_grad()
    def __call__(self, smiles: Sequence[str]) -> Tensor:
        return torch.as_tensor(self.model(_fingerprints(smiles)).softmax(1))


def _fingerprints(smiles: Sequence[str]) -> Tensor:
    return torch.from_numpy(np.stack([fingerprint(one) for one in smiles]))


# -- Actions -----------------------------------------------------------------------------------------------


def actions(smiles: str, elements: Sequence[str]) -> list[str]:
    """Canonical SMILES of every molecule that is one action away, sorted, the molecule itself included.

    Of a molecule in several parts, a salt, one part is edited and the others stay.
    """
    from rdkit.rdBase import BlockLogs

    molecule = read(smiles)
    with BlockLogs():  # RDKit prints a warning for each molecule that cannot be sanitised; these are no actions
        found = {*_with_atom(molecule, elements), *_with_bond(molecule), *_with_less_bond(molecule)}
    return sorted({smile for smile in found if smile} | {canonical(smiles)})


def _with_atom(molecule: Any, elements: Sequence[str]) -> list[str | None]:
    """A new atom on every atom with free valence, by a bond of every order that both allow."""
    chem = _chem()
    table = chem.GetPeriodicTable()
    results = []
    for atom in molecule.GetAtoms():
        for element in elements:
            highest = min(atom.GetTotalNumHs(), table.GetDefaultValence(element), HIGHEST_ORDER)
            for order in range(1, highest + 1):
                edited = chem.RWMol(molecule)
                new = edited.AddAtom(chem.Atom(element))
                results.append(_set_bond(molecule, edited, atom.GetIdx(), new, 0, order))
    return results


def _with_bond(molecule: Any) -> list[str | None]:
    """A bond raised, or a ring of five or six atoms closed, between two atoms with free valence."""
    chem = _chem()
    distance = chem.GetDistanceMatrix(molecule)
    free = [atom.GetTotalNumHs() for atom in molecule.GetAtoms()]
    results = []
    for u in range(len(free)):
        for v in range(u):
            bond = molecule.GetBondBetweenAtoms(u, v)
            if (bond is None and distance[u, v] + 1 not in RING_SIZES) or (bond is not None and bond.GetIsAromatic()):
                continue
            now = 0 if bond is None else int(bond.GetBondTypeAsDouble())
            for order in range(now + 1, min(now + min(free[u], free[v]), HIGHEST_ORDER) + 1):
                results.append(_set_bond(molecule, chem.RWMol(molecule), u, v, now, order))
    return results


def _with_less_bond(molecule: Any) -> list[str | None]:
    """A bond lowered or taken away; an atom that hung on it alone goes with it."""
    chem = _chem()
    results = []
    for bond in molecule.GetBonds():
        if bond.GetIsAromatic():
            continue
        now = int(bond.GetBondTypeAsDouble())
        for order in range(now):
            ends = bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()
            results.append(_set_bond(molecule, chem.RWMol(molecule), *ends, now, order))
    return results


def _set_bond(molecule: Any, edited: Any, u: int, v: int, now: int, order: int) -> str | None:
    """Canonical SMILES after the bond u-v has changed from one order to another, or None where that is no molecule."""
    chem = _chem()
    if now:
        edited.RemoveBond(u, v)
    if order:
        edited.AddBond(u, v, _bond_type(order))
    for index in (u, v):
        atom = edited.GetAtomWithIdx(index)
        if atom.GetNoImplicit() or order > now:  # hydrogens that are written down do not follow by themselves
            atom.SetNumExplicitHs(max(0, atom.GetNumExplicitHs() + now - order))
    if chem.SanitizeMol(edited, catchErrors=True) != chem.SanitizeFlags.SANITIZE_NONE:
        return None
    aromatic = {(b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds() if b.GetIsAromatic()}
    if not all(edited.GetBondBetweenAtoms(*pair).GetIsAromatic() for pair in aromatic):
        return None
    parts = (part for part in chem.GetMolFrags(edited) if u in part or v in part)
    ends = sorted(parts, key=lambda part: (len(part), -part[0]))
    if len(ends) > 1:  # the bond was all that held its ends together
        if len(ends[0]) > 1:
            return None
        edited.RemoveAtom(ends[0][0])
    if _radicals(edited) > _radicals(molecule):
        return None
    smiles = str(chem.MolToSmiles(edited))
    return smiles if chem.MolFromSmiles(smiles) is not None else None


def _radicals(molecule: Any) -> int:
    return sum(atom.GetNumRadicalElectrons() for atom in molecule.GetAtoms())


# -- The environment and the explanation -------------------------------------------------------------------


@dataclass(frozen=True)
class MoleculeCounterfactual:
    """A molecule of another class than the input. `calls` is what the whole search asked, the input included."""

    input: str
    smiles: str
    class_before: int
    class_after: int
    probability: float  # of the new class
    similarity: float  # Tanimoto index to the input
    reward: float
    calls: int


@dataclass(eq=False)
class MoleculeEnvironment:
    """The game on one molecule. A molecule is asked about once; `calls` counts."""

    start: str
    oracle: MoleculeOracle
    elements: tuple[str, ...]
    budget: int | None = None

    def __post_init__(self) -> None:
        self.calls = 0
        self.probabilities: dict[str, Tensor] = {}
        self._successors: dict[str, tuple[list[str], Tensor]] = {}

    @property
    def width(self) -> int:
        return FINGERPRINT_BITS + 1

    @cached_property
    def class_(self) -> int:
        asked = self.ask(self.start)
        return -1 if asked is None else int(asked.argmax())

    @cached_property
    def fingerprint(self) -> np.ndarray:
        return fingerprint(self.start)

    def ask(self, smiles: str) -> Tensor | None:
        if smiles not in self.probabilities:
            if self.budget is not None and self.calls >= self.budget:
                return None
            self.calls += 1
            self.probabilities[smiles] = self.oracle([smiles])[0]
        return self.probabilities[smiles]

    def _actions(self, state: str) -> tuple[list[str], Tensor]:
        if state not in self._successors:
            smiles = actions(state, self.elements)
            self._successors[state] = smiles, _fingerprints(smiles)
        return self._successors[state]

    def n_actions(self, state: str) -> int:
        return len(self._actions(state)[0])

    def after(self, state: str, action: int) -> str:
        return self._actions(state)[0][action]

    def encoding(self, state: str, steps_left: int) -> np.ndarray:
        return np.append(fingerprint(state), np.float32(steps_left))

    def best(self, network: QNetwork, state: str, steps_left: int) -> tuple[int, float]:
        fingerprints = self._actions(state)[1]
        best, action = network(torch.nn.functional.pad(fingerprints, (0, 1), value=float(steps_left))).max(0)
        return int(action), float(best)

    def similarity(self, state: str) -> float:
        return tanimoto(self.fingerprint, fingerprint(state))

    def judge(self, state: str) -> Judgement | None:
        class_, asked = self.class_, self.ask(state)
        if asked is None or class_ < 0:
            return None
        p_target = 1 - float(asked[class_])
        return Judgement(reward(p_target, self.similarity(state)), int(asked.argmax()) != class_)

    def explained(self, state: str, judgement: Judgement) -> MoleculeCounterfactual:
        probabilities = self.probabilities[state]
        after = int(probabilities.argmax())
        return MoleculeCounterfactual(
            self.start, state, self.class_, after, float(probabilities[after]),
            self.similarity(state), judgement.reward, self.calls,
        )  # fmt: skip


def explain_molecule(
    smiles: str, oracle: MoleculeOracle, *, elements: Sequence[str] | None = None, recipe: Recipe = CPU_RECIPE,
    budget: int | None = None, seed: int = 0,
) -> list[MoleculeCounterfactual]:  # fmt: skip
    """The best counterfactuals of a molecule, best first, at most `recipe.keep`; empty where none was found.

    `elements` are those that may be added: give those of the data; without them, those of the molecule itself. With a
    `budget` the oracle is asked at most that often.
    """
    start = canonical(smiles)
    allowed = tuple(sorted(set(Molecule.from_smiles(start).elements if elements is None else elements)))
    environment = MoleculeEnvironment(start, oracle, allowed, budget)

    def judge(asked: list[tuple[int, str]]) -> list[Judgement | None]:
        return [environment.judge(state) for _, state in asked]

    (played,) = q_learning([environment], judge, recipe, [(seed, "meg molecule", start)])
    valid = [end for end in played.best if end.judgement.valid]
    return [environment.explained(end.state, end.judgement) for end in valid]
