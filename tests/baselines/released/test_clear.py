"""CLEAR as released, against a plain sequential training in PyTorch and PyG, and the laws that its results follow."""

from __future__ import annotations

from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import DenseGCNConv

from rsgg.baselines.released import clear
from rsgg.baselines.released.clear import AutoEncoder, Normalisation, ReleasedCLEAR, pooled, random_features
from rsgg.data import TreeCycles
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.seeds import seed_for, streams, torch_rng, uniforms

N = 9


@pytest.fixture(scope="module")
def graphs() -> GraphBatch:
    return TreeCycles(n_nodes=N, n_graphs=44, max_cycle_nodes=4).load().graphs


class Plain(nn.Module):
    """The same auto-encoder from standard layers, for one batch after the other, with the weights of ours."""

    def __init__(self, ours: AutoEncoder) -> None:
        super().__init__()
        self.gcn = DenseGCNConv(2, 16)
        self.gcn.lin.weight, self.gcn.bias = copied(ours.convolution.weight), copied(ours.convolution.bias)
        self.norm = normalisation(ours.embedding)
        self.mean, self.log_variance = plain(ours.to_mean), plain(ours.to_log_variance)
        self.prior_mean, self.prior_log_variance = plain([ours.prior_mean]), plain(ours.prior_log_variance)
        self.x, self.a = plain(ours.to_features), nn.Sequential(*plain(ours.to_edges), nn.Sigmoid())

    def encode(self, x: Tensor, a: Tensor, u: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        read = torch.cat((self.norm(self.gcn(x, a).sum(1)), u, y), 1)
        return self.mean(read), self.log_variance(read)

    def decode(self, z: Tensor, u: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return self.x(torch.cat((z, y), 1)).reshape(-1, N, 2), self.a(torch.cat((z, u, y), 1)).reshape(-1, N, N)


def copied(weight: Tensor) -> nn.Parameter:
    return nn.Parameter(weight.detach().clone())


def plain(layers: nn.Sequential | list[nn.Module]) -> nn.Sequential:
    """The layers again, with torch's batch normalisation in place of ours."""
    made: list[nn.Module] = []
    for layer in layers:
        if isinstance(layer, nn.Linear):
            made.append(linear := nn.Linear(layer.in_features, layer.out_features))
            linear.weight, linear.bias = copied(layer.weight), copied(layer.bias)
        else:
            made.append(normalisation(layer) if isinstance(layer, Normalisation) else type(layer)())
    return nn.Sequential(*[nn.Identity() if isinstance(layer, nn.Dropout) else layer for layer in made])


def normalisation(ours: Normalisation) -> nn.BatchNorm1d:
    made = nn.BatchNorm1d(16)
    made.weight, made.bias = copied(ours.weight), copied(ours.bias)
    made.running_mean, made.running_var = ours.average.clone()
    return made


def trained_plainly(graphs: GraphBatch, labels: Tensor, epochs: int, seed: int = 0) -> Plain:
    """What `ReleasedCLEAR(epochs=epochs, dropout=0)` has to learn: batch after batch, one step of Adam per epoch."""
    rng = torch_rng(seed, "released clear")
    u, x = random_features(graphs.adjacency, torch.rand(len(graphs), 2 + N, generator=rng, dtype=torch.float64))
    a, y, size = graphs.adjacency.float(), 1 - labels[:, None].float(), int(0.15 * len(graphs))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed_for(seed, "released clear"))
        network = Plain(AutoEncoder(N, 0.0))
    adam = torch.optim.Adam(network.parameters(), lr=1e-2, weight_decay=5e-5)
    for _ in range(epochs):
        order = torch.randperm(len(graphs), generator=rng)
        batches = [order[i : i + size] for i in range(0, len(order) - size + 1, size)]
        noise = torch.rand(len(batches), size, 16, generator=rng)
        total = torch.zeros(())
        for batch, own in zip(batches, noise, strict=True):
            total = total + loss_of_batch(network, x[batch], a[batch], u[batch], y[batch], own)
        adam.zero_grad()
        (total / len(batches) / len(batches)).backward()
        adam.step()
    return network.eval()


def loss_of_batch(network: Plain, x: Tensor, a: Tensor, u: Tensor, y: Tensor, noise: Tensor) -> Tensor:
    mean, log_variance = network.encode(x, a, u, y)
    x_new, a_new = network.decode(mean + torch.exp(0.5 * log_variance) * noise, u, y)
    network.encode(x_new.detach(), a_new.detach(), u, y)  # only normalisations notice
    q = torch.distributions.Normal(mean, (log_variance / 2).exp())
    p = torch.distributions.Normal(network.prior_mean(u), (network.prior_log_variance(u) / 2).exp())
    distance = torch.stack([torch.linalg.vector_norm(one - new) for one, new in zip(x, x_new, strict=True)]).mean() / 4
    return (
        torch.distributions.kl_divergence(q, p).mean()
        + 10 * distance
        + 10 * nn.functional.binary_cross_entropy(a_new, a)
    )


def test_training_is_that_of_plain_layers_batch_after_batch(graphs: GraphBatch) -> None:
    """Weights and moving averages after four epochs of seven batches of six graphs (two are left out).

    Biases before a normalisation have no gradient but rounding, by which Adam moves them all the same: they, and with
    them moving averages of means, are not compared.
    """
    expected = trained_plainly(graphs, TreeCyclesOracle().predict(graphs), 4)
    network = ReleasedCLEAR(epochs=4, dropout=0.0).fit(graphs, TreeCyclesOracle()).network_
    torch.testing.assert_close(network.convolution.weight, expected.gcn.lin.weight, rtol=1e-3, atol=1e-5)
    for written, plain in ((network.to_edges, expected.a[:-1]), (network.to_features, expected.x)):
        torch.testing.assert_close(written[-1].weight, plain[-1].weight, rtol=1e-3, atol=1e-5)  # type: ignore[index]
    for mine, other in ((network.embedding, expected.norm), (network.to_mean[1], expected.mean[1])):
        assert isinstance(mine, Normalisation) and isinstance(other, nn.BatchNorm1d)
        torch.testing.assert_close(mine.average[1], other.running_var, rtol=1e-3, atol=1e-5)


def test_at_explanation_the_mean_is_decoded_for_the_class_of_the_graph(graphs: GraphBatch) -> None:
    """As by plain layers with the same weights and moving averages."""
    ours = ReleasedCLEAR.tiny().fit(graphs, TreeCyclesOracle())
    numbers = torch.rand(len(graphs), 2 + N, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    u, x = random_features(graphs.adjacency, numbers)
    classes, network = TreeCyclesOracle().predict(graphs), Plain(ours.network_).eval()
    mean, _ = network.encode(x, graphs.adjacency.float(), u, classes[:, None].float())
    soft = network.decode(mean, u, classes[:, None].float())[1]
    torch.testing.assert_close(ours.decoded(graphs, classes, numbers), soft.detach(), rtol=1e-4, atol=1e-6)


def test_batches_are_normalised_one_after_the_other() -> None:
    """Three batches, each passed twice, as by torch's batch normalisation in this order; then the averages are used."""
    rng = torch.Generator().manual_seed(0)
    first, second = (torch.randn(3, 5, 4, generator=rng) * 3 + 1 for _ in range(2))
    ours, theirs = Normalisation(4), nn.BatchNorm1d(4)
    ours.weight.data = theirs.weight.data = torch.rand(4, generator=rng)
    for _ in range(2):
        made = ours(first), ours(second)
        ours.update_averages()
        pairs = [(theirs(one), theirs(other)) for one, other in zip(first, second, strict=True)]
        for own, expected in zip(made, zip(*pairs, strict=True), strict=True):
            torch.testing.assert_close(own, torch.stack(expected))
    torch.testing.assert_close(ours.eval()(first[0]), theirs.eval()(first[0]))


def test_averages_of_the_last_epochs_are_those_of_all(graphs: GraphBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the last bit, although what the first 25 of 200 epochs saw is left out; a few epochs would not be enough."""

    def averages(n_updates: int) -> Tensor:
        monkeypatch.setattr(clear, "UPDATES_REMEMBERED", n_updates)
        network = ReleasedCLEAR(epochs=200, batch_ratio=0.25).fit(graphs, TreeCyclesOracle()).network_
        return torch.stack([part.average for part in network.modules() if isinstance(part, Normalisation)])

    remembered = clear.UPDATES_REMEMBERED
    wanted = averages(800)  # 4 per step
    assert torch.equal(averages(remembered), wanted) and not torch.equal(averages(40), wanted)


def test_conditions_are_true_labels_where_they_are_known(graphs: GraphBatch) -> None:
    """Also where all labels are wrong: then training is that of the opposite labels."""
    classes = TreeCyclesOracle().predict(graphs)
    wrong = replace(graphs, labels=1 - classes)
    ours = ReleasedCLEAR(epochs=2, dropout=0.0).fit(wrong, TreeCyclesOracle())
    expected = trained_plainly(graphs, 1 - classes, 2)
    torch.testing.assert_close(ours.network_.to_edges[0].weight, expected.a[0].weight, rtol=1e-3, atol=1e-5)
    numbers = torch.rand(len(graphs), 2 + N, dtype=torch.float64)
    assert torch.equal(ours.decoded(wrong, classes, numbers), ours.decoded(graphs, 1 - classes, numbers))
    assert not torch.equal(ours.decoded(wrong, classes, numbers), ours.decoded(graphs, classes, numbers))


def test_features_are_noise_and_half_the_mean_degree(graphs: GraphBatch) -> None:
    numbers = torch.rand(len(graphs), 2 + N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    u, x = random_features(graphs.adjacency, numbers)
    edges = np.linspace(0.15, 1, 11)
    for graph, row, own, features in zip(graphs, numbers.tolist(), u[:, 0].tolist(), x.numpy(), strict=True):
        assert own == int(10 * row[0])
        noise = edges[int(own)] + row[1] * (edges[int(own) + 1] - edges[int(own)])
        assert features[:, 0] == pytest.approx([noise + graph.adjacency.sum(0).mean() / 2] * N)
        assert features[:, 1] == pytest.approx([NormalDist().inv_cdf(r) for r in row[2:]], rel=1e-4)
    assert torch.isfinite(random_features(graphs.adjacency[:1], torch.zeros(1, 2 + N).double())[1]).all()


def test_pooled_is_the_sum_of_a_graph_convolution(graphs: GraphBatch) -> None:
    """Of matrices that are not symmetric, too; on the diagonal is 1 whatever was there."""
    rng = torch.Generator().manual_seed(0)
    soft, x = torch.rand(5, N, N, generator=rng), torch.randn(5, N, 2, generator=rng)
    layer = DenseGCNConv(2, 3, bias=False)
    expected = layer(x, soft).sum(1)
    torch.testing.assert_close(pooled(soft, x) @ layer.lin.weight.t(), expected)


def test_a_result_is_the_union_of_draws_in_both_directions(graphs: GraphBatch) -> None:
    explainer = ReleasedCLEAR.tiny().fit(graphs[:40], TreeCyclesOracle())
    few = graphs[40:]
    numbers = torch.from_numpy(uniforms(streams(few.names, 1, 7, "released clear"), 0, 2 + N + N * N))
    soft = explainer.decoded(few, TreeCyclesOracle().predict(few), numbers[:, : 2 + N])
    results = explainer.explain(few, TreeCyclesOracle(), seed=7)
    for result, p, coins in zip(results, soft, numbers[:, 2 + N :].reshape(-1, N, N), strict=True):
        expected = [[coins[i, j] < p[i, j] or coins[j, i] < p[j, i] for j in range(N)] for i in range(N)]
        assert np.array_equal(result.returned.adjacency, expected) and result.calls == 1


def test_it_asks_as_often_as_the_printed_row_says() -> None:
    """⌊.15 · 450⌋ = 67 graphs, six whole batches, per epoch: 402; and on 90 and 91 graphs 78 and 91."""
    for n_train, per_epoch in ((450, 402), (90, 78), (91, 91)):
        graphs = TreeCycles(n_nodes=8, n_graphs=n_train, max_cycle_nodes=3).load().graphs
        oracle = CountingOracle(TreeCyclesOracle())
        ReleasedCLEAR(epochs=2).fit(graphs, oracle)
        assert oracle.calls == 2 * per_epoch
    folds = [78 * 600 / 11] + 9 * [91 * 600 / 10]
    assert pytest.approx(4341.6) == 402 * 600 / 50 * 0.9 and np.mean(folds) == pytest.approx(5339.4545, abs=1e-4)


def test_it_writes_cyclic_graphs_whatever_it_is_asked() -> None:
    """And its GED is near that of a decoder that knows the mean adjacency matrix and nothing else."""
    data = TreeCycles(n_graphs=200).load()
    explainer = ReleasedCLEAR(epochs=300).fit(data.graphs[:150], TreeCyclesOracle())
    results = explainer.explain(data.graphs[150:], TreeCyclesOracle())
    returned = [result.returned for result in results]
    assert TreeCyclesOracle().predict(GraphBatch.of(returned)).all() and {r.calls for r in results} == {1}
    p = data.graphs.adjacency.double().mean(0)
    q = 1 - (1 - p) ** 2
    expected = float(torch.triu(p * (1 - q) + (1 - p) * q, 1).sum())
    ours = np.mean([np.triu((r.input.adjacency > 0) != (r.returned.adjacency > 0), 1).sum() for r in results])
    assert ours == pytest.approx(expected, rel=0.15)
    assert any(result.returned.adjacency.diagonal().any() for result in results), "self loops are possible"


def test_weights_of_the_loss_change_nothing(graphs: GraphBatch) -> None:
    """λ_sim, λ_kl and λ_cfe enter a printed value only."""
    one = ReleasedCLEAR.tiny().fit(graphs, TreeCyclesOracle())
    other = replace(ReleasedCLEAR.tiny(), similarity=0.1, divergence=0.5, counterfactual=1.0)
    other.fit(graphs, TreeCyclesOracle())
    same, again = one.network_.to_edges[0].weight, other.network_.to_edges[0].weight
    assert isinstance(same, Tensor) and isinstance(again, Tensor) and torch.equal(same, again)
