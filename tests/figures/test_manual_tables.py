"""Tables of the manual beside Table 1: they hold what is stored, say what is missing, and name controls that lead."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.results.files import PAPER
from benchmarks.results.reader import Results
from figures import manual_tables, tables
from figures.manual_tables import NOT_YET
from figures.tables.numbers import over_tasks

OURS, OTHER, CONTROL = ("rsgg-ce-certified", "beyond"), ("obs", "search"), ("empty", "control")


def folder_with(folder: Path, missing: list[str] | None = None, /, **files: list[dict[str, Any]]) -> Results:
    for name, lines in files.items():
        pd.DataFrame(lines).to_csv(folder / f"{name}.csv", index=False)
    lacking = {name: {"missing": missing} for name in files} if missing else {}
    (folder / "manifest.json").write_text(json.dumps({"experiments": lacking, "files": {}}))
    return Results((folder,))


def lines_of(block: str) -> list[list[str]]:
    """The lines of its table below the headings, as cells."""
    return [line.strip("| ").split(" | ") for line in block.splitlines() if line.startswith("| ")][2:]


def row(task: str, whose: tuple[str, str], metric: str, mean: float) -> dict[str, Any]:
    ends = {"ci_low": mean - 0.1, "ci_high": mean + 0.1, "n": 60}
    return {"task": task, "method": whose[0], "variant": whose[1], "metric": metric, "mean": mean, **ends}


def test_nothing_is_invented_where_nothing_is_stored(tmp_path: Path) -> None:
    stored = ("not computed", "robustness", "noise", "fronts", "global summaries", "molecules")
    assert {manual_tables.BLOCKS[name](Results((tmp_path,))) for name in stored} == {NOT_YET}


# -- Gaps ----------------------------------------------------------------------------------------------------


def test_what_several_tasks_lack_alike_is_one_sentence() -> None:
    """A label may begin like another one, and have a comma."""
    gaps = ["AIDS, MEG: not computed", "MUTAG, GIN, MEG: not computed", "MUTAG, GIN, CF²: it failed", "no task, X: y"]
    assert over_tasks(gaps) == [
        "MEG: not computed (on AIDS; MUTAG, GIN)", "MUTAG, GIN, CF²: it failed", "no task, X: y",
    ]  # fmt: skip
    many = [f"{name}, MEG: not computed" for name in ("AIDS", "NCI1", "PROTEINS", "BBBP")]
    assert over_tasks(many) == ["MEG: not computed (on 4 tasks)"] and over_tasks([]) == []


def test_gaps_of_table_2_are_said_until_there_are_none(tmp_path: Path) -> None:
    line = row("aids-gcn", OTHER, "correctness", 1.0)
    gaps = ["AIDS, MEG: not computed", "NCI1, MEG: not computed", "AIDS, MEG + min: not computed"]
    said = manual_tables.not_computed(folder_with(tmp_path, gaps, table2=[line]))
    assert said.startswith("Missing: MEG: not computed (on AIDS; NCI1); 1 of other rows made minimal (“+ min”).")
    text = tables.markdown("table2", Results((tmp_path,)))
    assert "- Missing: MEG: not computed (on AIDS; NCI1)." in text and "- Missing: AIDS, MEG + min" in text
    complete = manual_tables.not_computed(folder_with(tmp_path, table2=[line]))
    assert complete == "Every row is computed on every task that it is defined for."


# -- Robustness ------------------------------------------------------------------------------------------------


def robust(*of_tasks: str) -> list[dict[str, Any]]:
    """Two rows and a control on these tasks, ours on the first one only."""
    lines = []
    for number, task in enumerate(of_tasks):
        for whose, kept, told in ((OURS, 0.6, 1), (OTHER, 0.4, 0), (CONTROL, 0.8, 0)):
            if whose == OURS and number:
                continue
            means = {"correctness": 1.0 if whose != CONTROL else 0.5, "robust_seed": kept + 0.1 * number}
            means |= {"agree_seed": 0.9 - 0.1 * number, "told_frozen": told, "actionable": 0.5 if told else 0.2}
            lines += [row(task, whose, metric, mean) for metric, mean in means.items()]
    return lines


def test_robustness_is_the_mean_over_tasks_and_says_which_control_leads(tmp_path: Path) -> None:
    said = manual_tables.robustness(folder_with(tmp_path, robustness=robust("aids-gcn", "mutag-gin")))
    copies, ours, other, control = lines_of(said)
    assert copies[:4] == ["*Copies agree with the oracle on the inputs*", "2", "", "0.85"]
    assert ours[:4] == ["RSGG-CE, taught and certified", "1", "1.00", "0.60"] and ours[8] == "0.50"
    assert other[:4] == ["OBS", "2", "1.00", "0.45"] and control[:4] == ["Empty graph", "2", "0.50", "0.85"]
    assert "Rows have different numbers of tasks" in said
    assert "Empty graph: no row is better than this control by Re-trained: seed." in said, "and not by validity"
    assert "Not told of the frozen pairs, which they keep by chance: Empty graph, OBS." in said
    alone = manual_tables.robustness(folder_with(tmp_path, robustness=robust("aids-gcn")))
    assert "different numbers" not in alone
    page = tables.markdown("robustness", Results((tmp_path,)))
    assert "- Empty graph: no row is better than this control by Re-trained: seed." in page


# -- Cited methods ---------------------------------------------------------------------------------------------


def test_noise_has_a_column_for_each_share_and_an_interval_at_the_largest(tmp_path: Path) -> None:
    line = {"task": "nci1-gcn", "method": "rcexplainer", "variant": "faithful", "ci_low": 0.6, "ci_high": 0.8, "n": 33}
    stored = folder_with(tmp_path, noise=[{**line, "noise": s, "auc": 1 - s} for s in (0.3, 0.0, 0.05)])
    said = manual_tables.noise(stored)
    assert lines_of(said) == [["NCI1", "RCExplainer ∇", "0.950", "0.700 [0.600, 0.800]", "33"]]
    assert "| On | Row | 5% | 30% | Graphs |" in said


def test_fronts_have_a_line_for_each_task_and_row(tmp_path: Path) -> None:
    means = {"hypervolume": 0.5, "front": 2.0, "asked": 90.0}
    made = [row("mutag-gin", ("moo", "faithful"), name, mean) for name, mean in means.items()]
    said = manual_tables.fronts(folder_with(tmp_path, fronts=made))
    assert lines_of(said) == [["MUTAG, GIN", "MOO ᵖ", "0.5000 [0.4000, 0.6000]", "2.0 [1.9, 2.1]", "90 [90, 90]"]]


def test_global_summaries_show_bounds_and_what_became_of_the_print(tmp_path: Path) -> None:
    line = {"task": "aids-gcn", "method": "gcfexplainer", "variant": "faithful", "k": 10}
    made = [
        {**line, "metric": "coverage", "mean": 0.2, "low": 0.1, "high": 0.5, "printed": 0.15, "verdict": "differs"},
        {**line, "metric": "cost", "mean": 0.3, "low": 0.2, "high": 0.4, "verdict": "not comparable"},
        {**line, "metric": "coverage", "k": 1, "mean": 0.9, "low": 0.9, "high": 0.9},
    ]
    made[0]["reason"] = "edit paths show more"
    orders = [{"verdict": "order holds", "certain": "yes"}, {"verdict": "differs", "certain": "no"}, {"verdict": ""}]
    said = manual_tables.global_summaries(folder_with(tmp_path, **{"global": made}, global_printed=orders))
    assert lines_of(said) == [["**GCFExplainer**", "0.200 [0.10, 0.50]; 0.300"]]
    assert "Of 3 printed orders of two coverages 1 hold, 1 differ, 1 are not judged; 1 of the verdicts are" in said
    assert "Of 2 printed values" in said and "these differ. GCFExplainer on AIDS: edit paths show more." in said


def test_molecules_say_which_rows_are_not_there_yet(tmp_path: Path) -> None:
    made = [row("bbbp-gin", ("maccs", "faithful"), name, 0.5) for name in ("correctness", "tanimoto")]
    made += [row("bbbp-gin", ("maccs", "faithful"), name, 1.0) for name in ("sanitised", "feasible")]
    made += [row("bbbp-gin", ("rsgg-ce-feasible", "beyond"), name, 0.7) for name in ("correctness", "feasible")]
    said = manual_tables.molecules(folder_with(tmp_path, table2=made))
    assert lines_of(said)[0] == ["BBBP", "**MACCS**", "0.500", "–", "0.500", "1.000", "1.000", "–"]
    assert lines_of(said)[1][-2:] == ["0.700°", "–"], "no result of it was shown to RDKit"
    assert len(lines_of(said)) == 2 and "MEG on molecules ᵖ on BBBP" in said and "ClinTox" not in said


def test_every_number_that_is_printed_of_maccs_and_rcexplainer_has_a_verdict_and_a_reason(tmp_path: Path) -> None:
    made = [row("bbbp-gin", ("maccs", "faithful"), "ged", 6.0)]
    maccs = lines_of(manual_tables.printed_maccs(folder_with(tmp_path, table2=made)))
    assert [line[2] for line in maccs] == ["*0.402*", "*11.235*", "*1221*", "*0.455*", "*8.498*", "*1184*"]
    assert [line[3] for line in maccs] == ["–", "6.000 [5.900, 6.100]", "–", "–", "–", "–"]
    rc = lines_of(manual_tables.printed_rcexplainer(Results((tmp_path,))))
    for line in (*maccs, *rc):
        assert line[4:6] == ["not comparable", "no"] and line[6]
    printed = pd.read_csv(PAPER / "rcexplainer" / "table.csv")
    assert sum(line[1].count(";") + 1 for line in rc) == len(printed), "none is left out"


def test_every_number_that_gcfexplainer_prints_is_judged_or_says_why_not(tmp_path: Path) -> None:
    """Of its Table 2 the rows that are measured here are in global.csv; all others, and Tables 3 and 6, stand here."""
    found = lines_of(manual_tables.printed_gcfexplainer(Results((tmp_path,))))
    read = [pd.read_csv(PAPER / "gcfexplainer" / f"table{number}.csv") for number in (2, 3, 6)]
    left = int(read[0]["method"].isna().sum()) + len(read[1]) + len(read[2])
    assert sum(line[3].count(";") + 1 for line in found) == left == 16 + 12 + 16
    assert {line[4] for line in found} == {"not comparable"} and all(line[6] for line in found)
    assert ["Table 2", "CFF", "coverage"] in [line[:3] for line in found]


def test_what_is_stored_beside_dygrace_is_shown_year_by_year_with_a_verdict(tmp_path: Path) -> None:
    found = lines_of(manual_tables.printed_dygrace(Results((tmp_path,))))
    assert found[0][:2] == ["CF²", "GED@1"] and found[0][2].startswith("2000 27.66 ± 0.237; 2001 27.54")
    assert {line[4] for line in found} == {"not comparable"} and all(line[6] for line in found)
    printed = pd.read_csv(PAPER / "dygrace" / "table.csv")
    assert sum(line[2].count(";") + 1 for line in found) == len(printed), "none is left out"
