"""Layouts: path lengths are kept, molecules are RDKit's, leaves lie where there is room."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from benchmarks.results.graphs import InputGraph
from figures import layout
from tests import molecules


def test_layouts_keep_path_lengths() -> None:
    path = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    ring = np.minimum(path, 6 - path)
    line, hexagon = layout.stress_layout(np.stack([path, ring]))
    assert np.linalg.norm(line[0] - line[5]) == pytest.approx(5, abs=0.02)
    sides = np.linalg.norm(hexagon - np.roll(hexagon, 1, axis=0), axis=1)
    assert np.ptp(sides) < 0.02 and sides.mean() == pytest.approx(
        np.linalg.norm(hexagon - hexagon.mean(0), axis=1).mean(), abs=0.02
    )


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_graphs_have_places(n: int) -> None:
    points = layout.by_path_lengths((np.ones((n, n)) - np.eye(n))[None])
    assert points.shape == (1, n, 2) and np.isfinite(points).all()
    if n == 2:
        assert np.linalg.norm(points[0, 0] - points[0, 1]) == pytest.approx(1)


def test_molecules_lie_as_rdkit_lays_them_out() -> None:
    """Distances between atoms are those of RDKit's own drawing of the molecule, with bonds of length 1."""
    chem = pytest.importorskip("rdkit.Chem")
    depictor = pytest.importorskip("rdkit.Chem.rdDepictor")
    for instance, smiles in molecules.SMILES.items():
        graph = molecules.molecule(instance)
        read = chem.MolFromSmiles(smiles)
        chem.Kekulize(read, clearAromaticFlags=True)
        depictor.Compute2DCoords(read)
        theirs = np.asarray(read.GetConformer().GetPositions())[:, :2] / 1.5  # RDKit's bonds are 1.5 long
        ours = layout.places(graph)
        apart = [np.linalg.norm(points[:, None] - points, axis=-1) for points in (ours, theirs)]
        assert apart[0] == pytest.approx(apart[1], abs=0.02), smiles


def test_without_rdkit_distances_are_path_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = molecules.molecule(4)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    assert layout.rdkit() is None and layout.of_molecule(graph) is None
    assert (layout.places(graph) == layout.by_path_lengths(graph.adjacency[None].astype(float))[0]).all()


def test_atoms_are_told_from_numbers() -> None:
    assert layout.are_atoms(("C", "Cl", "*")) and not layout.are_atoms(("1", "2")) and not layout.are_atoms(())
    table = pytest.importorskip("rdkit.Chem").GetPeriodicTable()
    assert {table.GetElementSymbol(number) for number in range(104)} == layout.ELEMENTS


def test_leaves_lie_in_the_widest_gap() -> None:
    """A node with neighbours to the right and above: its leaf lies opposite to both; the next one in what is left."""
    where = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    places = layout.with_leaves(where, [(0, 1), (0, 2)], [0, 0, 1])
    assert places[:3] == pytest.approx(where)
    assert places[3] == pytest.approx([-np.sqrt(0.5), -np.sqrt(0.5)])
    around = np.linalg.norm(places[4] - places[[1, 2, 3]], axis=1)
    assert np.linalg.norm(places[4]) == pytest.approx(1) and around.min() > 1, "not on top of another one"
    assert places[5] == pytest.approx([2, 0]), "opposite to its only neighbour"
    lonely = layout.with_leaves(np.zeros((1, 2)), [], [0])
    assert np.linalg.norm(lonely[1]) == pytest.approx(1)


def test_a_graph_without_edges_has_places() -> None:
    bare = InputGraph(0, 0, 0, 0, 3, (), (0, 1, 2), ("C", "N", "O"))
    assert layout.places(bare).shape == (3, 2) and np.isfinite(layout.places(bare)).all()
