"""Traces: the same results as without, and a record from which the counterfactual can be put together again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks import cli, traces
from benchmarks.catalogue import CATALOGUE
from benchmarks.cell import Cell, grid
from benchmarks.runner import run_cells
from benchmarks.store import Store
from rsgg.data import TreeCycles
from rsgg.errors import RSGGError
from rsgg.graph import GraphBatch
from rsgg.oracles.oracle import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce.partial_order import ExistingThenAll, ExistingThenMissing
from rsgg.rsgg_ce.sampling import SAMPLERS, partial_order_sampling, traced

DATA = TreeCycles(n_nodes=10, n_graphs=24, max_cycle_nodes=4)
METHODS = [m for m in CATALOGUE if (m.name, m.variant) in {("rsgg-ce", "faithful"), ("rsgg-ce", "released")}]


def cells() -> list[Cell]:
    return grid([DATA], METHODS, folds=(1,), of=4, smoke=True)


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
    graphs = DATA.load(None).graphs
    plain, watched = CountingOracle(TreeCyclesOracle()), CountingOracle(TreeCyclesOracle())
    expected = _sampled(graphs, sampler, reading, plain)
    with traced() as made:
        found = _sampled(graphs, sampler, reading, watched)
    assert len(made) == len(found) == 3 * len(graphs)
    assert sum(len(trace.checked) for trace in made) > 0 and sum(len(trace.removed) for trace in made) > 0
    for owner, (trace, candidate, other) in enumerate(zip(made, found, expected, strict=True)):
        assert (candidate is None) == (other is None) and (candidate is None or torch.equal(candidate, other))
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


def test_candidate_0_is_the_one_of_the_table(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run_cells(cells(), store)
    for cell in cells():
        rows, drawn = traces.trace(cell, candidates=3)
        ledger = store.ledger([cell])
        assert (
            rows["instance"].tolist() == ledger["instance"].tolist()
            and rows["calls"].tolist() == ledger["calls"].tolist()
        )
        assert "all edits equal" in traces.compare(cell, drawn, [Store(tmp_path / "empty"), store])
        assert "not stored" in traces.compare(cell, drawn, [Store(tmp_path / "empty")])
        assert len(drawn) == 3 * len(rows)
        graphs = {int(i): DATA.load(None).graphs.adjacency[int(i)].numpy() for i in rows["instance"]}
        for row in rows[rows["found"]].itertuples():
            added = [pair for pair in row.checked if not graphs[row.instance][divmod(pair, row.n_nodes)]]
            readded = set(row.checked) & set(row.removed)
            edits = ledger.set_index("instance")["edits"][row.instance]
            assert set(map(int, edits)) == (set(row.removed) - readded) | set(added)
            assert len(row.scores) == 45
        wrong = drawn.assign(edits=[[1, 2, 3, 4, 5]] * len(drawn))
        with pytest.raises(RSGGError, match="edited otherwise"):
            traces.compare(cell, wrong, [store])


def test_files_grow_cell_by_cell_and_a_cell_replaces_itself(tmp_path: Path) -> None:
    path, (one, two) = tmp_path / "candidates.parquet", cells()
    drawn = {cell: traces.trace(cell, candidates=2)[1] for cell in (one, two)}
    traces.add(path, traces.CANDIDATES, drawn[two])
    traces.add(path, traces.CANDIDATES, drawn[one])
    first = path.read_bytes()
    traces.add(path, traces.CANDIDATES, drawn[two])
    assert path.read_bytes() == first, "the same whatever came first"
    stored = pd.read_parquet(path)
    assert len(stored) == len(drawn[one]) + len(drawn[two])
    assert [list(map(int, edits)) for edits in stored["edits"][: len(drawn[one])]] == drawn[one]["edits"].tolist()
    assert not traces.is_stored(one, 2, tmp_path), "its trace is not there"
    path.write_bytes(first[:100])
    assert traces.read(path, traces.CANDIDATES).empty, "cut short: made anew"


def test_the_command_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["traces", "--smoke", "--datasets", "tree-cycles", "--methods", "rsgg-ce:released", "--candidates", "2"]
    line += ["--out", str(tmp_path)]
    assert cli.main(line) == 0 and "graphs traced" in capsys.readouterr().out
    table = pd.read_parquet(tmp_path / "traces.parquet")
    assert set(table["fold"]) == {0} and np.all([len(row) == 28 * 27 // 2 for row in table["scores"]])
    assert cli.main(line) == 0 and "graphs traced" not in capsys.readouterr().out
    assert cli.main([*line, "--dry-run"]) == 0 and "0 cells to trace" in capsys.readouterr().out
    for wrong in (["--methods", "cf2"], ["--seeds", "1"], ["--folds", "10"]):
        assert cli.main(["traces", *wrong, "--out", str(tmp_path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
