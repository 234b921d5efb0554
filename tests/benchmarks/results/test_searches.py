"""The effort behind each row: every row of the paper's methods has its line, and searches are counted as stored."""

from __future__ import annotations

import pandas as pd

from benchmarks.registry import global_methods, methods, tasks
from benchmarks.results.searches import BY_HAND, SEARCHED_AS, STUDY, tuning

WHOSE = ["method", "variant", "dataset"]


def test_every_row_of_the_papers_methods_says_how_it_was_tuned() -> None:
    lines = pd.read_csv(BY_HAND, dtype=str, keep_default_na=False)
    rows = {
        (*method.row, task)
        for method in methods.METHODS
        for task in tasks.PAPER
        if method.name in methods.PAPER and not method.unsupported(task)
    }
    stated = list(lines[WHOSE].itertuples(index=False, name=None))
    assert rows <= set(stated) and len(stated) == len(set(stated))
    known = {*methods.rows(), *global_methods.rows(), ("macda", "faithful")}
    assert {(method, variant) for method, variant, _ in stated} <= known
    assert (lines[["settings_tried", "data_seen", "note"]] != "").all(axis=None)


def test_trials_and_hours_are_those_of_the_rows_own_searches() -> None:
    search = {"method": "cf2", "variant": "faithful", "dataset": "tree-cycles", "space": "paper"}
    nested = {**search, "protocol": "nested", "outer_fold": "0", "state": "complete", "seconds": "1800"}
    trials = [nested, {**nested, "state": "pruned"}, {**nested, "state": "winner", "seconds": "9000"}]
    trials += [{**nested, "protocol": "paper", "outer_fold": "0-9", "state": "failed", "seconds": ""}]
    trials += [{**nested, "variant": "released"}]
    found = tuning(pd.DataFrame(trials)).set_index(WHOSE)
    own = found.loc[("cf2", "faithful", "tree-cycles")]
    assert (own["nested_trials"], own["paper_trials"], own["hours"]) == (2, 1, "1.00")
    assert own["searched_on"] == "training graphs of fold 0; test folds 0-9"
    assert found.loc[("cf2", "released", "tree-cycles"), "nested_trials"] == 1
    assert found.loc[("meg", "faithful", "asd"), "nested_trials"] == 0 and found["hours"].eq("").sum() == len(found) - 2


def test_a_search_counts_for_the_row_under_whose_name_it_is_shown() -> None:
    """MEG was told classes only when it was searched, and the README and hyperparameters.md show it as that row."""
    (searched, shown), *_ = SEARCHED_AS.items()
    trial = dict(zip(("method", "variant"), searched, strict=True)) | {"dataset": "tree-cycles", "space": "paper"}
    trials = [{**trial, "protocol": "nested", "outer_fold": "0", "state": "complete", "seconds": "60"}] * 30
    found = tuning(pd.DataFrame(trials)).set_index(WHOSE)["nested_trials"]
    assert found[(*shown, "tree-cycles")] == 30 and found[(*searched, "tree-cycles")] == 0


def test_without_a_search_the_settings_tried_by_hand_are_told() -> None:
    found = tuning(pd.DataFrame(columns=STUDY))
    assert len(found) == len(pd.read_csv(BY_HAND)) and (found["nested_trials"] == 0).all()
