"""Traces: the same results as without, and a record from which the counterfactual can be put together again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch

from benchmarks import cli, traces
from benchmarks.registry.methods import rows
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.artefacts import check as artefacts_check
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store
from benchmarks.running.experiment import Finished, run_cells
from benchmarks.running.plan import grid
from benchmarks.running.workers import Work
from benchmarks.traces import SamplingTrace, Traces, check, merged, of_table1, rows_of
from rsgg.errors import RSGGError
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce.explainer import SAMPLERS, partial_order_sampling, traced
from rsgg.rsgg_ce.partial_order import ExistingThenAll, ExistingThenMissing
from tests.standins import DATA

METHODS = [rows()["rsgg-ce", variant] for variant in ("faithful", "released")]


def cells(k: int = 1) -> list[Cell]:
    return grid([DATA], METHODS, folds=(1,), of=4, smoke=True, k=k)


def _sampled(graphs: GraphBatch, sampler: str, reading: str, oracle: CountingOracle) -> list[torch.Tensor | None]:
    order = ExistingThenAll() if sampler == "released" else ExistingThenMissing()
    scores = torch.where(graphs.adjacency > 0, 0.9, 0.15)
    classes = TreeCyclesOracle().predict(graphs)
    found = partial_order_sampling(
        graphs, scores, classes, oracle, order=order, sampler=SAMPLERS[sampler], iterations=60,
        reading="letter" if reading == "letter" else "text", k=3, seed=5,
    )  # fmt: skip
    return [candidate.adjacency for candidate in found]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("reading", ["text", "letter"])
def test_a_trace_is_what_happened(sampler: str, reading: str) -> None:
    """Input without `removed` and with `checked` is the candidate; calls are the checks; tracing changes neither."""
    graphs = DATA.load().graphs
    plain, watched = CountingOracle(TreeCyclesOracle()), CountingOracle(TreeCyclesOracle())
    expected = _sampled(graphs, sampler, reading, plain)
    with traced() as made:
        found = _sampled(graphs, sampler, reading, watched)
    assert len(made) == len(found) == 3 * len(graphs)
    assert sum(len(trace.checked) for trace in made) > 0 and sum(len(trace.removed) for trace in made) > 0
    for owner, (trace, candidate, other) in enumerate(zip(made, found, expected, strict=True)):
        assert candidate is other is None or (
            candidate is not None and other is not None and torch.equal(candidate, other)
        )
        assert watched.calls_of(owner) == plain.calls_of(owner)
        if reading == "text":
            assert watched.calls_of(owner) == 1 + len(trace.checked)
        rebuilt = graphs.adjacency[owner // 3].numpy().copy()
        for u, v in trace.removed:
            rebuilt[u, v] = rebuilt[v, u] = 0
        for u, v in trace.checked:
            rebuilt[u, v] = rebuilt[v, u] = 1
        if candidate is not None:
            assert (rebuilt == (candidate.numpy() > 0)).all()
    with traced() as unused:
        pass
    assert unused == [] and _sampled(graphs, sampler, reading, CountingOracle(TreeCyclesOracle())) is not None


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Table 1's cells, and in the folder `traces` the same with three candidates and a trace beside them."""
    folder = tmp_path_factory.mktemp("results")
    run_cells(cells(), Store(folder))
    run_cells(cells(k=3), Store(folder / "traces"), Work(observer=SamplingTrace()))
    return folder


def read(folder: Path, cell: Cell) -> tuple[pd.DataFrame, pd.DataFrame]:
    found = Store(folder / "traces").read(cell)
    assert found is not None
    return rows_of(cell, found)


def test_candidate_0_is_the_one_of_the_table(stored: Path, tmp_path: Path) -> None:
    for plain, cell in zip(cells(), cells(k=3), strict=True):
        assert of_table1(cell) == plain and cell != plain
        made, drawn = read(stored, cell)
        ledger = Store(stored).ledger([plain])
        assert made["instance"].tolist() == ledger["instance"].tolist()
        assert made["calls"].tolist() == ledger["calls"].tolist() and set(made["cell"]) == {plain.key}
        assert len(drawn) == 3 * len(made)
        first = drawn[drawn["candidate"] == 0].set_index("instance")["edits"]
        for row in ledger.itertuples():
            assert list(first[row.instance]) == list(row.edits)
        check(cell, drawn, [Store(tmp_path), Store(stored)])
        check(cell, drawn, [Store(tmp_path)])  # not stored anywhere: nothing to compare with


def test_a_stored_trace_makes_the_counterfactual_again(stored: Path) -> None:
    adjacency = DATA.load().graphs.adjacency.numpy()
    for plain, cell in zip(cells(), cells(k=3), strict=True):
        edits = Store(stored).ledger([plain]).set_index("instance")["edits"]
        made, _ = read(stored, cell)
        assert made["found"].any()
        for row in made[made["found"]].itertuples():
            added = [pair for pair in row.checked if not adjacency[row.instance][divmod(pair, row.n_nodes)]]
            again = set(row.checked) & set(row.removed)
            assert set(map(int, edits[row.instance])) == (set(row.removed) - again) | set(added)
            assert len(row.scores) == 45


def test_other_edits_than_those_of_table_1_are_an_error(stored: Path) -> None:
    cell = cells(k=3)[0]
    _, drawn = read(stored, cell)
    with pytest.raises(RSGGError, match=r"edited otherwise than .* says; other versions of libraries can do that"):
        check(cell, drawn.assign(edits=[[1, 2, 3, 4, 5]] * len(drawn)), [Store(stored)])
    with pytest.raises(RSGGError, match="--methods rsgg-ce:faithful --datasets tree-cycles --folds 1"):
        check(cell, drawn[drawn["instance"] != drawn["instance"].min()], [Store(stored)])


def test_files_grow_cell_by_cell_and_a_cell_replaces_itself(stored: Path, tmp_path: Path) -> None:
    path, (one, two) = tmp_path / "candidates.parquet", cells(k=3)
    drawn = {cell: read(stored, cell)[1] for cell in (one, two)}

    def add(cell: Cell) -> bytes:
        with Artefacts(tmp_path, "traces") as files:
            traces._write(files, path.name, merged(path, traces.CANDIDATES, drawn[cell]))
        return path.read_bytes()

    add(two)
    first = add(one)
    assert add(two) == first, "the same whatever came first"
    table = pd.read_parquet(path)
    assert len(table) == len(drawn[one]) + len(drawn[two])
    assert [list(map(int, edits)) for edits in table["edits"][: len(drawn[one])]] == [
        list(map(int, edits)) for edits in drawn[one]["edits"]
    ]
    assert pq.read_schema(path).remove_metadata() == traces.CANDIDATES
    path.write_bytes(first[:100])
    assert len(merged(path, traces.CANDIDATES, drawn[one])) == len(drawn[one]), "cut short: made anew"


def test_the_tables_of_a_run_are_both_files(stored: Path, tmp_path: Path) -> None:
    done = Finished(cells(k=3), Store(stored / "traces"), tmp_path, {})
    Traces().write(done, None)
    made, drawn = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("traces", "candidates"))
    assert len(drawn) == 3 * len(made) == 3 * 2 * 6
    assert set(made["variant"]) == {"faithful", "released"} and set(drawn["candidate"]) == {0, 1, 2}


def test_what_does_not_sample_along_an_order_is_not_traced(tmp_path: Path) -> None:
    """Its candidates are kept; those that keep the class, as the empty graph of a tree does, are not valid."""
    plan = grid([DATA], [rows()["empty", "control"]], folds=(1,), of=4, k=2)
    run_cells(plan, Store(tmp_path / "traces"), Work(observer=SamplingTrace()))
    made, drawn = read(tmp_path, plan[0])
    ledger = Store(tmp_path / "traces").ledger(plan)
    assert made.empty and len(drawn) == len(ledger)
    flips = ledger.sort_values(["instance", "candidate"])["predicted"] != 0
    assert drawn["found"].tolist() == (flips & (drawn["candidate"] == 0)).tolist() and drawn["found"].any()


def test_what_candidates_are_worth_is_a_table(stored: Path, tmp_path: Path) -> None:
    """Of all cells of the file, also those of an earlier run; counted again by hand for one row."""
    for cell in cells(k=3):
        Traces().write(Finished([cell], Store(stored / "traces"), tmp_path, {}), None)
    table = pd.read_csv(tmp_path / "candidates.csv")
    assert list(table.columns) == traces.COLUMNS and set(table["variant"]) == {"faithful", "released"}
    own = table[table["variant"] == "faithful"].set_index("metric")
    _, drawn = read(stored, cells(k=3)[0])
    valid = drawn.groupby("instance")["found"].any()
    assert own.loc["validity_at_k", "mean"] == pytest.approx(valid.mean()) and own.loc["k", "mean"] == 3
    assert own.loc["validity_at_1", "mean"] == pytest.approx(drawn[drawn["candidate"] == 0]["found"].mean())
    assert own.loc["validity_at_k", "n"] == len(valid) >= own.loc["diversity", "n"]
    assert own.loc["distinct", "mean"] <= 3


# -- The command ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_workers")
def test_the_command_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["traces", "--smoke", "--datasets", "tree-cycles", "--methods", "rsgg-ce:released", "--candidates", "1"]
    line += ["--out", str(tmp_path)]
    assert cli.main(["table1", *line[1:6], "--folds", "0", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert cli.main(line) == 0, "one candidate, whose cell Table 1 has stored without a trace"
    table = pd.read_parquet(tmp_path / "traces.parquet")
    assert set(table["fold"]) == {0} and np.all([len(row) == 28 * 27 // 2 for row in table["scores"]])
    before = (tmp_path / "traces.parquet").read_bytes()

    def computed(*_: Any) -> Any:
        raise AssertionError("nothing was left to compute")

    monkeypatch.setattr("benchmarks.running.experiment.computed", computed)
    assert cli.main(line) == 0 and (tmp_path / "traces.parquet").read_bytes() == before
    capsys.readouterr()
    assert cli.main([*line, "--dry-run"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "1 cells: 1 stored, 0 to compute."


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--methods", "cf3"], "There is no method 'cf3'; did you mean 'cf2'?"),
        (["--seeds", "1"], "No such option: --seeds"),
        (["--folds", "10"], "There is no fold 10; the folds are 0 to 9."),
        (["--candidates", "0"], "greater than or equal to 1"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path, arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["traces", *arguments, "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert sentence in err and err.count("\n") == 1


def test_a_reference_keeps_what_it_has_and_says_what_candidates_are_worth(stored: Path, tmp_path: Path) -> None:
    """Two machines have traced a method each; candidates.csv follows from candidates.parquet alone."""
    reference = tmp_path / "reference"
    for number, cell in enumerate(cells(k=3)):
        source, (made, drawn) = tmp_path / str(number), read(stored, cell)
        with Artefacts(source, "traces") as files:
            for name, schema, rows in (
                ("traces.parquet", traces.TRACES, made), ("candidates.parquet", traces.CANDIDATES, drawn)
            ):  # fmt: skip
                traces._write(files, name, merged(source / name, schema, rows))
        traces.publish(source, reference)
    traces.render(reference)
    for name in ("traces.parquet", "candidates.parquet"):
        assert set(pd.read_parquet(reference / name)["variant"]) == {"faithful", "released"}
    table = pd.read_csv(reference / "candidates.csv")
    assert set(table["variant"]) == {"faithful", "released"} and list(table.columns) == traces.COLUMNS
    for cell in cells(k=3):
        _, drawn = read(stored, cell)
        per_graph = drawn.groupby("instance")["found"]
        own = table[table["variant"] == cell.method.variant].set_index("metric")["mean"]
        assert own["k"] == 3 and own["validity_at_k"] == pytest.approx(per_graph.any().mean(), abs=1e-5)
        first = drawn[drawn["candidate"] == 0]["found"].mean()
        assert own["validity_at_1"] == pytest.approx(first, abs=1e-5)
    assert not artefacts_check(reference, complete=True)[1]
    traces.render(tmp_path)  # which has none
    assert not (tmp_path / "candidates.csv").exists()
