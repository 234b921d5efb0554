"""The tasks and the ablation grids: declared once, loadable, and with nothing in them that equals a default."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from benchmarks.registry import ablations, methods, tasks
from benchmarks.registry.tasks import ASD, TASKS, TREE_CYCLES, TaskEntry
from benchmarks.results.cell import Cell
from rsgg.data import TreeCycles
from rsgg.errors import UsageError
from rsgg.task import Task
from tests.standins import DATA, DRAWS

every_task = pytest.mark.parametrize("entry", TASKS, ids=lambda entry: entry.name)
every_grid = pytest.mark.parametrize(
    "grid",
    [grid for grids in ablations.GRIDS.values() for grid in grids.values()],
    ids=lambda grid: grid.vary,
)
DEFAULTS = {option.name: getattr(TreeCycles(), option.name) for option in fields(TreeCycles)}


# -- What is declared ------------------------------------------------------------------------------------


def test_names_and_labels_of_tasks_are_unique() -> None:
    assert len({entry.name for entry in TASKS}) == len({entry.label for entry in TASKS}) == len(TASKS)


@every_task
def test_a_task_can_be_built_and_its_options_differ_from_the_defaults(entry: TaskEntry) -> None:
    task = entry.build()
    assert isinstance(task, Task) and task.label == entry.label and task.class_names == entry.class_names
    assert task.oracle.n_classes == len(entry.class_names)
    of_oracle = {name: part.default for name, part in inspect.signature(type(task.oracle)).parameters.items()}
    for name, value in {**entry.options, **entry.smoke}.items():
        assert getattr(type(task.dataset)(), name) != value, f"{name}={value!r} is the default"
    for name, value in entry.oracle_options.items():
        assert of_oracle[name] != value, f"{name}={value!r} is the oracle's default"
    assert entry.generated == any(option.name == "seed" for option in fields(task.dataset))  # type: ignore[arg-type]


def test_tasks_refer_to_rows_and_tasks_that_are_there() -> None:
    for entry in TASKS:
        assert set(entry.rows or ()) <= {method.title for method in methods.METHODS}
        assert entry.renames in ("", *tasks.tasks())
    assert {entry.name for entry in tasks.of_paper()} == {"tree-cycles", "asd"}


@every_grid
def test_points_of_a_grid_are_data_that_can_be_declared_and_differ_from_the_defaults(grid: ablations.Grid) -> None:
    for options in grid.points.values():
        TreeCycles(**options)
        assert all(DEFAULTS[name] != value for name, value in options.items()), options
    smoke = ablations.small(grid).points
    assert len({str(options) for options in smoke.values()}) == len(smoke) == ablations.SMOKE_POINTS


def test_what_a_grid_varies_is_what_its_points_say() -> None:
    option = {"n_instances": "n_graphs"}
    for vary, grid in ablations.PAPER.items():
        name = option.get(vary, vary)
        assert [options.get(name, DEFAULTS[name]) for options in grid.points.values()] == list(grid.points)
    eight = ablations.RELEASED["cycle_size"].points[8]
    assert eight["cycle_size"] == 5, "the released file for cycles of 8 nodes sets 5"
    assert (DEFAULTS["n_nodes"], DEFAULTS["n_graphs"]) == (ablations.USUAL_NODES, ablations.USUAL_GRAPHS)


# -- Variants of a task ----------------------------------------------------------------------------------


def test_replicates_of_generated_data_have_a_seed_and_given_data_stay_what_they_are() -> None:
    assert DATA.replicate(3).options == {**DATA.options, "seed": 3}
    assert DATA.replicate(3).replicate(0) == DATA.replicate(0) == DATA
    assert ASD.replicate(3) == ASD


def test_a_definition_names_what_differs_and_nothing_else() -> None:
    assert TREE_CYCLES.definition() == {"name": "tree-cycles"}
    assert replace(TREE_CYCLES, label="L", about="A", class_names=("a", "b")).definition() == {"name": "tree-cycles"}
    small = TREE_CYCLES.small().replicate(2)
    assert small.definition() == {"name": "tree-cycles", "options": {"n_graphs": 60, "seed": 2}}
    nested = small.training_graphs(1, 5, 2).definition()
    assert nested == {
        "name": "tree-cycles-training", "options": {"n_graphs": 60, "seed": 2}, "training_of": (1, 5, 2),
    }  # fmt: skip


def test_the_training_graphs_of_a_fold_are_a_task_of_their_own() -> None:
    whole, inner = DATA.load(), DATA.training_graphs(1, 4, 3).load()
    train = whole.folds(4, 3)[1].train
    assert inner.name == "tree-cycles-training" and len(inner) == len(train)
    assert torch.equal(inner.graphs.adjacency, whole.graphs.select(train).adjacency)
    other = Cell(DATA.training_graphs(2, 4, 3), DRAWS, 0)
    assert Cell(DATA.training_graphs(1, 4, 3), DRAWS, 0).key != other.key


def test_classes_have_names() -> None:
    assert ASD.class_name(1) == "autistic" and ASD.class_name(2) == "class 2"
    assert TREE_CYCLES.title == "Tree-Cycles (28 nodes)" and replace(TREE_CYCLES, about="").title == "Tree-Cycles"


# -- Asking ----------------------------------------------------------------------------------------------


def test_tasks_are_chosen_by_name_in_the_order_of_the_registry() -> None:
    def names(*asked: str, **how: Any) -> list[str]:
        return [entry.name for entry in tasks.choose(asked, **how)]

    assert names() == ["tree-cycles", "tree-cycles-relabelled", "tree-cycles-32", "asd"]
    assert names("asd,tree-cycles") == ["tree-cycles", "asd"]
    assert names("tree-cycles-ablation") == ["tree-cycles-ablation"]
    assert tasks.choose(["tree-cycles"], smoke=True)[0].options == {"n_graphs": 60}
    with pytest.raises(UsageError, match=r"^There is no data set 'tree-cycle'; did you mean 'tree-cycles'\?$"):
        names("tree-cycle")


def test_a_task_that_this_version_does_not_know_can_be_named_but_not_run() -> None:
    assert tasks.task("gone").label == tasks.label("gone") == "gone"
    with pytest.raises(UsageError):
        tasks.task("gone").build()
