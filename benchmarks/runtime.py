"""Efficiency (appendix): runtime at inference as graphs and data sets grow, for RSGG-CE and CF², and how it grows.

    python benchmarks/runtime.py --vary n_nodes

Points are those of the ablations, for RSGG-CE as its paper has it up to 2048 nodes. When n is varied, 20 graphs are
explained at every n; above 256 nodes the data set has 60 graphs instead of 500, because all 500 would hardly fit into
memory. When the number of instances is varied, the test fold, a tenth of them, is explained.

Each point is measured in isolation: a process of its own, one at a time, one thread. After a run that does not count,
the test set is explained `--repeats` times with a seed each. Node encodings, which other tables leave out of the clock,
are measured too, because the released code's runtime is made of them. A point is stored as soon as it is
measured, and the same command goes on with the rest:

    explain_seconds, encode_seconds     CPU seconds per explained graph: the method; the node encodings that it reads
    inference_seconds                   both together
    explain_wall_seconds                the same by the clock on the wall
    test_set_seconds, …_wall_seconds    explaining the whole test set, without encodings
    fit_seconds                         CPU seconds of training, measured once
    memory_mb                           peak memory, data and training included, less `baseline_mb` (after imports)
    explain_calls, found                oracle calls per explained graph; share of graphs with a counterfactual

Medians with quartiles over the repeats. A growth exponent is the slope of log value on log n over the largest decade of
n, with a 95 % t-interval; what depends on the size of the data set is compared between data sets of one size only.

The paper says that RSGG-CE's runtime is flat in the number of instances and linear in n (its text refers to the two
figures the wrong way round).
"""

from __future__ import annotations

import math
import os
import resource
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from benchmarks.registry import ablations, methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.registry.names import names, unknown
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import FOLDS, Cell
from benchmarks.results.ledger import Store
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.options import RuntimeOptions
from benchmarks.running.run_cell import Observer, Run
from benchmarks.running.workers import Work
from rsgg.encodings import encode
from rsgg.statistics import log_log_slope

METHODS = ("rsgg-ce:faithful", "rsgg-ce:released", "cf2:faithful", "cf2:released")
SMOKE_METHODS = ("rsgg-ce:faithful", "cf2:released")
VARY = ("n_nodes", "n_instances")
BEYOND_THE_PLOT = (1024, 2048)  # nodes, for RSGG-CE as its paper has it
INSTANCES = 20  # explained at every n
ALL_GRAPHS_UP_TO, FEWER_GRAPHS = 256, 60  # nodes; graphs of a data set above
BUSY = 0.5  # cores that something else kept busy: from here on a time is not to be trusted
SMOKE_NODES, SMOKE_INSTANCES = (28, 32, 48), (40, 60)

COLUMNS = (
    "vary", "value", "method", "variant", "graphs", "instances", "quantity", "median", "low", "high", "repeats", "note"
)  # fmt: skip
GROWTH_COLUMNS = (
    "vary", "method", "variant", "quantity", "exponent", "ci_low", "ci_high", "points", "graphs", "paper"
)  # fmt: skip
GROWING = ("explain_seconds", "encode_seconds", "inference_seconds", "test_set_seconds", "fit_seconds", "memory_mb")
OF_DATA_SIZE = ("fit_seconds", "memory_mb")
PAPER = {"n_nodes": 1.0, "n_instances": 0.0}  # exponents of RSGG-CE's runtime per explained graph


# -- Points --------------------------------------------------------------------------------------------------------


def points(options: RuntimeOptions) -> dict[Cell, list[tuple[str, int]]]:
    """The cells that are measured, small ones first, each with what is varied there and to which value."""
    for name in names(options.vary):
        if name not in VARY:
            raise unknown("quantity to vary", name, VARY)
    found: dict[Cell, list[tuple[str, int]]] = {}
    for vary in names(options.vary) or VARY:
        for value, task in data_sets(vary, smoke=options.smoke).items():
            for method in methods.choose(options.methods or (SMOKE_METHODS if options.smoke else METHODS)):
                far = vary == "n_nodes" and value in BEYOND_THE_PLOT
                if not far or method.row == ("rsgg-ce", "faithful"):
                    found.setdefault(_cell(vary, task, method, smoke=options.smoke), []).append((vary, value))
    return found


def data_sets(vary: str, *, smoke: bool = False) -> dict[int, TaskEntry]:
    """The tasks by the value that is varied."""
    base, grid = tasks.task(ablations.TASK), ablations.PAPER[vary].points
    if vary == "n_instances":
        return {n: base.varied({"n_graphs": n}) for n in SMOKE_INSTANCES} if smoke else {
            n: base.varied(options) for n, options in grid.items()
        }  # fmt: skip
    if smoke:
        return {n: base.varied({**grid[n], "n_graphs": 2 * INSTANCES}) for n in SMOKE_NODES}
    nodes = {**grid, **{n: {"n_nodes": n} for n in BEYOND_THE_PLOT}}
    fewer = {"n_graphs": FEWER_GRAPHS}
    return {n: base.varied(options if n <= ALL_GRAPHS_UP_TO else {**options, **fewer}) for n, options in nodes.items()}


def n_graphs(task: TaskEntry) -> int:
    return int(task.options.get("n_graphs", ablations.USUAL_GRAPHS))


def _cell(vary: str, task: TaskEntry, method: Method, *, smoke: bool) -> Cell:
    """Fold 0 of as many as leave `INSTANCES` graphs to explain; of ten where the number of instances is varied."""
    folds = n_graphs(task) // INSTANCES if vary == "n_nodes" else FOLDS
    chosen = method.for_task(task.name)
    return Cell(task, chosen.tiny() if smoke else chosen, 0, folds)


# -- Inside the process of a point -----------------------------------------------------------------------------------


class Clock(Observer):
    """Explains the test graphs again and again under the clock; what it saw is a table name, repeat, value."""

    def __init__(self, repeats: int) -> None:
        self.repeats = repeats

    def started(self) -> None:
        self.seen: list[tuple[str, int, float]] = []
        self.busy, self.cpu, self.wall = busy_seconds(), time.process_time(), time.perf_counter()
        self._note("baseline_mb", memory()[0])
        self._note("load_before", os.getloadavg()[0])

    def explained(self, run: Run) -> None:
        """The run's own explanation is the warm-up that does not count."""
        self._note("instances", len(run.test))
        self._note("fit_cpu", run.fit_seconds)
        kind, results = run.explainer.encoding, []
        for i in range(self.repeats + 1 if kind is not None else 0):
            spent, _, _ = clocked(partial(encode, run.test, str(kind)))
            if i:
                self._note("encode_cpu", spent, i - 1)
        for i in range(1, self.repeats + 1):
            cpu, wall, found = clocked(partial(run.explain, f"explain {i}"))
            self._note("explain_cpu", cpu, i - 1)
            self._note("explain_wall", wall, i - 1)
            results += found
        self._note("explain_calls", float(np.mean([result.calls for result in results])))
        self._note("found", float(np.mean([result.offered for result in results])))
        self._note("peak_mb", memory()[1])
        spent, lasted = time.process_time() - self.cpu, time.perf_counter() - self.wall
        self._note("others_busy", max(0.0, busy_seconds() - self.busy - spent) / lasted if self.busy else 0.0)

    def table(self, run: Run) -> pa.Table:
        name, repeat, value = zip(*self.seen, strict=True)
        return pa.table({"name": pa.array(name), "repeat": pa.array(repeat), "value": pa.array(value, pa.float64())})

    def _note(self, name: str, value: float, repeat: int = 0) -> None:
        self.seen.append((name, repeat, float(value)))


def clocked(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """CPU seconds, seconds on the wall, and what came of it."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return time.process_time() - cpu, time.perf_counter() - wall, result


def memory() -> tuple[float, float]:
    """Megabytes this process holds now and has held at most.

    ru_maxrss is of no use under Linux: a new process starts with its parent's. Elsewhere there is nothing better.
    """
    with suppress(OSError, KeyError):
        lines = (line.split() for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
        status = {line[0]: line[1] for line in lines if len(line) > 1}
        return int(status["VmRSS:"]) / 1024, int(status["VmHWM:"]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    return peak, peak


def busy_seconds() -> float:
    """CPU seconds that all cores have worked since the machine was started; 0 where that is not known.

    The load average is no help during a run: it remembers the point before.
    """
    with suppress(OSError, ValueError):
        user, nice, system, _, _, *more = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
        return (user + nice + system + sum(more[:3])) / os.sysconf("SC_CLK_TCK")
    return 0.0


# -- Tables ----------------------------------------------------------------------------------------------------------


def tabulate(done: Finished, measured: dict[Cell, list[tuple[str, int]]]) -> pd.DataFrame:
    """`COLUMNS`: a line per point and quantity; of a point that failed, a line with the reason."""
    lines: list[dict[str, Any]] = []
    order = {row: i for i, row in enumerate(methods.rows())}
    placed = [
        (VARY.index(vary), order[cell.method.row], value, cell) for cell, at in measured.items() for vary, value in at
    ]
    for place, _, value, cell in sorted(placed, key=lambda point: point[:3]):
        vary, stored = VARY[place], done.stored.get(cell.key)
        whose = {"vary": vary, "value": value, "method": cell.method.name, "variant": cell.method.variant}
        whose |= {"graphs": n_graphs(cell.task)}
        if cell.key in done.reasons:
            lines.append({**whose, "quantity": "failed", "repeats": 0, "note": done.reasons[cell.key]})
        elif stored is not None and stored.history is not None:
            seen = stored.history.to_pandas().groupby("name")["value"].apply(np.array).to_dict()
            whose |= {"instances": int(seen["instances"][0]), "note": _note(vary, value, float(seen["others_busy"][0]))}
            lines += [{**whose, "quantity": name, **_quartiles(values)} for name, values in _quantities(seen).items()]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _note(vary: str, value: int, busy: float) -> str:
    fewer = f"{FEWER_GRAPHS} graphs instead of {ablations.USUAL_GRAPHS}, for want of memory"
    notes = [fewer] if vary == "n_nodes" and value > ALL_GRAPHS_UP_TO else []
    notes += [f"something else kept {busy:.1f} cores busy meanwhile"] if busy > BUSY else []
    return "; ".join(notes)


def _quantities(seen: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Repeated measurements by the name of their quantity."""
    n, cpu, wall = seen["instances"][0], seen["explain_cpu"], seen["explain_wall"]
    encoded = seen.get("encode_cpu")
    encoding = {} if encoded is None else {"encode_seconds": encoded / n, "inference_seconds": (cpu + encoded) / n}
    return {
        "explain_seconds": cpu / n,
        **(encoding or {"inference_seconds": cpu / n}),
        "explain_wall_seconds": wall / n,
        "test_set_seconds": cpu,
        "test_set_wall_seconds": wall,
        "fit_seconds": seen["fit_cpu"],
        "memory_mb": seen["peak_mb"] - seen["baseline_mb"],
        **{name: seen[name] for name in ("baseline_mb", "explain_calls", "found")},
    }


def _quartiles(values: np.ndarray) -> dict[str, float]:
    low, median, high = np.quantile(values, (0.25, 0.5, 0.75))
    return {"median": median, "low": low, "high": high, "repeats": len(values)}


# -- Growth --------------------------------------------------------------------------------------------------------


def growth(table: pd.DataFrame) -> pd.DataFrame:
    """`GROWTH_COLUMNS`: exponents over the largest decade of what is varied, from at least two points."""
    lines = []
    for (vary, method, variant, quantity), rows in table.groupby(["vary", "method", "variant", "quantity"], sort=False):
        if quantity not in GROWING:
            continue
        one_size = vary == "n_nodes" and quantity in OF_DATA_SIZE
        for _, group in rows.groupby("graphs") if one_size else [("", rows)]:
            decade = group[group["value"] >= group["value"].max() / 10]
            if len(decade) < 2:
                continue
            exponent, low, high = log_log_slope(decade["value"], decade["median"])
            if math.isnan(exponent):  # fewer than two of the values are positive
                continue
            timed = method == "rsgg-ce" and quantity in ("explain_seconds", "inference_seconds")
            lines.append(
                {
                    "vary": vary, "method": method, "variant": variant, "quantity": quantity,
                    "exponent": exponent, "ci_low": low, "ci_high": high,
                    "points": " ".join(map(str, decade["value"])),
                    "graphs": group["graphs"].iloc[0] if one_size else "",
                    "paper": PAPER[vary] if timed else "",
                }
            )  # fmt: skip
    return pd.DataFrame(lines, columns=list(GROWTH_COLUMNS))


class Runtime(Experiment):
    """Points that are measured one after the other, each in a process of its own."""

    name = "runtime"
    shows = ("runtime",)

    def plan(self, options: Any) -> list[Cell]:
        return list(points(options))

    def run(self, options: Any) -> int:
        points(options)  # options that make no sense here are said before a device is looked for
        return super().run(options)

    def store(self, options: Any) -> Store:
        """Apart from Table 1's results: these cells are measured with repetitions, and so many are a measurement."""
        return Store(options.results / "runtime" / f"{options.repeats}_repeats")

    def observer(self, options: Any) -> Observer:
        return Clock(options.repeats)

    def work(self, options: Any) -> Work:
        return Work(options.data_dir, "cpu", self.observer(options), options.cell_seconds, new_process_each=True)

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        table = tabulate(done, points(options))
        files.csv("runtime.csv", table)
        files.csv("runtime_growth.csv", growth(table))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("runtime")
