"""Claims: trends against NumPy's fits, and verdicts on made-up results in which the truth was planted both ways."""

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
    CLAIMS,
    DOES_NOT_APPLY,
    DOES_NOT_HOLD,
    FAILS,
    HOLDS,
    NOT_MEASURED,
    RELEASED_ONLY,
    WRITTEN_ONLY,
    compute,
    overall,
)
from benchmarks.judging.claims.edits import operations, profile, unlikeness
from benchmarks.judging.claims.trends import rank_correlation, trend, turning_points, weighted_slope
from benchmarks.judging.evidence import Evidence
from benchmarks.registry.ablations import PAPER
from benchmarks.results.files import REFERENCE

X = np.array([3, 5, 8, 10, 12, 15, 18, 20, 23, 25, 28], dtype=float)
NO_TABLE = pd.DataFrame(columns=["dataset", "method", "variant", "metric", "mean"])


# -- trends --------------------------------------------------------------------------------------------------------


def noise(seed: int, size: float = 0.02) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, size, len(X))


@pytest.mark.parametrize("degree", [1, 2])
def test_with_equal_errors_the_fit_is_that_of_numpy(degree: int) -> None:
    y = 3 + 0.1 * X - 0.02 * X**2 + noise(0, 0.5)
    fitted, covariance = np.polyfit(X, y, degree, cov=True)
    found = weighted_slope(X, y, np.full(len(X), 1e-6), degree=degree)
    t = {1: 2.262157, 2: 2.306004}[degree]  # of 9 and 8 degrees of freedom, from a table
    assert found.slope == pytest.approx(fitted[0])
    assert found.high - found.slope == pytest.approx(t * np.sqrt(covariance[0, 0]), rel=1e-3)


def test_points_with_small_errors_weigh_more() -> None:
    """The last point is far off a flat line, but nothing is known about it."""
    y = np.where(X == 28, 5.0, 0.0) + noise(1, 0.01)
    sure = np.where(X == 28, 100.0, 0.01)
    assert abs(weighted_slope(X, y, sure).slope) < 0.01 < weighted_slope(X, y, np.full(len(X), 0.01)).slope


@pytest.mark.parametrize(
    ("course", "expected"),
    [
        (0.5 + 0.01 * X, "rises"),
        (1 - np.exp(-X / 3), "rises"),  # saturates, and its errors with it
        (0.9 - 0.01 * X, "falls"),
        (np.full(len(X), 0.7), "neither"),
    ],
)
def test_a_planted_trend_is_found_and_none_where_there_is_none(course: np.ndarray, expected: str) -> None:
    for seed in range(5):
        error = 0.02 * (1 - course)
        found = trend(X, course + error * noise(seed, 1.0), error)
        assert ("rises" if found.rises else "falls" if found.falls else "neither") == expected


def test_the_interval_of_a_flat_curve_holds_zero_nineteen_times_in_twenty() -> None:
    rng = np.random.default_rng(0)
    flat = [trend(X, rng.normal(0, 0.1, len(X)), np.full(len(X), 0.1)) for _ in range(400)]
    assert 0.92 < np.mean([not (one.rises or one.falls) for one in flat]) <= 1.0


def test_only_a_bent_curve_has_a_quadratic_term() -> None:
    line, bent = (weighted_slope(X, y, np.zeros(len(X)), degree=2) for y in (2 * X, X**2))
    assert line.low <= 0 <= line.high and line.slope == pytest.approx(0, abs=1e-9)
    assert bent.slope == pytest.approx(1) and bent.low > 0


def test_a_change_that_is_sure_but_small_leaves_a_curve_flat() -> None:
    found = trend(X, 1 + 0.001 * X, np.zeros(len(X)))
    assert found.rises and found.change == pytest.approx(0.025)
    assert found.flat(0.05) and not found.flat(0.01)


def test_too_few_points_have_no_interval() -> None:
    assert weighted_slope([1, 2], [3, 5], [0, 0]).slope == pytest.approx(2)
    assert np.isnan(weighted_slope([1, 2], [3, 5], [0, 0]).low) and np.isnan(weighted_slope([1], [3], [0]).slope)


def test_turning_points_and_ranks() -> None:
    assert [turning_points(y) for y in ([1, 2, 3], [1, 2, 1, 2], [1, 1, 1], [1, 2, 2, 1])] == [0, 2, 0, 1]
    assert rank_correlation([1, 2, 3], [1, 4, 9]) == pytest.approx(1) and rank_correlation([1, 2, 3], [5, 5, 5]) == 0


# -- verdicts ------------------------------------------------------------------------------------------------------


def test_the_verdict_is_a_function_of_the_two_partial_ones() -> None:
    partial = (HOLDS, FAILS, NOT_MEASURED, DOES_NOT_APPLY)
    found = {pair: overall(*pair) for pair in product(partial, partial)}
    assert found[HOLDS, HOLDS] == found[HOLDS, NOT_MEASURED] == found[DOES_NOT_APPLY, HOLDS] == HOLDS
    assert found[HOLDS, FAILS] == RELEASED_ONLY and found[FAILS, HOLDS] == WRITTEN_ONLY
    assert found[FAILS, FAILS] == found[FAILS, NOT_MEASURED] == found[DOES_NOT_APPLY, FAILS] == DOES_NOT_HOLD
    assert found[NOT_MEASURED, NOT_MEASURED] == found[DOES_NOT_APPLY, NOT_MEASURED] == NOT_MEASURED


def verdicts(results: Evidence, statement: str) -> tuple[str, str]:
    """The partial verdicts on the claim whose statement holds these words."""
    line = about(results, statement)
    return line["released"], line["faithful"]


def about(results: Evidence, statement: str) -> pd.Series:
    (one,) = (one for one in CLAIMS if statement in one.statement)
    return compute(results, [one]).iloc[0]


def table1(values: Mapping[tuple[str, str, str, str], float]) -> Evidence:
    lines = [dict(zip(NO_TABLE.columns, (*key, mean), strict=True)) for key, mean in values.items()]
    return Evidence(pd.DataFrame(lines, columns=list(NO_TABLE.columns)), pd.DataFrame())


def five(metric: str, released: float, faithful: float, others: float) -> dict[tuple[str, str, str, str], float]:
    """RSGG-CE's values on both data sets, and one for the others."""
    ours = {"released": released, "faithful": faithful}
    return {
        (dataset, method, variant, metric): ours[variant] if method == "rsgg-ce" else others
        for dataset in ("tree-cycles", "asd")
        for method in ("rsgg-ce", "cf2", "clear", "g-countergan", "meg")
        for variant in ours
    }


def test_the_best_of_table1_is_the_best_on_both_data_sets() -> None:
    means = five("correctness", 0.9, 0.5, 0.5)
    assert verdicts(table1(means), "highest Correctness") == (HOLDS, FAILS), "a tie is not the highest"
    means["asd", "clear", "released", "correctness"] = 0.95
    assert verdicts(table1(means), "highest Correctness") == (FAILS, FAILS)
    ged = five("ged", 9.0, 11.0, 10.0) | five("ged_on_success", 9.0, 11.0, 10.0)
    assert verdicts(table1(ged), "lowest GED") == (HOLDS, FAILS)


def test_gains_are_those_over_our_second_method() -> None:
    line = about(table1(five("correctness", 0.9, 0.6, 0.5)), "66.98")
    assert (line["released"], line["faithful"], line["verdict"]) == (HOLDS, FAILS, RELEASED_ONLY)
    assert "+80.00 %" in line["evidence"] and "the printed table gives 66.98 % over meg" in line["evidence"]
    stronger = five("correctness", 0.9, 0.6, 0.5)
    stronger["tree-cycles", "clear", "released", "correctness"] = 0.75  # the rival to beat, not the weakest one
    line = about(table1(stronger), "66.98")
    assert line["released"] == FAILS and "+20.00 % over clear" in line["evidence"]


def test_meg_may_be_missing_on_asd_and_no_other_method_anywhere() -> None:
    means = five("correctness", 0.9, 0.9, 0.5)
    for variant in ("released", "faithful"):
        del means["asd", "meg", variant, "correctness"]
    del means["asd", "clear", "faithful", "correctness"]
    assert verdicts(table1(means), "highest Correctness") == (HOLDS, NOT_MEASURED)


def test_running_time_is_a_matter_of_ranks() -> None:
    means = five("runtime", 1.0, 3.0, 2.0) | five("runtime_with_training", 1.0, 3.0, 2.0)
    assert verdicts(table1(means), "running time") == (HOLDS, FAILS)


# -- ablations -----------------------------------------------------------------------------------------------------

Course = Callable[[np.ndarray], np.ndarray]


def curves(folder: Path, vary: str, method: str, metric: str, released: Course, faithful: Course) -> Evidence:
    """Add two curves to an ablation's file."""
    path, values = folder / f"ablation_{vary}.csv", np.array(list(PAPER[vary].points), dtype=float)
    frames = [pd.read_csv(path)] if path.exists() else []
    for variant, course in (("released", released), ("faithful", faithful)):
        row = {"value": values.astype(int), "method": method, "variant": variant, "metric": metric}
        frames.append(pd.DataFrame({**row, "mean": course(values), "se": 0.01, "folds": 10}))
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
    ("n_nodes", "cf2", "ged_per_node", "tends to 1", lambda x: 1 - 0.5 / x, flat),
    ("n_instances", "rsgg-ce", "correctness", "stable above 250", late, flat),
    ("n_instances", "rsgg-ce", "correctness", "stable above 250", late, per_doubling),
]


@pytest.mark.parametrize(("vary", "method", "metric", "statement", "true", "false"), ABLATED)
def test_a_claim_on_a_curve_holds_where_it_was_planted(
    tmp_path: Path, vary: str, method: str, metric: str, statement: str, true: Course, false: Course
) -> None:
    assert verdicts(curves(tmp_path, vary, method, metric, true, false), statement) == (HOLDS, FAILS)


def test_claims_on_two_curves_need_both(tmp_path: Path) -> None:
    curves(tmp_path, "n_instances", "rsgg-ce", "ged", flat, flat)
    both = curves(tmp_path, "n_instances", "cf2", "ged", flat, per_doubling)
    assert verdicts(both, "GED is not affected by the number of instances") == (HOLDS, FAILS)
    curves(tmp_path, "n_cycles", "rsgg-ce", "correctness", falling, flat)
    both = curves(tmp_path, "n_nodes", "rsgg-ce", "correctness", flat, flat)
    assert verdicts(both, "solely affected by the complexity") == (HOLDS, FAILS)
    curves(tmp_path, "n_instances", "rsgg-ce", "correctness", rising, flat)
    both = curves(tmp_path, "n_instances", "cf2", "correctness", late, late)
    assert verdicts(both, "at a lower level") == (HOLDS, HOLDS)


@pytest.mark.parametrize(
    ("vary", "statement", "true", "false"),
    [
        ("cycle_size", "GED of RSGG-CE does not rise", falling, rising),
        ("n_cycles", "linear in the number of cycles", rising, bent),
        ("n_cycles", "linear in the number of cycles", rising, flat),
    ],
)
def test_claims_on_ged_show_that_of_successes_beside_it(
    tmp_path: Path, vary: str, statement: str, true: Course, false: Course
) -> None:
    curves(tmp_path, vary, "rsgg-ce", "ged", true, false)
    found = curves(tmp_path, vary, "rsgg-ce", "ged_on_success", flat, flat)
    assert verdicts(found, statement) == (HOLDS, FAILS)
    assert "where a counterfactual was found: slope +0 per" in about(found, statement)["evidence"]


def test_evidence_has_the_numbers_and_the_file(tmp_path: Path) -> None:
    said = about(curves(tmp_path, "n_cycles", "cf2", "ged", rising, falling), "GED of CF² rises")["evidence"]
    assert "slope +0.0133 per cycle" in said and "0.5 at 2 and 0.9 at 32" in said and "ablation_n_cycles.csv" in said


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
    """One path of four nodes; each method's edits to it, released and faithful alike."""
    rows = [row("empty", "control", PATH)]
    rows += [row(m.replace("_", "-"), v, own) for m, own in edits.items() for v in ("released", "faithful")]
    both = pd.DataFrame([{**one, "dataset": dataset} for one in rows for dataset in ("asd", "tree-cycles")])
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
        ("only one of the other methods that does all three", {"g_countergan": [1, 3]}),
        ("only method that makes self loops", {"rsgg_ce": [5]}),
        ("only method that makes self loops", {"clear": [1, 3]}),
        ("densely connected", {"g_countergan": [1, 3]}),
        ("RSGG-CE mainly removes", {"rsgg_ce": [3]}),
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


# -- the appendix --------------------------------------------------------------------------------------------------


def with_file(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> Evidence:
    pd.DataFrame(rows).to_csv(folder / name, index=False)
    return Evidence(NO_TABLE, pd.DataFrame(), folder=folder)


def test_data_sets_are_what_was_measured(tmp_path: Path) -> None:
    def measured(connected: str, cycles: str) -> Evidence:
        row = {"dataset": "asd", "quantity": "Connected graphs", "measured": connected, "verdict": ""}
        most = {"dataset": "tree-cycles", "quantity": "Max # of cycles", "measured": cycles, "verdict": ""}
        return with_file(tmp_path, "datasets.csv", [row, most])

    assert verdicts(measured("99 of 101", "2"), "majority of ASD's graphs are unconnected") == (FAILS, FAILS)
    assert verdicts(measured("9 of 101", "3"), "majority of ASD's graphs are unconnected") == (HOLDS, HOLDS)
    assert verdicts(measured("9 of 101", "3"), "up to 3 cycles") == (HOLDS, HOLDS)
    assert verdicts(measured("9 of 101", "2"), "up to 3 cycles") == (FAILS, FAILS)


def trials(folder: Path, method: str, values: list[float], geds: list[float]) -> Evidence:
    """A search of the released variant by the paper's protocol."""
    study = {"method": method, "variant": "released", "dataset": "tree-cycles", "protocol": "paper", "space": "paper"}
    rows = [
        {**study, "outer_fold": "0-9", "number": i, "state": "complete", "value": value, "ged": ged}
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


@pytest.mark.parametrize(("statement", "vary", "flat"), [("flat", "n_instances", 0.0), ("linear", "n_nodes", 1.0)])
def test_runtime_grows_by_its_exponent(tmp_path: Path, statement: str, vary: str, flat: float) -> None:
    rows: list[dict[str, object]] = [
        {
            "vary": vary, "method": "rsgg-ce", "variant": variant, "quantity": "inference_seconds",
            "exponent": b, "ci_low": b - 0.05, "ci_high": b + 0.05, "points": 5,
        }
        for variant, b in (("released", flat + 0.5), ("faithful", flat))
    ]  # fmt: skip
    found = with_file(tmp_path, "runtime_growth.csv", rows)
    assert verdicts(found, f"runtime at inference is {statement}") == (FAILS, HOLDS)


def test_convergence_is_a_matter_of_most_fits(tmp_path: Path) -> None:
    def fits(variant: str, check: str, passed: list[str]) -> list[dict[str, object]]:
        row = {"dataset": "tree-cycles", "method": "rsgg-ce", "variant": variant, "check": check}
        return [{**row, "passed": one} for one in passed]

    rows = fits("faithful", "papers_rule", ["yes"] * 19 + ["no"]) + fits("released", "papers_rule", ["no"] * 20)
    for check in ("flips", "diversity", "edits"):
        rows += fits("faithful", check, ["yes"] * 20) + fits("released", check, ["not stored"] * 20)
    found = with_file(tmp_path, "convergence_checks.csv", rows)
    assert verdicts(found, "by the paper's sign") == (FAILS, HOLDS)
    assert verdicts(found, "in what is sampled") == (DOES_NOT_APPLY, HOLDS)
    assert verdicts(found, "decrease monotonically") == (NOT_MEASURED, NOT_MEASURED)


# -- files ---------------------------------------------------------------------------------------------------------


def test_where_nothing_is_stored_nothing_is_measured_and_every_claim_says_what_would_be_needed(tmp_path: Path) -> None:
    (tmp_path / "hpo_summary.csv").write_text("\n")
    pd.DataFrame(columns=[*NO_TABLE.columns, "verdict"]).to_csv(tmp_path / "table1.csv", index=False)
    found = script.render(tmp_path, tmp_path)
    assert len(found) == len(CLAIMS) > 40 and set(found["verdict"]) == {NOT_MEASURED}
    assert found["evidence"].str.contains("./reproduce.sh ", regex=False).all()
    assert list(pd.read_csv(tmp_path / "claims.csv").columns) == list(claims.COLUMNS)
    page = (tmp_path / "claims.md").read_text(encoding="utf-8")
    assert all(one.statement in page for one in CLAIMS)


def test_no_claim_is_made_twice() -> None:
    assert len({one.statement for one in CLAIMS}) == len(CLAIMS)


def test_what_the_reference_says_of_the_claims() -> None:
    """That it follows from the ledgers is checked where the reference is verified."""
    found = pd.read_csv(REFERENCE / "claims.csv").set_index("claim")
    assert found.loc["RSGG-CE has the highest Correctness of the five methods on both data sets.", "released"] == HOLDS
    assert found.loc["The majority of ASD's graphs are unconnected.", "verdict"] == DOES_NOT_HOLD
    assert found.loc["RSGG-CE mainly removes edges.", "released"] == HOLDS
    assert len(found) == len(CLAIMS) and NOT_MEASURED not in set(found["verdict"])
    assert set(found["place"]) == {one.place for one in CLAIMS}


def test_a_folder_without_a_table_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["claims", "--from", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "holds no table1.csv; ./reproduce.sh table1 computes it" in said and said.count("\n") == 1
