"""Table 2: real data and learnt oracles, where being valid says little and being plausible decides.

    ./reproduce.sh table2
    ./reproduce.sh table2 --data my_module:my_task           # a task of yours beside them
    ./reproduce.sh table2 --tu my_folder --model my_module:my_model    # a folder in TU format and a PyG model

Eleven tasks: public data sets with the GCNs that were published for them, or with a GIN or GCN that is trained in each
fold. Five folds, of which at most 60 graphs are explained after learning from at most 400, drawn by seed; at most 2000
questions about a graph; graphs of more than 120 nodes are left out. Methods edit pairs of nodes, but for DCE, which
returns whole graphs, and RSGG-CE with node edits: nodes and labels that they change count in the GED. Methods run with
the settings that their classes have by default, or with presets that are shorter, so that the table takes hours and not
days (`benchmarks.registry`). A smoke run has `SMOKE_TASKS` only, one of each kind.

Into `table2.csv` goes a line per task, row and metric: means of fold means with intervals bootstrapped over folds, for
the metrics of Table 1 and those of `benchmarks.running.quality`. `table2_kinds.csv` has what each row finds on each
task, `leaderboard.csv` the same rows by rank beside what was submitted, `table2_graphs.parquet` the graphs that are
explained, for pictures. `table2_comparisons.csv` has paired tests of each task, where five folds can show no p below
.0625, so that no difference is significant on a single one; then those of RSGG-CE taught and certified with every
other row over all tasks together, with folds of tasks as clusters and Holm's correction over all of them.

Rules (`benchmarks.registry.rules` says what had been seen when they were written): the areas under validity over GED
and over calls end at `MOST_EDITS` edits and at the task's budget. A method *finds explanations* on a task if its
validity is at least `VALID` and its plausibility is not below that of the unedited inputs by more than
`LOST_PLAUSIBILITY`; if it is, its valid results are called *adversarial examples*: they change the oracle's class by
leaving the data. Where no plausibility is known, because the class that is claimed has no real graphs or nothing was
measured, such a row is *not judged*.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from benchmarks.registry import methods, tasks
from benchmarks.registry.metrics import METRICS
from benchmarks.registry.rules import LOST_PLAUSIBILITY, MOST_EDITS, VALID
from benchmarks.results import graphs, leaderboard
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.summary import COMPARED_METRICS, ROW, accounted, compare_over_tasks, compare_rows, means_of
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.explained import explained
from benchmarks.running.options import Table2Options
from benchmarks.running.plan import cells_for
from benchmarks.running.quality import MEASURED, Quality
from benchmarks.running.run_cell import Observer
from rsgg import metrics as formulas
from rsgg.errors import UsageError

ROWS = (
    "rsgg-ce-taught", "rsgg-ce-certified", "rsgg-ce-feasible", "rsgg-ce-nodes", "rsgg-ce:literal", "rsgg-ce:faithful",
    "cf2:faithful", "clear:faithful", "g-countergan:faithful", "meg:faithful", "rcexplainer:faithful", "maccs:faithful",
    "meg-molecules:faithful",
    "moo:faithful", "moo:released", "obs", "ddbs", "irand", "dce", "two-sided-min", "two-sided-min-feasible",
    "rsgg-ce-min:literal", "rsgg-ce-min:faithful", "cf2-min:faithful", "clear-min:faithful",
    "g-countergan-min:faithful", "meg-min:faithful", "rcexplainer-min:faithful",
    "obs-min", "ddbs-min", "irand-min", "dce-min",
    "random", "one-removal", "empty", "identity",
)  # fmt: skip
SMOKE_TASKS = ("proteins-gcn", "mutag-gin", "bbbp-gin", "ba-2motifs-gin")  # published, trained, molecules, generated
WHOSE = [*ROW, "seed", "fold", "instance"]
LEFT_OUT = ("runtime", "oracle_calls", "correctness_class_0", "correctness_class_1", "optimality_gap", "removal_auroc")
COMPARED = (*COMPARED_METRICS, "plausibility")
KINDS = ("finds explanations", "finds adversarial examples", "finds little", "not judged")


def per_graph(done: Finished) -> pd.DataFrame:
    """The ledger's first candidates with every metric of the table as a column, NaN where one does not apply."""
    rows = accounted(done.ledger)
    if not done.history.empty:
        rows = rows.merge(done.history.reindex(columns=[*WHOSE, *MEASURED]), on=WHOSE, how="left")
    budget = rows["dataset"].map(lambda name: tasks.task(name).budget or tasks.BUDGET).to_numpy()
    found = rows["correctness"].to_numpy()
    spent = np.log(np.maximum(1, rows["calls"].to_numpy())) / np.log(budget)
    return rows.assign(
        area_over_ged=formulas.area_over_ged(rows["ged"], found, MOST_EDITS),
        area_over_calls=formulas.area_over_ged(spent, found, 1.0),
        sparsity_on_success=formulas.ged_on_success(rows["sparsity"], found),
        **{
            f"validity_class_{c}": formulas.correctness_of_class(found, rows["predicted"], c)
            for c in range(int(rows["predicted"].max()) + 1)
        },
    )


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per task, row and metric that applies (`benchmarks.results.summary.MEANS`)."""
    of_table1 = [name for name in METRICS if name not in LEFT_OUT]
    classes = [name for name in rows if name.startswith("validity_class_")]
    areas = ["area_over_ged", "area_over_calls", "sparsity_on_success"]
    return means_of(rows, (*of_table1, *classes, *areas, *(measure for measure in MEASURED if measure in rows)))


def kinds(lines: pd.DataFrame) -> pd.DataFrame:
    """What each row finds on each task, by the rule at the top: columns task, method, variant, finds."""
    wide = lines.pivot_table(index=["task", "method", "variant"], columns="metric", values="mean", sort=False)
    wide = wide.reindex(columns=["correctness", "plausibility", "plausibility_unedited"])
    lost = wide["plausibility_unedited"] - wide["plausibility"]
    rules = {KINDS[2]: wide["correctness"] < VALID, KINDS[3]: lost.isna(), KINDS[0]: lost <= LOST_PLAUSIBILITY}
    finds = np.select(list(rules.values()), list(rules), KINDS[1])
    return wide.assign(finds=finds).reset_index()[["task", "method", "variant", "finds"]]


def comparisons(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows compared on the graphs of each task, then on those of all tasks."""
    rows = rows.assign(plausibility=rows.get("plausibility", np.nan))
    compared = [compare_rows(rows, list(methods.choose()), COMPARED), compare_over_tasks(rows, COMPARED)]
    return pd.concat([part for part in compared if len(part)] or compared[:1], ignore_index=True)


def chosen_tasks(options: Table2Options) -> list[str]:
    """The names of the tasks that the options ask for, where `--data` does not say."""
    if options.model and not options.tu:
        raise UsageError("--model names the model for a folder of graphs; give the folder with --tu.")
    if options.tu and options.datasets:
        raise UsageError("--tu names the only task that is run; leave --data out, or run it by itself.")
    if not options.tu:
        return [entry.name for entry in tasks.LEARNT if not options.smoke or entry.name in SMOKE_TASKS]
    return [tasks.from_folder(options.tu, options.model).name]


class Table2(Experiment):
    """The rows of `ROWS` on the tasks with learnt oracles."""

    name = "table2"
    shows = ("table2",)
    pages = ("table2.md",)

    def plan(self, options: Any) -> list[Cell]:
        return cells_for(options, rows=ROWS, entries=chosen_tasks(options))

    def observer(self, options: Any) -> Observer:
        return Quality(options.data_dir)

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        rows = pd.DataFrame() if done.ledger.empty else per_graph(done)
        lines = table(rows)
        files.csv("table2.csv", lines)
        files.csv("table2_kinds.csv", kinds(lines))
        files.csv("table2_comparisons.csv", comparisons(rows))
        files.csv(leaderboard.FILE, leaderboard.joined(lines, leaderboard.submitted(done.folder)))
        inputs, sentences = explained(done.cells, done.ledger, graphs.read(done.folder), options.data_dir)
        files.whole(graphs.FILE, lambda file: graphs.write(file, inputs))
        done.store.noticed.extend(sentences)


if __name__ == "__main__":
    from benchmarks.cli import script

    script("table2")
