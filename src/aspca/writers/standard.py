"""Standard output and error as they may be: a terminal that would act on what it is shown, closed, full, or gone."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterable
from typing import TextIO, cast

from aspca.escaping import for_terminal, without_secrets

# What was typed.
_words: list[str] = []


def open_data_output() -> TextIO:
    """Standard output for data: exact, but on a terminal with whatever that would act on spelled out."""
    return cast(TextIO, _Shown(sys.stdout)) if sys.stdout.isatty() else sys.stdout


class _Shown(io.TextIOBase):
    """Text for a terminal: lines end, and nothing else in them acts."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write("\n".join(map(for_terminal, text.split("\n"))))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()


def hide_secrets(words: Iterable[str]) -> None:
    """Let `print_error_line` show no password of these words, whichever line repeats them."""
    _words[:] = words


def print_error_line(line: str) -> None:
    """A line on standard error; where that cannot be written there is nobody to print_error_line."""
    try:
        print(without_secrets(line, _words), file=sys.stderr, flush=True)
    except (OSError, ValueError):
        discard_output(sys.stderr)


def discard_output(stream: TextIO) -> None:
    """Send what is left in a stream nowhere, or Python would try again as it ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def open_standard_streams() -> None:
    """Streams that were closed when the process began: what is written to stdout fails, and stderr takes anything.

    Their descriptors are taken, too: otherwise the next file to be opened would get one, and with it whatever a library
    prints.
    """
    with contextlib.suppress(OSError):
        # To be read only, so that writing fails as it does for a closed one.
        while (descriptor := os.open(os.devnull, os.O_RDONLY)) <= 2:
            continue
        os.close(descriptor)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  # for as long as the process lives
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  # as above
