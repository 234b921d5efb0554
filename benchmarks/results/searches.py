"""Stored searches for hyper-parameters: what tells studies apart, which trial won, what we did not search.

`hpo_<method>.csv` has a row per trial, and rows for the winner and the registry's values on unseen graphs.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.results.paper import of_paper

STUDY = ["method", "variant", "dataset", "protocol", "space", "outer_fold"]  # what tells studies apart

NOT_SEARCHED: dict[tuple[str, str], dict[str, dict[str, str]]] = {
    row: lines.set_index("symbol")[["search_space", "paper", "note"]].to_dict("index")
    for row, lines in of_paper("not_searched", dtype=str).groupby(["method", "variant"])
}
"""What the paper searched and this search does not, with the paper's space, its best value and the reason."""


def best(study: pd.DataFrame) -> pd.Series | None:
    """The row of the trial that won: highest Correctness, then smallest GED, then first."""
    complete = study[study["state"] == "complete"]
    if complete.empty:
        return None
    order = pd.DataFrame({name: complete[name].astype(float) for name in ("value", "ged", "number")})
    return complete.loc[order.sort_values(["value", "ged", "number"], ascending=[False, True, True]).index[0]]
