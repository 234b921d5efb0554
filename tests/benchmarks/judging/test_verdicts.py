"""Verdicts on printed numbers, from made-up measurements whose answer is plain."""

import pandas as pd
import pytest

from benchmarks.judging.verdicts import (
    DIFFERS,
    ORDER_HOLDS,
    REPRODUCED,
    Measured,
    explanation,
    judge,
    per_printed_cell,
    rank,
)
from benchmarks.results.paper import Printed, paper_table, printed, printed_methods, training_share
from rsgg.statistics import NOWHERE, Bounds


def measured(mean: float, low: float, high: float) -> Measured:
    return Measured(mean, Bounds(low, high), "10 replicates")


def test_what_is_printed_is_kept_as_text():
    cell = printed("tree-cycles", "rsgg-ce", "ged")
    assert cell == Printed("11.000", "Table 1, TC, RSGG-CE, GED")
    assert cell.range == pytest.approx((10.9995, 11.0005))
    assert printed("asd", "meg", "ged") is None
    assert printed("tree-cycles", "obs", "ged") is None
    assert len(paper_table()) == 70


def test_inside_the_interval_is_reproduced_and_the_reason_says_which():
    verdict = judge("tree-cycles", "rsgg-ce", "correctness", measured(0.89, 0.86, 0.92))
    assert verdict.verdict == REPRODUCED
    assert "0.885" in verdict.reason and "[0.860, 0.920]" in verdict.reason and "10 replicates" in verdict.reason


@pytest.mark.parametrize(("low", "expected"), [(0.8854, REPRODUCED), (0.8856, ORDER_HOLDS)])
def test_rounding_counts_for_the_paper(low, expected):
    assert judge("tree-cycles", "rsgg-ce", "correctness", measured(0.9, low, 0.95)).verdict == expected


def test_an_interval_of_no_width_can_hold_a_printed_value():
    assert judge("tree-cycles", "cf2", "oracle_calls", measured(0.0, 0.0, 0.0)).verdict == REPRODUCED
    assert judge("asd", "clear", "oracle_calls", measured(5339.4545, 5339.4545, 5339.4545)).verdict == REPRODUCED


def test_outside_the_interval_the_rank_decides():
    near = judge("tree-cycles", "rsgg-ce", "ged", measured(10.0, 9.9, 10.1))
    assert (near.verdict, "keeps rank 1 of 5" in near.reason) == (ORDER_HOLDS, True)
    assert "0.900 (8.2 %) above" in near.reason
    far = judge("tree-cycles", "rsgg-ce", "ged", measured(30.0, 29.0, 31.0))
    assert (far.verdict, "moves from rank 1 to rank 2 of 5" in far.reason) == (DIFFERS, True)
    assert "below" in far.reason
    assert "of 4" in judge("asd", "rsgg-ce", "ged", measured(1.0, 0.9, 1.1)).reason  # MEG has no number there


def test_ties_keep_a_rank_that_others_share():
    """CLEAR and G-CounteRGAN are both printed with .504: a little more changes nothing, a little less does."""
    assert judge("tree-cycles", "clear", "correctness", measured(0.510, 0.509, 0.511)).verdict == ORDER_HOLDS
    assert judge("tree-cycles", "clear", "correctness", measured(0.500, 0.499, 0.501)).verdict == DIFFERS
    assert rank({"a": 1.0, "b": 1.0, "c": 2.0}, "b", higher_is_better=True) == 2
    assert rank({"a": 1.0, "b": 1.0, "c": 2.0}, "b", higher_is_better=False) == 1


def test_runtime_is_never_reproduced():
    same = judge("tree-cycles", "rsgg-ce", "runtime", measured(0.083, 0.0, 1.0))
    assert same.verdict == ORDER_HOLDS and "machine" in same.reason
    assert judge("tree-cycles", "cf2", "runtime", measured(0.001, 0.0, 1.0)).verdict == DIFFERS


@pytest.mark.parametrize("metric", ["correctness", "runtime"])
def test_what_has_no_interval_is_not_judged(metric):
    verdict = judge("tree-cycles", "rsgg-ce", metric, Measured(0.9, NOWHERE, "2 folds were run"))
    assert verdict.verdict == "" and "not judged: 2 folds were run" in verdict.reason


def test_where_nothing_is_printed_or_measured_there_is_no_verdict():
    assert judge("tree-cycles", "obs", "ged", measured(1, 0, 2)).verdict == ""
    assert judge("asd", "meg", "ged", measured(1, 0, 2)).verdict == ""
    assert judge("tree-cycles", "rsgg-ce", "ged_on_success", measured(1, 0, 2)).verdict == ""
    assert judge("tree-cycles", "rsgg-ce", "ged", measured(float("nan"), 0, 2)).verdict == ""


def test_training_inside_the_printed_rows():
    assert [training_share("tree-cycles", m) for m in ("rsgg-ce", "cf2", "clear", "meg", "obs")] == [0, 0, 0.9, 0, 0]
    assert [training_share("asd", m) for m in ("rsgg-ce", "cf2", "clear", "g-countergan")] == [1, 0, 1, 1]


def test_printed_methods():
    assert printed_methods("asd", "fidelity") == {
        "cf2": 0.287, "clear": 0.319, "g-countergan": 0.265, "rsgg-ce": 0.287,
    }  # fmt: skip


# -- one verdict per printed cell -----------------------------------------------------------------------------------


def test_every_printed_number_gets_a_line_and_an_explanation():
    columns = ["dataset", "method", "variant", "metric", "mean", "pi_low", "pi_high", "verdict", "reason"]
    lines = per_printed_cell(pd.DataFrame(columns=columns))
    assert len(lines) == 63 and set(lines["verdict"]) == {""} and set(lines["reason"]) == {"not measured"}
    assert (lines["explanation"] != "").all()
    assert set(lines.loc[lines["method"] == "meg", "measured_on"]) == {"tree-cycles-32"}


def test_a_row_is_judged_on_the_data_it_comes_from():
    row = {"variant": "released", "judged": 159.0, "pi_low": 155.0, "pi_high": 163.0, "reason": "inside"}
    table = pd.DataFrame(
        [
            {"dataset": "tree-cycles-32", "method": "meg", "metric": "ged", "verdict": REPRODUCED, **row},
            {"dataset": "tree-cycles", "method": "meg", "metric": "ged", "verdict": DIFFERS, **row},
        ]
    )
    lines = per_printed_cell(table).set_index(["dataset", "method", "metric"])
    assert lines.loc[("tree-cycles", "meg", "ged"), "verdict"] == REPRODUCED
    assert printed("tree-cycles-32", "meg", "ged") == printed("tree-cycles", "meg", "ged")
    assert printed("tree-cycles-32", "cf2", "ged") is None
    assert judge("tree-cycles-32", "meg", "ged", measured(159.0, 155.0, 163.0)).verdict == REPRODUCED


def test_explanations_go_from_the_particular_to_the_general():
    assert "six folds" in explanation("asd", "g-countergan", "oracle_calls")
    assert "untrained" in explanation("asd", "g-countergan", "ged")
    assert "another machine" in explanation("asd", "g-countergan", "runtime")
    assert explanation("asd", "obs", "ged") == ""


def test_the_printed_row_of_g_countergan_on_asd_averages_six_folds():
    cell = printed("asd", "g-countergan", "oracle_calls")
    assert cell is not None and cell.folds == 6
    six = [12000 / 11] + 5 * [12000 / 10]
    assert round(sum(six) / 6 + 1, 3) == cell.value
    other = printed("asd", "cf2", "ged")
    assert other is not None and other.folds == 10
