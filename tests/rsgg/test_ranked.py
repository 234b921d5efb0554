"""RSGG-CE with a ranked search, taught or not, with and without constraints."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, cast

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rsgg.baselines.controls import TwoSidedMinimised, _signed_order
from rsgg.compose import BestOf, FirstOf
from rsgg.constraints import (
    Among,
    Constraint,
    EdgeCount,
    Keep,
    KeepConnected,
    MostNeighbours,
    OnlyAdditions,
    OnlyRemovals,
    Satisfies,
)
from rsgg.contract.explainer import TriangleOracle
from rsgg.counterfactual import Counterfactual
from rsgg.data.tree_cycles import TreeCycles
from rsgg.edits import NOTHING, edited
from rsgg.errors import FitError, UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.oracles.oracle import Oracle
from rsgg.quick import UntaughtSearch
from rsgg.rsgg_ce import ranked
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.plausible import effects, trained_discriminator
from rsgg.rsgg_ce.ranked import RankedRSGGCE, lengths_by_class, orders, random_orders, search
from rsgg.rsgg_ce.search import ADD, NODES, REMOVE, UNKNOWN, Found, Lengths, Orders, interleaved
from rsgg.rsgg_ce.taught import TaughtRSGGCE, _cross_entropy, _shortest
from rsgg.seeds import seed_for

GRAPHS = TreeCycles(n_nodes=10, n_graphs=60, max_cycle_nodes=4).load().graphs
TRAIN, TEST = GRAPHS[:40], GRAPHS[40:]
ORACLE = TreeCyclesOracle()


@pytest.fixture(scope="module")
def taught() -> TaughtRSGGCE:
    return TaughtRSGGCE(steps=60, certify=True).fit(TRAIN, ORACLE, seed=1)


def valid(results: list[Counterfactual], oracle: Oracle = ORACLE) -> bool:
    before = oracle.predict(GraphBatch.of([one.input for one in results]))
    after = oracle.predict(GraphBatch.of([Graph(one.returned.adjacency) for one in results]))
    return bool((before != after).all())


def test_taught_and_certified_it_finds_the_optimum_in_few_questions(taught: TaughtRSGGCE) -> None:
    results = taught.explain(TEST, ORACLE, seed=3)
    assert valid(results)
    assert [len(one.edits) for one in results] == ORACLE.optimal_ged(TEST).tolist()
    assert np.mean([one.calls for one in results]) < 3.5
    assert taught.summary_ == {"graphs": 40, "taught": 40}


def test_teaching_takes_few_questions_and_two_rounds_fewer_than_one() -> None:
    asked = {}
    for rounds in (1, 2):
        oracle = CountingOracle(ORACLE)
        TaughtRSGGCE(steps=60, rounds=rounds).fit(TRAIN, oracle, seed=1)
        asked[rounds] = oracle.calls
    assert asked[2] < asked[1] < 40 * 14


def test_what_was_learnt_is_saved(taught: TaughtRSGGCE, tmp_path: Any) -> None:
    loaded = TaughtRSGGCE.load(taught.save(tmp_path / "taught"))
    before, after = (one.explain(TEST, ORACLE, seed=3) for one in (taught, loaded))
    assert [(a.edits, a.calls) for a in before] == [(b.edits, b.calls) for b in after]


def test_further_candidates_edit_other_pairs(taught: TaughtRSGGCE) -> None:
    results = taught.explain(TEST, ORACLE, k=3, seed=3)
    of_graph = [results[i : i + 3] for i in range(0, len(results), 3)]
    for candidates in of_graph:
        edits = [set(one.edits) for one in candidates if one.found]
        assert not any(a & b for i, a in enumerate(edits) for b in edits[:i])
    assert np.mean([sum(one.found for one in candidates) for candidates in of_graph]) > 2


def test_results_do_not_depend_on_the_rest_of_the_batch(taught: TaughtRSGGCE) -> None:
    together = taught.explain(TEST, ORACLE, seed=3)
    alone = [taught.explain(TEST.select(torch.tensor([i])), ORACLE, seed=3)[0] for i in (4, 11)]
    assert [(one.edits, one.calls) for one in alone] == [(together[i].edits, together[i].calls) for i in (4, 11)]


def test_the_random_order_that_follows_is_the_one_of_the_search_without_learning() -> None:
    (order,) = random_orders(TEST, 2, TEST.pair_mask, NOTHING, (5, "two-sided"), 0, 1)
    rank = _signed_order(TEST, [(5, "two-sided", name, 0) for name in TEST.names])[2].numpy().ravel()
    assert rank[order.removals].tolist() == [-1 - i for i in range(len(order.removals))]
    assert rank[order.additions].tolist() == [1 + i for i in range(len(order.additions))]


def test_the_scores_of_the_score_function_are_ranked_too() -> None:
    small: dict[str, Any] = {"epochs": 20, "warmup": 5, "batch": 8, "samples": 4, "hidden": 8, "latent": 4, "layers": 2}
    for generator in ("trained", "untrained", "uniform"):
        explainer = RankedRSGGCE(generator=generator, certify=True, **small).fit(TRAIN, ORACLE, seed=0)
        assert valid(explainer.explain(TEST, ORACLE, seed=0))


def test_several_searches_teach_with_their_shortest_results() -> None:
    several = [Found(np.array([1, 2])), Found(None), Found(np.array([3])), Found(np.array([4]))]
    assert [one.edits.tolist() for one in _shortest(several) if one.edits is not None] == [[3], [4]]
    assert _shortest([Found(None), Found(None)])[0].edits is None
    once, thrice = CountingOracle(ORACLE), CountingOracle(ORACLE)
    TaughtRSGGCE(steps=2, rounds=1).fit(TRAIN, once, seed=1)
    explainer = TaughtRSGGCE(steps=2, rounds=1, searches=3).fit(TRAIN, thrice, seed=1)
    assert 2.5 * once.calls < thrice.calls < 3.5 * once.calls
    assert explainer.summary_ == {"graphs": 40, "taught": 40}


def test_swaps_in_training_teach_with_fewer_edits() -> None:
    oracle, needed = TriangleOracle(), dict[int, list[float]]()
    graphs = GraphBatch.of([nx.gnp_random_graph(9, 0.35, seed=seed) for seed in range(60)])
    for swaps in (0, 30):
        explainer = TaughtRSGGCE(steps=10, rounds=3, taught_swaps=swaps).fit(graphs, oracle, seed=1)
        assert explainer.swaps == 0
        needed[swaps] = explainer.summary()["edits"].tolist()
    assert sum(needed[30]) < sum(needed[0])


def test_node_features_that_the_oracle_reads_are_read_by_the_generator() -> None:
    """Structure says nothing here: the class is whether the two marked nodes are joined."""

    class Joined(Oracle):
        name = "joined"

        def predict(self, graphs: GraphBatch) -> torch.Tensor:
            assert graphs.features is not None
            marked = graphs.features[..., 0]
            return torch.einsum("bu,buv,bv->b", marked, graphs.adjacency.float(), marked).clamp(max=1).long()

    def marked(i: int) -> Graph:
        rng = np.random.default_rng(i)
        adjacency = nx.to_numpy_array(nx.gnp_random_graph(8, 0.4, seed=i))
        u, v = rng.choice(8, 2, replace=False)
        adjacency[u, v] = adjacency[v, u] = i % 2
        return Graph(adjacency, np.eye(8)[[u, v]].sum(0)[:, None])

    graphs = GraphBatch.of([marked(i) for i in range(60)])
    explainer = TaughtRSGGCE(certify=True, steps=100).fit(graphs[:45], Joined(), seed=0)
    results = explainer.explain(graphs[45:], Joined(), seed=0)
    assert all(one.found and len(one.edits) == 1 for one in results)
    assert np.mean([one.calls for one in results]) < 3, "the one pair of 28 is ranked first"


def test_plausibility_moves_edits_towards_what_the_discriminator_has_seen_and_is_saved(tmp_path: Path) -> None:
    explainer = TaughtRSGGCE(steps=20, plausibility=0.5).fit(TRAIN, ORACLE, seed=1)
    results = explainer.explain(TEST, ORACLE, seed=3)
    assert valid(results)
    again = TaughtRSGGCE.load(explainer.save(tmp_path / "plausible")).explain(TEST, ORACLE, seed=3)
    assert [one.edits for one in again] == [one.edits for one in results]
    assert explainer.explain(nx.star_graph(14), ORACLE)[0].found, "of larger degree than any training graph can have"
    plain = TaughtRSGGCE(steps=20).fit(TRAIN, ORACLE, seed=1)
    classes = ORACLE.predict(TEST)
    apart = explainer.edit_scores(TEST, classes) - plain.edit_scores(TEST, classes)
    for c, discriminator in explainer.discriminators_.items():
        own, scores = TEST.select(classes == c), plain.edit_scores(TEST, classes)[classes == c]
        assert torch.allclose(apart[classes == c], 0.5 * effects(discriminator, own, scores), atol=1e-4)


def test_effects_are_what_an_edit_does_to_the_logit() -> None:
    discriminator = trained_discriminator(TRAIN[:10], TEST[:4], [np.array([1])] * 4, 0, 0)
    effect = effects(discriminator, TEST[:1], torch.zeros(1, 10, 10))[0]

    def gain(u: int, v: int) -> float:
        made = TEST.adjacency[:1].clone()
        made[0, u, v] = made[0, v, u] = 1 - made[0, u, v]
        with torch.no_grad():
            return float(discriminator(made.float(), TEST.node_mask[:1]))

    gains = np.array([gain(u, v) for u, v in itertools.combinations(range(10), 2)])
    found = np.array([float(effect[u, v]) for u, v in itertools.combinations(range(10), 2)])
    assert np.allclose(found, (gains - gains.mean()) / gains.std(), atol=1e-3) and torch.equal(effect, effect.T)


def test_any_number_of_classes_and_of_sizes() -> None:
    class Components(Oracle):
        """Class: number of connected components, up to three."""

        name, n_classes = "components", 3

        def predict(self, graphs: GraphBatch) -> torch.Tensor:
            return torch.tensor([min(nx.number_connected_components(g.to_networkx()), 3) - 1 for g in graphs])

    graphs = [nx.gnp_random_graph(6 + i % 5, 0.15 + 0.01 * i, seed=i) for i in range(40)]
    explainer = TaughtRSGGCE(steps=20, certify=True).fit(graphs, Components(), seed=0)
    results = explainer.explain(graphs[:15], Components(), seed=0)
    assert all(one.found for one in results) and valid(results, Components())
    towards = explainer.explain(graphs[:15], Components(), seed=0, target=2)
    reached = [nx.number_connected_components(one.returned.to_networkx()) for one in towards if one.found]
    assert len(reached) >= 10 and min(reached) >= 3


# -- Orders ----------------------------------------------------------------------------------------------------------


def test_pairs_come_by_falling_score_and_equal_ones_in_random_order() -> None:
    graphs = GraphBatch.of([nx.path_graph(5), nx.cycle_graph(4)])
    scores = torch.zeros(2, 5, 5)
    scores[0, 1, 2], scores[0, 0, 4], scores[0, 0, 2] = 2.0, 3.0, 1.0
    nothing = [np.empty(0, dtype=np.int64)] * 2
    one, other = orders(graphs, scores, graphs.pair_mask, [UNKNOWN] * 2, nothing, ("x",))
    assert one.removals[0] == 1 * 5 + 2 and one.additions[:2].tolist() == [0 * 5 + 4, 0 * 5 + 2]
    assert sorted(one.removals) == [1, 7, 13, 19] and len(one.additions) == 6
    assert sorted([*other.removals, *other.additions]) == [1, 2, 3, 7, 8, 13], "padding is no pair"
    shuffled = {
        tuple(orders(graphs, scores * 0, graphs.pair_mask, [UNKNOWN] * 2, nothing, (i,))[0].removals) for i in range(20)
    }
    assert len(shuffled) > 5


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 60), st.integers(1, 12), st.lists(st.integers(0, 70), max_size=4))
def test_large_graphs_are_sorted_as_far_as_needed_and_in_the_same_order(
    seed: int, at_first: int, levels: int, asked: list[int]
) -> None:
    """With many equal scores, pairs that may not be edited and pairs that are used, whatever is asked for first."""
    rng = torch.Generator().manual_seed(seed)
    graphs = GraphBatch.of([nx.gnp_random_graph(12, 0.3, seed=seed), nx.path_graph(9)])
    scores = torch.randint(0, levels, (2, 12, 12), generator=rng).float()
    allowed = graphs.pair_mask & (torch.rand(2, 12, 12, generator=rng) < 0.8)
    used, lengths = [np.array([1, 2 * 12 + 5]), NOTHING], [Lengths(np.array([1, 4]), np.array([2]))] * 2

    def made() -> list[Orders]:
        return orders(graphs, scores, allowed, lengths, used, (seed,))

    full = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranked, "SORTED_UP_TO", 0)
        patch.setattr(ranked, "SORTED_AT_FIRST", at_first)
        for one, other in zip(full, made(), strict=True):
            for side in (REMOVE, ADD):
                for count in asked:
                    assert other.side(side)[:count].tolist() == one.side(side)[:count].tolist()
                assert len(other.side(side)) == len(one.side(side))
            assert other.corner(2, 3).tolist() == one.corner(2, 3).tolist()
            assert other.mixed.tolist() == one.mixed.tolist() and not len(other.nodes)


def test_of_a_large_graph_few_pairs_are_sorted() -> None:
    graphs, scores = GraphBatch.of([nx.path_graph(120)]), torch.rand(1, 120, 120)
    (one,) = orders(graphs, scores, graphs.pair_mask, [UNKNOWN], [NOTHING], ("x",))
    side = cast(Any, one.additions)
    best = float(scores[0].triu(1)[~graphs.edge_mask[0]].max())
    assert len(side) == 119 * 118 // 2 and not len(side.places)
    assert float(scores[0].flatten()[int(side[:1][0])]) == best and len(side.places) < len(side) / 5
    assert len(set(side[:].tolist())) == len(side)


@pytest.mark.parametrize("rules", [(), (KeepConnected(),)])
def test_searches_of_large_graphs_find_the_same(rules: tuple[Constraint, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = TreeCycles(n_graphs=12, n_nodes=14).load().graphs
    classes, scores = ORACLE.predict(graphs), torch.rand(12, 14, 14, generator=torch.Generator().manual_seed(0))

    def found() -> list[Any]:
        results = search(
            graphs, classes, CountingOracle(ORACLE), scores, [UNKNOWN] * 12, seed=0, k=2, certify=True, mixtures=9,
            constraints=rules,
        )  # fmt: skip
        return [(None if one.edits is None else one.edits.tolist(), one.certificate_calls) for one in results]

    before = found()
    monkeypatch.setattr(ranked, "SORTED_UP_TO", 0)
    monkeypatch.setattr(ranked, "SORTED_AT_FIRST", 2)
    assert found() == before


def test_random_orders_are_interleaved_one_by_one() -> None:
    assert interleaved(np.array([1, 2, 3]), np.array([7])).tolist() == [1, 7, 2, 3]
    assert Lengths(np.array([1]), np.array([2, 2])).sides == [ADD, REMOVE, NODES]


def test_both_sides_are_merged_by_how_likely_an_edit_is_needed() -> None:
    """Share of the side by softmax, times how many edits of the side training graphs needed."""
    graphs = GraphBatch.of([nx.path_graph(4)])
    scores = torch.zeros(1, 4, 4)
    scores[0, 0, 1], scores[0, 0, 3] = np.log(8), np.log(6)  # shares: removals .8 .1 .1, additions .75 .125 .125
    nothing = [np.empty(0, dtype=np.int64)]

    def merged(lengths: Lengths) -> list[int]:
        return orders(graphs, scores, graphs.pair_mask, [lengths], nothing, ("x",))[0].mixed.tolist()

    assert merged(UNKNOWN)[:2] == [0 * 4 + 1, 0 * 4 + 3] and set(merged(UNKNOWN)[2:4]) == {0 * 4 + 2, 1 * 4 + 3}
    both = np.array([[1, 9]] * 9)
    assert Lengths(both=both).mean == (1.0, 8.2)
    assert merged(Lengths(both=both))[0] == 0 * 4 + 3 and set(merged(Lengths(both=both))[-2:]) == {1 * 4 + 2, 2 * 4 + 3}


def test_lengths_are_counted_by_side_or_as_pairs() -> None:
    graphs, n = GraphBatch.of([nx.path_graph(4)] * 4), 4
    edits = [np.array([0 * n + 1]), np.array([0 * n + 2, 0 * n + 3]), np.array([0 * n + 1, 1 * n + 2, 1 * n + 3]), None]
    first, second = lengths_by_class(graphs, torch.tensor([0, 0, 1, 1]), [Found(one) for one in edits], 2)
    assert (first.removals.tolist(), first.additions.tolist(), len(first.both)) == ([1], [2], 0)
    assert second.both.tolist() == [[2, 1]] and not len(second.removals) and second.corners == [(2, 1)]


# -- Where neither side alone is enough --------------------------------------------------------------------------------


class Hashed(Oracle):
    """Any function of the edges: class 1 for a random tenth of all graphs, and for no other reason."""

    name = "hashed"

    def __init__(self, key: int, rare: int) -> None:
        self.key, self.rare = key, rare

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        marks = [seed_for(self.key, a.tobytes()) % self.rare == 0 for a in graphs.adjacency.numpy()]
        return torch.tensor(marks, dtype=torch.long)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([5, 20, 80]))
def test_whatever_the_search_without_learning_finds_is_found(key: int, rare: int) -> None:
    """For oracles without any rule, so that scores mean nothing: the fallback is the same search."""
    graphs = GraphBatch.of([nx.gnp_random_graph(5 + i % 3, 0.4, seed=key + i) for i in range(8)])
    oracle = Hashed(key, rare)
    without = TwoSidedMinimised().explain(graphs, oracle, seed=key)
    scores = torch.from_numpy(np.random.default_rng(key).random((8, graphs.n_nodes, graphs.n_nodes)))
    classes = oracle.predict(graphs)
    found = search(graphs, classes, CountingOracle(oracle), scores, [UNKNOWN] * 8, seed=key, mixtures=30)
    assert all(one.edits is not None for one, other in zip(found, without, strict=True) if other.found)
    made = edited(graphs, torch.arange(8), [NOTHING if one.edits is None else one.edits for one in found])
    flipped = oracle.predict(graphs.candidates(made, torch.arange(8))) != classes
    assert flipped.tolist() == [one.edits is not None for one in found]


class Swapped(Oracle):
    """Class 1 where the number of edges is as it was and the edge 0-1 is gone: a removal and an addition together."""

    name = "swapped"

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        return ((graphs.n_edges == graphs.sizes - 1) & (graphs.adjacency[:, 0, 1] == 0)).long()


def test_mixed_edits_are_found_and_teach_where_neither_side_alone_is_enough() -> None:
    graphs = GraphBatch.of([nx.path_graph(6 + i % 3) for i in range(8)], named_by_position=True)
    classes, oracle = torch.zeros(8, dtype=torch.long), Swapped()
    without = TwoSidedMinimised().explain(graphs, oracle)
    assert not any(one.found for one in without)
    found = search(graphs, classes, CountingOracle(oracle), None, [UNKNOWN] * 8, seed=0, certify=True, mixtures=2000)
    assert all(one.irreducible for one in found)
    lengths = lengths_by_class(graphs, classes, found, 1)
    scores = torch.zeros(8, graphs.n_nodes, graphs.n_nodes)
    scores[:, 0, 1] = 9.0
    counted = CountingOracle(oracle)
    again = search(graphs, classes, counted, scores, [Lengths(both=np.array([[1, 1]]))] * 8, seed=0, certify=True)
    assert counted.calls == 8 * 3, "the corner that is expected, and each of its edits alone"
    assert all(one.edits is not None and len(one.edits) == 2 for one in again) and len(lengths[0].both) == 8


def test_the_loss_is_the_mean_log_share_of_the_needed_pairs() -> None:
    score = torch.tensor([[1.0, 2.0, 0.5, -1.0]])
    side, target = torch.tensor([[True, True, True, False]]), torch.tensor([[1.0, 0.0, 1.0, 1.0]])
    shares = torch.softmax(score[0, :3], 0)
    assert float(_cross_entropy(lambda: score, side, target)) == pytest.approx(
        -float(shares[0].log() + shares[2].log()) / 2
    )
    assert float(_cross_entropy(lambda: score, side, torch.zeros(1, 4))) == 0
    assert float(_cross_entropy(lambda: score, torch.zeros(1, 4, dtype=torch.bool), target)) == 0
    both = torch.cat((side, torch.zeros_like(side))), torch.cat((target, target))
    losses = _cross_entropy(lambda: torch.cat((score, score)), *both)
    assert losses.tolist() == [float(_cross_entropy(lambda: score, side, target)), 0], "one graph has no pairs to lose"


# -- Constraints -------------------------------------------------------------------------------------------------------


class Denser(Oracle):
    """Class 1 from half as many edges as nodes on, so that both sides can flip."""

    name = "denser"

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        return (2 * graphs.n_edges > graphs.sizes * 2).long()


pairs = st.lists(st.tuples(st.integers(0, 3), st.integers(4, 7)), min_size=1, max_size=10).map(tuple)
constraints = st.one_of(
    st.just(OnlyRemovals()),
    st.just(OnlyAdditions()),
    st.just(KeepConnected()),
    pairs.map(Keep),
    pairs.map(Among),
    st.integers(1, 4).map(MostNeighbours),
    st.integers(3, 8).map(lambda least: EdgeCount(least, least + 4)),
    st.just(Satisfies(lambda original, adjacency: adjacency[0].sum() == original.adjacency[0].sum())),
)


@settings(max_examples=60, deadline=None)
@given(st.lists(constraints, min_size=1, max_size=3), st.integers(0, 10_000))
def test_every_returned_graph_keeps_every_constraint(rules: list[Constraint], seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [
        nx.gnp_random_graph(int(rng.integers(5, 9)), float(rng.uniform(0.1, 0.6)), seed=int(rng.integers(1_000_000)))
        for _ in range(6)
    ]
    batch = GraphBatch.of(graphs)
    classes = Denser().predict(batch)
    scores = torch.from_numpy(rng.random((6, batch.n_nodes, batch.n_nodes)))
    found = search(
        batch, classes, CountingOracle(Denser()), scores, [UNKNOWN] * 6, seed=0, certify=True, constraints=tuple(rules)
    )
    for graph, one in zip(graphs, found, strict=True):
        if one.edits is not None:
            made = graph.copy()
            for u, v in (divmod(int(code), batch.n_nodes) for code in one.edits):
                made.remove_edge(u, v) if made.has_edge(u, v) else made.add_edge(u, v)
            assert all(kept(rule, graph, made) for rule in rules)


def kept(rule: Constraint, before: nx.Graph, after: nx.Graph) -> bool:
    """What each constraint promises, said again with NetworkX."""
    removed, added = (
        set(map(frozenset, a.edges)) - set(map(frozenset, b.edges)) for a, b in ((before, after), (after, before))
    )
    match rule:
        case OnlyRemovals():
            return not added
        case OnlyAdditions():
            return not removed
        case Keep(given):
            return not {frozenset(pair) for pair in given} & (removed | added)
        case Among(given):
            return removed | added <= {frozenset(pair) for pair in given}
        case KeepConnected():
            return nx.number_connected_components(after) <= nx.number_connected_components(before)
        case MostNeighbours(most):
            return all(after.degree[v] <= max(most, before.degree[v]) for v in after)
        case EdgeCount(least, most):
            return least <= after.number_of_edges() <= most
        case _:
            return bool(after.degree[0] == before.degree[0])


def test_limits_by_label_are_valences() -> None:
    features = np.eye(2)[[0, 1, 1, 0]]
    graph = Graph(nx.to_numpy_array(nx.path_graph(4)), features)
    rule = MostNeighbours(9, by_label=(2, 2))
    more = graph.adjacency.copy()
    more[0, 2] = more[2, 0] = 1  # node 2 gets a third neighbour
    assert not rule.allows(graph, more) and MostNeighbours(9, by_label=(2, 3)).allows(graph, more)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: Keep(((1, 1),)), "no pair of two nodes"),
        (lambda: Keep(cast(Any, 3)), "pairs of node numbers"),
        (lambda: EdgeCount(5, 2), "give a range"),
        (lambda: MostNeighbours(-1), "whole numbers"),
        (lambda: Satisfies(cast(Any, 3)), "needs a function"),
        (lambda: TaughtRSGGCE(constraints=cast(Any, KeepConnected())), "give a tuple of constraints"),
    ],
)
def test_misuse_is_a_sentence(wrong: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        wrong()


class CannotReadSixEdges(TreeCyclesOracle):
    """Fails on every graph of six edges, alone or in a batch."""

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        if (graphs.n_edges == 6).any():
            raise RuntimeError("out of memory")
        return super().predict(graphs)


def test_graphs_that_the_oracle_cannot_read_do_not_end_a_fit() -> None:
    graphs = [nx.path_graph(8) if i % 2 else nx.cycle_graph(7) for i in range(8)]  # seven edges each
    with pytest.warns(UserWarning, match=r"could not read some edited versions of \d+ training graphs"):
        explainer = TaughtRSGGCE.tiny().fit(graphs, CannotReadSixEdges())
    assert explainer.summary_["taught"] == 8 and all(r.found for r in explainer.explain(graphs, CannotReadSixEdges()))


# -- Classes that no training graph has --------------------------------------------------------------------------------


class ThreeByEdges(Oracle):
    """Class 0, 1 or 2: fewer than ten edges, ten, or more. Trees of ten nodes are 0, and 1 with a cycle."""

    name = "three-by-edges"
    n_classes = 3

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        return (graphs.n_edges - 9).clamp(0, 2)


def with_more_edges(graphs: GraphBatch) -> GraphBatch:
    """The graphs with the first four missing pairs added: of class 2."""
    adjacency = graphs.adjacency.clone()
    for matrix in adjacency:
        u, v = (torch.triu(matrix == 0, 1)).nonzero()[:4].T
        matrix[u, v] = matrix[v, u] = 1
    return GraphBatch(adjacency, graphs.sizes)


def test_a_class_without_training_graphs_is_searched_in_random_order_and_said(tmp_path: Any) -> None:
    oracle, unknown = ThreeByEdges(), with_more_edges(TEST)
    with pytest.warns(UserWarning, match="No training graph is of class 2: graphs of this class"):
        explainer = TaughtRSGGCE(steps=20, certify=True).fit(TRAIN, oracle, seed=1)
    table = explainer.summary()
    assert table["graphs"].tolist()[2] == 0 and table["order"].tolist() == ["learned", "learned", "random"]
    assert explainer.summary_["classes without graphs"] == 1 and set(table["collapsed"]) == {"no", ""}
    results = explainer.explain(unknown, oracle, seed=3)
    untaught = UntaughtSearch(single_edits=0, restarts=1).explain(unknown, oracle, seed=3)
    assert all(one.found and one.before == 2 for one in results)
    assert [(one.edits, one.calls) for one in results] == [(one.edits, one.calls) for one in untaught]
    loaded = TaughtRSGGCE.load(explainer.save(tmp_path / "of three"))
    assert [one.edits for one in loaded.explain(unknown, oracle, seed=3)] == [one.edits for one in results]


def test_a_class_without_training_graphs_can_be_the_target_and_the_start() -> None:
    oracle = ThreeByEdges()
    with pytest.warns(UserWarning, match="class 2"):
        explainer = TaughtRSGGCE(steps=20, certify=True).fit(TRAIN, oracle, seed=1)
    mixed = GraphBatch(torch.cat((TEST.adjacency, with_more_edges(TEST).adjacency)), TEST.sizes.repeat(2))
    for target in range(3):
        for one in explainer.explain(mixed, oracle, target=target, seed=2):
            assert one.found == (one.before != target) and one.after in (None, target)
    learnt = explainer.explain(TEST, oracle, seed=3)
    assert np.mean([one.calls for one in learnt]) < 4, "what was learnt of the other classes is used"


def test_the_discriminator_and_composed_explainers_do_without_a_class_too() -> None:
    oracle, unknown = ThreeByEdges(), with_more_edges(TEST)
    for explainer in (TaughtRSGGCE(steps=5, plausibility=0.1), BestOf(base=TaughtRSGGCE(steps=5), k=2)):
        with pytest.warns(UserWarning, match="class 2"):
            explainer.fit(TRAIN, oracle, seed=1)
        assert all(one.found for one in explainer.explain(unknown, oracle))
    with pytest.raises(FitError, match="No training graph is of class 2"):
        FirstOf(first=TaughtRSGGCE.tiny(), second=RSGGCE.tiny()).fit(TRAIN, oracle)
    with pytest.raises(FitError, match="No training graph is of class 2"):
        RankedRSGGCE.tiny().fit(TRAIN, oracle)
