"""RSGG-CE, taught (beyond the paper): the generator learns from minimal counterfactuals instead of from Eq. 4.

Eq. 4 learns from the oracle's verdict on random samples and takes hundreds of thousands of questions. Here a search
without learning (random orders of edges and of missing pairs, made minimal) explains the training graphs once; what it
needed, S, teaches the generator to rank those pairs above the others of the same side:

    loss = - mean over graphs and sides of  1/|S| Σ_{e ∈ S} log softmax_{pairs of the side}(score)_e.

Encoder and decoder are RSGG-CE's; the score is the residual Â of a missing pair and -Â of an edge. With `rounds` > 1
this is expert iteration: the training graphs come in as many parts, and each part is searched with what the parts
before it taught, which takes fewer questions and finds shorter edits. A graph for which nothing is found teaches
nothing and is counted in `summary_`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from rsgg.explainer import hyper
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle
from rsgg.rsgg_ce.ranked import RankedSearch, lengths_by_class, search
from rsgg.rsgg_ce.search import UNKNOWN, Codes, Found
from rsgg.rsgg_ce.training import Generator, build_generator
from rsgg.seeds import seed_for, torch_rng


@dataclass(kw_only=True)
class TaughtRSGGCE(RankedSearch):
    """A generator per class that was taught by a search, and a ranked search with its scores."""

    steps: int = hyper(200, "steps", at_least=1, doc="of Adam, per class")
    lr: float = hyper(1e-2, "lr", above=0)
    batch: int = hyper(16, "batch size", at_least=1)
    rounds: int = hyper(2, "rounds", at_least=1, doc="parts of the training graphs, each searched with what is learnt")

    @classmethod
    def tiny(cls) -> TaughtRSGGCE:
        return cls(steps=20, batch=8, hidden=8, latent=4, layers=2)

    def _fit(self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, seed: int) -> None:
        features = self._learn_scales(graphs)
        self.generators_ = [
            build_generator(graphs.select(classes == c), features.shape[2], self, seed_for(seed, c)).to(self.device)
            for c in range(oracle.n_classes)
        ]
        self.history_: list[dict[str, float]] = []
        self.lengths_ = [UNKNOWN] * oracle.n_classes
        rows = torch.randperm(len(graphs), generator=torch_rng(seed, "taught", "parts"))
        found: dict[int, Found] = {}
        for number, part in enumerate(_parts(rows, self.rounds)):
            own = graphs.select(part)
            scores = self.edit_scores(own, classes[part]) if number else None
            lengths = [self.lengths_[c] for c in classes[part].tolist()]
            searched = search(
                own, classes[part], CountingOracle(oracle), scores, lengths, seed=seed, certify=number > 0
            )
            found |= dict(zip(part.tolist(), searched, strict=True))
            self._learn(graphs, features, classes, found, seed_for(seed, number))
        self.summary_ = {"graphs": len(graphs), "taught": sum(one.edits is not None for one in found.values())}

    def _learn(self, graphs: GraphBatch, features: Tensor, classes: Tensor, found: dict[int, Found], seed: int) -> None:
        """Teach the generator of each class with what was found so far, and note how many edits that was."""
        self.lengths_ = lengths_by_class(
            graphs.select(torch.tensor(list(found))), classes[list(found)], list(found.values()), len(self.generators_)
        )
        for c, generator in enumerate(self.generators_):
            taught = {row: one.edits for row, one in found.items() if one.edits is not None and classes[row] == c}
            if taught:
                rows, edits = list(taught), list(taught.values())
                losses = teach(
                    generator, graphs.select(torch.tensor(rows)), features[rows], edits, self, seed_for(seed, c)
                )
                first = sum(row["class"] == c for row in self.history_)
                self.history_ += [{"class": c, "epoch": first + i, "loss": loss} for i, loss in enumerate(losses)]
            generator.eval()


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
    edits: Sequence[Codes],
    settings: TaughtRSGGCE,
    seed: int,
) -> list[float]:
    """Adam on the list-wise cross entropy; returns its values. `edits[i]` are the pairs that graph i needed."""
    optimiser = torch.optim.Adam(generator.parameters(), lr=settings.lr)
    rng, batch = torch_rng(seed, "teach"), min(settings.batch, len(graphs))
    generator.train()
    losses = []
    for _ in range(settings.steps):
        rows = torch.randint(len(graphs), (batch,), generator=rng)
        part, needed = graphs.select(rows), [edits[row] for row in rows.tolist()]
        loss = _loss(generator, part, features[rows], needed, settings.device)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    return losses


def _loss(generator: Generator, graphs: GraphBatch, features: Tensor, edits: Sequence[Codes], device: str) -> Tensor:
    """The mean over graphs of the cross entropies of both sides."""
    target = torch.zeros(len(graphs), graphs.n_nodes**2)
    for row, codes in enumerate(edits):
        target[row, torch.from_numpy(codes)] = 1
    target, adjacency, pairs = target.to(device), graphs.adjacency.float().to(device), graphs.pair_mask.to(device)
    residual, present = generator.residual(features.to(device), adjacency), adjacency > 0
    score = torch.where(present, -residual, residual).flatten(1)
    removals, additions = (_cross_entropy(score, (pairs & side).flatten(1), target) for side in (present, ~present))
    return (removals + additions).mean()


def _cross_entropy(score: Tensor, side: Tensor, target: Tensor) -> Tensor:
    """- 1/|S| Σ_{e ∈ S} log softmax over the pairs of a side, [B]; 0 where nothing of this side was needed."""
    needed = target * side
    log_share = score - score.masked_fill(~side, -torch.inf).logsumexp(1, keepdim=True)
    return -(needed * log_share.nan_to_num(posinf=0.0)).sum(1) / needed.sum(1).clamp(min=1)
