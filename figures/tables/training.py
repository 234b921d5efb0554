"""What training costs and whether it ends well: the sentences below Table 1 and in the README."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from benchmarks.results.reader import Results

Key = tuple[str, str, str]  # data set, method, variant


class Reason(NamedTuple):
    """Why fits collapse: of which class, in which way (as training.csv says it), and the reason."""

    of_class: int
    way: str
    reason: str


WHY = {
    ("asd", "rsgg-ce", "faithful"): Reason(
        0,
        "proposes another graph",
        "the empty graph is of class 1, so that deleting everything flips every graph of class 0; as in Eq. 4 such a "
        "graph has the target 1/2, and a discriminator with some fifty real graphs to learn from does not hold the "
        "generator back from there",
    )
}


def collapsed(results: Results) -> dict[Key, tuple[int, int, str]]:
    """Of each row whose fits were judged: how many collapse, of how many, and how, by class, from training.csv."""
    return {key: _ended(fits) for key, fits in _judged(results).items()}


def _ended(fits: pd.DataFrame) -> tuple[int, int, str]:
    return int((fits["collapsed"] != "no").sum()), len(fits), "; ".join(map(_of_class, _by_class(fits)))


def _judged(results: Results) -> dict[Key, pd.DataFrame]:
    table = results.table("training", as_text=True)
    if table is None or table.empty:
        return {}
    return dict(iter(table[table["collapsed"] != ""].groupby(["dataset", "method", "variant"], sort=False)))


def _by_class(fits: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The fits of each class of which some collapse."""
    return [(str(c), own) for c, own in fits.groupby("class") if (own["collapsed"] != "no").any()]


def _of_class(one: tuple[str, pd.DataFrame]) -> str:
    """ "class 1, 3 of 10: proposes another graph 2 (371 to 5,866 edits), proposes nothing that flips 1 (558 edits)"."""
    c, fits = one
    ended = fits[fits["collapsed"] != "no"]
    ways = []
    for way in ended["collapsed"].value_counts().index:
        edits = pd.to_numeric(ended.loc[ended["collapsed"] == way, "edits"])
        ends = dict.fromkeys((f"{edits.min():,.0f}", f"{edits.max():,.0f}")) if edits.notna().any() else {}
        ways.append(f"{way} {len(edits)}" + (f" ({' to '.join(ends)} edits)" if ends else ""))
    return f"class {c}, {len(ended)} of {len(fits)}: {', '.join(ways)}"


def how_it_ended(results: Results, key: Key) -> str:
    """How many fits of a row collapse, Correctness of its folds, and the reason where it is known; or nothing."""
    if key not in (judged := _judged(results)):
        return ""
    n, fits, ways = _ended(judged[key])
    rows = results.ledger(*key)
    folds = (rows["predicted"] != rows["predicted_cf"]).groupby(rows["fold"]).mean() if len(rows) else []
    said = f"{n} of {fits} fits of replicate 0 collapse" + (f" ({ways})" if n else "")
    said += f"; Correctness of the folds: {', '.join(f'{value:.2f}' for value in folds)}" if len(folds) else ""
    return f"{said}.{_why(judged[key], WHY[key]) if key in WHY else ''}"


def _why(fits: pd.DataFrame, why: Reason) -> str:
    """The reason, with how many of the fits that collapse it is about and how many it leaves unexplained."""
    ended = fits[fits["collapsed"] != "no"]
    about = (ended["class"] == str(why.of_class)) & (ended["collapsed"] == why.way)
    if not about.any():
        return ""
    others = [f"{n} of class {c}" for c, n in ended.loc[~about, "class"].value_counts(sort=False).sort_index().items()]
    rest = f" It does not explain the others ({' and '.join(others)})." if others else ""
    whose = f"class {why.of_class} where it {why.way}"
    return f" A reason for the {about.sum()} of {whose}: {why.reason}.{rest}"
