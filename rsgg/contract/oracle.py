"""What every oracle promises: `check_oracle(my_oracle)`.

Nothing is demanded that only some oracles can have: no relaxation, no known optimum, no invariance under renumbering
of nodes. What an oracle does say about itself has to be true.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import cached_property
from itertools import combinations
from math import comb
from typing import Any

import networkx as nx
import torch
from torch import Tensor

from rsgg.contract.checking import ContractViolation, require, require_plain_json, run_checks
from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import Oracle, wrong_answers
from rsgg.seeds import torch_rng

MAX_ALONE = 40  # graphs that are asked about one by one
MAX_CANDIDATES = 20_000  # graphs that are tried in all when an optimum is searched for by brute force
MAX_CELLS = 200_000_000  # and their adjacency cells, which bound the memory for large graphs


def check_oracle(oracle: Oracle, graphs: GraphBatch | Iterable[Any] | None = None) -> list[str]:
    """One line for each promise that the oracle keeps; `ContractViolation` with a sentence at the first it breaks.

    An oracle that cannot answer about small graphs without features is checked on `graphs` that suit it.
    """
    return run_checks(CHECKS, Subject(oracle, graphs))


def small_graphs() -> GraphBatch:
    """Random graphs of four to eight nodes, from nearly empty to dense, connected or not."""
    shapes = [(4, 0.3), (4, 0.7), (5, 0.4), (8, 0.1), (8, 0.3), (8, 0.5)]
    return GraphBatch.of([nx.gnp_random_graph(*shapes[i % 6], seed=i) for i in range(24)])


class Subject:
    """The oracle under test and the graphs that it is asked about."""

    def __init__(self, oracle: Oracle, graphs: GraphBatch | Iterable[Any] | None = None) -> None:
        if not isinstance(oracle, Oracle):
            given = f"The class {oracle.__name__}" if isinstance(oracle, type) else f"A {type(oracle).__name__}"
            raise ContractViolation(f"{given} is no oracle; give an instance of a subclass of rsgg.Oracle.")
        self.oracle = oracle
        self.original = small_graphs() if graphs is None else GraphBatch.of(graphs)
        self.graphs = deepcopy(self.original)  # what the oracle is shown, so that it cannot write into the originals
        self.graphs_are_given = graphs is not None

    @property
    def name(self) -> str:
        return f"The oracle {self.oracle.name!r}"

    @cached_property
    def classes(self) -> Tensor:
        return self.oracle.predict(self.graphs)

    def of_one_size(self) -> Iterator[tuple[GraphBatch, Tensor]]:
        """The graphs of each size without padding, and their classes."""
        for n in self.graphs.sizes.unique().tolist():
            chosen = (self.graphs.sizes == n).nonzero().flatten()
            yield GraphBatch.of(list(self.graphs.select(chosen))), self.classes[chosen]


# -- The checks ------------------------------------------------------------------------------------------


def describes_itself(subject: Subject) -> None:
    """It has a name, two classes or more, and parameters that are plain JSON values."""
    oracle = subject.oracle
    named = isinstance(oracle.name, str) and bool(oracle.name)
    require(named, f"An oracle has the name {oracle.name!r}; set `name` to a text that is not empty.")
    count = oracle.n_classes
    enough = isinstance(count, int) and not isinstance(count, bool) and count >= 2
    require(enough, f"{subject.name} has n_classes = {count!r}; set it to the number of classes, two or more.")
    require_plain_json(oracle.parameters(), subject.name)


def answers_with_one_class_per_graph(subject: Subject) -> None:
    """`predict` returns one whole number per graph, from 0 to n_classes - 1."""
    oracle, count = subject.oracle, len(subject.graphs)
    try:
        answers = oracle.predict(subject.graphs)
    except Exception as error:
        if subject.graphs_are_given:
            raise
        raise ContractViolation(
            f"{subject.name} cannot answer about small graphs without features ({error}); if it is made for others, "
            "give some: check_oracle(oracle, graphs), or check a task, which has graphs."
        ) from error
    got = wrong_answers(answers, count)
    require(not got, f"{subject.name} must return one integer class per graph ({count}); it returned {got}.")
    outside = answers[(answers < 0) | (answers >= oracle.n_classes)].tolist()
    if outside:
        has = f"it has {oracle.n_classes} classes, numbered from 0"
        raise ContractViolation(f"{subject.name} answered class {outside[0]}, but {has}; set n_classes.")


def answers_are_the_same_twice(subject: Subject) -> None:
    """The same graphs get the same classes when they are asked about again."""
    same = torch.equal(subject.oracle.predict(subject.graphs), subject.classes)
    require(same, f"{subject.name} changes its answers; make it deterministic (for a network, call eval()).")


def batch_does_not_matter(subject: Subject) -> None:
    """A graph alone, or in another order, is classified as in the batch."""
    count = len(subject.graphs)
    backwards = torch.arange(count).flip(0)
    same = torch.equal(subject.oracle.predict(subject.graphs.select(backwards)), subject.classes[backwards])
    require(same, f"{subject.name} depends on the order of the graphs in a batch; judge each graph by itself.")
    for i in torch.randperm(count, generator=torch_rng("contract", "alone"))[:MAX_ALONE].tolist():
        alone = subject.oracle.predict(GraphBatch.of(subject.graphs[i]))  # taken out of its padding
        require(
            torch.equal(alone, subject.classes[i : i + 1]),
            f"{subject.name} classifies graph {i} alone differently than in its batch; judge each graph by itself and "
            "leave out padding (GraphBatch.sizes).",
        )


def lists_of_edges_agree(subject: Subject) -> None:
    """`predict_edges` says the same of lists of edges as `predict` of matrices."""
    same = torch.equal(subject.oracle.predict_edges(EdgeBatch.of(subject.graphs)), subject.classes)
    require(same, f"{subject.name} classifies lists of edges differently than matrices; mend predict_edges.")


def inputs_are_left_alone(subject: Subject) -> None:
    """The oracle does not write into the graphs that it is given."""
    given, original = subject.graphs, subject.original
    same = torch.equal(given.adjacency, original.adjacency) and torch.equal(given.sizes, original.sizes)
    if given.features is not None and original.features is not None:
        same = same and torch.equal(given.features, original.features)
    require(same, f"{subject.name} changes the graphs that it is given; clone before writing.")


def relaxation_agrees_on_binary_graphs(subject: Subject) -> str | None:
    """`relaxed` gives probabilities, and the most probable class of a binary graph is the one of `predict`."""
    why_not = _why_not_differentiable(subject)
    for graphs, classes in subject.of_one_size():
        if why_not:
            _require_no_relaxation(subject, graphs)
            return why_not
        edges = EdgeBatch.of(graphs)
        soft = {
            "relaxed": subject.oracle.relaxed(graphs.adjacency.float(), graphs.features),
            "relaxed_edges": subject.oracle.relaxed_edges(edges, torch.ones(len(edges.u))),
        }
        for method, p in soft.items():
            expected = (len(graphs), subject.oracle.n_classes)
            require(
                p.shape == expected,
                f"{subject.name}: {method} returned shape {tuple(p.shape)}; return probabilities of shape {expected}.",
            )
            sums = torch.allclose(p.sum(1).float(), torch.ones(len(p)), atol=1e-4)
            require(sums and bool((p > -1e-6).all()), f"{subject.name}: the rows of {method} are no probabilities.")
            require(
                torch.equal(p.argmax(1), classes),
                f"{subject.name}: the most probable class of {method} is not the class of predict on a binary graph.",
            )
    if not why_not:
        padded = subject.oracle.relaxed_graphs(subject.graphs, subject.graphs.adjacency.float())
        require(
            torch.equal(padded.argmax(1), subject.classes),
            f"{subject.name}: relaxed_graphs takes the padding of smaller graphs for nodes; override it and leave out "
            "padding (GraphBatch.sizes).",
        )
    return None


def relaxation_has_gradients(subject: Subject) -> str | None:
    """The probabilities of soft graphs have finite gradients that are not all zero."""
    if why_not := _why_not_differentiable(subject):
        return why_not
    rng, some = torch_rng("contract", "soft graphs"), False
    for graphs, _ in subject.of_one_size():
        noise = torch.rand(graphs.adjacency.shape, generator=rng)
        weak = noise / graphs.n_nodes**2  # so that all missing edges together weigh less than one edge
        upper = torch.triu(torch.where(graphs.adjacency > 0, 0.5 + 0.4 * noise, weak), 1)
        soft = (upper + upper.transpose(1, 2)).requires_grad_()
        p = subject.oracle.relaxed(soft, graphs.features)
        require(p.requires_grad, f"{subject.name}: what relaxed returns has no gradient; compute it with torch alone.")
        (gradient,) = torch.autograd.grad(p[:, 0].sum(), soft)
        require(bool(gradient.isfinite().all()), f"{subject.name}: the gradient of relaxed is not finite.")
        some = some or bool((gradient != 0).any())
    require(some, f"{subject.name}: the gradient of relaxed is zero on every graph; nothing can be learnt from it.")
    return None


def _why_not_differentiable(subject: Subject) -> str:
    why_not = subject.oracle.why_not_differentiable()
    require(
        isinstance(why_not, str),
        f"{subject.name}: why_not_differentiable() returned {why_not!r}; return a text, empty where relaxed works.",
    )
    return why_not


def _require_no_relaxation(subject: Subject, graphs: GraphBatch) -> None:
    try:
        subject.oracle.relaxed(graphs.adjacency.float(), graphs.features)
    except OracleError:
        return
    raise ContractViolation(
        f"{subject.name} has a relaxation but says that it has none; return '' from why_not_differentiable()."
    )


def embeddings_agree_with_the_class(subject: Subject) -> str | None:
    """`embeddings` has a row per node and per graph and gradients, and their `head` decides as `predict` does."""
    edges, oracle = EdgeBatch.of(subject.graphs), subject.oracle
    if why_not := oracle.why_no_embeddings():
        return why_not
    weight = torch.ones(len(edges.u), requires_grad=True)
    for nodes, pooled in (oracle.embeddings(edges), oracle.embeddings(edges, weight)):
        rows = int(edges.sizes.sum()), len(edges)
        require(
            (len(nodes), len(pooled)) == rows,
            f"{subject.name} embeds {len(nodes)} nodes and {len(pooled)} graphs; give {rows[0]} and {rows[1]} rows, "
            "none for padding.",
        )
        same = torch.equal(oracle.head(pooled).argmax(1), subject.classes)
        require(same, f"{subject.name}: the head decides otherwise than predict; it has to get the same embeddings.")
    require(pooled.requires_grad, f"{subject.name}: embeddings have no gradient in the weights of edges.")
    return None


def optimum_is_reached(subject: Subject) -> str | None:
    """`optimal_counterfactual` changes the class with exactly as many edits as `optimal_ged` says."""
    graphs, classes = subject.graphs, subject.classes
    best, closest = _optimum(subject), subject.oracle.optimal_counterfactual(graphs, classes)
    if best is None or closest is None:
        require(closest is None, f"{subject.name} knows an optimal counterfactual but no optimal_ged; give both.")
        return "the optimum is not known" if best is None else "no optimal counterfactual is given"
    simple = closest.shape == graphs.adjacency.shape and torch.equal(closest, closest.transpose(1, 2))
    simple = simple and bool((closest <= 1).all()) and not closest.diagonal(dim1=1, dim2=2).any()
    require(simple, f"{subject.name}: the optimal counterfactuals are not simple graphs of the shape of the input.")
    edits, possible = (closest != graphs.adjacency).sum((1, 2)) / 2, best.isfinite()
    require(
        torch.equal(edits[possible].double(), best[possible].double()) and not edits[~possible].any(),
        f"{subject.name}: the optimal counterfactuals do not have optimal_ged edits (none where that is infinite).",
    )
    after = subject.oracle.predict(graphs.candidates(closest, torch.arange(len(graphs))))
    changed = bool((after != classes)[possible].all())
    require(changed, f"{subject.name}: an optimal counterfactual keeps the class of its graph.")
    return None


def optimum_is_not_beaten(subject: Subject) -> str | None:
    """No set of fewer edits than `optimal_ged` changes the class: all sets are tried on small graphs."""
    best = _optimum(subject)
    if best is None:
        return "the optimum is not known"
    left = min(MAX_CANDIDATES, MAX_CELLS // subject.graphs.n_nodes**2)
    for i in subject.graphs.sizes.argsort(stable=True).tolist():
        pairs = subject.graphs.pair_mask[i].nonzero()
        count = 1
        while count < best[i] and count <= len(pairs) and comb(len(pairs), count) <= left:
            left -= comb(len(pairs), count)
            asked = _all_edits(subject.graphs.adjacency[i], pairs, count)
            answers = subject.oracle.predict(subject.graphs.candidates(asked, torch.full((len(asked),), i)))
            require(
                bool((answers == subject.classes[i]).all()),
                f"{subject.name}: {count} edits change the class of graph {i}, but optimal_ged says {best[i]:g}.",
            )
            count += 1
    return None


def _optimum(subject: Subject) -> Tensor | None:
    best = subject.oracle.optimal_ged(subject.graphs)
    if best is not None:
        valid = best.shape == (len(subject.graphs),) and bool((best >= 1).all())
        require(
            valid, f"{subject.name}: optimal_ged must be one number per graph, at least 1, infinite if there is none."
        )
    return best


def _all_edits(adjacency: Tensor, pairs: Tensor, count: int) -> Tensor:
    """The graph with every set of `count` of its node pairs flipped, uint8 [C, N, N]."""
    chosen = torch.tensor(list(combinations(range(len(pairs)), count)))
    edited = adjacency.repeat(len(chosen), 1, 1)
    row = torch.arange(len(chosen))[:, None]
    u, v = pairs[chosen].unbind(2)
    edited[row, u, v] ^= 1
    edited[row, v, u] ^= 1
    return edited


def important_edges_are_edges(subject: Subject) -> str | None:
    """`important_edges` marks edges of the graphs only, in the upper triangle."""
    important = subject.oracle.important_edges(subject.graphs)
    if important is None:
        return "the important edges are not known"
    fits = important.dtype == torch.bool and important.shape == subject.graphs.adjacency.shape
    require(fits, f"{subject.name}: important_edges must be a bool for each entry of the adjacency matrices.")
    only_edges = not (important & ~subject.graphs.edge_mask).any()
    require(only_edges, f"{subject.name}: important_edges marks pairs that are no edges, or edges u > v.")
    return None


CHECKS: tuple[Callable[[Subject], str | None], ...] = (
    describes_itself,
    answers_with_one_class_per_graph,
    answers_are_the_same_twice,
    batch_does_not_matter,
    lists_of_edges_agree,
    relaxation_agrees_on_binary_graphs,
    relaxation_has_gradients,
    embeddings_agree_with_the_class,
    optimum_is_reached,
    optimum_is_not_beaten,
    important_edges_are_edges,
    inputs_are_left_alone,
)
