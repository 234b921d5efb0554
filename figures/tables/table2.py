"""Real data as tables, from `table2.csv`, `table2_kinds.csv` and `leaderboard.csv`.

Rows × tasks for what matters most, what each row finds where, a sheet per task, and the leaderboard.

Controls claim no explanation, so that they are not ranked: they stand in a group of their own, and where one is as good
as the best row the table says so. The nearest data graph is ranked as a search; where it is best the table says that it
returns a real graph. A share of feasible results that is over fewer rules than others is marked.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Row
from benchmarks.registry.rules import (
    AS_CORRECT_AS_THE_BEST,
    CORRECTNESS_FLOOR,
    LOST_PLAUSIBILITY,
    MEASURES_OF_DISTANCE,
    MEASURES_OF_SUCCESS,
    MOST_EDITS,
    NOT_SANITISED,
    VALID,
)
from benchmarks.results.reader import Results
from figures.tables.numbers import by_row, means, missing, number, over_tasks, row_label, stored
from figures.tables.sheet import ABSENT, Cell, Group, Sheet, text, with_all

FIRST = {  # the columns of a task's sheet, with their decimals
    "correctness": ("Validity ↑", 3), "ged_on_success": ("GED ↓", 2), "explain_calls": ("Calls ↓", 1),
    "fit_calls": ("Calls to fit ↓", 0), "plausibility": ("Plausibility ↑", 3), "feasible": ("Feasible ↑", 3),
}  # fmt: skip
FURTHER = {
    "sparsity_on_success": ("GED / (|V| + |E|) ↓", 3), "area_over_ged": ("Area over GED ↑", 3),
    "area_over_calls": ("Area over calls ↑", 3), "plausibility_unedited": ("Plausibility, unedited", 3),
    "connected": ("Connected ↑", 3), "degrees": ("Degrees ↑", 3), "edge_count": ("Edge count ↑", 3),
    "sanitised": ("Sanitised ↑", 3), "mmd_degree": ("MMD², degrees ↓", 3), "mmd_clustering": ("clustering ↓", 3),
    "mmd_spectrum": ("spectrum ↓", 3), "tanimoto": ("Tanimoto ↑", 3),
    "same_structure": ("Same structure ↓", 3),
    "motif_precision": ("Motif, precision ↑", 3), "motif_recall": ("Motif, recall ↑", 3),
    "oracle_accuracy": ("Oracle Acc.", 3),
}  # fmt: skip
ABOUT = (
    "Means of fold means on held-out graphs. GED, plausibility and rules are of valid counterfactuals. Plausibility is "
    "the rank among held-out real graphs of the claimed class (real graphs: .5). A row finds explanations if its "
    f"validity is at least {VALID} and it loses at most {LOST_PLAUSIBILITY} of the plausibility that the unedited "
    "inputs have as graphs of that class; if it loses more, it finds adversarial examples. Areas under validity end at "
    f"{MOST_EDITS} edits, and at the budget of the task."
)
RULE = (
    "Best in bold, second best underlined, among the rows that are not controls; of GED only among rows whose "
    f"validity is at most {AS_CORRECT_AS_THE_BEST} below the best, of the others only among rows with a validity of at "
    f"least {CORRECTNESS_FLOOR}: a low cost is no merit where nothing is explained."
)
CONTROLS = "Controls, not ranked"
GROUPS = ("", "Searches", "Results of other rows made minimal", CONTROLS)
REAL_GRAPHS: Row = ("dce", "search")  # what it returns are data, not something that it made
ABOUT_REAL_GRAPHS = (
    "which returns a real graph that the oracle puts into another class: being valid, plausible and feasible after two "
    "questions is no achievement there."
)
FEWER_RULES = (
    f"{NOT_SANITISED} over fewer rules: RDKit was not asked about all of these results, as atoms are edited in some of "
    "them or in others of their folds."
)
NOT_JUDGED = (
    "Not judged: the row is valid, but no plausibility is known, as no real graph is of the classes that it claims."
)


@dataclass(frozen=True)
class Overview:
    """A metric that is shown for all rows and tasks: its column in `table2.csv`, its title, its decimals."""

    metric: str
    title: str
    decimals: int
    more_is_better: bool


OVERVIEWS = (
    Overview("correctness", "Validity", 3, True),
    Overview("ged_on_success", "GED where the class changed", 2, False),
    Overview("plausibility", "Plausibility where the class changed", 3, True),
    Overview("feasible", "Feasible: all rules of the domain are kept", 3, True),
    Overview("explain_calls", "Questions per graph", 1, False),
)


def table2(results: Results, *, everything: bool) -> list[Sheet]:
    """Rows × tasks, and what each row finds; with everything, also a sheet per task, and rows "+ min"."""
    gaps = [f"Missing: {gap}." for gap in over_tasks(missing(results, "table2"))]
    more = [] if everything else [with_all("a table per task, intervals, more rows and metrics")]
    about = text("table2", "Real data and learnt oracles", f"{ABOUT} {RULE}", [*gaps, *more])
    sheets = [about, *overview(results, everything=everything)]
    return [*sheets, *per_task(results)] if everything else sheets


def overview(results: Results, *, everything: bool = False) -> list[Sheet]:
    """A sheet of rows × tasks for each of `OVERVIEWS`, and one that says what each row finds on each task."""
    table, kinds = _shown(stored(results, "table2", as_text=False), everything), results.table("table2_kinds")
    if table.empty:  # what is missing, and why, is said above
        return []
    sheets = [_rows_by_tasks(table, one) for one in OVERVIEWS]
    return sheets if kinds is None or kinds.empty else [*sheets, _finds(_shown(kinds, everything))]


def _shown(table: pd.DataFrame, everything: bool) -> pd.DataFrame:
    """All rows, or those that are not another row's results made minimal."""
    rows = zip(table["method"], table["variant"], strict=True)
    return table if everything else table[[not methods.made_of(row) for row in rows]]


def _tasks(table: pd.DataFrame) -> list[str]:
    """The tasks of a table in the order of the registry."""
    found = list(dict.fromkeys(table["task"]))
    return [name for name in tasks.tasks() if name in found] + [name for name in found if name not in tasks.tasks()]


def _group(row: Row) -> str:
    """Of `GROUPS`, where a row stands."""
    if row[1] == "control":
        return CONTROLS
    return GROUPS[2] if methods.made_of(row) else GROUPS[1] if row[1] == "search" else GROUPS[0]


def _grouped(rows: Iterable[tuple[Row, list[Cell]]]) -> list[Group]:
    made: dict[str, list[list[Cell]]] = {heading: [] for heading in GROUPS}
    for row, cells in rows:
        made[_group(row)].append(cells)
    return [Group(heading, lines) for heading, lines in made.items() if lines]


def _whose(lines: pd.DataFrame) -> Row:
    method, variant = lines.iloc[0][["method", "variant"]]
    return str(method), str(variant)


# -- Rows × tasks ----------------------------------------------------------------------------------------------


def _rows_by_tasks(table: pd.DataFrame, one: Overview) -> Sheet:
    """A row per method, a column per task; the notes name the controls that are as good as the best row."""
    names, rows, notes = _tasks(table), [], []
    marks = {name: ranked(table[table["task"] == name], one) for name in names}
    fewer = over_fewer_rules(table) if one.metric == "feasible" else set()
    for label, lines in by_row(table):
        row = _whose(lines)
        own = {line["task"]: line for line in lines[lines["metric"] == one.metric].to_dict("records")}
        cells = [Cell(label)]
        for name in names:
            mark = marks[name].get(row, "") if row[1] != "control" else ""
            cells.append(_cell(own.get(name), one.decimals, mark, NOT_SANITISED if (name, *row) in fewer else ""))
        rows.append((row, cells))
    for name in names:
        ahead = [row_label(*row) for row, mark in marks[name].items() if row[1] == "control" and mark == "best"]
        if ahead:
            notes.append(f"{tasks.label(name)}: no row is better than the control {', nor than '.join(ahead)}.")
    of_data = [tasks.label(name) for name in names if marks[name].get(REAL_GRAPHS) == "best"]
    if of_data:
        notes.append(f"{'; '.join(of_data)}: none is better than {row_label(*REAL_GRAPHS)}, {ABOUT_REAL_GRAPHS}")
    notes += [FEWER_RULES] if fewer else []
    arrow = "↑" if one.more_is_better else "↓"
    headings = ["Method", *map(tasks.label, names)]
    return Sheet(f"table2-{one.metric}", f"{one.title} {arrow}", headings, _grouped(rows), notes=notes)


def ranked(lines: pd.DataFrame, one: Overview) -> dict[Row, str]:
    """The marks of the rows of one task, "best" or "second", as they are shown: equal numbers share a mark.

    Rows that the rules do not let compete have none, and none is marked where all that compete are equal. A control has
    the mark "best" where it competes and no row is better.
    """
    wanted = list(dict.fromkeys(["correctness", one.metric]))
    lines = lines[lines["metric"].isin(wanted)]
    wide = lines.pivot_table(index=["method", "variant"], columns="metric", values="mean", sort=False)
    wide = wide.reindex(columns=wanted)
    control = wide.index.get_level_values("variant") == "control"
    least = 0.0 if one.metric in MEASURES_OF_SUCCESS else CORRECTNESS_FLOOR
    if one.metric in MEASURES_OF_DISTANCE:
        least = wide.loc[~control, "correctness"].max() - AS_CORRECT_AS_THE_BEST - 1e-9
    values = wide.loc[(wide["correctness"] >= least) & wide[one.metric].notna(), one.metric]
    shown = {row: float(number(value, one.decimals)) for row, value in values.items()}
    of_rows = sorted({value for row, value in shown.items() if row[1] != "control"}, reverse=one.more_is_better)
    marks = dict(zip(of_rows, ("best", "second"), strict=False)) if len(of_rows) > 1 else {}
    made = {row: marks.get(value, "") for row, value in shown.items() if row[1] != "control"}
    sign = 1 if one.more_is_better else -1
    ahead = [row for row, v in shown.items() if row[1] == "control" and (not of_rows or sign * v >= sign * of_rows[0])]
    return {**made, **dict.fromkeys(ahead, "best")}


def _cell(line: Mapping[str, Any] | None, decimals: int, mark: str = "", sign: str = "") -> Cell:
    if line is None:
        return Cell(ABSENT)
    low, high = (number(line[end], decimals) for end in ("ci_low", "ci_high"))
    return Cell(f"{number(line['mean'], decimals)}{sign}", mark, interval=f"[{low}, {high}]")


def over_fewer_rules(table: pd.DataFrame) -> set[tuple[str, str, str]]:
    """Task, method and variant of the rows of `table2.csv` whose feasible results were not all shown to RDKit.

    That is so on tasks of molecules, which are those where some row has results that were.
    """
    whose = ["task", "method", "variant"]
    counts = table[table["metric"].isin(["feasible", "sanitised"])].pivot_table("n", whose, "metric", sort=False)
    counts = counts.reindex(columns=["feasible", "sanitised"]).fillna(0)
    molecules = counts["sanitised"].groupby(level="task").transform("sum") > 0
    return set(counts.index[molecules & (counts["sanitised"] < counts["feasible"])])


def _finds(kinds: pd.DataFrame) -> Sheet:
    """What each row finds on each task, and on how many tasks which."""
    names, rows = _tasks(kinds), []
    for label, lines in by_row(kinds):
        own = lines.set_index("task")["finds"].map(_short)
        counts = [int((own == kind).sum()) for kind in ("explanations", "adversarial", "little")]
        cells = [Cell(label), Cell(" / ".join(map(str, counts))), *(Cell(own.get(name, ABSENT)) for name in names)]
        rows.append((_whose(lines), cells))
    caption = "Explanations, adversarial examples or little, by the rule above; in the second column on how many tasks."
    headings = ["Method", "Tasks", *map(tasks.label, names)]
    title = "What each row finds"
    notes = [NOT_JUDGED] if (kinds["finds"] == "not judged").any() else []
    return Sheet("table2-kinds", title, headings, _grouped(rows), caption, notes)


def _short(finds: str) -> str:
    return finds.removeprefix("finds ").removesuffix(" examples")


# -- One task --------------------------------------------------------------------------------------------------


def per_task(results: Results) -> list[Sheet]:
    """A sheet per task with all rows and columns."""
    table, kinds = stored(results, "table2", as_text=False), results.table("table2_kinds")
    shown = {**FIRST, **FURTHER}
    finds = {} if kinds is None else kinds.set_index(["task", "method", "variant"])["finds"].to_dict()
    sheets = []
    fewer, at = over_fewer_rules(table), list(shown).index("feasible")
    for task in _tasks(table):
        rows, of_task = [], table[table["task"] == task]
        for label, lines in by_row(of_task):
            row, measured = _whose(lines), means(lines, shown)
            if (task, *row) in fewer:
                measured[at] = replace(measured[at], text=f"{measured[at].text}{NOT_SANITISED}")
            rows.append((row, [Cell(label), *measured, _found(lines, finds)]))
        headings = ["Method", *(heading for heading, _ in shown.values()), "Finds"]
        led = [one.metric for one in OVERVIEWS if ranked(of_task, one).get(REAL_GRAPHS) == "best"]
        best = ", ".join(shown[metric][0].removesuffix(" ↑").removesuffix(" ↓") for metric in led)
        notes = [f"By {best} none is better than {row_label(*REAL_GRAPHS)}, {ABOUT_REAL_GRAPHS}"] if led else []
        notes += _led_by_controls(of_task, shown)
        notes += [FEWER_RULES] if any(name == task for name, *_ in fewer) else []
        sheets.append(Sheet(f"table2-{task}", tasks.label(task), headings, _grouped(rows), notes=notes))
    return sheets


def _led_by_controls(of_task: pd.DataFrame, shown: Mapping[str, tuple[str, int]]) -> list[str]:
    """Which controls no row of a task is better than, and by what; that a control is not fitted is no merit of it."""
    led: dict[Row, list[str]] = {}
    for metric, (heading, decimals) in shown.items():
        if heading[-1] not in "↑↓" or metric == "fit_calls":
            continue
        marks = ranked(of_task, Overview(metric, heading, decimals, heading.endswith("↑")))
        for row in (row for row, mark in marks.items() if row[1] == "control" and mark == "best"):
            led.setdefault(row, []).append(heading[:-2])
    return [f"No row is better than the control {row_label(*row)} by {', '.join(of)}." for row, of in led.items()]


def _found(lines: pd.DataFrame, finds: Mapping[tuple[str, ...], str]) -> Cell:
    whose = tuple(lines.iloc[0][["task", "method", "variant"]])
    return Cell(finds.get(whose, "").removeprefix("finds "))


# -- The leaderboard -------------------------------------------------------------------------------------------

BOARD = {  # columns of leaderboard.csv with their decimals
    "validity": ("Validity ↑", 3), "ged": ("GED ↓", 2), "area_over_ged": ("Area over GED ↑", 3),
    "plausibility": ("Plausibility ↑", 3), "plausibility_unedited": ("unedited", 3), "feasible": ("Feasible ↑", 3),
}  # fmt: skip
ABOUT_BOARD = (
    "The most valid first, of equally valid ones that with the fewest edits. GED, plausibility and rules are of valid "
    "results. Controls have no rank. What was submitted is checked by asking the oracle: ./reproduce.sh submit."
)
FIRST_RANKS = 10  # of a task, where not everything is shown


def leaderboard(results: Results, *, everything: bool) -> list[Sheet]:
    """A group per task, ranked as the file is; controls have no rank."""
    board, groups, more = stored(results, "leaderboard", as_text=False), [], 0
    measured = results.table("table2")
    fewer = set() if measured is None else over_fewer_rules(measured)
    for task in _tasks(board):
        lines = list(_ranks(board[board["task"] == task], fewer))
        kept = lines if everything else [cells for cells in lines if not _below(cells[1].text)]
        more += len(lines) - len(kept)
        groups.append(Group(tasks.label(task), kept))
    headings = ["Method", "Rank", *(heading for heading, _ in BOARD.values()), "Graphs"]
    notes = [with_all(f"{more} more {'row' if more == 1 else 'rows'}")] if more else []
    notes += [FEWER_RULES] if fewer else []
    return [Sheet("leaderboard", "Leaderboard", headings, groups, ABOUT_BOARD, notes)]


def _ranks(board: pd.DataFrame, fewer: Collection[tuple[str, str, str]]) -> Iterator[Sequence[Cell]]:
    rank = 0
    for line in board.to_dict("records"):
        control = line["variant"] == "control"
        rank += not control
        sign = {"feasible": NOT_SANITISED} if (line["task"], line["method"], line["variant"]) in fewer else {}
        measured = [Cell(number(line[name], decimals) + sign.get(name, "")) for name, (_, decimals) in BOARD.items()]
        name = Cell(row_label(line["method"], line["variant"]))
        yield [name, Cell("control" if control else str(rank)), *measured, Cell(f"{line['n']:.0f}")]


def _below(rank: str) -> bool:
    return rank.isdigit() and int(rank) > FIRST_RANKS
