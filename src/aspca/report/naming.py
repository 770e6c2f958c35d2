"""How a report calls columns and writes cells: short, and not at all where values are private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from aspca.judging.original import value_text
from aspca.judging.proposals import Value
from aspca.report.short_names import cut, short_names

HIDDEN = "(private)"


@dataclass(frozen=True, eq=False)
class Naming:
    """The columns of a table as a report calls them.

    Attributes
    ----------
    roles : mapping of str to str
        What each column is used for, in the order of the table.
    private : bool
        Whether no value of a row is shown.
    """

    roles: Mapping[str, str]
    private: bool

    @cached_property
    def called(self) -> dict[str, str]:
        """By its own name, what a column is called."""
        return short_names(self.roles)

    @cached_property
    def number(self) -> dict[str, int]:
        """By its own name or by what it is called, the number of a column."""
        numbers = {name: number for number, name in enumerate(self.roles)}
        return {self.called[name]: number for name, number in numbers.items()} | numbers

    def cell(self, text: str | None) -> str | None:
        """A cell as it stands in the table."""
        return HIDDEN if self.private else None if text is None else cut(text)

    def value(self, value: Value) -> str:
        """A value inside a sentence or a table."""
        return HIDDEN if self.private else cut(value_text(value))

    def rough(self, number: float, digits: int = 17) -> float:
        """A number to so many digits, and to two where more would tell a value."""
        return float(f"{number:.{2 if self.private else digits}g}")
