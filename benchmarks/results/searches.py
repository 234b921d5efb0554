"""Stored searches for hyper-parameters: what tells studies apart, which trial won, what we did not search.

`hpo_<method>.csv` has a row per trial, and rows for the winner and the registry's values on unseen graphs.
"""

from __future__ import annotations

import pandas as pd

STUDY = ["method", "variant", "dataset", "protocol", "space", "outer_fold"]  # what tells studies apart

NOT_SEARCHED: dict[tuple[str, str], dict[str, tuple[str, str, str]]] = {
    ("cf2", "faithful"): {
        "batch size ratio": ("{0.1, 0.15, 0.2}", "0.2", "no meaning here: each graph is optimised by itself")
    },
    ("cf2", "released"): {
        "α": ("{0.5, 0.6, ..., 1.0}", "0.7", "cannot matter: the term that it weighs has no gradient"),
        "λ": ("{20, 100, 500, 1000}", "20", "cannot matter: the released code does not read it"),
        "γ": ("{0.1, 0.2, ..., 1.0}", "0.9", "cannot matter: the term that it is in has no gradient"),
    },
    ("clear", "faithful"): {
        "α": ("{0, 0.2, ..., 1}", "0.4", "no meaning here: the objective has three weights, λ_sim, λ_kl and λ_cfe"),
        "batch size ratio": ("{0.1, 0.15, 0.2}", "0.15", "no meaning here: training is full batch, as in the original"),
    },
    ("clear", "released"): {
        "α": ("{0, 0.2, ..., 1}", "0.4", "cannot matter: the weights enter a printed value only"),
    },
    ("rsgg-ce", "faithful"): {
        "T": ("{50, 100, ..., 500}", "500", "held at 500: a commented-out line of the paper's source, not its table")
    },
    ("rsgg-ce", "released"): {
        "T": ("{50, 100, ..., 500}", "500", "held at 500: a commented-out line of the paper's source, not its table")
    },
}
"""What the paper searched and this search does not, with the paper's space, its best value and the reason."""


def best(study: pd.DataFrame) -> pd.Series | None:
    """The row of the trial that won: highest Correctness, then smallest GED, then first."""
    complete = study[study["state"] == "complete"]
    if complete.empty:
        return None
    order = pd.DataFrame({name: complete[name].astype(float) for name in ("value", "ged", "number")})
    return complete.loc[order.sort_values(["value", "ged", "number"], ascending=[False, True, True]).index[0]]
