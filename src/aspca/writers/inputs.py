"""No output is, contains or replaces an input, however either of them is spelled: the one place that sees to it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from aspca.masking import looks_like_address, mask_secrets
from aspca.writers.staging import may_be_left_of

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
