"""What all tests share: one thread per process, and what the markers need."""

from __future__ import annotations

import fcntl
import gc
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from benchmarks.results.cell import Cell
    from benchmarks.running.run_cell import Outcome
    from benchmarks.running.workers import Work

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before torch is imported: small graphs gain nothing from more

# Where Python was told to keep no compiled modules, dozens of processes would each compile the whole project.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


settings.register_profile("any load", deadline=None)  # how long an example takes says how busy the machine is
settings.load_profile("any load")


def pytest_collection_finish() -> None:
    """What is loaded by now stays to the end: the garbage collector need not look through it again and again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `asd` need its files, which are not part of the project; those marked `long` are asked for.

    Those in a browser come first: its page takes long to build, and were it built at the end, one worker would wait.
    """
    items.sort(key=lambda item: "browser" not in item.nodeid)
    for item in items:
        if item.get_closest_marker("long") and "RSGG_LONG" not in os.environ:
            item.add_marker(pytest.mark.skip(reason="long: ./reproduce.sh test --long runs it"))
    if "RSGG_DATA_DIR" in os.environ:
        return
    for item in items:
        if item.get_closest_marker("asd"):
            item.add_marker(pytest.mark.skip(reason="ASD is not at hand: RSGG_DATA_DIR is not set"))


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk() -> Iterator[None]:
    """No test cuts the power, so that none has to wait until what it wrote has reached the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that `make` has filled, once for all processes of a run of the tests; nobody may change it."""
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name
    with folder.with_suffix(".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            try:
                folder.mkdir()
                make(folder)
            except BaseException:
                shutil.rmtree(folder)
                raise
    return folder


@contextmanager
def cells_computed_here() -> Iterator[None]:
    """Within it, `--jobs 1` computes in this process: starting a worker takes seconds, and has tests of its own."""
    from benchmarks.running import experiment, workers

    def here(cells: Sequence[Cell], jobs: int, work: Work) -> Iterator[Outcome]:
        return workers.computed(cells, 0, work)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "computed", here)
        yield


@pytest.fixture
def no_workers() -> Iterator[None]:
    """Cells of a command are computed in this process."""
    with cells_computed_here():
        yield


@pytest.fixture
def no_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within it, whoever asks for the matrix of a graph that is a list of edges fails."""
    from rsgg.edges import EdgeBatch
    from rsgg.sparse import SparseBatch, SparseGraph

    def refuse(self: object) -> NoReturn:
        raise AssertionError("a matrix was made of a large graph")

    for kind in (SparseGraph, SparseBatch):
        monkeypatch.setattr(kind, "adjacency", property(refuse))
        monkeypatch.setattr(kind, "edge_features", property(refuse))
    monkeypatch.setattr(EdgeBatch, "to_dense", refuse)
