"""Copies of an oracle are what they are called, harmless edits are harmless and the first of their order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg import robustness
from rsgg.data import Motifs
from rsgg.graph import Graph, GraphBatch
from rsgg.minimise import random_order
from rsgg.oracles import CallableOracle, Oracle, TrainedGNN, TreeCyclesOracle, gnn
from rsgg.oracles.weights import looked_for_in
from rsgg.robustness import copies_of, harmless_edits, noisy
from tests.graphs import gnp_graphs, has_cycle

# -- copies ------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def short_training(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setattr(gnn, "STEPS", 6)
    monkeypatch.setattr(gnn, "CHECK_EVERY", 3)


@pytest.fixture(scope="module")
def data() -> tuple[GraphBatch, Tensor]:
    loaded = Motifs(n_graphs=40).load()
    return loaded.graphs, loaded.labels


def weights(oracle: TrainedGNN) -> np.ndarray:
    assert oracle.network is not None
    return torch.cat([value.flatten().double() for value in oracle.network.state_dict().values()]).numpy()


def test_copies_have_the_architecture_of_the_oracle_and_others_have_not(data: tuple[GraphBatch, Tensor]) -> None:
    found = copies_of(TrainedGNN("gin"), *data)
    assert {kind: [(one.architecture, one.copy) for one in several] for kind, several in found.items()} == {
        "seed": [("gin", 0)] * 3,
        "subsample": [("gin", 1), ("gin", 2), ("gin", 3)],
        "architecture": [("gcn", 0), ("gat", 0), ("sage", 0)],
    }
    same = [TrainedGNN("gin").fitted(*data), *found["seed"], *found["subsample"]]
    all_weights = [weights(one).tobytes() for one in same]
    assert len(set(all_weights)) == 7, "no copy is the oracle or another copy"


def test_copies_are_the_same_every_time(
    data: tuple[GraphBatch, Tensor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    first = copies_of(TrainedGNN("gcn"), *data, count=1)
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path))  # nothing is cached there
    torch.manual_seed(5)
    with looked_for_in([tmp_path / "results"]):
        again = copies_of(TrainedGNN("gcn"), *data, count=1)
    assert not (tmp_path / "results").exists(), "copies are not kept beside results"
    assert [len(several) for several in again.values()] == [1, 1, 1]
    for kind in first:
        assert np.array_equal(weights(first[kind][0]), weights(again[kind][0]))


def test_an_oracle_that_is_not_trained_here_is_copied_by_gcns(data: tuple[GraphBatch, Tensor]) -> None:
    found = copies_of(CallableOracle(lambda graphs: [0] * len(graphs), n_classes=3), *data, count=2)
    assert [one.architecture for kind in ("seed", "subsample") for one in found[kind]] == ["gcn"] * 4
    assert [one.architecture for one in found["architecture"]] == ["gin", "gat"]
    assert {one.n_classes for several in found.values() for one in several} == {3}


# -- harmless edits ------------------------------------------------------------------------------------------------


def is_cyclic(adjacency: np.ndarray) -> bool:
    return has_cycle(nx.from_numpy_array(adjacency))


def test_a_harmless_edit_is_the_first_of_a_random_order_that_keeps_the_class() -> None:
    """By NetworkX: the pairs are tried one by one, in the order that the names draw."""
    graphs = GraphBatch.of(gnp_graphs(24, sizes=(5, 8, 3)))
    edited, found = harmless_edits(graphs, TreeCyclesOracle(), "a", 1)
    rank = random_order(graphs.pair_mask, graphs.sizes, [("harmless edit", "a", 1, name) for name in graphs.names])
    assert edited.names == graphs.names and not edited.encodings
    tried = []
    for i, (before, after) in enumerate(zip(graphs, edited, strict=True)):
        pairs = sorted(nx.complete_graph(before.n_nodes).edges, key=lambda pair: int(rank[i][pair]))
        expected = before.adjacency
        for number, (u, v) in enumerate(pairs):
            flipped = before.adjacency.copy()
            flipped[u, v] = flipped[v, u] = 1 - flipped[u, v]
            if is_cyclic(flipped) == is_cyclic(before.adjacency):
                expected = flipped
                tried.append(number)
                break
        assert np.array_equal(after.adjacency, expected)
        assert bool(found[i]) == (not np.array_equal(expected, before.adjacency))
    assert min(tried) == 0 < max(tried), "some first draws are not harmless"


def test_names_draw_other_edits_and_other_graphs_do_not_matter() -> None:
    graphs = GraphBatch.of(gnp_graphs(12, sizes=(9,)))
    edited, _ = harmless_edits(graphs, TreeCyclesOracle(), "a")
    other, _ = harmless_edits(graphs, TreeCyclesOracle(), "b")
    part, _ = harmless_edits(graphs.select(torch.tensor([7, 2])), TreeCyclesOracle(), "a")
    assert not torch.equal(edited.adjacency, other.adjacency)
    assert torch.equal(part.adjacency, edited.adjacency[[7, 2]])


class NoticesEverything(Oracle):
    """Class 1 are the graphs with an even number of edges: no edit keeps it."""

    name = "notices-everything"

    def __init__(self) -> None:
        self.asked = 0

    def predict(self, graphs: GraphBatch) -> Tensor:
        self.asked += len(graphs)
        return (graphs.n_edges + 1) % 2


def test_a_graph_without_a_harmless_edit_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    graphs, oracle = GraphBatch.of(gnp_graphs(3, sizes=(1, 3, 6))), NoticesEverything()
    monkeypatch.setattr(robustness, "TRIES", 5)
    edited, found = harmless_edits(replace(graphs), oracle, 0)
    assert not found.any() and torch.equal(edited.adjacency, graphs.adjacency)
    assert oracle.asked == 3 + 0 + 3 + 5, "of the second graph all three pairs, of the third five"


# -- noise -------------------------------------------------------------------------------------------------------


def test_noise_touches_a_share_of_the_pairs_and_labels() -> None:
    """Counted by hand: at most a share of |E| pairs, none at 0, and others with other names."""
    labels = [np.eye(3, dtype=np.float32)[np.arange(n) % 3] for n in (20, 30)]
    graphs = GraphBatch.of(
        [
            Graph(nx.to_numpy_array(nx.gnm_random_graph(n, 40, seed=n), dtype=np.uint8), x, name=str(n))
            for n, x in zip((20, 30), labels, strict=True)
        ]
    )
    assert graphs.features is not None
    same = noisy(graphs, 0.0, "a")
    assert same.features is not None
    assert torch.equal(same.adjacency, graphs.adjacency) and torch.equal(same.features, graphs.features)
    changed = noisy(graphs, 0.3, "a")
    assert changed.features is not None
    assert torch.equal(changed.adjacency, changed.adjacency.transpose(1, 2)) and not changed.adjacency[0, 20:].any()
    pairs = (changed.adjacency != graphs.adjacency).sum((1, 2)) // 2
    assert ((pairs > 0) & (pairs <= 12)).all()
    relabelled = (changed.features != graphs.features).any(2).sum(1)
    assert (relabelled > 0).all() and (relabelled < torch.tensor([15, 20])).all()
    assert (changed.features[graphs.node_mask].sum(1) == 1).all() and not changed.features[0, 20:].any()
    assert torch.equal(noisy(graphs, 0.3, "a").adjacency, changed.adjacency)
    assert not torch.equal(noisy(graphs, 0.3, "b").adjacency, changed.adjacency)
    alone = noisy(graphs.select(torch.tensor([1])), 0.3, "a")
    assert torch.equal(alone.adjacency[0], changed.adjacency[1]), "a graph's noise is its own"


def test_noise_leaves_features_alone_that_are_no_labels() -> None:
    graph = Graph(
        nx.to_numpy_array(nx.path_graph(9), dtype=np.uint8), np.linspace(0, 1, 18, dtype=np.float32).reshape(9, 2)
    )
    graphs = GraphBatch.of([graph])
    same = noisy(graphs, 0.9, "a").features
    assert same is not None and graphs.features is not None and torch.equal(same, graphs.features)
    assert noisy(GraphBatch.of([nx.path_graph(9)]), 0.9, "a").features is None
