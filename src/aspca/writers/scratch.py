"""Private folders for what a run keeps on disk meanwhile, such as an input's numbers, and those that dead ones left.

A folder is ours by the mark inside, never by its name alone, and somebody's as long as it is locked: the system gives
the lock up with the process, however that ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import weakref
from pathlib import Path

from aspca.writers.staging import remove_if_left, try_lock

PREFIX = "aspca-scratch-"
MARK = ".aspca-scratch"
CONTENT = b"Scratch of a run of aspca; the next run removes it once its owner is gone.\n"
# Where the leftovers of others were looked for: once per process is enough.
_swept: set[str] = set()


class Scratch:
    """A folder `path` that nobody else can look into; close it, or use it in a `with` statement."""

    def __init__(self) -> None:
        _sweep(tempfile.gettempdir())
        self.path, descriptor = _made()
        self._finalizer = weakref.finalize(self, _remove, self.path, descriptor, os.getpid())

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove the folder and all that is in it."""
        self._finalizer()


def _made() -> tuple[Path, int | None]:
    while True:
        # Mode 0700, whatever the umask.
        path, descriptor = tempfile.mkdtemp(prefix=PREFIX), None
        if sys.platform != "win32":
            try:
                descriptor = os.open(path, os.O_RDONLY)
            except FileNotFoundError:
                continue
            if not try_lock(descriptor, path):
                os.close(descriptor)
                continue
        # After the lock: whoever finds the mark and can lock the folder knows that its owner is gone.
        Path(path, MARK).write_bytes(CONTENT)
        return Path(path), descriptor


def _remove(path: Path, descriptor: int | None, owner: int) -> None:
    # A fork has the lock and the finalizer, but the folder is its parent's.
    if os.getpid() != owner:
        return
    try:
        shutil.rmtree(path, ignore_errors=True)
    except BaseException:
        # A signal, just now: it can wait until all is gone.
        shutil.rmtree(path, ignore_errors=True)
        raise
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _sweep(directory: str) -> None:
    """Remove what dead processes of this user left."""
    if sys.platform == "win32" or directory in _swept:
        return
    _swept.add(directory)
    # What cannot be removed does no harm.
    with contextlib.suppress(OSError):
        for entry in os.scandir(directory):
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                remove_if_left(entry.path, _remove_left)


def _remove_left(path: str, descriptor: int) -> None:
    if os.fstat(descriptor).st_uid != os.geteuid():
        return
    if not os.listdir(descriptor):
        # Killed before it left its mark; a living owner makes another.
        os.rmdir(path)
        return
    # A file of its own and no link to one.
    mark = os.open(MARK, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
    try:
        ours = stat.S_ISREG(os.fstat(mark).st_mode) and os.read(mark, len(CONTENT) + 1) == CONTENT
    finally:
        os.close(mark)
    if ours:
        shutil.rmtree(path)
