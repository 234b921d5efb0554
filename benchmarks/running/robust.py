"""What counterfactuals withstand: measured while a cell is computed, a line per test graph.

All methods of a fold face the same: the same copies of the oracle, the same harmless edits, the same frozen pairs.
Questions about copies and harmless edits are nobody's; a method that explains again has the task's budget again.

Columns, NaN where a measure does not apply:

- `robust_seed`, `robust_subsample`, `robust_architecture`: of a valid counterfactual, the share of copies of the oracle
  (`rsgg.robustness.copies_of`) for which it is valid too: the copy puts it into another class than it puts the input
- `agree_seed`, `agree_subsample`, `agree_architecture`: the share of copies that put the input where the oracle does
- `stable_input`: Jaccard index of the edits with those that the same explainer, with the same seed, makes of the input
  after one harmless edit (`rsgg.robustness.harmless_edits`); edits are node pairs, and edits of nodes where a method
  makes some; 0 where it then finds no valid counterfactual
- `stable_seed`: the same for the input as it is, explained by the same fitted explainer with another seed
- `actionable`: a valid counterfactual is found that edits none of the frozen pairs, a random fifth of all pairs of the
  graph (`rsgg.constraints.KeepShare`)
- `told_frozen`: 1 where the method was given the frozen pairs as a constraint and has explained again, 0 where it takes
  no constraints and `actionable` says whether its result happens to keep them
- `validity_at_k`, `diversity`, `jaccard_distance`: is one of `CANDIDATES` candidates valid, the mean GED between two
  valid ones (NaN if a candidate edits nodes), and the mean of one minus their Jaccard index
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from torch import Tensor

from benchmarks.results.ledger import history_table
from benchmarks.running.quality import classes_of
from benchmarks.running.run_cell import OfFold, Run
from rsgg import metrics
from rsgg.constraints import KeepShare
from rsgg.counterfactual import Counterfactual
from rsgg.graph import GraphBatch
from rsgg.oracles.gnn import TrainedGNN
from rsgg.robustness import copies_of, harmless_edits

KINDS = ("seed", "subsample", "architecture")
CANDIDATES = 3
FROZEN = KeepShare(share=0.2)
OF_COPIES = (*(f"robust_{kind}" for kind in KINDS), *(f"agree_{kind}" for kind in KINDS))
MEASURED = (
    *OF_COPIES, "stable_input", "stable_seed", "actionable", "told_frozen", "validity_at_k", "diversity",
    "jaccard_distance",
)  # fmt: skip
ANOTHER_SEED = "explain again"


@dataclass(frozen=True, eq=False)
class Trials:
    """What all methods of a fold face."""

    copies: dict[str, list[TrainedGNN]]
    harmless: GraphBatch  # the test graphs, each with a harmless edit
    edited: NDArray[np.bool_]  # which of them have one


class Robust(OfFold[Trials]):
    """The columns above; `copies` of each kind."""

    def __init__(self, copies: int) -> None:
        self.copies = copies

    def made_for(self, run: Run) -> Trials:
        outside, graphs, oracle = run.fold.outside, run.problem.graphs, run.problem.oracle
        copies = copies_of(oracle, graphs.select(outside), run.problem.labels[outside], self.copies)
        harmless, edited = harmless_edits(run.test, oracle, run.problem.dataset.name)
        return Trials(copies, harmless, edited.numpy())

    def table(self, run: Run) -> pa.Table | None:
        lines = measured(run, self.of_fold(run))
        return history_table(lines.assign(instance=run.fold.test.numpy()).to_dict("records"))


def measured(run: Run, trials: Trials) -> pd.DataFrame:
    """A line per test graph, columns `MEASURED`."""
    first = _judged(run, run.results)
    harmless = _judged(run, run.explain(graphs=trials.harmless))
    again = _judged(run, run.explain(ANOTHER_SEED))
    columns: dict[str, object] = of_copies(run.results, first, trials.copies)
    columns["stable_input"] = np.where(trials.edited, _stability(first, harmless), np.nan)
    columns["stable_seed"] = _stability(first, again)
    columns["told_frozen"] = told = run.explainer.capabilities.constraints
    results = _explained_with_frozen_pairs(run) if told else run.results
    frozen = [FROZEN.kept(name, n) for name, n in zip(run.test.names, run.test.sizes.tolist(), strict=True)]
    columns["actionable"] = metrics.actionability(list(map(touched, results)), frozen, _judged(run, results)["correct"])
    several = of_candidates(_judged(run, run.explain(k=CANDIDATES)))
    return pd.DataFrame({**columns, **several}).astype(float)[list(MEASURED)]


def _judged(run: Run, results: Sequence[Counterfactual]) -> pd.DataFrame:
    """The results evaluated; `correct` is Ω, `codes` are all edits, of pairs and of nodes."""
    rows = metrics.evaluate(results, run.problem.oracle, run.problem.labels[run.fold.test])
    codes = [[*pairs, *nodes] for pairs, nodes in zip(rows["edits"], rows["node_edits"], strict=True)]
    return rows.assign(correct=metrics.correctness(rows["predicted"], rows["predicted_cf"]), codes=codes)


def of_copies(
    results: Sequence[Counterfactual], first: pd.DataFrame, copies: dict[str, list[TrainedGNN]]
) -> dict[str, object]:
    """For how many copies of the oracle each result holds, and how many put the input where the oracle does.

    The columns `OF_COPIES`, a value per result, NaN where a measure does not apply.
    """
    inputs, returned = (GraphBatch.of([getattr(r, which) for r in results]) for which in ("input", "returned"))
    columns: dict[str, object] = {}
    for kind, several in copies.items():
        before, after = (np.stack([_classes(graphs, one) for one in several]) for graphs in (inputs, returned))
        columns[f"robust_{kind}"] = metrics.robustness(first["correct"], before, after)
        columns[f"agree_{kind}"] = metrics.agreement(first["predicted"], before)
    return columns


def _classes(graphs: GraphBatch, oracle: TrainedGNN) -> NDArray[np.int64]:
    classes: Tensor = classes_of(graphs, oracle)
    return classes.numpy()


def _stability(first: pd.DataFrame, other: pd.DataFrame) -> NDArray[np.float64]:
    return metrics.stability(list(first["codes"]), list(other["codes"]), first["correct"], other["correct"])


def _explained_with_frozen_pairs(run: Run) -> list[Counterfactual]:
    """The test graphs explained once more, by an explainer that was fitted without knowing of the frozen pairs."""
    known = run.explainer.constraints
    run.explainer.constraints = (*known, FROZEN)
    try:
        return run.explain()
    finally:
        run.explainer.constraints = known


def touched(result: Counterfactual) -> list[int]:
    """The pairs of the input's nodes that a result edits, u · n + v, those of dropped leaves included."""
    n = result.input.n_nodes
    leaves = [(one.node, one.neighbour) for one in result.node_edits if one.neighbour is not None]
    return [min(pair) * n + max(pair) for pair in (*result.edits, *leaves)]


def of_candidates(rows: pd.DataFrame) -> dict[str, object]:
    """What several candidates of each graph are worth, from their evaluated rows."""
    worth = metrics.several_candidates(rows.assign(edits=rows["codes"]), by=("instance",))
    of_nodes = rows["node_edits"].map(len).groupby(rows["instance"]).max().to_numpy() > 0
    return {
        "validity_at_k": worth["validity_at_k"].to_numpy(),
        "diversity": np.where(of_nodes, np.nan, worth["diversity"]),
        "jaccard_distance": worth["jaccard_distance"].to_numpy(),
    }
