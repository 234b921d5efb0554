"""Beyond the paper: Correctness against the number of oracle calls that may be spent on a graph.

    python figures/budget.py [--results results/reference]

Table 1 prints Correctness and Oracle Calls side by side, so a method that asks a thousand times stands beside one that
asks twice. Here a test graph counts at a budget b if its class changed and the method was done after at most b calls.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.registry.methods import Method
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

LEFT_OUT = ("rsgg-ce-multinomial", "released-untrained", "released-uniform", "identity", "optimum")
OPTIMUM = ("optimum", "control")
SAID = (("rsgg-ce", "faithful"), ("two-sided-min", "search"))  # rows whose numbers the caption gives


def draw(results: Results) -> list[Drawn]:
    """Draw Correctness against the oracle-call budget, from the ledger."""
    table = figure.table_of(results, "table1", figure.TABLE1)[0]
    tasks, rows = figure.tasks_in(table), [row for row in figure.rows_in(table, LEFT_OUT) if row[1] != "released"]
    below = [row for row in rows if row[1] in ("search", "control")]
    above = [row for row in rows if row not in below]
    drawing, axes = figure.panels(tasks, 2, 5.6, sharex=True, sharey=True)
    drawn, said = {}, []
    for column, task in zip(axes.T, tasks, strict=True):
        ledgers = {row: results.ledger(task.name, *row) for row in (*rows, OPTIMUM)}
        stored = drawn[task.name] = {row: ledger for row, ledger in ledgers.items() if len(ledger)}
        said += [_in_words(task.title, stored[row], style.look(row).label) for row in SAID if row in stored]
        for axis, part in zip(column, (above, below), strict=True):
            for row in filter(stored.__contains__, part):
                _curves(axis, stored[row], style.look(row))
            if OPTIMUM in stored:
                label = style.look(OPTIMUM).label
                axis.axhline(curve(stored[OPTIMUM])[1][-1], color="black", ls=":", lw=1, label=label, zorder=1)
        column[1].set_xlabel("oracle calls per graph (log scale)")
    axes[0, 0].set(xscale="log", xlim=(0.8, 3e4), ylim=(-0.03, 1.05))
    for axis, what in zip(axes[:, 0], ("methods that are no search", "search and controls"), strict=True):
        axis.set_ylabel(f"Correctness: {what}")
    _legends(axes)
    figure.heading(drawing, "What a budget of oracle calls buys", results)
    missing = tuple(figure.absent([*rows, OPTIMUM], drawn))
    return [Drawn("budget", drawing, figure.caption(CAPTIONS["budget"], *said), missing=missing)]


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


def _curves(axis: Axes, ledger: pd.DataFrame, look: Method) -> None:
    """A step at each budget that some graph needed, on to the right edge; where fitting asks, once more with it."""
    learns = look.variant not in ("search", "control") and bool((ledger["fit_calls"] > 0).any())
    for with_fit in (False, True) if learns else (False,):
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
    """One legend beside each row of panels, of whatever is drawn in any of them."""
    fitting = style.handle("dashed: calls of fitting\nshared out over test graphs", style.GREY, "--")
    for row, further in zip(axes, ([fitting], []), strict=True):
        if handles := style.drawn_in(row):
            row[-1].legend(handles=[*handles, *further], loc="center left", bbox_to_anchor=(1.02, 0.5), fontsize=6.5)


if __name__ == "__main__":
    figure.script("budget", draw)
