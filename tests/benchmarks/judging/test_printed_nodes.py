"""Verdicts on CF-GNNExplainer's printed table, on made-up measurements whose verdict is plain."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks.judging.printed_nodes import COLUMNS, HELD_AGAINST, judged, measured
from benchmarks.registry import methods, tasks
from benchmarks.registry.rules import KINDS
from benchmarks.results.paper import of_paper

TABLE = of_paper("cf-gnn-explainer/table", dtype=str, keep_default_na=False)


def nodes(dataset: str, found: int, of: int, size: float, seed: int = 0, *, row: tuple[str, str]) -> pd.DataFrame:
    """Nodes of which so many are found, each with this size, a sparsity of .9977 and an accuracy of .96."""
    success = np.arange(of) < found
    return pd.DataFrame(
        {
            "dataset": dataset, "method": row[0], "variant": row[1], "seed": seed, "correctness": success.astype(float),
            "ged_on_success": np.where(success, size, np.nan), "edges_untouched": np.where(success, 0.9977, np.nan),
            "ends_predicted_in_motifs": np.where(success, 0.96, np.nan),
        }
    )  # fmt: skip


RELEASED, FAITHFUL = ("cf-gnn-explainer", "released"), ("cf-gnn-explainer", "faithful")


def verdicts(rows: pd.DataFrame, dataset: str, row: tuple[str, str] = RELEASED) -> pd.DataFrame:
    table = judged(rows)
    own = (table["dataset"] == dataset) & (table["method"] == row[0]) & (table["variant"] == row[1])
    return table[own].set_index("metric")


def test_the_printed_table_is_complete_and_its_numbers_are_those_of_the_notebooks() -> None:
    assert len(TABLE) == 3 * 4 * 4 and set(TABLE["kind"]) <= set(KINDS)
    assert set(TABLE["method"]) == set(HELD_AGAINST) and set(TABLE["dataset"]) <= set(tasks.tasks())
    assert all(row in methods.rows() for rows in HELD_AGAINST.values() for row in rows)
    fidelity = TABLE[TABLE["metric"] == "fidelity"]
    missed = 1 - fidelity["found"].astype(int) / fidelity["nodes"].astype(int)
    assert fidelity["notebook"].astype(float).tolist() == pytest.approx(missed.tolist())
    printed = TABLE[TABLE["value"] != ""]
    off = (printed["value"].astype(float) - printed["notebook"].astype(float)).abs() > 0.005 + 1e-9
    assert printed[off][["dataset", "method", "metric"]].to_numpy().tolist() == [
        ["ba-shapes-lucic", "cf-gnn-explainer", "sparsity"]
    ], "the README cuts .9977 to .99"


def test_on_the_same_graph_it_is_the_last_digit_that_counts() -> None:
    exact = verdicts(nodes("ba-shapes-lucic", 85, 140, 2.388, row=RELEASED), "ba-shapes-lucic")
    assert exact["verdict"].to_dict() == {
        "fidelity": "reproduced", "size": "reproduced", "sparsity": "differs", "accuracy": "reproduced"
    }  # fmt: skip
    assert exact.loc["fidelity", "can_fail"] == "yes" and exact.loc["sparsity", "kind"] == "derived"
    close = verdicts(nodes("ba-shapes-lucic", 83, 140, 2.388, row=RELEASED), "ba-shapes-lucic")
    assert close.loc["fidelity", "verdict"] == "differs", ".407 is not .39"


def test_on_other_draws_it_is_the_prediction_interval() -> None:
    def drawn(*found: int) -> pd.DataFrame:
        name = "tree-cycles-lucic-generated"
        return pd.concat([nodes(name, n, 100, 2.0 + 0.01 * i, i, row=RELEASED) for i, n in enumerate(found)])

    near = verdicts(drawn(78, 80, 79, 81, 80), "tree-cycles-lucic")
    assert near.loc["fidelity", ["verdict", "can_fail", "replicates"]].tolist() == ["reproduced", "yes", 5]
    wide = verdicts(drawn(60, 80, 99, 71, 90), "tree-cycles-lucic")
    assert wide.loc["fidelity", ["verdict", "can_fail"]].tolist() == ["reproduced", "no"]
    assert "0.32 (Only the edges around v)" in wide.loc["fidelity", "why"]
    assert verdicts(drawn(58, 60, 59, 61, 60), "tree-cycles-lucic").loc["fidelity", "verdict"] == "differs"
    few = verdicts(drawn(78, 80), "tree-cycles-lucic")
    assert few.loc["fidelity", "verdict"] == "" and "2 draws" in few.loc["fidelity", "reason"]


def test_what_is_drawn_at_random_is_judged_by_an_interval_on_the_authors_own_graph() -> None:
    row, name = ("random-masks", "control"), "ba-shapes-lucic"
    runs = [nodes(name, 140, 140, size, i, row=row) for i, size in enumerate((503.0, 503.6, 503.2))]
    size = verdicts(pd.concat(runs), name, row).loc["size"]
    assert size["verdict"] == "reproduced" and size["pi_low"] < 503 < 504 < size["pi_high"]
    assert "3 runs on the authors' own draw" in size["reason"]
    far = verdicts(pd.concat(runs).assign(ged_on_success=lambda t: t["ged_on_success"] + 9), name, row)
    assert far.loc["size", "verdict"] == "differs"
    assert verdicts(runs[0], name, row).loc["size", "verdict"] == "", "a single run has no interval"


def test_a_share_stays_between_zero_and_one() -> None:
    rows = pd.concat([nodes("x", n, 100, 0.5, i, row=RELEASED) for i, n in enumerate((99, 90, 100))])
    assert measured("fidelity", rows, same_draw=False).predicted.low == 0
    assert measured("size", rows, same_draw=False).predicted == pytest.approx((0.5, 0.5))


def test_a_row_that_was_not_printed_agrees_or_is_not_judged() -> None:
    agrees = verdicts(nodes("ba-shapes-lucic", 85, 140, 2.39, row=FAITHFUL), "ba-shapes-lucic", FAITHFUL)
    assert agrees.loc["size", "verdict"] == "agrees"
    name = "tree-cycles-lucic-generated"
    wide = pd.concat([nodes(name, n, 100, 2.0, i, row=FAITHFUL) for i, n in enumerate((60, 80, 99, 71, 90))])
    assert verdicts(wide, "tree-cycles-lucic", FAITHFUL).loc["fidelity", "verdict"] == ""


def test_what_was_not_measured_says_so() -> None:
    table = judged(pd.DataFrame(columns=["dataset", "method", "variant"]))
    assert tuple(table.columns) == COLUMNS and set(table["reason"]) == {"not measured"}
    assert set(table.loc[table["method"] == "cf-gnn-explainer-slow", "dataset"]) == {"ba-shapes-lucic"}
