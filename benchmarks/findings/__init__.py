"""Findings: what a close reading of the paper against its data and released artefacts showed, computed from the ledger.

Each finding is a function of the stored results that returns what the paper says, what its data or released artefacts
say, what this suite measures, and whether that confirms it. The numbers in the sentences are computed; the rule by
which a finding counts as confirmed stands in its function. What was not measured leaves a finding open, not wrong.

    ./reproduce.sh show findings      # table1 writes them
"""

from __future__ import annotations

import pandas as pd

from benchmarks.findings import comparison, sampler, text  # each enters its findings
from benchmarks.findings.finding import FINDINGS, OPEN, Finding, NotMeasured, Results

__all__ = ["COLUMNS", "Results", "comparison", "compute", "markdown", "sampler", "text"]

COLUMNS = ("number", "finding", "paper", "artefacts", "measured", "verdict", "command")


def compute(results: Results) -> pd.DataFrame:
    """All findings as lines of findings.csv; one that lacks a row is open, with the reason."""
    lines = []
    for number, (title, compute_one) in sorted(FINDINGS.items()):
        try:
            found = compute_one(results)
        except NotMeasured as gap:
            found = Finding("", "", f"Not measured: {gap}.", OPEN)
        lines.append({"number": number, "finding": title, **found.__dict__})
    return pd.DataFrame(lines, columns=list(COLUMNS))


STANDS = """## What stands

Partial-order sampling gives both additions and removals without retraining for an instance; RSGG-CE's row is the best
of the printed rows on Correctness and GED, and comes out again from what the released code computes; guarded groups
over edge scores, the frame of the method, are what the improved variants here build on.
"""


def markdown(findings: pd.DataFrame) -> str:
    """The findings as a page."""
    parts = [
        "# Findings",
        "Computed from the stored results by `benchmarks/findings`; the rule of each verdict is there.",
    ]
    for line in findings.itertuples():
        parts.append(f"## {line.number}. {line.finding}")
        said = (("The paper", line.paper), ("Data and artefacts", line.artefacts), ("Measured", line.measured))
        parts.append("\n".join(f"- *{who}:* {text}" for who, text in said if text))
        again = "" if line.verdict == OPEN else f" Again: `{line.command}`"
        parts.append(f"**{str(line.verdict).capitalize()}.**{again}")
    return "\n\n".join([*parts, STANDS])
