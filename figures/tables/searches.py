"""What searches for hyper-parameters found, beside the paper's tables."""

from __future__ import annotations

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.results.paper import of_paper
from benchmarks.results.reader import Results
from benchmarks.results.searches import STUDY
from figures.tables.numbers import cells, number, stored
from figures.tables.sheet import Cell, Group, Sheet, text

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
COUNTS = ("trials", "complete", "pruned", "failed", "outcomes")


def _title(study: dict[str, str]) -> str:
    """ "CF², as released, on Tree-Cycles": whose search it was."""
    beyond = ", beyond the paper's space" if study["space"] == "beyond" else ""
    return f"{methods.label(study['method'], study['variant'])} on {tasks.label(study['dataset'])}{beyond}"


# -- Hyper-parameters ------------------------------------------------------------------------------------


def hyperparameters(results: Results, *, everything: bool) -> list[Sheet]:
    """A table per search: space, the paper's best value and ours; where no search is stored, the paper's alone."""
    ours, paper = results.table("hyperparameters", as_text=True), _of_paper()
    ours = pd.DataFrame(columns=["method", "variant", "dataset", "space", *COLUMNS]) if ours is None else ours
    columns = {name: title for name, title in COLUMNS.items() if everything or name != "note"}
    sheets = [text("hyperparameters", "Hyper-parameters", ABOUT if everything else "")]
    for method in [*methods.PAPER, *sorted({*ours["method"]} - {*methods.PAPER})]:
        searched = ours[ours["method"] == method]
        for key, rows in searched.groupby(["method", "variant", "dataset", "space"], sort=False):
            study = dict(zip(("method", "variant", "dataset", "space"), key, strict=True))
            lines = [cells(*row) for row in rows[list(columns)].to_numpy().tolist()]
            name = "-".join(("hyperparameters", *key))
            sheets.append(Sheet(name, _title(study), list(columns.values()), [Group("", lines)]))
        if searched.empty:
            sheets.append(_as_printed(method, paper[paper["method"] == method], columns))
    notes = [] if everything else ["Notes and how values were chosen: show hyperparameters --all."]
    summary = hpo_summary(results, everything=True) if everything and results.path("hpo_summary") else []
    return [*sheets, *summary, *([text("more", "", "", notes)] if notes else [])]


def _of_paper() -> pd.DataFrame:
    paper = of_paper("hyperparameters", dtype=str, keep_default_na=False)
    return paper.rename(columns={"hyperparameter": "symbol", "best": "paper"})


def _as_printed(method: str, paper: pd.DataFrame, columns: dict[str, str]) -> Sheet:
    ours = {"nested": NOT_SEARCHED, "paper_protocol": NOT_SEARCHED}
    none = [{"symbol": "–", "search_space": "the paper prints none", "paper": "–"}]
    lines = [{**line, **ours} for line in paper.to_dict("records") or none]
    title = f"{methods.label(method)}, as printed"
    rows = [cells(*(line.get(name, "") for name in columns)) for line in lines]
    notes = [f"./reproduce.sh hpo --method {method} searches."]
    return Sheet(f"hyperparameters-{method}", title, list(columns.values()), [Group("", rows)], notes=notes)


# -- Studies ---------------------------------------------------------------------------------------------


def hpo_summary(results: Results, *, everything: bool) -> list[Sheet]:
    """A line per search: what it promised to gain over our settings, and what was kept of it on unseen graphs."""
    table = stored(results, "hpo_summary")
    measured = [name for name in table.columns if name not in (*STUDY, *COUNTS)]
    counts, shown = [name for name in COUNTS if name in table.columns], measured
    if not everything:
        counts, shown = ["trials"], ["best_value", "default_value", "promised", "kept"]
    groups = []
    for dataset, rows in table.groupby("dataset", sort=False):
        lines = [_study(line, counts, shown, everything=everything) for line in rows.to_dict("records")]
        groups.append(Group(tasks.label(str(dataset)), lines))
    whose = ["Search", "Protocol", *(["Space", "Outer fold"] if everything else [])]
    headings = [*whose, *(name.replace("_", " ").capitalize() for name in (*counts, *shown))]
    caption = (
        "Correctness. Best and default value: of the best trial and of our settings, where trials were measured. "
        "Promised: their difference; kept: the same on graphs that chose nothing; optimism: promised less kept."
    )
    notes = [] if everything else ["All columns: show hpo_summary --all."]
    title = "What the searches promised and what came of it"
    return [Sheet("hpo_summary", title, headings, groups, caption, notes, names=2)]


def _study(line: dict[str, str], counts: list[str], shown: list[str], *, everything: bool) -> list[Cell]:
    whose = [methods.label(line["method"], line["variant"]), line["protocol"]]
    whose += [line["space"], line["outer_fold"]] if everything else []
    return cells(*whose, *(line[name] for name in counts), *(number(line[name]) for name in shown))


TRIAL = {"number": "Trial", "state": "State", "value": "Correctness", "ged": "GED"}
LAST = {"folds": "Folds", "seconds": "Seconds", "started": "Started", "reason": "Reason"}
BEST_TRIALS = 10  # of each study, where not everything is shown


def hpo(results: Results, *, name: str, everything: bool) -> list[Sheet]:
    """The trials of a method's searches, the best first; all of them in their order with everything."""
    table = stored(results, name)
    sheets = []
    for key, rows in table.groupby(STUDY, sort=False):
        study = dict(zip(STUDY, key, strict=True))
        values = [c for c in rows.columns if c not in (*STUDY, *TRIAL, *LAST) and (rows[c] != "").any()]
        columns = {**TRIAL, **{c: c.replace("_", " ") for c in values}, **(LAST if everything else {})}
        kept = rows if everything else _best(rows)
        title = f"{_title(study)}, {study['protocol']} protocol, outer fold {study['outer_fold']}"
        lines = [_trial(line, columns) for line in kept.to_dict("records")]
        notes = [f"{len(rows) - len(kept)} more trials: show {name} --all."] if len(kept) < len(rows) else []
        sheets.append(Sheet("-".join((name, *key[1:])), title, list(columns.values()), [Group("", lines)], notes=notes))
    return sheets


def _trial(line: dict[str, str], columns: dict[str, str]) -> list[Cell]:
    return cells(*(number(line[name]) if name in ("value", "ged") else line[name] for name in columns))


def _best(rows: pd.DataFrame) -> pd.DataFrame:
    """What the winner and our settings did on unseen graphs, then the best trials: Correctness, GED, number."""
    complete = rows[rows["state"] == "complete"]
    keys = pd.DataFrame({name: pd.to_numeric(complete[name]) for name in ("value", "ged", "number")})
    order = keys.sort_values(["value", "ged", "number"], ascending=[False, True, True]).index[:BEST_TRIALS]
    return pd.concat([rows[~rows["state"].isin(["complete", "pruned", "failed"])], rows.loc[order]])
