"""CLEAR: the auto-encoder's parts against closed forms, and that it learns what it is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from rsgg.baselines import clear
from rsgg.baselines.clear import CLEAR, CVAE, LATENT, Given, losses, symmetric
from rsgg.contract.explainer import TriangleOracle
from rsgg.data import TreeCycles
from rsgg.data.dataset import Dataset
from rsgg.errors import FitError
from rsgg.graph import GraphBatch
from rsgg.oracles import Oracle, TreeCyclesOracle
from rsgg.rsgg_ce.adam import Adam


@pytest.fixture(scope="module")
def data() -> Dataset:
    return TreeCycles(n_nodes=12, n_graphs=120, max_cycle_nodes=5).load()


@pytest.fixture(scope="module")
def fitted(data: Dataset) -> CLEAR:
    return CLEAR(epochs=300, lr=1e-2, classifier_batch=32).fit(data.graphs[:90], TreeCyclesOracle())


def given(batch: int = 5, n: int = 6, features: int = 3) -> Given:
    rng = torch.Generator().manual_seed(0)
    upper = torch.triu((torch.rand(batch, n, n, generator=rng) < 0.4).float(), 1)
    u, wanted = torch.arange(batch) % 10, torch.arange(batch) % 2
    return Given(
        upper + upper.transpose(1, 2), torch.randn(batch, n, features, generator=rng),
        torch.nn.functional.one_hot(u, 10).float(), wanted, torch.nn.functional.one_hot(wanted, 2).float(),
    )  # fmt: skip


def test_the_terms_are_those_of_the_objective() -> None:
    """KL by torch.distributions, BCE and the norm by their definitions."""
    torch.manual_seed(0)
    network, shown, noise = CVAE(6, 3, 2, 0.0).eval(), given(), torch.randn(5, LATENT)
    terms = losses(network, shown, noise)
    mean, log_variance = network.encode(shown)
    prior = Normal(network.prior_mean(shown.auxiliary), (network.prior_log_variance(shown.auxiliary) / 2).exp())
    expected = kl_divergence(Normal(mean, (log_variance / 2).exp()), prior).sum(1).mean()
    assert float(terms.divergence.detach()) == pytest.approx(float(expected.detach()), rel=1e-5)
    features, soft = network.decode(mean + (log_variance / 2).exp() * noise, shown)
    a, p = shown.adjacency.numpy(), soft.detach().numpy()
    assert float(terms.edges.detach()) == pytest.approx(
        float(-np.mean(a * np.log(p) + (1 - a) * np.log(1 - p))), rel=1e-4
    )
    norms = [
        np.sqrt(((x - y) ** 2).sum()) for x, y in zip(features.detach().numpy(), shown.features.numpy(), strict=True)
    ]
    assert float(terms.features.detach()) == pytest.approx(float(np.mean(norms)), rel=1e-4)


def test_every_weight_of_the_objective_weighs_its_term(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gradient of one step is λ_kl · KL + λ_sim · (features / 4 + edges) + λ_cfe · classifier, term by term.

    So doubling a weight while the others are 0 doubles the gradient, and no weight leaves the gradient as it is.
    """
    gradients: list[float] = []

    class ManyEdges(Oracle):
        """Class 1 from the mean number of edges on, with a slope everywhere: cycles are certain in a soft graph."""

        edges = float(data.graphs.n_edges.double().mean())

        def predict(self, graphs: GraphBatch) -> torch.Tensor:
            return (graphs.n_edges > self.edges).long()

        def why_not_differentiable(self) -> str:
            return ""

        def relaxed(self, adjacency: torch.Tensor, features: torch.Tensor | None = None) -> torch.Tensor:
            many = torch.sigmoid((adjacency.sum((1, 2)) / 2 - self.edges) / 10)
            return torch.stack((1 - many, many), 1)

    class Spy(Adam):
        def step(self) -> None:
            every = [p.grad.flatten() for p in self.parameters if p.grad is not None]
            gradients.append(float(torch.cat(every).norm()))

    monkeypatch.setattr(clear, "Adam", Spy)
    off = {"divergence": 0.0, "similarity": 0.0, "counterfactual": 0.0}
    for name in off:
        measured = []
        for weight in (1.0, 2.0):
            gradients.clear()
            CLEAR(**{**vars(CLEAR.tiny()), **off, name: weight}).fit(data.graphs[:20], ManyEdges())  # type: ignore[arg-type]
            measured.append(gradients[-1])
        assert measured[0] > 0 and measured[1] == pytest.approx(2 * measured[0], rel=1e-3), name


def test_gradients_reach_every_parameter_and_the_loss_falls(data: Dataset, fitted: CLEAR) -> None:
    network, shown = CVAE(6, 3, 2, 0.0), given()
    terms = losses(network, shown, torch.randn(5, LATENT))
    (terms.divergence + terms.features + terms.edges).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    history = fitted.history_
    assert history[140]["edges"] < 0.6 * history[0]["edges"]
    assert history[-1]["classifier"] < 0.2 * history[150]["classifier"]


def test_the_classifier_is_what_makes_it_a_counterfactual(data: Dataset, fitted: CLEAR) -> None:
    """With the exact relaxation most graphs of both classes flip; without its term, not those that have a cycle."""
    test, classes = data.graphs[90:], TreeCyclesOracle().predict(data.graphs[90:])

    def explained(explainer: CLEAR) -> np.ndarray:
        results = explainer.explain(test, TreeCyclesOracle())
        after = TreeCyclesOracle().predict(GraphBatch.of([r.returned for r in results]))
        return (after != classes).numpy()

    assert explained(fitted).mean() > 0.7
    blind = CLEAR(epochs=300, lr=1e-2, counterfactual=0.0).fit(data.graphs[:90], TreeCyclesOracle())
    assert explained(blind)[classes.numpy() == 1].mean() < explained(fitted)[classes.numpy() == 1].mean() - 0.2


def test_checked_draws_find_what_a_single_draw_misses(data: Dataset, fitted: CLEAR, tmp_path: Path) -> None:
    more = CLEAR.load(fitted.save(tmp_path / "clear"))
    more.draws = 20
    results = more.explain(data.graphs[90:], TreeCyclesOracle())
    classes = TreeCyclesOracle().predict(data.graphs[90:])
    after = TreeCyclesOracle().predict(GraphBatch.of([r.returned for r in results]))
    assert [r.found for r in results] == (after != classes).tolist()
    assert np.mean([r.found for r in results]) >= 0.9
    assert all(2 <= r.calls <= 21 for r in results)


def test_it_needs_a_relaxation_and_says_so(data: Dataset) -> None:
    with pytest.raises(FitError, match=r"^CLEAR needs a differentiable oracle, but the oracle 'triangles' has no"):
        CLEAR.tiny().fit(data.graphs[:40], TriangleOracle())


def test_symmetric_has_no_self_loops() -> None:
    soft = symmetric(torch.rand(2, 4, 4))
    assert torch.equal(soft, soft.transpose(1, 2)) and not soft.diagonal(dim1=1, dim2=2).any()
