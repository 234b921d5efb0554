"""What searches for hyper-parameters found, beside the paper's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from benchmarks.registry import global_methods, methods, tasks
from benchmarks.results.paper import of_paper
from benchmarks.results.reader import Results
from benchmarks.results.searches import SEARCHED_AS
from figures.tables.lines import as_stored
from figures.tables.numbers import row_label, rows_of, stored
from figures.tables.sheet import Group, Sheet, text, with_all

ABOUT = (
    "Ours, nested: the values with the highest mean Correctness over inner folds of the training graphs of the outer "
    "fold (several outer folds: / between them). Ours, paper's protocol: the same over the test folds themselves, as "
    "the paper's search chose; what it promises is therefore optimistic (hpo_summary.csv). Of equal ones the one with "
    "the smaller GED is taken, then the earlier. The first trial of every search tries the paper's best values, the "
    "second ours where the space holds all of them, so that what is found is no worse than these for want of luck. "
    "Importance: PED-ANOVA, the share of each hyper-parameter in reaching the best 25 % of the complete trials; empty "
    "below 8 of them, or where all had the same Correctness."
)
COLUMNS = {
    "symbol": "Hyper-parameter", "search_space": "Search space", "paper": "Paper's best", "nested": "Ours, nested",
    "paper_protocol": "Ours, paper's protocol", "importance": "Importance", "note": "Note",
}  # fmt: skip
NOT_SEARCHED = "not searched yet"
SEARCH = ["method", "variant", "dataset", "space"]  # what tells searches apart


def hyperparameters(results: Results, *, everything: bool) -> list[Sheet]:
    """A table per search: space, the paper's best value and ours; where no search is stored, the paper's alone."""
    ours, paper = results.table("hyperparameters", as_text=True), _of_paper()
    ours = pd.DataFrame(columns=[*SEARCH, *COLUMNS]) if ours is None else ours
    columns = [name for name in COLUMNS if everything or name != "note"]
    notes = [] if everything else [with_all("notes, and how values were chosen")]
    sheets = [text("hyperparameters", "Hyper-parameters", ABOUT if everything else "", notes)]
    for method in [*methods.PAPER, *sorted({*ours["method"]} - {*methods.PAPER})]:
        searched = ours[ours["method"] == method]
        for (_, variant, dataset, space), rows in searched.groupby(SEARCH, sort=False):
            beyond = ", beyond the paper's space" if space == "beyond" else ""
            searched_row = SEARCHED_AS.get((method, variant), (method, variant))
            title = f"{row_label(*searched_row)} on {tasks.label(dataset)}{beyond}"
            sheets.append(_sheet((method, variant, dataset, space), title, rows[columns]))
        if searched.empty:
            printed = paper[paper["method"] == method].reindex(columns=columns, fill_value="")
            command = [f"./reproduce.sh hpo --method {method} searches."]
            sheets.append(_sheet((method,), f"{methods.label(method)}, as printed", printed, command))
    if everything and results.path("hpo_summary"):
        sheets += hpo_summary(results, everything=True)
    return sheets


def hpo_summary(results: Results, *, everything: bool) -> list[Sheet]:
    """What the searches promised and what came of it, line by line, and which of them are of another revision."""
    (sheet,) = as_stored(results, name="hpo_summary", everything=everything)
    return [replace(sheet, notes=[*sheet.notes, *filter(None, [other_revisions(results)])])]


def _of_paper() -> pd.DataFrame:
    """What the paper prints, as if nothing had been searched; a line for each method for which it prints nothing."""
    paper = of_paper("hyperparameters", dtype=str, keep_default_na=False)
    paper = paper.rename(columns={"hyperparameter": "symbol", "best": "paper"})
    silent = [method for method in methods.PAPER if method not in {*paper["method"]}]
    none = pd.DataFrame({"method": silent, "symbol": "–", "search_space": "the paper prints none", "paper": "–"})
    return pd.concat([paper, none]).fillna("").assign(nested=NOT_SEARCHED, paper_protocol=NOT_SEARCHED)


def _sheet(whose: Sequence[str], title: str, rows: pd.DataFrame, notes: Sequence[str] = ()) -> Sheet:
    headings = [COLUMNS[name] for name in rows.columns]
    return Sheet("-".join(("hyperparameters", *whose)), title, headings, [Group("", rows_of(rows))], notes=notes)


def other_revisions(results: Results) -> str:
    """Which searches were made with another revision of their method than today's, as a sentence; or nothing.

    A revision is raised where results change, so that such a search says little about the method as it is now.
    """
    table = results.table("hpo_summary", as_text=True)
    if table is None or "revision" not in table:
        return ""
    known, parts = methods.rows(), []
    for line in table.to_dict("records"):
        row = (line["method"], line["variant"])
        if row in known and line["revision"] != str(known[row].revision):
            name = row_label(*SEARCHED_AS.get(row, row))
            parts.append(f"{name}, {line['protocol']} (revision {line['revision']}, today {known[row].revision})")
    said = "Searched with another revision of the method than today's, whose results differ"
    return f"{said}: {'; '.join(parts)}." if parts else ""


UNEQUAL = (
    "Rows were not tuned alike, and what Table 1 runs with was chosen by hand, not by these searches. Verdicts on "
    "printed numbers are about rows as released, which have the published values. What compares methods as their "
    "papers define them, RSGG-CE by score function (best and second best, paired comparisons, claims “as written”), "
    "compares rows of unequal tuning; one whose settings were chosen in view of a test fold is favoured there. The "
    "nested searches on Tree-Cycles give each method as many trials, inside training folds: what their winners gain "
    "over our settings on unseen graphs is in hpo_summary.csv (kept)."
)
TUNING = {
    "method": "Method", "dataset": "Data set", "settings_tried": "Settings tried by hand", "data_seen": "Data seen",
    "nested_trials": "Trials, nested", "paper_trials": "Trials, paper's protocol", "searched_on": "Searched on",
    "hours": "Hours of search", "note": "Note",
}  # fmt: skip
WITHOUT_TASK = {("macda", "faithful"): "MACDA"}  # rows of experiments whose data are no task of the registry


def tuning(results: Results, *, everything: bool) -> list[Sheet]:
    """What effort went into the settings of each row: tried by hand, searched, and on which graphs."""
    table = stored(results, "tuning")
    elsewhere = {**{row: method.label for row, method in global_methods.rows().items()}, **WITHOUT_TASK}
    rows = zip(table["method"], table["variant"], strict=True)
    table["method"] = [elsewhere.get(row) or row_label(*row) for row in rows]
    table["dataset"] = [tasks.label(name) if name in tasks.tasks() else name for name in table["dataset"]]
    columns = [name for name in TUNING if everything or name not in ("searched_on", "note")]
    groups = [Group("", rows_of(own[columns])) for _, own in table.groupby("method", sort=False)]
    notes = [] if everything else [with_all("what was searched on which graphs, and notes")]
    return [Sheet("tuning", "Tuning", [TUNING[name] for name in columns], groups, UNEQUAL, notes, names=2)]
