"""Plausible edits (beyond the paper): Eq. 4's discriminator as a term of the ranking.

𝔻 learns to tell real graphs of the other classes from edited graphs of class c. Of the pairs that are ranked first it
is asked how much more real a graph G looks with this single edit:

    effect(u, v) = logit 𝔻(G with the pair u, v edited) - logit 𝔻(G).

`TaughtRSGGCE(plausibility=…)` adds it to the scores of these pairs, in units of its deviation in the graph. That asks
the oracle nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from rsgg.edits import Codes, edited
from rsgg.graph import GraphBatch
from rsgg.rsgg_ce.training import Discriminator
from rsgg.seeds import seed_for, torch_rng

HIDDEN, LAYERS, STEPS, BATCH, RATE = 16, 2, 300, 32, 3e-3
RANKED_FIRST = 64  # pairs of each side whose edits are shown to 𝔻


def empty_discriminator(degree: float, n_nodes: int, identities: int) -> Discriminator:
    return Discriminator(HIDDEN, LAYERS, degree, n_nodes, identities)


def trained_discriminator(
    real: GraphBatch, graphs: GraphBatch, edits: Sequence[Codes], identities: int, seed: int
) -> Discriminator:
    """𝔻 after learning real graphs (target 1) from `graphs` with their `edits` made (target 0)."""
    generated = edited(graphs, torch.arange(len(graphs)), edits)
    degree = float(2 * real.n_edges.sum()) / max(int(real.sizes.sum()), 1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "discriminator") % 2**63)
        discriminator = empty_discriminator(max(degree, 1.0), real.n_nodes, identities)
    optimiser = torch.optim.Adam(discriminator.parameters(), lr=RATE)
    rng, target = torch_rng(seed, "plausible"), torch.cat((torch.ones(BATCH), torch.zeros(BATCH)))
    for _ in range(STEPS):
        ours = torch.randint(len(generated), (BATCH,), generator=rng)
        theirs = torch.randint(len(real), (BATCH,), generator=rng)
        shown = torch.cat((real.adjacency[theirs], generated[ours])).float()
        mask = torch.cat((real.node_mask[theirs], graphs.node_mask[ours]))
        loss = cross_entropy(discriminator(shown, mask), target)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return discriminator.eval()


@torch.no_grad()
def effects(discriminator: Discriminator, graphs: GraphBatch, scores: Tensor) -> Tensor:
    """How much each single edit raises the discriminator's logit: float [B, N, N], symmetric, standardised per graph.

    Asked of the `RANKED_FIRST` pairs of each side with the highest scores [B, N, N]; 0 for the others.
    """
    effect = torch.zeros_like(scores)
    for i in range(len(graphs)):
        rows = torch.tensor([i])
        one = graphs.select(rows)
        pairs = [_first(scores[i], side) for side in (one.edge_mask[0], (one.pair_mask & ~one.edge_mask)[0])]
        codes = torch.cat(pairs)
        each = edited(one, torch.zeros(len(codes), dtype=torch.long), list(codes[:, None].numpy()))
        logits = discriminator(each.float(), one.node_mask.expand(len(codes), -1))
        gain = (logits - logits.mean()) / logits.std(correction=0).clamp(min=1e-12)
        u, v = codes // graphs.n_nodes, codes % graphs.n_nodes
        effect[i, u, v] = effect[i, v, u] = gain
    return effect


def _first(scores: Tensor, side: Tensor) -> Tensor:
    """The codes u · N + v of the pairs of a side, bool [N, N], that have the highest scores."""
    codes = side.flatten().nonzero()[:, 0]
    return codes[scores.flatten()[codes].argsort(descending=True, stable=True)[:RANKED_FIRST]]
