"""What is said about the paper: the verdict on each printed number, findings, and claims of its prose."""

from __future__ import annotations

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.reader import Results
from figures.tables.numbers import cells, number, rows_of, stored
from figures.tables.sheet import Cell, Group, Sheet, text

STANDS = (
    "Partial-order sampling gives both additions and removals without retraining for an instance; RSGG-CE's row is the "
    "best of the printed rows on Correctness and GED, and comes out again from what the released code computes; "
    "guarded groups over edge scores, the frame of the method, are what the improved variants here build on."
)


FINDING = {
    "finding": "Finding", "paper": "The paper", "artefacts": "Data and artefacts", "measured": "Measured",
    "verdict": "Verdict", "command": "Again",
}  # fmt: skip
CLAIM = {
    "claim": "Claim", "place": "On", "verdict": "Verdict", "released": "As released", "faithful": "As written",
    "evidence": "Evidence",
}  # fmt: skip


def counted(table: pd.DataFrame) -> str:
    """How often each verdict was given: "holds: 16, does not hold: 16."."""
    counts = table["verdict"].value_counts().items()
    return ", ".join(f"{verdict or 'not measured'}: {n}" for verdict, n in counts) + "."


def verdicts(results: Results, *, everything: bool) -> list[Sheet]:
    """A line for each printed number: ours, our prediction interval and the verdict; with everything, also why."""
    table = stored(results, "verdicts")
    groups = []
    for dataset, rows in table.groupby("dataset", sort=False):
        lines = [_verdict(line)[: 6 if everything else 5] for line in rows.to_dict("records")]
        groups.append(Group(tasks.label(str(dataset)), lines))
    headings = ["Method", "Metric", "Printed", "Ours", "95 % prediction", "Why"][: 6 if everything else 5]
    caption = f"Released variants against what Table 1 prints. {counted(table)}"
    notes = [] if everything else ["Why each is what it is: show verdicts --all."]
    return [Sheet("verdicts", f"The {len(table)} printed numbers", headings, groups, caption, notes, names=2)]


def _verdict(line: dict[str, str]) -> list[Cell]:
    metric, elsewhere = METRICS[line["metric"]], line["measured_on"] != line["dataset"]
    ours, low, high = (number(line[name], metric.decimals) for name in ("mean", "pi_low", "pi_high"))
    where = tasks.label(line["measured_on"]).removeprefix(f"{tasks.label(line['dataset'])}, ")
    name = methods.label(line["method"]) + (f" ({where})" if elsewhere else "")
    mean = Cell(ours, "", line["verdict"], line["reason"])
    return [*cells(name, metric.label, line["printed"]), mean, *cells(f"{low} – {high}", line["explanation"])]


def findings(results: Results, *, everything: bool) -> list[Sheet]:
    """What a close reading found: the titles with their verdicts, or all that is said about each."""
    table = stored(results, "findings")
    caption = f"Computed from the stored results; the rule of each verdict is in benchmarks/judging. {counted(table)}"
    notes = [] if everything else ["What the paper says, its data say and was measured: show findings --all."]
    table["finding"] = table["number"] + ". " + table["finding"]
    table["command"] = table["command"].where(table["verdict"] != "open", "")
    columns = [*FINDING] if everything else ["finding", "verdict"]
    headings = [FINDING[name] for name in columns]
    groups = [Group("", rows_of(table[columns]))]
    stands = [text("stands", "What stands", STANDS)] if everything else []
    return [Sheet("findings", "Findings", headings, groups, caption, notes, listed=everything), *stands]


def claims(results: Results, *, everything: bool) -> list[Sheet]:
    """What the paper's text says, and whether it holds as released and as written."""
    table = stored(results, "claims")
    caption = (
        "What the paper's text says, checked on stored results; the rule of each verdict is in benchmarks/judging. As "
        "released: what the released code computes; as written: the methods as their papers define them. "
        + counted(table)
    )
    section = table["place"].str.partition(", ")
    table["place"] = section[2]
    columns = [*CLAIM] if everything else ["claim", "released", "faithful"]
    headings = [CLAIM[name] for name in columns]
    groups = [Group(str(name), rows_of(rows[columns])) for name, rows in table.groupby(section[0], sort=False)]
    if not everything:
        return [Sheet("claims", "Claims", headings, groups, caption, ["The evidence: show claims --all."])]
    sheets = [text("claims", "Claims", caption)]
    for i, group in enumerate(groups):
        sheets.append(Sheet(f"claims-{i + 1}", group.heading, headings, [Group("", group.rows)], listed=True))
    return sheets
