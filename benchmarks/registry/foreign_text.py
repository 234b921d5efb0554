"""Text that others wrote, as one line: errors of methods, labels of classes and tasks from outside, names in files."""

from __future__ import annotations

import unicodedata

BREAKS = "\t\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"
LONGEST = 2000  # characters of a sentence; only one that quotes endless input is longer


def one_line(text: str) -> str:
    """The text without signs that steer a terminal or turn the direction of writing; breaks of lines become spaces.

    Spaces of other widths are kept.
    """
    if not text.isprintable():
        kept = (
            " " if sign in BREAKS else sign if sign.isprintable() or unicodedata.category(sign) == "Zs" else ""
            for sign in text
        )
        text = "".join(kept)
    return text


def sentence(text: str) -> str:
    """The same with single spaces, and cut after `LONGEST` characters."""
    text = " ".join(one_line(text).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} …"
