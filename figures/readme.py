"""The results in the README: a short table made from the stored Table 1 and written between two markers.

    python figures/readme.py

Numbers in the README are computed, never typed; a test compares them with `results/reference/table1.csv`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
REFERENCE, PAPER, README = ROOT / "results" / "reference", ROOT / "results" / "paper", ROOT / "README.md"
COLUMNS = {  # metric: heading, decimals
    "correctness": ("Correctness", 3),
    "correctness_class_0": ("of class 0", 2),
    "correctness_class_1": ("of class 1", 2),
    "ged": ("GED", 2),
    "ged_on_success": ("GED on success", 2),
    "explain_calls": ("oracle calls to explain", 1),
}
PRINTED = {"meg": "MEG", "cf2": "CF²", "clear": "CLEAR", "g-countergan": "G-CounteRGAN", "rsgg-ce": "RSGG-CE"}
RSGG_CE = (
    ("rsgg-ce", "beyond", "RSGG-CE, λ > 0"),
    ("rsgg-ce-untrained", "control", "– untrained generator"),
    ("rsgg-ce-uniform", "control", "– no generator (uniform)"),
)
OTHERS = (
    ("obs", "search", "OBS"),
    ("ddbs", "search", "DDBS"),
    ("irand", "search", "iRand"),
    ("dce", "search", "Nearest data graph (DCE)"),
    ("two-sided-min", "search", "Random order + minimiser"),
    ("random", "control", "Random edits until a flip"),
    ("empty", "control", "Empty graph"),
    ("optimum", "control", "Optimum"),
)
TITLES = (("tree-cycles", "Tree-Cycles, 28 nodes"), ("asd", "ASD"))


def block(table: pd.DataFrame, paper: pd.DataFrame, verdicts: pd.DataFrame, findings: pd.DataFrame) -> str:
    """The Markdown between the markers: what became of the printed numbers, the tables, and the findings."""
    tables = [_table(table, paper, dataset, title) for dataset, title in TITLES]
    return "\n\n".join([_counts(verdicts), *tables, _listed(findings)])


def _counts(verdicts: pd.DataFrame) -> str:
    count = verdicts["verdict"].fillna("").value_counts()
    timed = verdicts["metric"] == "runtime"
    inside, order, differs = (int(count.get(verdict, 0)) for verdict in ("reproduced", "order holds", "differs"))
    return (
        f"**Of the {len(verdicts)} numbers that Table 1 prints, {inside} lie inside our 95 % prediction intervals "
        f"for the "
        f"released code; {order} do not, but the method keeps its rank; {differs} differ.** {timed.sum()} of them are "
        "runtimes, of which only the order can hold on another machine."
    )


def _listed(findings: pd.DataFrame) -> str:
    lines = [f"- {line.finding} *{str(line.verdict).capitalize()}.*" for line in findings.itertuples()]
    return "\n".join(["What a close reading of the paper found, each line computed from these results:\n", *lines])


def _table(table: pd.DataFrame, paper: pd.DataFrame, dataset: str, title: str) -> str:
    heads = [heading for heading, _ in COLUMNS.values()]
    lines = [f"| {title} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for method, name in PRINTED.items():
        printed = paper[(paper["dataset"] == dataset) & (paper["method"] == method)].set_index("metric")["value"]
        values = ["×" if pd.isna(printed.get(m, "")) else str(printed.get(m, "")) for m in COLUMNS]
        lines.append(f"| *{name}, printed* | {' | '.join(values)} |")
        lines += _row(table, dataset, method, "released", f"{name}, as released")
        lines += _row(table, dataset, method, "faithful", f"**{name}**")
    for method, variant, label in (*RSGG_CE, *OTHERS):
        lines += _row(table, dataset, method, variant, label)
    return "\n".join(lines)


def _row(table: pd.DataFrame, dataset: str, method: str, variant: str, label: str) -> list[str]:
    rows = table[(table.dataset == dataset) & (table.method == method) & (table.variant == variant)]
    if rows.empty:
        return []
    means = rows.set_index("metric")["mean"]
    return [f"| {label} | {' | '.join(_number(means, metric) for metric in COLUMNS)} |"]


def _number(means: pd.Series, metric: str) -> str:
    return f"{means[metric]:.{COLUMNS[metric][1]}f}" if metric in means else ""


# -- Ablations and claims ----------------------------------------------------------------------------------

CURVES = (  # rows of the ablations' table
    ("rsgg-ce", "faithful", "**RSGG-CE**"),
    ("rsgg-ce", "released", "RSGG-CE, as released"),
    ("uniform-sampler", "closed form", "*predicted for equal probabilities*"),
    ("cf2", "faithful", "**CF²**"),
    ("cf2", "released", "CF², as released"),
)
VARIED = {
    "cycle_size": ("Nodes per cycle", (3, 8, 15, 28)),
    "n_cycles": ("Cycles", (2, 4, 8, 32)),
    "n_nodes": ("Nodes", (28, 64, 128, 512)),
    "n_instances": ("Instances", (100, 500, 2000, 8000)),
}


def ablations(folder: Path = REFERENCE) -> str:
    """A table per ablation: Correctness and, in parentheses, GED, at four values of the grid."""
    tables = []
    for vary, (title, values) in VARIED.items():
        curves = pd.read_csv(folder / f"ablation_{vary}.csv").set_index(["method", "variant", "metric", "value"])[
            "mean"
        ]
        lines = [f"| {title} | {' | '.join(map(str, values))} |", "|---" * (len(values) + 1) + "|"]
        for method, variant, label in CURVES:
            cells = [_point(curves, method, variant, value) for value in values]
            lines.append(f"| {label} | {' | '.join(cells)} |")
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _point(curves: pd.Series, method: str, variant: str, value: int) -> str:
    correctness = curves.get((method, variant, "correctness", value))
    ged = curves.get((method, "monte carlo" if method == "uniform-sampler" else variant, "ged", value))
    return "" if correctness is None or ged is None else f"{correctness:.3f} ({ged:.1f})"


VERDICTS = {
    "holds": "hold",
    "holds as released only": "hold for the released code only",
    "holds as written only": "hold for the methods as written only",
    "does not hold": "do not hold",
    "not measured": "are not measured yet",
}


def claims(folder: Path = REFERENCE) -> str:
    """How many claims of the paper's prose hold."""
    count = pd.read_csv(folder / "claims.csv")["verdict"].value_counts()
    parts = [f"{count[verdict]} {words}" for verdict, words in VERDICTS.items() if verdict in count]
    return f"Of {count.sum()} claims of the paper's prose, checked by measurement, {', '.join(parts)}."


# -- Runtime and searches ----------------------------------------------------------------------------------

GROWN = {
    "inference_seconds": "CPU seconds to explain a graph", "fit_seconds": "CPU seconds to fit", "memory_mb": "memory"
}  # fmt: skip


EXPONENTS = {"n_nodes": "n", "n_instances": "m"}
NOTHING = 0.01  # seconds: a method that fits in less has nothing to fit


def growth(folder: Path = REFERENCE) -> str:
    """How RSGG-CE and CF² grow: the exponents of the largest decade with their intervals."""
    exponents, points = pd.read_csv(folder / "runtime_growth.csv"), pd.read_csv(folder / "runtime.csv")
    heads = [f"{what}, in {unit}" for unit in ("n", "instances") for what in GROWN.values()]
    lines = [f"| grows like | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for method, variant, label in (row for row in CURVES if row[0] != "uniform-sampler"):
        own, measured = (t[(t["method"] == method) & (t["variant"] == variant)] for t in (exponents, points))
        most = measured.groupby("quantity")["median"].max()
        cells = [
            _exponent(own[(own["vary"] == vary) & (own["quantity"] == quantity)], vary)
            if quantity != "fit_seconds" or most[quantity] > NOTHING
            else "–"
            for vary in EXPONENTS
            for quantity in GROWN
        ]
        lines.append(f"| {label} | {' | '.join(cells)} |")
    ours = (points["method"] == "rsgg-ce") & (points["variant"] == "faithful") & (points["vary"] == "n_nodes")
    largest = int(points.loc[ours, "value"].max())
    at = points[ours & (points["value"] == largest)].set_index("quantity")["median"]
    said = (
        f"At {largest} nodes RSGG-CE needs {at['inference_seconds']:.2f} s to explain a graph, "
        f"{at['fit_seconds'] / 60:.1f} min to fit and {at['memory_mb'] / 1024:.1f} GB."
    )
    return "\n".join([*lines, "", said])


def _exponent(lines: pd.DataFrame, vary: str) -> str:
    """n^1.02 [0.95, 1.10]; with the range that each is about where data sets of several sizes are fitted apart."""
    said = []
    for line in lines.itertuples():
        values = line.points.split(" (")[0].split()
        about = f" ({values[0]}–{values[-1]})" if len(lines) > 1 else ""
        power = f"{EXPONENTS[vary]}<sup>{line.exponent:.2f}</sup>"
        said.append(f"{power} [{line.ci_low:.2f}, {line.ci_high:.2f}]{about}")
    return ", ".join(reversed(said))


def searches(folder: Path = REFERENCE) -> str:
    """What each search for hyper-parameters found, promised and kept."""
    heads = (
        "search", "trials", "best where trials were", "our settings there", "best on unseen graphs (GED)",
        "our settings there (GED)",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for line in pd.read_csv(folder / "hpo_summary.csv").itertuples():
        name = f"{PRINTED[line.method]}{', as released' if line.variant == 'released' else ''}, {line.protocol}"
        cells = (
            name, line.trials, f"{line.best_value:.3f}", f"{line.default_value:.3f}",
            f"{line.winner_correctness:.3f} ({line.winner_ged:.1f})",
            f"{line.default_correctness:.3f} ({line.default_ged:.1f})",
        )  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


# -- The file ----------------------------------------------------------------------------------------------


def with_blocks(readme: str, blocks: dict[str, str]) -> str:
    """The README with these texts between the markers of their names."""
    for name, text in blocks.items():
        begin, end = f"<!-- {name}: written by figures/readme.py -->", f"<!-- end of {name} -->"
        before, _, rest = readme.partition(begin)
        _, _, after = rest.partition(end)
        readme = f"{before}{begin}\n{text}\n{end}{after}"
    return readme


def from_reference() -> dict[str, str]:
    """The blocks as the committed reference results have them."""
    stored = (pd.read_csv(REFERENCE / f"{name}.csv") for name in ("table1", "verdicts", "findings"))
    table, verdicts, findings = stored
    results = block(table, pd.read_csv(PAPER / "table1.csv", dtype=str), verdicts, findings)
    return {
        "results": results, "ablations": ablations(), "claims": claims(), "growth": growth(), "searches": searches()
    }  # fmt: skip


def main() -> None:
    README.write_text(with_blocks(README.read_text(encoding="utf-8"), from_reference()), encoding="utf-8")


if __name__ == "__main__":
    main()
