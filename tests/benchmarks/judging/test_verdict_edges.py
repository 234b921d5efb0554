"""Verdicts at the edges of their rules: values on a limit, negative and large printed numbers, words of all kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.judging import verdicts
from benchmarks.judging.verdicts import Measured
from benchmarks.registry.rules import CAN_FAIL, CANNOT_FAIL, ONE_WAY
from benchmarks.results.paper import Printed
from rsgg.statistics import Bounds


def test_words_of_a_file_are_taken_as_they_are(tmp_path: Path) -> None:
    """The first line that fits counts; "NA" and nothing are words too, not missing values."""
    file = tmp_path / "words.csv"
    file.write_text("dataset,method,metric,words\na,b,c,\na,*,c,NA\n*,*,*,rest\n")
    assert verdicts._first_that_fits(file, "words", ("a", "b", "c")) == ""
    assert verdicts._first_that_fits(file, "words", ("a", "x", "c")) == "NA"
    assert verdicts._first_that_fits(file, "words", ("x", "b", "c")) == "rest"


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("beyond", "holds"), [(2e-6, True), (8e-6, False)])
def test_rounding_errors_are_forgiven_in_proportion_to_the_number(sign: int, beyond: float, holds: bool) -> None:
    """Of a printed ±5339.45 up to 5.3e-6, on both sides of an interval."""
    paper = Printed(f"{sign * 5339.45}", "somewhere")
    low, high = paper.range
    assert verdicts.holds(Bounds(high + beyond, high + 1), paper) == holds
    assert verdicts.holds(Bounds(low - 1, low - beyond), paper) == holds


def test_how_far_a_negative_number_lies_outside_is_said_in_percent_of_its_size() -> None:
    inside, finding = verdicts.against_interval(Printed("-0.50", "x"), Measured(0.0, Bounds(-0.1, 0.1), "ten folds"))
    assert not inside and "lies 0.40 (80.0 %) below our" in finding


@pytest.mark.parametrize(
    ("prior", "expected"), [(0.7, CANNOT_FAIL), (0.8, CANNOT_FAIL), (0.69, CAN_FAIL), (0.81, CAN_FAIL)]
)
def test_an_interval_that_ends_at_the_share_of_a_class_holds_it(prior: float, expected: str) -> None:
    """No rival of RSGG-CE is printed with .7 to .8 on TC; ends that rounding moved still hold the share."""
    interval = Bounds(0.7 + 1e-12, 0.8 - 1e-12)
    assert verdicts.worth("tree-cycles", "rsgg-ce", "correctness", interval).can_fail == CAN_FAIL
    assert verdicts.worth("tree-cycles", "rsgg-ce", "correctness", interval, prior).can_fail == expected


def line(mean: float, n: int) -> dict[str, float]:
    return {"mean": mean, "n": n}


def test_one_way_is_known_from_the_two_classes_alone_and_up_to_the_limit() -> None:
    row = {"correctness_class_0": line(1.0, 30), "correctness_class_1": line(0.0, 70)}
    assert verdicts.class_prior(row) == 0.3
    assert verdicts.class_prior({"correctness_class_0": line(1.0, 30)}) is None
    at_the_limit = {"correctness_class_0": line(ONE_WAY, 60), "correctness_class_1": line(1 - ONE_WAY, 40)}
    assert verdicts.class_prior(at_the_limit) == 0.4
    assert verdicts.class_prior({**at_the_limit, "correctness_class_0": line(ONE_WAY + 1e-6, 60)}) is None
    assert verdicts.class_prior({**at_the_limit, "correctness_class_1": line(1 - ONE_WAY - 1e-6, 40)}) is None
