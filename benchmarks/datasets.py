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
from rich.console import Console
from rich.table import Table
from scipy.sparse.csgraph import shortest_path

from benchmarks.options import RESULTS
from benchmarks.store import write_whole
from rsgg.data import ASD, Dataset, DatasetSpec, TreeCycles
from rsgg.errors import DataError

TITLES = {"tree-cycles": "Tree-Cycles", "asd": "ASD"}
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
    table = pd.read_csv(RESULTS / "paper" / "datasets.csv", dtype=str)
    table = table.rename(columns={"statistic": "quantity"})
    table = table.melt(["quantity", "place"], var_name="dataset", value_name="paper")
    claims = pd.read_csv(RESULTS / "paper" / "dataset_claims.csv", dtype=str)
    return pd.concat((table, claims), ignore_index=True)


def compare(data_dir: Path | None) -> Iterator[dict[str, str]]:
    """Rows dataset, quantity, paper, measured, verdict, note, place; nothing measured where data cannot be had."""
    paper = {(row["dataset"], row["quantity"]): row for _, row in printed().iterrows()}
    specs: tuple[DatasetSpec, ...] = (TreeCycles(), ASD())
    for spec in specs:
        try:
            measured = describe(spec.load(data_dir), generated="seed" in spec.parameters())
        except DataError as error:
            measured = {name: Measured("", note=str(error)) for dataset, name in paper if dataset == spec.name}
        for quantity, ours in measured.items():
            said = paper.get((spec.name, quantity), {})
            verdict = ours.verdict(said.get("paper", "")) if ours.shown else ""
            yield {
                "dataset": spec.name,
                "quantity": quantity,
                "paper": said.get("paper", ""),
                "measured": ours.shown,
                "verdict": verdict,
                "note": ours.note,
                "place": said.get("place", ""),
            }


def render(rows: pd.DataFrame) -> Table:
    """The table as in the appendix, with what was measured beside what is printed."""
    notes = [f"{TITLES[row.dataset]}: {row.note}" for row in rows.itertuples() if row.note]
    table = Table(title="Statistical description of the datasets", caption="\n".join(dict.fromkeys(notes)) or None)
    table.add_column("quantity")
    for title in TITLES.values():
        table.add_column(f"{title}, paper", justify="right", style="dim")
        table.add_column(f"{title}, measured", justify="right")
    for quantity, group in rows.groupby("quantity", sort=False):
        cells = [str(quantity)]
        for dataset in TITLES:
            row = group[group["dataset"] == dataset].squeeze()
            if row.empty:
                cells += ["", ""]
            else:
                differs = row["verdict"] == "differs"
                cells += [row["paper"], f"[yellow]{row['measured']} (differs)[/yellow]" if differs else row["measured"]]
        table.add_row(*cells)
    return table


def run(out: Path, data_dir: Path | None) -> None:
    """Measure, print the table and write `datasets.csv` to `out`."""
    rows = pd.DataFrame(compare(data_dir))
    Console().print(render(rows))
    write_whole(out / "datasets.csv", lambda file: rows.to_csv(file, index=False))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("datasets")
