"""Which of ten thousand cells are stored is decided in a moment, before a run starts and while a user waits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from benchmarks.results.cell import Cell
from benchmarks.results.files import ROOT
from benchmarks.results.ledger import Store
from tests.standins import DATA, DRAWS

N_METHODS, N_SEEDS, N_FOLDS = 20, 50, 10

MEASURE = """
import json, sys, time
from dataclasses import replace
from pathlib import Path
from benchmarks.registry.methods import Method
from benchmarks.registry.tasks import TREE_CYCLES
from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store

data = TREE_CYCLES.varied({"n_nodes": 10, "n_graphs": 24, "max_cycle_nodes": 4})
draws = Method("draws", "control", "tests.standins:Draws", "Draws")
n_methods, n_seeds, n_folds = map(int, sys.argv[2:])
start = time.process_time()
wanted = [
    Cell(data.replicate(seed), replace(draws, name=f"draws-{i}"), fold, seed=seed)
    for i in range(n_methods) for seed in range(n_seeds) for fold in range(n_folds)
]
there = Store(Path(sys.argv[1])).stored(wanted)
seconds = time.process_time() - start
most = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
memory = int(most.split()[1]) / 1024  # not ru_maxrss, which counts the process that started this one
print(json.dumps({"wanted": len(wanted), "there": len(there), "seconds": seconds, "megabytes": memory}))
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
def test_ten_thousand_stored_cells_are_found_in_two_seconds_and_300_megabytes(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = Cell(DATA, DRAWS, 0)
    store.write(first, pa.table({}), duration=1.0)
    written = store.path(first)
    for i in range(N_METHODS):
        method = replace(DRAWS, name=f"draws-{i}")
        for seed in range(N_SEEDS):
            for fold in range(N_FOLDS):
                path = store.path(Cell(DATA.replicate(seed), method, fold, seed=seed))
                path.parent.mkdir(parents=True, exist_ok=True)
                if (seed, fold) != (7, 3):  # one of every method is missing
                    os.link(written, path)
    arguments = [sys.executable, "-c", MEASURE, str(tmp_path), *map(str, (N_METHODS, N_SEEDS, N_FOLDS))]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["wanted"] == 10_000 and found["there"] == 10_000 - N_METHODS
    assert found["seconds"] < 2, found
    assert found["megabytes"] < 300, found
