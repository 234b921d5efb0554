"""MEG on molecules, for graphs whose molecules are known: against all single actions of RDKit, tried one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from torch import Tensor

pytest.importorskip("rdkit")

from rsgg.baselines.meg_molecules import MoleculeMEG
from rsgg.baselines.molecules import Molecule, actions, canonical, fingerprint, tanimoto
from rsgg.contract import check_explainer
from rsgg.counterfactual import Counterfactual
from rsgg.graph import GraphBatch
from rsgg.molecule_edits import smiles_of
from rsgg.oracles import CountingOracle
from rsgg.task import Problem
from tests.baselines.test_maccs import SALT, SMILES, HasElement, data, graphs, known


def explained(*positions: int, oracle: HasElement | None = None, **changes: Any) -> Sequence[Counterfactual]:
    explainer = MoleculeMEG(**{"episodes": 150, "molecules": known(), **changes})
    return explainer.explain(graphs(*positions), oracle or HasElement())


def has_nitrogen(smiles: str) -> bool:
    return "N" in Molecule.from_smiles(smiles).elements


@pytest.mark.parametrize("position", [4, 5, 6, 18])
def test_the_answer_is_one_action_away_and_more_similar_than_most_that_flip(position: int) -> None:
    """Of molecules with nitrogen: which actions take it away is known by trying them all."""
    start = canonical(SMILES[position])
    elements = sorted(set(Molecule.from_smiles(start).elements))
    flips = [one for one in actions(start, elements) if not has_nitrogen(one)]
    (result,) = explained(position)
    assert result.found == bool(flips)
    if result.found:
        found = smiles_of(result.returned)
        assert found in flips and result.returned.n_edges == int((Molecule.from_smiles(found).orders > 0).sum()) // 2
        similar = [tanimoto(fingerprint(start), fingerprint(one)) for one in flips]
        assert tanimoto(fingerprint(start), fingerprint(found)) == max(similar)


def test_no_element_is_added_that_the_molecule_does_not_have() -> None:
    (result,) = explained(0)
    assert not result.found and "of 150 episodes change the class" in result.reason


def test_the_oracle_decides() -> None:
    (nitrogen,), (oxygen,) = explained(6), explained(6, oracle=HasElement("O"))  # glycine has both
    assert nitrogen.found and not has_nitrogen(str(smiles_of(nitrogen.returned)))
    assert not oxygen.found, "it has two, and an action takes one away at most"


def test_a_salt_keeps_its_other_part() -> None:
    (result,) = explained(SALT, oracle=HasElement("O"), episodes=300, horizon=2)
    assert not result.found or "." in str(smiles_of(result.returned))


def test_a_budget_is_kept_and_what_is_not_known_is_a_sentence() -> None:
    (few,) = MoleculeMEG(molecules=known()).explain(graphs(9), CountingOracle(HasElement(), budget=3))
    assert few.calls <= 3 and not few.found and "budget" in few.reason
    (result,) = MoleculeMEG().explain(graphs(0), HasElement())
    assert result.reason == "it is not known which molecule the graph is"


def test_a_molecule_is_asked_about_once() -> None:
    shown: list[GraphBatch] = []

    class Noted(HasElement):
        def predict(self, graphs: GraphBatch) -> Tensor:
            shown.append(graphs)
            return super().predict(graphs)

    (result,) = explained(4, oracle=Noted())
    assert result.calls == sum(len(batch) for batch in shown) <= 1 + len(actions("CCN", ["C", "N"]))


def test_the_contract_holds_on_molecules() -> None:
    explainer = MoleculeMEG(episodes=6, molecules=known())
    check_explainer(explainer, Problem("made", data(), HasElement()))
