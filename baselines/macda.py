"""MACDA: a counterfactual pair of a drug and a target, by two agents (Nguyen, Quinn, Nguyen & Tran 2021).

A regression network says how strongly a drug d binds a target t. MACDA looks for a pair (d', t') that it says binds
less, where both sides matter: one agent edits the drug (one atom or bond, as MEG does), the other replaces one residue
of the target by alanine. With p₀ = f(d, t) and p = f(d', t') both agents are paid

    r = |p − p₀| sign(p₀ − p) − |f(d', t) − p₀| − |f(d, t') − p₀| + .05 cos(x_d', x_d) + .01 cos(x_t', x_t),

x being the encodings inside the network. The two subtracted terms leave what the two edits do together beyond what each
does alone: a pair of edits whose effects add up is paid no more than edits without effect.

*The learner* is MAAC (Iqbal & Sha 2019), an actor-critic with entropy bonus. The critic of agent i encodes the action
of the other one, e_j = leaky(W_j a_j + b), takes values v = leaky(V e_j) of it, and says of each own action

    Q_i(· | a_j) = M_i leaky(N_i [leaky(s_i), v]).

Its target is the reward, standardised over the memory, − log π'(a') / 100. A policy is a network with two hidden layers
and a softmax over the actions; its loss is log π(a) (log π(a) / 100 − (Q(a) − Σ_b π(b) Q(b))).

*An episode has one step* in the published code (`max_steps_per_episode` and `episode_length` are 1), always from the
same pair. So there is no sequence of decisions and no context to decide by: the problem is a bandit whose arms are all
pairs (edit of the drug, residue). That has consequences, which the tests show:

- The discount γ, the target critic and the factor .9^(steps left) of the reward have no effect.
- Batch normalisation subtracts the mean of observations that are all equal: in training a policy reads zeros. The
  weights of its first layer have no gradient, those of the critic's state encoder neither (s_i is its bias).
- Attention chooses among the other agents, of which there is one: its weight is 1 whatever keys and selectors say.
- `enumeration` looks at every arm and so knows the optimum. Which of both asks more depends on the target's length.

So `MACDA` computes what the published code computes, in fewer steps: actions between two updates are drawn at once,
one-hot actions are looked up, and what is multiplied by zero is left out.

Sources: arXiv 2103.12983 and the authors' repository (`docs/evidence.md` cites path and line). Deviations:

1. The network that is explained is smaller and trained here (`rsgg.oracles.affinity`), as the published weights and the
   whole of the Davis data were not at hand.
2. Edits of the drug are those of `rsgg.baselines.molecules`, which differ in details from MolDQN's (both: no aromatic
   bond is touched, rings of five and six atoms). Doing nothing is no action, as in the repository's call.
3. Agents are paid once for a pair; the repository computes the same reward for each of them.
4. A standard deviation of zero, of equal rewards, divides by one; in the repository by zero.
5. Actions are sorted; in the repository they have the order of a set of strings, which changes with every process.

Controls: `enumeration` (the optimum), `random_actions`, `by_sides` (the edit and the residue that lower the prediction
most, each by itself), `alternating` (the best edit for a residue, the best residue for that edit, and so on).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, leaky_relu

from rsgg.baselines.molecules import actions as edits_of
from rsgg.baselines.molecules import canonical, read
from rsgg.errors import UsageError
from rsgg.hyperparameters import Hyperparameters, hyper
from rsgg.oracles.affinity import AffinityOracle
from rsgg.seeds import seed_for, torch_rng

SCANNED = "A"  # alanine, which replaces a residue
OF_JOINT, OF_DRUG, OF_TARGET = 1.0, 0.05, 0.01  # weights of the parts of the reward
FINGERPRINT_BITS, FINGERPRINT_RADIUS = 4096, 2
READ_RESIDUES = 1000  # of a target, by the agent that edits it
RESIDUE_LETTERS = "ABCDEFGHIKLMNOPQRSTUVWXYZ"  # their positions, from 1 on, are what that agent reads
CRITIC_DECAY, REGULARISER = 1e-3, 1e-3
CRITIC_CLIP, POLICY_CLIP = 20.0, 0.5
MOMENTUM, EPSILON = 0.1, 1e-5  # of batch normalisation

Joint = tuple[Tensor, Tensor]  # positions of the drugs' edits and of the targets' edits, int64 [B] each


# -- The game ------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Game:
    """A pair, everything that one edit on each side makes of it, and what each joint action is paid.

    `evaluations` counts the different pairs that the oracle was asked about, the unchanged one included.
    """

    drug: str
    target: str
    oracle: AffinityOracle

    def __post_init__(self) -> None:
        elements = sorted({atom.GetSymbol() for atom in read(self.drug).GetAtoms()})
        own = canonical(self.drug)
        self.drugs = [edited for edited in edits_of(self.drug, elements) if edited != own]
        self.residues = [i for i, residue in enumerate(self.target) if residue != SCANNED]
        self.targets = [f"{self.target[:i]}{SCANNED}{self.target[i + 1 :]}" for i in self.residues]
        if not self.drugs or not self.targets:
            raise UsageError(
                f"There is nothing to edit in {self.drug} with a target of {len(self.target)} residues; give a "
                f"molecule with free valences or single bonds, and a target that is not all {SCANNED}."
            )
        # the unchanged drug and target stand behind the edited ones
        self._drugs = self.oracle.encode_drugs([*self.drugs, own])
        self._targets = self.oracle.encode_targets([*self.targets, self.target])
        self._asked = torch.zeros(len(self._drugs), len(self._targets), dtype=torch.bool)

    @property
    def n_actions(self) -> tuple[int, int]:
        return len(self.drugs), len(self.targets)

    @property
    def evaluations(self) -> int:
        return int(self._asked.sum())

    def forget(self) -> None:
        """Count from zero on."""
        self._asked.zero_()

    @cached_property
    def similarity(self) -> tuple[Tensor, Tensor]:
        """The cosine between the encoding of each edited drug or target and that of the unchanged one."""
        drugs, targets = (cosine_similarity(of[:-1], of[-1:]) for of in (self._drugs, self._targets))
        return drugs, targets

    def predict(self, drugs: Tensor, targets: Tensor) -> Tensor:
        """Predicted affinities; -1 means the unchanged drug or target."""
        self._asked[drugs, targets] = True
        return self.oracle.join(self._drugs[drugs], self._targets[targets])

    def parts(self, drugs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """p₀ [1] and f(d', t), f(d, t'), p of joint actions, [B] each."""
        unchanged = torch.tensor([-1])
        drug, of_drug = drugs.unique(return_inverse=True)
        target, of_target = targets.unique(return_inverse=True)
        p_drug = self.predict(drug, unchanged.expand(len(drug)))[of_drug]
        p_target = self.predict(unchanged.expand(len(target)), target)[of_target]
        return self.predict(unchanged, unchanged), p_drug, p_target, self.predict(drugs, targets)

    def reward(self, drugs: Tensor, targets: Tensor) -> Tensor:
        """r of joint actions, float64 [B]."""
        similar = self.similarity[0][drugs], self.similarity[1][targets]
        return reward(*self.parts(drugs, targets), *similar)

    def change(self, drugs: Tensor, targets: Tensor) -> Tensor:
        """p − p₀ of joint actions; what is asked for this is not counted."""
        return self.oracle.join(self._drugs[drugs], self._targets[targets]) - self.oracle.join(
            self._drugs[-1], self._targets[-1]
        )

    def observations(self) -> tuple[Tensor, Tensor]:
        """What the agents see, always the same: a Morgan fingerprint, and the residues as numbers."""
        from rdkit.Chem import rdFingerprintGenerator

        made = rdFingerprintGenerator.GetMorganGenerator(radius=FINGERPRINT_RADIUS, fpSize=FINGERPRINT_BITS)
        numbers = [RESIDUE_LETTERS.index(residue) + 1.0 for residue in self.target[:READ_RESIDUES]]
        residues = torch.tensor(numbers + [0.0] * (READ_RESIDUES - len(numbers)))
        return torch.from_numpy(made.GetFingerprintAsNumPy(read(self.drug)).astype(np.float32)), residues


def reward(p0: Tensor, p_drug: Tensor, p_target: Tensor, p: Tensor, drug_cos: Tensor, target_cos: Tensor) -> Tensor:
    """r, see the top of this file: the joint effect beyond that of each side, and similarity."""
    joint = (p - p0).abs() * torch.sign(p0 - p) - (p_drug - p0).abs() - (p_target - p0).abs()
    return OF_JOINT * joint + OF_DRUG * drug_cos + OF_TARGET * target_cos


@dataclass
class Search:
    """What a search came to: its best joint actions, best first, with their rewards, and what it asked."""

    best: list[tuple[int, int]]
    rewards: list[float]
    evaluations: int
    tried: int  # different joint actions
    losses: list[float] = field(default_factory=list)  # of the critic, by update
    greedy: tuple[int, int] | None = None  # the joint action that the policies think most of in the end


def _search(game: Game, drugs: Tensor, targets: Tensor, rewards: Tensor, keep: int) -> Search:
    """The best of what was tried, each once."""
    code = (drugs * game.n_actions[1] + targets).numpy()
    _, first = np.unique(code, return_index=True)
    order = first[np.argsort(-rewards.numpy()[first], kind="stable")][:keep]
    best = [(int(drugs[i]), int(targets[i])) for i in order]
    return Search(best, [float(rewards[i]) for i in order], game.evaluations, len(first))


# -- Controls ------------------------------------------------------------------------------------------------------


def enumeration(game: Game, keep: int = 10) -> Search:
    """Every joint action: the optimum."""
    game.forget()
    drugs, targets = all_actions(game)
    return _search(game, drugs, targets, game.reward(drugs, targets), keep)


def all_actions(game: Game) -> Joint:
    """The positions of every joint action."""
    d, t = game.n_actions
    return torch.arange(d).repeat_interleave(t), torch.arange(t).repeat(d)


def random_actions(game: Game, count: int, seed: int, keep: int = 10) -> Search:
    """`count` different joint actions, drawn at random (all of them where there are no more)."""
    game.forget()
    d, t = game.n_actions
    drawn = torch.randperm(d * t, generator=torch_rng(seed, "random", game.drug, game.target))[:count]
    drugs, targets = drawn // t, drawn % t
    return _search(game, drugs, targets, game.reward(drugs, targets), keep)


def by_sides(game: Game) -> Search:
    """The edit of the drug and the residue that lower the prediction most, each with the other side unchanged."""
    game.forget()
    chosen = _lowest_alone(game)
    return _search(game, *chosen, game.reward(*chosen), 1)


def _lowest_alone(game: Game) -> Joint:
    d, t = (torch.arange(n) for n in game.n_actions)
    drug = game.predict(d, torch.full_like(d, -1)).argmin()[None]
    return drug, game.predict(torch.full_like(t, -1), t).argmin()[None]


def alternating(game: Game, keep: int = 10) -> Search:
    """The best edit for a residue, the best residue for this edit, … while that gains; begins as `by_sides` does."""
    game.forget()
    (drug, target), (d, t) = _lowest_alone(game), (torch.arange(n) for n in game.n_actions)
    tried, before, now = list[tuple[Tensor, Tensor, Tensor]](), -np.inf, -np.inf
    while not tried or now > before:
        before = now
        drug, target, _ = _best_of(game, d, target.expand(len(d)), tried)
        drug, target, now = _best_of(game, drug.expand(len(t)), t, tried)
    drugs, targets, rewards = (torch.cat(part) for part in zip(*tried, strict=True))
    return _search(game, drugs, targets, rewards, keep)


def _best_of(
    game: Game, drugs: Tensor, targets: Tensor, tried: list[tuple[Tensor, Tensor, Tensor]]
) -> tuple[Tensor, Tensor, float]:
    """The best of these joint actions and its reward; all of them are noted."""
    rewards = game.reward(drugs, targets)
    tried.append((drugs, targets, rewards))
    best = int(rewards.argmax())
    return drugs[best, None], targets[best, None], float(rewards[best])


# -- The learner ---------------------------------------------------------------------------------------------------


class Policy(nn.Module):
    """π: batch normalisation, two hidden layers with leaky ReLU, logits [A], for an observation that never changes.

    In training the mean of a batch is the observation itself, so that zeros go in; otherwise running statistics
    normalise, which begin with mean 0 and variance 1.
    """

    def __init__(self, observation: Tensor, n_actions: int, hidden: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(len(observation), hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, n_actions)
        self.observation: Tensor
        self.mean: Tensor
        self.variance: Tensor
        self.register_buffer("observation", observation)
        self.register_buffer("mean", torch.zeros_like(observation))
        self.register_buffer("variance", torch.ones(()))  # the same for all: in training every variance is zero

    def forward(self) -> Tensor:
        if self.training:
            self.mean.lerp_(self.observation, MOMENTUM)
            self.variance.mul_(1 - MOMENTUM)
            seen = torch.zeros_like(self.observation)
        else:
            seen = (self.observation - self.mean) / (self.variance + EPSILON).sqrt()
        logits: Tensor = self.fc3(leaky_relu(self.fc2(leaky_relu(self.fc1(seen)))))
        return logits


class ActionEncoder(nn.Module):
    """leaky(W norm(a) + b) of one-hot actions a, normalised over the batch; `fan_in` counts the observation too.

    An action occurs in a share m of the batch, so that its column has mean m and variance m (1 − m).
    """

    def __init__(self, n_actions: int, hidden: int, fan_in: int) -> None:
        super().__init__()
        bound = fan_in**-0.5
        self.weight = nn.Parameter(torch.empty(n_actions, hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(hidden).uniform_(-bound, bound))

    def forward(self, actions: Tensor) -> Tensor:
        mean = torch.bincount(actions, minlength=len(self.weight)).float() / len(actions)
        scale = (mean * (1 - mean) + EPSILON).rsqrt()
        scaled = scale[:, None] * self.weight
        return leaky_relu(scaled[actions] - mean @ scaled + self.bias)


class Critic(nn.Module):
    """Q of both agents. Where an agent's own action is not chosen yet, `hidden` is what Q is linear in."""

    def __init__(self, observations: Sequence[int], n_actions: Sequence[int], hidden: int, heads: int) -> None:
        super().__init__()
        sizes = list(zip(observations, n_actions, strict=True))
        self.heads = heads
        self.encoders = nn.ModuleList(ActionEncoder(a, hidden, o + a) for o, a in sizes)
        self.keys, self.selectors = (nn.Linear(hidden, hidden, bias=False) for _ in range(2))
        self.values = nn.Linear(hidden, hidden)
        self.states = nn.ParameterList(torch.empty(hidden).uniform_(-(o**-0.5), o**-0.5) for o in observations)
        self.first = nn.ModuleList(nn.Linear(2 * hidden, hidden) for _ in sizes)
        self.last = nn.ModuleList(nn.Linear(hidden, a) for a in n_actions)

    def shared(self) -> list[nn.Parameter]:
        """Parameters that both agents' losses reach: their gradients are halved."""
        parts = (self.keys, self.selectors, self.values, self.encoders)
        return [parameter for part in parts for parameter in part.parameters()]

    def forward(self, actions: Joint) -> tuple[list[Tensor], Tensor]:
        """The hidden layers of both agents, [B, hidden] each, and the regulariser of attention."""
        encoded = [encoder(of) for encoder, of in zip(self.encoders, actions, strict=True)]
        hidden, squares = [], encoded[0].new_zeros(())
        for i, first in enumerate(self.first):
            own, other = leaky_relu(self.states[i]), encoded[1 - i]
            selector, keys = (part.unflatten(-1, (self.heads, -1)) for part in (self.selectors(own), self.keys(other)))
            logits = (selector * keys).sum(-1)  # [B, heads]; a softmax over the one other agent is 1
            squares = squares + logits.square().mean(0).sum()
            value = leaky_relu(self.values(other))
            hidden.append(leaky_relu(first(torch.cat((own.expand(len(value), -1), value), 1))))
        return hidden, REGULARISER * squares

    def q(self, agent: int, hidden: Tensor, actions: Tensor) -> Tensor:
        """Q of the chosen actions, [B]."""
        weight, bias = self._last(agent)
        return (hidden * weight[actions]).sum(1) + bias[actions]

    def expected(self, agent: int, hidden: Tensor, probabilities: Tensor) -> Tensor:
        """Σ_b π(b) Q(b), [B]."""
        weight, bias = self._last(agent)
        return hidden @ (probabilities @ weight) + probabilities @ bias

    def _last(self, agent: int) -> tuple[Tensor, Tensor]:
        last = self.last[agent]
        assert isinstance(last, nn.Linear)
        return last.weight, last.bias


class Learner:
    """Both policies, the critic and their optimisers; `update` is one step of all of them."""

    def __init__(self, observations: Sequence[Tensor], n_actions: Sequence[int], recipe: MACDA, seed: int) -> None:
        self.recipe, self.rng = recipe, torch_rng(seed, "draws")
        self.losses: list[float] = []  # of the critic, by update
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed_for(seed, "networks"))
            self.policies = [
                Policy(seen, count, recipe.hidden) for seen, count in zip(observations, n_actions, strict=True)
            ]
            self.critic = Critic([len(seen) for seen in observations], n_actions, recipe.hidden, recipe.heads)
        self.targets = deepcopy(self.policies)
        self.of_policies = [torch.optim.Adam(policy.parameters(), lr=recipe.lr) for policy in self.policies]
        self.of_critic = torch.optim.Adam(self.critic.parameters(), lr=recipe.lr, weight_decay=CRITIC_DECAY)

    @torch.no_grad()
    def act(self, count: int) -> Joint:
        """Joint actions, as the policies are now."""
        drugs, targets = (self._drawn(policy.eval()().softmax(0), count) for policy in self.policies)
        return drugs, targets

    @torch.no_grad()
    def greedy(self) -> tuple[int, int]:
        """The joint action that is most likely."""
        drug, target = (int(policy.eval()().argmax()) for policy in self.policies)
        return drug, target

    def update(self, actions: Joint, rewards: Tensor) -> float:
        """One step on a batch of remembered episodes, whose rewards are standardised; returns the critic's loss."""
        loss = self._update_critic(actions, rewards)
        self._update_policies(len(rewards))
        with torch.no_grad():
            for target, policy in zip(self.targets, self.policies, strict=True):
                for slow, fast in zip(target.parameters(), policy.parameters(), strict=True):
                    slow.lerp_(fast, self.recipe.tau)
        return loss

    def _update_critic(self, actions: Joint, rewards: Tensor) -> float:
        hidden, loss = self.critic(actions)
        for i, target in enumerate(self.targets):
            with torch.no_grad():
                log_pi = target.train()().log_softmax(0)
                wanted = rewards - log_pi[self._drawn(log_pi.exp(), len(rewards))] / self.recipe.reward_scale
            loss = loss + (self.critic.q(i, hidden[i], actions[i]) - wanted).square().mean()
        self.of_critic.zero_grad()
        loss.backward()
        for parameter in self.critic.shared():
            if parameter.grad is not None:
                parameter.grad /= len(self.policies)
        nn.utils.clip_grad_norm_(self.critic.parameters(), CRITIC_CLIP)
        self.of_critic.step()
        return float(loss.detach())

    def _update_policies(self, count: int) -> None:
        logits = [policy.train()() for policy in self.policies]
        drugs, targets = (self._drawn(own.detach().softmax(0), count) for own in logits)
        with torch.no_grad():
            hidden, _ = self.critic((drugs, targets))
        for i, (own, chosen) in enumerate(zip(logits, (drugs, targets), strict=True)):
            log_pi = own.log_softmax(0)
            with torch.no_grad():
                gain = self.critic.q(i, hidden[i], chosen) - self.critic.expected(i, hidden[i], log_pi.exp())
                weight = log_pi[chosen] / self.recipe.reward_scale - gain
            loss = (log_pi[chosen] * weight).mean() + REGULARISER * own.square().mean()
            self.of_policies[i].zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.policies[i].parameters(), POLICY_CLIP)
            self.of_policies[i].step()

    def _drawn(self, probabilities: Tensor, count: int) -> Tensor:
        return torch.multinomial(probabilities, count, replacement=True, generator=self.rng)


@dataclass(frozen=True, kw_only=True)
class MACDA(Hyperparameters):
    """MACDA, see the top of this file; defaults are the published code's."""

    episodes: int = hyper(10_000, "n_episodes", paper=10_000, at_least=1, doc="joint actions that are tried on a pair")
    batch: int = hyper(1024, "batch_size", paper=1024, at_least=2, doc="remembered episodes of an update")
    interval: int = hyper(100, "steps_per_update", paper=100, at_least=1, doc="episodes between updates")
    updates: int = hyper(4, "num_updates", paper=4, at_least=1, doc="updates each time")
    hidden: int = hyper(
        128, "hidden_dim", paper=128, at_least=1, doc="width of policies and critic, a multiple of heads"
    )
    heads: int = hyper(4, "attend_heads", paper=4, at_least=1, doc="heads of attention")
    lr: float = hyper(1e-3, "pi_lr, q_lr", paper=1e-3, above=0.0, doc="Adam's rate, of policies and critic")
    tau: float = hyper(1e-3, "τ", paper=1e-3, above=0.0, at_most=1.0, doc="how fast the target policies follow")
    reward_scale: float = hyper(100.0, "reward_scale", paper=100.0, above=0.0, doc="one over the weight of entropy")
    keep: int = hyper(10, "k", paper=10, at_least=1, doc="best pairs that are kept")

    def __post_init__(self) -> None:
        self.check_values()
        if self.hidden % self.heads:
            raise UsageError(
                f"MACDA cannot cut hidden = {self.hidden} into {self.heads} heads; give a multiple of heads."
            )

    def explain(self, game: Game, seed: int = 0) -> Search:
        """Play and learn on one pair; every draw is seeded by its names."""
        game.forget()
        found, learner = self.play(
            game.observations(), game.n_actions, game.reward, seed_for(seed, "macda", game.drug, game.target)
        )
        result = _search(game, *found, self.keep)
        result.losses, result.greedy = learner.losses, learner.greedy()
        return result

    def play(
        self,
        observations: Sequence[Tensor],
        n_actions: Sequence[int],
        pay: Callable[[Tensor, Tensor], Tensor],
        seed: int,
    ) -> tuple[tuple[Tensor, Tensor, Tensor], Learner]:
        """Any game of two agents with one step: the actions that were tried, what they were paid, and the learner."""
        learner = Learner(observations, n_actions, self, seed)
        drugs, targets, rewards = torch.empty(0).long(), torch.empty(0).long(), torch.empty(0).double()
        while len(rewards) < self.episodes:
            drug, target = learner.act(min(self.interval, self.episodes - len(rewards)))
            drugs, targets = torch.cat((drugs, drug)), torch.cat((targets, target))
            rewards = torch.cat((rewards, pay(drug, target)))
            if len(rewards) < self.batch or len(rewards) % self.interval:
                continue
            standard = (rewards - rewards.mean()) / (float(rewards.std(correction=0)) or 1.0)
            for _ in range(self.updates):
                drawn = torch.randint(len(rewards), (self.batch,), generator=learner.rng)
                learner.losses.append(learner.update((drugs[drawn], targets[drawn]), standard[drawn].float()))
        return (drugs, targets, rewards), learner
