"""Efficiency (appendix): runtime at inference as graphs and data sets grow, for RSGG-CE and CF², and how it grows.

    python benchmarks/runtime.py --vary n_nodes

Points are those of the ablations (`benchmarks.grids`), for RSGG-CE as its paper has it up to 2048 nodes. When n is
varied, 20 graphs are explained at every n; above 256 nodes the data set has 60 graphs instead of 500, because all 500
would hardly fit into memory. When the number of instances is varied, the test fold, a tenth of them, is explained.

Each point is measured in isolation: a process of its own, one at a time, one thread. After a run that does not count,
the test set is explained `--repeats` times with a seed each. Node encodings, which other tables leave out of the clock,
are measured too, because the released code's runtime is made of them. A point is stored as soon as it is measured, and
the same command goes on with the rest. `runtime.csv` and `runtime_growth.csv` are written from all stored points:

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

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pandas as pd
import torch
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from benchmarks import grids
from benchmarks.catalogue import CATALOGUE, Method, choose_methods
from benchmarks.cell import FOLDS, Cell
from benchmarks.experiment import terminate_like_interrupt
from benchmarks.options import ROOT, RuntimeOptions, names, unknown
from benchmarks.progress import Durations, in_words
from benchmarks.runner import seed_everything, start_worker
from benchmarks.show import terminal
from benchmarks.store import Store, provenance, write_csv, write_text
from rsgg.data import TreeCycles
from rsgg.encodings import encode
from rsgg.errors import UsageError
from rsgg.oracles.oracle import CountingOracle
from rsgg.statistics import log_log_slope

METHODS = ("rsgg-ce:faithful", "rsgg-ce:released", "cf2:faithful", "cf2:released")
SMOKE_METHODS = ("rsgg-ce:faithful", "cf2:released")
VARY = ("n_nodes", "n_instances")
BEYOND_THE_PLOT = (1024, 2048)  # nodes, for RSGG-CE as its paper has it
INSTANCES = 20  # explained at every n
ALL_GRAPHS_UP_TO, FEWER_GRAPHS = 256, 60  # nodes; graphs of a data set above
STARTING = 5.0  # seconds that a process needs before it has anything to measure
BUSY = 0.5  # cores that something else kept busy: from here on a time is not to be trusted

COLUMNS = (
    "vary", "value", "method", "variant", "graphs", "instances", "quantity", "median", "low", "high", "repeats", "note"
)  # fmt: skip
GROWTH_COLUMNS = (
    "vary", "method", "variant", "quantity", "exponent", "ci_low", "ci_high", "points", "graphs", "paper"
)  # fmt: skip
GROWING = ("explain_seconds", "encode_seconds", "inference_seconds", "test_set_seconds", "fit_seconds", "memory_mb")
OF_DATA_SIZE = ("fit_seconds", "memory_mb")
PAPER = {"n_nodes": 1.0, "n_instances": 0.0}  # exponents of RSGG-CE's runtime per explained graph
PAPER_SAYS = (
    "The paper: RSGG-CE “scales perfectly (flat runtime) when the datasets get bigger …, and it has a linear trend "
    "when the graph size increases …”."
)


# -- Points --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Point:
    """One measurement: a cell's data, method and fold, explained `repeats` times."""

    vary: str
    value: int
    cell: Cell
    repeats: int

    @property
    def definition(self) -> dict[str, Any]:
        return {"cell": self.cell.definition, "repeats": self.repeats}

    @property
    def title(self) -> str:
        return f"{self.vary} = {self.value}, {self.cell.method.name} ({self.cell.method.variant})"

    def path(self, folder: Path) -> Path:
        method = self.cell.method
        return folder / f"{self.vary}-{self.value}-{method.name}.{method.variant}.json"

    def about(self) -> dict[str, Any]:
        """What a stored point says about itself, whatever became of it."""
        method, data = self.cell.method, self.cell.dataset.parameters()
        return {
            "vary": self.vary,
            "value": self.value,
            "method": method.name,
            "variant": method.variant,
            "graphs": data["n_graphs"],
            "definition": self.definition,
        }


def points_for(options: RuntimeOptions) -> list[Point]:
    """The points that the options ask for, small ones first."""
    for name in ("datasets", "folds", "seeds", "dask"):
        if getattr(options, name):
            raise UsageError(f"Runtimes are measured one at a time on data of their own; leave --{name} out.")
    if options.device != "cpu":
        raise UsageError("Runtimes are measured in CPU seconds; leave --device out.")
    for name in names(options.vary):
        if name not in VARY:
            raise unknown("quantity to vary", name, VARY)
    methods = choose_methods(options.methods or (SMOKE_METHODS if options.smoke else METHODS))
    return [
        Point(vary, value, _cell(vary, spec, method, smoke=options.smoke), options.repeats)
        for vary in names(options.vary) or VARY
        for value, spec in data_sets(vary, smoke=options.smoke).items()
        for method in methods
        if value not in BEYOND_THE_PLOT or vary != "n_nodes" or (method.name, method.variant) == ("rsgg-ce", "faithful")
    ]


def data_sets(vary: str, *, smoke: bool = False) -> dict[int, TreeCycles]:
    """The data sets by the value that is varied."""
    points = grids.PAPER[vary].points
    if vary == "n_instances":
        return {n: replace(grids.BASE, n_graphs=n) for n in (40, 60)} if smoke else dict(points)
    if smoke:
        return {n: replace(points[n], n_graphs=2 * INSTANCES) for n in (28, 32, 48)}
    larger = {n: replace(grids.BASE, n_nodes=n) for n in BEYOND_THE_PLOT}
    return {
        n: spec if n <= ALL_GRAPHS_UP_TO else replace(spec, n_graphs=FEWER_GRAPHS)
        for n, spec in {**points, **larger}.items()
    }


def _cell(vary: str, spec: TreeCycles, method: Method, *, smoke: bool) -> Cell:
    """Fold 0 of as many as leave `INSTANCES` graphs to explain; of ten where the number of instances is varied."""
    folds = spec.n_graphs // INSTANCES if vary == "n_nodes" else FOLDS
    chosen = method.for_dataset(spec.name)
    return Cell(spec, chosen.tiny() if smoke else chosen, 0, folds)


def guess(point: Point) -> float:
    """Seconds that a point may take: what this fold of the ablation took in the reference; beyond it, linear in n."""
    known = grids.PAPER[point.vary].points
    nearest = min(known, key=lambda value: abs(value - point.value))
    cell = Cell(known[nearest], point.cell.method, 0)
    return STARTING + _durations().expect(cell) * point.value / nearest


_durations = cache(Durations)


# -- Inside the process of a point -----------------------------------------------------------------------------------


def measure(cell: Cell, repeats: int) -> dict[str, Any]:
    """Fit and explain one cell under the clock; to be called in a process that has done nothing else."""
    torch.set_num_threads(1)
    baseline, _ = memory()
    explainer, data = cell.method.build(), cell.dataset.load()
    kind = explainer.encoding
    if kind is not None:
        data = data.with_encoding(kind)
    fold = data.folds(cell.folds, cell.seed)[cell.fold]
    train, test = data.graphs.select(fold.train), data.graphs.select(fold.test)

    fit_seed = cell.seed_for("fit")
    seed_everything(fit_seed)
    fit_cpu, fit_wall, _ = clocked(lambda: explainer.fit(train, data.oracle, seed=fit_seed))

    encodings = [] if kind is None else [clocked(lambda: encode(test, kind))[0] for _ in range(repeats + 1)][1:]
    explained = []
    for i in range(repeats + 1):
        seed = cell.seed_for("explain" if i == 0 else f"explain {i}")
        seed_everything(seed)
        explained.append(clocked(partial(explainer.explain, test, CountingOracle(data.oracle), seed=seed)))
    results = [result for _, _, found in explained[1:] for result in found]
    return {
        "instances": len(test),
        "fit_cpu": fit_cpu,
        "fit_wall": fit_wall,
        "encode_cpu": encodings,
        "explain_cpu": [cpu for cpu, _, _ in explained[1:]],
        "explain_wall": [wall for _, wall, _ in explained[1:]],
        "explain_calls": mean(result.calls for result in results),
        "found": mean(float(result.found) for result in results),
        "baseline_mb": baseline,
        "peak_mb": memory()[1],
    }


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


def child() -> None:
    """What the process of a point does: read what to measure, print what was measured, or why it could not be."""
    parent, cell, repeats = pickle.load(sys.stdin.buffer)
    start_worker(parent)
    try:
        found = measure(cell, repeats)
    except Exception as error:
        found = {"failed": f"{type(error).__name__}: {' '.join(str(error).split()) or 'no message'}"}
    print(f"\n{json.dumps(found)}")


# -- Outside -------------------------------------------------------------------------------------------------------

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


def measured(point: Point) -> dict[str, Any]:
    """The point, measured in a process of its own, or with the reason why it `failed`; and what else was running."""
    load = os.getloadavg()[0]
    busy, own, start = _busy_seconds(), _childrens_seconds(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", "from benchmarks.runtime import child; child()"],
        input=pickle.dumps((os.getpid(), point.cell, point.repeats)),
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, **ONE_THREAD},
    )
    duration = time.perf_counter() - start
    others = max(0.0, _busy_seconds() - busy - (_childrens_seconds() - own)) / duration if busy else load
    if done.returncode:
        found = {"failed": _how_it_ended(done.returncode, done.stderr.decode(errors="replace"))}
    else:
        found = json.loads(done.stdout.decode().splitlines()[-1])
    return {
        **point.about(), **found,
        "load_before": load, "others_busy": others, "duration": duration,
        "created": datetime.now(UTC).isoformat(timespec="seconds"), **provenance(),
    }  # fmt: skip


def _how_it_ended(code: int, errors: str) -> str:
    if code < 0:
        memory = ", perhaps for want of memory" if code == -signal.SIGKILL else ""
        return f"the process was ended by {signal.Signals(-code).name}{memory}"
    lines = errors.strip().splitlines()
    return lines[-1] if lines else f"the process ended with code {code} and said nothing"


def _busy_seconds() -> float:
    """CPU seconds that all cores have worked since the machine was started; 0 where that is not known.

    The load average is no help during a run: it remembers the point before.
    """
    with suppress(OSError, ValueError):
        user, nice, system, _, _, *more = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
        return (user + nice + system + sum(more[:3])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _childrens_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(options: RuntimeOptions) -> int:
    """Measure the points that are not stored, one after the other, and write the tables; returns the exit code."""
    points, folder = points_for(options), options.results / "runtime"
    missing = [point for point in points if options.fresh or not is_measured(point, folder)]
    if options.dry_run:
        _say_plan(points, missing)
        return 0
    Store(options.results).prepare()
    failed = 0
    try:
        with terminate_like_interrupt():
            for record in _measured_one_by_one(missing, folder):
                failed += "failed" in record
    except KeyboardInterrupt:
        stored = sum(is_measured(point, folder) for point in points)
        command = "without --fresh the same command" if options.fresh else "the same command"
        print(f"Stopped; {stored} of {len(points)} points are stored; {command} goes on from here.", file=sys.stderr)
        return 130
    terminal().print(render(options.results))
    return 1 if failed else 0


def _measured_one_by_one(points: Sequence[Point], folder: Path) -> Iterator[dict[str, Any]]:
    """Measure, store and say a line, point by point."""
    guessed = spent = 0.0
    for i, point in enumerate(points):
        record = measured(point)
        write_text(point.path(folder), json.dumps(record, indent=1) + "\n")
        guessed, spent = guessed + guess(point), spent + record["duration"]
        rest = sum(map(guess, points[i + 1 :])) * spent / guessed
        left = f", about {in_words(rest)} left" if rest else ""
        print(f"{point.title}: {_outcome(record)}; {i + 1} of {len(points)} points{left}.", file=sys.stderr, flush=True)
        yield record


def _outcome(record: dict[str, Any]) -> str:
    if "failed" in record:
        return f"failed, {record['failed']}"
    each = 1000 * float(np.median(record["explain_cpu"])) / record["instances"]
    return f"{each:.3g} ms per explanation, fitted in {record['fit_cpu']:.1f} s{_disturbed(record, '; ')}"


def _disturbed(record: dict[str, Any], before: str = "") -> str:
    busy = record["others_busy"]
    return f"{before}something else kept {busy:.1f} cores busy meanwhile" if busy > BUSY else ""


def _say_plan(points: Sequence[Point], missing: Sequence[Point]) -> None:
    for point in points:
        data = point.cell.dataset.parameters()
        state = f"to measure, about {in_words(guess(point))}" if point in missing else "stored"
        print(f"{point.title}: {data['n_graphs']} graphs of {data['n_nodes']} nodes; {state}")
    time_left = f", about {in_words(sum(map(guess, missing)))}" if missing else ""
    print(f"{len(points)} points: {len(points) - len(missing)} stored, {len(missing)} to measure{time_left}.")


# -- Stored points -------------------------------------------------------------------------------------------------


def is_measured(point: Point, folder: Path) -> bool:
    """Is this very point stored? A failure is not a measurement: it is tried again."""
    record = _read(point.path(folder))
    return record is not None and record["definition"] == point.definition and "failed" not in record


def _read(path: Path) -> dict[str, Any] | None:
    """A stored point; None where there is none or its file is damaged, which is then measured again."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        return record if isinstance(record, dict) and "definition" in record else None
    except (OSError, ValueError):
        return None


def records(folder: Path) -> list[dict[str, Any]]:
    """All stored points: by what is varied, in the order of the catalogue, small ones first."""
    found = [record for record in map(_read, sorted(folder.glob("*.json"))) if record is not None]
    order = {(method.name, method.variant): i for i, method in enumerate(CATALOGUE)}

    def place(record: dict[str, Any]) -> tuple[int, int, int]:
        method = order.get((record["method"], record["variant"]), len(order))
        return VARY.index(record["vary"]), method, record["value"]

    return sorted(found, key=place)


def tabulate(found: Sequence[dict[str, Any]]) -> pd.DataFrame:
    """`COLUMNS`: a line per point and quantity; of a point that failed, a line with the reason."""
    lines: list[dict[str, Any]] = []
    for record in found:
        whose = {name: record[name] for name in ("vary", "value", "method", "variant", "graphs")}
        if "failed" in record:
            lines.append({**whose, "quantity": "failed", "repeats": 0, "note": record["failed"]})
            continue
        fewer = f"{FEWER_GRAPHS} graphs instead of {grids.BASE.n_graphs}, for want of memory"
        notes = [fewer] if record["vary"] == "n_nodes" and record["value"] > ALL_GRAPHS_UP_TO else []
        notes += [_disturbed(record)] if record["others_busy"] > BUSY else []
        whose |= {"instances": record["instances"], "note": "; ".join(notes)}
        lines += [{**whose, "quantity": name, **_quartiles(values)} for name, values in _quantities(record).items()]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _quantities(record: dict[str, Any]) -> dict[str, np.ndarray]:
    """Repeated measurements by the name of their quantity."""
    n = record["instances"]
    cpu, wall, encoded = (np.array(record[name]) for name in ("explain_cpu", "explain_wall", "encode_cpu"))
    encoding = {"encode_seconds": encoded / n, "inference_seconds": (cpu + encoded) / n} if len(encoded) else {}
    return {
        "explain_seconds": cpu / n,
        **(encoding or {"inference_seconds": cpu / n}),
        "explain_wall_seconds": wall / n,
        "test_set_seconds": cpu,
        "test_set_wall_seconds": wall,
        **{
            name: np.array([value])
            for name, value in (
                ("fit_seconds", record["fit_cpu"]),
                ("memory_mb", record["peak_mb"] - record["baseline_mb"]),
                ("baseline_mb", record["baseline_mb"]),
                ("explain_calls", record["explain_calls"]),
                ("found", record["found"]),
            )
        },
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


def verdicts(grown: pd.DataFrame) -> list[str]:
    """The paper's two claims, and a sentence on each exponent that they are about."""
    said = []
    for line in grown[(grown["quantity"] == "inference_seconds") & (grown["paper"] != "")].to_dict("records"):
        what = f"{line['method']} ({line['variant']}), {line['vary']} {line['points']}"
        if pd.isna(line["ci_low"]):
            said.append(f"{what}: exponent {line['exponent']:.2f}, too few points for an interval.")
        else:
            where = "inside" if line["ci_low"] <= line["paper"] <= line["ci_high"] else "outside"
            interval = f"[{line['ci_low']:.2f}, {line['ci_high']:.2f}]"
            said.append(
                f"{what}: exponent {line['exponent']:.2f} {interval}; the paper's {line['paper']:g} is {where}."
            )
    return [PAPER_SAYS, *said] if said else []


# -- Files and display ---------------------------------------------------------------------------------------------


def render(out: Path) -> RenderableType:
    """Write `runtime.csv` and `runtime_growth.csv` from all stored points; returns what to print."""
    table = tabulate(records(out / "runtime"))
    grown = growth(table)
    for name, frame in {"runtime.csv": table, "runtime_growth.csv": grown}.items():
        write_csv(out / name, frame)
    failed = table[table["quantity"] == "failed"].to_dict("records")
    lost = [f"{f['vary']} = {f['value']}, {f['method']} ({f['variant']}) failed: {f['note']}." for f in failed]
    return Group(*_tables(table), *_warnings(table), *_growth_table(grown), *verdicts(grown), *lost)


SHOWN = {
    "explain_seconds": ("explain, ms", 1000),
    "encode_seconds": ("encode, ms", 1000),
    "test_set_seconds": ("test set, s", 1),
    "fit_seconds": ("fit, s", 1),
    "memory_mb": ("memory, MB", 1),
    "explain_calls": ("calls", 1),
}


def _tables(table: pd.DataFrame) -> Iterator[Table]:
    """A table per what is varied: CPU times per explained graph, and what else a point costs."""
    for vary, rows in table[table["quantity"] != "failed"].groupby("vary", sort=False):
        view = Table(title=f"CPU time and memory, varying {vary} (medians)", box=box.SIMPLE_HEAD)
        for title in ("", str(vary), "explained", *(title for title, _ in SHOWN.values())):
            view.add_column(title, justify="right")
        for (method, variant, value), own in rows.groupby(["method", "variant", "value"], sort=False):
            medians = own.set_index("quantity")["median"]
            cells = [f"{medians[name] * unit:.4g}" if name in medians else "–" for name, (_, unit) in SHOWN.items()]
            view.add_row(f"{method} ({variant})", str(value), f"{own['instances'].iloc[0]:.0f}", *cells)
        yield view


def _warnings(table: pd.DataFrame) -> list[str]:
    disturbed = table[table["note"].str.contains("something else", na=False)]
    points = disturbed.groupby(["vary", "value", "method", "variant"]).ngroups
    return [f"At {points} points something else was running: do not trust their times; see runtime.csv."] * bool(points)


def _growth_table(grown: pd.DataFrame) -> list[Table]:
    view = Table(title="Growth exponents over the largest decade, 95 % intervals", box=box.SIMPLE_HEAD)
    for title in ("", "varying", "quantity", "exponent", "interval", "points"):
        view.add_column(title, justify="left" if title != "exponent" else "right")
    for line in grown.to_dict("records"):
        interval = "" if pd.isna(line["ci_low"]) else f"[{line['ci_low']:.2f}, {line['ci_high']:.2f}]"
        graphs = f" ({line['graphs']} graphs)" if line["graphs"] != "" else ""
        whose, exponent = f"{line['method']} ({line['variant']})", f"{line['exponent']:.2f}"
        view.add_row(whose, line["vary"], line["quantity"], exponent, interval, f"{line['points']}{graphs}")
    return [view] if len(grown) else []


if __name__ == "__main__":
    from benchmarks.cli import script

    script("runtime")
