"""Tables of the manual on what was measured beside Table 1: gaps of Table 2, robustness, noise, summaries, molecules.

`figures.prose` writes them into pages. Where the reference does not hold a table yet, its block says so.
"""

from __future__ import annotations

import pandas as pd

from benchmarks.registry import global_methods, methods, tasks
from benchmarks.registry.rules import (
    DIFFERS,
    GLOBAL_SIZES,
    NOT_COMPARABLE,
    NOT_SANITISED,
    ORDER_HOLDS,
    OTHER_DISTANCE,
)
from benchmarks.results.paper import of_paper
from benchmarks.results.reader import Results
from figures.tables import robustness as of_robustness
from figures.tables.numbers import by_row, cells, missing, number, over_tasks, row_label
from figures.tables.sheet import ABSENT, Cell, Group, Sheet, pipes
from figures.tables.table2 import FEWER_RULES, over_fewer_rules

NOT_YET = "The committed reference does not hold this table yet."


def as_pipes(headings: list[str], rows: list[list[Cell]]) -> str:
    """A table of Markdown whose cells may hold Markdown."""
    return pipes(Sheet("", "", headings, [Group("", rows)]), markup=True)


def with_interval(line: pd.Series, mean: str = "mean", decimals: int = 3) -> str:
    """A mean with its interval: "0.812 [0.790, 0.834]"."""
    return "{} [{}, {}]".format(*(number(line[name], decimals) for name in (mean, "ci_low", "ci_high")))


# -- Real data -----------------------------------------------------------------------------------------------

MADE_MINIMAL = " + min"  # ends the label of a row


def not_computed(results: Results) -> str:
    """Which rows of Table 2 are not there, on how many tasks and why, in a sentence."""
    if results.table("table2") is None:
        return NOT_YET
    gaps = missing(results, "table2")
    first = [gap for gap in gaps if f"{MADE_MINIMAL}:" not in gap]
    if not gaps:
        return "Every row is computed on every task that it is defined for."
    made = len(gaps) - len(first)
    more = [f"{made} of other rows made minimal (“{MADE_MINIMAL.strip()}”)"] if made else []
    return f"Missing: {'; '.join([*over_tasks(first), *more])}. `./reproduce.sh table2` computes what is not there."


SHOWN = {**of_robustness.BEFORE, "validity_at_k": of_robustness.AFTER["validity_at_k"]}
AGREEMENT = {f"robust_{kind}": f"agree_{kind}" for kind in ("seed", "subsample", "architecture")}


def robustness(results: Results) -> str:
    """What the counterfactuals of each row withstand, as means over tasks; first how far copies of oracles agree."""
    table = results.table("robustness")
    if table is None or table.empty:
        return NOT_YET
    means = table.pivot_table("mean", ["method", "variant", "task"], "metric", sort=False)
    means = means.reindex(columns=[*SHOWN, *AGREEMENT.values()])
    agreed = means.groupby("task").mean().mean()
    lines = [[Cell("Copies agree with the oracle on the inputs", "printed"), Cell(str(table["task"].nunique()))]]
    lines[0] += cells(*(number(agreed[AGREEMENT[name]], 2) if name in AGREEMENT else "" for name in SHOWN))
    counts = set()
    for label, own in by_row(table):
        of_row = means.loc[tuple(own.iloc[0][["method", "variant"]])]
        counts.add(len(of_row))
        lines.append(cells(label, len(of_row), *(number(of_row[name].mean(), 2) for name in SHOWN)))
    headings = ["Mean over tasks", "Tasks", *(heading for heading, _ in SHOWN.values())]
    untold = [methods.label(*row) for row in sorted(of_robustness.by_chance(table))]
    notes = [
        "Means of the tasks' means; robustness and stability are of valid counterfactuals, so that a row with few of "
        "them says little there.",
        *([f"Not told of the frozen pairs, which they keep by chance: {', '.join(untold)}."] if untold else []),
        *(["Rows have different numbers of tasks: their means do not compare as they are."] if len(counts) > 1 else []),
        *of_robustness.led_by_controls(means.groupby(level=["method", "variant"]).mean(), SHOWN),
        *(f"Missing: {gap}." for gap in over_tasks(missing(results, "robustness"))),
    ]
    return f"{as_pipes(headings, lines)}\n\n{' '.join(notes)}"


# -- RCExplainer and noise -------------------------------------------------------------------------------------


def noise(results: Results) -> str:
    """How alike edges are ranked in noisy graphs: AUC at each share of noise, at the largest with its interval."""
    table = results.table("noise")
    if table is None or table.empty:
        return NOT_YET
    shares = sorted(share for share in table["noise"].unique() if share > 0)
    lines = []
    for task, of_task in table.groupby("task", sort=False):
        for label, own in by_row(of_task):
            by_share = own.set_index("noise")
            texts = [number(by_share.loc[share, "auc"], 3) for share in shares[:-1]]
            last = with_interval(by_share.loc[shares[-1]], "auc")
            lines.append(cells(tasks.label(str(task)), label, *texts, last, f"{by_share.loc[shares[-1], 'n']:.0f}"))
    headings = ["On", "Row", *(f"{share:.0%}" for share in shares), "Graphs"]
    said = [f" Missing: {gap}." for gap in over_tasks(missing(results, "noise"))]
    about = (
        "AUC by the share of noise, by chance .5; the last with its 95 % interval, over graphs that keep their class."
    )
    return f"{as_pipes(headings, lines)}\n\n{about}{''.join(said)}"


# -- MOO's fronts ----------------------------------------------------------------------------------------------

OF_FRONTS = {"hypervolume": ("Dominated", 4), "front": ("Explanations", 1), "asked": ("Questions", 0)}


def fronts(results: Results) -> str:
    """What the fronts of each row dominate, of how many explanations they are, and what was asked for them."""
    table = results.table("fronts")
    if table is None or table.empty:
        return NOT_YET
    lines = []
    for task, of_task in table.groupby("task", sort=False):
        for label, own in by_row(of_task):
            found = own.set_index("metric")
            texts = [with_interval(found.loc[name], "mean", digits) for name, (_, digits) in OF_FRONTS.items()]
            lines.append(cells(tasks.label(str(task)), label, *texts))
    said = "".join(f" Missing: {gap}." for gap in over_tasks(missing(results, "fronts")))
    about = "Means over graphs with 95 % intervals: the share of all values of the objectives that a front dominates."
    headings = ["On", "Row", *(heading for heading, _ in OF_FRONTS.values())]
    return f"{as_pipes(headings, lines)}\n\n{about}{said}"


# -- Global summaries ------------------------------------------------------------------------------------------


def global_summaries(results: Results) -> str:
    """What ten graphs cover, by row and data set, with the bounds of the exact share, and what became of the print."""
    table, orders = results.table("global"), results.table("global_printed")
    if table is None or orders is None or table.empty:
        return NOT_YET
    largest = table[table["k"] == max(GLOBAL_SIZES)].set_index(["method", "variant", "task", "metric"])
    names = [name for name in global_methods.WANTED if name in set(table["task"])]
    lines = []
    for row in global_methods.METHODS:
        line = [Cell(row.label, "main" if row.variant == "faithful" else "")]
        for name in names:
            line.append(Cell(_covered(largest, (*row.row, name))))
        if any(cell.text != ABSENT for cell in line[1:]):
            lines.append(line)
    headings = ["Coverage by ten graphs [bounds]; cost", *map(tasks.label, names)]
    gaps = [f"Missing: {gap}." for gap in over_tasks(missing(results, "global"))]
    about = (
        "Coverage is the share of inputs within .1 that edit paths in hand show, mean over replicates; in brackets "
        "what it can be at least and at most in any of them; cost the median distance, from above. Real graphs are "
        "controls."
    )
    return "\n\n".join([as_pipes(headings, lines), " ".join([about, *gaps]), _printed_summaries(table, orders)])


def _covered(largest: pd.DataFrame, whose: tuple[str, ...]) -> str:
    if (*whose, "coverage") not in largest.index:
        return ABSENT
    coverage, cost = (largest.loc[(*whose, metric)] for metric in ("coverage", "cost"))
    low, high = (number(coverage[end], 2) for end in ("low", "high"))
    return f"{number(coverage['mean'], 3)} [{low}, {high}]; {number(cost['mean'], 3)}"


def _printed_summaries(table: pd.DataFrame, orders: pd.DataFrame) -> str:
    """What became of printed orders and of printed values, in words."""
    judged = orders[orders["verdict"].isin([ORDER_HOLDS, DIFFERS])]
    counts = [f"{(judged['verdict'] == verdict).sum()} {words}" for verdict, words in ORDERS.items()]
    certain = int((judged["certain"] == "yes").sum())
    values = table[table["verdict"].isin([NOT_COMPARABLE, DIFFERS])]
    differing = [
        f"{row_label_of(line.method, line.variant)} on {tasks.label(line.task)}: {line.reason}"
        for line in values[values["verdict"] == DIFFERS].itertuples()
    ]
    return (
        f"Of {len(orders)} printed orders of two coverages {', '.join(counts)}, {len(orders) - len(judged)} are not "
        f"judged; {certain} of the verdicts are certain by the bounds. Of {len(values)} printed values of rows that "
        f"are measured here {len(values) - len(differing)} are not comparable"
        f"{', and these differ. ' + '; '.join(differing) if differing else ''}."
    )


ORDERS = {ORDER_HOLDS: "hold", DIFFERS: "differ"}


def row_label_of(method: str, variant: str) -> str:
    """The name of a global row."""
    known = global_methods.rows().get((method, variant))
    return known.label if known else f"{method} ({variant})"


# -- Molecules -------------------------------------------------------------------------------------------------

OF_MOLECULES = (
    ("maccs", "faithful"), ("meg-molecules", "faithful"), ("rsgg-ce-feasible", "beyond"),
    ("rsgg-ce-certified", "beyond"), ("rsgg-ce-nodes", "beyond"), ("two-sided-min-feasible", "search"),
    ("dce", "search"), ("one-removal", "control"),
)  # fmt: skip
MEASURES = {  # of molecules, with their headings and decimals
    "correctness": ("Validity", 3), "ged_on_success": ("GED", 2), "tanimoto": ("Tanimoto", 3),
    "sanitised": ("Sanitised", 3), "feasible": ("Feasible", 3), "explain_calls": ("Questions", 1),
}  # fmt: skip


def molecules(results: Results) -> str:
    """Methods that change molecules beside those that keep valences, on tasks where molecules are known."""
    table = results.table("table2")
    names = [] if table is None else list(dict.fromkeys(table.loc[table["method"] == OF_MOLECULES[0][0], "task"]))
    if table is None or not names:
        return NOT_YET
    known = table.set_index(["task", "method", "variant", "metric"])
    lines, absent, fewer = [], [], over_fewer_rules(table)
    at = list(MEASURES).index("feasible")
    for name in names:
        for row in OF_MOLECULES:
            if (name, *row, "correctness") not in known.index:
                absent.append(f"{row_label(*row)} on {tasks.label(name)}")
                continue
            texts = [_measured(known, (name, *row, metric), decimals) for metric, (_, decimals) in MEASURES.items()]
            texts[at] += NOT_SANITISED if (name, *row) in fewer and texts[at] != ABSENT else ""
            main = "main" if row[1] == "faithful" else ""
            lines.append([Cell(tasks.label(name)), Cell(row_label(*row), main), *cells(*texts)])
    headings = ["On", "Row", *(heading for heading, _ in MEASURES.values())]
    about = (
        "All but validity and questions are of valid results; Tanimoto and sanitised of those whose molecule is known: "
        "where atoms are edited, of methods that say which one they made. – is not known, or not measured."
    )
    about += f" {FEWER_RULES}" if fewer else ""
    said = f" Not in the reference yet: {'; '.join(absent)}." if absent else ""
    return f"{as_pipes(headings, lines)}\n\n{about}{said}"


def _measured(known: pd.DataFrame, key: tuple[str, ...], decimals: int) -> str:
    return number(known.loc[key, "mean"], decimals) if key in known.index else ABSENT


# -- Numbers that are printed of them elsewhere ------------------------------------------------------------------

OURS = {"correctness": "correctness", "ged": "ged", "oracle_calls": "explain_calls"}  # printed metric: in table2.csv
PLACES = {"bbbp": "bbbp-gin"}  # printed data set: our task


def printed_maccs(results: Results) -> str:
    """A line for each number that is printed of MACCS: ours beside it, and why the two are not comparable."""
    table, lines = results.table("table2"), []
    measured = pd.DataFrame() if table is None else table.set_index(["task", "method", "variant", "metric"])
    for cell in of_paper("maccs/table", dtype=str, keep_default_na=False).to_dict("records"):
        if not cell["value"]:  # stored only
            continue
        data, task = cell["dataset"], PLACES.get(cell["dataset"], "")
        key = (task, "maccs", "faithful", OURS[cell["metric"]])
        ours = with_interval(measured.loc[key]) if key in measured.index else ABSENT
        named = cells(tasks.label(task) if task else data.upper(), cell["metric"].replace("_", " "))
        lines.append([*named, Cell(cell["value"], "printed"), *cells(ours, NOT_COMPARABLE, "no", cell["why"])])
    return as_pipes(["On", "Metric", "Printed", "Ours [95 %]", "Verdict", "Could fail", "Because"], lines)


def printed_rcexplainer(results: Results) -> str:
    """The numbers that are printed of RCExplainer, a line for those of one kind and place, and why none is judged."""
    table = of_paper("rcexplainer/table", dtype=str, keep_default_na=False)
    lines = []
    table["place"] = table["place"].str.replace(r":\d+$", "", regex=True)  # a line of its own for each data set
    for (metric, place, how, why), own in table.groupby(["metric", "place", "how", "why"], sort=False):
        values = (f"{tasks.label(line.dataset)} {line.value}{_error(line.error)}" for line in own.itertuples())
        lines.append(cells(metric, "; ".join(values), place, how, NOT_COMPARABLE, "no", why))
    return as_pipes(["Metric", "Printed", "Where", "How known", "Verdict", "Could fail", "Because"], lines)


def printed_gcfexplainer(results: Results) -> str:
    """What GCFExplainer's paper prints besides orders: rows that are not measured here, accuracies and seconds."""
    table = pd.concat(of_paper(f"gcfexplainer/table{n}", dtype=str, keep_default_na=False) for n in (2, 3, 6))
    table = table[table["method"].isna() | (table["method"] == "")]
    table["why"] = table["why"].where(table["method"].isna(), NOT_MEASURED_HERE)
    lines = []
    for (place, label, metric, why), own in table.groupby(["place", "label", "metric", "why"], sort=False):
        values = "; ".join(f"{tasks.label(line.task)} {line.value}" for line in own.itertuples())
        lines.append(cells(place.partition(", ")[2], label, metric, values, NOT_COMPARABLE, "no", why))
    return as_pipes(["Where", "Row", "Metric", "Printed", "Verdict", "Could fail", "Because"], lines)


def printed_dygrace(results: Results) -> str:
    """What DyGRACE's repository stores of two other methods on its stream, year by year, and why none is judged."""
    table = of_paper("dygrace/table", dtype=str, keep_default_na=False)
    lines = []
    for (label, metric, place, why), own in table.groupby(["label", "metric", "place", "why"], sort=False):
        values = "; ".join(f"{line.year} {line.value}{_error(line.error)}" for line in own.itertuples())
        lines.append(cells(label, metric, values, place, NOT_COMPARABLE, "no", why))
    return as_pipes(["Row", "Metric", "Stored", "Where", "Verdict", "Could fail", "Because"], lines)


NOT_MEASURED_HERE = f"no row of summaries here is made by this method; {OTHER_DISTANCE}"


def _error(error: str) -> str:
    return f" ± {error}" if error else ""


BLOCKS = {
    "not computed": not_computed, "robustness": robustness, "noise": noise, "fronts": fronts,
    "global summaries": global_summaries,
    "molecules": molecules, "printed maccs": printed_maccs, "printed rcexplainer": printed_rcexplainer,
    "printed gcfexplainer": printed_gcfexplainer, "printed dygrace": printed_dygrace,
}  # fmt: skip
