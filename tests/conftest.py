"""What all tests share: one thread per process, and what the markers need."""

from __future__ import annotations

import os

import pytest

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # before torch is imported: small graphs gain nothing from more


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that are marked `asd` need its files, which are not part of the project."""
    if "RSGG_DATA_DIR" in os.environ:
        return
    for item in items:
        if item.get_closest_marker("asd"):
            item.add_marker(pytest.mark.skip(reason="ASD is not at hand: RSGG_DATA_DIR is not set"))
