"""Claims of Section 5.2 and the appendix on what each method adds, removes and keeps, checked on Table 1's ledger."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from benchmarks.judging.claims.claim import DATASETS, DRAWN, LEDGER, Claims, Outcome, all_of, listed
from benchmarks.judging.claims.comparison import of_five
from benchmarks.judging.claims.edits import operations, profile, unlikeness
from benchmarks.judging.evidence import Evidence

CLAIMS = Claims()
QUALITATIVE = "Qualitative Anecdotal Inspection, ASD"
PICTURES = "Appendix: Extended Qualitative Inspection, pictures of all counterfactuals"


def _per_graph(rows: pd.DataFrame) -> str:
    means = rows[["added", "removed", "kept"]].mean()
    return f"{means['added']:.1f} added, {means['removed']:.1f} removed, {means['kept']:.1f} kept per graph"


def _does_everything(rows: pd.DataFrame) -> float:
    """The share of graphs in which edges are added, removed and kept."""
    return float((rows[["added", "removed", "kept"]] > 0).all(axis=1).mean())


@CLAIMS.add("CF² removes everything, in both classes", QUALITATIVE)
def cf2_removes_everything(results: Evidence, variant: str) -> Outcome:
    """Holds if no graph that it returns keeps or gets an edge."""
    rows = operations(results, "asd", "cf2", variant)
    share = (rows["kept"] + rows["added"] == 0).groupby(rows["predicted"]).mean()
    parts = ", ".join(f"{value:.3f} of class {c}" for c, value in share.items())
    return Outcome(bool((share == 1).all()), f"All edges are removed from {parts}; {_per_graph(rows)} ({LEDGER}).")


@CLAIMS.add("CLEAR adds, removes and keeps edges", QUALITATIVE)
def clear_does_everything(results: Evidence, variant: str) -> Outcome:
    """Holds if it does so in more than half of the graphs."""
    rows = operations(results, "asd", "clear", variant)
    return Outcome(
        _does_everything(rows) > 0.5, f"In {_does_everything(rows):.3f} of the graphs; {_per_graph(rows)} ({LEDGER})."
    )


@CLAIMS.add("CLEAR is the only one of the other methods that does all three", QUALITATIVE)
def only_clear_does_everything(results: Evidence, variant: str) -> Outcome:
    """Holds if CLEAR does so in more than half of the graphs, CF² and G-CounteRGAN in no more than half."""
    shares = {method: _does_everything(operations(results, "asd", method, variant)) for method in DRAWN}
    others = [share for method, share in shares.items() if method != "clear"]
    return Outcome(shares["clear"] > 0.5 >= max(others), f"Share of graphs: {listed(shares)} ({LEDGER}).")


@CLAIMS.add(
    "CLEAR's GED is higher than CF²'s and RSGG-CE's because it makes too many edges that were not there", QUALITATIVE
)
def clear_overgenerates(results: Evidence, variant: str) -> Outcome:
    """Holds if its GED is the highest of the three and most of its edits are additions."""
    ged = {method: results.mean("asd", method, variant, "ged") for method in ("cf2", "rsgg-ce", "clear")}
    rows = operations(results, "asd", "clear", variant)
    added, removed = rows["added"].sum(), rows["removed"].sum()
    return Outcome(
        ged["clear"] > max(ged["cf2"], ged["rsgg-ce"]) and added > removed,
        f"GED {listed(ged, '.1f')} (table1.csv); CLEAR: {_per_graph(rows)} ({LEDGER}).",
    )


@CLAIMS.add("CLEAR is the only method that makes self loops", QUALITATIVE)
def only_clear_makes_loops(results: Evidence, variant: str) -> Outcome:
    """Holds if CLEAR makes some and CF², G-CounteRGAN and RSGG-CE make none."""
    loops = {m: int(operations(results, "asd", m, variant)["loops"].sum()) for m in (*DRAWN, "rsgg-ce")}
    others = sum(loops.values()) - loops["clear"]
    return Outcome(loops["clear"] > 0 and not others, f"Self loops in all graphs: {listed(loops, '.0f')} ({LEDGER}).")


@CLAIMS.add("G-CounteRGAN makes densely connected graphs by adding edges", QUALITATIVE)
def gcountergan_densifies(results: Evidence, variant: str) -> Outcome:
    """Holds if it adds more than it removes and the density of what it returns is at least twice the input's."""
    rows = operations(results, "asd", "g-countergan", variant)
    before, after = rows["edges"] / rows["pairs"], (rows["kept"] + rows["added"] - rows["loops"]) / rows["pairs"]
    dense = rows["added"].sum() > rows["removed"].sum() and after.mean() >= 2 * before.mean()
    return Outcome(
        bool(dense), f"{_per_graph(rows)}; density {before.mean():.3f} before, {after.mean():.3f} after ({LEDGER})."
    )


@CLAIMS.add("G-CounteRGAN is the worst-performing strategy: its GED is the largest", QUALITATIVE)
def gcountergan_is_worst(results: Evidence, variant: str) -> Outcome:
    """Holds if its GED is the largest of all on both data sets."""
    outcomes = []
    for dataset, title in DATASETS.items():
        values = of_five(results, dataset, variant, "ged")
        outcomes.append(
            Outcome(max(values, key=values.__getitem__) == "g-countergan", f"{title}: {listed(values, '.2f')}")
        )
    return all_of(outcomes, "ged in table1.csv")


@CLAIMS.add("RSGG-CE mainly removes edges", QUALITATIVE)
def rsgg_removes_on_asd(results: Evidence, variant: str) -> Outcome:
    """Holds if most of its edits are removals."""
    rows = operations(results, "asd", "rsgg-ce", variant)
    return Outcome(bool(rows["removed"].sum() > rows["added"].sum()), f"{_per_graph(rows)} ({LEDGER}).")


@CLAIMS.add("RSGG-CE finds counterfactuals by examining the existing edges alone", QUALITATIVE)
def rsgg_without_additions(results: Evidence, variant: str) -> Outcome:
    """Holds if more than half of its counterfactuals have no addition."""
    rows = operations(results, "asd", "rsgg-ce", variant)
    share = (rows["added"] == 0).groupby(rows["predicted"]).mean()
    total = float((rows["added"] == 0).mean())
    parts = ", ".join(f"{value:.3f} in class {c}" for c, value in share.items())
    return Outcome(total > 0.5, f"{total:.3f} of {len(rows)} counterfactuals have no addition ({parts}; {LEDGER}).")


def _on_both(results: Evidence, variant: str, check: Callable[[Evidence, str, str], Outcome]) -> Outcome:
    found = [(title, check(results, dataset, variant)) for dataset, title in DATASETS.items()]
    return all_of([Outcome(one.holds, f"{title}: {one.evidence}") for title, one in found], LEDGER)


@CLAIMS.add("RSGG-CE is guided more by removals than by additions on both data sets", PICTURES)
def rsgg_removes(results: Evidence, variant: str) -> Outcome:
    """Holds if most of its edits are removals on both."""

    def check(results: Evidence, dataset: str, variant: str) -> Outcome:
        rows = operations(results, dataset, "rsgg-ce", variant)
        return Outcome(bool(rows["removed"].sum() > rows["added"].sum()), _per_graph(rows))

    return _on_both(results, variant, check)


@CLAIMS.add("RSGG-CE's pictures are semi-dominated by kept edges", PICTURES)
def rsgg_keeps(results: Evidence, variant: str) -> Outcome:
    """Holds if kept edges are more than added ones and more than removed ones, on both data sets."""

    def check(results: Evidence, dataset: str, variant: str) -> Outcome:
        shares = profile(operations(results, dataset, "rsgg-ce", variant))
        return Outcome(shares["kept"] > max(shares["added"], shares["removed"]), listed(shares, ".2f"))

    return _on_both(results, variant, check)


@CLAIMS.add("RSGG-CE and CLEAR behave most alike (very similar colours)", PICTURES)
def clear_is_most_alike(results: Evidence, variant: str) -> Outcome:
    """Holds if of the three others CLEAR's shares of added, removed and kept edges are the nearest to RSGG-CE's."""

    def check(results: Evidence, dataset: str, variant: str) -> Outcome:
        ours = profile(operations(results, dataset, "rsgg-ce", variant))
        away = {m: unlikeness(ours, profile(operations(results, dataset, m, variant))) for m in DRAWN}
        return Outcome(min(away, key=away.__getitem__) == "clear", f"total variation {listed(away, '.2f')}")

    return _on_both(results, variant, check)


@CLAIMS.add("CLEAR's counterfactuals have more edges than RSGG-CE's", PICTURES)
def clear_has_more_edges(results: Evidence, variant: str) -> Outcome:
    """Holds if they have on average, on both data sets."""

    def check(results: Evidence, dataset: str, variant: str) -> Outcome:
        rows = {method: operations(results, dataset, method, variant) for method in ("clear", "rsgg-ce")}
        edges = {method: float((own["kept"] + own["added"]).mean()) for method, own in rows.items()}
        return Outcome(edges["clear"] > edges["rsgg-ce"], f"edges {listed(edges, '.1f')}")

    return _on_both(results, variant, check)
