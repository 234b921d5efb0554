"""Cells on a cluster: a real scheduler with real workers gives the results of one process, whoever dies in between."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("distributed", reason="clusters need the extra `cluster`")

import distributed

from benchmarks import cli
from benchmarks.registry.methods import Method
from benchmarks.results.files import ROOT
from benchmarks.results.ledger import Store
from benchmarks.running import cluster
from benchmarks.running.cluster import ClusterError, n_workers, software
from benchmarks.running.experiment import run_cells
from benchmarks.running.options import RunOptions
from benchmarks.running.run_cell import Outcome
from rsgg.errors import UsageError
from tests.benchmarks.running.processes import Started, fingerprints, leftovers, wait_for_cells
from tests.standins import KILLED, RAISES, UNFITTABLE, Draws, Standin, cells

MANY = cells(folds=range(6), of=6, seeds=(0, 1))


@dataclass(kw_only=True)
class Tells(Draws):
    """Says who computes it, the only way a worker can: by failing."""

    def _explain(self, *arguments: Any) -> Any:
        raise RuntimeError(os.getpid())


TELLS = Method("tells", "control", f"{__name__}:Tells", "Tells")


def main() -> None:
    """Arguments: folder, address of the scheduler. An experiment on a cluster, to be killed."""
    sys.exit(Standin(MANY).run(RunOptions(out=Path(sys.argv[1]), dask=sys.argv[2])))


# -- A cluster of our own ----------------------------------------------------------------------------------------


Dask = Started | subprocess.Popen[bytes]


def run_dask() -> None:
    """Arguments: module of a command of Dask, and what it is given."""
    import_module("dask.config").refresh()  # environment variables are read anew
    _, name, *options = sys.argv
    import_module(name).main(options)


def dask(folder: Path, *arguments: str, **variables: str) -> Dask:
    """`dask scheduler …` or `dask worker …` on this machine, one thread each.

    It is forked from a process that has loaded it; one that is to find other modules is started from nothing.
    """
    name = f"distributed.cli.dask_{arguments[0]}"
    options = (*arguments[1:], "--no-dashboard")
    if "PYTHONPATH" not in variables:
        return Started.of(run_dask, name, *options, **variables)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    with (folder / f"{arguments[0]}.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", name, *options], env=environment, stdout=log, stderr=log)


def scheduler(folder: Path, *options: str, **variables: str) -> tuple[Dask, str]:
    """The process and its address, which it writes into a file."""
    file = folder / "scheduler.json"
    process = dask(
        folder, "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), *options, **variables
    )
    end = time.monotonic() + 60
    while True:
        with contextlib.suppress(OSError, ValueError):
            return process, json.loads(file.read_text())["address"]
        assert process.poll() is None and time.monotonic() < end, "the scheduler did not start"
        time.sleep(0.05)


@dataclass
class Cluster:
    """A scheduler that gives a cell up with the second worker that dies of it, and workers that can be killed."""

    folder: Path
    address: str
    client: distributed.Client
    workers: list[Dask] = field(default_factory=list)

    def start(self, n: int) -> None:
        """Have `n` workers alive and known to the scheduler, and none that is not."""
        self.workers = [worker for worker in self.workers if worker.poll() is None]
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(self.folder))
        while len(self.workers) < n:
            self.workers.append(dask(self.folder, "worker", self.address, *options, RSGG_TEST_DELAY="0.2"))
        self.wait(lambda: set(self.client.run(os.getpid).values()) == {worker.pid for worker in self.workers})

    def n_queued(self) -> int:
        """Tasks that the scheduler knows of."""
        return self.client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))

    def wait(self, until: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not until():
            assert time.monotonic() < end, "the cluster did not get there"
            time.sleep(0.05)


@pytest.fixture(scope="module")
def one_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    process, address = scheduler(folder, DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES="1")
    with distributed.Client(address, set_as_default=False) as client:
        started = Cluster(folder, address, client)
        yield started
    for child in [*started.workers, process]:
        child.kill()
        child.wait()


@pytest.fixture
def two_workers(one_cluster: Cluster) -> Cluster:
    one_cluster.start(2)
    return one_cluster


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same cells in this process."""
    folder = tmp_path_factory.mktemp("local")
    run_cells(MANY, Store(folder))
    return fingerprints(folder)


# -- Through TLS -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ca.pem, cert.pem and key.pem, made as the manual says; other-ca.pem signed nothing."""
    folder = tmp_path_factory.mktemp("certificates")
    page = (ROOT / "docs" / "manual" / "machines.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("openssl ")]
    other = lines[0].replace("ca.key", "other-ca.key").replace("ca.pem", "other-ca.pem")
    for line in (*lines, other):
        subprocess.run(line.replace("rsa:3072", "rsa:2048").split(), cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("openssl"), reason="certificates are made with OpenSSL")
def test_a_cluster_through_tls_lets_in_who_has_a_certificate(
    tmp_path: Path, certificates: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    ca, cert, key = (certificates / f"{name}.pem" for name in ("ca", "cert", "key"))
    shown = ("--tls-ca-file", str(ca), "--tls-cert", str(cert), "--tls-key", str(key))
    process, address = scheduler(tmp_path, "--protocol", "tls", *shown)
    worker = dask(tmp_path, "worker", address, "--nthreads", "1", "--no-nanny", *shown)
    try:
        assert address.startswith("tls://")
        files: dict[str, Any] = {"tls_ca": ca, "tls_cert": cert, "tls_key": key}
        assert Standin(cells()).run(RunOptions(out=tmp_path / "out", dask=address, **files)) == 0
        assert len(fingerprints(tmp_path / "out")) == len(cells())
        with pytest.raises(ClusterError, match="No Dask scheduler answers at 'tls://"):
            other = {**files, "tls_ca": certificates / "other-ca.pem"}
            Standin(cells()).run(RunOptions(out=tmp_path / "none", dask=address, **other))
    finally:
        for child in (worker, process):
            child.kill()
            child.wait()


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("--dask tls://127.0.0.1:1", "To reach 'tls://127.0.0.1:1', give --tls-ca, --tls-cert and --tls-key"),
        ("--dask tls://127.0.0.1:1 --tls-ca {file}", "give --tls-ca, --tls-cert and --tls-key, three files"),
        ("--dask tcp://127.0.0.1:1 --tls-ca {file}", "Certificates are for addresses that begin with tls://"),
        ("--tls-ca {file}", "are for a cluster; name its scheduler with --dask tls://"),
        ("--dask tls://127.0.0.1:1 --tls-ca {file} --tls-cert {file} --tls-key nowhere", "nowhere cannot be read"),
        ("--dask tls://127.0.0.1:1 --tls-ca {file} --tls-cert {file} --tls-key {file}", "cannot be used"),
    ],
)
def test_certificates_that_are_none_are_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, sentence: str
) -> None:
    (tmp_path / "file").write_text("no certificate")
    out = ("--smoke", "--out", str(tmp_path / "out"))
    assert cli.main(["table1", "--methods", "empty", *out, *line.format(file=tmp_path / "file").split()]) == 2
    assert sentence in capsys.readouterr().err


# -- The same result ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_cluster_gives_the_results_of_one_process(
    tmp_path: Path, two_workers: Cluster, local: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = RunOptions(out=tmp_path, dask=two_workers.address, jobs=7)
    assert Standin(MANY).run(RunOptions(out=tmp_path, dask=two_workers.address, dry_run=True)) == 0
    total = capsys.readouterr().out.splitlines()[0]
    assert total.endswith("12 to compute, about 6 s on 2 workers."), "the cluster's, not --jobs"
    assert Standin(MANY).run(options) == 0
    out, err = capsys.readouterr()
    assert "48 rows" in out and "done; 12 of 12 cells." in err
    assert fingerprints(tmp_path) == local and not leftovers(tmp_path)


def test_failures_and_skips_are_outcomes_on_a_cluster_too(tmp_path: Path, two_workers: Cluster) -> None:
    report = run_cells(cells((RAISES, UNFITTABLE, TELLS)), Store(tmp_path), dask=two_workers.address)
    assert {outcome.cell.method.name for outcome in report.of("failed")} == {"raises", "tells"}
    assert {outcome.reason for outcome in report.of("skipped")} == {"These graphs cannot be learnt from; use others."}
    told = {outcome.reason for outcome in report.of("failed") if outcome.cell.method.name == "tells"}
    assert told <= {f"RuntimeError: {worker.pid}" for worker in two_workers.workers}, "computed by the workers"


@pytest.mark.parametrize("when", ["at the start", "later"])
def test_a_worker_with_other_versions_is_refused(
    tmp_path: Path, two_workers: Cluster, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    other = {**software(), "torch": "1.0", "commit": "unknown"}
    monkeypatch.setattr(cluster, "software", lambda: other)
    if when == "later":  # as if it had joined after all others were examined
        monkeypatch.setattr(cluster, "n_workers", lambda *arguments: 2)
    with pytest.raises(ClusterError, match=r"^The worker tcp://\S+ has torch [2-9]\S* instead of 1.0, so that"):
        run_cells(cells(), Store(tmp_path), dask=two_workers.address)
    assert not fingerprints(tmp_path)


@pytest.mark.slow
def test_the_main_process_killed_and_interrupted_leaves_the_cluster_free_and_loses_nothing(
    tmp_path: Path, two_workers: Cluster, local: dict[str, str]
) -> None:
    def start() -> Started:
        return Started.of(main, str(tmp_path), two_workers.address)

    process = start()
    wait_for_cells(tmp_path, 2, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    two_workers.wait(lambda: two_workers.n_queued() == 0)
    survived = fingerprints(tmp_path)
    assert 2 <= len(survived) < 12 and survived.items() <= local.items()

    process = start()
    wait_for_cells(tmp_path, len(survived) + 2, process)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    n = len(fingerprints(tmp_path))
    assert process.returncode == 130
    assert said == f"Stopped; {n} of 12 cells are stored; the same command goes on from here.\n"
    two_workers.wait(lambda: two_workers.n_queued() == 0)

    run_cells(MANY, Store(tmp_path), dask=two_workers.address)
    assert fingerprints(tmp_path) == local and not leftovers(tmp_path)


def test_a_worker_killed_in_mid_run_costs_time_and_no_result(
    tmp_path: Path, two_workers: Cluster, local: dict[str, str]
) -> None:
    victim, survivor = two_workers.workers
    done: list[Outcome] = []

    def kill_with_the_second(outcome: Outcome) -> None:
        done.append(outcome)
        if len(done) == 2:
            victim.kill()
            victim.wait()

    run_cells(MANY, Store(tmp_path), dask=two_workers.address, on_done=kill_with_the_second)
    assert [outcome.status for outcome in done] == ["computed"] * 12
    assert fingerprints(tmp_path) == local
    report = run_cells(cells((TELLS,), folds=(0,)), Store(tmp_path), dask=two_workers.address)
    assert report.outcomes[0].reason == f"RuntimeError: {survivor.pid}", "a single worker is a cluster too"


def test_a_cell_that_kills_its_workers_is_a_sentence_and_harms_no_other(tmp_path: Path, two_workers: Cluster) -> None:
    wanted = [*cells(folds=(0, 1)), *cells((KILLED,), folds=(0,))]
    done: list[Outcome] = []
    with pytest.raises(
        ClusterError, match=r"died, one after the other, perhaps for want of memory; .* go on from here"
    ):
        run_cells(wanted, Store(tmp_path), dask=two_workers.address, on_done=done.append)
    assert len(fingerprints(tmp_path)) == len(done) < 3 and not leftovers(tmp_path)


# -- What cannot run ---------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_scheduler_lost_or_without_workers_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process, address = scheduler(tmp_path)
    worker = None
    try:
        monkeypatch.setattr(cluster, "TIMEOUT", 0.5)
        with pytest.raises(ClusterError, match=f"^The scheduler at {address} has no workers; start some: dask worker"):
            n_workers(address)
        monkeypatch.setattr(cluster, "TIMEOUT", 60.0)
        options = ("--nthreads", "1", "--no-nanny", "--local-directory", str(tmp_path))
        worker = dask(tmp_path, "worker", address, *options, RSGG_TEST_DELAY="0.2")
        with pytest.raises(ClusterError, match=f"The connection to the scheduler at {address} was lost"):
            run_cells(MANY, Store(tmp_path), dask=address, on_done=lambda outcome: process.kill())
        assert len(fingerprints(tmp_path)) >= 1
    finally:
        for child in [process, *([worker] if worker else [])]:
            child.kill()
            child.wait()


HIDE = """
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "benchmarks":
            raise ModuleNotFoundError(f"No module named {name!r}")
sys.meta_path.insert(0, Hide())
"""


@pytest.mark.slow
def test_a_scheduler_or_worker_without_the_project_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    lacks = {"PYTHONPATH": str(tmp_path)}
    for who, variables in (("scheduler", lacks), ("worker", {})):
        (folder := tmp_path / who).mkdir()
        process, address = scheduler(folder, **variables)
        worker = dask(folder, "worker", address, "--nthreads", "1", "--no-nanny", **lacks)
        try:
            with pytest.raises(ClusterError, match=f"^The {who} .* cannot load this project .*; start it from an env"):
                n_workers(address)
        finally:
            for child in (worker, process):
                child.kill()
                child.wait()


def test_a_worker_of_several_threads_or_without_the_device_is_refused() -> None:
    def worker(threads: int) -> Any:
        return SimpleNamespace(address="tcp://there:1", state=SimpleNamespace(nthreads=threads))

    assert cluster._objection(software(), "cpu", worker(1)) == ""
    assert "tcp://there:1 has 4 threads" in cluster._objection(software(), "cpu", worker(4))
    assert "On the worker tcp://there:1: The device 'abacus'" in cluster._objection(software(), "abacus", worker(1))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://127.0.0.1", "nonsense://here:1", "tcp://"])
def test_no_scheduler_is_one_sentence_and_exit_code_2(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cluster, "TIMEOUT", 0.5)
    line = f"table1 --smoke --methods empty --datasets tree-cycles --out {tmp_path} --dask {address}"
    assert cli.main(line.split()) == 2
    err = capfd.readouterr().err
    assert err.startswith(f"No Dask scheduler answers at {address!r}; ") and err.count("\n") == 1
    assert not list(tmp_path.rglob("*.parquet"))


def test_a_time_limit_per_cell_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"leave it out with --dask"):
        Standin(MANY).run(RunOptions(out=tmp_path, dask="tcp://127.0.0.1:1", cell_seconds=1.0))


def test_something_that_answers_and_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(cluster, "TIMEOUT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(ClusterError, match="No Dask scheduler"):
        n_workers(f"tcp://127.0.0.1:{silent.getsockname()[1]}")


def test_without_the_extra_the_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "benchmarks.running.cluster")
    assert cli.main(["table1", "--dask", "tcp://127.0.0.1:8786"]) == 2
    assert capsys.readouterr().err.endswith('are needed: pip install "rsgg[cluster]".\n')


def test_dask_is_imported_only_where_it_is_asked_for_and_quiet_when_the_process_ends() -> None:
    program = """
import sys
from benchmarks import cli, table1
from benchmarks.running import experiment
assert not {"dask", "distributed", "benchmarks.running.cluster"} & set(sys.modules)
from benchmarks.running import cluster
cluster.TIMEOUT = 0.5
sys.exit(cli.main(["table1", "--dask", "tcp://nowhere"]))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("No Dask scheduler answers at 'tcp://nowhere'") and done.stderr.count("\n") == 1
