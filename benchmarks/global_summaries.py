"""Global summaries: ten graphs for a whole class, by GCFExplainer, its ablations, and what they are held against.

    ./reproduce.sh global
    ./reproduce.sh global --data aids-gcn --methods gcfexplainer,real-graphs

On four data sets with the GCNs that GCFExplainer was published with. All graphs of up to 120 nodes are given; those
that the GCN puts into the unwanted class are the inputs. Three replicates are three seeds of the walk. `global.csv` has
a line per row, size k of the summary and metric:

- `coverage`: share of inputs within θ = .1 of a graph of the summary; `cost`: median distance from the nearest
- `calls`: questions to the oracle; `candidates`: graphs that the summary was chosen from; `graphs`: how many it has

`mean` is what edit paths in hand show, `low` and `high` bound the exact value. `global_printed.csv` has the orders of
the printed tables. The rules are in `benchmarks.registry.rules`, what was printed in results/paper/gcfexplainer.
"""

from __future__ import annotations

from typing import Any

from benchmarks.judging import printed_global
from benchmarks.registry import global_methods, tasks
from benchmarks.registry.names import numbers
from benchmarks.registry.rules import GLOBAL_REPLICATES
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.running.experiment import Experiment, Finished

SMOKE = "proteins-gcn"  # the set with the fewest inputs
FEW = {"rsgg-ce-certified-greedy": {"explained": 8, "training": 60}}  # in a smoke run


class GlobalSummaries(Experiment):
    """The rows of `benchmarks.registry.global_methods` on their tasks."""

    name = "global"
    shows = ("global",)

    def plan(self, options: Any) -> list[Cell]:
        seeds = numbers(options.seeds, "seed") or tuple(range(1 if options.smoke else GLOBAL_REPLICATES))
        cells = []
        for name in global_methods.chosen_tasks(options.datasets or ([SMOKE] if options.smoke else None)):
            for row in global_methods.choose(options.methods):
                if row.unsupported(name):
                    continue
                method = row.for_task(name)
                if options.smoke:
                    method = method.tiny().with_options(FEW.get(row.name, {}))
                own = seeds[:1] if row.name in global_methods.WITHOUT_CHANCE else seeds
                cells += [Cell(tasks.task(name), method, 0, 1, seed) for seed in own]
        return cells

    def live(self, ledger: Any) -> Any:
        return ""

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        lines = done.ledger
        if lines.empty:
            lines = printed_global.NO_LINES
        files.csv("global.csv", printed_global.table(lines))
        files.csv("global_printed.csv", printed_global.orders(lines))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("global")
