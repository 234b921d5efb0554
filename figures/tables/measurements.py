"""Tables of the other experiments: data sets, ablations, runtime, convergence, paired comparisons, training."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from benchmarks.registry import ablations, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.paper import of_paper
from benchmarks.results.reader import Results
from figures.tables.numbers import PREDICTION, cells, in_order, missing, number, row_label, stored
from figures.tables.sheet import ABSENT, Cell, Group, Sheet, text

# -- Data sets -------------------------------------------------------------------------------------------


def datasets(results: Results, *, everything: bool) -> list[Sheet]:
    """The appendix's statistical description of the data sets, measured beside printed."""
    table = results.table("datasets", as_text=True)
    caption = "Statistical description of the data sets, as printed and as measured."
    if table is None:
        caption += " From the paper only: ./reproduce.sh datasets measures the rest."
        table = printed_datasets().assign(measured="not measured yet", verdict="", note="").fillna("")
    lines = {(line["dataset"], line["quantity"]): line for line in table.to_dict("records")}
    found = list(dict.fromkeys(table["dataset"]))
    rows = []
    for quantity in dict.fromkeys(table["quantity"]):
        row = cells(quantity)
        for dataset in found:
            line = lines.get((dataset, quantity), dict.fromkeys(("paper", "measured", "verdict", "note", "place"), ""))
            row.append(Cell(line["paper"], "printed", title=line["place"]))
            row.append(Cell(line["measured"], "", line["verdict"], line["note"]))
        rows.append(row)
    headings = ["Quantity", *(f"{tasks.label(name)}, {what}" for name in found for what in ("printed", "measured"))]
    notes = dict.fromkeys(f"{tasks.label(line['dataset'])}: {line['note']}." for line in lines.values() if line["note"])
    return [Sheet("datasets", "Data sets", headings, [Group("", rows)], caption, list(notes))]


def printed_datasets() -> pd.DataFrame:
    """What the paper prints on its data: columns dataset, quantity, paper, place."""
    table = of_paper("datasets", dtype=str).rename(columns={"statistic": "quantity"})
    table = table.melt(["quantity", "place"], var_name="dataset", value_name="paper")
    return pd.concat((table, of_paper("dataset_claims", dtype=str)), ignore_index=True)


# -- Ablations -------------------------------------------------------------------------------------------

IN_SHORT = ("ged", "correctness")
DECIMALS = {"ged": 2}


def ablation(results: Results, *, name: str, everything: bool) -> list[Sheet]:
    """Means over folds, a column per value of what is varied; with everything, standard errors and all metrics."""
    table = stored(results, name, as_text=False)
    vary, released = name.removeprefix("ablation_").removesuffix("_released"), name.endswith("_released")
    grid = ablations.GRIDS["released" if released else "paper"].get(vary)
    title = f"Varying the number of {grid.label} ({grid.title})" if grid else f"Varying {vary}"
    values = sorted(table["value"].unique())
    points = {(p.metric, p.method, p.variant, p.value): p for p in table.itertuples()}
    sheets = []
    for metric in dict.fromkeys(table["metric"]) if everything else IN_SHORT:
        groups, decimals = [], DECIMALS.get(metric, 3)
        for predicted in (False, True):
            rows = in_order(table[(table["metric"] == metric) & ((table["method"] == PREDICTION) == predicted)])
            found = {row: [points.get((metric, *row, value)) for value in values] for row in rows}
            lines = [cells(row_label(*row), *(_point(p, decimals, everything) for p in found[row])) for row in rows]
            groups += [Group("", lines)] if lines else []
        label = METRICS[metric].label if metric in METRICS else metric.replace("_", " ").replace("ged", "GED")
        sheets.append(Sheet(f"{name}-{metric}", label, ["Method", *map(str, values)], groups))
    notes = [f"Missing: {gap}." for gap in missing(results, name, "ablation")]
    notes += [] if everything else [f"Standard errors and more metrics: show {name} --all."]
    about = "Means over folds ± standard errors." if everything else "Means over folds."
    return [text(name, title, about), *sheets, *([text("more", "", "", notes)] if notes else [])]


def _point(point: Any, decimals: int, with_error: bool) -> str:
    """A mean, with its standard error where that is asked for and known."""
    if point is None:
        return ABSENT
    known = with_error and point.se and point.se == point.se
    return number(point.mean, decimals) + (f" ±{number(point.se, decimals)}" if known else "")


# -- Runtime ---------------------------------------------------------------------------------------------

QUANTITIES = {  # heading and unit of what is shown of a point
    "explain_seconds": ("Explain, ms", 1000), "encode_seconds": ("Encode, ms", 1000),
    "test_set_seconds": ("Test set, s", 1), "fit_seconds": ("Fit, s", 1), "memory_mb": ("Memory, MB", 1),
    "explain_calls": ("Calls", 1),
}  # fmt: skip
ESSENTIAL = ("explain_seconds", "encode_seconds", "fit_seconds", "memory_mb")
PAPER_SAYS = (
    "The paper: RSGG-CE “scales perfectly (flat runtime) when the datasets get bigger …, and it has a linear trend "
    "when the graph size increases …”."
)


def runtime(results: Results, *, everything: bool) -> list[Sheet]:
    """CPU time and memory as graphs and data sets grow, the growth exponents, and the paper's two claims on them."""
    table, grown = stored(results, "runtime", as_text=False), results.table("runtime_growth")
    measured, failed = table[table["quantity"] != "failed"], table[table["quantity"] == "failed"]
    quantities = [name for name in QUANTITIES if everything or name in ESSENTIAL]
    sheets = [_runtimes(str(vary), rows, quantities) for vary, rows in measured.groupby("vary", sort=False)]
    notes = _disturbed(table)
    notes += [f"{f.vary} = {f.value}, {row_label(f.method, f.variant)} failed: {f.note}." for f in failed.itertuples()]
    if grown is not None and len(grown):
        sheets += runtime_growth(results, everything=everything)
    return [text("runtime", "Runtime", "CPU time and memory; medians over repeats.", notes), *sheets]


def _varied(vary: str) -> str:
    return ablations.PAPER[vary].label if vary in ablations.PAPER else vary


def _runtimes(vary: str, rows: pd.DataFrame, quantities: list[str]) -> Sheet:
    groups = []
    for row in in_order(rows):
        lines = []
        own = rows[(rows["method"] == row[0]) & (rows["variant"] == row[1])]
        for value, point in own.groupby("value", sort=False):
            medians = point.set_index("quantity")["median"]
            shown = [f"{medians[q] * QUANTITIES[q][1]:.4g}" if q in medians else ABSENT for q in quantities]
            lines.append(cells(row_label(*row), value, f"{point['instances'].iloc[0]:.0f}", *shown))
        groups.append(Group("", lines))
    what = _varied(vary)
    headings = ["Method", what.capitalize(), "Explained", *(QUANTITIES[name][0] for name in quantities)]
    return Sheet(f"runtime-{vary}", f"Varying the number of {what}", headings, groups, names=2)


def _disturbed(table: pd.DataFrame) -> list[str]:
    rows = table[table["note"].fillna("").str.contains("something else")]
    points = rows.groupby(["vary", "value", "method", "variant"]).ngroups
    return [f"At {points} points something else was running: do not trust their times; see runtime.csv."] * bool(points)


def runtime_growth(results: Results, *, everything: bool) -> list[Sheet]:
    """Growth exponents with their intervals, and what they say of the paper's two claims."""
    table = stored(results, "runtime_growth")
    groups = []
    for row in in_order(table):
        own = table[(table["method"] == row[0]) & (table["variant"] == row[1])]
        groups.append(Group("", [_exponent(line)[: 6 if everything else 5] for line in own.to_dict("records")]))
    headings = ["Method", "Varying", "Quantity", "Exponent", "Interval", "Points"][: 6 if everything else 5]
    title = "Growth exponents over the largest decade, 95 % intervals"
    said = [_against_paper(line) for line in table.to_dict("records") if _is_claimed(line)]
    notes = [PAPER_SAYS, *said] if said else []
    return [Sheet("runtime_growth", title, headings, groups, notes=notes)]


def _exponent(line: dict[str, str]) -> list[Cell]:
    graphs = f" ({line['graphs']} graphs)" if line["graphs"] else ""
    whose, what = row_label(line["method"], line["variant"]), line["quantity"].replace("_", " ")
    points = f"{line['points']}{graphs}"
    return cells(whose, _varied(line["vary"]), what, f"{float(line['exponent']):.2f}", _interval(line), points)


def _interval(line: dict[str, str]) -> str:
    return f"[{float(line['ci_low']):.2f}, {float(line['ci_high']):.2f}]" if line["ci_low"] else ""


def _is_claimed(line: dict[str, str]) -> bool:
    return line["quantity"] == "inference_seconds" and line["paper"] != ""


def _against_paper(line: dict[str, str]) -> str:
    whose = f"{row_label(line['method'], line['variant'])}, {_varied(line['vary'])} {line['points']}"
    exponent, interval = f"exponent {float(line['exponent']):.2f}", _interval(line)
    if not interval:
        return f"{whose}: {exponent}, too few points for an interval."
    low, paper, high = (float(line[name]) for name in ("ci_low", "paper", "ci_high"))
    where = "inside" if low <= paper <= high else "outside"
    return f"{whose}: {exponent} {interval}; the paper's {paper:g} is {where}."


# -- Convergence -----------------------------------------------------------------------------------------

CHECKS = {
    "finite": "finite", "discriminator_decreases": "𝔻 decreases", "generator_decreases": "𝔾 decreases",
    "discriminator_settles": "𝔻 settles", "generator_settles": "𝔾 settles", "same_region": "same region",
    "papers_rule": "paper's rule", "discriminator_not_saturated": "𝔻 not saturated", "flips": "flips",
    "diversity": "diversity", "edits": "edits",
}  # fmt: skip
CLAIMS = {
    "“The loss of the discriminator/generator decreases monotonically …”": (
        "discriminator_decreases", "generator_decreases",
    ),
    "“… and stabilises within the same region, …”": ("discriminator_settles", "generator_settles", "same_region"),
    "“… avoiding mode collapse that happens, w.l.o.g., if the loss of the discriminator increases whilst that of the "
    "generator decreases.”": ("papers_rule",),
    "Losses alone do not show a collapse; what else is stored does": (
        "discriminator_not_saturated", "flips", "diversity", "edits",
    ),
}  # fmt: skip
CURVE = ["dataset", "method", "variant"]


def convergence(results: Results, *, everything: bool) -> list[Sheet]:
    """How many fits pass each check on their losses, and what that says of the appendix's claims."""
    table = results.table("convergence_checks", as_text=True)
    if table is None or table.empty:
        none = "None of the stored methods trains a discriminator and a generator per class."
        return [text("convergence", "Convergence", none)]
    passed = _passed(table, [*CURVE, "class_name"])
    groups: dict[str, list[list[Cell]]] = {}
    for dataset, method, variant, name in dict.fromkeys(key[:-1] for key in passed):
        counts = [passed.get((dataset, method, variant, name, check), "") for check in CHECKS]
        groups.setdefault(dataset, []).append(cells(f"{row_label(method, variant)}: {name}", *counts))
    notes = [*_convergence_claims(table), *(f"Missing: {gap}." for gap in missing(results, "convergence"))]
    headings = ["Method and class", *CHECKS.values()]
    shown = [Group(tasks.label(dataset), lines) for dataset, lines in groups.items()]
    return [Sheet("convergence", "Fits that pass, of all fits of a class", headings, shown, notes=notes)]


def _convergence_claims(table: pd.DataFrame) -> Iterator[str]:
    """A sentence per claim: in how many of the fits, both classes counted, what it says is there."""
    passed = _passed(table, CURVE)
    for claim, checks in CLAIMS.items():
        parts = []
        for dataset, method, variant in dict.fromkeys(key[:-1] for key in passed):
            counts = ", ".join(passed.get((dataset, method, variant, check), "") for check in checks)
            parts.append(f"{tasks.label(dataset)}, {row_label(method, variant)} {counts}")
        yield f"{claim} ({', '.join(CHECKS[check] for check in checks)}): {'; '.join(parts)}."


def _passed(table: pd.DataFrame, by: list[str]) -> dict[tuple[str, ...], str]:
    """For each of these groups and each check: 17/20, or why nothing can be counted."""
    found: dict[tuple[str, ...], str] = {}
    for key, rows in table.groupby([*by, "check"], sort=False)["passed"]:
        judged = rows[rows.isin(("yes", "no"))]
        found[key] = f"{(judged == 'yes').sum()}/{len(judged)}" if len(judged) else str(rows.iloc[0])
    return found


# -- Comparisons and training ----------------------------------------------------------------------------


COMPARED = {"n": "n", "mean": "Mean", "against_mean": "Other", "difference": "Difference", "p_holm": "p (Holm)",
            "rank_biserial": "Rank-biserial", "dominance": "Dominance"}  # fmt: skip


def comparisons(results: Results, *, everything: bool) -> list[Sheet]:
    """Pairs of rows on the same graphs: the difference in Correctness and its p; with everything, all columns."""
    table = stored(results, "comparisons")
    shown = table if everything else table[table["metric"] == "correctness"]
    columns = [name for name in COMPARED if everything or name in ("difference", "p_holm")]
    metric = ["Metric"] if everything else []
    headings = ["Row", "Against", *metric, *(COMPARED[name] for name in columns), "Interval"]
    sheets: list[Sheet] = []
    for (dataset, question), rows in shown.groupby(["dataset", "question"], sort=False):
        lines = [_compared(line, columns, metric) for line in rows.to_dict("records")]
        heading = f"{tasks.label(dataset)}: {question.replace('rsgg-ce', row_label('rsgg-ce', 'faithful'))}"
        sheets.append(Sheet(f"comparisons-{len(sheets) + 1}", heading, headings, [Group("", lines)], names=2))
    about = "Wilcoxon's signed-rank test on the same graphs of replicate 0, Holm's correction within a question."
    about += "" if everything else " Differences in Correctness."
    notes = [] if everything else ["Means, GED and effect sizes: show comparisons --all."]
    return [text("comparisons", "Paired comparisons", about, notes), *sheets]


def _compared(line: dict[str, str], columns: list[str], metric: list[str]) -> list[Cell]:
    rows = [row_label(line[f"{which}method"], line[f"{which}variant"]) for which in ("", "against_")]
    interval = f"[{number(line['ci_low'])}, {number(line['ci_high'])}]" if line["ci_low"] else ""
    values = (line[name] if name == "n" else number(line[name]) for name in columns)
    return cells(*rows, *(METRICS[line["metric"]].label for _ in metric), *values, interval)


def training(results: Results, *, everything: bool) -> list[Sheet]:
    """How training ended, per method and class: means over fits, and how many collapsed; else every fit."""
    if everything:
        return plain(results, name="training", everything=True)
    table = stored(results, "training", as_text=False)
    columns = [name for name in ("discriminator_loss", "generator_loss", "flip_rate", "edits") if name in table]
    groups = []
    for dataset, own in table.groupby("dataset", sort=False):
        lines = []
        for (method, variant, c), rows in own.groupby(["method", "variant", "class"], sort=False):
            judged = rows["collapsed"].dropna()
            collapsed = f"{(judged != 'no').sum()}/{len(judged)}" if len(judged) else ABSENT
            whose = f"{row_label(method, variant)}: {tasks.task(str(dataset)).class_name(int(c))}"
            lines.append(cells(whose, *(number(rows[name].mean()) for name in columns), collapsed))
        groups.append(Group(tasks.label(str(dataset)), lines))
    headings = ["Method and class", *(name.replace("_", " ").capitalize() for name in columns), "Collapsed"]
    notes = ["Every fit: show training --all."]
    return [Sheet("training", "How training ended: means over fits", headings, groups, notes=notes)]


# -- Any other -------------------------------------------------------------------------------------------

FIRST_ROWS = 40  # of a table without a layout of its own, where not everything is shown


def plain(results: Results, *, name: str, everything: bool) -> list[Sheet]:
    """A stored table as it is; rows and data sets are called by their public names."""
    table = stored(results, name)
    if "dataset" in table:
        table["dataset"] = [tasks.label(dataset) for dataset in table["dataset"]]
    if {"method", "variant"} <= {*table.columns}:
        table["method"] = [row_label(*row) for row in zip(table["method"], table["variant"], strict=True)]
        table = table.drop(columns="variant")
    kept = table if everything else table.head(FIRST_ROWS)
    notes = [f"{len(table) - len(kept)} more rows: show {name} --all."] if len(kept) < len(table) else []
    rows = [cells(*row) for row in kept.to_numpy().tolist()]
    headings = [str(column).replace("_", " ") for column in table.columns]
    return [Sheet(name, name, headings, [Group("", rows)], notes=notes)]
