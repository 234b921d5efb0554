"""What an oracle is (Section 3: the black box Φ), how often it is asked, and how it is relaxed.

`Oracle.predict` is all a black-box explainer may use. `Oracle.relaxed`, where there is one, gives class
probabilities of a *soft* adjacency matrix, differentiable, for methods whose papers assume a differentiable
classifier. `CountingOracle` is the only thing in the project that counts calls: one graph scored = one call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.errors import BudgetExhausted, OracleError
from rsgg.graph import GraphBatch

if TYPE_CHECKING:
    from torch.nn import Module


DENSE_BYTES = 1 << 26  # memory for graphs that an oracle wants to see as matrices


class Oracle(ABC):
    """A black-box graph classifier Φ."""

    name: ClassVar[str] = "oracle"
    n_classes: int = 2

    @abstractmethod
    def predict(self, graphs: GraphBatch) -> Tensor:
        """The class of each graph, int64 [B]."""

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        """`predict` for graphs that are lists of edges. Oracles that can read those override it: large graphs gain."""
        at_once = max(1, DENSE_BYTES // graphs.n_nodes**2)
        parts = torch.arange(len(graphs)).split(at_once)
        return torch.cat([self.predict(graphs.select(part).to_dense()) for part in parts])

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """Class probabilities [B, classes] of soft adjacency matrices in [0, 1], differentiable in them.

        Agrees with `predict` on binary matrices. Oracles without a relaxation keep this method, which says so.
        """
        raise OracleError(f"The oracle {self.name!r} has no differentiable relaxation; use a black-box explainer.")

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        """`relaxed` for graphs of which nothing but the listed edges is soft: `weight` [K] in [0, 1], one per edge."""
        soft = weight.new_zeros(len(graphs), graphs.n_nodes, graphs.n_nodes)
        soft = soft.index_put((graphs.graph, graphs.u, graphs.v), weight)
        return self.relaxed(soft + soft.transpose(1, 2), graphs.features)


# -- Tree-Cycles -----------------------------------------------------------------------------------------


class TreeCyclesOracle(Oracle):
    """Class 1 iff the graph has a cycle, i.e. iff |E| > n - number of connected components."""

    name = "tree-cycles"

    def predict(self, graphs: GraphBatch) -> Tensor:
        adjacency, sizes, edges = (x.cpu().numpy() for x in (graphs.adjacency, graphs.sizes, graphs.n_edges))
        cyclic = edges >= sizes  # n edges or more always close a cycle: only the others need a closer look
        undecided = (~cyclic & (edges > 2)).nonzero()[0]
        if len(undecided):
            present = adjacency[undecided] > 0
            if graphs.n_nodes <= WORD:
                cyclic[undecided] = ~_peels_to_nothing(present)
            else:
                components = n_components(torch.from_numpy(present)).numpy()
                cyclic[undecided] = edges[undecided] > graphs.n_nodes - components
        return torch.from_numpy(cyclic.astype(np.int64)).to(graphs.adjacency.device)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        components = _components(graphs.graph.numpy(), graphs.u.numpy(), graphs.v.numpy(), len(graphs), graphs.n_nodes)
        return (graphs.n_edges > graphs.n_nodes - torch.from_numpy(components)).long()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None, *, rounds: int | None = None) -> Tensor:
        """Soft leaf peeling: m(u→v) = A_uv (1 - Π_{w≠v} (1 - m(w→u))), p(cycle) = 1 - Π (1 - m).

        The message u→v says "walking from v into u one need never turn back". Started at A, leaves fall silent
        first, then what they hung on; n rounds always reach the fixed point on a binary graph, where exactly
        the messages along and towards cycles survive, so p is exactly the indicator of a cycle.
        """
        n = adjacency.shape[1]
        soft = (adjacency + adjacency.transpose(1, 2)) / 2 * (1 - torch.eye(n, dtype=adjacency.dtype).to(adjacency))
        b, u, v = soft.detach().nonzero(as_tuple=True)
        messages = _SparseMessages(soft, b, u, v) if len(b) < SPARSE * soft.numel() else _DenseMessages(soft)
        message = weight = messages.weight
        for _ in range(rounds or n):
            updated = weight * (1 - _product_without_one(1 - message, messages))
            settled = bool((updated.detach() - message.detach()).abs().max() <= SETTLED) if len(b) else True
            message = updated
            if settled:
                break
        log, zero = _log_and_zeros(1 - message)
        tree = messages.per_graph(log).exp() * (messages.per_graph(zero) == 0)  # exact when it is tiny, too
        return torch.stack((tree, 1 - tree), 1)

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor) -> Tensor:
        """The same messages, along chains of edges that can be on a cycle at all.

        An edge outside the 2-core of the listed edges is on no cycle of theirs, whatever the weights: it is left out.
        Where nothing branches off, a message is only multiplied by one weight after another: a chain of edges passes
        it on like one edge whose weight is their product. Binary weights still give exact answers.
        """
        chains = graphs.chains
        logs = weight[chains.edges].clamp(min=ALMOST).log()
        along = logs.new_zeros(len(chains.u)).index_add(0, chains.chain, logs).exp()
        tree: Tensor = _SoftPeeling.apply(along, chains.u, chains.v, len(graphs), graphs.n_nodes)
        return torch.stack((tree, 1 - tree), 1)


SPARSE = 0.25  # below this share of non-zero entries messages are kept as a list
SETTLED = 1e-7  # a change of messages that is no change any more
ALMOST = 1e-12  # how far from 1 messages stay where their logarithms are summed


@dataclass(frozen=True, eq=False)
class _DenseMessages:
    """Messages m(u→v) as matrices [B, N, N]: for soft graphs in which every pair counts."""

    weight: Tensor

    def arriving(self, x: Tensor) -> Tensor:
        """Σ_w x(w→u) at the source u of every message u→v."""
        return x.sum(1)[:, :, None]

    def reverse(self, x: Tensor) -> Tensor:
        """x(v→u) for every message u→v."""
        return x.transpose(1, 2)

    def per_graph(self, x: Tensor) -> Tensor:
        return x.flatten(1).sum(1)


class _SparseMessages:
    """Messages as a list [K] over the pairs that are not zero: for graphs whose edges alone are soft."""

    def __init__(self, soft: Tensor, b: Tensor, u: Tensor, v: Tensor) -> None:
        batch, n, _ = soft.shape
        self.weight, self.graph, self.shape = soft[b, u, v], b, (batch, batch * n)
        self.source, self.target = b * n + u, b * n + v
        back = (self.target * n + u).argsort()  # the list is sorted by (b, u, v), so this finds (b, v, u)
        self.back = torch.empty_like(back).scatter_(0, back, torch.arange(len(back), device=back.device))

    def arriving(self, x: Tensor) -> Tensor:
        return x.new_zeros(self.shape[1]).index_add(0, self.target, x)[self.source]

    def reverse(self, x: Tensor) -> Tensor:
        return x[self.back]

    def per_graph(self, x: Tensor) -> Tensor:
        return x.new_zeros(self.shape[0]).index_add(0, self.graph, x)


class _SoftPeeling(torch.autograd.Function):
    """Soft leaf peeling along edges or chains of them: p(tree) of each graph, and its gradient, written out by hand.

    A step of CF² peels many rounds and each is tiny: automatic differentiation costs several times the arithmetic.
    Graphs are peeled for as many rounds as they have nodes here, which is enough for any subgraph, and then rest. All
    in double precision with messages below 1 by ALMOST, so that products are sums of logarithms.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, u: np.ndarray, v: np.ndarray, batch: int, n: int) -> Tensor:
        nodes, ends = np.unique(np.concatenate((u, v)), return_inverse=True)
        source, target = ends, np.roll(ends, len(u))
        w = np.tile(weight.detach().cpu().double().numpy(), 2)
        own = np.tile(u // n, 2)
        rounds = np.bincount(nodes // n, minlength=batch)[own]
        message, steps = np.minimum(w, 1 - ALMOST), []
        for done in range(int(max(rounds, default=0))):
            log = np.log1p(-message)
            others = np.bincount(target, log, len(nodes))[source] - np.roll(log, len(u))
            silent = np.exp(np.minimum(others, 0))  # Π_{w≠v} (1 - m(w→u))
            active = rounds > done
            updated = np.where(active, np.minimum(w * (1 - silent), 1 - ALMOST), message)
            steps.append((message, silent, active))
            settled = np.abs(updated - message).max() <= SETTLED
            message = updated
            if settled:
                break
        tree = np.exp(np.bincount(own, np.log1p(-message), batch))
        ctx.peeled = (w, own, source, target, len(nodes), steps, message, tree)
        return torch.from_numpy(tree).to(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        w, own, source, target, n_nodes, steps, last, tree = ctx.peeled
        half = len(w) // 2
        by_message = -(gradients[0].cpu().double().numpy() * tree)[own] / (1 - last)
        by_weight = np.zeros_like(w)
        for message, silent, active in reversed(steps):
            now = np.where(active, by_message, 0)
            by_weight += now * (1 - silent)
            by_log = -now * w * silent
            arriving = np.bincount(source, by_log, n_nodes)[target] - np.roll(by_log, half)
            by_message = np.where(active, 0, by_message) - arriving / (1 - message)
        by_weight += by_message  # the first messages are the weights
        both = torch.from_numpy(by_weight[:half] + by_weight[half:]).to(gradients[0])
        return both, None, None, None, None


_Messages = _DenseMessages | _SparseMessages


def _class_probabilities(message: Tensor, messages: _Messages) -> Tensor:
    """p(cycle) = 1 - Π (1 - m) and the rest, [B, 2]."""
    log, zero = _log_and_zeros(1 - message)
    tree = messages.per_graph(log).exp() * (messages.per_graph(zero) == 0)  # exact when it is tiny, too
    return torch.stack((tree, 1 - tree), 1)


def _log_and_zeros(factor: Tensor) -> tuple[Tensor, Tensor]:
    """The logarithm where a factor is not zero (0 where it is), and 1 where it is zero."""
    zero = factor == 0
    return torch.where(zero, torch.ones_like(factor), factor).log(), zero.to(factor.dtype)


def _product_without_one(silent: Tensor, messages: _Messages) -> Tensor:
    """Π_{w≠v} (1 - m(w→u)) for every message u→v, exact at binary points, differentiable elsewhere.

    By logarithms, zeros being counted apart: with none left after v's own is taken out, the product is what remains.
    """
    log, zero = _log_and_zeros(silent)
    others = messages.arriving(log) - messages.reverse(log)
    zeros = messages.arriving(zero) - messages.reverse(zero)
    return torch.where(zeros > 0.5, torch.zeros_like(others), others.exp())


WORD = 64  # nodes whose neighbours fit one machine word


def _peels_to_nothing(present: np.ndarray) -> np.ndarray:
    """Is each graph (bool [B, N, N], N ≤ 64) a forest? Take away leaves until none is left: only cycles remain.

    The neighbours of a node are the bits of one word, so that a round is a few operations on [B, N] words: on the small
    graphs of Table 1 half the time of a search for components.
    """
    batch, n, _ = present.shape
    padded = np.zeros((batch, n, WORD), dtype=bool)  # packing whole words at once is many times faster than rows of N
    padded[:, :, :n] = present
    padded.reshape(batch, -1)[:, :: WORD + 1] = False  # a self loop is no cycle
    neighbours = np.packbits(padded, bitorder="little").view("<u8").reshape(batch, n)
    bit = np.uint64(1) << np.arange(n, dtype=np.uint64)
    left = np.full(batch, bit.sum())  # the nodes that are left, as bits
    while True:
        after = left & ((np.bitwise_count(neighbours & left[:, None]) > 1) @ bit)
        if (after == left).all():
            return np.asarray(left == 0)
        left = after


def n_components(edges: Tensor) -> Tensor:
    """Connected components of each graph, from its adjacency or its upper triangle, bool [B, N, N]."""
    batch, n, _ = edges.shape
    upper = edges.cpu().numpy() & np.triu(np.ones((n, n), dtype=bool), 1)
    graph, u, v = np.unravel_index(np.flatnonzero(upper), upper.shape)  # many times faster than nonzero
    return torch.from_numpy(_components(graph, u, v, batch, n)).long().to(edges.device)


def _components(graph: np.ndarray, u: np.ndarray, v: np.ndarray, batch: int, n: int) -> np.ndarray:
    """Connected components of each of `batch` graphs, whose edges are a list sorted by graph: one sparse call."""
    from scipy.sparse import coo_array, csr_array
    from scipy.sparse.csgraph import connected_components

    offset = graph * n
    block = csr_array(
        coo_array((np.ones(len(u), dtype=np.int8), (offset + u, offset + v)), shape=(batch * n, batch * n))
    )
    _, label = connected_components(block, directed=False)
    # Labels are given out in the order in which components are met, so each block's are contiguous.
    last = label.reshape(batch, n).max(1) + 1
    return np.diff(last, prepend=0)


# -- ASD -------------------------------------------------------------------------------------------------

ASD_INTERCEPT, ASD_WEIGHT_S1, ASD_WEIGHT_S2 = 3.2844839747590915, -0.181742414867891, 0.04327200353999672
ASD_S1 = (65, 70, 99, 80, 69, 6, 7, 8, 9, 13, 77, 45, 16, 81, 78, 92, 56, 57, 60, 93, 63)
ASD_S2 = (0, 36, 37, 38, 81, 40, 41, 74, 75, 76, 70, 72, 114, 20, 21, 73, 90, 28, 29)


class ASDOracle(Oracle):
    """Class 1 iff x = 3.284 - .1817 a + .0433 b > 0, with a, b the edges inside two sets of brain regions.

    The rule of Abrate & Bonchi (2021). An edge counted twice weighs twice, as in the released code.
    """

    name = "asd"

    def __init__(self) -> None:
        weight = torch.zeros(116, 116, dtype=torch.float64)
        for regions, value in ((ASD_S1, ASD_WEIGHT_S1), (ASD_S2, ASD_WEIGHT_S2)):
            inside = torch.zeros(116, dtype=torch.float64)
            inside[list(regions)] = 1
            weight += value * torch.triu(torch.outer(inside, inside), 1)
        self.weight = weight

    def score(self, adjacency: Tensor) -> Tensor:
        """x, linear in the (soft) adjacency matrix, float64 [B]."""
        if adjacency.shape[1:] != self.weight.shape:
            raise OracleError(
                f"The ASD oracle knows 116 brain regions; it was given graphs of {adjacency.shape[1]} nodes."
            )
        used = self.weight.to(adjacency.device).nonzero(as_tuple=True)
        values = adjacency[:, used[0], used[1]].to(torch.float64)
        return ASD_INTERCEPT + values @ self.weight.to(adjacency.device)[used]

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (self.score(graphs.adjacency) > 0).long()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        """sigmoid(x) of the symmetrised soft adjacency: above 1/2 exactly where the rule says 1."""
        positive = torch.sigmoid(self.score((adjacency + adjacency.transpose(1, 2)) / 2))
        return torch.stack((1 - positive, positive), 1)


# -- Any PyG model ---------------------------------------------------------------------------------------


class PyGOracle(Oracle):
    """Any PyG graph classifier as an oracle: `model(x, edge_index, batch)` returns one row of logits per graph.

    With `edge_weights=True` the model also takes `edge_weight=`, and is then its own relaxation: the soft
    adjacency is handed over as weights. Graphs without features are shown a constant 1 per node.
    """

    name = "pyg"

    def __init__(self, model: Module, n_classes: int = 2, *, edge_weights: bool = False) -> None:
        self.model, self.n_classes, self.edge_weights = model.eval(), n_classes, edge_weights

    def predict(self, graphs: GraphBatch) -> Tensor:
        with torch.no_grad():
            return self._logits(graphs.adjacency.float(), graphs.features, graphs.sizes).argmax(1)

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        if not self.edge_weights:
            return super().relaxed(adjacency, features)
        sizes = torch.full((len(adjacency),), adjacency.shape[1], device=adjacency.device)
        return self._logits(adjacency, features, sizes).softmax(1)

    def _logits(self, adjacency: Tensor, features: Tensor | None, sizes: Tensor) -> Tensor:
        batch, n, _ = adjacency.shape
        real = torch.arange(n, device=sizes.device) < sizes[:, None]
        position = real.flatten().cumsum(0).reshape(batch, n) - 1  # padding nodes do not exist for the model
        b, u, v = adjacency.detach().nonzero(as_tuple=True)
        x = torch.ones(batch, n, 1, device=adjacency.device) if features is None else features
        weight = {"edge_weight": adjacency[b, u, v]} if self.edge_weights else {}
        edge_index = torch.stack((position[b, u], position[b, v]))
        owner = torch.arange(batch, device=sizes.device)[:, None].expand(batch, n)[real]
        logits: Tensor = self.model(x[real], edge_index, owner, **weight)
        return logits


# -- Counting --------------------------------------------------------------------------------------------


class CountingOracle(Oracle):
    """The one place that counts: one graph scored = one call, per owner where the asker says who owns a graph.

    An *owner* is the row of the result that a question is asked for (instance and candidate). With a `budget`
    each owner gets that many answers. `evaluated` counts what was computed, which can exceed `calls`: methods
    that stop at the first flip are evaluated in blocks, but charged only for what a sequential run would have
    asked (`first_flip`).
    """

    def __init__(self, oracle: Oracle, budget: int | None = None) -> None:
        if budget is not None and budget < 0:
            raise OracleError(f"The oracle budget is {budget}; it must be zero or more calls per instance.")
        self.oracle, self.budget = oracle, budget
        self.name, self.n_classes = oracle.name, oracle.n_classes  # type: ignore[misc]
        self.calls = 0
        self.evaluated = 0
        self._per_owner: dict[int, int] = {}

    def calls_of(self, owner: int) -> int:
        return self._per_owner.get(owner, 0)

    def forget_owners(self) -> None:
        """Owners are numbered anew in each `explain`; the totals go on."""
        self._per_owner.clear()

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None, owner: Tensor | None = None) -> Tensor:
        """The oracle's relaxation; each soft graph scored is a call too, charged as in `predict`."""
        return self._relaxed(len(adjacency), owner, lambda: self.oracle.relaxed(adjacency, features))

    def relaxed_edges(self, graphs: EdgeBatch, weight: Tensor, owner: Tensor | None = None) -> Tensor:
        """As `relaxed`, for lists of edges."""
        return self._relaxed(len(graphs), owner, lambda: self.oracle.relaxed_edges(graphs, weight))

    def _relaxed(self, count: int, owner: Tensor | None, ask: Callable[[], Tensor]) -> Tensor:
        self._charge_all(count, owner)
        self.evaluated += count
        try:
            return ask()
        except OracleError:
            raise
        except Exception as error:
            raise OracleError(f"The relaxation of the oracle {self.name!r} failed: {error}") from error

    def predict(self, graphs: GraphBatch, owner: Tensor | None = None) -> Tensor:
        """Classes of these graphs; every one is a call, charged to its owner. Beyond the budget: an error."""
        self._charge_all(len(graphs), owner)
        return self._answers(graphs)

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        """As `predict`, for lists of edges; training has no owners."""
        self.calls += len(graphs)
        return self._answers(graphs)

    def first_flip(self, graphs: GraphBatch, owner: Tensor, classes: Tensor) -> Tensor:
        """For candidates in the order in which each owner would ask: which one is the owner's first flip?

        `owner` is sorted; `classes` is the class each candidate has to leave. Returns a bool per candidate, true
        for at most one per owner. Each owner is charged up to and including its first flip, never beyond its
        budget: a flip that it could not afford to ask about is not found.
        """
        flips = (self._answers(graphs) != classes).cpu().numpy()
        first = np.zeros(len(flips), dtype=bool)
        sorted_ = owner.cpu().numpy()
        starts = np.flatnonzero(np.diff(sorted_, prepend=-1))
        owners, counts = sorted_[starts], np.diff(starts, append=len(sorted_))
        where = np.append(flips.nonzero()[0], len(flips))
        flip = where[np.searchsorted(where, starts)]  # the first flip at or after each owner's first candidate
        for i, start, count, position in zip(
            owners.tolist(), starts.tolist(), counts.tolist(), (flip - starts).tolist(), strict=True
        ):
            left = count if self.budget is None else max(self.budget - self.calls_of(i), 0)
            if position < min(count, left):
                first[start + position] = True
            self._charge(i, min(position + 1, count, left))
        return torch.from_numpy(first).to(owner.device)

    def exhausted(self, owner: int) -> bool:
        """Has this owner used up its budget?"""
        return self.budget is not None and self.calls_of(owner) >= self.budget

    def _charge_all(self, count: int, owner: Tensor | None) -> None:
        """Charge each question to its owner, or none of them if one owner cannot afford its share."""
        if owner is None:
            self.calls += count
            return
        charges = [(i, share) for i, share in enumerate(torch.bincount(owner).tolist()) if share]
        if self.budget is not None and any(self.calls_of(i) + share > self.budget for i, share in charges):
            raise BudgetExhausted(f"The budget of {self.budget} oracle calls per instance is used up.")
        for i, share in charges:
            self._charge(i, share)

    def _charge(self, owner: int, calls: int) -> None:
        self._per_owner[owner] = self.calls_of(owner) + calls
        self.calls += calls

    def _answers(self, graphs: GraphBatch | EdgeBatch) -> Tensor:
        self.evaluated += len(graphs)
        try:
            if isinstance(graphs, EdgeBatch):
                answers = self.oracle.predict_edges(graphs)
            else:
                answers = self.oracle.predict(graphs)
        except OracleError:
            raise
        except Exception as error:
            raise OracleError(f"The oracle {self.name!r} failed on a batch of {len(graphs)} graphs: {error}") from error
        if not isinstance(answers, Tensor) or answers.shape != (len(graphs),) or answers.is_floating_point():
            got = (
                f"shape {tuple(answers.shape)}, {answers.dtype}"
                if isinstance(answers, Tensor)
                else type(answers).__name__
            )
            raise OracleError(
                f"The oracle {self.name!r} must return one integer class per graph ({len(graphs)}); it returned {got}."
            )
        return answers
