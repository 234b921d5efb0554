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
- MEG's paper explains a network and takes p_target from the probabilities that it puts out; no gradient is used. Here
  they are those of the oracle's relaxation, each one call. An oracle without one says classes only, whose
  probabilities are 0 and 1; so p_target is [Φ(G') ≠ Φ(G)], as for every oracle with `reward="class"`.
- The similarity is the Jaccard index of the edge sets: the Tanimoto index of the original's fingerprints, on pairs.
- The network reads one bit per candidate pair instead of a fingerprint, so nodes are told apart by their number: not
  permutation invariant.
- Not all successors are scored. One flip moves Q by about its slope in that bit, which is known of all of them at once;
  the 64 that promise most are scored exactly, each by the state's own first layer plus or minus one row of weights.
- Graphs with more than `max_actions` pairs: that many candidate pairs are drawn per instance, half of them edges where
  there are enough; the other pairs stay as they are and are no inputs.
- For a CPU: 800 episodes with decay .997 instead of 5000 with .9987, and a gradient step on a few transitions every
  `interval` steps instead of one on a single transition at every step.
- A state is asked about once: its answer is remembered for the rest of the search.
- Further candidates are the further end states of the same search; they cost no further call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor

from rsgg.counterfactual import BUDGET_USED_UP, Candidate
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.hyperparameters import Choice, hyper
from rsgg.oracles.counting import CountingOracle
from rsgg.seeds import numpy_rng, seed_for

HIDDEN_WIDTHS = (512, 128, 32)  # widths of the Q-network between its inputs and its one output
REWARD_SCALE, WEIGHT_TARGET, WEIGHT_SIMILARITY = 0.9, 0.8, 0.2
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-8  # of Adam
SHORTLIST = 64  # successors that are scored, of those that the slope of Q promises most of
REWARD_DIGITS = 9  # decimals of a reward: an oracle that rounds differently in a larger batch decides no tie
MAX_BYTES, BYTES_PER_WEIGHT = 1 << 29, 20  # of games at once: network, target, gradient, two moments; in float32

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


class Environment(Protocol[State]):
    """A game: states, actions, and how the Q-network reads them."""

    start: State

    @property
    def width(self) -> int:
        """Inputs of the Q-network, the steps left included."""

    def n_actions(self, state: State) -> int: ...

    def after(self, state: State, action: int) -> State: ...

    def encoding(self, state: State, steps_left: int) -> np.ndarray:
        """The network's input for a state that an action has led to with these steps left, float32 [width]."""

    def best(self, network: QNetwork, state: State, steps_left: int) -> tuple[int, float]:
        """The action that leads to the highest Q, and this Q."""


Judge = Callable[[list[tuple[int, State]]], list[Judgement | None]]
"""What states are worth, each with the number of its game; None where the budget does not allow to ask."""


@dataclass(frozen=True)
class EndState(Generic[State]):
    """A state in which an episode ended, and what it is worth."""

    state: State
    judgement: Judgement


@dataclass(frozen=True)
class Recipe:
    """How Q is learnt: the hyper-parameters of these names of `MEG`, which says what each of them means."""

    episodes: int
    horizon: int  # steps of an episode at most
    decay: float  # of ε per episode
    lr: float
    discount: float
    polyak: float  # how slowly the target network follows
    replay: int  # transitions that are remembered
    batch: int  # transitions per gradient step
    interval: int  # steps of play per gradient step
    keep: int  # end states that are kept


@dataclass
class Played(Generic[State]):
    """The outcome of a search: the best end states, best first, the loss of every gradient step, the network."""

    network: QNetwork
    best: list[EndState[State]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    out_of_budget: bool = False


# -- The Q-network -----------------------------------------------------------------------------------------


class QNetwork:
    """width → 512 → 128 → 32 → 1 with ReLU; weights are [in, out], so that a row belongs to an input.

    All of them are parts of one vector, `parameters`, so that Adam and the target network take one step for all.
    """

    def __init__(self, width: int, seed: int) -> None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            layers = [torch.nn.Linear(a, b) for a, b in pairwise((width, *HIDDEN_WIDTHS, 1))]
        parts = [part.detach().flatten() for layer in layers for part in (layer.weight.T, layer.bias)]
        self._take(width, torch.cat(parts))

    def _take(self, width: int, parameters: Tensor) -> None:
        self.width, self.parameters = width, parameters
        self.weights, self.biases = layers_of(parameters, width)

    def copy(self) -> QNetwork:
        """The same network with parameters of its own."""
        twin = object.__new__(QNetwork)
        twin._take(self.width, self.parameters.clone())
        return twin

    def __call__(self, encodings: Tensor) -> Tensor:
        """Q of each row, [rows]."""
        return self.above(torch.addmm(self.biases[0], encodings, self.weights[0]))

    def above(self, first_layer: Tensor) -> Tensor:
        """Q from what the first layer gives before its ReLU (which is overwritten), [rows]."""
        x = first_layer
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            x = torch.addmm(bias, x.relu_(), weight)
        return x[:, 0]

    def slopes(self, encoding: Tensor) -> tuple[Tensor, Tensor]:
        """The first layer before its ReLU, [512], and the slope of Q in every input, [width], at one encoding."""
        outputs = [torch.addmv(self.biases[0], self.weights[0].T, encoding)]
        for weight, bias in zip(self.weights[1:-1], self.biases[1:-1], strict=True):
            outputs.append(torch.addmv(bias, weight.T, outputs[-1].relu()))
        slope = self.weights[-1][:, 0]
        for weight, output in zip(reversed(self.weights[:-1]), reversed(outputs), strict=True):
            slope = torch.mv(weight, slope * (output > 0))
        return outputs[0], slope

    def loss(self, encodings: Tensor, targets: Tensor, gradient: QNetwork) -> float:
        """The mean Huber loss; its gradient overwrites the parameters of `gradient`.

        By hand, since automatic differentiation takes longer than the arithmetic: with x the input of a layer and δ
        the slope of the loss in its output, the slopes are xᵀδ in its weights, Σ δ in its bias, and δ Wᵀ, where x is
        not zero, in the output of the layer below.
        """
        inputs = [encodings]
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            inputs.append(torch.addmm(bias, inputs[-1], weight).relu_())
        error = torch.addmm(self.biases[-1], inputs[-1], self.weights[-1]) - targets[:, None]
        slope = error.clamp(-1, 1).div_(len(targets))
        for layer in reversed(range(len(inputs))):
            torch.mm(inputs[layer].T, slope, out=gradient.weights[layer])
            torch.sum(slope, 0, out=gradient.biases[layer])
            if layer:
                slope = torch.mm(slope, self.weights[layer].T).mul_(inputs[layer] > 0)
        return float(torch.nn.functional.huber_loss(error, torch.zeros_like(error)))


def layers_of(parameters: Tensor, width: int) -> tuple[list[Tensor], list[Tensor]]:
    """The weights [in, out] and biases [out] of every layer, as views of one vector."""
    shapes = [shape for a, b in pairwise((width, *HIDDEN_WIDTHS, 1)) for shape in ((a, b), (b,))]
    parts = parameters.split([math.prod(shape) for shape in shapes])
    views = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
    return views[::2], views[1::2]


# -- Q-learning --------------------------------------------------------------------------------------------


def q_learning(
    environments: Sequence[Environment[State]], judge: Judge[State], recipe: Recipe, names: Sequence[Sequence[object]]
) -> list[Played[State]]:
    """Play and learn in each of these games; every random draw is seeded by the names of its game.

    The games are independent of each other. They are played in lock step, so that the states of all of them are judged
    at once.
    """
    games = [_play(environment, recipe, *own) for environment, own in zip(environments, names, strict=True)]
    played: dict[int, Played[State]] = {}
    asked = [(number, next(game)) for number, game in enumerate(games)]
    while asked:
        following = []
        for (number, _), judgement in zip(asked, judge(asked), strict=True):
            try:
                following.append((number, games[number].send(judgement)))
            except StopIteration as end:
                played[number] = end.value
        asked = following
    return [played[number] for number in range(len(games))]


def _play(
    environment: Environment[State], recipe: Recipe, *names: object
) -> Generator[State, Judgement | None, Played[State]]:
    """Train on one graph. A generator: it yields each state whose reward it needs and is sent its `Judgement`."""
    rng = numpy_rng(*names, "play")
    learner = _Learner(environment, recipe, seed_for(*names, "network"))
    played: Played[State] = Played(learner.network, losses=learner.losses)
    start = yield environment.start
    epsilon, steps = 1.0, 0
    for _ in range(recipe.episodes if start else 0):
        state, before = environment.start, start
        for left in range(recipe.horizon, 0, -1):
            greedy = rng.random() >= epsilon
            action = learner.greedy(state, left) if greedy else int(rng.integers(environment.n_actions(state)))
            state = environment.after(state, action)
            now = yield state
            if now is None or before is None:
                played.out_of_budget = True
                return played
            done = now.valid or left == 1
            learner.remember(Transition(state, left, now.reward - before.reward, done))
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
    if len(best) == count and end.judgement.reward <= best[-1].judgement.reward:
        return  # it would come last and be cut off
    if all(end.state != other.state for other in best):
        best.append(end)
        best.sort(key=lambda one: -one.judgement.reward)
        del best[count:]


@dataclass(frozen=True)
class Transition(Generic[State]):
    """The state that an action led to, the steps that were left before it, what it gained, and was it the last one?"""

    state: State
    steps_left: int
    gain: float
    last: bool


class _Learner(Generic[State]):
    """Replay memory, network, target network and Adam of one game."""

    def __init__(self, environment: Environment[State], recipe: Recipe, seed: int) -> None:
        self.environment, self.recipe = environment, recipe
        self.network = QNetwork(environment.width, seed)
        self.target, self.gradient = self.network.copy(), self.network.copy()
        self.adam = _Adam(self.network.parameters, recipe.lr)
        self.memory: list[Transition[State]] = []
        self.position = 0
        self.losses: list[float] = []
        self.chosen: dict[Hashable, int] = {}

    def greedy(self, state: State, left: int) -> int:
        """The action of highest Q; looked up where the network has not changed since the same situation."""
        if (state, left) not in self.chosen:
            self.chosen[state, left] = self.environment.best(self.network, state, left)[0]
        return self.chosen[state, left]

    def remember(self, transition: Transition[State]) -> None:
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
        encodings = np.stack([self.environment.encoding(one.state, one.steps_left) for one in drawn])
        self.losses.append(self.network.loss(torch.from_numpy(encodings), self._targets(drawn), self.gradient))
        self.adam.step(self.gradient.parameters)
        self.target.parameters.lerp_(self.network.parameters, 1 - self.recipe.polyak)
        self.chosen.clear()

    def _targets(self, drawn: list[Transition[State]]) -> Tensor:
        """gain + discount · max Q(next successors), by the target network."""
        targets = [one.gain for one in drawn]
        for i, one in enumerate(drawn):
            if self.recipe.discount and not one.last:
                _, following = self.environment.best(self.target, one.state, one.steps_left - 1)
                targets[i] += self.recipe.discount * following
        return torch.tensor(targets)


class _Adam:
    """Adam (Kingma & Ba 2015) on one vector; `torch.optim` spends longer on its bookkeeping than on this arithmetic."""

    def __init__(self, parameters: Tensor, lr: float) -> None:
        self.parameters, self.lr, self.steps = parameters, lr, 0
        # Next to nothing instead of zero, whose square root takes MKL twenty times as long as that of other numbers.
        self.first, self.second = torch.zeros_like(parameters), torch.full_like(parameters, 1e-34)

    def step(self, gradient: Tensor) -> None:
        """One step against the gradient, whose memory is used up for it."""
        self.steps += 1
        self.first.lerp_(gradient, 1 - BETA1)
        self.second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        # θ -= lr m̂ / (√v̂ + ε), with m̂ = m / (1 - β₁ᵗ) and v̂ = v / (1 - β₂ᵗ)
        root = math.sqrt(1 - BETA2**self.steps)
        divisor = torch.sqrt(self.second, out=gradient).add_(EPSILON * root)
        self.parameters.addcdiv_(self.first, divisor, value=-self.lr * root / (1 - BETA1**self.steps))


# -- Graphs as environments --------------------------------------------------------------------------------


class PairFlips:
    """The game on one graph. A state is the set of flipped candidate pairs, by their positions.

    Action j flips pair j, the last action does nothing. The network reads a bit per candidate pair and the steps left.
    """

    start: frozenset[int] = frozenset()

    def __init__(self, adjacency: np.ndarray, pairs: np.ndarray) -> None:
        self.adjacency, self.pairs = adjacency, pairs
        self.edges = int(np.triu(adjacency, 1).sum())
        self.bits = np.append(adjacency[pairs[:, 0], pairs[:, 1]], 0).astype(np.float32)  # the last: steps left

    @property
    def width(self) -> int:
        return len(self.pairs) + 1

    def n_actions(self, state: frozenset[int]) -> int:
        return len(self.pairs) + 1

    def after(self, state: frozenset[int], action: int) -> frozenset[int]:
        return state ^ {action} if action < len(self.pairs) else state

    def encoding(self, state: frozenset[int], steps_left: int) -> np.ndarray:
        encoding, flipped = self.bits.copy(), list(state)
        encoding[flipped] = 1 - encoding[flipped]
        encoding[-1] = steps_left
        return encoding

    def best(self, network: QNetwork, state: frozenset[int], steps_left: int) -> tuple[int, float]:
        """The action with the highest Q, and its value; only those of the steepest slope are scored (`SHORTLIST`).

        A successor differs from its state in one bit, so that its first layer is the state's own, plus or minus one
        row of weights.
        """
        encoding = torch.from_numpy(self.encoding(state, steps_left))
        own, slope = network.slopes(encoding)
        sign = 1 - 2 * encoding
        sign[-1] = 0
        actions = (slope * sign).topk(min(SHORTLIST, len(sign))).indices
        values = network.above(torch.addcmul(own, sign[actions, None], network.weights[0].index_select(0, actions)))
        best, place = values.max(0)
        return int(actions[place]), float(best)

    def edited(self, state: frozenset[int]) -> np.ndarray:
        """The adjacency matrix of a state, uint8 [N, N]."""
        adjacency = self.adjacency.copy()
        if state:
            u, v = self.pairs[list(state)].T
            adjacency[u, v] ^= 1
            adjacency[v, u] ^= 1
        return adjacency

    def similarity(self, state: frozenset[int]) -> float:
        """Jaccard index of the edge sets: |E ∩ E'| / |E ∪ E'|."""
        removed = int(self.bits[list(state)].sum())
        union = self.edges + len(state) - removed
        return (self.edges - removed) / union if union else 1.0


@dataclass
class GraphJudge:
    """What states of several graphs are worth; all that are not known yet are one question to the oracle.

    `index` is the place of each game's graph in the batch and `owner` whom its calls are charged to.
    """

    environments: Sequence[PairFlips]
    graphs: GraphBatch
    classes: Tensor
    oracle: CountingOracle
    index: Tensor
    owner: Tensor
    relaxed: bool

    def __post_init__(self) -> None:
        # Without a relaxation the input is worth what its class says, which is known.
        known = {} if self.relaxed else {PairFlips.start: Judgement(reward(0.0, 1.0), False)}
        self.known: list[dict[frozenset[int], Judgement]] = [dict(known) for _ in self.environments]

    def __call__(self, asked: list[tuple[int, frozenset[int]]]) -> list[Judgement | None]:
        new = [(game, state) for game, state in asked if state not in self.known[game]]
        if self.oracle.limited:
            new = [(game, state) for game, state in new if not self.oracle.exhausted(int(self.owner[game]))]
        if new:
            p_target, valid = self._ask(new)
            for (game, state), p, flips in zip(new, p_target.tolist(), valid.tolist(), strict=True):
                worth = reward(p, self.environments[game].similarity(state))
                self.known[game][state] = Judgement(round(worth, REWARD_DIGITS), flips)
        return [self.known[game].get(state) for game, state in asked]

    @torch.no_grad()
    def _ask(self, new: list[tuple[int, frozenset[int]]]) -> tuple[Tensor, Tensor]:
        """The probability of another class than the input's, and whether the class is another: one call per state."""
        games = torch.tensor([game for game, _ in new])
        index, owner = self.index[games], self.owner[games]
        adjacency = torch.from_numpy(np.stack([self.environments[game].edited(state) for game, state in new]))
        candidates, classes = self.graphs.candidates(adjacency, index), self.classes[index]
        if not self.relaxed:
            flips = self.oracle.predict(candidates, owner) != classes
            return flips.double(), flips
        probabilities = self.oracle.relaxed_graphs(candidates, adjacency.float(), owner)
        return 1 - probabilities.gather(1, classes[:, None])[:, 0].double(), probabilities.argmax(1) != classes


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
        "relaxed", "p_target", paper="relaxed", choices=("class", "relaxed"),
        doc="relaxed (the probability, where the oracle gives one) or class (0 or 1)",
    )  # fmt: skip
    max_actions: int = hyper(1024, "max actions", at_least=1, doc="candidate pairs per instance")
    batch: int = hyper(4, "batch size", paper=1, at_least=1, doc="transitions per gradient step")
    interval: int = hyper(8, "update interval", paper=1, at_least=1, doc="steps of play per gradient step")
    replay: int = hyper(10_000, "replay", paper=10_000, at_least=1)
    lr: float = hyper(1e-4, "lr", space=Choice((1e-4, 1e-3, 1e-2)), paper=1e-4, above=0)
    discount: float = hyper(0.95, "γ", paper=0.95, at_least=0, at_most=1)
    polyak: float = hyper(0.995, "polyak", paper=0.995, at_least=0, at_most=1)
    keep: int = hyper(10, "counterfactuals", paper=10, at_least=1, doc="end states that are kept")

    capabilities: ClassVar[Capabilities] = Capabilities(adds=True, removes=True, permutation_invariant=False)

    @classmethod
    def tiny(cls) -> MEG:
        return cls(episodes=12, decay=0.85, batch=2, interval=6)

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        nothing = Candidate(None, "the graph has no pair of nodes to edit")
        found = [[nothing] * k for _ in graphs.names]
        for part in self._parts(graphs):
            names = [(seed, "meg", graphs.names[i]) for i in part]
            environments = [self._environment(graphs, i, own) for i, own in zip(part, names, strict=True)]
            index = torch.tensor(part)
            relaxed = self.reward == "relaxed" and not oracle.why_not_differentiable()
            judge = GraphJudge(environments, graphs, classes.cpu(), oracle, index, index * k, relaxed)
            played = q_learning(environments, judge, self._recipe(), names)
            for i, environment, search in zip(part, environments, played, strict=True):
                found[i] = self._candidates_of(environment, search, k)
        return [candidate for own in found for candidate in own]

    def _parts(self, graphs: GraphBatch) -> list[list[int]]:
        """The graphs with more than one node, as many at a time as fit into memory with their networks."""
        most = min(self.max_actions, graphs.n_nodes * (graphs.n_nodes - 1) // 2) + 1
        at_once = max(1, MAX_BYTES // (BYTES_PER_WEIGHT * HIDDEN_WIDTHS[0] * (most + HIDDEN_WIDTHS[1])))
        editable = (graphs.sizes > 1).nonzero().flatten()
        return [part.tolist() for part in editable.split(at_once) if len(part)]

    def _environment(self, graphs: GraphBatch, index: int, names: tuple[object, ...]) -> PairFlips:
        adjacency, size = graphs.adjacency[index].cpu().numpy(), int(graphs.sizes[index])
        return PairFlips(adjacency, candidate_pairs(adjacency, size, self.max_actions, numpy_rng(*names, "pairs")))

    def _candidates_of(self, environment: PairFlips, played: Played[frozenset[int]], k: int) -> list[Candidate]:
        """The end states that change the class, best first; where they are fewer than k, why."""
        ends = [environment.edited(end.state) for end in played.best if end.judgement.valid]
        reason = f"{len(ends)} of the {self.keep} best end states in {self.episodes} episodes change the class"
        none = Candidate(None, BUDGET_USED_UP if played.out_of_budget else reason)
        return ([Candidate(torch.from_numpy(adjacency)) for adjacency in ends] + [none] * k)[:k]

    def _recipe(self) -> Recipe:
        return Recipe(**{name: getattr(self, name) for name in Recipe.__dataclass_fields__})
