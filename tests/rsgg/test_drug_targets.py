"""Drug-target pairs and the network that predicts their affinity: the rule by hand, the parts against PyG and torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.nn import GCNConv, global_mean_pool

from rsgg.data.drug_targets import AMINO_ACIDS, DrugTargets, Pairs, drawn_target, true_affinity, usable
from rsgg.data.molecules import Molecules
from rsgg.errors import DataError, OracleError
from rsgg.oracles import affinity
from rsgg.oracles.affinity import AffinityNetwork, AffinityOracle, fitted, r_squared, read_drugs, read_targets

pytest.importorskip("rdkit")

SMILES = [f"{'C' * i}{group}" for i in range(3, 12) for group in ("Oc1ccccc1", "C(=O)Nc1ccncc1", "C1CCCCC1N")]


@pytest.fixture
def without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few molecules take the place of BBBP."""
    monkeypatch.setattr(Molecules, "table", lambda self, data_dir=None: (SMILES, np.zeros(len(SMILES))))


def test_the_rule_by_hand() -> None:
    """Ethanol: a third of the atoms is polar, none aromatic, the rest aliphatic; the best windows have 4, 0 and 5."""
    target = "GGGG" + "KKKK" + "GGGG" + "LLLLLGGG"
    matched = 1 / 3 * 4 / 8 + 2 / 3 * 5 / 8
    expected = 5 + 5 / (1 + np.exp(-12 * (matched - 0.6)))
    assert true_affinity(("CCO",), (target,))[0, 0] == pytest.approx(expected)
    assert true_affinity(("CCO",), (target.replace("L", "A", 1),))[0, 0] < expected, "one residue less in the patch"


def test_what_can_be_a_drug() -> None:
    kept = usable(
        ["CCCCCCCCCCO", "OCCCCCCCCCC", "CCO", "CCCCCCCCCC[O-]", "CCCCC.CCCCCC", "CCCCCCCCCC[Si]", "no molecule"]
    )
    assert kept == ["CCCCCCCCCCO"]


@pytest.mark.usefixtures("without_files")
def test_pairs_are_drawn_by_name() -> None:
    spec = DrugTargets(n_drugs=12, lengths=(20, 50), per_length=2)
    pairs, again, other = spec.load(), spec.load(), DrugTargets(12, (20, 50), 2, seed=1).load()
    assert pairs.drugs == again.drugs and pairs.targets == again.targets and (pairs.affinity == again.affinity).all()
    assert pairs.targets != other.targets and pairs.drugs != other.drugs
    assert [len(target) for target in pairs.targets] == [20, 20, 50, 50] and len(set(pairs.drugs)) == 12
    noise = pairs.affinity - true_affinity(pairs.drugs, pairs.targets)
    assert 0.05 < noise.std() < 0.15


@pytest.mark.usefixtures("without_files")
def test_impossible_pairs_are_sentences() -> None:
    with pytest.raises(DataError, match="at least 8 residues"):
        DrugTargets(lengths=(5,))
    with pytest.raises(DataError, match="BBBP has 27 that can be used"):
        DrugTargets(n_drugs=28).load()


# -- the network ---------------------------------------------------------------------------------------------------


def small_oracle() -> AffinityOracle:
    torch.manual_seed(0)
    return AffinityOracle(AffinityNetwork().double().eval().requires_grad_(False), 7.0, float("nan"))


def test_a_drug_is_encoded_as_by_pyg() -> None:
    oracle = small_oracle()
    features, bonds = read_drugs(SMILES[:3])
    u = torch.repeat_interleave(torch.arange(len(features)), bonds.degrees)
    x, graph = features.double(), torch.repeat_interleave(torch.arange(3), bonds.sizes)
    conv: Any
    for conv, norm in zip(oracle.network.drug.convs, oracle.network.drug.bns, strict=True):
        theirs = GCNConv(*conv.weight.shape).double()
        theirs.lin.weight.data, theirs.bias.data = conv.weight.T.clone(), conv.bias.clone()
        x = norm(theirs(x, torch.stack((bonds.neighbours, u)))).relu()
    expected = oracle.network.drug.fc(global_mean_pool(x, graph))
    assert torch.allclose(oracle.encode_drugs(SMILES[:3]), expected)


def test_a_target_is_read_window_by_window_and_alone() -> None:
    """What else is in the batch does not matter: windows beyond the end of a sequence do not count."""
    oracle, rng = small_oracle(), np.random.default_rng(0)
    targets = [drawn_target(length, rng) for length in (8, 30, 12)]
    together = oracle.encode_targets(targets)
    network = oracle.network
    for target, encoded in zip(targets, together, strict=True):
        residues = network.embedding(read_targets([target]))[0]
        windows = [
            (network.conv.weight * residues[i : i + 8].T).sum((1, 2)) + network.conv.bias
            for i in range(len(target) - 7)
        ]
        assert torch.allclose(encoded, network.target(torch.stack(windows).relu().amax(0)))
        assert torch.allclose(encoded, oracle.encode_targets([target])[0])


def test_all_pairs_are_joined_from_encodings_of_each_side() -> None:
    oracle, targets = small_oracle(), ["MKVLAAGIW", "DDDDKKKKLLLL"]
    table = oracle.join(oracle.encode_drugs(SMILES[:2])[:, None], oracle.encode_targets(targets)[None])
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        assert float(oracle.predict([SMILES[i]], [targets[j]])) == pytest.approx(float(table[i, j]))


def test_what_cannot_be_read_is_a_sentence() -> None:
    with pytest.raises(OracleError, match="at least 8 of the residues"):
        read_targets(["MKVLAAGIWX"])
    with pytest.raises(OracleError, match="not a molecule"):
        read_drugs(["C(("])


def test_r_squared() -> None:
    true = torch.tensor([1.0, 2.0, 3.0])
    assert r_squared(true, true) == 1 and r_squared(torch.full((3,), 2.0), true) == 0
    assert r_squared(torch.tensor([1.0, 2.0, 4.0]), true) == pytest.approx(0.5)


@pytest.mark.usefixtures("without_files")
def test_the_network_learns_is_kept_and_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RSGG_ORACLES", str(tmp_path))
    monkeypatch.setattr(affinity, "STEPS", 120)
    pairs = DrugTargets(n_drugs=27, lengths=(30,), per_length=4).load()
    first = fitted(pairs)
    assert first.r2 > 0.6, "on drugs that it has not seen"
    assert len(list(tmp_path.glob("affinity-*.npz"))) == 1
    monkeypatch.setattr(affinity, "_train", lambda *_: pytest.fail("trained again"))
    again = fitted(pairs)
    assert again.r2 == first.r2
    assert torch.equal(
        first.predict(pairs.drugs[:2], pairs.targets[:2]), again.predict(pairs.drugs[:2], pairs.targets[:2])
    )
    with pytest.raises(OracleError, match="too few"):
        fitted(Pairs(pairs.drugs[:4], pairs.targets, pairs.affinity[:4]))


def test_residues_are_the_twenty() -> None:
    assert len(AMINO_ACIDS) == len(set(AMINO_ACIDS)) == 20
