"""Verify stored results: are the files whole, do numbers follow from what is stored, do cells come out again?

For every folder: each file's checksum against the manifest, each cell's own checksum, and whether any file is not in
the manifest of the reference. For `derive` cells the data set is made anew from the cell's definition, the stored edits
are applied to the inputs, and the oracle is asked again: classes, labels, sizes, GED, membership in the test fold and
the bound GED ≥ GED* have to come out as stored. The reference's tables are made again from its ledgers and compared
value by value, and its figures have to be drawn from these tables; tables that nothing here makes (trials of searches,
runtimes, statistics of data sets) are named, as their checksums are all that is checked. `sample` cells are computed
again from nothing and compared with what is stored, times aside; cells of methods and tasks that are not in the
registry, a user's own among them, are left out with a sentence.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from torch import Tensor

from benchmarks.publish import check_data, render
from benchmarks.registry import global_methods, methods, tasks
from benchmarks.registry.tasks import TRAINING, TaskEntry
from benchmarks.results import artefacts
from benchmarks.results.cell import FOLDS, Cell
from benchmarks.results.files import REFERENCE, shown
from benchmarks.results.ledger import Store, Stored, fingerprint, numbers_only, with_node_edits
from benchmarks.results.provenance import provenance
from benchmarks.running.progress import in_words
from benchmarks.running.replay import with_base_ledger
from benchmarks.running.run_cell import loaded, run_cell
from figures import figure
from rsgg.edits import made_of
from rsgg.errors import DataError, RSGGError
from rsgg.graph import GraphBatch
from rsgg.oracles.weights import FOLDER, looked_for_in
from rsgg.seeds import numpy_rng
from rsgg.task import Problem

KEPT_APART = ("hpo", "runtime", "speed", "traces")  # folders of a folder of results that hold cells of their own


@dataclass
class Findings:
    """What verification found: sentences, and whether anything is wrong."""

    say_to: Callable[[str], object] = print
    sentences: list[str] = field(default_factory=list)
    wrong: bool = False

    def say(self, sentence: str, *, wrong: bool = False) -> None:
        self.sentences.append(sentence)
        self.wrong |= wrong
        self.say_to(sentence)


def verify(
    folders: Sequence[Path],
    *,
    derive: int,
    sample: int = 0,
    tables: bool = True,
    seed: int = 0,
    data_dir: Path | None = None,
    say: Callable[[str], object] = lambda _: None,
) -> Findings:
    """Check all files of these folders, derive `derive` cells again and compute `sample` cells of each again.

    Without `tables`, those of the reference are not made again, which takes most of the time.
    """
    findings = Findings(say)
    kept_apart = [folder / name for folder in folders for name in KEPT_APART if (folder / name / "cells").is_dir()]
    for folder in (*folders, *kept_apart):
        ledgers = Store(folder)
        whole = _check_cells(ledgers, findings)
        chosen = [whole[i] for i in numpy_rng("verify", seed, len(whole)).permutation(len(whole))]
        again, unknown = _known(chosen, sample)
        if chosen and sample:
            findings.say(f"{shown(folder)}: {_announced(again, sample)}")
        _check_manifest(folder, findings)
        derived = [stored for stored in chosen if _has_edits(stored)][:derive]
        if derived:
            findings.say(f"{shown(folder)}: deriving the metrics of {len(derived)} cells from their edits.")
            _check_metrics(derived, shown(folder), data_dir, findings)
        if folder == REFERENCE and tables:
            findings.say(f"{shown(folder)}: making its tables again, which takes a minute or two.")
            _check_tables(ledgers, data_dir, findings)
        if chosen and sample:
            _compute_again(again, unknown, folder, data_dir, findings)
    return findings


# -- Files -----------------------------------------------------------------------------------------------


def _check_cells(ledgers: Store, findings: Findings) -> list[Stored]:
    folder, whole, damaged = ledgers.root, [], 0
    for path, _, stored in ledgers.everything():
        if isinstance(stored, Stored):
            whole.append(stored)
        else:
            damaged += 1
            findings.say(f"{shown(path)} {stored}.", wrong=True)
    if not whole and not damaged:
        findings.say(f"{shown(folder)} holds no cells.")
    elif not damaged:
        findings.say(f"{shown(folder)}: {len(whole)} cells, all checksums match.")
    else:
        said = f"{len(whole)} cells are whole, {damaged} are not; run the experiment again"
        findings.say(f"{shown(folder)}: {said}.", wrong=True)
    return whole


def _check_manifest(folder: Path, findings: Findings) -> None:
    """The files that the manifest names have the checksums that it gives; of the reference, it names all files."""
    try:
        matching, wrong = artefacts.check(folder, complete=folder == REFERENCE)
    except RSGGError as error:
        findings.say(str(error), wrong=True)
        return
    for sentence in wrong:
        findings.say(sentence, wrong=True)
    if matching and not wrong:
        findings.say(f"{shown(folder)}: {matching} files match the manifest.")


# -- Tables ----------------------------------------------------------------------------------------------


TABLES = (".csv", ".md", ".tex")


def _check_tables(ledgers: Store, data_dir: Path | None, findings: Findings) -> None:
    """Every table of the reference that its ledgers give is made again and compared; its figures are of its tables."""
    folder = ledgers.root
    try:
        check_data([ledgers], data_dir)
        _make_again(ledgers, data_dir, findings)
    except DataError as error:
        findings.say(f"{shown(folder)}: its tables were not made again. {error}")
    for name in figure.drawn_from_others(folder):
        said = "was drawn from other tables than those beside it; publish it again."
        findings.say(f"{shown(folder / 'figures' / name)} {said}", wrong=True)


def _make_again(ledgers: Store, data_dir: Path | None, findings: Findings) -> None:
    """The tables are made in a folder of their own, and have to be those of the reference to the byte."""
    folder = ledgers.root
    with tempfile.TemporaryDirectory() as temporary:
        again = Path(temporary) / "again"
        shutil.copytree(folder, again)
        before = {path for path in again.rglob("*") if path.suffix in TABLES}
        for path in before:
            os.utime(path, (0, 0))
        render(again, ledgers.of_copy(again), data_dir)
        paths = sorted(path for path in again.rglob("*") if path.suffix in TABLES)
        made = [path.relative_to(again).as_posix() for path in paths if path.stat().st_mtime > 0]
        copied = [path.relative_to(again).as_posix() for path in paths if path.stat().st_mtime == 0]
        gone = sorted(path.relative_to(again).as_posix() for path in before if not path.exists())
        differing = [name for name in made if artefacts.sha256_of(folder / name) != artefacts.sha256_of(again / name)]
    for name in (*differing, *gone):
        findings.say(f"{shown(folder / name)} does not follow from the ledgers; publish it again.", wrong=True)
    if not differing and not gone:
        findings.say(f"{shown(folder)}: {len(made)} tables follow from the ledgers.")
    if copied:
        findings.say(f"{shown(folder)}: checksum only, as no ledger gives them: {', '.join(copied)}.")


# -- Cells again -----------------------------------------------------------------------------------------


OUTSIDE = " (one from outside the project is computed again by its own command with --fresh)"


def task_of(declared: dict[str, Any]) -> TaskEntry:
    """The task that a stored definition declares; for a search, the training graphs of a fold of one."""
    name, training_of = declared["name"], declared.get("training_of")
    base = name.removesuffix(TRAINING) if training_of else name
    if base not in tasks.tasks():
        raise DataError(f"{name} is no task of this version{OUTSIDE}.")
    entry = tasks.task(base).varied(declared.get("options", {})).measured_by(declared)
    return entry.training_graphs(*training_of) if training_of else entry


def cell_of(definition: dict[str, Any]) -> Cell:
    """The cell with this definition, as this version of the code would compute it."""
    entry, method = task_of(definition["task"]), definition["method"]
    rows = {**global_methods.rows(), **methods.rows()}
    row = rows.get((method["name"], method["variant"]))
    if row is None:
        outside = OUTSIDE if method["variant"] == methods.OWN else ""
        raise DataError(f"{method['name']}:{method['variant']} is no row of this version{outside}.")
    row = row.for_task(entry.name)
    cell = Cell(
        entry, row, definition["fold"], definition.get("folds", FOLDS), definition["seed"], definition.get("k", 1),
        observed=definition.get("observed", ""),
    )  # fmt: skip
    if cell.definition != definition:
        whose = f"{entry.name}, {row.title}"
        raise DataError(f"{whose} was computed with other options or an older revision than the registry declares.")
    return cell


def _announced(again: Sequence[tuple[Cell, Stored]], asked: int) -> str:
    """How many cells will be computed again and how long that takes, by the CPU times that are stored with them."""
    all_ = f", all that this version can compute ({asked} were asked for)," if len(again) < asked else ""
    seconds = sum(stored.duration for _, stored in again)
    many = "1 cell" if len(again) == 1 else f"{len(again)} cells"
    return f"{many}{all_} will be computed again, in about {in_words(seconds)}; Ctrl-C ends it at any time."


def _compute_again(
    known: Sequence[tuple[Cell, Stored]],
    unknown: Counter[str],
    folder: Path,
    data_dir: Path | None,
    findings: Findings,
) -> None:
    """Compute these cells again; why others were left out is said once."""
    name, store = shown(folder), Store(folder)
    for reason, n in unknown.items():
        many = f" ({n} cells)" if n > 1 else ""
        findings.say(f"{name}: not computed again: {reason.removesuffix('.')}{many}.")
    equal = 0
    for cell, stored in known:
        with looked_for_in([folder / FOLDER]):
            outcome = run_cell(with_base_ledger(cell, store), data_dir)
        if outcome.status == "no data":
            findings.say(f"{name}: {cell.title} was not computed again: {outcome.reason}")
        elif outcome.table is None or not _equal(outcome.table, stored.table):
            elsewhere = outcome.table is not None and stored.metadata["machine"] != provenance()["machine"]
            why = f" ({outcome.reason})" if outcome.reason else ""
            where = "; it was computed on another processor, where sums may end in other bits" if elsewhere else ""
            findings.say(f"{name}: {cell.title} comes out otherwise than stored{why}{where}.", wrong=not elsewhere)
        else:
            equal += 1
            findings.say(f"{name}: {cell.title} comes out as stored.")
    said = f"{equal} of {len(known)} sampled cells were computed again and are equal"
    findings.say(f"{name}: {said if known else 'no cell can be computed again by this version'}.")


def _equal(table: pa.Table, stored: pa.Table) -> bool:
    """Are these the same results, times aside? Of cells that are stored without edits, the numbers are compared."""
    own = table if "edits" in stored.column_names else numbers_only(table)
    return fingerprint(own) == fingerprint(stored)


def _known(cells: Sequence[Stored], sample: int) -> tuple[list[tuple[Cell, Stored]], Counter[str]]:
    """The first so many cells that this version can compute, and why others before them cannot, with how many."""
    known: list[tuple[Cell, Stored]] = []
    unknown: Counter[str] = Counter()
    for stored in cells:
        if len(known) == sample:
            break
        try:
            known.append((cell_of(stored.definition), stored))
        except DataError as error:
            unknown[str(error)] += 1
    return known, unknown


# -- Metrics ---------------------------------------------------------------------------------------------


def _check_metrics(sample: Sequence[Stored], name: str, data_dir: Path | None, findings: Findings) -> None:
    rows, unchecked, wrong, without_data = 0, 0, False, dict[str, str]()
    for stored, problem in _problems(sample, data_dir, without_data):
        definition, ledger = stored.definition, stored.ledger
        rows += len(ledger)
        unchecked += int((~ledger["simple"]).sum())
        for column, count in disagreements(ledger, problem, definition).items():
            whose = f"{definition['task']['name']}, {definition['method']['name']}, fold {definition['fold']}"
            findings.say(f"{name}: {column} in {count} rows of {whose} does not follow from the edits.", wrong=True)
            wrong = True
    for reason in without_data.values():
        findings.say(f"{name}: some cells could not be re-derived: {reason}")
    if rows and not wrong:
        doubt = f" ({unchecked} rows with edges counted twice: class taken as stored)" if unchecked else ""
        findings.say(f"{name}: {rows} rows of {len(sample)} sampled cells derived again, all agree{doubt}.")


def _has_edits(stored: Stored) -> bool:
    """Not where a row was skipped, of a summary of a whole class, and of cells of which only numbers are kept."""
    return not stored.skipped and "edits" in stored.table.column_names


def _problems(
    sample: Sequence[Stored], data_dir: Path | None, without_data: dict[str, str]
) -> Iterator[tuple[Stored, Problem]]:
    """The cells that have rows, with their graphs and oracle; why some have none goes into `without_data`."""
    for stored in sample:
        task = stored.definition["task"]
        try:
            problem = loaded(task_of(task), data_dir, None)
        except DataError as error:
            problem = error
        if isinstance(problem, DataError):
            without_data[task["name"]] = str(problem)
        else:
            yield stored, problem


def disagreements(ledger: pd.DataFrame, problem: Problem, definition: dict[str, Any]) -> dict[str, int]:
    """How many rows of each column differ from what the data, the stored edits and the oracle give."""
    instance = torch.tensor(ledger["instance"].to_numpy())
    inputs = problem.graphs.select(instance)
    ledger = with_node_edits(ledger)
    edited, distance = _edited(inputs.adjacency, inputs.sizes, ledger["edits"])
    returned = inputs.candidates(edited, torch.arange(len(inputs)))
    if any(len(codes) for codes in ledger["node_edits"]):
        returned, distance = _nodes_edited(inputs, returned, distance, ledger)
    fold = problem.folds(definition.get("folds", FOLDS), definition["seed"])[definition["fold"]]
    test, problem = fold.test, problem.in_fold(fold)
    simple, found = ledger["simple"].to_numpy(), ledger["found"].to_numpy()
    flips = (ledger["predicted"] != ledger["predicted_cf"]).to_numpy()
    bound = ledger["optimum"].fillna(0).to_numpy()
    wrong = {
        "instance": ~np.isin(instance.numpy(), test.numpy()),
        "test_size": ledger["test_size"] != len(test),
        "label": ledger["label"] != problem.labels[instance].numpy(),
        "predicted": ledger["predicted"] != problem.oracle.predict(inputs).numpy(),
        "predicted_cf": simple & (ledger["predicted_cf"] != problem.oracle.predict(returned).numpy()),
        "n_nodes": ledger["n_nodes"] != inputs.sizes.numpy(),
        "n_edges": ledger["n_edges"] != inputs.n_edges.numpy(),
        "ged": ledger["ged"] != distance,
        "found": ~found & (distance > 0),
        "optimum": simple & flips & (distance < bound),
    }
    return {column: int(np.sum(values)) for column, values in wrong.items() if np.any(values)}


def _edited(adjacency: Tensor, sizes: Tensor, edits: Sequence[Sequence[int]]) -> tuple[Tensor, np.ndarray]:
    """The returned graphs and their GED: pair u ≤ v is coded u·n + v, a self loop counts 1/2."""
    edited, distance = adjacency.clone(), np.zeros(len(adjacency))
    for i, (codes, n) in enumerate(zip(edits, sizes.tolist(), strict=True)):
        pairs = torch.tensor([divmod(int(code), n) for code in codes], dtype=torch.long).reshape(-1, 2)
        u, v = pairs.unbind(1)
        loop = u == v
        edited[i, u, v] = 1 - edited[i, u, v].clamp(max=1)
        edited[i, v, u] = edited[i, u, v]
        distance[i] = float((~loop).sum()) + float(loop.sum()) / 2
    return edited, distance


def _nodes_edited(
    inputs: GraphBatch, returned: GraphBatch, distance: np.ndarray, ledger: pd.DataFrame
) -> tuple[GraphBatch, np.ndarray]:
    """The same where nodes were edited too; their edits are coded as `rsgg.edits` says."""
    graphs, distance = list(returned), distance.copy()
    for i, (pairs, nodes) in enumerate(zip(ledger["edits"], ledger["node_edits"], strict=True)):
        if len(nodes):
            made = made_of(inputs[i], np.array([*pairs, *nodes], dtype=np.int64))
            graphs[i] = made.graph
            distance[i] += sum(one.cost for one in made.node_edits)
    return GraphBatch.of(graphs), distance
