"""Findings: what a close reading of the paper against its data and released artefacts showed, computed from the ledger.

Each finding is a function of the stored results that returns what the paper says, what its data or released artefacts
say, what this suite measures, and a list of conditions with whether each holds. The numbers in the sentences are
computed; what makes a verdict of the conditions is in `benchmarks.registry.rules`. What was not measured leaves a
finding open, not wrong.

    ./reproduce.sh show findings      # table1 writes them
"""

from __future__ import annotations

import pandas as pd

from benchmarks.judging.evidence import Evidence, NotMeasured
from benchmarks.judging.findings import cited, comparison, sampler, text  # each enters its findings
from benchmarks.judging.findings.finding import FINDINGS
from benchmarks.registry.rules import OPEN

__all__ = ["COLUMNS", "GRAPHS_READ", "cited", "comparison", "compute", "sampler", "text"]

GRAPHS_READ = ("asd",)  # tasks whose graphs a finding looks at, if there are results on them
COLUMNS = ("number", "finding", "paper", "artefacts", "measured", "verdict", "holds", "fails", "command")


def compute(results: Evidence) -> pd.DataFrame:
    """All findings as lines of findings.csv; one that lacks a row is open, with the reason."""
    lines = []
    for number, (title, compute_one) in sorted(FINDINGS.items()):
        line = dict.fromkeys(COLUMNS, "") | {"number": number, "finding": title}
        try:
            found = compute_one(results)
        except NotMeasured as gap:
            lines.append({**line, "measured": f"Not measured: {gap}.", "verdict": OPEN})
            continue
        about = {name: getattr(found, name) for name in ("paper", "artefacts", "measured", "verdict", "command")}
        lines.append({**line, **about, "holds": found.which(True), "fails": found.which(False)})
    return pd.DataFrame(lines, columns=list(COLUMNS))
