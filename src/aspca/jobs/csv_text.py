"""CSV that a spreadsheet may open: names and cells are other people's text, and must not run as formulas."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TextIO

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
# Begins as a formula does, and is none.
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


_QUOTED = re.compile(r'[",\r\n]')


def safe(cell: object) -> str:
    """A cell as it reads: text that a spreadsheet would take for a formula gets a quote before it.

    Numbers are in the fewest digits that are exact, yes and no are 1 and 0, a missing value is empty.
    """
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "1" if cell else "0"
    if isinstance(cell, int | float):
        return repr(cell)
    text = str(cell)
    return f"'{text}" if text.startswith(_FORMULA) and not _NUMBER.fullmatch(text) else text


class CsvWriter:
    """Rows to a stream, in lines that end as Unix tools like it; the csv module would not quote a lone \\r then."""

    def __init__(self, stream: TextIO, header: Iterable[str]) -> None:
        self._stream = stream
        self.columns(*([name] for name in header))

    def columns(self, *columns: Iterable[object]) -> None:
        """Rows given as columns of plain Python values, all of one length."""
        made = [[_quoted(safe(cell)) for cell in column] for column in columns]
        self._stream.writelines(",".join(row) + "\n" for row in zip(*made, strict=True))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
