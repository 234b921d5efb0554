"""G-CounteRGAN's networks from their layers, its discriminator's loss by hand, its batches, what it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from rsgg.baselines import gcountergan
from rsgg.baselines.gcountergan import ClassData, Discriminator, GCounteRGAN, Generator, Training
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle
from rsgg.rsgg_ce.adam import Adam, RMSprop
from tests.baselines.test_gcountergan import PairOracle, random_graphs


def training(score: Tensor | None = None, **settings: object) -> Training:
    """The GAN of class 1 for the oracle that looks at nodes 2 and 5."""
    graphs = random_graphs(30, seed=0)
    classes = PairOracle(2, 5).predict(graphs)
    own, other = graphs.select(classes == 1), graphs.select(classes == 0)
    score = torch.ones(len(other)) if score is None else score[: len(other)]
    recipe = GCounteRGAN(**{**vars(GCounteRGAN.tiny()), **settings})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Training(ClassData(1, own, other, score, CountingOracle(PairOracle(2, 5))), recipe)


def weights_of(*networks: nn.Module) -> list[Tensor]:
    return [torch.cat([weight.detach().flatten() for weight in network.parameters()]) for network in networks]


# -- The networks ------------------------------------------------------------------------------------------


def layers_of(generator: Generator) -> list[tuple[nn.Module, int]]:
    return [(generator.down1, 1), (generator.down2, 4), (generator.up1, 8), (generator.up2, 4), (generator.head, 4)]


@pytest.mark.parametrize("n", [6, 8])
@torch.no_grad()
def test_the_generator_is_built_of_these_layers(n: int) -> None:
    """Two convolutions of stride 2, a factorised dense layer, two transposed ones, a 7×7 head; leaky ReLUs."""
    torch.manual_seed(0)
    generator, a = Generator(n, 4, 8).eval(), random_graphs(3, seed=1, n=n).adjacency.float()
    shapes = [(1, 4, 3), (4, 4, 3), (8, 4, 4), (4, 4, 4), (4, 1, 7)]
    for (layer, _), (inputs, outputs, kernel) in zip(layers_of(generator), shapes, strict=True):
        assert isinstance(layer, nn.Conv2d | nn.ConvTranspose2d)
        assert (layer.in_channels, layer.out_channels, layer.kernel_size[0]) == (inputs, outputs, kernel)

    def leaky(x: Tensor) -> Tensor:
        return torch.where(x > 0, x, 0.2 * x)

    x = torch.zeros(3, 1, 8, 8)  # the next multiple of four
    x[:, 0, :n, :n] = a
    x = leaky(functional.conv2d(x, generator.down1.weight, generator.down1.bias, stride=2, padding=1))
    x = leaky(functional.conv2d(x, generator.down2.weight, generator.down2.bias, stride=2, padding=1))
    assert x.shape == (3, 4, 2, 2)
    assert isinstance(generator.dense, nn.Sequential)
    narrow, wide = generator.dense
    assert isinstance(narrow, nn.Linear) and isinstance(wide, nn.Linear) and narrow.bias is None
    x = leaky(x.flatten(1) @ narrow.weight.T @ wide.weight.T + wide.bias).reshape(3, 8, 2, 2)
    for up in (generator.up1, generator.up2):
        x = leaky(functional.conv_transpose2d(x, up.weight, up.bias, stride=2, padding=1))
    image = torch.tanh(functional.conv2d(x, generator.head.weight, generator.head.bias, padding=3))[:, 0, :n, :n]
    assert torch.allclose(generator.image(a), image, atol=1e-5)
    residual = generator(a, torch.ones(3, n, dtype=torch.bool))
    for u in range(n):
        for v in range(n):
            expected = (image[:, u, v] + image[:, v, u]) / 2 if u != v else torch.zeros(3)
            assert torch.allclose(residual[:, u, v], expected, atol=1e-5)
    assert generator.dropout.p == 0.2


@torch.no_grad()
def test_the_discriminator_is_three_convolutions_with_noise_in_training_only() -> None:
    torch.manual_seed(0)
    discriminator, image = Discriminator(10, 4).eval(), torch.rand(3, 10, 10)
    x = image[:, None]
    for i, layer in enumerate(discriminator.convolutions):
        assert isinstance(layer, nn.Conv2d) and layer.in_channels == (4 if i else 1)
        x = functional.conv2d(x, layer.weight, layer.bias, stride=2, padding=1)
        x = torch.where(x > 0, x, 0.2 * x)
    assert x.shape == (3, 4, 2, 2), "halved three times, rounded up"
    assert discriminator.linear.out_features == 1
    expected = (x.flatten(1) @ discriminator.linear.weight.T + discriminator.linear.bias)[:, 0]
    assert torch.allclose(discriminator(image), expected, atol=1e-5)
    assert discriminator.dropout.p == 0.4
    # The noise after the first convolution has standard deviation .2: seen through a network that adds everything up.
    plain = Discriminator(8, 1)
    plain.dropout.p = 0.0
    for weight in plain.parameters():
        weight.zero_()
    for layer in plain.convolutions:
        assert isinstance(layer, nn.Conv2d) and layer.bias is not None
        layer.weight[:, :, 1, 1] = 1.0
        layer.bias.fill_(10.0)  # so that every leaky ReLU is the identity
    plain.linear.weight.fill_(1.0)
    logits = plain.train()(torch.zeros(4000, 8, 8))
    assert float(logits.mean()) == pytest.approx(30, abs=0.02) and float(logits.std()) == pytest.approx(0.2, rel=0.06)
    assert plain.eval()(torch.zeros(2, 8, 8)).tolist() == [30, 30]


@pytest.mark.parametrize(("n", "products"), [(2, 1 << 18), (9, 1 << 18), (9, 1), (9, 2 * (7 * 9) ** 2)])
def test_the_convolution_to_one_channel_is_torchs(n: int, products: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its gradients, for images smaller than the kernel and in blocks of all, one and two images."""
    monkeypatch.setattr(gcountergan, "PRODUCTS_AT_A_TIME", products)
    torch.manual_seed(0)
    layer, towards = nn.Conv2d(4, 1, 7, padding=3).double(), torch.randn(3, n, n).double()
    x = torch.randn(3, 4, n, n).double().requires_grad_()
    wanted, ours = layer(x)[:, 0], gcountergan.to_one_channel(x, layer)
    assert torch.allclose(wanted, ours)
    inputs = [x, *layer.parameters()]
    for a, b in zip(*(torch.autograd.grad((y * towards).sum(), inputs) for y in (wanted, ours)), strict=True):
        assert torch.allclose(a, b)


@pytest.mark.parametrize(("n", "margin"), [(3, 1), (8, 1), (9, 0)])
def test_the_convolution_of_one_channel_is_torchs(n: int, margin: int) -> None:
    torch.manual_seed(0)
    layer, x = nn.Conv2d(1, 4, 3, stride=2, padding=margin).double(), torch.randn(3, n, n).double().requires_grad_()
    wanted, ours = layer(x[:, None]), gcountergan.convolved(x, layer)
    assert torch.allclose(wanted, ours)
    inputs = [x, *layer.parameters()]
    for a, b in zip(*(torch.autograd.grad((y**2).sum(), inputs) for y in (wanted, ours)), strict=True):
        assert torch.allclose(a, b)


# -- Training ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ratio", "count", "expected"), [(0.1, 40, 4), (0.1, 49, 4), (0.1, 5, 2), (1.0, 7, 7)])
def test_a_batch_is_a_share_of_the_graphs_but_at_least_two(ratio: float, count: int, expected: int) -> None:
    batch = training(batch_ratio=ratio)._batch(count)
    assert len(batch) == len(batch.unique()) == expected and batch.min() >= 0 and batch.max() < count


def test_the_discriminators_loss_weighs_real_graphs_by_their_score(monkeypatch: pytest.MonkeyPatch) -> None:
    """mean over both halves of w(A) · -log D(A) and -log(1 - D(x')), w scaled to mean 1."""
    scores = torch.rand(30, generator=torch.Generator().manual_seed(1)) + 0.1
    step = training(scores)
    shown: list[Tensor] = []
    batches = [torch.tensor([0, 2, 3]), torch.tensor([1, 4, 5])]
    monkeypatch.setattr(step, "_batch", lambda count: batches.pop(0))

    class Linear(nn.Module):
        """Stands in for the discriminator: the logit is a tenth of the sum of the image."""

        def forward(self, image: Tensor) -> Tensor:
            shown.append(image.detach())
            return image.sum((1, 2)) / 10 + 0 * next(step.generator.parameters()).sum()

    step.discriminator = Linear()  # type: ignore[assignment]
    loss = step._discriminator_step()
    with torch.no_grad():
        a = step.adjacency[[1, 4, 5]]
        generated = a + step.generator.eval()(a, step.nodes[[1, 4, 5]])
    assert torch.allclose(shown[0], torch.cat((step.real[[0, 2, 3]], generated)), atol=1e-6)
    weights = [float(scores[i]) / float(scores[[0, 2, 3]].mean()) for i in (0, 2, 3)]
    expected = []
    for i, image in enumerate(shown[0]):
        d = 1 / (1 + math.exp(-float(image.sum()) / 10))
        expected.append(-weights[i] * math.log(d) if i < 3 else -math.log(1 - d))
    assert loss == pytest.approx(np.mean(expected), rel=1e-5)


def test_old_gradients_are_cleared_and_optimisers_are_those_of_the_original() -> None:
    weights = []
    for poison in (0.0, 100.0):
        step = training()
        for network in (step.generator, step.discriminator):
            network.eval()
            for parameter in network.parameters():
                parameter.grad = torch.full_like(parameter, poison)
        torch.manual_seed(3)
        step._discriminator_step()
        step._generator_step()
        weights.append(weights_of(step.generator, step.discriminator))
    for a, b in zip(*weights, strict=True):
        assert torch.equal(a, b)
    assert isinstance(step.g_optimiser, RMSprop) and step.g_optimiser.lr == 4e-4
    assert isinstance(step.d_optimiser, Adam)
    assert step.d_optimiser.betas == (0.5, 0.999) and step.d_optimiser.lr == 2e-4


def test_a_step_changes_its_own_network() -> None:
    step = training()
    before = weights_of(step.generator, step.discriminator)
    step._generator_step()
    now = weights_of(step.generator, step.discriminator)
    assert not torch.equal(now[0], before[0]) and torch.equal(now[1], before[1])
    step._discriminator_step()
    after = weights_of(step.generator, step.discriminator)
    assert torch.equal(after[0], now[0]) and not torch.equal(after[1], now[1])


def test_the_history_has_the_mean_losses_of_an_iteration_and_checks_when_due(monkeypatch: pytest.MonkeyPatch) -> None:
    step = training(iterations=5, check_every=2, generator_steps=2, discriminator_steps=3)
    d, g = iter(range(100)), iter(range(100, 200))
    checks: list[int] = []
    monkeypatch.setattr(step, "_discriminator_step", lambda: float(next(d)))
    monkeypatch.setattr(step, "_generator_step", lambda: float(next(g)))
    monkeypatch.setattr(step, "_check", lambda: checks.append(len(step.history)))
    step.run()
    assert checks == [2, 4, 5]
    assert step.history == [
        {"class": 1, "epoch": i, "discriminator_loss": 3 * i + 1, "generator_loss": 100 + 2 * i + 0.5} for i in range(5)
    ]


class Edits(nn.Module):
    """Stands in for the generator: the residual is given."""

    def __init__(self, residual: Tensor) -> None:
        super().__init__()
        self.residual = nn.Parameter(residual)

    def forward(self, adjacency: Tensor, real: Tensor) -> Tensor:
        return self.residual.expand(len(adjacency), -1, -1)


def test_more_flips_win_then_fewer_edits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five generators: nothing; a wrong pair; the pair that decides and two more; the pair alone; the same again."""
    monkeypatch.setattr(gcountergan, "IMAGES_PER_BLOCK", 3)
    step = training()
    count = len(step.adjacency)

    def removing(*pairs: tuple[int, int]) -> Tensor:
        residual = torch.zeros(8, 8)
        for u, v in pairs:
            residual[u, v] = residual[v, u] = -0.6
        return residual

    kept: list[float] = []
    tried = [[], [(0, 1)], [(2, 5), (0, 1), (0, 2)], [(2, 5)], [(2, 5)], [(2, 5), (0, 1)]]
    step.best = Edits(torch.zeros(8, 8))  # type: ignore[assignment]
    for i, pairs in enumerate(tried):
        step.generator = Edits(removing(*pairs) + i * 1e-4)  # type: ignore[assignment]
        step.history.append({})
        calls = step.data.oracle.calls
        step._check()
        assert step.data.oracle.calls - calls == count
        edges = sum(int(step.adjacency[:, u, v].sum()) for u, v in pairs)
        assert step.history[-1] == {"flip_rate": float((2, 5) in pairs), "edits": pytest.approx(edges / count)}
        assert isinstance(step.best, Edits)
        kept.append(round(float(step.best.residual[7, 7].detach()) * 1e4))
    assert kept == [0, 0, 2, 3, 3, 3]


def test_scores_of_all_graphs_are_asked_for_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gcountergan, "IMAGES_PER_BLOCK", 7)
    parts = gcountergan._blocks(random_graphs(20, seed=0))
    assert [len(part) for part in parts] == [7, 7, 6]
    assert torch.equal(torch.cat([part.adjacency for part in parts]), random_graphs(20, seed=0).adjacency)


def test_what_is_explained_is_the_image_above_the_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """x' = A + r cut to [0, 1] from the generator of each graph's class; without a change there is no candidate."""
    monkeypatch.setattr(gcountergan, "IMAGES_PER_BLOCK", 4)
    fitted = GCounteRGAN(threshold=0.25)
    fitted.n_nodes_ = 8
    for_class_0, for_class_1 = torch.full((8, 8), 0.125), torch.full((8, 8), -0.25)
    for_class_0[2, 5] = for_class_0[5, 2] = 0.375
    for_class_0[0, 1] = for_class_0[1, 0] = 0.25  # not more than the threshold
    for_class_1[2, 5] = for_class_1[5, 2] = -1.75
    fitted.generators_ = [Edits(for_class_0), Edits(for_class_1)]  # type: ignore[list-item]
    graphs = random_graphs(20, seed=5)
    classes = PairOracle(2, 5).predict(graphs)
    soft = fitted.edge_probabilities(graphs, classes)
    for i in range(20):
        residual = for_class_1 if classes[i] else for_class_0
        assert torch.allclose(soft[i], (graphs.adjacency[i] + residual).clamp(0, 1))
    found = fitted._explain(graphs, classes, CountingOracle(PairOracle(2, 5)), 1, 0)
    for i, candidate in enumerate(found):
        expected = graphs.adjacency[i].clone()
        expected[2, 5] = expected[5, 2] = 1 - classes[i]
        assert candidate.adjacency is not None and torch.equal(candidate.adjacency, expected)
    fitted.generators_ = [Edits(torch.zeros(8, 8))] * 2  # type: ignore[list-item]
    (same, *_) = fitted._explain(graphs, classes, CountingOracle(PairOracle(2, 5)), 1, 0)
    assert same.adjacency is None and same.reason == "no residual is large enough to change an edge"


def test_every_class_has_a_gan_of_its_own_trained_against_the_others() -> None:
    seen: list[ClassData] = []

    class Spy(GCounteRGAN):
        pass

    graphs = random_graphs(24, seed=0)
    original = gcountergan.Training

    class Watching(original):  # type: ignore[misc, valid-type]
        def __init__(self, data: ClassData, recipe: GCounteRGAN) -> None:
            seen.append(data)
            super().__init__(data, recipe)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gcountergan, "Training", Watching)
        Spy(**vars(GCounteRGAN.tiny())).fit(graphs, PairOracle(2, 5))
    classes = PairOracle(2, 5).predict(graphs)
    for c, data in enumerate(seen):
        assert data.c == c and torch.equal(data.graphs.adjacency, graphs.adjacency[classes == c])
        assert torch.equal(data.real.adjacency, graphs.adjacency[classes != c])
        assert data.score.tolist() == [1.0] * int((classes != c).sum()), "surely not of class c"


def test_graph_batches_travel_with_their_features() -> None:
    graphs = random_graphs(3, seed=0)

    class Features(PairOracle):
        def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
            assert features is not None and features.shape == (3, 8, 2)
            return super().relaxed(adjacency, features)

    known = GraphBatch(graphs.adjacency, graphs.sizes, features=torch.ones(3, 8, 2), names=graphs.names)
    oracle = CountingOracle(Features(2, 5))
    asked = gcountergan._relaxed(oracle, known)
    assert asked[:, 1].tolist() == graphs.adjacency[:, 2, 5].tolist()
    assert gcountergan._relaxed(oracle, known, torch.full((3, 8, 8), 0.25))[:, 1].tolist() == [0.25] * 3


def test_what_was_saved_explains_as_what_was_fitted() -> None:
    graphs = random_graphs(24, seed=0)
    classes = PairOracle(2, 5).predict(graphs)
    fitted = GCounteRGAN.tiny().fit(graphs, PairOracle(2, 5))
    restored = GCounteRGAN.tiny()
    restored._restore(fitted._state())
    assert restored.n_nodes_ == 8 and len(restored.generators_) == 2 and restored.history_ == []
    assert torch.equal(restored.edge_probabilities(graphs, classes), fitted.edge_probabilities(graphs, classes))
