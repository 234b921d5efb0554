"""The appendix's table "Statistical description of the datasets", measured beside printed, with our corrections.

A printed number counts as reproduced when it is met to its last digit; for Tree-Cycles, which is generated anew, when
it is within three standard errors of the difference of two such data sets. Public data sets follow, beside what their
collections print, and what GCFExplainer's Table 1 prints of those that it published GCNs for.

    python benchmarks/datasets.py
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import shortest_path

from benchmarks.registry import tasks
from benchmarks.registry.rules import DATA_STANDARD_ERRORS
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.files import make_writable, shown
from benchmarks.results.paper import of_paper
from figures import tables
from rsgg.data import TU, Dataset, Molecules, TreeCycles
from rsgg.errors import DataError
from rsgg.oracles.gnn import FROZEN_FOR

EXACT = 1e-9  # of whole numbers
KEPT = "Graphs / nodes / edges / node labels that published GCNs know"  # graphs with a rare label are left out


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
        text = paper.split(" : ")[0]  # of a class distribution, the share of class 0
        printed, decimals = float(text), len(text.partition(".")[2])
        tolerance = (0.5 * 10.0**-decimals if decimals else EXACT) + DATA_STANDARD_ERRORS * np.sqrt(2) * self.error
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


def describe_public(dataset: TU | Molecules, data_dir: Path | None) -> dict[str, Measured]:
    """What collections print about a public data set, and what its tasks leave out."""
    graphs, left_out = dataset.read(data_dir), dataset.load(data_dir).left_out

    def mean(values: np.ndarray) -> Measured:
        return Measured(f"{values.mean():.2f}", float(values.mean()))

    measured = {
        "# of instances": _count(len(graphs)),
        "# of classes": _count(len(set(graphs.labels.tolist()))),
        "Instances per class": Measured(" / ".join(map(str, np.bincount(graphs.labels).tolist()))),
        "Avg # of nodes": mean(graphs.sizes),
        "Avg # of edges": mean(graphs.n_edges),
        "# of node labels": _count(len(graphs.feature_names)),
    }
    if graphs.edge_labels is not None:
        measured["# of edge labels"] = _count(len(np.unique(graphs.edge_labels)))
    if isinstance(dataset, TU) and dataset.name in FROZEN_FOR:
        kept, _ = dataset.without_rare_labels(graphs)
        counts = (len(kept), kept.sizes.sum(), kept.n_edges.sum(), len(kept.feature_names))
        measured[KEPT] = Measured(" / ".join(str(int(count)) for count in counts))
    measured["Left out in tasks"] = Measured("; ".join(f"{count} {why}" for why, count in left_out.items()) or "none")
    return measured


def _count(value: int) -> Measured:
    return Measured(str(value), float(value))


def printed() -> pd.DataFrame:
    """What the paper prints on its data: columns dataset, quantity, paper, place."""
    table = of_paper("datasets", dtype=str).rename(columns={"statistic": "quantity"})
    table = table.melt(["quantity", "place"], var_name="dataset", value_name="paper")
    return pd.concat((table, of_paper("dataset_claims", dtype=str)), ignore_index=True)


def measurements(data_dir: Path | None) -> dict[str, Callable[[], dict[str, Measured]]]:
    """What measures each data set, by its name: those of the paper, then the public ones."""
    specs = (task.build().dataset for task in tasks.LEARNT)
    public: dict[str, TU | Molecules] = {spec.name: spec for spec in specs if isinstance(spec, TU | Molecules)}
    measuring: dict[str, Callable[[], dict[str, Measured]]] = {
        task.name: partial(_describe_task, task, data_dir) for task in tasks.of_paper()
    }
    return measuring | {name: partial(describe_public, public[name], data_dir) for name in sorted(public)}


def _describe_task(task: tasks.TaskEntry, data_dir: Path | None) -> dict[str, Measured]:
    return describe(task.load(data_dir).dataset, generated=task.generated)


def compare(data_dir: Path | None) -> Iterator[dict[str, str]]:
    """Rows dataset, quantity, paper, measured, verdict, note, place; nothing measured where data cannot be had."""
    table = pd.concat((printed(), of_paper("public_datasets", dtype=str)), ignore_index=True)
    paper = {(row["dataset"], row["quantity"]): row for _, row in table.iterrows()}
    for name, measure in measurements(data_dir).items():
        try:
            measured = measure()
        except DataError as error:
            measured = {quantity: Measured("", note=str(error)) for dataset, quantity in paper if dataset == name}
        for quantity, ours in measured.items():
            said = paper.get((name, quantity), {})
            verdict = ours.verdict(said.get("paper", "")) if ours.shown else ""
            yield {
                "dataset": name,
                "quantity": quantity,
                "paper": said.get("paper", ""),
                "measured": ours.shown,
                "verdict": verdict,
                "note": ours.note,
                "place": said.get("place", ""),
            }


def run(out: Path, data_dir: Path | None) -> None:
    """Measure, write `datasets.csv` to `out` and print it."""
    make_writable(out)
    with Artefacts(out, "datasets") as files:
        files.text("datasets.csv", pd.DataFrame(compare(data_dir)).to_csv(index=False))
    tables.show("datasets", out)
    print(f"Written into {shown(out)}: datasets.csv.")
    print(f"Next: ./reproduce.sh report --results {shown(out)}.")


if __name__ == "__main__":
    from benchmarks.cli import script

    script("datasets")
