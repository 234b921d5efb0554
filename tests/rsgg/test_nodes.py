"""Node classification: ego networks, recipes of the data sets, and an oracle that answers for the whole graph.

What the oracle says of an ego network is compared with a plain forward pass over the whole graph, by PyG's layer.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.nn import GCNConv

from rsgg.contract import check_oracle, check_task
from rsgg.data.nodes import (
    NUMBER,
    OUTSIDE,
    RECIPES,
    TARGET,
    TEST,
    TRAIN,
    GeneratedNodes,
    NodeDataset,
    NodeGraph,
    NodesFromFiles,
    ego_networks,
)
from rsgg.edges import EdgeBatch
from rsgg.errors import DataError, OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles.nodes import LAYERS, FrozenNodeGCN, NodeGCN
from rsgg.rsgg_ce.taught import TaughtRSGGCE
from rsgg.task import Task

FOLDER = Path(os.environ.get("RSGG_DATA_DIR", "")) / "node"
needs_files = pytest.mark.skipif(not FOLDER.is_dir(), reason="needs the folder node of RSGG_DATA_DIR")
QUICK = NodeGCN(epochs=250, starts=1)
SMALL = GeneratedNodes("tree-cycles-nodes", n_train=40, n_test=20)


@pytest.fixture(scope="module")
def trees() -> NodeDataset:
    return SMALL.load()


@pytest.fixture(scope="module")
def oracle(trees: NodeDataset) -> NodeGCN:
    return QUICK.prepared(trees)


def plain(oracle: NodeGCN, whole: NodeGraph, graph: nx.Graph) -> np.ndarray:
    """Logits of every node by PyG's GCNConv, of the whole graph with the edges of `graph`."""
    pairs = torch.tensor([(u, v) for a, b in graph.edges for u, v in ((a, b), (b, a))]).T.reshape(2, -1)
    h, outputs = torch.ones(whole.n_nodes, 10, dtype=torch.float64), []
    if whole.features is not None:
        h = torch.from_numpy(whole.features)
    for layer in range(1, LAYERS + 1):
        weight, bias = oracle.weights[f"gc{layer}.weight"], oracle.weights[f"gc{layer}.bias"]
        conv = GCNConv(*weight.shape).double()
        conv.lin.weight.data, conv.bias.data = weight.T.contiguous(), bias
        h = conv(h, pairs)
        h = h.relu() if layer < LAYERS else h
        outputs.append(h)
    logits = torch.cat(outputs, 1) @ oracle.weights["lin.weight"].T + oracle.weights["lin.bias"]
    answer: np.ndarray = logits.detach().numpy()
    return answer


def as_networkx(whole: NodeGraph) -> nx.Graph:
    graph = nx.empty_graph(whole.n_nodes)
    graph.add_edges_from(whole.edges.tolist())
    return graph


# -- Ego networks ------------------------------------------------------------------------------------------


def test_ego_networks_are_those_of_networkx(trees: NodeDataset) -> None:
    whole, degree = as_networkx(trees.whole), dict(as_networkx(trees.whole).degree)
    for graph, v in zip(trees.graphs, trees.nodes.tolist(), strict=True):
        expected = nx.ego_graph(whole, v, radius=3)
        assert graph.features is not None and graph.node_names is not None
        assert nx.utils.graphs_equal(nx.Graph(graph.to_networkx().edges), nx.Graph(expected.edges))
        assert set(graph.node_names) == set(expected) and graph.node_names[0] == v
        assert graph.features[:, TARGET].tolist() == [1.0] + [0.0] * (graph.n_nodes - 1)
        assert graph.features[:, NUMBER].tolist() == (1 + np.array(graph.node_names)).tolist()
        outside = [degree[node] - expected.degree(node) for node in graph.node_names]
        assert graph.features[:, OUTSIDE].tolist() == outside


def test_large_ego_networks_are_left_out(trees: NodeDataset) -> None:
    every = ego_networks(trees.whole, range(trees.whole.n_nodes), 3)
    small = ego_networks(trees.whole, range(trees.whole.n_nodes), 3, most_nodes=12)
    assert [graph.name for graph in small] == [graph.name for graph in every if graph.n_nodes <= 12]
    assert 0 < len(small) < len(every)


def test_training_and_test_instances_are_nodes_of_the_given_split(trees: NodeDataset) -> None:
    assert trees.test is not None
    (fold,) = trees.folds(1)
    assert torch.equal(fold.test, trees.test) and len(fold.train) == 40 and len(fold.test) == 20
    assert set(trees.whole.split[trees.nodes[fold.train]]) == {TRAIN}
    assert set(trees.whole.split[trees.nodes[fold.test]]) == {TEST}
    assert trees.labels.tolist() == trees.whole.labels[trees.nodes].tolist()
    halves = trees.folds(2)
    assert torch.equal(torch.cat([half.test for half in halves]).sort().values, trees.test)
    assert all(torch.equal(half.train, fold.train) for half in halves)


def test_edited_flips_pairs(trees: NodeDataset) -> None:
    whole, graph = trees.whole, as_networkx(trees.whole)
    pairs = np.array([whole.edges[5], [3, 700]])
    graph.remove_edge(*whole.edges[5].tolist())
    graph.add_edge(3, 700)
    assert set(map(tuple, whole.edited(pairs).tolist())) == {tuple(sorted(edge)) for edge in graph.edges}


# -- Recipes -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "nodes", "edges", "classes", "motif_edges"),
    [
        ("ba-shapes", 700, 2055, 4, 480),
        ("ba-community", 1400, 4460, 8, 960),
        ("tree-cycles-nodes", 871, 971, 2, 360),
        ("tree-grid", 1231, 1565, 2, 960),
    ],
)
def test_generated_graphs_have_the_published_statistics(
    name: str, nodes: int, edges: int, classes: int, motif_edges: int
) -> None:
    drawn = GeneratedNodes(name, seed=1).draw()
    counts = drawn.n_nodes, drawn.n_classes, len(drawn.motif_edges)  # type: ignore[arg-type]
    assert counts == (nodes, classes, motif_edges)
    spread = 16 if name == "tree-cycles-nodes" else 0  # four deviations of the number of second edges, √15
    assert abs(len(drawn.edges) - edges) <= spread
    assert drawn.motif_edges is not None and drawn.in_motif[drawn.motif_edges].all()
    assert len(np.unique(drawn.edges, axis=0)) == len(drawn.edges) and (drawn.edges[:, 0] < drawn.edges[:, 1]).all()
    assert nx.is_connected(as_networkx(drawn))
    assert len(drawn.of_split(TEST)) == nodes // 10


@needs_files
@pytest.mark.parametrize("name", RECIPES)
def test_generated_graphs_are_like_the_given_ones(name: str) -> None:
    given, drawn = NodesFromFiles(name).read(FOLDER), GeneratedNodes(name).draw()
    assert np.bincount(given.labels).tolist() == np.bincount(drawn.labels).tolist()
    motifs = [nx.Graph(graph.motif_edges.tolist()) for graph in (given, drawn)]  # type: ignore[union-attr]
    assert nx.utils.edges_equal(motifs[0].edges, motifs[1].edges)
    degrees = [np.bincount(graph.edges.ravel())[graph.in_motif] for graph in (given, drawn)]
    assert abs(degrees[0].mean() - degrees[1].mean()) < 0.05
    # Houses, cycles and grids hang at the same nodes of the base.
    first = {int(np.flatnonzero(graph.in_motif)[0]) for graph in (given, drawn)}
    assert len(first) == 1 and all([0, min(first)] in graph.edges.tolist() for graph in (given, drawn))


def test_a_draw_depends_on_its_seed_alone() -> None:
    one, again, other = (GeneratedNodes("tree-grid", seed=seed).draw() for seed in (0, 0, 1))
    assert np.array_equal(one.edges, again.edges) and np.array_equal(one.split, again.split)
    assert not np.array_equal(one.edges, other.edges) and not np.array_equal(one.split, other.split)


# -- Files -------------------------------------------------------------------------------------------------


def test_without_files_a_sentence_names_what_can_be_used_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RSGG_DATA_DIR", raising=False)
    with pytest.raises(
        DataError, match=r"^The files of tree-grid are not published; .* \(--data tree-grid-generated\)"
    ):
        NodesFromFiles("tree-grid").load()
    with pytest.raises(DataError, match=r"Tree-Grid_nodes\.csv cannot be read"):
        NodesFromFiles("tree-grid").load(tmp_path)
    with pytest.raises(DataError, match="There is no node data set 'tree'"):
        NodesFromFiles("tree")
    with pytest.raises(DataError, match="hops = 0; give a whole number from 1 on"):
        NodesFromFiles("tree-grid", hops=0)


@needs_files
def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    for path in FOLDER.glob("Tree-Grid_*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    NodesFromFiles("tree-grid").read(tmp_path)
    (tmp_path / "Tree-Grid_edges.txt").write_text("0 1\n")
    with pytest.raises(DataError, match="is not the known file"):
        NodesFromFiles("tree-grid").read(tmp_path)


# -- The oracle --------------------------------------------------------------------------------------------


def test_an_ego_network_gets_the_class_that_its_node_has_in_the_whole_graph(
    trees: NodeDataset, oracle: NodeGCN
) -> None:
    whole = trees.whole
    every = GraphBatch.of(ego_networks(whole, range(whole.n_nodes), 3))
    logits = plain(oracle, whole, as_networkx(whole))
    assert oracle.predict(every).tolist() == logits.argmax(1).tolist() == oracle.predict_whole(whole).tolist()
    assert len(set(logits.argmax(1))) == 2


@pytest.mark.parametrize("name", ["tree-cycles-nodes", "ba-community"])
def test_and_so_it_does_after_any_edits(name: str) -> None:
    data = GeneratedNodes(name, n_train=10, n_test=10, most_nodes=360).load()
    oracle = NodeGCN(data.whole.n_classes, epochs=10, starts=1).prepared(data)
    rng, nearer = np.random.default_rng(0), 0
    for graph, node in zip(data.graphs, data.nodes.tolist(), strict=True):
        assert graph.node_names is not None
        adjacency, edited = graph.adjacency.copy(), as_networkx(data.whole)
        for u, v in [*rng.integers(graph.n_nodes, size=(8, 2)).tolist(), [0, graph.n_nodes - 1]]:
            if u != v:
                adjacency[u, v] = adjacency[v, u] = 1 - adjacency[u, v]
                pair = graph.node_names[u], graph.node_names[v]
                edited.remove_edge(*pair) if edited.has_edge(*pair) else edited.add_edge(*pair)
        assert graph.features is not None
        ego = oracle.relaxed(torch.tensor(adjacency)[None].double(), torch.tensor(graph.features)[None])[0]
        expected = torch.from_numpy(plain(oracle, data.whole, edited)[node]).softmax(0)
        assert torch.allclose(ego, expected, atol=1e-12, rtol=0)
        near = nx.single_source_shortest_path_length(edited, node, cutoff=LAYERS)
        nearer += not set(near) <= set(graph.node_names)
    assert nearer, "no edit brought nodes near that are not in the ego network"


def test_names_of_nodes_do_not_matter(trees: NodeDataset, oracle: NodeGCN) -> None:
    rng = torch.Generator().manual_seed(0)
    n, sizes = trees.graphs.n_nodes, trees.graphs.sizes.tolist()
    orders = torch.stack([torch.cat((torch.randperm(s, generator=rng), torch.arange(s, n))) for s in sizes])
    assert torch.equal(oracle.predict(trees.graphs.relabelled(orders)), oracle.predict(trees.graphs))


def test_contracts_are_kept(trees: NodeDataset, oracle: NodeGCN) -> None:
    assert len(check_oracle(oracle, trees.graphs[:12])) == 12
    assert check_task(Task("trees", SMALL, QUICK))


def test_training_is_deterministic_and_learns(trees: NodeDataset, oracle: NodeGCN) -> None:
    again, other = QUICK.prepared(trees), NodeGCN(epochs=250, starts=1, seed=1).prepared(trees)
    assert all(torch.equal(again.weights[name], oracle.weights[name]) for name in oracle.weights)
    assert not torch.equal(other.weights["gc1.weight"], oracle.weights["gc1.weight"])
    right = oracle.predict_whole(trees.whole).numpy() == trees.whole.labels
    assert oracle.accuracy == right[trees.whole.of_split(TEST)].mean()


def test_lists_of_edges_are_answered_like_matrices(trees: NodeDataset, oracle: NodeGCN) -> None:
    edges, generator = EdgeBatch.of(trees.graphs), torch.Generator().manual_seed(5)
    assert torch.equal(oracle.predict_edges(edges), oracle.predict(trees.graphs))
    weight = torch.rand(len(edges.u), generator=generator, dtype=torch.float64)
    soft = torch.zeros(trees.graphs.adjacency.shape, dtype=torch.float64)
    soft[edges.graph, edges.u, edges.v] = soft[edges.graph, edges.v, edges.u] = weight
    expected = oracle.relaxed(soft, trees.graphs.features)
    torch.testing.assert_close(oracle.relaxed_edges(edges, weight), expected)
    torch.testing.assert_close(oracle.relaxed_messages(edges, weight), expected)


def test_degrees_are_constants_to_messages(trees: NodeDataset, oracle: NodeGCN) -> None:
    """By finite differences: of everything along an edge, and of what is passed on with the degrees held."""
    edges = EdgeBatch.of(trees.graphs.select(torch.arange(6)))
    weight = torch.full((len(edges.u),), 0.7, dtype=torch.float64, requires_grad=True)
    features, held, little = edges.features, weight.detach(), 1e-6
    assert features is not None
    pairs = edges.graph.repeat(2), torch.cat((edges.u, edges.v)), torch.cat((edges.v, edges.u))
    for relaxed, degrees in ((oracle.relaxed_edges, None), (oracle.relaxed_messages, held.repeat(2))):
        (slope,) = torch.autograd.grad(relaxed(edges, weight)[:, 0].sum(), weight)
        for i in range(0, len(held), 7):
            moved = [held.clone(), held.clone()]
            moved[0][i] += little
            moved[1][i] -= little
            up, down = (oracle._logits(features, pairs, w.repeat(2), degrees).softmax(1)[:, 0].sum() for w in moved)
            assert float(slope[i]) == pytest.approx(float(up - down) / (2 * little), abs=1e-7)


@needs_files
@pytest.mark.parametrize(("model", "name", "classes", "accuracy"), [
    ("syn1", "ba-shapes-lucic", 4, 138 / 140),
    ("syn4", "tree-cycles-nodes", 2, 79 / 88),  # another draw than the one it was trained on
    ("syn5", "tree-grid", 2, 116 / 124),
])  # fmt: skip
def test_published_weights_have_the_published_accuracy(model: str, name: str, classes: int, accuracy: float) -> None:
    data = NodesFromFiles(name, n_train=5, n_test=20).load()
    frozen = FrozenNodeGCN(classes, model).prepared(data)
    assert frozen.accuracy == pytest.approx(accuracy, abs=1e-12)
    assert torch.equal(frozen.predict(data.graphs), frozen.predict_whole(data.whole)[data.nodes])


@needs_files
def test_published_weights_are_found_for_drawn_graphs_too(trees: NodeDataset) -> None:
    frozen = FrozenNodeGCN(2, "syn4").loaded(FOLDER.parent).prepared(trees)
    assert frozen.accuracy > 0.8  # they have not seen this graph


def test_misuse_gets_a_sentence(trees: NodeDataset, oracle: NodeGCN) -> None:
    bare = replace(trees.graphs, features=None)
    for asked in (lambda: oracle.predict(bare), lambda: oracle.relaxed(bare.adjacency.double())):
        with pytest.raises(OracleError, match="do not mark one node each"):
            asked()
    with pytest.raises(OracleError, match="before it knew the graph"):
        QUICK.predict(trees.graphs)
    with pytest.raises(DataError, match="There are no weights"):
        FrozenNodeGCN(2, "syn4").prepared(trees)


# -- Methods -----------------------------------------------------------------------------------------------


def test_a_taught_generator_does_not_read_the_numbers_of_nodes(trees: NodeDataset, oracle: NodeGCN) -> None:
    """With other numbers in the last column it scores pairs as before."""
    explainer = replace(TaughtRSGGCE.tiny(), unread=1)
    explainer.fit(trees.graphs, oracle, seed=0)
    other = trees.graphs.features.clone()  # type: ignore[union-attr]
    other[:, :, NUMBER] = 7
    classes = oracle.predict(trees.graphs)
    scores = explainer.edit_scores(trees.graphs, classes)
    assert torch.equal(explainer.edit_scores(replace(trees.graphs, features=other), classes), scores)
    other[:, :, TARGET] = 1 - other[:, :, TARGET]
    assert not torch.equal(explainer.edit_scores(replace(trees.graphs, features=other), classes), scores)
