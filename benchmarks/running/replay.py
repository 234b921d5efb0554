"""Stored results as an explainer: for "+ min" rows, which start from what their base has found, and for cells of which
another cell has explained the graphs already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from benchmarks.results.cell import Cell
from benchmarks.results.ledger import Store, with_node_edits
from rsgg.counterfactual import Candidate, candidates_of
from rsgg.edits import recoded
from rsgg.explainer import Capabilities, Explainer
from rsgg.graph import GraphBatch
from rsgg.oracles import CountingOracle


@dataclass(kw_only=True)
class Replayed(Explainer):
    """Offers the edits that a ledger holds, row by row, without asking the oracle.

    A ledger holds which pairs differ, not how often an edge was drawn: where the base returned a graph that is not
    simple, or may return graphs that it did not ask about, `Minimised` asks about what is offered here first.
    """

    ledger: Any = field(default=None, repr=False)
    can: Capabilities = field(default=Capabilities(adds=True, removes=True), repr=False)

    @classmethod
    def of(cls, base: Explainer, ledger: pa.Table | pd.DataFrame) -> Replayed:
        """The results of `base` on the graphs of one cell."""
        rows = with_node_edits(ledger if isinstance(ledger, pd.DataFrame) else ledger.to_pandas())
        unsure = base.capabilities.may_return_invalid or not rows["simple"].all()
        asks_nothing = {"learns": False, "needs_relaxation": False, "needs_embeddings": False}
        can = replace(base.capabilities, **asks_nothing, may_return_invalid=bool(unsure))
        return cls(ledger=rows, can=can)

    @property
    def capabilities(self) -> Capabilities:  # type: ignore[override]  # the base's, so not the class's
        return self.can

    def _explain(
        self, graphs: GraphBatch, classes: Tensor, oracle: CountingOracle, k: int, seed: int
    ) -> list[Candidate]:
        sizes = graphs.sizes.repeat_interleave(k).tolist()
        offered = graphs.adjacency.repeat_interleave(k, 0)
        found: list[Candidate] = []
        for i, (adjacency, n, row) in enumerate(zip(offered, sizes, self.ledger.itertuples(), strict=True)):
            if row.found and len(row.node_edits):
                codes = np.array([*row.edits, *row.node_edits], dtype=np.int64)
                found += candidates_of(graphs, [i // k], [recoded(codes, n, graphs.n_nodes)])
                continue
            u, v = (torch.from_numpy(part) for part in np.divmod(np.asarray(row.edits, dtype=np.int64), n))
            adjacency[u, v] = (adjacency[u, v] == 0).to(adjacency.dtype)
            adjacency[v, u] = adjacency[u, v]
            found.append(Candidate(adjacency.fill_diagonal_(0)) if row.found else Candidate(None, row.reason))
        return found


def with_base_ledger(cell: Cell, store: Store) -> Cell:
    """The cell, and if it is a "+ min" cell with the rows of its base, as far as there are any."""
    stored = store.read(cell.base) if cell.base else None
    return replace(cell, base_ledger=stored.table if stored and stored.table.num_rows else None)


def with_rows_of(cell: Cell, other: Cell, stores: Sequence[Store]) -> Cell:
    """The cell with the rows of another one that explains the same graphs, as far as a store has them."""
    found = (store.read(other) for store in stores)
    stored = next((one for one in found if one is not None and one.table.num_rows), None)
    return replace(cell, base_ledger=None if stored is None else stored.table)


def rows_about(ledger: pa.Table | None, instances: Tensor) -> pd.DataFrame | None:
    """The stored rows about these graphs, in their order; None where some are not there or are no simple graphs."""
    if ledger is None:
        return None
    rows = with_node_edits(ledger.to_pandas()).set_index("instance")
    wanted = instances.tolist()
    if not set(wanted) <= set(rows.index) or not rows.index.is_unique or not rows["simple"].all():
        return None
    return rows.loc[wanted].reset_index()


def with_costs_of_base(rows: pd.DataFrame, base: pa.Table) -> pd.DataFrame:
    """The ledger rows of a "+ min" cell: what the base cost comes on top; the class of the input is asked for once."""
    of_base = base.to_pandas()
    return rows.assign(
        calls=rows["calls"] + of_base["calls"] - (of_base["candidate"] == 0),
        seconds=rows["seconds"] + of_base["seconds"],
        fit_calls=of_base["fit_calls"],
        fit_seconds=of_base["fit_seconds"],
    )
