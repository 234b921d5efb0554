"""Claims: verdicts on made-up results in which the truth was planted both ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks import claims as script
from benchmarks import cli
from benchmarks.judging import claims
from benchmarks.judging.claims import (
    CHECKS,
    DOES_NOT_HOLD,
    RELEASED_ONLY,
    WRITTEN_ONLY,
    all_claims,
    appendix,
    compute,
    overall,
)
from benchmarks.judging.claims.claim import DOES_NOT_APPLY, FAILS, HOLDS, NOT_MEASURED, UNDECIDED, Claim, Outcome
from benchmarks.judging.claims.edits import operations, profile, unlikeness
from benchmarks.judging.evidence import Evidence
from benchmarks.registry.ablations import PAPER
from benchmarks.registry.rules import NOT_COMPARABLE
from benchmarks.results.files import REFERENCE
from benchmarks.results.paper import of_paper
from benchmarks.results.summary import accounted
from rsgg.trends import PValues, counted

NO_TABLE = pd.DataFrame(columns=["dataset", "method", "variant", "metric", "mean"])
NOTHING = Evidence(NO_TABLE, pd.DataFrame())


# -- verdicts ------------------------------------------------------------------------------------------------------


def test_the_verdict_is_a_function_of_the_two_partial_ones() -> None:
    partial = (HOLDS, FAILS, UNDECIDED, NOT_MEASURED, DOES_NOT_APPLY, NOT_COMPARABLE)
    found = {pair: overall(*pair) for pair in product(partial, partial)}
    assert found[HOLDS, HOLDS] == found[HOLDS, NOT_MEASURED] == found[DOES_NOT_APPLY, HOLDS] == HOLDS
    assert found[HOLDS, FAILS] == RELEASED_ONLY and found[FAILS, HOLDS] == WRITTEN_ONLY
    assert found[FAILS, FAILS] == found[FAILS, NOT_MEASURED] == found[DOES_NOT_APPLY, FAILS] == DOES_NOT_HOLD
    assert found[UNDECIDED, HOLDS] == found[FAILS, UNDECIDED] == found[NOT_MEASURED, UNDECIDED] == UNDECIDED
    assert found[NOT_COMPARABLE, NOT_COMPARABLE] == found[NOT_MEASURED, NOT_COMPARABLE] == NOT_COMPARABLE
    assert found[NOT_COMPARABLE, FAILS] == DOES_NOT_HOLD
    assert found[NOT_MEASURED, NOT_MEASURED] == found[DOES_NOT_APPLY, NOT_MEASURED] == NOT_MEASURED


def verdicts(results: Evidence, statement: str) -> tuple[str, str]:
    """The partial verdicts on the claim whose statement holds these words."""
    line = about(results, statement)
    return line["released"], line["faithful"]


def about(results: Evidence, statement: str) -> pd.Series:
    (one,) = (one for one in all_claims() if statement in one.statement)
    return compute(results, [one]).iloc[0]


def made_up(p: PValues, evidence: str = "so.") -> Claim:
    return Claim("a statement", "a place", "words", False, (), lambda results, variant: Outcome(p, evidence))


def test_verdicts_are_adjusted_for_how_many_there_are_and_those_counted_are_not() -> None:
    """A p of .02 (two-sided .04) decides alone; among nine claims of which nothing else shows anything it does not."""
    sure, nothing, fact = PValues(0.02, 0.9), PValues(0.6, 0.7), counted(False)
    alone = compute(NOTHING, [made_up(sure)])
    assert list(alone["released"]) == [HOLDS] and alone["q_released"][0] == pytest.approx(0.04)
    among = compute(NOTHING, [made_up(sure), *[made_up(nothing)] * 8, made_up(fact)])
    assert list(among["released"]) == [UNDECIDED] * 9 + [FAILS] and np.isnan(among["q_released"][9])


def test_who_has_the_oracles_gradient_is_said_where_methods_are_compared() -> None:
    claim = made_up(counted(True))
    compared = Claim(claim.statement, claim.place, "words", False, ("clear", "meg"), claim.check)
    released, written = compute(NOTHING, [compared])["evidence"][0].split(" As written: ")
    assert "gradient" not in released
    assert written == (
        "so. CLEAR gets the oracle's exact gradient, MEG gets its probabilities; RSGG-CE is told classes only."
    )


# -- comparison ----------------------------------------------------------------------------------------------------

FIVE = ("rsgg-ce", "cf2", "clear", "g-countergan", "meg")


def runs(
    correct: Mapping[str, Sequence[int]], *, geds: Mapping[str, float] | None = None, graphs: int = 50
) -> Evidence:
    """Ten folds of 50 graphs of both data sets, released and faithful alike: how many of them each method explains in
    each replicate, spread over the folds, and the GED of its edits."""
    lines = []
    for method in FIVE:
        for seed, total in enumerate(correct[method]):
            for fold in range(10):
                own = (total + fold) // 10
                line = {"method": method, "seed": seed, "fold": fold, "ged": (geds or {}).get(method, 1.0) + fold / 10}
                lines += [{**line, "instance": fold * graphs + i, "predicted_cf": int(i < own)} for i in range(graphs)]
    frame = pd.DataFrame(lines)
    fixed = {
        "predicted": 0, "label": 0, "n_nodes": 4, "n_edges": 3, "calls": 1, "seconds": 1.0, "fit_calls": 0,
        "found": True, "fit_seconds": 1.0, "test_size": graphs, "optimum": 1.0, "removal_auroc": 0.5, "candidate": 0,
    }  # fmt: skip
    whole = pd.concat(
        frame.assign(**fixed, dataset=dataset, variant=variant)
        for dataset in ("tree-cycles", "asd")
        for variant in ("released", "faithful")
    )
    row, metrics = ["dataset", "method", "variant"], ["correctness", "ged", "ged_on_success"]
    means = accounted(whole[whole["seed"] == 0]).groupby(row)[metrics].mean()
    return Evidence(means.reset_index().melt(row, var_name="metric", value_name="mean"), whole)


def five(ours: Sequence[int], clear: Sequence[int]) -> dict[str, Sequence[int]]:
    return {"rsgg-ce": ours, "cf2": [100] * 5, "clear": clear, "g-countergan": [120] * 5, "meg": [110] * 5}


STEADY = (248, 252, 250, 246, 254)


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ((448, 452, 450, 446, 454), HOLDS),
        ((250, 248, 252, 254, 246), FAILS),  # a tie: surely no large lead
        ((200, 202, 198, 204, 196), FAILS),
        ((450, 150, 400, 200, 350), UNDECIDED),  # ahead on average, but not in a further run
    ],
)
def test_the_highest_correctness_leads_by_a_margin_that_is_shown(ours: Sequence[int], expected: str) -> None:
    assert verdicts(runs(five(ours, STEADY)), "highest Correctness") == (expected, expected)


def test_a_printed_gain_lies_inside_our_interval_and_a_larger_one_is_another_number() -> None:
    """66.98 % and 8.84 %: the planted gain is one number for both data sets, so that one of the two lies outside."""
    larger = about(runs(five([450, 452, 448, 451, 449], STEADY)), "66.98")
    assert larger["released"] == FAILS and "+80.00 %" in larger["evidence"]
    assert "over CLEAR, second in our runs (5 replicates); in print 66.98 % over MEG" in larger["evidence"]
    wide = about(runs(five([311, 331, 345, 359, 379], [250] * 5)), "66.98")
    assert wide["released"] == HOLDS and "lies inside" in wide["evidence"]
    wider = about(runs(five([250, 400, 345, 320, 410], [250] * 5)), "66.98")
    assert wider["released"] == UNDECIDED, "an interval that holds no gain at all tells nothing"


@pytest.mark.parametrize(
    "ours", [(311, 331, 345, 359, 379), (290, 330, 345, 365, 400), (270, 330, 345, 370, 410), (250, 400, 345, 320, 410)]
)
def test_a_gain_is_no_better_supported_than_the_lead_behind_it(ours: Sequence[int]) -> None:
    """The same test, adjusted with all others."""
    found = compute(runs(five(ours, [250] * 5))).set_index("claim")
    gain, lead = (next(line for name, line in found.iterrows() if words in name) for words in ("66.98", "highest Corr"))
    assert gain["released"] != HOLDS or lead["released"] == HOLDS
    assert gain["q_released"] >= lead["q_released"]


def test_replicates_are_paired_and_folds_where_there_are_too_few() -> None:
    """Where graphs differ between replicates, both rows do; their difference does not."""
    together = runs(five([300, 200, 250, 350, 150], [200, 100, 150, 250, 50]))
    assert verdicts(together, "highest Correctness") == (HOLDS, HOLDS)
    assert "(5 replicates)" in about(together, "highest Correctness")["evidence"]
    once = runs({method: [450 if method == "rsgg-ce" else 100] for method in FIVE})
    assert "(10 folds)" in about(once, "highest Correctness")["evidence"]


def test_the_lowest_and_the_largest_ged_are_those_of_both_data_sets() -> None:
    geds = {"rsgg-ce": 1.0, "cf2": 3.0, "clear": 5.0, "g-countergan": 9.0, "meg": 7.0}
    assert verdicts(runs(five(STEADY, STEADY), geds=geds), "lowest GED") == (HOLDS, HOLDS)
    assert verdicts(runs(five(STEADY, STEADY), geds=geds), "worst-performing") == (HOLDS, HOLDS)
    cheaper = {**geds, "meg": 0.5, "clear": 12.0}
    assert verdicts(runs(five(STEADY, STEADY), geds=cheaper), "lowest GED") == (FAILS, FAILS)
    assert verdicts(runs(five(STEADY, STEADY), geds=cheaper), "worst-performing") == (FAILS, FAILS)


def test_meg_may_be_missing_on_asd_and_no_other_method_anywhere() -> None:
    whole = runs(five([450, 452, 448, 451, 449], STEADY))

    def without(method: str) -> Evidence:
        table, rows = (f[(f["method"] != method) | (f["dataset"] != "asd")] for f in (whole.table, whole.ledger))
        return Evidence(table, rows)

    assert verdicts(without("meg"), "highest Correctness") == (HOLDS, HOLDS)
    assert verdicts(without("clear"), "highest Correctness") == (NOT_MEASURED, NOT_MEASURED)


def test_runtimes_of_methods_are_not_compared() -> None:
    line = about(runs(five(STEADY, STEADY)), "running time")
    assert line["verdict"] == line["released"] == line["faithful"] == NOT_COMPARABLE


def test_training_counts_as_access_to_the_oracle() -> None:
    whole = {"n": 1500, "folds": 10, "replicates_shown": 3}  # 50 graphs a fold

    def asked(fit: float) -> Evidence:
        lines = [
            {"dataset": dataset, "method": method, "variant": variant, "metric": metric, "mean": mean, **whole}
            for dataset in ("tree-cycles", "asd")
            for method, variant, metric, mean in (
                ("rsgg-ce", "released", "fit_calls", 0.0), ("rsgg-ce", "released", "explain_calls", 2.0),
                ("rsgg-ce", "faithful", "fit_calls", fit), ("rsgg-ce", "faithful", "explain_calls", 2.0),
                ("two-sided-min", "search", "explain_calls", 6.0),
            )
        ]  # fmt: skip
        return Evidence(pd.DataFrame(lines), pd.DataFrame())

    assert verdicts(asked(200), "ask the oracle extensively") == (HOLDS, HOLDS), "2 + 200 / 50 calls per graph"
    assert verdicts(asked(201), "ask the oracle extensively") == (HOLDS, FAILS)


# -- ablations -----------------------------------------------------------------------------------------------------

Course = Callable[[np.ndarray], np.ndarray]


def curves(
    folder: Path, vary: str, method: str, metric: str, released: Course, faithful: Course, se: float = 0.01
) -> Evidence:
    """Add two curves to an ablation's file."""
    path, values = folder / f"ablation_{vary}.csv", np.array(list(PAPER[vary].points), dtype=float)
    frames = [pd.read_csv(path)] if path.exists() else []
    for variant, course in (("released", released), ("faithful", faithful)):
        row = {"value": values.astype(int), "method": method, "variant": variant, "metric": metric}
        frames.append(pd.DataFrame({**row, "mean": course(values), "se": se, "folds": 10}))
    pd.concat(frames).to_csv(path, index=False)
    return Evidence(NO_TABLE, pd.DataFrame(), folder=folder)


def flat(x: np.ndarray) -> np.ndarray:
    return np.full(len(x), 0.5)


def rising(x: np.ndarray) -> np.ndarray:
    return 0.5 + 0.4 * (x - x[0]) / np.ptp(x)


def falling(x: np.ndarray) -> np.ndarray:
    return 1.4 - rising(x)


def bent(x: np.ndarray) -> np.ndarray:
    return 0.5 + 10 * ((x - x[0]) / np.ptp(x)) ** 2


def zigzag(x: np.ndarray) -> np.ndarray:
    return 0.5 + 0.03 * (-1.0) ** np.arange(len(x))


def one_at_last(x: np.ndarray) -> np.ndarray:
    return np.minimum(1.0, rising(x) + 0.2)


def late(x: np.ndarray) -> np.ndarray:
    return np.where(x < 250, 0.4, 0.5)


def per_doubling(x: np.ndarray) -> np.ndarray:
    return 0.5 + 0.1 * np.log2(x / x[0])


ABLATED = [
    ("cycle_size", "rsgg-ce", "removal_auroc", "learns the edge probabilities", rising, flat),
    ("cycle_size", "rsgg-ce", "correctness", "rises with the number of nodes per cycle", rising, flat),
    ("cycle_size", "rsgg-ce", "correctness", "reaches a Correctness of 1", one_at_last, rising),
    ("cycle_size", "cf2", "correctness", "zig-zags", zigzag, rising),
    ("cycle_size", "cf2", "correctness", "zig-zags", zigzag, flat),
    ("n_cycles", "rsgg-ce", "correctness", "only slightly affected", flat, falling),
    ("n_cycles", "cf2", "ged", "GED of CF² rises", rising, falling),
    ("n_cycles", "cf2", "correctness", "influences CF²", rising, flat),
    ("n_nodes", "rsgg-ce", "ged_per_node", "GED / n of RSGG-CE is constant", flat, per_doubling),
    ("n_nodes", "rsgg-ce", "correctness", "not affected by the number of nodes", flat, per_doubling),
    ("n_instances", "rsgg-ce", "correctness", "stable above 250", late, flat),
    ("n_instances", "rsgg-ce", "correctness", "stable above 250", late, per_doubling),
]


@pytest.mark.parametrize(("vary", "method", "metric", "statement", "true", "false"), ABLATED)
def test_a_claim_on_a_curve_holds_where_it_was_planted(
    tmp_path: Path, vary: str, method: str, metric: str, statement: str, true: Course, false: Course
) -> None:
    assert verdicts(curves(tmp_path, vary, method, metric, true, false), statement) == (HOLDS, FAILS)


@pytest.mark.parametrize(
    ("vary", "method", "metric", "statement"),
    [
        ("n_cycles", "rsgg-ce", "correctness", "only slightly affected"),
        ("n_nodes", "rsgg-ce", "ged_per_node", "GED / n of RSGG-CE is constant"),
        ("n_nodes", "rsgg-ce", "correctness", "not affected by the number of nodes"),
        ("cycle_size", "rsgg-ce", "correctness", "rises with the number of nodes per cycle"),
        ("n_cycles", "cf2", "correctness", "influences CF²"),
    ],
)
def test_what_errors_hide_is_undecided_and_not_unaffected(
    tmp_path: Path, vary: str, method: str, metric: str, statement: str
) -> None:
    """A change by .02 to .09 that standard errors of .06 leave without significance."""

    def unclear(x: np.ndarray) -> np.ndarray:
        return 0.9 - 0.03 * np.array([0, 1, 3, 0, 2, 1, 3, 0, 1, 2, 1])[: len(x)]

    found = curves(tmp_path, vary, method, metric, unclear, unclear, se=0.06)
    assert verdicts(found, statement) == (UNDECIDED, UNDECIDED) and about(found, statement)["verdict"] == UNDECIDED


def test_a_dip_in_the_middle_is_no_slight_effect(tmp_path: Path) -> None:
    """Both ends are the same, as if nothing had happened."""

    def dipping(x: np.ndarray) -> np.ndarray:
        return np.where(np.arange(len(x)) == 3, 0.6, 0.9)

    found = curves(tmp_path, "n_cycles", "rsgg-ce", "correctness", dipping, flat)
    assert verdicts(found, "only slightly affected") == (FAILS, HOLDS)
    assert "lowest 0.6 at 16" in about(found, "only slightly affected")["evidence"]


def test_ged_per_node_tends_to_one_at_the_largest_graphs(tmp_path: Path) -> None:
    found = curves(tmp_path, "n_nodes", "cf2", "ged_per_node", lambda x: 1 - 0.5 / x, flat, se=0.002)
    assert verdicts(found, "tends to 1") == (HOLDS, FAILS)


def test_an_error_that_no_plot_shows_is_zero(tmp_path: Path) -> None:
    """A line hides a hundredth of the axis of both methods, which is 10 edits long as released, 5 as written."""
    for method, level in (("rsgg-ce", 0.0), ("cf2", 10.0)):
        released, faithful = (lambda x, at=at: np.full(len(x), at) for at in (level, level / 2))
        found = curves(tmp_path, "cycle_size", method, "ged", released, faithful, se=0.09)
    statement = "standard error of CF²'s GED"
    assert verdicts(found, statement) == (HOLDS, FAILS)
    path = tmp_path / "ablation_cycle_size.csv"
    pd.read_csv(path).assign(se=0.11).to_csv(path, index=False)
    assert verdicts(found, statement) == (FAILS, FAILS)


def test_claims_on_two_curves_need_both(tmp_path: Path) -> None:
    curves(tmp_path, "n_instances", "rsgg-ce", "ged", flat, flat)
    both = curves(tmp_path, "n_instances", "cf2", "ged", flat, per_doubling)
    assert verdicts(both, "GED is not affected by the number of instances") == (HOLDS, FAILS)
    curves(tmp_path, "n_instances", "rsgg-ce", "correctness", rising, flat)
    both = curves(tmp_path, "n_instances", "cf2", "correctness", late, late)
    assert verdicts(both, "at a lower level") == (HOLDS, FAILS)


@pytest.mark.parametrize(
    ("course", "nodes", "per_node", "expected"),
    [
        ("falling", "flat", "flat", HOLDS),
        ("flat", "flat", "flat", FAILS),  # not even by complexity
        ("falling", "per_doubling", "flat", FAILS),
        ("falling", "flat", "per_doubling", FAILS),
    ],
)
def test_solely_affected_by_complexity_means_by_nothing_else(
    tmp_path: Path, course: str, nodes: str, per_node: str, expected: str
) -> None:
    shapes = {"falling": falling, "flat": flat, "per_doubling": per_doubling}
    for vary, metric, shape in (
        ("n_cycles", "correctness", shapes[course]),
        ("n_nodes", "correctness", shapes[nodes]),
        ("n_nodes", "ged_per_node", shapes[per_node]),
        ("n_instances", "correctness", flat),
        ("n_instances", "ged", flat),
    ):
        found = curves(tmp_path, vary, "rsgg-ce", metric, shape, shape)
    assert verdicts(found, "solely affected by the complexity") == (expected, expected)


@pytest.mark.parametrize(
    ("metric", "statement"), [("ged", "failures counted as 0"), ("ged_on_success", "was found does")]
)
def test_ged_does_not_rise_in_either_accounting(tmp_path: Path, metric: str, statement: str) -> None:
    assert verdicts(curves(tmp_path, "cycle_size", "rsgg-ce", metric, falling, rising), statement) == (HOLDS, FAILS)


def test_fewer_questions_for_larger_cycles(tmp_path: Path) -> None:
    found = curves(tmp_path, "cycle_size", "rsgg-ce", "explain_calls", falling, flat)
    assert verdicts(found, "fewer sampling iterations") == (HOLDS, FAILS)


def test_a_linear_correctness_is_a_straight_line(tmp_path: Path) -> None:
    found = curves(tmp_path, "n_cycles", "rsgg-ce", "correctness", falling, bent)
    assert verdicts(found, "Correctness of RSGG-CE is linear") == (HOLDS, FAILS)


@pytest.mark.parametrize(
    ("vary", "statement", "true", "false"),
    [
        ("n_cycles", "GED of RSGG-CE is linear", rising, bent),
        ("n_cycles", "GED of RSGG-CE is linear", rising, flat),
        ("n_cycles", "GED of RSGG-CE is linear", rising, falling),
    ],
)
def test_claims_on_ged_show_that_of_successes_beside_it(
    tmp_path: Path, vary: str, statement: str, true: Course, false: Course
) -> None:
    curves(tmp_path, vary, "rsgg-ce", "ged", true, false)
    found = curves(tmp_path, vary, "rsgg-ce", "ged_on_success", flat, flat)
    assert verdicts(found, statement) == (HOLDS, FAILS)
    assert "GED where a counterfactual was found 0.5 at 2 to 0.5 at 32" in about(found, statement)["evidence"]


def test_evidence_has_the_numbers_and_the_file(tmp_path: Path) -> None:
    said = about(curves(tmp_path, "n_cycles", "cf2", "ged", rising, falling), "GED of CF² rises")["evidence"]
    assert "GED of CF² 0.5 at 2 to 0.9 at 32 (lowest 0.5 at 2, highest 0.9 at 32, τ = +1.00)" in said
    assert "ablation_n_cycles.csv" in said


def test_part_of_a_grid_is_not_the_grid(tmp_path: Path) -> None:
    results = curves(tmp_path, "cycle_size", "rsgg-ce", "correctness", rising, rising)
    path = tmp_path / "ablation_cycle_size.csv"
    table = pd.read_csv(path)
    table[table["value"] < 28].to_csv(path, index=False)
    assert verdicts(results, "reaches a Correctness of 1") == (NOT_MEASURED, NOT_MEASURED)
    said = about(results, "reaches a Correctness of 1")["evidence"]
    assert "not in ablation_cycle_size.csv at 28; ./reproduce.sh ablation --vary cycle_size computes it" in said


# -- operations on edges -------------------------------------------------------------------------------------------

N = 4
PATH = [1, 6, 11]  # 0-1, 1-2, 2-3, as u·n + v


def row(method: str, variant: str, edits: list[int], **more: object) -> dict[str, object]:
    return {
        "dataset": "asd", "method": method, "variant": variant, "seed": 0, "fold": 0, "instance": 0, "n_nodes": N,
        "predicted": 0, "predicted_cf": 1, "found": True, "edits": edits, **more,
    }  # fmt: skip


def ledger(**edits: list[int]) -> Evidence:
    """Twenty paths of four nodes; each method's edits to them, released and faithful alike."""
    rows = [row("empty", "control", PATH)]
    rows += [row(m.replace("_", "-"), v, own) for m, own in edits.items() for v in ("released", "faithful")]
    places = list(product(("asd", "tree-cycles"), range(20)))
    both = pd.DataFrame([{**one, "dataset": dataset, "instance": i} for one in rows for dataset, i in places])
    return Evidence(NO_TABLE, both)


def test_operations_are_told_apart_by_the_edges_of_the_input() -> None:
    own = operations(ledger(clear=[1, 0, 3, 7]), "asd", "clear", "released").iloc[0]
    assert dict(own[["added", "removed", "kept", "loops", "edges", "pairs"]]) == {
        "added": 3, "removed": 1, "kept": 2, "loops": 1, "edges": 3, "pairs": 6
    }  # fmt: skip


def test_colours_alike_are_near() -> None:
    shares = profile(pd.DataFrame({"added": [1], "removed": [1], "kept": [2]}))
    assert shares == {"added": 0.25, "removed": 0.25, "kept": 0.5}
    assert unlikeness(shares, shares) == 0 and unlikeness(shares, {"added": 1, "removed": 0, "kept": 0}) == 0.75


AS_PRINTED = {"cf2": PATH, "clear": [0, 1, 3], "g_countergan": [2, 3, 7], "rsgg_ce": [1]}


@pytest.mark.parametrize(
    ("statement", "otherwise"),
    [
        ("CF² removes everything", {"cf2": [1]}),
        ("CF² makes the same counterfactual", {"cf2": [1]}),
        ("CLEAR adds, removes and keeps", {"clear": [1]}),
        ("only one of the other methods that adds, removes and keeps", {"g_countergan": [1, 3]}),
        ("CLEAR's pictures tend to green", {"clear": [0, 1, 6]}),
        ("only method that makes self loops", {"rsgg_ce": [5]}),
        ("only method that makes self loops", {"clear": [1, 3]}),
        ("densely connected", {"g_countergan": [1, 3]}),
        ("only removes edges from a graph of either class", {"rsgg_ce": [1, 3]}),
        ("examining the existing edges alone", {"rsgg_ce": [1, 3]}),
        ("guided more by removals", {"rsgg_ce": [3]}),
        ("semi-dominated by kept edges", {"rsgg_ce": PATH}),
        ("CLEAR's counterfactuals have more edges", {"clear": PATH}),
        ("behave most alike", {"clear": [0, 2, 3, 7, 1, 6, 11]}),
    ],
)
def test_claims_on_operations_can_come_out_both_ways(statement: str, otherwise: dict[str, list[int]]) -> None:
    assert verdicts(ledger(**AS_PRINTED), statement) == (HOLDS, HOLDS)
    assert verdicts(ledger(**{**AS_PRINTED, **otherwise}), statement) == (FAILS, FAILS)


def test_what_is_needed_is_what_optimal_counterfactuals_do_and_not_what_the_method_does() -> None:
    """Twenty paths: a method that removes and optima that add, the other way round, and optima that differ by class."""
    whole = ledger(rsgg_ce=[1], optimum=[3]).ledger
    whole.loc[whole["method"] == "optimum", "variant"] = "control"
    optima = whole["method"] == "optimum"

    def needed(edits: Callable[[int], list[int]], method: list[int]) -> tuple[str, str]:
        own = [edits(i) if o else method for i, o in zip(whole["instance"], optima, strict=True)]
        own = [PATH if m == "empty" else e for m, e in zip(whole["method"], own, strict=True)]
        return verdicts(Evidence(NO_TABLE, whole.assign(edits=own)), "mainly removals are needed")

    assert needed(lambda i: [3], method=[1]) == (FAILS, FAILS)
    assert needed(lambda i: [1], method=[3]) == (HOLDS, HOLDS)
    assert needed(lambda i: [1, 6] if i % 2 else [3], method=[1]) == (UNDECIDED, UNDECIDED), "half the graphs"


def test_full_green_is_more_than_half_of_what_is_coloured() -> None:
    assert verdicts(ledger(g_countergan=[0, 2, 3, 7]), "tend to full green") == (HOLDS, HOLDS), "four added, three kept"
    assert verdicts(ledger(g_countergan=[2, 3, 7]), "tend to full green") == (FAILS, FAILS), "as many kept as added"


def test_only_removals_is_asked_of_either_class_and_a_few_graphs_do_not_decide() -> None:
    whole = ledger(rsgg_ce=[1]).ledger
    adds = (whole["instance"] % 2 == 1) & (whole["method"] == "rsgg-ce")
    edits = [[1, 3] if adding else own for adding, own in zip(adds, whole["edits"], strict=True)]
    mixed = Evidence(NO_TABLE, whole.assign(predicted=whole["instance"] % 2, edits=edits))
    assert verdicts(mixed, "only removes edges from a graph of either class") == (FAILS, FAILS)
    assert verdicts(mixed, "examining the existing edges alone") == (UNDECIDED, UNDECIDED)
    few = Evidence(NO_TABLE, whole[whole["instance"] < 3])
    assert verdicts(few, "examining the existing edges alone") == (UNDECIDED, UNDECIDED)


def test_one_edit_breaks_a_single_ring() -> None:
    """Four nodes and four edges: a ring, or a triangle with a tail."""
    ring = [*PATH, 3]

    def broken(edits: list[int]) -> Evidence:
        rows = [row("empty", "control", ring), *(row("rsgg-ce", v, edits) for v in ("released", "faithful"))]
        both = [{**one, "dataset": "tree-cycles", "instance": i, "predicted": 1} for one in rows for i in range(12)]
        return Evidence(NO_TABLE, pd.DataFrame(both))

    assert verdicts(broken([1]), "breaks a single ring") == (HOLDS, HOLDS)
    assert verdicts(broken([1, 6]), "breaks a single ring") == (FAILS, FAILS)
    assert verdicts(ledger(rsgg_ce=[1]), "breaks a single ring") == (NOT_MEASURED, NOT_MEASURED), "paths are no rings"


# -- the appendix --------------------------------------------------------------------------------------------------


def with_file(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> Evidence:
    pd.DataFrame(rows).to_csv(folder / name, index=False)
    return Evidence(NO_TABLE, pd.DataFrame(), folder=folder)


def test_data_sets_are_what_was_measured(tmp_path: Path) -> None:
    def measured(connected: str) -> Evidence:
        row = {"dataset": "asd", "quantity": "Connected graphs", "measured": connected, "verdict": ""}
        return with_file(tmp_path, "datasets.csv", [row])

    assert verdicts(measured("99 of 101"), "majority of ASD's graphs are unconnected") == (FAILS, FAILS)
    assert verdicts(measured("9 of 101"), "majority of ASD's graphs are unconnected") == (HOLDS, HOLDS)


@pytest.mark.parametrize(("edges", "expected"), [("27.566", FAILS), ("27.992", HOLDS), ("28.200", FAILS)])
def test_the_number_of_cycles_follows_from_the_printed_statistics(
    monkeypatch: pytest.MonkeyPatch, edges: str, expected: str
) -> None:
    """A tree of 28 nodes has 27 edges; 248 of 500 graphs are cyclic: 27 + .496 · 2 edges for two cycles on average."""
    printed = of_paper("datasets", dtype=str)
    printed.loc[printed["statistic"] == "Avg # of edges", "tree-cycles"] = edges
    monkeypatch.setattr(appendix, "of_paper", lambda name, **how: printed)
    assert verdicts(NOTHING, "up to 3 cycles") == (expected, expected)
    if edges == "27.566":
        assert "283 cycles for 248 cyclic graphs, 1.14 each" in about(NOTHING, "up to 3 cycles")["evidence"]


def trials(folder: Path, method: str, values: list[float], geds: list[float], folds: int = 10) -> Evidence:
    """A search of the released variant by the paper's protocol."""
    study = {"method": method, "variant": "released", "dataset": "tree-cycles", "protocol": "paper", "space": "paper"}
    rows = [
        {**study, "outer_fold": "0-9", "number": i, "state": "complete", "value": value, "ged": ged, "folds": folds}
        for i, (value, ged) in enumerate(zip(values, geds, strict=True))
    ]
    return with_file(folder, f"hpo_{method}.csv", rows)


def test_what_a_search_brings_is_the_best_trial_against_the_median(tmp_path: Path) -> None:
    assert verdicts(trials(tmp_path, "cf2", [0.5, 0.5, 0.9], [28, 28, 28]), "CF² improves neither")[0] == FAILS
    assert verdicts(trials(tmp_path, "cf2", [0.5, 0.5, 0.5], [28, 28, 14]), "CF² improves neither")[0] == FAILS
    assert verdicts(trials(tmp_path, "cf2", [0.5, 0.5, 0.5], [28, 28, 28]), "CF² improves neither")[0] == HOLDS
    assert verdicts(trials(tmp_path, "clear", [0.5, 0.5, 0.5], [60, 60, 30]), "falls by about 50 %")[0] == HOLDS
    assert verdicts(trials(tmp_path, "clear", [0.5, 0.5, 0.5], [60, 60, 55]), "falls by about 50 %")[0] == FAILS
    trials(tmp_path, "g-countergan", [0.5, 0.5, 0.55], [9, 9, 9])
    found = trials(tmp_path, "rsgg-ce", [0.5, 0.5, 0.9], [9, 9, 9])
    assert verdicts(found, "benefits from the search more") == (HOLDS, NOT_MEASURED)
    trials(tmp_path, "g-countergan", [0.1, 0.1, 0.55], [9, 9, 9])
    assert verdicts(found, "benefits from the search more")[0] == FAILS
    assert verdicts(found, "G-CounteRGAN improves only a little")[0] == FAILS


def test_what_a_search_rests_on_is_said(tmp_path: Path) -> None:
    for method in ("cf2", "clear", "rsgg-ce"):
        trials(tmp_path, method, [0.5, 0.5, 0.9], [9, 9, 9])
    evidence = about(trials(tmp_path, "g-countergan", [0.5, 0.5, 0.9], [9, 9, 9], folds=1), "benefits from the search")
    assert "RSGG-CE 0.400 (one search, 3 complete trials over 10 folds)" in evidence["evidence"]
    assert "G-CounteRGAN 0.400 (one search, 3 complete trials over 1 fold)" in evidence["evidence"]
    assert "unequal numbers of folds are not on one scale" in evidence["evidence"]


@pytest.mark.parametrize(("statement", "vary", "flat"), [("flat", "n_instances", 0.0), ("linear", "n_nodes", 1.0)])
def test_runtime_grows_by_its_exponent(tmp_path: Path, statement: str, vary: str, flat: float) -> None:
    rows: list[dict[str, object]] = [
        {
            "vary": vary, "method": "rsgg-ce", "variant": variant, "quantity": "inference_seconds",
            "exponent": b, "ci_low": b - 0.05, "ci_high": b + 0.05, "points": "100 200 400 800 1600",
        }
        for variant, b in (("released", flat + 0.5), ("faithful", flat))
    ]  # fmt: skip
    found = with_file(tmp_path, "runtime_growth.csv", rows)
    assert verdicts(found, f"runtime at inference is {statement}") == (FAILS, HOLDS)
    wide = [{**row, "ci_low": flat - 0.5, "ci_high": flat + 0.5, "exponent": flat} for row in rows]
    unclear = with_file(tmp_path, "runtime_growth.csv", wide)
    assert verdicts(unclear, f"runtime at inference is {statement}") == (UNDECIDED, UNDECIDED)


def fits(variant: str, check: str, passed: int, dataset: str = "", stored: bool = True) -> list[dict[str, object]]:
    """Twenty fits of RSGG-CE on a data set, or on both, so many of which pass a check."""
    row = {"method": "rsgg-ce", "variant": variant, "check": check}
    said = ["yes"] * passed + ["no"] * (20 - passed) if stored else ["not stored"] * 20
    return [{**row, "dataset": d, "passed": one} for d in ([dataset] if dataset else BOTH) for one in said]


BOTH = ("tree-cycles", "asd")


def test_convergence_is_a_matter_of_most_fits(tmp_path: Path) -> None:
    rows = fits("faithful", "papers_rule", 19) + fits("released", "papers_rule", 0)
    for check in ("flips", "diversity", "edits"):
        rows += fits("faithful", check, 20) + fits("released", check, 20, stored=False)
    found = with_file(tmp_path, "convergence_checks.csv", rows)
    assert verdicts(found, "by the paper's sign") == (FAILS, HOLDS)
    assert verdicts(found, "in what is sampled") == (DOES_NOT_APPLY, HOLDS)
    assert verdicts(found, "decrease monotonically") == (NOT_MEASURED, NOT_MEASURED)


@pytest.mark.parametrize("where", BOTH)
def test_what_is_said_of_training_is_asked_on_both_data_sets(tmp_path: Path, where: str) -> None:
    """The paper's words name no data set: fits that collapse on one of them speak against the claim."""
    rows = [line for check in ("flips", "diversity") for line in fits("faithful", check, 20)]
    rows += [line for d in BOTH for line in fits("faithful", "edits", 4 if d == where else 20, d)]
    line = about(with_file(tmp_path, "convergence_checks.csv", rows), "in what is sampled")
    assert line["faithful"] == FAILS
    assert f"{'ASD' if where == 'asd' else 'Tree-Cycles'}: edits 4 of 20 fits" in line["evidence"]
    one = with_file(tmp_path, "convergence_checks.csv", [line for line in rows if line["dataset"] == where])
    assert verdicts(one, "in what is sampled")[1] == NOT_MEASURED, "not on one of them alone"


# -- files ---------------------------------------------------------------------------------------------------------


def test_where_nothing_is_stored_nothing_is_measured_and_every_claim_says_what_would_be_needed(tmp_path: Path) -> None:
    (tmp_path / "hpo_summary.csv").write_text("\n")
    pd.DataFrame(columns=[*NO_TABLE.columns, "verdict"]).to_csv(tmp_path / "table1.csv", index=False)
    found = script.render(tmp_path, tmp_path)
    assert len(found) == len(all_claims()) > 40
    judged = found[found["verdict"] != NOT_MEASURED]
    assert [claim.split()[0] for claim in judged["claim"]] == ["Tree-Cycles", "RSGG-CE"], "by print; never compared"
    assert found.drop(judged.index)["evidence"].str.contains("./reproduce.sh ", regex=False).all()
    assert list(pd.read_csv(tmp_path / "claims.csv").columns) == list(claims.COLUMNS)
    page = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert all(one.statement in page and one.quotation in page for one in all_claims())


def test_a_table_of_which_a_column_is_gone_is_not_measured_and_says_which_command_writes_it(tmp_path: Path) -> None:
    pd.DataFrame(columns=[*NO_TABLE.columns, "verdict"]).to_csv(tmp_path / "table1.csv", index=False)
    for name in ("datasets", "runtime_growth", "convergence_checks", "hpo_cf2", "ablation_cycle_size"):
        (tmp_path / f"{name}.csv").write_text("something,else\n1,2\n")
    evidence = script.render(tmp_path, tmp_path)["evidence"]
    for name in ("datasets", "runtime_growth", "convergence_checks", "hpo_cf2", "ablation_cycle_size"):
        assert evidence.str.contains(rf"{name}\.csv has no column '\w+', .* \./reproduce\.sh ", regex=True).any(), name


def test_every_claim_has_words_of_the_paper_a_check_and_is_made_once() -> None:
    table = of_paper("claims", keep_default_na=False)
    assert set(table["id"]) == set(CHECKS) and table["id"].is_unique and table["claim"].is_unique
    assert (table["quotation"].str.len() > 20).all() and table["place"].str.contains(", ").all()
    assert not table["quotation"].str.contains(r"[\\$]").any(), "plain text, no LaTeX"
    assert set(table["about"]) == {"methods", "data"}
    assert set(" ".join(table["against"]).split()) <= {"cf2", "clear", "g-countergan", "meg"}


def test_the_reference_has_a_verdict_on_every_claim() -> None:
    """That it follows from the ledgers is checked where the reference is verified."""
    found = pd.read_csv(REFERENCE / "claims.csv")
    assert list(found["claim"]) == [f"{one.statement}." for one in all_claims()]
    assert list(found["quotation"]) == [one.quotation for one in all_claims()]
    assert NOT_MEASURED not in set(found["verdict"])


def test_a_folder_without_a_table_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--from", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "holds no table1.csv; ./reproduce.sh table1 computes it" in said and said.count("\n") == 1
