"""Graphs of many sizes for methods whose networks write a fixed number of nodes: that of the largest training graph."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from rsgg.counterfactual import Candidate
from rsgg.graph import GraphBatch
from rsgg.oracles.counting import CountingOracle


def up_to_size(
    n: int,
    graphs: GraphBatch,
    classes: Tensor,
    oracle: CountingOracle,
    k: int,
    explain: Callable[[GraphBatch, Tensor], list[Candidate]],
) -> list[Candidate]:
    """What `explain` returns for the graphs of at most n nodes; the others are failures that say why.

    `explain` is given these graphs and their classes, and returns k candidates for each; its questions are counted for
    the graphs of the whole batch.
    """
    small = graphs.sizes <= n
    if small.all():
        return explain(graphs, classes)
    results = [
        Candidate(None, f"the graph has {size} nodes, and no training graph had more than {n}")
        for size in graphs.sizes.tolist()
        for _ in range(k)
    ]
    owners = torch.arange(len(results)).reshape(-1, k)[small].flatten().tolist()
    if owners:
        with oracle.on_behalf_of(owners):
            explained = explain(graphs.select(small), classes[small])
        for owner, candidate in zip(owners, explained, strict=True):
            results[owner] = candidate
    return results
