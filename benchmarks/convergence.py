"""Convergence (appendix): the losses of discriminator and generator over the epochs, per class, and what they show.

    python benchmarks/convergence.py

The curves are those of Table 1's cells of RSGG-CE by score function, with λ > 0 and as released: ten folds of replicate
0 are ten seeds. `convergence.csv` has them as means over at most `POINTS` windows of epochs, each at its middle, with
standard error and 95 % t-interval over the seeds. `convergence_checks.csv` has a line per fit, class and check; the
paper says that both losses decrease monotonically and stabilise in the same region, and that this avoids mode collapse:

    finite                      share of the epochs whose losses are finite: all
    discriminator_decreases     Kendall's τ between epoch and loss over ten windows: at most -`MIN_TAU`, where it is
    generator_decreases         significant at 5 %; strictly monotonic would be -1
    discriminator_settles       change along a line through the last quarter of the epochs, in standard deviations of
    generator_settles           the loss there (or hundredths of the loss, if that is more): within ±`MAX_DRIFT`, or its
                                95 % interval (from ten block means) covers 0
    same_region                 the smaller of the two losses over the larger, last tenth: at least `SAME_REGION`
    papers_rule                 the paper's sign of collapse, 𝔻's loss rises while 𝔾's falls: min(τ_𝔻, -τ_𝔾) < `MIN_TAU`
    discriminator_not_saturated 𝔻's loss, last tenth: hardly above ln 2, the loss of a coin (in equilibrium it is one)
    flips, diversity, edits     losses alone do not show a collapse: the signs of `judging.collapse`, last tenth
    score_spread                deviation of the removal scores inside a graph, without a limit: a generator that turns
                                trees into cyclic graphs adds, and has no reason to tell edges apart

By score function, epoch 0 is the first in which 𝔾 learns: in the steps before, 𝔻 has learnt alone. The released
code's history holds losses only; for the rest its lines say so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.judging import collapse
from benchmarks.registry import tasks
from benchmarks.registry.rules import MAX_DRIFT, MAX_LOSS, MIN_TAU, SAME_REGION
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.plan import cells_for
from rsgg import collapse as rule
from rsgg.statistics import linear_slope

LOSSES = ("discriminator_loss", "generator_loss")
CURVE = ["dataset", "method", "variant", "class"]
COLUMNS = (
    "dataset", "method", "variant", "class", "class_name", "epoch", "metric", "mean", "se", "low", "high", "seeds"
)  # fmt: skip
CHECK_COLUMNS = ("dataset", "method", "variant", "fold", "class", "class_name", "check", "value", "limit", "passed")

POINTS = 100  # windows of a curve in convergence.csv, at most
WINDOWS = 10  # windows whose order says whether a loss falls; blocks whose means say whether it settled
NOT_STORED = "not stored"


# -- Curves --------------------------------------------------------------------------------------------------------


def adversarial(history: pd.DataFrame) -> pd.DataFrame:
    """The rows of fits with a pair of networks per class; other methods' curves are none of these."""
    if not {"class", *LOSSES} <= set(history.columns):
        return pd.DataFrame(columns=[*collapse.ROW, "epoch", *LOSSES])
    return history.dropna(subset=["class"]).astype({"class": int})


def curves(history: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS`: a line per data set, variant, class, window of epochs and metric, over the seeds."""
    lines: list[dict[str, Any]] = []
    for whose, rows in adversarial(history).groupby(CURVE, sort=False):
        named = dict(zip(CURVE, whose, strict=True))
        named["class_name"] = tasks.task(named["dataset"]).class_name(named["class"])
        width = math.ceil((rows["epoch"].max() + 1) / POINTS)
        own = rows.assign(window=rows["epoch"] // width)
        middles = own.groupby("window")["epoch"].agg(lambda epochs: (epochs.min() + epochs.max()) / 2)
        for metric in (name for name in collapse.CURVES if name in own and own[name].notna().any()):
            by_seed = own.groupby(["window", "fold"])[metric].mean().unstack()
            lines += [
                {**named, "epoch": middles[window], "metric": metric, **_over_seeds(values.dropna().to_numpy())}
                for window, values in by_seed.iterrows()
            ]
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _over_seeds(values: np.ndarray) -> dict[str, float]:
    """Mean, standard error and m ± t_{.975, n-1} · se; neither for a single seed."""
    n, mean = len(values), float(values.mean())
    se = float(values.std(ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
    half = _t_quantile(n - 1) * se if n > 1 else float("nan")
    return {"mean": mean, "se": se, "low": mean - half, "high": mean + half, "seeds": n}


@cache
def _t_quantile(degrees: int) -> float:
    return float(stats.t.ppf(0.975, degrees))


# -- Checks --------------------------------------------------------------------------------------------------------


def checks(history: pd.DataFrame, edges: pd.Series) -> pd.DataFrame:
    """`CHECK_COLUMNS`: every check on every fit and class; `edges` is the mean number of edges per data set."""
    own = adversarial(history)
    ends = {tuple(line[name] for name in collapse.ROW): line for line in collapse.judge(own, edges).to_dict("records")}
    lines: list[dict[str, Any]] = []
    for whose, rows in own.groupby(collapse.ROW, sort=False):
        named = dict(zip(collapse.ROW, whose, strict=True))
        named["class_name"] = tasks.task(named["dataset"]).class_name(named["class"])
        found = [*_of_losses(rows.sort_values("epoch")), *_of_samples(ends[whose], float(edges[named["dataset"]]))]
        lines += [
            {**named, "check": check, "value": value, "limit": limit, "passed": passed}
            for check, value, limit, passed in found
        ]
    return pd.DataFrame(lines, columns=list(CHECK_COLUMNS))


Result = tuple[str, float, float, str]  # check, value, limit, passed: yes, no, or why that cannot be said
UNKNOWN = float("nan")


def _of_losses(rows: pd.DataFrame) -> Iterator[Result]:
    losses = {name: rows[f"{name}_loss"].to_numpy(float) for name in ("discriminator", "generator")}
    finite = float(np.isfinite(list(losses.values())).all(0).mean())
    yield "finite", finite, 1.0, _yes(finite == 1)
    if finite < 1:  # nothing else can be said of such curves
        return
    trends = {name: trend(loss) for name, loss in losses.items()}
    for name, tau in trends.items():
        yield f"{name}_decreases", tau, -MIN_TAU, _yes(tau <= -MIN_TAU)
    for name, loss in losses.items():
        drift, low, high = drift_at_the_end(loss)
        yield f"{name}_settles", drift, MAX_DRIFT, _yes(abs(drift) <= MAX_DRIFT or low <= 0 <= high)
    last = {name: float(_last(loss, rule.JUDGED_SHARE).mean()) for name, loss in losses.items()}
    smaller, larger = sorted(last.values())
    share = max(smaller, 0.0) / larger if larger > 0 else 0.0
    yield "same_region", share, SAME_REGION, _yes(share >= SAME_REGION)
    opposite = min(trends["discriminator"], -trends["generator"])
    yield "papers_rule", opposite, MIN_TAU, _yes(opposite < MIN_TAU)
    yield "discriminator_not_saturated", last["discriminator"], MAX_LOSS, _yes(last["discriminator"] <= MAX_LOSS)


def _of_samples(end: Mapping[str, Any], edges: float) -> Iterator[Result]:
    """The signs of collapse in what was sampled; `end` is the fit's line of `collapse.judge`."""
    signs = rule.signs(end, edges)
    for sign in signs:
        yield sign.check, sign.value, sign.limit, _yes(sign.passed)
    if signs:
        yield "score_spread", float(end.get("score_spread", UNKNOWN)), UNKNOWN, "no limit"
    else:
        limits = {"flips": rule.MIN_FLIP_RATE, "diversity": rule.MIN_DIVERSITY, "edits": edges / 2}
        yield from ((check, UNKNOWN, limit, NOT_STORED) for check, limit in limits.items())
        yield "score_spread", UNKNOWN, UNKNOWN, NOT_STORED


def _yes(passed: bool) -> str:
    return "yes" if passed else "no"


def trend(loss: np.ndarray) -> float:
    """Kendall's τ between time and the means of ten windows: 1 always rising, -1 always falling; 0 if constant."""
    means = [part.mean() for part in np.array_split(loss, min(WINDOWS, len(loss)))]
    tau = float(stats.kendalltau(np.arange(len(means)), means).statistic)
    return 0.0 if math.isnan(tau) else tau


def drift_at_the_end(loss: np.ndarray) -> tuple[float, float, float]:
    """(drift, low, high): the change along a least-squares line through the last quarter, over the deviation there.

    The line goes through the means of ten blocks, because neighbouring epochs are not independent. A steady line gives
    ±√12, noise around a constant something near 0. A loss that hardly moves has no deviation to speak of: a hundredth
    of it is the least unit.
    """
    last = _last(loss, 0.25)
    deviation = max(float(last.std()), 0.01 * float(np.abs(last).mean()))
    if not deviation:
        return 0.0, 0.0, 0.0
    blocks = [block for block in np.array_split(np.arange(len(last)), WINDOWS) if len(block)]
    slope = linear_slope([block.mean() for block in blocks], [last[block].mean() for block in blocks])
    drift, low, high = (len(last) * value / deviation for value in slope)
    return drift, low, high


def _last(loss: np.ndarray, share: float) -> np.ndarray:
    epoch: np.ndarray = np.arange(len(loss))
    return loss[epoch >= len(loss) * (1 - share)]


class Convergence(Experiment):
    """The training curves of Table 1's cells of RSGG-CE, and what they show."""

    name = "convergence"
    shows = ("convergence_checks",)

    def plan(self, options: Any) -> list[Cell]:
        return cells_for(options, rows=["rsgg-ce"], entries=tasks.PAPER)

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        edges = done.ledger.groupby("dataset")["n_edges"].mean() if len(done.ledger) else pd.Series(dtype=float)
        files.csv("convergence.csv", curves(done.history))
        files.csv("convergence_checks.csv", checks(done.history, edges))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("convergence")
