"""An explainer of your own: copy this file, rename the class, and replace the search in `_candidate`.

Run the file to check it: `python my_explainer.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import torch
from torch import Tensor

from rsgg import Candidate, Capabilities, Choice, CountingOracle, Explainer, GraphBatch, check_explainer, hyper
from rsgg.seeds import torch_rng


@dataclass(kw_only=True)
class MyExplainer(Explainer):
    """Flips single node pairs in random order until the oracle changes its mind."""

    # Hyper-parameters: the default, the symbol in your paper, the values a search may try, and what is allowed.
    tries: int = hyper(50, "T", space=Choice((10, 50, 200)), at_least=1, doc="node pairs that are tried per graph")

    # What the method does and needs. If it learns, add learns=True and write `_fit`, `_state` and `_restore`. This one
    # learns about classes from `oracle.predict` with owners alone, so it can be given a target class and constraints.
    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True, constraints=True)

    @classmethod
    def tiny(cls) -> Self:
        """A preset that fits and explains in a second, for tests."""
        return cls(tries=10)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        """k candidates for each graph, graph by graph; `classes` are the oracle's answers for the graphs."""
        return [self._candidate(graphs, classes, oracle, i, j, k, seed) for i in range(len(graphs)) for j in range(k)]

    def _candidate(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, i: int, j: int, k: int, seed: int
    ) -> Candidate:
        """Candidate j of graph i: an adjacency matrix of another class, or the reason why there is none."""
        owner = i * k + j  # whom the oracle's calls are charged to
        # Seed by the name of the graph, not by its position: then results do not depend on the batch.
        rng = torch_rng(seed, "my explainer", graphs.names[i], j)
        pairs = graphs.pair_mask[i].nonzero()  # the node pairs u < v of this graph, padding left out
        for u, v in pairs[torch.randperm(len(pairs), generator=rng)][: self.tries].tolist():
            if oracle.exhausted(owner):  # a budget or a time limit may have been set: ask before each question
                return Candidate(None, "the oracle budget was used up")
            adjacency = graphs.adjacency[i].clone()
            adjacency[u, v] = adjacency[v, u] = 1 - adjacency[u, v]
            asked = graphs.candidates(adjacency[None], torch.tensor([i]))
            # One graph scored is one call, counted here, as are passes through `oracle.relaxed_graphs(…, owner)`. If
            # you compute with the model past the oracle, charge each graph yourself: `oracle.charge(owner, calls)`.
            if oracle.predict(asked, torch.tensor([owner]))[0] != classes[i]:
                return Candidate(adjacency)
        return Candidate(None, f"none of {self.tries} single edits changed the class")


if __name__ == "__main__":
    print("\n".join(check_explainer(MyExplainer)))
