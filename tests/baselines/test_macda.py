"""MACDA: its reward by hand, its controls by brute force, its learner against plain torch, and a pair it must solve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rsgg.baselines.macda import (
    MACDA,
    ActionEncoder,
    Critic,
    Game,
    Learner,
    Policy,
    alternating,
    by_sides,
    enumeration,
    random_actions,
    reward,
)
from rsgg.errors import UsageError
from rsgg.oracles.affinity import AffinityNetwork, AffinityOracle

pytest.importorskip("rdkit")

DRUG, TARGET = "CCOc1ccccc1", "MKVLAAGIWDE"
QUICK = MACDA(episodes=300, batch=64, interval=50, hidden=16)


def untrained(seed: int = 0) -> AffinityOracle:
    """A network with random weights, large enough that edits matter."""
    torch.manual_seed(seed)
    network = AffinityNetwork().double().eval().requires_grad_(False)
    for parameter in network.head.parameters():
        parameter.mul_(3)
    return AffinityOracle(network, 7.0, float("nan"))


ORACLE = untrained()


def plain_reward(oracle: AffinityOracle, drug: str, target: str) -> float:
    """The reward of one pair in place of (DRUG, TARGET), with numbers and nothing else."""

    def predicted(d: str, t: str) -> float:
        return float(oracle.predict([d], [t]))

    def cosine(a: Tensor, b: Tensor) -> float:
        return float((a @ b) / (a.norm() * b.norm()))

    p0, p = predicted(DRUG, TARGET), predicted(drug, target)
    joint = abs(p - p0) * (1 if p < p0 else -1)
    joint -= abs(predicted(drug, TARGET) - p0) + abs(predicted(DRUG, target) - p0)
    drugs, targets = oracle.encode_drugs([drug, DRUG]), oracle.encode_targets([target, TARGET])
    return joint + 0.05 * cosine(*drugs) + 0.01 * cosine(*targets)


# -- the game ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p0", "p_drug", "p_target", "p", "expected"),
    [
        (7.0, 6.5, 6.8, 5.0, 2.0 - 0.5 - 0.2 + 0.05 * 0.8 + 0.01 * 0.9),  # lower together than by themselves
        (7.0, 7.0, 7.0, 8.0, -1.0 + 0.05 * 0.8 + 0.01 * 0.9),  # a rise is punished
        (7.0, 6.0, 6.5, 5.5, 0.05 * 0.8 + 0.01 * 0.9),  # effects that add up are paid nothing
        (7.0, 8.0, 6.0, 7.0, -2.0 + 0.05 * 0.8 + 0.01 * 0.9),  # effects that cancel cost both
    ],
)
def test_the_reward_by_hand(p0: float, p_drug: float, p_target: float, p: float, expected: float) -> None:
    values = [torch.tensor([value], dtype=torch.float64) for value in (p0, p_drug, p_target, p, 0.8, 0.9)]
    assert float(reward(*values)) == pytest.approx(expected)


def test_a_joint_action_edits_both_sides_once() -> None:
    game = Game(DRUG, TARGET, ORACLE)
    assert game.n_actions == (len(game.drugs), 9), "two of eleven residues are alanine already"
    for position, target in zip(game.residues, game.targets, strict=True):
        assert target == TARGET[:position] + "A" + TARGET[position + 1 :] != TARGET
    assert DRUG not in game.drugs, "doing nothing is no action"
    assert {"COc1ccccc1", "CCOc1ccccc1C", "C=COc1ccccc1"} <= set(game.drugs)


def test_enumeration_is_brute_force() -> None:
    game = Game(DRUG, TARGET, ORACLE)
    best = enumeration(game, keep=3)
    plain = {
        (d, t): plain_reward(ORACLE, game.drugs[d], game.targets[t])
        for d, t in product(range(0, len(game.drugs), 3), range(len(game.targets)))
    }
    drugs, targets = (torch.tensor(side) for side in zip(*plain, strict=True))
    assert game.reward(drugs, targets).tolist() == pytest.approx(list(plain.values()), abs=1e-12)
    assert best.rewards[0] >= max(plain.values()) - 1e-12 and best.rewards == sorted(best.rewards, reverse=True)
    d, t = best.best[0]
    assert plain_reward(ORACLE, game.drugs[d], game.targets[t]) == pytest.approx(best.rewards[0], abs=1e-12)
    counts = len(game.drugs), len(game.targets)
    assert best.tried == counts[0] * counts[1]
    assert best.evaluations == (counts[0] + 1) * (counts[1] + 1), "joint, each side by itself, unchanged: each once"


def test_the_oracle_decides_what_is_best() -> None:
    games = [Game(DRUG, TARGET, untrained(seed)) for seed in (0, 1)]
    assert enumeration(games[0]).best[0] != enumeration(games[1]).best[0]
    assert QUICK.explain(games[0]).best != QUICK.explain(games[1]).best


def test_controls_ask_what_they_say() -> None:
    game = Game(DRUG, TARGET, ORACLE)
    optimum, counts = enumeration(game).rewards[0], game.n_actions
    drawn = random_actions(game, 40, seed=0)
    assert drawn.tried == 40 and 40 < drawn.evaluations <= 40 + sum(counts) + 1
    assert random_actions(game, 10**6, seed=0).rewards[0] == pytest.approx(optimum, abs=1e-12), "all of them"
    sides = by_sides(game)
    unchanged = [float(value) for value in ORACLE.predict(game.drugs, [TARGET] * counts[0])]
    assert sides.best[0][0] == int(np.argmin(unchanged))
    assert sides.evaluations == sum(counts) + 2
    climbed = alternating(game)
    d, t = climbed.best[0]
    row, column = (
        game.reward(torch.arange(counts[0]), torch.full((counts[0],), t)),
        game.reward(torch.full((counts[1],), d), torch.arange(counts[1])),
    )
    assert climbed.rewards[0] == pytest.approx(float(row.max()), abs=1e-12), "no other edit is better for this residue"
    assert climbed.rewards[0] == pytest.approx(float(column.max()), abs=1e-12)
    assert sides.rewards[0] <= climbed.rewards[0] <= optimum + 1e-12


def test_what_cannot_be_edited_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="nothing to edit"):
        Game(DRUG, "AAAAAAAAA", ORACLE)


# -- the learner ---------------------------------------------------------------------------------------------------


def test_a_policy_is_batch_normalisation_and_three_layers() -> None:
    observation = torch.tensor([3.0, 0.0, 1.0, 7.0])
    torch.manual_seed(0)
    policy, norm = Policy(observation, 5, 8), nn.BatchNorm1d(4, affine=False)
    rest = nn.Sequential(policy.fc1, nn.LeakyReLU(), policy.fc2, nn.LeakyReLU(), policy.fc3)
    for _ in range(3):
        assert torch.allclose(policy.eval()(), rest(norm.eval()(observation[None]))[0], atol=1e-5)
        assert torch.allclose(policy.train()(), rest(norm.train()(observation.expand(16, 4)))[0], atol=1e-5)


def test_actions_are_encoded_as_normalised_one_hot_vectors() -> None:
    torch.manual_seed(0)
    encoder, actions = ActionEncoder(6, 8, 10), torch.tensor([0, 0, 2, 3, 3, 3, 5])
    norm = nn.BatchNorm1d(6, affine=False)
    normalised = norm(nn.functional.one_hot(actions, 6).float())
    plain = nn.functional.leaky_relu(normalised @ encoder.weight + encoder.bias)
    assert torch.allclose(encoder(actions), plain, atol=1e-4)


def test_the_critic_sees_the_other_action_and_attention_has_no_say() -> None:
    torch.manual_seed(0)
    critic = Critic([4, 4], [5, 6], 8, 2)
    drugs, targets = torch.randint(5, (40,)), torch.randint(6, (40,))
    hidden, _ = critic((drugs, targets))
    others, _ = critic((drugs, targets.flip(0)))
    assert not torch.allclose(hidden[0], others[0]) and torch.equal(hidden[1], others[1])
    q = hidden[0] @ critic.last[0].weight.T + critic.last[0].bias
    assert torch.allclose(critic.q(0, hidden[0], drugs), q[torch.arange(40), drugs], atol=1e-6)
    chances = torch.rand(5).softmax(0)
    assert torch.allclose(critic.expected(0, hidden[0], chances), q @ chances, atol=1e-6)
    with torch.no_grad():
        critic.keys.weight.mul_(-3)
        critic.selectors.weight.normal_()
    again, _ = critic((drugs, targets))
    assert all(torch.equal(*pair) for pair in zip(hidden, again, strict=True)), "a softmax over one agent is 1"


def learner(recipe: MACDA = QUICK) -> Learner:
    return Learner([torch.rand(12), torch.rand(9)], [5, 6], recipe, seed=0)


def test_gradients_reach_every_parameter_but_those_that_read_the_observation() -> None:
    made = learner()
    actions = torch.randint(5, (64,)), torch.randint(6, (64,))
    made.update(actions, torch.randn(64))
    for name, parameter in made.critic.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().max() > 0, name
    for policy in made.policies:
        for name, parameter in policy.named_parameters():
            reached = parameter.grad is not None and bool(parameter.grad.abs().max() > 0)
            assert reached == (name != "fc1.weight"), name


def easy(best: tuple[int, int]) -> tuple[list[Tensor], tuple[int, int], Callable[[Tensor, Tensor], Tensor]]:
    """A game in which one joint action is paid ten, others nothing or, for one right side, one."""

    def pay(drugs: Tensor, targets: Tensor) -> Tensor:
        right = (drugs == best[0]).double(), (targets == best[1]).double()
        return 8 * right[0] * right[1] + right[0] + right[1]

    return [torch.ones(12), torch.ones(9)], (7, 9), pay


@pytest.mark.parametrize("best", [(6, 0), (1, 7)])
def test_the_learner_finds_the_one_joint_action_that_is_worth_it_and_its_loss_falls(best: tuple[int, int]) -> None:
    """And another one where another one is: it is the rewards that decide."""
    observations, n_actions, pay = easy(best)
    recipe = MACDA(episodes=3000, batch=128, interval=50, hidden=32, lr=3e-3)
    (drugs, targets, _), learnt = recipe.play(observations, n_actions, pay, seed=1)
    assert learnt.greedy() == best
    hits = ((drugs == best[0]) & (targets == best[1])).double()
    assert hits[:500].mean() < 0.2 and hits[-500:].mean() > 0.8, "it plays what it has learnt"
    assert np.mean(learnt.losses[-20:]) < 0.2 * np.mean(learnt.losses[:20])


def test_equal_rewards_teach_nothing_and_break_nothing() -> None:
    (_, _, rewards), learnt = QUICK.play(
        [torch.ones(12), torch.ones(9)], (4, 4), lambda drugs, targets: torch.ones(len(drugs)).double(), seed=0
    )
    assert len(rewards) == 300 and np.isfinite(learnt.losses).all()


def test_a_pair_is_explained_alike_by_the_same_seed_only() -> None:
    game = Game(DRUG, TARGET, ORACLE)
    first, again, other = (QUICK.explain(game, seed) for seed in (0, 0, 1))
    assert (first.best, first.losses, first.evaluations) == (again.best, again.losses, again.evaluations)
    assert first.losses != other.losses
    assert len(first.losses) == 4 * 5, "four updates after each fifty episodes, once there are 64"
    assert first.rewards[0] <= enumeration(game).rewards[0] + 1e-12 and first.tried <= 300


def test_settings_are_the_published_ones_and_others_are_checked() -> None:
    assert MACDA() == MACDA(
        episodes=10_000, batch=1024, interval=100, updates=4, hidden=128, heads=4, lr=1e-3, tau=1e-3,
        reward_scale=100.0, keep=10,
    )  # fmt: skip
    for wrong in ({"episodes": 0}, {"batch": 1}, {"lr": 0.0}, {"tau": 1.1}, {"heads": 3}):
        with pytest.raises(UsageError, match="MACDA cannot"):
            replace(MACDA(), **wrong)
