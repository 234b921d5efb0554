"""What all tests share: one thread per process, and what the markers need."""

from __future__ import annotations

import os
from typing import NoReturn

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


@pytest.fixture
def no_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within it, whoever asks for the matrix of a graph that is a list of edges fails."""
    from rsgg.edges import EdgeBatch
    from rsgg.sparse import SparseBatch, SparseGraph

    def refuse(self: object) -> NoReturn:
        raise AssertionError("a matrix was made of a large graph")

    for kind in (SparseGraph, SparseBatch):
        monkeypatch.setattr(kind, "adjacency", property(refuse))
        monkeypatch.setattr(kind, "edge_features", property(refuse))
    monkeypatch.setattr(EdgeBatch, "to_dense", refuse)
