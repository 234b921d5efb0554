"""Text of others as one line: nothing in it steers a terminal, and nothing that can be read is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.registry.foreign_text import LONGEST, one_line, sentence


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("as it is: λ ≤ ½, é, 漢字", "as it is: λ ≤ ½, é, 漢字"),
        ("two\nlines\r\n\tthree", "two lines   three"),
        ("\x1b]0;title\x07\x1b[2J", "]0;title[2J"),
        ("a\u202eb\u200bc\x00d\ud800e", "abcde"),
        ("1\u00a0000\u2009g", "1\u00a0000\u2009g"),
    ],
)
def test_what_becomes_of_signs(text: str, line: str) -> None:
    assert one_line(text) == line


@given(st.text())
def test_what_can_be_read_stays(text: str) -> None:
    line = one_line(text)
    assert [sign for sign in line if sign.isprintable() and sign != " "] == [
        sign for sign in text if sign.isprintable() and sign != " "
    ]
    assert one_line(line) == line and not set(line) & set("\x1b\n\r\t\x00\u202e")


def test_a_sentence_has_an_end() -> None:
    assert sentence("  a\n\nb  ") == "a b"
    assert sentence("x" * LONGEST) == "x" * LONGEST
    assert sentence("x" * (LONGEST + 1)) == "x" * LONGEST + " …"
