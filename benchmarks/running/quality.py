"""What counterfactuals are worth besides being valid: measured while a cell is computed, a line per test graph.

Real graphs are all graphs outside the fold (the oracle may have been trained on them, no explainer sees more than the
task's `max_train`). The classes that they belong to are the oracle's, since a counterfactual claims a class of the
oracle. Held-out graphs are those of the whole fold, not only those that are explained.

Columns, NaN where a measure does not apply or the class has not changed:

- `plausibility`: rank among held-out real graphs of the claimed class (`rsgg.plausibility`); `plausibility_unedited` is
  that of the input itself if it claimed that class: what a counterfactual without any edit would have
- `mmd_degree`, `mmd_clustering`, `mmd_spectrum`: of all counterfactuals of the fold against held-out real graphs, class
  by class, averaged; the same value in every line of a cell
- `connected`, `degrees`, `edge_count`, `sanitised`, `feasible`: hard rules of the domain (`rsgg.feasibility`), each
  result by itself. `sanitised` is asked where bonds alone were edited, and where a method says which molecule it made;
  for other results with edits of nodes it is NaN, and `feasible` is over the other rules alone, which tables mark (°).
  Values that were stored before this was asked by result are NaN, and over the other rules, for every result of a fold
  in which one has edits of nodes
- `tanimoto`: similarity of two molecules by their ECFP4 fingerprints (`rsgg.molecule_edits`): of what was made to the
  input. It is known where bonds alone were edited and RDKit accepts what comes out, and of methods that change
  molecules and say which ones they made; of these the rule `sanitised` is known as well
- `same_structure`: the counterfactual cannot be told from the input by its Weisfeiler-Lehman subtrees: it may be the
  same graph with other node numbers
- `motif_precision`, `motif_recall`, `motif_f1`: removed edges against those that are known to make the class
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.results.ledger import history_table
from benchmarks.running.domain import rules_of_domain
from benchmarks.running.run_cell import OfFold, Run
from rsgg.constraints import Constraint
from rsgg.counterfactual import Counterfactual
from rsgg.data.molecules import load_rdkit
from rsgg.edits import origins
from rsgg.feasibility import Molecule, Sanitises, edited_molecule, feasibility
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import motif_recovery
from rsgg.molecule_edits import molecular_similarity, smiles_of
from rsgg.oracles.oracle import Oracle
from rsgg.plausibility import RealGraphs, mmd_to_real, subtrees, wl_distance

Floats = NDArray[np.float64]
RULES = ("connected", "degrees", "edge_count", "sanitised", "feasible")
MOTIFS = ("motif_precision", "motif_recall", "motif_f1")
MMDS = ("mmd_degree", "mmd_clustering", "mmd_spectrum")
MEASURED = ("plausibility", "plausibility_unedited", *MMDS, *RULES, "tanimoto", "same_structure", *MOTIFS)
GRAPHS_AT_ONCE = 512  # that an oracle is asked about together


def classes_of(graphs: GraphBatch, oracle: Oracle) -> Tensor:
    """The oracle's classes of many graphs, int64 [B]; these questions are nobody's."""
    parts = torch.arange(len(graphs)).split(GRAPHS_AT_ONCE)
    return torch.cat([oracle.predict(graphs.select(part)).cpu() for part in parts])


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Real graphs that results of one fold are compared with."""

    real: RealGraphs
    held_out: GraphBatch
    held_out_classes: NDArray[np.int64]
    rules: tuple[Constraint, ...]

    @classmethod
    def of(cls, run: Run, data_dir: Path | None) -> Yardstick:
        graphs, oracle, outside = run.problem.graphs, run.problem.oracle, run.fold.outside
        inside = torch.arange(len(graphs))
        inside = inside[~torch.isin(inside, outside)]
        reference, held_out = graphs.select(outside), graphs.select(inside)
        classes = classes_of(held_out, oracle).numpy()
        real = RealGraphs(reference, classes_of(reference, oracle).numpy(), held_out, classes)
        return cls(real, held_out, classes, rules_of_domain(run.problem, run.fold, data_dir))


class Quality(OfFold[Yardstick]):
    """The columns above for the first candidate of every test graph."""

    def __init__(self, data_dir: Path | None = None) -> None:
        self.data_dir = data_dir

    def made_for(self, run: Run) -> Yardstick:
        return Yardstick.of(run, self.data_dir)

    def table(self, run: Run) -> pa.Table | None:
        first = [result for result in run.results if result.candidate == 0]
        lines = measured(first, run, self.of_fold(run))
        return history_table(lines.assign(instance=run.fold.test.numpy()).to_dict("records"))


def measured(results: Sequence[Counterfactual], run: Run, yardstick: Yardstick) -> pd.DataFrame:
    """What each result is worth: a line per result with the columns `MEASURED`, which the top of this file explains."""
    inputs, returned = (GraphBatch.of([getattr(r, which) for r in results]) for which in ("input", "returned"))
    before, after = (classes_of(graphs, run.problem.oracle).numpy() for graphs in (inputs, returned))
    lines = pd.DataFrame(np.nan, index=range(len(results)), columns=list(MEASURED))
    flips = np.flatnonzero(before != after)
    if not len(flips):
        return lines
    made, of = returned.select(torch.from_numpy(flips)), inputs.select(torch.from_numpy(flips))
    claimed = after[flips]
    lines.loc[flips, "plausibility"] = yardstick.real.plausibility(made, claimed)
    lines.loc[flips, "plausibility_unedited"] = yardstick.real.plausibility(of, claimed)
    for name, distance in _mmds(made, claimed, yardstick).items():
        lines[f"mmd_{name}"] = distance
    flipped = [results[row] for row in flips.tolist()]
    for name, kept in _kept(flipped, yardstick.rules).items():
        lines.loc[flips, name] = kept
    lines.loc[flips, "tanimoto"] = _similarities(flipped, yardstick.rules)
    apart = np.diag(wl_distance(subtrees(of), subtrees(made)))
    lines.loc[flips, "same_structure"] = (apart == 0).astype(float)
    motif = run.problem.dataset.motif
    if motif is not None:
        for row in flips.tolist():
            n, instance = results[row].input.n_nodes, int(run.fold.test[results[row].instance])
            edits = [u * n + v for u, v in results[row].edits]
            of_graph = motif[instance, :n, :n].numpy()
            lines.loc[row, list(MOTIFS)] = list(motif_recovery(edits, results[row].input.adjacency, of_graph))
    return lines


def _mmds(made: GraphBatch, claimed: NDArray[np.int64], yardstick: Yardstick) -> dict[str, float]:
    """MMD² to the held-out graphs of the claimed class, averaged over the classes that are claimed."""
    by_class = []
    for c in np.unique(claimed):
        held_out = yardstick.held_out.select(torch.from_numpy(yardstick.held_out_classes == c))
        if len(held_out):
            by_class.append(mmd_to_real(made.select(torch.from_numpy(claimed == c)), held_out))
    means: dict[str, float] = pd.DataFrame(by_class).mean().to_dict()
    return means


def _kept(results: Sequence[Counterfactual], rules: tuple[Constraint, ...]) -> dict[str, Floats]:
    """Which rules each counterfactual keeps, 0 or 1, NaN for a rule that it is not asked about.

    Sanitisation is asked of the edited bonds, or of the molecule that a method says it made; not of other graphs whose
    nodes were edited. It is decided for each result by itself, whatever else is in the fold.
    """
    told = np.array([_sanitises(result.returned) for result in results])
    by_bonds = np.isnan(told) & ~np.array([bool(result.node_edits) for result in results])
    kept = pd.DataFrame(np.nan, index=range(len(results)), columns=list(RULES))
    others = tuple(rule for rule in rules if not isinstance(rule, Sanitises))
    for part, asked in ((np.flatnonzero(by_bonds), rules), (np.flatnonzero(~by_bonds), others)):
        if len(part):
            holds = _feasibility([results[row] for row in part.tolist()], asked)
            for name in kept.columns.intersection(list(holds)):
                kept.loc[part, name] = holds[name].astype(np.float64)
    known = ~np.isnan(told)
    kept.loc[known, "sanitised"] = told[known]
    kept.loc[known, "feasible"] *= told[known]
    return {name: kept[name].to_numpy() for name in kept.columns}


def _feasibility(results: Sequence[Counterfactual], rules: tuple[Constraint, ...]) -> dict[str, NDArray[np.bool_]]:
    """`rsgg.feasibility.feasibility` of these results, whose nodes may be edited."""
    inputs, made = (GraphBatch.of([getattr(r, which) for r in results]) for which in ("input", "returned"))
    if not any(result.node_edits for result in results):
        return feasibility(inputs, made, rules)
    origin = np.full((len(results), made.n_nodes), -1, dtype=np.int64)
    for row, result in enumerate(results):
        was = origins(result.node_edits, result.input.n_nodes)
        origin[row, : len(was)] = was
    return feasibility(inputs, made, rules, origin)


def _sanitises(graph: Graph) -> float:
    """Does RDKit accept the molecule that a method says this graph is? NaN if it says none."""
    smiles = smiles_of(graph)
    return np.nan if smiles is None else float(_read(smiles) is not None)


def _read(smiles: str) -> Molecule | None:
    chem, quietly = load_rdkit()
    with quietly():
        return chem.MolFromSmiles(smiles)


def _similarities(results: Sequence[Counterfactual], rules: tuple[Constraint, ...]) -> Floats:
    """Tanimoto indices between the molecules of the inputs and those that were made; NaN where one is not known."""
    known = next((rule.molecules for rule in rules if isinstance(rule, Sanitises)), {})
    values = np.full(len(results), np.nan)
    for row, result in enumerate(results):
        before, name, smiles = known.get(result.input.name), result.input.name, smiles_of(result.returned)
        after = None if smiles is None else _read(smiles)
        if before is not None and smiles is None and not result.node_edits:
            after = edited_molecule(name, result.returned.adjacency, known)
        if before is not None and after is not None:
            values[row] = molecular_similarity(before, after)
    return values
