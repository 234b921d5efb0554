"""MEG against full forward passes, closed forms, brute force and sequential arithmetic."""

from collections.abc import Callable
from dataclasses import replace
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
    QNetwork,
    Transition,
    _Adam,
    _keep,
    _Learner,
    candidate_pairs,
    layers_of,
    q_learning,
    reward,
)
from rsgg.baselines.released.meg import ReleasedMEG
from rsgg.contract.checking import run_check
from rsgg.contract.explainer import CHECKS, Subject, TriangleOracle
from rsgg.errors import UsageError
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from tests.graphs import has_cycle, tree, unicyclic

EASY = MEG(episodes=60, decay=0.95, batch=4, interval=2)


class CompleteOracle(Oracle):
    """Class 1 iff every pair of nodes is joined."""

    name = "complete"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.n_edges == graphs.sizes * (graphs.sizes - 1) // 2).long()


class Linear(Oracle):
    """Class 1 iff more than half of the first five pairs of node 0 are edges; its relaxation is a sigmoid of that."""

    name = "linear"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.adjacency[:, 0, 1:6].long().sum(1) > 2).long()

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        positive = torch.sigmoid(2 * (adjacency[:, 0, 1:6].sum(1) - 2.5))
        return torch.stack((1 - positive, positive), 1)


def environment(graph: nx.Graph) -> PairFlips:
    pairs = np.array(list(combinations(range(len(graph)), 2)))
    return PairFlips(nx.to_numpy_array(graph, nodelist=range(len(graph))).astype(np.uint8), pairs)


def judge_of(graph: nx.Graph, oracle: Oracle, relaxed: bool = False, budget: int | None = None) -> GraphJudge:
    graphs, zero = GraphBatch.of(graph), torch.zeros(1, dtype=torch.long)
    counted = CountingOracle(oracle, budget)
    return GraphJudge([environment(graph)], graphs, oracle.predict(graphs), counted, zero, zero, relaxed)


# -- the contract ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[MEG, ReleasedMEG], ids=lambda cls: cls.__name__)
def subject(request: pytest.FixtureRequest) -> Subject:
    return Subject(request.param)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_contract(check: Callable[[Subject], str | None], subject: Subject) -> None:
    run_check(check, subject)


# -- the network -------------------------------------------------------------------------------------------


def plain(network: QNetwork) -> torch.nn.Sequential:
    """The same network out of torch's layers."""
    layers = [torch.nn.Linear(*weight.shape) for weight in network.weights]
    for layer, weight, bias in zip(layers, network.weights, network.biases, strict=True):
        layer.load_state_dict({"weight": weight.T, "bias": bias})
    return torch.nn.Sequential(*[part for layer in layers for part in (layer, torch.nn.ReLU())][:-1])


def successors(env: PairFlips, state: frozenset[int], left: int) -> Tensor:
    return torch.from_numpy(np.stack([env.encoding(env.after(state, a), left) for a in range(env.width)]))


@pytest.mark.parametrize("nodes", [8, 20])  # 29 actions, which are all scored, and 191
def test_the_best_successor_is_that_of_a_full_forward_pass(nodes: int) -> None:
    env, network = environment(nx.gnp_random_graph(nodes, 0.3, seed=1)), QNetwork(nodes * (nodes - 1) // 2 + 1, seed=1)
    for state, left in ((frozenset[int](), 2), (frozenset({3}), 1), (frozenset({0, 7, 9}), 5)):
        full = successors(env, state, left)
        values = plain(network)(full)[:, 0].detach()
        assert torch.allclose(network(full), values, atol=1e-6)
        action, value = env.best(network, state, left)
        assert action == int(values.argmax()) and value == pytest.approx(float(values.max()), abs=1e-6)


def test_slopes_are_those_of_automatic_differentiation() -> None:
    network = QNetwork(12, seed=3)
    encoding = torch.rand(12, generator=torch.Generator().manual_seed(0)).requires_grad_()
    plain(network)(encoding).backward()
    own, slope = network.slopes(encoding.detach())
    assert encoding.grad is not None and torch.allclose(slope, encoding.grad, atol=1e-7)
    assert torch.allclose(own, encoding.detach() @ network.weights[0] + network.biases[0], atol=1e-6)


def test_the_gradient_is_that_of_automatic_differentiation() -> None:
    network, rng = QNetwork(12, seed=3), torch.Generator().manual_seed(0)
    inputs, targets = torch.rand(5, 12, generator=rng), torch.tensor([0.1, 3.0, -2.0, 0.0, 0.2])
    gradient, twin = network.copy(), plain(network)
    expected = torch.nn.functional.huber_loss(twin(inputs)[:, 0], targets)
    expected.backward()
    assert network.loss(inputs, targets, gradient) == pytest.approx(float(expected.detach()), rel=1e-5)
    linear = [layer for layer in twin if isinstance(layer, torch.nn.Linear)]
    for layer, weight, bias in zip(linear, gradient.weights, gradient.biases, strict=True):
        assert layer.weight.grad is not None and layer.bias.grad is not None
        assert torch.allclose(layer.weight.grad.T, weight, atol=1e-7)
        assert torch.allclose(layer.bias.grad, bias, atol=1e-7)


def test_adam_is_that_of_torch() -> None:
    rng = torch.Generator().manual_seed(0)
    start = torch.randn(50, generator=rng)
    ours, theirs = start.clone(), start.clone().requires_grad_()
    own, adam = _Adam(ours, 0.01), torch.optim.Adam([theirs], lr=0.01)
    for _ in range(20):
        gradient = torch.randn(50, generator=rng) * (torch.rand(50, generator=rng) < 0.5)
        gradient[0] = 0
        theirs.grad = gradient.clone()
        adam.step()
        own.step(gradient)
        assert torch.allclose(ours, theirs.detach(), atol=1e-7)
    assert ours[0] == start[0]


def test_gradients_reach_every_parameter_and_the_target_follows_slowly() -> None:
    env = environment(tree(6))
    learner = _Learner(env, EASY._recipe(), 0)
    before = learner.network.parameters.clone()
    for action in range(env.width):
        learner.remember(Transition(env.after(env.start, action), 2, 0.5, False))
    learner.update(np.random.default_rng(0))
    after = learner.network.copy()
    for old, new in zip(layers_of(before, env.width)[0], after.weights, strict=True):
        assert not torch.equal(old, new)
    expected = before + 0.005 * (after.parameters - before)
    assert torch.allclose(learner.target.parameters, expected, atol=1e-8)


def test_targets_are_the_gain_and_the_discounted_best_of_what_follows() -> None:
    env = environment(tree(5))
    learner = _Learner(env, EASY._recipe(), 0)
    state = frozenset({3})
    targets = learner._targets([Transition(state, 2, 0.25, False), Transition(env.start, 1, -0.5, True)])
    best = float(learner.target(successors(env, state, 1)).max())
    assert targets.tolist() == pytest.approx([0.25 + 0.95 * best, -0.5], abs=1e-6)


def judged(judge: GraphJudge, state: frozenset[int]) -> Judgement:
    (judgement,) = judge([(0, state)])
    assert judgement is not None, "there is no budget"
    return judgement


def test_the_loss_falls() -> None:
    """Over every first action of one-step episodes, before and after training on draws of them."""
    judge = judge_of(unicyclic(8, 4), TreeCyclesOracle())
    (env,) = judge.environments
    learner = _Learner(env, MEG(horizon=1, batch=4)._recipe(), 0)
    start = judged(judge, env.start).reward
    gains = [judged(judge, env.after(env.start, action)).reward - start for action in range(env.width)]
    for action, gain in enumerate(gains):
        learner.remember(Transition(env.after(env.start, action), 1, gain, True))
    rng, errors = np.random.default_rng(0), []
    for _ in range(3):
        errors.append(float(((learner.network(successors(env, env.start, 1)) - torch.tensor(gains)) ** 2).mean()))
        for _ in range(200):
            learner.update(rng)
    assert errors[0] > errors[1] > errors[2] and errors[2] < 0.2 * errors[0]
    assert len(learner.losses) == 600 and np.mean(learner.losses[-100:]) < 0.2 * np.mean(learner.losses[:100])


def test_what_was_learnt_ranks_the_right_edit_first() -> None:
    """On a triangle with a tail, Q prefers each cycle edge to every other first action."""
    judge = judge_of(unicyclic(7, 3), TreeCyclesOracle())
    (env,) = judge.environments
    recipe = MEG(episodes=300, decay=0.99, horizon=1, lr=1e-3, interval=1, batch=4)._recipe()
    (played,) = q_learning([env], judge, recipe, [("rank",)])
    values = played.network(successors(env, env.start, 1))
    cuts = [judged(judge, env.after(env.start, a)).valid for a in range(env.width)]
    assert sum(cuts) == 3
    assert values[torch.tensor(cuts)].min() > values[~torch.tensor(cuts)].max()


# -- the environment ---------------------------------------------------------------------------------------


def test_rewards_are_those_of_the_formula() -> None:
    assert reward(1.0, 1.0) == pytest.approx(0.9) and reward(0.0, 1.0) == pytest.approx(0.18)
    judge = judge_of(nx.path_graph(4), TreeCyclesOracle())  # pairs 01 02 03 12 13 23; edges 01 12 23
    expected = {
        frozenset[int](): (reward(0, 1), False), frozenset({1}): (reward(1, 3 / 4), True),
        frozenset({0}): (reward(0, 2 / 3), False), frozenset({0, 2}): (reward(0, 2 / 4), False),
    }  # fmt: skip
    for state, (worth, valid) in expected.items():
        assert judged(judge, state).reward == pytest.approx(worth) and judged(judge, state).valid is valid
    (env,) = judge.environments
    for state in (frozenset(), frozenset({1}), frozenset({0, 2, 5})):
        edited = nx.path_graph(4)
        for j in state:
            pair = tuple(env.pairs[j])
            edited.remove_edge(*pair) if edited.has_edge(*pair) else edited.add_edge(*pair)
        assert np.array_equal(env.edited(state), nx.to_numpy_array(edited))


def test_a_state_is_asked_about_once_and_the_input_not_at_all() -> None:
    judge = judge_of(tree(6), TreeCyclesOracle())
    for state in (frozenset(), frozenset({1}), frozenset({2}), frozenset({1})):
        judge([(0, state)])
    assert judge.oracle.calls == 2
    poor = judge_of(tree(6), TreeCyclesOracle(), budget=1)
    assert poor([(0, frozenset({1}))]) != [None]
    assert poor([(0, frozenset({2}))]) == [None] and poor([(0, frozenset({1}))]) != [None]


def test_states_of_many_games_are_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def predict(oracle: TreeCyclesOracle, graphs: GraphBatch) -> Tensor:
        sizes.append(len(graphs))
        return torch.zeros(len(graphs), dtype=torch.long)

    monkeypatch.setattr(TreeCyclesOracle, "predict", predict)
    replace(EASY, reward="class").explain([tree(7, seed) for seed in range(3)], TreeCyclesOracle())
    assert sizes[:2] == [3, 3], "the inputs, then a state of each"


def test_the_queue_keeps_the_best_once_each() -> None:
    best: list[EndState[str]] = []
    for name, value in (("a", 0.1), ("b", 0.7), ("a", 0.1), ("c", 0.7), ("d", 0.9), ("e", 0.0)):
        _keep(best, EndState(name, Judgement(value, False)), 3)
    assert [end.state for end in best] == ["d", "b", "c"]


def test_candidate_pairs_are_all_pairs_or_half_edges() -> None:
    graph = nx.to_numpy_array(nx.gnp_random_graph(20, 0.3, seed=1)).astype(np.uint8)
    rng = np.random.default_rng(0)
    everything = candidate_pairs(graph, 20, 190, rng)
    assert everything.tolist() == [list(pair) for pair in combinations(range(20), 2)]
    some = candidate_pairs(graph, 20, 40, rng)
    assert len({tuple(pair) for pair in some.tolist()}) == 40 and (some[:, 0] < some[:, 1]).all()
    assert graph[some[:, 0], some[:, 1]].sum() == 20
    few_edges = nx.to_numpy_array(nx.path_graph(20)).astype(np.uint8)
    some = candidate_pairs(few_edges, 20, 60, rng)
    assert len(some) == 60 and few_edges[some[:, 0], some[:, 1]].sum() == 19


# -- whole searches ----------------------------------------------------------------------------------------


def test_the_only_flip_is_found() -> None:
    """A path of three nodes has one cycle to close; a complete graph of five nodes lacks one edge."""
    (path,) = EASY.explain([nx.path_graph(3)], TreeCyclesOracle())
    assert path.added == [(0, 2)] and not path.removed
    almost = nx.complete_graph(5)
    almost.remove_edge(1, 3)
    (result,) = EASY.explain([almost], CompleteOracle())
    assert result.added == [(1, 3)] and not result.removed


def test_tree_cycles_of_twelve_nodes_are_solved_with_one_edit() -> None:
    graphs = [tree(12, 0), unicyclic(12, 3, 1), unicyclic(12, 5, 2)]
    results = MEG(episodes=250, decay=0.99).explain(graphs, TreeCyclesOracle())
    for graph, r in zip(graphs, results, strict=True):
        assert len(r.edits) == 1 and has_cycle(r.returned.to_networkx()) != has_cycle(graph)
        assert r.calls <= 1 + 66 + 66 * 65 // 2


def test_another_oracle_another_result() -> None:
    square = nx.cycle_graph(6)
    square.add_edge(0, 2)  # a triangle and a cycle of five
    (triangles,) = EASY.explain([square], TriangleOracle())
    (cycles,) = EASY.explain([square], TreeCyclesOracle())
    assert len(triangles.edits) == 1 and triangles.edits[0] in [(0, 1), (0, 2), (1, 2)]
    assert len(cycles.edits) == 2 and not cycles.added


def test_the_relaxed_reward_sees_what_the_class_hides() -> None:
    """Three edits of node 0 are needed; the probability rewards each of them, the class only the third."""
    graph = nx.gnp_random_graph(9, 0.5, seed=1)
    graph.remove_edges_from(list(graph.edges(0)))
    named = GraphBatch.of([graph], named_by_position=True)
    recipe: dict[str, Any] = {"episodes": 150, "decay": 0.97, "horizon": 4, "lr": 1e-3, "interval": 4}
    oracle = CountingOracle(Linear())
    relaxed = [MEG(reward="relaxed", **recipe).explain(named, oracle, seed=seed)[0] for seed in range(2)]
    for r in relaxed:
        assert sum(u == 0 and v < 6 for u, v in r.added) == 3
    assert sum(r.calls for r in relaxed) == oracle.calls
    by_class = [MEG(reward="class", **recipe).explain(named, Linear(), seed=seed)[0] for seed in range(2)]
    assert not any(r.found for r in by_class)
    with pytest.raises(UsageError, match="MEG cannot use reward = 'soft'; give one of 'class', 'relaxed'"):
        MEG(reward="soft")


def test_an_oracle_without_probabilities_is_rewarded_by_its_class() -> None:
    graphs = GraphBatch.of([nx.complete_graph(5), nx.cycle_graph(5)], named_by_position=True)
    settings: dict[str, Any] = {"episodes": 30, "decay": 0.9}
    found = [MEG(reward=r, **settings).explain(graphs, TriangleOracle()) for r in ("relaxed", "class")]
    assert [(r.edits, r.calls) for r in found[0]] == [(r.edits, r.calls) for r in found[1]]


def test_on_tree_cycles_the_probability_is_the_class() -> None:
    """The relaxation of a binary graph is 0 or 1 there: the same search, which asks about the input once more."""
    graphs = GraphBatch.of([tree(9, 1), unicyclic(9, 4)])
    soft, hard = (
        EASY.explain(graphs, TreeCyclesOracle()),
        replace(EASY, reward="class").explain(graphs, TreeCyclesOracle()),
    )
    assert [(r.edits, r.calls - 1) for r in soft] == [(r.edits, r.calls) for r in hard]


def test_memory_decides_how_many_are_played_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = GraphBatch.of([tree(7, 1), nx.empty_graph(1), unicyclic(10, 4), tree(9, 2)])
    together = EASY.explain(graphs, TreeCyclesOracle())
    assert EASY._parts(graphs) == [[0, 2, 3]]
    monkeypatch.setattr(meg, "MAX_BYTES", 2 * 20 * 512 * (46 + 128))
    assert EASY._parts(graphs) == [[0, 2], [3]]
    assert [r.edits for r in EASY.explain(graphs, TreeCyclesOracle())] == [r.edits for r in together]


def test_results_do_not_depend_on_the_batch() -> None:
    graphs = GraphBatch.of([tree(7, 1), unicyclic(10, 4), tree(9, 2)])
    together = EASY.explain(graphs, TreeCyclesOracle(), k=2)
    for i in range(3):
        alone = EASY.explain(graphs.select(torch.tensor([i])), TreeCyclesOracle(), k=2)
        assert [(r.edits, r.calls) for r in alone] == [(r.edits, r.calls) for r in together[2 * i : 2 * i + 2]]


def test_further_candidates_are_further_end_states_at_no_cost() -> None:
    results = EASY.explain([tree(8, 3)], TreeCyclesOracle(), k=4)
    assert all(r.found for r in results) and len({tuple(r.edits) for r in results}) == 4
    assert [r.calls for r in results[1:]] == [0, 0, 0]
    many = EASY.explain([nx.path_graph(3)], TreeCyclesOracle(), k=3)
    assert many[2].reason == "1 of the 10 best end states in 60 episodes change the class"
    (impossible,) = EASY.explain([nx.empty_graph(1)], TreeCyclesOracle())
    assert impossible.reason == "the graph has no pair of nodes to edit"


def test_a_budget_ends_the_search_with_what_it_has() -> None:
    (poor,) = EASY.explain([unicyclic(10, 3)], CountingOracle(TreeCyclesOracle(), 2))
    assert poor.calls == 2 and (poor.found or poor.reason == "the oracle budget was used up")
    (enough,) = EASY.explain([tree(10)], CountingOracle(TreeCyclesOracle(), 12))
    assert enough.found and enough.calls == 12
