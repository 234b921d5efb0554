"""What the methods declare: defaults as their files say them, and limits that let through the smallest sensible value.

A default is part of a result's meaning: cells are addressed by what differs from it. So it may not change by accident.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any

import pytest

from rsgg.baselines.cf2 import CF2
from rsgg.baselines.cf_gnn_explainer import CFGNNExplainer, RandomMasks
from rsgg.baselines.clear import CLEAR
from rsgg.baselines.gcfexplainer import GCFExplainer
from rsgg.baselines.gcountergan import GCounteRGAN
from rsgg.baselines.maccs import MACCS
from rsgg.baselines.meg import MEG
from rsgg.baselines.meg_molecules import MoleculeMEG
from rsgg.baselines.moo import MOO, RandomSubgraphs
from rsgg.baselines.rcexplainer import RCExplainer
from rsgg.baselines.released.cf_gnn_explainer import ReleasedCFGNNExplainer
from rsgg.baselines.released.moo import ReleasedMOO
from rsgg.baselines.released.rcexplainer import ReleasedRCExplainer
from rsgg.errors import UsageError
from rsgg.explainer import Explainer
from rsgg.global_explainer import GlobalExplainer
from rsgg.hyperparameters import Choice

RC = {
    "same": 0.2, "size": 0.001 / 15, "entropy": 8 / 15, "pool": 50, "lr": 1e-3, "epochs": 601, "batch": 200,
    "temperature_from": 0.5, "temperature_to": 4.99, "logic": "regions",
}  # fmt: skip
Declaring = type[Explainer] | type[GlobalExplainer]
DEFAULTS: dict[Declaring, dict[str, Any]] = {
    CF2: {"factual": 0.6, "strength": 1000.0, "margin": 0.5, "lr": 0.05, "epochs": 500},
    CLEAR: {
        "epochs": 900, "lr": 1e-3, "weight_decay": 1e-5, "similarity": 10.0, "divergence": 1.0, "counterfactual": 5.0,
        "dropout": 0.0, "classifier_from": 0.5, "classifier_batch": 64, "draws": 1,
    },
    GCounteRGAN: {
        "iterations": 250, "batch_ratio": 0.1, "generator_steps": 2, "discriminator_steps": 3, "threshold": 0.5,
        "sparsity": 0.002, "generator_lr": 4e-4, "discriminator_lr": 2e-4, "channels": 16, "rank": 64,
        "check_every": 10,
    },
    MEG: {
        "episodes": 800, "decay": 0.997, "horizon": 2, "reward": "relaxed", "max_actions": 1024, "batch": 4,
        "interval": 8, "replay": 10_000, "lr": 1e-4, "discount": 0.95, "polyak": 0.995, "keep": 10,
    },
    CFGNNExplainer: {"beta": 0.5, "lr": 0.1, "momentum": 0.0, "epochs": 500, "clip": 2.0},
    MACCS: {
        "samples": 3000, "mutations": 2, "alphabet": "basic", "eps": 0.15, "min_samples": 5, "molecules": None,
    },
    MoleculeMEG: {
        "episodes": 200, "decay": 0.985, "horizon": 1, "batch": 8, "interval": 2, "replay": 10_000, "lr": 1e-4,
        "discount": 0.95, "polyak": 0.995, "keep": 10, "molecules": None,
    },
    MOO: {"width": 8, "most_edges": 8, "answers": "probabilities"},
    ReleasedMOO: {"depth": 3},
    RandomMasks: {"tries": 500},
    ReleasedCFGNNExplainer: {"beta": 0.5, "lr": 0.1, "momentum": 0.0, "epochs": 500, "clip": 2.0},
    RCExplainer: RC,
    ReleasedRCExplainer: {**RC, "temperature_from": 5.0, "temperature_to": 5.0},
    GCFExplainer: {
        "steps": 1000, "alpha": 0.5, "theta": 0.05, "teleport": 0.1, "neighbours": 500, "connected": True,
        "reinforced": True, "weighted": True, "dynamic": True, "told": "probabilities",
    },
}  # fmt: skip

# (allowed, refused): the last value inside a limit and the first outside it
COUNT, SHARE, WEIGHT, RATE = ([1], [0]), ([0.0, 1.0], [-0.01, 1.01]), ([0.0], [-0.01]), ([1e-9], [0.0])
LIMITS: dict[Declaring, dict[str, tuple[list[Any], list[Any]]]] = {
    CF2: {"factual": SHARE, "strength": WEIGHT, "margin": WEIGHT, "lr": RATE, "epochs": COUNT},
    CLEAR: {
        "epochs": COUNT, "lr": RATE, "weight_decay": WEIGHT, "similarity": WEIGHT, "divergence": WEIGHT,
        "counterfactual": WEIGHT, "dropout": ([0.0, 0.99], [-0.01, 1.0]), "classifier_from": SHARE,
        "classifier_batch": COUNT, "draws": COUNT,
    },
    GCounteRGAN: {
        "iterations": COUNT, "batch_ratio": ([1e-9, 1.0], [0.0, 1.01]), "generator_steps": COUNT,
        "discriminator_steps": COUNT, "threshold": SHARE, "sparsity": WEIGHT, "generator_lr": RATE,
        "discriminator_lr": RATE, "channels": COUNT, "rank": COUNT, "check_every": COUNT,
    },
    MEG: {
        "episodes": COUNT, "decay": SHARE, "horizon": COUNT, "max_actions": COUNT, "batch": COUNT, "interval": COUNT,
        "replay": COUNT, "lr": RATE, "discount": SHARE, "polyak": SHARE, "keep": COUNT,
    },
    MOO: {"width": ([2], [1]), "most_edges": COUNT},
    MACCS: {"samples": COUNT, "mutations": COUNT, "eps": RATE, "min_samples": COUNT},
    RandomMasks: {"tries": COUNT},
    CFGNNExplainer: {
        "beta": WEIGHT, "lr": RATE, "momentum": ([0.0, 0.99], [-0.01, 1.0]), "epochs": COUNT, "clip": RATE,
    },
    RCExplainer: {
        "same": SHARE, "size": WEIGHT, "entropy": WEIGHT, "pool": COUNT, "lr": RATE, "epochs": COUNT, "batch": COUNT,
        "temperature_from": RATE, "temperature_to": RATE,
    },
    GCFExplainer: {
        "steps": COUNT, "alpha": SHARE, "theta": SHARE, "teleport": SHARE, "neighbours": COUNT,
        "told": (["classes"], ["logits", 1]),
    },
}  # fmt: skip


@pytest.mark.parametrize("method", DEFAULTS)
def test_defaults_are_those_of_the_description(method: Declaring) -> None:
    declared = {f.name: f.default for f in fields(method) if f.default is not MISSING and f.name in DEFAULTS[method]}
    assert declared == DEFAULTS[method]
    assert {f.name for f in fields(method)} - {"device", "constraints"} == DEFAULTS[method].keys()


CAPABLE = {
    CF2: {"removes", "needs_relaxation"},
    CLEAR: {"adds", "removes", "learns", "generative", "needs_relaxation", "may_return_invalid"},
    GCounteRGAN: {"adds", "removes", "learns", "generative", "needs_relaxation", "deterministic"},
    MEG: {"adds", "removes"},
    MACCS: {"adds", "removes", "targets"},
    MOO: {"removes", "deterministic"},
    RandomSubgraphs: {"removes"},
    CFGNNExplainer: {"removes", "needs_relaxation", "deterministic"},
    RandomMasks: {"removes"},
    RCExplainer: {
        "removes",
        "learns",
        "needs_relaxation",
        "needs_embeddings",
        "deterministic",
        "targets",
        "constraints",
    },
}


@pytest.mark.parametrize("method", CAPABLE)
def test_capabilities_are_those_of_the_method(method: type[Explainer]) -> None:
    """Explainers of GNNs tell nodes apart by their place in the graph; images, decoders and bits know numbers."""
    declared = {name for name, value in vars(method.capabilities).items() if value is True}
    assert declared - {"permutation_invariant"} == CAPABLE[method]
    assert method.capabilities.permutation_invariant == (method in (CF2, CFGNNExplainer, RCExplainer))


@pytest.mark.parametrize(("method", "name"), [(method, name) for method, limits in LIMITS.items() for name in limits])
def test_limits_let_through_what_makes_sense_and_nothing_beyond(method: Declaring, name: str) -> None:
    allowed, refused = LIMITS[method][name]
    for value in allowed:
        assert getattr(method(**{name: value}), name) == value
    for value in refused:
        with pytest.raises(UsageError, match=f"cannot use {name} = "):
            method(**{name: value})


def test_steps_are_searched_as_the_paper_says() -> None:
    space = GCounteRGAN.search_space()
    for name in ("generator_steps", "discriminator_steps"):
        steps = space[name]
        assert isinstance(steps, Choice) and steps.values == (2, 3, 10, 30)
