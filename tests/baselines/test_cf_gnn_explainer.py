"""CF-GNNExplainer on cases whose answer is plain; as released, against a plain rewriting with whole matrices."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor

from rsgg.baselines.cf_gnn_explainer import CFGNNExplainer, Found, RandomMasks, _Part
from rsgg.baselines.released.cf_gnn_explainer import ReleasedCFGNNExplainer
from rsgg.contract import check_explainer
from rsgg.counterfactual import Counterfactual
from rsgg.data.nodes import GeneratedNodes, NodeDataset, NodeGraph
from rsgg.edges import EdgeBatch
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, Oracle, TreeCyclesOracle
from rsgg.oracles.nodes import LAYERS, NodeGCN
from rsgg.task import Task
from tests.graphs import has_cycle, tree, unicyclic

BOTH = (CFGNNExplainer, ReleasedCFGNNExplainer)
QUICK = CFGNNExplainer(beta=0.1, lr=0.5, epochs=100)
DATA = GeneratedNodes("tree-cycles-nodes", hops=4, n_train=40, n_test=20)
ORACLE = NodeGCN(epochs=250, starts=1)


@pytest.fixture(scope="module")
def trees() -> NodeDataset:
    return DATA.load()


@pytest.fixture(scope="module")
def oracle(trees: NodeDataset) -> NodeGCN:
    return ORACLE.prepared(trees)


@pytest.fixture(scope="module")
def nodes(trees: NodeDataset) -> GraphBatch:
    assert trees.test is not None
    return trees.graphs.select(trees.test)


class Pairs(Oracle):
    """Class 1 iff all of these pairs are joined; its relaxation is the product of their weights."""

    name = "pairs"

    def __init__(self, *pairs: tuple[int, int]) -> None:
        self.u, self.v = torch.tensor(pairs).T

    def predict(self, graphs: GraphBatch) -> Tensor:
        return (graphs.adjacency[:, self.u, self.v] > 0).all(1).long()

    def why_not_differentiable(self) -> str:
        return ""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        joined = adjacency[:, self.u, self.v].prod(1)
        return torch.stack((1 - joined, joined), 1)


def deleted(results: list[Counterfactual]) -> list[list[tuple[int, int]]]:
    return [result.removed for result in results]


# -- plain cases -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH)
def test_the_edge_that_decides_is_deleted_and_no_other(method: type[CFGNNExplainer]) -> None:
    """And another one for another oracle: it is its answers that decide."""
    graphs = [nx.cycle_graph(n) for n in (4, 6, 9)]
    explainer = method(lr=0.5)
    assert deleted(explainer.explain(graphs, Pairs((0, 1)))) == [[(0, 1)]] * 3
    assert deleted(explainer.explain(graphs, Pairs((1, 2)))) == [[(1, 2)]] * 3


def test_every_cycle_is_cut_and_no_tree_is_explained() -> None:
    """The ceiling of a method that only deletes: by NetworkX's judgement, on cycles of every size."""
    graphs = [unicyclic(14, size, seed) for size in range(3, 7) for seed in range(3)] + [tree(14, s) for s in range(5)]
    for graph, result in zip(graphs, QUICK.explain(graphs, TreeCyclesOracle()), strict=True):
        assert result.found == has_cycle(graph) and not result.added
        if result.found:
            assert not has_cycle(result.returned.to_networkx())


def test_of_random_masks_the_smallest_that_flips_is_kept() -> None:
    """A mask is a fair coin per edge: of 200 on four edges some delete the edge that decides, and no other one."""
    square, path = nx.cycle_graph(4), nx.path_graph(2)
    several, single = RandomMasks(tries=200).explain([square, path], Pairs((0, 1)), seed=0)
    assert several.removed == [(0, 1)] and single.removed == [(0, 1)]
    other, _ = RandomMasks(tries=200).explain([square, path], Pairs((1, 2)), seed=0)
    assert other.removed == [(1, 2)], "it is the oracle that decides"
    few = [RandomMasks(tries=1).explain([nx.cycle_graph(40)], Pairs((0, 1)), seed=s)[0] for s in range(60)]
    found = [len(one.removed) for one in few if one.found]
    assert (
        15 < len(found) < 45
        and 15 < np.mean(found) < 25
        and {one.reason for one in few if not one.found} == {"no mask changed the class"}
    )


class Uneven(Pairs):
    """Two pairs, of which the second counts less in the gradient."""

    def relaxed(self, adjacency: Tensor, features: Tensor | None = None) -> Tensor:
        joined = adjacency[:, 0, 1] * adjacency[:, 2, 3] ** 0.8
        return torch.stack((1 - joined, joined), 1)


def test_a_price_brings_edges_back_that_were_not_needed() -> None:
    """Two pairs fall in the first, large step, and one of them would do: only the price of an edge finds that out."""
    graph, oracle, large = nx.path_graph(4), Uneven((0, 1), (2, 3)), 5.0
    assert deleted(ReleasedCFGNNExplainer(lr=large, beta=0.1).explain([graph], oracle)) == [[(0, 1), (2, 3)]]
    (free,) = CFGNNExplainer(lr=large, beta=0.0).explain([graph], oracle)
    assert free.removed == [(0, 1), (2, 3)] and free.calls == 3, "input, soft graph, result: then nothing moves"
    assert deleted(CFGNNExplainer(lr=large, beta=0.1).explain([graph], oracle)) == [[(0, 1)]]


def test_the_smallest_counterfactual_is_kept_whenever_it_is_met() -> None:
    """Three edges, then one, then two are deleted: the one it is; what was asked about already is not asked again."""
    edges, counted = EdgeBatch.of(GraphBatch.of([nx.cycle_graph(4)])), CountingOracle(Pairs((0, 1)))
    found, everyone, owner = Found.nothing(edges), torch.tensor([True]), torch.arange(1)
    for deleted_edges in ((0, 1, 2), (0,), (0,), (0, 2), (1,)):  # of 01, 03, 12, 23
        kept = torch.ones(4, dtype=torch.bool)
        kept[list(deleted_edges)] = False
        found.ask(kept, everyone, torch.tensor([1]), counted, owner)
    assert found.kept.tolist() == [False, True, True, True] and found.size.tolist() == [1.0]
    assert not found.flips.any() and counted.calls == 4, "the last one keeps the class"


def test_the_loss_is_the_papers() -> None:
    """By hand: log of the pair's weight while the class is kept, and β for each edge as far as it is deleted."""
    edges, counted = EdgeBatch.of(GraphBatch.of([nx.cycle_graph(4)] * 2)), CountingOracle(Pairs((0, 1)))
    mask = torch.tensor([0.4, -1.0, 0.0, 2.0] * 2, dtype=torch.float64)
    weight = 1 / (1 + np.exp(-mask.numpy()[:4]))
    kept_by_the_first = _Part(edges).of(torch.tensor([True, False]))
    loss = CFGNNExplainer(beta=0.3)._loss(
        mask, edges, kept_by_the_first, torch.tensor([1, 1]), counted, torch.arange(2)
    )
    distance = 0.3 * (1 - weight).sum()
    assert loss.tolist() == pytest.approx([np.log(weight[0]) + distance, distance]) and counted.calls == 1
    released = ReleasedCFGNNExplainer(beta=0.3)
    loss = released._loss(mask, edges, kept_by_the_first, torch.tensor([1, 1]), counted, torch.arange(2))
    assert loss.tolist() == pytest.approx([np.log(weight[0]) + 0.3 * 1, 0.3 * 1]), "one of four entries is below ½"


def test_the_loss_falls_and_every_entry_has_a_gradient(nodes: GraphBatch, oracle: NodeGCN) -> None:
    explainer = CFGNNExplainer(beta=0.01, epochs=60)
    explainer.explain(nodes, oracle)
    before = [step["loss"] for step in explainer.history_ if not step["found"]]
    assert len(explainer.history_) == 60 and len(before) > 5 and np.all(np.diff(before) < 0)
    assert (slope(explainer, nodes, oracle) != 0).all()


def slope(explainer: CFGNNExplainer, nodes: GraphBatch, oracle: NodeGCN) -> Tensor:
    """The gradient of the loss with respect to P̂ at the start, a number per edge."""
    edges, owner = EdgeBatch.of(nodes), torch.arange(len(nodes))
    mask = torch.ones(len(edges.u), dtype=torch.float64, requires_grad=True)
    explainer._loss(mask, edges, _Part(edges), oracle.predict(nodes), CountingOracle(oracle), owner).sum().backward()
    assert mask.grad is not None
    return mask.grad


def test_no_gradient_of_the_distance_reaches_the_mask_as_released(nodes: GraphBatch, oracle: NodeGCN) -> None:
    for method, same in ((CFGNNExplainer, False), (ReleasedCFGNNExplainer, True)):
        free, dear = (slope(method(beta=beta), nodes, oracle) for beta in (0.0, 1e3))
        assert torch.equal(free, dear) is same and free.any()


def test_the_price_matters_as_defined_and_not_as_released(nodes: GraphBatch, oracle: NodeGCN) -> None:
    for method, same in ((CFGNNExplainer, False), (ReleasedCFGNNExplainer, True)):
        cheap, dear = (deleted(method(beta=beta, epochs=150).explain(nodes, oracle)) for beta in (0.0, 1.0))
        assert (cheap == dear) is same and any(cheap)


@pytest.mark.parametrize("method", BOTH)
def test_a_batch_is_its_graphs_one_by_one(method: type[CFGNNExplainer], nodes: GraphBatch, oracle: NodeGCN) -> None:
    explainer, some = method(beta=0.01, epochs=120), nodes.select(torch.arange(12, 20))  # of both classes
    together = explainer.explain(some, oracle)
    alone = [explainer.explain(some.select(torch.tensor([i])), oracle)[0] for i in range(len(some))]
    assert deleted(together) == deleted(alone) and any(deleted(together))
    assert [result.calls for result in together] == [result.calls for result in alone]


@pytest.mark.parametrize("method", BOTH)
def test_the_contract_holds_for_nodes(method: type[CFGNNExplainer]) -> None:
    """For graphs, `tests/rsgg/test_contract.py` checks it."""
    assert check_explainer(method, Task("trees", DATA, ORACLE))


@pytest.mark.parametrize("method", BOTH)
def test_a_budget_is_never_exceeded_and_names_itself(method: type[CFGNNExplainer]) -> None:
    graphs = [unicyclic(9, 4), tree(9)]
    results = method(lr=0.01).explain(graphs, CountingOracle(TreeCyclesOracle(), budget=30))
    assert all(result.calls <= 30 for result in results)
    assert "budget" in results[1].reason


# -- as released -----------------------------------------------------------------------------------------


def plainly(
    whole: NodeGraph, oracle: NodeGCN, v: int, y: int, settings: ReleasedCFGNNExplainer
) -> tuple[set[tuple[int, int]] | None, int]:
    """What the description of the released code comes to, with whole matrices: the deleted edges, or None; questions.

    The subgraph within four edges of v, a full symmetric P̂ from a vector, degrees that are constants, torch's own
    descent and clipping.
    """
    near = whole.within(v, 4)
    place = {node: i for i, node in enumerate(near)}
    a = torch.zeros(len(near), len(near), dtype=torch.float64)
    for s, t in whole.edges.tolist():
        if s in place and t in place:
            a[place[s], place[t]] = a[place[t], place[s]] = 1.0
    lower = torch.tril_indices(len(near), len(near))
    vector = torch.ones(lower.shape[1], dtype=torch.float64, requires_grad=True)
    momentum = settings.momentum
    descent = torch.optim.SGD([vector], lr=settings.lr, momentum=momentum, nesterov=momentum > 0)

    def logits(adjacency: Tensor) -> Tensor:
        loops = adjacency + torch.eye(len(near), dtype=torch.float64)
        scale = loops.sum(0).detach().rsqrt()
        h, outputs = torch.ones(len(near), 10, dtype=torch.float64), []
        for layer in range(1, LAYERS + 1):
            h = (scale[:, None] * loops * scale) @ h @ oracle.weights[f"gc{layer}.weight"]
            h = h + oracle.weights[f"gc{layer}.bias"]
            h = h.relu() if layer < LAYERS else h
            outputs.append(h)
        return (torch.cat(outputs, 1) @ oracle.weights["lin.weight"].T + oracle.weights["lin.bias"])[0]

    shown, questions = a, 1  # about the input
    for _ in range(settings.epochs):
        matrix = torch.zeros_like(a).index_put(tuple(lower), vector)
        soft = torch.sigmoid(matrix + matrix.tril(-1).T)
        hard = (soft >= 0.5).double().detach() * a
        questions += not torch.equal(hard, shown)
        shown = hard
        if int(logits(hard).argmax()) != y:
            pairs = {tuple(sorted((near[int(s)], near[int(t)]))) for s, t in (a - hard).nonzero()}
            return pairs, questions  # type: ignore[return-value]
        questions += 1
        descent.zero_grad()
        logits(soft * a).log_softmax(0)[y].backward()
        torch.nn.utils.clip_grad_norm_([vector], settings.clip)
        descent.step()
    return None, questions


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9, "lr": 0.02}, {"clip": 0.02, "lr": 1.0}])
def test_released_is_the_plain_description(
    trees: NodeDataset, nodes: GraphBatch, oracle: NodeGCN, options: dict[str, float]
) -> None:
    some = nodes.select(torch.arange(12, 20))  # of both classes
    explainer, found = ReleasedCFGNNExplainer(epochs=120, **options), 0  # type: ignore[arg-type]
    for result in explainer.explain(some, oracle):
        assert result.before is not None and result.input.node_names is not None
        expected = plainly(trees.whole, oracle, int(result.input.node_names[0]), result.before, explainer)  # type: ignore[call-overload]
        ours = {tuple(sorted(pair)) for pair in result.removed_by_name} if result.found else None  # type: ignore[type-var]
        assert (ours, result.calls) == expected
        found += result.found
    assert found


def test_released_differentiates_messages_and_not_degrees(nodes: GraphBatch, oracle: NodeGCN) -> None:
    """The same values, but no gradient at edges that only count in degrees."""
    edges, y = EdgeBatch.of(nodes), oracle.predict(nodes)
    weight = torch.full((len(edges.u),), 0.7, dtype=torch.float64, requires_grad=True)
    whole, messages = oracle.relaxed_edges(edges, weight), oracle.relaxed_messages(edges, weight)
    torch.testing.assert_close(whole, messages)
    of_whole, of_messages = (torch.autograd.grad(p.gather(1, y[:, None]).sum(), weight)[0] for p in (whole, messages))
    assert not torch.allclose(of_whole, of_messages)
    far = torch.zeros(len(nodes), edges.n_nodes)  # from v, in edges
    for i, graph in enumerate(nodes):
        for node, steps in nx.single_source_shortest_path_length(nx.from_numpy_array(graph.adjacency), 0).items():
            far[i, node] = steps
    border = far[edges.graph, edges.u].minimum(far[edges.graph, edges.v]) >= LAYERS  # no message to v passes there
    assert border.any() and not of_messages[border].any() and of_messages[~border].all()
