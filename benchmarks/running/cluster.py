"""Cells on many machines: the same cells, computed by the workers of a Dask cluster through joblib's Dask backend.

Only `--dask ADDRESS` imports this module, and with it `distributed` (the extra `cluster`). The main process hands out
cells and stores what comes back, exactly as with workers of its own; the workers write nothing. Results must not depend
on where a cell was computed, so a worker with other software, or with several threads (which would share the global
random generators), is refused: before anything is computed, and again with every cell, since workers come and go.

A worker that dies costs time: Dask gives its cells to others. When the main process ends, in whatever way, the
scheduler notices and forgets what it had queued.
"""

from __future__ import annotations

import asyncio
import logging
import os
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any

import joblib

from benchmarks.results.cell import Cell
from benchmarks.results.provenance import provenance
from benchmarks.running.device import check_device
from benchmarks.running.run_cell import Outcome, run_cell
from benchmarks.running.workers import Work
from rsgg.errors import RSGGError, UsageError

try:
    import distributed
    from distributed.comm.core import CommClosedError
    from joblib._dask import DaskDistributedBackend
except ImportError as error:
    raise UsageError(
        'To compute on a cluster (--dask) the packages of the extra "cluster" are needed: pip install "rsgg[cluster]".'
    ) from error

TIMEOUT = 10.0  # seconds to wait for the scheduler, and then for a first worker
AGAIN = "what was computed is stored: give the same command again to go on from here."
START_IT = "start it from an environment that has it."


class ClusterError(RSGGError):
    """A cluster that cannot be reached, is not fit to compute these results, or was lost."""


# -- The main process ------------------------------------------------------------------------------------


_certificates: dict[str, distributed.Security] = {}  # that are shown, by the address of the scheduler


def use_certificates(address: str, ca: Path | None, cert: Path | None, key: Path | None) -> None:
    """From now on, show these files to the scheduler at tls://…; without any, those that Dask's own settings name.

    Both sides then know each other by certificates that `ca` has signed, and what they say is encrypted.
    """
    files = [path for path in (ca, cert, key) if path is not None]
    if not address.startswith("tls://"):
        if files:
            raise UsageError(f"Certificates are for addresses that begin with tls://, and {address!r} does not.")
        return
    if len(files) < 3 and (files or not getattr(distributed.Security(), "tls_ca_file", None)):
        raise UsageError(f"To reach {address!r}, give --tls-ca, --tls-cert and --tls-key, three files in PEM format.")
    for path in files:
        if not path.is_file() or not os.access(path, os.R_OK):
            raise UsageError(f"{path} cannot be read; --tls-ca, --tls-cert and --tls-key name files in PEM format.")
    if files:
        _certificates[address] = distributed.Security(
            tls_ca_file=str(ca), tls_client_cert=str(cert), tls_client_key=str(key), require_encryption=True
        )


def n_workers(address: str, device: str = "cpu") -> int:
    """How many cells the cluster computes at a time. Raises if it is not there or not fit for it."""
    with _quiet():
        return asyncio.run(_examined(address, device))


def computed_on(address: str, cells: Sequence[Cell], work: Work) -> Generator[Outcome, None, None]:
    """Outcomes of the cells in the order in which the workers of the cluster are done with them."""
    n_workers(address, work.device)
    folder = None if work.data_dir is None else work.data_dir.absolute()  # workers have another working directory
    here = replace(work, data_dir=folder, idle=None)
    try:
        with _quiet(), _client(address) as client:
            parallel = joblib.Parallel(
                backend=_Backend(client=client),
                return_as="generator_unordered",
                batch_size=1,  # a cell is stored when it is done, not when its batch is
                pre_dispatch="all",  # for workers that join later
            )
            yield from parallel(joblib.delayed(_computed_here)(cell, here, software()) for cell in cells)
    except distributed.KilledWorker as error:
        raise ClusterError(
            "The workers that were given one of the cells died, one after the other, perhaps for want of memory; "
            f"see the log of {error.last_worker.address}; {AGAIN}"
        ) from error
    except (distributed.CancelledError, CommClosedError, TimeoutError) as error:
        raise ClusterError(f"The connection to the scheduler at {address} was lost; {AGAIN}") from error


def _client(address: str, **options: Any) -> Any:
    security = _certificates.get(address)
    return distributed.Client(address, timeout=TIMEOUT, set_as_default=False, security=security, **options)


async def _examined(address: str, device: str) -> int:
    """The number of workers, none of which may be unfit. Only asynchronous clients can be closed if they fail."""
    try:
        client = _client(address, asynchronous=True)
    except (OSError, ValueError, TypeError) as error:  # of OpenSSL, about files that are no certificates
        raise ClusterError(
            f"The certificates for {address!r} cannot be used ({error}); give files in PEM format."
        ) from error
    try:
        try:
            async with asyncio.timeout(TIMEOUT):  # the client's own does not help against what is no scheduler
                await client
        except Exception as error:
            raise ClusterError(
                f"No Dask scheduler answers at {address!r}; check the address (such as tcp://host:8786) and whether "
                "it runs: dask scheduler."
            ) from error
        try:
            await client.wait_for_workers(1, timeout=TIMEOUT)
        except TimeoutError as error:
            raise ClusterError(
                f"The scheduler at {address} has no workers; start some: dask worker {address} --nthreads 1."
            ) from error
        try:
            await client.run_on_scheduler(software)  # it looks into what it hands out
        except Exception as error:
            raise ClusterError(f"The scheduler at {address} cannot load this project ({error}); {START_IT}") from error
        objections = await client.run(_objection, software(), device, on_error="return")
    finally:
        await client.close(timeout=1)
    for worker, objection in sorted(objections.items()):
        if isinstance(objection, BaseException):  # it could not even load the question
            raise ClusterError(f"The worker {worker} cannot load this project ({objection}); {START_IT}")
        if objection:
            raise ClusterError(objection)
    return len(objections)


@contextmanager
def _quiet() -> Iterator[None]:
    """What distributed and joblib have to say about clusters and runs that end early is said in sentences of ours."""
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
        warnings.filterwarnings("ignore", ".* have been (cancelled|successfully executed)", UserWarning)
        yield


class _Backend(DaskDistributedBackend):  # type: ignore[misc]  # joblib has no types
    """joblib's Dask backend, without two surprises."""

    def configure(self, n_jobs: int = 1, parallel: Any = None, **options: Any) -> int:
        """With a single worker joblib would compute in this process instead."""
        return max(2, super().configure(n_jobs, parallel, **options))

    def submit(self, func: Any, callback: Callable[[Any], None] | None = None) -> Any:
        """joblib never hears of cells that were given up or cancelled, and would wait for them for ever."""
        future = super().submit(func, callback)
        if callback is not None:
            future.add_done_callback(lambda done: callback(done.exception()) if done.exception() else None)
        return future

    def retrieve_result_callback(self, out: Any) -> Any:
        if isinstance(out, BaseException):
            raise out
        return super().retrieve_result_callback(out)


# -- The workers -----------------------------------------------------------------------------------------


def software() -> dict[str, str]:
    """What results depend on besides a cell's definition, as far as it has a version."""
    own = provenance()
    versions = {"Python": own["python"], **own["versions"], "distributed": metadata.version("distributed")}
    try:
        versions["rsgg"] = metadata.version("rsgg")
    except metadata.PackageNotFoundError:  # on the path, but not installed
        versions["rsgg"] = "not installed"
    return {**versions, "commit": own["commit"].removesuffix("-dirty")}


def _objection(wanted: Mapping[str, str], device: str, dask_worker: distributed.Worker) -> str:
    """A sentence that says why this worker's results would not be those of the main process; empty where they are."""
    worker, own = dask_worker, software()  # the name under which `Client.run` gives it
    if worker.state.nthreads != 1:
        return (
            f"The worker {worker.address} has {worker.state.nthreads} threads, which would disturb each other's random "
            "numbers; start it with --nthreads 1 (and with --nworkers for several on one machine)."
        )
    different = [
        f"{name} {own.get(name, 'missing')} instead of {version}"
        for name, version in wanted.items()
        if own.get(name) != version and not (name == "commit" and "unknown" in (own[name], version))
    ]
    if different:
        return (
            f"The worker {worker.address} has {', '.join(different)}, so that its results may differ; start it anew "
            "from the environment and the code that this command runs in."
        )
    try:
        check_device(device)
    except UsageError as error:
        return f"On the worker {worker.address}: {error}"
    return ""


def _computed_here(cell: Cell, work: Work, wanted: Mapping[str, str]) -> Outcome:
    objection = _objection(wanted, work.device, distributed.get_worker())
    if objection:
        raise ClusterError(objection)
    return run_cell(cell, work.data_dir, work.device, work.observer)
