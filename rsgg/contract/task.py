"""What every task promises: `check_task(my_task)`. The data, the folds, and the oracle on these data."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import torch

from rsgg.contract import oracle as oracle_contract
from rsgg.contract.checking import ContractViolation, require, require_plain_json, run_checks
from rsgg.data.dataset import Dataset
from rsgg.task import Problem, Task

MAX_GRAPHS = 24  # that the oracle is checked on


def check_task(task: Task, data_dir: Path | None = None) -> list[str]:
    """One line for each promise that the task keeps; `ContractViolation` with a sentence at the first it breaks.

    `data_dir` is where data sets that have files look for them. The task's oracle is checked on some of its graphs.
    """
    subject = Subject(task, data_dir)
    passed = run_checks(CHECKS, subject)
    some = subject.problem.graphs[:: max(1, len(subject.problem) // MAX_GRAPHS)]
    passed += [f"oracle, {line}" for line in oracle_contract.check_oracle(subject.problem.oracle, some)]
    return passed


class Subject:
    """The task under test, loaded once for all checks."""

    def __init__(self, task: Task, data_dir: Path | None = None) -> None:
        if not isinstance(task, Task):
            given = f"The class {task.__name__}" if isinstance(task, type) else f"A {type(task).__name__}"
            raise ContractViolation(f"{given} is no task; make one with rsgg.Task(name, dataset, oracle).")
        self.task, self.data_dir = task, data_dir

    @property
    def name(self) -> str:
        return f"The task {self.task.name!r}"

    @cached_property
    def problem(self) -> Problem:
        return self.loaded()

    def loaded(self) -> Problem:
        """The task loaded anew; an oracle that is trained in each fold is that of the first."""
        problem = self.task.load(self.data_dir)
        return problem.in_fold(problem.folds(min(10, len(problem)))[0]) if problem.oracle.fits else problem


def declares_plain_parameters(subject: Subject) -> None:
    """The parameters of the data set and of the oracle are plain JSON values, and the data set has a name."""
    task = subject.task
    named = isinstance(task.dataset.name, str) and bool(task.dataset.name)
    require(named, f"{subject.name}: its data set has the name {task.dataset.name!r}; give it one.")
    require_plain_json(task.dataset.parameters(), f"{subject.name}: its data set")
    require_plain_json(task.oracle.parameters(), f"{subject.name}: its oracle")
    hash(task.dataset)  # data sets are loaded once and found again by their declaration


def names_its_classes(subject: Subject) -> str | None:
    """There is a name for each class of the oracle."""
    names, count = subject.task.class_names, subject.task.oracle.n_classes
    if not names:
        return "no class names are given"
    require(
        len(names) == len(set(names)) == count and all(isinstance(name, str) and name for name in names),
        f"{subject.name} has the class names {names}; give {count} different texts, one per class of the oracle.",
    )
    return None


def graphs_are_simple(subject: Subject) -> None:
    """Two graphs or more, each undirected, without self loops and multiplicities, and with a name of its own."""
    dataset = subject.problem.dataset
    require(isinstance(dataset, Dataset), f"{subject.name}: load() returned a {type(dataset).__name__}, not a Dataset.")
    graphs, count = dataset.graphs, len(dataset)
    require(count >= 2, f"{subject.name} has {count} graphs; folds need two or more.")
    a, upper = graphs.adjacency, graphs.pair_mask
    require(a.dtype == torch.uint8, f"{subject.name}: adjacency matrices are {a.dtype}; make them uint8.")
    simple = torch.equal(a, a.transpose(1, 2)) and bool((a <= 1).all())
    simple = simple and not (a.bool() & ~(upper | upper.transpose(1, 2))).any()
    require(
        simple and bool((graphs.sizes >= 1).all()),
        f"{subject.name}: an adjacency matrix is not symmetric, not binary, has a self loop, or edges beyond the "
        "graph's size; make graphs with rsgg.Graph, which checks each.",
    )
    unique = len(set(graphs.names)) == count
    require(unique, f"{subject.name}: two graphs have the same name; names seed what is random, so give each its own.")


def labels_are_classes(subject: Subject) -> None:
    """Each graph has a true label, from 0 to the number of classes - 1."""
    labels, n_classes = subject.problem.labels, subject.task.oracle.n_classes
    outside = labels[(labels < 0) | (labels >= n_classes)].tolist()
    if outside:
        has = f"its oracle has {n_classes} classes, numbered from 0"
        raise ContractViolation(f"{subject.name} has the label {outside[0]}, but {has}.")


def every_class_is_there(subject: Subject) -> None:
    """The oracle puts some graphs into every class: methods that learn need examples of each."""
    classes = set(subject.problem.oracle.predict(subject.problem.graphs).tolist())
    missing = sorted(set(range(subject.problem.oracle.n_classes)) - classes)
    if missing:
        advice = "use more graphs, or an oracle that fits them"
        raise ContractViolation(f"{subject.name}: for its oracle no graph is of class {missing[0]}; {advice}.")


def folds_are_disjoint_and_cover(subject: Subject) -> None:
    """Folds are disjoint, cover all graphs (or the test graphs of a given split), and are the same each time."""
    dataset = subject.problem.dataset
    given, everything = dataset.test, torch.arange(len(dataset))
    tested = everything if given is None else given
    k = min(10, len(tested)) if dataset.times is None else len(dataset.times.unique())
    folds, again = dataset.folds(k, 0), dataset.folds(k, 0)
    tests = torch.cat([fold.test for fold in folds]).sort().values
    require(torch.equal(tests, tested), f"{subject.name}: the test graphs of its folds are not all graphs.")
    for fold, other in zip(folds, again, strict=True):
        overlap = torch.isin(fold.train, fold.test if given is None or dataset.times is not None else given)
        require(not overlap.any(), f"{subject.name}: training and test graphs of a fold overlap.")
        if dataset.times is None:
            both = torch.cat((fold.train, fold.test if given is None else given)).sort().values
            require(torch.equal(both, everything), f"{subject.name}: a fold leaves out graphs.")
        require(torch.equal(fold.test, other.test), f"{subject.name}: folds differ from call to call.")


def loading_again_gives_the_same(subject: Subject) -> None:
    """The declared parameters determine the data and the oracle: loading twice gives the same."""
    first, again = subject.problem, subject.loaded()
    same = (
        first.graphs.adjacency.shape == again.graphs.adjacency.shape
        and torch.equal(first.graphs.adjacency, again.graphs.adjacency)
        and torch.equal(first.graphs.sizes, again.graphs.sizes)
        and torch.equal(first.labels, again.labels)
        and first.graphs.names == again.graphs.names
        and (first.graphs.features is None) == (again.graphs.features is None)
    )
    if same and first.graphs.features is not None and again.graphs.features is not None:
        same = torch.equal(first.graphs.features, again.graphs.features)
    require(same, f"{subject.name} loads other graphs the second time; seed what is random and declare the seed.")
    answers = torch.equal(first.oracle.predict(first.graphs), again.oracle.predict(again.graphs))
    require(answers, f"{subject.name}: its oracle answers differently when the task is loaded again.")


CHECKS: tuple[Callable[[Subject], str | None], ...] = (
    declares_plain_parameters,
    names_its_classes,
    graphs_are_simple,
    labels_are_classes,
    every_class_is_there,
    folds_are_disjoint_and_cover,
    loading_again_gives_the_same,
)
