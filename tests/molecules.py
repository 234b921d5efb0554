"""A little folder of results on real data, as `./reproduce.sh table2` leaves it: four molecules, four rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Row
from benchmarks.results import graphs
from benchmarks.results.cell import Cell
from benchmarks.results.files import write_whole
from benchmarks.results.ledger import Store, history_table, ledger_table
from benchmarks.running.experiment import Finished
from benchmarks.running.explained import data_key
from benchmarks.running.options import Table2Options
from benchmarks.table2 import Table2
from rsgg.edits import NodeEdit

TASK = tasks.task("mutag-gin")
SYMBOLS = ("C", "N", "O", "F", "I", "Cl", "Br")
SMILES = {4: "Oc1ccccc1", 9: "O=Nc1ccccc1", 17: "CC#N", 30: "CCl"}  # by instance; two in each fold
FOLDS = {4: 0, 9: 0, 17: 1, 30: 1}
ROWS: tuple[Row, ...] = (
    ("rsgg-ce-nodes", "beyond"), ("obs", "search"), ("empty", "control"), ("identity", "control"),
)  # fmt: skip
NODE_EDITS = {  # of the row with node edits
    4: [NodeEdit("relabel", 0, 1, 2)],
    9: [NodeEdit("add", 5, 5), NodeEdit("drop", 0, was=2, neighbour=1)],
    17: [],
    30: [NodeEdit("add", 0, 2)],
}


def molecule(instance: int) -> graphs.InputGraph:
    """The graph of a molecule, made by RDKit."""
    chem = pytest.importorskip("rdkit.Chem")
    read = chem.MolFromSmiles(SMILES[instance])
    bonds = {
        tuple(sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))): str(bond.GetBondType()).lower()
        for bond in read.GetBonds()
    }
    return graphs.InputGraph(
        instance=instance,
        fold=FOLDS[instance],
        label=instance % 2,
        predicted=instance % 2,
        n_nodes=read.GetNumAtoms(),
        edges=tuple(sorted(bonds)),
        labels=tuple(SYMBOLS.index(atom.GetSymbol()) for atom in read.GetAtoms()),
        label_names=SYMBOLS,
        bonds=tuple(bonds[pair] for pair in sorted(bonds)),
    )


def lines() -> pd.DataFrame:
    """All of them as lines of the file of graphs."""
    made = [
        {
            "task": TASK.name, "data": data_key(TASK), "instance": graph.instance, "fold": graph.fold,
            "label": graph.label, "predicted": graph.predicted, "n_nodes": graph.n_nodes,
            "edges": [u * graph.n_nodes + v for u, v in graph.edges], "labels": list(graph.labels),
            "label_names": list(graph.label_names), "bonds": list(graph.bonds),
        }
        for graph in map(molecule, SMILES)
    ]  # fmt: skip
    return pd.DataFrame(made)


def answer(row: Row, instance: int) -> dict[str, Any]:
    """What a row makes of a molecule: OBS removes the first bond and adds one, if it can; the empty graph has none."""
    graph = molecule(instance)
    n, codes = graph.n_nodes, [u * graph.n_nodes + v for u, v in graph.edges]
    missing = [u * n + v for u in range(n) for v in range(u + 1, n) if not graph.adjacency[u, v]]
    edits = {"obs": [codes[0], *missing[:1]], "empty": codes}.get(row[0], [])
    nodes = [one.code(n) for one in NODE_EDITS[instance]] if row[0] == "rsgg-ce-nodes" else []
    valid = bool(edits or nodes)
    return {
        "instance": instance, "candidate": 0, "label": graph.label, "predicted": graph.predicted,
        "predicted_cf": 1 - graph.predicted if valid else graph.predicted, "found": valid,
        "reason": "" if valid else "nothing was tried", "n_nodes": n, "n_edges": len(codes),
        "ged": float(len(edits) + 2 * len(nodes)), "calls": 3, "seconds": 0.01, "edits": sorted(edits),
        "node_edits": nodes, "optimum": np.nan, "fit_calls": 0, "fit_seconds": 0.0, "removal_auroc": np.nan,
        "simple": True,
    }  # fmt: skip


def quality(row: Row, instance: int) -> dict[str, Any]:
    """What was measured of it."""
    if not answer(row, instance)["found"]:
        return {"instance": instance, "plausibility": np.nan, "plausibility_unedited": np.nan, "feasible": np.nan}
    feasible = float(row[0] != "empty")
    return {
        "instance": instance, "plausibility": instance / 100, "plausibility_unedited": 0.25, "feasible": feasible,
        "sanitised": np.nan if row[0] == "rsgg-ce-nodes" else feasible,
    }  # fmt: skip


def cells() -> list[Cell]:
    rows = [methods.rows()[row].for_task(TASK.name) for row in ROWS]
    return [Cell(TASK, method, fold, TASK.folds) for method in rows for fold in (0, 1)]


def write(folder: Path) -> Path:
    """The cells, the graphs and all tables."""
    store = Store(folder)
    for cell in cells():
        own = [instance for instance, fold in FOLDS.items() if fold == cell.fold]
        ledger = pd.DataFrame([answer(cell.method.row, instance) for instance in own]).assign(
            cell=cell.key, dataset=TASK.name, method=cell.method.name, variant=cell.method.variant, seed=0,
            fold=cell.fold, test_size=len(own),
        )  # fmt: skip
        seen = history_table([quality(cell.method.row, instance) for instance in own])
        store.write(cell, ledger_table(ledger), seen, duration=1.0)
    write_whole(folder / graphs.FILE, lambda file: graphs.write(file, lines()))
    Table2().write(Finished(cells(), store, folder, {}), Table2Options())
    return folder
