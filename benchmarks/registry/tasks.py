"""Every task: a data set and the oracle whose decisions are explained, declared once with its public names.

A task is identified by its name, as it stands in the column `dataset` of every file. `options` and `oracle_options` are
values that differ from the defaults of the classes; they are part of the address of a result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.registry import ablations
from benchmarks.registry import names as typed
from rsgg.errors import UsageError

if TYPE_CHECKING:
    from rsgg.task import Problem, Task

Options = Mapping[str, Any]
TRAINING = "-training"  # ends the name of a task that is the training graphs of another


@dataclass(frozen=True)
class TaskEntry:
    """A data set × an oracle.

    Args:
        name: how files call it.
        label: its one public name; `about` is what a panel's title adds, e.g. "28 nodes".
        dataset, oracle: the classes, as "module:Class"; for a user's task, `task` names an `rsgg.Task` instead, and
            `declared` is what that task says its results depend on (`Task.parameters`).
        options, oracle_options: what differs from their defaults.
        class_names: the oracle's classes.
        shared_nodes: nodes are the same things in every graph.
        generated: a replicate draws new graphs (the data set has an option `seed`).
        smoke: options of a smoke run.
        renames: the task of which this is the same graphs with nodes renamed at random; run for methods that depend on
            how nodes are numbered, and shown in columns beside that task.
        rows: the only rows ("meg:released") that are run here; None: all.
        training_of: (fold, folds, seed): only the training graphs of this fold, for a search inside them.
    """

    name: str
    label: str
    dataset: str = ""
    oracle: str = ""
    options: Options = field(default_factory=dict, hash=False)
    oracle_options: Options = field(default_factory=dict, hash=False)
    about: str = ""
    class_names: tuple[str, ...] = ()
    shared_nodes: bool = False
    generated: bool = False
    smoke: Options = field(default_factory=dict, hash=False)
    renames: str = ""
    rows: tuple[str, ...] | None = None
    in_table1: bool = True
    training_of: tuple[int, int, int] | None = None
    task: str = ""
    declared: Options = field(default_factory=dict, hash=False)

    @property
    def title(self) -> str:
        """For the head of a panel: "Tree-Cycles (28 nodes)"."""
        return f"{self.label} ({self.about})" if self.about else self.label

    def definition(self) -> dict[str, Any]:
        """What a result depends on, as declared; what is at its default is left out."""
        parts = {
            "options": dict(self.options),
            "oracle": dict(self.oracle_options),
            "training_of": self.training_of,
            "declared": dict(self.declared),
        }
        return {"name": self.name, **{name: value for name, value in parts.items() if value}}

    def replicate(self, seed: int) -> TaskEntry:
        """This task in another replicate: generated data are generated anew, given data stay what they are."""
        options = {name: value for name, value in self.options.items() if name != "seed"}
        return replace(self, options={**options, "seed": seed} if seed else options) if self.generated else self

    def varied(self, options: Options) -> TaskEntry:
        return replace(self, options={**self.options, **options})

    def small(self) -> TaskEntry:
        """The task of a smoke run."""
        return self.varied(self.smoke)

    def training_graphs(self, fold: int, folds: int, seed: int = 0) -> TaskEntry:
        """The training graphs of one fold as a task of their own: what a nested search may look at."""
        return replace(self, name=f"{self.name}{TRAINING}", training_of=(fold, folds, seed))

    def class_name(self, c: int) -> str:
        return self.class_names[c] if c < len(self.class_names) else f"class {c}"

    # -- what needs the classes ------------------------------------------------------------------------

    def build(self) -> Task:
        """The task itself, with its data set (not loaded yet) and its oracle."""
        from rsgg.data.training_graphs import TrainingGraphs
        from rsgg.task import Task

        if self.task:
            task: Task = typed.imported(self.task)
            task = typed.made(task, self.task) if callable(task) else task
        else:
            data, oracle = typed.imported(self.dataset), typed.imported(self.oracle)
            task = Task(
                self.name, data(), oracle(**self.oracle_options), self.label, self.class_names, self.shared_nodes
            )
        if self.options:
            task = replace(task, dataset=replace(task.dataset, **self.options))  # type: ignore[type-var]
        if self.training_of:
            fold, folds, seed = self.training_of
            task = replace(task, name=self.name, dataset=TrainingGraphs(task.dataset, fold, folds, seed))
        return task

    def load(self, data_dir: Path | None = None) -> Problem:
        return self.build().load(data_dir)


TREE_CYCLES = TaskEntry(
    "tree-cycles", "Tree-Cycles", "rsgg.data:TreeCycles", "rsgg.oracles:TreeCyclesOracle",
    about="28 nodes", class_names=("tree", "cyclic"), generated=True, smoke={"n_graphs": 60},
)  # fmt: skip
ASD = TaskEntry(
    "asd", "ASD", "rsgg.data:ASD", "rsgg.oracles:ASDOracle", about="116 brain regions",
    class_names=("typically developed", "autistic"), shared_nodes=True,
)  # fmt: skip

TASKS: list[TaskEntry] = [
    TREE_CYCLES,
    replace(
        TREE_CYCLES, name="tree-cycles-relabelled", label="Tree-Cycles, nodes renamed at random", about="",
        options={"order": "random"}, renames="tree-cycles",
    ),
    replace(
        TREE_CYCLES, name="tree-cycles-32", label="Tree-Cycles, 32 nodes", about="", options={"n_nodes": 32},
        rows=("meg:released",),
    ),
    ASD,
    replace(TREE_CYCLES, name=ablations.TASK, label="Tree-Cycles, ablations", about="", in_table1=False),
]  # fmt: skip

PAPER = ("tree-cycles", "asd")  # the data sets of the paper
ENTRY_POINTS = "rsgg.tasks"  # the group in which installed packages offer tasks


def tasks() -> dict[str, TaskEntry]:
    """All tasks by name, in the order of the registry."""
    return {task.name: task for task in TASKS}


def task(name: str) -> TaskEntry:
    """The task of this name; of one that this version does not know, a bare entry that can be shown but not run."""
    return tasks().get(name) or TaskEntry(name, name)


def of_paper() -> tuple[TaskEntry, ...]:
    return tuple(task(name) for name in PAPER)


def label(name: str) -> str:
    return task(name).label


def choose(asked: Sequence[str] | None = None, *, smoke: bool = False) -> tuple[TaskEntry, ...]:
    """The tasks of these names, in the order of the registry; small ones for a smoke run. All of Table 1 by default."""
    wanted = [_named(name) for name in typed.names(asked)] or [entry.name for entry in TASKS if entry.in_table1]
    return tuple(entry.small() if smoke else entry for entry in TASKS if entry.name in wanted)


def _named(asked: str) -> str:
    if asked in tasks():
        return asked
    joined = _join(asked)
    if joined is None:
        raise typed.unknown("data set", asked, [entry.name for entry in TASKS if entry.in_table1])
    return joined.name


# -- Tasks from outside the project ------------------------------------------------------------------------


def _join(asked: str) -> TaskEntry | None:
    """The entry of a user's `rsgg.Task`, `my_module:my_task` or an entry point, entered into the registry for this run.

    The user's module is imported here and nowhere else. None if this is no such name.
    """
    reference = typed.reference(asked, ENTRY_POINTS)
    if reference is None:
        return None
    known = next((entry for entry in TASKS if entry.task == reference), None)
    if known is not None:
        return known
    from rsgg.task import Task  # late: it loads torch, which names and looks do not need

    found = typed.imported(reference)
    found = typed.made(found, reference) if callable(found) else found
    if not isinstance(found, Task):
        raise UsageError(f"{reference} is no task; make it an rsgg.Task (rsgg/templates/task.py shows how).")
    typed.check_new("data set", found.name, list(tasks()))
    generated = is_dataclass(found.dataset) and any(part.name == "seed" for part in fields(found.dataset))
    entry = TaskEntry(
        found.name, found.label or found.name, class_names=tuple(found.class_names), shared_nodes=found.shared_nodes,
        generated=generated, task=reference, declared=found.parameters(),
    )  # fmt: skip
    TASKS.append(entry)
    return entry
