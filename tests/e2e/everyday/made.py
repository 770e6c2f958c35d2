"""A table with a few rows that break a rule of it, and what an answer must say about them."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd


@dataclass(frozen=True)
class Made:
    """A table: its rows as they are written, and per planted row the columns that its broken rule may speak of.

    Attributes
    ----------
    frame : DataFrame
        Without what only the file has, such as quotes and decimal commas.
    planted : dict
        Row (from 0) to columns: the rule it breaks is about these, and about the one in `changed`.
    changed : dict
        Row to the column whose value was made wrong.
    """

    frame: pd.DataFrame
    planted: dict[int, frozenset[str]] = field(default_factory=dict)
    changed: dict[int, str] = field(default_factory=dict)

    def plant(self, row: int, column: str, value: object, *beside: str) -> None:
        """Make one value wrong; `beside` are the other columns of the rule it belongs to."""
        self.frame.loc[row, column] = value
        self.planted[row] = frozenset({column, *beside})
        self.changed[row] = column
