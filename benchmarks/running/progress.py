"""What is seen while cells are computed: a bar with the time left and a table that fills, or a few plain lines.

On a terminal, a bar and (where the experiment has one) its table so far. Elsewhere one line per finished row, so that
log files stay short. Times left are learnt from finished cells of the same row, else from the reference.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, lru_cache, partial
from types import TracebackType
from typing import Self

import pandas as pd
import pyarrow as pa
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as Bar

from benchmarks.registry import tasks
from benchmarks.results.cell import Cell, canonical
from benchmarks.results.files import REFERENCE
from benchmarks.results.ledger import Store
from benchmarks.results.reader import Results
from benchmarks.running.run_cell import Outcome

LiveTable = Callable[[pd.DataFrame], RenderableType]
REDRAW_EVERY = 2.0  # seconds: the table so far and the time left are computed anew at most this often


class Durations:
    """How long cells take: the mean of the same row's finished cells, else what they took elsewhere, else a guess.

    Elsewhere is what is stored already, what the reference's `speed.csv` measured, and the durations of its cells, some
    of which were computed beside others or by older code: another machine, but the same work. The guess is the
    registry's.
    """

    def __init__(self, *elsewhere: Store) -> None:
        self._seen: dict[object, list[float]] = {}
        self._known: dict[str, float] = {}  # by key: looked up once, for it is asked for after every finished cell
        self._elsewhere = (*elsewhere, Store(REFERENCE))

    def learn(self, cell: Cell, seconds: float) -> None:
        self._seen.setdefault(_row(cell), []).append(seconds)

    def expect(self, cell: Cell) -> float:
        seen = self._seen.get(_row(cell))
        if seen:
            return sum(seen) / len(seen)
        if cell.key not in self._known:
            *here, reference = (partial(store.duration, cell) for store in self._elsewhere)
            known = (look() for look in (*here, partial(_measured, cell), reference))
            self._known[cell.key] = next((seconds for seconds in known if seconds), cell.method.seconds_per_fold)
        return self._known[cell.key]

    def left(self, cells: Iterable[Cell], jobs: int) -> float:
        """Seconds until these cells are done, on so many workers; no less than the longest of them takes."""
        expected = [self.expect(cell) for cell in cells]
        return max(sum(expected) / jobs, max(expected, default=0.0))


def _measured(cell: Cell) -> float | None:
    """CPU seconds that the reference measured for a fold of this row, if the task is as Table 1 has it."""
    row = (cell.method.name, cell.method.variant, cell.task.name)
    return _speed().get(row) if cell.task.replicate(0) == tasks.task(cell.task.name) else None


@cache
def _speed() -> dict[tuple[str, str, str], float]:
    """By method, variant and data set: fitting and explaining of fold 0, from the reference's speed.csv."""
    table = Results((REFERENCE,)).table("speed")
    if table is None or "cpu_seconds" not in table:
        return {}
    stages = table[table["stage"].isin(["fit", "explain"])]
    seconds = stages.groupby(["method", "variant", "dataset"])["cpu_seconds"].sum()
    return {(str(m), str(v), str(d)): float(value) for (m, v, d), value in seconds.items()}


@lru_cache(maxsize=1 << 16)
def _row(cell: Cell) -> tuple[str, str]:
    return canonical(cell.task.replicate(0).definition()), cell.method.title


def in_words(seconds: float) -> str:
    """12 s, 3 min, 1 h 20 min."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


class Progress:
    """Listens to a run (`done`) and shows how far it is."""

    def __init__(
        self,
        cells: Sequence[Cell],
        jobs: int,
        console: Console,
        store: Store | None = None,
        live_table: LiveTable | None = None,
    ) -> None:
        self.console, self.jobs, self.store, self.live_table = console, max(jobs, 1), store, live_table
        self.waiting = dict.fromkeys(cells)
        self.n_cells = len(self.waiting)
        self.durations = Durations()
        self.of_row = Counter(_row(cell) for cell in self.waiting)
        self.tables: list[pa.Table] = []
        self.to_read: list[Cell] = []  # stored cells whose rows the live table has not got yet
        self._table: RenderableType = ""
        self._drawn = 0.0
        self._bar = Bar(TextColumn("cells"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._task = self._bar.add_task("", total=self.n_cells)
        self._live = Live(get_renderable=self._renderable, console=console, refresh_per_second=1, transient=True)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def done(self, outcome: Outcome) -> None:
        """A cell is done, one way or another."""
        self.waiting.pop(outcome.cell, None)
        if outcome.duration:
            self.durations.learn(outcome.cell, outcome.duration)
        if outcome.table is not None and len(outcome.table):
            self.tables.append(outcome.table)
        elif outcome.status == "stored" and outcome.cell.seed == 0:
            self.to_read.append(outcome.cell)
        self.of_row[_row(outcome.cell)] -= 1
        if self.console.is_terminal:
            self._bar.update(self._task, completed=self.n_cells - len(self.waiting))
            if time.monotonic() - self._drawn > REDRAW_EVERY:
                self._drawn = time.monotonic()
                left = in_words(self.durations.left(self.waiting, self.jobs))
                self._bar.update(self._task, description=f"about {left} left")
                self._draw_table()
        elif outcome.status == "computed" and not self.of_row[_row(outcome.cell)]:
            self._say_row(outcome.cell)

    def _draw_table(self) -> None:
        if self.live_table is None:
            return
        if self.store is not None and self.to_read:
            stored = [self.store.read(cell) for cell in self.to_read]
            self.tables += [one.table for one in stored if one is not None and len(one.table)]
            self.to_read.clear()
        if self.tables:
            ledger = pa.concat_tables(self.tables, promote_options="default").to_pandas()
            self._table = self.live_table(ledger)

    def _say_row(self, cell: Cell) -> None:
        finished = self.n_cells - len(self.waiting)
        left = f", about {in_words(self.durations.left(self.waiting, self.jobs))} left" if self.waiting else ""
        row = f"{cell.task.name}, {cell.method.title}"
        self.console.print(f"{row}: done; {finished} of {self.n_cells} cells{left}.", soft_wrap=True, highlight=False)

    def _renderable(self) -> RenderableType:
        return Group(self._bar, self._table)
