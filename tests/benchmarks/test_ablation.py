"""The ablations: grids are the protocol's, predictions agree with one another, curves are what the ledger says."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from benchmarks.ablation import COLUMNS, Ablation, chosen, curves, plan
from benchmarks.cli import main
from benchmarks.judging import uniform
from benchmarks.registry import ablations, tasks
from benchmarks.registry.ablations import PAPER, RELEASED
from benchmarks.results.cell import canonical
from benchmarks.results.files import csv_of
from benchmarks.results.ledger import Store
from benchmarks.running.experiment import Finished
from benchmarks.running.options import AblationOptions
from rsgg.data import TreeCycles
from rsgg.errors import UsageError
from rsgg.oracles import TreeCyclesOracle
from rsgg.rsgg_ce.released import ReleasedRSGGCE
from tests.conftest import cells_computed_here

# -- Grids ---------------------------------------------------------------------------------------------


def test_the_grids_are_the_papers() -> None:
    """From the text of Section 5.1 and the released configurations."""
    points = {vary: {v: TreeCycles(**options) for v, options in grid.points.items()} for vary, grid in PAPER.items()}
    assert list(points["cycle_size"]) == [3, 5, 8, 10, 12, 15, 18, 20, 23, 25, 28]
    assert list(points["n_cycles"]) == [2, 4, 8, 16, 24, 32]
    assert list(points["n_nodes"]) == [28, 32, 48, 64, 128, 256, 512]
    assert list(points["n_instances"]) == [100, 250, 500, 1000, 2000, 4000, 8000]
    for size, spec in points["cycle_size"].items():
        assert (spec.n_nodes, spec.n_graphs, spec.n_cycles, spec.cycle_size) == (128, 500, 4, size)
    for number, spec in points["n_cycles"].items():
        assert (spec.n_nodes, spec.n_graphs, spec.n_cycles, spec.cycle_size) == (128, 500, number, 3)
    for n, spec in points["n_nodes"].items():
        assert (spec.n_nodes, spec.n_graphs, spec.n_cycles, spec.max_cycle_nodes) == (n, 500, None, 7)
    for count, spec in points["n_instances"].items():
        assert (spec.n_nodes, spec.n_graphs, spec.n_cycles, spec.max_cycle_nodes) == (28, count, None, 7)


def test_the_released_files_differ_where_they_do() -> None:
    sizes = RELEASED["cycle_size"].points
    assert sizes[8]["cycle_size"] == 5 and sizes[10]["cycle_size"] == 10
    assert list(RELEASED["n_cycles"].points)[-1] == 40
    assert {(p["n_cycles"], p["cycle_size"]) for p in RELEASED["n_instances"].points.values()} == {(4, 3)}
    assert RELEASED["n_nodes"] is PAPER["n_nodes"]
    assert {cell.fold for cell in plan(AblationOptions(grid="released"))} == {0}, "fold 0 only"
    assert {cell.fold for cell in plan(AblationOptions(grid="released", folds=["0-2"]))} == {0, 1, 2}


def test_the_cells_are_four_rows_and_their_controls_in_ten_folds() -> None:
    every = plan(AblationOptions(vary=["cycle_size"]))
    rows = {(cell.method.name, cell.method.variant) for cell in every}
    assert rows > {("rsgg-ce", "faithful"), ("rsgg-ce", "released"), ("cf2", "faithful"), ("cf2", "released")}
    assert len(every) == 11 * 10 * len(rows)
    assert {cell.task.name for cell in every} == {ablations.TASK}
    both = plan(AblationOptions(vary=["cycle_size,n_cycles"]))
    assert len(both) == (11 + 6 - 1) * 10 * len(rows), "four triangles lie on both grids and are computed once"


@pytest.mark.parametrize(("option", "said"), [({"vary": ["cycle_sizes"]}, "cycle_size"), ({"grid": "papers"}, "paper")])
def test_a_mistyped_name_is_answered_with_the_nearest(option: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        chosen(AblationOptions(**option))


# -- Predictions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_cycles", "size", "edges"), [(1, 3, 5), (2, 3, 6), (1, 4, 6)])
def test_the_closed_form_is_right_where_all_draws_can_be_listed(n_cycles: int, size: int, edges: int) -> None:
    cycles = [set(range(i * size, (i + 1) * size)) for i in range(n_cycles)]
    cut = sum(
        all(not cycle <= set(draws) for cycle in cycles) for draws in product(range(edges), repeat=edges)
    ) / edges**edges  # fmt: skip
    assert uniform.all_cut(n_cycles, size, edges) == pytest.approx(cut, abs=1e-12)


def test_the_closed_form_gives_the_known_numbers() -> None:
    """A triangle among 28 edges (.749, 7 nodes .967), and the curves that were found by simulation."""
    assert uniform.all_cut(1, 3, 28) == pytest.approx(0.749, abs=5e-4)
    assert uniform.all_cut(1, 7, 28) == pytest.approx(0.967, abs=5e-4)
    by_size = [uniform.correctness(TreeCycles(**PAPER["cycle_size"].points[s])) for s in (3, 5, 8, 10, 15, 28)]
    assert by_size == pytest.approx([0.654, 0.828, 0.955, 0.985, 0.998, 1.0], abs=0.005)
    by_number = [uniform.correctness(TreeCycles(**PAPER["n_cycles"].points[k])) for k in (2, 4, 8, 16, 32)]
    assert by_number == pytest.approx([0.779, 0.654, 0.549, 0.504, 0.5], abs=0.005)


def test_the_simulation_agrees_with_the_closed_form_and_with_the_released_sampler() -> None:
    """Three ways that share no code: exact sums, a union-find, and the explainer with equal probabilities."""
    spec = TreeCycles(n_nodes=40, n_cycles=2, cycle_size=4, n_graphs=600)
    simulated = uniform.simulate(spec, 1500)
    assert abs(simulated.correctness - uniform.correctness(spec)) < 4 * simulated.correctness_se
    data, oracle = spec.load().with_encoding("centralities"), TreeCyclesOracle()
    explainer = ReleasedRSGGCE(generator="uniform").fit(data.graphs, oracle)
    results = explainer.explain(data.graphs, oracle, seed=5)
    labels = data.labels.numpy()
    edits = np.array([len(result.edits) for result in results])
    found = np.array([result.found for result in results])
    ged = (edits[labels == 0].mean() + edits[labels == 1].mean()) / 2
    correct = (found[labels == 0].mean() + found[labels == 1].mean()) / 2
    assert correct == pytest.approx(simulated.correctness, abs=0.05)
    assert ged == pytest.approx(simulated.ged, rel=0.06)


def test_the_forest_notices_cycles_as_networkx_does() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        forest, graph = uniform._Forest(8), nx.empty_graph(8)
        for u, v in rng.choice(8, size=(12, 2)):
            if u != v and not graph.has_edge(u, v):
                assert forest.join(u, v) == nx.has_path(graph, u, v)
                graph.add_edge(u, v)


# -- Curves --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("ablation")
    line = ["--smoke", "--vary", "n_instances", "--methods", "cf2,rsgg-ce:released,released-uniform", "--jobs", "1"]
    with cells_computed_here():
        assert main([*line, "--out", str(out)], script="ablation") == 0
    return out


def test_a_small_ablation_is_run_as_typed(smoke: Path) -> None:
    table = pd.read_csv(smoke / "ablation_n_instances.csv")
    assert list(table.columns) == list(COLUMNS)
    measured = table[table["method"] != "uniform-sampler"]
    assert set(zip(measured["method"], measured["variant"], strict=True)) == {
        ("rsgg-ce", "released"), ("cf2", "faithful"), ("cf2", "released"), ("released-uniform", "control"),
    }  # fmt: skip
    assert set(measured["value"]) == {100, 250} and set(measured["folds"]) == {2}
    predicted = table[(table["method"] == "uniform-sampler") & (table["metric"] == "correctness")]
    assert set(predicted["variant"]) == {"closed form", "monte carlo"} and (predicted["value"].nunique() == 2)


OPTIONS = AblationOptions(smoke=True, vary=["n_instances"], methods=["cf2,rsgg-ce:released,released-uniform"])


def finished(folder: Path, options: AblationOptions) -> Finished:
    return Finished(plan(options), Store(folder), folder, {})


def test_curves_are_means_and_standard_errors_of_fold_means(smoke: Path) -> None:
    """By pandas, from the ledger."""
    (own,), done = chosen(OPTIONS), finished(smoke, OPTIONS)
    table = curves(own, done).set_index(["method", "variant", "value", "metric"])
    point = canonical(dict(own.points[250]))
    keys = {cell.key for cell in done.cells if canonical(dict(cell.task.options)) == point}
    ledger = done.ledger
    rows = ledger[(ledger["method"] == "rsgg-ce") & ledger["cell"].isin(keys)]
    correct = (rows["predicted"] != rows["predicted_cf"]).groupby(rows["fold"]).mean()
    line = table.loc["rsgg-ce", "released", 250, "correctness"]
    assert line["mean"] == pytest.approx(correct.mean()) and line["se"] == pytest.approx(correct.sem())
    per_node = (rows["ged"] / 28).groupby(rows["fold"]).mean()
    assert table.loc["rsgg-ce", "released", 250, "ged_per_node"]["mean"] == pytest.approx(per_node.mean())
    assert line["ci_low"] <= line["mean"] <= line["ci_high"]


def test_a_single_fold_has_no_standard_error(smoke: Path) -> None:
    options = AblationOptions(smoke=True, vary=["n_instances"], methods=["cf2:released"], folds=["1"])
    table = curves(chosen(options)[0], finished(smoke, options))
    own = table[table["method"] == "cf2"]
    assert len(own) and own["se"].isna().all() and set(own["folds"]) == {1}


def test_what_is_missing_is_said_and_the_rest_is_drawn(smoke: Path) -> None:
    options = AblationOptions(smoke=True, vary=["n_instances"], methods=["cf2:released,meg:released"])
    done = finished(smoke, options)
    assert [gap.partition(":")[0] for gap in done.missing] == ["Tree-Cycles, ablations, MEG, as released"]
    assert done.about()["missing"] == done.missing and done.about()["cells"] == 4
    assert set(curves(chosen(options)[0], done)["method"]) == {"cf2", "uniform-sampler"}


def test_rendering_twice_gives_the_same_bytes(smoke: Path) -> None:
    table = curves(chosen(OPTIONS)[0], finished(smoke, OPTIONS))
    assert csv_of(table) == (smoke / "ablation_n_instances.csv").read_text()


def test_the_released_grid_has_a_file_of_its_own() -> None:
    assert Ablation().shown(AblationOptions(vary=["n_nodes"])) == ("ablation_n_nodes",)
    assert Ablation().shown(AblationOptions(vary=["n_nodes"], grid="released")) == ("ablation_n_nodes_released",)


def test_the_point_with_the_usual_data_is_the_task_itself() -> None:
    """28 nodes and 500 graphs are the defaults: what lies on two grids has one address."""
    assert PAPER["n_nodes"].points[28] == {} == PAPER["n_instances"].points[500]
    assert tasks.task(ablations.TASK).varied({}).definition() == {"name": ablations.TASK}
