"""The hidden place beside a target where its successor is made, and those that dead processes left there.

Whoever makes such a place holds a lock on it, which the system gives up with the process, however that ends. So a place
that can be locked is nobody's, on whatever machine or in whatever container its owner ran, and no number of a process
has to be trusted.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator

if sys.platform != "win32":
    import fcntl

_ENDING = ".tmp"
# Of the target's name, so that the longer hidden one is no longer than file systems allow.
_MOST_BYTES = 100


class Taken(Exception):
    """What was just made is gone: before it was locked, another process took it for one that was left."""


@contextlib.contextmanager
def staged_beside(target: str, make: Callable[[str], int | None], remove: Callable[[str], None]) -> Iterator[str]:
    """A new hidden path beside `target`, locked until the end, after whatever others left there is removed.

    Parameters
    ----------
    target : str
        An absolute path without links.
    make : callable
        Makes the new file or folder at the path it is given, or raises OSError or `Taken`; returns a descriptor of it
        that nobody else closes, or None if the system has none that could be locked.
    remove : callable
        Removes one that was left.
    """
    _remove_left(target, remove)
    while True:
        directory, name = os.path.split(target)
        path = os.path.join(directory, f"{_beginning(name)}{secrets.token_hex(8)}{_ENDING}")
        try:
            descriptor = make(path)
        except Taken:
            continue
        if descriptor is None:
            yield path
            return
        try:
            if _held(descriptor, path):
                yield path
                return
        finally:
            os.close(descriptor)


def force_to_disk(path: str | os.PathLike[str]) -> None:
    """Let a file's content, or the names in a folder, survive a crash, where the system can (Windows cannot)."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _beginning(name: str) -> str:
    return f".{os.fsencode(name)[:_MOST_BYTES].decode('utf-8', 'ignore')}."


def _held(descriptor: int, path: str) -> bool:
    """Lock it; whether it is ours, for another process may have taken it until now, as `Taken` says."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        # Where nothing can be locked, nobody removes anything either.
        return True
    return os.path.lexists(path)


def _remove_left(target: str, remove: Callable[[str], None]) -> None:
    directory, name = os.path.split(target)
    hidden = re.compile(re.escape(_beginning(name)) + "[0-9a-f]{16}" + re.escape(_ENDING))
    # What cannot be removed does no harm.
    with contextlib.suppress(OSError):
        for entry in os.listdir(directory):
            if hidden.fullmatch(entry):
                _remove_if_left(os.path.join(directory, entry), remove)


def _remove_if_left(path: str, remove: Callable[[str], None]) -> None:
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        # Never through a link, and never waiting for whoever is at the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path)
        finally:
            os.close(descriptor)
