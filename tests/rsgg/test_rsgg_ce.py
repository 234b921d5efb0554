"""RSGG-CE: does training train, does the generator matter, does the node order not, and do models survive a save?"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.collapse import CollapseWarning
from rsgg.constraints import Among
from rsgg.data.dataset import Dataset
from rsgg.data.tree_cycles import TreeCycles
from rsgg.edges import EdgeBatch
from rsgg.errors import FitError, NotFittedError, RSGGError, UsageError
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import removal_auroc
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.oracles.tree_cycles import n_components
from rsgg.rsgg_ce import training_pairs
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.partial_order import Within
from rsgg.rsgg_ce.training import ClassData, ClassTraining, Discriminator, Encoder, Generator
from tests.graphs import tree, unicyclic


@pytest.fixture(scope="module")
def data() -> Dataset:
    return TreeCycles(n_nodes=16, n_graphs=160, max_cycle_nodes=5, order="random").load()


@pytest.fixture(scope="module")
def fitted(data: Dataset) -> RSGGCE:
    """A generator trained for real, on smaller graphs and for fewer epochs than the default."""
    explainer = RSGGCE(epochs=150, warmup=80, batch=24, samples=6, generator_lr=5e-3, hidden=16, latent=8)
    return explainer.fit(data.graphs[:120], TreeCyclesOracle(), seed=1)


def test_training_beats_untrained_and_uniform_on_held_out_graphs(data: Dataset, fitted: RSGGCE) -> None:
    test = data.graphs[120:]
    outcome = {"trained": fitted.explain(test, TreeCyclesOracle())}
    for generator in ("untrained", "uniform"):
        other = RSGGCE(generator=generator, hidden=16, latent=8).fit(data.graphs[:120], TreeCyclesOracle(), seed=1)
        outcome[generator] = other.explain(test, TreeCyclesOracle())
    correctness = {name: np.mean([r.found for r in results]) for name, results in outcome.items()}
    assert correctness["trained"] >= 0.85
    assert correctness["trained"] > max(correctness["untrained"], correctness["uniform"]) + 0.1


def test_generator_ranks_cycle_edges_first_on_held_out_graphs(data: Dataset, fitted: RSGGCE) -> None:
    test = data.graphs[120:]
    cyclic = test.select(TreeCyclesOracle().predict(test) == 1)
    p = fitted.edge_probabilities(cyclic, torch.ones(len(cyclic), dtype=torch.long))
    on_a_cycle = TreeCyclesOracle().important_edges(cyclic)
    assert on_a_cycle is not None and np.nanmean(removal_auroc(p, cyclic, on_a_cycle)) > 0.75


def test_relabelling_the_nodes_relabels_the_probabilities(data: Dataset, fitted: RSGGCE) -> None:
    test = data.graphs[120:]
    classes = TreeCyclesOracle().predict(test)
    order = torch.stack([torch.randperm(16, generator=torch.Generator().manual_seed(i)) for i in range(len(test))])
    rows = torch.arange(len(test))[:, None, None]
    expected = fitted.edge_probabilities(test, classes)[rows, order[:, :, None], order[:, None, :]]
    assert torch.allclose(fitted.edge_probabilities(test.relabelled(order), classes), expected, atol=1e-5)


def test_padding_does_not_change_the_probabilities(data: Dataset, fitted: RSGGCE) -> None:
    """A graph in a batch with a larger one gets what it gets alone."""
    small = data.graphs[120]
    large = Graph(nx.to_numpy_array(nx.path_graph(23)))
    mixed = GraphBatch.of([small, large])
    classes = TreeCyclesOracle().predict(mixed)
    alone = fitted.edge_probabilities(GraphBatch.of([small]), classes[:1])
    assert torch.allclose(fitted.edge_probabilities(mixed, classes)[0, :16, :16], alone[0], atol=1e-5)


def test_curves_are_recorded_and_nothing_collapsed(fitted: RSGGCE) -> None:
    for c in (0, 1):
        rows = [row for row in fitted.history_ if row["class"] == c]
        assert [row["epoch"] for row in rows] == list(range(150))
        assert all(np.isfinite(list(row.values())).all() for row in rows)
        first, last = (np.mean([row["flip_rate"] for row in part]) for part in (rows[:20], rows[-20:]))
        assert last > first and last > 0.7
        assert rows[-1]["edits"] < 16 and rows[-1]["diversity"] > 0


def test_the_oracles_answer_changes_the_result(data: Dataset) -> None:
    """Trained against another oracle the same network wants other edges: it is not the data alone that speaks."""

    class ManyLeaves(Oracle):
        name = "many-leaves"

        def predict(self, graphs: GraphBatch) -> Tensor:
            return ((graphs.adjacency.sum(2) == 1).sum(1) > 6).long()

    graphs = data.graphs[:80]
    tiny = RSGGCE.tiny()
    one = tiny.fit(graphs, TreeCyclesOracle()).edge_probabilities(graphs, torch.zeros(80, dtype=torch.long))
    two = RSGGCE.tiny().fit(graphs, ManyLeaves()).edge_probabilities(graphs, torch.zeros(80, dtype=torch.long))
    assert not torch.allclose(one, two, atol=1e-3)


def test_gradients_reach_every_trained_parameter(data: Dataset) -> None:
    explainer = RSGGCE(samples=8, batch=32)
    graphs = data.graphs
    classes = TreeCyclesOracle().predict(graphs)
    own = classes == 1
    explainer.mean_, explainer.std_ = torch.zeros(9), torch.ones(9)
    own_data = ClassData(
        1,
        graphs.select(own),
        explainer._features(graphs.select(own)),
        graphs.select(~own),
        CountingOracle(TreeCyclesOracle()),
    )
    training = ClassTraining(own_data, explainer._settings(), 0, "cpu")
    for network in (training.generator, training.discriminator):
        for parameter in network.parameters():
            parameter.grad = None
    training.step(0)
    for network in (training.generator, training.discriminator):
        for name, parameter in network.named_parameters():
            assert parameter.grad is not None and float(parameter.grad.abs().sum()) > 0, name


def test_score_function_gradient_is_that_of_the_expected_reward() -> None:
    """On two pairs all four graphs can be listed: the estimator's mean is the exact gradient of E[R]."""
    logits = torch.tensor([[0.3, -0.8]], requires_grad=True)
    outcomes = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    rewards = torch.tensor([0.0, 1.0, 0.25, -0.5])
    p = torch.sigmoid(logits)
    likelihood = (outcomes * p + (1 - outcomes) * (1 - p)).prod(1)
    (exact,) = torch.autograd.grad((likelihood * rewards).sum(), logits)

    samples, draws = 4, 60_000
    rng = torch.Generator().manual_seed(0)
    bits = (torch.rand(samples, draws, 2, generator=rng) < p.detach()).float()
    reward = rewards[(bits[..., 0] * 2 + bits[..., 1]).long()]
    advantage = (reward - reward.mean(0)) * samples / (samples - 1)
    estimate = (advantage[..., None] * (bits - p.detach())).mean((0, 1))
    assert torch.allclose(estimate, exact[0], atol=4e-3)


def test_save_and_load_give_the_same_explanations(data: Dataset, fitted: RSGGCE, tmp_path: Path) -> None:
    path = fitted.save(tmp_path / "model")
    loaded = RSGGCE.load(path)
    test = data.graphs[120:]
    for a, b in zip(fitted.explain(test, TreeCyclesOracle()), loaded.explain(test, TreeCyclesOracle()), strict=True):
        assert a.edits == b.edits and a.calls == b.calls
    with np.load(path, allow_pickle=False) as archive:  # would raise on anything that needs pickle
        assert all(archive[name] is not None for name in archive.files)


def test_an_order_of_ones_own_has_to_be_given_again(data: Dataset, tmp_path: Path) -> None:
    order = Within(torch.ones(16, 16, dtype=torch.bool))
    path = (
        RSGGCE(**{**RSGGCE.tiny().hyperparameters(), "order": order})
        .fit(data.graphs, TreeCyclesOracle())
        .save(tmp_path / "m")
    )
    with pytest.raises(RSGGError, match=r"saved with order = Within.*give it again"):
        RSGGCE.load(path)
    assert RSGGCE.load(path, order=order).order is order


def test_three_classes_and_graphs_of_different_sizes() -> None:
    class Components(Oracle):
        """Class = min(cyclomatic number, 2)."""

        name, n_classes = "components", 3

        def predict(self, graphs: GraphBatch) -> Tensor:
            return (graphs.n_edges - graphs.n_nodes + n_components(graphs.adjacency > 0)).clamp(0, 2)

    rng = np.random.default_rng(0)
    graphs = []
    for i in range(60):
        network = nx.random_labeled_tree(int(rng.integers(8, 13)), seed=i)
        for _ in range(i % 3):
            u, v = next(iter(nx.non_edges(network)))
            network.add_edge(u, v)
        graphs.append(network)
    results = RSGGCE.tiny().fit(graphs[:45], Components()).explain(graphs[45:], Components(), k=2)
    assert len(results) == 30 and any(result.found for result in results)
    for result in results:
        assert result.returned.n_nodes == graphs[45 + result.instance].number_of_nodes()


def test_bad_use_is_explained(data: Dataset) -> None:
    with pytest.raises(NotFittedError, match="call fit first"):
        RSGGCE().explain(data.graphs[:2], TreeCyclesOracle())
    with pytest.raises(UsageError, match="cannot use generator = 'magic'; give one of"):
        RSGGCE(generator="magic")
    trees = data.graphs.select(TreeCyclesOracle().predict(data.graphs) == 0)
    with pytest.raises(FitError, match="No training graph is of class 1"):
        RSGGCE.tiny().fit(trees, TreeCyclesOracle())


def test_networks_are_permutation_equivariant_and_identities_are_not() -> None:
    torch.manual_seed(0)
    x, a = torch.randn(2, 9, 5), torch.triu((torch.rand(2, 9, 9) < 0.4).float(), 1)
    a = a + a.transpose(1, 2)
    order = torch.randperm(9)
    mask = torch.ones(2, 9, dtype=torch.bool)
    for identities, same in ((0, True), (9, False)):
        generator = Generator(Encoder(5, 8, 4, 2, identities), 4, 14.0, 22.0, 1.0, 2.0)
        critic = Discriminator(8, 2, 2.0, 9, identities)
        moved = generator(x[:, order], a[:, order][:, :, order])
        assert torch.allclose(moved, generator(x, a)[:, order][:, :, order], atol=1e-5) is same
        assert torch.allclose(critic(a[:, order][:, :, order], mask), critic(a, mask), atol=1e-5) is same


class Watches(TreeCyclesOracle):
    """Notes which pairs of the training graphs have been edited in what it was shown."""

    def __init__(self, originals: GraphBatch) -> None:
        self.originals, self.edited = originals.adjacency, torch.zeros(originals.n_nodes, originals.n_nodes)

    def note(self, adjacency: torch.Tensor) -> None:
        """A pair is edited if it differs from the original that a graph is closest to."""
        apart = (adjacency[:, None] != self.originals[None]).flatten(2).sum(2)
        self.edited += (adjacency != self.originals[apart.argmin(1)]).sum(0)

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        self.note(graphs.adjacency)
        return super().predict(graphs)

    def predict_edges(self, graphs: EdgeBatch) -> torch.Tensor:
        self.note(graphs.to_dense().adjacency)
        return super().predict_edges(graphs)


@pytest.mark.parametrize("largest_matrix", [120, 4])  # as matrices, and as lists of edges
@pytest.mark.parametrize("by_order", [True, False])
def test_training_edits_no_pair_that_may_not_be_edited(
    by_order: bool, largest_matrix: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training_pairs, "LARGEST_MATRIX", largest_matrix)
    graphs = GraphBatch.of([unicyclic(8, 3, 0), tree(8, 1)])
    open_ = torch.zeros(8, 8, dtype=torch.bool)
    open_[:4, :4] = True
    among = Among(tuple(itertools.combinations(range(4), 2)))
    within: dict[str, Any] = {"order": Within(open_)} if by_order else {"constraints": (among,)}
    oracle = Watches(graphs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CollapseWarning)
        RSGGCE.tiny().fit(graphs, oracle)
        assert oracle.edited[4:].any(), "without a limit they are edited"
        oracle = Watches(graphs)
        replace(RSGGCE.tiny(), **within).fit(graphs, oracle)
    assert oracle.edited[:4, :4].any() and not oracle.edited[4:].any() and not oracle.edited[:, 4:].any()
