"""The options that every experiment understands, declared once: the command line is made from these fields.

An experiment with options of its own subclasses `RunOptions` and adds fields; `benchmarks.cli` does the rest. Nothing
here imports torch, so that a mistyped option is answered at once.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from typer import Option

from benchmarks.registry import global_methods, methods, tasks
from benchmarks.results.files import LOCAL
from rsgg.errors import UsageError


def available_cores() -> int:
    """Cores this process may use, which on a shared machine can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


Names = list[str] | None
DATASETS = ("--datasets", "--data")
TLS = ("tls_ca", "tls_cert", "tls_key")  # files for a cluster that is reached through TLS
METHOD_NAMES = ", ".join(dict.fromkeys(row.name for row in methods.METHODS if not row.base))
TABLE1_TASKS = ", ".join(task.name for task in tasks.TASKS if task.in_table1)
LEARNT_TASKS = ", ".join(task.name for task in tasks.LEARNT)


def option(default: Any, says: str, *flags: str, **how: Any) -> Any:
    """A field that is an option of the command line: its default, its help, and its flags if not `--name` alone."""
    return field(default=default, metadata={"option": Option(*flags, help=says, **how)})


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What to compute, how, and where to put it. Lists are typed with commas: `--methods rsgg-ce,cf2 --folds 0-3`."""

    methods: Names = option(
        None,
        f"Methods, e.g. rsgg-ce,cf2, rsgg-ce:released, or your own: my_module:MyExplainer. There are {METHOD_NAMES}; "
        "with -min behind a name, its results made minimal.",
    )
    datasets: Names = option(
        None, f"Data sets, e.g. tree-cycles,asd, or your own: my_module:my_task. There are {TABLE1_TASKS}.", *DATASETS
    )
    folds: Names = option(None, "Folds, e.g. 0-3,7.")
    seeds: Names = option(None, "Replicates, e.g. 0-4: each has generated data and folds of its own.")
    jobs: int = option(available_cores(), "Worker processes.", "--jobs", "-j", min=1)
    dask: str = option("", "Address of a Dask scheduler, e.g. tcp://host:8786: its workers compute, --jobs is unused.")
    tls_ca: Path | None = option(None, "Certificate of who signed those of a scheduler at tls://host:8786 (PEM).")
    tls_cert: Path | None = option(None, "Your certificate for it (PEM).")
    tls_key: Path | None = option(None, "The key of your certificate (PEM).")
    smoke: bool = option(False, "The same path on little data, in under two minutes.", "--smoke")
    fresh: bool = option(False, "Compute again what is stored already.", "--fresh")
    dry_run: bool = option(False, "List the cells and the time they take; do nothing.", "--dry-run")
    data_dir: Path | None = option(
        None, "Folder that holds the data sets; else they are downloaded.", envvar="RSGG_DATA_DIR"
    )
    out: Path | None = option(None, "Folder for results.", show_default="results/local")
    device: str = option("cpu", "Where methods that can use it compute: cpu, cuda, cuda:1, …")
    cell_seconds: float | None = option(
        None, "Time limit of a cell, which then counts as failed.", min=0.1, show_default="none"
    )
    graph_seconds: float | None = option(None, "Time limit for each explained graph.", min=0.001, show_default="none")

    unused: ClassVar[tuple[str, ...]] = ()  # options that make no sense for an experiment: its command has them not

    def __post_init__(self) -> None:
        for name in ("cell_seconds", "graph_seconds"):
            seconds = getattr(self, name)
            if seconds is not None and not math.isfinite(seconds):
                flag = f"--{name.replace('_', '-')}"
                raise UsageError(f"{flag} {seconds} is no time limit; give seconds, or leave it out for none.")

    @property
    def results(self) -> Path:
        """Where results go. A smoke run keeps to itself, lest its little table be taken for the real one."""
        return self.out or LOCAL / ("smoke" if self.smoke else "")


@dataclass(frozen=True, kw_only=True)
class Table1Options(RunOptions):
    """What Table 1 understands besides."""

    replicates: bool = option(
        False,
        "All replicates that the reference has of a row (3 to 20), not the first alone: hours instead of minutes.",
        "--replicates",
    )
    beside_reference: bool = option(
        False, "Compute the named rows only and show them beside the committed ones.", "--beside-reference"
    )


@dataclass(frozen=True, kw_only=True)
class Table2Options(RunOptions):
    """What the table of real data understands besides: data and a model of one's own."""

    datasets: Names = option(
        None,
        f"Tasks, e.g. mutagenicity-gcn,bbbp-gin, or your own: my_module:my_task. There are {LEARNT_TASKS}.",
        *DATASETS,
    )
    tu: Path | None = option(None, "A folder of yours in TU format: it is the task that is run.")
    model: str = option("", "The PyG model to explain on it, my_module:model; else a GIN is trained in each fold.")


@dataclass(frozen=True, kw_only=True)
class HpoOptions(RunOptions):
    """What a search for hyper-parameters understands besides; it runs on replicate 0."""

    unused = ("seeds", "graph_seconds")

    methods: Names = option(None, "Methods, e.g. cf2 (as its paper has it), cf2:released.", "--method", "--methods")
    datasets: Names = option(None, "Data sets, tree-cycles unless others are named.", *DATASETS)
    folds: Names = option(None, "Nested: outer folds (0), a study each. Paper: test folds (all ten).")
    trials: int | None = option(None, "Trials of a study (30), finished ones included.", min=1)
    protocol: str = option(
        "nested", "nested: choose inside the training folds. paper: on the test folds, as the paper did."
    )
    inner: int = option(5, "Nested: folds that the training graphs are cut into.", min=2)
    inner_used: int = option(3, "Nested: how many of them a trial is measured on.", min=1)
    beyond: bool = option(False, "Search hyper-parameters that go beyond the paper too.", "--beyond")
    storage: str = option("", "Optuna URL of a shared study, e.g. postgresql+psycopg://…; else a file in the results.")


@dataclass(frozen=True, kw_only=True)
class AblationOptions(RunOptions):
    """What the ablations understand besides: what is varied, over which grid."""

    unused = ("datasets",)

    vary: Names = option(None, "cycle_size, n_cycles, n_nodes or n_instances.", show_default="one after the other")
    grid: str = option("paper", "paper: what its text describes. released: what the released files ran, fold 0 only.")


@dataclass(frozen=True, kw_only=True)
class VariationOptions(RunOptions):
    """What variations understand besides: which study."""

    unused = ("methods", "datasets")

    study: Names = option(None, "training, meg-asd; one after the other unless named.")


@dataclass(frozen=True, kw_only=True)
class NodeOptions(RunOptions):
    """The split into training and test nodes is given, so that there are no folds to choose."""

    unused = ("folds",)

    methods: Names = option(None, "Methods.", show_default="RSGG-CE taught, CF-GNNExplainer, searches and controls")
    datasets: Names = option(
        None, "Data sets.", *DATASETS, show_default="those that are read from files, and ten draws of two"
    )


@dataclass(frozen=True, kw_only=True)
class GlobalOptions(RunOptions):
    """All graphs of a data set are explained by one summary, so that there are no folds; replicates are seeds."""

    unused = ("folds", "graph_seconds")

    methods: Names = option(
        None, f"Methods. There are {', '.join(row.name for row in global_methods.METHODS)}.", show_default="all"
    )
    datasets: Names = option(
        None, f"Tasks. There are {', '.join(global_methods.WANTED)}.", *DATASETS, show_default="all"
    )


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions(RunOptions):
    """What measuring runtimes understands besides. Points are measured one at a time on one thread of the CPU."""

    unused = ("datasets", "folds", "seeds", "jobs", "dask", *TLS, "device", "graph_seconds")
    jobs: int = 1

    methods: Names = option(None, "Methods; rsgg-ce and cf2, faithful and released, unless others are named.")
    vary: Names = option(None, "n_nodes or n_instances; one after the other unless named.")
    repeats: int = option(5, "How often the test set of a point is explained.", min=1)


@dataclass(frozen=True, kw_only=True)
class SpeedOptions(RunOptions):
    """Fold 0 of replicate 0 is measured anew, one cell at a time on one thread of the CPU."""

    unused = ("folds", "seeds", "jobs", "dask", "device", "fresh", "graph_seconds")
    jobs: int = 1


@dataclass(frozen=True, kw_only=True)
class ConvergenceOptions(RunOptions):
    """Training curves are kept of replicate 0, whose folds are the seeds."""

    unused = ("seeds",)


@dataclass(frozen=True, kw_only=True)
class TraceOptions(RunOptions):
    """What traces understand besides: how many candidates are drawn per graph, of replicate 0."""

    unused = ("seeds",)

    methods: Names = option(None, "Methods; those of which a graph can have several candidates unless named.")
    datasets: Names = option(None, "Data sets.", *DATASETS, show_default="tree-cycles,asd")
    folds: Names = option(None, "Folds, 0 unless others are named.")
    candidates: int = option(10, "Candidates per graph; the first one is Table 1's.", min=1)
