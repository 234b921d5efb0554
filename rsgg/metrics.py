"""What a counterfactual is worth: the paper's metrics (appendix, "Evaluation Metrics") and what lies beyond them.

Every metric is a pure function with its formula in the docstring. G is the input, G' what the explainer returned (G
itself where it failed), Φ the oracle, y the true label. `evaluate` turns results into the core of the ledger: one row
per instance and candidate. `per_instance` derives every metric of a table from ledger rows; a metric that does not
apply to an instance is NaN there, so that a mean over what remains is the metric of the table.

Two accountings of cost are kept apart. *Paper*: oracle calls and runtime as behind Table 1, i.e. the released code's
calls per check, with training spread over the test fold where the printed row contains it. *Honest*: fitting and
explaining apart, the input asked about once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol, runtime_checkable

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from rsgg.explainer import Counterfactual
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle, Oracle

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A column of a table: its name in files, its label, whether more is better, and how many decimals to print."""

    name: str
    label: str
    higher_is_better: bool
    decimals: int = 3


TABLE1_METRICS = (
    Metric("runtime", "Runtime (s)", False),
    Metric("ged", "GED", False),
    Metric("oracle_calls", "Oracle Calls", False),
    Metric("correctness", "Correctness", True),
    Metric("sparsity", "Sparsity", False),
    Metric("fidelity", "Fidelity", True),
    Metric("oracle_accuracy", "Oracle Acc.", True),
)
FURTHER_METRICS = (
    Metric("ged_on_success", "GED on success", False),
    Metric("correctness_class_0", "Correctness, class 0", True),
    Metric("correctness_class_1", "Correctness, class 1", True),
    Metric("optimality_gap", "GED / GED*", False),
    Metric("removal_auroc", "AUROC of removals", True),
    Metric("explain_calls", "Calls to explain", False),
    Metric("explain_seconds", "Seconds to explain", False),
    Metric("fit_calls", "Calls to fit (per fold)", False, 1),
    Metric("fit_seconds", "Seconds to fit (per fold)", False),
    Metric("oracle_calls_with_training", "Oracle Calls, training shared out", False),
    Metric("oracle_calls_without_training", "Oracle Calls, training left out", False),
    Metric("runtime_with_training", "Runtime, training shared out (s)", False),
    Metric("runtime_without_training", "Runtime, training left out (s)", False),
)
METRICS = {metric.name: metric for metric in TABLE1_METRICS + FURTHER_METRICS}

CORE_COLUMNS = (
    "instance", "candidate", "label", "predicted", "predicted_cf", "found", "reason",
    "n_nodes", "n_edges", "ged", "calls", "seconds", "edits", "optimum",
)  # fmt: skip


# -- The paper's metrics, per instance ---------------------------------------------------------------------


def ged(adjacency: ArrayLike, adjacency_cf: ArrayLike) -> Floats:
    """Graph edit distance under fixed node labels: ½ Σ_{u,v} [(A_uv > 0) ≠ (A'_uv > 0)], over the last two axes.

    That is the number of node pairs that differ; a self loop counts 1/2 and a multiplicity once, as released.
    """
    changed = (np.asarray(adjacency) > 0) != (np.asarray(adjacency_cf) > 0)
    return np.asarray(changed.sum((-2, -1)) / 2, dtype=np.float64)


def correctness(predicted: ArrayLike, predicted_cf: ArrayLike) -> Floats:
    """Ω(G, G') = [Φ(G) ≠ Φ(G')]."""
    return np.asarray(np.asarray(predicted) != np.asarray(predicted_cf), dtype=np.float64)


def sparsity(distance: ArrayLike, n_nodes: ArrayLike, n_edges: ArrayLike) -> Floats:
    """GED(G, G') / (|V| + |E|), with V and E of the input."""
    return np.asarray(distance, dtype=np.float64) / (np.asarray(n_nodes, np.float64) + np.asarray(n_edges, np.float64))


def oracle_accuracy(label: ArrayLike, predicted: ArrayLike) -> Floats:
    """χ(G) = [Φ(G) = y]."""
    return np.asarray(np.asarray(predicted) == np.asarray(label), dtype=np.float64)


def fidelity(label: ArrayLike, predicted: ArrayLike, predicted_cf: ArrayLike) -> Floats:
    """Ψ(G, G') = χ(G) - [Φ(G') = y]: 1, 0 or -1."""
    return oracle_accuracy(label, predicted) - oracle_accuracy(label, predicted_cf)


# -- Beyond the paper ----------------------------------------------------------------------------------------


def ged_on_success(distance: ArrayLike, correct: ArrayLike) -> Floats:
    """GED(G, G') where Ω(G, G') = 1, NaN elsewhere: a failure returns the input and would look close."""
    return np.where(np.asarray(correct) > 0, np.asarray(distance, dtype=float), np.nan)


def correctness_of_class(correct: ArrayLike, predicted: ArrayLike, c: int) -> Floats:
    """Ω(G, G') where Φ(G) = c, NaN elsewhere: a method that moves every graph one way shows at once."""
    return np.where(np.asarray(predicted) == c, np.asarray(correct, dtype=float), np.nan)


def optimality_gap(distance: ArrayLike, correct: ArrayLike, optimum: ArrayLike) -> Floats:
    """GED(G, G') / GED*(G) on successes, NaN elsewhere and where the optimum is not known; 1 is optimal."""
    return ged_on_success(distance, correct) / np.asarray(optimum, dtype=np.float64)


# -- Several candidates of one instance ------------------------------------------------------------------------


def validity_at_k(correct: ArrayLike, k: int) -> Floats:
    """max_{j<k} Ω(G, G'_j): is any of the first k candidates valid? `correct` has candidates on its last axis."""
    return np.asarray(np.asarray(correct)[..., :k].max(-1), dtype=np.float64)


def edits_distance(edits: Iterable[int], other: Iterable[int], n_nodes: int) -> float:
    """GED between two counterfactuals of one input: the size of the symmetric difference of their edits.

    A pair u ≤ v is coded u·n + v, so self loops, which count 1/2, are the multiples of n + 1.
    """
    apart = set(map(int, edits)) ^ set(map(int, other))
    return sum(0.5 if pair % (n_nodes + 1) == 0 else 1.0 for pair in apart)


def diversity(edit_sets: Sequence[Iterable[int]], n_nodes: int) -> float:
    """Mean GED over the pairs of *valid* candidates; NaN with fewer than two of them."""
    apart = [edits_distance(one, other, n_nodes) for one, other in combinations(edit_sets, 2)]
    return float(np.mean(apart)) if apart else float("nan")


def consensus_edits(edit_sets: Sequence[Iterable[int]], share: float = 0.5) -> list[int]:
    """The node pairs that more than `share` of the valid candidates edit: what the candidates agree on."""
    pairs, counts = np.unique([int(pair) for edits in edit_sets for pair in set(edits)], return_counts=True)
    return [int(pair) for pair in pairs[counts > share * len(edit_sets)]]


@runtime_checkable
class ScoresEdges(Protocol):
    """An explainer that says how probable each edge is in its counterfactual, before anything is sampled."""

    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor: ...


def removal_auroc(probabilities: Tensor, graphs: GraphBatch) -> Floats:
    """P(1 - A_g[e] > 1 - A_g[b]) for an edge e on a cycle and a bridge b, ties counting half: 1/2 if nothing is learnt.

    Does the generator know which edges hold the cycles of a cyclic graph? NaN for graphs without a cycle or a bridge.
    """
    aurocs = np.full(len(graphs), np.nan)
    for i, graph in enumerate(graphs):
        bridges = {tuple(sorted(edge)) for edge in nx.bridges(graph.to_networkx())}
        kept = {edge: float(probabilities[i, edge[0], edge[1]]) for edge in graph.edges()}
        on_cycle = np.array([p for edge, p in kept.items() if edge not in bridges])
        on_bridge = np.array([p for edge, p in kept.items() if edge in bridges])
        if len(on_cycle) and len(on_bridge):
            above = on_cycle[:, None] < on_bridge
            aurocs[i] = (above + 0.5 * (on_cycle[:, None] == on_bridge)).mean()
    return aurocs


# -- From results to the ledger ------------------------------------------------------------------------------


def evaluate(
    results: Sequence[Counterfactual], oracle: Oracle, labels: Tensor, optimum: Tensor | None = None
) -> pd.DataFrame:
    """One row per result, columns `CORE_COLUMNS`. `labels` and `optimum` are indexed by a result's `instance`.

    What was returned is taken as it is, self loops and multiplicities included. Φ is asked about all inputs in one
    batch and about all returned graphs in another, through a counter of its own: evaluation costs no method a call.
    """
    if not results:
        return pd.DataFrame(columns=list(CORE_COLUMNS))
    judge = CountingOracle(oracle.oracle if isinstance(oracle, CountingOracle) else oracle)
    inputs = GraphBatch.of([result.input for result in results])
    returned = GraphBatch.of([result.returned for result in results])
    instance = [result.instance for result in results]
    return pd.DataFrame(
        {
            "instance": instance,
            "candidate": [result.candidate for result in results],
            "label": labels[instance].cpu().numpy(),
            "predicted": judge.predict(inputs).cpu().numpy(),
            "predicted_cf": judge.predict(returned).cpu().numpy(),
            "found": [result.found for result in results],
            "reason": [result.reason for result in results],
            "n_nodes": inputs.sizes.cpu().numpy(),
            "n_edges": inputs.n_edges.cpu().numpy(),
            "ged": ged(inputs.adjacency.cpu().numpy(), returned.adjacency.cpu().numpy()),
            "calls": [result.calls for result in results],
            "seconds": [result.seconds for result in results],
            "edits": [[u * result.input.n_nodes + v for u, v in result.edits] for result in results],
            "optimum": np.nan if optimum is None else optimum[instance].cpu().numpy().astype(float),
        }
    )


# -- From the ledger to the metrics of a table -----------------------------------------------------------------


def per_instance(
    ledger: pd.DataFrame, *, calls_per_check: ArrayLike = 1, training_share: ArrayLike = 0.0
) -> pd.DataFrame:
    """The ledger's first candidates with every metric of `METRICS` as a column.

    `calls_per_check` and `training_share` are the paper's accounting, a value for all rows of the ledger or one per
    row: how often the released code asks the oracle per check (Capabilities.calls_per_check), and the share of folds
    whose training is inside the printed row (results/paper/table1.csv, column `training`; 0 for what is not printed).
    """
    accounted = ledger.assign(calls_per_check=calls_per_check, training_share=training_share)
    rows = accounted[accounted["candidate"] == 0].reset_index(drop=True)
    correct = correctness(rows["predicted"], rows["predicted_cf"])
    derived: dict[str, Any] = {
        "correctness": correct,
        "sparsity": sparsity(rows["ged"], rows["n_nodes"], rows["n_edges"]),
        "fidelity": fidelity(rows["label"], rows["predicted"], rows["predicted_cf"]),
        "oracle_accuracy": oracle_accuracy(rows["label"], rows["predicted"]),
        "ged_on_success": ged_on_success(rows["ged"], correct),
        "correctness_class_0": correctness_of_class(correct, rows["predicted"], 0),
        "correctness_class_1": correctness_of_class(correct, rows["predicted"], 1),
        "optimality_gap": optimality_gap(rows["ged"], correct, rows["optimum"]),
        "removal_auroc": rows.get("removal_auroc", np.nan),
    }
    return rows.assign(**derived, **_costs(rows))


def _costs(rows: pd.DataFrame) -> dict[str, pd.Series]:
    """Calls and time, in both accountings.

    `calls` includes the facade's one question about the input. Paper: c·(calls - 1), with c calls per check; the share
    of training is fit / (test instances). Everything a method asks beyond the facade's question is inside `calls`.
    """
    checks = rows["calls_per_check"] * (rows["calls"] - 1)
    fit_calls, fit_seconds = rows["fit_calls"] / rows["test_size"], rows["fit_seconds"] / rows["test_size"]
    return {
        "oracle_calls": checks + rows["training_share"] * fit_calls,
        "oracle_calls_with_training": checks + fit_calls,
        "oracle_calls_without_training": checks,
        "runtime": rows["seconds"] + rows["training_share"] * fit_seconds,
        "runtime_with_training": rows["seconds"] + fit_seconds,
        "runtime_without_training": rows["seconds"],
        "explain_calls": rows["calls"],
        "explain_seconds": rows["seconds"],
    }


def several_candidates(ledger: pd.DataFrame, by: Sequence[str] = ("fold", "instance")) -> pd.DataFrame:
    """Per instance of one cell's or one method's rows: k, validity@k, diversity, consensus edits and distinct ones."""
    summaries = []
    for key, rows in ledger.sort_values("candidate").groupby(list(by), sort=True):
        correct = correctness(rows["predicted"], rows["predicted_cf"])
        valid = [tuple(map(int, edits)) for edits, flips in zip(rows["edits"], correct, strict=True) if flips]
        summaries.append(
            {
                **dict(zip(by, key, strict=True)),
                "k": len(rows),
                "validity_at_k": float(validity_at_k(correct, len(rows))),
                "diversity": diversity(valid, int(rows["n_nodes"].iloc[0])),
                "distinct": len(set(valid)),
                "consensus_edits": consensus_edits(valid),
            }
        )
    return pd.DataFrame(summaries)
