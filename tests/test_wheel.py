"""The library as a user installs it: a wheel is built, installed into an empty folder and used from elsewhere."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import rsgg

ROOT = Path(__file__).parent.parent

pytestmark = pytest.mark.slow

PROGRAM = """
import importlib.util, pathlib, sys
import networkx as nx
import rsgg
from rsgg import RSGGCE, TreeCyclesOracle, check_explainer
from rsgg.baselines.search import OBS
from rsgg.data.asd import ASD
import rsgg.baselines.released.clear, rsgg.templates.explainer

installed = pathlib.Path(sys.argv[1])
ours = [module for name, module in sys.modules.items() if name.split(".")[0] == "rsgg"]
assert all(installed in pathlib.Path(module.__file__).parents for module in ours), "not from the wheel"
for name in ("benchmarks", "figures", "baselines", "tests"):
    assert importlib.util.find_spec(name) is None, name

graphs = [nx.cycle_graph(6) if i % 2 else nx.path_graph(6) for i in range(8)]
for explainer in (OBS(), RSGGCE.tiny()):
    results = explainer.fit(graphs, TreeCyclesOracle()).explain(graphs, TreeCyclesOracle())
    for result in results:
        if result.found:
            assert bool(nx.cycle_basis(result.graph.to_networkx())) != bool(nx.cycle_basis(graphs[result.instance]))
    assert any(result.found for result in results)
print(rsgg.__version__)
"""


def run(*command: str | Path, **environment: str) -> str:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(part) for part in command], env=inherited | environment, cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the project."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("rsgg", "baselines", "benchmarks", "figures"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", folder / "dist", source)
    (built,) = (folder / "dist").iterdir()
    return built


def test_it_holds_the_library_and_nothing_else(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name.split("/")[0] for name in names} == {"rsgg", f"rsgg-{rsgg.__version__}.dist-info"}
    for folder, inside in (("rsgg", "rsgg"), ("baselines", "rsgg/baselines")):
        for path in (ROOT / folder).rglob("*"):  # does not go through the link rsgg/baselines
            if path.is_file() and "__pycache__" not in path.parts:
                assert f"{inside}/{path.relative_to(ROOT / folder).as_posix()}" in names, path
    assert {"rsgg/data/asd_sha256.txt", "rsgg/templates/explainer.py", "rsgg/py.typed"} <= names


def test_its_metadata_are_complete(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(archive.read(name).decode())
        assert not any(name.endswith("entry_points.txt") for name in archive.namelist()), (
            "no command without benchmarks/"
        )
    assert about["Version"] == rsgg.__version__ and about["License-Expression"] == "MIT"
    assert about["Summary"] and about["Keywords"] and about["Author"] and about.get_all("Classifier")
    assert about["Description-Content-Type"] == "text/markdown" and "# RSGG-CE" in str(about.get_payload())
    always = [text.split(";")[0] for text in about.get_all("Requires-Dist", []) if "extra ==" not in text]
    assert not any(word in text for text in always for word in ("optuna", "typer", "matplotlib", "pyarrow", "rich"))
    assert set(about.get_all("Provides-Extra", [])) == {"benchmark", "cluster", "dev", "molecules", "plot"}


def test_it_explains_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Without site (-S) no .pth file is read: of this environment only the packages themselves are to be found."""
    target = tmp_path / "installed"
    run(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel)
    path = os.pathsep.join((str(target), sysconfig.get_paths()["purelib"], sysconfig.get_paths()["platlib"]))
    assert run(sys.executable, "-S", "-c", PROGRAM, target, PYTHONPATH=path) == f"{rsgg.__version__}\n"
