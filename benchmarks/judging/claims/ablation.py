"""Claims of Section 5.1 on the four ablations, checked on `ablation_<vary>.csv`.

What "unaffected", "rises" and "linear" mean is said in `benchmarks.registry.rules`; the tests are in `rsgg.trends`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.judging.claims.claim import LEDGER, Check, Checks, Outcome, all_of, count
from benchmarks.judging.claims.edits import operations
from benchmarks.judging.evidence import Evidence, NotMeasured
from benchmarks.judging.findings.sampler import cut_probability, lone_triangles
from benchmarks.registry.rules import (
    CORRECTNESS_TOLERANCE,
    LINE_MARGIN,
    LINE_WIDTH,
    ROUNDS_TO_ONE,
    SLIGHTLY,
    STABLE_SINCE,
    TENDS_TO_ONE,
    TOLERANCE,
    ZIGZAG,
)
from rsgg.statistics import wilson_interval
from rsgg.trends import (
    PValues,
    above,
    both,
    majority,
    negated,
    rank_trend,
    straight,
    turning_points,
    unaffected,
    within,
)

CHECKS = Checks()


@dataclass(frozen=True)
class Curve:
    """A metric of a method over an ablation's values: columns mean, se and folds."""

    name: str
    table: pd.DataFrame
    correctness: bool

    @property
    def means(self) -> pd.Series:
        return self.table["mean"]

    @property
    def margin(self) -> float:
        """How much a curve may vary and still be unaffected."""
        return CORRECTNESS_TOLERANCE if self.correctness else TOLERANCE * abs(float(self.means.mean()))

    @property
    def folds(self) -> int:
        return int(self.table["folds"].min())

    def unaffected(self, margin: float | None = None, *, rises_only: bool = False) -> PValues:
        allowed = self.margin if margin is None else margin
        return unaffected(self.means, self.table["se"], allowed, folds=self.folds, rises_only=rises_only)

    def trend(self, sign: int = 1) -> PValues:
        """Does it rise (1) or fall (-1)? Not so if it is shown to do the opposite or to be unaffected."""
        ranks = rank_trend(self.table.index, sign * self.means)
        opposite = unaffected(-sign * self.means, self.table["se"], self.margin, folds=self.folds, rises_only=True)
        return PValues(ranks.rises, min(1.0, 3 * min(ranks.falls, opposite.fails, self.unaffected().holds)))

    def at(self, *values: int) -> Curve:
        missing = [str(value) for value in values if value not in self.means.index]
        if missing:
            raise NotMeasured(f"{self.name} was not measured at {', '.join(missing)}; ./reproduce.sh ablation does")
        return Curve(self.name, self.table.loc[list(values)], self.correctness)

    def __str__(self) -> str:
        """Both ends, the lowest and the highest point, and the rank correlation."""
        means, tau = self.means, rank_trend(self.table.index, self.means).tau
        ends = " to ".join(f"{means[value]:.3g} at {value}" for value in means.index[[0, -1]])
        extremes = f"lowest {means.min():.3g} at {means.idxmin()}, highest {means.max():.3g} at {means.idxmax()}"
        return f"{self.name} {ends} ({extremes}, τ = {tau:+.2f})"


def _curve(results: Evidence, vary: str, method: str, variant: str, metric: str, name: str = "") -> Curve:
    label = name or {"ged": "GED", "correctness": "Correctness", "ged_per_node": "GED / n"}[metric]
    owner = " of CF²" if method == "cf2" else ""
    return Curve(label + owner, results.curve(vary, method, variant, metric), metric == "correctness")


def _outcome(tested: PValues, vary: str, *curves: Curve, more: str = "") -> Outcome:
    return Outcome(tested, f"{'; '.join(map(str, curves))}{more} (ablation_{vary}.csv).")


def _about(vary: str, method: str, metric: str, test: Callable[[Curve], PValues], name: str = "") -> Check:
    """The check that one curve has one property."""

    def check(results: Evidence, variant: str) -> Outcome:
        curve = _curve(results, vary, method, variant, metric, name)
        return _outcome(test(curve), vary, curve, more=f"; margin {curve.margin:.3g}" if test in UNAFFECTED else "")

    return check


def _rises(curve: Curve) -> PValues:
    return curve.trend()


def _falls(curve: Curve) -> PValues:
    return curve.trend(-1)


def _unaffected(curve: Curve) -> PValues:
    return curve.unaffected()


def _no_rise(curve: Curve) -> PValues:
    return curve.unaffected(rises_only=True)


UNAFFECTED = (_unaffected, _no_rise)
ON_SUCCESS = "GED where a counterfactual was found"

CHECKS["learns-larger-cycles"] = _about(
    "cycle_size", "rsgg-ce", "removal_auroc", _rises, "AUROC of cycle edges by removal score"
)
CHECKS["correctness-over-cycle-size"] = _about("cycle_size", "rsgg-ce", "correctness", _rises)
CHECKS["ged-over-cycle-size"] = _about("cycle_size", "rsgg-ce", "ged", _no_rise)
CHECKS["ged-on-success-over-cycle-size"] = _about("cycle_size", "rsgg-ce", "ged_on_success", _no_rise, ON_SUCCESS)
CHECKS["fewer-iterations"] = _about(
    "cycle_size", "rsgg-ce", "explain_calls", _falls, "Questions to the oracle, one per iteration that is checked,"
)
CHECKS["cf2-ged-over-cycles"] = _about("n_cycles", "cf2", "ged", _rises)
CHECKS["ged-per-node"] = _about("n_nodes", "rsgg-ce", "ged_per_node", _unaffected)
CHECKS["correctness-over-nodes"] = _about("n_nodes", "rsgg-ce", "correctness", _unaffected)
CHECKS["cf2-ged-per-node"] = _about("n_nodes", "cf2", "ged_per_node", _unaffected)


@CHECKS.of("reaches-one")
def reaches_one(results: Evidence, variant: str) -> Outcome:
    """Holds if Correctness at the largest size rounds to 1.00."""
    curve = _curve(results, "cycle_size", "rsgg-ce", variant, "correctness")
    reached = curve.means[curve.means >= ROUNDS_TO_ONE].index
    since = f"; at least {ROUNDS_TO_ONE} from {reached[0]} nodes on" if len(reached) else f"; nowhere {ROUNDS_TO_ONE}"
    return count(curve.means.iloc[-1] >= ROUNDS_TO_ONE, f"{curve}{since} (ablation_cycle_size.csv).")


@CHECKS.of("triangle")
def cutting_a_triangle(results: Evidence, variant: str) -> Outcome:
    """Holds if the share of lone triangles on Tree-Cycles that are cut is shown to be within .05 of 2/3; fails if the
    data exclude 2/3 (binomial test)."""
    rows = lone_triangles(results.rows("tree-cycles", "rsgg-ce", variant, all_replicates=True))
    cut = rows["predicted_cf"] != rows["predicted"]
    share, n = float(cut.mean()), len(cut)
    low, high = wilson_interval(int(cut.sum()), n)
    near = within(share - 2 / 3, np.sqrt(share * (1 - share) / n), CORRECTNESS_TOLERANCE)
    return Outcome(
        PValues(near.holds, float(stats.binomtest(int(cut.sum()), n, 2 / 3).pvalue)),
        f"{share:.3f} [{low:.3f}, {high:.3f}] of {n} lone triangles on Tree-Cycles are cut "
        f"({LEDGER}); uniform draws with replacement cut {cut_probability(3, 28):.3f} of them (closed form).",
    )


@CHECKS.of("single-ring")
def single_ring(results: Evidence, variant: str) -> Outcome:
    """Holds if more than half of the counterfactuals of graphs with one cycle on Tree-Cycles take one edit."""
    rows = operations(results, "tree-cycles", "rsgg-ce", variant)
    edits = (rows["added"] + rows["removed"])[(rows["predicted"] == 1) & (rows["edges"] == rows["nodes"])]
    if edits.empty:
        raise NotMeasured("no graph with one cycle was explained")
    said = f"{(edits == 1).mean():.3f} of {len(edits)} counterfactuals of graphs with one cycle take one edit"
    return Outcome(
        majority(int((edits == 1).sum()), len(edits)),
        f"{said}, the mean is {edits.mean():.2f}; one is enough for each of them ({LEDGER}).",
    )


@CHECKS.of("cf2-zigzags")
def cf2_zigzags(results: Evidence, variant: str) -> Outcome:
    """Holds if the curve turns at least at `ZIGZAG` of its inner points."""
    curve = _curve(results, "cycle_size", "cf2", variant, "correctness")
    turns, inner = turning_points(curve.means), len(curve.means) - 2
    return count(turns >= ZIGZAG * inner, f"{curve}; it turns {turns} times at {inner} inner points.")


@CHECKS.of("cf2-always-the-same")
def cf2_always_the_same(results: Evidence, variant: str) -> Outcome:
    """Holds if everything that CF² returns on Tree-Cycles is one and the same graph, the empty one."""
    rows = operations(results, "tree-cycles", "cf2", variant)
    emptied = float((rows["kept"] + rows["added"] == 0).mean())
    return count(emptied == 1, f"{emptied:.3f} of {len(rows)} returned graphs are empty ({LEDGER}).")


@CHECKS.of("cf2-standard-error")
def cf2_has_no_spread(results: Evidence, variant: str) -> Outcome:
    """Holds if it is below `LINE_WIDTH` of the axis of a plot of both methods' GED at every point."""
    tables = [results.curve("cycle_size", method, variant, "ged") for method in ("cf2", "rsgg-ce")]
    axis = max(t["mean"].max() for t in tables) - min(t["mean"].min() for t in tables)
    low, high = tables[0]["se"].min(), tables[0]["se"].max()
    said = f"It is {low:.3f} to {high:.3f}, at most {high / axis:.2%} of an axis of {axis:.1f}"
    return count(high < LINE_WIDTH * axis, f"{said} (ablation_cycle_size.csv).")


def _straight(curve: Curve) -> tuple[PValues, str]:
    """Is it a straight line, and how far it is from one."""
    span = float(np.ptp(curve.means)) or 1.0  # of a constant: any
    found = straight(curve.table.index, curve.means, curve.table["se"], LINE_MARGIN * span, folds=curve.folds)
    rival = f"best bent curve: {found.rival} (p = {found.tested.fails:.2g} against the line)"
    return found.tested, f"points lie up to {found.distance / span:.1%} of the range off a line; {rival}"


@CHECKS.of("ged-linear-in-cycles")
def ged_linear_in_cycles(results: Evidence, variant: str) -> Outcome:
    """Holds if it rises and is a straight line; failures count as 0, as in print."""
    curve, success = (
        _curve(results, "n_cycles", "rsgg-ce", variant, metric, name)
        for metric, name in (("ged", ""), ("ged_on_success", ON_SUCCESS))
    )
    line, said = _straight(curve)
    on_success = _straight(success)[1]
    return _outcome(
        both(curve.trend(), line), "n_cycles", curve, success, more=f"; GED: {said}; on success: {on_success}"
    )


@CHECKS.of("correctness-linear-in-cycles")
def correctness_linear_in_cycles(results: Evidence, variant: str) -> Outcome:
    """Holds if it is a straight line."""
    curve = _curve(results, "n_cycles", "rsgg-ce", variant, "correctness")
    line, said = _straight(curve)
    return _outcome(line, "n_cycles", curve, more=f"; {said}")


@CHECKS.of("correctness-over-cycles")
def correctness_over_cycles(results: Evidence, variant: str) -> Outcome:
    """Holds if no two points, not only the ends, differ by more than a tenth."""
    curve = _curve(results, "n_cycles", "rsgg-ce", variant, "correctness")
    return _outcome(curve.unaffected(SLIGHTLY), "n_cycles", curve, more=f"; range {np.ptp(curve.means):.3f}")


@CHECKS.of("cf2-correctness-over-cycles")
def cf2_over_cycles(results: Evidence, variant: str) -> Outcome:
    """Holds if at 2 and 16 cycles (18 is not in the grid) it is shown to differ at all, fails if by less than .05."""
    curve = _curve(results, "n_cycles", "cf2", variant, "correctness").at(2, 16)
    tested = PValues(curve.unaffected(0.0).fails, curve.unaffected().holds)
    errors = " and ".join(f"{error:.3f}" for error in curve.table["se"])
    return _outcome(tested, "n_cycles", curve, more=f"; standard errors {errors}")


@CHECKS.of("cf2-tends-to-one")
def cf2_tends_to_one(results: Evidence, variant: str) -> Outcome:
    """Holds if at the largest graphs it is shown to be within .02 of 1."""
    curve = _curve(results, "n_nodes", "cf2", variant, "ged_per_node")
    last = curve.table.iloc[-1]
    return _outcome(within(last["mean"] - 1, last["se"], TENDS_TO_ONE, degrees=curve.folds - 1), "n_nodes", curve)


@CHECKS.of("only-complexity")
def only_complexity_matters(results: Evidence, variant: str) -> Outcome:
    """Holds if Correctness is affected by the number of cycles, and neither it nor GED by nodes (per node) and
    instances."""
    cycles = _curve(results, "n_cycles", "rsgg-ce", variant, "correctness", "over cycles: Correctness")
    others = [
        _curve(results, vary, "rsgg-ce", variant, metric, f"over {vary[2:]}: {name}")
        for vary, metric, name in (
            ("n_nodes", "correctness", "Correctness"),
            ("n_nodes", "ged_per_node", "GED / n"),
            ("n_instances", "correctness", "Correctness"),
            ("n_instances", "ged", "GED"),
        )
    ]
    tested = both(negated(cycles.unaffected()), *(curve.unaffected() for curve in others))
    return Outcome(tested, f"{'; '.join(map(str, (cycles, *others)))} (ablation_<vary>.csv).")


@CHECKS.of("ged-over-instances")
def ged_over_instances(results: Evidence, variant: str) -> Outcome:
    """Holds if both are unaffected."""
    curves = [_curve(results, "n_instances", method, variant, "ged") for method in ("rsgg-ce", "cf2")]
    return _outcome(both(*(curve.unaffected() for curve in curves)), "n_instances", *curves)


def _rises_then_stays(curve: Curve) -> Outcome:
    """Does the first point lie below the mean of those from `STABLE_SINCE` on, and are these unaffected?"""
    later = Curve("", curve.table[curve.table.index >= STABLE_SINCE], curve.correctness)
    first, level = curve.table.iloc[0], float(later.means.mean())
    error = float(np.hypot(first["se"], np.linalg.norm(later.table["se"]) / len(later.means)))
    rises = above(level - first["mean"], error, curve.margin, degrees=curve.folds - 1)
    said = f"{curve.name} {first['mean']:.3f} (standard error {first['se']:.3f}) at {curve.table.index[0]} instances, "
    return Outcome(both(rises, later.unaffected()), f"{said}{level:.3f} on average from {STABLE_SINCE} on:{later}")


@CHECKS.of("correctness-over-instances")
def correctness_over_instances(results: Evidence, variant: str) -> Outcome:
    """Holds if it is shown to be lower at 100 instances than later, and unaffected from 250 on."""
    curve = _curve(results, "n_instances", "rsgg-ce", variant, "correctness")
    return all_of([_rises_then_stays(curve)], "ablation_n_instances.csv")


@CHECKS.of("cf2-over-instances")
def cf2_over_instances(results: Evidence, variant: str) -> Outcome:
    """Holds if the same is true of CF² and it is below RSGG-CE at every number of instances."""
    cf2, ours = (_curve(results, "n_instances", method, variant, "correctness") for method in ("cf2", "rsgg-ce"))
    lower = count(bool((cf2.means < ours.means).all()), f"RSGG-CE {ours.means.min():.3f} to {ours.means.max():.3f}")
    return all_of([_rises_then_stays(cf2), lower], "ablation_n_instances.csv")
