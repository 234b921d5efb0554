"""The rules of the house as tests: who may import whom, what loads no model, one name for each thing."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import OWN
from benchmarks.registry.rules import ROW_MARKS
from benchmarks.results.files import REFERENCE
from benchmarks.results.reader import Results
from docs import import_graph
from docs.import_graph import (
    BELOW,
    PICTURE,
    ROOT,
    cycle,
    imports,
    may_import,
    modules,
    room,
    room_imports,
    upward,
)
from figures import tables

MODELS = ("torch", "torch_geometric", "rsgg.explainer", "rsgg.rsgg_ce", "rsgg.baselines", "rsgg.oracles", "rsgg.data")
WITHOUT_MODELS = ("benchmarks.registry", "benchmarks.results", "figures")


def written(root: Path, sources: dict[str, str]) -> Path:
    """A little project of these files, in the folders that the import graph looks at."""
    for name, source in sources.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return root


# -- Who imports whom --------------------------------------------------------------------------------------


def test_every_import_goes_down() -> None:
    assert upward() == []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycle(imports()) == []


def test_the_library_knows_nothing_of_the_benchmark() -> None:
    found = room_imports()
    assert found["rsgg"] == set()
    assert found["rsgg.baselines"] == {"rsgg"}


def test_figures_know_stored_results_and_names_only() -> None:
    allowed = {"figures", "figures.tables", "benchmarks.results", "benchmarks.registry", "rsgg"}
    for name in ("figures", "figures.tables", "figures.report"):
        assert room_imports()[name] <= allowed


def test_results_do_not_know_what_made_them() -> None:
    assert room_imports()["benchmarks.results"] <= {"benchmarks.registry", "rsgg"}


def test_nothing_of_the_project_imports_its_tests() -> None:
    """But for the measurement of speed, which runs the plain implementation that tests compare results with."""
    importing = re.compile(r"^\s*(from|import) tests\b", re.MULTILINE)
    found = {name for name, path in modules().items() if importing.search(path.read_text(encoding="utf-8"))}
    assert found <= {"benchmarks.speed"}


def test_the_graph_has_every_module_once() -> None:
    found = modules()
    files = {
        path for folder in ("rsgg", "baselines", "benchmarks", "figures") for path in (ROOT / folder).rglob("*.py")
    }
    files = {path for path in files if ROOT / "rsgg" / "baselines" not in path.parents}
    assert set(found.values()) == files and len(set(found.values())) == len(found)
    assert {"rsgg.baselines.cf2", "rsgg.graph", "benchmarks.cli", "figures.tables"} <= found.keys()


def test_the_graph_agrees_with_what_python_imports() -> None:
    """What the interpreter loads is among what the sources are said to import."""
    program = (
        "import sys, json; before = set(sys.modules); import benchmarks.results.reader;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name for name in ast.literal_eval(ran.stdout) if name in modules()}
    reached = import_graph.reachable(imports(), "benchmarks.results.reader") | {"benchmarks.results.reader"}
    packages = {".".join(name.split(".")[:i]) for name in reached for i in range(1, name.count(".") + 1)}
    assert loaded <= reached | packages
    assert {"benchmarks.results.ledger", "benchmarks.registry.methods"} <= loaded


# -- The graph itself: does it see what it is there to see? --------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "import benchmarks.table1",
        "from benchmarks import table1",
        "from benchmarks.table1 import Table1",
        "def f():\n    from benchmarks import table1",
        "class A:\n    def f(self):\n        if self:\n            import benchmarks.table1 as t",
        "WHERE = 'benchmarks.table1:Table1'",
    ],
)
def test_an_import_that_goes_up_is_found(tmp_path: Path, source: str) -> None:
    root = written(tmp_path, {"rsgg/graph.py": source, "benchmarks/table1.py": "", "benchmarks/__init__.py": ""})
    assert upward(root) == ["rsgg.graph imports benchmarks.table1, but rsgg may not import benchmarks"]


@pytest.mark.parametrize(
    "source",
    [
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from benchmarks import table1",
        "if __name__ == '__main__':\n    from benchmarks import table1",
        "import torch, benchmarks_of_another as b",
        "'''See benchmarks.table1 for more.'''",
    ],
)
def test_what_never_runs_on_import_does_not_count(tmp_path: Path, source: str) -> None:
    root = written(tmp_path, {"rsgg/graph.py": source, "benchmarks/table1.py": ""})
    assert upward(root) == []


def test_a_lazy_circle_is_found(tmp_path: Path) -> None:
    lazy = "def f():\n    from figures import b"
    root = written(
        tmp_path, {"figures/a.py": lazy, "figures/b.py": "import figures.c", "figures/c.py": "import figures.a"}
    )
    found = cycle(imports(root))
    assert found[0] == found[-1] and set(found) == {"figures.a", "figures.b", "figures.c"}
    for importing, imported in pairwise(found):
        assert imported in imports(root)[importing]


def test_a_room_never_lies_below_itself() -> None:
    assert all(name not in may_import(name) for name in BELOW)
    assert all(import_graph.level(upper) > import_graph.level(lower) for upper in BELOW for lower in BELOW[upper])
    assert room("figures.tables.sheet") == "figures.tables" and room("figures.style") == "figures"


def test_the_picture_is_of_these_sources_and_its_arrows_point_down() -> None:
    arrows = import_graph.arrows()
    assert arrows and all(import_graph.position(upper)[1] > import_graph.position(lower)[1] for upper, lower in arrows)
    assert import_graph.described() in PICTURE.read_text(encoding="utf-8"), "run python docs/import_graph.py"


# -- What loads no model -------------------------------------------------------------------------------------


def test_results_registry_and_figures_load_no_model() -> None:
    wanted = [name for name in modules() if name.startswith(WITHOUT_MODELS)]
    assert len(wanted) > 40
    program = f"""
import importlib, sys
for name in {wanted!r}:
    importlib.import_module(name)
    loaded = sorted(set({MODELS!r}) & set(sys.modules))
    assert not loaded, f"import {{name}} loads {{', '.join(loaded)}}"
"""
    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "module", ["rsgg.statistics", "rsgg.seeds", "rsgg.errors", "benchmarks.cli", "docs.import_graph"]
)
def test_light_modules_load_no_torch(module: str) -> None:
    program = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT).returncode == 0


# -- Names ---------------------------------------------------------------------------------------------------


def test_no_module_is_a_drawer_for_everything() -> None:
    parts = {part for name in modules() for part in name.split(".")}
    assert not parts & {"utils", "util", "common", "misc", "helpers", "tools"}


def public_names() -> set[str]:
    """What rows, data sets and classes are called."""
    rows = {method.label for method in methods.METHODS if method.variant != OWN}
    own = [task for task in tasks.TASKS if not task.task]
    return rows | {name for task in own for name in (task.label, task.title, *task.class_names)}


def test_rows_and_data_sets_are_named_in_the_registry_only() -> None:
    names = public_names()
    assert {"CF²", "RSGG-CE, as released", "Tree-Cycles", "ASD (116 brain regions)", "cyclic"} <= names
    again = [
        f"{module}:{node.lineno}: {node.value!r}"
        for module, path in modules().items()
        if module.startswith(("benchmarks", "figures")) and room(module) != "benchmarks.registry"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names
    ]
    assert again == []


def shown_texts(module: str, path: Path) -> list[tuple[str, str]]:
    """The texts of a module that may be shown, with where they stand: all but its docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (f"{module}:{node.lineno}", node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare
    ]


def test_no_text_has_the_name_of_a_row_typed_into_it() -> None:
    """Names of one word are left out: the paper's methods are called like words of a sentence."""
    labels = {method.label.lower() for method in methods.METHODS if re.search("[,+]", method.label)}
    texts = [("captions.toml", " ".join((ROOT / "figures/captions.toml").read_text("utf-8").replace("\\", "").split()))]
    for module, path in modules().items():
        if module.startswith(("benchmarks", "figures")) and room(module) != "benchmarks.registry":
            texts += shown_texts(module, path)
    found = [(place, label) for place, text in texts for label in labels if label in text.lower()]
    assert len(texts) > 2000 and found == []


NAMES_IN_FILES = re.compile(r"\./reproduce\.sh[^;.)\n]*|\b[\w<>-]+\.(?:csv|md|py|json|parquet)\b")


@pytest.mark.parametrize("page", sorted(path.relative_to(REFERENCE).as_posix() for path in REFERENCE.rglob("*.md")))
def test_pages_call_rows_by_their_public_names(page: str) -> None:
    """What files call them (rsgg-ce, two-sided-min, cf2) stands in commands and names of files only."""
    text = NAMES_IN_FILES.sub("", (REFERENCE / page).read_text(encoding="utf-8"))
    names = {method.name for method in methods.METHODS if re.search(r"[-\d]", method.name)} | {"meg", "obs", "ddbs"}
    assert [name for name in sorted(names) if re.search(rf"(?<![\w/:-]){re.escape(name)}(?![\w/:-])", text)] == []
    assert not re.search(r"\b(?:faithful|literal)\b|two-sided order|MEG \(32", text)


def test_labels_are_unique() -> None:
    labels = [method.label for method in methods.METHODS]
    assert len(labels) == len(set(labels))
    named = [task.label for task in tasks.TASKS]
    assert len(named) == len(set(named))


def first_cells(markdown: str) -> set[str]:
    """What stands at the left of the lines of all tables, without marks."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ") and not line.startswith("| :")]
    names = (re.sub(r"[*_]{1,2}(.+?)[*_]{1,2}", r"\1", line.split("|")[1].strip()) for line in lines)
    return {name.rstrip("".join(ROW_MARKS)).strip() for name in names}


def test_table1_calls_rows_as_the_registry_does() -> None:
    stored = Results((REFERENCE,))
    table = stored.table("table1")
    assert table is not None
    labels = {methods.label(*row) for row in zip(table["method"], table["variant"], strict=True)}
    page = tables.markdown("table1", stored)
    assert labels <= first_cells(page)
    heads = re.findall(r"^## (.+)$", page, re.MULTILINE)
    assert all(any(head.startswith(tasks.label(name)) for head in heads) for name in tasks.PAPER)


def test_the_manual_calls_rows_as_the_registry_does() -> None:
    page = (ROOT / "docs" / "manual" / "results.md").read_text(encoding="utf-8")
    block = page[page.index("<!-- results:") : page.index("<!-- end of results -->")]
    printed = {f"{methods.label(name)}, printed" for name in methods.PAPER}
    heads = {tasks.task(name).title for name in tasks.PAPER}
    assert first_cells(block) - printed - heads <= {method.label for method in methods.METHODS}
    assert heads | printed <= first_cells(block)


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "CHANGELOG.md"])
def test_pages_name_files_that_are_there(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)#:]+)\)", text) + re.findall(
        r"`((?:rsgg|baselines|benchmarks|figures|tests|docs)/[\w./]+)`", text
    )
    absent = {name for name in named if "my_" not in name and not (ROOT / name).exists()}
    assert named and not absent
