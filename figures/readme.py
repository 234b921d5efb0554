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
    "ged": ("GED", 2),
    "ged_on_success": ("GED on success", 2),
    "explain_calls": ("oracle calls to explain", 1),
    "removal_auroc": ("AUROC of removals", 2),
}
ROWS = (
    ("rsgg-ce", "released", "RSGG-CE, released code"),
    ("rsgg-ce", "faithful", "RSGG-CE, trained by Eq. 4"),
    ("rsgg-ce", "beyond", "RSGG-CE, λ > 0"),
    ("rsgg-ce-untrained", "control", "– untrained generator"),
    ("rsgg-ce-uniform", "control", "– no generator (uniform)"),
    ("empty", "control", "Empty graph"),
    ("random", "control", "Random edits until a flip"),
    ("two-sided-min", "search", "Random order + minimiser"),
    ("optimum", "control", "Optimum"),
)


def block(table: pd.DataFrame, paper: pd.DataFrame) -> str:
    """The Markdown between the markers."""
    parts = []
    for dataset, title in (("tree-cycles", "Tree-Cycles, 28 nodes"), ("asd", "ASD")):
        heads = [heading for heading, _ in COLUMNS.values()]
        lines = [f"| {title} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
        printed = paper[(paper["dataset"] == dataset) & (paper["method"] == "rsgg-ce")].set_index("metric")["value"]
        lines.append(f"| *RSGG-CE, printed* | {' | '.join(str(printed.get(metric, '')) for metric in COLUMNS)} |")
        for method, variant, label in ROWS:
            rows = table[(table.dataset == dataset) & (table.method == method) & (table.variant == variant)]
            if len(rows):
                means = rows.set_index("metric")["mean"]
                lines.append(f"| {label} | {' | '.join(_number(means, metric) for metric in COLUMNS)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


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
