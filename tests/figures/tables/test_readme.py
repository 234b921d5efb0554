"""The README is true: its numbers are those of the reference results, its Python runs, its links lead somewhere."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.results.files import REFERENCE, ROOT
from benchmarks.results.reader import Results
from figures import readme
from figures.tables.statements import in_short

TEXT = readme.README.read_text(encoding="utf-8")


def test_numbers_are_those_of_the_reference_results() -> None:
    assert readme.with_blocks(TEXT, Results((REFERENCE,))) == TEXT, "run: python figures/readme.py"
    assert all(f"<!-- end of {name} -->" in TEXT for name in readme.BLOCKS)


def test_a_block_has_the_printed_row_and_ours(tmp_path: Path) -> None:
    row = {"dataset": "tree-cycles", "method": "rsgg-ce", "variant": "faithful"}
    lines = [{**row, "metric": "ged", "mean": 2.0}, {**row, "metric": "correctness", "mean": 0.9}]
    lines += [{**line, "dataset": "asd"} for line in lines]
    pd.DataFrame(lines).to_csv(tmp_path / "table1.csv", index=False)
    verdicts = pd.DataFrame({"metric": ["ged", "runtime", "ged"], "verdict": ["reproduced", "not comparable", None]})
    verdicts = verdicts.assign(kind="independent", can_fail=["yes", "no", None])
    verdicts.to_csv(tmp_path / "verdicts.csv", index=False)
    findings = {
        "finding": ["It is so.", "And so."],
        "verdict": ["confirmed", "confirmed in part"],
        "fails": ["", "this"],
    }
    pd.DataFrame(findings).to_csv(tmp_path / "findings.csv", index=False)
    text = readme.table1(Results((tmp_path,)))
    assert "- It is so. *Confirmed.*\n" in text and "- And so. *Confirmed in part.* Not so: this." in text
    assert "| *RSGG-CE, printed* | 0.885 |  |  | 11.000 |" in text and "| *MEG, printed* | × |" in text
    assert "| **RSGG-CE, by score function** | 0.900 |  |  | 2.00 |" in text and "CF², as released" not in text
    marked = "before <!-- results: written by figures/readme.py --> old <!-- end of results --> after"
    written = readme.with_blocks(marked, Results((tmp_path,)))
    assert written.startswith("before ") and written.endswith(" after") and " old " not in written and text in written


def test_the_first_screen_says_what_reproduced_what_it_is_worth_and_what_the_method_does() -> None:
    results = Results((REFERENCE,))
    verdicts = results.table("verdicts", as_text=True)
    assert verdicts is not None
    lines = readme.summary(results).split("\n")
    assert len(lines) == 5 and lines[0] == f"- {in_short(verdicts.fillna(''))[0]}"
    assert "printed 0.885 / 11.000; " in lines[2] and "RSGG-CE on ASD" in lines[3]
    assert "by score function (ours) 0.78 / 305 (16 of 20 fits collapse)" in lines[3]
    assert all(len(line) <= 2 * 130 for line in lines), "two lines each, in the width of this file"
    assert TEXT.index(lines[0]) < 1500, "on the first screen"


def test_what_learning_and_searching_cost_is_computed() -> None:
    results = Results((REFERENCE,))
    calls = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])["mean"]
    fit, ours = (calls["tree-cycles", "rsgg-ce", "faithful", f"{what}_calls"] for what in ("fit", "explain"))
    search = calls["tree-cycles", "two-sided-min", "search", "explain_calls"]
    assert f"after {math.ceil(fit / (search - ours)):,} graphs of Tree-Cycles" in readme.break_even(results)
    assert "OBS 23% more at Correctness 1.000 on ASD" in readme.search(results)


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
        assert target.startswith("http") or (ROOT / target).exists(), target
