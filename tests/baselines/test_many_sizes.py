"""CLEAR, G-CounteRGAN and DCE on graphs of different sizes with node labels and three classes, as real data have."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines.clear import CLEAR
from rsgg.baselines.gcountergan import ClassData, GCounteRGAN, Training
from rsgg.baselines.search import DCE
from rsgg.compose import Minimised
from rsgg.contract import check_explainer
from rsgg.data.dataset import Dataset
from rsgg.edits import plain_labels
from rsgg.explainer import Explainer
from rsgg.graph import Graph, GraphBatch
from rsgg.metrics import evaluate
from rsgg.oracles import CountingOracle, Oracle
from rsgg.task import Problem


class BusiestColour(Oracle):
    """Three classes: which colour's nodes have the most neighbours. Per node, so that padding is no isolated node."""

    name = "busiest-colour"
    n_classes = 3

    def predict(self, graphs: GraphBatch) -> Tensor:
        return self._scores(graphs, graphs.adjacency.float()).argmax(1)

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        assert not soft.detach()[~graphs.node_mask].any(), "rows of padding are not shown"
        return (3 * self._scores(graphs, soft)).softmax(1)

    @staticmethod
    def _scores(graphs: GraphBatch, weight: Tensor) -> Tensor:
        assert graphs.features is not None
        return torch.einsum("bn,bnc->bc", weight.sum(2), graphs.features) / graphs.sizes[:, None]


def coloured(count: int, sizes: tuple[int, ...] = (5, 7, 9), seed: int = 0) -> GraphBatch:
    rng = np.random.default_rng(seed)
    graphs = []
    for i in range(count):
        n = sizes[i % len(sizes)]
        graph = nx.gnp_random_graph(n, 0.35, seed=1000 * seed + i)
        graphs.append(Graph(nx.to_numpy_array(graph), np.eye(3)[rng.integers(0, 3, n)], name=f"{seed}-{i}"))
    return GraphBatch.of(graphs)


TRAIN, TEST = coloured(60), coloured(12, seed=1)


def quick_gan() -> GCounteRGAN:
    return GCounteRGAN(
        iterations=20, discriminator_steps=1, batch_ratio=0.5, channels=4, rank=8, generator_lr=5e-3, sparsity=0.01
    )


@pytest.fixture(scope="module", params=[CLEAR(epochs=150, lr=1e-2, classifier_batch=16), quick_gan(), DCE()])
def fitted(request: pytest.FixtureRequest) -> Explainer:
    explainer: Explainer = request.param
    return explainer.fit(TRAIN, BusiestColour())


def shown(results: list) -> list:  # type: ignore[type-arg]
    return [(r.returned.adjacency.tolist(), r.reason, r.calls) for r in results]


def test_all_sizes_are_explained_and_some_are_found(fitted: Explainer) -> None:
    results = fitted.explain(TEST, BusiestColour())
    for graph, result in zip(TEST, results, strict=True):
        assert result.found or result.reason
        if not result.node_edits:
            n = graph.n_nodes
            assert result.returned.adjacency.shape == (n, n)
            assert all(u < v < n for u, v in result.edits), "no edit touches padding"
            assert result.returned.features is not None and graph.features is not None
            assert np.array_equal(result.returned.features, graph.features)
    assert {r.input.n_nodes for r in results if r.found} == {5, 7, 9}


def test_padding_changes_nothing(fitted: Explainer) -> None:
    """A graph alone, among smaller ones, and in a batch with more padding than any training graph has nodes."""
    in_batch = shown(fitted.explain(TEST, BusiestColour(), k=2))
    for i in (0, 1, 2):
        alone = fitted.explain(GraphBatch.of([TEST[i]]), BusiestColour(), k=2)
        assert shown(alone) == in_batch[2 * i : 2 * i + 2]
    assert shown(fitted.explain(TEST.resized(14), BusiestColour(), k=2)) == in_batch
    again = type(fitted)(**fitted.hyperparameters()).fit(TRAIN.resized(17), BusiestColour())
    assert shown(again.explain(TEST, BusiestColour(), k=2)) == in_batch, "nor does padding of the training graphs"


def test_what_was_saved_explains_as_before(fitted: Explainer, tmp_path: Path) -> None:
    loaded = type(fitted).load(fitted.save(tmp_path / "fitted"))
    assert shown(loaded.explain(TEST, BusiestColour())) == shown(fitted.explain(TEST, BusiestColour()))


def test_made_minimal_everything_that_is_left_changes_the_class(fitted: Explainer) -> None:
    base = evaluate(fitted.explain(TEST, BusiestColour()), BusiestColour(), [0] * 12)
    results = Minimised(base=fitted).explain(TEST, BusiestColour())
    rows = evaluate(results, BusiestColour(), [0] * 12)
    valid = base["found"] & (base["predicted"] != base["predicted_cf"])
    assert (rows["found"] == valid).all() and valid.sum() > 3
    assert (rows["predicted"] != rows["predicted_cf"])[valid].all()
    assert (rows["ged"] <= base["ged"])[valid].all() and rows["ged"][valid].sum() < base["ged"][valid].sum()


@pytest.mark.parametrize("explainer", [CLEAR, GCounteRGAN, DCE])
def test_the_contract_holds_for_graphs_of_many_sizes_with_labels(explainer: type[Explainer]) -> None:
    dataset = Dataset("coloured", TRAIN, BusiestColour().predict(TRAIN))
    lines = check_explainer(explainer, Problem("coloured", dataset, BusiestColour()))
    assert any(line.startswith("sizes may differ: Graphs of different sizes are explained") for line in lines)


# -- CLEAR and G-CounteRGAN: networks of a fixed size ------------------------------------------------------


@pytest.mark.parametrize("explainer", [CLEAR.tiny(), CLEAR(epochs=20, draws=3), GCounteRGAN.tiny()])
def test_a_graph_larger_than_every_training_graph_is_a_failure(explainer: Explainer) -> None:
    fitted = explainer.fit(TRAIN, BusiestColour())
    mixed = GraphBatch.of([*coloured(2, (12,), seed=5), *TEST[:3]])
    results = fitted.explain(mixed, CountingOracle(BusiestColour(), budget=2), k=2)
    for r in results[:4]:
        assert not r.offered and r.reason == "the graph has 12 nodes, and no training graph had more than 9"
    assert [r.calls for r in results[:4]] == [1, 0, 1, 0]
    others = fitted.explain(TEST[:3], CountingOracle(BusiestColour(), budget=2), k=2)
    assert shown(results[4:]) == shown(others), "the others are explained as without it, and pay for themselves"
    (only,) = fitted.explain(mixed[:1], BusiestColour())
    assert not only.offered


@pytest.mark.parametrize("explainer", [CLEAR.tiny(), GCounteRGAN.tiny()])
def test_edge_probabilities_are_zero_on_padding(explainer: Explainer) -> None:
    fitted = explainer.fit(TRAIN, BusiestColour())
    assert isinstance(fitted, CLEAR | GCounteRGAN)
    classes = BusiestColour().predict(TEST)
    soft = fitted.edge_probabilities(TEST, classes)
    wider = fitted.edge_probabilities(TEST.resized(13), classes)
    assert soft.shape == (12, 9, 9) and wider.shape == (12, 13, 13)
    for i, n in enumerate(TEST.sizes.tolist()):
        assert not soft[i, n:].any() and not soft[i, :, n:].any() and soft[i, :n, :n].any()
        assert torch.equal(wider[i, :9, :9], soft[i]) and not wider[i, 9:].any()
        alone = fitted.edge_probabilities(GraphBatch.of([TEST[i]]), classes[i : i + 1])
        assert torch.allclose(alone[0], soft[i, :n, :n], atol=1e-6)


def gan_of_class_0() -> Training:
    classes = BusiestColour().predict(TRAIN)
    own, others = TRAIN.select(classes == 0), TRAIN.select(classes != 0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        oracle = CountingOracle(BusiestColour())
        return Training(ClassData(0, own, others, torch.ones(len(others)), oracle), GCounteRGAN.tiny())


def test_the_loss_of_the_gan_counts_pairs_that_are_there() -> None:
    """Each term from the graph without its padding, but for the discriminator, which sees an image of a fixed size."""
    step = gan_of_class_0()
    step.generator.dropout.p = 0.0
    for i in range(4):
        loss = step.generator_loss(torch.tensor([i])).item()
        a, n = step.adjacency[i], int(step.data.graphs.sizes[i])
        image = step.generator.image(a[None])[0].detach()
        r = (image + image.T)[:n, :n] / 2 * (1 - torch.eye(n))
        alone = GraphBatch.of([step.data.graphs[i]])
        stays = BusiestColour().relaxed_graphs(alone, (a[:n, :n] + r).clamp(0, 1)[None])[0, 0]
        changed = a.clone()
        changed[:n, :n] += r
        fools = -torch.nn.functional.logsigmoid(step.discriminator.eval()(changed[None]))[0]
        expected = fools + step.recipe.sparsity * r.abs().sum() - torch.log(1 - stays + 1e-7)
        assert loss == pytest.approx(expected.item(), rel=1e-4)


def test_the_discriminator_sees_zeros_on_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    step = gan_of_class_0()
    seen: list[Tensor] = []
    step.discriminator.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0].detach()))
    batches = [torch.arange(4), torch.arange(5)]  # of real graphs, of graphs to be changed
    monkeypatch.setattr(step, "_batch", lambda count: batches.pop(0))
    step._discriminator_step()
    masks = torch.cat((step.data.real.node_mask[:4], step.nodes[:5]))
    assert not seen[0][~masks].any() and not seen[0].transpose(1, 2)[~masks].any()
    assert not torch.equal(seen[0][4:], step.adjacency[:5])


def test_gradients_reach_every_parameter_of_the_gan() -> None:
    step = gan_of_class_0()
    step.generator_loss(torch.arange(len(step.adjacency))).backward()
    for name, weight in step.generator.named_parameters():
        assert weight.grad is not None and weight.grad.abs().sum() > 0, name
    before = [weight.detach().clone() for weight in step.discriminator.parameters()]
    step.d_optimiser.zero_grad()
    step._discriminator_step()
    assert all(not torch.equal(a, b) for a, b in zip(before, step.discriminator.parameters(), strict=True))


def test_clear_reads_the_features_of_the_graphs_beside_structural_ones() -> None:
    fitted = CLEAR.tiny().fit(TRAIN, BusiestColour())
    assert fitted.network_.n_features == 9 + 3 and fitted.network_.n_nodes == 9
    raw = np.concatenate([TRAIN.encoding("structural")[i, :n].numpy() for i, n in enumerate(TRAIN.sizes.tolist())])
    assert np.allclose(fitted.mean_, raw.mean(0), atol=1e-5) and np.allclose(fitted.std_, raw.std(0, ddof=1), atol=1e-5)
    read = fitted._given(TEST, BusiestColour().predict(TEST))
    assert TEST.features is not None and torch.equal(read.features[:, :, 9:], TEST.features)
    assert not read.features[~TEST.node_mask].any() and read.real is not None


def test_clear_wants_every_other_class_of_some_graph() -> None:
    fitted = CLEAR.tiny().fit(TRAIN, BusiestColour())
    classes = BusiestColour().predict(TRAIN)
    asked = fitted._given(TRAIN, classes).wanted
    assert {(int(c), int(w)) for c, w in zip(classes, asked, strict=True)} == {
        (a, b) for a in range(3) for b in range(3) if a != b
    }


# -- DCE: nodes are matched --------------------------------------------------------------------------------


def as_networkx(graph: Graph) -> nx.Graph:
    plain = nx.from_numpy_array(graph.adjacency)
    nx.set_node_attributes(plain, dict(enumerate(plain_labels(graph).tolist())), "label")
    return plain


def test_dce_returns_a_training_graph_of_another_class() -> None:
    """Up to the numbers of its nodes; its distance is no less than the exact one, and seldom much more."""
    train, test = coloured(12, (4, 5, 6)), coloured(6, (4, 5), seed=1)
    results = DCE().fit(train, BusiestColour()).explain(test, BusiestColour(), k=2)
    classes, own = BusiestColour().predict(train).tolist(), BusiestColour().predict(test).tolist()
    rows, excess = evaluate(results, BusiestColour(), [0] * 6), []
    for i, result in enumerate(results):
        assert result.found and result.calls == (2 if result.candidate == 0 else 1)
        others = [graph for graph, c in zip(train, classes, strict=True) if c != own[result.instance]]
        same = [
            nx.is_isomorphic(
                as_networkx(result.returned), as_networkx(other), node_match=lambda a, b: a["label"] == b["label"]
            )
            for other in others
        ]
        assert any(same)
        other = others[same.index(True)]
        exact = nx.graph_edit_distance(
            as_networkx(result.input), as_networkx(other), node_match=lambda a, b: a["label"] == b["label"]
        )
        excess.append(rows["ged"][i] - exact)
    assert min(excess) >= 0 and np.mean(excess) < 1
    assert (rows["ged"][1::2].to_numpy() >= rows["ged"][::2].to_numpy()).all()


def test_dce_takes_the_training_graph_that_costs_least() -> None:
    """One graph of each class: of the two others the nearer one; of three nodes none can be made of two."""
    train = GraphBatch.of(
        [
            Graph(nx.to_numpy_array(nx.star_graph(3)), np.eye(3)[[0, 1, 1, 2]]),
            Graph(nx.to_numpy_array(nx.star_graph(3)), np.eye(3)[[1, 0, 0, 2]]),
            Graph(nx.to_numpy_array(nx.cycle_graph(5)), np.eye(3)[[2, 2, 2, 2, 0]]),
        ]
    )
    explainer = DCE().fit(train, BusiestColour())
    near = Graph(nx.to_numpy_array(nx.star_graph(3)), np.eye(3)[[0, 1, 0, 2]])
    small = Graph(nx.to_numpy_array(nx.path_graph(2)), np.eye(3)[[0, 1]])
    first, second, third, *of_small = explainer.explain([near, small], BusiestColour(), k=3)
    assert [one.kind for one in first.node_edits] == ["relabel"] * 2 and not first.edits
    assert second.returned.n_nodes == 5 or not second.found
    assert not third.found and third.reason.startswith("only ")
    assert {r.reason for r in of_small if not r.found} == {
        "only 1 training graphs of another class can be made of it by edits"
    }


def test_dce_by_default_matches_nodes_where_sizes_differ() -> None:
    one_size = coloured(30, (6,))
    for graphs, nodes, numbered in (
        (one_size, "auto", True), (TRAIN, "auto", False), (one_size, "matched", False), (TRAIN, "numbered", True)
    ):  # fmt: skip
        assert DCE(nodes=nodes).fit(graphs, BusiestColour()).numbered_ is numbered
    by_number = DCE().fit(one_size, BusiestColour()).explain(one_size, BusiestColour())
    matched = DCE(nodes="matched").fit(one_size, BusiestColour()).explain(one_size, BusiestColour())
    assert not any(r.node_edits for r in by_number) and all(r.found for r in matched)
    assert sum(r.found for r in by_number) < 15, "with the labels of the input the nearest graph is another one"


def test_dce_without_labels_keeps_the_number_of_nodes() -> None:
    class ManyEdges(Oracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            return (graphs.n_edges > graphs.sizes).long()

    graphs = [make(n) for n in (5, 6, 7) for make in (nx.path_graph, nx.complete_graph)]
    results = DCE().fit(graphs, ManyEdges()).explain(graphs, ManyEdges())
    assert all(r.found and not r.node_edits and r.returned.n_nodes == r.input.n_nodes for r in results)
    (largest,) = DCE().fit(graphs, ManyEdges()).explain([nx.complete_graph(9)], ManyEdges())
    assert largest.reason == "only 0 training graphs of another class can be made of it by edits"
