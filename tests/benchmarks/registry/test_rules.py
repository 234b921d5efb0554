"""The rules are where they are said to be."""

from __future__ import annotations

import ast
import re

import pytest

from benchmarks.registry import rules
from benchmarks.results.files import ROOT

NO_LIMITS = {  # numbers that decide no verdict
    "POINTS", "WINDOWS", "EXACT", "_SLACK",  # how a curve is cut up; rounding errors
    "ITERATIONS", "SIMULATED", "SEED",  # of a simulation
}  # fmt: skip
JUDGING = [
    *sorted((ROOT / "benchmarks" / "judging").rglob("*.py")),
    *(ROOT / "benchmarks" / f"{name}.py" for name in ("claims", "convergence", "datasets", "variations")),
]


@pytest.mark.parametrize("path", JUDGING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_limit_stands_beside_what_is_judged_by_it(path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    numbers = [
        target.id
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.BinOp)
        for target in node.targets
        if isinstance(target, ast.Name) and not isinstance(getattr(node.value, "value", 0), str)
    ]
    assert set(numbers) <= NO_LIMITS, "put it into benchmarks/registry/rules.py"


def test_where_the_other_rules_are_is_true() -> None:
    said = rules.__doc__ or ""
    places = re.findall(r"(?:rsgg|benchmarks|results)/[\w/-]+(?:\.py|\.csv)?", said)
    assert len(places) > 5 and all((ROOT / place).exists() for place in places)
    assert "All rules are in this file" not in said
