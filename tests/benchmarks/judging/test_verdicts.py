"""Verdicts on printed numbers, from made-up measurements whose answer is plain."""

import csv
import re
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.judging import verdicts
from benchmarks.judging.verdicts import (
    VERDICT_COLUMNS,
    Measured,
    explanation,
    judge,
    judged,
    kind,
    per_printed_cell,
    rank,
    worth,
)
from benchmarks.registry.rules import DIFFERS, KINDS, NOT_COMPARABLE, ORDER_HOLDS, REPRODUCED
from benchmarks.results.files import PAPER, REFERENCE
from benchmarks.results.paper import Printed, paper_table, printed, printed_methods, training_share
from rsgg.statistics import NO_INTERVAL, Bounds


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


@pytest.mark.parametrize("seconds", [0.083, 0.001, 1000.0])  # as printed, of the same rank, of another rank
def test_runtimes_are_not_compared_and_the_reason_says_why(seconds):
    verdict = judge("tree-cycles", "rsgg-ce", "runtime", measured(seconds, 0.0, 2000.0))
    assert verdict.verdict == NOT_COMPARABLE
    assert "another machine, another implementation and other work timed" in verdict.reason
    assert f"{seconds:.3g} s here, 0.083 s printed" in verdict.reason


@pytest.mark.parametrize("metric", ["correctness", "runtime"])
def test_what_has_no_interval_is_not_judged(metric):
    verdict = judge("tree-cycles", "rsgg-ce", metric, Measured(0.9, NO_INTERVAL, "2 folds were run"))
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
    assert "not compared" in explanation("asd", "g-countergan", "runtime")
    assert explanation("asd", "obs", "ged") == ""


def test_the_printed_row_of_g_countergan_on_asd_averages_six_folds():
    cell = printed("asd", "g-countergan", "oracle_calls")
    assert cell is not None and cell.folds == 6
    six = [12000 / 11] + 5 * [12000 / 10]
    assert round(sum(six) / 6 + 1, 3) == cell.value
    other = printed("asd", "cf2", "ged")
    assert other is not None and other.folds == 10


# -- what a verdict is worth ----------------------------------------------------------------------------------------


def printed_cells() -> list[dict[str, str]]:
    with (PAPER / "table1.csv").open(newline="", encoding="utf-8") as file:
        return [line for line in csv.DictReader(file) if line["value"]]


def test_every_printed_cell_is_of_one_kind():
    found = Counter(kind(line["dataset"], line["method"], line["metric"]) for line in printed_cells())
    assert found == {"independent": 29, "accounting": 13, "derived": 12, "constant": 9}
    assert set(found) == set(KINDS)


def test_kinds_are_those_that_the_printed_numbers_themselves_show():
    """Of the printed table alone: what is constant over methods, equals Correctness, or is GED over a size."""
    values = {(line["dataset"], line["method"], line["metric"]): float(line["value"]) for line in printed_cells()}
    size = {"tree-cycles": 55.57, "asd": 771.6}
    for (dataset, method, metric), value in values.items():
        of = kind(dataset, method, metric)
        everyone = {values[cell] for cell in values if (cell[0], cell[2]) == (dataset, metric)}
        assert (of == "constant") == (len(everyone) == 1), (dataset, metric)
        if method != "meg" and metric == "fidelity":
            assert (of == "derived") == (value == values[dataset, method, "correctness"]), (dataset, method)
        if method != "meg" and metric == "sparsity":
            size_of_ged = values[dataset, method, "ged"] / size[dataset]
            assert of == "derived" and value == pytest.approx(size_of_ged, rel=0.01)
        if metric == "oracle_calls" or (method == "meg" and metric not in ("runtime", "oracle_accuracy")):
            assert of == "accounting"
        if metric in ("ged", "correctness") and method != "meg":
            assert of == "independent"


def test_every_line_of_kinds_is_used_and_says_why():
    lines = list(csv.DictReader((PAPER / "kinds.csv").open(newline="", encoding="utf-8")))
    assert all(line["why"] and line["kind"] in KINDS for line in lines)
    first = {
        next(
            i for i, line in enumerate(lines)
            if all(line[name] in ("*", cell[name]) for name in ("dataset", "method", "metric"))
        )
        for cell in printed_cells()
    }  # fmt: skip
    assert first == set(range(len(lines)))


def test_agreement_can_fail_where_no_rival_s_number_would_agree_too():
    """CF² 27.564, CLEAR 61.686, MEG 159.700, G-CounteRGAN 182.414 are the rivals of RSGG-CE's 11.000."""
    assert worth("tree-cycles", "rsgg-ce", "ged", Bounds(10.0, 12.0)).can_fail == "yes"
    wide = worth("tree-cycles", "rsgg-ce", "ged", Bounds(10.0, 62.0))
    assert wide.can_fail == "no" and "2 of 4 rivals: 27.564 (CF²), 61.686 (CLEAR)" in wide.why
    assert worth("tree-cycles", "rsgg-ce", "ged", Bounds(9.0, 10.0)).can_fail == "yes", "reproduced or not"
    assert worth("tree-cycles", "rsgg-ce", "ged", Bounds(10.0, 27.5636)).can_fail == "no", "printed 27.564 is rounded"
    assert worth("tree-cycles", "rsgg-ce", "ged", Bounds(10.0, 27.5634)).can_fail == "yes"


def test_a_number_that_a_rival_shares_cannot_fail():
    """CLEAR and G-CounteRGAN are both printed with .504, and every method with Oracle Accuracy 1."""
    assert worth("tree-cycles", "clear", "correctness", Bounds(0.504, 0.504)).can_fail == "no"
    assert worth("tree-cycles", "cf2", "oracle_accuracy", Bounds(1.0, 1.0)).can_fail == "no"


def test_a_class_prior_cannot_fail():
    assert worth("asd", "cf2", "correctness", Bounds(0.462, 0.468)).can_fail == "yes"
    prior = worth("asd", "cf2", "correctness", Bounds(0.462, 0.468), prior=47 / 101)
    assert prior.can_fail == "no" and "the share of a class, 0.465" in prior.why
    assert worth("asd", "cf2", "correctness", Bounds(0.462, 0.468), prior=0.48).can_fail == "yes"


def test_what_is_not_judged_cannot_fail_and_what_was_not_measured_is_left_open():
    assert worth("asd", "cf2", "runtime", Bounds(0.0, 1.0)).can_fail == "no"
    assert worth("asd", "cf2", "ged", NO_INTERVAL) == ("", "")


@pytest.mark.parametrize(("class_0", "class_1", "expected"), [(1.0, 0.0, "no"), (0.0, 1.0, "yes"), (0.96, 0.04, "no"),
                                                              (0.96, 0.06, "yes"), (0.94, 0.0, "yes")])  # fmt: skip
def test_a_method_that_moves_every_graph_one_way_is_known_by_its_correctness_per_class(class_0, class_1, expected):
    """47 of 101 graphs are of class 0: a method that moves all of those and no other is right on .465."""
    row = {"dataset": "asd", "method": "cf2", "variant": "released", "verdict": REPRODUCED, "reason": "inside"}
    lines = [
        {**row, "metric": "correctness", "mean": 0.465, "judged": 0.465, "pi_low": 0.46, "pi_high": 0.47, "n": 101},
        {**row, "metric": "correctness_class_0", "mean": class_0, "n": 47},
        {**row, "metric": "correctness_class_1", "mean": class_1, "n": 54},
    ]
    found = per_printed_cell(pd.DataFrame(lines)).set_index(["dataset", "method", "metric"])
    assert found.loc[("asd", "cf2", "correctness"), "can_fail"] == expected
    assert tuple(found.reset_index()[list(VERDICT_COLUMNS)].columns)[-3:] == ("kind", "can_fail", "why")


def test_can_fail_on_the_reference_by_a_plain_derivation():
    """From the two files with text and floats alone: half of the last of three digits, each rival in turn."""
    table = pd.read_csv(REFERENCE / "table1.csv", keep_default_na=False, na_values=[""])
    table[["verdict", "reason"]] = table[["verdict", "reason"]].fillna("")
    lines = per_printed_cell(table).to_dict("records")
    ours = {tuple(row[:4]): row[4:] for row in table[["dataset", "method", "variant", "metric", "pi_low", "pi_high",
                                                      "mean", "n"]].itertuples(index=False)}  # fmt: skip
    assert len(lines) == 63
    for line in lines:
        on = "tree-cycles-32" if line["method"] == "meg" else line["dataset"]
        low, high, _, _ = ours[on, line["method"], "released", line["metric"]]
        fits = [
            low - 0.0005 - 1e-6 <= float(other["value"]) <= high + 0.0005 + 1e-6
            for other in printed_cells()
            if (other["dataset"], other["metric"]) == (line["dataset"], line["metric"])
            and other["method"] != line["method"]
        ]
        expected = not any(fits) and line["metric"] != "runtime"
        if line["metric"] == "correctness":
            per_class = [ours[on, line["method"], "released", f"correctness_class_{c}"][2:] for c in (0, 1)]
            (worst, left), (best, moved) = sorted(per_class)
            one_way = worst <= 0.05 and best >= 0.95
            expected = expected and not (one_way and low <= moved / (moved + left) <= high)
        expected = expected or line["verdict"] in ("order holds", "differs")
        assert line["can_fail"] == ("yes" if expected else "no"), line


def test_what_failed_could_fail():
    """Whatever the interval holds for rivals."""
    interval = Bounds(0.2, 0.31)  # holds G-CounteRGAN's .265, CF²'s and RSGG-CE's .287 and not CLEAR's .319
    assert worth("asd", "clear", "fidelity", interval).can_fail == "no"
    assert worth("asd", "clear", "fidelity", interval, verdict="differs") == ("yes", "it did")


def test_a_row_that_is_not_as_released_is_judged_only_where_it_can_fail():
    """RSGG-CE on ASD: .603 is printed; from .3 to .68 an interval holds it and all rivals, from .59 to .68 only it."""
    row = {"dataset": "asd", "method": "rsgg-ce", "metric": "correctness", "mean": 0.6, "judged": 0.6, "basis": ""}
    lines = [
        {**row, "variant": variant, "pi_low": low, "pi_high": 0.68}
        for variant, low in (("released", 0.3), ("literal", 0.3), ("faithful", 0.59))
    ]
    found = judged(pd.DataFrame(lines)).set_index("variant")
    assert found["verdict"].to_dict() == {"released": "reproduced", "literal": "", "faithful": "agrees"}
    assert found.loc["literal", "reason"].startswith("not judged: our interval also holds what is printed for 3 of 3")


def test_a_row_is_not_judged_by_a_number_that_comes_from_other_data():
    """MEG's printed row on Tree-Cycles comes from graphs of 32 nodes: on 28 nodes nothing can be reproduced."""
    row = {"method": "meg", "metric": "ged", "mean": 159.7, "judged": 159.7, "pi_low": 150.0, "pi_high": 170.0}
    lines = [
        {**row, "dataset": dataset, "variant": variant, "basis": ""}
        for dataset in ("tree-cycles", "tree-cycles-32")
        for variant in ("released", "faithful")
    ]
    found = judged(pd.DataFrame(lines)).set_index(["dataset", "variant"])
    assert list(found["verdict"]) == ["", "", "reproduced", "agrees"] and set(found["paper"]) == {"159.700"}
    said = found.loc[("tree-cycles", "released"), "reason"]
    assert said == "not judged: the printed row comes from other data (Tree-Cycles, 32 nodes)"


def test_a_fidelity_that_follows_from_a_class_prior_is_withdrawn_with_it():
    """CF² moves one class only, .496 of the graphs. On ASD the oracle errs, and Fidelity does not follow."""
    row = {"dataset": "tree-cycles", "method": "cf2", "variant": "faithful", "basis": ""}
    own = {"mean": 0.496, "judged": 0.496, "pi_low": 0.4955, "pi_high": 0.4965, "n": 1000}
    lines = [{**row, **own, "metric": metric} for metric in ("correctness", "fidelity")]
    lines += [{**row, "metric": f"correctness_class_{c}", "mean": c, "n": n} for c, n in ((0, 504), (1, 496))]
    found = judged(pd.DataFrame(lines)).set_index("metric")
    for metric in ("correctness", "fidelity"):
        assert found.loc[metric, "verdict"] == "" and "the share of a class, 0.496" in found.loc[metric, "reason"]
    classes = {f"correctness_class_{c}": {"mean": c, "n": n} for c, n in ((0, 504), (1, 496))}
    assert verdicts._prior("asd", "cf2", "correctness", classes) == 0.496
    assert verdicts._prior("asd", "cf2", "fidelity", classes) is None


def test_a_difference_is_explained_only_where_there_is_one():
    """What the file says of a printed number that comes out again does not speak of how far off it is."""
    table = pd.read_csv(REFERENCE / "verdicts.csv", dtype=str, keep_default_na=False)
    for line in table[table["verdict"] == REPRODUCED].itertuples():
        said = explanation(line.measured_on, line.method, line.metric)
        assert said and not re.search(r"not known|not explained|\boff\b", said), (line.method, line.metric, said)


def test_inferences_are_called_so():
    table = pd.read_csv(Path(verdicts.__file__).with_name("explanations.csv"), dtype=str)
    for words in ("found on disk", "one loaded", "averages six folds", "code of April 2023"):
        (said,) = [text for text in table["explanation"].unique() if words in text]
        assert "inferred" in said, said
    assert "cannot be told apart" in explanation("tree-cycles", "rsgg-ce", "oracle_calls")
