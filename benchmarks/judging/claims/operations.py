"""Claims of Section 5.2 and the appendix on what each method adds, removes and keeps, checked on Table 1's ledger."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from benchmarks.judging.claims.claim import (
    DATASETS,
    LEDGER,
    PICTURED_RIVALS,
    Check,
    Checks,
    Outcome,
    all_of,
    count,
    listed,
)
from benchmarks.judging.claims.edits import operations, profile, unlikeness
from benchmarks.judging.evidence import Evidence
from benchmarks.registry import methods
from benchmarks.registry.rules import DENSE
from rsgg.trends import majority, negated

CHECKS = Checks()


def _per_graph(rows: pd.DataFrame) -> str:
    means = rows[["added", "removed", "kept"]].mean()
    return f"{means['added']:.1f} added, {means['removed']:.1f} removed, {means['kept']:.1f} kept per graph"


def _most(chosen: pd.Series, what: str) -> Outcome:
    """Is this so for more than half of the graphs?"""
    return Outcome(majority(int(chosen.sum()), len(chosen)), f"{what} {chosen.mean():.3f} of {len(chosen)} graphs")


def _does_everything(results: Evidence, method: str, variant: str) -> Outcome:
    """Does it add, remove and keep edges in more than half of the graphs?"""
    rows = operations(results, "asd", method, variant)
    everything = (rows[["added", "removed", "kept"]] > 0).all(axis=1)
    return _most(everything, f"{methods.label(method)} ({_per_graph(rows)}) does all three in")


@CHECKS.of("cf2-removes-everything")
def cf2_removes_everything(results: Evidence, variant: str) -> Outcome:
    """Holds if no graph that it returns keeps or gets an edge."""
    rows = operations(results, "asd", "cf2", variant)
    share = (rows["kept"] + rows["added"] == 0).groupby(rows["predicted"]).mean()
    parts = ", ".join(f"{value:.3f} of class {c}" for c, value in share.items())
    return count(bool((share == 1).all()), f"All edges are removed from {parts}; {_per_graph(rows)} ({LEDGER}).")


@CHECKS.of("clear-does-everything")
def clear_does_everything(results: Evidence, variant: str) -> Outcome:
    """Holds if it does so in more than half of the graphs of ASD."""
    return all_of([_does_everything(results, "clear", variant)], LEDGER)


@CHECKS.of("only-clear-does-everything")
def only_clear_does_everything(results: Evidence, variant: str) -> Outcome:
    """Holds if CLEAR does so in more than half of the graphs, CF² and G-CounteRGAN in no more than half."""
    clear, *others = (_does_everything(results, method, variant) for method in ("clear", "cf2", "g-countergan"))
    return all_of([clear, *(Outcome(negated(other.tested), other.evidence) for other in others)], LEDGER)


@CHECKS.of("clear-overgenerates")
def clear_overgenerates(results: Evidence, variant: str) -> Outcome:
    """Holds if its GED is the highest of the three and most of its edits are additions."""
    ged = {method: results.mean("asd", method, variant, "ged") for method in ("cf2", "rsgg-ce", "clear")}
    rows = operations(results, "asd", "clear", variant)
    added, removed = rows["added"].sum(), rows["removed"].sum()
    return count(
        ged["clear"] > max(ged["cf2"], ged["rsgg-ce"]) and added > removed,
        f"GED {listed(ged, '.1f')} (table1.csv); CLEAR: {_per_graph(rows)} ({LEDGER}).",
    )


@CHECKS.of("only-clear-makes-loops")
def only_clear_makes_loops(results: Evidence, variant: str) -> Outcome:
    """Holds if CLEAR makes some and CF², G-CounteRGAN and RSGG-CE make none."""
    loops = {m: int(operations(results, "asd", m, variant)["loops"].sum()) for m in (*PICTURED_RIVALS, "rsgg-ce")}
    others = sum(loops.values()) - loops["clear"]
    return count(loops["clear"] > 0 and not others, f"Self loops in all graphs: {listed(loops, '.0f')} ({LEDGER}).")


@CHECKS.of("gcountergan-densifies")
def gcountergan_densifies(results: Evidence, variant: str) -> Outcome:
    """Holds if it adds more than it removes and what it returns is at least `DENSE` times as dense as the input."""
    rows = operations(results, "asd", "g-countergan", variant)
    before, after = rows["edges"] / rows["pairs"], (rows["kept"] + rows["added"] - rows["loops"]) / rows["pairs"]
    dense = rows["added"].sum() > rows["removed"].sum() and after.mean() >= DENSE * before.mean()
    said = f"density {before.mean():.3f} before, {after.mean():.3f} after"
    return count(bool(dense), f"{_per_graph(rows)}; {said} ({LEDGER}).")


@CHECKS.of("only-removals")
def rsgg_only_removes(results: Evidence, variant: str) -> Outcome:
    """Holds if in either class more than half of the counterfactuals have no addition: the paper shows one of each."""
    rows = operations(results, "asd", "rsgg-ce", variant)
    return all_of(
        [_most(own["added"] == 0, f"class {c}: no addition in") for c, own in rows.groupby("predicted")], LEDGER
    )


@CHECKS.of("original-edges")
def rsgg_without_additions(results: Evidence, variant: str) -> Outcome:
    """Holds if more than half of its counterfactuals, both classes together, have no addition."""
    rows = operations(results, "asd", "rsgg-ce", variant)
    return all_of([_most(rows["added"] == 0, "no addition in")], LEDGER)


@CHECKS.of("mainly-removals")
def mainly_removals_are_needed(results: Evidence, variant: str) -> Outcome:
    """Holds if the optimal counterfactuals of more than half of the graphs have more removals than additions."""
    rows = operations(results, "asd", "optimum", "control")
    removing = rows["removed"] > rows["added"]
    classes = "; ".join(f"class {c}: {_per_graph(own)}, {len(own)} graphs" for c, own in rows.groupby("predicted"))
    needed = _most(removing, "optimal counterfactuals remove more than they add in")
    return Outcome(needed.tested, f"{needed.evidence}; {_per_graph(rows)} ({classes}) ({LEDGER}).")


# -- The pictures of the appendix, of both data sets -----------------------------------------------------------------


def _on_both(check: Callable[[Evidence, str, str], tuple[bool, str]]) -> Check:
    """The check that something is so on both data sets."""

    def on_both(results: Evidence, variant: str) -> Outcome:
        found = [(title, *check(results, dataset, variant)) for dataset, title in DATASETS.items()]
        return all_of([count(holds, f"{title}: {said}") for title, holds, said in found], LEDGER)

    on_both.__doc__ = check.__doc__
    return on_both


def _shares(method: str, holds: Callable[[dict[str, float]], bool]) -> Check:
    """The check that a method's shares of added, removed and kept edges have a property."""

    def check(results: Evidence, dataset: str, variant: str) -> tuple[bool, str]:
        shares = profile(operations(results, dataset, method, variant))
        return holds(shares), listed(shares, ".2f")

    return _on_both(check)


CHECKS["semi-dominated"] = _shares("rsgg-ce", lambda share: share["kept"] > max(share["added"], share["removed"]))
CHECKS["rsgg-is-red"] = _shares("rsgg-ce", lambda share: share["removed"] > share["added"])
CHECKS["clear-is-green"] = _shares("clear", lambda share: share["added"] > share["removed"])
CHECKS["gcountergan-is-green"] = _shares("g-countergan", lambda share: share["added"] > 0.5)


@CHECKS.of("clear-is-most-alike")
@_on_both
def clear_is_most_alike(results: Evidence, dataset: str, variant: str) -> tuple[bool, str]:
    """Holds if of the three others CLEAR's shares of added, removed and kept edges are the nearest to RSGG-CE's."""
    ours = profile(operations(results, dataset, "rsgg-ce", variant))
    away = {m: unlikeness(ours, profile(operations(results, dataset, m, variant))) for m in PICTURED_RIVALS}
    return min(away, key=away.__getitem__) == "clear", f"total variation {listed(away, '.2f')}"


@CHECKS.of("clear-has-more-edges")
@_on_both
def clear_has_more_edges(results: Evidence, dataset: str, variant: str) -> tuple[bool, str]:
    """Holds if they have on average."""
    rows = {method: operations(results, dataset, method, variant) for method in ("clear", "rsgg-ce")}
    edges = {method: float((own["kept"] + own["added"]).mean()) for method, own in rows.items()}
    return edges["clear"] > edges["rsgg-ce"], f"edges {listed(edges, '.1f')}"
