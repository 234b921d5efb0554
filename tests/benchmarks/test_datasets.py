"""The data-set table: verdicts, corrections, and a machine without ASD."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from benchmarks.datasets import KEPT, Measured, compare, run
from tests.graphs import needs_asd, needs_public_data


@pytest.mark.parametrize(
    ("measured", "paper", "verdict"),
    [
        (Measured("655.624", 655.6238), "655.624", "reproduced"),
        (Measured("655.625", 655.6249), "655.624", "differs"),
        (Measured("27.6", 27.60, error=0.03), "27.566", "reproduced"),
        (Measured("27.9", 27.90, error=0.03), "27.566", "differs"),
        (Measured("0.516 : 0.484", 0.516, error=0.022), "0.504 : 0.496", "reproduced"),
        (Measured("inf", float("inf")), "inf", "reproduced"),
        (Measured("17.93", 17.9309), "17.93", "reproduced"),
        (Measured("17.94", 17.9351), "17.93", "differs"),
        (Measured("188", 188.0), "188", "reproduced"),
        (Measured("188", 188.4), "188", "differs"),
        (Measured("One"), "One", "reproduced"),
        (Measured("One"), "Multiple", "differs"),
        (Measured("4.01", 4.01), "", ""),
    ],
)
def test_verdicts(measured: Measured, paper: str, verdict: str) -> None:
    assert measured.verdict(paper) == verdict


@needs_public_data
def test_public_data_sets_stand_beside_what_their_collections_print(tmp_path: Path) -> None:
    rows = pd.DataFrame(compare(None)).set_index(["dataset", "quantity"])
    rows = rows.drop(["tree-cycles", "asd"], level="dataset")
    assert set(rows.index[rows["verdict"] == "differs"]) == {("ClinTox", "# of instances")}, "RDKit has changed"
    assert (rows["verdict"] == "reproduced").sum() == 6 * 5 + 3 + 3 + 4
    assert rows.loc[("NCI1", KEPT), ["paper", "measured"]].tolist() == ["3978 / 118714 / 128663 / 10"] * 2
    assert rows.loc[("Mutagenicity", "Left out in tasks"), "measured"].endswith("27 more than 120 nodes")


@needs_asd
def test_the_table_confirms_the_statistics_and_corrects_three_claims(tmp_path: Path) -> None:
    run(tmp_path, None)
    rows = pd.read_csv(tmp_path / "datasets.csv", dtype=str, keep_default_na=False).set_index(["dataset", "quantity"])
    rows = rows.loc[["tree-cycles", "asd"]]
    differs = set(rows.index[rows["verdict"] == "differs"])
    assert differs == {
        ("tree-cycles", "Max # of cycles"),
        ("asd", "Connected components"),
        ("asd", "Connected graphs"),
    }
    assert (rows["verdict"] == "reproduced").sum() == 19
    assert rows.loc[("asd", "Connected graphs"), "measured"] == "99 of 101"


def test_without_asd_the_rest_is_still_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path / "out", tmp_path)
    rows = pd.read_csv(tmp_path / "out" / "datasets.csv", dtype=str, keep_default_na=False)
    measured = rows["measured"] != ""
    assert set(rows["dataset"][measured]) == {"tree-cycles"}
    assert rows["note"][rows["dataset"] == "asd"].str.contains("101 of its 101 files are missing").all()
    assert "is not complete in" in capsys.readouterr().out
