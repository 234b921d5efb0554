"""Which cells are computed: methods × tasks × folds × replicates, as the options say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.registry.names import numbers
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.cell import FOLDS, Cell
from benchmarks.running.options import RunOptions
from rsgg.errors import UsageError

SMOKE_FOLDS = (0, 1)


def belongs(method: Method, task: TaskEntry) -> bool:
    """Is this row part of the table of this task?

    Renaming the nodes at random changes nothing for a permutation invariant method, but for the others it says how much
    of a result is node alignment; `renamed_too` asks for it all the same. Some tasks are there for some rows only.
    A control is left out, without a word, where it is not defined, and so is a row that no task of Table 1 defines.
    """
    elsewhere = all(method.unsupported(entry.name) for entry in tasks.TASKS if entry.in_table1)
    if (method.variant == "control" or elsewhere) and method.unsupported(task.name):
        return False
    if task.renames:
        depends = not method.build().capabilities.permutation_invariant
        return method.renamed_too or (depends and method.variant != "control")
    return task.rows is None or method.title in task.rows


def grid(
    entries: Iterable[TaskEntry],
    rows: Sequence[Method],
    *,
    folds: Iterable[int] = range(FOLDS),
    of: int | None = None,
    seeds: Sequence[int] = (0,),
    k: int = 1,
    smoke: bool = False,
    graph_seconds: float | None = None,
) -> list[Cell]:
    """All cells of these tasks and methods, row by row, so that tables fill from the top.

    A task is cut into as many folds as it says, unless `of` does.
    """
    chosen = tuple(folds)
    rows = list(dict.fromkeys(row for method in rows for row in (method.base, method) if row))  # a base comes first
    pairs = [(task, method.for_task(task.name)) for task in entries for method in rows if belongs(method, task)]
    pairs = [(task, method.tiny()) for task, method in pairs] if smoke else pairs
    return [
        Cell(replicate, method, fold, of or task.folds, seed, k, graph_seconds)
        for task, method in pairs
        for seed, replicate in [(seed, task.replicate(seed)) for seed in seeds]
        for fold in chosen
        if fold < (of or task.folds)
    ]


def chosen_folds(options: RunOptions, entries: Iterable[TaskEntry] = ()) -> tuple[int, ...]:
    """The folds that the options ask for: all ten, or two of them in a smoke run, unless they say otherwise.

    If they do, each of the tasks has to have one of these folds.
    """
    folds = numbers(options.folds, "fold") or (SMOKE_FOLDS if options.smoke else tuple(range(FOLDS)))
    if folds[-1] >= FOLDS:
        raise UsageError(f"There is no fold {folds[-1]}; the folds are 0 to {FOLDS - 1}.")
    for entry in entries if options.folds else ():
        if folds[0] >= entry.folds:
            raise UsageError(f"There is no fold {folds[0]} of {entry.label}; its folds are 0 to {entry.folds - 1}.")
    return folds


def cells_for(
    options: RunOptions,
    *,
    rows: Sequence[str] | None = None,
    entries: Sequence[str] | None = None,
    folds: Sequence[int] | None = None,
    k: int = 1,
) -> list[Cell]:
    """The cells that the options ask for; where they do not say, these rows, tasks and folds (all, unless given)."""
    chosen = tasks.choose(options.datasets or entries, smoke=options.smoke)
    return grid(
        chosen,
        methods.choose(options.methods or rows),
        folds=chosen_folds(options, chosen) if options.folds or folds is None else folds,
        seeds=numbers(options.seeds, "seed") or (0,),
        k=k,
        smoke=options.smoke,
        graph_seconds=options.graph_seconds,
    )
