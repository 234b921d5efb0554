"""The report: what is packed for the explorer is what the ledger says; the page says what is there and what is not."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
import shutil
import struct
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from PIL import Image

from benchmarks.registry import methods
from benchmarks.results.files import REFERENCE
from benchmarks.results.graphs import graphs_of
from benchmarks.results.graphs import read as lines_of
from benchmarks.results.reader import Results
from figures import layout, report
from figures.report import explorer, page
from figures.tables.statements import claims_in_short, headline
from rsgg.errors import UsageError
from tests import molecules


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of real data with its graphs, and nothing else."""
    pytest.importorskip("rdkit")
    return molecules.write(tmp_path_factory.mktemp("real"))


# -- The explorer's data -----------------------------------------------------------------------------------------------


class Reader:
    """Reads what `explorer.pack` writes, from its description alone."""

    def __init__(self, packed: bytes) -> None:
        (length,) = struct.unpack("<I", packed[:4])
        self.header = json.loads(packed[4 : 4 + length])
        self.packed, self.at = packed, 4 + length
        n = self.header["n"]
        self.pairs = [(u, v) for u in range(n) for v in range(u, n)]

    def take(self, count: int) -> bytes:
        self.at += count
        return self.packed[self.at - count : self.at]

    def number(self) -> int:
        value = shift = 0
        while True:
            (byte,) = self.take(1)
            value += (byte % 128) << shift
            shift += 7
            if byte < 128:
                return value

    def list(self) -> list[tuple[int, int]]:
        return [self.pairs[self.number()] for _ in range(self.number())]

    def sorted(self) -> set[tuple[int, int]]:
        numbers = np.cumsum([self.number() for _ in range(self.number())], dtype=int)
        return {self.pairs[i] for i in numbers}


def decoded(codes: object, n: int) -> set[tuple[int, int]]:
    return {divmod(int(code), n) for code in np.asarray(codes)}


def ledgers(n: int = 30) -> explorer.Ledgers:
    """Two random graphs; a row that answers both, with few edits and with many, and one that answers one of them."""
    rng = np.random.default_rng(0)
    inputs, codes = {}, np.array([u * n + v for u in range(n) for v in range(u, n)])
    for instance in (7, 3):
        upper = np.triu(rng.random((n, n)) < 0.1, 1).astype(np.uint8)
        inputs[instance] = upper + upper.T
    about = pd.DataFrame({"fold": [0, 1], "label": [1, 0], "predicted": [0, 1], "optimum": [1.0, np.nan]}, index=[7, 3])
    answers = pd.DataFrame(
        {
            "found": [True, True], "predicted_cf": [1, 0], "ged": [1.5, 200.0], "calls": [3, 4], "fit_calls": [10, 10],
            "seconds": [0.25, 0.001], "reason": ["", ""], "edits": [np.array([0, 5]), rng.choice(codes, 400, False)],
        },
        index=[7, 3],
    )  # fmt: skip
    failed = answers.loc[[7]].assign(found=False, predicted_cf=0, reason="nothing flips", edits=[np.array([])])
    rows = {("rsgg-ce", "faithful"): answers, ("cf2", "released"): failed}
    trace = {"method": "rsgg-ce", "variant": "faithful", "instance": 7, "calls": 3, "found": True,
             "scores": np.arange(n * (n - 1) // 2) % 256, "removed": [2 * n + 5], "checked": [5, 1]}  # fmt: skip
    return explorer.Ledgers("tree-cycles", inputs, about, rows, ("MEG",), [trace])


def test_what_is_packed_is_what_was_given() -> None:
    given = ledgers()
    reader = Reader(gzip.decompress(base64.b64decode(explorer.embedded(explorer.pack(given)))))
    header, n = reader.header, given.n_nodes
    assert header["instances"] == [7, 3] and header["fold"] == [0, 1] and header["optimum"] == [1.0, -1]
    assert header["truth"] == [1, 0] and header["predicted"] == [0, 1] and header["missing"] == ["MEG"]
    layouts = np.frombuffer(reader.take(2 * 2 * n), dtype=np.uint8).reshape(2, n, 2)
    assert layouts.max() == explorer.SIDE and layouts.min() == 0
    for instance in (7, 3):
        assert reader.sorted() == set(
            zip(*(x.tolist() for x in np.nonzero(np.triu(given.inputs[instance]))), strict=True)
        )
    for (method, variant), row in given.rows.items():
        about = next(one for one in header["rows"] if (one["method"], one["variant"]) == (method, variant))
        for i, instance in enumerate((7, 3)):
            stored = instance in row.index
            assert reader.sorted() == (decoded(row.at[instance, "edits"], n) if stored else set())
            assert about["predicted_cf"][i] == (row.at[instance, "predicted_cf"] if stored else -1)
    assert about["reasons"][about["reason"][0]] == "nothing flips" and about["found"] == [0, 0]
    assert reader.take(n * (n - 1) // 2) == bytes(i % 256 for i in range(n * (n - 1) // 2))
    assert reader.sorted() == {(2, 5)} and reader.list() == [(0, 5), (0, 1)]
    assert reader.at == len(reader.packed)


def test_the_reference_is_packed_as_its_files_say() -> None:
    """ASD, read around the store: the rows of replicate 0 straight from the Parquet files."""
    stored = explorer.read(Results((REFERENCE,)), "asd")
    assert stored is not None
    reader = Reader(explorer.pack(stored))
    n, instances = reader.header["n"], reader.header["instances"]
    assert reader.header["one_layout"] and len(instances) == 101
    layout = np.frombuffer(reader.take(2 * n), dtype=np.uint8).reshape(n, 2)
    assert len(np.unique(layout, axis=0)) == n, "no two regions are drawn in the same place"

    def edits(method: str, variant: str) -> dict[int, set[tuple[int, int]]]:
        rows = pq.read_table(REFERENCE / "ledger" / f"asd.{method}.{variant}.parquet").to_pandas()
        rows = rows[rows["seed"] == 0]
        return {i: decoded(codes, n) for i, codes in zip(rows["instance"], rows["edits"], strict=True)}

    graphs = edits("empty", "control")
    assert [reader.sorted() for _ in instances] == [graphs[i] for i in instances]
    for row in reader.header["rows"]:
        expected = edits(row["method"], row["variant"])
        assert [reader.sorted() for _ in instances] == [expected.get(i, set()) for i in instances], row["label"]
    assert {"complete", "identity", "cf2-min"}.isdisjoint({row["method"] for row in reader.header["rows"]})


def test_a_trace_of_another_run_is_left_out() -> None:
    given = ledgers()
    n, edges = given.n_nodes, np.flatnonzero(np.triu(given.inputs[7]).ravel())
    lost, added = int(edges[0]), int(np.flatnonzero(np.triu(1 - given.inputs[7], 1).ravel())[0])
    given.rows["rsgg-ce", "faithful"].at[7, "edits"] = np.array([lost, added])
    trace = {"method": "rsgg-ce", "variant": "faithful", "instance": 7, "found": True}
    same = {**trace, "removed": [lost, int(edges[1])], "checked": [int(edges[1]), added]}  # one edge came back
    assert explorer._agrees(same, given.inputs, given.rows)
    assert not explorer._agrees({**same, "checked": [added]}, given.inputs, given.rows)
    assert not explorer._agrees({**same, "found": False}, given.inputs, given.rows)
    assert not explorer._agrees({**same, "instance": 8}, given.inputs, given.rows)
    assert n * n > added


def test_a_labelled_task_is_packed_as_it_is_stored(real: Path) -> None:
    """Labels, bonds and edits of nodes come out of the page's data as they went into the ledger."""
    results = Results((real,))
    stored = explorer.read(results, molecules.TASK.name)
    assert stored is not None
    reader = Reader(gzip.decompress(base64.b64decode(explorer.embedded(explorer.pack(stored)))))
    header, instances = reader.header, reader.header["instances"]
    assert instances == list(molecules.SMILES) and header["real"] and header["atoms"] and header["note"] == ""
    assert header["labels"] == list(molecules.SYMBOLS) and len(header["colours"]) == len(header["labels"])
    given = {instance: molecules.molecule(instance) for instance in instances}
    assert header["node_labels"] == [list(given[i].labels) for i in instances]
    signs = {"single": "1", "double": "2", "triple": "3", "aromatic": "4"}
    assert header["bonds"] == ["".join(signs[bond] for bond in given[i].bonds) for i in instances]
    layouts = np.frombuffer(reader.take(2 * 4 * header["n"]), dtype=np.uint8).reshape(4, -1, 2).astype(float)
    for place, instance in zip(layouts, instances, strict=True):
        where = layout.places(given[instance]) * (1, -1)
        apart = [np.linalg.norm(points[:, None] - points, axis=-1) for points in (place[: len(where)], where)]
        assert apart[0] / apart[0].max() == pytest.approx(apart[1] / apart[1].max(), abs=0.02)
    assert [reader.sorted() for _ in instances] == [set(given[i].edges) for i in instances]
    rows = {(row["method"], row["variant"]): row for row in header["rows"]}
    assert list(rows) == list(stored.rows), "in the order in which edits follow"
    for (method, variant), row in rows.items():
        answers = [molecules.answer((method, variant), i) for i in instances]
        assert [reader.sorted() for _ in instances] == [decoded(a["edits"], a["n_nodes"]) for a in answers]
        assert row["predicted_cf"] == [a["predicted_cf"] for a in answers] and row["ged"] == [a["ged"] for a in answers]
    assert reader.at == len(reader.packed)
    nodes = rows["rsgg-ce-nodes", "beyond"]
    assert nodes["node_edits"] == [[[[0, 1]], [], []], [[], [[5, 5]], [0]], [[], [], []], [[], [[0, 2]], []]]
    assert nodes["plausibility"] == [0.04, 0.09, -1, 0.3] and "sanitised" not in nodes
    assert "node_edits" not in rows["obs", "search"] and rows["obs", "search"]["feasible"] == [1, 1, 1, 1]
    assert ("identity", "control") not in rows and header["first"][:3] == list(explorer.REAL_FIRST[:3])


def test_of_many_graphs_the_first_of_each_fold_are_shown(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explorer, "MOST_GRAPHS", 3)
    stored = explorer.read(Results((real,)), molecules.TASK.name)
    assert stored is not None and list(stored.about.index) == [4, 17]
    assert stored.note == "2 of 4 test graphs: the first 1 of each fold."
    packed = {row["method"]: row for row in Reader(explorer.pack(stored)).header["rows"]}
    assert packed["obs"]["ged"] == [2.0, 2.0] and packed["rsgg-ce-nodes"]["found"] == [1, 0]


def test_without_rdkit_the_explorer_says_so(real: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rdkit", None)
    graphs = list(graphs_of(lines_of(real)))
    stored = explorer._of_real_data(Results((real,)), molecules.TASK.name, graphs)
    assert layout.NO_RDKIT in stored.note
    assert explorer.layouts(stored).shape == (4, 8, 2)


# -- The page ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some rows of Table 1, three verdicts, a finding that is no friend of HTML, and nothing else."""
    folder = tmp_path_factory.mktemp("results")
    table = pd.read_csv(REFERENCE / "table1.csv")
    table[(table["method"] == "rsgg-ce") & (table["dataset"] == "tree-cycles")].to_csv(
        folder / "table1.csv", index=False
    )
    verdicts = pd.read_csv(REFERENCE / "verdicts.csv").iloc[:3].assign(verdict=["reproduced", "reproduced", "differs"])
    verdicts = verdicts.assign(
        metric="ged", kind=["independent", "derived", "independent"], can_fail=["yes", "no", "yes"]
    )
    verdicts.to_csv(folder / "verdicts.csv", index=False)
    finding = {"number": 1, "finding": "<script>alert(1)</script>", "paper": "", "artefacts": "", "measured": "a & b"}
    pd.DataFrame([{**finding, "verdict": "confirmed", "command": "true"}]).to_csv(folder / "findings.csv", index=False)
    return folder


def test_the_page_says_what_is_there_and_what_is_not(little: Path) -> None:
    built = report.build(Results((little,)))
    text = " ".join(re.sub(r"<[^>]+>", "", built).split())
    assert "Of the 3 numbers that Table 1 prints, 2 are independent" in text and "1 of these 2 are reproduced" in text
    assert all(said in text for said in headline(pd.read_csv(little / "verdicts.csv")))
    assert "Findings of a close reading: confirmed 1." in text and "a &amp; b" in text
    assert "1 of 2 printed numbers that could have failed came out again" in text
    assert built.count(' weighs" data-tip') == 2, "as many cells are filled as numbers are informative"
    story = built.partition('<ol class="story">')[2].partition("</ol>")[0]
    assert "&lt;script&gt;alert(1)" in story and "<script>" not in story, "finding 1 is one of the three"
    assert "The graphs of ASD are not stored" in text and "No claims are stored; ./reproduce.sh claims" in text
    assert "not searched yet" in text and "No manifest is stored" in text and "Not drawn yet: " in text
    table = pd.read_csv(little / "table1.csv").set_index(["variant", "metric"])
    numbers = [  # what was published is judged over all its replicates; other rows show those that all rows share
        f"{table.loc[(variant, 'correctness'), column]:.2f} / {table.loc[(variant, 'ged'), column]:.3g}"
        for variant, column in (("released", "judged"), ("faithful", "mean"))
    ]
    assert f"printed 0.885 / 11.000; as released {numbers[0]}; " in text
    assert f"by score function (ours) {numbers[1]}." in text
    pd.read_csv(REFERENCE / "claims.csv").to_csv(little / "claims.csv", index=False)
    assert claims_in_short(Results((little,))) in html.unescape(report.build(Results((little,))))
    (little / "claims.csv").unlink()


def test_real_data_are_in_the_page_with_and_without_table_1(little: Path, real: Path, tmp_path: Path) -> None:
    """Beside Table 1 and on their own; without them the page says how to get them."""
    assert "No table of real data is stored; <code>./reproduce.sh table2</code>" in report.build(Results((little,)))
    alone = report.build(Results((real,)))
    assert "No Table 1 is stored" in alone and "No table of real data" not in alone
    beside = report.build(Results((little,), beside=real))
    for built in (alone, beside):
        assert f'id="data-{molecules.TASK.name}" data-label="MUTAG, GIN"' in built
        assert 'id="sheet-table2-plausibility"' in built and 'id="sheet-leaderboard"' in built
        assert "Controls, not ranked" in built and "adversarial" in built
    assert 'id="table-tree-cycles"' in beside
    for name in ("table2.csv", "table2_kinds.csv", "leaderboard.csv"):
        shutil.copy(real / name, tmp_path)
    without = report.build(Results((tmp_path,)))
    assert "The graphs of MUTAG, GIN are not stored; <code>./reproduce.sh table2</code> computes them." in without


def test_what_counterfactuals_withstand_is_in_the_page_beside_real_data_and_alone(real: Path, tmp_path: Path) -> None:
    assert 'id="robustness"' not in report.build(Results((real,)))
    line = {"task": "mutag-gin", "method": "obs", "variant": "search", "ci_low": 0.1, "ci_high": 0.9, "n": 6}
    measured = {"correctness": 1.0, "robust_seed": 0.837, "told_frozen": 1.0}
    lines = pd.DataFrame([{**line, "metric": metric, "mean": mean} for metric, mean in measured.items()])
    lines.to_csv(tmp_path / "robustness.csv", index=False)
    for folders in ((tmp_path,), (real, tmp_path)):
        built = report.build(Results(folders))
        assert 'id="sheet-robustness-mutag-gin"' in built and "0.837" in built
        assert ("No table of real data is stored" in built) == (len(folders) == 1)


def test_figures_of_ones_own_come_before_those_of_the_reference(tmp_path: Path) -> None:
    """One folder has drawn a figure of its own and one that the other has too: a picture of another size each."""
    entry = {"caption": "c", "command": "python figures/x.py", "sources": [], "missing": [], "paper": False}
    for folder, names, size in (("mine", ("tradeoff", "pareto"), 7), ("theirs", ("tradeoff", "budget"), 9)):
        (tmp_path / folder / "figures").mkdir(parents=True)
        for name in names:
            Image.new("RGB", (size, size)).save(tmp_path / folder / "figures" / f"{name}.png")
        entries = [{**entry, "name": name} for name in names]
        (tmp_path / folder / "figures" / "figures.json").write_text(json.dumps(entries))
    beside = Results((tmp_path / "theirs",), beside=tmp_path / "mine")
    drawn = {one["name"]: one["picture"]["width"] for one in page._figures(beside)["drawn"]}
    assert drawn == {"tradeoff": 7, "pareto": 7, "budget": 9}


def test_the_explorer_has_a_group_for_every_variant_and_calls_none_what_it_is_not() -> None:
    source = (page.PARTS / "explorer.js").read_text(encoding="utf-8")
    groups = {
        title: re.findall(r'"(\w+)"', names) for title, names in re.findall(r'\["([^"]+)", \[([^\]]+)\]\]', source)
    }
    assert {name for names in groups.values() for name in names} == {*methods.VARIANTS} - {methods.OWN}
    assert groups["As each paper defines it, RSGG-CE by score function"] == ["faithful"]


def test_variants_are_shown_in_words(little: Path) -> None:
    built = report.build(Results((little,)))
    shown = set(re.findall(r'<td class="variant">([^<]+)</td>', built))
    assert {"printed", "as released", "to the letter", "by score function"} <= shown and "faithful" not in shown
    assert "as its paper defines it / by score function</button>" in built


def test_the_page_loads_nothing_and_trusts_no_text(little: Path) -> None:
    built = report.build(Results((little,)))
    assert "<script>alert(1)" not in built and "&lt;script&gt;alert(1)" in built
    addresses = re.findall(r"(?:src|href)=[\"']?([^\"'\s>]+)", built)
    assert addresses and all(address.startswith(("#", "data:")) for address in addresses)
    assert "default-src 'none'" in built
    for part in page.PARTS.glob("*.js"):
        assert "</script" not in part.read_text(encoding="utf-8")


def test_figures_stand_with_their_caption_command_and_gaps(little: Path, tmp_path: Path) -> None:
    from PIL import Image

    folder = tmp_path / "results"
    (folder / "figures").mkdir(parents=True)
    (folder / "table1.csv").write_bytes((little / "table1.csv").read_bytes())
    Image.new("RGB", (40, 30), (200, 10, 10)).save(folder / "figures" / "budget.png")
    about = {"caption": "A red picture.", "paper": "Figure 9", "command": "python figures/budget.py",
             "sources": ["a/b.csv", "a/c.parquet", "a/d.parquet"], "missing": ["MEG was not run."]}  # fmt: skip
    entries = [{"name": "budget", **about}, {"name": "gone", **about}]
    (folder / "figures" / "figures.json").write_text(json.dumps(entries))
    built = report.build(Results((folder,)))
    assert built.count("<figure ") == 1 and 'width="40" height="30"' in built
    assert "Figure 9." in built and "A red picture." in built and "Missing: MEG was not run." in built
    assert "a/b.csv, a (2 files)" in built
    assert "No verdicts are stored" in built
    assert not re.search(r"Not drawn yet: [^<]*budget", built)


def test_one_file_is_written_or_a_sentence_says_what_is_missing(little: Path, tmp_path: Path) -> None:
    said = report.run(little, tmp_path / "out", False)
    assert "one file that opens in any browser." in said
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["index.html"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match=r"holds no table1.csv; \./reproduce.sh table1 computes it"):
        report.run(tmp_path / "empty", None, False)
    with pytest.raises(UsageError, match="no folder of results"):
        report.run(tmp_path / "nowhere", None, False)


# -- What the project did not come with --------------------------------------------------------------------------------


def test_graphs_of_several_sizes_and_unknown_rows_are_packed() -> None:
    """A user's data set: graphs of 3 and 5 nodes, a row and a data set that the registry does not know."""
    triangle, path = 1 - np.eye(3, dtype=np.uint8), np.diag(np.ones(4, dtype=np.uint8), 1)
    inputs = {0: triangle.astype(np.uint8), 1: path + path.T}
    about = pd.DataFrame({"fold": [0, 0], "label": [0, 2], "predicted": [0, 2], "optimum": [1.0, 1.0]}, index=[0, 1])
    answers = pd.DataFrame(
        {"found": [True, True], "predicted_cf": [1, 0], "ged": [1.0, 1.0], "calls": [2, 2], "fit_calls": [0, 0],
         "seconds": [0.1, 0.1], "reason": ["", ""], "edits": [np.array([5]), np.array([9])]}, index=[0, 1],
    )  # fmt: skip
    trace = {"method": "mine", "variant": "own", "instance": 0, "calls": 2, "found": True, "scores": [7, 8, 9],
             "removed": [5], "checked": []}  # fmt: skip
    given = explorer.Ledgers("my-data", inputs, about, {("mine", "own"): answers}, (), [trace])
    reader = Reader(explorer.pack(given))
    assert reader.header["nodes"] == [3, 5] and reader.header["n"] == 5 and not reader.header["one_layout"]
    assert reader.header["classes"] == ["class 0", "class 1", "class 2"]
    assert reader.header["rows"][0]["label"] == "mine (own)"
    reader.take(2 * 2 * 5)
    assert reader.sorted() == {(0, 1), (0, 2), (1, 2)} and reader.sorted() == {(0, 1), (1, 2), (2, 3), (3, 4)}
    assert reader.sorted() == {(1, 2)} and reader.sorted() == {(1, 4)}, "5 = 1·3 + 2, 9 = 1·5 + 4"
    scores = dict(zip([pair for pair in reader.pairs if pair[0] != pair[1]], reader.take(10), strict=True))
    assert scores[0, 1] == 7 and scores[0, 2] == 8 and scores[1, 2] == 9 and sum(scores.values()) == 24
    assert reader.sorted() == {(1, 2)} and reader.list() == [] and reader.at == len(reader.packed)


def test_rows_and_data_sets_of_users_are_in_the_page(little: Path, tmp_path: Path) -> None:
    """Beside the reference too: their rows are added to its tables."""
    table = pd.read_csv(little / "table1.csv")
    mine = table[table["variant"] == "faithful"].assign(method="mine", variant="own", paper="", verdict="", reason="")
    both = pd.concat([mine, mine.assign(dataset="my-data")])
    both.to_csv(tmp_path / "table1.csv", index=False)
    results = Results((little,), beside=tmp_path)
    built = report.build(results)
    assert 'id="table-my-data"' in built and built.count('data-method="mine" data-variant="own"') == 4
    assert '<button type="button" aria-pressed="true" data-variant="own">' in built
    assert explorer.datasets(results) == ["tree-cycles", "asd", "my-data"]
    assert ("mine", "own") in explorer.rows_of(results, "my-data") and "mine:own" in explorer.shown_first(
        results, "my-data"
    )
    assert ("meg", "released") not in explorer.rows_of(results, "asd"), "it is not defined there"


def test_a_method_that_is_defined_on_one_data_set_only_is_in_the_page(little: Path, tmp_path: Path) -> None:
    """Neither of the paper's data sets, or one of them."""
    table = pd.read_csv(little / "table1.csv")
    mine = table[table["variant"] == "faithful"].assign(method="mine", variant="own", paper="", verdict="", reason="")
    for where in ("my-data", "asd", "tree-cycles"):
        mine.assign(dataset=where).to_csv(tmp_path / "table1.csv", index=False)
        for results in (Results((tmp_path,)), Results((little,), beside=tmp_path)):
            built = report.build(results)
            assert f'id="table-{where}"' in built and 'data-method="mine" data-variant="own"' in built


def test_settings_are_what_the_registry_declares() -> None:
    sheet = page.settings(["tree-cycles", "asd"])
    rows = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in sheet.rows}
    assert rows["CF²", "strength"] == ["20", "–"] and rows["RSGG-CE, by score function", "identities"] == ["–", "yes"]
    assert rows["RSGG-CE, by score function, λ > 0", "minimality"] == ["0.005", "0.001"]
