"""What is declared is imported, and what is imported is declared: packages of pyproject.toml against the sources."""

from __future__ import annotations

import ast
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import rsgg

ROOT = Path(__file__).parent.parent
OURS = {
    "rsgg",
    "benchmarks",
    "figures",
    "docs",
    "tests",
    *(path.stem for path in (ROOT / "tests" / "strangers").glob("*.py")),
}
CALLED = {"PIL": "pillow", "sklearn": "scikit-learn", "torch_geometric": "torch-geometric"}  # other names of modules
NOT_IMPORTED = {
    "cluster": {
        "dask-jobqueue",
        "psycopg",
    },  # a user starts workers with the one; SQLAlchemy loads the other by its URL
    "dev": {  # programs, plug-ins and a theme
        "mkdocs-material",
        "mkdocstrings-python",
        "mypy",
        "pytest-xdist",
        "ruff",
        "setuptools",
    },
    "benchmark": set(),
    "molecules": set(),
    "plot": set(),
}


def imported(*folders: str) -> set[str]:
    """Packages that the sources below these folders import, anywhere in a file; the standard library's are left out."""
    modules: set[str] = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module.split(".")[0])
    return {canonicalize_name(CALLED.get(name, name)) for name in modules - OURS - set(sys.stdlib_module_names)}


@pytest.fixture(scope="module")
def declared() -> dict[str, set[str]]:
    """The packages of each extra; those of the library itself under an empty name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    groups = {"": project["dependencies"], **project["optional-dependencies"]}
    return {name: {canonicalize_name(Requirement(text).name) for text in texts} for name, texts in groups.items()}


def test_the_library_declares_what_it_imports(declared: dict[str, set[str]]) -> None:
    assert imported("rsgg", "baselines") == declared[""] | declared["molecules"] | declared["plot"]


def test_the_extras_are_what_the_benchmark_imports(declared: dict[str, set[str]]) -> None:
    molecules = declared["molecules"] - {"selfies"}  # which the library alone imports
    expected = declared["benchmark"] | molecules | declared["cluster"] - NOT_IMPORTED["cluster"]
    assert imported("benchmarks", "figures") - declared[""] == expected


def test_tests_and_manual_import_nothing_that_is_not_declared(declared: dict[str, set[str]]) -> None:
    used = imported("tests", "docs")
    assert used <= set().union(*declared.values())
    assert declared["dev"] - NOT_IMPORTED["dev"] <= used


def test_there_is_one_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"] and "version" not in project["project"]
    assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "rsgg.__version__"}
    assert rsgg.__version__.count(".") == 2
