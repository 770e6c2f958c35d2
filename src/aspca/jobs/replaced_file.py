"""One file, written part by part, that is either the old one, whole, or the new one, whole."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from aspca.files.atomic import replacing
from aspca.jobs.errors import RequestError


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text stream whose content takes the place of the file at `path` once all is written.

    Raises
    ------
    RequestError
        What is there is no regular file.
    OSError
        It cannot be written; the old file is as it was.
    """
    refuse_special(path)
    with replacing(path) as binary:
        stream = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        try:
            yield stream
        finally:
            # Flushed but not closed: what is beneath is still to be forced to the disk.
            stream.detach()


def refuse_special(path: str | os.PathLike[str], inputs: Sequence[str] = ()) -> None:
    """Raise RequestError for a folder, a device, a pipe or one of the inputs, whose place no output should take."""
    target = Path(os.path.realpath(path))
    # A NUL would be refused here with other words than the reader has for it.
    if any(os.path.realpath(one) == str(target) for one in inputs if "\0" not in one):
        raise RequestError(f"{str(path)!r} is read from, so it cannot be written to as well; name another file.")
    if not target.parent.is_dir():
        raise RequestError(f"There is no folder {str(target.parent)!r} to write {target.name!r} in; create it first.")
    if target.exists() and not target.is_file():
        raise RequestError(
            f"{str(path)!r} is no regular file, so it cannot be replaced; name another, or - for stdout."
        )
