"""How fast: CPU seconds of every row of Table 1 on a fold, beside one graph at a time, and what the whole table takes.

    ./reproduce.sh speed

Fold 0 of every row is computed again, one cell after the other, on one thread; nothing that is stored is used. For each
row `speed.csv` has the CPU seconds of fitting and of explaining the test fold as one batch. `ratio` says how many times
longer explaining takes when the same method is given the test graphs one at a time (the first `FEW` of them, in
proportion; a method that is fitted on nothing else has no ratio for fitting). The last line, `table1, total`, is ten
times the sum: what ten folds of replicate 0 take.

For RSGG-CE as released there is more to compare with: a plain implementation of the same steps
(`tests/rsgg/plain_released.py`: PyG layers and NetworkX, one graph at a time), which the tests show to compute the same
numbers. Its lines have the variant `plain`; the ratios of `released` are to it, stage by stage, node features included.
Explaining depends on luck there (a failure costs 501 checks), so it is the mean over `SEEDS` seeds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from statistics import mean
from typing import Any

import pandas as pd
import pyarrow as pa
import torch

from benchmarks.registry import methods, tasks
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import FOLDS, Cell
from benchmarks.results.files import ROOT
from benchmarks.results.ledger import Store, history_table
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.memory import keep_freed_memory
from benchmarks.running.options import Table1Options
from benchmarks.running.run_cell import Observer, Run, loaded
from benchmarks.table1 import plan as of_table1
from rsgg.encodings import encode
from rsgg.errors import DataError
from rsgg.graph import GraphBatch
from rsgg.oracles import TreeCyclesOracle
from rsgg.rsgg_ce.released import Noise, ReleasedRSGGCE, initial_weights

FEW = 5  # test graphs that are explained one at a time
SEEDS = 10  # of explaining by RSGG-CE as released, and by the plain implementation
RELEASED = ("rsgg-ce", "released")
COLUMNS = ("method", "variant", "dataset", "stage", "cpu_seconds", "ratio")


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


# -- Every row -----------------------------------------------------------------------------------------------------


class OneByOne(Observer):
    """What explaining takes when graphs come one at a time: CPU seconds per graph."""

    def __init__(self) -> None:
        self.alone: list[float] = []

    def explained(self, run: Run) -> None:
        few = () if run.cell.base else range(min(FEW, len(run.test)))
        alone = (partial(run.explain, f"graph {i} alone", run.test.select(torch.tensor([i]))) for i in few)
        self.alone = [cpu_seconds(work) for work in alone]

    def table(self, run: Run) -> pa.Table | None:
        return history_table([{"alone": seconds} for seconds in self.alone]) if self.alone else None


def lines_of(done: Finished) -> list[dict[str, object]]:
    """A line per row, data set and stage, from the cells of fold 0."""
    lines: list[dict[str, object]] = []
    for cell in done.cells:
        if (stored := done.stored.get(cell.key)) is None or stored.skipped:
            continue
        ledger = stored.table.to_pandas()
        row = {"method": cell.method.name, "variant": cell.method.variant, "dataset": cell.task.name}
        explain = float(ledger["seconds"].sum())
        if cell.base:  # its ledger has the costs of both: what the base took is in the base's own line
            explain -= float(done.stored[cell.base.key].table["seconds"].to_pandas().sum())
        alone = None if stored.history is None else stored.history.to_pandas()["alone"].mean() * len(ledger)
        if not cell.base:  # what a base took to fit is its own
            lines.append({**row, "stage": "fit", "cpu_seconds": float(ledger["fit_seconds"].iloc[0])})
        lines.append({**row, "stage": "explain", "cpu_seconds": explain, "ratio": alone and alone / explain})
    return lines


# -- RSGG-CE as released, beside a plain implementation ------------------------------------------------------------


def first_fold(title: str) -> Run:
    """Fold 0 of Table 1's Tree-Cycles, ready to be fitted by this row of the registry."""
    task = tasks.task("tree-cycles")
    method = methods.choose([title])[0].for_task(task.name)
    explainer = method.build()
    problem = loaded(task, None, explainer.encoding)
    if isinstance(problem, DataError):
        raise problem
    return Run(Cell(task, method, 0), explainer, problem)


def released() -> dict[str, float]:
    """CPU seconds of the stages of RSGG-CE as released, as this project computes it."""
    run = first_fold(":".join(RELEASED))
    graphs = run.problem.graphs
    bare = GraphBatch(graphs.adjacency, graphs.sizes, None, graphs.names)
    return {
        "features": cpu_seconds(lambda: encode(bare, str(run.explainer.encoding))),
        "fit": cpu_seconds(run.fit),
        "explain": mean(cpu_seconds(partial(run.explain, f"explain {seed}")) for seed in range(SEEDS)),
    }


def plain() -> dict[str, float]:
    """CPU seconds of the same stages of the plain implementation."""
    sys.path.insert(0, str(ROOT))
    from tests.rsgg import plain_released as slow

    run = first_fold(":".join(RELEASED))
    graphs, fold = run.problem.graphs, run.fold
    adjacency = graphs.adjacency.numpy().astype(float)
    data: list[Any] = []
    features = cpu_seconds(lambda: data.extend(slow.to_data(a) for a in adjacency))
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
        "features": features,
        "fit": cpu_seconds(lambda: explainer.fit(train, classes, slow.has_cycle)),
        "explain": mean(cpu_seconds(partial(explain, seed)) for seed in range(SEEDS)),
    }


def beside_plain() -> list[dict[str, object]]:
    """The lines of both implementations; the ratio says how many times longer the plain one takes."""
    torch.set_num_threads(1)
    keep_freed_memory()
    slow, fast = plain(), released()
    row = {"method": RELEASED[0], "dataset": "tree-cycles"}
    lines: list[dict[str, object]] = []
    for stage, seconds in slow.items():
        lines.append({**row, "variant": "plain", "stage": stage, "cpu_seconds": seconds})
        fast_line = {"variant": RELEASED[1], "stage": stage, "cpu_seconds": fast[stage]}
        lines.append({**row, **fast_line, "ratio": seconds / fast[stage]})
    return lines


# -- The table -----------------------------------------------------------------------------------------------------


def table(rows: list[dict[str, object]], plain_rows: list[dict[str, object]]) -> pd.DataFrame:
    """`COLUMNS`: the rows of Table 1, RSGG-CE as released beside the plain implementation, and the total."""
    measured = pd.DataFrame(rows, columns=list(COLUMNS))
    total = {"method": "table1", "variant": "", "dataset": "", "stage": "total"}
    total_line = pd.DataFrame([{**total, "cpu_seconds": FOLDS * measured["cpu_seconds"].sum()}])
    instead = (measured[["method", "variant", "dataset"]] == [*RELEASED, "tree-cycles"]).all(axis=1)
    return pd.concat([pd.DataFrame(plain_rows), measured[~instead], total_line])[list(COLUMNS)].reset_index(drop=True)


class Speed(Experiment):
    """Fold 0 of every row of Table 1, measured one cell at a time."""

    name = "speed"
    shows = ("speed",)

    def plan(self, options: Any) -> list[Cell]:
        wanted = Table1Options(methods=options.methods, datasets=options.datasets, smoke=options.smoke, folds=["0"])
        return of_table1(wanted)

    def store(self, options: Any) -> Store:
        """Apart from Table 1's results: these cells are measured one at a time."""
        return Store(options.results / "speed")

    def run(self, options: Any) -> int:
        return super().run(replace(options, jobs=1, fresh=not options.dry_run))

    def observer(self, options: Any) -> Observer:
        return OneByOne()

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        files.csv("speed.csv", table(lines_of(done), [] if options.smoke else beside_plain()))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("speed")
