"""A file is either the old one, whole, or the new one, whole."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import BinaryIO

from aspca.files.staging import staged_beside


def write_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that no reader, crash or full disk ever sees a part of it; see `replacing`."""
    with replacing(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A stream whose content takes the place of the file at `path` once all is written.

    It goes to a new file in the same directory, is forced to the disk, and then takes the old file's name. A link is
    followed; an existing file's permissions are kept; a new file has those that the process gives its files. What
    processes that were killed in the middle of this left beside the file is removed.

    Raises
    ------
    OSError
        Nothing was changed, and no temporary file is left. So too for a device or a pipe, whose place no file should
        take.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError(errno.EINVAL, "no regular file, so it cannot be replaced; name another", str(path))
    descriptor = -1

    def make(new: str) -> int | None:
        nonlocal descriptor
        if descriptor >= 0:
            os.close(descriptor)
        # O_EXCL: whatever else has that name, such as a link laid out for us, is not written through.
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        # A second one keeps the lock until the file has its name; Windows renames no file that is open.
        return None if os.name == "nt" else os.dup(descriptor)

    with staged_beside(target, make, os.unlink) as temporary:
        try:
            with open(descriptor, "wb") as stream:
                with contextlib.suppress(FileNotFoundError):
                    os.chmod(temporary, os.stat(target).st_mode & 0o7777)
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    _force_to_disk(os.path.dirname(target))


def _force_to_disk(directory: str) -> None:
    """The new name too survives a crash, where a directory can be forced to the disk (not on Windows)."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    # The new file is whole and in place by now: some file systems refuse this, and there is nothing to undo.
    with contextlib.suppress(OSError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
