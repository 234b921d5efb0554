"""What the manual is built with besides MkDocs itself (`hooks` in mkdocs.yml).

1. A page may link to any file of the project, as `../../results/reference/table1.csv`, so that links work where the
   sources are read too. Such a file becomes part of the site; a Markdown file becomes a page of it.
2. `<!-- top of module -->` becomes the docstring of the module: equations, deviations and evidence are written once.
3. `<!-- hyper-parameters of module:Class -->` becomes a table of what the class declares.
4. Names of code, as `rsgg.minimise`, become links to where the manual shows them.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from benchmarks.registry.names import imported

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\((?P<path>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
DECLARED = re.compile(r"^<!-- hyper-parameters of (?P<where>[\w.]+:\w+) -->$", re.MULTILINE)
TOP = re.compile(r"^<!-- top of (?P<module>[\w.]+) -->$", re.MULTILINE)
CODE = re.compile(r"<code>(?P<name>(?:rsgg|benchmarks|figures)(?:\.\w+)+)</code>")


# -- Links to files of the project ---------------------------------------------------------------------------


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every file of the project that a page links to, and those that these link to."""
    waiting = list(files.documentation_pages())
    while waiting:
        page = waiting.pop()
        for target in linked(page, config):
            uri = place(target, config)
            if files.get_file_from_path(uri) is None:
                files.append(added := File.generated(config, uri, abs_src_path=str(target)))
                waiting += [added] if added.is_documentation_page() else []
    return files


def linked(page: File, config: MkDocsConfig) -> list[Path]:
    """The files that a page links to."""
    found = (target(page, link["path"]) for link in LINK.finditer(page.content_string))
    return [path for path in found if path is not None]


def target(page: File, link: str) -> Path | None:
    """The file of the project that a link leads to; None for the web, and for links that lead nowhere."""
    if "://" in link or page.abs_src_path is None:
        return None
    path = Path(page.abs_src_path).parent.joinpath(link).resolve()
    return path if path.is_file() and path.is_relative_to(ROOT) else None


def place(path: Path, config: MkDocsConfig) -> str:
    """Where a file is in the site: pages of the manual at its top, other files of the project as in the project."""
    manual = Path(config.docs_dir).resolve()
    return path.relative_to(manual if path.is_relative_to(manual) else ROOT).as_posix()


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where the files are in the site, and fill in docstrings and tables of hyper-parameters."""

    def link(found: re.Match[str]) -> str:
        path = target(page.file, found["path"])
        if path is None:
            return found[0]
        there = posixpath.relpath(place(path, config), posixpath.dirname(page.file.src_uri) or ".")
        return f"]({there}{found['anchor'] or ''})"

    markdown = TOP.sub(lambda found: docstring(found["module"]), LINK.sub(link, markdown))
    return DECLARED.sub(lambda found: hyperparameters(imported(found["where"])), markdown)


# -- Docstrings ------------------------------------------------------------------------------------------------


def docstring(module: str) -> str:
    """The directives of mkdocstrings that show a module's docstring alone, and an anchor to link to."""
    alone = "{members: false, show_root_heading: false, show_root_toc_entry: false}"
    return f"[](){{#{module}}}\n\n::: {module}\n    options: {alone}\n"


# -- Hyper-parameters ------------------------------------------------------------------------------------------


def hyperparameters(explainer: type[Any]) -> str:
    """A table of the fields that a class declares by `hyper`; the paper's values where its declaration has any."""
    declared = [field for field in fields(explainer) if "symbol" in field.metadata]
    if not declared:
        return f"`{explainer.__name__}` has no hyper-parameters."
    papers = any(field.metadata["paper"] is not None for field in declared)
    head = ["Field", "Symbol", "Default", *(["The paper's"] if papers else []), "Meaning"]
    lines = [head, [":--"] * len(head), *(_line(field, papers=papers) for field in declared)]
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    return f"`{explainer.__module__}.{explainer.__name__}` has these hyper-parameters:\n\n{table}"


def _line(field: Field[Any], *, papers: bool) -> list[str]:
    about, default = field.metadata, field.default if field.default is not MISSING else "…"
    paper = [] if not papers else ["" if about["paper"] is None else f"`{about['paper']}`"]
    cells = [f"`{field.name}`", about["symbol"], f"`{default}`", *paper, about["doc"]]
    return [str(cell).replace("|", r"\|") for cell in cells]


# -- Names of code -----------------------------------------------------------------------------------------------


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Mark names of code for mkdocs-autorefs, which makes links of those that it knows and leaves the others alone."""
    return CODE.sub(lambda found: f'<autoref identifier="{found["name"]}" optional>{found[0]}</autoref>', content)
