"""What training costs and whether it ends well: the sentences below Table 1 and in the README."""

from __future__ import annotations

from benchmarks.results.reader import Results

Key = tuple[str, str, str]  # data set, method, variant

WHY = {
    ("asd", "rsgg-ce", "faithful"): "The empty graph is of class 1, so that deleting everything flips every graph of "
    "class 0; as in Eq. 4 such a graph has the target 1/2, and a discriminator with some fifty real graphs to learn "
    "from does not hold the generator back from there."
}


def collapsed(results: Results) -> dict[Key, tuple[int, int, str]]:
    """Of each row whose fits were judged: how many collapse, of how many, and how, from training.csv."""
    table = results.table("training", as_text=True)
    if table is None or table.empty:
        return {}
    judged = table[table["collapsed"] != ""]
    found = {}
    for key, ended in judged.groupby(["dataset", "method", "variant"], sort=False)["collapsed"]:
        ways = ended[ended != "no"].value_counts()
        found[key] = int(ways.sum()), len(ended), ", ".join(f"{way}: {n}" for way, n in ways.items())
    return found


def how_it_ended(results: Results, key: Key) -> str:
    """How many fits of a row collapse, Correctness of its folds, and the reason where it is known; or nothing."""
    if key not in (found := collapsed(results)):
        return ""
    n, fits, ways = found[key]
    rows = results.ledger(*key)
    folds = (rows["predicted"] != rows["predicted_cf"]).groupby(rows["fold"]).mean() if len(rows) else []
    said = f"{n} of {fits} fits collapse" + (f" ({ways})" if n else "")
    said += f"; Correctness of the folds: {', '.join(f'{value:.2f}' for value in folds)}" if len(folds) else ""
    return f"{said}. {WHY[key]}" if n and key in WHY else f"{said}."
