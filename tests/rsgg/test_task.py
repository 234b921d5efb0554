"""A task is a data set and an oracle: what it declares, what it loads, and what is refused."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from torch import Tensor

from rsgg.data import ASD, Dataset, TrainingGraphs, TreeCycles
from rsgg.errors import UsageError
from rsgg.graph import GraphBatch
from rsgg.oracles import ASDOracle, CountingOracle, Oracle, TreeCyclesOracle
from rsgg.task import Task
from tests.graphs import needs_asd

TASK = Task("small", TreeCycles(n_graphs=12), TreeCyclesOracle(), class_names=("tree", "cyclic"))


def test_a_task_declares_what_results_depend_on_and_nothing_else() -> None:
    parameters = TASK.parameters()
    assert (
        json.loads(json.dumps(parameters))
        == parameters
        == {
            "dataset": {"name": "tree-cycles", "parameters": TreeCycles(n_graphs=12).parameters()},
            "oracle": {"name": "tree-cycles", "parameters": {}},
        }
    )
    same = Task("small", TreeCycles(n_graphs=12), TreeCyclesOracle(), label="Shown otherwise")
    assert same == TASK and hash(same) == hash(TASK) and pickle.loads(pickle.dumps(TASK)) == TASK
    assert replace(TASK, name="other") != TASK and replace(TASK, dataset=TreeCycles(n_graphs=13)) != TASK
    assert replace(TASK, oracle=ASDOracle()) != TASK and TASK != "small"
    assert (TASK.label, same.label) == ("small", "Shown otherwise")


def test_a_problem_is_the_data_with_an_oracle_that_answers() -> None:
    problem = TASK.load()
    assert (problem.name, len(problem), problem.dataset.name) == ("small", 12, "tree-cycles")
    assert torch.equal(problem.oracle.predict(problem.graphs), problem.labels)
    cyclomatic = [g.number_of_edges() - 28 + 1 for g in (graph.to_networkx() for graph in problem.graphs)]
    assert problem.optimum is not None and problem.optimum.tolist() == [number or 1 for number in cyclomatic]
    assert problem.optimum is problem.optimum
    assert set(problem.with_encoding("structural").graphs.encodings) == {"structural"}


def test_folds_are_shuffled_by_the_data_set_whatever_the_task_is_called() -> None:
    """The same split as ever: these numbers are part of the benchmark."""
    expected = [[7, 8, 11], [0, 6, 9], [3, 4, 10], [1, 2, 5]]
    for spec in (TreeCycles(n_graphs=12), TreeCycles(n_graphs=12, name="renamed")):
        folds = Task("anything", spec, TreeCyclesOracle()).load().folds(4, 1)
        assert [fold.test.tolist() for fold in folds] == expected


@needs_asd
def test_folds_of_asd() -> None:
    problem = Task("asd", ASD(), ASDOracle(), shared_nodes=True).load()
    assert problem.folds(10, 0)[3].test.tolist() == [9, 37, 41, 48, 51, 54, 55, 63, 82, 90]
    assert problem.optimum is not None and problem.optimum.sum() == 828


def test_data_that_are_no_dataset_are_a_sentence() -> None:
    class Listed(TreeCycles):
        def load(self, data_dir: Path | None = None) -> Dataset:
            return [1, 2]  # type: ignore[return-value]

    with pytest.raises(UsageError, match=r"the task 'odd' loads a list; let its load\(\) return an rsgg.Dataset"):
        Task("odd", Listed(n_graphs=4), TreeCyclesOracle()).load()


class Majority(Oracle):
    """Has to see the data first: class 1 iff a graph has more edges than the average graph."""

    name = "majority"

    def __init__(self, threshold: float | None = None) -> None:
        self.threshold = threshold

    def prepared(self, dataset: Dataset) -> Oracle:
        return Majority(float(dataset.graphs.n_edges.double().mean()))

    def predict(self, graphs: GraphBatch) -> Tensor:
        assert self.threshold is not None, "not prepared"
        return (graphs.n_edges > self.threshold).long()


def test_an_oracle_is_prepared_with_the_data_and_an_unknown_optimum_is_none() -> None:
    oracle = Majority()
    problem = Task("edges", TrainingGraphs(TreeCycles(n_graphs=20), fold=0, folds=5), oracle).load()
    mean = sum(graph.to_networkx().number_of_edges() for graph in problem.graphs) / 16
    assert problem.oracle.predict(problem.graphs).tolist() == [int(graph.n_edges > mean) for graph in problem.graphs]
    assert oracle.threshold is None and problem.optimum is None


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: replace(TASK, name=""), "has the name ''"),
        (lambda: replace(TASK, oracle=TreeCyclesOracle), "give an oracle, as rsgg.TreeCyclesOracle"),  # type: ignore[arg-type]
        (lambda: replace(TASK, oracle=CountingOracle(TreeCyclesOracle())), "counts nothing itself"),
        (lambda: replace(TASK, dataset=TreeCycles), "as rsgg.TreeCycles"),  # type: ignore[arg-type]
        (lambda: replace(TASK, dataset=[nx.path_graph(3)]), "give an object with a name, parameters"),  # type: ignore[arg-type]
        (lambda: replace(TASK, class_names=("tree", "cycle", "other")), "names 3 classes and its oracle has 2"),
    ],
)
def test_tasks_that_make_no_sense_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        make()


def test_a_task_draws_some_graphs_of_each_fold_by_name() -> None:
    task = Task("drawn", TreeCycles(n_graphs=40), TreeCyclesOracle(), max_train=10, max_test=3)
    problem, whole = task.load(), TreeCycles(n_graphs=40).load()
    for fold, again, all_of_it in zip(problem.folds(4), task.load().folds(4), whole.folds(4), strict=True):
        assert torch.equal(fold.train, again.train) and torch.equal(fold.test, again.test)
        assert (len(fold.train), len(fold.test)) == (10, 3)
        assert torch.equal(fold.outside, all_of_it.train) and torch.isin(fold.test, all_of_it.test).all()
        assert torch.equal(fold.train.sort().values, fold.train) and len(fold.rest) == 20
    assert len({tuple(fold.test.tolist()) for fold in problem.folds(4)}) == 4
    plain = TASK.load().folds(3)[0]
    assert torch.equal(plain.outside, plain.train) and len(plain.rest) == 0
    assert task.parameters()["max_train"] == 10 and "budget" not in task.parameters()
    assert problem.in_fold(plain) is problem, "a rule needs no training"


@pytest.mark.parametrize("limit", ["max_train", "max_test", "budget"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True])
def test_limits_are_whole_numbers(limit: str, value: Any) -> None:
    with pytest.raises(UsageError, match=limit):
        replace(TASK, **{limit: value})
