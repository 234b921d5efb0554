"""Which room of the project imports which, read from the sources: python docs/import_graph.py

Draws docs/import_graph.svg: a box per room, an arrow from each room to those that it imports. Every arrow points down,
which tests/test_architecture.py asserts with the functions of this module. Imports inside functions count, and so do
classes that are named by a text ("rsgg.data:TreeCycles"); imports for type checkers only and those of an
`if __name__ == "__main__"` block, which no import ever runs, do not.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Set
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "import_graph.svg"
PACKAGES = {  # where the modules of a package lie; of two that fit, the longer name is meant
    "rsgg.baselines": "baselines",
    "rsgg": "rsgg",
    "benchmarks": "benchmarks",
    "figures": "figures",
}

BELOW: dict[str, tuple[str, ...]] = {
    "rsgg": (),
    "rsgg.baselines": ("rsgg",),
    "benchmarks.registry": ("rsgg.baselines",),
    "benchmarks.results": ("benchmarks.registry",),
    "benchmarks.judging": ("benchmarks.results",),
    "figures.tables": ("benchmarks.results",),
    "benchmarks.running": ("figures.tables",),
    "benchmarks.searching": ("benchmarks.running",),
    "figures": ("figures.tables",),
    "figures.report": ("figures",),
    "benchmarks": ("benchmarks.judging", "benchmarks.searching", "figures.report"),
}
"""The rooms, each with those right below it. A room may import what is below it, directly or further down."""

ABOUT = {
    "rsgg": "graphs, oracles, data, the method",
    "rsgg.baselines": "one file per method",
    "benchmarks.registry": "the only lists of names",
    "benchmarks.results": "stored results: no torch, no model",
    "benchmarks.judging": "verdicts, findings, claims",
    "figures.tables": "one sheet, five formats",
    "benchmarks.running": "cells, workers, Experiment",
    "benchmarks.searching": "Optuna",
    "figures": "one script per figure",
    "figures.report": "one web page",
    "benchmarks": "command line, experiments",
}


# -- Modules and what they import --------------------------------------------------------------------------


@cache
def modules(root: Path = ROOT) -> dict[str, Path]:
    """The file of every module of the project, by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for path in sorted((root / folder).rglob("*.py")):
            parts = path.relative_to(root / folder).with_suffix("").parts
            name = ".".join((package, *(part for part in parts if part != "__init__")))
            if package != "rsgg" or not name.startswith("rsgg.baselines"):  # there it is a link to the folder
                found[name] = path
    return found


@cache
def imports(root: Path = ROOT) -> dict[str, frozenset[str]]:
    """The modules of the project that each module imports, without itself."""
    known = modules(root)
    return {name: frozenset(_imported(path, known) - {name}) for name, path in known.items()}


def _imported(path: Path, known: Mapping[str, Path]) -> set[str]:
    found = set()
    for node in running_code(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            nested = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (nested & known.keys()) or {node.module}
            found |= {node.module} if nested - known.keys() else set()
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
            found.add(node.value.partition(":")[0])
    return found & known.keys()


def running_code(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a module but those that only a type checker reads or that run only when the file is a program."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ("TYPE_CHECKING" in (test := ast.unparse(child.test)) or "__main__" in test):
            continue
        yield child
        yield from running_code(child)


def cycle(graph: Mapping[str, Set[str]]) -> list[str]:
    """Modules that import each other in a circle, the first one repeated at the end; empty where there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(reversed(error.args[1]))
    return []


# -- Rooms -------------------------------------------------------------------------------------------------


def room(module: str) -> str:
    """The room that a module is in: the longest name that it begins with."""
    return max((name for name in BELOW if f"{module}.".startswith(f"{name}.")), key=len)


def may_import(of: str) -> set[str]:
    """All rooms below a room."""
    return {further for below in BELOW[of] for further in (below, *may_import(below))}


def level(of: str) -> int:
    """0 for the lowest room, else one more than the highest room right below."""
    return 1 + max(map(level, BELOW[of])) if BELOW[of] else 0


def room_imports(root: Path = ROOT) -> dict[str, set[str]]:
    """The other rooms that each room imports."""
    found: dict[str, set[str]] = {name: set() for name in BELOW}
    for module, imported in imports(root).items():
        found[room(module)] |= set(map(room, imported)) - {room(module)}
    return found


def upward(root: Path = ROOT) -> list[str]:
    """A sentence for each import that does not go down; none, if all is well."""
    return [
        f"{module} imports {imported}, but {room(module)} may not import {room(imported)}"
        for module, others in sorted(imports(root).items())
        for imported in sorted(others)
        if room(imported) not in {room(module), *may_import(room(module))}
    ]


# -- The picture -------------------------------------------------------------------------------------------


def arrows(root: Path = ROOT) -> list[tuple[str, str]]:
    """The arrows of the picture: imports between rooms, but for those that a longer way down implies."""
    graph = room_imports(root)
    return [
        (upper, lower)
        for upper, imported in graph.items()
        for lower in sorted(imported)
        if not any(lower in reachable(graph, other) for other in imported - {lower})
    ]


def reachable(graph: Mapping[str, Set[str]], start: str) -> set[str]:
    """All rooms that imports lead to from one room."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return found


def position(name: str) -> tuple[float, float]:
    """The centre of a room: judging to the left, figures to the right, each as high as its level."""
    column = -1 if name == "benchmarks.judging" else 1 if name.startswith("figures") else 0
    return 1.05 * column, level(name)


def draw(path: Path = PICTURE) -> None:
    """Draw the rooms and the arrows between them. The arrows are listed in the file's description too."""
    import matplotlib.pyplot as plt
    from matplotlib.patches import Rectangle

    plt.rcParams["svg.hashsalt"] = "rsgg"  # the same sources give the same file
    figure, axes = plt.subplots(figsize=(10, 8))
    for upper, lower in arrows():
        (x0, y0), (x1, y1) = position(upper), position(lower)
        side = 0.38 * ((x1 > x0) - (x1 < x0))  # arrows to other columns start and end near the boxes' corners
        line = {"arrowstyle": "-|>", "color": "#555555", "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (x1 - side / 2, y1 + 0.29), (x0 + side, y0 - 0.29), arrowprops=line)
    for name in BELOW:
        x, y = position(name)
        colour = "#DCE9F5" if name.startswith("rsgg") else "#E3F1E4" if name.startswith("figures") else "#FBEBD3"
        axes.add_patch(Rectangle((x - 0.43, y - 0.28), 0.86, 0.56, facecolor=colour, edgecolor="#555555"))
        axes.text(x, y + 0.09, name, ha="center", va="center", weight="bold", fontsize=10)
        axes.text(x, y - 0.12, ABOUT[name], ha="center", va="center", fontsize=7)
    axes.set(xlim=(-1.55, 1.55), ylim=(-0.4, max(map(level, BELOW)) + 0.4))
    axes.axis("off")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Description": described()}, bbox_inches="tight")
    plt.close(figure)


def described() -> str:
    """The arrows as a text, by which a test sees whether the stored picture is of today's sources."""
    return "; ".join(f"{upper} imports {lower}" for upper, lower in arrows())


if __name__ == "__main__":
    wrong = upward()
    draw()
    print("\n".join(wrong) if wrong else f"Every import goes down; drawn into {PICTURE.relative_to(ROOT)}.")
    sys.exit(1 if wrong else 0)
