"""Feasibility against NetworkX, RDKit on molecules made by hand, and the constraints that say the same of one graph."""

from __future__ import annotations

import builtins
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rdkit import Chem

from rsgg.constraints import EdgeCount, EdgesForSize, Feasible, Keep, KeepConnected, MostNeighbours
from rsgg.contract.explainer import EdgesModuloThree
from rsgg.data.dataset import Dataset
from rsgg.data.molecules import BONDS, Molecules, read_smiles
from rsgg.data.tu import TU
from rsgg.errors import DataError, UsageError
from rsgg.feasibility import (
    Sanitises,
    connected,
    degrees,
    edge_count,
    feasibility,
    molecules_of,
    n_components,
    rules_of,
    sanitised,
    simple,
)
from rsgg.graph import Graph, GraphBatch
from rsgg.quick import UntaughtSearch
from tests.graphs import gnp_graphs, needs_public_data


def labelled(graphs: list[nx.Graph], n_labels: int = 3, seed: int = 0) -> GraphBatch:
    rng = np.random.default_rng(seed)
    made = [Graph(nx.to_numpy_array(g), np.eye(n_labels)[rng.integers(n_labels, size=len(g))]) for g in graphs]
    return GraphBatch.of(made)


def flipped(graphs: GraphBatch, seed: int, most: int = 4) -> GraphBatch:
    """Each graph with up to `most` random pairs of its nodes flipped."""
    rng, adjacency = np.random.default_rng(seed), graphs.adjacency.clone()
    for i, n in enumerate(graphs.sizes.tolist()):
        for _ in range(rng.integers(most + 1) if n > 1 else 0):
            u, v = rng.choice(n, 2, replace=False)
            adjacency[i, u, v] = adjacency[i, v, u] = 1 - adjacency[i, u, v]
    return replace(graphs, adjacency=adjacency, encodings={})


REAL = labelled(gnp_graphs(90, (4, 7, 10, 16)))


# -- rules against NetworkX ------------------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
def test_rules_by_networkx(seed):
    before = labelled(gnp_graphs(12, (1, 5, 9), seed), seed=seed)
    after = flipped(before, seed)
    rules = rules_of(REAL)
    kept = feasibility(before, after, rules)
    most: dict[int, int] = {}
    for graph in REAL:
        assert graph.features is not None
        for row, neighbours in zip(graph.features, graph.adjacency.sum(1), strict=True):
            most[int(row.argmax())] = max(most.get(int(row.argmax()), 0), int(neighbours))
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        g, h = nx.from_numpy_array(old.adjacency), nx.from_numpy_array(new.adjacency)
        assert new.features is not None
        fits = all(h.degree(v) <= max(most[int(new.features[v].argmax())], g.degree(v)) for v in h)
        assert kept["connected"][i] == (nx.number_connected_components(h) <= nx.number_connected_components(g))
        assert kept["degrees"][i] == fits
        assert kept["simple"][i]
        assert kept["feasible"][i] == all(kept[rule][i] for rule in ("connected", "degrees", "edge_count"))
    assert n_components(after).tolist() == [
        nx.number_connected_components(nx.from_numpy_array(one.adjacency)) for one in after
    ]


def test_edges_for_size_by_plain_loops():
    """Groups are cut at the deciles of the sizes; within a group the extremes of |E| - |V| are the range."""
    graphs = gnp_graphs(330, (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14))
    rule = EdgesForSize.of(graphs)
    ends = [nodes for nodes, _, _ in rule.groups]
    assert len(ends) == 10 and ends[-1] == 14
    for n in range(1, 20):
        start, end = next(((a, b) for a, b in zip([0, *ends], ends, strict=False) if a < n <= b), (ends[-2], ends[-1]))
        beyond = [g.number_of_edges() - len(g) for g in graphs if start < len(g) <= end]
        assert rule.range_of(n) == (min(beyond), max(beyond))


def test_few_graphs_are_one_group():
    graphs = [nx.path_graph(4), nx.cycle_graph(9), nx.complete_graph(4)]
    assert EdgesForSize.of(graphs).groups == ((9, -1, 2),)


def test_groups_have_to_make_sense():
    for groups in ((), ((5, 2, 1),), ((5, 0, 1), (5, 0, 1)), ((7, 0, 1), (5, 0, 1))):
        with pytest.raises(UsageError, match="ascending"):
            EdgesForSize(groups)


def test_an_original_outside_the_range_may_stay_there():
    rule = EdgesForSize(((10, 0, 1),))
    before = GraphBatch.of([nx.path_graph(6), nx.path_graph(6), nx.complete_graph(6), nx.complete_graph(6)])
    after = GraphBatch.of([nx.path_graph(6), nx.empty_graph(6), nx.cycle_graph(6), nx.complement(nx.path_graph(6))])
    assert edge_count(before, after, rule).tolist() == [True, False, True, True]
    for old, new, allowed in zip(before, after, (True, False, True, True), strict=True):
        assert rule.allows(old, new.adjacency) == allowed


def test_graphs_of_one_size_have_the_range_of_edge_count():
    graphs = [nx.gnm_random_graph(9, m, seed=m) for m in (10, 12, 15)]
    rule, plain = EdgesForSize.of(graphs), EdgeCount.of(graphs)
    before = GraphBatch.of([graphs[1]] * 20)
    after = GraphBatch.of([nx.gnm_random_graph(9, m, seed=m) for m in range(20)])
    expected = [plain.allows(old, new.adjacency) for old, new in zip(before, after, strict=True)]
    assert edge_count(before, after, rule).tolist() == expected


def test_loops_and_multiple_edges_are_not_simple():
    plain = nx.to_numpy_array(nx.path_graph(3)).astype(np.uint8)
    returned = [plain, plain * 2, plain + np.diag([0, 1, 0]).astype(np.uint8)]
    batch = GraphBatch.of([Graph.unchecked(a) for a in returned])
    assert simple(batch).tolist() == [True, False, False]
    kept = feasibility([nx.path_graph(3)] * 3, batch)
    assert kept["feasible"].tolist() == [True, False, False] and set(kept) == {"simple", "connected", "feasible"}


# -- rules and constraints are the same -------------------------------------------------------------------------------


@given(st.integers(0, 10_000))
def test_rules_agree_with_constraints(seed):
    before = labelled(gnp_graphs(12, (2, 5, 9), seed), seed=seed)
    after = flipped(before, seed)
    rules = (*rules_of(REAL), EdgeCount(3, 12), Keep(((0, 1),)))
    kept = feasibility(before, after, rules)
    for rule, name in zip(rules, ("connected", "degrees", "edge_count", "EdgeCount", "Keep"), strict=True):
        allowed = Feasible(before, (rule,)).allow(after.adjacency, torch.arange(len(before)))
        assert kept[name].tolist() == allowed.tolist()
    assert kept["feasible"].tolist() == Feasible(before, rules).allow(after.adjacency, torch.arange(12)).tolist()


def test_rules_of_graphs_without_labels_have_one_limit():
    graphs = gnp_graphs(30)
    _, neighbours, _ = rules_of(graphs)
    assert neighbours == MostNeighbours(max(d for graph in graphs for _, d in graph.degree()))
    continuous = [Graph(nx.to_numpy_array(graph), np.full((len(graph), 2), 0.5)) for graph in graphs]
    assert rules_of(continuous)[1] == neighbours
    with pytest.raises(UsageError, match="labels"):
        degrees(GraphBatch.of(graphs), GraphBatch.of(graphs), MostNeighbours(3, (1, 2)))


def test_a_label_that_no_real_node_has_allows_no_further_neighbours():
    real = [Graph(nx.to_numpy_array(nx.path_graph(3)), np.eye(3)[[0, 1, 0]])]
    assert rules_of(real)[1] == MostNeighbours(2, (1, 2, 0))


def test_a_search_that_keeps_the_rules_has_only_feasible_results():
    rules = rules_of(REAL)
    inputs = REAL[:40]
    oracle = EdgesModuloThree()
    searched = UntaughtSearch(constraints=rules).fit(REAL, oracle).explain(inputs, oracle)
    found = [one for one in searched if one.offered]
    assert len(found) > 10
    kept = feasibility([one.input for one in found], [one.returned for one in found], rules)
    assert all(holds.all() for holds in kept.values())


def test_originals_are_feasible():
    assert all(holds.all() for holds in feasibility(REAL, REAL, rules_of(REAL[:30])).values())


def test_nodes_that_were_added_or_dropped():
    """A path a-b-c-d without d and with two new leaves at b: b has four neighbours, and had two."""
    before = [nx.path_graph(4)]
    after = [nx.Graph([(0, 1), (1, 2), (1, 3), (1, 4)])]
    with pytest.raises(UsageError, match="origin"):
        feasibility(before, after)
    origin = [[0, 1, 2, -1, -1]]
    assert not feasibility(before, after, (MostNeighbours(3),), origin)["degrees"][0]
    assert feasibility(before, after, (MostNeighbours(4),), origin)["degrees"][0]
    swapped = [nx.Graph([(0, 1), (1, 2), (0, 3), (0, 4)])]  # node 0 has three neighbours; it was node 1, with two
    assert feasibility([nx.star_graph(3)], swapped, (MostNeighbours(2),), [[0, 1, 2, -1, -1]])["degrees"][0]
    assert not feasibility([nx.star_graph(3)], swapped, (MostNeighbours(2),), [[1, 0, 2, -1, -1]])["degrees"][0]
    with pytest.raises(UsageError, match="edits of edges only"):
        feasibility(before, after, (Sanitises({}),), origin)


def test_as_many_originals_as_returned_graphs():
    with pytest.raises(UsageError, match="one for each"):
        feasibility([nx.path_graph(3)], [nx.path_graph(3)] * 2)


# -- molecules ---------------------------------------------------------------------------------------------------------


def molecule(smiles: str) -> tuple[Dataset, dict[str, object]]:
    """A data set of one molecule, and that molecule by name."""
    data = read_smiles("mine", [smiles], np.array([0])).dataset("mine", BONDS.index("single"))
    made = Chem.RWMol(Chem.MolFromSmiles(smiles))
    Chem.Kekulize(made, clearAromaticFlags=True)
    return data, {data.graphs.names[0]: made}


def with_edits(data: Dataset, *pairs: tuple[int, int]) -> GraphBatch:
    adjacency = data.graphs.adjacency.clone()
    for u, v in pairs:
        adjacency[0, u, v] = adjacency[0, v, u] = 1 - adjacency[0, u, v]
    return replace(data.graphs, adjacency=adjacency)


@pytest.mark.parametrize(
    ("smiles", "pairs", "passes"),
    [
        ("c1ccccc1", [], True),
        ("c1ccccc1", [(0, 1)], True),  # an opened ring: hydrogens fill the valences
        ("c1ccccc1", [(0, 3)], True),  # a bond across it takes the place of two hydrogens
        ("c1ccccc1", [(0, 3), (0, 2)], False),  # five bonds of a carbon
        ("CC(C)(C)C.C", [(1, 5)], False),
        ("CC(C)(C)C.C", [(0, 5)], True),
        ("CC(C)(C)C.C", [(1, 5), (0, 1)], True),  # one out, one in
        ("c1cc[nH]c1", [], True),
        ("c1cc[nH]c1", [(3, 0)], True),  # the hydrogen of the nitrogen makes room
        ("c1ccn(C)c1", [(3, 0)], False),
        ("C[N+](C)(C)C", [], True),  # four bonds of a charged nitrogen
        ("CN(C)C.C", [(1, 4)], False),  # and of one without charge
        ("CO.O.O", [(1, 2), (1, 3)], False),
        ("CO.O.O", [(2, 3)], True),
        ("CF.C", [(1, 2)], False),
    ],
)
def test_what_rdkit_accepts(smiles, pairs, passes):
    data, molecules = molecule(smiles)
    returned = with_edits(data, *pairs)
    assert sanitised(returned, molecules).tolist() == [passes]
    assert Sanitises(molecules).allows(data.graphs[0], returned[0].adjacency) == passes
    assert feasibility(data.graphs, returned, (Sanitises(molecules),))["sanitised"].tolist() == [passes]


def test_the_molecules_stay_as_they_are():
    data, molecules = molecule("c1ccccc1")
    before = Chem.MolToSmiles(molecules[data.graphs.names[0]])
    sanitised(with_edits(data, (0, 1), (0, 2)), molecules)
    assert Chem.MolToSmiles(molecules[data.graphs.names[0]]) == before


def tu_like(name: str, elements: str, labels: list[int], bonds: list[tuple[int, int, int]]) -> Dataset:
    """A data set of one graph with labels as in the files."""
    names = tuple(dict.fromkeys(elements.split()))
    n = len(elements.split())
    x = np.eye(len(names))[[names.index(element) for element in elements.split()]]
    adjacency, table = np.zeros((n, n)), np.zeros((n, n), dtype=np.int64)
    for u, v, kind in bonds:
        adjacency[u, v] = adjacency[v, u] = 1
        table[u, v] = table[v, u] = kind
    graphs = GraphBatch.of([Graph(adjacency, x, f"{name}/0", table)])
    return Dataset(name, graphs, torch.tensor(labels), names)


def test_molecules_of_labels():
    ring = [(i, (i + 1) % 6, 0) for i in range(6)]
    benzene = tu_like("MUTAG", "C C C C C C", [0], ring)
    (made,) = molecules_of(benzene).values()
    assert Chem.MolToSmiles(Chem.MolFromSmiles(Chem.MolToSmiles(made))) == "c1ccccc1"
    nitro = tu_like("MUTAG", "C C C C C C N O O", [0], [*ring, (5, 6, 1), (6, 7, 2), (6, 8, 1)])
    (made,) = molecules_of(nitro).values()
    assert made is not None and made.GetAtomWithIdx(6).GetFormalCharge() == 1
    methylpyrrole = tu_like("MUTAG", "N C C C C C", [0], [*((i, (i + 1) % 5, 0) for i in range(5)), (0, 5, 1)])
    (made,) = molecules_of(methylpyrrole).values()
    assert made is not None and made.GetAtomWithIdx(0).GetFormalCharge() == 0
    five = tu_like("AIDS", "C C C C C C", [0], [(0, i, 0) for i in range(1, 6)])
    assert molecules_of(five) == {"AIDS/0": None}
    assert sanitised(five.graphs, molecules_of(five)).tolist() == [True]  # no rule where there was no molecule
    triple = tu_like("Mutagenicity", "H C N", [0], [(0, 1, 0), (1, 2, 2)])
    (made,) = molecules_of(triple).values()
    assert Chem.MolToSmiles(Chem.RemoveHs(made)) == "C#N"


def test_what_is_not_known_is_said(monkeypatch):
    unknown = Dataset.of("NCI1", [nx.path_graph(3)], [0])
    with pytest.raises(DataError, match="MUTAG"):
        molecules_of(unknown)
    with pytest.raises(UsageError, match="not known which molecule"):
        sanitised(unknown.graphs, {})
    plain_import = builtins.__import__

    def without_rdkit(name, *args, **kwargs):
        if name.startswith("rdkit"):
            raise ImportError(name)
        return plain_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_rdkit)
    with pytest.raises(DataError, match=r"rsgg\[molecules\]"):
        molecules_of(unknown)


@needs_public_data
@pytest.mark.parametrize(
    ("data", "share"), [("MUTAG", 0.98), ("AIDS", 0.99), ("Mutagenicity", 0.99), ("BBBP", 1.0), ("ClinTox", 1.0)]
)
def test_published_molecules_sanitise(data, share):
    spec = Molecules(data, max_nodes=120) if data in ("BBBP", "ClinTox") else TU(data, max_nodes=120)
    some = spec.load()
    some = some.select(torch.arange(0, len(some), max(1, len(some) // 200)))
    made = molecules_of(some)
    accepted = np.array([made[name] is not None for name in some.graphs.names])
    assert accepted.mean() >= share
    assert sanitised(some.graphs, made).all()
    for graph in some.graphs:  # atoms in the order of the nodes
        if made[graph.name] is not None:
            bonds = {tuple(sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx()))) for b in made[graph.name].GetBonds()}
            assert bonds == set(graph.edges())
            assert graph.features is not None
            symbols = [some.feature_names[label] for label in graph.features.argmax(1)]
            assert symbols == [atom.GetSymbol() for atom in made[graph.name].GetAtoms()]


@needs_public_data
def test_a_search_among_molecules_returns_molecules():
    data = TU("MUTAG").load()
    rules = rules_of(data.graphs, molecules_of(data))
    search = UntaughtSearch(constraints=rules).fit(data.graphs[:4], EdgesModuloThree())
    found = [one for one in search.explain(data.graphs[10:20], EdgesModuloThree()) if one.offered]
    assert len(found) > 5
    kept = feasibility([one.input for one in found], [one.returned for one in found], rules)
    assert set(kept) == {"simple", "connected", "degrees", "edge_count", "sanitised", "feasible"}
    assert all(holds.all() for holds in kept.values())


@settings(max_examples=10)
@given(st.integers(0, 10_000))
def test_renumbering_the_nodes_changes_nothing(seed):
    before = labelled(gnp_graphs(8, (3, 8), seed), seed=seed)
    after, rng = flipped(before, seed), np.random.default_rng(seed)
    orders = torch.from_numpy(
        np.stack([np.r_[rng.permutation(n), np.arange(n, before.n_nodes)] for n in before.sizes.tolist()])
    )
    rules = rules_of(REAL)
    one = feasibility(before, after, rules)
    other = feasibility(before.relabelled(orders), after.relabelled(orders), rules)
    assert all(np.array_equal(one[name], other[name]) for name in one)


def test_connected_is_keep_connected():
    before = GraphBatch.of([nx.path_graph(4), nx.empty_graph(4), nx.path_graph(4)])
    after = GraphBatch.of([nx.empty_graph(4), nx.path_graph(4), nx.cycle_graph(4)])
    assert connected(before, after).tolist() == [False, True, True]
    assert [KeepConnected().allows(a, b.adjacency) for a, b in zip(before, after, strict=True)] == [False, True, True]
