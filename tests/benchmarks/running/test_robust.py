"""What counterfactuals withstand, measured in a cell: each column counted again, by NetworkX and by explaining."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.registry import methods, tasks
from benchmarks.results.cell import Cell
from benchmarks.running import robust
from benchmarks.running.robust import ANOTHER_SEED, CANDIDATES, FROZEN, MEASURED, Robust, Trials, measured, touched
from benchmarks.running.run_cell import Run, loaded
from rsgg.baselines.controls import TwoSided
from rsgg.counterfactual import Counterfactual
from rsgg.edits import NodeEdit
from rsgg.errors import DataError
from rsgg.graph import Graph, GraphBatch
from rsgg.oracles import Oracle
from rsgg.robustness import harmless_edits
from tests.graphs import has_cycle

TASK = tasks.TREE_CYCLES.varied({"n_nodes": 10, "n_graphs": 60, "max_cycle_nodes": 4})


class Counts(Oracle):
    """Class 1 are the graphs for which a count is above a limit: stands for an oracle that was trained again."""

    def __init__(self, count: Callable[[nx.Graph], int], limit: int) -> None:
        self.count, self.limit = count, limit

    def of(self, graph: Graph) -> int:
        return int(self.count(nx.from_numpy_array(graph.adjacency)) > self.limit)

    def predict(self, graphs: GraphBatch) -> torch.Tensor:
        return torch.tensor([self.of(graph) for graph in graphs])


COPIES = {
    "seed": [Counts(nx.number_of_edges, 9), Counts(nx.number_of_edges, 8)],
    "subsample": [Counts(lambda graph: len(nx.cycle_basis(graph)), 1)],
    "architecture": [Counts(nx.number_connected_components, 1)],
}


def made(row: methods.Row) -> Run:
    method, problem = methods.rows()[row], loaded(TASK, None, None)
    assert not isinstance(problem, DataError)
    run = Run(Cell(TASK, method, 0, 5), method.build(), problem)
    run.fit()
    run.results = run.explain()
    return run


def trials(run: Run) -> Trials:
    harmless, edited = harmless_edits(run.test, run.problem.oracle, "any name")
    return Trials(COPIES, harmless, edited.numpy())  # type: ignore[arg-type]


@pytest.fixture(
    scope="module", params=[("two-sided", "search"), ("one-removal", "control"), ("dce", "search")], ids=str
)
def run(request: pytest.FixtureRequest) -> Run:
    return made(request.param)


@pytest.fixture(scope="module")
def lines(run: Run) -> pd.DataFrame:
    return measured(run, trials(run))


def valid(result: Counterfactual) -> bool:
    before, after = (has_cycle(nx.from_numpy_array(graph.adjacency)) for graph in (result.input, result.returned))
    return before != after


def test_robustness_is_what_each_copy_says_of_input_and_counterfactual(run: Run, lines: pd.DataFrame) -> None:
    assert list(lines.columns) == list(MEASURED) and len(lines) == len(run.results)
    for result, (_, line) in zip(run.results, lines.iterrows(), strict=True):
        cyclic = has_cycle(nx.from_numpy_array(result.input.adjacency))
        for kind, several in COPIES.items():
            stays = np.mean([one.of(result.input) != one.of(result.returned) for one in several])
            assert line[f"robust_{kind}"] == stays if valid(result) else np.isnan(line[f"robust_{kind}"])
            assert line[f"agree_{kind}"] == np.mean([one.of(result.input) == cyclic for one in several])


def jaccard(one: Counterfactual, other: Counterfactual) -> float:
    a, b = ({frozenset(pair) for pair in result.edits} for result in (one, other))
    return len(a & b) / len(a | b) if a | b else 1.0


def test_stability_compares_edits_of_the_same_nodes(run: Run, lines: pd.DataFrame) -> None:
    harmless = run.explain(graphs=trials(run).harmless)
    again = run.explainer.explain(run.test, run.problem.oracle, seed=run.cell.seed_for(ANOTHER_SEED), check=False)
    for first, one, other, line in zip(run.results, harmless, again, lines.itertuples(), strict=True):
        assert np.sum(first.input.adjacency != one.input.adjacency) == 2, "one pair of the input differs"
        if not valid(first):
            assert np.isnan(line.stable_input) and np.isnan(line.stable_seed)
            continue
        assert line.stable_input == pytest.approx(jaccard(first, one) if valid(one) else 0)
        assert line.stable_seed == pytest.approx(jaccard(first, other) if valid(other) else 0)
    assert lines["stable_seed"].lt(1).any() or run.explainer.capabilities.deterministic


def test_only_methods_that_take_constraints_are_told_of_frozen_pairs(run: Run, lines: pd.DataFrame) -> None:
    told = run.cell.method.name == "two-sided"
    assert set(lines["told_frozen"]) == {float(told)} and run.explainer.constraints == ()
    results = run.results
    if told:
        results = TwoSided(constraints=(FROZEN,)).explain(
            run.test, run.problem.oracle, seed=run.cell.seed_for("explain"), check=False
        )
        assert [one.edits for one in results] != [one.edits for one in run.results]
    for result, actionable in zip(results, lines["actionable"], strict=True):
        n = result.input.n_nodes
        frozen = {divmod(code, n) for code in FROZEN.kept(result.input.name, n).tolist()}
        assert len(frozen) == round(n * (n - 1) / 10)
        assert actionable == float(valid(result) and not frozen & set(result.edits))
    assert 0 < lines["actionable"].mean() < 1 or run.cell.method.name == "dce"


def test_several_candidates_are_compared_as_graphs(run: Run, lines: pd.DataFrame) -> None:
    several = run.explain(k=CANDIDATES)
    for i, line in enumerate(lines.itertuples()):
        own = [one for one in several[CANDIDATES * i : CANDIDATES * (i + 1)] if valid(one)]
        pairs = list(combinations(own, 2))
        assert line.validity_at_k == float(bool(own))
        if not pairs:
            assert np.isnan(line.diversity) and np.isnan(line.jaccard_distance)
            continue
        apart = [np.sum(a.returned.adjacency != b.returned.adjacency) / 2 for a, b in pairs]
        assert line.diversity == pytest.approx(np.mean(apart))
        assert line.jaccard_distance == pytest.approx(np.mean([1 - jaccard(a, b) for a, b in pairs]))


def test_an_input_without_a_harmless_edit_is_left_out(run: Run) -> None:
    facing = trials(run)
    facing.edited[:3] = False
    lines = measured(run, facing)
    assert lines["stable_input"][:3].isna().all() and lines["stable_input"][3:].notna().any()


def test_a_dropped_leaf_touches_its_edge() -> None:
    path, shorter = (Graph(nx.to_numpy_array(nx.path_graph(n)), np.ones((n, 1))) for n in (4, 3))
    dropped = Counterfactual(path, shorter, 0, 0, "", 1, 0.0, node_edits=(NodeEdit("drop", 3, neighbour=2),))
    assert touched(dropped) == [2 * 4 + 3]


def test_what_all_methods_face_is_made_once_for_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where an observer comes through a pipe with each cell: the process keeps what was made."""
    calls: list[int] = []

    def copies(oracle: Oracle, graphs: GraphBatch, labels: torch.Tensor, count: int) -> dict[str, list[Counts]]:
        calls.append(len(graphs))
        return COPIES

    monkeypatch.setattr(robust, "copies_of", copies)
    runs = [made(("two-sided", "search")), made(("empty", "control"))]
    facing = [Robust(2).of_fold(one) for one in runs]
    assert facing[0] is facing[1] and calls == [48], "trained on all graphs outside the fold"
    assert Robust(1).of_fold(runs[0]) is not facing[0] and len(calls) == 2
    table = Robust(1).table(runs[1])
    assert table is not None and table["instance"].to_pylist() == runs[1].fold.test.tolist()
