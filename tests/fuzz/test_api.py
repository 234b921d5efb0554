"""Whatever the library is given, only errors of this project come out of it, and nothing wrong is accepted."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from rsgg.errors import RSGGError
from tests.fuzz.api_cases import cases

QUICK, ALL = 120, 2400


def _survives(folder: Path, count: int) -> None:
    wrong = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for about, case in cases(1, count, folder):
            try:
                case()
            except RSGGError as error:
                if len(str(error)) < 10:
                    wrong.append(f"{about}: {error!r} is no sentence")
            except Exception as error:
                wrong.append(f"{about}: {type(error).__name__}: {str(error)[:200]}")
    assert not wrong, "\n".join(wrong)


def test_calls_that_nobody_should_make(tmp_path: Path) -> None:
    _survives(tmp_path, QUICK)


@pytest.mark.long
def test_all_calls_that_nobody_should_make(tmp_path: Path) -> None:
    _survives(tmp_path, ALL)
