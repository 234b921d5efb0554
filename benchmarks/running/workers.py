"""Worker processes: each computes one cell at a time, and one that dies costs its cell only.

A worker is a Python process of this project with one thread. The main process hands it cells through a pipe and stores
what comes back. A worker that is ended by the system (out of memory, a crash in compiled code) is noticed as its pipe
closes; its cell is tried once more in a new process and then recorded as failed. A cell that takes longer than its time
limit is ended. A worker whose main process was killed ends by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import IO, Self

from benchmarks.results.cell import Cell
from benchmarks.results.files import ROOT
from benchmarks.running.run_cell import Observer, Outcome, run_cell

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
# What is freed stays with the process (glibc's variables): matrices of megabytes are made and freed in every step of a
# training, and handing them back to the system and fetching them again takes up to a sixth of its time.
KEEP_MEMORY = {"MALLOC_MMAP_THRESHOLD_": str(1 << 25), "MALLOC_TRIM_THRESHOLD_": str(1 << 30)}
ATTEMPTS = 2  # a cell whose worker died is tried once more
POLL = 0.5  # seconds between two looks at the time limit


@dataclass(frozen=True)
class Work:
    """How cells are computed."""

    data_dir: Path | None = None
    device: str = "cpu"
    observer: Observer | None = None
    cell_seconds: float | None = None  # a cell that takes longer is ended and counts as failed
    new_process_each: bool = False  # for measurements that must not see what ran before
    idle: Idle | None = None  # where workers wait between two calls, instead of ending


@dataclass
class Idle:
    """Workers that have nothing to do and wait for the next call, as long as the block lasts.

    A search hands out a few cells at a time, and starting a process takes longer than many cells.
    """

    workers: list[_Worker] = field(default_factory=list)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        while self.workers:
            self.workers.pop().end()


def computed(cells: Sequence[Cell], jobs: int, work: Work) -> Generator[Outcome]:
    """Outcomes in the order in which they are ready. With no jobs everything happens in this process."""
    if jobs == 0:
        for cell in cells:
            yield run_cell(cell, work.data_dir, work.device, work.observer)
        return
    pool = _Pool(list(cells), min(jobs, len(cells)), work)
    try:
        yield from pool.outcomes()
    finally:
        pool.stop()


class _Pool:
    """The workers of a run and the cells that wait for one."""

    def __init__(self, cells: list[Cell], jobs: int, work: Work) -> None:
        self.waiting = [(cell, 1) for cell in reversed(cells)]  # the next one is the last
        self.work, self.jobs = work, jobs
        self.workers: dict[Connection, _Worker] = {}

    def outcomes(self) -> Generator[Outcome]:
        self._hand_out()
        while self.workers:
            ready = wait(list(self.workers), timeout=POLL if self.work.cell_seconds else None)
            for connection in ready:
                outcome = self._heard(self.workers[connection])  # type: ignore[index]
                if outcome is not None:
                    yield outcome
            yield from self._overdue()
            self._hand_out()

    def _hand_out(self) -> None:
        """Give waiting cells to idle workers, starting workers as long as there are fewer than jobs."""
        for worker in [worker for worker in self.workers.values() if worker.cell is None]:
            if worker.used and self.work.new_process_each:
                self._end(worker)
            elif not self.waiting:
                self._release(worker)
            else:
                self._give(worker)
        while self.waiting and len(self.workers) < self.jobs:
            worker = self.work.idle.workers.pop() if self.work.idle and self.work.idle.workers else _Worker.started()
            self.workers[worker.connection] = worker
            self._give(worker)

    def _give(self, worker: _Worker) -> None:
        worker.cell, worker.attempt = self.waiting.pop()
        worker.used = True
        if worker.up:
            worker.began = time.monotonic()
        with suppress(OSError):  # it died meanwhile, which is noticed as its pipe is read
            worker.connection.send((worker.cell, self.work.data_dir, self.work.device, self.work.observer))

    def _heard(self, worker: _Worker) -> Outcome | None:
        """The outcome that a worker sends; None where it says that it is up, or died and its cell waits again."""
        cell, attempt = worker.cell, worker.attempt
        assert cell is not None
        try:
            outcome: Outcome | None = worker.connection.recv()
        except (EOFError, OSError):
            how = worker.how_it_ended()
            self._end(worker)
            if attempt < ATTEMPTS:
                self.waiting.append((cell, attempt + 1))
                return None
            return Outcome(cell, "failed", reason=f"its worker died {ATTEMPTS} times: {how}", details=how)
        if outcome is None:  # it is up: the clock of its first cell starts now
            worker.up, worker.began = True, time.monotonic()
        else:
            worker.cell = None
        return outcome

    def _overdue(self) -> Generator[Outcome]:
        limit = self.work.cell_seconds
        for worker in list(self.workers.values()) if limit else ():
            if worker.up and worker.cell is not None and time.monotonic() - worker.began > limit:  # type: ignore[operator]
                self._end(worker)
                reason = f"it took longer than the time limit of {limit:g} s (--cell-seconds)"
                yield Outcome(worker.cell, "failed", reason=reason, details=reason)

    def _end(self, worker: _Worker) -> None:
        self.workers.pop(worker.connection, None)
        worker.end()

    def _release(self, worker: _Worker) -> None:
        """A worker that has nothing to do ends, or waits for the next call where there is a place to wait."""
        if self.work.idle is None:
            self._end(worker)
        else:
            self.workers.pop(worker.connection)
            self.work.idle.workers.append(worker)

    def stop(self) -> None:
        for worker in list(self.workers.values()):
            self._end(worker)


@dataclass(eq=False)
class _Worker:
    """One process, seen from the main process."""

    process: subprocess.Popen[bytes]
    connection: Connection
    errors: IO[bytes]
    cell: Cell | None = None
    attempt: int = 1
    began: float = 0.0
    up: bool = False  # it has loaded the project, which is not part of a cell's time
    used: bool = False

    @classmethod
    def started(cls) -> _Worker:
        ours, theirs = Pipe()
        errors = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process
        code = f"from benchmarks.running.workers import serve; serve({theirs.fileno()}, {os.getpid()})"
        path = os.pathsep.join(dict.fromkeys([str(ROOT), *(part for part in sys.path if part), os.getcwd()]))
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", code],  # -P: the user's folder is the last on the path, not the first
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=errors,
            stderr=errors,
            env={**os.environ, **ONE_THREAD, **KEEP_MEMORY, "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"},
        )
        theirs.close()
        return cls(process, ours, errors)

    def how_it_ended(self) -> str:
        """Why the process is gone: the signal that ended it, or the last line that it printed."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(5)
        code = self.process.poll()
        if code is not None and code < 0:
            memory = ", perhaps for want of memory (use fewer --jobs)" if code == -signal.SIGKILL else ""
            return f"the process was ended by {signal.Signals(-code).name}{memory}"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the process ended with code {code} and said nothing"

    def end(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.wait()
        self.errors.close()


# -- Inside a worker -------------------------------------------------------------------------------------


def serve(descriptor: int, parent: int) -> None:
    """What a worker does: compute the cells that come through the pipe until it closes."""
    start_worker(parent)
    connection = Connection(descriptor)
    with suppress(EOFError, BrokenPipeError):
        connection.send(None)
        while True:
            cell, data_dir, device, observer = connection.recv()
            connection.send(run_cell(cell, data_dir, device, observer))


def start_worker(parent: int) -> None:
    """Ctrl-C is for the parent, which ends its workers; a worker whose parent was killed ends by itself."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
