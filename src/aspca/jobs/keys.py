"""Columns that stand beside a row wherever it is told of: names, time, categories and label, as the table has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from aspca.jobs.column_advice import refuse_absent
from aspca.jobs.tables import TableSource
from aspca.preparation.columns import cell_text

Cells = tuple[str | int | float | bool | None, ...]


@dataclass(frozen=True)
class Keys:
    """The key columns of a table.

    Attributes
    ----------
    ids : tuple of str
        Columns that name rows, together.
    time : str or None
    categories : tuple of str
        Columns with a model for each category, or taken as categories.
    label : str or None
    """

    ids: tuple[str, ...] = ()
    time: str | None = None
    categories: tuple[str, ...] = ()
    label: str | None = None

    @property
    def roles(self) -> dict[str, str]:
        """What each column is, in the order in which they are told; of several roles the first counts."""
        named = {"id": self.ids, "time": (self.time,), "category": self.categories, "label": (self.label,)}
        found: dict[str, str] = {}
        for role, names in named.items():
            for name in names:
                if name is not None:
                    found.setdefault(name, role)
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.roles)

    def header(self, taken: Iterable[str]) -> list[str]:
        """The columns' names told apart from those that are taken, also where capitals do not count."""
        used = {name.lower() for name in taken}
        titles = []
        for name, role in self.roles.items():
            title = name
            while title.lower() in used:
                title = f"{role}: {title}"
            used.add(title.lower())
            titles.append(title)
        return titles

    def cells(self, table: TableSource) -> Iterator[Cells]:
        """Those of each row of a table, to be read beside batches of numbers; without end where there are no keys."""
        if not self.columns:
            return repeat(())
        return (tuple(map(plain_cell, row)) for rows in table.cells(self.columns) for row in rows)

    def texts(self, cells: Cells) -> dict[str, str | None]:
        """The cells of a row by column, the same for a file and for a data frame of it; None where missing."""
        return dict(zip(self.columns, map(cell_text, cells), strict=True))

    def name(self, cells: Cells) -> str | None:
        """What a row is called: its ids; None where it has none of them."""
        found = [text for text in map(cell_text, cells[: len(self.ids)]) if text is not None]
        return ", ".join(found) or None


NO_KEYS = Keys()


def plain_cell(cell: object) -> str | int | float | bool | None:
    """A cell as plain text, number or truth value: dates of a data frame become text, as a CSV file has them."""
    if isinstance(cell, np.datetime64):
        text = cell_text(cell)
        return None if text is None else text.replace("T", " ").removesuffix(".000000000").removesuffix(".000000")
    return cell if isinstance(cell, str | int | float | bool) or cell is None else cell_text(cell)


def ids_of(table: TableSource, given: Sequence[str]) -> tuple[str, ...]:
    """The columns that ``--id`` names: one or several, with commas between; a column of exactly that name wins.

    Whether all of them are there is another question: see `refuse_absent`.
    """
    known = {column.name for column in table.columns}
    names = [[text] if text in known or "," not in text else map(str.strip, text.split(",")) for text in given]
    return tuple(dict.fromkeys(name for several in names for name in several))


def ids_in(table: TableSource, given: Sequence[str]) -> tuple[str, ...]:
    """The same; RequestError if one of them is not there."""
    ids = ids_of(table, given)
    for name in ids:
        refuse_absent(table, name, "--id")
    return ids
