"""A registry that is as it was when the test is done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.registry import methods, tasks


@pytest.fixture
def registry() -> Iterator[None]:
    """What joins from outside during the test leaves again."""
    before = list(methods.METHODS), list(tasks.TASKS)
    yield
    methods.METHODS[:], tasks.TASKS[:] = before
