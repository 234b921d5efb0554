"""The oracle of Tree-Cycles: class 1 iff the graph has a cycle. Its relaxation and its optimum are exact."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import torch
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Oracle

MAX_DENSITY_OF_LISTS = 0.25  # messages are kept as a list while fewer node pairs than this share are non-zero
CONVERGENCE_TOLERANCE = 1e-7  # peeling ends when no message changes by more
ROUNDS_PER_LOOK = 4  # rounds between two looks whether that is so
SMALLEST_GAP = 1e-12  # how far messages stay from 1 (and weights from 0) where logarithms are summed
BITS_PER_WORD = 64  # the neighbours of a node are the bits of one machine word where graphs are this small


class TreeCyclesOracle(Oracle):
    """Class 1 iff the graph has a cycle, i.e. iff |E| > n - number of connected components."""

    name = "tree-cycles"
    reads_only = True
    reads_lists = True

    def predict(self, graphs: GraphBatch) -> Tensor:
        adjacency, sizes, edges = (x.cpu().numpy() for x in (graphs.adjacency, graphs.sizes, graphs.n_edges))
        cyclic = edges >= sizes  # n edges or more always close a cycle: only the others need a closer look
        undecided = (~cyclic & (edges > 2)).nonzero()[0]
        if len(undecided):
            present = adjacency[undecided] > 0
            if graphs.n_nodes <= BITS_PER_WORD:
                cyclic[undecided] = ~_peels_to_nothing(present)
            else:
                components = n_components(torch.from_numpy(present)).numpy()
                cyclic[undecided] = edges[undecided] > graphs.n_nodes - components
        return torch.from_numpy(cyclic.astype(np.int64)).to(graphs.adjacency.device)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        components = _components(graphs.graph.numpy(), graphs.u.numpy(), graphs.v.numpy(), len(graphs), graphs.n_nodes)
        return (graphs.n_edges > graphs.n_nodes - torch.from_numpy(components)).long()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """Soft leaf peeling: m(u→v) = A_uv (1 - Π_{w≠v} (1 - m(w→u))), p(cycle) = 1 - Π (1 - m).

        The message u→v is how far the edge from v to u leads on without a dead end. All messages start at A; in
        each round those out of leaves become zero, then those out of nodes with nothing but leaves behind them. On a
        binary graph n rounds reach the fixed point, where exactly the messages along and towards cycles are left, so
        that p is 1 with a cycle and 0 without.
        """
        n = adjacency.shape[1]
        soft = (adjacency + adjacency.transpose(1, 2)) / 2 * (1 - torch.eye(n, dtype=adjacency.dtype).to(adjacency))
        tree: Tensor = _SoftPeelingOfMatrices.apply(soft)
        return torch.stack((tree, 1 - tree), 1)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        """The same messages, along chains of edges that can be on a cycle at all.

        An edge outside the 2-core of the listed edges is on no cycle of theirs, whatever the weights: it is left out.
        Where nothing branches off, a message is only multiplied by one weight after another: a chain of edges passes
        it on like one edge whose weight is their product. Binary weights still give exact answers.
        """
        chains = graphs.chains
        logs = weight[chains.edges].clamp(min=SMALLEST_GAP).log()
        along = logs.new_zeros(len(chains.u)).index_add(0, chains.chain, logs).exp()
        tree: Tensor = _SoftPeeling.apply(along, chains.u, chains.v, len(graphs), graphs.n_nodes)
        return torch.stack((tree, 1 - tree), 1)

    def why_not_differentiable(self) -> str:
        return ""

    def optimal_ged(self, graphs: GraphBatch) -> Tensor:
        """Cyclic graphs: the cyclomatic number m - n + c. Forests: 3 - min(longest path, 2), for three nodes or more.

        Removing an edge lowers m - n + c by one (the edge lay on a cycle) or not at all, adding one never lowers it,
        and a forest is where it is zero: so no fewer edits will do, and removing the edges outside a spanning forest
        does it.

        A forest turns cyclic once some cycle is complete. A cycle of length L lacks at least L - (edges the forest has
        on it) edges, and what a forest has on a cycle is paths; a triangle over a path of two edges lacks one, over a
        single edge two, over nothing three, and longer cycles lack no fewer. A path of two edges exists iff some degree
        is 2.
        """
        edges = graphs.edge_mask
        cyclomatic = edges.sum((1, 2)) - graphs.n_nodes + n_components(edges)  # padding: as many nodes as components
        largest_degree = graphs.adjacency.long().sum(2).amax(1)
        closing = torch.where(graphs.sizes >= 3, 3.0 - largest_degree.clamp(max=2).double(), torch.inf)
        return torch.where(cyclomatic > 0, cyclomatic.double(), closing)

    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """A spanning forest of a cyclic graph; a forest with one triangle completed."""
        cyclic = classes.bool()[:, None, None]
        return torch.where(cyclic, _spanning_forest(graphs), _with_triangle(graphs))

    def important_edges(self, graphs: GraphBatch) -> Tensor:
        """The edges on cycles, i.e. those that are no bridges: removing a bridge never changes the class."""
        on_cycle = graphs.edge_mask.clone()
        for i, graph in enumerate(graphs):
            for u, v in nx.bridges(nx.from_numpy_array(graph.adjacency > 0)):  # by position, whatever nodes are called
                on_cycle[i, min(u, v), max(u, v)] = False
        return on_cycle


# -- The relaxation: messages along edges ----------------------------------------------------------------


class _DenseMessages:
    """Numbers for all ordered pairs (u, v) as an array [N, N, B]: for soft graphs in which every pair counts.

    Graphs come last, so that sums and products over nodes work on whole runs of numbers.
    """

    def __init__(self, soft: np.ndarray) -> None:
        self.weight = np.ascontiguousarray(soft.transpose(1, 2, 0))

    def over(self, end: int, ufunc: np.ufunc, x: np.ndarray) -> np.ndarray:
        """The sum or product over all pairs with the same first (0) or second (1) node, to go with each of them."""
        return np.asarray(ufunc.reduce(x, 1 - end, keepdims=True))

    def over_graph(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x.sum((0, 1)))

    def spread(self, per_graph: np.ndarray) -> np.ndarray:
        """A number per graph, to go with each of its pairs."""
        return per_graph

    def as_matrices(self, x: np.ndarray) -> np.ndarray:
        """[B, N, N]"""
        return np.ascontiguousarray(x.transpose(2, 0, 1))


class _SparseMessages:
    """Numbers for the pairs that are not zero, as a list [K]: for graphs whose edges alone are soft."""

    def __init__(self, soft: np.ndarray) -> None:
        self.shape = soft.shape
        n = self.shape[1]
        self.position = np.flatnonzero(soft)  # sorted by graph, first and second node
        first, v = np.divmod(self.position, n)
        self.graph, u = np.divmod(first, n)
        self.weight = soft.reshape(-1)[self.position]
        self.back = np.searchsorted(self.position, (self.graph * n + v) * n + u)  # where (v, u) is
        _, self.starts, self.node = np.unique(first, return_index=True, return_inverse=True)

    def over(self, end: int, ufunc: np.ufunc, x: np.ndarray) -> np.ndarray:
        if not len(x):
            return x
        if end == 0:
            return np.asarray(ufunc.reduceat(x, self.starts)[self.node])
        return np.asarray(ufunc.reduceat(x[self.back], self.starts)[self.node[self.back]])

    def over_graph(self, x: np.ndarray) -> np.ndarray:
        return np.bincount(self.graph, x, self.shape[0])

    def spread(self, per_graph: np.ndarray) -> np.ndarray:
        return np.asarray(per_graph[self.graph])

    def as_matrices(self, x: np.ndarray) -> np.ndarray:
        matrices = np.zeros(self.shape, x.dtype)
        matrices.reshape(-1)[self.position] = x
        return matrices


_Messages = _DenseMessages | _SparseMessages


class _SoftPeelingOfMatrices(torch.autograd.Function):
    """Soft leaf peeling of symmetric matrices with a zero diagonal: p(tree) of each, and its gradient by hand.

    Kept are the complements q = 1 - m of the messages. A round is q(u→v) ← 1 - A_uv + A_uv S(u→v), where the silence
    S(u→v) = Π_{w≠v} q(w→u) is the product over all w, divided by the factor of v: small complements are as precise as
    large ones, so that loses nothing that counts. S(u→v) is computed at the place of q(v→u), so a number that stands
    for u→v in one round stands for v→u in the next: nothing has to be transposed, and products are taken over either
    end in turn.

    Zeros are divided by as the `_smallest` numbers, and what is as small afterwards is zero again: binary matrices have
    exact answers. No gradient passes a factor that is zero.
    """

    @staticmethod
    def forward(ctx: Any, soft: Tensor) -> Tensor:
        precise = torch.float32 if soft.dtype == torch.float32 else torch.float64
        matrices = soft.detach().cpu().to(precise).numpy()
        sparse = np.count_nonzero(matrices) < MAX_DENSITY_OF_LISTS * matrices.size
        messages: _Messages = _SparseMessages(matrices) if sparse else _DenseMessages(matrices)
        weight, smallest = messages.weight, _smallest(matrices)
        quiet = earlier = floor = 1 - weight
        rounds: list[tuple[np.ndarray, np.ndarray]] = []
        for done in range(soft.shape[1]):
            product = messages.over(1 - done % 2, np.multiply, quiet)
            if (product > smallest).all():
                silent = product / quiet
            else:
                factor = np.maximum(quiet, smallest)
                silent = messages.over(1 - done % 2, np.multiply, factor) / factor
                silent *= silent > 2 * smallest
            if ctx.needs_input_grad[0]:
                rounds.append((product, silent))
            before, quiet = quiet, weight * silent
            quiet += floor
            # A look costs as much as a round. Messages of two rounds are compared, for they change places in one.
            if done % ROUNDS_PER_LOOK == 1 and np.abs(quiet - earlier).max(initial=0) <= CONVERGENCE_TOLERANCE:
                break
            earlier = before
        with np.errstate(divide="ignore"):
            tree = np.exp(messages.over_graph(np.log(quiet, dtype=np.float64)))  # exact when it is tiny, too
        ctx.peeled = (messages, floor, rounds, quiet, tree)
        return torch.from_numpy(tree).to(soft)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        messages, floor, rounds, quiet, tree = ctx.peeled
        weight = messages.weight
        by_tree = gradients[0].cpu().double().numpy() * tree
        by_quiet = _divided(messages.spread(by_tree.astype(weight.dtype)), quiet)
        by_weight = np.zeros_like(weight)
        for done in reversed(range(len(rounds))):
            product, silent = rounds[done]
            by_weight -= by_quiet
            by_quiet = by_quiet * silent
            by_weight += by_quiet
            by_quiet *= weight
            by_log = messages.over(1 - done % 2, np.add, by_quiet) - by_quiet
            if (product > _smallest(weight)).all():
                by_log *= silent  # silent / product is 1 / quiet
                by_quiet = np.multiply(by_log, 1 / product, out=by_log)
            else:
                by_quiet = _divided(by_log, floor + weight * rounds[done - 1][1] if done else floor)
        by_weight -= by_quiet  # the first messages are the weights
        return torch.from_numpy(messages.as_matrices(by_weight)).to(gradients[0])


def _smallest(x: np.ndarray) -> float:
    """What numbers of this precision may be divided by, twice over."""
    return float(np.finfo(x.dtype).tiny) ** 0.5


def _divided(x: np.ndarray, by: np.ndarray) -> np.ndarray:
    """x / by, and zero where that is zero."""
    quotient = x / np.maximum(by, _smallest(by))
    quotient *= by > 0
    return np.asarray(quotient)


class _SoftPeeling(torch.autograd.Function):
    """Soft leaf peeling along edges or chains of them: p(tree) of each graph, and its gradient, written out by hand.

    A step of CF² peels many rounds and each is tiny: automatic differentiation costs several times the arithmetic.
    Graphs are peeled for as many rounds as they have nodes here, which is enough for any subgraph, and then rest. All
    in double precision with messages below 1 by SMALLEST_GAP, so that products are sums of logarithms.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, u: np.ndarray, v: np.ndarray, batch: int, n: int) -> Tensor:
        nodes, ends = np.unique(np.concatenate((u, v)), return_inverse=True)
        source, target = ends, np.roll(ends, len(u))
        w = np.tile(weight.detach().cpu().double().numpy(), 2)
        own = np.tile(u // n, 2)
        rounds = np.bincount(nodes // n, minlength=batch)[own]
        message, steps = np.minimum(w, 1 - SMALLEST_GAP), []
        for done in range(int(max(rounds, default=0))):
            log = np.log1p(-message)
            others = np.bincount(target, log, len(nodes))[source] - np.roll(log, len(u))
            silent = np.exp(np.minimum(others, 0))  # Π_{w≠v} (1 - m(w→u))
            active = rounds > done
            updated = np.where(active, np.minimum(w * (1 - silent), 1 - SMALLEST_GAP), message)
            steps.append((message, silent, active))
            settled = np.abs(updated - message).max() <= CONVERGENCE_TOLERANCE
            message = updated
            if settled:
                break
        tree = np.exp(np.bincount(own, np.log1p(-message), batch))
        ctx.peeled = (w, own, source, target, len(nodes), steps, message, tree)
        return torch.from_numpy(tree).to(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        w, own, source, target, n_nodes, steps, last, tree = ctx.peeled
        half = len(w) // 2
        by_message = -(gradients[0].cpu().double().numpy() * tree)[own] / (1 - last)
        by_weight = np.zeros_like(w)
        for message, silent, active in reversed(steps):
            now = np.where(active, by_message, 0)
            by_weight += now * (1 - silent)
            by_log = -now * w * silent
            arriving = np.bincount(source, by_log, n_nodes)[target] - np.roll(by_log, half)
            by_message = np.where(active, 0, by_message) - arriving / (1 - message)
        by_weight += by_message  # the first messages are the weights
        both = torch.from_numpy(by_weight[:half] + by_weight[half:]).to(gradients[0])
        return both, None, None, None, None


# -- Counting components and cycles ----------------------------------------------------------------------


def _peels_to_nothing(present: np.ndarray) -> np.ndarray:
    """Is each graph (bool [B, N, N], N ≤ 64) a forest? Take away leaves until none is left: only cycles remain.

    The neighbours of a node are the bits of one word, so that a round is a few operations on [B, N] words: on the small
    graphs of Table 1 half the time of a search for components.
    """
    batch, n, _ = present.shape
    # Packing whole words at once is many times faster than rows of N.
    padded = np.zeros((batch, n, BITS_PER_WORD), dtype=bool)
    padded[:, :, :n] = present
    padded.reshape(batch, -1)[:, :: BITS_PER_WORD + 1] = False  # a self loop is no cycle
    neighbours = np.packbits(padded, bitorder="little").view("<u8").reshape(batch, n)
    bit = np.uint64(1) << np.arange(n, dtype=np.uint64)
    left = np.full(batch, bit.sum())  # the nodes that are left, as bits
    while True:
        after = left & ((np.bitwise_count(neighbours & left[:, None]) > 1) @ bit)
        if (after == left).all():
            return np.asarray(left == 0)
        left = after


def n_components(edges: Tensor) -> Tensor:
    """Connected components of each graph, from its adjacency or its upper triangle, bool [B, N, N]."""
    batch, n, _ = edges.shape
    upper = edges.cpu().numpy() & np.triu(np.ones((n, n), dtype=bool), 1)
    graph, u, v = np.unravel_index(np.flatnonzero(upper), upper.shape)  # many times faster than nonzero
    return torch.from_numpy(_components(graph, u, v, batch, n)).long().to(edges.device)


def _components(graph: np.ndarray, u: np.ndarray, v: np.ndarray, batch: int, n: int) -> np.ndarray:
    """Connected components of each of `batch` graphs, whose edges are a list sorted by graph: one sparse call."""
    offset = graph * n
    block = csr_array(
        coo_array((np.ones(len(u), dtype=np.int8), (offset + u, offset + v)), shape=(batch * n, batch * n))
    )
    _, label = connected_components(block, directed=False)
    # Labels are given out in the order in which components are met, so each block's are contiguous.
    last = label.reshape(batch, n).max(1) + 1
    return np.diff(last, prepend=0)


# -- Closest counterfactuals -----------------------------------------------------------------------------


def _spanning_forest(graphs: GraphBatch) -> Tensor:
    """A spanning forest of each graph, all at once: Kruskal on the block-diagonal matrix."""
    batch, n, _ = graphs.adjacency.shape
    b, u, v = graphs.edge_mask.numpy().nonzero()
    # All weights differ, so the forest is unique: it does not depend on what else is in the batch.
    block = coo_array((np.arange(1.0, len(b) + 1), (b * n + u, b * n + v)), shape=(batch * n, batch * n))
    kept = minimum_spanning_tree(block.tocsr()).tocoo()
    forest = np.zeros((batch, n, n), dtype=np.uint8)
    forest[kept.row // n, kept.row % n, kept.col % n] = 1
    return torch.from_numpy(forest | forest.transpose(0, 2, 1))


def _with_triangle(graphs: GraphBatch) -> Tensor:
    """Complete a triangle at a node of largest degree, over as many of its edges as it has (at most two)."""
    rows = torch.arange(len(graphs))
    degree = graphs.adjacency.long().sum(2)
    centre = degree.masked_fill(~graphs.node_mask, -1).argmax(1)
    closeness = graphs.adjacency[rows, centre].long() + graphs.node_mask.long()  # 2 neighbour, 1 other node, 0 padding
    closeness[rows, centre] = -1
    others = closeness.argsort(dim=1, descending=True, stable=True)[:, :2]
    triangle = graphs.adjacency.clone()
    possible = (graphs.sizes >= 3).nonzero().flatten()
    corners = torch.cat((centre[:, None], others), 1)[possible]
    for i, j in ((0, 1), (0, 2), (1, 2)) if len(possible) else ():
        triangle[possible, corners[:, i], corners[:, j]] = 1
        triangle[possible, corners[:, j], corners[:, i]] = 1
    return triangle
