"""Methods and tasks of users: they join when they are named, results remember them, and nothing is imported unasked."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path

import pytest

from benchmarks.registry import methods, names, outside, tasks
from benchmarks.registry.methods import Method
from benchmarks.results.cell import Cell
from benchmarks.running.run_cell import run_cell
from rsgg.errors import UsageError
from tests.standins import DATA

pytestmark = pytest.mark.usefixtures("registry")

EXPLAINER, TASK = "rsgg.templates.explainer:MyExplainer", "rsgg.templates.task:MY_TASK"
OTHERS = """
from dataclasses import replace
from rsgg.templates.explainer import MyExplainer
from rsgg.templates.task import MY_TASK

class HTTPServer2Go(MyExplainer):
    label, revision = "To go", 3

class Optimum(MyExplainer):
    pass

def made():
    return replace(MY_TASK, name="made", label="Made")

class UsersOwn(MyExplainer):
    label = "My\\n\\x1b[2Jown"

taken = replace(MY_TASK, name="asd")
outside = replace(MY_TASK, name="../outside")
"""


@pytest.fixture
def others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a user, on the Python path."""
    (tmp_path / "users_own.py").write_text(OTHERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "users_own", raising=False)
    return "users_own"


def test_a_user_s_method_and_task_are_run_like_any_other() -> None:
    (row,), (entry,) = methods.choose([EXPLAINER]), tasks.choose([TASK])
    assert row.row == ("my-explainer", "own") and row.label == "MyExplainer"
    assert entry.name == "my-task" and entry.label == "My task" and entry.class_names == ("forest", "cyclic")
    assert entry.generated, "its data set has a seed"
    outcome = run_cell(Cell(entry.replicate(1), row.tiny(), 0, 10, 1))
    assert outcome.status == "computed" and outcome.table is not None
    assert set(outcome.table.column("dataset").to_pylist()) == {"my-task"}


def test_a_user_s_task_can_be_measured_on_fewer_graphs() -> None:
    (entry,) = tasks.choose([TASK])
    fewer = entry.measured_by({"max_test": 2})
    assert fewer.build().max_test == 2 and entry.build().max_test is None
    assert fewer.definition() == {**entry.definition(), "max_test": 2}


def test_naming_one_twice_enters_it_once() -> None:
    before = len(methods.METHODS), len(tasks.TASKS)
    for _ in range(2):
        assert len(methods.choose([EXPLAINER, "my-explainer", "my-explainer:own"])) == 1
        assert len(tasks.choose([TASK, "my-task"])) == 1
    assert (len(methods.METHODS), len(tasks.TASKS)) == (before[0] + 1, before[1] + 1)


def test_a_module_may_be_called_like_its_class(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "from rsgg.templates.explainer import MyExplainer\nclass Mine(MyExplainer): ...\n"
    (tmp_path / "mine.py").write_text(own)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    for _ in range(2):  # an experiment asks more than once
        assert [row.row for row in methods.choose(["mine:Mine"])] == [("mine", "own")]


def test_labels_are_one_line_and_names_fit_into_names_of_files(others: str) -> None:
    (row,) = methods.choose([f"{others}:UsersOwn"])
    assert row.label == "My [2Jown"
    with pytest.raises(UsageError, match=r"A data set cannot be called '\.\./outside'; give it a name of at most 100"):
        tasks.choose([f"{others}:outside"])


def test_what_a_class_says_of_itself_is_used(others: str) -> None:
    (one,), (other,) = methods.choose([f"{others}:HTTPServer2Go"]), methods.choose([EXPLAINER])
    assert (one.name, one.label, one.revision) == ("http-server2-go", "To go", 3)
    assert one.marker != other.marker, "strangers' rows are told apart"
    (made,) = tasks.choose([f"{others}:made"])
    assert made.build().name == "made"


def test_a_class_of_the_project_is_the_row_that_it_is_in() -> None:
    assert [row.title for row in methods.choose(["rsgg.baselines.cf2:CF2"])] == ["cf2:faithful"]


def test_entry_points_are_names(monkeypatch: pytest.MonkeyPatch) -> None:
    groups = {"rsgg.explainers": ("theirs", EXPLAINER), "rsgg.tasks": ("their-data", TASK)}

    def declared(group: str) -> list[importlib.metadata.EntryPoint]:
        name, value = groups[group]
        return [importlib.metadata.EntryPoint(name, value, group)]

    monkeypatch.setattr(names, "entry_points", declared)
    assert [row.name for row in methods.choose(["theirs"])] == ["theirs"]
    assert [entry.name for entry in tasks.choose(["their-data"])] == ["my-task"]
    with pytest.raises(UsageError, match=r"^There is no method 'nobody-s'; "):
        methods.choose(["nobody-s"])
    with pytest.raises(UsageError, match=r"^There is no data set 'nobody-s'; "):
        tasks.choose(["nobody-s"])


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("pathlib:Path", "pathlib:Path is no explainer class; subclass rsgg.Explainer"),
        (TASK, "MY_TASK is no explainer class"),
        ("users_own:Optimum", "There is a method called 'optimum' already; give yours another name."),
        ("no_such_module:Mine", "'no_such_module' .* cannot be imported"),
    ],
)
def test_what_cannot_be_a_row_is_a_sentence(asked: str, sentence: str, others: str) -> None:
    before = list(methods.METHODS)
    with pytest.raises(UsageError, match=sentence):
        methods.choose([asked])
    assert before == methods.METHODS


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ("math:pi", "math:pi is no task; make it an rsgg.Task"),
        ("users_own:taken", "There is a data set called 'asd' already; give yours another name."),
    ],
)
def test_what_cannot_be_a_task_is_a_sentence(asked: str, sentence: str, others: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        tasks.choose([asked])


def test_results_remember_who_joined_and_rejoining_imports_nothing(others: str) -> None:
    assert outside.entries() == {"methods": [], "tasks": []}
    methods.choose([f"{others}:HTTPServer2Go"])
    tasks.choose([f"{others}:made"])
    joined = methods.METHODS[-1], tasks.TASKS[-1]
    remembered = json.loads(json.dumps(outside.entries()))
    methods.METHODS.pop(), tasks.TASKS.pop()
    del sys.modules[others]
    outside.rejoin(remembered)
    outside.rejoin(remembered)
    assert (methods.METHODS[-1], tasks.TASKS[-1]) == joined and others not in sys.modules
    assert Cell(DATA, methods.METHODS[-1], 0).key == Cell(DATA, joined[0], 0).key
    assert methods.label("http-server2-go", "own") == "To go"
    assert sum(method.variant == "own" for method in methods.METHODS) == 1
    assert sum(bool(entry.task) for entry in tasks.TASKS) == 1
    assert isinstance(methods.METHODS[-1], Method)
