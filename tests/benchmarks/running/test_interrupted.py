"""Experiments that are killed, or cannot write: nothing that was stored is lost, and the same command then finishes.

Commands run in processes that are forked from one that has imported everything, so that an attempt costs no start-up.
`killed_until_done` takes the command line of any experiment.
"""

from __future__ import annotations

import errno
import os
import random
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pandas as pd
import psutil  # type: ignore[import-untyped]
import pytest

from benchmarks import cli
from benchmarks.results.ledger import Store
from benchmarks.running import experiment
from benchmarks.running.workers import computed
from tests.benchmarks.running.processes import fingerprints, forks, leftovers, stored_files, wait_for_cells

KILLS = 10
TABLE1 = (
    "table1 --smoke --datasets tree-cycles --methods empty,obs,optimum,random,rsgg-ce-untrained --folds 0-5 --jobs 1"
)


# -- Commands in processes of their own ------------------------------------------------------------------------------


@dataclass
class Command:
    """A command line that runs. `before` is called in its process first, to make it fail later."""

    process: Any
    stderr: Connection

    @classmethod
    def start(cls, line: str, out: Path, before: Callable[[], None] | None = None) -> Command:
        reader, writer = forks.Pipe(duplex=False)
        process = forks.Process(target=_main, args=([*line.split(), "--out", str(out)], writer, before))
        process.start()
        writer.close()
        return cls(process, reader)

    def poll(self) -> int | None:
        return self.process.exitcode

    def communicate(self) -> tuple[int, str]:
        """Exit code and what was said on stderr, once it has ended."""
        said = b""
        while part := os.read(self.stderr.fileno(), 65536):
            said += part
        self.process.join()
        return self.process.exitcode, said.decode()

    def kill(self) -> None:
        """As kill -9 does: no warning, and its workers, if any, are left to themselves."""
        workers = psutil.Process(self.process.pid).children(recursive=True)
        self.process.kill()
        self.process.join()
        assert not psutil.wait_procs(workers, timeout=30)[1], "workers whose parent was killed end by themselves"


def _main(arguments: list[str], stderr: Connection, before: Callable[[], None] | None) -> None:
    os.dup2(stderr.fileno(), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    stderr.close()
    if arguments[arguments.index("--jobs") + 1] == "1":  # in this process: starting a worker takes longer than a cell
        vars(experiment)["computed"] = lambda cells, jobs, work: computed(cells, 0, work)
    if before is not None:
        before()
    sys.exit(cli.main(arguments))


def killed_until_done(line: str, out: Path, *, at_most: int, seed: int = 0) -> int:
    """Run a command again and again, each time killed at a random moment, and at last to its end; how often killed.

    Moments are counted in cells, so that they do not depend on how busy the machine is: after at most so many new cells
    it is killed within a few hundredths of a second, in the middle of whatever it does then.
    """
    moments, kills = random.Random(seed), 0
    for _ in range(KILLS):
        command, wanted = Command.start(line, out), len(stored_files(out)) + moments.randint(0, at_most)
        while command.poll() is None and len(stored_files(out)) < wanted:
            time.sleep(0.005)
        command.process.join(moments.uniform(0.0, 0.05))
        if command.poll() is not None:
            assert command.communicate()[0] == 0
            break
        command.kill()
        kills += 1
        fingerprints(out)  # fails on anything damaged
    code, said = Command.start(line, out).communicate()
    assert code == 0, said
    return kills


def without_times(csv: Path) -> pd.DataFrame:
    """The rows of a table of results that do not say how long something took."""
    table = pd.read_csv(csv)
    return table[~table["metric"].str.contains("runtime|seconds")].reset_index(drop=True)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    code, said = Command.start(TABLE1, folder).communicate()
    assert code == 0, said
    return folder


def assert_same(folder: Path, undisturbed: Path) -> None:
    assert fingerprints(folder) == fingerprints(undisturbed)
    for name in ("table1.csv", "comparisons.csv", "verdicts.csv"):
        pd.testing.assert_frame_equal(without_times(folder / name), without_times(undisturbed / name))


# -- Killed ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_ablation_killed_at_ten_random_moments_gives_the_same_curves(tmp_path: Path) -> None:
    line = "ablation --smoke --vary n_instances --methods empty,obs,released-uniform --folds 0-3 --jobs 1"
    assert Command.start(line, tmp_path / "undisturbed").communicate()[0] == 0
    assert killed_until_done(line, tmp_path / "killed", at_most=2) > KILLS // 2  # it may be done before the tenth
    assert fingerprints(tmp_path / "killed") == fingerprints(tmp_path / "undisturbed")
    killed, whole = (without_times(tmp_path / of / "ablation_n_instances.csv") for of in ("killed", "undisturbed"))
    pd.testing.assert_frame_equal(killed, whole)


@pytest.mark.slow
def test_killed_at_ten_random_moments_as_if_nothing_had_happened(tmp_path: Path, undisturbed: Path) -> None:
    assert killed_until_done(TABLE1, tmp_path, at_most=1) > KILLS // 2
    assert_same(tmp_path, undisturbed)


@pytest.mark.slow
def test_killed_with_workers_and_finished_without(tmp_path: Path, undisturbed: Path) -> None:
    command = Command.start(TABLE1.replace("--jobs 1", "--jobs 2"), tmp_path)
    wait_for_cells(tmp_path, 3, command)
    command.kill()
    assert 3 <= len(fingerprints(tmp_path)) < 30
    assert Command.start(TABLE1, tmp_path).communicate()[0] == 0
    assert_same(tmp_path, undisturbed)


# -- No room, no permission -------------------------------------------------------------------------------------------


def no_room_after_three_cells() -> None:
    """From the fourth cell on files may not grow beyond 1000 bytes: the system refuses in the middle of a write."""
    write, written = Store.write, list[Any]()

    def limited(self: Store, *arguments: Any, **options: Any) -> Any:
        written.append(arguments)
        if len(written) == 4:
            no_room()
        return write(self, *arguments, **options)

    Store.write = limited  # type: ignore[method-assign]


def no_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))


def no_space_left_after_three_cells() -> None:
    """The same from a disk that says so only when what was written is to reach it."""
    fsync, write = os.fsync, Store.write

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def limited(self: Store, cell: Any, *arguments: Any, **options: Any) -> Any:
        os.fsync = full if len(fingerprints(self.root)) == 3 else fsync  # type: ignore[assignment]
        return write(self, cell, *arguments, **options)

    Store.write = limited  # type: ignore[method-assign]


@pytest.mark.parametrize(
    ("disk", "says"),
    [(no_room_after_three_cells, "File too large"), (no_space_left_after_three_cells, "No space left on device")],
)
def test_a_disk_that_fills_up_is_one_sentence_and_then_the_command_goes_on(
    tmp_path: Path, undisturbed: Path, disk: Callable[[], None], says: str
) -> None:
    code, said = Command.start(TABLE1, tmp_path, disk).communicate()
    assert code == 2
    assert said.startswith("Results cannot be written to ") and f"({says})" in said and said.count("\n") == 1
    assert len(fingerprints(tmp_path)) == 3 and not leftovers(tmp_path)
    assert not (tmp_path / "table1.csv").exists(), "part of a table is no table"
    assert Command.start(TABLE1, tmp_path).communicate()[0] == 0
    assert_same(tmp_path, undisturbed)


def test_tables_on_a_full_disk_stay_what_they_were(undisturbed: Path) -> None:
    """All cells are there; only the tables are written, and cannot be."""
    before = {path: path.read_bytes() for path in undisturbed.rglob("*") if path.is_file()}
    code, said = Command.start(TABLE1, undisturbed, no_room).communicate()
    assert code == 2 and said.startswith(f"Results cannot be written to {undisturbed} (File too large)")
    assert said.count("\n") == 1
    for path, content in before.items():
        assert path.read_bytes() == content
    assert not leftovers(undisturbed)


def test_a_folder_that_cannot_be_written_to_is_one_sentence(tmp_path: Path, undisturbed: Path) -> None:
    (tmp_path / "cells").write_text("a file where a folder should be")
    code, said = Command.start(TABLE1, tmp_path).communicate()
    assert code == 2 and said.startswith(f"Results cannot be written to {tmp_path / 'cells'}") and said.count("\n") == 1
    (tmp_path / "cells").unlink()
    assert Command.start(TABLE1, tmp_path).communicate()[0] == 0
    assert_same(tmp_path, undisturbed)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_one_sentence(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    code, said = Command.start(TABLE1, tmp_path / "results").communicate()
    assert code == 2 and said.startswith("Results cannot be written to ") and said.count("\n") == 1
