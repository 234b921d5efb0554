"""Traces: what Algorithm 1 did, step by step, in cells of Table 1, and what several candidates of a method are worth.

    python benchmarks/traces.py --datasets tree-cycles --folds 0

Methods of which a graph can have several counterfactuals are fitted as in Table 1, with the same seeds, and explain the
test graphs `--candidates` times; candidate 0 is the one of Table 1, whose stored edits it has to equal. What samples
along a partial order (RSGG-CE) is traced besides; the method's illustrations are drawn from that.

    traces.parquet       a row per graph: A_g, and what became of candidate 0
      scores             A_g·255 of the pairs u < v, row by row
      removed            edges u·n + v that the unguarded phase left out
      checked            pairs that were then added one by one, with a check after each, up to the flip
    candidates.parquet   a row per graph and candidate: `edits`, the pairs in which it differs from the input, and
                         `found`, whether it changes the class
    candidates.csv       what all of them are worth: validity@1 and @k, diversity, Jaccard distance, consensus

The first two keep what they have of other cells. The cells themselves are stored in the folder `traces` of the results,
with the trace beside them, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.registry import tasks
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE
from benchmarks.results.ledger import Store, Stored
from benchmarks.results.summary import fold_estimate
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.plan import cells_for
from benchmarks.running.run_cell import Observer, Run
from rsgg.errors import RSGGError
from rsgg.metrics import several_candidates
from rsgg.rsgg_ce.explainer import Trace, traced

METHODS = (
    "rsgg-ce:faithful", "rsgg-ce:released", "rsgg-ce-untrained", "rsgg-ce-taught", "rsgg-ce-certified",
    "clear:faithful", "g-countergan:faithful", "two-sided-min",
)  # fmt: skip
WORTH = ("k", "validity_at_1", "validity_at_k", "diversity", "jaccard_distance", "consensus", "distinct")
COLUMNS = ["dataset", "method", "variant", "metric", "mean", "ci_low", "ci_high", "n"]
WHOSE = {
    **dict.fromkeys(("cell", "dataset", "method", "variant"), pa.string()),
    **dict.fromkeys(("fold", "instance", "n_nodes"), pa.int64()),
}
TRACES = pa.schema(
    {**WHOSE, "scores": pa.list_(pa.uint8()), "removed": pa.list_(pa.int32()), "checked": pa.list_(pa.int32()),
     "calls": pa.int64(), "found": pa.bool_()}
)  # fmt: skip
CANDIDATES = pa.schema({**WHOSE, "candidate": pa.int64(), "found": pa.bool_(), "edits": pa.list_(pa.int32())})
ORDER = ("dataset", "method", "variant", "fold", "instance")
TRACE = [field for field in TRACES if field.name in ("instance", "scores", "removed", "checked")]


class SamplingTrace(Observer):
    """What Algorithm 1 did to the first candidate of each graph: a row per graph, columns of `TRACE`.

    Of methods that do not sample along a partial order there is none.
    """

    @contextmanager
    def watching(self) -> Iterator[None]:
        with traced() as self.made:
            yield

    def table(self, run: Run) -> pa.Table | None:
        if len(self.made) != len(run.results):
            return None
        rows = [
            _row(trace, int(run.fold.test[result.instance]), result.input.n_nodes)
            for trace, result in zip(self.made, run.results, strict=True)
            if result.candidate == 0
        ]
        return pa.table({field.name: pa.array([row[field.name] for row in rows], field.type) for field in TRACE})


def _row(made: Trace, instance: int, n: int) -> dict[str, Any]:
    scores = np.rint(made.scores[np.triu_indices(n, 1)] * 255).astype(np.uint8)
    removed, checked = (pairs @ [n, 1] for pairs in (made.removed, made.checked))
    return {"instance": instance, "scores": scores, "removed": removed, "checked": checked}


# -- Files ---------------------------------------------------------------------------------------------------------


def rows_of(cell: Cell, stored: Stored) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of a cell in traces.parquet, none where it was not traced, and in candidates.parquet."""
    ledger = stored.ledger.sort_values(["instance", "candidate"])
    whose = {name: stored.whose[name] for name in ("dataset", "method", "variant")} | {"cell": of_table1(cell).key}
    valid = ledger["found"] & (ledger["predicted"] != ledger["predicted_cf"])
    drawn = ledger[["fold", "instance", "n_nodes", "candidate", "edits"]].assign(found=valid, **whose)
    first = ledger[ledger["candidate"] == 0][["fold", "instance", "n_nodes", "calls", "found"]].assign(**whose)
    trace = pd.DataFrame(columns=TRACES.names) if stored.history is None else stored.history.to_pandas()
    return first.merge(trace, on="instance") if len(trace) else trace, drawn


def worth(drawn: pd.DataFrame) -> pd.DataFrame:
    """`COLUMNS`: of each row on each data set, what its candidates are worth, with intervals over folds."""
    lines = []
    for row, own in drawn.groupby(COLUMNS[:3], sort=False):
        several = several_candidates(own.assign(predicted=0, predicted_cf=own["found"].astype(int))).assign(seed=0)
        for metric in WORTH:
            known = several[several[metric].notna()]
            if len(known):
                estimate = fold_estimate(known, metric)
                lines.append([*row, metric, *(estimate[name] for name in COLUMNS[4:7]), len(known)])
    return pd.DataFrame(lines, columns=COLUMNS)


def of_table1(cell: Cell) -> Cell:
    """Table 1's cell, with one candidate per graph, which is the first of these."""
    return Cell(cell.task, cell.method, cell.fold, cell.folds, cell.seed)


def check(cell: Cell, drawn: pd.DataFrame, stores: Sequence[Store]) -> None:
    """Candidate 0 has to be what Table 1 has stored for this cell, where it has; an error if they differ."""
    found = ((store, store.read(of_table1(cell))) for store in stores)
    store, stored = next(((store, one) for store, one in found if one is not None), (None, None))
    if store is None or stored is None:
        return
    first = (drawn[drawn["candidate"] == 0], stored.ledger)
    own, edits = ({row.instance: sorted(row.edits) for row in rows.itertuples()} for rows in first)
    differing = sum(own.get(instance) != pairs for instance, pairs in edits.items())
    if differing or own.keys() != edits.keys():
        raise RSGGError(
            f"{cell.title}: {differing} of {len(edits)} traced graphs are edited otherwise than {store.root} says; "
            "other versions of libraries can do that: compute the cell here first, with ./reproduce.sh table1 --fresh "
            f"--methods {cell.method.title} --datasets {cell.task.name} --folds {cell.fold}."
        )


def merged(path: Path, schema: pa.Schema, rows: pd.DataFrame) -> pa.Table:
    """The rows of a file, those of the same data, method and fold replaced by these."""
    try:
        stored = pq.read_table(path, partitioning=None).select(schema.names).to_pandas()
    except (OSError, pa.ArrowException, KeyError):
        stored = schema.empty_table().to_pandas()
    place = list(ORDER[:4])
    new = set(map(tuple, rows[place].to_numpy().tolist()))
    kept = stored[[key not in new for key in map(tuple, stored[place].to_numpy().tolist())]]
    whole = pd.concat((kept, rows)) if len(kept) else rows
    whole = whole.sort_values([*ORDER, *({"candidate"} & set(rows.columns))], kind="stable")
    return pa.table([pa.array(whole[field.name].tolist(), type=field.type) for field in schema], schema=schema)


def _write(files: Artefacts, name: str, table: pa.Table) -> None:
    files.whole(name, lambda file: pq.write_table(table, file, compression="zstd"))


def publish(source: Path, out: Path) -> None:
    """Bring the traces and candidates of a folder into a reference, which keeps what it has of other cells."""
    with Artefacts(out, "traces") as files:
        for name, schema in (("traces.parquet", TRACES), ("candidates.parquet", CANDIDATES)):
            if (source / name).is_file():
                rows = pq.read_table(source / name, partitioning=None).to_pandas()
                _write(files, name, merged(out / name, schema, rows))


def render(folder: Path) -> None:
    """candidates.csv from candidates.parquet, where a folder has it."""
    if (folder / "candidates.parquet").is_file():
        candidates = pq.read_table(folder / "candidates.parquet", partitioning=None).to_pandas()
        with Artefacts(folder, "traces") as files:
            files.csv("candidates.csv", worth(candidates))


class Traces(Experiment):
    """Table 1's cells with several candidates, the first one traced where it was sampled along a partial order."""

    name = "traces"

    def plan(self, options: Any) -> list[Cell]:
        return cells_for(options, rows=METHODS, entries=tasks.PAPER, folds=(0,), k=options.candidates)

    def store(self, options: Any) -> Store:
        """Apart from Table 1's results: beside these cells lies a trace, not training curves."""
        return Store(options.results / "traces")

    def observer(self, options: Any) -> Observer:
        return SamplingTrace()

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        made = []
        for cell in done.cells:
            if cell.key in done.stored:
                made.append(rows_of(cell, done.stored[cell.key]))
                check(cell, made[-1][1], (Store(done.folder), Store(REFERENCE)))
        if made:
            traced_, drawn = ([table for table in tables if len(table)] for tables in zip(*made, strict=True))
            if traced_:
                _write(files, "traces.parquet", merged(done.folder / "traces.parquet", TRACES, pd.concat(traced_)))
            candidates = merged(done.folder / "candidates.parquet", CANDIDATES, pd.concat(drawn))
            _write(files, "candidates.parquet", candidates)
            files.csv("candidates.csv", worth(candidates.to_pandas()))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("traces")
