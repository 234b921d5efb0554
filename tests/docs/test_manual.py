"""The README and the manual: the one is short; their Python runs, their commands exist, no link is dead."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import networkx as nx
import pytest
import torch
import typer
from torch_geometric.nn import global_add_pool
from torch_geometric.utils import degree

import rsgg
from benchmarks import cli
from benchmarks.registry import global_methods, methods, tasks
from docs import hooks
from rsgg.baselines.cf2 import CF2

ROOT = Path(__file__).parent.parent.parent
MANUAL = ROOT / "docs" / "manual"
PAGES = [ROOT / "README.md", *sorted(MANUAL.rglob("*.md"))]
WITH_COMMANDS = [*PAGES, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "results" / "reference").rglob("*.md"))]


def named(paths: list[Path]) -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in paths]


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)


# -- The README ------------------------------------------------------------------------------------------


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_quickstart_is_five_lines_that_run_on_a_model_of_ones_own() -> None:
    class Classifier(torch.nn.Module):
        """Class 1 are graphs with more than twelve edges."""

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor) -> torch.Tensor:
            edges = global_add_pool(degree(edge_index[0], len(x))[:, None], batch) / 2
            return torch.cat((12.5 - edges, edges - 12.5), 1)

    (source,) = blocks("README.md", "python")
    assert len([line for line in source.splitlines() if line.strip()]) <= 5
    graphs = [nx.gnp_random_graph(8, 0.1 + 0.02 * i, seed=i) for i in range(40)]
    names = {"model": Classifier(), "graphs": graphs}
    exec(compile(source, "README.md", "exec", dont_inherit=True), names)
    results = names["results"]
    assert isinstance(results, list) and len(results) == 20 and all(result.found for result in results)


def test_the_citation_names_this_version_and_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {rsgg.__version__}\n" in text and "\ncff-version: 1.2.0\n" in f"\n{text}"
    assert f"{{{rsgg.__version__}}}" in (MANUAL / "cite.md").read_text(encoding="utf-8")
    for words in ("Prado-Romero", "Prenkaj", "Stilo", "Robust Stochastic Graph Generator"):
        assert all(words in (ROOT / page).read_text(encoding="utf-8") for page in ("README.md", "CITATION.cff"))


# -- Examples ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", [page for page in named(PAGES[1:]) if blocks(page, "python")])
def test_the_python_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every block, in order, in one namespace. (Blocks called `py` need something that is not always installed.)"""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for source in blocks(page, "python"):
        exec(compile(source, page, "exec", dont_inherit=True), namespace)


def test_each_kind_of_extension_has_an_example() -> None:
    text = (MANUAL / "extend.md").read_text(encoding="utf-8")
    for kind in ("method", "data set", "oracle", "metric", "partial order", "constraint"):
        section = re.search(rf"^## An? {kind}\n(.*?)(?=^## |\Z)", text, flags=re.S | re.M)
        assert section is not None and "```python" in section[1], kind


# -- Commands ----------------------------------------------------------------------------------------------

COMMANDS = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
TYPED = re.compile(r"(?:\./reproduce\.sh|python benchmarks/(?P<script>\w+)\.py)(?P<rest>(?: +[^\s`#;|&)]+)*)")


def commands(page: str) -> list[list[str]]:
    """Every command line that a page names: `./reproduce.sh …`, or a script of an experiment."""
    text = (ROOT / page).read_text(encoding="utf-8")
    parts = re.findall(r"`([^`\n]+)`", text) + "\n".join(blocks(page, "bash")).splitlines()
    parts += re.findall(r"^- \*Again:\* (.*)$", text, flags=re.M)
    lines = []
    for found in (found for part in parts for found in TYPED.finditer(part)):
        own = [found["script"]] if found["script"] else []
        lines.append([*own, *shlex.split(found["rest"].partition(" # ")[0])])
    return [line for line in lines if line]


@pytest.mark.parametrize("page", [page for page in named(WITH_COMMANDS) if commands(page)])
def test_commands_exist_with_their_options_and_names(page: str) -> None:
    for line in commands(page):
        name, *arguments = line
        if name in ("COMMAND", "my_experiment"):  # stand for others
            continue
        assert name in COMMANDS, f"{page}: {' '.join(line)}"
        known = {flag for option in COMMANDS[name].params for flag in option.opts} | {"--help"}
        for flag, value in zip(arguments, [*arguments[1:], ""], strict=False):
            if flag.startswith("-"):
                assert flag in known, f"{page}: {' '.join(line)}"
            ours = [part for part in value.split(",") if not part.startswith("my") and "my_module" not in value]
            if flag in ("--method", "--methods") and ours:
                (global_methods if name == "global" else methods).choose(ours)
            if flag in ("--data", "--datasets") and ours:
                tasks.choose(ours)


def test_a_command_that_does_not_exist_is_found(tmp_path: Path) -> None:
    page = "README.md"
    assert ["table1"] in commands(page) and ["manual"] in commands(page)
    assert TYPED.search("./reproduce.sh tabel1 --smoke   # quick")["rest"].split() == ["tabel1", "--smoke"]  # type: ignore[index]


# -- Links -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", named([*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "evidence.md"]))
def test_links_lead_to_files_and_headings_that_are_there(page: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.S | re.M)
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(#[^)\s]+)?\)", text):
        if target.startswith("https://"):
            continue
        path = (ROOT / page).parent.joinpath(target) if target else ROOT / page
        assert path.exists(), f"{page}: {target}"
        assert not anchor or anchor[1:] in headings(path), f"{page}: {target}{anchor}"


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    missing = [page for path in PAGES[1:] if (page := path.relative_to(MANUAL).as_posix()) not in navigation]
    assert not missing, f"name {missing[0]} in docs/mkdocs.yml"


def headings(path: Path) -> set[str]:
    found = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", name.lower().replace("²", "2")).strip().replace(" ", "-") for name in found}


# -- The site ----------------------------------------------------------------------------------------------


class Links(HTMLParser):
    """What a page of the site fetches, what it links to, and what can be linked to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.linked: list[str] = []
        self.anchors: set[str] = {"", "__toc", "__drawer", "__search"}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.linked.append(given["href"])
        elif given.get("rel") not in ("canonical", "prev", "next"):
            self.fetched += [given[name] for name in ("src", "href") if name in given]


def built(folder: Path) -> Path:
    """The manual as MkDocs builds it, every warning an error; a network is out of reach.

    In this process, where what it shows the hyper-parameters of is loaded; not quietly, since MkDocs does not count
    the warnings that it was told not to show.
    """
    from mkdocs.__main__ import cli as mkdocs

    arguments = ["build", "--strict", "-f", str(ROOT / "docs" / "mkdocs.yml"), "-d", str(folder)]
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            patch.setenv(variable, "http://127.0.0.1:9")
        patch.chdir(ROOT)
        mkdocs.main(arguments, standalone_mode=False)
    return folder


def dead_ends(site: Path) -> list[str]:
    """What the pages of the site link to and is not there, and what they fetch from elsewhere."""
    pages, found = {path: Links(path) for path in site.rglob("*.html") if path.name != "404.html"}, []
    for path, page in pages.items():
        found += [f"{path.name} fetches {one}" for one in page.fetched if one.startswith(("http:", "https:", "//"))]
        for address in (*page.fetched, *page.linked):
            if address.startswith(("http:", "https:", "//", "mailto:", "data:", "javascript:")):
                continue
            file, _, anchor = address.partition("#")
            target = path.parent.joinpath(unquote(file)).resolve() if file else path
            if not target.is_file() or (target in pages and unquote(anchor) not in pages[target].anchors):
                found.append(f"{path.name} links to {address}")
    return found


@pytest.mark.slow
def test_the_site_builds_without_a_warning_or_a_network_and_has_no_dead_ends(tmp_path: Path) -> None:
    """One test, so that the site is built once."""
    site = built(tmp_path / "site")
    assert dead_ends(site) == []

    def text(page: str) -> str:
        return (site / page).read_text(encoding="utf-8")

    assert len(list(site.rglob("*.html"))) > 40
    assert "relu(γ + ½" in text("methods/cf2.html") and "<!-- top of" not in text("methods/cf2.html")
    assert "<code>strength</code>" in text("methods/cf2.html") and "1000.0" in text("methods/cf2.html")
    assert "the class that results must have" in text("api/explainers.html")  # a line of Args:
    assert "s row is the empty graph" in text("results/reference/findings.html")
    table = (ROOT / "results" / "reference" / "table1.csv").read_bytes()
    assert (site / "results" / "reference" / "table1.csv").read_bytes() == table


def test_dead_ends_are_found(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text('<h1 id="here"></h1>')
    (tmp_path / "page.html").write_text(
        '<a href="other.html#here"></a><a href="other.html#gone"></a><a href="gone.html"></a>'
        '<a href="https://example.org"></a><script src="https://example.org/x.js"></script><img src="gone.png">'
    )
    assert dead_ends(tmp_path) == [
        "page.html fetches https://example.org/x.js",
        "page.html links to gone.png",
        "page.html links to other.html#gone",
        "page.html links to gone.html",
    ]


def test_a_table_of_hyper_parameters_is_what_the_class_declares() -> None:
    lines = hooks.hyperparameters(CF2).splitlines()
    assert lines[0].startswith("`rsgg.baselines.cf2.CF2`") and len(lines) == 4 + len(CF2().hyperparameters())
    assert "| `strength` | λ | `1000.0` | `20.0` |" in "\n".join(lines)
