"""Node classification (the paper's appendix): why has this node this class, and what would change it?

    ./reproduce.sh nodes                                    # data sets from files, RSGG_DATA_DIR/node
    ./reproduce.sh nodes --data tree-grid-generated         # drawn by the published recipe, no files needed
    ./reproduce.sh nodes --data ba-shapes-lucic             # with the weights that CF-GNNExplainer was published with

An instance is the ego network of a node (`rsgg.data.nodes`); edits are of pairs inside it, additions included. The
explained nodes are test nodes of the oracle, rightly predicted or not; methods that learn learn from its training
nodes. At most 300 of each, drawn by name; nodes whose ego network has more than 300 (BA-Community: 360) nodes are left
out, which in the BA sets are most nodes of the base. CF-GNNExplainer explains motif nodes only, those that are
predicted to be in a motif: the same metrics of these nodes alone end in `_motif_nodes`.

`nodes.csv` has a line per task, row and metric. Intervals are bootstrapped over nodes, replicates averaged first.

- `correctness`, `ged_on_success`, `explain_calls`, `fit_calls`: as in Table 1; `found_within_2`: found with GED ≤ 2
- `edits_on_motif_edges`: share of the edited pairs that are edges of a motif, of results that are found
- `ends_in_motifs`: share of the ends of edited pairs that are nodes of a motif
- `edges_untouched`: 1 - edited pairs / edges of the ego network, of results that are found (CF-GNNExplainer's sparsity)
- `ends_predicted_in_motifs`: of the nodes other than v at the ends of edited pairs, the share that is predicted to be
  in a motif, where v is (CF-GNNExplainer's accuracy)
- `oracle_accuracy`: of the oracle on all test nodes of the whole graph

Tasks whose name ends in `-lucic` explain all test nodes, in ego networks that reach four edges far, with the published
weights of CF-GNNExplainer: on its own graph (BA-Shapes), on the given draws of the tree sets, and on ten drawn anew.
`nodes_printed.csv` compares the numbers of its table with what is measured there (`benchmarks.judging.printed_nodes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.judging import printed_nodes
from benchmarks.registry import methods, tasks
from benchmarks.registry.names import numbers
from benchmarks.registry.rules import DRAWS
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import history_table
from benchmarks.results.summary import MEANS, accounted
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.plan import grid
from benchmarks.running.run_cell import Observer, Run
from rsgg.counterfactual import Counterfactual
from rsgg.data.nodes import NodeDataset, NodeGraph
from rsgg.oracles.nodes import NodeGCN
from rsgg.statistics import bootstrap_interval

ROWS = (
    "rsgg-ce-taught", "rsgg-ce-certified", "rsgg-ce-swaps", "cf-gnn-explainer", "cf-gnn-explainer-slow",
    "two-sided-min", "random", "remove-ego", "keep-ego", "empty",
)  # fmt: skip
REPLICATES = (0, 1, 2)
CF_GNN = ("cf-gnn-explainer", "cf-gnn-explainer-slow")
JUDGED = (*CF_GNN, "remove-ego", "keep-ego", "random-masks")  # rows that printed ones are held against
WHOSE = ["dataset", "method", "variant", "seed", "instance"]
OF_LEDGER = ("correctness", "ged_on_success", "explain_calls", "fit_calls")
OF_EDITS = ("edits_on_motif_edges", "ends_in_motifs", "edges_untouched", "ends_predicted_in_motifs")
MEASURED = (*OF_EDITS, "oracle_accuracy")
METRICS = (*OF_LEDGER, "found_within_2", *MEASURED)
OF_MOTIF_NODES = tuple(name for name in METRICS if name not in ("fit_calls", "oracle_accuracy"))


class OfMotifs(Observer):
    """How the edits lie to the motifs of the whole graph; a line per test node, stored beside the cell."""

    def table(self, run: Run) -> pa.Table | None:
        dataset, oracle = run.problem.dataset, run.problem.oracle
        if not isinstance(dataset, NodeDataset) or not isinstance(oracle, NodeGCN):
            return None
        predicted = oracle.predict_whole(dataset.whole).numpy()
        return history_table(
            {
                "instance": int(run.fold.test[result.instance]),
                "oracle_accuracy": oracle.accuracy,
                **measured(result, dataset.whole, predicted),
            }
            for result in run.results
        )


def measured(result: Counterfactual, whole: NodeGraph, predicted: np.ndarray) -> dict[str, float]:
    """Is the node in a motif and predicted to be, and how do its edits lie to motifs (NaN without edits)?"""
    names = np.array(result.input.node_names)
    v, pairs = names[0], np.sort(names[np.array(result.edits, dtype=np.int64).reshape(-1, 2)], axis=1)
    shares = dict.fromkeys(OF_EDITS, np.nan)
    if len(pairs):
        shares["ends_in_motifs"] = float(whole.in_motif[pairs].mean())
        shares["edges_untouched"] = 1 - len(pairs) / (int(result.input.adjacency.sum()) / 2)
        if predicted[v] % 4 > 0:
            others = np.setdiff1d(pairs, v)
            shares["ends_predicted_in_motifs"] = float((predicted[others] % 4 > 0).mean())
        if whole.motif_edges is not None:
            motifs = set(map(tuple, whole.motif_edges.tolist()))
            shares["edits_on_motif_edges"] = float(np.mean([tuple(pair) in motifs for pair in pairs.tolist()]))
    return {"motif_node": float(whole.in_motif[v] and predicted[v] % 4 > 0), **shares}


def per_node(done: Finished) -> pd.DataFrame:
    """A line per row and explained node: what the ledger says of it, and what was measured of motifs."""
    if done.ledger.empty:
        return pd.DataFrame(columns=[*WHOSE, "ged", "motif_node", *METRICS])
    rows = accounted(done.ledger)[[*WHOSE, "ged", *OF_LEDGER]]
    rows = rows.merge(done.history.reindex(columns=[*WHOSE, "motif_node", *MEASURED]), on=WHOSE)
    found = rows["correctness"] == 1
    rows["found_within_2"] = (found & (rows["ged"] <= 2)).astype(float)
    rows.loc[~found, list(OF_EDITS)] = np.nan
    return rows


def _lines(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    for (task, method, variant), own in rows.groupby(WHOSE[:3], sort=False):
        other_nodes = own["seed"] * len(rows) if tasks.task(str(task)).generated else 0  # in each replicate
        node = own["instance"] + other_nodes
        in_motif = own["motif_node"].astype(bool)
        parts = [(name, own, node) for name in METRICS]
        parts += [(f"{name}_motif_nodes", own[in_motif], node[in_motif]) for name in OF_MOTIF_NODES]
        for name, part, cluster in parts:
            value = part[name.removesuffix("_motif_nodes")].astype(float)
            means = value.groupby(cluster).mean().dropna()
            if len(means):
                interval = bootstrap_interval(means)
                line = {"task": task, "method": method, "variant": variant, "metric": name, "mean": float(means.mean())}
                yield {**line, "ci_low": interval.low, "ci_high": interval.high, "n": len(means)}


def rows_on(entry: tasks.TaskEntry) -> tuple[str, ...]:
    """Which rows are run on a task unless others are named.

    Ego networks of CF-GNNExplainer's BA-Shapes have up to 700 nodes, and there are ten draws of its other sets: only
    rows that are held against its table are run there.
    """
    return JUDGED if entry.name in {judged.name for judged in (tasks.LUCIC[0], *tasks.LUCIC_DRAWN)} else ROWS


def replicates_of(method: methods.Method, entry: tasks.TaskEntry) -> tuple[int, ...]:
    """In which replicates. CF-GNNExplainer has nothing random in it: one of a given graph will do."""
    if entry.name in {drawn.name for drawn in tasks.LUCIC_DRAWN}:
        return tuple(range(DRAWS))
    if method.name in printed_nodes.BY_CHANCE:
        return REPLICATES
    once = entry.name in {given.name for given in tasks.LUCIC} or (method.name in CF_GNN and not entry.generated)
    return REPLICATES[:1] if once else REPLICATES


class Nodes(Experiment):
    """The rows of `ROWS` on the node data sets; where a printed table is judged, the rows that it is judged by."""

    name = "nodes"
    shows = ("nodes", "nodes_printed")

    def plan(self, options: Any) -> list[Cell]:
        known = [entry.name for entry in (*tasks.GIVEN_NODES, *tasks.LUCIC, *tasks.LUCIC_DRAWN)]
        cells, seeds = [], numbers(options.seeds, "seed")
        for entry in tasks.choose(options.datasets or known, smoke=options.smoke):
            for row in methods.choose(options.methods or rows_on(entry)):
                replicates = seeds or replicates_of(row, entry)[: 1 if options.smoke else None]
                cells += grid(
                    [entry], [row], folds=(0,), of=1, seeds=replicates, smoke=options.smoke,
                    graph_seconds=options.graph_seconds,
                )  # fmt: skip
        return list(dict.fromkeys(cells))  # a base may be asked for, and come with its "+ min" row

    def observer(self, options: Any) -> Observer:
        return OfMotifs()

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        rows = per_node(done)
        files.csv("nodes.csv", pd.DataFrame(_lines(rows), columns=list(MEANS)))
        files.csv("nodes_printed.csv", printed_nodes.judged(rows))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("nodes")
