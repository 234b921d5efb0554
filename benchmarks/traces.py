"""Traces: what Algorithm 1 did, step by step, in cells of Table 1. The method's illustrations are drawn from them.

    python benchmarks/traces.py --datasets tree-cycles --folds 0

RSGG-CE (faithful, released, and with an untrained generator) is fitted as in Table 1, with the same seeds, and explains
the test graphs `--candidates` times; candidate 0 is the one of Table 1, whose stored edits it has to equal.

    traces.parquet       a row per graph: A_g, and what became of candidate 0
      scores             A_g·255 of the pairs u < v, row by row
      removed            edges u·n + v that the unguarded phase left out
      checked            pairs that were then added one by one, with a check after each, up to the flip
    candidates.parquet   a row per graph and candidate: `edits`, the pairs in which it differs from the input

Both grow cell by cell, so that a run that was stopped goes on where it was.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.catalogue import choose_datasets, choose_methods
from benchmarks.cell import Cell, chosen_folds, grid
from benchmarks.experiment import check_device, terminate_like_interrupt
from benchmarks.options import TraceOptions
from benchmarks.progress import REFERENCE, Durations, in_words
from benchmarks.runner import seed_everything
from benchmarks.store import Store, provenance, write_whole
from rsgg.errors import RSGGError, UsageError
from rsgg.explainer import Counterfactual
from rsgg.oracles.oracle import CountingOracle
from rsgg.rsgg_ce.released import ReleasedRSGGCE
from rsgg.rsgg_ce.explainer import RSGGCE
from rsgg.rsgg_ce.sampling import Trace, traced

METHODS = ("rsgg-ce:faithful", "rsgg-ce:released", "rsgg-ce-untrained")
DATASETS = ("tree-cycles", "asd")
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


def cells(options: TraceOptions) -> list[Cell]:
    """Table 1's cells whose sampling is traced."""
    methods = choose_methods(options.methods or METHODS)
    for method in methods:
        if not issubclass(method.explainer, RSGGCE | ReleasedRSGGCE):
            raise UsageError(f"{method.name} does not sample along a partial order, so there is nothing to trace.")
    if options.seeds or options.dask:
        raise UsageError("Traces are those of replicate 0, made in this process; leave --seeds and --dask out.")
    folds = chosen_folds(options) if options.folds else (0,)
    return grid(
        choose_datasets(options.datasets or DATASETS, smoke=options.smoke), methods, folds=folds, smoke=options.smoke
    )


# -- One cell ------------------------------------------------------------------------------------------------------


def trace(
    cell: Cell, candidates: int, data_dir: Path | None = None, device: str = "cpu"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fit and explain as the runner does for this cell: the rows of traces.parquet and of candidates.parquet."""
    torch.set_num_threads(1)
    explainer = cell.method.build(device)
    dataset = cell.dataset.load(data_dir)
    if explainer.encoding is not None:
        dataset = dataset.with_encoding(explainer.encoding)
    fold = dataset.folds(cell.folds, cell.seed)[cell.fold]
    seed_everything(cell.seed_for("fit"))
    explainer.fit(dataset.graphs.select(fold.train), CountingOracle(dataset.oracle), seed=cell.seed_for("fit"))
    seed_everything(cell.seed_for("explain"))
    test, asked = dataset.graphs.select(fold.test), CountingOracle(dataset.oracle)
    with traced() as traces:
        results = explainer.explain(test, asked, k=candidates, seed=cell.seed_for("explain"))
    whose = [_whose(cell, int(fold.test[result.instance]), result) for result in results]
    first = [
        {**about, **_of_trace(made, result)}
        for about, made, result in zip(whose, traces, results, strict=True)
        if result.candidate == 0
    ]
    drawn = [
        {**about, "candidate": result.candidate, "found": result.found, "edits": _coded(result)}
        for about, result in zip(whose, results, strict=True)
    ]
    return pd.DataFrame(first), pd.DataFrame(drawn)


def _whose(cell: Cell, instance: int, result: Counterfactual) -> dict[str, Any]:
    return {
        "cell": cell.key,
        "dataset": cell.dataset.name,
        "method": cell.method.name,
        "variant": cell.method.variant,
        "fold": cell.fold,
        "instance": instance,
        "n_nodes": result.input.n_nodes,
    }


def _of_trace(made: Trace, result: Counterfactual) -> dict[str, Any]:
    n = result.input.n_nodes
    scores = np.rint(made.scores[np.triu_indices(n, 1)] * 255).astype(np.uint8)
    removed, checked = (pairs @ [n, 1] for pairs in (made.removed, made.checked))
    return {"scores": scores, "removed": removed, "checked": checked, "calls": result.calls, "found": result.found}


def _coded(result: Counterfactual) -> list[int]:
    return [u * result.input.n_nodes + v for u, v in result.edits]


def compare(cell: Cell, drawn: pd.DataFrame, stores: Sequence[Store]) -> str:
    """Candidate 0 against what Table 1 has stored for this cell: a sentence, or an error if they differ."""
    store = next((store for store in stores if store.read(cell) is not None), None)
    stored = None if store is None else store.read(cell)
    if store is None or stored is None:
        return "nothing to compare them with: this cell of Table 1 is not stored"
    edits = {int(row.instance): sorted(map(int, row.edits)) for row in stored.ledger.itertuples()}
    own = {int(row.instance): sorted(row.edits) for row in drawn[drawn["candidate"] == 0].itertuples()}
    differing = sum(own.get(instance) != pairs for instance, pairs in edits.items())
    if differing or own.keys() != edits.keys():
        raise RSGGError(
            f"{cell.title}: {differing} of {len(edits)} traced graphs are edited otherwise than {store.root} says; "
            "other versions of libraries can do that: compute the cell here first, with ./reproduce.sh table1 --fresh "
            f"--methods {cell.method.name}:{cell.method.variant} --datasets {cell.dataset.name} --folds {cell.fold}."
        )
    return f"all edits equal those of Table 1's cell in {store.root.name}"


# -- Files ---------------------------------------------------------------------------------------------------------


def read(path: Path, schema: pa.Schema) -> pd.DataFrame:
    """What is stored; nothing where there is no such file or one of another form, which is then made anew."""
    try:
        return pq.read_table(path, partitioning=None).select(schema.names).to_pandas()
    except (OSError, pa.ArrowException, KeyError):
        return schema.empty_table().to_pandas()


def add(path: Path, schema: pa.Schema, rows: pd.DataFrame) -> None:
    """Put the rows of a cell into a file, in place of those that it has of the same data, method and fold."""
    stored = read(path, schema)
    place = list(ORDER[:4])
    new = set(map(tuple, rows[place].to_numpy().tolist()))
    kept = stored[[key not in new for key in map(tuple, stored[place].to_numpy().tolist())]]
    whole = pd.concat((kept, rows)) if len(kept) else rows
    whole = whole.sort_values([*ORDER, *({"candidate"} & set(rows.columns))], kind="stable")
    columns = [pa.array(whole[field.name].tolist(), type=field.type) for field in schema]
    table = pa.table(columns, schema=schema.with_metadata({"commit": provenance()["commit"]}))
    write_whole(path, lambda file: pq.write_table(table, file, compression="zstd"))


def is_stored(cell: Cell, candidates: int, out: Path) -> bool:
    drawn = read(out / "candidates.parquet", CANDIDATES)
    enough = drawn[(drawn["cell"] == cell.key) & (drawn["candidate"] == candidates - 1)]
    return len(enough) > 0 and cell.key in set(read(out / "traces.parquet", TRACES)["cell"])


# -- The command ---------------------------------------------------------------------------------------------------


def run(options: TraceOptions) -> int:
    """Trace the cells that are not stored, one after the other; returns the exit code."""
    check_device(options.device)
    wanted, out = cells(options), options.results
    missing = [cell for cell in wanted if options.fresh or not is_stored(cell, options.candidates, out)]
    if options.dry_run:
        print(*(f"{cell.title}: {'to trace' if cell in missing else 'stored'}" for cell in wanted), sep="\n")
        print(f"{len(missing)} cells to trace, about {in_words(Durations().left(missing, 1))}.")
        return 0
    stores = (Store(out), Store(REFERENCE))
    stores[0].prepare()
    try:
        with terminate_like_interrupt():
            for cell in missing:
                traces, drawn = trace(cell, options.candidates, options.data_dir, options.device)
                said = compare(cell, drawn, stores)
                add(out / "candidates.parquet", CANDIDATES, drawn)
                add(out / "traces.parquet", TRACES, traces)  # last: it is what makes the cell count as traced
                explained = int(traces["found"].sum())
                print(f"{cell.title}: {len(traces)} graphs traced, {explained} explained; {said}.", flush=True)
    except KeyboardInterrupt:
        stored = sum(is_stored(cell, options.candidates, out) for cell in wanted)
        print(
            f"Stopped; {stored} of {len(wanted)} cells are traced; the same command goes on from here.", file=sys.stderr
        )
        return 130
    print(f"{len(wanted)} cells are traced in {out / 'traces.parquet'}.")
    return 0


if __name__ == "__main__":
    from benchmarks.cli import script

    script("traces")
