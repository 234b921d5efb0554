"""Variations of a row: which cells they are, and what is said of their differences."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks.registry.methods import rows
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store, history_table, ledger_table
from benchmarks.running.experiment import Finished
from benchmarks.running.options import VariationOptions
from benchmarks.variations import (
    AS_IT_IS,
    BOUNDARIES,
    Variations,
    boundaries,
    cells_of,
    difference,
    is_counted,
    judged,
    on_shared_folds,
    studies,
)
from rsgg.errors import UsageError
from rsgg.rsgg_ce.left_out import PARTS


def test_every_part_of_the_training_is_left_out_on_graphs_that_chose_nothing() -> None:
    cells = cells_of(studies()["training"], VariationOptions())
    assert len(cells) == 10 * (len(PARTS) + 1)
    assert {cell.seed for cell in cells} == {11}, "replicates 0 and 1 were looked at"
    assert len({cell.key for cell in cells}) == len(cells)
    whole = next(cell for cell, name in cells.items() if name == AS_IT_IS)
    assert whole.method.options == rows()["rsgg-ce", "faithful"].for_task("tree-cycles").options


def test_no_cell_of_a_study_is_a_cell_of_a_table() -> None:
    names = {cell.method.name for study in studies().values() for cell in cells_of(study, VariationOptions())}
    assert not names & {name for name, _ in rows()}


def test_no_two_studies_share_a_cell() -> None:
    """The class is no part of a cell's address, so that a row in two variants needs two names."""
    keys = [cell.key for study in studies().values() for cell in cells_of(study, VariationOptions())]
    assert len(set(keys)) == len(keys)


def test_the_training_of_rows_as_they_are_is_kept_where_boundaries_are_counted() -> None:
    for title, study in studies().items():
        for cell, name in cells_of(study, VariationOptions()).items():
            assert is_counted(cell) == (title.startswith("boundaries") and name == AS_IT_IS)


def test_a_study_that_is_not_there_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="training"):
        Variations().plan(VariationOptions(study=["trainign"]))


def test_differences_are_paired_over_folds() -> None:
    index = pd.MultiIndex.from_product([[11, 12], range(5)], names=["seed", "fold"])
    rng = np.random.default_rng(0)
    whole = pd.Series(rng.normal(size=10), index)
    own = whole + 0.3 + pd.Series(rng.normal(0, 0.1, 10), index)
    line = difference(own, whole)
    expected = stats.ttest_rel(own, whole)
    assert line["p"] == pytest.approx(expected.pvalue) and line["folds"] == 10
    low, high = expected.confidence_interval(0.95)
    assert [line["ci_low"], line["ci_high"]] == pytest.approx([low, high])
    assert difference(whole, whole)["p"] == 1.0
    assert "p" not in difference(whole.iloc[:1], whole.iloc[:1])


def test_variations_are_compared_on_the_folds_that_all_have() -> None:
    def folds(n: int) -> pd.DataFrame:
        index = pd.MultiIndex.from_product([[11], range(n)], names=["seed", "fold"])
        return pd.DataFrame({"correctness": np.arange(n, dtype=float)}, index)

    shared = on_shared_folds({AS_IT_IS: folds(6), "a": folds(5), "b": folds(6)})
    assert {name: len(rows) for name, rows in shared.items()} == {AS_IT_IS: 5, "a": 5, "b": 5}
    line = difference(shared["b"]["correctness"], shared[AS_IT_IS]["correctness"])
    assert line["mean"] == 2.0 and line["folds"] == 5


def test_only_sure_differences_in_correctness_and_ged_matter() -> None:
    lines = pd.DataFrame(
        {
            "variation": [AS_IT_IS, "a", "a", "a", "b"],
            "metric": ["correctness", "correctness", "ged", "explain_calls", "correctness"],
            "p": [np.nan, 0.001, 0.02, 1e-9, 0.03],
            "p_holm": np.nan,
            "matters": None,
        }
    )
    found = judged(lines)
    assert found["p_holm"].iloc[1] == pytest.approx(0.003) and found["p_holm"].iloc[2] == pytest.approx(0.04)
    assert found["matters"].iloc[[1, 2, 4]].tolist() == ["yes"] * 3
    assert pd.isna(found["matters"].iloc[0]) and pd.isna(found["matters"].iloc[3])


def test_boundaries_are_those_of_the_row_as_it_is(tmp_path: Path) -> None:
    """The last line of each fold, as `boundaries.csv` has it of stored cells; other variations do not count."""
    options, store = VariationOptions(study=["boundaries"], out=tmp_path), Store(tmp_path)
    cells = cells_of(studies()["boundaries"], options)
    kept = [cell for cell in cells if cell.fold < 2]
    for cell in kept:
        distinct = 1.0 + 2 * cell.fold if cells[cell] == AS_IT_IS else 7.0
        lines = [{"epoch": epoch, "regions": 2.0, "mined": 10.0, "distinct": distinct - epoch} for epoch in (1, 0)]
        store.write(cell, ledger_table(pd.DataFrame([row_of(cell)])), history_table(lines), duration=1.0)
    Variations().write(Finished(kept, store, tmp_path, {}), options)
    found = pd.read_csv(tmp_path / "boundaries.csv")
    assert list(found.columns) == list(BOUNDARIES) and found["distinct"].tolist() == [1, 3]
    assert found[["fold", "mined"]].to_numpy().tolist() == [[0, 10], [1, 10]] and set(found["study"]) == {"boundaries"}


def row_of(cell: Cell) -> dict[str, object]:
    """A ledger row of a graph whose class changes by one edit."""
    numbers = {"seed": cell.seed, "fold": cell.fold, "instance": 0, "candidate": 0, "label": 0, "predicted": 0}
    sizes = {"predicted_cf": 1, "n_nodes": 5, "n_edges": 5, "calls": 3, "fit_calls": 9, "test_size": 1, "ged": 1.0}
    names = {"cell": cell.key, "dataset": cell.task.name, "method": cell.method.name, "variant": cell.method.variant}
    rest = {"seconds": 0.1, "fit_seconds": 0.2, "found": True, "simple": True, "edits": [1], "node_edits": []}
    return {**names, **numbers, **sizes, **rest, "reason": "", "optimum": None, "removal_auroc": None}


def test_studies_that_mine_nothing_have_no_boundaries() -> None:
    assert boundaries("training", pd.DataFrame([{"dataset": "d", "seed": 0, "fold": 0, "epoch": 1}])).empty
