"""Progress on a terminal: one line, gone when done."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

# A terminal may vanish; what is computed goes on.
_unless_gone = contextlib.suppress(OSError)


class Bars:
    """`aspca.pipeline.passes.Watcher` by rich: how far, how fast, and how long it will still take.

    `clock` tells the seconds since some moment.
    """

    def __init__(self, console: Console | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            *map(_Column, (_show_share, _show_speed, _show_time)),
            console=Console(stderr=True) if console is None else console,
            get_time=clock,
            transient=True,
        )
        self._task = self._progress.add_task("", visible=False)

    def __enter__(self) -> Self:
        with _unless_gone:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        with _unless_gone:
            self._progress.stop()

    def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
        with _unless_gone:
            self._progress.remove_task(self._task)
            self._task = self._progress.add_task(what, total=total, unit=unit)

    def advance(self, amount: int) -> None:
        with _unless_gone:
            self._progress.advance(self._task, amount)


class _Column(ProgressColumn):
    def __init__(self, show: Callable[[Task, str], str]) -> None:
        super().__init__()
        self._show = show

    def render(self, task: Task) -> Text:
        return Text(self._show(task, task.fields.get("unit", "")))


def _show_share(task: Task, unit: str) -> str:
    """A share of what is many, a count of what is few or has no known end."""
    if not unit:
        return ""
    if task.total is None:
        return f"{task.completed:,.0f} {unit}" if task.completed else ""
    return f"{task.percentage:3.0f} %" if unit == "rows" else f"{task.completed:,.0f} of {task.total:,.0f} {unit}"


def _show_speed(task: Task, unit: str) -> str:
    speed = task.completed / task.elapsed if task.elapsed else 0.0
    return f"{speed:,.0f} {unit}/s" if unit and speed >= 1 else ""


def _show_time(task: Task, unit: str) -> str:
    """How long it will still take at the speed so far; where that cannot be known, how long it took.

    rich's own estimate forgets what is more than half a minute ago, which one component may take.
    """
    seconds, left = task.elapsed or 0.0, ""
    if task.remaining is not None and task.completed:
        seconds, left = seconds * task.remaining / task.completed, " left"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}") + left
