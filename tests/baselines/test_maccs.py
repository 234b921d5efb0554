"""MACCS: changed texts are molecules, the nearest of another class is the answer, clusters are as they are defined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

Chem = pytest.importorskip("rdkit.Chem")
pytest.importorskip("selfies")

from rsgg.baselines.maccs import (  # noqa: E402
    MACCS,
    NOISE,
    OTHER_ELEMENT,
    Base,
    alphabet,
    changed,
    dbscan,
    distances,
    plane,
    similarities,
)
from rsgg.contract import check_explainer  # noqa: E402
from rsgg.counterfactual import Counterfactual  # noqa: E402
from rsgg.data.dataset import Dataset  # noqa: E402
from rsgg.data.molecules import SINGLE, read_smiles  # noqa: E402
from rsgg.errors import UsageError  # noqa: E402
from rsgg.graph import GraphBatch  # noqa: E402
from rsgg.molecule_edits import (  # noqa: E402
    KnownMolecules,
    MoleculeGraph,
    as_edits,
    ecfp4,
    molecular_similarity,
    questions,
    smiles_of,
)
from rsgg.oracles import CountingOracle, Oracle  # noqa: E402
from rsgg.seeds import numpy_rng  # noqa: E402
from rsgg.task import Problem  # noqa: E402

SMILES = (
    "CCO", "CCCO", "CC(C)=O", "OCCO", "CCN", "CCCN", "NCC(=O)O", "CC#N", "c1ccccc1", "Cc1ccccc1", "Nc1ccccc1",
    "c1cc[nH]c1", "C1CCNCC1", "COc1ccccc1", "C[N+](C)(C)C", "CC(=O)[O-].C[NH3+]", "CSC", "CCCl", "CC(N)C", "OC1CCCC1",
)  # fmt: skip
SALT = 15


@lru_cache
def data() -> Dataset:
    return read_smiles("made", list(SMILES), np.arange(len(SMILES)) % 2).dataset("made", SINGLE, {})


@lru_cache
def known() -> KnownMolecules:
    return KnownMolecules({f"made/{i}": smiles for i, smiles in enumerate(SMILES)}, data().feature_names)


def graphs(*positions: int) -> GraphBatch:
    return data().graphs.select(torch.tensor(positions)) if positions else data().graphs


class HasElement(Oracle):
    """Class 1 iff an atom is of this element; what it was shown is noted."""

    name = "has-element"
    reads_only = True

    def __init__(self, symbol: str = "N") -> None:
        self.column = data().feature_names.index(symbol)
        self.batches: list[GraphBatch] = []

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.batches.append(graphs)
        assert graphs.features is not None
        return graphs.features[:, :, self.column].any(1).long()


def quick(**changes: Any) -> MACCS:
    return MACCS(**{"samples": 60, "molecules": known(), **changes})


def explained(
    *positions: int, k: int = 1, seed: int = 0, oracle: Oracle | None = None, **changes: Any
) -> Sequence[Counterfactual]:
    return quick(**changes).explain(graphs(*positions), oracle or HasElement(), k=k, seed=seed)


def alike(a: Sequence[Counterfactual], b: Sequence[Counterfactual]) -> bool:
    said = [[smiles_of(one.returned) for one in results] for results in (a, b)]
    return said[0] == said[1] and [one.calls for one in a] == [one.calls for one in b]


# -- answers -----------------------------------------------------------------------------------------------


def test_a_molecule_without_nitrogen_gets_one_by_a_single_change() -> None:
    results = explained(0, 3, 4, 9, 12, 13, mutations=1, samples=150)
    assert all(result.found for result in results)
    for result in results:
        smiles = smiles_of(result.returned)
        assert smiles is not None and ("N" in smiles.upper().replace("[NA", "")) == (result.before == 0)
    assert results[0].before == 0 and sum(edit.cost for edit in results[0].node_edits) + len(results[0].edits) <= 2


def test_every_answer_is_a_molecule_that_was_asked_about_and_is_the_returned_graph() -> None:
    oracle = HasElement()
    columns = {element: column for column, element in enumerate(known().elements)}
    for result in explained(*range(0, len(SMILES), 2), oracle=oracle, k=2):
        if not result.found:
            continue
        smiles = smiles_of(result.returned)
        assert smiles is not None
        molecule = Chem.MolFromSmiles(smiles)  # sanitised, or None
        assert molecule is not None
        graph = MoleculeGraph.of(molecule, smiles, columns)
        assert graph is not None and graph.adjacency.sum() == result.returned.adjacency.sum()
        returned = GraphBatch.of([result.returned])
        assert int(HasElement().predict(returned)[0]) != result.before
        assert returned.features is not None and returned.edge_features is not None
        x = returned.features[0]
        shown = [
            one for batch in oracle.batches for one in batch
            if one.n_nodes == result.returned.n_nodes and one.n_edges == result.returned.n_edges
            and one.features is not None and np.array_equal(one.features.sum(0), x.sum(0).numpy())
        ]  # fmt: skip
        assert shown
        bonds = Counter(int(returned.edge_features[0, u, v]) for u, v in result.returned.edges())
        assert bonds == Counter(int(graph.bonds[u, v]) for u, v in np.argwhere(np.triu(graph.adjacency)))


def test_the_answer_is_the_most_similar_molecule_of_another_class() -> None:
    """Against all molecules that the oracle was asked about, with RDKit's similarities."""
    explainer = quick(samples=80)
    (result,) = explainer.explain(graphs(13), HasElement())
    made, _ = explainer._made(Base.of(SMILES[13], alphabet()), columns(), (0, "maccs", "made/13"))
    base = Chem.MolFromSmiles(SMILES[13])
    with_nitrogen = [one for one in made if any(atom.GetSymbol() == "N" for atom in one.molecule.GetAtoms())]
    best = max(molecular_similarity(base, one.molecule) for one in with_nitrogen)
    assert molecular_similarity(base, Chem.MolFromSmiles(smiles_of(result.returned))) == pytest.approx(best)
    assert result.calls == 1 + len(made)


def columns() -> dict[str, int]:
    return {element: column for column, element in enumerate(known().elements)}


def test_the_oracle_decides() -> None:
    a, b = explained(0, 1, 9, 13), explained(0, 1, 9, 13, oracle=HasElement("S"))
    assert all(result.found for result in (*a, *b)) and not alike(a, b)


def test_the_seed_decides_and_nothing_else() -> None:
    first = explained(0, 9, 13)
    assert alike(first, explained(0, 9, 13))
    assert not alike(first, explained(0, 9, 13, seed=1))
    assert alike(explained(9), [first[1]])


def test_all_molecules_of_a_graph_are_one_question() -> None:
    oracle = HasElement()
    explained(0, 9, oracle=oracle)
    assert len(oracle.batches) == 3 and len(oracle.batches[0]) == 2  # the inputs, then one batch for each graph


def test_other_parts_of_a_salt_stay() -> None:
    (result,) = explained(SALT)  # acetate and methylammonium: of two parts, the larger one is changed
    smiles = smiles_of(result.returned)
    assert smiles is None and not result.found  # the nitrogen is in the other part, which stays
    (result,) = explained(SALT, oracle=HasElement("S"))
    smiles = smiles_of(result.returned)
    assert smiles is not None and "C[NH3+]" in smiles.split(".") and "S" in smiles


def test_a_budget_is_for_the_most_similar() -> None:
    counted = CountingOracle(HasElement(), budget=20)
    (result,) = quick().explain(graphs(9), counted)
    assert result.calls == 20
    (free,) = quick().explain(graphs(9), HasElement())
    assert free.calls > 20
    if result.found:
        assert smiles_of(result.returned) == smiles_of(free.returned)
    (nothing,) = quick().explain(graphs(9), CountingOracle(HasElement(), budget=1))
    assert not nothing.found and "budget" in nothing.reason


def test_further_candidates_differ() -> None:
    results = [one for one in explained(9, 13, k=3) if one.found]
    said = [(one.instance, smiles_of(one.returned)) for one in results]
    assert len(said) == len(set(said)) >= 4
    first = [one for one in results if one.candidate == 0]
    assert alike(first, explained(9, 13)) or [smiles_of(o.returned) for o in first] == [
        smiles_of(o.returned) for o in explained(9, 13)
    ]


# -- what cannot be explained ------------------------------------------------------------------------------


def test_it_says_which_molecules_it_cannot_explain() -> None:
    (unknown,) = MACCS().explain(graphs(0), HasElement())
    assert unknown.reason == "it is not known which molecule the graph is"
    tin = KnownMolecules({"made/0": "C[Sn](C)C"}, (*known().elements, "Sn"))
    (result,) = quick(molecules=tin).explain(graphs(0), HasElement())
    assert result.reason == "The alphabet of SELFIES has no Sn, which the molecule has"


def test_elements_that_the_graphs_do_not_have_are_dropped_and_counted() -> None:
    few = KnownMolecules(known().smiles, tuple(e if e in ("C", "O", "N") else "" for e in known().elements))
    explainer, oracle = quick(molecules=few, samples=200), HasElement()
    explainer.explain(graphs(0), oracle)
    assert explainer.dropped_[OTHER_ELEMENT] > 0
    asked = oracle.batches[1].features
    allowed = [column for column, e in enumerate(few.elements) if e]
    assert asked is not None and asked[:, :, allowed].sum() == asked.sum()


def test_the_contract_holds_on_molecules() -> None:
    problem = Problem("made", data(), HasElement())
    check_explainer(quick(samples=12), problem)


# -- texts -------------------------------------------------------------------------------------------------


def test_the_basic_alphabet_is_that_of_the_paper() -> None:
    tokens = alphabet().tokens
    assert "[O-1]" in tokens and not {"[P]", "[=B]", "[N+1]", "[C-1]"} & set(tokens)
    assert alphabet().elements == {"H", "F", "Cl", "Br", "I", "O", "N", "C", "S"}
    assert set(tokens) - {"[O-1]"} < set(alphabet("full").tokens)


def test_a_change_is_one_token_inserted_replaced_or_deleted() -> None:
    rng, text = numpy_rng("changes"), ["[C]", "[C]", "[O]", "[C]"]
    lengths = Counter[int]()
    for _ in range(600):
        made, molecule = changed(text, alphabet().tokens, rng)
        lengths[len(made) - len(text)] += 1
        assert molecule is not None and Chem.SanitizeMol(molecule) == 0
        kept = max(sum(made[:i] == text[:i] for i in range(5)), 1) - 1
        assert made[kept + (len(made) >= len(text)) :] == text[kept + (len(made) <= len(text)) :] or made == text
    assert set(lengths) == {-1, 0, 1} and min(lengths.values()) > 150


def test_random_texts_are_texts_of_the_same_molecule() -> None:
    import selfies

    base = Base.of("CC(=O)Nc1ccc(O)cc1", alphabet())
    texts = base.texts(20, seed=3)
    assert len({"".join(text) for text in texts}) > 10 and base.texts(20, seed=3) == texts
    decoded = {Chem.MolToSmiles(Chem.MolFromSmiles(selfies.decoder("".join(text)))) for text in texts}
    assert decoded == {Chem.CanonSmiles("CC(=O)Nc1ccc(O)cc1")}
    with pytest.raises(UsageError, match="RDKit cannot read"):
        Base.of("C(C", alphabet())


# -- similarities, matching, clusters ----------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), list(combinations(SMILES[:9], 2)))
def test_tanimoto_is_that_of_rdkit(a: str, b: str) -> None:
    from rdkit.Chem import rdFingerprintGenerator
    from rdkit.DataStructs import TanimotoSimilarity

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2)
    molecules = Chem.MolFromSmiles(a), Chem.MolFromSmiles(b)
    theirs = TanimotoSimilarity(*(generator.GetSparseCountFingerprint(one) for one in molecules))
    assert molecular_similarity(*molecules) == pytest.approx(theirs)
    assert similarities(molecules[0], [molecules[1]]) == [pytest.approx(theirs)]
    assert sum(ecfp4(molecules[0]).values()) > 0


@pytest.mark.parametrize(
    ("before", "after", "cost"),
    [
        ("CC(N)Cc1ccccc1", "NC(I)Cc1ccccc1", 1),  # a methyl becomes iodine
        ("c1ccc2ccccc2c1CCO", "c1ccc2ccccc2c1CCON", 2),  # an atom and its bond
        ("CC12CCC3c4ccc(O)cc4CCC3C1CCC2O", "CC12CCC3c4ccc(O)cc4CCC3C1CC2O", 4),  # a ring of five becomes one of four
    ],
)
def test_atoms_are_matched(before: str, after: str, cost: int) -> None:
    made = read_smiles("two", [before, after], np.array([0, 1])).dataset("two", SINGLE, {})
    cols = {element: column for column, element in enumerate(made.feature_names)}
    target = MoleculeGraph.of(Chem.MolFromSmiles(after), after, cols)
    assert target is not None
    edited = as_edits(made.graphs[0], target)
    assert edited is not None and smiles_of(edited.graph) == after
    result = Counterfactual(made.graphs[0], edited.graph, 0, 0, "", 1, 0.0, node_edits=edited.node_edits)
    assert len(result.edits) + sum(one.cost for one in edited.node_edits) == cost
    assert as_edits(made.graphs[1], target) is None  # the same graph
    (asked,) = questions([target], made.graphs)
    assert np.array_equal(asked.adjacency, made.graphs[1].adjacency)
    expected: Any = made.graphs[1]
    assert asked.features is not None and np.array_equal(asked.features, expected.features)
    assert asked.edge_features is not None and np.array_equal(asked.edge_features, expected.edge_features)


def by_definition(points: np.ndarray, eps: float, least: int) -> list[frozenset[int]]:
    """Clusters as sets of core points: connected components of core points that are within eps."""
    near = np.linalg.norm(points[:, None] - points, axis=2) <= eps
    core = np.flatnonzero(near.sum(1) >= least)
    reach = near[np.ix_(core, core)].astype(int)
    for _ in range(len(core)):
        reach = ((reach @ reach) > 0).astype(int)
    return [frozenset(core[row > 0].tolist()) for row in reach]


@pytest.mark.parametrize("seed", range(8))
def test_clusters_are_those_of_the_definition(seed: int) -> None:
    rng = numpy_rng("points", seed)
    points = np.concatenate(
        [rng.normal(centre, 0.15, (12, 2)) for centre in (0.0, 0.8, 2.0)] + [rng.random((10, 2)) * 3]
    )
    found = dbscan(points, 0.25, 5)
    near = np.linalg.norm(points[:, None] - points, axis=2) <= 0.25
    core = near.sum(1) >= 5
    groups = {frozenset(np.flatnonzero((found == c) & core).tolist()) for c in set(found.tolist()) - {NOISE}}
    assert groups == set(by_definition(points, 0.25, 5))
    for i in np.flatnonzero(~core):
        reached = set(found[near[i] & core].tolist())
        assert found[i] in reached if reached else found[i] == NOISE


def test_clusters_are_those_of_scikit_learn() -> None:
    cluster = pytest.importorskip("sklearn.cluster")
    for seed in range(4):
        points = numpy_rng("many points", seed).random((80, 2))
        theirs = cluster.DBSCAN(eps=0.12, min_samples=5).fit(points).labels_
        assert dbscan(points, 0.12, 5).tolist() == theirs.tolist()


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_the_plane_is_that_of_all_principal_components(n: int) -> None:
    points = numpy_rng("pca", n).random((n, n + 3))
    centred = points - points.mean(0)
    left, size, _ = np.linalg.svd(centred, full_matrices=False)
    own = plane(points)
    assert own.shape == (n, 2)
    for axis in range(min(2, n)):
        assert np.allclose(np.abs(own[:, axis]), np.abs(left[:, axis] * size[axis]), atol=1e-6)


def test_distances_are_one_less_similarity() -> None:
    molecules = [Chem.MolFromSmiles(smiles) for smiles in SMILES[:6]]
    apart = distances(molecules)
    assert np.allclose(apart, apart.T) and np.allclose(np.diag(apart), 0)
    assert apart[0, 3] == pytest.approx(1 - molecular_similarity(molecules[0], molecules[3]))


def test_similarity_and_sanitisation_are_measured_of_molecules_that_a_method_names() -> None:
    """And of those whose bonds alone were edited, made by RDKit from the input's molecule."""
    from benchmarks.running.quality import _kept, _similarities
    from rsgg.feasibility import Sanitises

    molecules = {name: Chem.RWMol(Chem.MolFromSmiles(smiles)) for name, smiles in known().smiles.items()}
    for one in molecules.values():
        Chem.Kekulize(one, clearAromaticFlags=True)
    rules = (Sanitises(molecules),)
    results = [one for one in explained(9, 13) if one.found]
    said = [smiles_of(one.returned) for one in results]
    theirs = [
        similarities(Chem.MolFromSmiles(SMILES[i]), [Chem.MolFromSmiles(said[j])])[0] for j, i in enumerate((9, 13))
    ]
    assert _similarities(results, rules).tolist() == [pytest.approx(s) for s in theirs]
    assert _kept(results, rules)["sanitised"].tolist() == [1.0, 1.0]
    ring = graphs(19)[0]  # cyclopentanol without a bond of its ring
    opened = ring.adjacency.copy()
    opened[1, 5] = opened[5, 1] = 0
    cut = Counterfactual(ring, ring.with_adjacency(opened), 0, 0, "", 1, 0.0)
    expected = molecular_similarity(Chem.MolFromSmiles(SMILES[19]), Chem.MolFromSmiles("OCCCCC"))
    assert _similarities([cut], rules).tolist() == [pytest.approx(expected)]
    assert np.isnan(_similarities([cut], ())).all()
