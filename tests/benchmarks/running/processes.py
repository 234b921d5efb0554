"""What the tests of runs share: what is stored, and experiments as processes that can be killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pytest

from benchmarks.results.ledger import Damaged, Store, content_hash, fingerprint
from benchmarks.running import workers
from tests import standins


def fingerprints(folder: Path) -> dict[str, str]:
    """Cell -> content without times, training curves included; fails on anything damaged."""
    found = {}
    for path, key, cell in Store(folder).everything():
        assert not isinstance(cell, Damaged), (path, cell)
        found[key] = fingerprint(cell.table) + (content_hash(cell.history) if cell.history is not None else "")
    return found


def stored_files(folder: Path) -> list[Path]:
    return list(folder.rglob("seed*[0-9a-f].parquet"))


def leftovers(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.startswith(".rsgg-")]


# -- Processes that are forked from one that has loaded the project ----------------------------------------------------

forks = multiprocessing.get_context("forkserver")
forks.set_forkserver_preload(
    [
        "benchmarks.table1", "benchmarks.ablation", "benchmarks.hpo", "tests.benchmarks.searching.tuned", __name__,
        "distributed.cli.dask_scheduler", "distributed.cli.dask_worker",  # left out where there is no Dask
    ]
)  # fmt: skip


@dataclass
class Started:
    """A function in a process and a session of its own, as `subprocess.Popen` shows one.

    It can be killed, interrupted and waited for as any other; what is saved is the loading of torch, two seconds each.
    """

    process: Any
    files: tuple[IO[bytes], IO[bytes]]  # what it writes to stdout and stderr

    @classmethod
    def of(cls, function: Callable[[], object], *arguments: str, **variables: str) -> Started:
        """Start it with these command-line arguments and environment variables."""
        files = (tempfile.TemporaryFile(), tempfile.TemporaryFile())  # noqa: SIM115  # as long as the process
        descriptors = [Connection(os.dup(file.fileno())) for file in files]  # what can be handed to a process
        process = forks.Process(target=_begin, args=(function, arguments, descriptors, variables))
        process.start()
        return cls(process, files)

    @property
    def pid(self) -> int:
        return int(self.process.pid)

    @property
    def returncode(self) -> int | None:
        code: int | None = self.process.exitcode
        return code

    def poll(self) -> int | None:
        return self.returncode

    def kill(self) -> None:
        self.process.kill()

    def wait(self) -> None:
        self.process.join()

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it said, once it has ended."""
        self.process.join(timeout)
        assert self.returncode is not None, "it did not end in time"
        out, err = (os.pread(file.fileno(), 1 << 20, 0).decode() for file in self.files)
        return out, err


def _begin(
    function: Callable[[], object],
    arguments: Sequence[str],
    descriptors: Sequence[Connection],
    variables: dict[str, str],
) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are born deaf to Ctrl-C
    for number, descriptor in enumerate(descriptors, 1):
        os.dup2(descriptor.fileno(), number)
    os.environ.update(variables)
    sys.argv = ["-c", *arguments]
    vars(workers)["subprocess"] = worker_starter(multiprocessing.get_context("fork"))
    function()


def start(folder: Path, jobs: int, *methods: str, delay: float = 0.0) -> Started:
    """The stand-in experiment (twelve cells of each method) as a process of its own, in a process group of its own."""
    return Started.of(standins.main, str(folder), str(jobs), *methods, RSGG_TEST_DELAY=str(delay))


@contextmanager
def forked_workers() -> Iterator[None]:
    """Within it, workers of this process are forked; tests of `workers` start some as a user's run does too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "subprocess", worker_starter(forks))
        yield


def worker_starter(context: Any) -> Any:
    """What takes the place of the module `subprocess` in `benchmarks.running.workers`: workers are forked."""
    return SimpleNamespace(
        Popen=partial(ForkedWorker, context), DEVNULL=subprocess.DEVNULL, TimeoutExpired=subprocess.TimeoutExpired
    )


class ForkedWorker:
    """A worker as `subprocess.Popen` shows it: a process of its own that serves, and did not have to load torch."""

    def __init__(
        self, context: Any, command: object, *, pass_fds: list[int], stdin: int, stdout: IO[bytes], stderr: object,
        env: dict[str, str],
    ) -> None:  # fmt: skip
        pipe, errors = (Connection(os.dup(descriptor)) for descriptor in (*pass_fds, stdout.fileno()))
        self._process = context.Process(target=_serve, args=(pipe, errors, env), daemon=True)
        self._process.start()
        pipe.close()
        errors.close()
        self.pid = self._process.pid

    def poll(self) -> int | None:
        code: int | None = self._process.exitcode
        return code

    def kill(self) -> None:
        self._process.kill()

    def wait(self, timeout: float | None = None) -> None:
        self._process.join(timeout)


def _serve(pipe: Connection, errors: Connection, variables: dict[str, str]) -> None:
    for number in (1, 2):
        os.dup2(errors.fileno(), number)
    os.environ.update(variables)
    time.sleep(float(variables.get("RSGG_TEST_SLOW_START", 0)))
    workers.serve(pipe.fileno(), os.getppid())


def wait_for_cells(folder: Path, n: int, process: Any) -> None:
    end = time.monotonic() + 120
    while len(stored_files(folder)) < n:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "the run did not get anywhere"
        time.sleep(0.02)
