"""Numbers that were published elsewhere on the paper's data, held against our rows."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.judging.further import COLUMNS, per_further_cell
from benchmarks.registry.metrics import METRICS
from benchmarks.results.files import REFERENCE
from benchmarks.results.paper import of_paper

PUBLISHED = of_paper("further", dtype=str)


def lines(**ours: tuple[float, float, float]) -> pd.DataFrame:
    """Lines of table1.csv for OBS on ASD, by metric: mean, and where a further mean would fall."""
    about = {"dataset": "asd", "method": "obs", "variant": "search", "replicates": 5}
    return pd.DataFrame(
        [
            {**about, "metric": m, "judged": mean, "pi_low": low, "pi_high": high}
            for m, (mean, low, high) in ours.items()
        ]
    )


def of(table: pd.DataFrame, metric: str, method: str = "obs") -> pd.Series:
    found = table[(table[["source", "method", "metric"]] == ["GRETEL, CIKM 2022", method, metric]).all(axis=1)]
    assert len(found) == 1
    return found.iloc[0]


def test_a_number_inside_the_interval_is_reproduced_and_rivals_decide_what_that_is_worth() -> None:
    table = per_further_cell(lines(ged=(9.8, 9.2, 10.4), oracle_calls=(350.0, 300.0, 400.0)))
    assert tuple(table.columns) == COLUMNS and len(table) == len(PUBLISHED)
    ged, calls = of(table, "ged"), of(table, "oracle_calls")
    assert (ged["verdict"], ged["can_fail"]) == ("reproduced", "yes") and "9.889 lies inside" in ged["reason"]
    assert (calls["verdict"], calls["can_fail"]) == ("reproduced", "no") and "362.056 (DDBS)" in calls["why"]


@pytest.mark.parametrize(("low", "high", "verdict"), [(9.2, 9.888, "differs"), (9.2, 9.8886, "reproduced")])
def test_half_a_unit_of_the_last_digit_is_given(low: float, high: float, verdict: str) -> None:
    assert of(per_further_cell(lines(ged=(9.5, low, high))), "ged")["verdict"] == verdict


def test_what_was_not_measured_or_not_enough_has_no_verdict() -> None:
    nan = float("nan")
    table = per_further_cell(lines(ged=(9.8, nan, nan)))
    assert of(table, "ged")["verdict"] == "" and "too few" in of(table, "ged")["reason"]
    assert of(table, "ged", "dce")["verdict"] == "" and of(table, "ged", "dce")["reason"] == "not measured"


def test_published_numbers_say_where_they_are_stored_and_agree_with_each_other() -> None:
    """Fidelity is correctness weighed by the oracle's errors, which ties three columns of every complete search."""
    assert PUBLISHED["place"].str.match(r"[\w-]+/GRETEL@[0-9a-f]{7}:").all()
    assert (
        set(PUBLISHED["metric"]) <= set(METRICS)
        and not PUBLISHED.duplicated(["source", "dataset", "method", "metric"]).any()
    )
    wide = PUBLISHED.assign(value=PUBLISHED["value"].astype(float)).pivot_table(
        index=["source", "dataset", "method"], columns="metric", values="value"
    )
    complete = wide[wide["correctness"] == 1]
    assert len(complete) >= 4
    assert (complete["fidelity"] - (2 * complete["oracle_accuracy"] - 1)).abs().max() < 0.002


def test_the_reference_judges_them() -> None:
    table = per_further_cell(pd.read_csv(REFERENCE / "table1.csv"))
    assert (table["verdict"] != "").all()
    assert of(table, "ged")["verdict"] == "reproduced", "OBS needs on ASD what its first paper says"
    assert of(table, "ged", "ddbs")["verdict"] == "differs"
