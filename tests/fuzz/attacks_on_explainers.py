"""Explainers that are called oddly, set oddly, and loaded from damaged files."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

from torch import nn

import rsgg
from rsgg.baselines.controls import Empty, TwoSided
from rsgg.baselines.released.cf2 import ReleasedCF2
from rsgg.baselines.search import DCE, OBS, IRand
from rsgg.oracles import CountingOracle, TreeCyclesOracle
from rsgg.rsgg_ce import RSGGCE, ReleasedRSGGCE, TaughtRSGGCE
from tests.fuzz.accepted import Case, require, sound_results
from tests.fuzz.attacks_on_graphs import graphs_of_any_kind
from tests.fuzz.attacks_on_oracles import ANSWERS, Answers
from tests.fuzz.odd_values import GRAPHS, SCALARS


def an_explanation(draw: random.Random) -> Case:
    oracle: Any = TreeCyclesOracle()
    graphs: Any = GRAPHS
    options: dict[str, Any] = {}
    for option in draw.sample(("k", "seed", "target", "check", "graphs", "oracle"), draw.choice([1, 1, 2])):
        if option == "graphs":
            graphs = graphs_of_any_kind(draw)
        elif option == "oracle":
            oracle = draw.choice((TreeCyclesOracle, nn.Identity(), lambda data: 0, *SCALARS))
        else:
            values = SCALARS if option != "k" else (3, *(value for value in SCALARS if not _is_huge(value)))
            options[option] = draw.choice(values)
    explainer = draw.choice((OBS(), TwoSided(), Empty(), DCE(), TaughtRSGGCE(), ReleasedRSGGCE.tiny(), RSGGCE.tiny()))

    def explain() -> None:
        results = explainer.explain(graphs, oracle, **options)
        judge = oracle if isinstance(oracle, rsgg.Oracle) and "target" not in options else None
        k = options.get("k", 1)
        sound_results(results, judge, len(results) // k, k, checked=options.get("check", True))

    return explain


def _is_huge(value: Any) -> bool:
    """A number of candidates that would fill the memory, as it was asked to."""
    return isinstance(value, int) and value > 1000


def a_quick_explanation(draw: random.Random) -> Case:
    options: dict[str, Any] = {}
    keys = ("target", "k", "constraints", "seed", "budget", "seconds", "patience", "every_pair_up_to")
    for option in draw.sample(keys, draw.choice([1, 1, 2])):
        options[option] = draw.choice([value for value in SCALARS if option != "k" or not _is_huge(value)])
    model: Any = TreeCyclesOracle() if draw.random() < 0.7 else draw.choice((Answers(ANSWERS[0]), *SCALARS))
    data = GRAPHS if draw.random() < 0.7 else graphs_of_any_kind(draw)
    return lambda: rsgg.explain(model, data, **options)


def a_count(draw: random.Random) -> Case:
    oracle: Any = TreeCyclesOracle() if draw.random() < 0.8 else draw.choice(SCALARS)
    options = {
        name: draw.choice(SCALARS) for name in draw.sample(("budget", "seconds", "patience"), draw.choice([1, 2]))
    }

    def count() -> None:
        counted = CountingOracle(oracle, **options)
        results = OBS().explain(GRAPHS, counted)
        budget = options.get("budget")
        sound_results(results, None, len(GRAPHS), 1)
        require(budget is None or max(result.calls for result in results) <= budget, "more calls than the budget")

    return count


def a_setting(draw: random.Random) -> Case:
    cls = draw.choice((RSGGCE, TaughtRSGGCE, ReleasedRSGGCE, ReleasedCF2, OBS, IRand, DCE))
    name = draw.choice([*cls.tiny().hyperparameters(), "device", "constraints", "nothing"])
    value = draw.choice([value for value in SCALARS if not isinstance(value, int) or abs(value) < 1000])

    def make() -> None:
        try:
            made = cls(**{name: value})
        except TypeError as error:  # Python's own sentence about an argument that does not exist
            require("unexpected keyword argument" in str(error), str(error))
            return
        made.check_values()

    return make


# -- files -----------------------------------------------------------------------------------------------


def a_file(draw: random.Random, folder: Path, saved: bytes) -> Case:
    """A damaged file of a fitted explainer, or something that is no path."""
    damaged = bytearray(saved)
    how = draw.randrange(5)
    if how == 0:
        for _ in range(draw.randrange(1, 5)):
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    elif how == 1:
        del damaged[draw.randrange(len(damaged)) :]
    elif how == 2:
        start = draw.randrange(len(damaged))
        del damaged[start : start + draw.randrange(1, 100)]
    elif how == 3:
        damaged = bytearray(draw.randbytes(draw.randrange(300)))
    path: Any = folder / "explainer.npz"
    if how == 4:
        path = draw.choice((folder, folder / "nowhere", folder / ("n" * 300), folder / "explainer.npz" / "x", *SCALARS))

    def load() -> None:
        (folder / "explainer.npz").write_bytes(damaged)
        if isinstance(path, int):
            return  # the number of an open file of this process
        loaded = ReleasedCF2.load(path)
        require(bytes(damaged) == saved, "a damaged file")
        loaded.explain(GRAPHS[:1], TreeCyclesOracle())

    return load if draw.random() < 0.7 or how == 4 else partial(_saved_elsewhere, draw.choice(SCALARS))


def _saved_elsewhere(path: Any) -> None:
    if isinstance(path, str | Path):
        return  # a file would be written into the current folder
    OBS().save(path)
