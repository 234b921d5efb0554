"""Verify: good results pass, and each kind of damage is found and said, also where every checksum was made anew."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks import cli, verify
from benchmarks.registry import methods
from benchmarks.results.artefacts import Artefacts, sha256_of
from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE
from benchmarks.results.ledger import Store, Stored, compact, compact_names, ledger_table, row_of, write_compact
from benchmarks.results.provenance import provenance
from benchmarks.running.experiment import run_cells
from benchmarks.running.options import Table1Options
from benchmarks.table1 import plan
from rsgg.errors import DataError
from tests.benchmarks.conftest import ROWS
from tests.standins import DRAWS, cells


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Six cells of a stand-in that is a row of the registry."""
    monkeypatch.setattr(methods, "METHODS", [*methods.METHODS, DRAWS])
    run_cells(cells((DRAWS,), seeds=(0, 1), k=2), Store(tmp_path))
    return tmp_path


@pytest.fixture
def reference(published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small reference that may be damaged."""
    copy = tmp_path / "reference"
    shutil.copytree(published, copy)
    monkeypatch.setattr(verify, "REFERENCE", copy)
    monkeypatch.setattr(cli, "REFERENCE", copy)
    return copy


def said(*folders: Path, derive: int = 0, sample: int = 0, tables: bool = True) -> tuple[bool, str]:
    found = verify.verify(folders, derive=derive, sample=sample, tables=tables)
    return found.wrong, "\n".join(found.sentences)


# -- Nothing wrong --------------------------------------------------------------------------------------------


def test_good_results_pass(results: Path) -> None:
    wrong, text = said(results, results / "empty", derive=10, sample=2)
    assert not wrong, text
    assert f"{results}: 6 cells, all checksums match." in text
    assert "rows of 6 sampled cells derived again, all agree" in text
    assert f"{results}: 2 of 2 sampled cells were computed again and are equal." in text
    assert f"{results / 'empty'} holds no cells." in text


def test_how_many_cells_are_computed_again_is_said_first(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More cannot be computed than are stored, and a run that is interrupted ends."""
    heard: list[str] = []

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(verify, "run_cell", interrupted)
    monkeypatch.setattr(Stored, "duration", property(lambda _: 600.0))
    with pytest.raises(KeyboardInterrupt):
        verify.verify([results], derive=10**9, sample=10**9, say=heard.append)
    assert heard[1] == (
        f"{results}: 6 cells, all that this version can compute (1000000000 were asked for), will be computed again, "
        "in about 1 h 0 min; Ctrl-C ends it at any time."
    )
    assert f"{results}: deriving the metrics of 6 cells from their edits." in heard


def test_a_good_reference_passes(reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nowhere = str(reference / "none")
    assert cli.main(["verify", "--out", nowhere, "--derive", "3", "--sample", "1"]) == 0
    out = capsys.readouterr().out
    assert "files match the manifest." in out
    made = [path for path in reference.rglob("*") if path.suffix in (".csv", ".md", ".tex") and path.stem != "runtime"]
    assert f"{len(made)} tables follow from the ledgers." in out
    assert "checksum only, as no ledger gives them: runtime.csv." in out
    assert "150 rows of 3 sampled cells derived again, all agree" in out
    assert "comes out as stored." in out and "1 of 1 sampled cells were computed again and are equal." in out


def test_tables_that_need_absent_graphs_are_not_called_wrong(
    reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(*_: object) -> None:
        raise DataError("The files are not here; name a folder.")

    monkeypatch.setattr(verify, "check_data", absent)
    wrong, text = said(reference)
    assert f"{reference}: its tables were not made again. The files are not here; name a folder." in text
    assert not wrong and "follow from the ledgers" not in text


@pytest.mark.asd
def test_every_cell_and_file_of_the_committed_reference_is_whole() -> None:
    """Three cells are derived and one is computed again. That its tables follow is what `verify` says by itself."""
    wrong, text = said(REFERENCE, derive=3, sample=1, tables=False)
    assert not wrong, text
    assert "cells, all checksums match." in text and "files match the manifest." in text


@pytest.mark.long
@pytest.mark.asd
def test_the_tables_of_the_committed_reference_follow_from_its_ledgers() -> None:
    """As continuous integration sees by `./reproduce.sh verify`."""
    wrong, text = said(REFERENCE)
    assert not wrong, text
    (names,) = (line.partition(" them: ")[2] for line in text.splitlines() if "checksum only" in line)
    again = {"ablation_n_instances.csv", "claims.csv", "convergence.csv", "findings.csv", "table1.csv", "verdicts.csv"}
    assert names and not again & set(names.removesuffix(".").split(", ")), "made again from the ledgers"


# -- Files ----------------------------------------------------------------------------------------------------


def change(path: Path, old: str, new: str, to: str = "") -> None:
    """Change some text of a file, or of a copy of it."""
    text = path.read_text()
    assert old in text
    (path.parent / (to or path.name)).write_text(text.replace(old, new, 1))


def listed(folder: Path, *names: str) -> None:
    """As someone would who changes a file and its checksum."""
    with Artefacts(folder, "table1") as files:
        for name in names:
            files.add(name)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 16
    path.write_bytes(bytes(content))


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a changed number": (
        lambda folder: change(folder / "table1.csv", "tree-cycles,empty,control,ged", "tree-cycles,empty,control,gde"),
        "table1.csv is missing or differs from the manifest.",
    ),
    "a changed copied file": (
        lambda folder: change(folder / "runtime.csv", "vary", "varied"),
        "runtime.csv is missing or differs from the manifest.",
    ),
    "a missing file": (lambda folder: (folder / "claims.md").unlink(), "claims.md is missing or differs from the mani"),
    "an unlisted file": (lambda folder: change(folder / "table1.csv", "", "", to="x.csv"), "x.csv is not in the man"),
    "an unlisted file below": (
        lambda folder: change(folder / "table1.csv", "", "", to="ledger/x.csv"),
        "ledger/x.csv is not in the manifest.",
    ),
    "a changed byte of a ledger": (
        lambda folder: flip(folder / "ledger" / "empty.control.parquet"),
        "empty.control.parquet",
    ),
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "table1.csv is not in the manifest."),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_files_are_found(kind: str, reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damage, sentence = DAMAGE[kind]
    damage(reference)
    monkeypatch.setattr(verify, "_check_tables", lambda *_: None)  # checksums alone have to tell
    wrong, text = said(reference)
    assert wrong and sentence in text, text


def test_other_folders_may_hold_files_of_their_own(results: Path) -> None:
    listed(results)
    (results / "notes.txt").write_text("mine")
    assert not said(results)[0]


def test_damage_ends_with_1(results: Path, reference: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (results / "table1.csv").write_text("made up")
    (results / "manifest.json").write_text(json.dumps({"files": {"table1.csv": {"sha256": "0"}}}))
    damaged = Store(results).path(cells(seeds=(1,), k=2)[0])
    damaged.write_bytes(damaged.read_bytes()[:-200])
    assert cli.main(["verify", "--out", str(results), "--derive", "0"]) == 1
    out = capsys.readouterr().out
    assert "is cut short or damaged" in out and "table1.csv is missing or differs from the manifest" in out
    assert "5 cells are whole, 1 are not" in out


def test_a_manifest_that_is_none_is_a_finding(results: Path) -> None:
    (results / "manifest.json").write_text("[1")
    wrong, text = said(results)
    assert wrong and "manifest.json cannot be read" in text


# -- Tables ---------------------------------------------------------------------------------------------------


def test_tables_that_do_not_follow_from_the_ledgers_are_found(reference: Path) -> None:
    """Their checksums were made anew: only making them again can tell. One that nothing makes any more is named."""
    changed = {"table1.csv": "0.", "claims.md": "not measured", "table1.tex": "RSGG"}
    change(reference / "table1.csv", "", "", to="left_over.csv")
    for name, old in changed.items():
        change(reference / name, old, "9.")
    listed(reference, *changed, "left_over.csv")
    wrong, text = said(reference)
    found = {line.partition(" does not follow")[0] for line in text.splitlines() if "does not follow" in line}
    assert wrong and found == {str(reference / name) for name in changed}
    assert text.count("does not follow from the ledgers; publish it again.") == len(changed)
    assert "tables follow from the ledgers" not in text and "differs from the manifest" not in text
    assert "checksum only, as no ledger gives them: left_over.csv, runtime.csv." in text


@pytest.mark.parametrize("how", ["other tables", "nothing said"])
def test_a_figure_that_was_drawn_from_other_tables_is_found(
    reference: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawn before the table was changed and published without the figure; or without a word on what it shows."""
    monkeypatch.setattr(verify, "_make_again", lambda *_: None)  # the tables are in order, and take seconds
    entries = reference / "figures" / "figures.json"
    if how == "other tables":
        change(entries, sha256_of(reference / "table1.csv"), "0" * 64)
    else:
        entries.write_text("[]")
    listed(reference, "figures/figures.json")
    wrong, text = said(reference)
    assert wrong and "tradeoff was drawn from other tables than those beside it" in text


def test_a_ledger_that_does_not_lead_to_the_tables_is_found(reference: Path, tmp_path: Path) -> None:
    """One cell with twice the GED, whole in itself and listed in the manifest."""
    row = [cell for cell in plan(ROWS) if cell.method.name == "empty"]
    stored = [found for found in map(Store(reference).read, row) if found is not None]
    doubled = ledger_table(stored[0].ledger.assign(ged=2 * stored[0].ledger["ged"]))
    made_up = Store(tmp_path / "other").write(row[0], doubled, duration=1.0)
    name = f"ledger/{compact_names(*row_of(row[0].definition))[-1]}"
    write_compact(reference / name, [made_up, *stored[1:]])
    listed(reference, name)
    wrong, text = said(reference)
    assert wrong and "table1.csv does not follow from the ledgers" in text
    assert "20 cells, all checksums match" in text and "differs from the manifest" not in text


# -- Cells ----------------------------------------------------------------------------------------------------


def rewritten(results: Path, cell: Cell, column: str, change: Callable[[pd.DataFrame], object]) -> None:
    """A made-up number under a checksum of its own."""
    store = Store(results)
    stored = store.read(cell)
    assert stored is not None
    ledger = stored.ledger
    flips = ledger.index[ledger["predicted"] != ledger["predicted_cf"]]
    row = flips[0] if column == "optimum" else 0
    ledger.loc[row, column] = change(ledger.loc[[row]])
    store.write(cell, ledger_table(ledger), stored.history, duration=1.0)


def other_class(column: str) -> Callable[[pd.DataFrame], object]:
    return lambda rows: 1 - rows[column].iloc[0]


def one_more(column: str) -> Callable[[pd.DataFrame], object]:
    return lambda rows: rows[column].iloc[0] + 1


CELL = cells((DRAWS,), seeds=(0,), k=2)[0]


def training_graph(_: pd.DataFrame) -> int:
    return int(CELL.task.load().folds(CELL.folds, CELL.seed)[CELL.fold].train[0])


MADE_UP: dict[str, Callable[[pd.DataFrame], object]] = {
    "instance": training_graph,
    "optimum": lambda _: 99.0,
    **{column: other_class(column) for column in ("label", "predicted", "predicted_cf")},
    **{column: one_more(column) for column in ("n_nodes", "n_edges", "ged", "test_size")},
}


@pytest.mark.parametrize("column", MADE_UP)
def test_numbers_that_do_not_follow_from_the_edits_are_found(results: Path, column: str) -> None:
    rewritten(results, CELL, column, MADE_UP[column])
    wrong, text = said(results, derive=10)
    assert wrong and f": {column} in 1 rows of tree-cycles, draws, fold 0 does not follow from the edits." in text


def test_a_cell_that_comes_out_otherwise_is_found(results: Path) -> None:
    """Oracle calls do not follow from the edits: only computing the cell again can tell."""
    rewritten(results, CELL, "calls", one_more("calls"))
    assert not said(results, derive=10)[0]
    wrong, text = said(results, sample=6)
    assert wrong and "tree-cycles, draws:control, fold 0 comes out otherwise than stored." in text
    assert "5 of 6 sampled cells were computed again and are equal." in text


def test_cells_without_edits_are_computed_again_too(results: Path, tmp_path: Path) -> None:
    """None of their numbers can be derived; that one was made up is seen by computing its cell again."""
    rewritten(results, CELL, "ged", one_more("ged"))
    keys = [cell.key for cell in cells((DRAWS,), seeds=(0, 1), k=2)]
    assert keys[0] == CELL.key
    compact(Store(results), tmp_path / "reference", numbers=keys[:4])
    wrong, text = said(tmp_path / "reference", derive=10)
    assert not wrong and "rows of 2 sampled cells derived again, all agree" in text
    wrong, text = said(tmp_path / "reference", sample=6)
    assert wrong and "5 of 6 sampled cells were computed again and are equal." in text


def test_another_processor_may_end_sums_in_other_bits(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the difference is said, and it is no fault."""
    rewritten(results, CELL, "calls", one_more("calls"))
    here = provenance()
    monkeypatch.setattr("benchmarks.verify.provenance", lambda: {**here, "machine": {"cpu": "another"}})
    wrong, text = said(results, sample=6)
    assert not wrong and "comes out otherwise than stored; it was computed on another processor" in text
    assert "5 of 6 sampled cells were computed again and are equal." in text


def test_times_may_differ(results: Path) -> None:
    rewritten(results, CELL, "seconds", one_more("seconds"))
    assert not said(results, derive=10, sample=6)[0]


def test_what_this_version_does_not_know_is_said_and_not_wrong(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "METHODS", [method for method in methods.METHODS if method.name != "draws"])
    wrong, text = said(results, derive=2, sample=1)
    assert not wrong and "not computed again: draws:control is no row of this version (6 cells)." in text
    assert "all agree" in text, "its edits are there, whoever made them"
    definition = {**CELL.definition, "method": {"name": "cf2", "variant": "released", "revision": 99}}
    with pytest.raises(DataError, match="other options or an older revision"):
        verify.cell_of(definition)


def test_cells_of_a_strangers_method_are_left_out_with_a_sentence(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And others are sampled in their place."""
    own = replace(DRAWS, name="mine", variant=methods.OWN)
    run_cells(cells((own,), seeds=(0, 1), k=2), Store(results))
    wrong, text = said(results, sample=6)
    assert not wrong and "6 of 6 sampled cells were computed again and are equal." in text
    assert text.count("not computed again: mine:own is no row of this version (one from outside the project is") == 1
    monkeypatch.setattr(methods, "METHODS", [method for method in methods.METHODS if method.name != "draws"])
    wrong, text = said(results, sample=6)
    assert not wrong and text.endswith("no cell can be computed again by this version.")
    assert "with --fresh) (6 cells)." in text and "draws:control is no row of this version (6 cells)." in text


def test_a_definition_is_the_cell_that_it_came_from() -> None:
    varied = Table1Options(methods=["rsgg-ce,meg:released"], seeds=["0,3"])
    for cell in plan(varied):
        assert verify.cell_of(cell.definition) == cell
