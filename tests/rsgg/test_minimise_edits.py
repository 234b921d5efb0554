"""The minimiser of coded edits on an oracle that asks for some number of them: what is left, and in which order."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from rsgg.graph import GraphBatch
from rsgg.minimise import minimise, minimise_edits
from rsgg.oracles import CountingOracle, Oracle
from rsgg.seeds import numpy_rng

N, ROWS = 8, 12
GRAPHS = GraphBatch.of([nx.empty_graph(N)] * ROWS, named_by_position=True)
CODES = np.arange(1, N)  # the pairs of node 0
CLASSES = torch.zeros(ROWS, dtype=torch.long)


class AtLeast(Oracle):
    """Class 1 where node 0 has so many neighbours."""

    name = "at least"

    def __init__(self, count: int) -> None:
        self.count = count

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.adjacency[:, 0, 1:].sum(1) >= self.count).long()


def left(count: int, owner: Tensor, k: int | None = None) -> list[list[int]]:
    oracle = CountingOracle(AtLeast(count))
    more = {} if k is None else {"k": k}
    return [sorted(one.tolist()) for one in minimise_edits(GRAPHS, CLASSES, [CODES] * ROWS, oracle, owner, 5, **more)]


def test_as_many_edits_are_left_as_are_needed() -> None:
    for count in (1, 3, 7):
        assert {len(one) for one in left(count, torch.arange(ROWS))} == {count}


def test_where_any_edit_is_enough_the_first_of_the_order_is_left() -> None:
    first = [[int(numpy_rng(5, "minimise", name, 0).permutation(CODES)[0])] for name in GRAPHS.names]
    assert left(1, torch.arange(ROWS)) == first and len({one for (one,) in first}) > 2


def test_the_order_is_that_of_the_graph_and_the_number_of_the_candidate() -> None:
    zeroth, even, odd = torch.zeros(ROWS, dtype=torch.long), 2 * torch.arange(ROWS), 2 * torch.arange(ROWS) + 1
    assert left(3, zeroth) == left(3, odd), "of one candidate, whatever the owner's number"
    assert left(3, even, k=2) == left(3, zeroth) != left(3, odd, k=2)


def test_loops_are_no_edits() -> None:
    """Released methods propose them; they neither stay nor cost a question."""
    star = torch.zeros(ROWS, N, N, dtype=torch.uint8)
    star[:, 0, 1:] = star[:, 1:, 0] = 1
    found = []
    for candidates in (star, star + torch.eye(N, dtype=torch.uint8)):
        oracle = CountingOracle(AtLeast(3))
        found.append((minimise(GRAPHS, CLASSES, candidates, oracle, torch.arange(ROWS), 5), oracle.calls))
    assert torch.equal(found[0][0], found[1][0]) and found[0][1] == found[1][1]
