"""The first picture of the README: Correctness against GED, what Table 1 prints beside what each method really does.

    python figures/tradeoff.py [--results results/reference]

Drawn from `table1.csv` alone; rows that are missing there are missing in the picture, and the title says from where.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import matplotlib.pyplot as plt
import pandas as pd
import typer
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import style

ROOT = Path(__file__).resolve().parent.parent
REFERENCE, PAPER = ROOT / "results" / "reference", ROOT / "results" / "paper"
TITLES = {"tree-cycles": "Tree-Cycles (28 nodes)", "asd": "ASD (116 brain regions)"}
PRINTED = {"meg": "MEG", "cf2": "CF²", "clear": "CLEAR", "g-countergan": "G-CounteRGAN", "rsgg-ce": "RSGG-CE"}
LABELS = {  # where a printed row's name stands: offset in points, horizontal and vertical alignment
    "meg": ((0, 7), "center", "bottom"),
    "cf2": ((-7, -3), "right", "center"),
    "clear": ((0, 7), "center", "bottom"),
    "g-countergan": ((0, -8), "center", "top"),
    "rsgg-ce": ((0, -8), "center", "top"),
}
COLOURS = {
    "meg": style.PINK,
    "cf2": style.GREEN,
    "clear": style.SKY,
    "g-countergan": style.ORANGE,
    "rsgg-ce": style.BLUE,
}
ON_32 = {"meg": " (32 nodes)"}
REFERENCES = (  # method, variant, label, colour, marker
    ("two-sided-min", "search", "random order + minimiser", style.GREY, "^"),
    ("optimum", "control", "optimum", "black", "*"),
)
LABELS_ON_ASD = {**LABELS, "g-countergan": ((0, -19), "center", "top")}  # below CF², which is near it there
SHOWN = (
    *((m, "released", f"{name}, as released{ON_32.get(m, '')}", COLOURS[m], "s") for m, name in PRINTED.items()),
    *((m, "faithful", f"{name}, faithful", COLOURS[m], "o") for m, name in PRINTED.items()),
    *REFERENCES,
)


def draw(table: pd.DataFrame, paper: pd.DataFrame, source: str) -> Figure:
    """One panel per data set: hollow circles are printed, filled marks are measured, bars are 95 % intervals."""
    style.use()
    figure, axes = plt.subplots(1, 2, figsize=(style.PAGE, 3.3), sharey=True)
    for axis, (dataset, title) in zip(axes, TITLES.items(), strict=True):
        _printed_rows(axis, paper[paper["dataset"] == dataset], LABELS_ON_ASD if dataset == "asd" else LABELS)
        _measured_rows(axis, _of(table, dataset))
        axis.set(xscale="log", xlabel="GED, mean over all test graphs (log scale)", title=title, ylim=(-0.03, 1.05))
        axis.margins(x=0.16)
        axis.xaxis.set_minor_formatter("")
    axes[0].set_ylabel("Correctness")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=6.5)
    figure.suptitle(f"Few edits to the left, valid counterfactuals at the top (from {source})", fontsize=8)
    return figure


def _of(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The rows of a data set; the released MEG on Tree-Cycles as it ran for the printed row, on 32 nodes."""
    released = (table["method"] == "meg") & (table["variant"] == "released")
    on_32 = released & (table["dataset"] == "tree-cycles-32") & (dataset == "tree-cycles")
    return table[on_32 | (~released & (table["dataset"] == dataset))]


def _printed_rows(axis: Axes, paper: pd.DataFrame, labels: dict[str, tuple[tuple[int, int], str, str]]) -> None:
    values = paper.pivot(index="method", columns="metric", values="value").apply(pd.to_numeric, errors="coerce")
    for method, name in PRINTED.items():
        if method not in values.index or values.loc[method, ["ged", "correctness"]].isna().any():
            continue
        x, y = values.loc[method, "ged"], values.loc[method, "correctness"]
        label = "printed in the paper's Table 1" if method == "rsgg-ce" else None
        axis.plot(x, y, "o", mfc="none", mec=style.RED, ms=8, label=label, zorder=2)
        offset, ha, va = labels[method]
        axis.annotate(
            name, (x, y), xytext=offset, textcoords="offset points", ha=ha, va=va, fontsize=6.5, color=style.RED
        )  # fmt: skip


def _measured_rows(axis: Axes, table: pd.DataFrame) -> None:
    for method, variant, label, colour, marker in SHOWN:
        rows = table[(table["method"] == method) & (table["variant"] == variant)].set_index("metric")
        if {"ged", "correctness"} <= set(rows.index):
            x, y = rows.loc["ged"], rows.loc["correctness"]
            axis.errorbar(
                x["mean"], y["mean"], fmt=marker, color=colour, ms=5 if marker == "s" else 6, elinewidth=1,
                label=label, zorder=3, xerr=[[x["mean"] - x["ci_low"]], [x["ci_high"] - x["mean"]]],
                yerr=[[y["mean"] - y["ci_low"]], [y["ci_high"] - y["mean"]]],
            )  # fmt: skip


def main(
    results: Annotated[Path, typer.Option(help="Folder that holds table1.csv.")] = REFERENCE,
    out: Annotated[Path | None, typer.Option(help="Folder for the figure. [default: <results>/figures]")] = None,
) -> None:
    """Draw Correctness against GED from a stored Table 1."""
    if not (results / "table1.csv").exists():
        typer.echo(f"{results} holds no table1.csv; ./reproduce.sh table1 computes it.", err=True)
        raise typer.Exit(2)
    table, paper = pd.read_csv(results / "table1.csv"), pd.read_csv(PAPER / "table1.csv")
    source = results.resolve().relative_to(ROOT) if results.resolve().is_relative_to(ROOT) else results
    for path in style.save(draw(table, paper, f"{source}/table1.csv"), out or results / "figures", "tradeoff"):
        typer.echo(path)


if __name__ == "__main__":
    typer.run(main)
