"""Rules of the domain are asked result by result: a neighbour in the fold that edits atoms takes no rule away."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.running.quality import _kept
from rsgg.constraints import KeepConnected
from rsgg.counterfactual import Counterfactual
from rsgg.edits import NodeEdit
from rsgg.feasibility import Sanitises
from rsgg.given import Given
from rsgg.graph import Graph
from rsgg.molecule_edits import SMILES

Chem = pytest.importorskip("rdkit.Chem")

NEOPENTANE = Chem.RWMol(Chem.MolFromSmiles("CC(C)(C)C"))  # neopentane: the middle atom has all its bonds
RULES = (KeepConnected(), Sanitises({"neopentane": NEOPENTANE}))


def graph(edges: list[tuple[int, int]], nodes: int = 5, says: str = "") -> Graph:
    adjacency = np.zeros((nodes, nodes), dtype=np.float32)
    for u, v in edges:
        adjacency[u, v] = adjacency[v, u] = 1
    given = Given(graph={SMILES: says}) if says else None
    return Graph(adjacency, name="neopentane", given=given)


STAR = [(0, 1), (1, 2), (1, 3), (1, 4)]
INPUT = graph(STAR)


def result(returned: Graph, *node_edits: NodeEdit) -> Counterfactual:
    return Counterfactual(INPUT, returned, 0, 0, "", 1, 0.0, node_edits=node_edits)


RING = result(graph([*STAR, (0, 2)]))  # a three-ring, which RDKit accepts
LEAF = result(graph([*STAR, (1, 5)], 6), NodeEdit("add", 1, 0))  # a fifth bond at the middle, by a new atom
APART = result(graph(STAR[1:]))


def test_bonds_are_judged_whatever_other_results_edit() -> None:
    alone, among = _kept([RING, APART], RULES), _kept([RING, LEAF, APART], RULES)
    for name, values in alone.items():
        np.testing.assert_array_equal(among[name][[0, 2]], values)
    assert alone["sanitised"].tolist() == [1, 1] and alone["connected"].tolist() == [1, 0]
    assert np.isnan(among["sanitised"][1]) and among["feasible"].tolist() == [1, 1, 0], "over fewer rules"
    assert np.isnan(among["degrees"]).all(), "a rule that is not among them"


def test_what_rdkit_refuses_is_not_feasible_beside_a_result_with_edits_of_nodes() -> None:
    four_bonds = result(graph([*STAR, (0, 2), (0, 3), (0, 4)]))
    fluorine = (KeepConnected(), Sanitises({"neopentane": Chem.RWMol(Chem.MolFromSmiles("FC(F)(F)F"))}))
    kept = _kept([four_bonds, LEAF], fluorine)  # a fluorine with four bonds
    assert kept["sanitised"][0] == 0 and kept["feasible"].tolist() == [0, 1] and kept["connected"].tolist() == [1, 1]


def test_the_molecule_that_a_method_names_is_read_and_not_its_bonds() -> None:
    edit = NodeEdit("relabel", 0, 1, 0)
    named, broken = (result(graph(STAR, says=smiles), edit) for smiles in ("NC(C)(C)C", "FC(C)(C)(C)(C)C"))
    kept = _kept([named, broken, LEAF], RULES)
    assert kept["sanitised"][:2].tolist() == [1, 0] and np.isnan(kept["sanitised"][2])
    assert kept["feasible"].tolist() == [1, 0, 1]
