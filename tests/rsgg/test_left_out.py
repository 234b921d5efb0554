"""RSGG-CE without a part of its training: each part makes a difference, leaving out nothing makes none."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from rsgg.data.tree_cycles import TreeCycles
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce import RSGGCE
from rsgg.rsgg_ce.left_out import (
    PARTS,
    Eq4Reward,
    FlipsOnly,
    LastEpoch,
    NoAverage,
    NoInitialEdits,
    PlainAdvantage,
    PlainInnerProduct,
    RSGGCEWithout,
)
from rsgg.rsgg_ce.training import ClassData, ClassTraining

SMALL: dict[str, Any] = {"epochs": 20, "warmup": 10, "batch": 8, "samples": 4, "hidden": 8, "latent": 4, "layers": 2}
GRAPHS = TreeCycles(n_nodes=8, n_graphs=40, max_cycle_nodes=4).load().graphs


def scores(without: str | None) -> torch.Tensor:
    """A_g of all graphs after a short training."""
    explainer = RSGGCE(**SMALL) if without is None else RSGGCEWithout(without=without, **SMALL)
    explainer.fit(GRAPHS, TreeCyclesOracle(), seed=5)
    return explainer.edge_probabilities(GRAPHS, TreeCyclesOracle().predict(GRAPHS))


@pytest.fixture(scope="module")
def whole() -> torch.Tensor:
    return scores(None)


def test_without_nothing_it_is_rsgg_ce(whole: torch.Tensor) -> None:
    assert torch.equal(scores(""), whole)


@pytest.mark.parametrize("part", [part for part in PARTS if part != "checkpoint"])  # the last may be the best
def test_every_part_makes_a_difference_to_what_is_learnt(part: str, whole: torch.Tensor) -> None:
    assert not torch.allclose(scores(part), whole)


def trained(kind: type[ClassTraining], **settings: object) -> ClassTraining:
    explainer = RSGGCE(**{**SMALL, **settings})
    explainer.mean_, explainer.std_ = torch.zeros(9), torch.ones(9)
    own = TreeCyclesOracle().predict(GRAPHS) == 1
    features = explainer._features(GRAPHS.select(own))
    data = ClassData(1, GRAPHS.select(own), features, GRAPHS.select(~own), CountingOracle(TreeCyclesOracle()))
    return kind(data, explainer._settings(), 0, "cpu")


def test_eq_4s_reward_is_minus_the_logarithm_of_what_the_generator_minimises() -> None:
    flipped, logit = torch.tensor([0.0, 1.0]), torch.tensor([-0.3, 1.2])
    found = trained(Eq4Reward)._reward(flipped, logit).tolist()
    assert found == pytest.approx([-math.log(1 - 1 / (1 + math.exp(-x))) for x in (-0.3, 1.2)])
    assert trained(FlipsOnly)._reward(flipped, logit).tolist() == [0.0, 1.0]


def test_without_a_checkpoint_the_last_generator_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    falling = iter(range(100, 0, -1))  # the first generator looks best
    monkeypatch.setattr(ClassTraining, "_quality", lambda self: float(next(falling)))
    training = trained(LastEpoch, epochs=60)
    kept = training.run().generator
    assert all(torch.equal(a, b) for a, b in zip(kept.parameters(), training.averaged.parameters(), strict=True))


def test_without_a_moving_average_the_trained_generator_is_kept() -> None:
    training = trained(NoAverage)
    training.step(epoch=1)
    pairs = zip(training.averaged.parameters(), training.generator.parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_plain_advantages_are_not_scaled() -> None:
    advantage = torch.tensor([[3.0, -1.0], [0.5, 0.0]])
    assert torch.equal(trained(PlainAdvantage)._scaled(advantage), advantage)
    assert trained(ClassTraining)._scaled(advantage).std() == pytest.approx(1.0)


def test_without_initial_edits_the_untrained_generator_follows_the_squashing_alone() -> None:
    generator = trained(NoInitialEdits).generator
    existing = generator.pairs[1]
    adjacency = torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])
    removal = 1 - torch.sigmoid(generator.uniform(adjacency).detach())[0, 0, 1]
    steepness = math.log(10 * existing) / 1.5
    assert float(removal) == pytest.approx(1 / (1 + math.exp(steepness / 2)), rel=1e-5)


def test_a_plain_inner_product_is_never_learnt_to_have_signs() -> None:
    training = trained(PlainInnerProduct)
    for epoch in range(3):
        training.step(epoch)
    assert torch.equal(training.generator.signs, torch.ones_like(training.generator.signs))
