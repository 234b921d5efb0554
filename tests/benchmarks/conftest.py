"""Results that tests of publishing and of verifying share: computing and publishing them takes seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import cli
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store
from benchmarks.running.experiment import Finished, run_cells
from benchmarks.running.options import Table1Options
from benchmarks.table1 import Table1, plan
from tests.conftest import made_once

ROWS = Table1Options(methods=["empty,optimum"], datasets=["tree-cycles"], seeds=["0"])


def local_run(folder: Path, options: Table1Options = ROWS) -> list[Cell]:
    """Cells and tables as `table1` leaves them, computed in this process."""
    cells = plan(options)
    store = Store(folder)
    run_cells(cells, store)
    Table1().write(Finished(cells, store, folder, {}), Table1Options())
    return cells


@pytest.fixture(scope="session")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rows of Table 1, and files that have no cells there."""

    def make(folder: Path) -> None:
        local_run(folder)
        (folder / "runtime.csv").write_text("vary,value\n")
        (folder / "notes.txt").write_text("not a result")

    return made_once(tmp_path_factory, "local", make)


@pytest.fixture(scope="session")
def published(local: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is published of them; tests copy it before they change it."""

    def make(folder: Path) -> None:
        assert cli.main(["publish", "--from", str(local), "--out", str(folder / "reference")]) == 0

    return made_once(tmp_path_factory, "published", make) / "reference"
