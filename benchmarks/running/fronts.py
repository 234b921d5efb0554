"""How good the front of a graph is: measured while a cell is computed, a line per test graph.

- `hypervolume`: the share of all values of the three objectives that the front dominates (`rsgg.baselines.moo`)
- `front`: how many explanations are on it
- `asked`: questions, the class of the input included. At random as many subgraphs of each size grow on as there may be;
  by MOO fewer, where those that are best in one objective are best in the other: it asks less
"""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from benchmarks.results.ledger import history_table
from benchmarks.running.run_cell import Observer, Run
from rsgg.baselines.moo import MOO, dominated
from rsgg.errors import FitError

MEASURED = ("hypervolume", "front", "asked")


class Fronts(Observer):
    """The columns above."""

    def table(self, run: Run) -> pa.Table | None:
        return history_table(measured(run).assign(instance=run.fold.test.numpy()).to_dict("records"))


def measured(run: Run) -> pd.DataFrame:
    """A line per test graph, columns `MEASURED`."""
    explainer = run.explainer
    if not isinstance(explainer, MOO):
        raise FitError(f"{type(explainer).__name__} has no front of explanations that could be measured")
    fronts = [explainer.fronts_[name] for name in run.test.names]
    return pd.DataFrame(
        {
            "hypervolume": [dominated(front, explainer.most_edges) for front in fronts],
            "front": [float(len(front.subgraphs)) for front in fronts],
            "asked": [float(result.calls) for result in run.results],
        }
    )
