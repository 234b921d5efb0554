"""Submissions: the oracle has the last word, every problem of a file is said, and a row is entered once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.cli import main
from benchmarks.registry import tasks
from benchmarks.results.leaderboard import of_table2
from benchmarks.submit import FILE, edited, judged, pairs, read, run, stored_table
from rsgg.data import Dataset
from rsgg.errors import UsageError
from rsgg.oracles import TreeCyclesOracle

SMALL = replace(
    tasks.TREE_CYCLES, name="small-trees", label="Small trees", folds=2, in_table1=False,
    options={"n_nodes": 8, "n_graphs": 24, "max_cycle_nodes": 4},
)  # fmt: skip


@pytest.fixture(autouse=True)
def small() -> Iterator[None]:
    tasks.TASKS.append(SMALL)
    yield
    tasks.TASKS.remove(SMALL)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return SMALL.build().dataset.load(None)


def file(folder: Path, lines: list[str], head: str = "task,instance,added,removed") -> Path:
    path = folder / "edits.csv"
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def solved(data: Dataset, wrong: int = 0) -> list[str]:
    """The optimum of every graph as lines of a file; the last `wrong` ones have no edits."""
    best = TreeCyclesOracle().optimal_counterfactual(data.graphs, data.labels)
    lines = []
    for i, graph in enumerate(data.graphs):
        changed = (best[i].numpy() != graph.adjacency).nonzero()
        new = [(u, v) for u, v in zip(*changed, strict=True) if u < v]
        if i >= len(data) - wrong:
            new = []
        added, removed = ([f"{u}-{v}" for u, v in new if graph.adjacency[u, v] == edge] for edge in (0, 1))
        lines.append(f"small-trees,{i},{' '.join(added)},{' '.join(removed)}")
    return lines


def entry(path: Path) -> pd.Series:
    """The line of the leaderboard that a file about one task makes."""
    (line,) = of_table2(judged(read(path), None)).to_dict("records")
    return pd.Series(line)


def test_the_optimum_is_valid_at_its_distance(data: Dataset, tmp_path: Path) -> None:
    line = entry(file(tmp_path, solved(data)))
    expected = TreeCyclesOracle().optimal_ged(data.graphs).mean()
    assert line["validity"] == 1 and line["n"] == 24 and line["ged"] == pytest.approx(float(expected))
    assert 0 <= line["plausibility"] <= 1 and 0 <= line["feasible"] <= 1


def test_what_is_missing_or_unchanged_counts_as_not_explained(data: Dataset, tmp_path: Path) -> None:
    assert entry(file(tmp_path, solved(data)[:18]))["validity"] == 0.75
    assert entry(file(tmp_path, solved(data, wrong=6)))["validity"] == 0.75


def test_edits_that_change_no_class_are_not_believed(data: Dataset, tmp_path: Path) -> None:
    """A bridge of a tree is removed: it stays a tree."""
    tree = int((data.labels == 0).nonzero()[0])
    u, v = data.graphs[tree].edges()[0]
    line = entry(file(tmp_path, [f"small-trees,{tree},,{u}-{v}"]))
    assert line["validity"] == 0 and line["n"] == 24


def test_every_problem_of_a_file_is_said_at_once(data: Dataset, tmp_path: Path) -> None:
    u, v = data.graphs[0].edges()[0]
    lines = [
        f"small-trees,0,{u}-{v},", "small-trees,1,0-99,", "small-trees,2,3_4,", "small-trees,x,0-1,",
        "small-trees,77,0-1,", "small-trees,3,,", "small-trees,3,,", "no-such,0,0-1,",
        f"small-trees,4,{u}-{v} {v}-{u},",
    ]  # fmt: skip
    with pytest.raises(UsageError) as caught:
        judged(read(file(tmp_path, lines)), None)
    for said in (
        f"graph 0 of small-trees: {u}-{v} is an edge already (line 2)", "0-99 is no pair of the nodes 0 to 7 (line 3)",
        "the edits '3_4' are no pairs such as 3-9 0-1 (line 4)", "'x' is no number of a graph (line 5)",
        "graph 77 of small-trees is no test graph (line 6)", "graph 3 has two lines (line 8)",
        "there is no task 'no-such' (line 9)", "a pair is named twice (line 10)", "Nothing was entered",
    ):  # fmt: skip
        assert said in str(caught.value)


@pytest.mark.parametrize(("content", "said"), [("a,b\n1,2\n", "has no column 'task'"), ("", "cannot be read as CSV")])
def test_other_files_get_a_sentence(content: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(content)
    with pytest.raises(UsageError, match=said):
        read(tmp_path / "bad.csv")
    with pytest.raises(UsageError, match="cannot be read"):
        read(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="has no lines"):
        read(file(tmp_path, []))


def test_pairs_and_edits_by_hand(data: Dataset) -> None:
    assert pairs("9-3 0-1") == [(3, 9), (0, 1)] and pairs("") == [] and pairs("1-2-3") is None
    graph = data.graphs[0]
    u, v = graph.edges()[0]
    made, complaint = edited(graph, "", f"{u}-{v}")
    assert complaint == "" and made is not None and made.n_edges == graph.n_edges - 1 and not made.adjacency[v, u]


def test_a_row_is_entered_beside_the_stored_ones_and_replaced(data: Dataset, tmp_path: Path) -> None:
    line = {"task": "small-trees", "method": "obs", "variant": "search", "ci_low": 0, "ci_high": 1, "n": 24}
    measured = {"correctness": 0.5, "ged": 1.0, "ged_on_success": 2.0}  # GED counts 0 where nothing is found
    stored = [{**line, "metric": metric, "mean": mean} for metric, mean in measured.items()]
    pd.DataFrame(stored).to_csv(tmp_path / "table2.csv", index=False)
    for lines in (solved(data)[:12], solved(data)):
        said = list(run(file(tmp_path, lines), "Mine", tmp_path, None))
    assert "validity 1.000 of 24 graphs" in said[0] and "leaderboard.csv" in said[1] and "submitted" in said[2]
    lines = pd.read_csv(tmp_path / FILE)
    assert set(lines["method"]) == {"Mine"} and not lines.duplicated(["task", "metric"]).any(), "the last file counts"
    board = pd.read_csv(tmp_path / "leaderboard.csv")
    assert board["method"].tolist() == ["Mine", "obs"] and board["validity"].tolist() == [1.0, 0.5]
    assert of_table2(stored_table(tmp_path))["ged"].tolist() == [2.0]
    with pytest.raises(UsageError, match="no name for a new row"):
        list(run(file(tmp_path, solved(data)), "OBS", tmp_path, None))


def test_the_command_says_what_came_of_it(data: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = file(tmp_path, solved(data))
    assert main(["submit", str(path), "--name", "Mine", "--out", str(tmp_path)]) == 0
    assert main(["show", "leaderboard", "--out", str(tmp_path)]) == 0
    assert "Mine (submitted)" in capsys.readouterr().out
    assert main(["submit", str(tmp_path / "none.csv"), "--name", "Mine"]) == 2


EXAMPLE = Path(__file__).parent.parent / "strangers" / "edits.csv"


def test_the_example_is_judged_by_all_metrics_that_edits_determine(tmp_path: Path) -> None:
    """Eight of the 500 graphs of Tree-Cycles have a line in it, each with an edit that changes the class."""
    said = list(run(EXAMPLE, "Example", tmp_path, None))
    assert said[0].startswith("Tree-Cycles: validity 0.016 of 500 graphs, GED 1.00, plausibility ")
    lines = pd.read_csv(tmp_path / FILE).set_index("metric")
    assert lines.loc["ged_on_success", ["mean", "n"]].tolist() == [1.0, 8]
    assert lines.loc["correctness", "mean"] == pytest.approx(8 / 500) and lines.loc["oracle_accuracy", "mean"] == 1
    wanted = {"sparsity", "fidelity", "area_over_ged", "validity_class_0", "mmd_degree", "connected", "same_structure"}
    assert wanted <= set(lines.index) and not {"explain_calls", "explain_seconds", "fit_calls"} & set(lines.index)


def test_means_are_those_that_table_2_would_have(data: Dataset, tmp_path: Path) -> None:
    """Means of fold means: with one explained graph in one fold and two in the other, GED is no mean over the three."""
    problem = SMALL.build().load(None)
    tested = [fold.test.tolist() for fold in problem.folds(SMALL.folds)]
    lines = solved(data)
    path = file(tmp_path, [lines[tested[0][0]], lines[tested[1][0]], lines[tested[1][1]]])
    best = TreeCyclesOracle().optimal_ged(data.graphs)
    of_folds = [float(best[fold[:n]].mean()) for fold, n in zip(tested, (1, 2), strict=True)]
    assert entry(path)["ged"] == pytest.approx(sum(of_folds) / 2)
