"""Files of data that are huge, or hold numbers that no such file has: a sentence, at once, and never much memory."""

from __future__ import annotations

import hashlib
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rsgg.baselines.released.cf2 import ReleasedCF2
from rsgg.data import TU, asd, files
from rsgg.data.files import Published
from rsgg.data.molecules import TABLES, Molecules
from rsgg.data.nodes import NodesFromFiles
from rsgg.errors import DataError, RSGGError
from rsgg.graph import GraphBatch
from tests.rsgg.test_public_data import TINY, tiny  # noqa: F401  # a fixture

HUGE = 40 * 10**9
MOST_SECONDS, MOST_MEGABYTES = 2.0, 300


@contextmanager
def little_work() -> Iterator[None]:
    """What is inside takes little CPU time and little memory beyond what was taken before."""
    start, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert time.process_time() - start < MOST_SECONDS
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < MOST_MEGABYTES


def sparse(path: Path, size: int = HUGE) -> Path:
    """A file of so many zeros, which take no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return path


# -- huge files ------------------------------------------------------------------------------------------


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    first = next(iter(asd.FILES.sha256))
    sparse(tmp_path / first)
    sparse(tmp_path / "node" / "BA-Shapes_nodes.csv")
    sparse(tmp_path / "molecules" / TABLES["BBBP"].file)
    readers: list[Callable[[], object]] = [
        lambda: asd._read(tmp_path, first),
        lambda: NodesFromFiles(name="ba-shapes").load(tmp_path),
        lambda: Molecules(name="BBBP").load(tmp_path),
    ]
    for read in readers:
        with little_work(), pytest.raises(DataError, match=r"is larger than [\d,]+ MB"):
            read()


@pytest.mark.parametrize("part", ["A", "graph_labels", "node_labels"])
def test_a_huge_file_of_ones_own_is_not_read(tiny: Path, part: str) -> None:  # noqa: F811
    sparse(tiny / f"Tiny_{part}.txt")
    with little_work(), pytest.raises(DataError, match=r"is larger than 1,074 MB"):
        TU("Tiny", folder=str(tiny)).load()


def test_a_huge_file_in_the_cache_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RSGG_DATA_DIR", raising=False)
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(files, "_get", lambda url: b"right")
    published = Published("It", "it", {"file": hashlib.sha256(b"right").hexdigest()}, ["https://example.org/"], "file")
    sparse(tmp_path / "it" / "file")
    with little_work():
        folder = published.find()
    assert (folder / "file").read_bytes() == b"right"


def test_a_huge_file_is_no_saved_explainer(tmp_path: Path) -> None:
    with little_work(), pytest.raises(DataError, match="is not a saved explainer, or its end is missing"):
        ReleasedCF2.load(sparse(tmp_path / "huge.npz"))


def test_what_never_ends_is_not_read_to_its_end() -> None:
    with little_work(), pytest.raises(DataError, match="is larger than 1 MB"):
        files.content_of(Path("/dev/zero"), 1 << 20)


# -- numbers that no such file has -----------------------------------------------------------------------

TOKENS = (
    "9" * 25,
    "-" + "9" * 25,
    "9223372036854775808",
    "1.5",
    "1e400",
    "-1",
    "2",
    "nan",
    "inf",
    "0x1",
    "1_0",
    "\x00",
    "½",
)


@pytest.mark.parametrize("token", TOKENS)
def test_an_odd_number_in_a_matrix_is_a_sentence(tmp_path: Path, token: str) -> None:
    rows = [["0"] * asd.N_REGIONS for _ in range(asd.N_REGIONS)]
    rows[3][5] = rows[5][3] = token
    file = next(iter(asd.FILES.sha256))
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text("\n".join(map(" ".join, rows)), encoding="utf-8")
    with little_work(), pytest.raises(DataError, match=r"is not the matrix of an undirected graph|116 x 116 matrix"):
        asd._read(tmp_path, file)


@pytest.mark.parametrize("part", TINY)
@pytest.mark.parametrize("token", [*TOKENS, "1000000000000", "-9223372036854775808", ""])
def test_an_odd_number_in_a_table_is_a_sentence_or_read_as_it_is(tiny: Path, part: str, token: str) -> None:  # noqa: F811
    if (part, token) == ("A", "2"):
        return  # it is a node
    lines = TINY[part].splitlines()
    lines[1] = lines[1].replace(lines[1].split(",")[0], token, 1)
    (tiny / f"Tiny_{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with little_work():
        try:
            data = TU("Tiny", folder=str(tiny), attributes=True).load()
        except RSGGError as error:
            assert isinstance(error, DataError) and len(str(error)) < 500
            return
    assert part not in ("A", "graph_indicator"), "nodes and graphs have to exist"
    features = data.graphs.features
    assert features is not None and features.isfinite().all()
    assert part != "node_attributes" or float(token) == pytest.approx(features[0, 1, -2].item())
    assert isinstance(data.graphs, GraphBatch) and len(data.labels) == 2


def test_as_many_labels_of_edges_as_edges(tiny: Path) -> None:  # noqa: F811
    for text in ("2\n2\n", TINY["edge_labels"] + "2\n"):
        (tiny / "Tiny_edge_labels.txt").write_text(text, encoding="ascii")
        with pytest.raises(DataError, match="has not one line for each of the 8 lines of A"):
            TU("Tiny", folder=str(tiny)).load()


def test_what_would_not_fit_into_memory_is_said_beforehand(tmp_path: Path) -> None:
    n = 200_000
    (tmp_path / "Big_A.txt").write_text("1, 2\n", encoding="ascii")
    (tmp_path / "Big_graph_indicator.txt").write_text("1\n" * n + "2\n", encoding="ascii")
    (tmp_path / "Big_graph_labels.txt").write_text("0\n1\n", encoding="ascii")
    with little_work(), pytest.raises(DataError, match="2 graphs of up to 200000 nodes take 80 GB as matrices"):
        TU("Big", folder=str(tmp_path)).load()
    (tmp_path / "Big_node_labels.txt").write_text("\n".join(map(str, np.arange(n + 1))), encoding="ascii")
    with little_work(), pytest.raises(DataError, match=r"node_labels\.txt.* has more than 10000 labels"):
        TU("Big", folder=str(tmp_path)).load()
