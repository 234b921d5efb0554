"""What a counterfactual is worth: the paper's metrics (appendix, "Evaluation Metrics") and some beyond them.

Every metric is a pure function with its formula in the docstring. G is the input, G' what the explainer returned (G
itself where it failed), Φ the oracle, y the true label. `evaluate` turns results into a table with one row per instance
and candidate, from which all metrics follow. Importing this module loads no torch: tables and figures use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rsgg.errors import UsageError

if TYPE_CHECKING:
    from torch import Tensor

    from rsgg.counterfactual import Counterfactual
    from rsgg.graph import GraphBatch
    from rsgg.oracles.oracle import Oracle

Floats = NDArray[np.float64]

CORE_COLUMNS = (
    "instance", "candidate", "label", "predicted", "predicted_cf", "found", "reason",
    "n_nodes", "n_edges", "ged", "calls", "seconds", "edits", "node_edits", "optimum",
)  # fmt: skip


# -- The paper's metrics, per instance ---------------------------------------------------------------------


def ged(adjacency: ArrayLike, adjacency_cf: ArrayLike) -> Floats:
    """Graph edit distance under fixed node labels: ½ Σ_{u,v} [(A_uv > 0) ≠ (A'_uv > 0)], over the last two axes.

    That is the number of node pairs that differ; a self loop counts 1/2 and a multiplicity once, as released.
    """
    changed = (np.asarray(adjacency) > 0) != (np.asarray(adjacency_cf) > 0)
    return np.asarray(changed.sum((-2, -1)) / 2, dtype=np.float64)


def ged_with_nodes(
    adjacency: ArrayLike, adjacency_cf: ArrayLike, labels: ArrayLike, labels_cf: ArrayLike, origin: Sequence[int]
) -> float:
    """Graph edit distance where nodes were edited too; every node, edge and label that differs costs 1:

        Σ_{u<v} [(A_uv > 0) ≠ (A'_uv > 0)]  +  nodes that came  +  nodes that went  +  nodes with another label.

    `origin` says which node of the input each node of the counterfactual was, -1 for one that came; a node that is not
    there has no edges. A leaf that came or went costs 2. Since nodes are matched as `origin` says, this is at least the
    graph edit distance over all matchings.
    """
    before, after, source = np.asarray(adjacency) > 0, np.asarray(adjacency_cf) > 0, np.asarray(origin)
    came, kept = source < 0, source[source >= 0]
    n = len(before)
    place = np.where(came, n - 1 + np.cumsum(came), source)
    both = np.zeros((2, n + int(came.sum()), n + int(came.sum())), dtype=bool)
    both[0, :n, :n] = before
    both[1][np.ix_(place, place)] = after
    relabelled = np.asarray(labels)[kept] != np.asarray(labels_cf)[~came]
    return float(ged(both[0], both[1]) + came.sum() + (n - len(kept)) + relabelled.sum())


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
    """GED(G, G') where Ω(G, G') = 1, NaN elsewhere: a failure returns the input, whose distance is 0."""
    return np.where(np.asarray(correct) > 0, np.asarray(distance, dtype=float), np.nan)


def correctness_of_class(correct: ArrayLike, predicted: ArrayLike, c: int) -> Floats:
    """Ω(G, G') where Φ(G) = c, NaN elsewhere: shows methods that can explain one class only."""
    return np.where(np.asarray(predicted) == c, np.asarray(correct, dtype=float), np.nan)


def optimality_gap(distance: ArrayLike, correct: ArrayLike, optimum: ArrayLike) -> Floats:
    """GED(G, G') / GED*(G) on successes, NaN elsewhere and where the optimum is not known; 1 is optimal."""
    return ged_on_success(distance, correct) / np.asarray(optimum, dtype=np.float64)


# -- Curves over all instances ---------------------------------------------------------------------------------


def area_over_ged(distance: ArrayLike, correct: ArrayLike, limit: float) -> Floats:
    """Ω · max(0, 1 - GED / limit) of each instance, from 0 to 1; the mean is the area under validity over GED.

    That curve is F(g) = share of instances that are explained with at most g edits, g from 0 to `limit`, and its area
    (1 / limit) ∫ F(g) dg: 1 where no edits are needed, 0 where nothing is explained within the limit. Areas compare
    only at the same limit: choose it per task, not per method.
    """
    if limit <= 0:
        raise UsageError(f"The area under validity over GED needs a limit above 0; it was given {limit}.")
    saved = 1 - np.asarray(distance, dtype=np.float64) / limit
    return np.where(np.asarray(correct) > 0, np.clip(saved, 0, 1), 0.0)


def area_over_calls(calls: ArrayLike, correct: ArrayLike, limit: float) -> Floats:
    """Ω · max(0, 1 - log(calls) / log(limit)) of each instance; the mean is the area under validity over log calls.

    That curve is F(c) = share of instances that are explained with at most c calls of the oracle, c from 1 to `limit`
    on a logarithmic axis. Less than one call counts as one.
    """
    if limit <= 1:
        raise UsageError(f"The area under validity over calls needs a limit above 1; it was given {limit}.")
    return area_over_ged(np.log(np.maximum(1.0, np.asarray(calls, dtype=np.float64))), correct, float(np.log(limit)))


# -- Several candidates of one instance ------------------------------------------------------------------------


def validity_at_k(correct: ArrayLike, k: int) -> Floats:
    """max_{j<k} Ω(G, G'_j): is any of the first k candidates valid? `correct` has candidates on its last axis."""
    return np.asarray(np.asarray(correct)[..., :k].max(-1), dtype=np.float64)


def edits_distance(edits: Iterable[int], other: Iterable[int], n_nodes: int) -> float:
    """GED between two counterfactuals of one input: the size of the symmetric difference of their edits.

    A pair u ≤ v is coded u·n + v, so self loops, which count 1/2, are the multiples of n + 1.
    """
    apart = _as_set(edits) ^ _as_set(other)
    loops = sum(pair % (n_nodes + 1) == 0 for pair in apart)
    return len(apart) - 0.5 * loops


def _as_set(edits: Iterable[int]) -> frozenset[int]:
    """As a set of Python's numbers; what is a frozen set already is left as it is, for who compares many pairs."""
    return edits if isinstance(edits, frozenset) else frozenset(map(int, edits))


def diversity(edit_sets: Sequence[Iterable[int]], n_nodes: int) -> float:
    """Mean GED over the pairs of *valid* candidates; NaN with fewer than two of them."""
    apart = [edits_distance(one, other, n_nodes) for one, other in combinations(map(_as_set, edit_sets), 2)]
    return float(np.mean(apart)) if apart else float("nan")


def consensus_edits(edit_sets: Sequence[Iterable[int]], share: float = 0.5) -> list[int]:
    """The node pairs that more than `share` of the valid candidates edit: what the candidates agree on."""
    pairs, counts = np.unique([int(pair) for edits in edit_sets for pair in set(edits)], return_counts=True)
    return [int(pair) for pair in pairs[counts > share * len(edit_sets)]]


def jaccard(edits: Iterable[int], other: Iterable[int]) -> float:
    """|A ∩ B| / |A ∪ B| of two sets of edits: 1 the same edits (or none in both), 0 nothing shared.

    For one input and two seeds or two oracles; for two inputs only if their nodes have the same numbers.
    """
    a, b = _as_set(edits), _as_set(other)
    return len(a & b) / len(a | b) if a | b else 1.0


def jaccard_distance(edit_sets: Sequence[Iterable[int]]) -> float:
    """Mean of 1 - |A ∩ B| / |A ∪ B| over the pairs of *valid* candidates' edits: 0 always the same, 1 nothing shared.

    NaN with fewer than two of them.
    """
    apart = [1 - jaccard(a, b) for a, b in combinations(map(_as_set, edit_sets), 2)]
    return float(np.mean(apart)) if apart else float("nan")


def consensus(edit_sets: Sequence[Iterable[int]], share: float = 0.5) -> float:
    """Of the pairs that any valid candidate edits, the share that more than `share` of the candidates edit.

    NaN with fewer than two of them.
    """
    any_edits = {int(pair) for edits in edit_sets for pair in edits}
    agreed = len(consensus_edits(edit_sets, share)) / max(1, len(any_edits))
    return agreed if len(edit_sets) > 1 else float("nan")


def several_candidates(ledger: pd.DataFrame, by: Sequence[str] = ("fold", "instance")) -> pd.DataFrame:
    """Per instance of one cell's or one method's rows: k, validity@1 and @k, how far valid candidates differ, and what
    they agree on.
    """
    summaries = []
    for key, rows in ledger.sort_values("candidate").groupby(list(by), sort=True):
        correct = correctness(rows["predicted"], rows["predicted_cf"])
        valid = [tuple(map(int, edits)) for edits, flips in zip(rows["edits"], correct, strict=True) if flips]
        summaries.append(
            {
                **dict(zip(by, key, strict=True)),
                "k": len(rows),
                "validity_at_1": float(validity_at_k(correct, 1)),
                "validity_at_k": float(validity_at_k(correct, len(rows))),
                "diversity": diversity(valid, int(rows["n_nodes"].iloc[0])),
                "jaccard_distance": jaccard_distance(valid),
                "consensus": consensus(valid),
                "distinct": len(set(valid)),
                "consensus_edits": consensus_edits(valid),
            }
        )
    return pd.DataFrame(summaries)


# -- Robustness ------------------------------------------------------------------------------------------------


def robustness(correct: ArrayLike, predicted: ArrayLike, predicted_cf: ArrayLike) -> Floats:
    """1/c Σ_i [Φ_i(G) ≠ Φ_i(G')] where Ω(G, G') = 1, NaN elsewhere: the share of c other oracles Φ_1, …, Φ_c for which
    a valid counterfactual is one too.

    Each of the others is asked about G as well as about G': it may have put G into another class than Φ from the
    start (`agreement`). `correct` is Ω, [B]; `predicted` and `predicted_cf` are the classes that the others give to G
    and to G', [c, B].
    """
    stays = correctness(predicted, predicted_cf).mean(0)
    return np.where(np.asarray(correct) > 0, stays, np.nan)


def agreement(predicted: ArrayLike, of_others: ArrayLike) -> Floats:
    """1/c Σ_i [Φ_i(G) = Φ(G)]: the share of c other oracles that give G the same class; `of_others` is [c, B]."""
    return np.asarray((np.asarray(of_others) == np.asarray(predicted)).mean(0), dtype=np.float64)


def stability(
    edits: Sequence[Iterable[int]], others: Sequence[Iterable[int]], correct: ArrayLike, others_correct: ArrayLike
) -> Floats:
    """The `jaccard` index of the edits of two counterfactuals of each instance, of which something harmless differs.

    NaN where the first is not valid: there is nothing to be stable. 0 where only the first is: it has gone.
    """
    alike = [jaccard(one, other) for one, other in zip(edits, others, strict=True)]
    return np.where(np.asarray(correct) > 0, np.asarray(alike) * (np.asarray(others_correct) > 0), np.nan)


def actionability(edits: Sequence[Iterable[int]], frozen: Sequence[Iterable[int]], correct: ArrayLike) -> Floats:
    """Ω(G, G') · [no edited pair is frozen]: is there a valid counterfactual that somebody could act on?"""
    free = [not set(map(int, one)) & set(map(int, kept)) for one, kept in zip(edits, frozen, strict=True)]
    return np.asarray((np.asarray(correct) > 0) & np.asarray(free, dtype=bool), dtype=np.float64)


# -- Scores of edges -------------------------------------------------------------------------------------------


@runtime_checkable
class ScoresEdges(Protocol):
    """An explainer that says how probable each edge is in its counterfactual, before anything is sampled."""

    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor: ...


def removal_auroc(probabilities: Tensor, graphs: GraphBatch, important: Tensor) -> Floats:
    """P(1 - p_e > 1 - p_b) for an important edge e and another edge b, ties counting half: 1/2 if nothing is learnt.

    Does a method know which edges decide the class? `probabilities` [B, N, N] are those with which it keeps each edge,
    `important` (bool [B, N, N], upper triangle) comes from `Oracle.important_edges`. Returns one value per graph, NaN
    where all edges are important or none is.
    """
    aurocs = np.full(len(graphs), np.nan)
    edges, kept = graphs.edge_mask.cpu().numpy(), probabilities.detach().cpu().numpy()
    for i, decides in enumerate(important.cpu().numpy()):
        among, others = kept[i][edges[i] & decides], kept[i][edges[i] & ~decides]
        if len(among) and len(others):
            aurocs[i] = ((among[:, None] < others) + 0.5 * (among[:, None] == others)).mean()
    return aurocs


def auc(scores: ArrayLike, positive: ArrayLike) -> float:
    """P(a positive has a higher score than a negative), ties counting half: the area under the ROC curve.

    NaN where there is no positive or no negative.
    """
    values, chosen = np.asarray(scores, dtype=float), np.asarray(positive, dtype=bool)
    high, low = values[chosen][:, None], values[~chosen]
    return float(((high > low) + 0.5 * (high == low)).mean()) if high.size and low.size else float("nan")


def ranking_auc(before: Mapping[int, float], after: Mapping[int, float], top: int) -> float:
    """Does a ranking of edges survive noise? AUC of the scores `after` for the `top` edges of the scores `before`.

    Both map edges, coded u · n + v, to scores. Edges of the noisy graph are ranked: those among the `top` highest of
    the original (the first in the order of codes where scores tie) are positive. NaN where none or all of them are.
    """
    highest = set(sorted(before, key=lambda edge: (-before[edge], edge))[:top])
    return auc(list(after.values()), [edge in highest for edge in after])


class MotifRecovery(NamedTuple):
    """How well the edits of a counterfactual hit the edges that are known to make the class."""

    precision: float
    recall: float
    f1: float


def motif_recovery(edits: Iterable[int], edges: ArrayLike, motif: ArrayLike) -> MotifRecovery:
    """Of D, the existing edges that were edited, and M, the motif's edges: |D ∩ M| / |D|, |D ∩ M| / |M|, and
    F1 = 2 |D ∩ M| / (|D| + |M|).

    `edits` are pairs coded u · n + v; `edges` and `motif` are bool [n, n], of which the upper triangle counts, such as
    `Dataset.motif`. Added edges and edits of nodes (codes from n² on) are not looked at. Without motif all three are
    NaN; with one and D empty the precision is NaN and the others 0. A method that scores edges without deleting them is
    judged by `removal_auroc`, with the motif as what is important.
    """
    there, known = np.triu(np.asarray(edges) > 0, 1), np.triu(np.asarray(motif) > 0, 1)
    changed = np.zeros(there.size, dtype=bool)
    changed[[pair for pair in map(int, edits) if pair < there.size]] = True
    deleted, known = changed & there.ravel(), known.ravel() & there.ravel()
    hit, n_deleted, n_known = int((deleted & known).sum()), int(deleted.sum()), int(known.sum())
    if not n_known:
        return MotifRecovery(float("nan"), float("nan"), float("nan"))
    return MotifRecovery(hit / n_deleted if n_deleted else float("nan"), hit / n_known, 2 * hit / (n_deleted + n_known))


def tanimoto(a: Mapping[int, int], b: Mapping[int, int]) -> float:
    """Similarity of two molecules by how often each part f occurs in them: Σ_f min(a_f, b_f) / Σ_f max(a_f, b_f).

    Parts that occur in neither are left out. Two molecules without any part are alike: 1.
    """
    parts = a.keys() | b.keys()
    most = sum(max(a.get(part, 0), b.get(part, 0)) for part in parts)
    return sum(min(a.get(part, 0), b.get(part, 0)) for part in parts) / most if most else 1.0


def hypervolume(points: ArrayLike, reference: ArrayLike) -> float:
    """How much a set of points dominates, all d columns to be large: the volume of ∪_p {x : reference ≤ x ≤ p}.

    `points` is [n, d], `reference` [d]; a point that is not above the reference in every column adds nothing. The last
    column is cut where points begin: between two cuts the volume is the height times that of the points that reach
    above it, in one dimension less.
    """
    rows, least = np.asarray(points, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if not rows.size:
        return 0.0
    rows = rows[(rows > least).all(1)] - least
    if rows.shape[1] == 1:
        return float(rows.max(initial=0.0))
    volume, below = 0.0, 0.0
    for cut in np.unique(rows[:, -1]):
        volume += (cut - below) * hypervolume(rows[rows[:, -1] >= cut, :-1], np.zeros(rows.shape[1] - 1))
        below = cut
    return float(volume)


# -- From results to a table ---------------------------------------------------------------------------------


def evaluate(
    results: Sequence[Counterfactual],
    oracle: Oracle,
    labels: Tensor | Sequence[int],
    optimum: Tensor | None = None,
) -> pd.DataFrame:
    """One row per result, columns `CORE_COLUMNS`. `labels` and `optimum` are indexed by a result's `instance`.

    What was returned is taken as it is, self loops and multiplicities included. `edits` are pairs and `node_edits` are
    edits of nodes, both coded for the input's number of nodes (`rsgg.edits`). Φ is asked about all inputs in one
    batch and about all returned graphs in another, through a counter of its own: evaluation costs no method a call.
    """
    import torch

    from rsgg.graph import GraphBatch
    from rsgg.oracles.counting import CountingOracle

    if not results:
        return pd.DataFrame(columns=list(CORE_COLUMNS))
    judge = CountingOracle(oracle.oracle if isinstance(oracle, CountingOracle) else oracle)
    instance = [result.instance for result in results]
    if len(labels) <= max(instance):
        raise UsageError(
            f"There are {len(labels)} labels, but a result is of graph {max(instance)} (from 0); give a label for each "
            "graph that was explained, in their order."
        )
    inputs = GraphBatch.of([result.input for result in results])
    returned = GraphBatch.of([result.returned for result in results])
    return pd.DataFrame(
        {
            "instance": instance,
            "candidate": [result.candidate for result in results],
            "label": torch.as_tensor(labels)[instance].cpu().numpy(),
            "predicted": judge.predict(inputs).cpu().numpy(),
            "predicted_cf": judge.predict(returned).cpu().numpy(),
            "found": [result.offered for result in results],  # its class is in predicted_cf
            "reason": ["" if result.offered else result.reason for result in results],
            "n_nodes": inputs.sizes.cpu().numpy(),
            "n_edges": inputs.n_edges.cpu().numpy(),
            "ged": _distances(results, inputs, returned),
            "calls": [result.calls for result in results],
            "seconds": [result.seconds for result in results],
            "edits": [[u * result.input.n_nodes + v for u, v in result.edits] for result in results],
            "node_edits": [[one.code(result.input.n_nodes) for one in result.node_edits] for result in results],
            "optimum": np.nan if optimum is None else optimum[instance].cpu().numpy().astype(float),
        }
    )


def _distances(results: Sequence[Counterfactual], inputs: GraphBatch, returned: GraphBatch) -> Floats:
    """GED(G, G') of each result."""
    if not any(result.node_edits for result in results):
        return ged(inputs.adjacency.cpu().numpy(), returned.adjacency.cpu().numpy())
    return np.array([_distance(result) for result in results])


def _distance(result: Counterfactual) -> float:
    from rsgg.edits import origins, plain_labels

    before, after = result.input, result.returned
    if not result.node_edits:
        return float(ged(before.adjacency, after.adjacency))
    origin = origins(result.node_edits, before.n_nodes)
    return ged_with_nodes(before.adjacency, after.adjacency, plain_labels(before), plain_labels(after), origin)
