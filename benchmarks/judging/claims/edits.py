"""Operations on edges (Section 5.2 and the appendix's pictures): what each method adds, removes and keeps.

Computed from the ledger alone. A row holds the pairs that were changed, coded u·n + v; which of them were edges is
known from the control that deletes every edge, whose changes are the edges of the input.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.judging.evidence import Evidence, NotMeasured
from benchmarks.registry import methods, tasks

KINDS = ("added", "removed", "kept")
COLUMNS = ("instance", "predicted", *KINDS, "loops", "nodes", "edges", "pairs")


def operations(results: Evidence, dataset: str, method: str, variant: str) -> pd.DataFrame:
    """`COLUMNS`: a line per graph that was given a counterfactual candidate in replicate 0.

    `added` counts self loops, which are in `loops` too; `nodes`, `edges` and `pairs` are those of the input.
    """
    inputs = _inputs(results, dataset)
    rows = results.rows(dataset, method, variant)
    lines = [_line(row, inputs) for row in rows[rows["found"]].to_dict("records")]
    if not lines:
        raise NotMeasured(f"{methods.label(method, variant)} found nothing on {tasks.label(dataset)}")
    return pd.DataFrame(lines, columns=list(COLUMNS))


def _inputs(results: Evidence, dataset: str) -> dict[int, frozenset[int]]:
    rows = results.rows(dataset, "empty", "control")
    return {int(i): frozenset(map(int, edits)) for i, edits in zip(rows["instance"], rows["edits"], strict=True)}


def _line(row: Mapping[str, Any], inputs: Mapping[int, frozenset[int]]) -> dict[str, int]:
    instance, n = int(row["instance"]), int(row["n_nodes"])
    if instance not in inputs:
        raise NotMeasured(f"the empty graph was not measured on all graphs of {tasks.label(row['dataset'])}")
    edges, edits = inputs[instance], frozenset(map(int, row["edits"]))
    removed = len(edits & edges)
    return {
        "instance": instance,
        "predicted": int(row["predicted"]),
        "added": len(edits) - removed,
        "removed": removed,
        "kept": len(edges) - removed,
        "loops": len(edits.intersection(range(0, n * n, n + 1))),
        "nodes": n,
        "edges": len(edges),
        "pairs": n * (n - 1) // 2,
    }


def profile(rows: pd.DataFrame) -> dict[str, float]:
    """The shares of added, removed and kept edges in all that is coloured in the appendix's pictures."""
    totals = rows[list(KINDS)].sum()
    return {kind: float(totals[kind] / totals.sum()) for kind in KINDS}


def unlikeness(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Total variation between two profiles, ½ Σ |p - q|: 0 the same colours, 1 none in common."""
    return 0.5 * float(np.sum([abs(one[kind] - other[kind]) for kind in KINDS]))
