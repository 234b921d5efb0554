"""Are the tests able to fail? Each mutant, one small bug, is shown to the tests of its module: they have to fail.

    python -m tests.mutation.run                          # all modules, about an hour on two cores
    python -m tests.mutation.run rsgg/metrics.py --jobs 1 # one of them

No file is changed: a process that has torch and pandas loaded is forked for each mutant, and there the module is
imported from its changed syntax tree. A mutant is killed if a test of the module's list fails or takes far longer
than it should. Tests that execute the changed lines come first, the fastest before the others.

A mutant that survives needs a reason in survivors.csv (what it changes makes no difference, because …). The run fails
if a survivor has none, or if fewer than `LEAST_KILLED` of a module's mutants are killed. With `--write` the table in
README.md is written anew and survivors.csv lists what survived now, with the reasons that are known.
"""

from __future__ import annotations

import argparse
import ast
import csv
import gc
import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_loader
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutation.mutants import Mutant, mutants_of, sample

ROOT = Path(__file__).resolve().parents[2]
SURVIVORS = Path(__file__).with_name("survivors.csv")
README = Path(__file__).with_name("README.md")
LOADED_ONCE = (
    "hypothesis.strategies", "networkx", "pandas", "scipy.sparse.csgraph", "scipy.stats", "torch",
    "torch_geometric.data",
)  # fmt: skip
PROJECT = ("rsgg", "baselines", "benchmarks", "figures")

MUTANTS_PER_MODULE = 60
LEAST_KILLED = 0.9
TIMES_THE_USUAL = 4  # a test that takes so many times its usual seconds has found something
SECONDS_MORE = 5  # and so many seconds, since the first test pays for what is done once
MEMORY = 6 << 30  # bytes; a mutant that wants more is killed
ALL_PASSED = 0  # exit codes of pytest
TESTS_FAILED, NOT_COLLECTED = 1, 2


@dataclass(frozen=True)
class Target:
    """A module, the tests that have to find a bug in it, and the parts of it that are meant (all if none is named)."""

    path: str
    tests: tuple[str, ...]
    only: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        name = self.path.removesuffix(".py").replace("/", ".")
        return f"rsgg.{name}" if name.startswith("baselines.") else name

    @property
    def file(self) -> Path:
        """As it is imported: rsgg/baselines is a link to baselines."""
        return ROOT / f"{self.module.replace('.', '/')}.py"

    def mutants(self, count: int) -> list[Mutant]:
        return self.mutants_in(ast.parse(self.file.read_text()), count)

    def mutants_in(self, tree: ast.Module, count: int) -> list[Mutant]:
        return sample(mutants_of(tree, self.only), count)


ALGORITHM_1 = (
    "in_blocks", "partial_order_sampling", "Draws", "_Sampling", "GroupProbabilities", "Sampler", "_each_for_itself",
    "_with_replacement", "SAMPLERS", "traced", "_TracedSampling",
)  # fmt: skip

TARGETS = (
    Target(
        "rsgg/metrics.py",
        ("tests/rsgg/test_metrics.py", "tests/benchmarks/registry/test_metrics.py", "tests/rsgg/test_edits.py"),
    ),
    Target("rsgg/statistics.py", ("tests/rsgg/test_statistics.py", "tests/rsgg/test_statistics_formulas.py")),
    Target("rsgg/trends.py", ("tests/rsgg/test_trends_formulas.py", "tests/rsgg/test_trends.py")),
    Target(
        "benchmarks/judging/verdicts.py",
        ("tests/benchmarks/judging/test_verdicts.py", "tests/benchmarks/judging/test_verdict_edges.py"),
    ),
    Target(
        "rsgg/oracles/tree_cycles.py",
        (
            "tests/rsgg/test_tree_cycles_by_hand.py",
            "tests/rsgg/test_oracle.py",
            "tests/rsgg/test_optimum.py",
            "tests/rsgg/test_edges.py",
        ),
    ),
    Target("rsgg/oracles/asd.py", ("tests/rsgg/test_oracle.py", "tests/rsgg/test_optimum.py")),
    Target(
        "rsgg/oracles/oracle.py",
        (
            "tests/rsgg/test_oracle.py",
            "tests/rsgg/test_edges.py",
            "tests/rsgg/test_counting.py",
            "tests/rsgg/test_odd_oracles.py",
        ),
    ),
    Target(
        "rsgg/oracles/counting.py",
        ("tests/rsgg/test_counting_by_hand.py", "tests/rsgg/test_counting.py", "tests/rsgg/test_odd_oracles.py"),
    ),
    Target(
        "rsgg/rsgg_ce/explainer.py",
        ("tests/rsgg/test_sampling_by_hand.py", "tests/rsgg/test_sampling.py"),
        ALGORITHM_1,
    ),
    Target(
        "rsgg/rsgg_ce/training.py",
        (
            "tests/rsgg/test_training_networks.py",
            "tests/rsgg/test_training_steps.py",
            "tests/rsgg/test_training_pairs.py",
            "tests/rsgg/test_rsgg_ce.py",
        ),
    ),
    Target("rsgg/minimise.py", ("tests/rsgg/test_minimise.py", "tests/rsgg/test_minimise_edits.py")),
    Target(
        "baselines/cf2.py",
        ("tests/baselines/test_cf2_by_hand.py", "tests/baselines/test_cf2.py", "tests/baselines/test_declared.py"),
    ),
    Target(
        "baselines/clear.py",
        (
            "tests/baselines/test_clear_by_hand.py",
            "tests/baselines/test_clear.py",
            "tests/baselines/test_many_sizes.py",
            "tests/baselines/test_declared.py",
        ),
    ),
    Target(
        "baselines/gcountergan.py",
        (
            "tests/baselines/test_gcountergan_by_hand.py",
            "tests/baselines/test_gcountergan.py",
            "tests/baselines/test_many_sizes.py",
            "tests/baselines/test_declared.py",
        ),
    ),
    Target(
        "baselines/meg.py",
        ("tests/baselines/test_meg_by_hand.py", "tests/baselines/test_meg.py", "tests/baselines/test_declared.py"),
    ),
)


# -- One run of the tests, in a process of its own ---------------------------------------------------------


class Changed(SourceFileLoader):
    """Loads a module from a syntax tree instead of its file."""

    tree: ast.Module

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(self.tree, self.path, "exec")
        return code


class Finder:
    """Finds one module, the changed one."""

    def __init__(self, target: Target, tree: ast.Module) -> None:
        self.name, self.loader = target.module, Changed(target.module, str(target.file))
        self.loader.tree = tree

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return spec_from_loader(fullname, self.loader) if fullname == self.name else None


@dataclass
class Usual:
    """The unchanged module: how long its tests take, and which tests execute which of its lines."""

    seconds: float = 0.0
    durations: dict[str, float] = field(default_factory=dict)
    lines: dict[int, set[str]] = field(default_factory=dict)  # "" stands for imports

    def tests_of(self, mutant: Mutant) -> set[str]:
        return set().union(*(self.lines.get(line, ()) for line in range(mutant.line, mutant.last_line + 1)))


class Watch:
    """A plugin of pytest that notes which lines of a file each test executes, and how long the test takes."""

    def __init__(self, file: Path) -> None:
        self.file, self.test, self.usual = str(file), "", Usual()

    def trace(self, frame: FrameType, event: str, argument: object) -> Callable[..., Any] | None:
        if frame.f_code.co_filename != self.file:
            return None
        self.usual.lines.setdefault(frame.f_lineno, set()).add(self.test)
        return self.trace

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.test, started = item.nodeid, time.process_time()
        try:
            return (yield)
        finally:
            self.usual.durations[item.nodeid] = time.process_time() - started
            self.test = ""


class InOrder:
    """A plugin of pytest: tests that reach the mutant first, the fastest before the others; none may take for ever."""

    def __init__(self, usual: Usual, mutant: Mutant) -> None:
        self.reached, self.durations = usual.tests_of(mutant), usual.durations

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: (item.nodeid not in self.reached, self.durations.get(item.nodeid, 0.0)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        """Seconds of CPU, after which a signal ends the process: the mutant is killed."""
        seconds = TIMES_THE_USUAL * self.durations.get(item.nodeid, 0.0) + SECONDS_MORE
        signal.setitimer(signal.ITIMER_PROF, seconds)


def pytest_run(tests: Sequence[str], plugin: object) -> int:
    """The exit code of pytest. Hypothesis tries the same examples every time and does not look for smaller ones."""
    from hypothesis import HealthCheck, Phase, settings

    settings.register_profile(
        "mutation",
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("mutation")
    without = [option for name in ("cacheprovider", "unraisableexception") for option in ("-p", f"no:{name}")]
    return int(pytest.main(["-x", "-q", *without, *tests], plugins=[plugin]))


def forked(work: Callable[[], int]) -> int:
    """The process id of a child that does this work quietly and ends with its number."""
    sys.stdout.flush()
    if child := os.fork():
        return child
    code = 70
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        sys.stdout = sys.stderr = os.fdopen(nowhere, "w")
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        code = work()
    finally:
        os._exit(code)


def usual_run(target: Target) -> Usual:
    """The tests on the unchanged module, which have to pass: once watched, once for the time."""
    watch = Watch(target.file)
    with tempfile.TemporaryDirectory() as folder:
        note = Path(folder) / "usual.json"

        def watched() -> int:
            threading.settrace(watch.trace)  # oracles are waited for in threads
            sys.settrace(watch.trace)
            code = pytest_run(target.tests, watch)
            sys.settrace(None)
            lines = {line: sorted(tests) for line, tests in watch.usual.lines.items()}
            note.write_text(json.dumps({"durations": watch.usual.durations, "lines": lines}))
            return code

        _, status, used = os.wait4(forked(watched), 0)
        if os.waitstatus_to_exitcode(status) != ALL_PASSED:
            sys.exit(f"The tests of {target.path} fail without any mutant: run pytest {' '.join(target.tests)}.")
        seen = json.loads(note.read_text())
    lines = {int(line): set(tests) for line, tests in seen["lines"].items()}
    return Usual(used.ru_utime + used.ru_stime, seen["durations"], lines)


def start(target: Target, source: str, number: int, count: int, usual: Usual) -> int:
    """Start the tests on mutant `number` of this source; returns the process id."""

    def work() -> int:
        tree = ast.parse(source)
        mutant = target.mutants_in(tree, count)[number]
        mutant.apply()
        sys.meta_path.insert(0, Finder(target, tree))
        return pytest_run(target.tests, InOrder(usual, mutant))

    return forked(work)


# -- All mutants of a module -------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What became of a module's mutants."""

    target: Target
    mutants: list[Mutant]
    survivors: list[Mutant] = field(default_factory=list)

    @property
    def killed(self) -> int:
        return len(self.mutants) - len(self.survivors)

    @property
    def share(self) -> float:
        return self.killed / len(self.mutants)


def examine(target: Target, count: int, jobs: int) -> Outcome:
    """Show the mutants of a module to its tests, `jobs` at a time."""
    source = target.file.read_text()  # once: somebody may go on working on it
    usual = usual_run(target)
    outcome = Outcome(target, target.mutants_in(ast.parse(source), count))
    # A line that no test executes needs no run: nothing there can be found.
    waiting = [i for i, mutant in enumerate(outcome.mutants) if usual.tests_of(mutant)]
    alive = [i for i in range(len(outcome.mutants)) if i not in set(waiting)]
    running: dict[int, tuple[int, float]] = {}
    limit = 10 * (TIMES_THE_USUAL * usual.seconds + SECONDS_MORE)  # of the clock: for mutants that wait for ever
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                number = waiting.pop(0)
                running[start(target, source, number, count, usual)] = (number, time.monotonic())
            child, status = os.waitpid(-1, os.WNOHANG)
            if child in running:
                number, _ = running.pop(child)
                if os.waitstatus_to_exitcode(status) == ALL_PASSED:
                    alive.append(number)
            for slow in (child for child, (_, since) in running.items() if time.monotonic() - since > limit):
                os.killpg(slow, signal.SIGKILL)
            if not child:
                time.sleep(0.02)
    finally:
        for child in running:  # they have sessions of their own, so that Ctrl-C does not reach them
            os.killpg(child, signal.SIGKILL)
    outcome.survivors = [outcome.mutants[i] for i in sorted(alive)]
    return outcome


# -- Reasons and reports -----------------------------------------------------------------------------------

COLUMNS = ("module", "function", "before", "after", "occurrence", "line", "reason")


def known_reasons() -> dict[tuple[str, ...], str]:
    """(module, function, before, after, occurrence) → why that mutant survives."""
    if not SURVIVORS.exists():
        return {}
    with SURVIVORS.open(newline="") as file:
        return {tuple(line[name] for name in COLUMNS[:5]): line["reason"] for line in csv.DictReader(file)}


def say(outcome: Outcome, reasons: dict[tuple[str, ...], str]) -> None:
    print(f"{outcome.target.path}: {outcome.killed} of {len(outcome.mutants)} killed ({100 * outcome.share:.0f} %)")
    for mutant in outcome.survivors:
        reason = reasons.get((outcome.target.path, *mutant.key), "") or "NO REASON"
        print(f"  line {mutant.line}, {mutant.function}: {mutant.before}  →  {mutant.after}   [{reason}]")
    sys.stdout.flush()


def write(outcomes: Sequence[Outcome], reasons: dict[tuple[str, ...], str]) -> None:
    """survivors.csv and the table of README.md; modules that were not run keep their lines."""
    run = {outcome.target.path for outcome in outcomes}
    lines = _kept_lines(run)
    for outcome in outcomes:
        for mutant in outcome.survivors:
            key = (outcome.target.path, *mutant.key)
            lines.append(dict(zip(COLUMNS, (*key, mutant.line, reasons.get(key, "")), strict=True)))
    position = {target.path: i for i, target in enumerate(TARGETS)}
    lines.sort(key=lambda line: (position[line["module"]], int(line["line"])))
    with SURVIVORS.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    _write_table(outcomes)


def _kept_lines(run: set[str]) -> list[dict[str, Any]]:
    if not SURVIVORS.exists():
        return []
    with SURVIVORS.open(newline="") as file:
        return [line for line in csv.DictReader(file) if line["module"] not in run]


def _write_table(outcomes: Iterable[Outcome]) -> None:
    """The numbers stand in README.md only, so those of modules that were not run are read from there."""
    before, _, rest = README.read_text().partition("| module |")
    numbers = {}
    for row in rest.splitlines()[2:]:
        cells = [cell.strip(" `") for cell in row.strip("|").split("|")]
        numbers[cells[0]] = (int(cells[1]), int(cells[2]))
    numbers |= {outcome.target.path: (len(outcome.mutants), outcome.killed) for outcome in outcomes}
    paths = [target.path for target in TARGETS if target.path in numbers]
    rows = [(f"`{path}`", *numbers[path]) for path in paths]
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    table = ["| module | mutants | killed | % |", "|---|---:|---:|---:|"]
    table += [f"| {name} | {total} | {killed} | {100 * killed / total:.0f} |" for name, total, killed in rows]
    README.write_text(before + "\n".join(table) + "\n")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.run", description="Are the tests able to fail?")
    parser.add_argument("modules", nargs="*", help="paths of modules; all if none is given")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="mutants at a time")
    parser.add_argument("--mutants", type=int, default=MUTANTS_PER_MODULE, help="at most so many per module")
    parser.add_argument("--write", action="store_true", help="write survivors.csv and the table of README.md")
    given = parser.parse_args(arguments)
    known = {target.path for target in TARGETS}
    if wrong := [path for path in given.modules if path not in known]:
        parser.error(f"There are no mutants of {', '.join(wrong)}; give one of {', '.join(sorted(known))}.")
    os.chdir(ROOT)
    _warm_up()
    reasons, outcomes = known_reasons(), []
    for target in TARGETS:
        if not given.modules or target.path in given.modules:
            outcomes.append(examine(target, given.mutants, given.jobs))
            say(outcomes[-1], reasons)
    if given.write:
        write(outcomes, reasons)
    return _verdict(outcomes, reasons)


def _warm_up() -> None:
    """Load what takes long and is no part of the project, so that it is loaded once."""
    for name in LOADED_ONCE:
        importlib.import_module(name)
    loaded = [name for name in sys.modules if name.split(".")[0] in PROJECT]
    assert not loaded, f"{loaded} would not be loaded again with a mutant in it"
    gc.freeze()  # a forked process then neither searches nor copies all that when it collects garbage


def _verdict(outcomes: Sequence[Outcome], reasons: dict[tuple[str, ...], str]) -> int:
    total, killed = sum(len(o.mutants) for o in outcomes), sum(o.killed for o in outcomes)
    print(f"{killed} of {total} mutants killed ({100 * killed / total:.1f} %).")
    poor = [outcome.target.path for outcome in outcomes if outcome.share < LEAST_KILLED]
    unexplained = [m for o in outcomes for m in o.survivors if not reasons.get((o.target.path, *m.key))]
    if poor:
        print(f"Fewer than {100 * LEAST_KILLED:.0f} % are killed in {', '.join(poor)}.")
    if unexplained:
        print(f"{len(unexplained)} survivors have no reason in {SURVIVORS.relative_to(ROOT)}.")
    return 1 if poor or unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
