"""The exact optimum GED*: the fewest edits that change the oracle's class, for the oracles where it is known.

A counterfactual of Section 3 minimises the distance to the input; for the two oracles of the paper that minimum has a
closed form, so that a method can be compared with the best there is and not only with other methods. These functions
know the rule inside the oracle. They ask it nothing, and no explainer but the control named `Optimum` uses them.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import ASDOracle, CountingOracle, Oracle, TreeCyclesOracle, n_components


def optimal_ged(oracle: Oracle, graphs: GraphBatch) -> Tensor | None:
    """GED* of each graph, float64 [B], infinite where no edit changes the class; None for other oracles."""
    rule = _rule(oracle)
    if isinstance(rule, TreeCyclesOracle):
        return _tree_cycles_ged(graphs)
    if isinstance(rule, ASDOracle):
        return _asd_edits(rule, graphs, rule.predict(graphs))[1]
    return None


def optimal_counterfactual(oracle: Oracle, graphs: GraphBatch, classes: Tensor) -> Tensor | None:
    """One closest counterfactual of each graph, uint8 [B, N, N]; None for other oracles.

    Where no counterfactual exists (GED* is infinite) the graph comes back as it is.
    """
    rule = _rule(oracle)
    if isinstance(rule, TreeCyclesOracle):
        cyclic = classes.bool()[:, None, None]
        return torch.where(cyclic, _spanning_forest(graphs), _with_triangle(graphs))
    if isinstance(rule, ASDOracle):
        return _asd_counterfactual(rule, graphs, classes)
    return None


def _rule(oracle: Oracle) -> Oracle:
    return oracle.oracle if isinstance(oracle, CountingOracle) else oracle


# -- Tree-Cycles -----------------------------------------------------------------------------------------


def _tree_cycles_ged(graphs: GraphBatch) -> Tensor:
    """Cyclic graphs: the cyclomatic number m - n + c. Forests: 3 - min(longest path, 2), for three nodes or more.

    Removing an edge lowers m - n + c by one (the edge lay on a cycle) or not at all, adding one never lowers it, and a
    forest is where it is zero: so no fewer edits will do, and removing the edges outside a spanning forest does it.

    A forest turns cyclic once some cycle is complete. A cycle of length L lacks at least L - (edges the forest has on
    it) edges, and what a forest has on a cycle is paths; a triangle over a path of two edges lacks one, over a single
    edge two, over nothing three, and longer cycles lack no fewer. A path of two edges exists iff some degree is 2.
    """
    edges = graphs.edge_mask
    cyclomatic = edges.sum((1, 2)) - graphs.n_nodes + n_components(edges)  # padding adds as many nodes as components
    largest_degree = graphs.adjacency.long().sum(2).amax(1)
    closing = torch.where(graphs.sizes >= 3, 3.0 - largest_degree.clamp(max=2).double(), torch.inf)
    return torch.where(cyclomatic > 0, cyclomatic.double(), closing)


def _spanning_forest(graphs: GraphBatch) -> Tensor:
    """A spanning forest of each graph, all at once: Kruskal on the block-diagonal matrix."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

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


# -- ASD -------------------------------------------------------------------------------------------------


def _asd_edits(oracle: ASDOracle, graphs: GraphBatch, classes: Tensor) -> tuple[Tensor, Tensor]:
    """For each graph the weighted node pairs from the most to the least useful, and how many of them are needed.

    The rule is linear: flipping pair e moves x by g_e = w_e (1 - 2 A_e), whatever else is flipped, and each flip costs
    one edit. Among all sets of j flips the j largest gains in the wanted direction move x furthest, so if those do not
    cross the threshold no j flips do: the shortest prefix that crosses is an optimum. Equal gains may be exchanged, so
    there are many optima; a stable sort picks the first in node order.

    The class is 1 iff x > 0, strictly: to reach class 1 a prefix must end above zero, to leave it zero is enough. On
    the possible edge counts |x| is never below .004, so rounding cannot decide a case.
    """
    u, v = oracle.weight.nonzero(as_tuple=True)
    wanted = 1.0 - 2.0 * classes.double()[:, None]  # +1: x has to rise, -1: it has to fall
    gain = wanted * oracle.weight[u, v] * (1 - 2 * graphs.adjacency[:, u, v].double())
    gain, order = gain.sort(dim=1, descending=True, stable=True)
    reached = wanted * oracle.score(graphs.adjacency)[:, None] + gain.cumsum(1)
    crossed = torch.where(wanted > 0, reached > 0, reached >= 0)
    needed = torch.where(crossed.any(1), crossed.long().argmax(1) + 1.0, torch.inf)
    return order, needed.double()


def _asd_counterfactual(oracle: ASDOracle, graphs: GraphBatch, classes: Tensor) -> Tensor:
    u, v = oracle.weight.nonzero(as_tuple=True)
    order, needed = _asd_edits(oracle, graphs, classes)
    rows, rank = (torch.arange(order.shape[1]) < needed.nan_to_num(posinf=0)[:, None]).nonzero(as_tuple=True)
    pair = order[rows, rank]
    counterfactual = graphs.adjacency.clone()
    counterfactual[rows, u[pair], v[pair]] ^= 1
    counterfactual[rows, v[pair], u[pair]] ^= 1
    return counterfactual
