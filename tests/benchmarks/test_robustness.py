"""The experiment on robustness: its plan, that stored counterfactuals are not computed again, and what it writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks import robustness
from benchmarks.publish import RENDERED, WITH_CURVES
from benchmarks.registry import tasks
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store, fingerprint, ledger_table
from benchmarks.results.reader import Results
from benchmarks.results.summary import MEANS
from benchmarks.robustness import ROWS, SMOKE_TASKS, TEST_GRAPHS, Robustness
from benchmarks.running.experiment import Finished, run_cells
from benchmarks.running.options import Table2Options
from benchmarks.running.robust import MEASURED
from benchmarks.table2 import Table2
from benchmarks.verify import cell_of
from figures import tables
from rsgg.baselines.controls import TwoSided
from rsgg.errors import UsageError
from rsgg.oracles import gnn

METHODS = ["two-sided-min", "ddbs", "one-removal", "empty"]


@pytest.fixture(scope="module", autouse=True)
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Few generated graphs, short trainings, and nothing from the reference."""
    few = replace(tasks.task(SMOKE_TASKS[0]), smoke={"n_graphs": 60})
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RSGG_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patched.setattr(gnn, "STEPS", 200)
        patched.setattr(gnn, "CHECK_EVERY", 50)
        patched.setattr(robustness, "REFERENCE", Path("nowhere"))
        patched.setattr(tasks, "TASKS", [few if entry.name == few.name else entry for entry in tasks.TASKS])
        yield


def options(folder: Path, **more: object) -> Table2Options:
    return Table2Options(smoke=True, jobs=0, out=folder, **{"methods": METHODS, **more})  # type: ignore[arg-type]


def plain(cell: Cell) -> TaskEntry:
    return tasks.task(cell.task.name)


# -- the plan ----------------------------------------------------------------------------------------------------


def test_the_plan_has_two_folds_of_every_task_and_few_graphs() -> None:
    cells = Robustness().plan(Table2Options())
    assert {cell.task.name for cell in cells} == {entry.name for entry in tasks.LEARNT}
    assert {(cell.fold, cell.folds, cell.seed, cell.k) for cell in cells} == {(0, 5, 0, 1), (1, 5, 0, 1)}
    assert {cell.task.max_test for cell in cells} == {TEST_GRAPHS} and {cell.task.max_train for cell in cells} == {400}
    assert {cell.method.title.removesuffix(f":{cell.method.variant}") for cell in cells} == {
        row.partition(":")[0] for row in ROWS
    }
    assert all(cell.seed_for("fit") == replace(cell, task=plain(cell), observed="").seed_for("fit") for cell in cells)
    assert cell_of(cells[0].definition) == cells[0], "verify can compute it again"


def test_measured_graphs_are_among_those_of_table2_and_addresses_are_not() -> None:
    cells = Robustness().plan(Table2Options(datasets=["ba-2motifs-gin"], methods=["empty"]))
    others = Table2().plan(Table2Options(datasets=["ba-2motifs-gin"], methods=["empty"], folds=["0-1"]))
    for cell, other in zip(cells, others, strict=True):
        few, many = (set(one.task.load().folds(5, 0)[one.fold].test.tolist()) for one in (cell, other))
        assert len(few) == TEST_GRAPHS and few < many
    assert not {cell.key for cell in cells} & {cell.key for cell in others}
    small = Robustness().plan(Table2Options(smoke=True))
    table2 = Table2().plan(Table2Options(smoke=True, datasets=list(SMOKE_TASKS)))
    assert not {cell.key for cell in small} & {cell.key for cell in table2}


def test_folds_that_a_task_does_not_have_are_refused() -> None:
    with pytest.raises(UsageError, match=r"no fold 5 of MUTAG, GIN; its folds are 0 to 4"):
        Robustness().plan(Table2Options(datasets=["mutag-gin"], folds=["5"]))


def test_rows_that_start_from_stored_results_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot explain a graph anew"):
        Robustness().plan(Table2Options(methods=["obs-min"]))


# -- a run -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("done")
    assert Robustness().run(options(folder)) == 0
    return folder


def test_a_run_writes_a_table_a_page_and_what_the_manifest_says(done: Path) -> None:
    table = pd.read_csv(done / "robustness.csv")
    assert tuple(table.columns) == MEANS and set(table["metric"]) <= {"correctness", *MEASURED}
    means = table.set_index(["method", "metric"])["mean"]
    assert means["two-sided-min", "told_frozen"] == means["ddbs", "told_frozen"] == 1 > means["empty", "told_frozen"]
    assert means["empty", "actionable"] == 0 and means["empty", "stable_seed"] == 1
    same = [means[method, f"agree_{kind}"] for method in METHODS for kind in ("seed", "subsample", "architecture")]
    assert len(set(same)) <= 3 and all(0 <= share <= 1 for share in same), "the same inputs and copies for all"
    page = (done / "robustness.md").read_text(encoding="utf-8")
    assert "Empty graph" in page and "by chance" in page and "told" in page
    assert "cannot be trained again" not in page, "this oracle is trained here"
    stored = [store for _, _, store in Store(done).everything()]
    assert len(stored) == len(METHODS)


def test_a_published_oracle_is_said_not_to_be_trained_again(tmp_path: Path) -> None:
    line = {"method": "empty", "variant": "control", "metric": "robust_seed", "mean": 0.5, "ci_low": 0, "ci_high": 1}
    pd.DataFrame([{"task": "aids-gcn", **line, "n": 3}]).to_csv(tmp_path / "robustness.csv", index=False)
    page = tables.markdown("robustness", Results((tmp_path,)))
    assert "cannot be trained again as it was: its copies are GCNs" in page and "0.500" in page


def test_counterfactuals_of_table2_are_taken_and_not_computed_again(
    done: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stored edits are what is measured; and as they are those that would be found, all numbers stay the same."""
    asked = ["two-sided-min", "one-removal"]
    folder = tmp_path_factory.mktemp("with_table2")
    table2 = Table2().plan(options(folder, methods=asked, datasets=list(SMOKE_TASKS), folds=["0"]))
    run_cells(table2, Store(folder))
    explained = TwoSided._explain
    seeds: list[int] = []

    def counted(self: TwoSided, graphs: Any, classes: Any, oracle: Any, k: int, seed: int) -> Any:
        seeds.append(seed)
        return explained(self, graphs, classes, oracle, k, seed)

    monkeypatch.setattr(TwoSided, "_explain", counted)
    assert Robustness().run(options(folder, methods=asked)) == 0
    cells = Robustness().plan(options(folder, methods=asked))
    assert len(seeds) == 4, "harmless edit, another seed, frozen pairs, three candidates; not the graphs as they are"
    for cell in cells:
        one, other = Store(done).read(cell), Store(folder).read(cell)
        assert one is not None and other is not None
        assert fingerprint(one.table) == fingerprint(other.table)
        assert one.metadata["history"] == other.metadata["history"]
        whole = Store(folder).read(table2[cells.index(cell)])
        assert whole is not None
        costs = whole.ledger.set_index("instance")["fit_seconds"]
        assert other.ledger["fit_seconds"].tolist() == costs[other.ledger["instance"]].tolist()


def test_stored_edits_are_what_is_measured(done: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A stored ledger with other edits changes what is measured: it is believed, not computed again."""
    folder = tmp_path_factory.mktemp("other_edits")
    (cell,) = Table2().plan(options(folder, methods=["empty"], datasets=list(SMOKE_TASKS), folds=["0"]))
    store = Store(folder)
    run_cells([cell], store)
    stored = store.read(cell)
    assert stored is not None
    nothing = stored.ledger.assign(edits=[[] for _ in range(len(stored.ledger))], found=False, reason="by hand")
    store.write(cell, ledger_table(nothing), duration=1.0)
    assert Robustness().run(options(folder, methods=["empty"])) == 0
    means = pd.read_csv(folder / "robustness.csv").set_index("metric")["mean"]
    assert means["correctness"] == 0 and "robust_seed" not in means.index, "no stored edits, nothing valid"
    assert pd.read_csv(done / "robustness.csv").set_index(["method", "metric"])["mean"]["empty", "correctness"] > 0


def test_publish_renders_it_with_what_was_measured() -> None:
    assert Robustness in [kind for kind, _ in RENDERED] and "robustness" in WITH_CURVES


def test_nothing_stored_is_an_empty_table() -> None:
    empty = robustness.table(Finished([], Store(Path("nowhere")), Path("nowhere"), {}))
    assert tuple(empty.columns) == MEANS and not len(empty) and not np.any(empty)
