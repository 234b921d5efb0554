"""MEG on molecules: every action is a molecule, aromatic bonds stay, and easy cases are solved."""

import re
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

Chem = pytest.importorskip("rdkit.Chem")

from rsgg.baselines.meg import QNetwork, Recipe  # noqa: E402
from rsgg.baselines.molecules import (  # noqa: E402
    CPU_RECIPE,
    FingerprintOracle,
    Molecule,
    MoleculeEnvironment,
    actions,
    canonical,
    explain_molecule,
    fingerprint,
    graph_oracle,
    tanimoto,
)
from rsgg.errors import GraphError, UsageError  # noqa: E402
from rsgg.graph import GraphBatch  # noqa: E402
from rsgg.oracles.oracle import Oracle  # noqa: E402

MOLECULES = [
    "C", "CC", "CCC", "CCCC", "CCCCC", "CC(C)C", "C=C", "C=CC", "C#C", "CO", "CCO", "CCCO", "CC(C)O", "OCCO", "C=O",
    "CC=O", "CC(C)=O", "CC(=O)O", "CCC(=O)O", "CCOC(C)=O", "COC", "CCOCC", "CN", "CCN", "CCCN", "CNC", "CN(C)C",
    "NCCN", "NC=O", "CC(N)=O", "NCC(=O)O", "CC(N)C(=O)O", "CC#N", "C1CCCC1", "C1CCCCC1", "C1CCNCC1", "C1CCOC1",
    "C1COCCN1", "c1ccccc1", "Cc1ccccc1", "Oc1ccccc1", "Nc1ccccc1", "OC(=O)c1ccccc1", "COc1ccccc1", "c1ccncc1",
    "c1cc[nH]c1", "c1ccoc1", "c1c[nH]cn1", "c1ccc2ccccc2c1", "CC(=O)Nc1ccc(O)cc1", "CC(=O)Oc1ccccc1C(=O)O", "C[NH3+]",
    "CC(=O)[O-]", "O=c1cccc[nH]1", "CCCCCCO",
]  # fmt: skip
ELEMENTS = ("C", "N", "O")


def has_nitrogen(smiles: Sequence[str]) -> Tensor:
    """Class 1 iff there is a nitrogen, read off the text."""
    contains = torch.tensor([float("N" in one or "n" in one) for one in smiles])
    return torch.stack((1 - contains, contains), 1)


def quick(**changes: Any) -> Recipe:
    return Recipe(**{**CPU_RECIPE.__dict__, "episodes": 40, "decay": 0.95, "batch": 4, **changes})


# -- graphs and fingerprints -------------------------------------------------------------------------------


@pytest.mark.parametrize("smiles", MOLECULES)
def test_molecules_survive_the_way_to_a_graph_and_back(smiles: str) -> None:
    molecule = Molecule.from_smiles(smiles)
    reference = Chem.MolFromSmiles(smiles)
    assert molecule.to_smiles() == canonical(smiles) == Chem.MolToSmiles(reference)
    graph = molecule.graph(ELEMENTS)
    assert np.array_equal(graph.adjacency, Chem.GetAdjacencyMatrix(reference))
    assert graph.features is not None and (graph.features[:, :3].sum(1) == 1).all()


def test_what_is_no_molecule_is_refused_with_a_sentence() -> None:
    with pytest.raises(GraphError, match="is not a molecule"):
        explain_molecule("C(C", has_nitrogen)
    with pytest.raises(GraphError, match="atoms of Cl"):
        Molecule.from_smiles("CCl").graph(ELEMENTS)


def test_tanimoto_agrees_with_rdkit() -> None:
    from rdkit import DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=1024)
    for a, b in pairwise(MOLECULES):
        expected = DataStructs.TanimotoSimilarity(*[generator.GetFingerprint(Chem.MolFromSmiles(s)) for s in (a, b)])
        assert tanimoto(fingerprint(a), fingerprint(b)) == pytest.approx(expected)


# -- actions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smiles", MOLECULES)
def test_every_action_gives_one_whole_molecule(smiles: str) -> None:
    before = Chem.MolFromSmiles(smiles)
    aromatic = sum(bond.GetIsAromatic() for bond in before.GetBonds())
    successors = actions(smiles, ELEMENTS)
    assert canonical(smiles) in successors and len(successors) == len(set(successors)) > 1
    for successor in successors:
        after = Chem.MolFromSmiles(successor, sanitize=False)
        Chem.SanitizeMol(after)  # raises if it is none
        assert Chem.MolToSmiles(after) == successor and "." not in successor
        assert not any(atom.GetNumRadicalElectrons() for atom in after.GetAtoms())
        assert abs(after.GetNumAtoms() - before.GetNumAtoms()) <= 1
        # aromatic bonds are not touched (closing a ring may make new ones)
        assert sum(bond.GetIsAromatic() for bond in after.GetBonds()) >= aromatic


def test_actions_of_ethanol_by_hand() -> None:
    found = actions("CCO", ("C",))
    added = {"CCCO", "CC(C)O", "CCOC", "C=CCO", "C#CCO", "C=C(C)O"}
    raised = {"C=CO", "C#CO", "CC=O"}
    lowered = {"CO", "CC"}
    assert set(found) == added | raised | lowered | {"CCO"}


def test_rings_of_five_and_six_are_closed_and_benzene_is_left_alone() -> None:
    assert "C1CCCC1" in actions("CCCCC", ("C",)) and "C1CCCCC1" in actions("CCCCCC", ("C",))
    assert not any("1" in one for one in actions("CCCC", ("C",)))
    assert "C1CCCCCC1" not in actions("CCCCCCC", ("C",))
    assert set(actions("c1ccccc1", ELEMENTS)) == {"c1ccccc1", "Cc1ccccc1", "Nc1ccccc1", "Oc1ccccc1"}


@pytest.mark.parametrize(("one", "other"), [("CCO", "CN"), ("OC(=O)C", "O"), ("CCN", "Cl"), ("C[NH3+]", "[Cl-]")])
def test_of_a_salt_one_part_is_edited_and_the_other_stays(one: str, other: str) -> None:
    expected = {canonical(f"{edited}.{other}") for edited in actions(one, ELEMENTS)}
    expected |= {canonical(f"{one}.{edited}") for edited in actions(other, ELEMENTS)}
    assert set(actions(f"{one}.{other}", ELEMENTS)) == expected


SALTS = (  # two of the fifty drugs that MACDA's repository has for ABL1: a lactate with water, and a sulfonate
    "CC(O)C(=O)O.CN1CCN(c2ccc3c(c2)NC(=C2C(=O)N=c4cccc(F)c4=C2N)N3)CC1.O",
    "COc1cc(Nc2ncc(F)c(Nc3ccc4c(n3)NC(=O)C(C)(C)O4)n2)cc(OC)c1OC.O=S(=O)(O)c1ccccc1",
)


@pytest.mark.parametrize("smiles", SALTS)
def test_drugs_in_several_parts_can_be_edited(smiles: str) -> None:
    found = actions(smiles, ("C", "F", "N", "O", "S"))
    assert len(found) > 50
    assert {one.count(".") for one in found} == {smiles.count(".")}


# -- searches ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("smiles", ["CCO", "Cc1ccccc1", "CCN", "C1CCCC1"])
def test_nitrogen_is_added_or_removed_with_one_edit(smiles: str) -> None:
    """With one-step episodes, as the original has them; the best of all single edits is known by trying them all."""
    results = explain_molecule(smiles, has_nitrogen, elements=ELEMENTS, recipe=quick(episodes=150, horizon=1))
    best, input_ = results[0], canonical(smiles)
    had = "N" in input_.upper()
    flips = [one for one in actions(input_, ELEMENTS) if ("N" in one.upper()) != had]
    similarity = {one: tanimoto(fingerprint(input_), fingerprint(one)) for one in flips}
    assert all(r.smiles in flips for r in results)
    assert [r.reward for r in results] == sorted((r.reward for r in results), reverse=True)
    assert (best.class_before, best.class_after) == (int(had), int(not had))
    assert best.similarity == pytest.approx(similarity[best.smiles]) and best.probability == 1
    assert best.reward == pytest.approx(0.9 * (0.8 + 0.2 * best.similarity))
    assert best.similarity >= np.median(list(similarity.values()))


def test_two_edits_are_taken_where_they_stay_closer() -> None:
    """Ethylamine becomes propane by losing its nitrogen and gaining a carbon: closer to it than ethane is."""
    best = explain_molecule("CCN", has_nitrogen, elements=ELEMENTS, recipe=quick())[0]
    assert best.smiles == "CCC" and best.smiles not in actions("CCN", ELEMENTS)
    (alone,) = [one for one in actions("CCN", ELEMENTS) if "N" not in one]
    assert best.similarity > tanimoto(fingerprint("CCN"), fingerprint(alone))


def test_same_seed_same_molecules() -> None:
    a, b = (explain_molecule("CCO", has_nitrogen, elements=ELEMENTS, recipe=quick(), seed=3) for _ in range(2))
    assert a == b
    torch.manual_seed(99)
    assert explain_molecule("OCC", has_nitrogen, elements=ELEMENTS, recipe=quick(), seed=3) == a  # the same molecule


def test_a_trained_fingerprint_oracle_is_explained() -> None:
    labels = has_nitrogen(MOLECULES).argmax(1).tolist()
    oracle = FingerprintOracle().fit(MOLECULES, labels)
    assert (oracle(MOLECULES).argmax(1) == torch.tensor(labels)).float().mean() > 0.95
    asked: list[str] = []

    def spy(smiles: Sequence[str]) -> Tensor:
        asked.extend(smiles)
        return oracle(smiles)

    results = explain_molecule("CCCO", spy, elements=ELEMENTS, recipe=quick())
    assert results and results[0].calls == len(asked) == len(set(asked))
    for r in results:
        before, after = oracle([r.input, r.smiles]).argmax(1).tolist()
        assert (r.class_before, r.class_after) == (before, after) == (0, 1)
    other = explain_molecule("CCCO", lambda smiles: oracle(smiles).flip(1), elements=ELEMENTS, recipe=quick())
    assert other[0].class_before == 1  # another oracle, another result


def test_an_oracle_on_graphs_reads_atoms_and_bonds() -> None:
    class ManyOxygens(Oracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            assert graphs.features is not None
            return (graphs.features[:, :, ELEMENTS.index("O")].sum(1) > 1).long()

    oracle = graph_oracle(ManyOxygens(), ELEMENTS)
    assert oracle(["CCO", "OCCO", "CC(=O)O"]).argmax(1).tolist() == [0, 1, 1]
    best = explain_molecule("CCO", oracle, elements=ELEMENTS, recipe=quick())[0]
    assert best.smiles.upper().count("O") == 2


def test_a_budget_is_kept() -> None:
    for budget in (0, 1, 5):
        asked: list[str] = []

        def spy(smiles: Sequence[str], asked: list[str] = asked) -> Tensor:
            asked.extend(smiles)
            return has_nitrogen(smiles)

        explain_molecule("CCO", spy, elements=ELEMENTS, recipe=quick(), budget=budget)
        assert len(asked) == budget


def test_the_network_reads_fingerprints_and_steps_left() -> None:
    environment = MoleculeEnvironment("CCO", has_nitrogen, ELEMENTS)
    assert environment.n_actions("CCO") == len(actions("CCO", ELEMENTS))
    rows = [environment.encoding(environment.after("CCO", i), 2) for i in range(environment.n_actions("CCO"))]
    for i, row in enumerate(rows):
        assert row.shape == (1025,) and row.dtype == np.float32
        assert np.array_equal(row[:-1], fingerprint(environment.after("CCO", i))) and row[-1] == 2
    network = QNetwork(environment.width, 0)
    values = network(torch.from_numpy(np.stack(rows)))
    action, value = environment.best(network, "CCO", 2)
    assert action == int(values.argmax()) and value == pytest.approx(float(values.max()), abs=1e-6)


def test_without_rdkit_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(UsageError, match=r'pip install "rsgg\[molecules\]"'):
        explain_molecule("CCO", has_nitrogen)


def test_the_example_of_the_manual_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "manual" / "explain.md").read_text(encoding="utf-8")
    (source,) = (block for block in re.findall(r"```py\n(.*?)```", text, flags=re.S) if "molecules" in block)
    exec(compile(source, "explain.md", "exec"), {})
    first = capsys.readouterr().out.splitlines()[0].split()
    assert "N" in first[0] and 0 < float(first[1]) <= 1
