"""RSGG-CE, taught (beyond the paper): the generator learns from minimal counterfactuals instead of from Eq. 4.

Eq. 4 learns from the oracle's verdict on random samples and takes hundreds of thousands of questions. Here a search
without learning (random orders of edges and of missing pairs, made minimal) explains the training graphs once; what it
needed, S, teaches the generator to rank those pairs above the others of the same side:

    loss = - mean over graphs and sides of  1/|S| Σ_{e ∈ S} log softmax_{pairs of the side}(score)_e.

Encoder and decoder are RSGG-CE's; the score is the residual Â of a missing pair and -Â of an edge. With `rounds` > 1
this is expert iteration: the training graphs come in as many parts, and each part is searched with what the parts
before it taught, which takes fewer questions and finds shorter edits. With `searches` > 1 the graphs of the
first part are searched as often, and the results with the fewest edits teach, as soft targets where they differ. With
`taught_swaps` what is found for the other parts is then made smaller, where so many questions can do it. A graph for
which nothing is found teaches nothing and is counted in `summary_`. Graphs of a class that no training graph has are
explained along random orders, as by the search that teaches; `summary()` says of which classes.

With `node_edits` the training graphs are then searched once more, with edits of nodes only, to see which of those are
needed (`rsgg.rsgg_ce.node_edits`); what the generators learn stays the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.edits import Codes
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.progress import tell
from rsgg.rsgg_ce.adam import Adam
from rsgg.rsgg_ce.listed import every_pair_field, missing_pairs
from rsgg.rsgg_ce.plausible import effects, empty_discriminator, trained_discriminator
from rsgg.rsgg_ce.ranked import RankedSearch, lengths_by_class, search
from rsgg.rsgg_ce.search import UNKNOWN, Found
from rsgg.rsgg_ce.training import Discriminator, Generator, build_generator
from rsgg.rsgg_ce.training_pairs import linked
from rsgg.seeds import numpy_rng, seed_for, torch_rng
from rsgg.sparse import SparseBatch, are_among

NODES_PER_STEP = 1 << 14  # of large graphs, in one step of Adam


@dataclass(kw_only=True)
class TaughtRSGGCE(RankedSearch):
    """A generator per class that was taught by a search, and a ranked search with its scores."""

    steps: int = hyper(200, "steps", at_least=1, doc="of Adam, per class")
    lr: float = hyper(1e-2, "lr", above=0)
    batch: int = hyper(16, "batch size", at_least=1)
    rounds: int = hyper(2, "rounds", at_least=1, doc="parts of the training graphs, each searched with what is learnt")
    searches: int = hyper(
        1, "k", at_least=1, doc="of a training graph while nothing is learnt; the shortest results teach"
    )
    taught_swaps: int = hyper(
        0, "swaps in training", at_least=0, doc="questions about fewer edits than a training graph was found to need"
    )
    plausibility: float = hyper(
        0.0, "plausibility", at_least=0, doc="weight of the discriminator's term in the scores (rsgg.rsgg_ce.plausible)"
    )

    every_pair_up_to: int = every_pair_field()

    @classmethod
    def tiny(cls) -> TaughtRSGGCE:
        return cls(steps=20, batch=8, hidden=8, latent=4, layers=2)

    def _lists_above(self) -> int | None:
        return None if self.node_edits or self.plausibility else self.every_pair_up_to  # which need matrices

    def _needs_every_class(self) -> bool:
        return False

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        there = set(classes.tolist())
        self.__dict__["unlearnt_"] = tuple(c for c in range(oracle.n_classes) if c not in there)
        if self.node_edits:
            self._start_nodes(graphs, oracle.n_classes)
        features = self._learn_scales(graphs)
        self.generators_ = [
            build_generator(
                graphs if c in self.unlearnt_ else graphs.select(classes == c),
                features.shape[2],
                self,
                seed_for(seed, c),
            ).to(self.device)
            for c in range(oracle.n_classes)
        ]
        self.history_: list[dict[str, float]] = []
        self.unread_ = 0  # training graphs with edited versions that the oracle could not read
        self.discriminators_: dict[int, Discriminator] = {}
        self.lengths_ = [UNKNOWN] * oracle.n_classes
        rows = torch.randperm(len(graphs), generator=torch_rng(seed, "taught", "parts"))
        found: dict[int, list[Found]] = {}
        for number, part in enumerate(_parts(rows, self.rounds)):
            found |= self._searched(graphs, classes, part, oracle, seed, learnt=number > 0)
            self._learn(graphs, features, classes, found, seed_for(seed, number))
            tell(f"{len(found)} of {len(graphs)} graphs are searched and taught")
        first = {row: one[0].edits for row, one in found.items()}
        self.summary_ = {"graphs": len(graphs), "taught": sum(edits is not None for edits in first.values())}
        if self.unread_:
            warnings.warn(
                f"The oracle could not read some edited versions of {self.unread_} training graphs; they were taken as "
                "no change of class.",
                stacklevel=4,
            )
        if self.unlearnt_:
            self.summary_["classes without graphs"] = len(self.unlearnt_)
            warnings.warn(
                f"No training graph is of class {', '.join(map(str, self.unlearnt_))}: graphs of this class are "
                "searched in random order, as if nothing was learnt; training graphs of every class save questions.",
                stacklevel=4,
            )
        lines = taught_by_class(graphs, classes, first, oracle.n_classes)
        self._summarise(lines, "no edits that were tried change its class, so nothing was learnt")
        if self.node_edits:
            searched, pairs = torch.tensor(list(found)), [one[0] for one in found.values()]
            parts = _parts(torch.arange(len(searched)), self.rounds)
            self._learn_nodes(graphs.select(searched), classes[searched], pairs, oracle, seed, parts)
        if self.plausibility:
            self._learn_plausibility(graphs, classes, {row: one[0] for row, one in found.items()}, seed)

    def _learn_plausibility(self, graphs: GraphBatch, classes: Tensor, found: dict[int, Found], seed: int) -> None:
        """A discriminator for each class of which edited graphs are known."""
        for c in range(len(self.generators_)):
            edits = {row: one.edits for row, one in found.items() if one.edits is not None and classes[row] == c}
            if edits:
                self.discriminators_[c] = trained_discriminator(
                    graphs.select(classes != c), graphs.select(torch.tensor(list(edits))), list(edits.values()),
                    graphs.n_nodes if self.identities else 0, seed_for(seed, c),
                )  # fmt: skip

    def edit_scores(self, graphs: GraphBatch, classes: Tensor) -> Tensor:
        scores = super().edit_scores(graphs, classes)
        for c, discriminator in self.discriminators_.items():
            own = (classes == c).nonzero().flatten()
            if len(own):
                scores[own] += self.plausibility * effects(discriminator, graphs.select(own), scores[own])
        return scores

    def _state(self) -> dict[str, Tensor]:
        state = super()._state()
        if self.unlearnt_:
            state["unlearnt"] = torch.tensor(self.unlearnt_)
        for c, discriminator in self.discriminators_.items():
            state |= {f"plausible.{c}.{name}": tensor for name, tensor in discriminator.state_dict().items()}
        return state

    def _restore(self, state: dict[str, Tensor]) -> None:
        super()._restore({name: tensor for name, tensor in state.items() if not name.startswith("plausible.")})
        self.__dict__["unlearnt_"] = tuple(state["unlearnt"].tolist()) if "unlearnt" in state else ()
        self.discriminators_ = {}
        for c in range(len(self.generators_)):
            start = f"plausible.{c}."
            own = {name.removeprefix(start): tensor for name, tensor in state.items() if name.startswith(start)}
            if own:
                identities = self.n_nodes_ if self.identities else 0
                discriminator = empty_discriminator(float(own["degree"]), int(own["n_nodes"]), identities).eval()
                discriminator.load_state_dict(own)
                self.discriminators_[c] = discriminator

    def _searched(
        self, graphs: GraphBatch, classes: Tensor, part: Tensor, oracle: CountingOracle, seed: int, *, learnt: bool
    ) -> dict[int, list[Found]]:
        """What the searches find for each of these graphs, those with the fewest edits: they teach.

        One search that follows what is learnt; as long as nothing is, `searches` of them along random orders.
        """
        own, of = graphs.select(part), classes[part]
        scores = self.search_scores(own, of) if learnt else None
        lengths = [self.lengths_[c] for c in of.tolist()]
        searched = []
        for number in range(1 if learnt else self.searches):
            counted = CountingOracle(oracle)
            with counted.explaining(of, 1):  # a graph that the oracle cannot read is no flip, and ends nothing
                searched.append(
                    search(
                        own, of, counted, scores, lengths, seed=seed_for(seed, number) if number else seed,
                        certify=learnt, mixtures=self.mixtures, constraints=oracle.constraints,
                        every_pair_up_to=self.every_pair_up_to, swaps=max(self.swaps, self.taught_swaps),
                    )
                )  # fmt: skip
            self.unread_ += counted.n_troubled
        return {row: _shortest(several) for row, *several in zip(part.tolist(), *searched, strict=True)}

    def _learn(
        self, graphs: GraphBatch, features: Tensor, classes: Tensor, found: dict[int, list[Found]], seed: int
    ) -> None:
        """Teach the generator of each class with what was found so far, and note how many edits that was."""
        self.lengths_ = lengths_by_class(
            graphs.select(torch.tensor(list(found))), classes[list(found)], [one[0] for one in found.values()],
            len(self.generators_),
        )  # fmt: skip
        for c, generator in enumerate(self.generators_):
            taught = {
                row: [one.edits for one in several if one.edits is not None]
                for row, several in found.items()
                if several[0].edits is not None and classes[row] == c
            }
            if taught:
                rows, edits = list(taught), list(taught.values())
                losses = teach(
                    generator, graphs.select(torch.tensor(rows)), features[rows], edits, self, seed_for(seed, c)
                )
                first = sum(row["class"] == c for row in self.history_)
                self.history_ += [{"class": c, "epoch": first + i, "loss": loss} for i, loss in enumerate(losses)]
            generator.eval()


def taught_by_class(
    graphs: GraphBatch, classes: Tensor, edits: dict[int, Codes | None], n_classes: int
) -> list[dict[str, Any]]:
    """A line per class: graphs, the share that a search explained, their mean number of edits, the order of its search.

    Of a class without graphs nothing can be said but that its graphs are searched in random order.
    """
    lines = []
    for c in range(n_classes):
        own = [codes for row, codes in edits.items() if classes[row] == c]
        if not own:
            unknown = dict.fromkeys(("edges", "flip_rate", "edits"), float("nan"))
            lines.append({"class": c, "graphs": 0, **unknown, "order": "random", "collapsed": ""})
            continue
        found = [len(codes) for codes in own if codes is not None]
        lines.append(
            {
                "class": c,
                "graphs": len(own),
                "edges": float(graphs.n_edges[classes == c].double().mean()),
                "flip_rate": len(found) / len(own),
                "edits": sum(found) / len(found) if found else float("nan"),
                "order": "learned",
                "collapsed": "no" if found else "was taught by no graph",
            }
        )
    return lines


def _shortest(several: list[Found]) -> list[Found]:
    """Those with the fewest edits; one that found nothing if none did."""
    found = [one for one in several if one.edits is not None]
    fewest = min((len(one.edits) for one in found if one.edits is not None), default=0)
    return [one for one in found if one.edits is not None and len(one.edits) == fewest] or several[:1]


def _parts(rows: Tensor, count: int) -> Sequence[Tensor]:
    """The rows in at most `count` parts; the first is small, since it is searched without anything learnt."""
    if count == 1 or len(rows) < 2 * count:
        return [rows]
    first = max(1, len(rows) // (2 * count - 1))
    return [rows[:first], *rows[first:].tensor_split(count - 1)]


def teach(
    generator: Generator,
    graphs: GraphBatch,
    features: Tensor,
    edits: Sequence[Sequence[Codes]],
    settings: TaughtRSGGCE,
    seed: int,
) -> list[float]:
    """Adam on the list-wise cross entropy; returns its values. `edits[i]` are the sets of pairs that graph i needed."""
    optimiser = Adam(generator, settings.lr)
    rng, batch = torch_rng(seed, "teach"), min(settings.batch, len(graphs))
    if isinstance(graphs, SparseBatch):
        batch, drawn = max(1, min(batch, NODES_PER_STEP // graphs.n_nodes)), numpy_rng(seed, "teach", "missing pairs")
    generator.train()
    losses = []
    for _ in range(settings.steps):
        rows = torch.randint(len(graphs), (batch,), generator=rng)
        part, needed = graphs.select(rows), [edits[row] for row in rows.tolist()]
        if isinstance(part, SparseBatch):
            loss = _loss_of_lists(generator, part, features[rows], needed, settings, drawn)
        else:
            loss = _loss(generator, part, features[rows], needed, settings.device)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


def _loss(
    generator: Generator, graphs: GraphBatch, features: Tensor, edits: Sequence[Sequence[Codes]], device: str
) -> Tensor:
    """The mean over graphs of the cross entropies of both sides."""
    target = torch.zeros(len(graphs), graphs.n_nodes**2)
    for row, several in enumerate(edits):
        for codes in several:
            target[row, torch.from_numpy(codes)] += 1
    target, adjacency, pairs = target.to(device), graphs.adjacency.to(device), graphs.pair_mask.to(device)
    z, present = generator.encoder(features.to(device), linked(adjacency)), adjacency > 0
    additions = _cross_entropy(lambda: generator.residual_of_kind(z, 0), (pairs & ~present).flatten(1), target)
    removals = _cross_entropy(lambda: -generator.residual_of_kind(z, 1), (pairs & present).flatten(1), target)
    return (removals + additions).mean()


def _cross_entropy(scores: Callable[[], Tensor], side: Tensor, target: Tensor) -> Tensor:
    """- 1/|S| Σ_{e ∈ S} log softmax over the pairs of a side, [B]; 0 where nothing of this side was needed.

    S counts a pair as often as searches needed it, `target`. Often a class needs one side only: the scores of the
    other, a number for every pair, are not even computed.
    """
    needed = target * side
    count = needed.sum(1)
    if not count.any():
        return count
    score = scores().flatten(1)
    total = score.masked_fill(~side, -torch.inf).logsumexp(1, keepdim=True)
    log_share = score - total.masked_fill(total.isinf(), 0)  # a side without pairs
    return -(needed * log_share).sum(1) / count.clamp(min=1)


def _loss_of_lists(
    generator: Generator, graphs: SparseBatch, features: Tensor, edits: Sequence[Sequence[Codes]],
    settings: TaughtRSGGCE, rng: np.random.Generator,
) -> Tensor:  # fmt: skip
    """`_loss` for graphs that are lists: over the edges, the needed pairs and missing pairs that are drawn anew."""
    n, parts = graphs.n_nodes, []
    for row, (graph, several) in enumerate(zip(graphs.graphs, edits, strict=True)):
        needed, times = np.unique(np.concatenate(several), return_counts=True)
        drawn = missing_pairs(graph, n, settings.every_pair_up_to, rng)
        for side, is_edge in ((graph.codes(n), True), (drawn, False)):
            own = graph.has(needed, n) == is_edge
            codes = np.sort(np.concatenate((side, needed[own & ~are_among(needed, side)])))
            target = np.zeros(len(codes))
            target[np.searchsorted(codes, needed[own])] = times[own]
            parts.append((np.full(len(codes), row), codes, np.full(len(codes), is_edge), target))
    columns = (torch.from_numpy(np.concatenate(part)).to(settings.device) for part in zip(*parts, strict=True))
    owner, pair, present, wanted = columns
    z = generator.encoder(features.to(settings.device), EdgeBatch.of(graphs)).flatten(0, 1)
    residual = generator.of_nodes(z, owner * n + pair // n, owner * n + pair % n, present)
    score = torch.where(present, -residual, residual)
    return _cross_entropy_of_lists(score, 2 * owner + present, wanted.float(), 2 * len(graphs)) / len(graphs)


def _cross_entropy_of_lists(score: Tensor, side: Tensor, target: Tensor, n_sides: int) -> Tensor:
    """The sum over all sides of - 1/|S| Σ_{e ∈ S} log softmax; `side` [K] says to which one a pair belongs."""
    highest = score.new_full((n_sides,), -torch.inf).scatter_reduce(0, side, score.detach(), "amax")
    total = score.new_zeros(n_sides).index_add(0, side, (score - highest[side]).exp())
    log_share = score - highest[side] - total.log()[side]
    needed = score.new_zeros(n_sides).index_add(0, side, target)
    return -(target * log_share / needed.clamp(min=1)[side]).sum()
