"""A network that predicts how strongly a drug binds a target: a small relative of GraphDTA (Nguyen et al. 2021).

Two parts that never see each other read the pair, and a third joins what they say:

    x = W mean_v GCN³(molecule) + b,      t = V max_i relu(conv(sequence))_i + c,      affinity = MLP([x, t])

GraphDTA has the same shape, wider (`docs/evidence.md`). That the pair is read in two parts matters to who explains it:
all pairs of D drugs and T targets take D + T encodings and a small network on D · T pairs of vectors.

It is trained on the pairs of four fifths of the drugs; R² is measured on the pairs of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from rsgg.data.drug_targets import AMINO_ACIDS, ELEMENTS, Pairs
from rsgg.data.molecules import load_rdkit
from rsgg.errors import OracleError
from rsgg.oracles.gnn import one_thread
from rsgg.oracles.networks import GraphClassifier, ListedNeighbours
from rsgg.oracles.weights import Weights, address, trained_once
from rsgg.seeds import numpy_rng, seed_for

VERSION = 1  # part of the name of cached weights: raise it when training changes
WIDTH, EMBEDDING, FILTER = 32, 16, 8
STEPS, LEARNING_RATE, WEIGHT_DECAY = 400, 0.01, 1e-4
HELD_OUT = 0.2  # of the drugs
ATOM_FEATURES = len(ELEMENTS) + 4  # the element, aromatic, in a ring, hydrogens, bonds
AT_ONCE = 64  # sequences that are read at a time


def read_drugs(smiles: Sequence[str]) -> tuple[Tensor, ListedNeighbours]:
    """Features of the atoms of all molecules, [n, ATOM_FEATURES], and their bonds."""
    chem, _ = load_rdkit()
    features: list[list[float]] = []
    neighbours: list[int] = []
    degrees, sizes = [], []
    for text in smiles:
        molecule = chem.MolFromSmiles(text)
        if molecule is None or not molecule.GetNumAtoms():
            raise OracleError(f"{text!r} is not a molecule that RDKit can read; give a valid SMILES string.")
        start = len(features)
        sizes.append(molecule.GetNumAtoms())
        for atom in molecule.GetAtoms():
            element = [float(atom.GetSymbol() == known) for known in ELEMENTS]
            counts = [atom.GetTotalNumHs() / 4, atom.GetDegree() / 4]
            features.append([*element, float(atom.GetIsAromatic()), float(atom.IsInRing()), *counts])
            bound = sorted(other.GetIdx() for other in atom.GetNeighbors())
            degrees.append(len(bound))
            neighbours += [start + v for v in bound]
    listed = ListedNeighbours(np.array(neighbours, dtype=np.int64), np.array(degrees), np.array(sizes))
    return torch.tensor(features), listed


def read_targets(sequences: Sequence[str]) -> Tensor:
    """Residues as numbers from 1 on, 0 behind the end of a sequence, int64 [B, longest]."""
    numbers = {residue: i for i, residue in enumerate(AMINO_ACIDS, 1)}
    unknown = {residue for sequence in sequences for residue in sequence} - numbers.keys()
    if unknown or any(len(sequence) < FILTER for sequence in sequences):
        raise OracleError(
            f"A target is a sequence of at least {FILTER} of the residues {AMINO_ACIDS}; give only these."
        )
    longest = max(map(len, sequences))
    rows = [[numbers[residue] for residue in one] + [0] * (longest - len(one)) for one in sequences]
    return torch.tensor(rows)


class AffinityNetwork(nn.Module):
    """Encodings of drugs and of targets, [B, 32] each, and the network that joins them."""

    def __init__(self) -> None:
        super().__init__()
        self.drug = GraphClassifier("gcn", ATOM_FEATURES, WIDTH, width=WIDTH, pooling="mean")
        self.embedding = nn.Embedding(len(AMINO_ACIDS) + 1, EMBEDDING, padding_idx=0)
        self.conv = nn.Conv1d(EMBEDDING, WIDTH, FILTER)
        self.target = nn.Linear(WIDTH, WIDTH)
        self.head = nn.Sequential(
            nn.Linear(2 * WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)
        )

    def encode_targets(self, residues: Tensor) -> Tensor:
        """Windows that reach beyond the end of a sequence do not count."""
        seen = self.conv(self.embedding(residues).transpose(1, 2)).relu()
        whole = (residues > 0)[:, FILTER - 1 :, None].transpose(1, 2)
        encoded: Tensor = self.target((seen * whole).amax(2))  # after ReLU nothing is below 0
        return encoded

    def join(self, drugs: Tensor, targets: Tensor) -> Tensor:
        """Affinities of pairs of encodings, [...]; the two broadcast."""
        pairs = torch.cat(torch.broadcast_tensors(drugs, targets), -1)
        affinity: Tensor = self.head(pairs)[..., 0]
        return affinity


@dataclass(frozen=True)
class AffinityOracle:
    """A trained network with float64 weights. `r2` is that of the pairs of held-out drugs."""

    network: AffinityNetwork
    mean: float
    r2: float

    @torch.no_grad()
    def encode_drugs(self, smiles: Sequence[str]) -> Tensor:
        """What the network makes of each drug, float64 [B, 32]."""
        features, bonds = read_drugs(smiles)
        encoded: Tensor = self.network.drug(features.double(), bonds)
        return encoded

    @torch.no_grad()
    def encode_targets(self, sequences: Sequence[str]) -> Tensor:
        """What the network makes of each target, float64 [B, 32]."""
        parts = [sequences[i : i + AT_ONCE] for i in range(0, len(sequences), AT_ONCE)]
        return torch.cat([self.network.encode_targets(read_targets(part)) for part in parts])

    @torch.no_grad()
    def join(self, drugs: Tensor, targets: Tensor) -> Tensor:
        """Predicted affinities of pairs of encodings, float64; the two broadcast."""
        return self.mean + self.network.join(drugs, targets)

    def predict(self, smiles: Sequence[str], sequences: Sequence[str]) -> Tensor:
        """Predicted affinities of pairs, float64 [B]."""
        return self.join(self.encode_drugs(smiles), self.encode_targets(sequences))


def fitted(pairs: Pairs, seed: int = 0) -> AffinityOracle:
    """Train the network on these pairs, or find its weights (`rsgg.oracles.weights`).

    Adam minimises the mean squared error over all pairs of the training drugs at once, for 400 steps with a cosine
    schedule.
    """
    affinity = torch.from_numpy(pairs.affinity)
    shuffled = torch.from_numpy(numpy_rng("affinity", seed, "held out").permutation(len(pairs.drugs)))
    aside = round(HELD_OUT * len(shuffled))
    held_out, training = shuffled[:aside], shuffled[aside:]
    if not 1 < aside < len(shuffled):
        raise OracleError(f"{len(pairs.drugs)} drugs are too few to train on and to measure R²; give eight or more.")
    mean = float(affinity[training].mean())
    with one_thread(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for("affinity", seed))
        network = AffinityNetwork()

        def train() -> Weights:
            _train(network, [pairs.drugs[i] for i in training.tolist()], pairs.targets, affinity[training] - mean)
            return network.state_dict()

        recipe = [VERSION, WIDTH, EMBEDDING, FILTER, STEPS, LEARNING_RATE, WEIGHT_DECAY, HELD_OUT, seed]
        about = [recipe, list(pairs.drugs), list(pairs.targets)]
        network.load_state_dict(trained_once(f"affinity-{address(about, affinity)}", train))
    network = network.double().eval().requires_grad_(False)
    oracle = AffinityOracle(network, mean, float("nan"))
    drugs = oracle.encode_drugs([pairs.drugs[i] for i in held_out.tolist()])
    predicted = oracle.join(drugs[:, None], oracle.encode_targets(pairs.targets)[None])
    return AffinityOracle(network, mean, r_squared(predicted, affinity[held_out]))


def _train(network: AffinityNetwork, drugs: Sequence[str], targets: Sequence[str], affinity: Tensor) -> None:
    features, bonds = read_drugs(drugs)
    by_length: dict[int, list[str]] = {}  # sequences of one length are read together, so that nothing is padded
    for target in sorted(targets, key=len):
        by_length.setdefault(len(target), []).append(target)
    order = [targets.index(target) for group in by_length.values() for target in group]
    residues, wanted = [read_targets(group) for group in by_length.values()], affinity[:, order].float()
    optimizer = torch.optim.Adam(network.parameters(), lr=LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
    for _ in range(STEPS):
        optimizer.zero_grad()
        encoded = torch.cat([network.encode_targets(group) for group in residues])
        predicted = network.join(network.drug(features, bonds)[:, None], encoded[None])
        (predicted - wanted).square().mean().backward()
        optimizer.step()
        schedule.step()


def r_squared(predicted: Tensor, true: Tensor) -> float:
    """1 - Σ (predicted - true)² / Σ (true - mean)²."""
    return float(1 - (predicted - true).square().sum() / (true - true.mean()).square().sum())
