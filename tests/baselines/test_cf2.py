"""CF²: the faithful method on cases whose answer is plain, and what the released one comes to whatever it learns."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch

from rsgg.baselines.cf2 import CF2, _initial_logits
from rsgg.baselines.released.cf2 import AdamWithoutClearing, ReleasedCF2
from rsgg.data import TreeCycles
from rsgg.edges import EdgeBatch
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.seeds import streams
from tests.graphs import has_cycle, tree, unicyclic

QUICK = CF2(strength=4.0, factual=0.1, epochs=200, lr=0.1)  # mostly counterfactual: the factual part is a whole cycle


def test_a_lone_triangle_is_cut_with_one_edge() -> None:
    (result,) = QUICK.explain([nx.cycle_graph(3)], TreeCyclesOracle())
    assert result.found and len(result.removed) == 1 and not result.added


def test_every_cycle_is_cut_and_no_tree_is_explained() -> None:
    """The ceiling of a method that only removes: by NetworkX's judgement, on cycles of every size."""
    graphs = [unicyclic(14, size, seed) for size in range(3, 8) for seed in range(3)] + [tree(14, s) for s in range(5)]
    results = QUICK.explain(graphs, TreeCyclesOracle())
    for graph, result in zip(graphs, results, strict=True):
        assert result.found == has_cycle(graph)
        if result.found:
            assert not has_cycle(result.returned.to_networkx()) and not result.added
            assert len(result.removed) == 1


def test_the_factual_term_wants_the_whole_cycle() -> None:
    (result,) = CF2(strength=100.0, factual=0.5, epochs=200, lr=0.1).explain([unicyclic(14, 5)], TreeCyclesOracle())
    assert len(result.removed) >= 5 and not has_cycle(result.returned.to_networkx())


def test_the_loss_falls_and_every_edge_gets_a_gradient() -> None:
    explainer = CF2(strength=20.0, factual=0.5, epochs=80)
    graphs = GraphBatch.of([unicyclic(12, 5)])
    explainer.explain(graphs, TreeCyclesOracle())
    losses = [step["loss"] for step in explainer.history_]
    assert losses[-1] < 0.7 * losses[0] and len(losses) == 80
    edges, oracle = EdgeBatch.of(graphs), CountingOracle(TreeCyclesOracle())
    mask = torch.full((len(edges.u),), 0.6, requires_grad=True)
    explainer._loss(mask, edges, edges.joined(edges), torch.tensor([1]), oracle, torch.tensor([0])).sum().backward()
    assert mask.grad is not None and (mask.grad != 0).all()
    assert torch.equal(mask.grad != 1, edges.core), (
        "the oracle moves the edges on cycles, their number alone the others"
    )


class OnePair(Oracle):
    """Class 1 iff nodes 0 and 1 are joined."""

    name = "one-pair"

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        return (graphs.adjacency[:, 0, 1] > 0).long()

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed(self, adjacency: torch.Tensor, features: torch.Tensor | None = None) -> torch.Tensor:
        joined = (adjacency[:, 0, 1] + adjacency[:, 1, 0]) / 2
        return torch.stack((1 - joined, joined), 1)


def test_the_oracles_answer_changes_the_result() -> None:
    """Asked of an oracle that looks at one pair, that pair goes, and no other edge of the cycle."""
    graphs = [nx.cycle_graph(n) for n in (4, 6, 9)]
    assert [result.removed for result in QUICK.explain(graphs, OnePair())] == [[(0, 1)]] * 3


def test_the_objective_is_the_papers() -> None:
    """By hand, with the oracle of one pair: p_c of the masked part is that pair's weight, of the rest what is left."""
    explainer = CF2(factual=0.7, strength=3.0, margin=0.4)
    edges = EdgeBatch.of(GraphBatch.of([nx.cycle_graph(4)]))  # 01, 03, 12, 23
    mask = torch.tensor([0.8, 0.5, 0.5, 0.5], dtype=torch.float64)
    expected = (0.8 + 3 * 0.5) + 3.0 * (0.7 * (0.4 + 0.5 - 0.8) + 0.3 * (0.4 + 0.2 - 0.5))
    counted = CountingOracle(OnePair())
    loss = explainer._loss(mask, edges, edges.joined(edges), torch.tensor([1]), counted, torch.tensor([0]))
    assert float(loss) == pytest.approx(expected) and counted.calls == 2


def test_graphs_of_different_sizes_with_features_are_explained_side_by_side() -> None:
    class ReadsFeatures(OnePair):
        def relaxed(self, adjacency: torch.Tensor, features: torch.Tensor | None = None) -> torch.Tensor:
            assert features is not None and features.shape[:2] == adjacency.shape[:2]
            return super().relaxed(adjacency, features)

    graphs = [Graph(nx.to_numpy_array(nx.cycle_graph(n)), np.ones((n, 2))) for n in (4, 6)]
    assert [result.removed for result in QUICK.explain(graphs, ReadsFeatures())] == [[(0, 1)]] * 2


def test_masks_start_as_the_original_draws_them() -> None:
    edges = EdgeBatch.of(GraphBatch.of([nx.complete_graph(50)] * 40))
    drawn = _initial_logits(edges, streams([str(i) for i in range(40)], 1, "start"))
    assert float(drawn.mean()) == pytest.approx(1, abs=4 * 0.2 / np.sqrt(drawn.numel()))
    assert float(drawn.std()) == pytest.approx(0.2, rel=0.02)


def test_a_budget_buys_fewer_steps_and_is_never_exceeded() -> None:
    results = QUICK.explain([unicyclic(9, 4), tree(9)], CountingOracle(TreeCyclesOracle(), budget=50))
    assert all(result.calls <= 50 for result in results)


# -- as released -----------------------------------------------------------------------------------------


def test_released_returns_the_empty_graph_however_it_is_trained() -> None:
    """Integers of weights in (0, 1): no training, a little and a lot give the same, with every seed."""
    data = TreeCycles(n_graphs=40).load()
    for epochs in (0, 1, 40):
        for seed in range(3):
            explainer = ReleasedCF2(epochs=epochs).fit(data.graphs, TreeCyclesOracle(), seed=seed)
            soft = explainer.masked(data.graphs)
            assert (soft < 1).all() and (epochs > 1 or (soft > 0).any()), "weights are proper fractions"
            results = explainer.explain(data.graphs, TreeCyclesOracle())
            assert all(not result.returned.adjacency.any() for result in results)
            assert {result.calls for result in results} == {1}


def test_released_training_is_torchs_adam_on_one_graph_after_the_other() -> None:
    """By automatic differentiation of ‖A⊙S‖₁, with weight decay, and with gradients that nobody clears."""
    graphs = TreeCycles(n_nodes=8, n_graphs=7, max_cycle_nodes=3).load().graphs
    start = ReleasedCF2(epochs=0).fit(graphs, TreeCyclesOracle()).logits_
    logits, losses = torch.nn.Parameter(start.clone()), []
    adam = torch.optim.Adam([logits], lr=1e-2, weight_decay=1e-5)
    for _ in range(30):
        for adjacency in graphs.adjacency:
            soft = torch.sigmoid(logits)
            loss = torch.linalg.norm((adjacency * (soft + soft.T) / 2).flatten(), ord=1)
            loss.backward()
            adam.step()
            losses.append(float(loss.detach()))
    ours = ReleasedCF2(epochs=30).fit(graphs, TreeCyclesOracle())
    torch.testing.assert_close(ours.logits_, logits.detach(), rtol=1e-3, atol=1e-4)
    curve = np.array(losses).reshape(30, 7).mean(1)
    assert [step["loss"] for step in ours.history_] == pytest.approx(curve.tolist(), rel=1e-3)


def test_released_mask_underflows_because_gradients_are_never_cleared() -> None:
    data = TreeCycles(n_graphs=100).load()
    explainer = ReleasedCF2(epochs=60).fit(data.graphs, TreeCyclesOracle())
    losses = [step["loss"] for step in explainer.history_]
    assert losses[0] > 10 and losses[30] < 1e-3 and losses[-1] < 1e-9
    seen = data.graphs.adjacency.sum(0) > 0
    assert float(explainer.logits_[seen].max()) < -10 < float(explainer.logits_[~seen].min())


def test_released_epochs_that_can_change_nothing_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once every mask is zero for good: the curve and the masks are those of all epochs, the logits still above."""
    graphs = TreeCycles(n_nodes=8, n_graphs=60, max_cycle_nodes=3).load().graphs
    early = ReleasedCF2(epochs=200).fit(graphs, TreeCyclesOracle())
    monkeypatch.setattr(AdamWithoutClearing, "stays_zero", lambda *_: False)
    whole = ReleasedCF2(epochs=200).fit(graphs, TreeCyclesOracle())
    assert early.history_ == whole.history_ and whole.history_[-1]["loss"] == 0
    seen = (graphs.adjacency > 0).any(0)
    assert (early.logits_[seen] > whole.logits_[seen]).all() and not early.masked(graphs).to(torch.uint8).any()


def test_released_mask_stays_zero_only_while_slopes_outweigh_the_decay() -> None:
    entry, logits = np.array([0]), np.array([-200.0], np.float32)
    rule = AdamWithoutClearing(logits, lr=0.01, weight_decay=1e-3)
    assert not rule.stays_zero(entry, 1), "no gradient has made it fall yet"
    rule.mean[:], rule.slope[:] = 0.1, 0.25  # decay pulls by 1e-3 · 200 = .2, and by 1e-3 · .0727 more a step
    assert rule.stays_zero(entry, 600) and not rule.stays_zero(entry, 700)
    logits[:] = -50.0  # a mask of 2e-22
    assert not rule.stays_zero(entry, 1)
