"""DyGRACE: its networks against torch and scikit-learn, its retrieval by hand, and a stream with its snapshots."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch_geometric.nn import GCNConv

from rsgg.baselines.controls import RandomKnown
from rsgg.baselines.dygrace import Autoencoder, DyGRACE, Regression, _similarities, encoded
from rsgg.data.streams import TreeCyclesStream
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import ged
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.oracles.oracle import Oracle
from tests.graphs import tree, unicyclic

GRAPHS = GraphBatch.of([tree(9, seed) if seed % 2 else unicyclic(9, 4, seed) for seed in range(12)])


class Stars(Oracle):
    """Class 1: some node is joined to all others."""

    name, n_classes = "stars", 2

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.adjacency.sum(2).amax(1) == graphs.sizes - 1).long()


def stars_and_paths(n: int = 8, count: int = 20) -> GraphBatch:
    """Stars and paths, nodes named at random: their centralities, and so their errors, are far apart."""
    made = []
    for i in range(count):
        plain = nx.star_graph(n - 1) if i % 2 else nx.path_graph(n)
        names = np.random.default_rng(i).permutation(n).tolist()
        made.append(nx.relabel_nodes(plain, dict(enumerate(names))))
    return GraphBatch.of([Graph(nx.to_numpy_array(one, nodelist=range(n))) for one in made])


# -- the parts -----------------------------------------------------------------------------------------------------


def test_the_error_and_its_gradient_are_those_of_pyg_and_autograd() -> None:
    graph, autoencoder = encoded(GRAPHS)[0], Autoencoder.drawn(4, np.random.default_rng(0))
    autoencoder.weights[1] += 0.1  # else some parts of the gradient are zero
    layers = [GCNConv(4, 4).double(), GCNConv(4, 4).double()]
    for layer, (weight, bias) in zip(layers, (autoencoder.weights[:2], autoencoder.weights[2:]), strict=True):
        layer.lin.weight.data = torch.from_numpy(weight.T.copy())
        layer.bias.data = torch.from_numpy(bias.copy())
    x = GRAPHS.encoding("centralities")[0, :, 1:5].double()
    edges = GRAPHS.adjacency[0].nonzero().T
    z = layers[1](layers[0](x, edges).relu(), edges).relu()
    error = torch.nn.functional.mse_loss(z @ z.T, GRAPHS.adjacency[0].double())
    error.backward()
    ours, gradients = autoencoder.gradient(graph)
    assert ours == pytest.approx(error.item()) and ours == pytest.approx(autoencoder.error(graph))
    for layer, (weight, bias) in zip(layers, (gradients[:2], gradients[2:]), strict=True):
        assert np.allclose(layer.lin.weight.grad.T, weight) and np.allclose(layer.bias.grad, bias)
        assert np.abs(weight).max() > 0 and np.abs(bias).max() > 0, "gradients reach every weight"


@pytest.mark.parametrize("against", [False, True])
def test_training_is_adam_one_graph_at_a_step(against: bool) -> None:
    graphs, ours = encoded(GRAPHS[:3]), Autoencoder.drawn(4, np.random.default_rng(1))
    weights = [torch.from_numpy(weight.copy()).requires_grad_() for weight in ours.weights]
    adam = torch.optim.Adam(weights, lr=0.01)
    for graph in graphs * 2:
        a, s, x = (torch.from_numpy(part) for part in (graph.adjacency, graph.propagation, graph.inputs))
        z = (s @ (x @ weights[0] + weights[1]).relu() @ weights[2] + weights[3]).relu()
        error = (z @ z.T - a).square().mean()
        adam.zero_grad()
        (20 / error if against else error).backward()
        adam.step()
    ours.train(graphs, 2, 0.01, against=against)
    for weight, theirs in zip(ours.weights, weights, strict=True):
        assert np.allclose(weight, theirs.detach().numpy(), rtol=1e-9)


def test_the_loss_falls_and_against_a_graph_it_rises() -> None:
    graphs, autoencoder = encoded(GRAPHS), Autoencoder.drawn(8, np.random.default_rng(2))
    means = autoencoder.train(graphs, 200, 1e-2)
    assert means[-1] < 0.5 * means[0]
    before = autoencoder.error(graphs[0])
    autoencoder.train(graphs[:1], 20, 1e-2, against=True)
    assert autoencoder.error(graphs[0]) > before


def test_gradients_reach_every_weight_of_both_auto_encoders() -> None:
    """A second epoch changes each of the weights and biases that the first one left."""
    graphs = stars_and_paths()
    few, more = (DyGRACE(epochs=epochs, lr=1e-2, latent=4).fit(graphs, Stars(), seed=2) for epochs in (1, 2))
    for one, other in zip(few.autoencoders_, more.autoencoders_, strict=True):
        for name, (before, after) in enumerate(zip(one.weights, other.weights, strict=True)):
            assert (before != after).any(), name


def test_the_regression_is_that_of_scikit_learn() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 3)) * [1, 10, 0.1]
    y = (x @ [1.0, -0.2, 4] + rng.normal(size=80) > 0.3).astype(float)
    ours, theirs = Regression.fitted(x, y), LogisticRegression(tol=1e-8, max_iter=10_000).fit(x, y)
    assert np.allclose(ours.slope, theirs.coef_[0], rtol=1e-3) and np.isclose(
        ours.intercept, theirs.intercept_[0], rtol=1e-2
    )
    assert np.allclose(ours(x), theirs.predict_proba(x)[:, 1], atol=1e-3)


def test_similarity_is_one_over_one_plus_the_edit_distance() -> None:
    similarity = _similarities(GRAPHS[:4], GRAPHS)
    distance = ged(GRAPHS.adjacency[:4, None].numpy(), GRAPHS.adjacency[None].numpy())
    assert np.allclose(similarity, 1 / (1 + distance)) and (np.diag(similarity) == 1).all()


# -- retrieval -----------------------------------------------------------------------------------------------------


def test_classes_that_differ_in_their_centralities_are_told_apart_and_retrieved() -> None:
    graphs = stars_and_paths()
    explainer = DyGRACE(epochs=200, lr=1e-2, latent=4).fit(graphs[:14], Stars(), seed=2)
    results = explainer.explain(graphs[14:], Stars(), k=2)
    assert all(result.found for result in results)
    known = {one.adjacency.tobytes() for one in graphs[:14]}
    assert all(result.returned.adjacency.tobytes() in known for result in results), "retrieved, not made"
    assert sum(result.calls for result in results) <= 6, (
        "the oracle is asked about the six inputs, to know their classes"
    )


def test_the_answers_of_the_oracle_decide_what_is_retrieved() -> None:
    """With another oracle on the same graphs, pairs that were alike are apart."""

    class FirstNode(Oracle):
        name, n_classes = "first node", 2

        def predict(self, graphs: GraphBatch) -> Tensor:
            return (graphs.adjacency[:, 0].sum(1) == 1).long()

    graphs = stars_and_paths()
    slopes = [
        DyGRACE(epochs=20, lr=1e-2).fit(graphs, oracle, seed=0).regression_.slope for oracle in (Stars(), FirstNode())
    ]
    assert not np.allclose(slopes[0], slopes[1])


def test_the_oracle_is_asked_about_the_first_snapshot_only() -> None:
    stream = TreeCyclesStream(n_snapshots=3, n_graphs=12, n_nodes=9).load()
    fold = stream.folds(3)[2]
    oracle = CountingOracle(TreeCyclesOracle())
    explainer = DyGRACE(snapshot=12, epochs=1).fit(stream.graphs.select(fold.train), oracle, seed=0)
    assert oracle.calls == 12 and len(fold.train) == 30
    assert torch.equal(explainer.seen_.adjacency, stream.graphs.adjacency[24:30]), "candidates are of the present"


def test_later_snapshots_change_what_was_learnt() -> None:
    stream = TreeCyclesStream(n_snapshots=2, n_graphs=12, n_nodes=9).load().graphs
    whole, first = (
        DyGRACE(snapshot=12, epochs=3).fit(part, TreeCyclesOracle(), seed=0) for part in (stream, stream[:12])
    )
    assert any(
        not np.array_equal(one, other)
        for a, b in zip(whole.autoencoders_, first.autoencoders_, strict=True)
        for one, other in zip(a.weights, b.weights, strict=True)
    )


@pytest.mark.parametrize(("rec_f", "matters"), [("candidate", True), ("instance", False)])
def test_the_error_of_the_input_cannot_rank_candidates(rec_f: str, matters: bool) -> None:
    """As released, r_c is that of the input: the ranking is the same whatever weight the regression gives it."""
    explainer = DyGRACE(epochs=5, rec_f=rec_f).fit(GRAPHS, TreeCyclesOracle(), seed=0)
    explainer.seen_errors_ = np.random.default_rng(0).random((len(GRAPHS), 2))
    rankings = []
    for weight in (-5.0, 5.0):
        explainer.regression_ = Regression(np.array([0.1, weight, 1.0]), 0.0)
        results = explainer.explain(GRAPHS[:4], TreeCyclesOracle(), k=5)
        rankings.append([result.edits for result in results])
    assert (rankings[0] != rankings[1]) == matters


# -- the stream and its control ------------------------------------------------------------------------------------


def test_a_fold_of_a_stream_has_seen_the_past_and_half_of_the_present() -> None:
    stream = TreeCyclesStream(n_snapshots=3, n_graphs=10, n_nodes=12, drift=2).load()
    for t, fold in enumerate(stream.folds(3)):
        assert fold.train.tolist() == list(range(10 * t + 5)) and fold.test.tolist() == list(
            range(10 * t + 5, 10 * t + 10)
        )
    cyclic = stream.labels == 1
    sizes = {
        t: {
            len(nx.cycle_basis(graph.to_networkx())[0])
            for graph in stream.graphs.select((cyclic & (stream.times == t)).nonzero().flatten())
        }
        for t in range(3)
    }
    assert sizes == {0: {3}, 1: {5}, 2: {7}}, "cycles grow"


def test_a_random_graph_of_the_snapshot_is_a_recent_one() -> None:
    oracle = CountingOracle(TreeCyclesOracle())
    control = RandomKnown(recent=4).fit(GRAPHS, oracle, seed=0)
    assert oracle.calls == 0
    recent = [one.adjacency.tobytes() for one in GRAPHS[8:]]
    results = control.explain(GRAPHS[:8], TreeCyclesOracle(), k=5)
    assert {result.returned.adjacency.tobytes() for result in results if result.offered} == set(recent)
    assert results[4].reason == "4 known graphs have 9 nodes"
