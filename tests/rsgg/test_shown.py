"""Whatever a method claims was said by the oracle, also by one that changes its mind or fails on some graphs."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from functools import lru_cache

import pytest
import torch
from torch import Tensor

from rsgg.contract.explainer import graphs_to_explain, training_graphs
from rsgg.edges import EdgeBatch
from rsgg.errors import OracleError
from rsgg.explainer import Explainer
from rsgg.graph import GraphBatch
from rsgg.oracles import TreeCyclesOracle
from rsgg.quick import UntaughtSearch
from rsgg.rsgg_ce import RankedRSGGCE, TaughtRSGGCE
from tests.rsgg.test_contract import OF_RULES

METHODS = {
    **OF_RULES,
    "RankedRSGGCE": lambda: RankedRSGGCE,
    "TaughtRSGGCE": lambda: TaughtRSGGCE,
    "TaughtRSGGCE certified": lambda: TaughtRSGGCE(steps=5, certify=True),
    "UntaughtSearch": lambda: UntaughtSearch,
}


class Recording(TreeCyclesOracle):
    """Notes every graph that it was shown with what it said about it.

    `moody`: it now and then says something else, to the same graph too. `fragile`: it fails on some graphs.
    """

    def __init__(self, kind: str = "steady") -> None:
        self.kind, self.rng = kind, torch.Generator().manual_seed(1)
        self.said: dict[bytes, set[int]] = defaultdict(set)

    def predict(self, graphs: GraphBatch) -> Tensor:
        answers = super().predict(graphs)
        if self.kind == "moody":
            answers = torch.where(torch.rand(len(graphs), generator=self.rng) < 0.2, 1 - answers, answers)
        for graph in graphs:
            written = graph.adjacency.tobytes()
            if self.kind == "fragile" and hashlib.sha256(written).digest()[0] < 40 and written not in INPUTS:
                raise ValueError("a graph that the model cannot read")
        for graph, answer in zip(graphs, answers.tolist(), strict=True):
            self.said[graph.adjacency.tobytes()].add(answer)
        return answers

    def predict_edges(self, graphs: EdgeBatch) -> Tensor:
        """About lists of edges it says what it says about matrices."""
        return self.predict(graphs.to_dense())

    def relaxed_graphs(self, graphs: GraphBatch, soft: Tensor) -> Tensor:
        """Probabilities are an answer too: MEG is told them."""
        probabilities = super().relaxed_graphs(graphs, soft)
        for graph, answer in zip(graphs, probabilities.argmax(1).tolist(), strict=True):
            self.said[graph.adjacency.tobytes()].add(answer)
        return probabilities


INPUTS = {graph.adjacency.tobytes() for graph in graphs_to_explain()}


@lru_cache
def fitted(name: str) -> Explainer:
    made = METHODS[name]()
    explainer = made.tiny() if isinstance(made, type) else made
    return explainer.fit(training_graphs(), TreeCyclesOracle())


@pytest.mark.parametrize("kind", ["steady", "moody", "fragile"])
@pytest.mark.parametrize("name", METHODS)
def test_what_is_found_was_said_by_the_oracle(name: str, kind: str) -> None:
    oracle = Recording(kind)
    for result in fitted(name).explain(graphs_to_explain(), oracle, k=2):
        if result.found:
            assert result.graph is not None and result.after != result.before
            assert result.after in oracle.said[result.graph.adjacency.tobytes()]
        else:
            assert result.reason


def test_a_failure_of_the_oracle_is_told_in_the_reason_of_those_whom_it_concerns() -> None:
    class Pieces(TreeCyclesOracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            if bool((graphs.n_edges == 0).any()):
                raise ValueError("no edges, no class")
            return super().predict(graphs)

    oracle = Pieces()
    results = fitted("controls.RandomEdits").explain(graphs_to_explain(), oracle)
    assert all(one.found for one in results), "only the empty graph fails, which is one question of many"
    empty = fitted("Minimised(Empty)").explain(graphs_to_explain(), oracle)
    assert all("no edges, no class" in one.reason for one in empty)


def test_an_oracle_that_fails_on_the_inputs_is_an_error() -> None:
    class Broken(TreeCyclesOracle):
        def predict(self, graphs: GraphBatch) -> Tensor:
            raise ValueError("gone")

    with pytest.raises(OracleError, match="gone"):
        fitted("controls.TwoSided").explain(graphs_to_explain(), Broken())
