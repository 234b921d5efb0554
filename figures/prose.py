"""The blocks of the README and the manual that hold numbers, from the reference results, written between markers.

    python figures/prose.py

Numbers in prose are computed, never typed: a test compares every block with the files in `results/reference`. A block
stands in one page, between `<!-- NAME: written by figures/prose.py -->` and `<!-- end of NAME -->`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import groupby, product
from pathlib import Path

import pandas as pd

from benchmarks.registry import ablations as grids
from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.registry.rules import CAN_FAIL, INDEPENDENT, NOT_SANITISED, REPRODUCED, VALID
from benchmarks.results.files import REFERENCE, ROOT, write_text
from benchmarks.results.paper import printed
from benchmarks.results.reader import Results
from benchmarks.results.searches import SEARCHED_AS
from figures import manual_tables
from figures.manual_tables import NOT_YET
from figures.manual_tables import as_pipes as _pipes
from figures.tables import measurements, statements
from figures.tables import training as of_training
from figures.tables.numbers import PREDICTION, cells, number, row_label, stored
from figures.tables.searches import other_revisions
from figures.tables.sheet import ABSENT, SYMBOLS, Cell, pipes, row_marks
from figures.tables.statements import claims_in_short, glance, in_short, not_reproduced
from figures.tables.table1 import CALLS, CALLS_RULE, PAPER, RowView, layout
from figures.tables.table2 import ABOUT_REAL_GRAPHS, FEWER_RULES, REAL_GRAPHS, over_fewer_rules

README, MANUAL = ROOT / "README.md", ROOT / "docs" / "manual"
COLUMNS = {  # metric: decimals
    "correctness": 3, "correctness_class_0": 2, "correctness_class_1": 2, "ged": 2, "ged_on_success": 2,
}  # fmt: skip
LEFT_OUT = frozenset(  # rows that a page has no room for, those "+ min" among them
    {
        "rsgg-ce-multinomial", "released-untrained", "released-uniform", "random-min", "two-sided", "complete",
        "identity", "meg-classes", *(name for name, variant in methods.rows() if methods.made_of((name, variant))),
    }
)  # fmt: skip


def _main(variant: str) -> str:
    """Methods as their papers define them stand out, and RSGG-CE by score function beside them."""
    return "main" if variant == "faithful" else ""


def _name(method: str, variant: str) -> Cell:
    """What a row is called."""
    return Cell(row_label(method, variant), _main(variant))


# -- Table 1 ---------------------------------------------------------------------------------------------


def table1(results: Results) -> str:
    """What became of the printed numbers, a table per data set of the paper."""
    table = stored(results, "table1", as_text=False)
    means = table.set_index(["dataset", "method", "variant", "metric"])["mean"].sort_index()
    rows = layout(results)
    shown = [row for entry in tasks.of_paper() for row in rows.get(entry.name, ()) if row.method not in LEFT_OUT]
    tables = [_of_dataset(means, name, [*own]) for name, own in groupby(shown, lambda row: row.dataset)]
    about = f"{CALLS_RULE} {row_marks(row.marks for row in shown)}{_collapsed(results, shown)}"
    return "\n\n".join([*tables, about])


def summary(results: Results) -> str:
    """The first screen: what reproduced, what that is worth, and what the method does, at most two lines each."""
    glances = [said for name in tasks.PAPER for said in glance(results, name)]
    sentences = (*in_short(stored(results, "verdicts")), *glances, claims_in_short(results))
    return "\n".join(f"- {said}" for said in sentences)


def _of_dataset(means: pd.Series, dataset: str, rows: list[RowView]) -> str:
    """A table per data set: what the paper prints (blank for a metric that is not in it) and what is stored of us."""
    lines = []
    for row in rows:
        if row.variant == PAPER:
            texts = [row.cells[metric].text if metric in row.cells else "" for metric in COLUMNS]
            lines.append([Cell(row.name, "printed"), *map(Cell, texts), Cell(row.cell(CALLS).text)])
        elif row.cells:
            found = {metric: means.get((dataset, row.method, row.variant, metric)) for metric in COLUMNS}
            texts = ["" if mean is None else f"{mean:.{COLUMNS[metric]}f}" for metric, mean in found.items()]
            lines.append([Cell(row.name, _main(row.variant)), *map(Cell, texts), row.cell(CALLS)])
    headings = [tasks.task(dataset).title, *(METRICS[metric].label for metric in COLUMNS), "Calls, explain / fit"]
    return _pipes(headings, lines)


def _collapsed(results: Results, rows: list[RowView]) -> str:
    """How many fits of each row collapse."""
    found, parts = of_training.collapsed(results), []
    for row in rows:
        n, fits, _ = found.get((row.dataset, row.method, row.variant), (0, 0, ""))
        parts += [f"{row.label} on {tasks.label(row.dataset)} {n} of {fits}"] if n else []
    return f" Fits that collapse: {', '.join(parts)}." if parts else ""


# -- The README's table ------------------------------------------------------------------------------------

OF_README = ("correctness", "ged")
WORTH = (
    "✓ reproduced, where our 95 % prediction interval could have missed it; (✓) reproduced, which says less: the "
    "interval also holds a rival's printed number or a class prior, or the number follows from others, or its "
    "accounting was inferred from the print; ≈ not reproduced, but the order of the methods holds; ≠ differs. Released "
    "means are over all replicates of a row, ours over those that all rows share, as in table1.md."
)


def ten_rows(results: Results) -> str:
    """A line for each method and data set of the paper: printed, by the released code, and as its paper defines it."""
    verdicts = stored(results, "verdicts").set_index(["dataset", "method", "metric"])
    ours = {(row.dataset, row.method): row for rows in layout(results).values() for row in rows if _is_main(row)}
    headings = [
        "",
        *(f"{METRICS[name].label}, {whose}" for name in OF_README for whose in ("printed", "released", "ours")),
    ]
    lines, marks = [], ""
    for entry, method in product(tasks.of_paper(), methods.PAPER):
        row, line = ours.get((entry.name, method)), [Cell(f"{methods.label(method)} on {entry.label}")]
        own = row.marks if row else ""
        marks += own
        for metric in OF_README:
            cell, key = printed(entry.name, method, metric), (entry.name, method, metric)
            line.append(Cell(cell.text if cell else "×", "printed"))
            line.append(Cell(_released(verdicts.loc[key]) if key in verdicts.index else ABSENT))
            line.append(Cell(f"{row.cell(metric).text} {own}".strip() if row else ABSENT))
        lines.append(line)
    elsewhere = [
        f"{methods.label(method)} as released is measured on {tasks.label(data)}, as its printed row is"
        for method, data in zip(verdicts.index.get_level_values("method"), verdicts["measured_on"], strict=True)
        if data not in tasks.PAPER
    ]
    notes = f"{WORTH} {'; '.join(dict.fromkeys(elsewhere))}. {row_marks(marks)}"
    return f"{_pipes(headings, lines)}\n\n{notes}"


def _is_main(row: RowView) -> bool:
    return row.method in methods.PAPER and row.variant == "faithful"


def _released(verdict: pd.Series) -> str:
    """What the released code computes with its verdict, in brackets where agreement says little."""
    mean, sign = number(verdict["mean"]), SYMBOLS.get(verdict["verdict"], "")
    informative = verdict["kind"] == INDEPENDENT and verdict["can_fail"] == CAN_FAIL
    return f"{mean} {sign if informative or verdict['verdict'] != REPRODUCED else f'({sign})'}".strip()


# -- A page per method -------------------------------------------------------------------------------------


def rows_of(typed: str, results: Results) -> str:
    """Rows ("meg,meg-classes"): their names, how they are typed, their classes, and settings that differ."""
    own = [method for method in methods.choose([typed]) if not method.base]
    lines = [[_name(*row.row), *cells(f"`{row.title}`", f"`{row.explainer}`", _settings(row))] for row in own]
    return _pipes(["Row", "Typed as", "Class", "Settings that differ from the class's defaults"], lines)


def _settings(row: methods.Method) -> str:
    """Options in words: those that hold everywhere, then those of tasks, tasks that are alike together."""
    by_options: dict[str, list[str]] = {}
    for task, options in row.on.items():
        by_options.setdefault(_options(options), []).append(task)
    said = [_options(row.options)] if row.options else []
    said += [f"{_places(where)}: {options}" for options, where in by_options.items()]
    return "; ".join(said) or "none"


def _places(names: Sequence[str]) -> str:
    """Where settings hold: all tasks with learnt oracles, or tasks by name."""
    learnt = {entry.name for entry in tasks.LEARNT}
    named = [tasks.label(name) for name in names if name not in learnt or not learnt <= set(names)]
    return "on " + " · ".join([*(["tasks with learnt oracles"] if learnt <= set(names) else []), *named])


def _options(options: methods.Options) -> str:
    return ", ".join(f"{name} = {value}" for name, value in options.items())


def verdicts_on(method: str, results: Results) -> str:
    """A line for each number that Table 1 prints for a method: the released code's, the verdict and its worth."""
    table = stored(results, "verdicts")
    lines = []
    for line in table[table["method"] == method].to_dict("records"):
        metric = METRICS[line["metric"]]
        mean, low, high = (number(line[name], metric.decimals) for name in ("mean", "pi_low", "pi_high"))
        ours = Cell(mean, "", line["verdict"], "", f"[{low}, {high}]")
        named, worth = (tasks.label(line["measured_on"]), metric.label), ("verdict", "kind", "can_fail", "explanation")
        lines.append([*cells(*named), Cell(line["printed"], "printed"), ours, *cells(*(line[name] for name in worth))])
    headings = [
        "On", "Metric", "Printed", "As released [95 % prediction]", "Verdict", "Kind", "Could fail", "Explanation",
    ]  # fmt: skip
    return _pipes(headings, lines)


# -- Ablations -------------------------------------------------------------------------------------------

CURVES = (
    ("rsgg-ce", "faithful"), ("rsgg-ce", "released"), (PREDICTION, "closed form"), ("cf2", "faithful"),
    ("cf2", "released"),
)  # fmt: skip
SHOWN_VALUES = {
    "cycle_size": (3, 8, 15, 28), "n_cycles": (2, 4, 8, 32), "n_nodes": (28, 64, 128, 512),
    "n_instances": (100, 500, 2000, 8000),
}  # fmt: skip


def ablations(results: Results) -> str:
    """A table per ablation: Correctness and, in parentheses, GED, at four values of the grid."""
    tables = []
    for vary, values in SHOWN_VALUES.items():
        table = stored(results, f"ablation_{vary}", as_text=False)
        curves = table.set_index(["method", "variant", "metric", "value"])["mean"]
        rows = [_curve(curves, *row, values) for row in CURVES]
        tables.append(_pipes([grids.PAPER[vary].label.capitalize(), *map(str, values)], rows))
    return "\n\n".join(tables)


def _curve(curves: pd.Series, method: str, variant: str, values: tuple[int, ...]) -> list[Cell]:
    predicted = method == PREDICTION
    row = [Cell("predicted for equal probabilities", "printed") if predicted else _name(method, variant)]
    for value in values:
        correctness = curves.get((method, variant, "correctness", value))
        ged = curves.get((method, "monte carlo" if predicted else variant, "ged", value))
        row.append(Cell("" if correctness is None or ged is None else f"{correctness:.3f} ({ged:.1f})"))
    return row


# -- Runtime and searches --------------------------------------------------------------------------------

GROWN = {
    "inference_seconds": "CPU seconds to explain a graph", "fit_seconds": "CPU seconds to fit", "memory_mb": "memory"
}  # fmt: skip
UNITS = {"n_nodes": ("n", "n"), "n_instances": ("instances", "m")}  # what grows: in the heading, in the formula
FITS_NOTHING = 0.01  # seconds: a method that fits in less has nothing to fit


def growth(results: Results) -> str:
    """How RSGG-CE and CF² grow: the exponents of the largest decade with their intervals."""
    exponents, points = stored(results, "runtime_growth", as_text=False), stored(results, "runtime", as_text=False)
    fitted = dict(iter(exponents.groupby(["method", "variant", "vary", "quantity"])))
    longest = points.groupby(["method", "variant", "quantity"])["median"].max()
    headings = ["grows like", *(f"{what}, in {unit}" for unit, _ in UNITS.values() for what in GROWN.values())]
    rows = []
    for curve in (row for row in CURVES if row[0] != PREDICTION):
        rows.append([_name(*curve)])
        for vary, quantity in product(UNITS, GROWN):
            nothing = quantity == "fit_seconds" and longest[(*curve, quantity)] <= FITS_NOTHING
            said = "–" if nothing else _exponents(fitted[(*curve, vary, quantity)], UNITS[vary][1])
            rows[-1].append(Cell(said))
    return f"{_pipes(headings, rows)}\n\n{_largest(points)}"


def _exponents(lines: pd.DataFrame, unit: str) -> str:
    """n^1.02 [0.95, 1.10]; with the range that each is about where data sets of several sizes are fitted apart."""
    said = []
    for line in lines.itertuples():
        values = line.points.split()
        about = f" ({values[0]}–{values[-1]})" if len(lines) > 1 else ""
        said.append(f"{unit}<sup>{line.exponent:.2f}</sup> [{line.ci_low:.2f}, {line.ci_high:.2f}]{about}")
    return ", ".join(reversed(said))


def _largest(points: pd.DataFrame) -> str:
    ours = points[(points["method"] == "rsgg-ce") & (points["variant"] == "faithful") & (points["vary"] == "n_nodes")]
    largest = int(ours["value"].max())
    at = ours[ours["value"] == largest].set_index("quantity")["median"]
    return (
        f"At {largest} nodes RSGG-CE needs {at['inference_seconds']:.2f} s to explain a graph, "
        f"{at['fit_seconds'] / 60:.1f} min to fit and {at['memory_mb'] / 1024:.1f} GB."
    )


def searches(results: Results) -> str:
    """What each search for hyper-parameters found, promised and kept."""
    headings = [
        "search", "trials", "best where trials were", "our settings there", "best on unseen graphs (GED)",
        "our settings there (GED)",
    ]  # fmt: skip
    rows = []
    for line in stored(results, "hpo_summary", as_text=False).itertuples():
        row = SEARCHED_AS.get((line.method, line.variant), (line.method, line.variant))
        whose, seen = row_label(*row), (f"{line.best_value:.3f}", f"{line.default_value:.3f}")
        winner = f"{line.winner_correctness:.3f} ({line.winner_ged:.1f})"
        default = f"{line.default_correctness:.3f} ({line.default_ged:.1f})"
        rows.append(cells(f"{whose}, {line.protocol}", line.trials, *seen, winner, default))
    return f"{_pipes(headings, rows)}\n\n{other_revisions(results)}".strip()


# -- Training ----------------------------------------------------------------------------------------------

RSGG_CE = ("rsgg-ce", "faithful")


def training(results: Results) -> str:
    """What training RSGG-CE costs in questions, how many fits collapse, and how far folds differ, in sentences."""
    said = []
    for task, rows in layout(results).items():
        for row in rows:
            if (row.method, row.variant) == RSGG_CE and task in tasks.PAPER:
                per_fold, ended = (
                    row.cell(CALLS).text.split(" / ")[1],
                    of_training.how_it_ended(results, (task, *RSGG_CE)),
                )
                said.append(
                    f"On {tasks.label(task)}, training asks the oracle {per_fold} questions per fold "
                    f"({row.fit_calls:,.0f} per test graph). By the rule of `rsgg/collapse.py` {ended}"
                )
    return "\n".join(said)


# -- Search --------------------------------------------------------------------------------------------------

WITHOUT_LEARNING, EARLIER_SEARCHES = ("two-sided-min", "search"), (("obs", "search"), ("ddbs", "search"))
OPTIMUM = ("optimum", "control")


def paid_back(fit_calls: float, ours: float, rival: float) -> int | None:
    """After how many explained graphs fitting has asked no more than the rival; None where a graph saves no calls."""
    return math.ceil(fit_calls / (rival - ours)) if ours < rival else None


def break_even(results: Results) -> str:
    """After how many graphs the training by score function has asked no more than a search that learns nothing."""
    calls = stored(results, "table1", as_text=False).set_index(["dataset", "method", "variant", "metric"])["mean"]
    parts = []
    for task in tasks.of_paper():
        fit, ours, search = (
            calls.get((task.name, *row, metric))
            for row, metric in (
                (RSGG_CE, "fit_calls"), (RSGG_CE, "explain_calls"), (WITHOUT_LEARNING, "explain_calls"),
            )
        )  # fmt: skip
        if fit is not None and ours is not None and search is not None and (after := paid_back(fit, ours, search)):
            parts.append(f"{after:,} graphs of {task.label}")
    said = "“Two or three calls per graph” leave that training out."
    return f"{said} It has paid for itself, against a search that learns nothing, after {' and '.join(parts)}."


def search(results: Results) -> str:
    """How near to the optimum searches come that learn nothing."""
    means = stored(results, "table1", as_text=False).set_index(["method", "variant", "dataset", "metric"])["mean"]
    best = f"{methods.label(*WITHOUT_LEARNING)}, which learns nothing,"
    parts = [
        f"{means[*WITHOUT_LEARNING, task.name, 'ged']:.3f} edits at Correctness "
        f"{means[*WITHOUT_LEARNING, task.name, 'correctness']:.3f} on {task.label} (optimum "
        f"{means[*OPTIMUM, task.name, 'ged']:.3f})"
        for task in tasks.of_paper()
    ]
    more = [
        f"{methods.label(*row)} {means[*row, task.name, 'ged_on_success'] / means[*OPTIMUM, task.name, 'ged'] - 1:.0%} "
        f"more at Correctness {means[*row, task.name, 'correctness']:.3f} on {task.label}"
        for task in tasks.of_paper()
        for row in EARLIER_SEARCHES
    ]
    return f"**What to keep in mind.** {best} needs {' and '.join(parts)}; {', '.join(more)}."


# -- Other data --------------------------------------------------------------------------------------------

ELSEWHERE = (
    ("rsgg-ce", "faithful"), ("rsgg-ce-taught", "beyond"), ("rsgg-ce-certified", "beyond"),
    ("rsgg-ce-swaps", "beyond"), ("cf-gnn-explainer", "faithful"), ("cf-gnn-explainer", "released"), WITHOUT_LEARNING,
    ("exhaustive", "search"),
)  # fmt: skip


THREE = ["correctness", "ged_on_success", "explain_calls"]


def three_numbers(means: Iterable[float]) -> str:
    """The means of `THREE`, as "0.98 (2.14; 19.6)"."""
    return "{:.2f} ({:.2f}; {:.1f})".format(*means)


def elsewhere(table: str, results: Results) -> str:
    """Correctness, GED and calls of a few rows on the tasks of a stored table: unseen problems, or nodes."""
    means = stored(results, table, as_text=False).set_index(["task", "method", "variant", "metric"])["mean"]
    names = list(dict.fromkeys(means.index.get_level_values("task")))
    shown = [row for row in ELSEWHERE if any((name, *row, "correctness") in means.index for name in names)]
    lines = []
    for name in names:
        found = [[means.get((name, *row, metric)) for metric in THREE] for row in shown]
        texts = [ABSENT if None in found_ else three_numbers(found_) for found_ in found]
        lines.append(cells(tasks.label(name), *texts))
    headings = ["Correctness (GED on success; calls to explain)", *(row_label(*row) for row in shown)]
    return _pipes(headings, lines)


def fewest_edits(results: Results) -> str:
    """How many graphs of the small unseen problems each row explains with as few edits as there are."""
    table = stored(results, "unseen", as_text=False).set_index(["task", "method", "variant", "metric"])
    lines = []
    for (task, method, variant), own in table.groupby(level=[0, 1, 2], sort=False):
        own = own.droplevel([0, 1, 2])
        if "at_optimum" in own.index and method != "exhaustive":
            known = own.loc["at_optimum"]
            texts = [f"{known['mean']:.2f}", f"{own.loc['optimality_gap', 'mean']:.2f}", f"{known['n']:.0f}"]
            lines.append(cells(tasks.label(task), row_label(method, variant), *texts))
    return _pipes(["On", "Row", "As few as there are", "Edits / fewest", "Graphs"], lines)


OF_STREAMS = {
    "correctness": "Correctness", "correctness_class_0": "of trees", "correctness_class_1": "of cyclic graphs",
    "ged": "GED", "fit_calls": "questions to learn", "explain_calls": "to explain a graph",
}  # fmt: skip


def streams(results: Results) -> str:
    """What each row finds in the streams, all snapshots together; nothing where they are not stored."""
    table = results.table("streams")
    if table is None:
        return ""
    table = table[table["snapshot"].isna()].set_index(["task", "method", "variant", "metric"])["mean"]
    lines = [
        cells(
            tasks.label(task), row_label(method, variant), *(f"{own[task, method, variant, m]:.2f}" for m in OF_STREAMS)
        )
        for (task, method, variant), own in table.groupby(level=[0, 1, 2], sort=False)
    ]
    return _pipes(["Stream", "Row", *OF_STREAMS.values()], lines)


OF_DRUG_TARGET = {
    "macda": "MACDA, best that it tried", "macda-policy": "MACDA, what its policies end with",
    "random": "random, as many joint actions as MACDA tried", "random-episodes": "random, as many as it had episodes",
    "by-sides": "lowest by each side alone", "alternating": "one side, then the other, …", "enumeration": "every one",
}  # fmt: skip


def drug_target(results: Results) -> str:
    """What MACDA and its controls find on drug-target pairs, by the targets' length; nothing if that is not stored."""
    table = results.table("drug_target")
    if table is None:
        return ""
    lines = []
    for residues, own in table.groupby("residues"):
        about = f"{residues} residues, {own['joint_actions'].median():.0f} joint actions"
        for method, label in OF_DRUG_TARGET.items():
            rows = own[own["method"] == method]
            found = f"{(rows['rank'] == 1).sum()} of {len(rows)}"
            texts = [f"{rows['evaluations'].mean():.0f}", f"{rows['share'].mean():.3f}", f"{rows['rank'].median():.0f}"]
            texts += [f"{rows[name].mean():.3f}" for name in ("joint", "change", "drug_similarity", "qed")]
            lines.append(cells(about, label, *texts[:2], found, *texts[2:]))
    return _pipes(
        ["Target", "Search", "Evaluations", "Share", "Best found", "Rank", "Joint", "Δ affinity", "Similarity", "QED"],
        lines,
    )


FEW_CLASSES = 4  # are named; of more, how many there are


def known_tasks(results: Results) -> str:
    """Every task of the registry: what it is called and typed, its data set, its oracle and its classes."""
    lines = []
    for entry in (entry for entry in tasks.TASKS if not entry.task):
        data, oracle = (f"`{where.partition(':')[2]}`" for where in (entry.dataset, entry.oracle))
        classes = " / ".join(entry.class_names) if len(entry.class_names) <= FEW_CLASSES else len(entry.class_names)
        lines.append(cells(entry.label, f"`{entry.name}`", data, oracle, classes))
    return _pipes(["Task", "Typed as", "Data set", "Oracle", "Classes"], lines)


def data_sets(results: Results) -> str:
    """The statistics of the data sets, printed beside measured."""
    parts = []
    for sheet in measurements.datasets(results, everything=True):
        parts += [sheet.caption, pipes(sheet), "\n".join(f"- {note}" for note in sheet.notes)]
    return "\n\n".join(filter(None, parts))


TAUGHT = ("rsgg-ce-certified", "beyond")
RANKED = (TAUGHT, ("rsgg-ce-nodes", "beyond"))  # the second one edits nodes too
RIVALS = (("two-sided-min", "search"), ("obs-min", "search"), ("dce-min", "search"))  # searches without a network
NOT_RIVALS = ("dce", "two-sided-min-feasible")  # not minimal; keeps rules that no other search keeps
FEW_TASKS = 4  # are named


def _named(names: Sequence[str]) -> str:
    """How many tasks these are, and which if they are few."""
    labels = [tasks.label(name) for name in names]
    return f"{len(labels)} ({'; '.join(labels)})" if 0 < len(labels) <= FEW_TASKS else str(len(labels))


def _wide(table: pd.DataFrame, *metrics: str) -> dict[str, pd.DataFrame]:
    """Of each task of `table2.csv` the means of these metrics, a line per row."""
    own = table[table["metric"].isin(metrics)]
    means = own.pivot_table("mean", ["task", "method", "variant"], "metric", sort=False)
    means = means.reindex(columns=list(metrics))
    return {task: means.loc[task] for task in dict.fromkeys(own["task"])}


def _best_search(means: pd.DataFrame) -> pd.Series:
    """Of a task's rows, the search that explains the largest share of graphs, among equals with the fewest edits."""
    names, variants = (means.index.get_level_values(level) for level in (0, 1))
    rivals = means[(variants == "search") & ~names.isin(NOT_RIVALS)]
    return rivals.sort_values(["correctness", "ged_on_success"], ascending=[False, True]).iloc[0]


def _paid_back(own: pd.Series, best: pd.Series) -> int | None:
    return paid_back(own["fit_calls"], own["explain_calls"], best["explain_calls"])


def real_data_in_short(results: Results) -> str:
    """Where learning pays on real data, where search without it wins, and who finds adversarial examples; in words."""
    table, kinds = results.table("table2"), results.table("table2_kinds")
    if table is None or kinds is None:
        return NOT_YET
    means = table.set_index(["method", "variant", "metric", "task"])["mean"].sort_index()
    found = kinds.set_index(["method", "variant", "task"])["finds"].sort_index()

    def fewer(metric: str, rival: tuple[str, str]) -> int:
        own, other = means[(*TAUGHT, metric)], means[(*rival, metric)]
        return int((own < other.reindex(own.index)).sum())

    def on(row: tuple[str, str], kind: str) -> str:
        return _named([str(task) for task, finds in found[row].items() if finds == kind])

    valid, of = means[(*TAUGHT, "correctness")], table["task"].nunique()
    beside = "; ".join(
        f"fewer edits than {methods.label(*rival)} on {fewer('ged_on_success', rival)} of {of} tasks and fewer "
        f"questions on {fewer('explain_calls', rival)}"
        for rival in RIVALS
    )
    return (
        f"{methods.label(*TAUGHT)} explains {valid.min():.2f} to {valid.max():.2f} of the graphs of a task. On average "
        f"over what each explains it needs {beside}, training apart, which {_training(table)}. By the rule on "
        f"plausibility it finds explanations on {on(TAUGHT, 'finds explanations')} tasks, adversarial examples on "
        f"{on(TAUGHT, 'finds adversarial examples')}, little on {on(TAUGHT, 'finds little')}. "
        f"{methods.label(*REAL_GRAPHS)}, which returns real graphs and changes many more pairs, finds explanations on "
        f"{on(REAL_GRAPHS, 'finds explanations')}."
    )


def _training(table: pd.DataFrame) -> str:
    """What training asks, and after how many explained graphs that is paid back, as a clause."""
    of_tasks = _wide(table, *THREE, "fit_calls")
    after = {task: _paid_back(own.loc[TAUGHT], _best_search(own)) for task, own in of_tasks.items()}
    paid = [graphs for graphs in after.values() if graphs is not None]
    never = [task for task, graphs in after.items() if graphs is None]
    asked = [own.loc[TAUGHT, "fit_calls"] for own in of_tasks.values()]
    when = [f"after {min(paid):,} to {max(paid):,} graphs on {len(paid)} tasks"] if paid else []
    when += [f"never on {_named(never)}"] if never else []
    return (
        f"asks {min(asked):,.0f} to {max(asked):,.0f} and is paid back, against the best search of a task, "
        f"{', '.join(when)}"
    )


def against_search(results: Results) -> str:
    """On each task RSGG-CE certified beside the best search without a network, what is not reached, and training.

    Of searches only the nearest data graph as it is and the search that keeps the rules of the domain are left out.
    """
    table = results.table("table2")
    if table is None:
        return NOT_YET

    def missed(row: pd.Series, best: pd.Series) -> str:
        reached = {
            "share": row["correctness"] >= best["correctness"],
            "edits": row["ged_on_success"] <= best["ged_on_success"],
            "half of the questions": 2 * row["explain_calls"] <= best["explain_calls"],
        }
        return ", ".join(what for what, met in reached.items() if not met) or "none"

    def training(row: pd.Series, best: pd.Series) -> str:
        after = _paid_back(row, best)
        return f"{row['fit_calls']:,.0f}: {'never' if after is None else f'{after:,} graphs'}"

    lines, rivals = [], {}
    of_tasks = _wide(table, *THREE, "fit_calls")
    for task, own in of_tasks.items():
        rivals[task] = best = _best_search(own)
        ours = [own.loc[row] for row in RANKED if row in own.index]
        texts = [text for row in ours for text in (three_numbers(row[THREE]), missed(row, best), training(row, best))]
        lines.append(cells(tasks.label(task), three_numbers(best[THREE]), row_label(*best.name), *texts))
    headings = ["Correctness (GED on success; calls)", "Best search", "which is"]
    for row in RANKED:
        headings += [methods.label(*row), "not reached", "training: paid back after"]
    about = (
        "The best search explains the largest share of graphs, among equals with the fewest edits. Training: the "
        "questions to fit in one fold, and how many graphs have to be explained until as many are saved against the "
        "best search (what that one asks about training graphs is not deducted); never, where none are saved."
    )
    return f"{_pipes(headings, lines)}\n\n{about}{_nearest(of_tasks, rivals)}"


def _nearest(of_tasks: dict[str, pd.DataFrame], rivals: dict[str, pd.Series]) -> str:
    """Why the nearest data graph as it is is no rival, where it is one made minimal, and where that is never caught up.

    `rivals` are the best searches.
    """
    edits = {task: own["ged_on_success"] for task, own in of_tasks.items() if REAL_GRAPHS in own.index}
    if not edits:
        return ""
    times = [own[REAL_GRAPHS] / own[TAUGHT] for own in edits.values()]
    bases = {task: methods.made_of(best.name) for task, best in rivals.items()}
    minimal = [task for task, base in bases.items() if base is not None and base.row == REAL_GRAPHS]
    said = (
        f" {methods.label(*REAL_GRAPHS)} as it is was left out: it is not minimal and takes {min(times):.0f} to "
        f"{max(times):.0f} times as many edits as {methods.label(*TAUGHT)}. Made minimal it is the best search on "
        f"{_named(minimal)} of {len(of_tasks)} tasks; its edits may be of nodes too."
    )
    never = [task for task, own in of_tasks.items() if _paid_back(own.loc[TAUGHT], rivals[task]) is None]
    if never:
        which = " or ".join(dict.fromkeys(row_label(*rivals[task].name) for task in never))
        times = [rivals[task]["ged_on_success"] / of_tasks[task].loc[TAUGHT, "ged_on_success"] for task in never]
        said += (
            f" On {_named(never)} the training of {methods.label(*TAUGHT)} is never paid back: there {which} asks "
            f"no more about a graph, and makes {min(times):.1f} to {max(times):.1f} times as many edits."
        )
    return said


UNDER_RULES = (("rsgg-ce-feasible", "beyond"), ("two-sided-min-feasible", "search"))


def under_rules(results: Results) -> str:
    """On each task of real data the rows that keep the rules of the domain, and beside them the most plausible row.

    That is the most plausible of all rows, controls left out, that explain at least the share `VALID` of the graphs.
    """
    table = results.table("table2")
    known = () if table is None else set(zip(table["method"], table["variant"], strict=True))
    if table is None or UNDER_RULES[0] not in known:
        return NOT_YET
    fewer, lines, of_data = over_fewer_rules(table), [], []

    def shown(task: str, means: pd.Series) -> tuple[str, str, str]:
        sign = NOT_SANITISED if (task, *means.name) in fewer else ""
        return three_numbers(means[THREE]), f"{means['plausibility']:.2f}", f"{means['feasible']:.2f}{sign}"

    for task, own in _wide(table, *THREE, "plausibility", "feasible").items():
        texts = [
            text for row in UNDER_RULES for text in (shown(task, own.loc[row]) if row in own.index else (ABSENT,) * 3)
        ]
        best = own[(own.index.get_level_values("variant") != "control") & (own["correctness"] >= VALID)]
        best = best.sort_values("plausibility", ascending=False).iloc[0]
        of_data += [task] if best.name == REAL_GRAPHS else []
        line = (tasks.label(task), *texts, row_label(*best.name), *shown(task, best))
        lines.append(cells(*(text.replace("nan", ABSENT) for text in line)))
    headings = ["Correctness (GED on success; calls)"]
    for name in (*(methods.label(*row) for row in UNDER_RULES), ""):
        headings += [*(["Most plausible row"] if not name else []), name or "its numbers", "plausible", "feasible"]
    notes = [f"On {_named(of_data)} of {len(lines)} tasks that is {row_label(*REAL_GRAPHS)}, {ABOUT_REAL_GRAPHS}"]
    notes = [*(notes if of_data else []), *([FEWER_RULES] if fewer else [])]
    return "\n\n".join([_pipes(headings, lines), *([" ".join(notes)] if notes else [])])


MOTIF_ROWS = (
    *RANKED, ("rsgg-ce-feasible", "beyond"), ("rcexplainer", "faithful"), ("cf2", "faithful"), ("obs", "search"),
    WITHOUT_LEARNING, REAL_GRAPHS, ("one-removal", "control"), ("empty", "control"),
)  # fmt: skip
MOTIF = ["motif_precision", "motif_recall"]


def motifs(results: Results) -> str:
    """How much of the edges that rows remove is of the motif which makes the class, and how much of it they remove."""
    table = results.table("table2")
    known = set() if table is None else set(table.loc[table["metric"].isin(MOTIF), "task"])
    if table is None or not known:
        return NOT_YET
    of_tasks = {task: own for task, own in _wide(table, "correctness", *MOTIF).items() if task in known}
    lines, best = [], []
    for row in MOTIF_ROWS:
        found = [own.loc[row, MOTIF] if row in own.index else pd.Series() for own in of_tasks.values()]
        texts = [
            " / ".join(number(value, 2) for value in values) if values.notna().any() else ABSENT for values in found
        ]
        lines.append([_name(*row), *cells(*texts)])
    for task, own in of_tasks.items():
        own = own[(own.index.get_level_values("variant") != "control") & (own["correctness"] >= VALID)]
        most = own["motif_precision"].round(2).max()
        which = " · ".join(row_label(*row) for row in own.index[own["motif_precision"].round(2) == most])
        best.append(f"on {tasks.label(task)} {most:.2f} ({which})")
    about = (
        "Precision / recall, over graphs that a row explains; precision where it removes an edge. The highest "
        f"precision of rows, controls aside, that explain at least {VALID} of the graphs: {'; '.join(best)}."
    )
    return f"{_pipes(['Removed edges of the motif', *map(tasks.label, of_tasks)], lines)}\n\n{about}"


def printed_nodes(results: Results) -> str:
    """A line for each number of CF-GNNExplainer's table and each row that it is held against, as far as measured."""
    table = results.table("nodes_printed", as_text=True)
    if table is None:
        return NOT_YET
    lines = []
    for line in table[table["mean"] != ""].to_dict("records"):
        mean, low, high = (number(line[name], 3) for name in ("mean", "pi_low", "pi_high"))
        interval = f"[{low}, {high}]" if low != high else ""
        ours = Cell(mean, "", line["verdict"], "", interval)
        worth = cells(*(line[name] for name in ("verdict", "kind", "can_fail")))
        where = cells(tasks.label(line["measured_on"]), line["metric"])
        lines.append([*where, _name(line["method"], line["variant"]), Cell(line["printed"], "printed"), ours, *worth])
    headings = ["On", "Metric", "Row", "Printed", "Measured [95 % prediction]", "Verdict", "Kind", "Could fail"]
    return _pipes(headings, lines)


def varied(studies: str, heading: str, results: Results) -> str:
    """What variations do to Correctness and to the GED of what is found, in all studies whose names begin like this."""
    table = results.table("variations", as_text=False)
    own = None if table is None else table[table["study"].str.startswith(studies)]
    if own is None or own.empty:
        return NOT_YET
    shown = own[own["metric"].isin(["correctness", "ged_on_success"])]
    lines = []
    for (study, variation), rows in shown.groupby(["study", "variation"], sort=False):
        by_metric = rows.set_index("metric")
        found, size = (number(by_metric.loc[name, "mean"], 3) for name in ("correctness", "ged_on_success"))
        matters = str(by_metric.loc["correctness", "matters"] or "")
        lines.append(cells(measurements.STUDIES[str(study)], str(variation), found, size, matters.replace("nan", "")))
    return _pipes(["Row", heading, "Correctness", "GED on success", "Correctness differs for sure"], lines)


def real_data(results: Results) -> str:
    """What the rows of Table 2 find on each task; or that the reference does not hold it yet."""
    kinds = results.table("table2_kinds")
    if kinds is None:
        return NOT_YET
    names = list(dict.fromkeys(kinds["task"]))
    found = kinds.set_index(["task", "method", "variant"])["finds"]
    rows = [row for row in methods.rows() if any((name, *row) in found.index for name in names)]
    lines = [
        [_name(*row), *cells(*(str(found.get((name, *row), ABSENT)).removeprefix("finds ") for name in names))]
        for row in rows
        if not methods.made_of(row)
    ]
    return _pipes(["Finds", *map(tasks.label, names)], lines)


def further(results: Results) -> str:
    """What other published numbers on the paper's data come to; nothing where they are not stored."""
    return "" if results.table("further") is None else statements.further(results, everything=False)[0].caption


# -- The pages ---------------------------------------------------------------------------------------------

Block = Callable[[Results], str]
BLOCKS: dict[str, Block] = {
    "summary": summary, "ten rows": ten_rows, "results": table1, "training": training, "break even": break_even,
    "search": search, "ablations": ablations, "claims": claims_in_short, "growth": growth, "searches": searches,
    "unseen": partial(elsewhere, "unseen"), "fewest edits": fewest_edits, "nodes": partial(elsewhere, "nodes"),
    "streams": streams, "drug-target pairs": drug_target,
    "real data": real_data, "real data in short": real_data_in_short, "against search": against_search,
    "under rules": under_rules, "motifs": motifs,
    "printed nodes": printed_nodes, "price of an edge": partial(varied, "price-", "Price"),
    "boundaries": partial(varied, "boundaries", "Instead of boundaries"), "tasks": known_tasks,
    "data sets": data_sets, "not reproduced": not_reproduced, "further": further, **manual_tables.BLOCKS,
}  # fmt: skip
OF_NAMES = {"rows of ": rows_of, "verdicts on ": verdicts_on}  # blocks whose name ends with what they are about
MARKED = re.compile(r"<!-- (?P<name>.+?): written by figures/prose\.py -->.*?<!-- end of (?P=name) -->", re.DOTALL)


def block(name: str) -> Block:
    """What makes the block of this name."""
    for start, about in OF_NAMES.items():
        if name.startswith(start):
            return partial(about, name.removeprefix(start))
    return BLOCKS[name]


def pages() -> list[Path]:
    """The README and every page of the manual."""
    return [README, *sorted(MANUAL.rglob("*.md"))]


def with_blocks(page: str, results: Results) -> str:
    """A page with its blocks, each between the markers of its name, as these results have them."""

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        return f"<!-- {name}: written by figures/prose.py -->\n{block(name)(results)}\n<!-- end of {name} -->"

    return MARKED.sub(written, page)


def main() -> None:
    results = Results((REFERENCE,))
    for path in pages():
        before = path.read_text(encoding="utf-8")
        if (after := with_blocks(before, results)) != before:
            write_text(path, after)


if __name__ == "__main__":
    main()
