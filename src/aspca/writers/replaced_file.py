"""A file that is replaced as a whole: the old one or the new one, never a part of either."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TextIO

from aspca.masking import looks_like_address, mask_secrets
from aspca.writers.staging import copy_owner_and_mode, force_to_disk, may_be_left_of, name_errors, stage

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

    with name_errors(path), stage(target, make, os.unlink) as temporary:
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


# Standard input where something is read, standard output where it is written.
STANDARD_STREAM = "-"
# A device and a number on it: the same for every name of a file, links and other spellings included.
Identity = tuple[int, int]


class OutputError(ValueError):
    """One sentence: which file or folder cannot be written, why, what to do. What was asked for is at fault."""


def refuse_inputs(output: str | os.PathLike[str], inputs: Sequence[str]) -> None:
    """Raise OutputError if writing `output`, a file, a folder or "-", would touch one of the inputs, which are paths of
    files, no patterns, or "-" for standard input."""
    if looks_like_address(os.fspath(output)) and not os.path.lexists(output):
        raise OutputError(
            f"{mask_secrets(os.fspath(output))}: this is an address of a database and no path of a file, so it cannot "
            "be written here; name a file or a folder."
        )
    if output == STANDARD_STREAM:
        # What a shell sends to a file (``>> in.csv``) has no name, but the file is the same.
        there = _identity_of(sys.__stdout__)
        for name in inputs:
            if there is not None and there == _identity(name):
                called = "standard input" if name == STANDARD_STREAM else repr(name)
                raise OutputError(
                    f"Standard output goes to the file that is {called} as well, which it would damage; send it to "
                    "another."
                )
        return
    target = os.path.realpath(output)
    there = _identity(target)
    for name in inputs:
        if there is not None and there == _identity(name):
            raise OutputError(f"{str(output)!r} is read from, so it cannot be written to as well; name another.")
        if name == STANDARD_STREAM:
            continue
        if there is not None and any(_identity(folder) == there for folder in _around(name)):
            raise OutputError(
                f"{str(output)!r} would be replaced as a whole, but holds {name!r}, which is read from: name another "
                "folder with --output."
            )
        if may_be_left_of(target, os.path.realpath(name)):
            raise OutputError(f"{name!r} is named like a leftover of {str(output)!r}, which would go; rename it first.")


def refuse_links_to_inputs(folder: Path, inputs: Sequence[str]) -> None:
    """Raise OutputError if a file in a folder that is to be replaced is one of the inputs by another name."""
    read = {_identity(name): name for name in inputs}
    for path in folder.rglob("*"):
        name = read.get(_identity(path))
        if name is not None:
            raise OutputError(
                f"{str(folder)!r} would be replaced as a whole, but {path.name!r} in it is the same file as {name!r}, "
                "which is read from: name another folder with --output."
            )


def _around(name: str) -> Iterator[str]:
    """All folders that a file is in: the link that it is named by, if it is one, and where it really is."""
    beside = os.path.realpath(os.path.dirname(name) or os.curdir)
    for path in (os.path.join(beside, os.path.basename(name)), os.path.realpath(name)):
        yield from map(str, Path(path).parents)


def _identity(path: str | os.PathLike[str]) -> Identity | None:
    """None for what is not there, and for what is neither a file nor a folder."""
    if path == STANDARD_STREAM:
        return _identity_of(sys.__stdin__)
    try:
        return _plain(os.stat(path))
    except (OSError, ValueError):
        return None


def _identity_of(stream: TextIO | None) -> Identity | None:
    try:
        return None if stream is None else _plain(os.fstat(stream.fileno()))
    except (OSError, ValueError):
        return None


def _plain(found: os.stat_result) -> Identity | None:
    plain = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    return (found.st_dev, found.st_ino) if plain and found.st_ino else None
