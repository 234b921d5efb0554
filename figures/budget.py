"""Beyond the paper: Correctness against the number of oracle calls that may be spent on a graph.

    python figures/budget.py [--results results/reference]

Table 1 prints Correctness and Oracle Calls side by side, so a method that asks a thousand times stands beside one that
asks twice. Here a test graph counts at a budget b if its class changed and the method was done after at most b calls.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from figures import figure, style
from figures.figure import Drawn
from figures.results import Results

TITLES = {"tree-cycles": "Tree-Cycles (28 nodes)", "asd": "ASD (116 brain regions)"}
LEARNT = [*((name, "faithful") for name in style.METHODS), ("rsgg-ce", "beyond")]
CONTROLS = ("rsgg-ce-untrained", "rsgg-ce-uniform", "random", "empty", "complete")
SEARCH = [row for row in style.ROWS if row[1] == "search" or row[0] in CONTROLS]
OPTIMUM = ("optimum", "control")
SAID = (("rsgg-ce", "faithful"), ("two-sided-min", "search"))  # rows whose numbers the caption gives
CAPTION = (
    "Correctness against the oracle-call budget. A test graph counts at budget b if its class changed and the method "
    "was done with it after at most b calls, the question about the input included; curves are means over folds and "
    "end, with a mark, in the Correctness of Table 1. Above: the methods as their papers define them; dashed, with a "
    "hollow mark, the same with the calls of fitting shared out over the test graphs of the fold: what is learnt in "
    "advance has to be paid for in advance, while CF² and MEG spend everything on the graph itself. Below: search "
    "methods (black) and controls (grey), which fit no model. The dotted line is the optimum, which knows the "
    "oracle's rule. A method that returns only at the end of a fixed schedule might have been stopped earlier; what "
    "it would have had by then is not known and not shown."
)


def draw(results: Results) -> list[Drawn]:
    """Draw Correctness against the oracle-call budget, from the ledger."""
    drawing, axes = plt.subplots(2, 2, figsize=(style.PAGE, 5.6), sharex=True, sharey=True)
    missing, said = [], []
    for column, (dataset, title) in zip(axes.T, TITLES.items(), strict=True):
        rows = {row: results.ledger(dataset, *row) for row in (*LEARNT, *SEARCH, OPTIMUM)}
        missing += _absent(title, rows)
        said += [_in_words(title, rows[row], style.ROWS[row].label) for row in SAID if not rows[row].empty]
        for axis, shown in zip(column, (LEARNT, SEARCH), strict=True):
            for row in shown:
                _curves(axis, rows[row], style.ROWS[row])
            if not rows[OPTIMUM].empty:
                axis.axhline(curve(rows[OPTIMUM])[1][-1], color="black", ls=":", lw=1, label="optimum", zorder=1)
        column[0].set_title(title)
        column[1].set_xlabel("oracle calls per graph (log scale)")
    axes[0, 0].set(xscale="log", xlim=(0.8, 3e4), ylim=(-0.03, 1.05))
    for axis, what in zip(axes[:, 0], ("as their papers define them", "search and controls"), strict=True):
        axis.set_ylabel(f"Correctness: {what}")
    _legends(axes)
    folders = sorted({str(Path(source).parent) for source in results.sources})
    drawing.suptitle(f"What a budget of oracle calls buys (from {', '.join(folders) or 'no file'})", fontsize=8)
    return [Drawn("budget", drawing, " ".join((CAPTION, *said)), missing=tuple(missing))]


def curve(ledger: pd.DataFrame, *, with_fit: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Budgets and the Correctness reached there: 1/F Σ_f 1/|f| Σ_{G ∈ f} [Φ(G') ≠ Φ(G) and calls(G) ≤ b].

    With `with_fit`, a graph's calls include its share of fitting, fit_calls / |f|.
    """
    rows = ledger[ledger["candidate"] == 0]
    calls = rows["calls"] + (rows["fit_calls"] / rows["test_size"] if with_fit else 0)
    weight = 1 / (rows.groupby("fold")["fold"].transform("size") * rows["fold"].nunique())
    changed = rows["predicted_cf"] != rows["predicted"]
    reached = weight[changed].groupby(calls[changed]).sum().cumsum()
    if reached.empty:
        return np.array([1.0]), np.array([0.0])
    return reached.index.to_numpy(float), reached.to_numpy(float)


def _curves(axis: Axes, ledger: pd.DataFrame, look: style.Look) -> None:
    """A step at each budget that some graph needed, on to the right edge; where fitting asks, once more with it."""
    if ledger.empty:
        return
    fitted = look.marker in "oD" and bool((ledger["fit_calls"] > 0).any())
    for with_fit in (False, True) if fitted else (False,):
        budgets, correctness = curve(ledger, with_fit=with_fit)
        axis.step(
            [budgets[0], *budgets, 1e5], [0, *correctness, correctness[-1]], where="post", color=look.colour,
            lw=1.4 if look.colour not in (style.GREY, "black") else 0.9, ls="--" if with_fit else "-", zorder=2,
        )  # fmt: skip
        axis.plot(
            budgets[-1], correctness[-1], look.marker, color=look.colour, ms=5, zorder=3,
            mfc="white" if with_fit else look.colour, label=None if with_fit else look.label,
        )  # fmt: skip


def _in_words(title: str, ledger: pd.DataFrame, name: str) -> str:
    budgets, correctness = curve(ledger)
    fitted = curve(ledger, with_fit=True)[0][-1]
    with_fit = f", {fitted:.0f} with its share of fitting" if fitted > budgets[-1] else ""
    return f"{title}: {name} reaches {correctness[-1]:.3f} with at most {budgets[-1]:.0f} calls per graph{with_fit}."


def _legends(axes: np.ndarray) -> None:
    """One legend below each row of panels, of whatever is drawn in either panel."""
    for row, with_fit in zip(axes, (True, False), strict=True):
        handles: dict[str, Artist] = {}
        for axis in row:
            handles |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
        if handles and with_fit:
            handles["dashed: calls of fitting\nshared out over test graphs"] = Line2D([], [], color=style.GREY, ls="--")
        if handles:
            row[1].legend(handles.values(), handles.keys(), loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=6.5)


def _absent(title: str, rows: dict[tuple[str, str], pd.DataFrame]) -> list[str]:
    names = [style.ROWS[row].label for row, ledger in rows.items() if ledger.empty]
    if len(names) == len(rows):
        return [f"{title}: nothing is stored"]
    return [f"{title}: {', '.join(names)}"] if names else []


if __name__ == "__main__":
    figure.script("budget", draw)
