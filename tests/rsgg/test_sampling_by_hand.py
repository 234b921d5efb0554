"""Algorithm 1 replayed by hand, number by number, for every sampler and reading; what is recorded of it; its blocks."""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import pytest
import torch

from rsgg.counterfactual import Candidate
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, Oracle
from rsgg.rsgg_ce import explainer
from rsgg.rsgg_ce.explainer import Reading, partial_order_sampling, sampler_named, traced
from rsgg.rsgg_ce.partial_order import ExistingThenMissing
from rsgg.seeds import seed_for, uniforms_at

T = 45  # more than the 40 draws that are made at first
GROUP, VISITS = 2**40, 2**39  # where a group's random numbers begin, and among them those of the order of visits


class HeavyEdges(Oracle):
    """Class 1 iff the weights of all edges sum to `threshold` or more: an edge drawn twice counts twice."""

    name = "heavy-edges"

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        return (torch.triu(graphs.adjacency.long(), 1).sum((1, 2)) >= self.threshold).long()


@dataclass
class Replay:
    """One row of Algorithm 1 in plain Python: the weights of its pairs, its calls, and what happened."""

    graph: nx.Graph
    p: np.ndarray
    threshold: int
    sampler: str
    letter: bool
    stream: int
    weight: dict[tuple[int, int], int] = field(default_factory=dict)
    removed: list[tuple[int, int]] = field(default_factory=list)
    checked: list[tuple[int, int]] = field(default_factory=list)
    calls: int = 0

    def number(self, position: int) -> float:
        return float(uniforms_at(np.array([self.stream], dtype=np.uint64), np.array([position]))[0])

    def flips(self) -> bool:
        self.calls += 1
        before = self.graph.number_of_edges() >= self.threshold
        return (sum(self.weight.values()) >= self.threshold) != before

    def drawn(self, pairs: list[tuple[int, int]], count: int, start: int) -> list[tuple[int, int]]:
        """With replacement, in proportion to p."""
        mass = np.cumsum([int(self.p[pair] * 2**32) for pair in pairs])
        if not len(mass) or not mass[-1]:
            return []
        marks = [int(self.number(start + i) * int(mass[-1])) for i in range(count)]
        return [next(pair for pair, top in zip(pairs, mass, strict=True) if mark < top) for mark in marks]

    def existing(self, edges: list[tuple[int, int]]) -> None:
        if self.sampler == "bernoulli":
            kept = [edge for i, edge in enumerate(edges) if self.number(i) < self.p[edge]]
        else:
            kept = self.drawn(edges, len(edges), 0)
        self.weight = dict.fromkeys(kept, 1)
        self.removed = [edge for edge in edges if edge not in self.weight]

    def visits(self, missing: list[tuple[int, int]]) -> list[tuple[int, int] | None]:
        """The pairs that are checked, in their order; None for a check that follows no addition."""
        if self.sampler != "bernoulli":
            return list(self.drawn(missing, T, GROUP))
        order = sorted(range(len(missing)), key=lambda i: self.number(GROUP + VISITS + i))
        taken = [missing[i] if self.number(GROUP + i) < self.p[missing[i]] else None for i in order]
        return [pair for at, pair in enumerate(taken) if pair is not None or (at == 0 and self.letter)][:T]

    def run(self) -> bool:
        n = len(self.graph)
        pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
        self.existing([pair for pair in pairs if self.graph.has_edge(*pair)])
        if not self.letter and self.flips():
            return True
        for pair in self.visits([pair for pair in pairs if not self.graph.has_edge(*pair)]):
            if pair is not None:
                self.weight[pair] = self.weight.get(pair, 0) + 1 if self.sampler == "released" else 1
                self.checked.append(pair)
            if self.flips():
                return True
        return False


CASES = [(sampler, reading) for sampler in ("bernoulli", "multinomial", "released") for reading in ("text", "letter")]


@pytest.mark.parametrize(("sampler", "reading"), CASES)
@pytest.mark.parametrize("threshold", [4, 8, 12, 1000])  # 1000: nothing ever flips, all checks are made
def test_every_row_is_what_a_run_by_hand_gives(sampler: str, reading: Reading, threshold: int) -> None:
    graphs = [nx.gnp_random_graph(n, 0.3, seed=n) for n in (5, 11, 12, 7)]
    batch, n, k, first_owner = GraphBatch.of(graphs), 12, 3, 6
    probabilities = np.random.default_rng(threshold).random((4, n, n))
    oracle = CountingOracle(HeavyEdges(threshold))
    classes = oracle.oracle.predict(batch)
    given = (batch, torch.from_numpy(probabilities), classes)
    how = {
        "order": ExistingThenMissing(), "sampler": sampler_named(sampler), "iterations": T, "reading": reading,
        "k": k, "seed": 5, "first_owner": first_owner,
    }  # fmt: skip
    with traced() as traces:
        found = partial_order_sampling(*given, oracle, **how)  # type: ignore[arg-type]
    assert len(traces) == len(found) == 4 * k
    for row, (candidate, trace) in enumerate(zip(found, traces, strict=True)):
        i, j = divmod(row, k)
        stream = seed_for(5, "sample", batch.names[i], j)
        replay = Replay(graphs[i], probabilities[i], threshold, sampler, reading == "letter", stream)
        assert (candidate.adjacency is not None) == replay.run()
        assert oracle.calls_of(first_owner + row) == replay.calls
        assert sorted(map(tuple, trace.removed.tolist())) == replay.removed
        assert list(map(tuple, trace.checked.tolist())) == replay.checked
        assert (trace.scores == probabilities[i]).all()
        if candidate.adjacency is not None:
            u, v = candidate.adjacency.triu(1).nonzero(as_tuple=True)
            weights = candidate.adjacency[u, v].tolist()
            assert dict(zip(zip(u.tolist(), v.tolist(), strict=True), weights, strict=True)) == replay.weight
    untraced = partial_order_sampling(*given, CountingOracle(HeavyEdges(threshold)), **how)  # type: ignore[arg-type]
    assert len(traces) == 4 * k, "nothing is recorded when the record is closed"
    for one, other in zip(found, untraced, strict=True):
        assert (one.adjacency is None) == (other.adjacency is None)
        assert one.adjacency is None or other.adjacency is None or torch.equal(one.adjacency, other.adjacency)


@pytest.mark.parametrize("sampler", ["bernoulli", "multinomial", "released"])
def test_where_nothing_has_a_chance_nothing_is_drawn(sampler: str) -> None:
    batch = GraphBatch.of([nx.cycle_graph(5)])
    oracle = CountingOracle(HeavyEdges(1))
    (found,) = partial_order_sampling(
        batch, torch.zeros(1, 5, 5), torch.tensor([1]), oracle,
        order=ExistingThenMissing(), sampler=sampler_named(sampler), iterations=T,
    )  # fmt: skip
    assert found.adjacency is not None and not found.adjacency.any() and oracle.calls == 1


def test_a_pair_is_drawn_by_numbers_below_its_probability_not_by_one_that_equals_it() -> None:
    batch = GraphBatch.of([nx.path_graph(2)])
    stream = np.array([seed_for(0, "sample", batch.names[0], 0)], dtype=np.uint64)
    number = float(uniforms_at(stream, np.array([0]))[0])
    for p, kept in ((number, False), (np.nextafter(number, 1), True)):
        (found,) = partial_order_sampling(
            batch, torch.full((1, 2, 2), p, dtype=torch.float64), torch.tensor([-1]), CountingOracle(HeavyEdges(1)),
            order=ExistingThenMissing(), sampler=sampler_named("bernoulli"), iterations=T,
        )  # fmt: skip
        assert found.adjacency is not None and bool(found.adjacency.any()) == kept


class Batches(HeavyEdges):
    """Keeps how many graphs it was shown at a time."""

    def __init__(self) -> None:
        super().__init__(1000)
        self.sizes: list[int] = []

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        self.sizes.append(len(graphs))
        return super().predict(graphs)


@pytest.mark.parametrize(
    ("memory", "sizes"),
    [(1 << 20, [1, 8, 32, 128, 98]), (40 * 144, [1, 8, 32, 40, 40, 40, 40, 40, 26]), (1, [1] * 267)],
)
def test_the_oracle_is_shown_blocks_that_grow_fourfold_up_to_the_memory(
    memory: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing flips: after the edges 266 draws, of a graph of 12 nodes, i.e. 144 bytes."""
    monkeypatch.setattr(explainer, "BLOCK_BYTES", memory)
    monkeypatch.setattr(explainer, "DRAWS_AT_FIRST", 266)
    oracle = Batches()
    partial_order_sampling(
        GraphBatch.of([nx.cycle_graph(12)]), torch.ones(1, 12, 12), torch.tensor([0]), CountingOracle(oracle),
        order=ExistingThenMissing(), sampler=sampler_named("multinomial"), iterations=266,
    )  # fmt: skip
    assert oracle.sizes == sizes


@pytest.mark.parametrize(("memory", "at_once"), [(1 << 20, 7), (100, 3), (96, 3), (95, 2), (1, 1)])
def test_graphs_are_explained_a_few_at_a_time(memory: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of four nodes with two candidates have 2 · 16 entries of A_g each."""
    monkeypatch.setattr(explainer, "PAIRS_PER_BLOCK", memory)
    calls: list[tuple[list[int], int]] = []

    def explain(rows: torch.Tensor, first_owner: int) -> list[Candidate]:
        calls.append((rows.tolist(), first_owner))
        return [Candidate(None, f"{row}") for row in rows.tolist() for _ in range(2)]

    found = explainer.in_blocks(GraphBatch.of([nx.path_graph(4)] * 7), 2, explain)
    assert [candidate.reason for candidate in found] == [f"{row}" for row in range(7) for _ in range(2)]
    parts = [list(range(start, min(start + at_once, 7))) for start in range(0, 7, at_once)]
    assert calls == [(part, 2 * part[0]) for part in parts]
