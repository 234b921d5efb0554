"""Stored searches for hyper-parameters: what tells studies apart, which trial won, what we did not search, what effort
went into each row.

`hpo_<method>.csv` has a row per trial, and rows for the winner and the registry's values on unseen graphs;
`revision` is that of the method which was searched.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks import registry
from benchmarks.results.files import read_csv
from benchmarks.results.paper import of_paper

STUDY = ["method", "variant", "dataset", "protocol", "space", "outer_fold"]  # what tells studies apart

BEFORE_REVISIONS = {("rsgg-ce", "faithful"): "2", ("rsgg-ce", "released"): "2", ("cf2", "faithful"): "2"}
"""The revisions of the methods that were searched before searches stored them, where they were not 1 (by the registry
of those days)."""

SEARCHED_AS = {("meg", "faithful"): ("meg-classes", "control")}
"""Rows whose stored search was run with the options of another row, under whose name it is shown and counted: MEG was
told classes only when it was searched (the default of `reward` in its revision 1). To be dropped with the trials when
MEG is searched again."""

NOT_SEARCHED: dict[tuple[str, str], dict[str, dict[str, str]]] = {
    row: lines.set_index("symbol")[["search_space", "paper", "note"]].to_dict("index")
    for row, lines in of_paper("not_searched", dtype=str).groupby(["method", "variant"])
}
"""What the paper searched and this search does not, with the paper's space, its best value and the reason."""


def with_revisions(trials: pd.DataFrame) -> pd.DataFrame:
    """The rows of an hpo_<method>.csv with their `revision`, which older files do not have."""
    if trials.empty or "revision" in trials:
        return trials
    rows = zip(trials["method"], trials["variant"], strict=True)
    return trials.assign(revision=[BEFORE_REVISIONS.get(row, "1") for row in rows])


def best(study: pd.DataFrame) -> pd.Series | None:
    """The row of the trial that won: highest Correctness, then smallest GED, then first."""
    complete = study[study["state"] == "complete"]
    if complete.empty:
        return None
    order = pd.DataFrame({name: complete[name].astype(float) for name in ("value", "ged", "number")})
    return complete.loc[order.sort_values(["value", "ged", "number"], ascending=[False, True, True]).index[0]]


BY_HAND = Path(registry.__file__).with_name("tuning.csv")
TRIED = ("complete", "pruned", "failed")  # states of trials


def tuning(trials: pd.DataFrame) -> pd.DataFrame:
    """The effort that went into each row: what was tried by hand (`BY_HAND`), and what was searched.

    `trials` are the rows of all hpo_<method>.csv, as text. Added are, of each row and data set, the trials of either
    protocol, the folds that they looked at, and the hours that they took; of a search that is shown under another
    name (`SEARCHED_AS`), under that name.
    """
    table = read_csv(BY_HAND, dtype=str, keep_default_na=False)
    tried = trials[trials["state"].isin(TRIED)] if len(trials) else trials.reindex(columns=[*STUDY, "seconds"])
    rows = [SEARCHED_AS.get(row, row) for row in zip(tried["method"], tried["variant"], strict=True)]
    whose = pd.DataFrame(rows, columns=["method", "variant"], index=tried.index).assign(dataset=tried["dataset"])
    added = []
    for row in table[["method", "variant", "dataset"]].itertuples(index=False, name=None):
        own = tried[(whose == row).all(axis=1)]
        by = {name: own[own["protocol"] == name] for name in ("nested", "paper")}
        folds = {"nested": "training graphs of fold", "paper": "test folds"}
        seen = [f"{folds[name]} {', '.join(dict.fromkeys(of['outer_fold']))}" for name, of in by.items() if len(of)]
        hours = pd.to_numeric(own["seconds"]).sum() / 3600
        added.append({"nested_trials": len(by["nested"]), "paper_trials": len(by["paper"]),
                      "searched_on": "; ".join(seen), "hours": f"{hours:.2f}" if len(own) else ""})  # fmt: skip
    return table.join(pd.DataFrame(added))
