"""The paper's statements, checked on stored results: ./reproduce.sh claims

Writes claims.csv and claims.md. Computes no cell; how each claim is checked is said in `benchmarks.judging.claims`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.judging import claims
from benchmarks.judging.evidence import Evidence
from benchmarks.registry import tasks
from benchmarks.registry.ablations import PAPER
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.files import LOCAL, REFERENCE, existing_folder, read_csv, shown
from benchmarks.results.ledger import Store
from benchmarks.results.reader import Results
from benchmarks.running.options import Table1Options
from benchmarks.table1 import plan
from figures import tables
from rsgg.errors import UsageError


def complete(folder: Path) -> bool:
    """Does this folder hold Table 1 and the four ablations?"""
    return all((folder / name).is_file() for name in ("table1.csv", *(f"ablation_{vary}.csv" for vary in PAPER)))


def render(folder: Path, out: Path, ledgers: Store | None = None) -> pd.DataFrame:
    """Check all claims on the tables and ledgers of a folder; writes claims.csv and claims.md to `out`.

    `ledgers` are those of `folder`, for who has read them already.
    """
    cells = plan(Table1Options(methods=claims.NEEDED, datasets=list(tasks.PAPER), replicates=True))
    evidence = Evidence(read_csv(folder / "table1.csv"), (ledgers or Store(folder)).ledger(cells), folder=folder)
    found = claims.compute(evidence)
    with Artefacts(out, "claims") as files:
        files.csv("claims.csv", found)
    with Artefacts(out, "claims") as files:
        files.text("claims.md", tables.markdown("claims", Results((out,))))
    return found


def run(source: Path | None, out: Path) -> None:
    """Check the claims on `source`, or on this machine's results where they are complete, else on the reference."""
    folder = existing_folder(source or (LOCAL if complete(LOCAL) else REFERENCE))
    if not (folder / "table1.csv").is_file():
        raise UsageError(
            f"{shown(folder)} holds no table1.csv; ./reproduce.sh table1 computes it, or give another --from."
        )
    render(folder, out)
    tables.show("claims", out)
    print(f"Checked on {shown(folder)}; written into {shown(out)}: claims.csv, claims.md.")
    print(f"Next: ./reproduce.sh report --results {shown(out)}.")


if __name__ == "__main__":
    from benchmarks.cli import script

    script("claims")
