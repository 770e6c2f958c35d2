"""A file that is replaced as a whole: the old one or the new one, never a part of either."""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from aspca.writers.inputs import OutputError, refuse_inputs
from aspca.writers.staging import copy_owner_and_mode, force_to_disk, name_errors, stage_beside

# Files of many tables, which nothing here writes as a whole: where their first bytes stand, which, and what they are.
_NOT_OURS = (
    (0, b"SQLite format 3\0", "an SQLite database"),
    (8, b"DUCK", "a DuckDB database"),
    (4, b"Standard Jet DB", "an Access database"),
    (4, b"Standard ACE DB", "an Access database"),
    (0, b"\x89HDF\r\n", "an HDF5 file"),
    (0, b"PK\x03\x04", "a workbook or another ZIP archive"),
    (0, b"\xd0\xcf\x11\xe0", "a workbook or document of an older format"),
)


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that no reader, crash or full disk ever sees a part of it; see `replaced_bytes`."""
    with replaced_bytes(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def replaced_file(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A text stream whose content takes the place of the file at `path` once all is written."""
    refuse_special(path)
    with replaced_bytes(path) as binary:
        stream = io.TextIOWrapper(binary, encoding="utf-8", newline="")
        try:
            yield stream
        finally:
            # Flushed but not closed: what is beneath is still to be forced to the disk.
            stream.detach()


@contextlib.contextmanager
def replaced_bytes(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of the file at `path` once all is written.

    It goes to a new file in the same directory, is forced to the disk, and then takes the old file's name. A link is
    followed; an existing file's permissions are kept; a new file has those that the process gives its files. What
    processes that were killed in the middle of this left beside the file is removed. After an OSError nothing was
    changed; it comes for a device or a pipe, too, whose place no file should take.
    """
    target = os.path.realpath(path)
    if os.path.lexists(target) and not os.path.isfile(target):
        raise OSError(errno.EINVAL, "no regular file, so it cannot be replaced; name another", str(path))
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "read-only, so it cannot be replaced; name another", str(path))
    descriptor = -1

    def make(new: str) -> int | None:
        nonlocal descriptor
        if descriptor >= 0:
            os.close(descriptor)
        # O_EXCL: whatever else has that name, such as a link laid out for us, is not written through.
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        # A second one keeps the lock until the file has its name; Windows renames no file that is open.
        return None if os.name == "nt" else os.dup(descriptor)

    with name_errors(path), stage_beside(target, make, os.unlink) as temporary:
        try:
            with open(descriptor, "wb") as stream:
                copy_owner_and_mode(temporary, target)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    # The new file is whole and in place by now: some file systems refuse this, and there is nothing to undo.
    with contextlib.suppress(OSError):
        force_to_disk(os.path.dirname(target))


def refuse_special(path: str | os.PathLike[str], inputs: Sequence[str] = (), *, replaced: bool = True) -> None:
    """Raise OutputError for a folder, a device, a pipe or one of the inputs, whose place no output should take.

    Nor should a file take the place of a database or a workbook, where it is `replaced` as a whole.
    """
    refuse_inputs(path, inputs)
    target = Path(os.path.realpath(path))
    # A pipe behind /dev/stdout has no path of its own.
    if (os.path.exists(path) or os.path.lexists(target)) and not os.path.isfile(path):
        raise OutputError(f"{str(path)!r} is no regular file, so it cannot be replaced; name another, or - for stdout.")
    if not target.parent.is_dir():
        raise OutputError(f"There is no folder {str(target.parent)!r} to write {target.name!r} in; create it first.")
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"{str(path)!r} is read-only, so it cannot be replaced; name another, or change its mode.")
    if replaced and target.is_file():
        # Whatever the file is called: its first bytes say what it is.
        with target.open("rb") as file:
            head = file.read(64)
        for start, magic, what in _NOT_OURS:
            if head.startswith(magic, start):
                raise OutputError(
                    f"{str(path)!r} is {what}, which aspca did not write and does not replace; name another."
                )
