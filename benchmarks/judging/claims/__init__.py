"""Claims: every statement of the paper's prose that can be measured, as an executable check on stored results.

    ./reproduce.sh claims       # claims.csv and claims.md; computes no cell

A claim is checked twice: on what the released code computes (`released`) and on the methods as their papers define them
(`faithful`). Each check returns whether the claim holds there and a sentence with the numbers; the rule stands in its
docstring. What is not there is not measured, with the command that computes it. The overall verdict is a function of
the two alone (`overall`).
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchmarks.judging.claims import ablation, appendix, comparison, operations
from benchmarks.judging.claims.claim import DRAWN, Claim, DoesNotApply
from benchmarks.judging.evidence import Evidence, NotMeasured

CLAIMS = (*comparison.CLAIMS, *ablation.CLAIMS, *operations.CLAIMS, *appendix.CLAIMS)
VARIANTS = ("released", "faithful")
NEEDED = ["rsgg-ce:released,rsgg-ce:faithful,empty", *(f"{name}:{v}" for name in DRAWN for v in VARIANTS)]
"""The rows of Table 1 whose ledgers are looked at."""
COLUMNS = ("claim", "place", "verdict", "evidence", "released", "faithful")
HOLDS, FAILS, NOT_MEASURED, DOES_NOT_APPLY = "holds", "fails", "not measured", "does not apply"
RELEASED_ONLY, WRITTEN_ONLY, DOES_NOT_HOLD = "holds as released only", "holds as written only", "does not hold"


def overall(released: str, faithful: str) -> str:
    """One verdict of two: "holds" if it does wherever it was measured."""
    found = {released, faithful}
    if found == {HOLDS, FAILS}:
        return RELEASED_ONLY if released == HOLDS else WRITTEN_ONLY
    return HOLDS if HOLDS in found else DOES_NOT_HOLD if FAILS in found else NOT_MEASURED


def _checked(one: Claim, results: Evidence, variant: str) -> tuple[str, str]:
    """The partial verdict and its evidence."""
    try:
        found = one.check(results, variant)
    except NotMeasured as gap:
        computed = "" if "./reproduce.sh" in str(gap) else "; ./reproduce.sh table1 computes it"
        return NOT_MEASURED, f"not measured: {gap}{computed}."
    except DoesNotApply as reason:
        return DOES_NOT_APPLY, f"does not apply: {reason}."
    return HOLDS if found.holds else FAILS, found.evidence


def compute(results: Evidence, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
    """`COLUMNS`: a line per claim, in the order of the paper."""
    lines = []
    for one in claims:
        released, evidence = _checked(one, results, "released")
        faithful = released
        if not one.of_data:
            faithful, as_written = _checked(one, results, "faithful")
            evidence = f"As released: {evidence} As written: {as_written}"
        verdict = overall(released, faithful)
        lines.append(
            {
                "claim": f"{one.statement}.",
                "place": one.place,
                "verdict": verdict,
                "evidence": evidence[:1].upper() + evidence[1:],
                "released": released,
                "faithful": faithful,
            }
        )
    return pd.DataFrame(lines, columns=list(COLUMNS))
