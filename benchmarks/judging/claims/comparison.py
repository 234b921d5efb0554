"""Claims of Section 5 on the comparison with other explainers: Correctness, GED and runtime in Table 1."""

from __future__ import annotations

from benchmarks.judging.claims.claim import COMPETITORS, DATASETS, Claims, Outcome, all_of, listed
from benchmarks.judging.evidence import Evidence, NotMeasured, paper_value
from benchmarks.results.paper import of_paper

CLAIMS = Claims()
COMPARISON = "Experimental Analysis, comparison with other explainers"


def of_five(results: Evidence, dataset: str, variant: str, metric: str) -> dict[str, float]:
    """A metric of RSGG-CE and of those of the four others that were measured there (MEG is not printed for ASD)."""
    found = {"rsgg-ce": results.mean(dataset, "rsgg-ce", variant, metric)}
    for method in COMPETITORS:
        try:
            found[method] = results.mean(dataset, method, variant, metric)
        except NotMeasured:
            if not (dataset == "asd" and method == "meg"):
                raise
    return found


def _first_on_both(results: Evidence, variant: str, metric: str, shown: str, *, highest: bool) -> Outcome:
    outcomes = []
    for dataset, title in DATASETS.items():
        values = of_five(results, dataset, variant, metric)
        ours, *others = values.values()
        beats = ours > max(others) if highest else ours < min(others)
        outcomes.append(Outcome(beats, f"{title}: {listed(values, shown)}"))
    return all_of(outcomes, f"{metric} in table1.csv")


@CLAIMS.add("RSGG-CE has the highest Correctness of the five methods on both data sets", COMPARISON)
def highest_correctness(results: Evidence, variant: str) -> Outcome:
    """Holds if its mean is above all others on both data sets; a tie is not above."""
    return _first_on_both(results, variant, "correctness", ".3f", highest=True)


@CLAIMS.add("The gain in Correctness over the second method is 66.98 % on Tree-Cycles and 8.84 % on ASD", COMPARISON)
def gains(results: Evidence, variant: str) -> Outcome:
    """Holds if our gain over our second method is at least the printed one on both data sets."""
    stated = of_paper("gains").drop_duplicates(["dataset", "over"])
    outcomes = []
    for row in stated.itertuples():
        second = paper_value(row.dataset, row.over, "correctness")
        arithmetic = 100 * (paper_value(row.dataset, "rsgg-ce", "correctness") / second - 1)
        values = of_five(results, row.dataset, variant, "correctness")
        ours = values.pop("rsgg-ce")
        best = max(values, key=values.__getitem__)
        gain = 100 * (ours / values[best] - 1)
        outcomes.append(
            Outcome(
                gain >= row.value,
                f"{DATASETS[row.dataset]}: {gain:+.2f} % over {best} ({ours:.3f} and {values[best]:.3f}); the printed "
                f"table gives {arithmetic:.2f} % over {row.over}",
            )
        )
    return all_of(outcomes, "correctness in table1.csv")


@CLAIMS.add("RSGG-CE has the lowest GED of the five methods on both data sets", COMPARISON)
def lowest_ged(results: Evidence, variant: str) -> Outcome:
    """Holds if its mean GED is below all others on both data sets; failures count as 0, so GED on success is shown."""
    found = _first_on_both(results, variant, "ged", ".2f", highest=False)
    success = [
        f"{title}: {listed(of_five(results, dataset, variant, 'ged_on_success'), '.2f')}"
        for dataset, title in DATASETS.items()
    ]
    return Outcome(found.holds, f"{found.evidence} Where a counterfactual was found, {'; '.join(success)}.")


@CLAIMS.add("RSGG-CE does not sacrifice the running time: fastest on Tree-Cycles, second on ASD", COMPARISON)
def running_time(results: Evidence, variant: str) -> Outcome:
    """Holds if with training accounted for as in print it is the fastest on Tree-Cycles and at most second on ASD."""
    outcomes = []
    for (dataset, title), most in zip(DATASETS.items(), (1, 2), strict=True):
        values = of_five(results, dataset, variant, "runtime")
        rank = sorted(values.values()).index(values["rsgg-ce"]) + 1
        trained = of_five(results, dataset, variant, "runtime_with_training")
        rank_trained = sorted(trained.values()).index(trained["rsgg-ce"]) + 1
        outcomes.append(
            Outcome(
                rank <= most,
                f"{title}: rank {rank} of {len(values)} in the printed accounting ({listed(values, '.2g')} s), rank "
                f"{rank_trained} with training in every row ({trained['rsgg-ce']:.2g} s)",
            )
        )
    return all_of(outcomes, "runtime in table1.csv, of the machine that made it")


@CLAIMS.add("On Tree-Cycles RSGG-CE does both: it adds edges to trees and removes edges of cycles", COMPARISON)
def both_directions(results: Evidence, variant: str) -> Outcome:
    """Holds if it explains more than half of the graphs of either class."""
    values = [results.mean("tree-cycles", "rsgg-ce", variant, f"correctness_class_{c}") for c in (0, 1)]
    return Outcome(
        min(values) > 0.5, f"It explains {values[0]:.3f} of the trees and {values[1]:.3f} of the cyclic graphs."
    )
