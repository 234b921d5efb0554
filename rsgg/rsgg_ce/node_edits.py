"""Which edits of nodes a ranked search tries, and in which order: `RankedSearch(node_edits=True)`, beyond the paper.

Where X says the label of each node, a node may get another label, a leaf may be added to it, or it may be dropped if it
is a leaf itself (`rsgg.edits`). Labels are those that training graphs have. How likely an edit is to be needed is
learnt per class as the share of such edits that the training graphs needed,

    rate(kind, label, new label) = (needed + s · r) / (there were + s),    s = 100,

where r is the share of all edits of nodes. It is on the same scale as the likelihood of pairs, so that both can be
merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rsgg.constraints import Constraint
from rsgg.edits import ADD_LEAF, DROP, KINDS, NOTHING, RELABEL, Codes, decoded, labels_of, node_codes, of_nodes
from rsgg.graph import GraphBatch

Floats = NDArray[np.float64]
SMOOTHING = 100.0


@dataclass(frozen=True)
class NodeEdits:
    """The edits of nodes that may be tried on a graph, and the log of how likely each of them is to be needed."""

    codes: Codes
    score: Floats


def seen_labels(graphs: GraphBatch) -> NDArray[np.bool_]:
    """Which labels the nodes of these graphs have, bool [L]."""
    labels = labels_of(graphs).numpy()
    assert graphs.features is not None
    return np.bincount(labels[labels >= 0], minlength=graphs.features.shape[2]) > 0


def possible(
    graphs: GraphBatch,
    seen: NDArray[np.bool_],
    rates: Sequence[Floats] | None = None,
    constraints: tuple[Constraint, ...] = (),
) -> list[NodeEdits]:
    """The edits of nodes of each graph, in no order; `rates` are those of the graph's class (None: all alike)."""
    labels, degrees, n = labels_of(graphs).numpy(), graphs.adjacency.sum(2).numpy(), graphs.n_nodes
    kinds = [kind for kind, name in enumerate(KINDS) if all(name in one.node_edits for one in constraints)]
    made = []
    for i, size in enumerate(graphs.sizes.tolist()):
        codes = np.concatenate([NOTHING, *(_of_kind(kind, labels[i, :size], degrees[i], seen, n) for kind in kinds)])
        score = np.zeros(len(codes)) if rates is None else rates[i][types(codes, labels[i], n)]
        made.append(NodeEdits(codes, score))
    return made


def _of_kind(kind: int, labels: Codes, degrees: Codes, seen: NDArray[np.bool_], n: int) -> Codes:
    if kind == DROP:  # a graph keeps a node
        leaves = (degrees[: len(labels)] <= 1).nonzero()[0]
        return node_codes(DROP, leaves, 0, n) if len(labels) > 1 else NOTHING
    node, label = (part.ravel() for part in np.meshgrid(np.arange(len(labels)), seen.nonzero()[0], indexing="ij"))
    other = label != labels[node] if kind == RELABEL else np.ones(len(node), dtype=bool)
    return node_codes(kind, node[other], label[other], n)


def types(codes: Codes, labels: Codes, n: int) -> tuple[Codes, Codes, Codes]:
    """Kind, label of the node and new label of edits of nodes: where a table of rates [3, L, L] has them."""
    kind, node, label = decoded(codes, n)
    return kind, labels[node], label


def learnt_rates(graphs: GraphBatch, edits: Sequence[Codes], seen: NDArray[np.bool_]) -> Floats:
    """The log rates of one class, float64 [3, L, L], from the edits that its graphs needed."""
    labels, n = labels_of(graphs).numpy(), graphs.n_nodes
    needed, there = np.zeros((2, 3, len(seen), len(seen)))
    for i, (own, codes) in enumerate(zip(possible(graphs, seen), edits, strict=True)):
        np.add.at(needed, types(of_nodes(codes, n), labels[i], n), 1)
        np.add.at(there, types(own.codes, labels[i], n), 1)
    overall = max(needed.sum(), 1.0) / max(there.sum(), 1.0)
    return np.log((needed + SMOOTHING * overall) / (there + SMOOTHING))


def cost(codes: Codes, n: int) -> int:
    """At most what edits cost as a graph edit distance: a pair or a label 1, a leaf with its edge 2."""
    kind = decoded(of_nodes(codes, n), n)[0]
    return len(codes) + int(((kind == ADD_LEAF) | (kind == DROP)).sum())
