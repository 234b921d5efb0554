"""LaTeX: tables compile with the packages that they name, fit their page, and Table 1 is laid out as the paper's is."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from benchmarks.results.files import REFERENCE
from benchmarks.results.paper import paper_table
from benchmarks.results.reader import Results
from figures import tables
from figures.tables.numbers import cells
from figures.tables.sheet import TEX_LINES, Cell, Group, Sheet, latex, tex

RESULTS = Results((REFERENCE,))
COMPILED = ("table1", "table1_paper", "datasets", "verdicts", "claims", "findings")
PACKAGES = ("adjustbox", "booktabs", "multirow", "xcolor")


def has_latex() -> bool:
    """Is LaTeX there with these packages? Asked only when the test runs: each question starts a program."""
    if shutil.which("pdflatex") is None:
        return False
    files = [f"{name}.sty" for name in PACKAGES]
    return subprocess.run(["kpsewhich", *files], capture_output=True).stdout.count(b"\n") == len(files)


def test_tables_compile_and_fit_their_pages(tmp_path: Path) -> None:
    if not has_latex():
        pytest.skip(f"pdflatex with {', '.join(PACKAGES)} is not installed")
    for name in COMPILED:
        (tmp_path / f"{name}.tex").write_text(tables.latex(name, RESULTS), encoding="ascii")
    needs = r"\usepackage{adjustbox, amssymb, array, booktabs, graphicx, multirow}\usepackage[table]{xcolor}"
    head = rf"\documentclass[letterpaper]{{article}}\usepackage[margin=.75in]{{geometry}}{needs}"
    inside = "".join(rf"\input{{{name}}}\clearpage" for name in COMPILED)
    (tmp_path / "page.tex").write_text(rf"{head}\begin{{document}}{inside}\end{{document}}", encoding="ascii")
    ran = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"], cwd=tmp_path, capture_output=True
    )
    log = ran.stdout.decode(errors="replace")
    assert ran.returncode == 0, log[-2000:]
    assert not re.findall(r"Overfull \\hbox.*|Float too large.*|.*undefined.*", log)


def test_table_1_is_laid_out_as_the_paper_prints_it() -> None:
    written = tables.latex("table1_paper", RESULTS)
    printed = [line for line in written.splitlines() if "printed" in line and line.endswith(r"\\")]
    assert len(printed) == 14, "seven metrics of two data sets"
    for value in paper_table()["value"]:
        assert (value or r"$\times$") in written
    bold = re.findall(r"\\textbf\{([\d.]+)\}", written)
    assert sorted(bold) == sorted(paper_table().query("bold == 1")["value"])
    shaded = {line.split("}")[1].split(" $")[0] for line in printed if line.count("cellcolor") >= 7}
    assert {"Correctness", "Fidelity"} == {next(filter(str.isalpha, re.findall(r"\w+", one))) for one in shaded}


def test_captions_are_short_and_the_rest_is_said_in_comments() -> None:
    about = "Of rows. And rules that nobody prints."
    one = Sheet("one", "One", ["Name", "Value"], [Group("", [cells("a", "0.5")])], about, ["A note, 5 % long."])
    written = latex([one])
    assert r"\caption{One. Of rows.}" in written
    assert "% And rules that nobody prints." in written and r"% A note, 5 \% long." in written


def test_a_long_table_goes_on_in_a_further_one_and_loses_no_row() -> None:
    groups = [Group(f"group {g}", [cells(f"row {g} {i}", str(i)) for i in range(40)]) for g in range(3)]
    written = latex([Sheet("long", "Long", ["Name", "Value"], groups)])
    pages = written.split(r"\begin{table*}")[1:]
    assert len(pages) == 3 and written.count("continued") == 2 and written.count(r"\label") == 1
    rows = [int(n) for page in pages for n in re.findall(r"row \d+ (\d+)", page)]
    assert rows == [i for _ in range(3) for i in range(40)]
    assert all(page.count(r"\\") <= TEX_LINES + 2 for page in pages)


def test_rows_of_long_texts_are_taken_for_as_many_lines_as_they_have() -> None:
    text = "many words " * 60
    one = Sheet("long", "Long", ["Name", "Text"], [Group("", [[Cell("a"), Cell(text)] for _ in range(12)])])
    assert latex([one]).count(r"\begin{table*}") > 1


def test_what_cannot_be_printed_is_a_space_and_signs_are_kept() -> None:
    assert tex("a\x1b[31mb\n\tc") == "a [31mb  c"
    assert tex("✓ ≠ ∞ é") == r"$\checkmark$ $\neq$ $\infty$ e"
