"""GCFExplainer's printed tables beside summaries that were measured here, by the rules in `benchmarks.registry.rules`.

`table` has a line per row, size and metric (global.csv), with a printed value where there is one; `orders` a line for
every two printed coverages of a data set in one table (global_printed.csv).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry.global_methods import WITHOUT_CHANCE
from benchmarks.registry.rules import (
    DIFFERS,
    GLOBAL_LEFT_OUT,
    GLOBAL_REPLICATES,
    GLOBAL_SIZES,
    GLOBAL_THETA,
    NOT_COMPARABLE,
    ORDER_HOLDS,
    OTHER_DISTANCE,
)
from benchmarks.results.paper import Printed, of_paper

COLUMNS = (
    "task", "method", "variant", "k", "theta", "metric", "mean", "low", "high", "replicates", "printed", "verdict",
    "reason", "kind",
)  # fmt: skip
ORDERS = (
    "table", "task", "k", "theta", "ahead", "behind", "printed_ahead", "printed_behind", "mean_ahead", "mean_behind",
    "replicates", "verdict", "certain", "reason", "kind",
)  # fmt: skip
WHOSE = ["dataset", "method", "variant"]
TABLES = (2, 4, 5)
NO_LINES = pd.DataFrame(columns=[*WHOSE, "seed"])


def printed_tables() -> pd.DataFrame:
    """What Tables 2, 4 and 5 print, values as text, with the number of the table."""
    parts = [
        of_paper(f"gcfexplainer/table{number}", dtype=str, keep_default_na=False).assign(table=number)
        for number in TABLES
    ]
    return pd.concat(parts, ignore_index=True)


# -- What is measured --------------------------------------------------------------------------------------


def measured(lines: pd.DataFrame) -> pd.DataFrame:
    """Coverage and cost of each replicate, columns low and high, and other counts, from the lines of inputs."""
    found = []
    for (*whose, seed), own in lines.groupby([*WHOSE, "seed"], sort=False):
        about = dict(zip(WHOSE, whose, strict=True)) | {"seed": seed, "inputs": len(own)}
        for k in GLOBAL_SIZES:
            lower, upper = own[f"lower_{k}"], own[f"upper_{k}"]
            shares = float((upper <= GLOBAL_THETA).mean()), float((lower <= GLOBAL_THETA).mean())
            found.append({**about, "k": k, "metric": "coverage", "low": shares[0], "high": shares[1]})
            medians = float(lower.median()), float(upper.median())
            found.append({**about, "k": k, "metric": "cost", "low": medians[0], "high": medians[1]})
        for metric in ("calls", "candidates", "graphs"):
            value = float(own[metric].iloc[0])
            found.append({**about, "k": max(GLOBAL_SIZES), "metric": metric, "low": value, "high": value})
    return pd.DataFrame(found, columns=[*WHOSE, "seed", "inputs", "k", "metric", "low", "high"])


def shown(metric: str) -> str:
    """The side of an interval that edit paths in hand show."""
    return "high" if metric == "cost" else "low"


def table(lines: pd.DataFrame) -> pd.DataFrame:
    """Printed numbers beside ours, with verdicts: a line per task, row, number of graphs and metric (`COLUMNS`)."""
    printed = printed_tables().drop_duplicates(["task", "method", "variant", "metric"])  # the first is in Table 2
    known = {(p["task"], p["method"], p["variant"], int(p["k"]), p["metric"]): p for p in printed.to_dict("records")}
    rows = []
    for (task, method, variant, k, metric), own in measured(lines).groupby([*WHOSE, "k", "metric"], sort=False):
        line: dict[str, Any] = {"task": task, "method": method, "variant": variant, "k": k, "theta": GLOBAL_THETA}
        line |= {"metric": metric, "mean": float(own[shown(metric)].mean()), "replicates": len(own)}
        line |= {"low": float(own["low"].min()), "high": float(own["high"].max())}
        cell = known.get((task, method, variant, k, metric))
        rows.append(line | (_judged(cell, own, str(task)) if cell else {}))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _judged(cell: dict[str, str], own: pd.DataFrame, task: str) -> dict[str, str]:
    """The verdict on a printed value: it is comparable only where real graphs show more than is printed."""
    about = {"printed": cell["value"], "kind": cell["kind"]}
    if cell["method"] in WITHOUT_CHANCE:
        line, paper = own.iloc[0], Printed(cell["value"], cell["place"])
        all_inputs = line["inputs"] + GLOBAL_LEFT_OUT.get(task, 0)
        if cell["metric"] == "coverage":
            ours = line["low"] * line["inputs"] / all_inputs
            if ours > paper.range.high:
                said = f"edit paths show a summary of {int(line['k'])} real graphs that covers {ours:.4f}"
                return {**about, "verdict": DIFFERS, "reason": f"{said}, more than {paper.text}"}
        elif line["high"] < paper.range.low and all_inputs == line["inputs"]:
            said = f"edit paths show a median of {line['high']:.4f}, less than {paper.text}"
            return {**about, "verdict": DIFFERS, "reason": said}
    return {**about, "verdict": NOT_COMPARABLE, "reason": OTHER_DISTANCE}


# -- Orders ------------------------------------------------------------------------------------------------


def orders(lines: pd.DataFrame) -> pd.DataFrame:
    """Does what the paper says covers more than another row cover more here too? A line per comparison (`ORDERS`)."""
    values = measured(lines)
    values = values[values["metric"] == "coverage"]
    found = {key: own.set_index("seed") for key, own in values.groupby([*WHOSE, "k"], sort=False)}
    return pd.DataFrame(_orders(found), columns=list(ORDERS))


def _orders(found: dict[Any, pd.DataFrame]) -> Iterator[dict[str, Any]]:
    printed = printed_tables()
    printed = printed[(printed["metric"] == "coverage") & (printed["method"] != "")]
    for (number, task), own in printed.groupby(["table", "task"], sort=False):
        for one, other in combinations(own.to_dict("records"), 2):
            if float(one["value"]) == float(other["value"]):
                continue
            ahead, behind = (one, other) if float(one["value"]) > float(other["value"]) else (other, one)
            line = {"table": number, "task": task, "k": int(one["k"]), "theta": float(one["theta"])}
            line |= {"ahead": ahead["method"], "printed_ahead": ahead["value"]}
            line |= {"behind": behind["method"], "printed_behind": behind["value"], "kind": "independent"}
            pair = [found.get((task, row["method"], row["variant"], int(row["k"]))) for row in (ahead, behind)]
            if pair[0] is None or pair[1] is None:
                yield {**line, "reason": "not measured"}
            else:
                yield line | _order(ahead["method"], behind["method"], pair[0], pair[1])


def _order(first: str, second: str, ahead: pd.DataFrame, behind: pd.DataFrame) -> dict[str, Any]:
    """Is the row that is printed ahead ahead in each replicate that both have?"""
    fixed = first in WITHOUT_CHANCE, second in WITHOUT_CHANCE
    seeds = [seed for seed in behind.index if fixed[0] or seed in ahead.index]
    seeds = list(ahead.index) if fixed[1] else seeds
    ours, its = (
        np.full(len(seeds), side["low"].iloc[0]) if alone else side.loc[seeds, "low"].to_numpy(dtype=float)
        for side, alone in ((ahead, fixed[0]), (behind, fixed[1]))
    )
    about: dict[str, Any] = {"mean_ahead": float(ours.mean()), "mean_behind": float(its.mean())}
    about |= {"replicates": len(seeds)}
    if len(seeds) < GLOBAL_REPLICATES:
        return {**about, "reason": f"not judged: {len(seeds)} replicates, and {GLOBAL_REPLICATES} are needed"}
    if not ((ours > its).all() or (ours < its).all()):
        return {**about, "reason": "not judged: replicates do not agree on which of the two covers more"}
    holds = bool((ours > its).all())
    higher, lower = (ahead, behind) if holds else (behind, ahead)
    certain = "yes" if higher["low"].min() > lower["high"].max() else "no"
    return {
        **about,
        "verdict": ORDER_HOLDS if holds else DIFFERS,
        "certain": certain,
        "reason": "by edit paths in hand",
    }
