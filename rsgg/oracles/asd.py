"""The oracle of ASD: a linear rule over edge counts (Abrate & Bonchi, KDD 2021). Its optimum is exact."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from rsgg.errors import OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Oracle

N_REGIONS = 116  # brain regions, the nodes of every graph
INTERCEPT, WEIGHT_S1, WEIGHT_S2 = 3.2844839747590915, -0.181742414867891, 0.04327200353999672
S1 = (65, 70, 99, 80, 69, 6, 7, 8, 9, 13, 77, 45, 16, 81, 78, 92, 56, 57, 60, 93, 63)
S2 = (0, 36, 37, 38, 81, 40, 41, 74, 75, 76, 70, 72, 114, 20, 21, 73, 90, 28, 29)


class ASDOracle(Oracle):
    """Class 1 iff x = 3.284 - .1817 a + .0433 b > 0, with a, b the edges inside two sets of brain regions.

    The rule of Abrate & Bonchi (2021). In the released code a and b are half the sums of all entries of a part of the
    adjacency matrix. So they are here, for released methods whose matrices are not those of simple graphs: an edge
    counted twice weighs twice, a self loop one half, and so does an entry whose opposite is missing.
    """

    name = "asd"
    reads_only = True
    intercept = INTERCEPT

    def __init__(self) -> None:
        weight = torch.zeros(N_REGIONS, N_REGIONS, dtype=torch.float64)
        self.loop_weight = torch.zeros(N_REGIONS, dtype=torch.float64)
        for regions, value in ((S1, WEIGHT_S1), (S2, WEIGHT_S2)):
            inside = torch.zeros(N_REGIONS, dtype=torch.float64)
            inside[list(regions)] = 1
            weight += value * torch.triu(torch.outer(inside, inside), 1)
            self.loop_weight += value * inside / 2
        self.weight = weight

    def score(self, adjacency: Tensor) -> Tensor:
        """x, linear in the adjacency matrix, float64 [B]."""
        self._require_regions(adjacency)
        positions, weight, loop_weight = (part.to(adjacency.device) for part in self._read)
        read = adjacency.flatten(1).index_select(1, positions)
        forth, back, loops = read.split((len(weight), len(weight), len(loop_weight)), 1)
        x = self.intercept + ((forth.to(torch.float64) + back) / 2) @ weight
        return x + loops.to(torch.float64) @ loop_weight

    @cached_property
    def _read(self) -> tuple[Tensor, Tensor, Tensor]:
        """Which entries of the flat matrix have a weight (pairs u < v, the same pairs as v > u, loops); the weights."""
        (u, v), (nodes,) = self.weight.nonzero(as_tuple=True), self.loop_weight.nonzero(as_tuple=True)
        n = len(self.weight)
        return torch.cat((u * n + v, v * n + u, nodes * (n + 1))), self.weight[u, v], self.loop_weight[nodes]

    def _require_regions(self, adjacency: Tensor) -> None:
        if adjacency.shape[1:] != self.weight.shape:
            raise OracleError(
                f"The oracle {self.name!r} knows {len(self.weight)} brain regions; it was given graphs of "
                f"{adjacency.shape[1]} nodes."
            )

    def _linear(self, values: Tensor) -> Tensor:
        """x from the entries of the matrix that have a weight."""
        return self.intercept + values.to(torch.float64) @ self.weight[self.weight != 0].to(values.device)

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (self.score(graphs.adjacency) > 0).long()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """sigmoid(x) of the symmetrised soft adjacency: above 1/2 exactly where the rule says 1."""
        self._require_regions(adjacency)
        u, v = self.weight.to(adjacency.device).nonzero(as_tuple=True)  # few: they are looked up before they are added
        positive = torch.sigmoid(self._linear((adjacency[:, u, v] + adjacency[:, v, u]) / 2))
        return torch.stack((1 - positive, positive), 1)

    def why_not_differentiable(self) -> str:
        return ""

    def optimal_ged(self, graphs: GraphBatch) -> Tensor:
        return self._edits(graphs, self.predict(graphs))[1]

    def optimal_counterfactual(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        u, v = self.weight.nonzero(as_tuple=True)
        order, needed = self._edits(graphs, classes)
        rows, rank = (torch.arange(order.shape[1]) < needed.nan_to_num(posinf=0)[:, None]).nonzero(as_tuple=True)
        pair = order[rows, rank]
        counterfactual = graphs.adjacency.clone()
        counterfactual[rows, u[pair], v[pair]] ^= 1
        counterfactual[rows, v[pair], u[pair]] ^= 1
        return counterfactual

    def _edits(self, graphs: GraphBatch, classes: Tensor) -> tuple[Tensor, Tensor]:
        """For each graph the weighted node pairs from the most to the least useful, and how many of them are needed.

        The rule is linear: flipping pair e moves x by g_e = w_e (1 - 2 A_e), whatever else is flipped, and each flip
        costs one edit. Among all sets of j flips the j largest gains in the wanted direction move x furthest, so if
        those do not cross the threshold no j flips do: the shortest prefix that crosses is an optimum. Equal gains may
        be exchanged, so there are many optima; a stable sort picks the first in node order.

        The class is 1 iff x > 0, strictly: to reach class 1 a prefix must end above zero, to leave it zero is enough.
        On the possible edge counts |x| is never below .004, so rounding cannot decide a case.
        """
        u, v = self.weight.nonzero(as_tuple=True)
        wanted = 1.0 - 2.0 * classes.double()[:, None]  # +1: x has to rise, -1: it has to fall
        gain = wanted * self.weight[u, v] * (1 - 2 * graphs.adjacency[:, u, v].double())
        gain, order = gain.sort(dim=1, descending=True, stable=True)
        reached = wanted * self.score(graphs.adjacency)[:, None] + gain.cumsum(1)
        crossed = torch.where(wanted > 0, reached > 0, reached >= 0)
        needed = torch.where(crossed.any(1), crossed.long().argmax(1) + 1.0, torch.inf)
        return order, needed.double()
