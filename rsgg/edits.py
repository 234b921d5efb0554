"""Edits of a graph as numbers, and the graphs that they make: node pairs, and, where nodes have labels, nodes.

Searches speak of edits as int64 codes. In a graph of n nodes (in a batch: N, the padded size) a code is one of

    u · n + v                       the pair u < v becomes an edge if it is none, and none if it is one
    n² + (kind · n + v) · 1024 + l  kind 0: node v gets the label l
                                    kind 1: a new leaf of label l is added to node v
                                    kind 2: node v is dropped, with its edge if it has one (l = 0)

A set of edits always makes a graph (`applied`), so that any subset of it can be asked about:

- pairs are edited first, then labels, then leaves are added, then nodes are dropped;
- of several labels for one node the last one counts;
- a node is dropped if it has at most one neighbour after all the other edits of the set, other drops included, and no
  leaf was added to it. Otherwise dropping it has no effect. So a branch can be dropped from its end;
- one node stays: where all nodes would be dropped, none is.

Labels are rows of X with a single 1. The new graph has the nodes that stay in their old order, then the added leaves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rsgg.errors import GraphError
from rsgg.graph import Graph, GraphBatch
from rsgg.reading import most_frequent

Codes = NDArray[np.int64]
NOTHING: Codes = np.empty(0, dtype=np.int64)
Kind = Literal["relabel", "add", "drop"]
KINDS: tuple[Kind, ...] = ("relabel", "add", "drop")
RELABEL, ADD_LEAF, DROP = range(3)
MOST_LABELS = 1024


@dataclass(frozen=True)
class NodeEdit:
    """An edit of a node, in the numbering of the input.

    `node` gets the label `label` instead of `was`; or a leaf of label `label` is added to it; or it is dropped, of
    which the label was `was`, with its edge to `neighbour` (None: it had none left).
    """

    kind: Kind
    node: int
    label: int = 0
    was: int = 0
    neighbour: int | None = None

    @property
    def cost(self) -> int:
        """What it adds to the graph edit distance: one for each node and each edge that comes or goes, or a label."""
        return 2 if self.kind == "add" or self.neighbour is not None else 1

    def code(self, n: int) -> int:
        """As a number, for a graph of n nodes."""
        label = 0 if self.kind == "drop" else self.label
        return int(node_codes(KINDS.index(self.kind), self.node, label, n))


@dataclass(frozen=True, eq=False)
class Edited:
    """A graph that was made of another one by edits of nodes, at least one of them, and of pairs besides."""

    graph: Graph
    node_edits: tuple[NodeEdit, ...]


def origins(node_edits: Iterable[NodeEdit], n_nodes: int) -> list[int]:
    """For each node of the edited graph the node of the input, which has `n_nodes`, that it was; -1 for added ones."""
    edits = list(node_edits)
    dropped = {one.node for one in edits if one.kind == "drop"}
    added = [-1] * sum(one.kind == "add" for one in edits)
    return [node for node in range(n_nodes) if node not in dropped] + added


# -- Codes ---------------------------------------------------------------------------------------------------------


def node_codes(
    kind: int | NDArray[np.int64], node: int | NDArray[np.int64], label: int | NDArray[np.int64], n: int
) -> Codes:
    """The codes of edits of nodes; numbers and arrays may be mixed."""
    return np.asarray(n * n + (np.int64(kind) * n + node) * MOST_LABELS + label, dtype=np.int64)


def decoded(codes: Codes, n: int) -> tuple[Codes, Codes, Codes]:
    """Kind, node and label of edits of nodes."""
    rest, label = np.divmod(codes - n * n, MOST_LABELS)
    kind, node = np.divmod(rest, n)
    return kind, node, label


def of_pairs(codes: Codes, n: int) -> Codes:
    """Those of the edits that are about node pairs."""
    return codes[codes < n * n]


def of_nodes(codes: Codes, n: int) -> Codes:
    """Those of the edits that are about nodes."""
    return codes[codes >= n * n]


def most_nodes(n: int, edits: Iterable[Codes]) -> int:
    """How many nodes a batch of graphs of at most n nodes has when each has these edits: n and the most leaves."""
    first, last = node_codes(ADD_LEAF, 0, 0, n), node_codes(DROP, 0, 0, n)
    return n + max((int(((codes >= first) & (codes < last)).sum()) for codes in edits), default=0)


def recoded(codes: Codes, n: int, to: int) -> Codes:
    """The codes of the same edits for another (padded) size."""
    pairs, (kind, node, label) = codes < n * n, decoded(codes, n)
    u, v = np.divmod(codes, n)
    return np.where(pairs, u * to + v, node_codes(kind, node, label, to))


# -- Labels --------------------------------------------------------------------------------------------------------


def labels_of(graphs: GraphBatch) -> Tensor:
    """The label of each node, int64 [B, N], -1 on padding: the position of the single 1 in its row of X."""
    x = graphs.features
    if x is None or not _is_one_hot(x[graphs.node_mask]):
        raise GraphError(
            "Edits of nodes need labels: give every node one-hot features, a row of X with a single 1, or leave "
            "node_edits out."
        )
    if x.shape[2] > MOST_LABELS:
        raise GraphError(f"Edits of nodes are for at most {MOST_LABELS} labels; these graphs have {x.shape[2]}.")
    return x.argmax(2).masked_fill(~graphs.node_mask, -1)


def _is_one_hot(rows: Tensor) -> bool:
    return bool((rows == 1).sum(1).eq(1).all()) and bool((rows == 0).sum(1).eq(rows.shape[1] - 1).all())


# -- Graphs --------------------------------------------------------------------------------------------------------


def edited(graphs: GraphBatch, instance: Tensor, edits: Sequence[Codes]) -> Tensor:
    """The graphs at `instance`, each with its own pairs flipped, uint8 [R, N, N]."""
    n = graphs.n_nodes
    adjacency = graphs.adjacency[instance].cpu().numpy().reshape(len(edits), n * n)
    rows = np.repeat(np.arange(len(edits)), [len(codes) for codes in edits])
    u, v = np.divmod(np.concatenate([*edits, NOTHING]), n)
    adjacency[rows, u * n + v] ^= 1
    adjacency[rows, v * n + u] ^= 1
    return torch.from_numpy(adjacency.reshape(-1, n, n))


def applied(graphs: GraphBatch, instance: Tensor, edits: Sequence[Codes]) -> GraphBatch:
    """The graphs at `instance`, each with its own edits made: what an oracle is asked about.

    Without edits of nodes they have the size of the batch. With some, the batch is larger by the most leaves that a
    graph gets, and has an `origin`. An added edge has what most missing pairs of the graph would have.
    """
    n = graphs.n_nodes
    if all((codes < n * n).all() for codes in edits):
        return graphs.candidates(edited(graphs, instance, edits), instance)
    made = graphs.candidates(edited(graphs, instance, [of_pairs(codes, n) for codes in edits]), instance)
    nodes = [of_nodes(codes, n) for codes in edits]
    row = np.repeat(np.arange(len(edits)), [len(codes) for codes in nodes])
    kind, node, label = decoded(np.concatenate(nodes), n)
    of = [(row[kind == one], node[kind == one], label[kind == one]) for one in range(3)]
    leaves = _in_order(*of[ADD_LEAF])
    made = _with_leaves(_relabelled(made, *of[RELABEL]), graphs, instance, *leaves)
    return _without_dropped(made, *of[DROP][:2], n, leaves[:2])


def _in_order(row: Codes, node: Codes, label: Codes) -> tuple[Codes, Codes, Codes]:
    """Added leaves by graph, node and label, so that a graph does not depend on the order of its edits."""
    order = np.lexsort((label, node, row))
    return row[order], node[order], label[order]


def _relabelled(graphs: GraphBatch, row: Codes, node: Codes, label: Codes) -> GraphBatch:
    assert graphs.features is not None
    x = graphs.features.clone()
    last = torch.full(x.shape[:2], -1, dtype=torch.long).numpy()
    last[row, node] = label  # NumPy assigns in order, so that the last one counts
    where = torch.from_numpy(last)
    x[where >= 0] = torch.eye(x.shape[2], dtype=x.dtype)[where[where >= 0]]
    return GraphBatch(graphs.adjacency, graphs.sizes, x, graphs.names, {}, graphs.edge_features)


def _with_leaves(
    made: GraphBatch, graphs: GraphBatch, instance: Tensor, row: Codes, node: Codes, label: Codes
) -> GraphBatch:
    """The graphs with these leaves, sorted by row, behind their other nodes; `graphs` at `instance` are the inputs."""
    assert made.features is not None
    count = np.bincount(row, minlength=len(made))
    number = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    more, new = int(count.max(initial=0)), made.sizes.numpy()[row] + number
    adjacency = torch.nn.functional.pad(made.adjacency, (0, more, 0, more))
    adjacency[row, node, new] = adjacency[row, new, node] = 1
    x = torch.nn.functional.pad(made.features, (0, 0, 0, more))
    x[row, new, label] = 1
    table = made.edge_features
    if table is not None and more:
        wider = table.new_zeros(*adjacency.shape, *table.shape[3:])
        wider[:, : made.n_nodes, : made.n_nodes] = table
        usual = {int(i): usual_edge(graphs, int(i)) for i in instance[np.unique(row)]}
        value = torch.stack([usual[int(i)] for i in instance[row]])
        wider[row, :, new] = wider[row, new] = value[:, None]
        table = wider
    return GraphBatch(adjacency, made.sizes + torch.from_numpy(count), x, made.names, {}, table)


def usual_edge(graphs: GraphBatch, i: int) -> Tensor:
    """What an added edge of a graph has: what is most frequent at missing pairs, or at edges where none is missing."""
    assert graphs.edge_features is not None
    pairs, edges, table = graphs.pair_mask[i], graphs.edge_mask[i], graphs.edge_features[i]
    missing = pairs & ~edges
    values = table[missing if missing.any() else pairs]
    return torch.as_tensor(most_frequent(values.cpu().numpy()), dtype=table.dtype)


def _without_dropped(graphs: GraphBatch, row: Codes, node: Codes, n: int, leaves: tuple[Codes, Codes]) -> GraphBatch:
    """The graphs without these nodes, where they may be dropped, the others moved up; with their `origin`."""
    adjacency = graphs.adjacency.numpy()
    goes = np.zeros(adjacency.shape[:2], dtype=bool)
    goes[row, node] = True
    goes[leaves] = False
    real = graphs.node_mask.numpy()
    gone = _gone(adjacency, goes & real)
    gone &= (real & ~gone).any(1, keepdims=True)
    stays = real & ~gone
    order = np.argsort(~stays, axis=1, kind="stable")
    sizes = torch.from_numpy(stays.sum(1))
    there = np.arange(order.shape[1]) < stays.sum(1)[:, None]
    original = graphs.sizes.numpy() - np.bincount(leaves[0], minlength=len(graphs))
    origin = np.where(there & (order < original[:, None]), order, -1)
    each, both = np.arange(len(graphs))[:, None], there[:, :, None] & there[:, None, :]
    moved = np.where(both, adjacency[each[:, :, None], order[:, :, None], order[:, None, :]], 0)
    assert graphs.features is not None
    x = graphs.features[torch.from_numpy(each), torch.from_numpy(order)] * torch.from_numpy(there)[:, :, None]
    table = graphs.edge_features
    if table is not None:
        table = table[each[:, :, None], order[:, :, None], order[:, None, :]]
    return GraphBatch(
        torch.from_numpy(moved), sizes, x, graphs.names, {}, table, origin=torch.from_numpy(origin)
    )  # fmt: skip


def _gone(adjacency: np.ndarray, goes: np.ndarray) -> np.ndarray:
    """Of the nodes that are to go, bool [R, N], those that can: leaves, then those that are leaves without them."""
    gone = np.zeros_like(goes)
    while True:
        rows = (goes & ~gone).any(1).nonzero()[0]
        left = np.einsum("ruv,rv->ru", adjacency[rows], (~gone[rows]).astype(np.uint8), dtype=np.int64)
        now = goes[rows] & ~gone[rows] & (left <= 1)
        if not now.any():
            return gone
        gone[rows] |= now


# -- One graph -----------------------------------------------------------------------------------------------------


def made_of(graph: Graph, codes: Codes) -> Edited:
    """The graph with these edits, coded for its own number of nodes, and which edits of nodes had an effect."""
    batch = GraphBatch.of([graph])
    made = applied(batch, torch.tensor([0]), [codes])
    node_edits = effective(graph, codes) if len(of_nodes(codes, graph.n_nodes)) else ()
    return Edited(_as_result(made, 0, graph, node_edits), node_edits)


def made_of_batch(graphs: GraphBatch, instance: Sequence[int], edits: Sequence[Codes]) -> list[Edited]:
    """`made_of` for many graphs of a batch, whose padded size the codes are for."""
    if not len(edits):
        return []
    n = graphs.n_nodes
    made = applied(graphs, torch.tensor(instance), edits)
    done = []
    for row, (i, codes) in enumerate(zip(instance, edits, strict=True)):
        graph = graphs[i]
        node_edits = effective(graph, recoded(codes, n, graph.n_nodes))
        done.append(Edited(_as_result(made, row, graph, node_edits), node_edits))
    return done


def _as_result(made: GraphBatch, row: int, graph: Graph, node_edits: Sequence[NodeEdit]) -> Graph:
    """A graph of a batch of edited ones as the user gets it: with the name and the names of nodes of the original."""
    plain = made[row]
    names = _names(graph, node_edits)
    given = None if graph.given is None else graph.given.moved(origins(node_edits, graph.n_nodes))
    return Graph.unchecked(plain.adjacency, plain.features, graph.name, plain.edge_features, names, given)


def _names(graph: Graph, node_edits: Sequence[NodeEdit]) -> tuple[object, ...] | None:
    """Names of the nodes of the edited graph: those of the input's nodes; n, n + 1, … or "new 1", … for added ones."""
    if graph.node_names is None and all(one.kind == "relabel" for one in node_edits):
        return None
    n, taken = graph.n_nodes, set(graph.node_names or ())
    fresh = (f"new {i}" for i in range(1, n + len(node_edits) + 1) if f"new {i}" not in taken)
    numbers = iter(range(n, n + len(node_edits)))
    names = graph.node_names or tuple(range(n))
    return tuple(
        names[node] if node >= 0 else next(fresh) if graph.node_names else next(numbers)
        for node in origins(node_edits, n)
    )


def effective(graph: Graph, codes: Codes) -> tuple[NodeEdit, ...]:
    """The edits of nodes that have an effect: labels, then leaves, then drops, each in the order of the nodes."""
    done, neighbours = _changed(graph, codes)
    n, labels = graph.n_nodes, plain_labels(graph)
    leaves = zip(done.leaf_of.tolist(), done.labels[n:].tolist(), strict=True)
    relabelled = done.relabelled.nonzero()[0].tolist()
    return (
        *(NodeEdit("relabel", v, int(done.labels[v]), int(labels[v])) for v in relabelled),
        *(NodeEdit("add", v, label) for v, label in leaves),
        *(NodeEdit("drop", v, was=int(labels[v]), neighbour=to) for v, to in sorted(neighbours.items())),
    )


# -- A graph beside its original -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Changed:
    """An edited graph beside its original, node by node: for rules that look at both.

    The first n nodes are the original's, then come the added leaves: `adjacency` uint8 [n + a, n + a], in which a
    dropped node has no edges, and `labels` int64 [n + a]. `stays`, bool [n + a], is false for dropped nodes.
    """

    original: Graph
    adjacency: np.ndarray
    labels: Codes
    stays: NDArray[np.bool_]

    @property
    def matrix(self) -> np.ndarray:
        """The edited graph without dropped nodes."""
        return self.adjacency[np.ix_(self.stays, self.stays)]

    @property
    def relabelled(self) -> NDArray[np.bool_]:
        """Which of the original's nodes have another label, bool [n]."""
        n = self.original.n_nodes
        return (self.labels[:n] != plain_labels(self.original)) & self.stays[:n]

    @property
    def kinds(self) -> set[Kind]:
        """The kinds of edits of nodes that were made."""
        made = {"relabel": self.relabelled.any(), "add": len(self.leaf_of), "drop": not self.stays.all()}
        return {kind for kind in KINDS if made[kind]}

    @property
    def leaf_of(self) -> Codes:
        """To which node each leaf was added, int64 [a]."""
        n = self.original.n_nodes
        return self.adjacency[n:].argmax(1)


def plain_labels(graph: Graph) -> Codes:
    """The labels of a graph's nodes, int64 [n]."""
    assert graph.features is not None
    return np.asarray(graph.features.argmax(1), dtype=np.int64)


def changed(graph: Graph, codes: Codes) -> Changed:
    """A graph with edits, coded for its own number of nodes, beside itself."""
    return _changed(graph, codes)[0]


def _changed(graph: Graph, codes: Codes) -> tuple[Changed, dict[int, int | None]]:
    """As `changed`; and the dropped nodes with the neighbours whose edges went with them."""
    n = graph.n_nodes
    kind, node, label = decoded(of_nodes(codes, n), n)
    leaves = np.lexsort((label, node, kind == ADD_LEAF))[(kind != ADD_LEAF).sum() :]
    adjacency = np.pad(graph.adjacency, (0, len(leaves)))
    u, v = np.divmod(of_pairs(codes, n), n)
    adjacency[u, v] ^= 1
    adjacency[v, u] ^= 1
    new = np.arange(n, n + len(leaves))
    adjacency[node[leaves], new] = adjacency[new, node[leaves]] = 1
    labels = np.concatenate((plain_labels(graph), label[leaves]))
    labels[node[kind == RELABEL]] = label[kind == RELABEL]
    goes = set(node[kind == DROP].tolist()) - set(node[leaves].tolist())
    gone = np.array(sorted(drops(adjacency, goes)), dtype=np.int64)
    for side in (adjacency, adjacency.T):  # an edge that was added to a dropped node has no effect
        side[gone] &= np.pad(graph.adjacency, (0, len(leaves)))[gone]
    dropped = drops(adjacency, set(gone.tolist()))
    adjacency[gone] = 0
    adjacency[:, gone] = 0
    return Changed(graph, adjacency, labels, ~np.isin(np.arange(n + len(leaves)), gone)), dropped


def drops(adjacency: np.ndarray, goes: set[int]) -> dict[int, int | None]:
    """The nodes that are dropped, each with the neighbour that it has at that moment."""
    left, dropped = adjacency.copy(), dict[int, int | None]()
    while free := [v for v in sorted(goes - dropped.keys()) if left[v].sum() <= 1]:
        neighbours = left[free[0]].nonzero()[0]
        dropped[free[0]] = int(neighbours[0]) if len(neighbours) else None
        left[free[0]] = left[:, free[0]] = 0
    return {} if len(dropped) == len(adjacency) else dropped


def beside(original: Graph, graph: Graph, origin: Sequence[int]) -> Changed:
    """A graph that edits made of the original, beside it; `origin` as `origins` gives it."""
    n, source = original.n_nodes, np.asarray(origin)
    new = source < 0
    place = np.where(new, n - 1 + np.cumsum(new), source)
    adjacency = np.zeros((n + new.sum(), n + new.sum()), dtype=np.uint8)
    adjacency[np.ix_(place, place)] = graph.adjacency > 0
    labels = np.concatenate((plain_labels(original), np.zeros(new.sum(), dtype=np.int64)))
    labels[place] = plain_labels(graph)
    return Changed(original, adjacency, labels, np.isin(np.arange(len(adjacency)), place))


def pairs_between(original: Graph, graph: Graph, node_edits: Sequence[NodeEdit]) -> list[tuple[int, int]]:
    """The pairs of the original's nodes that were edited, without those whose edge went with a dropped node."""
    n, after = original.n_nodes, beside(original, graph, origins(node_edits, original.n_nodes)).adjacency
    with_node = {frozenset((one.node, one.neighbour)) for one in node_edits if one.neighbour is not None}
    pairs = np.argwhere(np.triu((original.adjacency > 0) != (after[:n, :n] > 0))).tolist()
    return [(u, v) for u, v in pairs if frozenset((u, v)) not in with_node]


def codes_between(original: Graph, graph: Graph, node_edits: Sequence[NodeEdit], n: int | None = None) -> Codes:
    """The edits that made a graph of the original, coded for its number of nodes, or for the padded size n."""
    n = original.n_nodes if n is None else n
    pairs = [u * n + v for u, v in pairs_between(original, graph, node_edits)]
    return np.array([*pairs, *(one.code(n) for one in node_edits)], dtype=np.int64)
