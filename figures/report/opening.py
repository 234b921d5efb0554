"""What the report begins with: what became of the printed numbers, as counts, as a grid per data set, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS, TABLE1
from benchmarks.results.reader import Results
from figures.tables.numbers import number, sentence
from figures.tables.sheet import SYMBOLS
from figures.tables.statements import glance, headline, is_informative

STORY = (5, 1, 12)  # the numbers of the findings that say what Table 1 is: its own row, a rival's, and what search does


def opening(results: Results) -> dict[str, Any] | None:
    """The headline, counts of verdicts, a card per data set, what differs, and the main numbers.

    None where no verdict is stored. A printed number that was not measured (a run of some rows only) has no verdict.
    """
    printed_ones = results.table("verdicts", as_text=True)
    if printed_ones is None or (printed_ones["verdict"] == "").all():
        return None
    verdicts = printed_ones[printed_ones["verdict"] != ""]
    open_ones = verdicts[verdicts["verdict"] != "reproduced"]
    return {
        "headline": headline(printed_ones),
        "counts": {verdict: int((verdicts["verdict"] == verdict).sum()) for verdict in SYMBOLS},
        "cards": {tasks.label(str(name)): _card(rows) for name, rows in verdicts.groupby("dataset", sort=False)},
        "metrics": TABLE1,
        "not_reproduced": [_grouped(rows) for _, rows in open_ones.groupby(["verdict", "explanation"], sort=True)],
        "informative": int(is_informative(verdicts).sum()),
        "came_out": int((is_informative(verdicts) & (verdicts["verdict"] == "reproduced")).sum()),
        "story": _story(results),
        "glance": [said for name in tasks.PAPER for said in glance(results, name)],
    }


def _story(results: Results) -> list[dict[str, str]]:
    """Three findings, of those that are stored: each with its verdict."""
    table = results.table("findings", as_text=True)
    found = {} if table is None else {row["number"]: row for row in table.to_dict("records")}
    chosen = [found[str(number)] for number in STORY if str(number) in found]
    return [{"finding": row["finding"], "verdict": row["verdict"]} for row in chosen]


def _card(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """A line per method: for each metric its verdict and the sentence behind it."""
    lines = []
    for method, rows in verdicts.groupby("method", sort=False):
        cells = {}
        weighs = dict(zip(rows["metric"], is_informative(rows), strict=True))
        for row in rows.to_dict("records"):
            ours = number(row["mean"], METRICS[row["metric"]].decimals)
            tip = f"printed {row['printed']}, ours {ours}: {row['verdict']}. {sentence(row['reason'])}"
            worth = f"{row['kind']}; can fail: {row['can_fail']}" if row.get("kind") else ""
            tip = " ".join(filter(None, (tip, sentence(row["explanation"]), sentence(worth))))
            cells[row["metric"]] = {"verdict": row["verdict"], "tip": tip, "weighs": weighs[row["metric"]]}
        lines.append({"label": methods.label(str(method)), "cells": cells})
    return lines


def _grouped(rows: pd.DataFrame) -> dict[str, str]:
    """The numbers that share a verdict and its explanation, as one sentence."""
    parts = []
    for (dataset, metric), some in rows.groupby(["dataset", "metric"], sort=False):
        whose = _listed([methods.label(method) for method in some["method"]])
        parts.append(f"{METRICS[metric].label.removesuffix(' (s)')} of {whose} on {tasks.label(dataset)}")
    first = rows.iloc[0]
    return {"verdict": first["verdict"], "what": "; ".join(parts), "why": sentence(first["explanation"])}


def _listed(parts: Sequence[str]) -> str:
    head = ", ".join(parts[:-1])
    return f"{head} and {parts[-1]}" if head else parts[-1]
