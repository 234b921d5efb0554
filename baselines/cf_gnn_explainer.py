"""CF-GNNExplainer (Lucic et al., AISTATS 2022): a mask that deletes as few edges as change the class.

For each graph by itself, which for node classification is the ego network of v, a matrix P̂ of real numbers is
optimised, one per edge. Its thresholded version P decides what is asked about, its soft version what is differentiated.
With y the class of the input and p_y the (relaxed) oracle's probability of it:

    P = [σ(P̂) ≥ ½],   Ā = P ⊙ A,
    L(P̂) = 1[f(P⊙A) = y] · log p_y(σ(P̂)⊙A) + β · ½ ‖A - σ(P̂)⊙A‖₁,   P̂ ← P̂ - α ∇L,   P̂ = 1 at the start.

Whenever Ā is of another class it is a counterfactual; the one with the fewest deleted edges is returned. While the
class is kept, the first term drives p_y down; from then on it is off, and the second brings edges back, until the class
returns: so the search goes to and fro across the border and may meet smaller counterfactuals than its first. Edges are
only deleted: of the graphs of Tree-Cycles no tree can be explained.

Deviations from the paper, and what it leaves open:

1. The distance of its loss counts deleted edges of the thresholded Ā, and a count has no gradient. Here it is that of
   the soft matrix, as in the first term; otherwise β could not matter (`rsgg.baselines.released.cf_gnn_explainer`).
2. One number per undirected edge instead of a symmetric n × n matrix of them: entries of other pairs have no gradient.
3. All graphs of a fold are optimised side by side; each has its own mask, and nothing is shared between them.
4. The classifier is the oracle's relaxation along the edges (`Oracle.relaxed_edges`): degrees, too, are those of the
   soft graph and are differentiated. Any oracle with a relaxation will do, for graphs as for nodes.
5. Edges that can be deleted are those of the graph that is given. Ego networks of `rsgg.data.nodes` reach three edges
   far, as messages do; the paper's also have the edges from there on, which count in degrees.
6. The oracle is asked about Ā only when Ā is not what it was asked about last, and about σ(P̂)⊙A only while the class is
   kept: the other answers are known, or weighed by 0.

The defaults are what the authors ran on Tree-Cycles and Tree-Grid (README.md:32-33 of their repository), the clipping
of gradients included; on BA-Shapes they add Nesterov's momentum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from rsgg.baselines.controls import only_candidate
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.edges import EdgeBatch
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import torch_rng

CALLS_PER_STEP = 2  # about the thresholded graph and about the soft one, at most
EDGES_PER_BLOCK = 1 << 19  # edges that are optimised side by side: bounds the memory
NEVER_ZERO = 1e-30  # of a probability, before its logarithm
NEXT_TO_ZERO = 1e-6  # that is added to a norm before it is divided by, as torch does when it clips


@dataclass(kw_only=True)
class CFGNNExplainer(Explainer):
    """CF-GNNExplainer for a differentiable oracle."""

    beta: float = hyper(0.5, "β", paper=0.5, at_least=0, doc="price of a deleted edge")
    lr: float = hyper(0.1, "α", paper=0.1, above=0, doc="learning rate, of gradient descent")
    momentum: float = hyper(0.0, "m", paper=0.0, at_least=0, below=1, doc="Nesterov's")
    epochs: int = hyper(500, "K", paper=500, at_least=1, doc="steps per graph")
    clip: float = hyper(2.0, "clip", above=0, doc="largest norm of a graph's gradient")

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=False, removes=True, needs_relaxation=True, deterministic=True
    )
    first_only: ClassVar[bool] = False  # is the first counterfactual the result?

    @classmethod
    def tiny(cls) -> CFGNNExplainer:
        return cls(epochs=60, lr=0.5, beta=0.1)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        self.history_: list[dict[str, float]] = []  # of each block in turn
        candidates = [Candidate(None)] * len(graphs)
        for rows in _blocks(graphs, together=oracle.reads_lists):
            edges = EdgeBatch.of(graphs.select(rows).cropped(int(graphs.sizes[rows].max())))
            found = self.optimise(edges, classes[rows], oracle, rows * k)
            why = [
                BUDGET_USED_UP if oracle.left(row * k) < CALLS_PER_STEP else "no step changed the class"
                for row in rows.tolist()
            ]
            _answer(candidates, rows, found, why, graphs.n_nodes)
        return only_candidate(self, candidates, k)

    def optimise(self, edges: EdgeBatch, classes: Tensor, oracle: CountingOracle, owner: Tensor) -> Found:
        """What is found for these graphs; the loss of every step is left in `history_`."""
        mask = torch.ones(len(edges.u), dtype=torch.float64, requires_grad=True)  # P̂
        optimiser = torch.optim.SGD([mask], lr=self.lr, momentum=self.momentum, nesterov=self.momentum > 0)
        found, soft_part = Found.nothing(edges), _Part(edges)
        for epoch in range(self.epochs):
            found.ask(mask.detach() >= 0, self._searching(found, oracle, owner), classes, oracle, owner)  # σ(P̂) ≥ ½
            searching = self._searching(found, oracle, owner)
            if not searching.any():
                break
            asked = soft_part.of(searching & ~found.flips)
            loss = self._loss(mask, edges, asked, classes, oracle, owner)
            optimiser.zero_grad()
            loss.sum().backward()
            _clip(mask, edges, self.clip)
            optimiser.step()
            means = {"loss": float(loss.detach().mean()), "found": float(found.there.double().mean())}
            self.history_.append({"epoch": epoch, **means})
        return found

    def _searching(self, found: Found, oracle: CountingOracle, owner: Tensor) -> Tensor:
        """For which graphs the search goes on, bool [B]: their owners can afford a step."""
        if not oracle.limited:
            able = torch.ones(len(owner), dtype=torch.bool)
        else:
            able = torch.tensor([oracle.left(i) >= CALLS_PER_STEP for i in owner.tolist()])
        return able & ~found.there if self.first_only else able

    def _loss(
        self, mask: Tensor, edges: EdgeBatch, asked: _Part, classes: Tensor, oracle: CountingOracle, owner: Tensor
    ) -> Tensor:
        """The equation above, one value per graph; `asked` are those whose class is still that of the input."""
        soft = torch.sigmoid(mask)
        loss = self.beta * self._distance(soft, edges)
        if len(asked.rows):
            p = self._probabilities(asked.edges, soft[asked.own], oracle, owner[asked.rows])
            p_y = p.gather(1, classes[asked.rows, None])[:, 0].double()
            loss = loss.index_add(0, asked.rows, p_y.clamp(min=NEVER_ZERO).log())
        return loss

    def _distance(self, soft: Tensor, edges: EdgeBatch) -> Tensor:
        """½ ‖A - σ(P̂)⊙A‖₁ of each graph."""
        return soft.new_zeros(len(edges)).index_add(0, edges.graph, 1 - soft)

    def _probabilities(self, edges: EdgeBatch, soft: Tensor, oracle: CountingOracle, owner: Tensor) -> Tensor:
        """Of each class, for the soft graphs, [B, n_classes]."""
        return oracle.relaxed_edges(edges, soft, owner)


@dataclass(kw_only=True)
class RandomMasks(Explainer):
    """A control of its authors: every edge is deleted with probability ½, `tries` times; the smallest flip is returned.

    Theirs gives a node without a result that of the node before (`docs/evidence.md`); here that is a failure.
    """

    tries: int = hyper(500, "tries", paper=500, at_least=1, doc="masks that are drawn for each graph")

    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=True, permutation_invariant=False)

    @classmethod
    def tiny(cls) -> RandomMasks:
        return cls(tries=40)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        candidates = [Candidate(None)] * len(graphs)
        for rows in _blocks(graphs, together=oracle.reads_lists):
            edges = EdgeBatch.of(graphs.select(rows).cropped(int(graphs.sizes[rows].max())))
            found, owner = Found.nothing(edges), rows * k
            drawn = [torch_rng(seed, "random masks", graphs.names[row]) for row in rows.tolist()]
            for _ in range(self.tries):
                uniform = [torch.rand(n, generator=rng) for n, rng in zip(edges.n_edges.tolist(), drawn, strict=True)]
                kept = torch.cat(uniform) >= 0.5
                able = torch.tensor([oracle.left(i) > 0 for i in owner.tolist()])
                found.ask(kept, able, classes[rows], oracle, owner)
            why = [BUDGET_USED_UP if oracle.left(i) < 1 else "no mask changed the class" for i in owner.tolist()]
            _answer(candidates, rows, found, why, graphs.n_nodes)
        return only_candidate(self, candidates, k)


@dataclass(eq=False)
class Found:
    """The smallest counterfactual of each of B graphs so far, and what the oracle was asked about last.

    `kept` [K] says of each edge whether that counterfactual has it, `size` [B] how many it has not (infinite: there is
    none); `shown` [K] are the edges of the graphs that were asked about last, `flips` [B] whether their class changes.
    """

    edges: EdgeBatch
    kept: Tensor
    size: Tensor
    shown: Tensor
    flips: Tensor

    @classmethod
    def nothing(cls, edges: EdgeBatch) -> Found:
        """At the start no edge is deleted, and the class of that is known."""
        whole = torch.ones(len(edges.u), dtype=torch.bool)
        nowhere = torch.full((len(edges),), torch.inf, dtype=torch.float64)
        return cls(edges, whole.clone(), nowhere, whole, torch.zeros(len(edges), dtype=torch.bool))

    @property
    def there(self) -> Tensor:
        """Which graphs have a counterfactual, bool [B]."""
        return self.size.isfinite()

    def ask(self, kept: Tensor, able: Tensor, classes: Tensor, oracle: CountingOracle, owner: Tensor) -> None:
        """Look at the graphs with these edges, [K]; only those that have changed, of owners that may ask, are asked."""
        changed = torch.zeros(len(self.edges), dtype=torch.bool)
        changed[self.edges.graph[kept != self.shown]] = True
        rows = (changed & able).nonzero().flatten()
        if not len(rows):
            return
        own = torch.isin(self.edges.graph, rows)
        self.shown = torch.where(own, kept, self.shown)
        answers = oracle.predict(_with(self.edges, own & kept).select(rows), owner[rows])
        self.flips[rows] = answers != classes[rows]
        removed = torch.zeros(len(self.edges), dtype=torch.float64).index_add(0, self.edges.graph, (~kept).double())
        better = rows[self.flips[rows] & (removed[rows] <= self.size[rows])]
        self.size[better] = removed[better]
        self.kept = torch.where(torch.isin(self.edges.graph, better), kept, self.kept)


def _answer(candidates: list[Candidate], rows: Tensor, found: Found, why: list[str], n: int) -> None:
    """Enter what was found for these graphs, or why nothing was."""
    matrices = _kept(found.edges, found.kept, n)
    for i, row in enumerate(rows.tolist()):
        candidates[row] = Candidate(matrices[i]) if found.there[i] else Candidate(None, why[i])


class _Part:
    """Some of the graphs: their numbers `rows`, which edges are theirs (`own`, bool [K]), and they themselves."""

    def __init__(self, edges: EdgeBatch) -> None:
        self.whole, self.edges = edges, edges
        self.rows, self.own = torch.arange(len(edges)), torch.ones(len(edges.u), dtype=torch.bool)

    def of(self, chosen: Tensor) -> _Part:
        """Those under this mask, bool [B]. The choice rarely changes from one step to the next, and is then kept."""
        rows = chosen.nonzero().flatten()
        if not torch.equal(rows, self.rows):
            self.rows, self.own, self.edges = rows, chosen[self.whole.graph], self.whole.select(rows)
        return self


def _blocks(graphs: GraphBatch, *, together: bool) -> list[Tensor]:
    """The graphs that are optimised side by side, as lists of their numbers.

    `together` where padding cannot matter; else by size, so that a graph's result does not depend on others.
    """
    groups = [torch.arange(len(graphs))]
    if not together:
        groups = [(graphs.sizes == n).nonzero().flatten() for n in graphs.sizes.unique().tolist()]
    blocks = []
    for rows in groups:
        block = graphs.n_edges[rows].cumsum(0) // EDGES_PER_BLOCK
        blocks += [rows[block == number] for number in block.unique().tolist()]
    return blocks


def _clip(mask: Tensor, edges: EdgeBatch, largest: float) -> None:
    """Shorten the gradient of each graph to this norm where it is longer."""
    assert mask.grad is not None
    norm = mask.new_zeros(len(edges)).index_add(0, edges.graph, mask.grad.square()).sqrt()
    mask.grad *= (largest / (norm + NEXT_TO_ZERO)).clamp(max=1)[edges.graph]


def _with(edges: EdgeBatch, kept: Tensor) -> EdgeBatch:
    """The graphs with these of their edges, bool [K]."""
    rows = None if edges.edge_features is None else edges.edge_features[kept]
    return EdgeBatch(edges.n_nodes, edges.sizes, edges.graph[kept], edges.u[kept], edges.v[kept], edges.features, rows)


def _kept(edges: EdgeBatch, kept: Tensor, n: int) -> Tensor:
    """The same as matrices, uint8 [B, n, n]."""
    left = _with(edges, kept)
    matrices = torch.zeros(len(edges), n, n, dtype=torch.uint8)
    matrices[left.graph, left.u, left.v] = matrices[left.graph, left.v, left.u] = 1
    return matrices
