"""What goes where: results on stdout; notes, progress and errors on stderr."""

from __future__ import annotations

import contextlib
import shutil
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

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
        from aspca.cli.bars import Bars

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
