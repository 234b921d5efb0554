"""Algorithm 1: the samplers' laws against closed forms, and the batched scan against a run by hand."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rsgg.errors import UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.rsgg_ce.explainer import SAMPLERS, partial_order_sampling, sampler_named
from rsgg.rsgg_ce.partial_order import ExistingThenAll, ExistingThenMissing, PartialOrder, Within, groups_of
from tests.graphs import tree


def cycle_with_tail(size: int, n: int) -> Graph:
    """A cycle of `size` nodes with a path hanging on it: n nodes and n edges."""
    adjacency = np.zeros((n, n))
    edges = [(i, (i + 1) % size) for i in range(size)] + [(i - 1, i) for i in range(size, n)]
    for u, v in edges:
        adjacency[u, v] = adjacency[v, u] = 1
    return Graph(adjacency)


def cut_probability(size: int, edges: int) -> float:
    """P(at least one of `size` given edges is missing among `edges` uniform draws with replacement from them all)."""
    return -sum((-1) ** j * comb(size, j) * (1 - j / edges) ** edges for j in range(1, size + 1))


def test_cut_probabilities_are_those_of_the_specification() -> None:
    """.749 .846 .907 .944 .967 for cycles of 3 to 7 nodes in graphs of 28 edges."""
    values = [cut_probability(size, 28) for size in range(3, 8)]
    assert np.allclose(values, [0.749, 0.846, 0.907, 0.944, 0.967], atol=1e-3)


@pytest.mark.parametrize("size", [3, 4, 5, 6, 7])
def test_released_sampler_cuts_cycles_as_often_as_the_closed_form_says(size: int) -> None:
    """4000 bootstraps of the edges: a two-sided binomial test at 1e-4, which an error of .03 would fail."""
    trials = 4000
    graph = GraphBatch.of([cycle_with_tail(size, 28)])
    sampled = partial_order_sampling(
        graph, torch.ones(1, 28, 28), torch.tensor([1]), CountingOracle(TreeCyclesOracle()),
        order=ExistingThenAll(), sampler=sampler_named("released"), iterations=0, k=trials,
    )  # fmt: skip
    cuts = sum(candidate.adjacency is not None for candidate in sampled)
    assert stats.binomtest(cuts, trials, cut_probability(size, 28)).pvalue > 1e-4
    assert stats.binomtest(cuts, trials, cut_probability(size, 28) - 0.03).pvalue < 1e-3


def test_bernoulli_keeps_edges_with_their_probability() -> None:
    p = torch.linspace(0.05, 0.95, 28)
    graph = GraphBatch.of([cycle_with_tail(28, 28)])
    scores = torch.zeros(1, 28, 28)
    for i in range(28):
        scores[0, min(i, (i + 1) % 28), max(i, (i + 1) % 28)] = p[i]

    kept = torch.zeros(28)
    sampled = partial_order_sampling(
        graph, scores, torch.tensor([-1]), CountingOracle(TreeCyclesOracle()),  # every answer differs from class -1
        order=ExistingThenMissing(), sampler=sampler_named("bernoulli"), iterations=10, k=3000,
    )  # fmt: skip
    for candidate in sampled:
        assert candidate.adjacency is not None
        kept += torch.stack([candidate.adjacency[i, (i + 1) % 28] for i in range(28)])
    z = (kept / 3000 - p) / (p * (1 - p) / 3000).sqrt()
    assert z.abs().max() < 4.5


class EdgeCount(Oracle):
    """Class 1 iff the weighted number of edges is at least `threshold`: sees multiplicities, as the ASD rule does."""

    name = "edge-count"

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        return (torch.triu(graphs.adjacency, 1).sum((1, 2)) >= self.threshold).long()


@pytest.mark.parametrize("name", sorted(SAMPLERS))
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), threshold=st.integers(1, 14), k=st.integers(1, 3))
def test_invariants_of_what_is_returned(name: str, seed: int, threshold: int, k: int) -> None:
    """Flips really flip, symmetric, no self loops; binary unless released; calls as a sequential run would make."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((3, 6, 6)) < 0.4, 1)
    graphs = GraphBatch.of([Graph((a | a.T).astype(int)) for a in upper])
    oracle = CountingOracle(EdgeCount(threshold))
    classes = oracle.oracle.predict(graphs)
    order = ExistingThenAll() if name == "released" else ExistingThenMissing()
    sampled = partial_order_sampling(
        graphs, torch.from_numpy(rng.random((3, 6, 6))), classes, oracle,
        order=order, sampler=sampler_named(name), iterations=7, k=k, seed=seed,
    )  # fmt: skip
    assert len(sampled) == 3 * k
    for owner, candidate in enumerate(sampled):
        assert 1 <= oracle.calls_of(owner) <= 1 + 7
        if candidate.adjacency is None:
            assert candidate.reason
            continue
        a = candidate.adjacency
        assert torch.equal(a, a.T) and not a.diagonal().any()
        assert name == "released" or a.max() <= 1
        assert oracle.oracle.predict(graphs.candidates(a[None], torch.tensor([owner // k]))) != classes[owner // k]
    assert oracle.calls == sum(oracle.calls_of(owner) for owner in range(3 * k))


def has_cycle(edges: list[tuple[int, int]]) -> bool:
    """Union-find: an edge inside a component closes a cycle."""
    parent = list(range(8))

    def root(x: int) -> int:
        while parent[x] != x:
            x = parent[x]
        return x

    for u, v in edges:
        if root(u) == root(v):
            return True
        parent[root(u)] = root(v)
    return False


def sequential(graph: Graph, coins: np.ndarray, visit: list[tuple[int, int]], c: int, letter: bool) -> tuple[bool, int]:
    """Algorithm 1 as a person would run it by hand, given the coins and the order of the missing pairs."""
    current = [(u, v) for u, v in graph.edges() if coins[u, v]]
    asked = 0

    def flips() -> bool:
        return int(has_cycle(current)) != c

    if not letter:
        asked += 1
        if flips():
            return True, asked
    for i, (u, v) in enumerate(visit):
        current += [(u, v)] if coins[u, v] else []
        if coins[u, v] or (letter and i == 0):  # an unchanged graph has been asked about already
            asked += 1
            if flips():
                return True, asked
    return False, asked


@pytest.mark.parametrize("reading", ["text", "letter"])
def test_bernoulli_agrees_with_a_sequential_run(reading: str) -> None:
    """Certain coins (0 or 1) make Algorithm 1 deterministic up to the order of visits: same outcome by hand."""
    rng = np.random.default_rng(5)
    for trial in range(40):
        upper = np.triu(rng.random((8, 8)) < 0.3, 1)
        graph, coins = Graph((upper | upper.T).astype(int)), np.triu(rng.random((8, 8)) < 0.5, 1).astype(np.uint8)
        oracle = CountingOracle(TreeCyclesOracle())
        batch = GraphBatch.of([graph])
        c = int(oracle.oracle.predict(batch))
        (candidate,) = partial_order_sampling(
            batch, torch.from_numpy(coins).double()[None], torch.tensor([c]), oracle,
            order=ExistingThenMissing(), sampler=sampler_named("bernoulli"), iterations=500,
            reading="letter" if reading == "letter" else "text", seed=trial,
        )  # fmt: skip
        missing = [(u, v) for u in range(8) for v in range(u + 1, 8) if not graph.adjacency[u, v]]
        outcomes = {
            sequential(graph, coins, [missing[i] for i in rng.permutation(len(missing))], c, reading == "letter")
            for _ in range(200)
        }
        assert (candidate.adjacency is not None, oracle.calls_of(0)) in outcomes


def test_the_letter_of_algorithm_1_can_hide_a_flip_for_good() -> None:
    """A triangle cut in the first phase flips at once by the text; by the letter, with no missing pair, nobody asks."""
    graph = GraphBatch.of([cycle_with_tail(3, 3)])
    scores = torch.zeros(1, 3, 3)
    scores[0, 0, 1] = scores[0, 1, 2] = 1.0  # keep two edges, drop the third; nothing is missing, so no guarded check
    arguments = {"order": ExistingThenMissing(), "sampler": sampler_named("bernoulli"), "iterations": 500}
    text, letter = (
        partial_order_sampling(
            graph,
            scores,
            torch.tensor([1]),
            CountingOracle(TreeCyclesOracle()),
            reading=reading,
            **arguments,  # type: ignore[arg-type]
        )[0]
        for reading in ("text", "letter")
    )
    assert text.adjacency is not None and letter.adjacency is None


def test_results_do_not_depend_on_the_batch() -> None:
    graphs = [Graph(cycle_with_tail(size, 12).adjacency, name=f"g{size}") for size in (3, 4, 5, 6)]
    scores = torch.rand(4, 12, 12, generator=torch.Generator().manual_seed(0))

    def run(picked: list[int]) -> list[torch.Tensor | None]:
        batch = GraphBatch.of([graphs[i] for i in picked])
        classes = torch.ones(len(picked), dtype=torch.long)
        return [
            candidate.adjacency
            for candidate in partial_order_sampling(
                batch, scores[picked], classes, CountingOracle(TreeCyclesOracle()),
                order=ExistingThenMissing(), sampler=sampler_named("bernoulli"), iterations=500, seed=3,
            )
        ]  # fmt: skip

    together, alone = run([0, 1, 2, 3]), [run([i])[0] for i in range(4)]
    for a, b in zip(together, alone, strict=True):
        assert (a is None) == (b is None) and (a is None or b is None or torch.equal(a, b))


def test_an_order_of_ones_own_leaves_other_pairs_alone() -> None:
    graph = GraphBatch.of([cycle_with_tail(4, 10)])
    allowed = torch.zeros(10, 10, dtype=torch.bool)
    allowed[:4, :4] = True
    for seed in range(20):
        (candidate,) = partial_order_sampling(
            graph, torch.full((1, 10, 10), 0.5), torch.tensor([1]), CountingOracle(TreeCyclesOracle()),
            order=Within(allowed), sampler=sampler_named("bernoulli"), iterations=500, seed=seed,
        )  # fmt: skip
        if candidate.adjacency is not None:
            assert torch.equal(candidate.adjacency[4:], graph.adjacency[0][4:])


def test_a_budget_ends_the_search_with_a_reason() -> None:
    graph = GraphBatch.of([cycle_with_tail(5, 8)])
    oracle = CountingOracle(TreeCyclesOracle(), budget=3)
    (candidate,) = partial_order_sampling(
        graph, torch.ones(1, 8, 8), torch.tensor([1]), oracle,
        order=ExistingThenMissing(), sampler=sampler_named("bernoulli"), iterations=500,
    )  # fmt: skip
    assert candidate.adjacency is None and "budget" in candidate.reason and oracle.calls_of(0) == 3


def test_an_unknown_sampler_is_named() -> None:
    with pytest.raises(UsageError, match="There is no sampler 'gumbel'; choose one of bernoulli"):
        sampler_named("gumbel")


def test_a_pair_that_is_drawn_very_often_weighs_what_a_byte_can_hold() -> None:
    """Two nodes and one edge: the released sampler draws the same pair 500 times and finds nothing."""
    graph = GraphBatch.of([Graph(np.array([[0, 1], [1, 0]]))])
    oracle = CountingOracle(TreeCyclesOracle())
    (candidate,) = partial_order_sampling(
        graph, torch.ones(1, 2, 2), torch.tensor([0]), oracle,
        order=ExistingThenAll(), sampler=sampler_named("released"), iterations=500,
    )  # fmt: skip
    assert candidate.adjacency is None and oracle.calls_of(0) == 501


def test_guarded_pairs_are_visited_in_random_order() -> None:
    """In a tree every added edge closes a cycle: with probabilities of 1 the pair that is visited first is the edit."""
    graphs = GraphBatch.of([tree(10, seed=2)])
    oracle = TreeCyclesOracle()
    added = set()
    for seed in range(80):
        (found,) = partial_order_sampling(
            graphs, torch.ones(1, 10, 10), torch.tensor([0]), CountingOracle(oracle), order=ExistingThenMissing(),
            sampler=sampler_named("bernoulli"), iterations=500, seed=seed,
        )  # fmt: skip
        assert found.adjacency is not None
        (edit,) = torch.triu(found.adjacency != graphs.adjacency[0]).nonzero().tolist()
        added.add(tuple(edit))
    assert len(added) > 25, "of 36 missing pairs, 80 uniform draws meet 32 on average"


@pytest.mark.parametrize("order", [lambda graphs: None, lambda: None, lambda graphs, more: []])
def test_an_order_that_is_none_is_one_sentence(order: PartialOrder) -> None:
    with pytest.raises(UsageError, match="make it a function of a batch of graphs that yields"):
        groups_of(order, GraphBatch.of([tree(5)]))
