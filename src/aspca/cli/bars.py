"""Progress on a terminal: one line, gone when done."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn, TimeElapsedColumn
from rich.text import Text


class Bars:
    """`aspca.jobs.progress.Progress` by rich, on stderr."""

    def __init__(self) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            _Count(),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._progress.add_task("", visible=False)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def stage(self, what: str, total: int | None = None, unit: str = "rows") -> None:
        self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=total, unit=unit)

    def advance(self, amount: int) -> None:
        self._progress.advance(self._task, amount)


class _Count(ProgressColumn):
    """How many are done, and how many a second."""

    def render(self, task: Task) -> Text:
        unit = task.fields.get("unit", "")
        if not unit or not task.completed:
            return Text("")
        speed = f", {task.speed:,.0f} {unit}/s" if task.speed else ""
        return Text(f"{task.completed:,.0f} {unit}{speed}")
