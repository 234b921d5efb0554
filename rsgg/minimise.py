"""Minimal counterfactuals: shrink a valid set of edits until none of them can be left out (beyond the paper).

The edits are put in an order. A binary search finds a prefix that changes the oracle's class while the prefix one
edit shorter does not: that last edit is needed. It moves to the front for good, what came after it is dropped, and the
search goes on over what came before it, until the needed edits change the class on their own. Every set that is
accepted has been shown to the oracle, so the result is a counterfactual for any oracle; where more edits never undo a
change of class, no edit of the result can be left out. A set of d edits of which r are needed costs about
r (1 + log2 d) questions. Sets that the constraints do not allow are passed over as if they did not change the class
(`CountingOracle.explaining`). For any explainer, `rsgg.compose.Minimised` does it. Where nodes are edited too,
`minimise_edits` does the same with sets of edits instead of matrices.

All instances are searched together: each question is one batch with a graph of every instance.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from rsgg.edits import Codes
from rsgg.errors import UsageError
from rsgg.graph import GraphBatch
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import numpy_rng, torch_rng

FOUND_NEEDED = -1  # rank of the edits that were found to be needed: they are part of every prefix


def minimise(
    graphs: GraphBatch,
    classes: Tensor,
    candidate_adjacency: Tensor,
    oracle: CountingOracle,
    owner: Tensor,
    seed: int,
    *,
    k: int = 1,
) -> Tensor:
    """Shrink the edits from each graph to its candidate, uint8 [R, N, N]; the candidates must be valid.

    Row r of `graphs`, `classes` (the class to leave), `candidate_adjacency` and `owner` belong together; questions are
    charged to `owner[r]`, which is candidate `owner[r] % k` of its instance. The order of the edits is random, drawn by
    name. A row whose budget is used up keeps the smallest set that was verified so far.
    """
    if not len(graphs) == len(classes) == len(candidate_adjacency) == len(owner):
        raise UsageError(
            f"minimise was given {len(graphs)} graphs, {len(classes)} classes, {len(candidate_adjacency)} candidates "
            f"and {len(owner)} owners; it needs one of each per row: select the graphs that have a candidate first."
        )
    names = [(seed, "minimise", name, i % k) for name, i in zip(graphs.names, owner.tolist(), strict=True)]
    edits = torch.triu((candidate_adjacency > 0) != (graphs.adjacency > 0), 1)
    rank = random_order(edits, graphs.sizes, names)
    # Prefix `high` is known to change the class, prefix `low` not to; low = -1 when even prefix 0 has not been asked.
    low, high = torch.zeros(len(graphs), dtype=torch.long), edits.sum((1, 2))
    while True:
        _keep_needed(rank, low, high)
        open_ = high > 0
        if oracle.limited:
            open_ &= ~torch.tensor([oracle.exhausted(i) for i in owner.tolist()], dtype=torch.bool)
        rows = open_.nonzero().flatten()
        if not len(rows):
            return with_edits(graphs.adjacency, rank, high)
        # First whether the needed edits are enough: most searches end there. Then the middle.
        prefix = torch.where(low[rows] < 0, 0, (low[rows] + high[rows]) // 2)
        asked = with_edits(graphs.adjacency[rows], rank[rows], prefix)
        flips = oracle.predict(graphs.candidates(asked, rows), owner[rows]) != classes[rows]
        high[rows] = torch.where(flips, prefix, high[rows])
        low[rows] = torch.where(flips, low[rows], prefix)


def minimise_edits(
    graphs: GraphBatch,
    classes: Tensor,
    edits: Sequence[Codes],
    oracle: CountingOracle,
    owner: Tensor,
    seed: int,
    *,
    k: int = 1,
) -> list[Codes]:
    """`minimise` for edits of nodes and pairs, coded for the padded size of `graphs`; all of them must be valid."""
    from rsgg.rsgg_ce.search import Found, halving, in_lock_step  # late: it uses this module

    found = [Found(codes) for codes in edits]
    searches = [
        halving(numpy_rng(seed, "minimise", name, i % k).permutation(codes), 0, one)
        for codes, one, name, i in zip(edits, found, graphs.names, owner.tolist(), strict=True)
    ]
    rows = range(len(graphs))
    in_lock_step(searches, graphs, rows, owner.tolist(), oracle, lambda answers, own: answers != classes[own])
    return [codes if one.edits is None else one.edits for one, codes in zip(found, edits, strict=True)]


def _keep_needed(rank: Tensor, low: Tensor, high: Tensor) -> None:
    """Where prefix high flips and prefix high - 1 does not, the edit between them is needed: move it to the front."""
    rows = ((high > 0) & (high - low == 1)).nonzero().flatten()
    if len(rows):
        last = rank[rows] == (high[rows] - 1)[:, None, None]
        rank[rows] = rank[rows].masked_fill(last, FOUND_NEEDED)
        high[rows] -= 1
        low[rows] = -1


def random_order(pairs: Tensor, sizes: Tensor, names: Sequence[tuple[object, ...]]) -> Tensor:
    """A random order of each row's node pairs: their ranks 0, 1, …, int32 [R, N, N], symmetric.

    `pairs` (bool, upper triangle) says which pairs are ordered; the others rank behind all of them. Row r is drawn from
    the seed that `names[r]` makes and depends on nothing else, padding and the rest of the batch included.
    """
    batch, n, _ = pairs.shape
    behind = n * n
    draw = torch.full((batch, n, n), behind, dtype=torch.int32)
    for row, (size, name) in enumerate(zip(sizes.tolist(), names, strict=True)):
        u, v = torch.triu_indices(size, size, 1)
        draw[row, u, v] = torch.randperm(len(u), generator=torch_rng(*name)).int()
    draw = draw.masked_fill(~pairs, behind).flatten(1)
    order = draw.argsort(1)
    rank = torch.empty_like(draw).scatter_(1, order, torch.arange(behind, dtype=torch.int32).expand(batch, -1).clone())
    rank = rank.masked_fill(draw == behind, behind).view(batch, n, n)
    return torch.minimum(rank, rank.transpose(1, 2))


def with_edits(adjacency: Tensor, rank: Tensor, prefix: Tensor) -> Tensor:
    """The graphs after the first `prefix` edits of their order, uint8 [R, N, N]."""
    return adjacency ^ (rank < prefix.int()[:, None, None]).view(torch.uint8)
