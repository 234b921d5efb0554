"""GCFExplainer: its neighbours against an enumeration, its edit paths against explicit ones, and its walk."""

from __future__ import annotations

from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from torch import Tensor

from rsgg.baselines.gcfexplainer import (
    ADD_LEAF,
    DROP_LEAF,
    FLIP,
    RELABEL,
    Covering,
    Edits,
    GCFExplainer,
    Node,
    Transitions,
    _Walk,
    all_edits,
    changes,
    identities,
    made,
)
from rsgg.edit_distance import NOTHING, LabelledGraphs, cost_in_place, largest_within, matched, within
from rsgg.errors import FitError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles.counting import CountingOracle
from rsgg.oracles.oracle import Oracle

N_LABELS = 2


class LabelOracle(Oracle):
    """The wanted class 0 has a node with the second label (or with another one: `column`)."""

    name = "label"

    def __init__(self, column: int = 1) -> None:
        self.column = column

    def predict(self, graphs: GraphBatch) -> Tensor:
        assert graphs.features is not None
        return (~(graphs.features[:, :, self.column] > 0).any(1)).long()

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        wanted = 1 - self.predict(graphs).double()
        return torch.stack((0.1 + 0.8 * wanted, 0.9 - 0.8 * wanted), 1)


def random_node(rng: np.random.Generator, n: int, density: float = 0.5) -> Node:
    above = np.triu(rng.random((n, n)) < density, 1)
    return Node(above | above.T, rng.integers(1, N_LABELS + 1, n))


def canonical(adjacency: np.ndarray, labels: np.ndarray) -> tuple[object, ...]:
    """The same for all graphs that differ in the numbers of their nodes only, by trying all numberings."""
    return min(
        (tuple(labels[list(order)].tolist()), adjacency[np.ix_(order, order)].astype(int).tobytes())
        for order in permutations(range(len(labels)))
    )


def canonical_forms(graphs: LabelledGraphs) -> list[tuple[object, ...]]:
    sizes = graphs.n_nodes.tolist()
    return [canonical(graphs.adjacency[i, :n, :n], graphs.labels[i, :n]) for i, n in enumerate(sizes)]


def enumerated(node: Node) -> set[tuple[object, ...]]:
    """Every graph one edit away, found among all graphs: by exact distance, and leaf by leaf."""
    n, found = len(node.labels), set()
    own = canonical(node.adjacency, node.labels)
    for size in (n - 1, n, n + 1):
        pairs = list(combinations(range(size), 2))
        for labels, present in product(
            product(range(1, N_LABELS + 1), repeat=size), product((False, True), repeat=len(pairs))
        ):
            if list(labels) != sorted(labels):
                continue  # another numbering of the same graph
            adjacency = np.zeros((size, size), dtype=bool)
            for (u, v), there in zip(pairs, present, strict=True):
                adjacency[u, v] = adjacency[v, u] = there
            other = Node(adjacency, np.array(labels))
            if size == n:
                near = (
                    within(node.listed, other.listed, 1, 10**5)[0]
                    and not within(node.listed, other.listed, 0, 10**5)[0]
                )
            else:
                large, small = (other, own) if size > n else (node, canonical(adjacency, other.labels))
                near = any(
                    _without(large, leaf) == small for leaf in np.flatnonzero(large.adjacency.sum(1) == 1).tolist()
                )
            if near:
                found.add(canonical(adjacency, other.labels))
    return found


def _without(node: Node, leaf: int) -> tuple[object, ...]:
    rest = np.delete(np.arange(len(node.labels)), leaf)
    return canonical(node.adjacency[np.ix_(rest, rest)], node.labels[rest])


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_are_all_graphs_one_edit_away(seed: int) -> None:
    node = random_node(np.random.default_rng(seed), 3)
    edits = all_edits(node, N_LABELS, connected=False)
    assert set(canonical_forms(made(node, edits))) == enumerated(node)


def test_edits_cost_one_and_leaves_two() -> None:
    node = random_node(np.random.default_rng(5), 5)
    edits = all_edits(node, N_LABELS, connected=False)
    assert set(edits.kind.tolist()) == {FLIP, RELABEL, ADD_LEAF, DROP_LEAF}
    graphs = made(node, edits)
    for i, kind in enumerate(edits.kind.tolist()):
        distance = 1 if kind in (FLIP, RELABEL) else 2
        assert within(node.listed, graphs.select([i]), distance, 10**5)[0] is True
        assert within(node.listed, graphs.select([i]), distance - 1, 10**5)[0] is False


def test_a_connected_graph_stays_connected() -> None:
    rng = np.random.default_rng(2)
    tree = nx.random_labeled_tree(6, seed=3)
    tree.add_edge(*next(iter(nx.non_edges(tree))))
    node = Node(nx.to_numpy_array(tree, nodelist=range(6)) > 0, rng.integers(1, 3, 6))
    strict, free = (made(node, all_edits(node, N_LABELS, connected=connected)) for connected in (True, False))
    assert len(strict) < len(free)

    def connected(graphs: LabelledGraphs) -> list[bool]:
        sizes = graphs.n_nodes.tolist()
        return [nx.is_connected(nx.from_numpy_array(graphs.adjacency[i, :n, :n])) for i, n in enumerate(sizes)]

    assert all(connected(strict)) and not all(connected(free))
    assert sum(connected(free)) == len(strict)  # and none that is connected is left out


def test_graphs_without_labels_have_neighbours_without_labels() -> None:
    node = Node(np.array([[False, True], [True, False]]), np.zeros(2, dtype=np.int64))
    edits = all_edits(node, 0, connected=False)
    assert edits.kind.tolist() == [FLIP, ADD_LEAF, ADD_LEAF, DROP_LEAF, DROP_LEAF]
    assert (made(node, edits).labels[edits.kind == ADD_LEAF] == 0).all()


def test_identities_tell_graphs_apart_and_not_their_numberings() -> None:
    """Colour refinement tells all graphs of up to four nodes apart."""
    rng = np.random.default_rng(0)
    nodes = [random_node(rng, int(rng.integers(1, 5))) for _ in range(60)]
    listed = nodes[0].listed
    for node in nodes[1:]:
        listed = listed.joined(node.listed)
    numbers, forms = identities(listed).tolist(), canonical_forms(listed)
    assert len(set(numbers)) == len(set(forms)) == len(set(zip(numbers, forms, strict=True)))
    assert numbers == identities(listed.padded(9)).tolist()


@pytest.fixture(scope="module")
def paths() -> tuple[Node, Edits, LabelledGraphs, LabelledGraphs]:
    """A graph, its edits, other graphs, and these matched with it."""
    rng = np.random.default_rng(1)
    node = random_node(rng, 5)
    others = random_node(rng, 4).listed
    for n in (5, 6, 7, 5):
        others = others.joined(random_node(rng, n).listed)
    others = others.padded(8)
    found = matched(node.listed.padded(8).select([0] * len(others)), others)
    return node, all_edits(node, N_LABELS, connected=False), others, found.other


def test_changes_are_those_of_explicit_edit_paths(paths: tuple[Node, Edits, LabelledGraphs, LabelledGraphs]) -> None:
    node, edits, _, others = paths
    before = cost_in_place(node.listed.padded(8).select([0] * len(others)), others)
    after = before + changes(node, edits, others)
    n = len(node.labels)
    for i, kind in enumerate(edits.kind.tolist()):
        u, other = int(edits.u[i]), int(edits.other[i])
        for j in range(len(others)):
            costs = []
            for place in range(n, 8) if kind == ADD_LEAF else (n,):
                adjacency, labels = np.zeros((8, 8), dtype=bool), np.full(8, NOTHING)
                adjacency[:n, :n], labels[:n] = node.adjacency, node.labels
                if kind == FLIP:
                    adjacency[u, other] = adjacency[other, u] = not adjacency[u, other]
                elif kind == RELABEL:
                    labels[u] = other
                elif kind == DROP_LEAF:
                    adjacency[u], adjacency[:, u], labels[u] = False, False, NOTHING
                else:
                    adjacency[u, place] = adjacency[place, u] = True
                    labels[place] = other
                costs.append(cost_in_place(LabelledGraphs(adjacency[None], labels[None]), others.select([j]))[0])
            assert after[i, j] == min(costs)


def test_what_counts_as_covered_is_within_the_distance(
    paths: tuple[Node, Edits, LabelledGraphs, LabelledGraphs],
) -> None:
    node, edits, others, _ = paths
    theta = 0.2
    covered = Covering(others, N_LABELS, theta).covered(node, edits).toarray() > 0
    graphs = made(node, edits)
    assert covered.any() and not covered.all()
    near = 0
    for i, j in np.ndindex(covered.shape):
        limit = int(largest_within(theta, graphs.elements[i : i + 1], others.elements[j : j + 1])[0])
        truly = within(graphs.select([i]), others.select([j]), limit, 10**5)[0]
        assert truly or not covered[i, j]
        near += bool(truly)
    assert covered.sum() >= near / 3  # one edit path per pair shows less than there is: about half in small graphs


# -- The walk --------------------------------------------------------------------------------------------------


def paths_of(n: int, count: int, label: int = 0) -> list[Graph]:
    adjacency = nx.to_numpy_array(nx.path_graph(n)).astype(int)
    return [Graph(adjacency, np.eye(3)[[label] * n], name=f"{i}") for i in range(count)]


def test_one_edit_that_flips_all_graphs_is_found() -> None:
    """Of paths of 8 nodes with one label: another label anywhere is one edit of 30 elements."""
    explainer = GCFExplainer(steps=60, told="classes").fit(paths_of(8, 10), LabelOracle(), target=0)
    result = explainer.summarise(k=1, theta=0.05)
    assert len(result.graphs) == 1 and result.coverage() == (1, 1) and result.cost().high <= 2 / 30


def test_the_walk_depends_on_its_seed_alone() -> None:
    graphs = [*paths_of(5, 3), *paths_of(7, 3)]
    runs = [GCFExplainer(steps=40).fit(graphs, LabelOracle(), target=0, seed=seed).candidates_ for seed in (0, 0, 1)]
    content = [[(one.adjacency.tobytes(), str(one.features)) for one in run or ()] for run in runs]
    assert content[0] == content[1] and content[0] != content[2] and content[0]


def test_the_answers_of_the_oracle_change_the_result() -> None:
    graphs = paths_of(6, 4)
    for column in (1, 2):
        explainer = GCFExplainer(steps=40).fit(graphs, LabelOracle(column), target=0)
        assert explainer.candidates_
        for graph in explainer.candidates_:
            assert graph.features is not None and graph.features[:, column].any()


def test_a_budget_ends_the_walk() -> None:
    counted = CountingOracle(LabelOracle(), 100)
    explainer = GCFExplainer(steps=500).fit(paths_of(6, 4), counted, target=0)
    assert counted.calls <= 100 and explainer.calls_ == counted.calls


def walk(**options: object) -> tuple[_Walk, Transitions]:
    """A walk that has visited one graph three times, and four neighbours: the second is that graph."""
    graphs = GraphBatch.of(paths_of(6, 4))
    explainer = GCFExplainer(**options)  # type: ignore[arg-type]
    made_here = _Walk(explainer, graphs, 0, CountingOracle(LabelOracle()), np.random.default_rng(0))
    node = Node(graphs.adjacency[0].numpy() > 0, np.ones(6, dtype=np.int64))
    for _ in range(3):
        made_here._visit(node, 12, np.array([True, True, False, False]))
    covered = csr_array(np.array([[1.0, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 1], [0, 0, 0, 0]]))
    edits = Edits(np.full(4, RELABEL), np.arange(4), np.full(4, 2))
    p = np.array([0.5, 1.0, 0.2, 0.9])
    return made_here, Transitions(edits, np.array([11, 12, 13, 14], dtype=np.uint64), p, p >= 0.5, covered)


def test_importance_is_that_of_the_paper() -> None:
    made_here, transitions = walk(alpha=0.25)
    alone, gain = np.array([1, 2, 3, 0]) / 4, np.array([0, 0, 2, 0]) / 4
    assert np.allclose(made_here._importance(transitions), transitions.probability * (0.25 * alone + 0.75 * gain))
    assert made_here._reinforcement(transitions).tolist() == [1, 4, 1, 1]


def test_parts_can_be_left_out() -> None:
    made_here, transitions = walk(weighted=False, reinforced=False)
    assert made_here._importance(transitions).tolist() == made_here._reinforcement(transitions).tolist() == [1] * 4


def test_without_any_coverage_probability_decides() -> None:
    made_here, transitions = walk(alpha=0.0)
    made_here.times_covered[:] = 1  # all covered: no neighbour gains anything
    assert np.allclose(made_here._importance(transitions), transitions.probability)


def test_the_walk_returns_to_inputs_that_are_not_covered() -> None:
    draws: dict[bool, list[int]] = {}
    for dynamic in (True, False):
        made_here, _ = walk(dynamic=dynamic)
        made_here.times_covered = np.array([9, 9, 9, 0])
        made_here.labelled.labels[:, 0] = [1, 2, 3, 4]  # so that inputs can be told apart
        draws[dynamic] = [int(made_here._an_input().labels[0]) for _ in range(200)]
    assert draws[True].count(4) > 190 and 20 < draws[False].count(4) < 80


def test_only_the_most_visited_graphs_count_as_candidates() -> None:
    made_here, _ = walk()
    node = made_here.visited[0]
    for identity in range(20, 25):
        made_here._visit(node, identity, np.array([False, False, True, False]))
    made_here._visit(node, 24, np.array([False, False, True, False]))
    assert made_here._most_visited() == [0, 5, 1, 2]  # four inputs, so four graphs
    assert made_here.times_covered.tolist() == [1, 1, 3, 0]


def test_what_cannot_be_explained_gets_a_sentence() -> None:
    class ClassesOnly(LabelOracle):
        def why_not_differentiable(self) -> str:
            return "it has no relaxation"

    with pytest.raises(FitError, match="told='classes'"):
        GCFExplainer().fit(paths_of(4, 2), ClassesOnly(), target=0)
    numbers = [Graph(np.zeros((2, 2), dtype=int), np.full((2, 3), 0.5))]
    with pytest.raises(FitError, match="one-hot"):
        GCFExplainer().fit(numbers, LabelOracle(2), target=1)
