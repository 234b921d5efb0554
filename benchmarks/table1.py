"""Table 1: every method on every data set in ten folds, each printed number with a verdict.

    ./reproduce.sh table1                # replicate 0: ten folds, as the paper's table has them
    ./reproduce.sh table1 --replicates   # and the further ones, for intervals between replicates: hours

Writes table1.csv (.md, .tex; table1_paper.tex in the paper's layout), verdicts.csv (.md), further.csv (.md: what the
same framework published elsewhere), findings.csv (.md), comparisons.csv and training.csv.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from benchmarks.judging import collapse, findings
from benchmarks.judging.evidence import Evidence
from benchmarks.judging.further import per_further_cell
from benchmarks.judging.verdicts import judged, per_printed_cell
from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.registry.tasks import TaskEntry
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import Cell
from benchmarks.results.files import REFERENCE
from benchmarks.results.ledger import Store
from benchmarks.results.paper import printed
from benchmarks.results.summary import compare, summarise
from benchmarks.running.experiment import Experiment, Finished
from benchmarks.running.options import Table1Options
from benchmarks.running.plan import cells_for
from benchmarks.running.run_cell import Report

COMPARED = ("released", "literal", "faithful")  # the variants that are compared with what is printed
REPLICATES = {
    ("rsgg-ce", "released"): 20,
    ("meg-classes", "control"): 3,  # those of the row that it is the control of
}
REPLICATES_OF_VARIANT = {
    "released": 5, "control": 5, "search": 5, "faithful": 3, "literal": 3, "beyond": 3, methods.OWN: 3,
}  # fmt: skip
REPLICATES_OF_MINIMISED = 3  # of rows "+ min", at most
REPLICATES_WITHOUT_TRAINING = 10  # RSGG-CE with an untrained or uniform generator costs next to nothing


def replicates(task: TaskEntry, method: Method) -> list[int]:
    """The replicates of a row: each draws generated data and folds anew, for the spread between them.

    Where settings were chosen on generated data (`Method.chosen_on`), the row is measured on further replicates instead
    of these. So are all rows as their papers define them: of some it was not recorded what their settings were tried
    on, and any two of them are to share as many replicates as a prediction interval needs. A method from outside has
    the same ones as they, so that all are compared on the same graphs. Rows "+ min" have those of them that their base
    has.
    """
    if method.base:
        of_base = replicates(task, method.base)
        shared = [seed for seed in of_base if not task.generated or seed not in methods.TRIED_ON]
        return (shared if len(shared) >= REPLICATES_OF_MINIMISED else of_base)[:REPLICATES_OF_MINIMISED]
    shares = method.variant in ("faithful", "literal", methods.OWN)
    tried_on = methods.TRIED_ON if shares else method.chosen_on
    left_out = tried_on if task.generated else ()
    number = _number_of_replicates(task, method)
    return [seed for seed in range(number + len(left_out)) if seed not in left_out][:number]


def _number_of_replicates(task: TaskEntry, method: Method) -> int:
    if method.options.get("generator") in ("untrained", "uniform"):
        return REPLICATES_WITHOUT_TRAINING
    if task.renames:
        return 1
    return REPLICATES.get(method.row, REPLICATES_OF_VARIANT.get(method.variant, 1))


def plan(options: Table1Options) -> list[Cell]:
    """Replicate 0 of every row, then the further replicates, if they are asked for: always of rows that are to stand
    beside those of the reference.
    """
    first = cells_for(options)
    if options.seeds or options.smoke or not (options.replicates or options.beside_reference):
        return first
    wanted: dict[tuple[str, methods.Row], list[int]] = {}
    for cell in first:
        row = (cell.task.name, cell.method.row)
        wanted[row] = wanted.get(row) or replicates(cell.task, cell.method)
    further = sorted({seed for seeds in wanted.values() for seed in seeds} - {0})
    entries = {cell.task.name: cell.task for cell in first}
    replicate = {(name, seed): task.replicate(seed) for name, task in entries.items() for seed in further}
    return first + [
        replace(cell, task=replicate[cell.task.name, seed], seed=seed)
        for seed in further
        for cell in first
        if seed in wanted[cell.task.name, cell.method.row]
    ]


def turn(cell: Cell) -> tuple[bool, int]:
    """When the turn of a cell comes, so that the table fills from what matters. Of replicate 0 the printed rows, as
    released, which take a minute, to the letter, as their papers define them; then what is beside the paper's table:
    other methods, variants beyond it, renamed data sets; then the further replicates.
    """
    is_printed = printed(cell.task.name, cell.method.name, "correctness") is not None
    in_turn = is_printed and cell.method.variant in COMPARED
    return cell.seed != 0, COMPARED.index(cell.method.variant) if in_turn else len(COMPARED)


class Table1(Experiment):
    """The rows of the registry on the tasks of Table 1."""

    name = "table1"
    shows = ("table1",)
    pages: ClassVar[tuple[str, ...]] = (
        "table1.md",
        "table1.tex",
        "table1_paper.tex",
        "verdicts.md",
        "further.md",
        "findings.md",
    )

    def plan(self, options: Any) -> list[Cell]:
        return plan(options)

    def compute(self, options: Any, store: Store, report: Report) -> None:
        self._compute(sorted(self.plan(options), key=turn), options, store, report, fresh=options.fresh)

    def finished(self, cells: Sequence[Cell], store: Store, reasons: Mapping[str, str], options: Any) -> Finished:
        """Beside the reference, the rows that were computed join those that are committed."""
        if not options.beside_reference:
            return super().finished(cells, store, reasons, options)
        given = [task.name for task in tasks.choose(options.datasets) if not task.task]
        committed = plan(Table1Options(datasets=given, replicates=True))
        committed = [cell for cell in committed if cell.method.variant != methods.OWN]
        return Finished(list(dict.fromkeys([*committed, *cells])), store, options.results, reasons, [Store(REFERENCE)])

    def everything(self, options: Any) -> bool:
        """Not beside the reference, whose rows and reasons fill many screens: a row of one's own is seen first."""
        return super().everything(options) and not options.beside_reference

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        known = methods.rows()
        rows = [known.get(row, own) for row, own in {cell.method.row: cell.method for cell in done.cells}.items()]
        table = judged(summarise(done.ledger))
        files.csv("table1.csv", table)
        files.csv("verdicts.csv", per_printed_cell(table))
        files.csv("further.csv", per_further_cell(table))
        files.csv("comparisons.csv", compare(done.ledger, rows))
        evidence = Evidence(table, done.ledger, options.data_dir, done.folder)
        files.csv("findings.csv", findings.compute(evidence))
        write_training(done, files)


class Confirmation(Table1):
    """A row on one further replicate: its numbers and how its training ended. Findings need all rows of Table 1."""

    pages = ("table1.md",)

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        files.csv("table1.csv", judged(summarise(done.ledger)))
        write_training(done, files)


def write_training(done: Finished, files: Artefacts) -> None:
    if not done.ledger.empty:
        edges = done.ledger.groupby("dataset")["n_edges"].mean()
        files.csv("training.csv", collapse.judge(done.history, edges))


if __name__ == "__main__":
    from benchmarks.cli import script

    script("table1")
