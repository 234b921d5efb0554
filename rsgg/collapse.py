"""Did training collapse? The rule, and the sentence that a user is told after `fit`.

A generator that proposes nothing, or the same graph whatever it draws, or everything at once, can have quiet losses. So
at the end of its training, over the last tenth of the epochs, the generator of a class counts as collapsed if

- fewer than half of its samples flip the oracle (it proposes nothing useful), or
- two samples of the same graph differ in less than a twentieth of a pair on average (it is stochastic no more), or
- it makes more edits than half the edges of the graph (it proposes another graph, not a change of this one).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

MIN_FLIP_RATE, MIN_DIVERSITY = 0.5, 0.05
JUDGED_SHARE = 0.1  # of the epochs, the last ones, whose mean is judged


class CollapseWarning(UserWarning):
    """A method whose training ended without a generator that is of use."""


@dataclass(frozen=True)
class Sign:
    """One sign of collapse at the end of a fit: the value that is looked at, its limit, and whether it was kept."""

    check: str
    collapsed: str  # what is said where it was not kept
    value: float
    limit: float
    passed: bool


def signs(line: Mapping[str, Any], edges: float) -> list[Sign]:
    """The signs of the rule above, for the mean values at the end of a fit; none where the curves hold no samples."""
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


def how(line: Mapping[str, Any], edges: float) -> str:
    """How a generator collapsed, "no" if it did not, and an empty string where that cannot be said."""
    found = signs(line, edges)
    return next((sign.collapsed for sign in found if not sign.passed), "no") if found else ""


def summary(history: Sequence[Mapping[str, float]], edges: Sequence[float]) -> list[dict[str, Any]]:
    """A line per class: its mean number of edges, its curves at the end of training, and whether it collapsed.

    `history` has a line per class and epoch, `edges` the mean number of edges of each class's training graphs.
    """
    lines = []
    for c, mean in enumerate(edges):
        curves = pd.DataFrame([line for line in history if line["class"] == c])
        line: dict[str, Any] = {"class": c, "edges": mean}
        if len(curves):
            last = curves["epoch"].max()
            tail = curves[curves["epoch"] >= min(last, (last + 1) * (1 - JUDGED_SHARE))]  # the last one at least
            line |= {name: float(np.mean(tail[name])) for name in tail.columns if name not in ("class", "epoch")}
        lines.append({**line, "collapsed": how(line, mean)})
    return lines


def warn(method: str, lines: Sequence[Mapping[str, Any]], advice: str) -> None:
    """One warning, a sentence, that names the classes whose generators are of no use; none where all are."""
    told = [
        f"for class {line['class']} it {line['collapsed']}" for line in lines if line["collapsed"] not in ("", "no")
    ]
    if told:
        sentence = f"The training of {method} collapsed: {', '.join(told)}; {advice} (`summary()` has the numbers)."
        warnings.warn(sentence, CollapseWarning, stacklevel=4)
