"""MOO as GRETEL's port computes it: one walk from one node, ranked by two objectives, never compared with the class.

What is computed: from the node with the most neighbours a depth-first walk of `depth` steps lists edges e₁, e₂, …; S_i
are the first i of them with their nodes, S_0 is that node alone. With y(·) and D as in `rsgg.baselines.moo`,

    ν_i = -D(y(G), y(S_i)),        μ_ij = (ν_i - ν_j) / (i - j)   for j < i.

Of all pairs the one with the smallest sum of its ranks, of ν_i among all ν and of μ_ij among all μ, decides; S_j, the
smaller one, is returned as the counterfactual. All other nodes are gone, so that its distance to the input is nearly
the size of the input.

Lines are those of github.com/aiim-research/GRETEL at commit 0599896, `src/explainer/search/moexp.py`; all of them are
in `docs/evidence.md`.

1. Whether the class changes is never asked (`moexp.py:190-217`).
2. Nothing is compared by Pareto dominance; ranks are added (`:207-213`).
3. Equal values share the rank of their first occurrence (`:209`); of pairs with equal sums the first one is returned.

Not repeated: matrices are added to their own transposes before the oracle sees them (`:156`), which doubles every
entry; our oracles read binary matrices. Where nodes have no labels, so that edits cannot drop them, they stay without
edges. Probabilities are those of the oracle's relaxation, or classes where it has none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rsgg.baselines.moo import DIGITS, divergence
from rsgg.counterfactual import BUDGET_USED_UP, Candidate, candidates_of
from rsgg.edits import DROP, Codes, applied, node_codes
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.plausibility import node_labels

Floats = NDArray[np.float64]


@dataclass(kw_only=True)
class ReleasedMOO(Explainer):
    """The smaller subgraph of the pair with the best sum of ranks; see the top of the file."""

    depth: int = hyper(3, "L", paper=3, doc="steps of the walk; the layers of the oracle", at_least=1)

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, permutation_invariant=False, deterministic=True, may_return_invalid=True
    )

    @classmethod
    def tiny(cls) -> Self:
        return cls()

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        results = []
        for i in range(len(graphs)):
            nested = self._nested(graphs, i)
            if oracle.left(i * k) < len(nested) + 1:
                results += [Candidate(None, BUDGET_USED_UP)] * k
                continue
            y = _probabilities(graphs, i, [np.empty(0, dtype=np.int64), *nested], oracle, i * k)
            simulatability = np.round(-divergence(y[:1], y[1:]), DIGITS)
            chosen = list(dict.fromkeys(smaller for _, smaller in ranked_pairs(simulatability)))[:k]
            results += candidates_of(graphs, [i] * len(chosen), [nested[j] for j in chosen])
            results += [Candidate(None, "there are no further subgraphs")] * (k - len(chosen))
        return results

    def _nested(self, graphs: GraphBatch, i: int) -> list[Codes]:
        """The edits that leave S_0, S_1, … of the graph, coded for the padded size."""
        n, size = graphs.n_nodes, int(graphs.sizes[i])
        graph = nx.from_numpy_array(graphs.adjacency[i, :size, :size].numpy())
        degree = dict(graph.degree)
        root = max(degree, key=degree.__getitem__)
        walk = list(nx.dfs_edges(graph, source=root, depth_limit=self.depth))
        labelled = bool((node_labels(graphs)[i, :size] > 0).all())
        edges = {tuple(sorted(edge)) for edge in graph.edges}
        nested = []
        for count in range(len(walk) + 1):
            kept = {tuple(sorted(edge)) for edge in walk[:count]}
            nodes = {root, *(node for edge in kept for node in edge)}
            pairs = [u * n + v for u, v in sorted(edges - kept)]
            gone = np.array(sorted(set(range(size)) - nodes if labelled else ()), dtype=np.int64)
            nested.append(np.concatenate((np.array(pairs, dtype=np.int64), node_codes(DROP, gone, 0, n))))
        return nested


def ranked_pairs(values: Floats) -> list[tuple[int, int]]:
    """Pairs (i, j), j < i, of nested subgraphs with these simulatabilities, the best sum of ranks first."""
    pairs = [(i, j) for i in range(1, len(values)) for j in range(i)]
    gains = np.array([(values[i] - values[j]) / (i - j) for i, j in pairs])
    sums = _ranks(values)[[i for i, _ in pairs]] + _ranks(gains)
    return [pairs[position] for position in np.argsort(sums, kind="stable")]


def _ranks(values: Floats) -> NDArray[np.int64]:
    """How many values are larger."""
    return np.searchsorted(np.sort(-values), -values)


@torch.no_grad()
def _probabilities(graphs: GraphBatch, i: int, edits: list[Codes], oracle: CountingOracle, owner: int) -> Floats:
    """Class probabilities of a graph with each of these edits, float64 [B, classes]; every one is a question."""
    asked = applied(graphs, torch.full((len(edits),), i), edits)
    owners = torch.full((len(edits),), owner)
    if oracle.why_not_differentiable():
        return np.eye(oracle.n_classes)[oracle.predict(asked, owners).numpy()]
    return oracle.relaxed_graphs(asked, asked.adjacency.float(), owners).double().numpy()
