"""RSGG-CE's networks and what a training step reports, recomputed with loops over nodes and pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from rsgg.edges import EdgeBatch, NeighbourLists
from rsgg.graph import GraphBatch
from rsgg.rsgg_ce import training as module
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.training import (
    Discriminator,
    Encoder,
    Generator,
    MessagePassing,
    build_discriminator,
    build_generator,
    passed,
)
from rsgg.rsgg_ce.training_pairs import Linked, PairBatch
from tests.graphs import gnp_graphs, has_cycle
from tests.rsgg.test_training_steps import training

GRAPH = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
GRAPH.add_node(4)  # without neighbours
MATRIX = torch.from_numpy(nx.to_numpy_array(GRAPH, nodelist=range(5))).float()


def passed_on(layer: MessagePassing, h: list[Tensor], scale: list[float]) -> list[Tensor]:
    """relu(W h_v + b + U Σ_w h_w / scale_v), node by node."""
    new = []
    for v in GRAPH.nodes:
        around = sum((h[w] for w in GRAPH[v]), torch.zeros_like(h[v])) / scale[v]
        new.append(torch.relu(layer.own.weight @ h[v] + layer.own.bias + layer.neighbours.weight @ around))
    return new


def encoded(encoder: Encoder, x: Tensor) -> list[Tensor]:
    """Z of GRAPH, node by node: the mean of the neighbours, and every layer feeds the output."""
    own = [x[v] if encoder.identity is None else torch.cat((x[v], encoder.identity.weight[v])) for v in range(5)]
    seen, h = [own], own
    for layer in encoder.layers:
        assert isinstance(layer, MessagePassing)
        h = passed_on(layer, h, [max(GRAPH.degree[v], 1) for v in range(5)])
        seen.append(h)
    return [encoder.out.weight @ torch.cat([step[v] for step in seen]) + encoder.out.bias for v in range(5)]


@pytest.mark.parametrize(("layers", "identities"), [(0, 0), (2, 0), (2, 5)])
@torch.no_grad()
def test_the_encoder_node_by_node(layers: int, identities: int) -> None:
    torch.manual_seed(0)
    encoder, x = Encoder(3, 6, 4, layers, identities), torch.randn(5, 3)
    assert torch.allclose(encoder(x[None], MATRIX[None])[0], torch.stack(encoded(encoder, x)), atol=1e-6)


def layer_by_layer(h: Tensor, adjacency: Linked, scale: Tensor, layers: nn.ModuleList) -> list[Tensor]:
    """The same, for automatic differentiation: nothing is written in place, no gradient by hand."""
    seen = [h]
    for layer in layers:
        assert isinstance(layer, MessagePassing)
        own = torch.addmm(layer.own.bias, seen[-1].flatten(0, 1), layer.own.weight.T)
        message = ((adjacency @ seen[-1]) / scale).flatten(0, 1)
        seen.append(torch.relu(own + message @ layer.neighbours.weight.T).unflatten(0, h.shape[:2]))
    return seen


@pytest.mark.parametrize("kind", ["matrices", "lists of neighbours", "lists of edges"])
@pytest.mark.parametrize(("width", "identities"), [(6, False), (14, True)])
def test_outputs_and_gradients_of_layers_are_those_of_automatic_differentiation(
    kind: str, width: int, identities: bool
) -> None:
    """To the last bit: stored results depend on it. What a network reads has a gradient if it has node identities."""
    graphs = GraphBatch.of([nx.gnp_random_graph(20 + seed, 0.2, seed=seed) for seed in range(12)])
    kinds: dict[str, Linked] = {
        "matrices": graphs.adjacency.float(),
        "lists of neighbours": NeighbourLists(graphs.adjacency),
        "lists of edges": EdgeBatch.of(graphs),
    }
    adjacency = kinds[kind]
    torch.manual_seed(0)
    layers = nn.ModuleList([MessagePassing(width, 32), MessagePassing(32, 32), MessagePassing(32, 24)])
    scale = graphs.adjacency.sum(2, keepdim=True).float().clamp(min=1)
    wanted = torch.randn(len(graphs), graphs.n_nodes, width + 32 + 32 + 24)
    results = []
    ways: list[Callable[..., Sequence[Tensor]]] = [passed, layer_by_layer]
    for way in ways:
        h = torch.randn(len(graphs), graphs.n_nodes, width, generator=torch.Generator().manual_seed(1))
        h.requires_grad_(identities)
        seen = torch.cat(tuple(way(h, adjacency, scale, layers)), 2)
        learned = [*layers.parameters(), *([h] if identities else [])]
        results.append([seen, *torch.autograd.grad((seen * wanted).sum(), learned)])
    for by_hand, automatic in zip(*results, strict=True):
        assert automatic.abs().sum() > 0 and torch.equal(by_hand, automatic)


@torch.no_grad()
def test_the_generator_pair_by_pair() -> None:
    """logit A_g = κ (A + tanh(Σ_k s_k z_uk z_vk / √latent + b) - 1/2); edges and missing pairs differ in s, b, κ."""
    torch.manual_seed(1)
    generator, x = (
        Generator(Encoder(3, 6, 4, 2, 0), 4, edges=5.0, missing=20.0, removals=1.0, additions=2.0),
        torch.randn(5, 3),
    )
    signs = torch.tensor([0.1, -0.1, 0.1, -0.1])
    assert torch.allclose(generator.signs, torch.stack((signs, signs))), "before training"
    generator.signs.copy_(torch.randn(2, 4))
    logits, z = generator(x[None], MATRIX[None])[0], encoded(generator.encoder, x)
    for u in range(5):
        for v in range(5):
            present = GRAPH.has_edge(u, v)
            residual = sum(float(s * a * b) for s, a, b in zip(generator.signs[int(present)], z[u], z[v], strict=True))
            residual = math.tanh(residual / math.sqrt(4) + float(generator.bias[int(present)]))
            sharpness = math.log(10 * (5 if present else 20)) / 1.5
            assert float(logits[u, v]) == pytest.approx(sharpness * (present + residual - 0.5), abs=1e-5)


@pytest.mark.parametrize(("removals", "additions"), [(1.0, 2.0), (3.0, 0.5), (40.0, 1.0)])
@torch.no_grad()
def test_a_start_makes_so_many_removals_and_additions_but_never_more_than_half(
    removals: float, additions: float
) -> None:
    generator = Generator(Encoder(3, 6, 4, 2, 0), 4, 30.0, 400.0, removals, additions)
    p = torch.sigmoid(generator.uniform(torch.tensor([[[0.0, 1.0], [1.0, 0.0]]])))[0]
    assert 30 * (1 - float(p[0, 1])) == pytest.approx(min(removals, 15), rel=1e-3)
    assert 400 * float(p[0, 0]) == pytest.approx(additions, rel=1e-3)


@torch.no_grad()
def test_a_start_stays_where_tanh_can_be_turned_back() -> None:
    """A residual beyond ±.95 would never move again: fewer edits are asked for than the start can make."""
    generator = Generator(Encoder(3, 6, 4, 2, 0), 4, 30.0, 400.0, 1e-9, 1e-9)
    assert torch.tanh(generator.bias).tolist() == pytest.approx([-0.95, 0.95])
    assert Generator(Encoder(3, 6, 4, 2, 0), 4, 0.0, 1.0, 1.0, 1.0).pairs == (2.0, 2.0), "no logarithm of nothing"


@pytest.mark.parametrize(("layers", "identities"), [(0, 0), (2, 0), (2, 5)])
@torch.no_grad()
def test_the_discriminator_node_by_node(layers: int, identities: int) -> None:
    torch.manual_seed(2)
    discriminator = Discriminator(6, layers, degree=1.6, n_nodes=9, identities=identities)
    own = []
    for v in range(5):
        degree = GRAPH.degree[v]
        h = torch.tensor([1.0, degree / 1.6, *(math.exp(-((degree - i) ** 2)) for i in range(4))])
        own.append(h if discriminator.identity is None else torch.cat((h, discriminator.identity.weight[v])))
    seen, h_of = [own], own
    for layer in discriminator.layers:
        assert isinstance(layer, MessagePassing)
        h_of = passed_on(layer, h_of, [1.6] * 5)
        seen.append(h_of)
    counted = [0, 1, 3, 4]  # node 2 is padding
    pooled = torch.cat([sum((step[v] for v in counted), torch.zeros_like(step[0])) / 3 for step in seen])
    mask = torch.tensor([[True, True, False, True, True]])
    assert float(discriminator(MATRIX[None], mask)) == pytest.approx(float(discriminator.head(pooled)), abs=1e-5)


def test_networks_are_built_for_the_mean_graph_and_by_their_seed() -> None:
    graphs = GraphBatch.of([nx.cycle_graph(6), nx.path_graph(4), nx.empty_graph(3)])
    settings = RSGGCE.tiny()._settings()
    torch.manual_seed(7)
    state = torch.get_rng_state()
    one, same, other = (build_generator(graphs, 3, settings, seed) for seed in (1, 1, 2))
    assert one.pairs == pytest.approx(((9 + 3 + 3) / 3, (6 + 3 + 0) / 3)), "missing pairs, edges"
    discriminators = [build_discriminator(graphs, settings, seed) for seed in (1, 1, 2)]
    assert float(discriminators[0].degree) == pytest.approx(2 * 9 / 13) and float(discriminators[0].n_nodes) == 6
    assert float(build_discriminator(GraphBatch.of([nx.empty_graph(4)]), settings, 0).degree) == 1
    for a, b, c in ((one, same, other), discriminators):
        assert torch.equal(nn.utils.parameters_to_vector(a.parameters()), nn.utils.parameters_to_vector(b.parameters()))
        assert not torch.equal(
            nn.utils.parameters_to_vector(a.parameters()), nn.utils.parameters_to_vector(c.parameters())
        )
    assert torch.equal(torch.get_rng_state(), state), "nobody else's random numbers are used up"
    assert one.encoder.identity is None and discriminators[0].identity is None
    with_identities = RSGGCE(**{**vars(RSGGCE.tiny()), "identities": True})._settings()
    known = build_generator(graphs, 3, with_identities, 1).encoder.identity
    assert known is not None and known.num_embeddings == 6
    known = build_discriminator(graphs, with_identities, 1).identity
    assert known is not None and known.num_embeddings == 6


# -- The course of training --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epoch", "share"), [(-7, 0.05), (0, 0.05), (1, 0.05), (10, 0.5), (20, 1), (50, 1), (75, 0.5), (99, 0.05)]
)
def test_the_rate_rises_over_a_fifth_and_falls_over_the_second_half(epoch: int, share: float) -> None:
    own = training(epochs=100, generator_lr=0.02, discriminator_lr=0.007)
    own._set_rate(epoch)
    assert own.g_optimiser.lr == pytest.approx(0.02 * share)
    assert own.d_optimiser.lr == 0.007


@pytest.mark.parametrize(
    ("flip_rate", "removals", "starts"),
    [(0.0, 1.0, [2.0, 4.0]), (0.009, 1.0, [2.0, 4.0]), (0.011, 1.0, []), (0.0, 3.0, [6.0]), (0.0, 4.0, [8.0])],
)
def test_the_warm_up_doubles_removals_while_hardly_anything_flips(
    flip_rate: float, removals: float, starts: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two windows of ten steps; never more removals than there are edges, eight on average here."""
    own = training(warmup=25, removals=removals)
    own.generator.pairs = own.averaged.pairs = (20.0, 8.0)
    epochs, given = [], []

    def step(epoch: int) -> dict[str, float]:
        epochs.append(epoch)
        return {"flip_rate": flip_rate}

    monkeypatch.setattr(own, "step", step)
    for generator in (own.generator, own.averaged):
        monkeypatch.setattr(generator, "start", lambda *edits: given.append(edits))
    own.warm_up()
    assert epochs == list(range(-25, 0))
    assert given == [(start, own.settings.additions) for start in starts for _ in range(2)]


def test_checks_come_every_25_epochs_of_the_second_half_and_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    own = training(epochs=110)
    checked: list[int] = []
    done: list[int] = []

    def step(epoch: int) -> dict[str, float]:
        done.append(epoch)
        return {"edits": 1.0, "flip_rate": 0.5}

    def quality() -> float:
        checked.append(len(done))
        return 0.5

    monkeypatch.setattr(own, "warm_up", lambda: None)
    monkeypatch.setattr(own, "step", step)
    monkeypatch.setattr(own, "_quality", quality)
    trained = own.run()
    assert checked == [75, 100, 110] and done == list(range(110))
    assert trained.history == [{"class": 1, "epoch": epoch, "edits": 1.0, "flip_rate": 0.5} for epoch in range(110)]


# -- One step ----------------------------------------------------------------------------------------------


def graphs_of(adjacency: Tensor) -> list[nx.Graph]:
    return [nx.from_numpy_array(matrix.numpy()) for matrix in adjacency]


class Watched(nn.Module):
    """Stands in for 𝔻: its logit is a weight times the number of edges; what it was shown is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(0.1))
        self.shown: list[Tensor] = []

    def forward(self, adjacency: Tensor, node_mask: Tensor) -> Tensor:
        self.shown.append(adjacency.clone())
        assert adjacency.shape[:2] == node_mask.shape
        return self.weight * adjacency.sum((1, 2)) / 2


def watched_step(epoch: int = 0) -> tuple[module.ClassTraining, Watched, dict[str, float]]:
    own = training()
    watched = own.discriminator = Watched()  # type: ignore[assignment]
    own.d_optimiser = torch.optim.Adam(watched.parameters(), lr=0.01)  # type: ignore[assignment]
    return own, watched, own.step(epoch)


def test_the_discriminators_targets_are_one_a_half_and_nothing() -> None:
    """Real graphs, then generated ones, then widened ones; the class to leave is the cyclic one."""
    own, watched, curves = watched_step()
    shown, batch = watched.shown[0], own.settings.batch
    assert len(shown) == 4 * batch, "as many real graphs as generated ones, of which half are widened"
    real = {matrix.numpy().tobytes() for matrix in own.data.real.adjacency}
    losses = []
    for i, graph in enumerate(graphs_of(shown)):
        if i < 2 * batch:
            assert shown[i].to(torch.uint8).numpy().tobytes() in real
            target = 1.0
        else:
            target = 0.0 if has_cycle(graph) else 0.5
        p = 1 / (1 + math.exp(-0.1 * graph.number_of_edges()))
        losses.append(-target * math.log(p) - (1 - target) * math.log(1 - p))
    assert curves["discriminator_loss"] == pytest.approx(np.mean(losses), abs=1e-5)


def test_the_curves_of_a_step_describe_its_samples() -> None:
    own, watched, curves = watched_step()
    samples = graphs_of(watched.shown[1])  # shown to 𝔻 after its own step
    assert len(samples) == own.settings.samples * own.settings.batch
    weight = float(watched.weight.detach())
    assert weight != pytest.approx(0.1), "𝔻 has learnt"
    expected = np.mean([math.log1p(math.exp(-weight * graph.number_of_edges())) for graph in samples])
    assert curves["generator_loss"] == pytest.approx(expected, abs=1e-5)
    assert curves["flip_rate"] == pytest.approx(np.mean([not has_cycle(graph) for graph in samples]))


def test_only_the_discriminator_learns_in_the_warm_up() -> None:
    for epoch, learns in ((-1, False), (0, True)):
        own = training()
        before = nn.utils.parameters_to_vector(own.generator.parameters()).clone()
        own._set_rate(epoch)
        own.step(epoch)
        assert torch.equal(nn.utils.parameters_to_vector(own.generator.parameters()), before) != learns


@pytest.mark.parametrize(("epoch", "share"), [(0, 0.0), (5, 0.5), (10, 1.0), (19, 1.0)])
def test_the_price_of_an_edit_rises_over_the_first_half(
    epoch: int, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewards = []
    for price in (0.0, 0.4):
        own = training(minimality=price, epochs=20)
        seen: list[tuple[PairBatch, Tensor, Tensor]] = []
        monkeypatch.setattr(own, "_generator_step", lambda *given, seen=seen: seen.append(given))
        own.step(epoch)
        rewards.append(seen[0])
    (pairs, sampled, free), (_, _, priced) = rewards
    edits = ((sampled != pairs.is_edge) & pairs.is_pair).sum(2)
    assert int(edits.sum()) and torch.allclose(free - priced, 0.4 * share * edits, atol=1e-6)


def test_old_gradients_are_forgotten() -> None:
    """Two trainings, one of which starts with gradients from nowhere: the same weights after a step."""
    weights = []
    for poison in (0.0, 50.0):
        own = training()
        for network in (own.generator, own.discriminator):
            for parameter in network.parameters():
                parameter.grad = torch.full_like(parameter, poison)
        own._set_rate(10)
        own.step(10)
        weights.append([nn.utils.parameters_to_vector(n.parameters()) for n in (own.generator, own.discriminator)])
    for a, b in zip(*weights, strict=True):
        assert torch.equal(a, b)


def test_gradients_are_clipped_and_the_kept_generator_follows_slowly() -> None:
    own = training()
    before = [parameter.detach().clone() for parameter in own.averaged.parameters()]
    pairs = own.own.pairs(own.generator, torch.arange(4), own.rng)
    steep = PairBatch(1000 * pairs.logits, pairs.is_edge, pairs.is_pair, pairs.u, pairs.v)
    sampled = torch.stack((pairs.is_edge, 1 - pairs.is_edge))
    own._generator_step(steep, sampled, torch.tensor([[1.0] * 4, [0.0] * 4]))
    gradient = torch.cat([p.grad.flatten() for p in own.generator.parameters() if p.grad is not None])
    assert float(gradient.norm()) == pytest.approx(1, abs=1e-4)
    for kept, old, new in zip(own.averaged.parameters(), before, own.generator.parameters(), strict=True):
        assert torch.allclose(kept, 0.98 * old + 0.02 * new, atol=1e-7)


def test_rewards_that_hardly_differ_are_not_blown_up() -> None:
    """The spread that advantages are divided by is at least .001; the baseline is the mean of the *other* samples."""
    logits = torch.zeros(1, 1, requires_grad=True)
    every = torch.ones(1, 1)
    pairs = PairBatch(logits, every, every.bool(), torch.zeros(1), torch.zeros(1))
    sampled, reward = torch.tensor([1.0, 1, 0]).reshape(3, 1, 1), torch.tensor([[3e-4], [0.0], [0.0]])
    training()._generator_step(pairs, sampled, reward)
    advantage = [3e-4 / 1e-3, -1.5e-4 / 1e-3, -1.5e-4 / 1e-3]
    expected = -sum(a * (outcome - 0.5) for a, outcome in zip(advantage, (1, 1, 0), strict=True)) / 3
    assert logits.grad is not None and float(logits.grad) == pytest.approx(expected, rel=1e-4)


def test_rewards_that_are_all_alike_move_nothing() -> None:
    logits = torch.zeros(2, 3, requires_grad=True)
    every = torch.ones(2, 3)
    pairs = PairBatch(logits, every, every.bool(), torch.zeros(3), torch.zeros(3))
    training()._generator_step(pairs, torch.eye(3)[:, None].expand(3, 2, 3), torch.full((3, 2), 0.7))
    assert logits.grad is not None and not logits.grad.any()


def test_widened_samples_have_logits_scaled_by_a_uniform_number() -> None:
    """Of logit 2 the mean probability is ∫ σ(2s) ds = (log(1 + e²) - log 2) / 2 = .717, a plain sample's is .881."""
    own = training()
    rows = torch.zeros(4000, dtype=torch.long)
    pairs = own.own.pairs(own.generator, rows, own.rng)
    widened = own._exaggerated(torch.full_like(pairs.logits.detach(), 2.0), pairs, rows)
    assert isinstance(widened, Tensor)
    shares = widened[:, pairs.u, pairs.v].float().mean(1)
    assert float(shares.mean()) == pytest.approx((math.log1p(math.exp(2)) - math.log(2)) / 2, abs=0.01)
    within = math.sqrt(0.2 / len(pairs.u))  # what one common factor per graph adds to this is the factor's spread
    assert float(shares.std()) > 1.1 * within


def test_signs_of_collapse_by_loops() -> None:
    rng = torch.Generator().manual_seed(0)
    sampled = (torch.rand(4, 2, 5, generator=rng) < 0.5).float()
    p = torch.rand(2, 5, generator=rng)
    is_edge = torch.tensor([[1.0, 1, 1, 0, 0], [1, 1, 0, 0, 1]])
    is_pair = torch.tensor([[True] * 5, [True, True, True, True, False]])
    curves = module._collapse_curves(sampled, p, PairBatch(p, is_edge, is_pair, torch.zeros(5), torch.zeros(5)))
    differ = [
        np.mean([float((sampled[s, b] != sampled[t, b]).sum()) for s in range(4) for t in range(4)]) for b in range(2)
    ]
    assert curves["diversity"] == pytest.approx(np.mean(differ))
    removals = [[1 - float(p[b, i]) for i in range(5) if is_edge[b, i] and is_pair[b, i]] for b in range(2)]
    assert curves["score_spread"] == pytest.approx(np.mean([np.std(row) for row in removals]), abs=1e-6)


def test_kinds_of_samples_are_graphs_of_the_class() -> None:
    """`_flips` asks about each generated graph: against NetworkX on graphs of its own."""
    own = training()
    graphs = gnp_graphs(12, sizes=(8,))
    adjacency = torch.stack([torch.from_numpy(nx.to_numpy_array(graph)).to(torch.uint8) for graph in graphs])
    flips = own._flips(adjacency, torch.zeros(12, dtype=torch.long))
    assert flips.tolist() == [float(not has_cycle(graph)) for graph in graphs]
