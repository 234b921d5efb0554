"""Tables of the other experiments: data sets, ablations, runtime, convergence, paired comparisons, training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from benchmarks.registry import ablations, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.paper import of_paper
from benchmarks.results.reader import Results
from figures.tables.numbers import by_row, cells, missing, number, row_label, stored
from figures.tables.sheet import ABSENT, Cell, Group, Sheet, text, with_all

# -- Data sets -------------------------------------------------------------------------------------------


def datasets(results: Results, *, everything: bool) -> list[Sheet]:
    """The appendix's statistical description of the data sets, measured beside printed."""
    table = results.table("datasets", as_text=True)
    caption = "Statistical description of the data sets, as printed and as measured."
    if table is None:
        caption += " From the paper only: ./reproduce.sh datasets measures the rest."
        table = printed_datasets().assign(measured="not measured yet", verdict="", note="").fillna("")
    whole, table = table, table[table["dataset"].isin(tasks.PAPER)]
    found = list(dict.fromkeys(table["dataset"]))
    rows: dict[str, list[Cell]] = {name: [Cell(name), *cells("", "") * len(found)] for name in table["quantity"]}
    for line in table.to_dict("records"):
        place = 1 + 2 * found.index(line["dataset"])
        printed = Cell(line["paper"], "printed", title=line["place"])
        rows[line["quantity"]][place : place + 2] = printed, Cell(line["measured"], "", line["verdict"], line["note"])
    headings = ["Quantity", *(f"{tasks.label(name)}, {what}" for name in found for what in ("printed", "measured"))]
    noted = table[table["note"] != ""]
    notes = dict.fromkeys(f"{tasks.label(line.dataset)}: {line.note}." for line in noted.itertuples())
    sheet = Sheet("datasets", "Data sets", headings, [Group("", [*rows.values()])], caption, [*notes])
    public = whole[~whole["dataset"].isin(tasks.PAPER)]
    return [sheet, _public_datasets(public)] if len(public) else [sheet]


def _public_datasets(table: pd.DataFrame) -> Sheet:
    """A row per public data set: what is measured, marked where its collection prints something else."""
    quantities = list(dict.fromkeys(table["quantity"]))
    rows = {name: [Cell(name), *cells(*[""] * len(quantities))] for name in table["dataset"]}
    for line in table.to_dict("records"):
        printed = f"printed {line['paper']}, {line['place']}" if line["paper"] else ""
        shown = line["measured"] + (f" ({line['paper']})" if line["verdict"] == "differs" else "")
        place = 1 + quantities.index(line["quantity"])
        rows[line["dataset"]][place] = Cell(shown, "", line["verdict"], line["note"] or printed)
    caption = "Public data sets as measured; in brackets what their collections print, where that differs."
    notes = dict.fromkeys(table.loc[table["note"] != "", "note"])
    return Sheet(
        "public_datasets",
        "Public data sets",
        ["Data set", *quantities],
        [Group("", [*rows.values()])],
        caption,
        [*notes],
    )


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
    sheets = []
    for metric in dict.fromkeys(table["metric"]) if everything else IN_SHORT:
        lines, decimals = [], DECIMALS.get(metric, 3)
        for label, own in by_row(table[table["metric"] == metric]):
            points = own.drop_duplicates("value", keep="last").set_index("value").reindex(values)
            shown = (_point(point, decimals, everything) for point in points.itertuples())
            lines.append(cells(label, *shown))
        label = METRICS[metric].label if metric in METRICS else metric.replace("_", " ").replace("ged", "GED")
        sheets.append(Sheet(f"{name}-{metric}", label, ["Method", *map(str, values)], [Group("", lines)]))
    about = "Means over folds ± standard errors." if everything else "Means over folds."
    notes = [f"Missing: {gap}." for gap in missing(results, name, "ablation")]
    notes += [] if everything else [with_all("standard errors and more metrics")]
    return [text(name, title, about, notes), *sheets]


def _point(point: Any, decimals: int, with_error: bool) -> str:
    """A mean, with its standard error where that is asked for and known."""
    known = with_error and point.se and point.se == point.se
    return number(point.mean, decimals) + (f" ±{number(point.se, decimals)}" if known else "")


# -- Variations ------------------------------------------------------------------------------------------

STUDIES = {
    "training": "RSGG-CE by score function on Tree-Cycles, without one part of its training",
    "meg-asd": "MEG on ASD, with one thing changed",
    "price-released": "CF-GNNExplainer as released on nodes of Tree-Cycles, with another price β of an edge",
    "price-defined": "CF-GNNExplainer as its paper defines it, on the same nodes, with another β",
    "boundaries": "RCExplainer on Mutagenicity (two classes), with something else in place of mined boundaries",
    "boundaries-six": "RCExplainer on ENZYMES (six classes), with something else in place of mined boundaries",
}


def variations(results: Results, *, everything: bool) -> list[Sheet]:
    """A sheet per study: Correctness and GED of each variation, their differences from the row as it is."""
    table = stored(results, "variations", as_text=False)
    headings = ["Variation", "Instead", "Correctness", "difference", "GED", "difference", "Folds"]
    sheets = []
    for study, lines in table.groupby("study", sort=False):
        rows = []
        for (name, instead), own in lines.fillna({"instead": ""}).groupby(["variation", "instead"], sort=False):
            by_metric = own.set_index("metric")
            line = [Cell(str(name)), Cell(str(instead))]
            for metric, decimals in (("correctness", 3), ("ged", 2)):
                point = by_metric.loc[metric]
                line += [Cell(number(point["mean"], decimals)), _difference(point, decimals)]
            rows.append([*line, Cell(f"{by_metric.loc['correctness', 'folds']:.0f}")])
        sheets.append(Sheet(f"variations-{study}", STUDIES.get(str(study), str(study)), headings, [Group("", rows)]))
    about = (
        "Means over the folds that all variations of a study have (the last column says how many), and differences "
        "from the row as it is there, with 95 % intervals; in bold those with p < .05 in a paired t-test after Holm's "
        "correction within a study. Folds of a replicate share training graphs, so that p "
        "values are somewhat too small."
    )
    notes = [*what_matters(results), *(f"Missing: {gap}." for gap in missing(results, "variations"))]
    return [text("variations", "Variations", about, notes), *sheets]


SEEN = 0.05  # differences in Correctness that sentences name although they are not sure


def what_matters(results: Results) -> list[str]:
    """A sentence per study: which changes matter, which do by their size but not for sure, how little the others do."""
    table = stored(results, "variations", as_text=False)
    return [_study_in_words(str(study), lines) for study, lines in table.groupby("study", sort=False)]


def _study_in_words(study: str, lines: pd.DataFrame) -> str:
    own = lines[lines["variation"] != "as it is"]
    correctness = own[own["metric"] == "correctness"].set_index("variation")
    as_it_is = lines[(lines["variation"] == "as it is") & (lines["metric"] == "correctness")].iloc[0]
    sure = list(dict.fromkeys(own.loc[own["matters"] == "yes", "variation"]))
    rest = correctness.drop(sure)
    seen = rest[rest["difference"].abs() >= SEEN].sort_values("difference")
    small = rest.drop(seen.index)
    parts = [f"matters: {_changes(own, sure)}" if sure else "no change is sure to matter (p < .05 after Holm)"]
    if len(seen):
        named = "; ".join(f"{name} {line['mean']:.3f} ({line['difference']:+.3f})" for name, line in seen.iterrows())
        parts.append(f"Correctness differs, though not for sure, with {named}")
    if len(small):
        most = float(small["difference"].abs().max())
        parts.append(f"it moves by at most {most:.3f} with {', '.join(map(str, small.index))}")
    folds = f"{as_it_is['folds']:.0f} folds, Correctness {as_it_is['mean']:.3f} as it is"
    return f"{STUDIES.get(study, study)} ({folds}): {'; '.join(parts)}."


def _changes(own: pd.DataFrame, sure: list[str]) -> str:
    """The differences of these variations that are sure, with their metrics."""
    known = own[own["variation"].isin(sure) & (own["matters"] == "yes")]
    written = {"correctness": ("Correctness", 3), "ged": ("GED", 1)}  # name and decimals
    parts = []
    for line in known.to_dict("records"):
        metric, decimals = written[line["metric"]]
        parts.append(f"{line['variation']} ({metric} {line['difference']:+.{decimals}f})")
    return "; ".join(parts)


def _difference(point: pd.Series, decimals: int) -> Cell:
    if pd.isna(point["difference"]) or point["variation"] == "as it is":
        return Cell("")
    interval = (
        "" if pd.isna(point["ci_low"]) else f" [{point['ci_low']:+.{decimals}f}, {point['ci_high']:+.{decimals}f}]"
    )
    return Cell(f"{point['difference']:+.{decimals}f}{interval}", "best" if point["matters"] == "yes" else "")


# -- Several candidates ------------------------------------------------------------------------------------

WORTH = {  # how the measures of several candidates are headed
    "validity_at_1": "Validity@1", "validity_at_k": "Validity@k", "distinct": "Distinct", "diversity": "Diversity",
    "jaccard_distance": "Jaccard distance", "consensus": "Consensus",
}  # fmt: skip


def candidates(results: Results, *, everything: bool) -> list[Sheet]:
    """What several candidates of a method are worth, a row for each method; with everything, intervals over folds."""
    table, groups = stored(results, "candidates", as_text=False), []
    for dataset, own in table.groupby("dataset", sort=False):
        lines = []
        for label, rows in by_row(own):
            by_metric = rows.set_index("metric")
            shown = (_worth(by_metric, metric, everything) for metric in WORTH)
            lines.append(cells(label, number(by_metric.loc["k", "mean"], 0), *shown, int(by_metric.loc["k", "n"])))
        groups.append(Group(tasks.label(str(dataset)), lines))
    caption = (
        "Validity@1, @k: the share of graphs of which the first of k candidates, or at least one, changes the class. "
        "Of a graph's valid ones: how many are distinct; in how many node pairs two of them differ (diversity), and "
        "the same as a share of what they edit (Jaccard distance); of the pairs that any of them edits, the share that "
        "more than half of them edit (consensus). Further candidates of a ranked search may not edit the same pairs "
        "again, so that a distance of 1 and a consensus of 0 are how it is built, not what was found."
    )
    notes = [] if everything else [with_all("intervals over folds")]
    headings = ["Method", "k", *WORTH.values(), "Graphs"]
    return [Sheet("candidates", "What several candidates are worth", headings, groups, caption, notes)]


def _worth(by_metric: pd.DataFrame, metric: str, with_interval: bool) -> str:
    if metric not in by_metric.index:
        return ABSENT
    point, decimals = by_metric.loc[metric], 1 if metric in ("distinct", "diversity") else 3
    ends = (number(point[end], decimals) for end in ("ci_low", "ci_high"))
    return number(point["mean"], decimals) + (f" [{', '.join(ends)}]" if with_interval else "")


# -- Runtime ---------------------------------------------------------------------------------------------

QUANTITIES = {  # heading and unit of what is shown of a point
    "explain_seconds": ("Explain, ms", 1000), "encode_seconds": ("Encode, ms", 1000),
    "test_set_seconds": ("Test set, s", 1), "fit_seconds": ("Fit, s", 1), "memory_mb": ("Memory, MB", 1),
    "explain_calls": ("Calls", 1),
}  # fmt: skip
SHOWN_FIRST = ("explain_seconds", "encode_seconds", "fit_seconds", "memory_mb")
PAPER_SAYS = (
    "The paper: RSGG-CE “scales perfectly (flat runtime) when the datasets get bigger …, and it has a linear trend "
    "when the graph size increases …”."
)


def runtime(results: Results, *, everything: bool) -> list[Sheet]:
    """CPU time and memory as graphs and data sets grow, the growth exponents, and the paper's two claims on them."""
    table, grown = stored(results, "runtime", as_text=False), results.table("runtime_growth")
    measured, failed = table[table["quantity"] != "failed"], table[table["quantity"] == "failed"]
    quantities = {name: QUANTITIES[name] for name in QUANTITIES if everything or name in SHOWN_FIRST}
    sheets = [_runtimes(str(vary), rows, quantities) for vary, rows in measured.groupby("vary", sort=False)]
    disturbed = table[table["note"].fillna("").str.contains("something else")]
    points = disturbed.groupby(["vary", "value", "method", "variant"]).ngroups
    notes = (
        [f"At {points} points something else was running: do not trust their times; see runtime.csv."] if points else []
    )
    notes += [f"{f.vary} = {f.value}, {row_label(f.method, f.variant)} failed: {f.note}." for f in failed.itertuples()]
    if grown is not None and len(grown):
        sheets += runtime_growth(results, everything=everything)
    return [text("runtime", "Runtime", "CPU time and memory; medians over repeats.", notes), *sheets]


def _varied(vary: str) -> str:
    return ablations.PAPER[vary].label if vary in ablations.PAPER else vary


def _runtimes(vary: str, rows: pd.DataFrame, quantities: Mapping[str, tuple[str, int]]) -> Sheet:
    groups = []
    for label, own in by_row(rows):
        lines = []
        for value, point in own.groupby("value", sort=False):
            medians = point.set_index("quantity")["median"]
            shown = (f"{medians[q] * unit:.4g}" if q in medians else ABSENT for q, (_, unit) in quantities.items())
            lines.append(cells(label, value, f"{point['instances'].iloc[0]:.0f}", *shown))
        groups.append(Group("", lines))
    what = _varied(vary)
    headings = ["Method", what.capitalize(), "Explained", *(heading for heading, _ in quantities.values())]
    return Sheet(f"runtime-{vary}", f"Varying the number of {what}", headings, groups, names=2)


def runtime_growth(results: Results, *, everything: bool) -> list[Sheet]:
    """Growth exponents with their intervals, and what they say of the paper's two claims."""
    groups, notes, shown = [], [], 6 if everything else 5
    for label, own in by_row(stored(results, "runtime_growth")):
        lines = []
        for line in own.to_dict("records"):
            what, exponent = _varied(line["vary"]), f"{float(line['exponent']):.2f}"
            points = line["points"] + (f" ({line['graphs']} graphs)" if line["graphs"] else "")
            interval = f"[{float(line['ci_low']):.2f}, {float(line['ci_high']):.2f}]" if line["ci_low"] else ""
            lines.append(cells(label, what, line["quantity"].replace("_", " "), exponent, interval, points)[:shown])
            if line["quantity"] == "inference_seconds" and line["paper"]:
                against = _against_paper(line, interval)
                notes.append(f"{label}, {what} {line['points']}: exponent {exponent}{against}.")
        groups.append(Group("", lines))
    headings = ["Method", "Varying", "Quantity", "Exponent", "Interval", "Points"][:shown]
    title = "Growth exponents over the largest decade, 95 % intervals"
    return [Sheet("runtime_growth", title, headings, groups, notes=[PAPER_SAYS, *notes] if notes else [])]


def _against_paper(line: dict[str, str], interval: str) -> str:
    if not interval:
        return ", too few points for an interval"
    low, paper, high = (float(line[name]) for name in ("ci_low", "paper", "ci_high"))
    return f" {interval}; the paper's {paper:g} is {'inside' if low <= paper <= high else 'outside'}"


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
    groups: dict[str, list[list[Cell]]] = {}
    for (dataset, method, variant, name), passed in _passed(table, [*CURVE, "class_name"]):
        counts = (passed.get(check, "") for check in CHECKS)
        groups.setdefault(dataset, []).append(cells(f"{row_label(method, variant)}: {name}", *counts))
    notes = [*_convergence_claims(table), *(f"Missing: {gap}." for gap in missing(results, "convergence"))]
    headings = ["Method and class", *CHECKS.values()]
    shown = [Group(tasks.label(dataset), lines) for dataset, lines in groups.items()]
    return [Sheet("convergence", "Fits that pass, of all fits of a class", headings, shown, notes=notes)]


def _convergence_claims(table: pd.DataFrame) -> Iterator[str]:
    """A sentence per claim: in how many of the fits, both classes counted, what it says is there."""
    for claim, checks in CLAIMS.items():
        parts = []
        for (dataset, method, variant), passed in _passed(table, CURVE):
            counts = ", ".join(passed.get(check, "") for check in checks)
            parts.append(f"{tasks.label(dataset)}, {row_label(method, variant)} {counts}")
        yield f"{claim} ({', '.join(CHECKS[check] for check in checks)}): {'; '.join(parts)}."


def _passed(table: pd.DataFrame, by: list[str]) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Each of these groups with, for each check, 17/20, or why nothing can be counted."""
    for key, own in table.groupby(by, sort=False):
        counts = {}
        for check, passed in own.groupby("check", sort=False)["passed"]:
            judged = passed[passed.isin(("yes", "no"))]
            counts[check] = f"{(judged == 'yes').sum()}/{len(judged)}" if len(judged) else str(passed.iloc[0])
        yield key, counts
