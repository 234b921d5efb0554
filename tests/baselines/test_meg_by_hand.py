"""MEG's Q-learning replayed by hand on a game of its own, its memory and its steps, and what a state is worth."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines import meg
from rsgg.baselines.meg import (
    MEG,
    EndState,
    GraphJudge,
    Judgement,
    PairFlips,
    Played,
    QNetwork,
    Recipe,
    Transition,
    candidate_pairs,
    q_learning,
)
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.seeds import numpy_rng, seed_for
from tests.baselines.test_meg import Linear, environment

RECIPE = Recipe(
    episodes=12, horizon=3, decay=0.8, lr=1e-3, discount=0.9, polyak=0.9, replay=100, batch=2, interval=2, keep=3
)


class Stairs:
    """A game on whole numbers: an action goes up by 0, 1 or 2; five or more is what is looked for."""

    start = 0
    width = 2

    def n_actions(self, state: int) -> int:
        return 3

    def after(self, state: int, action: int) -> int:
        return state + action

    def encoding(self, state: int, steps_left: int) -> np.ndarray:
        return np.array([state, steps_left], dtype=np.float32)

    def best(self, network: QNetwork, state: int, steps_left: int) -> tuple[int, float]:
        values = network(torch.tensor([[state + action, steps_left] for action in range(3)], dtype=torch.float32))
        return int(values.argmax()), float(values.max())


def judging(answers: float = math.inf) -> Callable[[list[tuple[int, int]]], list[Judgement | None]]:
    """A state's worth is its square; after so many answers there are no more."""
    left = [answers]

    def judge(asked: list[tuple[int, int]]) -> list[Judgement | None]:
        left[0] -= 1
        return [Judgement(state**2 / 10, state >= 5) if left[0] >= 0 else None for _, state in asked]

    return judge


class Spy:
    """Stands in for the learner: always goes up by two when it is asked, and keeps what it was told."""

    def __init__(self, environment: Stairs, recipe: Recipe, seed: int) -> None:
        self.network, self.losses = QNetwork(environment.width, seed), [0.25]
        spies.append(self)
        self.told: list[Transition[int]] = []
        self.updates: list[int] = []

    def greedy(self, state: int, left: int) -> int:
        return 2

    def remember(self, one: Transition[int]) -> None:
        self.told.append(one)

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
    names = [("stairs",), ("other", "stairs")]  # two games in lock step, of which neither notices the other
    for number, played in enumerate(q_learning([Stairs(), Stairs()], judging(), RECIPE, names)):
        rng, epsilon = numpy_rng(*names[number], "play"), 1.0
        told: list[tuple[int, int, float, bool]] = []
        ends: list[int] = []
        for _ in range(12):
            state = 0
            for left in (3, 2, 1):
                action = 2 if rng.random() >= epsilon else int(rng.integers(3))
                following = state + action
                over = following >= 5 or left == 1
                told.append((following, left, (following**2 - state**2) / 10, over))
                state = following
                if over:
                    break
            ends.append(state)
            epsilon *= 0.8
        spy = spied[number]
        assert [(one.state, one.steps_left, one.last) for one in spy.told] == [(s, n, last) for s, n, _, last in told]
        assert [one.gain for one in spy.told] == pytest.approx([gain for *_, gain, _ in told])
        assert spy.updates == list(range(2, len(told) + 1, 2)), "after every second step"
        assert [end.state for end in played.best] == sorted(set(ends), reverse=True)[:3]
        assert [end.judgement.valid for end in played.best] == [end.state >= 5 for end in played.best]
        assert not played.out_of_budget and played.losses is spy.losses and played.network is spy.network
        expected = QNetwork(2, seed_for(*names[number], "network")).parameters
        assert torch.equal(played.network.parameters, expected)


@pytest.mark.parametrize("answers", [0, 1, 5])
def test_without_answers_play_ends(answers: int, spied: list[Spy]) -> None:
    (played,) = q_learning([Stairs()], judging(answers), RECIPE, [("stairs",)])
    assert played.out_of_budget and len(spied[0].told) == max(0, answers - 1)


def learner(**settings: float) -> meg._Learner[int]:
    return meg._Learner(Stairs(), Recipe(**{**vars(RECIPE), **settings}), seed=1)


def test_the_memory_forgets_the_oldest_first() -> None:
    own = learner(replay=3)
    kept = []
    for gain in range(8):
        own.remember(Transition(0, 1, gain, True))
        kept.append(sorted(one.gain for one in own.memory))
    assert kept == [[0], [0, 1], *([i, i + 1, i + 2] for i in range(6))]


def test_an_update_is_one_step_of_adam_on_the_huber_loss() -> None:
    own, twin = learner(batch=4, lr=0.01), learner(batch=4, lr=0.01)
    for number in range(4):
        assert not own.losses, "nothing is learnt from fewer transitions than a batch"
        own.update(np.random.default_rng(0))
        own.remember(Transition(number, 2, float(number), number % 2 == 0))
    own.gradient.parameters.fill_(7.0)  # from nowhere: to be overwritten
    before = own.target.parameters.clone()
    own.greedy(0, 2)
    own.update(np.random.default_rng(5))
    drawn = np.random.default_rng(5).integers(4, size=4).tolist()
    weights = twin.network.parameters.clone().requires_grad_()
    twin.network._take(2, weights)
    losses = []
    for i in drawn:
        x = torch.tensor([[float(i), 2.0]])
        for layer, (weight, bias) in enumerate(zip(twin.network.weights, twin.network.biases, strict=True)):
            x = (x if layer == 0 else x.relu()) @ weight + bias
        error = x[0, 0] - (i + (0.9 * Stairs().best(twin.target, i, 1)[1] if i % 2 else 0.0))
        losses.append(error**2 / 2 if abs(float(error.detach())) <= 1 else error.abs() - 0.5)
    loss = sum(losses, torch.zeros(())) / 4
    loss.backward()
    torch.optim.Adam([weights], lr=0.01).step()
    assert own.losses == pytest.approx([float(loss.detach())], rel=1e-5)
    assert torch.allclose(own.network.parameters, weights.detach(), atol=1e-6)
    assert torch.allclose(own.target.parameters, 0.9 * before + 0.1 * own.network.parameters, atol=1e-7)
    assert not own.chosen, "what was best before need not be best now"


def test_without_a_discount_only_the_gain_counts() -> None:
    own = learner(discount=0.0)
    assert own._targets([Transition(1, 2, 0.5, False), Transition(1, 1, -1.0, True)]).tolist() == [0.5, -1.0]


def test_the_best_action_is_looked_up_until_the_network_changes() -> None:
    own = learner()
    best = Stairs().best(own.network, 3, 2)[0]
    assert own.greedy(3, 2) == best
    own.chosen[3, 2] = 7
    assert own.greedy(3, 2) == 7 and own.greedy(3, 1) == Stairs().best(own.network, 3, 1)[0]


def test_a_network_is_known_by_its_seed_and_a_copy_is_its_own() -> None:
    state = torch.get_rng_state()
    one, same, other = QNetwork(5, 1), QNetwork(5, 1), QNetwork(5, 2)
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"
    assert [tuple(w.shape) for w in one.weights] == [(5, 512), (512, 128), (128, 32), (32, 1)]
    assert [len(bias) for bias in one.biases] == [512, 128, 32, 1]
    torch.manual_seed(1)
    layers = [torch.nn.Linear(a, b) for a, b in ((5, 512), (512, 128), (128, 32), (32, 1))]
    torch.set_rng_state(state)
    for layer, weight, bias in zip(layers, one.weights, one.biases, strict=True):
        assert torch.equal(layer.weight.T, weight) and torch.equal(layer.bias, bias)
    assert torch.equal(one.parameters, same.parameters) and not torch.equal(one.parameters, other.parameters)
    twin = one.copy()
    one.parameters += 1
    assert torch.equal(twin.parameters, same.parameters) and torch.equal(twin.weights[0], same.weights[0])
    assert torch.equal(one.weights[0], same.weights[0] + 1), "layers are parts of the vector"


# -- Graphs ------------------------------------------------------------------------------------------------


def judge_of(graph: nx.Graph, relaxed: bool) -> GraphJudge:
    graphs = GraphBatch.of([nx.path_graph(3), graph])
    oracle = Linear() if relaxed else TreeCyclesOracle()
    index, owner = torch.tensor([1]), torch.tensor([4])
    counted = CountingOracle(oracle)
    return GraphJudge([environment(graph)], graphs, oracle.predict(graphs), counted, index, owner, relaxed)


def test_a_relaxed_reward_is_the_probability_of_another_class() -> None:
    """Node 0 of a star of seven has five of the first five pairs: removing three of them changes the class."""
    judge = judge_of(nx.star_graph(6), relaxed=True)
    for removed, valid in ((0, False), (1, False), (2, False), (3, True)):
        (judged,) = judge([(0, frozenset(range(removed)))])
        assert judged is not None and judged.valid == valid
        p_other = 1 / (1 + math.exp(2 * (5 - removed - 2.5)))
        assert judged.reward == pytest.approx(0.9 * (0.8 * p_other + 0.2 * (6 - removed) / 6), rel=1e-5)
    assert judge.oracle.calls == judge.oracle.calls_of(4) == 4, "the input is asked about as well"


def test_the_similarity_is_the_jaccard_index_of_the_edges() -> None:
    env = environment(nx.path_graph(5))
    before = {tuple(sorted(edge)) for edge in nx.path_graph(5).edges}
    for state in (frozenset[int](), frozenset({0}), frozenset({1, 2}), frozenset({0, 1, 4, 7})):
        after = before ^ {tuple(env.pairs[j].tolist()) for j in state}
        assert env.similarity(state) == pytest.approx(len(before & after) / len(before | after))
    assert environment(nx.empty_graph(4)).similarity(frozenset()) == 1, "two empty graphs agree"


def test_states_are_read_as_bits_and_steps_left() -> None:
    env = environment(nx.path_graph(3))  # pairs 01 02 12
    assert env.width == 4 == env.n_actions(frozenset())
    assert env.encoding(frozenset(), 2).tolist() == [1, 0, 1, 2]
    assert env.encoding(frozenset({0, 1}), 1).tolist() == [0, 1, 1, 1]
    assert env.encoding(frozenset(), 3).tolist() == [1, 0, 1, 3], "one encoding does not change another"
    assert env.after(frozenset({1}), 1) == frozenset() and env.after(frozenset(), 2) == {2}
    assert env.after(frozenset({1}), 3) == {1}, "the last action does nothing"


def test_graph_features_reach_the_relaxation() -> None:
    class Features(Linear):
        def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
            assert features is not None and features.tolist() == [[[7.0]] * 6]
            return super().relaxed(adjacency, features)

    graphs = GraphBatch.of([Graph(nx.to_numpy_array(nx.star_graph(5)), np.full((6, 1), 7.0))])
    zero, counted = torch.zeros(1, dtype=torch.long), CountingOracle(Features())
    judge = GraphJudge([environment(nx.star_graph(5))], graphs, torch.tensor([1]), counted, zero, zero, True)
    assert judge([(0, frozenset())]) != [None]


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
    asked: list[Any] = []

    def played(environments: list[PairFlips], judge: GraphJudge, recipe: Recipe, names: Any) -> list[Played[Any]]:
        asked.append((judge, recipe, names, [len(env.pairs) for env in environments]))
        good = EndState(frozenset({1}), Judgement(0.8, True))
        bad = EndState(frozenset({2}), Judgement(0.9, False))
        return [Played(QNetwork(2, 0), [bad, good], out_of_budget=number == 1) for number in range(len(environments))]

    monkeypatch.setattr(meg, "q_learning", played)
    graphs = GraphBatch.of([nx.path_graph(4), nx.empty_graph(1), nx.path_graph(5)])
    explainer = MEG(max_actions=7, keep=4)
    found = explainer._explain(graphs, torch.tensor([0, 0, 0]), CountingOracle(TreeCyclesOracle()), 3, 9)
    ((judge, recipe, names, widths),) = asked
    assert judge.index.tolist() == [0, 2] and judge.owner.tolist() == [0, 6] and widths == [6, 7] and recipe.keep == 4
    assert names == [(9, "meg", graphs.names[0]), (9, "meg", graphs.names[2])] and judge.relaxed
    assert [candidate.adjacency is None for candidate in found] == [False, True, True, *[True] * 3, False, True, True]
    assert found[1].reason == "1 of the 4 best end states in 800 episodes change the class"
    assert found[3].reason == "the graph has no pair of nodes to edit"
    assert found[7].reason == "the oracle budget was used up"
    assert found[0].adjacency is not None and found[0].adjacency[0, 2] == found[0].adjacency[2, 0] == 1
