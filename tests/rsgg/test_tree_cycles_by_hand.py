"""The oracle of Tree-Cycles: its relaxation against soft peeling in plain loops, and graphs wider than a word."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.edges import EdgeBatch
from rsgg.graph import GraphBatch
from rsgg.oracles import TreeCyclesOracle
from tests.graphs import has_cycle, tree, unicyclic


def soft_peeling(weight: np.ndarray) -> float:
    """p(cycle) of symmetric weights: m(u→v) = A_uv (1 - Π_{w≠u,v} (1 - m(w→u))) for n rounds, p = 1 - Π (1 - m)."""
    n = len(weight)
    message = weight.copy()
    for _ in range(n):
        updated = np.zeros_like(message)
        for u in range(n):
            for v in range(n):
                if u != v:
                    silent = np.prod([1 - message[w, u] for w in range(n) if w not in (u, v)])
                    updated[u, v] = weight[u, v] * (1 - silent)
        message = updated
    return 1 - float(np.prod([1 - message[u, v] for u in range(n) for v in range(n) if u != v]))


@pytest.mark.parametrize("density", [0.15, 0.4, 1.0])
def test_the_relaxation_is_soft_peeling(density: float) -> None:
    """Of matrices that are not symmetric and have self loops: what counts is (A + Aᵀ) / 2 off the diagonal."""
    rng = np.random.default_rng(int(100 * density))
    given = rng.random((5, 7, 7)) * (rng.random((5, 7, 7)) < density)
    p = TreeCyclesOracle().relaxed(torch.from_numpy(given))
    for matrix, (tree_, cycle) in zip(given, p.tolist(), strict=True):
        weight = (matrix + matrix.T) / 2 * (1 - np.eye(7))
        assert cycle == pytest.approx(soft_peeling(weight), abs=1e-5) and tree_ == pytest.approx(1 - cycle)


def plain_peeling(soft: Tensor) -> Tensor:
    """p(tree) by torch's own operations. Products by logarithms, zeros counted apart: no gradient passes a zero."""
    message = soft
    for _ in range(soft.shape[1]):
        zero = message == 1
        log = torch.where(zero, torch.ones_like(soft), 1 - message).log()
        others = log.sum(1)[:, :, None] - log.transpose(1, 2)
        zeros = zero.sum(1)[:, :, None] - zero.transpose(1, 2).long()
        message = soft * (1 - torch.where(zeros > 0, torch.zeros_like(others), others.exp()))
    zero = message == 1
    log = torch.where(zero, torch.ones_like(soft), 1 - message).log()
    return log.sum((1, 2)).exp() * (zero.sum((1, 2)) == 0)


@pytest.mark.parametrize("kind", ["dense", "sparse", "certain edges", "binary"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_the_gradient_of_the_relaxation_is_the_one_of_automatic_differentiation(kind: str, dtype: torch.dtype) -> None:
    """Of soft pairs everywhere and here and there, of weights that are 1 exactly, with zeros among the factors."""
    rng = torch.Generator().manual_seed(3)
    soft = torch.rand(6, 9, 9, generator=rng, dtype=dtype) * (0.3 if kind == "dense" else 0.9)
    present = torch.rand(6, 9, 9, generator=rng) < (1.0 if kind == "dense" else 0.2)
    soft = torch.triu(soft * present, 1)
    if kind in ("certain edges", "binary"):
        certain = torch.rand(6, 9, 9, generator=rng) < 0.5
        soft = torch.where((soft > 0) & (certain | torch.tensor(kind == "binary")), torch.ones_like(soft), soft)
    results = []
    for relaxed in (plain_peeling, lambda a: TreeCyclesOracle().relaxed(a)[:, 0]):
        given = (soft + soft.transpose(1, 2)).requires_grad_()
        p = relaxed(given * (1 - torch.eye(9, dtype=dtype)))
        (p * torch.arange(1, 7)).sum().backward()
        assert given.grad is not None
        # Pairs of weight 0 get no gradient where messages are a list.
        results.append((p.detach(), (given.grad + given.grad.transpose(1, 2)) * (given.detach() > 0)))
    relative, absolute = (1e-8, 1e-10) if dtype == torch.float64 else (1e-3, 1e-5)
    for ours, plain in zip(*results, strict=True):
        assert torch.allclose(ours, plain, relative, absolute)
    assert results[0][0].max() > 0 and (kind == "binary" or results[0][1].abs().max() > 0)


def test_peeling_ends_when_nothing_changes_and_can_be_differentiated_twice_over() -> None:
    """The gradient can be asked for again (the rounds are kept), and a tree needs no further rounds."""
    soft = torch.full((1, 40, 40), 0.01, dtype=torch.float64).requires_grad_()
    p = TreeCyclesOracle().relaxed(soft)[0, 0]
    one, other = (torch.autograd.grad(p, soft, retain_graph=True)[0] for _ in range(2))
    assert torch.equal(one, other) and one.abs().sum() > 0
    assert not TreeCyclesOracle().relaxed(torch.zeros(0, 3, 3)).numel()


def test_the_relaxation_along_edges_is_soft_peeling_where_every_edge_is_a_chain() -> None:
    """In a wheel and a complete graph no node has two neighbours only: no edges are joined to chains."""
    graphs = [nx.complete_graph(5), nx.wheel_graph(6)]
    edges = EdgeBatch.of(GraphBatch.of(graphs))
    weight = np.random.default_rng(3).random(len(edges.u))
    p = TreeCyclesOracle().relaxed_edges(edges, torch.from_numpy(weight))
    for i, graph in enumerate(graphs):
        soft = np.zeros((len(graph), len(graph)))
        own = (edges.graph == i).numpy()
        soft[edges.u.numpy()[own], edges.v.numpy()[own]] = weight[own]
        assert float(p[i, 1]) == pytest.approx(soft_peeling(soft + soft.T), abs=1e-5)


@pytest.mark.parametrize("n", [63, 64, 65, 80])
def test_graphs_around_the_width_of_a_word_are_judged_as_networkx_does(n: int) -> None:
    """Trees, one cycle, a forest with isolated nodes, and cycles beside enough isolated nodes to have few edges."""
    scattered = nx.disjoint_union(nx.cycle_graph(5), nx.empty_graph(n - 5))
    graphs = [tree(n), unicyclic(n, 5), nx.disjoint_union(tree(n // 2), nx.empty_graph(n - n // 2)), scattered, tree(9)]
    assert TreeCyclesOracle().predict(GraphBatch.of(graphs)).tolist() == [int(has_cycle(graph)) for graph in graphs]
