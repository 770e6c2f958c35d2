"""Streams and gzip files onto disk, in small pieces and with a cap, so that the readers meet plain files only."""

from __future__ import annotations

import gzip
import sys
import zlib
from pathlib import Path
from typing import IO

from aspca.engines.errors import SourceError
from aspca.engines.paths import Given

CHUNK = 1 << 20
GZIP = b"\x1f\x8b"
# A table packs to a tenth, one of hardly more than zeros to a hundredth; a bomb to a thousandth.
LARGEST_RATIO = 250
# Below this much unpacked text no ratio does harm.
HARMLESS_BYTES = 64 << 20


def saved_stream(given: Given, folder: Path) -> Path:
    """What a stream delivers, as a file in `folder`: it can be read once, but kinds and values take two passes.

    Raises
    ------
    SourceError
        Standard input is closed.
    """
    target = folder / "stream"
    if given.path is not None:
        with given.path.open("rb") as stream:
            _copy(stream, target)
    elif sys.stdin is None or sys.stdin.closed:
        raise SourceError("Standard input is closed; send a table to it, or name a file.")
    else:
        _copy(sys.stdin.buffer, target)
    return target


def unpacked(path: Path, label: str, folder: Path) -> Path:
    """The text of a gzip file, as a file in `folder`.

    Raises
    ------
    SourceError
        Cut short, damaged, packed twice, or more than 64 MiB that are more than 250 times the packed size.
    """
    target = folder / "unpacked"
    most = max(HARMLESS_BYTES, LARGEST_RATIO * path.stat().st_size)
    written = 0
    try:
        with gzip.open(path, "rb") as packed, target.open("wb") as out:
            while chunk := packed.read(CHUNK):
                written += len(chunk)
                if written > most:
                    raise SourceError(
                        f"{label}: this gzip file unpacks to more than {LARGEST_RATIO} times its size and may be a "
                        "bomb; if you trust it, unpack it first and give the unpacked file."
                    )
                out.write(chunk)
    except EOFError:
        raise SourceError(f"{label}: this gzip file is cut short; copy or pack it anew.") from None
    except (gzip.BadGzipFile, zlib.error):
        raise SourceError(f"{label}: this gzip file is damaged; copy or pack it anew.") from None
    with target.open("rb") as file:
        if file.read(2) == GZIP:
            raise SourceError(f"{label}: this file is packed twice with gzip; unpack it once.")
    return target


def _copy(stream: IO[bytes], target: Path) -> None:
    with target.open("wb") as out:
        while chunk := stream.read(CHUNK):
            out.write(chunk)
