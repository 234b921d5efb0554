"""reproduce.sh, in a copy, with a stand-in for Python that only says what it was asked: no environment is made."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent

PYTHON = """#!/usr/bin/env bash
echo "$@" >>"$RSGG_TEST_LOG"
case "$*" in
    -c*) exit ${RSGG_TEST_TOO_OLD:-0} ;;
    *"-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    *"-m pip "*) exit ${RSGG_TEST_PIP:-0} ;;
    *"-m benchmarks.cli"*)
        printf 'arguments'; printf ' <%s>' "${@:3}"; echo " threads $OMP_NUM_THREADS path $PYTHONPATH" ;;
esac
"""


class Copy:
    """A copy of what reproduce.sh needs, in a folder with a space in its name."""

    def __init__(self, folder: Path) -> None:
        self.root, self.log = folder / "a copy", folder / "log"
        self.root.mkdir()
        for name in ("reproduce.sh", "requirements.lock", "pyproject.toml"):
            shutil.copy(ROOT / name, self.root)
        self.python = folder / "a python"
        self.python.write_text(PYTHON)
        self.python.chmod(0o755)

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        self.log.write_text("")
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("RSGG_", "CONDA_", "PYTHONPATH"))}
        ours = {"RSGG_PYTHON": str(self.python), "RSGG_TEST_LOG": str(self.log), **environment}
        command = [str(self.root / "reproduce.sh"), *arguments]
        return subprocess.run(command, env={**inherited, **ours}, cwd="/", capture_output=True, text=True)

    @property
    def made_environment(self) -> bool:
        return "-m venv" in self.log.read_text()


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_first_use_makes_the_environment_and_later_ones_use_it(copy: Copy) -> None:
    first = copy.run("table1", "--out", "a folder")
    assert first.returncode == 0
    assert first.stdout == f"arguments <table1> <--out> <a folder> threads 1 path {copy.root}\n"
    assert copy.made_environment and str(copy.root / "requirements.lock") in copy.log.read_text()
    start = time.monotonic()
    second = copy.run("show", "table1")
    assert second.stdout.startswith("arguments <show> <table1>") and second.stderr == ""
    assert not copy.made_environment and time.monotonic() - start < 1


@pytest.mark.parametrize("change", ["requirements.lock", "pyproject.toml"])
def test_other_versions_make_it_anew(copy: Copy, change: str) -> None:
    copy.run("setup")
    path = copy.root / change
    path.write_text(f"# another version\n{path.read_text()}")
    assert "it is made anew" in copy.run("setup").stderr and copy.made_environment
    copy.run("setup")
    assert not copy.made_environment


def test_another_note_in_the_lock_file_does_not(copy: Copy) -> None:
    copy.run("setup")
    path = copy.root / "requirements.lock"
    path.write_text(f"{path.read_text()}## another note\n")
    assert copy.run("setup").stderr == "" and not copy.made_environment


def test_an_interrupted_set_up_is_noticed_and_redone(copy: Copy) -> None:
    failed = copy.run("setup", RSGG_TEST_PIP="1")
    assert failed.returncode == 2 and failed.stdout == ""
    assert failed.stderr.splitlines()[-1].startswith("The environment could not be made")
    assert (copy.root / ".venv" / "bin" / "python").exists(), "half an environment is there, and looks like one"
    again = copy.run("setup")
    assert again.returncode == 0 and copy.made_environment and "it is made anew" in again.stderr


def test_a_moved_project_gets_an_environment_of_its_own(copy: Copy) -> None:
    copy.run("setup")
    copy.root = copy.root.rename(copy.root.with_name("moved"))
    assert copy.run("setup").returncode == 0 and copy.made_environment


def test_an_active_conda_environment_is_used_as_it_is(copy: Copy, tmp_path: Path) -> None:
    (tmp_path / "conda" / "bin").mkdir(parents=True)
    shutil.copy(copy.python, tmp_path / "conda" / "bin" / "python")
    done = copy.run("verify", CONDA_DEFAULT_ENV="rsgg", CONDA_PREFIX=str(tmp_path / "conda"))
    assert done.stdout.startswith("arguments <verify>") and not copy.made_environment
    copy.run("verify", CONDA_DEFAULT_ENV="base", CONDA_PREFIX=str(tmp_path / "conda"))
    assert copy.made_environment, "any other conda environment is left alone"


def test_without_a_python_that_is_new_enough_there_is_one_sentence(copy: Copy, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "cat", "cksum", "dirname", "rm", "flock"):
        if shutil.which(tool):
            (tools / tool).symlink_to(str(shutil.which(tool)))
    done = copy.run("setup", RSGG_TEST_TOO_OLD="1", PATH=str(tools))
    assert done.returncode == 2 and not copy.made_environment
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("Python 3.11 or newer")


# -- What is installed --------------------------------------------------------------------------------------------


def locked() -> dict[str, str]:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): pin for name, pin in pins}


def test_the_lock_file_pins_everything_that_is_declared_and_nothing_out_of_range() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in sum(project["optional-dependencies"].values(), project["dependencies"]):
        wanted = Requirement(text)
        assert wanted.specifier.contains(locked()[canonicalize_name(wanted.name)]), text


def test_the_lock_file_is_plain_pins() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text and "+" not in text and "--" not in text
    assert "There are no hashes: torch is a build for CPUs" in text, "whoever looks for them is told why"


def test_conda_and_pip_install_the_same_packages() -> None:
    """The names of the few packages that conda-forge calls otherwise are given here."""
    names = {
        "pytorch-cpu": "torch",
        "pytorch_geometric": "torch-geometric",
        "matplotlib-base": "matplotlib",
        "seaborn-base": "seaborn",
    }
    lines = [line.strip("- ") for line in (ROOT / "environment.yml").read_text().splitlines() if ">=" in line]
    conda = {Requirement(line) for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pip = {Requirement(text) for text in sum(project["optional-dependencies"].values(), project["dependencies"])}
    floor = {canonicalize_name(r.name): next(s.version for s in r.specifier if s.operator == ">=") for r in pip}
    found = {
        canonicalize_name(names.get(r.name, r.name)): next(s.version for s in r.specifier if s.operator == ">=")
        for r in conda
    }
    assert found == floor
