"""A counterfactual in one line, for a model of one's own and without training: `rsgg.explain(model, data)`.

    result = rsgg.explain(model, data)
    print(result.in_words())            # Remove the edge 3–7 and the class changes from 1 to 0.
    result.plot()

The search learns nothing. It removes edges and adds edges, each in a random order, until the class changes, and then
leaves out every edit that is not needed. To explain many graphs of one kind with fewer questions to the model, fit an
explainer once and use its `explain`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import networkx as nx
import torch
from torch import Tensor
from torch.nn import Module

from rsgg.constraints import Constraint, Rules, editable
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.edits import Codes, edited
from rsgg.errors import UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.oracles.oracle import Oracle
from rsgg.oracles.pyg import CallableOracle, PyGOracle
from rsgg.rsgg_ce.explainer import in_blocks
from rsgg.rsgg_ce.listed import EVERY_PAIR_UP_TO, every_pair_field
from rsgg.rsgg_ce.ranked import NO_FLIP, candidates, search
from rsgg.rsgg_ce.search import UNKNOWN
from rsgg.seeds import torch_rng
from rsgg.sparse import SparseBatch

NOTHING_FLIPS = "none of the edits that were tried changed the class"


@dataclass(kw_only=True)
class UntaughtSearch(Explainer):
    """The ranked search without scores: pairs in random order, removals and additions in turn, then made minimal.

    A random order can miss a single edit that is enough. So where more than one edit was found, or none, small graphs
    are asked about every single edit besides (for k = 1): what can be explained by one edit then is.
    """

    certify: bool = hyper(True, "certify", doc="show of every edit that it is needed")
    restarts: int = hyper(3, "restarts", at_least=1, doc="random orders that are tried until one changes the class")
    mixtures: int = hyper(200, "mixtures", at_least=0, doc="sets of removals and additions that are tried after that")
    single_edits: int = hyper(
        1000, "single edits", at_least=0, doc="most node pairs of a graph that is asked about every single edit"
    )

    every_pair_up_to: int = every_pair_field()

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True, constraints=True)

    def _lists_above(self) -> int:
        return self.every_pair_up_to

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        def searched(rows: Tensor, first_owner: int) -> list[Candidate]:
            part = graphs.select(rows)
            found = search(
                part, classes[rows], oracle, None, [UNKNOWN] * len(part), seed=seed, k=k, first_owner=first_owner,
                certify=self.certify, restarts=self.restarts, mixtures=self.mixtures, constraints=oracle.constraints,
                every_pair_up_to=self.every_pair_up_to,
            )  # fmt: skip
            made = candidates(found, part, k, oracle, first_owner)
            if k == 1 and not isinstance(part, SparseBatch):  # large graphs have too many single edits
                self._try_single_edits(made, part, classes[rows], oracle, seed, first_owner)
            return [replace(one, reason=NOTHING_FLIPS) if one.reason == NO_FLIP else one for one in made]

        return in_blocks(graphs, k, searched)

    def _try_single_edits(
        self,
        made: list[Candidate],
        graphs: GraphBatch,
        classes: Tensor,
        oracle: CountingOracle,
        seed: int,
        first_owner: int,
    ) -> None:
        """Replace what was found, unless it is a single edit, by a single edit that changes the class, if there is one.

        All of a graph are one batch, in random order, charged up to the first that changes the class.
        """
        allowed = editable(graphs, oracle.constraints)
        for i, one in enumerate(made):
            owner, size = first_owner + i, int(graphs.sizes[i])
            edits = 0 if one.adjacency is None else int((one.adjacency != graphs.adjacency[i]).sum()) // 2
            if edits == 1 or size * (size - 1) // 2 > self.single_edits or oracle.exhausted(owner):
                continue
            codes = _shuffled(allowed[i].flatten().nonzero()[:, 0], torch_rng(seed, "single edits", graphs.names[i]))
            rules = Rules(graphs[i], graphs.n_nodes, oracle.constraints)
            each = [codes[j : j + 1] for j in range(len(codes)) if rules.allow(codes[j : j + 1])]
            each = each[: int(min(len(each), oracle.left(owner)))]
            row = torch.full((len(each),), i)
            asked = edited(graphs, row, each)
            flips = oracle.first_flip(graphs.candidates(asked, row), row + first_owner, classes[row])
            if flips.any():
                made[i] = Candidate(asked[flips][0], irreducible=True)
            elif one.adjacency is None and oracle.exhausted(owner):
                made[i] = Candidate(None, BUDGET_USED_UP)


def _shuffled(pairs: Tensor, generator: torch.Generator) -> Codes:
    return pairs[torch.randperm(len(pairs), generator=generator)].numpy()


def explain(
    model: Oracle | Module | Callable[..., Any], data: Any, *, target: int | None = None, k: int = 1,
    constraints: tuple[Constraint, ...] = (), seed: int = 0, budget: int | None = None, seconds: float | None = None,
    patience: float | None = None, every_pair_up_to: int = EVERY_PAIR_UP_TO,
) -> Any:  # fmt: skip
    """Counterfactuals of one graph or of many, by a search without training.

    Args:
        model: a PyG graph classifier, an `rsgg.Oracle`, or any function of PyG graphs that gives their classes.
        data: a graph (`rsgg.Graph`, NetworkX graph or PyG `Data`), or many of them (a list, data set, loader, batch).
        target: the class that results must have; any class but the input's if not given.
        k: candidates per graph; a further one edits other node pairs.
        constraints: rules that every result keeps, e.g. `(OnlyRemovals(), KeepConnected())` of `rsgg.constraints`.
        seed: decides all random draws.
        budget: the most questions to the model per graph; no limit if not given.
        seconds: time limit for each graph; none if not given. The time of questions that are asked together is shared
            by their graphs, and a graph cannot use up another one's. A question that is under way is not interrupted.
        patience: seconds to wait for one batch of questions; a model that hangs is then given up, with a reason. The
            thread that waits for it stays behind until the process ends: only ending the process frees what it holds.
        every_pair_up_to: nodes up to which every missing pair of a graph may be added. Larger graphs are kept as lists
            of edges, and pairs near each other and random ones are added, some hundred thousand at most.

    Returns:
        For one graph and k = 1 its `Counterfactual`; else a list of them, `k` for each graph, in the order of the
        graphs. A graph for which nothing was found has a result with a `reason`.
    """
    oracle = _as_oracle(model)
    if budget is not None or seconds is not None or patience is not None:
        oracle = CountingOracle(oracle, budget, seconds, patience=patience)
    search_ = UntaughtSearch(constraints=constraints, every_pair_up_to=every_pair_up_to)
    results = search_.explain(data, oracle, k=k, seed=seed, target=target)
    return results[0] if k == 1 and _is_one_graph(data) else results


def _as_oracle(model: object) -> Oracle:
    if isinstance(model, Oracle):
        return model
    if isinstance(model, Module):
        return PyGOracle(model)
    if callable(model) and not isinstance(model, type):
        return CallableOracle(model)
    what = f"class ({model.__name__})" if isinstance(model, type) else type(model).__name__
    raise UsageError(f"A {what} cannot be explained; give a trained PyG model, an rsgg.Oracle or a function of graphs.")


def _is_one_graph(data: object) -> bool:
    from torch_geometric.data import Batch, Data

    return isinstance(data, Graph | nx.Graph) or (isinstance(data, Data) and not isinstance(data, Batch))
