"""Claims: every statement of the paper's prose that can be measured, as an executable check on stored results.

    ./reproduce.sh claims       # claims.csv and claims.md; computes no cell

A claim is checked twice: on what the released code computes (`released`) and on the methods as their papers define them
(`faithful`). Each check returns whether the claim holds there and a sentence with the numbers; the rule stands in its
docstring. What is not there is not measured, with the command that computes it. The overall verdict is a function of
the two alone (`overall`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from benchmarks.claims import ablation, appendix, comparison, operations
from benchmarks.claims.claim import DATASETS, DRAWN, Claim, DoesNotApply
from benchmarks.findings.finding import NotMeasured, Results
from benchmarks.grids import PAPER
from benchmarks.options import RESULTS, ROOT, RunOptions
from benchmarks.store import Store, write_csv, write_text
from rsgg.errors import UsageError

CLAIMS = (
    *comparison.CLAIMS, *ablation.CLAIMS, *operations.CLAIMS, *appendix.CLAIMS
)  # fmt: skip
VARIANTS = ("released", "faithful")
COLUMNS = ("claim", "place", "verdict", "evidence", "released", "faithful")
HOLDS, FAILS, NOT_MEASURED, DOES_NOT_APPLY = "holds", "fails", "not measured", "does not apply"
RELEASED_ONLY, WRITTEN_ONLY, DOES_NOT_HOLD = "holds as released only", "holds as written only", "does not hold"


def overall(released: str, faithful: str) -> str:
    """One verdict of two: "holds" if it does wherever it was measured."""
    found = {released, faithful}
    if found == {HOLDS, FAILS}:
        return RELEASED_ONLY if released == HOLDS else WRITTEN_ONLY
    return HOLDS if HOLDS in found else DOES_NOT_HOLD if FAILS in found else NOT_MEASURED


def _checked(one: Claim, results: Results, variant: str) -> tuple[str, str]:
    """The partial verdict and its evidence."""
    try:
        found = one.check(results, variant)
    except NotMeasured as gap:
        computed = "" if "./reproduce.sh" in str(gap) else "; ./reproduce.sh table1 computes it"
        return NOT_MEASURED, f"not measured: {gap}{computed}."
    except DoesNotApply as reason:
        return DOES_NOT_APPLY, f"does not apply: {reason}."
    return HOLDS if found.holds else FAILS, found.evidence


def compute(results: Results, claims: Sequence[Claim] = CLAIMS) -> pd.DataFrame:
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


def render(folder: Path, ledger: pd.DataFrame, out: Path | None = None) -> pd.DataFrame:
    """Check all claims on this folder's tables and Table 1's ledger; writes claims.csv and .md there or to `out`."""
    path = folder / "table1.csv"
    names = ["dataset", "method", "variant", "metric", "mean"]
    table = pd.read_csv(path) if path.is_file() else pd.DataFrame(columns=names)
    found = compute(Results(table, ledger, folder=folder))
    write_csv((out or folder) / "claims.csv", found)
    write_text((out or folder) / "claims.md", markdown(found))
    return found


def markdown(found: pd.DataFrame) -> str:
    """The claims as a page, a table for each section."""
    counts = found["verdict"].value_counts()
    parts = [
        "# Claims",
        "What the paper's text says, checked on stored results by `benchmarks/claims.py`; the rule of each verdict is "
        "there. *As released*: what the released code computes; *as written*: the methods as their papers define them.",
        ", ".join(f"{verdict}: {count}" for verdict, count in counts.items()) + ".",
    ]
    section = found["place"].str.partition(", ")
    for title in dict.fromkeys(section[0]):
        rows = found[section[0] == title].assign(place=section[2])
        parts += [f"## {title}", "\n".join(_markdown_table(rows))]
    return "\n\n".join(parts) + "\n"


def _markdown_table(rows: pd.DataFrame) -> Iterator[str]:
    titles = {
        "claim": "claim",
        "place": "on",
        "verdict": "verdict",
        "released": "as released",
        "faithful": "as written",
        "evidence": "evidence",
    }
    yield f"| {' | '.join(titles.values())} |"
    yield "|" + "---|" * len(titles)
    for row in rows[list(titles)].to_dict("records"):
        cells = (str(cell).replace("|", "\\|") for cell in ({**row, "verdict": f"**{row['verdict']}**"}).values())
        yield f"| {' | '.join(cells)} |"


# -- The command ---------------------------------------------------------------------------------------------------


def complete(folder: Path) -> bool:
    """Does this folder hold Table 1 and the four ablations?"""
    return all((folder / name).is_file() for name in ("table1.csv", *(f"ablation_{vary}.csv" for vary in PAPER)))


def run(source: Path | None, out: Path) -> RenderableType:
    """Check the claims on `source`, or on this machine's results where they are complete, else on the reference."""
    from benchmarks import table1  # late: it brings all methods with it

    local = RESULTS / "local"
    folder = source or (local if complete(local) else RESULTS / "reference")
    name = folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder
    if not (folder / "table1.csv").is_file():
        raise UsageError(f"{name} holds no table1.csv; ./reproduce.sh table1 computes it, or give another --from.")
    methods = ["rsgg-ce:released,rsgg-ce:faithful,empty", *(f"{name}:{v}" for name in DRAWN for v in VARIANTS)]
    cells = table1.cells(RunOptions(methods=methods, datasets=list(DATASETS)))
    needed = [cell for cell in cells if not cell.seed or cell.method.name == "rsgg-ce"]
    found = render(folder, Store(folder).ledger(needed), out)
    return Group(_verdicts(found), f"Checked on {name}; the evidence is in claims.csv and claims.md in {out}.")


def _verdicts(found: pd.DataFrame) -> Table:
    table = Table(title="What the paper's text says", box=box.SIMPLE_HEAD)
    for title in ("claim", "as released", "as written", "verdict"):
        table.add_column(title)
    for row in found.itertuples():
        table.add_row(row.claim, row.released, row.faithful, row.verdict)
    return table


if __name__ == "__main__":
    from benchmarks.cli import script

    script("claims")
