"""The command line: bad input is one sentence and exit code 2; help has examples; quick things stay quick."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

from benchmarks import cli, verify
from benchmarks.catalogue import DATASETS, Method
from benchmarks.cell import Cell, cells_for
from benchmarks.options import RunOptions, names, numbers
from benchmarks.runner import run_cells
from benchmarks.store import Store, ledger_table
from rsgg.data import TreeCycles
from rsgg.errors import UsageError
from tests.standins import Draws, cells

ROOT = Path(__file__).parent.parent

BAD = {
    "tabel1": "No such command 'tabel1'; did you mean 'table1'?",
    "--nope": "No such option: --nope; see ./reproduce.sh --help.",
    "table1 extra": "Got unexpected extra argument(s) (extra); see ./reproduce.sh table1 --help.",
    "table1 --jbos 2": "--jobs",
    "table1 --jobs": "Option '--jobs' requires an argument; see ./reproduce.sh --help.",
    "table1 --jobs 0": "greater than or equal to 1",
    "table1 --jobs -3": "greater than or equal to 1",
    "table1 --jobs two": "valid integer",
    "table1 --methods rsgg": "There is no method 'rsgg'; did you mean 'rsgg-ce'?",
    "table1 --methods rsgg-ce:relesed": "did you mean 'released'?",
    "table1 --methods rsgg-ce,zzz": "There is no method 'zzz'; there are rsgg-ce,",
    "table1 --datasets tree-cycle": "There is no data set 'tree-cycle'; did you mean 'tree-cycles'?",
    "table1 --folds 10": "There is no fold 10; the folds are 0 to 9.",
    "table1 --folds -1": "'-1' is not a fold; give numbers such as 0-3,7.",
    "table1 --folds one": "'one' is not a fold",
    "table1 --folds 3-1": "The range '3-1' of folds is empty; give the smaller number first.",
    "table1 --folds 1.5": "'1.5' is not a fold",
    "table1 --seeds x": "'x' is not a seed",
    "table1 --device cuda:99": "There is no cuda:99 on this machine; leave --device out to compute on the CPU.",
    "table1 --device abacus": "The device 'abacus' cannot be used here",
    "table1 --methods empty --datasets tree-cycles --out /dev/null/x": "Results cannot be written to /dev/null/x",
    "show": "Missing argument 'what'; see ./reproduce.sh show --help.",
    "show tabel1": "There is no stored table 'tabel1'; did you mean 'table1'?",
    "show table1 --out /nowhere": "/nowhere holds no table1 yet; ./reproduce.sh table1 computes it.",
    "verify --sample -1": "greater than or equal to 0",
    "datasets --out /dev/null/x": "Results cannot be written to /dev/null/x",
}


@pytest.mark.parametrize("line", BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(line: str, capsys: pytest.CaptureFixture[str]):
    assert cli.main(line.split()) == 2
    err = capsys.readouterr().err
    assert BAD[line] in err
    assert err.count("\n") == 1 and err.endswith((".\n", "?\n")), err


def test_no_cuda_is_said_only_where_there_is_none(capsys: pytest.CaptureFixture[str]):
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    assert cli.main(["table1", "--device", "cuda", "--dry-run"]) == 2
    assert capsys.readouterr().err == "There is no cuda on this machine; leave --device out to compute on the CPU.\n"


def test_help_has_an_example_for_every_command(capsys: pytest.CaptureFixture[str]):
    assert cli.main([]) == 0
    overview = capsys.readouterr().out
    for command in ("setup", "test", "table1", "datasets", "show", "verify"):
        assert command in overview
        assert cli.main([command, "--help"]) == 0
        assert f"Example: ./reproduce.sh {command}" in " ".join(capsys.readouterr().out.split())


def test_a_script_is_the_command_of_its_name(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["--jobs", "0"], script="table1") == 2
    assert capsys.readouterr().err.endswith("see python benchmarks/table1.py --help.\n")


def test_mistakes_help_and_show_do_not_wait_for_torch(tmp_path: Path):
    """In a process of its own, since this one has imported everything."""
    (tmp_path / "table1.md").write_text("# Table\n\n| Method | GED |\n|:--|--:|\n| RSGG-CE | **1.0** [0.9, 1.1] |\n")
    program = f"""
import sys
from benchmarks.cli import main
codes = main(["--help"]), main(["tabel1"]), main(["show", "table1", "--out", {str(tmp_path)!r}])
assert codes == (0, 2, 0), codes
assert not {{"torch", "pandas", "pyarrow"}} & set(sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "RSGG-CE" in done.stdout and "1.0" in done.stdout
    assert "**" not in done.stdout and "0.9" not in done.stdout, "laid out for a terminal, without intervals"


# -- What the options mean ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full, a file that is always full")
def test_a_full_disk_under_the_output_is_a_sentence():
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "benchmarks.cli", "show", "verdicts"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE
        )
    assert ended.returncode == 2
    assert ended.stderr.decode().startswith("The output could not be written: No space left on device.")
    assert ended.stderr.count(b"\n") == 1


def test_lists_are_typed_with_commas_or_repeated():
    assert names(["a, b", "c", "a"]) == ["a", "b", "c"] and names(None) == []
    assert numbers(["0-2,5", "1"], "fold") == (0, 1, 2, 5)
    for bad in ("1-", "-", "1--2", "²"):
        with pytest.raises(UsageError):
            numbers([bad], "fold")


def test_options_choose_cells():
    asked = {"methods": ["rsgg-ce:released,empty"], "datasets": ["tree-cycles"], "folds": ["0,2"], "seeds": ["0-1"]}
    chosen = cells_for(RunOptions(**asked))
    assert {(c.method.name, c.method.variant, c.fold, c.seed) for c in chosen} == {
        (name, variant, fold, seed)
        for name, variant in (("rsgg-ce", "released"), ("empty", "control"))
        for fold in (0, 2)
        for seed in (0, 1)
    }
    assert {c.dataset for c in chosen} == {TreeCycles(seed=0), TreeCycles(seed=1)}


def test_a_smoke_run_is_small_and_keeps_to_itself():
    smoke = cells_for(RunOptions(smoke=True))
    assert {cell.fold for cell in smoke} == {0, 1} and {cell.dataset.name for cell in smoke} == set(DATASETS)
    assert not {cell.key for cell in smoke if cell.dataset.name != "asd"} & {
        cell.key for cell in cells_for(RunOptions())
    }
    assert RunOptions(smoke=True).results != RunOptions().results
    assert RunOptions(smoke=True, out=Path("here")).results == Path("here")


def test_table1_computes_renders_and_goes_on_from_what_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "200")
    line = f"table1 --smoke --methods empty,optimum --datasets tree-cycles --jobs 1 --out {tmp_path}".split()
    assert cli.main(line) == 0
    out, err = capsys.readouterr()
    assert "Empty graph" in out and err.count("done;") == 2
    table = pd.read_csv(tmp_path / "table1.csv")
    assert set(table["method"]) == {"empty", "optimum"}
    assert cli.main(line) == 0
    assert "done;" not in capsys.readouterr().err, "nothing was left to compute"
    assert cli.main([*line, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "4 cells: 4 stored, 0 to compute."


# -- verify -------------------------------------------------------------------------------------------------------


@pytest.fixture
def results(tmp_path: Path) -> Path:
    run_cells(cells((Method("draws", "control", Draws),), seeds=(0, 1), k=2), Store(tmp_path))
    return tmp_path


def test_verify_finds_nothing_wrong_with_good_results(results: Path):
    findings = verify.verify([results, results / "empty"], sample=10)
    assert not findings.wrong
    assert f"{results}: 6 cells, all checksums match." in findings.sentences
    assert any("rows of 6 sampled cells derived again, all agree" in line for line in findings.sentences)
    assert f"{results / 'empty'} holds no cells." in findings.sentences


def test_verify_finds_damage_and_a_changed_file(results: Path, capsys: pytest.CaptureFixture[str]):
    (results / "table1.csv").write_text("made up")
    (results / "manifest.json").write_text(json.dumps({"files": {"table1.csv": {"sha256": "0"}}}))
    damaged = Store(results).path(cells(seeds=(1,), k=2)[0])
    damaged.write_bytes(damaged.read_bytes()[:-200])
    assert cli.main(["verify", "--out", str(results)]) == 1
    out = capsys.readouterr().out
    assert "is cut short or damaged" in out and "table1.csv is missing or differs from the manifest" in out


@pytest.mark.parametrize(
    "column", ["instance", "label", "predicted", "predicted_cf", "n_edges", "ged", "test_size", "optimum"]
)
def test_verify_finds_numbers_that_do_not_follow_from_the_edits(results: Path, column: str):
    """A made-up number under a checksum of its own: only deriving it again can tell."""
    cell: Cell = cells(seeds=(0,), k=2)[0]
    store = Store(results)
    stored = store.read(cell)
    assert stored is not None
    ledger = stored.ledger
    flips = ledger.index[ledger["predicted"] != ledger["predicted_cf"]]
    row = flips[0] if column == "optimum" else 0
    wrong = {"predicted": 1 - ledger[column], "predicted_cf": 1 - ledger[column], "label": 1 - ledger[column]}
    train = cell.dataset.load().folds(cell.folds, cell.seed)[cell.fold].train
    values = {"instance": int(train[0]), "optimum": 99.0}
    ledger.loc[row, column] = wrong[column][row] if column in wrong else values.get(column, ledger.loc[row, column] + 1)
    store.write(cell, ledger_table(ledger), stored.history, duration=1.0)
    findings = verify.verify([results], sample=10)
    assert findings.wrong
    assert any(f": {column} in 1 rows" in line for line in findings.sentences), findings.sentences


def test_without_its_data_a_table_says_so_and_ends_with_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    arguments = ["--datasets", "asd", "--methods", "empty", "--folds", "0", "--jobs", "1"]
    assert cli.main(["table1", *arguments, "--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    out, err = capfd.readouterr()
    assert "ASD data set is not complete" in err and "Traceback" not in err
    assert "Missing:" in out and (tmp_path / "out" / "table1.csv").exists()


def test_publish_renders_the_reference_from_its_own_ledger(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    local, reference = tmp_path / "local", tmp_path / "reference"
    assert cli.main(["publish", "--from", str(local), "--out", str(reference)]) == 2
    assert "holds no result of an experiment" in capfd.readouterr().err
    arguments = ["--datasets", "tree-cycles", "--methods", "empty,optimum", "--seeds", "0", "--jobs", "1"]
    assert cli.main(["table1", *arguments, "--out", str(local)]) == 0
    assert cli.main(["publish", "--from", str(local), "--out", str(reference)]) == 0
    assert not (reference / "cells").exists() and len(list((reference / "ledger").iterdir())) == 2
    columns = ["dataset", "method", "metric", "mean"]
    one, other = (pd.read_csv(folder / "table1.csv")[columns] for folder in (local, reference))
    pd.testing.assert_frame_equal(one, other)
