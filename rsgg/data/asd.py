"""ASD: 101 brain networks of children, 52 typically developed and 49 with autism spectrum disorder (Section 5).

Nodes are 116 brain regions, the same in every graph; edges are co-activations (Abrate & Bonchi, KDD 2021). The files
are not part of this project: they are read from a folder the user names, or downloaded once and kept. Each has to
match its sha256, wherever it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from rsgg.data.dataset import Dataset
from rsgg.data.files import Published, checksums
from rsgg.errors import GraphError
from rsgg.graph import Graph, GraphBatch

N_REGIONS = 116
LARGEST_FILE = 1 << 20  # bytes; a file has 27 thousand
CLASSES = ("td", "asd")  # folder names; their positions are the labels

SOURCES = (
    "https://raw.githubusercontent.com/MarioTheOne/GRETEL/fa60bd27b38235b56fce0d5756dcafe6ef86216f/data/datasets/autism/",
    "https://raw.githubusercontent.com/carlo-abrate/CounterfactualGraphs/ae525e180aac99f4bbe7d0f63ea7990a95829642/data/AUTISM/",
)
"""Where the files are published, tried in this order. The second is the authors' own repository."""

FILES = Published("The ASD data set", "asd", checksums("asd"), SOURCES, "td/ and asd/")


@dataclass(frozen=True)
class ASD:
    """The ASD data set: typically developed first (label 0), then autism spectrum disorder (label 1)."""

    name: ClassVar[str] = "asd"

    def parameters(self) -> dict[str, object]:
        """The files are fixed by their checksums; there is nothing to choose."""
        return {}

    def load(self, data_dir: Path | None = None, *, sources: Sequence[str] = SOURCES) -> Dataset:
        """Read the graphs from `data_dir`, else from RSGG_DATA_DIR, else from the cache, downloading what it lacks."""
        folder = FILES.find(data_dir, sources)
        graphs = [_read(folder, file) for file in FILES.sha256]
        labels = torch.tensor([CLASSES.index(file.split("/")[0]) for file in FILES.sha256])
        return Dataset(self.name, GraphBatch.of(graphs), labels)


def _read(folder: Path, file: str) -> Graph:
    """One graph from its file, or a sentence that says what is wrong with the file."""
    content = FILES.read(folder, file, LARGEST_FILE)
    rows = [line.split() for line in content.splitlines()]
    if len(rows) != N_REGIONS or any(len(row) != N_REGIONS for row in rows):
        raise FILES.damaged(folder, file, f"is not a {N_REGIONS} x {N_REGIONS} matrix, it may be cut short")
    try:
        graph = Graph(np.array(rows, dtype=np.int64), name=f"asd/{Path(file).stem}")
    except (GraphError, ValueError, OverflowError) as error:
        raise FILES.damaged(folder, file, f"is not the matrix of an undirected graph ({error})") from error
    FILES.check(folder, file, content)
    return graph
