"""How fast: CPU seconds per stage of RSGG-CE on one Tree-Cycles fold, beside a plain implementation of the same work.

The plain implementation (`tests/rsgg/plain_released.py`: PyG layers and NetworkX, one graph at a time)
does what the released code does, and the tests show that it computes the same numbers. Ratios to it are therefore
ratios of implementation, on the same machine in the same minute. Stages: node features of the data set, fitting both
classes, explaining the test fold. Implementations take turns for `--rounds` rounds, and the median is reported; of
explaining, whose work depends on luck (a failure costs 501 checks), the mean over many seeds: the plain one's time
varies by a factor of three between them.

    python benchmarks/speed.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Annotated

import pandas as pd
import torch
import typer

from benchmarks.registry import methods, tasks
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.files import LOCAL, ROOT
from benchmarks.running.memory import keep_freed_memory
from benchmarks.running.run_cell import Run, loaded
from figures import tables
from rsgg.encodings import encode
from rsgg.errors import DataError
from rsgg.graph import GraphBatch
from rsgg.oracles import TreeCyclesOracle
from rsgg.rsgg_ce.released import Noise, ReleasedRSGGCE, initial_weights

STAGES = ("features", "fit", "explain")
BATCHED = {"cf2": {}, "clear": {"epochs": 20}}  # CLEAR explains as fast however long it was trained


def first_fold(title: str, **options: object) -> Run:
    """Fold 0 of Table 1's Tree-Cycles, ready to be fitted by this row of the registry."""
    task = tasks.task("tree-cycles")
    method = methods.choose([title])[0].for_task(task.name).with_options(options)
    explainer = method.build()
    problem = loaded(task, None, explainer.encoding)
    if isinstance(problem, DataError):
        raise problem
    return Run(Cell(task, method, 0), explainer, problem)


def cpu_seconds(work: Callable[[int], object], seed: int) -> float:
    start = time.process_time()
    work(seed)
    return time.process_time() - start


@dataclass(frozen=True)
class Stage:
    """A piece of work, given a seed; `share` is how many times it is run per round (1/5: in every fifth round)."""

    work: Callable[[int], object]
    share: float = 1.0
    warm_up: bool = False  # one run that does not count whenever its turn comes: the caches hold another one's data
    average: Callable[[list[float]], float] = median


Implementation = dict[str, Stage]


def ours(title: str, fits: float) -> Implementation:
    """Stages of one of this project's explainers."""
    run = first_fold(title)
    graphs = run.problem.graphs
    bare = GraphBatch(graphs.adjacency, graphs.sizes, None, graphs.names)
    return {
        "features": Stage(lambda _: encode(bare, str(run.explainer.encoding))),
        "fit": Stage(lambda _: run.fit(), fits),
        "explain": Stage(lambda seed: run.explain(f"explain {seed}"), 5, True, mean),
    }


def plain() -> Implementation:
    """Stages of the plain implementation of the released work."""
    sys.path.insert(0, str(ROOT))
    from tests.rsgg import plain_released as slow

    run = first_fold("rsgg-ce:released")
    graphs, fold = run.problem.graphs, run.fold
    adjacency = graphs.adjacency.numpy().astype(float)
    data = [slow.to_data(a) for a in adjacency]
    n, epochs = graphs.n_nodes, ReleasedRSGGCE().epochs
    start, noise = initial_weights(n, 8, 2, 0), Noise.drawn(epochs, 2, n, 0)
    explainer = slow.PlainReleased(
        [{name: weight[c] for name, weight in start.items()} for c in range(2)],
        lambda name, step, c: getattr(noise, name)[step, c], epochs,
    )  # fmt: skip
    classes = TreeCyclesOracle().predict(run.train).tolist()
    train = [data[i] for i in fold.train.tolist()]

    def explain(seed: int) -> None:
        rng = torch.Generator().manual_seed(seed)
        for i in fold.test.tolist():
            explainer.explain(adjacency[i], slow.has_cycle, rng)

    return {
        "features": Stage(lambda _: [slow.to_data(a) for a in adjacency], 0.2),
        "fit": Stage(lambda _: explainer.fit(train, classes, slow.has_cycle), 0.2),
        "explain": Stage(explain, 1, average=mean),
    }


def seconds(implementations: dict[str, Implementation], stage: str, rounds: int) -> dict[str, float]:
    """CPU seconds of a stage, all implementations in turn, round by round: a busy minute slows all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in implementations}
    for done in range(rounds):
        for name, implementation in implementations.items():
            piece = implementation[stage]
            if piece.warm_up:
                piece.work(0)
            for _ in range(round(piece.share * (done + 1)) - round(piece.share * done)):
                times[name].append(cpu_seconds(piece.work, len(times[name])))
    return {name: implementations[name][stage].average(measured) for name, measured in times.items()}


def measure(rounds: int) -> pd.DataFrame:
    """One row per implementation: seconds per stage, milliseconds per explanation, and how many times faster."""
    torch.set_num_threads(1)
    keep_freed_memory()
    implementations = {
        "plain released": plain(),
        "released": ours("rsgg-ce:released", 1),
        "faithful": ours("rsgg-ce:faithful", 1 / rounds),
    }
    table = pd.DataFrame({stage: seconds(implementations, stage, rounds) for stage in STAGES})
    table["fold"] = table[list(STAGES)].sum(axis=1)
    table["ms_per_explanation"] = 1000 * table["explain"] / len(first_fold("rsgg-ce:released").test)
    for stage in (*STAGES, "fold"):
        table[f"{stage}_ratio"] = table.loc["plain released", stage] / table[stage]
    return table.rename_axis("implementation").reset_index()


def batching(graphs: int = 6) -> pd.DataFrame:
    """Seconds per explanation of the optimising and the generative baseline: a fold as a batch, and graph by graph."""
    rows, oracle = [], TreeCyclesOracle()
    for name, options in BATCHED.items():
        run = first_fold(f"{name}:faithful", **options)
        run.fit()

        def explain(some: GraphBatch, seed: int, run: Run = run) -> None:
            run.explainer.explain(some, oracle, seed=seed, check=False)

        at_once = cpu_seconds(partial(explain, run.test), 0) / len(run.test)
        alone = [run.test.select(torch.tensor([i])) for i in range(graphs)]
        one_by_one = mean(cpu_seconds(partial(explain, graph), 0) for graph in alone)
        rows.append({"method": name, "batch": at_once, "loop": one_by_one, "ratio": one_by_one / at_once})
    return pd.DataFrame(rows)


def main(
    rounds: Annotated[int, typer.Option(min=5, help="Rounds in which the implementations take turns.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for speed.csv and speed_batching.csv.")] = LOCAL,
) -> None:
    """CPU seconds per stage of RSGG-CE, released and faithful, and the ratio to a plain implementation."""
    with Artefacts(out, "speed") as files:
        files.csv("speed.csv", measure(rounds))
        files.csv("speed_batching.csv", batching())
    for name in ("speed", "speed_batching"):
        tables.show(name, out)


if __name__ == "__main__":
    typer.run(main)
