"""The results in the README: a short table made from the stored Table 1 and written between two markers.

    python figures/readme.py

Numbers in the README are computed, never typed; a test compares them with `results/reference/table1.csv`.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
REFERENCE, PAPER, README = ROOT / "results" / "reference", ROOT / "results" / "paper", ROOT / "README.md"
BEGIN, END = "<!-- results: written by figures/readme.py -->", "<!-- end of results -->"
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


def block(table: pd.DataFrame, paper: pd.DataFrame) -> str:
    """The Markdown between the markers: for each printed method the printed, the released and the faithful row."""
    return "\n\n".join(_table(table, paper, dataset, title) for dataset, title in TITLES)


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


def with_block(readme: str, text: str) -> str:
    before, _, rest = readme.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{text}\n{END}{after}"


def main() -> None:
    table, paper = pd.read_csv(REFERENCE / "table1.csv"), pd.read_csv(PAPER / "table1.csv", dtype=str)
    README.write_text(with_block(README.read_text(encoding="utf-8"), block(table, paper)), encoding="utf-8")


if __name__ == "__main__":
    main()
