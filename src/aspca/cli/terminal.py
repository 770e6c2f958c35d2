"""What goes where: results on stdout; notes, progress and errors on stderr."""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from aspca.escaping import for_json, for_terminal
from aspca.writers.standard import print_error_line

if TYPE_CHECKING:
    from rich.console import Console

    from aspca.pipeline.passes import Watcher


def print_note(text: str, indent: str = "") -> None:
    """One line on stderr, or on a terminal as many as it takes: words stay whole, since commands are to be pasted."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        text = textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    print_error_line(text)


class Terminal:
    """Notes and progress on stderr, unless `quiet`."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def say(self, *sentences: str) -> None:
        for sentence in () if self._quiet else sentences:
            print_note(for_terminal(sentence))

    @contextlib.contextmanager
    def progress(self) -> Iterator[Watcher]:
        """Who is told of progress: shown on a terminal only, and gone when done."""
        from aspca.pipeline.passes import Silent

        if self._quiet or not sys.stderr.isatty():
            yield Silent()
            return
        from aspca.cli.terminal import Bars

        with Bars() as bars:
            yield bars


def console() -> Console:
    """Stdout for people: as wide as the terminal, plain where it is none."""
    from rich.console import Console

    return Console(markup=False, highlight=False, emoji=False, soft_wrap=False)


def write_json(document: Any) -> None:
    """A document on stdout: valid JSON, one space of indent, letters of all languages as they are."""
    import json

    sys.stdout.write(for_json(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)) + "\n")


def refuse_conflict(options: Mapping[str, object]) -> None:
    """Raise RequestError if more than one of these options is given."""
    from aspca.tables.errors import RequestError

    if sum(value not in (None, False) for value in options.values()) > 1:
        raise RequestError(f"{' and '.join(options)} exclude each other; give one of them.")


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
