"""A study: one search for hyper-parameters (appendix, "Hyperparameter search and optimisation"), trial by trial.

Which values a trial tries, where trials are kept and who computes which of them. Values are drawn by TPE (Optuna) to
maximise Correctness. They depend on the trial's number and on the trials before it alone: its sampler is made anew and
seeded by name, and its folds are judged in their order, however many workers compute them.

A study begins with as many waiting trials as are wanted; whoever takes one computes it. So processes that share a study
do so many trials together and none twice, and a trial whose process died goes back among the waiting ones under its
number: a search that was killed and resumed asks the same questions as one that was not.
"""

from __future__ import annotations

import re
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage, RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState
from sqlalchemy import create_engine, inspect
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from benchmarks.results.cell import Cell
from benchmarks.results.files import StoreError
from benchmarks.results.ledger import Store
from benchmarks.running.run_cell import Report
from benchmarks.searching.journal import journal, looked_at
from benchmarks.searching.space import Search, Values, distribution, exactly
from rsgg.errors import UsageError
from rsgg.metrics import correctness

STARTUP = 5  # trials that are completed before any is pruned
BEAT, PATIENCE, POLL = 20.0, 90.0, 2.0  # seconds: signs of life, how long they may be missed, looks at other processes
OPENING_ATTEMPTS = 5  # processes that start at the same moment get in each other's way when tables are made

optuna.logging.set_verbosity(optuna.logging.ERROR)


# -- Where trials are kept -------------------------------------------------------------------------------


@dataclass
class Study:
    """The trials of a search in a storage. `alone`: no other process can have taken a trial."""

    search: Search
    storage: BaseStorage
    n_trials: int
    alone: bool
    _seen: dict[int, tuple[object, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        study = optuna.create_study(
            storage=self.storage, study_name=self.search.name, direction="maximize", load_if_exists=True
        )
        for _ in range(len(study.get_trials(deepcopy=False)), self.n_trials):
            study.enqueue_trial({})

    @property
    def id(self) -> int:
        return self.storage.get_study_id_from_name(self.search.name)

    def trials(self, *states: TrialState) -> list[FrozenTrial]:
        """The trials that are wanted, by number. Surplus ones, where two processes both made them, are never taken."""
        every = self.storage.get_all_trials(self.id, deepcopy=False, states=states or None)
        return sorted((t for t in every if t.number < self.n_trials), key=lambda trial: trial.number)

    def finished(self) -> list[FrozenTrial]:
        return self.trials(TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)

    def opened(self) -> optuna.Study:
        """The study for the next trial: nothing that an earlier trial left in memory is in it."""
        pruner = optuna.pruners.MedianPruner(n_startup_trials=STARTUP)
        return optuna.load_study(study_name=self.search.name, storage=self.storage, pruner=pruner)

    def next(self) -> Trial | None:
        """Take a waiting trial; while others compute the last ones, wait, in case they do not come back."""
        while True:
            self._put_back_abandoned()
            if self.trials(TrialState.WAITING):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    trial = self.opened().ask()
                if trial.number < self.n_trials:
                    return trial
                self.put_back(trial.number)  # another process was quicker with the last one that was wanted
            elif not self.trials(TrialState.RUNNING):
                return None
            else:
                time.sleep(POLL)

    def put_back(self, number: int) -> None:
        """A trial that was not finished waits again, under its number."""
        with suppress(optuna.exceptions.UpdateFinishedTrialError):
            self.storage.set_trial_state_values(self._id_of(number), TrialState.WAITING)

    def _put_back_abandoned(self) -> None:
        for trial in self.trials(TrialState.RUNNING):
            beat, now = trial.user_attrs.get("beat"), time.monotonic()
            last_beat, since = self._seen.get(trial.number, (None, now))
            if trial.number not in self._seen or beat != last_beat:
                self._seen[trial.number] = beat, now
            if self.alone or now - since > PATIENCE:
                self.put_back(trial.number)
                del self._seen[trial.number]

    def _id_of(self, number: int) -> int:
        return self.storage.get_trial_id_from_study_id_trial_number(self.id, number)

    @contextmanager
    def kept_alive(self, number: int) -> Iterator[None]:
        """Show signs of life while a trial is computed, so that other processes leave it alone.

        Optuna's own heartbeat works with `Study.optimize` only, and takes a trial whose process died before its first
        beat for alive for ever.
        """
        if self.alone:
            yield
            return
        trial_id, done = self._id_of(number), threading.Event()

        def beat() -> None:
            while not done.is_set():
                with suppress(optuna.exceptions.OptunaError, SQLAlchemyError):
                    self.storage.set_trial_user_attr(trial_id, "beat", time.time())
                done.wait(BEAT)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


@contextmanager
def opened(search: Search, n_trials: int, *, url: str, folder: Path, fresh: bool = False) -> Iterator[Study]:
    """The study of this search: from the storage with this URL, else from a journal in this folder."""
    if not url:
        with journal(folder / f"{search.name}.log", fresh=fresh) as kept:
            yield Study(search, kept, n_trials, alone=True)
        return
    storage = database(url)
    try:
        if fresh:
            with suppress(KeyError):
                optuna.delete_study(study_name=search.name, storage=storage)
        yield Study(search, storage, n_trials, alone=False)
    except optuna.exceptions.StorageInternalError as error:
        raise UsageError(
            f"The storage {_shown(url)} failed ({_said(error, url)}); no finished trial is lost: give the same "
            "command again when it is back."
        ) from error
    finally:
        storage.remove_session()
        storage.engine.dispose()


UNUSABLE = (SQLAlchemyError, optuna.exceptions.StorageInternalError, ImportError, ValueError)


def database(url: str) -> RDBStorage:
    """The database behind an Optuna URL, its tables made where they are not there yet."""
    patient = {"connect_args": {"timeout": 60}} if url.startswith("sqlite") else None
    attempt = 1
    while True:
        try:
            return RDBStorage(url, engine_kwargs=patient)
        except UNUSABLE as error:
            if attempt == OPENING_ATTEMPTS or isinstance(error, ArgumentError | ImportError | ValueError):
                raise _unusable(url, error) from error
        time.sleep(0.2 * attempt)
        attempt += 1


def _unusable(url: str, error: BaseException) -> UsageError:
    return UsageError(
        f"The storage {_shown(url)} cannot be opened ({_said(error, url)}); give an address such as "
        "sqlite:///hpo.db or postgresql+psycopg://user:password@host/name, or leave --storage out."
    )


def stored_trials(search: Search, n_trials: int, *, url: str, folder: Path) -> list[FrozenTrial]:
    """The finished trials of a search, if it was begun; nothing is created and nothing changed."""
    path = folder / f"{search.name}.log"
    if not (_has_tables(url) if url else path.is_file()):
        return []
    storage = database(url) if url else looked_at(path)
    try:
        every = storage.get_all_trials(storage.get_study_id_from_name(search.name), deepcopy=False)
    except KeyError:
        return []
    return [trial for trial in every if trial.state.is_finished() and trial.number < n_trials]


def _has_tables(url: str) -> bool:
    try:
        address = make_url(url)
        if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
            return False  # connecting would create the file
        engine = create_engine(address)
        with closing(engine.connect()) as connection:
            return bool(inspect(connection).has_table("studies"))
    except UNUSABLE as error:
        raise _unusable(url, error) from error


def _shown(url: str) -> str:
    """The URL without its password."""
    try:
        address = make_url(url)
    except (ArgumentError, ValueError):  # no URL, so that nobody can say where in it the password is
        return "that was given" if set(url) & set(":@=") else repr(url)
    return str(address.set(query={}).render_as_string(hide_password=True))


def _said(error: BaseException, url: str) -> str:
    """What a library says about a URL, unless it repeats a part of it that may be a password."""
    parts = [part for part in re.split(r"[:/@?&=]+", url.partition(":")[2] or url) if len(part) > 2]
    words = _first_line(error)
    return f"{type(error).__name__} about a part of the address" if any(part in words for part in parts) else words


def _first_line(error: BaseException) -> str:
    deepest = error
    while deepest.__cause__ is not None:
        deepest = deepest.__cause__
    return (str(deepest).strip().splitlines() or [type(deepest).__name__])[0].rstrip(".")


# -- One trial -------------------------------------------------------------------------------------------

Compute = Callable[[Sequence[Cell]], Report]  # raises DataError where data are missing: nobody's failure


def ask(search: Search, trial: Trial) -> Values:
    """The values that this trial tries.

    All are drawn before the first is stored, and what is stored already is kept: a trial that was killed while its
    values were written gets the same ones.
    """
    study, given = trial.study, search.given()
    number, spaces = trial.number, search.space
    sampler = optuna.samplers.TPESampler(seed=search.seed(number))
    frozen = next(one for one in study.get_trials(deepcopy=False) if one.number == number)
    drawn = sampler.sample_relative(study, frozen, sampler.infer_relative_search_space(study, frozen))
    for name, space in spaces.items():
        if name not in drawn:
            drawn[name] = sampler.sample_independent(study, frozen, name, distribution(space))
    if number < len(given):
        drawn.update(given[number])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.sampler = optuna.samplers.PartialFixedSampler(drawn, sampler)
    return {name: exactly(space, _suggest(trial, name, distribution(space))) for name, space in spaces.items()}


def _suggest(trial: Trial, name: str, kind: BaseDistribution) -> Any:
    if isinstance(kind, CategoricalDistribution):
        return trial.suggest_categorical(name, kind.choices)
    if isinstance(kind, IntDistribution):
        return trial.suggest_int(name, kind.low, kind.high, step=kind.step)
    assert isinstance(kind, FloatDistribution)
    return trial.suggest_float(name, kind.low, kind.high, step=kind.step, log=kind.log)


@dataclass(frozen=True)
class Score:
    """What the cells of a trial come to: means over folds, and the seconds that they took."""

    correctness: float
    ged: float
    seconds: float
    n_folds: int


def score(cells: Sequence[Cell], store: Store) -> Score | None:
    """The score of these cells; None where one is not stored or the method was skipped there."""
    stored = [store.read(cell) for cell in cells]
    results = [one for one in stored if one is not None and not one.skipped]
    if not results or len(results) < len(cells):
        return None
    ledgers = [one.ledger for one in results]
    correct = [float(correctness(rows["predicted"], rows["predicted_cf"]).mean()) for rows in ledgers]
    ged = [float(rows["ged"].mean()) for rows in ledgers]
    n = len(cells)
    return Score(sum(correct) / n, sum(ged) / n, sum(one.duration for one in results), n)


def run_trial(search: Search, trial: Trial, store: Store, compute: Compute, at_once: int) -> FrozenTrial:
    """Compute a trial, `at_once` folds at a time, and tell the study what came of it.

    Folds count in their order: what is computed of a fold after the trial was pruned stays in the store and is not
    looked at.
    """
    cells, done = search.cells(ask(search, trial)), 0
    reason, pruned = "", False
    while done < len(cells) and not reason and not pruned:
        part = cells[done : done + at_once]
        reasons = _reasons(part, compute(part), store)
        for cell in part:
            reason = reasons.get(cell.key, "")
            if reason:
                break
            done += 1
            pruned = _judged(trial, score(cells[:done], store), done) and done < len(cells)
            if pruned:
                break
    return _told(trial, score(cells[:done], store), reason, pruned)


def _reasons(cells: Sequence[Cell], report: Report, store: Store) -> dict[str, str]:
    """Why cells have no result."""
    stored = {cell.key: store.read(cell) for cell in cells}
    skipped = {key: one.skipped for key, one in stored.items() if one is not None and one.skipped}
    return {**skipped, **{outcome.cell.key: outcome.reason for outcome in report.of("failed", "skipped")}}


def _judged(trial: Trial, so_far: Score | None, done: int) -> bool:
    """Report the mean of the folds so far; is it below the median of what other trials had by then?"""
    if so_far is None:
        raise StoreError("A result was stored and cannot be read back; make sure that the disk is sound.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a step that was reported before the trial was put back: the same value
        trial.report(round(so_far.correctness, 12), done)  # equal means are equal however they were summed up
    return trial.should_prune()


def _told(trial: Trial, total: Score | None, reason: str, pruned: bool) -> FrozenTrial:
    trial.set_user_attr("reason", reason)
    if total is not None:
        for name, value in {"ged": total.ged, "seconds": total.seconds, "folds": total.n_folds}.items():
            trial.set_user_attr(name, value)
    state = TrialState.FAIL if reason else TrialState.PRUNED if pruned else TrialState.COMPLETE
    score = total.correctness if total is not None and state == TrialState.COMPLETE else None
    return trial.study.tell(trial, score, state, skip_if_finished=True)


def winner(trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The complete trial with the highest Correctness; of equals the one with the smallest GED, then the first."""
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    return max(complete, key=lambda trial: (trial.value, -trial.user_attrs["ged"], -trial.number), default=None)


def values_of(search: Search, trial: FrozenTrial) -> Values:
    return {name: exactly(space, trial.params[name]) for name, space in search.space.items() if name in trial.params}
