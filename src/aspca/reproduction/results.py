"""What a reproduction gives: sections of tables and figures, decided before anything is printed or drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aspca.reproduction.comparison import Comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Cell = str | int | float | None


@dataclass(frozen=True)
class Table:
    """Published numbers beside ours.

    Attributes
    ----------
    title : str
    comparisons : tuple of Comparison
    notes : tuple of str
        Sentences below it.
    """

    title: str
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.row for one in self.comparisons))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.column for one in self.comparisons))

    @property
    def is_grid(self) -> bool:
        """Whether every row has every column, and these are few enough to stand side by side."""
        whole = len(self.comparisons) == len(self.rows) * len(self.columns)
        return whole and len(self.columns) <= 4 and not any(isinstance(one.paper, str) for one in self.comparisons)

    def digits(self, column: str) -> int:
        """Decimals for a column: as many as the paper prints at most."""
        return max(one.digits for one in self.comparisons if one.column == column)


@dataclass(frozen=True)
class Listing:
    """What the paper has no number for.

    Attributes
    ----------
    title : str
    header : tuple of str
    rows : tuple of tuples of cells
    notes : tuple of str
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Figure:
    """A picture that is drawn when somebody asks.

    Attributes
    ----------
    key : str
        The name of its files.
    source, title : str
    says : str
        What the paper's text says of it, and what ours shows.
    draw : callable
        Gives a matplotlib figure.
    """

    key: str
    source: str
    title: str
    says: str
    draw: Callable[[], Canvas]


Part = Table | Listing | Figure


@dataclass(frozen=True)
class Section:
    """All that the paper shows of one data set."""

    name: str
    title: str
    description: str
    parts: tuple[Part, ...]

    @property
    def comparisons(self) -> Iterator[Comparison]:
        return (one for part in self.parts if isinstance(part, Table) for one in part.comparisons)

    @property
    def figures(self) -> tuple[Figure, ...]:
        return tuple(part for part in self.parts if isinstance(part, Figure))


@dataclass(frozen=True)
class Reproduction:
    """Everything that was asked for, and what could not be had.

    Attributes
    ----------
    sections : tuple of Section
    missing : tuple of str
        A sentence for each data set that is not there.
    """

    sections: tuple[Section, ...]
    missing: tuple[str, ...] = ()

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(one for section in self.sections for one in section.comparisons)
