"""Findings: closed forms against brute force, and verdicts on made-up results whose answer is plain."""

from __future__ import annotations

from itertools import product

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from benchmarks.findings import (
    FINDINGS,
    OPEN,
    Results,
    all_cut_probability,
    compute,
    cut_probability,
    markdown,
    uniform_correctness,
)
from rsgg.graph import Graph
from tests.graphs import tree, unicyclic


@pytest.mark.parametrize(("size", "edges"), [(1, 3), (2, 4), (3, 4), (3, 5), (5, 5)])
def test_cut_probability_is_that_of_all_draws_listed(size: int, edges: int) -> None:
    draws = list(product(range(edges), repeat=edges))
    cut = sum(not set(range(size)) <= set(drawn) for drawn in draws)
    assert cut_probability(size, edges) == pytest.approx(cut / len(draws))


def test_all_cut_probability_is_that_of_simulated_draws() -> None:
    drawn = np.zeros((60_000, 29), dtype=bool)
    drawn[np.arange(60_000)[:, None], np.random.default_rng(0).integers(29, size=(60_000, 29))] = True
    both = float((~drawn[:, :3].all(1) & ~drawn[:, 3:6].all(1)).mean())
    assert all_cut_probability([3, 3], 29) == pytest.approx(both, abs=0.008)
    assert all_cut_probability([4], 28) == pytest.approx(cut_probability(4, 28))


def test_uniform_draws_are_expected_to_explain_nine_in_ten() -> None:
    """The six equally likely kinds of cyclic graph, and as many trees, which always succeed."""
    two = nx.disjoint_union(unicyclic(14, 3), unicyclic(14, 3, 1))
    two.add_edge(0, 14)
    cyclic, trees = [unicyclic(28, size) for size in range(3, 8)] + [two], [tree(28, seed) for seed in range(6)]
    graphs = [Graph.from_networkx(graph) for graph in cyclic + trees]
    by_hand = (6 + sum(cut_probability(size, 28) for size in range(3, 8)) + all_cut_probability([3, 3], 29)) / 12
    assert uniform_correctness(graphs) == pytest.approx(by_hand) == pytest.approx(0.9138, abs=1e-4)


def test_without_results_every_finding_is_open_and_says_why() -> None:
    columns = ["dataset", "method", "variant", "metric", "mean", "verdict"]
    found = compute(Results(pd.DataFrame(columns=columns), pd.DataFrame()))
    assert list(found["number"]) == list(FINDINGS)
    assert set(found["verdict"]) == {OPEN} and found["measured"].str.contains("not measured").all()
    assert "## 8." in markdown(found) and "What stands" in markdown(found)


def one_way(explained: dict[str, tuple[float, float]]) -> Results:
    lines = [
        {
            "dataset": "tree-cycles",
            "method": method,
            "variant": "released",
            "metric": f"correctness_class_{c}",
            "mean": x,
        }
        for method, pair in explained.items()
        for c, x in enumerate(pair)
    ]
    ledger = pd.DataFrame(
        {"dataset": "tree-cycles", "method": "cf2", "variant": "released", "seed": 0, "predicted": [0, 1, 1, 0]}
    )
    return Results(pd.DataFrame(lines), ledger)


def test_a_class_prior_is_all_of_one_class_and_none_of_the_other() -> None:
    prior = {"cf2": (0.0, 1.0), "clear": (1.0, 0.0), "g-countergan": (1.0, 0.0)}
    assert FINDINGS[6][1](one_way(prior)).verdict == "confirmed"
    finding = FINDINGS[6][1](one_way({**prior, "clear": (1.0, 0.1)}))
    assert finding.verdict == "not confirmed" and "0.500 of our graphs are cyclic" in finding.measured
