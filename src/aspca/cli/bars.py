"""Progress on a terminal: one line, gone when done."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

# A terminal may vanish; what is computed goes on.
_unless_gone = contextlib.suppress(OSError)


class Bars:
    """`aspca.pipeline.passes.Watcher` by rich: how far, how fast, and how long it will still take.

    Parameters
    ----------
    console : Console or None
        Where to; None is stderr.
    clock : callable
        Seconds that have passed since some moment.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            _Far(),
            _Fast(),
            _Long(),
            console=Console(stderr=True) if console is None else console,
            get_time=clock,
            transient=True,
        )
        self._task = self._progress.add_task("", visible=False)

    def __enter__(self) -> Self:
        with _unless_gone:
            self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _unless_gone:
            self._progress.stop()

    def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
        with _unless_gone:
            self._progress.remove_task(self._task)
            self._task = self._progress.add_task(what, total=total, unit=unit)

    def advance(self, amount: int) -> None:
        with _unless_gone:
            self._progress.advance(self._task, amount)


class _Far(ProgressColumn):
    """How much is done: a share of what is many, a count of what is few or has no known end."""

    def render(self, task: Task) -> Text:
        unit = task.fields.get("unit", "")
        if not unit:
            return Text("")
        if task.total is None:
            return Text(f"{task.completed:,.0f} {unit}" if task.completed else "")
        if unit == "rows":
            return Text(f"{task.percentage:3.0f} %")
        return Text(f"{task.completed:,.0f} of {task.total:,.0f} {unit}")


class _Fast(ProgressColumn):
    """How many a second so far, where there are many."""

    def render(self, task: Task) -> Text:
        unit = task.fields.get("unit", "")
        speed = task.completed / task.elapsed if task.elapsed else 0.0
        return Text(f"{speed:,.0f} {unit}/s" if unit and speed >= 1 else "")


class _Long(ProgressColumn):
    """How long it will still take at the speed so far; where that cannot be known, how long it took.

    rich's own estimate forgets what is more than half a minute ago, which one component may take.
    """

    def render(self, task: Task) -> Text:
        elapsed = task.elapsed or 0.0
        if task.remaining is None or not task.completed:
            return Text(_clock(elapsed))
        return Text(f"{_clock(elapsed * task.remaining / task.completed)} left")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
