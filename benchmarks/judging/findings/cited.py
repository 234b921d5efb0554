"""Findings on methods that the paper cites and does not compare with (14: RCExplainer)."""

from __future__ import annotations

import pandas as pd

from benchmarks.judging.evidence import Evidence, NotMeasured
from benchmarks.judging.findings.finding import Finding, finding
from benchmarks.registry import tasks
from benchmarks.registry.rules import SAME_LOGIC

COMMAND = "./reproduce.sh variations --study boundaries,boundaries-six"
BY_LOGITS = "differences of logits"
TWO, SIX = "mutagenicity-gcn", "enzymes-gin"


@finding(
    14,
    "RCExplainer's decision boundaries are a single hyperplane where the head is linear and there are two classes: "
    "trained on the difference of the logits, it explains as well.",
)
def boundaries_are_one(results: Evidence) -> Finding:
    """What was mined in every fold, and the row trained on differences of logits against the row as it is."""
    mined = results.stored("boundaries.csv", COMMAND)
    counts = {name: _of(mined, "dataset", name) for name in (TWO, SIX)}
    apart = {study: _difference(results, study) for study in ("boundaries", "boundaries-six")}
    two, six = (tasks.label(name) for name in (TWO, SIX))
    low, high = (float(apart["boundaries"][end]) for end in ("ci_low", "ci_high"))
    shown = [
        f"{tasks.label(name)}: {own['mined'].mean():.0f} boundaries mined per fold, of which "
        f"{own['distinct'].min():.0f} to {own['distinct'].max():.0f} differ, in {own['regions'].mean():.0f} regions"
        for name, own in counts.items()
    ]
    differences = [
        f"{label} {float(line['difference']):+.3f} [{float(line['ci_low']):+.3f}, {float(line['ci_high']):+.3f}]"
        for label, line in zip((two, six), apart.values(), strict=True)
    ]
    return Finding(
        "RCExplainer's paper: decision regions, each made by a set of linear decision boundaries, capture the decision "
        "logic that many graphs share, and make explanations robust.",
        "The heads of its graph classifiers are one linear layer, as its code has it (docs/evidence.md); so are those "
        "of the oracles here.",
        f"{'; '.join(shown)}. Trained on the difference of the logits instead, Correctness changes by "
        f"{'; '.join(differences)}.",
        {
            f"{two}, two classes: all boundaries of a fold are the same hyperplane": bool(
                (counts[TWO]["distinct"] == 1).all()
            ),
            f"{two}: without mining, the interval of the difference in Correctness lies within ±{SAME_LOGIC:g}": (
                low >= -SAME_LOGIC and high <= SAME_LOGIC
            ),
            f"{six}, six classes: more than one differ in every fold": bool((counts[SIX]["distinct"] > 1).all()),
        },
        COMMAND,
    )


def _of(table: pd.DataFrame, column: str, value: str) -> pd.DataFrame:
    own = table[table[column] == value]
    if own.empty:
        raise NotMeasured(f"{tasks.label(value)} is not in boundaries.csv; {COMMAND} computes it")
    return own


def _difference(results: Evidence, study: str) -> pd.Series:
    """The line of variations.csv on Correctness with differences of logits in place of boundaries."""
    table = results.stored("variations.csv", COMMAND)
    about = (table["study"] == study) & (table["variation"] == BY_LOGITS) & (table["metric"] == "correctness")
    if not about.any() or table.loc[about, "ci_low"].isna().any():
        raise NotMeasured(f"the study {study} has too few folds in variations.csv; {COMMAND} computes it")
    return table[about].iloc[0]
