"""The page of the report.

    ./reproduce.sh report       # results/local/report/index.html

One file, no network: figures are embedded, the explorer's data are compressed (`figures.report.explorer`), style and
programs stand in the page, and the page's own policy forbids the browser to load anything else. Nothing is computed
but counts and sentences around stored numbers; what is not stored, the page says, with the command that computes it.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import TABLE1
from benchmarks.results.artefacts import MANIFEST, read_manifest
from benchmarks.results.files import LOCAL, ROOT, StoreError, shown, write_text
from benchmarks.results.reader import Results, shown_as_written
from figures import tables
from figures.figure import read_entries
from figures.gallery import MODULES
from figures.report import explorer
from figures.report.opening import opening
from figures.tables.numbers import cells, in_short
from figures.tables.sheet import MEANING, SYMBOLS, Group, Sheet, html_table, row_marks, text
from figures.tables.statements import claims_in_short
from figures.tables.table1 import (
    ACCOUNTING,
    CALLS_RULE,
    PAPER,
    RENAMING,
    RULE,
    further,
    headed,
    layout,
    notes_on,
    with_printed_data,
)
from figures.tables.table2 import overview, per_task
from rsgg.errors import UsageError

PARTS = Path(__file__).parent / "parts"
LIMIT = 15_000_000  # bytes: a page that a mail or a phone still takes
FIRST_FIGURE = "tradeoff"  # then the paper's, then the others as they were drawn
THUMBNAIL = (320, 200)  # pixels, at most
LARGE_PICTURE = 150_000  # bytes
MISSING = "Missing: "  # begins the notes of a table that name a row it lacks
TABLES = (".csv", ".md", ".tex")  # what is offered for download
LARGEST_PDF = 150_000  # bytes, of a figure's PDF inside the page; of a larger one the page says where it lies
KINDS = {  # how the verdicts of tables, findings and claims are coloured
    "reproduced": "good", "confirmed": "good", "holds": "good",
    "order holds": "fair", "confirmed in part": "fair", "holds as released only": "fair",
    "holds as written only": "fair", "undecided": "fair",
    "differs": "bad", "does not hold": "bad", "not confirmed": "bad",
}  # fmt: skip


def run(folder: Path | None, out: Path | None, beside_reference: bool = False) -> str:
    """Build the page from stored results; returns what to print."""
    path = (out or (folder or LOCAL) / "report") / "index.html"
    results = Results.of(folder, beside_reference=beside_reference)
    with shown_as_written(results):
        page = build(results)
    write_text(path, page)
    size = len(page.encode())
    said = f"{shown(path)}: {size / 1e6:.1f} MB, one file that opens in any browser."
    return said if size < LIMIT else f"{said} It is larger than {LIMIT / 1e6:.0f} MB; draw smaller figures."


def build(results: Results) -> str:
    """The page as text."""
    if not any(tables.names(folder) for folder in results.folders):
        raise UsageError(
            f"{shown(results.folders[-1])} holds no table1.csv; ./reproduce.sh table1 computes it, and the report "
            "is made from it."
        )
    environment = Environment(
        loader=FileSystemLoader(PARTS), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {
        "kind": lambda verdict: KINDS.get(verdict, "open"), "symbols": SYMBOLS, "meaning": MEANING,
        "in_short": in_short, "html_table": lambda sheet: Markup(html_table(sheet)), "variant_label": _variant_label,
    }  # fmt: skip
    every = table_views(results)
    stored = {name: explorer.read(results, name) for name in explorer.datasets(results)}
    real = explorer.real_data(results)
    return environment.get_template("page.html").render(
        style=_part("style.css"),
        programs=[_part("page.js"), _part("explorer.js")],
        verdict=opening(results),
        tables=every,
        variants={row.variant: _of_all(row.variant) for table in every for row in table["rows"]},
        legend=f"{RULE} {ACCOUNTING} {CALLS_RULE} {RENAMING}",
        marks=row_marks(row.marks for table in every for row in table["rows"]),
        real=_real_data(results) if real else None,
        robustness=_robustness(results),
        figures=_figures(results),
        findings=_statements(results, "findings", FINDING),
        claims=_statements(results, "claims", CLAIM),
        claims_in_short=claims_in_short(results),
        candidates=tables.sheets("candidates", results, everything=True),
        searched=tables.sheets("hyperparameters", results, everything=True),
        tuning=tables.sheets("tuning", results, everything=True),
        settings=[settings(list(stored))],
        downloads=_downloads(results),
        bibtex=_bibtex(),
        manifest=[_manifest(results)],
        data={name: explorer.embedded(explorer.pack(found)) for name, found in stored.items() if found},
        labels={name: tasks.label(name) for name in stored},
        absent={
            tasks.label(name): "table2" if name in real else "table1" for name, found in stored.items() if not found
        },
        sources=results.sources,
    )


def _real_data(results: Results) -> dict[str, Any]:
    """The tables of real data: what is said above them, rows × tasks, a table per task, and the leaderboard."""
    about = tables.sheets("table2", results, everything=True)[0]
    board = tables.sheets("leaderboard", results, everything=True)
    missing = [note for note in about.notes if note.startswith(MISSING)]
    return {
        "about": about,
        "missing": missing,
        "overview": overview(results),
        "per_task": per_task(results),
        "leaderboard": board,
    }


def _robustness(results: Results) -> list[Sheet]:
    """What counterfactuals withstand, task by task; nothing where it is not stored."""
    return [] if results.table("robustness") is None else tables.sheets("robustness", results, everything=True)


def _variant_label(method: str, variant: str) -> str:
    return "printed" if variant == PAPER else methods.variant_label(method, variant)


def _of_all(variant: str) -> str:
    """What a variant is for all methods that have it; where one is something else, both are said."""
    others = {row.version for row in methods.METHODS if row.variant == variant and row.version and not row.base}
    return " / ".join([_variant_label("", variant), *sorted(others)])


def _part(name: str) -> Markup:
    return Markup((PARTS / name).read_text(encoding="utf-8"))


# -- Table 1 ---------------------------------------------------------------------------------------------


def table_views(results: Results) -> list[dict[str, Any]]:
    """Per data set the paper's metrics, with the printed rows, and what lies beyond them, folded.

    A table has its columns (metric, heading) and its rows in the order of Table 1. None where that is not stored.
    """
    views: list[dict[str, Any]] = []
    if results.table("table1") is None:
        return views
    for dataset, rows in with_printed_data(layout(results)).items():
        label, ours = tasks.label(dataset), [row for row in rows if row.variant != PAPER]
        paper = {"title": label, "name": dataset, "columns": headed(TABLE1), "rows": rows, "folded": False}
        beyond = {"title": f"{label}, beyond the paper", "name": f"{dataset}-beyond", "columns": further(rows)}
        views += [{**paper, "notes": notes_on(ours, results)}, {**beyond, "rows": ours, "folded": True, "notes": []}]
    return views


# -- Figures ---------------------------------------------------------------------------------------------


def _figures(results: Results) -> dict[str, Any]:
    """The drawn figures with what `figures.json` says of them, and the scripts that have drawn none.

    Where a user's results stand beside the reference, their own pictures are shown, which have the rows of both.
    """
    drawn: dict[str, dict[str, Any]] = {}
    for folder in (*([results.beside] if results.beside else []), *results.folders):
        for entry in read_entries(folder / "figures"):
            picture = folder / "figures" / f"{entry['name']}.png"
            if picture.is_file() and not str(entry["name"]).endswith("_safe"):
                about = {"title": str(entry["name"]).replace("_", " "), **_pdf(picture.with_suffix(".pdf"))}
                drawn.setdefault(str(entry["name"]), {**entry, **about, "picture": _embedded(picture)})
    done = " ".join(str(entry["command"]) for entry in drawn.values())
    ordered = sorted(drawn.values(), key=lambda entry: (entry["name"] != FIRST_FIGURE, not entry["paper"]))
    return {"drawn": ordered, "absent": [name for name in MODULES if f"figures/{name}.py" not in done]}


def _pdf(path: Path) -> dict[str, str]:
    """A figure's PDF as an address, or where it lies if it is large."""
    if not path.is_file():
        return {"pdf": "", "large_pdf": ""}
    content = path.read_bytes()
    inside = len(content) <= LARGEST_PDF
    return {"pdf": _data("application/pdf", content) if inside else "", "large_pdf": "" if inside else shown(path)}


def _embedded(picture: Path) -> dict[str, Any]:
    """A picture inside the page, as WebP; and a small one of it.

    Lossless, the same pixels in a third of the bytes, or, where clouds of thousands of lines are smaller so, nearly.
    """
    lossless, nearly, thumbnail = BytesIO(), BytesIO(), BytesIO()
    try:
        with Image.open(picture) as image:
            image.save(lossless, "WEBP", lossless=True, quality=50, method=2)
            if lossless.tell() > LARGE_PICTURE:
                image.save(nearly, "WEBP", quality=90)
            width, height = image.size
            image.thumbnail(THUMBNAIL)
            image.save(thumbnail, "WEBP", quality=60)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:  # what Pillow says of no picture
        raise StoreError(f"{shown(picture)} is damaged ({error}); ./reproduce.sh figures draws it again.") from error
    smaller = min((one.getvalue() for one in (lossless, nearly) if one.tell()), key=len)
    source, small = (_data("image/webp", content) for content in (smaller, thumbnail.getvalue()))
    return {"source": source, "small": small, "width": width, "height": height}


# -- Downloads -------------------------------------------------------------------------------------------


def _data(kind: str, content: bytes) -> Markup:
    """Content as an address: what is behind a link of a page that is one file."""
    return Markup(f"data:{kind};base64,{base64.b64encode(content).decode()}")


def _downloads(results: Results) -> list[dict[str, Any]]:
    """Every stored table as it lies in its folder, in all the forms that are stored; of two of a name the first."""
    files: dict[str, Path] = {}
    for folder in results.folders:
        for path in sorted(path for kind in TABLES for path in folder.glob(f"*{kind}")):
            files.setdefault(path.name, path)
    return [
        {
            "name": name,
            "packed": explorer.embedded(files[name].read_bytes()),
            "size": f"{max(1, round(files[name].stat().st_size / 1e3))} kB",
        }
        for name in sorted(files)
    ]


def _bibtex() -> str:
    """The paper's entry, as the README has it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return readme.partition("```bibtex\n")[2].partition("```")[0].strip()


# -- Findings and claims ---------------------------------------------------------------------------------

FINDING = {"paper": "The paper says", "artefacts": "The released code", "measured": "Measured", "holds": "Holds",
           "fails": "Does not hold", "command": "Command"}  # fmt: skip
CLAIM = {
    "quotation": "The paper's words", "place": "Where", "evidence": "Evidence", "released": "As released",
    "faithful": "As written, RSGG-CE by score function",
}  # fmt: skip


def _statements(results: Results, name: str, details: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """Lines of findings.csv or claims.csv: the statement, its verdict, and what there is to say about it."""
    table = results.table(name, as_text=True)
    if table is None:
        return None
    lines = []
    for row in table.to_dict("records"):
        said = [(label, row[part], part == "command") for part, label in details.items() if row.get(part)]
        lines.append({"statement": row[name.removesuffix("s")], "verdict": row["verdict"] or "open", "details": said})
    return lines


# -- Settings and manifest -------------------------------------------------------------------------------


def settings(datasets: Sequence[str]) -> Sheet:
    """The options that the registry declares for each row on each data set."""
    groups = []
    for method in methods.METHODS:
        on = [method.for_task(name).options if not method.unsupported(name) else {} for name in datasets]
        names = list(dict.fromkeys(name for options in on for name in options))
        rows = [cells(method.label, name, *(_said(options.get(name)) for options in on)) for name in names]
        groups += [Group("", rows)] if rows else []
    headings = ["Method", "Hyper-parameter", *map(tasks.label, datasets)]
    note = "What is not listed, and each dash, is the default that stands in the method's class."
    return Sheet("settings", "", headings, groups, note, names=2)


def _manifest(results: Results) -> Sheet:
    """Versions, seeds, commits, machine and duration, from the folder that Table 1 is shown from."""
    table = results.path("table1")
    folder = table.parent if table else results.folders[-1]
    manifest = read_manifest(folder)
    if not manifest:
        return text("manifest", "", "No manifest is stored beside Table 1.")
    rows = {"file": shown(folder / MANIFEST), **manifest, "files": len(manifest.get("files", {}))}
    for name, about in rows.pop("experiments", {}).items():
        rows |= {f"{name}: {what.replace('_', ' ')}": said for what, said in about.items()}
    lines = [cells(name, _said(value)) for name, value in rows.items()]
    return Sheet("manifest", "", ["", ""], [Group("", lines)], names=2)


def _said(value: Any) -> str:
    """A setting, or what a manifest holds: lists, and pairs of names and values, one after the other."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(one)}" for name, one in value.items())
    if isinstance(value, list):
        return "; ".join(map(_said, value))
    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, int | str) else type(value).__name__
