"""The appendix's table "Statistical description of the datasets", measured beside printed, with our corrections.

A printed number counts as reproduced when it is met to its last digit; for Tree-Cycles, which is generated anew, when
it is within three standard errors of the difference of two such data sets. Example: python benchmarks/datasets.py
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import shortest_path

from benchmarks.registry import tasks
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.paper import of_paper
from figures import tables
from rsgg.data import Dataset, TreeCycles
from rsgg.errors import DataError

LAST_DIGIT = 0.0005
STANDARD_ERRORS = 3


@dataclass(frozen=True)
class Measured:
    """A measured quantity: how it is shown, its value if it is a number, and its standard error if it is random."""

    shown: str
    value: float | None = None
    error: float = 0.0
    note: str = ""

    def verdict(self, paper: str) -> str:
        """`reproduced`, `differs`, or nothing where the paper prints nothing."""
        if not paper:
            return ""
        if self.value is None:
            return "reproduced" if paper == self.shown else "differs"
        printed = float(paper.split(" : ")[0])  # of a class distribution, the share of class 0
        tolerance = LAST_DIGIT + STANDARD_ERRORS * np.sqrt(2) * self.error
        met = printed == self.value or abs(printed - self.value) <= tolerance
        return "reproduced" if met else "differs"


def describe(dataset: Dataset, *, generated: bool) -> dict[str, Measured]:
    """Every quantity of the appendix's table, under its printed name, and those that correct it."""
    graphs = dataset.graphs
    nodes, edges = graphs.sizes.double().numpy(), graphs.n_edges.double().numpy()
    diameter = np.array([shortest_path(graph.adjacency, unweighted=True).max() for graph in graphs])
    connected = np.isfinite(diameter)
    first_class = (dataset.labels == 0).double().numpy()

    def mean(values: np.ndarray) -> Measured:
        average = float(values.mean())
        error = float(values.std(ddof=1) / np.sqrt(len(values))) if generated else 0.0
        return Measured(f"{average:.3f}", average, error)

    shares = mean(first_class)
    unconnected = int((~connected).sum())
    components = "One" if connected.all() else f"One in {connected.sum()}, several in {unconnected}"
    why_infinite = f"the diameter is infinite because {unconnected} of {len(graphs)} graphs are not connected"
    measured = {
        "# of instances": _count(len(graphs)),
        "Avg graph diameter": mean(diameter) if connected.all() else Measured("inf", np.inf, note=why_infinite),
        "Avg # of nodes": mean(nodes),
        "Avg # of edges": mean(edges),
        "Max # of nodes": _count(int(nodes.max())),
        "Avg node degree": mean(2 * edges / nodes),
        "# of classes": _count(len(set(dataset.labels.tolist()))),
        "Class distribution": Measured(f"{shares.shown} : {1 - first_class.mean():.3f}", shares.value, shares.error),
        "Graph type": Measured("Undirected"),
        "Connected components": Measured(components),
        "Connected graphs": Measured(f"{connected.sum()} of {len(graphs)}"),
        "Avg diameter of connected graphs": mean(diameter[connected]),
    }
    if dataset.name == TreeCycles.name:  # connected, so |E| - |V| + 1 cycles
        measured["Max # of cycles"] = _count(int((edges - nodes + 1).max()))
    return measured


def _count(value: int) -> Measured:
    return Measured(str(value), float(value))


def printed() -> pd.DataFrame:
    """What the paper prints on its data: columns dataset, quantity, paper, place."""
    table = of_paper("datasets", dtype=str).rename(columns={"statistic": "quantity"})
    table = table.melt(["quantity", "place"], var_name="dataset", value_name="paper")
    return pd.concat((table, of_paper("dataset_claims", dtype=str)), ignore_index=True)


def compare(data_dir: Path | None) -> Iterator[dict[str, str]]:
    """Rows dataset, quantity, paper, measured, verdict, note, place; nothing measured where data cannot be had."""
    paper = {(row["dataset"], row["quantity"]): row for _, row in printed().iterrows()}
    for task in tasks.of_paper():
        try:
            measured = describe(task.load(data_dir).dataset, generated=task.generated)
        except DataError as error:
            measured = {name: Measured("", note=str(error)) for dataset, name in paper if dataset == task.name}
        for quantity, ours in measured.items():
            said = paper.get((task.name, quantity), {})
            verdict = ours.verdict(said.get("paper", "")) if ours.shown else ""
            yield {
                "dataset": task.name,
                "quantity": quantity,
                "paper": said.get("paper", ""),
                "measured": ours.shown,
                "verdict": verdict,
                "note": ours.note,
                "place": said.get("place", ""),
            }


def run(out: Path, data_dir: Path | None) -> None:
    """Measure, write `datasets.csv` to `out` and print it."""
    with Artefacts(out, "datasets") as files:
        files.text("datasets.csv", pd.DataFrame(compare(data_dir)).to_csv(index=False))
    tables.show("datasets", out)


if __name__ == "__main__":
    from benchmarks.cli import script

    script("datasets")
