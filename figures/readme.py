"""The blocks of the README that hold numbers, made from the reference results and written between markers.

    python figures/readme.py

Numbers in the README are computed, never typed; a test compares them with the files in `results/reference`.
"""

from __future__ import annotations

from itertools import product

import pandas as pd

from benchmarks.registry import ablations as grids
from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.files import REFERENCE, ROOT, write_text
from benchmarks.results.paper import paper_table, printed
from benchmarks.results.reader import Results
from figures.tables.numbers import PREDICTION, cells, stored
from figures.tables.sheet import Cell, Group, Sheet, pipes
from figures.tables.statements import headline

README = ROOT / "README.md"
COLUMNS = {  # metric: decimals
    "correctness": 3, "correctness_class_0": 2, "correctness_class_1": 2, "ged": 2, "ged_on_success": 2,
    "explain_calls": 1,
}  # fmt: skip
LEFT_OUT = frozenset(  # rows that the README has no room for
    {"rsgg-ce-multinomial", "released-untrained", "released-uniform", "random-min", "two-sided", "complete", "identity"}
)


def _pipes(headings: list[str], rows: list[list[Cell]]) -> str:
    return pipes(Sheet("", "", headings, [Group("", rows)]))


def _name(method: str, variant: str) -> Cell:
    """What a row is called; methods as their papers define them stand out."""
    return Cell(methods.label(method, variant), "main" if variant == "faithful" else "")


# -- Table 1 ---------------------------------------------------------------------------------------------


def table1(results: Results) -> str:
    """What became of the printed numbers, a table per data set of the paper, and the findings."""
    table = stored(results, "table1", as_text=False)
    means = table.set_index(["dataset", "method", "variant", "metric"])["mean"].sort_index()
    tables = [_of_dataset(means, entry.name) for entry in tasks.of_paper()]
    return "\n\n".join([_counts(stored(results, "verdicts")), *tables, _listed(stored(results, "findings"))])


def _counts(verdicts: pd.DataFrame) -> str:
    informative, beside = headline(verdicts)
    return f"**{informative}** {beside}".strip()


def _of_dataset(means: pd.Series, dataset: str) -> str:
    rows = []
    for method in methods.PAPER:
        texts = (_printed(dataset, method, metric) for metric in COLUMNS)
        rows.append([Cell(f"{methods.label(method)}, printed", "printed"), *map(Cell, texts)])
        rows += _row(means, dataset, method, "released") + _row(means, dataset, method, "faithful")
    for method, variant in methods.rows():
        if method not in LEFT_OUT and variant not in ("released", "faithful"):
            rows += _row(means, dataset, method, variant)
    return _pipes([tasks.task(dataset).title, *(METRICS[metric].label for metric in COLUMNS)], rows)


def _printed(dataset: str, method: str, metric: str) -> str:
    """What the paper prints: a number, × where it could not be had, nothing for a metric that is not in it."""
    number = printed(dataset, method, metric)
    return number.text if number else "×" if (dataset, method, metric) in paper_table().index else ""


def _row(means: pd.Series, dataset: str, method: str, variant: str) -> list[list[Cell]]:
    """The row of a method, or none where nothing is stored of it."""
    found = {metric: means.get((dataset, method, variant, metric)) for metric in COLUMNS}
    texts = ["" if mean is None else f"{mean:.{COLUMNS[metric]}f}" for metric, mean in found.items()]
    return [[_name(method, variant), *map(Cell, texts)]] if any(texts) else []


def _listed(findings: pd.DataFrame) -> str:
    lines = [f"- {line.finding} *{str(line.verdict).capitalize()}.*" for line in findings.itertuples()]
    return "\n".join(["What a close reading of the paper found, each line computed from these results:\n", *lines])


# -- Ablations and claims --------------------------------------------------------------------------------

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


VERDICTS = {
    "holds": "hold", "holds as released only": "hold for the released code only",
    "holds as written only": "hold for the methods as written only", "does not hold": "do not hold",
    "not measured": "are not measured yet",
}  # fmt: skip


def claims(results: Results) -> str:
    """How many claims of the paper's prose hold."""
    count = stored(results, "claims")["verdict"].value_counts()
    parts = [f"{count[verdict]} {words}" for verdict, words in VERDICTS.items() if verdict in count]
    return f"Of {count.sum()} claims of the paper's prose, checked by measurement, {', '.join(parts)}."


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
        whose, seen = methods.label(line.method, line.variant), (f"{line.best_value:.3f}", f"{line.default_value:.3f}")
        winner = f"{line.winner_correctness:.3f} ({line.winner_ged:.1f})"
        default = f"{line.default_correctness:.3f} ({line.default_ged:.1f})"
        rows.append(cells(f"{whose}, {line.protocol}", line.trials, *seen, winner, default))
    return _pipes(headings, rows)


# -- The file --------------------------------------------------------------------------------------------

# -- Training ----------------------------------------------------------------------------------------------

RSGG_CE = ("rsgg-ce", "faithful")


def training(results: Results) -> str:
    """What training RSGG-CE costs in questions, how many fits collapse, and how far folds differ, in sentences."""
    table, fits = results.table("table1"), results.table("training")
    assert table is not None and fits is not None
    said = []
    for task in tasks.of_paper():
        own = table[(table["dataset"] == task.name) & (table["method"] == "rsgg-ce") & (table["variant"] == "faithful")]
        calls = own.set_index("metric").loc["fit_calls"]
        ours = fits[(fits["dataset"] == task.name) & (fits["method"] == "rsgg-ce") & (fits["variant"] == "faithful")]
        ledger = results.ledger(task.name, *RSGG_CE)
        folds = (ledger["predicted"] != ledger["predicted_cf"]).groupby(ledger["fold"]).mean()
        said.append(
            f"On {task.label}, training asks the oracle {calls['mean']:,.0f} questions per fold "
            f"({calls['mean'] * calls['folds'] / calls['n']:,.0f} per test graph); {(ours['collapsed'] != 'no').sum()} "
            f"of {len(ours)} fits collapse by the rule of `benchmarks/judging/collapse.py`; Correctness of the folds: "
            f"{', '.join(f'{value:.2f}' for value in folds)}."
        )
    return "\n".join(said)


BLOCKS = {
    "results": table1, "training": training, "ablations": ablations, "claims": claims, "growth": growth,
    "searches": searches,
}  # fmt: skip


def with_blocks(readme: str, results: Results) -> str:
    """The README with its blocks, each between the markers of its name, as these results have them."""
    for name, block in BLOCKS.items():
        begin, end = f"<!-- {name}: written by figures/readme.py -->", f"<!-- end of {name} -->"
        before, found, rest = readme.partition(begin)
        if found:
            readme = f"{before}{begin}\n{block(results)}\n{end}{rest.partition(end)[2]}"
    return readme


def main() -> None:
    write_text(README, with_blocks(README.read_text(encoding="utf-8"), Results((REFERENCE,))))


if __name__ == "__main__":
    main()
