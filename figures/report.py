"""The report: all stored results on one self-contained web page, with an explorer of single graphs.

    ./reproduce.sh report       # results/local/report/index.html

One file, no network: figures are embedded, the explorer's data are compressed (`figures.explorer`), style and programs
stand in the page, and the page's own policy forbids the browser to load anything else. Nothing is computed but counts
and sentences around stored numbers; what is not stored, the page says, with the command that computes it. Template,
style and programs are in `figures/page/`.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from benchmarks.catalogue import CATALOGUE, OF_32_NODES
from benchmarks.progress import in_words
from benchmarks.store import write_text
from benchmarks.table1_views import (
    ACCOUNTING,
    DATASET_LABELS,
    PAPER_METHODS,
    RENAMING,
    RULE,
    SYMBOLS,
    Entry,
    RowView,
    beyond,
    layout,
    number,
)
from benchmarks.verdict import DIFFERS, ORDER_HOLDS, REPRODUCED
from figures import explorer
from figures.figure import read_entries
from figures.results import LOCAL, PAPER, Results, shown
from figures.style import ROWS
from rsgg.errors import UsageError
from rsgg.metrics import METRICS, TABLE1_METRICS, Metric

PARTS = Path(__file__).parent / "page"
LIMIT = 15_000_000  # bytes: a page that a mail or a phone still takes
VERDICTS = (REPRODUCED, ORDER_HOLDS, DIFFERS)
KINDS = {  # how the verdicts of tables, findings and claims are coloured
    REPRODUCED: "good", "confirmed": "good", "holds": "good",
    ORDER_HOLDS: "fair", "partly confirmed": "fair", "holds as released only": "fair", "holds as written only": "fair",
    DIFFERS: "bad", "does not hold": "bad", "not confirmed": "bad",
}  # fmt: skip


def run(folder: Path | None, out: Path | None) -> str:
    """Build the page from stored results; returns what to print."""
    path = (out or (folder or LOCAL) / "report") / "index.html"
    page = build(Results.of(folder))
    write_text(path, page)
    size = len(page.encode())
    said = f"{shown(path)}: {size / 1e6:.1f} MB, one file that opens in any browser."
    return said if size < LIMIT else f"{said} It is larger than {LIMIT / 1e6:.0f} MB; draw smaller figures."


def build(results: Results) -> str:
    """The page."""
    if results.path("table1") is None:
        raise UsageError(
            f"{shown(results.folders[-1])} holds no table1.csv; ./reproduce.sh table1 computes it, and the report "
            "is made from it."
        )
    environment = Environment(
        loader=FileSystemLoader(PARTS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {"kind": _kind, "symbols": SYMBOLS, "tip": _tip, "in_short": _in_short}
    packed = {name: explorer.read(results, name) for name in explorer.DATASETS}
    return environment.get_template("page.html").render(
        style=_part("style.css"),
        programs=[_part("page.js"), _part("explorer.js")],
        verdict=_verdict(results),
        tables=_tables(results),
        legend=f"{RULE} {ACCOUNTING} {RENAMING}",
        figures=_figures(results),
        findings=_statements(results.table("findings"), FINDING),
        claims=_statements(results.table("claims"), CLAIM),
        searched=_searched(results),
        settings=_settings(),
        manifest=_manifest(results),
        data={name: explorer.embedded(explorer.pack(stored)) for name, stored in packed.items() if stored},
        labels=DATASET_LABELS,
        absent=[DATASET_LABELS[name] for name, stored in packed.items() if stored is None],
        sources=results.sources,
    )


def _kind(verdict: str) -> str:
    return KINDS.get(verdict, "open")


def _in_short(sources: Sequence[str]) -> str:
    """Files by name; of the many files of a ledger, how many."""
    folders = Counter(str(Path(source).parent) for source in sources if source.endswith(".parquet"))
    tables = [source for source in sources if not source.endswith(".parquet")]
    return ", ".join([*tables, *(f"{folder} ({n} {'files' if n > 1 else 'file'})" for folder, n in folders.items())])


def _part(name: str) -> Markup:
    return Markup((PARTS / name).read_text(encoding="utf-8"))


# -- The verdict -----------------------------------------------------------------------------------------------


def _verdict(results: Results) -> dict[str, Any] | None:
    """What became of the printed numbers: counts, a card per data set, and what differs, in sentences."""
    verdicts = results.table("verdicts")
    if verdicts is None:
        return None
    verdicts = verdicts.fillna({"verdict": "", "explanation": "", "reason": ""})
    counts = {verdict: int((verdicts["verdict"] == verdict).sum()) for verdict in VERDICTS}
    return {
        "total": len(verdicts),
        "counts": counts,
        "runtimes": int((verdicts["metric"] == "runtime").sum()),
        "cards": {DATASET_LABELS[name]: _card(rows) for name, rows in verdicts.groupby("dataset", sort=False)},
        "metrics": TABLE1_METRICS,
        "not_reproduced": [_grouped(rows) for _, rows in verdicts[verdicts["verdict"] != REPRODUCED].groupby(
            ["verdict", "explanation"], sort=True)],
        "glance": [sentence for name in explorer.DATASETS for sentence in _glance(results, name)],
    }  # fmt: skip


def _card(verdicts: pd.DataFrame) -> list[dict[str, Any]]:
    """A line per method: for each metric its verdict and the sentence behind it."""
    lines = []
    for method, rows in verdicts.groupby("method", sort=False):
        cells = {}
        for row in rows.to_dict("records"):
            ours = number(METRICS[row["metric"]], float(row["mean"]))
            tip = f"printed {row['printed']}, ours {ours}: {row['verdict']}. {_sentence(row['reason'])}"
            cells[row["metric"]] = {"verdict": row["verdict"], "tip": f"{tip} {_sentence(row['explanation'])}".strip()}
        lines.append({"label": PAPER_METHODS[str(method)], "cells": cells})
    return lines


def _grouped(rows: pd.DataFrame) -> dict[str, str]:
    """The numbers that share a verdict and its explanation, as one sentence."""
    parts = []
    for (dataset, metric), some in rows.groupby(["dataset", "metric"], sort=False):
        methods = _listed([PAPER_METHODS[method] for method in some["method"]])
        parts.append(f"{METRICS[metric].label.removesuffix(' (s)')} of {methods} on {DATASET_LABELS[dataset]}")
    first = rows.iloc[0]
    return {"verdict": first["verdict"], "what": "; ".join(parts), "why": _sentence(first["explanation"])}


BOTH = ("correctness", "ged")
GLANCE = (  # how a row is spoken of, in the order of the sentence
    ("rsgg-ce", "released", "the released code gives"),
    ("rsgg-ce", "faithful", "trained as the paper describes, the method reaches"),
    ("two-sided-min", "search", "a random order of edits with a minimiser, which learns nothing, reaches"),
    ("optimum", "control", "the optimum is"),
)


def _glance(results: Results, dataset: str) -> list[str]:
    """RSGG-CE on a data set in a sentence: printed, as released, as written, and what can be had without it."""
    table, paper = results.table("table1"), results.paper("table1")
    assert table is not None
    printed = paper[paper["dataset"] == dataset].set_index(["method", "metric"])["value"]
    correct, distance = (number(METRICS[name], float(printed["rsgg-ce", name])) for name in BOTH)
    means = table[table["dataset"] == dataset].pivot(index=["method", "variant"], columns="metric", values="mean")
    said = [f"the paper prints Correctness {correct} at GED {distance}"]
    for method, variant, words in GLANCE:
        if (method, variant) in means.index and {*BOTH} <= {*means.columns}:
            ours = (number(METRICS[name], means.loc[(method, variant), name]) for name in BOTH)
            said.append(f"{words} {' at '.join(ours)}")
    return [f"On {DATASET_LABELS[dataset]}, {'; '.join(said)}."] if len(said) > 1 else []


def _listed(parts: Sequence[str]) -> str:
    head = ", ".join(parts[:-1])
    return f"{head} and {parts[-1]}" if head else parts[-1]


def _sentence(text: str) -> str:
    """Capitalised and with a full stop; nothing stays nothing."""
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""


# -- Table 1 ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TableView:
    """A table of the page: its columns, and its rows in the order of `table1_views`."""

    title: str
    name: str
    columns: tuple[Metric, ...]
    rows: list[RowView]
    folded: bool


def _tables(results: Results) -> list[TableView]:
    """Per data set the paper's metrics, with the printed rows, and what lies beyond them."""
    table = results.table("table1")
    assert table is not None
    table = table.fillna({"verdict": "", "reason": ""})
    views = layout(table, [], CATALOGUE)
    on_32 = {row.method: row for row in views.pop(OF_32_NODES, []) if row.variant != "paper"}
    shown_tables = []
    for dataset, rows in views.items():
        if dataset == "tree-cycles":
            rows = [one for row in rows for one in (row, *_beside(row, on_32))]
        label, ours = DATASET_LABELS.get(dataset, dataset), [row for row in rows if row.variant != "paper"]
        further = TableView(f"{label}, beyond the paper", f"{dataset}-beyond", beyond(rows), ours, folded=True)
        shown_tables += [TableView(label, dataset, TABLE1_METRICS, rows, folded=False), further]
    return shown_tables


def _beside(row: RowView, on_32: dict[str, RowView]) -> list[RowView]:
    """The released MEG ran on graphs of 32 nodes for its printed row: that row, below the one on 28."""
    other = on_32.get(row.method) if row.variant == "released" else None
    return [replace(other, label=f"{other.label}, 32 nodes")] if other else []


def _tip(entry: Entry, metric: Metric) -> str:
    """What is seen when a number is pointed at: its interval and, where the paper prints one, the verdict."""
    said = []
    if entry.low == entry.low:
        said.append(f"95 % interval {number(metric, entry.low)} to {number(metric, entry.high)}.")
    if entry.verdict:
        said.append(f"{_sentence(entry.verdict)[:-1]}: {entry.reason}.")
    return " ".join(said)


# -- Figures ---------------------------------------------------------------------------------------------------


def _figures(results: Results) -> dict[str, Any]:
    """The drawn figures with what `figures.json` says of them, and the scripts that have drawn none."""
    drawn: dict[str, dict[str, Any]] = {}
    for folder in results.folders:
        for entry in read_entries(folder / "figures"):
            picture = folder / "figures" / f"{entry['name']}.png"
            if picture.is_file() and not str(entry["name"]).endswith("_safe"):
                drawn.setdefault(str(entry["name"]), {**entry, "picture": _embedded(picture)})
    scripts = [path.stem for path in sorted(PARTS.parent.glob("*.py")) if "\n    figure.script(" in path.read_text()]
    done = {str(entry["command"]) for entry in drawn.values()}
    ordered = sorted(drawn.values(), key=lambda entry: not entry["paper"])  # the paper's first, else as they were drawn
    return {"drawn": ordered, "absent": [name for name in scripts if f"python figures/{name}.py" not in done]}


def _embedded(picture: Path) -> dict[str, Any]:
    """A picture inside the page, as lossless WebP: the same pixels in a third of the bytes."""
    smaller = BytesIO()
    with Image.open(picture) as image:
        image.save(smaller, "WEBP", lossless=True, quality=50, method=2)
        width, height = image.size
    source = "data:image/webp;base64," + base64.b64encode(smaller.getvalue()).decode()
    return {"source": Markup(source), "width": width, "height": height}


# -- Findings and claims ---------------------------------------------------------------------------------------

FINDING = {"paper": "The paper says", "artefacts": "The released code", "measured": "Measured", "command": "Command"}
CLAIM = {"place": "Where", "evidence": "Evidence", "released": "As released", "faithful": "As written"}


def _statements(table: pd.DataFrame | None, details: dict[str, str]) -> list[dict[str, Any]] | None:
    """Lines of findings.csv or claims.csv: the statement, its verdict, and what there is to say about it."""
    if table is None:
        return None
    rows = table.astype(object).fillna("").astype(str).to_dict("records")
    return [
        {
            "statement": row.get("finding") or row["claim"],
            "verdict": row["verdict"] or "open",
            "details": [(label, row[name], name == "command") for name, label in details.items() if row.get(name)],
        }
        for row in rows
    ]


# -- Hyper-parameters and manifest -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Plain:
    """A table of words: headings and rows."""

    headings: list[str]
    rows: list[list[str]]
    note: str = ""


def _searched(results: Results) -> Plain:
    """What was searched beside the paper's tables; the paper's alone where no search is stored."""
    stored = results.path("hyperparameters")
    path = stored or PAPER / "hyperparameters.csv"
    note = "" if stored else "No search is stored: these are the paper's tables. ./reproduce.sh hpo searches."
    texts = pd.read_csv(path, dtype=str).dropna(axis=1, how="all").fillna("").drop(columns="place", errors="ignore")
    texts["method"] = [PAPER_METHODS.get(method, method) for method in texts["method"]]
    return Plain([name.replace("_", " ") for name in texts.columns], texts.to_numpy().tolist(), note)


def _settings() -> Plain:
    """The values that every row of Table 1 was computed with, from the catalogue."""
    rows = []
    for method in CATALOGUE:
        on = {name: method.for_dataset(name).build() for name in explorer.DATASETS if not method.unsupported(name)}
        first = next(iter(on.values()))
        look = ROWS.get((method.name, method.variant))
        for option in fields(first):
            if "symbol" in option.metadata:
                values = [_value(getattr(on[name], option.name)) if name in on else "–" for name in explorer.DATASETS]
                label = look.label if look else method.label or method.name
                rows.append([label, option.metadata["symbol"], option.name.replace("_", " "), *values])
    return Plain(["method", "symbol", "hyper-parameter", *(DATASET_LABELS[name] for name in explorer.DATASETS)], rows)


def _value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int | str) else type(value).__name__


def _manifest(results: Results) -> Plain:
    """Versions, seeds, commits, machine and duration, from the folder that Table 1 is shown from."""
    table = results.path("table1")
    path = (table.parent if table else results.folders[-1]) / "manifest.json"
    if not path.is_file():
        return Plain([], [], "No manifest is stored beside Table 1.")
    manifest = json.loads(path.read_text(encoding="utf-8"))
    versions = ", ".join(f"{name} {version}" for name, version in manifest.get("versions", {}).items())
    rows = [
        ["file", shown(path)],
        ["Python", manifest.get("python", "")],
        ["versions", versions],
        ["commit", manifest.get("commit", "")],
        ["machine", ", ".join(f"{name} {value}" for name, value in manifest.get("machine", {}).items())],
        ["stored files", str(len(manifest.get("files", {})))],
    ]
    for name, about in manifest.get("experiments", {}).items():
        rows += [[f"{name}: {what}", said] for what, said in _experiment(about)]
    return Plain([], [row for row in rows if row[1]])


def _experiment(about: dict[str, Any]) -> list[tuple[str, str]]:
    seeds = about.get("seeds", [])
    return [
        ("cells", f"{about.get('cells', '?')} of {about.get('cells_expected', '?')}"),
        ("seeds", f"{min(seeds)} to {max(seeds)}" if len(seeds) > 1 else ", ".join(map(str, seeds))),
        ("computing time", in_words(float(about["duration"])) if "duration" in about else ""),
        ("commits", ", ".join(commit[:12] for commit in about.get("commits", []))),
        ("missing", "; ".join(about.get("missing", []))),
    ]
