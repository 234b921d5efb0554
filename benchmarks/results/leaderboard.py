"""The leaderboard: a line per task and method, those of a stored `table2.csv` and what was submitted, by rank."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.registry import tasks
from benchmarks.results.files import read_csv

FILE = "leaderboard.csv"
SUBMITTED = "submitted"  # the variant of rows that come from a file
SHOWN = ("validity", "ged", "area_over_ged", "plausibility", "plausibility_unedited", "feasible", "n")
METRICS = {"validity": "correctness", "ged": "ged_on_success"}  # of table2, where they are called otherwise there
ROW = ["task", "method", "variant"]
COLUMNS = [*ROW, *SHOWN]


def of_table2(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of real data, columns `COLUMNS`; n are the graphs that were to be explained."""
    if table.empty:
        return pd.DataFrame(columns=COLUMNS)
    wide = table.pivot_table(index=ROW, columns="metric", values="mean", sort=False)
    measured = {name: METRICS.get(name, name) for name in SHOWN if name != "n"}
    wide = wide.reindex(columns=list(measured.values())).set_axis(list(measured), axis=1)
    graphs = table[table["metric"] == "correctness"].set_index(ROW)["n"]
    return wide.assign(n=graphs).reset_index()[COLUMNS]


def submitted(folder: Path) -> pd.DataFrame:
    """The rows of a folder's leaderboard that come from files."""
    path = folder / FILE
    board = read_csv(path) if path.is_file() else pd.DataFrame(columns=COLUMNS)
    return board[board["variant"] == SUBMITTED] if "variant" in board else pd.DataFrame(columns=COLUMNS)


def joined(table: pd.DataFrame, *submissions: pd.DataFrame) -> pd.DataFrame:
    """The rows of a table of real data and those submitted, task by task as the registry has them.

    The most valid comes first, of equally valid ones that with the fewest edits.
    """
    parts = [part for part in (of_table2(table), *submissions) if len(part)]
    board = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    order = {name: i for i, name in enumerate(tasks.tasks())}
    keys = pd.DataFrame({"task": board["task"].map(order), "validity": -board["validity"], "ged": board["ged"]})
    return board.loc[keys.sort_values(["task", "validity", "ged"], kind="stable").index, COLUMNS].reset_index(drop=True)
