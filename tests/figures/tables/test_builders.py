"""Every other table: built from its stored file alone, with the names of the registry and the stored numbers."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.results.files import PAPER, REFERENCE
from benchmarks.results.reader import Results
from figures import prose, tables
from figures.tables.measurements import what_matters
from figures.tables.searches import NOT_SEARCHED
from figures.tables.statements import claims_in_short, headline, in_short, not_reproduced, what_stands
from tests.figures.tables.reading import HtmlReader, assert_balanced, pipe_rows

ALL = Results((REFERENCE,))


def stored(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> Results:
    pd.DataFrame(rows).to_csv(folder / f"{name}.csv", index=False)
    return Results((folder,))


@pytest.mark.parametrize("name", tables.names(REFERENCE))
def test_every_stored_table_is_written_in_every_format(name: str) -> None:
    everything = len(pd.read_csv(REFERENCE / f"{name}.csv")) < 1000  # curves and checks have thousands of rows
    sheets = tables.sheets(name, ALL, everything=everything)
    assert all(len(row) == len(sheet.headings) for sheet in sheets for row in sheet.rows)
    assert len({sheet.name for sheet in sheets}) == len(sheets), "each has a file of its own"
    if everything:
        assert_balanced(tables.latex(name, ALL))
        HtmlReader(tables.html(name, ALL))
        pipe_rows(tables.markdown(name, ALL))


def test_without_results_tables_hold_what_the_paper_prints(tmp_path: Path) -> None:
    results = Results((tmp_path,))
    assert "| # of instances | *500* | not measured yet | *101* | not measured yet |" in tables.markdown(
        "datasets", results
    )
    text = tables.markdown("hyperparameters", results)
    assert "| epochs | {50, 100, ..., 500} | 500 | not searched yet | not searched yet |" in text
    assert r"\{50, 100, ..., 500\} & 500 & not searched yet" in tables.latex("hyperparameters", results)
    (tmp_path / "hyperparameters.csv").write_text("\n")
    assert tables.markdown("hyperparameters", results) == text, "a search that has no trial yet"
    for name in ("verdicts", "findings", "claims", "hpo_summary", "runtime"):
        assert "./reproduce.sh" in tables.markdown(name, results)


def test_a_searched_method_has_its_values_and_the_others_the_papers(tmp_path: Path) -> None:
    searched = {
        "method": "cf2", "variant": "faithful", "dataset": "tree-cycles", "space": "paper", "hyperparameter": "factual",
        "symbol": "α", "search_space": "{0.5, 0.6, ..., 1}", "paper": "0.7", "nested": "0.5", "paper_protocol": "0.6",
        "importance": "0.31", "note": "",
    }  # fmt: skip
    results = stored(tmp_path, "hyperparameters", [searched])
    text = tables.markdown("hyperparameters", results)
    assert "## CF² ∇ on Tree-Cycles" in text and "| α | {0.5, 0.6, ..., 1} | 0.7 | 0.5 | 0.6 | 0.31 |  |" in text
    assert r"$\alpha$ & \{0.5, 0.6, ..., 1\} & 0.7 & 0.5 & 0.6 & 0.31" in tables.latex("hyperparameters", results)
    printed = pd.read_csv(PAPER / "hyperparameters.csv", dtype=str)
    assert text.count(NOT_SEARCHED) == 2 * (1 + (printed["method"] != "cf2").sum()), "MEG: one line"


def test_what_was_measured_of_data_sets_is_judged_and_escaped(tmp_path: Path) -> None:
    line = {"dataset": "tree-cycles", "quantity": "Max # of cycles", "paper": 3, "measured": 2, "verdict": "differs",
            "note": "a < b & c", "place": "text"}  # fmt: skip
    results = stored(tmp_path, "datasets", [line])
    page = HtmlReader(tables.html("datasets", results))
    assert page.rows[1][2] == ("td", "Differs: a < b & c.", "2 ≠")
    assert r"Max \# of cycles & \textit{3} & 2$^\mathrm{d}$" in tables.latex("datasets", results)


def test_each_printed_number_has_its_line_and_explanation() -> None:
    table = pd.read_csv(REFERENCE / "verdicts.csv", dtype=str)
    headings, _, *rows = pipe_rows(tables.markdown("verdicts", ALL))
    rows = [row for row in rows if row[1]]
    shown = {"Printed": "printed", "Explanation": "explanation", "Kind": "kind", "Can fail": "can_fail"}
    for heading, column in shown.items():
        assert [row[headings.index(heading)] for row in rows] == list(table[column])
    counts = table["verdict"].value_counts()
    assert f"reproduced: {counts['reproduced']}" in tables.markdown("verdicts", ALL)
    assert any(row[0] == "MEG, 32 nodes" for row in rows)


HEADLINE = [  # method, metric, kind, can fail, verdict
    ("cf2", "ged", "independent", "yes", "reproduced"),
    ("rsgg-ce", "ged", "independent", "yes", "reproduced"),
    ("clear", "ged", "independent", "yes", "order holds"),
    ("cf2", "correctness", "independent", "no", "reproduced"),
    ("cf2", "sparsity", "derived", "yes", "reproduced"),
    ("clear", "sparsity", "derived", "yes", "differs"),
    ("cf2", "oracle_calls", "accounting", "yes", "reproduced"),
    ("cf2", "oracle_accuracy", "constant", "no", "reproduced"),
    ("cf2", "runtime", "independent", "no", "not comparable"),
    ("meg", "ged", "accounting", "", ""),
]


def headline_rows() -> pd.DataFrame:
    columns = ["method", "metric", "kind", "can_fail", "verdict"]
    table = pd.DataFrame(HEADLINE, columns=columns).assign(dataset="asd", measured_on="asd", printed="1.000")
    return table.assign(mean="1", pi_low="0", pi_high="2", reason="so", explanation="so", why="so")


def test_the_headline_counts_what_is_informative_first_and_the_rest_by_kind() -> None:
    informative, beside = headline(headline_rows())
    assert informative.startswith("Of the 10 numbers that Table 1 prints, 3 are independent of the others and could ")
    assert informative.endswith("2 of these 3 are reproduced; not so GED of CLEAR on ASD (order holds).")
    short = in_short(headline_rows())
    assert short[0] == (
        "**2 of the 3 printed numbers that are independent and could fail are reproduced** (intervals of ±100.0 to "
        "±100 %, some wide); not so GED of CLEAR on ASD."
    )
    assert short[1].startswith("Of the other 5: 1 of 1 whose agreement says little, 1 of 2 that follow from another, ")
    for part in (
        "1 of 1 that are independent but whose agreement says little", "1 of 2 that follow from another printed number",
        "1 of 1 whose accounting or law was inferred from the print", "1 of 1 that are constants of data and oracle.",
        "1 runtimes are not comparable (another machine, ", "1 numbers were not measured or not judged.",
    ):  # fmt: skip
        assert part in beside


def test_the_headline_is_what_the_table_of_verdicts_begins_with(tmp_path: Path) -> None:
    results = stored(tmp_path, "verdicts", headline_rows().to_dict("records"))
    for everything in (False, True):
        (sheet,) = tables.sheets("verdicts", results, everything=everything)
        assert sheet.caption.startswith(" ".join(headline(headline_rows())))
        assert all(len(row) == len(sheet.headings) for row in sheet.rows)
    assert "○" in tables.markdown("verdicts", results)


def test_what_stands_is_counted_from_verdicts(tmp_path: Path) -> None:
    lines = headline_rows().assign(method="rsgg-ce").to_dict("records")
    text = what_stands(stored(tmp_path, "verdicts", lines[1:3] + lines[4:6] + lines[8:9]))
    assert "Of RSGG-CE's printed row on ASD come out again GED, Sparsity; not so GED, Sparsity." in text


def test_a_search_that_was_told_less_is_called_so() -> None:
    """MEG was searched when it was told classes only."""
    for name in ("hpo_summary", "hyperparameters"):
        text = tables.markdown(name, Results((REFERENCE,)))
        assert "MEG, told classes only" in text and "MEG ᵖ" not in text


def test_verdicts_that_were_stored_without_kinds_are_counted_plainly(tmp_path: Path) -> None:
    old = headline_rows().drop(columns=["kind", "can_fail", "why"])
    assert headline(old)[0].startswith("Of the 10 numbers that Table 1 prints: reproduced: 6, ")
    results = stored(tmp_path, "verdicts", old.to_dict("records"))
    assert "reproduced: 6" in tables.markdown("verdicts", results)


def test_findings_and_claims_say_all_that_is_stored() -> None:
    findings, claims = (pd.read_csv(REFERENCE / f"{name}.csv", dtype=str) for name in ("findings", "claims"))
    text = tables.markdown("findings", ALL)
    for column in ("finding", "paper", "artefacts", "measured"):
        assert all(said in text for said in findings[column].dropna())
    text = html.unescape(tables.markdown("claims", ALL)).replace("\\", "")
    assert all(said in text for column in ("claim", "evidence") for said in claims[column])
    (short,) = tables.sheets("claims", ALL)
    shown = {tuple(cell.text for cell in row) for row in short.rows}
    assert shown == set(zip(claims["claim"], claims["released"], claims["faithful"], strict=True))
    assert len(short.rows) == len(claims)


def test_claims_are_counted_for_each_variant_so_that_no_failure_is_hidden(tmp_path: Path) -> None:
    """One that fails as released and is undecided as written is undecided over all, and yet counts as a failure."""
    pairs = [("holds", "fails"), ("fails", "undecided"), ("fails", "fails"), ("no data", "holds"), ("holds", "holds")]
    line = {"claim": "so", "place": "there, text", "verdict": "undecided", "evidence": "", "quotation": ""}
    lines = [{**line, "released": released, "faithful": faithful} for released, faithful in pairs]
    said = (
        "Of 5 claims of the paper's prose, checked by measurement, as released 2 hold, 2 fail, 0 are undecided, 1 "
        "without a verdict; as written, RSGG-CE by score function, 2 hold, 2 fail, 1 are undecided; 1 hold and 1 fail "
        "in both."
    )
    results = stored(tmp_path, "claims", lines)
    assert claims_in_short(results) == said and said in tables.markdown("claims", results)
    assert claims_in_short(Results((tmp_path / "nowhere",))) == ""


def test_what_did_not_reproduce_is_what_verdicts_say() -> None:
    """Every printed number that is not reproduced, with both numbers, and no other; looked up in verdicts.csv."""
    table = pd.read_csv(REFERENCE / "verdicts.csv", dtype=str, keep_default_na=False)
    said = not_reproduced(ALL).split("\n")
    heads = [re.match(r"- \*\*(.+?) on (.+?)\.\*\*", line) for line in said]
    found = {
        (tasks.label(dataset), methods.label(method), METRICS[metric].label, printed, verdict)
        for dataset, method, metric, printed, verdict in table[
            ["dataset", "method", "metric", "printed", "verdict"]
        ].itertuples(index=False)
        if verdict in ("order holds", "differs")
    }
    listed = {
        (head[2], head[1], *number)
        for head, line in zip(heads, said, strict=True)
        if head
        for number in re.findall(r"\*([^*]+)\*: printed ([\d.]+), ours .+? \[.+?\], (order holds|differs)\.", line)
    }
    assert listed == found and len(found) > 0
    inferred = table[(table["kind"] == "accounting") & (table["verdict"] == "reproduced")]
    assert f"no evidence of their own** are {len(inferred)} numbers" in "\n".join(said)
    assert all(f": {why}." in "\n".join(said) for why in inferred["explanation"])


def test_searches_of_another_revision_than_todays_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cf2, meg = (methods.rows()[name, "faithful"] for name in ("cf2", "meg"))
    monkeypatch.setattr(methods, "METHODS", [replace(cf2, revision=5), replace(meg, revision=3), *methods.METHODS[:1]])
    line = pd.read_csv(REFERENCE / "hpo_summary.csv", dtype=str).fillna("").iloc[0].to_dict()
    searched = [{**line, "method": "cf2", "revision": made} for made in ("4", "5")]
    results = stored(tmp_path, "hpo_summary", [*searched, {**line, "method": "meg", "revision": "2"}])
    said = (
        "Searched with another revision of the method than today's, whose results differ: CF² ∇, nested (revision 4, "
        "today 5); meg-classes (control), nested (revision 2, today 3)."
    )
    assert said in tables.markdown("hpo_summary", results) and said in prose.searches(results)
    none = stored(tmp_path, "hpo_summary", searched[1:])
    assert "another revision" not in tables.markdown("hpo_summary", none) + prose.searches(none)


def test_an_open_finding_has_no_command_to_see_it_again(tmp_path: Path) -> None:
    line = {"number": 1, "finding": "It is so.", "paper": "", "artefacts": "", "measured": "Not measured.",
            "verdict": "open", "command": "./reproduce.sh table1"}  # fmt: skip
    text = tables.markdown("findings", stored(tmp_path, "findings", [line]))
    assert "*Verdict:* open" in text and "reproduce.sh" not in text


def test_an_ablation_has_a_column_per_value_and_standard_errors_with_everything() -> None:
    table = pd.read_csv(REFERENCE / "ablation_n_cycles.csv").set_index(["method", "variant", "metric", "value"])
    ged = next(s for s in tables.sheets("ablation_n_cycles", ALL, everything=True) if s.title == "GED")
    assert list(ged.headings[1:]) == ["2", "4", "8", "16", "24", "32"]
    (row,) = [row for row in ged.rows if row[0].text == "CF² ∇"]
    mean, se = table.loc[("cf2", "faithful", "ged", 2), ["mean", "se"]]
    assert row[1].text == f"{mean:.2f} ±{se:.2f}"
    assert any("Predicted" in row[0].text for row in ged.rows)


def test_growth_is_held_against_what_the_paper_says(tmp_path: Path) -> None:
    line = {"vary": "n_nodes", "method": "rsgg-ce", "variant": "faithful", "quantity": "inference_seconds",
            "exponent": 2.0, "ci_low": 1.5, "ci_high": 2.5, "points": "32 64", "graphs": "", "paper": 1.0}  # fmt: skip
    flat = {**line, "vary": "n_instances", "exponent": 0.1, "ci_low": -0.2, "ci_high": 0.4, "paper": 0.0}
    few = {**line, "variant": "released", "ci_low": "", "ci_high": ""}
    (sheet,) = tables.sheets("runtime_growth", stored(tmp_path, "runtime_growth", [line, flat, few]))
    assert "scales perfectly" in sheet.notes[0]
    assert sheet.notes[1].endswith("exponent 2.00 [1.50, 2.50]; the paper's 1 is outside.")
    assert sheet.notes[2].endswith("the paper's 0 is inside.")
    assert "too few points" in sheet.notes[3]


def test_a_point_that_failed_is_said_with_its_reason(tmp_path: Path) -> None:
    line = {"vary": "n_nodes", "value": 32, "method": "cf2", "variant": "faithful", "graphs": 500, "instances": 20,
            "quantity": "explain_seconds", "median": 0.5, "repeats": 5, "note": ""}  # fmt: skip
    failed = {**line, "value": 64, "quantity": "failed", "median": "", "note": "out of memory"}
    text = tables.markdown("runtime", stored(tmp_path, "runtime", [line, failed]))
    assert "n_nodes = 64, CF² ∇ failed: out of memory." in text
    assert "∇ uses the oracle's exact gradient" in text, "white box is said in every table that has such a row"
    assert pipe_rows(text)[2][:5] == ["CF² ∇", "32", "20", "500", "–"]


def test_fits_that_pass_are_counted_and_what_is_not_stored_is_said(tmp_path: Path) -> None:
    line = {"dataset": "tree-cycles", "method": "rsgg-ce", "variant": "faithful", "fold": 0, "class": 0,
            "class_name": "tree", "check": "generator_settles", "value": 0.1, "limit": 1, "passed": "yes"}  # fmt: skip
    rows = [line, {**line, "fold": 1, "passed": "no"}, {**line, "check": "flips", "passed": "not stored"}]
    (sheet,) = tables.sheets("convergence", stored(tmp_path, "convergence_checks", rows))
    by_check = dict(zip(sheet.headings, (cell.text for cell in sheet.rows[0]), strict=True))
    assert by_check["𝔾 settles"] == "1/2" and by_check["flips"] == "not stored" and by_check["finite"] == ""
    assert any("Tree-Cycles, RSGG-CE" in note and "1/2" in note for note in sheet.notes)
    (tmp_path / "convergence_checks.csv").write_text("dataset,method\n")
    assert "None of the stored methods" in tables.markdown("convergence", Results((tmp_path,)))


def test_the_best_trials_come_first_and_the_rest_is_counted() -> None:
    trials = pd.read_csv(REFERENCE / "hpo_rsgg-ce.csv")
    (first,) = tables.sheets("hpo_rsgg-ce", ALL)
    lines = [dict(zip(first.headings, (cell.text for cell in row), strict=True)) for row in first.rows]
    shown = [line for line in lines if line["Protocol"] == "nested" and line["State"] == "complete"]
    nested = trials[(trials["protocol"] == "nested") & (trials["state"] == "complete")]
    best = nested.sort_values(["value", "ged", "number"], ascending=[False, True, True])
    assert [line["Trial"] for line in shown] == [f"{number:.0f}" for number in best["number"][:10]]
    assert shown[0]["Correctness"] == f"{nested['value'].max():.3f}"
    assert first.notes == [f"With --all: {len(trials) - len(lines)} more rows."]
    (every,) = tables.sheets("hpo_rsgg-ce", ALL, everything=True)
    assert len(every.rows) == len(trials)


def test_what_is_seen_first_of_comparisons_has_its_p_and_everything_all_columns() -> None:
    table = pd.read_csv(REFERENCE / "comparisons.csv")
    (short,) = tables.sheets("comparisons", ALL)
    correctness = table[table["metric"] == "correctness"]
    shown = [float(row[2].text) for row in short.rows]
    assert shown == pytest.approx(list(correctness["difference"]), rel=0.04, abs=5e-4)
    assert list(short.headings) == ["Method", "Against method", "Difference", "p (Holm)"]
    assert {row[1].text for row in short.rows} >= {"CF² ∇", "CLEAR ∇", "CF², as released"}, "white box is marked"
    (every,) = tables.sheets("comparisons", ALL, everything=True)
    assert len(every.rows) == len(table) and {"Rank biserial", "Ci low", "Mean"} <= {*every.headings}
    assert not any("rsgg-ce" in group.heading for group in every.groups), "questions have public names"


def test_tuning_names_rows_and_says_that_effort_differs(tmp_path: Path) -> None:
    line = {"method": "cf2", "variant": "faithful", "dataset": "asd", "settings_tried": "8", "data_seen": "fold 0",
            "note": "so", "nested_trials": 30, "paper_trials": 0, "searched_on": "fold 1", "hours": "0.50"}  # fmt: skip
    results = stored(tmp_path, "tuning", [line])
    (sheet,) = tables.sheets("tuning", results, everything=True)
    assert [cell.text for cell in sheet.rows[0]] == ["CF² ∇", "ASD", "8", "fold 0", "30", "0", "fold 1", "0.50", "so"]
    assert "Rows were not tuned alike" in tables.markdown("tuning", results)
    assert len(tables.sheets("tuning", results)[0].headings) == 7
    other = [{**line, "method": "gcfexplainer", "dataset": "aids-gcn"}, {**line, "method": "macda", "dataset": "pairs"}]
    (sheet,) = tables.sheets("tuning", stored(tmp_path, "tuning", other), everything=True)
    assert [[cell.text for cell in row[:2]] for row in sheet.rows] == [["GCFExplainer", "AIDS"], ["MACDA", "pairs"]]
    assert "./reproduce.sh hpo computes it" in tables.markdown("tuning", Results((tmp_path / "nowhere",)))


def test_what_several_candidates_are_worth_is_a_row_per_method(tmp_path: Path) -> None:
    worth = {"k": 10, "validity_at_1": 0.8, "validity_at_k": 0.95, "distinct": 7.25, "jaccard_distance": 0.5}
    whose = {"dataset": "asd", "method": "rsgg-ce", "variant": "faithful", "ci_low": 0.25, "ci_high": 0.75}
    rows = [{**whose, "metric": metric, "mean": mean, "n": 101} for metric, mean in worth.items()]
    results = stored(tmp_path, "candidates", rows)
    (short,), (every,) = (tables.sheets("candidates", results, everything=whole) for whole in (False, True))
    assert [group.heading for group in short.groups] == ["ASD"]
    assert [cell.text for cell in short.rows[0]][1:] == ["10", "0.800", "0.950", "7.2", "–", "0.500", "–", "101"]
    assert every.rows[0][2].text == "0.800 [0.250, 0.750]" and "--all" in short.notes[0] and not every.notes
    assert "./reproduce.sh traces computes it" in tables.markdown("candidates", Results((tmp_path / "nowhere",)))


def test_how_training_ended_is_shown_fit_by_fit(tmp_path: Path) -> None:
    line = {"dataset": "asd", "method": "rsgg-ce", "variant": "faithful", "seed": 0, "fold": 0, "class": 1, "epochs": 5,
            "discriminator_loss": 0.5, "generator_loss": 0.7, "flip_rate": 1.0, "edits": 2.0, "diversity": 1.0,
            "score_spread": 0.1, "collapsed": "no"}  # fmt: skip
    rows = [line, {**line, "fold": 1, "collapsed": "proposes nothing that flips"}]
    (sheet,) = tables.sheets("training", stored(tmp_path, "training", rows))
    assert [group.heading for group in sheet.groups] == ["ASD"]
    assert [cell.text for cell in sheet.rows[0]] == [
        "RSGG-CE, by score function",
        "0",
        "1",
        "0.5",
        "0.7",
        "1.0",
        "2.0",
        "no",
    ]
    assert sheet.rows[1][-1].text == "proposes nothing that flips"


def test_any_other_table_is_shown_as_it_is_with_public_names(tmp_path: Path) -> None:
    rows = [{"dataset": "asd", "method": "cf2", "variant": "released", "score": f"{i}.50"} for i in range(50)]
    results = stored(tmp_path, "my_table", rows)
    (short,) = tables.sheets("my_table", results)
    assert [cell.text for cell in short.rows[3]] == ["ASD", "CF², as released", "3.50"]
    assert len(short.rows) == 40 and short.notes == ["With --all: 10 more rows."]
    assert len(tables.sheets("my_table", results, everything=True)[0].rows) == 50
    (short,) = tables.sheets("my_table", stored(tmp_path, "my_table", rows[:41]))
    assert short.notes == ["With --all: 1 more row."]


@pytest.mark.parametrize("name", ["hpo_summary", "hpo_meg", "training", "comparisons", "mine"])
def test_a_table_without_rows_is_its_headings_alone(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stored_name = name if name != "mine" else "speed"
    pd.read_csv(REFERENCE / f"{stored_name}.csv")[:0].to_csv(tmp_path / f"{name}.csv", index=False)
    for everything in (False, True):
        tables.show(name, tmp_path, everything=everything)
    assert f"{name}.csv" in capsys.readouterr().out
    assert_balanced(tables.latex(name, Results((tmp_path,))))


def test_every_table_gets_its_files(tmp_path: Path) -> None:
    stored(tmp_path, "my_table", [{"a": 1, "b": 2}])
    written = {path.name for path in tables.write(Results((tmp_path,)), tmp_path)}
    pages = {f"{name}.{kind}" for name in (*tables.AS_PRINTED, "table1", "my_table") for kind in ("html", "md", "tex")}
    assert pages <= written and {"my_table.csv", "datasets.csv"} <= written
    assert (tmp_path / "tables" / "table1.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert (tmp_path / "tables" / "my_table.csv").read_text(encoding="utf-8") == "A,B\n1,2\n"


def test_what_matters_is_said_by_the_rule_and_not_by_size(tmp_path: Path) -> None:
    """Sure by Holm: "matters". Large and not sure: said to be so. The rest: by how much at most."""

    def lines(variation: str, correctness: float, ged: float, matters: tuple[str, str]) -> list[dict[str, object]]:
        own = {"study": "meg-asd", "variation": variation, "instead": "", "folds": 4}
        return [
            own
            | {"metric": "correctness", "mean": 0.5 + correctness, "difference": correctness, "matters": matters[0]},
            own | {"metric": "ged", "mean": 3 + ged, "difference": ged, "matters": matters[1]},
        ]

    rows = [
        *lines("as it is", 0, 0, ("", "")),
        *lines("sure", 0.01, 2.5, ("no", "yes")),
        *lines("large", -0.2, 9, ("no", "no")),
        *lines("small", 0.02, 0, ("no", "no")),
    ]
    said = what_matters(stored(tmp_path, "variations", rows))
    assert said == [
        "MEG on ASD, with one thing changed (4 folds, Correctness 0.500 as it is): matters: sure (GED +2.5); "
        "Correctness differs, though not for sure, with large 0.300 (-0.200); it moves by at most 0.020 with small."
    ]
