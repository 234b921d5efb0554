"""How numbers and names are written in every table."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.results.artefacts import read_manifest
from benchmarks.results.reader import Results
from figures.tables.sheet import ABSENT, Cell

STORED_DIGITS = 6  # of a number in a stored table
PREDICTION = "uniform-sampler"  # the method of ablations' rows that are computed and not measured


def number(value: Any, decimals: int = 3) -> str:
    """With these decimals, but no more digits than are stored; what they would print as zero in scientific notation."""
    value = float(value) if value not in ("", None) else math.nan
    if math.isnan(value):
        return ABSENT
    if value and abs(value) < 0.5 * 10.0**-decimals:
        return f"{value:.1e}"
    kept = min(decimals, max(0, STORED_DIGITS - len(f"{abs(value):.0f}")))
    return f"{value:.{kept}f}"


def row_label(method: str, variant: str) -> str:
    """The public name of a row, marked where it is told more about the oracle than classes."""
    if method == PREDICTION:
        return f"Predicted for equal probabilities, {variant}"
    return f"{methods.label(method, variant)} {methods.access(method, variant)}".strip()


def cells(*texts: object) -> list[Cell]:
    return [Cell(str(text)) for text in texts]


def rows_of(table: pd.DataFrame) -> list[list[Cell]]:
    """The lines of a table of texts as they are."""
    return [cells(*line) for line in table.to_numpy().tolist()]


def sentence(text: str) -> str:
    """Capitalised and with a full stop; nothing stays nothing."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


def in_short(sources: Sequence[str]) -> str:
    """Files by name; of the many files of a ledger, how many."""
    folders = Counter(str(Path(source).parent) for source in sources if source.endswith(".parquet"))
    named = [source for source in sources if not source.endswith(".parquet")]
    return ", ".join([*named, *(f"{folder} ({n} {'files' if n > 1 else 'file'})" for folder, n in folders.items())])


def missing(results: Results, name: str, experiment: str = "") -> list[str]:
    """What the manifest beside a table says that its experiment lacks, a sentence each."""
    path = results.path(name)
    manifest = read_manifest(path.parent) if path else {}
    return [str(gap) for gap in manifest.get("experiments", {}).get(experiment or name, {}).get("missing", [])]


FEW_TASKS = 3  # are named; of more, how many there are


def over_tasks(gaps: Sequence[str]) -> list[str]:
    """Gaps as `missing` gives them; what several tasks lack alike is one sentence, "ROW: why (on 11 tasks)"."""
    labels = sorted((entry.label for entry in tasks.TASKS), key=len, reverse=True)  # one may begin like another
    lacking: dict[str, list[str]] = {}
    for gap in gaps:
        label = next((label for label in labels if gap.startswith(f"{label}, ")), "")
        lacking.setdefault(gap.removeprefix(f"{label}, "), []).append(label)
    said = []
    for what, where in lacking.items():
        on = "; ".join(where) if len(where) <= FEW_TASKS else f"{len(where)} tasks"
        said.append(f"{what} (on {on})" if len(where) > 1 else f"{where[0]}, {what}" if where[0] else what)
    return said


def stored(results: Results, name: str, *, as_text: bool = True) -> pd.DataFrame:
    """A table that is known to be stored; as text, its numbers have the digits that were written."""
    table = results.table(name, as_text=as_text)
    assert table is not None, f"{name}.csv is asked for only where it is stored"
    return table.fillna("") if as_text else table


def means(lines: pd.DataFrame, shown: Mapping[str, tuple[str, int]]) -> list[Cell]:
    """A cell for each metric of `shown` (heading and decimals): its mean with its interval, from the lines of a row."""
    known, made = {line["metric"]: line for line in lines.to_dict("records")}, []
    for metric, (_, decimals) in shown.items():
        if metric not in known:
            made.append(Cell(number("")))
            continue
        line = known[metric]
        low, high = (number(line[end], decimals) for end in ("ci_low", "ci_high"))
        made.append(Cell(number(line["mean"], decimals), interval=f"[{low}, {high}]"))
    return made


def by_row(table: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The lines of each method and variant with their label, in the order of the registry; predictions last."""
    known = {row: i for i, row in enumerate(methods.rows())}
    found = dict(iter(table.groupby(["method", "variant"], sort=False)))
    for row in sorted(found, key=lambda row: known.get(row, len(known) + (row[0] == PREDICTION))):
        yield row_label(*row), found[row]
