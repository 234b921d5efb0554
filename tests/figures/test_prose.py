"""The README and the manual are true: their numbers are those of the reference results."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import product
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.registry import methods, tasks
from benchmarks.results.files import REFERENCE, ROOT
from benchmarks.results.reader import Results
from figures import prose
from figures.tables.statements import ROWS_AT_A_GLANCE, glance, in_short

TEXT = prose.README.read_text(encoding="utf-8")
RESULTS = Results((REFERENCE,))


@pytest.mark.parametrize("page", [path.relative_to(ROOT).as_posix() for path in prose.pages()])
def test_numbers_are_those_of_the_reference_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert prose.with_blocks(text, RESULTS) == text, "run: python figures/prose.py"
    assert text.count("written by figures/prose.py") == len(prose.MARKED.findall(text)), "a block has no end"


def test_every_block_stands_in_one_page() -> None:
    texts = [path.read_text(encoding="utf-8") for path in prose.pages()]
    found = Counter(name for text in texts for name in prose.MARKED.findall(text))
    assert max(found.values()) == 1 and set(prose.BLOCKS) <= set(found)


def test_every_row_and_every_printed_method_has_its_page() -> None:
    """A row of the registry that no page describes would be a method without equation, deviations and evidence."""
    described: list[methods.Row] = []
    printed = set()
    for path in (prose.MANUAL / "methods").glob("*.md"):
        for name in prose.MARKED.findall(path.read_text(encoding="utf-8")):
            if name.startswith("rows of "):
                described += [row.row for row in methods.choose([name.removeprefix("rows of ")])]
            printed |= {name.removeprefix("verdicts on ")} if name.startswith("verdicts on ") else set()
    own = [method.row for method in methods.METHODS if not method.base and method.variant != methods.OWN]
    assert sorted(described) == sorted(own) and printed == set(methods.PAPER)


def test_a_block_has_the_printed_row_and_ours(tmp_path: Path) -> None:
    row = {"dataset": "tree-cycles", "method": "rsgg-ce", "variant": "faithful"}
    lines = [{**row, "metric": "ged", "mean": 2.0}, {**row, "metric": "correctness", "mean": 0.9}]
    lines += [{**line, "dataset": "asd"} for line in lines]
    pd.DataFrame(lines).to_csv(tmp_path / "table1.csv", index=False)
    text = prose.table1(Results((tmp_path,)))
    assert "| *RSGG-CE, printed* | 0.885 |  |  | 11.000 |" in text and "| *MEG, printed* | × |" in text
    assert "| **RSGG-CE, by score function** | 0.900 |  |  | 2.00 |" in text and "CF², as released" not in text
    marked = "before <!-- results: written by figures/prose.py --> old <!-- end of results --> after"
    written = prose.with_blocks(marked, Results((tmp_path,)))
    assert written.startswith("before ") and written.endswith(" after") and " old " not in written and text in written


def test_the_first_screen_says_what_reproduced_what_it_is_worth_and_what_the_method_does() -> None:
    verdicts = RESULTS.table("verdicts", as_text=True)
    assert verdicts is not None
    lines = prose.summary(RESULTS).split("\n")
    assert len(lines) == 5 and lines[0] == f"- {in_short(verdicts.fillna(''))[0]}"
    assert "printed 0.885 / 11.000; " in lines[2] and "RSGG-CE on ASD" in lines[3]
    assert "by score function (ours) 0.88 / 324 (16 of 20 fits of replicate 0 collapse)" in lines[3]
    assert all(len(line) <= 2.4 * 140 for line in lines), "some two lines each, in the width of this file"
    assert TEXT.index(lines[0]) < 1500, "on the first screen"


@pytest.mark.parametrize("dataset", tasks.PAPER)
def test_the_first_screen_gives_each_row_its_own_numbers_under_its_public_name(dataset: str) -> None:
    """Each name is looked up in the registry, and its row in table1.csv; as released, what the verdict is on."""
    table = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])
    verdicts = pd.read_csv(REFERENCE / "verdicts.csv").set_index(["dataset", "method", "metric"])["mean"]
    by_label = {method.label: method.row for method in methods.METHODS}
    (said,) = glance(RESULTS, dataset)
    parts = re.findall(r"(?:^|; )([^;]+?) (\d\.\d+) / ([\d.]+)", said.partition(": ")[2].rstrip("."))
    found = {name.removesuffix(" (ours)"): numbers for names, *numbers in parts for name in names.split(", ")}
    assert found.pop("printed") and len(found) == len(ROWS_AT_A_GLANCE)
    for name, numbers in found.items():
        row = by_label[name if name in by_label else f"RSGG-CE, {name}"]
        released = row[1] == "released"
        c, g = (
            verdicts[dataset, row[0], m] if released else table.loc[(dataset, *row, m), "mean"]
            for m in ("correctness", "ged")
        )
        assert numbers == [f"{c:.2f}", f"{g:.3g}"], name


def test_the_readme_has_one_table_of_ten_rows_with_what_agreement_is_worth() -> None:
    lines = [line.split(" | ") for line in prose.ten_rows(RESULTS).splitlines() if line.startswith("| ")][2:]
    names = [line[0].removeprefix("| ") for line in lines]
    assert names == [
        f"{methods.label(method)} on {task.label}" for task, method in product(tasks.of_paper(), methods.PAPER)
    ]
    verdicts = pd.read_csv(REFERENCE / "verdicts.csv").set_index(["dataset", "method", "metric"])
    table = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])["mean"]
    for line, (task, method) in zip(lines, product(tasks.PAPER, methods.PAPER), strict=True):
        for cells, metric in ((line[1:4], "correctness"), (line[4:7], "ged")):
            ours = re.sub(r"[^\d.].*", "", cells[2])
            assert float(ours) == pytest.approx(table[task, method, "faithful", metric], abs=5e-3)
            if (task, method, metric) not in verdicts.index:
                assert cells[0] == "*×*" and cells[1] == "–"
                continue
            verdict = verdicts.loc[task, method, metric]
            value, sign = cells[1].split()
            assert float(cells[0].strip("*")) == verdict["printed"]
            assert float(value) == pytest.approx(verdict["mean"], abs=5e-3)
            worth = verdict["kind"] == "independent" and verdict["can_fail"] == "yes"
            signs = {"reproduced": "✓" if worth else "(✓)", "order holds": "≈", "differs": "≠"}
            assert sign == signs[verdict["verdict"]]


def test_what_learning_and_searching_cost_is_computed() -> None:
    calls = pd.read_csv(REFERENCE / "table1.csv").set_index(["dataset", "method", "variant", "metric"])["mean"]
    fit, ours = (calls["tree-cycles", "rsgg-ce", "faithful", f"{what}_calls"] for what in ("fit", "explain"))
    search = calls["tree-cycles", "two-sided-min", "search", "explain_calls"]
    assert f"after {math.ceil(fit / (search - ours)):,} graphs of Tree-Cycles" in prose.break_even(RESULTS)
    assert "OBS 20% more at Correctness 1.000 on ASD" in prose.search(RESULTS)


def test_the_rule_of_collapse_is_cited_where_it_stands() -> None:
    (cited,) = set(re.findall(r"By the rule of `(.+?)`", prose.training(RESULTS)))
    assert "MIN_FLIP_RATE, MIN_DIVERSITY = " in (ROOT / cited).read_text(encoding="utf-8")


def test_settings_of_a_row_are_those_of_the_registry() -> None:
    text = prose.rows_of("cf2", RESULTS)
    assert "| **CF² ∇** | `cf2:faithful` | `rsgg.baselines.cf2:CF2` | on Tree-Cycles · " in text
    assert "strength = 20.0, factual = 0.5 |" in text and "| `cf2:released` |" in text and "cf2-min" not in text
    assert "on tasks with learnt oracles: epochs = 50" in prose.rows_of("rsgg-ce:literal", RESULTS)


def test_real_data_are_shown_as_soon_as_the_reference_holds_them(tmp_path: Path) -> None:
    assert prose.real_data(Results((tmp_path,))) == "The committed reference does not hold this table yet."
    line = {"task": "aids-gcn", "method": "empty", "variant": "control", "finds": "finds little"}
    pd.DataFrame([line]).to_csv(tmp_path / "table2_kinds.csv", index=False)
    assert "| Empty graph | little |" in prose.real_data(Results((tmp_path,)))
