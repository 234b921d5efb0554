"""Calls of the library that nobody should make, made from a seed: odd values for every argument, odd models, odd files.

`cases` yields functions without arguments. Each makes one call; where the call is accepted it checks that nothing wrong
was accepted, and raises `Accepted` if so. Whatever else it raises has to be an error of this project.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import networkx as nx

from rsgg.baselines.released.cf2 import ReleasedCF2
from rsgg.oracles import TreeCyclesOracle
from rsgg.saving import read_archive
from tests.fuzz.accepted import Case
from tests.fuzz.attacks_on_explainers import a_count, a_file, a_quick_explanation, a_setting, an_explanation
from tests.fuzz.attacks_on_graphs import a_batch, a_graph, a_list_of_edges, a_networkx_graph, a_pyg_graph, any_graphs
from tests.fuzz.attacks_on_oracles import a_function, a_model
from tests.fuzz.odd_values import N

MAKERS: tuple[Callable[[random.Random], Case], ...] = (
    a_graph,
    a_graph,
    a_pyg_graph,
    a_pyg_graph,
    a_networkx_graph,
    a_list_of_edges,
    a_batch,
    any_graphs,
    a_model,
    a_model,
    a_function,
    an_explanation,
    a_quick_explanation,
    a_count,
    a_setting,
)


def cases(seed: int, count: int, folder: Path) -> Iterator[tuple[str, Case]]:
    """So many cases, each with what it is about; the same for the same seed."""
    draw = random.Random(seed)
    fitted = ReleasedCF2.tiny().fit([nx.cycle_graph(N), nx.path_graph(N)], TreeCyclesOracle())
    saved = fitted.save(folder / "whole").read_bytes()
    assert read_archive(folder / "whole")
    for i in range(count):
        kind = i % (len(MAKERS) + 1)
        if kind == len(MAKERS):
            yield f"{i} a_file", a_file(draw, folder, saved)
        else:
            yield f"{i} {MAKERS[kind].__name__}", MAKERS[kind](draw)
