"""Claims: every statement of the paper's prose that can be measured, as an executable check on stored results.

    ./reproduce.sh claims       # claims.csv and claims.md; computes no cell

results/paper/claims.csv says what is claimed, where, and in which words of the paper. A claim is checked twice: on what
the released code computes (`released`) and on the methods as their papers define them (`faithful`; for RSGG-CE that is
a training of Eq. 4's idea by score function, which the paper does not describe). Each check returns whether the claim
is shown to hold or to fail there and a sentence with the numbers; the rule stands in its docstring, margins and levels
in `benchmarks.registry.rules`. What is not there is not measured, with the command that computes it.

Multiplicity: over all claims that are decided by a test, both variants, the p values are adjusted by Benjamini and
Hochberg's procedure; `q_released` and `q_faithful` are what comes out. Claims that are decided by counting have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

from benchmarks.judging.claims import ablation, appendix, comparison, operations
from benchmarks.judging.claims.claim import (
    COMPETITORS,
    FAILS,
    HOLDS,
    NOT_MEASURED,
    UNDECIDED,
    Claim,
    NotJudged,
    Outcome,
)
from benchmarks.judging.evidence import Evidence, NotMeasured
from benchmarks.registry import methods
from benchmarks.registry.rules import FALSE_CLAIMS, NOT_COMPARABLE, PROBABILITIES, WHITE_BOX
from benchmarks.results.paper import of_paper
from rsgg.statistics import benjamini_hochberg
from rsgg.trends import counted

CHECKS = {**comparison.CHECKS, **ablation.CHECKS, **operations.CHECKS, **appendix.CHECKS}
VARIANTS = ("released", "faithful")
NEEDED = ["empty", "optimum", *(f"{name}:{variant}" for name in ("rsgg-ce", *COMPETITORS) for variant in VARIANTS)]
"""The rows of Table 1 whose ledgers are looked at."""
COLUMNS = (
    "claim", "place", "verdict", "evidence", "released", "faithful", "quotation", "q_released", "q_faithful",
)  # fmt: skip
RELEASED_ONLY, WRITTEN_ONLY, DOES_NOT_HOLD = "holds as released only", "holds as written only", "does not hold"


@cache
def all_claims() -> tuple[Claim, ...]:
    """The claims of results/paper/claims.csv with their checks, in the order of the paper."""
    lines = of_paper("claims", keep_default_na=False).to_dict("records")
    return tuple(
        Claim(
            line["claim"], line["place"], line["quotation"], line["about"] == "data",
            tuple(line["against"].split()), CHECKS[line["id"]],
        )
        for line in lines
    )  # fmt: skip


def overall(released: str, faithful: str) -> str:
    """One verdict of two, by the rule in `benchmarks.registry.rules`; failures are counted for each of the two."""
    found = {released, faithful}
    if UNDECIDED in found:
        return UNDECIDED
    if found == {HOLDS, FAILS}:
        return RELEASED_ONLY if released == HOLDS else WRITTEN_ONLY
    if HOLDS in found or FAILS in found:
        return HOLDS if HOLDS in found else DOES_NOT_HOLD
    return NOT_COMPARABLE if NOT_COMPARABLE in found else NOT_MEASURED


def _checked(one: Claim, results: Evidence, variant: str) -> Outcome | tuple[str, str]:
    """What the check finds, or why it finds nothing: a verdict with its reason."""
    try:
        found = one.check(results, variant)
    except NotMeasured as gap:
        computed = "" if "./reproduce.sh" in str(gap) else "; ./reproduce.sh table1 computes it"
        return NOT_MEASURED, f"not measured: {gap}{computed}."
    except NotJudged as reason:
        return reason.verdict, f"{reason.verdict}: {reason}."
    return Outcome(found.tested, found.evidence + _access(one.against, variant))


def _access(against: Sequence[str], variant: str) -> str:
    """Which of the methods that RSGG-CE is compared with are told more about the oracle than classes."""
    said = []
    for mark, what in {WHITE_BOX: "the oracle's exact gradient", PROBABILITIES: "its probabilities"}.items():
        names = [methods.label(name, variant) for name in against if methods.access(name, variant) == mark]
        said += [f"{', '.join(names)} {'gets' if len(names) == 1 else 'get'} {what}"] if names else []
    return f" {', '.join(said)}; {methods.label('rsgg-ce')} is told classes only." if said else ""


def _adjusted(outcomes: Sequence[Outcome | tuple[str, str]]) -> list[float]:
    """p, adjusted over all outcomes that were decided by a test; NaN for the others."""
    p = np.array([o.tested.p if isinstance(o, Outcome) and not _was_counted(o) else np.nan for o in outcomes])
    p[~np.isnan(p)] = benjamini_hochberg(p[~np.isnan(p)])
    return [float(f"{q:.3g}") for q in p]


def _was_counted(outcome: Outcome) -> bool:
    return outcome.tested in (counted(True), counted(False))


def _said(outcome: Outcome | tuple[str, str], q: float) -> tuple[str, str]:
    """The partial verdict and its evidence."""
    if not isinstance(outcome, Outcome):
        return outcome
    decided = _was_counted(outcome) or q <= FALSE_CLAIMS
    verdict = HOLDS if outcome.tested.holds < outcome.tested.fails else FAILS
    return verdict if decided else UNDECIDED, outcome.evidence


def compute(results: Evidence, claims: Sequence[Claim] | None = None) -> pd.DataFrame:
    """`COLUMNS`: a line per claim, in the order of the paper."""
    claims = all_claims() if claims is None else claims
    checked = [_checked(one, results, variant) for one in claims for variant in VARIANTS[: 1 if one.of_data else 2]]
    found = iter([(*_said(outcome, q), q) for outcome, q in zip(checked, _adjusted(checked), strict=True)])
    lines = []
    for one in claims:
        released, evidence, q_released = next(found)
        faithful, q_faithful = released, q_released
        if not one.of_data:
            faithful, as_written, q_faithful = next(found)
            evidence = f"As released: {evidence} As written: {as_written}"
        said = (f"{one.statement}.", one.place, overall(released, faithful), evidence[:1].upper() + evidence[1:])
        lines.append((*said, released, faithful, one.quotation, q_released, q_faithful))
    return pd.DataFrame(lines, columns=list(COLUMNS))
