"""How fast: CPU seconds per stage of RSGG-CE on one Tree-Cycles fold, beside a plain implementation of the same work.

The plain implementation (`tests/plain_released.py`: PyG layers and NetworkX, one graph at a time)
does what the released code does, and the tests show that it computes the same numbers. Ratios to it are therefore
ratios of implementation, on the same machine in the same minute. Stages: node features of the data set, fitting both
classes, explaining the test fold. Each is run `--repeats` times and the median is reported; of explaining, whose work
depends on luck (a failure costs 501 checks), the mean over several seeds.

    python benchmarks/speed.py
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median
from typing import Annotated

import pandas as pd
import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.options import RESULTS, ROOT
from benchmarks.store import write_whole
from rsgg.data.tree_cycles import TreeCycles
from rsgg.encodings import encode
from rsgg.explainer import Explainer
from rsgg.graph import GraphBatch
from rsgg.oracle import TreeCyclesOracle
from rsgg.released import Noise, ReleasedRSGGCE, initial_weights
from rsgg.rsgg_ce import RSGGCE

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


def cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    """Median CPU time of a piece of work."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return median(times)


def ours(explainer: Explainer, fold: Fold, repeats: int, fit_repeats: int) -> dict[str, float]:
    """Stages of one of this project's explainers."""
    kind, oracle = explainer.encoding, TreeCyclesOracle()
    bare = GraphBatch(fold.graphs.adjacency, fold.graphs.sizes, None, fold.graphs.names)
    features = cpu_seconds(lambda: encode(bare, str(kind)), repeats)
    fold.graphs.encoding(str(kind))
    train, test = fold.part(fold.train), fold.part(fold.test)
    fit = cpu_seconds(lambda: explainer.fit(train, oracle), fit_repeats)
    seeds = iter(range(5 * repeats))
    explain = mean(
        cpu_seconds(lambda: explainer.explain(test, oracle, seed=next(seeds)), 1) for _ in range(5 * repeats)
    )
    return dict(zip(STAGES, (features, fit, explain), strict=True))


def plain(fold: Fold) -> dict[str, float]:
    """Stages of the plain implementation of the released work: slow enough to be timed once."""
    sys.path.insert(0, str(ROOT))
    from tests import plain_released as slow

    adjacency = fold.graphs.adjacency.numpy().astype(float)
    data: list[object] = []
    features = cpu_seconds(lambda: data.extend(slow.to_data(a) for a in adjacency), 1)
    n, epochs = fold.graphs.n_nodes, ReleasedRSGGCE().epochs
    start, noise = initial_weights(n, 8, 2, 0), Noise.drawn(epochs, 2, n, 0)
    explainer = slow.PlainReleased(
        [{name: weight[c] for name, weight in start.items()} for c in range(2)],
        lambda name, step, c: getattr(noise, name)[step, c], epochs,
    )  # fmt: skip
    classes = TreeCyclesOracle().predict(fold.part(fold.train)).tolist()
    train = [data[i] for i in fold.train.tolist()]
    fit = cpu_seconds(lambda: explainer.fit(train, classes, slow.has_cycle), 1)
    rng = torch.Generator().manual_seed(0)
    explain = cpu_seconds(lambda: [explainer.explain(adjacency[i], slow.has_cycle, rng) for i in fold.test.tolist()], 1)
    return dict(zip(STAGES, (features, fit, explain), strict=True))


def measure(repeats: int) -> pd.DataFrame:
    """One row per implementation: seconds per stage, milliseconds per explanation, and how many times faster."""
    torch.set_num_threads(1)
    fold = Fold.first()
    rows = {
        "plain released": plain(fold),
        "released": ours(ReleasedRSGGCE(), fold, repeats, repeats),
        "faithful": ours(RSGGCE(), fold, repeats, 1),
    }
    table = pd.DataFrame(rows).T
    table["fold"] = table[list(STAGES)].sum(axis=1)
    table["ms_per_explanation"] = 1000 * table["explain"] / len(fold.test)
    for stage in (*STAGES, "fold"):
        table[f"{stage}_ratio"] = table.loc["plain released", stage] / table[stage]
    return table.rename_axis("implementation").reset_index()


def printed(table: pd.DataFrame) -> Table:
    view = Table(title="CPU seconds for one Tree-Cycles fold (500 graphs of 28 nodes, 50 of them explained)")
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
    repeats: Annotated[int, typer.Option(min=1, help="Runs of each stage; the median counts.")] = 5,
    out: Annotated[Path, typer.Option(help="Folder for speed.csv.")] = RESULTS / "local",
) -> None:
    """CPU seconds per stage of RSGG-CE, released and faithful, and the ratio to a plain implementation."""
    table = measure(repeats)
    text = table.to_csv(index=False, float_format="%.6g")
    write_whole(out / "speed.csv", lambda file: file.write(text.encode()))
    Console().print(printed(table))


if __name__ == "__main__":
    typer.run(main)
