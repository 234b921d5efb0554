"""Data sets: the generator against closed forms and counts, ASD against its published facts, files that are damaged."""

from __future__ import annotations

import hashlib
import http.server
import io
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import shortest_path
from scipy.stats import chisquare

from rsgg import encodings
from rsgg.data import ASD, Dataset, TrainingGraphs, TreeCycles
from rsgg.data import asd as asd_module
from rsgg.data.files import Published
from rsgg.data.tree_cycles import Order, _tree_of
from rsgg.errors import DataError, UsageError
from rsgg.graph import GraphBatch
from rsgg.oracles import ASDOracle, TreeCyclesOracle

with_asd = pytest.mark.skipif("RSGG_DATA_DIR" not in os.environ, reason="ASD is not at hand: RSGG_DATA_DIR is not set")
ORDERS: tuple[Order, ...] = ("generation", "edge-list", "random")


@pytest.fixture(scope="module")
def many() -> Dataset:
    return TreeCycles(n_graphs=4000, seed=1).load()


# -- Tree-Cycles -----------------------------------------------------------------------------------------


def cycles_of(graph: nx.Graph) -> tuple[int, ...]:
    """Cycle sizes: in these graphs cycles share no edge, so the cycle basis is the set of cycles."""
    return tuple(sorted(len(cycle) for cycle in nx.cycle_basis(graph)))


def test_tree_cycles_28_has_the_known_statistics(many: Dataset) -> None:
    edges = many.graphs.n_edges.double()
    diameters = [shortest_path(graph.adjacency, unweighted=True).max() for graph in many.graphs[:2000]]
    assert edges.mean().item() == pytest.approx(27.58, abs=0.1)
    assert np.mean(diameters) == pytest.approx(12.83, abs=0.2)
    assert np.isfinite(diameters).all()
    assert many.labels.double().mean().item() == pytest.approx(0.5, abs=0.024)  # 3 standard errors


def test_six_kinds_of_cyclic_graphs_are_equally_likely(many: Dataset) -> None:
    kinds = Counter(cycles_of(graph.to_networkx()) for graph in many.graphs.select(many.labels == 1))
    assert set(kinds) == {(3,), (4,), (5,), (6,), (7,), (3, 3)}
    assert chisquare(list(kinds.values())).pvalue > 1e-3


@pytest.mark.parametrize("m", [3, 5, 7, 12, 20])
def test_cycle_choices_are_those_that_drawing_again_leaves(m: int) -> None:
    wide = [(number, size) for number in range(1, 60) for size in range(3, 60)]
    assert sorted(TreeCycles(n_nodes=40, max_cycle_nodes=m).cycle_choices()) == [c for c in wide if c[0] * c[1] <= m]


def test_trees_are_uniform_over_labelled_trees() -> None:
    data = TreeCycles(n_nodes=4, n_graphs=6000, max_cycle_nodes=3, order="generation").load()
    trees = data.graphs.select(data.labels == 0)
    counts = Counter(graph.adjacency.tobytes() for graph in trees)
    assert len(counts) == 4**2  # Cayley's formula
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_cycles_are_attached_to_a_uniform_older_node() -> None:
    data = TreeCycles(n_nodes=8, n_graphs=3000, n_cycles=1, cycle_size=3, order="generation").load()
    bridges = data.graphs.select(data.labels == 1).adjacency[:, :5, 5:].long()
    assert (bridges.sum((1, 2)) == 1).all(), "exactly one edge joins tree and cycle"
    assert chisquare(bridges.sum(0).flatten()).pvalue > 1e-3


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    "spec",
    [
        TreeCycles(n_graphs=60),
        TreeCycles(n_nodes=40, n_graphs=60, n_cycles=4, cycle_size=5),
        TreeCycles(n_nodes=4, n_graphs=60, max_cycle_nodes=3),
    ],
)
def test_graphs_are_connected_and_labels_are_the_oracles(spec: TreeCycles, order: Order) -> None:
    data = replace(spec, order=order).load()
    assert torch.equal(TreeCyclesOracle().predict(data.graphs), data.labels)
    assert set(data.labels.tolist()) == {0, 1}
    for graph, label in zip(data.graphs, data.labels.tolist(), strict=True):
        network = graph.to_networkx()
        assert nx.is_connected(network) and len(network) == spec.n_nodes
        sizes = cycles_of(network)
        assert bool(sizes) == bool(label)
        if spec.cycle_size and label:
            assert sizes == (spec.cycle_size,) * (spec.n_cycles or 0)


def test_node_orders_number_the_same_graphs() -> None:
    by_order = {order: TreeCycles(n_graphs=30, order=order).load().graphs for order in ORDERS}
    for i, graph in enumerate(by_order["generation"]):
        for order in ORDERS[1:]:
            assert nx.is_isomorphic(graph.to_networkx(), by_order[order][i].to_networkx())
    assert not torch.equal(by_order["generation"].adjacency, by_order["random"].adjacency)


def test_generation_order_has_cycles_last_and_edge_list_order_is_that_of_a_stored_file(tmp_path: Path) -> None:
    spec = TreeCycles(n_graphs=20, order="generation")
    generated, stored = spec.load(), TreeCycles(n_graphs=20, order="edge-list").load()
    for i, graph in enumerate(generated.graphs):
        network = graph.to_networkx()
        in_cycles = {v for cycle in nx.cycle_basis(network) for v in cycle}
        assert in_cycles == set(range(28 - len(in_cycles), 28))
        nx.write_edgelist(network, tmp_path / "edges", data=False)
        read = nx.read_edgelist(tmp_path / "edges", nodetype=int)
        np.testing.assert_array_equal(nx.to_numpy_array(read), stored.graphs[i].adjacency)
        assert stored.graphs[i].node_names == tuple(read), "nodes keep the names that the file has"


def test_a_graph_depends_on_its_seed_and_not_on_the_count() -> None:
    few, more = TreeCycles(n_graphs=7).load(), TreeCycles(n_graphs=40).load()
    assert torch.equal(few.graphs.adjacency, more.graphs.adjacency[:7])
    assert torch.equal(few.graphs.adjacency, TreeCycles(n_graphs=7).load().graphs.adjacency)
    assert not torch.equal(few.graphs.adjacency, TreeCycles(n_graphs=7, seed=1).load().graphs.adjacency)
    assert len({row.numpy().tobytes() for row in more.graphs.adjacency}) == 40
    assert more.graphs.names[17] == "tree-cycles/0017"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"n_graphs": "5"}, "n_graphs = '5'; give a whole number"),
        ({"n_nodes": 28.0}, "n_nodes = 28.0"),
        ({"seed": None}, "seed = None"),
        ({"cycle_size": 3.0, "n_cycles": 1}, "cycle_size = 3.0"),
        ({"n_graphs": -1}, "-1 graphs"),
        ({"n_graphs": 0}, "0 graphs"),
        ({"n_nodes": -5}, "do not fit"),
        ({"n_nodes": 7}, "do not fit into 7"),
        ({"max_cycle_nodes": 2}, "three or more"),
        ({"max_cycle_nodes": 28}, "do not fit"),
        ({"n_cycles": 4}, "Only one of n_cycles and cycle_size"),
        ({"cycle_size": 4}, "Only one of n_cycles and cycle_size"),
        ({"n_cycles": 0, "cycle_size": 3}, "one or more"),
        ({"n_cycles": 2, "cycle_size": 2}, "does not exist"),
        ({"n_cycles": 4, "cycle_size": 7}, "do not fit"),
        ({"order": "sorted"}, "no node order 'sorted'"),
    ],
)
def test_impossible_tree_cycles_are_refused(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        TreeCycles(**arguments)  # type: ignore[arg-type]


def test_the_tightest_fit_is_allowed() -> None:
    assert len(TreeCycles(n_nodes=29, n_graphs=5, n_cycles=4, cycle_size=7).load()) == 5
    assert len(TreeCycles(n_nodes=8, n_graphs=5).load()) == 5


def test_specifications_declare_what_the_data_depend_on() -> None:
    assert hash(TreeCycles()) == hash(TreeCycles()) and TreeCycles() == TreeCycles()
    random = {"n_nodes": 28, "n_graphs": 500, "max_cycle_nodes": 7, "order": "edge-list", "seed": 0}
    assert TreeCycles().parameters() == random
    fixed = TreeCycles(n_nodes=128, n_cycles=4, cycle_size=3).parameters()
    assert fixed["n_cycles"] == 4 and fixed["cycle_size"] == 3 and "max_cycle_nodes" not in fixed
    assert ASD().parameters() == {}


# -- Folds and encodings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "k"), [(500, 10), (101, 10), (7, 7), (23, 2)])
def test_folds_are_disjoint_cover_everything_and_are_even(count: int, k: int) -> None:
    data = TreeCycles(n_graphs=count).load()
    folds = data.folds(k)
    tests = torch.cat([fold.test for fold in folds])
    assert torch.equal(tests.sort().values, torch.arange(count)) and not torch.equal(tests, torch.arange(count))
    sizes = [len(fold.test) for fold in folds]
    assert max(sizes) - min(sizes) <= 1 and [fold.index for fold in folds] == list(range(k))
    for fold in folds:
        assert torch.equal(torch.cat((fold.train, fold.test)).sort().values, torch.arange(count))


def test_folds_depend_on_the_seed_and_on_nothing_else() -> None:
    data = TreeCycles(n_graphs=50).load()
    again, other = data.folds(seed=0), data.folds(seed=1)
    assert all(torch.equal(a.test, b.test) for a, b in zip(data.folds(), again, strict=True))
    assert not all(torch.equal(a.test, b.test) for a, b in zip(again, other, strict=True))


@pytest.mark.parametrize("k", [-1, 0, 1, 51])
def test_impossible_folds_are_refused(k: int) -> None:
    with pytest.raises(DataError, match="use 2 to 50 folds"):
        TreeCycles(n_graphs=50).load().folds(k)


def test_a_data_set_of_networkx_graphs_and_a_list_of_labels() -> None:
    data = Dataset.of("mine", [nx.path_graph(3), nx.cycle_graph(4)], [0, 1])
    assert len(data) == 2 and data.labels.tolist() == [0, 1] and data.graphs.sizes.tolist() == [3, 4]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Dataset.of("mine", [nx.path_graph(3)], [0, 1]), r"1 graphs and labels of shape \(2,\)"),
        (lambda: Dataset.of("mine", [nx.path_graph(3)], [0.5]), "labels .* are torch.float32"),  # type: ignore[list-item]
        (lambda: Dataset.of("mine", [nx.path_graph(3)], ["tree"]), "not numbers"),  # type: ignore[list-item]
        (lambda: Dataset("mine", GraphBatch.of([nx.path_graph(3)]), [0]), "labels .* are list"),  # type: ignore[arg-type]
        (lambda: Dataset("mine", [nx.path_graph(3)], torch.zeros(1, dtype=torch.long)), "GraphBatch.of"),  # type: ignore[arg-type]
        (lambda: TreeCycles(n_graphs=20).load().folds(2.0), "use 2 to 20 folds"),  # type: ignore[arg-type]
        (lambda: TrainingGraphs(TreeCycles(), fold=10), "no fold 10"),
        (lambda: TrainingGraphs(TreeCycles(), fold="1"), "Fold '1' of 10"),  # type: ignore[arg-type]
        (lambda: TrainingGraphs(TreeCycles, fold=1), "is no data set"),  # type: ignore[arg-type]
    ],
)
def test_data_sets_that_make_no_sense_are_refused(make: Callable[[], object], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        make()


def test_training_graphs_are_those_of_the_fold_and_shuffled_under_their_own_name() -> None:
    spec = TrainingGraphs(TreeCycles(n_graphs=30), fold=2, folds=5, seed=1)
    whole, part = TreeCycles(n_graphs=30).load(), spec.load()
    assert part.graphs.names == tuple(whole.graphs.names[i] for i in whole.folds(5, 1)[2].train.tolist())
    assert torch.equal(part.labels, whole.labels[whole.folds(5, 1)[2].train])
    assert part.name == spec.name == "tree-cycles-training"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kinds of encoding that were computed, not read."""
    kinds: list[str] = []
    original = encodings.encode

    def counting(graphs: GraphBatch, kind: str) -> torch.Tensor:
        kinds.append(kind)
        return original(graphs, kind)

    monkeypatch.setattr(encodings, "encode", counting)
    return kinds


def test_encodings_are_computed_once_per_data_set_and_kind(cache: Path, computed: list[str]) -> None:
    data = TreeCycles(n_graphs=6).load()
    assert data.graphs.encodings == {}
    first, second = data.with_encoding("structural"), data.with_encoding("structural")
    assert computed == ["structural"] and data.graphs.encodings == {}
    assert torch.equal(first.graphs.encodings["structural"], second.graphs.encodings["structural"])
    both = first.with_encoding("centralities").with_encoding("structural")
    TreeCycles(n_graphs=6, seed=1).load().with_encoding("structural")
    assert computed == ["structural", "centralities", "structural"]
    assert set(both.graphs.encodings) == {"structural", "centralities"}
    selected = both.graphs.select(torch.tensor([4])).encodings["structural"][0]
    assert torch.equal(selected, first.graphs.encodings["structural"][4])
    assert sorted(path.suffix for path in (cache / "encodings").iterdir()) == [".encoding"] * 3


def checked_array(file: Path, array: np.ndarray) -> bytes:
    """A file of the cache as its format is described: the sha256 of name and array, then the array."""
    stream = io.BytesIO()
    np.save(stream, array)
    return hashlib.sha256(file.name.encode() + b"\0" + stream.getvalue()).digest() + stream.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda file: b"",
        lambda file: b"not what was written",
        lambda file: file.read_bytes()[:-40],
        lambda file: file.read_bytes() + b"0",
        lambda file: checked_array(file, np.zeros((2, 3, 4))),  # of other graphs
        lambda file: checked_array(file, np.array(["text"])),
        lambda file: checked_array(file.with_name("another"), np.zeros((6, 28, 9), dtype=np.float32)),
    ],
)
def test_a_damaged_cache_is_computed_again(cache: Path, computed: list[str], damage: Callable[[Path], bytes]) -> None:
    data = TreeCycles(n_graphs=6).load()
    expected = data.with_encoding("structural").graphs.encodings["structural"]
    (file,) = (cache / "encodings").iterdir()
    assert file.read_bytes() == checked_array(file, expected.numpy())
    file.write_bytes(damage(file))
    for _ in range(2):
        assert torch.equal(data.with_encoding("structural").graphs.encodings["structural"], expected)
    assert computed == ["structural", "structural"]


def test_any_flipped_byte_of_the_cache_means_to_compute_again(cache: Path, computed: list[str]) -> None:
    data = TreeCycles(n_graphs=3).load()
    expected = data.with_encoding("structural").graphs.encodings["structural"]
    (file,) = (cache / "encodings").iterdir()
    whole, rng = file.read_bytes(), np.random.default_rng(0)
    positions = [*range(170), *rng.integers(170, len(whole), 80).tolist()]  # all of checksum and header, some numbers
    for position in positions:
        damaged = bytearray(whole)
        damaged[position] ^= int(rng.integers(1, 256))
        file.write_bytes(damaged)
        assert torch.equal(data.with_encoding("structural").graphs.encodings["structural"], expected)
    assert len(computed) == 1 + len(positions)
    assert [path.name for path in (cache / "encodings").iterdir()] == [file.name], "no temporary file is left"


def test_a_write_that_is_interrupted_leaves_nothing_behind(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        TreeCycles(n_graphs=3).load().with_encoding("structural")
    assert list((cache / "encodings").iterdir()) == []


def test_a_cache_that_cannot_be_written_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path / "file"))
    data = TreeCycles(n_graphs=6).load().with_encoding("structural")
    assert data.graphs.encodings["structural"].shape == (6, 28, 9)


def test_an_unknown_encoding_is_refused(cache: Path) -> None:
    with pytest.raises(UsageError, match="choose one of structural, centralities"):
        TreeCycles(n_graphs=2).load().with_encoding("spectral")


# -- ASD -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asd() -> Dataset:
    return ASD().load()


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of the files to damage."""
    source = asd_module.FILES.find(Path(os.environ["RSGG_DATA_DIR"]))
    return Path(shutil.copytree(source, tmp_path / "asd", copy_function=shutil.copyfile))


@with_asd
def test_asd_is_what_was_published(asd: Dataset) -> None:
    assert len(asd) == 101 and asd.graphs.n_nodes == 116
    assert asd.graphs.n_edges.double().mean().item() == pytest.approx(655.624, abs=5e-4)
    assert asd.labels.tolist() == [0] * 52 + [1] * 49
    assert asd.graphs.names[0] == "asd/KKI_0050776" and list(asd.graphs.names[:52]) == sorted(asd.graphs.names[:52])
    assert sum(nx.is_connected(graph.to_networkx()) for graph in asd.graphs) == 99


@with_asd
def test_the_asd_oracle_is_right_78_times_out_of_101(asd: Dataset) -> None:
    predicted = ASDOracle().predict(asd.graphs)
    confusion = torch.zeros(2, 2, dtype=torch.long)
    for label, guess in zip(asd.labels.tolist(), predicted.tolist(), strict=True):
        confusion[label, guess] += 1
    assert confusion.tolist() == [[38, 14], [9, 40]]
    assert int((predicted == asd.labels).sum()) == 78
    assert ASDOracle().predict(GraphBatch.of(nx.empty_graph(116))).tolist() == [1]


@with_asd
def test_asd_is_found_in_either_folder(asd: Dataset, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in (copy, copy.parent):
        assert torch.equal(ASD().load(folder).graphs.adjacency, asd.graphs.adjacency)
        monkeypatch.setenv("RSGG_DATA_DIR", str(folder))
        assert torch.equal(ASD().load().graphs.adjacency, asd.graphs.adjacency)


@with_asd
def test_line_ends_of_another_system_are_no_damage(asd: Dataset, copy: Path) -> None:
    for file in copy.rglob("*.txt"):
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert torch.equal(ASD().load(copy).graphs.adjacency, asd.graphs.adjacency)


FILE = "td/NYU_0051036.txt"


@with_asd
@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda text: text[:9000], "not a 116 x 116 matrix"),
        (lambda text: b"", "not a 116 x 116 matrix"),
        (lambda text: text.replace(b"0 ", b"", 1), "not a 116 x 116 matrix"),
        (lambda text: text + text, "not a 116 x 116 matrix"),
        (lambda text: b"\xff" + text[1:], "not the matrix of an undirected graph"),
        (lambda text: b"2" + text[1:], "not binary"),
        (lambda text: b"1" + text[1:], "self loop"),
        (lambda text: text[:2] + (b"1" if text[2:3] == b"0" else b"0") + text[3:], "not symmetric"),
        (lambda text: text[:-1], "differs from the published file"),
        (lambda text: b"\n".join(row[::-1] for row in text.splitlines()[::-1]) + b"\n", "differs from the published"),
    ],
)
def test_a_damaged_asd_file_is_named(copy: Path, damage: Callable[[bytes], bytes], sentence: str) -> None:
    (copy / FILE).write_bytes(damage((copy / FILE).read_bytes()))
    with pytest.raises(DataError, match=sentence) as raised:
        ASD().load(copy)
    assert FILE in str(raised.value) and str(raised.value).endswith("or use neither to download it.")


@with_asd
def test_a_missing_asd_file_is_named(copy: Path) -> None:
    (copy / FILE).unlink()
    with pytest.raises(DataError, match=f"1 of its 101 files are missing, the first is {FILE}"):
        ASD().load(copy)


def test_a_folder_without_asd_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Published, "_download", lambda *_: pytest.fail("downloaded although a folder was given"))
    with pytest.raises(DataError, match="101 of its 101 files are missing"):
        ASD().load(tmp_path)
    monkeypatch.setenv("RSGG_DATA_DIR", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="RSGG_DATA_DIR"):
        ASD().load()


# -- Downloading -----------------------------------------------------------------------------------------


class Quiet(http.server.SimpleHTTPRequestHandler):
    requested: list[str]

    def do_GET(self) -> None:
        self.requested.append(self.path)
        super().do_GET()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def server(copy: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """The files behind http, an empty cache, and no folder named: (base url, paths that were asked for)."""
    monkeypatch.delenv("RSGG_DATA_DIR")
    requested: list[str] = []
    handler = type("Handler", (Quiet,), {"requested": requested})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(copy))) as httpd:
        thread = threading.Thread(target=httpd.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{httpd.server_address[1]}/", requested
        httpd.shutdown()


@with_asd
def test_asd_is_downloaded_once_and_quietly(
    asd: Dataset, server: tuple[str, list[str]], cache: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    url, requested = server
    data = ASD().load(sources=[url])
    assert torch.equal(data.graphs.adjacency, asd.graphs.adjacency) and len(requested) == 101
    damaged = cache / "asd" / FILE
    damaged.write_bytes(b"0 1\n1 0\n")
    ASD().load(sources=[url])
    assert len(requested) == 102, "only the damaged file is fetched again"
    ASD().load(sources=["http://127.0.0.1:9/"])  # complete: no network is needed
    assert capfd.readouterr() == ("", "")


@with_asd
def test_another_source_is_tried(asd: Dataset, server: tuple[str, list[str]]) -> None:
    url, _ = server
    data = ASD().load(sources=["http://127.0.0.1:9/", url])
    assert torch.equal(data.graphs.adjacency, asd.graphs.adjacency)


@with_asd
def test_a_wrong_file_is_never_accepted(server: tuple[str, list[str]], copy: Path) -> None:
    (copy / FILE).write_bytes((copy / "td/NYU_0051038.txt").read_bytes())
    with pytest.raises(DataError, match="does not match its sha256"):
        ASD().load(sources=[server[0]])


@with_asd
def test_download_failures_are_sentences(server: tuple[str, list[str]], copy: Path) -> None:
    (copy / FILE).unlink()
    with pytest.raises(DataError, match=r"the server answered 404\) nor from http://127.0.0.1:9/ \(no connection\)"):
        ASD().load(sources=[server[0], "http://127.0.0.1:9/"])


def test_checksums_are_those_of_101_different_files() -> None:
    known = asd_module.FILES.sha256
    assert len(known) == len(set(known.values())) == 101
    assert [file.split("/")[0] for file in known] == ["td"] * 52 + ["asd"] * 49
    assert all(len(sha256) == 64 for sha256 in known.values())


@pytest.mark.parametrize("n", [2, 3, 4, 9, 28])
def test_trees_are_decoded_as_networkx_decodes_them(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(200):
        sequence = rng.integers(n, size=n - 2).tolist()
        expected = {frozenset(edge) for edge in nx.from_prufer_sequence(sequence).edges}
        assert {frozenset(edge) for edge in _tree_of(sequence)} == expected
