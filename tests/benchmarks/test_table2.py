"""Real data as a table: measures against NetworkX, the rule for what is found, a folder and a model of one's own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.registry import methods, tasks
from benchmarks.registry.rules import LOST_PLAUSIBILITY, VALID
from benchmarks.results.artefacts import read_manifest
from benchmarks.results.cell import Cell
from benchmarks.results.reader import Results
from benchmarks.results.summary import ALL_TASKS, COMPARISON_COLUMNS
from benchmarks.running.options import Table2Options
from benchmarks.running.quality import MEASURED, Yardstick, measured
from benchmarks.running.run_cell import Run, loaded
from benchmarks.table2 import COMPARED, KINDS, ROWS, Table2, chosen_tasks, comparisons, kinds
from figures import tables
from rsgg.counterfactual import Counterfactual
from rsgg.errors import DataError, UsageError
from rsgg.plausibility import RealGraphs

TASK = tasks.TREE_CYCLES.varied({"n_nodes": 10, "n_graphs": 60, "max_cycle_nodes": 4})


# -- what is measured ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> Run:
    method = methods.rows()["two-sided", "search"]
    problem = loaded(TASK, None, None)
    assert not isinstance(problem, DataError)
    one = Run(Cell(TASK, method, 0, 5), method.build(), problem)
    one.fit()
    one.results = one.explain()
    return one


@pytest.fixture(scope="module")
def lines(run: Run) -> pd.DataFrame:
    return measured(run.results, run, Yardstick.of(run, None))


def components(result: Counterfactual) -> tuple[int, int]:
    before, after = (nx.from_numpy_array(graph.adjacency) for graph in (result.input, result.returned))
    return nx.number_connected_components(before), nx.number_connected_components(after)


def test_every_result_has_a_line_and_rules_are_what_networkx_says(run: Run, lines: pd.DataFrame) -> None:
    assert list(lines.columns) == list(MEASURED) and len(lines) == len(run.results)
    outside = run.problem.graphs.select(run.fold.outside)
    most = int(outside.adjacency.sum(2).max())
    for result, line in zip(run.results, lines.itertuples(), strict=True):
        before, after = components(result)
        degree = np.maximum(most, result.input.adjacency.sum(1))
        assert line.connected == (after <= before)
        assert line.degrees == bool((result.returned.adjacency.sum(1) <= degree).all())
        assert line.feasible == (line.connected and line.degrees and line.edge_count)
        assert np.isnan(line.sanitised) and np.isnan(line.motif_f1)
    assert lines["connected"].nunique() == 2 or lines["degrees"].nunique() == 2, "some results break a rule"


def test_plausibility_is_a_rank_among_the_held_out_graphs_of_the_claimed_class(run: Run, lines: pd.DataFrame) -> None:
    """Computed again from scratch: real graphs outside the fold, all graphs of the fold held out."""
    oracle, graphs = run.problem.oracle, run.problem.graphs
    outside = run.fold.outside
    inside = torch.tensor(sorted(set(range(len(graphs))) - set(outside.tolist())))
    real = RealGraphs(
        graphs.select(outside), oracle.predict(graphs.select(outside)).numpy(),
        graphs.select(inside), oracle.predict(graphs.select(inside)).numpy(),
    )  # fmt: skip
    for result, line in zip(run.results, lines.itertuples(), strict=True):
        claimed = [1 - int(oracle.predict(graphs.select(run.fold.test[[result.instance]]))[0])]
        assert line.plausibility == pytest.approx(real.plausibility([result.returned], claimed)[0])
        assert line.plausibility_unedited == pytest.approx(real.plausibility([result.input], claimed)[0])
    assert lines[["mmd_degree", "mmd_clustering", "mmd_spectrum"]].nunique().tolist() == [1, 1, 1], "one value per cell"


def test_what_does_not_change_the_class_is_not_measured(run: Run) -> None:
    kept = [replace(result, graph=None) for result in run.results]
    assert measured(kept, run, Yardstick.of(run, None)).isna().all().all()


def test_a_graph_with_other_node_numbers_has_the_same_structure(run: Run) -> None:
    """An oracle that looks at the number of a node takes a renamed graph for another class: nothing was changed."""
    result = next(one for one in run.results if one.found)
    turned = result.input.with_adjacency(np.roll(result.input.adjacency, 1, (0, 1)))

    class FirstDegree(type(run.problem.oracle)):  # type: ignore[misc]
        def predict(self, graphs):
            same = (graphs.adjacency == torch.from_numpy(result.input.adjacency.copy())).flatten(1).all(1)
            return (~same).long()

    odd = replace(run.problem, oracle=FirstDegree())
    stranger = Run(run.cell, run.explainer, run.problem)
    stranger.problem = odd
    line = measured([replace(result, graph=turned)], stranger, Yardstick.of(run, None)).iloc[0]
    assert line["same_structure"] == 1
    assert measured(run.results, run, Yardstick.of(run, None))["same_structure"].dropna().eq(0).any()


# -- what is said ----------------------------------------------------------------------------------------------


def line(task: str, method: str, metric: str, mean: float) -> dict[str, object]:
    return {"task": task, "method": method, "variant": "search", "metric": metric, "mean": mean}


@pytest.mark.parametrize(
    ("validity", "lost", "finds"),
    [
        (VALID, LOST_PLAUSIBILITY - 0.01, 0),
        (VALID, LOST_PLAUSIBILITY + 0.01, 1),
        (VALID - 0.01, 0.0, 2),
        (0.0, 0.0, 2),
        (VALID, np.nan, 3),
        (0.0, np.nan, 2),
    ],
)
def test_what_a_row_finds_follows_the_rule(validity: float, lost: float, finds: int) -> None:
    table = [line("t", "m", "correctness", validity), line("t", "m", "plausibility_unedited", 0.4)]
    table.append(line("t", "m", "plausibility", 0.4 - lost))
    assert kinds(pd.DataFrame(table))["finds"].tolist() == [KINDS[finds]]


def test_the_plan_has_all_tasks_rows_and_controls() -> None:
    cells = Table2().plan(Table2Options())
    assert {cell.task.name for cell in cells} == {entry.name for entry in tasks.LEARNT} and len(tasks.LEARNT) >= 8
    assert {cell.folds for cell in cells} == {5} and {cell.fold for cell in cells} == set(range(5))
    rows = {cell.method.title for cell in cells}
    assert {"empty:control", "one-removal:control", "identity:control", "dce:search"} <= rows
    assert {method.title for method in methods.choose(list(ROWS))} == rows
    matched = [
        cell.method for cell in cells if cell.method.name == "dce" and cell.method.options == {"nodes": "matched"}
    ]
    assert len(matched) == 5 * len(tasks.LEARNT), "nodes of real graphs have no common numbers"


def test_a_smoke_run_has_every_row_and_a_task_of_each_kind() -> None:
    """Some 270 cells instead of 750: on all tasks it took four CPU minutes on each of two cores."""
    small, whole = (Table2().plan(Table2Options(smoke=smoke)) for smoke in (True, False))
    for which in (lambda cell: cell.method.title, lambda cell: (cell.task.dataset, cell.task.oracle)):
        assert set(map(which, small)) == set(map(which, whole))
    assert len({cell.task.name for cell in small}) == 4 and len(small) < 300
    asked = Table2().plan(Table2Options(smoke=True, datasets=["aids-gcn"]))
    assert {cell.task.name for cell in asked} == {"aids-gcn"}


# -- what is compared --------------------------------------------------------------------------------------------


def per_graph_rows(tasks_of: dict[str, list[str]], graphs: int = 4) -> pd.DataFrame:
    """Metrics per graph: the certified row is one better on every graph of the tasks that a rival has."""
    lines = []
    for method, names in {"rsgg-ce-certified": ["aids-gcn", "mutag-gin"], **tasks_of}.items():
        variant, worse = ("beyond", 0) if method == "rsgg-ce-certified" else ("search", 1)
        for task, fold, graph in itertools.product(names, range(5), range(graphs)):
            costs = dict.fromkeys(("ged", "ged_on_success", "explain_calls"), graph + 1 + 10 * fold + worse)
            shares = {"correctness": 1 - worse, "plausibility": 0.5 - worse / 4 if graph else np.nan}
            where = {"dataset": task, "seed": 0, "fold": fold, "instance": graphs * fold + graph}
            lines.append({**where, "method": method, "variant": variant, **costs, **shares})
    return pd.DataFrame(lines)


def test_five_folds_show_nothing_and_those_of_all_tasks_together_do() -> None:
    found = comparisons(per_graph_rows({"obs": ["aids-gcn", "mutag-gin"], "ddbs": ["mutag-gin"]}))
    assert tuple(found.columns) == COMPARISON_COLUMNS and set(found["metric"]) == set(COMPARED)
    of_tasks, pooled = found[found["dataset"] != ALL_TASKS], found[found["dataset"] == ALL_TASKS]
    assert (of_tasks["p"] == 2 / 2**5).all() and (of_tasks["clusters"] == 5).all(), "all signs agree: the least p"
    assert set(pooled["method"]) == {"rsgg-ce-certified"} and set(pooled["question"]) == set(of_tasks["question"])
    by = pooled.set_index(["against_method", "metric"])
    assert set(by.loc["obs", "clusters"]) == {10} and set(by.loc["ddbs", "clusters"]) == {5}
    assert set(by.loc["obs", "p"]) == {2 / 2**10} and set(by.loc["ddbs", "p"]) == {2 / 2**5}
    n = len(pooled)  # one family: the smallest p is multiplied by the number of all tests, not of one metric's
    assert n == 10 and by.loc[("obs", "ged"), "p_holm"] == pytest.approx(n * 2 / 2**10)
    assert by.loc[("obs", "plausibility"), "n"] == 2 * 5 * 3, "of graphs that both explain"
    assert by.loc[("obs", "plausibility"), "difference"] == pytest.approx(0.25)
    assert by.loc[("obs", "ged"), "rank_biserial"] == -1


def test_means_over_tasks_are_of_fold_means_as_their_interval_is() -> None:
    """A task with many graphs does not outweigh another: on it the rival is as good, on the other worse by 1."""
    rows = per_graph_rows({"obs": ["aids-gcn", "mutag-gin"]}, graphs=20)
    few = rows[(rows["dataset"] == "aids-gcn") | (rows["instance"] % 20 < 2)].copy()
    few.loc[few["dataset"] == "aids-gcn", "ged"] = 3
    line = comparisons(few).set_index(["dataset", "metric"]).loc[(ALL_TASKS, "ged")]
    assert line["n"] == 5 * 22 and line["difference"] == pytest.approx(-0.5)
    assert line["ci_low"] < line["difference"] < line["ci_high"] < 0


def test_one_task_is_compared_by_itself_and_nothing_is_no_error() -> None:
    rows = per_graph_rows({"obs": ["mutag-gin"]})
    assert ALL_TASKS not in set(comparisons(rows[rows["dataset"] == "mutag-gin"])["dataset"])
    assert ALL_TASKS not in set(comparisons(rows.drop(columns="plausibility").query("method == 'obs'"))["dataset"])
    empty = comparisons(pd.DataFrame())
    assert empty.empty and tuple(empty.columns) == COMPARISON_COLUMNS


# -- a folder and a model of one's own ---------------------------------------------------------------------------

MODEL = """
import torch

class ManyEdges(torch.nn.Module):
    def forward(self, x, edge_index, batch):
        n = torch.bincount(batch)
        edges = torch.bincount(batch[edge_index[0]], minlength=len(n)) / 2
        return torch.stack((n + 0.5 - edges, edges - n - 0.5), 1)

def model():
    return ManyEdges()
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder `Rings` in TU format, rings with and without chords, and a module with a model beside it."""
    folder = tmp_path / "Rings"
    folder.mkdir()
    edges, graph_of, labels, start = [], [], [], 1
    for i in range(40):
        n = 6 + i % 4
        ring = nx.cycle_graph(n)
        if i % 2:
            ring.add_edges_from([(0, 2), (1, 3), (0, 3)])
        edges += [f"{start + u}, {start + v}" for a, b in ring.edges for u, v in ((a, b), (b, a))]
        graph_of += [str(i + 1)] * n
        labels.append(str(i % 2))
        start += n
    parts = {"A": edges, "graph_indicator": graph_of, "graph_labels": labels, "node_labels": ["0", "1"] * (start // 2)}
    for part, written in parts.items():
        written = written[: start - 1] if part == "node_labels" else written
        (folder / f"Rings_{part}.txt").write_text("\n".join(written) + "\n")
    (tmp_path / "ring_model.py").write_text(MODEL)
    monkeypatch.chdir(tmp_path)
    before = list(tasks.TASKS), list(tasks.LEARNT)
    yield folder
    tasks.TASKS[:], tasks.LEARNT[:] = before


def test_a_folder_and_a_model_run_by_options_alone(own: Path, tmp_path: Path) -> None:
    wanted = ["two-sided-min", "two-sided-min-feasible", "rsgg-ce-nodes", "dce", "dce-min", "empty", "one-removal"]
    options = Table2Options(tu=own, model="ring_model:model", methods=wanted, folds=["0"], jobs=0, out=tmp_path / "out")
    assert Table2().run(options) == 0
    table = pd.read_csv(tmp_path / "out" / "table2.csv")
    assert set(table["task"]) == {"rings-model"} and set(table["method"]) == set(wanted)
    means = table.set_index(["method", "metric"])["mean"]
    assert means["two-sided-min", "correctness"] == means["rsgg-ce-nodes", "correctness"] == 1
    assert means["dce", "validity_class_1"] == means["dce-min", "validity_class_1"] == 1, "rings of 6 and 8 nodes"
    assert means["dce", "validity_class_0"] < 1, "a ring of 6 nodes cannot become one of 7, which has no leaves"
    assert means["dce", "ged_on_success"] > means["dce-min", "ged_on_success"]
    assert means["two-sided-min-feasible", "feasible"] == 1 > means["two-sided-min", "feasible"]
    assert means["empty", "validity_class_1"] == 1 and means["empty", "validity_class_0"] == 0
    found = Results((tmp_path / "out",)).graphs("rings-model")
    assert {graph.fold for graph in found} == {0} and found[0].label_names == ("0", "1") and not found[0].bonds
    for graph in found:
        ring = nx.cycle_graph(6 + graph.instance % 4)
        ring.add_edges_from([(0, 2), (1, 3), (0, 3)] if graph.instance % 2 else [])
        assert set(graph.edges) == {tuple(sorted(edge)) for edge in ring.edges}
        assert graph.label == graph.predicted == graph.instance % 2
    board = pd.read_csv(tmp_path / "out" / "leaderboard.csv")
    assert set(board["method"]) == set(wanted) and board["validity"].is_monotonic_decreasing
    assert {"table2_graphs.parquet", "leaderboard.csv"} <= set(read_manifest(tmp_path / "out")["files"])
    built = tables.markdown("table2", Results((tmp_path / "out",)))
    assert "One random removal" in built and "## Rings, ring_model:model" in built
    with pytest.raises(UsageError, match="give the folder with --tu"):
        Table2().plan(Table2Options(model="ring_model:model"))
    with pytest.raises(UsageError, match="leave --data out"):
        Table2().plan(Table2Options(tu=own, datasets=["mutag-gin"]))
    with pytest.raises(UsageError, match=r"no fold 5 of Rings, ring_model:model; its folds are 0 to 4"):
        Table2().plan(Table2Options(tu=own, model="ring_model:model", folds=["5-6"]))


def test_a_folder_of_one_label_needs_a_model(own: Path) -> None:
    (own / "Rings_graph_labels.txt").write_text("1\n" * 40)
    with pytest.raises(UsageError, match="All graphs of Rings have the same label; give --model"):
        Table2().plan(Table2Options(tu=own))
    assert Table2().plan(Table2Options(tu=own, model="ring_model:model"))


def test_where_nothing_could_be_computed_there_are_no_empty_tables(tmp_path: Path) -> None:
    options = Table2Options(
        datasets=["mutag-gin"], methods=["empty"], folds=["0"], jobs=0, data_dir=tmp_path / "none", out=tmp_path / "out"
    )
    assert Table2().run(options) == 2
    (about,) = tables.sheets("table2", Results((tmp_path / "out",)))
    assert "MUTAG is not complete" in " ".join(about.notes)


def test_a_folder_as_pyg_keeps_it_needs_no_other_name(own: Path) -> None:
    """PyG has the text files in `raw`; a folder with one data set need not be called like it."""
    raw = own.parent / "downloads" / "raw"
    raw.parent.mkdir()
    own.rename(raw)
    for folder in (raw, raw.parent):
        (name,) = chosen_tasks(Table2Options(tu=folder, model="ring_model:model"))
        assert name == "rings-model" and len(tasks.task(name).load().graphs) == 40
    assert chosen_tasks(Table2Options(tu=raw)) == ["rings-gin"], "the same folder with another oracle is another task"
    tasks.TASKS.pop()
    for file in raw.iterdir():
        file.rename(raw / file.name.replace("Rings", "MUTAG"))
    tasks.TASKS.pop()
    with pytest.raises(UsageError, match="--data mutag-gin, or rename your files MUTAG_A"):
        chosen_tasks(Table2Options(tu=raw))
