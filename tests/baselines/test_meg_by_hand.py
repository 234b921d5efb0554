"""MEG's Q-learning replayed by hand on a game of its own, its memory and its steps, and what a state is worth."""

from __future__ import annotations

import math
from collections.abc import Hashable
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines import meg
from rsgg.baselines.meg import (
    MEG,
    EndState,
    GraphEnvironment,
    Judgement,
    PairFlips,
    QNetwork,
    Recipe,
    Transition,
    candidate_pairs,
    q_learning,
)
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.seeds import numpy_rng
from tests.baselines.test_meg import Linear

RECIPE = Recipe(
    episodes=12, horizon=3, decay=0.8, lr=1e-3, discount=0.9, polyak=0.9, replay=100, batch=2, interval=2, keep=3
)


class Stairs:
    """A game on whole numbers: an action goes up by 0, 1 or 2; five or more is what is looked for."""

    start = 0
    width = 3

    def __init__(self, answers: float = math.inf) -> None:
        self.answers = answers

    def successors(self, state: int, steps_left: int) -> PairFlips:
        return PairFlips(torch.tensor([float(state), 0.0, float(steps_left)]))

    def after(self, state: int, action: int) -> int:
        return state + action

    def judge(self, state: int) -> Judgement | None:
        self.answers -= 1
        return Judgement(state**2 / 10, state >= 5) if self.answers >= 0 else None


class Spy:
    """Stands in for the learner: always goes up by two when it is asked, and keeps what it was told."""

    def __init__(self, network: QNetwork, recipe: Recipe) -> None:
        self.network, self.losses = network, [0.25]
        spies.append(self)
        self.told: list[tuple[float, int, float, float | None]] = []
        self.updates: list[int] = []

    def greedy(self, situation: Hashable, successors: PairFlips) -> int:
        assert situation == (int(successors.state[0]), int(successors.state[2]))
        return 2

    def remember(self, one: Transition) -> None:
        assert isinstance(one.successors, PairFlips) and (one.following is None or isinstance(one.following, PairFlips))
        following = None if one.following is None else float(one.following.state[2])
        self.told.append((float(one.successors.state[0]), one.action, one.gain, following))

    def update(self, rng: np.random.Generator) -> None:
        self.updates.append(len(self.told))


spies: list[Spy] = []


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> list[Spy]:
    monkeypatch.setattr(meg, "_Learner", Spy)
    spies.clear()
    return spies


def test_play_is_replayed_by_hand(spied: list[Spy]) -> None:
    """ε falls from 1 by a factor per episode; an episode ends at a find or after three steps; rewards are gains."""
    played = q_learning(Stairs(), RECIPE, "stairs")
    rng, epsilon = numpy_rng("stairs", "play"), 1.0
    told: list[tuple[float, int, float, float | None]] = []
    ends: list[int] = []
    for _ in range(12):
        state = 0
        for left in (3, 2, 1):
            action = 2 if rng.random() >= epsilon else int(rng.integers(3))
            following = state + action
            over = following >= 5 or left == 1
            told.append((state, action, (following**2 - state**2) / 10, None if over else left - 1))
            state = following
            if over:
                break
        ends.append(state)
        epsilon *= 0.8
    (spy,) = spied
    assert [one[:2] + one[3:] for one in spy.told] == [one[:2] + one[3:] for one in told]
    assert [one[2] for one in spy.told] == pytest.approx([one[2] for one in told])
    assert spy.updates == list(range(2, len(told) + 1, 2)), "after every second step"
    assert [end.state for end in played.best] == sorted(set(ends), reverse=True)[:3]
    assert [end.judgement.valid for end in played.best] == [end.state >= 5 for end in played.best]
    assert not played.out_of_budget and played.losses is spy.losses and played.network is spy.network


@pytest.mark.parametrize("answers", [0, 1, 5])
def test_without_answers_play_ends(answers: int, spied: list[Spy]) -> None:
    played = q_learning(Stairs(answers), RECIPE, "stairs")
    assert played.out_of_budget and len(spied[0].told) == max(0, answers - 1)


def flips(state: list[float]) -> PairFlips:
    return PairFlips(torch.tensor(state))


def transition(gain: float, following: PairFlips | None = None) -> Transition:
    return Transition(flips([0.0, 1.0, 2.0]), 0, gain, following)


def learner(**settings: float) -> meg._Learner:
    return meg._Learner(QNetwork(3, seed=1), Recipe(**{**vars(RECIPE), **settings}))


def test_the_memory_forgets_the_oldest_first() -> None:
    own = learner(replay=3)
    kept = []
    for gain in range(8):
        own.remember(transition(gain))
        kept.append(sorted(one.gain for one in own.memory))
    assert kept == [[0], [0, 1], *([i, i + 1, i + 2] for i in range(6))]


def test_an_update_is_one_step_of_adam_on_the_huber_loss() -> None:
    own, twin = learner(batch=4, lr=0.01), learner(batch=4, lr=0.01)
    for number in range(4):
        assert not own.losses, "nothing is learnt from fewer transitions than a batch"
        own.update(np.random.default_rng(0))
        own.remember(transition(float(number), flips([1.0, 1.0, 1.0]) if number % 2 else None))
    for parameter in own.network.parameters:
        parameter.grad = torch.full_like(parameter, 7.0)  # from nowhere: to be cleared
    before = [p.detach().clone() for p in own.target.parameters]
    own.greedy("here", flips([0.0, 1.0, 2.0]))
    own.update(np.random.default_rng(5))
    drawn = np.random.default_rng(5).integers(4, size=4).tolist()
    adam = torch.optim.Adam(twin.network.parameters, lr=0.01)
    losses = []
    with torch.no_grad():
        best = max(float(twin.target(flips([1.0, 1.0, 1.0]).encodings(torch.tensor([a])))) for a in range(3))
    for i in drawn:
        error = twin.network(torch.tensor([[1.0, 1.0, 2.0]]))[0] - (i + (0.9 * best if i % 2 else 0.0))
        losses.append(error**2 / 2 if abs(float(error.detach())) <= 1 else error.abs() - 0.5)
    loss = sum(losses, torch.zeros(())) / 4
    loss.backward()
    adam.step()
    assert own.losses == pytest.approx([float(loss.detach())], rel=1e-5)
    for ours, theirs in zip(own.network.parameters, twin.network.parameters, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)
    for target, old, new in zip(own.target.parameters, before, own.network.parameters, strict=True):
        assert torch.allclose(target, 0.9 * old + 0.1 * new.detach(), atol=1e-7)
    assert not own.chosen, "what was best before need not be best now"


def test_without_a_discount_only_the_gain_counts() -> None:
    own = learner(discount=0.0)
    assert own._targets([transition(0.5, flips([1.0, 1.0, 1.0])), transition(-1.0)]).tolist() == [0.5, -1.0]


def test_the_best_action_is_looked_up_until_the_network_changes() -> None:
    own = learner()
    successors = flips([0.0, 1.0, 2.0])
    best = int(torch.stack([own.network(successors.encodings(torch.tensor([a])))[0] for a in range(3)]).argmax())
    assert own.greedy("here", successors) == best
    own.chosen["here"] = 7
    assert own.greedy("here", successors) == 7 and own.greedy("there", successors) == best


def test_a_network_is_known_by_its_seed_and_a_copy_is_its_own() -> None:
    state = torch.get_rng_state()
    one, same, other = QNetwork(5, 1), QNetwork(5, 1), QNetwork(5, 2)
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"
    assert [tuple(w.shape) for w in one.weights] == [(5, 512), (512, 128), (128, 32), (32, 1)]
    assert all(torch.equal(a, b) for a, b in zip(one.parameters, same.parameters, strict=True))
    assert not torch.equal(one.weights[0], other.weights[0])
    twin = one.copy()
    with torch.no_grad():
        one.weights[0] += 1
        one.biases[0] += 1
    assert torch.equal(twin.weights[0], same.weights[0]) and torch.equal(twin.biases[0], same.biases[0])
    assert not any(p.requires_grad for p in twin.parameters) and all(p.requires_grad for p in one.parameters)


# -- Graphs ------------------------------------------------------------------------------------------------


def environment(graph: nx.Graph, relaxed: bool) -> GraphEnvironment:
    graphs = GraphBatch.of([nx.path_graph(3), graph])
    pairs = np.array(list(combinations(range(len(graph)), 2)))
    oracle = Linear() if relaxed else TreeCyclesOracle()
    class_ = int(oracle.predict(graphs)[1])
    return GraphEnvironment(graphs, 1, class_, CountingOracle(oracle), 4, pairs, relaxed)


def test_a_relaxed_reward_is_the_probability_of_another_class() -> None:
    """Node 0 of a star of seven has five of the first five pairs: removing three of them changes the class."""
    env = environment(nx.star_graph(6), relaxed=True)
    for removed, valid in ((0, False), (1, False), (2, False), (3, True)):
        judged = env.judge(frozenset(range(removed)))
        assert judged is not None and judged.valid == valid
        p_other = 1 / (1 + math.exp(2 * (5 - removed - 2.5)))
        assert judged.reward == pytest.approx(0.9 * (0.8 * p_other + 0.2 * (6 - removed) / 6), rel=1e-5)
    assert env.oracle.calls == env.oracle.calls_of(4) == 4, "the input is asked about as well"


def test_the_similarity_is_the_jaccard_index_of_the_edges() -> None:
    env = environment(nx.path_graph(5), relaxed=False)
    before = {tuple(sorted(edge)) for edge in nx.path_graph(5).edges}
    for state in (frozenset[int](), frozenset({0}), frozenset({1, 2}), frozenset({0, 1, 4, 7})):
        after = before ^ {tuple(env.pairs[j].tolist()) for j in state}
        assert env._similarity(state) == pytest.approx(len(before & after) / len(before | after))
    assert environment(nx.empty_graph(4), relaxed=False)._similarity(frozenset()) == 1, "two empty graphs agree"


def test_states_are_read_as_bits_and_steps_left() -> None:
    env = environment(nx.path_graph(3), relaxed=False)  # pairs 01 02 12
    assert env.width == 4
    assert env.successors(frozenset(), 2).state.tolist() == [1, 0, 1, 2]
    assert env.successors(frozenset({0, 1}), 1).state.tolist() == [0, 1, 1, 1]
    assert env.after(frozenset({1}), 1) == frozenset() and env.after(frozenset(), 2) == {2}
    assert env.after(frozenset({1}), 3) == {1}, "the last action does nothing"


def test_graph_features_reach_the_relaxation() -> None:
    class Features(Linear):
        def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
            assert features is not None and features.tolist() == [[[7.0]] * 6]
            return super().relaxed(adjacency, features)

    graphs = GraphBatch.of([Graph(nx.to_numpy_array(nx.star_graph(5)), np.full((6, 1), 7.0))])
    pairs = np.array(list(combinations(range(6), 2)))
    env = GraphEnvironment(graphs, 0, 1, CountingOracle(Features()), 0, pairs, True)
    assert env.judge(frozenset()) is not None


@pytest.mark.parametrize(
    ("missing", "count", "edges"),
    [(5, 20, 15), (5, 8, 4), (20, 9, 4), (44, 30, 1), (20, 44, 24), (22, 44, 22)],  # of 45 pairs
)
def test_candidates_are_half_edges_where_there_are_enough_of_both(missing: int, count: int, edges: int) -> None:
    graph = nx.complete_graph(10)
    graph.remove_edges_from(list(combinations(range(10), 2))[:missing])
    adjacency = nx.to_numpy_array(graph, nodelist=range(10)).astype(np.uint8)
    seen = set()
    for seed in range(5):
        pairs = candidate_pairs(adjacency, 10, count, np.random.default_rng(seed))
        assert pairs.shape == (count, 2) and len({tuple(pair) for pair in pairs.tolist()}) == count
        assert sum(graph.has_edge(*pair) for pair in pairs.tolist()) == edges
        assert pairs.tolist() == sorted(pairs.tolist())
        seen.add(tuple(map(tuple, pairs.tolist())))
    assert len(seen) > 1, "other instances, other pairs"
    everything = candidate_pairs(adjacency, 10, 45, np.random.default_rng(0))
    assert everything.tolist() == [list(pair) for pair in combinations(range(10), 2)]


def test_a_search_charges_the_first_candidate_of_its_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    owners = []

    def played(environment: GraphEnvironment, recipe: Recipe, *names: object) -> meg.Played[frozenset[int]]:
        owners.append((environment.owner, len(environment.pairs), environment.relaxed, recipe, names))
        good = EndState(frozenset({1}), Judgement(0.8, True))
        bad = EndState(frozenset({2}), Judgement(0.9, False))
        return meg.Played(QNetwork(2, 0), [bad, good], out_of_budget=environment.index == 1)

    monkeypatch.setattr(meg, "q_learning", played)
    graphs = GraphBatch.of([nx.path_graph(4), nx.path_graph(5)])
    explainer = MEG(max_actions=7, keep=4)
    found = explainer._explain(graphs, torch.tensor([0, 0]), CountingOracle(TreeCyclesOracle()), 3, 9)
    assert [owner[:3] for owner in owners] == [(0, 6, False), (3, 7, False)]
    assert owners[0][4] == (9, "meg", graphs.names[0]) and owners[1][3].keep == 4
    assert [candidate.adjacency is None for candidate in found] == [False, True, True] * 2
    assert found[1].reason == "1 of the 4 best end states in 800 episodes change the class"
    assert found[4].reason == "the oracle budget was used up"
    assert found[0].adjacency is not None and found[0].adjacency[0, 2] == found[0].adjacency[2, 0] == 1
