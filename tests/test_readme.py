"""The README is true: its numbers are those of the reference results, and its Python runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from figures import readme

TEXT = readme.README.read_text(encoding="utf-8")


@pytest.mark.skipif(not (readme.REFERENCE / "table1.csv").exists(), reason="no reference results are committed yet")
def test_numbers_are_those_of_the_reference_results() -> None:
    assert readme.with_blocks(TEXT, readme.from_reference()) == TEXT, "run: python figures/readme.py"


def test_python_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every Python block, in order, in one namespace."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.S)
    assert len(blocks) >= 2
    for source in blocks:
        exec(compile(source, "README.md", "exec"), namespace)


def test_files_it_points_at_exist() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert target.startswith("http") or (readme.ROOT / target).exists(), target
