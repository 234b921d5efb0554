"""Networks agree with PyG's layers, frozen oracles with the published predictions, trained ones with themselves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, global_add_pool, global_max_pool, global_mean_pool

from benchmarks.results.files import PAPER
from rsgg.contract import check_oracle, check_task
from rsgg.data import TU, Dataset, Motifs
from rsgg.data.files import checksums
from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import CountingOracle, FrozenGCN, TrainedGNN, TreeCyclesOracle, gnn
from rsgg.oracles.gnn import CLASSES_SWAPPED, FROZEN_FOR, balanced_accuracy
from rsgg.oracles.networks import (
    GAT,
    GCN,
    GIN,
    HEADS,
    LAYERS,
    SAGE,
    GraphClassifier,
    ListedNeighbours,
    Neighbourhood,
    SoftMatrices,
    WeightedNeighbours,
)
from rsgg.oracles.pyg import Disjoint
from rsgg.task import Task
from tests.graphs import DATA_DIR, gnp_graphs, needs_public_data

WIDTH, FEATURES = 8, 3
every_architecture = pytest.mark.parametrize("architecture", sorted(LAYERS))


@pytest.fixture(scope="module")
def graphs() -> GraphBatch:
    """Random graphs of mixed sizes, some with nodes that have no neighbours, with random features."""
    rng = np.random.default_rng(0)
    plain = [*gnp_graphs(20, sizes=(1, 5, 9)), nx.empty_graph(4), nx.complete_graph(6)]
    return GraphBatch.of([Graph(nx.to_numpy_array(g), rng.normal(size=(len(g), FEATURES))) for g in plain])


def classifier(architecture: str, pooling: str = "max", n_features: int = FEATURES) -> GraphClassifier:
    """Random weights and running statistics."""
    torch.manual_seed(1)
    network = GraphClassifier(architecture, n_features, 3, width=WIDTH, pooling=pooling)
    for norm in network.bns:
        nn.init.normal_(norm.running_mean), nn.init.uniform_(norm.running_var, 0.5, 2)  # type: ignore[arg-type]
    return network.eval().requires_grad_(False)


def oracle(architecture: str) -> gnn.GNNOracle:
    ready = TrainedGNN(architecture, n_classes=3)
    ready.network = classifier(architecture)
    return ready


def flat(graphs: GraphBatch) -> Disjoint:
    """As PyG sees them."""
    return Disjoint.of_matrices(graphs.adjacency.float(), graphs.features, graphs.sizes, None, all_pairs=False)


# -- The layers are PyG's --------------------------------------------------------------------------------


def gcn_of_pyg(ours: GCN) -> nn.Module:
    theirs = GCNConv(FEATURES, WIDTH)
    theirs.load_state_dict({"lin.weight": ours.weight.T, "bias": ours.bias})
    return theirs


def gin_of_pyg(ours: GIN) -> nn.Module:
    return GINConv(ours.mlp)


def sage_of_pyg(ours: SAGE) -> nn.Module:
    theirs = SAGEConv(FEATURES, WIDTH)
    of, own = ours.of_neighbours, ours.own
    theirs.load_state_dict({"lin_l.weight": of.weight, "lin_l.bias": of.bias, "lin_r.weight": own.weight})
    return theirs


def gat_of_pyg(ours: GAT) -> nn.Module:
    theirs = GATConv(FEATURES, WIDTH // HEADS, HEADS)
    attention = {"att_src": ours.source[None], "att_dst": ours.target[None]}
    theirs.load_state_dict({"lin.weight": ours.linear.weight, "bias": ours.bias, **attention})
    return theirs


@pytest.mark.parametrize(
    ("layer", "of_pyg"), [(GCN, gcn_of_pyg), (GIN, gin_of_pyg), (SAGE, sage_of_pyg), (GAT, gat_of_pyg)]
)
def test_a_layer_computes_what_pyg_computes(
    layer: type[nn.Module], of_pyg: Callable[[nn.Module], nn.Module], graphs: GraphBatch
) -> None:
    torch.manual_seed(0)
    ours, asked = layer(FEATURES, WIDTH), flat(graphs)
    theirs = of_pyg(ours)(asked.x, asked.edge_index)
    assert graphs.features is not None
    listed = ours(asked.x, ListedNeighbours.of(graphs))
    soft = ours(graphs.features, SoftMatrices(graphs.adjacency.float(), graphs.sizes))
    assert torch.allclose(listed, theirs, atol=1e-5)
    assert torch.allclose(soft[graphs.node_mask], theirs, atol=1e-5)


@pytest.mark.parametrize(
    ("how", "pool"), [("max", global_max_pool), ("mean", global_mean_pool), ("sum", global_add_pool)]
)
def test_pooling_is_over_the_nodes_of_each_graph(how: str, pool: Callable[..., Tensor], graphs: GraphBatch) -> None:
    asked = flat(graphs)
    expected = pool(asked.x, asked.batch, asked.count)
    assert graphs.features is not None
    padded = graphs.features - 5.0 * ~graphs.node_mask[:, :, None]
    neighbourhoods: list[tuple[Neighbourhood, Tensor]] = [
        (ListedNeighbours.of(graphs), asked.x),
        (SoftMatrices(graphs.adjacency.float(), graphs.sizes), padded),
    ]
    for a, x in neighbourhoods:
        assert torch.allclose(a.pool(x, how), expected, atol=1e-5)


def test_lists_are_the_same_from_matrices_and_edges_and_can_be_cut(graphs: GraphBatch) -> None:
    one, other = ListedNeighbours.of(graphs), ListedNeighbours.of_lists(EdgeBatch.of(graphs))
    assert torch.equal(one.neighbours, other.neighbours) and torch.equal(one.degrees, other.degrees)
    index = np.array([21, 3, 3, 0, 20])
    part, nodes = one.select(index)
    again = ListedNeighbours.of(graphs.select(torch.from_numpy(index)))
    assert torch.equal(part.neighbours, again.neighbours) and torch.equal(part.starts, again.starts)
    assert torch.equal(flat(graphs).x[nodes], flat(graphs.select(torch.from_numpy(index))).x)


def test_gradients_of_listed_sums_are_right() -> None:
    graphs = GraphBatch.of(gnp_graphs(4, sizes=(4, 6)))
    listed = ListedNeighbours.of(graphs)
    h = torch.randn(int(graphs.sizes.sum()), 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(listed.sum, h)


# -- The oracle ------------------------------------------------------------------------------------------


@every_architecture
def test_oracles_keep_the_contract(architecture: str, graphs: GraphBatch) -> None:
    check_oracle(oracle(architecture), graphs)


@every_architecture
def test_missing_pairs_have_gradients_that_finite_differences_confirm(architecture: str, graphs: GraphBatch) -> None:
    asked = oracle(architecture)
    assert asked.network is not None
    asked.network.double()
    some = GraphBatch.of([graphs[5]])
    assert some.features is not None
    x = some.features.double()
    u, v = (some.pair_mask[0] & ~some.edge_mask[0]).nonzero()[0].tolist()

    def network(weight: float) -> Tensor:
        soft = some.adjacency.double().clone()
        soft[0, u, v] = soft[0, v, u] = weight
        return asked.network(x, SoftMatrices(soft, some.sizes)).softmax(1)[0, 0]  # type: ignore[misc]

    soft = some.adjacency.double().clone()
    soft[0, u, v] = soft[0, v, u] = 0.25  # inside the interval, where differences can be taken on both sides
    soft.requires_grad_()
    p = asked.network(x, SoftMatrices(soft, some.sizes)).softmax(1)[0, 0]
    (gradient,) = torch.autograd.grad(p, soft)
    slope = (network(0.25 + 1e-6) - network(0.25 - 1e-6)) / 2e-6
    assert float(gradient[0, u, v] + gradient[0, v, u]) == pytest.approx(float(slope), abs=1e-5)
    assert float(gradient[0, u, v]) == pytest.approx(float(gradient[0, v, u]))


@every_architecture
def test_padding_and_self_loops_change_nothing(architecture: str, graphs: GraphBatch) -> None:
    asked, more = oracle(architecture), graphs.n_nodes + 7
    wide = torch.zeros(len(graphs), more, more, dtype=torch.uint8)
    wide[:, : graphs.n_nodes, : graphs.n_nodes] = graphs.adjacency
    wide[:, 0, 0] = 1
    assert graphs.features is not None
    features = torch.full((len(graphs), more, FEATURES), 9.0)
    features[:, : graphs.n_nodes] = graphs.features
    padded = GraphBatch(wide, graphs.sizes, features, graphs.names)
    assert torch.equal(asked.predict(padded), asked.predict(graphs))
    one, other = asked.relaxed_graphs(padded, wide.float()), asked.relaxed_graphs(graphs, graphs.adjacency.float())
    assert torch.allclose(one, other, atol=1e-5)


def test_an_oracle_without_weights_or_with_other_features_says_so(graphs: GraphBatch) -> None:
    with pytest.raises(OracleError, match=r"trained in each fold.*in_fold"):
        TrainedGNN().predict(graphs)
    with pytest.raises(OracleError, match="weights of the published GCN for NCI1 are not loaded"):
        FrozenGCN("NCI1").predict(graphs)
    with pytest.raises(OracleError, match="reads 3 features per node and was given 1"):
        oracle("gcn").predict(GraphBatch.of([nx.path_graph(3)]))
    for wrong in (lambda: TrainedGNN("transformer"), lambda: FrozenGCN("MUTAG")):
        with pytest.raises(OracleError, match="There is no"):
            wrong()
    with pytest.raises(OracleError, match="labels up to 2"):
        TrainedGNN(n_classes=2).fitted(graphs, torch.arange(len(graphs)) % 3)


# -- Published ones --------------------------------------------------------------------------------------


@needs_public_data
@pytest.mark.parametrize(
    ("name", "count", "accuracy"),
    [("AIDS", 1837, 0.9935), ("Mutagenicity", 4308, 0.8691), ("NCI1", 3978, 0.8348), ("PROTEINS", 1113, 0.7790)],
)
def test_frozen_oracles_give_every_published_prediction(name: str, count: int, accuracy: float) -> None:
    """11 236 in all; graphs of similar size are asked about together, for there are some of 620 nodes."""
    spec = TU(name, rare=0 if name == "PROTEINS" else 50)
    graphs, _ = spec.without_rare_labels(spec.read())
    frozen, classes = FrozenGCN(name).loaded(), np.zeros(len(graphs), dtype=int)
    for part in np.array_split(np.argsort(graphs.sizes, kind="stable"), 40):
        chosen = np.isin(np.arange(len(graphs)), part)
        classes[chosen] = frozen.predict(graphs.select(chosen).batch()).numpy()
    with np.load(DATA_DIR / "oracles" / f"{name}_gcn.npz") as published:
        expected, kept = published["published_predictions"], published["kept_graphs"]
    assert len(graphs) == count and [int(each.split("/")[1]) for each in graphs.names] == kept.tolist()
    assert np.array_equal(classes, 1 - expected if name in CLASSES_SWAPPED else expected)
    assert (classes == graphs.labels).mean() == pytest.approx(accuracy, abs=5e-5)
    printed = pd.read_csv(PAPER / "gcfexplainer" / "table3.csv").set_index(["task", "metric"])["value"]
    parts = {"training": 0.8, "validation": 0.1, "testing": 0.1}  # which graphs are in them is not known
    weighted = sum(share * printed[f"{name.lower()}-gcn", f"accuracy ({part})"] for part, share in parts.items())
    assert weighted == pytest.approx(accuracy, abs=5e-4)


@needs_public_data
def test_a_frozen_oracle_computes_what_pyg_computes() -> None:
    data = TU("AIDS", rare=50, max_nodes=30).load()
    graphs = data.graphs[:50]
    with np.load(DATA_DIR / "oracles" / "AIDS_gcn.npz") as arrays:
        weights = {name: torch.from_numpy(arrays[name]) for name in arrays.files}
    asked = flat(graphs)
    h = asked.x
    for i in range(3):
        layer, norm = GCNConv(h.shape[1], 20), nn.BatchNorm1d(20).eval()
        layer.load_state_dict({"lin.weight": weights[f"convs.{i}.weight"].T, "bias": weights[f"convs.{i}.bias"]})
        norm.load_state_dict({name: weights[f"bns.{i}.{name}"] for name in norm.state_dict()})
        h = norm(layer(h, asked.edge_index)).relu()
    logits = global_max_pool(h, asked.batch) @ weights["fc.weight"].T + weights["fc.bias"]
    soft = FrozenGCN("AIDS").loaded().relaxed_graphs(graphs, graphs.adjacency.float())
    assert torch.allclose(soft, logits.softmax(1).flip(1), atol=1e-5)


@needs_public_data
def test_the_published_checkpoint_is_read_as_the_archive_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Made here from the archive: the real one is downloaded. Only tensors are read from it."""
    with np.load(DATA_DIR / "oracles" / "NCI1_gcn.npz") as arrays:
        parts = [name for name in arrays.files if name.split(".")[0] in ("convs", "bns", "fc")]
        state = {name: torch.from_numpy(arrays[name]) for name in parts}
    expected = FrozenGCN("NCI1").loaded().network
    monkeypatch.delenv("RSGG_DATA_DIR")
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path))
    (tmp_path / "oracles").mkdir()
    torch.save(state, tmp_path / "oracles" / "NCI1_gcn.pth")
    monkeypatch.setattr(gnn, "checksums", lambda _: {"NCI1_gcn.pth": ""})
    loaded = FrozenGCN("NCI1").loaded().network
    assert expected is not None and loaded is not None
    assert all(torch.equal(value, expected.state_dict()[name]) for name, value in loaded.state_dict().items())


def test_every_published_oracle_has_two_checksums() -> None:
    known = checksums("oracles")
    assert set(known) == {f"{name}_gcn.{suffix}" for name in FROZEN_FOR for suffix in ("npz", "pth")}


# -- Trained ones ----------------------------------------------------------------------------------------


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Short training and an empty cache."""
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(gnn, "STEPS", 60)
    monkeypatch.setattr(gnn, "CHECK_EVERY", 20)
    return tmp_path / "oracles"


def weights(trained: TrainedGNN) -> Tensor:
    assert trained.network is not None
    return torch.cat([value.flatten().double() for value in trained.network.state_dict().values()])


def few() -> Dataset:
    return Motifs("Triangle-House", n_base=4, n_graphs=60).load()


def test_training_is_deterministic_and_cached(quick: Path) -> None:
    data = few()
    before = torch.random.get_rng_state()
    first = TrainedGNN().fitted(data.graphs, data.labels)
    assert torch.equal(torch.random.get_rng_state(), before), "the global generator is left alone"
    (file,) = quick.iterdir()
    content = file.read_bytes()
    again = TrainedGNN().fitted(data.graphs, data.labels)
    file.unlink()
    anew = TrainedGNN().fitted(data.graphs, data.labels)
    assert torch.equal(weights(first), weights(again)) and torch.equal(weights(first), weights(anew))
    file.write_bytes(content[:-100])
    mended = TrainedGNN().fitted(data.graphs, data.labels)
    assert torch.equal(weights(first), weights(mended)) and file.read_bytes()[-70:] == content[-70:]
    assert balanced_accuracy(first.predict(data.graphs), data.labels) > 0.9


def test_weights_depend_on_labels_graphs_seed_copy_and_architecture(quick: Path) -> None:
    data = few()
    kinds = [
        TrainedGNN().fitted(data.graphs, data.labels),
        TrainedGNN().fitted(data.graphs, 1 - data.labels),
        TrainedGNN().fitted(data.graphs[:59], data.labels[:59]),
        TrainedGNN().fitted(data.graphs, data.labels, seed=1),
        TrainedGNN(copy=1).fitted(data.graphs, data.labels),
        TrainedGNN(copy=2).fitted(data.graphs, data.labels),
    ]
    assert len({float(weights(kind).sum()) for kind in kinds}) == len(kinds) == len(list(quick.iterdir()))
    others = [TrainedGNN(each).fitted(data.graphs, data.labels) for each in sorted(LAYERS)]
    assert len({kind.network.convs[0].__class__ for kind in others if kind.network}) == 4
    assert TrainedGNN(copy=2).parameters() == {"architecture": "gin", "n_classes": 2, "copy": 2}


def test_a_copy_sees_nine_tenths_of_the_graphs(quick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data, seen = few(), []
    monkeypatch.setattr(gnn, "_train", lambda network, graphs, *_: seen.append(graphs.names))
    for copy in (0, 1, 2):
        TrainedGNN(copy=copy).fitted(data.graphs, data.labels)
    assert [len(names) for names in seen] == [60, 54, 54] and seen[1] != seen[2]


def test_an_oracle_is_trained_outside_its_fold_only(quick: Path) -> None:
    task = Task("motifs", Motifs("Triangle-House", n_base=4, n_graphs=60), TrainedGNN(), max_train=20, max_test=5)
    problem = task.load()
    fold = problem.folds(3)[1]
    assert (len(fold.train), len(fold.test), len(fold.outside)) == (20, 5, 40)
    whole = problem.dataset.folds(3)[1]
    assert torch.equal(fold.outside, whole.train) and set(fold.test.tolist()) <= set(whole.test.tolist())
    expected = TrainedGNN().fitted(problem.graphs.select(whole.train), problem.labels[whole.train])
    own = problem.in_fold(fold).oracle
    assert isinstance(own, TrainedGNN) and torch.equal(weights(own), weights(expected))
    assert not torch.equal(weights(own), weights(problem.in_fold(problem.folds(3)[0]).oracle))  # type: ignore[arg-type]


def test_tasks_with_trained_oracles_keep_the_contract(quick: Path) -> None:
    check_task(Task("motifs", Motifs("Triangle-House", n_base=4, n_graphs=60), TrainedGNN(), max_train=20, max_test=5))


def test_accuracy_is_balanced_between_classes() -> None:
    labels = torch.tensor([0, 0, 0, 0, 2, 2])
    assert balanced_accuracy(torch.tensor([0, 0, 0, 1, 2, 0]), labels) == pytest.approx((3 / 4 + 1 / 2) / 2)


# -- embeddings ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pooling", ["mean", "sum", "max"])
@pytest.mark.parametrize("architecture", ["gcn", "gin", "gat", "sage"])
def test_lists_of_weighted_edges_are_read_as_soft_matrices_are(architecture: str, pooling: str) -> None:
    """The same logits and the same gradients, in graphs of different sizes, with weights 0 and 1 among others."""
    graphs = GraphBatch.of([nx.gnp_random_graph(n, 0.4, seed=n) for n in (5, 9, 7)])
    torch.manual_seed(0)
    network = GraphClassifier(architecture, 1, 3, width=8, pooling=pooling).eval()
    edges = EdgeBatch.of(graphs)
    weight = torch.rand(len(edges.u), generator=torch.Generator().manual_seed(1))
    weight[:3], weight[3:6] = 0, 1
    weight.requires_grad_()
    soft = weight.new_zeros(3, 9, 9).index_put((edges.graph, edges.u, edges.v), weight)
    whole = network(torch.ones(3, 9, 1), SoftMatrices(soft + soft.transpose(1, 2), graphs.sizes))
    listed = network(torch.ones(21, 1), WeightedNeighbours(edges, weight))
    assert torch.allclose(listed, whole, atol=1e-5)
    if pooling != "max":  # which shares the gradient of equal values otherwise
        direction = torch.randn(whole.shape, generator=torch.Generator().manual_seed(2))
        gradients = [torch.autograd.grad((out * direction).sum(), weight)[0] for out in (whole, listed)]
        assert torch.allclose(gradients[0], gradients[1], atol=1e-5)


def test_an_oracle_that_is_a_network_shows_what_lies_inside() -> None:
    """Embeddings of nodes, pooled, then the head, by hand: the class is that of predict."""
    oracle = TrainedGNN("gcn", 3)
    torch.manual_seed(0)
    oracle.network = GraphClassifier("gcn", 1, 3, width=8, pooling="mean").eval().requires_grad_(False)
    graphs = GraphBatch.of([nx.gnp_random_graph(n, 0.4, seed=n) for n in (5, 9, 7)])
    nodes, pooled = CountingOracle(oracle).embeddings(EdgeBatch.of(graphs))
    by_hand = torch.stack([part.mean(0) for part in nodes.split([5, 9, 7])])
    assert torch.allclose(pooled, by_hand, atol=1e-6)
    assert torch.equal(oracle.head(pooled).argmax(1), oracle.predict(graphs)) and oracle.why_no_embeddings() == ""
    check_oracle(oracle)


def test_embeddings_are_calls_and_others_have_none() -> None:
    counted = CountingOracle(TreeCyclesOracle(), 3)
    edges = EdgeBatch.of(GraphBatch.of([nx.path_graph(3)]))
    with pytest.raises(OracleError, match="'tree-cycles' does not show embeddings"):
        counted.embeddings(edges, owner=torch.tensor([0]))
    with pytest.raises(OracleError, match="A head was asked for"):
        counted.head(torch.zeros(1, 2))
    assert counted.calls_of(0) == 1
