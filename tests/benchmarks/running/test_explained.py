"""The graphs that a run explains: as the data have them, loaded only where they are not known, else a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from benchmarks.registry import methods, tasks
from benchmarks.results import graphs
from benchmarks.results.cell import Cell
from benchmarks.running import explained
from rsgg.data import Motifs
from rsgg.data.molecules import read_smiles
from rsgg.errors import DataError
from tests import molecules

TASK = replace(tasks.task("ba-2motifs-gin"), options={"n_graphs": 12})
CELLS = [Cell(TASK, methods.rows()["identity", "control"], 0, 5)]
NONE = graphs.joined([])


def ledger(instances: list[int]) -> pd.DataFrame:
    data = Motifs(n_graphs=12).load()
    rows = [
        {"dataset": TASK.name, "seed": seed, "instance": i, "fold": 0, "label": int(data.labels[i]), "predicted": 1,
         "n_nodes": data.graphs[i].n_nodes, "n_edges": data.graphs[i].n_edges}
        for i in instances
        for seed in (0, 1)
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_lines_are_the_graphs_of_the_data() -> None:
    lines, sentences = explained.explained(CELLS, ledger([3, 5]), NONE, None)
    data = Motifs(n_graphs=12).load()
    assert not sentences and lines["instance"].tolist() == [3, 5]
    for graph in graphs.graphs_of(lines):
        expected = data.graphs[graph.instance].to_networkx()
        assert set(map(frozenset, graph.edges)) == set(map(frozenset, expected.edges))
        assert nx.number_of_nodes(expected) == graph.n_nodes and graph.predicted == 1
        assert graph.labels == () and graph.bonds == (), "a column of ones says nothing"


def test_what_is_known_is_not_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    known, _ = explained.explained(CELLS, ledger([3, 5]), NONE, None)

    def no_data(self: Motifs, data_dir: Path | None = None) -> None:
        raise DataError("There is no network.")

    monkeypatch.setattr(Motifs, "load", no_data)
    again, sentences = explained.explained(CELLS, ledger_of(known, [5]), known, None)
    assert again["instance"].tolist() == [5] and not sentences
    part, sentences = explained.explained(CELLS, ledger_of(known, [3, 5, 7]), known, None)
    assert part["instance"].tolist() == [3, 5], "what is there is kept"
    assert sentences == ["The graphs of BA-2motifs are not stored for pictures: There is no network."]
    other = [replace(cell, task=TASK.varied({"n_base": 10})) for cell in CELLS]
    assert explained.explained(other, ledger_of(known, [5]), known, None)[0].empty, "graph 5 of other data"


def ledger_of(known: pd.DataFrame, instances: list[int]) -> pd.DataFrame:
    """A ledger that says what `known` says of these graphs, without loading data."""
    about = known.set_index("instance").reindex(instances).reset_index()
    return about.assign(dataset=TASK.name, seed=0, n_edges=[0 if e is np.nan else 1 for e in about["edges"]])


def test_results_on_other_graphs_than_the_data_hold_are_noticed() -> None:
    lines, sentences = explained.explained(CELLS, ledger([3]).assign(n_edges=1), NONE, None)
    assert lines.empty and "compute it again with --fresh" in sentences[0]


def test_bonds_are_named_as_rdkit_names_them() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    smiles = list(molecules.SMILES.values())
    data = read_smiles("BBBP", smiles, np.zeros(4, dtype=int)).dataset("BBBP")
    for text, graph in zip(smiles, data.graphs, strict=True):
        read = chem.MolFromSmiles(text)
        kinds = [str(read.GetBondBetweenAtoms(*pair).GetBondType()).lower() for pair in graph.edges()]
        assert explained._bonds("BBBP", graph, graph.edges()) == kinds
    assert explained._label_names(data) == ["C", "N", "O", "Cl"]
    assert explained._bonds("MyData", data.graphs[3], [(0, 1)]) == ["1"], "a number where labels are not known"
