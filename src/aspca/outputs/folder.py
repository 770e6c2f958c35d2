"""A folder of outputs that is replaced as a whole: the old ones or the new ones, never some of each."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aspca.outputs.errors import OutputError
from aspca.outputs.staging import Taken, force_to_disk, staged_beside

# All that a folder of outputs may hold; a folder with anything else in it is somebody's own.
OUTPUTS = frozenset(
    {
        "categories.csv",
        "changes.csv",
        "data.csv",
        "explanations.csv",
        "incidents.csv",
        "model.json",
        "scores.csv",
        "scores.parquet",
        "set_aside.csv",
    }
)
SUFFIX = ".aspca"
# Beside them one folder per category, see `by_category`.
_CATEGORY = re.compile(r"category-[0-9]{3}")

_SWAP = 2  # RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
_HERE = -100  # AT_FDCWD


@contextlib.contextmanager
def replaced_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty folder to write into, which takes the place of the one at `path` once all is written.

    It stands beside its place under a hidden name. Whatever is raised meanwhile, Ctrl-C included, removes it and leaves
    the old folder as it was. Where a process was killed, the next one removes what it left.

    Raises
    ------
    OutputError
        Something that is no folder of outputs is in the way.
    OSError
        It cannot be written.
    """
    target = Path(os.path.realpath(path))
    refuse_foreign(target)
    with staged_beside(str(target), _make, _remove) as path:
        staged = Path(path)
        try:
            yield staged
            for file in staged.rglob("*"):
                force_to_disk(file)
            # It may have been filled by others in the meantime.
            refuse_foreign(target)
            _put_in_place(staged, target)
        finally:
            # Still the new one if something was raised, by now the old one if not.
            shutil.rmtree(staged, ignore_errors=True)


def place_of(files: Sequence[str]) -> str:
    """Where the outputs for these files go, unless somebody says: beside the file, or here if there are several."""
    alone = len(files) == 1 and os.path.isfile(files[0])
    return f"{files[0]}{SUFFIX}" if alone else f"output{SUFFIX}"


def refuse_foreign(path: str | os.PathLike[str]) -> None:
    """Raise OutputError if replacing this folder would destroy what is not ours."""
    folder = Path(os.path.realpath(path))
    if not folder.parent.is_dir():
        raise OutputError(f"--output: there is no folder {str(folder.parent)!r} to write in; create it first.")
    if folder.is_dir():
        strange = _strange(folder)
        if strange is not None:
            raise OutputError(
                f"{str(folder)!r} would be replaced as a whole, but holds {strange!r}, which is no output of aspca: "
                "name another folder with --output."
            )
    elif os.path.lexists(folder):
        raise OutputError(f"{str(folder)!r} is no folder, so outputs cannot be written there; name another.")


def _strange(folder: Path) -> str | None:
    """The first thing in a folder that is no output; outputs of an output may stand beside it."""
    for entry in sorted(folder.iterdir()):
        ours = entry.name.removesuffix(SUFFIX) in OUTPUTS or _CATEGORY.fullmatch(entry.name)
        inner = entry.is_dir() and not entry.is_symlink() and ours
        if (inner and _strange(entry) is not None) or (not inner and entry.name not in OUTPUTS):
            return entry.name
    return None


def _make(path: str) -> int | None:
    os.mkdir(path)
    if sys.platform == "win32":
        return None
    try:
        return os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        raise Taken from None


def _remove(path: str) -> None:
    shutil.rmtree(path, ignore_errors=True)


def _put_in_place(staged: Path, target: Path) -> None:
    if not target.exists():
        os.rename(staged, target)
    elif not _swapped(staged, target):
        # Two steps, where the system cannot swap: between them the old folder has only its hidden name.
        aside = staged.with_suffix(".old")
        os.rename(target, aside)
        try:
            os.rename(staged, target)
        except BaseException:
            os.rename(aside, target)
            raise
        os.rename(aside, staged)
    with contextlib.suppress(OSError):
        force_to_disk(target.parent)


def _swapped(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system and the file system can."""
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "win32":
        return False
    library: Any = ctypes.CDLL(None, use_errno=True)
    if hasattr(library, "renameat2"):
        failed = library.renameat2(_HERE, first, _HERE, second, _SWAP)
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(first, second, _SWAP)
    else:
        return False
    if failed and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
    return not failed
