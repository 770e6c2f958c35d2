"""Cells that are not what their columns hold: each of them is a finding, whatever the rest of its row says."""

from __future__ import annotations

from dataclasses import dataclass

from aspca.escaping import name_text, quoted


@dataclass(frozen=True)
class BadCell:
    """A cell that is not what its column holds; it counts as missing.

    Parameters
    ----------
    row : its number, from 0
    column : None for a row that has too few or too many cells
    text : what stands there
    expected : what should, such as "a number"
    line : the line of the file, where it is known
    """

    row: int
    column: str | None
    text: str
    expected: str
    line: int | None = None

    def __str__(self) -> str:
        """One sentence, without its full stop."""
        if self.column is None:
            line = "" if self.line is None else f" (line {self.line})"
            return f"row {self.row}{line}: expected {self.expected}"
        return f"cell {quoted(self.text)} in column {name_text(self.column)}, row {self.row}: expected {self.expected}"

    @property
    def without_text(self) -> str:
        """The same where no value of a row may be shown."""
        where = "" if self.column is None else f"a cell in column {name_text(self.column)}, "
        return f"{where}row {self.row}: expected {self.expected}"
