"""The manifest by which a folder of outputs is known: a file inside that lists what was written, with checksums.

Its first line says what it is; each other one is a SHA-256 and the path of a file, as `sha256sum` writes them.
"""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

NAME = ".aspca-output"
FIRST_LINE = "Written by aspca, which replaces this folder as a whole as long as it holds just what is listed here:"


def write_manifest(folder: Path) -> None:
    """Call a folder ours, with all files that are in it now."""
    manifest = folder / NAME
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
        return None if first is None else f"holds {first!r} and not the mark {NAME} that aspca leaves in its folders"
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
        elif name != NAME and name not in listed:
            return f"holds {name!r}, which is no output of aspca"
        elif name != NAME and _digest(path) != listed[name]:
            return f"holds {name!r}, which was changed since aspca wrote it"
    return None


def read_manifest(folder: Path) -> dict[str, str] | None:
    """The checksums of the files that were written, by their paths; None where there is no manifest."""
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
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
