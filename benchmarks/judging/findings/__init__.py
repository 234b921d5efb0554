"""Findings: what a close reading of the paper against its data and released artefacts showed, computed from the ledger.

Each finding is a function of the stored results that returns what the paper says, what its data or released artefacts
say, what this suite measures, and whether that confirms it. The numbers in the sentences are computed; the rule by
which a finding counts as confirmed stands in its function. What was not measured leaves a finding open, not wrong.

    ./reproduce.sh show findings      # table1 writes them
"""

from __future__ import annotations

import pandas as pd

from benchmarks.judging.evidence import Evidence, NotMeasured
from benchmarks.judging.findings import comparison, sampler, text  # each enters its findings
from benchmarks.judging.findings.finding import FINDINGS, OPEN, Finding

__all__ = ["COLUMNS", "comparison", "compute", "sampler", "text"]

COLUMNS = ("number", "finding", "paper", "artefacts", "measured", "verdict", "command")


def compute(results: Evidence) -> pd.DataFrame:
    """All findings as lines of findings.csv; one that lacks a row is open, with the reason."""
    lines = []
    for number, (title, compute_one) in sorted(FINDINGS.items()):
        try:
            found = compute_one(results)
        except NotMeasured as gap:
            found = Finding("", "", f"Not measured: {gap}.", OPEN)
        lines.append({"number": number, "finding": title, **found.__dict__})
    return pd.DataFrame(lines, columns=list(COLUMNS))
