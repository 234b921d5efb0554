"""The table model: whatever stands in a sheet comes out of every writer, and no number is ever cut."""

from __future__ import annotations

import csv
import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from figures.tables import sheet
from figures.tables.sheet import Cell, Group, Sheet
from tests.figures.tables.reading import HtmlReader, assert_balanced, pipe_rows

numbers = st.floats(-1e6, 1e6).map(lambda value: f"{value:.3f}")
words = st.lists(st.sampled_from(["cycle", "Tree-Cycles,", "a|b", "50 %", "x_1", "<b>", "λ > 0", "*"]), max_size=6).map(
    " ".join
)
marks, verdicts = st.sampled_from(["", "best", "second", "printed"]), st.sampled_from(["", *sheet.SYMBOLS])


@st.composite
def some_sheets(draw: st.DrawFn) -> Sheet:
    """A named row of words, then columns of numbers; in one or two groups."""
    columns = draw(st.integers(1, 9))

    def row() -> list[Cell]:
        cells = [Cell(draw(numbers), draw(marks), draw(verdicts)) for _ in range(columns)]
        return [Cell(f"row {draw(words)}"), *cells]

    groups = [Group(draw(st.sampled_from(["", "Group 1"])), [row() for _ in range(draw(st.integers(1, 3)))])]
    groups += [Group("", [row()])] if draw(st.booleans()) else []
    return Sheet("some", "Some numbers", ["Name", *(f"Metric {i} of all" for i in range(columns))], groups)


def printed(sheets: list[Sheet], width: int) -> str:
    console = Console(width=width, file=io.StringIO(), highlight=False)
    console.print(sheet.on_terminal(sheets, width))
    return console.file.getvalue()  # type: ignore[attr-defined]


@settings(max_examples=60, deadline=None)
@given(some_sheets(), st.integers(40, 130))
def test_in_a_terminal_every_number_is_whole_and_no_line_is_too_long(one: Sheet, width: int) -> None:
    text = printed([one], width)
    assert all(len(line) <= width for line in text.splitlines())
    shown = re.findall(r"-?\d+\.\d{3}(?!\d)", text)
    assert sorted(shown) == sorted(cell.text for row in one.rows for cell in row[1:])


@settings(max_examples=60, deadline=None)
@given(some_sheets())
def test_every_writer_writes_every_cell(one: Sheet) -> None:
    texts = [[cell.text for cell in row] for row in one.rows]
    grouped = any(group.heading for group in one.groups)
    assert [row[grouped:] for row in csv.reader(io.StringIO(sheet.as_csv(one)))] == [list(one.headings), *texts]

    in_markdown = [row for row in pipe_rows(sheet.markdown([one]))[2:] if row[1]]
    assert len({len(row) for row in in_markdown}) == 1
    for row, wanted in zip(in_markdown, texts, strict=True):
        assert row[0] == " ".join(wanted[0].split()) or row[0] == wanted[0].strip()
        assert [re.sub(r"</?u>|[*✓=≈≠○ ]", "", cell) for cell in row[1:]] == wanted[1:]

    read = [row for row in HtmlReader(sheet.html([one])).rows[1:] if len(row) > 1]
    assert [[text.rstrip(" ✓=≈≠○") for _, _, text in row] for row in read] == [
        [t.rstrip() for t in row] for row in texts
    ]

    tex = sheet.latex([one])
    assert_balanced(tex)
    body = [line for line in tex.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert all(len(re.findall(r"(?<!\\)&", line)) == len(one.headings) - 1 for line in body)
    assert len(body) == 1 + len(one.rows)


def test_a_table_that_is_too_wide_is_split_by_columns_and_names_are_repeated() -> None:
    row = [Cell("RSGG-CE"), *(Cell(f"{i}.{i}{i}{i}") for i in range(1, 8))]
    one = Sheet("wide", "Wide", ["Method", *(f"metric {i}" for i in range(1, 8))], [Group("", [row])])
    assert printed([one], 80).count("RSGG-CE") == 1
    text = printed([one], 30)
    assert text.count("RSGG-CE") > 1 and text.count("Method") == text.count("RSGG-CE")


def test_words_are_wrapped_and_not_split_off() -> None:
    row = [Cell("A statement " + "that goes on " * 12), Cell("holds"), Cell("fails")]
    text = printed([Sheet("claims", "", ["Claim", "As released", "As written"], [Group("", [row])])], 60)
    assert text.count("Claim") == 1 and " ".join(text.split()).count("goes on") == 12


def test_the_heading_of_a_group_is_not_broken_inside_a_word() -> None:
    """The names of its rows, below which it stands, may be shorter than that."""
    one = Sheet("t", "Results", ["Row", "GED"], [Group("Controls, not ranked", [[Cell("MEG"), Cell("1.0")]])])
    text = printed([one], 80)
    assert "Controls," in text and "ranked" in text


def test_marks_verdicts_and_intervals_are_told_apart() -> None:
    cell = Cell("0.5", "best", "differs", "it is far away", "[0.4, 0.6]")
    one = Sheet("one", "One", ["Row", "Value"], [Group("", [[Cell("a"), cell], [Cell("b"), Cell("1", "", "agrees")]])])
    assert "| a | **0.5** [0.4, 0.6] ≠ |" in sheet.markdown([one])
    assert r"a & \textbf{0.5}$^\mathrm{d}$ \\" in sheet.latex([one])
    title = HtmlReader(sheet.html([one])).rows[1][1][1]
    assert title == "95 % interval 0.4 to 0.6. Differs: it is far away."
    for text in (sheet.markdown([one]), sheet.html([one]), printed([one], 80)):
        words = " ".join(text.split())
        assert "= agrees with print, but is not its source, ≠ differs." in words
        assert "reproduced" not in words, "what is not there is not explained"
    assert r"$^\mathrm{d}$ differs" in sheet.latex([one])
    plain = Sheet("one", "One", ["Row", "Value"], [Group("", [[Cell("a"), Cell("0.5")]])])
    assert "reproduced" not in sheet.markdown([plain]), "a legend only where there are verdicts"


def test_a_listed_sheet_is_paragraphs_with_headings() -> None:
    rows = [[Cell("1. It is so."), Cell("the paper says no"), Cell("")]]
    one = Sheet("findings", "Findings", ["Finding", "The paper", "Measured"], [Group("", rows)], listed=True)
    assert "**1. It is so.**\n\n- *The paper:* the paper says no" in sheet.markdown([one])
    assert "Measured" not in sheet.markdown([one]) and "The paper: the paper says no" in printed([one], 80)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a_b & 5%", r"a\_b \& 5\%"), ("λ≤é𝔻\\", r"$\lambda$$\leq$eD\textbackslash{}"), ("α ↑", r"$\alpha$ $\uparrow$")],
)
def test_tex_escapes(text: str, escaped: str) -> None:
    assert sheet.tex(text) == escaped


# -- text of others ------------------------------------------------------------------------------------------

NASTY = r"a | b <script>alert(1)</script> \ 50% _x_ $y$ `c` [l](http://x) # & {z} ~~s~~ ^ *s*"
STEERS = "\x1b[31mred\x1b[0m\x07 \u202eturned\r\nnext\tline\x85\u2028end\x00"


def foreign(text: str) -> Sheet:
    """A sheet in which a text stands wherever one can stand."""
    rows = [[Cell(text, title=text), Cell("0.5", "best", "differs", text)]]
    return Sheet("some", text, [text, "Value"], [Group(text, rows)], caption=text, notes=[text])


def test_text_of_others_is_text_in_every_format() -> None:
    one = foreign(NASTY)
    in_markdown = sheet.markdown([one])
    assert in_markdown.count(r"&lt;script>alert(1)&lt;/script> \\ 50% \_x\_ \$y\$ \`c\` [l]\(http://x)") == 6
    acted_upon = re.sub(r"\\[\\`$_(~|*]", "", in_markdown)
    assert not re.search(r"[`$]|<(?!/?u>)|\]\(|~~|\b_|_\b", acted_upon)
    rows = pipe_rows(in_markdown)
    assert {len(row) for row in rows} == {2} and rows[0][0] == rows[3][0] == NASTY

    for page in (sheet.html([one]), sheet.html_table(one)):
        assert "<script" not in page and "&lt;script&gt;alert(1)" in page

    tex = sheet.latex([one])
    assert_balanced(tex)
    assert r"\textbackslash{} 50\% \_x\_ \$y\$" in tex and len(re.findall(r"(?<!\\)&", tex)) == 2


def test_text_of_others_does_not_steer() -> None:
    one = foreign(STEERS)
    plain = "[31mred[0m turned  next line  end"
    written = (sheet.markdown([one]), sheet.latex([one]), sheet.html([one]), sheet.as_csv(one), printed([one], 160))
    for text in written:
        assert plain.split()[0] in text
        assert not [sign for sign in text if not sign.isprintable() and sign not in "\n\u00a0"], repr(text)
    assert one.title == plain and one.rows[0][0].text == plain


def test_spaces_and_names_of_files_stay_as_they_are() -> None:
    one = foreign("1\u00a0000 of table_1.csv, p < 0.05 [0.1, 0.2] (x)")
    assert "| 1\u00a0000 of table_1.csv, p < 0.05 [0.1, 0.2] (x) |" in sheet.markdown([one])
