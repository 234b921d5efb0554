"""CF² step by step: where masks start, how they move, what a mask becomes, and what a budget leaves."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines import cf2
from rsgg.baselines.cf2 import CF2
from rsgg.contract.explainer import TriangleOracle
from rsgg.edges import EdgeBatch
from rsgg.errors import RSGGError
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle
from rsgg.seeds import streams, uniforms_at
from tests.baselines.test_cf2 import OnePair


def test_a_mask_starts_with_normal_numbers_of_the_graphs_stream() -> None:
    """Box & Muller: 1 + √(2/n) · √(-2 log(1 - a)) cos(2πb), a and b being numbers u·n + v and n² + u·n + v."""
    edges = EdgeBatch.of(GraphBatch.of([nx.cycle_graph(6), nx.complete_graph(6)]))
    seeds = streams(["one", "other"], 1, 3, "cf2")
    ours = cf2._initial_logits(edges, seeds)
    for logit, graph, u, v in zip(ours.tolist(), edges.graph.tolist(), edges.u.tolist(), edges.v.tolist(), strict=True):
        a, b = (float(uniforms_at(seeds[graph : graph + 1], np.array([at + u * 6 + v]))[0]) for at in (0, 36))
        normal = math.sqrt(-2 * math.log(1 - a)) * math.cos(2 * math.pi * b)
        assert logit == pytest.approx(1 + math.sqrt(2 / 6) * normal, abs=1e-5)


@pytest.mark.parametrize(
    ("budget", "asked", "steps"),
    [
        (None, [0, 0], 9),
        (100, [0, 0], 9),
        (7, [0, 0], 3),
        (8, [0, 0], 3),
        (9, [0, 0], 4),
        (9, [0, 5], 1),
        (1, [0, 1], 0),
    ],
)
def test_a_budget_leaves_steps_of_two_calls_and_one_call_to_check(
    budget: int | None, asked: list[int], steps: int
) -> None:
    oracle = CountingOracle(OnePair(), budget)
    for owner, count in enumerate(asked):
        if count:
            oracle.relaxed(torch.zeros(count, 3, 3), None, torch.full((count,), owner))
    assert cf2._affordable(9, oracle, torch.tensor([0, 1])) == steps


def test_masks_move_by_adam_on_the_sum_of_the_losses() -> None:
    """Three steps on two triangles, with the loss of the paper written out for an oracle that looks at one pair."""
    graphs = GraphBatch.of([nx.cycle_graph(3), nx.cycle_graph(3)])
    explainer = CF2(factual=0.3, strength=5.0, margin=0.2, lr=0.1, epochs=3)
    explainer.history_ = []
    edges, seeds = EdgeBatch.of(graphs), streams(["a", "b"], 1, 0, "cf2")
    oracle = CountingOracle(OnePair())
    ours = explainer.optimise(edges, torch.tensor([1, 1]), oracle, torch.tensor([0, 1]), seeds)

    logits = cf2._initial_logits(edges, seeds).requires_grad_()  # of 01, 02, 12 of either graph
    adam = torch.optim.Adam([logits], lr=0.1)
    means = []
    for _ in range(3):
        mask = torch.sigmoid(logits)
        losses = []
        for own in (mask[:3], mask[3:]):
            keeps, loses = (0.2 + 0.5 - own[0]).relu(), (0.2 + (1 - own[0]) - 0.5).relu()
            losses.append(own.sum() + 5 * (0.3 * keeps + 0.7 * loses))
        adam.zero_grad()
        (losses[0] + losses[1]).backward()
        adam.step()
        means.append(float((losses[0] + losses[1]).detach()) / 2)
    assert torch.allclose(ours, torch.sigmoid(logits.detach()), atol=1e-5)
    assert [row["epoch"] for row in explainer.history_] == [0, 1, 2]
    assert [row["loss"] for row in explainer.history_] == pytest.approx(means, rel=1e-4)
    assert oracle.calls_of(0) == oracle.calls_of(1) == 6


def test_edges_with_more_than_a_half_go_and_each_owner_has_its_own_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs of two sizes, two candidates each, in blocks of two: the mask of owner o lies above ½ on edge o only."""
    monkeypatch.setattr(cf2, "GRAPHS_PER_BLOCK", 2)
    graphs = GraphBatch.of([nx.cycle_graph(5), nx.cycle_graph(4), nx.complete_graph(5)])
    blocks: list[list[int]] = []

    def optimise(
        self: CF2, edges: EdgeBatch, classes: Tensor, oracle: CountingOracle, owner: Tensor, seeds: np.ndarray
    ) -> Tensor:
        blocks.append(owner.tolist())
        expected = streams(graphs.names, 2, 9, "cf2")
        assert seeds.tolist() == [expected[o] for o in owner.tolist()]
        assert classes.tolist() == [o // 2 for o in owner.tolist()]
        mask = torch.full((len(edges.u),), 0.5)  # just not more than a half
        for row, o in enumerate(owner.tolist()):
            if o < 5:
                mask[(edges.graph == row).nonzero()[min(o, 3)]] = 0.51
        return mask

    monkeypatch.setattr(CF2, "optimise", optimise)
    monkeypatch.setattr(cf2, "checked", lambda candidates, *_: candidates)
    found = CF2()._explain(graphs, torch.tensor([0, 1, 2]), CountingOracle(OnePair()), 2, 9)
    assert blocks == [[2, 3], [0, 1], [4, 5]]
    for o, candidate in enumerate(found):
        if o == 5:
            assert candidate.adjacency is None and candidate.reason == "no edge is in the mask"
            continue
        assert candidate.adjacency is not None
        removed = list(graphs)[o // 2].edges()[min(o, 3)]
        expected = graphs.adjacency[o // 2].clone()
        expected[removed] = expected[removed[::-1]] = 0
        assert torch.equal(candidate.adjacency, expected)


def test_a_black_box_is_refused() -> None:
    with pytest.raises(RSGGError, match="CF2 needs a differentiable oracle"):
        CF2.tiny().explain([nx.cycle_graph(3)], TriangleOracle())
