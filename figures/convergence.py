"""Convergence (appendix): the losses of 𝔻 and 𝔾 over the epochs, and what losses do not show of a mode collapse.

    python figures/convergence.py [--results results/reference]

Drawn from `convergence.csv`, means over ten seeds with the standard deviation between them, and, for the limits and the
words of the captions, from `convergence_checks.csv`. A figure of losses per data set; the third shows what was sampled
during training: flip rate, edits, diversity and the spread of the removal scores.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from figures import figure, style
from figures.figure import Drawn
from figures.results import Results, shown

CLASSES = {
    "tree-cycles": ("tree", "cyclic"),
    "asd": ("typically developed", "autistic"),
}
TITLES = {"tree-cycles": "Tree-Cycles", "asd": "ASD"}
VARIANTS = {"faithful": "as written", "released": "as released"}
LOSSES = {"discriminator_loss": ("loss of 𝔻", style.ORANGE, "--"), "generator_loss": ("loss of 𝔾", style.BLUE, "-")}
COIN = math.log(2)
SAMPLED = {  # metric: label, and the check whose limit is drawn
    "flip_rate": ("share that flips Φ", "flips"),
    "edits": ("edits", "edits"),
    "diversity": ("diversity, pairs", "diversity"),
    "score_spread": ("score spread", ""),
}
FLOORS = {"edits": 0.5, "diversity": 0.03}
CLASS_COLOURS = (style.ORANGE, style.BLUE)
CURVES = {"faithful": ("RSGG-CE", "-"), "beyond": ("RSGG-CE, λ > 0", "--")}
CHECKED = {
    "discriminator_decreases": "𝔻's loss keeps falling",
    "generator_decreases": "𝔾's loss keeps falling",
    "same_region": "both end in the same region",
}
COLLAPSE = {"flips": "flips", "diversity": "diversity", "edits": "edits"}
COMMAND = "which ./reproduce.sh convergence computes"
ABOUT_LOSSES = (
    "Losses of the discriminator 𝔻 (dashed) and the generator 𝔾 (solid) of RSGG-CE on {title}, one panel per class of "
    "the graphs to explain, trained by Eq. 4 (above) and as released (below). Lines are means over ten seeds, shades "
    "the standard deviation between seeds; above 1 the scale is logarithmic. Dotted: ln 2, what a discriminator "
    "loses that tosses a coin."
)
ABOUT_SAMPLES = (
    "Signs of mode collapse that losses do not show, during training of RSGG-CE on Tree-Cycles (left) and ASD "
    "(right): the share of sampled graphs that change the oracle's class, their edits, the pairs in which two "
    "samples of one graph differ, and the deviation of removal scores inside a graph. Colours are the classes of "
    "the graphs to explain; means over ten seeds, shaded the standard deviation; dashed with a price per edit (λ > 0). "
    "Dotted: the limits at which a generator counts as collapsed: too few flips, too little diversity, more edits than "
    "half the edges. The released code stores none of this."
)


def draw(results: Results) -> list[Drawn]:
    """Draw training losses and signs of mode collapse, from convergence.csv."""
    curves, checks = results.table("convergence"), results.table("convergence_checks")
    paths = [path for path in (results.path("convergence"), results.path("convergence_checks")) if path is not None]
    sources, absent = tuple(map(shown, paths)), []
    if curves is None:
        curves = pd.DataFrame(columns=["dataset", "method", "variant", "class", "epoch", "metric", "mean", "se"])
        absent = [f"convergence.csv, {COMMAND}"]
    if checks is None:
        checks = pd.DataFrame(columns=["dataset", "method", "variant", "class", "check", "limit", "passed"])
        absent += [] if absent else [f"convergence_checks.csv, {COMMAND}"]
    curves, checks = (table[table["method"] == "rsgg-ce"] for table in (curves, checks))
    drawn = []
    for dataset, title in TITLES.items():
        words = " ".join([ABOUT_LOSSES.format(title=title), *seen(checks, dataset, CHECKED, VARIANTS)])
        gaps = _absent(curves, dataset, VARIANTS, tuple(LOSSES)) if len(curves) else []
        place = "Figure: Loss trend over the epochs" if dataset == "tree-cycles" else ""
        name = f"convergence_{dataset.replace('-', '_')}"
        drawn.append(Drawn(name, _losses(curves, dataset), words, place, (*absent, *gaps), sources))
    words = " ".join([ABOUT_SAMPLES, *(line for data in TITLES for line in seen(checks, data, COLLAPSE, CURVES))])
    gaps = [gap for data in TITLES for gap in _absent(curves, data, CURVES, tuple(SAMPLED))] if len(curves) else []
    drawn.append(Drawn("convergence_samples", _samples(curves, checks), words, "", (*absent, *gaps), sources))
    for one in drawn:
        source = sources[0] if sources else "no file"
        style.small_print(one.figure, f"Means over seeds, shaded ± one standard deviation.\nFrom {source}.")
    return drawn


# -- Panels --------------------------------------------------------------------------------------------------------


def of(curves: pd.DataFrame, dataset: str, variant: str, c: int, metric: str) -> pd.DataFrame:
    """One curve: mean and, as `deviation`, the standard deviation between seeds, by epoch."""
    whose = (curves["dataset"] == dataset) & (curves["variant"] == variant) & (curves["class"] == c)
    own = curves[whose & (curves["metric"] == metric)].sort_values("epoch")
    seeds = own["seeds"] if "seeds" in own else pd.Series(dtype=float)
    return own.assign(deviation=(own["se"].astype(float) * np.sqrt(seeds.astype(float))).fillna(0.0))


def _losses(curves: pd.DataFrame, dataset: str) -> Figure:
    drawing, axes = plt.subplot_mosaic(
        [["a", "b"], ["c", "d"], ["legend", "legend"]], figsize=(style.COLUMN, 3.8), height_ratios=(1, 1, 0.12)
    )
    for i, (variant, how) in enumerate(VARIANTS.items()):
        for c, name in enumerate(CLASSES[dataset]):
            panel = "abcd"[2 * i + c]
            axis = axes[panel]
            for metric, (label, colour, line) in LOSSES.items():
                _curve(axis, of(curves, dataset, variant, c, metric), colour, line, label)
            axis.axhline(COIN, color="black", ls=":", lw=0.8)
            _scale(axis)
            axis.set_title(f"({panel}) {name}", fontsize=7, loc="left")
            axis.tick_params(labelsize=6, labelleft=c == 0)
        axes["ac"[i]].set_ylabel(f"loss, {how}", fontsize=6)
    for panel in "cd":
        axes[panel].set_xlabel("epoch", fontsize=7)
    handles = [Line2D([], [], color=colour, ls=line, label=label) for label, colour, line in LOSSES.values()]
    handles.append(Line2D([], [], color="black", ls=":", lw=0.8, label="ln 2, a coin"))
    axes["legend"].axis("off")
    axes["legend"].legend(handles=handles, fontsize=6, loc="center", ncols=3).set_in_layout(False)
    return drawing


def _curve(axis: Axes, line: pd.DataFrame, colour: str, dashes: str, label: str = "", shaded: bool = True) -> None:
    if line.empty:
        return
    epoch, mean, deviation = (line[name].to_numpy(float) for name in ("epoch", "mean", "deviation"))
    axis.plot(epoch, mean, color=colour, ls=dashes, lw=1.1, label=label)
    if shaded:
        axis.fill_between(epoch, np.maximum(mean - deviation, 0), mean + deviation, color=colour, alpha=0.2, lw=0)


def _scale(axis: Axes) -> None:
    """Linear up to 1, where losses settle, and logarithmic above: the released ones reach 50 and stay there."""
    axis.set_yscale("symlog", linthresh=1, linscale=1)
    ticks = [0, 0.5, 1, 2, 5, 10, 20, 50]
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.minorticks_off()
    axis.set_ylim(-0.05, 80)


def _samples(curves: pd.DataFrame, checks: pd.DataFrame) -> Figure:
    drawing, axes = plt.subplots(
        5, 2, figsize=(style.COLUMN, 5.8), sharex="col", height_ratios=(1, 1, 1, 1, 0.42), squeeze=False
    )
    for column, dataset in enumerate(TITLES):
        for axis, (metric, (label, check)) in zip(axes[:, column], SAMPLED.items(), strict=False):
            for variant, (_, dashes) in CURVES.items():
                for c, colour in enumerate(CLASS_COLOURS):
                    _curve(axis, of(curves, dataset, variant, c, metric), colour, dashes, shaded=variant == "faithful")
            for limit in _limits(checks, dataset, check):
                axis.axhline(limit, color="black", ls=":", lw=0.8)
            _from_zero(axis, metric)
            axis.tick_params(labelsize=6, labelbottom=metric == "score_spread")
            if column == 0:
                axis.set_ylabel(label, fontsize=6)
        axes[0, column].set_title(TITLES[dataset], fontsize=7)
        axes[3, column].set_xlabel("epoch", fontsize=7)
        _legend(axes[4, column], dataset)
    return drawing


def _from_zero(axis: Axes, metric: str) -> None:
    if metric == "flip_rate":
        axis.set_ylim(-0.03, 1.03)
    elif metric in FLOORS:  # a deviation that is larger than the mean has no lower end on a log scale
        axis.set_yscale("log", nonpositive="clip")
        axis.set_ylim(bottom=FLOORS[metric])
    else:
        axis.set_ylim(bottom=0)


def _limits(checks: pd.DataFrame, dataset: str, check: str) -> set[float]:
    return set(checks[(checks["dataset"] == dataset) & (checks["check"] == check)]["limit"].dropna())


def _legend(axis: Axes, dataset: str) -> None:
    axis.axis("off")
    handles = [
        Line2D([], [], color=colour, label=name) for colour, name in zip(CLASS_COLOURS, CLASSES[dataset], strict=True)
    ]
    handles += [Line2D([], [], color=style.GREY, ls=dashes, label=label) for label, dashes in CURVES.values()]
    axis.legend(handles=handles, loc="center", fontsize=6, handlelength=1.8).set_in_layout(False)


# -- Words ---------------------------------------------------------------------------------------------------------


def seen(checks: pd.DataFrame, dataset: str, names: Mapping[str, str], variants: Mapping[str, object]) -> list[str]:
    """In how many fits (ten seeds, both classes counted) each check passes, a sentence per variant."""
    said = []
    for variant in variants:
        own = checks[(checks["dataset"] == dataset) & (checks["variant"] == variant)]
        parts = []
        for check, words in names.items():
            judged = own[(own["check"] == check) & own["passed"].isin(("yes", "no"))]
            if len(judged):
                parts.append(f"{words} in {(judged['passed'] == 'yes').sum()} of {len(judged)}")
        label = style.ROWS["rsgg-ce", variant].label
        said += [f"{TITLES[dataset]}, {label}, fits that pass: {', '.join(parts)}."] if parts else []
    return said


def _absent(curves: pd.DataFrame, dataset: str, variants: Mapping[str, object], metrics: tuple[str, ...]) -> list[str]:
    lacking = []
    for variant in variants:
        own = curves[(curves["dataset"] == dataset) & (curves["variant"] == variant)]
        if not set(metrics) <= set(own["metric"]):
            lacking.append(f"{TITLES[dataset]}, {style.ROWS['rsgg-ce', variant].label}")
    return lacking


if __name__ == "__main__":
    figure.script("convergence", draw)
