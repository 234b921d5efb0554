"""The bugs that are made on purpose: which there are, what they do, and what the run says about survivors."""

from __future__ import annotations

import ast
import csv
import subprocess
from pathlib import Path

import hypothesis.strategies  # noqa: F401  # loaded before a process is forked that needs it
import pytest

from benchmarks import cli
from tests.mutation import run
from tests.mutation.mutants import Mutant, mutants_of, sample

SOURCE = '''
"""Text with 1 in it."""
from math import sqrt
STEPS = 2
def f(x: int, least: float = 0.5) -> int:
    """0 < 1"""
    total = 0
    total += x
    if x < 3 and not least:
        raise ValueError("at most 3" + str(1))
    return max(abs(x), total)
'''


def changes(source: str) -> list[tuple[str, str, str]]:
    return [(m.function, m.before, m.after) for m in mutants_of(ast.parse(source))]


def value(source: str, mutant: Mutant | None, tree: ast.Module, *given: object) -> object:
    if mutant is not None:
        mutant.apply()
    names: dict[str, object] = {}
    exec(compile(tree, "example", "exec"), names)
    return names["f"](*given)  # type: ignore[operator]


def test_every_change_of_an_example_by_hand() -> None:
    assert sorted(changes(SOURCE)) == sorted(
        [
            ("module", "2", "3"),
            ("f", "0.5", "1.0"),
            ("f", "0", "1"),
            ("f", "total += x", "pass"),
            ("f", "x < 3 and (not least)", "x < 3 or not least"),
            ("f", "x < 3", "x <= 3"),
            ("f", "x < 3", "x >= 3"),
            ("f", "x < 3", "x < 4"),
            ("f", "not least", "least"),
            ("f", "x < 3 and (not least)", "not (x < 3 and (not least))"),
            ("f", "max(abs(x), total)", "min(abs(x), total)"),
            ("f", "abs(x)", "x"),
        ]
    )


def test_one_change_at_a_time_and_the_source_stays() -> None:
    """Of 12 mutants all but those of the constant and the default change f(-7, 1.0), f(2, 1.0) or f(5, 0)."""
    given = ((-7, 1.0), (2, 1.0), (5, 0))
    usual = [value(SOURCE, None, ast.parse(SOURCE), *each) for each in given]
    assert usual == [7, 2, 5]
    found = []
    for i in range(len(changes(SOURCE))):
        outcomes: list[object] = []
        for each in given:
            tree = ast.parse(SOURCE)
            try:
                outcomes.append(value(SOURCE, mutants_of(tree)[i], tree, *each))
            except ValueError:
                outcomes.append("error")
        found.append(outcomes != usual)
    assert found.count(False) <= 5 and found.count(True) >= 7


def test_a_sample_does_not_depend_on_what_stands_elsewhere() -> None:
    source = "def f(x):\n    return x + 1 < 2\n"
    longer = f"def g(x):\n    return x * 3\n\n\n{source}"
    chosen = {m.key for m in sample(mutants_of(ast.parse(source)), 3)}
    among = {m.key for m in sample(mutants_of(ast.parse(longer)), 3 + 2)}
    assert len(chosen) == 3 and len(among) == 5
    assert {key for key in among if key[0] == "f"} <= {m.key for m in mutants_of(ast.parse(source))}
    assert len(chosen & among) >= 3 - 2, "each mutant of g can push out one of f at most"


def test_the_same_change_twice_in_a_function_is_told_apart() -> None:
    keys = [m.key for m in mutants_of(ast.parse("def f(x):\n    return [x < 1, x < 1]\n"))]
    assert len(set(keys)) == len(keys) == 8


def test_every_test_that_is_named_exists_and_every_survivor_has_a_reason() -> None:
    for target in run.TARGETS:
        assert target.file.exists() and all((run.ROOT / test).exists() for test in target.tests)
        found = len(target.mutants(run.MUTANTS_PER_MODULE))
        least = 30 if target.path == "rsgg/oracles/oracle.py" else run.MUTANTS_PER_MODULE  # it hardly computes anything
        assert least <= found <= run.MUTANTS_PER_MODULE
    with run.SURVIVORS.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert all(line["reason"] for line in lines)
    assert {line["module"] for line in lines} <= {target.path for target in run.TARGETS}


def test_a_survivor_without_a_reason_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    target = run.Target("example.py", ())
    mutants = mutants_of(ast.parse(SOURCE))
    one = run.Outcome(target, mutants, mutants[:1])
    reason: dict[tuple[str, ...], str] = {("example.py", *mutants[0].key): "read by nobody"}
    assert run._verdict([one], reason) == 0
    assert run._verdict([one], {}) == 1 and "1 survivors have no reason" in capsys.readouterr().out
    two = run.Outcome(target, mutants, mutants[:2])
    reason[("example.py", *mutants[1].key)] = "so is this"
    assert run._verdict([two], reason) == 1, "10 of 12 are fewer than 90 %"


def test_a_mutant_is_killed_by_a_test_that_sees_it_and_survives_one_that_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project of one module: the test asks for f(2) only, so that the boundary at 5 is never looked at."""
    (tmp_path / "lonely.py").write_text("def f(x):\n    return 1 if x > 5 else x * x\n")
    (tmp_path / "test_lonely.py").write_text("from lonely import f\ndef test_f():\n    assert f(2) == 4\n")
    monkeypatch.setattr(run, "ROOT", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    outcome = run.examine(run.Target("lonely.py", ("test_lonely.py",)), 60, 1)
    survived = {(m.before, m.after) for m in outcome.survivors}
    assert survived == {
        ("1 if x > 5 else x * x", "2 if x > 5 else x * x"),
        ("1 if x > 5 else x * x", "0 if x > 5 else x * x"),
        ("x > 5", "x >= 5"),
        ("x > 5", "x > 6"),
    }
    assert {(m.before, m.after) for m in outcome.mutants} - survived == {("x > 5", "x <= 5"), ("x * x", "x / x")}


@pytest.mark.parametrize("long", [False, True])
def test_the_long_test_verifies_the_reference_and_runs_the_mutants_after_everything_else(
    long: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def noted(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        ran.append(command[2])
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", noted)
    assert cli.main(["test", "--long"] if long else ["test"]) == 0
    assert ran == ["ruff", "ruff", "mypy", "pytest"] + ["benchmarks.cli", "tests.mutation.run"] * long


def test_the_table_keeps_the_lines_of_modules_that_were_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "README", tmp_path / "README.md")
    monkeypatch.setattr(run, "SURVIVORS", tmp_path / "survivors.csv")
    (tmp_path / "README.md").write_text("Words.\n\n")
    mutants = mutants_of(ast.parse(SOURCE))
    one, other = run.TARGETS[:2]
    reasons: dict[tuple[str, ...], str] = {(one.path, *mutants[3].key): "because"}
    run.write([run.Outcome(other, mutants, mutants[:3])], {})
    run.write([run.Outcome(one, mutants, mutants[3:4])], reasons)
    assert (tmp_path / "README.md").read_text().splitlines() == [
        "Words.",
        "",
        "| module | mutants | killed | % |",
        "|---|---:|---:|---:|",
        f"| `{one.path}` | 12 | 11 | 92 |",
        f"| `{other.path}` | 12 | 9 | 75 |",
        "| all | 24 | 20 | 83 |",
    ]
    lines = (tmp_path / "survivors.csv").read_text().splitlines()
    assert len(lines) == 1 + 1 + 3 and lines[1].startswith(one.path) and lines[1].endswith(",because")
    assert run.known_reasons()[(one.path, *mutants[3].key)] == "because"
