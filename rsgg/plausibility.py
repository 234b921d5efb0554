"""Does a counterfactual look like a real graph of the class that it claims?

Two answers, neither of which any method was trained on:

- `RealGraphs.plausibility`: a rank per counterfactual. Its score is how far it is from its nearest real graphs of the
  claimed class; its plausibility is the share of held-out real graphs of that class that are no nearer. Real graphs get
  .5 on average, what looks like none of them gets nearly 0.
- `mmd_to_real`: a distance per method, between all its counterfactuals and real graphs, by their degrees, clustering
  coefficients and spectra.

Graphs are compared by their Weisfeiler-Lehman subtrees (Shervashidze et al. 2011): each node's label, then the labels
that 1 … h rounds of "my label and those of my neighbours" give. Everything is computed for a whole batch at once, and
nothing depends on the order of the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from rsgg.encodings import block_diagonal, clustering
from rsgg.errors import UsageError
from rsgg.graph import GraphBatch

Floats = NDArray[np.float64]

ROUNDS = 3  # h: subtrees of up to three steps
NEAREST = 5  # real graphs that a score is the mean distance to
CLUSTERING_BINS, SPECTRUM_BINS = 100, 200  # as is usual since GraphRNN (You et al. 2018)


# -- Weisfeiler-Lehman subtrees -----------------------------------------------------------------------------------


def node_labels(graphs: GraphBatch) -> NDArray[np.int64]:
    """The label of each node, int64 [B, N]: the position of the 1 in its one-hot features, counted from 1.

    Nodes without features, or with features that are no one-hot labels, all have the label 0.
    """
    if graphs.features is None:
        return np.zeros((len(graphs), graphs.n_nodes), dtype=np.int64)
    return np.where(one_hot_nodes(graphs), graphs.features.cpu().numpy().argmax(2) + 1, 0)


def one_hot_nodes(graphs: GraphBatch) -> NDArray[np.bool_]:
    """Which nodes have one-hot features, bool [B, N]; the graphs have features."""
    assert graphs.features is not None
    features = graphs.features.cpu().numpy()
    return ((features == 0) | (features == 1)).all(2) & (features.sum(2) == 1)


@dataclass(frozen=True, eq=False)
class Subtrees:
    """How often each Weisfeiler-Lehman subtree occurs in each graph: one entry per graph and subtree.

    `graph` int64 [K] is the graph of an entry, `code` uint64 [K] its subtree, `count` float64 [K] how often it occurs;
    there are `n_graphs` graphs. The codes of equal subtrees are equal in all batches, so that batches can be compared.
    """

    graph: NDArray[np.int64]
    code: NDArray[np.uint64]
    count: Floats
    n_graphs: int

    def roots(self) -> Subtrees:
        """The same with the square roots of the counts: see `RealGraphs`."""
        return replace(self, count=np.sqrt(self.count))

    def with_itself(self) -> Floats:
        """k(G, G) of each graph, float64 [B]."""
        return np.bincount(self.graph, self.count**2, self.n_graphs).astype(np.float64)


def subtrees(graphs: GraphBatch, rounds: int = ROUNDS) -> Subtrees:
    """Count the subtrees of 0 … `rounds` steps around every node.

    The code of a node after r + 1 rounds is a 64-bit hash of its code after r rounds and of the sum of its neighbours'
    hashed codes, which does not depend on their order. With 64 bits, two of a million different subtrees share a code
    with probability 3 · 10⁻⁸.
    """
    real = graphs.node_mask.cpu().numpy().ravel()
    neighbours = block_diagonal(graphs).astype(np.uint64)
    code = _mixed(node_labels(graphs).astype(np.uint64).ravel(), 0)
    codes = [code[real]]
    for step in range(1, rounds + 1):
        code = _mixed(code + 3 * _mixed(neighbours @ _mixed(code, step), step), step)
        codes.append(code[real])
    graph = np.repeat(np.arange(len(graphs)), graphs.sizes.cpu().numpy())
    return _counted(np.tile(graph, rounds + 1), np.concatenate(codes), len(graphs))


def _mixed(code: NDArray[np.uint64], step: int) -> NDArray[np.uint64]:
    """A 64-bit hash of each number (the finaliser of SplitMix64, Steele et al. 2014), another one for each step."""
    z = code + np.uint64((step + 1) * 0x9E3779B97F4A7C15 % 2**64)  # arrays of unsigned numbers wrap around, as meant
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _counted(graph: NDArray[np.int64], code: NDArray[np.uint64], n_graphs: int) -> Subtrees:
    order = np.lexsort((code, graph))
    graph, code = graph[order], code[order]
    first = np.r_[True, (np.diff(graph) != 0) | (code[1:] != code[:-1])]
    count = np.diff(np.r_[np.flatnonzero(first), len(code)]).astype(np.float64)
    return Subtrees(graph[first], code[first], count, n_graphs)


def wl_kernel(one: Subtrees, other: Subtrees) -> Floats:
    """The normalised kernel k(G, H) / √(k(G, G) k(H, H)), float64 [graphs of one, graphs of other], from 0 to 1.

    k(G, H) = Σ over subtrees of (how often in G) · (how often in H).
    """
    column = np.unique(np.concatenate((one.code, other.code)), return_inverse=True)[1]
    here, there = column[: len(one.code)], column[len(one.code) :]
    width = int(column.max()) + 1
    left = csr_array((one.count, (one.graph, here)), shape=(one.n_graphs, width))
    right = csr_array((other.count, (other.graph, there)), shape=(other.n_graphs, width))
    return (left @ right.T).toarray() / np.sqrt(np.outer(one.with_itself(), other.with_itself()))


def wl_distance(one: Subtrees, other: Subtrees) -> Floats:
    """√(2 - 2k) with the normalised kernel k: the distance of the two graphs' unit vectors, from 0 to √2.

    k is rounded to 12 places, so that graphs with the same subtrees are exactly 0 apart.
    """
    return np.sqrt(2 - 2 * np.minimum(1.0, wl_kernel(one, other).round(12)))


# -- Plausibility: a rank among held-out real graphs ---------------------------------------------------------------


def mean_of_nearest(distances: ArrayLike, nearest: int = NEAREST, *, but_for_one_at_zero: bool = False) -> Floats:
    """The mean of the `nearest` smallest distances of each row, float64 [R]; of all of them where there are fewer.

    With `but_for_one_at_zero`, one distance of each row that has a 0 does not count; NaN where no other is left.
    """
    d = np.asarray(distances, dtype=np.float64)
    smallest = np.sort(np.partition(d, min(nearest, d.shape[1] - 1), axis=1)[:, : nearest + 1], axis=1)
    without = but_for_one_at_zero & (smallest[:, :1] == 0)
    smallest = np.where(without, np.c_[smallest[:, 1:], np.full(len(d), np.nan)], smallest)[:, :nearest]
    n_left = (~np.isnan(smallest)).sum(1)
    return np.where(n_left > 0, np.nansum(smallest, axis=1) / np.maximum(1, n_left), np.nan)


def conformal_p_value(score: ArrayLike, held_out: ArrayLike, left_out: ArrayLike | None = None) -> Floats:
    """(1 + #{h: s_h ≥ s}) / (1 + #h) for each score s, over the scores s_h of held-out graphs; float64 [R].

    If a graph is as good as drawn with the held-out ones, P(p ≤ α) ≤ α for every α (Vovk et al. 2005), and without
    ties p is uniform on 1/(1 + #h), …, 1. `left_out` (bool [R, held-out]) names held-out graphs that do not count.
    """
    s, known = np.asarray(score, dtype=np.float64), np.asarray(held_out, dtype=np.float64)
    counts = np.ones((len(s), len(known)), dtype=bool) if left_out is None else ~np.asarray(left_out, dtype=bool)
    at_least = (known >= s[:, None] - 1e-9) & counts  # equal graphs are equally far, up to rounding
    return (1 + at_least.sum(1)) / (1 + counts.sum(1))


class RealGraphs:
    """Real graphs of each class, by which counterfactuals are judged; made once per fold.

    Args:
        reference: real graphs outside the test fold: scores are distances to those of the class in question.
        reference_classes: their classes, int [B].
        held_out: real graphs that are not among the reference graphs, e.g. the test fold: plausibility is a rank
            among those of the class in question.
        held_out_classes: their classes.

    A class without reference graphs has no scores: what claims it gets NaN.

    A counterfactual may be one of the reference graphs (`rsgg.baselines.search.DCE` returns them). It would be its own
    nearest neighbour, which no held-out graph is; so of the reference graphs that cannot be told from the graph that is
    judged, one does not count. A retrieved real graph then gets .5 on average, as any other real graph does.

    Distances are `wl_distance` of the square roots of the counts (Hellinger's distance): counts as they are depend
    mostly on the few commonest subtrees and hardly notice that a fifth of the edges of a protein were rewired.
    """

    def __init__(
        self, reference: Any, reference_classes: ArrayLike, held_out: Any, held_out_classes: ArrayLike
    ) -> None:
        known, others = GraphBatch.of(reference), GraphBatch.of(held_out)
        self._classes = _one_class_each(reference_classes, known, "reference")
        self._held_out_classes = _one_class_each(held_out_classes, others, "held-out")
        self._subtrees = subtrees(known).roots()
        self._held_out_names = np.array(others.names)
        self._held_out_scores = self._score(subtrees(others).roots(), self._held_out_classes, but_for_itself=False)

    def score(self, graphs: Any, classes: ArrayLike) -> Floats:
        """Mean distance to the `NEAREST` nearest reference graphs of the given class, float64 [R], from 0 to √2.

        If there is one at distance 0, it is taken for the graph itself and left out.
        """
        batch = GraphBatch.of(graphs)
        return self._score(subtrees(batch).roots(), _one_class_each(classes, batch, "judged"), but_for_itself=True)

    def plausibility(self, graphs: Any, classes: ArrayLike) -> Floats:
        """The conformal p-value of each graph among the held-out graphs of the class that it claims, float64 [R].

        A held-out graph of the same name is the input that the graph was made of: it does not count.
        """
        batch = GraphBatch.of(graphs)
        claimed = _one_class_each(classes, batch, "judged")
        other_class = self._held_out_classes[None, :] != claimed[:, None]
        input_itself = self._held_out_names[None, :] == np.array(batch.names)[:, None]
        scores = self.score(batch, claimed)
        p = conformal_p_value(scores, self._held_out_scores, other_class | input_itself)
        return np.where(np.isnan(scores), np.nan, p)

    def _score(self, made: Subtrees, classes: NDArray[np.int64], *, but_for_itself: bool) -> Floats:
        distances, scores = wl_distance(made, self._subtrees), np.full(made.n_graphs, np.nan)
        for c in np.unique(classes):
            rows, columns = classes == c, self._classes == c
            if columns.any():
                scores[rows] = mean_of_nearest(distances[rows][:, columns], but_for_one_at_zero=but_for_itself)
        return scores


def _one_class_each(classes: ArrayLike, graphs: GraphBatch, which: str) -> NDArray[np.int64]:
    given = np.asarray(classes, dtype=np.int64)
    if given.shape != (len(graphs),):
        raise UsageError(f"There are {len(graphs)} {which} graphs and classes of shape {given.shape}; give one each.")
    return given


# -- Maximum mean discrepancy: one distance for all counterfactuals of a method --------------------------------------


def degree_histograms(graphs: GraphBatch, most: int) -> Floats:
    """The share of nodes with 0, 1, … `most` neighbours (or more), float64 [B, most + 1]."""
    degree = np.minimum(np.diff(block_diagonal(graphs).indptr), most)
    return _shares(graphs, degree[graphs.node_mask.cpu().numpy().ravel()], most + 1)


def clustering_histograms(graphs: GraphBatch) -> Floats:
    """The share of nodes whose clustering coefficient is in each of 100 equal parts of [0, 1], float64 [B, 100]."""
    coefficient = clustering(block_diagonal(graphs))[graphs.node_mask.cpu().numpy().ravel()]
    return _shares(graphs, _part(coefficient, CLUSTERING_BINS), CLUSTERING_BINS)


def spectrum_histograms(graphs: GraphBatch) -> Floats:
    """The share of eigenvalues of I - D^-½ A D^-½ in each of 200 equal parts of [0, 2], float64 [B, 200].

    The row of a node without neighbours is 0, which gives an eigenvalue 0, as in NetworkX.
    """
    values = []
    for graph in graphs:  # one by one: padding to the largest would cost more than the loop
        a = (graph.adjacency > 0).astype(np.float64)
        np.fill_diagonal(a, 0)
        degree = a.sum(1)
        scale = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0)
        values.append(np.linalg.eigvalsh(np.diag((degree > 0).astype(float)) - scale[:, None] * a * scale))
    return _shares(graphs, _part(np.concatenate(values) / 2, SPECTRUM_BINS), SPECTRUM_BINS)


def _part(share: Floats, parts: int) -> NDArray[np.int64]:
    """Which of so many equal parts of [0, 1] a number is in; what rounding puts just below an end belongs above it."""
    return np.floor(share * parts + 1e-6).astype(np.int64).clip(0, parts - 1)


def _shares(graphs: GraphBatch, part: NDArray[np.int64], parts: int) -> Floats:
    """A histogram per graph of one whole number per node, each summing to 1, float64 [B, parts]."""
    sizes = graphs.sizes.cpu().numpy()
    graph = np.repeat(np.arange(len(graphs)), sizes)
    return np.bincount(graph * parts + part, minlength=len(graphs) * parts).reshape(-1, parts) / sizes[:, None]


def total_variation(one: Floats, other: Floats) -> Floats:
    """½ Σ |p - q| between all rows of two sets of histograms, float64 [rows of one, rows of other], from 0 to 1."""
    return np.stack([np.abs(row - other).sum(1) / 2 for row in one])


def mmd(one: Floats, other: Floats, width: float = 1.0) -> float:
    """MMD² = mean k(p, p') + mean k(q, q') - 2 mean k(p, q) of two sets of histograms p and q.

    k(p, q) = exp(-TV(p, q)² / (2 width²)), TV the total variation. Means run over all pairs, a histogram with itself
    included: 0 for equal sets. Two samples of the same graphs have a value above 0, the larger the smaller they are, so
    give that of two sets of real graphs beside it.
    """

    def mean_kernel(p: Floats, q: Floats) -> float:
        return float(np.exp(-(total_variation(p, q) ** 2) / (2 * width**2)).mean())

    return mean_kernel(one, one) + mean_kernel(other, other) - 2 * mean_kernel(one, other)


def mmd_to_real(graphs: Any, real: Any) -> dict[str, float]:
    """MMD² between two sets of graphs by their `degree`, `clustering` and `spectrum` histograms."""
    made, known = GraphBatch.of(graphs), GraphBatch.of(real)
    most = max(int((batch.adjacency > 0).sum(2).max()) for batch in (made, known))
    return {
        "degree": mmd(degree_histograms(made, most), degree_histograms(known, most)),
        "clustering": mmd(clustering_histograms(made), clustering_histograms(known)),
        "spectrum": mmd(spectrum_histograms(made), spectrum_histograms(known)),
    }
