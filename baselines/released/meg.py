"""MEG as the comparison behind Table 1 ran it: in effect the nearest of ten random end states.

Kept apart from the method (`rsgg.baselines.meg`) so that its numbers come out again and can be explained. Its row:

    GED = min over 10 episodes of P - |X|,    X = the pairs that an odd number of 10 prefixes of random length flip,

with P = n (n - 1) / 2 pairs and prefix lengths uniform on 1 … P. For large P, 1 - |X| / P is Beta(6, 5) distributed,
and the smallest of ten has mean .322: GED 159.8 on 32 nodes (paper 159.700) and 122.0 on 28.

Deviations of what ran from MEG's paper and from the text, each visible below:

1. The oracle is not in the reward: the reward of a state is its GED to the input. No question is ever asked.
2. One matrix is changed in place while actions are enumerated, pair after pair in the order of the upper triangle:
   action k flips the first k pairs, not the k-th. (There is no action that does nothing.)
3. The enumeration of a state's own actions goes through the state's own matrix and leaves every pair of it flipped. It
   is enumerated once more after the last step, so that the end state is the complement of where the walk went.
4. The queue sorts by rising reward, and the reward is a distance: the nearest end state is returned, valid or not.
5. Ten episodes of ten steps, ε ≥ .987 throughout: the network is asked in about one step of a hundred and has
   then seen a hundred transitions at most. It is left out here, as in the simulation that gives 159.1 on 32 nodes.
6. The published row is from 32-node graphs (GED / Sparsity = 63.6 = |V| + |E|), the other rows from 28 nodes.
7. The "×" on ASD is memory: 6670 actions × 13457 inputs per step and transition. A graph whose actions would need more
   than `MEMORY_LIMIT` is a failure here too.

Point 3 is inferred from the published number and not settled by the code: ten steps are the environment's default, the
configuration of the run is not known. With ten steps and without the last complement the nearest of ten is at 119 on 32
nodes; if the input's own matrix is complemented between episodes as well, as the public code reads, the mean is about
P / 2 = 248. One-step episodes give P / 11 = 45. Without the complement, 17 or 22 steps would fit the number too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rsgg.explainer import Candidate, Capabilities, Explainer, hyper
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle
from rsgg.seeds import numpy_rng

MEMORY_LIMIT = 2 << 30  # bytes that the replay memory of a search may fill with the float32 inputs of all actions


@dataclass(kw_only=True)
class ReleasedMEG(Explainer):
    """MEG as released, without its network, which decides nothing. It asks no question of its own."""

    episodes: int = hyper(10, "episodes", at_least=1)
    steps: int = hyper(10, "steps", at_least=1, doc="of an episode")

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, permutation_invariant=False, may_return_invalid=True
    )

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return [
            self._nearest(graphs.adjacency[i], n, (seed, "released meg", name, j))
            for i, (n, name) in enumerate(zip(graphs.sizes.tolist(), graphs.names, strict=True))
            for j in range(k)
        ]

    def _nearest(self, adjacency: Tensor, n: int, names: tuple[object, ...]) -> Candidate:
        """The end state of the smallest distance; of equals the earliest."""
        pairs, inputs = n * (n - 1) // 2, n * n + 1
        if not pairs:
            return Candidate(None, "the graph has no pair of nodes to edit")
        if pairs * inputs * 4 * self.episodes * self.steps > MEMORY_LIMIT:
            return Candidate(None, f"{pairs} actions of {inputs} inputs per step do not fit into memory")
        prefixes = numpy_rng(*names).integers(1, pairs + 1, size=(self.episodes, self.steps))
        flipped = end_states(prefixes, pairs)
        nearest = flipped[flipped.sum(1).argmin()]
        u, v = np.triu_indices(n, 1)
        edited = adjacency.clone()
        edited[u, v] ^= torch.from_numpy(nearest.astype(np.uint8))
        edited[v, u] = edited[u, v]
        return Candidate(edited)


def end_states(prefixes: np.ndarray, pairs: int) -> np.ndarray:
    """Which pairs each episode leaves flipped, bool [episodes, pairs], from the prefix lengths of its steps.

    Pair p is flipped by every prefix longer than p, and once more by the enumeration that follows the last step.
    """
    flips = (prefixes[:, :, None] > np.arange(pairs)).sum(1) + 1
    return np.asarray(flips % 2 == 1)
