"""Controls: methods with nothing to learn (or next to nothing), which give the tables their scale.

A row of Table 1 means little without them: the empty graph alone explains one of its rows, and random edits followed
by `rsgg.minimise` reach the optimum on both data sets of the paper. Each control is a class of a few lines:

    Empty, Complete, Identity                constant answers; the first two never ask whether they are right
    OneRemoval                               one edge less, at random: where that is enough, nothing is explained
    RandomKnown                              a training graph, drawn at random: how often is its class another one?
    RemoveEgo, KeepEgo                       for node classification: without the edges around v, with these alone
    RandomEdits, TwoSided                    random edits until the class changes, one by one or in doubling steps
    RandomEditsMinimised, TwoSidedMinimised  the same, made minimal
    EdgeGradient                             edges removed in the order of one gradient of the oracle's logits
    Optimum                                  the exact optimum; it knows the rule inside the oracle
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from rsgg.compose import Minimised, part_field
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.data.nodes import target_nodes
from rsgg.edges import EdgeBatch
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch, resized
from rsgg.hyperparameters import hyper
from rsgg.minimise import random_order
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import torch_rng

BLOCK_CELLS = 1 << 23  # adjacency cells in one block of speculative questions: bounds the memory


# -- Constant answers ------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Empty(Explainer):
    """Delete every edge and ask nothing. Its GED is the number of edges; it is what the released CF² returns."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, deterministic=True, may_return_invalid=True
    )

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return only_candidate(self, map(Candidate, torch.zeros_like(graphs.adjacency)), k)


@dataclass(kw_only=True)
class Complete(Explainer):
    """Join every pair of nodes and ask nothing."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=False, deterministic=True, may_return_invalid=True
    )

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        upper = graphs.pair_mask.to(graphs.adjacency.dtype)
        return only_candidate(self, map(Candidate, upper | upper.transpose(1, 2)), k)


@dataclass(kw_only=True)
class Identity(Explainer):
    """Return the input: always a failure, at GED 0. It shows that a low GED alone says nothing about a method."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=False, deterministic=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return only_candidate(self, map(Candidate, graphs.adjacency), k)


@dataclass(kw_only=True)
class OneRemoval(Explainer):
    """Remove one edge that is drawn at random, and ask nothing: what a trained network's class is worth."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=True, may_return_invalid=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        instance = torch.arange(len(graphs)).repeat_interleave(k)
        rows = graphs.select(instance)
        names = [(seed, "one removal", name, owner % k) for owner, name in enumerate(rows.names)]
        rank = random_order(rows.edge_mask, rows.sizes, names)
        no_edge = Candidate(None, "the graph has no edge that could be removed")
        edited = rows.adjacency ^ (rank == 0).to(torch.uint8)
        return [Candidate(a) if edges else no_edge for a, edges in zip(edited, rows.n_edges.tolist(), strict=True)]


@dataclass(kw_only=True)
class RandomKnown(Explainer):
    """A training graph with as many nodes that is drawn at random, whatever its class: what retrieval is measured by.

    With `recent` one of the last so many training graphs, e.g. of the present snapshot of a stream.
    """

    recent: int = hyper(0, "recent", at_least=0, doc="draw among the last so many training graphs; 0: among all")

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, permutation_invariant=False, may_return_invalid=True
    )

    def _asks_about(self, n_graphs: int) -> int:
        return 0

    def _needs_every_class(self) -> bool:
        return False

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        kept = graphs[max(0, len(graphs) - self.recent) :] if self.recent else graphs
        self.known_ = GraphBatch(kept.adjacency, kept.sizes, names=("",) * len(kept))

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        results: list[Candidate] = []
        for name, n in zip(graphs.names, graphs.sizes.tolist(), strict=True):
            alike = (self.known_.sizes == n).nonzero().flatten()
            drawn = alike[torch.randperm(len(alike), generator=torch_rng(seed, "random known", name))][:k]
            results += map(Candidate, resized(self.known_.adjacency[drawn], graphs.n_nodes))
            results += [Candidate(None, f"{len(alike)} known graphs have {n} nodes")] * (k - len(drawn))
        return results

    def _state(self) -> dict[str, Tensor]:
        return {"adjacency": self.known_.adjacency, "sizes": self.known_.sizes}

    def _restore(self, state: dict[str, Tensor]) -> None:
        sizes = state["sizes"]
        self.known_ = GraphBatch(state["adjacency"], sizes, names=("",) * len(sizes))


@dataclass(kw_only=True)
class RemoveEgo(Explainer):
    """For ego networks of a node v (`rsgg.data.nodes`): remove the edges among v and its neighbours, and ask nothing.

    A control of CF-GNNExplainer. Graphs without features, which mark no node v, are failures.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, deterministic=True, may_return_invalid=True
    )

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        if graphs.features is None:
            return [Candidate(None, "the graphs mark no node that is to be explained")] * (len(graphs) * k)
        around = _around(graphs.adjacency, target_nodes(graphs.features))
        return only_candidate(self, map(Candidate, self._edited(graphs.adjacency, around)), k)

    def _edited(self, adjacency: Tensor, around: Tensor) -> Tensor:
        return adjacency * ~around


@dataclass(kw_only=True)
class KeepEgo(RemoveEgo):
    """Its opposite: remove all edges but those among v and its neighbours."""

    def _edited(self, adjacency: Tensor, around: Tensor) -> Tensor:
        return adjacency * around


def _around(adjacency: Tensor, v: Tensor) -> Tensor:
    """The pairs among v and its neighbours, bool [B, N, N]."""
    rows = torch.arange(len(v))
    near = adjacency[rows, v] > 0
    near[rows, v] = True
    return near[:, :, None] & near[:, None, :]


def only_candidate(explainer: Explainer, candidates: Iterable[Candidate], k: int) -> list[Candidate]:
    """One answer per graph, and k - 1 times the reason why there is no other."""
    no_other = Candidate(None, f"{type(explainer).__name__} has only one candidate")
    return [answer for candidate in candidates for answer in (candidate, *[no_other] * (k - 1))]


# -- Random edits until the class changes ----------------------------------------------------------------


@dataclass(kw_only=True)
class RandomEdits(Explainer):
    """Delete, then add: remove edges one by one in random order, asking after each. If even the empty graph keeps the
    class, start again from the input and add missing edges one by one in random order, asking after each.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True, constraints=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        edges, missing = _sides(graphs)
        step = torch.arange(1, int((edges + missing).max()) + 1)
        removals = torch.where(step <= edges, -step, 0)
        additions = torch.where((step > edges) & (step <= edges + missing), step - edges, 0)
        return _first_flip(graphs, classes, oracle, removals + additions, k, (seed, "random edits"))


@dataclass(kw_only=True)
class TwoSided(Explainer):
    """Edges and missing pairs in random order: remove the first 1, 2, 4, … edges from the input, or add as many missing
    ones to it, ask about both in turn, and return the first graph whose class changes.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, targets=True, constraints=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        prefixes = _doubling(torch.cat(_sides(graphs), 1))
        in_turn = (prefixes * torch.tensor([-1, 1])).flatten(1)
        return _first_flip(graphs, classes, oracle, in_turn, k, (seed, "two-sided"))


def _sides(graphs: GraphBatch) -> tuple[Tensor, Tensor]:
    """How many edges each graph has and how many it lacks, int64 [B, 1] each."""
    edges = graphs.n_edges[:, None]
    return edges, graphs.pair_mask.sum((1, 2))[:, None] - edges


def _doubling(lengths: Tensor) -> Tensor:
    """1, 2, 4, … up to each length itself, then zeros; int64 [B, Q, 2] for lengths [B, 2]."""
    power = 2 ** torch.arange(int(lengths.max()).bit_length() + 1)[:, None]
    reached = lengths[:, None]
    return torch.where(power // 2 < reached, torch.minimum(power, reached), 0)


def _first_flip(
    graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, questions: Tensor, k: int, names: tuple[object, ...]
) -> list[Candidate]:
    """Ask each graph's questions in their order, `k` times with other random orders of its pairs; take the first flip.

    A question -p removes the first p edges of the random order from the input, +p adds the first p missing ones, 0 asks
    nothing; `questions` is int64 [B, Q].
    """
    instance = torch.arange(len(graphs)).repeat_interleave(k)
    seeds = [(*names, graphs.names[i], owner % k) for owner, i in enumerate(instance.tolist())]
    rank = _signed_order(graphs.select(instance), seeds)
    owner = torch.arange(len(instance))
    no_flip = "no number of random removals or additions changed the class"
    return first_flip_in_order(graphs, classes, oracle, questions, rank, instance, owner, no_flip)


def first_flip_in_order(
    graphs: GraphBatch,
    classes: Tensor,
    oracle: CountingOracle,
    questions: Tensor,
    rank: Tensor,
    instance: Tensor,
    owner: Tensor,
    no_flip: str,
) -> list[Candidate]:
    """The first flip of R orders of pairs: order r, of the graph at instance[r], is asked about for owner[r] (rising).

    `rank`, int32 [R, N, N] and symmetric, numbers edges -1, -2, … and missing ones 1, 2, … in the order in which they
    are edited. A question -p removes the first p edges from the input, +p adds the first p missing ones, 0 asks
    nothing; `questions` is int64 [B, Q]. Questions are evaluated in blocks, and charged only up to the first flip.
    `no_flip` is the reason where there is none.
    """
    found: list[Tensor | None] = [None] * len(instance)
    open_ = torch.ones(len(instance), dtype=torch.bool)
    start, block = 0, 4
    while start < questions.shape[1] and open_.any():
        rows = open_.nonzero().flatten()
        block = max(1, min(block, BLOCK_CELLS // (len(rows) * graphs.n_nodes**2)))
        question = questions[instance[rows], start : start + block]
        row, question = rows.repeat_interleave(question.shape[1])[question.flatten() != 0], question[question != 0]
        start, block = start + block, 2 * block
        if not len(row):
            continue
        asked = _edited(graphs.adjacency[instance[row]], rank[row], question)
        first = oracle.first_flip(graphs.candidates(asked, instance[row]), owner[row], classes[instance[row]])
        for position in first.nonzero().flatten().tolist():
            found[int(row[position])] = asked[position].clone()
            open_[row[position]] = False
        if oracle.limited:
            open_ &= ~torch.tensor([oracle.exhausted(i) for i in owner.tolist()])
    return [
        Candidate(adjacency, "" if adjacency is not None else BUDGET_USED_UP if oracle.exhausted(i) else no_flip)
        for i, adjacency in zip(owner.tolist(), found, strict=True)
    ]


def _signed_order(graphs: GraphBatch, seeds: list[tuple[object, ...]]) -> Tensor:
    """A random order of both sides, int32 [R, N, N]: edges rank -1, -2, …, missing ones 1, 2, …; others never come."""
    edges = graphs.edge_mask
    removals = random_order(edges, graphs.sizes, seeds)
    additions = random_order(graphs.pair_mask & ~edges, graphs.sizes, seeds)
    return torch.where(graphs.adjacency > 0, -1 - removals, 1 + additions)


def _edited(adjacency: Tensor, rank: Tensor, question: Tensor) -> Tensor:
    """The first |question| edges removed (below zero) or missing edges added (above)."""
    question = question.int()[:, None, None]
    chosen = (rank >= question.clamp(max=0)) & (rank <= question.clamp(min=0))
    return adjacency ^ chosen.view(torch.uint8)


@dataclass(kw_only=True)
class RandomEditsMinimised(Minimised):
    """`RandomEdits`, made minimal."""

    base: Explainer = part_field(RandomEdits, "random edits")


@dataclass(kw_only=True)
class TwoSidedMinimised(Minimised):
    """`TwoSided`, made minimal: the optimum on Tree-Cycles and all but the optimum on ASD, with nothing learnt."""

    base: Explainer = part_field(TwoSided, "the two-sided order")


# -- Removing edges by their score -----------------------------------------------------------------------

DECIMALS = 4  # of scores, beyond which they are rounding errors: so a batch cannot matter


class RemovesByScore(Explainer):
    """Removes edges one by one, the highest score first, and asks after each until the class changes. None is added.

    Subclasses write `edge_scores`. Scores are rounded to `DECIMALS` places; ties are taken in the order of the nodes'
    numbers.
    """

    @abstractmethod
    def edge_scores(self, edges: EdgeBatch, oracle: CountingOracle, owner: Tensor | None = None) -> Tensor:
        """The score of each edge of these graphs, [K]: the higher, the earlier it is removed. One call per graph."""

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        candidates = [Candidate(None, BUDGET_USED_UP)] * len(graphs)
        able = torch.tensor([i for i in range(len(graphs)) if not oracle.exhausted(i * k)], dtype=torch.long)
        if len(able):
            part, owner = graphs.select(able), able * k
            questions = -torch.arange(1, max(int(part.n_edges.max()), 1) + 1).expand(len(part), -1)
            questions = torch.where(-questions <= part.n_edges[:, None], questions, 0)
            rank = self._removal_order(part, oracle, owner)
            instance, no_flip = (
                torch.arange(len(part)),
                "removing all edges in the order of their scores keeps the class",
            )
            found = first_flip_in_order(part, classes[able], oracle, questions, rank, instance, owner, no_flip)
            for i, candidate in zip(able.tolist(), found, strict=True):
                candidates[i] = candidate
        return only_candidate(self, candidates, k)

    def _removal_order(self, graphs: GraphBatch, oracle: CountingOracle, owner: Tensor) -> Tensor:
        """When each edge is removed, int32 [B, N, N]: -1 is the first; other pairs have 1, as nothing is added."""
        edges = EdgeBatch.of(graphs)
        score = self.edge_scores(edges, oracle, owner).detach().round(decimals=DECIMALS).double()
        place = np.lexsort((edges.v.numpy(), edges.u.numpy(), -score.numpy(), edges.graph.numpy()))
        within = torch.arange(len(edges.u)) - edges.starts[edges.graph]  # edges are listed graph by graph
        rank = torch.ones(len(graphs), graphs.n_nodes, graphs.n_nodes, dtype=torch.int32)
        graph, u, v = (end[torch.from_numpy(place)] for end in (edges.graph, edges.u, edges.v))
        rank[graph, u, v] = rank[graph, v, u] = (-1 - within).int()
        return rank


@dataclass(kw_only=True)
class EdgeGradient(RemovesByScore):
    """Edges in the order of how fast the class loses its lead as the edge fades: one gradient, nothing learnt.

    The lead is the logit of the class minus the highest other one, differentiated by the weight of each edge at 1.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, needs_relaxation=True, needs_embeddings=True, deterministic=True, targets=True,
        constraints=True,
    )  # fmt: skip

    def edge_scores(self, edges: EdgeBatch, oracle: CountingOracle, owner: Tensor | None = None) -> Tensor:
        weight = torch.ones(len(edges.u), requires_grad=True)
        with torch.enable_grad():
            highest = oracle.head(oracle.embeddings(edges, weight, owner).pooled).topk(2, dim=1).values
            (gradient,) = torch.autograd.grad((highest[:, 0] - highest[:, 1]).sum(), weight, allow_unused=True)
        return torch.zeros_like(weight) if gradient is None else gradient


# -- Knowing the oracle ----------------------------------------------------------------------------------


@dataclass(kw_only=True)
class Optimum(Explainer):
    """The exact optimum (`Oracle.optimal_counterfactual`), checked with one call. No black-box method: it uses what the
    oracle knows about its own rule, and fails for oracles whose optimum is not known.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, deterministic=True)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        best = oracle.optimal_counterfactual(graphs, classes)
        if best is None:
            return [Candidate(None, f"the optimum is not known for the oracle {oracle.name!r}")] * (len(graphs) * k)
        impossible = Candidate(None, "no counterfactual exists")
        unchanged = (best == graphs.adjacency).flatten(1).all(1).tolist()
        candidates = [impossible if same else Candidate(a) for a, same in zip(best, unchanged, strict=True)]
        return checked(only_candidate(self, candidates, k), graphs, classes, oracle, k)


def checked(
    candidates: list[Candidate], graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int
) -> list[Candidate]:
    """Ask about every candidate once; those that keep the class, or that the budget does not cover, are failures."""
    checked = [
        Candidate(None, BUDGET_USED_UP) if candidate.adjacency is not None and oracle.exhausted(i) else candidate
        for i, candidate in enumerate(candidates)
    ]
    owner = torch.tensor([i for i, c in enumerate(checked) if c.adjacency is not None], dtype=torch.long)
    if len(owner):
        adjacency = torch.stack([c.adjacency for c in checked if c.adjacency is not None])
        answers = oracle.predict(graphs.candidates(adjacency, owner // k), owner)
        for i in owner[answers == classes[owner // k]].tolist():
            checked[i] = Candidate(None, "the candidate does not change the class")
    return checked
