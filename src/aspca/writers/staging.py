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
import stat
import sys
from collections.abc import Callable, Iterator

if sys.platform != "win32":
    import fcntl


class Taken(Exception):
    """What was just made is gone: before it was locked, another process took it for one that was left."""


@contextlib.contextmanager
def stage(target: str, make: Callable[[str], int | None], remove: Callable[[str], None]) -> Iterator[str]:
    """A new hidden path beside `target`, locked until the end, after whatever others left there is removed.

    `target` is an absolute path without links. `make` makes the new file or folder at a path, or raises OSError or
    `Taken`; it returns a descriptor that nobody else closes, or None if the system has none that could be locked.
    """
    directory, name = os.path.split(target)
    # What cannot be removed does no harm.
    with contextlib.suppress(OSError):
        for entry in filter(_hidden(name).fullmatch, os.listdir(directory)):
            remove_if_left(os.path.join(directory, entry), lambda path, descriptor: remove(path))
    while True:
        path = os.path.join(directory, f"{_beginning(name)}{secrets.token_hex(8)}.tmp")
        try:
            descriptor = make(path)
        except Taken:
            continue
        if descriptor is None:
            yield path
            return
        try:
            if try_lock(descriptor, path):
                yield path
                return
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until nobody else has locked what stands at `path`, and hold the lock meanwhile."""
    if sys.platform == "win32":
        yield
        return
    while True:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            # Where nothing can be locked, nobody removes anything either.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                yield
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


def copy_owner_and_mode(new: str | os.PathLike[str], old: str | os.PathLike[str]) -> None:
    """Give a successor the owner and the mode of what it replaces, if there is such a thing."""
    try:
        was, now = os.lstat(old), os.lstat(new)
    except FileNotFoundError:
        return
    if stat.S_IFMT(was.st_mode) != stat.S_IFMT(now.st_mode):
        return
    if sys.platform != "win32" and (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        # Only root may give files away; others keep what they write.
        with contextlib.suppress(PermissionError):
            os.chown(new, was.st_uid, was.st_gid)
    os.chmod(new, stat.S_IMODE(was.st_mode))


@contextlib.contextmanager
def name_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """What goes wrong in writing says where: a full disk does not, and a hidden name is none that anybody gave."""
    try:
        yield
    except OSError as error:
        hidden = _hidden(os.path.basename(os.path.realpath(path)))
        where = "" if error.filename is None else str(error.filename)
        if error.errno is None or (where and not any(map(hidden.fullmatch, where.split(os.sep)))):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


def may_be_left_of(target: str, path: str) -> bool:
    """Whether a path is called as what a dead process leaves beside a target, and so would be removed."""
    directory, name = os.path.split(target)
    return os.path.dirname(path) == directory and _hidden(name).fullmatch(os.path.basename(path)) is not None


def _hidden(name: str) -> re.Pattern[str]:
    return re.compile(re.escape(_beginning(name)) + r"[0-9a-f]{16}\.tmp")


def _beginning(name: str) -> str:
    # Whole letters, spelled as this locale spells names, and so few that the hidden name is not too long.
    letters = os.fsencode(name)[:100].decode("utf-8", "ignore")
    return f".{os.fsdecode(letters.encode())}."


def try_lock(descriptor: int, path: str) -> bool:
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


def remove_if_left(path: str, remove: Callable[[str, int], None]) -> None:
    """Remove what stands at `path`, given with a descriptor, unless somebody holds its lock."""
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError):
        # Never through a link, and never waiting for whoever is at the other end of a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path, descriptor)
        finally:
            os.close(descriptor)
