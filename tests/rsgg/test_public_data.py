"""Data sets in TU format, molecules and motifs: read as PyG, RDKit and NetworkX read them, or refused."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.io import read_tu_data

from rsgg.data import TU, Dataset, Molecules, Motifs, files
from rsgg.data import tu as tu_module
from rsgg.data.files import Published, checksums
from rsgg.data.molecules import BONDS, TABLES, read_smiles
from rsgg.errors import DataError
from rsgg.graph import Graph, GraphBatch
from tests.graphs import DATA_DIR, needs_public_data

# Two graphs: a triangle 1-2-3 with a tail 4, and an edge 5-6 beside a lone node 7. Edges are listed in one direction,
# in both, or twice; one line is a self loop.
TINY = {
    "A": "1, 2\n2, 1\n2, 3\n3, 1\n3, 4\n3, 4\n4, 4\n6, 5\n",
    "graph_indicator": "1\n1\n1\n1\n2\n2\n2\n",
    "graph_labels": "7\n-1\n",
    "node_labels": "3\n3\n9\n3\n0\n9\n9\n",
    "edge_labels": "2\n2\n2\n2\n1\n1\n2\n5\n",
    "node_attributes": "0.5, 1\n1, 2\n1.5, 3\n2, 4\n2.5, 5\n3, 6\n3.5, 7\n",
    "edge_gt": "1\n1\n1\n1\n0\n0\n0\n0\n",
}


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """The folder Tiny, as a user would have one."""
    folder = tmp_path / "Tiny"
    folder.mkdir()
    for part, text in TINY.items():
        (folder / f"Tiny_{part}.txt").write_text(text, encoding="ascii")
    return folder


def test_a_folder_in_tu_format_is_read_as_it_is_meant(tiny: Path) -> None:
    data = TU("Tiny", folder=str(tiny), attributes=True, added_edge=4).load()
    first, second = data.graphs
    assert first.edges() == [(0, 1), (0, 2), (1, 2), (2, 3)] and second.edges() == [(0, 1)]
    assert data.labels.tolist() == [1, 0], "labels are numbered in ascending order"
    assert data.feature_names == ("0", "3", "9", "attribute 0", "attribute 1")
    assert second.features is not None and second.features.tolist() == [
        [1, 0, 0, 2.5, 5],
        [0, 0, 1, 3, 6],
        [0, 0, 1, 3.5, 7],
    ]
    assert first.edge_features is not None and second.edge_features is not None
    assert first.edge_features[np.triu_indices(4, 1)].tolist() == [2, 2, 4, 2, 4, 1]
    assert second.edge_features[0, 1] == 5 and second.edge_features[0, 2] == 4
    assert data.motif is not None and data.motif[0].nonzero().tolist() == [[0, 1], [0, 2], [1, 2]]
    assert not data.motif[1].any() and data.graphs.names == ("Tiny/0", "Tiny/1")


def test_a_folder_is_found_by_name_and_read_without_labels(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in ("node_labels", "edge_labels", "node_attributes", "edge_gt"):
        (tiny / f"Tiny_{part}.txt").unlink()
    monkeypatch.setenv("RSGG_DATA_DIR", str(tiny.parent))
    plain = TU("Tiny").load()
    assert plain.graphs.features is None and plain.graphs.edge_features is None and plain.motif is None
    assert torch.equal(plain.graphs.n_edges, torch.tensor([4, 1]))


def test_edits_keep_labels_and_added_edges_get_the_declared_one(tiny: Path) -> None:
    graph = TU("Tiny", folder=str(tiny), added_edge=4).load().graphs[0]
    edited = graph.adjacency.copy()
    edited[0, 1] = edited[1, 0] = 0
    edited[0, 3] = edited[3, 0] = 1
    after = graph.with_adjacency(edited)
    assert after.to_networkx().edges[0, 3]["edge_attr"] == 4 and after.to_networkx().edges[0, 2]["edge_attr"] == 2
    data = after.to_pyg()
    assert data.edge_attr.dtype == torch.int64 and torch.equal(data.x, graph.to_pyg().x)


def test_the_added_edge_has_the_most_frequent_label_unless_it_is_declared(tiny: Path) -> None:
    graphs = TU("Tiny", folder=str(tiny)).load().graphs
    assert graphs.edge_features is not None and graphs.edge_features.dtype == torch.uint8
    assert graphs.edge_features[0, 0, 3] == 2
    assert TU("MUTAG")._added_edge(TU("Tiny", folder=str(tiny)).read()) == 1, "a single bond, not an aromatic one"


def test_large_graphs_and_rare_labels_are_left_out_and_counted(tiny: Path) -> None:
    small = TU("Tiny", folder=str(tiny), max_nodes=3).load()
    assert small.graphs.names == ("Tiny/1",) and small.left_out == {"more than 3 nodes": 1}
    frequent = TU("Tiny", folder=str(tiny), rare=1).load()
    assert frequent.graphs.names == ("Tiny/0",) and frequent.feature_names == ("3", "9")
    assert list(frequent.left_out.values()) == [1]
    with pytest.raises(DataError, match="No graph of Tiny is left"):
        TU("Tiny", folder=str(tiny), max_nodes=1).load()


@pytest.mark.parametrize(
    ("part", "text", "sentence"),
    [
        ("A", "1, 8\n", "no pairs of nodes 1 to 7"),
        ("A", "0, 1\n", "no pairs of nodes 1 to 7"),
        ("A", "1, 5\n", "joins nodes of two graphs"),
        ("A", "1, x\n", "not a table of numbers"),
        ("graph_labels", "7\n", "names graphs without label"),
        ("graph_labels", "7\n1\n1\n", "has no nodes of some graph"),
        ("graph_indicator", "2\n1\n1\n1\n2\n2\n2\n", "not sorted"),
        ("node_labels", "1\n", "not one label or attribute for each"),
    ],
)
def test_a_wrong_file_is_named(tiny: Path, part: str, text: str, sentence: str) -> None:
    (tiny / f"Tiny_{part}.txt").write_text(text, encoding="ascii")
    with pytest.raises(DataError, match=sentence):
        TU("Tiny", folder=str(tiny)).load()


def test_missing_files_are_named(tiny: Path, tmp_path: Path) -> None:
    (tiny / "Tiny_graph_labels.txt").unlink()
    with pytest.raises(DataError, match=r"no file Tiny_graph_labels.txt"):
        TU("Tiny", folder=str(tiny)).load()
    with pytest.raises(DataError, match=r"no files Other_A.txt.*can be downloaded: MUTAG, AIDS"):
        TU("Other").load(tmp_path)
    with pytest.raises(DataError, match=r"5 of its 5 files are missing, the first is MUTAG_A.txt"):
        TU("MUTAG").load(tmp_path)


def test_parameters_name_what_differs_and_the_content_of_own_files(tiny: Path) -> None:
    assert TU().parameters() == {"name": "MUTAG"}
    assert TU("AIDS", max_nodes=120, rare=50).parameters() == {"name": "AIDS", "max_nodes": 120, "rare": 50}
    before = TU("Tiny", folder=str(tiny)).parameters()
    (tiny / "Tiny_graph_labels.txt").write_text("1\n1\n")
    assert before["sha256"] != TU("Tiny", folder=str(tiny)).parameters()["sha256"]


# -- Published sets --------------------------------------------------------------------------------------


@needs_public_data
@pytest.mark.parametrize("name", tu_module.BUILT_IN)
def test_published_sets_have_the_published_statistics(name: str) -> None:
    graphs = TU(name).read()
    table = pd.read_csv("results/paper/public_datasets.csv", dtype=str).set_index(["dataset", "quantity"])["paper"]
    printed = pd.to_numeric(table, errors="coerce")  # some lines hold several numbers
    assert len(graphs) == printed[name, "# of instances"]
    assert f"{graphs.sizes.mean():.2f}" == f"{printed[name, 'Avg # of nodes']:.2f}"
    assert f"{graphs.n_edges.mean():.2f}" == f"{printed[name, 'Avg # of edges']:.2f}"
    assert len(graphs.feature_names) == printed[name, "# of node labels"]


@needs_public_data
def test_labels_of_both_directions_of_an_edge_agree() -> None:
    for name in ("MUTAG", "AIDS", "Mutagenicity"):
        folder = DATA_DIR / "tu" / name
        pairs = pd.read_csv(folder / f"{name}_A.txt", header=None, skipinitialspace=True)
        pairs = pd.DataFrame(np.sort(pairs, 1)).assign(
            label=pd.read_csv(folder / f"{name}_edge_labels.txt", header=None)
        )
        assert (pairs.groupby([0, 1])["label"].nunique() == 1).all()


@needs_public_data
@pytest.mark.parametrize("name", ["MUTAG", "PROTEINS"])
def test_sets_are_read_as_pyg_reads_them(name: str) -> None:
    data, slices, _ = read_tu_data(str(DATA_DIR / "tu" / name), name)
    ours = TU(name, max_nodes=60).load()
    for graph, label in zip(ours.graphs, ours.labels.tolist(), strict=True):
        i = int(graph.name.split("/")[1])
        first, last = (int(slices["edge_index"][i + step]) for step in (0, 1))
        edges = data.edge_index[:, first:last].T.tolist()
        assert {(u, v) for u, v in edges if u < v} == set(graph.edges())
        nodes = slice(int(slices["x"][i]), int(slices["x"][i + 1]))
        assert graph.features is not None and int(data.y[i]) == label
        assert np.array_equal(data.x[nodes, -graph.features.shape[1] :].numpy(), graph.features)
        if graph.edge_features is not None:
            kinds = data.edge_attr[first:last].argmax(1).tolist()
            assert all(graph.edge_features[u, v] == kind for (u, v), kind in zip(edges, kinds, strict=True))


@needs_public_data
def test_motifs_of_mutagenicity_are_nitro_and_amino_groups() -> None:
    data = TU("Mutagenicity", max_nodes=40).load()
    atoms = np.array(data.feature_names)
    assert data.motif is not None and data.graphs.features is not None
    graph, u, v = data.motif.nonzero(as_tuple=True)
    kinds = {
        frozenset(pair)
        for pair in zip(*(atoms[data.graphs.features[graph, end].argmax(1)] for end in (u, v)), strict=True)
    }
    assert kinds == {frozenset("NO"), frozenset("NH")}
    assert bool((data.graphs.adjacency[graph, u, v] == 1).all())


@needs_public_data
def test_a_damaged_published_file_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "tu" / "MUTAG"
    folder.mkdir(parents=True)
    for file in (DATA_DIR / "tu" / "MUTAG").glob("MUTAG_*"):
        (folder / file.name).write_bytes(file.read_bytes())
    assert len(TU().load(tmp_path)) == len(TU().load(folder)) == 188
    (folder / "MUTAG_graph_labels.txt").write_bytes(b"1\n" * 188)
    with pytest.raises(DataError, match=r"MUTAG_graph_labels.txt differs from the published file"):
        TU().load(tmp_path)


# -- Downloading: a server that is a dictionary -----------------------------------------------------------


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, bytes]:
    published: dict[str, bytes] = {}

    def get(url: str) -> bytes:
        if url not in published:
            raise OSError(111, "Connection refused")
        return published[url]

    monkeypatch.delenv("RSGG_DATA_DIR", raising=False)
    monkeypatch.setenv("RSGG_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(files, "_get", get)
    return published


@needs_public_data
def test_an_archive_is_downloaded_once_and_checked(server: dict[str, bytes], tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"could not be downloaded from https://www.chrsmrrs.com.*holds tu/MUTAG/MUTAG_A"
    ):
        TU().load()
    with zipfile.ZipFile(tmp_path / "MUTAG.zip", "w") as archive:
        for file in (DATA_DIR / "tu" / "MUTAG").iterdir():
            archive.write(file, f"MUTAG/{file.name}")
    url = tu_module.SOURCE.format("MUTAG")
    server[url] = (tmp_path / "MUTAG.zip").read_bytes()
    assert len(TU().load()) == 188
    del server[url]
    assert len(TU().load()) == 188, "from the cache"


def test_wrong_and_damaged_archives_are_never_accepted(server: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "wrong.zip", "w") as archive:
        for file in (name for name in checksums("tu") if name.startswith("MUTAG_")):
            archive.writestr(f"MUTAG/{file}", "1\n")
    url = tu_module.SOURCE.format("MUTAG")
    for content, why in ((b"no archive", "damaged or lacks a file"), ((tmp_path / "wrong.zip").read_bytes(), "sha256")):
        server[url] = content
        with pytest.raises(DataError, match=why):
            TU().load()


def test_a_compressed_file_is_unpacked(server: dict[str, bytes], tmp_path: Path) -> None:
    content = b"smiles,y\nC,1\n"
    server["https://example.org/a.csv.gz"] = gzip.compress(content)
    table = Published("The table", "tables", {"a.csv": ""}, ["https://example.org/a.csv.gz"], "a.csv")
    assert table.read(table.find(), "a.csv") == content and (tmp_path / "cache" / "tables" / "a.csv").is_file()


# -- Molecules -------------------------------------------------------------------------------------------


def test_a_molecule_becomes_a_graph_of_atoms_and_bonds() -> None:
    pytest.importorskip("rdkit")
    graphs = read_smiles("some", ["CC(=O)O", "not a molecule", "c1ccccc1", "C#N"], np.array([1, 0, 0, 1]))
    data = graphs.dataset("some", added_edge=1)
    assert data.graphs.names == ("some/0", "some/2", "some/3") and data.labels.tolist() == [1, 0, 1]
    assert data.feature_names == ("C", "N", "O")
    acid, benzene, cyanide = (graph.to_networkx() for graph in data.graphs)
    assert [BONDS[acid.edges[edge]["edge_attr"]] for edge in ((0, 1), (1, 2), (1, 3))] == ["single", "double", "single"]
    assert nx.is_isomorphic(benzene, nx.cycle_graph(6))
    assert {BONDS[kind] for *_, kind in benzene.edges.data("edge_attr")} == {"aromatic"}
    assert [BONDS[kind] for *_, kind in cyanide.edges.data("edge_attr")] == ["triple"]
    assert acid.nodes[2]["x"].tolist() == [0, 0, 1]


@needs_public_data
def test_molecules_are_as_many_as_rdkit_reads() -> None:
    chem = pytest.importorskip("rdkit.Chem")
    smiles, labels = Molecules().table()
    assert len(smiles) == 2050 and np.bincount(labels).tolist() == [483, 1567]
    data = Molecules().load()
    assert len(data) == 2039 and data.left_out == {"cannot be read by RDKit": 11}
    for i in range(0, 2039, 97):
        molecule = chem.MolFromSmiles(smiles[int(data.graphs.names[i].split("/")[1])])
        assert (molecule.GetNumAtoms(), molecule.GetNumBonds()) == (data.graphs[i].n_nodes, data.graphs[i].n_edges)
    toxic = Molecules("ClinTox", max_nodes=120).load()
    assert (
        toxic.labels.sum() <= 112
        and int(toxic.graphs.sizes.max()) <= 120
        and sum(toxic.left_out.values()) == 1484 - len(toxic)
    )


def test_other_molecules_are_not_accepted(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no set of molecules 'QM9'"):
        Molecules("QM9")
    with pytest.raises(DataError, match=r"1 of its 1 files are missing, the first is BBBP.csv.*molecules/BBBP.csv"):
        Molecules().load(tmp_path)
    (tmp_path / "BBBP.csv").write_text("p_np,smiles\n1,CCO\n")
    with pytest.raises(DataError, match="other molecules or labels than were published"):
        Molecules().load(tmp_path)
    (tmp_path / "BBBP.csv").write_text("no,table\n1,CCO\n")
    with pytest.raises(DataError, match="is no table of smiles and p_np"):
        Molecules().load(tmp_path)
    assert {len(table.sha256) for table in TABLES.values()} == {64}


def test_without_rdkit_there_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "rdkit", None)
    with pytest.raises(DataError, match=r'pip install "rsgg\[molecules\]"'):
        read_smiles("some", ["C"], np.array([0]))


# -- Motifs ----------------------------------------------------------------------------------------------


def house() -> nx.Graph:
    graph = nx.cycle_graph(4)
    graph.add_edges_from([(0, 4), (1, 4)])
    return graph


@pytest.mark.parametrize(
    ("family", "motifs"),
    [("BA-2motifs", (nx.cycle_graph(5), house())), ("Triangle-House", (nx.complete_graph(3), house()))],
)
def test_a_motif_hangs_at_a_tree_by_one_edge(family: str, motifs: tuple[nx.Graph, nx.Graph]) -> None:
    data = Motifs(family, n_graphs=20).load()  # type: ignore[arg-type]
    assert data.labels.tolist() == [0, 1] * 10 and data.motif is not None
    for graph, label, marked in zip(data.graphs, data.labels.tolist(), data.motif, strict=True):
        whole = graph.to_networkx()
        motif = nx.Graph(marked.nonzero().tolist())
        assert nx.is_connected(whole) and nx.is_isomorphic(motif, motifs[label])
        rest = whole.copy()
        rest.remove_nodes_from(motif)
        assert len(rest) == 20 and nx.is_tree(rest)
        assert whole.number_of_edges() == 19 + 1 + motif.number_of_edges()


def test_motif_graphs_depend_on_their_seed_and_not_on_their_number() -> None:
    few, many, other = (Motifs(n_graphs=n, seed=s).load().graphs for n, s in ((4, 0), (9, 0), (4, 1)))
    assert torch.equal(few.adjacency, many.adjacency[:4]) and not torch.equal(few.adjacency, other.adjacency)
    degrees = Motifs(n_base=400, n_graphs=2).load().graphs[0].adjacency.sum(0)
    assert degrees.max() > 12, "old nodes of a Barabási–Albert tree have many neighbours"
    for wrong in (lambda: Motifs("BA-3motifs"), lambda: Motifs(n_base=1), lambda: Motifs(n_graphs=0)):  # type: ignore[arg-type]
        with pytest.raises(DataError):
            wrong()


def test_a_data_set_with_motifs_is_cut_like_its_graphs() -> None:
    data = Motifs(n_graphs=6).load()
    part = data.select(torch.tensor([4, 1]))
    assert data.motif is not None and part.motif is not None
    assert torch.equal(part.motif, data.motif[[4, 1]]) and part.labels.tolist() == [0, 1]
    with pytest.raises(DataError, match="motif edges"):
        Dataset("wrong", data.graphs, data.labels, motif=torch.zeros(2, dtype=torch.bool))


def test_edge_labels_in_bytes_are_whole_numbers_for_graphs_and_models() -> None:
    table = torch.tensor([[[0, 3], [3, 0]]], dtype=torch.uint8)
    graphs = GraphBatch(torch.tensor([[[0, 1], [1, 0]]], dtype=torch.uint8), torch.tensor([2]), edge_features=table)
    own = graphs[0].edge_features
    assert isinstance(graphs[0], Graph) and own is not None and own.dtype == np.int64 and own[0, 1] == 3
