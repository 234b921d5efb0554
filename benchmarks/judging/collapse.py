"""Did training collapse? A line per fit and class from the stored training curves, with the rule stated here.

The paper shows that both losses settle and concludes that there is no mode collapse. Losses alone do not show it: a
generator that proposes nothing, or the same graph whatever it draws, or everything at once, can have quiet losses too.
Over the last tenth of the epochs a generator counts as collapsed if

- fewer than half of its samples flip the oracle (it proposes nothing useful), or
- two samples of the same graph differ in less than a twentieth of a pair on average (it is stochastic no more), or
- it makes more edits than half the edges of the graph (it proposes another graph, not a change of this one).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

MIN_FLIP_RATE, MIN_DIVERSITY = 0.5, 0.05
LAST = 0.1  # share of the epochs that is looked at
ROW = ["dataset", "method", "variant", "seed", "fold", "class"]
CURVES = ["discriminator_loss", "generator_loss", "flip_rate", "edits", "diversity", "score_spread"]


def judge(history: pd.DataFrame, edges: pd.Series) -> pd.DataFrame:
    """One line per fit and class: the curves' last values, averaged, and whether and how the generator collapsed.

    `edges` is the mean number of edges per data set. Curves without samples (the released code's) are not judged.
    """
    if "class" not in history or history["class"].isna().all():  # no method here has a generator per class
        return pd.DataFrame(columns=[*ROW, "epochs", *CURVES, "collapsed"])
    history = history.dropna(subset="class").astype({"class": int})
    length = history.groupby(ROW)["epoch"].transform("max") + 1
    tail = history[history["epoch"] >= length * (1 - LAST)]
    lines = tail.groupby(ROW, sort=False)[[name for name in CURVES if name in tail]].mean().reset_index()
    lines.insert(len(ROW), "epochs", history.groupby(ROW, sort=False)["epoch"].max().to_numpy() + 1)
    lines["collapsed"] = [_how(line, float(edges[line["dataset"]])) for line in lines.to_dict("records")]
    return lines


@dataclass(frozen=True)
class Sign:
    """One sign of collapse at the end of a fit: the value that is looked at, its limit, and whether it was kept."""

    check: str
    collapsed: str  # what is said where it was not kept
    value: float
    limit: float
    passed: bool


def signs(line: Mapping[str, Any], edges: float) -> list[Sign]:
    """The signs of the rule above, for a line of `judge`; none where the curves hold no samples."""
    if pd.isna(line.get("flip_rate")):
        return []
    flips, edits = float(line["flip_rate"]), float(line.get("edits", float("nan")))  # a method need not count edits
    found = [Sign("flips", "proposes nothing that flips", flips, MIN_FLIP_RATE, flips >= MIN_FLIP_RATE)]
    if not pd.isna(line.get("diversity")):  # a method without chance has none
        diversity = float(line["diversity"])
        found.append(
            Sign("diversity", "always proposes the same", diversity, MIN_DIVERSITY, diversity >= MIN_DIVERSITY)
        )
    return [*found, Sign("edits", "proposes another graph", edits, edges / 2, not edits > edges / 2)]


def _how(line: Mapping[str, Any], edges: float) -> str:
    found = signs(line, edges)
    return next((sign.collapsed for sign in found if not sign.passed), "no") if found else ""
