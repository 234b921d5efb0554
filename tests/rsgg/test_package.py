"""The package as it is imported: public names arrive when they are used, and plain numbers need no torch."""

from __future__ import annotations

import subprocess
import sys

import pytest

import rsgg


def run(code: str) -> str:
    """What a fresh Python process prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_statistics_seeds_errors_and_metrics_load_no_torch() -> None:
    modules = "rsgg, rsgg.statistics, rsgg.seeds, rsgg.errors, rsgg.metrics"
    before = f"import sys, {modules}; print('torch' in sys.modules, 'networkx' in sys.modules)"
    assert run(f"{before}; rsgg.Graph; print('torch' in sys.modules)").splitlines() == ["False False", "True"]


def test_every_public_name_can_be_fetched_in_a_fresh_process() -> None:
    """By a star, which asks for each of them; nothing has fetched them before."""
    code = "from rsgg import *; import rsgg; print(Task.__module__, check_task.__module__); print(*dir(rsgg)); "
    code += "print(all(name in globals() and globals()[name] is not None for name in rsgg.__all__))"
    star, names, fetched = run(code).splitlines()
    assert star == "rsgg.task rsgg.contract.task"
    assert fetched == "True" and set(rsgg.__all__) <= set(names.split())


def test_names_are_the_objects_of_their_modules_and_unknown_ones_are_refused() -> None:
    assert len(set(rsgg.__all__)) == len(rsgg.__all__)
    assert rsgg.Explainer is sys.modules["rsgg.explainer"].Explainer
    with pytest.raises(AttributeError, match="'rsgg' has no attribute 'Explainr'"):
        rsgg.Explainr  # noqa: B018
