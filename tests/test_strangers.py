"""Methods, tasks and oracles that live outside the project join everything without a line edited in it.

The modules of tests/strangers are copied into a folder of their own, from which the commands are run.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from matplotlib.text import Text

from benchmarks.ablation import Ablation
from benchmarks.cli import main
from benchmarks.hpo import Hpo
from benchmarks.registry import methods, tasks
from benchmarks.results.artefacts import read_manifest
from benchmarks.results.cell import Cell
from benchmarks.results.files import ROOT
from benchmarks.results.ledger import Store
from benchmarks.results.reader import Results
from benchmarks.running.options import AblationOptions, HpoOptions, RunOptions, Table1Options
from benchmarks.table1 import Table1, plan
from figures import figure, per_class, report, tables, tradeoff
from rsgg.errors import UsageError

STRANGERS = Path(__file__).parent / "strangers"
MODULES = {path.stem for path in STRANGERS.glob("*.py")}
MY_METHOD, MY_TASK = "my_method:MyExplainer", "my_task:task"
GNN, GCN_TASK = "gnn_explainer:GNNExplainer", "gnn_explainer:task"


@contextmanager
def among_strangers(folder: Path) -> Iterator[None]:
    """This process as if it had been started in their folder; everything is as before when the block ends."""
    before = list(methods.METHODS), list(tasks.TASKS), list(sys.path), os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before[3])
        methods.METHODS[:], tasks.TASKS[:], sys.path[:] = before[:3]
        for module in MODULES & sys.modules.keys():
            del sys.modules[module]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The strangers' own folder, far from the project."""
    return Path(shutil.copytree(STRANGERS, tmp_path_factory.mktemp("elsewhere") / "own"))


@pytest.fixture
def here(folder: Path) -> Iterator[Path]:
    with among_strangers(folder):
        yield folder


def ran(experiment: Any, options: RunOptions) -> None:
    assert experiment.run(options) == 0


@pytest.fixture(scope="module")
def results(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the three experiments write for a stranger's method on a stranger's task, one after the other."""
    out = tmp_path_factory.mktemp("results")
    for experiment, options in (
        (
            Table1(),
            Table1Options(methods=[MY_METHOD, GNN, "empty"], datasets=[MY_TASK, GCN_TASK], smoke=True, jobs=0, out=out),
        ),
        (Ablation(), AblationOptions(methods=[MY_METHOD], vary=["n_nodes"], smoke=True, folds=["0"], jobs=0, out=out)),
        (Hpo(), HpoOptions(methods=[MY_METHOD], datasets=[MY_TASK], smoke=True, jobs=0, out=out)),
    ):
        with among_strangers(folder):
            ran(experiment, options)
    return out


def lines(table: pd.DataFrame, **where: str) -> pd.DataFrame:
    for column, value in where.items():
        table = table[table[column] == value]
    return table


# -- The command, as a stranger types it ---------------------------------------------------------------------


def test_the_command_runs_them_from_their_own_folder(folder: Path, tmp_path: Path) -> None:
    """In processes of their own, worker included: what my method does on this oracle is known exactly.

    Dense graphs (m edges, m ≥ 12) lose edges until 11 are left; sparse ones lose all in vain and then gain 12 - m.
    """
    command = ["table1", "--methods", MY_METHOD, "--data", MY_TASK, "--smoke", "--jobs", "1", "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cli", *command], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "My method" in done.stdout and "Dense graphs" in done.stdout
    rows = Store(tmp_path).rows("dense-graphs", "my-explainer", "own")
    assert len(rows) and (rows["predicted"] != rows["predicted_cf"]).all()
    edges, dense = rows["n_edges"], rows["n_edges"] >= 12
    assert rows["ged"].tolist() == (edges - 11).where(dense, 12 - edges).tolist()
    assert rows["calls"].tolist() == (edges - 10).where(dense, 13).tolist()


# -- What is written -----------------------------------------------------------------------------------------


def test_their_names_are_in_the_tables(results: Path) -> None:
    table = pd.read_csv(results / "table1.csv")
    own = lines(table, method="my-explainer", variant="own", metric="correctness")
    assert own.set_index("dataset")["mean"].to_dict() == {"dense-graphs": 1.0, "dense-gcn": 1.0}
    page = (results / "table1.md").read_text(encoding="utf-8")
    for name in (
        r"\| My method[^|]*\| own \|",
        r"\| GNNExplainer, deletions[^|]*\| own \|",
        "Table 1 on Dense graphs, GCN",
    ):
        assert re.search(name, page)


def test_ablation_and_search_have_their_rows(results: Path) -> None:
    ablation = pd.read_csv(results / "ablation_n_nodes.csv")
    assert len(lines(ablation, method="my-explainer", variant="own", metric="ged")) == 2
    search = pd.read_csv(results / "hpo_my-explainer.csv")
    assert set(search["dataset"]) == {"dense-graphs"}
    assert set(lines(search, state="complete")["steps"]) <= {20, 40, 60} and "winner" in set(search["state"])
    summary = pd.read_csv(results / "hpo_summary.csv")
    assert set(summary["method"]) == {"my-explainer"}


def test_a_folder_remembers_all_who_joined(results: Path) -> None:
    """The search came last and knew one method only."""
    remembered = read_manifest(results)["outside"]
    assert {about["label"] for about in remembered["methods"]} == {"My method", "GNNExplainer, deletions"}
    assert {about["name"] for about in remembered["tasks"]} == {"dense-graphs", "dense-gcn"}


def test_what_a_method_cannot_do_is_a_reason(results: Path) -> None:
    missing = read_manifest(results)["experiments"]["table1"]["missing"]
    assert missing == [
        "Dense graphs, GNNExplainer, deletions: GNNExplainer explains PyG models, and the oracle 'dense' is none; "
        "use a PyGOracle"
    ]
    assert f"{missing[0]}." in (results / "table1.md").read_text(encoding="utf-8")


# -- Figures and report, which import none of their code -----------------------------------------------------


@pytest.fixture
def stored(results: Path) -> Iterator[Results]:
    """Their results, read where their modules cannot be found."""
    with among_strangers(ROOT):
        yield Results.of(results)
        assert not MODULES & sys.modules.keys()


def words(drawn: list[figure.Drawn]) -> str:
    """Everything that is written in the pictures."""
    return "\n".join(text.get_text() for one in drawn for text in one.figure.findobj(Text) if isinstance(text, Text))


@pytest.mark.parametrize("module", [tradeoff, per_class])
def test_figures_show_them_by_their_names(module: Any, stored: Results, tmp_path: Path) -> None:
    written = words(module.draw(stored))
    assert "My method" in written and "Dense graphs" in written
    name = module.__name__.partition(".")[2]
    figure.record(figure.saved(name, module.draw, stored, tmp_path), tmp_path)
    entry, *_ = json.loads((tmp_path / "figures.json").read_text(encoding="utf-8"))
    assert "Tree-Cycles: nothing is stored" in entry["missing"]
    assert (tmp_path / f"{entry['name']}.png").stat().st_size > 10_000


def test_tables_and_report_have_their_rows(stored: Results, results: Path, tmp_path: Path) -> None:
    assert "My method" in tables.markdown("hpo_summary", stored)
    assert "My method" in tables.latex("table1", stored)
    report.run(results, tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    for name in ("My method", "GNNExplainer, deletions", "Dense graphs", "No verdicts are stored"):
        assert name in page


def test_beside_the_reference_nothing_of_either_is_lost(results: Path) -> None:
    with among_strangers(ROOT):
        both = Results.of(results, beside_reference=True).table("table1")
        committed = Results((Path(ROOT / "results" / "reference"),)).table("table1")
        assert both is not None and committed is not None
        pd.testing.assert_frame_equal(both[: len(committed)], committed, check_dtype=False)
        own = both[len(committed) :]
        assert {("dense-graphs", "my-explainer"), ("dense-gcn", "gnn-explainer")} <= set(
            zip(own["dataset"], own["method"], strict=True)
        )
        drawn = words(tradeoff.draw(Results.of(results, beside_reference=True)))
        assert {"My method", "Dense graphs"} <= set(drawn.split("\n")) and "RSGG-CE" in drawn


def test_they_have_the_replicates_of_the_rows_that_they_stand_beside(here: Path) -> None:
    cells = plan(Table1Options(methods=[MY_METHOD, "cf2:faithful"], beside_reference=True))
    for task, seeds in (("tree-cycles", {0, 2, 3}), ("asd", {0, 1, 2})):
        for variant in ("own", "faithful"):
            found = [cell for cell in cells if (cell.task.name, cell.method.variant) == (task, variant)]
            assert {cell.seed for cell in found} == seeds and len(found) == 30
            assert all(cell.task.options.get("seed", 0) == cell.seed for cell in found if task == "tree-cycles")


# -- PyG's GNNExplainer --------------------------------------------------------------------------------------


def test_gnn_explainer_finds_shortest_flipping_prefixes(here: Path) -> None:
    explainer, problem = methods.choose([GNN])[0].tiny().build(), tasks.choose([GCN_TASK])[0].load()
    classes = problem.oracle.predict(problem.graphs)
    assert float((classes == problem.labels).double().mean()) > 0.9, "the GCN has learnt its task"
    found = explainer.explain(problem.graphs, problem.oracle, seed=3)
    assert {int(c) for c, one in zip(classes, found, strict=True) if one.found} == {1}, "deletions make graphs sparse"
    for index, one in enumerate(found):
        if one.graph is None:
            assert one.reason == "no deletion flips it"
            continue
        assert not one.added and one.removed
        asked_by_gnn_explainer = one.calls - 1 - len(one.removed)  # 1 is the class of the input
        assert asked_by_gnn_explainer >= explainer.epochs  # type: ignore[attr-defined]
        one_less = torch.tensor(one.graph.adjacency).repeat(len(one.removed), 1, 1)
        for i, (u, v) in enumerate(one.removed):
            one_less[i, u, v] = one_less[i, v, u] = 1
        before = problem.oracle.predict(problem.graphs.candidates(one_less, torch.full((len(one_less),), index)))
        assert (before == classes[index]).any(), "a shorter prefix would have flipped"


def test_gnn_explainer_leaves_the_model_as_it_was(here: Path) -> None:
    explainer, problem = methods.choose([GNN])[0].tiny().build(), tasks.choose([GCN_TASK])[0].load()
    before = problem.oracle.parameters(), problem.oracle.predict(problem.graphs).tolist()
    first = [one.edits for one in explainer.explain(problem.graphs, problem.oracle, seed=0)]
    assert [one.edits for one in explainer.explain(problem.graphs, problem.oracle, seed=0)] == first
    assert (problem.oracle.parameters(), problem.oracle.predict(problem.graphs).tolist()) == before


# -- Addresses -----------------------------------------------------------------------------------------------


def test_a_task_that_declares_something_else_has_other_results(here: Path) -> None:
    keys: dict[int, set[str]] = {}
    for edges in (12, 12, 13):
        with among_strangers(here):
            (here / f"again_{edges}.py").write_text(
                "from my_oracle import DenseOracle\nfrom my_task import RandomGraphs, task\n"
                f"from dataclasses import replace\nother = replace(task, oracle=DenseOracle({edges}))\n"
            )
            (entry,), (row,) = tasks.choose([f"again_{edges}:other"]), methods.choose([MY_METHOD])
            keys.setdefault(edges, set()).add(Cell(entry, row, 0).key)
    assert len(keys[12]) == len(keys[13]) == 1 and keys[12] != keys[13]


def test_tasks_of_the_project_are_addressed_by_the_registry_alone() -> None:
    assert all("declared" not in task.definition() for task in tasks.TASKS)


# -- Entry points --------------------------------------------------------------------------------------------


def test_installed_packages_offer_methods_and_tasks(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = tmp_path / "strangers-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: strangers\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(
        f"[rsgg.explainers]\nmine = {MY_METHOD}\n[rsgg.tasks]\nothers = {MY_TASK}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    command = ["table1", "--methods", "mine", "--data", "others", "--smoke", "--dry-run", "--out", str(tmp_path)]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "mine:own" in said and "2 cells: 0 stored, 2 to compute" in said
    assert methods.label("mine", "own") == "My method"


def test_nobody_is_imported_who_was_not_named(here: Path) -> None:
    methods.choose(["cf2"])
    tasks.choose()
    assert not MODULES & sys.modules.keys()


# -- One sentence for what does not work ---------------------------------------------------------------------

TABLE1 = "table1 --smoke --dry-run --data my_task:task --methods"
WRONG = {
    f"{TABLE1} nowhere:Thing": "'nowhere' (asked for as 'nowhere:Thing') cannot be imported: No module named 'nowhere'",
    f"{TABLE1} broken:Thing": "'broken' (asked for as 'broken:Thing') cannot be imported: no licence found",
    f"{TABLE1} leaves:Thing": "'leaves' (asked for as 'leaves:Thing') cannot be imported: this is a script",
    f"{TABLE1} my_method:Missing": "The module 'my_method' has no 'Missing'",
    f"{TABLE1} my_method:NOT_AN_EXPLAINER": "my_method:NOT_AN_EXPLAINER is no explainer class; subclass rsgg.Explainer",
    f"{TABLE1} my_method:Duck": "my_method:Duck is no explainer class; subclass rsgg.Explainer",
    f"{TABLE1} my_method:Unfinished": "my_method:Unfinished cannot be called without arguments (TypeError: Can't inst",
    f"{TABLE1} my_method:Undeclared": "Undeclared declares no capabilities",
    f"{TABLE1} my_method:CF2": "There is a method called 'cf2' already; give yours another name.",
    f"{TABLE1} my-method": "There is no method 'my-method'",
    "table1 --dry-run --data my_task:RandomGraphs": "my_task:RandomGraphs is no task; make it an rsgg.Task",
    "table1 --dry-run --data my_task:nothing": "The module 'my_task' has no 'nothing'",
    "ablation --dry-run --methods my_method:Duck": "my_method:Duck is no explainer class",
    "hpo --dry-run --method my_method:Duck": "my_method:Duck is no explainer class",
    "check my_method:Cheats": "my_method:Cheats does not keep its contract: Cheats adds the edges",
    "check my_method:Undeclared": "Undeclared declares no capabilities",
    "check my_method:NOT_AN_EXPLAINER": "my_method:NOT_AN_EXPLAINER is no explainer, oracle or task",
    "check my_method:Duck": "my_method:Duck is no explainer, oracle or task",
    f"check {MY_METHOD} --oracle my_method:NOT_AN_EXPLAINER": "my_method:NOT_AN_EXPLAINER is no oracle or task",
    "figures --results nowhere": "nowhere",
    "report --results nowhere --beside-reference": "nowhere",
}


@pytest.mark.parametrize("command", WRONG)
def test_what_does_not_work_is_one_sentence(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 2
    said = capsys.readouterr()
    assert WRONG[command] in said.err and said.err.count("\n") == 1 and "Traceback" not in said.err


@pytest.mark.parametrize(
    "command", [MY_METHOD, MY_TASK, "my_task:trees", "my_oracle:DenseOracle", f"{GNN} --oracle {GCN_TASK}"]
)
def test_check_says_what_passed(command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *command.split()]) == 0
    *passed, last = capsys.readouterr().out.splitlines()
    assert len(passed) > 10 and all(line.startswith("passed: ") for line in passed)
    assert last == f"{command.split()[0]} keeps its contract: {len(passed)} checks passed."


def test_wrong_references_are_usage_errors(here: Path) -> None:
    with pytest.raises(UsageError, match="cannot be imported"):
        methods.choose(["nowhere:Thing"])
