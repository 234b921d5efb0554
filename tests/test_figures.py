"""Figures draw what is stored: positions equal the table's numbers, and missing rows are left out, not made up."""

from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from figures import readme, tradeoff
from figures.results import Results


@pytest.fixture
def table() -> pd.DataFrame:
    rows = [
        ("tree-cycles", "rsgg-ce", "faithful", "ged", 2.0),
        ("tree-cycles", "rsgg-ce", "faithful", "correctness", 0.9),
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "method", "variant", "metric", "mean"])
    return frame.assign(ci_low=frame["mean"] * 0.9, ci_high=frame["mean"] * 1.1)


def test_tradeoff_puts_rows_where_the_numbers_are(table: pd.DataFrame, tmp_path: Path) -> None:
    table.to_csv(tmp_path / "table1.csv", index=False)
    (drawn,) = tradeoff.draw(Results((tmp_path,)))
    tree_cycles, asd = drawn.figure.axes
    measured = [container.lines[0] for container in tree_cycles.containers]
    assert [(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in measured] == [(2.0, 0.9)]
    assert not asd.containers
    printed = {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in asd.lines}
    assert printed == {(655.661, 0.463), (1479.114, 0.554), (3183.729, 0.529), (234.853, 0.603)}  # MEG has no ASD row
    tree_cycles_misses, asd_misses = drawn.missing
    assert "RSGG-CE, as released" in tree_cycles_misses and "RSGG-CE, faithful" not in tree_cycles_misses
    assert "RSGG-CE, faithful" in asd_misses and "MEG, as released" not in asd_misses  # that row is not defined
    plt.close(drawn.figure)


def test_a_local_table_counts_where_it_is_complete_and_no_older_than_the_reference(
    table: pd.DataFrame, tmp_path: Path
) -> None:
    local, reference = (tmp_path / name / "table1.csv" for name in ("local", "reference"))
    for path, minute in ((local, 1), (reference, 0)):
        path.parent.mkdir()
        table.to_csv(path, index=False)
        os.utime(path, (60 * minute, 60 * minute))
    results = Results((local.parent, reference.parent))
    assert results.path("table1") == local
    os.utime(reference, (120, 120))  # a newer reference: the method may have changed since
    assert results.path("table1") == reference
    os.utime(local, (180, 180))
    table.head(1).to_csv(local, index=False)  # a row is missing
    assert results.path("table1") == reference
    reference.unlink()
    assert results.path("table1") == local  # better than nothing


def test_readme_block_has_the_printed_row_and_ours(table: pd.DataFrame) -> None:
    paper = pd.read_csv(readme.PAPER / "table1.csv", dtype=str)
    verdicts = pd.DataFrame({"metric": ["ged", "runtime", "ged"], "verdict": ["reproduced", "order holds", None]})
    findings = pd.DataFrame({"finding": ["It is so."], "verdict": ["confirmed"]})
    text = readme.block(table, paper, verdicts, findings)
    assert "Of the 3 numbers that Table 1 prints, 1 lie inside" in text and "- It is so. *Confirmed.*" in text
    assert "| *RSGG-CE, printed* | 0.885 |  |  | 11.000 |" in text and "| *MEG, printed* | × |" in text
    assert "| **RSGG-CE** | 0.900 |  |  | 2.00 |" in text and "CF², as released" not in text
    marked = "before <!-- results: written by figures/readme.py --> old <!-- end of results --> after"
    written = readme.with_blocks(marked, {"results": text})
    assert written.startswith("before ") and written.endswith(" after") and " old " not in written
