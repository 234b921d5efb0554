"""ASD: 101 brain networks of children, 52 typically developed and 49 with autism spectrum disorder (Section 5).

Nodes are 116 brain regions, the same in every graph; edges are co-activations (Abrate & Bonchi, KDD 2021). The files
are not part of this project: they are read from a folder the user names, or downloaded once and kept. Each has to
match its sha256, wherever it came from.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from rsgg.data.dataset import Dataset, cache_dir
from rsgg.errors import DataError, GraphError
from rsgg.graph import Graph, GraphBatch

N_REGIONS = 116
CLASSES = ("td", "asd")  # folder names; their positions are the labels

SOURCES = (
    "https://raw.githubusercontent.com/MarioTheOne/GRETEL/fa60bd27b38235b56fce0d5756dcafe6ef86216f/data/datasets/autism/",
    "https://raw.githubusercontent.com/carlo-abrate/CounterfactualGraphs/ae525e180aac99f4bbe7d0f63ea7990a95829642/data/AUTISM/",
)
"""Where the files are published, tried in this order. The second is the authors' own repository."""

HOW_TO_GET_IT = "name a folder that holds td/ and asd/ by --data-dir or RSGG_DATA_DIR, or use neither to download it"


@dataclass(frozen=True)
class ASD:
    """The ASD data set: typically developed first (label 0), then autism spectrum disorder (label 1)."""

    name: ClassVar[str] = "asd"

    def parameters(self) -> dict[str, object]:
        """The files are fixed by their checksums; there is nothing to choose."""
        return {}

    def load(self, data_dir: Path | None = None, *, sources: Sequence[str] = SOURCES) -> Dataset:
        """Read the graphs from `data_dir`, else from RSGG_DATA_DIR, else from the cache, downloading what it lacks."""
        given = data_dir or os.environ.get("RSGG_DATA_DIR")
        folder = _folder_in(Path(given).expanduser()) if given else _download(cache_dir() / "asd", sources)
        graphs = [_read(folder, file, sha256) for file, sha256 in checksums().items()]
        labels = torch.tensor([CLASSES.index(file.split("/")[0]) for file in checksums()])
        return Dataset(self.name, GraphBatch.of(graphs), labels)


def checksums() -> dict[str, str]:
    """The sha256 of each file, e.g. of "td/KKI_0050776.txt", in the order of the data set."""
    lines = Path(__file__).with_name("asd_sha256.txt").read_text(encoding="ascii").splitlines()
    return {file: sha256 for sha256, file in (line.split() for line in lines)}


def _folder_in(data_dir: Path) -> Path:
    """The folder with td/ and asd/: `data_dir`/asd or `data_dir` itself."""
    folder = data_dir / "asd" if (data_dir / "asd" / "td").is_dir() else data_dir
    missing = [file for file in checksums() if not (folder / file).is_file()]
    if missing:
        raise DataError(
            f"The ASD data set is not complete in {data_dir}: {len(missing)} of its {len(checksums())} files are "
            f"missing, the first is {missing[0]}; {HOW_TO_GET_IT}."
        )
    return folder


def _read(folder: Path, file: str, sha256: str) -> Graph:
    """One graph from its file, or a sentence that says what is wrong with the file."""
    again = f"get that file again, or {HOW_TO_GET_IT}"
    try:
        content = (folder / file).read_bytes().replace(b"\r\n", b"\n")  # a checkout on Windows changes line ends
    except OSError as error:
        raise DataError(f"{folder / file} cannot be read ({error.strerror}); {again}.") from error
    rows = [line.split() for line in content.splitlines()]
    if len(rows) != N_REGIONS or any(len(row) != N_REGIONS for row in rows):
        raise DataError(f"{folder / file} is not a {N_REGIONS} x {N_REGIONS} matrix, it may be cut short; {again}.")
    try:
        graph = Graph(np.array(rows, dtype=np.int64), name=f"asd/{Path(file).stem}")
    except (GraphError, ValueError) as error:
        raise DataError(f"{folder / file} is not the matrix of an undirected graph ({error}); {again}.") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DataError(f"{folder / file} differs from the published file (its sha256 is not the known one); {again}.")
    return graph


def _download(folder: Path, sources: Sequence[str]) -> Path:
    """Fill `folder` with the published files; those already there and undamaged are kept."""
    import pooch

    pooch.get_logger().setLevel("ERROR")  # 101 lines of "Downloading file" help nobody
    registry = {file: f"sha256:{sha256}" for file, sha256 in checksums().items()}
    downloader = pooch.HTTPDownloader(timeout=20)
    reasons = []
    for source in sources:
        files = pooch.create(path=folder, base_url=source, registry=registry)
        try:
            for name in CLASSES:  # before the threads start, or two of them would make the same folder
                (folder / name).mkdir(parents=True, exist_ok=True)
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda file, files=files: files.fetch(file, downloader=downloader), registry))
            return folder
        except (OSError, ValueError) as error:  # the network, the disk; a wrong checksum
            reasons.append(f"{source} ({_why(error)})")
    raise DataError(
        f"The ASD data set could not be downloaded from {' nor from '.join(reasons)}; check the network, or name a "
        "folder that holds td/ and asd/ by --data-dir or RSGG_DATA_DIR."
    )


def _why(error: Exception) -> str:
    """A few words for what the libraries below say in five lines."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code}"
    if isinstance(error, requests.RequestException):
        return "no connection"
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return "a file there does not match its sha256"
