"""Some rows of a large text, found by counting its line feeds: a parser need not see the others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

# Bytes that are looked at at once.
_CHUNK = 1 << 22
_LINE_FEED = 10


def picked_lines(path: Path, before: int, rows: Sequence[int], n_rows: int, target: Path) -> bool:
    """Write the first `before` lines and the lines of some rows (from 0, ascending) of a text without quotes.

    Whether lines are rows: False where there are more or fewer of them, such as empty ones. Then nothing is known.
    """
    wanted = np.array([*range(before), *(before + row for row in rows)], dtype=np.int64)
    parts: list[bytes] = []
    line, place, tail = 0, 0, b""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            chunk = tail + chunk
            ends = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == _LINE_FEED)
            while place < wanted.size and wanted[place] < line + ends.size:
                k = int(wanted[place]) - line
                parts.append(chunk[int(ends[k - 1]) + 1 if k else 0 : int(ends[k]) + 1])
                place += 1
            line += ends.size
            tail = chunk[int(ends[-1]) + 1 :] if ends.size else chunk
    if tail:
        if place < wanted.size and wanted[place] == line:
            parts.append(tail)
            place += 1
        line += 1
    if line != before + n_rows or place < wanted.size:
        return False
    target.write_bytes(b"".join(parts))
    return True
