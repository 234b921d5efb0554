"""RSGG-CE (Robust Stochastic Graph Generator for Counterfactual Explanations): a training of Eq. 4's idea that works.

1. Training, per class c: a generator 𝔾 and a discriminator 𝔻 (`rsgg.rsgg_ce.training`).
2. Inference, in this file: A_g = 𝔾(X, A) of the generator of Φ(G)'s class, then Algorithm 1 samples a counterfactual
   from A_g along a partial order of the node pairs (`rsgg.rsgg_ce.partial_order`).

From the paper come a pair of networks per class, A_g made from A and a residual tanh(Â), 𝔻's objective with the
oracle's indicator on generated graphs, and Algorithms 1 and 2. The paper to the letter is `rsgg.rsgg_ce.literal`; what
the published comparison ran is `rsgg.rsgg_ce.released`. What is done here and is not in the paper:

- 𝔾 learns by the score function from hard samples of A_g, S per graph, with the reward [Φ(G_g) ≠ c] · 𝔻(G_g). Eq. 4 has
  log(1 - 𝔻), with the indicator in 𝔻's part only.
- The advantage is taken against the other samples of the same graph and normalised; gradients are clipped.
- The generator that is kept is a moving average of the trained one, taken at the epoch with the highest Correctness
  minus Sparsity on the training graphs.
- 𝔻 is also shown widened fakes: samples of A_g with its logits scaled down, that have many more edits.
- A warm-up in which 𝔻 learns alone, and in which 𝔾's removals are doubled as long as hardly any sample flips.
- 𝔾's learning rate rises and falls during training.
- Adam with 3e-3 for both networks; the paper's rate is 1e-3, it names no optimiser.
- A step is on a batch of graphs (32 by default), not on the sums of Eq. 4, with as many generated as real ones for 𝔻.
- 𝔾 starts with a given number of edits per graph, `removals` and `additions`, which differ between data sets.
- The decoder is an inner product with learned signs and a bias, with separate ones for existing edges and for missing
  pairs; a steep sigmoid, whose slope follows from the size of the graphs, turns A + tanh(Â) into a probability.
- The encoder reads standardised structural encodings (degree, return probabilities of random walks, core number) beside
  X, and is no plain GCN: mean aggregation, a node's own term apart, every layer feeds Z.
- 𝔻 does not read X. It sees degrees of the sampled graph, with sum aggregation and sum pooling.
- There is no X̂: node features are kept. The oracles of the paper read A only, and GED counts edges only.
- On ASD an embedding per node (`identities`) in both networks, 300 epochs and batches of 16; in the ablations 200
  epochs and batches of 16.
- In graphs of more than 120 nodes a step samples the edges and some of the missing pairs.
- `minimality` (λ) > 0, a price per edit; 0 by default.

Readings of the paper, where it leaves room:

- 𝔻's target for a generated graph that flips the oracle is 1/2: Eq. 4's second and third term taken together.
- "The oracle will be called only once sampling finishes on the existing edge set" (text) against a first check after
  the first missing pair (letter of Algorithm 1): `reading`, the text by default.
- Missing pairs are visited in random order, with at most T = 500 checks (a row that is commented out in the source of
  the paper's table). A candidate is not asked about again where the next pair was not sampled and left it unchanged.

What `sample(e, A_g[u,v])` in Algorithm 1 means is a `Sampler`:

- `bernoulli` (default): each pair for itself, with probability A_g[u,v], as Algorithm 1 is written.
- `multinomial`: as many draws *with replacement* as the group has pairs, proportional to A_g.
- `released`: the same, and what is drawn in the guarded group adds up, so that a pair drawn twice weighs 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Literal, Protocol, cast

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from rsgg import collapse
from rsgg.constraints import Constraint, editable
from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.errors import GraphError, UsageError
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import Choice, Interval, device_field, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.rsgg_ce.partial_order import (
    ExistingThenAll,
    ExistingThenMissing,
    Group,
    PartialOrder,
    groups_of,
    partial_order_advice,
)
from rsgg.rsgg_ce.training import (
    ClassData,
    ClassTraining,
    Generator,
    TrainedClass,
    TrainingSettings,
    build_generator,
    empty_generator,
)
from rsgg.seeds import seed_for, streams, uniforms

Reading = Literal["text", "letter"]

LEARNING_RATES = Choice((1e-4, 1e-3, 1e-2))
GENERATORS = ("trained", "untrained", "uniform")
SAMPLER_NAMES = ("bernoulli", "multinomial", "released")
ALGORITHM_2 = ExistingThenMissing()
SHARE_OF_EDGES = 0.1  # removals and additions to begin with, advised where training collapsed; ASD's are about that

# -- The method ------------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class EdgeScorer(Explainer):
    """A method with a generator 𝔾 per class, whose A_g says of every node pair how likely it is to be an edge.

    How the generators are trained, and what is made of their scores, is up to subclasses. `identities` and the widths
    are those of `rsgg.rsgg_ce.training.Generator`.
    """

    identities: bool = hyper(False, "node identities", doc="an embedding per node; gives up permutation invariance")
    hidden: int = hyper(32, "width", at_least=1)
    latent: int = hyper(16, "dim Z", at_least=1)
    layers: int = hyper(3, "layers", at_least=0)
    removals: float = hyper(1.0, "removals", above=0, doc="that an untrained generator makes per graph")
    additions: float = hyper(2.0, "additions", above=0, doc="that an untrained generator makes per graph")
    unread: int = hyper(0, "unread", at_least=0, doc="last columns of X that are not read, as those that number nodes")
    device: str = device_field()

    encoding: ClassVar[str] = "structural"

    def _learn_scales(self, graphs: GraphBatch) -> Tensor:
        """Remember mean, deviation and size of the training graphs' features; returns the features, standardised."""
        raw = self._raw_features(graphs)[graphs.node_mask]
        self.mean_, self.std_ = raw.mean(0), raw.std(0).clamp(min=1e-6)
        self.n_nodes_ = graphs.n_nodes
        return self._features(graphs)

    def _raw_features(self, graphs: GraphBatch) -> Tensor:
        """What the encoder reads: structure, computed from A, beside the node features X where there are any."""
        structure, x = graphs.encoding("structural").float(), graphs.features
        return structure if x is None else torch.cat((structure, x[:, :, : x.shape[2] - self.unread]), 2)

    def _features(self, graphs: GraphBatch) -> Tensor:
        """Standardised with the training graphs' mean and deviation; zero on padding."""
        standardised = (self._raw_features(graphs) - self.mean_) / self.std_
        return standardised * graphs.node_mask[..., None]

    def summary(self) -> pd.DataFrame:
        """What came of the training, a line per class: flips, edits, and whether the generator is of use.

        Empty for an explainer that was loaded: curves are not saved.
        """
        return pd.DataFrame(self.per_class_)

    def _summarise(self, lines: list[dict[str, Any]], advice: str) -> None:
        self.per_class_ = lines
        collapse.warn(type(self).__name__, lines, advice)

    # -- inference -------------------------------------------------------------------------------------

    @torch.no_grad()
    def edge_probabilities(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """A_g of each graph, from the generator of its class, [B, N, N]."""
        return self._of_generators(graphs, classes, self._probabilities)

    @torch.no_grad()
    def edit_scores(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        """How much each pair asks to be edited, [B, N, N]: A_g of missing pairs and 1 - A_g of edges, by rank.

        The residual before it is squashed, negative for edges: the same order without ties by saturation. Scores of
        edges and of missing pairs are on scales of their own.
        """
        residual = self._of_generators(graphs, classes, lambda generator, x, a: generator.residual(x, a))
        return torch.where(graphs.adjacency > 0, -residual, residual)

    def _of_generators(
        self, graphs: GraphBatch, classes: Tensor, read: Callable[[Generator, Tensor, Tensor], Tensor]
    ) -> Tensor:
        self._require_known_nodes(graphs)
        adjacency, features = graphs.adjacency.float(), self._features(graphs)
        values = torch.empty_like(adjacency)
        for c, generator in enumerate(self.generators_):
            own = classes == c
            if own.any():
                values[own] = read(generator, features[own], adjacency[own])
        return values

    def _require_known_nodes(self, graphs: GraphBatch) -> None:
        if self.identities and graphs.n_nodes != self.n_nodes_:
            raise GraphError(
                f"Node identities were learnt for {self.n_nodes_} nodes and these graphs have {graphs.n_nodes}; "
                "fit again with graphs like these, or with identities=False."
            )

    def _probabilities(self, generator: Generator, features: Tensor, adjacency: Tensor) -> Tensor:
        return torch.sigmoid(generator(features, adjacency))

    # -- saving ----------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Tensor]:
        state = {"mean": self.mean_, "std": self.std_, "n_nodes": torch.tensor(self.n_nodes_)}
        for c, generator in enumerate(self.generators_):
            state |= {f"{c}.{name}": tensor for name, tensor in generator.state_dict().items()}
        return state

    def _restore(self, state: dict[str, Tensor]) -> None:
        self.mean_, self.std_, self.n_nodes_ = state["mean"], state["std"], int(state["n_nodes"])
        n_classes = 1 + max(int(name.split(".")[0]) for name in state if name[0].isdigit())
        self.generators_ = []
        for c in range(n_classes):
            generator = empty_generator(len(self.mean_), self.n_nodes_, 1.0, 1.0, self).eval()
            generator.load_state_dict({n.split(".", 1)[1]: t for n, t in state.items() if n.startswith(f"{c}.")})
            self.generators_.append(generator)
        self.history_: list[dict[str, float]] = []
        self.per_class_ = []


@dataclass(kw_only=True)
class RSGGCE(EdgeScorer):
    """RSGG-CE trained by score function: Eq. 4's idea, with much that is not in the paper (listed at the top).

    `LiteralRSGGCE` is the paper to the letter. `minimality` > 0 is the minimality that its Conclusion wishes for.
    """

    epochs: int = hyper(500, "epochs", space=Choice(tuple(range(50, 501, 50))), paper=500, at_least=1)
    generator_lr: float = hyper(
        3e-3, "generator lr", space=LEARNING_RATES, paper=1e-3, above=0, doc="Adam instead of SGD"
    )
    discriminator_lr: float = hyper(3e-3, "discriminator lr", space=LEARNING_RATES, paper=1e-3, above=0)
    iterations: int = hyper(500, "T", paper=500, at_least=0, doc="checks in the guarded group")
    minimality: float = hyper(
        0.0, "λ", paper=0.0, space=Interval(0.0, 0.2), beyond=True, at_least=0, doc="price of an expected edit"
    )
    generator: str = hyper(
        "trained", "generator", choices=GENERATORS, doc="trained, untrained or uniform: does the generator matter?"
    )
    sampler: str = hyper("bernoulli", "sample", choices=SAMPLER_NAMES, doc="bernoulli, multinomial or released")
    reading: str = hyper(
        "text", "Algorithm 1", choices=("text", "letter"), doc="text or letter: when existing edges are checked"
    )
    samples: int = hyper(8, "S", at_least=2, doc="sampled graphs per training graph and step")
    batch: int = hyper(32, "batch size", at_least=1)
    warmup: int = hyper(100, "warm-up", at_least=0, doc="steps before the epochs in which only 𝔻 learns")
    order: PartialOrder = hyper(
        ALGORITHM_2, "partial_order", check=partial_order_advice, doc="Algorithm 2, or one of your own"
    )

    capabilities: ClassVar[Capabilities] = Capabilities(
        adds=True, removes=True, learns=True, generative=True, constraints=True
    )

    @classmethod
    def tiny(cls) -> RSGGCE:
        return cls(epochs=20, warmup=5, batch=8, samples=4, hidden=8, latent=4, layers=2)

    # -- training --------------------------------------------------------------------------------------

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        features, settings = self._learn_scales(graphs), self._settings()
        fixed = fixed_pairs(graphs, self.order, oracle.constraints)
        trained = []
        for c in range(oracle.n_classes):
            own = classes == c
            held = None if fixed is None else fixed[own]
            data = ClassData(c, graphs.select(own), features[own], graphs.select(~own), oracle, held)
            if self.generator == "trained":
                trained.append(self._training()(data, settings, seed, self.device).run())
            else:
                untrained = build_generator(data.graphs, features.shape[2], settings, seed_for(seed, c))
                trained.append(TrainedClass(untrained))
        self.generators_ = [of_class.generator.eval() for of_class in trained]
        self.history_ = [row for of_class in trained for row in of_class.history]
        edges = [float(graphs.n_edges[classes == c].double().mean()) for c in range(oracle.n_classes)]
        self._summarise(collapse.summary(self.history_, edges), self._advice(graphs))

    def _advice(self, graphs: GraphBatch) -> str:
        """What to try where the training on these graphs has collapsed: the defaults are for graphs of some 30 edges.

        On generated brain networks of 60 nodes and 300 edges, the numbers advised here together with `identities` found
        a counterfactual for .95 of the graphs, the defaults for .30.
        """
        edges = float(graphs.n_edges.double().mean())
        wanted, advice = max(1, round(SHARE_OF_EDGES * edges)), []
        if not wanted / 2 <= min(self.removals, self.additions) <= max(self.removals, self.additions) <= 2 * wanted:
            advice.append(
                f"start with removals={wanted}, additions={wanted}, a tenth of the {edges:.0f} edges per graph"
            )
        if graphs.of_one_size and not self.identities:
            advice.append("give identities=True if each node is the same thing in every graph")
        return ", ".join([*advice, "train for more `epochs`", "or use TaughtRSGGCE, which searches instead"])

    def _training(self) -> type[ClassTraining]:
        return ClassTraining

    def _settings(self) -> TrainingSettings:
        return TrainingSettings(**{name: getattr(self, name) for name in TrainingSettings.__dataclass_fields__})

    # -- inference -------------------------------------------------------------------------------------

    def _probabilities(self, generator: Generator, features: Tensor, adjacency: Tensor) -> Tensor:
        if self.generator == "uniform":
            return torch.sigmoid(generator.uniform(adjacency))
        return super()._probabilities(generator, features, adjacency)

    def edit_scores(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        if self.generator == "uniform":
            return torch.zeros(graphs.adjacency.shape)
        return super().edit_scores(graphs, classes)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        return sampled(
            graphs, classes, oracle, k, seed, self.edge_probabilities, order=self.order,
            sampler=sampler_named(self.sampler), iterations=self.iterations, reading=cast(Reading, self.reading),
        )  # fmt: skip


def fixed_pairs(graphs: GraphBatch, order: PartialOrder, constraints: tuple[Constraint, ...]) -> Tensor | None:
    """The pairs that no group of the order has or that a constraint closes, bool [B, N, N]; None if there are none.

    Constraints that look at the edited graph as a whole are kept when graphs are explained, not in training.
    """
    if isinstance(order, ExistingThenMissing | ExistingThenAll) and not constraints:  # they have every pair
        return None
    open_ = torch.zeros_like(graphs.pair_mask)
    for group in groups_of(order, graphs):
        open_ |= group.pairs
    fixed = graphs.pair_mask & ~(open_ & editable(graphs, constraints))
    return fixed if fixed.any() else None


# -- Algorithm 1 -----------------------------------------------------------------------------------------
#
# All rows of a batch are sampled together; a row is one candidate of one graph. Each row has a stream of random numbers
# of its own, so its result does not depend on the other rows. A guarded group asks the oracle after each pair: the
# graphs after each pair are shown to the oracle in growing blocks, and charged only up to the first flip
# (`CountingOracle.first_flip`).

NUMBERS_PER_GROUP = 1 << 40  # random numbers set aside for each group of a partial order
ORDER_OFFSET = 1 << 39  # where, among them, the numbers begin that decide in which order pairs are visited
UNCHANGED = -1  # in a sequence of draws: a pair was visited and not sampled
BLOCK_BYTES = 1 << 23  # memory for one block of graphs that are shown to the oracle
PAIRS_PER_BLOCK = 1 << 20  # entries of A_g that are sampled at a time
DRAWS_AT_FIRST = 40  # draws of a guarded group that are made before it is known whether more are needed
GRAPHS_IN_FIRST_BLOCK = 8  # shown to the oracle at first: a tree of Table 1 needs 4.6 additions on average
WEIGHT_SCALE = 2.0**32  # makes weights whole numbers, so that sums over many rows are exact and rows independent


def in_blocks(graphs: GraphBatch, k: int, explain: Callable[[Tensor, int], list[Candidate]]) -> list[Candidate]:
    """Call `explain(rows, first owner)` for a few graphs at a time, so that memory does not grow with their number.

    A row's random numbers are its own, so blocks change nothing but the memory.
    """
    at_once = max(1, PAIRS_PER_BLOCK // (k * graphs.n_nodes**2))
    parts = torch.arange(len(graphs)).split(at_once)
    return [candidate for part in parts for candidate in explain(part, int(part[0]) * k)]


def sampled(
    graphs: GraphBatch,
    classes: Tensor,
    oracle: CountingOracle,
    k: int,
    seed: int,
    probabilities: Callable[[GraphBatch, Tensor], Tensor],
    *,
    order: PartialOrder,
    sampler: Sampler,
    iterations: int,
    reading: Reading = "text",
) -> list[Candidate]:
    """Algorithm 1 for every graph, a few graphs at a time; `probabilities(graphs, classes)` gives their A_g."""

    def of(rows: Tensor, first_owner: int) -> list[Candidate]:
        part, own = graphs.select(rows), classes[rows]
        return partial_order_sampling(
            part, probabilities(part, own), own, oracle, order=order, sampler=sampler, iterations=iterations,
            reading=reading, k=k, seed=seed, first_owner=first_owner,
        )  # fmt: skip

    return in_blocks(graphs, k, of)


def partial_order_sampling(
    graphs: GraphBatch,
    probabilities: Tensor,
    classes: Tensor,
    oracle: CountingOracle,
    *,
    order: PartialOrder,
    sampler: Sampler,
    iterations: int,
    reading: Reading = "text",
    k: int = 1,
    seed: int = 0,
    first_owner: int = 0,
) -> list[Candidate]:
    """Algorithm 1 for every graph of a batch, `k` times each.

    Args:
        graphs: B graphs.
        probabilities: A_g of each, [B, N, N].
        classes: the class that each graph has and is to leave, [B].
        oracle: counts the calls of each row; owners are counted from `first_owner`.
        order: which pairs are sampled together, in which order, and where the oracle is asked after each.
        sampler: what `sample` means.
        iterations: the most checks of a guarded group (T).
        reading: with "text" the oracle is asked once when an unguarded group is done, as Section 4 says; with "letter"
            only inside guarded groups, as the pseudo-code says: then the first check comes after the first missing
            pair, and a flip that this pair undoes is never seen.
        k, seed: candidates per graph, and what their random numbers depend on besides the graph's name.

    Returns B·k candidates, graph by graph.
    """
    owners = torch.arange(len(graphs)).repeat_interleave(k)
    traces = _TRACES.get()
    kind = _Sampling if traces is None else _TracedSampling
    run = kind(graphs.select(owners), classes[owners], oracle, sampler.accumulates, first_owner)
    seeds = streams(graphs.names, k, seed, "sample")
    scores = probabilities[owners].double().cpu().numpy()
    groups = groups_of(order, run.graphs)
    run.start_from(groups)
    for position, group in enumerate(groups):
        start = position * NUMBERS_PER_GROUP
        if group.guarded:
            for begin, end in sampler.blocks(iterations):
                draws = run.draw(group, scores, sampler, end - begin, seeds, start + begin)
                run.check_each(draws, end - begin, skip_unchanged=reading == "text")
        else:
            run.take_all(run.draw(group, scores, sampler, iterations, seeds, start))
            if reading == "text":
                run.check_once()
    if traces is not None and isinstance(run, _TracedSampling):
        traces += run.traces(scores)
    return run.candidates()


@dataclass(frozen=True, eq=False)
class Draws:
    """The pairs that were sampled in a group, of all graphs, one graph after the other.

    `pairs` is int [K, 2]; graph `rows[i]` has `pairs[stops[i] : stops[i + 1]]`. (-1, -1) stands for a pair that was
    visited and not sampled (UNCHANGED).
    """

    rows: np.ndarray
    pairs: np.ndarray
    stops: np.ndarray

    def by_row(self) -> dict[int, np.ndarray]:
        stops = pairwise(self.stops.tolist())
        return {row: self.pairs[a:b] for row, (a, b) in zip(self.rows.tolist(), stops, strict=True)}


class _Sampling:
    """The state of Algorithm 1 on all rows: A', which rows are still open, and what was found."""

    def __init__(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, accumulates: bool, first_owner: int
    ) -> None:
        self.graphs, self.classes, self.oracle, self.accumulates = graphs, classes, oracle, accumulates
        self.first_owner = first_owner
        self.current = np.zeros_like(graphs.adjacency.numpy())  # A' (line 4)
        self.open = np.ones(len(graphs), dtype=bool)

    def start_from(self, groups: list[Group]) -> None:
        """Pairs that no group covers are not the method's to change: they stay as they are."""
        kept = self.graphs.adjacency.triu()
        for group in groups:
            kept.masked_fill_(group.pairs, 0)
        row, u, v = np.unravel_index(np.flatnonzero(kept.numpy()), kept.shape)  # many times faster than nonzero
        self.current[row, u, v] = self.current[row, v, u] = kept.numpy()[row, u, v]

    def draw(
        self, group: Group, scores: np.ndarray, sampler: Sampler, iterations: int, seeds: np.ndarray, start: int
    ) -> Draws:
        """What is drawn for the open rows. Row r reads its own random numbers, `seeds[r]`, from number `start` on."""
        open_, n = self.open.nonzero()[0], self.current.shape[1]
        place = np.flatnonzero(group.pairs.numpy()[open_])
        stops = place.searchsorted(np.arange(len(open_) + 1) * n * n)
        chances = GroupProbabilities(scores[open_].reshape(-1)[place], stops)
        drawn, stops = sampler.draw(
            chances, group.guarded, iterations, lambda count, offset=0: uniforms(seeds[open_], start + offset, count)
        )
        pairs = np.stack(np.divmod(place[drawn] % (n * n), n), 1)
        pairs[drawn == UNCHANGED] = UNCHANGED
        return Draws(open_, pairs, stops)

    def take_all(self, draws: Draws) -> None:
        """Line 7 for an unguarded group: a pair drawn is an edge, however often it was drawn."""
        row, (u, v) = np.repeat(draws.rows, np.diff(draws.stops)), draws.pairs.T
        self.current[row, u, v] = self.current[row, v, u] = 1

    def check_once(self) -> None:
        """The check after an unguarded group, as the text of Section 4 has it."""
        rows = self.open.nonzero()[0]
        if self.oracle.limited:
            rows = rows[[self._may_ask(row) for row in rows.tolist()]]
        if len(rows):
            self._ask(rows, self.current[rows])

    def _may_ask(self, row: int) -> bool:
        return bool(self.open[row]) and not (self.oracle.limited and self.oracle.exhausted(self.first_owner + row))

    def check_each(self, draws: Draws, iterations: int, *, skip_unchanged: bool) -> None:
        """Lines 6-9 for a guarded group: at most `iterations` checks, asked in blocks that grow fourfold."""
        left = draws.by_row()
        if skip_unchanged:
            left = {row: pairs[1:] if len(pairs) and pairs[0, 0] == UNCHANGED else pairs for row, pairs in left.items()}
        left = {row: pairs[:iterations] for row, pairs in left.items()}
        length = GRAPHS_IN_FIRST_BLOCK
        while left := {row: pairs for row, pairs in left.items() if len(pairs) and self._may_ask(row)}:
            fits = max(1, BLOCK_BYTES // (len(left) * self.current[0].size))
            length = min(length, fits)
            self._ask(*self._graphs_after_each({row: pairs[:length] for row, pairs in left.items()}))
            left = {row: pairs[length:] for row, pairs in left.items()}
            length *= 4

    def _graphs_after_each(self, draws: dict[int, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """A' after each of the next draws of each row: which row it belongs to, and the matrices, uint8 [K, N, N].

        `current` moves on to the last of them. Written byte by byte in Python: a graph of Table 1 is a kilobyte, and
        copying it is cheaper than any array arithmetic.
        """
        n = self.current.shape[1]
        matrices = bytearray()
        for row, pairs in draws.items():
            state = bytearray(self.current[row].tobytes())
            if len(pairs) and pairs[0, 0] == UNCHANGED:
                matrices += state
                pairs = pairs[1:]
            u, v = pairs.T
            for i, j in zip((u * n + v).tolist(), (v * n + u).tolist(), strict=True):
                state[i] = state[j] = state[i] + (state[i] < 255) if self.accumulates else 1
                matrices += state
            self.current[row] = np.frombuffer(state, dtype=np.uint8).reshape(n, n)
        rows = np.repeat(list(draws), [len(pairs) for pairs in draws.values()])
        return rows, np.frombuffer(matrices, dtype=np.uint8).reshape(-1, n, n)

    def _ask(self, rows: np.ndarray, adjacency: np.ndarray) -> None:
        """Line 8: close the rows that flip, each with its first flip that its budget covers."""
        row = torch.from_numpy(rows)
        first = self.oracle.first_flip(
            self.graphs.candidates(torch.from_numpy(adjacency), row), self.first_owner + row, self.classes[row]
        ).numpy()
        self.current[rows[first]] = adjacency[first]
        self.open[rows[first]] = False

    def candidates(self) -> list[Candidate]:
        """Lines 9 and 13: the flips, and for the rest a failure with its reason."""
        results = []
        for row in range(len(self.graphs)):
            if not self.open[row]:
                results.append(Candidate(torch.from_numpy(self.current[row])))
            elif self.oracle.exhausted(self.first_owner + row):
                results.append(Candidate(None, BUDGET_USED_UP))
            else:
                results.append(Candidate(None, "no sampled graph changed the oracle's class"))
        return results


# -- What `sample` means -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupProbabilities:
    """A_g of the pairs of a group, float [M], of all graphs, one after the other; graph r has
    `probability[stops[r] : stops[r + 1]]`."""

    probability: np.ndarray
    stops: np.ndarray

    @property
    def counts(self) -> np.ndarray:
        return np.diff(self.stops)

    def row_of(self, pairs: np.ndarray) -> np.ndarray:
        return self.stops.searchsorted(pairs, side="right") - 1


class Numbers(Protocol):
    """Random numbers of every row, float64 [R, count]: number `start` of its stream and those that follow."""

    def __call__(self, count: int, start: int = 0) -> np.ndarray: ...


@dataclass(frozen=True)
class Sampler:
    """How the pairs of a group are drawn, for all rows at once.

    `draw(chances, guarded, T, numbers)` returns positions among the group's pairs in the order in which they enter A',
    and where each row's begin and end. `numbers(count)` supplies `count` random numbers per row, uniform on [0, 1).
    """

    name: str
    draw: Callable[[GroupProbabilities, bool, int, Numbers], tuple[np.ndarray, np.ndarray]]
    memoryless: bool = False  # a draw does not depend on those before it, so that they can be drawn when needed
    accumulates: bool = False  # a pair drawn twice in a guarded group weighs 2

    def blocks(self, iterations: int) -> Iterator[tuple[int, int]]:
        """The iterations of a guarded group, from and to, that are drawn at a time."""
        in_two = self.memoryless and iterations > DRAWS_AT_FIRST
        yield from pairwise([0, DRAWS_AT_FIRST, iterations] if in_two else [0, iterations])


def _each_for_itself(
    chances: GroupProbabilities, guarded: bool, iterations: int, numbers: Numbers
) -> tuple[np.ndarray, np.ndarray]:
    """Each pair with its probability; guarded pairs in random order.

    By the letter of Algorithm 1 there is a check after the first pair visited even if it was not sampled: a leading
    UNCHANGED stands for it.
    """
    widest = max(chances.counts, default=0)
    own = np.arange(widest) < chances.counts[:, None]
    taken = (numbers(widest)[own] < chances.probability).nonzero()[0]
    if not guarded:
        return taken, np.searchsorted(taken, chances.stops)
    visit = numbers(widest, ORDER_OFFSET)[own]
    taken = taken[np.lexsort((visit[taken], chances.row_of(taken)))]
    first = np.array([a + visit[a:b].argmin() for a, b in pairwise(chances.stops.tolist()) if a < b], dtype=int)
    passed_over, row = first[~np.isin(first, taken)], chances.row_of(taken)  # visited first and not sampled
    before = np.searchsorted(row, chances.row_of(passed_over))
    taken, row = np.insert(taken, before, UNCHANGED), np.insert(row, before, chances.row_of(passed_over))
    return taken, np.searchsorted(row, np.arange(len(chances.stops)))


def _with_replacement(
    chances: GroupProbabilities, guarded: bool, iterations: int, numbers: Numbers
) -> tuple[np.ndarray, np.ndarray]:
    """As many draws as there are pairs (unguarded) or iterations (guarded), proportional to the probabilities."""
    mass = np.concatenate(([0], (np.maximum(chances.probability, 0) * WEIGHT_SCALE).astype(np.int64).cumsum()))
    before, total = mass[chances.stops[:-1]], np.diff(mass[chances.stops])
    counts = np.where(total > 0, iterations if guarded else chances.counts, 0)
    drawn = numbers(max(counts, default=0))
    wanted = np.arange(drawn.shape[1]) < counts[:, None]
    marks = (before[:, None] + (drawn * total[:, None]).astype(np.int64))[wanted]
    return mass.searchsorted(marks, side="right") - 1, np.concatenate(([0], counts.cumsum()))


SAMPLERS = {
    sampler.name: sampler
    for sampler in (
        Sampler("bernoulli", _each_for_itself),
        Sampler("multinomial", _with_replacement, memoryless=True),
        Sampler("released", _with_replacement, memoryless=True, accumulates=True),
    )
}


def sampler_named(name: str) -> Sampler:
    """The sampler of this name; `UsageError` if there is none."""
    if name not in SAMPLERS:
        raise UsageError(f"There is no sampler {name!r}; choose one of {', '.join(SAMPLERS)}.")
    return SAMPLERS[name]


# -- Recording what Algorithm 1 did ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trace:
    """What Algorithm 1 did to one row; pairs are int [K, 2].

    `removed` are the edges of the input that A' lacks when the unguarded groups are done, `checked` the pairs that
    guarded groups added after that, a check after each, in their order and up to the flip.
    """

    scores: np.ndarray  # A_g [N, N]
    removed: np.ndarray
    checked: np.ndarray


_TRACES: ContextVar[list[Trace] | None] = ContextVar("traces", default=None)


@contextmanager
def traced() -> Iterator[list[Trace]]:
    """`with traced() as traces:` every run of Algorithm 1 inside appends a trace for each of its rows, in their order.

    The results are the same as without.
    """
    traces: list[Trace] = []
    token = _TRACES.set(traces)
    try:
        yield traces
    finally:
        _TRACES.reset(token)


class _TracedSampling(_Sampling):
    """Algorithm 1 with a record. How far a guarded group got is what its rows were charged for."""

    def __init__(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, accumulates: bool, first_owner: int
    ) -> None:
        super().__init__(graphs, classes, oracle, accumulates, first_owner)
        nothing = np.empty((0, 2), dtype=int)
        self.removed, self.checked = [nothing] * len(graphs), [nothing] * len(graphs)

    def take_all(self, draws: Draws) -> None:
        super().take_all(draws)
        for row in draws.rows.tolist():
            self.removed[row] = np.argwhere(np.triu(self.graphs.adjacency[row].numpy() > self.current[row]))

    def check_each(self, draws: Draws, iterations: int, *, skip_unchanged: bool) -> None:
        before = {row: self.oracle.calls_of(self.first_owner + row) for row in draws.rows.tolist()}
        super().check_each(draws, iterations, skip_unchanged=skip_unchanged)
        for row, pairs in draws.by_row().items():
            asked = self.oracle.calls_of(self.first_owner + row) - before[row]
            visited = pairs[pairs[:, 0] != UNCHANGED] if skip_unchanged else pairs
            self.checked[row] = np.concatenate((self.checked[row], visited[:asked]))

    def traces(self, scores: np.ndarray) -> list[Trace]:
        checked = [pairs[pairs[:, 0] != UNCHANGED] for pairs in self.checked]
        return [Trace(*parts) for parts in zip(scores, self.removed, checked, strict=True)]
