"""The tasks and the ablation grids: declared once, loadable, and with nothing in them that equals a default."""

from __future__ import annotations

import inspect
from dataclasses import fields, replace
from typing import Any

import pytest
import torch

from benchmarks.registry import ablations, methods, tasks
from benchmarks.registry.tasks import ASD, LEARNT, TASKS, TREE_CYCLES, TaskEntry
from benchmarks.results.cell import Cell
from benchmarks.running import plan
from rsgg.contract import check_task
from rsgg.data import TreeCycles
from rsgg.errors import UsageError
from rsgg.task import Task
from tests.graphs import needs_public_data
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


# -- How a task is measured --------------------------------------------------------------------------------


def test_limits_are_part_of_what_is_declared_where_there_are_any() -> None:
    entry = tasks.task("mutag-gin")
    limits = {"max_train": 400, "max_test": 60, "budget": 2000}
    assert (
        entry.definition() == {"name": "mutag-gin", **limits} and entry.build().parameters().items() >= limits.items()
    )
    assert ASD.definition() == {"name": "asd"} and TREE_CYCLES.definition() == {"name": "tree-cycles"}
    small = entry.small()
    assert (small.max_train, small.max_test, small.budget) == (40, 12, 2000) and TREE_CYCLES.small().max_test is None
    assert entry.measured_by({"max_test": 3, "name": "other"}) == replace(entry, max_test=3)


def test_learnt_oracles_are_measured_alike_and_stay_out_of_table_1() -> None:
    assert len(LEARNT) >= 9 and all(entry in TASKS and not entry.in_table1 for entry in LEARNT)
    assert {(entry.folds, entry.max_train, entry.max_test, entry.budget) for entry in LEARNT} == {(5, 400, 60, 2000)}
    largest = {entry.name: getattr(entry.build().dataset, "max_nodes", 25) for entry in LEARNT}
    assert {name for name, n in largest.items() if n is None} == {"mutag-gin", "mutag-gcn"}, "of 28 nodes at most"


@needs_public_data
@pytest.mark.parametrize("name", ["aids-gcn", "proteins-gcn"])
def test_tasks_with_published_oracles_keep_the_contract(name: str) -> None:
    check_task(tasks.task(name).build())


def test_a_task_is_cut_into_the_folds_that_it_says() -> None:
    cells = plan.grid([tasks.task("mutag-gin"), ASD], [DRAWS], folds=(0, 4, 5))
    assert [(cell.task.name, cell.fold, cell.folds) for cell in cells] == [
        ("mutag-gin", 0, 5), ("mutag-gin", 4, 5), ("asd", 0, 10), ("asd", 4, 10), ("asd", 5, 10),
    ]  # fmt: skip
    assert cells[0].definition["folds"] == 5 and "folds" not in cells[2].definition


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
