"""Convergence (appendix): the losses of 𝔻 and 𝔾 over the epochs, and what losses do not show of a mode collapse.

    python figures/convergence.py [--results results/reference]

A thin line for each of ten fits, from the training curves in the ledgers, and their median; where there is no ledger,
the mean of `convergence.csv`. The limits and the words of the captions come from `convergence_checks.csv`. A figure of
losses per data set; the third shows what was sampled during training: flip rate, edits, diversity and the spread of the
removal scores.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from benchmarks.registry import methods
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.reader import Results
from figures import figure, style
from figures.figure import CAPTIONS, Drawn

COLUMNS = "dataset method variant class epoch metric mean se seeds"
CHECK_COLUMNS = "dataset method variant class check limit passed"
VARIANTS = {variant: methods.variant_label("rsgg-ce", variant) for variant in ("faithful", "released")}
LOSSES = {"discriminator_loss": ("loss of 𝔻", style.ORANGE, "--"), "generator_loss": ("loss of 𝔾", style.BLUE, "-")}
LOSS_OF_A_COIN = math.log(2)  # binary cross-entropy of a discriminator that says 1/2 to everything
SAMPLED = {  # metric: label, and the check whose limit is drawn
    "flip_rate": ("share that flips Φ", "flips"),
    "edits": ("edits", "edits"),
    "diversity": ("diversity, pairs", "diversity"),
    "score_spread": ("score spread", ""),
}
FLOORS = {"edits": 0.5, "diversity": 0.03}
POINTS = 100  # windows of a curve, at most
CLASS_COLOURS = (style.ORANGE, style.BLUE)
CURVES = {"faithful": "-", "beyond": "--"}
CHECKED = {
    "discriminator_decreases": "𝔻's loss keeps falling",
    "generator_decreases": "𝔾's loss keeps falling",
    "same_region": "both end in the same region",
}
COLLAPSE = {"flips": "flips", "diversity": "diversity", "edits": "edits"}


def draw(results: Results) -> list[Drawn]:
    """Draw training losses and signs of mode collapse, from convergence.csv."""
    (curves, absent), (checks, unchecked) = (
        figure.table_of(results, name, columns, "convergence")
        for name, columns in (("convergence", COLUMNS), ("convergence_checks", CHECK_COLUMNS))
    )
    curves, checks = (table[table["method"] == "rsgg-ce"] for table in (curves, checks))
    tasks, absent, drawn = figure.tasks_in(curves), absent or unchecked, []
    for task in tasks:
        words = figure.caption(
            CAPTIONS["convergence_losses"].format(title=task.label), *seen(checks, task, CHECKED, VARIANTS)
        )
        gaps = _absent(curves, task, VARIANTS, LOSSES)
        place = "Figure: Loss trend over the epochs" if task.name == "tree-cycles" else ""
        name = f"convergence_{task.name.replace('-', '_')}"
        drawn.append(Drawn(name, _losses(fits(results, curves, task, VARIANTS), task), words, place, (*absent, *gaps)))
    words = figure.caption(
        CAPTIONS["convergence_samples"], *(line for task in tasks for line in seen(checks, task, COLLAPSE, CURVES))
    )
    gaps = [gap for task in tasks for gap in _absent(curves, task, CURVES, SAMPLED)] + figure.without_panel(tasks)
    sampled = {task: fits(results, curves, task, CURVES) for task in tasks}
    drawn.append(Drawn("convergence_samples", _samples(sampled, checks), words, "", (*absent, *gaps)))
    shown = [*(task.label for task in tasks), "Both data sets" if len(tasks) == 2 else "All data sets"]
    for one, what in zip(drawn, shown, strict=True):
        line = f"{what}. Thin: single fits; thick: their median."
        figure.small_print(one.figure, line, results.path("convergence"))
    return drawn


# -- Panels --------------------------------------------------------------------------------------------------------


def fits(results: Results, means: pd.DataFrame, task: TaskEntry, variants: Collection[str]) -> pd.DataFrame:
    """Training curves of single fits: variant, fold, class, epoch and a column per metric, in `POINTS` windows.

    Of a variant without ledgers the mean of `convergence.csv` stands for all of its fits, as one.
    """
    found = []
    for variant in variants:
        own = results.training(task.name, "rsgg-ce", variant)
        if own.empty:
            mean = figure.only(means, dataset=task.name, variant=variant)
            own = mean.pivot_table(index=["class", "epoch"], columns="metric", values="mean").reset_index()
            own["fold"] = 0
        elif len(own):
            width = math.ceil((own["epoch"].max() + 1) / POINTS)
            own = own.assign(epoch=own["epoch"] // width * width + (width - 1) / 2)
            own = own.groupby(["fold", "class", "epoch"], as_index=False).mean(numeric_only=True)
        found.append(own.assign(variant=variant))
    return pd.concat(found, ignore_index=True)


def of(fits: pd.DataFrame, variant: str, c: int, metric: str) -> pd.DataFrame:
    """One metric by epoch (lines) and fit (columns)."""
    if metric not in fits:
        return pd.DataFrame()
    return figure.only(fits, variant=variant, **{"class": c}).pivot(index="epoch", columns="fold", values=metric)


def _losses(fits: pd.DataFrame, task: TaskEntry) -> Figure:
    drawing, axes = style.column(["ab", "cd"], 3.8, 0.12)
    for pair, (variant, how) in zip(("ab", "cd"), VARIANTS.items(), strict=True):
        for c, panel in enumerate(pair):
            axis = axes[panel]
            for metric, (label, colour, line) in LOSSES.items():
                _curve(axis, of(fits, variant, c, metric), colour, line, label)
            axis.axhline(LOSS_OF_A_COIN, color="black", ls=":", lw=0.8)
            style.panel_title(axis, f"({panel}) {task.class_name(c)}", 6)
            _scale(axis)
            axis.set_xlabel("epoch" if panel in "cd" else "")
        axes[pair[0]].set_ylabel(f"loss, {how}")
    handles = [style.handle(*loss) for loss in LOSSES.values()]
    style.legend_panel(axes["legend"], [*handles, style.handle("ln 2, a coin", "black", ":", lw=0.8)], ncols=3)
    return drawing


def _curve(axis: Axes, by_fit: pd.DataFrame, colour: str, dashes: str, label: str = "", single: bool = True) -> None:
    """A thin line per fit, if `single`, and the median over fits."""
    if by_fit.empty or by_fit.isna().all(axis=None):
        return
    if single:
        axis.plot(by_fit.index, by_fit, color=colour, lw=0.4, alpha=0.35)
    above = 2.1 + (dashes != "-") / 10  # a dashed line lies on a solid one, so that both are seen where they coincide
    axis.plot(by_fit.index, by_fit.median(axis=1), color=colour, ls=dashes, lw=1.3, label=label, zorder=above)


def _scale(axis: Axes) -> None:
    """As far as the panel's own losses go: linear, and where they exceed 1, logarithmic above it (it says so)."""
    top = 1.15 * max(float(np.nanmax(np.asarray(line.get_ydata(), float))) for line in axis.lines)
    axis.set_ylim(-0.04, top)
    if top > 1.5:
        axis.set_yscale("symlog", linthresh=1, linscale=1)
        ticks = [tick for tick in (0, 0.5, 1, 2, 5, 10, 20, 50, 100) if tick <= top]
        axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        axis.set_title("symlog", fontsize=5.5, loc="right", color=style.GREY)


def _samples(sampled: Mapping[TaskEntry, pd.DataFrame], checks: pd.DataFrame) -> Figure:
    size = (style.COLUMN * max(1.0, len(sampled) / 2), 5.8)
    drawing, axes = plt.subplots(len(SAMPLED), len(sampled), figsize=size, sharex="col", squeeze=False)
    for column, (task, fits) in enumerate(sampled.items()):
        for axis, (metric, (label, check)) in zip(axes[:, column], SAMPLED.items(), strict=True):
            for variant, dashes in CURVES.items():
                for c, colour in enumerate(CLASS_COLOURS):
                    _curve(axis, of(fits, variant, c, metric), colour, dashes, single=variant == "faithful")
            for limit in figure.only(checks, dataset=task.name, check=check)["limit"].dropna().unique():
                axis.axhline(limit, color="black", ls=":", lw=0.8)
            _from_zero(axis, metric)
            axis.tick_params(labelsize=6, labelbottom=metric == "score_spread")
            if column == 0:
                axis.set_ylabel(label, fontsize=6)
        axes[0, column].set_title(task.label, fontsize=7)
        axes[3, column].set_xlabel("epoch", fontsize=7)
    classes = [" / ".join(task.class_name(c) for task in sampled) for c in range(len(CLASS_COLOURS))]
    handles = [style.handle(name, colour, "-") for name, colour in zip(classes, CLASS_COLOURS, strict=True)]
    handles.append(style.handle("limit of a collapse", "black", ":", lw=0.8))
    style.legend_below(drawing, [*handles, *_of_variants()], 2)
    return drawing


def _of_variants() -> list[Line2D]:
    labels = {variant: methods.label("rsgg-ce", variant).removeprefix("RSGG-CE, ") for variant in CURVES}
    return [style.handle(labels[variant], style.GREY, line) for variant, line in CURVES.items()]


def _from_zero(axis: Axes, metric: str) -> None:
    if metric == "flip_rate":
        axis.set_ylim(-0.03, 1.03)
    elif metric in FLOORS:  # a generator that edits nothing has no place on a log scale
        axis.set_yscale("log", nonpositive="clip")
        axis.set_ylim(bottom=FLOORS[metric])
    else:
        axis.set_ylim(bottom=0)


# -- Words ---------------------------------------------------------------------------------------------------------


def seen(checks: pd.DataFrame, task: TaskEntry, names: Mapping[str, str], variants: Collection[str]) -> list[str]:
    """In how many fits (ten seeds, both classes counted) each check passes, a sentence per variant."""
    said = []
    for variant in variants:
        own = figure.only(checks, dataset=task.name, variant=variant)
        judged = own[own["passed"].isin(("yes", "no"))].groupby("check")["passed"].agg(list)
        parts = [
            f"{words} in {judged[check].count('yes')} of {len(judged[check])}"
            for check, words in names.items()
            if check in judged
        ]
        label = methods.label("rsgg-ce", variant)
        said += [f"{task.label}, {label}, fits that pass: {', '.join(parts)}."] if parts else []
    return said


def _absent(curves: pd.DataFrame, task: TaskEntry, variants: Collection[str], metrics: Collection[str]) -> list[str]:
    own = figure.only(curves, dataset=task.name).groupby("variant")["metric"].agg(set)
    lacking = [variant for variant in variants if len(curves) and not set(metrics) <= own.get(variant, set())]
    return [f"{task.label}, {methods.label('rsgg-ce', variant)}" for variant in lacking]


if __name__ == "__main__":
    figure.script("convergence", draw)
