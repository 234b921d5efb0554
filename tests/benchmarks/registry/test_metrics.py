"""Metrics per instance: the formulas of the tables on rows of a ledger, and the two accountings of cost."""

from __future__ import annotations

import pandas as pd
import pytest

from benchmarks.registry.metrics import FURTHER, METRICS, TABLE1, per_instance


def ledger(*, calls_per_check: object = 1, training_share: object = 0.0, **other: object) -> pd.DataFrame:
    """Three graphs, the last with two candidates."""
    return pd.DataFrame(
        {
            "fold": 0, "instance": [0, 1, 2, 2], "candidate": [0, 0, 0, 1],
            "label": [0, 0, 1, 1], "predicted": [0, 1, 1, 1], "predicted_cf": [1, 1, 0, 1],
            "n_nodes": 28, "n_edges": [27, 28, 29, 29], "ged": [11.0, 0.0, 4.0, 9.0], "optimum": [1.0, 1.0, 2.0, 2.0],
            "calls": [3, 501, 2, 2], "seconds": [0.1, 0.2, 0.3, 0.4],
            "fit_calls": 2000, "fit_seconds": 100.0, "test_size": 50,
            "calls_per_check": calls_per_check, "training_share": training_share,
        }
    ).assign(**other)  # fmt: skip


def test_every_declared_metric_is_a_column_and_only_first_candidates_are_rows() -> None:
    frame = per_instance(ledger())
    assert set(METRICS) <= set(frame.columns)
    assert frame["instance"].tolist() == [0, 1, 2]


def test_metrics_that_do_not_apply_are_nan() -> None:
    frame = per_instance(ledger())
    nan = float("nan")
    assert frame["correctness"].tolist() == [1, 0, 1]
    assert frame["fidelity"].tolist() == [1, 0, 1]
    assert frame["ged_on_success"].tolist() == pytest.approx([11, nan, 4], nan_ok=True)
    assert frame["correctness_class_0"].tolist() == pytest.approx([1, nan, nan], nan_ok=True)
    assert frame["correctness_class_1"].tolist() == pytest.approx([nan, 0, 1], nan_ok=True)
    assert frame["optimality_gap"].tolist() == pytest.approx([11, nan, 2], nan_ok=True)
    assert frame["removal_auroc"].isna().all(), "a ledger without the column is one of methods without edge scores"


def test_the_two_accountings() -> None:
    """A failed run of the released sampler checks 501 times at two calls each: 1002 calls, as in Table 1."""
    calls = [3, 502, 2, 2]
    paper = per_instance(ledger(calls=calls, calls_per_check=2, training_share=1.0))
    assert paper["oracle_calls"].tolist() == [4 + 40, 1002 + 40, 2 + 40]
    assert paper["oracle_calls_without_training"].tolist() == [4, 1002, 2]
    assert paper["runtime"].tolist() == pytest.approx([2.1, 2.2, 2.3])
    assert paper["explain_calls"].tolist() == [3, 502, 2]
    cached = per_instance(ledger(calls=calls, calls_per_check=2))
    assert cached["oracle_calls"].tolist() == [4, 1002, 2]
    assert cached["runtime"].tolist() == [0.1, 0.2, 0.3]
    assert cached["oracle_calls_with_training"].tolist() == [44, 1042, 42]
    assert cached["runtime_with_training"].tolist() == pytest.approx([2.1, 2.2, 2.3])


def test_accounting_can_differ_from_row_to_row() -> None:
    mixed = per_instance(ledger(calls_per_check=[1, 2, 1, 1], training_share=[0, 0.5, 0, 0]))
    assert mixed["oracle_calls"].tolist() == [2, 1000 + 20, 1]


def test_names_and_labels_of_metrics_are_unique_and_arrows_point_to_better() -> None:
    declared = TABLE1 + FURTHER
    assert len(METRICS) == len(declared) == len({metric.label for metric in declared})
    assert METRICS["correctness"].arrow == "↑" and METRICS["ged"].arrow == "↓"
