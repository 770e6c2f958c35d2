"""A folder of outputs that is replaced as a whole: the old ones or the new ones, never some of each.

It is known by its manifest, a file inside that lists what was written. Its first line says what it is; each other one
is a SHA-256 and the path of a file, as `sha256sum` writes them.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import hashlib
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aspca.writers.replaced_file import OutputError, refuse_inputs, refuse_links_to_inputs
from aspca.writers.staging import Taken, copy_owner_and_mode, force_to_disk, locked, name_errors, stage

MANIFEST = ".aspca-output"
FIRST_LINE = "Written by aspca, which replaces this folder as a whole as long as it holds just what is listed here:"


@contextlib.contextmanager
def replaced_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """An empty folder to write into, which takes the place of the one at `path` once all is written.

    It stands beside its place under a hidden name, for nobody else to look into. Whatever is raised meanwhile, Ctrl-C
    included, removes it and leaves the old folder as it was. Where a process was killed, the next one removes what it
    left. The mode and the owner of the old folder and of its files are kept. An OutputError says that something that is
    no folder of outputs, or more than that, is in the way.
    """
    target = Path(os.path.realpath(path))
    refuse_foreign(target)
    usual = 0

    def make(place: str) -> int | None:
        nonlocal usual
        os.mkdir(place)
        try:
            usual = stat.S_IMODE(os.stat(place).st_mode)
            # The bit that hands on the group stays, or files would get another one.
            os.chmod(place, stat.S_IRWXU | (usual & stat.S_ISGID))
            write_manifest(Path(place))
            return None if sys.platform == "win32" else os.open(place, os.O_RDONLY)
        except FileNotFoundError:
            raise Taken from None
        except OSError:
            shutil.rmtree(place, ignore_errors=True)
            raise

    with name_errors(path), stage(str(target), make, _remove) as place:
        staged = Path(place)
        try:
            yield staged
            write_manifest(staged)
            for file in staged.rglob("*"):
                copy_owner_and_mode(file, target / file.relative_to(staged))
                force_to_disk(file)
            if target.exists():
                copy_owner_and_mode(staged, target)
            else:
                os.chmod(staged, usual)
            _put_in_place(staged, target)
        finally:
            # Still the new one if something was raised, by now the old one if not.
            shutil.rmtree(staged, ignore_errors=True)


def choose_output_folder(files: Sequence[str]) -> str:
    """Where the outputs for these files go, unless somebody says: beside the file or folder, or here if there are
    several, or none of this machine."""
    place = files[0].rstrip(os.sep) if len(files) == 1 and os.path.exists(files[0]) else ""
    return f"{place}.aspca" if os.path.basename(place) not in ("", ".", "..") else "output.aspca"


def refuse_foreign(path: str | os.PathLike[str], inputs: Sequence[str] = ()) -> None:
    """Raise OutputError if replacing this folder would destroy what is not ours, or one of the inputs."""
    refuse_inputs(path, inputs)
    folder = Path(os.path.realpath(path))
    if not folder.parent.is_dir():
        raise OutputError(f"--output: there is no folder {str(folder.parent)!r} to write in; create it first.")
    if folder.is_dir():
        if folder == folder.parent or os.path.ismount(folder):
            raise OutputError(f"{str(folder)!r} cannot be replaced as a whole; name a folder in it with --output.")
        if not os.access(folder, os.W_OK):
            raise OutputError(
                f"{str(folder)!r} is read-only, so it cannot be replaced; name another, or change its mode."
            )
        # Ours may be replaced by another process while we look.
        with locked(folder) if read_manifest(folder) is not None else contextlib.nullcontext():
            _refuse_loss(folder, folder)
            refuse_links_to_inputs(folder, inputs)
    elif os.path.lexists(folder):
        raise OutputError(f"{str(folder)!r} is no folder, so outputs cannot be written there; name another.")


def _refuse_loss(folder: Path, called: Path) -> None:
    foreign = find_foreign(folder)
    if foreign is not None:
        raise OutputError(
            f"{str(called)!r} would be replaced as a whole, but {foreign}: name another folder with --output."
        )


def _remove(path: str) -> None:
    if read_manifest(Path(path)) is not None or not os.listdir(path):
        shutil.rmtree(path, ignore_errors=True)


def _put_in_place(staged: Path, target: Path) -> None:
    try:
        # The place may be free, or have nothing but an empty folder in it.
        os.rename(staged, target)
    except OSError:
        if not target.is_dir():
            raise
        # Locked, or others would take the old folder for one that was left as soon as it has the hidden name.
        with locked(target):
            _exchange(staged, target)
            try:
                # It may have been filled by others in the meantime; from here on nobody finds it by its name.
                _refuse_loss(staged, target)
            except BaseException:
                _exchange(staged, target)
                raise
    with contextlib.suppress(OSError):
        force_to_disk(target.parent)


def _exchange(staged: Path, target: Path) -> None:
    if _swapped(staged, target):
        return
    # Two steps, where the system cannot swap: between them the old folder has only its hidden name.
    old = staged.with_suffix(".old")
    os.rename(target, old)
    try:
        os.rename(staged, target)
    except BaseException:
        os.rename(old, target)
        raise
    os.rename(old, staged)


def _swapped(one: Path, other: Path) -> bool:
    """Exchange two folders in one step, where the system and the file system can."""
    first, second = os.fsencode(one), os.fsencode(other)
    if sys.platform == "win32":
        return False
    library: Any = ctypes.CDLL(None, use_errno=True)
    # AT_FDCWD; RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS
    here, swap = -100, 2
    if hasattr(library, "renameat2"):
        failed = library.renameat2(here, first, here, second, swap)
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(first, second, swap)
    else:
        return False
    if failed and ctypes.get_errno() not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))
    return not failed


# ---- the manifest


def write_manifest(folder: Path) -> None:
    """Call a folder ours, with all files that are in it now."""
    manifest = folder / MANIFEST
    manifest.unlink(missing_ok=True)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{_digest(path)}  {path.relative_to(folder).as_posix()}" for path in files]
    with open(manifest, "x", encoding="utf-8", newline="\n") as stream:
        stream.write("\n".join([FIRST_LINE, *lines]) + "\n")


def find_foreign(folder: Path) -> str | None:
    """The first thing in a folder that would be lost with it, as a phrase; None where all is as we left it.

    Other folders of outputs may stand inside: outputs of an output.
    """
    listed = read_manifest(folder)
    if listed is None:
        first = next(iter(sorted(os.listdir(folder))), None)
        return (
            None if first is None else f"holds {first!r} and not the mark {MANIFEST} that aspca leaves in its folders"
        )
    return _find_foreign(folder, folder, listed)


def _find_foreign(folder: Path, inside: Path, listed: dict[str, str]) -> str | None:
    for path in sorted(inside.iterdir()):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not (path.is_dir() or path.is_file()):
            return f"holds {name!r}, which is no output of aspca"
        if path.is_dir():
            ours = any(file.startswith(f"{name}/") for file in listed)
            found = (
                _find_foreign(folder, path, listed)
                if ours
                else find_foreign(path)
                if read_manifest(path) is not None
                else ""
            )
            if found is not None:
                return found or f"holds {name!r}, which is no output of aspca"
        elif name != MANIFEST and name not in listed:
            return f"holds {name!r}, which is no output of aspca"
        elif name != MANIFEST and _digest(path) != listed[name]:
            return f"holds {name!r}, which was changed since aspca wrote it"
    return None


def read_manifest(folder: Path) -> dict[str, str] | None:
    """The checksums of the files that were written, by their paths; None where there is no manifest."""
    try:
        descriptor = os.open(
            folder / MANIFEST, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        )
        with open(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return None
            first, *lines = stream.read(1 << 20).decode("utf-8", "replace").splitlines() or [""]
    except OSError:
        return None
    if first != FIRST_LINE:
        return None
    return {path: digest for digest, _, path in (line.partition("  ") for line in lines)}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
