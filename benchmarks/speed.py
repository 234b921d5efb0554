"""How fast: CPU seconds per stage of RSGG-CE on one Tree-Cycles fold, beside a plain implementation of the same work.

The plain implementation (`tests/plain_released.py`: PyG layers and NetworkX, one graph at a time)
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
from rich import box
from rich.console import Console
from rich.table import Table

from rsgg.baselines.cf2 import CF2
from rsgg.baselines.clear import CLEAR
from benchmarks.options import RESULTS, ROOT
from benchmarks.store import write_text
from rsgg.data.tree_cycles import TreeCycles
from rsgg.encodings import encode
from rsgg.explainer import Explainer
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import TreeCyclesOracle
from rsgg.rsgg_ce.released import Noise, ReleasedRSGGCE, initial_weights
from rsgg.rsgg_ce.explainer import RSGGCE

STAGES = ("features", "fit", "explain")


@dataclass(frozen=True)
class Fold:
    """One fold of the data set of Table 1."""

    graphs: GraphBatch
    train: torch.Tensor
    test: torch.Tensor

    @classmethod
    def first(cls) -> Fold:
        data = TreeCycles().load()
        fold = data.folds()[0]
        return cls(data.graphs, fold.train, fold.test)

    def part(self, which: torch.Tensor) -> GraphBatch:
        return self.graphs.select(which)


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


def ours(explainer: Explainer, fold: Fold, fits: float) -> Implementation:
    """Stages of one of this project's explainers."""
    kind, oracle = str(explainer.encoding), TreeCyclesOracle()
    bare = GraphBatch(fold.graphs.adjacency, fold.graphs.sizes, None, fold.graphs.names)
    fold.graphs.encoding(kind)
    train, test = fold.part(fold.train), fold.part(fold.test)
    return {
        "features": Stage(lambda _: encode(bare, kind)),
        "fit": Stage(lambda _: explainer.fit(train, oracle), fits),
        "explain": Stage(lambda seed: explainer.explain(test, oracle, seed=seed), 5, True, mean),
    }


def plain(fold: Fold) -> Implementation:
    """Stages of the plain implementation of the released work."""
    sys.path.insert(0, str(ROOT))
    from tests import plain_released as slow

    adjacency = fold.graphs.adjacency.numpy().astype(float)
    data = [slow.to_data(a) for a in adjacency]
    n, epochs = fold.graphs.n_nodes, ReleasedRSGGCE().epochs
    start, noise = initial_weights(n, 8, 2, 0), Noise.drawn(epochs, 2, n, 0)
    explainer = slow.PlainReleased(
        [{name: weight[c] for name, weight in start.items()} for c in range(2)],
        lambda name, step, c: getattr(noise, name)[step, c], epochs,
    )  # fmt: skip
    classes = TreeCyclesOracle().predict(fold.part(fold.train)).tolist()
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
    fold = Fold.first()
    implementations = {
        "plain released": plain(fold),
        "released": ours(ReleasedRSGGCE(), fold, 1),
        "faithful": ours(RSGGCE(), fold, 1 / rounds),
    }
    table = pd.DataFrame({stage: seconds(implementations, stage, rounds) for stage in STAGES})
    table["fold"] = table[list(STAGES)].sum(axis=1)
    table["ms_per_explanation"] = 1000 * table["explain"] / len(fold.test)
    for stage in (*STAGES, "fold"):
        table[f"{stage}_ratio"] = table.loc["plain released", stage] / table[stage]
    return table.rename_axis("implementation").reset_index()


# -- A fold at once, or one graph at a time -------------------------------------------------------------------------


def batching(fold: Fold, graphs: int = 6) -> pd.DataFrame:
    """Seconds per explanation of the optimising and the generative baseline: a fold as a batch, and graph by graph."""
    rows, oracle = [], TreeCyclesOracle()
    fold.graphs.encoding("structural")
    train, test = fold.part(fold.train), fold.part(fold.test)
    for name, explainer in (("cf2", CF2(strength=20.0, factual=0.5)), ("clear", CLEAR(epochs=20))):
        explainer.fit(train, oracle)  # CLEAR explains as fast however long it was trained
        at_once = cpu_seconds(partial(_explain, explainer, test), 0) / len(test)
        alone = [test.select(torch.tensor([i])) for i in range(graphs)]
        one_by_one = mean(cpu_seconds(partial(_explain, explainer, graph), 0) for graph in alone)
        rows.append({"method": name, "batch": at_once, "loop": one_by_one, "ratio": one_by_one / at_once})
    return pd.DataFrame(rows)


def _explain(explainer: Explainer, graphs: GraphBatch, seed: int) -> None:
    explainer.explain(graphs, TreeCyclesOracle(), seed=seed)


def printed_batching(table: pd.DataFrame) -> Table:
    view = Table(box=box.SIMPLE_HEAD, title="CPU milliseconds per explanation, Tree-Cycles: a fold at once, one by one")
    for heading in ("method", "a fold at once", "one by one", "times faster"):
        view.add_column(heading, justify="left" if heading == "method" else "right")
    for row in table.itertuples():
        view.add_row(str(row.method), f"{1000 * row.batch:.2f}", f"{1000 * row.loop:.2f}", f"{row.ratio:.0f}×")
    return view


def printed(table: pd.DataFrame) -> Table:
    view = Table(
        box=box.SIMPLE_HEAD, title="CPU seconds for one Tree-Cycles fold (500 graphs of 28 nodes, 50 of them explained)"
    )
    view.add_column("implementation")
    for heading in (*STAGES, "fold", "ms per explanation"):
        view.add_column(heading, justify="right")
    for row in table.itertuples():
        released = row.implementation == "released"
        cells = [
            f"{getattr(row, stage):.3f}" + (f"  ({getattr(row, f'{stage}_ratio'):.0f}×)" if released else "")
            for stage in (*STAGES, "fold")
        ]
        view.add_row(str(row.implementation), *cells, f"{row.ms_per_explanation:.3f}")
    return view


def main(
    rounds: Annotated[int, typer.Option(min=5, help="Rounds in which the implementations take turns.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for speed.csv and speed_batching.csv.")] = RESULTS / "local",
) -> None:
    """CPU seconds per stage of RSGG-CE, released and faithful, and the ratio to a plain implementation."""
    table = measure(rounds)
    text = table.to_csv(index=False, float_format="%.6g")
    write_text(out / "speed.csv", text)
    loops = batching(Fold.first())
    write_text(out / "speed_batching.csv", loops.to_csv(index=False))
    Console().print(printed(table), printed_batching(loops))


if __name__ == "__main__":
    typer.run(main)
