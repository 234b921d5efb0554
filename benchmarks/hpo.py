"""Search for hyper-parameters with Optuna (appendix): TPE, maximising Correctness on Tree-Cycles.

    python benchmarks/hpo.py --method cf2                       selection inside the training folds
    python benchmarks/hpo.py --method cf2 --protocol paper      selection on the test folds, as the paper did

The paper's search chose on the folds that its table reports; `--protocol paper` does the same, so that it can be shown
what that is worth. Trials run one after another and the folds of a trial in parallel. A fold of a trial is a cell like
any other, kept in the folder `hpo` of the results: repeating it costs nothing. How trials are asked and kept is said in
`benchmarks.searching.study`, what is written in `benchmarks.searching.tables`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from pathlib import Path
from statistics import mean
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, TrialState

from benchmarks.registry import methods, tasks
from benchmarks.registry.methods import Method
from benchmarks.registry.names import names, numbers
from benchmarks.results.artefacts import Artefacts
from benchmarks.results.cell import FOLDS, Cell
from benchmarks.results.ledger import Store
from benchmarks.results.searches import STUDY
from benchmarks.running.experiment import Experiment, Finished, run_cells
from benchmarks.running.options import HpoOptions
from benchmarks.running.progress import in_words
from benchmarks.running.run_cell import Report
from benchmarks.running.workers import Idle, Work
from benchmarks.searching import tables as hpo_tables
from benchmarks.searching.space import Search, Values
from benchmarks.searching.study import Compute, Score, Study, opened, run_trial, score, stored_trials, values_of, winner
from rsgg.errors import DataError, UsageError

TRIALS, SMOKE_TRIALS, SMOKE_INNER = 30, 2, 2
STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}


class Hpo(Experiment):
    """Studies, whose cells are not known in advance: which come next depends on what the last ones scored."""

    name = "hpo"
    shows = ("hpo_summary",)
    pages = ("hyperparameters.md", "tuning.md")

    def plan(self, options: Any) -> list[Cell]:
        return [cell for search in searches_for(options) for cell in search.cells({})]

    def store(self, options: Any) -> Store:
        """Apart from Table 1's results: trials try other values of the same rows."""
        return Store(_folder(options))

    def compute(self, options: Any, store: Store, report: Report) -> None:
        with Idle() as idle:
            work = Work(options.data_dir, options.device, None, options.cell_seconds, idle=idle)
            self.without = [search for search in searches_for(options) if not _conduct(search, options, store, work)]

    def conclude(self, options: Any, store: Store, report: Report) -> int:
        self.render(options.results)
        for search in self.without:
            print(f"{search.title}: no trial was completed; hpo_{search.method.name}.csv says why.", file=sys.stderr)
        return 1 if self.without else 0

    def render(self, folder: Path) -> None:
        """The tables of all searches whose trials a folder holds."""
        with Artefacts(folder, self.name) as files:
            hpo_tables.render(files)
        self.write_pages(folder)

    def tables(self, done: Finished, files: Artefacts, options: Any) -> None:
        hpo_tables.render(files)

    def so_far(self, options: Any, store: Store, report: Report) -> str:
        done = [len(_stored_trials(search, options)) for search in searches_for(options)]
        return f"{sum(done)} of {len(done) * n_trials(options)} trials are finished and stored"

    def dry_run(self, options: Any, store: Store) -> None:
        for search in searches_for(options):
            _say_plan(search, options, store)


def _folder(options: HpoOptions) -> Path:
    """Where trials and their cells are kept."""
    return options.results / "hpo"


def _stored_trials(search: Search, options: HpoOptions) -> list[FrozenTrial]:
    return stored_trials(search, n_trials(options), url=options.storage, folder=_folder(options))


# -- What is asked for -----------------------------------------------------------------------------------


def searches_for(options: HpoOptions) -> list[Search]:
    """The studies that the options ask for: nested, one per outer fold; by the paper's protocol, one over its folds."""
    if options.protocol not in ("nested", "paper"):
        raise UsageError(f"There is no protocol {options.protocol!r}; choose nested or paper.")
    if options.inner_used > options.inner:
        raise UsageError(f"Of {options.inner} inner folds {options.inner_used} cannot be used; use fewer or cut more.")
    if not names(options.methods):
        raise UsageError("No method was named; say which to search for, e.g. --method cf2.")
    folds = numbers(options.folds, "fold") or ((0,) if options.protocol == "nested" else tuple(range(FOLDS)))
    if folds[-1] >= FOLDS:
        raise UsageError(f"There is no fold {folds[-1]}; the folds are 0 to {FOLDS - 1}.")
    studies = [(fold,) for fold in folds] if options.protocol == "nested" else [folds]
    inner_used = min(options.inner_used, SMOKE_INNER) if options.smoke else options.inner_used
    settings = {"inner": options.inner, "inner_used": inner_used, "beyond": options.beyond, "smoke": options.smoke}
    return [
        Search.of(method, task, options.protocol, study, **settings)
        for method in _methods(options)
        for task in tasks.choose(options.datasets or ["tree-cycles"], smoke=options.smoke)
        if _can_be_searched(method, task.name, beyond=options.beyond)
        for study in studies
    ]


def _methods(options: HpoOptions) -> Iterator[Method]:
    """A method without a variant is the faithful one, where there is one."""
    for name in names(options.methods):
        variants = methods.choose([name])
        faithful = [method for method in variants if method.variant == "faithful"]
        yield from variants if ":" in name else faithful or variants


def _can_be_searched(method: Method, task: str, *, beyond: bool) -> bool:
    if method.unsupported(task):
        raise UsageError(f"There is nothing to search: {method.unsupported(task)}.")
    if not method.load().search_space(beyond=beyond):
        raise UsageError(
            f"{method.label} declares no search space; declare one for its hyper-parameters or choose another."
        )
    return True


def n_trials(options: HpoOptions) -> int:
    return options.trials or (SMOKE_TRIALS if options.smoke else TRIALS)


def _say_plan(search: Search, options: HpoOptions, store: Store) -> None:
    """What would be run, and how long it would take on so many workers if nothing were pruned."""
    trials = _stored_trials(search, options)
    left = n_trials(options) - (0 if options.fresh else len(trials))
    cells = search.cells({})
    rounds = ceil(len(cells) / max(options.jobs, 1))
    expected = in_words(max(left * rounds * _seconds_per_fold(search, trials, Store(options.results)), 1))
    print(
        f"{search.title}: {n_trials(options) - left} of {n_trials(options)} trials are done, {left} left, "
        f"{len(cells)} folds each, about {expected} on {options.jobs} workers (study {search.name})."
        if left
        else f"{search.title}: all {n_trials(options)} trials are done (study {search.name})."
    )


def _seconds_per_fold(search: Search, trials: Sequence[FrozenTrial], store: Store) -> float:
    """As trials of this study took; else as the registry's values took in Table 1; else the registry's guess."""
    known = [trial.user_attrs["seconds"] / trial.user_attrs["folds"] for trial in trials if "folds" in trial.user_attrs]
    if not known:
        usual = [Cell(search.task, search.with_values({}), fold) for fold in range(FOLDS)]
        known = [seconds for seconds in map(store.duration, usual) if seconds]
    return mean(known) if known else search.method.seconds_per_fold


# -- A search --------------------------------------------------------------------------------------------


def _conduct(search: Search, options: HpoOptions, store: Store, work: Work) -> bool:
    """Do the trials that are left, measure the winner, write the method's file; False where no trial was completed."""
    compute = partial(_compute, store=store, options=options, work=work, computed=set())
    with opened(search, n_trials(options), url=options.storage, folder=_folder(options), fresh=options.fresh) as study:
        started, done_before = time.monotonic(), len(study.finished())
        while (trial := study.next()) is not None:
            try:
                with study.kept_alive(trial.number), suppress(UpdateFinishedTrialError):  # another was quicker with it
                    run_trial(search, trial, store, compute, max(options.jobs, 1))
            except BaseException:  # whatever ended it, the trial waits for the next run
                study.put_back(trial.number)
                raise
            finished = study.finished()
            pace = (time.monotonic() - started) / max(len(finished) - done_before, 1)
            _say_progress(study, trial.number, finished, pace)
        trials = study.finished()
    rows = list(_rows(search, trials, store, compute))
    name = f"hpo_{search.method.name}.csv"
    with Artefacts(options.results, "hpo") as files:
        files.text(name, hpo_tables.merged(options.results / name, rows).to_csv(index=False))
    return winner(trials) is not None


def _compute(cells: Sequence[Cell], *, store: Store, options: HpoOptions, work: Work, computed: set[str]) -> Report:
    """Compute these cells; with --fresh each once in this run, however often the search comes back to it.

    Data that are not there are nobody's failure: they end the search.
    """
    again = options.fresh and not computed.issuperset(cell.key for cell in cells)
    report = run_cells(cells, store, work, jobs=options.jobs, fresh=again, dask=options.dask)
    computed.update(cell.key for cell in cells)
    for reason in report.reasons("no data"):
        raise DataError(reason)
    return report


def _say_progress(study: Study, number: int, finished: Sequence[FrozenTrial], pace: float) -> None:
    trial = next(trial for trial in finished if trial.number == number)
    spaces = study.search.space
    options = {name: hpo_tables.shown(spaces[name], value) for name, value in trial.params.items()}
    values = ", ".join(f"{name} {value}" for name, value in options.items())
    reason = trial.user_attrs.get("reason", "")
    result = f"failed: {reason}" if reason else f"{STATES[trial.state]}, correctness {trial.value:.3f}"
    won, left = winner(finished), study.n_trials - len(finished)
    best = "" if won is None else f"; best {won.value:.3f} (trial {won.number})"
    time_left = f"; about {in_words(left * pace)} left" if left else ""
    head = f"{study.search.title}: trial {number}, {len(finished)} of {study.n_trials} done"
    print(f"{head}: {values}: {result}{best}{time_left}.", file=sys.stderr, flush=True)


# -- What is written -------------------------------------------------------------------------------------


def _rows(search: Search, trials: Sequence[FrozenTrial], store: Store, compute: Compute) -> Iterator[dict[str, Any]]:
    """A row per trial; then the winner's and the registry's values on graphs that chose nothing.

    The registry's values are measured where trials were, too: graphs differ, and what a search promises is a gain.
    """
    study = (*search.method.row, search.task.name, search.protocol, search.space_name, search.fold_name)
    whose = dict(zip(STUDY, study, strict=True)) | {"revision": search.method.revision}
    for trial in trials:
        about = trial.user_attrs
        yield {
            **whose,
            "number": trial.number,
            "state": STATES[trial.state],
            "value": trial.value if trial.state != TrialState.FAIL else None,
            "ged": about.get("ged"),
            "folds": about.get("folds", 0),
            **values_of(search, trial),
            "seconds": round(about.get("seconds", 0.0), 2),
            "started": "" if trial.datetime_start is None else trial.datetime_start.isoformat(timespec="seconds"),
            "reason": about.get("reason", ""),
        }
    won = winner(trials)
    usual = {name: getattr(search.method.build(), name) for name in search.space}
    again: list[tuple[str, int | None, Values, list[Cell]]] = [
        ("default", None, usual, search.test_cells({})),
        ("default, seen", None, usual, search.cells({})),
    ]
    if won is not None:
        values = values_of(search, won)
        again.insert(0, ("winner", won.number, values, search.test_cells(values)))
    for state, number, values, cells in again:
        result, reason = _tested(cells, store, compute)
        measured = {} if result is None else {"value": result.correctness, "ged": result.ged, "folds": result.n_folds}
        seconds = "" if result is None else round(result.seconds, 2)
        row = {"number": number, "state": state, "value": None, "ged": None, "folds": 0, **measured, **values}
        yield {**whose, **row, "seconds": seconds, "started": "", "reason": reason}


def _tested(cells: Sequence[Cell], store: Store, compute: Compute) -> tuple[Score | None, str]:
    """The score on unseen graphs, or why there is none."""
    if not cells:
        return None, "the search has seen every graph of this data set"
    report = compute(cells)
    reasons = [*report.reasons("failed"), *report.reasons("skipped")]
    return (None, reasons[0]) if reasons else (score(cells, store), "")


if __name__ == "__main__":
    from benchmarks.cli import script

    script("hpo")
