"""What is said about the paper: the verdict on each printed number, findings, and claims of its prose."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.registry.rules import (
    ACCOUNTING,
    CAN_FAIL,
    CONSTANT,
    DERIVED,
    FALSE_CLAIMS,
    INDEPENDENT,
    KINDS,
    NOT_COMPARABLE,
    REPRODUCED,
    WHY_NOT_COMPARABLE,
)
from benchmarks.results.paper import printed
from benchmarks.results.reader import Results
from figures.tables import training
from figures.tables.numbers import cells, number, rows_of, sentence, stored
from figures.tables.sheet import Cell, Group, Sheet, text, with_all

FINDING = {
    "finding": "Finding", "paper": "The paper", "artefacts": "Data and artefacts", "measured": "Measured",
    "verdict": "Verdict", "holds": "Holds", "fails": "Does not hold", "command": "Again",
}  # fmt: skip
CLAIM = {
    "claim": "Claim", "quotation": "The paper's words", "place": "On", "verdict": "Verdict", "released": "As released",
    "q_released": "Adjusted p as released", "faithful": "As written, RSGG-CE by score function",
    "q_faithful": "Adjusted p as written", "evidence": "Evidence",
}  # fmt: skip


def counted(table: pd.DataFrame) -> str:
    """How often each verdict was given: "holds: 16, does not hold: 16."."""
    counts = table["verdict"].value_counts().items()
    return ", ".join(f"{verdict or 'not measured'}: {n}" for verdict, n in counts) + "."


BESIDE = {  # how the printed numbers beside the informative ones are spoken of
    INDEPENDENT: "that are independent but whose agreement says little (our interval also holds what is printed for a "
    "rival, or a class prior)",
    DERIVED: "that follow from another printed number",
    ACCOUNTING: "whose accounting or law was inferred from the print",
    CONSTANT: "that are constants of data and oracle",
}


def is_informative(verdicts: pd.DataFrame) -> pd.Series:
    """Which lines of verdicts.csv are judged, independent and could have failed; none in a file without kinds."""
    if "kind" not in verdicts:
        return pd.Series(False, index=verdicts.index)
    judged = ~verdicts["verdict"].isin(["", NOT_COMPARABLE])
    return judged & (verdicts["kind"] == INDEPENDENT) & (verdicts["can_fail"] == CAN_FAIL)


def headline(verdicts: pd.DataFrame) -> tuple[str, str]:
    """What verdicts.csv comes to, in two sentences: the informative agreements, and all others by kind.

    Of a file that was written before cells had kinds, how often each verdict was given.
    """
    if "kind" not in verdicts:
        return f"Of the {len(verdicts)} numbers that Table 1 prints: {counted(verdicts)}", ""
    verdicts = verdicts.fillna("")
    judged = verdicts[~verdicts["verdict"].isin(["", NOT_COMPARABLE])]
    informative = is_informative(judged)
    return _informative(judged[informative], len(verdicts)), _beside(judged[~informative], verdicts["verdict"])


def in_short(verdicts: pd.DataFrame) -> list[str]:
    """The same for a first screen: two sentences of at most two lines, the informative agreements with how wide the
    intervals behind them are."""
    verdicts = verdicts.fillna("")
    judged = verdicts[~verdicts["verdict"].isin(["", NOT_COMPARABLE])]
    informative = is_informative(judged)
    some, rest = judged[informative], judged[~informative]
    failed = some[some["verdict"] != REPRODUCED]
    agreed = some[some["verdict"] == REPRODUCED][["mean", "pi_low", "pi_high"]].astype(float)
    width = 50 * (agreed["pi_high"] - agreed["pi_low"]) / agreed["mean"]
    wide = f" (intervals of ±{width.min():.1f} to ±{width.max():.0f} %, some wide)" if len(agreed) else ""
    not_so = ", ".join(_named(line, verdict=False) for line in failed.to_dict("records"))
    said = f"{len(agreed)} of the {len(some)} printed numbers that are independent and could fail are reproduced"
    parts = []
    for kind, words in IN_SHORT_BESIDE.items():
        agrees = rest.loc[rest["kind"] == kind, "verdict"] == REPRODUCED
        parts += [f"{agrees.sum()} of {len(agrees)} {words}"] if len(agrees) else []
    others = len(verdicts) - len(judged)
    return [
        f"**{said}**{wide}{f'; not so {not_so}' if not_so else ''}.",
        f"Of the other {len(rest)}: {', '.join(parts)}; {others} more are not compared (runtimes) or not measured.",
    ]


IN_SHORT_BESIDE = {
    INDEPENDENT: "whose agreement says little",
    DERIVED: "that follow from another",
    ACCOUNTING: "with an accounting inferred from the print",
    CONSTANT: "constants",
}


def _informative(judged: pd.DataFrame, printed: int) -> str:
    """How many of the independent numbers that could have failed are reproduced, and which are not."""
    failed = judged[judged["verdict"] != REPRODUCED]
    not_so = f"; not so {', '.join(map(_named, failed.to_dict('records')))}" if len(failed) else ""
    return (
        f"Of the {printed} numbers that Table 1 prints, {len(judged)} are independent of the others and could fail: "
        "our 95 % prediction interval for the released code excludes what is printed for every rival, or the printed "
        f"number itself. {len(judged) - len(failed)} of these {len(judged)} are reproduced{not_so}."
    )


def _beside(judged: pd.DataFrame, verdicts: pd.Series) -> str:
    """How many of the other numbers that are judged are reproduced, by kind, and how many are not judged."""
    said, parts = [], []
    for kind, words in BESIDE.items():
        agrees = judged.loc[judged["kind"] == kind, "verdict"] == REPRODUCED
        parts += [f"{agrees.sum()} of {len(agrees)} {words}"] if len(agrees) else []
    said += [f"Beside them are reproduced {', '.join(parts)}."] if parts else []
    withdrawn, not_judged = ((verdicts == verdict).sum() for verdict in (NOT_COMPARABLE, ""))
    said += [f"{withdrawn} runtimes are not comparable ({WHY_NOT_COMPARABLE})."] if withdrawn else []
    said += [f"{not_judged} numbers were not measured or not judged."] if not_judged else []
    return " ".join(said)


def _named(line: dict[str, str], *, verdict: bool = True) -> str:
    """A printed number in words, with its verdict if wanted: "GED of CLEAR on ASD (order holds)"."""
    metric, dataset = METRICS[line["metric"]].label, tasks.label(line["dataset"])
    return f"{metric} of {methods.label(line['method'])} on {dataset}" + (f" ({line['verdict']})" if verdict else "")


VERDICT = ("Method", "Metric", "Printed", "Ours", "Kind", "Can fail", "95 % prediction", "Because", "Explanation")
IN_SHORT = 6  # of these columns are shown first


# -- RSGG-CE in a sentence -----------------------------------------------------------------------------------

BOTH = ("correctness", "ged")
ROWS_AT_A_GLANCE = (  # in the order of the sentence
    ("rsgg-ce", "released"), ("rsgg-ce", "literal"), ("rsgg-ce", "faithful"), ("rsgg-ce-certified", "beyond"),
    ("two-sided-min", "search"), ("optimum", "control"),
)  # fmt: skip
OURS = ("faithful", "beyond")  # the variants of RSGG-CE that are not in the paper


def glance(results: Results, dataset: str) -> list[str]:
    """RSGG-CE on a data set in a line, Correctness / GED: printed, as released, as written, and what can be had
    without it; rows whose fits collapse say how many do, rows that are alike share their numbers. As released is what
    the verdicts are on, the mean over all its replicates, as in the tables of verdicts."""
    table, collapsed = stored(results, "table1", as_text=False), training.collapsed(results)
    lines = table.set_index(["dataset", "method", "variant", "metric"])
    means = lines["mean"].where(
        lines.index.get_level_values("variant") != "released", lines["judged"].fillna(lines["mean"])
    )
    paper = (printed(dataset, "rsgg-ce", name) for name in BOTH)
    rows = {" / ".join(value.text if value else "×" for value in paper): ["printed"]}
    own = f"{methods.label('rsgg-ce')}, "  # the sentence begins with it
    for method, variant in ROWS_AT_A_GLANCE:
        words = methods.label(method, variant).removeprefix(own) + " (ours)" * (variant in OURS)
        ours = [means.get((dataset, method, variant, name)) for name in BOTH]
        n, fits, _ = collapsed.get((dataset, method, variant), (0, 0, ""))
        if None not in ours:
            ended = f" ({n} of {fits} fits of replicate 0 collapse)" if n else ""
            rows.setdefault(f"{ours[0]:.2f} / {ours[1]:.3g}{ended}", []).append(words)
    said = [f"{', '.join(names)} {numbers}" for numbers, names in rows.items()]
    about = f"{methods.label('rsgg-ce')} on {tasks.label(dataset)} (Correctness / GED)"
    return [f"{about}: {'; '.join(said)}."] if len(said) > 1 else []


# -- What stands ---------------------------------------------------------------------------------------------


def what_stands(results: Results) -> str:
    """What of the paper is borne out, with the printed cells of RSGG-CE that come out again counted from verdicts."""
    table = results.table("verdicts", as_text=True)
    said = ["Partial-order sampling gives both additions and removals without retraining for an instance."]
    for dataset, rows in [] if table is None else table[table["method"] == "rsgg-ce"].groupby("dataset", sort=False):
        judged = rows[~rows["verdict"].isin(["", NOT_COMPARABLE])]
        cells = {kind: judged.loc[(judged["verdict"] == REPRODUCED) == kind, "metric"] for kind in (True, False)}
        again, not_so = (", ".join(METRICS[name].label for name in names) for names in cells.values())
        if len(judged):
            where, lost = tasks.label(str(dataset)), f"; not so {not_so}" if not_so else ""
            line = f"Of RSGG-CE's printed row on {where} come out again {again or 'none'}{lost}"
            said.append(line.rstrip(".") + ".")  # some labels end with a full stop
    said.append(
        "It is the best of the printed rows on Correctness and GED. Guarded groups over edge scores, the frame of the "
        "method, are what the improved variants here build on."
    )
    return " ".join(said)


def not_reproduced(results: Results) -> str:
    """What of Table 1 did not come out again, in a list: each printed number beside ours and what is known of it; what
    is not compared; and what came out by an accounting or a law that was inferred from the print, with what it was."""
    table = stored(results, "verdicts")
    failed = table[~table["verdict"].isin(["", REPRODUCED, NOT_COMPARABLE])]
    said = []
    for (dataset, method), rows in failed.groupby(["dataset", "method"], sort=False):
        numbers = " ".join(map(_beside_ours, rows.to_dict("records")))
        said.append(f"- **{methods.label(str(method))} on {tasks.label(str(dataset))}.** {numbers}")
    withdrawn, open_ones = ((table["verdict"] == verdict).sum() for verdict in (NOT_COMPARABLE, ""))
    said += [f"- **Runtimes** ({withdrawn} numbers) are not compared: {WHY_NOT_COMPARABLE}."] if withdrawn else []
    said += [f"- **{open_ones} numbers** were not measured or not judged."] if open_ones else []
    inferred = table[(table["kind"] == ACCOUNTING) & (table["verdict"] == REPRODUCED)]
    if len(inferred):
        about = "come out by an accounting or a law that was itself inferred from the print, or read in the code"
        said.append(f"- **Reproduced, but no evidence of their own** are {len(inferred)} numbers that {about}:")
        said += [f"  - {line}" for line in _inferred(inferred)]
    return "\n".join(said)


def _beside_ours(line: dict[str, str]) -> str:
    """ "*Correctness*: printed 0.885, ours 0.926 [0.889, 0.935], order holds. What is known of it."."""
    metric = METRICS[line["metric"]]
    ours, low, high = (number(line[name], metric.decimals) for name in ("mean", "pi_low", "pi_high"))
    compared = f"*{metric.label}*: printed {line['printed']}, ours {ours} [{low}, {high}], {line['verdict']}."
    return f"{compared} {sentence(line['explanation'])}".strip()


def _inferred(table: pd.DataFrame) -> Iterator[str]:
    """Which numbers share an inference, and what it is."""
    for (method, why), rows in table.groupby(["method", "explanation"], sort=False):
        shown = (f"{METRICS[line.metric].label} on {tasks.label(line.dataset)}" for line in rows.itertuples())
        yield f"{methods.label(str(method))}, {', '.join(shown)}: {why}."


def verdicts(results: Results, *, everything: bool) -> list[Sheet]:
    """A line for each printed number: ours, the verdict and what it is worth; with everything, also why."""
    table = stored(results, "verdicts")
    shown = len(VERDICT) if everything else IN_SHORT
    groups = []
    for dataset, rows in table.groupby("dataset", sort=False):
        lines = [_verdict(line)[:shown] for line in rows.to_dict("records")]
        groups.append(Group(tasks.label(str(dataset)), lines))
    caption = " ".join(filter(None, (*headline(table), f"All verdicts: {counted(table)}")))
    notes = [f"{kind.capitalize()}: {meaning}." for kind, meaning in KINDS.items()]
    notes += [] if everything else [with_all("intervals, and why each is what it is")]
    title = f"The {len(table)} printed numbers"
    return [Sheet("verdicts", title, VERDICT[:shown], groups, caption, notes, names=2)]


def _verdict(line: dict[str, str]) -> list[Cell]:
    """The cells of `VERDICT`; a file that was written before cells had kinds leaves those empty."""
    metric, elsewhere = METRICS[line["metric"]], line["measured_on"] != line["dataset"]
    ours, low, high = (number(line[name], metric.decimals) for name in ("mean", "pi_low", "pi_high"))
    where = tasks.label(line["measured_on"]).removeprefix(f"{tasks.label(line['dataset'])}, ")
    name = methods.label(line["method"]) + (f", {where}" if elsewhere else "")
    mean = Cell(ours, "", line["verdict"], line["reason"])
    worth = (line.get("kind", ""), line.get("can_fail", ""), f"{low} – {high}", line.get("why", ""))
    return [*cells(name, metric.label, line["printed"]), mean, *cells(*worth, line["explanation"])]


FURTHER = ("Method", "Metric", "Published", "Ours", "Kind", "Can fail", "95 % prediction", "Because", "Note", "Place")


def further(results: Results, *, everything: bool) -> list[Sheet]:
    """What the same framework published elsewhere on the paper's data, beside our rows; with everything, also why."""
    table = stored(results, "further")
    shown = len(FURTHER) if everything else IN_SHORT
    groups = [
        Group(f"{source}: {tasks.label(str(dataset))}", [_further(line)[:shown] for line in rows.to_dict("records")])
        for (source, dataset), rows in table.groupby(["source", "dataset"], sort=False)
    ]
    judged = table[table["verdict"] != ""]
    informative = judged[is_informative(judged)]
    caption = (
        f"Of {len(table)} numbers, {len(informative)} are independent and could have failed: {counted(informative)} "
        f"All verdicts: {counted(judged)} A difference from the later comparison says that two published comparisons "
        "disagree, and not which is right (benchmarks/registry/rules.py)."
    )
    notes = [] if everything else [with_all("intervals, notes and where each number is stored")]
    return [Sheet("further", "Further published numbers", FURTHER[:shown], groups, caption, notes, names=2)]


def _further(line: dict[str, str]) -> list[Cell]:
    metric = METRICS[line["metric"]]
    ours, low, high = (number(line[name], metric.decimals) for name in ("mean", "pi_low", "pi_high"))
    mean = Cell(ours, "", line["verdict"], line["reason"])
    rest = (line["kind"], line["can_fail"], f"{low} – {high}", line["why"], line["note"], line["place"])
    return [*cells(methods.label(line["method"], line["variant"]), metric.label, line["printed"]), mean, *cells(*rest)]


def findings(results: Results, *, everything: bool) -> list[Sheet]:
    """What a close reading found: the titles with their verdicts, or all that is said about each."""
    table = stored(results, "findings")
    caption = (
        "Computed from the stored results. A finding is a list of conditions: confirmed if all of them hold, confirmed "
        f"in part if some do (benchmarks/registry/rules.py). {counted(table)}"
    )
    notes = [] if everything else [with_all("what the paper says, what its data say and what was measured")]
    table["finding"] = table["number"] + ". " + table["finding"]
    table["command"] = table["command"].where(table["verdict"] != "open", "")
    columns = [name for name in FINDING if name in table] if everything else ["finding", "verdict"]
    headings = [FINDING[name] for name in columns]
    groups = [Group("", rows_of(table[columns]))]
    stands = [text("stands", "What stands", what_stands(results))] if everything else []
    return [Sheet("findings", "Findings", headings, groups, caption, notes, listed=everything), *stands]


def _multiplicity(table: pd.DataFrame) -> str:
    """How many verdicts were decided by tests, and that these share one false discovery rate."""
    if "q_released" not in table:
        return ""
    q = pd.concat((table["q_released"], table["q_faithful"])).replace("", None).dropna().astype(float)
    decided = (q <= FALSE_CLAIMS).sum()
    return (
        f"{len(q)} partial verdicts rest on tests, the others on counting. The p of all tests are adjusted together "
        f"(Benjamini and Hochberg): of the {decided} that decide, at most {FALSE_CLAIMS:.0%} are expected to be wrong; "
        "the others are undecided, which is not the same as equal. The rules were stated when the verdicts of former "
        "rules were known, before these were computed, and revised since (rules.py says what that changed)."
    )


VARIANTS = {"released": "as released", "faithful": "as written, RSGG-CE by score function,"}  # columns of claims.csv
HELD = {"holds": "hold", "fails": "fail", "undecided": "are undecided"}


def claims_in_short(results: Results) -> str:
    """How many claims of the paper's prose hold and fail, for each variant: one verdict of both would hide failures.

    Nothing where none are stored.
    """
    table, parts = results.table("claims", as_text=True), []
    if table is None:
        return ""
    for column, variant in VARIANTS.items():
        counts = [f"{(table[column] == verdict).sum()} {words}" for verdict, words in HELD.items()]
        rest = (~table[column].isin(HELD)).sum()
        parts.append(f"{variant} {', '.join(counts)}" + (f", {rest} without a verdict" if rest else ""))
    both = [f"{(table[[*VARIANTS]] == verdict).all(axis=1).sum()} {HELD[verdict]}" for verdict in ("holds", "fails")]
    measured = f"Of {len(table)} claims of the paper's prose, checked by measurement,"
    return f"{measured} {'; '.join(parts)}; {' and '.join(both)} in both."


def claims(results: Results, *, everything: bool) -> list[Sheet]:
    """What the paper's text says, and whether it holds as released and as written."""
    table = stored(results, "claims")
    caption = (
        "What the paper's text says, checked on stored results; margins are in benchmarks/registry/rules.py, the rule "
        "of each verdict is in benchmarks/judging/claims. As released: what the released code computes; as written: "
        "the methods as their papers define them, but RSGG-CE by score function, a training of Eq. 4's idea that the "
        "paper does not describe. "
        f"{claims_in_short(results)} {_multiplicity(table)}".strip()
    )
    section = table["place"].str.partition(", ")
    table["place"] = section[2]
    columns = [name for name in CLAIM if name in table] if everything else ["claim", "released", "faithful"]
    headings = [CLAIM[name] for name in columns]
    groups = [Group(str(name), rows_of(rows[columns])) for name, rows in table.groupby(section[0], sort=False)]
    if not everything:
        return [Sheet("claims", "Claims", headings, groups, caption, [with_all("the evidence")])]
    sheets = [text("claims", "Claims", caption)]
    for i, group in enumerate(groups):
        sheets.append(Sheet(f"claims-{i + 1}", group.heading, headings, [Group("", group.rows)], listed=True))
    return sheets
