"""Addresses of cells: what changes a result changes them, what does not leaves them as they are."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
import torch

from benchmarks.registry.methods import Method
from benchmarks.results.cell import Cell, declared
from benchmarks.results.files import ROOT
from rsgg.errors import UsageError
from rsgg.rsgg_ce.partial_order import ExistingThenAll, ExistingThenMissing, Within
from tests.standins import DATA, DRAWS, Draws

CELL = Cell(DATA, DRAWS, fold=1, folds=4)


def test_key_is_the_sha256_of_the_documented_json() -> None:
    text = (
        '{"fold":1,"folds":4,"method":{"name":"draws","variant":"control"},"seed":0,'
        '"task":{"name":"tree-cycles","options":{"max_cycle_nodes":4,"n_graphs":24,"n_nodes":10}}}'
    )
    assert CELL.key == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        replace(CELL, fold=2),
        replace(CELL, folds=5),
        replace(CELL, folds=10),
        replace(CELL, seed=1),
        replace(CELL, k=2),
        replace(CELL, graph_seconds=1.0),
        replace(CELL, observed="something"),
        replace(CELL, task=DATA.varied({"n_graphs": 25})),
        replace(CELL, task=replace(DATA, name="other")),
        replace(CELL, task=replace(DATA, oracle_options={"threshold": 1})),
        replace(CELL, task=DATA.training_graphs(0, 4)),
        replace(CELL, method=replace(DRAWS, name="other")),
        replace(CELL, method=replace(DRAWS, revision=2)),
        replace(CELL, method=replace(DRAWS, same_start=True)),
        replace(CELL, method=replace(DRAWS, variant="search")),
        replace(CELL, method=replace(DRAWS, options={"flips": 3})),
    ],
)
def test_whatever_changes_a_result_changes_the_key(other: Cell) -> None:
    assert other.key != CELL.key and other != CELL


def test_what_does_not_change_a_result_keeps_the_key() -> None:
    backwards = dict(reversed(list(DATA.options.items())))
    same = [
        replace(CELL, method=replace(DRAWS, label="another label", colour="red", seconds_per_fold=9.0)),
        replace(CELL, method=replace(DRAWS, explainer="moved.elsewhere:Renamed")),
        replace(CELL, method=DRAWS.with_options({"flips": 2})),  # the default, said aloud
        replace(CELL, task=replace(DATA, options=backwards)),
        replace(CELL, task=replace(DATA, label="another label", dataset="moved:Data", oracle="moved:Oracle")),
        replace(CELL, task=DATA.replicate(5).replicate(0)),
    ]
    assert {cell.key for cell in same} == {CELL.key}
    assert set(same) == {CELL}


def test_the_order_of_a_method_s_options_does_not_matter() -> None:
    def key(**options: object) -> str:
        return replace(CELL, method=replace(DRAWS, options=options)).key

    assert key(flips=3, depth=[1, 2]) == key(depth=(1, 2), flips=3) != key(flips=3, depth=[2, 1])


def test_the_key_is_the_same_in_every_process() -> None:
    code = """
from benchmarks.registry.methods import Method
from benchmarks.registry.tasks import TREE_CYCLES
from benchmarks.results.cell import Cell
data = TREE_CYCLES.varied({"n_graphs": 24, "max_cycle_nodes": 4, "n_nodes": 10})
print(Cell(data, Method("draws", "control", "anywhere:Draws", "D"), 1, 4).key)
"""
    environment = {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "7"}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == CELL.key


def test_wrapped_methods_are_told_apart_by_their_base_and_not_by_its_device() -> None:
    def key(**options: Any) -> str:
        wrapped = Method("m", "v", "rsgg.compose:Minimised", "M", options={"base": Draws(**options)})
        return Cell(DATA, wrapped, 0).key

    assert key() != key(flips=5)
    assert key() == key(device="cuda")


def test_declared_values_are_plain_json() -> None:
    allowed = torch.ones(3, 3, dtype=torch.bool)
    value = {"order": Within(allowed, ExistingThenAll()), "sizes": (1, 2.5), "none": None}
    plain = declared(value)
    assert json.loads(json.dumps(plain)) == plain
    assert plain["order"]["class"] == "Within" and plain["order"]["order"] == {"class": "ExistingThenAll"}
    assert declared(ExistingThenMissing()) != declared(ExistingThenAll())
    assert plain != declared({**value, "order": Within(~allowed, ExistingThenAll())})
    with pytest.raises(UsageError, match="declared names and values"):
        declared(lambda: None)


def test_seeds_are_those_of_a_purpose_a_fold_and_a_replicate() -> None:
    """Those of the released code do not depend on the fold where its fits all start alike."""
    others = [replace(CELL, fold=2), replace(CELL, seed=1), replace(CELL, method=replace(DRAWS, name="other"))]
    assert len({cell.seed_for("fit") for cell in (CELL, *others)}) == 4
    assert CELL.seed_for("fit") != CELL.seed_for("explain")
    alike = replace(CELL, method=replace(DRAWS, same_start=True))
    assert alike.seed_for("fit") == replace(alike, fold=2).seed_for("fit")
    assert alike.seed_for("explain") != replace(alike, fold=2).seed_for("explain")


def test_a_cell_is_called_by_its_names() -> None:
    assert CELL.title == "tree-cycles, draws:control, fold 1"
    assert replace(CELL, seed=3).title == "tree-cycles, draws:control, fold 1, replicate 3"
    assert replace(CELL, seed=3, task=DATA.replicate(3), fold=0).row == CELL.row
