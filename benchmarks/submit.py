"""Counterfactuals from elsewhere, checked and compared: a file of edits becomes a row of the leaderboard.

    ./reproduce.sh submit my_edits.csv --name "My method"

The file is CSV with a line per explained graph:

    task,instance,added,removed
    mutagenicity-gcn,17,3-9,
    mutagenicity-gcn,21,,0-1 4-5

`task` is a task of `table2` or of Table 1, `instance` the position of a graph in its data set (from 0, as in the
ledgers), `added` and `removed` are pairs of node numbers. Nothing that the file says about classes is believed: the
oracle is asked about every graph. All test graphs of the task's folds are expected; one without a line, or with a line
without edits, counts as not explained. Lines about graphs that are no test graphs are errors.

`submitted.csv` has what `table2.csv` has of its rows, but for questions and time: means of fold means with intervals.
`leaderboard.csv` has a line per task and method: those of a stored `table2.csv`, and what was submitted.
tests/strangers/edits.csv is such a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.registry.metrics import METRICS
from benchmarks.registry.rules import MOST_EDITS
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results import leaderboard
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE, read_csv, shown
from benchmarks.results.leaderboard import SUBMITTED
from benchmarks.results.summary import MEANS, means_of
from benchmarks.running.quality import MEASURED, Quality, measured
from benchmarks.running.run_cell import Run, loaded
from rsgg.baselines.controls import Identity
from rsgg.counterfactual import Counterfactual
from rsgg.errors import DataError, UsageError
from rsgg.graph import Graph
from rsgg.metrics import area_over_ged, correctness_of_class, evaluate, ged_on_success

FILE = "submitted.csv"
COLUMNS = ("task", "instance", "added", "removed")
PAIR = re.compile(r"(\d{1,6})-(\d{1,6})")
MOST_PROBLEMS = 10  # that are said at once


# -- The file ------------------------------------------------------------------------------------------------------


def read(path: Path) -> pd.DataFrame:
    """The lines of a file, all columns as text; a sentence if it is no such file."""
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise UsageError(f"{shown(path)} cannot be read as CSV ({' '.join(str(error).split())}).") from error
    lacking = [column for column in COLUMNS if column not in table]
    if lacking or table.empty:
        what = f"has no column {lacking[0]!r}" if lacking else "has no lines"
        raise UsageError(f"{shown(path)} {what}; give lines under {','.join(COLUMNS)}.")
    return table[list(COLUMNS)]


def pairs(text: str) -> list[tuple[int, int]] | None:
    """ "3-9 0-1" → [(3, 9), (0, 1)], smaller number first; None if it is not written like this."""
    found = [PAIR.fullmatch(part) for part in text.split()]
    if not all(found):
        return None
    return [(min(u, v), max(u, v)) for u, v in (map(int, one.groups()) for one in found if one)]


def edited(graph: Graph, added: str, removed: str) -> tuple[Graph | None, str]:
    """The graph with these edits, None where there are none; or what is wrong with them."""
    new, gone = pairs(added), pairs(removed)
    if new is None or gone is None:
        wrong = added if new is None else removed
        return None, f"the edits {wrong[:40]!r} are no pairs such as 3-9 0-1"
    if len({*new, *gone}) < len(new) + len(gone):
        return None, "a pair is named twice"
    adjacency = graph.adjacency.copy()
    for which, edge in ((new, 0), (gone, 1)):
        for u, v in which:
            if u == v or v >= graph.n_nodes:
                return None, f"{u}-{v} is no pair of the nodes 0 to {graph.n_nodes - 1}"
            if adjacency[u, v] != edge:
                return None, f"{u}-{v} is {'an edge already' if edge == 0 else 'no edge'}"
            adjacency[u, v] = adjacency[v, u] = 1 - edge
    return (graph.with_adjacency(adjacency), "") if new or gone else (None, "")


# -- Judging ---------------------------------------------------------------------------------------------------------


OF_EDITS = ("correctness", "ged", "ged_on_success", "sparsity", "fidelity", "oracle_accuracy")  # of Table 1's metrics


def judged(table: pd.DataFrame, data_dir: Path | None, name: str = SUBMITTED) -> pd.DataFrame:
    """A line per task and metric, as in `table2.csv`, under the name of the method that made the file.

    All problems are collected before anything is judged.
    """
    problems, parts = [], []
    for task, own in table.groupby("task", sort=False):
        if task not in tasks.tasks():
            problems.append(f"there is no task {task!r} (line {own.index[0] + 2})")
            continue
        found, wrong = _results(tasks.task(str(task)), own, data_dir)
        problems += wrong
        if not wrong:
            parts.append(_metrics(found.assign(dataset=task, method=name, variant=SUBMITTED)))
    if problems:
        more = f"; and {len(problems) - MOST_PROBLEMS} more" if len(problems) > MOST_PROBLEMS else ""
        said = "; ".join(problems[:MOST_PROBLEMS])
        raise UsageError(f"Nothing was entered: {said}{more}. Correct these lines and submit again.")
    return pd.concat(parts, ignore_index=True)


def _results(task: TaskEntry, lines: pd.DataFrame, data_dir: Path | None) -> tuple[pd.DataFrame, list[str]]:
    """A line per test graph of the task with its metrics, and what is wrong with the lines of the file."""
    problem = loaded(task, data_dir, None)
    if isinstance(problem, DataError):
        raise problem
    given, wrong = _by_instance(lines)
    runs = [Run(Cell(task, _row(), fold, task.folds), Identity(), problem) for fold in range(task.folds)]
    tested = {int(instance) for run in runs for instance in run.fold.test}
    strangers = sorted(set(given) - tested)
    wrong += [f"graph {i} of {task.name} is no test graph (line {given[i].name + 2})" for i in strangers]
    measures, quality = [], Quality(data_dir)
    for run in runs:
        results = []
        for position, instance in enumerate(run.fold.test.tolist()):
            line, graph = given.get(instance), run.test[position]
            made, complaint = edited(graph, line["added"], line["removed"]) if line is not None else (None, "")
            if line is not None and complaint:
                wrong.append(f"graph {instance} of {task.name}: {complaint} (line {line.name + 2})")
            reason = "" if made else "not submitted"
            results.append(Counterfactual(graph, made, position, 0, reason, 0, 0.0))
        if not wrong:
            rows = evaluate(results, run.problem.oracle, run.problem.labels[run.fold.test])
            rows = rows.assign(seed=0, fold=run.fold.index)
            measures.append(pd.concat((rows, measured(results, run, quality.of_fold(run))), axis=1))
    return (pd.concat(measures, ignore_index=True) if measures else pd.DataFrame()), wrong


def _by_instance(lines: pd.DataFrame) -> tuple[dict[int, Any], list[str]]:
    """The lines by the graph that they are about; what is no number or named twice is wrong."""
    given: dict[int, Any] = {}
    wrong = []
    for number, line in lines.iterrows():
        if not re.fullmatch(r"\d{1,9}", line["instance"]):
            wrong.append(f"{line['instance'][:20]!r} is no number of a graph (line {int(number) + 2})")
        elif int(line["instance"]) in given:
            wrong.append(f"graph {line['instance']} has two lines (line {int(number) + 2})")
        else:
            given[int(line["instance"])] = line
    return given, wrong


def _row() -> Method:
    return Method("submission", SUBMITTED, "rsgg.baselines.controls:Identity", "Submission")


def _metrics(rows: pd.DataFrame) -> pd.DataFrame:
    """Means of fold means of all that edits determine, `MEANS`; the rows are those of the test graphs of a task."""
    rows = rows.assign(**{name: METRICS[name].formula(rows) for name in OF_EDITS})
    valid = rows["correctness"].to_numpy()
    of_classes = {
        f"validity_class_{c}": correctness_of_class(valid, rows["predicted"], c)
        for c in range(int(rows["predicted"].max()) + 1)
    }
    more = {
        **of_classes,
        "area_over_ged": area_over_ged(rows["ged"], valid, MOST_EDITS),
        "sparsity_on_success": ged_on_success(rows["sparsity"], valid),
    }
    return means_of(rows.assign(**more), (*OF_EDITS, *more, *MEASURED))


# -- The leaderboard -------------------------------------------------------------------------------------------------


def stored_table(folder: Path) -> pd.DataFrame:
    """The table of real data of a folder, else that of the reference; empty where there is neither."""
    path = next((one / "table2.csv" for one in (folder, REFERENCE) if (one / "table2.csv").is_file()), None)
    return pd.DataFrame() if path is None else read_csv(path)


def run(path: Path, name: str, out: Path, data_dir: Path | None) -> Iterator[str]:
    """Judge a file, enter it under this name (in place of an earlier one), and say what came of it."""
    taken = {called for method in methods.METHODS for called in (method.name, method.label)}
    if not name.strip() or name in taken:
        raise UsageError(f"{name!r} is no name for a new row; give one of your own with --name.")
    lines = judged(read(path), data_dir, name)
    entries, others = leaderboard.of_table2(lines), leaderboard.submitted(out)
    with Artefacts(out, "submit") as files:
        files.csv(FILE, pd.concat([_submitted_before(out, name), lines], ignore_index=True))
        board = leaderboard.joined(stored_table(out), others[others["method"] != name], entries)
        written = files.csv(leaderboard.FILE, board)
    for line in entries.itertuples():
        yield (
            f"{tasks.label(line.task)}: validity {_said(line.validity)} of {line.n:.0f} graphs, GED "
            f"{_said(line.ged, 2)}, plausibility {_said(line.plausibility)} (unedited "
            f"{_said(line.plausibility_unedited)}), feasible {_said(line.feasible)}"
        )
    yield f"Entered as {name!r} into {shown(written)}; ./reproduce.sh show leaderboard --out {shown(out)} shows it."
    yield f"All metrics: ./reproduce.sh show submitted --out {shown(out)}."


def _said(value: float, decimals: int = 3) -> str:
    return "–" if np.isnan(value) else f"{value:.{decimals}f}"


def _submitted_before(out: Path, name: str) -> pd.DataFrame:
    """The lines of earlier files in this folder, those of the same name left out."""
    path = out / FILE
    before = read_csv(path) if path.is_file() else pd.DataFrame(columns=list(MEANS))
    return before[before["method"] != name]
