"""The options that every experiment understands, declared once: the command line is made from these fields.

An experiment with options of its own subclasses `RunOptions` and adds fields; `benchmarks.cli` does the rest. Nothing
here imports torch, so that a mistyped option is answered at once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from typer import Option

from benchmarks.results.files import LOCAL


def available_cores() -> int:
    """Cores this process may use, which on a shared machine can be fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What to compute, how, and where to put it. Lists are typed with commas: `--methods rsgg-ce,cf2 --folds 0-3`."""

    methods: Annotated[
        list[str] | None,
        Option(help="Methods, e.g. rsgg-ce,cf2, rsgg-ce:released, or your own: my_module:MyExplainer."),
    ] = None
    datasets: Annotated[
        list[str] | None,
        Option("--datasets", "--data", help="Data sets, e.g. tree-cycles,asd, or your own: my_module:my_task."),
    ] = None
    folds: Annotated[list[str] | None, Option(help="Folds, e.g. 0-3,7.")] = None
    seeds: Annotated[
        list[str] | None, Option(help="Replicates, e.g. 0-4: each has generated data and folds of its own.")
    ] = None
    jobs: Annotated[int, Option("--jobs", "-j", min=1, help="Worker processes.")] = available_cores()
    dask: Annotated[
        str, Option(help="Address of a Dask scheduler, e.g. tcp://host:8786: its workers compute, --jobs is unused.")
    ] = ""
    smoke: Annotated[bool, Option("--smoke", help="The same path on little data, in under two minutes.")] = False
    fresh: Annotated[bool, Option("--fresh", help="Compute again what is stored already.")] = False
    dry_run: Annotated[bool, Option("--dry-run", help="List the cells and the time they take; do nothing.")] = False
    data_dir: Annotated[
        Path | None, Option(envvar="RSGG_DATA_DIR", help="Folder that holds the data sets; else they are downloaded.")
    ] = None
    out: Annotated[Path | None, Option(help="Folder for results.", show_default="results/local")] = None
    device: Annotated[str, Option(help="Where methods that can use it compute: cpu, cuda, cuda:1, …")] = "cpu"
    cell_seconds: Annotated[
        float | None, Option(min=0.1, help="Time limit of a cell, which then counts as failed.", show_default="none")
    ] = None
    graph_seconds: Annotated[
        float | None, Option(min=0.001, help="Time limit per explained graph, on average.", show_default="none")
    ] = None

    unused: ClassVar[tuple[str, ...]] = ()  # options that make no sense for an experiment: its command has them not

    @property
    def results(self) -> Path:
        """Where results go. A smoke run keeps to itself, lest its little table be taken for the real one."""
        return self.out or LOCAL / ("smoke" if self.smoke else "")


@dataclass(frozen=True, kw_only=True)
class Table1Options(RunOptions):
    """What Table 1 understands besides."""

    beside_reference: Annotated[
        bool,
        Option("--beside-reference", help="Compute the named rows only and show them beside the committed ones."),
    ] = False


@dataclass(frozen=True, kw_only=True)
class HpoOptions(RunOptions):
    """What a search for hyper-parameters understands besides; it runs on replicate 0."""

    unused = ("seeds", "graph_seconds")

    methods: Annotated[
        list[str] | None, Option("--method", "--methods", help="Methods, e.g. cf2 (as its paper has it), cf2:released.")
    ] = None
    datasets: Annotated[
        list[str] | None, Option("--datasets", "--data", help="Data sets, tree-cycles unless others are named.")
    ] = None
    folds: Annotated[
        list[str] | None, Option(help="Nested: outer folds (0), a study each. Paper: test folds (all ten).")
    ] = None
    trials: Annotated[int | None, Option(min=1, help="Trials of a study (30), finished ones included.")] = None
    protocol: Annotated[
        str, Option(help="nested: choose inside the training folds. paper: on the test folds, as the paper did.")
    ] = "nested"
    inner: Annotated[int, Option(min=2, help="Nested: folds that the training graphs are cut into.")] = 5
    inner_used: Annotated[int, Option(min=1, help="Nested: how many of them a trial is measured on.")] = 3
    beyond: Annotated[bool, Option("--beyond", help="Search hyper-parameters that go beyond the paper too.")] = False
    storage: Annotated[
        str, Option(help="Optuna URL of a shared study, e.g. postgresql+psycopg://…; else a file in the results.")
    ] = ""


@dataclass(frozen=True, kw_only=True)
class AblationOptions(RunOptions):
    """What the ablations understand besides: what is varied, over which grid."""

    unused = ("datasets",)

    vary: Annotated[
        list[str] | None,
        Option(help="cycle_size, n_cycles, n_nodes or n_instances.", show_default="one after the other"),
    ] = None
    grid: Annotated[
        str, Option(help="paper: what its text describes. released: what the released files ran, fold 0 only.")
    ] = "paper"


@dataclass(frozen=True, kw_only=True)
class VariationOptions(RunOptions):
    """What variations understand besides: which study."""

    unused = ("methods", "datasets")

    study: Annotated[list[str] | None, Option(help="training, meg-asd; one after the other unless named.")] = None


@dataclass(frozen=True, kw_only=True)
class RuntimeOptions(RunOptions):
    """What measuring runtimes understands besides. Points are measured one at a time on one thread of the CPU."""

    unused = ("datasets", "folds", "seeds", "jobs", "dask", "device", "graph_seconds")
    jobs: int = 1

    methods: Annotated[
        list[str] | None, Option(help="Methods; rsgg-ce and cf2, faithful and released, unless others are named.")
    ] = None
    vary: Annotated[list[str] | None, Option(help="n_nodes or n_instances; one after the other unless named.")] = None
    repeats: Annotated[int, Option(min=1, help="How often the test set of a point is explained.")] = 5


@dataclass(frozen=True, kw_only=True)
class ConvergenceOptions(RunOptions):
    """Training curves are kept of replicate 0, whose folds are the seeds."""

    unused = ("seeds",)


@dataclass(frozen=True, kw_only=True)
class TraceOptions(RunOptions):
    """What traces understand besides: how many candidates are drawn per graph, of replicate 0."""

    unused = ("seeds",)

    methods: Annotated[
        list[str] | None,
        Option(
            help="Methods that sample along a partial order.",
            show_default="rsgg-ce:faithful, rsgg-ce:released, rsgg-ce-untrained",
        ),
    ] = None
    datasets: Annotated[
        list[str] | None, Option("--datasets", "--data", help="Data sets.", show_default="tree-cycles,asd")
    ] = None
    folds: Annotated[list[str] | None, Option(help="Folds, 0 unless others are named.")] = None
    candidates: Annotated[int, Option(min=1, help="Candidates per graph; the first one is Table 1's.")] = 10
