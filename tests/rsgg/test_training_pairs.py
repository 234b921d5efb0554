"""The pairs that a training step samples: a few of the missing ones stand for all, at a fraction of the cost."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from rsgg.data import TreeCycles
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.training import ClassData, ClassTraining, Encoder, Generator, TrainingSettings
from rsgg.rsgg_ce.training_pairs import MISSING_PAIRS_PER_NODE, AllPairs, EdgesAndSomeMissing, training_pairs

Data = tuple[GraphBatch, Tensor, Generator]  # graphs, their features, a generator for them


@pytest.fixture(scope="module")
def data() -> Data:
    graphs = TreeCycles(n_nodes=40, n_graphs=10).load().graphs
    features = torch.zeros(10, 40, 9)
    torch.manual_seed(1)
    return graphs, features, Generator(Encoder(9, 8, 4, 2, 0), 4, 40.0, 740.0, 6.0, 5.0)


def test_small_graphs_are_looked_at_whole_and_large_ones_are_not() -> None:
    small, large = (TreeCycles(n_nodes=n, n_graphs=4).load().graphs for n in (28, 200))
    assert isinstance(training_pairs(small, torch.zeros(4, 28, 9), "cpu"), AllPairs)
    sampled = training_pairs(large, torch.zeros(4, 200, 9), "cpu")
    assert isinstance(sampled, EdgesAndSomeMissing)
    generator = Generator(Encoder(9, 8, 4, 2, 0), 4, 200.0, 19_700.0, 1.0, 2.0)
    batch = sampled.pairs(generator, torch.arange(4), torch.Generator().manual_seed(0))
    assert batch.logits.shape[1] <= 201 + MISSING_PAIRS_PER_NODE * 200, "edges and drawn pairs, not 19 900"


def test_drawn_pairs_are_missing_distinct_and_cover_all_alike(data: Data) -> None:
    graphs, features, generator = data
    sampled, rng = EdgesAndSomeMissing(graphs, features, "cpu"), torch.Generator().manual_seed(3)
    drawn = torch.zeros(40, 40)
    pick = torch.tensor([4, 4, 7])
    for _ in range(300):
        batch = sampled.pairs(generator, pick, rng)
        edges = batch.is_edge > 0
        for row, graph in enumerate(pick.tolist()):
            u, v, real = batch.u[row], batch.v[row], batch.is_pair[row]
            assert (u[real] < v[real]).all()
            present = graphs.adjacency[graph, u, v] > 0
            assert torch.equal(present[real], edges[row][real]), "edges are edges, drawn pairs are not"
            assert int((edges[row] & real).sum()) == int(graphs.n_edges[graph])
            code = (u * 40 + v)[real]
            assert len(code.unique()) == len(code)
            if graph == 4:
                missing = real & ~edges[row]
                drawn[u[missing], v[missing]] += 1
    possible = (graphs.adjacency[4] == 0).triu(1)
    counts = drawn[possible]
    assert not drawn[~possible].any()
    assert counts.min() > 0 and float(counts.std()) < 2 * math.sqrt(float(counts.mean())), "as uniform draws scatter"


def test_as_many_additions_and_removals_as_all_pairs_would_give(data: Data) -> None:
    """The raised odds of a drawn pair make up for the pairs that were not drawn."""
    graphs, features, generator = data
    rng, pick = torch.Generator().manual_seed(4), torch.arange(10)
    with torch.no_grad():
        p = torch.sigmoid(AllPairs(graphs, features, "cpu").pairs(generator, pick, rng).logits)
        u, v = torch.triu_indices(40, 40, 1)
        existing = graphs.adjacency[:, u, v] > 0
        added, removed = (p * ~existing).sum(1), ((1 - p) * existing).sum(1)
        sampled = EdgesAndSomeMissing(graphs, features, "cpu")
        edits = torch.zeros(2, 10)
        for _ in range(200):
            batch = sampled.pairs(generator, pick, rng)
            q = torch.sigmoid(batch.logits) * batch.is_pair
            edits[0] += (q * (batch.is_edge == 0)).sum(1) / 200
            edits[1] += ((1 - q) * (batch.is_edge > 0) * batch.is_pair).sum(1) / 200
    assert torch.allclose(edits[0], added, rtol=0.1) and torch.allclose(edits[1], removed, rtol=1e-4)


def test_what_all_samples_share_moves_nothing(data: Data) -> None:
    """The claim behind leaving pairs out: with advantages that sum to zero, Σ_s adv_s · log(1 - p) has no gradient."""
    advantage = torch.randn(8, 3)
    advantage -= advantage.mean(0)
    logits = torch.randn(3, 50, requires_grad=True)
    never = -torch.nn.functional.softplus(logits).sum(1)  # log-likelihood of pairs that no sample has
    (advantage * never).sum().backward()
    assert logits.grad is not None and logits.grad.abs().max() < 1e-5


def settings(**changes: Any) -> TrainingSettings:
    usual = RSGGCE(epochs=4, batch=8, samples=4, hidden=8, latent=4, layers=2)
    return TrainingSettings(
        **{name: changes.get(name, getattr(usual, name)) for name in TrainingSettings.__dataclass_fields__}
    )


def test_a_start_that_never_flips_is_widened_until_it_does() -> None:
    """Eight triangles want eight cuts at once: one expected removal never makes them, and nothing could be learnt."""
    data = TreeCycles(n_nodes=60, n_graphs=40, n_cycles=8, cycle_size=3).load()
    classes = TreeCyclesOracle().predict(data.graphs)
    features = torch.zeros(40, 60, 9)
    for c, widened in ((1, True), (0, False)):
        data_of_class = ClassData(
            c,
            data.graphs.select(classes == c),
            features[classes == c],
            data.graphs.select(classes != c),
            CountingOracle(TreeCyclesOracle()),
        )
        training = ClassTraining(data_of_class, settings(warmup=60), 0, "cpu")
        before = training.generator.bias[1].item()
        training.warm_up()
        assert (training.generator.bias[1].item() < before) == widened, "trees flip by additions: nothing to widen"
        assert torch.equal(training.generator.bias, training.averaged.bias)


def test_large_graphs_are_learnt_without_a_matrix_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training at 200 nodes never asks for a matrix of a sampled graph, from the oracle or the networks."""
    data = TreeCycles(n_nodes=200, n_graphs=30).load()
    asked = CountingOracle(TreeCyclesOracle())
    monkeypatch.setattr(CountingOracle, "predict", lambda self, graphs, owner=None: self.oracle.predict(graphs))
    monkeypatch.setattr(Generator, "forward", None)
    explainer = RSGGCE(epochs=6, warmup=2, batch=4, samples=4, hidden=8, latent=4, layers=2)
    explainer.fit(data.graphs, asked, seed=1)
    assert asked.calls >= 2 * 8 * (16 + 4), "both classes, every step: samples and widened ones, as lists of edges"
    assert all(math.isfinite(row["discriminator_loss"]) for row in explainer.history_)
