"""The search methods against brute force, plain sequential code, exact laws and NetworkX."""

from collections import Counter, deque
from collections.abc import Callable
from itertools import combinations
from math import comb

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch import Tensor

from rsgg.baselines.search import BACKWARD_OFFSET, COIN_OFFSET, DCE, DDBS, OBS, Exhaustive, IRand, _pair, _race
from rsgg.contract import check_explainer
from rsgg.contract.explainer import TriangleOracle
from rsgg.counterfactual import Counterfactual
from rsgg.data import ASD, Dataset, TreeCycles
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import ASDOracle, CountingOracle, Oracle, TreeCyclesOracle
from rsgg.oracles.asd import INTERCEPT, S1, S2, WEIGHT_S1, WEIGHT_S2
from rsgg.seeds import seed_for, uniforms
from tests.graphs import all_graphs, has_cycle, needs_asd, tree, unicyclic


@pytest.fixture(scope="module")
def trees() -> Dataset:
    return TreeCycles(n_graphs=120).load()


class OnePair(TreeCyclesOracle):
    """Class 1 iff nodes 2 and 5 are joined."""

    name = "one pair"

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.adjacency[:, 2, 5] > 0).long()


class Never(TreeCyclesOracle):
    """Never changes its mind; keeps all graphs that it saw."""

    def __init__(self) -> None:
        self.seen: list[np.ndarray] = []

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.seen += list(graphs.adjacency.numpy().copy())
        return torch.zeros(len(graphs), dtype=torch.long)


class ReadsFeatures(TreeCyclesOracle):
    def predict(self, graphs: GraphBatch) -> Tensor:
        assert graphs.features is not None
        return graphs.features[:, 0, 0].long()


class ForwardOnly(OBS):
    def _backward(
        self,
        graphs: GraphBatch,
        classes: Tensor,
        oracle: CountingOracle,
        seeds: np.ndarray,
        first: dict[int, np.ndarray],
    ) -> dict[int, np.ndarray]:
        return first


def gnp(count: int, n: int = 8, p: float = 0.3) -> list[nx.Graph]:
    return [nx.gnp_random_graph(n, p, seed=i) for i in range(count)]


def flips(results: list[Counterfactual]) -> list[bool]:
    return [has_cycle(r.input.to_networkx()) != has_cycle(r.returned.to_networkx()) for r in results]


def outcome(results: list[Counterfactual]) -> list[tuple[object, ...]]:
    return [(r.edits, r.calls, r.reason) for r in results]


@pytest.mark.parametrize("method", [OBS, DDBS, IRand, DCE, Exhaustive])
def test_the_contract_is_kept(method: type[Explainer]) -> None:
    check_explainer(method)


# -- all of them -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [OBS, DDBS, IRand, DCE])
def test_results_flip_the_class_as_networkx_sees_it(method: type[Explainer], trees: Dataset) -> None:
    train, test = trees.graphs[:80], trees.graphs[80:]
    results = method().fit(train, TreeCyclesOracle()).explain(test, TreeCyclesOracle(), k=2)
    assert flips(results) == [r.found for r in results]
    cyclic = [has_cycle(r.input.to_networkx()) for r in results]
    assert np.mean([r.found for r, c in zip(results, cyclic, strict=True) if not c]) == 1
    share = np.mean([r.found for r, c in zip(results, cyclic, strict=True) if c])
    assert share < 0.2 if method is IRand else share > 0.85  # one removal out of 378 pairs is rarely the right one


@pytest.mark.parametrize("oracle", [TreeCyclesOracle(), TriangleOracle()])
def test_nothing_is_smaller_than_the_optimum_of_brute_force(oracle: Oracle) -> None:
    everything = all_graphs(5)
    triangles = [sum(nx.triangles(nx.from_numpy_array(a)).values()) > 0 for a in everything]
    cycles = [has_cycle(nx.from_numpy_array(a)) for a in everything]
    classes, codes = np.array(triangles if isinstance(oracle, TriangleOracle) else cycles), np.arange(1024)
    chosen = codes[7::29]
    best = [min(int(c).bit_count() for c in codes[classes != classes[i]] ^ i) for i in chosen]
    graphs = [Graph(everything[i], name=str(i)) for i in chosen]
    train = GraphBatch.of([Graph(a) for a in everything[::5]])
    for method in (OBS(), DDBS(ignorance=0.1), IRand(share=0.5), DCE(), Exhaustive()):
        results = method.fit(train, oracle).explain(graphs, oracle)
        sizes = [len(r.edits) for r in results]
        bits = {pair: 1 << i for i, pair in enumerate(combinations(range(5), 2))}
        for i, b, r in zip(chosen, best, results, strict=True):
            after = int(i) ^ sum(bits[pair] for pair in r.edits)
            assert not r.found or (len(r.edits) >= b and classes[after] != classes[i])
        if isinstance(method, Exhaustive):
            assert [len(r.edits) if r.found else 3 for r in results] == np.minimum(best, 3).tolist()
            assert all(1 + 10 < r.calls <= 1 + 10 + 45 for r, b in zip(results, best, strict=True) if b == 2)
            continue
        assert all(r.found for r in results) or isinstance(method, IRand)
        if isinstance(method, OBS):
            assert np.mean(np.array(sizes) - best) < 0.6


@pytest.mark.parametrize("search", [OBS, IRand])
def test_blocks_of_questions_are_charged_as_if_asked_one_by_one(
    search: type[Explainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = TreeCycles(n_graphs=20).load().graphs
    blocks = search().explain(graphs, TreeCyclesOracle())
    monkeypatch.setattr("rsgg.baselines.search.BLOCK_CELLS", 0)  # then every block holds one question
    counted = CountingOracle(TreeCyclesOracle())
    assert outcome(search().explain(graphs, counted)) == outcome(blocks)
    assert (counted.calls == counted.evaluated) == (search is OBS)  # iRand always evaluates the tries of a level


@pytest.mark.parametrize("search", [OBS, IRand])
def test_candidates_are_independent_and_do_not_depend_on_how_many(search: type[Explainer]) -> None:
    graphs = [tree(20, seed) for seed in range(10)]
    three = search().explain(graphs, TreeCyclesOracle(), k=3)
    assert all(flips(three))
    assert len({(r.instance, *r.edits) for r in three}) > 20
    assert outcome(three[1::3]) != outcome(three[2::3])
    first = search().explain(graphs, TreeCyclesOracle())
    assert [r.edits for r in three[::3]] == [r.edits for r in first]


def test_one_node_has_nothing_to_flip_and_one_pair_little() -> None:
    for search in (OBS(), IRand()):
        alone, pair, other = search.explain([nx.empty_graph(1), nx.path_graph(2), tree(5)], TreeCyclesOracle())
        assert not alone.found and alone.calls == 1 and "changed the class" in alone.reason
        assert not pair.found and pair.calls == 1 + (3 if isinstance(search, IRand) else search.questions)
        assert other.found


def test_every_set_of_edits_is_asked_about_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rsgg.baselines.search.BLOCK_CELLS", 1000)
    for n, pairs in ((6, 15), (4, 6)):
        oracle, sets = Never(), sum(comb(pairs, size) for size in range(4))
        (result,) = Exhaustive(most=3).explain([tree(n)], oracle)
        assert not result.found and result.calls == sets
        assert len({graph.tobytes() for graph in oracle.seen}) == sets


@pytest.mark.parametrize("search", [OBS(questions=7), IRand(share=0.2, tries=2)])
def test_an_oracle_that_never_changes_its_mind_is_a_failure(search: Explainer) -> None:
    (result,) = search.explain([tree(8)], Never())
    most = 1 + (7 if isinstance(search, OBS) else 2 * 5)  # a fifth of 28 pairs is 5
    assert not result.found and "changed the class" in result.reason and result.calls == most
    (poor,) = search.explain([tree(8)], CountingOracle(Never(), 4))
    assert poor.reason == "the oracle budget was used up" and poor.calls == 4


# -- OBS -------------------------------------------------------------------------------------------------


def published_obs(
    graph: nx.Graph, changed: Callable[..., bool], name: str, k: int = 5, limit: int = 2000
) -> tuple[set[tuple[int, int]], int, int]:
    """OBS with its two queues, for one graph, with the random numbers of `OBS` at seed 0: edits, calls, first edits."""
    seeds = np.array([seed_for(0, "bidirectional search", name, 0)], dtype=np.uint64)
    pairs = list(combinations(sorted(graph), 2))
    forward, backward = (uniforms(seeds, start, len(pairs))[0] for start in (0, BACKWARD_OFFSET))
    shuffled = [pair for _, pair in sorted(zip(forward, pairs, strict=True))]
    to_remove = deque(pair for pair in shuffled if graph.has_edge(*pair))
    to_add = deque(pair for pair in shuffled if not graph.has_edge(*pair))
    current, calls, coin = nx.Graph(graph), 1, 0
    while True:
        if calls > limit:
            return set(), calls, 0
        for _ in range(k):
            heads = uniforms(seeds, COIN_OFFSET + coin, 1)[0, 0] < 0.5
            coin += 1
            if (heads and to_remove) or not to_add:
                pair = to_remove.popleft()
                current.remove_edge(*pair)
                to_add.append(pair)
            else:
                pair = to_add.popleft()
                current.add_edge(*pair)
                to_remove.append(pair)
        calls += 1
        if changed(graph, current):
            break
    kept = {pair for pair in pairs if graph.has_edge(*pair) != current.has_edge(*pair)}
    queue, step, first, asked = [p for _, p in sorted(zip(backward, pairs, strict=True)) if p in kept], k, len(kept), 0
    while queue and len(kept) > 1 and asked < limit:
        undo, queue = queue[:step], queue[step:]
        asked += 1
        attempt = nx.Graph(graph)
        for pair in kept - set(undo):
            attempt.add_edge(*pair) if not graph.has_edge(*pair) else attempt.remove_edge(*pair)
        if changed(graph, attempt):
            kept, step = kept - set(undo), step + 1
        elif step > 1:
            queue, step = queue + undo, step - 1
    return kept, calls + asked, first


def cycle_changed(before: nx.Graph, after: nx.Graph) -> bool:
    return has_cycle(before) != has_cycle(after)


def triangle_changed(before: nx.Graph, after: nx.Graph) -> bool:
    return any(nx.triangles(before).values()) != any(nx.triangles(after).values())


@pytest.mark.parametrize(
    ("oracle", "changed"), [(TreeCyclesOracle(), cycle_changed), (TriangleOracle(), triangle_changed)]
)
def test_obs_is_the_published_loop_with_two_queues(oracle: Oracle, changed: Callable[..., bool]) -> None:
    graphs = [*gnp(12), *gnp(4, 6, 0.8), tree(15), unicyclic(12, 4), nx.complete_graph(5), nx.empty_graph(6)]
    results = OBS(questions=150).explain(GraphBatch.of(graphs, named_by_position=True), oracle)
    used_up = 0
    for i, (graph, r) in enumerate(zip(graphs, results, strict=True)):
        edits, calls, first = published_obs(graph, changed, str(i), limit=150)
        assert (set(r.edits), r.calls) == (edits, calls)
        used_up += first > graph.number_of_edges() + 5 or calls > 60
    assert used_up  # some searches go round the circle


def test_the_backward_phase_only_drops_edits(trees: Dataset) -> None:
    first = ForwardOnly().explain(trees.graphs, TreeCyclesOracle())
    final = OBS().explain(trees.graphs, TreeCyclesOracle())
    assert [r.found for r in first] == [r.found for r in final]
    for a, b in zip(first, final, strict=True):
        assert set(b.edits) <= set(a.edits) and b.calls >= a.calls
    assert sum(len(a.edits) for a in first) > 3 * sum(len(b.edits) for b in final)


def test_a_larger_budget_never_lengthens(trees: Dataset) -> None:
    graphs = trees.graphs[:30]
    free = OBS().explain(graphs, TreeCyclesOracle())
    before = None
    for budget in (2, 4, 8, 16, 64, 5000):
        results = OBS().explain(graphs, CountingOracle(TreeCyclesOracle(), budget))
        assert all(r.calls <= budget for r in results)
        assert flips(results) == [r.found for r in results]
        assert {r.reason for r in results if not r.found and budget < 5000} <= {"the oracle budget was used up"}
        if before is not None:
            assert all(not a.found or set(b.edits) <= set(a.edits) for a, b in zip(before, results, strict=True))
        before = results
    assert outcome(results) == outcome(free)


def test_hyper_parameters_do_what_they_say() -> None:
    graphs = [nx.complete_graph(8), *gnp(10)]
    only_removes = ForwardOnly(removals=1.0, forward_edits=3, questions=2).explain(graphs, Never())
    assert {r.calls for r in only_removes} == {3}
    seen = Never()
    ForwardOnly(removals=1.0, forward_edits=3, questions=2).explain(graphs[:1], seen)
    assert [28 - a.sum() // 2 for a in seen.seen[:3]] == [0, 3, 6]
    seen = Never()
    ForwardOnly(removals=0.0, forward_edits=4, questions=3).explain([nx.empty_graph(8)], seen)
    assert [a.sum() // 2 for a in seen.seen[:4]] == [0, 4, 8, 12]


def test_half_of_the_forward_edits_remove() -> None:
    seen = Never()
    graphs = GraphBatch.of(gnp(1, 12, 0.5) * 400, named_by_position=True)  # one graph, explained in 400 ways
    ForwardOnly(questions=1, forward_edits=1).explain(graphs, seen)
    edges = np.array([a.sum() // 2 for a in seen.seen])
    assert abs((edges[400:800] < edges[0]).mean() - 0.5) < 0.09


# -- DDBS ------------------------------------------------------------------------------------------------


def one_pair_data() -> list[nx.Graph]:
    """Random graphs of ten nodes of which every second has the edge 2-5; other pairs are as frequent in both."""
    graphs = []
    for i in range(60):
        graph = nx.gnp_random_graph(10, 0.3, seed=i // 2)
        graph.remove_edges_from([(2, 5)] if i % 2 else [])
        graph.add_edges_from([] if i % 2 else [(2, 5)])
        graphs.append(graph)
    return graphs


def test_ddbs_asks_fewer_questions_where_one_pair_decides() -> None:
    graphs, oracle = one_pair_data(), OnePair()
    calls = {}
    for method in (OBS(forward_edits=1), DDBS(forward_edits=1), DDBS(forward_edits=1, ignorance=0.0)):
        results = method.fit(graphs, oracle).explain(graphs, oracle, k=3)
        found = [r for r in results if r.found]
        assert len(found) > 170 and all(r.edits == [(2, 5)] for r in found)
        calls[getattr(method, "ignorance", None)] = np.mean([r.calls for r in results])
    assert calls[0.0] < 0.3 * calls[None] and calls[1.0] < 0.9 * calls[None]
    # With b = 0 nothing else is drawn: the pair is the first of its side, as soon as the coin chooses the side.
    assert calls[0.0] < 1 + 2 * 2 + 8


def test_ddbs_learns_the_difference_of_frequencies() -> None:
    oracle, graphs = TreeCyclesOracle(), GraphBatch.of([*gnp(20, 7), *gnp(9, 8), *gnp(20, 9, 0.7)])
    ddbs = DDBS().fit(graphs, oracle)
    count = np.zeros((2, 9, 9, 2))  # class, u, v, (graphs with both nodes, with the edge)
    for graph in graphs:
        for u, v in combinations(range(graph.n_nodes), 2):
            count[int(has_cycle(graph.to_networkx())), u, v] += (1, graph.adjacency[u, v])
    for u, v in combinations(range(9), 2):
        share = count[:, u, v, 1] / np.maximum(count[:, u, v, 0], 1)
        expected = share[1] - share[0] if count[:, u, v, 0].all() else 0.0  # no tree has nine nodes
        assert ddbs.difference_[0, u, v].item() == pytest.approx(expected)
        assert ddbs.difference_[1, v, u].item() == pytest.approx(-expected)


def test_weights_prefer_adding_what_the_other_class_has() -> None:
    graphs, oracle = one_pair_data(), OnePair()
    ddbs = DDBS(ignorance=0.5).fit(graphs, oracle)
    without, with_ = np.zeros((1, 10, 10)), np.ones((1, 10, 10))
    add, remove = ddbs._weights(without, torch.tensor([0]))[0], ddbs._weights(with_, torch.tensor([1]))[0]
    assert add[2, 5] == pytest.approx(1.5) and remove[2, 5] == pytest.approx(1.5)
    assert add[0, 1] == pytest.approx(0.5) and remove[0, 1] == pytest.approx(0.5)
    assert ddbs._weights(without, torch.tensor([1]))[0][2, 5] == pytest.approx(0.5)  # its own class has it


def test_ddbs_is_obs_where_the_data_say_nothing() -> None:
    train = [Graph(nx.to_numpy_array(g), np.full((8, 1), c)) for g in gnp(10) for c in (0, 1)]
    graphs = [Graph(nx.to_numpy_array(g), np.zeros((len(g), 1))) for g in (*gnp(15), *gnp(3, 5, 0.5), tree(12))]
    ddbs = DDBS(forward_edits=5).fit(train, ReadsFeatures())
    assert outcome(ddbs.explain(graphs, TreeCyclesOracle())) == outcome(OBS().explain(graphs, TreeCyclesOracle()))


def test_the_race_draws_with_the_given_weights() -> None:
    weights = np.array([1.0, 2.0, 5.0])
    matrix = np.zeros((4000, 3, 3))
    matrix[:, [0, 0, 1], [1, 2, 2]] = weights
    keys = _race(matrix > 0, matrix, np.arange(4000, dtype=np.uint64), 0)[:, [0, 0, 1], [1, 2, 2]]
    orders = Counter(map(tuple, keys.argsort(1).tolist()))
    expected = {
        (a, b, c): 4000 * weights[a] / 8 * weights[b] / (8 - weights[a])
        for a, b, c in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    }
    assert chisquare([orders[o] for o in expected], list(expected.values())).pvalue > 1e-3


# -- iRand -----------------------------------------------------------------------------------------------


def occupancy(balls: int, cells: int) -> np.ndarray:
    """P(number of occupied cells = 0, 1, …, balls) when balls fall into cells at random."""
    law = np.array([1.0] + [0.0] * balls)
    for _ in range(balls):
        occupied = np.arange(balls + 1)
        law = law * occupied / cells + np.concatenate(([0.0], (law * (cells - occupied) / cells)[:-1]))
    return law


def test_irand_flips_as_many_pairs_as_it_says() -> None:
    tries, graph, oracle = 1500, nx.gnp_random_graph(5, 0.5, seed=3), Never()
    (result,) = IRand(share=0.6, tries=tries).explain([graph], oracle)
    assert result.calls == 1 + 6 * tries
    before = nx.to_numpy_array(graph)
    changed = np.array([np.triu(a != before) for a in oracle.seen[1:]]).reshape(6, tries, 25)
    for level in range(1, 7):
        sizes = np.bincount(changed[level - 1].sum(1), minlength=level + 1)
        law = occupancy(level, 10) * tries
        usual = law > 5
        assert sizes[law == 0].sum() == 0
        observed = np.append(sizes[usual], sizes[~usual].sum())
        expected = np.append(law[usual], law[~usual].sum())
        if usual.sum() > 1:
            assert chisquare(observed[expected > 0], expected[expected > 0]).pvalue > 1e-3
    per_pair = changed.sum((0, 1))[np.triu(np.ones((5, 5)), 1).ravel() > 0]
    assert abs(per_pair / per_pair.mean() - 1).max() < 0.06  # every pair as often as any other


def test_irand_draws_anew_in_every_try() -> None:
    """Two tries share a pair as often as chance: i·j / P for i and j pairs out of P."""
    oracle = Never()
    IRand(share=4 / 435, tries=10).explain([nx.empty_graph(30)] * 20, oracle)
    by_level = np.array(oracle.seen[20:]).reshape(4, 20, 10, 900).transpose(1, 0, 2, 3)  # row, level, try, pair
    asked = by_level.reshape(20, 40, 900).astype(int)
    shared = (asked @ asked.transpose(0, 2, 1))[:, *np.triu_indices(40, 1)] / 2
    assert shared.mean() == pytest.approx(2.5**2 / 435, rel=0.2)


def test_irand_goes_up_level_by_level_and_starts_from_the_input() -> None:
    graphs = [nx.empty_graph(9), nx.empty_graph(5), nx.empty_graph(2)]
    for graph, levels in zip(graphs, (3, 1, 1), strict=True):  # a tenth of 36, 10 and 1 pairs, at least one
        oracle = Never()
        (result,) = IRand(tries=4).explain([graph], oracle)
        edges = np.array([a.sum() // 2 for a in oracle.seen[1:]]).reshape(levels, 4)
        assert (edges <= np.arange(1, levels + 1)[:, None]).all() and (edges[0] == 1).all()
        assert result.calls == 1 + 4 * levels


def test_irand_finds_a_cycle_edge_as_often_as_chance() -> None:
    """One try with one flip of 66 pairs hits one of six edges of a cycle with probability 1/11."""
    graphs = [unicyclic(12, 6, seed) for seed in range(40)]
    results = IRand(share=1 / 66, tries=1).explain(graphs, TreeCyclesOracle(), k=20)
    assert np.mean([r.found for r in results]) == pytest.approx(1 / 11, abs=0.035)
    assert all(len(r.edits) == 1 for r in results if r.found)


def test_pairs_by_number() -> None:
    u, v = _pair(np.arange(600 * 599 // 2))
    assert list(zip(u[:6], v[:6], strict=True)) == [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    assert (u < v).all() and (u >= 0).all() and v.max() == 599 and len(set((v * 600 + u).tolist())) == len(u)


# -- DCE -------------------------------------------------------------------------------------------------


def test_dce_is_the_nearest_by_a_plain_loop(trees: Dataset) -> None:
    train, test = trees.graphs[:80], trees.graphs[90:102]
    results = DCE().fit(train, TreeCyclesOracle()).explain(test, TreeCyclesOracle(), k=2)
    for i, graph in enumerate(test):
        others = []
        for other in train:
            if has_cycle(other.to_networkx()) != has_cycle(graph.to_networkx()):
                others.append(
                    sum(graph.adjacency[u, v] != other.adjacency[u, v] for u, v in combinations(range(28), 2))
                )
        assert [len(r.edits) for r in results[2 * i : 2 * i + 2]] == sorted(others)[:2]
        assert [r.calls for r in results[2 * i : 2 * i + 2]] == [2, 1]
    assert all(flips(results))
    known = {other.adjacency.tobytes() for other in train}
    assert all(r.returned.adjacency.tobytes() in known for r in results)


def test_dce_needs_as_many_nodes() -> None:
    explainer = DCE(nodes="numbered").fit([tree(9), unicyclic(9, 3), unicyclic(6, 3)], TreeCyclesOracle())
    results = explainer.explain([tree(9, 5), tree(6, 5), tree(12)], TreeCyclesOracle(), k=2)
    assert [r.found for r in results] == [True, False, True, False, False, False]
    assert results[1].reason == "only 1 training graphs of another class have 9 nodes"
    assert results[4].reason == "only 0 training graphs of another class have 12 nodes"
    (alone,) = explainer.explain([tree(6, 5)], TreeCyclesOracle())  # padded less than the training graphs
    assert alone.edits == results[2].edits


def test_dce_is_checked_where_the_oracle_reads_features() -> None:
    graphs = [Graph(nx.to_numpy_array(unicyclic(6, 3, i)), np.full((6, 1), i % 2)) for i in range(4)]
    results = DCE().fit(graphs, ReadsFeatures()).explain(graphs, ReadsFeatures())
    assert {r.reason for r in results} == {"the candidate does not change the class"}
    poor = DCE().fit(graphs, ReadsFeatures()).explain(graphs, CountingOracle(ReadsFeatures(), 1))
    assert {(r.reason, r.calls) for r in poor} == {("the oracle budget was used up", 1)}


# -- ASD -------------------------------------------------------------------------------------------------


@needs_asd
def test_bidirectional_search_on_asd() -> None:
    """The rule, counted with NetworkX; the optimum is 8.2 edits on average, data make the search shorter."""
    asd = ASD().load()
    test = asd.graphs[::8]

    def rule(graph: Graph) -> bool:
        whole = graph.to_networkx()
        a, b = (whole.subgraph(regions).number_of_edges() for regions in (S1, S2))
        return INTERCEPT + WEIGHT_S1 * a + WEIGHT_S2 * b > 0

    calls = []
    for method in (OBS(), DDBS(forward_edits=5)):
        results = method.fit(asd.graphs[1::2], ASDOracle()).explain(test, ASDOracle())
        assert all(rule(r.input) != rule(r.returned) for r in results)
        sizes, best = np.array([len(r.edits) for r in results]), ASDOracle().optimal_ged(test).numpy()
        assert (sizes >= best).all() and sizes.mean() < 2 * best.mean()
        calls.append(np.mean([r.calls for r in results]))
    assert calls[1] < calls[0]
