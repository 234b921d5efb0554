"""Stored results replayed: rows "+ min" cost what fitting and minimising the base costs; known results are kept."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
import torch

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method, made_minimal
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store, fingerprint
from benchmarks.running.experiment import run_cells
from benchmarks.running.plan import grid
from benchmarks.running.replay import rows_about, with_rows_of
from benchmarks.running.run_cell import run_cell
from tests.benchmarks.running.processes import forked_workers

TASK = tasks.task("tree-cycles").varied({"n_graphs": 40, "n_nodes": 12})
BASES = (("cf2", "released"), ("dce", "search"), ("clear", "released"), ("rsgg-ce", "released"), ("irand", "search"))


def ledger_of(store: Store, cell: Cell) -> pd.DataFrame:
    stored = store.read(cell)
    assert stored is not None
    return stored.ledger


def cells_of(base: Method) -> tuple[Cell, Cell]:
    return Cell(TASK, base, 0), Cell(TASK, made_minimal(base), 0)


@pytest.mark.parametrize("row", BASES, ids=":".join)
def test_like_minimising_what_the_method_returns(row: methods.Row, tmp_path: Path) -> None:
    """The same instances are explained as by `Minimised` around the method itself, with the same number of calls."""
    from benchmarks.running.run_cell import Run, loaded, seed_everything
    from rsgg.compose import Minimised
    from rsgg.oracles import CountingOracle
    from rsgg.task import Problem

    base = methods.rows()[row].tiny()
    own, minimal = cells_of(base)
    store = Store(tmp_path)
    run_cells([own, minimal], store)
    before, after = ledger_of(store, own), ledger_of(store, minimal)

    whole = Minimised(base=base.build())
    problem = loaded(TASK, None, whole.encoding)
    assert isinstance(problem, Problem)
    run = Run(own, whole, problem)
    run.fit()  # as the base itself was fitted; then explained with the base's seed
    seed = own.seed_for("explain")
    seed_everything(seed)
    results = whole.explain(run.test, CountingOracle(problem.oracle), seed=seed)

    flips = before["predicted"] != before["predicted_cf"]
    assert after["found"].tolist() == [result.found for result in results]
    assert (after["predicted"] != after["predicted_cf"]).equals(after["found"])
    assert after["found"].sum() >= (flips & before["simple"]).sum()
    assert (after["ged"] <= before["ged"])[after["found"]].all()
    assert (after["calls"] >= before["calls"]).all()
    assert after["fit_calls"].equals(before["fit_calls"]) and after["fit_seconds"].equals(before["fit_seconds"])
    # The order in which edits are tried is drawn by another name, so calls agree where there is only one order.
    single = [i for i, edits in enumerate(before["edits"]) if len(edits) == 1 and before["simple"][i]]
    assert [after["calls"][i] for i in single] == [results[i].calls for i in single]


def test_a_base_is_planned_and_computed_first(tmp_path: Path) -> None:
    cells = grid([TASK], methods.choose(["dce-min"]), folds=[0])
    assert [cell.method.name for cell in cells] == ["dce", "dce-min"]
    store = Store(tmp_path)
    with forked_workers():
        run_cells([cells[1], cells[0]], store, jobs=1)  # whatever the order that is asked for
    assert store.stored(cells) == {cell.key for cell in cells}


def test_without_its_base_there_is_a_reason(tmp_path: Path) -> None:
    _, minimal = cells_of(methods.rows()["dce", "search"])
    report = run_cells([minimal], Store(tmp_path))
    (outcome,) = report.outcomes
    assert outcome.status == "skipped" and "no result to make minimal" in outcome.reason


def test_address_depends_on_the_base() -> None:
    base = methods.rows()["cf2", "faithful"]
    keys = {
        cells_of(method)[1].key for method in (base, base.with_options({"epochs": 7}), base.for_task("tree-cycles"))
    }
    assert len(keys) == 3


# -- Results that another cell has found already -----------------------------------------------------------------------


def test_known_results_are_taken_with_what_they_cost(tmp_path: Path) -> None:
    method = methods.rows()["two-sided-min", "search"]
    many, few = Cell(TASK, method, 0), Cell(TASK.measured_by({"max_test": 2}), method, 0, observed="something")
    store = Store(tmp_path)
    run_cells([many], store)
    known = with_rows_of(few, many, (Store(tmp_path / "empty"), store))
    alone, taken = run_cell(few), run_cell(known)
    assert alone.table is not None and taken.table is not None and len(taken.table) == 2
    assert fingerprint(alone.table) == fingerprint(taken.table), "as they would have been found"
    before = ledger_of(store, many).set_index("instance")["seconds"]
    rows = taken.table.to_pandas()
    assert rows["seconds"].tolist() == before[rows["instance"]].tolist()
    assert with_rows_of(few, many, (Store(tmp_path / "empty"),)).base_ledger is None


def test_rows_about_other_graphs_or_graphs_that_are_not_simple_are_not_taken(tmp_path: Path) -> None:
    cell = Cell(TASK, methods.rows()["empty", "control"], 0)
    store = Store(tmp_path)
    run_cells([cell], store)
    table = with_rows_of(cell, cell, (store,)).base_ledger
    instances = torch.tensor(table["instance"].to_pylist())
    rows = rows_about(table, instances.flip(0))
    assert rows is not None and rows["instance"].tolist() == instances.flip(0).tolist(), (
        "in the order that is asked for"
    )
    assert rows_about(None, instances) is None
    assert rows_about(table, torch.tensor([*instances.tolist(), 10**6])) is None
    doubled = table.to_pandas().assign(simple=False)
    assert rows_about(pa.Table.from_pandas(doubled), instances) is None
