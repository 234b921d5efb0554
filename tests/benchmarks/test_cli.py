"""The command line: bad input is one sentence and exit code 2; help has examples; quick things stay quick."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
import torch
import typer

from benchmarks import cli
from benchmarks.registry import methods, tasks
from benchmarks.registry.names import names, numbers
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE, ROOT
from benchmarks.running.options import RunOptions
from benchmarks.running.plan import cells_for
from benchmarks.running.run_cell import Outcome, run_cell
from benchmarks.running.workers import Work
from benchmarks.table1 import Table1
from figures import tables
from rsgg.counterfactual import Candidate
from rsgg.errors import UsageError
from rsgg.explainer import Capabilities, Explainer
from tests.benchmarks.running.processes import forked_workers

BAD = {
    "tabel1": "No such command 'tabel1'; did you mean 'table1', 'table2'?",
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
    "show tabel1": "There is no stored table 'tabel1'; in results/reference there are: ablation_cycle_size,",
    "show ablation_n_nodes --out tests": "tests holds no ablation_n_nodes yet; ./reproduce.sh ablation computes it",
    "show table1 --out /nowhere": "/nowhere is no folder of results; check the path.",
    "figures --results /nowhere": "/nowhere is no folder of results; check the path.",
    "report --results /nowhere": "/nowhere is no folder of results; check the path.",
    "claims --from /nowhere": "/nowhere is no folder of results; check the path.",
    "publish --from /nowhere --out /nowhere/else": "/nowhere holds no result of an experiment",
    "verify --sample -1": "greater than or equal to 0",
    "verify --derive x": "valid integer",
    "table1 --cell-seconds 0": "0.1",
    "table1 --graph-seconds -1": "0.001",
    "table1 --methods nowhere:Method": "'nowhere' (asked for as 'nowhere:Method') cannot be imported",
    "table1 --methods json:JSONDecoder": "json:JSONDecoder is no explainer class; subclass rsgg.Explainer",
    "table1 --methods json:Nothing": "The module 'json' has no 'Nothing'",
    "table1 --data nowhere:task": "'nowhere' (asked for as 'nowhere:task') cannot be imported",
    "table1 --data json:JSONDecoder": "json:JSONDecoder is no task; make it an rsgg.Task",
    "check nowhere:Method": "'nowhere' (asked for as 'nowhere:Method') cannot be imported",
    "check cf2": "'cf2' names nothing in a module; write module:name, such as my_module:MyExplainer.",
    "check json:": "'json:' names nothing in a module",
    "check json:JSONDecoder": "json:JSONDecoder is no explainer, oracle or task",
    "ablation --vary cycles": "There is no ablation 'cycles'; did you mean 'n_cycles'?",
    "ablation --grid papers": "There is no grid 'papers'; did you mean 'paper'?",
    "datasets --out /dev/null/x": "Results cannot be written to /dev/null/x",
}


COMMANDS = (
    "setup", "test", "table1", "ablation", "runtime", "convergence", "hpo", "traces", "datasets", "claims", "check",
    "show", "figures", "report", "publish", "verify", "manual",
)  # fmt: skip


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
    for command in COMMANDS:
        assert command in overview
        assert cli.main([command, "--help"]) == 0
        said = capsys.readouterr().out
        assert f"Example: ./reproduce.sh {command}" in " ".join(said.split())
        assert str(ROOT) not in said, "a default is named as users type it, not by where this clone lies"


def test_help_lists_the_values_that_can_be_given(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "2000")
    assert cli.main(["show", "--help"]) == 0
    tables = capsys.readouterr().out
    assert all(path.stem in tables for path in REFERENCE.glob("*.csv"))
    assert cli.main(["table1", "--help"]) == 0
    options = capsys.readouterr().out
    assert all(f" {method.name}" in options for method in methods.METHODS if not method.base)
    assert all(f" {task.name}" in options for task in tasks.TASKS if task.in_table1)


def test_advice_names_commands_that_exist():
    known = set(typer.main.get_command(cli.app).commands)  # type: ignore[attr-defined]
    for name in {*tables.names(REFERENCE), *tables.BUILDERS, *tables.COMMANDS, "nodes", "unseen", "leaderboard"}:
        typed = tables._command(name)
        script = ROOT / typed.removeprefix("python ")
        assert typed.removeprefix("./reproduce.sh ") in known or script.is_file(), typed


def test_a_run_ends_with_what_it_wrote_and_what_to_do_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for name, file in (("table1", "table1.csv"), ("table1", "table1.md"), ("claims", "claims.csv")):
        with Artefacts(tmp_path, name) as files:
            files.text(file, "")
    Table1()._say_where(RunOptions(out=tmp_path))
    written, following = capsys.readouterr().out.splitlines()
    assert written == f"Written into {tmp_path}: table1.csv, table1.md."
    assert (
        following == f"Next: ./reproduce.sh figures --results {tmp_path}, ./reproduce.sh report --results {tmp_path}."
    )


def test_a_script_is_the_command_of_its_name(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["--jobs", "0"], script="table1") == 2
    assert capsys.readouterr().err.endswith("see python benchmarks/table1.py --help.\n")


def test_mistakes_and_help_wait_for_nothing_and_show_for_no_torch(tmp_path: Path):
    """In a process of its own, since this one has imported everything."""
    columns = "dataset,method,variant,metric,paper,mean,ci_low,ci_high,verdict,reason"
    (tmp_path / "table1.csv").write_text(f"{columns}\ntree-cycles,rsgg-ce,faithful,ged,11.000,1.25,0.9,1.1,,\n")
    program = f"""
import sys
from benchmarks.cli import main
codes = main(["--help"]), main(["tabel1"]), main(["table1", "--jobs", "0"])
assert codes == (0, 2, 2), codes
assert not {{"torch", "pandas", "pyarrow", "matplotlib"}} & set(sys.modules)
assert main(["show", "table1", "--out", {str(tmp_path)!r}]) == 0
assert main(["show", "nothing"]) == 2
assert not {{"torch", "networkx", "optuna", "matplotlib"}} & set(sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "RSGG-CE" in done.stdout and "1.250" in done.stdout


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
    asked: dict[str, Any] = {
        "methods": ["rsgg-ce:released,empty"],
        "datasets": ["tree-cycles"],
        "folds": ["0,2"],
        "seeds": ["0-1"],
    }
    chosen = cells_for(RunOptions(**asked))
    assert {(c.method.name, c.method.variant, c.fold, c.seed) for c in chosen} == {
        (name, variant, fold, seed)
        for name, variant in (("rsgg-ce", "released"), ("empty", "control"))
        for fold in (0, 2)
        for seed in (0, 1)
    }
    assert {c.task.options.get("seed", 0) for c in chosen} == {0, 1} and {c.task.name for c in chosen} == {
        "tree-cycles"
    }


def test_a_smoke_run_is_small_and_keeps_to_itself():
    smoke = cells_for(RunOptions(smoke=True))
    assert {cell.fold for cell in smoke} == {0, 1} and {cell.task.name for cell in smoke} == {
        entry.name for entry in tasks.TASKS if entry.in_table1
    }
    assert not {cell.key for cell in smoke if cell.task.name != "asd"} & {cell.key for cell in cells_for(RunOptions())}
    assert RunOptions(smoke=True).results != RunOptions().results
    assert RunOptions(smoke=True, out=Path("here")).results == Path("here")


@pytest.mark.usefixtures("no_workers")
def test_table1_computes_renders_and_goes_on_from_what_is_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", "200")
    line = f"table1 --smoke --methods empty,optimum --datasets tree-cycles --jobs 1 --out {tmp_path}".split()
    assert cli.main(line) == 0
    out, err = capsys.readouterr()
    assert "RSGG-CE, printed" in out and "Empty graph" in out and err.count("done;") == 2
    assert "Empty graph" in (tmp_path / "table1.md").read_text()
    table = pd.read_csv(tmp_path / "table1.csv")
    assert set(table["method"]) == {"empty", "optimum"}
    assert cli.main(line) == 0
    assert "done;" not in capsys.readouterr().err, "nothing was left to compute"
    assert cli.main([*line, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "4 cells: 4 stored, 0 to compute."


@pytest.mark.usefixtures("no_workers")
def test_without_its_data_a_table_says_so_and_ends_with_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]):
    arguments = ["--datasets", "asd", "--methods", "empty", "--folds", "0", "--jobs", "1"]
    assert cli.main(["table1", *arguments, "--data-dir", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    err = capfd.readouterr().err
    assert "ASD data set is not complete" in err and "Traceback" not in err
    assert "Missing: ASD, Empty graph: The ASD data set is not" in (tmp_path / "out" / "table1.md").read_text()


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever joins from outside leaves again."""
    monkeypatch.setattr(methods, "METHODS", list(methods.METHODS))
    monkeypatch.setattr(tasks, "TASKS", list(tasks.TASKS))


LINE = ["table1", "--smoke", "--datasets", "tree-cycles", "--folds", "0", "--jobs", "1"]


@pytest.mark.usefixtures("registry")
@forked_workers()
def test_a_method_that_fails_or_takes_too_long_ends_with_1_and_the_others_are_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    chosen = ["--methods", "tests.standins:Raises,tests.standins:Hangs,empty", "--cell-seconds", "1"]
    assert cli.main([*LINE, *chosen, "--out", str(tmp_path)]) == 1
    err = capfd.readouterr().err
    assert "raises:own, fold 0 failed with ZeroDivisionError: a bug in two lines (details in" in err
    assert "hangs:own, fold 0 failed with it took longer than the time limit of 1 s (--cell-seconds)" in err
    assert set(pd.read_csv(tmp_path / "table1.csv")["method"]) == {"empty"}
    assert "Traceback" in next((tmp_path / "errors").glob("*raises*")).read_text() and "Traceback" not in err
    gaps = json.loads((tmp_path / "manifest.json").read_text())["experiments"]["table1"]["missing"]
    assert gaps == [
        "Tree-Cycles, Raises: ZeroDivisionError: a bug in two lines",
        "Tree-Cycles, Hangs: it took longer than the time limit of 1 s (--cell-seconds)",
    ]


@pytest.mark.usefixtures("registry")
def test_a_run_that_is_stopped_ends_with_130_and_says_what_is_stored(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def stopped(cells: list[Cell], jobs: int, work: Work) -> Iterator[Outcome]:
        yield run_cell(cells[0])
        raise KeyboardInterrupt

    monkeypatch.setattr("benchmarks.running.experiment.computed", stopped)
    line = [*LINE, "--methods", "empty,optimum", "--out", str(tmp_path)]
    assert cli.main(line) == 130
    said = capfd.readouterr().err.splitlines()[-1]
    assert said == "Stopped; 1 of 2 cells are stored; the same command goes on from here."
    assert cli.main([*line, "--fresh"]) == 130
    assert "without --fresh the same command goes on from here." in capfd.readouterr().err


# -- check --------------------------------------------------------------------------------------------------------


def test_check_says_what_passed(capsys: pytest.CaptureFixture[str]):
    assert cli.main(["check", "rsgg.baselines.controls:Empty"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5 and all(line.startswith("passed: ") for line in lines[:-1])
    assert lines[-1] == f"rsgg.baselines.controls:Empty keeps its contract: {len(lines) - 1} checks passed."
    assert cli.main(["check", "rsgg.oracles:TreeCyclesOracle"]) == 0
    assert "keeps its contract" in capsys.readouterr().out


def test_a_pyg_model_is_checked_as_an_oracle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "edge_model.py").write_text(
        "import torch\n"
        "class Edges(torch.nn.Module):\n"
        "    def forward(self, x, edge_index, batch):\n"
        "        n = torch.bincount(batch[edge_index[0]], minlength=int(batch.max()) + 1) / 2.0\n"
        "        return torch.stack((7.5 - n, n - 7.5), 1)\n"
        "model = Edges()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert cli.main(["check", "edge_model:model"]) == 0
    assert "edge_model:model keeps its contract" in capsys.readouterr().out


def test_check_says_which_rule_is_broken(capsys: pytest.CaptureFixture[str]):
    """The stand-in returns graphs of the same class, which a method has to declare; this one declares nothing."""
    assert cli.main(["check", "tests.benchmarks.test_cli:Untrue"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("tests.benchmarks.test_cli:Untrue does not keep its contract: ") and err.count("\n") == 1
    assert "keeps its contract" not in out


@dataclass(kw_only=True)
class Untrue(Explainer):
    """Says that it removes edges only, and adds all of them."""

    capabilities: ClassVar[Capabilities] = Capabilities(adds=False, removes=True)

    def _explain(self, graphs, classes, oracle, k, seed):
        full = 1 - torch.eye(graphs.n_nodes, dtype=torch.uint8)
        return [Candidate(full) for _ in range(len(graphs) * k)]
