"""MEG: counterfactuals by deep Q-learning (Numeroso & Bacciu 2021), per instance, on generic graphs.

A state is a graph, an action flips one node pair or does nothing. A network Q(successor, steps left) is learnt by
ε-greedy play from the input, with replay and a slowly following target network:

    r(G') = .9 (.8 p_target(G') + .2 similarity(G, G')),    Q ← gain in r + discount · max Q(next successors).

The ten end states with the highest reward are kept; the answer is the best of them that changes the class. The
Q-learning below knows nothing of graphs: `rsgg.baselines.molecules` plays the same game with RDKit's molecules.

Deviations from the original:

- Episodes may have more than one step, for graphs that need two edits; an episode ends when the class changes. A step's
  reward is the *gain* in r: over an episode gains add up to the end state's r less a constant, and with one-step
  episodes (`horizon=1`, the original) nothing changes.
- A black box has no probability: p_target is [Φ(G') ≠ Φ(G)]. `reward="relaxed"` takes it from the oracle's relaxation
  where there is one (MEG's paper explains a network, whose probability it uses); a soft answer is one call too.
- The similarity is the Jaccard index of the edge sets: the Tanimoto index of the original's fingerprints, on pairs.
- The network reads one bit per candidate pair instead of a fingerprint, so nodes are told apart by their number: not
  permutation invariant. A successor differs from its state in one bit, so that all of them are scored with one
  pre-activation of the first layer plus one signed row of its weights each.
- Graphs with more than `max_actions` pairs: that many candidate pairs are drawn per instance, half of them edges where
  there are enough; the other pairs stay as they are and are no inputs.
- For a CPU: 800 episodes with decay .997 instead of 5000 with .9987, and a gradient step on a few transitions every
  `interval` steps instead of one on a single transition at every step.
- A state is asked about once: its answer is remembered for the rest of the search.
- Further candidates are the further end states of the same search; they cost no further call.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from rsgg.explainer import BUDGET_USED_UP, Candidate, Capabilities, Choice, Explainer, hyper
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle
from rsgg.seeds import numpy_rng, seed_for

HIDDEN_WIDTHS = (512, 128, 32)  # widths of the Q-network between its inputs and its one output
REWARD_SCALE, WEIGHT_TARGET, WEIGHT_SIMILARITY = 0.9, 0.8, 0.2

State = TypeVar("State", bound=Hashable)


def reward(p_target: float, similarity: float) -> float:
    """r = .9 (.8 p_target + .2 similarity)."""
    return REWARD_SCALE * (WEIGHT_TARGET * p_target + WEIGHT_SIMILARITY * similarity)


# -- The game ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judgement:
    """What a state is worth, and whether it is a counterfactual."""

    reward: float
    valid: bool


class Successors(Protocol):
    """The states that are one action away, as the Q-network reads them."""

    def __len__(self) -> int: ...

    def encodings(self, actions: Tensor) -> Tensor:
        """The network's input for these actions (int64), float32 [actions, width]."""

    def first_layer(self, network: QNetwork) -> Tensor:
        """The first layer of the network before its ReLU, for every action, [A, 512]."""


class Environment(Protocol[State]):
    """A game: states, actions and what a state is worth."""

    start: State

    @property
    def width(self) -> int:
        """Inputs of the Q-network, the steps left included."""

    def successors(self, state: State, steps_left: int) -> Successors: ...

    def after(self, state: State, action: int) -> State: ...

    def judge(self, state: State) -> Judgement | None:
        """What a state is worth, by asking the oracle about it; None where the budget forbids that."""


@dataclass(frozen=True)
class EndState(Generic[State]):
    state: State
    judgement: Judgement


@dataclass(frozen=True)
class Recipe:
    """How Q is learnt."""

    episodes: int
    horizon: int
    decay: float
    lr: float
    discount: float
    polyak: float
    replay: int
    batch: int
    interval: int
    keep: int


@dataclass
class Played(Generic[State]):
    """The outcome of a search: the best end states, best first, the loss of every gradient step, the network."""

    network: QNetwork
    best: list[EndState[State]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    out_of_budget: bool = False


# -- The Q-network -----------------------------------------------------------------------------------------


class QNetwork:
    """width → 512 → 128 → 32 → 1 with ReLU; weights are [in, out], so that a row belongs to an input."""

    def __init__(self, width: int, seed: int) -> None:
        sizes = (width, *HIDDEN_WIDTHS, 1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers = [torch.nn.Linear(a, b) for a, b in pairwise(sizes)]
        self.weights = [layer.weight.detach().T.contiguous().requires_grad_() for layer in layers]
        self.biases = [layer.bias.detach().clone().requires_grad_() for layer in layers]

    @property
    def parameters(self) -> list[Tensor]:
        return [*self.weights, *self.biases]

    def copy(self) -> QNetwork:
        """The same network with parameters of its own that are not trained."""
        twin = object.__new__(QNetwork)
        twin.weights = [weight.detach().clone() for weight in self.weights]
        twin.biases = [bias.detach().clone() for bias in self.biases]
        return twin

    def __call__(self, encodings: Tensor) -> Tensor:
        """Q of each row, [rows]."""
        return self.above(torch.addmm(self.biases[0], encodings, self.weights[0]))

    def above(self, first_layer: Tensor) -> Tensor:
        """Q from what the first layer gives before its ReLU, [rows]."""
        x = first_layer
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            x = torch.addmm(bias, x.relu(), weight)
        return x[:, 0]

    @torch.no_grad()
    def of(self, successors: Successors) -> Tensor:
        """Q of every action, [A]."""
        return self.above(successors.first_layer(self))


# -- Q-learning --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Transition:
    """An action that was taken, what it gained, and what could be done next (nothing at the end of an episode)."""

    successors: Successors
    action: int
    gain: float
    following: Successors | None


def q_learning(environment: Environment[State], recipe: Recipe, *names: object) -> Played[State]:
    """Play and learn; every random draw is seeded by these names."""
    rng = numpy_rng(*names, "play")
    learner = _Learner(QNetwork(environment.width, seed_for(*names, "network")), recipe)
    played: Played[State] = Played(learner.network, losses=learner.losses)
    start = environment.judge(environment.start)
    epsilon, steps = 1.0, 0
    for _ in range(recipe.episodes if start else 0):
        state, before = environment.start, start
        for left in range(recipe.horizon, 0, -1):
            successors = environment.successors(state, left)
            greedy = rng.random() >= epsilon
            action = learner.greedy((state, left), successors) if greedy else int(rng.integers(len(successors)))
            state = environment.after(state, action)
            now = environment.judge(state)
            if now is None or before is None:
                played.out_of_budget = True
                return played
            done = now.valid or left == 1
            following = None if done else environment.successors(state, left - 1)
            learner.remember(Transition(successors, action, now.reward - before.reward, following))
            before, steps = now, steps + 1
            if steps % recipe.interval == 0:
                learner.update(rng)
            if done:
                _keep(played.best, EndState(state, now), recipe.keep)
                break
        epsilon *= recipe.decay
    played.out_of_budget = start is None
    return played


def _keep(best: list[EndState[State]], end: EndState[State], count: int) -> None:
    """Insert an end state unless it is there already; the best come first, earlier ones before equals."""
    if all(end.state != other.state for other in best):
        best.append(end)
        best.sort(key=lambda one: -one.judgement.reward)
        del best[count:]


class _Learner:
    """Replay memory, network, target network and Adam."""

    def __init__(self, network: QNetwork, recipe: Recipe) -> None:
        self.network, self.target, self.recipe = network, network.copy(), recipe
        self.adam = torch.optim.Adam(network.parameters, lr=recipe.lr, fused=True)
        self.memory: list[Transition] = []
        self.position = 0
        self.losses: list[float] = []
        self.chosen: dict[Hashable, int] = {}

    def greedy(self, situation: Hashable, successors: Successors) -> int:
        """The action of highest Q; looked up where the network has not changed since the same situation."""
        if situation not in self.chosen:
            self.chosen[situation] = int(self.network.of(successors).argmax())
        return self.chosen[situation]

    def remember(self, transition: Transition) -> None:
        if len(self.memory) < self.recipe.replay:
            self.memory.append(transition)
        else:
            self.memory[self.position] = transition
            self.position = (self.position + 1) % self.recipe.replay

    def update(self, rng: np.random.Generator) -> None:
        """One step of Adam on the Huber loss of a few remembered transitions, then the target follows."""
        if len(self.memory) < self.recipe.batch:
            return
        drawn = [self.memory[i] for i in rng.integers(len(self.memory), size=self.recipe.batch).tolist()]
        inputs = torch.cat([t.successors.encodings(torch.tensor([t.action])) for t in drawn])
        loss = torch.nn.functional.huber_loss(self.network(inputs), self._targets(drawn))
        self.adam.zero_grad()
        loss.backward()
        self.adam.step()
        with torch.no_grad():
            torch._foreach_lerp_(self.target.parameters, self.network.parameters, 1 - self.recipe.polyak)
        self.losses.append(loss.item())
        self.chosen.clear()

    @torch.no_grad()
    def _targets(self, drawn: list[Transition]) -> Tensor:
        """gain + discount · max Q(next successors), by the target network."""
        targets = torch.tensor([t.gain for t in drawn])
        nexts = [(i, t.following) for i, t in enumerate(drawn) if t.following is not None]
        if nexts and self.recipe.discount:
            values = self.target.above(torch.cat([following.first_layer(self.target) for _, following in nexts]))
            for (i, _), value in zip(nexts, values.split([len(following) for _, following in nexts]), strict=True):
                targets[i] += self.recipe.discount * value.max()
        return targets


# -- Graphs as an environment ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PairFlips:
    """One bit per candidate pair and the steps left; action j flips bit j, the last action does nothing."""

    state: Tensor  # float32 [pairs + 1]

    def __len__(self) -> int:
        return len(self.state)

    def encodings(self, actions: Tensor) -> Tensor:
        rows = self.state.repeat(len(actions), 1)
        flips = (actions < len(self.state) - 1).nonzero().flatten()
        rows[flips, actions[flips]] = 1 - rows[flips, actions[flips]]
        return rows

    def first_layer(self, network: QNetwork) -> Tensor:
        """The state's own pre-activation, plus or minus one row of weights for each flipped bit."""
        weight = network.weights[0]
        own = torch.addmv(network.biases[0], weight.T, self.state)
        sign = 1 - 2 * self.state[:, None]
        sign[-1] = 0
        return torch.addcmul(own, sign, weight)


class GraphEnvironment:
    """The game on one graph. A state is the set of flipped candidate pairs, by their positions."""

    def __init__(
        self, graphs: GraphBatch, index: int, class_: int, oracle: CountingOracle, owner: int, pairs: np.ndarray,
        relaxed: bool,
    ) -> None:  # fmt: skip
        self.graphs, self.index, self.class_, self.oracle, self.owner = graphs, index, class_, oracle, owner
        self.pairs, self.relaxed = pairs, relaxed
        self.adjacency = graphs.adjacency[index].cpu().numpy()
        self.edges = int(np.triu(self.adjacency, 1).sum())
        self.bits = torch.from_numpy(self.adjacency[pairs[:, 0], pairs[:, 1]].astype(np.float32))
        self.start: frozenset[int] = frozenset()
        self.known: dict[frozenset[int], Judgement] = {}
        if not relaxed:  # the class of the input is known: nothing to ask
            self.known[self.start] = Judgement(reward(0.0, 1.0), False)

    @property
    def width(self) -> int:
        return len(self.pairs) + 1

    def successors(self, state: frozenset[int], steps_left: int) -> PairFlips:
        encoding = torch.cat((self.bits, torch.tensor([float(steps_left)])))
        if state:
            flipped = list(state)
            encoding[flipped] = 1 - encoding[flipped]
        return PairFlips(encoding)

    def after(self, state: frozenset[int], action: int) -> frozenset[int]:
        return state ^ {action} if action < len(self.pairs) else state

    def edited(self, state: frozenset[int]) -> Tensor:
        """The adjacency matrix of a state, uint8 [N, N]."""
        u, v = self.pairs[list(state)].T
        adjacency = self.adjacency.copy()
        adjacency[u, v] ^= 1
        adjacency[v, u] ^= 1
        return torch.from_numpy(adjacency)

    def judge(self, state: frozenset[int]) -> Judgement | None:
        if state not in self.known:
            if self.oracle.exhausted(self.owner):
                return None
            p_target, valid = self._ask(self.edited(state)[None])
            self.known[state] = Judgement(reward(p_target, self._similarity(state)), valid)
        return self.known[state]

    def _ask(self, adjacency: Tensor) -> tuple[float, bool]:
        """The probability of another class than the input's, and whether the class is another: one call."""
        owner, index = torch.tensor([self.owner]), torch.tensor([self.index])
        asked = self.graphs.candidates(adjacency, index)
        if not self.relaxed:
            flips = bool(self.oracle.predict(asked, owner)[0] != self.class_)
            return float(flips), flips
        with torch.no_grad():
            probabilities = self.oracle.relaxed_graphs(asked, adjacency.float(), owner)[0]
        return 1 - float(probabilities[self.class_]), int(probabilities.argmax()) != self.class_

    def _similarity(self, state: frozenset[int]) -> float:
        """Jaccard index of the edge sets: |E ∩ E'| / |E ∪ E'|."""
        removed = int(self.bits[list(state)].sum())
        union = self.edges + len(state) - removed
        return (self.edges - removed) / union if union else 1.0


def candidate_pairs(adjacency: np.ndarray, size: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """All pairs u < v, or `count` of them, half of these edges where there are enough; int64 [pairs, 2], sorted."""
    u, v = np.triu_indices(size, 1)
    if len(u) > count:
        order = rng.permutation(len(u))
        present = adjacency[u[order], v[order]] > 0
        edges, missing = order[present], order[~present]
        n_edges = min(len(edges), max(count // 2, count - len(missing)))
        chosen = np.sort(np.concatenate((edges[:n_edges], missing[: count - n_edges])))
        u, v = u[chosen], v[chosen]
    return np.stack((u, v), 1)


# -- The explainer -----------------------------------------------------------------------------------------


@dataclass(kw_only=True)
class MEG(Explainer):
    """MEG on generic graphs.

    The RSGG-CE paper gives neither hyper-parameters nor search spaces for it: `paper` is the value of MEG's own paper,
    the spaces are ours.
    """

    episodes: int = hyper(800, "episodes", space=Choice((100, 200, 400, 800)), paper=5000, at_least=1)
    decay: float = hyper(
        0.997, "ε decay", space=Choice((0.97, 0.99, 0.997)), paper=0.9987, at_least=0, at_most=1,
        doc="per episode, from ε = 1",
    )  # fmt: skip
    horizon: int = hyper(
        2, "T", space=Choice((1, 2, 3)), paper=1, at_least=1, doc="steps of an episode; fewer where the class changes"
    )
    reward: str = hyper(
        "class", "p_target", paper="relaxed", choices=("class", "relaxed"),
        doc="class (black box) or relaxed (a probability)",
    )  # fmt: skip
    max_actions: int = hyper(1024, "max actions", at_least=1, doc="candidate pairs per instance")
    batch: int = hyper(4, "batch size", paper=1, at_least=1, doc="transitions per gradient step")
    interval: int = hyper(4, "update interval", paper=1, at_least=1, doc="steps of play per gradient step")
    replay: int = hyper(10_000, "replay", paper=10_000, at_least=1)
    lr: float = hyper(1e-4, "lr", space=Choice((1e-4, 1e-3, 1e-2)), paper=1e-4, above=0)
    discount: float = hyper(0.95, "γ", paper=0.95, at_least=0, at_most=1)
    polyak: float = hyper(0.995, "polyak", paper=0.995, at_least=0, at_most=1)
    keep: int = hyper(10, "counterfactuals", paper=10, at_least=1, doc="end states that are kept")

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, permutation_invariant=False)

    @classmethod
    def tiny(cls) -> MEG:
        return cls(episodes=12, decay=0.85, batch=2, interval=6)

    def _needs_relaxation(self) -> bool:
        return self.reward == "relaxed"

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        # One instance after the other, so that no instance can depend on its neighbours, not even by rounding.
        return [
            candidate
            for index, (name, class_) in enumerate(zip(graphs.names, classes.tolist(), strict=True))
            for candidate in self._search(graphs, index, class_, oracle, k, (seed, "meg", name))
        ]

    def _search(
        self, graphs: GraphBatch, index: int, class_: int, oracle: CountingOracle, k: int, names: tuple[object, ...]
    ) -> list[Candidate]:
        pairs = candidate_pairs(
            graphs.adjacency[index].cpu().numpy(),
            int(graphs.sizes[index]),
            self.max_actions,
            numpy_rng(*names, "pairs"),
        )
        if not len(pairs):
            return [Candidate(None, "the graph has no pair of nodes to edit")] * k
        relaxed = self.reward == "relaxed"
        environment = GraphEnvironment(graphs, index, class_, oracle, index * k, pairs, relaxed)
        played = q_learning(environment, self._recipe(), *names)
        valid = [environment.edited(end.state) for end in played.best if end.judgement.valid]
        reason = f"{len(valid)} of the {self.keep} best end states in {self.episodes} episodes change the class"
        none = Candidate(None, BUDGET_USED_UP if played.out_of_budget else reason)
        return ([Candidate(adjacency) for adjacency in valid] + [none] * k)[:k]

    def _recipe(self) -> Recipe:
        return Recipe(**{name: getattr(self, name) for name in Recipe.__dataclass_fields__})
