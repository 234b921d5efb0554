"""One step of RSGG-CE's training, re-derived with loops: the estimator, the reward, and which generator is kept."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator

import networkx as nx
import pytest
import torch
from torch import Tensor

from rsgg.data.tree_cycles import TreeCycles
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.training import ClassData, ClassTraining
from rsgg.rsgg_ce.training_pairs import PairBatch
from tests.graphs import has_cycle


def training(**settings: object) -> ClassTraining:
    """The training of the cyclic class on a few small graphs."""
    graphs = TreeCycles(n_nodes=8, n_graphs=30, max_cycle_nodes=4).load().graphs
    explainer = RSGGCE.tiny() if not settings else RSGGCE(**{**vars(RSGGCE.tiny()), **settings})
    explainer.mean_, explainer.std_ = torch.zeros(9), torch.ones(9)
    own = TreeCyclesOracle().predict(graphs) == 1
    data = ClassData(
        1,
        graphs.select(own),
        explainer._features(graphs.select(own)),
        graphs.select(~own),
        CountingOracle(TreeCyclesOracle()),
    )
    return ClassTraining(data, explainer._settings(), 0, "cpu")


# -- The estimator -----------------------------------------------------------------------------------------


def expected_gradient(logits: list[list[float]], sampled: list[list[list[float]]], reward: list[list[float]]) -> Tensor:
    """-(1 / SB) Σ_sb advantage_sb · (outcome - σ(logit)), the other samples of a graph being the baseline, by hand."""
    n_samples, batch = len(reward), len(reward[0])
    advantage = [
        [reward[s][b] - statistics.mean(reward[o][b] for o in range(n_samples) if o != s) for b in range(batch)]
        for s in range(n_samples)
    ]
    spread = statistics.stdev(value for row in advantage for value in row)
    gradient = [[0.0] * len(logits[0]) for _ in range(batch)]
    for s in range(n_samples):
        for b in range(batch):
            for p, logit in enumerate(logits[b]):
                likely = 1 / (1 + math.exp(-logit))
                gradient[b][p] -= advantage[s][b] / spread * (sampled[s][b][p] - likely) / (n_samples * batch)
    return torch.tensor(gradient)


def test_the_generators_gradient_is_the_score_function_with_the_other_samples_as_baseline() -> None:
    rng = torch.Generator().manual_seed(3)
    logits = torch.randn(2, 3, generator=rng).requires_grad_()
    sampled = (torch.rand(4, 2, 3, generator=rng) < 0.5).float()
    reward = torch.rand(4, 2, generator=rng) + torch.tensor([0.0, 5.0])  # one graph is easier by far: no signal in that
    every = torch.ones(2, 3)
    pairs = PairBatch(logits, every, every.bool(), torch.zeros(3), torch.zeros(3))
    training()._generator_step(pairs, sampled, reward)
    expected = expected_gradient(logits.tolist(), sampled.tolist(), reward.tolist())
    assert logits.grad is not None and torch.allclose(logits.grad, expected, atol=1e-5)


def test_what_fills_up_a_row_moves_nothing() -> None:
    logits = torch.zeros(1, 3, requires_grad=True)
    sampled, reward = torch.tensor([[[1.0, 0, 1]], [[0.0, 1, 0]]]), torch.tensor([[1.0], [0.0]])
    is_pair = torch.tensor([[True, True, False]])
    pairs = PairBatch(logits, torch.ones(1, 3), is_pair, torch.zeros(3), torch.zeros(3))
    training()._generator_step(pairs, sampled, reward)
    assert logits.grad is not None and logits.grad[0, 2] == 0 and (logits.grad[0, :2] != 0).all()


# -- The reward --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("price", [0.0, 0.1])
def test_the_reward_is_the_discriminators_score_of_flips_less_the_price_of_edits(
    price: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[Φ(G_g) ≠ c] · 𝔻(G_g) - λ · edits, with NetworkX as the oracle; λ is at its full value from half-way on."""
    own = training(minimality=price)
    seen: list[tuple[PairBatch, Tensor, Tensor]] = []
    monkeypatch.setattr(own, "_generator_step", lambda *given: seen.append(given))
    own.step(own.settings.epochs // 2)
    ((pairs, sampled, reward),) = seen
    n = own.data.graphs.n_nodes
    for s, b in ((s, b) for s in range(reward.shape[0]) for b in range(reward.shape[1])):
        edges = [(int(pairs.u[p]), int(pairs.v[p])) for p in range(sampled.shape[2]) if sampled[s, b, p]]
        graph = nx.Graph(edges)
        graph.add_nodes_from(range(n))
        flipped = not has_cycle(graph)  # the class to leave is the cyclic one
        edits = sum(int(sampled[s, b, p] != pairs.is_edge[b, p]) for p in range(sampled.shape[2]))
        adjacency = torch.from_numpy(nx.to_numpy_array(graph, nodelist=range(n))).float()[None]
        with torch.no_grad():
            score = float(torch.sigmoid(own.discriminator(adjacency, torch.ones(1, n, dtype=torch.bool))))
        assert float(reward[s, b]) == pytest.approx(flipped * score - price * edits, abs=1e-5)


# -- What is kept ------------------------------------------------------------------------------------------


def test_the_generator_that_is_kept_did_best_on_the_training_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    own = training(epochs=100)
    quality: Iterator[float] = iter((0.2, 0.9, 0.4))  # at epochs 50, 75 and 100
    monkeypatch.setattr(own, "warm_up", lambda: None)
    monkeypatch.setattr(own, "_quality", lambda: next(quality))

    def step(epoch: int) -> dict[str, float]:
        for parameter in own.averaged.parameters():
            parameter.data.fill_(epoch)
        return {"edits": 1.0, "flip_rate": 0.5}

    monkeypatch.setattr(own, "step", step)
    trained = own.run()
    assert {float(parameter.detach().max()) for parameter in trained.generator.parameters()} == {74.0}
    assert trained.quality == 0.9 and next(quality, None) is None


def test_quality_is_correctness_less_sparsity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of samples that remove every edge: all flip, and the sparsity is |E| / (|V| + |E|)."""
    own = training()
    graphs: GraphBatch = own.data.graphs
    empty = torch.zeros_like(graphs.adjacency)
    monkeypatch.setattr(
        own.own, "one_sample_each", lambda *_: [(torch.arange(len(graphs)), empty, graphs.n_edges.float())]
    )
    edges = graphs.n_edges.double()
    assert own._quality() == pytest.approx(1 - float((edges / (graphs.sizes + edges)).mean()))
