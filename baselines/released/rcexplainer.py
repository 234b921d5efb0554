"""RCExplainer as its authors' code trains it on graph data sets: the price of M is paid for pairs that are no edges.

What is computed: M has an entry for every pair of rows of the padded matrix, N × N for the largest graph of the data
set, and both its size and its entropy are taken over all of them (`rcexplainer:2742-2758`): edges, pairs that are not
joined, self loops and padding. Only the entries of edges matter to the two other terms. So of a molecule with 30 nodes
and 30 bonds among graphs of up to 118 nodes, 60 of 13 924 entries have to do with it, and the network is mostly trained
to say 0 about pairs that do not exist; β = .001 is small only beside that.

Lines are those of github.com/vbdi/graphexplain at commit 0752537; `rcexplainer` is
`gcn_interpretation/gnn-model-explainer/explainer/explain_rcexplainer.py`; all of them are in `docs/evidence.md`.
Deviations of what is run from the paper:

1. Size and entropy over N × N entries, as said.
2. The temperature is 5 throughout, but for two sets of synthetic graphs (`rcexplainer:2115-2120`).

Not repeated here, as it concerns the authors' oracle, or training of which ours is a like: z is what all three
convolutions make of a node, before their activation (`models.py:451-480`), where ours is what the last one makes of it;
one network is trained for the graphs of one class (`README.md:141-153`); of 201 graphs the last one's loss is dropped
when a step is taken (`rcexplainer:2153-2161`). Points 1 to 4 and 6 of the list in `rsgg.baselines.rcexplainer` hold
here too. Entries with padding are many and alike: noise is drawn once for each node beside padding, and once per graph
for pairs of padding, and weighed by how often they occur, which has the same mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from rsgg.baselines.rcexplainer import Draw, Inputs, RCExplainer, binary_entropy
from rsgg.hyperparameters import hyper


@dataclass(kw_only=True)
class ReleasedRCExplainer(RCExplainer):
    """RCExplainer as released: M is priced over all entries of the padded matrix, at one temperature."""

    temperature_from: float = hyper(5.0, "t₀", above=0, doc="of the concrete distribution, at the start")
    temperature_to: float = hyper(5.0, "t₁", above=0, doc="at the end; t = t₀ (t₁ / t₀)^(epoch / epochs)")

    def _regularisers(self, mask: Tensor, part: Inputs, draw: Draw) -> tuple[Tensor, Tensor]:
        """β ‖M‖₁ and μ times the mean entropy over all N × N entries, [B] each."""
        n, entries = part.edges.n_nodes, all_entries(part)
        m, nothing = draw(entries.ends), torch.zeros(len(part.edges))
        size, unsure = (nothing.index_add(0, entries.graph, entries.times * of) for of in (m, binary_entropy(m)))
        return self.size * size, self.entropy * unsure / n**2


class Entries(NamedTuple):
    """Entries of padded matrices: embeddings of row and column [E, 2 d], whose graph it is, how often it occurs."""

    ends: Tensor
    graph: Tensor
    times: Tensor


def all_entries(part: Inputs) -> Entries:
    """Of a graph with n of N nodes: n × n pairs, and N - n times each node beside padding, whose embedding is 0."""
    sizes, nodes = part.edges.sizes, torch.cat((part.nodes, torch.zeros_like(part.nodes[:1])))
    rows, padding = sizes + 1, part.edges.n_nodes - sizes  # the last row stands for all padding
    graph = torch.arange(len(sizes)).repeat_interleave(rows**2)
    place = torch.arange(len(graph)) - ((rows**2).cumsum(0) - rows**2)[graph]
    ends, times = [], torch.ones(len(graph))
    for end in (place // rows[graph], place % rows[graph]):
        is_padding = end == sizes[graph]
        ends.append(torch.where(is_padding, len(part.nodes), (sizes.cumsum(0) - sizes)[graph] + end))
        times = times * torch.where(is_padding, padding[graph], 1)
    return Entries(torch.cat((nodes[ends[0]], nodes[ends[1]]), 1), graph, times)
