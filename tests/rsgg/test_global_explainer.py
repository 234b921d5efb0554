"""Global explainers: coverage and cost by brute force, the greedy cover against all choices, and the contract."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import e

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg import GlobalExplainer, TreeCyclesOracle, check_global_explainer
from rsgg.baselines.controls import Empty
from rsgg.baselines.gcfexplainer import GCFExplainer
from rsgg.baselines.global_controls import InstanceCounterfactuals, RandomRealGraphs, RealGraphs
from rsgg.contract.explainer import training_graphs
from rsgg.errors import FitError, NotFittedError, RSGGError, UsageError
from rsgg.global_explainer import GlobalResult, greedy_cover
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles.counting import CountingOracle
from rsgg.oracles.oracle import Oracle

ALL = (GCFExplainer, RealGraphs, RandomRealGraphs, InstanceCounterfactuals)


class HasSecondLabel(Oracle):
    """Class 0, the wanted one, has a node with the second label."""

    name = "second label"

    def predict(self, graphs: GraphBatch) -> Tensor:
        assert graphs.features is not None
        return (~(graphs.features[:, :, 1] > 0).any(1)).long()


def small_graphs(count: int, seed: int = 0) -> list[Graph]:
    """Random graphs of 2 to 4 nodes with two labels; half of them have the first label only."""
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(count):
        n = int(rng.integers(2, 5))
        above = np.triu(rng.random((n, n)) < 0.5, 1)
        labels = rng.integers(0, 2, n) if i % 2 else np.zeros(n, dtype=int)
        graphs.append(Graph((above | above.T).astype(int), np.eye(2)[labels], name=str(i)))
    return graphs


def exact_distance(one: Graph, other: Graph) -> float:
    """By NetworkX."""
    made = []
    for graph in (one, other):
        assert graph.features is not None
        plain = nx.from_numpy_array(graph.adjacency.astype(int))
        nx.set_node_attributes(plain, dict(enumerate(graph.features.argmax(1).tolist())), "label")
        made.append(plain)
    ged = nx.graph_edit_distance(*made, node_match=lambda u, v: u["label"] == v["label"])
    return ged / (one.size + other.size)


@pytest.fixture(scope="module")
def real() -> tuple[list[Graph], GlobalResult]:
    graphs = small_graphs(16)
    return graphs, RealGraphs().fit(graphs, HasSecondLabel(), target=0).summarise(3, 0.25)


def test_coverage_and_cost_hold_what_brute_force_gives(real: tuple[list[Graph], GlobalResult]) -> None:
    graphs, result = real
    exact = np.array([[exact_distance(graphs[i], c) for c in result.graphs] for i in result.inputs])
    assert (result.lower <= exact + 1e-9).all() and (exact <= result.upper + 1e-9).all()
    for k in (1, 2, 3):
        nearest = exact[:, :k].min(1)
        coverage, cost = result.coverage(k=k), result.cost(k=k)
        assert coverage.low <= (nearest <= 0.25).mean() <= coverage.high
        assert cost.low <= np.median(nearest) <= cost.high
    assert result.coverage().low == result.coverage().high == (exact.min(1) <= 0.25).mean()  # all was decided


def test_inputs_are_the_graphs_of_other_classes(real: tuple[list[Graph], GlobalResult]) -> None:
    graphs, result = real
    classes = HasSecondLabel().predict(GraphBatch.of(graphs))
    assert result.inputs.tolist() == (classes == 1).nonzero().flatten().tolist()
    assert result.candidates == int((classes == 0).sum()) and result.calls == len(graphs)


def test_no_graph_covers_more_than_the_first(real: tuple[list[Graph], GlobalResult]) -> None:
    graphs, result = real
    wanted = [graph for graph in graphs if graph.features is not None and graph.features[:, 1].any()]
    shares = [np.mean([exact_distance(graphs[i], one) <= 0.25 for i in result.inputs]) for one in wanted]
    assert result.coverage(k=1).high >= max(shares) - 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_greedy_cover_is_greedy_and_as_good_as_it_has_to_be(seed: int) -> None:
    rng = np.random.default_rng(seed)
    held = rng.random((7, 12)) < 0.3
    possible = held | (rng.random((7, 12)) < 0.3)
    asked: list[int] = []

    def covers(i: int, elements: np.ndarray) -> np.ndarray:
        asked.append(i)
        return held[i, elements]

    chosen = greedy_cover(possible, covers, 3)
    left, plain = np.ones(12, dtype=bool), list[int]()
    for _ in range(3):  # the plain algorithm, which asks about everything
        gains = [-1 if i in plain else int((held[i] & left).sum()) for i in range(7)]
        plain.append(int(np.argmax(gains)))
        left &= ~held[plain[-1]]
    best = max(held[list(some)].any(0).sum() for some in combinations(range(7), 3))
    assert chosen == plain and len(asked) == len(set(asked))
    assert held[chosen].any(0).sum() >= (1 - 1 / e) * best


def test_sets_that_cannot_win_are_not_asked_about() -> None:
    possible = np.zeros((3, 6), dtype=bool)
    possible[0], possible[1, :2], possible[2, 5] = True, True, True
    asked: list[int] = []

    def covers(i: int, elements: np.ndarray) -> np.ndarray:
        asked.append(i)
        return np.ones(len(elements), dtype=bool)

    assert greedy_cover(possible, covers, 1) == [0] and asked == [0]


@pytest.mark.parametrize("explainer", ALL)
def test_the_contract_is_kept(explainer: type[GlobalExplainer]) -> None:
    assert len(check_global_explainer(explainer)) == 5


@dataclass(kw_only=True)
class Proposes(GlobalExplainer):
    """Proposes its first inputs, which are of the wrong class, and one example."""

    chooses = False

    def _propose(
        self, inputs: GraphBatch, examples: GraphBatch, target: int, oracle: CountingOracle, seed: int
    ) -> Sequence[Graph]:
        return [inputs[0], examples[0], inputs[1]]


def test_graphs_of_the_wrong_class_are_left_out() -> None:
    explainer = Proposes().fit(small_graphs(8), HasSecondLabel(), target=0)
    assert [graph.name for graph in explainer.summarise().graphs] == ["1"]


def test_without_candidates_nothing_is_covered() -> None:
    graphs = [graph for graph in small_graphs(8) if graph.features is not None and not graph.features[:, 1].any()]
    result = RealGraphs().fit(graphs, HasSecondLabel(), target=0).summarise()
    assert result.graphs == () and result.coverage() == (0, 0) and result.cost() == (1, 1)
    assert "0 graphs for" in repr(result)


def test_random_graphs_are_not_chosen() -> None:
    graphs = small_graphs(40)
    names = [
        [graph.name for graph in RandomRealGraphs().fit(graphs, HasSecondLabel(), target=0, seed=s).summarise(k).graphs]
        for s, k in ((0, 2), (0, 4), (1, 4))
    ]
    assert names[0] == names[1][:2] and names[1] != names[2]


def test_mistakes_get_a_sentence() -> None:
    graphs, oracle = small_graphs(8), HasSecondLabel()
    with pytest.raises(NotFittedError, match="call fit first"):
        RealGraphs().summarise()
    with pytest.raises(UsageError, match="has 2 classes"):
        RealGraphs().fit(graphs, oracle, target=2)
    with pytest.raises(FitError, match="already"):
        RealGraphs().fit([graphs[1]], oracle, target=0)
    with pytest.raises(FitError, match="budget of 3"):
        RealGraphs().fit(graphs, CountingOracle(oracle, 3), target=0)
    fitted = RealGraphs().fit(graphs, oracle, target=0)
    for wrong in ({"k": 0}, {"theta": 2}, {"theta": True}):
        with pytest.raises(UsageError, match="makes no sense"):
            fitted.summarise(**wrong)
    with pytest.raises(RSGGError, match="no global explainer"):
        check_global_explainer(Oracle)  # type: ignore[arg-type]


def test_what_an_instance_explainer_asks_is_charged() -> None:
    """Its own questions are counted with those about the classes of the graphs."""
    graphs = small_graphs(24, seed=3)
    explainer = InstanceCounterfactuals(base=Empty(), explained=5).fit(graphs, HasSecondLabel(), target=0)
    assert explainer.calls_ == len(graphs) + 5  # the empty graph is returned unseen: only the class of each input
    assert explainer.candidates_ is not None and len(explainer.candidates_) == 0  # pairs of nodes have no labels


def test_probabilities_are_counted_and_agree_with_the_classes() -> None:
    graphs, oracle = training_graphs(), CountingOracle(TreeCyclesOracle())
    p = oracle.probabilities(graphs, torch.zeros(len(graphs), dtype=torch.long))
    assert (p.argmax(1) == TreeCyclesOracle().predict(graphs)).all()
    assert oracle.calls == oracle.calls_of(0) == len(graphs)
