"""Read what the table writers write, with nothing but the standard library."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser


class HtmlReader(HTMLParser):
    """Cells of a page's tables as a browser sees them: tag, title and text; checks that every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[tuple[str, str, str]]] = []
        self.scopes: set[str] = set()
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, f"never closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        assert tag != "script" and not any(name.startswith("on") for name in said)
        if tag == "meta":
            return
        self.open.append(tag)
        self.scopes.add(said.get("scope", ""))
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append((tag, said.get("title", ""), ""))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "tr" in self.open and self.rows[-1]:
            tag, title, text = self.rows[-1][-1]
            self.rows[-1][-1] = tag, title, text + data


def pipe_rows(markdown: str) -> list[list[str]]:
    """The cells of every table line of a Markdown text, unescaped."""
    lines = (line for line in markdown.splitlines() if line.startswith("|"))
    parts = (re.split(r"(?<!\\)\|", line)[1:-1] for line in lines)
    return [[unescape(re.sub(r"\\([|*\\`$_(~])", r"\1", cell.strip())) for cell in row] for row in parts]


def assert_balanced(tex: str) -> None:
    """Braces, dollars and environments of a LaTeX text are closed, and it is plain ASCII."""
    assert tex.isascii()
    unescaped = re.sub(r"\\[{}$%&#_\\]", "", tex)
    depth = 0
    for sign in unescaped:
        depth += (sign == "{") - (sign == "}")
        assert depth >= 0
    assert depth == 0 and unescaped.count("$") % 2 == 0
    begun, ended = (re.findall(rf"\\{word}\{{(\w+)\}}", tex) for word in ("begin", "end"))
    assert sorted(begun) == sorted(ended)
