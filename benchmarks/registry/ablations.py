"""The four ablation grids on Tree-Cycles (Section 5.1): what is varied, over which values, with what held fixed.

A point is the options of `rsgg.data.TreeCycles` that differ from its defaults (28 nodes, 500 graphs, cycles drawn at
random). The released configurations differ from the paper's text in places, and `--grid released` runs what they ran:
the file for cycles of 8 nodes sets 5; one file has 40 cycles, outside the range of the plot; the number of instances is
varied with four triangles per cyclic graph where the text says random cycles; and every file runs fold 0 only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

TASK = "tree-cycles-ablation"  # of all points: one that lies on two grids is computed once
FOUR_TRIANGLES = {"n_cycles": 4, "cycle_size": 3}
OF_128 = {"n_nodes": 128, **FOUR_TRIANGLES}


@dataclass(frozen=True)
class Grid:
    """One ablation: `points` are the options of the data set by the value that is varied."""

    vary: str
    label: str
    title: str
    points: Mapping[int, Mapping[str, Any]] = field(hash=False)


CYCLE_SIZES = (3, 5, 8, 10, 12, 15, 18, 20, 23, 25, 28)
N_CYCLES = (2, 4, 8, 16, 24, 32)
N_NODES = (28, 32, 48, 64, 128, 256, 512)
N_INSTANCES = (100, 250, 500, 1000, 2000, 4000, 8000)
USUAL_NODES, USUAL_GRAPHS = 28, 500  # the defaults of Tree-Cycles


def _instances(n: int) -> dict[str, Any]:
    return {} if n == USUAL_GRAPHS else {"n_graphs": n}


PAPER: dict[str, Grid] = {
    grid.vary: grid
    for grid in (
        Grid(
            "cycle_size", "nodes per cycle", "128 nodes, 4 cycles",
            {size: {**OF_128, "cycle_size": size} for size in CYCLE_SIZES},
        ),
        Grid("n_cycles", "cycles", "128 nodes, cycles of 3 nodes", {c: {**OF_128, "n_cycles": c} for c in N_CYCLES}),
        Grid(
            "n_nodes", "nodes", "one cycle of 3 to 7 nodes or two triangles",
            {n: {} if n == USUAL_NODES else {"n_nodes": n} for n in N_NODES},
        ),
        Grid(
            "n_instances", "instances", "28 nodes, one cycle of 3 to 7 nodes or two triangles",
            {n: _instances(n) for n in N_INSTANCES},
        ),
    )
}  # fmt: skip

RELEASED: dict[str, Grid] = {
    **PAPER,
    "cycle_size": replace(
        PAPER["cycle_size"], points={s: {**OF_128, "cycle_size": 5 if s == 8 else s} for s in CYCLE_SIZES}
    ),
    "n_cycles": replace(PAPER["n_cycles"], points={c: {**OF_128, "n_cycles": c} for c in (*N_CYCLES, 40)}),
    "n_instances": replace(
        PAPER["n_instances"],
        title="28 nodes, 4 cycles of 3 nodes",
        points={n: {**_instances(n), **FOUR_TRIANGLES} for n in N_INSTANCES},
    ),
}

GRIDS = {"paper": PAPER, "released": RELEASED}
SMOKE_POINTS = 2  # values of a grid that a smoke run keeps, the smallest
SMOKE_GRAPHS = 40


def small(grid: Grid) -> Grid:
    """The grid of a smoke run: its first points, few graphs each (not equally many, lest two points become one)."""
    first = list(grid.points.items())[:SMOKE_POINTS]
    return replace(
        grid, points={v: {**options, "n_graphs": SMOKE_GRAPHS + 10 * i} for i, (v, options) in enumerate(first)}
    )
